/* experiment: the resolved form of an experiment, for sim/ and report/. */
#ifndef FARO_SIM_EXPERIMENT_H
#define FARO_SIM_EXPERIMENT_H

#include <string.h>

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
  faro_settings settings;      /* with the batch resolved */
  void *learner_own, *env_own; /* settings of the learner and of the environment; NULL if it has none */
  size_t at[FARO_SWEEPS_MAX];  /* index of the value of each sweep */
  const faro_learner_kind *learner;
  const faro_release_kind *release;
  const faro_env_kind *env;
  struct faro_table *table; /* rows only: of the experiment */
  const struct faro_loop *loop;
  size_t twin; /* the first cell with the same results; only that one is played */
  faro_claim claim;
  faro_cost cost;
  /* Predictions only: people who are played in each batch, in the place of all; 0: everybody. */
  uint64_t thin;
  uint64_t batches;    /* updaters: how many the schedule has */
  double noise;        /* updaters: standard deviation of the noise in an entry of the last sum of x y */
  double fit_noise[2]; /* of an asker, see faro_asker_params */
  char *grounds;       /* what the claim rests on, as JSON; NULL: nothing recorded */
} faro_cell;

enum { FARO_PLOT_ROUND = -1, FARO_PLOT_NONE = -2 };

/* A file that was read, for all cells that use it. */
typedef struct faro_experiment_file {
  faro_rows_params rows;
  uint64_t memory;
  struct faro_table *table;
  struct faro_experiment_file *before;
} faro_experiment_file;

struct faro_experiment {
  faro_arena arena;
  faro_experiment_file *files; /* newest first; NULL: none */
  const char *name, *title;
  const char *left_out; /* algorithms that were left out, and why; NULL if there are none */
  faro_measure measure;
  size_t sweeps;
  faro_sweep sweep[FARO_SWEEPS_MAX];
  size_t instances;
  uint64_t seed;
  size_t algorithms, count;
  faro_cell *cell;          /* sweep points in the outer order, algorithms in the inner */
  int x;                    /* FARO_PLOT_ROUND, or index of a sweep */
  int panels;               /* FARO_PLOT_NONE, or index of a sweep */
  bool per_round;           /* the figure shows the measure divided by the rounds so far */
  bool outline;             /* nothing was calibrated: not to be run */
  unsigned char digest[32]; /* hash of everything that determines the results, also the program */
  char identity[33];        /* the same without the program, but with the name, as digits */
  /* For the record. */
  const char *command; /* NULL: not known */
  const char *file;    /* what was parsed: its path, or what messages call it */
  const char *text;    /* all of it */
  size_t length;
  bool quick;
  size_t overrides;
  const char **override; /* "key=value" */
};

/* The value of a key in the cell; NaN if neither its learner nor its environment has such a
 * setting. */
double faro_cell_get(const faro_cell *cell, faro_key key);
/* does nothing if there is no such setting */
void faro_cell_put(faro_cell *cell, faro_key key, double value);
/* The text of a key in the cell; NULL: none. Put keeps the pointer. */
const char *faro_cell_text(const faro_cell *cell, faro_key key);
void faro_cell_put_text(faro_cell *cell, faro_key key, const char *text);

/* The parameters of the layers below, from the settings of this cell. */
faro_env_params faro_cell_env(const faro_cell *cell);
faro_env_facts faro_cell_facts(const faro_cell *cell);
/* Whether returning users may contribute only as often as the claim allows. Without a claim,
 * everything counts. */
bool faro_cell_limits(const faro_cell *cell);
faro_agent_params faro_cell_agent(const faro_cell *cell, size_t arms, uint64_t instance);
faro_release_params faro_cell_release(const faro_cell *cell);
void faro_cell_keep_schedule(faro_cell *cell, const faro_release *release);
/* Adds the grounds of one of several mechanisms on different users, and frees them. */
void faro_cell_ground(faro_cell *cell, char *grounds);
faro_eliminator_params faro_cell_eliminator(const faro_cell *cell, const faro_arms *arms);
/* A faro_preview whose context is a cell: the noise of the releases that a plan would have. */
faro_status faro_cell_preview(const void *cell, const faro_plan *plan, faro_heard *heard,
                              faro_error *error) FARO_WARN_UNUSED;
faro_asker_params faro_cell_asker(const faro_cell *cell);

/* What is known of the file that a cell's people are from. Only cells with a table have one. */
enum { FARO_RARE_MAX = 30 };
typedef struct faro_cell_file {
  uint64_t rows;
  size_t columns, arms; /* feature columns; classes, actions or reward columns */
  const char *const *column, *const *arm;
  size_t features; /* of a person, where each arm has a block of them; else 0 */
  size_t beyond;   /* columns with numbers beyond their declared ranges */
  /* Classes and actions of fewer than 10 rows and fewer than one in a thousand: often misspelt. */
  size_t rares;
  struct {
    size_t arm;
    uint64_t rows;
  } rare[FARO_RARE_MAX];
} faro_cell_file;
faro_cell_file faro_cell_file_of(const faro_cell *cell);

/* The rounds at which a curve of `horizon` rounds is recorded. Returns their number. */
size_t faro_curve_rounds(uint64_t horizon, uint64_t round[static FARO_CURVE_POINTS]);

#endif
