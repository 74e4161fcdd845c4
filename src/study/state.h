/* state: what a study stores, shared by its files.
 *
 *   study.c      people and their sums, and the public functions
 *   budget.c     what every release may spend, and the claim
 *   descend.c    fits by projected gradient descent
 *   published.c  fits as in the published program, under calibration figure */
#ifndef FARO_STUDY_STATE_H
#define FARO_STUDY_STATE_H

#include <faro/study.h>

#include "base/arena.h"
#include "study/budget.h"

struct faro_study {
  faro_arena arena;
  const faro_release_kind *kind;
  faro_study_params params; /* with the batch resolved */
  faro_sim_rng *sim;        /* NULL: the study only answers questions */
  faro_contribution features;
  faro_release *sum[FARO_PARTS];
  bool silent[FARO_PARTS]; /* the part's sum is not published, see budget.c */
  faro_budget_plan budget;
  faro_ledger fits[FARO_PARTS];
  bool allowed;
  faro_claim claim;
  faro_cost cost;

  /* People so far. Rows of part 0 are at the front, those of part 1 at the end: each part is
   * contiguous, and together they have room for everybody. */
  uint64_t people;
  size_t count[FARO_PARTS];
  double *x, *y;
  uint32_t *order; /* for published.c */

  faro_solver *solver;
  faro_spd *spd;
  double *zero, *scratch; /* `dimension` numbers each */
  double *theta, *gradient, *seen, *direction, *mean, *total;
  double *packed;
  double *columns; /* the rows of a fit, as columns, while it descends (glm/loss.h) */
  double *block;   /* the gradients of a block of them */
};

faro_rows faro_study_rows(const faro_study *study, unsigned part);
/* What a fit goes over. */
faro_rows faro_study_asked(const faro_study *study, const faro_question *ask);

/* The Euclidean size of a region. */
typedef struct faro_extent {
  double reach;    /* the greatest <x, theta>, ||x|| <= 1 */
  double radius;   /* half the greatest distance between two of its points */
  double least;    /* least eigenvalue of the metric */
  double trace;    /* trace of the metric's inverse */
  double residual; /* the greatest |mu(<x, theta>) - y| */
} faro_extent;

/* The source that the study's releases draw from. */
faro_source faro_study_source(const faro_study *study);

/* The greatest |mu(z) - y|, |z| <= reach. */
double faro_study_residual(const faro_study_params *params, double reach);

/* FARO_INVALID if the region, the ridge or the curvature is not valid. */
faro_status faro_study_measure(faro_study *study, const faro_question *ask, faro_extent *extent,
                               faro_error *error);

/* One fit each. Everything that can fail does so before the ledger is charged, which is before
 * noise is drawn. */
faro_status faro_study_descend(faro_study *study, const faro_question *ask, const faro_extent *extent,
                               faro_answer *answer, faro_error *error);
/* Refuses, before anything is spent, if fit number `index` of the part would be impossible with
 * everybody present. noise: its standard deviation in an entry of the gradient; may be NULL, as
 * may `grounds`. */
faro_status faro_study_rehearse(const faro_study *study, unsigned part, uint64_t index, double *noise,
                                char **grounds, faro_error *error);
faro_status faro_study_publish(faro_study *study, const faro_question *ask, faro_answer *answer,
                               faro_error *error);

#endif
