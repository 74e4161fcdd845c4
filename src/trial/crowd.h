/* crowd: the simulated clients of a trial, in a few threads of this process.
 *
 * A client has a token and a sequence number of its own; the library that chooses and encodes (faro/client.h) is one for
 * each thread, and the head of a report gets the client's token and number. The world is one environment of faro's,
 * whose rewards lie in [0, 1].
 *
 * A client does not give up: what was not answered is sent again, the same bytes, until there is an answer. So in the end
 * every report is known to be counted or not, and the crowd can say what the sums must be. */
#ifndef FARO_TRIAL_CROWD_H
#define FARO_TRIAL_CROWD_H

#include <faro/env.h>

#include "service/state/spool.h"
#include "trial/patterns.h"
#include "trial/trial.h"

typedef struct faro_crowd faro_crowd;

typedef struct faro_crowd_params {
  size_t threads;
  size_t group;      /* reports in one post, as from a gateway; 1: every client posts by itself */
  const char *world; /* an environment */
  uint64_t seed;
  double patience; /* seconds until an answer to a report must have come */
  size_t listen;   /* so many secrets are remembered, to be looked for in the traffic */
} faro_crowd_params;

faro_status faro_crowd_create(faro_crowd **crowd, const faro_trial *trial, const faro_crowd_params *params,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_crowd_destroy(faro_crowd *crowd);

/* From now on choices are made by this policy. The text is copied. */
faro_status faro_crowd_policy(faro_crowd *crowd, const char *document, size_t length, uint64_t version,
                              faro_error *error) FARO_WARN_UNUSED;
/* So many more reports. */
void faro_crowd_allow(faro_crowd *crowd, uint64_t reports);
/* Until all that were allowed are answered; false after so many seconds, or when something is wrong (faro_crowd_broken). */
bool faro_crowd_settled(faro_crowd *crowd, double seconds);
/* Reports that are answered so far. */
uint64_t faro_crowd_progress(faro_crowd *crowd);
/* No new reports; those under way come to their end. */
void faro_crowd_stop(faro_crowd *crowd);
/* Why a client could not go on; NULL: all is well. */
const char *faro_crowd_broken(faro_crowd *crowd);

/* What came of reports that were made under one policy version, or of all (version 0). Looked at when settled. */
typedef struct faro_tally {
  uint64_t reports;                     /* made */
  uint64_t answers[FARO_VERDICT_COUNT]; /* of their parts */
  uint64_t retries;
  double reward, regret,
      uniform; /* of the reports: sums of rewards, of regret, and of a uniform player's regret */
} faro_tally;
faro_tally faro_crowd_tally(const faro_crowd *crowd, uint64_t version);

/* Acknowledged parts for a shuffler (0 of DIRECT), of one version or of all (version 0): how many, and, of BITS, the sums of
 * their entries, which are added to `ones`. */
uint64_t faro_crowd_counted(const faro_crowd *crowd, size_t shuffler, uint64_t version, uint64_t *ones);
/* Of SEALED and DIRECT: body i that was acknowledged, and under which version; NULL when there are no more. */
const unsigned char *faro_crowd_body(const faro_crowd *crowd, size_t index, uint64_t *version);

const faro_patterns *faro_crowd_secrets(const faro_crowd *crowd);
/* An old report, as it was sent, of a client who has reported again since; NULL: there is none. */
const unsigned char *faro_crowd_old(const faro_crowd *crowd);

#endif
