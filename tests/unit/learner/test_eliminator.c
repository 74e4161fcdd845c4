/* eliminator: whole phases of dpe, pe and hanna against a naive second implementation, the widths
 * against their formulas, and refusals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learner/eliminator.h"
#include "support/support.h"

enum { D = 5, K = 24, HORIZON = 20000 };

/* ---- the naive implementation */

typedef struct naive {
  size_t rank;
  double y[K][D]; /* arms in an orthonormal basis of the span of those left */
  double V[D][D], mean[K], width[K];
  bool in[K];
} naive;

static double entry(const faro_arms *arms, size_t a, size_t i) { return arms->x[i * arms->stride + a]; }

/* Gram-Schmidt over the remaining arms, longest remainder first. */
static void naive_span(naive *n, const faro_arms *arms) {
  double basis[D][D];
  for (n->rank = 0; n->rank < arms->dimension; n->rank++) {
    double longest = 1e-7;
    for (size_t a = 0; a < arms->count; a++) {
      double r[D];
      for (size_t i = 0; i < arms->dimension; i++) r[i] = entry(arms, a, i);
      for (int twice = 0; twice < 2; twice++)
        for (size_t b = 0; b < n->rank; b++) {
          double inner = 0;
          for (size_t i = 0; i < arms->dimension; i++) inner += r[i] * basis[b][i];
          for (size_t i = 0; i < arms->dimension; i++) r[i] -= inner * basis[b][i];
        }
      double length = 0;
      for (size_t i = 0; i < arms->dimension; i++) length += r[i] * r[i];
      length = sqrt(length);
      if (!n->in[a] || length <= longest) continue;
      longest = length;
      for (size_t i = 0; i < arms->dimension; i++) basis[n->rank][i] = r[i] / length;
    }
    if (longest == 1e-7) break;
  }
  for (size_t a = 0; a < arms->count; a++)
    for (size_t b = 0; b < n->rank; b++) {
      n->y[a][b] = 0;
      for (size_t i = 0; i < arms->dimension; i++) n->y[a][b] += basis[b][i] * entry(arms, a, i);
    }
}

/* x = V^-1 b by Gauss-Jordan elimination with pivots. */
static void naive_solve(size_t m, double V[D][D], const double *b, double *x) {
  double work[D][D + 1];
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < m; j++) work[i][j] = V[i][j];
    work[i][m] = b[i];
  }
  for (size_t c = 0; c < m; c++) {
    size_t pivot = c;
    for (size_t r = c; r < m; r++)
      if (fabs(work[r][c]) > fabs(work[pivot][c])) pivot = r;
    for (size_t j = 0; j <= m; j++) {
      const double swap = work[c][j];
      work[c][j] = work[pivot][j];
      work[pivot][j] = swap;
    }
    for (size_t r = 0; r < m; r++) {
      const double factor = r == c ? 0 : work[r][c] / work[c][c];
      for (size_t j = c; j <= m; j++) work[r][j] -= factor * work[c][j];
    }
  }
  for (size_t i = 0; i < m; i++) x[i] = work[i][m] / work[i][i];
}

static void naive_matrix(naive *n, size_t count, const double *weight) {
  memset(n->V, 0, sizeof n->V);
  for (size_t a = 0; a < count; a++)
    for (size_t i = 0; i < n->rank; i++)
      for (size_t j = 0; j < n->rank; j++) n->V[i][j] += weight[a] * n->y[a][i] * n->y[a][j];
}

/* y_a' V^-1 y_b */
static double naive_inner(naive *n, size_t a, size_t b) {
  double solved[D];
  double inner = 0;
  naive_solve(n->rank, n->V, n->y[b], solved);
  for (size_t i = 0; i < n->rank; i++) inner += n->y[a][i] * solved[i];
  return inner;
}

typedef struct setup {
  const char *learner;
  bool paper, core;
  /* 0: none; 1: Gaussian of different sizes; 2: one Laplace variable; 3: one for each user, but one
   * for the first arm */
  int noise;
  uint64_t clients; /* fixed; 0: growing */
} setup;

#define ALPHA 0.7
static const double SPREAD = 0.3;
static const double REWARD = 0.8;
static const double FAILURE = 0.05;

static double naive_length(const setup *s, size_t d, size_t phase) {
  if (strcmp(s->learner, "dpe") == 0) return pow(2, (double)phase);
  if (strcmp(s->learner, "pe") == 0) return (double)faro_design_bound(d) * pow(2, (double)phase - 1);
  return pow(pow(2.0 * HORIZON, 1 / log(HORIZON)), (double)phase);
}

static double naive_clients(const setup *s, size_t phase) {
  if (strcmp(s->learner, "dpe") != 0) return 0;
  return s->clients > 0 ? (double)s->clients : ceil(pow(2, ALPHA * (double)phase));
}

/* As published: Li, Zhou & Ji 2022, eq. (3) and (54); Hanna et al. 2022, Alg. 1, 2 and 4. Noise is
 * a standard deviation or a scale. */
static double published(const setup *s, const naive *n, const faro_arms *arms, const faro_plan *plan,
                        const faro_heard *heard, double h) {
  const double d = (double)arms->dimension;
  const double S = (double)faro_design_bound(arms->dimension);
  double left = 0;
  double users = 0;
  double sd = 0;
  double squares = 0;
  double scale = 0;
  for (size_t a = 0; a < arms->count; a++) left += n->in[a];
  for (size_t i = 0; i < plan->support; i++) {
    const double own = heard[i].laplace > 0 ? heard[i].laplace * sqrt(2 * heard[i].summands) : heard[i].scale;
    sd = fmax(sd, own / heard[i].count);
    squares += own * own;
    scale = fmax(scale, heard[i].scale);
    users += heard[i].count;
  }
  const double beta = 1 / ((double)arms->count * HORIZON);
  const double U = (double)plan->clients;
  if (strcmp(s->learner, "dpe") == 0)
    return (sqrt(2 * d / (U * h)) + SPREAD / sqrt(U) + 2 * sd * sqrt(S * d)) * sqrt(2 * log(1 / beta));
  if (strcmp(s->learner, "pe") == 0)
    return (REWARD * sqrt(2 * d / h) + 2 * d * sqrt(squares) / h) * sqrt(2 * log(1 / beta));
  const double logs = log(4 * left * pow(HORIZON, 2));
  const double b = heard[0].laplace; /* width of the rewards / epsilon */
  const double Bd = s->core ? S : (double)plan->support;
  bool one = true; /* if every arm was pulled once, the two are the same noise */
  for (size_t i = 0; i < plan->support; i++) one &= heard[i].summands == 1;
  if (s->noise >= 2 && one) return REWARD * sqrt(4 * d / h * logs) + (2 * Bd * d + 2 * d * logs) * b / h;
  if (s->noise == 3) return sqrt(logs) * (REWARD * sqrt(4 * d / h) + 2 * d * sqrt(users) * b / h);
  return REWARD * sqrt(4 * d / h * logs) + (2 * Bd * d + 2 * d * logs) * scale / h;
}

/* Estimates, tight widths from their definition, or the published one. */
static void naive_estimate(naive *n, const setup *s, const faro_arms *arms, const faro_plan *plan,
                           const faro_heard *heard, double h) {
  double b[D] = {0};
  double theta[D];
  double weight[K] = {0};
  double variance[K] = {0};
  double shares[K] = {0};
  double largest = 0;
  for (size_t i = 0; i < plan->support; i++) weight[plan->arm[i]] += (double)plan->pulls[i];
  naive_matrix(n, arms->count, weight);
  for (size_t i = 0; i < plan->support; i++)
    for (size_t j = 0; j < n->rank; j++)
      b[j] += (double)plan->pulls[i] * heard[i].sum / heard[i].count * n->y[plan->arm[i]][j];
  naive_solve(n->rank, n->V, b, theta);
  const double users = plan->clients > 0 ? (double)plan->clients : 1;
  for (size_t a = 0; a < arms->count; a++) {
    n->mean[a] = 0;
    for (size_t j = 0; j < n->rank; j++) n->mean[a] += theta[j] * n->y[a][j];
    for (size_t i = 0; i < arms->dimension && plan->clients > 0; i++)
      variance[a] += pow(SPREAD * entry(arms, a, i), 2) / users;
    for (size_t i = 0; i < plan->support && n->in[a]; i++) {
      const double T = (double)plan->pulls[i];
      const double c = naive_inner(n, a, plan->arm[i]);
      variance[a] += c * c * (REWARD * REWARD * T / users + pow(T / heard[i].count * heard[i].scale, 2));
      const double one = fabs(c) * T / heard[i].count * heard[i].laplace;
      shares[a] += heard[i].summands * one * one;
      largest = fmax(largest, one);
    }
  }
  double q = FAILURE / ((ceil(log2(HORIZON)) + 1) * (double)arms->count);
  if (s->noise >= 2) q /= 2;
  for (size_t a = 0; a < arms->count; a++) {
    n->width[a] = sqrt(2 * variance[a] * log(2 / q));
    if (s->noise >= 2)
      n->width[a] += faro_laplace_sum_quantile(fmax(1.001, shares[a] / (largest * largest)), largest, q);
    if (s->paper) n->width[a] = published(s, n, arms, plan, heard, h);
  }
}

static void naive_drop(naive *n, size_t count) {
  bool out[K] = {0};
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b < count; b++)
      out[a] |= n->in[a] && n->in[b] && n->mean[a] + n->width[a] < n->mean[b] - n->width[b];
  for (size_t a = 0; a < count; a++) n->in[a] &= !out[a];
}

static size_t naive_best(const naive *n, size_t count) {
  size_t best = count;
  for (size_t a = 0; a < count; a++)
    if (n->in[a] && (best == count || n->mean[a] > n->mean[best])) best = a;
  return best;
}

/* ---- arms */

typedef struct world {
  faro_arms arms;
  double x[D * 32], theta[D];
} world;

/* Arms of a given rank: uniform directions of the first `rank` axes, turned by a fixed rotation, of
 * different lengths. */
static void draw_world(world *w, size_t d, size_t count, size_t rank, uint64_t seed) {
  faro_sim_rng sim;
  faro_sim_open(&sim, 51, seed, FARO_ROLE_CONTEXT);
  *w = (world){.arms = {.dimension = d, .count = count, .stride = faro_arm_stride(count)}};
  assert_true(w->arms.stride <= 32);
  double mix[D][D];
  for (size_t r = 0; r < rank; r++)
    for (size_t i = 0; i < d; i++) mix[r][i] = faro_sim_normal(&sim);
  for (size_t a = 0; a < count; a++) {
    double square = 0;
    double x[D] = {0};
    for (size_t r = 0; r < rank; r++) {
      const double g = faro_sim_normal(&sim);
      for (size_t i = 0; i < d; i++) x[i] += g * mix[r][i];
    }
    for (size_t i = 0; i < d; i++) square += x[i] * x[i];
    const double length = 0.3 + 0.7 * faro_sim_uniform(&sim);
    for (size_t i = 0; i < d; i++) w->x[i * w->arms.stride + a] = x[i] * length / sqrt(square);
  }
  for (size_t i = 0; i < d; i++) w->theta[i] = (faro_sim_uniform(&sim) - 0.3) / sqrt((double)d);
  w->arms.x = w->x;
}

static double value(const world *w, size_t a) {
  double mean = 0;
  for (size_t i = 0; i < w->arms.dimension; i++) mean += entry(&w->arms, a, i) * w->theta[i];
  return mean;
}

static const faro_eliminator_settings settings_of[2] = {{.core = false, .alpha = ALPHA},
                                                        {.core = true, .alpha = ALPHA}};

static faro_eliminator_params params_of(const setup *s, const world *w) {
  return (faro_eliminator_params){.arms = &w->arms,
                                  .horizon = HORIZON,
                                  .failure = FAILURE,
                                  .reward = REWARD,
                                  .spread = SPREAD,
                                  .clients = s->clients,
                                  .calibration = s->paper ? FARO_CALIBRATION_PAPER : FARO_CALIBRATION_TIGHT,
                                  .settings = &settings_of[s->core]};
}

static faro_eliminator *make(const setup *s, const world *w) {
  const faro_eliminator_params p = params_of(s, w);
  faro_eliminator *learner = NULL;
  assert_ok(faro_eliminator_create(&learner, faro_learner_find(s->learner), &p, error));
  return learner;
}

/* ---- whole phases */

/* Possible answers: means with a decreasing error, and noise as in the setup. */
static void answer(const setup *s, const world *w, const faro_plan *plan, faro_sim_rng *sim,
                   faro_heard *heard) {
  for (size_t i = 0; i < plan->support; i++) {
    const double count = plan->clients > 0 ? (double)plan->clients : (double)plan->pulls[i];
    const double error = faro_sim_normal(sim) / (10 * sqrt(count));
    heard[i] = (faro_heard){.sum = count * (value(w, plan->arm[i]) + error), .count = count};
    if (s->noise == 1) heard[i].scale = 0.1 + faro_sim_uniform(sim);
    if (s->noise >= 2) heard[i].laplace = 0.4;
    if (s->noise >= 2) heard[i].summands = s->noise == 2 || i == 0 ? 1 : count;
  }
}

/* Pulls are ceil(h pi) of a design that is good enough by definition, or the same for all arms. */
static void check_plan(naive *n, const setup *s, const faro_eliminator *e, const faro_plan *plan, double h) {
  const faro_arms *arms = e->params.arms;
  double left = 0;
  double weight[K] = {0};
  for (size_t a = 0; a < arms->count; a++) left += n->in[a];
  assert_true((double)plan->clients == naive_clients(s, e->phase));
  if (!s->core) assert_true((double)plan->support == left);
  for (size_t i = 0; i < plan->support; i++) {
    assert_true(n->in[plan->arm[i]]);
    assert_true(weight[plan->arm[i]] == 0);
    weight[plan->arm[i]] = s->core ? e->design->weight[i] : 1 / left;
    assert_true((double)plan->pulls[i] == ceil(h * weight[plan->arm[i]]));
  }
  if (!s->core) return;
  assert_true(plan->support <= faro_design_bound(n->rank));
  naive_matrix(n, arms->count, weight);
  for (size_t a = 0; a < arms->count; a++)
    if (n->in[a]) assert_true(naive_inner(n, a, a) <= 2 * (double)n->rank * (1 + 1e-9));
}

/* Before: the active arms; after: the learner's result. */
static void check_heard(const naive *n, const faro_eliminator *e, const size_t *before, size_t count) {
  const faro_arms *z = e->design->coordinates;
  for (size_t a = 0; a < count; a++) {
    double mean = 0;
    for (size_t i = 0; i < z->dimension; i++) mean += e->theta[i] * z->x[i * z->stride + a];
    assert_close(mean, n->mean[before[a]], 1e-9);
    assert_close(e->width[a], n->width[before[a]], 1e-9 * (1 + n->width[before[a]]));
  }
}

/* Returns how many arms were dropped. */
static size_t play(const setup *s, const world *w, uint64_t seed) {
  const size_t count = w->arms.count;
  faro_sim_rng sim;
  faro_sim_open(&sim, 52, seed, FARO_ROLE_USER);
  faro_eliminator *learner = make(s, w);
  const faro_eliminator *e = learner;
  naive n = {0};
  for (size_t a = 0; a < count; a++) n.in[a] = true;
  size_t phase = 1;
  for (; phase <= 14; phase++) {
    const faro_plan *plan = NULL;
    assert_ok(faro_eliminator_plan(learner, &plan, error));
    const bool ends = strcmp(s->learner, "hanna") == 0 && (double)phase > floor(log(HORIZON)) - 1;
    assert_true(plan->last == (ends || e->actives == 1));
    if (plan->last) {
      assert_int_equal(plan->support, 1);
      assert_int_equal(plan->arm[0], naive_best(&n, count));
      break;
    }
    const double h = naive_length(s, w->arms.dimension, phase);
    assert_close(e->h, h, 1e-9 * h);
    naive_span(&n, &w->arms);
    assert_int_equal(e->design->rank, n.rank);
    check_plan(&n, s, e, plan, e->h);
    faro_heard heard[K];
    size_t before[K];
    const size_t actives = e->actives;
    memcpy(before, e->active, actives * sizeof *before);
    answer(s, w, plan, &sim, heard);
    naive_estimate(&n, s, &w->arms, plan, heard, e->h);
    assert_ok(faro_eliminator_hear(learner, heard, error));
    check_heard(&n, e, before, actives);
    naive_drop(&n, count);
    size_t left = 0;
    for (size_t a = 0; a < count; a++) {
      assert_true(faro_eliminator_holds(learner, a) == n.in[a]);
      left += n.in[a];
    }
    assert_int_equal(faro_eliminator_left(learner), left);
    assert_int_equal(faro_eliminator_diagnose(learner).updates, phase);
    assert_int_equal(faro_eliminator_best(learner), naive_best(&n, count));
  }
  const size_t dropped = count - e->actives;
  faro_eliminator_destroy(learner);
  return dropped;
}

static const char *const learners[] = {"dpe", "pe", "hanna"};

static void test_phases__equal_the_naive_ones(void **state) {
  (void)state;
  static const size_t shapes[][3] = {{2, 2, 2},  {2, 10, 2}, {3, 24, 3}, {5, 17, 5},
                                     {5, 20, 3}, {4, 9, 1},  {3, 2, 2},  {5, 3, 3}}; /* d, K, rank */
  size_t dropped[2][2] = {{0}};
  for (size_t l = 0; l < 3; l++)
    for (int kind = 0; kind < 16; kind++)
      for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        setup s = {.learner = learners[l], .paper = kind & 1, .core = kind & 2, .noise = kind / 4};
        if (l == 0 && shape % 2 == 1) s.clients = 50;
        world w;
        draw_world(&w, shapes[shape][0], shapes[shape][1], shapes[shape][2], shape);
        dropped[s.paper][s.core] += play(&s, &w, shape);
      }
  for (int paper = 0; paper < 2; paper++) /* there was something to compare */
    for (int core = 0; core < 2; core++) assert_true(dropped[paper][core] > 50);
}

/* ---- the core set, where it pays */

/* The same noise in every sum: the context is its scale. */
static faro_status preview(const void *context, const faro_plan *plan, faro_heard *heard, faro_error *error) {
  (void)error;
  for (size_t i = 0; i < plan->support; i++)
    heard[i] = (faro_heard){.count = (double)plan->pulls[i], .scale = *(const double *)context};
  return FARO_OK;
}

/* The greatest width of the fourth phase with this setting, heard with that noise; the number of
 * arms played. All means are heard as 0, so that no arm is dropped. */
static double fourth_width(const world *w, faro_core core, const double *scale, bool paper, size_t *support) {
  const faro_eliminator_settings own = {.core = core};
  const setup s = {.learner = "pe", .paper = paper};
  faro_eliminator_params p = params_of(&s, w);
  p.settings = &own;
  p.preview = preview;
  p.context = scale;
  faro_eliminator *e = NULL;
  const faro_plan *plan = NULL;
  faro_heard heard[K];
  assert_ok(faro_eliminator_create(&e, faro_learner_find("pe"), &p, error));
  for (int phases = 0; phases < 4; phases++) {
    assert_ok(faro_eliminator_plan(e, &plan, error));
    *support = plan->support;
    assert_ok(preview(scale, plan, heard, error));
    assert_ok(faro_eliminator_hear(e, heard, error));
  }
  double most = 0;
  for (size_t a = 0; a < w->arms.count; a++) most = fmax(most, e->width[a]);
  faro_eliminator_destroy(e);
  return most;
}

/* `auto` plays the core set exactly where noise widens it by less than 0.85 of what it does to all
 * arms. */
static void test_core__is_played_where_it_pays(void **state) {
  (void)state;
  size_t cores = 0;
  size_t alls = 0;
  for (uint64_t seed = 0; seed < 10; seed++)
    for (double scale = 0.01; scale < 1000; scale *= 10)
      for (int paper = 0; paper < 2; paper++) {
        world w;
        size_t few = 0;
        size_t many = 0;
        size_t support = 0;
        draw_world(&w, 3, K, 3, seed);
        const double silent = 0;
        const double core = fourth_width(&w, FARO_CORE_ALWAYS, &scale, paper, &few) /
                            fourth_width(&w, FARO_CORE_ALWAYS, &silent, paper, &few);
        const double all = fourth_width(&w, FARO_CORE_NEVER, &scale, paper, &many) /
                           fourth_width(&w, FARO_CORE_NEVER, &silent, paper, &many);
        (void)fourth_width(&w, FARO_CORE_AUTO, &scale, paper, &support);
        assert_int_equal(many, K);
        const bool pays = core < 0.85 * all;
        assert_int_equal(support, pays ? few : many);
        (void)fourth_width(&w, FARO_CORE_DEFAULT, &scale, paper, &support);
        assert_int_equal(support, pays || paper ? few : many);
        cores += pays;
        alls += !pays;
      }
  assert_true(cores > 10 && alls > 10);
}

/* Horizons j = 1, 2, ... share the probability of failure as 1/(j(j+1)), and the best arm's
 * interval widens accordingly; phases of hanna go on after its last plan. */
static void test_extend__divides_the_failure(void **state) {
  (void)state;
  world w;
  draw_world(&w, 3, 8, 3, 5);
  const setup s = {.learner = "hanna", .core = true};
  double width[3];
  for (int doublings = 0; doublings < 3; doublings++) {
    faro_eliminator_params p = params_of(&s, &w);
    p.anytime = true;
    faro_eliminator *e = NULL;
    const faro_plan *plan = NULL;
    assert_ok(faro_eliminator_create(&e, faro_learner_find("hanna"), &p, error));
    assert_ok(faro_eliminator_plan(e, &plan, error));
    for (int i = 0; i < doublings; i++) assert_ok(faro_eliminator_extend(e, error));
    assert_int_equal(faro_eliminator_horizon(e), (uint64_t)HORIZON << doublings);
    faro_heard heard[K];
    for (size_t i = 0; i < plan->support; i++)
      heard[i] = (faro_heard){.count = (double)plan->pulls[i], .scale = 1};
    assert_ok(faro_eliminator_hear(e, heard, error));
    width[doublings] = e->width[0];
    faro_eliminator_destroy(e);
  }
  const double phases = ceil(log2(HORIZON)) + 1;
  for (int j = 1; j <= 3; j++) { /* sqrt(ln(2/q)), q = failure / (j (j + 1) phases arms) */
    const double q = FAILURE / (j * (j + 1) * (phases + j - 1) * 8);
    const double first = FAILURE / (2 * phases * 8);
    assert_close(width[j - 1] / width[0], sqrt(log(2 / q) / log(2 / first)), 1e-9);
  }
}

/* Two very different arms, and almost no noise. */
static void test_last__is_the_better_of_two_arms(void **state) {
  (void)state;
  for (size_t l = 0; l < 3; l++)
    for (size_t better = 0; better < 2; better++) {
      const setup s = {.learner = learners[l], .core = true, .clients = l == 0 ? 1000000 : 0};
      world w = {.arms = {.dimension = 2, .count = 2, .stride = faro_arm_stride(2)}};
      w.arms.x = w.x;
      w.x[better] = w.x[w.arms.stride + 1 - better] = 1; /* (1, 0) and (0, 1) */
      w.theta[0] = 1;
      faro_eliminator *learner = make(&s, &w);
      const faro_plan *plan = NULL;
      for (int phase = 0; phase < 30; phase++) {
        assert_ok(faro_eliminator_plan(learner, &plan, error));
        if (plan->last) break;
        faro_heard heard[2];
        for (size_t i = 0; i < plan->support; i++) {
          const double count = plan->clients > 0 ? (double)plan->clients : (double)plan->pulls[i];
          heard[i] = (faro_heard){.sum = count * value(&w, plan->arm[i]), .count = count};
        }
        assert_ok(faro_eliminator_hear(learner, heard, error));
      }
      assert_true(plan->last);
      assert_int_equal(plan->arm[0], better);
      assert_int_equal(faro_eliminator_left(learner), 1);
      assert_true(faro_eliminator_holds(learner, better) && !faro_eliminator_holds(learner, 1 - better));
      assert_ok(faro_eliminator_plan(learner, &plan, error)); /* it stays the last */
      assert_true(plan->last && plan->arm[0] == better);
      faro_eliminator_destroy(learner);
    }
}

/* A plan must be heard before the next one is made, and only once. */
static void test_plan__and_hear_take_turns(void **state) {
  (void)state;
  for (size_t l = 0; l < 3; l++) {
    const setup s = {.learner = learners[l], .core = true};
    world w;
    draw_world(&w, 3, 8, 3, 3);
    faro_sim_rng sim;
    faro_sim_open(&sim, 54, 0, FARO_ROLE_USER);
    faro_eliminator *learner = make(&s, &w);
    const faro_plan *plan = NULL;
    faro_heard heard[K] = {{0}};
    assert_int_equal(faro_eliminator_hear(learner, heard, NULL), FARO_INVALID);
    assert_ok(faro_eliminator_plan(learner, &plan, error));
    assert_false(plan->last);
    assert_int_equal(faro_eliminator_plan(learner, &plan, NULL), FARO_INVALID);
    answer(&s, &w, plan, &sim, heard);
    assert_ok(faro_eliminator_hear(learner, heard, error));
    assert_int_equal(faro_eliminator_hear(learner, heard, NULL), FARO_INVALID);
    assert_int_equal(faro_eliminator_diagnose(learner).updates, 1);
    faro_eliminator_destroy(learner);
  }
}

/* ---- refusals */

static void assert_refused_by(const char *name, const faro_eliminator_params *p, const char *start) {
  faro_eliminator *learner = NULL;
  faro_error error = {0};
  assert_int_equal(faro_eliminator_create(&learner, faro_learner_find(name), p, &error), FARO_INVALID);
  assert_null(learner);
  if (strncmp(error.message, start, strlen(start)) != 0) fail_msg("%s", error.message);
}

static void assert_refused(const faro_eliminator_params *p, const char *start) {
  for (size_t l = 0; l < 3; l++) assert_refused_by(learners[l], p, start);
}

static void test_create__refuses_arms_and_settings_that_make_no_sense(void **state) {
  (void)state;
  const setup s = {.learner = "pe", .core = true};
  world w;
  draw_world(&w, 3, 6, 3, 1);
  const faro_eliminator_params good = params_of(&s, &w);
  faro_eliminator_params p = good;
  const double alphas[] = {0, 1, -0.5, 2, (double)NAN};
  for (size_t i = 0; i < 5; i++) {
    const faro_eliminator_settings own = {.core = true, .alpha = alphas[i]};
    p.settings = &own;
    assert_refused_by("dpe", &p, "alpha must be above 0 and below 1");
  }
  p = good;
  p.calibration = FARO_CALIBRATION_FIGURE; /* the papers have no other rules behind their figures */
  assert_refused(&p, "calibration figure is not offered by learner ");
  p = good;
  p.arms = NULL;
  assert_refused(&p, "arms must be 2 or more (got 0)");
  faro_arms few = w.arms;
  few.count = 1;
  p.arms = &few;
  assert_refused(&p, "arms must be 2 or more (got 1)");
  p = good;
  p.failure = 1;
  assert_refused(&p, "failure must be above 0 and below 1");
  const double wrong[] = {1.1, -3, (double)NAN, (double)INFINITY};
  for (size_t i = 0; i < 4; i++) {
    world far = w;
    far.arms.x = far.x;
    far.x[far.arms.stride + 4] = wrong[i];
    p = good;
    p.arms = &far.arms;
    assert_refused(&p, "arms must lie in the unit ball (arm 4 has length ");
  }
}

/* Two equal arms would both stay: the caller made a mistake. Arms that hardly differ are
 * different. */
static void test_create__refuses_arms_that_are_the_same(void **state) {
  (void)state;
  const setup s = {.learner = "pe", .core = true, .noise = 1};
  world w;
  draw_world(&w, 3, 20, 3, 2);
  for (size_t i = 0; i < 3; i++) w.x[i * w.arms.stride + 13] = w.x[i * w.arms.stride + 4];
  const faro_eliminator_params p = params_of(&s, &w);
  assert_refused(&p, "arms must differ (arms 4 and 13 are the same)");
  w.x[13] += 1e-12; /* the span ignores it */
  (void)play(&s, &w, 2);
}

static void test_create__refuses_arms_that_are_all_zero(void **state) {
  (void)state;
  const setup s = {.learner = "pe", .core = true};
  world w = {.arms = {.dimension = 2, .count = 3, .stride = faro_arm_stride(3)}};
  w.arms.x = w.x;
  const faro_eliminator_params p = params_of(&s, &w);
  assert_refused(&p, "arms must not all be zero");
}

static void test_phases__an_arm_of_length_zero_is_an_arm_like_others(void **state) {
  (void)state;
  for (size_t l = 0; l < 3; l++) {
    const setup s = {.learner = learners[l], .core = true, .noise = 1};
    world w;
    draw_world(&w, 3, 8, 3, 3);
    for (size_t i = 0; i < 3; i++) w.x[i * w.arms.stride + 5] = 0;
    (void)play(&s, &w, 3);
  }
}

/* ---- exhausted memory */

static void test_create__survives_exhausted_memory(void **state) {
  (void)state;
  world w;
  draw_world(&w, 3, 6, 3, 1);
  for (size_t l = 0; l < 3; l++) {
    const setup s = {.learner = learners[l], .core = true};
    const faro_eliminator_params p = params_of(&s, &w);
    faro_eliminator *learner = NULL;
    assert_survives_exhaustion(faro_eliminator_create(&learner, faro_learner_find(s.learner), &p, error));
    faro_eliminator_destroy(learner);
  }
  faro_eliminator_destroy(NULL);
}

/* All memory is allocated at the start. */
static void test_phases__allocate_nothing(void **state) {
  (void)state;
  for (size_t l = 0; l < 3; l++) {
    const setup s = {.learner = learners[l], .core = true, .noise = 1};
    world w;
    draw_world(&w, 3, 20, 3, 4);
    faro_sim_rng sim;
    faro_sim_open(&sim, 53, 0, FARO_ROLE_USER);
    faro_eliminator *learner = make(&s, &w);
    alloc_reset();
    for (int phase = 0; phase < 5; phase++) {
      const faro_plan *plan = NULL;
      faro_heard heard[K];
      assert_ok(faro_eliminator_plan(learner, &plan, error));
      if (plan->last) break;
      answer(&s, &w, plan, &sim, heard);
      assert_ok(faro_eliminator_hear(learner, heard, error));
    }
    assert_int_equal(alloc_count(), 0);
    faro_eliminator_destroy(learner);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_phases__equal_the_naive_ones),
      cmocka_unit_test(test_core__is_played_where_it_pays),
      cmocka_unit_test(test_extend__divides_the_failure),
      cmocka_unit_test(test_last__is_the_better_of_two_arms),
      cmocka_unit_test(test_plan__and_hear_take_turns),
      cmocka_unit_test(test_create__refuses_arms_and_settings_that_make_no_sense),
      cmocka_unit_test(test_create__refuses_arms_that_are_the_same),
      cmocka_unit_test(test_create__refuses_arms_that_are_all_zero),
      cmocka_unit_test(test_phases__an_arm_of_length_zero_is_an_arm_like_others),
      cmocka_unit_test(test_create__survives_exhausted_memory),
      cmocka_unit_test(test_phases__allocate_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
