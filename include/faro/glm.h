/* glm: generalised linear models. The mean of a reward is mu(<x, theta>), mu = b', and
 *
 *   L(theta) = sum_i ( b(<x_i, theta>) - y_i <x_i, theta> ) + (ridge / 2) ||theta||^2
 *
 * is convex. Its gradient is sum_i (mu(<x_i, theta>) - y_i) x_i + ridge theta. Links that are not
 * canonical (probit) use the same gradient: their potential b is an antiderivative of mu. */
#ifndef FARO_GLM_H
#define FARO_GLM_H

#include <faro/linalg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARO_LINK_LIST(X)                                                                                    \
  X(LINEAR, "linear")     /* z */                                                                            \
  X(LOGISTIC, "logistic") /* 1 / (1 + e^-z) */                                                               \
  X(PROBIT, "probit")     /* the normal distribution function */                                             \
  X(POISSON, "poisson")   /* e^z */

typedef enum faro_link {
#define X(name, text) FARO_LINK_##name,
  FARO_LINK_LIST(X)
#undef X
      FARO_LINK_COUNT
} faro_link;

FARO_API const char *faro_link_name(faro_link link);
FARO_API bool faro_link_find(const char *name, faro_link *link); /* false: there is no such link */
/* Relative accuracy for |z| <= 40 wherever a double can hold the value (the probit's left tail ends
 * at -37). Finite beyond, wherever the value is. */
FARO_API double faro_link_potential(faro_link link, double z); /* b */
FARO_API double faro_link_mean(faro_link link, double z);      /* mu */
FARO_API double faro_link_slope(faro_link link, double z);     /* mu', at least DBL_MIN */
/* Over |z| <= reach: the greatest and the least slope, and the greatest |mu''|. */
FARO_API double faro_link_steepest(faro_link link, double reach);
FARO_API double faro_link_flattest(faro_link link, double reach);
FARO_API double faro_link_sharpest(faro_link link, double reach);

/* Rows of data: x[i * dimension ...] with reward y[i]. */
typedef struct faro_rows {
  size_t dimension, count;
  const double *x, *y;
} faro_rows;

/* ||theta - centre|| <= radius in the norm of a packed positive definite metric (linalg.h). A NULL
 * centre is the zero vector, a NULL metric the identity. */
typedef struct faro_region {
  const double *centre, *metric;
  double radius;
} faro_region;

/* Data comes in two parts (study.h). */
enum { FARO_PARTS = 2 };

/* A fit: the minimiser of L over a part's data and a region. */
typedef struct faro_question {
  unsigned part;
  bool whole; /* the data of both parts; without privacy and under calibration figure only */
  double ridge;
  faro_region region;
  /* packed, approximates the Hessian; steps are scaled by its inverse. NULL: plain steps */
  const double *curvature;
  const double *start; /* within the region */
} faro_question;

typedef struct faro_answer {
  double *theta; /* the caller's, `dimension` numbers */
  /* likewise, or NULL: the mean of the released gradients, ridge included, of whose points theta is
   * the mean. Near zero where the region's boundary and noise do not keep it away; 0: exact */
  double *gradient;
  /* bound on how much L exceeds its least value over the region; 0: exact, INFINITY: not known */
  double bound;
  /* Standard deviation of the privacy noise in an entry of the gradient behind theta; 0: exact. */
  double noise;
  uint64_t steps; /* number of released gradients */
} faro_answer;

FARO_API double faro_glm_loss(faro_link link, const faro_rows *rows, double ridge, const double *theta);
FARO_API void faro_glm_gradient(faro_link link, const faro_rows *rows, double ridge, const double *theta,
                                double *gradient);
/* Packed. */
FARO_API void faro_glm_hessian(faro_link link, const faro_rows *rows, double ridge, const double *theta,
                               double *hessian);

/* Memory for the functions below. Nothing is allocated after its creation. */
typedef struct faro_solver faro_solver;

FARO_API faro_status faro_solver_create(faro_solver **solver, size_t dimension,
                                        faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_solver_destroy(faro_solver *solver);

/* The point of the region nearest to y in the norm of a packed positive definite `norm` (NULL: the
 * identity). y and nearest may be the same. */
FARO_API void faro_solver_nearest(faro_solver *solver, const double *norm, const faro_region *region,
                                  const double *y, double *nearest);
/* max <g, u> over the region. */
FARO_API double faro_solver_support(faro_solver *solver, const faro_region *region, const double *g);
/* Minimises L over the region (NULL: everywhere, which needs ridge > 0), starting at theta, by
 * Newton's method with line search. Each step minimises the quadratic model over the region.
 * Returns the number of iterations. */
FARO_API size_t faro_solver_minimise(faro_solver *solver, faro_link link, const faro_rows *rows, double ridge,
                                     const faro_region *region, double *theta);

/* The minimiser of L while rows are added. Gradient and Hessian are stored at an anchor. theta is
 * one Newton step from it as long as Taylor's remainder bounds the gradient's norm there by
 * `tolerance`; otherwise the anchor moves. So a row costs O(d^2), and a pass over all rows is
 * rare. */
typedef struct faro_follower faro_follower;

/* rows: the most that may be added. ridge > 0. */
FARO_API faro_status faro_follower_create(faro_follower **follower, faro_link link, size_t dimension,
                                          size_t rows, double ridge, double tolerance,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_follower_destroy(faro_follower *follower);
FARO_API void faro_follower_add(faro_follower *follower, const double *x, double y);
FARO_API const double *faro_follower_theta(const faro_follower *follower);

#ifdef __cplusplus
}
#endif

#endif
