/* terms: batches that grow by a factor, chosen by predicted regret.
 *
 *   I      precision in one direction; the prior's at first
 *   h      = n s / d: what n people add to it without noise; s the expected slope
 *   sigma  noise of a fit in one entry, a power of n between the two that are given
 *   D      = 1 / sqrt(prior): deviation of <x, theta> over arms and parameters
 *
 *   batch      n people explore among arms that are not ruled out:
 *              each regrets about s min(typical D, quantile / sqrt(I))
 *              afterwards I grows by h^2 / (h + sigma^2)
 *   the rest   plays what looks best: each regrets about s min(typical D, 1 / (I D)), because
 *              only arms within an error of 1 / sqrt(I) are mistaken for each other, and they cost
 *              no more than that
 *
 * Only the ratio of the two kinds of regret matters. A factor of 1/3 or 3 on the second changes the
 * regret of glm-t1 to glm-t3 by a tenth (docs/regret.md), so there is none. */
#include "learner/terms.h"

#include <math.h>
#include <stdbool.h>

static double noise_of(const faro_terms_facts *f, double n) {
  if (!(f->noise[0] > 0)) return 0;
  const double power = f->horizon > 1 ? log(f->noise[1] / f->noise[0]) / (log(f->horizon) / 2) : 0;
  return f->noise[0] * pow(n / sqrt(f->horizon), power);
}

static double learned(const faro_terms_facts *f, double n) {
  const double h = n * f->slope / f->dimension;
  const double sigma = noise_of(f, n);
  return h * h / (h + sigma * sigma);
}

double faro_terms_predict(const faro_terms_facts *facts, const faro_terms *terms) {
  const double D = 1 / sqrt(facts->prior);
  double I = facts->prior;
  double left = facts->horizon;
  double regret = 0;
  for (size_t k = 0; k < terms->count; k++) {
    const double n = (double)terms->length[k];
    regret += n * fmin(facts->typical * D, facts->quantile / sqrt(I));
    I += learned(facts, n);
    left -= n;
  }
  return facts->slope * (regret + left * fmin(facts->typical * D, 1 / (I * D)));
}

/* False if they do not fit. */
static bool make(const faro_terms_facts *f, double first, double growth, size_t count, faro_terms *terms) {
  double length = first;
  double sum = 0;
  terms->count = count;
  for (size_t k = 0; k < count; k++, length *= growth) {
    terms->length[k] = (uint64_t)ceil(length);
    sum += ceil(length);
  }
  return sum < f->horizon;
}

faro_terms faro_terms_plan(const faro_terms_facts *facts) {
  static const double growths[] = {1, 1.5, 2, 3, 4, 6, 8};
  faro_terms best = {.count = 1, .length = {(uint64_t)fmin(2, facts->horizon)}};
  double least = INFINITY;
  for (double first = 2; first < facts->horizon; first *= 1.1)
    for (size_t g = 0; g < sizeof growths / sizeof *growths; g++)
      for (size_t count = 1; count <= FARO_TERMS_MAX; count++) {
        faro_terms terms;
        if (!make(facts, first, growths[g], count, &terms)) break;
        const double predicted = faro_terms_predict(facts, &terms);
        if (!(predicted < least)) continue;
        least = predicted;
        best = terms;
      }
  return best;
}
