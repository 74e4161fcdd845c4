/* columns: users who come many at a time leave what they leave one by one. */
#include <math.h>
#include <string.h>

#include "release/columns.h"
#include "support/support.h"

enum { D = 3, USERS = 60, BATCH = 20 };

static faro_sim_rng noise[2];

/* Some are too long, and one is not finite. */
static void draw(double x[D][USERS]) {
  faro_sim_rng sim;
  faro_sim_open(&sim, 73, 0, FARO_ROLE_USER);
  for (size_t i = 0; i < USERS; i++)
    for (size_t j = 0; j < D; j++)
      x[j][i] = i == 33 ? (j == 1 ? (double)NAN : 5) : 1.6 * faro_sim_uniform(&sim) - 0.8;
}

static faro_release *make(const faro_release_kind *kind, faro_sim_rng *sim) {
  faro_contribution ball;
  faro_release *r = NULL;
  assert_ok(faro_contribution_ball(&ball, D, 1, error));
  faro_sim_open(sim, 74, 0, FARO_ROLE_USER);
  const faro_release_params p = {
      .epsilon = 1, .delta = 1e-3, .horizon = USERS, .batch = BATCH, .calibration = FARO_CALIBRATION_TIGHT};
  assert_ok(faro_release_create(&r, kind, &ball, &p, faro_source_simulated(sim), error));
  return r;
}

static void compare(const faro_release *one, const faro_release *many) {
  const faro_statistics a = faro_release_statistics(one);
  const faro_statistics b = faro_release_statistics(many);
  assert_int_equal(a.users, b.users);
  for (size_t i = 0; i < D; i++) assert_close(a.sum[i], b.sum[i], 1e-12 * (1 + fabs(a.sum[i])));
}

/* In portions of every size; they also go over the end of a batch, and of the horizon. */
static void check(const faro_release_kind *kind) {
  double x[D][USERS];
  draw(x);
  for (uint64_t portion = 1; portion <= USERS; portion += portion < 8 ? 1 : 13) {
    faro_release *one = make(kind, &noise[0]);
    faro_release *many = make(kind, &noise[1]);
    for (uint64_t i = 0; i < USERS; i += portion) {
      const uint64_t count = USERS - i < portion ? USERS - i : portion;
      bool out = false;
      for (uint64_t k = i; k < i + count; k++)
        out |= faro_release_absorb(one, (double[D]){x[0][k], x[1][k], x[2][k]}, 0);
      assert_int_equal(faro_release_absorb_columns(many, x[0] + i, USERS, count), out);
      assert_int_equal(faro_release_missing(one), faro_release_missing(many));
      compare(one, many);
    }
    assert_false(faro_release_absorb_columns(many, x[0], USERS, 5)); /* nobody is missing */
    compare(one, many);
    faro_release_destroy(one);
    faro_release_destroy(many);
  }
}

static void test_columns__are_absorbed_as_one_by_one_by_every_release(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    if (faro_release_kind_calibrates(faro_release_kind_at(k), FARO_CALIBRATION_TIGHT))
      check(faro_release_kind_at(k));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_columns__are_absorbed_as_one_by_one_by_every_release),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
