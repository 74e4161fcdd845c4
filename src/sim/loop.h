/* loop: how an algorithm is played, one row per protocol of learners.
 *
 *   updater.c     arms, rewards, an agent              stream.c   numbers, an estimate of their sum
 *   eliminator.c  phases, each with a release          asker.c    terms, each with a study
 *   watcher.c     raw rewards, no privacy */
#ifndef FARO_SIM_LOOP_H
#define FARO_SIM_LOOP_H

#include <stdatomic.h>

#include "sim/experiment.h"

enum { FARO_PLAY_VALUES = sizeof(faro_play_record) / sizeof(double) };

/* One instance of a cell to play. */
typedef struct faro_turn {
  const faro_cell *cell;
  uint64_t seed, instance;
  bool (*stopped)(void *context); /* true: stop; NULL: never */
  void *context;
  atomic_ullong *played; /* rounds played so far, for a watcher; NULL: nobody watches */
  faro_play_record *record;
} faro_turn;

typedef struct faro_loop {
  faro_protocol protocol;

  const char *(*needs)(const faro_learner_kind *); /* what it works with, for messages: "arms that stay" */
  bool (*suits)(const faro_learner_kind *, const faro_env_kind *);
  /* Why an environment does not suit, and why a release is not taken: "... because <reason>". The
   * second is required where `takes` is. */
  const char *(*misfit)(const faro_learner_kind *, const faro_env_kind *);
  const char *(*refusal)(const faro_learner_kind *, const faro_release_kind *);
  /* Optional. By default all releases, and the calibrations that they offer. */
  bool (*takes)(const faro_learner_kind *, const faro_release_kind *);
  bool (*calibrates)(const faro_release_kind *, faro_calibration);
  /* Tries what play would create, so that it can refuse what cannot run. Sets the cell's claim,
   * cost and batch. */
  faro_status (*rehearse)(faro_cell *, faro_error *);
  /* FARO_INTERRUPTED if the turn was stopped. */
  faro_status (*play)(const faro_turn *, faro_error *);
} faro_loop;

extern const faro_loop faro_loop_updater, faro_loop_estimator, faro_loop_eliminator, faro_loop_asker,
    faro_loop_watcher;
const faro_loop *faro_loop_of(const faro_learner_kind *learner);

/* For the loops of generalised linear rewards. */
const char *faro_loop_needs_glm(const faro_learner_kind *learner);
bool faro_loop_suits_glm(const faro_learner_kind *learner, const faro_env_kind *env);
const char *faro_loop_misfit_glm(const faro_learner_kind *learner, const faro_env_kind *env);
/* The reasons that all learners of arms share; NULL if none applies. */
const char *faro_loop_misfit_arms(const faro_env_kind *env);

/* Refuses a learner, environment, release and calibration that cannot be combined (pairs.c). */
faro_status faro_pair_check(const faro_cell *cell, faro_error *error) FARO_WARN_UNUSED;

/* Tries what play would create, at the epsilon that meets local_epsilon if that is given. Sets the
 * cell's claim, cost and schedule. */
faro_status faro_cell_rehearse(faro_cell *cell, faro_error *error) FARO_WARN_UNUSED;

/* Plays an instance and measures the time. */
faro_status faro_play(const faro_turn *turn, faro_error *error) FARO_WARN_UNUSED;

/* Plays rounds `from` up to `until`, and adds them to the measure. A range may be split anywhere:
 * the measure stays the same. */
typedef faro_status faro_play_rounds(void *state, uint64_t from, uint64_t until, double *measure,
                                     faro_error *error);
/* Plays all rounds, and records the curve on the way. */
faro_status faro_play_curve(const faro_turn *turn, faro_play_rounds *rounds, void *state,
                            faro_error *error) FARO_WARN_UNUSED;

/* kappa for a learner of generalised linear rewards: the bound that it can know or, under
 * calibration figure, that of the turn's instance, as in the published program of Sarmasarkar 2026.
 * Before faro_turn_begin. */
double faro_turn_kappa(const faro_turn *turn, faro_env *env);
/* Begins the turn's instance, and records what simple play would have got on it. */
void faro_turn_begin(const faro_turn *turn, faro_env *env);
static inline void faro_turn_played(const faro_turn *turn, uint64_t rounds) {
  if (turn->played) atomic_store_explicit(turn->played, rounds, memory_order_relaxed);
}

static inline bool faro_turn_stopped(const faro_turn *turn) {
  return turn->stopped && turn->stopped(turn->context);
}

#endif
