/* link: evaluates a link at many points in one call, so that a pass over rows chooses the link
 * once. */
#ifndef FARO_GLM_LINK_H
#define FARO_GLM_LINK_H

#include <faro/glm.h>

/* b, mu and mu' of `count` values of z; outputs that are NULL are skipped. */
void faro_link_map(faro_link link, size_t count, const double *z, double *potential, double *mean,
                   double *slope);
/* mu''. For tests of faro_link_sharpest. */
double faro_link_bend(faro_link link, double z);
/* How often a follower has passed over all rows so far. For tests of its cost. */
size_t faro_follower_passes(const faro_follower *follower);
/* mu(-z) = 1 - mu(z), so b(-z) = b(z) - z: logistic and probit. */
bool faro_link_symmetric(faro_link link);

#endif
