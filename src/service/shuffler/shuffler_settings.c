/* shuffler_settings: see the header. */
#include "service/shuffler/shuffler_settings.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "service/http/listen.h"
#include "service/role/admin.h"
#include "yaml/yaml.h"

#define AT(member) FARO_AT(faro_shuffler_settings, member)

static const faro_field fields[] = {
    FARO_HTTP_FIELDS(faro_shuffler_settings),
    {"state", FARO_FIELD_TEXT, AT(state), .required = true, .help = "the file of its state"},
    {"key", FARO_FIELD_TEXT, AT(key), .required = true, .help = "the file of its signing key"},
    {"tokens", FARO_FIELD_TEXT, AT(tokens), .required = true,
     .help = "the file of the hashes of the clients' tokens"},
    {"campaign", FARO_FIELD_TEXT, AT(campaign)},
    {"authority", FARO_FIELD_TEXT, AT(authority)},
    {"analyzer", FARO_FIELD_TEXT, AT(analyzer), .required = true, .help = "the analyzer's URL"},
    {"standby", FARO_FIELD_TEXT, AT(standby)},
    {"analyzer-key", FARO_FIELD_OTHER, AT(analyzer_key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
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
  return faro_fail(error, FARO_INVALID, "state is too long a path");
}

faro_status faro_shuffler_settings_load(faro_shuffler_settings *settings, const char *path,
                                        faro_error *error) {
  *settings = (faro_shuffler_settings){0};
  faro_error inner = {0};
  faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, settings, error);
  if (status != FARO_OK) return status;
  status = faro_http_check(&settings->http, &inner);
  if (status == FARO_OK) status = faro_admin_check(&settings->http, &inner);
  if (status == FARO_OK)
    status = faro_url_check("analyzer", settings->analyzer, settings->http.insecure, &inner);
  if (status == FARO_OK && *settings->standby != '\0')
    status = faro_url_check("standby", settings->standby, settings->http.insecure, &inner);
  if (status == FARO_OK) status = check_files(settings, &inner);
  if (status == FARO_OK) status = set_campaign_file(settings, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", path, inner.message);
  return status;
}
