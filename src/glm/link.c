/* link: potential b, mean mu = b', slope mu' and second derivative mu'' of every link.
 *
 * Each is written so that nothing cancels, and nothing overflows before its value does: the
 * logistic through e^-|z|, the left tail of the probit's potential through a continued fraction. A
 * slope too small for a double is returned as the least normal number, never 0, because callers
 * divide by it. */
#include "glm/link.h"

#include <float.h>
#include <math.h>

#include "base/names.h"

typedef struct link_kind {
  void (*map)(size_t count, const double *z, double *potential, double *mean, double *slope);
  double (*bend)(double z);
  bool symmetric;     /* mu(-z) = 1 - mu(z) */
  double steepest;    /* the greatest slope; INFINITY: it is at the greatest z */
  double sharpest;    /* the greatest |mu''|, likewise */
  double sharpest_at; /* |mu''| grows with |z| up to here */
} link_kind;

static double positive(double slope) { return slope < DBL_MIN ? DBL_MIN : slope; }

static void logistic_map(size_t count, const double *z, double *potential, double *mean, double *slope) {
  for (size_t i = 0; i < count; i++) {
    const double e = exp(-fabs(z[i]));
    const double near = 1 / (1 + e); /* the mean at |z| */
    if (potential) potential[i] = fmax(z[i], 0) + log1p(e);
    if (mean) mean[i] = z[i] < 0 ? e * near : near;
    if (slope) slope[i] = positive(e * near * near);
  }
}

static double logistic_bend(double z) {
  return -faro_link_slope(FARO_LINK_LOGISTIC, z) * tanh(z / 2); /* mu' (1 - 2 mu) */
}

static double density(double z) {
  static const double scale = 0.39894228040143267794; /* 1 / sqrt(2 pi) */
  return scale * exp(-z * z / 2);
}

/* z Phi(z) + phi(z) at z = -t: phi(t) (1 - t m) with Mills' ratio m = 1 / (t + k), k = 1 / (t + 2 /
 * (t + 3 / ...)). The difference is k m, without cancellation. From t = 4 on, 32 terms leave an
 * error of 2e-15. */
static double probit_tail(double t) {
  double k = 0;
  for (int n = 32; n >= 1; n--) k = n / (t + k);
  return density(t) * k / (t + k);
}

static double probit_mean(double z) {
  static const double root_half = 0.70710678118654752440;
  return erfc(-z * root_half) / 2;
}

static void probit_map(size_t count, const double *z, double *potential, double *mean, double *slope) {
  if (potential)
    for (size_t i = 0; i < count; i++)
      potential[i] = z[i] < -4 ? probit_tail(-z[i]) : z[i] * probit_mean(z[i]) + density(z[i]);
  if (mean)
    for (size_t i = 0; i < count; i++) mean[i] = probit_mean(z[i]);
  if (slope)
    for (size_t i = 0; i < count; i++) slope[i] = positive(density(z[i]));
}

static double probit_bend(double z) { return -z * density(z); }

static void linear_map(size_t count, const double *z, double *potential, double *mean, double *slope) {
  for (size_t i = 0; i < count; i++) {
    if (potential) potential[i] = z[i] * z[i] / 2;
    if (mean) mean[i] = z[i];
    if (slope) slope[i] = 1;
  }
}

static double linear_bend(double z) {
  (void)z;
  return 0;
}

static void poisson_map(size_t count, const double *z, double *potential, double *mean, double *slope) {
  for (size_t i = 0; i < count; i++) {
    const double e = exp(z[i]);
    if (potential) potential[i] = e;
    if (mean) mean[i] = e;
    if (slope) slope[i] = positive(e);
  }
}

static const link_kind kinds[FARO_LINK_COUNT] = {
    [FARO_LINK_LOGISTIC] = {.map = logistic_map,
                            .bend = logistic_bend,
                            .symmetric = true,
                            .steepest = 0.25,
                            .sharpest = 0.096225044864937627,      /* 1 / (6 sqrt 3) */
                            .sharpest_at = 1.3169578969248167086}, /* ln(2 + sqrt 3) */
    [FARO_LINK_PROBIT] = {.map = probit_map,
                          .bend = probit_bend,
                          .symmetric = true,
                          .steepest = 0.39894228040143267794, /* phi(0) */
                          .sharpest = 0.24197072451914334980, /* phi(1) */
                          .sharpest_at = 1},
    [FARO_LINK_LINEAR] = {.map = linear_map, .bend = linear_bend, .steepest = 1},
    [FARO_LINK_POISSON] = {.map = poisson_map,
                           .bend = exp,
                           .steepest = (double)INFINITY,
                           .sharpest = (double)INFINITY,
                           .sharpest_at = (double)INFINITY},
};

void faro_link_map(faro_link link, size_t count, const double *z, double *potential, double *mean,
                   double *slope) {
  kinds[link].map(count, z, potential, mean, slope);
}

bool faro_link_symmetric(faro_link link) { return kinds[link].symmetric; }

const char *faro_link_name(faro_link link) {
  static const char *const names[] = FARO_NAMES(FARO_LINK_LIST);
  return names[link];
}

FARO_FIND(faro_link, FARO_LINK_LIST)

double faro_link_potential(faro_link link, double z) {
  double potential;
  kinds[link].map(1, &z, &potential, NULL, NULL);
  return potential;
}

double faro_link_mean(faro_link link, double z) {
  double mean;
  kinds[link].map(1, &z, NULL, &mean, NULL);
  return mean;
}

double faro_link_slope(faro_link link, double z) {
  double slope;
  kinds[link].map(1, &z, NULL, NULL, &slope);
  return slope;
}

double faro_link_bend(faro_link link, double z) { return kinds[link].bend(z); }

/* Slopes are symmetric and decrease with |z|, or they grow with z (poisson). */
double faro_link_steepest(faro_link link, double reach) {
  return isfinite(kinds[link].steepest) ? kinds[link].steepest : faro_link_slope(link, reach);
}

double faro_link_flattest(faro_link link, double reach) { return faro_link_slope(link, -reach); }

double faro_link_sharpest(faro_link link, double reach) {
  const link_kind *kind = &kinds[link];
  return reach < kind->sharpest_at ? fabs(kind->bend(reach)) : kind->sharpest;
}
