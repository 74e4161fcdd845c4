/* choice: see the header. */
#include "choice/choice.h"

#include <math.h>

bool faro_choice_explore(const faro_policy *policy, size_t count, faro_rng *rng, size_t *arm) {
  if (!rng || !(policy->explore > 0) || faro_draw_uniform(rng) >= policy->explore) return false;
  *arm = (size_t)(faro_draw_uniform(rng) * (double)count);
  return true;
}

void faro_choice_draw(const faro_policy *policy, faro_rng *rng, double *direction) {
  const double *row = policy->w;
  const bool draws = rng && (policy->rule == FARO_RULE_SAMPLE || policy->rule == FARO_RULE_OPTIMIST);
  const size_t width = policy->dimension / (policy->blocks > 0 ? policy->blocks : 1);
  for (size_t i = 0; i < policy->dimension; i++) direction[i] = 0;
  for (size_t i = 0; draws && i < policy->dimension; i++, row += i) {
    const double xi = policy->beta * faro_draw_normal(rng);
    for (size_t j = i - i % width; j <= i; j++) direction[j] += xi * row[j];
  }
}

double faro_choice_index(const faro_policy *policy, const double *direction, const double *x) {
  if (policy->rule == FARO_RULE_WIDTH) return faro_policy_score(policy, x);
  double mean = 0;
  double extra = 0;
  for (size_t i = 0; i < policy->dimension; i++) {
    mean += policy->theta[i] * x[i];
    extra += direction[i] * x[i];
  }
  return mean + (policy->rule == FARO_RULE_OPTIMIST ? fmax(0, extra) : extra);
}

size_t faro_choice_best(const faro_policy *policy, const double *direction, const double *features,
                        size_t count) {
  size_t best = 0;
  double most = -INFINITY;
  for (size_t a = 0; a < count; a++) {
    const double here = faro_choice_index(policy, direction, features + a * policy->dimension);
    if (!(here > most)) continue;
    most = here;
    best = a;
  }
  return best;
}
