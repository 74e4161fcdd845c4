/* world: see the header. */
#include "support/world.h"

#include <math.h>

typedef struct cube {
  size_t d, arms;
  double theta[16], x[16 * 16];
} cube;

static faro_status init(void *state, const faro_env_params *params, faro_error *error) {
  cube *c = state;
  c->d = params->dimension;
  c->arms = params->arms;
  if (c->d <= 16 && c->arms <= 16) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "arms must be at most 16 (got %zu)", c->arms);
}

static void begin(void *state, faro_sim_rng *random) {
  cube *c = state;
  for (size_t i = 0; i < c->d; i++) c->theta[i] = faro_sim_uniform(random) / sqrt((double)c->d);
}

static void arms(void *state, uint64_t round, faro_sim_rng *random, double *features) {
  cube *c = state;
  (void)round;
  for (size_t i = 0; i < c->arms * c->d; i++)
    features[i] = c->x[i] = faro_sim_uniform(random) / sqrt((double)c->d);
}

static double mean(const void *state, size_t arm) {
  const cube *c = state;
  double sum = 0;
  for (size_t i = 0; i < c->d; i++) sum += c->x[arm * c->d + i] * c->theta[i];
  return sum;
}

const faro_world world_fresh = {
    .name = "cube-fresh", .size = sizeof(cube), .init = init, .begin = begin, .arms = arms, .mean = mean};
const faro_world world_stays = {.name = "cube-stays",
                                .summary = "linear rewards of a cube",
                                .stays = true,
                                .size = sizeof(cube),
                                .init = init,
                                .begin = begin,
                                .arms = arms,
                                .mean = mean};
