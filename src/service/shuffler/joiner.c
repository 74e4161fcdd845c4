/* joiner: see the header. */
#include "service/shuffler/joiner.h"

#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/role/json_text.h"
#include "service/role/log.h"
#include "service/role/peers.h"

static const char SHORT_LIVED[] = "public, max-age=5, must-revalidate";

struct faro_joiner {
  faro_joiner_params params;
  size_t count;
  faro_collector_key keys[FARO_COLLECTORS_MAX];
  faro_peers peers;
  char *document; /* the list for clients */
  size_t length;
  faro_metric *kept[FARO_COLLECTORS_MAX], *reachable[FARO_COLLECTORS_MAX];
};

/* Start. */

static faro_status write_list(faro_joiner *j, faro_error *error) {
  const faro_shuffler_settings *settings = j->params.settings;
  faro_collectors *list = calloc(1, sizeof *list);
  if (!list) return faro_fail(error, FARO_MEMORY, "cannot allocate the list of collectors");
  list->shuffler = (uint32_t)j->params.shuffler;
  list->count = j->count;
  memcpy(list->campaign, j->params.campaign->digest, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < j->count; i++)
    memcpy(list->collector[i].url, settings->collector[i].url, sizeof list->collector[i].url);
  const faro_status status = faro_collectors_write(list, j->params.key, &j->document, &j->length, error);
  free(list);
  return status;
}

static void enter_metrics(faro_joiner *j) {
#define LABEL(i) "collector=\"" #i "\""
  static const char *const label[FARO_COLLECTORS_MAX] = {
      LABEL(0),  LABEL(1),  LABEL(2),  LABEL(3),  LABEL(4),  LABEL(5),  LABEL(6),
      LABEL(7),  LABEL(8),  LABEL(9),  LABEL(10), LABEL(11), LABEL(12), LABEL(13),
      LABEL(14), LABEL(15), LABEL(16), LABEL(17), LABEL(18), LABEL(19)};
#undef LABEL
  for (size_t i = 0; i < j->count; i++)
    j->kept[i] = faro_metrics_counter(j->params.metrics, "faro_portions_kept_total", label[i],
                                      "Portions of batches that a collector has handed over.");
  for (size_t i = 0; i < j->count; i++)
    j->reachable[i] = faro_metrics_gauge(j->params.metrics, "faro_collector_reachable", label[i],
                                         "1 if the collector was heard of within 20 seconds, 0 if not.");
}

static void expect(faro_joiner *j, double now) {
  uint64_t next[FARO_COLLECTORS_MAX];
  faro_intake_expected(j->params.intake, next);
  for (size_t i = 0; i < j->count; i++) faro_peers_expect(&j->peers, i, next[i], now);
}

faro_status faro_joiner_create(faro_joiner **joiner, const faro_joiner_params *params, faro_error *error) {
  faro_joiner *j = calloc(1, sizeof *j);
  if (!j) return faro_fail(error, FARO_MEMORY, "cannot allocate a joiner");
  j->params = *params;
  j->count = params->settings->collectors;
  for (size_t i = 0; i < j->count; i++)
    memcpy(j->keys[i], params->settings->collector[i].key, FARO_KEY_BYTES);
  faro_peers_init(&j->peers, &faro_peers_collectors, j->count, faro_clock());
  enter_metrics(j);
  expect(j, 0);
  const faro_status status = write_list(j, error);
  if (status == FARO_OK) *joiner = j;
  else faro_joiner_destroy(j);
  return status;
}

void faro_joiner_destroy(faro_joiner *j) {
  if (!j) return;
  faro_peers_clear(&j->peers);
  free(j->document);
  free(j);
}

size_t faro_joiner_limit(const faro_shuffler_settings *settings) {
  enum { SLACK = 1 << 20 }; /* one more report, head, box and signature */
  return FARO_BATCH_MAX / (settings->collectors > 0 ? settings->collectors : 1) + SLACK;
}

/* Portions. */

faro_status faro_joiner_admit(const faro_joiner *j, const faro_http_request *request, faro_error *error) {
  const char *notice = faro_http_header(request, "Faro-Portion");
  if (!notice) return faro_fail(error, FARO_INVALID, "the header Faro-Portion is required");
  return faro_portion_notice_read(j->params.campaign, (uint32_t)j->params.shuffler, j->keys, j->count, notice,
                                  strlen(notice), error);
}

static void reply_kept(faro_http_request *request, bool known) {
  const char *text = known ? "{\"kept\": true, \"known\": true}" : "{\"kept\": true, \"known\": false}";
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = strlen(text)};
  faro_http_reply(request, &answer);
}

/* Keeps a portion that was read, and answers when it is on the disk. */
static void keep(faro_joiner *j, faro_http_request *request, const faro_portion *portion) {
  faro_joined joined = FARO_JOINED_OTHER;
  faro_error error = {0};
  const faro_status status = faro_intake_join(j->params.intake, portion, &joined, &error);
  if (status != FARO_OK) faro_log_error("portion-not-stored", &error);
  if (status == FARO_OK && joined == FARO_JOINED_KEPT) {
    faro_metric_add(j->kept[portion->collector], 1);
    expect(j, faro_clock());
  }
  if (status != FARO_OK) faro_http_refuse(request, 503, "the portion cannot be stored now");
  else if (joined == FARO_JOINED_LATER)
    faro_http_refuse(request, 503, "closed batches wait, or other collectors are behind");
  else if (joined == FARO_JOINED_OTHER)
    faro_http_refuse(request, 409,
                     "the portion is not the next one of this collector, or has other contents than before");
  else reply_kept(request, joined == FARO_JOINED_KNOWN);
}

void faro_joiner_take(faro_joiner *j, faro_http_request *request) {
  unsigned char *bytes = faro_http_body(request);
  const size_t length = faro_http_length(request);
  faro_portion portion;
  faro_error error = {0};
  if (atomic_load(j->params.ended)) {
    faro_http_refuse(request, 410, "the campaign has ended");
    return;
  }
  if (faro_portion_read(j->params.campaign, (uint32_t)j->params.shuffler, j->params.key, j->keys, j->count,
                        bytes, length, &portion, &error) == FARO_OK)
    keep(j, request, &portion);
  else faro_http_refuse(request, 400, error.message);
  sodium_memzero(bytes, length);
}

/* What others ask. */

void faro_joiner_list(const faro_joiner *j, faro_http_request *request) {
  const faro_http_answer answer = {.status = 200,
                                   .type = "text/plain; charset=utf-8",
                                   .bytes = j->document,
                                   .length = j->length,
                                   .cache = SHORT_LIVED};
  faro_http_reply(request, &answer);
}

void faro_joiner_state(faro_joiner *j, faro_http_request *request) {
  char digest[2 * FARO_DIGEST_BYTES + 1];
  uint64_t next[FARO_COLLECTORS_MAX];
  const faro_spool_state now = faro_intake_snapshot(j->params.intake);
  json_t *all = json_array();
  faro_peers_next(&j->peers, next);
  for (size_t i = 0; i < j->count; i++) json_array_append_new(all, json_integer((json_int_t)next[i]));
  json_t *json = json_pack("{ss sI so ss}", "campaign",
                           faro_hex_write(j->params.campaign->digest, FARO_DIGEST_BYTES, digest), "version",
                           (json_int_t)now.first + 1, "next", all, "state",
                           atomic_load(j->params.ended) ? "finished" : "open");
  char *text = json ? faro_json_to_text(json) : NULL;
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = text ? strlen(text) : 0};
  if (text) faro_http_reply(request, &answer);
  else faro_http_refuse(request, 503, "out of memory");
  free(text);
  json_decref(json);
}

void faro_joiner_greeting(faro_joiner *j, faro_http_request *request) {
  faro_greeting greeting;
  faro_error error = {0};
  if (faro_greeting_read_from(j->params.campaign, j->keys, j->count, "collector", faro_http_body(request),
                              faro_http_length(request), &greeting, &error) != FARO_OK) {
    faro_http_refuse(request, 401, error.message);
    return;
  }
  faro_peers_greeted(&j->peers, &greeting, faro_clock());
  faro_joiner_state(j, request);
}

void faro_joiner_check(faro_joiner *j, faro_health *health) {
  const double now = faro_clock();
  const faro_spool_state state = faro_intake_snapshot(j->params.intake);
  faro_peers_check(&j->peers, state.over || atomic_load(j->params.ended), now, health);
  for (size_t i = 0; i < j->count; i++) faro_metric_set(j->reachable[i], faro_peers_heard(&j->peers, i, now));
}
