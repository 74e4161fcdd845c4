/* shuffler_role: see the header. intake.h collects reports, or portions of batches (joiner.h); this
 * file sends batches and starts and stops the parts. */
#include "service/shuffler/shuffler_role.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "service/http/sender.h"
#include "service/role/admin.h"
#include "service/role/disk.h"
#include "service/role/intake.h"
#include "service/role/log.h"
#include "service/role/process.h"
#include "service/role/reload.h"
#include "service/shuffler/campaign_file.h"
#include "service/shuffler/follow.h"
#include "service/shuffler/handover.h"
#include "service/shuffler/joiner.h"
#include "service/shuffler/partner.h"
#include "service/shuffler/place.h"
#include "service/shuffler/shuffler_check.h"
#include "service/shuffler/watch.h"
#include "service/state/spool.h"

static const double PATIENCE = 20; /* seconds that the analyzer may be away or busy */
/* The routes of a whole shuffler, or of a collector, are the first ones of a joiner's. */
enum { SHUFFLER_ROUTES = 1, JOINER_ROUTES = 5 };

/* The batch that could not be handed over the last time. */
typedef struct stuck {
  uint64_t batch;
  double since; /* on faro_clock; 0: there is none */
  faro_backoff backoff;
} stuck;

typedef struct role {
  const faro_shuffler_settings *settings;
  faro_campaign campaign;
  faro_sign_key key;
  size_t index;
  faro_metrics *metrics;
  faro_intake *intake;
  faro_http *http;
  faro_admin *admin;
  faro_http_service operators;
  faro_sender *sender;
  faro_place *place;
  faro_move move; /* as it was at the start */
  pthread_t thread;
  bool sending;
  atomic_bool ready; /* there is a campaign, an intake and a watch */
  atomic_bool ended; /* the analyzer says that the campaign has ended: nothing is collected meanwhile */
  faro_health health;
  faro_disk disk;
  faro_watch *watch;
  faro_follow *follow;   /* campaigns in phases only */
  faro_joiner *joiner;   /* a joiner's */
  faro_partner *partner; /* split counts only */
  faro_handover handover;
  stuck stuck; /* the sender's */
  faro_metric *sent, *refused, *reachable, *adder;
  faro_http_route routes[JOINER_ROUTES];
} role;

/* What stands in the way of a batch. A refusal is final until somebody helps; a taker that is away
 * or busy has some time to come back. So does a joiner that answers 401: it may wait for its
 * campaign. */
static void tell_failed(role *r, const faro_batch *batch, long status, const char *why) {
  char text[FARO_ILL_TEXT], answer[FARO_SHOWN];
  const bool joined = faro_shuffler_is_collector(r->settings);
  if (status == 410) {
    snprintf(text, sizeof text,
             "the %s says that the campaign has ended, and does not take batch %" PRIu64
             ", which is kept. If the campaign has ended, stop this %s and delete its state",
             faro_handover_taker(&r->handover), batch->number, joined ? "collector" : "shuffler");
    faro_health_set(&r->health, FARO_ILL_LEFT, text);
    return;
  }
  const bool away = status >= 500 || status == 0 || (joined && status == 401);
  if (away && faro_clock() - r->stuck.since < PATIENCE) return;
  snprintf(text, sizeof text, "the %s does not take batch %" PRIu64 ": %s", faro_handover_taker(&r->handover),
           batch->number, faro_printable(why, answer, sizeof answer));
  faro_health_set(&r->health, FARO_ILL_HANDOVER, text);
}

/* Tries once to send a batch; true if the analyzer, or the joiner, has it now. An answer that the
 * campaign has ended is not signed, and may come from something between the two: the batch is kept
 * all the same. */
static bool deliver(role *r, const faro_batch *batch, unsigned char *frame) {
  faro_sent sent = {0};
  faro_error error = {0};
  char answer[FARO_SHOWN];
  unsigned char proof[FARO_SIGNATURE_BYTES];
  const uint64_t epoch = faro_place_epoch(r->place, proof);
  const faro_status status = faro_handover_post(&r->handover, batch, frame, &sent, &error);
  /* If another analyzer has taken over meanwhile, that one must have it. */
  if (status == FARO_OK && sent.status == 200) return faro_place_epoch(r->place, proof) == epoch;
  if (status == FARO_INTERRUPTED) return false;
  faro_metric_add(r->refused, 1);
  tell_failed(r, batch, status == FARO_OK ? sent.status : 0, status == FARO_OK ? sent.bytes : error.message);
  if (status != FARO_OK) faro_log_error("batch-not-sent", &error);
  else
    faro_log(sent.status >= 500 ? FARO_LOG_WARNING : FARO_LOG_ERROR, "batch-refused", "sI sI ss", "batch",
             (json_int_t)batch->number, "status", (json_int_t)sent.status, "answer",
             faro_printable(sent.bytes, answer, sizeof answer));
  return false;
}

/* Split counts: asks the adder once for its sum, and makes the batch for the analyzer. NULL if
 * there is no sum yet. */
static unsigned char *complete(role *r, const faro_batch *batch) {
  unsigned char *body = malloc(faro_batch_body(&r->campaign, batch->count));
  char text[FARO_ILL_TEXT];
  faro_error error = {0};
  if (!body) return NULL;
  const faro_status status = faro_partner_complete(r->partner, batch, body, &error);
  if (status == FARO_OK) return body;
  free(body);
  if (status == FARO_INTERRUPTED) return NULL;
  faro_log_error("sum-not-received", &error);
  snprintf(text, sizeof text, "batch %" PRIu64 " waits for the adder: %.300s", batch->number, error.message);
  if (status == FARO_INVALID || faro_clock() - r->stuck.since > PATIENCE)
    faro_health_set(&r->health, FARO_ILL_HANDOVER, text);
  return NULL;
}

/* Whatever stood in the way of the last batch does so no more. */
static void unstick(role *r) {
  if (r->stuck.since == 0) return;
  r->stuck = (stuck){0};
  faro_health_set(&r->health, FARO_ILL_HANDOVER, "");
  faro_health_set(&r->health, FARO_ILL_LEFT, "");
}

/* Tries once, and does not ask again before the intake was asked for the next batch: in a database,
 * another front-end may have handed this one over since. True if it is done. */
static bool pass_on(role *r, const faro_batch *batch) {
  unsigned char *frame = malloc(faro_handover_bytes(&r->handover, batch->count));
  faro_error error = {0};
  const bool there = frame && deliver(r, batch, frame);
  free(frame);
  if (!there) return false;
  if (faro_intake_forget(r->intake, batch->number, &error) != FARO_OK) {
    faro_log_error("batch-not-forgotten", &error); /* it is sent again, and recognized there */
    return false;
  }
  faro_metric_add(r->sent, 1);
  faro_log(FARO_LOG_INFO, "batch-sent", "sI", "batch", (json_int_t)batch->number);
  return true;
}

/* The same for split counts. */
static bool pass_on_split(role *r, const faro_batch *batch) {
  faro_batch whole = *batch;
  unsigned char *body = complete(r, batch);
  whole.body = body;
  const bool done = body && pass_on(r, &whole);
  free(body);
  return done;
}

/* Sends the oldest batch that waits here, if there is one. False: in vain. If the process ends
 * first, the next start goes on. */
static bool send_next(role *r) {
  faro_batch batch = {0};
  faro_error error = {0};
  const faro_status status = faro_intake_next(r->intake, 0.2, &batch, &error);
  if (status != FARO_OK) faro_log_error("batch-not-read", &error);
  if (status == FARO_OK && (batch.count == 0 || batch.number != r->stuck.batch)) unstick(r);
  bool done = true;
  if (batch.count > 0) {
    if (r->stuck.since == 0) r->stuck = (stuck){.batch = batch.number, .since = faro_clock()};
    done = r->partner ? pass_on_split(r, &batch) : pass_on(r, &batch);
    if (done) unstick(r);
  } else if (r->partner) faro_partner_look(r->partner, faro_intake_snapshot(r->intake).first);
  faro_intake_wipe(r->intake, &batch);
  return done;
}

static void *send_all(void *context) {
  role *r = context;
  while (!faro_process_ending()) {
    if (send_next(r)) continue;
    /* By the clock: a process that was stopped meanwhile looks at once whether the batch is still
     * its own. */
    const double until = faro_clock() + faro_backoff_next(&r->stuck.backoff);
    while (faro_clock() < until && !faro_process_ending()) faro_sleep(0.05);
  }
  return NULL;
}

static void on_reports(void *context, faro_http_request *request) {
  role *r = context;
  if (atomic_load(&r->ended))
    faro_http_refuse(request, 410, "no reports are collected now: the campaign has ended");
  else if (atomic_load(&r->ready)) faro_intake_handle(r->intake, request);
  else faro_http_refuse(request, 503, "the shuffler has no campaign yet");
}

/* A joiner's routes. */

static bool answers(role *r, faro_http_request *request) {
  if (atomic_load(&r->ready)) return true;
  faro_http_refuse(request, 503, "the joiner has no campaign yet");
  return false;
}

static faro_status admit_portion(void *context, const faro_http_request *request, faro_error *error) {
  role *r = context;
  if (!atomic_load(&r->ready)) return faro_fail(error, FARO_INVALID, "the joiner has no campaign yet");
  return faro_joiner_admit(r->joiner, request, error);
}

static void on_portion(void *context, faro_http_request *request) {
  role *r = context;
  if (answers(r, request)) faro_joiner_take(r->joiner, request);
}

static void on_collectors(void *context, faro_http_request *request) {
  role *r = context;
  if (answers(r, request)) faro_joiner_list(r->joiner, request);
}

static void on_state(void *context, faro_http_request *request) {
  role *r = context;
  if (answers(r, request)) faro_joiner_state(r->joiner, request);
}

static void on_greeting(void *context, faro_http_request *request) {
  role *r = context;
  if (answers(r, request)) faro_joiner_greeting(r->joiner, request);
}

static void set_routes(role *r) {
  const faro_http_route all[JOINER_ROUTES] = {
      {"POST", "/v1/reports", on_reports, 0, NULL},
      {"GET", "/v1/collectors", on_collectors, 0, NULL},
      {"POST", "/v1/portions", on_portion, faro_joiner_limit(r->settings), admit_portion},
      {"GET", "/v1/state", on_state, 0, NULL},
      {"POST", "/v1/state", on_greeting, FARO_GREETING_BYTES, NULL}};
  memcpy(r->routes, all, sizeof all);
}

static bool is_well(void *context, bool ready, faro_text *reasons) {
  role *r = context;
  const bool joined = atomic_load(&r->ready);
  faro_health_set(&r->health, FARO_ILL_NO_CAMPAIGN,
                  joined ? "" : "the shuffler waits for its campaign: the analyzer has not answered yet");
  if (joined) faro_intake_check(r->intake, &r->health);
  if (joined) faro_watch_refresh(r->watch);
  if (joined && r->joiner) faro_joiner_check(r->joiner, &r->health);
  if (joined) faro_disk_look(&r->disk, r->settings->state);
  return faro_health_write(&r->health, ready, reasons);
}

static faro_status open_intake(role *r, bool known, faro_error *error) {
  const faro_spool_params params = {.path = r->settings->state,
                                    .database = r->settings->database,
                                    .known = known,
                                    .tokens = r->settings->tokens,
                                    .campaign = &r->campaign,
                                    .shuffler = r->index,
                                    .signer = r->settings->analyzer_key,
                                    .move = &r->move,
                                    .part = faro_shuffler_part(r->settings)};
  faro_spool *spool = NULL;
  faro_status status = FARO_OK;
  if (faro_campaign_in_phases(&r->campaign))
    status = faro_plans_create(&r->campaign.plans, FARO_PLANS_MAX, error);
  if (status == FARO_OK) status = faro_spool_open(&spool, &params, error);
  if (status != FARO_OK) return status;
  status = faro_intake_create(&r->intake, spool, &r->campaign, r->index, r->metrics, error);
  if (status != FARO_OK) faro_spool_close(spool);
  return status;
}

static faro_status start_joiner(role *r, faro_error *error) {
  const faro_joiner_params params = {.settings = r->settings,
                                     .campaign = &r->campaign,
                                     .key = &r->key,
                                     .shuffler = r->index,
                                     .intake = r->intake,
                                     .metrics = r->metrics,
                                     .ended = &r->ended};
  r->handover = (faro_handover){.settings = r->settings,
                                .campaign = &r->campaign,
                                .key = &r->key,
                                .place = r->place,
                                .sender = r->sender};
  return faro_shuffler_is_joiner(r->settings) ? faro_joiner_create(&r->joiner, &params, error) : FARO_OK;
}

static faro_status start_watch(role *r, faro_error *error) {
  const bool collects = faro_shuffler_is_collector(r->settings);
  const faro_watch_params params = {.place = r->place,
                                    .authority = *r->settings->authority ? r->settings->authority : NULL,
                                    .campaign = &r->campaign,
                                    .key = &r->key,
                                    .joiner = collects ? r->settings->part.joiner : NULL,
                                    .number = collects ? (size_t)r->settings->part.number : r->index,
                                    .intake = r->intake,
                                    .health = &r->health,
                                    .reachable = r->reachable,
                                    .standby = !collects && *r->settings->standby != '\0',
                                    .ended = &r->ended};
  return faro_watch_create(&r->watch, &params, error);
}

static faro_status start_follow(role *r, faro_error *error) {
  const faro_follow_params params = {.place = r->place,
                                     .authority = *r->settings->authority ? r->settings->authority : NULL,
                                     .campaign = &r->campaign,
                                     .intake = r->intake,
                                     .health = &r->health};
  return faro_campaign_in_phases(&r->campaign) ? faro_follow_create(&r->follow, &params, error) : FARO_OK;
}

static faro_status start_partner(role *r, faro_error *error) {
  const faro_partner_params params = {.url = r->settings->adder,
                                      .authority = *r->settings->authority ? r->settings->authority : NULL,
                                      .campaign = &r->campaign,
                                      .key = &r->key,
                                      .shuffler = r->index,
                                      .health = &r->health,
                                      .reachable = r->adder};
  return faro_campaign_is_split(&r->campaign) ? faro_partner_create(&r->partner, &params, error) : FARO_OK;
}

static faro_status start(role *r, faro_error *error) {
  static const char *const shared[] = {"/v1/reports", "/v1/collectors", NULL};
  const faro_sender_params params = {.authority = *r->settings->authority ? r->settings->authority : NULL,
                                     .stopping = faro_process_ending};
  const bool joins = faro_shuffler_is_joiner(r->settings);
  set_routes(r);
  const faro_http_service service = {.routes = r->routes,
                                     .count = joins ? JOINER_ROUTES : SHUFFLER_ROUTES,
                                     .context = r,
                                     .healthy = is_well,
                                     .metrics = r->metrics,
                                     .shared = shared,
                                     .bare = !faro_http_open(&r->settings->http)};
  r->operators = (faro_http_service){.context = r, .healthy = is_well, .metrics = r->metrics};
  faro_sent fresh = {0};
  faro_status status = faro_sender_create(&r->sender, &params, error);
  if (status == FARO_OK) status = faro_place_create(&r->place, r->settings, error);
  if (status == FARO_OK) status = faro_shuffler_check_paths(r->settings, error);
  if (status == FARO_OK) status = faro_shuffler_check_state(r->settings, error);
  if (status == FARO_OK) status = faro_sign_key_load(r->settings->key, &r->key, error);
  if (status == FARO_OK) status = faro_admin_bind(&r->admin, &r->settings->http, error);
  if (status == FARO_OK) status = faro_http_start(&r->http, &r->settings->http, &service, error);
  if (status == FARO_OK) status = faro_admin_serve(r->admin, &r->operators, error);
  /* It is ready for systemd now: waiting for an analyzer that is not up yet is not a failure to
   * start. */
  if (status == FARO_OK) faro_process_notify("READY=1\nSTATUS=waiting for the campaign");
  if (status == FARO_OK)
    status =
        faro_campaign_file_obtain(&r->campaign, r->settings->campaign, r->place, r->sender, &fresh, error);
  if (status == FARO_OK) status = faro_shuffler_find(&r->campaign, &r->key, r->settings, &r->index, error);
  if (status == FARO_OK) faro_place_move(r->place, &r->campaign, &r->move);
  if (status == FARO_OK) status = open_intake(r, fresh.bytes == NULL, error);
  if (status == FARO_OK) status = faro_campaign_file_keep(r->settings->campaign, &fresh, error);
  if (status == FARO_OK) status = start_joiner(r, error);
  if (status == FARO_OK) status = start_watch(r, error);
  if (status == FARO_OK) status = start_follow(r, error);
  if (status == FARO_OK) status = start_partner(r, error);
  if (status != FARO_OK) return status;
  faro_http_spare(r->http, faro_wire_report_size(&r->campaign));
  atomic_store(&r->ready, true);
  r->sending = pthread_create(&r->thread, NULL, send_all, r) == 0;
  return r->sending ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot start a thread");
}

static void stop(role *r) {
  faro_process_end();
  if (r->sending) pthread_join(r->thread, NULL);
  faro_partner_destroy(r->partner);
  faro_admin_stop(r->admin);
  faro_http_stop(r->http);
  faro_watch_destroy(r->watch);
  faro_joiner_destroy(r->joiner);
  faro_follow_destroy(r->follow);
  faro_intake_destroy(r->intake);
  faro_plans_destroy(r->campaign.plans);
  faro_sender_destroy(r->sender);
  faro_place_destroy(r->place);
  faro_metrics_destroy(r->metrics);
  faro_health_clear(&r->health);
  sodium_memzero(&r->key, sizeof r->key);
}

static void reload(role *r) {
  faro_reload_certificate(r->http);
  faro_admin_reload(r->admin);
  if (!r->joiner) faro_reload_tokens(r->intake, r->settings->tokens);
}

faro_status faro_shuffler_serve(const faro_shuffler_settings *settings, faro_error *error) {
  role r = {.settings = settings};
  faro_log_role("shuffler");
  faro_status status = faro_process_begin(error);
  if (status == FARO_OK) status = faro_metrics_create(&r.metrics, error);
  if (status != FARO_OK) return status;
  r.sent = faro_metrics_counter(r.metrics, "faro_batches_sent_total", "",
                                "Batches, or portions, that were received where they go.");
  r.refused = faro_metrics_counter(r.metrics, "faro_batch_attempts_failed_total", "",
                                   "Failed attempts to send a batch.");
  r.reachable = faro_shuffler_is_collector(settings)
                    ? faro_metrics_gauge(r.metrics, "faro_joiner_reachable", "",
                                         "1 if the joiner answered the last time it was asked, 0 if not.")
                    : faro_metrics_gauge(r.metrics, "faro_analyzer_reachable", "",
                                         "1 if the analyzer answered the last time it was asked, 0 if not.");
  r.adder = faro_metrics_gauge(r.metrics, "faro_adder_reachable", "",
                               "Split counts: 1 if the adder answered the last time, 0 if not.");
  faro_disk_init(&r.disk, r.metrics);
  faro_health_init(&r.health, r.metrics);
  status = start(&r, error);
  if (status == FARO_OK) {
    const faro_spool_state state = faro_intake_snapshot(r.intake);
    faro_log(FARO_LOG_INFO, "ready", "ss si si sI sI sI", "campaign", r.campaign.id, "shuffler", (int)r.index,
             "port", (int)faro_http_port(r.http), "batch", (json_int_t)state.number, "held",
             (json_int_t)state.held, "waiting", (json_int_t)state.waiting);
    faro_process_notify("STATUS=collecting");
    while (!faro_process_wait(1000)) {
      if (faro_process_reloading()) reload(&r);
      (void)is_well(&r, false, NULL);
    }
  }
  const bool asked = faro_process_stopping(status); /* also while it waits for the campaign */
  stop(&r);
  faro_process_stopped(asked);
  return asked ? FARO_OK : status;
}
