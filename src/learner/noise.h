/* noise: what learners make of the noise in released Gram matrices. */
#ifndef FARO_LEARNER_NOISE_H
#define FARO_LEARNER_NOISE_H

#include <faro/linalg.h>
#include <faro/statistics.h>

/* Bound on the operator norm of the noise in one released d x d Gram matrix; fails with probability q. 0 without
 * noise. */
double faro_gram_bound(const faro_noise *noise, size_t d, double q);

/* w = L^-1 of packed V = L L', after shifting V up to `least` where noise has made it indefinite; returns the shift. */
double faro_whiten_shifted(faro_spd *spd, size_t d, double *V, double *w, double least);

#endif
