/* glm-batched: lengths of its batches, and what its people do, against a naive second implementation with full matrices. The
 * study is played by the test. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { D = 3, PACKED = 6, ARMS = 12, BATCHES = 3 };
typedef double matrix[D][D];

static faro_learner_params setting(faro_link link, uint64_t horizon) {
  return (faro_learner_params){.dimension = D,
                               .horizon = horizon,
                               .norm = 1,
                               .failure = 0.05,
                               .reward = 1,
                               .optimism = 0.01,
                               .link = link,
                               .bound = 2,
                               .kappa = 20,
                               .offers = ARMS};
}

static faro_learner *make(const faro_learner_params *p) {
  faro_learner *l = NULL;
  assert_ok(faro_learner_create(&l, faro_learner_kind_find("glm-batched"), p, error));
  return l;
}

static const double silence[PACKED] = {0};
static const faro_noise quiet[2] = {{.scale = silence}, {.scale = silence}};

static double dot(const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += a[i] * b[i];
  return sum;
}

/* x' a^-1 x by Cramer's rule. */
static double square(const matrix a, const double *x) {
  double c[D][D];
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) {
      const size_t p = (i + 1) % D;
      const size_t q = (i + 2) % D;
      const size_t r = (j + 1) % D;
      const size_t s = (j + 2) % D;
      c[i][j] = a[p][r] * a[q][s] - a[p][s] * a[q][r];
    }
  const double det = dot(a[0], c[0]);
  double sum = 0;
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) sum += x[i] * c[i][j] / det * x[j];
  return sum;
}

/* ---- lengths */

static uint64_t expected_length(double t, int batch) {
  const double alpha = log2(log2(t)) >= 4 ? pow(t, 4.0 / 7) : 2 * sqrt(t); /* 2 (1 - 2^-3) = 7/4 */
  if (batch == 0)
    return (uint64_t)fmin(fmax(2, fmin(ceil(fmax(4 * sqrt(t), cbrt(t * t) - 1e-9)), floor(t / 4))), t);
  return (uint64_t)ceil(batch == 1 ? alpha : alpha * sqrt(alpha));
}

/* Begins and ends terms until there is none; checks their lengths and returns how many. */
static int count_terms(uint64_t horizon) {
  const faro_learner_params p = setting(FARO_LINK_LOGISTIC, horizon);
  faro_learner *l = make(&p);
  uint64_t begun = 0;
  int terms = 0;
  uint64_t length;
  while ((length = faro_learner_term(l)) > 0) {
    assert_int_equal(length, expected_length((double)horizon, terms));
    uint64_t fits[2] = {7, 7};
    faro_learner_begin(l, quiet, fits);
    assert_int_equal(fits[0], terms == 0);
    assert_int_equal(fits[1], terms > 0);
    faro_learner_see(l, (const faro_statistics[]){{.sum = silence}, {.sum = silence}});
    faro_question q;
    assert_true(faro_learner_ask(l, &q));
    assert_int_equal(q.part, terms == 0 ? 0 : 1);
    faro_learner_answer(l, &(faro_reply){.theta = silence});
    assert_false(faro_learner_ask(l, &q));
    begun += length;
    terms++;
  }
  assert_true(begun <= horizon);
  assert_true(begun < horizon || horizon == 2);
  assert_int_equal(faro_learner_term(l), 0);
  faro_learner_destroy(l);
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

/* ---- the loop */

typedef struct world {
  faro_sim_rng context, luck, noise;
  double theta[D];
  faro_arms arms;
  _Alignas(64) double x[D * 16];
} world;

static void world_open(world *w, uint64_t seed) {
  *w = (world){.theta = {1.6, -0.8, 0.6},
               .arms = {.dimension = D, .count = ARMS, .stride = faro_arm_stride(ARMS)}};
  w->arms.x = w->x;
  faro_sim_open(&w->context, seed, 0, FARO_ROLE_CONTEXT);
  faro_sim_open(&w->luck, seed, 0, FARO_ROLE_LUCK);
  faro_sim_open(&w->noise, seed, 0, FARO_ROLE_USER);
}

static void world_offer(world *w) {
  for (size_t a = 0; a < ARMS; a++) {
    double g[D];
    for (size_t i = 0; i < D; i++) g[i] = faro_sim_normal(&w->context);
    const double scale = cbrt(faro_sim_uniform(&w->context)) / sqrt(dot(g, g));
    for (size_t i = 0; i < D; i++) w->x[i * w->arms.stride + a] = scale * g[i];
  }
  w->arms.version++;
}

static void arm_of(const world *w, size_t a, double *x) {
  for (size_t i = 0; i < D; i++) x[i] = w->x[i * w->arms.stride + a];
}

typedef struct naive {
  const faro_learner_params *p;
  size_t finished;
  double theta[BATCHES][D];
  matrix V[BATCHES];
  double reach[BATCHES];
  double lambda;
  size_t dropped, rounds; /* of arms in later batches, for the tests to be worth something */
} naive;

static double slope(faro_link link, double z) {
  return link == FARO_LINK_LOGISTIC ? 1 / (2 + exp(z) + exp(-z)) : exp(-z * z / 2) / sqrt(2 * acos(-1));
}

static double steepest(faro_link link) { return link == FARO_LINK_LOGISTIC ? 0.25 : 1 / sqrt(2 * acos(-1)); }

/* s: the noise's scale in every entry. The bound is that of learner/noise.c. */
static void naive_begin(naive *n, double s) {
  const faro_learner_params *p = n->p;
  const double q = p->failure / 16;
  const double bound = fmin(s * sqrt(2 * D * log(2 * D / q)), 2 * s * sqrt(D) + 2 * s * sqrt(log(2 / q)));
  n->lambda = p->paper ? 0.75 * D * log(4 * (double)p->horizon / p->failure) + 2 * bound
                       : fmax(1, 2 * p->optimism * bound);
}

static double width(const naive *n, size_t j, const double *x) {
  return n->reach[j] * sqrt(square(n->V[j], x));
}

static double weight_of(const naive *n, const double *x) {
  return slope(n->p->link, dot(n->theta[0], x)) / exp(fmin(2 * n->p->bound, width(n, 0, x)));
}

/* The least eigenvalue of a symmetric 3 x 3 matrix: the roots of its characteristic polynomial by cosines. */
static double least_eigenvalue(const matrix a) {
  const double middle = (a[0][0] + a[1][1] + a[2][2]) / 3;
  double spread = 0;
  matrix b;
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) {
      b[i][j] = a[i][j] - (i == j ? middle : 0);
      spread += b[i][j] * b[i][j] / 6;
    }
  const double p = sqrt(spread);
  if (p == 0) return middle;
  const double det = b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[2][1]) -
                     b[0][1] * (b[1][0] * b[2][2] - b[1][2] * b[2][0]) +
                     b[0][2] * (b[1][0] * b[2][1] - b[1][1] * b[2][0]);
  const double cosine = fmax(-1, fmin(1, det / (2 * p * p * p)));
  return middle + 2 * p * cos(acos(cosine) / 3 + 2 * acos(-1) / 3);
}

/* What V is to be multiplied by, so that it is above the Hessian at theta_1: the weights leave out exp(width), which is
 * largest for an arm of length 1 in V_1's least direction. */
static double lift(const naive *n) {
  if (n->finished == 0) return fmax(steepest(n->p->link), 1 / n->lambda); /* with the ridge, 1, in it */
  return exp(fmin(2 * n->p->bound, n->reach[0] / sqrt(least_eigenvalue(n->V[0]))));
}

/* UCB and LCB, one estimate after the other. */
static void survivors(const naive *n, const world *w, bool alive[ARMS]) {
  for (size_t a = 0; a < ARMS; a++) alive[a] = true;
  for (size_t j = 0; j < n->finished; j++) {
    double lower = -INFINITY;
    double x[D];
    for (size_t a = 0; a < ARMS; a++) {
      arm_of(w, a, x);
      if (alive[a]) lower = fmax(lower, dot(n->theta[j], x) - width(n, j, x));
    }
    for (size_t a = 0; a < ARMS; a++) {
      arm_of(w, a, x);
      alive[a] &= dot(n->theta[j], x) + width(n, j, x) >= lower;
    }
  }
}

static void naive_answer(naive *n, const double told[PACKED], const faro_reply *reply) {
  const faro_learner_params *p = n->p;
  for (size_t i = 0; i < D; i++)
    for (size_t k = 0; k < D; k++)
      n->V[n->finished][i][k] =
          told[i >= k ? i * (i + 1) / 2 + k : k * (k + 1) / 2 + i] + (i == k ? n->lambda : 0);
  memcpy(n->theta[n->finished], reply->theta, sizeof n->theta[0]);
  const double gamma = p->bound * sqrt(D * log((double)p->horizon / p->failure)) +
                       reply->noise * (sqrt(D) + sqrt(2 * log(1 / p->failure))) /
                           sqrt(fmax(least_eigenvalue(n->V[n->finished]), n->lambda / 2));
  n->reach[n->finished] = (p->paper ? 1 : p->optimism) * gamma * (n->finished == 0 ? sqrt(p->kappa) : 1);
  n->finished++;
}

/* A design of the scaled survivors: the same arms in the same order give the same one. */
static const faro_design *design_of(faro_designer *designer, const naive *n, const world *w,
                                    const bool alive[ARMS]) {
  _Alignas(64) static double scaled[D * 16];
  faro_arms arms = w->arms;
  arms.x = scaled;
  size_t active[ARMS];
  size_t count = 0;
  for (size_t a = 0; a < ARMS; a++) {
    double x[D];
    arm_of(w, a, x);
    const double root = n->finished == 0 ? 1 : sqrt(weight_of(n, x));
    for (size_t i = 0; i < D; i++) scaled[i * arms.stride + a] = root * x[i];
    if (alive[a]) active[count++] = a;
  }
  const faro_design *design = NULL;
  assert_ok(faro_design_find(designer, &arms, active, count, FARO_DESIGN_TARGET, &design, error));
  return design;
}

/* max ||x||^2 in the inverse of sum pi x x' over the scaled survivors: at most 2 D. */
static void assert_certificate(const naive *n, const world *w, const bool alive[ARMS],
                               const double count[ARMS], double total) {
  matrix V = {{0}};
  double x[ARMS][D];
  for (size_t a = 0; a < ARMS; a++) {
    arm_of(w, a, x[a]);
    const double root = n->finished == 0 ? 1 : sqrt(weight_of(n, x[a]));
    for (size_t i = 0; i < D; i++) x[a][i] *= root;
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j < D; j++) V[i][j] += count[a] / total * x[a][i] * x[a][j];
  }
  for (size_t a = 0; a < ARMS; a++)
    if (alive[a]) assert_true(square(V, x[a]) < 1.1 * FARO_DESIGN_TARGET * D);
}

/* One set of arms, many people: how often each arm is played. */
static void assert_drawing(faro_learner *l, faro_designer *designer, const naive *n, world *w) {
  enum { DRAWS = 20000 };
  bool alive[ARMS];
  size_t kept = 0;
  do {
    world_offer(w);
    survivors(n, w, alive);
    kept = 0;
    for (size_t a = 0; a < ARMS; a++) kept += alive[a];
  } while (kept < 5);
  double seen[ARMS] = {0};
  double wanted[ARMS] = {0};
  const faro_design *design = design_of(designer, n, w, alive);
  for (size_t i = 0; i < design->support; i++) wanted[design->arm[i]] += DRAWS * design->weight[i];
  for (int i = 0; i < DRAWS; i++) seen[faro_learner_pick(l, &w->arms, faro_sim_uniform(&w->luck)).arm]++;
  for (size_t a = 0; a < ARMS; a++) assert_true(wanted[a] > 0 || seen[a] == 0);
  assert_chi_square(seen, wanted, ARMS);
  if (kept > D) assert_certificate(n, w, alive, seen, DRAWS);
}

static void assert_pick(faro_learner *l, faro_designer *designer, naive *n, world *w, faro_pick *pick) {
  bool alive[ARMS];
  size_t kept = 0;
  const double luck = faro_sim_uniform(&w->luck);
  survivors(n, w, alive);
  for (size_t a = 0; a < ARMS; a++) kept += alive[a];
  *pick = faro_learner_pick(l, &w->arms, luck);
  assert_true(alive[pick->arm]);
  assert_int_equal(pick->part, n->finished == 0 ? 0 : 1);
  double x[D];
  arm_of(w, pick->arm, x);
  assert_close(pick->weight, n->finished == 0 ? 1 : weight_of(n, x), 1e-9);
  assert_true(pick->weight <= (n->finished == 0 ? 1 : steepest(n->p->link)));
  n->dropped += n->finished > 0 ? ARMS - kept : 0;
  n->rounds += n->finished > 0;
  if (kept == 1) return;
  const faro_design *design = design_of(designer, n, w, alive);
  double below = 0; /* the arm whose stretch of [0, 1) the luck is in */
  size_t i = 0;
  while (i + 1 < design->support && luck >= below + design->weight[i]) below += design->weight[i++];
  if (fabs(luck - below) > 1e-9 && fabs(luck - below - design->weight[i]) > 1e-9)
    assert_int_equal(pick->arm, design->arm[i]);
}

/* Without noise the curvature is above the rows' Hessian at theta_1, in the first batch at every theta. */
static void assert_above(const double curvature[PACKED], const matrix hessian) {
  matrix gap;
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++)
      gap[i][j] = curvature[i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] - hessian[i][j];
  assert_true(least_eigenvalue(gap) > 0);
}

static void play_term(faro_learner *l, faro_designer *designer, naive *n, world *w, double s) {
  const faro_learner_params *p = n->p;
  const uint64_t people = faro_learner_term(l);
  double scale[PACKED];
  for (size_t i = 0; i < PACKED; i++) scale[i] = s;
  const faro_noise noise = {.scale = scale, .gaussian = true};
  uint64_t fits[2] = {0};
  faro_learner_begin(l, (const faro_noise[]){noise, noise}, fits);
  naive_begin(n, s);
  assert_drawing(l, designer, n, w);
  double sum[PACKED] = {0};
  matrix hessian = {{0}};
  for (uint64_t t = 0; t < people; t++) {
    faro_pick pick;
    world_offer(w);
    assert_pick(l, designer, n, w, &pick);
    double x[D];
    arm_of(w, pick.arm, x);
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j <= i; j++) sum[i * (i + 1) / 2 + j] += pick.weight * x[i] * x[j];
    const double steep = slope(p->link, dot(n->finished == 0 ? w->theta : n->theta[0], x));
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j < D; j++) hessian[i][j] += steep * x[i] * x[j];
  }
  for (size_t i = 0; i < PACKED; i++) sum[i] += s * faro_sim_normal(&w->noise);
  const unsigned part = n->finished == 0 ? 0 : 1;
  faro_statistics told[2] = {{.sum = silence}, {.sum = silence}};
  told[part].sum = sum;
  faro_question q;
  assert_false(faro_learner_ask(l, &q));
  faro_learner_see(l, told);
  assert_true(faro_learner_ask(l, &q));
  assert_int_equal(q.part, part);
  assert_close(q.ridge, p->paper ? n->lambda : 1, 1e-9 * n->lambda);
  assert_true(!q.region.centre && !q.region.metric && q.region.radius == p->bound);
  for (size_t i = 0; i < PACKED; i++) {
    const bool diagonal = i == 0 || i == 2 || i == 5;
    const double V = sum[i] + (diagonal ? n->lambda : 0);
    assert_close(q.curvature[i], lift(n) * V, 1e-9 * lift(n) * (1 + fabs(V)));
  }
  if (s == 0) assert_above(q.curvature, hessian);
  for (size_t i = 0; i < D; i++)
    assert_close(q.start[i], n->finished == 0 ? 0 : n->theta[n->finished - 1][i], 0);
  double theta[D];
  for (size_t i = 0; i < D; i++) theta[i] = w->theta[i] + 0.15 * faro_sim_normal(&w->noise);
  const faro_reply reply = {.theta = theta, .noise = s};
  faro_learner_answer(l, &reply);
  naive_answer(n, sum, &reply);
  assert_false(faro_learner_ask(l, &q));
}

/* Then the best by the last estimate, of those that none rules out, whatever the luck. */
static void assert_greedy(faro_learner *l, const naive *n, world *w) {
  for (int t = 0; t < 300; t++) {
    bool alive[ARMS];
    world_offer(w);
    survivors(n, w, alive);
    size_t best = ARMS;
    double greatest = -INFINITY;
    for (size_t a = 0; a < ARMS; a++) {
      double x[D];
      arm_of(w, a, x);
      if (!alive[a] || dot(n->theta[n->finished - 1], x) <= greatest) continue;
      greatest = dot(n->theta[n->finished - 1], x);
      best = a;
    }
    assert_int_equal(faro_learner_pick(l, &w->arms, 0.99).arm, best);
    assert_int_equal(faro_learner_pick(l, &w->arms, 0.01).arm, best);
  }
}

static void side_by_side(const faro_learner_params *p, double s, uint64_t seed) {
  naive n = {.p = p};
  world w;
  world_open(&w, seed);
  faro_learner *l = make(p);
  faro_designer *designer = NULL;
  assert_ok(faro_designer_create(&designer, D, ARMS, error));
  for (int batch = 0; batch < BATCHES; batch++) play_term(l, designer, &n, &w, s);
  assert_int_equal(faro_learner_term(l), 0);
  assert_greedy(l, &n, &w);
  faro_question q;
  assert_false(faro_learner_ask(l, &q));
  if (!p->paper) assert_true(n.dropped > n.rounds && n.dropped < (ARMS - 1) * n.rounds);
  assert_int_equal(faro_learner_diagnose(l).updates, BATCHES);
  faro_designer_destroy(designer);
  faro_learner_destroy(l);
}

/* Three batches each with a test at FALSE_ALARM. */
static void test_batches__equal_the_naive_loop(void **state) {
  (void)state;
  faro_learner_params p = setting(FARO_LINK_LOGISTIC, 3000);
  side_by_side(&p, 0, 1);
  side_by_side(&p, 0.3, 2);
  p = setting(FARO_LINK_PROBIT, 3000);
  side_by_side(&p, 0.3, 3);
  p.paper = true;
  side_by_side(&p, 0.3, 4);
}

/* Noise below -lambda: V is lifted, and everything stays a number. */
static void test_see__survives_indefinite_sums(void **state) {
  (void)state;
  const faro_learner_params p = setting(FARO_LINK_LOGISTIC, 3000);
  faro_learner *l = make(&p);
  world w;
  world_open(&w, 9);
  const double awful[PACKED] = {-50, 3, -20, 1, 2, 10};
  for (int batch = 0; batch < BATCHES; batch++) {
    uint64_t fits[2] = {0};
    assert_true(faro_learner_term(l) > 0);
    faro_learner_begin(l, quiet, fits);
    faro_learner_see(l, (const faro_statistics[]){{.sum = awful}, {.sum = awful}});
    faro_question q;
    assert_true(faro_learner_ask(l, &q));
    faro_spd *spd = NULL;
    assert_ok(faro_spd_create(&spd, D, error));
    assert_true(faro_spd_factor(spd, q.curvature));
    faro_spd_destroy(spd);
    faro_learner_answer(l, &(faro_reply){.theta = w.theta});
    world_offer(&w);
    const faro_pick pick = faro_learner_pick(l, &w.arms, 0.5);
    assert_true(pick.arm < ARMS && isfinite(pick.weight));
  }
  assert_int_equal(faro_learner_diagnose(l).shifted, BATCHES);
  faro_learner_destroy(l);
}

static void test_pick__survives_arms_of_no_length(void **state) {
  (void)state;
  const faro_learner_params p = setting(FARO_LINK_LOGISTIC, 3000);
  faro_learner *l = make(&p);
  world w;
  world_open(&w, 9);
  uint64_t fits[2] = {0};
  faro_learner_begin(l, quiet, fits);
  assert_int_equal(faro_learner_pick(l, &w.arms, 0.999999).arm, ARMS - 1);
  assert_int_equal(faro_learner_pick(l, &w.arms, 0).arm, 0);
  faro_learner_destroy(l);
}

static void test_learner__refuses_bad_parameters_and_survives_exhaustion(void **state) {
  (void)state;
  const faro_learner_kind *kind = faro_learner_kind_find("glm-batched");
  const faro_learner_params good = setting(FARO_LINK_LOGISTIC, 1000);
  faro_learner_params bad[4] = {good, good, good, good};
  bad[0].bound = -1;
  bad[1].kappa = (double)INFINITY;
  bad[2].offers = 0;
  bad[3].optimism = 0;
  const char *const word[] = {"bound", "norm must be smaller: at 2 the link is flat, its slope 0", "arms",
                              "optimism"};
  faro_learner *l = NULL;
  for (size_t i = 0; i < 4; i++) {
    faro_error error = {0};
    assert_int_equal(faro_learner_create(&l, kind, &bad[i], &error), FARO_INVALID);
    assert_memory_equal(error.message, word[i], strlen(word[i]));
  }
  bool made = false;
  for (size_t n = 1; !made; n++) {
    faro_error error = {0};
    alloc_fail_at(n);
    const faro_status status = faro_learner_create(&l, kind, &good, &error);
    alloc_reset();
    made = status == FARO_OK;
    if (!made) assert_int_equal(status, FARO_MEMORY);
  }
  world w;
  world_open(&w, 5);
  uint64_t fits[2] = {0};
  alloc_reset();
  faro_learner_begin(l, quiet, fits);
  for (int t = 0; t < 100; t++) {
    world_offer(&w);
    (void)faro_learner_pick(l, &w.arms, faro_sim_uniform(&w.luck));
  }
  assert_int_equal(alloc_count(), 0);
  faro_learner_destroy(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_terms__have_the_lengths_of_the_schedule),
      cmocka_unit_test(test_terms__short_horizons_work),
      cmocka_unit_test(test_batches__equal_the_naive_loop),
      cmocka_unit_test(test_see__survives_indefinite_sums),
      cmocka_unit_test(test_pick__survives_arms_of_no_length),
      cmocka_unit_test(test_learner__refuses_bad_parameters_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
