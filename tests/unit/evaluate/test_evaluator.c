/* Estimates from logs against closed forms, against all possible logs of a small world, and against
 * a second implementation with arrays. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "evaluate/people.h"
#include "evaluate/ratio.h"
#include "support/logs.h"

static faro_evaluator *make(faro_evaluator_params params) {
  faro_evaluator *e = NULL;
  if (params.arms == 0) params.arms = LOG_ARMS;
  if (params.high == 0) params.high = 1;
  assert_ok(faro_evaluator_create(&e, &params, error));
  return e;
}

static void add(faro_evaluator *e, faro_logged row) { assert_ok(faro_evaluator_add(e, &row, error)); }

static faro_evaluation finish(faro_evaluator *e) {
  faro_evaluation out;
  faro_evaluator_result(e, &out);
  faro_evaluator_destroy(e);
  return out;
}

/* ---- ratio */

static void test_ratio__is_that_of_arrays(void **state) {
  (void)state;
  enum { N = 500 };
  double u[N];
  double v[N];
  faro_sim_rng rng;
  faro_ratio r = {.pivot = 1e6};
  faro_sim_open(&rng, 1, 0, FARO_ROLE_REWARD);
  double su = 0;
  double sv = 0;
  for (int i = 0; i < N; i++) {
    v[i] = 1 + faro_sim_uniform(&rng);
    u[i] = v[i] * exp(faro_sim_normal(&rng)) + 1e6; /* a large mean: sums of squares would lose it */
    su += u[i];
    sv += v[i];
    faro_ratio_add(&r, u[i], v[i]);
  }
  const double theta = su / sv;
  double square = 0;
  double cube = 0;
  for (int i = 0; i < N; i++) {
    square += pow(u[i] - theta * v[i], 2);
    cube += pow(u[i] - theta * v[i], 3);
  }
  const double s = sqrt(square / (N - 1));
  assert_close(faro_ratio_value(&r), theta, 1e-9 * theta);
  assert_close(faro_ratio_error(&r), s / sqrt(N) / (sv / N), 1e-6 * s);
  assert_close(faro_ratio_skewness(&r), cube / N / (s * s * s), 1e-6);
}

static void test_ratio__quantiles(void **state) {
  (void)state;
  assert_close(faro_normal_quantile(0.95), 1.959963984540054, 1e-12);
  assert_close(faro_normal_quantile(0.5), 0.6744897501960817, 1e-12);
  assert_close(faro_normal_quantile(1 - 1e-9), 6.109410204869, 1e-7);
  assert_close(faro_student_quantile(0.95, 10), 2.228138852, 1e-4);
  assert_close(faro_student_quantile(0.95, 29), 2.045229642, 1e-6);
  assert_close(faro_student_quantile(0.99, 100), 2.625890521, 1e-6);
}

/* The cubic that Hall's interval inverts, and its limits. */
static void test_ratio__interval_inverts_halls_cubic(void **state) {
  (void)state;
  faro_ratio r = {0};
  for (int i = 0; i < 200; i++) faro_ratio_add(&r, i % 20 == 0 ? 10 : i % 3, 1);
  const faro_ratio_query query = {FARO_BOUNDS_SKEW, 0.95, 200, 0};
  double low = 0;
  double high = 0;
  faro_ratio_interval(&r, &query, &low, &high);
  const double a = faro_ratio_skewness(&r) / sqrt(200);
  const double ends[] = {low, high};
  for (int i = 0; i < 2; i++) {
    const double t = (faro_ratio_value(&r) - ends[i]) / faro_ratio_error(&r);
    const double y = t + a * t * t / 3 + a * a * t * t * t / 27 + a / 6;
    assert_close(y, (i ? -1 : 1) * faro_student_quantile(0.95, 199), 1e-9);
  }
  assert_true(high - faro_ratio_value(&r) > faro_ratio_value(&r) - low); /* a long tail above */
}

static void test_ratio__bernstein_is_that_of_the_theorem(void **state) {
  (void)state;
  faro_ratio r = {0};
  for (int i = 0; i < 100; i++) faro_ratio_add(&r, i < 30, 1);
  const faro_ratio_query query = {FARO_BOUNDS_BERNSTEIN, 0.95, 100, 2};
  double low = 0;
  double high = 0;
  faro_ratio_interval(&r, &query, &low, &high);
  const double variance = 0.3 * 0.7 * 100 / 99;
  const double half = sqrt(2 * variance * log(80) / 100) + 7 * 2 * log(80) / (3 * 99.0);
  assert_close(high, 0.3 + half, 1e-12);
  assert_close(low, 0.3 - half, 1e-12);
}

/* ---- people */

static void test_people__keeps_apart_what_differs(void **state) {
  (void)state;
  enum { PEOPLE = 5000 };
  faro_people p;
  faro_people_init(&p, 2);
  for (uint64_t turn = 0; turn < 3; turn++)
    for (uint64_t i = 0; i < PEOPLE; i++) {
      double *own = faro_people_find(&p, i << 40, NULL); /* ids with a pattern */
      assert_non_null(own);
      own[0] += 1;
      own[1] = (double)i;
    }
  assert_int_equal(p.count, PEOPLE);
  for (uint64_t i = 0; i < PEOPLE; i++) {
    const double *own = faro_people_find(&p, i << 40, NULL);
    assert_true(own[0] == 3 && own[1] == (double)i);
  }
  faro_people_clear(&p);
}

static void test_people__survives_exhaustion(void **state) {
  (void)state;
  faro_people p;
  faro_people_init(&p, 3);
  uint64_t id = 0;
  for (size_t number = 1; number <= 3; number++) {
    faro_error error = {0};
    alloc_fail_at(number);
    assert_null(faro_people_find(&p, id, &error));
    assert_int_equal(error.status, FARO_MEMORY);
  }
  alloc_fail_at(0);
  for (; id < 1024; id++) assert_non_null(faro_people_find(&p, id, NULL));
  alloc_fail_at(3);
  assert_null(faro_people_find(&p, id, NULL)); /* it cannot grow, and keeps what it has */
  alloc_fail_at(0);
  assert_non_null(faro_people_find(&p, id, NULL));
  assert_int_equal(p.count, 1025);
  faro_people_clear(&p);
}

/* ---- all logs of a small world */

enum { SMALL_CONTEXTS = 2, SMALL_ARMS = 2, OUTCOMES = SMALL_CONTEXTS * SMALL_ARMS * 2 };

static const double small_mean[SMALL_CONTEXTS][SMALL_ARMS] = {{0.2, 0.7}, {0.9, 0.4}};
static const double small_logging[SMALL_CONTEXTS][SMALL_ARMS] = {{0.75, 0.25}, {0.4, 0.6}};
static const double small_target[SMALL_CONTEXTS][SMALL_ARMS] = {{0.1, 0.9}, {0.8, 0.2}};
static const double small_wrong[SMALL_CONTEXTS][SMALL_ARMS] = {{0.5, 0.5}, {0.9, 0.1}};
static const double small_model[SMALL_CONTEXTS][SMALL_ARMS] = {{0.6, 0.1}, {0.3, 0.8}};

typedef const double table[SMALL_CONTEXTS][SMALL_ARMS];

/* The probability of an outcome (context, arm, reward), and its row. */
static double outcome(int number, table propensity, table model, faro_logged *row) {
  const int k = number & 1;
  const size_t a = number >> 1 & 1;
  const int reward = number >> 2;
  *row = (faro_logged){.arm = a,
                       .reward = reward,
                       .propensity = propensity[k][a],
                       .target = small_target[k][a],
                       .targets = small_target[k],
                       .prediction = model[k][a]};
  for (size_t b = 0; b < SMALL_ARMS; b++) row->value += small_target[k][b] * model[k][b];
  const double p = small_mean[k][a];
  return small_logging[k][a] * (reward ? p : 1 - p) / SMALL_CONTEXTS;
}

/* The mean of a method over all logs of two rows. */
static double expectation(faro_method method, table propensity, table model) {
  double sum = 0;
  double total = 0;
  for (int i = 0; i < OUTCOMES; i++)
    for (int j = 0; j < OUTCOMES; j++) {
      faro_logged first;
      faro_logged second;
      const double p = outcome(i, propensity, model, &first) * outcome(j, propensity, model, &second);
      faro_evaluator *e = make((faro_evaluator_params){.arms = SMALL_ARMS, .model = true});
      add(e, first);
      add(e, second);
      sum += p * finish(e).of[method].value;
      total += p;
    }
  assert_close(total, 1, 1e-12);
  return sum;
}

static double small_truth(void) {
  double sum = 0;
  for (int k = 0; k < SMALL_CONTEXTS; k++)
    for (int a = 0; a < SMALL_ARMS; a++) sum += small_target[k][a] * small_mean[k][a] / SMALL_CONTEXTS;
  return sum;
}

static void test_methods__are_unbiased_where_they_should_be(void **state) {
  (void)state;
  const double truth = small_truth();
  assert_close(expectation(FARO_METHOD_IPS, small_logging, small_model), truth, 1e-12);
  assert_close(expectation(FARO_METHOD_DR, small_logging, small_model), truth, 1e-12);
  assert_close(expectation(FARO_METHOD_DR, small_wrong, small_mean), truth, 1e-12);
  const double logged = expectation(FARO_METHOD_LOGGED, small_logging, small_model);
  assert_close(expectation(FARO_METHOD_GAIN, small_logging, small_model), truth - logged, 1e-12);
  assert_close(expectation(FARO_METHOD_DIRECT, small_wrong, small_mean), truth, 1e-12);
  /* and where they should not, the test would see it */
  assert_true(fabs(expectation(FARO_METHOD_IPS, small_wrong, small_model) - truth) > 0.05);
  assert_true(fabs(expectation(FARO_METHOD_DR, small_wrong, small_model) - truth) > 0.05);
  assert_true(fabs(expectation(FARO_METHOD_DIRECT, small_logging, small_model) - truth) > 0.05);
  assert_true(fabs(expectation(FARO_METHOD_SNIPS, small_logging, small_model) - truth) > 0.001);
}

/* ---- a second implementation */

enum { ROWS = 2000 };

typedef struct arrays {
  faro_logged row[ROWS];
  double w[ROWS];
} arrays;

static void draw(arrays *log, double sharp) {
  static log_world w; /* rows point into it */
  w = log_world_make(sharp, 0.8, false);
  faro_sim_rng rng;
  faro_sim_open(&rng, 5, 0, FARO_ROLE_VISITOR);
  for (size_t i = 0; i < ROWS; i++) {
    size_t k = 0;
    log_draw(&w, &rng, i, &k, &log->row[i]);
    log->row[i].prediction = 0.3 + 0.1 * (double)(i % 4);
    log->row[i].value = 0.4 + 0.05 * (double)(i % 3);
    log->w[i] = log->row[i].target / log->row[i].propensity;
  }
}

static void spread_of(const double *term, double divisor, double *mean, double *error) {
  *mean = *error = 0;
  for (size_t i = 0; i < ROWS; i++) *mean += term[i] / ROWS;
  for (size_t i = 0; i < ROWS; i++) *error += (term[i] - *mean) * (term[i] - *mean);
  *error = sqrt(*error / (ROWS - 1) / ROWS) / divisor;
}

static void test_evaluator__is_that_of_arrays(void **state) {
  (void)state;
  static arrays log;
  static double term[ROWS];
  draw(&log, 0.5);
  faro_evaluator *e =
      make((faro_evaluator_params){.model = true, .accept = 100, .interval = FARO_BOUNDS_NORMAL});
  double sums[5] = {0};
  double matched = 0;
  for (size_t i = 0; i < ROWS; i++) {
    add(e, log.row[i]);
    sums[0] += log.w[i];
    sums[1] += log.w[i] * log.row[i].reward;
    sums[2] += log.w[i] * log.w[i];
    sums[3] += 1 / log.row[i].propensity;
    sums[4] += log.row[i].reward / log.row[i].propensity;
    matched += log.row[i].target > 0;
  }
  const faro_evaluation v = finish(e);
  assert_close(v.of[FARO_METHOD_SNIPS].value, sums[1] / sums[0], 1e-12);
  assert_close(v.of[FARO_METHOD_UNIFORM].value, sums[4] / sums[3], 1e-12);
  assert_close(v.effective, sums[0] * sums[0] / sums[2], 1e-9);
  assert_close(v.mean, sums[0] / ROWS, 1e-12);
  assert_close(v.matched, matched / ROWS, 1e-12);
  double mean = 0;
  double error = 0;
  for (size_t i = 0; i < ROWS; i++) term[i] = log.w[i] * log.row[i].reward;
  spread_of(term, 1, &mean, &error);
  assert_close(v.of[FARO_METHOD_IPS].value, mean, 1e-12);
  assert_close(v.of[FARO_METHOD_IPS].error, error, 1e-12);
  assert_close(v.of[FARO_METHOD_IPS].high, mean + faro_student_quantile(0.95, v.effective - 1) * error,
               1e-12);
  for (size_t i = 0; i < ROWS; i++)
    term[i] = log.row[i].value + log.w[i] * (log.row[i].reward - log.row[i].prediction);
  spread_of(term, 1, &mean, &error);
  assert_close(v.of[FARO_METHOD_DR].value, mean, 1e-12);
  assert_close(v.of[FARO_METHOD_DR].error, error, 1e-12);
  for (size_t i = 0; i < ROWS; i++) term[i] -= log.row[i].reward;
  spread_of(term, 1, &mean, &error);
  assert_close(v.of[FARO_METHOD_GAIN].value, mean, 1e-12);
  assert_close(v.of[FARO_METHOD_GAIN].error, error, 1e-12);
  for (size_t i = 0; i < ROWS; i++) term[i] = log.w[i] * (log.row[i].reward - sums[1] / sums[0]);
  spread_of(term, sums[0] / ROWS, &mean, &error);
  assert_close(v.of[FARO_METHOD_SNIPS].error, error, 1e-12);
}

/* Rewards around a billion: nothing is lost to rounding that the rewards themselves have. */
static void test_evaluator__large_rewards(void **state) {
  (void)state;
  static arrays log;
  draw(&log, 0.5);
  faro_evaluator *plain = make((faro_evaluator_params){.model = true});
  faro_evaluator *moved = make((faro_evaluator_params){.model = true, .low = 1e9, .high = 1e9 + 1});
  for (size_t i = 0; i < ROWS; i++) {
    faro_logged row = log.row[i];
    row.prediction = row.value = 0.5;
    add(plain, row);
    row.reward += 1e9;
    row.prediction = row.value = 1e9 + 0.5;
    add(moved, row);
  }
  const faro_evaluation a = finish(plain);
  const faro_evaluation b = finish(moved);
  const faro_method methods[] = {FARO_METHOD_LOGGED, FARO_METHOD_SNIPS, FARO_METHOD_DR};
  for (size_t i = 0; i < 3; i++) { /* ips has another spread: it does not know that all rewards are large */
    assert_close(b.of[methods[i]].value - 1e9, a.of[methods[i]].value, 1e-6);
    assert_close(b.of[methods[i]].error, a.of[methods[i]].error, 1e-7);
    assert_close(b.of[methods[i]].high - 1e9, a.of[methods[i]].high, 1e-6);
  }
}

/* Somebody whose row is there ten times says no more than once. */
static void test_evaluator__rows_of_a_person_count_together(void **state) {
  (void)state;
  static arrays log;
  draw(&log, 0.5);
  faro_evaluator *once = make((faro_evaluator_params){.model = true});
  faro_evaluator *often = make((faro_evaluator_params){.model = true, .people = true});
  for (size_t i = 0; i < ROWS; i++) add(once, log.row[i]);
  for (size_t turn = 0; turn < 10; turn++) /* a person's rows are far apart */
    for (size_t i = 0; i < ROWS; i++) add(often, log.row[i]);
  const faro_evaluation a = finish(once);
  const faro_evaluation b = finish(often);
  assert_int_equal(b.people, ROWS);
  assert_int_equal(b.rows, 10 * ROWS);
  assert_close(a.effective, b.effective, 1e-6);
  for (size_t m = 0; m < FARO_METHODS; m++) {
    if (m == FARO_METHOD_REPLAY || m == FARO_METHOD_DIRECT) continue;
    assert_close(a.of[m].value, b.of[m].value, 1e-12);
    assert_close(a.of[m].error, b.of[m].error, 1e-12);
    assert_close(a.of[m].low, b.of[m].low, 1e-9);
  }
}

/* ---- replay */

static void test_replay__is_the_mean_of_matched_rows(void **state) {
  (void)state;
  faro_evaluator *e = make((faro_evaluator_params){.arms = 3, .accept = 3});
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < 300; i++) {
    const faro_logged row = {
        .arm = i * 7 % 3, .reward = i % 5 == 0, .propensity = 1.0 / 3, .target = i * 7 % 3 == i % 2};
    add(e, row);
    sum += row.target * row.reward;
    count += row.target;
  }
  const faro_evaluation v = finish(e);
  assert_close(v.of[FARO_METHOD_REPLAY].value, sum / count, 1e-12);
  assert_true((double)v.accepted == count);
}

/* Where propensities differ, accepted rows are a sample of the target policy: each arm in its
 * share. */
static void test_replay__accepts_as_the_policy_plays(void **state) {
  (void)state;
  enum { N = 60000 };
  static const double logging[] = {0.6, 0.3, 0.1};
  static const double target[] = {0.2, 0.3, 0.5};
  faro_evaluator *e = make((faro_evaluator_params){.arms = 3, .high = 2, .accept = 5, .seed = 3});
  faro_sim_rng rng;
  faro_sim_open(&rng, 2, 0, FARO_ROLE_VISITOR);
  for (int i = 0; i < N; i++) {
    const double u = faro_sim_uniform(&rng);
    const size_t a = u < 0.6 ? 0 : u < 0.9 ? 1 : 2;
    add(e, (faro_logged){.arm = a, .reward = (double)a, .propensity = logging[a], .target = target[a]});
  }
  const faro_evaluation v = finish(e);
  assert_mean((double)v.accepted / N, 0.2, sqrt(0.2 * 0.8), N); /* 1 / 5 */
  assert_mean(v.of[FARO_METHOD_REPLAY].value, 1.3, sqrt(0.3 + 4 * 0.5 - 1.69), (double)v.accepted);
}

/* ---- doubts */

static faro_evaluation doubted(double sharp, double lie, size_t rows, double clip) {
  log_world w = log_world_make(sharp, 0.8, false);
  faro_sim_rng rng;
  faro_sim_open(&rng, 7, 0, FARO_ROLE_VISITOR);
  faro_evaluator *e = make((faro_evaluator_params){.clip = clip});
  for (size_t i = 0; i < rows; i++) {
    faro_logged row;
    size_t k = 0;
    log_draw(&w, &rng, i, &k, &row);
    row.propensity *= lie;
    add(e, row);
  }
  return finish(e);
}

#define BIT(name) (1U << FARO_DOUBT_##name)

static void test_doubts__are_where_they_should_be(void **state) {
  (void)state;
  assert_int_equal(doubted(0.5, 1, 5000, 0).doubts, 0);
  assert_int_equal(doubted(0.5, 0.8, 5000, 0).doubts, BIT(WEIGHTS) | BIT(PROPENSITIES));
  assert_int_equal(doubted(0.5, 1, 5000, 2).doubts, BIT(CLIPPED));
  assert_true(doubted(4, 1, 500, 0).doubts & BIT(FEW));
  assert_true(doubted(2, 1, 1000, 0).doubts & BIT(SKEWED));
  for (faro_doubt d = 0; d < FARO_DOUBTS; d++) {
    const faro_evaluation v = {.rows = 10, .doubts = 1U << d};
    char text[FARO_DOUBT_SIZE];
    assert_true(strlen(faro_evaluation_doubt(&v, d, text)) > 20);
  }
}

/* With too few effective rows there is a value and no interval. */
static void test_doubts__few_rows_have_no_interval(void **state) {
  (void)state;
  const faro_evaluation v = doubted(4, 1, 500, 0);
  assert_true(v.effective < FARO_EFFECTIVE_LEAST);
  const faro_method weighted[] = {FARO_METHOD_IPS, FARO_METHOD_SNIPS};
  for (size_t i = 0; i < 2; i++) {
    const faro_evaluated *e = &v.of[weighted[i]];
    assert_int_equal(e->silence, FARO_SILENCE_FEW);
    assert_true(isnan(e->low) && isnan(e->high) && isnan(e->error) && isfinite(e->value));
  }
  assert_int_equal(v.of[FARO_METHOD_LOGGED].silence, FARO_SILENCE_NOTHING);
}

static void test_doubts__an_arm_that_was_never_logged(void **state) {
  (void)state;
  static const double targets[] = {0.75, 0, 0.25};
  faro_evaluator *e = make((faro_evaluator_params){.arms = 3});
  for (size_t i = 0; i < 400; i++)
    add(e, (faro_logged){.arm = i % 2,
                         .reward = i % 3 == 0,
                         .propensity = 0.5,
                         .target = targets[i % 2],
                         .targets = targets});
  const faro_evaluation v = finish(e);
  assert_true(v.doubts & BIT(NEVER));
  assert_int_equal(v.missing_arm, 2);
  assert_close(v.missing, 0.25, 1e-12);
  assert_int_equal(v.of[FARO_METHOD_SNIPS].silence, FARO_SILENCE_NEVER);
}

/* An interval of width 0 would pretend. */
static void test_doubts__equal_rewards_have_no_interval(void **state) {
  (void)state;
  faro_evaluator *e = make((faro_evaluator_params){.arms = 2});
  for (size_t i = 0; i < 400; i++)
    add(e, (faro_logged){.arm = i % 2, .reward = 1, .propensity = 0.5, .target = (double)(i % 2)});
  const faro_evaluation v = finish(e);
  assert_int_equal(v.of[FARO_METHOD_SNIPS].silence, FARO_SILENCE_SAME);
  assert_int_equal(v.of[FARO_METHOD_LOGGED].silence, FARO_SILENCE_SAME);
  assert_close(v.of[FARO_METHOD_SNIPS].value, 1, 0);
}

/* ---- what is refused */

static void test_evaluator__refuses_bad_rows(void **state) {
  (void)state;
  static const double sum[] = {0.5, 0.9};
  const faro_logged good = {.arm = 1, .reward = 0.5, .propensity = 0.5, .target = 0.5};
  faro_logged bad[8];
  for (size_t i = 0; i < 8; i++) bad[i] = good;
  bad[0].arm = 2;
  bad[1].reward = NAN;
  bad[2].reward = 1.5;
  bad[3].propensity = 0;
  bad[4].propensity = 1.01;
  bad[5].target = -0.1;
  bad[6].targets = sum;
  bad[7].prediction = INFINITY;
  faro_evaluator *e = make((faro_evaluator_params){.arms = 2, .model = true});
  for (size_t i = 0; i < 8; i++) {
    faro_error error = {0};
    assert_int_equal(faro_evaluator_add(e, &bad[i], &error), FARO_INVALID);
    assert_true(strstr(error.message, "got") != NULL);
  }
  add(e, good);
  const faro_evaluation v = finish(e);
  assert_int_equal(v.rows, 1);
  assert_close(v.of[FARO_METHOD_IPS].value, 0.5, 1e-12);
}

static void test_evaluator__refuses_bad_parameters(void **state) {
  (void)state;
  const faro_evaluator_params bad[] = {
      {.arms = 0, .high = 1},
      {.arms = 1001, .high = 1},
      {.arms = 2, .high = 0},
      {.arms = 2, .low = 2, .high = 1},
      {.arms = 2, .high = INFINITY},
      {.arms = 2, .high = 1, .clip = -1},
      {.arms = 2, .high = 1, .accept = NAN},
      {.arms = 2, .high = 1, .confidence = 1},
      {.arms = 2, .high = 1, .interval = 77},
      {.arms = 2, .high = 1, .interval = FARO_BOUNDS_BERNSTEIN},
      {.arms = 2, .high = 1, .clip = 3, .people = true, .interval = FARO_BOUNDS_BERNSTEIN},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_evaluator *e = NULL;
    faro_error error = {0};
    assert_int_equal(faro_evaluator_create(&e, &bad[i], &error), FARO_INVALID);
    assert_null(e);
    assert_true(*error.message);
  }
}

/* The bound of Bernstein counts on predictions within the interval of rewards; rounding is no
 * reason to refuse. The other intervals take any. */
static void test_evaluator__bernstein_needs_predictions_in_range(void **state) {
  (void)state;
  static const double bad[][2] = {{1.01, 0.5}, {0.5, 1.01}, {-0.01, 0.5}, {0.5, -80}};
  faro_evaluator_params params = {.clip = 3, .model = true, .interval = FARO_BOUNDS_BERNSTEIN};
  faro_evaluator *strict = make(params);
  params.interval = FARO_BOUNDS_SKEW;
  faro_evaluator *other = make(params);
  faro_logged row = {.propensity = 0.5, .target = 0.2, .value = 1 + 1e-12, .prediction = -1e-12};
  add(strict, row);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_error error = {0};
    row.value = bad[i][0];
    row.prediction = bad[i][1];
    assert_int_equal(faro_evaluator_add(strict, &row, &error), FARO_INVALID);
    assert_non_null(strstr(error.message, "predictions must be from 0 to 1"));
    add(other, row);
  }
  assert_int_equal(finish(strict).rows, 1);
  assert_int_equal(finish(other).rows, 4);
}

static void test_evaluator__memory(void **state) {
  (void)state;
  faro_evaluator *e = NULL;
  const faro_evaluator_params params = {.arms = 3, .high = 1, .model = true, .accept = 2};
  assert_survives_exhaustion(faro_evaluator_create(&e, &params, error));
  alloc_reset();
  for (size_t i = 0; i < 1000; i++)
    add(e, (faro_logged){.arm = i % 3, .reward = (double)(i % 2), .propensity = 0.5, .target = 0.2});
  assert_int_equal(alloc_count(), 0); /* nothing is allocated per row */
  faro_evaluator_destroy(e);
  faro_evaluator_destroy(NULL);
}

/* An empty log has nothing to say, and does not crash. */
static void test_evaluator__empty(void **state) {
  (void)state;
  const faro_evaluation v = finish(make((faro_evaluator_params){.arms = 2}));
  assert_int_equal(v.rows, 0);
  assert_int_equal(v.doubts, 0);
  for (size_t m = 0; m < FARO_METHODS; m++) assert_true(!v.of[m].made || isnan(v.of[m].value));
}

/* ---- the reward model */

/* One feature: the normal equations of two numbers, by hand, from the rows of the other folds.
 * Which fold a row is in is found from what its prediction does not depend on. */
static void test_model__is_ridge_on_the_other_folds(void **state) {
  (void)state;
  enum { N = 60 };
  double predicted[N];
  const faro_reward_model_params params = {
      .arms = 2, .dimension = 1, .folds = 3, .ridge = 0.5, .low = -9, .high = 9};
  double x[N];
  double r[N];
  for (size_t i = 0; i < N; i++) {
    x[i] = (double)(i * 13 % 17) / 10;
    r[i] = (i % 2 ? 0.3 + x[i] : 1 - x[i]) + 0.1 * (double)(i % 3);
  }
  static double base[N];
  static bool depends[N][N]; /* row i's prediction on row j's reward */
  for (size_t changed = 0; changed <= N; changed++) {
    faro_reward_model *m = NULL;
    assert_ok(faro_reward_model_create(&m, &params, error));
    for (size_t i = 0; i < N; i++) faro_reward_model_learn(m, i, i % 2, &x[i], r[i] + (i + 1 == changed));
    faro_reward_model_fit(m);
    for (size_t i = 0; i < N; i++) {
      double mean[2];
      faro_reward_model_predict(m, i, &x[i], mean);
      predicted[i] = mean[i % 2];
      if (changed == 0) base[i] = predicted[i];
      else depends[i][changed - 1] = predicted[i] != base[i];
    }
    faro_reward_model_destroy(m);
  }
  for (size_t i = 0; i < N; i++) {
    assert_false(depends[i][i]);
    double n = 0;
    double mean = 0;
    for (size_t j = 0; j < N; j++)
      if (depends[i][j]) n++, mean += r[j];
    mean /= n; /* of all arms: it moves with every reward outside the fold */
    double g[3] = {0.5, 0, 0.5};
    double u[2] = {0};
    for (size_t j = i % 2; j < N; j += 2) {
      if (!depends[i][j]) continue;
      g[0] += x[j] * x[j], g[1] += x[j], g[2] += 1;
      u[0] += x[j] * (r[j] - mean), u[1] += r[j] - mean;
    }
    const double det = g[0] * g[2] - g[1] * g[1];
    const double slope = (g[2] * u[0] - g[1] * u[1]) / det;
    const double constant = (g[0] * u[1] - g[1] * u[0]) / det;
    assert_close(base[i], mean + slope * x[i] + constant, 1e-9);
  }
}

/* A person is in one fold, whatever the number of rows. */
static void test_model__a_person_is_in_one_fold(void **state) {
  (void)state;
  const faro_reward_model_params params = {.arms = 1, .dimension = 0, .low = -100, .high = 100};
  double before[2] = {0};
  for (int turn = 0; turn < 2; turn++) {
    faro_reward_model *m = NULL;
    assert_ok(faro_reward_model_create(&m, &params, error));
    for (uint64_t i = 0; i < 200; i++)
      faro_reward_model_learn(m, i % 20, 0, NULL, i % 20 == 7 ? (turn ? 50 : 0) : 1);
    faro_reward_model_fit(m);
    double mean = 0;
    faro_reward_model_predict(m, 7, NULL, &mean);
    before[turn] = mean;
    faro_reward_model_destroy(m);
  }
  assert_true(before[0] == before[1]);
}

/* An arm without rows is predicted by the mean of the others; predictions stay in the range. */
static void test_model__arms_without_rows_and_bounds(void **state) {
  (void)state;
  const faro_reward_model_params params = {.arms = 2, .dimension = 1, .high = 1};
  faro_reward_model *m = NULL;
  assert_ok(faro_reward_model_create(&m, &params, error));
  double mean[2];
  faro_reward_model_fit(m);
  faro_reward_model_predict(m, 0, (double[]){3}, mean);
  assert_close(mean[0], 0.5, 1e-12); /* nothing is known: the middle */
  for (uint64_t i = 0; i < 100; i++) faro_reward_model_learn(m, i, 0, (double[]){(double)(i % 2)}, 1);
  faro_reward_model_fit(m);
  faro_reward_model_predict(m, 0, (double[]){1000}, mean);
  assert_true(mean[0] >= 0 && mean[0] <= 1);
  assert_close(mean[1], 1, 1e-12);
  faro_reward_model_destroy(m);
}

static void test_model__refuses_and_survives(void **state) {
  (void)state;
  const faro_reward_model_params bad[] = {{.arms = 0, .high = 1},
                                          {.arms = 2, .dimension = 1000, .high = 1},
                                          {.arms = 2, .folds = 1, .high = 1},
                                          {.arms = 2, .folds = 101, .high = 1},
                                          {.arms = 2, .ridge = -1, .high = 1},
                                          {.arms = 2, .ridge = INFINITY, .high = 1},
                                          {.arms = 1000, .dimension = 999, .folds = 100, .high = 1},
                                          {.arms = 2}};
  faro_reward_model *m = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_error error = {0};
    assert_int_equal(faro_reward_model_create(&m, &bad[i], &error), FARO_INVALID);
    assert_null(m);
  }
  const faro_reward_model_params good = {.arms = 2, .dimension = 3, .high = 1};
  assert_survives_exhaustion(faro_reward_model_create(&m, &good, error));
  /* features that are not finite spoil the model of their arm, and no memory */
  faro_reward_model_learn(m, 1, 0, (double[]){INFINITY, NAN, 1}, 1);
  faro_reward_model_fit(m);
  double mean[2];
  faro_reward_model_predict(m, 1, (double[]){1, 1, 1}, mean);
  assert_true(mean[1] >= 0 && mean[1] <= 1);
  faro_reward_model_destroy(m);
  faro_reward_model_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ratio__is_that_of_arrays),
      cmocka_unit_test(test_ratio__quantiles),
      cmocka_unit_test(test_ratio__interval_inverts_halls_cubic),
      cmocka_unit_test(test_ratio__bernstein_is_that_of_the_theorem),
      cmocka_unit_test(test_people__keeps_apart_what_differs),
      cmocka_unit_test(test_people__survives_exhaustion),
      cmocka_unit_test(test_methods__are_unbiased_where_they_should_be),
      cmocka_unit_test(test_evaluator__is_that_of_arrays),
      cmocka_unit_test(test_evaluator__large_rewards),
      cmocka_unit_test(test_evaluator__rows_of_a_person_count_together),
      cmocka_unit_test(test_replay__is_the_mean_of_matched_rows),
      cmocka_unit_test(test_replay__accepts_as_the_policy_plays),
      cmocka_unit_test(test_doubts__are_where_they_should_be),
      cmocka_unit_test(test_doubts__few_rows_have_no_interval),
      cmocka_unit_test(test_doubts__an_arm_that_was_never_logged),
      cmocka_unit_test(test_doubts__equal_rewards_have_no_interval),
      cmocka_unit_test(test_evaluator__refuses_bad_rows),
      cmocka_unit_test(test_evaluator__refuses_bad_parameters),
      cmocka_unit_test(test_evaluator__bernstein_needs_predictions_in_range),
      cmocka_unit_test(test_evaluator__memory),
      cmocka_unit_test(test_evaluator__empty),
      cmocka_unit_test(test_model__is_ridge_on_the_other_folds),
      cmocka_unit_test(test_model__a_person_is_in_one_fold),
      cmocka_unit_test(test_model__arms_without_rows_and_bounds),
      cmocka_unit_test(test_model__refuses_and_survives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
