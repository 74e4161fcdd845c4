/* waiting: see the header. */
#include "service/analyzer/waiting.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/analyzer/applied.h"
#include "service/analyzer/campaign_create.h"
#include "service/role/health.h"
#include "service/role/log.h"
#include "service/state/spool.h"

struct faro_waiting {
  const faro_analyzer_settings *settings;
  faro_applier_keys keys;
  faro_store *store; /* for reading; NULL: none is open */
  faro_spool *intake;
  faro_campaign draft, campaign;
  bool known;       /* the campaign is */
  bool kept;        /* a copy of it is beside the keys */
  uint64_t applied; /* batches, as kept beside the keys */
  faro_metrics *metrics;
  faro_metric *role, *batches;
  faro_health health;
  faro_http_service service, admin;
};

/* The campaign of the database. */
static faro_status read_campaign(faro_waiting *w, faro_error *error) {
  faro_blob document = {0};
  if (w->known) return FARO_OK;
  faro_status status = faro_campaign_find(w->store, &w->keys, &w->draft, &w->campaign, &document, error);
  const bool found = status == FARO_OK && document.bytes;
  if (found) status = faro_campaign_same(w->settings, &document, &w->kept, error);
  w->known = found && status == FARO_OK;
  free(document.bytes);
  return status;
}

static bool has_intake(const faro_waiting *w) { return faro_campaign_form(&w->campaign) == FARO_WIRE_DIRECT; }

/* A copy of the campaign beside the keys: a start that finds it does not found another campaign,
 * nor another intake. So the intake comes first. */
static faro_status keep_campaign(faro_waiting *w, faro_error *error) {
  faro_blob document = {0};
  unsigned char signer[FARO_KEY_BYTES];
  if (w->kept || (has_intake(w) && !w->intake)) return FARO_OK;
  faro_status status = faro_store_campaign(w->store, &document, signer, error);
  if (status == FARO_OK && document.bytes) status = faro_campaign_keep(w->settings, &document, error);
  w->kept = status == FARO_OK && document.bytes;
  free(document.bytes);
  return status;
}

/* A database that has fewer batches than were seen is an old copy. */
static faro_status read_applied(faro_waiting *w, faro_error *error) {
  uint64_t applied = 0;
  faro_status status = faro_store_batches(w->store, &applied, error);
  if (status == FARO_OK) status = faro_applied_check(w->settings->database, applied, error);
  if (status != FARO_OK || applied <= w->applied) return status;
  status = faro_store_confirm(w->store, error); /* after a crash, replicas may have fewer */
  if (status == FARO_OK) status = faro_applied_keep(w->settings->database, applied, error);
  if (status == FARO_OK) w->applied = applied;
  faro_metric_set(w->batches, (double)applied);
  return status;
}

/* Keys of the open batch, for an intake. It is founded by the analyzer that founds the campaign,
 * and never here: where one was, it may be lost. */
static faro_status tend_intake(faro_waiting *w, faro_error *error) {
  char path[FARO_PATH_SIZE + 8];
  bool there = false;
  if (!has_intake(w)) return FARO_OK;
  if (w->intake) return faro_spool_probe(w->intake, error);
  snprintf(path, sizeof path, "%s.intake", w->settings->database);
  const faro_spool_params params = {.path = path,
                                    .database = w->settings->server,
                                    .tokens = w->settings->tokens,
                                    .campaign = &w->campaign,
                                    .known = true};
  const faro_status status = faro_spool_there(&params, &there, error);
  if (status != FARO_OK || (!there && !w->kept)) return status;
  return faro_spool_open(&w->intake, &params, error);
}

static void close_all(faro_waiting *w) {
  faro_spool_close(w->intake);
  faro_store_close(w->store);
  w->intake = NULL;
  w->store = NULL;
}

/* *there is false before the first start of any analyzer. */
static faro_status open_store(faro_waiting *w, bool *there, faro_error *error) {
  const char *server = w->settings->server;
  *there = true;
  if (w->store) return FARO_OK;
  const faro_status status = faro_store_there(server, there, error);
  return status == FARO_OK && *there ? faro_store_open(&w->store, server, FARO_READ_ONLY, error) : status;
}

static faro_status look(faro_waiting *w, bool *due, faro_error *error) {
  bool there = false, unheld = false;
  faro_status status = open_store(w, &there, error);
  if (status == FARO_OK && there) status = faro_store_ready(w->store, error);
  if (status == FARO_OK && there) status = read_campaign(w, error);
  if (status == FARO_OK && w->known && there) {
    status = faro_store_keep_keys(w->store, w->settings->database, &w->campaign, error);
    if (status == FARO_OK) status = tend_intake(w, error);
    if (status == FARO_OK) status = keep_campaign(w, error);
    if (status == FARO_OK) status = read_applied(w, error);
  }
  if (status == FARO_OK && there) status = faro_store_follow(w->store, &unheld, error);
  if (status == FARO_OK && unheld && w->intake) status = faro_spool_opens(w->intake, error);
  *due = status == FARO_OK && (unheld || !there);
  return status;
}

/* A wiped key stays in the log of its file as long as another process reads that. */
static void purge_keys(faro_waiting *w) {
  faro_error error = {0};
  faro_status status = w->store ? faro_store_retry_purge(w->store, &error) : FARO_OK;
  if (status == FARO_OK && w->intake) status = faro_spool_retry_purge(w->intake, &error);
  if (status != FARO_OK) faro_log_error("log-not-emptied", &error);
  const bool left = (w->store && faro_store_needs_purge(w->store)) ||
                    (w->intake && faro_spool_snapshot(w->intake).needs_purge);
  faro_health_set(&w->health, FARO_ILL_DATABASE_LOG,
                  left ? "keys of batches cannot be published, or wiped once they are applied; see the log"
                       : "");
}

faro_status faro_waiting_look(faro_waiting *w, bool *due, faro_error *error) {
  faro_error why = {0};
  char text[FARO_ILL_TEXT] = "";
  *due = false;
  const faro_status status = look(w, due, &why);
  purge_keys(w);
  if (status != FARO_OK) snprintf(text, sizeof text, "%.300s", faro_health_words(&why));
  faro_health_set(&w->health, FARO_ILL_DATABASE, text);
  faro_health_set(&w->health, FARO_ILL_NO_COPY,
                  w->known ? ""
                           : "this standby has not seen the campaign yet, and has no keys of its batches");
  if (*due) close_all(w);
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", why.message);
}

/* Services. */

static void handle_down(void *context, faro_http_request *request) {
  (void)context;
  faro_http_refuse(request, 503, "this analyzer is a standby");
}

static bool is_healthy(void *context, bool ready, faro_text *reasons) {
  faro_waiting *w = context;
  if (ready && reasons) faro_text_add(reasons, "standby: this analyzer serves nobody until it takes over\n");
  return faro_health_write(&w->health, ready, reasons) && !ready;
}

static void set_services(faro_waiting *w) {
  static const faro_http_route down[] = {
      {"GET", "/v1/policy", handle_down, 0, NULL},
      {"POST", "/v1/batches", handle_down, 0, NULL},
      {"POST", "/v1/reports", handle_down, 0, NULL},
      {"GET", "/v1/campaign", handle_down, 0, NULL},
      {"GET", "/v1/move", handle_down, 0, NULL},
      {"GET", "/v1/ledger", handle_down, 0, NULL},
      {"POST", "/v1/state", handle_down, FARO_GREETING_MAX, NULL},
  };
  w->admin = (faro_http_service){.context = w, .healthy = is_healthy, .metrics = w->metrics};
  w->service = w->admin;
  w->service.routes = down;
  w->service.count = sizeof down / sizeof *down;
  w->service.bare = !faro_http_open(&w->settings->http);
}

static void set_metrics(faro_waiting *w) {
  faro_health_init(&w->health, w->metrics);
  w->role = faro_metrics_gauge(w->metrics, "faro_analyzer_standby", "", "1: a standby; 0: the analyzer.");
  w->batches = faro_metrics_gauge(w->metrics, "faro_standby_batches", "",
                                  "Batches that are applied, as the standby has seen it.");
  faro_metric_set(w->role, 1);
}

faro_status faro_waiting_create(faro_waiting **waiting, const faro_analyzer_settings *settings,
                                faro_error *error) {
  char *document = NULL;
  size_t length = 0;
  faro_waiting *w = calloc(1, sizeof *w);
  if (!w) return faro_fail(error, FARO_MEMORY, "cannot allocate the standby");
  w->settings = settings;
  faro_status status = faro_metrics_create(&w->metrics, error);
  if (status == FARO_OK) {
    set_metrics(w);
    status = faro_analyzer_keys_load(settings, &w->keys, error);
  }
  if (status == FARO_OK)
    status = faro_campaign_draft(settings, &w->keys, &w->draft, &document, &length, error);
  free(document);
  set_services(w);
  if (status == FARO_OK) *waiting = w;
  else faro_waiting_destroy(w);
  return status;
}

void faro_waiting_destroy(faro_waiting *w) {
  if (!w) return;
  close_all(w);
  if (w->metrics) faro_health_clear(&w->health);
  faro_metrics_destroy(w->metrics);
  sodium_memzero(&w->keys, sizeof w->keys);
  free(w);
}

const faro_http_service *faro_waiting_service(const faro_waiting *waiting) { return &waiting->service; }
const faro_http_service *faro_waiting_admin(const faro_waiting *waiting) { return &waiting->admin; }
