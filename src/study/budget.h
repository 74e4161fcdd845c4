/* budget: what every release of a study may spend. */
#ifndef FARO_STUDY_BUDGET_H
#define FARO_STUDY_BUDGET_H

#include <faro/study.h>

/* The budget of one release, as its parameters. */
typedef struct faro_spend {
  double epsilon, delta;
} faro_spend;

typedef struct faro_budget_plan {
  bool gaussian;           /* mu^2 adds up to the claim; else epsilon and delta do */
  bool by_step;            /* else: each step of a fit has a share of its own, see faro_budget_step */
  double sums_mu, fits_mu; /* for the sums of a part; for all its fits together. Not under figure */
  faro_calibration sums_calibration;
  faro_spend sums[FARO_PARTS];
  double fits[FARO_PARTS]; /* number allowed */
  double ratio;            /* mu^2 of a fit divided by that of the fit before; 1: all equal */
} faro_budget_plan;

/* What one fit may spend. */
typedef struct faro_fit_budget {
  double mu; /* Gaussian budgets only */
  faro_spend spend;
} faro_fit_budget;

/* rho for which epsilon = rho + 2 sqrt(rho ln(1/delta)) (Bun & Steinke 2016, as used in Sarmasarkar
 * 2026). */
double faro_budget_rho(faro_spend spend);
/* Parameters for which `tight` makes a Gaussian mechanism of this mu, and no more; delta is at most
 * the one given. FARO_INVALID if that needs an epsilon outside the range of releases. */
faro_status faro_budget_spend(double mu, double delta, faro_spend *spend, faro_error *error);

faro_status faro_budget_sums(const faro_release_kind *kind, const faro_study_params *params,
                             faro_budget_plan *plan, faro_error *error);
faro_status faro_budget_fits(const faro_release_kind *kind, const faro_study_params *params,
                             const uint64_t fits[static FARO_PARTS], faro_budget_plan *plan,
                             faro_error *error);

/* The published program's budget for each of so many fits. */
faro_spend faro_budget_published(const faro_study_params *params, double fits);

/* How many fits, from number `index` on, have the same budget. */
uint64_t faro_budget_same(const faro_budget_plan *plan, unsigned part, uint64_t index);

/* The budget of fit number `index` of the part, counted from 0. */
faro_status faro_budget_fit(const faro_release_kind *kind, const faro_study_params *params,
                            const faro_budget_plan *plan, unsigned part, uint64_t index, faro_fit_budget *fit,
                            faro_error *error);

/* Whether a release stays within its mu, both for people who stay in a part and for those who leave
 * or enter it. The latter move by `move` and may cost at most the share `most` of mu. */
bool faro_budget_keeps(const faro_release *release, const faro_contribution *contribution, double mu,
                       double move, double most);

/* The most that a person who changes part may cost a sum and a fit, as shares of their mu. For the
 * exact Gaussian mechanism these are sqrt(1/2) and 1/2; rounding to a grid adds to them. */
static const double FARO_MOVED_SUM = 0.72;
static const double FARO_MOVED_FIT = 0.6;

/* Whether sum and fits are one batch of the same people, so that only one part publishes. */
static inline bool faro_budget_one_part(const faro_release_kind *kind) { return kind->phases; }
/* Whether releases of this kind are dominated by Gaussian mechanisms (faro_release_gaussian). */
bool faro_budget_gaussian(const faro_release_kind *kind);

/* Whether the parameters are in the range of releases. */
bool faro_budget_takes(faro_spend spend);
/* The share of each step in a fit of N steps through shuffle-bits under `paper`. */
faro_spend faro_budget_step(faro_spend fit, uint64_t steps);

enum { FARO_STEPS_MAX = 1000 };

faro_claim faro_budget_claim(const faro_release_kind *kind, const faro_study_params *params,
                             const uint64_t fits[static FARO_PARTS], const faro_budget_plan *plan,
                             faro_release *const sum[static FARO_PARTS]);

#endif
