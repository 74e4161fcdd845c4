/* response: direction response, a message of one number per user. response.c has the reasons. */
#ifndef FARO_RELEASE_RESPONSE_H
#define FARO_RELEASE_RESPONSE_H

#include "release/release.h"

/* How users of a class of batches answer. */
typedef struct faro_response_rule {
  double epsilon0;
  size_t directions;  /* k, a power of two */
  double c;           /* E max |N_i| over k standard normal variables */
  uint64_t threshold; /* the code is the true one if a random word is below this, else any */
  double length;      /* C: a message counts as this multiple of its direction */
  double proxy;       /* sub-Gaussian scale of one user's noise in any direction of z */
} faro_response_rule;

/* The best rule for messages that are epsilon0-private, about contributions of norm `radius`. */
faro_response_rule faro_response_choose(double epsilon0, double radius);

/* For calibrations: users of a batch of n answer with epsilon0(r, n). */
faro_status faro_response_set(faro_release *r, double (*epsilon0)(const faro_release *, uint64_t users),
                              faro_error *error);

#endif
