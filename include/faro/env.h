/* env: simulated worlds. An environment makes arms, rewards and the regret; or it is a stream of numbers, one a user,
 * whose running sum is wanted.
 *
 * Everything random comes from streams named by (seed, instance), so rivals that face the same
 * instance meet the same parameter, the same arms and the same luck: a reward in round t is decided
 * by the same uniform number whoever plays. */
#ifndef FARO_ENV_H
#define FARO_ENV_H

#include <faro/glm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rewards lie in [0, 1], or in [-1, 1] where they are linear and the draw is `sphere` or `ball`. */
#define FARO_REWARD_LIST(X)                                                                                  \
  X(BERNOULLI, "bernoulli") /* one of the two ends */                                                        \
  X(UNIFORM, "uniform")     /* uniform on the widest interval within them around the mean */

typedef enum faro_reward {
#define X(name, text) FARO_REWARD_##name,
  FARO_REWARD_LIST(X)
#undef X
} faro_reward;

/* How features and the parameter are drawn. The first two have means (1 + <u, v>) / 2 in [0, 1].
 *   sphere-appended   x = (u, 1)/sqrt(2), theta = (v, 1)/sqrt(2), u and v uniform on the unit sphere of
 *                     dimension d - 1; so ||x|| = ||theta|| = 1
 *   sphere-published  x = (u, 1), theta = (v, 1)/2, and the first d arms on the axes: the unscaled
 *                     features of the published script for 000 Fig. 1; ||x|| = sqrt(2)
 *   sphere            x and theta uniform on the unit sphere; means <x, theta> in [-1, 1]
 *   ball              x uniform in the unit ball, theta on the sphere
 * Generalised linear rewards have means mu(<x, theta>) with a theta of their own, and take the last two. */
#define FARO_DRAW_LIST(X)                                                                                    \
  X(APPENDED, "sphere-appended")                                                                             \
  X(PUBLISHED, "sphere-published")                                                                           \
  X(SPHERE, "sphere")                                                                                        \
  X(BALL, "ball")

typedef enum faro_draw {
#define X(name, text) FARO_DRAW_##name,
  FARO_DRAW_LIST(X)
#undef X
} faro_draw;

typedef struct faro_env_params {
  size_t dimension, arms;
  uint64_t horizon;
  faro_reward reward;
  faro_draw draw;
  uint64_t
      shufflers; /* k and epsilon, of bits-hard alone: what its stream is to be hard for; k = 0: log2(T) - 1 */
  double epsilon;
  double
      zeta; /* above 0: the arms are a net of this radius of the unit sphere or ball, and `arms` is not read */
  size_t actions;   /* of linear-known: offered in a context */
  uint64_t samples; /* of linear-known: contexts drawn to find the mean features of each arm */
  double spread; /* of linear-population: standard deviation of a client's parameter about the common one */
  double norm;   /* of generalised linear rewards, S: length of the parameter */
  uint64_t population; /* how many users there are, each as likely to come; 0: nobody comes twice */
} faro_env_params;

typedef struct faro_env faro_env;
typedef struct faro_env_kind faro_env_kind;

FARO_API size_t faro_env_kinds(void);
FARO_API const faro_env_kind *faro_env_kind_at(size_t index);
FARO_API const faro_env_kind *faro_env_kind_find(const char *name);
FARO_API const char *faro_env_kind_name(const faro_env_kind *kind);
FARO_API const char *faro_env_kind_summary(const faro_env_kind *kind);
FARO_API bool faro_env_kind_streams(const faro_env_kind *kind);   /* a stream of numbers: there are no arms */
FARO_API bool faro_env_kind_glm(const faro_env_kind *kind);       /* generalised linear rewards, */
FARO_API faro_link faro_env_kind_link(const faro_env_kind *kind); /* with this link; else linear */

/* What create would refuse, without creating anything. */
FARO_API faro_status faro_env_check(const faro_env_kind *kind, const faro_env_params *params,
                                    faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_env_create(faro_env **env, const faro_env_kind *kind, const faro_env_params *params,
                                     faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_env_destroy(faro_env *env);

/* Draws instance `instance` of `seed` and makes its first round ready. */
FARO_API void faro_env_begin(faro_env *env, uint64_t seed, uint64_t instance);
FARO_API const faro_arms *faro_env_arms(const faro_env *env);  /* of this round */
FARO_API uint64_t faro_env_user(const faro_env *env);          /* who plays it, below the population */
FARO_API double faro_env_gap(const faro_env *env, size_t arm); /* best mean less this arm's */
/* Plays an arm: copies its features to x, returns the reward, and makes the next round ready. */
FARO_API double faro_env_play(faro_env *env, size_t arm, double *x);
/* The reward of an arm, and nothing else: for whoever knows the arms, where they stay. */
FARO_API double faro_env_pull(faro_env *env, size_t arm);
FARO_API size_t faro_env_best(const faro_env *env);           /* the best arm of this round */
FARO_API bool faro_env_kind_fixed(const faro_env_kind *kind); /* its arms stay */
/* Of a population: what a client who was never asked before reports, the average reward of each of `support` arms over
 * pulls[i] rounds, whose noise has standard deviation 1 in one round. */
FARO_API void faro_env_client(faro_env *env, size_t support, const size_t *arm, const uint64_t *pulls,
                              double *average);
/* Of a stream, in place of all that: the next user's number, in [0, 1]. */
FARO_API double faro_env_value(faro_env *env);

/* Of linear-known: the largest standard error of an arm's mean features, in any direction; else 0. */
FARO_API double faro_env_error(const faro_env *env);
FARO_API double faro_env_norm(const faro_env_params *params); /* bound on ||x|| */
FARO_API double faro_env_low(const faro_env_kind *kind,
                             const faro_env_params *params);       /* the least reward; the greatest is 1 */
FARO_API bool faro_env_kind_population(const faro_env_kind *kind); /* clients report averages */

#ifdef __cplusplus
}
#endif

#endif
