/* agent: a learner behind a private release, stepped from outside.
 *
 * An agent chooses arms for people, learns from their rewards through a release, and can state at
 * any time what it guarantees. The simulator, the service and the language bindings all use this
 * header. Unless `use` says that it is deployed, an agent is a simulation: its noise follows from
 * `seed`, 0 by default, and protects nobody.
 *
 *     faro_agent *agent;
 *     faro_agent_params params = {.learner = "linucb", .release = "shuffle-bits", .dimension = 5,
 *                                 .horizon = 100000, .epsilon = 1, .delta = 1e-6, .seed = 1};
 *     if (faro_agent_create(&agent, &params, &error) != FARO_OK) ...
 *     for (each person) {
 *       size_t arm = faro_agent_choose(agent, features, arms);
 *       if (faro_agent_learn(agent, features + arm * 5, reward, &error) != FARO_OK) ...
 *     }
 *     faro_agent_destroy(agent);
 *
 * Use an agent in one thread at a time. Create allocates memory; if the horizon is unknown, so does
 * the end of an epoch. */
#ifndef FARO_AGENT_H
#define FARO_AGENT_H

#include <faro/release.h>
#include <faro/selector.h>
#include <faro/updater.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_agent faro_agent;

/* Members that are 0 or NULL have the default in their comment. */
typedef struct faro_agent_params {
  const char *learner; /* an updater, as listed by `faro list learners` */
  const char *release;
  size_t dimension;
  /* Features come in this many blocks of one length, of which a person uses one at a time, such as
   * a block per arm: products across blocks are left out, and so is their noise. 0: 1 */
  size_t blocks;
  size_t arms;           /* arms per choice for which scoring is fast; more are allowed. 0: 256 */
  uint64_t horizon;      /* number of people; 0: unknown */
  double epsilon, delta; /* the guarantee to reach */
  /* People before the first release; 0: the release chooses them, and how batches grow. Otherwise
   * growth and largest are as in release.h. */
  uint64_t batch;
  double growth;
  uint64_t largest;
  uint64_t shufflers; /* concurrent-bits only: their number; 0: log2(horizon) - 1 */
  faro_level level;
  uint64_t contributions;  /* level user only: the most rounds of one person, at most one per batch; 0: 1 */
  double honest;           /* share of a batch whose noise the claim counts on; 0: 1 */
  bool adaptive;           /* see faro_release_params */
  bool adversarial;        /* likewise */
  double local_epsilon;    /* likewise */
  bool anytime;            /* the algorithm does not know the horizon: it starts small and doubles */
  const char *calibration; /* NULL: tight */
  double norm;             /* features are scaled back to this norm; 0: 1 */
  double centre;           /* subtracted from rewards first; for features that contain a constant */
  double low, high;        /* the result is clipped to them; both 0: to -centre and 1 - centre */
  /* Rewards whose mean is mu(<x, theta>): in [0, 1], not centred, for learners that know them; the
   * parameter is within `bound` of 0. */
  faro_link link;
  double bound;
  bool public_arms;     /* features are public, and only rewards are protected; simulation only */
  double failure;       /* probability with which confidence regions may fail; 0: 0.1 */
  const void *settings; /* the learner's own; NULL: their defaults */
  /* Simulated (the default) or deployed: as a server that gets messages, or as all parties in one
   * process. Deployed noise is exact and comes from the operating system's generator. */
  faro_use use;
  uint64_t seed, instance; /* simulation only: they name all random streams */
} faro_agent_params;

/* Fails with FARO_INVALID and a message if the learner cannot use this release, if no noise reaches
 * the guarantee, or if the release cannot be deployed. */
FARO_API faro_status faro_agent_create(faro_agent **agent, const faro_agent_params *params,
                                       faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_agent_destroy(faro_agent *agent); /* NULL is allowed */

/* Returns the arm to play. `features` holds `arms` rows of `dimension` numbers; no alignment is
 * required. */
FARO_API size_t faro_agent_choose(faro_agent *agent, const double *features, size_t arms);
/* The same for arms as columns, which is faster if the arms stay the same. */
FARO_API size_t faro_agent_choose_from(faro_agent *agent, const faro_arms *arms);

/* Records one person's reward for the features of the arm played. Both are clipped. When a person
 * completes a batch, the release publishes and the policy changes (its version grows). Fails only
 * at the end of an epoch, and then the agent continues unchanged. Once the horizon is over, nothing
 * more is learned. */
FARO_API faro_status faro_agent_learn(faro_agent *agent, const double *x, double reward,
                                      faro_error *error) FARO_WARN_UNUSED;
/* The same for `people` people alike, in simulation: FARO_INVALID for more than one in a
 * deployment. Those beyond what faro_release_missing says of the agent's release are left out. */
FARO_API faro_status faro_agent_learn_alike(faro_agent *agent, const double *x, double reward,
                                            uint64_t people, faro_error *error) FARO_WARN_UNUSED;
/* The same for a whole batch of messages (message.h), as an analyzer gets them. On failure nothing
 * is changed. */
FARO_API faro_status faro_agent_analyze(faro_agent *agent, const void *messages, size_t count,
                                        faro_error *error) FARO_WARN_UNUSED;

FARO_API const faro_policy *faro_agent_policy(const faro_agent *agent);
/* What the agent guarantees, for everything published so far and until the horizon. */
FARO_API const faro_claim *faro_agent_claim(const faro_agent *agent);
FARO_API faro_cost faro_agent_cost(const faro_agent *agent);
/* What the release has published; public_arms: sums of x (y - middle), see contribution.h. */
FARO_API faro_statistics faro_agent_statistics(const faro_agent *agent);
FARO_API const faro_release *faro_agent_release(const faro_agent *agent);
/* As faro_doubling_grounds, for all users of the horizon. */
FARO_API char *faro_agent_grounds(const faro_agent *agent);
FARO_API uint64_t faro_agent_batch(const faro_agent *agent);   /* people before the first release */
FARO_API uint64_t faro_agent_batches(const faro_agent *agent); /* published so far, over all epochs */
FARO_API bool faro_agent_done(const faro_agent *agent);        /* nothing more will be published */
FARO_API faro_diagnostics faro_agent_diagnose(const faro_agent *agent);

/* Everything that the next batch needs from the past, between two batches (see faro_release_save).
 * An agent just created from the same parameters continues from it. The size is 0 if saving is not
 * possible. Continue a state once, and do not use the old agent again: two that continue from one
 * state publish its sums twice, which no claim covers. With a trusted server (joint) a state is as
 * secret as the data. Two simulations that continue with the same seed draw the same noise. */
FARO_API size_t faro_agent_state_size(const faro_agent *agent);
FARO_API faro_status faro_agent_save(const faro_agent *agent, void *state,
                                     faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_agent_load(faro_agent *agent, const void *state, size_t size,
                                     faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
