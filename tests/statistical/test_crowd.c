/* crowd: rewards alone, mixed with the messages of others whose public features and rewards an
 * adversary has chosen. delta at epsilon, by Monte Carlo of the exact likelihood ratio of the
 * shuffled batch.
 *
 * The n - 1 others have messages of density g, alike or each drawn from a few kinds; the user's
 * have f_0 or f_1. Then the ratio of the two densities of a shuffled batch y is
 *
 *   sum_i f_0(y_i) / g(y_i)  :  sum_i f_1(y_i) / g(y_i),
 *
 * and delta = E max(0, 1 - e^epsilon times its inverse), over batches with the first. Others that
 * are drawn are a mixture of batches with others that are fixed, so delta of one of those is as
 * large. All in units of z.
 *
 * The sum of N gains, each in [0, 1], with a mean of N delta or less, is s or more with probability
 * at most exp(s - N delta - s log(s / (N delta))): a limit is where that is FALSE_ALARM. Noise that
 * is made for neighbours, on rewards that are not centred, is played too, and must be found.
 *
 * FARO_RUNS=K plays K times as many batches, and prints what each crowd sees. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random/samplers.h"
#include "release/answer.h"
#include "release/bits.h"
#include "release/response.h"
#include "support/support.h"

enum { D_MAX = 5, PLACES = 4, BATCH = 10000 };

typedef struct place {
  double x[D_MAX], y;
  double z[D_MAX];
} place;

typedef struct game {
  faro_release *release;
  size_t d, places;
  place user[2];       /* the true one, and the neighbour */
  place other[PLACES]; /* those of the others, all alike likely */
  double shift;        /* of all z, times x / L: what is left if rewards are not centred */
  faro_sim_rng *sim;
} game;

static void settle(game *g, place *p) {
  const faro_contribution *c = &g->release->contribution;
  faro_contribution_make(c, p->x, p->y, p->z);
  for (size_t i = 0; i < g->d; i++) p->z[i] += g->shift * p->x[i] / c->norm;
}

static double laplace(faro_sim_rng *sim) {
  const double u = 2 * faro_sim_uniform(sim) - 1;
  return u < 0 ? log1p(u) : -log1p(-u);
}

/* log f up to a constant. */
static double log_density(const game *g, const place *p, const double *y, double scale) {
  double sum = 0;
  if (g->release->laplace > 0)
    for (size_t i = 0; i < g->d; i++) sum -= fabs(y[i] - p->z[i]);
  else
    for (size_t i = 0; i < g->d; i++) sum -= (y[i] - p->z[i]) * (y[i] - p->z[i]) / (2 * scale);
  return sum / scale;
}

/* Adds f_0 / g and f_1 / g of a message. */
static void weigh(const game *g, const double *y, double scale, double sum[2]) {
  const double first = log_density(g, &g->other[0], y, scale);
  double crowd = 1;
  for (size_t k = 1; k < g->places; k++) crowd += exp(log_density(g, &g->other[k], y, scale) - first);
  for (int i = 0; i < 2; i++)
    sum[i] += exp(log_density(g, &g->user[i], y, scale) - first) * (double)g->places / crowd;
}

static const place *draw_other(const game *g) {
  return &g->other[g->places == 1 ? 0 : (size_t)(faro_sim_uniform(g->sim) * (double)g->places)];
}

/* Gaussian and Laplace noise. */
static void play_noise(const game *g, double sum[2]) {
  const faro_release *r = g->release;
  const double scale = r->laplace > 0 ? r->laplace : r->unit[0];
  for (uint64_t user = 0; user < r->size; user++) {
    const place *from = user == 0 ? &g->user[0] : draw_other(g);
    double y[D_MAX];
    if (r->laplace > 0)
      for (size_t i = 0; i < g->d; i++) y[i] = from->z[i] + scale * laplace(g->sim);
    else {
      faro_sim_normals(g->sim, y, g->d);
      for (size_t i = 0; i < g->d; i++) y[i] = from->z[i] + scale * y[i];
    }
    weigh(g, y, scale, sum);
  }
}

/* Responses: a message that fits is e^epsilon0 times as likely as one that does not. */
static void play_responses(const game *g, double sum[2]) {
  enum { SIZE = D_MAX + 1 };
  faro_release *r = g->release;
  const double more = expm1(faro_response_most(r));
  double prepared[(2 + PLACES) * SIZE];
  const size_t size = faro_answer_size(r);
  for (int i = 0; i < 2; i++) faro_answer_prepare(r, g->user[i].x, g->user[i].y, prepared + (size_t)i * size);
  for (size_t k = 0; k < g->places; k++)
    faro_answer_prepare(r, g->other[k].x, g->other[k].y, prepared + (2 + k) * size);
  for (uint64_t user = 0; user < r->size; user++) {
    const place *from = user == 0 ? &g->user[0] : draw_other(g);
    uint64_t message;
    uint64_t rank[2 + PLACES];
    double fits[2 + PLACES] = {0};
    double crowd = 0;
    assert_ok(faro_release_randomize(r, from->x, from->y, &message, error));
    faro_answer_read(r, &message, prepared, 2 + g->places, rank);
    for (size_t k = 0; k < 2 + g->places; k++) fits[k] = rank[k] < faro_answer_truths(r) ? 1 : 0;
    for (size_t k = 0; k < g->places; k++) crowd += (1 + more * fits[2 + k]) / (double)g->places;
    for (int i = 0; i < 2; i++) sum[i] += (1 + more * fits[i]) / crowd;
  }
}

/* Counts: the adversary knows the others' whole numbers, so they hide nothing, and their noise
 * does. An entry is on the grid after random rounding. */
static void play_counts(const game *g, double sum[2]) {
  const faro_bits *s = faro_bits_in(g->release);
  const faro_bits_noise *n = &s->level[0].noise[0];
  const double noise = (double)n->noise;
  sum[0] = sum[1] = 1;
  for (size_t j = 0; j < g->d; j++) {
    double at[2];
    for (int i = 0; i < 2; i++) at[i] = (double)s->grid * (g->user[i].z[j] + 1) / 2;
    const double count =
        floor(at[0] + faro_sim_uniform(g->sim)) + (double)faro_sim_binomial(&n->plan, g->sim);
    for (int i = 0; i < 2; i++) {
      const double k = count - floor(at[i]);
      const double up = at[i] - floor(at[i]);
      const double here = k >= 0 && k <= noise ? exp(faro_binomial_log(noise, 0.5, k)) : 0;
      const double below = k >= 1 && k <= noise + 1 ? exp(faro_binomial_log(noise, 0.5, k - 1)) : 0;
      sum[i] *= (1 - up) * here + up * below;
    }
  }
}

typedef void player(const game *g, double sum[2]);

/* The sum of the gains of this many batches. */
static double play_game(const game *g, player *play, int runs) {
  const double growth = exp(g->release->params.epsilon);
  double gains = 0;
  for (int i = 0; i < runs; i++) {
    double sum[2] = {0};
    play(g, sum);
    gains += fmax(0, 1 - growth * sum[1] / sum[0]);
  }
  return gains;
}

/* What the gains of a mechanism that keeps its claim exceed with probability FALSE_ALARM. */
static double limit_of(double delta, int runs) {
  const double mean = delta * runs;
  double s = mean + 1e-9;
  while (s - mean - s * log(s / mean) > log(FALSE_ALARM)) s += 0.01;
  return s;
}

static int runs_of(int runs) {
  const char *times = getenv("FARO_RUNS");
  return times ? runs * atoi(times) : runs;
}

static void report(const game *g, double low, const char *what, double gains, int runs) {
  if (!getenv("FARO_RUNS")) return;
  print_message("%-16s d %zu  [%g, 1]  claim %g  %-28s delta %.5f (%d batches)\n", g->release->kind->name,
                g->d, low, g->release->params.delta, what, gains / runs, runs);
}

static faro_sim_rng sim;

static game make(const faro_release_kind *kind, size_t d, double low, double high, double epsilon,
                 double delta, uint64_t batch) {
  game g = {.d = d, .sim = &sim, .places = 1};
  faro_contribution c;
  const faro_release_params p = {.epsilon = epsilon,
                                 .delta = delta,
                                 .horizon = batch,
                                 .batch = batch,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  assert_ok(faro_contribution_rewards(&c, d, 1, low, high, error));
  assert_ok(faro_release_create(&g.release, kind, &c, &p, faro_source_simulated(&sim), error));
  assert_true(faro_release_claim(g.release)->proven);
  return g;
}

typedef enum crowd { OPPOSITE, ORTHOGONAL, EQUAL } crowd;
static const char *const crowds[] = {"opposite", "orthogonal", "equal"};

/* The user on the diagonal, and everybody else on one arm with one reward. */
static void set_crowd(game *g, crowd where, double others, double true_reward, double other_reward) {
  for (size_t i = 0; i < g->d; i++) {
    const double x = 1 / sqrt((double)g->d);
    const double turn = i + 1 == g->d && g->d % 2 ? 0 : i % 2 ? -1 : 1; /* odd d: the last entry is 0 */
    g->user[0].x[i] = g->user[1].x[i] = x;
    g->other[0].x[i] = where == OPPOSITE ? -x : where == EQUAL ? x : turn * x;
  }
  g->user[0].y = true_reward;
  g->user[1].y = other_reward;
  g->other[0].y = others;
  settle(g, &g->user[0]);
  settle(g, &g->user[1]);
  settle(g, &g->other[0]);
}

static player *play_of(const faro_release_kind *kind) {
  return kind == &faro_release_shuffle_bits       ? play_counts
         : kind == &faro_release_shuffle_response ? play_responses
                                                  : play_noise;
}

/* All crowds, both rewards of theirs, the user's reward either way. Returns the largest sum. */
static double play_crowds(game *g, double low, int runs, const char *what) {
  double worst = 0;
  for (crowd where = OPPOSITE; where <= EQUAL; where++)
    for (int high = 0; high < 2; high++)
      for (int up = 0; up < 2; up++) {
        char text[64];
        set_crowd(g, where, high ? 1 : low, up ? 1 : low, up ? low : 1);
        const double gains = play_game(g, play_of(g->release->kind), runs);
        snprintf(text, sizeof text, "%s%s, %s, user %s", what, crowds[where], high ? "high" : "low",
                 up ? "high" : "low");
        report(g, low, text, gains, runs);
        worst = fmax(worst, gains);
      }
  return worst;
}

static const double lows[] = {0, 0.5, 0.8, -1};
enum { LOWS = sizeof lows / sizeof *lows };

static void play_kind(const faro_release_kind *kind, double delta, int many) {
  static const size_t widths[] = {1, 2, 5};
  const int runs = runs_of(many);
  for (int w = 0; w < 3; w++)
    for (int l = 0; l < LOWS; l++) {
      game g = make(kind, widths[w], lows[l], 1, 1, delta, BATCH);
      const double worst = play_crowds(&g, lows[l], runs, "");
      if (!(worst < limit_of(delta, runs)))
        fail_msg("%s, d %zu, [%g, 1]: gains of %g in %d batches", kind->name, widths[w], lows[l], worst,
                 runs);
      faro_release_destroy(g.release);
    }
}

static void test_laplace__hides_in_any_crowd(void **state) {
  (void)state;
  play_kind(&faro_release_shuffle_laplace, 1e-6, 20);
  play_kind(&faro_release_shuffle_laplace, 0.01, 20);
}

static void test_gaussian__hides_in_any_crowd(void **state) {
  (void)state;
  play_kind(&faro_release_shuffle_gaussian, 1e-6, 20);
}

static void test_amplified__hides_in_any_crowd(void **state) {
  (void)state;
  game g = make(&faro_release_shuffle_amplified, 2, 0, 1, 1, 1e-6, BATCH);
  const faro_release_kind *kind = faro_release_kind_of(g.release);
  faro_release_destroy(g.release);
  assert_true(kind == &faro_release_shuffle_response || kind == &faro_release_shuffle_amplified);
  play_kind(&faro_release_shuffle_response, 1e-6, 4);
}

static void test_counts__hide_in_any_crowd(void **state) {
  (void)state;
  play_kind(&faro_release_shuffle_bits, 1e-6, 20000);
}

/* Noise for neighbours only, on rewards that are not centred. */
static void test_noise__for_neighbours_is_found_out(void **state) {
  (void)state;
  static const struct {
    const faro_release_kind *kind;
    size_t d;
    double low, delta;
  } wrong[] = {{&faro_release_shuffle_laplace, 1, 0, 1e-6},
               {&faro_release_shuffle_laplace, 1, 0, 0.01},
               {&faro_release_shuffle_laplace, 2, 0, 1e-6},
               {&faro_release_shuffle_gaussian, 2, 0.8, 1e-6}};
  const int runs = runs_of(200);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    game g = make(wrong[i].kind, wrong[i].d, wrong[i].low, 1, 1, wrong[i].delta, BATCH);
    g.shift = (1 + wrong[i].low) / (1 - wrong[i].low);
    if (!(play_crowds(&g, wrong[i].low, runs, "old: ") > limit_of(wrong[i].delta, runs)))
      fail_msg("case %zu is not found", i);
    faro_release_destroy(g.release);
  }
}

static void draw_place(const game *g, double low, double high, place *p) {
  double square = 0;
  for (size_t i = 0; i < g->d; i++) {
    p->x[i] = faro_sim_normal(&sim);
    square += p->x[i] * p->x[i];
  }
  const double length = faro_sim_uniform(&sim) < 0.7 ? 1 : faro_sim_uniform(&sim);
  for (size_t i = 0; i < g->d; i++) p->x[i] *= length / sqrt(square);
  const double u = faro_sim_uniform(&sim);
  p->y = u < 0.35 ? low : u < 0.7 ? high : low + (high - low) * faro_sim_uniform(&sim);
}

/* Any rewards, features, budgets and batches. */
static void test_crowds__drawn_at_random(void **state) {
  (void)state;
  static const faro_release_kind *const kinds[] = {
      &faro_release_shuffle_laplace, &faro_release_shuffle_gaussian, &faro_release_shuffle_response};
  const int games = runs_of(120);
  for (int i = 0; i < games; i++) {
    const int runs = 20;
    const double low = 2 * faro_sim_uniform(&sim) - 1.5;
    const double high = low + 0.02 + faro_sim_uniform(&sim);
    const double delta = pow(10, -1 - 5 * faro_sim_uniform(&sim));
    game g = make(kinds[i % 3], 1 + (size_t)(5 * faro_sim_uniform(&sim)), low, high,
                  0.2 + 2 * faro_sim_uniform(&sim), delta, (uint64_t)(20 * pow(100, faro_sim_uniform(&sim))));
    g.places = 1 + (size_t)(PLACES * faro_sim_uniform(&sim));
    draw_place(&g, low, high, &g.user[0]);
    g.user[1] = g.user[0];
    g.user[0].y = i % 2 ? low : high;
    g.user[1].y = i % 2 ? high : low;
    for (size_t k = 0; k < g.places; k++) draw_place(&g, low, high, &g.other[k]);
    for (int k = 0; k < 2; k++) settle(&g, &g.user[k]);
    for (size_t k = 0; k < g.places; k++) settle(&g, &g.other[k]);
    const double gains = play_game(&g, play_of(kinds[i % 3]), runs);
    if (!(gains < limit_of(delta, runs)))
      fail_msg("game %d, %s: gains of %g in %d batches, delta %g", i, kinds[i % 3]->name, gains, runs, delta);
    faro_release_destroy(g.release);
  }
}

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&sim, 17, 0, FARO_ROLE_USER);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_laplace__hides_in_any_crowd, open_stream),
      cmocka_unit_test_setup(test_gaussian__hides_in_any_crowd, open_stream),
      cmocka_unit_test_setup(test_amplified__hides_in_any_crowd, open_stream),
      cmocka_unit_test_setup(test_counts__hide_in_any_crowd, open_stream),
      cmocka_unit_test_setup(test_noise__for_neighbours_is_found_out, open_stream),
      cmocka_unit_test_setup(test_crowds__drawn_at_random, open_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
