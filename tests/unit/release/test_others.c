/* What proofs need of the other users. A shuffled message must look like those of everybody else
 * in its batch, so amplification rests on the distance between any two users, and not only on that
 * of two neighbours, who have the same features where these are public.
 *
 * Bugs that were planted and found: rewards that are not centred, with the noise for neighbours. */
#include <math.h>
#include <string.h>

#include "release/release.h"
#include "support/support.h"

enum { D = 4, LENGTH = D * (D + 3) / 2 };

/* Features at the bound in random directions, or along an axis, on either side; some point the
 * other way than the last ones. */
static void draw_features(faro_sim_rng *sim, double norm, double x[D]) {
  double square = 0;
  if (faro_sim_uniform(sim) < 0.4) {
    for (int i = 0; i < D; i++) x[i] = -x[i];
    return;
  }
  const double few = faro_sim_uniform(sim) < 0.3 ? 0 : 1;
  for (int i = 0; i < D; i++) {
    x[i] = faro_sim_normal(sim) * (i == 0 ? 1 : few);
    square += x[i] * x[i];
  }
  for (int i = 0; i < D; i++) x[i] *= norm / sqrt(square);
}

static double draw_reward(const faro_contribution *c, faro_sim_rng *sim) {
  const double u = faro_sim_uniform(sim);
  return u < 0.4 ? c->low : u < 0.8 ? c->high : c->low + (c->high - c->low) * faro_sim_uniform(sim);
}

/* The greatest distance that a search finds between the contributions of two users. */
static double farthest(const faro_contribution *c, faro_sim_rng *sim) {
  double x[D] = {c->norm};
  double z[2][LENGTH] = {{0}};
  double most = 0;
  faro_contribution_make(c, x, c->high, z[0]);
  for (int i = 1; i < 20000; i++) {
    double square = 0;
    draw_features(sim, c->norm, x);
    faro_contribution_make(c, x, draw_reward(c, sim), z[i % 2]);
    for (size_t k = 0; k < c->length; k++) square += (z[0][k] - z[1][k]) * (z[0][k] - z[1][k]);
    most = fmax(most, square);
  }
  return sqrt(most);
}

/* Every form, as it is and weighed. For rewards it is reached. */
static void test_sensitivity__is_that_of_any_two_users(void **state) {
  (void)state;
  static const double ends[][2] = {{0, 1}, {0.5, 1}, {0.8, 1}, {-1, 1}, {-1, -0.9}, {-0.3, 0.7}};
  enum { ENDS = sizeof ends / sizeof *ends, FORMS = 8 };
  faro_sim_rng sim;
  faro_sim_open(&sim, 11, 0, FARO_ROLE_USER);
  for (int e = 0; e < ENDS; e++) {
    faro_contribution form[FORMS];
    const double low = ends[e][0];
    const double high = ends[e][1];
    assert_ok(faro_contribution_rewards(&form[0], D, 2, low, high, error));
    assert_ok(faro_contribution_init(&form[1], D, 2, low, high, error));
    assert_ok(faro_contribution_init(&form[2], D, 2, low, high, error));
    assert_ok(faro_contribution_split(&form[2], 2, error));
    form[3] = faro_contribution_weigh(&form[1]);
    form[4] = faro_contribution_weigh(&form[2]);
    assert_ok(faro_contribution_gram(&form[5], D, 2, error));
    assert_ok(faro_contribution_values(&form[6], D, false, error));
    assert_ok(faro_contribution_ball(&form[7], D, 2, error));
    for (int f = 0; f < FORMS; f++) {
      const double most = farthest(&form[f], &sim);
      if (!(most <= form[f].sensitivity)) fail_msg("form %d, [%g, %g]: %g apart", f, low, high, most);
      if (f == 0) assert_true(most > 0.999 * form[f].sensitivity);
    }
  }
}

static double laplace_at(double y, double b) { return exp(-fabs(y) / b) / (2 * b); }

/* delta at epsilon of two shuffled messages, by integration: the user's, from z or from other, and
 * somebody's from a third place. */
static double pair_delta(double z, double other, double somebody, double b, double epsilon) {
  enum { STEPS = 500 };
  const double least = fmin(fmin(z, other), somebody) - 12 * b;
  const double most = fmax(fmax(z, other), somebody) + 12 * b;
  const double step = (most - least) / STEPS;
  double gain[STEPS], crowd[STEPS];
  double sum = 0;
  for (int i = 0; i < STEPS; i++) {
    const double y = least + (i + 0.5) * step;
    gain[i] = laplace_at(y - z, b) - exp(epsilon) * laplace_at(y - other, b);
    crowd[i] = laplace_at(y - somebody, b);
  }
  for (int i = 0; i < STEPS; i++)
    for (int j = 0; j < STEPS; j++) sum += fmax(0, gain[i] * crowd[j] + gain[j] * crowd[i]);
  return sum / 2 * step * step;
}

/* The other user has the same arm, the opposite one or an orthogonal one (z = 0), and any reward.
 * The noise would be too little if rewards were not centred, in the same units: b stays, and they
 * are `shift` away from 0. */
static double worst_pair(const faro_contribution *c, double b, double epsilon, double shift) {
  const double plus = 1;
  const double minus = -1;
  double z[2], worst = 0;
  faro_contribution_make(c, &plus, c->low, &z[0]);
  faro_contribution_make(c, &plus, c->high, &z[1]);
  for (int arm = -1; arm <= 1; arm++)
    for (int high = 0; high < 2; high++)
      for (int turn = 0; turn < 2; turn++) {
        double somebody = 0;
        if (arm != 0) faro_contribution_make(c, arm > 0 ? &plus : &minus, high ? c->high : c->low, &somebody);
        worst =
            fmax(worst, pair_delta(z[turn] + shift, z[1 - turn] + shift, somebody + arm * shift, b, epsilon));
      }
  return worst;
}

static void test_rewards__hide_behind_one_user_with_any_arm(void **state) {
  (void)state;
  static const double low[] = {0, 0.5, 0.8};
  const faro_release_params p = {
      .epsilon = 0.05, .delta = 0.08, .horizon = 2, .batch = 2, .calibration = FARO_CALIBRATION_TIGHT};
  for (int i = 0; i < 3; i++) {
    faro_contribution c;
    faro_release *r = NULL;
    assert_ok(faro_contribution_rewards(&c, 1, 1, low[i], 1, error));
    assert_ok(faro_release_create(&r, &faro_release_shuffle_laplace, &c, &p, faro_source_none(), error));
    assert_true(faro_release_claim(r)->proven && c.sensitivity / r->laplace > 5 * p.epsilon); /* amplified */
    const double middle = (1 + low[i]) / (1 - low[i]);
    assert_true(worst_pair(&c, r->laplace, p.epsilon, 0) <= p.delta);
    assert_true(worst_pair(&c, r->laplace, p.epsilon, middle) > p.delta);
    faro_release_destroy(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sensitivity__is_that_of_any_two_users),
      cmocka_unit_test(test_rewards__hide_behind_one_user_with_any_arm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
