/* choice: what a device does with a policy. The simulator's selector draws by the same functions,
 * so that both choose alike for the same random numbers.
 *
 *     if (!faro_choice_explore(policy, count, rng, &arm)) {
 *       faro_choice_draw(policy, rng, direction);
 *       arm = faro_choice_best(policy, direction, features, count);
 *     } */
#ifndef FARO_CHOICE_CHOICE_H
#define FARO_CHOICE_CHOICE_H

#include <faro/policy.h>
#include <faro/random.h>

/* With probability policy->explore, draws one of `count` arms uniformly and returns true. Without
 * `rng` nothing is explored. */
bool faro_choice_explore(const faro_policy *policy, size_t count, faro_rng *rng, size_t *arm);

/* direction = beta w' xi, which SAMPLE and OPTIMIST add; one draw serves all arms of a choice. It
 * is zero under WIDTH, which draws nothing, and without `rng`. */
void faro_choice_draw(const faro_policy *policy, faro_rng *rng, double *direction);

/* The index of one arm. */
double faro_choice_index(const faro_policy *policy, const double *direction, const double *x);

/* The first of `count` arms, rows of `dimension` numbers, with the greatest index. */
size_t faro_choice_best(const faro_policy *policy, const double *direction, const double *features,
                        size_t count);

#endif
