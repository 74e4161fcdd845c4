/* glm-batched: lengths of its batches, and what its people do, against a naive second
 * implementation with full matrices. The test plays the study. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/explore.h"
#include "learner/belief.h"
#include "learner/terms.h"
#include "support/glm.h"

enum { D = GLM_DIMENSION, PACKED = GLM_PACKED, ARMS = 12, BATCHES = 3 };

#define QUANTILE 2.63825727347675 /* P(normal > QUANTILE) = 0.05 / 12 */

static faro_asker_params setting(faro_link link, uint64_t horizon) {
  return (faro_asker_params){.dimension = D,
                             .horizon = horizon,
                             .failure = 0.05,
                             .link = link,
                             .bound = 2,
                             .kappa = 20,
                             .offers = ARMS,
                             .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_asker_params as_published(faro_link link, uint64_t horizon) {
  faro_asker_params p = setting(link, horizon);
  p.calibration = FARO_CALIBRATION_PAPER;
  return p;
}

static bool is_paper(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_PAPER; }

static faro_asker *make(const faro_asker_params *p) {
  faro_asker *l = NULL;
  assert_ok(faro_asker_create(&l, faro_learner_find("glm-batched"), p, error));
  return l;
}

static double silence[PACKED] = {0};
static const faro_noise quiet[2] = {{.scale = silence}, {.scale = silence}};

/* ||x|| in the norm of a^-1, squared. */
static double inverse_square(const glm_matrix a, const double *x) {
  glm_matrix inverse;
  glm_invert(a, inverse);
  return glm_square(inverse, x);
}

static double least_eigenvalue(const glm_matrix a) {
  double least;
  double greatest;
  glm_extremes(a, &least, &greatest);
  return least;
}

/* ---- lengths */

static uint64_t expected_length(double t, int batch) {
  const double alpha = log2(log2(t)) >= 4 ? pow(t, 4.0 / 7) : 2 * sqrt(t); /* 2 (1 - 2^-3) = 7/4 */
  if (batch == 0)
    return (uint64_t)fmin(fmax(2, fmin(ceil(fmax(4 * sqrt(t), cbrt(t * t) - 1e-9)), floor(t / 4))), t);
  return (uint64_t)ceil(batch == 1 ? alpha : alpha * sqrt(alpha));
}

/* Begins and ends terms until there are no more; checks their lengths and returns their number. */
static int count_terms(uint64_t horizon) {
  const faro_asker_params p = as_published(FARO_LINK_LOGISTIC, horizon);
  faro_asker *l = make(&p);
  uint64_t begun = 0;
  int terms = 0;
  uint64_t length;
  while ((length = faro_asker_term(l)) > 0) {
    assert_int_equal(length, expected_length((double)horizon, terms));
    uint64_t fits[2] = {7, 7};
    faro_asker_begin(l, quiet, fits);
    assert_int_equal(fits[0], terms == 0);
    assert_int_equal(fits[1], terms > 0);
    faro_asker_see(l, (const faro_statistics[]){{.sum = silence}, {.sum = silence}});
    faro_question q;
    assert_true(faro_asker_ask(l, &q));
    assert_int_equal(q.part, terms == 0 ? 0 : 1);
    faro_asker_answer(l, &(faro_answer){.theta = silence});
    assert_false(faro_asker_ask(l, &q));
    begun += length;
    terms++;
  }
  assert_true(begun <= horizon);
  assert_true(begun < horizon || horizon == 2);
  assert_int_equal(faro_asker_term(l), 0);
  faro_asker_destroy(l);
  return terms;
}

static void test_terms__have_the_lengths_of_the_schedule(void **state) {
  (void)state;
  assert_int_equal(expected_length(1e6, 0), 10000);
  assert_int_equal(expected_length(1e4, 0), 465); /* 10^(8/3) = 464.2 */
  for (uint64_t horizon = 10000; horizon <= 1000000; horizon *= 10)
    assert_int_equal(count_terms(horizon), BATCHES);
  assert_int_equal(count_terms(65535), BATCHES);
  assert_int_equal(count_terms(65536), BATCHES);
}

static void test_terms__short_horizons_work(void **state) {
  (void)state;
  for (uint64_t horizon = 2; horizon <= 20; horizon++) assert_in_range(count_terms(horizon), 1, BATCHES);
}

/* The regret that terms.c predicts, written down a second time. */
static double predicted(const faro_terms_facts *f, const uint64_t *length, size_t count) {
  const double wide = sqrt(1 / f->prior);
  const double power = log(f->noise[1] / f->noise[0]) / log(sqrt(f->horizon));
  double precision = f->prior;
  double sum = 0;
  double left = f->horizon;
  for (size_t k = 0; k < count; k++) {
    const double n = (double)length[k];
    const double sigma = f->noise[0] * exp(power * log(n / sqrt(f->horizon)));
    const double fresh = n * f->slope / f->dimension;
    sum += n * fmin(f->typical * wide, f->quantile / sqrt(precision));
    precision += 1 / (1 / fresh + pow(sigma / fresh, 2));
    left -= n;
  }
  return f->slope * (sum + left * fmin(f->typical * wide, 1 / (precision * wide)));
}

/* No other batches that grow by a factor are better. */
static void test_terms__have_the_least_predicted_regret(void **state) {
  (void)state;
  const faro_terms_facts facts[] = {{.horizon = 3e4,
                                     .dimension = 4,
                                     .prior = 0.5,
                                     .slope = 0.15,
                                     .noise = {5, 5},
                                     .quantile = 3,
                                     .typical = 1.5},
                                    {.horizon = 1e6,
                                     .dimension = 9,
                                     .prior = 2,
                                     .slope = 0.2,
                                     .noise = {40, 45},
                                     .quantile = 2.5,
                                     .typical = 2},
                                    {.horizon = 2e4,
                                     .dimension = 3,
                                     .prior = 3,
                                     .slope = 0.2,
                                     .noise = {9, 107},
                                     .quantile = 2,
                                     .typical = 2}};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    const faro_terms plan = faro_terms_plan(&facts[i]);
    const double least = faro_terms_predict(&facts[i], &plan);
    assert_close(least, predicted(&facts[i], plan.length, plan.count), 1e-9 * least);
    for (double first = 2; first < 1e4; first *= 1.3)
      for (double growth = 1; growth < 9; growth += 0.5) {
        uint64_t length[6];
        double all = 0;
        for (size_t k = 0; k < 6; k++) {
          length[k] = (uint64_t)ceil(first * pow(growth, (double)k));
          if ((all += (double)length[k]) >= facts[i].horizon) break;
          assert_true(least <= 1.01 * predicted(&facts[i], length, k + 1));
        }
      }
  }
}

/* The more noise, the more people are asked; and nobody is left to ask in the last round. */
static void test_terms__follow_the_noise(void **state) {
  (void)state;
  uint64_t before = 0;
  for (double noise = 0; noise <= 8; noise += 2) {
    faro_asker_params p = setting(FARO_LINK_LOGISTIC, 100000);
    p.noise[0] = p.noise[1] = noise;
    faro_asker *l = make(&p);
    uint64_t people = 0;
    for (uint64_t length; (length = faro_asker_term(l)) > 0; people += length) {
      uint64_t fits[2] = {7, 7};
      faro_asker_begin(l, quiet, fits);
      assert_int_equal(fits[0], 0);
      assert_int_equal(fits[1], 1);
    }
    assert_true(people > before && people < 50000);
    before = people;
    faro_asker_destroy(l);
  }
}

/* ---- the loop */

static void open_world(glm_world *w, uint64_t seed) {
  static const double theta[D] = {1.6, -0.8, 0.6};
  glm_open(w, ARMS, seed);
  memcpy(w->theta, theta, sizeof theta);
}

typedef struct naive {
  const faro_asker_params *p;
  size_t finished;
  double prior;
  glm_matrix precision, covariance; /* tight: without the prior, and with it */
  double r[D], mean[D];
  double theta[BATCHES][D];
  glm_matrix V[BATCHES];
  double reach[BATCHES];
  double lambda;
  size_t dropped, rounds; /* of arms in later batches, so that the tests mean something */
} naive;

/* s: the scale of the noise in every entry. The bound is that of learner/noise.c. */
static void naive_begin(naive *n, double s) {
  const faro_asker_params *p = n->p;
  const double q = p->failure / 16;
  const double bound = fmin(s * sqrt(2 * D * log(2 * D / q)), 2 * s * sqrt(D) + 2 * s * sqrt(log(2 / q)));
  n->lambda = 0.75 * D * log(4 * (double)p->horizon / p->failure) + 2 * bound;
}

/* The belief: mean and covariance. */
static void settle(naive *n) {
  glm_matrix all;
  memcpy(all, n->precision, sizeof all);
  for (size_t i = 0; i < D; i++) all[i][i] += n->prior;
  glm_invert(all, n->covariance);
  for (size_t i = 0; i < D; i++) n->mean[i] = glm_dot(n->covariance[i], n->r);
}

/* H (H + sigma^2)^-1 H, and H (H + sigma^2)^-1 ((H + prior) theta - g). */
static void believe(naive *n, const double told[PACKED], const faro_answer *answer) {
  glm_matrix H;
  glm_matrix noisy;
  glm_matrix inverse;
  glm_matrix share;
  glm_matrix added;
  glm_unpack(told, 0, H);
  glm_unpack(told, answer->noise * answer->noise, noisy);
  glm_invert(noisy, inverse);
  glm_multiply(H, inverse, share);
  glm_multiply(share, H, added);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) {
      n->precision[i][j] += added[i][j];
      n->r[i] +=
          (added[i][j] + n->prior * share[i][j]) * answer->theta[j] - share[i][j] * answer->gradient[j];
    }
  settle(n);
}

static double width(const naive *n, size_t j, const double *x) {
  return n->reach[j] * sqrt(inverse_square(n->V[j], x));
}

static double weight_of(const naive *n, const double *x) {
  if (!is_paper(n->p))
    return faro_expected_slope(n->p->link, glm_dot(n->mean, x), sqrt(glm_square(n->covariance, x)));
  return glm_slope(n->p->link, glm_dot(n->theta[0], x)) / exp(fmin(2 * n->p->bound, width(n, 0, x)));
}

/* The factor that brings V above the Hessian at theta_1: the weights leave out exp(width), which is
 * largest for an arm of length 1 in V_1's least direction. */
static double lift(const naive *n) {
  if (n->finished == 0) return glm_steepest(n->p->link);
  return exp(fmin(2 * n->p->bound, n->reach[0] / sqrt(least_eigenvalue(n->V[0]))));
}

/* Arms that may be better than the one that looks best. */
static void likely(const naive *n, const glm_world *w, bool alive[ARMS]) {
  double best[D] = {0};
  double x[D];
  for (size_t a = 0; a < ARMS; a++) {
    glm_arm(w, a, x);
    if (a == 0 || glm_dot(n->mean, x) > glm_dot(n->mean, best)) memcpy(best, x, sizeof best);
  }
  for (size_t a = 0; a < ARMS; a++) {
    glm_arm(w, a, x);
    for (size_t i = 0; i < D; i++) x[i] = best[i] - x[i];
    alive[a] = glm_dot(n->mean, x) <= QUANTILE * sqrt(glm_square(n->covariance, x));
  }
}

/* UCB and LCB, one estimate after the other. */
static void survivors(const naive *n, const glm_world *w, bool alive[ARMS]) {
  for (size_t a = 0; a < ARMS; a++) alive[a] = true;
  if (!is_paper(n->p) && n->finished > 0) {
    likely(n, w, alive);
    return;
  }
  for (size_t j = 0; j < n->finished; j++) {
    double lower = -INFINITY;
    double x[D];
    for (size_t a = 0; a < ARMS; a++) {
      glm_arm(w, a, x);
      if (alive[a]) lower = fmax(lower, glm_dot(n->theta[j], x) - width(n, j, x));
    }
    for (size_t a = 0; a < ARMS; a++) {
      glm_arm(w, a, x);
      alive[a] &= glm_dot(n->theta[j], x) + width(n, j, x) >= lower;
    }
  }
}

static void naive_answer(naive *n, const double told[PACKED], const faro_answer *answer) {
  const faro_asker_params *p = n->p;
  if (!is_paper(p)) {
    believe(n, told, answer);
    n->finished++;
    return;
  }
  glm_unpack(told, n->lambda, n->V[n->finished]);
  memcpy(n->theta[n->finished], answer->theta, sizeof n->theta[0]);
  const double gamma = p->bound * sqrt(D * log((double)p->horizon / p->failure)) +
                       answer->noise * (sqrt(D) + sqrt(2 * log(1 / p->failure))) /
                           sqrt(fmax(least_eigenvalue(n->V[n->finished]), n->lambda / 2));
  n->reach[n->finished] = gamma * (n->finished == 0 ? sqrt(p->kappa) : 1);
  n->finished++;
}

/* The first batch of the published algorithm is in part 0, with weights of 1. */
static bool plain(const naive *n) { return n->finished == 0 && is_paper(n->p); }

/* A design of the scaled survivors: the same arms in the same order give the same design. */
static const faro_design *design_of(faro_designer *designer, const naive *n, const glm_world *w,
                                    const bool alive[ARMS]) {
  _Alignas(64) static double scaled[D * 16];
  faro_arms arms = w->arms;
  arms.x = scaled;
  size_t active[ARMS];
  size_t count = 0;
  for (size_t a = 0; a < ARMS; a++) {
    double x[D];
    glm_arm(w, a, x);
    const double root = plain(n) ? 1 : sqrt(weight_of(n, x));
    for (size_t i = 0; i < D; i++) scaled[i * arms.stride + a] = root * x[i];
    if (alive[a]) active[count++] = a;
  }
  const faro_design *design = NULL;
  assert_ok(faro_design_find(designer, &arms, active, count, FARO_DESIGN_TARGET, &design, error));
  return design;
}

/* max ||x||^2 in the inverse of sum pi x x' over the scaled survivors: at most 2 D. */
static void assert_certificate(const naive *n, const glm_world *w, const bool alive[ARMS],
                               const double count[ARMS], double total) {
  glm_matrix V = {{0}};
  double x[ARMS][D];
  for (size_t a = 0; a < ARMS; a++) {
    glm_arm(w, a, x[a]);
    const double root = plain(n) ? 1 : sqrt(weight_of(n, x[a]));
    for (size_t i = 0; i < D; i++) x[a][i] *= root;
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j < D; j++) V[i][j] += count[a] / total * x[a][i] * x[a][j];
  }
  for (size_t a = 0; a < ARMS; a++)
    if (alive[a]) assert_true(inverse_square(V, x[a]) < 1.1 * FARO_DESIGN_TARGET * D);
}

/* One set of arms, many people: counts how often each arm is played. */
static void assert_drawing(faro_asker *l, faro_designer *designer, const naive *n, glm_world *w) {
  enum { DRAWS = 20000 };
  bool alive[ARMS];
  size_t kept = 0;
  do {
    glm_offer(w);
    survivors(n, w, alive);
    kept = 0;
    for (size_t a = 0; a < ARMS; a++) kept += alive[a];
  } while (kept < 5);
  double seen[ARMS] = {0};
  double wanted[ARMS] = {0};
  const faro_design *design = design_of(designer, n, w, alive);
  for (size_t i = 0; i < design->support; i++) wanted[design->arm[i]] += DRAWS * design->weight[i];
  for (int i = 0; i < DRAWS; i++) seen[faro_asker_pick(l, &w->arms, faro_sim_uniform(&w->luck)).arm]++;
  for (size_t a = 0; a < ARMS; a++) assert_true(wanted[a] > 0 || seen[a] == 0);
  assert_chi_square(seen, wanted, ARMS);
  if (kept > D) assert_certificate(n, w, alive, seen, DRAWS);
}

static void assert_pick(faro_asker *l, faro_designer *designer, naive *n, glm_world *w, faro_pick *pick) {
  bool alive[ARMS];
  size_t kept = 0;
  const double luck = faro_sim_uniform(&w->luck);
  survivors(n, w, alive);
  for (size_t a = 0; a < ARMS; a++) kept += alive[a];
  *pick = faro_asker_pick(l, &w->arms, luck);
  assert_true(alive[pick->arm]);
  assert_int_equal(pick->part, plain(n) ? 0 : 1);
  double x[D];
  glm_arm(w, pick->arm, x);
  assert_close(pick->weight, plain(n) ? 1 : weight_of(n, x), 1e-9);
  assert_true(pick->weight <= (plain(n) ? 1 : glm_steepest(n->p->link)));
  n->dropped += n->finished > 0 ? ARMS - kept : 0;
  n->rounds += n->finished > 0;
  if (kept == 1) return;
  const faro_design *design = design_of(designer, n, w, alive);
  double below = 0; /* the arm whose interval of [0, 1) contains the luck */
  size_t i = 0;
  while (i + 1 < design->support && luck >= below + design->weight[i]) below += design->weight[i++];
  if (fabs(luck - below) > 1e-9 && fabs(luck - below - design->weight[i]) > 1e-9)
    assert_int_equal(pick->arm, design->arm[i]);
}

/* Without noise the curvature is above the rows' Hessian at theta_1, in the first batch at every
 * theta. */
static void assert_above(const double curvature[PACKED], const glm_matrix hessian) {
  glm_matrix gap;
  glm_unpack(curvature, 0, gap);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) gap[i][j] -= hessian[i][j];
  assert_true(least_eigenvalue(gap) > 0);
}

/* Twice the sum, with eigenvalues of the prior's precision or more. */
static void expected_curvature(const naive *n, const double sum[PACKED], double to[PACKED]) {
  glm_matrix W;
  glm_matrix Q;
  double value[D];
  glm_unpack(sum, 0, W);
  glm_eigen(W, value, Q);
  for (size_t i = 0, at = 0; i < D; i++)
    for (size_t j = 0; j <= i; j++, at++) {
      to[at] = 0;
      for (size_t k = 0; k < D; k++) to[at] += 2 * fmax(n->prior, value[k]) * Q[i][k] * Q[j][k];
    }
}

/* What the learner asks for. */
static void assert_question(const naive *n, const faro_question *q, const double sum[PACKED],
                            const glm_matrix hessian) {
  const faro_asker_params *p = n->p;
  assert_int_equal(q->part, plain(n) ? 0 : 1);
  assert_close(q->ridge, is_paper(p) ? n->lambda : n->prior, 1e-9 * n->lambda);
  assert_true(!q->region.centre && !q->region.metric && q->region.radius == p->bound);
  double wanted[PACKED];
  for (size_t i = 0; i < PACKED; i++)
    wanted[i] = lift(n) * (sum[i] + (i == 0 || i == 2 || i == 5 ? n->lambda : 0));
  if (!is_paper(p)) expected_curvature(n, sum, wanted);
  for (size_t i = 0; i < PACKED; i++) assert_close(q->curvature[i], wanted[i], 1e-8 * (1 + fabs(wanted[i])));
  if (hessian && is_paper(p)) assert_above(q->curvature, hessian);
  for (size_t i = 0; i < D; i++) {
    const double start = !is_paper(p) ? n->mean[i] : n->finished == 0 ? 0 : n->theta[n->finished - 1][i];
    assert_close(q->start[i], start, 1e-9);
  }
}

static void play_term(faro_asker *l, faro_designer *designer, naive *n, glm_world *w, double s) {
  const faro_asker_params *p = n->p;
  const uint64_t people = faro_asker_term(l);
  double scale[PACKED];
  for (size_t i = 0; i < PACKED; i++) scale[i] = s;
  const faro_noise noise = {.scale = scale, .gaussian = true};
  uint64_t fits[2] = {0};
  faro_asker_begin(l, (const faro_noise[]){noise, noise}, fits);
  naive_begin(n, s);
  assert_drawing(l, designer, n, w);
  double sum[PACKED] = {0};
  glm_matrix hessian = {{0}};
  for (uint64_t t = 0; t < people; t++) {
    faro_pick pick;
    glm_offer(w);
    assert_pick(l, designer, n, w, &pick);
    double x[D];
    glm_arm(w, pick.arm, x);
    glm_add(sum, x, pick.weight);
    const double steep = glm_slope(p->link, glm_dot(n->finished == 0 ? w->theta : n->theta[0], x));
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j < D; j++) hessian[i][j] += steep * x[i] * x[j];
  }
  for (size_t i = 0; i < PACKED; i++) sum[i] += s * faro_sim_normal(&w->noise);
  const unsigned part = plain(n) ? 0 : 1;
  faro_statistics told[2] = {{.sum = silence}, {.sum = silence}};
  told[part].sum = sum;
  faro_question q;
  assert_false(faro_asker_ask(l, &q));
  faro_asker_see(l, told);
  assert_true(faro_asker_ask(l, &q));
  assert_question(n, &q, sum, s == 0 ? hessian : NULL);
  double theta[D];
  for (size_t i = 0; i < D; i++) theta[i] = w->theta[i] + 0.15 * faro_sim_normal(&w->noise);
  double gradient[D];
  for (size_t i = 0; i < D; i++) gradient[i] = 3 * faro_sim_normal(&w->noise);
  const faro_answer answer = {.theta = theta, .gradient = gradient, .noise = s > 0 ? s : 2};
  faro_asker_answer(l, &answer);
  naive_answer(n, sum, &answer);
  assert_false(faro_asker_ask(l, &q));
}

/* Then the best arm by the last estimate, among those that no estimate rules out, whatever the
 * luck. */
static void assert_greedy(faro_asker *l, const naive *n, glm_world *w) {
  for (int t = 0; t < 300; t++) {
    bool alive[ARMS];
    glm_offer(w);
    survivors(n, w, alive);
    size_t best = ARMS;
    double greatest = -INFINITY;
    for (size_t a = 0; a < ARMS; a++) {
      double x[D];
      glm_arm(w, a, x);
      const double mean = glm_dot(is_paper(n->p) ? n->theta[n->finished - 1] : n->mean, x);
      if (!alive[a] || mean <= greatest) continue;
      greatest = mean;
      best = a;
    }
    assert_int_equal(faro_asker_pick(l, &w->arms, 0.99).arm, best);
    assert_int_equal(faro_asker_pick(l, &w->arms, 0.01).arm, best);
  }
}

static void side_by_side(const faro_asker_params *p, double s, uint64_t seed) {
  naive n = {.p = p, .prior = D / (p->bound * p->bound)};
  settle(&n);
  glm_world w;
  open_world(&w, seed);
  faro_asker *l = make(p);
  faro_designer *designer = NULL;
  assert_ok(faro_designer_create(&designer, D, ARMS, error));
  size_t batches = 0;
  for (; faro_asker_term(l) > 0; batches++) play_term(l, designer, &n, &w, s);
  assert_true(batches >= 2 && batches <= BATCHES);
  assert_greedy(l, &n, &w);
  faro_question q;
  assert_false(faro_asker_ask(l, &q));
  if (!is_paper(p)) assert_true(n.dropped > n.rounds && n.dropped < (ARMS - 1) * n.rounds);
  assert_int_equal(faro_asker_diagnose(l).updates, batches);
  faro_designer_destroy(designer);
  faro_asker_destroy(l);
}

/* Up to three batches, each with a test at FALSE_ALARM. */
static void test_batches__equal_the_naive_loop(void **state) {
  (void)state;
  faro_asker_params p = setting(FARO_LINK_LOGISTIC, 3000);
  p.noise[0] = p.noise[1] = 2;
  side_by_side(&p, 0, 1);
  p = setting(FARO_LINK_PROBIT, 3000);
  p.noise[0] = p.noise[1] = 2;
  side_by_side(&p, 0, 2);
  p = as_published(FARO_LINK_LOGISTIC, 3000);
  side_by_side(&p, 0, 3);
  p = as_published(FARO_LINK_PROBIT, 3000);
  side_by_side(&p, 0.3, 4);
}

/* Against an integral with steps of 0.001. */
static void test_expected_slope__is_the_mean_over_a_normal_variable(void **state) {
  (void)state;
  for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_PROBIT; link++)
    for (double mean = 0; mean < 4; mean += 0.5)
      for (double deviation = 0; deviation < 2; deviation += 0.25) {
        double sum = 0;
        for (double z = -8; z < 8; z += 0.001)
          sum += 0.001 * exp(-z * z / 2) / sqrt(2 * M_PI) * glm_slope(link, mean + deviation * z);
        assert_close(faro_expected_slope(link, mean, deviation), sum, 0.04 * sum);
      }
}

/* Noise below -lambda: V is shifted up, and everything stays finite. */
static void survive_indefinite_sums(faro_calibration calibration) {
  faro_asker_params p = as_published(FARO_LINK_LOGISTIC, 3000);
  p.calibration = calibration;
  faro_asker *l = make(&p);
  glm_world w;
  open_world(&w, 9);
  const double awful[PACKED] = {-50, 3, -20, 1, 2, 10};
  for (int batch = 0; batch < BATCHES; batch++) {
    uint64_t fits[2] = {0};
    assert_true(faro_asker_term(l) > 0);
    faro_asker_begin(l, quiet, fits);
    faro_asker_see(l, (const faro_statistics[]){{.sum = awful}, {.sum = awful}});
    faro_question q;
    assert_true(faro_asker_ask(l, &q));
    faro_spd *spd = NULL;
    assert_ok(faro_spd_create(&spd, D, error));
    assert_true(faro_spd_factor(spd, q.curvature));
    faro_spd_destroy(spd);
    faro_asker_answer(l, &(faro_answer){.theta = w.theta, .gradient = silence});
    glm_offer(&w);
    const faro_pick pick = faro_asker_pick(l, &w.arms, 0.5);
    assert_true(pick.arm < ARMS && isfinite(pick.weight));
  }
  assert_int_equal(faro_asker_diagnose(l).shifted, calibration == FARO_CALIBRATION_PAPER ? BATCHES : 0);
  faro_asker_destroy(l);
}

static void test_see__survives_indefinite_sums(void **state) {
  (void)state;
  survive_indefinite_sums(FARO_CALIBRATION_PAPER);
  survive_indefinite_sums(FARO_CALIBRATION_TIGHT);
}

static void test_pick__survives_arms_of_no_length(void **state) {
  (void)state;
  const faro_asker_params p = setting(FARO_LINK_LOGISTIC, 3000);
  faro_asker *l = make(&p);
  glm_world w;
  open_world(&w, 9);
  uint64_t fits[2] = {0};
  faro_asker_begin(l, quiet, fits);
  assert_int_equal(faro_asker_pick(l, &w.arms, 0.999999).arm, ARMS - 1);
  assert_int_equal(faro_asker_pick(l, &w.arms, 0).arm, 0);
  faro_asker_destroy(l);
}

static void test_create__refuses_bad_parameters_and_survives_exhaustion(void **state) {
  (void)state;
  const faro_asker_params good = setting(FARO_LINK_LOGISTIC, 1000);
  glm_assert_creation(faro_learner_find("glm-batched"), &good);
}

static void test_pick__allocates_nothing(void **state) {
  (void)state;
  const faro_asker_params p = setting(FARO_LINK_LOGISTIC, 1000);
  faro_asker *l = make(&p);
  glm_world w;
  open_world(&w, 5);
  uint64_t fits[2] = {0};
  alloc_reset();
  faro_asker_begin(l, quiet, fits);
  for (int t = 0; t < 100; t++) {
    glm_offer(&w);
    (void)faro_asker_pick(l, &w.arms, faro_sim_uniform(&w.luck));
  }
  assert_int_equal(alloc_count(), 0);
  faro_asker_destroy(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_terms__have_the_lengths_of_the_schedule),
      cmocka_unit_test(test_terms__short_horizons_work),
      cmocka_unit_test(test_terms__have_the_least_predicted_regret),
      cmocka_unit_test(test_terms__follow_the_noise),
      cmocka_unit_test(test_expected_slope__is_the_mean_over_a_normal_variable),
      cmocka_unit_test(test_batches__equal_the_naive_loop),
      cmocka_unit_test(test_see__survives_indefinite_sums),
      cmocka_unit_test(test_pick__survives_arms_of_no_length),
      cmocka_unit_test(test_create__refuses_bad_parameters_and_survives_exhaustion),
      cmocka_unit_test(test_pick__allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
