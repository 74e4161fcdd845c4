/* lanes: links at many points, several at a time. link.h computes the same one by one with the C
 * library, and is the oracle.
 *
 * The same bytes on every machine and for every width of vectors: each value is computed by itself,
 * without fused multiply-add. Relative errors (test_lanes): exp, log and log1p 2 ulp, the logistic
 * link 4 ulp, the probit's mean and slope 6 ulp; below the least normal number as much absolutely.
 * NaN stays NaN. */
#ifndef FARO_GLM_LANES_H
#define FARO_GLM_LANES_H

#include <faro/glm.h>

/* In each of these `out` may be `x`. */
void faro_lanes_exp(size_t count, const double *x, double *out);
void faro_lanes_log(size_t count, const double *x, double *out);   /* normal x > 0 */
void faro_lanes_log1p(size_t count, const double *x, double *out); /* 0 <= x <= 1 */

/* As faro_link_map (link.h). Outputs may not be `z`. */
void faro_lanes_link(faro_link link, size_t count, const double *z, double *potential, double *mean,
                     double *slope);

/* Rows as columns: entry j of row i at x[j stride + i]. z_i = <theta, x_i>; to = factor_i x_i. */
void faro_lanes_products(size_t d, size_t count, const double *x, size_t stride, const double *theta,
                         double *z);
void faro_lanes_scaled(size_t d, size_t count, const double *x, size_t stride, const double *factor,
                       double *to);

/* For tests: vectors of at most 8, 4 or 2 numbers from now on. */
void faro_lanes_limit(unsigned lanes);

#endif
