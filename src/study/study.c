/* study: people and their sums. See study.h, state.h for the other files, and docs/privacy.md,
 * Studies.
 *
 * A person's data passes through releases only: through both sums when the person comes, and
 * through one release per fit. What is stored here is what a trusted server stores, or what all
 * people store together (shuffle model). */
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "glm/loss.h"
#include "study/state.h"

bool faro_study_takes(const faro_release_kind *kind) {
  return kind && (kind->phases || kind == &faro_release_none || kind == &faro_release_central_tree ||
                  kind == &faro_release_central_factored);
}

static bool is_private(const faro_release_kind *kind) { return kind->trust != FARO_TRUST_NONE; }
/* The study is one batch: its people answer the sum and every step of every fit. */
static bool is_batch(const faro_release_kind *kind) { return is_private(kind) && kind->phases; }

/* The published program uses a tree; there are no figures for anything else. */
static bool published(const faro_release_kind *kind) {
  return !is_private(kind) || kind == &faro_release_central_tree;
}

/* There are theorems about zCDP, and about bit sums behind a shuffler. */
static bool has_theorem(const faro_release_kind *kind) {
  return !is_private(kind) || (faro_budget_gaussian(kind) && kind != &faro_release_local_bits);
}

bool faro_study_calibrates(const faro_release_kind *kind, faro_calibration calibration) {
  if (!faro_study_takes(kind) || (unsigned)calibration >= FARO_CALIBRATION_COUNT) return false;
  if (calibration == FARO_CALIBRATION_FIGURE) return published(kind);
  return calibration == FARO_CALIBRATION_TIGHT || has_theorem(kind);
}

static faro_status check_calibration(const faro_release_kind *kind, const faro_study_params *p,
                                     faro_error *error) {
  if ((unsigned)p->calibration >= FARO_CALIBRATION_COUNT)
    return faro_fail(error, FARO_INVALID, "calibration must be paper, figure or tight (got number %d)",
                     (int)p->calibration);
  if (!faro_study_calibrates(kind, p->calibration))
    return faro_fail(error, FARO_INVALID, "calibration must be tight%s for a study with %s (got %s)",
                     has_theorem(kind) ? " or paper" : "", kind->name, faro_calibration_name(p->calibration));
  if (p->calibration == FARO_CALIBRATION_FIGURE && is_private(kind) && p->people < 2)
    return faro_fail(error, FARO_INVALID, "people must be at least 2 under calibration figure (got %llu)",
                     (unsigned long long)p->people);
  return FARO_OK;
}

static faro_status check_budget(const faro_release_kind *kind, const faro_study_params *p,
                                faro_error *error) {
  if (!is_private(kind)) return FARO_OK;
  if (!(p->epsilon >= 1e-4 && p->epsilon <= 1000))
    return faro_fail(error, FARO_INVALID, "epsilon must be 0.0001 .. 1000 (got %g)", p->epsilon);
  if (!(p->delta >= 1e-12 && p->delta < 1))
    return faro_fail(error, FARO_INVALID, "delta must be at least 1e-12 and below 1 (got %g)", p->delta);
  return FARO_OK;
}

static faro_status check_people(const faro_release_kind *kind, const faro_study_params *p,
                                faro_error *error) {
  const uint64_t least = kind->least_batch;
  if (p->people < least || p->people > UINT32_MAX)
    return faro_fail(error, FARO_INVALID, "people must be %llu .. 2^32 - 1 (got %llu)",
                     (unsigned long long)least, (unsigned long long)p->people);
  if (p->batch > p->people)
    return faro_fail(error, FARO_INVALID, "batch must be at most the number of people, %llu (got %llu)",
                     (unsigned long long)p->people, (unsigned long long)p->batch);
  if (is_batch(kind) && p->batch > 0 && p->batch != p->people)
    return faro_fail(error, FARO_INVALID,
                     "batch must be 0 or the number of people, %llu, for a study with %s (got %llu)",
                     (unsigned long long)p->people, kind->name, (unsigned long long)p->batch);
  if (p->horizon < 1)
    return faro_fail(error, FARO_INVALID, "horizon must be 1 or more (got %llu)",
                     (unsigned long long)p->horizon);
  return FARO_OK;
}

static faro_status positive(double value, const char *name, faro_error *error) {
  if (value > 0 && value < INFINITY) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be above 0 (got %g)", name, value);
}

static faro_status validate(const faro_release_kind *kind, const faro_study_params *p, faro_error *error) {
  if (!faro_study_takes(kind))
    return faro_fail(
        error, FARO_INVALID,
        "release must be none, central-tree, central-factored or of one batch for a study (got %s)",
        kind->name);
  if ((unsigned)p->link >= FARO_LINK_COUNT)
    return faro_fail(error, FARO_INVALID, "link must be one of the list (got %d)", (int)p->link);
  faro_status status = positive(p->norm, "norm", error);
  if (status == FARO_OK) status = positive(p->reward, "reward", error);
  if (status == FARO_OK && !(p->low <= 0 && p->low > -INFINITY))
    status = faro_fail(error, FARO_INVALID, "low must be 0 or less (got %g)", p->low);
  if (status == FARO_OK) status = positive(p->steepest, "steepest", error);
  if (status == FARO_OK && !(p->failure > 0 && p->failure < 1))
    status = faro_fail(error, FARO_INVALID, "failure must be above 0 and below 1 (got %g)", p->failure);
  if (status == FARO_OK) status = check_people(kind, p, error);
  if (status == FARO_OK) status = check_budget(kind, p, error);
  if (status == FARO_OK) status = check_calibration(kind, p, error);
  return status;
}

/* Memory. */

static faro_status room(faro_study *s, faro_error *error) {
  const size_t d = s->params.dimension;
  double **const vector[] = {&s->zero, &s->scratch,   &s->theta, &s->gradient,
                             &s->seen, &s->direction, &s->mean,  &s->total};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    if (!(*vector[i] = faro_arena_alloc(&s->arena, d, sizeof **vector[i], error))) return FARO_MEMORY;
  s->packed = faro_arena_alloc(&s->arena, faro_packed(d), sizeof *s->packed, error);
  s->block = faro_arena_alloc(&s->arena, FARO_GLM_BLOCK, d * sizeof *s->block, error);
  const uint64_t rows = s->sim ? s->params.people : 1;
  s->x = faro_arena_alloc(&s->arena, rows, d * sizeof *s->x, error);
  s->y = faro_arena_alloc(&s->arena, rows, sizeof *s->y, error);
  if (!s->packed || !s->block || !s->x || !s->y) return FARO_MEMORY;
  if (s->sim && is_private(s->kind) && s->params.calibration != FARO_CALIBRATION_FIGURE) {
    const uint64_t blocks = (s->params.people + FARO_GLM_BLOCK - 1) / FARO_GLM_BLOCK;
    s->columns = faro_arena_alloc(&s->arena, blocks, FARO_GLM_BLOCK * d * sizeof *s->columns, error);
    if (!s->columns) return FARO_MEMORY;
  }
  if (is_private(s->kind) && s->params.calibration == FARO_CALIBRATION_FIGURE &&
      !(s->order = faro_arena_alloc(&s->arena, s->params.people, sizeof *s->order, error)))
    return FARO_MEMORY;
  const faro_status status = faro_solver_create(&s->solver, d, error);
  return status == FARO_OK ? faro_spd_create(&s->spd, d, error) : status;
}

/* A sum of x x' with ||x||^2 up to the part's greatest weight. */
static faro_status make_sum(faro_study *s, unsigned part, faro_error *error) {
  faro_contribution gram;
  const double most = part == 0 ? 1 : s->params.steepest;
  faro_status status = faro_contribution_gram(&gram, s->params.dimension, sqrt(most), error);
  if (status != FARO_OK) return status;
  const faro_release_params params = {.epsilon = s->budget.sums[part].epsilon,
                                      .delta = s->budget.sums[part].delta,
                                      .horizon = s->params.people,
                                      .batch = s->params.batch,
                                      .honest = s->params.honest,
                                      .calibration = s->budget.sums_calibration};
  status = faro_release_create(&s->sum[part], s->kind, &gram, &params, faro_study_source(s), error);
  if (status != FARO_OK || s->budget.sums_mu == 0) return status;
  if (faro_budget_keeps(s->sum[part], &gram, s->budget.sums_mu, most, FARO_MOVED_SUM)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "epsilon leaves the sums too little for people who change part (mu %.3g)",
                   s->budget.sums_mu);
}

/* Published trees have a leaf per person. Ours have T^(2/3): fewer levels mean less noise, and
 * T^(1/3) people are few compared with those that a first estimate needs. */
static uint64_t choose_batch(const faro_study *s) {
  if (is_batch(s->kind)) return s->params.people;
  const bool tight = is_private(s->kind) && s->params.calibration == FARO_CALIBRATION_TIGHT;
  if (!tight) return 1;
  const uint64_t root = (uint64_t)cbrt((double)s->params.people);
  return (root + 1) * (root + 1) * (root + 1) <= s->params.people ? root + 1 : root; /* cbrt may round down */
}

static faro_status build(faro_study *s, faro_error *error) {
  if (s->params.batch == 0) s->params.batch = choose_batch(s);
  faro_status status = faro_contribution_ball(&s->features, s->params.dimension, 1, error);
  if (status == FARO_OK && s->params.dimension > FARO_DIMENSION_MAX)
    status = faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX,
                       s->params.dimension);
  if (status == FARO_OK) status = faro_budget_sums(s->kind, &s->params, &s->budget, error);
  if (status == FARO_OK) status = room(s, error);
  for (unsigned part = 0; status == FARO_OK && part < FARO_PARTS; part++) status = make_sum(s, part, error);
  return status;
}

static void add_cost(faro_study *s, faro_cost cost, double times) {
  s->cost.bytes += times * cost.bytes;
  s->cost.bits += times * cost.bits;
  s->cost.messages += times * cost.messages;
}

faro_source faro_study_source(const faro_study *study) {
  return study->sim ? faro_source_simulated(study->sim) : faro_source_none();
}

faro_status faro_study_create(faro_study **study, const faro_release_kind *kind,
                              const faro_study_params *params, faro_sim_rng *sim, faro_error *error) {
  if (!kind) return faro_fail(error, FARO_INVALID, "release is missing");
  faro_status status = validate(kind, params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_study *s = faro_arena_alloc(&arena, 1, sizeof *s, error);
  if (!s) return FARO_MEMORY;
  *s = (faro_study){.arena = arena, .kind = kind, .params = *params, .sim = sim};
  status = build(s, error);
  if (status == FARO_OK) *study = s;
  else faro_study_destroy(s);
  return status;
}

void faro_study_destroy(faro_study *study) {
  if (!study) return;
  for (unsigned part = 0; part < FARO_PARTS; part++) faro_release_destroy(study->sum[part]);
  faro_solver_destroy(study->solver);
  faro_spd_destroy(study->spd);
  faro_arena arena = study->arena;
  faro_arena_free(&arena);
}

faro_status faro_study_allow(faro_study *study, const uint64_t fits[FARO_PARTS], faro_error *error) {
  if (study->allowed) return faro_fail(error, FARO_INVALID, "fits are allowed once, before the first person");
  for (unsigned part = 0; part < FARO_PARTS; part++)
    if (fits[part] > 1000000)
      return faro_fail(error, FARO_INVALID, "fits of part %u must be at most 10^6 (got %llu)", part,
                       (unsigned long long)fits[part]);
  faro_budget_plan budget = study->budget;
  const faro_status status = faro_budget_fits(study->kind, &study->params, fits, &budget, error);
  if (status != FARO_OK) return status;
  study->budget = budget;
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    if (fits[part] == 0 || !is_private(study->kind) || study->params.calibration == FARO_CALIBRATION_FIGURE)
      continue;
    const faro_status possible = faro_study_rehearse(study, part, fits[part] - 1, NULL, NULL, error);
    if (possible != FARO_OK) return possible;
  }
  study->allowed = true;
  study->claim = faro_budget_claim(study->kind, &study->params, fits, &budget, study->sum);
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    study->fits[part] = (faro_ledger){.allowed = fits[part]};
    study->silent[part] = is_batch(study->kind) && fits[part] == 0 && fits[1 - part] > 0;
    if (!study->silent[part]) add_cost(study, faro_release_cost(study->sum[part]), 1);
  }
  return FARO_OK;
}

/* People. */

static double clip(double value, double most) {
  return value > 0 ? (value < most ? value : most) : 0;
} /* a weight that is NaN becomes 0 */

faro_rows faro_study_rows(const faro_study *study, unsigned part) {
  const size_t first = part == 0 ? 0 : study->params.people - study->count[1];
  return (faro_rows){.dimension = study->params.dimension,
                     .count = study->count[part],
                     .x = study->x + first * study->params.dimension,
                     .y = study->y + first};
}

faro_rows faro_study_asked(const faro_study *study, const faro_question *ask) {
  faro_rows rows = faro_study_rows(study, ask->whole ? 0 : ask->part);
  if (ask->whole) rows.count += study->count[1];
  return rows;
}

/* Moves the rows of part 1, which may overlap. */
static void move_rows(faro_study *s, size_t from, size_t to) {
  const size_t d = s->params.dimension;
  memmove(s->x + to * d, s->x + from * d, s->count[1] * d * sizeof *s->x);
  memmove(s->y + to, s->y + from, s->count[1] * sizeof *s->y);
}

bool faro_study_add(faro_study *study, const double *x, double y, unsigned part, double weight) {
  const size_t d = study->params.dimension;
  if (!study->sim || !study->allowed || part >= FARO_PARTS || study->people == study->params.people)
    return false;
  const size_t row = part == 0 ? study->count[0] : study->params.people - 1 - study->count[1];
  double *kept = study->x + row * d;
  faro_contribution_make(&study->features, x, 0, kept);
  study->y[row] = study->params.low + clip(y - study->params.low, study->params.reward - study->params.low);
  study->count[part]++;
  study->people++;
  const double root = sqrt(clip(weight, part == 0 ? 1 : study->params.steepest));
  for (size_t i = 0; i < d; i++) study->scratch[i] = root * kept[i];
  bool out = false;
  for (unsigned p = 0; p < FARO_PARTS; p++)
    if (!study->silent[p])
      out = faro_release_absorb(study->sum[p], p == part ? study->scratch : study->zero, 0);
  return out;
}

faro_statistics faro_study_sum(const faro_study *study, unsigned part) {
  return part < FARO_PARTS ? faro_release_statistics(study->sum[part]) : (faro_statistics){0};
}

/* gamma: the bound on the sums' noise in the published program, with kappa* = 1 / B. */
faro_noise faro_study_noise(const faro_study *study, unsigned part) {
  const faro_study_params *p = &study->params;
  if (part >= FARO_PARTS) return (faro_noise){0};
  faro_noise noise = faro_release_noise(study->sum[part]);
  if (is_private(study->kind) && p->calibration == FARO_CALIBRATION_FIGURE)
    noise.gamma =
        log(4 / p->delta) * pow(log(4 * (double)p->horizon / p->failure), 2) / p->epsilon * p->steepest;
  return noise;
}

/* Fits. */

static faro_status measure_metric(faro_study *s, const faro_region *region, faro_extent *extent,
                                  faro_error *error) {
  const size_t d = s->params.dimension;
  extent->least = 1;
  extent->trace = (double)d;
  if (!region->metric) return FARO_OK;
  double greatest = 0;
  faro_spd_extremes(s->spd, region->metric, &extent->least, &greatest);
  if (!(extent->least > 0) || !faro_spd_whiten(s->spd, region->metric, s->packed))
    return faro_fail(error, FARO_INVALID,
                     "metric of the region must be positive definite (least eigenvalue %g)", extent->least);
  extent->trace = 0;
  for (size_t i = 0; i < faro_packed(d); i++) extent->trace += s->packed[i] * s->packed[i];
  return FARO_OK;
}

static faro_status check_curvature(faro_study *s, const double *curvature, faro_error *error) {
  double least = 0;
  double greatest = 0;
  faro_spd_extremes(s->spd, curvature, &least, &greatest);
  if (least > fmax(1e-14 * greatest, 1e-150) && faro_spd_factor(s->spd, curvature)) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "curvature must be positive definite (eigenvalues %g .. %g)", least,
                   greatest);
}

double faro_study_residual(const faro_study_params *p, double reach) {
  return fmax(faro_link_mean(p->link, reach) - p->low, p->reward - faro_link_mean(p->link, -reach));
}

faro_status faro_study_measure(faro_study *study, const faro_question *ask, faro_extent *extent,
                               faro_error *error) {
  const size_t d = study->params.dimension;
  if (!(ask->ridge >= 0 && ask->ridge < INFINITY))
    return faro_fail(error, FARO_INVALID, "ridge must not be negative (got %g)", ask->ridge);
  faro_status status = positive(ask->region.radius, "radius of the region", error);
  if (status == FARO_OK) status = measure_metric(study, &ask->region, extent, error);
  if (status != FARO_OK) return status;
  double square = 0;
  for (size_t i = 0; ask->region.centre && i < d; i++)
    square += ask->region.centre[i] * ask->region.centre[i];
  extent->radius = ask->region.radius / sqrt(extent->least);
  extent->reach = sqrt(square) + extent->radius;
  extent->residual = faro_study_residual(&study->params, extent->reach);
  if (!isfinite(extent->residual))
    return faro_fail(error, FARO_INVALID,
                     "region reaches too far, to <x, theta> = %g, for the means to be bounded",
                     extent->reach);
  return ask->curvature ? check_curvature(study, ask->curvature, error) : FARO_OK;
}

/* Without privacy, or before there is data. The tolerance is the solver's. */
static void exact(faro_study *s, const faro_question *ask, faro_answer *answer) {
  const size_t d = s->params.dimension;
  const faro_rows rows = faro_study_asked(s, ask);
  if (rows.count == 0)
    faro_solver_nearest(s->solver, NULL, &ask->region, s->zero, s->theta); /* only the ridge */
  else {
    memcpy(s->theta, ask->start, d * sizeof *s->theta);
    faro_solver_nearest(s->solver, NULL, &ask->region, s->theta, s->theta);
    (void)faro_solver_minimise(s->solver, s->params.link, &rows, ask->ridge, &ask->region, s->theta);
  }
  memcpy(answer->theta, s->theta, d * sizeof *s->theta);
  if (answer->gradient) memset(answer->gradient, 0, d * sizeof *answer->gradient);
  answer->bound = answer->noise = 0;
  answer->steps = 0;
}

/* Checks that come before all others. */
static faro_status check_ask(const faro_study *s, const faro_question *ask, faro_error *error) {
  if (!s->sim)
    return faro_fail(error, FARO_INVALID,
                     "this study was created without a stream: it only answers questions");
  if (!s->allowed) return faro_fail(error, FARO_INVALID, "fits must be allowed before the first one");
  if (ask->part >= FARO_PARTS)
    return faro_fail(error, FARO_INVALID, "part must be below %d (got %u)", FARO_PARTS, ask->part);
  if (ask->whole && is_private(s->kind) && s->params.calibration != FARO_CALIBRATION_FIGURE)
    return faro_fail(error, FARO_INVALID,
                     "a private fit must be to one part, except under calibration figure");
  return FARO_OK;
}

/* A fit that is allowed and possible. */
static faro_status fit(faro_study *s, const faro_question *ask, const faro_extent *extent,
                       faro_answer *answer, faro_error *error) {
  if (!is_private(s->kind) || s->people == 0) {
    FARO_MUST(faro_ledger_charge(&s->fits[ask->part], NULL));
    exact(s, ask, answer);
    return FARO_OK;
  }
  if (s->params.calibration == FARO_CALIBRATION_FIGURE) return faro_study_publish(s, ask, answer, error);
  return faro_study_descend(s, ask, extent, answer, error);
}

faro_status faro_study_fit(faro_study *study, const faro_question *ask, faro_answer *answer,
                           faro_error *error) {
  faro_status status = check_ask(study, ask, error);
  if (status != FARO_OK) return status;
  const faro_ledger *ledger = &study->fits[ask->part];
  if (ledger->charged >= ledger->allowed)
    return faro_fail(error, FARO_INVALID, "fits of part %u are used up (%llu allowed)", ask->part,
                     (unsigned long long)ledger->allowed);
  faro_extent extent = {0};
  status = faro_study_measure(study, ask, &extent, error);
  if (status != FARO_OK) return status;
  const size_t end = study->params.people - study->count[1];
  if (ask->whole) move_rows(study, end, study->count[0]);
  status = fit(study, ask, &extent, answer, error);
  if (ask->whole) move_rows(study, study->count[0], end);
  return status;
}

faro_status faro_study_predict(const faro_study *study, unsigned part, double *noise, faro_error *error) {
  *noise = 0;
  if (!study->allowed || part >= FARO_PARTS || study->fits[part].allowed == 0)
    return faro_fail(error, FARO_INVALID, "a fit of part %u must be allowed before its noise is predicted",
                     part);
  if (!is_private(study->kind) || study->params.calibration == FARO_CALIBRATION_FIGURE) return FARO_OK;
  return faro_study_rehearse(study, part, 0, noise, NULL, error);
}

uint64_t faro_study_left(const faro_study *study, unsigned part) {
  return part < FARO_PARTS ? study->fits[part].allowed - study->fits[part].charged : 0;
}

const faro_claim *faro_study_claim(const faro_study *study) { return &study->claim; }
faro_cost faro_study_cost(const faro_study *study) { return study->cost; }
uint64_t faro_study_batch(const faro_study *study) { return study->params.batch; }
