/* rewind, answer: a release that is brought back repeats itself, and responses are read as their
 * protocol means them. */
#include <math.h>
#include <string.h>

#include "release/answer.h"
#include "release/rewind.h"
#include "support/support.h"

enum { D = 2, LENGTH = 5, USERS = 24 };

static faro_contribution moments(void) {
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  return c;
}

static void play(faro_release *r, faro_sim_rng *stream, double *sums) {
  faro_sim_open(stream, 7, 0, FARO_ROLE_USER);
  for (int user = 0; user < USERS; user++) {
    const double x[D] = {cos(user), sin(user)};
    if (!faro_release_absorb(r, x, user % 2)) continue;
    memcpy(sums, faro_release_statistics(r).sum, LENGTH * sizeof *sums);
    sums += LENGTH;
  }
}

static void test_rewind__every_release_repeats_itself(void **state) {
  (void)state;
  const faro_contribution c = moments();
  const faro_release_params params = {
      .epsilon = 1, .delta = 0.01, .horizon = USERS, .batch = 6, .calibration = FARO_CALIBRATION_TIGHT};
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    faro_sim_rng stream;
    faro_release *r = NULL;
    double first[USERS / 6 * LENGTH];
    double again[USERS / 6 * LENGTH];
    assert_ok(
        faro_release_create(&r, faro_release_kind_at(k), &c, &params, faro_source_simulated(&stream), error));
    void *image = malloc(faro_release_image_size(r));
    faro_release_image(r, image);
    play(r, &stream, first);
    assert_true(faro_release_spent(r));
    faro_release_rewind(r, image);
    assert_true(!faro_release_spent(r) && faro_release_statistics(r).users == 0);
    play(r, &stream, again);
    assert_memory_equal(first, again, sizeof first);
    free(image);
    faro_release_destroy(r);
  }
}

/* With a large epsilon the message always has the code of its own input, and with a small one
 * almost any: with probability gamma + (1 - gamma) / 2k, which is e^epsilon times that of another
 * code. */
static void test_answer__fits_its_own_input(void **state) {
  (void)state;
  const faro_contribution c = moments();
  const double epsilons[] = {1, 40};
  const int runs[] = {20000, 200};
  const double x[2][D] = {{0.6, 0.8}, {-0.8, 0.6}};
  for (int e = 0; e < 2; e++) {
    const faro_release_params params = {.epsilon = epsilons[e],
                                        .delta = 0.01,
                                        .horizon = 1,
                                        .batch = 1,
                                        .calibration = FARO_CALIBRATION_TIGHT};
    faro_sim_rng stream;
    faro_release *r = NULL;
    double inputs[2 * (LENGTH + 1)];
    uint64_t rank[2];
    double count[2] = {0};
    double differ = 0; /* seeds on which the two inputs have different codes */
    faro_sim_open(&stream, 3, 0, FARO_ROLE_USER);
    assert_ok(faro_release_create(&r, faro_release_kind_find("local-response"), &c, &params,
                                  faro_source_simulated(&stream), error));
    assert_int_equal(faro_answer_size(r), LENGTH + 1);
    for (size_t i = 0; i < 2; i++) faro_answer_prepare(r, x[i], 1, inputs + i * (LENGTH + 1));
    for (int i = 0; i < runs[e]; i++) {
      uint64_t message;
      assert_ok(faro_release_randomize(r, x[0], 1, &message, error));
      faro_answer_read(r, &message, inputs, 2, rank);
      const bool fits[2] = {rank[0] < faro_answer_truths(r), rank[1] < faro_answer_truths(r)};
      assert_true((double)faro_answer_truths(r) / (double)faro_answer_codes(r) == faro_answer_share(r));
      for (int k = 0; k < 2; k++) count[k] += fits[k] > fits[1 - k];
      differ += fits[0] != fits[1];
      if (e == 1) assert_true(fits[0]);
    }
    if (e == 0) assert_mean(count[0] / differ, exp(1) / (1 + exp(1)), sqrt(exp(1)) / (1 + exp(1)), differ);
    faro_release_destroy(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rewind__every_release_repeats_itself),
      cmocka_unit_test(test_answer__fits_its_own_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
