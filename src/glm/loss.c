/* loss: passes over the rows, a block at a time: first the products <x, theta> of all rows of the
 * block, then the link at all of them, then the sums. So the link is chosen once per block, and its
 * functions run in a loop of their own.
 *
 * If mu(-z) = 1 - mu(z), a row with z > 0 is replaced by (-x, 1 - y), which has the same loss. In
 * the left tail neither b - y z nor mu - y cancels. At z = 40 and y = 1 both would cancel
 * completely. */
#include "glm/loss.h"

#include <string.h>

#include "glm/lanes.h"
#include "glm/link.h"

enum { BLOCK = FARO_GLM_BLOCK };

static void products(size_t d, size_t count, const double *x, const double *theta, double *z) {
  for (size_t i = 0; i < count; i++, x += d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++) sum += x[j] * theta[j];
    z[i] = sum;
  }
}

/* gradient += sum_i residual_i x_i, four rows together, because a single sum in memory waits for
 * its last addition. */
static void add_rows(size_t d, size_t count, const double *restrict x, const double *restrict r,
                     double *restrict gradient) {
  for (; count >= 4; count -= 4, x += 4 * d, r += 4)
    for (size_t j = 0; j < d; j++)
      gradient[j] += (r[0] * x[j] + r[1] * x[d + j]) + (r[2] * x[2 * d + j] + r[3] * x[3 * d + j]);
  for (; count > 0; count--, x += d, r++)
    for (size_t j = 0; j < d; j++) gradient[j] += r[0] * x[j];
}

/* hessian += sum_i s_i x_i x_i', in the same way. */
static void add_squares(size_t d, size_t count, const double *restrict x, const double *restrict s,
                        double *restrict hessian) {
  for (; count >= 4; count -= 4, x += 4 * d, s += 4) {
    double *restrict row = hessian;
    for (size_t j = 0; j < d; row += ++j) {
      const double f[] = {s[0] * x[j], s[1] * x[d + j], s[2] * x[2 * d + j], s[3] * x[3 * d + j]};
      for (size_t k = 0; k <= j; k++)
        row[k] += (f[0] * x[k] + f[1] * x[d + k]) + (f[2] * x[2 * d + k] + f[3] * x[3 * d + k]);
    }
  }
  for (; count > 0; count--, x += d, s++)
    for (size_t j = 0; j < d; j++)
      for (size_t k = 0; k <= j; k++) hessian[faro_packed(j) + k] += s[0] * x[j] * x[k];
}

static double start(size_t d, double ridge, const double *theta, double *gradient, double *hessian) {
  double square = 0;
  for (size_t j = 0; j < d; j++) square += theta[j] * theta[j];
  if (gradient)
    for (size_t j = 0; j < d; j++) gradient[j] = ridge * theta[j];
  if (hessian) {
    memset(hessian, 0, faro_packed(d) * sizeof *hessian);
    for (size_t j = 0; j < d; j++) hessian[faro_diagonal(j)] = ridge;
  }
  return ridge / 2 * square;
}

/* Up to BLOCK rows and the link's values for them. */
typedef struct block {
  size_t count;
  const double *x;
  double z[BLOCK], y[BLOCK];
  double sign[BLOCK]; /* -1: replaced by (-x, 1 - y) */
  double potential[BLOCK], mean[BLOCK], slope[BLOCK];
} block;

static void load(block *b, faro_link link, const faro_rows *rows, size_t first, const double *theta) {
  const bool symmetric = faro_link_symmetric(link);
  b->count = rows->count - first < BLOCK ? rows->count - first : BLOCK;
  b->x = rows->x + first * rows->dimension;
  products(rows->dimension, b->count, b->x, theta, b->z);
  for (size_t i = 0; i < b->count; i++) {
    const bool over = symmetric && b->z[i] > 0;
    b->sign[i] = over ? -1 : 1;
    b->z[i] = over ? -b->z[i] : b->z[i];
    b->y[i] = over ? 1 - rows->y[first + i] : rows->y[first + i];
  }
}

void faro_glm_pass(faro_link link, const faro_rows *rows, double ridge, const double *theta, double *loss,
                   double *gradient, double *hessian) {
  const size_t d = rows->dimension;
  block b;
  double total = start(d, ridge, theta, gradient, hessian);
  for (size_t first = 0; first < rows->count; first += BLOCK) {
    load(&b, link, rows, first, theta);
    faro_lanes_link(link, b.count, b.z, loss ? b.potential : NULL, gradient ? b.mean : NULL,
                    hessian ? b.slope : NULL);
    if (loss) {
      double sum = 0;
      for (size_t i = 0; i < b.count; i++) sum += b.potential[i] - b.y[i] * b.z[i];
      total += sum;
    }
    if (gradient) {
      for (size_t i = 0; i < b.count; i++) b.mean[i] = b.sign[i] * (b.mean[i] - b.y[i]);
      add_rows(d, b.count, b.x, b.mean, gradient);
    }
    if (hessian) add_squares(d, b.count, b.x, b.slope, hessian);
  }
  if (loss) *loss = total;
}

void faro_glm_columns(const faro_rows *rows, double *columns) {
  const size_t d = rows->dimension;
  for (size_t i = 0; i < rows->count; i++) {
    double *to = columns + i / BLOCK * BLOCK * d + i % BLOCK;
    for (size_t j = 0; j < d; j++) to[j * BLOCK] = rows->x[i * d + j];
  }
}

void faro_glm_gradients(faro_link link, size_t d, size_t count, const double *columns, const double *y,
                        const double *theta, double *gradients) {
  double z[BLOCK], mean[BLOCK];
  faro_lanes_products(d, count, columns, BLOCK, theta, z);
  faro_lanes_link(link, count, z, NULL, mean, NULL);
  for (size_t i = 0; i < count; i++) mean[i] -= y[i];
  faro_lanes_scaled(d, count, columns, BLOCK, mean, gradients);
}

double faro_glm_loss(faro_link link, const faro_rows *rows, double ridge, const double *theta) {
  double loss;
  faro_glm_pass(link, rows, ridge, theta, &loss, NULL, NULL);
  return loss;
}

void faro_glm_gradient(faro_link link, const faro_rows *rows, double ridge, const double *theta,
                       double *gradient) {
  faro_glm_pass(link, rows, ridge, theta, NULL, gradient, NULL);
}

void faro_glm_hessian(faro_link link, const faro_rows *rows, double ridge, const double *theta,
                      double *hessian) {
  faro_glm_pass(link, rows, ridge, theta, NULL, NULL, hessian);
}
