/* solver: nearest points against brute force and the conditions of optimality, minimisers against a
 * naive projected gradient descent and against a certificate, the follower against the solver. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

#include "glm/link.h"

static faro_sim_rng sim;

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&sim, 72, 0, FARO_ROLE_USER);
  return 0;
}

enum { D = 60 };

typedef double matrix[D * (D + 1) / 2];

static double uniform(double low, double high) { return low + (high - low) * faro_sim_uniform(&sim); }

static void draw_vector(size_t d, double scale, double *x) {
  for (size_t i = 0; i < d; i++) x[i] = scale * faro_sim_normal(&sim);
}

/* Packed sum of d outer products of very different lengths, plus a small multiple of the
 * identity. */
static void draw_matrix(size_t d, double spread, double *a) {
  double x[D];
  memset(a, 0, faro_packed(d) * sizeof *a);
  for (size_t k = 0; k < d; k++) {
    draw_vector(d, pow(10, uniform(-spread, spread)), x);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) a[faro_packed(i) + j] += x[i] * x[j];
  }
  for (size_t i = 0; i < d; i++) a[faro_diagonal(i)] += pow(10, -spread);
}

static double entry(const double *a, size_t i, size_t j) {
  if (!a) return i == j;
  return i >= j ? a[faro_packed(i) + j] : a[faro_packed(j) + i];
}

static void multiply(size_t d, const double *a, const double *x, double *out) {
  for (size_t i = 0; i < d; i++) {
    out[i] = 0;
    for (size_t j = 0; j < d; j++) out[i] += entry(a, i, j) * x[j];
  }
}

static double dot(size_t d, const double *x, const double *y) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += x[i] * y[i];
  return sum;
}

/* ||x - centre|| in the norm of a. */
static double distance(size_t d, const double *a, const double *x, const double *centre) {
  double w[D] = {0}, aw[D];
  for (size_t i = 0; i < d; i++) w[i] = x[i] - (centre ? centre[i] : 0);
  multiply(d, a, w, aw);
  return sqrt(fmax(0, dot(d, w, aw)));
}

static faro_solver *open_solver(size_t d) {
  faro_solver *solver = NULL;
  assert_ok(faro_solver_create(&solver, d, error));
  return solver;
}

/* A point on the region's boundary in the direction of x. */
static void to_boundary(size_t d, const faro_region *region, double *x) {
  const double length = distance(d, region->metric, x, NULL);
  for (size_t i = 0; i < d; i++)
    x[i] = (region->centre ? region->centre[i] : 0) + region->radius * x[i] / length;
}

static void test_nearest__no_point_of_the_boundary_is_nearer(void **state) {
  (void)state;
  for (size_t d = 2; d <= 3; d++) {
    faro_solver *solver = open_solver(d);
    for (int n = 0; n < 60; n++) {
      matrix a, v;
      double c[D], y[D], u[D], x[D];
      draw_matrix(d, 0.5, a);
      draw_matrix(d, 0.5, v);
      draw_vector(d, 1, c);
      draw_vector(d, 3, y);
      const faro_region region = {
          .centre = n % 3 == 0 ? NULL : c, .metric = n % 4 == 0 ? NULL : v, .radius = 0.5};
      const double *norm = n % 5 == 0 ? NULL : a;
      faro_solver_nearest(solver, norm, &region, y, u);
      const double ours = distance(d, norm, u, y);
      assert_true(distance(d, region.metric, u, region.centre) <= region.radius * (1 + 1e-12));
      if (distance(d, region.metric, y, region.centre) <= region.radius) continue;
      double best = INFINITY;
      for (int k = 0; k < 20000; k++) { /* every direction in the plane, random ones in space */
        draw_vector(d, 1, x);
        if (d == 2) {
          x[0] = cos(k * 3.1415926535897932e-4);
          x[1] = sin(k * 3.1415926535897932e-4);
        }
        to_boundary(d, &region, x);
        best = fmin(best, distance(d, norm, x, y));
      }
      assert_true(ours <= best * (1 + 1e-12));
      assert_close(ours, best, (d == 2 ? 1e-5 : 2e-2) * best);
    }
    faro_solver_destroy(solver);
  }
}

/* A (y - u) = nu V (u - c) with nu >= 0, and u on the boundary: by convexity no other point is
 * nearest. */
static void check_conditions(size_t d, const double *a, const faro_region *region, const double *y,
                             const double *u) {
  double away[D], inward[D], force[D], normal[D];
  for (size_t i = 0; i < d; i++) {
    away[i] = y[i] - u[i];
    inward[i] = u[i] - (region->centre ? region->centre[i] : 0);
  }
  multiply(d, a, away, force);
  multiply(d, region->metric, inward, normal);
  const double nu = dot(d, force, normal) / dot(d, normal, normal);
  assert_true(nu >= 0);
  double size = 0, error = 0;
  for (size_t i = 0; i < d; i++) {
    double terms = 0;
    for (size_t j = 0; j < d; j++) terms += fabs(entry(a, i, j) * away[j]);
    size = fmax(size, terms);
    error = fmax(error, fabs(force[i] - nu * normal[i]));
  }
  assert_close(error / size, 0, 1e-9);
  assert_close(sqrt(dot(d, inward, normal)) / region->radius, 1, 1e-11);
}

static void test_nearest__meets_the_conditions_of_optimality(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 5, 8, 9, 20, 60};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++) {
    const size_t d = dimension[n];
    faro_solver *solver = open_solver(d);
    for (int k = 0; k < 200; k++) {
      matrix a, v;
      double c[D], y[D], u[D];
      draw_matrix(d, 0.02 * (k % 100), a); /* up to lengths 1e-2 .. 1e2, so eigenvalues over eight decades */
      draw_matrix(d, 0.5, v);
      draw_vector(d, 1, c);
      draw_vector(d, pow(10, uniform(-2, 6)), y);
      for (size_t i = 0; i < d; i++) y[i] += c[i];
      const faro_region region = {
          .centre = c, .metric = k % 4 == 0 ? NULL : v, .radius = pow(10, uniform(-3, 2))};
      const double *norm = k % 5 == 0 ? NULL : a;
      faro_solver_nearest(solver, norm, &region, y, u);
      if (distance(d, region.metric, y, c) <= region.radius) assert_memory_equal(u, y, d * sizeof *u);
      else check_conditions(d, norm, &region, y, u);
    }
    faro_solver_destroy(solver);
  }
}

static void test_nearest__is_right_in_special_cases(void **state) {
  (void)state;
  const double y[] = {3, 4}, c[] = {1, -1}, stretch[] = {4, 0, 1}, other[] = {2, 0.5, 3};
  double u[2];
  faro_solver *solver = open_solver(2);
  faro_region region = {.radius = 1};
  faro_solver_nearest(solver, NULL, &region, y, u); /* y shortened */
  assert_close(u[0], 0.6, 1e-15);
  assert_close(u[1], 0.8, 1e-15);
  region = (faro_region){.centre = c, .metric = stretch, .radius = 0};
  faro_solver_nearest(solver, other, &region, y, u);
  assert_memory_equal(u, c, sizeof u);
  region = (faro_region){.metric = stretch, .radius = 1};
  const double far[] = {7, 0};
  faro_solver_nearest(solver, NULL, &region, far, u); /* the end of the axis */
  assert_close(u[0], 0.5, 1e-12);
  assert_close(u[1], 0, 1e-12);
  double same[2] = {3, 4};
  faro_solver_nearest(solver, other, &region, y, u);
  faro_solver_nearest(solver, other, &region, same, same); /* in place */
  assert_memory_equal(u, same, sizeof u);
  const double inside[] = {0.1, 0.2};
  faro_solver_nearest(solver, other, &region, inside, u);
  assert_memory_equal(u, inside, sizeof u);
  faro_solver_destroy(solver);
}

static void test_support__is_the_greatest_of_samples(void **state) {
  (void)state;
  for (size_t d = 1; d <= 3; d++) {
    faro_solver *solver = open_solver(d);
    for (int n = 0; n < 30; n++) {
      matrix v;
      double c[D], g[D], x[D];
      draw_matrix(d, 0.5, v);
      draw_vector(d, 1, c);
      draw_vector(d, 1, g);
      const faro_region region = {
          .centre = n % 3 == 0 ? NULL : c, .metric = n % 4 == 0 ? NULL : v, .radius = 0.7};
      const double ours = faro_solver_support(solver, &region, g);
      const double middle = region.centre ? dot(d, c, g) : 0;
      double best = -INFINITY;
      for (int k = 0; k < 20000; k++) {
        draw_vector(d, 1, x);
        to_boundary(d, &region, x);
        best = fmax(best, dot(d, g, x));
      }
      assert_true(ours >= best - 1e-12 * fabs(ours));
      assert_close(ours, best, 5e-2 * (ours - middle));
    }
    faro_solver_destroy(solver);
  }
}

/* Rows in the unit ball, rewards 0 or 1 by the logistic model of a hidden parameter; every seventh
 * row comes twice. */
typedef struct data {
  faro_rows rows;
  double *x, *y;
} data;

static data draw_data(size_t d, size_t count, double hidden) {
  data made = {.x = calloc(d * count + 1, sizeof(double)), .y = calloc(count + 1, sizeof(double))};
  assert_true(made.x && made.y);
  for (size_t i = 0; i < count; i++) {
    double *x = made.x + i * d;
    draw_vector(d, 1, x);
    const double shrink = pow(faro_sim_uniform(&sim), 1 / (double)d) / sqrt(dot(d, x, x));
    for (size_t j = 0; j < d; j++) x[j] *= shrink;
    if (i % 7 == 6) memcpy(x, x - d, d * sizeof *x);
    double z = 0;
    for (size_t j = 0; j < d; j++) z += hidden * (j % 2 == 0 ? 1 : -0.5) * x[j];
    made.y[i] = faro_sim_bernoulli(&sim, faro_link_mean(FARO_LINK_LOGISTIC, z));
  }
  made.rows = (faro_rows){.dimension = d, .count = count, .x = made.x, .y = made.y};
  return made;
}

static void free_data(data *made) {
  free(made->x);
  free(made->y);
}

/* How far theta may be from the minimum over the region: L is convex, so L(theta) - L(u) <=
 * <gradient, theta - u>. */
static double gap(faro_solver *solver, faro_link link, const faro_rows *rows, double ridge,
                  const faro_region *region, const double *theta) {
  double g[D];
  faro_glm_gradient(link, rows, ridge, theta, g);
  const double along = dot(rows->dimension, g, theta);
  for (size_t i = 0; i < rows->dimension; i++) g[i] = -g[i];
  return along + faro_solver_support(solver, region, g);
}

/* Projected gradient descent in the coordinates of L' (theta - c), V = L L', where the region is a
 * ball. */
static void naive_descent(faro_link link, const faro_rows *rows, double ridge, const faro_region *region,
                          size_t steps, double *theta) {
  const size_t d = rows->dimension;
  double l[D][D] = {{0}}, s[D] = {0}, g[D], p[D];
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = entry(region->metric, i, j);
      for (size_t k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
    }
  double least = INFINITY; /* a bound on the curvature there: that in theta over the least eigenvalue of V */
  for (size_t i = 0; i < d; i++) least = fmin(least, l[i][i] * l[i][i]);
  const double curvature = ((double)rows->count * faro_link_steepest(link, 3) + ridge) / least * 4;
  for (size_t step = 0; step <= steps; step++) {
    for (size_t i = d; i-- > 0;) { /* L' (theta - c) = s */
      double sum = s[i];
      for (size_t k = i + 1; k < d; k++) sum -= l[k][i] * p[k];
      p[i] = sum / l[i][i];
      theta[i] = (region->centre ? region->centre[i] : 0) + p[i];
    }
    faro_glm_gradient(link, rows, ridge, theta, g);
    for (size_t i = 0; i < d; i++) { /* L^-1 g */
      double sum = g[i];
      for (size_t k = 0; k < i; k++) sum -= l[i][k] * p[k];
      p[i] = sum / l[i][i];
    }
    for (size_t i = 0; i < d; i++) s[i] -= p[i] / curvature;
    const double length = sqrt(dot(d, s, s));
    if (length > region->radius)
      for (size_t i = 0; i < d; i++) s[i] *= region->radius / length;
  }
}

static void test_minimise__finds_what_a_long_naive_descent_finds(void **state) {
  (void)state;
  int active = 0, inactive = 0;
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (int n = 0; n < 8; n++) {
      const size_t d = n % 2 == 0 ? 2 : 3;
      matrix v;
      double c[D], slow[D], fast[D] = {0};
      draw_matrix(d, 0.2, v);
      for (size_t i = 0; i < d; i++) v[faro_diagonal(i)] += 0.5;
      draw_vector(d, 0.3, c);
      data made = draw_data(d, 40, 2);
      const faro_region region = {
          .centre = n % 4 < 2 ? c : NULL, .metric = n < 6 ? v : NULL, .radius = n < 4 ? 0.4 : 8};
      faro_solver *solver = open_solver(d);
      faro_solver_minimise(solver, link, &made.rows, 0.5, &region, fast);
      naive_descent(link, &made.rows, 0.5, &region, 40000, slow);
      for (size_t i = 0; i < d; i++) assert_close(fast[i], slow[i], 1e-6);
      assert_true(faro_glm_loss(link, &made.rows, 0.5, fast) <=
                  faro_glm_loss(link, &made.rows, 0.5, slow) + 1e-12 * (double)made.rows.count);
      const double length = distance(d, region.metric, fast, region.centre);
      assert_true(length <= region.radius * (1 + 1e-12));
      *(length > region.radius * (1 - 1e-9) ? &active : &inactive) += 1;
      faro_solver_destroy(solver);
      free_data(&made);
    }
  assert_true(active >= 8 && inactive >= 8);
}

static void test_minimise__is_certified_for_every_link_and_shape(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 5, 10, 20};
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++)
      for (int k = 0; k < 24; k++) {
        const size_t d = dimension[n];
        matrix v;
        double c[D], theta[D];
        draw_matrix(d, 1, v);
        draw_vector(d, 1, c);
        draw_vector(d, k % 3 == 0 ? 0 : pow(10, uniform(-2, 1)), theta); /* also far outside */
        data made = draw_data(d, (size_t)(k * k), uniform(0, 5));
        const faro_region region = {.centre = k % 2 == 0 ? c : NULL,
                                    .metric = k % 4 < 2 ? v : NULL,
                                    .radius = pow(10, uniform(-2, 1))};
        const double ridge = k % 5 == 0 ? 0 : 0.1;
        faro_solver *solver = open_solver(d);
        const size_t steps = faro_solver_minimise(solver, link, &made.rows, ridge, &region, theta);
        const double left = gap(solver, link, &made.rows, ridge, &region, theta);
        const double loss = faro_glm_loss(link, &made.rows, ridge, theta);
        assert_true(distance(d, region.metric, theta, region.centre) <= region.radius * (1 + 1e-11));
        assert_true(steps < 60);
        if (!(left <= 1e-7 * (1 + fabs(loss))))
          fail_msg("%s, d %zu, rows %zu, radius %g, ridge %g: gap %g, loss %g, %zu steps",
                   faro_link_name(link), d, made.rows.count, region.radius, ridge, left, loss, steps);
        faro_solver_destroy(solver);
        free_data(&made);
      }
}

/* Few rows of low rank, no ridge, long and thin regions, starts where all slopes are flat: a
 * singular Hessian can look regular. */
static void test_minimise__is_certified_where_it_is_hard(void **state) {
  (void)state;
  for (int n = 0; n < 12000; n++) {
    const faro_link link = (faro_link)(n % FARO_LINK_COUNT);
    const size_t d = 1 + (size_t)uniform(0, 8);
    const size_t rank = 1 + (size_t)uniform(0, (double)d);
    const double ridge = n % 3 == 0 ? 0 : pow(10, uniform(-3, 1));
    matrix v;
    double c[D], theta[D], g[D];
    draw_matrix(d, uniform(0, 2), v);
    draw_vector(d, n % 2 == 0 ? 0.1 : 3, c);
    draw_vector(d, pow(10, uniform(-1, 2)), theta);
    data made = draw_data(d, (size_t)uniform(0, ridge > 0 ? 60 : 4), 2);
    const double scale = pow(10, uniform(-3, 0));
    for (size_t i = 0; i < made.rows.count * d; i++) made.x[i] *= i % d < rank ? scale : 0;
    const faro_region region = {
        .centre = n % 5 < 2 ? NULL : c, .metric = n % 7 < 3 ? NULL : v, .radius = pow(10, uniform(-2, 2))};
    faro_solver *solver = open_solver(d);
    faro_solver_minimise(solver, link, &made.rows, ridge, &region, theta);
    const double left = gap(solver, link, &made.rows, ridge, &region, theta);
    faro_glm_gradient(link, &made.rows, ridge, theta, g);
    double size = 1e-2 + fabs(faro_glm_loss(link, &made.rows, ridge, theta));
    for (size_t i = 0; i < d; i++) size += fabs(g[i] * theta[i]);
    if (!(left <= 1e-9 * size))
      fail_msg("%s, d %zu, rank %zu, rows %zu, radius %g, ridge %g: gap %g beside %g", faro_link_name(link),
               d, rank, made.rows.count, region.radius, ridge, left, size);
    faro_solver_destroy(solver);
    free_data(&made);
  }
}

/* Without a region the gradient is zero. */
static void test_minimise__without_a_region_ends_at_a_zero_gradient(void **state) {
  (void)state;
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (int k = 0; k < 20; k++) {
      double theta[D], g[D];
      draw_vector(4, k % 2 == 0 ? 0 : 10, theta);
      data made = draw_data(4, 100, 3);
      faro_solver *solver = open_solver(4);
      const double ridge = pow(10, uniform(-4, 1));
      assert_true(faro_solver_minimise(solver, link, &made.rows, ridge, NULL, theta) < 60);
      faro_glm_gradient(link, &made.rows, ridge, theta, g);
      assert_close(sqrt(dot(4, g, g)), 0, 1e-9);
      faro_solver_destroy(solver);
      free_data(&made);
    }
}

/* Separable data drive theta to the boundary, where all slopes are flat: the gap is small compared
 * with a loss of e^-40. */
static void test_minimise__separable_data_end_on_the_boundary(void **state) {
  (void)state;
  for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_PROBIT; link++)
    for (int k = 0; k < 20; k++) {
      const double radius = link == FARO_LINK_LOGISTIC ? 57 : 12;
      double theta[3] = {k % 2 == 0 ? 0 : -radius, 0, 0}; /* from the wrong end, too */
      data made = draw_data(3, 30, 1);
      for (size_t i = 0; i < 30; i++) {
        double *x = made.x + 3 * i;
        x[0] = x[0] < 0 ? -0.7 : 0.7;
        x[1] *= 0.3;
        x[2] = k % 3 == 0 ? 0 : 0.3 * x[2]; /* a direction without data */
        made.y[i] = x[0] > 0;
      }
      const faro_region region = {.radius = radius};
      faro_solver *solver = open_solver(3);
      assert_true(faro_solver_minimise(solver, link, &made.rows, 0, &region, theta) < 60);
      const double loss = faro_glm_loss(link, &made.rows, 0, theta);
      assert_close(distance(3, NULL, theta, NULL), radius, 1e-9 * radius);
      assert_true(gap(solver, link, &made.rows, 0, &region, theta) <= 1e-9 * loss);
      assert_true(loss > 0 && loss < 1e-14);
      faro_solver_destroy(solver);
      free_data(&made);
    }
}

static void test_minimise__works_without_rows_or_room(void **state) {
  (void)state;
  const double c[] = {2, 1};
  const faro_rows none = {.dimension = 2};
  faro_region region = {.centre = c, .radius = 1};
  double theta[] = {5, 5};
  faro_solver *solver = open_solver(2);
  faro_solver_minimise(solver, FARO_LINK_LOGISTIC, &none, 0, &region, theta); /* all points are minimisers */
  assert_true(distance(2, NULL, theta, c) <= 1 + 1e-12);
  faro_solver_minimise(solver, FARO_LINK_LOGISTIC, &none, 1, &region, theta); /* the shortest */
  assert_close(theta[0], 2 - 2 / sqrt(5), 1e-9);
  assert_close(theta[1], 1 - 1 / sqrt(5), 1e-9);
  faro_solver_minimise(solver, FARO_LINK_PROBIT, &none, 1, NULL, theta);
  assert_close(fabs(theta[0]) + fabs(theta[1]), 0, 1e-12);
  region.radius = 0;
  faro_solver_minimise(solver, FARO_LINK_POISSON, &none, 1, &region, theta);
  assert_memory_equal(theta, c, sizeof c);
  faro_solver_destroy(solver);
}

static void follow_data(data made, faro_link link, double ridge, double tolerance, size_t most) {
  faro_rows rows = made.rows;
  const size_t d = rows.dimension;
  const size_t count = rows.count;
  faro_follower *follower = NULL;
  faro_solver *solver = open_solver(d);
  double theta[D] = {0}, g[D];
  assert_ok(faro_follower_create(&follower, link, d, count, ridge, tolerance, error));
  for (rows.count = 1; rows.count <= count; rows.count++) {
    faro_follower_add(follower, made.x + (rows.count - 1) * d, made.y[rows.count - 1]);
    faro_solver_minimise(solver, link, &rows, ridge, NULL, theta);
    faro_glm_gradient(link, &rows, ridge, faro_follower_theta(follower), g);
    assert_true(sqrt(dot(d, g, g)) <= tolerance + 1e-13 * (double)rows.count);
    /* L is ridge-strongly convex */
    assert_true(distance(d, NULL, faro_follower_theta(follower), theta) <= (tolerance + 1e-9) / ridge);
  }
  if (faro_follower_passes(follower) > most)
    fail_msg("%s: %zu passes for %zu rows", faro_link_name(link), faro_follower_passes(follower), count);
  faro_follower_destroy(follower);
  faro_solver_destroy(solver);
  free_data(&made);
}

static void follow(faro_link link, size_t d, size_t count, double ridge, double tolerance, size_t most) {
  follow_data(draw_data(d, count, 3), link, ridge, tolerance, most);
}

/* One direction only, at which the link bends most: here Taylor's bound is tight. */
static void test_follower__is_exact_where_the_bound_is_tight(void **state) {
  (void)state;
  data made = draw_data(8, 2000, 0);
  for (size_t i = 0; i < made.rows.count; i++) {
    for (size_t j = 0; j < 8; j++) made.x[8 * i + j] = sqrt(0.125);
    made.y[i] = faro_sim_bernoulli(&sim, faro_link_mean(FARO_LINK_LOGISTIC, 1.317));
  }
  follow_data(made, FARO_LINK_LOGISTIC, 1e-3, 1e-3, 2000);
}

static void test_follower__is_the_minimiser_after_every_row(void **state) {
  (void)state;
  follow(FARO_LINK_LOGISTIC, 3, 1500, 1, 1e-2, 200);
  follow(FARO_LINK_LOGISTIC, 5, 600, 0.01, 1e-4, 1200);
  follow(FARO_LINK_PROBIT, 3, 1500, 1, 1e-2, 300);
  follow(FARO_LINK_PROBIT, 2, 300, 0.1, 1e-8, 1500);
  follow(FARO_LINK_LINEAR, 3, 500, 1, 1e-9, 0);
  follow(FARO_LINK_POISSON, 3, 800, 1, 1e-2, 300);
  follow(FARO_LINK_POISSON, 1, 300, 1e-3, 1e-3, 1500);
}

static void test_create__survives_every_failing_allocation(void **state) {
  (void)state;
  bool made = false;
  for (size_t n = 1; !made; n++) {
    faro_solver *solver = NULL;
    faro_error failure = {0};
    alloc_fail_at(n);
    made = faro_solver_create(&solver, 4, &failure) == FARO_OK;
    alloc_fail_at(0);
    assert_true(made ? n > 5 : !solver && failure.status == FARO_MEMORY);
    faro_solver_destroy(solver);
  }
  made = false;
  for (size_t n = 1; !made; n++) {
    faro_follower *follower = NULL;
    faro_error failure = {0};
    alloc_fail_at(n);
    made = faro_follower_create(&follower, FARO_LINK_PROBIT, 4, 10, 1, 1, &failure) == FARO_OK;
    alloc_fail_at(0);
    assert_true(made ? n > 15 : !follower && failure.status == FARO_MEMORY);
    faro_follower_destroy(follower);
  }
}

static void assert_refused(size_t d, size_t rows, double ridge, double tolerance, const char *message) {
  faro_follower *follower = NULL;
  faro_error failure = {0};
  assert_int_equal(faro_follower_create(&follower, FARO_LINK_LINEAR, d, rows, ridge, tolerance, &failure),
                   FARO_INVALID);
  assert_string_equal(failure.message, message);
}

static void test_create__refuses_with_a_reason(void **state) {
  (void)state;
  faro_solver *solver = NULL;
  faro_error failure = {0};
  assert_int_equal(faro_solver_create(&solver, 0, &failure), FARO_INVALID);
  assert_string_equal(failure.message, "dimension must be 1 .. 1000 (got 0)");
  assert_refused(1001, 1, 1, 1, "dimension must be 1 .. 1000 (got 1001)");
  assert_refused(2, 0, 1, 1, "rows must be at least 1 (got 0)");
  assert_refused(2, 1, 0, 1, "ridge must be above 0 (got 0)");
  assert_refused(2, 1, 1, (double)NAN, "tolerance must be above 0 (got nan)");
}

/* Nothing is allocated after creation. */
static void test_solver__allocates_nothing(void **state) {
  (void)state;
  double theta[5] = {0}, y[5] = {9, 9, 9, 9, 9};
  matrix a;
  draw_matrix(5, 0.5, a);
  data made = draw_data(5, 200, 2);
  faro_solver *solver = open_solver(5);
  faro_follower *follower = NULL;
  assert_ok(faro_follower_create(&follower, FARO_LINK_LOGISTIC, 5, 200, 1, 1e-3, error));
  const faro_region region = {.metric = a, .radius = 1};
  alloc_reset();
  faro_solver_minimise(solver, FARO_LINK_PROBIT, &made.rows, 1, &region, theta);
  faro_solver_nearest(solver, NULL, &region, y, theta);
  (void)faro_solver_support(solver, &region, y);
  for (size_t i = 0; i < 200; i++) faro_follower_add(follower, made.x + 5 * i, made.y[i]);
  assert_int_equal(alloc_count(), 0);
  faro_solver_destroy(solver);
  faro_follower_destroy(follower);
  free_data(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nearest__no_point_of_the_boundary_is_nearer),
      cmocka_unit_test(test_nearest__meets_the_conditions_of_optimality),
      cmocka_unit_test(test_nearest__is_right_in_special_cases),
      cmocka_unit_test(test_support__is_the_greatest_of_samples),
      cmocka_unit_test(test_minimise__finds_what_a_long_naive_descent_finds),
      cmocka_unit_test(test_minimise__is_certified_for_every_link_and_shape),
      cmocka_unit_test(test_minimise__is_certified_where_it_is_hard),
      cmocka_unit_test(test_minimise__without_a_region_ends_at_a_zero_gradient),
      cmocka_unit_test(test_minimise__separable_data_end_on_the_boundary),
      cmocka_unit_test(test_minimise__works_without_rows_or_room),
      cmocka_unit_test(test_follower__is_the_minimiser_after_every_row),
      cmocka_unit_test(test_follower__is_exact_where_the_bound_is_tight),
      cmocka_unit_test(test_create__survives_every_failing_allocation),
      cmocka_unit_test(test_create__refuses_with_a_reason),
      cmocka_unit_test(test_solver__allocates_nothing),
  };
  return cmocka_run_group_tests(tests, open_stream, NULL);
}
