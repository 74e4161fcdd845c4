/* budget: what every release of a study may spend. */
#ifndef FARO_STUDY_BUDGET_H
#define FARO_STUDY_BUDGET_H

#include <faro/study.h>

/* Of one release, as its parameters. */
typedef struct faro_spend {
  double epsilon, delta;
} faro_spend;

typedef struct faro_budget_plan {
  bool gaussian;           /* mu^2 adds up to the claim; else epsilon and delta do */
  double sums_mu, fits_mu; /* a part's sums, and all its fits together */
  faro_calibration sums_calibration;
  faro_spend sums[FARO_PARTS];
  double fits[FARO_PARTS]; /* allowed */
  double ratio;            /* of what one fit and the one before it have of mu^2; 1: all alike */
} faro_budget_plan;

/* What one fit may spend. */
typedef struct faro_fit_budget {
  double mu; /* where budgets are Gaussian */
  faro_spend spend;
} faro_fit_budget;

/* rho of epsilon = rho + 2 sqrt(rho ln(1/delta)): Bun and Steinke 2016, as the GLM preprint has it. */
double faro_budget_rho(faro_spend spend);
/* Parameters for which `tight` makes a Gaussian mechanism of this mu, and no more; delta at most that given.
 * FARO_INVALID where releases take no epsilon so small or large. */
faro_status faro_budget_spend(double mu, double delta, faro_spend *spend, faro_error *error);

faro_status faro_budget_sums(const faro_release_kind *kind, const faro_study_params *params,
                             faro_budget_plan *plan, faro_error *error);
faro_status faro_budget_fits(const faro_release_kind *kind, const faro_study_params *params,
                             const uint64_t fits[static FARO_PARTS], faro_budget_plan *plan,
                             faro_error *error);

/* Of the part's fit number `index`, from 0. */
faro_status faro_budget_fit(const faro_release_kind *kind, const faro_study_params *params,
                            const faro_budget_plan *plan, unsigned part, uint64_t index, faro_fit_budget *fit,
                            faro_error *error);

/* Whether a release keeps to its mu, for people who stay in a part and for those who leave or enter it, whose
 * contribution moves by `move`: at most `most` of mu for them. */
bool faro_budget_keeps(const faro_release *release, const faro_contribution *contribution, double mu,
                       double move, double most);

/* What a person who changes part may cost a sum and a fit, as shares of their mu. Of the exact Gaussian mechanism it is
 * sqrt(1/2) and 1/2; rounding to a grid adds its part. */
static const double FARO_MOVED_SUM = 0.72;
static const double FARO_MOVED_FIT = 0.6;

/* Whether a release takes parameters like these at all. */
bool faro_budget_takes(faro_spend spend);
/* Of a fit of N steps through shuffle-bits under `paper`: each step's share. */
faro_spend faro_budget_step(faro_spend fit, uint64_t steps);

enum { FARO_STEPS_MAX = 1000 };

faro_claim faro_budget_claim(const faro_release_kind *kind, const faro_study_params *params,
                             const uint64_t fits[static FARO_PARTS], const faro_budget_plan *plan,
                             faro_release *const sum[static FARO_PARTS]);

#endif
