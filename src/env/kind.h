/* kind: what an environment is made of, for the files that implement one. */
#ifndef FARO_ENV_KIND_H
#define FARO_ENV_KIND_H

#include <faro/design.h>
#include <faro/env.h>
#include <faro/random.h>

#include "base/arena.h"

struct faro_env_kind {
  const char *name, *summary;
  bool clients;                           /* a population: clients report averages, see faro_env_client */
  double (*pull)(faro_env *, size_t arm); /* a reward; NULL: drawn about the arm's mean */
  bool signs;                             /* features as `sphere` has them, whatever `draw` says */
  bool glm;                               /* generalised linear rewards, by `link` */
  faro_link link;
  void (*begin)(faro_env *);   /* arms of the first round */
  void (*next)(faro_env *);    /* arms of round env->round; NULL: they stay */
  double (*value)(faro_env *); /* of a stream: the next number; NULL: there are arms */
};

/* State of a stream of bits (bits.c). */
typedef struct faro_env_bits {
  uint64_t word; /* fair bits that were drawn already: the lowest `left` of it */
  unsigned left;
  uint64_t repeats; /* of bits-hard: the length of every other run */
  uint64_t run;     /* users that the run at hand still has */
  bool repeated;    /* it is one of the long ones */
  bool bit;         /* its value */
} faro_env_bits;

struct faro_env {
  const faro_env_kind *kind;
  faro_arena arena;
  faro_env_params params;
  faro_arms arms;
  double *theta, *mean; /* <x, theta> of each arm in this round: its mean reward, but for a link */
  double best;          /* the greatest mean reward */
  double *basis;        /* scratch of kinds that need d x d */
  faro_points *net;     /* the arms, where they are a net */
  double *direction; /* linear-known: parameters that arms stand for, actions of a context, sums of squares */
  double *offer, *square, error;
  double top;     /* linear-known: mean reward of the best response to theta */
  uint64_t round; /* from 0 */
  faro_env_bits bits;
  uint64_t user; /* who plays this round */
  faro_sim_rng instance, context, reward, visitor;
};

/* Pieces for linear environments (linear.c). */
void faro_linear_unit(faro_sim_rng *sim, size_t n, double *u, size_t stride); /* uniform on the sphere */
void faro_linear_draw_arms(faro_env *env, faro_sim_rng *sim);
double faro_linear_reward(faro_env *env, double mean); /* drawn about the mean */
void faro_linear_settle(faro_env *env);                /* arms have changed: new version, means, best */

#endif
