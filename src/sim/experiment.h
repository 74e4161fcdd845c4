/* experiment: the resolved form of an experiment, for sim/ and report/. */
#ifndef FARO_SIM_EXPERIMENT_H
#define FARO_SIM_EXPERIMENT_H

#include <faro/agent.h>
#include <faro/eliminator.h>
#include <faro/estimator.h>
#include <faro/study.h>
#include <faro/watcher.h>

#include "base/arena.h"
#include "sim/settings.h"

struct faro_loop;

typedef struct faro_sweep {
  faro_key key;
  size_t count;
  double *value;
} faro_sweep;

/* One algorithm at one sweep point. */
typedef struct faro_cell {
  const char *label;
  faro_settings settings;      /* batch resolved */
  void *learner_own, *env_own; /* settings of the learner and of the environment; NULL: they have none */
  size_t at[FARO_SWEEPS_MAX];  /* which value of each sweep */
  const faro_learner_kind *learner;
  const faro_release_kind *release;
  const faro_env_kind *env;
  const struct faro_loop *loop;
  size_t twin; /* the first cell with the same results, which is the one to be played */
  faro_claim claim;
  faro_cost cost;
} faro_cell;

enum { FARO_PLOT_ROUND = -1, FARO_PLOT_NONE = -2 };

struct faro_experiment {
  faro_arena arena;
  const char *name, *title;
  const char *left_out; /* algorithms that were left out, and why; NULL: none were */
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

/* The value of a key in the cell; NaN: neither its learner nor its environment has such a setting. */
double faro_cell_get(const faro_cell *cell, faro_key key);
void faro_cell_put(faro_cell *cell, faro_key key, double value); /* nothing, where it has no such setting */

/* The parameters of the layers below, as this cell has them. */
faro_env_params faro_cell_env(const faro_cell *cell);
faro_env_facts faro_cell_facts(const faro_cell *cell);
faro_agent_params faro_cell_agent(const faro_cell *cell, size_t arms, uint64_t instance);
faro_release_params faro_cell_release(const faro_cell *cell);
faro_eliminator_params faro_cell_eliminator(const faro_cell *cell, const faro_arms *arms);
faro_asker_params faro_cell_asker(const faro_cell *cell);

/* Rounds at which a curve of `horizon` rounds is recorded; returns their number. */
size_t faro_curve_rounds(uint64_t horizon, uint64_t round[static FARO_CURVE_POINTS]);

#endif
