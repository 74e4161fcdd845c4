/* learner: the registry of learners, and what all of them have in common.
 *
 * A learner sees what a release published and what may be known about the noise. It never sees a
 * contribution or the trust model. There are five protocols, each with a header and a handle type
 * of its own, so that a call which does not suit a learner does not compile:
 *
 *   updater.h     statistics in, policy out           linucb, lints, greedy, uniform
 *   estimator.h   statistics in, estimate of a running sum out          sum
 *   eliminator.h  plan out, private sums of rewards in                  pe, dpe, hanna
 *   asker.h       picks arms, sees sums, asks a study for fits glm-joint, glm-batched, rs-glm
 *   watcher.h     picks arms, watches raw rewards: no privacy           glm-ucb, gloc, ecolog
 *
 *     const faro_learner_kind *kind = faro_learner_find("linucb");
 *     faro_updater *learner;
 *     if (faro_updater_create(&learner, kind, &params, &error) != FARO_OK) ...
 *
 * Creating a learner with a kind of another protocol, or with NULL, fails with FARO_INVALID. Use a
 * learner in one thread at a time. Only create allocates memory. */
#ifndef FARO_LEARNER_H
#define FARO_LEARNER_H

#include <faro/setting.h>
#include <faro/statistics.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARO_PROTOCOL_LIST(X)                                                                                \
  X(UPDATER, "updater")                                                                                      \
  X(ESTIMATOR, "estimator")                                                                                  \
  X(ELIMINATOR, "eliminator")                                                                                \
  X(ASKER, "asker")                                                                                          \
  X(WATCHER, "watcher")

typedef enum faro_protocol {
#define X(name, text) FARO_PROTOCOL_##name,
  FARO_PROTOCOL_LIST(X)
#undef X
} faro_protocol;

typedef struct faro_learner_kind {
  const char *name;    /* as written in experiments */
  const char *summary; /* one line for `faro list` */
  const char *cite;    /* author and year, see docs/references.md; NULL: no paper */
  faro_protocol protocol;
  const char *region; /* what its exploration rests on: "proven", "calibrated"; NULL: nothing said */
  bool steady;        /* updaters only: batches of one size suit it better than growing ones */
  bool carries;       /* updaters only: it keeps what it learned when the horizon doubles */
  bool generalised;   /* updaters only: it knows rewards whose mean is mu(<x, theta>) */
  bool blind;         /* updaters only: it does not learn, so it suits all environments with arms */
  unsigned refuses;   /* calibrations without a rule: bits 1 << calibration */
  const faro_setting *settings; /* the learner's own, ended by an empty row; may be NULL */
  size_t settings_size;         /* size of the struct that holds them */
} faro_learner_kind;

FARO_API size_t faro_learner_count(void);
/* In the order of learners.def. NULL if there is no such learner. */
FARO_API const faro_learner_kind *faro_learner_at(size_t index);
FARO_API const faro_learner_kind *faro_learner_find(const char *name);

/* Counts of what happened in a learner so far. */
typedef struct faro_diagnostics {
  uint64_t updates;
  uint64_t shifted; /* updates in which V was shifted because noise had made it indefinite */
} faro_diagnostics;

#ifdef __cplusplus
}
#endif

#endif
