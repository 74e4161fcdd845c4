/* elimination: what phased learners differ in. See elimination.c. */
#ifndef FARO_LEARNER_ELIMINATION_H
#define FARO_LEARNER_ELIMINATION_H

#include <faro/design.h>

#include "learner/kind.h"

typedef struct faro_elimination {
  faro_learner learner;
  faro_designer *designer;
  const faro_design *design; /* of this phase */
  faro_spd *spd;
  size_t *active, actives; /* arms left, ascending */
  size_t phase;            /* l, from 1 */
  faro_plan plan;
  size_t *arm, *place; /* of the plan; place: among the active arms */
  uint64_t *pulls;
  double h;                         /* of this phase */
  double *V, *u, *theta;            /* m x m packed, m, m: in the coordinates of the span */
  double *mean, *width, *influence; /* of the active arms */
  double *variance;                 /* sub-Gaussian, of the active arms' estimates */
} faro_elimination;

/* A phased learner: its schedule, what is asked of whom, and the published width. */
typedef struct faro_rules {
  double (*length)(const faro_elimination *);                    /* h_l: pulls of a phase, about */
  uint64_t (*clients)(const faro_elimination *);                 /* NULL: every pull is a user of its own */
  bool (*ends)(const faro_elimination *);                        /* no phase after this many; NULL: never */
  double (*width)(const faro_elimination *, const faro_heard *); /* as published */
} faro_rules;

/* The phases that fit a horizon, at most. */
double faro_elimination_phases(const faro_elimination *e);
/* Standard deviation of the privacy noise in what was heard of one arm. */
double faro_heard_sd(const faro_heard *heard);

/* The fields of a kind that all phased learners share. */
#define FARO_ELIMINATION_KIND                                                                                \
  .size = sizeof(faro_elimination), .init = faro_elimination_init, .release = faro_elimination_release

faro_status faro_elimination_init(faro_learner *learner, faro_error *error);
void faro_elimination_release(faro_learner *learner);

#endif
