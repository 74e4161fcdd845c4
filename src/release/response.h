/* response: direction response, a message of one number per user. response.c has the reasons. */
#ifndef FARO_RELEASE_RESPONSE_H
#define FARO_RELEASE_RESPONSE_H

#include "release/release.h"

/* How users of a class of batches answer. */
typedef struct faro_response_rule {
  double epsilon0;
  size_t directions;  /* k, a power of two */
  size_t nearest;     /* m: how many of the 2k codes are true */
  double c;           /* mean of the m greatest of k |N_i|, N_i standard normal */
  uint64_t threshold; /* the code is a true one if a random word is below this, else any; a multiple of m */
  double length;      /* C: a message counts as this multiple of its direction */
  double proxy;       /* sub-Gaussian scale of one user's noise in any direction of z */
} faro_response_rule;

/* The best rule for messages that are epsilon0-private, about contributions of norm `radius`. */
faro_response_rule faro_response_choose(double epsilon0, double radius);

/* Which share of all codes is true. */
double faro_response_share(const faro_response_rule *rule);

/* What a message of a batch of `users` may spend if this share of all codes is true. */
typedef double faro_message_epsilon(const faro_release *r, uint64_t users, double share);

/* For calibrations. */
faro_status faro_response_set(faro_release *r, faro_message_epsilon *epsilon0, faro_error *error);
/* Rewards alone: the features are public, so users answer along their own, with a sign. */
void faro_response_set_answers(faro_release *r, double epsilon0);
/* The largest epsilon0 of all batches. */
double faro_response_most(const faro_release *r);

#endif
