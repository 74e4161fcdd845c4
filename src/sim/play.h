/* play: one algorithm on one instance. */
#ifndef FARO_SIM_PLAY_H
#define FARO_SIM_PLAY_H

#include "sim/experiment.h"

/* What one instance gives; plain doubles, so that the journal can keep it as it is. */
typedef struct faro_play_record {
  double regret; /* or error, see faro_measure */
  double updates, shifted, refused, seconds;
  double early, explored; /* generalised linear, see faro_outcome */
  /* phased learners */
  double posted;      /* messages to a shuffler */
  double sent, users; /* bits that all users sent; users who sent */
  double lost;        /* 1: the best arm was eliminated */
  double blur;        /* standard error of the arms' features, see faro_env_error */
  double exhausted; /* the first round, from 1, of a phase that the population had no clients for; 0: none */
  double curve[FARO_CURVE_POINTS];
} faro_play_record;

enum { FARO_PLAY_VALUES = sizeof(faro_play_record) / sizeof(double) };

/* FARO_INTERRUPTED when *stop turned non-zero on the way. */
faro_status faro_play(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                      faro_play_record *record, faro_error *error) FARO_WARN_UNUSED;

/* Plays all rounds of the cell, `rounds` those from `from` up to `until`, which adds to the measure, and records the
 * curve on the way. */
typedef faro_status faro_play_rounds(void *table, uint64_t from, uint64_t until, double *measure,
                                     faro_error *error);
faro_status faro_play_curve(const faro_cell *cell, faro_play_rounds *rounds, void *table,
                            const atomic_int *stop, faro_play_record *record,
                            faro_error *error) FARO_WARN_UNUSED;

/* The same for learners of generalised linear rewards (glm.c), and for phased ones (phases.c). */
faro_status faro_play_glm(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                          faro_play_record *record, faro_error *error) FARO_WARN_UNUSED;
/* Tries the first study of such a learner, and keeps what that tells: claim, cost, batch. */
faro_status faro_try_glm(faro_cell *cell, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_play_phases(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                             faro_play_record *record, faro_error *error) FARO_WARN_UNUSED;

#endif
