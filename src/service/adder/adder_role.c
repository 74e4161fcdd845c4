/* adder_role: see the header. HTTP threads queue what shufflers post; one thread, the worker, adds.
 * Opening the boxes of a large batch takes seconds, so the main thread answers for the health
 * meanwhile, and looks for moves of the campaign. */
#include "service/adder/adder_role.h"

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
#include "service/adder/adder_inner.h"
#include "service/http/sender.h"
#include "service/role/admin.h"
#include "service/role/disk.h"
#include "service/role/health.h"
#include "service/role/log.h"
#include "service/role/process.h"
#include "service/role/reload.h"
#include "service/shuffler/campaign_file.h"
#include "service/shuffler/watch.h"

enum { QUEUE = 4 };             /* posts that wait */
static const double PERIOD = 5; /* seconds between looks at the analyzer */

typedef struct role {
  const faro_adder_settings *settings;
  faro_adder_keys keys;
  size_t index;
  faro_metrics *metrics;
  faro_http *http;
  faro_admin *admin;
  faro_http_service operators;
  faro_sender *sender;
  faro_place *place;
  faro_adder_state *state; /* the worker's */
  faro_campaign working;   /* the worker's copy of the campaign */
  faro_health health;
  faro_disk disk;
  atomic_bool ready; /* there is a campaign and a state */
  atomic_uint_fast64_t next;
  pthread_t thread;
  bool running;
  pthread_mutex_t mutex; /* guards the members below, up to the metrics */
  pthread_cond_t work;
  faro_campaign campaign; /* with the keys of now */
  faro_http_request *queue[QUEUE];
  size_t queued;
  bool ending;
  faro_metric *batches, *shares, *left_out, *refused;
} role;

/* Posts. */

/* The same notice that announces a batch to the analyzer. */
static faro_status admit(void *context, const faro_http_request *request, faro_error *error) {
  role *r = context;
  faro_batch batch;
  const char *notice = faro_http_header(request, "Faro-Batch");
  if (!atomic_load(&r->ready)) return faro_fail(error, FARO_INVALID, "the adder has no campaign yet");
  if (!notice) return faro_fail(error, FARO_INVALID, "the header Faro-Batch is required");
  pthread_mutex_lock(&r->mutex);
  faro_status status = faro_notice_read(&r->campaign, notice, strlen(notice), &batch, error);
  pthread_mutex_unlock(&r->mutex);
  if (status == FARO_OK && batch.shuffler != r->index)
    status = faro_fail(error, FARO_INVALID, "this is adder %zu, not that of shuffler %lu", r->index,
                       (unsigned long)batch.shuffler);
  if (status != FARO_OK) faro_metric_add(r->refused, 1);
  return status;
}

static void on_shares(void *context, faro_http_request *request) {
  role *r = context;
  pthread_mutex_lock(&r->mutex);
  const bool room = r->queued < QUEUE && !r->ending;
  if (room) {
    faro_http_park(request);
    r->queue[r->queued++] = request;
    pthread_cond_signal(&r->work);
  }
  pthread_mutex_unlock(&r->mutex);
  if (!room) faro_http_refuse(request, 503, "too many batches at once");
}

static void on_state(void *context, faro_http_request *request) {
  role *r = context;
  char digest[2 * FARO_DIGEST_BYTES + 1], text[160];
  if (!atomic_load(&r->ready)) {
    faro_http_refuse(request, 503, "the adder has no campaign yet");
    return;
  }
  pthread_mutex_lock(&r->mutex);
  (void)faro_hex_write(r->campaign.digest, FARO_DIGEST_BYTES, digest);
  pthread_mutex_unlock(&r->mutex);
  const int length = snprintf(text, sizeof text, "{\"campaign\":\"%s\",\"next\":%" PRIu64 "}\n", digest,
                              (uint64_t)atomic_load(&r->next));
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = (size_t)length};
  faro_http_reply(request, &answer);
}

/* The worker. */

static void tell_added(role *r, const faro_batch *batch, const faro_adder_answer *answer) {
  atomic_store(&r->next, faro_adder_state_next(r->state));
  faro_health_set(&r->health, FARO_ILL_REPORTS, "");
  if (answer->known) return;
  faro_metric_add(r->batches, 1);
  faro_metric_add(r->shares, batch->count);
  faro_metric_add(r->left_out, answer->left_out);
  faro_log(FARO_LOG_INFO, "added", "sI sI sI", "batch", (json_int_t)batch->number, "shares",
           (json_int_t)batch->count, "left-out", (json_int_t)answer->left_out);
}

static void refuse(role *r, faro_http_request *request, faro_status status, const faro_error *error) {
  faro_metric_add(r->refused, 1);
  faro_log_error("shares-refused", error);
  if (status != FARO_INVALID) faro_health_set(&r->health, FARO_ILL_REPORTS, error->message);
  faro_http_refuse(request, status == FARO_INVALID ? 409 : 503, error->message);
}

static void add(role *r, faro_http_request *request) {
  faro_batch batch;
  faro_adder_answer answer;
  faro_error error = {0};
  pthread_mutex_lock(&r->mutex);
  r->working = r->campaign;
  pthread_mutex_unlock(&r->mutex);
  faro_status status =
      faro_shares_read(&r->working, faro_http_body(request), faro_http_length(request), &batch, &error);
  if (status != FARO_OK) {
    faro_metric_add(r->refused, 1);
    faro_http_refuse(request, 400, error.message);
    return;
  }
  if (batch.shuffler != r->index)
    status = faro_fail(&error, FARO_INVALID, "this is adder %zu, not that of shuffler %lu", r->index,
                       (unsigned long)batch.shuffler);
  if (status == FARO_OK) status = faro_adder_add(r->state, &batch, &answer, &error);
  if (status != FARO_OK) {
    refuse(r, request, status, &error);
    return;
  }
  tell_added(r, &batch, &answer);
  const faro_http_answer reply = {.status = 200,
                                  .type = "application/octet-stream",
                                  .bytes = answer.sum,
                                  .length = faro_sum_size(&r->working)};
  faro_http_reply(request, &reply);
}

/* Takes the next post; NULL when the role ends and none is left. */
static faro_http_request *take(role *r) {
  faro_http_request *request = NULL;
  pthread_mutex_lock(&r->mutex);
  while (r->queued == 0 && !r->ending) pthread_cond_wait(&r->work, &r->mutex);
  if (r->queued > 0) {
    request = r->queue[0];
    r->queued--;
    memmove(r->queue, r->queue + 1, r->queued * sizeof *r->queue);
  }
  pthread_mutex_unlock(&r->mutex);
  return request;
}

static void *work(void *context) {
  role *r = context;
  for (faro_http_request *request = NULL; (request = take(r));) add(r, request);
  return NULL;
}

/* Start and stop. */

static bool is_well(void *context, bool ready, faro_text *reasons) {
  role *r = context;
  faro_error lost = {0};
  const bool joined = atomic_load(&r->ready);
  faro_health_set(&r->health, FARO_ILL_NO_CAMPAIGN,
                  joined ? "" : "the adder waits for its campaign: the analyzer has not answered yet");
  if (joined) {
    const bool present = faro_adder_state_present(r->state, &lost) == FARO_OK;
    faro_health_set(&r->health, FARO_ILL_STATE, present ? "" : lost.message);
    faro_disk_look(&r->disk, r->settings->common.state);
  }
  return faro_health_write(&r->health, ready, reasons);
}

/* If the campaign has moved since: takes the keys of now. */
static void follow_move(role *r, uint64_t *number) {
  faro_move *move = malloc(sizeof *move);
  faro_campaign *now = malloc(sizeof *now);
  unsigned char founder[FARO_KEY_BYTES];
  faro_error error = {0};
  faro_place_look(r->place, r->sender);
  if (move) faro_place_move(r->place, &r->campaign, move);
  if (move && now && move->number != *number) {
    faro_place_founder(r->place, founder);
    faro_status status = faro_campaign_file_load(now, r->settings->common.campaign, founder, &error);
    if (status == FARO_OK) status = faro_place_apply(r->place, now, &error);
    if (status == FARO_OK) {
      pthread_mutex_lock(&r->mutex);
      r->campaign = *now;
      pthread_mutex_unlock(&r->mutex);
      *number = move->number;
    } else faro_log_error("move-not-applied", &error);
  }
  free(move);
  free(now);
}

/* An adder sees single shares only; whether their totals can be, the analyzer sees. */
static void ask_analyzer(role *r) {
  char address[FARO_URL_MAX + 1], url[FARO_URL_MAX + 32];
  faro_sent sent = {0};
  faro_standing there = {0};
  faro_place_address(r->place, address);
  snprintf(url, sizeof url, "%s/v1/state", address);
  if (faro_send_get(r->sender, url, &sent, NULL) != FARO_OK || sent.status != 200) return;
  if (faro_standing_read(sent.bytes, sent.length, r->index, &there, NULL) == FARO_OK &&
      memcmp(there.digest, r->campaign.digest, FARO_DIGEST_BYTES) == 0)
    faro_standing_tell(&there, &r->health);
}

static faro_status join_campaign(role *r, faro_error *error) {
  const faro_shuffler_settings *common = &r->settings->common;
  faro_sent fresh = {0};
  faro_status status =
      faro_campaign_file_obtain(&r->campaign, common->campaign, r->place, r->sender, &fresh, error);
  if (status == FARO_OK) status = faro_adder_find(&r->campaign, &r->keys, common->key, &r->index, error);
  r->working = r->campaign;
  if (status == FARO_OK)
    status = faro_adder_state_open(&r->state, common->state, &r->working, r->index, &r->keys,
                                   fresh.bytes == NULL, error);
  if (status == FARO_OK) status = faro_campaign_file_keep(common->campaign, &fresh, error);
  return status;
}

static faro_status start(role *r, faro_error *error) {
  const size_t largest = faro_shares_size(FARO_BATCH_MAX / FARO_BOX_BYTES);
  static faro_http_route routes[2];
  routes[0] = (faro_http_route){"POST", "/v1/shares", on_shares, largest, admit};
  routes[1] = (faro_http_route){"GET", "/v1/state", on_state, 0, NULL};
  const faro_shuffler_settings *common = &r->settings->common;
  const faro_sender_params params = {.authority = *common->authority ? common->authority : NULL,
                                     .stopping = faro_process_ending};
  const faro_http_service service = {.routes = routes,
                                     .count = 2,
                                     .context = r,
                                     .healthy = is_well,
                                     .metrics = r->metrics,
                                     .bare = !faro_http_open(&common->http)};
  r->operators = (faro_http_service){.context = r, .healthy = is_well, .metrics = r->metrics};
  faro_status status = faro_sender_create(&r->sender, &params, error);
  if (status == FARO_OK) status = faro_place_create(&r->place, common, error);
  if (status == FARO_OK) status = faro_adder_check_paths(r->settings, error);
  if (status == FARO_OK) status = faro_adder_keys_load(r->settings, &r->keys, error);
  if (status == FARO_OK) status = faro_admin_bind(&r->admin, &common->http, error);
  if (status == FARO_OK) status = faro_http_start(&r->http, &common->http, &service, error);
  if (status == FARO_OK) status = faro_admin_serve(r->admin, &r->operators, error);
  /* As for a shuffler: waiting for an analyzer that is not up yet is not a failure to start. */
  if (status == FARO_OK) faro_process_notify("READY=1\nSTATUS=waiting for the campaign");
  if (status == FARO_OK) status = join_campaign(r, error);
  if (status != FARO_OK) return status;
  atomic_store(&r->next, faro_adder_state_next(r->state));
  r->running = pthread_create(&r->thread, NULL, work, r) == 0;
  atomic_store(&r->ready, r->running);
  return r->running ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot start a thread");
}

/* The worker answers what is parked before it ends, so that the server can stop. */
static void stop(role *r) {
  faro_process_end();
  pthread_mutex_lock(&r->mutex);
  r->ending = true;
  pthread_cond_signal(&r->work);
  pthread_mutex_unlock(&r->mutex);
  if (r->running) pthread_join(r->thread, NULL);
  faro_admin_stop(r->admin);
  faro_http_stop(r->http);
  faro_adder_state_close(r->state);
  faro_sender_destroy(r->sender);
  faro_place_destroy(r->place);
  faro_metrics_destroy(r->metrics);
  faro_health_clear(&r->health);
  pthread_cond_destroy(&r->work);
  pthread_mutex_destroy(&r->mutex);
  sodium_memzero(&r->keys, sizeof r->keys);
}

static void enter_metrics(role *r) {
  r->batches = faro_metrics_counter(r->metrics, "faro_adder_batches_total", "", "Batches that were added.");
  r->shares = faro_metrics_counter(r->metrics, "faro_adder_shares_total", "", "Shares in these batches.");
  r->left_out = faro_metrics_counter(r->metrics, "faro_adder_left_out_total", "",
                                     "Shares in these batches that could not be opened, or were copies.");
  r->refused =
      faro_metrics_counter(r->metrics, "faro_adder_refused_total", "", "Posts of shares that were refused.");
  faro_disk_init(&r->disk, r->metrics);
  faro_health_init(&r->health, r->metrics);
}

static void serve(role *r) {
  uint64_t moved = 0;
  double looked = 0;
  faro_log(FARO_LOG_INFO, "ready", "ss si si sI", "campaign", r->campaign.id, "adder", (int)r->index, "port",
           (int)faro_http_port(r->http), "batch", (json_int_t)atomic_load(&r->next));
  faro_process_notify("STATUS=adding");
  while (!faro_process_wait(1000)) {
    if (faro_process_reloading()) {
      faro_reload_certificate(r->http);
      faro_admin_reload(r->admin);
    }
    if (faro_clock() > looked + PERIOD) {
      follow_move(r, &moved);
      ask_analyzer(r);
      looked = faro_clock();
    }
    (void)is_well(r, false, NULL);
  }
}

faro_status faro_adder_serve(const faro_adder_settings *settings, faro_error *error) {
  static role r;
  r = (role){.settings = settings};
  faro_log_role("adder");
  pthread_mutex_init(&r.mutex, NULL);
  pthread_cond_init(&r.work, NULL);
  faro_status status = faro_process_begin(error);
  if (status == FARO_OK) status = faro_metrics_create(&r.metrics, error);
  if (status != FARO_OK) return status;
  enter_metrics(&r);
  status = start(&r, error);
  if (status == FARO_OK) serve(&r);
  const bool asked = faro_process_stopping(status);
  stop(&r);
  faro_process_stopped(asked);
  return asked ? FARO_OK : status;
}
