/* client_settings: see the header. */
#include "service/client/client_settings.h"

#include <stddef.h>

#include "service/role/config.h"

const char *const faro_client_trusts[] = {"local", "shuffle", "concurrent", "joint", NULL};
const char *const faro_client_levels[] = {"event", "user", NULL};

#define TEXT(word, field, help_text)                                                                         \
  {                                                                                                          \
    .name = (word), .type = FARO_CONFIG_TEXT, .offset = offsetof(faro_client_settings, field),               \
    .size = sizeof((faro_client_settings *)0)->field, .help = (help_text)                                    \
  }

faro_status faro_client_settings_load(faro_client_settings *settings, const char *path, faro_error *error) {
  static const faro_config_key keys[] = {
      TEXT("analyzer", analyzer, "the address of the analyzer"),
      {.name = "key",
       .type = FARO_CONFIG_KEY,
       .offset = offsetof(faro_client_settings, key),
       .size = FARO_KEY_BYTES,
       .required = true,
       .help = "the analyzer's public key"},
      TEXT("token", token, "a file with one token"),
      TEXT("state", state, "a file for campaign, sequence number and policy version"),
      TEXT("authority", authority, "certificates to trust"),
      {.name = "epsilon",
       .type = FARO_CONFIG_REAL,
       .offset = offsetof(faro_client_settings, epsilon),
       .most = 1000,
       .above = true,
       .help = "the greatest value that is accepted"},
      {.name = "delta",
       .type = FARO_CONFIG_REAL,
       .offset = offsetof(faro_client_settings, delta),
       .most = 0.999,
       .help = "the greatest value that is accepted"},
      {.name = "trust",
       .type = FARO_CONFIG_CHOICE,
       .offset = offsetof(faro_client_settings, trust),
       .words = faro_client_trusts},
      {.name = "level",
       .type = FARO_CONFIG_CHOICE,
       .offset = offsetof(faro_client_settings, level),
       .words = faro_client_levels},
      {.name = "honest",
       .type = FARO_CONFIG_REAL,
       .offset = offsetof(faro_client_settings, honest),
       .most = 1,
       .help = "the greatest value that is accepted"},
      {.name = "insecure", .type = FARO_CONFIG_FLAG, .offset = offsetof(faro_client_settings, insecure)},
  };
  const faro_status status = faro_config_load(path, keys, sizeof keys / sizeof *keys, settings, error);
  if (status == FARO_OK) settings->key_set = true;
  return status;
}
