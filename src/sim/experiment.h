/* experiment: the resolved form of an experiment, for sim/ and report/. */
#ifndef FARO_SIM_EXPERIMENT_H
#define FARO_SIM_EXPERIMENT_H

#include <faro/sim.h>

#include "base/arena.h"

enum { FARO_CLIENTS_GROWING, FARO_CLIENTS_FIXED };

typedef enum faro_key {
#define KEY(id, ...) FARO_KEY_##id,
#include "sim/keys.def"
#undef KEY
  FARO_KEY_COUNT
} faro_key;

/* Values of all keys: numbers as they are, choices as indices into their lists. */
typedef struct faro_settings {
  double value[FARO_KEY_COUNT];
} faro_settings;

typedef struct faro_sweep {
  faro_key key;
  size_t count;
  double *value;
} faro_sweep;

/* One algorithm at one sweep point. */
typedef struct faro_cell {
  const char *label;
  faro_settings settings;     /* batch resolved */
  size_t at[FARO_SWEEPS_MAX]; /* which value of each sweep */
  const faro_learner_kind *learner;
  const faro_release_kind *release;
  size_t twin; /* the first cell with the same results, which is the one to be played */
  faro_claim claim;
  faro_cost cost;
} faro_cell;

enum { FARO_PLOT_ROUND = -1, FARO_PLOT_NONE = -2 };

struct faro_experiment {
  faro_arena arena;
  const char *name, *title;
  faro_measure measure;
  size_t sweeps;
  faro_sweep sweep[FARO_SWEEPS_MAX];
  size_t instances;
  uint64_t seed;
  size_t algorithms, count;
  faro_cell *cell;          /* sweep points outside, algorithms inside */
  int x;                    /* FARO_PLOT_ROUND, or which sweep */
  int panels;               /* FARO_PLOT_NONE, or which sweep */
  unsigned char digest[32]; /* of everything that decides the results, the program included */
};

const faro_env_kind *faro_cell_env_kind(const faro_cell *cell);
/* The least reward. */
double faro_cell_low(const faro_cell *cell);
/* Whether the environment is a stream of numbers; dimension, arms, reward and draw then mean nothing. */
bool faro_cell_streams(const faro_cell *cell);
/* The parameters of a phased learner on these arms; clients grow. */
faro_learner_params faro_cell_phased(const faro_cell *cell, const faro_arms *arms);
/* The parameters of the layers below, as this cell has them. */
faro_env_params faro_cell_env(const faro_cell *cell);
faro_release_params faro_cell_release(const faro_cell *cell);
/* What is subtracted from rewards before they are used. The features of all environments here end in a constant, so a
 * constant less in the reward is another parameter, and no more; but rewards in [-1/2, 1/2] have less sensitivity than
 * rewards in [0, 1]. The published calibrations do without. */
double faro_cell_centre(const faro_cell *cell);
faro_status faro_cell_contribution(const faro_cell *cell, faro_contribution *contribution,
                                   faro_error *error) FARO_WARN_UNUSED;

/* Refuses what does not go together: learner, environment, release, level (pairs.c). */
faro_status faro_pair_check(const faro_cell *cell, faro_error *error) FARO_WARN_UNUSED;

const char *faro_key_name(faro_key key);
/* The value as a person writes it. */
const char *faro_key_print(faro_key key, double value, char out[static 64]);
/* Whether the value is a number (else a word). */
bool faro_key_is_number(faro_key key);

/* Rounds at which a curve of `horizon` rounds is recorded; returns how many. */
size_t faro_curve_rounds(uint64_t horizon, uint64_t round[static FARO_CURVE_POINTS]);

#endif
