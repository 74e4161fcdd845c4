/* rarely: its constants against the published check values and against closed forms, and its loop
 * against a naive one with full matrices, explicit inverses and eigenvalues. The test plays the
 * study: sums with noise of its own, and estimates near the truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/optimism.h"
#include "learner/rarely.h"
#include "support/glm.h"

enum { D = GLM_DIMENSION, PACKED = GLM_PACKED, ARMS = 10, ROUNDS = 1500 };

/* ---- naive algebra */

static double determinant(glm_matrix a) {
  return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
         a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
         a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

/* If noise has made it indefinite, its least eigenvalue is raised to lambda / 2. */
static void shift(glm_matrix a, double lambda) {
  double least;
  double greatest;
  glm_extremes(a, &least, &greatest);
  if (least > 0) return;
  for (size_t i = 0; i < D; i++) a[i][i] += fmax(lambda / 2, 1e-9 * fmax(greatest, -least)) - least;
}

/* ---- constants */

/* Under calibration tight. */
static faro_asker_params setting(faro_link link, double bound, double kappa) {
  static const faro_optimism theorem = {.optimism = 1};
  return (faro_asker_params){.dimension = D,
                             .horizon = ROUNDS,
                             .failure = 0.05,
                             .link = link,
                             .bound = bound,
                             .kappa = kappa,
                             .offers = ARMS,
                             .calibration = FARO_CALIBRATION_TIGHT,
                             .settings = &theorem};
}

static bool is_tight(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_TIGHT; }
static bool is_paper(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_PAPER; }
static bool is_figure(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_FIGURE; }
static double optimism_of(const faro_asker_params *p) {
  return ((const faro_optimism *)p->settings)->optimism;
}

typedef struct expected {
  double lambda[2], gamma, beta, threshold, growth, doubt[2], ridge, Gamma, ratio;
  double fits[2];
} expected;

static double logs(const faro_asker_params *p) { return log((double)p->horizon / p->failure); }

/* Bound on the norm of the noise, with scales `on` on the diagonal and `off` beside it: the lesser
 * of Tropp's and Slepian's (noise.c). */
static double naive_bound(const faro_asker_params *p, double on, double off) {
  const double d = (double)p->dimension;
  const double q = p->failure / (4 * (double)p->horizon);
  const double tropp = sqrt(2 * (on * on + (d - 1) * off * off) * log(2 * d / q));
  const double s = fmax(off, on / sqrt(2));
  return fmin(tropp, 2 * s * sqrt(d) + 2 * s * sqrt(log(2 / q)));
}

static expected expect_paper(const faro_asker_params *p, double N_op) {
  const double d = (double)p->dimension;
  const double t = (double)p->horizon;
  const double B = glm_steepest(p->link);
  const double S = p->bound;
  const double lambda = d * logs(p) + 8 * N_op;
  const double least = lambda - N_op;
  const double most = lambda + N_op;
  expected e = {.lambda = {lambda, lambda}, .growth = 2, .ridge = lambda, .ratio = sqrt(most / lambda)};
  const double bracket = -log(p->failure) + 0.5 * d * log(1 + t * B / (d * least)) + d * log(2.0);
  e.Gamma = S * sqrt(most) + 0.5 * sqrt(least) + 2 * bracket / sqrt(least);
  e.gamma = e.ratio * (2 + 2 * S) * e.Gamma;
  e.beta = e.ratio * 4 * e.Gamma;
  e.threshold = pow(e.gamma, -2) / p->kappa;
  e.fits[0] = ceil(d * log(most / least + t / (d * least)) / log(1.625));
  e.fits[1] = ceil(d * log(most / least + t * B / (d * least)) / log(1.625));
  return e;
}

static expected expect_figure(const faro_asker_params *p, double gram, bool exact) {
  const double d = (double)p->dimension;
  const double t = (double)p->horizon;
  const double lambda = exact ? 0.5 : 2 * gram + 0.75 * d * log(4 * t / p->failure);
  const double least = lambda - 1.5 * gram;
  const double star = 1 / glm_steepest(p->link);
  const double width = sqrt(d * logs(p));
  return (expected){
      .lambda = {lambda, lambda},
      .gamma = p->bound * width,
      .beta = 4 * width,
      .threshold = 100 / (p->kappa * pow(p->bound, 2) * d),
      .growth = exact ? 1.5 : 1.05 + 0.625 / sqrt(d),
      .ridge = 2e-5,
      .fits = {fmax(1, floor(d * p->kappa * pow(p->bound, 2) * d * logs(p) * log(t) / 20000)),
               fmax(1, floor(3 * log2((lambda + 1.5 * gram) / least + t / (star * star * least * d))))}};
}

static expected expect_tight(const faro_asker_params *p, double bound) {
  const double d = (double)p->dimension;
  const double t = (double)p->horizon;
  const double lambda = fmax(1, 2 * optimism_of(p) * bound);
  const double width = sqrt(d * logs(p));
  expected e = {.lambda = {lambda, lambda},
                .gamma = optimism_of(p) * p->bound * width,
                .beta = optimism_of(p) * 4 * width,
                .threshold = 100 / (p->kappa * optimism_of(p) * pow(p->bound, 2) * d),
                .growth = 2,
                .doubt = {bound, optimism_of(p) * bound},
                .ridge = 1};
  e.fits[0] = 1 + ceil(log2(1 + fmin(t / d, 1 / e.threshold) / lambda));
  e.fits[1] = 1 + ceil(d * log2(1 + t * glm_steepest(p->link) / (d * lambda)));
  return e;
}

/* `bound`: on the norm of the noise; under figure, the published one. */
static expected expect(const faro_asker_params *p, bool exact, double bound) {
  expected e = is_figure(p)  ? expect_figure(p, bound, exact)
               : is_paper(p) ? expect_paper(p, bound)
                             : expect_tight(p, bound);
  if (exact) e.fits[0] = e.fits[1] = INFINITY;
  return e;
}

static void assert_constants(const faro_rarely_constants *c, const expected *e, bool exact) {
  for (int part = 0; part < 2; part++) {
    assert_close(c->lambda[part], e->lambda[part], 1e-9 * e->lambda[part]);
    if (!exact) assert_int_equal(c->fits[part], (uint64_t)e->fits[part]);
  }
  assert_close(c->gamma, e->gamma, 1e-9 * e->gamma);
  assert_close(c->beta, e->beta, 1e-9 * e->beta);
  assert_close(c->threshold, e->threshold, 1e-9 * e->threshold);
  assert_close(c->growth, e->growth, 1e-12);
  for (int part = 0; part < 2; part++) assert_close(c->doubt[part], e->doubt[part], 1e-9 * e->doubt[part]);
}

/* As in Table 2 of Sarmasarkar 2026: d = 3, T = 5000, probit. */
static faro_study *table_study(double S, double epsilon, faro_calibration calibration) {
  const faro_study_params params = {.link = FARO_LINK_PROBIT,
                                    .dimension = 3,
                                    .norm = S,
                                    .reward = 1,
                                    .steepest = 1 / sqrt(2 * acos(-1)),
                                    .people = 5000,
                                    .horizon = 5000,
                                    .failure = 0.02,
                                    .epsilon = epsilon,
                                    .delta = 0.02,
                                    .calibration = calibration};
  faro_study *study = NULL;
  assert_ok(faro_study_create(&study, faro_release_kind_find("central-tree"), &params, NULL, error));
  return study;
}

static faro_rarely_constants settle_table(double S, double kappa, double epsilon,
                                          faro_calibration calibration, double *scale) {
  faro_asker_params p = setting(FARO_LINK_PROBIT, S, kappa);
  p.horizon = 5000;
  p.failure = 0.02;
  p.calibration = calibration;
  faro_study *study = table_study(S, epsilon, calibration);
  const faro_noise noise[2] = {faro_study_noise(study, 0), faro_study_noise(study, 1)};
  double on = 0;
  double off = 0;
  for (int part = 0; part < 2; part++)
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j <= i; j++) {
        double *most = i == j ? &on : &off;
        *most = fmax(*most, noise[part].scale[faro_packed(i) + j]);
      }
  *scale = fmax(on, off);
  const faro_rarely_constants c = faro_rarely_settle(&p, false, noise);
  const expected e = expect(&p, false, is_figure(&p) ? noise[0].gamma : naive_bound(&p, on, off));
  assert_constants(&c, &e, false);
  faro_study_destroy(study);
  return c;
}

static const double kappas[] = {18.39, 56.44, 222.15};

static void test_figure__has_the_published_constants(void **state) {
  (void)state;
  const double lambda[] = {232.81, 165.57, 131.95};
  const uint64_t coarse[] = {3, 16, 95};
  const uint64_t fine[] = {8, 9, 9};
  double scale;
  for (int e = 0; e < 3; e++)
    for (int s = 0; s < 3; s++) {
      const faro_rarely_constants c =
          settle_table(2 + 0.5 * s, kappas[s], 4 + 2 * e, FARO_CALIBRATION_FIGURE, &scale);
      assert_close(c.lambda[0], lambda[e], 0.005);
      assert_close(c.lambda[1], lambda[e], 0.005);
      assert_int_equal(c.fits[0], coarse[s]);
      assert_int_equal(c.fits[1], fine[e]);
    }
}

/* At the published scale every round explores: the widest arm of the last round is still above the
 * threshold. */
static void test_paper__closed_forms_explore_for_ever(void **state) {
  (void)state;
  double scale;
  for (int e = 0; e < 3; e++) {
    const faro_rarely_constants c = settle_table(2, kappas[0], 4 + 2 * e, FARO_CALIBRATION_PAPER, &scale);
    assert_true(1 / (c.lambda[0] + 5000) > c.threshold && c.threshold < 6e-7);
    assert_true(c.lambda_min > 0 && c.lambda_max / c.lambda_min < 9.0 / 7 + 1e-9);
  }
  faro_asker_params p = setting(FARO_LINK_PROBIT, 2, kappas[0]); /* it is no better without noise */
  p.horizon = 5000;
  p.failure = 0.02;
  p.calibration = FARO_CALIBRATION_PAPER;
  const faro_noise none[2] = {{0}};
  const faro_rarely_constants c = faro_rarely_settle(&p, false, none);
  const expected e = expect(&p, false, 0);
  assert_constants(&c, &e, false);
  assert_true(1 / (c.lambda[0] + 5000) > c.threshold);
}

/* kappa grows without bound with S; counts must not. */
static void test_figure__fits_stay_countable(void **state) {
  (void)state;
  faro_asker_params p = setting(FARO_LINK_PROBIT, 30, 1e299);
  p.calibration = FARO_CALIBRATION_FIGURE;
  const faro_noise none[2] = {{0}};
  assert_int_equal(faro_rarely_settle(&p, false, none).fits[0], ROUNDS);
}

/* ---- the loop */

static void open_world(glm_world *w, double bound, uint64_t seed) {
  glm_open(w, ARMS, seed);
  for (size_t i = 0; i < D; i++) w->theta[i] = bound * (i == 0 ? 0.8 : -0.4);
}

/* The naive learner. */
typedef struct naive {
  const faro_asker_params *p;
  bool exact;
  expected c;
  glm_matrix V, V_o, H, H_tau;
  double theta_o[D], theta_tau[D], index[D];
  double left[2];
  bool answered[2], wants[2];
  bool news;                                       /* somebody explored since theta_o was asked for */
  size_t explored, dropped, questions[2], shifted; /* what was tested */
} naive;

static void naive_open(naive *n, const faro_asker_params *p, bool exact, double bound) {
  *n = (naive){.p = p, .exact = exact, .c = expect(p, exact, bound)};
  const double zero[PACKED] = {0};
  glm_unpack(zero, n->c.lambda[0], n->V);
  glm_unpack(zero, n->c.lambda[0], n->V_o);
  glm_unpack(zero, n->c.lambda[1], n->H);
  glm_unpack(zero, n->c.lambda[1], n->H_tau);
  memcpy(n->left, n->c.fits, sizeof n->left);
}

static faro_pick naive_pick(naive *n, const glm_world *w) {
  const bool published = !is_tight(n->p);
  glm_matrix V_inverse;
  glm_matrix H_inverse;
  glm_invert(n->V, V_inverse);
  glm_invert(n->H_tau, H_inverse);
  const double reach = n->c.gamma * sqrt(n->p->kappa);
  double width[ARMS];
  double mean[ARMS];
  double score[ARMS];
  double floor = -INFINITY;
  size_t widest = 0;
  for (size_t a = 0; a < ARMS; a++) {
    double x[D];
    glm_arm(w, a, x);
    width[a] = sqrt(glm_square(V_inverse, x));
    mean[a] = glm_dot(n->theta_o, x);
    score[a] = glm_dot(n->index, x) + n->c.beta * sqrt(glm_square(H_inverse, x));
    if (width[a] > width[widest]) widest = a;
    floor = fmax(floor, mean[a] - reach * width[a]);
  }
  if (width[widest] * width[widest] >= n->c.threshold) {
    n->explored++;
    n->news = true;
    const double square = width[widest] * width[widest];
    return (faro_pick){.arm = widest, .part = 0, .weight = is_figure(n->p) ? 1 / (1 + square) : 1};
  }
  size_t best = ARMS;
  size_t best_of_all = 0;
  for (size_t a = 0; a < ARMS; a++) {
    if (score[a] > score[best_of_all]) best_of_all = a;
    const bool stays = !n->answered[0] || mean[a] + reach * width[a] >= floor;
    if (stays && (best == ARMS || score[a] > score[best])) best = a;
  }
  n->dropped += best != best_of_all;
  double x[D];
  glm_arm(w, best, x);
  const double weight = published ? glm_slope(n->p->link, glm_dot(n->theta_o, x)) / exp(1)
                                  : glm_slope(n->p->link, glm_dot(n->index, x));
  return (faro_pick){.arm = best, .part = 1, .weight = weight};
}

/* Not below `growth` times what it was, and `doubt`. */
static bool grown(const naive *n, const glm_matrix now, const glm_matrix then, double doubt) {
  glm_matrix room;
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) room[i][j] = n->c.growth * then[i][j] - now[i][j] + (i == j ? doubt : 0);
  double least;
  double greatest;
  glm_extremes(room, &least, &greatest);
  return least <= 0;
}

static bool naive_due(naive *n, size_t users) {
  if (n->exact) {
    if (is_figure(n->p) && n->answered[1]) { /* aliased: the width follows H, and nothing is asked */
      memcpy(n->H_tau, n->H, sizeof n->H);
      return false;
    }
    return determinant(n->H) > n->c.growth * determinant(n->H_tau);
  }
  const bool first = is_tight(n->p) && !n->answered[1];
  const double wait = (double)n->p->horizon / pow(2, ceil(n->c.fits[1] / D));
  return n->left[1] > 0 && !(first && (double)users < wait) &&
         grown(n, n->H, n->H_tau, first ? 0 : n->c.doubt[1]);
}

static void naive_see(naive *n, double sum[2][PACKED], size_t users) {
  glm_unpack(sum[0], n->c.lambda[0], n->V);
  glm_unpack(sum[1], n->c.lambda[1], n->H);
  const bool due = is_figure(n->p) ? n->news : grown(n, n->V, n->V_o, n->c.doubt[0]);
  n->wants[0] = n->left[0] > 0 && due;
  double least;
  double greatest;
  glm_extremes(n->V, &least, &greatest);
  n->shifted += least <= 0;
  shift(n->V, n->c.lambda[0]);
  n->wants[1] = naive_due(n, users);
}

/* Asks; returns the part, or 2 if nothing is asked. */
static unsigned naive_ask(naive *n) {
  const unsigned part = n->wants[0] ? 0 : n->wants[1] ? 1 : 2;
  if (part == 2) return 2;
  n->wants[part] = false;
  n->left[part]--;
  n->questions[part]++;
  if (part == 0) {
    memcpy(n->V_o, n->V, sizeof n->V);
    n->news = false;
  } else {
    memcpy(n->H_tau, n->H, sizeof n->H);
    shift(n->H_tau, n->c.lambda[1]);
  }
  return part;
}

static void naive_answer(naive *n, unsigned part, const faro_answer *answer) {
  const faro_asker_params *p = n->p;
  const bool published = !is_tight(p);
  memcpy(part == 0 ? n->theta_o : n->theta_tau, answer->theta, sizeof n->theta_o);
  n->answered[part] = true;
  for (size_t i = 0; i < D; i++) {
    n->index[i] = n->answered[1] || published ? n->theta_tau[i] : n->theta_o[i];
    if (is_figure(p)) n->index[i] = 0.5 * n->theta_o[i] + 0.5 * n->theta_tau[i];
  }
  if (is_paper(p) && part == 0) {
    const double s = 2 + 2 * p->bound;
    n->c.gamma = n->c.ratio * (s * n->c.Gamma + sqrt(s * answer->bound));
    n->c.threshold = 1 / (n->c.gamma * n->c.gamma * p->kappa);
  }
  if (is_paper(p) && part == 1) n->c.beta = n->c.ratio * (4 * n->c.Gamma + 2 * sqrt(answer->bound));
  if (published) return;
  double least;
  double greatest;
  glm_extremes(part == 0 ? n->V : n->H_tau, &least, &greatest);
  const double moved =
      answer->noise * (sqrt(D) + sqrt(-2 * log(p->failure))) / sqrt(fmax(least, n->c.lambda[part] / 2));
  const double width = sqrt(D * logs(p));
  if (part == 0) n->c.gamma = optimism_of(p) * (p->bound * width + moved);
  else n->c.beta = optimism_of(p) * (4 * width + moved);
}

static void assert_vector(const double *a, const double *b) {
  for (size_t i = 0; i < D; i++) assert_close(a[i], b[i], 1e-9 * (1 + fabs(b[i])));
}

static void assert_matrix(const double *packed, glm_matrix a, double factor) {
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j <= i; j++) {
      const double want = factor * a[i][j];
      assert_close(packed[i * (i + 1) / 2 + j], want, 1e-9 * (1 + fabs(want)));
    }
}

static void assert_question(const faro_question *q, const naive *n, unsigned part) {
  naive m = *n; /* matrices are not const */
  const double zero[D] = {0};
  assert_int_equal(q->part, part);
  assert_close(q->ridge, m.c.ridge, 1e-9 * m.c.ridge);
  assert_matrix(q->curvature, part == 0 ? m.V : m.H_tau, part == 0 ? glm_steepest(m.p->link) : 1);
  if (part == 1 && is_paper(m.p)) { /* ||theta - theta_o||_V <= gamma sqrt(kappa) */
    assert_vector(q->region.centre, m.theta_o);
    assert_matrix(q->region.metric, m.V, 1);
    assert_close(q->region.radius, m.c.gamma * sqrt(m.p->kappa), 1e-9 * m.c.gamma * sqrt(m.p->kappa));
    assert_vector(q->start, m.theta_o);
    return;
  }
  assert_vector(q->region.centre ? q->region.centre : zero, zero);
  assert_null(q->region.metric);
  assert_true(is_figure(m.p) ? q->region.radius >= 100 : q->region.radius == m.p->bound);
  assert_int_equal(q->whole, part == 1 && is_figure(m.p));
  assert_vector(q->start, part == 0 && !is_figure(m.p) ? m.theta_o : m.index);
}

static faro_asker *make(const char *name, const faro_asker_params *p) {
  faro_asker *l = NULL;
  assert_ok(faro_asker_create(&l, faro_learner_find(name), p, error));
  return l;
}

/* An estimate near the truth, less near for part 1, and within the bound. */
static void estimate(glm_world *w, const faro_asker_params *p, unsigned part, double *theta) {
  for (size_t i = 0; i < D; i++) theta[i] = w->theta[i] + (part == 0 ? 0.1 : 1) * faro_sim_normal(&w->noise);
  const double length = sqrt(glm_dot(theta, theta));
  for (size_t i = 0; i < D && length > p->bound; i++) theta[i] *= p->bound / length;
}

/* Both learners on the same rounds. Sums come every `batch` rounds with Gaussian noise of scale s
 * (under figure, the learner is told the bound `gram`). */
static naive side_by_side(const char *name, const faro_asker_params *p, double s, double gram, size_t batch) {
  const bool exact = strcmp(name, "rs-glm") == 0;
  naive n;
  naive_open(&n, p, exact, is_figure(p) ? gram : naive_bound(p, s, s));
  glm_world w;
  open_world(&w, p->bound, 11);
  faro_asker *l = make(name, p);
  double scale[PACKED];
  for (size_t i = 0; i < PACKED; i++) scale[i] = s;
  const faro_noise noise = {.scale = scale, .gaussian = true, .gamma = gram};
  uint64_t fits[2] = {0};
  assert_int_equal(faro_asker_term(l), ROUNDS);
  faro_asker_begin(l, (const faro_noise[]){noise, noise}, fits);
  double sum[2][PACKED] = {{0}};
  for (size_t t = 1; t <= ROUNDS; t++) {
    glm_offer(&w);
    const faro_pick pick = faro_asker_pick(l, &w.arms, 0.5);
    const faro_pick other = naive_pick(&n, &w);
    assert_int_equal(pick.part, other.part);
    assert_int_equal(pick.arm, other.arm);
    assert_close(pick.weight, other.weight, 1e-9);
    double x[D];
    glm_arm(&w, pick.arm, x);
    glm_add(sum[pick.part], x, pick.weight);
    if (t % batch != 0) continue;
    double told[2][PACKED];
    for (int part = 0; part < 2; part++)
      for (size_t i = 0; i < PACKED; i++) told[part][i] = sum[part][i] + s * faro_sim_normal(&w.noise);
    faro_asker_see(l, (const faro_statistics[]){{.sum = told[0], .users = t, .releases = t / batch},
                                                {.sum = told[1], .users = t, .releases = t / batch}});
    naive_see(&n, told, t);
    faro_question question;
    while (faro_asker_ask(l, &question)) {
      const unsigned part = naive_ask(&n);
      assert_question(&question, &n, part);
      double theta[D];
      estimate(&w, p, part, theta);
      const faro_answer answer = {.theta = theta, .bound = exact ? 0 : 0.3, .noise = exact ? 0 : 0.5};
      faro_asker_answer(l, &answer);
      naive_answer(&n, part, &answer);
    }
    assert_int_equal(naive_ask(&n), 2);
  }
  for (int part = 0; part < 2; part++) assert_true(n.questions[part] <= fits[part]);
  assert_int_equal(faro_asker_diagnose(l).updates, n.questions[0] + n.questions[1]);
  faro_asker_destroy(l);
  return n;
}

/* Each of these must reach what it tests: exploration, both questions, arms that only theta_o
 * drops. */
static void test_joint__tight_equals_the_naive_loop(void **state) {
  (void)state;
  faro_asker_params p = setting(FARO_LINK_LOGISTIC, 2, 200);
  naive n = side_by_side("glm-joint", &p, 0.3, 0, 4);
  assert_true(n.explored > 50 && n.questions[0] > 1 && n.questions[1] > 2);
  p = setting(FARO_LINK_PROBIT, 2, 2e5); /* narrow: theta_o drops arms */
  p.settings = &(faro_optimism){.optimism = 0.001};
  n = side_by_side("glm-joint", &p, 0.02, 0, 1);
  assert_true(n.explored > 50 && n.dropped > 20 && n.left[0] == 0 && n.questions[1] > 2);
  n = side_by_side("glm-joint", &p, 2, 0, 1); /* noise far above lambda */
  assert_true(n.shifted > 5 && n.questions[0] > 0 && n.questions[1] > 2);
}

static void test_joint__paper_equals_the_naive_loop(void **state) {
  (void)state;
  /* no link is this steep, but with it exploration stops */
  faro_asker_params p = setting(FARO_LINK_PROBIT, 2, 0.01);
  p.calibration = FARO_CALIBRATION_PAPER;
  naive n = side_by_side("glm-joint", &p, 0.05, 0, 1);
  assert_true(n.explored > 100 && n.explored < ROUNDS / 2 && n.dropped > 100);
  assert_true(n.questions[0] > 0 && n.questions[1] > 0);
  p.kappa = 20;
  n = side_by_side("glm-joint", &p, 1, 0, 1);
  assert_true(n.explored == ROUNDS && n.questions[0] > 1);
}

static void test_joint__figure_equals_the_naive_loop(void **state) {
  (void)state;
  faro_asker_params p = setting(FARO_LINK_PROBIT, 2, 400);
  p.calibration = FARO_CALIBRATION_FIGURE;
  naive n = side_by_side("glm-joint", &p, 0.3, 0.2, 1);
  assert_true(n.explored > 50 && n.left[0] == 0 && n.questions[1] > 1);
  p.kappa = 260; /* fewer explore than may be fitted to, and not one after another */
  n = side_by_side("glm-joint", &p, 0.3, 0.2, 1);
  assert_true(n.explored > 5 && n.questions[0] == n.explored && n.left[0] > 0);
}

/* Only under figure, the estimate is updated just once. */
static void test_rs_glm__equals_the_naive_loop(void **state) {
  (void)state;
  for (faro_calibration c = 0; c < FARO_CALIBRATION_COUNT; c++) {
    faro_asker_params p = setting(FARO_LINK_LOGISTIC, 2, c == FARO_CALIBRATION_PAPER ? 0.01 : 300);
    p.calibration = c;
    const naive n = side_by_side("rs-glm", &p, 0, 0, 1);
    assert_true(n.explored > 20 && n.explored < ROUNDS / 2 && n.questions[0] > 0);
    if (c == FARO_CALIBRATION_FIGURE) assert_int_equal(n.questions[1], 1);
    else assert_true(n.questions[1] > 1);
  }
}

/* ---- questions do not depend on who explored, except in the published program */

/* Arms of one person: all short, so that Criterion I cannot apply, or one long, so that it does. */
static void lone_arms(glm_world *w, double length) {
  memset(w->x, 0, sizeof w->x);
  for (size_t a = 0; a < ARMS; a++) w->x[a % D * w->arms.stride + a] = (a == 0 ? 1 : 0.9) * length;
  w->arms.version++;
}

typedef struct trace {
  size_t count;
  size_t round[100];
  unsigned part[100];
  double curvature[100][PACKED];
} trace;

/* Only person 20 differs; the sums are fixed in advance and the same for both. */
static unsigned follow(const faro_asker_params *p, double length, trace *asked, size_t arm[ROUNDS]) {
  glm_world w;
  open_world(&w, p->bound, 23);
  faro_asker *l = make("glm-joint", p);
  double scale[PACKED] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  const faro_noise noise = {.scale = scale, .gaussian = true, .gamma = 0.5};
  uint64_t fits[2] = {0};
  faro_asker_begin(l, (const faro_noise[]){noise, noise}, fits);
  double sum[2][PACKED] = {{0}};
  unsigned part = 0;
  *asked = (trace){0};
  for (size_t t = 1; t <= ROUNDS; t++) {
    glm_offer(&w);
    double x[D];
    glm_arm(&w, 0, x); /* the sums do not depend on the picks */
    if (t == 20) lone_arms(&w, length);
    const faro_pick pick = faro_asker_pick(l, &w.arms, 0.5);
    arm[t - 1] = t == 20 ? 0 : pick.arm + ARMS * pick.part;
    if (t == 20) part = pick.part;
    glm_add(sum[t % 2], x, t % 2 == 0 ? 1 : 0.2);
    faro_asker_see(l, (const faro_statistics[]){{.sum = sum[0], .users = t, .releases = t},
                                                {.sum = sum[1], .users = t, .releases = t}});
    faro_question q;
    while (faro_asker_ask(l, &q)) {
      assert_in_range(asked->count, 0, 99);
      asked->round[asked->count] = t;
      asked->part[asked->count] = q.part;
      memcpy(asked->curvature[asked->count++], q.curvature, sizeof asked->curvature[0]);
      double theta[D];
      estimate(&w, p, q.part, theta);
      faro_asker_answer(l, &(faro_answer){.theta = theta, .bound = 0.3, .noise = 0.1});
    }
  }
  faro_asker_destroy(l);
  return part;
}

static void test_questions__do_not_tell_who_explored(void **state) {
  (void)state;
  for (faro_calibration c = 0; c < FARO_CALIBRATION_COUNT; c++) {
    if (c == FARO_CALIBRATION_FIGURE) continue;
    faro_asker_params p = setting(FARO_LINK_LOGISTIC, 2, c == FARO_CALIBRATION_PAPER ? 0.05 : 400);
    p.calibration = c;
    trace asked[2];
    size_t arm[2][ROUNDS];
    assert_int_equal(follow(&p, 1, &asked[0], arm[0]), 0);
    assert_int_equal(follow(&p, 0.001, &asked[1], arm[1]), 1);
    assert_in_range(asked[0].count, 2, 99);
    assert_memory_equal(&asked[0], &asked[1], sizeof asked[0]);
    assert_memory_equal(arm[0], arm[1], sizeof arm[0]);
  }
}

/* ---- caps, memory */

/* Sums that grow every time. */
static void test_fits__end_with_what_was_announced(void **state) {
  (void)state;
  for (faro_calibration c = 0; c < FARO_CALIBRATION_COUNT; c++) {
    faro_asker_params p = setting(FARO_LINK_LOGISTIC, 2, 50);
    p.calibration = c;
    faro_asker *l = make("glm-joint", &p);
    double scale[PACKED] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    const faro_noise noise = {.scale = scale, .gaussian = true, .gamma = 0.5};
    uint64_t fits[2] = {0};
    uint64_t asked[2] = {0};
    faro_asker_begin(l, (const faro_noise[]){noise, noise}, fits);
    double sum[PACKED] = {0};
    for (size_t t = 1; t <= 300; t++) {
      for (size_t i = 0; i < D; i++) sum[faro_diagonal(i)] = exp((double)t * (i == t % D ? 1.5 : 1));
      faro_asker_see(l, (const faro_statistics[]){{.sum = sum, .users = ROUNDS, .releases = t},
                                                  {.sum = sum, .users = ROUNDS, .releases = t}});
      faro_question q;
      double theta[D] = {0};
      while (faro_asker_ask(l, &q)) {
        asked[q.part]++;
        faro_asker_answer(l, &(faro_answer){.theta = theta, .bound = 1, .noise = 1});
      }
    }
    for (int part = 0; part < 2; part++) {
      assert_true(fits[part] < 300);
      /* All of them, with sums like these; but in the published program nobody who has not explored
       * is fitted to. */
      assert_int_equal(asked[part], part == 0 && c == FARO_CALIBRATION_FIGURE ? 0 : fits[part]);
    }
    faro_asker_destroy(l);
  }
}

/* A study allows at most a million. */
static void test_rs_glm__announces_few_fits_at_any_horizon(void **state) {
  (void)state;
  faro_asker_params p = setting(FARO_LINK_LOGISTIC, 2, 20);
  p.horizon = UINT64_C(4000000000);
  const double scale[PACKED] = {0};
  const faro_noise none[2] = {{.scale = scale}, {.scale = scale}};
  for (int figure = 0; figure < 2; figure++) {
    p.calibration = figure == 1 ? FARO_CALIBRATION_FIGURE : FARO_CALIBRATION_TIGHT;
    faro_asker *l = make("rs-glm", &p);
    uint64_t fits[2] = {0};
    faro_asker_begin(l, none, fits);
    assert_in_range(fits[0], 50, figure == 1 ? 1000000 : 1000);
    assert_in_range(fits[1], 50, 1000);
    faro_asker_destroy(l);
  }
}

static void test_both__refuse_bad_parameters_and_survive_exhaustion(void **state) {
  (void)state;
  const char *const names[] = {"glm-joint", "rs-glm"};
  for (size_t k = 0; k < 2; k++) {
    const faro_learner_kind *kind = faro_learner_find(names[k]);
    assert_int_equal(kind->protocol, FARO_PROTOCOL_ASKER);
    const faro_asker_params good = setting(FARO_LINK_LOGISTIC, 2, 10);
    glm_assert_creation(kind, &good);
  }
}

static void test_both__rounds_allocate_nothing(void **state) {
  (void)state;
  faro_asker_params p = setting(FARO_LINK_LOGISTIC, 2, 200);
  glm_world w;
  open_world(&w, 2, 5);
  faro_asker *l = make("glm-joint", &p);
  double scale[PACKED] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  const faro_noise noise = {.scale = scale, .gaussian = true};
  uint64_t fits[2] = {0};
  double sum[2][PACKED] = {{0}};
  alloc_reset();
  faro_asker_begin(l, (const faro_noise[]){noise, noise}, fits);
  for (size_t t = 1; t <= ROUNDS; t++) {
    glm_offer(&w);
    const faro_pick pick = faro_asker_pick(l, &w.arms, 0.5);
    double x[D];
    glm_arm(&w, pick.arm, x);
    glm_add(sum[pick.part], x, pick.weight);
    faro_asker_see(l, (const faro_statistics[]){{.sum = sum[0], .users = t}, {.sum = sum[1], .users = t}});
    faro_question q;
    while (faro_asker_ask(l, &q)) faro_asker_answer(l, &(faro_answer){.theta = w.theta});
  }
  assert_int_equal(alloc_count(), 0);
  faro_asker_destroy(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_figure__has_the_published_constants),
      cmocka_unit_test(test_paper__closed_forms_explore_for_ever),
      cmocka_unit_test(test_figure__fits_stay_countable),
      cmocka_unit_test(test_joint__tight_equals_the_naive_loop),
      cmocka_unit_test(test_joint__paper_equals_the_naive_loop),
      cmocka_unit_test(test_joint__figure_equals_the_naive_loop),
      cmocka_unit_test(test_rs_glm__equals_the_naive_loop),
      cmocka_unit_test(test_questions__do_not_tell_who_explored),
      cmocka_unit_test(test_fits__end_with_what_was_announced),
      cmocka_unit_test(test_rs_glm__announces_few_fits_at_any_horizon),
      cmocka_unit_test(test_both__refuse_bad_parameters_and_survive_exhaustion),
      cmocka_unit_test(test_both__rounds_allocate_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
