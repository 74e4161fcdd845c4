/* descend: a fit by projected gradient descent, in which each gradient is a sum through a release.
 * See docs/privacy.md, Studies.
 *
 *   theta_{k+1} = nearest point of the region, in the norm of P, to theta_k - eta P^-1 g_k
 *   g_k = (released sum of gradients at theta_k) + ridge theta_k = grad L(theta_k) + xi_k
 *
 * The answer is the mean of m of the points at which a gradient was measured. Its bound is a
 * certificate that holds however the points came about. L is convex, so for every u of the region
 * with centre c,
 *
 *   L(mean) - L(u) <= 1/m sum_k <grad L(theta_k), theta_k - u>
 *                   = 1/m sum_k <g_k, theta_k - u>
 *                     - 1/m sum_k <xi_k, theta_k - c> + 1/m <sum_k xi_k, u - c>
 *
 * The maximum of the first sum over u is known: sum <g_k, theta_k> + max <-sum g_k, u>. The second
 * sum is a martingale: theta_k is known before xi_k is drawn, whose entries are independent and
 * sub-Gaussian of scale sigma. With ||theta_k - c|| <= rho = r / sqrt(lambda_min(M)) it exceeds
 * sigma rho sqrt(2 m ln(2/zeta)) with probability at most zeta / 2 (Azuma). The third is at most r
 * ||sum xi_k|| in the norm of M^-1, and sum xi_k is sub-Gaussian of scale sigma sqrt(m): with
 * probability 1 - zeta / 2 (Hsu, Kakade & Zhang 2012, Theorem 1, where tr(M^-2) <= tr(M^-1) /
 * lambda_min(M))
 *
 *   ||sum xi_k||_{M^-1} <= sigma sqrt(m) ( sqrt(tr M^-1) + sqrt(2 ln(2/zeta) / lambda_min(M)) ).
 *
 *   M, r   metric and radius of the region
 *   G      the greatest |mu - y|; no gradient is longer
 *   N      steps
 *
 * Privacy: a person is in all N sums of a fit, with zero for the other part, so every batch is
 * everybody so far. */
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "glm/loss.h"
#include "release/columns.h"
#include "study/state.h"

/* The plan of a fit. */
typedef struct course {
  uint64_t steps, window; /* N, and the last m of them */
  bool scaled;            /* P is the curvature; else the identity */
  double eta;
} course;

/* Our own plan. The steps share mu, so the noise of the mean is only sqrt(N / m) = sqrt(4/3) times
 * that of one sum: steps cost time and messages, not privacy. The first quarter is for coming near,
 * from anywhere in the region, if P is up to LOOSE times the curvature. A step shrinks the distance
 * by 1 - 1 / LOOSE, and the squared distance must go from
 *
 *   r^2 lambda_max(P)    down to    sigma^2 tr(P^-1),    sigma = 2 G / mu,
 *
 * the noise that remains. Without a curvature, P is the steepest possible and LOOSE is a guess.
 * If people answer, bits are expensive: noise bits grow with N, so all bits grow with its
 * square. */
enum { LEAST_STEPS = 8, MOST_STEPS = 400, MOST_SENT = 16 };
static const double LOOSE = 4;
static const double LOOSE_PLAIN = 16;

static uint64_t enough(double far, double near, double loose, double most) {
  const double quarter = log(fmax(far / near, 1)) / (-2 * log1p(-1 / loose));
  return (uint64_t)fmin(most, fmax(LEAST_STEPS, 4 * ceil(quarter)));
}

/* Whether people answer every step themselves; a trusted server has their data. */
static bool people_answer(const faro_study *s) { return s->kind->trust != FARO_TRUST_JOINT; }

/* Where epsilon is divided among steps, the noise of the mean grows with the root of their number,
 * so there is one: the answer is the start and the gradient there, which says as much about
 * theta. */
static uint64_t most_steps(const faro_study *s) {
  return !s->budget.gaussian ? 1 : people_answer(s) ? MOST_SENT : MOST_STEPS;
}

static course tight_course(faro_study *s, const faro_question *ask, const faro_extent *extent, double mu) {
  const size_t d = s->params.dimension;
  const double sigma = mu > 0 ? 2 * extent->residual / mu : INFINITY;
  const double steepest = faro_link_steepest(s->params.link, extent->reach) * (double)s->people + ask->ridge;
  double least = 0;
  double greatest = steepest;
  double trace = (double)d / steepest;
  if (ask->curvature) {
    faro_spd_extremes(s->spd, ask->curvature, &least, &greatest);
    FARO_INVARIANT(faro_spd_whiten(s->spd, ask->curvature, s->packed));
    trace = 0;
    for (size_t i = 0; i < faro_packed(d); i++) trace += s->packed[i] * s->packed[i];
    FARO_INVARIANT(faro_spd_factor(s->spd, ask->curvature));
  }
  const uint64_t steps = enough(extent->radius * extent->radius * greatest, sigma * sigma * trace,
                                ask->curvature ? LOOSE : LOOSE_PLAIN, (double)most_steps(s));
  return (course){.steps = steps,
                  .window = steps - steps / 4,
                  .scaled = ask->curvature != NULL,
                  .eta = ask->curvature ? 1 : 1 / steepest};
}

/* Sarmasarkar 2026, Lemma U.4: N = n^2 rho / (2 (d + ln(1/zeta))), eta = D / (L sqrt(N)) on the
 * mean gradient; the answer is the mean of all points. DEVIATION: N is at most 1000. Beyond that a
 * fit only takes longer, and a step would have almost nothing to spend. */
static course paper_course(const faro_study *s, const faro_extent *extent, const faro_fit_budget *fit,
                           double n) {
  const double rho = s->budget.gaussian ? fit->mu * fit->mu / 2 : faro_budget_rho(fit->spend);
  const double wanted = n * n * rho / (2 * ((double)s->params.dimension + log(1 / s->params.failure)));
  double steps = floor(fmax(1, fmin(wanted, FARO_STEPS_MAX)));
  while (!s->budget.gaussian && steps > 1 &&
         !faro_budget_takes(faro_budget_step(fit->spend, (uint64_t)steps)))
    steps = floor(steps / 2);
  return (course){.steps = (uint64_t)steps,
                  .window = (uint64_t)steps,
                  .eta = 2 * extent->radius / (extent->residual * sqrt(steps)) / n};
}

/* One batch of everybody per step. All N steps are one mechanism on people who return N times. With
 * shuffle-bits' own theorems each step is a mechanism by itself. */
static faro_status make_release(const faro_study *s, double residual, const faro_fit_budget *fit,
                                uint64_t people, uint64_t steps, faro_release **release, faro_error *error) {
  faro_contribution ball;
  const faro_release_kind *kind = s->kind->phases ? s->kind : &faro_release_central;
  const bool whole = !s->budget.by_step;
  const faro_spend spend = whole ? fit->spend : faro_budget_step(fit->spend, steps);
  faro_status status = faro_contribution_ball(&ball, s->params.dimension, residual, error);
  if (status != FARO_OK) return status;
  /* 5 % more noise */
  const double grid = s->budget.gaussian ? ceil(20 * sqrt((double)s->params.dimension)) : 0;
  const faro_release_params params = {.epsilon = spend.epsilon,
                                      .delta = spend.delta,
                                      .horizon = steps * people,
                                      .batch = people,
                                      .grid = (uint64_t)grid,
                                      .honest = s->params.honest,
                                      .level = whole ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                      .contributions = whole ? steps : 1,
                                      .calibration = whole ? FARO_CALIBRATION_TIGHT : FARO_CALIBRATION_PAPER};
  status = faro_release_create(release, kind, &ball, &params, faro_study_source(s), error);
  if (status != FARO_OK || s->budget.by_step) return status;
  const faro_claim *claim = faro_release_claim(*release);
  if (s->budget.gaussian ? faro_budget_keeps(*release, &ball, fit->mu, ball.norm, FARO_MOVED_FIT)
                         : claim->proven && claim->epsilon <= spend.epsilon && claim->delta <= spend.delta)
    return FARO_OK;
  faro_release_destroy(*release); /* a grid of one step hides nothing about people who change part */
  *release = NULL;
  return faro_fail(error, FARO_INVALID,
                   "epsilon leaves a fit too little for people who change part (mu %.3g)", fit->mu);
}

/* People of the other part add zero. To a trusted server's sum they do so all at once; bits round
 * the zero of each. */
static bool absorb_others(const faro_study *s, uint64_t people, faro_release *release) {
  if (!s->kind->phases && people > 0) return faro_release_absorb_alike(release, s->zero, 0, people);
  bool out = false;
  for (uint64_t i = 0; i < people; i++) out = faro_release_absorb(release, s->zero, 0);
  return out;
}

/* The released sum of everybody's gradients at theta: the published running sum less the one
 * before. */
static void measure_gradient(faro_study *s, unsigned part, faro_release *release) {
  const size_t d = s->params.dimension;
  const faro_rows rows = faro_study_rows(s, part);
  bool out = false;
  for (size_t i = 0; i < rows.count; i += FARO_GLM_BLOCK) {
    const size_t count = rows.count - i < FARO_GLM_BLOCK ? rows.count - i : FARO_GLM_BLOCK;
    faro_glm_gradients(s->params.link, d, count, s->columns + i * d, rows.y + i, s->theta, s->block);
    out = faro_release_absorb_columns(release, s->block, FARO_GLM_BLOCK, count);
  }
  out |= absorb_others(s, s->people - rows.count, release);
  FARO_INVARIANT(out);
  const double *sum = faro_release_statistics(release).sum;
  for (size_t j = 0; j < d; j++) {
    s->gradient[j] = sum[j] - s->seen[j];
    s->seen[j] = sum[j];
  }
}

static void step(faro_study *s, const faro_question *ask, const course *c) {
  const size_t d = s->params.dimension;
  const double *metric = c->scaled ? ask->curvature : NULL;
  memcpy(s->direction, s->gradient, d * sizeof *s->direction);
  if (c->scaled) faro_spd_solve(s->spd, s->direction, s->direction);
  for (size_t j = 0; j < d; j++) s->theta[j] -= c->eta * s->direction[j];
  faro_solver_nearest(s->solver, metric, &ask->region, s->theta, s->theta);
}

/* Takes all steps. mean: of the window's points; total: of its g. Returns the sum of its <g,
 * theta>. */
static double walk(faro_study *s, const faro_question *ask, const course *c, faro_release *release) {
  const size_t d = s->params.dimension;
  const faro_rows rows = faro_study_rows(s, ask->part);
  double inner = 0;
  faro_glm_columns(&rows, s->columns);
  memset(s->seen, 0, d * sizeof *s->seen);
  memset(s->mean, 0, d * sizeof *s->mean);
  memset(s->total, 0, d * sizeof *s->total);
  faro_solver_nearest(s->solver, NULL, &ask->region, ask->start, s->theta);
  for (uint64_t k = 0; k < c->steps; k++) {
    measure_gradient(s, ask->part, release);
    for (size_t j = 0; j < d; j++) {
      s->gradient[j] += ask->ridge * s->theta[j];
      if (k + c->window < c->steps) continue;
      inner += s->gradient[j] * s->theta[j];
      s->total[j] += s->gradient[j];
      s->mean[j] += s->theta[j] / (double)c->window;
    }
    if (k + 1 < c->steps) step(s, ask, c);
  }
  return inner;
}

/* The noise in one step's sum, per entry. */
static double noise_of(const faro_release *release, const course *c) {
  const double *scale = faro_release_noise(release).scale;
  return scale ? *scale / sqrt((double)c->steps) : 0;
}

static double certify(faro_study *s, const faro_question *ask, const faro_extent *extent, const course *c,
                      double inner, double sigma) {
  const double m = (double)c->window;
  const double log_failure = log(2 / s->params.failure);
  for (size_t j = 0; j < s->params.dimension; j++) s->direction[j] = -s->total[j];
  const double gap = (inner + faro_solver_support(s->solver, &ask->region, s->direction)) / m;
  const double points = extent->radius * sqrt(2 * log_failure);
  const double whole = ask->region.radius * (sqrt(extent->trace) + sqrt(2 * log_failure / extent->least));
  return fmax(0, gap + sigma / sqrt(m) * (points + whole));
}

/* Standard deviation over sub-Gaussian scale. */
static double ratio_of(const faro_release *release) {
  const double ratio = faro_release_noise(release).ratio;
  return ratio > 0 ? ratio : 1;
}

/* Tries a fit with everybody. Where a study is one batch, that is the only fit there is. */
faro_status faro_study_rehearse(const faro_study *study, unsigned part, uint64_t index, double *noise,
                                char **grounds, faro_error *error) {
  faro_fit_budget fit;
  faro_release *release = NULL;
  const faro_study_params *p = &study->params;
  faro_status status = faro_budget_fit(study->kind, p, &study->budget, part, index, &fit, error);
  if (status != FARO_OK) return status;
  const faro_extent extent = {.radius = p->norm, .residual = faro_study_residual(p, p->norm)};
  const bool paper = p->calibration == FARO_CALIBRATION_PAPER;
  const uint64_t steps =
      paper ? paper_course(study, &extent, &fit, (double)p->people).steps : most_steps(study);
  status = make_release(study, extent.residual, &fit, p->people, steps, &release, error);
  if (status != FARO_OK) return status;
  if (grounds) *grounds = faro_release_grounds(release);
  if (noise) {
    const course c = {.steps = steps, .window = paper ? steps : steps - steps / 4};
    *noise = ratio_of(release) * noise_of(release, &c) / sqrt((double)c.window);
  }
  faro_release_destroy(release);
  return FARO_OK;
}

faro_status faro_study_descend(faro_study *study, const faro_question *ask, const faro_extent *extent,
                               faro_answer *answer, faro_error *error) {
  const bool paper = study->params.calibration == FARO_CALIBRATION_PAPER;
  faro_ledger *ledger = &study->fits[ask->part];
  faro_fit_budget fit;
  faro_status status =
      faro_budget_fit(study->kind, &study->params, &study->budget, ask->part, ledger->charged, &fit, error);
  if (status != FARO_OK) return status;
  const course c = paper ? paper_course(study, extent, &fit, (double)study->people)
                         : tight_course(study, ask, extent, fit.mu);
  faro_release *release = NULL;
  status = make_release(study, extent->residual, &fit, study->people, c.steps, &release, error);
  if (status != FARO_OK) return status;
  FARO_MUST(faro_ledger_charge(ledger, NULL));
  const double sigma = noise_of(release, &c);
  const double inner = walk(study, ask, &c, release);
  const faro_cost cost = faro_release_cost(release);
  const double ratio = ratio_of(release);
  const bool known = faro_release_noise(release).laplace == 0; /* the certificate needs sub-Gaussian noise */
  if (people_answer(study)) {
    study->cost.bytes += (double)c.steps * cost.bytes;
    study->cost.bits += (double)c.steps * cost.bits;
    study->cost.messages += (double)c.steps * cost.messages;
  }
  faro_release_destroy(release);
  answer->bound = known ? certify(study, ask, extent, &c, inner, sigma) : INFINITY;
  memcpy(answer->theta, study->mean, study->params.dimension * sizeof *answer->theta);
  for (size_t j = 0; answer->gradient && j < study->params.dimension; j++)
    answer->gradient[j] = study->total[j] / (double)c.window;
  answer->noise = ratio * sigma / sqrt((double)c.window);
  answer->steps = c.steps;
  return FARO_OK;
}
