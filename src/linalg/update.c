/* update: what a rank-one change of A does to W = L^-1, A = L L', in O(d^2).
 *
 * With p = W x, A + s x x' = L (I + s p p') L', and the factor M of I + s p p' has an inverse in
 * closed form (Gill et al. 1974). With t_i = 1 + s (p_0^2 + .. + p_i^2):
 *
 *   (M^-1)_ii = sqrt(t_{i-1} / t_i),   (M^-1)_ij = -s p_i p_j / sqrt(t_{i-1} t_i)  for j < i
 *
 * so row i of M^-1 W needs row i of W and sum_{j<i} p_j w_j alone. For s > 0 this rotates each row
 * against that sum, divided by sqrt(t): rounding errors do not grow. In the end the sum is
 * A^-1 x. */
#include <math.h>
#include <string.h>

#include "linalg/kernels.h"
#include "linalg/lanes.h"

/* row = c row - q sum, and sum += p row as it was. */
static inline FARO_BODY void turn(size_t n, double c, double q, double p, double *restrict row,
                                  double *restrict sum) {
  for (size_t j = 0; j < n; j++) {
    const double was = row[j];
    row[j] = c * was - q * sum[j];
    sum[j] += p * was;
  }
}

static inline FARO_BODY double body(size_t d, double s, const double *x, double *w, double *sum,
                                    double *scratch) {
  double *p = scratch;
  double *t = scratch + d;
  double square = 0;
  FARO_UNROLLED_IF_KNOWN (i, 0, d) {
    p[i] = faro_dot_in_parts(i + 1, w + faro_packed(i), x);
    square += p[i] * p[i];
    t[i] = 1 + s * square;
  }
  memset(sum, 0, d * sizeof *sum);
  const bool fits = t[d - 1] > 0 && t[d - 1] < INFINITY;
  double before = 1;
  FARO_UNROLLED_IF_KNOWN (i, 0, d) {
    const double root = 1 / sqrt(before * t[i]);
    const double c = fits ? before * root : 1; /* else W stays as it is */
    const double q = fits ? s * p[i] * root : 0;
    turn(i + 1, c, q, p[i], w + faro_packed(i), sum);
    before = t[i];
  }
  return t[d - 1];
}

FARO_AVX2 static double avx2_update(size_t d, double s, const double *x, double *w, double *sum,
                                    double *scratch) {
  return body(d, s, x, w, sum, scratch);
}

FARO_AVX512 static double avx512_update(size_t d, double s, const double *x, double *w, double *sum,
                                        double *scratch) {
  return body(d, s, x, w, sum, scratch);
}

/* Short rows gain nothing from wide vectors; but where the compiler knows the dimension, no loop is
 * left, which takes half the time. */
static double short_update(size_t d, double s, const double *x, double *w, double *sum, double *scratch) {
  switch (d) {
  case 2: return body(2, s, x, w, sum, scratch);
  case 3: return body(3, s, x, w, sum, scratch);
  case 4: return body(4, s, x, w, sum, scratch);
  case 5: return body(5, s, x, w, sum, scratch);
  case 6: return body(6, s, x, w, sum, scratch);
  case 7: return body(7, s, x, w, sum, scratch);
  case 8: return body(8, s, x, w, sum, scratch);
  default: return body(d, s, x, w, sum, scratch);
  }
}

double faro_update_by(faro_lanes lanes, size_t d, double s, const double *x, double *w, double *sum,
                      double *scratch) {
  enum { SHORT = 32 };
  switch (d <= SHORT ? FARO_LANES_PORTABLE : lanes) {
  case FARO_LANES_AVX512: return avx512_update(d, s, x, w, sum, scratch);
  case FARO_LANES_AVX2: return avx2_update(d, s, x, w, sum, scratch);
  default: return short_update(d, s, x, w, sum, scratch);
  }
}
