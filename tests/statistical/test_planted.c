/* planted: the audit finds bugs in the releases that are shipped. The program is linked with the
 * releases of the library, built once more with switches (release/plant.h). Every audit is at
 * confidence 1 - FALSE_ALARM. */
#include <math.h>
#include <string.h>

#include "audit/bounds.h"
#include "release/plant.h"
#include "support/support.h"

faro_plant faro_planted = {.noise = 1};

static int set_up(void **state) {
  (void)state;
  faro_planted = (faro_plant){.noise = 1};
  return 0;
}

static const double DELTAS[] = {0.1, 1e-6};

/* Batches of six in four releases: cheap, and users are mixed. */
static faro_release_params small(double delta) {
  return (faro_release_params){
      .epsilon = 1, .delta = delta, .horizon = 24, .batch = 6, .calibration = FARO_CALIBRATION_TIGHT};
}

static bool is(const faro_release_kind *kind, const char *part) { return strstr(kind->name, part) != NULL; }

/* Laplace noise is exact for plain numbers only. */
static faro_contribution data_for(const faro_release_kind *kind) {
  faro_contribution c;
  if (is(kind, "laplace")) assert_ok(faro_contribution_values(&c, 1, false, error));
  else assert_ok(faro_contribution_init(&c, 2, 1, 0, 1, error));
  return c;
}

static faro_audit_result audit(const faro_release_kind *kind, const faro_release_params *params,
                               uint64_t trials) {
  const faro_contribution c = data_for(kind);
  const faro_audit_plan plan = {.trials = trials, .confidence = 1 - FALSE_ALARM, .seed = 1};
  faro_audit_result r = {0};
  assert_ok(faro_audit_release(kind, &c, params, &plan, &r, error));
  print_message("  %-18s delta %-6g %.3f of %g, sees from %.3f, %s (%s: %s, %s)\n", kind->name, params->delta,
                r.epsilon_lower, r.epsilon, r.power, r.consistent ? "consistent" : "violated", r.against,
                r.pair, r.statistic);
  return r;
}

static void for_all(void (*check)(const faro_release_kind *, double delta)) {
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (size_t d = 0; d < 2; d++)
      if (faro_release_kind_at(k)->trust != FARO_TRUST_NONE) check(faro_release_kind_at(k), DELTAS[d]);
}

/* Whether its proof is a Gaussian, over all that is seen. */
static bool has_gaussian(const faro_release_kind *kind) {
  return !is(kind, "laplace") && !is(kind, "response") && !is(kind, "shuffle-amplified") &&
         !is(kind, "shuffle-gaussian");
}

/* At delta 1e-6 mu is 0.24, and it takes half a million runs to tell it from 0.3. The sums of a
 * tree show less than its nodes, for which the noise is made. */
static uint64_t trials_for(const faro_release_kind *kind, double delta) {
  if (delta > 0.01) return 100000;
  return is(kind, "central-tree") || is(kind, "central-bits") ? 2000000 : 1000000;
}

static void find_less_noise(const faro_release_kind *kind, double delta) {
  const faro_release_params params = small(delta);
  faro_planted.noise = 1;
  assert_true(audit(kind, &params, trials_for(kind, delta)).consistent);
  faro_planted.noise = has_gaussian(kind) ? 0.8 : 0.5;
  if (strcmp(kind->name, "local") == 0) faro_planted.noise = 0.5; /* responses, if they have less noise */
  assert_false(audit(kind, &params, trials_for(kind, delta)).consistent);
}

static void test_bug__less_noise_is_caught_at_any_delta(void **state) {
  (void)state;
  for_all(find_less_noise);
}

/* Whether the shuffler passes messages on whole. */
static bool is_mixed(const faro_release_kind *kind) {
  return kind->trust == FARO_TRUST_SHUFFLE && !faro_release_kind_counts(kind);
}

static void find_no_permutation(const faro_release_kind *kind, double delta) {
  const faro_release_params params = small(delta);
  if (!is_mixed(kind)) return;
  const faro_audit_result r = audit(kind, &params, 10000);
  assert_false(r.consistent);
  assert_string_equal(r.against, "order");
}

static void test_bug__no_permutation_is_caught(void **state) {
  (void)state;
  faro_planted.unmixed = true;
  for_all(find_no_permutation);
}

/* A response hides whatever it is about: its noise does not depend on the length of z. A reward
 * that is no number may show all the same. */
static bool needs_clipping(const faro_release_kind *kind, const faro_release_params *params) {
  const faro_contribution c = data_for(kind);
  faro_release *r = NULL;
  assert_ok(faro_release_create(&r, kind, &c, params, faro_source_none(), error));
  const bool response = is(faro_release_kind_of(r), "response");
  faro_release_destroy(r);
  return !response;
}

static void find_no_clip(const faro_release_kind *kind, double delta) {
  const faro_release_params params = small(delta);
  if (needs_clipping(kind, &params)) assert_false(audit(kind, &params, 200000).consistent);
}

static void test_bug__no_clip_is_caught(void **state) {
  (void)state;
  faro_planted.unclipped = true;
  for_all(find_no_clip);
}

static void find_one_level(const faro_release_kind *kind, double delta) {
  faro_release_params params = small(delta);
  params.batch = 2;
  params.horizon = 32; /* sixteen releases */
  if (!is(kind, "tree") && !is(kind, "factored") && !is(kind, "concurrent") && !is(kind, "central-bits"))
    return;
  faro_planted.one_level = false;
  assert_true(audit(kind, &params, 200000).consistent);
  faro_planted.one_level = true;
  assert_false(audit(kind, &params, 200000).consistent);
}

static void test_bug__levels_that_are_not_composed_are_caught(void **state) {
  (void)state;
  for_all(find_one_level);
}

static void find_one_visit(const faro_release_kind *kind, double delta) {
  faro_release_params params = small(delta);
  params.level = FARO_LEVEL_USER;
  params.contributions = 4;
  faro_planted.one_visit = false;
  assert_true(audit(kind, &params, 100000).consistent);
  faro_planted.one_visit = true;
  assert_false(audit(kind, &params, 100000).consistent);
}

static void test_bug__noise_for_one_visit_where_four_are_allowed_is_caught(void **state) {
  (void)state;
  for_all(find_one_visit);
}

/* Some users are not honest, or several batches share a shuffler: the claim holds as it is made,
 * and noise that is made for others does not pass. Half of the users have half of the bits. */
static void find_company(const char *name, faro_release_params params, double noise) {
  const faro_release_kind *kind = faro_release_kind_find(name);
  faro_planted = (faro_plant){.noise = 1};
  const faro_audit_result right = audit(kind, &params, 200000);
  assert_true(right.consistent && right.epsilon_lower > 0.5);
  faro_planted.noise = noise;
  assert_false(audit(kind, &params, 200000).consistent);
  faro_planted = (faro_plant){.noise = 1, .unmixed = true};
  if (is_mixed(kind)) assert_false(audit(kind, &params, 10000).consistent);
}

static void test_honest_and_crowd__are_audited(void **state) {
  (void)state;
  for (size_t d = 0; d < 2; d++) {
    faro_release_params params = small(DELTAS[d]);
    params.honest = 0.5;
    find_company("shuffle-bits", params, sqrt(0.5));
    find_company("concurrent-bits", params, sqrt(0.5));
    find_company("shuffle-gaussian", params, 0.5);
    params.honest = 0;
    params.crowd = 60;
    params.secret = true;
    find_company("shuffle-laplace", params, 0.5);
    params.honest = 0.5;
    find_company("shuffle-laplace", params, 0.5);
  }
}

/* A thousand audits of every release, each at confidence 0.9: at most a tenth of them may find
 * something, and as the bounds are conservative there should be far fewer. */
static void repeat(const faro_release_kind *kind, double delta) {
  enum { AUDITS = 1000 };
  const faro_release_params params = small(delta);
  const faro_contribution c = data_for(kind);
  uint64_t alarms = 0;
  double sum = 0;
  for (uint64_t seed = 0; seed < AUDITS; seed++) {
    const faro_audit_plan plan = {.trials = 1000, .confidence = 0.9, .seed = seed};
    faro_audit_result r = {0};
    assert_ok(faro_audit_release(kind, &c, &params, &plan, &r, error));
    alarms += !r.consistent;
    sum += r.epsilon_lower;
  }
  print_message("  %-18s delta %-6g %llu of %d, mean bound %.3f\n", kind->name, delta,
                (unsigned long long)alarms, AUDITS, sum / AUDITS);
  assert_true(faro_proportion_low(alarms, AUDITS, FALSE_ALARM) <= 0.1);
}

static void test_releases__are_consistent_a_thousand_times(void **state) {
  (void)state;
  for_all(repeat);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_bug__less_noise_is_caught_at_any_delta, set_up),
      cmocka_unit_test_setup(test_bug__no_permutation_is_caught, set_up),
      cmocka_unit_test_setup(test_bug__no_clip_is_caught, set_up),
      cmocka_unit_test_setup(test_bug__levels_that_are_not_composed_are_caught, set_up),
      cmocka_unit_test_setup(test_bug__noise_for_one_visit_where_four_are_allowed_is_caught, set_up),
      cmocka_unit_test_setup(test_honest_and_crowd__are_audited, set_up),
      cmocka_unit_test_setup(test_releases__are_consistent_a_thousand_times, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
