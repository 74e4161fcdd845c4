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
static const double SEEK = 1; /* seconds to the next greeting while an analyzer with a standby is silent,
                               * and when another one has taken over */

struct faro_watch {
  faro_watch_params params;
  faro_sender *sender;
  pthread_t thread;
  bool running;
  uint64_t challenge[FARO_PLACES]; /* what a standby wants to see in the next greeting */
  pthread_mutex_t mutex;           /* guards the members below, up to the end */
  pthread_cond_t wake;
  bool ending;
  double answered; /* when the analyzer answered last, or the start */
};

faro_status faro_standing_read(const char *text, size_t length, size_t shuffler, faro_standing *standing,
                               faro_error *error) {
  const char *campaign = NULL;
  const char *state = "open"; /* an analyzer of an older release does not say it */
  const char *proof = "";
  json_t *next = NULL;
  json_int_t version = 0, epoch = 0, spoiled = 0;
  json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
  const bool read = json && json_unpack(json, "{ss sI so s?s s?I s?s s?I}", "campaign", &campaign, "version",
                                        &version, "next", &next, "state", &state, "epoch", &epoch, "proof",
                                        &proof, "spoiled", &spoiled) == 0;
  const json_t *number = read ? json_array_get(next, shuffler) : NULL;
  const bool proven =
      read && epoch > 0 && faro_hex_read(proof, strlen(proof), standing->proof, FARO_SIGNATURE_BYTES);
  if (spoiled > 0) standing->spoiled = (uint64_t)spoiled;
  const bool good = json_is_integer(number) && json_integer_value(number) >= 0 && version >= 1 &&
                    (epoch == 0 || proven) &&
                    faro_hex_read(campaign, strlen(campaign), standing->digest, FARO_DIGEST_BYTES);
  if (good) standing->epoch = (uint64_t)epoch;
  if (good) standing->ended = strcmp(state, "finished") == 0 || strcmp(state, "archived") == 0;
  if (good) standing->version = (uint64_t)version;
  if (good) standing->next = (uint64_t)json_integer_value(number);
  json_decref(json);
  return good ? FARO_OK
              : faro_fail(error, FARO_INVALID,
                          "/v1/state must say campaign, version, and next of shuffler %zu", shuffler);
}

void faro_standing_tell(const faro_standing *standing, faro_health *health) {
  char text[FARO_ILL_TEXT] = "";
  if (standing->spoiled > 0)
    snprintf(text, sizeof text,
             "the analyzer says that the totals of the last %" PRIu64 " batches cannot be those of honest "
             "reports; they count as zeros, and the campaign pauses. Its /healthz says what to do",
             standing->spoiled);
  faro_health_set(health, FARO_ILL_SPOILED, text);
}

/* Who is greeted, and who greets. */
static const char *peer(const faro_watch_params *p) { return p->joiner ? "joiner" : "analyzer"; }
static const char *self(const faro_watch_params *p) { return p->joiner ? "collector" : "shuffler"; }

static void address_of(const faro_watch_params *p, char url[static FARO_URL_MAX + 1]) {
  if (p->joiner) snprintf(url, FARO_URL_MAX + 1, "%s", p->joiner);
  else faro_place_address(p->place, url);
}

/* The other side has answered. Of a shared spool, others may have handed over more than we know
 * yet. An old copy of its database is noticed by the keys of batches. */
static void compare(faro_watch *w, const faro_spool_state *before, const faro_standing *there) {
  const faro_watch_params *p = &w->params;
  const faro_spool_state after = faro_intake_snapshot(p->intake);
  char text[FARO_ILL_TEXT] = "";
  if (memcmp(there->digest, p->campaign->digest, FARO_DIGEST_BYTES) != 0)
    snprintf(text, sizeof text,
             "the %s holds another campaign than %s, which this %s has joined; every report is "
             "refused there or here. If the campaign was founded anew, give this %s a new state",
             peer(p), p->campaign->id, self(p), self(p));
  else if (there->next < before->first)
    snprintf(text, sizeof text,
             "the %s expects batch %" PRIu64 ", but this %s has handed over all batches before "
             "%" PRIu64 " and forgotten them: an old copy of the %s's %s was restored. Put the "
             "newest %s back, or end the campaign",
             peer(p), there->next, self(p), before->first, peer(p), p->joiner ? "state" : "database",
             p->joiner ? "state" : "database");
  else if (!after.shared && (there->next > after.first + 1 || there->next > after.number))
    snprintf(text, sizeof text,
             "the %s has batches of this %s up to %" PRIu64 ", but this %s collects batch "
             "%" PRIu64 ": an old copy of its state was restored. Put the newest state back, or end the "
             "campaign",
             peer(p), self(p), there->next - 1, self(p), after.number);
  faro_health_set(p->health, FARO_ILL_DIFFERS, text);
  if (!p->joiner && memcmp(there->digest, p->campaign->digest, FARO_DIGEST_BYTES) == 0)
    faro_standing_tell(there, p->health);
  atomic_store(p->ended, there->ended && !after.over && *text == '\0');
}

/* A standby refuses greetings, with a challenge for the next one. */
static uint64_t challenge_of(const faro_sent *sent) {
  unsigned char bytes[8];
  const char *digits = NULL;
  json_t *json = json_loadb(sent->bytes, sent->length, JSON_REJECT_DUPLICATES, NULL);
  const bool read = json && json_unpack(json, "{ss}", "challenge", &digits) == 0 &&
                    faro_hex_read(digits, strlen(digits), bytes, sizeof bytes);
  json_decref(json);
  return read ? faro_load64(bytes) : 0;
}

static double silence(faro_watch *w) {
  pthread_mutex_lock(&w->mutex);
  const double silent = faro_clock() - w->answered;
  pthread_mutex_unlock(&w->mutex);
  return silent;
}

static void mark_answered(faro_watch *w) {
  pthread_mutex_lock(&w->mutex);
  w->answered = faro_clock();
  pthread_mutex_unlock(&w->mutex);
}

/* Greets the analyzer at an address. An analyzer that is of a campaign with epochs gets the longer
 * greeting. */
static faro_status greet(faro_watch *w, size_t index, const faro_spool_state *before, faro_sent *sent) {
  const faro_watch_params *p = &w->params;
  faro_greeting greeting = {.first = before->first,
                            .open = before->number,
                            .unwell = !faro_health_write(p->health, false, NULL),
                            .silent = (uint32_t)silence(w),
                            .challenge = w->challenge[index]};
  unsigned char bytes[FARO_GREETING_MAX];
  char address[FARO_URL_MAX + 1], url[FARO_URL_MAX + 32];
  if (!p->joiner) greeting.epoch = faro_place_epoch(p->place, greeting.proof);
  greeting.longer = p->standby || greeting.epoch > 0;
  const size_t length = faro_greeting_write(p->campaign, &greeting, p->key, bytes);
  if (p->joiner) address_of(p, address);
  else if (!faro_place_at(p->place, index, address)) return FARO_INVALID;
  snprintf(url, sizeof url, "%s/v1/state", address);
  const faro_status status = faro_send_post(w->sender, url, bytes, length, sent, NULL);
  w->challenge[index] = status == FARO_OK && sent->status == 503 ? challenge_of(sent) : 0;
  return status;
}

static bool is_ours(const faro_watch *w, const faro_standing *there) {
  return memcmp(there->digest, w->params.campaign->digest, FARO_DIGEST_BYTES) == 0;
}

/* Reads an answer, and remembers its epoch. False: it cannot be read, or is of an analyzer that was
 * replaced. */
static bool read_answer(faro_watch *w, const faro_sent *sent, faro_standing *there) {
  const faro_watch_params *p = &w->params;
  faro_error error = {0};
  faro_status status = faro_standing_read(sent->bytes, sent->length, p->number, there, &error);
  if (status == FARO_OK && !p->joiner && is_ours(w, there))
    status = faro_place_see(p->place, there->digest, there->epoch, there->proof, &error);
  if (status != FARO_OK) faro_log_error("state-not-read", &error);
  return status == FARO_OK;
}

/* Asks the analyzer. True if it has answered and was not replaced. If it has a standby, which must
 * know whether the analyzer lives, only an answer of a campaign's analyzer counts: a proxy may
 * answer when nobody is behind it. */
static bool look(faro_watch *w) {
  const faro_watch_params *p = &w->params;
  const faro_spool_state before = faro_intake_snapshot(p->intake);
  char text[FARO_ILL_TEXT];
  faro_sent sent = {0};
  faro_standing there = {0};
  const faro_status status = greet(w, faro_place_now(p->place), &before, &sent);
  const bool state = status == FARO_OK && sent.status == 200; /* one of an older release answers 404 */
  const bool read = state && read_answer(w, &sent, &there);
  const bool other = status == FARO_OK && sent.status < 500 && !state && !p->standby;
  const bool answered = read || other;
  if (answered) mark_answered(w);
  else if (!p->joiner) faro_place_failed(p->place);
  if (status == FARO_OK && sent.status == 401) {
    snprintf(text, sizeof text, "the %s holds another campaign, of which this %s is no part", peer(p),
             self(p));
    faro_health_set(p->health, FARO_ILL_DIFFERS, text);
  }
  if (read && p->joiner && is_ours(w, &there)) faro_intake_heard(p->intake, there.version - 1);
  if (read) compare(w, &before, &there);
  return answered;
}

/* Greets at the other addresses: a standby must hear from this shuffler, and may have taken over.
 * An analyzer of a later epoch is used from now on, and any other one that answers if the one in
 * use did not. */
static bool seek(faro_watch *w, bool answered) {
  const faro_watch_params *p = &w->params;
  unsigned char proof[FARO_SIGNATURE_BYTES];
  const size_t now = faro_place_now(p->place);
  for (size_t i = 0; i < FARO_PLACES; i++) {
    const faro_spool_state before = faro_intake_snapshot(p->intake);
    const uint64_t epoch = faro_place_epoch(p->place, proof);
    faro_sent sent = {0};
    faro_standing there = {0};
    if ((i == now && answered) || greet(w, i, &before, &sent) != FARO_OK || sent.status != 200) continue;
    if (!read_answer(w, &sent, &there) || !is_ours(w, &there)) continue;
    if (answered && there.epoch <= epoch) continue;
    faro_place_use(p->place, i);
    mark_answered(w);
    compare(w, &before, &there);
    answered = true;
  }
  return answered;
}

void faro_watch_refresh(faro_watch *w) {
  char text[FARO_ILL_TEXT] = "", address[FARO_URL_MAX + 1];
  address_of(&w->params, address);
  const double silent = silence(w);
  const faro_spool_state state = faro_intake_snapshot(w->params.intake);
  const bool ended = atomic_load(w->params.ended);
  const bool done = ended || (state.over && state.first == state.number); /* the analyzer may go home */
  if (silent > PATIENCE && !done)
    snprintf(text, sizeof text,
             "the %s at %.200s does not answer, for %.0f s now; reports are accepted until %d batches wait",
             peer(&w->params), address, silent, FARO_SPOOL_AHEAD);
  faro_health_set(w->params.health, FARO_ILL_SILENT, text);
}

static void *watch(void *context) {
  faro_watch *w = context;
  unsigned char proof[FARO_SIGNATURE_BYTES];
  for (bool ending = false; !ending;) {
    faro_place_look(w->params.place, w->sender);
    faro_health_set(w->params.health, FARO_ILL_NO_CAMPAIGN, ""); /* also if it is not asked ever again */
    const uint64_t epoch = faro_place_epoch(w->params.place, proof);
    bool answered = look(w);
    if (w->params.standby) answered = seek(w, answered);
    const bool soon = w->params.standby && (!answered || faro_place_epoch(w->params.place, proof) > epoch);
    faro_metric_set(w->params.reachable, answered);
    faro_watch_refresh(w);
    const struct timespec until = faro_clock_after(soon ? SEEK : PERIOD);
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
