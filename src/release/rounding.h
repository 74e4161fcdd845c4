/* rounding: numbers to whole steps of a grid at random, without bias. */
#ifndef FARO_RELEASE_ROUNDING_H
#define FARO_RELEASE_ROUNDING_H

#include <faro/random.h>

/* A grid of `steps` steps that begins at -entry. */
typedef struct faro_grid_of_steps {
  double entry, step;
  uint64_t steps;
} faro_grid_of_steps;

/* Steps in 2^-32 fixed point, within the grid; NaN counts as its lower end. */
static inline uint64_t faro_fixed_point(const faro_grid_of_steps *grid, double z) {
  const double most = 0x1p32 * (double)grid->steps;
  const double steps = (z + grid->entry) * (0x1p32 / grid->step);
  if (!(steps > 0)) return 0;
  return (uint64_t)(int64_t)(steps < most ? steps : most); /* signed: one instruction */
}

/* Adds to every number of `ones` an entry of z, rounded up with exactly the probability of its
 * fraction of a step. One random word serves two entries. */
void faro_plain_round(faro_rng *rng, const faro_grid_of_steps *grid, const double *z, uint64_t *ones,
                      size_t length);
/* The same from a stream for simulation, in lanes where the processor has them. */
void faro_sim_round(faro_sim_rng *sim, const faro_grid_of_steps *grid, const double *z, uint64_t *ones,
                    size_t length);

#endif
