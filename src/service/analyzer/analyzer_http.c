/* analyzer_http: the analyzer's routes and their handlers. analyzer_role.h lists them. */
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/analyzer/analyzer_inner.h"
#include "service/analyzer/campaign_ledger.h"
#include "service/role/json_text.h"
#include "service/role/log.h"
#include "wire/bytes.h"

static const double WAIT = 30;    /* seconds that a request for a policy waits */
enum { PAUSE = 30 };              /* seconds after which to come back to a campaign that is paused */
static const double KEPT = 0.25;  /* seconds that a status is given out again */
static const double PATIENCE = 2; /* seconds that a request waits for another one that reads a server */

/* Documents are signed, so anybody may keep and pass on copies (docs/protocol.md). */
static const char LONG_LIVED[] = "public, max-age=3600";
static const char SHORT_LIVED[] = "public, max-age=5, must-revalidate";

bool faro_analyzer_takes(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const faro_life life = a->served.life;
  const bool done = a->served.status.version > faro_campaign_batches(&a->campaign);
  pthread_mutex_unlock(&a->served.mutex);
  return life == FARO_LIFE_OPEN || (life == FARO_LIFE_FINISHED && done);
}

bool faro_analyzer_is_replaced(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const bool replaced = a->served.seen > a->epoch;
  pthread_mutex_unlock(&a->served.mutex);
  return replaced || faro_store_replaced(a->worker.store);
}

/* Clients and shufflers ask the other address then. True if the request was answered. */
static bool refuse_replaced(faro_analyzer *a, faro_http_request *request) {
  const bool replaced = faro_analyzer_is_replaced(a);
  if (replaced) faro_http_refuse(request, 503, "another analyzer has taken over this campaign");
  return replaced;
}

/* A start may sign policy and move anew. They are served when the standby has them. True if the
 * request was answered. */
static bool refuse_unseen(faro_analyzer *a, faro_http_request *request) {
  pthread_mutex_lock(&a->served.mutex);
  const bool unseen = a->served.unseen;
  pthread_mutex_unlock(&a->served.mutex);
  if (unseen) faro_http_refuse(request, 503, "the standby has not confirmed the state of this start yet");
  return unseen;
}

/* 410: nobody has to try again. Clients know the text of the refusal (wire/verdict.h). */
bool faro_analyzer_refuses(faro_analyzer *a, faro_http_request *request) {
  static const char paused[] = "{\"error\": \"the campaign is paused\"}";
  const faro_http_answer later = {.status = 503,
                                  .type = "application/json",
                                  .bytes = paused,
                                  .length = sizeof paused - 1,
                                  .retry_after = PAUSE};
  if (faro_analyzer_takes(a)) return false;
  if (faro_analyzer_life(a) == FARO_LIFE_PAUSED) faro_http_reply(request, &later);
  else faro_http_refuse(request, 410, "no reports are collected now: the campaign has ended");
  return true;
}

static void handle_reports(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  if (!faro_analyzer_refuses(a, request)) faro_intake_handle(a->intake, request);
}

/* Batches are large and memory for them is limited: only shufflers of the campaign may send any. */
static faro_status admit_batch(void *context, const faro_http_request *request, faro_error *error) {
  faro_analyzer *a = context;
  faro_batch batch;
  const char *notice = faro_http_header(request, "Faro-Batch");
  const faro_status status = notice ? faro_notice_read(&a->campaign, notice, strlen(notice), &batch, error)
                                    : faro_fail(error, FARO_INVALID, "the header Faro-Batch is required");
  if (status != FARO_OK) faro_metric_add(a->metrics.receipt[FARO_RECEIPT_BAD], 1);
  return status;
}

/* Whether the shuffler sends in this analyzer's epoch. One that has seen a later epoch must not
 * lose its batch here, and one that has not seen this one is told so by its next greeting. */
static bool is_of_epoch(const faro_analyzer *a, const faro_http_request *request) {
  char own[24];
  const char *text = faro_http_query(request, "epoch");
  snprintf(own, sizeof own, "%" PRIu64, a->epoch);
  return text ? strcmp(text, own) == 0 : a->epoch == 0;
}

static void handle_batches(void *context, faro_http_request *request) {
  analyzer_served *served = &((faro_analyzer *)context)->served;
  if (refuse_replaced(context, request) || faro_analyzer_refuses(context, request)) return;
  if (!is_of_epoch(context, request)) {
    faro_http_refuse(request, 503, "the batch is for an analyzer of another epoch");
    return;
  }
  pthread_mutex_lock(&served->mutex);
  const bool room = served->queued < FARO_BATCH_QUEUE && !served->ending;
  if (room) {
    faro_http_park(request);
    served->queue[served->queued++] = request;
    pthread_cond_signal(&served->work);
  }
  pthread_mutex_unlock(&served->mutex);
  if (!room) faro_http_refuse(request, 503, "too many batches at once");
}

void faro_analyzer_tag(const void *bytes, size_t length, char etag[static FARO_ETAG]) {
  unsigned char hash[FARO_ETAG_HASH];
  crypto_generichash(hash, sizeof hash, bytes, length, NULL, 0);
  etag[0] = '"';
  (void)faro_hex_write(hash, sizeof hash, etag + 1);
  memcpy(etag + 1 + 2 * FARO_ETAG_HASH, "\"", 2);
}

static void reply_document(faro_http_request *request, const faro_blob *document, const char *cache) {
  char etag[FARO_ETAG];
  faro_analyzer_tag(document->bytes, document->length, etag);
  const faro_http_answer answer = {.status = 200,
                                   .type = "text/plain; charset=utf-8",
                                   .bytes = document->bytes,
                                   .length = document->length,
                                   .etag = etag,
                                   .cache = cache};
  faro_http_reply(request, &answer);
}

static void handle_campaign(void *context, faro_http_request *request) {
  reply_document(request, &((const faro_analyzer *)context)->document, LONG_LIVED);
}

static void handle_move(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  if (!a->move.bytes) faro_http_refuse(request, 404, "the campaign has not moved");
  else if (!refuse_unseen(a, request)) reply_document(request, &a->move, SHORT_LIVED);
}

/* Reads a whole number from the query; false if it is not one. */
static bool query_number(const faro_http_request *request, const char *name, uint64_t *number) {
  const char *text = faro_http_query(request, name);
  if (!text) return true;
  char *end = NULL;
  if (*text < '0' || *text > '9' || strlen(text) > 18) return false;
  *number = strtoull(text, &end, 10);
  return *end == '\0';
}

static void handle_policy(void *context, faro_http_request *request) {
  analyzer_served *served = &((faro_analyzer *)context)->served;
  uint64_t after = 0;
  if (refuse_replaced(context, request) || refuse_unseen(context, request)) return;
  if (!query_number(request, "after", &after)) {
    faro_http_refuse(request, 400, "after must be a whole number (a version)");
    return;
  }
  const char *known = faro_http_header(request, "If-None-Match");
  bool wait = false;
  pthread_mutex_lock(&served->mutex);
  const bool newer = served->status.version > after && !(known && strcmp(known, served->etag) == 0);
  if (newer || faro_http_expired(request) || after == 0) {
    const faro_http_answer answer = {.status = newer ? 200 : 304,
                                     .type = "text/plain; charset=utf-8",
                                     .bytes = newer ? served->policy : "",
                                     .length = newer ? served->length : 0,
                                     .etag = served->etag,
                                     .cache = after == 0 ? SHORT_LIVED : NULL};
    faro_http_reply(request, &answer);
  } else wait = true;
  pthread_mutex_unlock(&served->mutex);
  if (wait) faro_http_wait(request, WAIT);
}

static void reply_json(faro_http_request *request, faro_status status, json_t *json,
                       const faro_error *error) {
  char *text = status == FARO_OK ? faro_json_to_text(json) : NULL;
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = text ? strlen(text) : 0};
  if (status != FARO_OK) faro_log_error("cannot-look", error);
  if (text) faro_http_reply(request, &answer);
  else faro_http_refuse(request, 503, "the state cannot be read now");
  free(text);
  json_decref(json);
}

/* Answers are kept as text as long as they are the same for everybody. Call these under the
 * reader's mutex. */

static bool is_kept(const analyzer_kept *kept, const analyzer_kept *wanted, double now) {
  return kept->text && kept->version == wanted->version && kept->from == wanted->from &&
         kept->life == wanted->life && kept->healthy == wanted->healthy && now < kept->until;
}

static void keep(analyzer_kept *kept, const analyzer_kept *fresh, json_t *json) {
  free(kept->text);
  *kept = *fresh;
  kept->text = faro_json_to_text(json);
  json_decref(json);
}

static void reply_kept(faro_http_request *request, const analyzer_kept *kept, const char *etag,
                       const char *cache) {
  const faro_http_answer answer = {.status = 200,
                                   .type = "application/json",
                                   .bytes = kept->text,
                                   .length = kept->text ? strlen(kept->text) : 0,
                                   .etag = etag,
                                   .cache = cache};
  if (kept->text) faro_http_reply(request, &answer);
  else faro_http_refuse(request, 503, "the state cannot be read now");
}

/* Over a network, the one that reads now may wait for long: others must not all wait for it. False:
 * the request was answered. */
static bool lock_reader(faro_analyzer *a, faro_http_request *request) {
  static const char busy[] = "{\"error\": \"the database is slow to answer\"}";
  const faro_http_answer later = {.status = 503,
                                  .type = "application/json",
                                  .bytes = busy,
                                  .length = sizeof busy - 1,
                                  .retry_after = (unsigned)PATIENCE};
  const struct timespec until = faro_clock_after(PATIENCE);
  if (*a->settings->server == '\0') return pthread_mutex_lock(&a->reader.mutex) == 0;
  if (pthread_mutex_clocklock(&a->reader.mutex, CLOCK_MONOTONIC, &until) == 0) return true;
  faro_http_reply(request, &later);
  return false;
}

static void handle_ledger(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  faro_error error = {0};
  json_t *json = NULL;
  uint64_t from = 0;
  if (!query_number(request, "from", &from)) {
    faro_http_refuse(request, 400, "from must be a whole number (a batch)");
    return;
  }
  pthread_mutex_lock(&a->served.mutex);
  const analyzer_kept wanted = {
      .version = a->served.status.version, .life = a->served.life, .from = from, .until = INFINITY};
  pthread_mutex_unlock(&a->served.mutex);
  if (!lock_reader(a, request)) return;
  analyzer_kept *kept = &a->reader.ledger;
  faro_status status = FARO_OK;
  if (!is_kept(kept, &wanted, 0)) {
    status = faro_ledger_json(a->reader.store, &a->campaign, from, &json, &error);
    if (status == FARO_OK) keep(kept, &wanted, json);
  }
  if (status == FARO_OK) reply_kept(request, kept, NULL, SHORT_LIVED);
  pthread_mutex_unlock(&a->reader.mutex);
  if (status != FARO_OK) reply_json(request, status, NULL, &error);
}

static void reply_state(faro_analyzer *a, faro_http_request *request) {
  char digest[2 * FARO_DIGEST_BYTES + 1];
  uint64_t next[FARO_SHUFFLERS_MAX];
  faro_error error = {0};
  json_t *all = json_array();
  faro_peers_next(&a->peers, next);
  for (size_t i = 0; i < a->campaign.shufflers; i++)
    json_array_append_new(all, json_integer((json_int_t)next[i]));
  pthread_mutex_lock(&a->served.mutex);
  const uint64_t version = a->served.status.version;
  const faro_life life = a->served.life;
  const uint64_t spoiled = life < FARO_LIFE_FINISHED ? a->served.spoiled : 0;
  pthread_mutex_unlock(&a->served.mutex);
  json_t *json =
      json_pack("{ss sI so ss sI}", "campaign", faro_hex_write(a->campaign.digest, FARO_DIGEST_BYTES, digest),
                "version", (json_int_t)version, "next", all, "state", faro_life_name(life), "spoiled",
                (json_int_t)(spoiled >= FARO_SPOILED_MOST ? spoiled : 0));
  if (json && a->epoch > 0) {
    unsigned char proof[FARO_SIGNATURE_BYTES];
    char digits[2 * FARO_SIGNATURE_BYTES + 1];
    faro_epoch_sign(a->campaign.digest, a->epoch, &a->keys.sign, proof);
    json_object_set_new(json, "epoch", json_integer((json_int_t)a->epoch));
    json_object_set_new(json, "proof", json_string(faro_hex_write(proof, sizeof proof, digits)));
  }
  reply_json(request, FARO_OK, json, &error);
}

static void handle_state(void *context, faro_http_request *request) {
  if (!refuse_replaced(context, request)) reply_state(context, request);
}

/* A shuffler has seen an epoch, with its proof. False: the proof is wrong. The worker makes it
 * durable. */
static bool see_epoch(faro_analyzer *a, const faro_greeting *greeting) {
  if (greeting->epoch <= a->epoch) return true;
  if (!faro_epoch_proven(a->campaign.digest, greeting->epoch, a->keys.sign.public_key, greeting->proof))
    return false;
  pthread_mutex_lock(&a->served.mutex);
  if (greeting->epoch > a->served.seen) a->served.seen = greeting->epoch;
  pthread_mutex_unlock(&a->served.mutex);
  return true;
}

static void handle_greeting(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  faro_greeting greeting;
  faro_error error = {0};
  if (faro_greeting_read(&a->campaign, faro_http_body(request), faro_http_length(request), &greeting,
                         &error) != FARO_OK) {
    faro_http_refuse(request, 401, error.message);
    return;
  }
  if (!see_epoch(a, &greeting)) {
    faro_http_refuse(request, 401, "the proof of the epoch in the greeting is not of this campaign");
    return;
  }
  if (refuse_replaced(a, request)) return;
  faro_peers_greeted(&a->peers, &greeting, faro_clock());
  reply_state(a, request);
}

static void handle_status(void *context, faro_http_request *request) {
  faro_analyzer *a = context;
  faro_error error = {0};
  json_t *json = NULL;
  const bool healthy = faro_analyzer_is_healthy(a, false, NULL);
  const double clock = faro_clock();
  pthread_mutex_lock(&a->served.mutex);
  const faro_analyzer_status now = a->served.status;
  const analyzer_kept wanted = {
      .version = now.version, .life = a->served.life, .healthy = healthy, .until = clock + KEPT};
  pthread_mutex_unlock(&a->served.mutex);
  if (!lock_reader(a, request)) return;
  analyzer_kept *kept = &a->reader.status;
  faro_status status = FARO_OK;
  if (!is_kept(kept, &wanted, clock)) {
    status = faro_analyzer_status_json(a->reader.store, &now, clock, &json, &error);
    if (status == FARO_OK) keep(kept, &wanted, json);
  }
  if (status == FARO_OK) reply_kept(request, kept, NULL, NULL);
  pthread_mutex_unlock(&a->reader.mutex);
  if (status != FARO_OK) reply_json(request, status, NULL, &error);
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

/* The store belongs to the worker, but faro_store_present looks at the file only. */
bool faro_analyzer_is_healthy(void *analyzer, bool ready, faro_text *reasons) {
  faro_analyzer *a = analyzer;
  faro_error lost = {0};
  char stalled[FARO_ILL_TEXT];
  const bool present = faro_store_present(a->worker.store, &lost) == FARO_OK;
  pthread_mutex_lock(&a->served.mutex);
  memcpy(stalled, a->served.stalled, sizeof stalled);
  const bool needs_purge = a->served.needs_purge;
  const faro_rate *applied = &a->served.status.applied;
  const double since =
      applied->count > 0 ? applied->at[(applied->count - 1) % FARO_RATE_MARKS] : applied->start;
  const bool finished = a->served.life >= FARO_LIFE_FINISHED;
  const bool paused = a->served.life == FARO_LIFE_PAUSED;
  const uint64_t spoiled = a->served.spoiled;
  const bool fenced = a->served.fenced;
  const uint64_t seen = a->served.seen;
  pthread_mutex_unlock(&a->served.mutex);
  char replaced[FARO_ILL_TEXT];
  snprintf(replaced, sizeof replaced,
           "another analyzer has taken over in epoch %" PRIu64 ", and this one is of epoch %" PRIu64
           ": it takes no batch and publishes nothing any more. Stop it, and move its database away",
           seen, a->epoch);
  char batches[FARO_ILL_TEXT] = "";
  if (spoiled >= FARO_SPOILED_MOST && !finished)
    snprintf(batches, sizeof batches,
             "the totals of the last %" PRIu64 " batches cannot be those of honest reports, so they count as "
             "zeros: a client, or a role, is broken or lies. %s. Compare faro_adder_left_out_total, replace "
             "the tokens of clients that are suspect, then `faro campaign resume`; or end it with `finish`",
             spoiled,
             paused ? "The campaign has paused, and charges no more budget"
                    : "It was resumed, and pauses again at the next such batch");
  faro_health_set(&a->health, FARO_ILL_SPOILED, batches);
  faro_health_set(&a->health, FARO_ILL_DATABASE, present ? "" : lost.message);
  faro_health_set(&a->health, FARO_ILL_BATCHES, stalled);
  const char *left = *a->settings->server
                         ? "keys of batches cannot be published, or wiped once they are applied; see the log"
                         : "another process reads the database, so applied reports stay in its log";
  faro_health_set(&a->health, FARO_ILL_DATABASE_LOG, needs_purge ? left : "");
  faro_health_set(&a->health, FARO_ILL_FENCED,
                  seen > a->epoch ? replaced
                  : fenced && a->epoch > 0
                      ? "the database is a copy in a new epoch: no batch is taken until every "
                        "shuffler has greeted in it, and said that all batches that it "
                        "handed over are here"
                  : fenced ? "the database is a restored copy: no batch is taken until every shuffler "
                             "has said that it handed over just those that are here"
                           : "");
  faro_peers_check(&a->peers, finished || seen > a->epoch, faro_clock(), &a->health);
  for (size_t i = 0; i < a->campaign.shufflers; i++)
    faro_metric_set(a->metrics.heard[i], faro_peers_heard(&a->peers, i, faro_clock()));
  faro_metric_set(a->metrics.since, faro_clock() - since);
  faro_disk_look(&a->metrics.disk, a->settings->database);
  if (a->intake) faro_intake_check(a->intake, &a->health);
  if (ready && seen > a->epoch) { /* it serves policies no more */
    if (reasons) faro_text_add(reasons, "%s: %s\n", faro_ill_label(FARO_ILL_FENCED), replaced);
    return false;
  }
  return faro_health_write(&a->health, ready, reasons);
}

faro_analyzer_summary faro_analyzer_summarize(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const uint64_t applied = a->served.status.version - 1;
  pthread_mutex_unlock(&a->served.mutex);
  return (faro_analyzer_summary){.campaign = &a->campaign,
                                 .state = faro_life_name(faro_analyzer_life(a)),
                                 .applied = applied,
                                 .healthy = faro_analyzer_is_healthy(a, false, NULL)};
}

/* Clients and shufflers need the first FARO_ANALYZER_PUBLIC routes; operators need those from
 * FARO_ANALYZER_OWN on. */
void faro_analyzer_set_routes(faro_analyzer *a, bool open) {
  const faro_http_route batches = {"POST", "/v1/batches", handle_batches, faro_applier_frame(&a->campaign),
                                   admit_batch};
  const faro_http_route reports = {"POST", "/v1/reports", handle_reports, 0, NULL};
  const faro_http_route all[] = {
      {"GET", "/v1/policy", handle_policy, 0, NULL},
      faro_campaign_form(&a->campaign) == FARO_WIRE_DIRECT ? reports : batches,
      {"GET", "/v1/state", handle_state, 0, NULL},
      {"POST", "/v1/state", handle_greeting, FARO_GREETING_MAX, NULL},
      {"GET", "/v1/campaign", handle_campaign, 0, NULL},
      {"GET", "/v1/move", handle_move, 0, NULL},
      {"GET", "/v1/ledger", handle_ledger, 0, NULL},
      {"GET", "/", handle_page, 0, NULL},
      {"GET", "/v1/status.json", handle_status, 0, NULL},
  };
  _Static_assert(sizeof all == sizeof a->routes, "all routes are there");
  static const char *const shared[] = {"/v1/policy", "/v1/campaign", "/v1/move", "/v1/reports", NULL};
  memcpy(a->routes, all, sizeof all);
  faro_page_make(&a->page);
  const faro_http_service service = {.routes = a->routes,
                                     .count = FARO_ANALYZER_ROUTES,
                                     .context = a,
                                     .healthy = faro_analyzer_is_healthy,
                                     .metrics = a->metrics.all};
  a->service = a->admin = service;
  a->service.bare = !open;
  a->service.shared = shared;
  if (!open) a->service.count = FARO_ANALYZER_PUBLIC;
  a->admin.routes += FARO_ANALYZER_OWN;
  a->admin.count -= FARO_ANALYZER_OWN;
}
