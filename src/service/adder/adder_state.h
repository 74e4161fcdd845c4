/* adder_state: what an adder remembers, in one SQLite file, so that each share counts once and each
 * batch has one set of clients. Use it from one thread.
 *
 *   meta  campaign, which adder, number of the next batch
 *   seen  a hash of every box that was added; for ever: the same box in another batch would let its
 *         shuffler compare two totals that differ in one client
 *   last  the last batch: a hash of its boxes, and the sum as it was sent, sealed to the analyzer
 *
 * Batches come in the order of their numbers. The last one may be asked for again, with the same
 * boxes in the same order, and gets the same bytes. Any other set for a number is refused. */
#ifndef FARO_SERVICE_ADDER_ADDER_STATE_H
#define FARO_SERVICE_ADDER_ADDER_STATE_H

#include "wire/split.h"

typedef struct faro_adder_state faro_adder_state;

typedef struct faro_adder_keys {
  faro_sign_key sign;
  faro_seal_key seal;
} faro_adder_keys;

/* `known`: the campaign was joined before, so a state that holds nothing is refused. Campaign and
 * keys must outlive the state. The sum is sealed to the analyzer's key in the campaign at the time
 * of each batch. */
faro_status faro_adder_state_open(faro_adder_state **state, const char *path, const faro_campaign *campaign,
                                  size_t adder, const faro_adder_keys *keys, bool known,
                                  faro_error *error) FARO_WARN_UNUSED;
void faro_adder_state_close(faro_adder_state *state); /* NULL is allowed */
/* Whether the file belongs to this adder of this campaign, or, if no campaign is known yet, whether
 * it can be an adder's. They only read it. */
faro_status faro_adder_state_check(const char *path, const faro_campaign *campaign, size_t adder,
                                   faro_error *error) FARO_WARN_UNUSED;
faro_status faro_adder_state_recognize(const char *path, faro_error *error) FARO_WARN_UNUSED;

uint64_t faro_adder_state_next(const faro_adder_state *state); /* number of the next batch */
/* Whether the file is still at its path. May be called from any thread. */
faro_status faro_adder_state_present(const faro_adder_state *state, faro_error *error) FARO_WARN_UNUSED;

typedef struct faro_adder_answer {
  const unsigned char *sum; /* faro_sum_size bytes, until the next call */
  bool known;               /* the batch was added before */
  uint64_t left_out;        /* boxes that were not added */
} faro_adder_answer;

/* Adds the masks of a batch that faro_shares_read has read. On return everything is on the disk.
 * FARO_INVALID: the batch is not the next one, nor the last one with the same boxes. */
faro_status faro_adder_add(faro_adder_state *state, const faro_batch *batch, faro_adder_answer *answer,
                           faro_error *error) FARO_WARN_UNUSED;

#endif
