/* glm: what tests of generalised linear learners share: a world that offers arms in three
 * dimensions, a second implementation of the links, and algebra with full matrices. */
#ifndef FARO_TESTS_GLM_H
#define FARO_TESTS_GLM_H

#include "support/support.h"

enum { GLM_DIMENSION = 3, GLM_PACKED = 6, GLM_STRIDE = 16 };

typedef double glm_matrix[GLM_DIMENSION][GLM_DIMENSION];

/* Arms are uniform in the unit ball and fresh for every person. */
typedef struct glm_world {
  faro_sim_rng context, reward, luck, noise;
  double theta[GLM_DIMENSION];
  faro_arms arms;
  _Alignas(64) double x[GLM_DIMENSION * GLM_STRIDE];
} glm_world;

/* At most GLM_STRIDE arms, all zero before the first offer. The caller sets theta. */
void glm_open(glm_world *world, size_t arms, uint64_t seed);
void glm_offer(glm_world *world);
void glm_arm(const glm_world *world, size_t arm, double x[GLM_DIMENSION]);

/* Logistic and probit links. */
double glm_mean(faro_link link, double z);
double glm_slope(faro_link link, double z);
static inline double glm_steepest(faro_link link) { return glm_slope(link, 0); }

double glm_dot(const double *a, const double *b);
double glm_square(const glm_matrix a, const double *x);  /* x' a x */
void glm_invert(const glm_matrix a, glm_matrix inverse); /* Gauss-Jordan; a is positive definite */
void glm_multiply(const glm_matrix a, const glm_matrix b, glm_matrix ab);
void glm_eigen(const glm_matrix a, double value[GLM_DIMENSION], glm_matrix Q); /* a = Q diag(value) Q' */
void glm_extremes(const glm_matrix a, double *least, double *greatest);        /* eigenvalues */
/* A packed matrix plus ridge I. */
void glm_unpack(const double packed[GLM_PACKED], double ridge, glm_matrix a);
/* sum += weight x x', packed. */
void glm_add(double sum[GLM_PACKED], const double *x, double weight);

/* Creates a learner, an asker or a watcher, and destroys it. */
faro_status glm_try(const faro_learner_kind *kind, const faro_asker_params *params, faro_error *error);
/* Checks that creation refuses every parameter that is out of range, by its name, and survives
 * every failed allocation. A kind with settings must have `optimism`. */
void glm_assert_creation(const faro_learner_kind *kind, const faro_asker_params *good);

#endif
