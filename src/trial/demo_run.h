/* demo_run: a campaign from its first key to its last check, on one machine. */
#ifndef FARO_TRIAL_DEMO_RUN_H
#define FARO_TRIAL_DEMO_RUN_H

#include "trial/checks.h"

typedef struct faro_demo_params {
  faro_trial_params trial;
  faro_crowd_params crowd;
  /* Batches to release; one more is started and must not be sent. In phases the learner decides,
   * and a batch is held up on the way. */
  uint64_t rounds;
  bool (*stopping)(void); /* polled between batches; NULL: never */
} faro_demo_params;

/* Progress of the demo, one batch at a time; in phases, one phase at a time. */
typedef struct faro_demo_step {
  uint64_t version;               /* version of the policy in use */
  uint64_t reports;               /* reports in its batch; 0: the campaign is over, and this is its end */
  double seconds;                 /* until the next policy was published */
  double reward, regret, uniform; /* means per report; uniform: the regret of choosing at random */
  uint64_t phase, left, best;     /* in phases: from 1; arms in play; the arm that looks best */
} faro_demo_step;

typedef struct faro_demo_view {
  void (*began)(void *context, const faro_trial *trial);
  void (*stepped)(void *context, const faro_demo_step *step);
  /* Called when the roles have done their work. They run until it returns; NULL: they end at
   * once. */
  void (*hold)(void *context, const faro_trial *trial);
  void *context;
} faro_demo_view;

/* Runs the demo and fills `list`. FARO_OK means that everything could be checked, not that all
 * checks passed. */
faro_status faro_demo_run(const faro_demo_params *params, const faro_demo_view *view, faro_checks *list,
                          faro_error *error) FARO_WARN_UNUSED;

#endif
