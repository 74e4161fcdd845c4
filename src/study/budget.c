/* budget: how epsilon and delta are divided among sums and fits, and what that proves. The proof is
 * in docs/privacy.md, Lemmas S1 and S2.
 *
 * Gaussian mechanisms (all but shuffle-bits under `paper`). To a person, every release costs a
 * Gaussian mechanism mu (bits: one that dominates them, and a slack in delta). mu^2 adds, even
 * adaptively. With mu_s for the sums of a part and mu_f for all its fits:
 *
 *   A person who stays in a part moves its sum by the whole sensitivity, likewise its fits, and the
 *   other part not at all:
 *                              mu_s^2 + mu_f^2
 *   A person who changes part goes from z to zero in one and from zero to z in the other.
 *   |vech(x x')| <= L^2 against a sensitivity of sqrt(2) L^2; a gradient moves by R against 2 R:
 *                              2 mu_s^2 / 2 + 2 mu_f^2 / 4
 *
 * So staying is the worst case, each part gets all of it, and mu_s^2 + mu_f^2 = mu(epsilon,
 * delta)^2 is what can be divided. A grid makes the second case a little worse, which is checked
 * for each release (faro_budget_keeps).
 *
 *   tight    a third of mu^2 for sums, two thirds for fits, the first of which get most
 *   paper    Sarmasarkar 2026, section 6.3: thirds of epsilon and delta for sums, switches and
 *            fits, each converted to rho. The third for switches is not spent here, because
 *            switches depend on published sums only
 *   figure   as the published program, see published.c
 *
 * shuffle-bits under `paper`: epsilon and delta are halved for the sum and the fits, with advanced
 * composition over the steps (Sarmasarkar 2026, Alg. 7).
 *
 * All others under `tight` (central-bits, local, Laplace noise, amplified messages): halved too. A
 * fit is one step.
 *
 * Where a study is one batch, only one part publishes, so that nobody changes part. The other
 * part's sum is not published, and a person of the other part adds zero everywhere, within the
 * sensitivity. */
#include "study/budget.h"

#include <math.h>

#include "base/text.h"

static const double SUMS_SHARE = 1.0 / 3; /* share of mu^2 for sums */
static const double INSIDE = 1 - 1e-9;    /* a larger margin than all rounding in the accountant */
/* what bit sums lose of their delta, at most: 1/2000 (privacy/bits.c), and rounding */
static const double BITS_SLACK = 1.0 / 1999;

double faro_budget_rho(faro_spend spend) {
  const double log_delta = log(1 / spend.delta);
  const double root = spend.epsilon / (sqrt(log_delta + spend.epsilon) + sqrt(log_delta));
  return root * root;
}

faro_status faro_budget_spend(double mu, double delta, faro_spend *spend, faro_error *error) {
  double epsilon = 0;
  for (; delta >= 1e-15; delta /= 10) { /* at the same mu, a smaller delta means a larger epsilon */
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

static bool is_bits(const faro_release_kind *kind) {
  return kind == &faro_release_shuffle_bits || kind == &faro_release_local_bits;
}

bool faro_budget_gaussian(const faro_release_kind *kind) {
  return is_bits(kind) || kind == &faro_release_central || kind == &faro_release_central_tree ||
         kind == &faro_release_central_factored;
}

/* Two sums with delta / 2 each, and fits with delta in total. */
static double slack_of(const faro_release_kind *kind, double delta) {
  return is_bits(kind) ? 2 * BITS_SLACK * delta : 0;
}

/* Bit sums need delta for their slack; otherwise mu decides and delta means nothing. */
static double delta_of(const faro_release_kind *kind, double share) { return is_bits(kind) ? share : 1e-9; }

/* The published program: nodes with s = sensitivity sqrt(levels / (2 rho)) on the diagonal and s /
 * sqrt(2) off it, for sensitivities of 1 and B. The tree's own figure calibration has the same
 * pattern; epsilon is chosen to give this s. */
static void sums_of_figure(const faro_study_params *p, faro_budget_plan *plan) {
  const double rho = faro_budget_rho((faro_spend){p->epsilon / 3, p->delta / 3});
  const double levels = fmax(1, ceil(log2((double)p->horizon)));
  const double s = sqrt(levels / (2 * rho));
  const double published = sqrt(log((double)p->people)) * log(2.5 / p->delta);
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
  plan->by_step = params->calibration == FARO_CALIBRATION_PAPER && is_bits(kind);
  if (plan->by_step || !faro_budget_gaussian(kind)) {
    plan->gaussian = false;
    plan->sums_calibration = params->calibration;
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

/* A third of epsilon and delta, divided by the number of fits; if there are more than ten, by
 * advanced composition, even where the plain sum is less. */
faro_spend faro_budget_published(const faro_study_params *p, double fits) {
  const double epsilon = p->epsilon / 3;
  const double delta = p->delta / 3;
  if (fits <= 10) return (faro_spend){epsilon / fits, delta / fits};
  const double root = sqrt(2 * fits * log(2 / delta));
  double low = 0;
  double high = epsilon;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    if (root * middle + fits * middle * expm1(middle) <= epsilon) low = middle;
    else high = middle;
  }
  return (faro_spend){low, delta / (2 * fits)};
}

/* The cost of bit sums is dominated by a Gaussian fixed in advance. A person who changes part would
 * choose it along the way, so only one part may have fits. */
static faro_status one_part(const faro_release_kind *kind, const uint64_t fits[static FARO_PARTS],
                            faro_error *error) {
  if (fits[0] == 0 || fits[1] == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "fits must be of one part alone for %s (got %llu and %llu)",
                   kind->name, (unsigned long long)fits[0], (unsigned long long)fits[1]);
}

/* mu^2 of fits decreases by RATIO from one to the next. With n_k people, the k-th fit has an error
 * in theta of about noise / n_k, and the regret until the next fit is about n_k times its square.
 * So sum noise_k^2 / n_k should be small while sum 1 / noise_k^2 is given: 1 / noise_k^2 is
 * proportional to n_k^(-1/2), and the n_k double. The first fits, which have little data, get most,
 * and a longer horizon takes almost nothing from them. After FALLS fits all are equal: a learner
 * that asks for hundreds of fits does not double. */
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

uint64_t faro_budget_same(const faro_budget_plan *plan, unsigned part, uint64_t index) {
  const bool rest = plan->ratio == 1 || (double)index >= FALLS;
  return rest ? (uint64_t)plan->fits[part] - index : 1;
}

/* Checks the last fit of a part, which has the least budget: if it is possible, all are. */
faro_status faro_budget_fits(const faro_release_kind *kind, const faro_study_params *params,
                             const uint64_t fits[static FARO_PARTS], faro_budget_plan *plan,
                             faro_error *error) {
  if (kind->trust == FARO_TRUST_NONE) return FARO_OK;
  faro_status status = faro_budget_one_part(kind) ? one_part(kind, fits, error) : FARO_OK;
  plan->ratio = params->calibration == FARO_CALIBRATION_TIGHT ? RATIO : 1;
  for (unsigned part = 0; part < FARO_PARTS; part++) plan->fits[part] = (double)fits[part];
  for (unsigned part = 0; status == FARO_OK && part < FARO_PARTS; part++) {
    faro_fit_budget last;
    if (fits[part] > 0 && params->calibration != FARO_CALIBRATION_FIGURE)
      status = faro_budget_fit(kind, params, plan, part, fits[part] - 1, &last, error);
  }
  return status;
}

bool faro_budget_keeps(const faro_release *release, const faro_contribution *contribution, double mu,
                       double move, double most) {
  double stays = 0;
  double moves = 0;
  double slack = 0;
  double moved_slack = 0;
  return faro_release_gaussian(release, 1, &stays, &slack) && stays <= mu &&
         faro_release_gaussian(release, move / contribution->sensitivity, &moves, &moved_slack) &&
         moves <= most * mu && fmax(slack, moved_slack) <= BITS_SLACK * faro_release_claim(release)->delta;
}

bool faro_budget_takes(faro_spend spend) {
  return spend.epsilon >= 1e-4 && spend.epsilon <= 1000 && spend.delta >= 1e-15;
}

/* Sarmasarkar 2026, Alg. 7. */
faro_spend faro_budget_step(faro_spend fit, uint64_t steps) {
  const double n = (double)steps;
  return (faro_spend){fit.epsilon / (2 * sqrt(2 * n * log(2 / fit.delta))), fit.delta / (2 * n)};
}

/* True whatever the number of steps will be. */
static bool steps_compose(faro_spend fit) {
  for (uint64_t steps = 1; steps <= FARO_STEPS_MAX; steps++) {
    const faro_spend step = faro_budget_step(fit, steps);
    /* The range of Li, Zhou & Ji 2022, Theorem A.2. */
    if (step.epsilon >= 15 || step.delta >= 0.5) return false;
    if (!(faro_advanced_epsilon(step.epsilon, (double)steps, fit.delta / 2) <= fit.epsilon)) return false;
  }
  return true;
}

/* Plain composition: releases of fits are refused unless they are proven. */
static faro_claim claim_of_halves(const faro_release_kind *kind, const faro_study_params *p,
                                  faro_release *const sum[static FARO_PARTS]) {
  const faro_claim *one = faro_release_claim(sum[1]);
  return faro_claim_make(p->epsilon, p->delta, kind->trust, one->proven,
                         "half for the sum (%s), half for one gradient, likewise", one->by);
}

static faro_claim claim_of_parts(const faro_release_kind *kind, const faro_study_params *p,
                                 const uint64_t fits[static FARO_PARTS], const faro_budget_plan *plan,
                                 faro_release *const sum[static FARO_PARTS]) {
  bool proven = true;
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    proven = proven && faro_release_claim(sum[part])->proven;
    faro_fit_budget fit = {0};
    if (fits[part] > 0)
      proven = proven && faro_budget_fit(kind, p, plan, part, 0, &fit, NULL) == FARO_OK &&
               steps_compose(fit.spend);
  }
  return faro_claim_make(p->epsilon, p->delta, FARO_TRUST_SHUFFLE, proven,
                         "half for the sum (%s), half for fits: Li, Zhou & Ji 2022, Theorem A.2, composed "
                         "by Sarmasarkar 2026, Alg. 7%s",
                         faro_release_claim(sum[0])->by, proven ? "" : "; outside the range of one of them");
}

/* The greater cost of staying and moving, as reported by the releases. Fits stay within their
 * budget, which is checked when they are made. */
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
        "the published program: tree noise for sensitivity 1 (replacement needs sqrt 2), gradient noise for "
        "clip "
        "(it needs 2 clip), epochs counted as subsampling, sizes of parts used; no theorem");
  if (plan->by_step) return claim_of_parts(kind, p, fits, plan, sum);
  if (!plan->gaussian) return claim_of_halves(kind, p, sum);
  char text[FARO_NUMBER_SIZE];
  const double epsilon = faro_gaussian_epsilon(total_mu(fits, plan), p->delta - slack_of(kind, p->delta));
  if (p->calibration == FARO_CALIBRATION_PAPER)
    return faro_claim_make(
        p->epsilon, p->delta, trust, epsilon <= p->epsilon,
        "zCDP: a third for sums, a third for fits, the third for switches is not spent; the exact Gaussian "
        "mechanism gives epsilon %s",
        faro_above(epsilon, 3, text));
  return faro_claim_make(
      p->epsilon, p->delta, trust, epsilon <= p->epsilon,
      "Gaussian mechanisms together: sums mu %.4g, a part's fits %.4g%s; people may change part",
      plan->sums_mu, plan->fits_mu, is_bits(kind) ? ", bits dominated by them" : "");
}
