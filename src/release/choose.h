/* choose: schedules where params.batch is 0. They depend on public parameters only. */
#ifndef FARO_RELEASE_CHOOSE_H
#define FARO_RELEASE_CHOOSE_H

#include "release/release.h"

/* Whether a learner will use the sums: moments under calibration tight. */
bool faro_learns(const faro_release *r);

/* The noise of a Gaussian mechanism that a user is in as often as the claim allows, in units of
 * z. */
double faro_gaussian_sigma(const faro_release *r);

/* No noise: often enough that waiting costs a learner nothing that can be measured. */
void faro_choose_often(const faro_release *r, faro_release_params *params);

/* Batches that double, up to a tenth of the horizon (a fiftieth where contexts are adversarial).
 * The first has twice the users n0 after which the sums say as much as the prior. `sigma` is the
 * standard deviation of a batch's noise, in units of z. False, with nothing chosen, where nobody
 * learns from them or batches must be of one size. */
bool faro_choose_blocks(const faro_release *r, double sigma, faro_release_params *params);
/* The same for noise of `sigma` at every user, less where a shuffler mixes them: a quarter of n0,
 * and at most a twentieth of the horizon. */
bool faro_choose_mixed(const faro_release *r, double sigma, faro_release_params *params);
/* The same where nobody mixes them: n0, and at most a twentieth. Batches of one size: 400. */
void faro_choose_alone(const faro_release *r, double sigma, faro_release_params *params);
void faro_choose_local(const faro_release *r, faro_release_params *params); /* Gaussian noise */
/* Running sums (central-tree, central-factored): blocks, or 400 batches of one size. */
void faro_choose_continual(const faro_release *r, faro_release_params *params);
/* The lowest nodes of a tree of shufflers: 3 n0 users, at most `most`, but at most 400 of them. */
bool faro_choose_nodes(const faro_release *r, size_t levels, double most, faro_release_params *params);

/* Batches of one size, with noise of their own, for a learner or for sums. */
uint64_t faro_choose_uniform(const faro_release *r);

/* The predicted cost of a tree of batches under `tight`, for users who are in at most `repeats`
 * batches: the greatest error of a sum, or a learner's regret. INFINITY if the tree does not fit
 * the horizon. */
double faro_predict_cost(const faro_release *r, size_t levels, double batch, double degree, uint64_t repeats);
/* The batch, 2 or more, for which `cost` is least. */
uint64_t faro_least_batch(const faro_release *r, double (*cost)(const faro_release *, double batch));

#endif
