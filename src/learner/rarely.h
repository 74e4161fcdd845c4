/* rarely: generalised linear learners that rarely update their estimates. See rarely.c. */
#ifndef FARO_LEARNER_RARELY_H
#define FARO_LEARNER_RARELY_H

#include "learner/kind.h"

/* Constants that follow from the horizon and the noise. */
typedef struct faro_rarely_constants {
  double lambda[FARO_PARTS];     /* of V and of H */
  double lambda_max, lambda_min; /* as published: bounds on the eigenvalues of lambda I + noise */
  double Gamma;                  /* paper: gamma and beta follow from it and the fits' bounds */
  double gamma, beta;            /* widths: of theta_o's region (times sqrt(kappa)), of theta_tau's */
  double threshold;              /* Criterion I */
  double growth;                 /* f, for Criterion II and the similar rule for V */
  /* V and H have grown only if also by more than this, because noise alone can do as much */
  double doubt[FARO_PARTS];
  double ridge;              /* regularisation of the fits; NaN: the part's lambda */
  uint64_t fits[FARO_PARTS]; /* N_I, N_II */
} faro_rarely_constants;

typedef struct faro_rarely {
  faro_asker_params params;
  faro_host *host;
  double optimism;
  bool exact; /* rs-glm: no noise, limits that are never reached, determinants that double */
  faro_rarely_constants constant;
  faro_spd *spd;
  double *V, *V_o, *W_V; /* packed; V_o: V when theta_o was asked for; W_V: inverse factor of V */
  double *H, *H_tau, *W_H;
  double *theta_o, *theta_tau, *theta; /* theta: the one of the index */
  double *curvature, *zero;
  double *width, *score, *scratch;
  double log_det; /* of H_tau, if determinants are compared */
  uint64_t left[FARO_PARTS];
  bool wants[FARO_PARTS]; /* a fit of the part is due */
  bool answered[FARO_PARTS];
  unsigned asked; /* the part of the open question */
  bool explored;  /* somebody has explored since theta_o was asked for */
  bool explores;  /* Criterion I may apply to some arm, given the current V */
} faro_rarely;

faro_rarely_constants faro_rarely_settle(const faro_asker_params *params, bool exact,
                                         const faro_noise noise[FARO_PARTS]);
faro_status faro_rarely_init(void *state, const faro_asker_params *params, faro_host *host,
                             faro_error *error) FARO_WARN_UNUSED;
uint64_t faro_rarely_term(void *state);
void faro_rarely_begin(void *state, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]);
faro_pick faro_rarely_pick(void *state, const faro_arms *arms, double luck);
void faro_rarely_see(void *state, const faro_statistics sum[FARO_PARTS]);
bool faro_rarely_ask(void *state, faro_question *question);
void faro_rarely_answer(void *state, const faro_answer *answer);
void faro_rarely_destroy(void *state);

#endif
