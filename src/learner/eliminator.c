/* eliminator: learners that work in phases. Each phase plays a near-optimal design over the
 * remaining arms, estimates all of them by least squares from private sums of rewards, and drops
 * those that are certainly not the best. Phases grow. Li, Zhou & Ji 2022, Alg. 1 and 3; Hanna et
 * al. 2022, Alg. 1 to 4.
 *
 *   A_l      arms left in phase l, spanning m dimensions      active
 *   pi       design on A_l, max ||x||^2_{V(pi)^-1} <= 2 m     design
 *   T(x)     = ceil(h_l pi(x)), pulls of a support arm
 *   z        arms in coordinates of the span                  design->coordinates
 *   V        = sum T(x) z z'                                  in those coordinates
 *   mean     <theta, x> for all x in A_l, theta = V^-1 sum T(x) z (heard mean of x)
 *   width    the greatest possible error of a mean
 *
 * The estimate of x is linear in the sums heard for the support: sum_s c_s(x) heard_s, with the
 * influence c_s(x) = z' V^-1 z_s. So under `tight` its noise is known exactly: rewards add (R
 * c_s)^2 T(s), privacy adds (c_s scale_s)^2, and the clients' own parameters add spread ||x|| /
 * sqrt(clients). Laplace noise has its own tail. The published widths bound all of that by the
 * worst case.
 *
 * A core set needs few private sums, so it pays where their noise is what widens the estimates.
 * Elsewhere all active arms, played equally, have less regret: late in a run they are all good,
 * while a design plays the extreme ones. How much noise widens either is known before the phase,
 * because widths depend on pulls and noise only. `auto` takes the core set where noise widens its
 * estimates by less than PAYS times as much as those of all arms (docs/experiments.md, Elimination,
 * says what PAYS was chosen on), or where there are fewer pulls than arms. */
#include "learner/eliminator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"

static const char *const clients_words[] = {
#define X(id, text) text,
    FARO_CLIENTS_LIST(X)
#undef X
        NULL};

static const char *const assignment_words[] = {
#define X(name, text) text,
    FARO_ASSIGNMENT_LIST(X)
#undef X
        NULL};

static const char *const core_words[] = {
#define X(id, text) text,
    FARO_CORE_LIST(X)
#undef X
        NULL};

static const double PAYS = 0.85;

#define CORE                                                                                                 \
  {                                                                                                          \
    "core", FARO_SETTING_CHOICE, offsetof(faro_eliminator_settings, core), 0, 3, FARO_CORE_DEFAULT,          \
        core_words,                                                                                          \
        "eliminators only: true: play a small core set; false: all active arms equally; auto: the core set " \
        "where it pays; default: true under calibration paper, else auto"                                    \
  }

const faro_setting faro_eliminator_of_users[] = {CORE,
                                                 {"assignment", FARO_SETTING_CHOICE,
                                                  offsetof(faro_eliminator_settings, assignment), 0, 1,
                                                  FARO_ASSIGNMENT_OPEN, assignment_words,
                                                  "shuffle-laplace with pe or hanna: secret: users hide in "
                                                  "the whole phase, which holds only if nobody sees "
                                                  "others' actions"},
                                                 {0}};
const faro_setting faro_eliminator_of_clients[] = {
    CORE,
    {"alpha", FARO_SETTING_REAL_OPEN, offsetof(faro_eliminator_settings, alpha), 0, 1, 0.8, NULL,
     "dpe only: phase l asks 2^(alpha l) clients, rounded up"},
    {"clients", FARO_SETTING_CHOICE, offsetof(faro_eliminator_settings, clients), 0, 1, FARO_CLIENTS_GROWING,
     clients_words, "dpe only: growing: more clients in each phase; fixed: the same number in each"},
    {0}};

/* The probability of failure that all phases until the next extension of the horizon share. */
static double failure_of(const faro_eliminator *e) {
  const double j = e->doublings;
  return e->params.anytime ? e->params.failure / (j * (j + 1)) : e->params.failure;
}

/* The most phases that fit the horizon. */
static double phases_of(const faro_eliminator *e) { return ceil(log2((double)e->params.horizon)) + 1; }

double faro_heard_sd(const faro_heard *h) {
  return h->laplace > 0 ? h->laplace * sqrt(2 * h->summands) : h->scale;
}

/* ---- setting up */

typedef struct column {
  const faro_arms *arms;
  size_t arm;
} column;

static int compare(const void *one, const void *other) {
  const column *a = one;
  const column *b = other;
  for (size_t i = 0; i < a->arms->dimension; i++) {
    const double *row = a->arms->x + i * a->arms->stride;
    if (row[a->arm] != row[b->arm]) return row[a->arm] < row[b->arm] ? -1 : 1;
  }
  return 0;
}

/* If two arms were equal, neither would ever be dropped. */
static faro_status check_twins(const faro_arms *arms, faro_error *error) {
  faro_arena arena = {0};
  column *sorted = faro_arena_alloc(&arena, arms->count, sizeof *sorted, error);
  if (!sorted) return FARO_MEMORY;
  for (size_t a = 0; a < arms->count; a++) sorted[a] = (column){arms, a};
  qsort(sorted, arms->count, sizeof *sorted, compare);
  faro_status status = FARO_OK;
  for (size_t a = 1; status == FARO_OK && a < arms->count; a++) {
    if (compare(&sorted[a - 1], &sorted[a]) != 0) continue;
    const size_t one = sorted[a - 1].arm;
    const size_t other = sorted[a].arm;
    status = faro_fail(error, FARO_INVALID, "arms must differ (arms %zu and %zu are the same)",
                       one < other ? one : other, one < other ? other : one);
  }
  faro_arena_free(&arena);
  return status;
}

static faro_status check_arms(const faro_arms *arms, faro_error *error) {
  if (!arms || arms->count < 2)
    return faro_fail(error, FARO_INVALID, "arms must be 2 or more (got %zu)", arms ? arms->count : 0);
  double longest = 0;
  for (size_t a = 0; a < arms->count; a++) {
    double square = 0;
    for (size_t i = 0; i < arms->dimension; i++)
      square += arms->x[i * arms->stride + a] * arms->x[i * arms->stride + a];
    if (!(square <= 1 + 1e-9))
      return faro_fail(error, FARO_INVALID, "arms must lie in the unit ball (arm %zu has length %g)", a,
                       sqrt(square));
    longest = fmax(longest, square);
  }
  if (longest == 0)
    return faro_fail(error, FARO_INVALID, "arms must not all be zero (got %zu of them)", arms->count);
  return check_twins(arms, error);
}

static faro_status allocate(faro_eliminator *e, faro_error *error) {
  faro_arena *arena = &e->host.arena;
  const faro_arms *arms = e->params.arms;
  const size_t k = arms->stride;
  const size_t d = arms->dimension;
  e->active = faro_arena_alloc(arena, k, sizeof *e->active, error);
  e->arm = faro_arena_alloc(arena, k, sizeof *e->arm, error);
  e->place = faro_arena_alloc(arena, k, sizeof *e->place, error);
  e->pulls = faro_arena_alloc(arena, k, sizeof *e->pulls, error);
  e->V = faro_arena_alloc(arena, faro_packed(d), sizeof *e->V, error);
  e->u = faro_arena_alloc(arena, d, sizeof *e->u, error);
  e->theta = faro_arena_alloc(arena, d, sizeof *e->theta, error);
  e->mean = faro_arena_alloc(arena, k, sizeof *e->mean, error);
  e->width = faro_arena_alloc(arena, k, sizeof *e->width, error);
  e->influence = faro_arena_alloc(arena, k, sizeof *e->influence, error);
  e->variance = faro_arena_alloc(arena, k, sizeof *e->variance, error);
  e->preview = faro_arena_alloc(arena, k, sizeof *e->preview, error);
  return e->active && e->arm && e->place && e->pulls && e->V && e->u && e->theta && e->mean && e->width &&
                 e->influence && e->variance && e->preview
             ? FARO_OK
             : FARO_MEMORY;
}

static faro_status check(const faro_learner_kind *kind, const faro_eliminator_params *p, faro_error *error) {
  faro_status status = faro_learner_check(kind, FARO_PROTOCOL_ELIMINATOR, p->calibration, error);
  if (status == FARO_OK) status = faro_learner_check_failure(p->failure, error);
  if (status == FARO_OK) status = check_arms(p->arms, error);
  if (status == FARO_OK) status = faro_learner_check_dimension(p->arms->dimension, error);
  if (status != FARO_OK || !p->settings || !faro_eliminator_kind_asks_clients(kind)) return status;
  if (p->settings->alpha > 0 && p->settings->alpha < 1) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "alpha must be above 0 and below 1 (got %g)", p->settings->alpha);
}

static faro_status build(faro_eliminator *e, faro_error *error) {
  const faro_arms *arms = e->params.arms;
  faro_settings_preset(faro_eliminator_of_clients, &e->settings); /* these are all settings of eliminators */
  if (e->params.settings) e->settings = *e->params.settings;
  faro_status status = allocate(e, error);
  if (status == FARO_OK) status = faro_designer_create(&e->designer, arms->dimension, arms->count, error);
  if (status == FARO_OK) status = faro_spd_create(&e->spd, arms->dimension, error);
  if (status != FARO_OK) return status;
  e->doublings = 1;
  e->actives = arms->count;
  for (size_t a = 0; a < e->actives; a++) e->active[a] = a;
  return FARO_OK;
}

faro_status faro_eliminator_create(faro_eliminator **eliminator, const faro_learner_kind *kind,
                                   const faro_eliminator_params *params, faro_error *error) {
  faro_status status = check(kind, params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_eliminator *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_eliminator){.kind = (const faro_eliminator_kind *)(const void *)kind, /* its first member */
                            .host = {.arena = arena},
                            .params = *params};
  status = build(made, error);
  if (status == FARO_OK) *eliminator = made;
  else faro_eliminator_destroy(made);
  return status;
}

void faro_eliminator_destroy(faro_eliminator *eliminator) {
  if (!eliminator) return;
  faro_designer_destroy(eliminator->designer);
  faro_spd_destroy(eliminator->spd);
  faro_arena arena = eliminator->host.arena;
  faro_arena_free(&arena);
}

/* ---- which arms */

static void take_core(faro_eliminator *e) {
  e->core = true;
  e->plan.support = e->design->support;
  for (size_t s = 0; s < e->plan.support; s++) {
    e->arm[s] = e->design->arm[s];
    e->place[s] = e->design->place[s];
    e->pulls[s] = (uint64_t)ceil(e->h * e->design->weight[s]);
  }
}

/* Hanna et al. 2022, Fig. 2b: without a core set all active arms are played equally. */
static void take_all(faro_eliminator *e) {
  e->core = false;
  e->plan.support = e->actives;
  for (size_t s = 0; s < e->actives; s++) {
    e->arm[s] = e->active[s];
    e->place[s] = s;
    e->pulls[s] = (uint64_t)ceil(e->h / (double)e->actives);
  }
}

static size_t best_of(const faro_eliminator *e) {
  size_t best = 0;
  for (size_t a = 1; a < e->actives; a++)
    if (e->mean[a] > e->mean[best]) best = a;
  return best;
}

static void take_last(faro_eliminator *e) {
  e->plan.last = true;
  e->plan.support = 1;
  e->arm[0] = e->active[best_of(e)];
}

/* ---- estimates and widths */

static void coordinates_of(const faro_eliminator *e, size_t place, double *z) {
  const faro_arms *c = e->design->coordinates;
  for (size_t i = 0; i < c->dimension; i++) z[i] = c->x[i * c->stride + place];
}

/* Factors V. */
static void factor(faro_eliminator *e) {
  const size_t m = e->design->rank;
  faro_spd_resize(e->spd, m);
  memset(e->V, 0, faro_packed(m) * sizeof *e->V);
  for (size_t s = 0; s < e->plan.support; s++) {
    coordinates_of(e, e->place[s], e->u);
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j <= i; j++) e->V[faro_packed(i) + j] += (double)e->pulls[s] * e->u[i] * e->u[j];
  }
  FARO_INVARIANT(faro_spd_factor(e->spd, e->V)); /* the support spans */
}

/* theta = V^-1 sum T z (mean heard) Li, Zhou & Ji 2022, Alg. 1 l. 17; Hanna et al. 2022, Alg. 1 l.
 * 9 */
static void estimate(faro_eliminator *e, const faro_heard *heard) {
  const size_t m = e->design->rank;
  memset(e->theta, 0, m * sizeof *e->theta);
  for (size_t s = 0; s < e->plan.support; s++) {
    const double weight = (double)e->pulls[s] * heard[s].sum / heard[s].count;
    coordinates_of(e, e->place[s], e->u);
    for (size_t i = 0; i < m; i++) e->theta[i] += weight * e->u[i];
  }
  faro_spd_solve(e->spd, e->theta, e->theta);
  (void)faro_means(e->design->coordinates, e->theta, e->mean);
}

/* influence[x] = z_x' V^-1 z_s. */
static void influence_of(faro_eliminator *e, size_t s) {
  coordinates_of(e, e->place[s], e->u);
  faro_spd_solve(e->spd, e->u, e->u);
  (void)faro_means(e->design->coordinates, e->u, e->influence);
}

/* The tail of Laplace variables with weights w. With `shares` = sum n (w b)^2 and `largest` = max w
 * b it is at most that of shares / largest^2 variables of scale `largest`, because -ln(1 - y) is
 * convex. That follows from Chernoff's bound, not from the exact tail of one variable. */
static double laplace_tail(double shares, double largest, double q) {
  return largest > 0 ? faro_laplace_sum_quantile(fmax(1.001, shares / (largest * largest)), largest, q) : 0;
}

static double square_length(const faro_arms *arms, size_t a) {
  double square = 0;
  for (size_t i = 0; i < arms->dimension; i++)
    square += arms->x[i * arms->stride + a] * arms->x[i * arms->stride + a];
  return square;
}

/* What one arm of the plan adds to the variance of an estimate, and its Laplace scale there, per
 * unit of influence. */
typedef struct share {
  double variance, laplace;
} share;

static share share_of(const faro_eliminator *e, const faro_heard *heard, size_t s) {
  const double users = e->plan.clients > 0 ? (double)e->plan.clients : 1;
  const double pulls = (double)e->pulls[s];
  const double noise = pulls / heard[s].count; /* per unit of noise in the sum */
  const double R = e->params.reward;
  return (share){.variance = R * R * pulls / users + noise * noise * heard[s].scale * heard[s].scale,
                 .laplace = noise * heard[s].laplace};
}

/* Adds the arms of the plan one by one. Returns the greatest Laplace scale. */
static double add_each(faro_eliminator *e, const faro_heard *heard) {
  double largest = 0;
  for (size_t s = 0; s < e->plan.support; s++) {
    const share own = share_of(e, heard, s);
    influence_of(e, s);
    for (size_t a = 0; a < e->actives; a++) {
      const double c = e->influence[a];
      const double b = fabs(c) * own.laplace;
      e->variance[a] += c * c * own.variance;
      e->width[a] += heard[s].summands * b * b;
      largest = fmax(largest, b);
    }
  }
  return largest;
}

/* The same if all active arms are played equally, with equal noise: sum_s c_s(x)^2 = ||x||^2_{V^-1}
 * / pulls, and no influence exceeds the greatest ||x||^2_{V^-1}, which is that of an arm on itself.
 * In time linear in the number of arms. */
static double add_equal(faro_eliminator *e, const faro_heard *heard) {
  const share own = share_of(e, heard, 0);
  const faro_arms *z = e->design->coordinates;
  double largest = 0;
  for (size_t a = 0; a < e->actives; a++) {
    double square = 0;
    coordinates_of(e, a, e->u);
    faro_spd_solve(e->spd, e->u, e->u);
    for (size_t i = 0; i < z->dimension; i++) square += z->x[i * z->stride + a] * e->u[i];
    e->variance[a] += square / (double)e->pulls[0] * own.variance;
    e->width[a] += square / (double)e->pulls[0] * heard[0].summands * own.laplace * own.laplace;
    largest = fmax(largest, square * own.laplace);
  }
  return largest;
}

static bool equal_noise(const faro_eliminator *e, const faro_heard *heard) {
  for (size_t s = 1; s < e->plan.support; s++)
    if (heard[s].count != heard[0].count || heard[s].scale != heard[0].scale ||
        heard[s].laplace != heard[0].laplace || heard[s].summands != heard[0].summands)
      return false;
  return !e->core;
}

/* The width of every active arm from its actual noise. All widths hold together, in all phases,
 * with probability 1 - failure. `width` first collects the Laplace shares. */
static void tight_widths(faro_eliminator *e, const faro_heard *heard) {
  const faro_eliminator_params *p = &e->params;
  const double users = (double)e->plan.clients;
  for (size_t a = 0; a < e->actives; a++) {
    e->variance[a] = users > 0 ? p->spread * p->spread * square_length(p->arms, e->active[a]) / users : 0;
    e->width[a] = 0;
  }
  const double largest = equal_noise(e, heard) ? add_equal(e, heard) : add_each(e, heard);
  const double q = failure_of(e) / (phases_of(e) * (double)p->arms->count);
  const double part = largest > 0 ? q / 2 : q;
  for (size_t a = 0; a < e->actives; a++)
    e->width[a] = sqrt(2 * e->variance[a] * log(2 / part)) + laplace_tail(e->width[a], largest, part);
}

/* V must be factored. */
static void widths(faro_eliminator *e, const faro_heard *heard) {
  if (e->params.calibration != FARO_CALIBRATION_PAPER) {
    tight_widths(e, heard);
    return;
  }
  const double width = e->kind->width(e, heard);
  for (size_t a = 0; a < e->actives; a++) e->width[a] = width;
}

/* ---- the plan */

static double greatest_width(faro_eliminator *e, const faro_heard *heard) {
  double most = 0;
  widths(e, heard);
  for (size_t a = 0; a < e->actives; a++) most = fmax(most, e->width[a]);
  return most;
}

/* How much wider the plan's estimates will be for the noise of privacy. */
static faro_status predict(faro_eliminator *e, double *wider, faro_error *error) {
  const faro_status status = e->params.preview(e->params.context, &e->plan, e->preview, error);
  if (status != FARO_OK) return status;
  factor(e);
  const double noisy = greatest_width(e, e->preview);
  for (size_t s = 0; s < e->plan.support; s++)
    e->preview[s].scale = e->preview[s].laplace = e->preview[s].summands = 0;
  *wider = noisy / greatest_width(e, e->preview);
  return FARO_OK;
}

/* The core set where it pays, else all active arms. Clients always get a core set, because they
 * send a number for each of its arms. */
static faro_status take_better(faro_eliminator *e, faro_error *error) {
  double core = 1;
  double all = 1;
  take_core(e);
  if (!e->params.preview || e->plan.clients > 0 || e->plan.support == e->actives || e->h < (double)e->actives)
    return FARO_OK;
  faro_status status = predict(e, &core, error);
  if (status != FARO_OK) return status;
  take_all(e);
  status = predict(e, &all, error);
  if (core < PAYS * all) take_core(e);
  return status;
}

static faro_status take(faro_eliminator *e, faro_error *error) {
  const faro_core usual = e->params.calibration == FARO_CALIBRATION_PAPER ? FARO_CORE_ALWAYS : FARO_CORE_AUTO;
  const faro_core core = e->settings.core == FARO_CORE_DEFAULT ? usual : e->settings.core;
  if (core == FARO_CORE_AUTO) return take_better(e, error);
  if (core == FARO_CORE_ALWAYS) take_core(e);
  else take_all(e);
  return FARO_OK;
}

faro_status faro_eliminator_plan(faro_eliminator *e, const faro_plan **plan, faro_error *error) {
  if (e->open)
    return faro_fail(error, FARO_INVALID,
                     "a plan is open: the learner must hear its sums before the next plan");
  e->plan = (faro_plan){.arm = e->arm, .pulls = e->pulls};
  *plan = &e->plan;
  if (e->actives == 1 || (e->kind->ends && e->kind->ends(e))) {
    take_last(e);
    return FARO_OK;
  }
  e->phase++;
  faro_status status = faro_design_find(e->designer, e->params.arms, e->active, e->actives,
                                        FARO_DESIGN_TARGET, &e->design, error);
  if (status != FARO_OK) return status;
  e->h = e->kind->length(e);
  e->plan.clients = e->kind->clients ? e->kind->clients(e) : 0;
  status = take(e, error);
  if (status == FARO_OK) e->open = true;
  else e->phase--;
  return status;
}

/* ---- what was heard */

/* Drops every arm whose upper bound is below the lower bound of another. */
static void drop(faro_eliminator *e) {
  double floor = -INFINITY;
  for (size_t a = 0; a < e->actives; a++) floor = fmax(floor, e->mean[a] - e->width[a]);
  size_t left = 0;
  for (size_t a = 0; a < e->actives; a++) {
    if (e->mean[a] + e->width[a] < floor) continue;
    e->active[left] = e->active[a];
    e->mean[left++] = e->mean[a];
  }
  e->actives = left;
}

faro_status faro_eliminator_hear(faro_eliminator *e, const faro_heard *heard, faro_error *error) {
  if (!e->open)
    return faro_fail(error, FARO_INVALID, "no plan is open: make a plan before its sums are heard");
  e->open = false;
  factor(e);
  estimate(e, heard);
  widths(e, heard);
  drop(e);
  e->host.diagnostics.updates++;
  return FARO_OK;
}

faro_status faro_eliminator_extend(faro_eliminator *e, faro_error *error) {
  if (!e->params.anytime)
    return faro_fail(error, FARO_INVALID, "anytime must be set for a learner that is to double its horizon");
  e->params.horizon *= 2;
  e->doublings++;
  return FARO_OK;
}

uint64_t faro_eliminator_horizon(const faro_eliminator *e) { return e->params.horizon; }

size_t faro_eliminator_best(const faro_eliminator *e) { return e->active[best_of(e)]; }
size_t faro_eliminator_left(const faro_eliminator *e) { return e->actives; }
faro_diagnostics faro_eliminator_diagnose(const faro_eliminator *e) { return e->host.diagnostics; }

bool faro_eliminator_holds(const faro_eliminator *e, size_t arm) {
  for (size_t a = 0; a < e->actives; a++)
    if (e->active[a] == arm) return true;
  return false;
}

bool faro_eliminator_kind_asks_clients(const faro_learner_kind *kind) {
  return kind->protocol == FARO_PROTOCOL_ELIMINATOR &&
         ((const faro_eliminator_kind *)(const void *)kind)->clients != NULL;
}
