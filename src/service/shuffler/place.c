/* place: see the header. */
#include "service/shuffler/place.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/role/log.h"
#include "wire/bytes.h"

enum { MOVED, ANALYZER, STANDBY }; /* addresses, in the order in which they are tried */

struct faro_place {
  const faro_shuffler_settings *settings;
  char file[FARO_FILE_MAX + 16];
  char epoch_file[FARO_FILE_MAX + 16];
  pthread_mutex_t mutex; /* guards the members below */
  bool moved;            /* `move` is set */
  size_t now;            /* the address in use */
  uint64_t epoch;        /* the highest that was seen */
  unsigned char proof[FARO_SIGNATURE_BYTES];
  faro_move move;
  faro_campaign *founded; /* as its document says; NULL: not known yet */
  char *unkept;           /* the text of a move that came before the campaign; NULL: none */
  size_t length;
};

/* Whether the shufflers have consented to their steps. */
static faro_status check_steps(const faro_place *p, const faro_move *move, faro_error *error) {
  faro_campaign *now = malloc(sizeof *now);
  if (!now) return faro_fail(error, FARO_MEMORY, "cannot allocate a campaign");
  const faro_status status = faro_move_apply(move, p->founded, now, error);
  free(now);
  return status;
}

/* Takes over a move that follows the one before it; *newer: it is a new one. */
static faro_status accept(faro_place *p, const char *text, size_t length, bool *newer, faro_error *error) {
  faro_move *move = malloc(sizeof *move);
  if (!move) return faro_fail(error, FARO_MEMORY, "cannot allocate a move");
  faro_status status = faro_move_open(move, text, length, p->settings->analyzer_key, error);
  pthread_mutex_lock(&p->mutex);
  *newer = true;
  if (status == FARO_OK && p->moved) status = faro_move_follows(&p->move, move, newer, error);
  if (status == FARO_OK && *newer && p->founded) status = check_steps(p, move, error);
  if (status == FARO_OK && *newer) {
    p->move = *move;
    p->moved = true;
    p->now = MOVED;
  }
  pthread_mutex_unlock(&p->mutex);
  *newer = *newer && status == FARO_OK;
  free(move);
  return status;
}

static faro_status load(faro_place *p, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  bool newer = false;
  faro_error inner = {0};
  if (access(p->file, F_OK) != 0) return FARO_OK;
  faro_status status = faro_read_file(p->file, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  status = accept(p, text, length, &newer, &inner);
  free(text);
  if (status != FARO_OK) (void)faro_fail(error, status, "%s: %.300s", faro_path_end(p->file), inner.message);
  return status;
}

/* STATE.epoch is one line: the epoch, a blank, the digits of its proof. */
enum { EPOCH_LINE = 24 + 2 * FARO_SIGNATURE_BYTES };

static faro_status load_epoch(faro_place *p, faro_error *error) {
  char *text = NULL, *end = NULL;
  char line[EPOCH_LINE + 1] = "";
  size_t length = 0;
  if (access(p->epoch_file, F_OK) != 0) return FARO_OK;
  const faro_status status = faro_read_file(p->epoch_file, EPOCH_LINE, &text, &length, error);
  if (status != FARO_OK) return status;
  memcpy(line, text, length);
  free(text);
  const unsigned long long epoch = strtoull(line, &end, 10);
  const size_t digits = *end == ' ' ? strcspn(end + 1, "\n") : 0;
  const bool read = *line >= '1' && *line <= '9' && digits > 0 && strcmp(end + 1 + digits, "\n") == 0 &&
                    faro_hex_read(end + 1, digits, p->proof, sizeof p->proof);
  if (read) p->epoch = epoch;
  return read ? FARO_OK
              : faro_fail(error, FARO_INVALID, "%s must have one line: an epoch and its proof",
                          faro_path_end(p->epoch_file));
}

static faro_status keep_epoch(faro_place *p, uint64_t epoch, const unsigned char *proof, faro_error *error) {
  char line[EPOCH_LINE + 1], digits[2 * FARO_SIGNATURE_BYTES + 1];
  const int length = snprintf(line, sizeof line, "%llu %s\n", (unsigned long long)epoch,
                              faro_hex_write(proof, FARO_SIGNATURE_BYTES, digits));
  return faro_write_file(p->epoch_file, line, (size_t)length, 0644, error);
}

faro_status faro_place_create(faro_place **place, const faro_shuffler_settings *settings, faro_error *error) {
  faro_place *p = calloc(1, sizeof *p);
  if (!p) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer's place");
  p->settings = settings;
  p->now = ANALYZER;
  snprintf(p->epoch_file, sizeof p->epoch_file, "%s.epoch", settings->state);
  snprintf(p->file, sizeof p->file, "%s.move", settings->state);
  pthread_mutex_init(&p->mutex, NULL);
  faro_status status = load(p, error);
  if (status == FARO_OK) status = load_epoch(p, error);
  if (status == FARO_OK) *place = p;
  else faro_place_destroy(p);
  return status;
}

void faro_place_destroy(faro_place *place) {
  if (!place) return;
  pthread_mutex_destroy(&place->mutex);
  free(place->founded);
  free(place->unkept);
  free(place);
}

void faro_place_founder(faro_place *place, unsigned char key[static FARO_KEY_BYTES]) {
  pthread_mutex_lock(&place->mutex);
  memcpy(key, place->moved ? place->move.founder : place->settings->analyzer_key, FARO_KEY_BYTES);
  pthread_mutex_unlock(&place->mutex);
}

void faro_place_signer(faro_place *place, unsigned char key[static FARO_KEY_BYTES]) {
  pthread_mutex_lock(&place->mutex);
  memcpy(key, place->moved ? faro_move_signer_key(&place->move) : place->settings->analyzer_key,
         FARO_KEY_BYTES);
  pthread_mutex_unlock(&place->mutex);
}

/* Keeps a move in STATE.move. One that came before the campaign may be that of another campaign,
 * and would keep the shuffler from starting for ever: it waits until faro_place_apply has checked
 * it. */
static faro_status keep(faro_place *p, const char *text, size_t length, faro_error *error) {
  pthread_mutex_lock(&p->mutex);
  const bool known = p->founded != NULL;
  if (!known) {
    free(p->unkept);
    p->unkept = malloc(length);
    p->length = length;
    if (p->unkept) memcpy(p->unkept, text, length);
  }
  const bool held = p->unkept != NULL;
  pthread_mutex_unlock(&p->mutex);
  if (known) return faro_write_file(p->file, text, length, 0644, error);
  return held ? FARO_OK : faro_fail(error, FARO_MEMORY, "cannot allocate a move");
}

/* Call it under the mutex. */
static faro_status keep_checked(faro_place *p, faro_error *error) {
  if (!p->unkept) return FARO_OK;
  const faro_status status = faro_write_file(p->file, p->unkept, p->length, 0644, error);
  free(p->unkept);
  p->unkept = NULL;
  return status;
}

faro_status faro_place_apply(faro_place *place, faro_campaign *campaign, faro_error *error) {
  faro_campaign *founded = malloc(sizeof *founded);
  if (!founded) return faro_fail(error, FARO_MEMORY, "cannot allocate a campaign");
  *founded = *campaign;
  pthread_mutex_lock(&place->mutex);
  free(place->founded);
  place->founded = founded;
  faro_status status = place->moved ? faro_move_apply(&place->move, founded, campaign, error) : FARO_OK;
  if (status == FARO_OK) status = keep_checked(place, error);
  pthread_mutex_unlock(&place->mutex);
  return status;
}

void faro_place_move(faro_place *place, const faro_campaign *campaign, faro_move *move) {
  pthread_mutex_lock(&place->mutex);
  if (place->moved) *move = place->move;
  else faro_move_none(move, campaign, place->settings->analyzer_key);
  pthread_mutex_unlock(&place->mutex);
}

/* NULL: there is none. Call it under the mutex. */
static const char *address_at(const faro_place *p, size_t index) {
  const char *url = index == MOVED      ? (p->moved ? p->move.analyzer : "")
                    : index == ANALYZER ? p->settings->analyzer
                    : index == STANDBY  ? p->settings->standby
                                        : "";
  return *url ? url : NULL;
}

bool faro_place_at(faro_place *place, size_t index, char url[static FARO_URL_MAX + 1]) {
  pthread_mutex_lock(&place->mutex);
  const char *found = address_at(place, index);
  if (found) snprintf(url, FARO_URL_MAX + 1, "%s", found);
  pthread_mutex_unlock(&place->mutex);
  return found != NULL;
}

void faro_place_address(faro_place *place, char url[static FARO_URL_MAX + 1]) {
  if (!faro_place_at(place, faro_place_now(place), url)) *url = '\0';
}

size_t faro_place_now(faro_place *place) {
  pthread_mutex_lock(&place->mutex);
  const size_t now = place->now;
  pthread_mutex_unlock(&place->mutex);
  return now;
}

void faro_place_use(faro_place *place, size_t index) {
  pthread_mutex_lock(&place->mutex);
  place->now = index;
  pthread_mutex_unlock(&place->mutex);
}

void faro_place_failed(faro_place *place) {
  pthread_mutex_lock(&place->mutex);
  do place->now = (place->now + 1) % FARO_PLACES;
  while (!address_at(place, place->now)); /* that of the analyzer is always there */
  pthread_mutex_unlock(&place->mutex);
}

uint64_t faro_place_epoch(faro_place *place, unsigned char proof[static FARO_SIGNATURE_BYTES]) {
  pthread_mutex_lock(&place->mutex);
  const uint64_t epoch = place->epoch;
  memcpy(proof, place->proof, FARO_SIGNATURE_BYTES);
  pthread_mutex_unlock(&place->mutex);
  return epoch;
}

faro_status faro_place_see(faro_place *place, const unsigned char digest[static FARO_DIGEST_BYTES],
                           uint64_t epoch, const unsigned char proof[static FARO_SIGNATURE_BYTES],
                           faro_error *error) {
  unsigned char signer[FARO_KEY_BYTES], before[FARO_SIGNATURE_BYTES];
  const uint64_t seen = faro_place_epoch(place, before);
  if (epoch < seen)
    return faro_fail(error, FARO_OLD,
                     "another analyzer has taken over in epoch %llu, and this one is of epoch %llu",
                     (unsigned long long)seen, (unsigned long long)epoch);
  if (epoch == 0) return FARO_OK;
  faro_place_signer(place, signer);
  if (!faro_epoch_proven(digest, epoch, signer, proof))
    return faro_fail(error, FARO_INVALID, "the proof of epoch %llu is wrong", (unsigned long long)epoch);
  const bool news = epoch > seen || memcmp(proof, before, FARO_SIGNATURE_BYTES) != 0; /* a new key */
  const faro_status status = news ? keep_epoch(place, epoch, proof, error) : FARO_OK;
  if (status != FARO_OK) return status;
  pthread_mutex_lock(&place->mutex);
  place->epoch = epoch;
  memcpy(place->proof, proof, FARO_SIGNATURE_BYTES);
  pthread_mutex_unlock(&place->mutex);
  if (epoch > seen) faro_log(FARO_LOG_WARNING, "epoch", "sI", "number", (json_int_t)epoch);
  return FARO_OK;
}

void faro_place_look(faro_place *place, faro_sender *sender) {
  char url[FARO_URL_MAX + 1], whole[FARO_URL_MAX + 32];
  faro_sent sent = {0};
  faro_error error = {0};
  bool newer = false;
  faro_place_address(place, url);
  snprintf(whole, sizeof whole, "%s/v1/move", url);
  if (faro_send_get(sender, whole, &sent, NULL) != FARO_OK || sent.status != 200) return;
  faro_status status = accept(place, sent.bytes, sent.length, &newer, &error);
  if (status == FARO_OK && newer) status = keep(place, sent.bytes, sent.length, &error);
  if (status != FARO_OK) faro_log_error("move-refused", &error);
  else if (newer) faro_log(FARO_LOG_INFO, "moved", NULL);
}
