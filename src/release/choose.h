/* choose: schedules where params.batch is 0. They depend on public parameters only. */
#ifndef FARO_RELEASE_CHOOSE_H
#define FARO_RELEASE_CHOOSE_H

#include "release/release.h"

/* Whether a learner will use the sums: moments under calibration tight. */
bool faro_learns(const faro_release *r);

/* Noise of running sums that does not grow with them (central-tree, central-factored): early, then
 * every time the users have grown by a fifth, and at least 50 times. Batches of one size: 400. */
void faro_choose_continual(const faro_release *r, faro_release_params *params);

/* No noise: often enough that waiting costs a learner nothing that can be measured. */
void faro_choose_often(const faro_release *r, faro_release_params *params);

/* Noise of each batch by itself (standard deviation `sigma` in units of z, of the batch, or of each
 * user where `per_user`): batches that double, until there are about twenty. The first one has
 * `share` of the users after which the sums say as much as the prior. False, with nothing chosen,
 * where nobody learns from them or batches must be of one size. */
bool faro_choose_blocks(const faro_release *r, double sigma, bool per_user, double share,
                        faro_release_params *params);
/* Blocks for Gaussian noise, or noise like it, at every user. */
void faro_choose_local(const faro_release *r, faro_release_params *params);

/* Batches of one size, with noise of their own, for a learner or for sums. */
uint64_t faro_choose_uniform(const faro_release *r);

/* The predicted cost of a tree of batches under `tight`, for users who are in at most `repeats`
 * batches: the greatest error of a sum, or a learner's regret. INFINITY if the tree does not fit
 * the horizon. */
double faro_predict_cost(const faro_release *r, size_t levels, double batch, double degree, uint64_t repeats);
/* The batch, 2 or more, for which `cost` is least. */
uint64_t faro_least_batch(const faro_release *r, double (*cost)(const faro_release *, double batch));

#endif
