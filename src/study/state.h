/* state: what a study keeps, for the files that make one up.
 *
 *   study.c      people and their sums, the public face
 *   budget.c     what every release may spend, and the claim
 *   descend.c    fits, by projected gradient descent
 *   published.c  fits as the published program has them, under calibration figure */
#ifndef FARO_STUDY_STATE_H
#define FARO_STUDY_STATE_H

#include <faro/study.h>

#include "base/arena.h"
#include "study/budget.h"

struct faro_study {
  faro_arena arena;
  const faro_release_kind *kind;
  faro_study_params params; /* batch resolved */
  faro_sim_rng *sim;        /* NULL: the study only answers questions */
  faro_contribution features;
  faro_release *sum[FARO_PARTS];
  bool silent[FARO_PARTS]; /* its sum is not published, see budget.c */
  faro_budget_plan budget;
  faro_ledger fits[FARO_PARTS];
  bool allowed;
  faro_claim claim;
  faro_cost cost;

  /* People so far. Rows of part 0 lie in front, those of part 1 at the end: each part is contiguous, and both together
   * are as long as there may be people. */
  uint64_t people;
  size_t count[FARO_PARTS];
  double *x, *y;
  uint32_t *order; /* published.c */

  faro_solver *solver;
  faro_spd *spd;
  double *zero, *scratch; /* `dimension` numbers each */
  double *theta, *gradient, *seen, *direction, *mean, *total;
  double *packed;
};

faro_rows faro_study_rows(const faro_study *study, unsigned part);

/* A region by its Euclidean size. */
typedef struct faro_extent {
  double reach;    /* the greatest <x, theta>, ||x|| <= 1 */
  double radius;   /* half the greatest distance of two of its points */
  double least;    /* eigenvalue of the metric */
  double trace;    /* of the metric's inverse */
  double residual; /* the greatest |mu(<x, theta>) - y| */
} faro_extent;

/* What its releases draw from. */
faro_source faro_study_source(const faro_study *study);

/* FARO_INVALID where the region, the ridge or the curvature is not valid. */
faro_status faro_study_measure(faro_study *study, const faro_question *ask, faro_extent *extent,
                               faro_error *error);

/* One fit each. Whatever can fail does so before the ledger is charged, and that before noise is drawn. */
faro_status faro_study_descend(faro_study *study, const faro_question *ask, const faro_extent *extent,
                               faro_answer *answer, faro_error *error);
/* Refuses, before anything is spent, what fit number `index` of the part could not do with everybody there. */
faro_status faro_study_rehearse(const faro_study *study, unsigned part, uint64_t index, faro_error *error);
faro_status faro_study_publish(faro_study *study, const faro_question *ask, faro_answer *answer,
                               faro_error *error);

#endif
