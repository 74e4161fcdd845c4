/* learner: turns released statistics into a policy, or into an estimate of the sum.
 *
 * A learner sees what a release published and what it may know of the noise; never a contribution,
 * never the trust model. A policy is small and enough to choose an action on the user's own device. */
#ifndef FARO_LEARNER_H
#define FARO_LEARNER_H

#include <faro/linalg.h>
#include <faro/statistics.h>

/* Play argmax_a <theta, x_a> + beta ||w x_a||. `version` changes with every update. A learner of sums has no w and
 * makes no choices: after t users the running sum is estimated as theta_0 + theta_1 t. */
typedef struct faro_policy {
  size_t dimension;
  const double *theta;
  const double *w; /* packed inverse factor of V: ||w x|| is the norm of x in V^-1 */
  double beta;
  uint64_t version;
} faro_policy;

typedef struct faro_learner_params {
  size_t dimension;
  uint64_t horizon;  /* T */
  uint64_t releases; /* M: how often statistics will be published at most */
  double norm;       /* L: bound on feature norms; that on the parameter is 1 */
  double failure;    /* probability with which the confidence region may fail */
  double reward;     /* R: sub-Gaussian scale of the rewards' own noise */
  double optimism;   /* factor on the bounds of the noise in the region: 1 is the theorem's */
  bool figure;       /* the published experiments' region instead of the theorem's */
  bool guess;        /* of sum: whoever is not covered by a release yet counts as 1/2 */
  faro_noise noise;
} faro_learner_params;

typedef struct faro_learner_diagnostics {
  uint64_t updates;
  uint64_t shifted; /* updates in which noise had made V indefinite, so that it was shifted */
} faro_learner_diagnostics;

typedef struct faro_learner faro_learner;
typedef struct faro_learner_kind faro_learner_kind;

FARO_API size_t faro_learner_kinds(void);
FARO_API const faro_learner_kind *faro_learner_kind_at(size_t index);
FARO_API const faro_learner_kind *faro_learner_kind_find(const char *name);
FARO_API const char *faro_learner_kind_name(const faro_learner_kind *kind);
FARO_API const char *faro_learner_kind_summary(const faro_learner_kind *kind);
FARO_API bool
faro_learner_kind_sums(const faro_learner_kind *kind); /* for streams of numbers: estimates their sum */

FARO_API faro_status faro_learner_create(faro_learner **learner, const faro_learner_kind *kind,
                                         const faro_learner_params *params,
                                         faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_learner_destroy(faro_learner *learner);
FARO_API void faro_learner_update(faro_learner *learner, const faro_statistics *statistics);
FARO_API const faro_policy *faro_learner_policy(const faro_learner *learner);
FARO_API faro_learner_diagnostics faro_learner_diagnose(const faro_learner *learner);

/* The user's side: chooses arms under a policy. Scores are kept, so that a user who meets the same
 * policy and the same arms again costs nothing. */
typedef struct faro_selector faro_selector;

FARO_API faro_status faro_selector_create(faro_selector **selector, size_t dimension, size_t arms,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_selector_destroy(faro_selector *selector);
FARO_API size_t faro_select(faro_selector *selector, const faro_policy *policy, const faro_arms *arms);

#endif
