/* analyzer_config: the analyzer's settings, and the campaign that they describe. */
#include <math.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "service/analyzer.h"
#include "service/listen.h"
#include "yaml/yaml.h"

#define X(name, text) text,
FARO_WORDS(levels, FARO_LEVEL_LIST(X))
#undef X

#define AT(member) FARO_AT(faro_analyzer_settings, member)
#define EACH(member) FARO_EACH(faro_analyzer_settings, shuffler[0].member, shuffler)

static const faro_field fields[] = {
    FARO_HTTP_FIELDS(faro_analyzer_settings),
    {"url", FARO_FIELD_TEXT, AT(url), .required = true, .help = "the address that clients and shufflers use"},
    {"database", FARO_FIELD_TEXT, AT(database), .required = true, .help = "the file of its state"},
    {"sign", FARO_FIELD_TEXT, AT(sign), .required = true, .help = "the file of its secret signing key"},
    {"seal", FARO_FIELD_TEXT, AT(seal), .required = true, .help = "the file of its secret sealing key"},
    {"tokens", FARO_FIELD_TEXT, AT(tokens)},
    {"constant", FARO_FIELD_REAL, AT(constant)},
    {"campaign.id", FARO_FIELD_TEXT, AT(id), .required = true, .help = "its name"},
    {"campaign.dimension", FARO_FIELD_COUNT, AT(dimension), .required = true, .least = 1,
     .most = FARO_WIRE_DIMENSION_MAX},
    {"campaign.norm", FARO_FIELD_REAL, AT(norm), .most = 1e6, .above = true},
    {"campaign.low", FARO_FIELD_REAL, AT(low)},
    {"campaign.high", FARO_FIELD_REAL, AT(high)},
    {"campaign.arms", FARO_FIELD_COUNT, AT(arms), .required = true, .least = 1, .most = 1000000},
    {"campaign.release", FARO_FIELD_CHOICE, AT(release), .required = true, .words = faro_campaign_release},
    {"campaign.epsilon", FARO_FIELD_REAL, AT(epsilon), .required = true, .least = 1e-4, .most = 1000},
    {"campaign.delta", FARO_FIELD_REAL, AT(delta), .required = true, .least = 1e-15, .most = 0.999},
    {"campaign.horizon", FARO_FIELD_COUNT, AT(horizon), .required = true, .least = 1, .most = 0x1p40},
    {"campaign.batch", FARO_FIELD_COUNT, AT(batch), .least = 1, .most = 0x1p40},
    /* required: the weaker guarantee is not signed for good because nobody thought of it */
    {"campaign.level", FARO_FIELD_CHOICE, AT(level), .required = true, .words = levels,
     .help = "user (all reports of a client together) or event (each by itself)"},
    {"campaign.contributions", FARO_FIELD_COUNT, AT(contributions), .least = 1, .most = 0x1p40},
    {"campaign.honest", FARO_FIELD_REAL, AT(honest), .most = 1, .above = true},
    {"campaign.failure", FARO_FIELD_REAL, AT(failure), .most = 0.999, .above = true},
    {"campaign.optimism", FARO_FIELD_REAL, AT(optimism), .least = 0.001, .most = 10},
    {"shufflers", FARO_FIELD_LIST, AT(shufflers), .most = FARO_SHUFFLERS_MAX},
    {"shufflers[].url", FARO_FIELD_TEXT, EACH(url), .required = true, .help = "the address that clients use"},
    {"shufflers[].key", FARO_FIELD_OTHER, EACH(key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
};

/* A context that it fills is scaled back, and does not end in it any more. */
static faro_status check_constant(const faro_analyzer_settings *s, faro_error *error) {
  if (isnan(s->constant) || (s->constant != 0 && fabs(s->constant) < s->norm)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "constant must not be 0, and smaller than campaign.norm, which is %g (got %g)", s->norm,
                   s->constant);
}

faro_status faro_analyzer_configure(faro_analyzer_settings *settings, const char *path, faro_error *error) {
  *settings = (faro_analyzer_settings){.constant = NAN,
                                       .contributions = 1,
                                       .norm = 1,
                                       .low = 0,
                                       .high = 1,
                                       .honest = 1,
                                       .failure = 0.1,
                                       .optimism = 0.2};
  snprintf(settings->file, sizeof settings->file, "%s", faro_path_end(path));
  faro_error inner = {0};
  faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, settings, error);
  if (status != FARO_OK) return status;
  status = check_constant(settings, &inner);
  if (status == FARO_OK) status = faro_url_check("url", settings->url, settings->http.insecure, &inner);
  for (size_t i = 0; status == FARO_OK && i < settings->shufflers; i++)
    status = faro_url_check("shufflers[].url", settings->shuffler[i].url, settings->http.insecure, &inner);
  if (status == FARO_OK) status = faro_http_check(&settings->http, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

faro_status faro_analyzer_keys(const faro_analyzer_settings *settings, faro_applier_keys *made,
                               faro_error *error) {
  const faro_status status = faro_sign_key_load(settings->sign, &made->sign, error);
  return status == FARO_OK ? faro_seal_key_load(settings->seal, &made->seal, error) : status;
}

/* Rewards are counted from the middle of their interval, as in simulation: what is clipped and sent is as small as it can
 * be, and so is the noise. */
static faro_status set_bounds(const faro_analyzer_settings *s, faro_campaign *c, faro_error *error) {
  if (!(s->low < s->high))
    return faro_fail(error, FARO_INVALID, "campaign.low must be below campaign.high (got %g and %g)", s->low,
                     s->high);
  c->centre = (s->low + s->high) / 2;
  return faro_contribution_init(&c->contribution, s->dimension, s->norm, s->low - c->centre,
                                s->high - c->centre, error);
}

static void set_parties(const faro_analyzer_settings *s, const faro_applier_keys *made, faro_campaign *c) {
  snprintf(c->id, sizeof c->id, "%s", s->id);
  snprintf(c->analyzer, sizeof c->analyzer, "%s", s->url);
  memcpy(c->seal, made->seal.public_key, sizeof c->seal);
  c->shufflers = s->shufflers;
  for (size_t i = 0; i < s->shufflers; i++) {
    snprintf(c->shuffler[i], sizeof c->shuffler[i], "%s", s->shuffler[i].url);
    memcpy(c->shuffler_key[i], s->shuffler[i].key, FARO_KEY_BYTES);
  }
}

/* What could not be learned from is not signed. */
static faro_status try_out(const faro_campaign *campaign, faro_error *error) {
  faro_learning *learning = NULL;
  const faro_status status = faro_learning_create(&learning, campaign, NULL, 0, error);
  faro_learning_destroy(learning);
  return status;
}

/* Tokens are for those who collect: shufflers have their own. */
static faro_status check_tokens(const faro_analyzer_settings *s, const faro_campaign *c, faro_error *error) {
  const bool direct = faro_campaign_form(c) == FARO_WIRE_DIRECT;
  const char *name = faro_campaign_release(s->release);
  if (direct == (s->tokens[0] != '\0')) return FARO_OK;
  if (direct)
    return faro_fail(error, FARO_INVALID,
                     "tokens must be set for %s: reports come to the analyzer itself (got none)", name);
  return faro_fail(error, FARO_INVALID,
                   "tokens must not be set for %s: reports come to shufflers, which have them (got %.100s)",
                   name, s->tokens);
}

static faro_status draft(const faro_analyzer_settings *s, const faro_applier_keys *made,
                         faro_campaign *campaign, char **document, size_t *length, faro_error *error) {
  const char *name = faro_campaign_release(s->release);
  char *text = NULL;
  faro_campaign c = {.release = faro_release_kind_find(name),
                     .params = {.epsilon = s->epsilon,
                                .delta = s->delta,
                                .horizon = s->horizon,
                                .batch = s->batch,
                                .shufflers = strcmp(name, "concurrent-bits") == 0 ? s->shufflers : 0,
                                .level = s->level,
                                .contributions = s->contributions,
                                .honest = s->honest,
                                .calibration = FARO_CALIBRATION_TIGHT},
                     .arms = s->arms,
                     .failure = s->failure,
                     .optimism = s->optimism};
  randombytes_buf(c.nonce, sizeof c.nonce); /* one that is in the database already keeps its own */
  set_parties(s, made, &c);
  faro_status status = set_bounds(s, &c, error);
  if (status == FARO_OK) status = faro_campaign_write(&c, &made->sign, &text, length, error);
  if (status == FARO_OK) status = check_tokens(s, &c, error);
  if (status == FARO_OK) status = try_out(&c, error);
  if (status != FARO_OK) {
    free(text);
    return status;
  }
  *document = text;
  *campaign = c;
  return FARO_OK;
}

faro_status faro_analyzer_draft(const faro_analyzer_settings *settings, const faro_applier_keys *made,
                                faro_campaign *campaign, char **document, size_t *length, faro_error *error) {
  faro_error inner = {0};
  const faro_status status = draft(settings, made, campaign, document, length, &inner);
  if (status == FARO_OK) return FARO_OK;
  const char *file = settings->file;
  return faro_fail(error, status, "%s%s%.380s", file, *file ? ": " : "", inner.message);
}

faro_status faro_analyzer_compare(const faro_campaign *stored, const faro_campaign *asked,
                                  faro_error *error) {
  const faro_campaign *a = stored;
  const faro_campaign *b = asked;
  bool parties = a->shufflers == b->shufflers;
  for (size_t i = 0; parties && i < a->shufflers; i++)
    parties = strcmp(a->shuffler[i], b->shuffler[i]) == 0 &&
              memcmp(a->shuffler_key[i], b->shuffler_key[i], FARO_KEY_BYTES) == 0;
  const struct {
    const char *key;
    bool same;
  } row[] = {
      {"campaign.id", strcmp(a->id, b->id) == 0},
      {"url", strcmp(a->analyzer, b->analyzer) == 0},
      {"seal", memcmp(a->seal, b->seal, FARO_KEY_BYTES) == 0},
      {"campaign.dimension", a->contribution.dimension == b->contribution.dimension},
      {"campaign.norm", a->contribution.norm == b->contribution.norm},
      {"campaign.low", a->centre + a->contribution.low == b->centre + b->contribution.low},
      {"campaign.high", a->centre + a->contribution.high == b->centre + b->contribution.high},
      {"campaign.arms", a->arms == b->arms},
      {"campaign.release", a->release == b->release},
      {"campaign.epsilon", a->params.epsilon == b->params.epsilon},
      {"campaign.delta", a->params.delta == b->params.delta},
      {"campaign.horizon", a->params.horizon == b->params.horizon},
      {"campaign.batch", a->params.batch == b->params.batch},
      {"campaign.level", a->params.level == b->params.level},
      {"campaign.contributions", a->claim.contributions == b->claim.contributions},
      {"campaign.honest", a->params.honest == b->params.honest},
      {"campaign.failure", a->failure == b->failure},
      {"campaign.optimism", a->optimism == b->optimism},
      {"shufflers", parties},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    if (!row[i].same)
      return faro_fail(
          error, FARO_INVALID,
          "%s differs from the campaign that the database holds: clients and budgets are bound to that one; "
          "another campaign needs another database",
          row[i].key);
  if (strcmp(a->claim.by, b->claim.by) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the database holds a campaign with another claim (%s); this faro has %s", a->claim.by,
                   b->claim.by);
}
