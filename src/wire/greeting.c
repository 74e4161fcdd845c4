/* greeting: what a shuffler says about itself. wire.h describes the layout. */
#include <sodium.h>
#include <string.h>

#include "wire/wire.h"

enum { MAGIC = 4 };
static const char greeting_magic[MAGIC] = {'F', 'R', 'G', '2'}; /* no batch, notice or report begins so */

enum {
  GREETING_DIGEST = 4,
  GREETING_KEY = 36,
  GREETING_FIRST = 68,
  GREETING_OPEN = 76,
  GREETING_UNWELL = 84
};
enum { GREETING_SIGNED = FARO_GREETING_BYTES - FARO_SIGNATURE_BYTES };

void faro_greeting_write(const faro_campaign *campaign, const faro_greeting *greeting,
                         const faro_sign_key *key, unsigned char out[static FARO_GREETING_BYTES]) {
  memcpy(out, greeting_magic, MAGIC);
  memcpy(out + GREETING_DIGEST, campaign->digest, FARO_DIGEST_BYTES);
  memcpy(out + GREETING_KEY, key->public_key, FARO_KEY_BYTES);
  faro_store64(out + GREETING_FIRST, greeting->first);
  faro_store64(out + GREETING_OPEN, greeting->open);
  faro_store32(out + GREETING_UNWELL, greeting->unwell);
  crypto_sign_detached(out + GREETING_SIGNED, NULL, out, GREETING_SIGNED, key->secret);
}

faro_status faro_greeting_read_from(const faro_campaign *campaign,
                                    const unsigned char (*keys)[FARO_KEY_BYTES], size_t count,
                                    const char *role, const unsigned char *bytes, size_t length,
                                    faro_greeting *greeting, faro_error *error) {
  if (length != FARO_GREETING_BYTES || memcmp(bytes, greeting_magic, MAGIC) != 0)
    return faro_fail(error, FARO_INVALID, "a greeting must have %d bytes and begin with FRG2 (got %zu bytes)",
                     FARO_GREETING_BYTES, length);
  uint32_t sender = 0;
  while (sender < count && memcmp(bytes + GREETING_KEY, keys[sender], FARO_KEY_BYTES) != 0) sender++;
  if (sender == count)
    return faro_fail(error, FARO_INVALID, "a greeting must be from a %s of campaign %s", role, campaign->id);
  if (crypto_sign_verify_detached(bytes + GREETING_SIGNED, bytes, GREETING_SIGNED, bytes + GREETING_KEY) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of the greeting is not that of %s %lu", role,
                     (unsigned long)sender);
  *greeting =
      (faro_greeting){.shuffler = sender,
                      .same = memcmp(bytes + GREETING_DIGEST, campaign->digest, FARO_DIGEST_BYTES) == 0,
                      .first = faro_load64(bytes + GREETING_FIRST),
                      .open = faro_load64(bytes + GREETING_OPEN),
                      .unwell = faro_load32(bytes + GREETING_UNWELL) != 0};
  return FARO_OK;
}

faro_status faro_greeting_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                               faro_greeting *greeting, faro_error *error) {
  unsigned char keys[FARO_SHUFFLERS_MAX][FARO_KEY_BYTES];
  for (size_t i = 0; i < campaign->shufflers; i++) memcpy(keys[i], campaign->shuffler[i].key, FARO_KEY_BYTES);
  return faro_greeting_read_from(campaign, keys, campaign->shufflers, "shuffler", bytes, length, greeting,
                                 error);
}
