/* standby: see the header.
 *
 *   DATABASE.arriving   a copy that is being checked
 *   DATABASE.copy       the newest copy
 *   DATABASE.next       the copy in the next epoch, until it is renamed to DATABASE */
#include "service/analyzer/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "service/analyzer/campaign_create.h"
#include "service/role/health.h"
#include "service/role/json_text.h"
#include "service/role/log.h"
#include "wire/bytes.h"

static const double PATIENCE = 20; /* seconds; the first analyzer is heard of every two */
static const double FRESH = 15;    /* seconds that a challenge is given out; it holds twice as long */
enum { SPARE = 64 << 20 };         /* bytes of a copy besides waiting batches */
enum { TICKET = 8 };

/* What a shuffler said last, with a fresh challenge. */
typedef struct standby_peer {
  double heard; /* on faro_clock; 0: never */
  faro_greeting last;
} standby_peer;

/* A copy of the first analyzer's database. */
typedef struct standby_copy {
  bool here;
  char hash[2 * FARO_DIGEST_BYTES + 1];       /* the hash of its bytes; empty: not known since the start */
  unsigned char documents[FARO_DIGEST_BYTES]; /* hash of its campaign and move */
  uint64_t batches, epoch;
  uint64_t next[FARO_SHUFFLERS_MAX]; /* the batch that is expected of each shuffler */
} standby_copy;

struct faro_standby {
  const faro_analyzer_settings *settings;
  faro_applier_keys keys;
  faro_campaign draft;    /* as the settings describe it */
  faro_campaign campaign; /* that of the copy, with the addresses and keys of now */
  size_t largest;
  unsigned char secret[crypto_shorthash_KEYBYTES]; /* for challenges */
  faro_http_route routes[1];
  faro_http_service service, admin;
  faro_metrics *metrics;
  faro_metric *role, *epoch, *batches, *silent;
  faro_health health;
  pthread_mutex_t arrivals; /* one image at a time; comes before the other mutex. `copy` and `campaign`
                             * change only with both held, so either suffices to read them */
  pthread_mutex_t mutex;    /* guards the members below, and `campaign` */
  standby_copy copy;
  char ticket[2 * TICKET + 1]; /* what the next image must name */
  double start, heard;         /* when the first analyzer was heard of last; 0: never */
  standby_peer peer[FARO_SHUFFLERS_MAX];
  uint64_t promoted; /* the epoch in which it has taken over; 0: it has not */
};

bool faro_standby_wanted(const faro_analyzer_settings *settings) {
  return settings->standby.follow && access(settings->database, F_OK) != 0;
}

static const char *path_of(const faro_standby *s, const char *end, char path[static FARO_PATH_SIZE + 16]) {
  snprintf(path, FARO_PATH_SIZE + 16, "%s.%s", s->settings->database, end);
  return path;
}

/* Copies. */

static faro_status read_numbers(faro_store *store, size_t shufflers, standby_copy *copy, faro_error *error) {
  unsigned char hash[FARO_DIGEST_BYTES];
  uint64_t seen = 0;
  faro_store_state state = {0};
  faro_status status = faro_store_epoch(store, &copy->epoch, &seen, error);
  if (status == FARO_OK && seen > copy->epoch)
    status = faro_fail(error, FARO_INVALID, "the copy is of an analyzer that was replaced");
  if (status == FARO_OK) status = faro_store_state_load(store, &state, error);
  copy->batches = state.batches;
  faro_store_state_clear(&state);
  for (size_t i = 0; status == FARO_OK && i < shufflers; i++)
    status = faro_store_next(store, (uint32_t)i, &copy->next[i], hash, error);
  return status;
}

/* The hash of the signed documents of a copy. */
static faro_status hash_documents(faro_store *store, standby_copy *copy, faro_error *error) {
  faro_blob campaign = {0}, move = {0};
  unsigned char signer[FARO_KEY_BYTES];
  crypto_generichash_state state;
  faro_status status = faro_store_campaign(store, &campaign, signer, error);
  if (status == FARO_OK) status = faro_store_move(store, &move, error);
  crypto_generichash_init(&state, NULL, 0, sizeof copy->documents);
  if (campaign.bytes) crypto_generichash_update(&state, campaign.bytes, campaign.length);
  if (move.bytes) crypto_generichash_update(&state, move.bytes, move.length);
  crypto_generichash_final(&state, copy->documents, sizeof copy->documents);
  free(campaign.bytes);
  free(move.bytes);
  return status;
}

/* The campaign of a copy. Its claim takes time to compute, so the one before is used again if the
 * documents are the same. */
static faro_status read_campaign(faro_standby *s, faro_store *store, faro_campaign *campaign,
                                 standby_copy *copy, faro_error *error) {
  faro_blob document = {0};
  faro_status status = hash_documents(store, copy, error);
  if (status != FARO_OK) return status;
  if (s->copy.here && memcmp(copy->documents, s->copy.documents, sizeof copy->documents) == 0) {
    *campaign = s->campaign;
    return FARO_OK;
  }
  status = faro_campaign_find(store, &s->keys, &s->draft, campaign, &document, error);
  if (status == FARO_OK && !document.bytes)
    status = faro_fail(error, FARO_INVALID, "the copy holds no campaign");
  free(document.bytes);
  return status;
}

/* Reads a copy, and checks what a start would check: it is whole, and its campaign is that of the
 * settings, signed by our key. */
static faro_status read_copy(faro_standby *s, const char *path, faro_campaign *campaign, standby_copy *copy,
                             faro_error *error) {
  faro_store *store = NULL;
  bool fenced = false;
  faro_status status = faro_store_open(&store, path, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_store_sound(store, error);
  if (status == FARO_OK) status = read_campaign(s, store, campaign, copy, error);
  if (status == FARO_OK) status = faro_store_fenced(store, &fenced, error);
  if (status == FARO_OK && fenced)
    status = faro_fail(error, FARO_INVALID, "the copy is of a restored database that may be old");
  if (status == FARO_OK) status = read_numbers(store, campaign->shufflers, copy, error);
  copy->here = status == FARO_OK;
  faro_store_close(store);
  return status;
}

/* Whether a copy may replace the one that is here. It may be one step behind: the first analyzer
 * takes back what this one has, but has not confirmed in time. */
static faro_status check_follows(const faro_standby *s, const faro_campaign *campaign,
                                 const standby_copy *fresh, faro_error *error) {
  const standby_copy *now = &s->copy;
  if (!now->here) return FARO_OK;
  if (memcmp(campaign->digest, s->campaign.digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID,
                     "the copy is of another campaign than the one that this standby holds");
  if (fresh->epoch > now->epoch) return FARO_OK;
  bool follows = fresh->epoch == now->epoch && fresh->batches + 1 >= now->batches;
  for (size_t i = 0; i < campaign->shufflers; i++) follows = follows && fresh->next[i] + 1 >= now->next[i];
  if (follows) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the copy has %" PRIu64 " batches in epoch %" PRIu64 ", but this standby holds %" PRIu64
                   " in epoch %" PRIu64 ": an old copy of the first analyzer's database was restored",
                   fresh->batches, fresh->epoch, now->batches, now->epoch);
}

/* Copies hold reports that are applied later: an old one is overwritten before its blocks are free.
 * What the file system keeps elsewhere is out of reach. */
static void erase(int file) {
  static const unsigned char zeros[1 << 16];
  struct stat info = {0};
  bool good = fstat(file, &info) == 0;
  for (off_t left = info.st_size; good && left > 0; left -= (off_t)sizeof zeros)
    good = faro_write_all(file, zeros, left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros);
  if (good) (void)fdatasync(file);
  close(file);
}

static int open_old(const char *path) { return open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW); }

static void erase_file(const char *path) {
  const int file = open_old(path);
  (void)unlink(path);
  if (file >= 0) erase(file);
}

/* An image that has arrived. Call these with `arrivals` held. */

static faro_status check_image(faro_standby *s, const unsigned char *bytes, size_t length,
                               faro_campaign *campaign, standby_copy *fresh, faro_error *error) {
  char arriving[FARO_PATH_SIZE + 16];
  unsigned char hash[FARO_DIGEST_BYTES];
  faro_status status = faro_write_file(path_of(s, "arriving", arriving), bytes, length, 0600, error);
  if (status == FARO_OK) status = read_copy(s, arriving, campaign, fresh, error);
  if (status == FARO_OK) status = check_follows(s, campaign, fresh, error);
  crypto_generichash(hash, sizeof hash, bytes, length, NULL, 0);
  faro_hex_write(hash, sizeof hash, fresh->hash);
  return status;
}

/* A database that nobody promoted: a state was restored to this path. The next start would go on
 * from it, so nothing is confirmed any more. Call it under the mutex. */
static faro_status check_no_database(const faro_standby *s, faro_error *error) {
  const char *database = s->settings->database;
  if (s->promoted || access(database, F_OK) != 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s exists, but this standby has not taken over: stop it, and move the file away",
                   faro_path_end(database));
}

/* A ticket is good for one image, and no longer than until the next answer. So an image that was
 * held back on its way never replaces one that was sent after it. */
static void draw_ticket(faro_standby *s) {
  unsigned char bytes[TICKET];
  randombytes_buf(bytes, sizeof bytes);
  faro_hex_write(bytes, sizeof bytes, s->ticket);
}

static faro_status check_ticket(const faro_standby *s, const char *ticket, faro_error *error) {
  if (ticket && strcmp(ticket, s->ticket) == 0) return FARO_OK;
  return faro_fail(error, FARO_OLD, "the copy has no ticket, or an old one: it may have been sent long ago");
}

/* Makes an image that was checked the copy. Call it under the mutex, too. */
static faro_status take_image(faro_standby *s, const faro_campaign *campaign, const standby_copy *fresh,
                              faro_error *error) {
  char arriving[FARO_PATH_SIZE + 16], path[FARO_PATH_SIZE + 16];
  path_of(s, "arriving", arriving);
  path_of(s, "copy", path);
  const bool renamed = rename(arriving, path) == 0;
  if (renamed) s->copy = *fresh;
  if (renamed) s->campaign = *campaign;
  if (renamed && faro_flush_folder(path)) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(errno));
}

static void reply_json(faro_http_request *request, unsigned status, json_t *json) {
  char *text = json ? faro_json_to_text(json) : NULL;
  const faro_http_answer answer = {
      .status = status, .type = "application/json", .bytes = text, .length = text ? strlen(text) : 0};
  if (text) faro_http_reply(request, &answer);
  else faro_http_refuse(request, 503, "out of memory");
  free(text);
  json_decref(json);
}

/* Tells the first analyzer that it was replaced, with the proof. */
static void reply_promoted(const faro_standby *s, faro_http_request *request) {
  unsigned char proof[FARO_SIGNATURE_BYTES];
  char digits[2 * FARO_SIGNATURE_BYTES + 1];
  faro_epoch_sign(s->campaign.digest, s->promoted, &s->keys.sign, proof);
  reply_json(request, 409,
             json_pack("{ss sI ss}", "error", "this standby has taken over", "epoch", (json_int_t)s->promoted,
                       "proof", faro_hex_write(proof, sizeof proof, digits)));
}

/* Call it under the mutex. */
static void reply_copy(faro_standby *s, faro_http_request *request, faro_status status,
                       const faro_error *error) {
  if (s->promoted) reply_promoted(s, request);
  else if (status == FARO_OK) {
    s->heard = faro_clock();
    draw_ticket(s);
    reply_json(request, 200, json_pack("{ss ss}", "hash", s->copy.hash, "ticket", s->ticket));
  } else if (status == FARO_OLD)
    reply_json(request, 409, json_pack("{ss ss}", "error", error->message, "ticket", s->ticket));
  else faro_http_refuse(request, status == FARO_INVALID ? 409 : 503, error->message);
}

/* Nothing has arrived: it is only said that the first analyzer lives. */
static faro_status handle_alive(faro_standby *s, faro_http_request *request, faro_error *error) {
  pthread_mutex_lock(&s->mutex);
  const faro_status status = check_no_database(s, error);
  reply_copy(s, request, status, error);
  pthread_mutex_unlock(&s->mutex);
  return status;
}

/* The image is checked before the mutex is taken, so that a health check need not wait for it. Call
 * it with `arrivals` held. */
static faro_status handle_image(faro_standby *s, faro_http_request *request, faro_campaign *campaign,
                                faro_error *error) {
  char path[FARO_PATH_SIZE + 16];
  standby_copy fresh = {0};
  const int old = open_old(path_of(s, "copy", path));
  const faro_status checked =
      check_image(s, faro_http_body(request), faro_http_length(request), campaign, &fresh, error);
  pthread_mutex_lock(&s->mutex);
  faro_status status =
      s->promoted ? FARO_INVALID : check_ticket(s, faro_http_query(request, "ticket"), error);
  if (status == FARO_OK) status = checked;
  if (status == FARO_OK) status = check_no_database(s, error);
  if (status == FARO_OK) status = take_image(s, campaign, &fresh, error);
  reply_copy(s, request, status, error);
  pthread_mutex_unlock(&s->mutex);
  if (status != FARO_OK) erase_file(path_of(s, "arriving", path));
  if (old >= 0 && status == FARO_OK) erase(old);
  else if (old >= 0) close(old);
  return status;
}

static void handle_copy(void *context, faro_http_request *request) {
  faro_standby *s = context;
  faro_error error = {0};
  faro_status status = FARO_OK;
  faro_campaign *campaign = NULL;
  if (faro_http_length(request) == 0) status = handle_alive(s, request, &error);
  else if (!(campaign = malloc(sizeof *campaign))) faro_http_refuse(request, 503, "out of memory");
  else {
    pthread_mutex_lock(&s->arrivals);
    status = handle_image(s, request, campaign, &error);
    pthread_mutex_unlock(&s->arrivals);
  }
  free(campaign);
  if (status != FARO_OK && *error.message) faro_log_error("copy-not-kept", &error);
}

/* Greetings. */

/* The challenge of a span of time, `back` before now. */
static uint64_t challenge(const faro_standby *s, unsigned back) {
  unsigned char span[8], out[crypto_shorthash_BYTES];
  faro_store64(span, (uint64_t)(faro_clock() / FRESH) - back);
  crypto_shorthash(out, span, sizeof span, s->secret);
  return faro_load64(out);
}

/* Call it under the mutex. */
static void note_greeting(faro_standby *s, const faro_greeting *g) {
  const bool fresh = g->challenge == challenge(s, 0) || g->challenge == challenge(s, 1);
  const bool proven =
      g->epoch == 0 || faro_epoch_proven(s->campaign.digest, g->epoch, s->keys.sign.public_key, g->proof);
  if (g->longer && g->challenge != 0 && fresh && proven && g->same)
    s->peer[g->shuffler] = (standby_peer){.heard = faro_clock(), .last = *g};
}

static void handle_greeting(void *context, faro_http_request *request) {
  faro_standby *s = context;
  faro_greeting greeting;
  unsigned char bytes[8];
  char digits[17];
  pthread_mutex_lock(&s->mutex);
  if (s->copy.here && faro_greeting_read(&s->campaign, faro_http_body(request), faro_http_length(request),
                                         &greeting, NULL) == FARO_OK)
    note_greeting(s, &greeting);
  pthread_mutex_unlock(&s->mutex);
  faro_store64(bytes, challenge(s, 0));
  reply_json(request, 503,
             json_pack("{ss ss}", "error", "this analyzer is a standby", "challenge",
                       faro_hex_write(bytes, sizeof bytes, digits)));
}

/* Taking over. */

/* Why it must not take over by itself, in a sentence; empty: it may. Call it under the mutex. */
static void say_why_not(const faro_standby *s, double now, char text[static FARO_ILL_TEXT]) {
  const double limit = s->settings->standby.take_over;
  const double silent = now - (s->heard > 0 ? s->heard : s->start);
  faro_error error = {0};
  *text = '\0';
  if (check_no_database(s, &error) != FARO_OK) snprintf(text, FARO_ILL_TEXT, "%.300s", error.message);
  else if (!s->copy.here) snprintf(text, FARO_ILL_TEXT, "there is no copy");
  else if (limit == 0) snprintf(text, FARO_ILL_TEXT, "an operator must promote it (faro campaign promote)");
  else if (silent < limit) snprintf(text, FARO_ILL_TEXT, "it takes over after %.0f s", limit);
  for (size_t i = 0; *text == '\0' && i < s->campaign.shufflers; i++) {
    const standby_peer *peer = &s->peer[i];
    if (peer->heard == 0 || now - peer->heard > 2 * FRESH)
      snprintf(text, FARO_ILL_TEXT, "shuffler %zu does not say whether it hears the first analyzer", i);
    else if (peer->last.silent < limit)
      snprintf(text, FARO_ILL_TEXT, "shuffler %zu has heard the first analyzer within %.0f s", i, limit);
    else if (peer->last.epoch > s->copy.epoch)
      snprintf(text, FARO_ILL_TEXT, "another analyzer has taken over in epoch %" PRIu64, peer->last.epoch);
    else if (peer->last.first > s->copy.next[i])
      snprintf(text, FARO_ILL_TEXT, "shuffler %zu has handed over batches that are not in the copy", i);
  }
}

bool faro_standby_due(faro_standby *s) {
  char text[FARO_ILL_TEXT];
  pthread_mutex_lock(&s->mutex);
  say_why_not(s, faro_clock(), text);
  const bool due = *text == '\0' && s->promoted == 0;
  pthread_mutex_unlock(&s->mutex);
  return due;
}

bool faro_standby_promoted(faro_standby *s) {
  pthread_mutex_lock(&s->mutex);
  const bool promoted = s->promoted > 0;
  pthread_mutex_unlock(&s->mutex);
  return promoted;
}

/* One more than any epoch that was heard of. */
static uint64_t next_epoch(const faro_standby *s) {
  uint64_t epoch = s->copy.epoch;
  for (size_t i = 0; i < s->campaign.shufflers; i++)
    if (s->peer[i].last.epoch > epoch) epoch = s->peer[i].last.epoch;
  return epoch + 1;
}

/* The copy stays until the new database is in its place, and goes then: it would grow old. From the
 * moment of the rename this standby has taken over, even if the folder cannot be flushed: it
 * confirms nothing any more. */
static faro_status make_database(faro_standby *s, uint64_t epoch, faro_error *error) {
  char copy[FARO_PATH_SIZE + 16], next[FARO_PATH_SIZE + 16];
  faro_store *store = NULL;
  const char *database = s->settings->database;
  path_of(s, "copy", copy);
  erase_file(path_of(s, "next", next)); /* left by an attempt that was cut off */
  faro_status status = check_no_database(s, error);
  if (status == FARO_OK) status = faro_database_alone(database, error);
  if (status == FARO_OK) status = faro_store_open(&store, copy, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_store_take_over(store, next, epoch, error);
  faro_store_close(store);
  if (status != FARO_OK) return status;
  const bool renamed = rename(next, database) == 0;
  if (renamed) s->promoted = epoch;
  if (!renamed || !faro_flush_folder(database))
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(database),
                     strerror(errno));
  erase_file(copy);
  return FARO_OK;
}

faro_status faro_standby_promote(faro_standby *s, faro_error *error) {
  faro_status status = FARO_OK;
  pthread_mutex_lock(&s->mutex);
  const uint64_t epoch = next_epoch(s);
  if (s->promoted) status = faro_fail(error, FARO_INVALID, "this standby has taken over already");
  else if (!s->copy.here) status = faro_fail(error, FARO_INVALID, "this standby has no copy yet");
  else status = make_database(s, epoch, error);
  pthread_mutex_unlock(&s->mutex);
  if (status == FARO_OK) faro_log(FARO_LOG_WARNING, "taken-over", "sI", "epoch", (json_int_t)epoch);
  return status;
}

/* Health. */

static bool is_healthy(void *context, bool ready, faro_text *reasons) {
  faro_standby *s = context;
  char why[FARO_ILL_TEXT], text[FARO_ILL_TEXT + 100] = "";
  const double now = faro_clock();
  pthread_mutex_lock(&s->mutex);
  say_why_not(s, now, why);
  const bool here = s->copy.here;
  const double silent = now - (s->heard > 0 ? s->heard : s->start);
  faro_metric_set(s->epoch, (double)s->copy.epoch);
  faro_metric_set(s->batches, (double)s->copy.batches);
  faro_metric_set(s->silent, silent);
  pthread_mutex_unlock(&s->mutex);
  if (silent > PATIENCE)
    snprintf(text, sizeof text, "the first analyzer has not been heard of for %.0f s; %.300s", silent,
             *why ? why : "this standby takes over");
  faro_health_set(&s->health, FARO_ILL_NO_COPY,
                  here ? "" : "this standby has no copy yet: the first analyzer has not sent one");
  faro_health_set(&s->health, FARO_ILL_SILENT, text);
  if (ready && reasons) faro_text_add(reasons, "standby: this analyzer serves nobody until it takes over\n");
  return faro_health_write(&s->health, ready, reasons) && !ready;
}

/* Start and stop. */

static void handle_down(void *context, faro_http_request *request) {
  (void)context;
  faro_http_refuse(request, 503, "this analyzer is a standby");
}

static void set_services(faro_standby *s) {
  static const faro_http_route down[] = {
      {"GET", "/v1/policy", handle_down, 0, NULL},
      {"POST", "/v1/batches", handle_down, 0, NULL},
      {"GET", "/v1/campaign", handle_down, 0, NULL},
      {"GET", "/v1/move", handle_down, 0, NULL},
      {"GET", "/v1/ledger", handle_down, 0, NULL},
      {"POST", "/v1/state", handle_greeting, FARO_GREETING_MAX, NULL},
  };
  s->routes[0] = (faro_http_route){"POST", "/v1/copy", handle_copy, s->largest, NULL};
  s->service = (faro_http_service){.routes = down,
                                   .count = sizeof down / sizeof *down,
                                   .context = s,
                                   .healthy = is_healthy,
                                   .metrics = s->metrics,
                                   .bare = !faro_http_open(&s->settings->http)};
  s->admin = (faro_http_service){
      .routes = s->routes, .count = 1, .context = s, .healthy = is_healthy, .metrics = s->metrics};
}

static void set_metrics(faro_standby *s) {
  s->role = faro_metrics_gauge(s->metrics, "faro_analyzer_standby", "", "1: a standby; 0: the analyzer.");
  s->epoch = faro_metrics_gauge(s->metrics, "faro_analyzer_epoch", "", "How often a standby has taken over.");
  s->batches = faro_metrics_gauge(s->metrics, "faro_standby_batches", "",
                                  "Batches that are applied in the copy; the first analyzer has as many as "
                                  "faro_analyzer_ledger_charged.");
  s->silent = faro_metrics_gauge(s->metrics, "faro_standby_silent_seconds", "",
                                 "Seconds since the first analyzer was heard of.");
  faro_metric_set(s->role, 1);
}

static faro_status draft(faro_standby *s, faro_error *error) {
  char *document = NULL;
  size_t length = 0;
  const faro_status status = faro_campaign_draft(s->settings, &s->keys, &s->draft, &document, &length, error);
  free(document);
  s->largest = SPARE + (FARO_INBOX_MAX + 1) * s->draft.shufflers * faro_applier_frame(&s->draft);
  return status;
}

/* A copy that cannot be read is no copy: the first analyzer sends it again. */
static void load_copy(faro_standby *s) {
  char path[FARO_PATH_SIZE + 16];
  faro_error error = {0};
  if (access(path_of(s, "copy", path), F_OK) != 0) return;
  if (read_copy(s, path, &s->campaign, &s->copy, &error) != FARO_OK) {
    s->copy = (standby_copy){0};
    faro_log_error("copy-not-read", &error);
  }
}

faro_status faro_standby_create(faro_standby **standby, const faro_analyzer_settings *settings,
                                faro_error *error) {
  faro_standby *s = calloc(1, sizeof *s);
  if (!s) return faro_fail(error, FARO_MEMORY, "cannot allocate the standby");
  s->settings = settings;
  s->start = faro_clock();
  pthread_mutex_init(&s->arrivals, NULL);
  pthread_mutex_init(&s->mutex, NULL);
  crypto_shorthash_keygen(s->secret);
  draw_ticket(s);
  faro_status status = faro_metrics_create(&s->metrics, error);
  if (status == FARO_OK) {
    faro_health_init(&s->health, s->metrics);
    set_metrics(s);
    status = faro_analyzer_keys_load(settings, &s->keys, error);
  }
  if (status == FARO_OK) status = draft(s, error);
  if (status == FARO_OK) status = faro_check_folder("database", settings->database, error);
  if (status == FARO_OK) status = faro_database_alone(settings->database, error);
  if (status != FARO_OK) {
    faro_standby_destroy(s);
    return status;
  }
  load_copy(s);
  set_services(s);
  *standby = s;
  return FARO_OK;
}

void faro_standby_destroy(faro_standby *s) {
  if (!s) return;
  if (s->metrics) faro_health_clear(&s->health);
  faro_metrics_destroy(s->metrics);
  pthread_mutex_destroy(&s->mutex);
  pthread_mutex_destroy(&s->arrivals);
  sodium_memzero(&s->keys, sizeof s->keys);
  free(s);
}

const faro_http_service *faro_standby_service(const faro_standby *standby) { return &standby->service; }
const faro_http_service *faro_standby_admin(const faro_standby *standby) { return &standby->admin; }
size_t faro_standby_largest(const faro_standby *standby) { return standby->largest; }
