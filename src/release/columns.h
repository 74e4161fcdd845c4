/* columns: simulated users of a release, many at a time, or alike. */
#ifndef FARO_RELEASE_COLUMNS_H
#define FARO_RELEASE_COLUMNS_H

#include <faro/release.h>

/* As faro_release_absorb of one user after another, without rewards; feature j of user i is x[j
 * stride + i], j < FARO_DIMENSION_MAX. Returns true if new statistics were published. Where a
 * mechanism only adds vectors, each is clipped, and they are added up first: the sum is rounded in
 * another order. */
bool faro_release_absorb_columns(faro_release *release, const double *x, size_t stride, size_t users);

/* The sum of what `count` users contribute, each clipped (contributions that are vectors). */
void faro_contribution_total(const faro_contribution *contribution, const double *x, size_t stride,
                             size_t count, double *total);

/* As faro_contribution_make, of plain moments, where z is what these features made with another
 * reward; `clipped` are the features as faro_contribution_clip leaves them. */
void faro_contribution_reward(const faro_contribution *contribution, const double *clipped, double y,
                              double *z);

#endif
