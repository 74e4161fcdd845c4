/* Private estimates: what one person can change, how much noise there is, and that nothing else
 * than noise separates them from the plain estimates. What is handed to the release passes through
 * the test's hands (--wrap). */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "support/logs.h"

enum { LENGTH_MAX = 8, SEEN_MAX = 200000 };

static size_t length;      /* of contributions */
static double radius;      /* of their ball */
static double sensitivity; /* what the noise was made for */
static double (*seen)[LENGTH_MAX];
static size_t seen_count;
static faro_release *made;

faro_status __real_faro_release_create(faro_release **release, const faro_release_kind *kind,
                                       const faro_contribution *contribution,
                                       const faro_release_params *params, faro_source source,
                                       faro_error *error);
faro_status __wrap_faro_release_create(faro_release **release, const faro_release_kind *kind,
                                       const faro_contribution *contribution,
                                       const faro_release_params *params, faro_source source,
                                       faro_error *error);
faro_status __wrap_faro_release_create(faro_release **release, const faro_release_kind *kind,
                                       const faro_contribution *contribution,
                                       const faro_release_params *params, faro_source source,
                                       faro_error *error) {
  length = contribution->length;
  radius = contribution->norm;
  sensitivity = contribution->sensitivity;
  const faro_status status = __real_faro_release_create(release, kind, contribution, params, source, error);
  made = status == FARO_OK ? *release : NULL;
  return status;
}

bool __real_faro_release_absorb(faro_release *release, const double *x, double y);
bool __wrap_faro_release_absorb(faro_release *release, const double *x, double y);
bool __wrap_faro_release_absorb(faro_release *release, const double *x, double y) {
  if (seen && seen_count < SEEN_MAX) memcpy(seen[seen_count++], x, length * sizeof *x);
  return __real_faro_release_absorb(release, x, y);
}

static faro_sim_rng stream;

static faro_private_evaluator *make(faro_private_evaluator_params p, uint64_t seed) {
  faro_private_evaluator *e = NULL;
  if (p.epsilon == 0) p.epsilon = 1;
  if (p.delta == 0) p.delta = 1e-6;
  if (!p.kind) p.kind = faro_evaluate_kind(FARO_TRUST_JOINT);
  if (p.high == p.low) p.high = p.low + 1;
  faro_sim_open(&stream, seed, 0, FARO_ROLE_USER);
  assert_ok(faro_private_evaluator_create(&e, &p, faro_source_simulated(&stream), error));
  return e;
}

static void add(faro_private_evaluator *e, faro_logged row) {
  assert_ok(faro_private_evaluator_add(e, &row, error));
}

static faro_private_evaluation finish(faro_private_evaluator *e) {
  faro_private_evaluation out;
  assert_ok(faro_private_evaluator_finish(e, &out, error));
  faro_private_evaluator_destroy(e);
  return out;
}

/* ---- influence */

/* Rows at every corner, and beyond what is allowed: all of it must be clipped. */
static const double weights[] = {0, 0.5, 1, 3, 4, 9};
static const double rewards[] = {-1000, -1, 0, 0.25, 1, 2, 1000};
static const double values[] = {-7, -1, 0.3, 2, 9};

static faro_logged corner(size_t number, uint64_t person) {
  enum { W = sizeof weights / sizeof *weights, R = sizeof rewards / sizeof *rewards };
  enum { V = sizeof values / sizeof *values };
  const double w = weights[number % W];
  return (faro_logged){.reward = rewards[number / W % R],
                       .propensity = w > 1 ? 1 / w : 1,
                       .target = w > 1 ? 1 : w,
                       .value = values[number / W / R % V],
                       .prediction = values[number / W / R / V % V],
                       .person = person};
}
enum { CORNERS = 6 * 7 * 5 * 5 };

static double distance(const double *a, const double *b) {
  double square = 0;
  for (size_t i = 0; i < length; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(square);
}

/* No two people's contributions are farther apart than the noise was made for, and none is outside
 * the ball: the release need not clip again. Returns the greatest distance. */
static double check_influence(void) {
  static const double centre[LENGTH_MAX] = {0};
  double most = 0;
  for (size_t i = 0; i < seen_count; i++) {
    assert_true(distance(seen[i], centre) <= radius * (1 + 1e-9));
    for (size_t j = 0; j < i; j++) most = fmax(most, distance(seen[i], seen[j]));
  }
  assert_true(most <= sensitivity * (1 + 1e-9));
  return most;
}

static void begin_seeing(void) {
  seen = calloc(SEEN_MAX, sizeof *seen);
  seen_count = 0;
  assert_non_null(seen);
}

static void end_seeing(void) {
  free(seen);
  seen = NULL;
}

static void test_influence__of_one_row(void **state) {
  (void)state;
  for (int model = 0; model < 2; model++) {
    begin_seeing();
    faro_private_evaluator *e = make(
        (faro_private_evaluator_params){
            .low = -1, .high = 2, .clip = 4, .residual = model ? 1.5 : 0, .model = model, .people = CORNERS},
        1);
    for (size_t i = 0; i < CORNERS; i++) add(e, corner(i, i));
    (void)finish(e);
    assert_int_equal(seen_count, CORNERS);
    assert_true(check_influence() > 0.8 * sensitivity); /* and no noise is wasted */
    end_seeing();
  }
}

/* Whatever a row says, it is taken: what cannot be used counts as zeros, which are in the ball. */
static void test_influence__of_rows_that_cannot_be_used_is_that_of_none(void **state) {
  (void)state;
  const double nan = (double)NAN;
  const faro_logged bad[] = {{.reward = 1, .propensity = 0, .target = 1},
                             {.reward = 1, .propensity = nan, .target = 1},
                             {.reward = 1, .propensity = 1.5, .target = 1},
                             {.reward = nan, .propensity = 1, .target = 1},
                             {.reward = 1, .propensity = 1, .target = 2},
                             {.reward = 1, .propensity = 1, .target = -1},
                             {.reward = 1, .propensity = 1, .target = 1, .value = nan},
                             {.reward = 1, .propensity = 1, .target = 1, .prediction = (double)INFINITY},
                             {.arm = 9, .reward = 1, .propensity = 1, .target = 1}};
  enum { BAD = sizeof bad / sizeof *bad };
  for (uint64_t contributions = 0; contributions < 3; contributions += 2) {
    begin_seeing();
    faro_private_evaluator *e = make((faro_private_evaluator_params){.arms = 2,
                                                                     .low = -1,
                                                                     .high = 2,
                                                                     .clip = 4,
                                                                     .model = true,
                                                                     .people = contributions ? 0 : BAD + 1,
                                                                     .contributions = contributions},
                                     1);
    for (size_t i = 0; i < BAD; i++) {
      faro_logged row = bad[i];
      row.person = i;
      add(e, row);
    }
    add(e, (faro_logged){.reward = 1, .propensity = 0.5, .target = 1, .person = BAD});
    (void)finish(e);
    assert_int_equal(seen_count, BAD + 1);
    for (size_t i = 1; i < BAD; i++) assert_memory_equal(seen[i], seen[0], length * sizeof **seen);
    assert_true(distance(seen[BAD], seen[0]) > 0.1);
    (void)check_influence();
    end_seeing();
  }
}

/* People with none to more than M rows, alike and mixed. */
static void test_influence__of_all_rows_of_a_person(void **state) {
  (void)state;
  enum { M = 3, PEOPLE = 3 * CORNERS };
  begin_seeing();
  faro_private_evaluator *e = make(
      (faro_private_evaluator_params){.low = -1, .high = 2, .clip = 4, .model = true, .contributions = M}, 1);
  for (uint64_t person = 0; person < PEOPLE; person++)
    for (size_t k = 0; k < 1 + person % 5; k++)
      add(e, corner((size_t)(person % 3 == 0 ? person : person * 31 + k * 577) % CORNERS, person));
  (void)finish(e);
  assert_int_equal(seen_count, PEOPLE);
  (void)check_influence();
  end_seeing();
}

/* ---- noise */

static void fill(faro_private_evaluator *e, size_t rows) {
  for (size_t i = 0; i < rows; i++)
    add(e, (faro_logged){.reward = i % 3 == 0, .propensity = 0.25, .target = i % 2 ? 0.5 : 0.2});
}

/* The noise of the release is at least sensitivity / mu in every entry, and the estimates have the
 * noise that is stated: their spread over the seeds is nothing else. False alarm: FALSE_ALARM. */
static void test_noise__is_what_the_claim_needs(void **state) {
  (void)state;
  enum { RUNS = 2000, PEOPLE = 400 };
  double sum[2] = {0};
  double square[2] = {0};
  faro_private_evaluation out = {0};
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_private_evaluator *e = make((faro_private_evaluator_params){.clip = 2, .people = PEOPLE}, run);
    fill(e, PEOPLE);
    if (run == 0)
      for (size_t i = 0; i < length; i++)
        assert_true(faro_release_scale(made, i) >= sensitivity / faro_gaussian_mu(1, 1e-6) * (1 - 1e-6));
    out = finish(e);
    const double value[] = {out.of[FARO_METHOD_IPS].value, out.of[FARO_METHOD_LOGGED].value};
    for (int i = 0; i < 2; i++) sum[i] += value[i], square[i] += value[i] * value[i];
  }
  const faro_method methods[] = {FARO_METHOD_IPS, FARO_METHOD_LOGGED};
  for (int i = 0; i < 2; i++) {
    const double mean = sum[i] / RUNS;
    const double noise = out.noise[methods[i]];
    assert_variance((square[i] - RUNS * mean * mean) / (RUNS - 1), noise * noise, 3, RUNS);
  }
}

/* With next to no noise they are the plain estimates. */
static void test_private__without_noise_is_plain(void **state) {
  (void)state;
  enum { PEOPLE = 3000 };
  const log_world w = log_world_make(0.5, 0.8, false);
  for (uint64_t M = 0; M <= 1; M++) {
    faro_private_evaluator *e = make((faro_private_evaluator_params){.epsilon = 1000,
                                                                     .delta = 0.9,
                                                                     .clip = 6,
                                                                     .model = true,
                                                                     .people = M ? 0 : PEOPLE,
                                                                     .contributions = M},
                                     1);
    faro_evaluator *plain = NULL;
    const faro_evaluator_params params = {.arms = LOG_ARMS, .high = 1, .clip = 6, .model = true};
    assert_ok(faro_evaluator_create(&plain, &params, error));
    faro_sim_rng rng;
    faro_sim_open(&rng, 3, 0, FARO_ROLE_VISITOR);
    for (size_t i = 0; i < PEOPLE; i++) {
      faro_logged row;
      size_t k = 0;
      log_draw(&w, &rng, i, &k, &row);
      row.prediction = w.mean[k][row.arm];
      row.value = 0.5;
      add(e, row);
      assert_ok(faro_evaluator_add(plain, &row, error));
    }
    faro_evaluation b;
    faro_evaluator_result(plain, &b);
    faro_evaluator_destroy(plain);
    const faro_private_evaluation a = finish(e);
    const faro_method methods[] = {FARO_METHOD_LOGGED, FARO_METHOD_IPS, FARO_METHOD_SNIPS, FARO_METHOD_DR};
    for (size_t i = 0; i < 4; i++) {
      assert_close(a.of[methods[i]].value, b.of[methods[i]].value, 5e-3);
      assert_true(a.of[methods[i]].error >= b.of[methods[i]].error * 0.99); /* never more certain */
      assert_true(a.of[methods[i]].error <= b.of[methods[i]].error * 2);
    }
    assert_close(a.mean, b.mean - b.cut * b.mean, 5e-3);
    assert_true(a.effective <= b.effective);
  }
}

/* ---- people */

static void test_people__rows_beyond_the_most_change_nothing(void **state) {
  (void)state;
  enum { PEOPLE = 200, M = 2 };
  faro_private_evaluation out[2];
  for (size_t extra = 0; extra < 2; extra++) {
    faro_private_evaluator *e = make((faro_private_evaluator_params){.clip = 4, .contributions = M}, 9);
    for (size_t turn = 0; turn < M + 5 * extra; turn++)
      for (uint64_t i = 0; i < PEOPLE; i++)
        add(e, (faro_logged){.reward = turn < M ? (double)(i % 2) : 1,
                             .propensity = 0.5,
                             .target = turn < M ? 0.5 : 1,
                             .person = i});
    out[extra] = finish(e);
  }
  assert_memory_equal(&out[0].of, &out[1].of, sizeof out[0].of);
  assert_int_equal(out[0].claim.level, FARO_LEVEL_USER);
  assert_int_equal(out[0].claim.contributions, M);
  assert_true(out[0].claim.proven);
}

static void test_claims__say_what_was_asked_for(void **state) {
  (void)state;
  const faro_trust trusts[] = {FARO_TRUST_JOINT, FARO_TRUST_SHUFFLE, FARO_TRUST_LOCAL};
  for (size_t t = 0; t < 3; t++) {
    faro_private_evaluator *e = make(
        (faro_private_evaluator_params){.kind = faro_evaluate_kind(trusts[t]), .clip = 4, .people = 100}, 1);
    fill(e, 100);
    const faro_private_evaluation out = finish(e);
    assert_true(out.claim.proven);
    assert_int_equal(out.claim.trust, trusts[t]);
    assert_int_equal(out.claim.level, FARO_LEVEL_EVENT);
    assert_true(out.claim.epsilon <= 1 && out.claim.delta <= 1e-6);
    if (trusts[t] == FARO_TRUST_JOINT) assert_string_equal(faro_claim_trust(&out.claim), "central");
  }
  assert_null(faro_evaluate_kind(FARO_TRUST_NONE));
  assert_null(faro_evaluate_kind(FARO_TRUST_CONCURRENT));
}

/* Where noise leaves nothing to say, nothing is said. */
static void test_private__noise_leaves_nothing(void **state) {
  (void)state;
  faro_private_evaluator *e =
      make((faro_private_evaluator_params){.epsilon = 0.01, .clip = 50, .people = 50}, 1);
  fill(e, 50);
  const faro_private_evaluation out = finish(e);
  assert_true(out.doubts & 1U << FARO_DOUBT_FEW);
  const faro_method methods[] = {FARO_METHOD_IPS, FARO_METHOD_SNIPS};
  for (size_t i = 0; i < 2; i++) {
    assert_true(out.of[methods[i]].silence != FARO_SILENCE_NOTHING);
    assert_true(isnan(out.of[methods[i]].low) && isnan(out.of[methods[i]].high));
  }
}

static void test_private__wrong_propensities_are_doubted(void **state) {
  (void)state;
  enum { PEOPLE = 5000 };
  for (int wrong = 0; wrong < 2; wrong++) {
    faro_private_evaluator *e = make((faro_private_evaluator_params){.clip = 4, .people = PEOPLE}, 1);
    for (size_t i = 0; i < PEOPLE; i++)
      add(e, (faro_logged){.reward = i % 3 == 0, .propensity = wrong ? 0.35 : 0.25, .target = i % 4 == 0});
    const faro_private_evaluation out = finish(e);
    assert_int_equal(out.doubts, wrong ? 1U << FARO_DOUBT_WEIGHTS : 0);
    char text[FARO_DOUBT_SIZE];
    assert_true(strlen(faro_private_evaluation_doubt(&out, FARO_DOUBT_WEIGHTS, text)) > 20);
  }
}

/* ---- what is refused */

static void test_private__refuses(void **state) {
  (void)state;
  const faro_release_kind *kind = faro_evaluate_kind(FARO_TRUST_JOINT);
  const faro_private_evaluator_params good = {
      .epsilon = 1, .delta = 1e-6, .kind = kind, .high = 1, .clip = 2, .people = 10};
  faro_private_evaluator_params bad[9];
  for (size_t i = 0; i < 9; i++) bad[i] = good;
  bad[0].kind = NULL;
  bad[1].clip = 0;
  bad[2].clip = NAN;
  bad[3].residual = 2;
  bad[4].people = 0;
  bad[5].high = 0;
  bad[6].epsilon = 0;
  bad[7].contributions = 2000000;
  bad[8].confidence = 0.1;
  faro_private_evaluator *e = NULL;
  faro_sim_open(&stream, 1, 0, FARO_ROLE_USER);
  for (size_t i = 0; i < 9; i++) {
    faro_error error = {0};
    assert_int_equal(faro_private_evaluator_create(&e, &bad[i], faro_source_simulated(&stream), &error),
                     FARO_INVALID);
    assert_null(e);
    assert_true(*error.message);
  }
  assert_int_equal(faro_private_evaluator_create(&e, &good, faro_source_none(), NULL), FARO_INVALID);
}

static void test_private__announced_rows_must_come(void **state) {
  (void)state;
  faro_private_evaluation out;
  faro_private_evaluator *e = make((faro_private_evaluator_params){.clip = 2, .people = 40}, 1);
  fill(e, 39);
  assert_int_equal(faro_private_evaluator_finish(e, &out, NULL), FARO_INVALID);
  assert_null(faro_private_evaluator_grounds(e));
  fill(e, 1);
  const faro_logged more = {.reward = 1, .propensity = 1, .target = 1};
  assert_int_equal(faro_private_evaluator_add(e, &more, NULL), FARO_INVALID);
  assert_ok(faro_private_evaluator_finish(e, &out, error));
  assert_int_equal(faro_private_evaluator_finish(e, &out, NULL), FARO_INVALID); /* once */
  assert_int_equal(faro_private_evaluator_add(e, &more, NULL), FARO_INVALID);
  char *grounds = faro_private_evaluator_grounds(e);
  assert_non_null(grounds);
  free(grounds);
  faro_private_evaluator_destroy(e);
}

static void test_private__survives_exhaustion(void **state) {
  (void)state;
  faro_private_evaluator *e = NULL;
  const faro_private_evaluator_params params = {.epsilon = 1,
                                                .delta = 1e-6,
                                                .kind = faro_evaluate_kind(FARO_TRUST_JOINT),
                                                .high = 1,
                                                .clip = 2,
                                                .people = 10};
  faro_sim_open(&stream, 1, 0, FARO_ROLE_USER);
  assert_survives_exhaustion(
      faro_private_evaluator_create(&e, &params, faro_source_simulated(&stream), error));
  faro_private_evaluator_destroy(e);
  faro_private_evaluator_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_influence__of_one_row),
      cmocka_unit_test(test_influence__of_rows_that_cannot_be_used_is_that_of_none),
      cmocka_unit_test(test_influence__of_all_rows_of_a_person),
      cmocka_unit_test(test_noise__is_what_the_claim_needs),
      cmocka_unit_test(test_private__without_noise_is_plain),
      cmocka_unit_test(test_people__rows_beyond_the_most_change_nothing),
      cmocka_unit_test(test_claims__say_what_was_asked_for),
      cmocka_unit_test(test_private__noise_leaves_nothing),
      cmocka_unit_test(test_private__wrong_propensities_are_doubted),
      cmocka_unit_test(test_private__refuses),
      cmocka_unit_test(test_private__announced_rows_must_come),
      cmocka_unit_test(test_private__survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
