/* wire: what travels between client, shuffler and analyzer, to the byte. docs/protocol.md says the same in words.
 *
 * Documents (campaign, policy) are text: one line with the kind and a signature, then JSON.
 *
 *   faro-campaign-1 <128 hexadecimal digits: Ed25519>\n{...}
 *
 * The signature covers the line's first word, "\n" and the JSON, byte by byte; what is signed is what is sent, so nothing
 * needs a canonical form. A document's digest is BLAKE2b-256 of the same bytes.
 *
 * Messages (reports, batches) are binary, of a size that the campaign fixes; numbers are little-endian. */
#ifndef FARO_WIRE_WIRE_H
#define FARO_WIRE_WIRE_H

#include <faro/release.h>

#include "wire/bytes.h"

enum {
  FARO_KEY_BYTES = 32, /* public keys: Ed25519 and X25519; secret X25519 */
  FARO_SECRET_BYTES = 64,
  FARO_SIGNATURE_BYTES = 64,
  FARO_DIGEST_BYTES = 32,
  FARO_TOKEN_BYTES = 32,
  FARO_HASH_BYTES = 16, /* of a token: what a shuffler keeps */
  FARO_SEAL_BYTES = 48, /* what a sealed box adds */
  FARO_URL_MAX = 255,
  FARO_ID_MAX = 63,
  FARO_NONCE_BYTES = 16,
  FARO_SHUFFLERS_MAX = 20,
  FARO_WIRE_DIMENSION_MAX = 256, /* a policy fits in a document */
  FARO_DOCUMENT_MAX = 1 << 20,
  FARO_ENTRY_BITS_MAX = 100000000, /* of an entry of a report, over all its parts */
  FARO_BATCH_MAX = 256 << 20       /* bytes of the bodies of a batch: it travels in one piece */
};

/* Keys are made by `faro keys`; a file holds one line, "faro-sign-secret-1 <hex>" and so on. */
typedef struct faro_sign_key {
  unsigned char public_key[FARO_KEY_BYTES], secret[FARO_SECRET_BYTES];
} faro_sign_key;
typedef struct faro_seal_key {
  unsigned char public_key[FARO_KEY_BYTES], secret[FARO_KEY_BYTES];
} faro_seal_key;

/* How reports of a campaign are made, mixed and read. */
typedef enum faro_wire_form {
  FARO_WIRE_BITS,   /* numbers of ones, added up by the shuffler: shuffle-bits, concurrent-bits */
  FARO_WIRE_SEALED, /* whole messages on a grid, sealed to the analyzer, permuted: shuffle-amplified */
  FARO_WIRE_DIRECT /* whole messages to the analyzer itself: local, and central-tree without noise on the way */
} faro_wire_form;

typedef struct faro_campaign {
  char id[FARO_ID_MAX + 1];
  unsigned char nonce[FARO_NONCE_BYTES]; /* so that a campaign which is founded anew is another one */
  const faro_release_kind *release;
  faro_contribution contribution; /* moments: x of norm <= norm, y within [low, high] */
  double centre;                  /* of rewards: y = reward - centre, clipped then */
  faro_release_params
      params;    /* epsilon, delta, horizon, batch, shufflers, level, contributions, honest; tight */
  uint64_t arms; /* at most so many in a choice */
  double failure, optimism;           /* of the learner, linucb */
  faro_claim claim;                   /* as the analyzer states it */
  unsigned char seal[FARO_KEY_BYTES]; /* the analyzer's, X25519 */
  char analyzer[FARO_URL_MAX + 1];
  size_t shufflers; /* processes; 0: reports go to the analyzer */
  char shuffler[FARO_SHUFFLERS_MAX][FARO_URL_MAX + 1];
  unsigned char shuffler_key[FARO_SHUFFLERS_MAX][FARO_KEY_BYTES]; /* Ed25519 */
  /* What follows from the above, set by open and write: */
  unsigned char digest[FARO_DIGEST_BYTES];     /* of the document */
  uint64_t batches;                            /* M, of `batch` reports each */
  faro_shuffler_task task[FARO_SHUFFLERS_MAX]; /* size: reports in a batch of that shuffler */
  int64_t least[FARO_SHUFFLERS_MAX],
      most[FARO_SHUFFLERS_MAX]; /* of an entry in a report to it; [0] of DIRECT too */
} faro_campaign;

/* JSON of a campaign, signed; free() it. Chooses the batch where it is 0, takes the claim from faro's own accountant, and
 * sets what follows. */
faro_status faro_campaign_write(faro_campaign *campaign, const faro_sign_key *key, char **text,
                                size_t *length, faro_error *error) FARO_WARN_UNUSED;
/* Verifies the signature, reads strictly (unknown, missing, repeated keys, wrong types and values out of range are refused
 * by name), and makes the release from the parameters: the claim must come out of faro's own accountant, not weaker than
 * stated. */
faro_status faro_campaign_open(faro_campaign *campaign, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;
faro_wire_form faro_campaign_form(const faro_campaign *campaign);
/* The names of the releases that a campaign can have, by their index; NULL past the last one. */
const char *faro_campaign_release(size_t index);
/* Whether a shuffler collects while batch `batch` (from 0) of the campaign is open: not beyond the horizon, and not when it
 * could not fill up within it. */
bool faro_campaign_active(const faro_campaign *campaign, size_t shuffler, uint64_t batch);

/* Whether it is http:// or https:// and names a host. */
bool faro_url_whole(const char *url);

/* Whether a token may be sent there: https, or http that does not leave this machine (127.0.0.1, [::1], localhost). A
 * campaign may state other addresses; whoever sends to them decides. */
bool faro_url_local(const char *url);

/* Whether a claim promises what `least` does, or more; a refusal names both sides: "epsilon of <whose> is 2, and <asks> at
 * most 1". */
faro_status faro_claim_meets(const faro_claim *got, const char *whose, const faro_claim *least,
                             const char *asks, faro_error *error) FARO_WARN_UNUSED;

/* Version v is computed from the first v - 1 batches; version 1 from nothing. */
typedef struct faro_wire_policy {
  unsigned char campaign[FARO_DIGEST_BYTES];
  uint64_t version;
  size_t dimension;
  double beta;
  double *theta, *w; /* d and packed d (d+1)/2; of open: free() theta, w is behind it */
} faro_wire_policy;

faro_status faro_policy_write(const faro_wire_policy *policy, const faro_sign_key *key, char **text,
                              size_t *length, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_policy_open(faro_wire_policy *policy, const char *text, size_t length,
                             const unsigned char signer[static FARO_KEY_BYTES],
                             faro_error *error) FARO_WARN_UNUSED;

/* A report, as one shuffler (or the analyzer) gets it:
 *
 *    0  4  "FRR1"
 *    4 16  the first bytes of the campaign's digest
 *   20  8  version of the policy that chose the action
 *   28  8  sequence number of the client, 1 .. 2^63 - 1, rising: what was sent is never accepted again
 *   36  4  shuffler, from 0
 *   40 32  the client's token
 *   72  n  body
 *
 * Body, BITS: for each entry the number of ones, 4 bytes. SEALED: a sealed box (X25519, libsodium) of the campaign's whole
 * digest and the message's entries, 8 bytes each, two's complement. Nothing else: whoever opens it gets the boxes of a batch
 * shuffled, and must not be able to tell them apart; the version is for the shuffler alone. DIRECT: the same, sealed too,
 * so that whoever carries it learns nothing; the analyzer sees the head as well. */
enum { FARO_REPORT_HEAD = 72 };

typedef struct faro_wire_report {
  uint64_t version, sequence;
  uint32_t shuffler;
  unsigned char token[FARO_TOKEN_BYTES];
  const unsigned char *body;
} faro_wire_report;

size_t faro_wire_report_size(const faro_campaign *campaign); /* the same for all reports of a campaign */
size_t faro_wire_report_entries(const faro_campaign *campaign);
/* Head and body; `numbers` are one part of a message as faro_release_randomize makes it. */
faro_status faro_wire_report_write(const faro_campaign *campaign, const faro_wire_report *report,
                                   const uint64_t *numbers, unsigned char *out,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Checks magic, campaign and shuffler; of BITS also that no entry exceeds the campaign's bits. The body stays in place. */
faro_status faro_wire_report_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                                  faro_wire_report *report, faro_error *error) FARO_WARN_UNUSED;
/* What the analyzer does with a SEALED or DIRECT body: opens it, checks digest and range. */
faro_status faro_wire_report_unseal(const faro_campaign *campaign, const faro_seal_key *key,
                                    const unsigned char *body, int64_t *numbers,
                                    faro_error *error) FARO_WARN_UNUSED;

/* A batch, as the analyzer gets it from a shuffler:
 *
 *    0  4  "FRB1"
 *    4 16  the first bytes of the campaign's digest
 *   20  4  shuffler
 *   24  8  batch, from 0, of this shuffler
 *   32  8  reports in it
 *   40  n  BITS: for each entry the total of ones, 8 bytes. SEALED: the bodies, permuted
 *    . 64  Ed25519 of the shuffler, over all before */
enum { FARO_BATCH_HEAD = 40 };

typedef struct faro_batch {
  uint32_t shuffler;
  uint64_t number, count;
  const unsigned char *body;
} faro_batch;

size_t faro_batch_size(const faro_campaign *campaign, uint64_t count);
void faro_batch_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                      unsigned char *out);
faro_status faro_batch_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                            faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;

/* What a shuffler says before a batch, in the header Faro-Batch of the request, so that the bytes of nobody else are taken:
 * the hexadecimal digits of
 *
 *    0 40  the batch's head
 *   40 64  Ed25519 of the shuffler, over "FRH1" and bytes 4 .. 39 of the head
 *
 * No batch begins with FRH1: this is never the signature of one, nor the other way round. */
enum { FARO_NOTICE_DIGITS = 2 * (FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES) };

/* With a zero byte. The body is not looked at, here and there. */
void faro_notice_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                       char out[static FARO_NOTICE_DIGITS + 1]);
faro_status faro_notice_read(const faro_campaign *campaign, const char *text, size_t length,
                             faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;

/* Keys, and files of them. A file has one line: its kind, a blank, hexadecimal digits. Secrets have mode 600 and are refused
 * when others may read them; a file that is there already is never overwritten. */
#define FARO_SIGN_SECRET "faro-sign-secret-1" /* FARO_SECRET_BYTES */
#define FARO_SIGN_PUBLIC "faro-sign-public-1"
#define FARO_SEAL_SECRET "faro-seal-secret-1"
#define FARO_SEAL_PUBLIC "faro-seal-public-1"

faro_status faro_sign_key_make(faro_sign_key *key, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_seal_key_make(faro_seal_key *key, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_key_save(const char *path, const char *kind, const unsigned char *bytes, size_t length,
                          faro_error *error) FARO_WARN_UNUSED;
faro_status faro_key_load(const char *path, const char *kind, unsigned char *bytes, size_t length,
                          faro_error *error) FARO_WARN_UNUSED;
/* Reads a public signing key from its hexadecimal digits into FARO_KEY_BYTES bytes. False for anything else, and for digits
 * that no key pair has, such as the zeros of an example. */
bool faro_public_key_read(const char *text, void *key);
#define FARO_PUBLIC_KEY_ALLOWED                                                                              \
  "the 64 hexadecimal digits of a public signing key, as `faro keys show` prints it; not a placeholder"
/* Overwrites a secret that is no longer needed. */
void faro_key_wipe(void *key, size_t size);
/* Both halves, from the file of the secret one. */
faro_status faro_sign_key_load(const char *path, faro_sign_key *key, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_seal_key_load(const char *path, faro_seal_key *key, faro_error *error) FARO_WARN_UNUSED;
/* The first 8 bytes of BLAKE2b-256 of a public key, as people compare them. */
enum { FARO_FINGERPRINT_SIZE = 24 };
const char *faro_fingerprint(const unsigned char key[static FARO_KEY_BYTES],
                             char out[static FARO_FINGERPRINT_SIZE]);

/* Tokens, and their hashes (BLAKE2b-128), one a line in hexadecimal digits. Hashes are loaded sorted, each once, however the
 * file has them. free() what was loaded. */
void faro_token_hash(const unsigned char token[static FARO_TOKEN_BYTES],
                     unsigned char hash[static FARO_HASH_BYTES]);
faro_status faro_tokens_make(const char *tokens, const char *hashes, size_t count,
                             faro_error *error) FARO_WARN_UNUSED;
faro_status faro_tokens_load(const char *path, unsigned char **tokens, size_t *count,
                             faro_error *error) FARO_WARN_UNUSED;
faro_status faro_hashes_load(const char *path, unsigned char **hashes, size_t *count,
                             faro_error *error) FARO_WARN_UNUSED;

#endif
