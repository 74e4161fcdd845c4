/* analyzer_settings: see the header. One table of keys serves for reading and for comparing with a
 * stored campaign. */
#include "service/analyzer/analyzer_settings.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "service/http/listen.h"
#include "service/role/config.h"

const char *const faro_analyzer_releases[] = {"shuffle-bits", "concurrent-bits", "shuffle-amplified", "local",
                                              "local-bits",   "central-tree",    "central-bits",      NULL};
static const char *const levels[] = {"event", "user", NULL}; /* in the order of faro_level */

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "the table reads dimension and shufflers as counts");

#define AT(member) .offset = offsetof(faro_analyzer_settings, member)
#define TEXT(key, member, need, words)                                                                       \
  {                                                                                                          \
    .name = (key), .type = FARO_CONFIG_TEXT, AT(member), .required = (need), .help = (words),                \
    .size = sizeof((faro_analyzer_settings *)0)->member                                                      \
  }
#define REAL(key, member, need, ...)                                                                         \
  { .name = (key), .type = FARO_CONFIG_REAL, AT(member), .required = (need), __VA_ARGS__ }
#define COUNT(key, member, need, ...)                                                                        \
  { .name = (key), .type = FARO_CONFIG_COUNT, AT(member), .required = (need), __VA_ARGS__ }

static const faro_config_key keys[] = {
    FARO_HTTP_KEYS(faro_analyzer_settings, http),
    TEXT("url", campaign.analyzer, true, "the address at which clients and shufflers find the analyzer"),
    TEXT("database", database, true, "the file of its state"),
    TEXT("sign", sign, true, "the file of its secret signing key"),
    TEXT("seal", seal, true, "the file of its secret sealing key"),
    TEXT("tokens", tokens, false, "hashes of the clients' tokens, if reports come to the analyzer itself"),
    REAL("constant", constant, false, .help = "the last feature of every context, for mean rewards"),
    TEXT("campaign.id", campaign.id, true, "its name"),
    TEXT("campaign.learner", campaign.learner, false, "the learner, like linucb"),
    COUNT("campaign.dimension", campaign.contribution.dimension, true, .least = 1,
          .most = FARO_WIRE_DIMENSION_MAX),
    REAL("campaign.norm", campaign.contribution.norm, false, .least = 0, .most = 1e6, .above = true),
    REAL("campaign.low", low, false, .help = "the least reward"),
    REAL("campaign.high", high, false, .help = "the greatest reward"),
    COUNT("campaign.arms", campaign.arms, true, .least = 1, .most = 1000000),
    {.name = "campaign.release",
     .type = FARO_CONFIG_CHOICE,
     AT(release),
     .required = true,
     .words = faro_analyzer_releases},
    REAL("campaign.epsilon", campaign.params.epsilon, true, .least = 1e-4, .most = 1000),
    REAL("campaign.delta", campaign.params.delta, true, .least = 1e-15, .most = 0.999),
    COUNT("campaign.horizon", campaign.params.horizon, true, .least = 1, .most = 0x1p40),
    COUNT("campaign.batch", campaign.params.batch, false, .least = 1, .most = 0x1p40),
    {.name = "campaign.level",
     .type = FARO_CONFIG_CHOICE,
     AT(level),
     .required = true, /* no default: the weaker promise must not be signed for good by oversight */
     .words = levels,
     .help = "user (all reports of a client together) or event (each report by itself)"},
    COUNT("campaign.contributions", campaign.params.contributions, false, .least = 1, .most = 0x1p40),
    REAL("campaign.honest", campaign.params.honest, false, .least = 0, .most = 1, .above = true),
    REAL("campaign.failure", campaign.failure, false, .least = 0, .most = 0.999, .above = true),
    REAL("campaign.optimism", campaign.optimism, false, .least = 0.001, .most = 10),
    {.name = "shufflers",
     .type = FARO_CONFIG_LIST,
     AT(campaign.shufflers),
     .most = FARO_SHUFFLERS_MAX,
     .size = sizeof(faro_campaign_shuffler)},
    TEXT("shufflers[].url", campaign.shuffler[0].url, true, "the address at which clients find it"),
    {.name = "shufflers[].key",
     .type = FARO_CONFIG_KEY,
     AT(campaign.shuffler[0].key),
     .size = FARO_KEY_BYTES,
     .required = true},
};
enum { KEYS = sizeof keys / sizeof *keys };

static const faro_analyzer_settings defaults = {.constant = NAN,
                                                .low = 0,
                                                .high = 1,
                                                .campaign = {.learner = "linucb",
                                                             .failure = 0.1,
                                                             .optimism = 0.2,
                                                             .contribution.norm = 1,
                                                             .params = {.contributions = 1, .honest = 1}}};

/* A context longer than `norm` is scaled back, and then no longer ends in the constant. */
static faro_status check_constant(const faro_analyzer_settings *s, faro_error *error) {
  const double norm = s->campaign.contribution.norm;
  if (isnan(s->constant) || (s->constant != 0 && fabs(s->constant) < norm)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "constant must not be 0 and must be smaller than campaign.norm, which is %g (got %g)",
                   norm, s->constant);
}

static faro_status check_urls(const faro_analyzer_settings *s, faro_error *error) {
  faro_status status = faro_url_check("url", s->campaign.analyzer, s->http.insecure, error);
  for (size_t i = 0; status == FARO_OK && i < s->campaign.shufflers; i++)
    status = faro_url_check("shufflers[].url", s->campaign.shuffler[i].url, s->http.insecure, error);
  return status;
}

faro_status faro_analyzer_settings_load(faro_analyzer_settings *settings, const char *path,
                                        faro_error *error) {
  *settings = defaults;
  snprintf(settings->file, sizeof settings->file, "%s", faro_path_end(path));
  faro_error inner = {0};
  faro_status status = faro_config_load(path, keys, KEYS, settings, error);
  if (status != FARO_OK) return status;
  status = check_constant(settings, &inner);
  if (status == FARO_OK) status = check_urls(settings, &inner);
  if (status == FARO_OK) status = faro_http_check(&settings->http, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

/* Whether two campaigns agree in a key that is read straight into a campaign; true for other
 * keys. */
static bool agree(const faro_config_key *key, const faro_campaign *a, const faro_campaign *b) {
  const size_t from = offsetof(faro_analyzer_settings, campaign);
  if (key->offset < from) return true;
  const char *left = (const char *)a + (key->offset - from);
  const char *right = (const char *)b + (key->offset - from);
  if (key->type == FARO_CONFIG_TEXT) return strcmp(left, right) == 0;
  return memcmp(left, right, key->type == FARO_CONFIG_KEY ? key->size : sizeof(uint64_t)) == 0;
}

const char *faro_analyzer_settings_differ(const faro_campaign *a, const faro_campaign *b) {
  for (size_t i = 0; i < KEYS; i++)
    if (!strchr(keys[i].name, '[') && !agree(&keys[i], a, b)) return keys[i].name;
  for (size_t i = 0; i < a->shufflers; i++)
    if (strcmp(a->shuffler[i].url, b->shuffler[i].url) != 0 ||
        memcmp(a->shuffler[i].key, b->shuffler[i].key, FARO_KEY_BYTES) != 0)
      return "shufflers";
  if (a->centre + a->contribution.low != b->centre + b->contribution.low) return "campaign.low";
  if (a->centre + a->contribution.high != b->centre + b->contribution.high) return "campaign.high";
  if (a->release != b->release) return "campaign.release";
  if (a->params.level != b->params.level) return "campaign.level";
  return memcmp(a->seal, b->seal, FARO_KEY_BYTES) == 0 ? NULL : "seal";
}
