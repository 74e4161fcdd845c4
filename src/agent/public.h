/* public: statistics of people whose features are public, so that only their rewards are protected.
 *
 *   features --exact sums--> Gram matrix, sum of x   \
 *   x (y - middle) --release--> noisy vector          > statistics, as if one release had published
 *                                                       the Gram matrix and the sum of x y */
#ifndef FARO_AGENT_PUBLIC_H
#define FARO_AGENT_PUBLIC_H

#include <faro/contribution.h>
#include <faro/statistics.h>

#include "base/arena.h"

typedef struct faro_public {
  size_t dimension;
  double norm;           /* longer features are scaled back to it, as in the release */
  double middle;         /* the release subtracts it from rewards */
  double *sum, *block;   /* packed Gram matrix and vector: of all people, of the newest batch */
  double *x;             /* sum of the features of all people */
  double *before;        /* packed Gram matrix, then the sum of features, at the last publication */
  double *scale, *alone; /* scales of their noise */
} faro_public;

faro_status faro_public_init(faro_public *p, const faro_contribution *contribution, faro_arena *arena,
                             faro_error *error) FARO_WARN_UNUSED;
/* Before the person's reward is absorbed. */
void faro_public_add(faro_public *p, const double *x, double people);
/* After a publication of the vector. */
faro_statistics faro_public_extend(faro_public *p, const faro_statistics *vector);
/* Noise of the vector as noise of both parts. */
faro_noise faro_public_noise(const faro_public *p, faro_noise noise, double *scale);

#endif
