/* shuffler: see the header. Collecting is intake.h's; this file sends, and puts the parts together. */
#include "service/shuffler.h"

#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "service/document.h"
#include "service/intake.h"
#include "service/listen.h"
#include "service/log.h"
#include "service/process.h"
#include "service/send.h"
#include "service/spool.h"
#include "yaml/yaml.h"

/* Settings. */

#define AT(member) FARO_AT(faro_shuffler_config, member)

static const faro_field fields[] = {
    FARO_HTTP_FIELDS(faro_shuffler_config),
    {"state", FARO_FIELD_TEXT, AT(state), .required = true, .help = "the file of its state"},
    {"key", FARO_FIELD_TEXT, AT(key), .required = true, .help = "the file of its signing key"},
    {"tokens", FARO_FIELD_TEXT, AT(tokens), .required = true, .help = "the file of the tokens' hashes"},
    {"campaign", FARO_FIELD_TEXT, AT(campaign)},
    {"authority", FARO_FIELD_TEXT, AT(authority)},
    {"analyzer", FARO_FIELD_TEXT, AT(analyzer), .required = true, .help = "the analyzer's URL"},
    {"analyzer-key", FARO_FIELD_OTHER, AT(analyzer_key), .required = true, .read = faro_public_key_read,
     .allowed = FARO_PUBLIC_KEY_ALLOWED},
};

static faro_status check_files(const faro_shuffler_config *config, faro_error *error) {
  faro_sign_key key;
  unsigned char *hashes = NULL;
  size_t count = 0;
  faro_status status = faro_sign_key_load(config->key, &key, error);
  sodium_memzero(&key, sizeof key);
  if (status == FARO_OK) status = faro_hashes_load(config->tokens, &hashes, &count, error);
  free(hashes);
  return status;
}

faro_status faro_shuffler_configure(faro_shuffler_config *config, const char *path, faro_error *error) {
  *config = (faro_shuffler_config){0};
  faro_error inner = {0};
  faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, config, error);
  if (status != FARO_OK) return status;
  status = faro_http_check(&config->http, &inner);
  if (status == FARO_OK) status = faro_url_check("analyzer", config->analyzer, config->http.insecure, &inner);
  if (status == FARO_OK) status = check_files(config, &inner);
  if (status == FARO_OK && *config->campaign == '\0' &&
      snprintf(config->campaign, sizeof config->campaign, "%s.campaign", config->state) >=
          (int)sizeof config->campaign)
    status = faro_fail(&inner, FARO_INVALID, "state must be a shorter path");
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", path, inner.message);
  return status;
}

/* The role. */

typedef struct role {
  const faro_shuffler_config *config;
  faro_campaign campaign;
  faro_sign_key key;
  size_t index;
  faro_metrics *metrics;
  faro_intake *intake;
  faro_http *http;
  faro_sender *sender;
  pthread_t thread;
  bool sending;
  atomic_bool ready; /* the campaign is there, and the intake */
  faro_metric *sent, *refused;
} role;

static faro_status find_self(role *r, faro_error *error) {
  for (size_t i = 0; i < r->campaign.shufflers; i++)
    if (memcmp(r->campaign.shuffler_key[i], r->key.public_key, FARO_KEY_BYTES) == 0) {
      r->index = i;
      return FARO_OK;
    }
  return faro_fail(error, FARO_INVALID, "%s: no shuffler of campaign %s has this key", r->config->key,
                   r->campaign.id);
}

/* What can be known before there is a campaign: where state and campaign will be kept, and that no other file is there. */
static faro_status check_places(const faro_shuffler_config *config, faro_error *error) {
  faro_status status = faro_place_check("state", config->state, error);
  if (status == FARO_OK) status = faro_spool_recognize(config->state, error);
  if (status == FARO_OK && access(config->campaign, F_OK) != 0)
    status = faro_place_check("campaign", config->campaign, error);
  return status;
}

/* With the campaign, if it was fetched before: whose state this is, and of which shuffler. */
static faro_status check_kept(const faro_shuffler_config *config, faro_error *error) {
  role r = {.config = config};
  struct stat info;
  const bool state = stat(config->state, &info) == 0 && info.st_size > 0;
  if (access(config->campaign, F_OK) != 0) return FARO_OK;
  faro_status status = faro_sign_key_load(config->key, &r.key, error);
  if (status == FARO_OK)
    status = faro_campaign_kept(&r.campaign, config->campaign, config->analyzer_key, error);
  if (status == FARO_OK) status = find_self(&r, error);
  if (status == FARO_OK && state) status = faro_spool_check(config->state, &r.campaign, r.index, error);
  sodium_memzero(&r.key, sizeof r.key);
  return status;
}

faro_status faro_shuffler_check(const faro_shuffler_config *config, faro_error *error) {
  faro_status status = check_places(config, error);
  if (status == FARO_OK) status = check_kept(config, error);
  if (status == FARO_OK && *config->authority) status = faro_authority_check(config->authority, error);
  return status;
}

/* Sends one batch once; true when the analyzer has it. */
static bool deliver(role *r, const faro_batch *batch, unsigned char *frame, size_t size) {
  char url[FARO_URL_MAX + 32], header[32 + FARO_NOTICE_DIGITS], notice[FARO_NOTICE_DIGITS + 1];
  faro_sent sent = {0};
  faro_error error = {0};
  char answer[FARO_SHOWN];
  snprintf(url, sizeof url, "%s/v1/batches", r->config->analyzer);
  faro_batch_write(&r->campaign, batch, &r->key, frame);
  faro_notice_write(&r->campaign, batch, &r->key, notice);
  snprintf(header, sizeof header, "Faro-Batch: %s", notice);
  const faro_status status = faro_send_post_with(r->sender, url, header, frame, size, &sent, &error);
  sodium_memzero(frame, size);
  if (status == FARO_OK && sent.status == 200) return true;
  if (status == FARO_INTERRUPTED) return false;
  faro_metric_add(r->refused, 1);
  if (status != FARO_OK) faro_log_error("batch-not-sent", &error);
  else
    faro_log(sent.status >= 500 ? FARO_LOG_WARNING : FARO_LOG_ERROR, "batch-refused", "sI sI ss", "batch",
             (json_int_t)batch->number, "status", (json_int_t)sent.status, "answer",
             faro_printable(sent.bytes, answer, sizeof answer));
  return false;
}

/* Until it is there, or the process ends: then the next start goes on. */
static void pass_on(role *r, const faro_batch *batch) {
  const size_t size = faro_batch_size(&r->campaign, batch->count);
  unsigned char *frame = malloc(size);
  faro_backoff backoff = {0};
  faro_error error = {0};
  bool there = false;
  while (frame && !faro_process_ending() && !(there = deliver(r, batch, frame, size))) {
    const struct timespec tenth = {0, 100000000};
    for (double left = faro_backoff_next(&backoff); left > 0 && !faro_process_ending(); left -= 0.1)
      nanosleep(&tenth, NULL);
  }
  free(frame);
  if (!there) return;
  if (faro_intake_forget(r->intake, batch->number, &error) != FARO_OK) {
    faro_log_error("batch-not-forgotten", &error); /* it is sent again, and the analyzer knows it */
    return;
  }
  faro_metric_add(r->sent, 1);
  faro_log(FARO_LOG_INFO, "batch-sent", "sI", "batch", (json_int_t)batch->number);
}

static void *send_all(void *context) {
  role *r = context;
  while (!faro_process_ending()) {
    faro_batch batch = {0};
    faro_error error = {0};
    const faro_status status = faro_intake_next(r->intake, 0.2, &batch, &error);
    if (status != FARO_OK) faro_log_error("batch-not-read", &error);
    if (batch.count > 0) pass_on(r, &batch);
    faro_intake_wipe(r->intake, &batch);
  }
  return NULL;
}

static void on_reports(void *context, faro_http_request *request) {
  role *r = context;
  if (atomic_load(&r->ready)) faro_intake_handle(r->intake, request);
  else faro_http_refuse(request, 503, "the campaign is not here yet");
}

static bool is_well(void *context) {
  role *r = context;
  return atomic_load(&r->ready) && faro_intake_healthy(r->intake);
}

static faro_status open_intake(role *r, faro_error *error) {
  const faro_spool_settings settings = {
      .path = r->config->state, .tokens = r->config->tokens, .campaign = &r->campaign, .shuffler = r->index};
  faro_spool *spool = NULL;
  faro_status status = faro_spool_open(&spool, &settings, error);
  if (status != FARO_OK) return status;
  status = faro_intake_create(&r->intake, spool, &r->campaign, r->index, r->metrics, error);
  if (status != FARO_OK) faro_spool_close(spool);
  return status;
}

static faro_status start(role *r, faro_error *error) {
  static const faro_http_route routes[] = {{"POST", "/v1/reports", on_reports, 0, NULL}};
  const faro_send_settings send = {.authority = *r->config->authority ? r->config->authority : NULL,
                                   .stopping = faro_process_ending};
  const faro_http_service service = {
      .routes = routes, .count = 1, .context = r, .healthy = is_well, .metrics = r->metrics};
  faro_status status = faro_sender_create(&r->sender, &send, error);
  if (status == FARO_OK) status = check_places(r->config, error);
  if (status == FARO_OK) status = faro_sign_key_load(r->config->key, &r->key, error);
  if (status == FARO_OK) status = faro_http_start(&r->http, &r->config->http, &service, error);
  /* It listens: to wait for an analyzer that is not there yet is no failure to start. */
  if (status == FARO_OK) faro_process_notify("READY=1\nSTATUS=waiting for the campaign");
  if (status == FARO_OK)
    status = faro_campaign_obtain(&r->campaign, r->config->campaign, r->config->analyzer,
                                  r->config->analyzer_key, r->sender, error);
  if (status == FARO_OK) status = find_self(r, error);
  if (status == FARO_OK) status = open_intake(r, error);
  if (status != FARO_OK) return status;
  faro_http_spare(r->http, faro_wire_report_size(&r->campaign));
  atomic_store(&r->ready, true);
  r->sending = pthread_create(&r->thread, NULL, send_all, r) == 0;
  return r->sending ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot start a thread");
}

static void stop(role *r) {
  faro_process_end();
  if (r->sending) pthread_join(r->thread, NULL);
  faro_http_stop(r->http);
  faro_intake_destroy(r->intake);
  faro_sender_destroy(r->sender);
  faro_metrics_destroy(r->metrics);
  sodium_memzero(&r->key, sizeof r->key);
}

faro_status faro_shuffler_serve(const faro_shuffler_config *config, faro_error *error) {
  role r = {.config = config};
  faro_status status = faro_process_begin(error);
  if (status == FARO_OK) status = faro_metrics_create(&r.metrics, error);
  if (status != FARO_OK) return status;
  r.sent = faro_metrics_counter(r.metrics, "faro_batches_sent_total", "", "Batches that the analyzer has.");
  r.refused = faro_metrics_counter(r.metrics, "faro_batch_attempts_failed_total", "",
                                   "Attempts to send a batch that failed.");
  status = start(&r, error);
  if (status == FARO_OK) {
    const faro_spool_state state = faro_intake_look(r.intake);
    faro_log(FARO_LOG_INFO, "ready", "ss si si sI sI sI", "campaign", r.campaign.id, "shuffler", (int)r.index,
             "port", (int)faro_http_port(r.http), "batch", (json_int_t)state.number, "held",
             (json_int_t)state.held, "waiting", (json_int_t)state.waiting);
    faro_process_notify("STATUS=collecting");
    while (!faro_process_wait(1000)) continue;
  }
  const bool waited = status == FARO_INTERRUPTED && faro_process_ending(); /* for the campaign, until now */
  const bool asked = status == FARO_OK || waited;
  if (asked) {
    faro_process_notify("STOPPING=1");
    faro_log(FARO_LOG_INFO, "stopping", NULL);
  }
  stop(&r);
  if (asked) faro_log(FARO_LOG_INFO, "stopped", NULL);
  return asked ? FARO_OK : status;
}
