/* plan: which release, learner and schedule suit a problem, before anything is run.
 *
 *     faro_problem problem = {.users = 20000, .dimension = 10, .arms = 50,
 *                             .epsilon = 2, .delta = 1e-6};
 *     faro_advice *advice;
 *     if (faro_advise(&advice, &problem, NULL, &error) != FARO_OK) ...
 *     for (size_t i = 0; i < advice->count; i++)
 *       printf("%s: regret %.0f\n", advice->way[i].release, advice->way[i].regret.mean);
 *     faro_advice_destroy(advice);
 *
 * A prediction is a simulation in which a few people stand for many (docs/plan.md): real learners,
 * real noise, real claims, in a hundredth of the time. The same problem and seed give the same
 * advice on any number of threads. */
#ifndef FARO_PLAN_H
#define FARO_PLAN_H

#include <faro/env.h>
#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Members that are 0 have the default in their comment. */
typedef struct faro_problem {
  uint64_t users;
  size_t dimension, arms;
  double epsilon, delta;
  faro_contexts contexts; /* fresh, fixed or adversarial */
  faro_link rewards;      /* linear, logistic or probit */
  /* The most rounds of one user, all of them protected together; each user then plays as many.
   * 0: one round, and the claim is about rounds. */
  uint64_t contributions;
  unsigned trusts;    /* sum of 1U << FARO_TRUST_...: who is there; 0: every trust model */
  double honest;      /* share of a batch that does not collude with the server; 0: 0.9 */
  uint64_t shufflers; /* the most shufflers where there are several; 0: 5 */
} faro_problem;

typedef struct faro_advice_options {
  bool simulate;    /* simulate everybody instead of predicting */
  uint64_t seed;    /* 0: 1 */
  size_t instances; /* 0: as many as a good prediction needs; a simulation: 8 */
  size_t jobs;      /* threads; 0: one per processor */
  bool (*stopped)(void *context);
  /* Called now and then, from the thread that called. May be NULL. */
  void (*progress)(void *context, size_t done, size_t total);
  void *context;
} faro_advice_options;

/* low, high: a 95 % interval of the mean; for a prediction, with the error of predicting. */
typedef struct faro_expected {
  double mean, low, high;
} faro_expected;

/* One way to learn under one trust model. */
typedef struct faro_way {
  const char *learner, *release;
  faro_trust trust;
  uint64_t shufflers; /* 0 without a shuffler */
  /* Users of the first batch, growth and largest batch, as in faro_release_params. */
  uint64_t batch, largest;
  double growth;
  bool automatic;   /* that is what `batch: auto` means */
  bool surrogate;   /* generalised linear rewards are treated as linear */
  uint64_t updates; /* how often the policy changes */
  faro_expected regret;
  double error; /* typical error of predicting it, as a factor; 1: everybody was simulated */
  /* Recommended for its trust model: of the ways that show no difference to the best, the one with
   * the fewest shufflers, and then the fewest bytes sent. */
  bool chosen;
  double learnt; /* 1 - regret over that of uniform play; may be below 0 */
  double bytes;  /* that a user sends, see faro_cost */
  double noise;  /* standard deviation of the noise in an entry of the last sum of x y */
  /* Chosen ways that learn less than half: how many users it would take to learn half; 0: not
   * sought, or more than 10^9. */
  uint64_t needed;
  faro_claim claim;
  char *experiment; /* YAML for faro_experiment_parse, or `faro run -` */
} faro_way;

typedef struct faro_advice {
  size_t count;
  faro_way *way;     /* by trust model, from server to nobody: the chosen one, then by regret */
  double uniform;    /* regret of uniform play */
  double error;      /* the largest of the ways */
  uint64_t rounds;   /* users times contributions */
  size_t refused;    /* ways that cannot reach the guarantee */
  char refusal[512]; /* why, of one of them */
} faro_advice;

/* FARO_INVALID if a member is out of range, or no way reaches the guarantee. `options` may be
 * NULL. */
FARO_API faro_status faro_advise(faro_advice **advice, const faro_problem *problem,
                                 const faro_advice_options *options, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_advice_destroy(faro_advice *advice); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
