/* policy: what a user's device needs to choose an action, and nothing else.
 *
 * A policy is small and can be sent over a network. It names a rule that turns features into an
 * index for every arm; the arm with the greatest index is played. With xi a new vector of
 * independent standard normal numbers, drawn once per choice:
 *
 *   WIDTH     <theta, x> + beta ||w x||              optimism; nothing is drawn
 *   SAMPLE    <theta, x> + beta <w' xi, x>           Thompson sampling from N(theta, beta^2 w' w)
 *   OPTIMIST  <theta, x> + max(0, beta <w' xi, x>)   the same, and never below the mean
 *
 * Before that, with probability `explore`, an arm is drawn uniformly instead.
 *
 * One rule has no index: under DESIGN an arm is drawn from a near-optimal design over the arms that
 * may be the best. N(theta, w' w) is what is believed, and beta how many standard deviations an arm
 * may be behind (src/explore/explore.h). It is for generalised linear rewards. */
#ifndef FARO_POLICY_H
#define FARO_POLICY_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARO_RULE_LIST(X)                                                                                    \
  X(WIDTH, "width")                                                                                          \
  X(SAMPLE, "sample")                                                                                        \
  X(OPTIMIST, "optimist")                                                                                    \
  X(DESIGN, "design")

typedef enum faro_rule {
#define X(name, text) FARO_RULE_##name,
  FARO_RULE_LIST(X)
#undef X
} faro_rule;

/* How a policy under WIDTH follows from the one before it, where only a few directions are new: for
 * every x, ||w x||^2 is less by the sum of less[k] <gain_k, x>^2, and at most `widen` times what it
 * was. A device does not need it. */
typedef struct faro_policy_step {
  size_t rank;        /* 1 or 2 */
  const double *gain; /* rank rows of `dimension` numbers */
  double less[2];
  double widen; /* at least 1 */
} faro_policy_step;

/* The creator of the policy owns its arrays. */
typedef struct faro_policy {
  faro_rule rule;
  size_t dimension;
  double *theta; /* `dimension` numbers */
  double *w;     /* packed lower triangle, see linalg.h: w' w is a covariance, ||w x|| a width */
  size_t blocks; /* w is zero outside this many blocks on its diagonal, all of one size; 0: 1 */
  double beta;
  double explore;
  uint64_t version;             /* an update adds 1; a policy that is resumed may leap */
  const faro_policy_step *step; /* from the version before; NULL: anything may have changed */
} faro_policy;

/* The length of w: d (d + 1) / 2. */
FARO_API size_t faro_policy_w_length(size_t dimension);

/* The index of one arm under the rule WIDTH. */
FARO_API double faro_policy_score(const faro_policy *policy, const double *x);

#ifdef __cplusplus
}
#endif

#endif
