/* audit: the pairs of inputs, the choice of a test, and the bound. audit.h has the argument.
 *
 * Runs are spent in three parts, each with streams of its own:
 *
 *   1/4  every pair in turn: half of these runs train the discriminant, half choose a threshold;
 *        the pair that moves a contribution most wins, unless another is clearly better
 *   1/4  the same once more for the winning pair only
 *   1/2  the tests that were chosen, one for each input as the "positive"; only these runs count
 *
 * So the bounds use data that no choice depended on. The correction for multiple tests (Bonferroni)
 * is a factor of two for the tests and two for the bounds. */
#include "audit/attack.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "audit/bounds.h"
#include "audit/discriminant.h"

/* How the victim's data is replaced. The worst case for z = (vech(x x'), x y) with |x| = 1, y = 1
 * and equal noise in all entries is an angle of 120 degrees: ||dz||^2 = (2 - 2 c^2) + (2 - 2 c) is
 * greatest at c = cos = -1/2. x x' - v v' is diagonal, so that no entry stands for two, if the
 * bisector is at 45 degrees. `outside` sends the same pair beyond the bounds: clipping must bring
 * it back. `far outside` has its second input near zero, with an enormous reward of the wrong sign:
 * it moves all entries at once, where each is still cut by itself. `just outside` is for a clip
 * that begins too late, `across` has products of the two features with opposite signs, and `not a
 * number` must count as the lowest reward. */
typedef struct pair {
  const char *name;
  double degrees[2]; /* directions of x in the plane of the first two features */
  double stretch[2]; /* norm of x, in units of the bound */
  bool all;          /* along all features alike, or against them */
  bool low;          /* the second reward is the lowest, not the highest */
  bool nothing;      /* the second reward is no number */
  double beyond[2];  /* how far rewards are outside their interval, in units of its width */
} pair;

static const pair pairs[] = {
    {.name = "not a number", .degrees = {0, 0}, .stretch = {1, 1}, .nothing = true},
    {.name = "across", .degrees = {45, -45}, .stretch = {1, 1}},
    {.name = "just outside the bounds", .degrees = {-15, 105}, .stretch = {1.2, 1.2}, .beyond = {0.2, 0.2}},
    {.name = "opposite", .degrees = {0, 180}, .stretch = {1, 1}},
    {.name = "orthogonal", .degrees = {0, 90}, .stretch = {1, 1}, .low = true},
    {.name = "120 degrees", .degrees = {-15, 105}, .stretch = {1, 1}},
    {.name = "outside the bounds", .degrees = {-15, 105}, .stretch = {3, 3}, .beyond = {1, 1}},
    {.name = "all entries", .degrees = {0, 180}, .stretch = {1, 1}, .all = true},
    {.name = "far outside the bounds",
     .degrees = {0, 0},
     .stretch = {3, 0.01},
     .all = true,
     .low = true,
     .beyond = {1, 1000}}};
/* The first, and the last two, are for releases only: what is no number, whole vectors, and entries
 * that are cut. */
enum { PAIRS = sizeof pairs / sizeof *pairs, FROM = 1, TO = PAIRS - 2 };
_Static_assert(2 * PAIRS == FARO_ATTACK_INPUTS, "two inputs a pair");

/* A test that says "positive" if the score is above the threshold (or if it is not). */
typedef struct test {
  size_t score;
  double threshold;
  bool above;
  double value; /* its bound on the runs that choose; -INFINITY: useless */
} test;

typedef struct attack {
  const faro_audit_mechanism *mechanism; /* one for each job */
  size_t jobs;
  const faro_contribution *contribution;
  const faro_audit_plan *plan;
  faro_curve curve;
  double claimed;
  bool sums, users;
  void (*tell)(void *context, size_t pair);
  faro_arena arena;
  faro_discriminant discriminant;
  uint64_t runs;
  double *x[FARO_ATTACK_JOBS_MAX], *view[FARO_ATTACK_JOBS_MAX]; /* by job */
  double *z[2];                                                 /* contributions of a pair */
  double *scores[2][SCORES]; /* scores in the runs that choose the test, by input */
  double *pooled;
} attack;

static faro_status check_plan(const faro_audit_mechanism *m, const faro_audit_plan *p, faro_error *error) {
  if (p->trials < 1000 || p->trials > 1000000000)
    return faro_fail(error, FARO_INVALID, "trials must be 1000 .. 1000000000 (got %llu)",
                     (unsigned long long)p->trials);
  if (!(p->confidence >= 0.5 && p->confidence <= 1 - 1e-10))
    return faro_fail(error, FARO_INVALID, "confidence must be 0.5 .. 0.9999999999 (got %g)", p->confidence);
  if (m->messages < 1 || m->width < 1)
    return faro_fail(error, FARO_INVALID, "a view must hold at least one number (got %zu messages of %zu)",
                     m->messages, m->width);
  return FARO_OK;
}

/* In one dimension, directions other than 0 and 180 degrees are projected on the axis. */
double faro_attack_input(const faro_contribution *c, size_t index, bool users, double *x) {
  const pair *p = &pairs[index / 2];
  const size_t input = index % 2;
  const bool rewards = c->form == FARO_FORM_REWARDS && !users;
  const double angle = p->degrees[rewards ? 0 : input] * acos(-1) / 180;
  const double norm = p->stretch[rewards ? 0 : input] * c->norm;
  memset(x, 0, c->dimension * sizeof *x);
  x[0] = norm * cos(angle);
  if (c->dimension > 1) x[1] = norm * sin(angle);
  for (size_t i = 0; p->all && i < c->dimension; i++) x[i] = norm * cos(angle) / sqrt((double)c->dimension);
  const bool top = fabs(c->high) >= fabs(c->low); /* the end that moves x y most */
  const bool up = top != (input == 1 && (p->low || rewards));
  const double beyond = p->beyond[input] * (c->high - c->low);
  if (p->nothing && input == 1) return NAN;
  return up ? c->high + beyond : c->low - beyond;
}

static size_t batches_of(const faro_audit_mechanism *m) { return m->batches > 0 ? m->batches : 1; }
static size_t view_length(const faro_audit_mechanism *m) { return batches_of(m) * m->messages * m->width; }

/* Runs that threads share, in slices. Which runs a slice has does not depend on the threads. */
typedef struct batch {
  attack *a;
  const pair *pair;
  uint64_t first; /* number of the first run */
  size_t runs;
  void (*take)(struct batch *b, size_t slice, size_t run, const double *view); /* input: run % 2 */
  const struct test *tests;                                                    /* evaluate only */
  uint64_t hits[FARO_SLICES][2][2];                                            /* by test, by input */
  atomic_size_t slice, job;                                                    /* the next ones */
  atomic_ullong untold; /* runs that the plan's progress was not told of */
  pthread_mutex_t lock; /* guards what follows */
  faro_status status;
  faro_error *error;
} batch;

/* One run, on a stream that no other run uses. */
static faro_status play(const batch *b, size_t job, size_t run, faro_error *error) {
  const attack *a = b->a;
  const size_t input = run % 2;
  faro_sim_rng sim;
  faro_sim_open(&sim, a->plan->seed, b->first + run, FARO_ROLE_USER);
  const double y =
      faro_attack_input(a->contribution, 2 * (size_t)(b->pair - pairs) + input, a->users, a->x[job]);
  const faro_audit_mechanism *m = &a->mechanism[job];
  const faro_status status = m->run(m->context, a->x[job], y, &sim, a->view[job], error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < view_length(m); i++)
    if (!isfinite(a->view[job][i]))
      return faro_fail(error, FARO_INVALID, "the mechanism's view has a number that is not finite");
  return FARO_OK;
}

static void fail(batch *b, faro_status status, const faro_error *error) {
  pthread_mutex_lock(&b->lock);
  if (b->status == FARO_OK) *b->error = *error;
  if (b->status == FARO_OK) b->status = status;
  pthread_mutex_unlock(&b->lock);
}

static void play_slice(batch *b, size_t job, size_t slice) {
  enum { TOLD_EVERY = 64 };
  const faro_audit_plan *plan = b->a->plan;
  const size_t end = (slice + 1) * b->runs / FARO_SLICES;
  for (size_t run = slice * b->runs / FARO_SLICES; run < end; run++) {
    faro_error error = {0};
    const faro_status status = play(b, job, run, &error);
    if (status != FARO_OK) {
      fail(b, status, &error);
      return;
    }
    b->take(b, slice, run, b->a->view[job]);
    const uint64_t untold = plan->progress ? atomic_fetch_add(&b->untold, 1) + 1 : 0;
    if (job == 0 && untold >= TOLD_EVERY) plan->progress(plan->context, atomic_exchange(&b->untold, 0));
  }
}

static void *work(void *context) {
  batch *b = context;
  const size_t job = atomic_fetch_add(&b->job, 1);
  for (size_t slice; (slice = atomic_fetch_add(&b->slice, 1)) < FARO_SLICES;) play_slice(b, job, slice);
  return NULL;
}

/* The caller's thread is job 0, and the only one that reports. */
static faro_status play_all(batch *b, faro_error *error) {
  pthread_t thread[FARO_ATTACK_JOBS_MAX];
  faro_error ignored;
  size_t started = 0;
  b->first = b->a->runs;
  b->error = error ? error : &ignored;
  b->a->runs += b->runs;
  pthread_mutex_init(&b->lock, NULL);
  atomic_store(&b->job, 1);
  while (started + 1 < b->a->jobs && pthread_create(&thread[started], NULL, work, b) == 0) started++;
  for (size_t slice; (slice = atomic_fetch_add(&b->slice, 1)) < FARO_SLICES;) play_slice(b, 0, slice);
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  pthread_mutex_destroy(&b->lock);
  if (b->a->plan->progress) b->a->plan->progress(b->a->plan->context, atomic_exchange(&b->untold, 0));
  return b->status;
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left;
  const double b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Wilson's interval: fast, and accurate enough to choose by. sign is +1 for the upper end. */
static double wilson(double hits, double n, double z, double sign) {
  return (hits + z * z / 2 + sign * z * sqrt(hits * (1 - hits / n) + z * z / 4)) / (n + z * z);
}

/* How good a test looks. On a whole curve the intervals are wide, so that rates of few hits, which
 * look best by chance, are not chosen; a point may be best attacked there. */
static double value_of(faro_curve curve, double hits, double wrong, double n) {
  const double z = curve.form == FARO_CURVE_POINT ? 2 : 4;
  return faro_curve_least(curve, wilson(hits, n, z, -1), wilson(wrong, n, z, 1));
}

/* How many of n sorted scores are above the threshold. */
static double count_above(const double *score, size_t n, double threshold) {
  size_t low = 0;
  size_t high = n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (score[middle] > threshold) high = middle;
    else low = middle + 1;
  }
  return (double)(n - low);
}

/* Tries one threshold in both directions, with either input as the positive. */
static void try_threshold(const attack *a, size_t score, size_t n, double threshold, test best[static 2]) {
  double above[2];
  for (int input = 0; input < 2; input++) above[input] = count_above(a->scores[input][score], n, threshold);
  for (int positive = 0; positive < 2; positive++)
    for (int direction = 0; direction < 2; direction++) {
      const double hits = direction ? above[positive] : (double)n - above[positive];
      const double wrong = direction ? above[1 - positive] : (double)n - above[1 - positive];
      const double value = value_of(a->curve, hits, wrong, (double)n);
      if (value > best[positive].value) best[positive] = (test){score, threshold, direction, value};
    }
}

/* Thresholds halfway between adjacent scores of the pooled order, at ranks that are dense at both
 * ends. */
static void choose_threshold(attack *a, size_t score, size_t n, test best[static 2]) {
  for (int input = 0; input < 2; input++) {
    qsort(a->scores[input][score], n, sizeof(double), by_value);
    memcpy(a->pooled + (size_t)input * n, a->scores[input][score], n * sizeof(double));
  }
  qsort(a->pooled, 2 * n, sizeof(double), by_value);
  for (size_t rank = 1; rank <= n; rank = rank + 1 > rank * 17 / 16 ? rank + 1 : rank * 17 / 16) {
    const size_t low = rank;
    const size_t high = 2 * n - rank;
    try_threshold(a, score, n, (a->pooled[low - 1] + a->pooled[low]) / 2, best);
    try_threshold(a, score, n, (a->pooled[high - 1] + a->pooled[high]) / 2, best);
  }
  try_threshold(a, score, n, (a->pooled[n - 1] + a->pooled[n]) / 2, best);
}

static void learn(batch *b, size_t slice, size_t run, const double *view) {
  faro_discriminant_see(&b->a->discriminant, slice, (int)(run % 2), view);
}

static void keep_scores(batch *b, size_t slice, size_t run, const double *view) {
  double score[SCORES];
  (void)slice;
  faro_discriminant_score(&b->a->discriminant, view, score);
  for (size_t k = 0; k < faro_discriminant_scores(&b->a->discriminant); k++)
    b->a->scores[run % 2][k][run / 2] = score[k];
}

/* Spends 4 n runs on a pair: n on each input to train, n on each to choose. */
static faro_status explore(attack *a, const pair *p, size_t n, test best[static 2], faro_error *error) {
  batch training = {.a = a, .pair = p, .runs = 2 * n, .take = learn, .first = a->runs};
  batch choice = {.a = a, .pair = p, .runs = 2 * n, .take = keep_scores};
  best[0].value = best[1].value = -INFINITY;
  for (size_t job = 0; a->tell && job < a->jobs; job++)
    a->tell(a->mechanism[job].context, (size_t)(p - pairs));
  faro_status status = play(&training, 0, 0, error);
  if (status != FARO_OK) return status;
  faro_discriminant_forget(&a->discriminant, a->view[0]);
  status = play_all(&training, error);
  if (status != FARO_OK) return status;
  faro_discriminant_learn(&a->discriminant);
  status = play_all(&choice, error);
  for (size_t k = 0; status == FARO_OK && k < faro_discriminant_scores(&a->discriminant); k++)
    choose_threshold(a, k, n, best);
  return status;
}

/* Two tests, two bounds each. */
static double alpha_of(const attack *a) { return (1 - a->plan->confidence) / 4; }

/* The bound that one test gives, from its counts in n runs on each input. */
static double bound(const attack *a, const uint64_t hits[static 2], int positive, uint64_t n) {
  const double low = faro_proportion_low(hits[positive], n, alpha_of(a));
  const double high = faro_proportion_high(hits[1 - positive], n, alpha_of(a));
  return fmax(0, faro_curve_least(a->curve, low, high));
}

static void count_hits(batch *b, size_t slice, size_t run, const double *view) {
  double score[SCORES] = {0};
  faro_discriminant_score(&b->a->discriminant, view, score);
  for (int t = 0; t < 2; t++) {
    const test *one = &b->tests[t];
    if (isfinite(one->value) && (score[one->score] > one->threshold) == one->above)
      b->hits[slice][t][run % 2]++;
  }
}

/* Spends all remaining runs on the tests. */
static faro_status evaluate(attack *a, const pair *p, const test tests[static 2], faro_finding *outcome,
                            faro_error *error) {
  const uint64_t n = (a->plan->trials - a->runs) / 2;
  batch b = {.a = a, .pair = p, .runs = 2 * n, .take = count_hits, .tests = tests};
  uint64_t hits[2][2] = {{0}}; /* by test, by input */
  const faro_status status = play_all(&b, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < (size_t)4 * FARO_SLICES; i++)
    hits[i / 2 % 2][i % 2] += b.hits[i / 4][i / 2 % 2][i % 2];
  outcome->least = -1;
  for (int t = 0; t < 2; t++) {
    const double least = bound(a, hits[t], t, n);
    if (least <= outcome->least) continue;
    outcome->least = least;
    outcome->statistic = faro_score_name(tests[t].score);
    outcome->hits = (double)hits[t][t] / (double)n;
    outcome->false_hits = (double)hits[t][1 - t] / (double)n;
  }
  outcome->power = isnan(a->claimed) ? NAN : faro_curve_power(a->curve, a->claimed, n, alpha_of(a));
  return FARO_OK;
}

static faro_status make_room(attack *a, faro_error *error) {
  const faro_audit_mechanism *m = a->mechanism;
  const size_t most = (size_t)(a->plan->trials / 16);
  for (size_t job = 0; job < a->jobs; job++) {
    a->x[job] = faro_arena_alloc(&a->arena, a->contribution->dimension, sizeof **a->x, error);
    a->view[job] = faro_arena_alloc(&a->arena, view_length(m), sizeof **a->view, error);
    if (!a->x[job] || !a->view[job]) return FARO_MEMORY;
  }
  a->pooled = faro_arena_alloc(&a->arena, 2 * most, sizeof *a->pooled, error);
  for (int i = 0; i < 2; i++)
    a->z[i] = faro_arena_alloc(&a->arena, a->contribution->length, sizeof **a->z, error);
  if (!a->pooled || !a->z[0] || !a->z[1]) return FARO_MEMORY;
  const faro_status status =
      faro_discriminant_open(&a->discriminant, batches_of(m), m->messages, m->width, &a->arena, error);
  if (status != FARO_OK) return status;
  for (int input = 0; input < 2; input++)
    for (size_t k = 0; k < faro_discriminant_scores(&a->discriminant); k++) {
      a->scores[input][k] = faro_arena_alloc(&a->arena, most, sizeof(double), error);
      if (!a->scores[input][k]) return FARO_MEMORY;
    }
  return FARO_OK;
}

/* Which pairs are tried. */
static size_t first_pair(const attack *a) { return a->sums ? 0 : FROM; }
static size_t last_pair(const attack *a) { return a->sums ? PAIRS : TO; }

/* How far the pair moves a clipped contribution, squared. */
static double distance(attack *a, size_t index) {
  double square = 0;
  for (size_t input = 0; input < 2; input++) {
    const double y = faro_attack_input(a->contribution, 2 * index + input, a->users, a->x[0]);
    faro_contribution_make(a->contribution, a->x[0], y, a->z[input]);
  }
  for (size_t i = 0; i < a->contribution->length; i++) square += pow(a->z[0][i] - a->z[1][i], 2);
  return square;
}

/* The pair that moves a contribution most; of several, the last, which also leaves the bounds. */
static size_t expected_pair(attack *a) {
  size_t best = 0;
  double most = 0;
  for (size_t i = 0; i < PAIRS; i++) {
    const double here = distance(a, i);
    if (here < most * (1 - 1e-9)) continue;
    most = fmax(most, here);
    best = i;
  }
  return best;
}

/* The best pair in n runs. If one should be best, another must be clearly better: by three standard
 * deviations, which are about 1.8 / sqrt(n) for the parameters of all curves. */
static size_t choose_pair(attack *a, const double value[static PAIRS], size_t n) {
  size_t best = a->sums ? expected_pair(a) : FROM;
  double least = value[best] + (a->sums ? 3 * 1.8 / sqrt((double)n) : 0);
  for (size_t i = first_pair(a); i < last_pair(a); i++) {
    if (!(value[i] > least)) continue;
    least = value[i];
    best = i;
  }
  return best;
}

static faro_status run_attack(attack *a, faro_finding *outcome, faro_error *error) {
  const size_t quarter = (size_t)(a->plan->trials / 4);
  test tests[2] = {{0}};
  const size_t n = quarter / (last_pair(a) - first_pair(a)) / 4;
  double value[PAIRS];
  for (size_t i = first_pair(a); i < last_pair(a); i++) {
    const faro_status status = explore(a, &pairs[i], n, tests, error);
    if (status != FARO_OK) return status;
    value[i] = fmax(tests[0].value, tests[1].value);
  }
  const pair *winner = &pairs[choose_pair(a, value, n)];
  outcome->pair = winner->name;
  const faro_status status = explore(a, winner, quarter / 4, tests, error);
  return status == FARO_OK ? evaluate(a, winner, tests, outcome, error) : status;
}

faro_status faro_attack_run(const faro_audit_mechanism *mechanism, size_t jobs,
                            const faro_contribution *contribution, const faro_audit_plan *plan,
                            const faro_target *target, faro_finding *outcome, faro_error *error) {
  attack a = {.mechanism = mechanism,
              .jobs = jobs,
              .contribution = contribution,
              .plan = plan,
              .curve = target->curve,
              .claimed = target->claimed,
              .sums = target->sums,
              .users = target->users,
              .tell = target->tell};
  faro_finding made = {0};
  faro_status status = check_plan(mechanism, plan, error);
  if (status == FARO_OK) status = make_room(&a, error);
  if (status == FARO_OK) status = run_attack(&a, &made, error);
  faro_discriminant_close(&a.discriminant);
  faro_arena_free(&a.arena);
  if (status != FARO_OK) return status;
  made.runs = a.runs;
  *outcome = made;
  return FARO_OK;
}

faro_status faro_audit(const faro_audit_mechanism *mechanism, const faro_contribution *contribution,
                       const faro_audit_plan *plan, faro_audit_result *result, faro_error *error) {
  const faro_target claim = {.curve = {FARO_CURVE_POINT, isnan(plan->delta) ? 0 : plan->delta},
                             .claimed = plan->epsilon};
  faro_finding outcome;
  const faro_status status = faro_attack_run(mechanism, 1, contribution, plan, &claim, &outcome, error);
  if (status != FARO_OK) return status;
  *result = (faro_audit_result){.epsilon_lower = outcome.least,
                                .power = outcome.power,
                                .epsilon = plan->epsilon,
                                .delta = plan->delta,
                                .trials = outcome.runs,
                                .confidence = plan->confidence,
                                .against = "claim",
                                .order_power = NAN,
                                .pair = outcome.pair,
                                .statistic = outcome.statistic,
                                .hits = outcome.hits,
                                .false_hits = outcome.false_hits,
                                .consistent = !(outcome.least > plan->epsilon)};
  return FARO_OK;
}
