/* explore: what a person plays while a batched learner of generalised linear rewards explores. The
 * learner's people do this in simulation, and devices by a policy of rule DESIGN (policy.h).
 *
 * The belief about the parameter is N(theta, w' w). With z the arm that looks best:
 *
 *   x stays   unless the chance that it is better than z is below a small one:
 *             <z - x, theta> <= q ||w (z - x)||
 *   weight    the expected slope of the link at the arm
 *   arm       drawn from a near-optimal design of sqrt(weight) x over the arms that stay
 *
 * Nothing is allocated after creation. */
#ifndef FARO_EXPLORE_EXPLORE_H
#define FARO_EXPLORE_EXPLORE_H

#include <faro/design.h>
#include <faro/glm.h>

/* What is believed, as a policy says it. */
typedef struct faro_outlook {
  faro_link link;
  double bound;        /* S: bound on the parameter's norm */
  const double *theta; /* `dimension` numbers */
  const double *w;     /* packed */
  double quantile;     /* q */
} faro_outlook;

typedef struct faro_explorer faro_explorer;

/* For choices between up to `arms` arms. */
faro_status faro_explorer_create(faro_explorer **explorer, size_t dimension, size_t arms,
                                 faro_error *error) FARO_WARN_UNUSED;
void faro_explorer_destroy(faro_explorer *explorer); /* NULL is allowed */

/* The arm to play; `luck` is uniform in [0, 1). weight: that of the arm; may be NULL. */
size_t faro_explorer_pick(faro_explorer *explorer, const faro_outlook *outlook, const faro_arms *arms,
                          double luck, double *weight);
/* The same for `count` arms as rows of `dimension` numbers. */
size_t faro_explorer_pick_rows(faro_explorer *explorer, const faro_outlook *outlook, const double *features,
                               size_t count, double luck);

/* An arm from a near-optimal design on the `count` active ones; any of them if there is no design
 * (all arms zero). */
size_t faro_explorer_draw(faro_explorer *explorer, const faro_arms *arms, const size_t *active, size_t count,
                          double luck);

/* The expected slope of the link at an arm whose <x, theta> has this mean and standard
 * deviation. */
double faro_expected_slope(faro_link link, double mean, double deviation);

#endif
