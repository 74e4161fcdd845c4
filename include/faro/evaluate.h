/* evaluate: what a policy would have earned, from a log of what another policy did.
 *
 * A row of the log has the arm that was played, its reward, and the probability (propensity) with
 * which it was played. The target policy is known by its probability of the same arm. An evaluator
 * takes rows one at a time and gives estimates with intervals:
 *
 *     faro_evaluator *evaluator;
 *     faro_evaluator_params params = {.arms = 3, .high = 1};
 *     if (faro_evaluator_create(&evaluator, &params, &error) != FARO_OK) ...
 *     for (each row)
 *       if (faro_evaluator_add(evaluator, &row, &error) != FARO_OK) ...
 *     faro_evaluation result;
 *     faro_evaluator_result(evaluator, &result);
 *     faro_evaluator_destroy(evaluator);
 *
 * A private evaluator releases its estimates under a claim instead. docs/evaluate.md says what each
 * method assumes. Use an evaluator in one thread at a time. Memory does not grow with rows; it
 * grows with people if rows belong to people who have several. */
#ifndef FARO_EVALUATE_H
#define FARO_EVALUATE_H

#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The methods, and what each one is in a few words. */
#define FARO_METHOD_LIST(X)                                                                                  \
  X(LOGGED, "logged", "the policy that wrote the log")                                                       \
  X(UNIFORM, "uniform", "all arms equally often")                                                            \
  X(REPLAY, "replay", "rows on which the policies agree")                                                    \
  X(DIRECT, "direct", "the reward model alone")                                                              \
  X(IPS, "ips", "inverse propensity")                                                                        \
  X(SNIPS, "snips", "self-normalised")                                                                       \
  X(DR, "dr", "doubly robust")                                                                               \
  X(GAIN, "gain", "dr minus logged: what the policy adds")

typedef enum faro_method {
#define X(name, text, meaning) FARO_METHOD_##name,
  FARO_METHOD_LIST(X)
#undef X
      FARO_METHODS
} faro_method;

FARO_API const char *faro_method_name(faro_method method);
FARO_API const char *faro_method_meaning(faro_method method);

/* One row of a log. */
typedef struct faro_logged {
  size_t arm; /* played, from 0 */
  double reward;
  double propensity;     /* probability with which it was played, above 0 */
  double target;         /* probability with which the target policy plays it */
  const double *targets; /* optional: the same for every arm; NULL: not known */
  double value;          /* with a model: mean reward that it predicts for the target policy ... */
  double prediction;     /* ... and for the arm that was played */
  uint64_t person;       /* a number or a hash; used if rows belong to people */
} faro_logged;

/* How intervals are made. SKEW: the normal one, with Hall's correction for skewness, and Student's
 * quantile for the effective sample size. NORMAL: without the correction. BERNSTEIN: empirical
 * Bernstein, which holds for every number of independent rows if weights are cut and `value` and
 * `prediction` are within the interval of rewards (others are refused). For dr and gain the model
 * must not have seen the rows: with a cross-fitted one, terms of different folds depend on each
 * other, and the bound is not proven. */
#define FARO_BOUNDS_LIST(X)                                                                                  \
  X(SKEW, "skew")                                                                                            \
  X(NORMAL, "normal")                                                                                        \
  X(BERNSTEIN, "bernstein")

typedef enum faro_bounds {
#define X(name, text) FARO_BOUNDS_##name,
  FARO_BOUNDS_LIST(X)
#undef X
} faro_bounds;

FARO_API const char *faro_bounds_name(faro_bounds interval);

typedef struct faro_evaluator_params {
  size_t arms;       /* K, 1 .. 1000 */
  double low, high;  /* rewards are in this interval */
  double clip;       /* greatest weight; larger ones are cut to it. 0: none is cut */
  double accept;     /* replay: no weight is greater; 0: no replay */
  bool model;        /* rows have `value` and `prediction` */
  bool people;       /* rows of one person depend on each other */
  double confidence; /* level of the intervals; 0: 0.95 */
  faro_bounds interval;
  uint64_t seed; /* replay draws by it which rows to accept */
} faro_evaluator_params;

/* Why an estimate has no interval. */
#define FARO_SILENCE_LIST(X)                                                                                 \
  X(NOTHING, "")                                                                                             \
  X(FEW, "too few effective rows")                                                                           \
  X(SAME, "all terms are the same")                                                                          \
  X(NEVER, "the log lacks an arm that the policy plays")                                                     \
  X(MODEL, "it would not cover the model's error")                                                           \
  X(RATIO, "no bound of this kind is known for a ratio")                                                     \
  X(NOISE, "the noise leaves nothing to say")

typedef enum faro_silence {
#define X(name, text) FARO_SILENCE_##name,
  FARO_SILENCE_LIST(X)
#undef X
} faro_silence;

FARO_API const char *faro_silence_text(faro_silence silence);

typedef struct faro_evaluated {
  bool made;    /* if false, this method could not be used, and the rest is not set */
  double value; /* NaN: there is nothing to divide by */
  double error; /* standard error; NaN without an interval */
  double low, high;
  faro_silence silence; /* NOTHING: there is an interval */
} faro_evaluated;

/* What may be wrong, as bits of `doubts`. */
#define FARO_DOUBT_LIST(X)                                                                                   \
  X(FEW)          /* effective sample size too small: no interval */                                         \
  X(SKEWED)       /* a few rows decide: fewer rows than 25 times the squared skewness */                     \
  X(NEVER)        /* the target policy plays an arm that the log does not have */                            \
  X(WEIGHTS)      /* the weights do not average to 1 */                                                      \
  X(PROPENSITIES) /* the inverse propensities do not average to the number of arms */                        \
  X(CLIPPED)      /* weights were cut: the intervals do not cover what that changed */

typedef enum faro_doubt {
#define X(name) FARO_DOUBT_##name,
  FARO_DOUBT_LIST(X)
#undef X
      FARO_DOUBTS
} faro_doubt;

/* Effective rows below which no interval is printed. */
enum { FARO_EFFECTIVE_LEAST = 30 };

typedef struct faro_evaluation {
  faro_evaluated of[FARO_METHODS];
  uint64_t rows, people;         /* people: as many as rows if rows are people */
  uint64_t accepted;             /* rows that replay used */
  double effective;              /* (sum of w)^2 / sum of w^2 */
  double matched;                /* share of rows whose arm the target policy may play */
  double greatest;               /* weight, before cutting */
  double mean, mean_error;       /* mean weight before cutting, and its standard error */
  double inverse, inverse_error; /* the same for 1 / (K propensity) */
  double cut;                    /* share of the weight that was cut off */
  double missing;                /* share of the target policy's plays on arms that the log lacks ... */
  size_t missing_arm;            /* ... the first of them */
  double skewness;               /* skewness of the terms of ips */
  unsigned doubts;               /* bits 1U << FARO_DOUBT_... */
} faro_evaluation;

/* A doubt in words. */
enum { FARO_DOUBT_SIZE = 320 };
FARO_API const char *faro_evaluation_doubt(const faro_evaluation *evaluation, faro_doubt doubt,
                                           char out[FARO_DOUBT_SIZE]);

typedef struct faro_evaluator faro_evaluator;

FARO_API faro_status faro_evaluator_create(faro_evaluator **evaluator, const faro_evaluator_params *params,
                                           faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_evaluator_destroy(faro_evaluator *evaluator); /* NULL is allowed */
/* FARO_INVALID, with nothing added, if a value is out of range; the message names it. */
FARO_API faro_status faro_evaluator_add(faro_evaluator *evaluator, const faro_logged *row,
                                        faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_evaluator_result(const faro_evaluator *evaluator, faro_evaluation *result);

/* ---- a reward model, cross-fitted
 *
 * Ridge regression of the reward on the features and a constant, for each arm. Rows are divided
 * into folds by their group (a row's number, or a person), and each row is predicted by the model
 * of the other folds. Two passes: learn from every row, fit, predict every row. */
typedef struct faro_reward_model faro_reward_model;

typedef struct faro_reward_model_params {
  size_t arms, dimension; /* features without the constant, 0 .. 1000 */
  size_t folds;           /* 2 .. 100; 0: 5 */
  double ridge;           /* weight of the penalty; 0: 1 */
  double low, high;       /* predictions are clipped to the interval of rewards */
} faro_reward_model_params;

FARO_API faro_status faro_reward_model_create(faro_reward_model **model,
                                              const faro_reward_model_params *params,
                                              faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_reward_model_destroy(faro_reward_model *model); /* NULL is allowed */
/* `arm` must be one of the arms; NULL features if the dimension is 0. */
FARO_API void faro_reward_model_learn(faro_reward_model *model, uint64_t group, size_t arm, const double *x,
                                      double reward);
FARO_API void faro_reward_model_fit(faro_reward_model *model);
/* The mean reward of every arm. `mean` has room for all arms. */
FARO_API void faro_reward_model_predict(const faro_reward_model *model, uint64_t group, const double *x,
                                        double *mean);

/* ---- private estimates
 *
 * Everything that is published comes from one release of sums over people; each person is one
 * contribution, made of at most `contributions` rows. Weights are cut to `clip`, rewards and
 * predictions clipped to their interval. docs/privacy.md, Evaluation. */
typedef struct faro_private_evaluator faro_private_evaluator;

typedef struct faro_private_evaluator_params {
  double epsilon, delta;
  const faro_release_kind *kind; /* one that is made of a single batch: see faro_evaluate_kind */
  size_t arms;                   /* so that rows can be checked; 0: arms and `targets` are not */
  double low, high;              /* rewards are clipped to this interval */
  double clip;                   /* weights are cut to this: above 0, and not taken from the data */
  double residual;               /* with a model: residuals are clipped to this; 0: high - low */
  bool model;      /* rows have `value` and `prediction`, from a model that is public or was released */
  uint64_t people; /* contributions in all, which is public; 0: as many persons as come */
  uint64_t contributions; /* most rows of a person; 0: rows are people. Above 0 the level is user */
  double confidence;      /* 0: 0.95 */
} faro_private_evaluator_params;

/* All numbers come from the released sums and from public settings. */
typedef struct faro_private_evaluation {
  faro_evaluated of[FARO_METHODS]; /* logged, ips, snips, and with a model dr */
  double noise[FARO_METHODS];      /* the part of `error` that is noise */
  double rows, people;             /* people are public; rows are estimated if people have several */
  double mean, mean_error;         /* mean weight after cutting, and what noise and luck may change */
  double effective;                /* at least this many effective rows */
  faro_claim claim;
  const char *release; /* the kind that made it */
  unsigned doubts;     /* FEW and WEIGHTS only */
} faro_private_evaluation;

/* The release with the least noise for this trust model: central (joint), shuffle or local. NULL
 * for others. */
FARO_API const faro_release_kind *faro_evaluate_kind(faro_trust trust);

/* The source is simulated, or all parties. */
FARO_API faro_status faro_private_evaluator_create(faro_private_evaluator **evaluator,
                                                   const faro_private_evaluator_params *params,
                                                   faro_source source, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_private_evaluator_destroy(faro_private_evaluator *evaluator); /* NULL is allowed */
/* Rows of a person beyond the first `contributions` are ignored. A row with a value that
 * faro_evaluator_add would refuse counts as zeros: whether this succeeds depends on nobody's data.
 */
FARO_API faro_status faro_private_evaluator_add(faro_private_evaluator *evaluator, const faro_logged *row,
                                                faro_error *error) FARO_WARN_UNUSED;
/* Releases, once. Fails if fewer people came than were announced. */
FARO_API faro_status faro_private_evaluator_finish(faro_private_evaluator *evaluator,
                                                   faro_private_evaluation *result,
                                                   faro_error *error) FARO_WARN_UNUSED;
/* What the claim rests on (faro_release_grounds); after finish. The caller frees it. */
FARO_API char *faro_private_evaluator_grounds(const faro_private_evaluator *evaluator);
FARO_API const char *faro_private_evaluation_doubt(const faro_private_evaluation *evaluation,
                                                   faro_doubt doubt, char out[FARO_DOUBT_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
