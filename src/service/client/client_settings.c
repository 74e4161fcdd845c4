/* client_settings: see the header. */
#include "service/client/client_settings.h"

#include <stddef.h>

#include "yaml/yaml.h"

FARO_WORDS(trusts, "local", "shuffle", "concurrent", "joint")
FARO_WORDS(levels, "event", "user")

const char *faro_client_trusts(size_t index) { return trusts(index); }
const char *faro_client_levels(size_t index) { return levels(index); }

#define AT(member) FARO_AT(faro_client_settings, member)

faro_status faro_client_settings_load(faro_client_settings *settings, const char *path, faro_error *error) {
  static const faro_field fields[] = {
      {"analyzer", FARO_FIELD_TEXT, AT(analyzer)},
      {"standby", FARO_FIELD_TEXT, AT(standby)},
      {"key", FARO_FIELD_OTHER, AT(key), .required = true, .read = faro_public_key_read,
       .allowed = FARO_PUBLIC_KEY_ALLOWED},
      {"token", FARO_FIELD_TEXT, AT(token)},
      {"state", FARO_FIELD_TEXT, AT(state)},
      {"authority", FARO_FIELD_TEXT, AT(authority)},
      {"epsilon", FARO_FIELD_REAL, AT(epsilon), .most = 1000, .above = true},
      {"delta", FARO_FIELD_REAL, AT(delta), .most = 0.999},
      {"trust", FARO_FIELD_CHOICE, AT(trust), .words = trusts},
      {"level", FARO_FIELD_CHOICE, AT(level), .words = levels},
      {"honest", FARO_FIELD_REAL, AT(honest), .most = 1},
      {"insecure", FARO_FIELD_FLAG, AT(insecure)},
      {"fixed", FARO_FIELD_FLAG, AT(fixed)},
      {"shufflers", FARO_FIELD_LIST, AT(shufflers), .most = FARO_SHUFFLERS_MAX},
      {"shufflers[].url", FARO_FIELD_TEXT, FARO_EACH(faro_client_settings, shuffler[0].url, shuffler),
       .required = true},
      {"shufflers[].key", FARO_FIELD_OTHER, FARO_EACH(faro_client_settings, shuffler[0].key, shuffler),
       .required = true, .read = faro_public_key_read, .allowed = FARO_PUBLIC_KEY_ALLOWED},
  };
  const faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, settings, error);
  if (status == FARO_OK) settings->key_set = true;
  return status;
}
