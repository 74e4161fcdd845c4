/* shuffler_settings: see the header. */
#include "service/shuffler/shuffler_settings.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/http/listen.h"
#include "service/role/config.h"

#define TEXT(word, field, must, what)                                                                        \
  {                                                                                                          \
    .name = (word), .type = FARO_CONFIG_TEXT, .offset = offsetof(faro_shuffler_settings, field),             \
    .size = sizeof((faro_shuffler_settings *)0)->field, .required = (must), .help = (what)                   \
  }

static const faro_config_key keys[] = {
    FARO_HTTP_KEYS(faro_shuffler_settings, http),
    TEXT("state", state, true, "the file of its state"),
    TEXT("key", key, true, "the file of its signing key"),
    TEXT("tokens", tokens, true, "the file of the hashes of the clients' tokens"),
    TEXT("campaign", campaign, false, "the file of the campaign"),
    TEXT("authority", authority, false, "a PEM file of certificates"),
    TEXT("analyzer", analyzer, true, "the analyzer's URL"),
    {.name = "analyzer-key",
     .type = FARO_CONFIG_KEY,
     .offset = offsetof(faro_shuffler_settings, analyzer_key),
     .size = FARO_KEY_BYTES,
     .required = true,
     .help = "the analyzer's public signing key, 64 hexadecimal digits"},
};

static faro_status check_files(const faro_shuffler_settings *settings, faro_error *error) {
  faro_sign_key key;
  unsigned char *hashes = NULL;
  size_t count = 0;
  faro_status status = faro_sign_key_load(settings->key, &key, error);
  sodium_memzero(&key, sizeof key);
  if (status == FARO_OK) status = faro_hashes_load(settings->tokens, &hashes, &count, error);
  free(hashes);
  return status;
}

static faro_status set_campaign_file(faro_shuffler_settings *settings, faro_error *error) {
  const size_t room = sizeof settings->campaign;
  if (*settings->campaign != '\0') return FARO_OK;
  if (snprintf(settings->campaign, room, "%s.campaign", settings->state) < (int)room) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "state must be a shorter path");
}

faro_status faro_shuffler_settings_load(faro_shuffler_settings *settings, const char *path,
                                        faro_error *error) {
  *settings = (faro_shuffler_settings){0};
  faro_error inner = {0};
  faro_status status = faro_config_load(path, keys, sizeof keys / sizeof *keys, settings, error);
  if (status != FARO_OK) return status;
  status = faro_http_check(&settings->http, &inner);
  if (status == FARO_OK)
    status = faro_url_check("analyzer", settings->analyzer, settings->http.insecure, &inner);
  if (status == FARO_OK) status = check_files(settings, &inner);
  if (status == FARO_OK) status = set_campaign_file(settings, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", path, inner.message);
  return status;
}
