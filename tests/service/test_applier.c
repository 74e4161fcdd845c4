/* applier, store, ledger and status, in one process, also when memory runs out or files cannot
 * grow. */
#define _GNU_SOURCE /* memmem */
#include "support/support.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/analyzer/analyzer_status.h"
#include "service/analyzer/applier.h"
#include "service/analyzer/ledger_chain.h"
#include "service/analyzer/ledger_check.h"
#include "wire/bytes.h"

enum { DIMENSION = 2, BATCH = 20, ENTRIES = 5 };

typedef struct scene {
  char folder[64], path[96];
  faro_applier_keys keys;
  faro_sign_key shuffler;
  faro_campaign campaign;
  faro_store *store;
  faro_applier *applier;
  faro_learning *twin; /* gets the same batches, without failures */
  faro_secure_rng *secure;
} scene;

static double growth = 1; /* of the batches of the next scene */
static const char *learner = "linucb";

static void open_kind(scene *s, const char *kind, uint64_t batches, faro_level level,
                      uint64_t contributions) {
  char *text = NULL;
  size_t length = 0;
  *s = (scene){0};
  snprintf(s->folder, sizeof s->folder, "/tmp/faro-applier-XXXXXX");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->path, sizeof s->path, "%s/db", s->folder);
  assert_ok(faro_sign_key_make(&s->keys.sign, error));
  assert_ok(faro_seal_key_make(&s->keys.seal, error));
  assert_ok(faro_sign_key_make(&s->shuffler, error));
  faro_campaign *c = &s->campaign;
  *c = (faro_campaign){.id = "scene",
                       .release = faro_release_kind_find(kind),
                       .params = {.epsilon = 2,
                                  .delta = 1e-6,
                                  .horizon = batches * BATCH,
                                  .batch = BATCH,
                                  .growth = growth,
                                  .level = level,
                                  .contributions = contributions,
                                  .calibration = FARO_CALIBRATION_TIGHT},
                       .centre = 0.5,
                       .arms = 3,
                       .failure = 0.1,
                       .analyzer = "http://127.0.0.1:1",
                       .shufflers = strncmp(kind, "shuffle", 7) == 0,
                       .shuffler = {{.url = "http://127.0.0.1:2"}}};
  snprintf(c->learner, sizeof c->learner, "%s", learner);
  memcpy(c->seal, s->keys.seal.public_key, sizeof c->seal);
  memcpy(c->shuffler[0].key, s->shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_contribution_init(&c->contribution, DIMENSION, 1, -0.5, 0.5, error));
  assert_ok(faro_campaign_write(c, &s->keys.sign, &text, &length, error));
  free(text);
  assert_ok(faro_secure_open(&s->secure, error));
  assert_ok(faro_store_open(&s->store, s->path, FARO_READ_WRITE, error));
  assert_ok(faro_applier_create(&s->applier, s->store, c, &s->keys, error));
  assert_ok(faro_learning_create(&s->twin, c, NULL, 0, error));
}

static void open_scene(scene *s, faro_level level, uint64_t contributions) {
  open_kind(s, "shuffle-bits", 10, level, contributions);
}

static void close_scene(scene *s) {
  char command[128];
  faro_learning_destroy(s->twin);
  faro_applier_destroy(s->applier);
  faro_store_close(s->store);
  faro_secure_close(s->secure);
  snprintf(command, sizeof command, "rm -r '%s'", s->folder);
  assert_int_equal(system(command), 0);
}

/* Makes a batch, receives it, and gives it to the twin. */
static void receive(scene *s, uint64_t number) {
  unsigned char body[8 * ENTRIES];
  unsigned char frame[400];
  uint64_t total[ENTRIES];
  faro_receipt receipt = FARO_RECEIPT_BAD;
  const uint64_t mean = (uint64_t)(s->campaign.encoding[0].least + s->campaign.encoding[0].most) / 2;
  for (size_t i = 0; i < ENTRIES; i++) {
    total[i] = mean * BATCH + (number * 7 + i * 3) % 11;
    faro_store64(body + 8 * i, total[i]);
  }
  const faro_batch batch = {.number = number, .count = BATCH, .body = body};
  faro_batch_write(&s->campaign, &batch, &s->shuffler, frame);
  assert_ok(faro_applier_receive(s->applier, frame, faro_batch_size(&s->campaign, BATCH), &receipt, error));
  assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
  assert_ok(faro_learning_apply(s->twin, total, 1, error));
}

static void assert_twins(const scene *s) {
  const faro_applier_view view = faro_applier_snapshot(s->applier);
  char *text = NULL;
  size_t length = 0;
  const faro_statistics p = faro_release_statistics(faro_learning_release(faro_applier_learning(s->applier)));
  const faro_statistics q = faro_release_statistics(faro_learning_release(s->twin));
  assert_ok(faro_learning_document(s->twin, &s->keys.sign, &text, &length, error));
  assert_int_equal(length, view.length);
  assert_memory_equal(text, view.policy, length);
  free(text);
  assert_memory_equal(p.sum, q.sum, ENTRIES * sizeof *p.sum);
  assert_int_equal(p.users, q.users);
}

static size_t charged(scene *s) {
  faro_debit debits[16];
  size_t count = 16;
  assert_ok(faro_store_debits(s->store, 0, debits, &count, error));
  return count;
}

static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The debit and the computation need no disk; only the commit writes. */
static void test_applier__a_commit_that_fails_leaves_nothing_and_is_tried_again(void **state) {
  (void)state;
  scene s;
  signal(SIGXFSZ, SIG_IGN);
  open_scene(&s, FARO_LEVEL_EVENT, 1);
  for (uint64_t b = 0; b < 4; b++) {
    bool applied = false;
    receive(&s, b);
    for (int i = 0; b > 0 && i < 2; i++) {
      const faro_applier_view before = faro_applier_snapshot(s.applier);
      faro_error why = {0};
      limit_files(100); /* the files cannot grow */
      const faro_status status = faro_applier_step(s.applier, &applied, &why);
      limit_files(RLIM_INFINITY);
      assert_int_equal(status, FARO_SYSTEM);
      assert_false(applied);
      assert_int_equal(faro_applier_snapshot(s.applier).version, before.version);
      assert_int_equal(charged(&s), b);
    }
    assert_ok(faro_applier_step(s.applier, &applied, error));
    assert_true(applied);
    assert_twins(&s);
    assert_int_equal(charged(&s), b + 1);
    assert_ok(faro_applier_step(s.applier, &applied, error));
    assert_false(applied);
  }
  close_scene(&s);
}

/* Without memory even the durable state cannot be restored; the next step restores it. */
static void test_applier__comes_back_when_going_back_failed(void **state) {
  (void)state;
  scene s;
  bool applied = false;
  signal(SIGXFSZ, SIG_IGN);
  open_scene(&s, FARO_LEVEL_EVENT, 1);
  receive(&s, 0);
  for (size_t n = 1; n < 80; n++) {
    limit_files(100);
    alloc_fail_at(n);
    const faro_status status = faro_applier_step(s.applier, &applied, NULL);
    alloc_fail_at(0);
    limit_files(RLIM_INFINITY);
    assert_true(status == FARO_SYSTEM || status == FARO_MEMORY);
    assert_false(applied);
    assert_int_equal(faro_applier_snapshot(s.applier).version, 1);
  }
  assert_ok(faro_applier_step(s.applier, &applied, error));
  assert_true(applied);
  assert_twins(&s);
  assert_int_equal(charged(&s), 1);
  close_scene(&s);
}

/* Another hand on the file, as that of a server that gives back an old copy. */
static void change(const scene *s, const char *sql) {
  sqlite3 *other = NULL;
  assert_int_equal(sqlite3_open(s->path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, sql, NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* A database that lacks an applied batch is not gone on with, and not gone back to: the ledger gets
 * no gap, and the policy stays. */
static void test_applier__refuses_a_database_that_has_gone_back(void **state) {
  (void)state;
  scene s;
  bool applied = false;
  open_scene(&s, FARO_LEVEL_EVENT, 1);
  for (uint64_t b = 0; b < 2; b++) {
    receive(&s, b);
    assert_ok(faro_applier_step(s.applier, &applied, error));
    assert_true(applied);
    if (b == 0) change(&s, "CREATE TABLE old AS SELECT * FROM state");
  }
  receive(&s, 2);
  change(&s,
         "CREATE TABLE new AS SELECT * FROM state; CREATE TABLE row AS SELECT * FROM ledger WHERE batch = 1;"
         "DELETE FROM state; INSERT INTO state SELECT * FROM old; DELETE FROM ledger WHERE batch = 1");
  for (int i = 0; i < 2; i++) {
    faro_error why = {0};
    assert_int_equal(faro_applier_step(s.applier, &applied, &why), FARO_INVALID);
    assert_non_null(
        strstr(why.message, i == 0 ? "does not hold the state after 2 batches" : "is an old copy"));
    assert_false(applied);
    assert_int_equal(faro_applier_snapshot(s.applier).version, 3);
    assert_int_equal(charged(&s), 1);
  }
  change(&s, "DELETE FROM state; INSERT INTO state SELECT * FROM new; INSERT INTO ledger SELECT * FROM row");
  assert_ok(faro_applier_step(s.applier, &applied, error));
  assert_true(applied);
  assert_twins(&s);
  assert_int_equal(charged(&s), 3);
  close_scene(&s);
}

/* Batches that wait are applied when the state is opened again; applied ones are not. */
static void test_applier__goes_on_where_it_was(void **state) {
  (void)state;
  scene s;
  open_scene(&s, FARO_LEVEL_EVENT, 1);
  for (uint64_t b = 0; b < s.campaign.batches; b++) {
    bool applied = false;
    receive(&s, b);
    if (b % 2 == 0) assert_ok(faro_applier_step(s.applier, &applied, error));
    faro_applier_destroy(s.applier);
    faro_store_close(s.store);
    assert_ok(faro_store_open(&s.store, s.path, FARO_READ_WRITE, error));
    assert_ok(faro_applier_create(&s.applier, s.store, &s.campaign, &s.keys, error));
    assert_ok(faro_applier_step(s.applier, &applied, error));
    assert_int_equal(applied, b % 2 == 1);
    assert_twins(&s);
    assert_int_equal(charged(&s), b + 1);
  }
  assert_true(faro_applier_snapshot(s.applier).done);
  close_scene(&s);
}

/* Sealed reports. */

typedef struct sealed_batch {
  int64_t message[BATCH * ENTRIES];
  unsigned char body[BATCH * 200];
  size_t size; /* bytes of a body */
} sealed_batch;

/* Receives a batch without applying it. */
static void receive_sealed(scene *s, uint64_t number, sealed_batch *made) {
  const size_t size = faro_wire_report_size(&s->campaign) - FARO_REPORT_HEAD;
  unsigned char frame[sizeof made->body + 256];
  faro_receipt receipt = FARO_RECEIPT_BAD;
  assert_true(size <= 200);
  made->size = size;
  for (size_t i = 0; i < BATCH; i++) {
    int64_t *message = made->message + i * ENTRIES;
    for (size_t j = 0; j < ENTRIES; j++)
      message[j] = s->campaign.encoding[0].least + (int64_t)((number * 7 + i * 3 + j) % 11);
    const faro_wire_report head = {.version = number + 1, .sequence = number + 1};
    assert_ok(faro_wire_report_write(&s->campaign, &head, (const uint64_t *)message, frame, error));
    memcpy(made->body + i * size, frame + FARO_REPORT_HEAD, size);
  }
  const faro_batch batch = {.number = number, .count = BATCH, .body = made->body};
  faro_batch_write(&s->campaign, &batch, &s->shuffler, frame);
  assert_ok(faro_applier_receive(s->applier, frame, faro_batch_size(&s->campaign, BATCH), &receipt, error));
  assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
}

/* A report that was acknowledged counts: if memory is out, its box is not spoiled. */
static void test_applier__without_memory_no_report_is_taken_for_spoiled(void **state) {
  (void)state;
  scene s;
  sealed_batch batch;
  bool applied = false;
  size_t failures = 0;
  open_kind(&s, "shuffle-gaussian", 2, FARO_LEVEL_EVENT, 1);
  receive_sealed(&s, 0, &batch);
  while (!applied) {
    alloc_fail_at(failures + 1);
    const faro_status status = faro_applier_step(s.applier, &applied, NULL);
    alloc_fail_at(0);
    assert_int_equal(status, applied ? FARO_OK : FARO_MEMORY);
    failures += !applied;
  }
  assert_true(failures > BATCH); /* at least one failure in each box */
  assert_int_equal(faro_applier_snapshot(s.applier).spoiled, 0);
  assert_ok(faro_learning_apply(s.twin, batch.message, BATCH, error));
  assert_twins(&s);
  assert_int_equal(charged(&s), 1);
  close_scene(&s);
}

/* Batches of 20, 20, 40, 80 and 160 reports. */

static void reopen(scene *s) {
  faro_applier_destroy(s->applier);
  faro_store_close(s->store);
  assert_ok(faro_store_open(&s->store, s->path, FARO_READ_WRITE, error));
  assert_ok(faro_applier_create(&s->applier, s->store, &s->campaign, &s->keys, error));
}

/* A batch of reports that clients make. One sealed body, if any is to be spoiled, is damaged. */
static void receive_made(scene *s, faro_release *client, uint64_t number, bool spoil) {
  const faro_campaign *c = &s->campaign;
  const size_t users = faro_campaign_size(c, 0, number), entries = c->entries;
  const size_t size = faro_wire_report_size(c) - FARO_REPORT_HEAD;
  const bool bits = faro_campaign_form(c) == FARO_WIRE_BITS;
  uint64_t *messages = calloc(users * entries, sizeof *messages), total[ENTRIES] = {0};
  unsigned char *bodies = calloc(users, size), report[1024], body[8 * ENTRIES];
  unsigned char *frame = malloc(faro_batch_size(c, users));
  faro_receipt receipt = FARO_RECEIPT_BAD;
  faro_release_seek(client, number);
  for (size_t u = 0; u < users; u++) {
    const double x[DIMENSION] = {0.6, u % 2 ? 0.8 : -0.8};
    const faro_wire_report head = {.version = number + 1, .sequence = 1};
    assert_ok(faro_release_randomize(client, x, u % 3 ? 0.5 : -0.5, messages + u * entries, error));
    assert_ok(faro_wire_report_write(c, &head, messages + u * entries, report, error));
    memcpy(bodies + u * size, report + FARO_REPORT_HEAD, size);
    for (size_t i = 0; bits && i < entries; i++) total[i] += messages[u * entries + i];
  }
  for (size_t i = 0; bits && i < entries; i++) faro_store64(body + 8 * i, total[i]);
  if (spoil) bodies[7 * size + size - 1] ^= 1;
  const faro_batch batch = {.number = number, .count = users, .body = bits ? body : bodies};
  faro_batch_write(c, &batch, &s->shuffler, frame);
  assert_ok(faro_applier_receive(s->applier, frame, faro_batch_size(c, users), &receipt, error));
  assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
  assert_ok(faro_learning_apply(s->twin, bits ? total : messages, bits ? 1 : users, error));
  free(messages);
  free(bodies);
  free(frame);
}

static void test_applier__batches_of_different_sizes_over_restarts(void **state) {
  (void)state;
  static const char *const kinds[] = {"shuffle-bits", "shuffle-response", "shuffle-gaussian"};
  growth = 2;
  learner = "posterior";
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    scene s;
    faro_release *client = NULL;
    open_kind(&s, kinds[k], 16, FARO_LEVEL_EVENT, 1);
    assert_int_equal(s.campaign.batches, 5);
    assert_ok(faro_release_create(&client, s.campaign.release, &s.campaign.contribution, &s.campaign.params,
                                  faro_source_client(s.secure), error));
    for (uint64_t b = 0; b < 5; b++) {
      bool applied = false;
      receive_made(&s, client, b, false);
      if (b % 2) reopen(&s);
      assert_ok(faro_applier_step(s.applier, &applied, error));
      assert_true(applied);
      assert_int_equal(faro_applier_snapshot(s.applier).spoiled, 0);
      reopen(&s);
      assert_twins(&s);
      assert_int_equal(charged(&s), b + 1);
    }
    assert_true(faro_applier_snapshot(s.applier).done);
    faro_release_destroy(client);
    close_scene(&s);
  }
  growth = 1;
  learner = "linucb";
}

/* A response cannot say zero: one that is spoiled becomes a random answer, and the others count as
 * they would. */
static void test_applier__a_spoiled_response_is_a_random_answer(void **state) {
  (void)state;
  scene s;
  faro_release *client = NULL;
  bool applied = false;
  open_kind(&s, "shuffle-response", 2, FARO_LEVEL_EVENT, 1);
  assert_ok(faro_release_create(&client, s.campaign.release, &s.campaign.contribution, &s.campaign.params,
                                faro_source_client(s.secure), error));
  receive_made(&s, client, 0, true);
  assert_ok(faro_applier_step(s.applier, &applied, error));
  assert_true(applied);
  assert_int_equal(faro_applier_snapshot(s.applier).spoiled, 1);
  const faro_release *release = faro_learning_release(faro_applier_learning(s.applier));
  const faro_statistics p = faro_release_statistics(release);
  const faro_statistics q = faro_release_statistics(faro_learning_release(s.twin));
  double apart = 0;
  for (size_t i = 0; i < ENTRIES; i++) apart = fmax(apart, fabs(p.sum[i] - q.sum[i]));
  assert_true(apart > 0 && apart <= 2 * faro_release_influence(release));
  faro_release_destroy(client);
  close_scene(&s);
}

/* Files as they are, and as a killed process leaves them. */

static size_t read_bytes(const char *path, const char *end, char **bytes) {
  char name[128];
  size_t length = 0;
  snprintf(name, sizeof name, "%s%s", path, end);
  *bytes = NULL;
  if (access(name, F_OK) == 0) assert_ok(faro_read_file(name, 1 << 24, bytes, &length, error));
  return length;
}

/* Counts the bodies of a batch that can be found in the files of a database. */
static size_t bodies_in(const char *path, const sealed_batch *batch) {
  static const char *const ends[] = {"", "-wal"};
  size_t found = 0;
  for (size_t e = 0; e < 2; e++) {
    char *bytes = NULL;
    const size_t length = read_bytes(path, ends[e], &bytes);
    for (size_t i = 0; bytes && i < BATCH; i++)
      found += memmem(bytes, length, batch->body + i * batch->size, batch->size) != NULL;
    free(bytes);
  }
  return found;
}

static void copy_files(const char *from, const char *to) {
  char command[512];
  snprintf(command, sizeof command, "cp '%s' '%s' && cp '%s-wal' '%s-wal'", from, to, from, to);
  assert_int_equal(system(command), 0);
}

/* The process is killed after the commit and before the log is emptied; then another process reads
 * the file while it is opened again. */
static void test_store__a_log_that_was_left_is_emptied_at_the_start(void **state) {
  (void)state;
  scene s;
  sealed_batch batch;
  bool applied = false;
  char copy[128];
  faro_store *second = NULL;
  sqlite3 *reader = NULL;
  open_kind(&s, "shuffle-gaussian", 2, FARO_LEVEL_EVENT, 1);
  receive_sealed(&s, 0, &batch);
  assert_ok(faro_applier_step(s.applier, &applied, error));
  assert_true(applied);
  snprintf(copy, sizeof copy, "%s-copy", s.path);
  copy_files(s.path, copy);
  assert_true(bodies_in(copy, &batch) > 0);
  assert_ok(faro_store_open(&second, copy, FARO_READ_WRITE, error));
  assert_false(faro_store_needs_purge(second));
  assert_int_equal(bodies_in(copy, &batch), 0);
  faro_store_close(second);
  copy_files(s.path, copy);
  assert_int_equal(sqlite3_open(copy, &reader), SQLITE_OK);
  assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM inbox", NULL, NULL, NULL), SQLITE_OK);
  const double opened = faro_clock();
  assert_ok(faro_store_open(&second, copy, FARO_READ_WRITE, error));
  assert_true(faro_store_needs_purge(second));
  assert_true(bodies_in(copy, &batch) > 0);
  sqlite3_close(reader);
  assert_ok(faro_store_retry_purge(second, error)); /* too early, unless the machine is very busy */
  if (faro_clock() - opened < 5) assert_true(faro_store_needs_purge(second));
  sleep(5);
  assert_ok(faro_store_retry_purge(second, error));
  assert_false(faro_store_needs_purge(second));
  assert_int_equal(bodies_in(copy, &batch), 0);
  faro_store_close(second);
  close_scene(&s);
}

/* A file of another program, with its log if there is one, as a killed process leaves it. */
static void make_foreign(const char *path, const char *sql, bool log) {
  char there[128];
  char command[300];
  sqlite3 *handle = NULL;
  snprintf(there, sizeof there, "%s-made", path);
  assert_int_equal(sqlite3_open(there, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
  if (log) copy_files(there, path);
  sqlite3_close(handle);
  snprintf(command, sizeof command, "cp '%s' '%s'", there, path);
  if (!log) assert_int_equal(system(command), 0);
  unlink(there);
}

static void assert_no_lock(const char *path) {
  char lock[128];
  snprintf(lock, sizeof lock, "%s.lock", path);
  assert_int_equal(access(lock, F_OK), -1);
}

/* No file is created next to it either. */
static void test_store__what_is_no_database_is_left_alone(void **state) {
  (void)state;
  char folder[] = "/tmp/faro-foreign-XXXXXX";
  char command[128];
  char path[64];
  faro_store *store = NULL;
  faro_error text = {0}, looked = {0}, directory = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/notes", folder);
  snprintf(command, sizeof command, "echo 'analyzer: https://example.org' >'%s'", path);
  assert_int_equal(system(command), 0);
  assert_int_equal(faro_store_open(&store, path, FARO_READ_WRITE, &text), FARO_INVALID);
  assert_non_null(strstr(text.message, "is not a database of an analyzer"));
  assert_int_equal(faro_store_open(&store, path, FARO_READ_ONLY, &looked), FARO_INVALID);
  assert_no_lock(path);
  assert_int_equal(faro_store_open(&store, folder, FARO_READ_WRITE, &directory), FARO_INVALID);
  assert_non_null(strstr(directory.message, "must be a plain file, not a folder"));
  directory = (faro_error){0};
  assert_int_equal(faro_store_open(&store, folder, FARO_READ_ONLY, &directory), FARO_INVALID);
  assert_non_null(strstr(directory.message, "not a folder"));
  assert_no_lock(folder);
  snprintf(command, sizeof command, ": >'%s'", path); /* an empty file is accepted */
  assert_int_equal(system(command), 0);
  assert_int_equal(chmod(path, 0600), 0);
  assert_ok(faro_store_open(&store, path, FARO_READ_WRITE, error));
  faro_store_close(store);
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
}

static void test_store__a_file_that_is_refused_stays_as_it_is(void **state) {
  (void)state;
  static const struct {
    const char *sql, *words;
    bool log;
  } foreign[] = {
      {"CREATE TABLE notes(text); INSERT INTO notes VALUES('mine')", "is not a database of an analyzer",
       false},
      {"PRAGMA journal_mode = WAL; CREATE TABLE notes(text); INSERT INTO notes VALUES('mine')",
       "is not a database of an analyzer", true},
      {"CREATE TABLE later(x); PRAGMA application_id = 0x66614101; PRAGMA user_version = 99",
       "the state has version 99", false},
  };
  char folder[] = "/tmp/faro-foreign-XXXXXX";
  char command[160];
  assert_non_null(mkdtemp(folder));
  for (size_t i = 0; i < 3; i++) {
    char path[64];
    char *before[2] = {NULL};
    char *after[2] = {NULL};
    faro_store *store = NULL;
    faro_error why = {0};
    snprintf(path, sizeof path, "%s/db%zu", folder, i);
    make_foreign(path, foreign[i].sql, foreign[i].log);
    assert_int_equal(chmod(path, 0600), 0);
    const size_t length = read_bytes(path, "", &before[0]);
    const size_t log = read_bytes(path, "-wal", &before[1]);
    assert_int_equal(log > 0, foreign[i].log);
    assert_int_equal(faro_store_open(&store, path, FARO_READ_WRITE, &why), FARO_INVALID);
    assert_non_null(strstr(why.message, foreign[i].words));
    assert_int_equal(read_bytes(path, "", &after[0]), length);
    assert_memory_equal(before[0], after[0], length);
    assert_int_equal(read_bytes(path, "-wal", &after[1]), log);
    if (log > 0) assert_memory_equal(before[1], after[1], log);
    if (i == 0) assert_no_lock(path);
    for (size_t j = 0; j < 2; j++) {
      free(before[j]);
      free(after[j]);
    }
  }
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
}

static void test_store__has_one_writer(void **state) {
  (void)state;
  scene s;
  faro_store *second = NULL;
  faro_error why = {0};
  open_scene(&s, FARO_LEVEL_EVENT, 1);
  assert_int_equal(faro_store_open(&second, s.path, FARO_READ_WRITE, &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "another process has this state open"));
  assert_ok(faro_store_open(&second, s.path, FARO_READ_ONLY, error));
  faro_store_close(second);
  close_scene(&s);
}

/* One release with M0 rounds of a client: the bound rises with every round, is exact for m / M0 of
 * mu^2, and ends at the claim. */
static void test_ledger__a_clients_spending_rises_to_the_claim(void **state) {
  (void)state;
  enum { M0 = 4 };
  scene s;
  open_scene(&s, FARO_LEVEL_USER, M0);
  const faro_release *release = faro_learning_release(s.twin);
  double mu = 0;
  double slack = 0;
  double last = 0;
  assert_true(faro_release_gaussian(release, 1, &mu, &slack));
  for (uint64_t b = 0; b < 8; b++) {
    const faro_debit debit = faro_ledger_debit(&s.campaign, release, b);
    const double m = b + 1 < M0 ? (double)b + 1 : M0;
    assert_int_equal(debit.rounds, (uint64_t)m);
    assert_int_equal(debit.charged, b + 1);
    assert_int_equal(debit.version, b + 2);
    assert_true(debit.epsilon > last || (b >= M0 && debit.epsilon == last));
    assert_true(debit.epsilon <= s.campaign.claim.epsilon);
    if (m < M0) assert_close(faro_gaussian_delta(mu * sqrt(m / M0), debit.epsilon), 1e-6 - slack, 1e-9);
    last = debit.epsilon;
  }
  assert_true(last == s.campaign.claim.epsilon);
  close_scene(&s);
  open_scene(&s, FARO_LEVEL_EVENT,
             1); /* each report by itself: the first batch spends all, later ones nothing */
  for (uint64_t b = 0; b < 8; b++)
    assert_true(faro_ledger_debit(&s.campaign, faro_learning_release(s.twin), b).epsilon ==
                s.campaign.claim.epsilon);
  close_scene(&s);
}

/* A client cannot be in more batches than there are: the noise of 2 batches is the same for 2
 * rounds of a client and for 200, and so is every row. The last row is the claim. */
static void test_ledger__ends_at_the_claim_with_more_rounds_than_batches(void **state) {
  (void)state;
  static const char *const kinds[] = {"central-tree", "shuffle-bits"};
  static const uint64_t rounds[] = {1, 2, 20, 200};
  for (size_t k = 0; k < 2; k++) {
    double first = 0;
    for (size_t i = 0; i < 4; i++) {
      scene s;
      open_kind(&s, kinds[k], 2, FARO_LEVEL_USER, rounds[i]);
      const faro_release *release = faro_learning_release(s.twin);
      const double all = s.campaign.claim.epsilon;
      const double one = faro_ledger_debit(&s.campaign, release, 0).epsilon;
      assert_true(faro_ledger_debit(&s.campaign, release, 1).epsilon == all);
      if (rounds[i] == 1) assert_true(one == all);
      else assert_true(one > all / 2 && one < all);
      if (rounds[i] > 2) assert_close(one, first, 1e-12);
      first = one;
      close_scene(&s);
    }
  }
}

static void test_ledger__is_explained_and_other_json_refused(void **state) {
  (void)state;
  scene s;
  bool applied = false;
  json_t *json = NULL;
  faro_text out = FARO_TEXT_INIT;
  faro_error why = {0};
  uint64_t reports = 0;
  open_scene(&s, FARO_LEVEL_USER, 2);
  receive(&s, 0);
  assert_ok(faro_applier_step(s.applier, &applied, error));
  assert_ok(faro_ledger_json(s.store, &s.campaign, 0, &json, error));
  assert_ok(faro_ledger_explain_head(json, false, &out, error));
  assert_ok(faro_ledger_explain_rows(json, &reports, &out, error));
  faro_ledger_explain_end(json, &out);
  assert_non_null(strstr(out.data, "charged: 1 of the 10 releases"));
  assert_non_null(strstr(out.data, "at most 2, at most one in each batch"));
  assert_non_null(strstr(out.data, "1 of 10"));
  assert_int_equal(json_object_set_new(json, "campaign", json_string("a\033[2Jb\xC2\x9B")), 0);
  faro_text_clear(&out);
  out = (faro_text)FARO_TEXT_INIT;
  assert_ok(faro_ledger_explain_head(json, false, &out,
                                     error)); /* the answer cannot send control bytes to the terminal */
  assert_non_null(strstr(out.data, "campaign a?[2Jb??: "));
  json_decref(json);
  faro_text_clear(&out);
  json = json_pack("{s[i]}", "rows", 1);
  assert_int_equal(faro_ledger_explain_head(json, false, &out, &why), FARO_INVALID);
  assert_int_equal(faro_ledger_explain_rows(json, &reports, &out, &why), FARO_INVALID);
  json_decref(json);
  faro_text_clear(&out);
  close_scene(&s);
}

/* What a check says about a page; "" if it finds nothing wrong. */
static const char *check_page(const scene *s, const json_t *page, uint64_t policy, const char *since,
                              const faro_sign_key *signer) {
  static faro_error why;
  faro_ledger_check check;
  why = (faro_error){0};
  faro_status status = faro_ledger_check_begin(&check, &s->campaign, signer->public_key, page, &why);
  if (status == FARO_OK && since)
    status = faro_ledger_check_since(&check, since, strlen(since), signer->public_key, &why);
  if (status == FARO_OK) status = faro_ledger_check_rows(&check, page, &why);
  if (status == FARO_OK) status = faro_ledger_check_end(&check, policy, &why);
  faro_ledger_check_clear(&check);
  assert_int_equal(status == FARO_OK, why.message[0] == '\0');
  return why.message;
}

/* Three batches, and the ledger after each of the last two. */
static void open_ledger(scene *s, json_t **two, json_t **three) {
  open_scene(s, FARO_LEVEL_USER, 5);
  for (uint64_t b = 0; b < 3; b++) {
    bool applied = false;
    receive(s, b);
    assert_ok(faro_applier_step(s->applier, &applied, error));
    if (b == 1) assert_ok(faro_ledger_json(s->store, &s->campaign, 0, two, error));
  }
  assert_ok(faro_ledger_json(s->store, &s->campaign, 0, three, error));
}

static void test_ledger__every_change_is_found_at_its_row(void **state) {
  (void)state;
  static const char *const keys[] = {"batch",   "version", "users", "epsilon", "delta",
                                     "charged", "rounds",  "when",  "hash"};
  scene s;
  json_t *two = NULL, *three = NULL;
  open_ledger(&s, &two, &three);
  assert_string_equal(check_page(&s, three, 4, NULL, &s.keys.sign), "");
  for (size_t row = 0; row < 3; row++)
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
      json_t *forged = json_deep_copy(three);
      json_t *changed = json_array_get(json_object_get(forged, "rows"), row);
      json_t *value = json_object_get(changed, keys[i]);
      char number[16];
      if (json_is_integer(value)) json_integer_set(value, json_integer_value(value) + 1);
      else if (json_is_real(value)) json_real_set(value, json_real_value(value) * (1 + 1e-12));
      else json_object_set_new(changed, keys[i], json_string(i == 7 ? "2020-01-01T00:00:00Z" : "00"));
      snprintf(number, sizeof number, "row %zu", row);
      const char *why = check_page(&s, forged, 4, NULL, &s.keys.sign);
      assert_non_null(strstr(why, i == 8 ? "a row is not complete" : number));
      json_decref(forged);
    }
  json_decref(two);
  json_decref(three);
  close_scene(&s);
}

static void test_ledger__missing_rows_and_other_keys_are_found(void **state) {
  (void)state;
  scene s;
  json_t *two = NULL, *three = NULL;
  open_ledger(&s, &two, &three);
  const char *before = json_string_value(json_object_get(two, "head"));
  const char *now = json_string_value(json_object_get(three, "head"));
  assert_string_equal(check_page(&s, three, 4, before, &s.keys.sign), "");
  assert_non_null(strstr(check_page(&s, two, 3, now, &s.keys.sign), "rows were removed"));
  assert_non_null(strstr(check_page(&s, two, 4, NULL, &s.keys.sign), "the row of a release is missing"));
  assert_non_null(
      strstr(check_page(&s, three, 4, NULL, &s.shuffler), "the signature is not the pinned key's"));
  json_t *forged = json_deep_copy(two); /* rows of then under the head of now */
  json_object_set_new(forged, "head", json_string(now));
  assert_non_null(strstr(check_page(&s, forged, 3, NULL, &s.keys.sign), "row 2 is missing"));
  json_decref(forged);
  forged = json_deep_copy(three);
  json_array_remove(json_object_get(forged, "rows"), 0);
  assert_non_null(strstr(check_page(&s, forged, 4, NULL, &s.keys.sign), "row 0: batch"));
  json_object_del(forged, "head");
  assert_non_null(strstr(check_page(&s, forged, 4, NULL, &s.keys.sign), "no signed head"));
  json_decref(forged);
  json_decref(two);
  json_decref(three);
  close_scene(&s);
}

/* The analyzer itself writes another time into a row, and links the rows from there on anew. */
static json_t *write_again(const scene *s, const json_t *page, size_t from, faro_ledger_head *head) {
  json_t *forged = json_deep_copy(page);
  json_t *rows = json_object_get(forged, "rows");
  *head = (faro_ledger_head){.rows = json_array_size(rows)};
  memcpy(head->campaign, s->campaign.digest, FARO_DIGEST_BYTES);
  memcpy(head->hash, s->campaign.digest, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < head->rows; i++) {
    char digits[2 * FARO_DIGEST_BYTES + 1];
    json_t *row = json_array_get(rows, i);
    faro_debit debit;
    if (i == from) json_object_set_new(row, "when", json_string("2020-01-01T00:00:00Z"));
    assert_ok(faro_debit_read(row, &debit, error));
    debit.allowed = s->campaign.batches;
    faro_ledger_link(head->hash, &debit, head->hash);
    json_object_set_new(row, "hash", json_string(faro_hex_write(head->hash, FARO_DIGEST_BYTES, digits)));
  }
  return forged;
}

static void sign_head(json_t *page, const faro_ledger_head *head, const faro_sign_key *key) {
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_ledger_head_write(head, key, &text, &length, error));
  json_object_set_new(page, "head", json_stringn(text, length));
  free(text);
}

/* A chain that fits together is not enough: its end is signed, and so was its end of the last
 * check. */
static void test_ledger__another_chain_is_found(void **state) {
  (void)state;
  scene s;
  json_t *two = NULL, *three = NULL;
  faro_ledger_head head;
  open_ledger(&s, &two, &three);
  const char *before = json_string_value(json_object_get(two, "head"));
  for (size_t from = 0; from < 3; from++) {
    json_t *forged = write_again(&s, three, from, &head);
    assert_non_null(strstr(check_page(&s, forged, 4, NULL, &s.keys.sign), "the hash in the head differs"));
    sign_head(forged, &head, &s.keys.sign);
    assert_string_equal(check_page(&s, forged, 4, NULL, &s.keys.sign), "");
    const char *why = check_page(&s, forged, 4, before, &s.keys.sign);
    if (from < 2) assert_non_null(strstr(why, "the ledger was written again"));
    else assert_string_equal(why, ""); /* the last check has not seen row 2 */
    json_decref(forged);
  }
  json_t *foreign = write_again(&s, three, 3, &head); /* nothing is changed */
  sign_head(foreign, &head, &s.keys.sign);
  assert_string_equal(check_page(&s, foreign, 4, NULL, &s.keys.sign), "");
  head.campaign[0] ^= 1;
  sign_head(foreign, &head, &s.keys.sign);
  assert_non_null(strstr(check_page(&s, foreign, 4, NULL, &s.keys.sign), "another campaign's ledger"));
  json_decref(foreign);
  json_decref(two);
  json_decref(three);
  close_scene(&s);
}

static void test_ledger__impossible_numbers_are_not_explained(void **state) {
  (void)state;
  static const struct {
    const char *part, *key;
    double value;
  } forged[] = {{"batches", "charged", -5}, {"batches", "charged", 11},   {"batches", "allowed", 0},
                {"claim", "epsilon", -1},   {"spent", "epsilon", 1000},   {"spent", "delta", 0.5},
                {"claim", "delta", 2},      {"claim", "contributions", 0}};
  scene s;
  json_t *two = NULL, *three = NULL;
  open_ledger(&s, &two, &three);
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
    json_t *page = json_deep_copy(three);
    json_t *part = json_object_get(page, forged[i].part);
    const bool whole = json_is_integer(json_object_get(part, forged[i].key));
    faro_text out = FARO_TEXT_INIT;
    faro_error why = {0};
    json_object_set_new(part, forged[i].key,
                        whole ? json_integer((json_int_t)forged[i].value) : json_real(forged[i].value));
    assert_int_equal(faro_ledger_explain_head(page, false, &out, &why), FARO_INVALID);
    assert_non_null(strstr(why.message, "this is not a ledger of faro"));
    faro_text_clear(&out);
    json_decref(page);
  }
  json_decref(two);
  json_decref(three);
  close_scene(&s);
}

/* Marks per second. */
static double rate_of(const faro_rate *rate, double now) {
  double seconds = 0;
  const double marks = faro_rate_recent(rate, now, &seconds);
  return marks / seconds;
}

static void test_status__rates_are_of_the_last_minute(void **state) {
  (void)state;
  faro_rate rate = {.start = 100};
  assert_true(rate_of(&rate, 200) == 0);
  for (int i = 0; i < 30; i++) faro_rate_mark(&rate, 200 + i);
  assert_close(rate_of(&rate, 230), 0.5, 1e-9); /* 30 in 60 s */
  assert_close(rate_of(&rate, 280), 9.0 / 60, 1e-9);
  for (int i = 0; i < 1000; i++) faro_rate_mark(&rate, 300 + 0.01 * i); /* more than are kept */
  assert_close(rate_of(&rate, 310), 100, 1);
  faro_rate young = {.start = 100};
  for (int i = 0; i < 10; i++) faro_rate_mark(&young, 101 + i);
  assert_close(rate_of(&young, 120), 0.5, 1e-9); /* 10 in the 20 s that there are */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_applier__a_commit_that_fails_leaves_nothing_and_is_tried_again),
      cmocka_unit_test(test_applier__comes_back_when_going_back_failed),
      cmocka_unit_test(test_applier__refuses_a_database_that_has_gone_back),
      cmocka_unit_test(test_applier__goes_on_where_it_was),
      cmocka_unit_test(test_applier__without_memory_no_report_is_taken_for_spoiled),
      cmocka_unit_test(test_applier__batches_of_different_sizes_over_restarts),
      cmocka_unit_test(test_applier__a_spoiled_response_is_a_random_answer),
      cmocka_unit_test(test_store__a_log_that_was_left_is_emptied_at_the_start),
      cmocka_unit_test(test_store__a_file_that_is_refused_stays_as_it_is),
      cmocka_unit_test(test_store__what_is_no_database_is_left_alone),
      cmocka_unit_test(test_store__has_one_writer),
      cmocka_unit_test(test_ledger__a_clients_spending_rises_to_the_claim),
      cmocka_unit_test(test_ledger__ends_at_the_claim_with_more_rounds_than_batches),
      cmocka_unit_test(test_ledger__is_explained_and_other_json_refused),
      cmocka_unit_test(test_ledger__every_change_is_found_at_its_row),
      cmocka_unit_test(test_ledger__missing_rows_and_other_keys_are_found),
      cmocka_unit_test(test_ledger__another_chain_is_found),
      cmocka_unit_test(test_ledger__impossible_numbers_are_not_explained),
      cmocka_unit_test(test_status__rates_are_of_the_last_minute),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
