/* asker: learners of generalised linear rewards that never see a row of data. They work in terms.
 * Each term is a study of different people (study.h): the study publishes the sums W_p = sum w x x'
 * of its two parts and answers a bounded number of questions, "the minimiser of the loss over this
 * region".
 *
 *     for each term:  term -> begin;  for each person: pick;
 *                     when sums are published, and at the end of the term: see,
 *                     then ask and answer while it asks */
#ifndef FARO_ASKER_H
#define FARO_ASKER_H

#include <faro/glm.h>
#include <faro/learner.h>
#include <faro/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The studies that a learner can use, besides those without privacy. */
typedef enum faro_studies {
  FARO_STUDIES_NONE,      /* no others */
  FARO_STUDIES_CONTINUAL, /* sums published after every batch */
  FARO_STUDIES_BATCHES    /* sums published once, at the end of the term */
} faro_studies;

typedef struct faro_asker_params {
  size_t dimension;
  uint64_t horizon;
  double failure;
  faro_link link;
  double bound;  /* S: bound on the parameter's norm; features have norm at most 1, rewards are at most 1 */
  double kappa;  /* bound on 1 / slope over all arms and parameters */
  size_t offers; /* the most arms in a round */
  /* predicted standard deviation of the privacy noise in an entry of a fit's gradient: over sqrt(T)
   * people, and over all T (faro_study_predict); 0: none. For learners that plan their terms */
  double noise[2];
  faro_calibration calibration;
  const void *settings; /* the kind's own; NULL: their defaults */
} faro_asker_params;

typedef struct faro_asker faro_asker;

/* FARO_INVALID if the kind is not an asker, or a parameter is out of range. */
FARO_API faro_status faro_asker_create(faro_asker **asker, const faro_learner_kind *kind,
                                       const faro_asker_params *params, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_asker_destroy(faro_asker *asker); /* NULL is allowed */
FARO_API faro_studies faro_asker_kind_studies(const faro_learner_kind *kind);

/* Number of people in the next term; 0: the rest of the horizon is played with the last estimates,
 * and nobody is asked. */
FARO_API uint64_t faro_asker_term(faro_asker *asker);
/* Starts the term, with this noise in each part's sums. Writes how many fits of each part the
 * learner may ask for. */
FARO_API void faro_asker_begin(faro_asker *asker, const faro_noise noise[FARO_PARTS],
                               uint64_t fits[FARO_PARTS]);

/* What a person plays, and the part in which the person's data counts. */
typedef struct faro_pick {
  size_t arm;
  unsigned part;
  double weight; /* factor of x x' in the part's sum */
} faro_pick;

/* `luck` is uniform in [0, 1), for learners whose people draw their arm. */
FARO_API faro_pick faro_asker_pick(faro_asker *asker, const faro_arms *arms, double luck);
FARO_API void faro_asker_see(faro_asker *asker, const faro_statistics sum[FARO_PARTS]);
/* The learner's next question, if it has one now. Its pointers are valid until the answer. */
FARO_API bool faro_asker_ask(faro_asker *asker, faro_question *question);
/* The gradient may be NULL; then theta is taken for the minimum. */
FARO_API void faro_asker_answer(faro_asker *asker, const faro_answer *answer);
FARO_API faro_diagnostics faro_asker_diagnose(const faro_asker *asker);

/* For people who are elsewhere (rounds.h). Both return false for learners without them, and under
 * calibrations other than `tight`.
 *
 * What people play now, by themselves: pick chooses the same arm. The arrays are the learner's. */
FARO_API bool faro_asker_publish(const faro_asker *asker, faro_policy *policy);
/* The estimate, `dimension` numbers, that this answer to the last question would give. Nothing is
 * changed. */
FARO_API bool faro_asker_guess(const faro_asker *asker, const faro_answer *answer, double *theta);

#ifdef __cplusplus
}
#endif

#endif
