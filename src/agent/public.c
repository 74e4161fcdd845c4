/* public: see the header. */
#include "agent/public.h"

#include <math.h>
#include <string.h>

#include <faro/linalg.h>

faro_status faro_public_init(faro_public *p, const faro_contribution *contribution, faro_arena *arena,
                             faro_error *error) {
  const size_t length = faro_packed(contribution->dimension) + contribution->dimension;
  double **const vector[] = {&p->x, &p->sum, &p->block, &p->before, &p->scale, &p->alone};
  p->dimension = contribution->dimension;
  p->norm = contribution->norm;
  p->middle = contribution->middle;
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    if (!(*vector[i] = faro_arena_alloc(arena, length, sizeof **vector[i], error))) return FARO_MEMORY;
  return FARO_OK;
}

void faro_public_add(faro_public *p, const double *x, double people) {
  double square = 0;
  for (size_t i = 0; i < p->dimension; i++) square += x[i] * x[i];
  if (!isfinite(square)) return;
  const double factor = square > p->norm * p->norm ? p->norm * p->norm / square : 1;
  const double root = sqrt(factor);
  double *entry = p->sum;
  for (size_t i = 0; i < p->dimension; i++) {
    p->x[i] += people * root * x[i];
    for (size_t j = 0; j <= i; j++) *entry++ += people * factor * x[i] * x[j];
  }
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
  for (size_t i = 0; i < p->dimension; i++) p->sum[packed + i] = vector->sum[i] + p->middle * p->x[i];
  all.sum = p->sum;
  all.noise = faro_public_noise(p, vector->noise, p->scale);
  if (!vector->block) return all;
  for (size_t i = 0; i < packed; i++) p->block[i] = p->sum[i] - p->before[i];
  for (size_t i = 0; i < p->dimension; i++)
    p->block[packed + i] = vector->block[i] + p->middle * (p->x[i] - p->before[packed + i]);
  memcpy(p->before, p->sum, packed * sizeof *p->before);
  memcpy(p->before + packed, p->x, p->dimension * sizeof *p->before);
  all.block = p->block;
  all.block_noise = faro_public_noise(p, vector->block_noise, p->alone);
  return all;
}
