/* founding: see the header. */
#include "service/analyzer/campaign_create.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* Who has only tried should not have to guess what is lost by starting anew. */
static faro_status explain(faro_store *store, faro_status status, faro_error *error) {
  faro_store_state state = {0};
  char why[sizeof error->message];
  if (!error || faro_store_state_load(store, &state, NULL) != FARO_OK) return status;
  const bool fresh = state.batches == 0;
  faro_store_state_clear(&state);
  if (!fresh) return status;
  snprintf(why, sizeof why, "%s", error->message);
  *error = (faro_error){0};
  return faro_fail(error, status,
                   "%.300s (nothing has been released from it yet: as long as no client has taken part, the "
                   "database may be deleted)",
                   why);
}

faro_status faro_founding_find(faro_store *store, const faro_applier_keys *keys, const faro_campaign *asked,
                               faro_campaign *campaign, faro_blob *document, faro_error *error) {
  unsigned char signer[FARO_KEY_BYTES];
  faro_status status = faro_store_campaign(store, document, signer, error);
  if (status != FARO_OK || !document->bytes) return status;
  if (memcmp(signer, keys->sign.public_key, FARO_KEY_BYTES) != 0)
    return explain(store,
                   faro_fail(error, FARO_INVALID,
                             "sign differs from the key that the campaign in the database was signed with"),
                   error);
  status = faro_campaign_open(campaign, (const char *)document->bytes, document->length, signer, error);
  if (status != FARO_OK) return status;
  status = faro_analyzer_compare(campaign, asked, error);
  return status == FARO_OK ? FARO_OK : explain(store, status, error);
}

static faro_status check_tokens(const char *path, faro_error *error) {
  unsigned char *hashes = NULL;
  size_t count = 0;
  if (*path == '\0') return FARO_OK;
  const faro_status status = faro_hashes_load(path, &hashes, &count, error);
  free(hashes);
  return status;
}

static faro_status check_database(const faro_analyzer_settings *s, const faro_applier_keys *keys,
                                  const faro_campaign *asked, bool *known, faro_error *error) {
  faro_store *store = NULL;
  faro_blob document = {0};
  faro_campaign stored;
  *known = access(s->database, F_OK) == 0;
  if (!*known) return faro_check_folder("database", s->database, error);
  faro_status status = faro_store_open(&store, s->database, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_founding_find(store, keys, asked, &stored, &document, error);
  *known = document.bytes != NULL;
  free(document.bytes);
  faro_store_close(store);
  return status;
}

faro_status faro_founding_check(const faro_analyzer_settings *settings, faro_campaign *campaign, bool *known,
                                faro_error *error) {
  faro_applier_keys keys;
  char *document = NULL;
  size_t length = 0;
  faro_status status = faro_analyzer_keys(settings, &keys, error);
  if (status == FARO_OK) status = check_tokens(settings->tokens, error);
  if (status == FARO_OK) status = faro_analyzer_draft(settings, &keys, campaign, &document, &length, error);
  free(document);
  if (status == FARO_OK) status = check_database(settings, &keys, campaign, known, error);
  sodium_memzero(&keys, sizeof keys);
  return status;
}
