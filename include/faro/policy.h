/* policy: what a learner publishes, and all that a device needs to choose an arm.
 *
 *   for (size_t a = 0; a < arms; a++)
 *     score[a] = faro_policy_score(&policy, features + a * policy.dimension);
 *
 * and then play the arm with the highest score. A policy does not own its numbers: they are valid
 * as long as the learner or document that they came from. */
#ifndef FARO_POLICY_H
#define FARO_POLICY_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_policy {
  size_t dimension;    /* d */
  const double *theta; /* d numbers: the estimated parameter */
  const double *w;     /* rows of a lower triangle, packed: ||w x|| is the norm of x in V^-1 */
  double beta;         /* how much uncertainty counts; at least 0 */
  uint64_t version;    /* changes with every update */
} faro_policy;

/* How many numbers w has: d (d + 1) / 2. */
FARO_API size_t faro_policy_w_length(size_t dimension);

/* <theta, x> + beta ||w x|| */
FARO_API double faro_policy_score(const faro_policy *policy, const double *x);

#ifdef __cplusplus
}
#endif

#endif
