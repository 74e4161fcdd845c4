/* doubling: sums continue from one release to the next, the claim stays, and a release that never
 * doubles is a plain release. */
#include <math.h>
#include <string.h>

#include <faro/doubling.h>

#include "release/bits.h"
#include "support/support.h"

enum { D = 3 };

static faro_sim_rng noise;
static const double middle[D] = {0};

static faro_release_params tight(uint64_t horizon, uint64_t batch, uint64_t shufflers) {
  return (faro_release_params){.epsilon = 1,
                               .delta = 1e-6,
                               .horizon = horizon,
                               .batch = batch,
                               .shufflers = shufflers,
                               .anytime = true,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_doubling *make(const char *kind, size_t columns, bool binary, const faro_release_params *p,
                           faro_source source) {
  faro_contribution c;
  faro_doubling *d = NULL;
  assert_ok(faro_contribution_values(&c, columns, binary, error));
  assert_ok(faro_doubling_create(&d, faro_release_kind_find(kind), &c, p, source, error));
  return d;
}

static double scale_of(faro_noise n) { return n.scale ? *n.scale : 0; }

static void spend(faro_doubling *d, const double *x) {
  while (!faro_doubling_spent(d)) (void)faro_doubling_absorb(d, x, 0);
}

static void test_double__sums_continue_and_noise_adds(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_params p = tight(64, 0, 2);
    faro_doubling *d = make(faro_release_kind_at(k)->name, 2, false, &p, faro_source_simulated(&noise));
    faro_sim_open(&noise, 9, k, FARO_ROLE_USER);
    const double x[2] = {0.5, -0.25};
    uint64_t users = 0;
    double before = 0;
    for (int epoch = 0; epoch < 4; epoch++) {
      spend(d, x);
      const faro_statistics last = faro_doubling_statistics(d);
      const double sum = last.sum[0];
      const double scale = faro_doubling_scale(d, 0);
      assert_true(last.users > users && scale >= before);
      assert_true(fabs(sum - 0.5 * (double)last.users) <= 8 * scale + 1e-9);
      users = last.users;
      before = scale;
      assert_ok(faro_doubling_next(d, error));
      const faro_statistics now = faro_doubling_statistics(d);
      assert_true(now.sum[0] == sum && now.users == users && !faro_doubling_spent(d));
      assert_true(scale_of(faro_doubling_noise(d)) >= scale);
    }
    assert_int_equal(faro_doubling_release(d)->params.horizon, 64 << 4);
    faro_doubling_destroy(d);
  }
}

/* By hand, release by release: the same stream gives the same sums. */
static void test_double__is_one_release_after_another(void **state) {
  (void)state;
  const faro_release_params p = tight(32, 8, 2);
  const double x = 0.25;
  double by_hand[3] = {0};
  faro_contribution c;
  assert_ok(faro_contribution_values(&c, 1, false, error));
  faro_sim_open(&noise, 10, 0, FARO_ROLE_USER);
  for (int epoch = 0; epoch < 3; epoch++) {
    faro_release_params each = p;
    faro_release *r = NULL;
    each.horizon = p.horizon << epoch;
    assert_ok(faro_release_create(&r, &faro_release_concurrent_bits, &c, &each, faro_source_simulated(&noise),
                                  error));
    while (!faro_release_spent(r)) (void)faro_release_absorb(r, &x, 0);
    by_hand[epoch] = (epoch > 0 ? by_hand[epoch - 1] : 0) + faro_release_statistics(r).sum[0];
    faro_release_destroy(r);
  }
  faro_sim_open(&noise, 10, 0, FARO_ROLE_USER);
  faro_doubling *d = make("concurrent-bits", 1, false, &p, faro_source_simulated(&noise));
  for (int epoch = 0; epoch < 3; epoch++) {
    spend(d, &x);
    assert_true(faro_doubling_statistics(d).sum[0] == by_hand[epoch]);
    if (epoch < 2) assert_ok(faro_doubling_next(d, error));
  }
  faro_doubling_destroy(d);
}

/* It equals the release itself, to the bit, and cannot continue. */
static void test_double__a_release_that_never_doubles_is_itself(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    faro_release_params p = tight(60, 6, 2);
    p.anytime = false;
    faro_contribution c;
    faro_release *r = NULL;
    assert_ok(faro_contribution_values(&c, 2, false, error));
    faro_sim_rng same;
    faro_sim_open(&noise, 11, k, FARO_ROLE_USER);
    faro_sim_open(&same, 11, k, FARO_ROLE_USER);
    faro_doubling *d = make(faro_release_kind_at(k)->name, 2, false, &p, faro_source_simulated(&noise));
    assert_ok(faro_release_create(&r, faro_release_kind_at(k), &c, &p, faro_source_simulated(&same), error));
    const double x[2] = {0.1, -0.3};
    for (int t = 0; t < 60; t++) {
      assert_int_equal(faro_doubling_absorb(d, x, 0), faro_release_absorb(r, x, 0));
      const faro_statistics a = faro_doubling_statistics(d);
      const faro_statistics b = faro_release_statistics(r);
      assert_memory_equal(a.sum, b.sum, 2 * sizeof *a.sum);
      assert_true(a.users == b.users && a.releases == b.releases);
      assert_true(faro_doubling_scale(d, 1) == faro_release_scale(r, 1));
    }
    assert_true(scale_of(faro_doubling_noise(d)) == scale_of(faro_release_noise(r)));
    faro_error refusal = {0};
    assert_int_equal(faro_doubling_next(d, &refusal), FARO_INVALID);
    assert_int_equal(strncmp(refusal.message, "anytime", 7), 0);
    faro_release_destroy(r);
    faro_doubling_destroy(d);
  }
}

static void test_double__waits_until_the_release_is_spent(void **state) {
  (void)state;
  const faro_release_params p = tight(64, 8, 2);
  faro_doubling *d = make("concurrent-bits", 1, true, &p, faro_source_simulated(&noise));
  faro_sim_open(&noise, 12, 0, FARO_ROLE_USER);
  const double x = 0.5;
  for (int t = 0; t < 20; t++) (void)faro_doubling_absorb(d, &x, 0);
  const double sum = faro_doubling_statistics(d).sum[0];
  faro_error refusal = {0};
  assert_int_equal(faro_doubling_next(d, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "when it is spent"));
  assert_true(faro_doubling_statistics(d).sum[0] == sum);
  spend(d, &x); /* it continues as if nothing had been asked */
  assert_ok(faro_doubling_next(d, error));
  faro_doubling_destroy(d);
}

/* Questions only: nothing is absorbed, so nothing is ever spent. */
static void test_double__without_a_source_only_answers_questions(void **state) {
  (void)state;
  const faro_release_params p = tight(64, 8, 2);
  faro_doubling *d = make("concurrent-bits", 1, true, &p, faro_source_none());
  const double x = 0.5;
  for (int t = 0; t < 100; t++) assert_false(faro_doubling_absorb(d, &x, 0));
  assert_false(faro_doubling_spent(d));
  assert_true(faro_release_claim(faro_doubling_release(d))->proven);
  faro_error refusal = {0};
  assert_int_equal(faro_doubling_next(d, &refusal), FARO_INVALID);
  faro_doubling_destroy(d);
}

static void test_double__keeps_the_old_release_if_memory_runs_out(void **state) {
  (void)state;
  const faro_release_params p = tight(64, 8, 2);
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  faro_doubling *d = make("concurrent-bits", 1, true, &p, faro_source_all_parties(secure));
  const double x = 0.5;
  spend(d, &x);
  const double sum = faro_doubling_statistics(d).sum[0];
  bool done = false;
  for (size_t n = 1; !done && n < 100; n++) {
    faro_error refusal = {0};
    alloc_fail_at(n);
    done = faro_doubling_next(d, &refusal) == FARO_OK;
    alloc_reset();
    assert_true(faro_doubling_statistics(d).sum[0] == sum);
  }
  assert_true(done);
  spend(d, &x); /* the successor has its tables */
  faro_doubling_destroy(d);
  faro_secure_close(secure);
}

static void test_double__creation_survives_exhausted_memory(void **state) {
  (void)state;
  const faro_release_params p = tight(64, 8, 2);
  faro_contribution c;
  faro_doubling *d = NULL;
  assert_ok(faro_contribution_values(&c, 1, true, error));
  for (size_t n = 1; !d && n < 100; n++) {
    faro_error refusal = {0};
    alloc_fail_at(n);
    const faro_status status = faro_doubling_create(&d, &faro_release_concurrent_bits, &c, &p,
                                                    faro_source_simulated(&noise), &refusal);
    alloc_reset();
    assert_int_equal(status == FARO_OK, d != NULL);
  }
  assert_non_null(d);
  faro_doubling_destroy(d);
}

/* The sums contain the noise of both releases. */
static void test_laplace__doubling_counts_all_noises(void **state) {
  (void)state;
  faro_release_params p = tight(20, 10, 0);
  p.delta = 0.1;
  faro_doubling *d = make("local-laplace", 1, false, &p, faro_source_simulated(&noise));
  faro_sim_open(&noise, 14, 0, FARO_ROLE_USER);
  spend(d, middle);
  assert_ok(faro_doubling_next(d, error));
  assert_true(faro_doubling_noise(d).summands == 60 && faro_doubling_noise(d).laplace == 1);
  faro_doubling_destroy(d);
}

/* A user's rounds may be in several releases that double only if that costs no more than in one. */
static void test_double__is_allowed_at_user_level_only_if_rounds_split(void **state) {
  (void)state;
  static const char *const yes[] = {"local",           "central-tree",  "shuffle-bits",
                                    "concurrent-bits", "central-bits",  "central",
                                    "central-laplace", "local-laplace", "shuffle-laplace"};
  static const char *const no[] = {"shuffle-amplified", "central-factored", "shuffle-gaussian"};
  faro_release_params p = tight(1000, 10, 0);
  p.level = FARO_LEVEL_USER;
  p.contributions = 4;
  for (int i = 0; i < 9; i++)
    faro_doubling_destroy(make(yes[i], D, false, &p, faro_source_simulated(&noise)));
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  for (int i = 0; i < 3; i++) {
    faro_doubling *d = NULL;
    faro_error refusal = {0};
    assert_int_equal(faro_doubling_create(&d, faro_release_kind_find(no[i]), &c, &p,
                                          faro_source_simulated(&noise), &refusal),
                     FARO_INVALID);
    assert_int_equal(strncmp(refusal.message, "contributions must be 1", 23), 0);
    assert_null(d);
  }
}

/* M0 is not limited to the batches of the first horizon: a user in all of the first may still come
 * to the next. However M0 rounds are spread over releases of 1, 2, 4, ... batches, they cost no
 * more than the budget. */
static void test_double__rounds_spread_over_releases_stay_within_the_budget(void **state) {
  (void)state;
  enum { EPOCHS = 4, M0 = 5 };
  /* Squared mu of m rounds in one epoch, at worst: consecutive batches, aligned. */
  double cost[EPOCHS][M0 + 1];
  for (int e = 0; e < EPOCHS; e++) {
    faro_release_params p = {.epsilon = 1,
                             .delta = 1e-3,
                             .horizon = UINT64_C(2) << e,
                             .batch = 2,
                             .level = FARO_LEVEL_USER,
                             .contributions = M0,
                             .anytime = true,
                             .calibration = FARO_CALIBRATION_TIGHT};
    faro_contribution c;
    faro_release *r = NULL;
    assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
    assert_ok(faro_release_create(&r, &faro_release_concurrent_bits, &c, &p, faro_source_none(), error));
    const faro_bits *s = faro_bits_in(r);
    const double shift = r->contribution.sensitivity / s->step;
    for (uint64_t m = 0; m <= M0; m++) {
      cost[e][m] = 0;
      for (size_t i = 0; i < s->levels; i++) {
        const uint64_t most = s->level[i].unit < m ? s->level[i].unit : m;
        cost[e][m] += (double)(m * most) * 4 * shift * shift / (double)s->level[i].noise->noise;
      }
      if (m > UINT64_C(1) << e) cost[e][m] = cost[e][m - 1]; /* there are not that many batches */
    }
    faro_release_destroy(r);
  }
  double worst = 0;
  for (int code = 0; code < (M0 + 1) * (M0 + 1) * (M0 + 1) * (M0 + 1); code++) {
    int rest = code;
    int rounds = 0;
    double sum = 0;
    for (int e = 0; e < EPOCHS; e++, rest /= M0 + 1) {
      rounds += rest % (M0 + 1);
      sum += cost[e][rest % (M0 + 1)];
    }
    if (rounds <= M0) worst = fmax(worst, sum);
  }
  assert_true(faro_gaussian_delta(sqrt(worst), 1) <= 1e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_double__sums_continue_and_noise_adds),
      cmocka_unit_test(test_double__is_one_release_after_another),
      cmocka_unit_test(test_double__a_release_that_never_doubles_is_itself),
      cmocka_unit_test(test_double__waits_until_the_release_is_spent),
      cmocka_unit_test(test_double__without_a_source_only_answers_questions),
      cmocka_unit_test(test_double__keeps_the_old_release_if_memory_runs_out),
      cmocka_unit_test(test_double__creation_survives_exhausted_memory),
      cmocka_unit_test(test_laplace__doubling_counts_all_noises),
      cmocka_unit_test(test_double__is_allowed_at_user_level_only_if_rounds_split),
      cmocka_unit_test(test_double__rounds_spread_over_releases_stay_within_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
