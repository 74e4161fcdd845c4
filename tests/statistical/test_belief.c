/* belief: how well what glm-batched believes after private fits is calibrated, with real noise and
 * parameters on the sphere of radius S, where the prior expects them. The mean of (theta_hat -
 * theta)' Sigma^-1 (theta_hat - theta) / d is 1 if the belief is right. Fixed seeds, and no
 * false-alarm rate: the bounds are statements about these seeds; standard errors are 0.02 to
 * 0.06. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <faro/study.h>

#include "explore/explore.h"
#include "learner/belief.h"
#include "support/support.h"

enum { D = 4, TERMS = 2, RUNS = 60 };

typedef struct setting {
  const char *release;
  faro_link link;
  double S, epsilon;
  uint64_t people;
} setting;

static void draw_unit(faro_sim_rng *sim, double *u) {
  double square = 0;
  for (size_t i = 0; i < D; i++) {
    u[i] = faro_sim_normal(sim);
    square += u[i] * u[i];
  }
  for (size_t i = 0; i < D; i++) u[i] /= sqrt(square);
}

static double dot(const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += a[i] * b[i];
  return sum;
}

static double deviation_of(const faro_belief *b, const double *x) {
  double square = 0;
  for (size_t i = 0; i < D; i++) {
    double sum = 0;
    for (size_t j = 0; j <= i; j++) sum += b->w[faro_packed(i) + j] * x[j];
    square += sum * sum;
  }
  return sqrt(square);
}

/* One term as glm-batched plays it, but with one random arm for everybody. */
static void play_term(const setting *s, faro_belief *b, const double *theta, faro_sim_rng *sim) {
  const faro_study_params params = {.link = s->link,
                                    .dimension = D,
                                    .norm = s->S,
                                    .reward = 1,
                                    .steepest = faro_link_steepest(s->link, s->S),
                                    .people = s->people,
                                    .horizon = s->people,
                                    .failure = 0.1,
                                    .epsilon = s->epsilon,
                                    .delta = 1e-5,
                                    .calibration = FARO_CALIBRATION_TIGHT};
  faro_study *study = NULL;
  assert_ok(faro_study_create(&study, faro_release_kind_find(s->release), &params, sim, error));
  assert_ok(faro_study_allow(study, (const uint64_t[FARO_PARTS]){0, 1}, error));
  for (uint64_t i = 0; i < s->people; i++) {
    double x[D];
    draw_unit(sim, x);
    const bool y = faro_sim_bernoulli(sim, faro_link_mean(s->link, dot(x, theta)));
    (void)faro_study_add(study, x, y, 1, faro_expected_slope(s->link, dot(x, b->theta), deviation_of(b, x)));
  }
  const faro_noise noise = faro_study_noise(study, 1);
  const double spread = noise.scale ? noise.scale[0] : 0;
  faro_belief_see(b, faro_study_sum(study, 1).sum, spread);
  double curvature[D * (D + 1) / 2];
  faro_belief_curvature(b, fmax(b->prior, spread * sqrt(2 * D)), 2, curvature);
  double fitted[D];
  double gradient[D];
  faro_answer answer = {.theta = fitted, .gradient = gradient};
  const faro_question question = {
      .part = 1, .ridge = b->prior, .region = {.radius = s->S}, .curvature = curvature, .start = b->theta};
  assert_ok(faro_study_fit(study, &question, &answer, error));
  faro_belief_take(b, &answer, b->prior);
  faro_study_destroy(study);
}

static double error_of(const setting *s, uint64_t run) {
  faro_sim_rng sim;
  faro_host host = {0};
  faro_belief b = {0};
  double theta[D];
  double error_vector[D];
  faro_sim_open(&sim, 11, run, FARO_ROLE_USER);
  draw_unit(&sim, theta);
  for (size_t i = 0; i < D; i++) theta[i] *= s->S;
  assert_ok(faro_belief_init(&b, D, D / (s->S * s->S), &host, error));
  for (int t = 0; t < TERMS; t++) play_term(s, &b, theta, &sim);
  for (size_t i = 0; i < D; i++) error_vector[i] = b.theta[i] - theta[i];
  double square = 0;
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++)
      square +=
          error_vector[i] * b.precision[i >= j ? faro_packed(i) + j : faro_packed(j) + i] * error_vector[j];
  faro_belief_clear(&b);
  faro_arena_free(&host.arena);
  return square / D;
}

static void check(const setting *s, double least, double most) {
  double mean = 0;
  for (uint64_t run = 0; run < RUNS; run++) mean += error_of(s, run) / RUNS;
  if (!(mean > least && mean < most))
    fail_msg("%s, link %d, S %g, epsilon %g: %.2f is not within %g .. %g", s->release, (int)s->link, s->S,
             s->epsilon, mean, least, most);
}

/* A probit with S = 4 is so flat for long arms that the expected slope says little: there the
 * belief is too sure of the parameter's length. */
static void test_belief__is_calibrated(void **state) {
  (void)state;
  slow_test();
  static const char *const release[] = {"none", "central", "shuffle-bits", "local"};
  for (size_t r = 0; r < sizeof release / sizeof *release; r++)
    for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_PROBIT; link++)
      for (double S = 1; S <= 4; S += 1.5) {
        const double most = link == FARO_LINK_PROBIT && S > 3 ? 6 : 1.5;
        check(&(setting){release[r], link, S, 1, 400}, 0.5, most);
        check(&(setting){release[r], link, S, 1, 4000}, 0.5, most);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_belief__is_calibrated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
