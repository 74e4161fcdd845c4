/* left out: clients add the noise of their own batch, and noise is never left out, not even once in
 * a thousand draws, which changes neither a variance nor an epsilon that an audit could measure.
 * Every release publishes the same users' sums many times, in a simulation and as it is deployed,
 * and no number may come out more often than its noise allows.
 *
 * False alarms: continuous noise practically never repeats a number. Noise in whole numbers has a
 * standard deviation of more than 10^4 steps here, so that the likeliest of them is expected less
 * than once, P(Poisson(1) >= 12) < 1e-9, and there are less than 1e3 entries of any weight. Noise
 * that is missing once in 1000 draws repeats a number 20 times. */
#include <math.h>
#include <stdlib.h>

#include <faro/message.h>

#include "release/grid.h"
#include "release/rewind.h"
#include "support/support.h"

enum { D = 2, LENGTH = 5, BATCH = 2, BATCHES = 3, RUNS = 20000, OFTEN = 12, ENTRIES = BATCHES * LENGTH };

static faro_sim_rng stream;

/* NULL if this kind cannot be made for this use. Deployed bit sums are left out, because each run
 * would have to copy their tables: what they draw is checked in test_samplers.c, and where they
 * draw it is where a simulation does. */
static faro_release *make(const faro_release_kind *kind, faro_secure_rng *secure) {
  const faro_release_params params = {.epsilon = 1,
                                      .delta = 1e-6,
                                      .horizon = BATCH * BATCHES,
                                      .batch = BATCH,
                                      .grid = 1 << 14,
                                      .shufflers = 1,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  if (kind->trust == FARO_TRUST_NONE || (secure && faro_release_kind_counts(kind))) return NULL;
  const faro_source source = secure ? faro_source_all_parties(secure) : faro_source_simulated(&stream);
  if (faro_release_create(&r, kind, &c, &params, source, NULL) != FARO_OK) return NULL;
  if (secure) faro_release_rehearse(r, &stream);
  return r;
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left;
  const double b = *(const double *)right;
  return (a > b) - (a < b);
}

static size_t most_alike(double *value) {
  size_t most = 1;
  size_t same = 1;
  qsort(value, RUNS, sizeof *value, by_value);
  for (size_t i = 1; i < RUNS; i++) {
    same = value[i] - value[i - 1] < 1e-9 ? same + 1 : 1; /* sums are rounded */
    if (same > most) most = same;
  }
  return most;
}

static void check(faro_release *r, const char *name) {
  static double seen[ENTRIES][RUNS];
  static const double x[D] = {0.6, -0.3};
  void *image = malloc(faro_release_image_size(r));
  assert_non_null(image);
  faro_release_image(r, image);
  for (size_t run = 0; run < RUNS; run++) {
    size_t entry = 0;
    faro_sim_open(&stream, 1, run, FARO_ROLE_USER);
    faro_release_rewind(r, image);
    for (int user = 0; user < BATCH * BATCHES; user++) {
      if (!faro_release_absorb(r, x, 0.7)) continue;
      for (size_t i = 0; i < LENGTH; i++) seen[entry++][run] = faro_release_statistics(r).sum[i];
    }
    assert_true(entry == ENTRIES);
  }
  free(image);
  for (size_t i = 0; i < ENTRIES; i++) {
    const size_t most = most_alike(seen[i]);
    if (most >= OFTEN) print_message("  %s: one number came %zu times\n", name, most);
    assert_true(most < OFTEN);
  }
}

static void test_noise__is_never_left_out(void **state) {
  (void)state;
  check_test();
  size_t deployed = 0;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int use = 0; use < 2; use++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      faro_release *r = make(kind, use == 1 ? secure : NULL);
      if (!r) continue;
      check(r, kind->name);
      deployed += use == 1;
      faro_release_destroy(r);
    }
  faro_secure_close(secure);
  assert_int_equal(deployed, 8);
}

/* Where batches grow, users hide among more and add less noise. What clients really add, over all
 * entries, against what the claim counts on: six standard deviations of the estimate. */
static void test_noise__of_a_message_is_that_of_its_own_batch(void **state) {
  (void)state;
  enum { MESSAGES = 4000 };
  const faro_release_params params = {.epsilon = 1,
                                      .delta = 1e-6,
                                      .horizon = 200000,
                                      .batch = 20000,
                                      .growth = 3,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution c;
  faro_release *r = NULL;
  faro_secure_rng *secure = NULL;
  const double nobody[D] = {0};
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_release_create(&r, &faro_release_shuffle_gaussian, &c, &params, faro_source_client(secure),
                                error));
  faro_release_rehearse(r, &stream);
  faro_sim_open(&stream, 1, 0, FARO_ROLE_USER);
  const faro_grid *g = faro_grid_in(r);
  assert_true(faro_release_batches(r) == 3 && faro_noise_factor(r, 2) < 0.8 * faro_noise_factor(r, 0));
  for (uint64_t k = 0; k < faro_release_batches(r); k++) {
    double square = 0;
    faro_release_seek(r, k);
    for (size_t n = 0; n < MESSAGES; n++) {
      int64_t message[LENGTH];
      assert_ok(faro_release_randomize(r, nobody, 0, message, error));
      for (size_t i = 0; i < LENGTH; i++) square += pow(g->unit * (double)message[i], 2);
    }
    const double sd = faro_noise_factor(r, k) * r->unit[0];
    assert_close(square / (MESSAGES * LENGTH) / (sd * sd), 1, 6 * sqrt(2.0 / (MESSAGES * LENGTH)));
  }
  faro_release_destroy(r);
  faro_secure_close(secure);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise__is_never_left_out),
                                     cmocka_unit_test(test_noise__of_a_message_is_that_of_its_own_batch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
