/* grid: Gaussian noise in whole numbers has the stated distribution, in deployment and in
 * simulation; messages are bounded; the claim carries over. False-alarm rate of each statistical
 * check: 1e-6. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "release/bits.h"
#include "release/grid.h"
#include "support/support.h"

enum { D = 2, LENGTH = 5, BATCH = 4 };

static const char *const names[] = {"local-gaussian", "shuffle-gaussian", "central-tree"};

static faro_release_params tight(double epsilon, double delta) {
  return (faro_release_params){.epsilon = epsilon,
                               .delta = delta,
                               .horizon = 7 * BATCH,
                               .batch = BATCH,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_release *make_with(const char *name, const faro_contribution *c, const faro_release_params *p,
                               faro_source source) {
  faro_release *r = NULL;
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), c, p, source, error));
  return r;
}

static faro_release *make_from(const char *name, double epsilon, double delta, faro_source source) {
  const faro_release_params p = tight(epsilon, delta);
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  return make_with(name, &c, &p, source);
}

static faro_sim_rng stream;

static faro_release *make(const char *name, double epsilon, double delta) {
  return make_from(name, epsilon, delta, faro_source_simulated(&stream));
}

static const double feature[D] = {0.6, -0.3};
static const double reward = 0.7;

/* ---- the noise of a message */

/* P(k) of the discrete Gaussian, summed independently. */
static double pmf(int64_t k, double variance) {
  double total = 0;
  for (int j = -400; j <= 400; j++) total += exp(-j * j / (2 * variance));
  return exp(-(double)(k * k) / (2 * variance)) / total;
}

static void test_message__small_noise_has_the_discrete_gaussian_distribution(void **state) {
  (void)state;
  enum { MESSAGES = 20000, SPAN = 60 };
  static const uint64_t variances[] = {1, 7, 100};
  faro_release *r = make("local-gaussian", 1, 1e-3);
  const faro_grid *g = faro_grid_in(r);
  double z[LENGTH];
  int64_t message[LENGTH];
  faro_contribution_make(&r->contribution, feature, reward, z);
  for (uint64_t v = 0; v < 3; v++) {
    double seen[2 * SPAN + 1] = {0};
    double expected[2 * SPAN + 1];
    faro_sim_open(&stream, 1, v, FARO_ROLE_USER);
    for (int i = 0; i < LENGTH; i++) g->variance[i] = variances[v];
    for (int n = 0; n < MESSAGES; n++) {
      assert_ok(faro_release_randomize(r, feature, reward, message, error));
      for (int i = 0; i < LENGTH; i++) {
        const double noise = (double)message[i] - nearbyint(z[i] / g->unit);
        assert_true(fabs(noise) <= SPAN);
        seen[SPAN + (int)noise]++;
      }
    }
    for (int k = -SPAN; k <= SPAN; k++) expected[SPAN + k] = MESSAGES * LENGTH * pmf(k, (double)variances[v]);
    assert_chi_square(seen, expected, 2 * SPAN + 1);
  }
  faro_release_destroy(r);
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* At its real size: on the grid, unbiased, with the variance that the accountant asks for and a
 * millionth more, normal in shape, entries uncorrelated. Simulated from a fixed seed, and
 * deployed. */
static void noise_of_messages(const char *name, faro_source source) {
  enum { MESSAGES = 20000 };
  faro_release *r = make_from(name, 1, 1e-3, source);
  const faro_grid *g = faro_grid_in(r);
  const double sd = g->real.release.unit[0];
  static double noise[LENGTH][MESSAGES];
  double z[LENGTH];
  int64_t message[LENGTH];
  faro_sim_open(&stream, 2, 0, FARO_ROLE_USER);
  faro_contribution_make(&r->contribution, feature, reward, z);
  for (int n = 0; n < MESSAGES; n++) {
    assert_ok(faro_release_randomize(r, feature, reward, message, error));
    for (int i = 0; i < LENGTH; i++) noise[i][n] = ((double)message[i] * g->unit - z[i]) / sd;
  }
  for (int i = 0; i < LENGTH; i++) {
    double mean = 0;
    double square = 0;
    double product = 0;
    for (int n = 0; n < MESSAGES; n++) {
      mean += noise[i][n] / MESSAGES;
      square += noise[i][n] * noise[i][n] / MESSAGES;
      product += noise[i][n] * noise[(i + 1) % LENGTH][n] / MESSAGES;
    }
    assert_mean(mean, 0, 1, MESSAGES);
    assert_mean(product, 0, 1, MESSAGES);
    assert_variance(square, 1, 3, MESSAGES);
  }
  for (int i = 0; i < LENGTH; i++) { /* after all products */
    qsort(noise[i], MESSAGES, sizeof noise[i][0], compare);
    assert_ks(noise[i], MESSAGES, normal_cdf);
  }
  faro_release_destroy(r);
}

static void test_message__real_noise_is_normal_in_shape_and_of_the_right_size(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  for (int k = 0; k < 2; k++) {
    noise_of_messages(names[k], faro_source_simulated(&stream));
    unseeded(true);
    noise_of_messages(names[k], faro_source_client(secure));
    unseeded(false);
  }
  faro_secure_close(secure);
}

static void test_grid__is_fine_and_the_noise_no_less_than_asked_for(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++)
    for (double epsilon = 0.05; epsilon < 200; epsilon *= 3) {
      faro_release *r = make(names[k], epsilon, 1e-6);
      const faro_grid *g = faro_grid_in(r);
      int exponent = 0;
      assert_true(frexp(g->unit, &exponent) == 0.5);
      assert_true(r->contribution.sensitivity / g->unit >= (epsilon > 1 ? 0x1p22 : 0x1p17));
      for (int i = 0; i < LENGTH; i++) {
        const double sd = g->unit * sqrt((double)g->variance[i]);
        assert_true(sd >= g->real.release.unit[i] * g->spread * (1 + 0x1p-21));
        assert_true(sd <= g->real.release.unit[i] * g->spread * (1 + 3e-6));
        assert_true(g->variance[i] <= UINT64_C(1) << 55);
      }
      faro_release_destroy(r);
    }
}

/* ---- the lemmas */

/* ln of P(rounded Gaussian = k) / P(discrete Gaussian = k), by quadrature of the integral and
 * summing the normaliser. */
static long double log_ratio(long double k, long double s) {
  enum { STEPS = 400 };
  long double integral = 0; /* Simpson's rule over e^(-(k t + t^2/2) / s^2), t = -1/2 .. 1/2 */
  for (int i = 0; i <= STEPS; i++) {
    const long double t = (long double)i / STEPS - 0.5L;
    const long double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
    integral += weight * expl(-(k * t + t * t / 2) / (s * s)) / (3 * STEPS);
  }
  long double total = 0;
  for (long double j = -ceill(14 * s); j <= 14 * s; j++) total += expl(-j * j / (2 * s * s));
  return logl(total / (s * sqrtl(2 * acosl(-1)))) + logl(integral);
}

static void test_lemma__rounded_and_discrete_gaussians_differ_by_what_it_says(void **state) {
  (void)state;
  for (long double s = 100; s < 3000; s *= 2.7L)
    for (long double c = 0; c <= 60; c += 2.5L) {
      const long double k = roundl(c * s);
      const long double ratio = log_ratio(k, s);
      assert_true(ratio >= -1 / (23 * s * s));
      assert_true(ratio <= k * k / (24 * s * s * s * s) + 1e-17L);
      if (c >= 12 && c <= s)
        assert_true(ratio >= 0.9L * k * k / (24 * s * s * s * s)); /* and near the bound */
    }
}

/* One number, at event level: the exact accountant of the discrete Gaussian says what the deployed
 * noise gives. */
static void test_claim__holds_for_one_number_exactly(void **state) {
  (void)state;
  static const double epsilons[] = {0.01, 0.3, 1, 5, 40};
  static const double deltas[] = {1e-12, 1e-6, 1e-2, 0.3};
  static const uint64_t horizons[] = {100, UINT64_C(1) << 38}; /* the grid is coarser for sums of this many */
  faro_contribution c;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_contribution_values(&c, 1, false, error));
  for (int i = 0; i < 5 * 4 * 2; i++) {
    faro_release_params p = tight(epsilons[i % 5], deltas[i / 5 % 4]);
    p.horizon = p.batch = horizons[i / 20];
    faro_release *r = make_with("local-gaussian", &c, &p, faro_source_client(secure));
    const faro_grid *g = faro_grid_in(r);
    const uint64_t shift = (uint64_t)ceil(1 / g->unit); /* both ends are on the grid */
    const double delta = faro_discrete_gaussian_delta(sqrt((double)g->variance[0]), shift, p.epsilon);
    assert_true(delta <= p.delta);
    assert_true(delta >= 0.999 * p.delta || g->spread > 1 + 1e-6);
    faro_release_destroy(r);
  }
  faro_secure_close(secure);
}

/* Two contributions are never further apart on the grid than sensitivity and spread allow. */
static void test_claim__rounding_adds_no_more_than_is_counted(void **state) {
  (void)state;
  faro_release *r = make("local-gaussian", 1, 1e-3);
  faro_grid *g = faro_grid_of(r);
  g->unit = 0x1p-3; /* coarse, so that it matters */
  g->spread = 1 + g->unit * sqrt(LENGTH) / r->contribution.sensitivity;
  g->most = UINT64_C(1) << 40;
  faro_sim_open(&stream, 3, 0, FARO_ROLE_CONTEXT);
  double worst = 0;
  double z[2][LENGTH];
  int64_t message[2][LENGTH];
  for (int n = 0; n < 200000; n++) {
    double gap = 0;
    double real = 0;
    for (int side = 0; side < 2; side++) {
      const double angle = 6.3 * faro_sim_uniform(&stream);
      const double x[D] = {cos(angle), sin(angle)};
      faro_contribution_make(&r->contribution, x, faro_sim_uniform(&stream) < 0.5, z[side]);
      faro_grid_round(r, z[side], message[side]);
    }
    for (int i = 0; i < LENGTH; i++) {
      gap += pow(g->unit * (double)(message[0][i] - message[1][i]), 2);
      real += pow(z[0][i] - z[1][i], 2);
    }
    assert_true(sqrt(gap) <= sqrt(real) + g->unit * sqrt(LENGTH) * (1 + 1e-12));
    worst = fmax(worst, sqrt(gap) / (r->contribution.sensitivity * g->spread));
  }
  assert_true(worst <= 1 && worst > 0.8);
  faro_release_destroy(r);
}

/* ---- what may be deployed */

static void test_deploy__other_calibrations_are_refused(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  for (int k = 0; k < 3; k++)
    for (int c = FARO_CALIBRATION_PAPER; c <= FARO_CALIBRATION_FIGURE; c++) {
      faro_release_params p = tight(1, 1e-3);
      faro_contribution moments;
      faro_release *r = NULL;
      faro_error refusal = {0};
      p.calibration = (faro_calibration)c;
      assert_ok(faro_contribution_init(&moments, D, 1, 0, 1, error));
      assert_int_equal(faro_release_create(&r, faro_release_kind_find(names[k]), &moments, &p,
                                           faro_source_client(secure), &refusal),
                       FARO_INVALID);
      assert_non_null(strstr(refusal.message, "calibration must be tight"));
      assert_null(r);
    }
  faro_secure_close(secure);
}

/* Every combination is proven in whole numbers or refused with a reason; usual ones are proven. */
static void test_deploy__extremes_are_proven_or_refused(void **state) {
  (void)state;
  static const double epsilons[] = {1e-4, 0.01, 1, 10, 1000};
  static const double deltas[] = {1e-15, 1e-6, 0.5, 0.99};
  static const uint64_t horizons[] = {64, 1000000, UINT64_C(1) << 40};
  static const uint64_t visits[] = {1, 50};
  int made = 0;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  for (int i = 0; i < 5 * 4 * 3 * 2 * 3; i++) {
    int rest = i;
    faro_release_params p = {.epsilon = epsilons[rest % 5], .calibration = FARO_CALIBRATION_TIGHT};
    p.delta = deltas[(rest /= 5) % 4];
    p.horizon = horizons[(rest /= 4) % 3];
    p.contributions = visits[(rest /= 3) % 2];
    p.level = FARO_LEVEL_USER;
    p.batch = p.horizon < 1000 ? 2 : 1000;
    faro_contribution c;
    faro_release *r = NULL;
    faro_error refusal = {0};
    assert_ok(faro_contribution_init(&c, 10, 1, 0, 1, error));
    const faro_status status = faro_release_create(&r, faro_release_kind_find(names[rest / 2]), &c, &p,
                                                   faro_source_all_parties(secure), &refusal);
    made += status == FARO_OK;
    if (status != FARO_OK) assert_non_null(strstr(refusal.message, "cannot be deployed"));
    const bool usual = p.epsilon >= 0.01 && p.horizon <= 1000000 && p.contributions == 1;
    if (usual && status != FARO_OK) fail_msg("%s", refusal.message);
    faro_release_destroy(r);
  }
  print_message("  %d of 360 may be deployed\n", made);
  assert_true(made >= 180);
  faro_secure_close(secure);
}

static double between(faro_sim_rng *rng, double low, double high) {
  return low + faro_sim_uniform(rng) * (high - low);
}

/* A client's message in a batch of every class, or a refusal with a reason; false: refused. */
static bool randomises_in_every_class(const faro_release_kind *kind, const faro_contribution *c,
                                      const faro_release_params *p, faro_source source) {
  faro_release *r = NULL;
  faro_error refusal = {0};
  if (faro_release_create(&r, kind, c, p, source, &refusal) != FARO_OK) {
    assert_true(refusal.status == FARO_INVALID && strlen(refusal.message) > 10);
    return false;
  }
  const double x[10] = {0.6, -0.3};
  void *message = malloc(faro_release_message_size(r));
  for (uint64_t k = 0; k < r->batches; k++) {
    const size_t own = faro_schedule_class(&r->schedule, k);
    if (k > 0 && k + 1 < r->batches && own == faro_schedule_class(&r->schedule, k - 1)) continue;
    faro_release_open(r, k);
    assert_ok(faro_release_randomize(r, x, reward, message, error));
  }
  free(message);
  faro_release_destroy(r);
  return true;
}

/* The batches of least users have the most noise: all classes share one grid, and each must be
 * within the sampler's range. Broken once: the first message of a client ended its process. */
static void test_deploy__batches_that_grow_randomise_from_the_first_to_the_last(void **state) {
  (void)state;
  const faro_release_params p = {.epsilon = 1,
                                 .delta = 1e-6,
                                 .horizon = 13000,
                                 .batch = 100,
                                 .growth = 2,
                                 .largest = 6400,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution c;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_contribution_init(&c, 3, 1, 0, 1, error));
  assert_ok(faro_secure_open(&secure, error));
  assert_true(randomises_in_every_class(&faro_release_shuffle_gaussian, &c, &p, faro_source_client(secure)));
  faro_secure_close(secure);
}

static void test_deploy__batches_that_grow_randomise_or_are_refused(void **state) {
  (void)state;
  check_test();
  static const char *const kinds[] = {"shuffle-gaussian", "shuffle-amplified"};
  const int settings = getenv("FARO_SLOW_TESTS") ? 1000 : 30;
  int made = 0;
  faro_secure_rng *secure = NULL;
  faro_sim_rng rng;
  assert_ok(faro_secure_open(&secure, error));
  faro_sim_open(&rng, 19, 0, FARO_ROLE_USER);
  for (int i = 0; i < settings; i++) {
    faro_release_params p = {.calibration = FARO_CALIBRATION_TIGHT, .honest = 1};
    faro_contribution c;
    assert_ok(faro_contribution_init(&c, 1 + (size_t)between(&rng, 0, 10), 1, 0, 1, error));
    p.epsilon = exp2(between(&rng, -6, 5));
    p.delta = pow(10, between(&rng, -9, -2));
    p.horizon = (uint64_t)pow(10, between(&rng, 2.5, 6.5));
    p.batch = 2 + (uint64_t)pow((double)p.horizon / 2, between(&rng, 0, 1));
    p.growth = between(&rng, 1.2, 4);
    p.largest = faro_sim_uniform(&rng) < 0.5 ? 0 : p.batch + p.horizon / 3;
    if (i % 8 == 7) p.batch = p.largest = 0, p.growth = 0; /* as the release chooses */
    made +=
        randomises_in_every_class(faro_release_kind_find(kinds[i % 2]), &c, &p, faro_source_client(secure));
  }
  print_message("  %d of %d may be deployed\n", made, settings);
  assert_true(made >= settings / 2);
  faro_secure_close(secure);
}

/* ---- messages and sums */

static void test_messages__are_bounded_and_so_is_what_one_can_do(void **state) {
  (void)state;
  const double wild[] = {-1e300, -1, 0, 0.37, 1, 1e300, (double)NAN, (double)INFINITY};
  for (int k = 0; k < 3; k++) {
    faro_release *r = make(names[k], 1, 1e-3);
    const faro_grid *g = faro_grid_in(r);
    const int64_t most = (int64_t)g->most;
    faro_sim_open(&stream, 4, 0, FARO_ROLE_USER);
    int64_t batch[BATCH][LENGTH] = {{0}};
    for (int n = 0; n < 512; n++) {
      const double x[D] = {wild[n % 8], wild[n / 8 % 8]};
      assert_ok(faro_release_randomize(r, x, wild[n / 64], batch[0], error));
      for (int i = 0; i < LENGTH; i++) assert_true((uint64_t)llabs(batch[0][i]) <= g->most);
    }
    faro_grid_of(r)->most /= 100; /* so that noise, or a contribution, reaches the bound */
    double wide = 0;
    for (int n = 0; n < 200; n++) {
      assert_ok(faro_release_randomize(r, feature, reward, batch[0], error));
      for (int i = 0; i < LENGTH; i++) assert_true((uint64_t)llabs(batch[0][i]) <= g->most);
      for (int i = 0; i < LENGTH; i++) wide += (uint64_t)llabs(batch[0][i]) == g->most;
    }
    assert_true(wide > 100);
    faro_grid_of(r)->most = (uint64_t)most;
    faro_error error = {0};
    for (int sign = -1; sign <= 1; sign += 2) {
      memset(batch, 0, sizeof batch);
      batch[1][3] = sign * (most + 1);
      assert_int_equal(faro_release_analyze(r, batch, BATCH, &error), FARO_INVALID);
      batch[1][3] = INT64_MIN;
      assert_int_equal(faro_release_analyze(r, batch, BATCH, &error), FARO_INVALID);
      assert_int_equal(faro_release_statistics(r).releases, 0);
    }
    const double bound = k < 2 ? r->contribution.entry + 12 * g->real.release.unit[0] : r->contribution.entry;
    assert_close(faro_release_influence(r), bound, 1e-5 * bound);
    faro_release_destroy(r);
  }
}

static void test_influence__is_reached_and_not_exceeded(void **state) {
  (void)state;
  for (int shuffled = 0; shuffled < 2; shuffled++) {
    const char *name = shuffled ? "shuffle-bits" : "local-gaussian";
    double sum[3];
    for (int what = 0; what < 3; what++) { /* nothing, the most, the least */
      faro_release *r = make(name, 1, 1e-3);
      int64_t batch[BATCH][LENGTH] = {{0}};
      int64_t least = 0;
      int64_t most = 0;
      faro_release_range(r, 0, &least, &most);
      const int64_t mean = (least + most) / 2; /* a sum of about zero */
      if (shuffled) {
        for (int i = 0; i < LENGTH; i++) batch[0][i] = BATCH * mean;
        if (what > 0) batch[0][0] += (what == 1 ? most : least) - mean;
      } else batch[0][0] = what == 0 ? 0 : (what == 1 ? 1 : -1) * (int64_t)faro_grid_in(r)->most;
      assert_ok(faro_release_analyze(r, batch, shuffled ? 1 : BATCH, error));
      sum[what] = faro_release_statistics(r).sum[0];
      const double influence = faro_release_influence(r);
      if (what > 0) {
        assert_true(fabs(sum[what] - sum[0]) <= influence * (1 + (shuffled ? 1e-3 : 1e-9))); /* half a step */
        assert_true(fabs(sum[what] - sum[0]) >= influence * 0.99);
      }
      faro_release_destroy(r);
    }
  }
  faro_release *r = make("central", 1, 1e-3);
  assert_true(isinf(faro_release_influence(r)));
  faro_release_destroy(r);
}

/* log2 of P(Bin(n, 1/2) < k). */
static double log_tail(uint64_t n, uint64_t k) {
  double sum = 0; /* sum of terms, in units of the largest */
  const double top = lgamma((double)n + 1) - lgamma((double)k) - lgamma((double)(n - k) + 2);
  const uint64_t width = 10 * (uint64_t)sqrt((double)n) + 10; /* the others are negligible */
  for (uint64_t i = k > width ? k - width : 0; i < k; i++)
    sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) - top);
  return (top + log(sum)) / log(2) - (double)n;
}

/* Honest noise is never cut: over all draws, including the factor e^epsilon, less than a billionth
 * of delta. Lies are cut to a few standard deviations. */
static void test_counts__are_cut_where_honest_ones_never_are(void **state) {
  (void)state;
  static const char *const counted[] = {"shuffle-bits", "concurrent-bits", "local-bits"};
  static const double epsilons[] = {0.5, 2, 30};
  for (size_t i = 0; i < 9; i++) {
    faro_release *r = make(counted[i / 3], epsilons[i % 3], 1e-6);
    const faro_bits *s = faro_bits_in(r);
    for (size_t level = 0; level < s->levels; level++) {
      const faro_bits_level *l = &s->level[level];
      const double draws = (double)(r->params.horizon * r->contribution.length * s->levels);
      const double log_loss = log2(2 * draws * (1 + exp(epsilons[i % 3])) / 1e-6);
      assert_int_equal(l->noise->low + l->noise->high, l->noise->bits);
      if (l->noise->low > 0) assert_true(log_tail(l->noise->bits, l->noise->low) + log_loss < log2(1e-9));
      if (epsilons[i % 3] < 3)
        assert_in_range(l->noise->bits / 2 - l->noise->low, 1, (uint64_t)(8 * sqrt((double)l->noise->bits)));
      int64_t least = 0;
      int64_t most = 0;
      faro_release_range(r, level, &least, &most);
      assert_int_equal(least, l->noise->low);
      assert_int_equal(most, s->grid + l->noise->high);
    }
    faro_release_destroy(r);
  }
}

/* The value that replaces a report that cannot be read. */
static void test_range__its_middle_is_zero(void **state) {
  (void)state;
  static const char *const direct[] = {"local-gaussian", "local-bits", "shuffle-gaussian"};
  for (size_t k = 0; k < 3; k++) {
    faro_release *r = make(direct[k], 1, 1e-3);
    int64_t least = 0;
    int64_t most = 0;
    faro_release_range(r, 0, &least, &most);
    int64_t batch[BATCH][LENGTH];
    for (int i = 0; i < BATCH * LENGTH; i++) batch[i / LENGTH][i % LENGTH] = least + (most - least) / 2;
    assert_ok(faro_release_analyze(r, batch, BATCH, error));
    for (int i = 0; i < LENGTH; i++)
      assert_true(fabs(faro_release_statistics(r).sum[i]) <= 1e-3 * BATCH * r->contribution.entry);
    faro_release_destroy(r);
  }
}

/* A randomizer stays within the range that others will check. */
static void test_counts__of_a_client_are_within_the_range(void **state) {
  (void)state;
  faro_release *r = make("shuffle-bits", 1, 1e-3);
  faro_bits_level *l = faro_bits_of(r)->level;
  const uint64_t grid = faro_bits_of(r)->grid;
  l->noise->low = l->noise->bits / 2 - 1; /* so that most noise reaches it */
  l->noise->high = l->noise->bits / 2 + 1;
  faro_sim_open(&stream, 4, 0, FARO_ROLE_USER);
  for (int n = 0; n < 100; n++) {
    uint64_t ones[LENGTH];
    const double x[D] = {0};
    assert_ok(faro_release_randomize(r, x, 0, ones, error));
    for (int i = 0; i < LENGTH; i++)
      assert_in_range(ones[i], grid / 2 + l->noise->low,
                      (grid + 1) / 2 + l->noise->high); /* zero is in the middle */
  }
  faro_release_destroy(r);
}

/* The published sum is u times the total of the messages, without the weights, whatever their
 * order. */
static void test_messages__add_up_exactly(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    faro_release *r = make(names[k], 1, 1e-3);
    faro_sim_open(&stream, 5, 0, FARO_ROLE_USER);
    int64_t total[LENGTH] = {0};
    for (int b = 0; b < 7; b++) {
      int64_t batch[BATCH][LENGTH];
      for (int u = 0; u < BATCH; u++) {
        assert_ok(faro_release_randomize(r, feature, reward, batch[u], error));
        for (int i = 0; i < LENGTH; i++) total[i] += batch[u][i];
      }
      assert_int_equal(faro_release_mix(r, batch), BATCH);
      assert_ok(faro_release_analyze(r, batch, BATCH, error));
      for (int i = 0; i < LENGTH; i++)
        assert_true(faro_release_statistics(r).sum[i] ==
                    r->unweight[i] * (faro_grid_in(r)->unit * (double)total[i]));
    }
    faro_release_destroy(r);
  }
}

/* ---- whole batches in deployment, and the tree; exact noise on a seeded stream */

static faro_release *make_seeded(const char *name, faro_sim_rng *sim) {
  faro_release *r = make_from(name, 1, 1e-3, faro_source_simulated(sim));
  r->deployed = true; /* only a test may do this */
  return r;
}

static void absorb_batch(faro_release *r) {
  for (int u = 0; u < BATCH; u++) assert_int_equal(faro_release_absorb(r, feature, reward), u == BATCH - 1);
}

/* Variance of the noise in the sum after m batches: B m users, or for a tree the nodes named by the
 * ones in m, whose estimates have variances 1, 2/3 and 4/7. The estimate of the first four batches
 * covers every one of their prefixes with the share that the best combination gives it: m / 7. */
static void test_secure__sums_have_the_noise_of_their_kind(void **state) {
  (void)state;
  enum { RUNS = 4000, BATCHES = 7 };
  static double noise[BATCHES][RUNS];
  static const double fused[BATCHES] = {1,           2.0 / 3,           1 + 2.0 / 3,          4.0 / 7,
                                        1 + 4.0 / 7, 2.0 / 3 + 4.0 / 7, 1 + 2.0 / 3 + 4.0 / 7};
  for (int k = 0; k < 3; k++) {
    faro_release *r = make(names[k], 1, 1e-3);
    const faro_grid *g = faro_grid_in(r);
    double z[LENGTH];
    faro_contribution_make(&r->contribution, feature, reward, z);
    for (uint64_t run = 0; run < RUNS; run++) {
      faro_sim_open(&stream, 6, run, FARO_ROLE_USER);
      faro_release *next = make_seeded(names[k], &stream);
      for (int b = 0; b < BATCHES; b++) {
        absorb_batch(next);
        noise[b][run] = (next->sum[2] - (b + 1) * BATCH * z[2]) / g->real.release.unit[2];
      }
      faro_release_destroy(next);
    }
    for (int b = 0; b < BATCHES; b++) {
      double mean = 0;
      double square = 0;
      double same = 0; /* what the sum of 4 batches shares with the others */
      for (int run = 0; run < RUNS; run++) {
        mean += noise[b][run] / RUNS;
        square += noise[b][run] * noise[b][run] / RUNS;
        same += noise[3][run] * noise[b][run] / RUNS;
      }
      const double variance = k == 2 ? fused[b] : BATCH * (b + 1);
      const double shared = (b < 4 ? b + 1 : 4) / 7.0;
      assert_mean(mean, 0, sqrt(variance), RUNS);
      assert_variance(square, variance, 3, RUNS);
      if (k == 2) assert_mean(same, shared, sqrt(variance * 4 / 7 + shared * shared), RUNS);
    }
    faro_release_destroy(r);
  }
}

/* By messages to a trusted server, in deployment: near the truth, and not equal to it; on the
 * grid where a single node is published. */
static void test_secure__tree_by_messages(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  faro_release *r = make_from("central-tree", 1, 1e-3, faro_source_server(secure));
  const faro_grid *g = faro_grid_in(r);
  double z[LENGTH];
  faro_contribution_make(&r->contribution, feature, reward, z);
  int silent = 0;
  for (int b = 1; b <= 7; b++) {
    int64_t batch[BATCH][LENGTH];
    for (int u = 0; u < BATCH; u++) {
      assert_ok(faro_release_randomize(r, feature, reward, batch[u], error));
      for (int i = 0; i < LENGTH; i++) assert_true(batch[u][i] == llrint(z[i] / g->unit));
    }
    assert_ok(faro_release_analyze(r, batch, BATCH, error));
    for (int i = 0; i < LENGTH; i++) {
      const double sum = r->sum[i]; /* in units of z */
      if (b == 1) assert_true(sum / g->unit == nearbyint(sum / g->unit));
      silent += sum == BATCH * b * (double)batch[0][i] * g->unit; /* one in 10^8 */
      assert_true(r->unweight[i] * fabs(sum - BATCH * b * z[i]) <= 10 * faro_release_scale(r, (size_t)i));
    }
  }
  assert_true(silent < 2); /* 10^-13 */
  faro_release_destroy(r);
  faro_secure_close(secure);
}

/* A saved and loaded deployed release continues with the same prefix noise, and its state is on the
 * grid. */
static void test_secure__a_loaded_tree_continues(void **state) {
  (void)state;
  for (int stop = 0; stop <= 7; stop++) {
    faro_sim_rng same;
    faro_sim_open(&stream, 7, 0, FARO_ROLE_USER);
    faro_release *r = make_seeded("central-tree", &stream);
    for (int b = 0; b < stop; b++) absorb_batch(r);
    const size_t size = faro_release_state_size(r);
    void *bytes = malloc(size);
    assert_ok(faro_release_save(r, bytes, error));
    faro_release *next = make_seeded("central-tree", &same);
    assert_ok(faro_release_load(next, bytes, size, error));
    same = stream;
    for (int b = stop; b < 7; b++) {
      absorb_batch(r);
      absorb_batch(next);
      assert_memory_equal(r->sum, next->sum, LENGTH * sizeof *r->sum);
    }
    free(bytes);
    faro_release_destroy(r);
    faro_release_destroy(next);
  }
}

/* ---- audits: messages as they are, and with half of their noise */

static faro_status see_message(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                               faro_error *error) {
  faro_release *r = context;
  int64_t message[LENGTH];
  stream = *sim; /* stream of the release */
  const faro_status status = faro_release_randomize(r, x, y, message, error);
  (void)faro_release_numbers(r, message, view);
  return status;
}

static void test_audit__finds_half_noise_and_no_noise_but_not_the_right_one(void **state) {
  (void)state;
  const faro_audit_plan plan = {
      .epsilon = 1, .delta = 0.05, .trials = 20000, .confidence = 0.999999, .seed = 1};
  for (int divisor = 1; divisor <= 3; divisor++) {
    faro_release *r = make("local-gaussian", plan.epsilon, plan.delta);
    const faro_grid *g = faro_grid_in(r);
    for (int i = 0; i < LENGTH; i++)
      g->variance[i] = divisor == 3 ? 1 : g->variance[i] / (uint64_t)(divisor * divisor);
    const faro_audit_mechanism mechanism = {.messages = 1, .width = LENGTH, .context = r, .run = see_message};
    faro_audit_result result = {0};
    assert_ok(faro_audit(&mechanism, &r->contribution, &plan, &result, error));
    print_message("  %.3f against %g\n", result.epsilon_lower, plan.epsilon);
    assert_int_equal(result.consistent, divisor == 1);
    if (divisor == 1) assert_true(result.epsilon_lower > 0.5 * plan.epsilon);
    faro_release_destroy(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_message__small_noise_has_the_discrete_gaussian_distribution),
      cmocka_unit_test(test_message__real_noise_is_normal_in_shape_and_of_the_right_size),
      cmocka_unit_test(test_grid__is_fine_and_the_noise_no_less_than_asked_for),
      cmocka_unit_test(test_lemma__rounded_and_discrete_gaussians_differ_by_what_it_says),
      cmocka_unit_test(test_claim__holds_for_one_number_exactly),
      cmocka_unit_test(test_claim__rounding_adds_no_more_than_is_counted),
      cmocka_unit_test(test_deploy__other_calibrations_are_refused),
      cmocka_unit_test(test_deploy__extremes_are_proven_or_refused),
      cmocka_unit_test(test_deploy__batches_that_grow_randomise_from_the_first_to_the_last),
      cmocka_unit_test(test_deploy__batches_that_grow_randomise_or_are_refused),
      cmocka_unit_test(test_messages__are_bounded_and_so_is_what_one_can_do),
      cmocka_unit_test(test_influence__is_reached_and_not_exceeded),
      cmocka_unit_test(test_counts__are_cut_where_honest_ones_never_are),
      cmocka_unit_test(test_counts__of_a_client_are_within_the_range),
      cmocka_unit_test(test_range__its_middle_is_zero),
      cmocka_unit_test(test_messages__add_up_exactly),
      cmocka_unit_test(test_secure__sums_have_the_noise_of_their_kind),
      cmocka_unit_test(test_secure__tree_by_messages),
      cmocka_unit_test(test_secure__a_loaded_tree_continues),
      cmocka_unit_test(test_audit__finds_half_noise_and_no_noise_but_not_the_right_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
