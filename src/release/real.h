/* real: sums in floating point, for simulation. real.c has the noise; grid, tree and factored build
 * on the state. */
#ifndef FARO_RELEASE_REAL_H
#define FARO_RELEASE_REAL_H

#include "release/release.h"

typedef struct faro_real {
  faro_release release;
  double *open; /* sum of the open batch; tree and factored: of all users so far */
} faro_real;

static inline faro_real *faro_real_of(faro_release *r) { return (faro_real *)(void *)r; }

faro_status faro_real_init(faro_release *r, faro_error *error);
void faro_real_encode(const faro_release *r, const double *z, void *message);
void faro_real_mix(const faro_release *r, void *batch);
void faro_real_collect(faro_release *r, size_t index, const void *message);
void faro_real_absorb(faro_release *r, const double *z, uint64_t users);
void faro_real_add_noise(faro_release *r);
void faro_real_publish(faro_release *r);
void faro_real_measure(faro_release *r);

/* Sets the Gaussian noise of a user, batch or node: sigma for every entry of x y; for the Gram
 * matrix, sigma times `on` on its diagonal and times `off` elsewhere. */
void faro_set_gaussian(faro_release *r, double sigma, double on, double off);
/* scale = unit times `factor`, for every entry. */
void faro_set_scale(faro_release *r, double factor);
/* Where each user's noise depends on the size of the batch: noise(r, users) for every class. The
 * largest is `most`; the factors are relative to it. */
faro_status faro_set_factors(faro_release *r, double (*noise)(const faro_release *, uint64_t users),
                             double *most, faro_error *error);
/* A user's batches compose by one rule or by another, never by both. Whether `one` gives less noise
 * over all batches than `other`, both as in faro_set_factors. */
bool faro_noise_is_less(const faro_release *r, double (*one)(const faro_release *, uint64_t users),
                        double (*other)(const faro_release *, uint64_t users));
/* Noises in the last sum, in units of the largest: users, or batches where the server adds the
 * noise. */
double faro_total_noises(const faro_release *r);
/* Sets Laplace noise of scale b for every entry, per user or, for a trusted server, per batch; and
 * the scale. */
void faro_set_laplace(faro_release *r, double b);

/* The honest users whom a message of a class of batches hides among, where a shuffler mixes it. */
double faro_mixed(const faro_release *r, size_t class_index);

/* Bound on a user's influence on the sum, in units of the noise: sqrt(sum_j (dz_j / sd_j)^2) over
 * neighbouring inputs, if Gram noise is `on`/`off` times sigma. */
double faro_gaussian_shift(const faro_release *r, double sigma, double on, double off);

#endif
