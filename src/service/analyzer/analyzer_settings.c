/* analyzer_settings: see the header. One table of fields serves for reading and for comparing with
 * a stored campaign. */
#include "service/analyzer/analyzer_settings.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/file.h"
#include "base/text.h"
#include "service/analyzer/store.h"
#include "service/http/listen.h"
#include "service/role/admin.h"
#include "service/state/spool.h"
#include "yaml/yaml.h"

#define X(name, text) text,
FARO_WORDS(levels, FARO_LEVEL_LIST(X))
#undef X

/* Those whose moments can be linearised; in the order of FARO_LINK_LIST. */
FARO_WORDS(links, "linear", "logistic", "probit")

#define AT(member) FARO_AT(faro_analyzer_settings, member)
#define CAMPAIGN(member) AT(campaign.member)
#define SETTING(member) FARO_EACH(faro_analyzer_settings, campaign.setting[0].member, campaign.setting)
#define EACH(member) FARO_EACH(faro_analyzer_settings, campaign.shuffler[0].member, campaign.shuffler)
#define ADDER(member) FARO_EACH(faro_analyzer_settings, campaign.adder[0].member, campaign.adder)

static const faro_field fields[] = {
    FARO_HTTP_FIELDS(faro_analyzer_settings),
    {"url", FARO_FIELD_TEXT, CAMPAIGN(analyzer), .required = true,
     .help = "the address at which clients and shufflers find the analyzer"},
    {"standby.url", FARO_FIELD_TEXT, AT(standby.url)},
    {"standby.token", FARO_FIELD_TEXT, AT(standby.token)},
    {"standby.authority", FARO_FIELD_TEXT, AT(standby.authority)},
    {"standby.follow", FARO_FIELD_FLAG, AT(standby.follow)},
    {"standby.take-over", FARO_FIELD_REAL, AT(standby.take_over), .least = 15, .most = 86400},
    {"database", FARO_FIELD_TEXT, AT(database), .required = true, .help = "the file of its state"},
    {"state", FARO_FIELD_TEXT, AT(state)},
    {"sign", FARO_FIELD_TEXT, AT(sign), .required = true, .help = "the file of its secret signing key"},
    {"seal", FARO_FIELD_TEXT, AT(seal), .required = true, .help = "the file of its secret sealing key"},
    {"seal-before", FARO_FIELD_TEXT, AT(seal_before)},
    {"tokens", FARO_FIELD_TEXT, AT(tokens)},
    {"constant", FARO_FIELD_REAL, AT(constant)},
    {"campaign.id", FARO_FIELD_TEXT, CAMPAIGN(id), .required = true, .help = "its name"},
    {"campaign.learner", FARO_FIELD_TEXT, CAMPAIGN(learner)},
    {"campaign.dimension", FARO_FIELD_COUNT, CAMPAIGN(contribution.dimension), .required = true, .least = 1,
     .most = FARO_WIRE_DIMENSION_MAX},
    {"campaign.norm", FARO_FIELD_REAL, CAMPAIGN(contribution.norm), .most = 1e6, .above = true},
    {"campaign.low", FARO_FIELD_REAL, AT(low)},
    {"campaign.high", FARO_FIELD_REAL, AT(high)},
    {"campaign.arms", FARO_FIELD_COUNT, CAMPAIGN(arms), .required = true, .least = 1, .most = 1000000},
    {"campaign.release", FARO_FIELD_CHOICE, AT(release), .required = true, .words = faro_campaign_release},
    {"campaign.epsilon", FARO_FIELD_REAL, CAMPAIGN(params.epsilon), .required = true, .least = 1e-4,
     .most = 1000},
    {"campaign.delta", FARO_FIELD_REAL, CAMPAIGN(params.delta), .required = true, .least = 1e-15,
     .most = 0.999},
    {"campaign.horizon", FARO_FIELD_COUNT, CAMPAIGN(params.horizon), .required = true, .least = 1,
     .most = 0x1p40},
    /* A client is in a batch once, so more than there are people is a slip of the hand. */
    {"campaign.batch", FARO_FIELD_COUNT, CAMPAIGN(params.batch), .least = 1, .most = 1e10},
    {"campaign.growth", FARO_FIELD_REAL, CAMPAIGN(params.growth), .least = 1, .most = 1000},
    {"campaign.largest", FARO_FIELD_COUNT, CAMPAIGN(params.largest), .least = 1, .most = 1e10},
    /* No default: the weaker guarantee must not be signed for good by oversight. */
    {"campaign.level", FARO_FIELD_CHOICE, CAMPAIGN(params.level), .required = true, .words = levels,
     .help = "user (all reports of a client together) or event (each report by itself)"},
    {"campaign.contributions", FARO_FIELD_COUNT, CAMPAIGN(params.contributions), .least = 1, .most = 0x1p40},
    /* No default either, where it matters (faro_campaign_may_found). 0: the settings do not say. */
    {"campaign.honest", FARO_FIELD_REAL, CAMPAIGN(params.honest), .most = 1, .above = true},
    {"campaign.wait", FARO_FIELD_COUNT, CAMPAIGN(wait), .most = 0x1p40},
    {"campaign.failure", FARO_FIELD_REAL, CAMPAIGN(failure), .most = 0.999, .above = true},
    {"campaign.link", FARO_FIELD_CHOICE, CAMPAIGN(rounds.link), .words = links},
    {"campaign.bound", FARO_FIELD_REAL, CAMPAIGN(rounds.bound), .most = 1e6, .above = true},
    {"campaign.fits", FARO_FIELD_COUNT, CAMPAIGN(rounds.fits), .most = FARO_WIRE_FITS_MAX},
    {"campaign.features", FARO_FIELD_TEXT, AT(features)},
    {"campaign.clients", FARO_FIELD_COUNT, CAMPAIGN(phases.reports), .least = 1, .most = 0x1p40},
    {"campaign.noise", FARO_FIELD_REAL, CAMPAIGN(phases.noise), .most = 1e6, .above = true},
    {"campaign.spread", FARO_FIELD_REAL, CAMPAIGN(phases.spread), .most = 1e6},
    {"settings", FARO_FIELD_LIST, CAMPAIGN(settings), .most = FARO_LEARNER_SETTINGS_MAX},
    {"settings[].name", FARO_FIELD_TEXT, SETTING(name), .required = true,
     .help = "a setting of the learner, as `faro list learners` shows it"},
    {"settings[].value", FARO_FIELD_REAL, SETTING(value), .required = true},
    {"after", FARO_FIELD_LIST, AT(afters), .most = FARO_BEFORE_MAX},
    {"after[].database", FARO_FIELD_TEXT, FARO_EACH(faro_analyzer_settings, after[0].database, after),
     .required = true, .help = "the database of an earlier campaign on the same people"},
    {"shufflers", FARO_FIELD_LIST, CAMPAIGN(shufflers), .most = FARO_SHUFFLERS_MAX},
    {"shufflers[].url", FARO_FIELD_TEXT, EACH(url), .required = true,
     .help = "the address at which clients find it"},
    {"shufflers[].key", FARO_FIELD_OTHER, EACH(key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
    {"shufflers[].consent", FARO_FIELD_HEX, FARO_EACH(faro_analyzer_settings, consent[0], consent)},
    {"adders", FARO_FIELD_LIST, CAMPAIGN(adders), .most = FARO_SHUFFLERS_MAX},
    {"adders[].key", FARO_FIELD_OTHER, ADDER(key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
    {"adders[].seal", FARO_FIELD_HEX, ADDER(seal), .required = true,
     .help = "the public sealing key, as `faro keys show` prints it"},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const faro_analyzer_settings defaults = {
    .constant = NAN,
    .low = 0,
    .high = 1,
    .campaign = {
        .learner = "posterior", .failure = 0.1, .contribution.norm = 1, .params = {.contributions = 1}}};

/* A context longer than `norm` is scaled back, and then no longer ends in the constant. */
static faro_status check_constant(const faro_analyzer_settings *s, faro_error *error) {
  const double norm = s->campaign.contribution.norm;
  if (isnan(s->constant) || (s->constant != 0 && fabs(s->constant) < norm)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "constant must not be 0 and must be smaller than campaign.norm, which is %g (got %g)",
                   norm, s->constant);
}

/* A line for each arm, with a number for each feature; blanks or commas between them. */
static faro_status read_features(faro_analyzer_settings *s, char *text, faro_error *error) {
  faro_campaign *c = &s->campaign;
  const char *name = faro_path_end(s->features);
  char *rest = text;
  for (char *word = NULL; (word = strtok_r(rest, " ,\t\r\n", &rest)); c->features++) {
    if (c->features == FARO_FEATURES_MAX)
      return faro_fail(error, FARO_INVALID, "%s must have at most %d numbers", name, FARO_FEATURES_MAX);
    if (!faro_decimal(word, strlen(word), &c->feature[c->features]))
      return faro_fail(error, FARO_INVALID, "%s: number %zu must be a number (got \"%.40s\")", name,
                       c->features + 1, word);
  }
  if (c->features == c->arms * c->contribution.dimension) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must have %zu features for each of %llu arms (got %zu numbers)",
                   name, c->contribution.dimension, (unsigned long long)c->arms, c->features);
}

static faro_status load_features(faro_analyzer_settings *s, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  if (*s->features == '\0') return FARO_OK;
  faro_status status = faro_read_file(s->features, FARO_DOCUMENT_MAX, &text, &length, error);
  char *whole = status == FARO_OK ? strndup(text, length) : NULL; /* a file does not end with a zero */
  if (whole) status = read_features(s, whole, error);
  else if (status == FARO_OK) status = faro_fail(error, FARO_MEMORY, "out of memory");
  free(whole);
  free(text);
  return status;
}

/* Rows of the table that are about the server. Campaigns of a host do not have them. */
static size_t server_fields(void) {
  size_t i = 0;
  while (strcmp(fields[i].name, "database") != 0) i++;
  return i;
}

static faro_status check_urls(const faro_analyzer_settings *s, faro_error *error) {
  faro_status status = faro_url_check("url", s->campaign.analyzer, s->http.insecure, error);
  for (size_t i = 0; status == FARO_OK && i < s->campaign.shufflers; i++)
    status = faro_url_check("shufflers[].url", s->campaign.shuffler[i].url, s->http.insecure, error);
  return status;
}

/* A standby has no copy of the reports that an analyzer collects itself. */
static faro_status check_standby(const faro_analyzer_settings *s, faro_error *error) {
  const bool sends = *s->standby.url != '\0';
  if (!sends && !s->standby.follow) {
    if (*s->standby.token == '\0' && *s->standby.authority == '\0' && s->standby.take_over == 0)
      return FARO_OK;
    return faro_fail(error, FARO_INVALID, "standby needs url, or follow: true");
  }
  if (sends && s->standby.follow)
    return faro_fail(error, FARO_INVALID,
                     "standby.url and standby.follow exclude each other: copies go from the first analyzer "
                     "to its standby");
  if (s->campaign.shufflers == 0)
    return faro_fail(error, FARO_INVALID,
                     "standby is for campaigns with shufflers: where clients report to the analyzer itself, "
                     "the counts of their reports are in one place only, and can be moved (faro backup "
                     "--final), not copied");
  if (sends && *s->standby.token == '\0')
    return faro_fail(error, FARO_INVALID,
                     "standby.token is required: the file of an operator's token of the standby");
  if (sends && s->standby.take_over > 0)
    return faro_fail(error, FARO_INVALID, "standby.take-over belongs into the settings of the standby");
  if (s->standby.follow && *s->http.admin_listen == '\0')
    return faro_fail(error, FARO_INVALID, "standby.follow needs admin-listen: copies arrive there");
  return sends ? faro_url_check("standby.url", s->standby.url, s->http.insecure, error) : FARO_OK;
}

const char *faro_analyzer_database(const faro_analyzer_settings *s) {
  return *s->server ? s->server : s->database;
}

/* Before any of them is named, or opened. */
static faro_status check_names(const faro_analyzer_settings *s, faro_error *error) {
  faro_status status = FARO_OK;
  if (!strstr(s->database, "://")) status = faro_store_check_name("database", s->database, error);
  for (size_t i = 0; status == FARO_OK && i < s->afters; i++)
    status = faro_store_check_name("after[].database", s->after[i].database, error);
  if (status != FARO_OK || *s->state == '\0') return status;
  if (faro_store_check_name("state", s->state, NULL) == FARO_OK && !strstr(s->state, "://")) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "state must be the path of a file: the URL of a server is for database (this is "
                   "not shown, because it may hold a password)");
}

/* What is a URL is one of a server. Analyzers that share it need no copies. */
static faro_status check_database(faro_analyzer_settings *s, faro_error *error) {
  const faro_status named = check_names(s, error);
  if (named != FARO_OK) return named;
  if (!strstr(s->database, "://")) {
    if (*s->state == '\0') return FARO_OK;
    return faro_fail(error, FARO_INVALID,
                     "state is for a database in a server: the file of its keys (got %.100s, and a file as "
                     "database)",
                     s->state);
  }
  const faro_status status = faro_spool_database_check(s->database, error);
  if (status != FARO_OK) return status;
  if (*s->state == '\0')
    return faro_fail(
        error, FARO_INVALID,
        "state is required with a database in a server: the file of keys of batches, beside which "
        "this analyzer keeps a copy of the campaign");
  if (*s->standby.url != '\0' || s->standby.follow)
    return faro_fail(error, FARO_INVALID,
                     "standby must not be given with a database in a server: another analyzer with the same "
                     "database waits by itself");
  memcpy(s->server, s->database, sizeof s->server);
  memcpy(s->database, s->state, sizeof s->database);
  return FARO_OK;
}

static faro_status finish(faro_analyzer_settings *settings, const char *path, faro_error *error) {
  faro_error inner = {0};
  faro_status status = check_database(settings, &inner);
  if (status == FARO_OK) status = check_constant(settings, &inner);
  if (status == FARO_OK) status = load_features(settings, &inner);
  if (status == FARO_OK) status = check_urls(settings, &inner);
  if (status == FARO_OK) status = check_standby(settings, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

faro_status faro_analyzer_settings_load(faro_analyzer_settings *settings, const char *path,
                                        faro_error *error) {
  *settings = defaults;
  snprintf(settings->file, sizeof settings->file, "%s", faro_path_end(path));
  faro_error inner = {0};
  faro_status status = faro_yaml_load(path, fields, FIELDS, settings, error);
  if (status == FARO_OK) status = finish(settings, path, error);
  if (status != FARO_OK) return status;
  status = faro_http_check(&settings->http, &inner);
  if (status == FARO_OK) status = faro_admin_check(&settings->http, &inner);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

faro_status faro_analyzer_settings_load_in(faro_analyzer_settings *settings, const char *path,
                                           const faro_http_settings *http, const char *url,
                                           faro_error *error) {
  const size_t skipped = server_fields();
  *settings = defaults;
  settings->http = *http;
  snprintf(settings->file, sizeof settings->file, "%s", faro_path_end(path));
  snprintf(settings->campaign.analyzer, sizeof settings->campaign.analyzer, "%s", url);
  const faro_status status = faro_yaml_load(path, fields + skipped, FIELDS - skipped, settings, error);
  const faro_status finished = status == FARO_OK ? finish(settings, path, error) : status;
  if (finished != FARO_OK || *settings->server == '\0') return finished;
  return faro_fail(error, FARO_INVALID,
                   "%s: database must be a file in a folder of campaigns; a database in a server is for an "
                   "analyzer with one campaign",
                   faro_path_end(path));
}

/* Whether two campaigns agree in a field that is read straight into a campaign; true for other
 * fields. */
static bool agree(const faro_field *field, const faro_campaign *a, const faro_campaign *b) {
  const size_t from = offsetof(faro_analyzer_settings, campaign);
  if (field->offset < from) return true;
  const char *left = (const char *)a + (field->offset - from);
  const char *right = (const char *)b + (field->offset - from);
  return field->type == FARO_FIELD_TEXT ? strcmp(left, right) == 0 : memcmp(left, right, field->size) == 0;
}

const char *faro_analyzer_settings_differ(const faro_campaign *a, const faro_campaign *b) {
  for (size_t i = 0; i < FIELDS; i++)
    if (!strchr(fields[i].name, '[') && !agree(&fields[i], a, b)) return fields[i].name;
  for (size_t i = 0; i < a->shufflers; i++)
    if (strcmp(a->shuffler[i].url, b->shuffler[i].url) != 0 ||
        memcmp(a->shuffler[i].key, b->shuffler[i].key, FARO_KEY_BYTES) != 0)
      return "shufflers";
  if (memcmp(a->adder, b->adder, a->adders * sizeof *a->adder) != 0) return "adders";
  for (size_t i = 0; i < a->settings; i++)
    if (strcmp(a->setting[i].name, b->setting[i].name) != 0 || a->setting[i].value != b->setting[i].value)
      return "settings";
  if (a->features != b->features || memcmp(a->feature, b->feature, a->features * sizeof *a->feature) != 0)
    return "campaign.features";
  if (a->befores != b->befores || memcmp(a->before, b->before, a->befores * sizeof *a->before) != 0)
    return "after";
  if (a->centre + a->contribution.low != b->centre + b->contribution.low) return "campaign.low";
  if (a->centre + a->contribution.high != b->centre + b->contribution.high) return "campaign.high";
  if (a->release != b->release) return "campaign.release";
  return memcmp(a->seal, b->seal, FARO_KEY_BYTES) == 0 ? NULL : "seal";
}
