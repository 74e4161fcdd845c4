/* eliminator: the state of eliminators, for the files that hold their rules. See eliminator.c. */
#ifndef FARO_LEARNER_ELIMINATOR_H
#define FARO_LEARNER_ELIMINATOR_H

#include <faro/design.h>

#include "learner/kind.h"

struct faro_eliminator {
  const faro_eliminator_kind *kind;
  faro_host host;
  faro_eliminator_params params;
  faro_eliminator_settings settings;
  faro_designer *designer;
  const faro_design *design; /* the design of this phase */
  faro_spd *spd;
  size_t *active, actives; /* remaining arms, ascending */
  size_t phase;            /* l, counted from 1 */
  double doublings;        /* j: horizons so far */
  bool open;               /* a plan was made whose sums have not been heard */
  bool core;               /* the plan plays a core set, not all active arms */
  faro_plan plan;
  size_t *arm, *place; /* the plan's arms; place: position among the active arms */
  uint64_t *pulls;
  double h;                         /* h_l of this phase */
  double *V, *u, *theta;            /* m x m packed, m, m: in the coordinates of the span */
  double *mean, *width, *influence; /* per active arm */
  double *variance;                 /* sub-Gaussian, of the estimate, per active arm */
  faro_heard *preview;              /* scratch: what a plan would hear */
};

/* Standard deviation of the privacy noise in the sum heard for one arm. */
double faro_heard_sd(const faro_heard *heard);

/* The settings of eliminators in which every pull is a user, and of those that ask clients. */
extern const faro_setting faro_eliminator_of_users[], faro_eliminator_of_clients[];

#endif
