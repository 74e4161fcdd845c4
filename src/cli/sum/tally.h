/* tally: private sums of a stream of vectors whose length nobody knows.
 *
 *     values ----------- stage 1 ----------|-------------- stage 2 --------------|--- last ---|
 *             batch, batch, batch, ...       batch, batch, ... (twice as many)     what is left
 *
 * A stage is a release with a horizon of its own. When it is spent, a stage with twice the horizon
 * follows. When the input ends, the values of the batch that is still open become a stage of one
 * batch, with noise made for it. The noise of a trusted server does not depend on the number of
 * users; it fills the open batch with zeros instead, which costs less noise. Each value is in one
 * stage only, so the claim of a single stage is the claim of all (docs/privacy.md, Doubling); a
 * stage that claims less than the first is refused.
 *
 * The values of the open batch are kept in memory until its end, because only then is the number of
 * users known that the noise of the last stage must hide. */
#ifndef FARO_CLI_SUM_TALLY_H
#define FARO_CLI_SUM_TALLY_H

#include <faro/faro.h>

enum { SUM_TRUST_SHUFFLE, SUM_TRUST_CENTRAL, SUM_TRUST_LOCAL };

typedef struct sum_plan {
  size_t trust;
  faro_release_params params; /* horizon 0: unknown; batch 0: chosen */
  bool shufflers_given;       /* if not, fewer are used where they do not fit */
  bool once;                  /* one release of everything at the end */
} sum_plan;

typedef struct sum_tally {
  sum_plan plan;
  faro_contribution contribution;
  faro_source source;
  faro_release *stage; /* NULL before a single release at the end */
  uint64_t horizon;    /* of the stage */
  faro_claim claim;    /* of the first stage: no other claims less */
  bool begun;          /* there is a claim */
  /* finished stages: their sums, noise and users; and with those of the current one */
  double *past_sum, *past_scale, *sum, *scale;
  uint64_t past_users, users;
  double *open; /* the values of the open batch, `waiting` of `room` vectors */
  uint64_t waiting, room;
} sum_tally;

/* Begins the first stage, or tries out whether a release at the end would be possible. */
faro_status sum_tally_open(sum_tally *t, const sum_plan *plan, const faro_contribution *contribution,
                           faro_source source, faro_error *error) FARO_WARN_UNUSED;
void sum_tally_close(sum_tally *t);

/* Adds one user's vector. *released: sum, scale and users are new. */
faro_status sum_tally_add(sum_tally *t, const double *vector, bool *released,
                          faro_error *error) FARO_WARN_UNUSED;
/* Releases what is left at the end of the input. FARO_INVALID, with nothing released, if that
 * cannot be done under the same claim. */
faro_status sum_tally_end(sum_tally *t, bool *released, faro_error *error) FARO_WARN_UNUSED;

#endif
