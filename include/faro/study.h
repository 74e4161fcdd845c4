/* study: people whose data answers a bounded number of questions, all through releases.
 *
 * Each person of a study brings features x and a reward y, and belongs to one of two parts. A study
 * offers:
 *
 *   sums   running sums of w x x' over each part, published after every batch, for weights w that
 *          are known when the person comes (two releases, one per part; a person adds zero to the
 *          other)
 *   fits   the parameter of a generalised linear model on the data of a part so far, by projected
 *          gradient descent whose gradients are sums through a release; at most as many per part as
 *          faro_study_allow granted
 *
 * One claim covers everything that leaves the study, even if weights, parts, actions and the times
 * of questions depend on earlier answers (docs/privacy.md, Studies): replacing one person, who may
 * change part, costs at most what staying in a part costs. The number of people in a part is not
 * public and never used: a fit goes over everybody, and people of the other part add zero.
 *
 * The release determines who holds the data. With a trusted server it is the server. In the shuffle
 * model everybody keeps their own data and answers each step of a fit through the shuffler; this
 * object is then all of them together, for simulation. Without privacy a fit is the exact
 * minimiser. */
#ifndef FARO_STUDY_H
#define FARO_STUDY_H

#include <faro/glm.h>
#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_study_params {
  faro_link link;
  size_t dimension;
  double norm;           /* S: bound on the parameter */
  double low, reward;    /* rewards lie in [low, R], low <= 0 */
  double steepest;       /* B: bound on the weights of part 1; those of part 0 are at most 1 */
  uint64_t people;       /* the most people who will come */
  uint64_t batch;        /* people per batch; 0: the release chooses */
  uint64_t horizon;      /* T of the whole algorithm, for the constants of calibration figure */
  double failure;        /* zeta, for the same; and the probability with which bounds of fits may fail */
  double epsilon, delta; /* for everything together */
  double honest;         /* see faro_release_params */
  faro_calibration calibration;
} faro_study_params;

typedef struct faro_study faro_study;

/* Whether there are studies with this release: none, central-tree, central-factored, and all that
 * may consist of a single batch. */
FARO_API bool faro_study_takes(const faro_release_kind *kind);
/* Whether there are studies with this release under this calibration. */
FARO_API bool faro_study_calibrates(const faro_release_kind *kind, faro_calibration calibration);

/* All noise of the study is drawn from `sim`. The caller owns it, and it must outlive the study.
 * NULL: the study only answers questions about its claim, cost and noise. */
FARO_API faro_status faro_study_create(faro_study **study, const faro_release_kind *kind,
                                       const faro_study_params *params, faro_sim_rng *sim,
                                       faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_study_destroy(faro_study *study);

/* Sets how many fits of each part are allowed, once and before the first person. This fixes the
 * claim. If the study is one batch (all but none, central-tree and central-factored), only one part
 * may have fits, and the sum of the other is not published. */
FARO_API faro_status faro_study_allow(faro_study *study, const uint64_t fits[FARO_PARTS],
                                      faro_error *error) FARO_WARN_UNUSED;

/* Adds one person. Returns true if new sums were published. Features longer than 1 are scaled back,
 * rewards are clipped to [low, R], weights to their bound. Returns false, and nothing is counted,
 * before faro_study_allow, after the last person, for a part that does not exist, and in a study
 * without a stream. */
FARO_API bool faro_study_add(faro_study *study, const double *x, double y, unsigned part, double weight);
/* The sums so far, vech only, and their noise. Zero, without pointers, for a part that does not
 * exist. */
FARO_API faro_statistics faro_study_sum(const faro_study *study, unsigned part);
FARO_API faro_noise faro_study_noise(const faro_study *study, unsigned part);

/* FARO_INVALID, and nothing is spent, before faro_study_allow, when the part's fits are used up, if
 * the region's metric or the curvature is not positive definite, and if there are fewer people than
 * a shuffler needs. Before the first person, only the ridge is minimised. Responses, Laplace noise
 * and amplified messages pay for every step: there is one, so theta is the start, and the answer is
 * in the gradient. */
FARO_API faro_status faro_study_fit(faro_study *study, const faro_question *question, faro_answer *answer,
                                    faro_error *error) FARO_WARN_UNUSED;
/* The standard deviation that the privacy noise in an entry of the first fit's gradient will have
 * (faro_answer), if everybody comes. */
FARO_API faro_status faro_study_predict(const faro_study *study, unsigned part, double *noise,
                                        faro_error *error) FARO_WARN_UNUSED;
FARO_API uint64_t faro_study_left(const faro_study *study, unsigned part); /* fits left */

FARO_API const faro_claim *faro_study_claim(const faro_study *study);
/* As faro_release_grounds, for everything together. */
FARO_API char *faro_study_grounds(const faro_study *study);
/* The cost of one person, over all steps of all fits. */
FARO_API faro_cost faro_study_cost(const faro_study *study);
FARO_API uint64_t faro_study_batch(const faro_study *study);

#ifdef __cplusplus
}
#endif

#endif
