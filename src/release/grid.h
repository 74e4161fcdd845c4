/* grid: Gaussian noise in whole numbers, for the releases that may be deployed with it. grid.c has the reasons. */
#ifndef FARO_RELEASE_GRID_H
#define FARO_RELEASE_GRID_H

#include "release/kind.h"

typedef struct faro_grid {
  faro_real real;     /* what simulations use, by whole batches */
  double unit;        /* u, a power of two: one step in original units */
  double spread;      /* (S + u sqrt(length)) / S: what rounding adds to the sensitivity */
  uint64_t *variance; /* of the discrete Gaussian of an entry, in steps */
  uint64_t most;      /* no entry of a message exceeds this in magnitude */
  int64_t *whole;     /* messages added up: of the open batch, of the tree those of all */
  bool counted;       /* there is something in it */
} faro_grid;

static inline faro_grid *faro_grid_of(faro_release *r) { return (faro_grid *)(void *)r; }
static inline const faro_grid *faro_grid_in(const faro_release *r) {
  return (const faro_grid *)(const void *)r;
}

faro_status faro_grid_init(faro_release *r, faro_error *error);
void faro_grid_finish(faro_release *r);
/* What the claim rests on: the mechanism with real noise of parameter mu is (epsilon, delta)-private, and a user moves
 * `draws` noisy entries of it. FARO_INVALID where that cannot be carried over to whole numbers. */
typedef struct faro_grid_basis {
  double mu, epsilon, delta, draws;
} faro_grid_basis;
faro_status faro_grid_vouch(const faro_release *r, faro_grid_basis basis, faro_error *error);

void faro_grid_absorb(faro_release *r, const double *z, faro_rng *rng);
void faro_grid_thicken(faro_release *r, faro_rng *rng);
void faro_grid_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message);
void faro_grid_plain(const faro_release *r, const double *z, faro_rng *rng, void *message); /* no noise */
bool faro_grid_sound(const faro_release *r, size_t index, const void *message);
void faro_grid_range(const faro_release *r, size_t level, int64_t *least, int64_t *most);
void faro_grid_collect(faro_release *r, size_t index, const void *message);
void faro_grid_publish(faro_release *r, faro_sim_rng *sim);
double faro_grid_influence(const faro_release *r);

/* What kinds whose users add the noise have in common. */
#define FARO_GRID_KIND                                                                                       \
  .exact = true, .size = sizeof(faro_grid), .init = faro_grid_init, .finish = faro_grid_finish,              \
  .absorb = faro_real_absorb, .absorb_secure = faro_grid_absorb, .thicken = faro_gaussian_thicken,           \
  .thicken_secure = faro_grid_thicken, .randomize = faro_grid_randomize, .sound = faro_grid_sound,           \
  .range = faro_grid_range, .collect = faro_grid_collect, .publish = faro_grid_publish,                      \
  .influence = faro_grid_influence, .saves = true

#endif
