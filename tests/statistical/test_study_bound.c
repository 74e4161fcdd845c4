/* study bound: the loss of a private fit exceeds the least by no more than its stated bound, as
 * often as promised. The noise in sums and gradients is unbiased and as large as the claim needs,
 * measured by comparing what is published with what was contributed (support/watch.h). False-alarm
 * rate of each check: 1e-6. */
#include <math.h>
#include <string.h>

#include "support/watch.h"

enum { D = 3, GRAM = 6, PEOPLE = 64, FITS = 100, STUDIES = 10, RUNS = FITS * STUDIES };

static faro_study_params params = {.link = FARO_LINK_LOGISTIC,
                                   .dimension = D,
                                   .norm = 2,
                                   .reward = 1,
                                   .steepest = 0.25,
                                   .people = PEOPLE,
                                   .horizon = PEOPLE,
                                   .failure = 0.01,
                                   .delta = 1e-3,
                                   .calibration = FARO_CALIBRATION_TIGHT};

/* All fits of a part have mu = `all` together, which is two thirds of the whole mu^2; the sums have
 * one third. */
static faro_study *make(const char *kind, double all, uint64_t fits, faro_sim_rng *sim) {
  faro_study *s = NULL;
  const uint64_t allowed[FARO_PARTS] = {0, fits};
  params.epsilon = faro_gaussian_epsilon(sqrt(1.5) * all, params.delta);
  watch_reset();
  assert_ok(faro_study_create(&s, faro_release_kind_find(kind), &params, sim, error));
  assert_ok(faro_study_allow(s, allowed, error));
  return s;
}

static double rows_x[PEOPLE * D], rows_y[PEOPLE];

static faro_rows fill(faro_study *s, faro_sim_rng *sim) {
  size_t count = 0;
  for (int i = 0; i < PEOPLE; i++) {
    double *x = rows_x + count * D;
    double at = 0;
    for (int j = 0; j < D; j++) {
      x[j] = faro_sim_uniform(sim) - 0.5;
      at += (j == 0 ? 2 : -0.5) * x[j];
    }
    rows_y[count] = faro_sim_bernoulli(sim, faro_link_mean(FARO_LINK_LOGISTIC, at)) ? 1 : 0;
    (void)faro_study_add(s, x, rows_y[count], i % 4 > 0, 0.25);
    if (i % 4 > 0) count++;
  }
  return (faro_rows){.dimension = D, .count = count, .x = rows_x, .y = rows_y};
}

/* ---- noise, as watched */

static struct {
  double unit; /* unit of draws: for gradients, the noise that one step of the fit alone would need */
  double square, sum, count;
  double total[D]; /* sum over the window's steps of a fit */
  uint64_t first;  /* first step of the window */
} noise;

static void note(const double *draw, size_t length, double unit) {
  for (size_t i = 0; i < length; i++) {
    noise.square += draw[i] * draw[i] / (unit * unit);
    noise.sum += draw[i] / unit;
    noise.count++;
  }
}

static void note_gradient(const watched *w, const double *prefix, const double *batch) {
  (void)prefix;
  if (w->contribution.form != FARO_FORM_BALL) return;
  const uint64_t steps = w->params.horizon / w->params.batch;
  note(batch, D, noise.unit * sqrt((double)steps));
  if (w->batches == 1) memset(noise.total, 0, sizeof noise.total);
  for (int i = 0; w->batches > steps / 4 && i < D; i++) noise.total[i] += batch[i];
}

/* The first 2^k people of a tree are one node, whose estimate, combined with those of its children,
 * has 2^k / (2^(k+1) - 1) of a node's variance; off the diagonal half of that. */
static void note_node(const watched *w, const double *prefix, const double *batch) {
  (void)batch;
  if (w != &watch[1] || (w->batches & (w->batches - 1)) != 0) return;
  const double size = (double)w->batches;
  const double share = sqrt(size / (2 * size - 1));
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j <= i; j++)
      note(prefix + faro_packed(i) + j, 1, noise.unit * share * (i == j ? 1 : sqrt(0.5)));
}

static void clear(double unit) {
  memset(&noise, 0, sizeof noise);
  noise.unit = unit;
}

/* ---- the bound */

static const double metric[GRAM] = {4, 0.5, 1, 0, -0.2, 0.3};
static const double centre[D] = {1.5, 0.2, -0.3};
static const double zero[D] = {0, 0, 0};

/* The bound for a region, by hand for this metric: eigenvalues by the library's solver, which is
 * tested elsewhere. */
static double sup_bound(const faro_region *region, double sigma, double m, double failure) {
  double least = 1;
  double trace = D;
  if (region->metric) {
    faro_spd *spd = NULL;
    double greatest = 0;
    assert_ok(faro_spd_create(&spd, D, error));
    faro_spd_extremes(spd, region->metric, &least, &greatest);
    assert_true(faro_spd_factor(spd, region->metric));
    trace = 0;
    for (int i = 0; i < D; i++) {
      double e[D] = {0, 0, 0};
      e[i] = 1;
      faro_spd_solve(spd, e, e);
      trace += e[i];
    }
    faro_spd_destroy(spd);
  }
  return region->radius * sigma / sqrt(m) * (sqrt(trace) + sqrt(2 * log(2 / failure) / least));
}

static void check_bound(const char *kind, const faro_region *region, bool curved) {
  faro_solver *solver = NULL;
  assert_ok(faro_solver_create(&solver, D, error));
  int beyond = 0;
  int sups = 0;
  double worst = 0;
  double excess_sum = 0;
  double bound_sum = 0;
  clear(1);
  watch_noise = note_gradient;
  for (uint64_t study = 0; study < STUDIES; study++) {
    faro_sim_rng sim;
    faro_sim_open(&sim, 21, study, FARO_ROLE_USER);
    faro_study *s = make(kind, 12, FITS, &sim);
    const faro_rows rows = fill(s, &sim);
    double least[D] = {1.5, 0, 0};
    faro_solver_nearest(solver, NULL, region, least, least);
    (void)faro_solver_minimise(solver, params.link, &rows, 1, region, least);
    double hessian[GRAM];
    faro_glm_hessian(params.link, &rows, 1, least, hessian);
    const double bottom = faro_glm_loss(params.link, &rows, 1, least);
    for (int fit = 0; fit < FITS; fit++) {
      double theta[D];
      faro_answer answer = {.theta = theta};
      const faro_question question = {.part = 1,
                                      .ridge = 1,
                                      .region = *region,
                                      .curvature = curved ? hessian : NULL,
                                      .start = region->centre ? region->centre : zero};
      watches = 2; /* forget earlier fits */
      assert_ok(faro_study_fit(s, &question, &answer, error));
      const double excess = faro_glm_loss(params.link, &rows, 1, theta) - bottom;
      assert_true(excess > -1e-6);
      beyond += excess > answer.bound;
      excess_sum += excess;
      bound_sum += answer.bound;
      const double m = (double)(answer.steps - answer.steps / 4);
      const faro_region about = {.metric = region->metric, .radius = region->radius};
      const double sup = faro_solver_support(solver, &about, noise.total) / m;
      const double allowed = sup_bound(region, answer.noise * sqrt(m), m, params.failure);
      worst = fmax(worst, sup / allowed);
      sups += sup > allowed;
    }
    faro_study_destroy(s);
  }
  print_message(
      "  %-13s %-9s %-6s excess %.3f, bound %.3f, beyond it %d of %d; noise at most %.2f of its bound\n",
      kind, region->metric ? "ellipsoid" : "ball", curved ? "curved" : "plain", excess_sum / RUNS,
      bound_sum / RUNS, beyond, RUNS, worst);
  assert_true(beyond <= RUNS / 100);
  assert_true(sups <= RUNS / 100);
  assert_true(worst > 0.5); /* a bound that nothing comes near would hide a mistake */
  watch_noise = NULL;
  faro_solver_destroy(solver);
}

static void test_bound__holds_as_often_as_it_says(void **state) {
  (void)state;
  const faro_region region[] = {{.radius = 2}, {.centre = centre, .metric = metric, .radius = 0.8}};
  for (int k = 0; k < 2; k++)
    for (int curved = 0; curved < 2; curved++) {
      check_bound("central-tree", &region[k], curved);
      check_bound("shuffle-bits", &region[k], curved);
    }
}

/* mu^2 of a fit, with 1 for all together: sqrt(1/2) of the one before it, until the thirteenth. */
static double share_of(int fit) {
  double sum = 0;
  for (int k = 0; k < FITS; k++) sum += pow(2, -0.5 * (k < 12 ? k : 12));
  return pow(2, -0.5 * (fit < 12 ? fit : 12)) / sum;
}

/* Replacing a person moves a gradient sum by 2 G: N sums with mu in total need noise of 2 G sqrt(N)
 * / mu each. Bits need more: a gradient is rounded to ceil(20 sqrt(D)) = 35 steps, which adds
 * sqrt(D) steps to the 35 that it moves by (5 %). And a person's number of noise bits is a whole
 * number, at least dozens, which adds at most one per cent. */
static void test_noise__of_gradients_is_what_the_claim_needs(void **state) {
  (void)state;
  const char *const kind[] = {"central-tree", "shuffle-bits"};
  const double rounding = pow(1 + sqrt(D) / 35, 2); /* of the variance */
  for (int k = 0; k < 2; k++) {
    faro_sim_rng sim;
    faro_sim_open(&sim, 22, 0, FARO_ROLE_USER);
    faro_study *s = make(kind[k], 10, FITS, &sim);
    (void)fill(s, &sim);
    clear(1);
    watch_noise = note_gradient;
    uint64_t steps = 0;
    for (int fit = 0; fit < FITS; fit++) {
      double theta[D];
      faro_answer answer = {.theta = theta};
      const faro_question question = {.part = 1, .ridge = 1, .region = {.radius = 2}, .start = zero};
      noise.unit = 2 * faro_link_mean(FARO_LINK_LOGISTIC, 2) / (10 * sqrt(share_of(fit)));
      watches = 2;
      assert_ok(faro_study_fit(s, &question, &answer, error));
      steps += answer.steps;
    }
    watch_noise = NULL;
    const double variance = noise.square / noise.count;
    print_message("  %-13s noise of a gradient %.4f of what is needed (%g draws)\n", kind[k], sqrt(variance),
                  noise.count);
    assert_true(noise.count == (double)steps * D);
    assert_mean(noise.sum / noise.count, 0, 1, noise.count);
    if (k == 0) assert_variance(variance, 1, 3, noise.count);
    else {
      const double sd = sqrt(2 / noise.count); /* of the relative variance */
      assert_true(variance > (1 - 5 * sd) * rounding && variance < (1.02 + 5 * sd) * rounding);
    }
    faro_study_destroy(s);
  }
}

/* Node noise for sqrt(2) B, with the levels of 64 leaves. */
static void test_noise__of_sums_is_what_the_claim_needs(void **state) {
  (void)state;
  clear(1);
  params.batch = 1;
  for (uint64_t study = 0; study < 400; study++) {
    faro_sim_rng sim;
    faro_sim_open(&sim, 23, study, FARO_ROLE_USER);
    faro_study *s = make("central-tree", 1.5 * sqrt(2), 1, &sim); /* so that sums have 1.5 */
    watch_noise = note_node;
    (void)fill(s, &sim);
    watch_noise = NULL;
    faro_study_destroy(s);
  }
  params.batch = 0;
  const double needed = sqrt(2) * params.steepest * sqrt(7) / 1.5;
  assert_true(noise.count == 400 * 7 * GRAM);
  assert_mean(noise.sum / noise.count, 0, needed, noise.count);
  assert_variance(noise.square / noise.count, needed * needed, 3, noise.count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bound__holds_as_often_as_it_says),
      cmocka_unit_test(test_noise__of_gradients_is_what_the_claim_needs),
      cmocka_unit_test(test_noise__of_sums_is_what_the_claim_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
