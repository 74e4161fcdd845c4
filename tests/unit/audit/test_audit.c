/* audit: the bounds are valid, correct mechanisms at exactly the noise they need are consistent,
 * and planted bugs are caught. The broken mechanisms are here, not in the library. */
#include <math.h>
#include <string.h>

#include "audit/bounds.h"
#include "release/bits.h"
#include "support/support.h"

static const double EPSILON = 1;
static const double DELTA = 0.1;
static const double CONFIDENCE = 1 - FALSE_ALARM;

/* ||dz|| over neighbours with |x| <= 1, y in [0, 1]: sqrt(4 - 2 c - 2 c^2) at c = -1/2, the cosine
 * between them. */
#define SENSITIVITY sqrt(4.5)

enum { D = 2, LENGTH = 5, USERS = 100 };

static faro_contribution contribution(double low, double high) {
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, low, high, error));
  return c;
}

static faro_audit_plan plan(uint64_t trials) {
  return (faro_audit_plan){
      .epsilon = EPSILON, .delta = DELTA, .trials = trials, .confidence = CONFIDENCE, .seed = 1};
}

/* ---- bounds */

static double binomial_sum(uint64_t n, double p, uint64_t from, uint64_t to) {
  double sum = 0;
  for (uint64_t k = from; k <= to; k++)
    sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
               (double)k * log(p) + (double)(n - k) * log1p(-p));
  return sum;
}

static void test_bounds__match_closed_forms_and_binomial_sums(void **state) {
  (void)state;
  assert_close(faro_proportion_high(0, 1000, 0.01), 1 - pow(0.01, 1.0 / 1000), 1e-8);
  assert_close(faro_proportion_low(1000, 1000, 0.01), pow(0.01, 1.0 / 1000), 1e-8);
  assert_true(faro_proportion_low(0, 10, 0.01) == 0 && faro_proportion_high(10, 10, 0.01) == 1);
  const struct {
    uint64_t hits, n;
  } at[] = {{1, 2}, {1, 50}, {7, 50}, {49, 50}, {30, 1000}, {500, 1000}, {999, 1000}, {40, 100000}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++)
    for (double alpha = 0.2; alpha > 1e-9; alpha /= 10) {
      const double low = faro_proportion_low(at[i].hits, at[i].n, alpha);
      const double high = faro_proportion_high(at[i].hits, at[i].n, alpha);
      const double rate = (double)at[i].hits / (double)at[i].n;
      assert_true(low < rate && rate < high);
      if (at[i].n > 1000) continue;
      assert_close(binomial_sum(at[i].n, low, at[i].hits, at[i].n) / alpha, 1, 1e-4);
      if (at[i].hits < at[i].n) assert_close(binomial_sum(at[i].n, high, 0, at[i].hits) / alpha, 1, 1e-4);
    }
}

static void test_bounds__large_counts_agree_with_the_normal_limit(void **state) {
  (void)state;
  const double n = 1e9;
  const double low = faro_proportion_low(500000000, 1000000000, 0.0013498980316300933); /* z = 3 */
  assert_close((0.5 - low) / (0.5 / sqrt(n)), 3, 1e-3);
}

/* ---- fixtures: a Gaussian sum, correct or with one thing wrong */

typedef struct gaussian {
  faro_contribution c;
  double sigma;
  bool unclipped; /* z directly from x and y */
  bool fixed;     /* the same stream in every run */
  bool reused;    /* the same stream for the victim's release and the next one */
} gaussian;

static void raw_contribution(const double *x, double y, double *z) {
  for (int i = 0; i < D; i++)
    for (int j = 0; j <= i; j++) *z++ = x[i] * x[j];
  for (int i = 0; i < D; i++) *z++ = x[i] * y;
}

static faro_status one_sum(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                           faro_error *error) {
  const gaussian *g = context;
  (void)error;
  if (g->fixed) faro_sim_open(sim, 77, 0, FARO_ROLE_USER);
  if (g->unclipped) raw_contribution(x, y, view);
  else faro_contribution_make(&g->c, x, y, view);
  for (int i = 0; i < LENGTH; i++) view[i] += g->sigma * faro_sim_normal(sim);
  return FARO_OK;
}

/* The victim's message and a bystander's. */
static faro_status two_sums(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                            faro_error *error) {
  const gaussian *g = context;
  faro_sim_rng again = *sim;
  const double zero[D] = {0};
  if (one_sum(context, x, y, sim, view, error) != FARO_OK) return FARO_INVALID;
  return one_sum(context, zero, 0, g->reused ? &again : sim, view + LENGTH, error);
}

/* Four releases of a binary tree: the victim is in the nodes 1, 1-2 and 1-4; node 3 is noise for
 * everyone. */
static faro_status tree_sums(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                             faro_error *error) {
  const gaussian *g = context;
  for (int node = 0; node < 4; node++)
    if (one_sum(context, x, y, sim, view + node * LENGTH, error) != FARO_OK) return FARO_INVALID;
  for (int i = 0; i < LENGTH; i++) view[2 * LENGTH + i] = view[LENGTH + i] + g->sigma * faro_sim_normal(sim);
  return FARO_OK;
}

/* A reward in [-1, 1], and nothing else. */
static faro_status one_reward(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                              faro_error *error) {
  const gaussian *g = context;
  double z[LENGTH];
  (void)error;
  faro_contribution_make(&g->c, x, y, z);
  *view = z[LENGTH - D] + g->sigma * faro_sim_normal(sim); /* x_1 y, in [-1, 1] */
  return FARO_OK;
}

static faro_audit_result attack(faro_status (*run)(void *, const double *, double, faro_sim_rng *, double *,
                                                   faro_error *),
                                size_t width, gaussian g, const faro_audit_plan *p) {
  const faro_audit_mechanism mechanism = {.messages = 1, .width = width, .context = &g, .run = run};
  faro_audit_result result = {0};
  assert_ok(faro_audit(&mechanism, &g.c, p, &result, error));
  assert_int_equal(result.consistent, result.epsilon_lower <= p->epsilon);
  print_message("  %.3f against %g (%s, %s)\n", result.epsilon_lower, p->epsilon, result.pair,
                result.statistic);
  return result;
}

static gaussian exact(double sensitivity) {
  return (gaussian){.c = contribution(0, 1), .sigma = sensitivity / faro_gaussian_mu(EPSILON, DELTA)};
}

/* ---- correct mechanisms, and planted bugs */

static void test_gaussian__exact_noise_is_consistent_and_the_bound_is_near(void **state) {
  (void)state;
  const faro_audit_plan p = plan(200000);
  const faro_audit_result result = attack(one_sum, LENGTH, exact(SENSITIVITY), &p);
  assert_true(result.consistent);
  assert_true(result.epsilon_lower > 0.75 * EPSILON);
  assert_int_equal(result.trials, p.trials);
}

static void test_gaussian__is_consistent_at_a_smaller_delta(void **state) {
  (void)state;
  faro_audit_plan p = plan(200000);
  p.delta = 1e-3;
  p.epsilon = 2;
  gaussian g = exact(SENSITIVITY);
  g.sigma = SENSITIVITY / faro_gaussian_mu(p.epsilon, p.delta);
  assert_true(attack(one_sum, LENGTH, g, &p).consistent);
  g.sigma /= 2;
  assert_false(attack(one_sum, LENGTH, g, &p).consistent);
}

static void test_bug__half_the_noise_is_caught(void **state) {
  (void)state;
  const faro_audit_plan p = plan(20000);
  gaussian g = exact(SENSITIVITY);
  assert_true(attack(one_sum, LENGTH, g, &p).consistent);
  g.sigma /= 2;
  assert_false(attack(one_sum, LENGTH, g, &p).consistent);
}

static void test_bug__a_missing_clip_is_caught(void **state) {
  (void)state;
  const faro_audit_plan p = plan(20000);
  gaussian g = exact(SENSITIVITY);
  g.unclipped = true;
  const faro_audit_result result = attack(one_sum, LENGTH, g, &p);
  assert_false(result.consistent);
  assert_string_equal(result.pair, "outside the bounds");
}

static void test_bug__a_sensitivity_of_one_for_an_interval_of_two_is_caught(void **state) {
  (void)state;
  const faro_audit_plan p = plan(20000);
  gaussian g = exact(2);
  g.c = contribution(-1, 1);
  assert_true(attack(one_reward, 1, g, &p).consistent);
  g.sigma /= 2;
  assert_false(attack(one_reward, 1, g, &p).consistent);
}

static void test_bug__a_reused_seed_is_caught(void **state) {
  (void)state;
  const faro_audit_plan p = plan(20000);
  gaussian g = exact(SENSITIVITY);
  assert_true(attack(two_sums, 2L * LENGTH, g, &p).consistent);
  g.reused = true;
  assert_true(attack(two_sums, 2L * LENGTH, g, &p).epsilon_lower > 4);
  g.reused = false;
  g.fixed = true;
  assert_true(attack(one_sum, LENGTH, g, &p).epsilon_lower > 4);
}

/* No single release reveals as much as the three nodes together. */
static void test_tree__the_nodes_are_combined(void **state) {
  (void)state;
  const faro_audit_plan p = plan(200000);
  const gaussian g = exact(sqrt(3) * SENSITIVITY);
  const faro_audit_result result = attack(tree_sums, 4L * LENGTH, g, &p);
  assert_true(result.consistent);
  assert_true(result.epsilon_lower > 0.7 * EPSILON);
  assert_true(faro_gaussian_epsilon(SENSITIVITY / g.sigma, DELTA) < 0.5 * EPSILON);
  gaussian broken = g;
  broken.sigma /= sqrt(3); /* noise for one release, used for three */
  assert_false(attack(tree_sums, 4L * LENGTH, broken, &p).consistent);
}

/* ---- randomized response of USERS users, all of whom but the victim answer 0, and a shuffler */

typedef struct shuffled {
  double truth; /* probability of a true answer */
  bool forgets; /* to permute the answers */
} shuffled;

static faro_status respond(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                           faro_error *error) {
  const shuffled *s = context;
  (void)y;
  (void)error;
  for (int user = 0; user < USERS; user++) {
    const bool truth = user == 0 && x[0] > 0;
    view[user] = faro_sim_bernoulli(sim, s->truth) ? truth : !truth;
  }
  for (size_t i = USERS - 1; i > 0 && !s->forgets; i--) {
    const size_t j = (size_t)(faro_sim_uniform(sim) * (double)(i + 1));
    const double swapped = view[i];
    view[i] = view[j];
    view[j] = swapped;
  }
  return FARO_OK;
}

/* A shuffled batch reveals only the number of ones: the exact delta of its two distributions at an
 * epsilon, the greater of both directions. */
static double response_delta(double truth, double epsilon) {
  double ones[USERS + 1] = {1}; /* ones among the USERS - 1 others */
  for (int user = 1; user < USERS; user++)
    for (int k = user; k >= 0; k--) ones[k] = ones[k] * truth + (k ? ones[k - 1] * (1 - truth) : 0);
  double delta[2] = {0};
  for (int k = 0; k <= USERS; k++) {
    const double same = k < USERS ? ones[k] : 0;
    const double less = k ? ones[k - 1] : 0;
    const double one = truth * less + (1 - truth) * same;
    const double zero = truth * same + (1 - truth) * less;
    delta[0] += fmax(0, one - exp(epsilon) * zero);
    delta[1] += fmax(0, zero - exp(epsilon) * one);
  }
  return fmax(delta[0], delta[1]);
}

static void test_bug__a_shuffler_that_forgets_to_permute_is_caught(void **state) {
  (void)state;
  const double local = 3;
  shuffled s = {.truth = exp(local) / (1 + exp(local))};
  faro_audit_plan p = plan(40000);
  p.delta = 0.02;
  p.epsilon = 0; /* what the correct shuffler gives, exactly */
  while (response_delta(s.truth, p.epsilon) > p.delta) p.epsilon += 1e-4;
  const faro_contribution c = contribution(0, 1);
  const faro_audit_mechanism mechanism = {.messages = USERS, .width = 1, .context = &s, .run = respond};
  for (int forgets = 0; forgets < 2; forgets++) {
    faro_audit_result result = {0};
    s.forgets = forgets;
    assert_ok(faro_audit(&mechanism, &c, &p, &result, error));
    print_message("  %.3f against %g (%s, %s)\n", result.epsilon_lower, p.epsilon, result.pair,
                  result.statistic);
    assert_int_equal(result.consistent, !forgets);
    if (forgets) assert_string_equal(result.statistic, "place");
    else assert_true(result.epsilon_lower > 0.2 * p.epsilon);
  }
}

/* ---- validity */

/* One answer, true with probability e / (1 + e). The best test reads it, so every bound is as near
 * to the truth as possible. */
static faro_status answer(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                          faro_error *error) {
  (void)context;
  (void)y;
  (void)error;
  *view = faro_sim_bernoulli(sim, exp(EPSILON) / (1 + exp(EPSILON))) == (x[0] > 0);
  return FARO_OK;
}

/* At confidence 0.8 at most a fifth of the audits may exceed the true epsilon, which here is the
 * claim. */
static void test_audit__false_alarms_are_as_rare_as_stated(void **state) {
  (void)state;
  enum { AUDITS = 300 };
  const faro_contribution c = contribution(0, 1);
  const faro_audit_mechanism mechanism = {.messages = 1, .width = 1, .run = answer};
  uint64_t alarms = 0;
  double sum = 0;
  for (uint64_t seed = 0; seed < AUDITS; seed++) {
    faro_audit_plan p = plan(2000);
    p.delta = 0;
    p.confidence = 0.8;
    p.seed = seed;
    faro_audit_result result = {0};
    assert_ok(faro_audit(&mechanism, &c, &p, &result, error));
    sum += result.epsilon_lower;
    alarms += !result.consistent;
  }
  print_message("  %llu of %d\n", (unsigned long long)alarms, AUDITS);
  assert_true(sum / AUDITS > 0.7 * EPSILON);
  assert_true(faro_proportion_low(alarms, AUDITS, FALSE_ALARM) <= 0.2);
}

static void test_audit__same_seed_same_result(void **state) {
  (void)state;
  faro_audit_plan p = plan(3000);
  const faro_audit_result a = attack(one_sum, LENGTH, exact(SENSITIVITY / 3), &p);
  const faro_audit_result b = attack(one_sum, LENGTH, exact(SENSITIVITY / 3), &p);
  assert_true(a.epsilon_lower == b.epsilon_lower && a.hits == b.hits && a.false_hits == b.false_hits);
  p.seed = 2;
  const faro_audit_result other = attack(one_sum, LENGTH, exact(SENSITIVITY / 3), &p);
  assert_true(a.hits != other.hits || a.false_hits != other.false_hits);
}

static faro_status not_a_number(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                faro_error *error) {
  (void)context;
  (void)x;
  (void)y;
  (void)sim;
  (void)error;
  *view = (double)NAN;
  return FARO_OK;
}

static void test_audit__refuses_bad_plans_by_name(void **state) {
  (void)state;
  const faro_contribution c = contribution(0, 1);
  gaussian g = exact(1);
  faro_audit_mechanism mechanism = {.messages = 1, .width = LENGTH, .context = &g, .run = one_sum};
  const struct {
    uint64_t trials;
    double confidence;
    const char *names;
  } bad[] = {{999, 0.9, "trials"},
             {UINT64_MAX, 0.9, "trials"},
             {1000, 0.4, "confidence"},
             {1000, 1, "confidence"},
             {1000, (double)NAN, "confidence"}};
  faro_audit_result result;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_audit_plan p = plan(bad[i].trials);
    p.confidence = bad[i].confidence;
    faro_error error = {0};
    assert_int_equal(faro_audit(&mechanism, &c, &p, &result, &error), FARO_INVALID);
    assert_non_null(strstr(error.message, bad[i].names));
  }
  const faro_audit_plan p = plan(1000);
  faro_error error = {0};
  mechanism.run = not_a_number;
  assert_int_equal(faro_audit(&mechanism, &c, &p, &result, &error), FARO_INVALID);
  error = (faro_error){0};
  mechanism.width = 0;
  assert_int_equal(faro_audit(&mechanism, &c, &p, &result, &error), FARO_INVALID);
}

/* ---- releases */

static faro_contribution moments(size_t dimension) {
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, dimension, 1, 0, 1, error));
  return c;
}

/* Plain numbers in [-1/2, 1/2], one or two, all of which the pairs of the audit change. */
static faro_contribution numbers(size_t count) {
  faro_contribution c;
  assert_ok(faro_contribution_values(&c, count, false, error));
  return c;
}

static bool named(const faro_release_kind *kind, const char *name) { return strcmp(kind->name, name) == 0; }

/* The kind or its alternative. */
static const faro_release_kind *made_as(const faro_release_kind *kind, const faro_contribution *c,
                                        const faro_release_params *params) {
  faro_release *r = NULL;
  assert_ok(faro_release_create(&r, kind, c, params, faro_source_none(), error));
  const faro_release_kind *made = faro_release_kind_of(r);
  faro_release_destroy(r);
  return made;
}

/* Claims with delta 0. Responses of users who return compose with some. */
static bool is_pure(const faro_release_kind *kind, const faro_release_params *params) {
  return named(kind, "central-laplace") || named(kind, "local-laplace") ||
         (named(kind, "local-response") && params->contributions <= 1);
}

static void audit_release(size_t kind, faro_calibration calibration, const faro_release_params *base,
                          faro_contribution c, uint64_t trials) {
  faro_release_params params = *base;
  params.calibration = calibration;
  const faro_audit_plan p = plan(trials);
  const faro_release_kind *k = faro_release_kind_at(kind);
  faro_audit_result result = {0};
  assert_ok(faro_audit_release(k, &c, &params, &p, &result, error));
  print_message("  %-18s %-7s %.3f against (%g, %g)%s (%s, %s)\n", k->name,
                faro_calibration_name(calibration), result.epsilon_lower, result.epsilon, result.delta,
                result.proven ? " proven" : "", result.pair, result.statistic);
  if (k->trust == FARO_TRUST_NONE) {
    assert_true(isnan(result.epsilon) && result.consistent && !result.proven);
    assert_true(result.epsilon_lower > log((double)trials / 4) - 4);
  } else
    assert_true(result.epsilon == params.epsilon &&
                result.delta == (is_pure(made_as(k, &c, &params), &params) ? 0 : params.delta));
  if (result.proven) assert_true(result.consistent);
}

/* The papers of these three have no theorem for users who return. */
static bool no_theorem(const faro_release_kind *kind, int calibration, const faro_contribution *c) {
  return calibration == FARO_CALIBRATION_PAPER &&
         (named(kind, "concurrent-bits") || named(kind, "shuffle-laplace") ||
          (c->form == FARO_FORM_VALUES && named(kind, "shuffle-bits")));
}

static void for_all(const faro_release_params *params, faro_contribution contribution, uint64_t trials) {
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
      if (faro_release_kind_calibrates(faro_release_kind_at(k), (faro_calibration)c))
        audit_release(k, (faro_calibration)c, params, contribution, trials);
}

static void test_releases__proven_claims_are_consistent(void **state) {
  (void)state;
  const faro_release_params loose = {.epsilon = 1, .delta = 0.1, .horizon = 80, .batch = 20};
  for_all(&loose, moments(2), 20000);
  const faro_release_params strict = {.epsilon = 4, .delta = 1e-3, .horizon = 40, .batch = 10};
  for_all(&strict, moments(2), 20000);
}

/* As an elimination algorithm uses them: one or several numbers per user, one batch. */
static void test_releases__proven_claims_on_numbers_are_consistent(void **state) {
  (void)state;
  const faro_release_params loose = {.epsilon = 1, .delta = 0.1, .horizon = 20, .batch = 20};
  for_all(&loose, numbers(1), 20000);
  for_all(&loose, numbers(2), 20000);
  const faro_release_params strict = {.epsilon = 4, .delta = 1e-3, .horizon = 20, .batch = 10};
  for_all(&strict, numbers(1), 20000);
}

/* In growing batches, in a batch that is neither the first nor of the first size. */
static const faro_release_params growing = {.epsilon = EPSILON,
                                            .delta = DELTA,
                                            .horizon = 40,
                                            .batch = 5,
                                            .growth = 2,
                                            .grid = 8,
                                            .calibration = FARO_CALIBRATION_TIGHT};
static const uint64_t THIRD_BATCH = 12;

/* One audit; false if there is no such release. `params` may have a growth that is refused. */
static bool audit_setting(const faro_release_kind *kind, const faro_contribution *c,
                          faro_release_params params, faro_audit_plan *p, faro_audit_result *result) {
  faro_secure_rng *secure = NULL;
  faro_release *release = NULL;
  if (kind->trust == FARO_TRUST_CONCURRENT) params.growth = 1;
  assert_ok(faro_secure_open(&secure, error));
  const faro_source source = p->deployed ? faro_source_all_parties(secure) : faro_source_none();
  const bool possible = faro_release_create(&release, kind, c, &params, source, NULL) == FARO_OK;
  faro_release_destroy(release);
  faro_secure_close(secure);
  if (!possible || kind->trust == FARO_TRUST_NONE) return false;
  assert_ok(faro_audit_release(kind, c, &params, p, result, error));
  return true;
}

/* What is audited, and how strong the attack was. */
static size_t audit_all_settings(const faro_contribution *c, bool deployed) {
  size_t audits = 0;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    faro_audit_plan p = plan(4000);
    faro_audit_result result = {0};
    p.place = THIRD_BATCH;
    p.deployed = deployed;
    if (!audit_setting(kind, c, growing, &p, &result)) continue;
    print_message("  %-18s %-8s form %d: %.3f (%s, %s)\n", kind->name, deployed ? "deployed" : "",
                  (int)c->form, result.epsilon_lower, result.pair, result.statistic);
    assert_true(result.consistent && result.proven);
    audits++;
  }
  return audits;
}

static void test_releases__are_consistent_in_the_middle_of_growing_batches(void **state) {
  (void)state;
  faro_contribution c = contribution(0, 1);
  assert_true(audit_all_settings(&c, false) == 16);
  assert_ok(faro_contribution_rewards(&c, D, 1, 0, 1, error));
  assert_true(audit_all_settings(&c, false) == 16);
  assert_ok(faro_contribution_linearised(&c, D, 1, FARO_LINK_LOGISTIC, 1, error));
  assert_true(audit_all_settings(&c, false) == 16);
  c = moments(4);
  assert_ok(faro_contribution_split(&c, 2, error));
  assert_true(audit_all_settings(&c, false) == 16);
}

/* Floating-point noise cannot be deployed. */
static void test_releases__are_consistent_as_they_are_deployed(void **state) {
  (void)state;
  faro_contribution c = contribution(0, 1);
  assert_true(audit_all_settings(&c, true) == 12);
  assert_ok(faro_contribution_ball(&c, 3, 1, error));
  assert_true(audit_all_settings(&c, true) == 12);
}

static void test_adaptive__sizes_are_played(void **state) {
  (void)state;
  const faro_contribution c = contribution(0, 1);
  faro_release_params params = growing;
  params.growth = 1;
  params.adaptive = true;
  faro_audit_plan p = plan(20000);
  p.place = THIRD_BATCH;
  faro_audit_result result = {0};
  assert_true(audit_setting(faro_release_kind_find("shuffle-bits"), &c, params, &p, &result));
  assert_true(result.consistent && result.epsilon_lower > 0.1);
}

static void test_audit__any_number_of_threads_finds_the_same(void **state) {
  (void)state;
  const char *const kinds[] = {"central-tree", "shuffle-gaussian", "local-response", "concurrent-bits"};
  const faro_contribution c = contribution(0, 1);
  for (size_t k = 0; k < 4; k++)
    for (int deployed = 0; deployed < 2; deployed++) {
      faro_audit_result one = {0};
      for (size_t jobs = 1; jobs < 20; jobs = 2 * jobs + 1) {
        faro_audit_plan p = plan(2000);
        faro_audit_result result = {0};
        p.place = THIRD_BATCH;
        p.deployed = deployed;
        p.jobs = jobs;
        assert_true(audit_setting(faro_release_kind_find(kinds[k]), &c, growing, &p, &result));
        if (jobs == 1) one = result;
        assert_true(result.epsilon_lower == one.epsilon_lower && result.hits == one.hits &&
                    result.false_hits == one.false_hits && result.trials == one.trials);
        assert_string_equal(result.pair, one.pair);
        assert_string_equal(result.statistic, one.statistic);
      }
    }
}

/* A reward in an interval of width 2, with the noise of a release that was told another width: the
 * caller scales by it, and should scale by 2. */
typedef struct scaled {
  faro_contribution c; /* rewards in [-1, 1] */
  faro_sim_rng stream;
  faro_release *release; /* draws from `stream` */
  double width;
} scaled;

static faro_status scaled_reward(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                 faro_error *error) {
  scaled *s = context;
  double z[LENGTH];
  const double nothing = 0;
  s->stream = *sim;
  faro_contribution_make(&s->c, x, y, z);
  const faro_status status = faro_release_randomize(s->release, &nothing, 0, view, error);
  *view = *view * s->width + z[LENGTH - D]; /* x_1 y */
  return status;
}

static void test_laplace__noise_for_half_the_interval_is_caught(void **state) {
  (void)state;
  const faro_release_params params = {
      .epsilon = EPSILON, .delta = DELTA, .horizon = 1, .batch = 1, .calibration = FARO_CALIBRATION_PAPER};
  const faro_contribution one = numbers(1);
  scaled s = {.c = contribution(-1, 1)};
  assert_ok(faro_release_create(&s.release, faro_release_kind_find("local-laplace"), &one, &params,
                                faro_source_simulated(&s.stream), error));
  const faro_audit_mechanism mechanism = {.messages = 1, .width = 1, .context = &s, .run = scaled_reward};
  faro_audit_plan p = plan(20000);
  p.delta = 0;
  for (s.width = 2; s.width >= 1; s.width--) {
    faro_audit_result result = {0};
    assert_ok(faro_audit(&mechanism, &s.c, &p, &result, error));
    print_message("  scaled by %g: %.3f\n", s.width, result.epsilon_lower);
    assert_int_equal(result.consistent, s.width == 2);
    assert_true(result.epsilon_lower > 0.7 * 2 / s.width); /* the bound is tight */
  }
  faro_release_destroy(s.release);
}

/* At user level the victim comes as often as the claim covers, four times. Then with eight visits,
 * under noise that was made for one, which an event-level claim does not cover. A batch of two
 * amplifies nothing and hides little. False alarms: FALSE_ALARM for each audit. */
static void return_four_times(const faro_release_kind *kind, const faro_contribution *c, bool planted) {
  const faro_release_params params = {.epsilon = EPSILON,
                                      .delta = DELTA,
                                      .horizon = 16,
                                      .batch = 2,
                                      .level = planted ? FARO_LEVEL_EVENT : FARO_LEVEL_USER,
                                      .contributions = planted ? 1 : 4,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  faro_audit_plan p = plan(20000);
  p.visits = planted ? 8 : 0;
  faro_audit_result result = {0};
  assert_ok(faro_audit_release(kind, c, &params, &p, &result, error));
  print_message("  %-18s %-7s noise for %d visits: %.3f (%s, %s)\n", kind->name,
                c->form == FARO_FORM_VALUES ? "number" : "moments", planted ? 1 : 4, result.epsilon_lower,
                result.pair, result.statistic);
  assert_int_equal(result.consistent, !planted);
}

static void test_releases__returning_users_are_covered_if_the_noise_is_made_for_them(void **state) {
  (void)state;
  const faro_contribution both[] = {contribution(0, 1), numbers(1)};
  for (int c = 0; c < 2; c++)
    for (size_t k = 0; k < faro_release_kinds(); k++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      /* a loose bound on L1 */
      const bool loose = !(both[c].form == FARO_FORM_VALUES) && strstr(kind->name, "laplace");
      if (kind->trust == FARO_TRUST_NONE) continue;
      return_four_times(kind, &both[c], false);
      if (!loose) return_four_times(kind, &both[c], true);
    }
}

/* User-level claims of every release and calibration, at two bounds and in larger batches. */
static void all_at_user_level(faro_contribution c, uint64_t m0) {
  const faro_release_params params = {
      .epsilon = 2, .delta = 0.01, .horizon = 80, .batch = 10, .level = FARO_LEVEL_USER, .contributions = m0};
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int calibration = 0; calibration < FARO_CALIBRATION_COUNT; calibration++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      if (faro_release_kind_calibrates(kind, (faro_calibration)calibration) &&
          calibration != FARO_CALIBRATION_FIGURE && !no_theorem(kind, calibration, &c))
        audit_release(k, (faro_calibration)calibration, &params, c, 10000);
    }
}

static void test_releases__proven_user_level_claims_are_consistent(void **state) {
  (void)state;
  all_at_user_level(moments(2), 2);
  all_at_user_level(moments(2), 8);
  all_at_user_level(numbers(1), 4);
}

/* Three shufflers, nodes of 2, 8 and 32 users: the victim is the first or last of a node, at every
 * level, or inside. */
static const faro_release_params three = {.epsilon = EPSILON,
                                          .delta = DELTA,
                                          .horizon = 128,
                                          .batch = 2,
                                          .shufflers = 3,
                                          .calibration = FARO_CALIBRATION_TIGHT};

static void test_concurrent__holds_for_a_user_at_a_boundary(void **state) {
  (void)state;
  const uint64_t places[] = {0, 1, 2, 7, 8, 31, 32, 40, 63, 64, 127};
  const faro_contribution c = contribution(0, 1);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    faro_audit_plan p = plan(10000);
    p.place = places[i];
    faro_audit_result result = {0};
    assert_ok(faro_audit_release(faro_release_kind_find("concurrent-bits"), &c, &three, &p, &result, error));
    print_message("  user %3llu: %.3f\n", (unsigned long long)places[i], result.epsilon_lower);
    assert_true(result.consistent && result.proven);
    assert_true(result.epsilon_lower > 0.2); /* the attack is strong */
  }
}

/* The reports of a release in which each level has the noise that one level alone would need:
 * composition was forgotten. */
static faro_status see_uncomposed(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                  faro_error *error) {
  const faro_contribution *c = context;
  const double nobody[2] = {0};
  faro_release *r = NULL;
  const faro_status status = faro_release_create(&r, faro_release_kind_find("concurrent-bits"), c, &three,
                                                 faro_source_simulated(sim), error);
  if (status != FARO_OK) return status;
  faro_bits *s = (faro_bits *)(void *)r;
  assert_true(s->levels == 3 && s->level[1].unit == 4 && s->level[2].unit == 16);
  for (size_t i = 0; i < s->levels; i++) {
    s->level[i].noise->noise /= s->levels;
    faro_binomial_plan(&s->level[i].noise->plan, s->level[i].noise->noise, 0.5);
  }
  for (int user = 0; user < 32; user++)
    if (faro_release_absorb(r, user == 0 ? x : nobody, user == 0 ? y : c->low))
      for (size_t level = 0; level < 3; level++) {
        const uint64_t *ones = faro_release_report(r, level);
        if (!ones || r->ledger.charged != s->level[level].unit) continue;
        for (size_t i = 0; i < c->length; i++) *view++ = (double)ones[i];
      }
  faro_release_destroy(r);
  return FARO_OK;
}

static void test_concurrent__levels_that_are_not_composed_are_caught(void **state) {
  (void)state;
  faro_contribution c = contribution(0, 1);
  const faro_audit_mechanism mechanism = {
      .messages = 1, .width = 3 * c.length, .context = &c, .run = see_uncomposed};
  faro_audit_plan p = plan(20000);
  p.epsilon = EPSILON;
  p.delta = DELTA;
  faro_audit_result result = {0};
  assert_ok(faro_audit(&mechanism, &c, &p, &result, error));
  print_message("  %.3f\n", result.epsilon_lower);
  assert_false(result.consistent);
}

static void test_releases__of_odd_shapes_are_consistent(void **state) {
  (void)state;
  const faro_release_params one = {.epsilon = 1, .delta = 0.1, .horizon = 2, .batch = 2};
  for_all(&one, moments(1), 1000);
  const faro_release_params many = {.epsilon = 1, .delta = 0.1, .horizon = 80, .batch = 2}; /* 40 releases */
  for_all(&many, moments(4), 1000); /* too wide to learn a covariance from these runs */
}

/* The noise of the published figures for amplified messages is far too small: one message stands
 * out. */
static void test_amplified__the_figures_noise_is_caught(void **state) {
  (void)state;
  const faro_contribution c = contribution(0, 1);
  const faro_release_params params = {
      .epsilon = 1, .delta = 0.1, .horizon = 400, .batch = 100, .calibration = FARO_CALIBRATION_FIGURE};
  const faro_audit_plan p = plan(20000);
  faro_audit_result result = {0};
  assert_ok(faro_audit_release(faro_release_kind_find("shuffle-amplified"), &c, &params, &p, &result, error));
  assert_false(result.consistent);
  assert_false(result.proven);
}

static void test_releases__refuse_bad_parameters_and_survive_exhaustion(void **state) {
  (void)state;
  const faro_contribution c = contribution(0, 1);
  faro_release_params params = {.epsilon = -1, .delta = 0.1, .horizon = 8, .batch = 2};
  const faro_audit_plan p = plan(1000);
  faro_audit_result result = {0};
  faro_error error = {0};
  const faro_release_kind *local = faro_release_kind_find("local");
  assert_int_equal(faro_audit_release(local, &c, &params, &p, &result, &error), FARO_INVALID);
  params.epsilon = 1;
  params.calibration = FARO_CALIBRATION_TIGHT; /* which every release offers */
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (size_t n = 1;; n++) {
      assert_true(n < 1000);
      error = (faro_error){0};
      alloc_fail_at(n);
      const faro_status status =
          faro_audit_release(faro_release_kind_at(k), &c, &params, &p, &result, &error);
      alloc_reset();
      if (status == FARO_OK || n > 60) break; /* a trusted server's release is created in every run */
      assert_int_equal(status, FARO_MEMORY);
    }
}

/* One run: proven claims stand, noise made for epsilon = 30 does not pass for epsilon = 2, and
 * missing noise is seen. */
static void test_one_run__claims_stand_and_weaker_noise_is_caught(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 300, 1, 0, 1, error));
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    for (int weak = 0; weak < 2; weak++) {
      const faro_release_params params = {.epsilon = weak ? 30 : 2,
                                          .delta = 1e-9,
                                          .horizon = 300,
                                          .batch = 300,
                                          .calibration = FARO_CALIBRATION_TIGHT};
      const faro_audit_plan p = {.confidence = 0.999, .seed = 5};
      faro_audit_result result = {0};
      assert_ok(faro_audit_one_run(kind, &c, &params, &p, &result, error));
      print_message("  %-18s made for epsilon %g: lower bound %.3f, %.0f %% of the guesses right\n",
                    kind->name, params.epsilon, result.epsilon_lower, 100 * result.hits);
      assert_true(result.consistent);
      const bool hidden = named(kind, "shuffle-amplified") || /* hidden in the sum of 300 noises */
                          named(kind, "shuffle-gaussian") ||
                          strstr(kind->name, "laplace"); /* noise for L1, of 45450 entries */
      if (weak && strstr(made_as(kind, &c, &params)->name, "-response")) continue; /* either way */
      if ((weak && !hidden) || kind->trust == FARO_TRUST_NONE) assert_true(result.epsilon_lower > 2);
      else assert_true(result.epsilon_lower <= 2);
    }
  }
  faro_contribution small;
  assert_ok(faro_contribution_init(&small, 10, 1, 0, 1, error));
  const faro_release_params params = {.epsilon = 1, .delta = 1e-9, .calibration = FARO_CALIBRATION_TIGHT};
  const faro_audit_plan p = {.confidence = 0.99};
  faro_audit_result result = {0};
  faro_error refused = {0};
  assert_int_equal(
      faro_audit_one_run(faro_release_kind_find("local"), &small, &params, &p, &result, &refused),
      FARO_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds__match_closed_forms_and_binomial_sums),
      cmocka_unit_test(test_bounds__large_counts_agree_with_the_normal_limit),
      cmocka_unit_test(test_gaussian__exact_noise_is_consistent_and_the_bound_is_near),
      cmocka_unit_test(test_gaussian__is_consistent_at_a_smaller_delta),
      cmocka_unit_test(test_bug__half_the_noise_is_caught),
      cmocka_unit_test(test_bug__a_missing_clip_is_caught),
      cmocka_unit_test(test_bug__a_sensitivity_of_one_for_an_interval_of_two_is_caught),
      cmocka_unit_test(test_bug__a_reused_seed_is_caught),
      cmocka_unit_test(test_bug__a_shuffler_that_forgets_to_permute_is_caught),
      cmocka_unit_test(test_tree__the_nodes_are_combined),
      cmocka_unit_test(test_audit__false_alarms_are_as_rare_as_stated),
      cmocka_unit_test(test_audit__same_seed_same_result),
      cmocka_unit_test(test_audit__refuses_bad_plans_by_name),
      cmocka_unit_test(test_releases__proven_claims_are_consistent),
      cmocka_unit_test(test_releases__proven_claims_on_numbers_are_consistent),
      cmocka_unit_test(test_releases__are_consistent_in_the_middle_of_growing_batches),
      cmocka_unit_test(test_releases__are_consistent_as_they_are_deployed),
      cmocka_unit_test(test_adaptive__sizes_are_played),
      cmocka_unit_test(test_audit__any_number_of_threads_finds_the_same),
      cmocka_unit_test(test_laplace__noise_for_half_the_interval_is_caught),
      cmocka_unit_test(test_releases__returning_users_are_covered_if_the_noise_is_made_for_them),
      cmocka_unit_test(test_releases__proven_user_level_claims_are_consistent),
      cmocka_unit_test(test_concurrent__holds_for_a_user_at_a_boundary),
      cmocka_unit_test(test_concurrent__levels_that_are_not_composed_are_caught),
      cmocka_unit_test(test_releases__of_odd_shapes_are_consistent),
      cmocka_unit_test(test_amplified__the_figures_noise_is_caught),
      cmocka_unit_test(test_one_run__claims_stand_and_weaker_noise_is_caught),
      cmocka_unit_test(test_releases__refuse_bad_parameters_and_survive_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
