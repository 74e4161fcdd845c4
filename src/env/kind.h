/* kind: what an environment consists of, for the files that implement one.
 *
 * An environment is a struct of its own whose first member is a faro_env. Whatever does not fit
 * into the struct, init allocates from the environment's arena. */
#ifndef FARO_ENV_KIND_H
#define FARO_ENV_KIND_H

#include <faro/env.h>
#include <faro/random.h>

#include "base/arena.h"

typedef struct faro_env_rules faro_env_rules;

struct faro_env_rules {
  faro_env_kind about;
  size_t size; /* size of the state, whose first member is a faro_env */

  /* Optional. Refuses what init would refuse (arms, draw, settings) without making anything. NULL:
   * checks the number of arms. */
  faro_status (*check)(const faro_env_rules *, const faro_env_params *, faro_error *);
  /* Optional. Changes the facts that hold for linear rewards with these draws. */
  void (*describe)(const faro_env_params *, faro_env_facts *);
  const faro_env_facts *facts; /* Optional. Takes the place of all of these. */
  /* Optional. Makes the arms (faro_env_make_arms) and whatever else is needed; NULL: params.arms
   * arms. */
  faro_status (*init)(faro_env *, faro_error *);
  /* Required. Draws an instance: the parameter, and the arms of the first round. */
  void (*begin)(faro_env *);
  /* Optional. Makes the arms of round env->round; NULL: they stay. */
  void (*next)(faro_env *);
  /* Optional. Draws the reward of an arm that is played; NULL: drawn around the arm's mean. */
  double (*reward)(faro_env *, size_t arm);
  /* Optional. The same for faro_env_pull, where it is another. */
  double (*pull)(faro_env *, size_t arm);
  /* Streams only, required there: the next `count` numbers, which are bits (base/bits.h). What is
   * beyond them in the last word may be anything. */
  void (*bits)(faro_env *, uint64_t count, uint64_t *bits);
  /* Optional. Streams only: see faro_env_least_error. */
  double (*least_error)(const faro_env_params *);
  /* Populations only, required there: see faro_env_client. */
  void (*client)(faro_env *, size_t support, const size_t *arm, const uint64_t *pulls, double *average);
  /* Rows only, required there: see faro_env_read, faro_env_takes, faro_env_tally_of,
   * faro_env_status. */
  faro_status (*read)(faro_env_params *, faro_error *);
  faro_status (*once)(const faro_env_params *, faro_error *);
  bool (*takes)(faro_env *, size_t arm);
  void (*note)(faro_env *, size_t arm); /* the arm is played in this round */
  faro_env_tally (*tally)(const faro_env *);
  faro_status (*status)(const faro_env *, faro_error *);
  /* Optional. Frees what init made outside the arena. */
  void (*destroy)(faro_env *);
};

struct faro_env {
  const faro_env_rules *rules;
  faro_arena arena;
  faro_env_params params; /* with settings filled in, owned by the environment */
  double low, high;       /* least and greatest reward */
  faro_arms arms;
  double *theta;
  double *mean;   /* <x, theta> of each arm in this round; the mean reward is its link */
  double best;    /* the greatest mean reward */
  double error;   /* see faro_env_error */
  uint64_t round; /* counted from 0 */
  uint64_t user;  /* who plays this round */
  faro_sim_rng instance, context, reward, visitor;
};

/* Whether params.arms is in range. */
faro_status faro_env_check_arms(const faro_env_params *params, faro_error *error) FARO_WARN_UNUSED;
/* Room for `count` arms, their means and the parameter. */
faro_status faro_env_make_arms(faro_env *env, size_t count, faro_error *error) FARO_WARN_UNUSED;

/* Pieces of linear environments (linear.c). */
void faro_linear_normals(faro_sim_rng *sim, size_t n, double *u, size_t stride); /* n normals, spaced out */
void faro_linear_unit(faro_sim_rng *sim, size_t n, double *u, size_t stride);    /* uniform on the sphere */
/* The first n features of all arms: directions, or points in the ball of their own draw. */
void faro_linear_draw_directions(faro_env *env, faro_sim_rng *sim, size_t n, bool ball);
void faro_linear_draw_parameter(faro_env *env);
void faro_linear_draw_arms(faro_env *env, faro_sim_rng *sim);
double faro_linear_reward(faro_env *env, double mean); /* drawn about the mean */
bool faro_linear_counts(const faro_env *env);          /* whether rewards are low or 1 */
/* The number of rewards that are 1, from the words that would draw them one by one. */
uint64_t faro_linear_count(faro_env *env, double mean, uint64_t times);
void faro_linear_settle(faro_env *env); /* arms have changed: new version, means, best */

/* Linear environments whose arms may be a net of the sphere or ball (linear.c): a setting, check
 * and init. */
#define FARO_LINEAR_ZETA                                                                                     \
  {                                                                                                          \
    "zeta", FARO_SETTING_REAL, offsetof(faro_env_settings, zeta), 0, 1, 0, NULL,                             \
        "continuous arms: all of the sphere or ball that draw names, by a net of this radius; 0: finite "    \
        "arms"                                                                                               \
  }
extern const faro_setting faro_linear_settings[];
faro_status faro_linear_check(const faro_env_rules *rules, const faro_env_params *params, faro_error *error);
faro_status faro_linear_init(faro_env *env, faro_error *error);

/* Arms that turn, within planes of the first n coordinates (adversarial.c). */
typedef struct faro_adversary {
  faro_env env;
  double *basis;         /* n rows of n */
  double *cosine, *sine; /* the arms' angles before they turn */
} faro_adversary;
faro_status faro_adversary_init(faro_env *env, faro_error *error);
void faro_adversary_draw(faro_env *env, size_t n); /* the planes */
void faro_adversary_turn(faro_env *env, size_t n, double scale);

bool faro_draws_plainly(const faro_env_params *params); /* sphere or ball: no constant feature */

#endif
