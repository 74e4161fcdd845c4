/* split: counts in two shares, so that no party that follows the protocol sees the counts of one
 * client. (A shuffler that fills a batch with reports of its own finds out one client's from the
 * policy after it: docs/threat-model.md, Split counts.)
 *
 * A split campaign names an adder for each shuffler. A client draws a seed, and ChaCha20 makes a
 * mask m of it: a number modulo 2^k for each entry. The body of its report is
 *
 *   0  n    its counts minus the mask, modulo 2^k: k bits each, packed, lowest bit first
 *   n  112  a box, sealed to the adder, of the campaign's digest and the seed
 *
 *   client --(c - m, box)--> shuffler --(boxes of a whole batch)--> adder
 *                              |  <--(sum of m, sealed to the analyzer)--
 *                              +--(sum of c - m, sum of m)--> analyzer, which adds the two
 *
 * k is so large that no total of honest reports wraps, with SPARE bits more. docs/privacy.md, Split
 * counts, has the proof. */
#ifndef FARO_WIRE_SPLIT_H
#define FARO_WIRE_SPLIT_H

#include "wire/wire.h"

enum {
  FARO_SEED_BYTES = 32,
  FARO_BOX_BYTES = FARO_SEAL_BYTES + FARO_DIGEST_BYTES + FARO_SEED_BYTES,
  /* A total of nonsense is within the range of totals with a chance of 2^-FARO_SPLIT_SPARE at
   * most, in each entry. */
  FARO_SPLIT_SPARE = 8
};

bool faro_campaign_is_split(const faro_campaign *campaign);
/* k, from the largest total that a batch of the campaign can have. */
unsigned faro_split_width(const faro_campaign *campaign);
/* Bytes of one masked share, and of a whole body. */
size_t faro_split_packed(const faro_campaign *campaign);
size_t faro_split_body(const faro_campaign *campaign);

/* The client's side. */

/* The mask that a seed stands for: `entries` numbers below 2^width. */
void faro_split_mask(const unsigned char seed[static FARO_SEED_BYTES], unsigned width, size_t entries,
                     uint64_t *mask);
/* Writes a body. The seed must be fresh: 32 bytes of a CSPRNG, used once. */
faro_status faro_split_write(const faro_campaign *campaign, size_t shuffler, const uint64_t *counts,
                             const unsigned char seed[static FARO_SEED_BYTES], unsigned char *body,
                             faro_error *error) FARO_WARN_UNUSED;

/* The shuffler's side: adds the masked share of a body to totals of 8 bytes each, modulo 2^k. */
void faro_split_add(const faro_campaign *campaign, const unsigned char *body, unsigned char *totals);

/* Shares, as an adder gets them from its shuffler, in the layout of a batch:
 *
 *    0  4      "FRX1"
 *    4 16      first bytes of the campaign's digest
 *   20  4      shuffler
 *   24  8      number of the batch of this shuffler, from 0
 *   32  8      number of reports in it
 *   40  112 B  the boxes, in a random order
 *    . 64      Ed25519 signature of the shuffler, over everything before */
size_t faro_shares_size(uint64_t count);
void faro_shares_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                       unsigned char *out);
/* batch->body points to the boxes. */
faro_status faro_shares_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                             faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;
/* Opens a box and adds its mask to `sums`. FARO_INVALID if it is not one of this campaign; then
 * nothing was added. */
faro_status faro_share_add(const faro_campaign *campaign, const faro_seal_key *key,
                           const unsigned char box[static FARO_BOX_BYTES], uint64_t *sums,
                           faro_error *error) FARO_WARN_UNUSED;

/* A sum, as an adder signs it, and as it is part of the shuffler's batch:
 *
 *    0  4      "FRA1"
 *    4 36      as in shares: campaign, shuffler, number, reports
 *   40 n       a box, sealed to the analyzer: boxes that were not added (8 bytes), and the sum of
 *              all masks, modulo 2^k, 8 bytes for each entry
 *    . 64      Ed25519 signature of the adder, over everything before */
size_t faro_sum_size(const faro_campaign *campaign);
faro_status faro_sum_write(const faro_campaign *campaign, const faro_batch *batch, uint64_t left_out,
                           const uint64_t *sums, const faro_sign_key *key, unsigned char *out,
                           faro_error *error) FARO_WARN_UNUSED;
/* Whether the sum is the adder's, for this batch. */
faro_status faro_sum_check(const faro_campaign *campaign, const faro_batch *batch, const unsigned char *bytes,
                           faro_error *error) FARO_WARN_UNUSED;
/* Joins the body of a batch: the shuffler's totals and the adder's sum. FARO_INVALID if the totals
 * cannot be those of honest reports: a box was left out, or a total is out of range. */
faro_status faro_split_join(const faro_campaign *campaign, const faro_batch *batch, const faro_seal_key *key,
                            int64_t *totals, faro_error *error) FARO_WARN_UNUSED;

#endif
