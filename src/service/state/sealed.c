/* sealed: see the header. */
#include "service/state/sealed.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

enum {
  HEAD = 4,
  NAME = 16,
  KEY = crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
  WRAP = NAME + crypto_box_SEALBYTES + KEY,
  NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
  TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
  LABEL = 64
};
_Static_assert(FARO_PAIR_BYTES == crypto_box_PUBLICKEYBYTES, "");
_Static_assert(FARO_PAIR_BYTES == crypto_box_SECRETKEYBYTES, "");
_Static_assert(FARO_SEALED_HEAD == HEAD + FARO_KEEPERS_MAX * WRAP, "");

static void label_of(const faro_sealed_as *as, unsigned char label[LABEL]) {
  memcpy(label, as->campaign, 32);
  faro_store64(label + 32, as->shuffler);
  faro_store64(label + 40, as->batch);
  faro_store64(label + 48, as->count);
  faro_store64(label + 56, as->part);
}

static void name_of(const unsigned char *public_key, unsigned char name[NAME]) {
  crypto_generichash(name, NAME, public_key, FARO_PAIR_BYTES, NULL, 0);
}

/* A key that the bytes cannot be sealed to is refused by libsodium, for example zero. */
static bool wrap(const unsigned char *keepers, size_t count, const unsigned char *key, unsigned char *out) {
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    name_of(keepers + i * FARO_PAIR_BYTES, out + i * WRAP);
    good = good && crypto_box_seal(out + i * WRAP + NAME, key, KEY, keepers + i * FARO_PAIR_BYTES) == 0;
  }
  return good;
}

faro_status faro_sealed_write(const faro_sealed_as *as, const unsigned char *keepers, size_t count,
                              const void *bytes, size_t length, unsigned char **sealed, size_t *size,
                              faro_error *error) {
  unsigned char key[KEY], label[LABEL];
  if (count == 0 || count > FARO_KEEPERS_MAX)
    return faro_fail(error, FARO_SYSTEM, "a batch needs 1 to %d keepers (got %zu)", FARO_KEEPERS_MAX, count);
  const size_t whole = HEAD + count * WRAP + NONCE + length + TAG;
  unsigned char *out = malloc(whole);
  if (!out) return faro_fail(error, FARO_MEMORY, "cannot allocate %zu sealed bytes", whole);
  unsigned char *nonce = out + HEAD + count * WRAP;
  crypto_aead_xchacha20poly1305_ietf_keygen(key);
  faro_store32(out, (uint32_t)count);
  const bool good = wrap(keepers, count, key, out + HEAD);
  randombytes_buf(nonce, NONCE);
  label_of(as, label);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + NONCE, NULL, bytes, length, label, LABEL, NULL, nonce,
                                             key);
  sodium_memzero(key, sizeof key);
  if (good) {
    *sealed = out;
    *size = whole;
    return FARO_OK;
  }
  free(out);
  return faro_fail(error, FARO_SYSTEM, "the key of a keeper is not a key");
}

/* The sealed key for this pair; NULL: there is none. */
static const unsigned char *find(const faro_box_pair *pair, const unsigned char *sealed, size_t count) {
  unsigned char name[NAME];
  name_of(pair->public_key, name);
  for (size_t i = 0; i < count; i++)
    if (memcmp(sealed + HEAD + i * WRAP, name, NAME) == 0) return sealed + HEAD + i * WRAP + NAME;
  return NULL;
}

/* How many keepers the head names; 0: it is none, or not all of it. */
static size_t keepers_in(const unsigned char *head, size_t size) {
  const size_t count = size >= HEAD ? faro_load32(head) : 0;
  return count <= FARO_KEEPERS_MAX && size >= HEAD + count * WRAP ? count : 0;
}

/* The same of all sealed bytes; 0: they are none. */
static size_t keepers_of(const unsigned char *sealed, size_t size) {
  const size_t count = keepers_in(sealed, size);
  return size >= HEAD + count * WRAP + NONCE + TAG ? count : 0;
}

size_t faro_sealed_length(const unsigned char *sealed, size_t size) {
  const size_t count = keepers_of(sealed, size);
  return count > 0 ? size - HEAD - count * WRAP - NONCE - TAG : 0;
}

bool faro_sealed_is_for(const faro_box_pair *pair, const unsigned char *head, size_t size) {
  return find(pair, head, keepers_in(head, size)) != NULL;
}

faro_sealed_result faro_sealed_open(const faro_sealed_as *as, const faro_box_pair *pair,
                                    const unsigned char *sealed, size_t size, void *bytes, size_t length) {
  unsigned char key[KEY], label[LABEL];
  const size_t count = keepers_of(sealed, size);
  if (count == 0 || length != faro_sealed_length(sealed, size)) return FARO_SEALED_FORGED;
  const unsigned char *nonce = sealed + HEAD + count * WRAP;
  const unsigned char *wrapped = find(pair, sealed, count);
  if (!wrapped) return FARO_SEALED_FOREIGN;
  if (crypto_box_seal_open(key, wrapped, WRAP - NAME, pair->public_key, pair->secret_key) != 0)
    return FARO_SEALED_FORGED;
  label_of(as, label);
  const int result = crypto_aead_xchacha20poly1305_ietf_decrypt(bytes, NULL, NULL, nonce + NONCE,
                                                                length + TAG, label, LABEL, nonce, key);
  sodium_memzero(key, sizeof key);
  return result == 0 ? FARO_SEALED_OPENED : FARO_SEALED_FORGED;
}
