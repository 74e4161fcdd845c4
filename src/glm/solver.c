/* solver: minimises quadratics and the loss over an ellipsoid.
 *
 *   A   packed, positive definite: the quadratic c, V, r the region: centre, metric, radius
 *   w = u - c, for u of the region                      nu        multiplier of the region
 *
 * min w'A w / 2 - b'w over ||w||_V <= r has the solution (A + nu V) w = b with nu = 0, or nu > 0
 * and ||w||_V = r. 1 / ||w(nu)||_V is concave and grows, so Newton's method on 1 / ||w||_V = 1 / r,
 * started at a nu that is too small, never passes the root (Conn, Gould & Toint 2000, section 7.3):
 *   nu += (||w||_V / r - 1) ||w||_V^2 / (V w)'(A + nu V)^-1 (V w). */
#include <faro/glm.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "glm/loss.h"

struct faro_solver {
  faro_arena arena;
  size_t d;
  faro_spd *spd;           /* factor of A + nu V */
  double *sum;             /* packed A + nu V */
  double *b, *w, *vw, *at; /* at: (A + nu V)^-1 V w */
  /* For minimise. */
  double *gradient, *hessian, *step;
  double *trial, *trial_gradient, *trial_hessian;
};

enum { SECULAR_STEPS = 100, NEWTON_STEPS = 100, HALVINGS = 60 };

faro_status faro_solver_create(faro_solver **solver, size_t dimension, faro_error *error) {
  const size_t d = dimension;
  faro_spd *spd = NULL;
  const faro_status status = faro_spd_create(&spd, d, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_solver *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  double *vectors = faro_arena_alloc(&arena, 8 * d, sizeof *vectors, error);
  double *matrices = faro_arena_alloc(&arena, 3 * faro_packed(d), sizeof *matrices, error);
  if (!made || !vectors || !matrices) {
    faro_spd_destroy(spd);
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *made = (faro_solver){.arena = arena, .d = d, .spd = spd};
  double **const vector[] = {&made->b,        &made->w,    &made->vw,    &made->at,
                             &made->gradient, &made->step, &made->trial, &made->trial_gradient};
  double **const matrix[] = {&made->sum, &made->hessian, &made->trial_hessian};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) *vector[i] = vectors + i * d;
  for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++) *matrix[i] = matrices + i * faro_packed(d);
  *solver = made;
  return FARO_OK;
}

void faro_solver_destroy(faro_solver *solver) {
  if (!solver) return;
  faro_spd_destroy(solver->spd);
  faro_arena arena = solver->arena;
  faro_arena_free(&arena);
}

static double dot(size_t d, const double *x, const double *y) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += x[i] * y[i];
  return sum;
}

/* out = A x for packed A; a NULL A is the identity. */
static void multiply(size_t d, const double *a, const double *x, double *out) {
  if (!a) {
    memcpy(out, x, d * sizeof *out);
    return;
  }
  for (size_t i = 0; i < d; i++) {
    double sum = 0;
    for (size_t j = 0; j < i; j++, a++) {
      sum += *a * x[j];
      out[j] += *a * x[i];
    }
    out[i] = sum + *a++ * x[i];
  }
}

/* Returns ||x||_V and leaves V x in `vx`. */
static double norm(size_t d, const double *v, const double *x, double *vx) {
  multiply(d, v, x, vx);
  return sqrt(fmax(0, dot(d, x, vx)));
}

/* solver->sum = A + nu V */
static void add(faro_solver *solver, const double *a, double nu, const double *v) {
  const size_t d = solver->d;
  double *sum = solver->sum;
  const size_t length = faro_packed(d);
  if (a) memcpy(sum, a, length * sizeof *sum);
  else memset(sum, 0, length * sizeof *sum);
  if (v)
    for (size_t i = 0; i < length; i++) sum[i] += nu * v[i];
  const double diagonal = (a ? 0 : 1) + (v ? 0 : nu);
  if (diagonal != 0)
    for (size_t i = 0; i < d; i++) sum[faro_diagonal(i)] += diagonal;
}

/* Factors A + nu V. False if it is not positive definite, at least after rounding. */
static bool factor(faro_solver *solver, const double *a, double nu, const double *v) {
  add(solver, a, nu, v);
  return faro_spd_factor(solver->spd, solver->sum);
}

static double trace(size_t d, const double *a) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += a ? a[faro_diagonal(i)] : 1;
  return sum;
}

/* Below this nu, nu V is lost in the rounding of A. */
static double rounding(size_t d, const double *a, const double *v) {
  return fmax(1e-15 * trace(d, a) / trace(d, v), DBL_MIN);
}

/* A lower bound on nu, for V = I: 1 / (alpha + nu)^2 is convex, so with the eigenvalues alpha_i of
 * A, weighted by b_i^2, r^2 = sum b_i^2 / (alpha_i + nu)^2 >= ||b||^2 / (b'A b / ||b||^2 +
 * nu)^2. */
static double least_multiplier(faro_solver *solver, const double *a, double r) {
  const size_t d = solver->d;
  const double square = dot(d, solver->b, solver->b);
  multiply(d, a, solver->b, solver->at);
  return square > 0 ? fmax(0, sqrt(square) / r - dot(d, solver->b, solver->at) / square) : 0;
}

/* Computes solver->w at nu, and its length. False if A + nu V cannot be factored. */
static bool solve(faro_solver *solver, const double *a, double nu, const double *v, double *length) {
  if (!factor(solver, a, nu, v)) return false;
  faro_spd_solve(solver->spd, solver->b, solver->w);
  *length = norm(solver->d, v, solver->w, solver->vw);
  return true;
}

/* One Newton step from a nu that is too small. */
static double newton(faro_solver *solver, double nu, double length, double r) {
  faro_spd_solve(solver->spd, solver->vw, solver->at);
  return nu + (length / r - 1) * length * length / dot(solver->d, solver->vw, solver->at);
}

/* Sets solver->w to the minimiser of w'A w / 2 - b'w over ||w||_V <= r, with b in solver->b.
 *
 * low and high bracket the root because A may be singular. At small nu, w is then dominated by
 * rounding in directions that do not matter and is too long, so that Newton's method passes the
 * root. In that case the least nu that was found too great is right: its w is inside the region and
 * nearly solves A w = b. */
static void minimise_quadratic(faro_solver *solver, const double *a, const double *v, double r) {
  const double floor = rounding(solver->d, a, v);
  double nu = v ? 0 : least_multiplier(solver, a, r);
  double low = nu;
  double high = (double)INFINITY;
  double length = (double)INFINITY;
  for (int step = 0; step < SECULAR_STEPS; step++) {
    double next;
    if (!solve(solver, a, nu, v, &length)) {
      low = nu;
      next = fmax(10 * nu, floor);
    } else if (fabs(length - r) <= 1e-12 * r || (length < r && nu <= floor)) {
      break;
    } else if (length < r) {
      high = nu;
      next = low < floor ? floor : sqrt(low * high);
    } else {
      low = nu;
      next = fmax(newton(solver, nu, length, r), floor);
    }
    if (next >= high) next = sqrt(fmax(low, floor) * high);
    if (!(next > low && next < high)) break;
    nu = next;
  }
  if (length > r * (1 + 1e-12) && isfinite(high)) (void)solve(solver, a, high, v, &length);
  if (length <= r) return;
  for (size_t i = 0; i < solver->d; i++) solver->w[i] *= r / length; /* rounding error */
}

/* out = x - c */
static void subtract(size_t d, const double *x, const double *centre, double *out) {
  for (size_t i = 0; i < d; i++) out[i] = x[i] - (centre ? centre[i] : 0);
}

/* out = c + scale x */
static void place(size_t d, const double *centre, double scale, const double *x, double *out) {
  for (size_t i = 0; i < d; i++) out[i] = (centre ? centre[i] : 0) + scale * x[i];
}

void faro_solver_nearest(faro_solver *solver, const double *a, const faro_region *region, const double *y,
                         double *nearest) {
  const size_t d = solver->d;
  const double r = region->radius;
  double *w = solver->w;
  subtract(d, y, region->centre, w);
  const double length = norm(d, region->metric, w, solver->vw);
  if (length <= r) {
    if (nearest != y) memcpy(nearest, y, d * sizeof *nearest);
    return;
  }
  double scale = r / length;
  if (r > 0 && a != region->metric) { /* else only the length changes */
    multiply(d, a, w, solver->b);
    minimise_quadratic(solver, a, region->metric, r);
    scale = 1;
  }
  place(d, region->centre, fmax(scale, 0), w, nearest);
}

double faro_solver_support(faro_solver *solver, const faro_region *region, const double *g) {
  const size_t d = solver->d;
  const double middle = region->centre ? dot(d, region->centre, g) : 0;
  const double *along = g; /* V^-1 g */
  if (region->metric) {
    if (!factor(solver, region->metric, 0, NULL)) return (double)INFINITY; /* not an ellipsoid */
    faro_spd_solve(solver->spd, g, solver->at);
    along = solver->at;
  }
  return middle + region->radius * sqrt(fmax(0, dot(d, g, along)));
}

/* The loss to minimise, and the current point. */
typedef struct descent {
  faro_link link;
  const faro_rows *rows;
  double ridge;
  const faro_region *region;
  double *theta;
  double loss; /* at theta; gradient and Hessian are the solver's */
} descent;

/* Sets solver->step: from theta to the minimiser of the quadratic model over the region. */
static void propose(faro_solver *solver, const descent *at) {
  const size_t d = solver->d;
  const faro_region *region = at->region;
  if (!region) {
    double nu = rounding(d, solver->hessian, NULL);
    if (!factor(solver, solver->hessian, 0, NULL))
      for (int n = 0; n < 20 && !factor(solver, solver->hessian, nu, NULL); n++) nu *= 10;
    faro_spd_solve(solver->spd, solver->gradient, solver->step);
    for (size_t i = 0; i < d; i++) solver->step[i] = -solver->step[i];
    return;
  }
  subtract(d, at->theta, region->centre, solver->w); /* b = H (theta - c) - gradient */
  multiply(d, solver->hessian, solver->w, solver->b);
  for (size_t i = 0; i < d; i++) solver->b[i] -= solver->gradient[i];
  minimise_quadratic(solver, solver->hessian, region->metric, region->radius);
  place(d, region->centre, 1, solver->w, solver->step);
  subtract(d, solver->step, at->theta, solver->step);
}

static void evaluate(const faro_solver *solver, const descent *at, double length, double *loss) {
  for (size_t i = 0; i < solver->d; i++) solver->trial[i] = at->theta[i] + length * solver->step[i];
  faro_glm_pass(at->link, at->rows, at->ridge, solver->trial, loss, solver->trial_gradient,
                solver->trial_hessian);
}

static void accept(faro_solver *solver, descent *at, double loss) {
  double *const gradient = solver->gradient;
  double *const hessian = solver->hessian;
  solver->gradient = solver->trial_gradient;
  solver->hessian = solver->trial_hessian;
  solver->trial_gradient = gradient;
  solver->trial_hessian = hessian;
  memcpy(at->theta, solver->trial, solver->d * sizeof *at->theta);
  at->loss = loss;
}

/* Moves along the step, which is halved until the loss falls enough (Armijo) or until the minimum
 * on the line is still ahead. In that case the convex loss has fallen, and the slope shows it even
 * if the difference of losses is lost in rounding. `fall` is minus the slope at theta. */
static bool search(faro_solver *solver, descent *at, double fall) {
  double length = 1;
  for (int n = 0; n < HALVINGS; n++, length /= 2) {
    double loss;
    evaluate(solver, at, length, &loss);
    if (!isfinite(loss)) continue;
    if (loss <= at->loss - 0.25 * length * fall ||
        dot(solver->d, solver->trial_gradient, solver->step) <= 0) {
      accept(solver, at, loss);
      return true;
    }
  }
  return false;
}

/* Takes the whole last step if the slope at its end is smaller, because the loss is no longer
 * precise enough. */
static bool finish(faro_solver *solver, descent *at, double fall) {
  double loss;
  evaluate(solver, at, 1, &loss);
  if (!(fabs(dot(solver->d, solver->trial_gradient, solver->step)) < fall)) return false;
  accept(solver, at, loss);
  return true;
}

size_t faro_solver_minimise(faro_solver *solver, faro_link link, const faro_rows *rows, double ridge,
                            const faro_region *region, double *theta) {
  const size_t d = solver->d;
  descent at = {.link = link, .rows = rows, .ridge = ridge, .region = region, .theta = theta};
  if (region) faro_solver_nearest(solver, region->metric, region, theta, theta);
  if (region && !(region->radius > 0)) return 0;
  faro_glm_pass(link, rows, ridge, theta, &at.loss, solver->gradient, solver->hessian);
  for (size_t steps = 0; steps < NEWTON_STEPS; steps++) {
    propose(solver, &at);
    const double fall = -dot(d, solver->gradient, solver->step);
    double scale = fabs(at.loss); /* what rounding is compared with */
    for (size_t i = 0; i < d; i++) scale += fabs(solver->gradient[i] * theta[i]);
    if (!(fall > 0)) return steps;
    if (fall <= 1e-12 * scale) return steps + finish(solver, &at, fall);
    if (!search(solver, &at, fall)) return steps;
  }
  return NEWTON_STEPS;
}
