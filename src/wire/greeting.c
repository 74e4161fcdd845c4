/* greeting: what a shuffler says about itself, and the proof of an epoch. wire.h describes the
 * layouts. */
#include <sodium.h>
#include <string.h>

#include "wire/wire.h"

enum { MAGIC = 4 };
static const char greeting_magic[MAGIC] = {'F', 'R', 'G', '2'}; /* no batch, notice or report begins so */
static const char longer_magic[MAGIC] = {'F', 'R', 'G', '3'};
static const char epoch_magic[MAGIC] = {'F', 'R', 'E', '1'};

enum {
  GREETING_DIGEST = 4,
  GREETING_KEY = 36,
  GREETING_FIRST = 68,
  GREETING_OPEN = 76,
  GREETING_UNWELL = 84,
  GREETING_EPOCH = 88,
  GREETING_PROOF = 96,
  GREETING_SILENT = 160,
  GREETING_CHALLENGE = 164
};

/* Bytes before the signature. */
static size_t signed_bytes(bool longer) {
  return (longer ? FARO_GREETING_MAX : FARO_GREETING_BYTES) - FARO_SIGNATURE_BYTES;
}

size_t faro_greeting_write(const faro_campaign *campaign, const faro_greeting *greeting,
                           const faro_sign_key *key, unsigned char out[static FARO_GREETING_MAX]) {
  const size_t length = signed_bytes(greeting->longer);
  memcpy(out, greeting->longer ? longer_magic : greeting_magic, MAGIC);
  memcpy(out + GREETING_DIGEST, campaign->digest, FARO_DIGEST_BYTES);
  memcpy(out + GREETING_KEY, key->public_key, FARO_KEY_BYTES);
  faro_store64(out + GREETING_FIRST, greeting->first);
  faro_store64(out + GREETING_OPEN, greeting->open);
  faro_store32(out + GREETING_UNWELL, greeting->unwell);
  if (greeting->longer) {
    faro_store64(out + GREETING_EPOCH, greeting->epoch);
    memcpy(out + GREETING_PROOF, greeting->proof, FARO_SIGNATURE_BYTES);
    faro_store32(out + GREETING_SILENT, greeting->silent);
    faro_store64(out + GREETING_CHALLENGE, greeting->challenge);
  }
  crypto_sign_detached(out + length, NULL, out, length, key->secret);
  return length + FARO_SIGNATURE_BYTES;
}

static bool is_greeting(const unsigned char *bytes, size_t length, bool *longer) {
  *longer = length == FARO_GREETING_MAX && memcmp(bytes, longer_magic, MAGIC) == 0;
  return *longer || (length == FARO_GREETING_BYTES && memcmp(bytes, greeting_magic, MAGIC) == 0);
}

faro_status faro_greeting_read_from(const faro_campaign *campaign,
                                    const unsigned char (*keys)[FARO_KEY_BYTES], size_t count,
                                    const char *role, const unsigned char *bytes, size_t length,
                                    faro_greeting *greeting, faro_error *error) {
  bool longer = false;
  if (!is_greeting(bytes, length, &longer))
    return faro_fail(error, FARO_INVALID,
                     "a greeting must have %d bytes and begin with FRG2, or %d and FRG3 (got %zu bytes)",
                     FARO_GREETING_BYTES, FARO_GREETING_MAX, length);
  uint32_t sender = 0;
  while (sender < count && memcmp(bytes + GREETING_KEY, keys[sender], FARO_KEY_BYTES) != 0) sender++;
  if (sender == count)
    return faro_fail(error, FARO_INVALID, "a greeting must be from a %s of campaign %s", role, campaign->id);
  const size_t before = signed_bytes(longer);
  if (crypto_sign_verify_detached(bytes + before, bytes, before, bytes + GREETING_KEY) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of the greeting is not that of %s %lu", role,
                     (unsigned long)sender);
  *greeting =
      (faro_greeting){.shuffler = sender,
                      .same = memcmp(bytes + GREETING_DIGEST, campaign->digest, FARO_DIGEST_BYTES) == 0,
                      .first = faro_load64(bytes + GREETING_FIRST),
                      .open = faro_load64(bytes + GREETING_OPEN),
                      .unwell = faro_load32(bytes + GREETING_UNWELL) != 0,
                      .longer = longer,
                      .epoch = longer ? faro_load64(bytes + GREETING_EPOCH) : 0,
                      .silent = longer ? faro_load32(bytes + GREETING_SILENT) : 0,
                      .challenge = longer ? faro_load64(bytes + GREETING_CHALLENGE) : 0};
  if (longer) memcpy(greeting->proof, bytes + GREETING_PROOF, FARO_SIGNATURE_BYTES);
  return FARO_OK;
}

faro_status faro_greeting_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                               faro_greeting *greeting, faro_error *error) {
  unsigned char keys[FARO_SHUFFLERS_MAX][FARO_KEY_BYTES];
  for (size_t i = 0; i < campaign->shufflers; i++) memcpy(keys[i], campaign->shuffler[i].key, FARO_KEY_BYTES);
  return faro_greeting_read_from(campaign, keys, campaign->shufflers, "shuffler", bytes, length, greeting,
                                 error);
}

/* What an epoch's proof signs. */
enum { EPOCH_BYTES = MAGIC + FARO_DIGEST_BYTES + 8 };

static void write_epoch(const unsigned char *digest, uint64_t epoch, unsigned char out[static EPOCH_BYTES]) {
  memcpy(out, epoch_magic, MAGIC);
  memcpy(out + MAGIC, digest, FARO_DIGEST_BYTES);
  faro_store64(out + MAGIC + FARO_DIGEST_BYTES, epoch);
}

void faro_epoch_sign(const unsigned char digest[static FARO_DIGEST_BYTES], uint64_t epoch,
                     const faro_sign_key *key, unsigned char proof[static FARO_SIGNATURE_BYTES]) {
  unsigned char bytes[EPOCH_BYTES];
  write_epoch(digest, epoch, bytes);
  crypto_sign_detached(proof, NULL, bytes, sizeof bytes, key->secret);
}

bool faro_epoch_proven(const unsigned char digest[static FARO_DIGEST_BYTES], uint64_t epoch,
                       const unsigned char signer[static FARO_KEY_BYTES],
                       const unsigned char proof[static FARO_SIGNATURE_BYTES]) {
  unsigned char bytes[EPOCH_BYTES];
  write_epoch(digest, epoch, bytes);
  return crypto_sign_verify_detached(proof, bytes, sizeof bytes, signer) == 0;
}
