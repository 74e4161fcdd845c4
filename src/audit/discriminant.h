/* discriminant: learns from runs how to score a view, so that views of the first input score
 * higher.
 *
 * For Gaussian noise whose covariance S does not depend on the input, the likelihood ratio of the
 * two inputs is a function of w . view, w = S^-1 (mean of first - mean of second). Both are
 * estimated. S is estimated in full, so that noise shared between parts of the view cancels and the
 * nodes of a tree get the right weights, or only its diagonal if the view is too wide for the
 * available runs.
 *
 * For a shuffled batch, w is that of one message, m_i are the messages less their mean, and
 * s_i = w . m_i:
 *
 *   sum       sum of s_i: all that remains if the noise of one message hides the victim
 *   largest   the greatest s_i: the victim's message if it stands out
 *   mixture   log sum exp(s_i / 2) - log sum exp(-s_i / 2): the likelihood ratio if the victim may
 *             be anyone and the two inputs are on opposite sides of the others
 *   contrast  greatest plus least s_i less the batch's own mean: noise that all messages share
 *             cancels
 *   place     the score of the message at the victim's place, with weights of its own: zero
 *             information if it was shuffled
 *
 * For a view of several batches, each with the victim in it and noise of its own, the likelihood
 * ratio is the product of theirs. Each batch is scored by itself, treated in training as a run of
 * its own, and the scores add. */
#ifndef FARO_AUDIT_DISCRIMINANT_H
#define FARO_AUDIT_DISCRIMINANT_H

#include <faro/linalg.h>

#include "base/arena.h"

enum { FARO_SLICES = 16 }; /* parts of the runs, each learned from by one thread */
enum { SCORE_SUM, SCORE_LARGEST, SCORE_MIXTURE, SCORE_CONTRAST, SCORE_PLACE, SCORES };

typedef struct faro_moments {
  uint64_t runs;  /* number of runs times batches */
  double *total;  /* sum of all messages */
  double *place;  /* the message at place 0 */
  double *sample; /* the first messages, on their own */
  double *square; /* their products: a packed triangle, or the diagonal */
} faro_moments;

typedef struct faro_discriminant {
  size_t batches, messages, width;
  size_t sampled; /* messages of a batch that the covariance is taken from */
  bool full;      /* whole covariance; else only its diagonal */
  double *origin; /* moments are taken about one message of the example, to keep precision */
  faro_moments slice[FARO_SLICES][2]; /* by input */
  faro_spd *spd;
  double *covariance, *centre, *weight, *place_weight; /* learned */
} faro_discriminant;

/* Memory comes from the arena; faro_discriminant_close frees the rest. */
faro_status faro_discriminant_open(faro_discriminant *d, size_t batches, size_t messages, size_t width,
                                   faro_arena *arena, faro_error *error) FARO_WARN_UNUSED;
void faro_discriminant_close(faro_discriminant *d);

/* Forgets what was seen. Any view serves as the example. */
void faro_discriminant_forget(faro_discriminant *d, const double *example);
/* One thread per slice at a time. What is learned depends on which runs are in which slice, and not
 * on the threads. */
void faro_discriminant_see(faro_discriminant *d, size_t slice, int input, const double *view);
void faro_discriminant_learn(faro_discriminant *d);

/* How many scores are meaningful: a view of one message has only SCORE_SUM. */
size_t faro_discriminant_scores(const faro_discriminant *d);
void faro_discriminant_score(const faro_discriminant *d, const double *view, double score[static SCORES]);
const char *faro_score_name(size_t score);

#endif
