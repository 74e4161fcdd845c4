/* returning: what one batch may spend when a user is in M0 of them (release.repeats), each batch an (epsilon_m, delta_m)-
 * private mechanism on its own and all of them together (epsilon, delta)-private. */
#include <math.h>

#include "release/kind.h"

/* 000 Theorem E.2. With M0 = 1 there is nothing to compose. */
faro_budget faro_advanced_share(const faro_release *r) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double m0 = (double)r->repeats;
  if (r->repeats == 1) return (faro_budget){epsilon, delta};
  return (faro_budget){.epsilon = epsilon / (2 * sqrt(2 * m0 * log(2 / delta))), .delta = delta / (2 * m0)};
}

double faro_classical_sigma(const faro_release *r, faro_budget each) {
  return r->contribution.sensitivity * sqrt(2 * log(1.25 / each.delta)) / each.epsilon;
}

/* delta at `epsilon` of M0 batches with `each`; 1 where the accountant has no answer. */
static double composed_delta(faro_budget each, uint64_t times, double epsilon) {
  faro_pld *pld = NULL;
  double delta = 1;
  if (faro_pld_pure(&pld, each.epsilon, each.delta, NULL) != FARO_OK) return delta;
  if (faro_pld_repeat(pld, times, NULL) == FARO_OK) delta = faro_pld_delta(pld, epsilon);
  faro_pld_destroy(pld);
  return delta;
}

/* A tenth of delta is for the batches' own deltas; then the largest epsilon_m that the accountant lets pass, between
 * epsilon / M0, where plain sums suffice, and epsilon. The end that satisfies the guarantee is returned. */
faro_budget faro_composed_share(const faro_release *r) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double m0 = (double)r->repeats;
  if (r->repeats == 1) return (faro_budget){epsilon, delta};
  faro_budget each = {.epsilon = epsilon / m0, .delta = delta / (10 * m0)};
  double high = epsilon;
  while (high > each.epsilon * (1 + 1e-4)) {
    const faro_budget middle = {.epsilon = sqrt(each.epsilon * high), .delta = each.delta};
    if (composed_delta(middle, r->repeats, epsilon) <= delta) each = middle;
    else high = middle.epsilon;
  }
  return each;
}
