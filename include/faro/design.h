/* design: which few arms to play, and how often, so that every arm is estimated well.
 *
 * A design is a distribution pi over arms. With V(pi) = sum pi_x x x', its certificate is max_x
 * ||x||^2_{V(pi)^-1} over the active arms: m, their rank, at the optimum (Kiefer & Wolfowitz 1960),
 * and at most `target` m here. Arms outside the support are never played, so costs per played arm
 * (private statistics, for example) are paid for few arms.
 *
 * Everything is computed in coordinates of the span: m of the arms form a basis, and z_a is arm a
 * in that basis. Norms in V^-1 are the same in any basis, and this one keeps V well-conditioned
 * however the arms are scaled. A component shorter than FARO_SPAN_TOLERANCE times the longest arm
 * counts as rounding and is outside the span. */
#ifndef FARO_DESIGN_H
#define FARO_DESIGN_H

#include <faro/linalg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARO_SPAN_TOLERANCE 1e-9
#define FARO_DESIGN_TARGET 2.0
#define FARO_DESIGN_TARGET_MIN 1.00001
enum { FARO_POINTS_MAX = 1000000 };

/* The result. Its arrays belong to the designer and are valid until its next search. */
typedef struct faro_design {
  size_t rank;          /* m */
  size_t support;       /* arms with a positive weight */
  const size_t *arm;    /* their indices among the caller's arms */
  const size_t *place;  /* their positions among the active arms, ascending: columns of `coordinates` */
  const double *weight; /* their weights; the sum is 1 */
  double certificate;   /* max ||x||^2_{V^-1} over the active arms, from a fresh factorisation */
  double log_det;       /* ln det V in an orthonormal basis of the span */
  size_t steps;         /* number of changes of one arm's weight */
  const faro_arms *coordinates; /* z: m x active arms */
} faro_design;

/* Finds designs for up to `arms` active arms of one dimension. Allocates at creation only. */
typedef struct faro_designer faro_designer;

FARO_API faro_status faro_designer_create(faro_designer **designer, size_t dimension, size_t arms,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_designer_destroy(faro_designer *designer);

/* Finds a design on the `count` active arms (NULL: all arms, and `count` is ignored) with a
 * certificate of at most `target` m. Use FARO_DESIGN_TARGET unless there is a reason, because steps
 * grow as 1 / (target - 1). Fails rather than return a design whose certificate does not hold. The
 * same arms in the same order give the same design. */
FARO_API faro_status faro_design_find(faro_designer *designer, const faro_arms *arms, const size_t *active,
                                      size_t count, double target, const faro_design **design,
                                      faro_error *error) FARO_WARN_UNUSED;

/* 4 m ln ln m + 16, at least m and at most m (m + 1) / 2: a bound on the support if the target is 2
 * or more. Nearer to 1 a design needs more arms: then the bound is m (m + 1) / 2, enforced for m <=
 * FARO_EXACT_RANK. */
FARO_API size_t faro_design_bound(size_t m);
enum { FARO_EXACT_RANK = 20 };

/* Sets of points as arms. */
typedef struct faro_points faro_points;

FARO_API const faro_arms *faro_points_arms(const faro_points *points);
FARO_API void faro_points_destroy(faro_points *points);

/* Nets: points of the unit sphere (ball) such that every point of it is within zeta of one. 0 <
 * zeta <= 1. Refused if more than FARO_POINTS_MAX points were needed. */
typedef enum faro_shape { FARO_SPHERE, FARO_BALL } faro_shape;

FARO_API faro_status faro_points_net(faro_points **points, faro_shape shape, size_t d, double zeta,
                                     faro_error *error) FARO_WARN_UNUSED;
/* The number of points of the net. Beyond FARO_POINTS_MAX the ball's number is an estimate; the
 * sphere's is exact. */
FARO_API double faro_net_size(faro_shape shape, size_t d, double zeta);

#ifdef __cplusplus
}
#endif

#endif
