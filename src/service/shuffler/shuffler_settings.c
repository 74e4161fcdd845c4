/* shuffler_settings: see the header. */
#include "service/shuffler/shuffler_settings.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/http/listen.h"
#include "service/role/admin.h"
#include "service/state/spool.h"
#include "yaml/yaml.h"

#define AT(member) FARO_AT(faro_shuffler_settings, member)
#define EACH(member) FARO_EACH(faro_shuffler_settings, collector[0].member, collector)

static const faro_field fields[] = {
    FARO_HTTP_FIELDS(faro_shuffler_settings),
    {"state", FARO_FIELD_TEXT, AT(state), .required = true, .help = "the file of its state"},
    {"database", FARO_FIELD_TEXT, AT(database)},
    {"key", FARO_FIELD_TEXT, AT(key), .required = true, .help = "the file of its signing key"},
    {"tokens", FARO_FIELD_TEXT, AT(tokens), .help = "the file of the hashes of the clients' tokens"},
    {"campaign", FARO_FIELD_TEXT, AT(campaign)},
    {"authority", FARO_FIELD_TEXT, AT(authority)},
    {"analyzer", FARO_FIELD_TEXT, AT(analyzer), .required = true, .help = "the analyzer's URL"},
    {"standby", FARO_FIELD_TEXT, AT(standby)},
    {"analyzer-key", FARO_FIELD_OTHER, AT(analyzer_key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
    {"collectors", FARO_FIELD_LIST, AT(collectors), .least = 1, .most = FARO_COLLECTORS_MAX},
    {"collectors[].url", FARO_FIELD_TEXT, EACH(url), .required = true,
     .help = "the address at which clients find it"},
    {"collectors[].key", FARO_FIELD_OTHER, EACH(key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
    /* All of these or none: check_kind. */
    {"collector.number", FARO_FIELD_COUNT, AT(part.number), .most = FARO_COLLECTORS_MAX - 1},
    {"collector.of", FARO_FIELD_COUNT, AT(part.of), .least = 1, .most = FARO_COLLECTORS_MAX},
    {"collector.joiner", FARO_FIELD_TEXT, AT(part.joiner)},
    {"collector.joiner-key", FARO_FIELD_OTHER, AT(part.joiner_key), .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
    {"adder", FARO_FIELD_TEXT, AT(adder)},
};
static const uint64_t NO_NUMBER = UINT64_MAX;

bool faro_shuffler_is_joiner(const faro_shuffler_settings *settings) { return settings->collectors > 0; }
bool faro_shuffler_is_collector(const faro_shuffler_settings *settings) { return settings->part.of > 0; }

faro_spool_part faro_shuffler_part(const faro_shuffler_settings *s) {
  const bool joins = faro_shuffler_is_joiner(s);
  return (faro_spool_part){.collectors = joins ? s->collectors : (size_t)s->part.of,
                           .collector = (size_t)s->part.number,
                           .joins = joins};
}

static bool same(const unsigned char *a, const unsigned char *b) { return memcmp(a, b, FARO_KEY_BYTES) == 0; }

/* A key stands for one process: a portion must not pass for another one's, or for a batch. */
static faro_status check_keys(const faro_shuffler_settings *s, const unsigned char *own, faro_error *error) {
  for (size_t i = 0; i < s->collectors; i++) {
    bool taken = same(s->collector[i].key, own) || same(s->collector[i].key, s->analyzer_key);
    for (size_t j = 0; j < i; j++) taken = taken || same(s->collector[i].key, s->collector[j].key);
    if (taken)
      return faro_fail(
          error, FARO_INVALID,
          "collectors[%zu].key must be its own: it is that of another collector, of this joiner, "
          "or of the analyzer",
          i);
  }
  if (faro_shuffler_is_collector(s) && same(s->part.joiner_key, own))
    return faro_fail(error, FARO_INVALID, "key must be the collector's own, and not that of its joiner");
  return FARO_OK;
}

/* A process is a whole shuffler, a joiner, or a collector. */
static faro_status check_one_kind(const faro_shuffler_settings *s, faro_error *error) {
  const bool joins = faro_shuffler_is_joiner(s), collects = faro_shuffler_is_collector(s);
  const bool any =
      s->part.number != NO_NUMBER || *s->part.joiner || !sodium_is_zero(s->part.joiner_key, FARO_KEY_BYTES);
  const bool all =
      s->part.number != NO_NUMBER && *s->part.joiner && !sodium_is_zero(s->part.joiner_key, FARO_KEY_BYTES);
  if ((collects || any) && !(collects && all))
    return faro_fail(error, FARO_INVALID, "collector must have number, of, joiner and joiner-key");
  if (joins && collects)
    return faro_fail(error, FARO_INVALID,
                     "collectors and collector must not be given together: a process is "
                     "the joiner of a shuffler, or one of its collectors");
  if (collects && s->part.number >= s->part.of)
    return faro_fail(error, FARO_INVALID,
                     "collector.number must be below collector.of, which is %llu (got %llu)",
                     (unsigned long long)s->part.of, (unsigned long long)s->part.number);
  if ((joins || collects) && *s->adder)
    return faro_fail(error, FARO_INVALID,
                     "adder must not be given with collectors or collector: a shuffler in parts cannot split "
                     "counts (got %.100s)",
                     s->adder);
  if (joins && *s->tokens)
    return faro_fail(error, FARO_INVALID,
                     "tokens must not be given with collectors: they know the clients, not the joiner");
  if (!joins && !*s->tokens)
    return faro_fail(error, FARO_INVALID, "tokens is missing: the file of the hashes of the clients' tokens");
  return FARO_OK;
}

/* The state of a shuffler in parts, and of one that splits counts, is in a file. */
static faro_status check_database(const faro_shuffler_settings *s, faro_error *error) {
  const char *other = *s->adder                       ? "adder"
                      : faro_shuffler_is_joiner(s)    ? "collectors"
                      : faro_shuffler_is_collector(s) ? "collector"
                                                      : NULL;
  if (!*s->database) return FARO_OK;
  if (other)
    return faro_fail(error, FARO_INVALID,
                     "database must not be given with %s: split counts, and what a shuffler in parts holds, "
                     "cannot be in PostgreSQL yet",
                     other);
  return faro_spool_database_check(s->database, error);
}

static faro_status check_kind(const faro_shuffler_settings *s, faro_error *error) {
  faro_status status = check_one_kind(s, error);
  if (status == FARO_OK) status = check_database(s, error);
  if (status == FARO_OK && faro_shuffler_is_collector(s))
    status = faro_url_check("collector.joiner", s->part.joiner, s->http.insecure, error);
  for (size_t i = 0; status == FARO_OK && i < s->collectors; i++) {
    status = faro_url_check("collectors[].url", s->collector[i].url, s->http.insecure, error);
    if (status == FARO_OK) status = faro_campaign_check_url("a collector", s->collector[i].url, error);
  }
  return status;
}

static faro_status check_files(const faro_shuffler_settings *settings, faro_error *error) {
  faro_sign_key key;
  unsigned char *hashes = NULL;
  size_t count = 0;
  faro_status status = faro_sign_key_load(settings->key, &key, error);
  if (status == FARO_OK) status = check_keys(settings, key.public_key, error);
  sodium_memzero(&key, sizeof key);
  if (status == FARO_OK && *settings->tokens)
    status = faro_hashes_load(settings->tokens, &hashes, &count, error);
  free(hashes);
  return status;
}

faro_status faro_shuffler_settings_file(faro_shuffler_settings *settings, faro_error *error) {
  const size_t room = sizeof settings->campaign;
  if (*settings->campaign != '\0') return FARO_OK;
  if (snprintf(settings->campaign, room, "%s.campaign", settings->state) < (int)room) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "state is too long a path");
}

faro_status faro_shuffler_settings_load(faro_shuffler_settings *settings, const char *path,
                                        faro_error *error) {
  *settings = (faro_shuffler_settings){.part.number = NO_NUMBER};
  faro_error inner = {0};
  faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, settings, error);
  if (status != FARO_OK) return status;
  status = faro_http_check(&settings->http, &inner);
  if (status == FARO_OK) status = faro_admin_check(&settings->http, &inner);
  if (status == FARO_OK)
    status = faro_url_check("analyzer", settings->analyzer, settings->http.insecure, &inner);
  if (status == FARO_OK && *settings->standby != '\0')
    status = faro_url_check("standby", settings->standby, settings->http.insecure, &inner);
  if (status == FARO_OK) status = check_kind(settings, &inner);
  if (status == FARO_OK && *settings->adder)
    status = faro_url_check("adder", settings->adder, settings->http.insecure, &inner);
  if (status == FARO_OK) status = check_files(settings, &inner);
  if (status == FARO_OK) status = faro_shuffler_settings_file(settings, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", path, inner.message);
  return status;
}
