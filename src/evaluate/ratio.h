/* ratio: the ratio of two means over independent pairs, with its interval.
 *
 * Every estimate of an evaluator is such a ratio: of rewards and rows, of weighted rewards and
 * weights. Pairs are added one at a time.
 *
 *   (u, v)   a pair: one row, or one person's rows added up
 *   n        pairs
 *   theta    mean u / mean v
 *   psi      u - theta v: its mean is 0, and theta's error is about mean psi / mean v
 *   s, g     standard deviation and skewness of psi */
#ifndef FARO_EVALUATE_RATIO_H
#define FARO_EVALUATE_RATIO_H

#include <faro/evaluate.h>

typedef struct faro_ratio {
  double n, u, v;    /* u and v: means */
  double uu, uv, vv; /* sums of products of deviations from the means */
  double third[4];   /* sums of u^3, u^2 v, u v^2, v^3 */
  double v2;         /* sum of v^2 */
} faro_ratio;

void faro_ratio_add(faro_ratio *r, double u, double v);
double faro_ratio_value(const faro_ratio *r);    /* theta; NaN if mean v is 0 */
double faro_ratio_error(const faro_ratio *r);    /* s / (sqrt(n) mean v) */
double faro_ratio_skewness(const faro_ratio *r); /* g; 0 if s is 0 */

/* An interval around theta. `effective`: degrees of freedom are one less. `range`: the length of an
 * interval that every u is in, for BERNSTEIN, which is for v = 1. */
typedef struct faro_ratio_query {
  faro_bounds interval;
  double confidence, effective, range;
} faro_ratio_query;
void faro_ratio_interval(const faro_ratio *r, const faro_ratio_query *q, double *low, double *high);

/* The quantile z with P(|Z| <= z) = confidence for a standard normal Z; for Student's t with nu >=
 * 10 degrees of freedom. */
double faro_normal_quantile(double confidence);
double faro_student_quantile(double confidence, double nu);

#endif
