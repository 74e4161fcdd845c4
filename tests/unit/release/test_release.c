/* release: what every registered release must guarantee, and what each claims. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faro/doubling.h>

#include "release/bits.h"
#include "release/real.h"
#include "release/response.h"
#include "release/shares.h"
#include "release/shuffler.h"
#include "support/support.h"

enum { D = 3, LENGTH = 9 };

static faro_release_params params(faro_calibration calibration) {
  return (faro_release_params){
      .epsilon = 2, .delta = 1e-3, .horizon = 1000, .batch = 10, .calibration = calibration};
}

/* The stream that releases draw from by default. */
static faro_sim_rng noise;
static faro_source simulated(void) { return faro_source_simulated(&noise); }

static faro_release *make_from(size_t kind, const faro_release_params *p, faro_source source) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  assert_ok(faro_release_create(&r, faro_release_kind_at(kind), &c, p, source, error));
  return r;
}

static faro_release *make(size_t kind, const faro_release_params *p) {
  return make_from(kind, p, simulated());
}

static double draw_user(faro_sim_rng *sim, double x[static D]) {
  for (int i = 0; i < D; i++) x[i] = faro_sim_uniform(sim) - 0.5;
  return faro_sim_uniform(sim);
}

/* Noise that needs no delta for users who come once. */
static bool is_pure(const faro_release *r) {
  const faro_release_kind *kind = faro_release_kind_of(r);
  return kind == &faro_release_central_laplace || kind == &faro_release_local_laplace ||
         kind == &faro_release_local_response;
}

/* Scale of the first entry of the last sum; 0 without noise. */
static double scale_of(const faro_release *r) {
  const double *scale = faro_release_noise(r).scale;
  return scale ? *scale : 0;
}

/* Runs `body` on every release under every calibration it offers. */
static void for_all(void (*body)(size_t kind, faro_calibration calibration)) {
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
      if (faro_release_kind_calibrates(faro_release_kind_at(k), (faro_calibration)c))
        body(k, (faro_calibration)c);
}

static void run_twice(size_t kind, faro_calibration calibration) {
  const faro_release_params p = params(calibration);
  double seen[2][LENGTH];
  for (int run = 0; run < 2; run++) {
    faro_release *r = make(kind, &p);
    faro_sim_rng data;
    faro_sim_open(&data, 5, 0, FARO_ROLE_CONTEXT);
    faro_sim_open(&noise, 5, 0, FARO_ROLE_USER);
    double x[D];
    for (int t = 0; t < 300; t++) {
      const double y = draw_user(&data, x);
      (void)faro_release_absorb(r, x, y);
    }
    memcpy(seen[run], faro_release_statistics(r).sum, sizeof seen[run]);
    faro_release_destroy(r);
  }
  assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
}

static void test_all__deterministic_in_the_seed(void **state) {
  (void)state;
  for_all(run_twice);
}

static void count_batches(size_t kind, faro_calibration calibration) {
  faro_release_params p = params(calibration);
  p.horizon = 57; /* five batches of ten, and seven users who are never published */
  faro_release *r = make(kind, &p);
  faro_sim_open(&noise, 6, 0, FARO_ROLE_USER);
  const double x[D] = {0};
  double last[LENGTH];
  for (uint64_t t = 1; t <= 60; t++) {
    const bool out = faro_release_absorb(r, x, 0);
    assert_int_equal(out, t <= 50 && t % 10 == 0);
    const faro_statistics s = faro_release_statistics(r);
    assert_int_equal(s.users, t >= 50 ? 50 : t / 10 * 10);
    assert_int_equal(s.releases, s.users / 10);
    if (t == 50) memcpy(last, s.sum, sizeof last);
  }
  assert_memory_equal(last, faro_release_statistics(r).sum, sizeof last);
  faro_release_destroy(r);
}

static void test_all__publish_whole_batches_only(void **state) {
  (void)state;
  for_all(count_batches);
}

static void count_allocations(size_t kind, faro_calibration calibration) {
  const faro_release_params p = params(calibration);
  faro_release *r = make(kind, &p);
  faro_sim_open(&noise, 7, 0, FARO_ROLE_USER);
  const double x[D] = {0};
  alloc_reset();
  for (int t = 0; t < 500; t++) (void)faro_release_absorb(r, x, 0);
  assert_int_equal(alloc_count(), 0);
  faro_release_destroy(r);
}

static void test_all__allocate_nothing_after_creation(void **state) {
  (void)state;
  for_all(count_allocations);
}

static void exhaust_memory(size_t kind, faro_calibration calibration) {
  const faro_release_params p = params(calibration);
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  for (size_t n = 1; n < 60; n++) {
    faro_release *r = NULL;
    faro_error error = {0};
    alloc_fail_at(n);
    const faro_status status =
        faro_release_create(&r, faro_release_kind_at(kind), &c, &p, simulated(), &error);
    alloc_reset();
    if (status == FARO_OK) {
      faro_release_destroy(r);
      assert_true(n > 4);
      return;
    }
    assert_int_equal(status, FARO_MEMORY);
    assert_null(r);
  }
  fail_msg("creation never succeeded");
}

static void test_all__survive_exhausted_memory(void **state) {
  (void)state;
  for_all(exhaust_memory);
}

static void refuse_bad(size_t kind, faro_calibration calibration) {
  const struct {
    double epsilon, delta;
    uint64_t horizon, batch;
    const char *names;
  } bad[] = {{0, 0.1, 100, 10, "epsilon"},
             {-1, 0.1, 100, 10, "epsilon"},
             {(double)NAN, 0.1, 100, 10, "epsilon"},
             {1e9, 0.1, 100, 10, "epsilon"},
             {1, 0, 100, 10, "delta"},
             {1, 1, 100, 10, "delta"},
             {1, (double)NAN, 100, 10, "delta"},
             {1, 0.1, 0, 0, "horizon"},
             {1, 0.1, UINT64_MAX, 10, "horizon"},
             {1, 0.1, 100, 101, "batch"}};
  const faro_release_kind *k = faro_release_kind_at(kind);
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (k->trust == FARO_TRUST_NONE && (*bad[i].names == 'e' || *bad[i].names == 'd')) continue;
    const faro_release_params p = {.epsilon = bad[i].epsilon,
                                   .delta = bad[i].delta,
                                   .horizon = bad[i].horizon,
                                   .batch = bad[i].batch,
                                   .calibration = calibration};
    faro_release *r = NULL;
    faro_error error = {0};
    assert_int_equal(faro_release_create(&r, k, &c, &p, simulated(), &error), FARO_INVALID);
    assert_int_equal(strncmp(error.message, bad[i].names, strlen(bad[i].names)), 0);
    assert_null(r);
  }
}

static void test_all__refuse_parameters_by_name(void **state) {
  (void)state;
  for_all(refuse_bad);
}

/* The claim is what was asked for, and nothing is proven under the constants of the figures. */
static void read_claim(size_t kind, faro_calibration calibration) {
  const faro_release_params p = params(calibration);
  faro_release *r = make(kind, &p);
  const faro_claim *claim = faro_release_claim(r);
  assert_int_equal(claim->trust, faro_release_kind_at(kind)->trust);
  assert_true(claim->by[0] != '\0');
  if (claim->trust == FARO_TRUST_NONE) {
    assert_false(claim->proven);
    assert_string_equal(faro_claim_standing(claim), "no privacy");
  } else {
    assert_true(claim->epsilon == p.epsilon && claim->delta == (is_pure(r) ? 0 : p.delta));
    if (calibration == FARO_CALIBRATION_TIGHT) assert_string_equal(faro_claim_standing(claim), "proven");
    if (calibration == FARO_CALIBRATION_FIGURE) assert_string_equal(faro_claim_standing(claim), "not proven");
  }
  faro_release_destroy(r);
}

static void test_all__claims_are_what_was_asked_for(void **state) {
  (void)state;
  for_all(read_claim);
}

/* ---- returning users */

static double scale_at(size_t kind, faro_calibration calibration, uint64_t contributions) {
  faro_release_params p = params(calibration);
  p.level = FARO_LEVEL_USER;
  p.contributions = contributions;
  faro_release *r = make(kind, &p);
  const faro_claim *claim = faro_release_claim(r);
  assert_int_equal(claim->level, FARO_LEVEL_USER);
  assert_int_equal(claim->contributions, contributions ? contributions : 1);
  if (claim->trust != FARO_TRUST_NONE && calibration == FARO_CALIBRATION_TIGHT) assert_true(claim->proven);
  const double scale = scale_of(r);
  faro_release_destroy(r);
  return scale;
}

/* Tenenbaum et al. 2023 and Hanna et al. 2022 have no theorem for users who return. */
static bool no_theorem(size_t kind, faro_calibration calibration) {
  const char *name = faro_release_kind_at(kind)->name;
  return calibration == FARO_CALIBRATION_PAPER &&
         (strcmp(name, "concurrent-bits") == 0 || strcmp(name, "shuffle-laplace") == 0);
}

/* One round of a user is an event. More rounds need more noise, at most as much as group privacy
 * would. And nobody is in more batches than exist (100 here). */
static void check_users(size_t kind, faro_calibration calibration) {
  if (calibration == FARO_CALIBRATION_FIGURE) {
    faro_release_params p = params(calibration);
    p.level = FARO_LEVEL_USER;
    faro_contribution c;
    faro_release *r = NULL;
    assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
    faro_error error = {0};
    assert_int_equal(faro_release_create(&r, faro_release_kind_at(kind), &c, &p, simulated(), &error),
                     FARO_INVALID);
    assert_int_equal(strncmp(error.message, "level must be event under calibration figure", 44), 0);
    return;
  }
  if (no_theorem(kind, calibration)) return;
  const faro_release_params p = params(calibration);
  faro_release *event = make(kind, &p);
  const double once = scale_of(event);
  const bool none = faro_release_claim(event)->trust == FARO_TRUST_NONE;
  faro_release_destroy(event);
  assert_true(scale_at(kind, calibration, 0) == once && scale_at(kind, calibration, 1) == once);
  double last = once;
  for (uint64_t m0 = 2; m0 <= 100; m0 *= 3) {
    const double scale = scale_at(kind, calibration, m0);
    assert_true(none ? scale == 0 : scale > last);
    if (calibration == FARO_CALIBRATION_TIGHT) assert_true(scale <= (double)m0 * once * (1 + 1e-9));
    last = scale;
  }
  assert_true(scale_at(kind, calibration, 100) == scale_at(kind, calibration, 100000));
}

static void test_all__returning_users_get_the_noise_they_need(void **state) {
  (void)state;
  for_all(check_users);
}

static faro_release *make_named(const char *name, const faro_release_params *p);

/* k mechanisms of (e, d) each, exactly (Kairouz, Oh, Viswanath 2015, Theorem 3.3). */
static double kairouz(double e, double d, int k, double epsilon) {
  double sum = 0;
  for (int l = 0; l <= k; l++) {
    const double choose = lgamma(k + 1) - lgamma(l + 1) - lgamma(k - l + 1) - k * log1p(exp(e));
    sum += fmax(0, exp(choose + (k - l) * e) - exp(choose + epsilon + l * e));
  }
  return 1 - pow(1 - d, k) * (1 - sum);
}

/* The Gaussian behind a release is within its claim, uses most of it, and costs less for smaller
 * moves. */
static void test_gaussian__is_what_the_claim_rests_on(void **state) {
  (void)state;
  check_test();
  faro_contribution form[3];
  assert_ok(faro_contribution_init(&form[0], D, 1, 0, 1, error));
  assert_ok(faro_contribution_gram(&form[1], D, 0.5, error));
  assert_ok(faro_contribution_ball(&form[2], D, 2, error));
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int f = 0; f < 3; f++)
      for (uint64_t times = 1; times <= 4; times += 3) {
        const faro_release_kind *kind = faro_release_kind_at(k);
        faro_release_params p = params(FARO_CALIBRATION_TIGHT);
        p.level = FARO_LEVEL_USER;
        p.contributions = times;
        faro_release *r = NULL;
        if (!faro_release_kind_calibrates(kind, p.calibration)) continue;
        assert_ok(faro_release_create(&r, kind, &form[f], &p, simulated(), error));
        double mu = 0;
        double slack = 0;
        const bool known = faro_release_gaussian(r, 1, &mu, &slack);
        assert_int_equal(known, strncmp(kind->name, "central", 7) == 0
                                    ? strcmp(kind->name, "central-laplace") != 0
                                    : strstr(kind->name, "bits") != NULL);
        if (known) {
          const double delta = faro_gaussian_delta(mu, p.epsilon) + slack;
          assert_true(delta <= p.delta * (1 + 1e-9));
          assert_true(delta > 0.9 * p.delta);
          double half = 0;
          assert_true(faro_release_gaussian(r, 0.5, &half, &slack));
          assert_true(half >= mu / 2 * (1 - 1e-9) && half < 0.55 * mu);
        }
        faro_release_destroy(r);
      }
}

/* Shares of batches: the paper's by its formula, the accountant's as large as exact composition
 * allows. */
static void test_shares__compose_to_the_claim(void **state) {
  (void)state;
  for (int k = 2; k <= 100; k *= 3) {
    faro_release_params p = params(FARO_CALIBRATION_TIGHT);
    p.level = FARO_LEVEL_USER;
    p.contributions = (uint64_t)k;
    faro_release *r = make_named("local", &p);
    const faro_budget advanced = faro_advanced_share(r);
    assert_close(advanced.epsilon, p.epsilon / (2 * sqrt(2 * k * log(2 / p.delta))), 1e-15);
    assert_close(advanced.delta, p.delta / (2 * k), 1e-18);
    const faro_budget composed = faro_composed_share(r);
    assert_true(kairouz(composed.epsilon, composed.delta, k, p.epsilon) <= p.delta);
    assert_true(kairouz(composed.epsilon * 1.001, composed.delta, k, p.epsilon) > p.delta);
    assert_true(composed.epsilon > advanced.epsilon); /* the accountant is better */
    faro_release_destroy(r);
  }
}

/* What amplification gives for M0 batches, recomputed: some split of delta takes the local
 * randomizers' privacy to the share of a batch. It is less noise than without a shuffler. */
static void test_amplified__returning_users_are_amplified_too(void **state) {
  (void)state;
  const faro_release_params p = {.epsilon = 1,
                                 .delta = 1e-6,
                                 .horizon = 100000,
                                 .batch = 5000,
                                 .level = FARO_LEVEL_USER,
                                 .contributions = 4,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  faro_release *r = make_named("shuffle-gaussian", &p);
  faro_release *local = make_named("local-gaussian", &p);
  assert_true(scale_of(r) < 0.7 * scale_of(local));
  const double mu = r->contribution.sensitivity / r->unit[0];
  const faro_budget each = faro_composed_share(r);
  double best = INFINITY;
  for (double delta0 = each.delta / 5000; delta0 > each.delta / 1e8; delta0 /= 2) {
    const double epsilon0 = faro_gaussian_epsilon(mu, delta0);
    best = fmin(best, faro_shuffle_epsilon(epsilon0, delta0, 5000, each.delta));
  }
  print_message("  a batch spends %.5f of %.5f\n", best, each.epsilon);
  assert_true(best <= each.epsilon * (1 + 1e-6) && best > 0.9 * each.epsilon);
  faro_release_destroy(r);
  faro_release_destroy(local);
}

static bool proven(const char *name, double epsilon, double delta, uint64_t batch) {
  faro_release_params p = {.epsilon = epsilon,
                           .delta = delta,
                           .horizon = 20000,
                           .batch = batch,
                           .calibration = FARO_CALIBRATION_PAPER};
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, 5, 1, 0, 1, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), &c, &p, simulated(), error));
  const bool result = faro_release_claim(r)->proven;
  faro_release_destroy(r);
  return result;
}

static void test_paper__claims_end_where_the_theorems_end(void **state) {
  (void)state;
  assert_true(proven("local", 1, 0.1, 1));
  assert_true(proven("local", 10, 0.1, 1));
  assert_false(proven("local", 100, 0.1, 1)); /* the noise formula is too optimistic for large epsilon */
  assert_true(proven("central-tree", 10, 0.1, 1));
  assert_false(proven("central-tree", 1000, 0.1, 1));
  assert_true(proven("shuffle-bits", 15, 0.1, 20));
  assert_false(proven("shuffle-bits", 15.1, 0.1, 20));
  assert_false(proven("shuffle-bits", 1, 0.5, 20));
  for (double epsilon = 0.001; epsilon < 20; epsilon *= 3) /* O(epsilon, delta) is not a guarantee */
    assert_false(proven("shuffle-amplified", epsilon, 1e-6, 5000));
}

/* The amplification lemma with the theorem's own parameters gives more than was asked for. */
static void test_closed_form__matches_a_hand_computation(void **state) {
  (void)state;
  double epsilon = 0;
  double delta = 0;
  assert_true(faro_shuffle_closed_form(1, 0, 100000, 1e-6, &epsilon, &delta));
  const double e = exp(1.0);
  const double expected = log(1 + (e - 1) / (e + 1) * (8 * sqrt(e * log(4e6)) / sqrt(1e5) + 8 * e / 1e5));
  assert_close(epsilon, expected, 1e-15);
  assert_close(delta, 1e-6, 1e-18);
  assert_true(faro_shuffle_closed_form(4, 0, 100000, 1e-6, &epsilon, &delta));
  assert_close(epsilon, 0.535, 0.0005);
  assert_true(faro_shuffle_closed_form(4, 1e-12, 100000, 1e-6, &epsilon, &delta));
  assert_close(delta, 1e-6 + (exp(epsilon) + 1) * (1 + exp(-4.0) / 2) * 1e-7, 1e-15);
  assert_false(faro_shuffle_closed_form(1, 0, 20, 0.05, &epsilon, &delta)); /* 20 / (16 ln 40) < 1 */
}

/* Without noise, and where all people of a batch are alike, the statistics name the one direction
 * by which the sums grew; and never under noise. Broken once: the rewards not summed. */
static void test_noise__none_names_what_one_direction_added(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    faro_contribution c;
    faro_sim_rng sim;
    faro_release *r = NULL;
    assert_ok(faro_contribution_init(&c, 2, 1, 0, 1, error));
    faro_sim_open(&sim, 3, 0, FARO_ROLE_USER);
    const faro_release_params params = {
        .epsilon = 1, .delta = 1e-6, .horizon = 6000, .batch = 2000, .calibration = FARO_CALIBRATION_TIGHT};
    if (faro_release_create(&r, kind, &c, &params, faro_source_simulated(&sim), NULL) != FARO_OK) continue;
    const bool none = kind->trust == FARO_TRUST_NONE;
    assert_null(faro_release_statistics(r).more);
    const double x[2][2] = {{1, 0}, {2, 0}}; /* the second one is scaled back to the first */
    double before[5] = {0};
    for (int batch = 0; batch < 3; batch++) {
      for (int i = 0; i < 2000; i++) {
        const double other[2] = {0.5, 0.5};
        (void)faro_release_absorb(r, batch == 1 && i == 7 ? other : x[i % 2], i % 3 == 0 ? 2 : 0.25);
      }
      const faro_statistics now = faro_release_statistics(r);
      assert_true((now.more != NULL) == (none && batch != 1));
      for (size_t i = 0, entry = 0; now.more && i < 2; i++) {
        for (size_t j = 0; j <= i; j++, entry++)
          assert_close(now.sum[entry] - before[entry], now.more[i] * now.more[j], 1e-9);
        assert_close(now.sum[3 + i] - before[3 + i], now.more[i] * now.more_y, 1e-9);
        assert_int_equal(now.more_users, 2000);
      }
      memcpy(before, now.sum, sizeof before);
    }
    faro_release_destroy(r);
  }
}

/* Some people have the features of the one before them. Broken once: only the first feature
 * compared. */
static void test_noise__none_is_exact_under_every_schedule(void **state) {
  (void)state;
  for (uint64_t batch = 1; batch <= 7; batch++) {
    const faro_release_params p = {
        .epsilon = 1, .delta = 0.1, .horizon = 100, .batch = batch, .calibration = FARO_CALIBRATION_PAPER};
    faro_release *r = make(0, &p);
    faro_sim_rng data;
    faro_sim_open(&data, 8, 0, FARO_ROLE_CONTEXT);
    double x[D], before[D] = {0};
    double z[LENGTH];
    double total[LENGTH] = {0};
    for (uint64_t t = 1; t <= 98; t++) {
      const double y = draw_user(&data, x);
      memcpy(x, before, t % 3 == 0 ? sizeof x : t % 3 == 1 ? sizeof *x : 0);
      memcpy(before, x, sizeof x);
      faro_contribution_make(&r->contribution, x, y, z);
      for (int i = 0; i < LENGTH; i++) total[i] += z[i];
      if (faro_release_absorb(r, x, y))
        for (int i = 0; i < LENGTH; i++) assert_close(faro_release_statistics(r).sum[i], total[i], 1e-12);
    }
    faro_release_destroy(r);
  }
}

/* "Shariff & Sheffet 2018": an entry with Shariff and, soon after, 2018. */
static bool is_listed(const char *references, const char *cite) {
  char surname[40];
  snprintf(surname, sizeof surname, "%.*s", (int)strcspn(cite, " ,"), cite);
  const char *year = cite + strlen(cite) - 4;
  for (const char *at = references; (at = strstr(at, surname)); at++) {
    const char *end = strstr(at, year);
    if (end && end - at < 300) return true;
  }
  return false;
}

/* A row states what it needs: a shuffler if users hide among each other, a paper listed in
 * docs/references.md. */
static void test_kinds__rows_are_complete(void **state) {
  (void)state;
  static char references[1 << 16];
  FILE *file = fopen("docs/references.md", "r");
  assert_non_null(file);
  assert_true(fread(references, 1, sizeof references - 1, file) > 0);
  fclose(file);
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    const bool hides = kind->trust == FARO_TRUST_SHUFFLE || kind->trust == FARO_TRUST_CONCURRENT;
    assert_true(*kind->name && *kind->summary && kind->least_batch == (hides ? 2 : 1));
    if (hides) assert_non_null(kind->mechanism->mix);
    if (kind->shape) assert_true(kind->mechanism == &faro_mechanism_bits);
    if (kind->trust == FARO_TRUST_NONE) continue;
    assert_true(is_listed(references, kind->cite));
  }
  assert_null(faro_release_kind_at(faro_release_kinds()));
}

/* ---- sources */

static bool is_exact(const char *name) {
  const char *const other[] = {
      "central-tree",     "local",           "local-gaussian", "local-response", "shuffle-amplified",
      "shuffle-gaussian", "shuffle-response"};
  for (size_t i = 0; i < sizeof other / sizeof *other; i++)
    if (strcmp(name, other[i]) == 0) return true;
  return strstr(name, "-bits") != NULL;
}

static void test_source__deployment_takes_exact_noise_only(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  faro_contribution c;
  const faro_release_params p = params(FARO_CALIBRATION_TIGHT);
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  const faro_source deployed[] = {faro_source_client(secure), faro_source_server(secure),
                                  faro_source_all_parties(secure)};
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int i = 0; i < 3; i++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      faro_release *r = NULL;
      faro_error refusal = {0};
      const bool exact = is_exact(kind->name);
      const bool alone = kind == &faro_release_central_factored && i == 2; /* one process plays all */
      const faro_status status = faro_release_create(&r, kind, &c, &p, deployed[i], &refusal);
      assert_int_equal(faro_release_kind_exact(kind), exact);
      assert_int_equal(status, exact || alone ? FARO_OK : FARO_INVALID);
      if (status != FARO_OK)
        assert_non_null(strstr(
            refusal.message,
            kind == &faro_release_central_factored ? "only where one process plays all parties"
            : kind->trust == FARO_TRUST_NONE       ? "none adds no noise, so it is for simulation only"
                                             : "adds floating-point noise, so it is for simulation only"));
      const double x[D] = {0};
      uint64_t message[LENGTH * 8];
      if (r) assert_ok(faro_release_randomize(r, x, 0, message, error));
      faro_release_destroy(r);
    }
  faro_secure_close(secure);
}

static void test_source__deployable_names_are_those_of_exact_kinds(void **state) {
  (void)state;
  const char *names[FARO_RELEASES_MAX];
  const size_t count = faro_release_deployable(names);
  assert_int_equal(count, 11);
  for (size_t i = 0; i < count; i++) assert_true(is_exact(names[i]));
}

/* It answers every question like any other release of its kind, and does nothing. */
static void ask_only(size_t kind, faro_calibration calibration) {
  const faro_release_params p = params(calibration);
  faro_release *r = make_from(kind, &p, faro_source_none());
  faro_release *same = make(kind, &p);
  const double x[D] = {0.5};
  uint64_t batch[10 * LENGTH] = {0};
  assert_string_equal(faro_release_claim(r)->by, faro_release_claim(same)->by);
  assert_true(faro_release_cost(r).bits == faro_release_cost(same).bits);
  assert_true(faro_release_scale(r, 0) == faro_release_scale(same, 0));
  assert_true(faro_release_influence(r) == faro_release_influence(same));
  assert_int_equal(faro_release_expected(r), faro_release_expected(same));
  for (int t = 0; t < 30; t++) assert_false(faro_release_absorb(r, x, 1));
  assert_int_equal(faro_release_statistics(r).users, 0);
  assert_int_equal(faro_release_mix(r, batch), 0);
  faro_error refusal = {0};
  assert_int_equal(faro_release_randomize(r, x, 1, batch, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "without a source"));
  refusal = (faro_error){0};
  assert_int_equal(faro_release_analyze(r, batch, faro_release_expected(r), &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "without a source"));
  faro_release_destroy(r);
  faro_release_destroy(same);
}

static void test_source__none_only_answers_questions(void **state) {
  (void)state;
  for_all(ask_only);
}

/* One party of several: a client sends, a server analyzes, and neither plays the other. */
static void test_source__one_party_does_not_play_the_others(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  const double x[D] = {0.5};
  assert_ok(faro_secure_open(&secure, error));
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_params p = params(FARO_CALIBRATION_TIGHT);
    if (!faro_release_kind_exact(faro_release_kind_at(k))) continue;
    faro_release *client = make_from(k, &p, faro_source_client(secure));
    faro_release *server = make_from(k, &p, faro_source_server(secure));
    uint64_t batch[10 * LENGTH * 8] = {0};
    for (int t = 0; t < 30; t++) {
      assert_false(faro_release_absorb(client, x, 1));
      assert_false(faro_release_absorb(server, x, 1));
    }
    faro_error refusal = {0};
    assert_int_equal(faro_release_analyze(client, batch, faro_release_expected(client), &refusal),
                     FARO_INVALID);
    assert_non_null(strstr(refusal.message, "created for a client"));
    const size_t size = faro_release_message_size(client) / sizeof *batch;
    if (faro_release_shufflers(client) <= 1) {
      for (size_t u = 0; u < 10; u++)
        assert_ok(faro_release_randomize(client, x, 1, batch + u * size, error));
      assert_ok(faro_release_analyze(server, batch, faro_release_mix(server, batch), error));
      assert_int_equal(faro_release_statistics(server).users, 10);
    }
    faro_release_destroy(client);
    faro_release_destroy(server);
  }
  faro_secure_close(secure);
}

static void test_source__needs_its_stream(void **state) {
  (void)state;
  const faro_release_params p = params(FARO_CALIBRATION_TIGHT);
  const faro_source empty[] = {faro_source_simulated(NULL), faro_source_client(NULL),
                               faro_source_server(NULL), faro_source_all_parties(NULL)};
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  for (int i = 0; i < 4; i++) {
    faro_release *r = NULL;
    faro_error refusal = {0};
    assert_int_equal(faro_release_create(&r, &faro_release_local, &c, &p, empty[i], &refusal), FARO_INVALID);
    assert_non_null(strstr(refusal.message, "needs a stream"));
    assert_null(r);
  }
}

/* Claims are what users rely on, so no text is cut off. */
static void read_whole_claim(size_t kind, faro_calibration calibration) {
  faro_release_params p = params(calibration);
  for (uint64_t times = 1; times <= 4; times += 3)
    for (double epsilon = 0.5; epsilon < 100; epsilon *= 40) {
      faro_contribution c;
      faro_release *r = NULL;
      faro_error refusal = {0};
      p.epsilon = epsilon;
      p.level = times > 1 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT;
      p.contributions = times;
      for (int plain = 0; plain < 2; plain++) {
        if (plain) assert_ok(faro_contribution_values(&c, 3, false, error));
        else assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
        if (faro_release_create(&r, faro_release_kind_at(kind), &c, &p, faro_source_none(), &refusal) !=
            FARO_OK)
          continue;
        const faro_claim *claim = faro_release_claim(r);
        assert_null(strstr(claim->by, "its proof was given in"));
        faro_release_destroy(r);
      }
    }
}

static void test_all__claims_are_not_cut_off(void **state) {
  (void)state;
  for_all(read_whole_claim);
}

static faro_release *make_named(const char *name, const faro_release_params *p) {
  size_t kind = 0;
  while (strcmp(faro_release_kind_at(kind)->name, name) != 0) kind++;
  return make(kind, p);
}

static void test_bits__a_message_never_exceeds_its_bits(void **state) {
  (void)state;
  const faro_release_params p = {
      .epsilon = 10, .delta = 0.1, .horizon = 100, .batch = 20, .calibration = FARO_CALIBRATION_FIGURE};
  faro_release *r = make_named("shuffle-bits", &p);
  const faro_bits *s = faro_bits_in(r);
  faro_sim_open(&noise, 9, 0, FARO_ROLE_USER);
  const double wild[] = {-1e9, -1, 0, 0.37, 1, 1e9, (double)NAN, (double)INFINITY};
  for (int round = 0; round < 2000; round++) {
    double x[D];
    uint64_t ones[LENGTH];
    for (int i = 0; i < D; i++) x[i] = wild[(round + 3 * i) % 8];
    assert_ok(faro_release_randomize(r, x, wild[round / 8 % 8], ones, error));
    for (int i = 0; i < LENGTH; i++) assert_true(ones[i] <= s->grid + s->level[0].noise->bits);
  }
  faro_release_destroy(r);
}

static void test_bits__the_shuffler_passes_on_totals_and_wipes_messages(void **state) {
  (void)state;
  const faro_release_params p = params(FARO_CALIBRATION_FIGURE);
  faro_release *r = make_named("shuffle-bits", &p);
  const faro_bits *s = faro_bits_in(r);
  const uint64_t most = s->grid + s->level[0].noise->bits;
  uint64_t batch[10][LENGTH];
  uint64_t total[LENGTH] = {0};
  faro_sim_open(&noise, 10, 0, FARO_ROLE_USER);
  for (int u = 0; u < 10; u++)
    for (int i = 0; i < LENGTH; i++) total[i] += batch[u][i] = faro_exact_below(&noise.rng, 10);
  total[0] += most - batch[3][0]; /* a client that claims more ones than it has bits is cut to them */
  batch[3][0] = UINT64_C(1) << 62;
  assert_int_equal(faro_release_mix(r, batch), 1);
  assert_memory_equal(batch[0], total, sizeof total);
  for (int u = 1; u < 10; u++)
    for (int i = 0; i < LENGTH; i++) assert_int_equal(batch[u][i], 0);
  faro_release_destroy(r);
}

/* S: a count is cut to the range of an honest message, at both ends. */
static void test_shuffler__counts_within_the_range(void **state) {
  (void)state;
  assert_int_equal(faro_shuffler_count(0, 7, 3, 9), 7);
  assert_int_equal(faro_shuffler_count(100, 2, 3, 9), 103);
  assert_int_equal(faro_shuffler_count(100, UINT64_MAX, 3, 9), 109);
}

/* Whatever a caller passes in, a published sum holds at most B clipped contributions and the
 * noise. */
static void clip_wild(size_t kind, faro_calibration calibration) {
  const faro_release_params p = params(calibration);
  faro_release *r = make(kind, &p);
  faro_sim_open(&noise, 12, 0, FARO_ROLE_USER);
  const double x[D] = {1e9, -1e9, 1e9};
  for (int t = 0; t < 10; t++) (void)faro_release_absorb(r, x, 1e9);
  for (int i = 0; i < LENGTH; i++)
    assert_true(fabs(faro_release_statistics(r).sum[i]) <= 10 * r->contribution.entry + 8 * r->scale[i]);
  faro_release_destroy(r);
}

static void test_all__clip_whatever_they_are_given(void **state) {
  (void)state;
  for_all(clip_wild);
}

/* The analyzer accepts whole batches of possible messages; if it refuses, nothing changes. */
static void refuse_batches(size_t kind, faro_calibration calibration) {
  faro_release_params p = params(calibration);
  p.horizon = 20; /* two batches of ten */
  faro_release *r = make(kind, &p);
  faro_sim_open(&noise, 11, 0, FARO_ROLE_USER);
  uint64_t batch[10][LENGTH] = {{0}};
  const size_t whole = faro_release_mix(r, batch);
  int64_t least = 0;
  int64_t most = 0;
  faro_release_range(r, 0, &least, &most);
  /* for counts; else zeros */
  const uint64_t fewest = least > 0 ? (uint64_t)least * (whole == 10 ? 1 : 10) : 0;
  for (int turn = 0; turn < 2; turn++) {
    const size_t wrong[] = {0, whole + 1, whole == 1 ? 10 : 1};
    for (size_t i = 0; i < 3; i++) {
      faro_error error = {0};
      assert_int_equal(faro_release_analyze(r, batch, wrong[i], &error), FARO_INVALID);
    }
    faro_error error = {0};
    for (int i = 0; i < 10 * LENGTH; i++)
      batch[i / LENGTH][i % LENGTH] = INT64_MAX; /* NaN, or beyond all counts */
    assert_int_equal(faro_release_analyze(r, batch, whole, &error), FARO_INVALID);
    assert_int_equal(faro_release_statistics(r).releases, turn);
    for (int i = 0; i < 10 * LENGTH; i++) batch[i / LENGTH][i % LENGTH] = fewest;
    error = (faro_error){0};
    assert_int_equal(faro_release_analyze(r, batch, whole, &error), FARO_OK);
    assert_int_equal(faro_release_statistics(r).users, 10 * (turn + 1));
  }
  faro_error error = {0};
  assert_int_equal(faro_release_analyze(r, batch, whole, &error), FARO_INVALID); /* beyond the horizon */
  faro_release_destroy(r);
  r = make(kind, &p);
  const double x[D] = {0};
  (void)faro_release_absorb(r, x, 0);
  error = (faro_error){0};
  assert_int_equal(faro_release_analyze(r, batch, whole, &error), FARO_INVALID); /* a batch is open */
  faro_release_destroy(r);
}

static void test_all__refuse_batches_that_are_not_whole_or_not_possible(void **state) {
  (void)state;
  for_all(refuse_batches);
}

static void test_bits__impossible_noise_is_refused(void **state) {
  (void)state;
  faro_contribution c;
  faro_release *r = NULL;
  faro_error error = {0};
  assert_int_equal(faro_contribution_init(&c, 1000, 1, 0, 1, &error), FARO_OK);
  const faro_release_params p = {
      .epsilon = 1e-4, .delta = 1e-15, .horizon = 100, .batch = 2, .calibration = FARO_CALIBRATION_PAPER};
  assert_int_equal(
      faro_release_create(&r, faro_release_kind_find("shuffle-bits"), &c, &p, simulated(), &error),
      FARO_INVALID);
  assert_non_null(strstr(error.message, "noise bits"));
}

static faro_release_params automatic(uint64_t horizon, double growth, faro_calibration calibration) {
  return (faro_release_params){
      .epsilon = 1, .delta = 0.1, .horizon = horizon, .growth = growth, .calibration = calibration};
}

/* The least n after which n users say as much about a direction as the prior does, by counting up;
 * docs/regret.md. Noise of `sigma` in every entry of the weighed z, in the sum or of each user. */
static uint64_t users_to_learn(double sigma, bool each) {
  const double c0 = sigma * sigma * (1 + (1 + 1.0 / D) / 2);
  uint64_t n = 1;
  for (;; n++) {
    const double a = (double)n / D;
    if (a * a / (c0 * (each ? (double)n : 1) + a) >= D) return n;
  }
}

/* The first batch of a release that grows its batches, if contributions are weighed; 0: another
 * kind. */
static uint64_t first_block(const faro_release *r) {
  const faro_release_kind *kind = faro_release_kind_of(r);
  const faro_release_params *p = faro_release_params_of(r);
  const double sigma = r->contribution.sensitivity / faro_gaussian_mu(p->epsilon, p->delta);
  const double answer = faro_response_choose(p->epsilon, sqrt(2)).length;
  if (kind->trust == FARO_TRUST_JOINT || kind == &faro_release_shuffle_bits)
    return 2 * users_to_learn(sigma, false);
  if (kind == &faro_release_local_response) return users_to_learn(answer, true);
  if (kind->trust == FARO_TRUST_LOCAL) return users_to_learn(sigma, true);
  return kind->trust == FARO_TRUST_SHUFFLE ? users_to_learn(sigma, true) / 4 : 0;
}

/* Batches double, from what the noise asks for to a tenth of the horizon, or a twentieth where
 * every message has noise of its own. */
static void test_schedule__auto_is_that_of_the_noise(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_params p = automatic(20000, 0, FARO_CALIBRATION_TIGHT);
    faro_release *r = make(k, &p);
    const faro_release_params *made = faro_release_params_of(r);
    const faro_release_kind *kind = faro_release_kind_of(r);
    const uint64_t first = first_block(r);
    const uint64_t most = kind->trust == FARO_TRUST_JOINT || kind == &faro_release_shuffle_bits ? 2000 : 1000;
    if (first > 0) {
      if (kind->weighs)
        assert_true(llabs((long long)made->batch - (long long)(first < most ? first : most)) <= 2);
      assert_true(made->batch >= 2 && made->growth == 2 && made->largest == most + 1);
    } else if (kind->trust == FARO_TRUST_CONCURRENT)
      assert_true(made->batch >= 50 && made->batch < 2000 && made->growth == 1); /* at most 400 nodes */
    else assert_true(made->batch == 1 && made->growth == 1.005);
    faro_release_destroy(r);
  }
}

static void check_uniform_schedule(size_t kind, faro_calibration calibration) {
  const faro_release_params p = automatic(20000, 1, calibration);
  faro_release *r = make(kind, &p);
  const uint64_t batch = faro_release_batch(r);
  const faro_trust trust = faro_release_kind_of(r)->trust;
  assert_true(faro_release_params_of(r)->growth == 1);
  assert_int_equal(faro_release_batches(r), 20000 / batch);
  if (trust == FARO_TRUST_SHUFFLE) assert_true(batch > 100 && batch < 5000); /* T^(3/5) = 380 */
  else if (trust == FARO_TRUST_CONCURRENT && calibration == FARO_CALIBRATION_PAPER)
    assert_int_equal(batch, 2); /* log T shufflers */
  else if (calibration != FARO_CALIBRATION_TIGHT) assert_int_equal(batch, 1);
  else assert_true(batch <= 500);
  faro_release_destroy(r);
}

/* What was given is kept: batches of one size, and what the theorems say under `paper`. */
static void test_schedule__auto_is_one_size_or_what_the_theorem_says(void **state) {
  (void)state;
  for_all(check_uniform_schedule);
}

static void check_tiny_schedule(size_t kind, faro_calibration calibration) {
  const faro_release_params p = automatic(2, 0, calibration);
  faro_release *r = make(kind, &p);
  assert_true(faro_release_batch(r) <= 2 && faro_release_batches(r) >= 1);
  faro_release_destroy(r);
}

static void test_schedule__auto_fits_the_shortest_horizon(void **state) {
  (void)state;
  for_all(check_tiny_schedule);
}

static uint64_t batch_for_returning(const char *kind, uint64_t horizon, uint64_t times,
                                    faro_calibration calibration) {
  const faro_release_params p = {.epsilon = 1,
                                 .delta = 1e-6,
                                 .horizon = horizon,
                                 .growth = 1,
                                 .shufflers = 3,
                                 .level = FARO_LEVEL_USER,
                                 .contributions = times,
                                 .calibration = calibration};
  size_t k = 0;
  while (strcmp(faro_release_kind_at(k)->name, kind) != 0) k++;
  faro_release *r = make_from(k, &p, faro_source_none());
  const uint64_t batch = faro_release_batch(r);
  faro_release_destroy(r);
  return batch;
}

/* Chowdhury & Zhou 2022, Cor. E.6 and E.4 with epsilon = 1 and all constants of the proof: the
 * least B with d B^5 >= 8 M0 ln(2/delta) logs T^3, where M0 <= T / B. */
static double corollary(bool bits, double t, double m0) {
  double b = 1;
  for (double most = 0; b < t; b *= 1.0005) {
    const double times = fmin(m0, t / b);
    const double delta = 1e-6 / (2 * times);
    const double logs = bits ? pow(log(D * D / delta), 2) : log(t / delta) * log(2 / delta);
    most = 8 * times * log(2 / 1e-6) * logs * t * t * t;
    if (D * pow(b, 5) >= most) break;
  }
  return b;
}

static void test_schedule__paper_knows_who_returns(void **state) {
  (void)state;
  static const char *const kinds[] = {"shuffle-bits", "shuffle-amplified"};
  for (int k = 0; k < 2; k++)
    for (double t = 1e4; t <= 1e6; t *= 10)
      for (double m0 = 4; m0 <= 1e6; m0 *= 16) {
        const double expected = corollary(k == 0, t, m0);
        const uint64_t batch =
            batch_for_returning(kinds[k], (uint64_t)t, (uint64_t)m0, FARO_CALIBRATION_PAPER);
        assert_close((double)batch / expected, 1, 0.03); /* whole numbers of batches */
      }
  const double all =
      log((double)batch_for_returning("shuffle-bits", 1000000, 1000000, FARO_CALIBRATION_PAPER) /
          (double)batch_for_returning("shuffle-bits", 10000, 10000, FARO_CALIBRATION_PAPER));
  assert_close(all / log(100), 2.0 / 3, 0.02); /* T^(2/3) */
}

/* M0 counts no more batches than there are, and more rounds of a user need larger batches. */
static void test_schedule__tight_knows_who_returns(void **state) {
  (void)state;
  static const char *const kinds[] = {"shuffle-bits", "concurrent-bits"};
  for (int k = 0; k < 2; k++) {
    uint64_t last = 0;
    for (uint64_t m0 = 1; m0 <= 256; m0 *= 16) {
      const uint64_t batch = batch_for_returning(kinds[k], 1000000, m0, FARO_CALIBRATION_TIGHT);
      assert_true(batch > last);
      last = batch;
    }
    const uint64_t all = batch_for_returning(kinds[k], 1000000, 1000000, FARO_CALIBRATION_TIGHT);
    const uint64_t same = batch_for_returning(kinds[k], 1000000, 1000000 / all, FARO_CALIBRATION_TIGHT);
    assert_close((double)all / (double)same, 1, 0.01);
  }
}

static void test_trust__every_model_has_a_name_and_a_view(void **state) {
  (void)state;
  for (int t = 0; t <= FARO_TRUST_CONCURRENT; t++)
    assert_true(*faro_trust_name((faro_trust)t) != '\0' && *faro_trust_view((faro_trust)t) != '\0');
  assert_null(faro_release_kind_find("no such release"));
}

/* ---- plain vectors */

static faro_release *make_values(const char *name, size_t count, const faro_release_params *p) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_values(&c, count, false, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), &c, p, simulated(), error));
  return r;
}

/* One batch, one release: what an elimination algorithm makes for each of its phases. */
static faro_release_params phase(double epsilon, double delta, uint64_t users, faro_calibration calibration) {
  return (faro_release_params){
      .epsilon = epsilon, .delta = delta, .horizon = users, .batch = users, .calibration = calibration};
}

/* Plain numbers have no Gram matrix: one noise for all of them, and the claim counts the change of
 * all. Li, Zhou & Ji 2022 with 2 B = 1: sigma = sqrt(2 s ln(1.25/delta)) / epsilon, once at the
 * server or at every user. */
static void test_values__gaussian_noise_covers_every_entry(void **state) {
  (void)state;
  enum { COUNT = 40 };
  const faro_release_params p = phase(1, 1e-6, 100, FARO_CALIBRATION_PAPER);
  const double sigma = sqrt(2 * COUNT * log(1.25 / p.delta)) / p.epsilon;
  char proven[40];
  snprintf(proven, sizeof proven, "gives epsilon %.3g", faro_gaussian_epsilon(sqrt(COUNT) / sigma, p.delta));
  for (int local = 0; local < 2; local++) {
    faro_release *r = make_values(local ? "local" : "central", COUNT, &p);
    for (size_t i = 0; i < COUNT; i++)
      assert_close(faro_release_noise(r).scale[i], sigma * (local ? 10 : 1), 1e-9);
    assert_non_null(strstr(faro_release_claim(r)->by, proven));
    assert_true(faro_release_claim(r)->proven);
    faro_release_destroy(r);
  }
  const faro_release_params weak = phase(50, 0.1, 100, FARO_CALIBRATION_PAPER);
  /* the classical formula ends somewhere above epsilon = 1 */
  faro_release *r = make_values("central", 1, &weak);
  assert_false(faro_release_claim(r)->proven);
  faro_release_destroy(r);
}

/* Two vectors of s numbers in an interval of width 1 differ by s in L1. */
static void test_laplace__noise_follows_the_width(void **state) {
  (void)state;
  for (size_t s = 1; s <= 16; s *= 4)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c += 2) { /* paper and tight */
      const faro_release_params p = phase(0.5, 1e-6, 100, (faro_calibration)c);
      faro_release *central = make_values("central-laplace", s, &p);
      faro_release *local = make_values("local-laplace", s, &p);
      assert_close(faro_release_noise(central).laplace, (double)s / 0.5, 1e-12);
      assert_close(faro_release_noise(local).laplace, (double)s / 0.5, 1e-12);
      assert_true(faro_release_noise(central).summands == 1 && faro_release_noise(local).summands == 100);
      assert_true(faro_release_claim(local)->delta == 0 && faro_release_claim(local)->proven);
      faro_release_destroy(central);
      faro_release_destroy(local);
    }
  faro_release_params p = phase(0.5, 1e-6, 100, FARO_CALIBRATION_TIGHT); /* ten batches, a user in three */
  p.batch = 10;
  p.level = FARO_LEVEL_USER;
  p.contributions = 3;
  faro_release *r = make_values("central-laplace", 2, &p);
  assert_close(faro_release_noise(r).laplace, 3 * 2 / 0.5, 1e-12);
  assert_true(faro_release_noise(r).summands == 10);
  faro_release_destroy(r);
}

/* The epsilon0 that the noise corresponds to. */
static double epsilon0_of(uint64_t users, double epsilon, double delta, faro_calibration calibration) {
  const faro_release_params p = phase(epsilon, delta, users, calibration);
  faro_release *r = make_values("shuffle-laplace", 1, &p);
  assert_true(faro_release_claim(r)->proven && faro_release_claim(r)->delta == delta);
  const double epsilon0 = 1 / faro_release_noise(r).laplace;
  faro_release_destroy(r);
  return epsilon0;
}

/* paper: the closed form at epsilon0 gives epsilon, or epsilon0 is the end of its range, or nothing
 * is amplified. tight: as much as the accountant accepts, never less than paper. */
static void test_shuffle_laplace__spends_what_amplification_leaves(void **state) {
  (void)state;
  const double delta = 1e-6;
  for (uint64_t users = 10; users <= 1000000; users *= 10)
    for (double epsilon = 0.05; epsilon < 4; epsilon *= 3) {
      const double paper = epsilon0_of(users, epsilon, delta, FARO_CALIBRATION_PAPER);
      const double tight = epsilon0_of(users, epsilon, delta, FARO_CALIBRATION_TIGHT);
      const double n = (double)users;
      const double limit = log(n / (16 * log(2 / delta)));
      double got = 0;
      double spent = 0;
      assert_true(tight >= paper * (1 - 1e-6) && paper >= epsilon * (1 - 1e-12));
      assert_true(faro_shuffle_delta(tight * (1 - 1e-6), 0, n, epsilon) <= delta);
      assert_true(faro_shuffle_delta(tight * (1 + 1e-5), 0, n, epsilon) > delta);
      if (paper <= epsilon * (1 + 1e-12)) {
        assert_true(!faro_shuffle_closed_form(epsilon * 1.001, 0, n, delta, &got, &spent) || got > epsilon);
        continue;
      }
      assert_true(faro_shuffle_closed_form(paper * (1 - 1e-12), 0, n, delta, &got, &spent) && spent == delta);
      assert_true(got <= epsilon * (1 + 1e-9) && (got > epsilon * (1 - 1e-6) || paper > limit * (1 - 1e-6)));
    }
}

/* The numbers of Li, Zhou & Ji 2022, written down a second time, and what they prove: one number
 * exactly, vectors by the accountant. */
static void check_published_bits(size_t s, double n, double epsilon, double delta) {
  const faro_release_params p = phase(epsilon, delta, (uint64_t)n, FARO_CALIBRATION_PAPER);
  faro_release *r = make_values("shuffle-bits", s, &p);
  const faro_bits *b = faro_bits_in(r);
  const double root = sqrt((double)s);
  const double hat = s == 1 ? epsilon / 2 : epsilon / (18 * sqrt(log(2 / delta)));
  const double l = s == 1 ? log(2 / delta) : log(4 * (double)s / delta);
  const double g = s == 1 ? fmax(sqrt(n), 10) : fmax(hat * sqrt(n) / (6 * sqrt(5 * l)), fmax(root, 10));
  const double variance = (double)b->level[0].noise->noise / 4 * b->step * b->step;
  const double printed = 180.0 / 4 * (double)s * l / (hat * hat); /* b n / 4 in units of (2 Delta_2 / g)^2 */
  assert_true(b->fair && b->step <= root / g * (1 + 1e-12));
  assert_true(variance >= printed * (1 - 1e-12));
  assert_true(variance <= printed + n / 4 * b->step * b->step * (1 + 1e-12)); /* rounding b up */
  assert_true(faro_release_claim(r)->proven);
  /* with room for tables and cuts */
  if (s == 1)
    assert_true(faro_bits_delta(b->level[0].noise->noise, 0.5, b->grid, 0.999 * epsilon) <= delta / 2);
  else {
    faro_bits_plan plan = {.users = n,
                           .dimension = (double)s,
                           .sensitivity = root,
                           .grid = (double)b->grid,
                           .bits = (double)b->level[0].noise->bits};
    double proven = 0;
    assert_ok(faro_bits_account(&plan, delta / 2, &proven, error));
    assert_true(proven <= 0.999 * epsilon);
  }
  faro_release_destroy(r);
}

static void test_paper__published_bits_are_right_and_enough(void **state) {
  (void)state;
  check_test();
  const size_t counts[] = {1, 2, 7, 60};
  for (size_t i = 0; i < 4; i++)
    for (double n = 20; n < 1e5; n *= 12)
      for (double epsilon = 0.2; epsilon < 15; epsilon *= 4) {
        check_published_bits(counts[i], n, epsilon, 1e-6);
        check_published_bits(counts[i], n, epsilon, 0.25);
      }
}

static void test_paper__published_bits_end_at_their_range(void **state) {
  (void)state;
  const struct {
    size_t count;
    double epsilon, delta;
    bool proven;
  } at[] = {{1, 29, 0.1, true}, {1, 30, 0.1, false}, {1, 1, 0.5, false},
            {4, 14, 0.1, true}, {4, 15, 0.1, false}, {4, 1, 0.5, false}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    const faro_release_params p = phase(at[i].epsilon, at[i].delta, 50, FARO_CALIBRATION_PAPER);
    faro_release *r = make_values("shuffle-bits", at[i].count, &p);
    assert_int_equal(faro_release_claim(r)->proven, at[i].proven);
    assert_int_equal(strstr(faro_release_claim(r)->by, "outside") == NULL, at[i].proven);
    faro_release_destroy(r);
  }
  faro_release_params p = phase(1, 0.1, 100, FARO_CALIBRATION_PAPER);
  p.batch = 10;
  p.level = FARO_LEVEL_USER;
  p.contributions = 2;
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_values(&c, 3, false, error));
  const char *const refuse[] = {"shuffle-bits", "shuffle-laplace"};
  for (int i = 0; i < 2; i++) {
    faro_error error = {0};
    assert_int_equal(faro_release_create(&r, faro_release_kind_find(refuse[i]), &c, &p, simulated(), &error),
                     FARO_INVALID);
    assert_int_equal(strncmp(error.message, "calibration paper needs level event", 35), 0);
  }
}

/* Noise that one user must add, as a variance of the whole batch: bits per user, or the squared
 * scale. */
static double noise_of(const char *name, uint64_t batch, double honest) {
  const faro_release_params p = {.epsilon = 1,
                                 .delta = 1e-6,
                                 .horizon = 4 * batch,
                                 .batch = batch,
                                 .shufflers = strcmp(name, "concurrent-bits") == 0 ? 2 : 0,
                                 .honest = honest,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  faro_release *r = make_named(name, &p);
  assert_true(faro_release_claim(r)->proven);
  const double scale = scale_of(r);
  faro_release_destroy(r);
  return scale * scale;
}

/* Only the honest share of a batch hides a user: bits grow by 1 / h, amplification is that of h B
 * users. */
static void test_honest__noise_rises_where_users_hide_among_each_other(void **state) {
  (void)state;
  const char *const bits[] = {"shuffle-bits", "concurrent-bits"};
  for (int i = 0; i < 2; i++) {
    const double all = noise_of(bits[i], 1000, 0);
    assert_true(noise_of(bits[i], 1000, 1) == all);
    assert_close(noise_of(bits[i], 1000, 0.8) / all, 1 / 0.8, 0.02);
    assert_close(noise_of(bits[i], 1000, 0.1) / all, 10, 0.5);
  }
  const char *const amplified[] = {"shuffle-gaussian", "shuffle-response"};
  for (int i = 0; i < 2; i++) {
    const double whole = noise_of(amplified[i], 20000, 0) / 20000; /* of a user */
    const double half = noise_of(amplified[i], 20000, 0.5) / 20000;
    assert_close(noise_of(amplified[i], 10000, 0) / 10000, half, 1e-12 * half);
    assert_true(half > 1.05 * whole);
  }
  assert_true(noise_of("shuffle-laplace", 20000, 0.5) > 1.05 * noise_of("shuffle-laplace", 20000, 1));
  const char *const alone[] = {"local",   "local-bits",   "local-laplace", "local-response",
                               "central", "central-tree", "central-bits",  "local-gaussian"};
  for (int i = 0; i < 8; i++) assert_true(noise_of(alone[i], 100, 0.3) == noise_of(alone[i], 100, 0));
}

/* epsilon0 of responses, whatever their share of true codes, for epsilon 1: at least what any
 * randomizer may have, and at most what two codes may. */
static void check_response(const faro_claim *claim, double users) {
  const double delta = claim->delta;
  assert_true(claim->local_delta == 0);
  assert_true(claim->local_epsilon <= faro_shuffle_response_local_epsilon(1, delta, users, 0.5) * (1 + 1e-6));
  assert_true(claim->local_epsilon >= faro_shuffle_local_epsilon(1, delta, users, 0) * (1 - 1e-6));
}

/* Whoever sees the others' actions knows the arm of a user, who then hides among the users of that
 * arm, not among all of the phase. Broken once: shuffle-response counted on the whole phase. */
static void test_crowd__counts_only_if_actions_stay_secret(void **state) {
  (void)state;
  const char *const kinds[] = {"shuffle-laplace", "shuffle-response", "shuffle-gaussian", "shuffle-bits"};
  const faro_release_params alone = {
      .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 100, .calibration = FARO_CALIBRATION_TIGHT};
  for (int i = 0; i < 4; i++) {
    faro_release_params p = alone;
    p.crowd = 10000;
    faro_release *r = make_named(kinds[i], &p);
    const faro_claim *claim = faro_release_claim(r);
    const double own = scale_of(r);
    assert_int_equal(claim->actions, FARO_ACTIONS_OTHERS);
    if (i == 0) assert_close(faro_shuffle_epsilon(claim->local_epsilon, 0, 100, p.delta), 1, 1e-3);
    if (i == 1) check_response(claim, 100);
    faro_release_destroy(r);
    r = make_named(kinds[i], &alone);
    assert_true(scale_of(r) == own);
    faro_release_destroy(r);
    p.secret = true;
    r = make_named(kinds[i], &p);
    const bool assigns = faro_release_kind_of(r)->assigns;
    assert_int_equal(faro_release_claim(r)->actions, assigns ? FARO_ACTIONS_HIDDEN : FARO_ACTIONS_OTHERS);
    assert_true(assigns == (i == 0) && (assigns ? scale_of(r) < 0.6 * own : scale_of(r) == own));
    faro_release_destroy(r);
  }
}

/* The local part of a claim, against what a message is made of. */

static faro_release *make_local(const char *name, size_t count, uint64_t batch, uint64_t repeats) {
  const faro_release_params p = {.epsilon = 1,
                                 .delta = 1e-5,
                                 .horizon = 10 * batch,
                                 .batch = batch,
                                 .level = repeats > 1 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                 .contributions = repeats,
                                 .grid = strcmp(name, "shuffle-bits") == 0 ? 400 : 0,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_values(&c, count, false, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), &c, &p, faro_source_none(), error));
  return r;
}

static void test_local__messages_with_one_noise(void **state) {
  (void)state;
  faro_release *r = make_local("shuffle-laplace", 1, 1000, 1);
  const faro_claim *claim = faro_release_claim(r);
  assert_close(claim->local_epsilon, r->contribution.absolute / faro_release_noise(r).laplace, 1e-12);
  assert_true(claim->local_delta == 0 && claim->local_epsilon > 2 * claim->epsilon);
  faro_release_destroy(r);
  for (uint64_t repeats = 1; repeats <= 4; repeats += 3) {
    r = make_local("shuffle-gaussian", 3, 1000, repeats);
    claim = faro_release_claim(r);
    const double mu = sqrt((double)repeats) * r->contribution.sensitivity / r->unit[0];
    const double e = claim->local_epsilon;
    const double delta =
        erfc((e / mu - mu / 2) / sqrt(2)) / 2 - exp(e) * erfc((e / mu + mu / 2) / sqrt(2)) / 2;
    assert_close(delta, claim->local_delta, 1e-6 * claim->local_delta);
    assert_true(claim->local_delta == 1e-5 && e > 1);
    faro_release_destroy(r);
  }
  r = make_local("shuffle-response", 3, 1000, 1);
  claim = faro_release_claim(r);
  assert_true(claim->local_delta == 0 && claim->local_epsilon > 2);
  check_response(claim, 1000);
  const double one = claim->local_epsilon;
  faro_release_destroy(r);
  r = make_local("shuffle-response", 3, 1000, 2);
  assert_true(faro_release_claim(r)->local_epsilon < 2 * one);
  faro_release_destroy(r);
}

/* delta of one message of `n` fair bits, cut to low .. high, that is moved by `shift`, exactly. */
static double message_delta(const faro_bits_noise *n, uint64_t shift, double epsilon) {
  double delta = 0;
  const uint64_t all = n->high - n->low + 1;
  double *p = calloc(all, sizeof *p);
  assert_non_null(p);
  const double bits = (double)n->bits;
  for (uint64_t k = 0; k <= n->bits; k++) {
    const uint64_t at = k < n->low ? n->low : k > n->high ? n->high : k;
    p[at - n->low] +=
        exp(lgamma(bits + 1) - lgamma((double)k + 1) - lgamma(bits - (double)k + 1) - bits * log(2));
  }
  for (uint64_t i = 0; i < all; i++) delta += fmax(0, p[i] - exp(epsilon) * (i >= shift ? p[i - shift] : 0));
  free(p);
  return delta;
}

/* Bits: a user's own bits by enumeration, cuts included. The more users, the less is left; among
 * many, nothing is said. */
static void test_local__bits_of_one_user(void **state) {
  (void)state;
  double last = 0;
  int known = 0;
  for (uint64_t batch = 8; batch <= 8192; batch *= 2) {
    faro_release *r = make_local("shuffle-bits", 1, batch, 1);
    const faro_bits *s = faro_bits_in(r);
    const faro_claim *claim = faro_release_claim(r);
    const double e = claim->local_epsilon;
    const double delta = message_delta(s->level[0].noise, s->grid, e > 0 ? e : 500);
    if (e > 0) {
      assert_true(e > last && claim->local_delta == 1e-5);
      assert_true(delta <= 1e-5 && (batch > 64 || delta > 0.5e-5)); /* nearer to the cut it is loose */
      known++;
      last = e;
    } else assert_true(batch < 2048 || delta > 1e-5); /* because of the cuts, whatever epsilon is */
    faro_release_destroy(r);
  }
  assert_true(known >= 3 && known < 10);
}

/* Tables of noise are rounded. Where a small epsilon and many entries would make that count, they
 * are refused. */
static void test_tables__are_refused_where_rounding_might_count(void **state) {
  (void)state;
  check_test();
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  const struct {
    size_t entries;
    double epsilon, delta;
    faro_status status;
  } at[] = {{65000, 0.01, 1e-15, FARO_INVALID}, {300, 0.01, 1e-15, FARO_OK}, {65000, 1, 1e-6, FARO_OK}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    const faro_release_params p = {.epsilon = at[i].epsilon,
                                   .delta = at[i].delta,
                                   .horizon = 2,
                                   .batch = 2,
                                   .grid = 1,
                                   .calibration = FARO_CALIBRATION_TIGHT};
    faro_contribution c;
    faro_release *r = NULL;
    faro_error error = {0};
    assert_int_equal(faro_contribution_values(&c, at[i].entries, false, &error), FARO_OK);
    assert_int_equal(
        faro_release_create(&r, &faro_release_shuffle_bits, &c, &p, faro_source_all_parties(secure), &error),
        at[i].status);
    if (at[i].status != FARO_OK) assert_non_null(strstr(error.message, "too small for exact noise"));
    faro_release_destroy(r);
  }
  faro_secure_close(secure);
}

/* A share that leaves nobody of a batch leaves the protected user, whatever the batch: 1/49 times
 * 49 is below 1 in floating point. */
static void test_honest__a_small_share_leaves_one_user_in_any_batch(void **state) {
  (void)state;
  const double one = noise_of("shuffle-bits", 48, 0.01) / 48;
  const uint64_t batch[] = {49, 98, 103};
  for (int i = 0; i < 3; i++)
    assert_close(noise_of("shuffle-bits", batch[i], 0.01) / (double)batch[i], one, 0.02 * one);
}

/* The bits of the honest users alone prove the claim: the accountant is asked again with them
 * only. */
static void test_honest__the_rest_alone_keeps_the_claim(void **state) {
  (void)state;
  for (uint64_t batch = 7; batch < 3000; batch = batch * 3 + 1)
    for (double h = 0.05; h < 1; h += 0.2) {
      const faro_release_params p = {.epsilon = 1,
                                     .delta = 1e-6,
                                     .horizon = 8 * batch,
                                     .batch = batch,
                                     .shufflers = 3,
                                     .honest = h,
                                     .calibration = FARO_CALIBRATION_TIGHT};
      faro_release *r = make_named("concurrent-bits", &p);
      const faro_bits *s = faro_bits_in(r);
      double square = 0;
      double slack = 0;
      for (size_t i = 0; i < s->levels; i++) {
        faro_bits_plan plan = {.users = fmax(1, (double)s->level[i].unit * floor(h * (double)batch)),
                               .dimension = LENGTH,
                               .sensitivity = r->contribution.sensitivity / (2 * r->contribution.entry),
                               .grid = (double)s->grid,
                               .touched = (double)s->levels,
                               .bits = (double)s->level[i].noise->bits};
        double epsilon = 0;
        assert_ok(faro_bits_account(&plan, p.delta, &epsilon, error));
        square += plan.mu * plan.mu;
        slack += plan.slack;
      }
      const double delta = faro_gaussian_delta(sqrt(square), p.epsilon) + slack;
      assert_true(delta <= p.delta && delta > 0.5 * p.delta);
      double mu = 0;
      double cost = 0;
      assert_true(faro_release_gaussian(r, 1, &mu, &cost));
      assert_close(mu, sqrt(square), 1e-9 * mu); /* exactly these users */
      faro_release_destroy(r);
    }
}

static void test_honest__is_refused_by_name(void **state) {
  (void)state;
  const double bad[] = {-0.1, 1.1, (double)NAN};
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  for (int i = 0; i < 3; i++) {
    faro_release_params p = params(FARO_CALIBRATION_TIGHT);
    p.honest = bad[i];
    faro_error error = {0};
    assert_int_equal(
        faro_release_create(&r, faro_release_kind_find("shuffle-bits"), &c, &p, simulated(), &error),
        FARO_INVALID);
    assert_non_null(strstr(error.message, "honest must be above 0 and at most 1 (got "));
  }
  faro_release_params p = params(FARO_CALIBRATION_PAPER);
  p.honest = 0.9;
  faro_error error = {0};
  assert_int_equal(
      faro_release_create(&r, faro_release_kind_find("shuffle-bits"), &c, &p, simulated(), &error),
      FARO_INVALID);
  assert_non_null(strstr(error.message, "honest must be 1 under calibration paper (got 0.9)"));
}

/* ---- messages that are private by themselves, under paper */

enum { ALONE = 5, ENTRIES = ALONE * (ALONE + 3) / 2 };

static faro_release *make_alone(const char *kind, double epsilon, double local, uint64_t batch) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, ALONE, 1, 0, 1, error));
  const faro_release_params params = {.epsilon = epsilon,
                                      .delta = 1e-6,
                                      .horizon = 20000,
                                      .batch = batch,
                                      .local_epsilon = local,
                                      .calibration = FARO_CALIBRATION_PAPER};
  assert_ok(faro_release_create(&r, faro_release_kind_find(kind), &c, &params, faro_source_none(), error));
  return r;
}

/* Chowdhury & Zhou 2022, Corollaries B.3 and C.3, with the numbers as printed. */
static void test_paper__messages_meet_their_target(void **state) {
  (void)state;
  const double target[] = {0.2, 1, 15};
  for (int i = 0; i < 3; i++) {
    const double e0 = target[i];
    faro_release *r = make_alone("shuffle-gaussian", 1, e0, 400);
    const double sigma = 4 * sqrt(2 * log(2.5e6)) / e0;
    assert_close(faro_release_scale(r, 0), 0, 0); /* before the first batch */
    assert_close(faro_release_noise(r).scale[3] / (sigma * sqrt(20000)), 1, 1e-12);
    const faro_claim *c = faro_release_claim(r);
    /* the exact mechanism: x x' moves by sqrt 2 and x y by 2 at most */
    const double mu = sqrt(6) / sigma;
    assert_true(faro_gaussian_delta(mu, c->local_epsilon) <= 1e-6 * (1 + 1e-9) && c->local_delta == 1e-6);
    assert_true(c->epsilon == e0 && c->delta == 1e-6 && c->proven == (c->local_epsilon <= e0));
    assert_true(c->proven && c->local_epsilon > 0.4 * e0);
    faro_release_destroy(r);

    r = make_alone("shuffle-bits", 1, e0, 400);
    const double logs = log(4 * (5 * 5 + 1) / 1e-6);
    const double bits = ceil(24e4 * 25 * logs * logs / (e0 * e0));
    assert_close(faro_release_cost(r).bits, ENTRIES * (5 + bits), 1e-6);
    c = faro_release_claim(r);
    assert_true(c->proven && c->delta == 1e-6);
    assert_close(c->epsilon, e0 / 20, 1e-12);
    assert_true(c->local_epsilon > 0.0999 * e0 && c->local_epsilon <= 0.1 * e0 && c->local_delta == 1e-6);
    faro_release_destroy(r);
  }
  faro_release *r = make_alone("shuffle-bits", 1, 15.1, 400);
  assert_true(!faro_release_claim(r)->proven && faro_release_claim(r)->local_epsilon == 0);
  faro_release_destroy(r);
}

/* Remark 3.7: the bits of one user are private at 0.1 epsilon sqrt(B), while epsilon sqrt(B) <= 15:
 * more than a Gaussian of their variance would need. */
static void test_paper__bits_protect_by_themselves(void **state) {
  (void)state;
  const double epsilon[] = {0.2, 1, 10};
  const uint64_t batch[] = {20, 500};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) {
      faro_release *r = make_alone("shuffle-bits", epsilon[i], 0, batch[k]);
      const faro_claim *c = faro_release_claim(r);
      const double root = epsilon[i] * sqrt((double)batch[k]);
      assert_true(c->proven && c->epsilon == epsilon[i]);
      assert_int_equal(root > 15, c->local_epsilon == 0);
      assert_int_equal(root > 15, strstr(c->by, "no bound for one user") != NULL);
      if (root <= 15) {
        const double g = ceil(fmax(2 * sqrt((double)batch[k]), ALONE));
        const double bits = faro_release_cost(r).bits / ENTRIES - g;
        assert_true(c->local_epsilon <= 0.1 * root && c->local_epsilon > 0.0999 * root);
        assert_true(c->local_delta == 1e-6);
        assert_true(faro_gaussian_delta(2.5 * g / sqrt(3 * bits / 16), c->local_epsilon) <= 4e-7);
      }
      faro_release_destroy(r);
    }
}

static void test_paper__targets_are_for_two_kinds(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, ALONE, 1, 0, 1, error));
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int calibration = 0; calibration < FARO_CALIBRATION_COUNT; calibration++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      const bool known = strcmp(kind->name, "shuffle-bits") == 0 ||
                         strcmp(kind->name, "shuffle-gaussian") == 0 ||
                         strcmp(kind->name, "shuffle-amplified") == 0;
      const faro_release_params params = {.epsilon = 1,
                                          .delta = 1e-6,
                                          .horizon = 20000,
                                          .batch = 500,
                                          .local_epsilon = 1,
                                          .calibration = (faro_calibration)calibration};
      const bool taken = faro_release_validate(kind, &params, NULL) == FARO_OK;
      assert_int_equal(taken, known && calibration == FARO_CALIBRATION_PAPER);
    }
}

/* The corollaries are for one release of moments. An epsilon that is not read may be anything. */
static void test_paper__targets_are_for_one_release_of_moments(void **state) {
  (void)state;
  static const char *const kinds[] = {"shuffle-bits", "shuffle-gaussian", "shuffle-amplified"};
  for (int k = 0; k < 3; k++)
    for (int what = 0; what < 5; what++) {
      const bool anytime = what == 1;
      const bool plain = what >= 2 && what <= 3;
      const faro_release_params params = {.epsilon = what == 4 ? NAN : 0,
                                          .delta = 1e-6,
                                          .horizon = 20000,
                                          .batch = 500,
                                          .local_epsilon = 0.5,
                                          .anytime = anytime,
                                          .calibration = FARO_CALIBRATION_PAPER};
      faro_contribution c;
      faro_release *r = NULL;
      if (what == 2) assert_ok(faro_contribution_values(&c, ALONE, false, error));
      else if (what == 3) assert_ok(faro_contribution_ball(&c, ALONE, 1, error));
      else assert_ok(faro_contribution_init(&c, ALONE, 1, 0, 1, error));
      faro_error error = {0};
      const faro_status status =
          faro_release_create(&r, faro_release_kind_find(kinds[k]), &c, &params, faro_source_none(), &error);
      assert_int_equal(status, anytime || plain ? FARO_INVALID : FARO_OK);
      if (anytime) assert_non_null(strstr(error.message, "local_epsilon must be 0 under anytime (got 0.5)"));
      if (plain) assert_non_null(strstr(error.message, "local_epsilon must be 0 on plain vectors (got 0.5)"));
      if (r) assert_close(faro_release_claim(r)->epsilon, k == 0 ? 0.5 / sqrt(500) : 0.5, 1e-12);
      faro_release_destroy(r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all__deterministic_in_the_seed),
      cmocka_unit_test(test_all__publish_whole_batches_only),
      cmocka_unit_test(test_all__allocate_nothing_after_creation),
      cmocka_unit_test(test_all__survive_exhausted_memory),
      cmocka_unit_test(test_all__refuse_parameters_by_name),
      cmocka_unit_test(test_all__claims_are_what_was_asked_for),
      cmocka_unit_test(test_all__returning_users_get_the_noise_they_need),
      cmocka_unit_test(test_gaussian__is_what_the_claim_rests_on),
      cmocka_unit_test(test_shares__compose_to_the_claim),
      cmocka_unit_test(test_amplified__returning_users_are_amplified_too),
      cmocka_unit_test(test_paper__claims_end_where_the_theorems_end),
      cmocka_unit_test(test_closed_form__matches_a_hand_computation),
      cmocka_unit_test(test_noise__none_names_what_one_direction_added),
      cmocka_unit_test(test_noise__none_is_exact_under_every_schedule),
      cmocka_unit_test(test_kinds__rows_are_complete),
      cmocka_unit_test(test_source__deployment_takes_exact_noise_only),
      cmocka_unit_test(test_source__deployable_names_are_those_of_exact_kinds),
      cmocka_unit_test(test_source__none_only_answers_questions),
      cmocka_unit_test(test_source__one_party_does_not_play_the_others),
      cmocka_unit_test(test_source__needs_its_stream),
      cmocka_unit_test(test_all__claims_are_not_cut_off),
      cmocka_unit_test(test_bits__a_message_never_exceeds_its_bits),
      cmocka_unit_test(test_bits__the_shuffler_passes_on_totals_and_wipes_messages),
      cmocka_unit_test(test_shuffler__counts_within_the_range),
      cmocka_unit_test(test_all__clip_whatever_they_are_given),
      cmocka_unit_test(test_all__refuse_batches_that_are_not_whole_or_not_possible),
      cmocka_unit_test(test_bits__impossible_noise_is_refused),
      cmocka_unit_test(test_schedule__auto_is_that_of_the_noise),
      cmocka_unit_test(test_schedule__auto_is_one_size_or_what_the_theorem_says),
      cmocka_unit_test(test_schedule__auto_fits_the_shortest_horizon),
      cmocka_unit_test(test_schedule__paper_knows_who_returns),
      cmocka_unit_test(test_schedule__tight_knows_who_returns),
      cmocka_unit_test(test_trust__every_model_has_a_name_and_a_view),
      cmocka_unit_test(test_values__gaussian_noise_covers_every_entry),
      cmocka_unit_test(test_laplace__noise_follows_the_width),
      cmocka_unit_test(test_shuffle_laplace__spends_what_amplification_leaves),
      cmocka_unit_test(test_paper__published_bits_are_right_and_enough),
      cmocka_unit_test(test_paper__published_bits_end_at_their_range),
      cmocka_unit_test(test_honest__noise_rises_where_users_hide_among_each_other),
      cmocka_unit_test(test_crowd__counts_only_if_actions_stay_secret),
      cmocka_unit_test(test_local__messages_with_one_noise),
      cmocka_unit_test(test_local__bits_of_one_user),
      cmocka_unit_test(test_tables__are_refused_where_rounding_might_count),
      cmocka_unit_test(test_honest__a_small_share_leaves_one_user_in_any_batch),
      cmocka_unit_test(test_honest__the_rest_alone_keeps_the_claim),
      cmocka_unit_test(test_honest__is_refused_by_name),
      cmocka_unit_test(test_paper__messages_meet_their_target),
      cmocka_unit_test(test_paper__bits_protect_by_themselves),
      cmocka_unit_test(test_paper__targets_are_for_two_kinds),
      cmocka_unit_test(test_paper__targets_are_for_one_release_of_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
