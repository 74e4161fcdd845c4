/* linucb: the clipped region against a naive second implementation, the published regions against
 * their formulas, and what happens to indefinite matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/matrix.h"
#include "support/support.h"

enum { D_MAX = 8, LENGTH_MAX = D_MAX * (D_MAX + 3) / 2 };

static faro_updater_params tight(size_t d) {
  return (faro_updater_params){.dimension = d,
                               .horizon = 1000,
                               .releases = 1000,
                               .norm = 1,
                               .failure = 0.1,
                               .reward = 1,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_updater_params paper(size_t d) {
  faro_updater_params p = tight(d);
  p.calibration = FARO_CALIBRATION_PAPER;
  return p;
}

static faro_updater *make(const faro_updater_params *p) {
  faro_updater *l = NULL;
  assert_ok(faro_updater_create(&l, faro_learner_find("linucb"), p, error));
  return l;
}

/* Adds a person with random features, shorter than 1. */
static void add_person(size_t d, faro_sim_rng *sim, double *sum, double *x) {
  for (size_t i = 0; i < d; i++) x[i] = (faro_sim_uniform(sim) - 0.5) / sqrt((double)d);
  const double y = faro_sim_uniform(sim);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) *sum++ += x[i] * x[j];
  for (size_t i = 0; i < d; i++) *sum++ += x[i] * y;
}

/* ---- the clipped region: docs/regret.md, Theorem 1 */

/* How a release describes its noise. */
typedef struct kind_of_noise {
  double on, off, vector;
  bool gaussian, dependent;
  double laplace, summands;
} kind_of_noise;

static faro_noise describe(const kind_of_noise *k, size_t d, double *scale) {
  if (k->on == 0) return (faro_noise){.scale = NULL};
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) scale[faro_packed(i) + j] = i == j ? k->on : k->off;
  for (size_t i = 0; i < d; i++) scale[faro_packed(d) + i] = k->vector;
  return (faro_noise){.scale = scale,
                      .gaussian = k->gaussian,
                      .dependent = k->dependent,
                      .laplace = k->laplace,
                      .summands = k->summands};
}

/* Hsu, Kakade & Zhang 2012, for a covariance with these eigenvalues. */
static double length_bound(const double *eigenvalue, size_t count, double q) {
  const double t = log(1 / q);
  double trace = 0;
  double square = 0;
  double top = 0;
  for (size_t i = 0; i < count; i++) {
    trace += eigenvalue[i];
    square += eigenvalue[i] * eigenvalue[i];
    top = fmax(top, eigenvalue[i]);
  }
  return sqrt(trace + 2 * sqrt(square * t) + 2 * top * t);
}

/* E. The covariance is a I, and b + c more in the direction of theta. */
static double naive_error(const kind_of_noise *k, size_t d, double q) {
  if (k->on == 0) return 0;
  const double dd = (double)d;
  if (k->laplace > 0) return sqrt(dd) * faro_laplace_sum_quantile(2 * k->summands, k->laplace, q / dd);
  double eigenvalue[D_MAX];
  for (size_t i = 0; i < d; i++) eigenvalue[i] = k->vector * k->vector + k->off * k->off;
  eigenvalue[0] += fmax(k->off * k->off, k->on * k->on - k->off * k->off);
  return length_bound(eigenvalue, d, q);
}

/* S, the bound on ||N||. */
static double naive_norm(const kind_of_noise *k, size_t d, double q) {
  if (k->on == 0) return 0;
  const double dd = (double)d;
  const double wide = fmax(k->on, sqrt(2) * k->off);
  if (k->laplace > 0) return faro_laplace_sum_quantile(dd * k->summands, k->laplace, q / dd);
  if (k->dependent) {
    double ones[LENGTH_MAX];
    for (size_t i = 0; i < faro_packed(d); i++) ones[i] = 1;
    return wide * fmin(2 * sqrt(2 * log(2 * pow(9, dd) / q)), length_bound(ones, faro_packed(d), q));
  }
  const double tropp = sqrt(2 * (k->on * k->on + (dd - 1) * k->off * k->off) * log(2 * dd / q));
  if (!k->gaussian) return tropp;
  return fmin(tropp, sqrt(2) * wide * (sqrt(dd) + sqrt(log(2 / q))));
}

typedef struct region {
  double theta[D_MAX], Sigma[D_MAX * D_MAX];
  bool clipped;
} region;

/* Sum of three ellipsoids with these eigenvalues, by Cauchy's inequality with the best weights. */
static void add_up(size_t d, const double part[3][D_MAX], double *sigma) {
  double root[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++) {
    for (size_t i = 0; i < d; i++) root[k] += part[k][i];
    root[k] = sqrt(root[k]);
  }
  for (size_t i = 0; i < d; i++) {
    sigma[i] = 0;
    for (int k = 0; k < 3; k++)
      if (root[k] > 0) sigma[i] += part[k][i] * (root[0] + root[1] + root[2]) / root[k];
  }
}

static region naive_region(const faro_updater_params *p, const kind_of_noise *k, const double *sum,
                           double n) {
  const size_t d = p->dimension;
  const double dd = (double)d;
  const double q = p->failure / (4 * (double)p->releases);
  const double E = naive_error(k, d, q);
  const double S = naive_norm(k, d, q);
  const double f = fmax(1, E);
  double G[D_MAX * D_MAX];
  double g[D_MAX];
  double Q[D_MAX * D_MAX];
  matrix_unpack(d, sum, G);
  matrix_eigen(d, G, g, Q);
  region r = {.clipped = g[d - 1] < f};
  double inverse[D_MAX];
  double log_det = 0;
  for (size_t i = 0; i < d; i++) {
    inverse[i] = 1 / fmax(g[i], f);
    log_det += log(fmax(g[i], f) + S + 1);
  }
  double V[D_MAX * D_MAX];
  matrix_compose(d, inverse, Q, V);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) r.theta[i] += V[i * d + j] * sum[faro_packed(d) + j];
  const double beta2 =
      pow(p->reward, 2) * (2 * log(2 / p->failure) + fmin(log_det, dd * log(1 + n * pow(p->norm, 2) / dd)));
  double part[3][D_MAX];
  for (size_t i = 0; i < d; i++) {
    part[0][i] = beta2 * (fmax(g[i], f) + S + 1) * inverse[i] * inverse[i];
    part[1][i] = pow(E * inverse[i], 2);
    part[2][i] = pow((fmax(g[i], f) - g[i]) * inverse[i], 2);
  }
  double sigma[D_MAX];
  add_up(d, part, sigma);
  matrix_compose(d, sigma, Q, r.Sigma);
  return r;
}

static void assert_region(const faro_policy *policy, const region *r) {
  const size_t d = policy->dimension;
  double square[D_MAX * D_MAX];
  double most = 0;
  matrix_square(d, policy->w, square);
  for (size_t i = 0; i < d * d; i++) most = fmax(most, fabs(r->Sigma[i]));
  for (size_t i = 0; i < d * d; i++)
    assert_close(policy->beta * policy->beta * square[i], r->Sigma[i], 1e-8 * most);
  for (size_t i = 0; i < d; i++) assert_close(policy->theta[i], r->theta[i], 1e-9);
  assert_int_equal(policy->rule, FARO_RULE_WIDTH);
}

/* Broken once: l in place of E in B; SN left out of A; the weight of C from D in place of D / l. */
static void test_linucb__region_equals_the_naive_one(void **state) {
  (void)state;
  const kind_of_noise noises[] = {{.on = 0},
                                  {.on = 1, .off = sqrt(0.5), .vector = 0.7, .gaussian = true},
                                  {.on = 1.3, .off = 1.3, .vector = 1.3},
                                  {.on = 3, .off = 1, .vector = 0.5, .gaussian = true},
                                  {.on = 2, .off = sqrt(2), .vector = 1.5, .dependent = true},
                                  {.on = 4, .off = 4, .vector = 4, .laplace = 0.4, .summands = 50}};
  faro_sim_rng sim;
  faro_sim_open(&sim, 21, 0, FARO_ROLE_CONTEXT);
  int clipped[2] = {0, 0};
  for (size_t d = 1; d <= D_MAX; d++)
    for (size_t k = 0; k < sizeof noises / sizeof *noises; k++) {
      faro_updater_params p = tight(d);
      p.reward = 0.5;
      p.releases = 20;
      faro_updater *l = make(&p);
      double scale[LENGTH_MAX];
      double sum[LENGTH_MAX] = {0};
      uint64_t shifted = 0;
      for (uint64_t t = 1; t <= 20; t++) {
        double x[D_MAX];
        const double part = (double)t / 20; /* the noise differs from release to release */
        kind_of_noise now = noises[k];
        now.on *= part;
        now.off *= d > 1 ? part : 0; /* one number has nothing beside its diagonal */
        now.vector *= part;
        now.summands *= part;
        for (int person = 0; person < 20 * (int)t; person++) add_person(d, &sim, sum, x);
        double noisy[LENGTH_MAX];
        const faro_noise noise = describe(&now, d, scale);
        for (size_t i = 0; i < faro_packed(d) + d; i++)
          noisy[i] = sum[i] + (noise.scale ? noise.scale[i] * faro_sim_normal(&sim) : 0);
        const faro_statistics s = {.sum = noisy, .users = 10 * t * (t + 1), .releases = t, .noise = noise};
        faro_updater_update(l, &s);
        const region r = naive_region(&p, &now, noisy, (double)s.users);
        assert_region(faro_updater_policy(l), &r);
        shifted += r.clipped;
        clipped[r.clipped]++;
        assert_int_equal(faro_updater_diagnose(l).shifted, shifted);
      }
      assert_int_equal(faro_updater_diagnose(l).updates, 20);
      faro_updater_destroy(l);
    }
  assert_true(clipped[0] > 100 && clipped[1] > 100);
}

/* Before any user there is no knowledge: a ball. */
static void test_linucb__first_region_is_a_ball(void **state) {
  (void)state;
  const faro_updater_params p = tight(4);
  faro_updater *l = make(&p);
  const double sum[14] = {0};
  const region r = naive_region(&p, &(kind_of_noise){.on = 0}, sum, 0);
  assert_region(faro_updater_policy(l), &r);
  assert_close(r.Sigma[0], r.Sigma[5], 1e-12);
  assert_int_equal(faro_updater_diagnose(l).shifted, 0);
  faro_updater_destroy(l);
}

/* Small and large eigen-solvers; -1e17 is beyond what 1 could be added to. */
static void test_linucb__indefinite_matrices_are_clipped_widened_and_counted(void **state) {
  (void)state;
  for (size_t d = 1; d <= 60; d += d < 8 ? 1 : 26) {
    const faro_updater_params p = tight(d);
    faro_updater *l = make(&p);
    double *sum = calloc(faro_packed(d) + d, sizeof *sum);
    assert_non_null(sum);
    for (size_t i = 0; i < d; i++) sum[faro_diagonal(i)] = 5;
    for (size_t i = 0; i < d; i++) sum[faro_packed(d) + i] = 1;
    const faro_statistics s = {.sum = sum, .users = 10, .releases = 1};
    faro_updater_update(l, &s);
    const faro_policy *policy = faro_updater_policy(l);
    for (size_t i = 0; i < d; i++) assert_close(policy->theta[i], 0.2, 1e-12);
    assert_int_equal(faro_updater_diagnose(l).shifted, 0);
    const double bad[] = {-1000, -1e17};
    for (uint64_t k = 0; k < 2; k++) {
      sum[faro_diagonal(d - 1)] = bad[k];
      faro_updater_update(l, &s);
      /* one clipped direction, where D / l is the error that clipping allows */
      assert_true(policy->w[faro_diagonal(d - 1)] >= (1 - bad[k]) * (1 - 1e-9));
      assert_close(policy->theta[d - 1], 1, 1e-9); /* u / f */
      for (size_t i = 0; i < d; i++) assert_true(isfinite(policy->theta[i]));
      assert_int_equal(faro_updater_diagnose(l).shifted, k + 1);
    }
    free(sum);
    faro_updater_destroy(l);
  }
}

/* ---- published regions */

static void test_linucb__published_policy_equals_the_naive_one(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 21, 0, FARO_ROLE_CONTEXT);
  for (size_t d = 1; d <= D_MAX; d++) {
    const faro_updater_params p = paper(d);
    faro_updater *l = make(&p);
    double sum[LENGTH_MAX] = {0};
    for (uint64_t t = 1; t <= 50; t++) {
      double x[D_MAX];
      add_person(d, &sim, sum, x);
      const faro_statistics s = {.sum = sum, .users = t, .releases = t};
      faro_updater_update(l, &s);
      const faro_policy *policy = faro_updater_policy(l);
      double V[D_MAX * D_MAX];
      double inverse[D_MAX * D_MAX];
      double square[D_MAX * D_MAX];
      matrix_unpack(d, sum, V);
      for (size_t i = 0; i < d; i++) V[i * d + i] += 1;
      matrix_invert(d, V, inverse);
      matrix_square(d, policy->w, square);
      for (size_t i = 0; i < d; i++) {
        double theta = 0;
        for (size_t j = 0; j < d; j++) {
          assert_close(square[i * d + j], inverse[i * d + j], 1e-12);
          theta += inverse[i * d + j] * sum[faro_packed(d) + j];
        }
        assert_close(policy->theta[i], theta, 1e-11);
      }
      const double dd = (double)d;
      assert_close(policy->beta, sqrt(2 * log(2 / 0.1) + dd * log(1 + (double)t / dd)) + 1, 1e-12);
    }
    assert_int_equal(faro_updater_diagnose(l).updates, 50);
    assert_int_equal(faro_updater_diagnose(l).shifted, 0);
    faro_updater_destroy(l);
  }
}

/* Chowdhury & Zhou 2022, Lemmas A.2 and A.4 by hand, with the tail bounds computed in this file. */
static void test_linucb__published_radius_follows_the_noise(void **state) {
  (void)state;
  const size_t d = 4;
  double scale[14];
  for (int i = 0; i < 14; i++) scale[i] = 3;
  for (int gaussian = 0; gaussian < 2; gaussian++) {
    faro_updater_params p = paper(d);
    p.noise = (faro_noise){.scale = scale, .gaussian = gaussian == 1};
    faro_updater *l = make(&p);
    const double q = 0.1 / 4 / 1000;
    double gram = sqrt(2 * (4 * 9) * log(2 * 4 / q));
    if (gaussian) gram = fmin(gram, 2 * 3 * 2 + 2 * 3 * sqrt(log(2 / q)));
    const double t = log(1 / q);
    const double vector = 3 * sqrt(4 + 2 * sqrt(4 * t) + 2 * t);
    const double expected = sqrt(2 * log(20.0)) + sqrt(3 * gram) + vector / sqrt(gram); /* before any user */
    assert_close(faro_updater_policy(l)->beta, expected, 1e-10);
    faro_updater_destroy(l);
  }
}

static void test_linucb__published_region_is_shifted_if_indefinite(void **state) {
  (void)state;
  const faro_updater_params p = paper(3);
  faro_updater *l = make(&p);
  const double sum[9] = {[5] = -1000, [6] = 1, 1, 1};
  const faro_statistics s = {.sum = sum, .users = 10, .releases = 1};
  faro_updater_update(l, &s);
  /* V + shift I has least eigenvalue lambda_min = 1, so W's last row has length 1 */
  assert_close(faro_updater_policy(l)->w[faro_diagonal(2)], 1, 1e-6);
  assert_true(faro_updater_policy(l)->beta > sqrt(1000.0)); /* sqrt(lambda_max + shift) */
  assert_int_equal(faro_updater_diagnose(l).shifted, 1);
  faro_updater_destroy(l);
}

static void test_linucb__published_region_under_figure(void **state) {
  (void)state;
  faro_updater_params p = tight(5);
  p.horizon = 20000;
  p.norm = sqrt(2);
  p.calibration = FARO_CALIBRATION_FIGURE;
  p.noise.gamma = 567;
  faro_updater *l = make(&p);
  const double expected = sqrt(5.0) * sqrt(567.0) + 0.5 * sqrt(5 * log((1 + 20000 * 2 / 567.0) * 20000));
  assert_close(faro_updater_policy(l)->beta, expected, 1e-10);
  faro_updater_destroy(l);
  p.noise.gamma = 0; /* LinUCB: Gamma = 1 in the width */
  l = make(&p);
  assert_close(faro_updater_policy(l)->beta, sqrt(5.0) + 0.5 * sqrt(5 * log((1 + 20000 * 2) * 20000.0)),
               1e-10);
  faro_updater_destroy(l);
}

static void test_linucb__updates_allocate_nothing(void **state) {
  (void)state;
  const faro_updater_params p = tight(30);
  faro_updater *l = make(&p);
  double sum[495] = {0};
  const faro_statistics s = {.sum = sum, .users = 1, .releases = 1};
  alloc_reset();
  faro_updater_update(l, &s);
  sum[0] = -50; /* clipping too */
  faro_updater_update(l, &s);
  assert_int_equal(alloc_count(), 0);
  faro_updater_destroy(l);
}

static void test_create__refuses_bad_parameters_and_survives_exhaustion(void **state) {
  (void)state;
  const faro_learner_kind *kind = faro_learner_find("linucb");
  const struct {
    size_t d;
    double failure;
    const char *start;
  } bad[] = {{0, 0.1, "dimension must"},
             {1001, 0.1, "dimension must"},
             {3, 0, "failure must"},
             {3, 1, "failure must"},
             {3, (double)NAN, "failure must"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_updater_params p = tight(bad[i].d);
    p.failure = bad[i].failure;
    faro_updater *l = NULL;
    faro_error error = {0};
    assert_int_equal(faro_updater_create(&l, kind, &p, &error), FARO_INVALID);
    assert_memory_equal(error.message, bad[i].start, strlen(bad[i].start));
    assert_null(l);
  }
  const faro_updater_params p = tight(3);
  faro_updater *l = NULL;
  assert_survives_exhaustion(faro_updater_create(&l, kind, &p, error));
  faro_updater_destroy(l);
  faro_updater_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linucb__region_equals_the_naive_one),
      cmocka_unit_test(test_linucb__first_region_is_a_ball),
      cmocka_unit_test(test_linucb__indefinite_matrices_are_clipped_widened_and_counted),
      cmocka_unit_test(test_linucb__published_policy_equals_the_naive_one),
      cmocka_unit_test(test_linucb__published_radius_follows_the_noise),
      cmocka_unit_test(test_linucb__published_region_is_shifted_if_indefinite),
      cmocka_unit_test(test_linucb__published_region_under_figure),
      cmocka_unit_test(test_linucb__updates_allocate_nothing),
      cmocka_unit_test(test_create__refuses_bad_parameters_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
