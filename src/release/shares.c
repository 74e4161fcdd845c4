/* shares: what one batch may spend if a user is in M0 of them (release.repeats): each batch is an
 * (epsilon_m, delta_m)-private mechanism, and all of them together are (epsilon, delta)-private
 * (docs/privacy.md, Returning users). Also what else calibrations share. */
#include "release/shares.h"

#include <math.h>

#include "base/share.h"
#include "privacy/bisect.h"
#include "release/real.h"

/* With M0 = 1 there is nothing to compose. */
faro_budget faro_advanced_share(const faro_release *r) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double m0 = (double)r->repeats;
  if (r->repeats == 1) return (faro_budget){epsilon, delta};
  return (faro_budget){.epsilon = epsilon / (2 * sqrt(2 * m0 * log(2 / delta))), .delta = delta / (2 * m0)};
}

/* delta at `epsilon` of M0 batches with `each`; 1 if the accountant has no answer. */
static double composed_delta(faro_budget each, uint64_t times, double epsilon) {
  faro_pld *pld = NULL;
  double delta = 1;
  if (faro_pld_pure(&pld, each.epsilon, each.delta, NULL) != FARO_OK) return delta;
  if (faro_pld_repeat(pld, times, NULL) == FARO_OK) delta = faro_pld_delta(pld, epsilon);
  faro_pld_destroy(pld);
  return delta;
}

/* A tenth of delta is reserved for the batches' own deltas. */
static double own_delta(const faro_release *r) { return r->params.delta / (10 * (double)r->repeats); }

static bool share_holds(double epsilon, const void *context) {
  const faro_release *r = context;
  const faro_budget each = {.epsilon = epsilon, .delta = own_delta(r)};
  return composed_delta(each, r->repeats, r->params.epsilon) <= r->params.delta;
}

static bool near(double low, double high) { return !(high > low * (1 + 1e-4)); }

/* The largest epsilon_m that the accountant accepts, between epsilon / M0, where plain sums are
 * enough, and epsilon. */
faro_budget faro_composed_share(const faro_release *r) {
  const double epsilon = r->params.epsilon;
  if (r->repeats == 1) return (faro_budget){epsilon, r->params.delta};
  const faro_bisection search = {.holds = share_holds, .context = r, .near = near, .ratio = true};
  return (faro_budget){.epsilon = faro_bisect(&search, epsilon / (double)r->repeats, epsilon),
                       .delta = own_delta(r)};
}

/* A protected user follows the protocol, so there is at least one honest user (docs/privacy.md,
 * Honest users). */
double faro_honest(const faro_release *r, uint64_t batches, double users) {
  return fmax(1, (double)batches * faro_share_of(r->params.honest, users));
}

double faro_company(const faro_release *r, uint64_t users) {
  return faro_honest(r, 1, (double)(faro_actions_are_secret(r) ? r->params.crowd : users));
}

double faro_classical_sigma(const faro_release *r, faro_budget each) {
  return r->contribution.sensitivity * sqrt(2 * log(1.25 / each.delta)) / each.epsilon;
}

/* Scale L1 / epsilon (docs/privacy.md, The Laplace mechanism). A user's M0 messages, or batches,
 * compose as a plain sum. Under `paper` this is the noise of Hanna et al. 2022. DEVIATION: Hanna et
 * al. take a sensitivity of 1 for rewards in [-1, 1], but two rewards can differ by the width of
 * the interval. */
faro_status faro_laplace_calibrate(faro_release *r, faro_error *error) {
  (void)error;
  const double shift = (double)r->repeats * r->contribution.absolute;
  faro_set_laplace(r, shift / r->params.epsilon);
  r->claim = faro_claim_make(r->params.epsilon, 0, r->kind->trust, true,
                             "Laplace mechanism (Dwork et al. 2006), L1 sensitivity %.4g; delta is 0", shift);
  return FARO_OK;
}

double faro_least_factor(const faro_release *r) {
  double least = 1;
  for (size_t c = 0; r->factor && c < r->schedule.classes; c++) least = fmin(least, r->factor[c]);
  return least;
}

void faro_imply_gaussian(faro_release *r, double mu) {
  r->claim.local_epsilon = faro_gaussian_epsilon(mu * sqrt((double)r->repeats), r->params.delta);
  r->claim.local_delta = r->params.delta;
}

/* epsilon at `delta` of `times` messages that are epsilon0-private; INFINITY if the accountant has
 * no answer. */
static double composed_epsilon(double epsilon0, uint64_t times, double delta) {
  static faro_memo memo;
  double epsilon[FARO_MEMO_VALUES] = {INFINITY};
  const double key[FARO_MEMO_KEYS] = {epsilon0, (double)times, delta};
  if (faro_memo_find(&memo, key, epsilon)) return *epsilon;
  faro_pld *pld = NULL;
  if (faro_pld_pure(&pld, epsilon0, 0, NULL) == FARO_OK && faro_pld_repeat(pld, times, NULL) == FARO_OK) {
    *epsilon = faro_pld_epsilon(pld, delta);
    faro_memo_keep(&memo, key, epsilon);
  }
  faro_pld_destroy(pld);
  return *epsilon;
}

/* M0 messages: the sum of their epsilons, or less by the accountant. */
void faro_imply_pure(faro_release *r, double epsilon0) {
  const double sum = epsilon0 * (double)r->repeats;
  const double composed = r->repeats > 1 ? composed_epsilon(epsilon0, r->repeats, r->params.delta) : INFINITY;
  r->claim.local_epsilon = fmin(sum, composed);
  r->claim.local_delta = composed < sum ? r->params.delta : 0;
}

faro_claim faro_figure_claim(const faro_release *r) {
  return faro_claim_make(r->params.epsilon, r->params.delta, r->kind->trust, false,
                         "constants of the published figures, which no theorem backs");
}

faro_status faro_refuse_returning(const faro_release *r, const char *where, const char *paper,
                                  faro_error *error) {
  if (r->repeats == 1) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "calibration paper needs level event for %s%s: %s has no theorem for users who return",
                   r->kind->name, where, paper);
}

void faro_calibration_key(const faro_release *r, uint64_t users, double key[static FARO_MEMO_KEYS]) {
  key[0] = r->params.epsilon;
  key[1] = r->params.delta;
  key[2] = r->params.honest;
  key[3] = (double)users;
  key[4] = faro_actions_are_secret(r) ? (double)r->params.crowd : 0;
  key[5] = (double)r->repeats;
  key[6] = 0; /* for the caller */
}
