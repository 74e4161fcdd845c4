/* score: mean plus width of every arm at once.
 *
 * Arms are columns, so one load brings a feature of several arms, and each arm's sum is computed in
 * the same order whatever the width of the vectors. On x86-64 with AVX2 and FMA, sixteen arms are
 * scored together (four accumulators hide the latency of the FMA units). Elsewhere the plain loops
 * run, which the tests also use as the oracle. */
#include <math.h>

#include "linalg/dense.h"
#include "linalg/kernels.h"

void faro_plain_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score) {
  for (size_t a = 0; a < arms->count; a++) {
    const double *x = arms->x + a;
    const double *entry = w;
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < arms->dimension; i++) {
      double t = 0; /* (W x)_i */
      for (size_t j = 0; j <= i; j++) t += *entry++ * x[j * arms->stride];
      square += t * t;
      mean += theta[i] * x[i * arms->stride];
    }
    score[a] = mean + beta * sqrt(square);
  }
}

#ifdef __x86_64__

typedef double lanes __attribute__((vector_size(32), aligned(32), may_alias));
enum { LANES = 4, GROUPS = FARO_ARM_TILE / LANES };

__attribute__((target("avx2,fma"))) static void
wide_score(const faro_arms *arms, const double *theta, const double *w, double beta, double *restrict score) {
  const size_t d = arms->dimension;
  const size_t step = arms->stride / LANES;
  for (size_t a = 0; a < arms->stride; a += FARO_ARM_TILE) {
    const lanes *x = (const lanes *)(const void *)(arms->x + a);
    const double *entry = w;
    lanes mean[GROUPS] = {0};
    lanes square[GROUPS] = {0};
    for (size_t i = 0; i < d; i++) {
      lanes t[GROUPS] = {0};
      for (size_t j = 0; j <= i; j++, entry++)
        for (size_t g = 0; g < GROUPS; g++) t[g] += *entry * x[j * step + g];
      for (size_t g = 0; g < GROUPS; g++) {
        square[g] += t[g] * t[g];
        mean[g] += theta[i] * x[i * step + g];
      }
    }
    for (size_t g = 0; g < GROUPS; g++)
      for (size_t k = 0; k < LANES; k++) score[a + g * LANES + k] = mean[g][k] + beta * sqrt(square[g][k]);
  }
}

void faro_small_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    wide_score(arms, theta, w, beta, score);
  else faro_plain_score(arms, theta, w, beta, score);
}

#else

void faro_small_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score) {
  faro_plain_score(arms, theta, w, beta, score);
}

#endif

/* Y = W X by one triangular product, then the norms of its columns. */
void faro_large_score(const faro_arms *arms, const double *theta, const double *w, double beta, double *score,
                      double *scratch) {
  const size_t d = arms->dimension;
  const size_t stride = arms->stride;
  double *y = scratch;
  double *full = scratch + d * stride;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) full[i * d + j] = w[faro_packed(i) + j];
  for (size_t i = 0; i < d * stride; i++) y[i] = arms->x[i];
  faro_dense_triangle(d, stride, full, y);
  for (size_t a = 0; a < stride; a++) score[a] = 0;
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < stride; a++) score[a] += y[i * stride + a] * y[i * stride + a];
  for (size_t a = 0; a < stride; a++) score[a] = beta * sqrt(score[a]);
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < stride; a++) score[a] += theta[i] * arms->x[i * stride + a];
}

static double tile_greatest(const double *value) {
  double lane[4] = {value[0], value[1], value[2], value[3]};
  for (size_t k = 4; k < FARO_ARM_TILE; k += 4)
    for (size_t j = 0; j < 4; j++) lane[j] = value[k + j] > lane[j] ? value[k + j] : lane[j];
  const double x = lane[0] > lane[1] ? lane[0] : lane[1];
  const double y = lane[2] > lane[3] ? lane[2] : lane[3];
  return x > y ? x : y;
}

/* Finds the tile with the greatest value without a branch per arm, then the arm within the tile. */
size_t faro_greatest(const double *value, size_t count) {
  size_t at = 0;
  size_t next = 0;
  double best = -INFINITY;
  for (; next + FARO_ARM_TILE <= count; next += FARO_ARM_TILE) {
    const double greatest = tile_greatest(value + next);
    if (greatest > best) {
      best = greatest;
      at = next;
    }
  }
  for (; next < count; next++)
    if (value[next] > best) {
      best = value[next];
      at = next;
    }
  const size_t end = at + FARO_ARM_TILE < count ? at + FARO_ARM_TILE : count;
  for (size_t a = at + 1; a < end; a++)
    if (value[a] > value[at]) at = a;
  return at;
}

size_t faro_score_scratch(size_t d, size_t stride) { return d <= FARO_SMALL_SCORE ? 0 : d * stride + d * d; }

size_t faro_score(const faro_arms *arms, const double *theta, const double *w, double beta, double *score,
                  double *scratch) {
  if (arms->dimension <= FARO_SMALL_SCORE) faro_small_score(arms, theta, w, beta, score);
  else faro_large_score(arms, theta, w, beta, score, scratch);
  return faro_greatest(score, arms->count);
}

size_t faro_means(const faro_arms *arms, const double *theta, double *mean) {
  for (size_t a = 0; a < arms->stride; a++) mean[a] = 0;
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->stride; a++) mean[a] += theta[i] * arms->x[i * arms->stride + a];
  return faro_greatest(mean, arms->count);
}
