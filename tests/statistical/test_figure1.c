/* figure 1: calibration `figure` gives the numbers of the published script, and the order of trust
 * models holds at every epsilon. False-alarm rate of the comparisons: 1e-6 (tree: 1e-4). The order
 * and the decrease with epsilon are statements about this seed: adjacent values in the order are
 * many standard errors apart, except for JDP and bit sums at epsilon = 0.2 and 10, which are
 * between one and two apart.
 *
 * The published script, run for Figure 1 of Chowdhury & Zhou 2022 at epsilon = 1 on 50 instances,
 * gave these final pseudo-regrets (mean, standard deviation over instances). Its tree noise is
 * frozen, so JDP is compared with the range of fresh noise. */
#include <math.h>
#include <string.h>

#include "sim/experiment.h"
#include "support/support.h"

static faro_experiment *experiment;
static faro_results *results;

static int run_figure(void **state) {
  (void)state;
  static const faro_override overrides[] = {{"calibration", "figure"}};
  const faro_experiment_options options = {.overrides = overrides, .override_count = 1};
  faro_error error = {0};
  if (faro_experiment_load(&experiment, "experiments/000-fig1.yaml", &options, &error) != FARO_OK) return 1;
  return faro_run(experiment, &(faro_run_options){0}, &results, &error) == FARO_OK ? 0 : 1;
}

static int clean_up(void **state) {
  (void)state;
  faro_results_destroy(results);
  faro_experiment_destroy(experiment);
  return 0;
}

static const faro_spread *regret_of(const char *label, double epsilon) {
  for (size_t c = 0; c < experiment->count; c++)
    if (strcmp(experiment->cell[c].label, label) == 0 && experiment->cell[c].settings.epsilon == epsilon)
      return &results->outcome[c].regret;
  fail_msg("no such cell");
  return NULL;
}

static void check_published(const char *label, double mean, double sd) {
  const faro_spread *ours = regret_of(label, 1);
  const double error = sqrt(sd * sd / 50 + ours->error * ours->error);
  const double z = (ours->mean - mean) / error;
  print_message("%s: %.0f +- %.0f, published script %.0f +- %.0f, apart by %.1f standard errors\n", label,
                ours->mean, ours->sd, mean, sd, z);
  if (normal_two_sided(z) < FALSE_ALARM) fail_msg("%s is off", label);
}

static void test_figure1__epsilon_one_matches_the_published_script(void **state) {
  (void)state;
  check_published("LinUCB", 632, 124);
  check_published("LinUCB-SDP-Amp", 2748, 422);
  check_published("LinUCB-SDP-Vec", 2892, 736);
  check_published("LinUCB-LDP", 4227, 525);
  const faro_spread *tree = regret_of("LinUCB-JDP", 1);
  assert_true(tree->mean > 2000 - 4 * tree->error && tree->mean < 2300 + 4 * tree->error);
}

static void test_figure1__trust_models_keep_their_order(void **state) {
  (void)state;
  const double epsilon[] = {0.2, 1, 10};
  for (int i = 0; i < 3; i++) {
    const double none = regret_of("LinUCB", epsilon[i])->mean;
    const double joint = regret_of("LinUCB-JDP", epsilon[i])->mean;
    const double amplified = regret_of("LinUCB-SDP-Amp", epsilon[i])->mean;
    const double bits = regret_of("LinUCB-SDP-Vec", epsilon[i])->mean;
    const double local = regret_of("LinUCB-LDP", epsilon[i])->mean;
    assert_true(none < joint && joint < amplified && joint < bits && amplified < local && bits < local);
  }
}

static void test_figure1__regret_falls_as_epsilon_grows(void **state) {
  (void)state;
  static const char *const labels[] = {"LinUCB-JDP", "LinUCB-SDP-Amp", "LinUCB-SDP-Vec", "LinUCB-LDP"};
  for (int i = 0; i < 4; i++) {
    assert_true(regret_of(labels[i], 0.2)->mean > regret_of(labels[i], 1)->mean);
    assert_true(regret_of(labels[i], 1)->mean > regret_of(labels[i], 10)->mean);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_figure1__epsilon_one_matches_the_published_script),
      cmocka_unit_test(test_figure1__trust_models_keep_their_order),
      cmocka_unit_test(test_figure1__regret_falls_as_epsilon_grows),
  };
  return cmocka_run_group_tests(tests, run_figure, clean_up);
}
