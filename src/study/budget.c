/* budget: how epsilon and delta are shared out among sums and fits, and what that proves.
 *
 * Gaussian mechanisms (all but shuffle-bits under `paper`). Every release costs a person a Gaussian mechanism mu (bits:
 * one that dominates them, and a slack in delta), mu^2 adds, and adaptively so. With mu_s for a part's sums and mu_f for
 * all its fits:
 *
 *   who stays in a part moves its sum by the whole sensitivity, likewise its fits, and the other part by nothing:
 *                              mu_s^2 + mu_f^2
 *   who changes part goes from z to zero in one and from zero to z in the other. |vech(x x')| <= L^2 against a
 *   sensitivity of sqrt(2) L^2, and a gradient moves by R against 2 R:
 *                              2 mu_s^2 / 2 + 2 mu_f^2 / 4
 *
 * so staying is the worst, both parts have the whole of it, and mu_s^2 + mu_f^2 = mu(epsilon, delta)^2 is all there is to
 * share. A grid makes the second case a little worse, which is checked for each release (faro_budget_keeps).
 *
 *   tight    a third of mu^2 for sums, two for fits, of which the first have most
 *   paper    the GLM preprint (docs/references.md), section 6.3: thirds of epsilon and delta for sums,
 *            switches and fits, each turned into rho; the third of the switches is not spent here,
 *            because whatever decides on them is published sums
 *   figure   as the published program, see published.c
 *
 * shuffle-bits under `paper`: epsilon and delta by halves, for the sum and the fits, and advanced composition over the
 * steps (the preprint's Alg. 7). With shuffle-bits only one part speaks, so that nobody changes it:
 * the other's sum is not published, and a person of the other part adds zero to all, within the
 * sensitivity. */
#include "study/budget.h"

#include <math.h>

static const double SUMS_SHARE = 1.0 / 3; /* of mu^2 */
static const double INSIDE = 1 - 1e-9;    /* more than all rounding of the accountant */
static const double BITS_SLACK =
    1.0 / 1999; /* what bit sums lose of their delta, at most: 1/2000 (privacy/bits.c), and rounding */

double faro_budget_rho(faro_spend spend) {
  const double log_delta = log(1 / spend.delta);
  const double root = spend.epsilon / (sqrt(log_delta + spend.epsilon) + sqrt(log_delta));
  return root * root;
}

faro_status faro_budget_spend(double mu, double delta, faro_spend *spend, faro_error *error) {
  double epsilon = 0;
  for (; delta >= 1e-15; delta /= 10) { /* a smaller delta asks for a larger epsilon, at the same mu */
    epsilon = faro_gaussian_epsilon(mu * INSIDE, delta);
    if (epsilon >= 1e-4) break;
  }
  if (!(epsilon >= 1e-4 && epsilon <= 1000))
    return faro_fail(
        error, FARO_INVALID,
        "epsilon leaves a release of the study too little or too much (mu %.3g): change epsilon, or allow "
        "fewer fits",
        mu);
  *spend = (faro_spend){epsilon, delta};
  return FARO_OK;
}

static bool shuffled(const faro_release_kind *kind) { return kind->trust == FARO_TRUST_SHUFFLE; }

/* Two sums with delta / 2 each, and fits with delta together. */
static double slack_of(const faro_release_kind *kind, double delta) {
  return shuffled(kind) ? 2 * BITS_SLACK * delta : 0;
}

/* Bit sums need delta for their slack; it has no other meaning where mu is what counts. */
static double delta_of(const faro_release_kind *kind, double share) { return shuffled(kind) ? share : 1e-9; }

/* The published program: nodes with s = sensitivity sqrt(levels / (2 rho)) on the diagonal and s / sqrt(2) beside it, for
 * sensitivities of 1 and B. The tree's own figure calibration has the same pattern; epsilon is chosen for this s. */
static void sums_of_figure(const faro_study_params *p, faro_budget_plan *plan) {
  const double rho = faro_budget_rho((faro_spend){p->epsilon / 3, p->delta / 3});
  const double levels = fmax(1, ceil(log2((double)p->horizon)));
  const double s = sqrt(levels / (2 * rho));
  const double published = sqrt(log((double)p->people)) * log(2.5 / p->delta);
  plan->fits_mu = sqrt(2 * rho);
  plan->sums_calibration = FARO_CALIBRATION_FIGURE;
  plan->sums[0] = (faro_spend){published / s, p->delta};
  plan->sums[1] = (faro_spend){published / (s * p->steepest), p->delta};
}

faro_status faro_budget_sums(const faro_release_kind *kind, const faro_study_params *params,
                             faro_budget_plan *plan, faro_error *error) {
  const double epsilon = params->epsilon;
  const double delta = params->delta;
  *plan = (faro_budget_plan){.gaussian = true, .sums_calibration = FARO_CALIBRATION_TIGHT};
  if (kind->trust == FARO_TRUST_NONE) return FARO_OK;
  if (params->calibration == FARO_CALIBRATION_FIGURE) {
    sums_of_figure(params, plan);
    return FARO_OK;
  }
  if (params->calibration == FARO_CALIBRATION_PAPER && shuffled(kind)) {
    plan->gaussian = false;
    plan->sums_calibration = FARO_CALIBRATION_PAPER;
    plan->sums[0] = plan->sums[1] = (faro_spend){epsilon / 2, delta / 2};
    return FARO_OK;
  }
  if (params->calibration == FARO_CALIBRATION_PAPER)
    plan->sums_mu = plan->fits_mu = sqrt(2 * faro_budget_rho((faro_spend){epsilon / 3, delta / 3}));
  else {
    const double mu = INSIDE * faro_gaussian_mu(epsilon, delta - slack_of(kind, delta));
    plan->sums_mu = mu * sqrt(SUMS_SHARE);
    plan->fits_mu = mu * sqrt(1 - SUMS_SHARE);
  }
  const faro_status status =
      faro_budget_spend(plan->sums_mu, delta_of(kind, delta / 2), &plan->sums[0], error);
  plan->sums[1] = plan->sums[0];
  return status;
}

/* What bit sums cost is dominated by a Gaussian fixed in advance; who changes part would choose it on the way. */
static faro_status one_part(const uint64_t fits[static FARO_PARTS], faro_error *error) {
  if (fits[0] == 0 || fits[1] == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "fits must be of one part alone for shuffle-bits (got %llu and %llu)",
                   (unsigned long long)fits[0], (unsigned long long)fits[1]);
}

/* mu^2 of fits falls by RATIO from one to the next: n_k people of the k-th fit let its error in theta be noise / n_k, and the
 * regret until the next about n_k times its square. So sum noise_k^2 / n_k is to be small, while sum 1 / noise_k^2 is
 * given: 1 / noise_k^2 goes as n_k^(-1/2), and the n_k double. The first fits, whose data is small, have most, and a longer
 * horizon takes next to nothing from them. After FALLS fits all are alike: whoever allows hundreds does not double. */
static const double RATIO = 0.70710678118654752; /* sqrt(1/2) */
static const double FALLS = 12;

static double weight_of(const faro_budget_plan *plan, double index) {
  return pow(plan->ratio, fmin(index, FALLS));
}

static double share_of(const faro_budget_plan *plan, unsigned part, uint64_t index) {
  const double count = plan->fits[part];
  double sum = fmax(0, count - FALLS) * weight_of(plan, FALLS);
  for (double k = 0; k < fmin(count, FALLS); k++) sum += weight_of(plan, k);
  return weight_of(plan, (double)index) / sum;
}

faro_status faro_budget_fit(const faro_release_kind *kind, const faro_study_params *params,
                            const faro_budget_plan *plan, unsigned part, uint64_t index, faro_fit_budget *fit,
                            faro_error *error) {
  if (!plan->gaussian) {
    const double half = 2 * plan->fits[part];
    *fit = (faro_fit_budget){.spend = {params->epsilon / half, params->delta / half}};
    return FARO_OK;
  }
  const double delta = params->delta / (plan->fits[0] + plan->fits[1]);
  fit->mu = plan->fits_mu * sqrt(share_of(plan, part, index));
  return faro_budget_spend(fit->mu, delta_of(kind, delta), &fit->spend, error);
}

/* The last fit of a part has least: what it can do, all can. */
faro_status faro_budget_fits(const faro_release_kind *kind, const faro_study_params *params,
                             const uint64_t fits[static FARO_PARTS], faro_budget_plan *plan,
                             faro_error *error) {
  if (kind->trust == FARO_TRUST_NONE) return FARO_OK;
  faro_status status = shuffled(kind) ? one_part(fits, error) : FARO_OK;
  plan->ratio = params->calibration == FARO_CALIBRATION_TIGHT ? RATIO : 1;
  for (unsigned part = 0; part < FARO_PARTS; part++) plan->fits[part] = (double)fits[part];
  for (unsigned part = 0; status == FARO_OK && part < FARO_PARTS; part++) {
    faro_fit_budget last;
    if (fits[part] > 0) status = faro_budget_fit(kind, params, plan, part, fits[part] - 1, &last, error);
  }
  return status;
}

bool faro_budget_keeps(const faro_release *release, const faro_contribution *contribution, double mu,
                       double move, double most) {
  double stays = 0;
  double moves = 0;
  double slack = 0;
  double moved_slack = 0;
  return faro_release_gaussian(release, contribution->sensitivity, &stays, &slack) && stays <= mu &&
         faro_release_gaussian(release, move, &moves, &moved_slack) && moves <= most * mu &&
         fmax(slack, moved_slack) <= BITS_SLACK * faro_release_claim(release)->delta;
}

bool faro_budget_takes(faro_spend spend) {
  return spend.epsilon >= 1e-4 && spend.epsilon <= 1000 && spend.delta >= 1e-15;
}

/* The GLM preprint, Alg. 7. */
faro_spend faro_budget_step(faro_spend fit, uint64_t steps) {
  const double n = (double)steps;
  return (faro_spend){fit.epsilon / (2 * sqrt(2 * n * log(2 / fit.delta))), fit.delta / (2 * n)};
}

/* Whatever the number of steps will be. */
static bool steps_compose(faro_spend fit) {
  for (uint64_t steps = 1; steps <= FARO_STEPS_MAX; steps++) {
    const faro_spend step = faro_budget_step(fit, steps);
    /* The range of Li, Zhou & Ji 2022, Theorem A.2. */
    if (step.epsilon >= 15 || step.delta >= 0.5) return false;
    if (!(faro_advanced_epsilon(step.epsilon, (double)steps, fit.delta / 2) <= fit.epsilon)) return false;
  }
  return true;
}

static faro_claim claim_of_parts(const faro_release_kind *kind, const faro_study_params *p,
                                 const uint64_t fits[static FARO_PARTS], const faro_budget_plan *plan,
                                 faro_release *const sum[static FARO_PARTS]) {
  bool proven = true;
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    proven = proven && faro_release_claim(sum[part])->proven;
    faro_fit_budget fit;
    if (fits[part] > 0)
      proven = proven && faro_budget_fit(kind, p, plan, part, 0, &fit, NULL) == FARO_OK &&
               steps_compose(fit.spend);
  }
  return faro_claim_make(p->epsilon, p->delta, FARO_TRUST_SHUFFLE, proven,
                         "half for the sum (%.40s), half for fits: Li, Zhou & Ji 2022, Theorem A.2, composed "
                         "by Alg. 7 of the GLM preprint%s",
                         faro_release_claim(sum[0])->by, proven ? "" : "; outside the range of one of them");
}

/* The greater of staying and moving, from what the releases say; the fits keep to their budget, which is checked as they
 * are made. */
static double total_mu(const uint64_t fits[static FARO_PARTS], const faro_budget_plan *plan) {
  const double sums = plan->sums_mu * plan->sums_mu;
  const double all = plan->fits_mu * plan->fits_mu;
  const double moved = FARO_MOVED_FIT * FARO_MOVED_FIT * all;
  const double stays = sums + (fits[0] > 0 || fits[1] > 0 ? all : 0);
  const double moves =
      2 * FARO_MOVED_SUM * FARO_MOVED_SUM * sums + (fits[0] > 0 ? moved : 0) + (fits[1] > 0 ? moved : 0);
  return sqrt(fmax(stays, moves));
}

faro_claim faro_budget_claim(const faro_release_kind *kind, const faro_study_params *p,
                             const uint64_t fits[static FARO_PARTS], const faro_budget_plan *plan,
                             faro_release *const sum[static FARO_PARTS]) {
  const faro_trust trust = kind->trust;
  if (trust == FARO_TRUST_NONE) return faro_claim_none();
  if (p->calibration == FARO_CALIBRATION_FIGURE)
    return faro_claim_make(
        p->epsilon, p->delta, trust, false,
        "the published program: tree noise for sensitivity 1 (it is sqrt 2), gradient noise for clip "
        "(it is 2 clip), epochs taken for subsampling, sizes of parts used; no theorem");
  if (!plan->gaussian) return claim_of_parts(kind, p, fits, plan, sum);
  const double epsilon = faro_gaussian_epsilon(total_mu(fits, plan), p->delta - slack_of(kind, p->delta));
  if (p->calibration == FARO_CALIBRATION_PAPER)
    return faro_claim_make(
        p->epsilon, p->delta, trust, epsilon <= p->epsilon,
        "zCDP: a third for sums, one for fits, that of switches is not spent; the exact Gaussian "
        "mechanism gives epsilon %.3g",
        epsilon);
  return faro_claim_make(
      p->epsilon, p->delta, trust, epsilon <= p->epsilon,
      "Gaussian mechanisms together: sums mu %.4g, a part's fits %.4g%s; people may change part",
      plan->sums_mu, plan->fits_mu, shuffled(kind) ? ", bits dominated by them" : "");
}
