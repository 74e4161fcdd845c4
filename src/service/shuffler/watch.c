/* watch: see the header.
 *
 * Batches are handed over by another thread while the two sides compare. So the shuffler looks at
 * itself before it asks and after the answer. In between, `next` can only have been
 *
 *   before.first <= next <= after.first + 1, and next <= after.open
 *
 * (first + 1: the analyzer has the batch, and its answer is on the way). */
#include "service/shuffler/watch.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/role/log.h"
#include "service/role/process.h"
#include "wire/bytes.h"

static const double PERIOD = 5, PATIENCE = 20; /* seconds */

struct faro_watch {
  faro_watch_params params;
  faro_sender *sender;
  pthread_t thread;
  bool running;
  pthread_mutex_t mutex; /* guards the members below, up to the end */
  pthread_cond_t wake;
  bool ending;
  double answered; /* when the analyzer answered last, or the start */
};

faro_status faro_standing_read(const char *text, size_t length, size_t shuffler, faro_standing *standing,
                               faro_error *error) {
  const char *campaign = NULL;
  const char *state = "open"; /* an analyzer of an older release does not say it */
  json_t *next = NULL;
  json_int_t version = 0;
  json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
  const bool read = json && json_unpack(json, "{ss sI so s?s}", "campaign", &campaign, "version", &version,
                                        "next", &next, "state", &state) == 0;
  const json_t *number = read ? json_array_get(next, shuffler) : NULL;
  const bool good = number && json_is_integer(number) && json_integer_value(number) >= 0 && version >= 1 &&
                    faro_hex_read(campaign, strlen(campaign), standing->digest, FARO_DIGEST_BYTES);
  if (good) standing->ended = strcmp(state, "finished") == 0 || strcmp(state, "archived") == 0;
  if (good) standing->version = (uint64_t)version;
  if (good) standing->next = (uint64_t)json_integer_value(number);
  json_decref(json);
  return good ? FARO_OK
              : faro_fail(error, FARO_INVALID,
                          "/v1/state must say campaign, version, and next of shuffler %zu", shuffler);
}

/* Who is greeted, and who greets. */
static const char *peer(const faro_watch_params *p) { return p->joiner ? "joiner" : "analyzer"; }
static const char *self(const faro_watch_params *p) { return p->joiner ? "collector" : "shuffler"; }

static void address_of(const faro_watch_params *p, char url[static FARO_URL_MAX + 1]) {
  if (p->joiner) snprintf(url, FARO_URL_MAX + 1, "%s", p->joiner);
  else faro_place_address(p->place, url);
}

static uint64_t first_of(const faro_spool_state *s) { return s->number - s->waiting; }

/* The other side has answered. */
static void compare(faro_watch *w, const faro_spool_state *before, const faro_standing *there) {
  const faro_watch_params *p = &w->params;
  const faro_spool_state after = faro_intake_snapshot(p->intake);
  char text[FARO_ILL_TEXT] = "";
  if (memcmp(there->digest, p->campaign->digest, FARO_DIGEST_BYTES) != 0)
    snprintf(text, sizeof text,
             "the %s holds another campaign than %s, which this %s has joined; every report is "
             "refused there or here. If the campaign was founded anew, give this %s a new state",
             peer(p), p->campaign->id, self(p), self(p));
  else if (there->next < first_of(before))
    snprintf(text, sizeof text,
             "the %s expects batch %" PRIu64 ", but this %s has handed over all batches before "
             "%" PRIu64 " and forgotten them: an old copy of the %s's %s was restored. Put the "
             "newest %s back, or end the campaign",
             peer(p), there->next, self(p), first_of(before), peer(p), p->joiner ? "state" : "database",
             p->joiner ? "state" : "database");
  else if (there->next > first_of(&after) + 1 || there->next > after.number)
    snprintf(text, sizeof text,
             "the %s has batches of this %s up to %" PRIu64 ", but this %s collects batch "
             "%" PRIu64 ": an old copy of its state was restored. Put the newest state back, or end the "
             "campaign",
             peer(p), self(p), there->next - 1, self(p), after.number);
  faro_health_set(p->health, FARO_ILL_DIFFERS, text);
  atomic_store(p->ended, there->ended && !after.over && *text == '\0');
}

/* Asks once. Who asks has a campaign, also if /healthz was asked before that and never again. */
static void look(faro_watch *w) {
  const faro_watch_params *p = &w->params;
  faro_health_set(p->health, FARO_ILL_NO_CAMPAIGN, "");
  const faro_spool_state before = faro_intake_snapshot(p->intake);
  const faro_greeting greeting = {.first = first_of(&before),
                                  .open = before.number,
                                  .unwell = !faro_health_write(p->health, false, NULL)};
  unsigned char bytes[FARO_GREETING_BYTES];
  char address[FARO_URL_MAX + 1], url[FARO_URL_MAX + 32], text[FARO_ILL_TEXT];
  faro_sent sent = {0};
  faro_error error = {0};
  faro_standing there;
  faro_greeting_write(p->campaign, &greeting, p->key, bytes);
  address_of(p, address);
  snprintf(url, sizeof url, "%s/v1/state", address);
  const faro_status status = faro_send_post(w->sender, url, bytes, sizeof bytes, &sent, &error);
  const bool answered = status == FARO_OK && sent.status < 500;
  if (answered) {
    pthread_mutex_lock(&w->mutex);
    w->answered = faro_clock();
    pthread_mutex_unlock(&w->mutex);
  }
  faro_metric_set(p->reachable, answered);
  if (!answered && !p->joiner) faro_place_failed(p->place);
  if (!answered) return;
  if (sent.status == 401) {
    snprintf(text, sizeof text, "the %s holds another campaign, of which this %s is no part", peer(p),
             self(p));
    faro_health_set(p->health, FARO_ILL_DIFFERS, text);
  }
  if (sent.status != 200) return; /* an analyzer of an older release answers 404 */
  if (faro_standing_read(sent.bytes, sent.length, p->number, &there, &error) == FARO_OK)
    compare(w, &before, &there);
  else faro_log_error("state-not-read", &error);
}

void faro_watch_refresh(faro_watch *w) {
  char text[FARO_ILL_TEXT] = "", address[FARO_URL_MAX + 1];
  address_of(&w->params, address);
  pthread_mutex_lock(&w->mutex);
  const double silent = faro_clock() - w->answered;
  pthread_mutex_unlock(&w->mutex);
  const faro_spool_state state = faro_intake_snapshot(w->params.intake);
  const bool ended = atomic_load(w->params.ended);
  const bool done = ended || (state.over && state.waiting == 0); /* the analyzer may go home */
  if (silent > PATIENCE && !done)
    snprintf(text, sizeof text,
             "the %s at %.200s does not answer, for %.0f s now; reports are accepted until %d batches wait",
             peer(&w->params), address, silent, FARO_SPOOL_AHEAD);
  faro_health_set(w->params.health, FARO_ILL_SILENT, text);
}

static void *watch(void *context) {
  faro_watch *w = context;
  for (bool ending = false; !ending;) {
    faro_place_look(w->params.place, w->sender);
    look(w);
    faro_watch_refresh(w);
    const struct timespec until = faro_clock_after(PERIOD);
    pthread_mutex_lock(&w->mutex);
    int waited = 0;
    while (!w->ending && waited == 0)
      waited = pthread_cond_clockwait(&w->wake, &w->mutex, CLOCK_MONOTONIC, &until);
    ending = w->ending;
    pthread_mutex_unlock(&w->mutex);
  }
  return NULL;
}

faro_status faro_watch_create(faro_watch **made, const faro_watch_params *params, faro_error *error) {
  const faro_sender_params sender = {.authority = params->authority,
                                     .stopping = faro_process_ending,
                                     .timeout = PERIOD,
                                     .connect = PERIOD,
                                     .limit = FARO_DOCUMENT_MAX};
  faro_watch *w = calloc(1, sizeof *w);
  if (!w) return faro_fail(error, FARO_MEMORY, "cannot allocate the watch");
  w->params = *params;
  w->answered = faro_clock();
  pthread_mutex_init(&w->mutex, NULL);
  pthread_cond_init(&w->wake, NULL);
  faro_status status = faro_sender_create(&w->sender, &sender, error);
  if (status == FARO_OK) {
    w->running = pthread_create(&w->thread, NULL, watch, w) == 0;
    if (!w->running) status = faro_fail(error, FARO_SYSTEM, "cannot start a thread");
  }
  if (status == FARO_OK) *made = w;
  else faro_watch_destroy(w);
  return status;
}

void faro_watch_destroy(faro_watch *w) {
  if (!w) return;
  pthread_mutex_lock(&w->mutex);
  w->ending = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->mutex);
  if (w->running) pthread_join(w->thread, NULL);
  faro_sender_destroy(w->sender);
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->mutex);
  free(w);
}
