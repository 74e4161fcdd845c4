/* grid: Gaussian noise in whole numbers, which can be deployed. grid.c has the reasons; tree.c
 * builds on it. */
#ifndef FARO_RELEASE_GRID_H
#define FARO_RELEASE_GRID_H

#include "release/real.h"

/* What the claim rests on: with real noise of parameter mu the mechanism is (epsilon,
 * delta)-private, and a user moves `draws` of its noisy entries. */
typedef struct faro_grid_basis {
  double mu, epsilon, delta, draws;
} faro_grid_basis;

typedef struct faro_grid {
  faro_real real;         /* for simulations of whole batches */
  faro_grid_basis *basis; /* per class of batches with noise of its own; set by calibration tight */
  double unit;            /* u, a power of two: one step in original units */
  double blur;            /* steps by which two users' messages may differ besides; set before settle */
  double spread;          /* (S + u (sqrt(length) + blur)) / S: the growth of the sensitivity by rounding */
  uint64_t *variance;     /* variance of the discrete Gaussian, per entry, in steps */
  uint64_t most;          /* no entry of a message exceeds this in magnitude */
  int64_t *whole;         /* sum of the messages of the open batch; tree: of all batches */
  bool counted;           /* `whole` is not all zero */
} faro_grid;

static inline faro_grid *faro_grid_of(faro_release *r) { return (faro_grid *)(void *)r; }
static inline const faro_grid *faro_grid_in(const faro_release *r) {
  return (const faro_grid *)(const void *)r;
}

faro_status faro_grid_init(faro_release *r, faro_error *error);
/* Chooses unit, variances and range from the calibrated noise. */
void faro_grid_choose(faro_release *r);
/* Chooses, and for deployment proves that the claim holds on the grid. */
faro_status faro_grid_settle(faro_release *r, faro_error *error);
/* z on the grid, without noise. */
void faro_grid_round(const faro_release *r, const double *z, void *message);
void faro_grid_collect(faro_release *r, size_t index, const void *message);
/* In floating point in simulations, on the grid in deployment. */
void faro_grid_absorb(faro_release *r, const double *z, uint64_t users);

/* The noise of a class, for grounds.h: in real numbers, and as it is drawn in deployment. */
void faro_grid_ground(const faro_release *r, size_t k, struct faro_text *out);

#endif
