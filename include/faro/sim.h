/* sim: experiments. An experiment file names an environment and algorithms (learner x release); the
 * runner plays every algorithm on every instance, over threads, and collects what is measured: the regret, or in
 * environments that are streams of numbers the error of the running sum. */
#ifndef FARO_SIM_H
#define FARO_SIM_H

#include <faro/env.h>
#include <faro/learner.h>
#include <faro/release.h>
#include <faro/study.h>

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<int> faro_stop; /* the same in memory */
extern "C" {
#else
#include <stdatomic.h>
typedef atomic_int faro_stop;
#endif

enum { FARO_CURVE_POINTS = 200, FARO_SWEEPS_MAX = 3 };

/* What an experiment measures, by name; then what people call its course and its end.
 *   regret  sum over rounds of the best arm's mean less that of the arm played
 *   error   max over ALL t so far of |estimate_t - S_t|, between releases too */
#define FARO_MEASURE_LIST(X)                                                                                 \
  X(REGRET, "regret", "cumulative pseudo-regret", "final pseudo-regret")                                     \
  X(ERROR, "error", "worst error so far", "worst error")

typedef enum faro_measure {
#define X(name, ...) FARO_MEASURE_##name,
  FARO_MEASURE_LIST(X)
#undef X
} faro_measure;

FARO_API const char *faro_measure_name(faro_measure measure);

/* Which learner goes with which release, and under which calibration. */
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
  bool quick; /* at most 2000 rounds and 4 instances */
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
FARO_API faro_measure faro_experiment_measure(const faro_experiment *experiment);
FARO_API size_t faro_experiment_cells(const faro_experiment *experiment);
FARO_API size_t faro_experiment_instances(const faro_experiment *experiment);

/* The table of settings as text, for `faro list settings` and the docs. Caller frees. */
FARO_API char *faro_settings_table(void);

/* What came out of one algorithm at one sweep point, over all instances. */
typedef struct faro_spread {
  double mean, sd, error, lower, median, upper, most; /* error: of the mean; lower, upper: quartiles */
} faro_spread;

typedef struct faro_outcome {
  faro_spread regret; /* final; where the measure is the error, that */
  double updates;     /* mean number of policy updates */
  double shifted;     /* share of updates in which V had to be shifted */
  double posted;      /* phased learners: messages that all users handed to a shuffler, mean over instances */
  double sent;        /* phased learners: bits that all users sent, mean over instances */
  double users;       /* who sent, likewise */
  double blur; /* greatest standard error of arms' features that were estimated in advance (linear-known) */
  double lost; /* share of instances in which the best arm was eliminated */
  double exhausted; /* share of instances in which the population ran out of clients */
  double refused;   /* share of rounds whose user had contributed as often as the claim allows */
  double early;     /* generalised linear: mean regret until the parameter was first estimated anew */
  double explored;  /* and share of rounds in part 0 (study.h) */
  double seconds;   /* of computing, over all instances */
  size_t points;    /* of the curve */
  uint64_t round[FARO_CURVE_POINTS];
  faro_spread curve[FARO_CURVE_POINTS];
} faro_outcome;

typedef struct faro_results {
  size_t cells;
  faro_outcome *outcome;        /* one a cell */
  size_t resumed;               /* instances that an earlier run had finished */
  double seconds;               /* wall time of this run */
  struct faro_journal *journal; /* locked until the results are destroyed */
} faro_results;

typedef struct faro_run_options {
  size_t jobs;           /* threads; 0: one a processor */
  const char *journal;   /* file that keeps finished instances, or NULL */
  bool fresh;            /* what the journal holds already is thrown away */
  const faro_stop *stop; /* non-zero: finish nothing more; may be NULL. Safe to set in a signal handler */
  void (*progress)(void *context, size_t done, size_t total); /* about five times a second; may be NULL */
  void *context;
} faro_run_options;

/* FARO_INTERRUPTED when stopped: finished instances are in the journal, and the next run with the
 * same experiment takes them from there. The journal stays, and stays locked, until the caller has put
 * the results in a safe place, removed it, and destroyed the results. OpenBLAS is set to one thread for the whole
 * process: the instances are the parallel work. */
FARO_API faro_status faro_run(const faro_experiment *experiment, const faro_run_options *options,
                              faro_results **results, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_results_destroy(faro_results *results);

#ifdef __cplusplus
}
#endif

#endif
