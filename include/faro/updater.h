/* updater: learners that turn released sums into a policy.
 *
 *     faro_updater_create -> [faro_release publishes] -> faro_updater_update -> faro_updater_policy
 *
 * agent.h couples an updater with a release. Most programs should use that. */
#ifndef FARO_UPDATER_H
#define FARO_UPDATER_H

#include <faro/glm.h>
#include <faro/learner.h>
#include <faro/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_updater_params {
  size_t dimension;
  /* Blocks of features of one length, of which a person uses one at a time: statistics are as
   * faro_contribution_split makes them, and each block has a learner of its own. 0: 1 */
  size_t blocks;
  uint64_t horizon;  /* T */
  bool ends;         /* nobody teaches after the horizon; false: it may grow */
  uint64_t releases; /* M: the most publications of statistics */
  double norm;       /* L: bound on feature norms */
  faro_link link; /* how rewards follow from scores; only generalised learners take links other than linear */
  double bound;   /* S: bound on the parameter; linear rewards: 1, whatever it says */
  double failure; /* probability with which the confidence region may fail */
  double reward;  /* R: sub-Gaussian scale of the rewards' own noise */
  faro_calibration calibration;
  faro_noise noise;     /* read by create only; scale NULL: no noise */
  const void *settings; /* the kind's own; NULL: their defaults */
} faro_updater_params;

typedef struct faro_updater faro_updater;

/* FARO_INVALID if the kind is not an updater, a parameter is out of range, or the learner has no
 * rule for the calibration. */
FARO_API faro_status faro_updater_create(faro_updater **updater, const faro_learner_kind *kind,
                                         const faro_updater_params *params,
                                         faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_updater_destroy(faro_updater *updater); /* NULL is allowed */

FARO_API void faro_updater_update(faro_updater *updater, const faro_statistics *statistics);
/* The newest policy; before the first update, one without knowledge. The pointer stays valid. */
FARO_API const faro_policy *faro_updater_policy(const faro_updater *updater);
/* What the learner remembers besides the newest statistics: the numbers, in place, and how many. A
 * learner that was just created goes on where another one was when its memory has been replaced by
 * that one's, and resume has been called with the newest statistics in place of update. */
FARO_API size_t faro_updater_memory(const faro_updater *updater, double **memory);
FARO_API void faro_updater_resume(faro_updater *updater, const faro_statistics *statistics);
FARO_API faro_diagnostics faro_updater_diagnose(const faro_updater *updater);

#ifdef __cplusplus
}
#endif

#endif
