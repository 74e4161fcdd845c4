/* adder_settings: see the header. */
#include "service/adder/adder_settings.h"

#include <sodium.h>

#include "service/http/listen.h"
#include "service/role/admin.h"
#include "yaml/yaml.h"

#define COMMON(member) FARO_AT(faro_adder_settings, common.member)

/* FARO_HTTP_FIELDS names the member `http`; here it is one level deeper. */
static const faro_field fields[] = {
    FARO_HTTP_FIELDS_IN(faro_adder_settings, common.http),
    {"state", FARO_FIELD_TEXT, COMMON(state), .required = true, .help = "the file of its state"},
    {"key", FARO_FIELD_TEXT, COMMON(key), .required = true, .help = "the file of its signing key"},
    {"seal", FARO_FIELD_TEXT, FARO_AT(faro_adder_settings, seal), .required = true,
     .help = "the file of its secret sealing key"},
    {"campaign", FARO_FIELD_TEXT, COMMON(campaign)},
    {"authority", FARO_FIELD_TEXT, COMMON(authority)},
    {"analyzer", FARO_FIELD_TEXT, COMMON(analyzer), .required = true, .help = "the analyzer's URL"},
    {"analyzer-key", FARO_FIELD_OTHER, COMMON(analyzer_key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
};

static faro_status check_keys(const faro_adder_settings *settings, faro_error *error) {
  faro_sign_key sign;
  faro_seal_key seal;
  faro_status status = faro_sign_key_load(settings->common.key, &sign, error);
  if (status == FARO_OK) status = faro_seal_key_load(settings->seal, &seal, error);
  sodium_memzero(&sign, sizeof sign);
  sodium_memzero(&seal, sizeof seal);
  return status;
}

faro_status faro_adder_settings_load(faro_adder_settings *settings, const char *path, faro_error *error) {
  *settings = (faro_adder_settings){0};
  faro_shuffler_settings *common = &settings->common;
  faro_error inner = {0};
  faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, settings, error);
  if (status != FARO_OK) return status;
  status = faro_http_check(&common->http, &inner);
  if (status == FARO_OK) status = faro_admin_check(&common->http, &inner);
  if (status == FARO_OK) status = faro_url_check("analyzer", common->analyzer, common->http.insecure, &inner);
  if (status == FARO_OK) status = check_keys(settings, &inner);
  if (status == FARO_OK) status = faro_shuffler_settings_file(common, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", path, inner.message);
  return status;
}
