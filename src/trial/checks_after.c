/* checks_after: checks after the roles have ended: what was sent, files, states. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "service/analyzer/store.h"
#include "trial/capture.h"
#include "trial/checks.h"

enum { FILE_MOST = 1 << 30 };

/* Sums of bits, batch by batch for each shuffler, or all together. */

typedef struct sums {
  uint64_t *acknowledged, *released;
  size_t entries;
} sums;

static bool equal(const sums *s) {
  return memcmp(s->acknowledged, s->released, s->entries * sizeof(uint64_t)) == 0;
}

static void clear(const sums *s) {
  memset(s->acknowledged, 0, s->entries * sizeof(uint64_t));
  memset(s->released, 0, s->entries * sizeof(uint64_t));
}

/* How many batches of one shuffler have other totals than the reports that were acknowledged for
 * them. */
static uint64_t wrong_batches(const faro_trial *trial, const faro_record *record, const faro_crowd *crowd,
                              size_t shuffler, const sums *s) {
  const uint64_t unit = faro_campaign_unit(&trial->campaign, shuffler);
  uint64_t wrong = 0;
  for (uint64_t n = 0; n < faro_record_batches(record, shuffler); n++) {
    clear(s);
    for (uint64_t v = n * unit + 1; v <= (n + 1) * unit; v++)
      (void)faro_crowd_counted(crowd, shuffler, v, s->acknowledged);
    faro_record_totals(record, shuffler, n, n + 1, s->released);
    wrong += !equal(s);
  }
  return wrong;
}

static bool wrong_in_all(const faro_record *record, const faro_crowd *crowd, size_t shuffler, const sums *s) {
  clear(s);
  (void)faro_crowd_counted(crowd, shuffler, 0, s->acknowledged);
  faro_record_totals(record, shuffler, 0, faro_record_batches(record, shuffler), s->released);
  return !equal(s);
}

static void check_totals(faro_checks *list, const faro_trial *trial, const faro_record *record,
                         const faro_crowd *crowd, bool steps) {
  const size_t entries = faro_wire_report_entries(&trial->campaign);
  uint64_t *room = calloc(2 * entries, sizeof *room);
  uint64_t wrong = 0, batches = 0;
  const sums s = {.acknowledged = room, .released = room + entries, .entries = entries};
  for (size_t i = 0; room && i < trial->campaign.shufflers; i++) {
    wrong += steps ? wrong_batches(trial, record, crowd, i, &s) : wrong_in_all(record, crowd, i, &s);
    batches += faro_record_batches(record, i);
  }
  free(room);
  faro_checks_add(list, 'a', "released totals = the sums of the acknowledged reports, entry by entry",
                  room && wrong == 0, "%" PRIu64 " batches of %zu entries, %" PRIu64 " wrong%s", batches,
                  entries, wrong, steps ? "" : " (all together)");
}

/* Sealed bodies: the same ones, each of them once. */

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, FARO_DIGEST_BYTES); }

static void hash_of(const unsigned char *bytes, size_t length, unsigned char *hash) {
  crypto_generichash(hash, FARO_DIGEST_BYTES, bytes, length, NULL, 0);
}

static void check_bodies(faro_checks *list, const faro_trial *trial, const faro_record *record,
                         const faro_crowd *crowd, uint64_t released) {
  const size_t size = faro_wire_report_size(&trial->campaign) - FARO_REPORT_HEAD;
  const size_t count = (size_t)faro_campaign_reports(&trial->campaign, faro_record_batches(record, 0));
  unsigned char *hashes = malloc(2 * (count + 1) * FARO_DIGEST_BYTES), *sent = hashes;
  unsigned char *heard = hashes ? hashes + (count + 1) * FARO_DIGEST_BYTES : NULL;
  size_t acknowledged = 0, found = 0;
  uint64_t version = 0;
  const unsigned char *body;
  for (size_t i = 0; hashes && (body = faro_crowd_body(crowd, i, &version)); i++)
    if (version <= released && acknowledged++ < count)
      hash_of(body, size, sent + (acknowledged - 1) * FARO_DIGEST_BYTES);
  for (uint64_t n = 0; hashes && n < faro_record_batches(record, 0); n++)
    for (uint64_t i = 0; i < faro_record_batch(record, 0, n)->count; i++)
      hash_of(faro_record_batch(record, 0, n)->body + i * size, size, heard + found++ * FARO_DIGEST_BYTES);
  bool passed = hashes && acknowledged == count && found == count;
  if (passed) {
    qsort(sent, count, FARO_DIGEST_BYTES, by_bytes);
    qsort(heard, count, FARO_DIGEST_BYTES, by_bytes);
    passed = memcmp(sent, heard, count * FARO_DIGEST_BYTES) == 0;
  }
  free(hashes);
  faro_checks_add(list, 'a', "released messages = the acknowledged ones, each once", passed,
                  "%zu acknowledged, %zu released", acknowledged, found);
}

/* Checks that a batch is not in the order of arrival. In a random order about one body is in its
 * place. */
static void check_order(faro_checks *list, const faro_trial *trial, const faro_record *record,
                        const faro_crowd *crowd) {
  const size_t size = faro_wire_report_size(&trial->campaign) - FARO_REPORT_HEAD;
  const faro_batch *batch = faro_record_batch(record, 0, 0);
  uint64_t version = 0;
  size_t same = 0;
  for (uint64_t i = 0; batch && i < batch->count; i++) {
    const unsigned char *body = faro_crowd_body(crowd, i, &version);
    same += body && memcmp(body, batch->body + i * size, size) == 0;
  }
  faro_checks_add(list, 'b', "a batch is not in the order of arrival", batch && same < 20,
                  "%zu of %" PRIu64 " in their place (1 on average)", same, batch ? batch->count : 0);
}

/* The least size that one of the released batches may have. */
static uint64_t least_size(const faro_campaign *c, uint64_t released) {
  uint64_t least = UINT64_MAX;
  for (uint64_t n = 0; n < released; n++) {
    const uint64_t size = faro_campaign_size(c, 0, n);
    if (size < least) least = size;
  }
  return least;
}

void faro_check_record(faro_checks *list, const faro_trial *trial, const faro_record *record,
                       const faro_crowd *crowd, uint64_t released, bool steps) {
  const faro_wire_form form = faro_campaign_form(&trial->campaign);
  if (form == FARO_WIRE_BITS) check_totals(list, trial, record, crowd, steps);
  if (form == FARO_WIRE_SEALED) check_bodies(list, trial, record, crowd, released);
  if (form == FARO_WIRE_SEALED) check_order(list, trial, record, crowd);
  if (form == FARO_WIRE_DIRECT) return;
  const uint64_t least = faro_record_smallest(record);
  const uint64_t smallest = least_size(&trial->campaign, released);
  faro_checks_add(list, 'b', "no batch below its size left a shuffler, not even when it stopped",
                  least >= smallest && faro_record_batches(record, 0) == released,
                  "%" PRIu64 " batches of the lowest shuffler; the smallest had %" PRIu64 " of %" PRIu64,
                  faro_record_batches(record, 0), least, smallest);
}

/* Replay. */

static bool same_policy(const faro_trial *trial, const faro_learning *learning, const faro_blob *document) {
  char *text = NULL;
  size_t length = 0;
  faro_error error = {0};
  const bool same = faro_learning_document(learning, &trial->sign, &text, &length, &error) == FARO_OK &&
                    length == document->length && memcmp(text, document->bytes, length) == 0;
  free(text);
  return same;
}

static void compare(faro_checks *list, const faro_trial *trial, const faro_learning *learning,
                    const faro_store_state *state, uint64_t released) {
  unsigned char *bytes = NULL;
  size_t length = 0;
  faro_error error = {0};
  const bool same = faro_learning_save(learning, &bytes, &length, &error) == FARO_OK &&
                    state->batches == released && length == state->release.length &&
                    memcmp(bytes, state->release.bytes, length) == 0;
  free(bytes);
  faro_checks_add(list, 'c', "a release in this process, fed with the same batches, has the same sums", same,
                  "%zu bytes of state after %" PRIu64 " batches", state->release.length, state->batches);
  faro_checks_add(list, 'c', "and leads to the same policy, byte by byte, with its signature",
                  same_policy(trial, learning, &state->policy), "version %" PRIu64, state->batches + 1);
}

/* If the analyzer adds the noise itself, this process cannot compute the same sums. */
static bool replayable(const faro_trial *trial) { return trial->campaign.release->trust != FARO_TRUST_JOINT; }

void faro_check_replay(faro_checks *list, const faro_trial *trial, const faro_record *record,
                       const faro_crowd *crowd, uint64_t released) {
  char path[FARO_TRIAL_PATH];
  faro_error error = {0};
  faro_store *store = NULL;
  faro_store_state state = {0};
  faro_learning *learning = NULL;
  if (!replayable(trial)) return;
  faro_status status =
      faro_store_open(&store, faro_trial_file(trial, 0, ".db", path), FARO_READ_ONLY, &error);
  if (status == FARO_OK) status = faro_store_state_load(store, &state, &error);
  if (status == FARO_OK) status = faro_record_replay(record, crowd, released, &learning, &error);
  if (status == FARO_OK) compare(list, trial, learning, &state, released);
  else faro_checks_add(list, 'c', "the recorded batches can be replayed", false, "%s", error.message);
  faro_learning_destroy(learning);
  faro_store_state_clear(&state);
  faro_store_close(store);
}

/* Files. */

static const char *const suffixes[] = {".db",      ".db-wal",      ".db-shm", ".db-journal",
                                       ".db.seen", ".db-wal.seen", ".log"};
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes, FILES = 4 /* before the copies */ };

void faro_check_snapshot(faro_checks *list, const faro_trial *trial) {
  static const char *const ends[][2] = {{".db", ".db.seen"}, {".db-wal", ".db-wal.seen"}};
  faro_error error = {0};
  size_t copied = 0;
  for (size_t i = 0; i < 2 * trial->roles; i++) {
    char from[FARO_TRIAL_PATH], to[FARO_TRIAL_PATH], *bytes = NULL;
    size_t length = 0;
    if (faro_read_file(faro_trial_file(trial, i / 2, ends[i % 2][0], from), FILE_MOST, &bytes, &length,
                       &error) == FARO_OK &&
        faro_write_file(faro_trial_file(trial, i / 2, ends[i % 2][1], to), bytes, length, 0600, &error) ==
            FARO_OK)
      copied++;
    free(bytes);
  }
  faro_checks_add(list, 'g', "the roles' files can be read while they run", copied == 2 * trial->roles,
                  "%zu files%s%s", copied, *error.message ? ": " : "", error.message);
}

static size_t find_in(const faro_trial *trial, size_t role, const faro_patterns *patterns, size_t first,
                      size_t end, faro_error *error) {
  size_t found = 0;
  for (size_t i = first; i < end; i++) {
    char path[FARO_TRIAL_PATH];
    size_t here = 0;
    if (faro_patterns_find_file(patterns, faro_trial_file(trial, role, suffixes[i], path), &here, error) !=
        FARO_OK)
      return SIZE_MAX;
    found += here;
  }
  return found;
}

static size_t find_in_files(const faro_trial *trial, size_t role, const faro_patterns *patterns, size_t first,
                            faro_error *error) {
  return find_in(trial, role, patterns, first, SUFFIXES, error);
}

static void check_identities(faro_checks *list, const faro_trial *trial) {
  faro_patterns *patterns = NULL;
  faro_error error = {0};
  const uint64_t clients = trial->params.clients + 1;
  if (faro_patterns_create(&patterns, (size_t)clients * 6, &error) != FARO_OK) return;
  for (uint64_t i = 0; i < clients; i++) {
    const unsigned char *token = trial->tokens + i * FARO_TOKEN_BYTES;
    unsigned char hash[FARO_HASH_BYTES];
    faro_token_hash(token, hash);
    for (size_t j = 0; j < FARO_TOKEN_BYTES; j += 8) faro_patterns_add(patterns, token + j);
    for (size_t j = 0; j < FARO_HASH_BYTES; j += 8) faro_patterns_add(patterns, hash + j);
  }
  /* If clients report to the analyzer itself, its spool has their hashes; its log must not. */
  const bool direct = trial->roles == 1;
  const size_t analyzer = find_in_files(trial, 0, patterns, direct ? SUFFIXES - 1 : 0, &error);
  size_t logs = 0;
  for (size_t role = 1; role < trial->roles; role++)
    logs += find_in_files(trial, role, patterns, SUFFIXES - 1, &error);
  faro_patterns_destroy(patterns);
  faro_checks_add(list, 'e',
                  direct ? "no token or token hash in the analyzer's log"
                         : "no token or token hash in the analyzer's database and log",
                  analyzer == 0, "%zu found of %" PRIu64 " clients", analyzer, clients);
  if (!direct) faro_checks_add(list, 'e', "nor in a shuffler's log", logs == 0, "%zu found", logs);
}

/* Searches for two adjacent totals, as they were sent: these are not found by chance. */
static size_t find_totals(const faro_record *record, size_t shuffler, size_t entries, const char *bytes,
                          size_t length) {
  size_t found = 0;
  for (uint64_t n = 0; n < faro_record_batches(record, shuffler); n++)
    for (size_t i = 0; i + 1 < entries; i += 3)
      found += memmem(bytes, length, faro_record_batch(record, shuffler, n)->body + 8 * i, 16) != NULL;
  return found;
}

/* Searches for bodies of the batches from .. to - 1, also in the copies or not. */
static size_t find_bodies(const faro_trial *trial, const faro_record *record, size_t role, uint64_t from,
                          uint64_t to, bool copies, faro_error *error) {
  const size_t size = faro_wire_report_size(&trial->campaign) - FARO_REPORT_HEAD;
  faro_patterns *patterns = NULL;
  const uint64_t reports = faro_campaign_reports(&trial->campaign, to);
  if (faro_patterns_create(&patterns, (size_t)(2 * reports) + 1, error) != FARO_OK) return SIZE_MAX;
  for (uint64_t n = from; n < to; n++) {
    const faro_batch *batch = faro_record_batch(record, 0, n);
    for (uint64_t i = 0; i < batch->count; i++) {
      faro_patterns_add(patterns, batch->body + i * size);
      faro_patterns_add(patterns, batch->body + i * size + size - 8);
    }
  }
  const size_t found = copies ? find_in_files(trial, role, patterns, 0, error)
                              : find_in(trial, role, patterns, 0, FILES, error) +
                                    find_in(trial, role, patterns, SUFFIXES - 1, SUFFIXES, error);
  faro_patterns_destroy(patterns);
  return found;
}

/* What was released after the files were copied may have been in the open batch then. */
static size_t find_released(const faro_trial *trial, const faro_record *record, size_t role, uint64_t copied,
                            faro_error *error) {
  size_t found = 0;
  if (faro_campaign_form(&trial->campaign) == FARO_WIRE_SEALED) {
    const uint64_t batches = faro_record_batches(record, 0);
    const uint64_t early = copied < batches ? copied : batches;
    return find_bodies(trial, record, role, 0, early, true, error) +
           find_bodies(trial, record, role, early, batches, false, error);
  }
  for (size_t i = 0; i < SUFFIXES; i++) {
    char path[FARO_TRIAL_PATH], *bytes = NULL;
    size_t length = 0;
    faro_error none = {0};
    if (faro_read_file(faro_trial_file(trial, role, suffixes[i], path), FILE_MOST, &bytes, &length, &none) !=
        FARO_OK)
      continue;
    found += find_totals(record, faro_trial_shuffler_of(trial, role),
                         faro_wire_report_entries(&trial->campaign), bytes, length);
    free(bytes);
  }
  return found;
}

void faro_check_files(faro_checks *list, const faro_trial *trial, const faro_record *record,
                      uint64_t copied) {
  check_identities(list, trial);
  faro_error error = {0};
  size_t found = 0;
  for (size_t role = 1; role < trial->roles; role++)
    found += find_released(trial, record, role, copied, &error);
  if (trial->roles > 1)
    faro_checks_add(list, 'g', "the shufflers' files hold nothing of released batches", found == 0,
                    "%zu pieces found", found);
}

/* Traffic. */

typedef struct traffic {
  uint64_t bytes, posts, frames, odd;
  size_t secrets;
} traffic;

static void hear(const faro_trial *trial, const faro_crowd *crowd, size_t role, traffic *t) {
  const size_t size = faro_wire_report_size(&trial->campaign);
  const unsigned char *bytes;
  size_t length = 0;
  for (size_t c = 0; (bytes = faro_relay_heard(trial->relay[role], c, &length)); c++) {
    faro_request request;
    t->bytes += length;
    t->secrets += faro_patterns_find(faro_crowd_secrets(crowd), bytes, length);
    for (size_t place = 0; faro_capture_next(bytes, length, &place, &request);) {
      if (!faro_request_is(&request, "/v1/reports")) continue;
      t->posts++;
      t->frames += request.length / size;
      t->odd += request.length % size != 0;
    }
  }
}

void faro_check_traffic(faro_checks *list, const faro_trial *trial, const faro_crowd *crowd) {
  traffic t = {0};
  for (size_t role = trial->roles > 1 ? 1 : 0; role < trial->roles; role++) hear(trial, crowd, role, &t);
  /* One report of another size is our own: the half report that had to be refused. */
  faro_checks_add(list, 'h', "all reports on the wire have one size", t.odd <= 1 && t.frames > 0,
                  "%" PRIu64 " reports of %zu bytes in %" PRIu64 " posts", t.frames,
                  faro_wire_report_size(&trial->campaign), t.posts);
  faro_checks_add(list, 'h', "no feature or reward is readable on the wire", t.secrets == 0 && t.bytes > 0,
                  "%zu of %zu numbers found in %.1f MB", t.secrets,
                  faro_patterns_count(faro_crowd_secrets(crowd)), (double)t.bytes / 1e6);
}
