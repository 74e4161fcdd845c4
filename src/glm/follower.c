/* follower: the minimiser of L while rows arrive.
 *
 *   a       anchor             g, H    gradient and Hessian of L at a, over all rows so far
 *   delta = -H^-1 g            theta = a + delta
 *   G = sum ||x|| x x'         c       the greatest |mu''|
 *
 * A row changes g and H by its own terms at a. By Taylor's theorem the gradient of L at theta is at
 * most
 *   (1/2) sum |mu''(.)| (x'delta)^2 ||x|| <= (c / 2) delta'G delta.
 * If mu'' has no bound (poisson), mu'' = mu' grows by at most e^|x'delta|. With X the longest row,
 * the gradient is then at most
 *   (1/2) X e^(X ||delta||) delta'(H - ridge) delta. */
#include <faro/glm.h>

#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "base/arena.h"
#include "glm/link.h"
#include "glm/loss.h"

struct faro_follower {
  faro_arena arena;
  faro_link link;
  faro_rows rows;
  size_t room; /* rows allocated */
  double ridge, tolerance;
  double sharpest; /* c */
  double longest;  /* X */
  double *x, *y;   /* storage of `rows` */
  double *anchor, *gradient, *delta, *theta, *scaled;
  double *hessian; /* packed, as of the last pass; its factor is kept up to date */
  double *weight;  /* packed G */
  faro_spd *spd;
  faro_solver *solver;
  size_t passes;
};

static faro_status validate(size_t rows, double ridge, double tolerance, faro_error *error) {
  if (rows < 1) return faro_fail(error, FARO_INVALID, "rows must be at least 1 (got %zu)", rows);
  if (!(ridge > 0 && isfinite(ridge)))
    return faro_fail(error, FARO_INVALID, "ridge must be above 0 (got %g)", ridge);
  if (!(tolerance > 0 && isfinite(tolerance)))
    return faro_fail(error, FARO_INVALID, "tolerance must be above 0 (got %g)", tolerance);
  return FARO_OK;
}

static faro_status allocate(faro_follower *f, faro_error *error) {
  const size_t d = f->rows.dimension;
  f->x = faro_arena_alloc(&f->arena, f->room, d * sizeof *f->x, error);
  f->y = faro_arena_alloc(&f->arena, f->room, sizeof *f->y, error);
  double **const vector[] = {&f->anchor, &f->gradient, &f->delta, &f->theta, &f->scaled};
  double **const matrix[] = {&f->hessian, &f->weight};
  bool whole = f->x && f->y;
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    whole &= (*vector[i] = faro_arena_alloc(&f->arena, d, sizeof(double), error)) != NULL;
  for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
    whole &= (*matrix[i] = faro_arena_alloc(&f->arena, faro_packed(d), sizeof(double), error)) != NULL;
  f->rows.x = f->x;
  f->rows.y = f->y;
  return whole ? FARO_OK : FARO_MEMORY;
}

/* Computes gradient and Hessian at the anchor, from all rows. */
static void pass(faro_follower *f) {
  faro_glm_pass(f->link, &f->rows, f->ridge, f->anchor, NULL, f->gradient, f->hessian);
  FARO_INVARIANT(faro_spd_factor(f->spd, f->hessian)); /* its least eigenvalue is at least the ridge */
  f->passes++;
}

faro_status faro_follower_create(faro_follower **follower, faro_link link, size_t dimension, size_t rows,
                                 double ridge, double tolerance, faro_error *error) {
  faro_status status = validate(rows, ridge, tolerance, error);
  faro_spd *spd = NULL;
  if (status == FARO_OK) status = faro_spd_create(&spd, dimension, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_follower *f = faro_arena_alloc(&arena, 1, sizeof *f, error);
  if (!f) {
    faro_spd_destroy(spd);
    return FARO_MEMORY;
  }
  *f = (faro_follower){.arena = arena,
                       .link = link,
                       .rows.dimension = dimension,
                       .room = rows,
                       .ridge = ridge,
                       .tolerance = tolerance,
                       .sharpest = faro_link_sharpest(link, (double)INFINITY),
                       .spd = spd};
  status = allocate(f, error);
  if (status == FARO_OK) status = faro_solver_create(&f->solver, dimension, error);
  if (status != FARO_OK) {
    faro_follower_destroy(f);
    return status;
  }
  pass(f); /* over no rows */
  f->passes = 0;
  *follower = f;
  return FARO_OK;
}

void faro_follower_destroy(faro_follower *follower) {
  if (!follower) return;
  faro_solver_destroy(follower->solver);
  faro_spd_destroy(follower->spd);
  faro_arena arena = follower->arena;
  faro_arena_free(&arena);
}

static double dot(size_t d, const double *x, const double *y) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += x[i] * y[i];
  return sum;
}

/* x'A x for packed A. */
static double quadratic(size_t d, const double *a, const double *x) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) {
    double row = 0; /* off the diagonal, counted twice */
    for (size_t j = 0; j < i; j++) row += *a++ * x[j];
    sum += (2 * row + *a++ * x[i]) * x[i];
  }
  return sum;
}

/* Adds the last row to everything kept at the anchor. */
static void absorb(faro_follower *f) {
  const size_t d = f->rows.dimension;
  const double *x = f->x + (f->rows.count - 1) * d;
  const double z = dot(d, x, f->anchor);
  const double residual = faro_link_mean(f->link, z) - f->y[f->rows.count - 1];
  const double root = sqrt(faro_link_slope(f->link, z));
  const double length = sqrt(dot(d, x, x));
  double *entry = f->weight;
  for (size_t i = 0; i < d; i++) {
    f->gradient[i] += residual * x[i];
    f->scaled[i] = root * x[i];
    for (size_t j = 0; j <= i; j++) *entry++ += length * x[i] * x[j];
  }
  faro_spd_update(f->spd, f->scaled);
  f->longest = fmax(f->longest, length);
}

/* Sets theta one Newton step from the anchor. Returns a bound on the gradient's norm there. */
static double step(faro_follower *f) {
  const size_t d = f->rows.dimension;
  faro_spd_solve(f->spd, f->gradient, f->delta);
  for (size_t i = 0; i < d; i++) {
    f->delta[i] = -f->delta[i];
    f->theta[i] = f->anchor[i] + f->delta[i];
  }
  if (isfinite(f->sharpest)) return f->sharpest / 2 * quadratic(d, f->weight, f->delta);
  const double square = dot(d, f->delta, f->delta);
  const double curved = -dot(d, f->gradient, f->delta) - f->ridge * square; /* delta'(H - ridge) delta */
  return f->longest / 2 * exp(f->longest * sqrt(square)) * fmax(0, curved);
}

static void move_anchor(faro_follower *f) {
  memcpy(f->anchor, f->theta, f->rows.dimension * sizeof *f->anchor);
  pass(f);
}

/* Moves the anchor by up to three Newton steps while the bound shows that they help. If that is not
 * enough, the solver finds the minimiser. */
static void settle(faro_follower *f, double bound) {
  const size_t d = f->rows.dimension;
  for (int n = 0; n < 3 && bound < sqrt(dot(d, f->gradient, f->gradient)) / 2; n++) {
    move_anchor(f);
    bound = step(f);
    if (bound <= f->tolerance) return;
  }
  memcpy(f->theta, f->anchor, d * sizeof *f->theta);
  f->passes += 1 + faro_solver_minimise(f->solver, f->link, &f->rows, f->ridge, NULL, f->theta);
  move_anchor(f);
  (void)step(f); /* as near as rounding allows, whatever the bound */
}

void faro_follower_add(faro_follower *follower, const double *x, double y) {
  faro_follower *f = follower;
  const size_t d = f->rows.dimension;
  FARO_INVARIANT(f->rows.count < f->room);
  memcpy(f->x + f->rows.count * d, x, d * sizeof *x);
  f->y[f->rows.count++] = y;
  absorb(f);
  const double bound = step(f);
  if (!(bound <= f->tolerance)) settle(f, bound);
}

const double *faro_follower_theta(const faro_follower *follower) { return follower->theta; }

size_t faro_follower_passes(const faro_follower *follower) { return follower->passes; }
