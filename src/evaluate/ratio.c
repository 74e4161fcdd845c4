/* ratio: see the header. */
#include "evaluate/ratio.h"

#include <math.h>

/* Deviations are from the running means (Welford 1962): sums of squares would lose all digits where
 * the spread is small against the mean. */
void faro_ratio_add(faro_ratio *r, double u, double v) {
  const double du = u - r->u;
  const double dv = v - r->v;
  r->n += 1;
  r->u += du / r->n;
  r->v += dv / r->n;
  r->uu += du * (u - r->u);
  r->uv += du * (v - r->v);
  r->vv += dv * (v - r->v);
  r->third[0] += u * u * u;
  r->third[1] += u * u * v;
  r->third[2] += u * v * v;
  r->third[3] += v * v * v;
  r->v2 += v * v;
}

double faro_ratio_value(const faro_ratio *r) { return r->n > 0 && r->v != 0 ? r->u / r->v : (double)NAN; }

/* s^2, the variance of psi; rounding must not make it negative. */
static double variance(const faro_ratio *r) {
  const double theta = faro_ratio_value(r);
  const double square = r->uu - 2 * theta * r->uv + theta * theta * r->vv;
  const double rounding = 1e-13 * (r->uu + theta * theta * r->vv);
  return r->n > 1 && square > rounding ? square / (r->n - 1) : 0;
}

double faro_ratio_error(const faro_ratio *r) { return sqrt(variance(r) / r->n) / fabs(r->v); }

double faro_ratio_skewness(const faro_ratio *r) {
  const double s = sqrt(variance(r));
  const double t = faro_ratio_value(r);
  if (!(s > 0)) return 0;
  const double cube = r->third[0] - 3 * t * r->third[1] + 3 * t * t * r->third[2] - t * t * t * r->third[3];
  return cube / (r->n * s * s * s);
}

/* ---- quantiles */

/* Newton's method on erfc; P(|Z| > z) = erfc(z / sqrt 2) is convex for z > 0, and it starts
 * below. */
double faro_normal_quantile(double confidence) {
  double z = 0;
  for (int i = 0; i < 100; i++) {
    const double excess = erfc(z / sqrt(2)) - (1 - confidence);
    const double step = excess / (2 * exp(-z * z / 2) / sqrt(2 * acos(-1.0)));
    z += step;
    if (fabs(step) < 1e-14) break;
  }
  return z;
}

/* The expansion of Cornish & Fisher for Student's t; four terms are exact to 1e-5 from 10 degrees
 * of freedom on. */
double faro_student_quantile(double confidence, double nu) {
  const double z = faro_normal_quantile(confidence);
  const double z2 = z * z;
  return z + z * (z2 + 1) / (4 * nu) + z * ((5 * z2 + 16) * z2 + 3) / (96 * nu * nu) +
         z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * nu * nu * nu) +
         z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / (92160 * nu * nu * nu * nu);
}

/* ---- intervals */

/* Hall 1992: with a = g / sqrt(n), T + a T^2 / 3 + a^2 T^3 / 27 + a / 6 is normal to second order,
 * where T is the studentised error. The cubic is ((1 + a T / 3)^3 - 1) / a + a / 6; this is its
 * inverse. */
static double hall(double y, double a) {
  if (fabs(a) < 1e-7) return y;
  return 3 / a * (cbrt(1 + a * (y - a / 6)) - 1);
}

/* Maurer & Pontil 2009, Theorem 4, on both sides. */
static double bernstein(const faro_ratio *r, double confidence, double range) {
  const double logs = log(4 / (1 - confidence));
  return sqrt(2 * variance(r) * logs / r->n) + 7 * range * logs / (3 * (r->n - 1));
}

void faro_ratio_interval(const faro_ratio *r, const faro_ratio_query *q, double *low, double *high) {
  const double theta = faro_ratio_value(r);
  const double error = faro_ratio_error(r);
  if (q->interval == FARO_BOUNDS_BERNSTEIN) {
    const double half = bernstein(r, q->confidence, q->range);
    *low = theta - half;
    *high = theta + half;
    return;
  }
  const double t = faro_student_quantile(q->confidence, fmax(q->effective - 1, 10));
  const double a = q->interval == FARO_BOUNDS_SKEW ? faro_ratio_skewness(r) / sqrt(r->n) : 0;
  *low = theta - hall(t, a) * error;
  *high = theta - hall(-t, a) * error;
}
