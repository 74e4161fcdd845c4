/* sealed: bytes that wait in a place that does not forget, such as a database's log, sealed to the
 * keys of one batch. When the keys are wiped, what remains there is noise.
 *
 * Each process that may close the batch (a keeper) makes a key pair for it, and publishes the
 * public half. The bytes are encrypted with a key of their own (XChaCha20-Poly1305), and that key
 * is sealed to each keeper (X25519, as crypto_box_seal does): any one of them can open it, and a
 * process that only writes keeps no secret.
 *
 *   keepers, 4 bytes; for each: 16 bytes of the hash of its key, 80 bytes of the sealed key; nonce;
 *   ciphertext */
#ifndef FARO_SERVICE_STATE_SEALED_H
#define FARO_SERVICE_STATE_SEALED_H

#include <faro/base.h>

enum {
  FARO_KEEPERS_MAX = 64,
  FARO_PAIR_BYTES = 32,
  FARO_SEALED_HEAD = 4 + FARO_KEEPERS_MAX * (16 + 80) /* what stands before the nonce, at most */
};

/* The two halves of a keeper's key for a batch. */
typedef struct faro_box_pair {
  unsigned char public_key[FARO_PAIR_BYTES], secret_key[FARO_PAIR_BYTES];
} faro_box_pair;

/* What the bytes are. To be opened they must be what they were sealed as. */
typedef struct faro_sealed_as {
  unsigned char campaign[32];
  uint64_t shuffler, batch, count;
  uint64_t part; /* what part of a batch it is */
} faro_sealed_as;

/* Seals to 1 .. FARO_KEEPERS_MAX keepers, whose keys follow one another. The caller frees
 * *sealed. */
faro_status faro_sealed_write(const faro_sealed_as *as, const unsigned char *keepers, size_t count,
                              const void *bytes, size_t length, unsigned char **sealed, size_t *size,
                              faro_error *error) FARO_WARN_UNUSED;

typedef enum faro_sealed_result {
  FARO_SEALED_OPENED,
  FARO_SEALED_FOREIGN, /* not sealed to this key */
  FARO_SEALED_FORGED   /* not what was sealed */
} faro_sealed_result;

/* How many bytes were sealed; 0: that cannot be. */
size_t faro_sealed_length(const unsigned char *sealed, size_t size);
/* Whether sealed bytes are sealed to this key. The first FARO_SEALED_HEAD bytes are enough. */
bool faro_sealed_is_for(const faro_box_pair *pair, const unsigned char *head, size_t size);
/* Opens exactly `length` bytes. */
faro_sealed_result faro_sealed_open(const faro_sealed_as *as, const faro_box_pair *pair,
                                    const unsigned char *sealed, size_t size, void *bytes,
                                    size_t length) FARO_WARN_UNUSED;

#endif
