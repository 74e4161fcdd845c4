/* policy: see the header. This is the score that devices use; linalg has a vectorised one for many
 * arms at once. */
#include <faro/policy.h>

#include <math.h>

size_t faro_policy_w_length(size_t dimension) { return dimension * (dimension + 1) / 2; }

double faro_policy_score(const faro_policy *policy, const double *x) {
  const double *w = policy->w;
  double mean = 0;
  double square = 0;
  for (size_t i = 0; i < policy->dimension; i++) {
    double t = 0;
    for (size_t j = 0; j <= i; j++) t += *w++ * x[j];
    square += t * t;
    mean += policy->theta[i] * x[i];
  }
  return mean + policy->beta * sqrt(square);
}
