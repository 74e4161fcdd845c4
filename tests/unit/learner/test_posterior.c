/* posterior: against a naive second implementation of docs/regret.md, `posterior`, written with
 * plain matrices; what it remembers; and what it refuses. */
#include <math.h>
#include <string.h>

#include "support/matrix.h"
#include "support/support.h"

enum { D_MAX = 8, LENGTH_MAX = D_MAX * (D_MAX + 3) / 2 };

static const double R = 0.5;

static faro_updater *make_until(size_t d, bool ends) {
  const faro_updater_params p = {.dimension = d,
                                 .horizon = 1000,
                                 .ends = ends,
                                 .releases = 10,
                                 .norm = 1,
                                 .failure = 0.1,
                                 .reward = R,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  faro_updater *l = NULL;
  assert_ok(faro_updater_create(&l, faro_learner_find("posterior"), &p, error));
  return l;
}

static faro_updater *make(size_t d) { return make_until(d, false); }

/* ---- the naive posterior */

typedef struct naive {
  size_t d;
  double J[D_MAX * D_MAX], r[D_MAX], excess;
} naive;

static naive prior(size_t d) { return (naive){.d = d}; }

/* Shrinks the lowest eigenvalues that noise alone explains. Returns kappa, and how many do not
 * belong to them. */
static double naive_shrink(size_t d, double *g, double s, size_t *out) {
  size_t k = d;
  double m = 0;
  for (;;) {
    m = 0;
    for (size_t i = d - k; i < d; i++) m += g[i];
    m /= (double)k;
    if (k > 1 && g[d - k] - m > s * sqrt(2.0 * (double)k)) k--; /* beyond the semicircle: signal */
    else break;
  }
  *out = d - k;
  const double degrees = (double)(k * (k + 1)) / 2 - 1;
  double scatter = 0;
  for (size_t i = d - k; i < d; i++) scatter += pow(g[i] - m, 2);
  const double rho = k > 1 ? fmin(1, s * s * degrees / scatter) : 0;
  for (size_t i = d - k; i < d; i++) {
    double to = m + (1 - rho) * (g[i] - m);
    if (to > g[i] && scatter > s * s * (degrees - 2)) to = g[i];
    const double square = to > 0 ? to * to - s * s * (1 - rho) - s * s * rho / (double)k : 0;
    g[i] = square > 0 ? sqrt(square) : 0;
  }
  if (k < d || k == 1) return 1;
  return fmin(1, fmax(1 - rho, sqrt(2 / degrees)));
}

/* A block with Gram matrix W, whose noise is s_W, of which s_G is counted against u. */
static void naive_add(naive *n, const double *W, const double *u, double s_W, double s_G, double s_u) {
  const size_t d = n->d;
  double g[D_MAX];
  double Q[D_MAX * D_MAX];
  matrix_eigen(d, W, g, Q);
  size_t out = 0;
  const double kappa = naive_shrink(d, g, s_W, &out);
  const double c0 = s_u * s_u + kappa * s_G * s_G / 2 * (1 + 1 / (double)d);
  double precision[D_MAX];
  double weight[D_MAX];
  for (size_t i = 0; i < d; i++) {
    const double c = c0 + R * R * g[i];
    precision[i] = g[i] * g[i] / c;
    weight[i] = g[i] / c;
    if (i < out) n->excess += s_W * s_W / 2 / c;
  }
  double more[D_MAX * D_MAX];
  double map[D_MAX * D_MAX];
  matrix_compose(d, precision, Q, more);
  matrix_compose(d, weight, Q, map);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) {
      n->J[i * d + j] += more[i * d + j];
      n->r[i] += map[i * d + j] * u[j];
    }
}

/* The covariance: the inverse of d + J less the excess, which is never below d. */
static void naive_covariance(const naive *n, double *covariance) {
  double g[D_MAX];
  double Q[D_MAX * D_MAX];
  matrix_eigen(n->d, n->J, g, Q);
  for (size_t i = 0; i < n->d; i++) g[i] = 1 / ((double)n->d + (g[i] > n->excess ? g[i] - n->excess : 0));
  matrix_compose(n->d, g, Q, covariance);
}

/* The scale of the sample, from the whole Gram matrix and its noise. Without statistics: 1. */
static double naive_beta(size_t d, const double *sum, double s_G) {
  double G[D_MAX * D_MAX];
  double g[D_MAX];
  double Q[D_MAX * D_MAX];
  double trace = 0;
  if (!sum) return 1;
  matrix_unpack(d, sum, G);
  matrix_eigen(d, G, g, Q);
  for (size_t i = 0; i < d; i++) trace += G[i * d + i];
  const double least = g[d - 1] - s_G * sqrt(2 * (double)d);
  return least < 0 ? 1 : 1 - least / (trace / (double)d);
}

static void assert_posterior(const faro_policy *policy, const naive *n, const double *sum, double s_G) {
  const size_t d = n->d;
  double covariance[D_MAX * D_MAX];
  double square[D_MAX * D_MAX];
  naive_covariance(n, covariance);
  matrix_square(d, policy->w, square);
  for (size_t i = 0; i < d; i++) {
    double theta = 0;
    for (size_t j = 0; j < d; j++) {
      theta += covariance[i * d + j] * n->r[j];
      assert_close(square[i * d + j], covariance[i * d + j], 1e-9);
    }
    assert_close(policy->theta[i], theta, 1e-8);
  }
  assert_int_equal(policy->rule, FARO_RULE_OPTIMIST);
  assert_close(policy->beta, naive_beta(d, sum, s_G), 1e-9);
}

/* ---- what releases publish */

static void add_person(size_t d, faro_sim_rng *sim, double *sum) {
  double x[D_MAX];
  double square = 0;
  for (size_t i = 0; i < d; i++) {
    x[i] = faro_sim_normal(sim) / (1 + (double)i); /* some directions are hardly explored */
    square += x[i] * x[i];
  }
  for (size_t i = 0; i < d; i++) x[i] /= sqrt(square);
  const double y = (x[0] > 0 ? 0.3 : -0.2) + 0.4 * (faro_sim_uniform(sim) - 0.5);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) *sum++ += x[i] * x[j];
  for (size_t i = 0; i < d; i++) *sum++ += x[i] * y;
}

/* Noise like that of weighed contributions: s_G on the diagonal, s_G / sqrt(2) beside it, s_u in x
 * y. */
typedef struct sums {
  double sum[LENGTH_MAX], scale[LENGTH_MAX];
} sums;

static void fill(sums *s, size_t d, int people, double s_G, double s_u, faro_sim_rng *sim) {
  *s = (sums){{0}, {0}};
  for (int k = 0; k < people; k++) add_person(d, sim, s->sum);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) s->scale[faro_packed(i) + j] = i == j ? s_G : s_G / sqrt(2);
  for (size_t i = 0; i < d; i++) s->scale[faro_packed(d) + i] = s_u;
  for (size_t i = 0; i < faro_packed(d) + d; i++) s->sum[i] += s->scale[i] * faro_sim_normal(sim);
}

/* A batch of n of N people so far. W is between its G and what the others would have made of it, F;
 * each counts by the inverse of its variance, F's with what noise and chance leave unexplained. */
static void naive_batch(naive *n, const sums *block, const sums *total, double people, double all,
                        const double *theta) {
  const size_t d = n->d;
  double G[D_MAX * D_MAX];
  double T[D_MAX * D_MAX];
  double W[D_MAX * D_MAX];
  double u[D_MAX];
  const double s_G = block->scale[0];
  const double ratio = people / (all - people);
  double weight = 1;
  matrix_unpack(d, block->sum, G);
  matrix_unpack(d, total->sum, T);
  if (all > people) {
    const double entries = (double)(d * (d + 1)) / 2;
    const double own = s_G * s_G;
    const double others = (pow(total->scale[0], 2) - own) * ratio * ratio;
    double distance = 0;
    double chance = 0;
    for (size_t i = 0; i < d * d; i++) distance += pow(G[i] - ratio * (T[i] - G[i]), 2);
    for (size_t i = 0; i < d; i++) chance += fmax(0, G[i * d + i] + ratio * (T[i * d + i] - G[i * d + i]));
    const double expected = (own + others) * (entries + sqrt(2 * entries)) + chance;
    const double change = distance > expected ? (distance - expected) / entries : 0;
    weight = 1 / own / (1 / own + 1 / (others + change));
  }
  for (size_t i = 0; i < d * d; i++)
    W[i] = weight * G[i] + (weight < 1 ? (1 - weight) * ratio * (T[i] - G[i]) : 0);
  for (size_t i = 0; i < d; i++) {
    u[i] = block->sum[faro_packed(d) + i];
    for (size_t j = 0; j < d; j++) u[i] += (W[i * d + j] - G[i * d + j]) * theta[j];
  }
  naive_add(n, W, u, s_G * sqrt(weight), s_G, block->scale[faro_packed(d)]);
}

/* Batches with noise of their own add up. Broken once: kappa 1 everywhere; (k - 1)(k + 2) without
 * its half; the mean of all eigenvalues in place of the bulk's; weight 1; G - W on nothing; no
 * excess. */
static void test_posterior__batches_equal_the_naive_ones(void **state) {
  (void)state;
  const int people[] = {50, 50, 100, 200, 200, 200, 50, 50, 500, 500};
  enum { BATCHES = sizeof people / sizeof *people };
  faro_sim_rng sim;
  faro_sim_open(&sim, 31, 0, FARO_ROLE_CONTEXT);
  for (size_t d = 1; d <= D_MAX; d++)
    for (double s_G = 0.5; s_G < 200; s_G *= 4) {
      faro_updater *l = make(d);
      naive n = prior(d);
      assert_posterior(faro_updater_policy(l), &n, NULL, 0);
      sums total = {{0}, {0}};
      uint64_t all = 0;
      for (int t = 0; t < BATCHES; t++) {
        sums s;
        double theta[D_MAX];
        fill(&s, d, people[t], s_G, 0.7 * s_G, &sim);
        for (size_t i = 0; i < LENGTH_MAX; i++) {
          total.sum[i] += s.sum[i];
          total.scale[i] = hypot(total.scale[i], s.scale[i]);
        }
        all += (uint64_t)people[t];
        memcpy(theta, faro_updater_policy(l)->theta, d * sizeof *theta);
        const faro_statistics published = {.sum = total.sum,
                                           .users = all,
                                           .noise = {.scale = total.scale},
                                           .block = s.sum,
                                           .block_users = (uint64_t)people[t],
                                           .block_noise = {.scale = s.scale}};
        faro_updater_update(l, &published);
        naive_batch(&n, &s, &total, people[t], (double)all, theta);
        assert_posterior(faro_updater_policy(l), &n, total.sum, total.scale[0]);
      }
      faro_updater_destroy(l);
    }
}

/* Where the noise of sums is correlated, the newest sum replaces the ones before. A ratio turns
 * scales into standard deviations. */
static void test_posterior__running_sums_equal_the_naive_one(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 32, 0, FARO_ROLE_CONTEXT);
  for (size_t d = 1; d <= D_MAX; d++) {
    faro_updater *l = make(d);
    for (int t = 1; t <= 8; t++) {
      sums s;
      fill(&s, d, 60 * t, 3 + t, 2, &sim);
      const faro_statistics published = {
          .sum = s.sum, .users = 60 * (uint64_t)t, .noise = {.scale = s.scale, .ratio = 0.8}};
      faro_updater_update(l, &published);
      naive n = prior(d);
      double G[D_MAX * D_MAX];
      matrix_unpack(d, s.sum, G);
      naive_add(&n, G, s.sum + faro_packed(d), 0.8 * (3 + t), 0.8 * (3 + t), 0.8 * 2);
      assert_posterior(faro_updater_policy(l), &n, s.sum, 0.8 * (3 + t));
    }
    faro_updater_destroy(l);
  }
}

/* Without noise it is Bayesian regression: precision d I + G / R^2, mean from u / R^2. */
static void test_posterior__without_noise_is_bayesian_regression(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 33, 0, FARO_ROLE_CONTEXT);
  for (size_t d = 1; d <= D_MAX; d++) {
    faro_updater *l = make(d);
    double sum[LENGTH_MAX] = {0};
    for (int t = 1; t <= 30; t++) {
      add_person(d, &sim, sum);
      faro_updater_update(l, &(faro_statistics){.sum = sum});
      naive n = prior(d);
      double G[D_MAX * D_MAX];
      matrix_unpack(d, sum, G);
      for (size_t i = 0; i < d * d; i++) n.J[i] += G[i] / (R * R);
      for (size_t i = 0; i < d; i++) n.r[i] = sum[faro_packed(d) + i] / (R * R);
      assert_posterior(faro_updater_policy(l), &n, sum, 0);
    }
    faro_updater_destroy(l);
  }
}

/* Where the horizon is known, the sample's variance falls with the people still to come: 1000, 750,
 * 500, 250, none. Nothing else changes. */
static void test_posterior__explores_for_those_to_come(void **state) {
  (void)state;
  enum { D = 4 };
  faro_sim_rng sim;
  faro_sim_open(&sim, 36, 0, FARO_ROLE_CONTEXT);
  faro_updater *one = make_until(D, true);
  faro_updater *two = make(D);
  assert_true(faro_updater_policy(one)->beta == 1);
  for (int t = 1; t <= 4; t++) {
    sums s;
    fill(&s, D, 250, 1, 1, &sim);
    const faro_statistics published = {.sum = s.sum, .users = 250 * (uint64_t)t, .noise = {.scale = s.scale}};
    faro_updater_update(one, &published);
    faro_updater_update(two, &published);
    const double beta = faro_updater_policy(two)->beta;
    assert_true(beta > 0);
    assert_close(pow(faro_updater_policy(one)->beta / beta, 2), 1 - 0.25 * t, 1e-12);
    assert_memory_equal(faro_updater_policy(one)->theta, faro_updater_policy(two)->theta, D * sizeof(double));
  }
  faro_updater_destroy(one);
  faro_updater_destroy(two);
}

/* A Gram matrix of noise alone adds next to nothing: its eigenvalues, positive and negative, are
 * shrunk to their mean. */
static void test_posterior__noise_alone_teaches_nothing(void **state) {
  (void)state;
  enum { D = 8, TRIALS = 200 };
  faro_sim_rng sim;
  faro_sim_open(&sim, 34, 0, FARO_ROLE_CONTEXT);
  double moved = 0;
  for (int t = 0; t < TRIALS; t++) {
    faro_updater *l = make(D);
    sums s;
    fill(&s, D, 0, 100, 100, &sim);
    const faro_statistics published = {.sum = s.sum, .users = 100, .noise = {.scale = s.scale}};
    faro_updater_update(l, &published);
    double square = 0;
    for (size_t i = 0; i < D; i++) square += pow(faro_updater_policy(l)->theta[i], 2);
    moved = fmax(moved, sqrt(square));
    faro_updater_destroy(l);
  }
  assert_true(moved < 0.5); /* the prior's length is 1 */
}

/* Its memory is all that another one needs to go on, bit by bit. */
static void test_posterior__memory_is_all_that_it_knows(void **state) {
  (void)state;
  enum { D = 4 };
  faro_sim_rng sim;
  faro_sim_open(&sim, 35, 0, FARO_ROLE_CONTEXT);
  faro_updater *one = make(D);
  faro_updater *two = make(D);
  sums s;
  faro_statistics published = {
      .sum = s.sum, .noise = {.scale = s.scale}, .block = s.sum, .block_noise = {.scale = s.scale}};
  for (int t = 0; t < 5; t++) {
    fill(&s, D, 100, 2, 1, &sim);
    published.block_users = t < 2 ? 50 : 100;
    published.users += published.block_users;
    faro_updater_update(one, &published);
  }
  double *from;
  double *to;
  const size_t count = faro_updater_memory(one, &from);
  assert_int_equal(count, D * (D + 3) + 6);
  assert_int_equal(faro_updater_memory(two, &to), count);
  memcpy(to, from, count * sizeof *to);
  published.block = NULL; /* a release that was loaded knows no last batch */
  faro_updater_resume(two, &published);
  for (int t = 0; t < 3; t++) {
    const faro_policy *a = faro_updater_policy(one);
    const faro_policy *b = faro_updater_policy(two);
    assert_memory_equal(a->theta, b->theta, D * sizeof *a->theta);
    assert_memory_equal(a->w, b->w, D * (D + 1) / 2 * sizeof *a->w);
    assert_true(a->beta == b->beta);
    fill(&s, D, 100, 2, 1, &sim);
    published.block = s.sum;
    faro_updater_update(one, &published);
    faro_updater_update(two, &published);
  }
  faro_updater_destroy(one);
  faro_updater_destroy(two);
}

static void test_posterior__updates_allocate_nothing(void **state) {
  (void)state;
  enum { D = 6 };
  faro_sim_rng sim;
  faro_sim_open(&sim, 36, 0, FARO_ROLE_CONTEXT);
  faro_updater *l = make(D);
  sums s;
  fill(&s, D, 10, 5, 5, &sim);
  alloc_reset();
  faro_updater_update(l, &(faro_statistics){.sum = s.sum, .users = 10, .noise = {.scale = s.scale}});
  assert_int_equal(alloc_count(), 0);
  faro_updater_destroy(l);
}

static void test_create__refuses_figure_and_survives_exhaustion(void **state) {
  (void)state;
  const faro_learner_kind *kind = faro_learner_find("posterior");
  faro_updater_params p = {.dimension = 3,
                           .horizon = 10,
                           .releases = 10,
                           .norm = 1,
                           .failure = 0.1,
                           .reward = 1,
                           .calibration = FARO_CALIBRATION_FIGURE};
  faro_updater *l = NULL;
  faro_error refusal = {0};
  assert_int_equal(faro_updater_create(&l, kind, &p, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "figure"));
  assert_null(l);
  p.calibration = FARO_CALIBRATION_TIGHT;
  assert_survives_exhaustion(faro_updater_create(&l, kind, &p, error));
  faro_updater_destroy(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_posterior__batches_equal_the_naive_ones),
      cmocka_unit_test(test_posterior__running_sums_equal_the_naive_one),
      cmocka_unit_test(test_posterior__without_noise_is_bayesian_regression),
      cmocka_unit_test(test_posterior__explores_for_those_to_come),
      cmocka_unit_test(test_posterior__noise_alone_teaches_nothing),
      cmocka_unit_test(test_posterior__memory_is_all_that_it_knows),
      cmocka_unit_test(test_posterior__updates_allocate_nothing),
      cmocka_unit_test(test_create__refuses_figure_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
