/* env: simulated worlds. An environment makes arms, rewards and the regret; or it is a stream of
 * numbers, one per user, whose running sum is to be estimated.
 *
 *     faro_env_create -> faro_env_begin(seed, instance);   for each round: arms, gap, play
 *
 * Everything random comes from streams named by (seed, instance). So algorithms on the same
 * instance get the same parameter, the same arms and the same luck: the reward in round t is
 * decided by the same uniform number whatever is played. */
#ifndef FARO_ENV_H
#define FARO_ENV_H

#include <faro/glm.h>
#include <faro/rows.h>
#include <faro/setting.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rewards are in [0, 1], or in [-1, 1] if they are linear and the draw is `sphere` or `ball`.
 * glm-poisson has counts, whatever this says. */
#define FARO_REWARD_LIST(X)                                                                                  \
  X(BERNOULLI, "bernoulli") /* one of the two ends */                                                        \
  X(UNIFORM, "uniform")     /* uniform on the widest interval around the mean that fits */

typedef enum faro_reward {
#define X(name, text) FARO_REWARD_##name,
  FARO_REWARD_LIST(X)
#undef X
} faro_reward;

/* How features and the parameter are drawn. The first two have means (1 + <u, v>) / 2 in [0, 1].
 *   sphere-appended   x = (u, 1)/sqrt(2), theta = (v, 1)/sqrt(2), u and v uniform on the unit
 *                     sphere of dimension d - 1; so ||x|| = ||theta|| = 1
 *   sphere-published  x = (u, 1), theta = (v, 1)/2, and the first d arms on the axes: the unscaled
 *                     features behind Figure 1 of Chowdhury & Zhou 2022; ||x|| = sqrt(2)
 *   sphere            x and theta uniform on the unit sphere; means <x, theta> in [-1, 1]
 *   ball              x uniform in the unit ball, theta on the sphere
 *   axes              x = e_1 .. e_d, one arm for each dimension: the bandit of K arms without
 *                     structure; theta uniform in the cube, so means are in [0, 1]
 * Generalised linear rewards have means mu(<x, theta>) with a theta of their own, and allow only
 * `sphere` and `ball`. */
#define FARO_DRAW_LIST(X)                                                                                    \
  X(APPENDED, "sphere-appended")                                                                             \
  X(PUBLISHED, "sphere-published")                                                                           \
  X(SPHERE, "sphere")                                                                                        \
  X(BALL, "ball")                                                                                            \
  X(AXES, "axes")

typedef enum faro_draw {
#define X(name, text) FARO_DRAW_##name,
  FARO_DRAW_LIST(X)
#undef X
} faro_draw;

/* The value of a name: false if there is none. */
FARO_API bool faro_reward_find(const char *name, faro_reward *reward);
FARO_API bool faro_draw_find(const char *name, faro_draw *draw);

/* Traits of a kind of environment; 0: fresh arms for every user, linear rewards. */
enum {
  FARO_ENV_STAYS = 1,      /* one set of arms per instance */
  FARO_ENV_POPULATION = 2, /* clients with parameters of their own report averages, see faro_env_client */
  FARO_ENV_STREAM = 4,     /* a stream of numbers: there are no arms, see faro_env_value */
  FARO_ENV_CONTEXTS = 8,   /* arms stay, but what a user does with one depends on the user's own context */
  FARO_ENV_ROWS = 16       /* people and rewards are those of a file, see faro_env_read */
};

typedef struct faro_env_kind {
  const char *name;    /* as written in experiments */
  const char *summary; /* one line for `faro list` */
  unsigned traits;
  faro_link link;               /* mean reward is link(<x, theta>) */
  const faro_setting *settings; /* the environment's own, ended by an empty row; may be NULL */
  size_t settings_size;         /* size of the struct that holds them */
  const char *version;          /* a program's own environment only, see world.h; else NULL */
} faro_env_kind;

FARO_API size_t faro_env_count(void);
FARO_API const faro_env_kind *faro_env_at(size_t index);       /* as in envs.def, then those of world.h */
FARO_API const faro_env_kind *faro_env_find(const char *name); /* NULL if there is no such environment */

/* Where the arms of generalised linear rewards come from. */
#define FARO_CONTEXTS_LIST(X)                                                                                \
  X(FRESH, "fresh")             /* drawn for every user */                                                   \
  X(FIXED, "fixed")             /* drawn once per instance */                                                \
  X(ADVERSARIAL, "adversarial") /* rotated so that old information is least useful */                        \
  X(COORDINATES, "coordinates") /* +-e_i, and a parameter of random signs: hard for private learners */

typedef enum faro_contexts {
#define X(name, text) FARO_CONTEXTS_##name,
  FARO_CONTEXTS_LIST(X)
#undef X
      FARO_CONTEXTS_COUNT
} faro_contexts;

/* Where a person's features stand in the features of an arm: in a block of the arm's own, so that
 * dimension = arms x features; or projected at random to `dimension` numbers, another projection
 * for each arm, so that arms share one parameter. */
#define FARO_LAYOUT_LIST(X)                                                                                  \
  X(BLOCK, "block")                                                                                          \
  X(SHARED, "shared")

typedef enum faro_layout {
#define X(name, text) FARO_LAYOUT_##name,
  FARO_LAYOUT_LIST(X)
#undef X
} faro_layout;

/* The environments' own settings; each environment has a table with some of them. */
typedef struct faro_env_settings {
  double zeta;      /* above 0: the arms are a net, of this radius, of the unit sphere or ball */
  uint64_t actions; /* linear-known only: actions per context */
  uint64_t samples; /* linear-known only: contexts drawn to find the mean features of each arm */
  double skew;      /* linear-fixed, linear-iid: standard deviation of the first feature over the last */
  double spread;    /* linear-population only: standard deviation of clients' parameters */
  double norm;      /* generalised linear rewards only: S, length of the parameter */
  faro_contexts contexts; /* generalised linear rewards only */
  double quiet, busy,
      cycles;      /* bits-events only: least and greatest rate of ones, and how often they alternate */
  bool abrupt;     /* bits-events only: the rate jumps */
  uint64_t copies; /* bits-hard only: copies of every second bit; 0: as many as the lower bound has */
  /* rows only. Texts are not copied: they must live as long as the environment. */
  faro_rows_params rows;
  faro_layout layout;
  int scaling;         /* where ranges of numbers come from: none, declared, public */
  const char *ranges;  /* declared */
  uint64_t components; /* numbers that describe a person, besides a constant; 0: chosen */
  uint64_t memory;     /* MiB: a file whose rows take more is read again in each instance */
} faro_env_settings;

typedef struct faro_env_params {
  size_t dimension, arms; /* not read by streams; arms not read where zeta > 0 */
  uint64_t horizon;
  faro_reward reward;
  faro_draw draw;
  uint64_t population; /* number of users, each equally likely to come; 0: nobody comes twice */
  /* For bits-hard only: the stream is hard for this many shufflers and this epsilon. */
  uint64_t shufflers; /* k; 0: log2(T) - 1 */
  double epsilon;
  const void *settings;     /* the kind's own; NULL: their defaults */
  struct faro_table *table; /* rows only: the file, see faro_env_read */
  /* rows only: begin reads all rows, and stops if this says so; what is played then is not used.
   * May be NULL. */
  bool (*stopped)(void *context);
  void *context;
} faro_env_params;

/* What a learner may know about a world in advance. */
typedef struct faro_env_facts {
  double norm;      /* bound on ||x|| */
  double low;       /* the least reward */
  double high;      /* the greatest: 1, except for counts */
  double bound;     /* bound on ||theta|| */
  double spread;    /* sub-Gaussian scale of clients' parameters about the common one */
  bool adversarial; /* contexts change so that old information is least useful */
  size_t blocks;    /* features stand in this many blocks of one length, one used at a time; 0: 1 */
  bool logged;      /* only the logged action of a round has a reward: ask faro_env_takes */
  unsigned assumes; /* what a claim about these people assumes: bits of faro_assumes */
} faro_env_facts;

typedef struct faro_env faro_env;

/* Refuses what create would refuse, without creating anything. */
FARO_API faro_status faro_env_check(const faro_env_kind *kind, const faro_env_params *params,
                                    faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_env_facts faro_env_describe(const faro_env_kind *kind, const faro_env_params *params);
FARO_API faro_status faro_env_create(faro_env **env, const faro_env_kind *kind, const faro_env_params *params,
                                     faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_env_destroy(faro_env *env); /* NULL is allowed */

/* rows only, required before check and create: reads the file into params->table, unless that is
 * there already, and fills in what follows from it: arms, dimension, population, and the horizon if
 * it is 0. A table may be shared by any number of environments, in any threads. Does nothing for
 * other kinds. */
FARO_API faro_status faro_env_read(const faro_env_kind *kind, faro_env_params *params,
                                   faro_error *error) FARO_WARN_UNUSED;
/* After faro_env_read. FARO_INVALID if a person of a file comes more than once: then level event
 * protects only one of several rounds, and a claim must be at level user. */
FARO_API faro_status faro_env_once(const faro_env_kind *kind, const faro_env_params *params,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Frees params->table, after all environments that use it. */
FARO_API void faro_env_unread(faro_env_params *params);

/* Draws instance `instance` of `seed` and makes its first round ready. */
FARO_API void faro_env_begin(faro_env *env, uint64_t seed, uint64_t instance);
FARO_API const faro_arms *faro_env_arms(const faro_env *env); /* arms of this round */
FARO_API uint64_t faro_env_user(const faro_env *env);         /* who plays this round, below the population */
FARO_API double faro_env_gap(const faro_env *env, size_t arm); /* best mean less the mean of this arm */
/* Plays an arm: copies its features to x, returns the reward, and makes the next round ready. */
FARO_API double faro_env_play(faro_env *env, size_t arm, double *x);
/* The same for `users` users who play the arm on the same features: what their rewards are in the
 * mean, with the variance of such a mean. Passes on as many rounds. */
FARO_API double faro_env_play_alike(faro_env *env, size_t arm, uint64_t users, double *x);
/* What people got who played one arm, one after another. */
typedef struct faro_env_rewards {
  double sum;
  uint64_t high, low; /* how many got the greatest and the least reward; 0, 0: there are others too */
} faro_env_rewards;
/* Whether arms stay for the whole instance, so that rounds can be played together. */
FARO_API bool faro_env_stays(const faro_env *env);
/* Whether rewards have two values, so that faro_env_play_times counts them. */
FARO_API bool faro_env_counts(const faro_env *env);
/* For arms that stay: plays an arm `times` times in a row, at most to the end of the horizon. The
 * rewards are those that as many calls of faro_env_play would give, from the same random numbers,
 * but rewards of two values are only counted: 2 ns each. */
FARO_API faro_env_rewards faro_env_play_times(faro_env *env, size_t arm, uint64_t times, double *x);
/* The reward of an arm, without a new round; for arms that stay. */
FARO_API double faro_env_pull(faro_env *env, size_t arm);
/* The same `times` times. */
FARO_API faro_env_rewards faro_env_pull_times(faro_env *env, size_t arm, uint64_t times);
/* Whether these rewards have two values, so that faro_env_pull_times counts them. */
FARO_API bool faro_env_counts_pulls(const faro_env *env);
FARO_API size_t faro_env_best(const faro_env *env); /* the best arm of this round */
/* Whether the arm can be played in this round. Always, except where rows are logged: there only the
 * logged action has a reward. False: the row was passed over, and another round is ready. */
FARO_API bool faro_env_takes(faro_env *env, size_t arm);
/* FARO_ENV_ROWS only: what was played so far, in mean rewards on the scale from 0 to 1. */
typedef struct faro_env_tally {
  double played;
  double uniform, fixed; /* what every arm equally often, and the best single arm, would have got */
  double linear;         /* what the linear policy fitted to the whole file would have got; NaN: logged */
  double passed;         /* share of rows that were passed over */
  double logged;         /* logged rows: what the log got, as uniform over the whole file; else NaN */
} faro_env_tally;
FARO_API faro_env_tally faro_env_tally_of(const faro_env *env);
/* FARO_INVALID if the file could not be read to the end of the horizon. */
FARO_API faro_status faro_env_status(const faro_env *env, faro_error *error) FARO_WARN_UNUSED;
/* The regret of simple play over the horizon of an instance. */
typedef struct faro_yardstick {
  double uniform; /* every round plays an arm drawn uniformly; NaN for streams */
  double fixed;   /* every round plays the best single arm; NaN if arms change */
} faro_yardstick;
/* Begins the instance like faro_env_begin, and measures simple play on it: exactly where arms stay,
 * else by an unbiased sample of its rounds. */
FARO_API faro_yardstick faro_env_begin_measured(faro_env *env, uint64_t seed, uint64_t instance);
/* The greatest 1 / slope of the link over all arms of an instance: the kappa that Sarmasarkar 2026
 * bounds. It needs the parameter, so no learner can know it. Begins the instance, as
 * faro_env_begin. */
FARO_API double faro_env_begin_kappa(faro_env *env, uint64_t seed, uint64_t instance);
/* The greatest standard error, in any direction, of arms' features that were estimated in advance;
 * 0: they are exact. */
FARO_API double faro_env_error(const faro_env *env);

/* FARO_ENV_POPULATION only: the report of a client that was never asked before. It has the average
 * reward of each of `support` arms over pulls[i] rounds, with noise of standard deviation 1 per
 * round. */
FARO_API void faro_env_client(faro_env *env, size_t support, const size_t *arm, const uint64_t *pulls,
                              double *average);
/* FARO_ENV_STREAM only: the next user's number, in [0, 1]. */
FARO_API double faro_env_value(faro_env *env);
/* The numbers of the next `count` users, which are 0 or 1, as bits: user i's is bit i % 64 of word
 * i / 64, counted from the lowest. Without a stream they are 0. */
FARO_API void faro_env_bits(faro_env *env, uint64_t count, uint64_t *bits);
/* The order of the greatest error that no private sum of this stream can avoid, without its unknown
 * constant; 0: none is known. */
FARO_API double faro_env_least_error(const faro_env *env);

#ifdef __cplusplus
}
#endif

#endif
