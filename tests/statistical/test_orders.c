/* orders: what the figures of Tenenbaum et al. 2023, Li, Zhou & Ji 2022 and Hanna et al. 2022 show,
 * at full size where that takes seconds. These are statements about the seeds used; adjacent values
 * in an order are many standard errors apart. */
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "sim/experiment.h"
#include "support/support.h"

typedef struct figure {
  faro_experiment *experiment;
  faro_results *results;
} figure;

static figure run(const char *name, const faro_override *overrides, size_t count) {
  figure f = {0};
  char path[200];
  const faro_experiment_options options = {.overrides = overrides, .override_count = count};
  snprintf(path, sizeof path, "experiments/%s.yaml", name);
  assert_ok(faro_experiment_load(&f.experiment, path, &options, error));
  assert_ok(faro_run(f.experiment, &(faro_run_options){0}, &f.results, error));
  return f;
}

static void clear(figure *f) {
  faro_results_destroy(f->results);
  faro_experiment_destroy(f->experiment);
}

static const faro_outcome *outcome_of(const figure *f, const char *label, double epsilon) {
  for (size_t c = 0; c < f->experiment->count; c++)
    if (strcmp(f->experiment->cell[c].label, label) == 0 &&
        f->experiment->cell[c].settings.epsilon == epsilon)
      return &f->results->outcome[c];
  fail_msg("no cell %s at %g", label, epsilon);
  return NULL;
}

static double regret(const figure *f, const char *label, double epsilon) {
  return outcome_of(f, label, epsilon)->regret.mean;
}

static bool within(double a, double b, double factor) { return a < factor * b && b < factor * a; }

/* SDP is close to CDP, both are near DPE at large epsilon, LDP is far off; all private regrets
 * decrease with epsilon. */
static void test_li_2022__shuffled_is_as_good_as_central_and_local_is_far_off(void **state) {
  (void)state;
  const faro_override few[] = {{"epsilon", "[1, 10]"}};
  figure f = run("002-fig2a", few, 1);
  for (double epsilon = 1; epsilon <= 10; epsilon *= 10) {
    assert_true(within(regret(&f, "CDP-DPE", epsilon), regret(&f, "SDP-DPE", epsilon), 1.1));
    assert_true(regret(&f, "DPE", epsilon) < regret(&f, "CDP-DPE", epsilon));
    assert_true(regret(&f, "LDP-DPE", epsilon) > 10 * regret(&f, "SDP-DPE", epsilon));
  }
  assert_true(regret(&f, "SDP-DPE", 10) < 1.3 * regret(&f, "DPE", 10));
  assert_true(regret(&f, "CDP-DPE", 10) < regret(&f, "CDP-DPE", 1) &&
              regret(&f, "LDP-DPE", 10) < regret(&f, "LDP-DPE", 1));
  clear(&f);
}

static void test_li_2022__growing_clients_beat_fixed_ones_at_equal_communication(void **state) {
  (void)state;
  figure f = run("002-fig2c", NULL, 0);
  const faro_outcome *growing = outcome_of(&f, "DPE", 1);
  const faro_outcome *fixed = outcome_of(&f, "DPE-FixedU", 1);
  assert_true(within(growing->sent, fixed->sent, 1.1));
  assert_true(fixed->regret.mean > 3 * growing->regret.mean);
  clear(&f);
}

/* If only rewards are private, trusted and shuffled privacy cost a few per cent, and the best arm
 * is never lost. */
static void test_li_2022__elimination_is_private_almost_for_free(void **state) {
  (void)state;
  const faro_override million[] = {{"horizon", "1000000"}};
  figure f = run("002-pe", million, 1);
  assert_true(regret(&f, "CDP-PE", 1) < 1.1 * regret(&f, "PE", 1));
  assert_true(regret(&f, "SDP-PE", 1) < 1.15 * regret(&f, "PE", 1));
  assert_true(regret(&f, "LDP-PE", 1) > 5 * regret(&f, "PE", 1));
  for (size_t c = 0; c < f.experiment->count; c++) assert_true(f.results->outcome[c].lost == 0);
  clear(&f);
}

static void test_hanna_2022__models_keep_their_order_at_epsilon_one(void **state) {
  (void)state;
  const faro_override one[] = {{"epsilon", "1"}};
  figure f = run("003-fig2a", one, 1);
  const double none = regret(&f, "no privacy", 1);
  assert_true(regret(&f, "central (Alg. 1)", 1) < 1.5 * none &&
              regret(&f, "shuffled sums (Alg. 4)", 1) < 1.5 * none);
  assert_true(regret(&f, "shuffled (Alg. 3)", 1) < regret(&f, "local (Alg. 2)", 1) / 2);
  clear(&f);
}

/* Figure 2(b): a core set in every phase pays where noise is large and not where it is small. The
 * default is never behind playing all active arms, nor behind the better of the two by more than
 * its noise. */
static void test_hanna_2022__the_core_set_is_played_where_it_pays(void **state) {
  (void)state;
  static const char *const calibrations[] = {"tight", "paper"};
  static const double epsilons[] = {0.01, 0.3, 10};
  for (size_t c = 0; c < 2; c++) {
    const faro_override shorter[] = {{"horizon", "1000000"},
                                     {"instances", "6"},
                                     {"epsilon", "[0.01, 0.3, 10]"},
                                     {"calibration", calibrations[c]}};
    figure f = run("003-fig2b", shorter, 4);
    for (size_t e = 0; e < 3; e++) {
      const double pays = regret(&f, "core set where it pays", epsilons[e]);
      assert_true(pays < 1.03 * regret(&f, "no core set", epsilons[e]));
      assert_true(pays < 1.03 * regret(&f, "core set (Alg. 1)", epsilons[e]));
    }
    assert_true(regret(&f, "core set (Alg. 1)", 0.01) < 0.8 * regret(&f, "no core set", 0.01));
    assert_true(regret(&f, "core set (Alg. 1)", 10) > regret(&f, "no core set", 10));
    clear(&f);
  }
}

/* Alg. 3 is never behind Alg. 2 at the same epsilon. */
static void test_hanna_2022__a_shuffler_never_hurts(void **state) {
  (void)state;
  const faro_override few[] = {{"horizon", "100000"}, {"instances", "20"}};
  figure f = run("003-fig2a", few, 2);
  static const double epsilons[] = {0.1, 0.3, 1, 3, 10};
  for (size_t e = 0; e < 5; e++)
    assert_true(regret(&f, "shuffled (Alg. 3)", epsilons[e]) <
                1.02 * regret(&f, "local (Alg. 2)", epsilons[e]));
  clear(&f);
}

/* Table 1: without privacy the regret grows as T^(1 - alpha/2), communication as T^alpha; a larger
 * alpha has less regret and more bits. */
static void test_li_2022__table_1(void **state) {
  (void)state;
  figure f = run("002-table1", NULL, 0);
  const size_t algorithms = f.experiment->algorithms;
  const faro_outcome *first = &f.results->outcome[0];
  const faro_outcome *last = &f.results->outcome[3 * algorithms]; /* three decades later */
  assert_true(fabs(log10(last->regret.mean / first->regret.mean) / 3 - 0.6) < 0.05);
  assert_true(fabs(log10(last->sent / first->sent) / 3 - 0.8) < 0.03);
  clear(&f);
  f = run("002-alpha", NULL, 0);
  for (size_t c = f.experiment->algorithms; c < f.experiment->count; c++) {
    const faro_outcome *before = &f.results->outcome[c - f.experiment->algorithms];
    assert_true(f.results->outcome[c].regret.mean < before->regret.mean);
    assert_true(f.results->outcome[c].sent > before->sent);
  }
  clear(&f);
}

/* More shufflers, less regret, from one to three. */
static void test_tenenbaum_2023__regret_falls_with_the_shufflers(void **state) {
  (void)state;
  const faro_override shorter[] = {{"horizon", "100000"}, {"instances", "10"}};
  figure f = run("001-linucb-shufflers", shorter, 2);
  assert_true(regret(&f, "1 shuffler", 1) > regret(&f, "2 shufflers", 1));
  assert_true(regret(&f, "2 shufflers", 1) > regret(&f, "3 shufflers", 1));
  const double three = regret(&f, "3 shufflers", 1);
  /* no further gain: one more level adds about as much noise as it saves */
  assert_true(fabs(regret(&f, "8 shufflers", 1) / three - 1) < 0.15);
  assert_true(fabs(regret(&f, "log n shufflers", 1) / three - 1) < 0.15);
  clear(&f);
}

/* The stream of the lower bound is harder than random bits, which it is with one copy of each: with
 * the theorem's copies for one shuffler, with a hundred for all. No error is below the bound's
 * order. The errors are paired, so that differences are far larger than their standard errors. */
static void test_tenenbaum_2023__the_hard_stream_is_hard(void **state) {
  (void)state;
  const faro_override shorter[] = {{"horizon", "100000"}};
  figure f = run("001-hard", shorter, 1);
  const faro_outcome *copies[3]; /* 1, auto, 100 */
  assert_int_equal(f.experiment->count, 9);
  for (size_t k = 0; k < 3; k++) {
    for (size_t i = 0; i < 3; i++) copies[i] = &f.results->outcome[3 * i + k];
    assert_true(copies[2]->regret.mean > 1.15 * copies[0]->regret.mean);
    for (size_t i = 0; i < 3; i++)
      assert_true(copies[i]->least > 0 && copies[i]->regret.mean > copies[i]->least);
  }
  assert_true(f.results->outcome[3].regret.mean > 1.15 * f.results->outcome[0].regret.mean);
  clear(&f);
}

/* Sizes chosen from what was released pay where the rate stays or drifts slowly, and cost where it
 * jumps. Three shufflers are better than either. */
static void test_tenenbaum_2023__chosen_sizes_pay_where_little_changes(void **state) {
  (void)state;
  const faro_override shorter[] = {{"horizon", "100000"}, {"cycles", "1"}, {"instances", "40"}};
  const faro_override steady[] = {{"horizon", "100000"}, {"cycles", "0"}, {"instances", "40"}};
  figure drifts = run("001-adaptive", shorter, 3); /* then jumps */
  figure stays = run("001-adaptive", steady, 3);
  assert_int_equal(drifts.experiment->count, 8);
  const faro_outcome *drift = drifts.results->outcome;
  const faro_outcome *stay = stays.results->outcome;
  const faro_outcome *jump = drift + 4;
  assert_true(stay[2].regret.mean < 0.7 * stay[1].regret.mean);
  assert_true(drift[2].regret.mean < 0.9 * drift[1].regret.mean);
  assert_true(jump[2].regret.mean > 2 * jump[1].regret.mean);
  assert_true(jump[3].regret.mean < jump[1].regret.mean && drift[3].regret.mean < drift[1].regret.mean);
  clear(&drifts);
  clear(&stays);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_li_2022__shuffled_is_as_good_as_central_and_local_is_far_off),
      cmocka_unit_test(test_li_2022__growing_clients_beat_fixed_ones_at_equal_communication),
      cmocka_unit_test(test_li_2022__elimination_is_private_almost_for_free),
      cmocka_unit_test(test_hanna_2022__models_keep_their_order_at_epsilon_one),
      cmocka_unit_test(test_hanna_2022__the_core_set_is_played_where_it_pays),
      cmocka_unit_test(test_hanna_2022__a_shuffler_never_hurts),
      cmocka_unit_test(test_li_2022__table_1),
      cmocka_unit_test(test_tenenbaum_2023__regret_falls_with_the_shufflers),
      cmocka_unit_test(test_tenenbaum_2023__the_hard_stream_is_hard),
      cmocka_unit_test(test_tenenbaum_2023__chosen_sizes_pay_where_little_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
