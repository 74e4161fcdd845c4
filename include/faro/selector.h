/* selector: the user's side of a policy, for many arms at once.
 *
 * Arms are columns (linalg.h). A selector stores its scores, so that a user with the same policy
 * and the same arms costs nothing, unless the policy draws. Use a selector in one thread at a
 * time. */
#ifndef FARO_SELECTOR_H
#define FARO_SELECTOR_H

#include <faro/linalg.h>
#include <faro/policy.h>
#include <faro/random.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_selector faro_selector;

/* Room for `arms` arms at once. */
FARO_API faro_status faro_selector_create(faro_selector **selector, size_t dimension, size_t arms,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_selector_destroy(faro_selector *selector); /* NULL is allowed */

/* The arm that the policy plays. `rng` is for policies that draw; NULL: everything drawn is zero,
 * and nothing is explored. If there is not enough room for all arms, they are scored block by
 * block. */
FARO_API size_t faro_select(faro_selector *selector, const faro_policy *policy, const faro_arms *arms,
                            faro_rng *rng);
/* The same for `count` rows of `dimension` numbers, stored one after another, of any alignment. */
FARO_API size_t faro_select_rows(faro_selector *selector, const faro_policy *policy, const double *features,
                                 size_t count, faro_rng *rng);

#ifdef __cplusplus
}
#endif

#endif
