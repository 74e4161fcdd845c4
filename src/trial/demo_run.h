/* demo: a campaign from its first key to its last check, on one machine. */
#ifndef FARO_TRIAL_DEMO_RUN_H
#define FARO_TRIAL_DEMO_RUN_H

#include "trial/checks.h"

typedef struct faro_demo_params {
  faro_trial_params trial;
  faro_crowd_params crowd;
  uint64_t rounds;        /* batches that are released; one more is opened, and must not leave */
  bool (*stopping)(void); /* looked at between batches; NULL: never */
} faro_demo_params;

/* What is told while it runs. */
typedef struct faro_demo_step {
  uint64_t version, reports; /* the policy that was in use; reports of its batch */
  double seconds;            /* that the batch took, until the next policy was there */
  double reward, regret,
      uniform; /* of a report, on average: uniform is the regret of a player who chooses blindly */
} faro_demo_step;

typedef struct faro_demo_view {
  void (*began)(void *context, const faro_trial *trial);
  void (*stepped)(void *context, const faro_demo_step *step);
  /* Returns when the roles, which have done their work and still run, may end; NULL: at once. */
  void (*hold)(void *context, const faro_trial *trial);
  void *context;
} faro_demo_view;

/* Plays it; the promises are in `list`. FARO_OK says that everything could be looked at, not that it was good. */
faro_status faro_demo_run(const faro_demo_params *params, const faro_demo_view *view, faro_checks *list,
                          faro_error *error) FARO_WARN_UNUSED;

#endif
