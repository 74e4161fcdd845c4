/* textbook: see the header. Chowdhury & Zhou 2022, Alg. 1 with the releases of Alg. 2-7, Shariff
 * and Sheffet 2018 (tree) and Zheng et al. 2020 (local), at the constants of the published figures.
 *
 *   d  dimension     K  arms     B  batch     L = sqrt(2)  bound on ||x||: the arms are (u, 1)
 *   Statistics are one array: the d x d matrix of x x', all of it, then the d entries of x y. */
#include "textbook.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "timing.h"

struct textbook {
  textbook_params params;
  const double *arms, *truth; /* K x d, and the parameter */
  double *mean, best;         /* per arm; the greatest mean */
  double *sum, *open;         /* published statistics, and those of the open batch */
  double *noise, *node;       /* scratch; noise of the tree's node at each level */
  double *V, *inverse, *work, *theta;
  double sigma, gamma, lambda, lambda_min, lambda_max, beta;
  double g;      /* bits: grid steps in [0, L] */
  uint64_t bits; /* bits: noise bits per user and entry */
  uint64_t waiting, releases;
  uint64_t state; /* state of the generator */
  double spare;   /* second normal of a pair */
  bool has_spare;
};

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(textbook *t) {
  uint64_t z = t->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double uniform(textbook *t) { return (double)(next(t) >> 11) * 0x1p-53; }

/* Box and Muller 1958. */
static double normal(textbook *t) {
  if (t->has_spare) {
    t->has_spare = false;
    return t->spare;
  }
  const double radius = sqrt(-2 * log(1 - uniform(t)));
  const double angle = 6.283185307179586 * uniform(t);
  t->spare = radius * sin(angle);
  t->has_spare = true;
  return radius * cos(angle);
}

/* The noise of the published figures; see faro's releases. Gamma bounds the noise of the matrix. */
static void calibrate(textbook *t) {
  const textbook_params *p = &t->params;
  const double d = (double)p->dimension;
  const double T = (double)p->horizon;
  const double B = (double)p->batch;
  if (p->release == TEXTBOOK_TREE) {
    t->sigma = sqrt(log(T)) * log(2.5 / p->delta) / p->epsilon;
    t->gamma = t->sigma * sqrt(log(T) * d);
  } else if (p->release == TEXTBOOK_BITS) {
    t->g = fmax(2 * sqrt(B), fmax(d, 4));
    const double root = t->g * log(d / p->delta) / p->epsilon;
    t->bits = (uint64_t)fmax(1, round((p->epsilon < 0.5 ? 1 : 10) * root * root / B));
    t->gamma = 0.25 * log(d / p->delta) / (p->epsilon * sqrt(B)) * sqrt(T * d);
  } else if (p->release == TEXTBOOK_AMPLIFIED) {
    t->sigma = sqrt(log(2.5 * B / p->delta)) / (p->epsilon * sqrt(B));
    t->gamma = t->sigma * sqrt(T * d);
  } else if (p->release == TEXTBOOK_LOCAL) {
    t->sigma = sqrt(log(2.5 / p->delta)) / p->epsilon;
    t->gamma = t->sigma * sqrt(T * d);
  }
  t->lambda = t->gamma > 0 ? 2 * t->gamma : 1e-4;
  t->lambda_min = t->gamma > 0 ? t->gamma : 1e-4;
  t->lambda_max = t->gamma > 0 ? t->gamma : 1;
}

/* Inverts V by Gauss-Jordan elimination. A symmetric matrix is positive definite if and only if all
 * pivots are positive: false if one is not. */
static bool invert(textbook *t) {
  const size_t d = t->params.dimension;
  double *a = t->work;
  double *b = t->inverse;
  memcpy(a, t->V, d * d * sizeof *a);
  for (size_t i = 0; i < d * d; i++) b[i] = i % (d + 1) == 0;
  for (size_t c = 0; c < d; c++) {
    const double pivot = a[c * d + c];
    if (!(pivot > 0)) return false;
    for (size_t j = 0; j < d; j++) {
      a[c * d + j] /= pivot;
      b[c * d + j] /= pivot;
    }
    for (size_t i = 0; i < d; i++) {
      if (i == c) continue;
      const double factor = a[i * d + c];
      for (size_t j = 0; j < d; j++) {
        a[i * d + j] -= factor * a[c * d + j];
        b[i * d + j] -= factor * b[c * d + j];
      }
    }
  }
  return true;
}

/* One Jacobi rotation: makes entry (p, q) zero. */
static void rotate(double *a, size_t d, size_t p, size_t q) {
  if (a[p * d + q] == 0) return;
  const double angle = 0.5 * atan(2 * a[p * d + q] / (a[q * d + q] - a[p * d + p]));
  const double c = cos(angle);
  const double s = sin(angle);
  for (size_t k = 0; k < d; k++) {
    const double x = a[k * d + p];
    const double y = a[k * d + q];
    a[k * d + p] = c * x - s * y;
    a[k * d + q] = s * x + c * y;
  }
  for (size_t k = 0; k < d; k++) {
    const double x = a[p * d + k];
    const double y = a[q * d + k];
    a[p * d + k] = c * x - s * y;
    a[q * d + k] = s * x + c * y;
  }
}

static bool nearly_diagonal(const double *a, size_t d) {
  double off = 0;
  double all = 0;
  for (size_t i = 0; i < d * d; i++) {
    if (i % (d + 1) != 0) off += a[i] * a[i];
    all += a[i] * a[i];
  }
  return off <= 1e-24 * all;
}

/* The least eigenvalue of V. */
static double least_eigenvalue(textbook *t) {
  const size_t d = t->params.dimension;
  double *a = t->work;
  memcpy(a, t->V, d * d * sizeof *a);
  for (int sweep = 0; sweep < 40 && !nearly_diagonal(a, d); sweep++)
    for (size_t p = 0; p < d; p++)
      for (size_t q = p + 1; q < d; q++) rotate(a, d, p, q);
  double least = a[0];
  for (size_t i = 1; i < d; i++) least = fmin(least, a[i * d + i]);
  return least;
}

/* Chowdhury & Zhou 2022, Alg. 1 l. 16-18; like faro, it shifts a V that noise made indefinite. */
static void learn(textbook *t) {
  const size_t d = t->params.dimension;
  const double T = (double)t->params.horizon;
  double shift = 0;
  memcpy(t->V, t->sum, d * d * sizeof *t->V);
  for (size_t i = 0; i < d; i++) t->V[i * d + i] += t->lambda;
  if (!invert(t)) {
    shift = t->lambda_min - least_eigenvalue(t);
    for (size_t i = 0; i < d; i++) t->V[i * d + i] += shift;
    (void)invert(t);
  }
  for (size_t i = 0; i < d; i++) {
    t->theta[i] = 0;
    for (size_t j = 0; j < d; j++) t->theta[i] += t->inverse[i * d + j] * t->sum[d * d + j];
  }
  t->beta = sqrt((double)d * (t->lambda_max + shift)) +
            0.5 * sqrt((double)d * log((1 + 2 * T / t->lambda_max) * T));
}

/* Chowdhury & Zhou 2022, Alg. 1 l. 5: the arm with the greatest <theta, x> + beta ||x|| in the norm
 * of V^-1. */
static size_t choose(const textbook *t) {
  const size_t d = t->params.dimension;
  size_t best = 0;
  double greatest = -INFINITY;
  for (size_t a = 0; a < t->params.arms; a++) {
    const double *x = t->arms + a * d;
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < d; i++) {
      mean += t->theta[i] * x[i];
      for (size_t j = 0; j < d; j++) square += x[i] * t->inverse[i * d + j] * x[j];
    }
    const double score = mean + t->beta * sqrt(square);
    if (score > greatest) {
      greatest = score;
      best = a;
    }
  }
  return best;
}

/* Symmetric Gaussian noise, as (N + N')/2 of independent entries would be, and d more. */
static void draw_gaussian(textbook *t, double *noise) {
  const size_t d = t->params.dimension;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < i; j++) noise[i * d + j] = noise[j * d + i] = sqrt(0.5) * t->sigma * normal(t);
    noise[i * d + i] = t->sigma * normal(t);
  }
  for (size_t i = 0; i < d; i++) noise[d * d + i] = t->sigma * normal(t);
}

/* Chowdhury & Zhou 2022, Alg. 5: an entry in [-L, L] as a number of ones among noise bits; Alg. 7
 * subtracts the mean of the noise, and the shift. */
static double through_bits(textbook *t, double z) {
  const double steps = (z / M_SQRT2 + 1) * t->g;
  uint64_t ones = (uint64_t)steps;
  ones += uniform(t) < steps - floor(steps);
  for (uint64_t i = 0; i < t->bits; i++) ones += uniform(t) < 0.25;
  return (((double)ones - 0.25 * (double)t->bits) / t->g - 1) * M_SQRT2;
}

/* Adds one user's message to the open batch. */
static void absorb(textbook *t, const double *x, double y) {
  const size_t d = t->params.dimension;
  if (t->params.release == TEXTBOOK_BITS) {
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) {
        const double z = through_bits(t, x[i] * x[j]);
        t->open[i * d + j] += z;
        if (j < i) t->open[j * d + i] += z;
      }
    for (size_t i = 0; i < d; i++) t->open[d * d + i] += through_bits(t, x[i] * y);
    return;
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) t->open[i * d + j] += x[i] * x[j];
    t->open[d * d + i] += x[i] * y;
  }
  if (t->params.release == TEXTBOOK_NONE || t->params.release == TEXTBOOK_TREE) return;
  draw_gaussian(t, t->noise);
  for (size_t i = 0; i < d * d + d; i++) t->open[i] += t->noise[i];
}

/* The prefix up to release r consists of the nodes at the ones of r: a new node at the lowest one,
 * and complete nodes above it. */
static void publish_tree(textbook *t) {
  const size_t length = t->params.dimension * t->params.dimension + t->params.dimension;
  const uint64_t r = t->releases + 1;
  draw_gaussian(t, t->node + (size_t)__builtin_ctzll(r) * length);
  memcpy(t->sum, t->open, length * sizeof *t->sum);
  for (size_t level = 0; level < 64 && r >> level; level++)
    if (r >> level & 1)
      for (size_t i = 0; i < length; i++) t->sum[i] += t->node[level * length + i];
}

static void publish(textbook *t) {
  const size_t length = t->params.dimension * t->params.dimension + t->params.dimension;
  if (t->params.release == TEXTBOOK_TREE) publish_tree(t);
  else
    for (size_t i = 0; i < length; i++) {
      t->sum[i] += t->open[i];
      t->open[i] = 0;
    }
  t->releases++;
  t->waiting = 0;
}

double textbook_play(textbook *t, uint64_t rounds) {
  double regret = 0;
  for (uint64_t round = 0; round < rounds; round++) {
    const size_t arm = choose(t);
    regret += t->best - t->mean[arm];
    const double y = uniform(t) < t->mean[arm] ? 1 : 0;
    absorb(t, t->arms + arm * t->params.dimension, y);
    if (++t->waiting == t->params.batch) {
      publish(t);
      learn(t);
    }
  }
  return regret;
}

static void settle_means(textbook *t) {
  const size_t d = t->params.dimension;
  t->best = -INFINITY;
  for (size_t a = 0; a < t->params.arms; a++) {
    for (size_t i = 0; i < d; i++) t->mean[a] += t->arms[a * d + i] * t->truth[i];
    t->best = fmax(t->best, t->mean[a]);
  }
}

textbook *textbook_create(const textbook_params *params, const double *arms, const double *theta) {
  const size_t d = params->dimension;
  const size_t length = d * d + d;
  textbook *t = bench_alloc(1, sizeof *t);
  t->params = *params;
  t->state = params->seed;
  t->arms = arms;
  t->truth = theta;
  t->mean = bench_alloc(params->arms, sizeof *t->mean);
  t->sum = bench_alloc(length, sizeof *t->sum);
  t->open = bench_alloc(length, sizeof *t->open);
  t->noise = bench_alloc(length, sizeof *t->noise);
  t->node = bench_alloc(64 * length, sizeof *t->node);
  t->V = bench_alloc(d * d, sizeof *t->V);
  t->inverse = bench_alloc(d * d, sizeof *t->inverse);
  t->work = bench_alloc(d * d, sizeof *t->work);
  t->theta = bench_alloc(d, sizeof *t->theta);
  calibrate(t);
  settle_means(t);
  learn(t);
  return t;
}

void textbook_destroy(textbook *t) {
  double *const owned[] = {t->mean, t->sum, t->open, t->noise, t->node, t->V, t->inverse, t->work, t->theta};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  free(t);
}
