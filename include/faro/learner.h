/* learner: turns released statistics into a policy, or into an estimate of the sum.
 *
 * A learner sees what a release published and what it may know of the noise; never a contribution,
 * never the trust model. A policy is small and enough to choose an action on the user's own device. */
#ifndef FARO_LEARNER_H
#define FARO_LEARNER_H

#include <faro/glm.h>
#include <faro/policy.h>
#include <faro/statistics.h>

/* Phased learners (elimination) work the other way round: they say which arms to play and how often, and hear private
 * sums of the rewards when that is done. */
typedef struct faro_plan {
  size_t support; /* arms to play */
  const size_t *arm;
  const uint64_t *pulls; /* how often each */
  uint64_t clients;      /* who report their averages over all of it; 0: every pull is a user of its own */
  bool last;             /* nothing more is asked: arm[0] is played for the rest of the horizon */
} faro_plan;

/* What comes back for one arm of a plan. */
typedef struct faro_heard {
  double sum;   /* released: of the rewards, or of the clients' averages */
  double count; /* how many these are */
  double scale; /* sub-Gaussian scale of the noise in it */
  double laplace,
      summands; /* or the noise is a sum of so many Laplace variables of this scale; 0: it is not */
} faro_heard;

typedef struct faro_learner_params {
  size_t dimension;
  uint64_t horizon;  /* T */
  uint64_t releases; /* M: how often statistics will be published at most */
  double norm;       /* L: bound on feature norms; that on the parameter is 1 */
  double failure;    /* probability with which the confidence region may fail */
  double reward;     /* R: sub-Gaussian scale of the rewards' own noise */
  double optimism;   /* factor on the bounds of the noise in the region: 1 is the theorem's */
  bool figure;       /* the published experiments' region instead of the theorem's */
  /* Phased learners. `reward` is half the width of the rewards' interval there. */
  const faro_arms *arms; /* all of them; they stay */
  bool paper;            /* the published widths instead of those of the noise as it is */
  bool core;             /* play a small core set; else every active arm alike */
  double alpha;          /* clients grow as 2^(alpha l); */
  uint64_t clients;      /* or are always so many, when not 0 */
  double spread;         /* sub-Gaussian scale of clients' parameters about the common one */
  bool guess;            /* of sum: whoever is not covered by a release yet counts as 1/2 */
  /* Generalised linear rewards, in [0, 1]; features of norm at most 1. */
  faro_link link;
  double bound;  /* S: on the parameter */
  double kappa;  /* on 1 / slope, over all arms and parameters that there may be */
  size_t offers; /* arms in a round, at most */
  faro_noise noise;
} faro_learner_params;

typedef struct faro_learner_diagnostics {
  uint64_t updates;
  uint64_t active;   /* phased: arms left */
  uint64_t shifted;  /* updates in which noise had made V indefinite, so that it was shifted */
  uint64_t explored; /* generalised linear: rounds of part 0 */
} faro_learner_diagnostics;

typedef struct faro_learner faro_learner;
typedef struct faro_learner_kind faro_learner_kind;

FARO_API size_t faro_learner_kinds(void);
FARO_API const faro_learner_kind *faro_learner_kind_at(size_t index);
FARO_API const faro_learner_kind *faro_learner_kind_find(const char *name);
FARO_API const char *faro_learner_kind_name(const faro_learner_kind *kind);
FARO_API const char *faro_learner_kind_summary(const faro_learner_kind *kind);
FARO_API bool
faro_learner_kind_sums(const faro_learner_kind *kind); /* for streams of numbers: estimates their sum */

FARO_API faro_status faro_learner_create(faro_learner **learner, const faro_learner_kind *kind,
                                         const faro_learner_params *params,
                                         faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_learner_destroy(faro_learner *learner);
FARO_API void faro_learner_update(faro_learner *learner, const faro_statistics *statistics);
/* A learner of sums has no w and makes no choices: after t users the running sum is estimated as theta_0 + theta_1 t. */
FARO_API const faro_policy *faro_learner_policy(const faro_learner *learner);
FARO_API faro_learner_diagnostics faro_learner_diagnose(const faro_learner *learner);

FARO_API bool faro_learner_kind_phased(const faro_learner_kind *kind);
FARO_API bool
faro_learner_kind_clients(const faro_learner_kind *kind); /* its plans ask clients for averages */
/* The next phase's plan, which holds until the next call. */
FARO_API faro_status faro_learner_plan(faro_learner *learner, const faro_plan **plan,
                                       faro_error *error) FARO_WARN_UNUSED;
/* What came of it, in the order of the plan's arms. */
FARO_API void faro_learner_hear(faro_learner *learner, const faro_heard *heard);
/* The arm that looks best. */
FARO_API size_t faro_learner_best(const faro_learner *learner);
/* Whether the arm is still in. */
FARO_API bool faro_learner_holds(const faro_learner *learner, size_t arm);

/* Learners of generalised linear rewards. They work in terms, each a study of so many people (study.h): the sums
 * W_p = sum w x x' of its two parts, and fits. A term goes
 *
 *   begin -> fits allowed;   for each person: pick, [observe];   when sums are out: see, and then ask, answer while it
 *   asks;                    at the end of the term the same once more */
enum { FARO_LEARNER_PARTS = 2 };

/* What a person does, and where the person's data counts. */
typedef struct faro_pick {
  size_t arm;
  unsigned part;
  double weight; /* of x x' in the part's sum */
} faro_pick;

/* A fit: the minimiser of L (glm.h) over a part's data and a region, see faro_ask in study.h. */
typedef struct faro_question {
  unsigned part;
  double ridge;
  faro_region region;
  const double *curvature, *start;
} faro_question;

typedef struct faro_reply {
  const double *theta;
  double bound; /* of its excess loss */
  double noise; /* standard deviation of the noise in an entry of the gradient behind theta; 0: exact */
} faro_reply;

/* Which studies a learner can work through, apart from those without privacy. */
typedef enum faro_studies {
  FARO_STUDIES_NONE,      /* no others */
  FARO_STUDIES_CONTINUAL, /* sums that are published all the time */
  FARO_STUDIES_BATCHES    /* sums once, at the end of the term */
} faro_studies;

FARO_API bool faro_learner_kind_glm(const faro_learner_kind *kind);
FARO_API faro_studies faro_learner_kind_studies(const faro_learner_kind *kind);
FARO_API bool
faro_learner_kind_observes(const faro_learner_kind *kind); /* sees raw data: no privacy, no study */
/* People of the next term; 0: nobody is asked any more, and the rest of the horizon is played as things are. */
FARO_API uint64_t faro_learner_term(faro_learner *learner);
/* The term starts: what its sums' noise will be, and how many fits of each part the learner may ask for. */
FARO_API void faro_learner_begin(faro_learner *learner, const faro_noise noise[static FARO_LEARNER_PARTS],
                                 uint64_t fits[static FARO_LEARNER_PARTS]);
/* `luck` is uniform in [0, 1): for learners whose people draw their arm. */
FARO_API faro_pick faro_learner_pick(faro_learner *learner, const faro_arms *arms, double luck);
FARO_API void faro_learner_observe(faro_learner *learner, const double *x, double y);
FARO_API void faro_learner_see(faro_learner *learner, const faro_statistics sum[static FARO_LEARNER_PARTS]);
/* The learner's next question, if it has one now; pointers hold until the answer. */
FARO_API bool faro_learner_ask(faro_learner *learner, faro_question *question);
FARO_API void faro_learner_answer(faro_learner *learner, const faro_reply *reply);

/* The user's side: chooses arms under a policy. Scores are kept, so that a user who meets the same
 * policy and the same arms again costs nothing. */
typedef struct faro_selector faro_selector;

FARO_API faro_status faro_selector_create(faro_selector **selector, size_t dimension, size_t arms,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_selector_destroy(faro_selector *selector);
FARO_API size_t faro_select(faro_selector *selector, const faro_policy *policy, const faro_arms *arms);

#endif
