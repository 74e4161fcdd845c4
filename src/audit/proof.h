/* proof: what a release promises beyond its claim, and what a lower bound says about the claim.
 *
 *   a Gaussian  the release, over all rounds of a user, is a Gaussian mechanism or dominated by
 *               one: the claim is one point of its curve, and the whole curve is tested
 *   a message   amplified releases: the claim follows from the privacy of one message, how many
 *               honest users it is mixed with, and that the order is uniform. Each is tested alone
 *
 * If a lower bound is above what the proof needs, the proof does not hold for what the program
 * does. `epsilon` is then what the same proof gives with the bound in place of the promise. */
#ifndef FARO_AUDIT_PROOF_H
#define FARO_AUDIT_PROOF_H

#include "audit/attack.h"

typedef struct faro_proof {
  const char *name; /* "claim", "Gaussian", "Laplace" or "message" */
  faro_target target;
  const faro_claim *claim;
  bool message;  /* the proof is about one message, which a shuffler amplifies */
  double users;  /* message: honest users who are mixed */
  double rounds; /* message: how many rounds one user is in */
  double batch;  /* message: epsilon of each round's batch */
  double share;  /* message: which share of a response's codes is true; else 0 */
} faro_proof;

/* What is promised about the whole view. One number and one round: Laplace noise has its own
 * curve. */
faro_proof faro_proof_whole(const faro_release *release, const faro_contribution *contribution);
/* What is promised about one message of a batch that is mixed with `users` honest messages; false
 * if no such promise is known. */
bool faro_proof_message(const faro_release *release, const faro_contribution *contribution, double users,
                        double rounds, faro_proof *proof);

/* The epsilon of the claim, at its delta, if the parameter is this. */
double faro_proof_epsilon(const faro_proof *proof, double parameter);

#endif
