/* public: see the header. */
#include "agent/public.h"

#include <math.h>
#include <string.h>

#include <faro/linalg.h>

faro_status faro_public_init(faro_public *p, size_t dimension, double norm, faro_arena *arena,
                             faro_error *error) {
  const size_t length = faro_packed(dimension) + dimension;
  double **const vector[] = {&p->x, &p->sum, &p->block, &p->before, &p->scale, &p->alone};
  p->dimension = dimension;
  p->norm = norm;
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    if (!(*vector[i] = faro_arena_alloc(arena, length, sizeof **vector[i], error))) return FARO_MEMORY;
  return FARO_OK;
}

void faro_public_add(faro_public *p, const double *x, double people) {
  double square = 0;
  for (size_t i = 0; i < p->dimension; i++) square += x[i] * x[i];
  if (!isfinite(square)) return;
  const double factor = square > p->norm * p->norm ? p->norm * p->norm / square : 1;
  double *entry = p->sum;
  for (size_t i = 0; i < p->dimension; i++)
    for (size_t j = 0; j <= i; j++) *entry++ += people * factor * x[i] * x[j];
}

faro_noise faro_public_noise(const faro_public *p, faro_noise noise, double *scale) {
  if (!noise.scale) return noise;
  memcpy(scale + faro_packed(p->dimension), noise.scale, p->dimension * sizeof *scale);
  noise.scale = scale;
  return noise;
}

faro_statistics faro_public_extend(faro_public *p, const faro_statistics *vector) {
  const size_t packed = faro_packed(p->dimension);
  faro_statistics all = *vector;
  memcpy(p->sum + packed, vector->sum, p->dimension * sizeof *p->sum);
  all.sum = p->sum;
  all.noise = faro_public_noise(p, vector->noise, p->scale);
  if (!vector->block) return all;
  for (size_t i = 0; i < packed; i++) p->block[i] = p->sum[i] - p->before[i];
  memcpy(p->block + packed, vector->block, p->dimension * sizeof *p->block);
  memcpy(p->before, p->sum, packed * sizeof *p->before);
  all.block = p->block;
  all.block_noise = faro_public_noise(p, vector->block_noise, p->alone);
  return all;
}
