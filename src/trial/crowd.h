/* crowd: the simulated clients of a trial, in a few threads of this process.
 *
 * Each client has its own token and sequence number. Each thread has one faro_client that chooses
 * and encodes; then the head of the report is given the client's token and number. The world is one
 * of faro's environments, with rewards in [0, 1].
 *
 * A client does not give up: it sends the same bytes again until they are answered. So in the end
 * it is known for every report whether it was counted, and the crowd can say what the sums must
 * be. */
#ifndef FARO_TRIAL_CROWD_H
#define FARO_TRIAL_CROWD_H

#include <faro/env.h>

#include "service/state/spool.h"
#include "trial/patterns.h"
#include "trial/trial.h"

typedef struct faro_crowd faro_crowd;

typedef struct faro_crowd_params {
  size_t threads;
  size_t group;      /* reports per post, as from a gateway; 1: every client posts by itself */
  const char *world; /* name of the environment */
  uint64_t seed;
  double patience; /* seconds to wait for the answer to a report */
  size_t listen;   /* number of secrets to remember, for searching the traffic */
} faro_crowd_params;

/* The world of these clients, at its beginning; the caller destroys it. */
faro_status faro_crowd_world(faro_env **world, const faro_trial_params *trial,
                             const faro_crowd_params *params, uint64_t horizon,
                             faro_error *error) FARO_WARN_UNUSED;
/* The last feature of every arm in such a world; 0: it varies. */
double faro_crowd_constant(const faro_trial_params *trial);
/* The features of all arms, arm by arm. */
void faro_crowd_rows(const faro_arms *arms, double *rows);

faro_status faro_crowd_create(faro_crowd **crowd, const faro_trial *trial, const faro_crowd_params *params,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_crowd_destroy(faro_crowd *crowd);

/* Uses this policy from now on. The text is copied. */
faro_status faro_crowd_policy(faro_crowd *crowd, const char *document, size_t length, uint64_t version,
                              faro_error *error) FARO_WARN_UNUSED;
/* Addresses and keys have changed by this move (wire/move.h). The text is copied. Clients go on
 * with the policy that they have; give them the newest one again. */
faro_status faro_crowd_move(faro_crowd *crowd, const char *document, size_t length,
                            faro_error *error) FARO_WARN_UNUSED;
/* Allows this many more reports. */
void faro_crowd_allow(faro_crowd *crowd, uint64_t reports);
/* Waits until all allowed reports are answered; false if the time is up or something went wrong
 * (faro_crowd_broken). */
bool faro_crowd_settled(faro_crowd *crowd, double seconds);
/* Number of reports answered so far. */
uint64_t faro_crowd_progress(faro_crowd *crowd);
/* Starts no new reports, and finishes those under way. */
void faro_crowd_stop(faro_crowd *crowd);
/* Why a client could not go on; NULL if nothing went wrong. */
const char *faro_crowd_broken(faro_crowd *crowd);

/* The results of the reports under one policy version, or of all (version 0). Valid when
 * settled. */
typedef struct faro_tally {
  uint64_t reports;                     /* reports made */
  uint64_t answers[FARO_VERDICT_COUNT]; /* answers to their parts, by verdict */
  uint64_t retries;
  uint64_t again;                 /* in rounds: reports of what was kept */
  double reward, regret, uniform; /* sums; uniform: the regret of choosing at random */
} faro_tally;
faro_tally faro_crowd_tally(const faro_crowd *crowd, uint64_t version);
/* Lets `people` more choose by the newest policy, who do not report. Nothing else may be under
 * way. */
faro_status faro_crowd_visit(faro_crowd *crowd, uint64_t people, faro_tally *tally,
                             faro_error *error) FARO_WARN_UNUSED;

/* Counts the acknowledged parts for a shuffler (0 for DIRECT) under one version, or all (version
 * 0). BITS only: adds their entries to `ones`. */
uint64_t faro_crowd_counted(const faro_crowd *crowd, size_t shuffler, uint64_t version, uint64_t *ones);
/* SEALED and DIRECT only: the acknowledged body `index` and its version; NULL if there are no
 * more. */
const unsigned char *faro_crowd_body(const faro_crowd *crowd, size_t index, uint64_t *version);

/* Where arms stay: the regret of playing this arm, or of playing at random, in each round. */
double faro_crowd_gap(const faro_crowd *crowd, size_t arm);
double faro_crowd_uniform(const faro_crowd *crowd);

const faro_patterns *faro_crowd_secrets(const faro_crowd *crowd);
/* A report as it was sent, from a client that has reported again since; NULL if no client has. */
const unsigned char *faro_crowd_old(const faro_crowd *crowd);

#endif
