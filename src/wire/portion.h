/* portion: a shuffler in n parts, all of one operator. Each collector takes the reports of some
 * clients and closes a portion of every batch. The joiner, which has the shuffler's key, joins the
 * n portions of a batch, and only then does anything leave the shuffler.
 *
 *   clients -> collector hash(token) mod n -> portion, sealed to the joiner -> joiner -> batch
 *
 * A portion, as the joiner receives it from a collector:
 *
 *    0  4  "FRP1"
 *    4 16  first bytes of the campaign's digest
 *   20  4  shuffler
 *   24  8  number of the batch of this shuffler, from 0
 *   32  8  number of reports in the portion
 *   40  4  collector, from 0
 *   44  4  n, the number of collectors
 *   48 16  mark: tells a portion that comes again from another one of the same number
 *   64  n  a sealed box (X25519, libsodium) to the joiner's key: what a batch of these reports has
 *          for its body
 *    . 64  Ed25519 signature of the collector, over everything before
 *
 * The noise of reports is made for the whole batch. So a portion is more secret than a batch, and
 * is sealed even if the line is not. The mark is a hash of the body under the collector's secret
 * key: nobody else can use it to confirm a guess. */
#ifndef FARO_WIRE_PORTION_H
#define FARO_WIRE_PORTION_H

#include "wire/wire.h"

enum {
  FARO_COLLECTORS_MAX = FARO_SHUFFLERS_MAX,
  FARO_PORTION_LEAST = 8, /* reports: below, a batch would mostly wait for its slowest collector */
  FARO_PORTION_HEAD = 64,
  FARO_MARK_BYTES = 16,
  FARO_PORTION_DIGITS = 2 * (FARO_PORTION_HEAD + FARO_SIGNATURE_BYTES)
};

/* The collector of a client: the last 8 bytes of the hash of its token, little-endian, mod n. */
size_t faro_collector_of(const unsigned char hash[static FARO_HASH_BYTES], size_t collectors);
/* Reports in the portion of a batch: the n-th part of them, and one more for the first collectors
 * if that is not a whole number. */
uint64_t faro_portion_size(uint64_t batch, size_t collector, size_t collectors);
/* Refuses more collectors than the shuffler's batches allow, and campaigns whose batches are not
 * known in advance. */
faro_status faro_portions_check(const faro_campaign *campaign, size_t shuffler, size_t collectors,
                                faro_error *error) FARO_WARN_UNUSED;

typedef struct faro_portion {
  uint32_t collector, collectors;
  faro_batch batch; /* the portion, as if it were the batch */
  unsigned char mark[FARO_MARK_BYTES];
} faro_portion;

/* The public keys of the collectors, in order. */
typedef unsigned char faro_collector_key[FARO_KEY_BYTES];

size_t faro_portion_bytes(const faro_campaign *campaign, uint64_t count);
/* Sets the mark. */
void faro_portion_mark(const faro_campaign *campaign, faro_portion *portion, const faro_sign_key *key);
/* Seals and signs. `joiner` is the shuffler's public signing key. */
faro_status faro_portion_write(const faro_campaign *campaign, const faro_portion *portion,
                               const unsigned char joiner[static FARO_KEY_BYTES], const faro_sign_key *key,
                               unsigned char *out, faro_error *error) FARO_WARN_UNUSED;
/* Checks the signature, opens the box and checks the totals. The body is opened in place: it points
 * into `bytes`, which the caller wipes. */
faro_status faro_portion_read(const faro_campaign *campaign, uint32_t shuffler, const faro_sign_key *joiner,
                              const faro_collector_key *keys, size_t collectors, unsigned char *bytes,
                              size_t length, faro_portion *portion, faro_error *error) FARO_WARN_UNUSED;

/* The notice of a portion, in the header Faro-Portion: the head, and a signature over "FRQ1" and
 * the rest of it. Compare faro_notice_write. */
void faro_portion_notice(const faro_campaign *campaign, const faro_portion *portion, const faro_sign_key *key,
                         char out[static FARO_PORTION_DIGITS + 1]);
faro_status faro_portion_notice_read(const faro_campaign *campaign, uint32_t shuffler,
                                     const faro_collector_key *keys, size_t collectors, const char *text,
                                     size_t length, faro_error *error) FARO_WARN_UNUSED;

/* Where clients find the collectors: a document of the shuffler's, at GET /v1/collectors. Addresses
 * may change within a campaign, their number may not. */
typedef struct faro_collectors {
  unsigned char campaign[FARO_DIGEST_BYTES];
  uint32_t shuffler;
  size_t count;
  struct {
    char url[FARO_URL_MAX + 1];
  } collector[FARO_COLLECTORS_MAX];
} faro_collectors;

faro_status faro_collectors_write(const faro_collectors *collectors, const faro_sign_key *key, char **text,
                                  size_t *length, faro_error *error) FARO_WARN_UNUSED;
/* Verifies that the shuffler of the campaign has signed it. */
faro_status faro_collectors_open(faro_collectors *collectors, const char *text, size_t length,
                                 const faro_campaign *campaign, size_t shuffler,
                                 faro_error *error) FARO_WARN_UNUSED;

#endif
