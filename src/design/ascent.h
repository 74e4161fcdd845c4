/* ascent: the weights of a design, changed one arm at a time, with the norms of all arms kept up to
 * date.
 *
 *   m, n   rank and number of arms
 *   z_a    coordinates of arm a
 *   pi     weights
 *   V      sum_a pi_a z_a z_a'
 *   H      V^-1
 *   g_a    ||z_a||^2_H; sum_a pi_a g_a = m, so the greatest is >= m, and = m at the optimum */
#ifndef FARO_DESIGN_ASCENT_H
#define FARO_DESIGN_ASCENT_H

#include <faro/design.h>

#include "base/arena.h"

typedef struct faro_ascent {
  const faro_arms *z; /* m x n */
  faro_spd *spd;
  double *scratch;      /* for faro_score over all arms */
  double *pi;           /* per arm; zero outside the support */
  size_t *place, count; /* the support: positions among the arms */
  double *v, *w;        /* packed V and W, H = W' W */
  double *h;            /* m x m */
  double *g, *dot;      /* per arm: g_a, and <z_a, u> of the last step */
  double *zero, *u;     /* m: for faro_score, and H z of the last step */
  double *outer;        /* for thinning */
  double log_det;       /* ln det V at the last refresh */
  size_t best;          /* the arm with the greatest g */
  size_t steps, since;  /* steps since the start and since the last refresh */
} faro_ascent;

faro_status faro_ascent_create(faro_ascent *ascent, faro_arena *arena, size_t d, size_t room,
                               faro_error *error);

/* Starts with equal weights on the m arms `basis`, whose coordinates are the unit vectors. */
void faro_ascent_start(faro_ascent *ascent, const faro_arms *z, double *scratch, const size_t *basis);

/* Computes V, H and all g from the weights alone. False if V is not positive definite to working
 * precision. */
bool faro_ascent_refresh(faro_ascent *ascent);

/* pi := (1 - gamma) pi + gamma e_a. gamma may be negative, down to faro_ascent_drop. */
void faro_ascent_step(faro_ascent *ascent, size_t a, double gamma);
/* The gamma that takes all weight from arm a. */
static inline double faro_ascent_drop(const faro_ascent *ascent, size_t a) {
  return -ascent->pi[a] / (1 - ascent->pi[a]);
}

/* The greatest g. */
static inline double faro_ascent_top(const faro_ascent *ascent) { return ascent->g[ascent->best]; }

/* Steps until the greatest g, freshly computed, is at most `goal`. False if that takes too long. */
bool faro_ascent_climb(faro_ascent *ascent, double goal);

/* Removes arms from the support while the greatest g stays at most `goal`. False as for refresh. */
bool faro_ascent_thin(faro_ascent *ascent, double goal);
/* Doubles that thinning needs for arms of dimension d. */
size_t faro_thin_scratch(size_t d);

/* V = sum pi_a z_a z_a' over the support. */
void faro_ascent_gram(faro_ascent *ascent);

#endif
