/* analyzer: see the header.
 *
 * One thread works: it alone touches the applier and the store. Handlers park batches in its queue; it keeps each, answers,
 * and then applies what is whole. Handlers read two things: the published policy, under a mutex, and the database through
 * a second connection that can only look.
 *
 *   handler: POST /v1/batches -> queue -> worker: receive, answer; step, step ...; publish -> wakes those who wait
 *
 * Where clients send to the analyzer itself, an intake collects them as in a shuffler, in a database of its own, and the
 * worker takes closed batches from there: the same hand-over, once and in order, without a network between. */
#include "service/analyzer/analyzer_role.h"

#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "service/analyzer/analyzer_status.h"
#include "service/analyzer/campaign_create.h"
#include "service/analyzer/campaign_ledger.h"
#include "service/analyzer/page.h"
#include "service/role/intake.h"
#include "service/role/json_text.h"
#include "service/role/log.h"

enum { QUEUE = 64, WAIT = 30, RETRY = 1 };

static const struct {
  const char *name, *labels, *help;
} counters[] = {
    {"faro_analyzer_batches_total", "result=\"taken\"", "Batches that came, by what became of them."},
    {"faro_analyzer_batches_total", "result=\"known\"", "Batches that came, by what became of them."},
    {"faro_analyzer_batches_total", "result=\"bad\"", "Batches that came, by what became of them."},
    {"faro_analyzer_batches_total", "result=\"unasked\"", "Batches that came, by what became of them."},
    {"faro_analyzer_batches_total", "result=\"full\"", "Batches that came, by what became of them."},
};
enum { RECEIPTS = sizeof counters / sizeof *counters };

typedef struct published {
  char *policy; /* with `length` bytes */
  size_t length;
  char etag[24];
  faro_standing standing;
} published;

struct faro_analyzer {
  const faro_analyzer_settings *settings;
  faro_applier_keys keys;
  faro_campaign campaign;
  faro_blob document;
  faro_store *store; /* the worker's */
  faro_applier *applier;
  faro_intake *intake;     /* NULL where shufflers send batches */
  faro_store *looker;      /* the handlers', */
  pthread_mutex_t looking; /* one at a time */
  faro_http *http;
  faro_metrics *metrics;
  faro_metric *receipt[RECEIPTS], *applied, *reports, *spoiled, *failures, *version, *charged, *allowed,
      *seconds;
  faro_page page;
  faro_http_route routes[8];
  size_t route_count;

  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t work;
  faro_http_request *queue[QUEUE];
  size_t queued;
  bool closing, ending; /* nobody is to be woken any more; the worker is to end */
  published published;

  pthread_t worker;
  bool working;
  atomic_bool stalled,
      needs_purge; /* needs_purge: the log of the database may hold reports that were applied */
};

/* Publishing. */

/* What the applier has committed becomes visible. */
static faro_status publish(faro_analyzer *a, bool news, faro_error *error) {
  const faro_applier_view view = faro_applier_snapshot(a->applier);
  char *policy = malloc(view.length);
  if (!policy) return faro_fail(error, FARO_MEMORY, "cannot hold a policy");
  memcpy(policy, view.policy, view.length);
  faro_metric_set(a->version, (double)view.version);
  faro_metric_set(a->charged, (double)view.batches);
  pthread_mutex_lock(&a->mutex);
  published *p = &a->published;
  free(p->policy);
  p->policy = policy;
  p->length = view.length;
  p->standing.version = view.version;
  snprintf(p->etag, sizeof p->etag, "\"%" PRIu64 "\"", view.version);
  if (news) faro_pace_mark(&p->standing.pace, faro_clock());
  if (news && !a->closing) faro_http_wake(a->http);
  pthread_mutex_unlock(&a->mutex);
  return FARO_OK;
}

static void set_stalled(faro_analyzer *a, bool stalled, const char *event, const faro_error *error) {
  if (atomic_exchange(&a->stalled, stalled) != stalled && !stalled)
    faro_log(FARO_LOG_INFO, "recovered", NULL);
  if (!stalled) return;
  faro_metric_add(a->failures, 1);
  faro_log_error(event, error);
}

static void tell_applied(faro_analyzer *a, double seconds) {
  const faro_applier_view view = faro_applier_snapshot(a->applier);
  faro_metric_add(a->applied, 1);
  faro_metric_add(a->reports, a->campaign.params.batch);
  faro_metric_add(a->spoiled, view.spoiled);
  faro_metric_observe(a->seconds, seconds);
  faro_log(FARO_LOG_INFO, "batch-applied", "sI sI sI sI", "batch", (json_int_t)view.batches - 1, "version",
           (json_int_t)view.version, "allowed", (json_int_t)a->campaign.batches, "spoiled",
           (json_int_t)view.spoiled);
  if (view.done) faro_log(FARO_LOG_INFO, "budget-used-up", "sI", "batches", (json_int_t)view.batches);
}

/* Sealed bodies that were applied are gone from the file too: at once, or as soon as nobody reads it. `how`: faro_store_purge
 * or _retry_purge. Totals may stay. */
static void empty_log(faro_analyzer *a, faro_status (*how)(faro_store *, faro_error *)) {
  faro_error error = {0};
  if (faro_campaign_form(&a->campaign) == FARO_WIRE_BITS) return;
  if (how(a->store, &error) != FARO_OK) faro_log_error("log-not-emptied", &error);
  atomic_store(&a->needs_purge, faro_store_needs_purge(a->store));
}

/* Applies all that is whole. True when there was nothing in the way, and there is nothing to come back for. */
static bool apply_all(faro_analyzer *a) {
  bool applied = true;
  empty_log(a, faro_store_retry_purge);
  while (applied) {
    faro_error error = {0};
    const double start = faro_clock();
    faro_status status = faro_applier_step(a->applier, &applied, &error);
    if (status == FARO_OK && applied) {
      empty_log(a, faro_store_purge);
      tell_applied(a, faro_clock() - start);
    }
    if (status == FARO_OK && a->published.standing.version != faro_applier_snapshot(a->applier).version)
      status = publish(a, true, &error); /* also one that could not be published before */
    set_stalled(a, status != FARO_OK, "batch-not-applied", &error);
    if (status != FARO_OK) return false;
  }
  return !atomic_load(&a->needs_purge);
}

/* Receiving. */

static void answer_kept(faro_http_request *request, bool known) {
  const char *text = known ? "{\"kept\": true, \"known\": true}\n" : "{\"kept\": true, \"known\": false}\n";
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = strlen(text)};
  faro_http_reply(request, &answer);
}

static void receive(faro_analyzer *a, faro_http_request *request) {
  static const unsigned refusal[] = {
      [FARO_RECEIPT_BAD] = 400, [FARO_RECEIPT_UNASKED] = 409, [FARO_RECEIPT_FULL] = 503};
  faro_error error = {0};
  faro_receipt receipt = FARO_RECEIPT_BAD;
  const faro_status status =
      faro_applier_receive(a->applier, faro_http_body(request), faro_http_length(request), &receipt, &error);
  sodium_memzero(faro_http_body(request), faro_http_length(request));
  if (status != FARO_OK) { /* a full disk, most likely: the shuffler has it still */
    faro_metric_add(a->failures, 1);
    faro_log_error("batch-not-kept", &error);
    faro_http_refuse(request, 503, "the batch cannot be kept now");
    return;
  }
  faro_metric_add(a->receipt[receipt], 1);
  if (receipt == FARO_RECEIPT_TAKEN || receipt == FARO_RECEIPT_KNOWN) {
    answer_kept(request, receipt == FARO_RECEIPT_KNOWN);
    return;
  }
  faro_log(FARO_LOG_WARNING, "batch-refused", "ss", "reason", error.message);
  faro_http_refuse(request, refusal[receipt], error.message);
}

/* The worker. */

/* Takes what is queued; waits for it, or until it is time to try again. False when all is done and the end was asked for. */
static bool take_work(faro_analyzer *a, bool again, faro_http_request *taken[static QUEUE], size_t *count) {
  const struct timespec until = faro_clock_after(RETRY);
  pthread_mutex_lock(&a->mutex);
  int waited = 0;
  while (a->queued == 0 && !a->ending && waited == 0)
    waited = again ? pthread_cond_clockwait(&a->work, &a->mutex, CLOCK_MONOTONIC, &until)
                   : pthread_cond_wait(&a->work, &a->mutex);
  *count = a->queued;
  memcpy(taken, a->queue, a->queued * sizeof *a->queue);
  a->queued = 0;
  const bool go_on = *count > 0 || !a->ending;
  pthread_mutex_unlock(&a->mutex);
  return go_on;
}

static void *work(void *context) {
  faro_analyzer *a = context;
  faro_http_request *taken[QUEUE];
  size_t count = 0;
  bool well = apply_all(a); /* what had come before a restart */
  while (take_work(a, !well, taken, &count)) {
    for (size_t i = 0; i < count; i++) receive(a, taken[i]);
    well = apply_all(a);
  }
  return NULL;
}

/* A batch of the intake's; nothing of it stays there once the store has it. */
static void take_own(faro_analyzer *a, faro_batch *batch) {
  faro_error error = {0};
  faro_receipt receipt = FARO_RECEIPT_BAD;
  const uint64_t number = batch->number;
  faro_status status = faro_applier_take(a->applier, batch, &receipt, &error);
  faro_intake_wipe(a->intake, batch);
  if (status == FARO_OK) {
    faro_metric_add(a->receipt[receipt], 1);
    if (receipt == FARO_RECEIPT_FULL || receipt == FARO_RECEIPT_UNASKED) status = error.status;
    else status = faro_intake_forget(a->intake, number, &error);
  }
  set_stalled(a, status != FARO_OK, "batch-not-kept", &error);
}

static bool ends(faro_analyzer *a) {
  pthread_mutex_lock(&a->mutex);
  const bool ending = a->ending;
  pthread_mutex_unlock(&a->mutex);
  return ending;
}

static void *work_directly(void *context) {
  faro_analyzer *a = context;
  bool well = apply_all(a);
  while (!ends(a)) {
    faro_batch batch = {0};
    faro_error error = {0};
    const faro_status status = faro_intake_next(a->intake, 0.2, &batch, &error);
    if (status != FARO_OK) set_stalled(a, true, "batch-not-read", &error);
    else if (batch.count > 0) take_own(a, &batch);
    if (!well || atomic_load(&a->stalled)) faro_sleep(0.2);
    well = apply_all(a);
  }
  return NULL;
}

/* Handlers. */

static void handle_reports(void *context, faro_http_request *request) {
  faro_intake_handle(((faro_analyzer *)context)->intake, request);
}

/* Batches are large, and memory for them is limited: only shufflers of the campaign may send any. */
static faro_status admit_batch(void *context, const faro_http_request *request, faro_error *error) {
  faro_analyzer *a = context;
  faro_batch batch;
  const char *notice = faro_http_header(request, "Faro-Batch");
  const faro_status status =
      notice ? faro_notice_read(&a->campaign, notice, strlen(notice), &batch, error)
             : faro_fail(error, FARO_INVALID, "a batch must come with the header Faro-Batch");
  if (status != FARO_OK) faro_metric_add(a->receipt[FARO_RECEIPT_BAD], 1);
  return status;
}

static void handle_batches(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  pthread_mutex_lock(&a->mutex);
  const bool room = a->queued < QUEUE && !a->ending;
  if (room) {
    faro_http_park(request);
    a->queue[a->queued++] = request;
    pthread_cond_signal(&a->work);
  }
  pthread_mutex_unlock(&a->mutex);
  if (!room) faro_http_refuse(request, 503, "too many batches at once");
}

static void handle_campaign(void *context, faro_http_request *request) {
  const faro_analyzer *a = context;
  const faro_http_answer answer = {.status = 200,
                                   .type = "text/plain; charset=utf-8",
                                   .bytes = a->document.bytes,
                                   .length = a->document.length};
  faro_http_reply(request, &answer);
}

/* A whole number in the query; false when it is none. */
static bool query_number(const faro_http_request *request, const char *name, uint64_t *number) {
  const char *text = faro_http_query(request, name);
  if (!text) return true;
  char *end = NULL;
  if (*text < '0' || *text > '9' || strlen(text) > 18) return false;
  *number = strtoull(text, &end, 10);
  return *end == '\0';
}

static void handle_policy(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  uint64_t after = 0;
  if (!query_number(request, "after", &after)) {
    faro_http_refuse(request, 400, "after must be a version, a whole number");
    return;
  }
  const char *known = faro_http_header(request, "If-None-Match");
  bool wait = false;
  pthread_mutex_lock(&a->mutex);
  const published *p = &a->published;
  const bool newer = p->standing.version > after && !(known && strcmp(known, p->etag) == 0);
  if (newer || faro_http_expired(request) || after == 0) {
    const faro_http_answer answer = {.status = newer ? 200 : 304,
                                     .type = "text/plain; charset=utf-8",
                                     .bytes = newer ? p->policy : "",
                                     .length = newer ? p->length : 0,
                                     .etag = p->etag};
    faro_http_reply(request, &answer);
  } else wait = true;
  pthread_mutex_unlock(&a->mutex);
  if (wait) faro_http_wait(request, WAIT);
}

static void reply_json(faro_http_request *request, faro_status status, json_t *json,
                       const faro_error *error) {
  char *text = status == FARO_OK ? faro_dump(json) : NULL;
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = text ? strlen(text) : 0};
  if (status != FARO_OK) faro_log_error("cannot-look", error);
  if (text) faro_http_reply(request, &answer);
  else faro_http_refuse(request, 503, "the state cannot be read now");
  free(text);
  json_decref(json);
}

static void handle_ledger(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  faro_error error = {0};
  json_t *json = NULL;
  uint64_t from = 0;
  if (!query_number(request, "from", &from)) {
    faro_http_refuse(request, 400, "from must be a batch, a whole number");
    return;
  }
  pthread_mutex_lock(&a->looking);
  const faro_status status = faro_ledger_json(a->looker, &a->campaign, from, &json, &error);
  pthread_mutex_unlock(&a->looking);
  reply_json(request, status, json, &error);
}

static void handle_status(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  faro_error error = {0};
  json_t *json = NULL;
  pthread_mutex_lock(&a->mutex);
  faro_standing standing = a->published.standing;
  pthread_mutex_unlock(&a->mutex);
  standing.stalled = atomic_load(&a->stalled);
  pthread_mutex_lock(&a->looking);
  const faro_status status = faro_standing_json(a->looker, &standing, faro_clock(), &json, &error);
  pthread_mutex_unlock(&a->looking);
  reply_json(request, status, json, &error);
}

static void handle_page(void *context, faro_http_request *request) {
  const faro_page *page = &((const faro_analyzer *)context)->page;
  const faro_http_answer answer = {.status = 200,
                                   .type = "text/html; charset=utf-8",
                                   .bytes = page->html,
                                   .length = page->length,
                                   .policy = page->policy};
  faro_http_reply(request, &answer);
}

static bool healthy(void *context) {
  faro_analyzer *a = context;
  return !atomic_load(&a->stalled) && !atomic_load(&a->needs_purge) &&
         (!a->intake || faro_intake_healthy(a->intake));
}

/* Starting. */

/* The campaign is made at the first start; later ones must ask for the same. The address is ours by now: what is signed can
 * be served. */
static faro_status set_campaign(faro_analyzer *a, faro_error *error) {
  faro_campaign asked = {0};
  faro_blob fresh = {0};
  char *text = NULL;
  faro_status status = faro_analyzer_draft(a->settings, &a->keys, &asked, &text, &fresh.length, error);
  fresh.bytes = (unsigned char *)text;
  if (status == FARO_OK)
    status = faro_founding_find(a->store, &a->keys, &asked, &a->campaign, &a->document, error);
  if (status == FARO_OK && !a->document.bytes) {
    status = faro_store_set_campaign(a->store, text, fresh.length, a->keys.sign.public_key, error);
    a->campaign = asked;
    a->document = fresh;
    if (status == FARO_OK)
      faro_log(FARO_LOG_INFO, "campaign-made", "ss ss", "id", asked.id, "claim", asked.claim.by);
    return status;
  }
  free(fresh.bytes);
  return status;
}

static void set_metrics(faro_analyzer *a) {
  faro_metrics *m = a->metrics;
  for (size_t i = 0; i < RECEIPTS; i++)
    a->receipt[i] = faro_metrics_counter(m, counters[i].name, counters[i].labels, counters[i].help);
  a->applied = faro_metrics_counter(m, "faro_analyzer_applied_total", "", "Batches applied since the start.");
  a->reports = faro_metrics_counter(m, "faro_analyzer_reports_total", "", "Reports in them.");
  a->spoiled = faro_metrics_counter(m, "faro_analyzer_spoiled_total", "",
                                    "Sealed reports that could not be used and counted as zero.");
  a->failures = faro_metrics_counter(m, "faro_analyzer_store_failures_total", "",
                                     "Batches that could not be kept or applied, at each attempt.");
  a->version = faro_metrics_gauge(m, "faro_analyzer_policy_version", "", "The published policy.");
  a->charged = faro_metrics_gauge(m, "faro_analyzer_ledger_charged", "", "Releases charged to the ledger.");
  a->allowed =
      faro_metrics_gauge(m, "faro_analyzer_ledger_allowed", "", "Releases that the noise was made for.");
  a->seconds =
      faro_metrics_seconds(m, "faro_analyzer_apply_seconds", "", "Time to apply a batch and commit it.");
  faro_metric_set(a->allowed, (double)a->campaign.batches);
}

static void set_routes(faro_analyzer *a) {
  const faro_http_route all[] = {
      {"GET", "/", handle_page, 0, NULL},
      {"GET", "/v1/campaign", handle_campaign, 0, NULL},
      {"GET", "/v1/policy", handle_policy, 0, NULL},
      {"GET", "/v1/ledger", handle_ledger, 0, NULL},
      {"GET", "/v1/status.json", handle_status, 0, NULL},
      {"POST", "/v1/batches", handle_batches, faro_applier_frame(&a->campaign), admit_batch},
  };
  _Static_assert(sizeof all <= sizeof a->routes, "there is room for all routes");
  memcpy(a->routes, all, sizeof all);
  a->route_count = sizeof all / sizeof *all;
  if (a->intake)
    a->routes[a->route_count - 1] = (faro_http_route){"POST", "/v1/reports", handle_reports, 0, NULL};
}

static faro_status open_intake(faro_analyzer *a, faro_error *error) {
  char path[FARO_PATH_SIZE + 8];
  faro_spool *spool = NULL;
  if (faro_campaign_form(&a->campaign) != FARO_WIRE_DIRECT) return FARO_OK;
  snprintf(path, sizeof path, "%s.intake", a->settings->database);
  const faro_spool_params params = {.path = path, .tokens = a->settings->tokens, .campaign = &a->campaign};
  faro_status status = faro_spool_open(&spool, &params, error);
  if (status != FARO_OK) return status;
  status = faro_intake_create(&a->intake, spool, &a->campaign, 0, a->metrics, error);
  if (status != FARO_OK) faro_spool_close(spool);
  return status;
}

static faro_status open_state(faro_analyzer *a, faro_error *error) {
  faro_status status = faro_analyzer_keys(a->settings, &a->keys, error);
  if (status == FARO_OK) status = faro_http_bind(&a->http, &a->settings->http, error);
  if (status == FARO_OK) status = faro_store_open(&a->store, a->settings->database, FARO_READ_WRITE, error);
  if (status == FARO_OK) status = set_campaign(a, error);
  if (status == FARO_OK) status = faro_applier_create(&a->applier, a->store, &a->campaign, &a->keys, error);
  if (status == FARO_OK) status = faro_store_open(&a->looker, a->settings->database, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_metrics_create(&a->metrics, error);
  if (status == FARO_OK) status = open_intake(a, error);
  return status;
}

static faro_status serve(faro_analyzer *a, faro_error *error) {
  set_metrics(a);
  set_routes(a);
  faro_page_make(&a->page);
  a->published.standing = (faro_standing){.campaign = &a->campaign,
                                          .signer = a->keys.sign.public_key,
                                          .constant = a->settings->constant,
                                          .pace = {.start = faro_clock()}};
  const faro_http_service service = {
      .routes = a->routes, .count = a->route_count, .context = a, .healthy = healthy, .metrics = a->metrics};
  if (a->intake) faro_http_spare(a->http, faro_wire_report_size(&a->campaign));
  faro_status status = publish(a, false, error);
  if (status == FARO_OK) status = faro_http_serve(a->http, &service, error);
  if (status != FARO_OK) return status;
  a->working = pthread_create(&a->worker, NULL, a->intake ? work_directly : work, a) == 0;
  return a->working ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot start a thread");
}

faro_status faro_analyzer_start(faro_analyzer **analyzer, const faro_analyzer_settings *settings,
                                faro_error *error) {
  faro_analyzer *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot hold the analyzer");
  made->settings = settings;
  pthread_mutex_init(&made->mutex, NULL);
  pthread_mutex_init(&made->looking, NULL);
  pthread_cond_init(&made->work, NULL);
  faro_status status = open_state(made, error);
  if (status == FARO_OK) status = serve(made, error);
  if (status == FARO_OK) *analyzer = made;
  else faro_analyzer_stop(made);
  return status;
}

uint16_t faro_analyzer_port(const faro_analyzer *analyzer) { return faro_http_port(analyzer->http); }

void faro_analyzer_stop(faro_analyzer *analyzer) {
  faro_analyzer *a = analyzer;
  if (!a) return;
  pthread_mutex_lock(&a->mutex);
  a->closing = true;
  pthread_mutex_unlock(&a->mutex);
  faro_http_stop(a->http); /* those who wait for the worker get their answers */
  if (a->working) {
    pthread_mutex_lock(&a->mutex);
    a->ending = true;
    pthread_cond_signal(&a->work);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->worker, NULL);
  }
  faro_intake_destroy(a->intake);
  faro_store_close(a->looker);
  faro_applier_destroy(a->applier);
  faro_store_close(a->store);
  faro_metrics_destroy(a->metrics);
  free(a->published.policy);
  free(a->document.bytes);
  sodium_memzero(&a->keys, sizeof a->keys);
  pthread_cond_destroy(&a->work);
  pthread_mutex_destroy(&a->looking);
  pthread_mutex_destroy(&a->mutex);
  free(a);
}
