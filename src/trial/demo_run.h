/* demo_run: a campaign from its first key to its last check, on one machine. */
#ifndef FARO_TRIAL_DEMO_RUN_H
#define FARO_TRIAL_DEMO_RUN_H

#include "trial/checks.h"

typedef struct faro_demo_params {
  faro_trial_params trial;
  faro_crowd_params crowd;
  uint64_t rounds;        /* batches to release; one more is started and must not be sent */
  bool (*stopping)(void); /* polled between batches; NULL: never */
} faro_demo_params;

/* Progress of the demo, one batch at a time. */
typedef struct faro_demo_step {
  uint64_t version;               /* version of the policy in use */
  uint64_t reports;               /* reports in its batch */
  double seconds;                 /* until the next policy was published */
  double reward, regret, uniform; /* means per report; uniform: the regret of choosing at random */
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
