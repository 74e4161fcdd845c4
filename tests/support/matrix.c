/* matrix: see the header. */
#include "support/matrix.h"

#include <math.h>
#include <string.h>

#include <faro/linalg.h>

void matrix_unpack(size_t d, const double *packed, double *full) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) full[i * d + j] = packed[i >= j ? faro_packed(i) + j : faro_packed(j) + i];
}

void matrix_square(size_t d, const double *packed, double *full) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) {
      double sum = 0;
      for (size_t k = i > j ? i : j; k < d; k++)
        sum += packed[faro_packed(k) + i] * packed[faro_packed(k) + j];
      full[i * d + j] = sum;
    }
}

static void swap_rows(size_t d, double *a, size_t i, size_t j) {
  for (size_t k = 0; k < d; k++) {
    const double kept = a[i * d + k];
    a[i * d + k] = a[j * d + k];
    a[j * d + k] = kept;
  }
}

void matrix_invert(size_t d, const double *a, double *inverse) {
  double m[MATRIX_MAX * MATRIX_MAX];
  memcpy(m, a, d * d * sizeof *m);
  for (size_t i = 0; i < d * d; i++) inverse[i] = i % (d + 1) == 0;
  for (size_t c = 0; c < d; c++) {
    size_t pivot = c;
    for (size_t r = c; r < d; r++)
      if (fabs(m[r * d + c]) > fabs(m[pivot * d + c])) pivot = r;
    swap_rows(d, m, c, pivot);
    swap_rows(d, inverse, c, pivot);
    const double divisor = m[c * d + c];
    for (size_t k = 0; k < d; k++) {
      m[c * d + k] /= divisor;
      inverse[c * d + k] /= divisor;
    }
    for (size_t r = 0; r < d; r++) {
      if (r == c) continue;
      const double factor = m[r * d + c];
      for (size_t k = 0; k < d; k++) {
        m[r * d + k] -= factor * m[c * d + k];
        inverse[r * d + k] -= factor * inverse[c * d + k];
      }
    }
  }
}

/* Turns rows and columns p and q of m, and rows p and q of v, so that m[p][q] becomes 0. */
static void turn(size_t d, double *m, double *v, size_t p, size_t q) {
  const double angle = 0.5 * atan2(2 * m[p * d + q], m[q * d + q] - m[p * d + p]);
  const double c = cos(angle);
  const double s = sin(angle);
  for (size_t k = 0; k < d; k++) {
    const double a = m[k * d + p];
    const double b = m[k * d + q];
    m[k * d + p] = c * a - s * b;
    m[k * d + q] = s * a + c * b;
  }
  for (size_t k = 0; k < d; k++) {
    const double a = m[p * d + k];
    const double b = m[q * d + k];
    m[p * d + k] = c * a - s * b;
    m[q * d + k] = s * a + c * b;
    const double x = v[p * d + k];
    const double y = v[q * d + k];
    v[p * d + k] = c * x - s * y;
    v[q * d + k] = s * x + c * y;
  }
}

void matrix_eigen(size_t d, const double *a, double *value, double *vector) {
  double m[MATRIX_MAX * MATRIX_MAX];
  memcpy(m, a, d * d * sizeof *m);
  for (size_t i = 0; i < d * d; i++) vector[i] = i % (d + 1) == 0;
  for (int round = 0; round < 10000; round++) {
    size_t p = 0;
    size_t q = 0;
    double most = 0;
    for (size_t i = 0; i < d; i++)
      for (size_t j = i + 1; j < d; j++)
        if (fabs(m[i * d + j]) > most) {
          most = fabs(m[i * d + j]);
          p = i;
          q = j;
        }
    if (most < 1e-200) break;
    turn(d, m, vector, p, q);
    m[p * d + q] = m[q * d + p] = 0;
  }
  for (size_t i = 0; i < d; i++) value[i] = m[i * d + i];
  for (size_t i = 0; i < d; i++)
    for (size_t j = i + 1; j < d; j++)
      if (value[j] > value[i]) {
        const double kept = value[i];
        value[i] = value[j];
        value[j] = kept;
        swap_rows(d, vector, i, j);
      }
}

void matrix_compose(size_t d, const double *value, const double *vector, double *a) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) {
      a[i * d + j] = 0;
      for (size_t k = 0; k < d; k++) a[i * d + j] += value[k] * vector[k * d + i] * vector[k * d + j];
    }
}
