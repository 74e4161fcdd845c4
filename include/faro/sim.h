/* sim: experiments. An experiment file names an environment and algorithms (learner x release). The
 * runner plays every algorithm on every instance, on several threads, and collects the measure: the
 * regret, or the error of the running sum in environments that are streams of numbers. */
#ifndef FARO_SIM_H
#define FARO_SIM_H

#include <faro/env.h>
#include <faro/learner.h>
#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FARO_CURVE_POINTS = 200, FARO_SWEEPS_MAX = 3 };

/* What an experiment measures: its name, and the names of its curve and of its final value.
 *   regret  sum over rounds of the best arm's mean less that of the arm played
 *   error   max over ALL t so far of |estimate_t - S_t|, between releases too
 *   error-rate, loss   of rows: 1 less the mean reward of the tenth of the horizon before; with
 *           classes that is the share of people for whom a wrong one was picked */
#define FARO_MEASURE_LIST(X)                                                                                 \
  X(REGRET, "regret", "cumulative pseudo-regret", "final pseudo-regret")                                     \
  X(ERROR, "error", "worst error so far", "worst error")                                                     \
  X(ERROR_RATE, "error-rate", "error rate in the preceding tenth", "error rate in the last tenth")           \
  X(LOSS, "loss", "1 - mean reward in the preceding tenth", "1 - mean reward in the last tenth")

typedef enum faro_measure {
#define X(name, ...) FARO_MEASURE_##name,
  FARO_MEASURE_LIST(X)
#undef X
} faro_measure;

FARO_API const char *faro_measure_name(faro_measure measure);
FARO_API bool faro_measure_find(const char *name, faro_measure *measure); /* false: no such name */

/* Whether a learner can be combined with a release, and under which calibration. */
FARO_API bool faro_pair_takes(const faro_learner_kind *learner, const faro_release_kind *release);
FARO_API bool faro_pair_calibrates(const faro_learner_kind *learner, const faro_release_kind *release,
                                   faro_calibration calibration);

typedef struct faro_experiment faro_experiment;

/* One override, as in `--set key=value`. */
typedef struct faro_override {
  const char *key, *value;
} faro_override;

typedef struct faro_experiment_options {
  const faro_override *overrides;
  size_t override_count;
  bool quick;          /* at most 2000 rounds, 4 instances and batches of 200, as labels then say */
  bool outline;        /* nothing is calibrated, which may take seconds; the result can be listed, not run */
  const char *name;    /* instead of the file's name */
  const char *command; /* the command line, for the record */
} faro_experiment_options;

/* Reads, checks and resolves an experiment. `file` names it in messages ("file:line: ..."). */
FARO_API faro_status faro_experiment_parse(faro_experiment **experiment, const char *file, const char *text,
                                           size_t length, const faro_experiment_options *options,
                                           faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_experiment_load(faro_experiment **experiment, const char *path,
                                          const faro_experiment_options *options,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_experiment_destroy(faro_experiment *experiment);

FARO_API const char *faro_experiment_name(const faro_experiment *experiment);
FARO_API const char *faro_experiment_title(const faro_experiment *experiment);
/* Hexadecimal digits that are the same for the same name and settings, whatever the program; the
 * `identity` of run.json. */
FARO_API const char *faro_experiment_identity(const faro_experiment *experiment);

/* The results of one algorithm at one sweep point, over all instances. */
typedef struct faro_spread {
  /* error: standard error of the mean; lower, upper: quartiles */
  double mean, sd, error, lower, median, upper, most;
  double tail; /* share of instances above three times the mean */
} faro_spread;

/* The results of one instance: plain doubles, so that the journal can store them unchanged. */
typedef struct faro_play_record {
  double regret;         /* or error, see faro_measure */
  double uniform, fixed; /* regret of simple play, see faro_yardstick */
#define OUTCOME(member, ...) double member;
#include <faro/outcomes.def>
#undef OUTCOME
  double curve[FARO_CURVE_POINTS];
} faro_play_record;

typedef struct faro_outcome {
  faro_spread regret;    /* final regret, or the error if that is the measure */
  double uniform, fixed; /* mean regret of simple play; NaN: does not apply */
#define OUTCOME(member, ...) double member;
#include <faro/outcomes.def>
#undef OUTCOME
  size_t points; /* number of points of the curve */
  uint64_t round[FARO_CURVE_POINTS];
  faro_spread curve[FARO_CURVE_POINTS];
} faro_outcome;

typedef struct faro_results {
  size_t cells;
  faro_outcome *outcome; /* one per cell; NULL: this was a shard */
  size_t instances;
  faro_play_record *record; /* one per instance and cell, at [instance * cells + cell]; NULL: not kept */
  size_t resumed;           /* instances finished by an earlier run */
  double seconds;           /* wall time of this run */
  size_t total;             /* instances that were to be finished, those of earlier runs too */
} faro_results;

typedef struct faro_run_options {
  size_t jobs;         /* threads; 0: one per processor */
  const char *journal; /* file that stores finished instances, or NULL */
  bool fresh;          /* discard what the journal already holds */
  /* Called often, from any thread. True: stop as soon as possible. May be NULL. */
  bool (*stopped)(void *context);
  /* Called about five times a second, from the thread that called faro_run: instances done, all of
   * them, and the share of all rounds that has been played, those of unfinished instances too. May
   * be NULL. */
  void (*progress)(void *context, size_t done, size_t total, double share);
  void *context;

  /* Several processes, see shard.h. Part `shard` of `shards`, counted from 1: plays only the
   * instances of this part, which needs a journal of its own. 0 of 0: all instances. */
  size_t shard, shards;
  /* Journals that others have written: instances in them are not played again. They are read only.
   * `journal` may be among them, and is then read once. */
  const char *const *journals;
  size_t journal_count;
  /* If given, nothing is played: called for every instance that no journal has. The run then fails
   * with FARO_INVALID. Cells and instances are counted from 0. */
  void (*missing)(void *context, size_t cell, size_t instance);
} faro_run_options;

/* FARO_INTERRUPTED if stopped: finished instances are in the journal, and the next run of the same
 * experiment takes them from there. The journal exists, and stays locked, until the caller has
 * saved the results, removed the journal, and destroyed the results. During a run OpenBLAS uses one
 * thread, because the instances run in parallel. */
FARO_API faro_status faro_run(const faro_experiment *experiment, const faro_run_options *options,
                              faro_results **results, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_results_destroy(faro_results *results);

/* What a run would take. */
typedef struct faro_estimate {
  size_t cells;     /* algorithms at sweep points */
  size_t instances; /* to play: those with the same results are played once */
  double rounds;    /* total, over these instances */
  double seconds;   /* processor time, on this machine */
} faro_estimate;

/* Plays the beginning of instances for about `seconds`, and extrapolates. Results are discarded. */
FARO_API faro_status faro_run_estimate(const faro_experiment *experiment, double seconds,
                                       faro_estimate *estimate, faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
