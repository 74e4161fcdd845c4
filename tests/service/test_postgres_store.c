/* The analyzer's store in PostgreSQL (analyzer/store.h): who holds it, and what the server's files
 * keep. Each test starts a server of its own from Debian's packages, so they are slow tests. */
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "service/analyzer/applier.h"
#include "service/state/batch_keys.h"
#include "service/state/spool.h"
#include "support/database_server.h"
#include "support/support.h"

/* For slow tests, in a build with libpq. */
#define server_test()                                                                                        \
  do {                                                                                                       \
    slow_test();                                                                                             \
    if (faro_spool_database_check("postgresql://", NULL) != FARO_OK) skip();                                 \
  } while (0)

static const char SCHEMA[] = "faro_analyzer", PLAIN[] = "plaintext of one client",
                  SUMS[] = "sums in a release";

typedef struct world {
  char folder[64], server[96], url[300];
  faro_campaign campaign; /* filled in as far as the store reads it */
} world;

static void begin(world *w, const char *release) {
  *w = (world){.folder = "/tmp/faro-postgres-XXXXXX"};
  assert_non_null(mkdtemp(w->folder));
  assert_int_equal(chmod(w->folder, 0755), 0);
  snprintf(w->server, sizeof w->server, "%s/server", w->folder);
  assert_int_equal(mkdir(w->server, 0755), 0);
  assert_int_equal(server_command("start", w->server), 0);
  /* a test may be silent for a while */
  snprintf(w->url, sizeof w->url,
           "postgresql:///postgres?host=%s&user=faro&options=-c%%20idle_session_timeout%%3D1h", w->server);
  w->campaign.release = faro_release_kind_find(release);
  w->campaign.shufflers = 1;
}

static void end(world *w) {
  char line[128];
  assert_int_equal(server_command("stop", w->server), 0);
  snprintf(line, sizeof line, "rm -rf %s", w->folder);
  assert_int_equal(system(line), 0);
}

static faro_store *open_store(const world *w) {
  faro_store *store = NULL;
  assert_ok(faro_store_open(&store, w->url, FARO_READ_WRITE, error));
  return store;
}

static void keep_keys(const world *w, faro_store *store, size_t analyzer) {
  char path[128];
  snprintf(path, sizeof path, "%s/keys-%zu", w->folder, analyzer);
  assert_ok(faro_store_keep_keys(store, path, &w->campaign, error));
}

static faro_status receive(faro_store *store, uint64_t number, faro_error *error) {
  static const unsigned char hash[FARO_DIGEST_BYTES] = {1};
  const faro_batch batch = {.number = number, .count = 1, .body = (const unsigned char *)PLAIN};
  return faro_store_receive(store, &batch, sizeof PLAIN, hash, error);
}

/* The state before the first batch. */
static void begin_state(faro_store *store) {
  unsigned char bytes[] = "state";
  const faro_blob some = {.bytes = bytes, .length = sizeof bytes};
  const faro_blob sums = {.bytes = (unsigned char *)SUMS, .length = sizeof SUMS};
  assert_ok(faro_store_begin(store, &(faro_store_state){.release = sums, .policy = some}, error));
}

static faro_status apply(faro_store *store, uint64_t number, faro_error *error) {
  unsigned char bytes[] = "state";
  const faro_blob some = {.bytes = bytes, .length = sizeof bytes};
  const faro_blob sums = {.bytes = (unsigned char *)SUMS, .length = sizeof SUMS};
  const faro_store_state state = {.batches = number + 1, .release = sums, .policy = some};
  const uint64_t taken = number + 1;
  const faro_store_step step = {.state = &state, .head = &some, .taken = &taken, .shufflers = 1};
  const faro_debit debit = {.batch = number,
                            .version = number + 2,
                            .users = 1,
                            .epsilon = 0.1,
                            .delta = 1e-17,
                            .charged = number + 1,
                            .allowed = 9,
                            .when = "now",
                            .hash = {(unsigned char)(number + 1)}};
  faro_status status = faro_store_debit(store, &debit, error);
  if (status == FARO_OK) status = faro_store_commit(store, &step, error);
  if (status != FARO_OK) faro_store_rollback(store);
  return status;
}

static size_t debits(const world *w) {
  faro_store *store = NULL;
  faro_debit rows[9];
  size_t count = 9;
  assert_ok(faro_store_open(&store, w->url, FARO_READ_ONLY, error));
  assert_ok(faro_store_debits(store, 0, rows, &count, error));
  faro_store_close(store);
  return count;
}

/* One analyzer writes. What the other one reads is all that was committed, to the last bit. */
static void test_postgres_store__one_writes_and_others_read(void **state) {
  (void)state;
  server_test();
  world w;
  faro_store *other = NULL;
  faro_debit row;
  faro_life life = FARO_LIFE_OPEN;
  size_t one = 1;
  uint64_t waits = 0;
  begin(&w, "shuffle-bits");
  assert_int_equal(faro_store_open(&other, w.url, FARO_READ_ONLY, NULL), FARO_INVALID);
  faro_store *store = open_store(&w);
  assert_int_equal(faro_store_open(&other, w.url, FARO_READ_WRITE, NULL), FARO_OLD);
  begin_state(store);
  assert_ok(faro_store_live(store, FARO_LIFE_PAUSED, error));
  assert_ok(receive(store, 0, error));
  assert_ok(apply(store, 0, error));
  assert_ok(receive(store, 1, error));
  assert_int_equal(apply(store, 0, NULL), FARO_SYSTEM); /* a batch is debited once */
  assert_ok(faro_store_open(&other, w.url, FARO_READ_ONLY, error));
  assert_ok(faro_store_debits(other, 0, &row, &one, error));
  assert_int_equal(one, 1);
  assert_true(row.epsilon == 0.1 && row.delta == 1e-17 && row.charged == 1);
  assert_string_equal(row.when, "now");
  assert_ok(faro_store_life(other, &life, error));
  assert_int_equal(life, FARO_LIFE_PAUSED);
  assert_ok(faro_store_waits(other, &waits, error));
  assert_int_equal(waits, 1);
  server_query(w.server, SCHEMA, "UPDATE meta SET beat = 7");
  assert_ok(faro_store_confirm(store, error)); /* it writes: a commit without that waits for nobody */
  server_query(w.server, SCHEMA, "DO \\$\\$ BEGIN ASSERT (SELECT beat > 7 FROM meta); END \\$\\$");
  assert_int_equal(receive(other, 2, NULL), FARO_INVALID);
  faro_store_close(other);
  faro_store_close(store);
  end(&w);
}

/* An analyzer whose session was ended while it slept, and whose place another one has taken,
 * changes nothing when it wakes up: not in a transaction that it had begun, nor in any other. */
static void test_postgres_store__one_that_was_replaced_changes_nothing(void **state) {
  (void)state;
  server_test();
  world w;
  faro_store *second = NULL;
  const faro_debit debit = {.charged = 1, .allowed = 9, .when = "then"};
  const faro_blob head = {.bytes = (unsigned char *)"head", .length = 4};
  begin(&w, "shuffle-bits");
  faro_store *first = open_store(&w);
  begin_state(first);
  assert_ok(receive(first, 0, error));
  assert_ok(faro_store_debit(first, &debit, error)); /* in the middle of a batch */
  server_query(w.server, SCHEMA,
               "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
  const double until = faro_clock() + 120; /* the session ends in a moment */
  while (faro_store_open(&second, w.url, FARO_READ_WRITE, NULL) != FARO_OK && faro_clock() < until)
    faro_sleep(0.05);
  assert_non_null(second);
  assert_ok(apply(second, 0, error));
  const faro_store_state nothing = {.release = head, .policy = head};
  const faro_store_step step = {.state = &nothing, .head = &head};
  assert_int_not_equal(faro_store_commit(first, &step, NULL), FARO_OK);
  faro_store_rollback(first);
  assert_int_equal(apply(first, 1, NULL), FARO_OLD);
  assert_true(faro_store_replaced(first));
  assert_int_equal(receive(first, 1, NULL), FARO_OLD);
  assert_int_equal(faro_store_set_head(first, &head, NULL), FARO_OLD);
  assert_int_equal(faro_store_confirm(first, NULL), FARO_OLD);
  assert_int_equal(faro_store_present(first, NULL), FARO_OLD);
  assert_int_equal(debits(&w), 1);
  assert_ok(receive(second, 1, error));
  assert_ok(apply(second, 1, error));
  assert_int_equal(debits(&w), 2);
  faro_store_close(first);
  faro_store_close(second);
  end(&w);
}

/* The token decides, also if a session lives on. */
static void test_postgres_store__each_transaction_compares_the_token(void **state) {
  (void)state;
  server_test();
  world w;
  begin(&w, "shuffle-bits");
  faro_store *store = open_store(&w);
  assert_ok(receive(store, 0, error));
  server_query(w.server, SCHEMA, "UPDATE meta SET token = token + 1");
  assert_int_equal(apply(store, 0, NULL), FARO_OLD);
  assert_int_equal(debits(&w), 0);
  assert_true(faro_store_replaced(store));
  faro_store_close(store);
  store = open_store(&w); /* started again, it draws a token of its own */
  server_query(w.server, SCHEMA, "UPDATE meta SET token = token + 1");
  assert_int_equal(faro_store_ready(store, NULL), FARO_OLD);
  faro_store_close(store);
  end(&w);
}

/* A token is random: a replica that has not heard of the last one does not draw it again. */
static void test_postgres_store__tokens_do_not_follow_each_other(void **state) {
  (void)state;
  server_test();
  world w;
  begin(&w, "shuffle-bits");
  faro_store *store = open_store(&w);
  server_query(w.server, SCHEMA, "CREATE TABLE was AS SELECT token FROM meta");
  faro_store_close(store);
  server_query(w.server, SCHEMA, "UPDATE meta SET token = 0"); /* the replica */
  const double until = faro_clock() + 120;                     /* the session ends in a moment */
  for (store = NULL; !store && faro_clock() < until; faro_sleep(0.05))
    if (faro_store_open(&store, w.url, FARO_READ_WRITE, NULL) != FARO_OK) store = NULL;
  assert_non_null(store);
  server_query(w.server, SCHEMA,
               "DO \\$\\$ BEGIN ASSERT (SELECT bool_and(m.token > 1000 AND m.token <> was.token)"
               " FROM meta m, was); END \\$\\$");
  faro_store_close(store);
  end(&w);
}

/* The server ends a transaction in which nothing happens for a minute, or for as long as the URL
 * says. */
static void test_postgres_store__the_url_says_how_long_a_transaction_may_rest(void **state) {
  (void)state;
  server_test();
  world w;
  const faro_debit debit = {.charged = 1, .allowed = 9, .when = "then"};
  begin(&w, "shuffle-bits");
  strcat(w.url, "%20-c%20idle_in_transaction_session_timeout%3D5s");
  faro_store *store = open_store(&w);
  begin_state(store);
  assert_ok(receive(store, 0, error));
  assert_ok(faro_store_debit(store, &debit, error));
  faro_sleep(12);
  const faro_blob some = {.bytes = (unsigned char *)"some", .length = 4};
  const faro_store_state nothing = {.release = some, .policy = some};
  const faro_store_step step = {.state = &nothing, .head = &some};
  assert_int_not_equal(faro_store_commit(store, &step, NULL), FARO_OK);
  faro_store_rollback(store);
  assert_ok(apply(store, 0, error)); /* in a new session */
  assert_int_equal(debits(&w), 1);
  faro_store_close(store);
  end(&w);
}

/* A server that was killed: the store connects again by itself, and goes on. */
static void test_postgres_store__connects_again(void **state) {
  (void)state;
  server_test();
  world w;
  begin(&w, "shuffle-bits");
  faro_store *store = open_store(&w);
  begin_state(store);
  assert_ok(receive(store, 0, error));
  assert_int_equal(server_command("kill", w.server), 0);
  assert_int_not_equal(apply(store, 0, NULL), FARO_OK);
  assert_int_not_equal(faro_store_ready(store, NULL), FARO_OK);
  assert_int_equal(faro_store_present(store, NULL), FARO_SYSTEM);
  assert_int_equal(server_command("start", w.server), 0);
  const double until = faro_clock() + 120;
  while (faro_store_ready(store, NULL) != FARO_OK && faro_clock() < until) faro_sleep(0.05);
  assert_ok(faro_store_present(store, error));
  assert_ok(apply(store, 0, error));
  assert_int_equal(debits(&w), 1);
  faro_store_close(store);
  end(&w);
}

/* Ends the session that holds the database, and connects again: what comes of that. */
static faro_status connect_anew(const world *w, faro_store *store, faro_error *error) {
  server_query(w->server, SCHEMA,
               "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
  server_query(w->server, SCHEMA,
               "DO \\$\\$ BEGIN WHILE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory')"
               " LOOP PERFORM pg_sleep(0.01); END LOOP; END \\$\\$");
  const double until = faro_clock() + 120;
  faro_status status = FARO_SYSTEM;
  while (status == FARO_SYSTEM && faro_clock() < until) { /* the session may be just ending */
    *error = (faro_error){0};
    status = faro_store_ready(store, error);
  }
  return status;
}

static void assert_refused(const world *w, faro_store *store) {
  faro_error why = {0};
  server_query(w->server, SCHEMA, "UPDATE meta SET beat = 7");
  assert_int_equal(connect_anew(w, store, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "the database is an old copy, or a replica that was behind"));
  for (int i = 0; i < 50; i++) /* each in a session of its own, which finds the lock free */
    assert_int_equal(receive(store, 1, NULL), FARO_INVALID);
  assert_int_equal(apply(store, 1, NULL), FARO_INVALID);
  assert_int_equal(faro_store_live(store, FARO_LIFE_PAUSED, NULL), FARO_INVALID);
  assert_int_equal(faro_store_confirm(store, NULL), FARO_INVALID);
  assert_int_equal(faro_store_present(store, NULL), FARO_INVALID);
  server_query(w->server, SCHEMA, "DO \\$\\$ BEGIN ASSERT (SELECT beat = 7 FROM meta); END \\$\\$");
}

/* A replica that was behind, under the token of now, and one with another history of the same
 * length: an analyzer that finds itself there after a lost connection writes nothing, and goes on
 * when the newest one is back. */
static void test_postgres_store__what_lacks_batches_is_refused_after_a_lost_connection(void **state) {
  (void)state;
  server_test();
  world w;
  const unsigned char hash[FARO_DIGEST_BYTES] = {1};
  faro_error why = {0};
  begin(&w, "shuffle-bits");
  faro_store *store = open_store(&w);
  begin_state(store);
  assert_ok(receive(store, 0, error));
  assert_ok(apply(store, 0, error));
  faro_store_expect(store, 1, hash);
  assert_int_equal(connect_anew(&w, store, &why), FARO_OK);
  server_query(w.server, SCHEMA,
               "CREATE TABLE kept AS SELECT * FROM ledger; DELETE FROM ledger; UPDATE state SET batches = 0");
  assert_refused(&w, store);
  server_query(w.server, SCHEMA,
               "INSERT INTO ledger SELECT * FROM kept; UPDATE ledger SET hash = '\\x02'; UPDATE state SET "
               "batches = 1");
  assert_refused(&w, store);
  server_query(w.server, SCHEMA, "DELETE FROM ledger; INSERT INTO ledger SELECT * FROM kept");
  assert_int_equal(connect_anew(&w, store, &why), FARO_OK);
  assert_ok(faro_store_present(store, error));
  assert_ok(receive(store, 1, error));
  assert_ok(apply(store, 1, error));
  assert_int_equal(debits(&w), 2);
  faro_store_close(store);
  end(&w);
}

/* Also within one session, as through a pooler that changes the server: a batch is applied to the
 * state before it, and received after the one before it. */
static void test_postgres_store__a_batch_follows_the_one_before_it(void **state) {
  (void)state;
  server_test();
  world w;
  faro_error why = {0};
  begin(&w, "shuffle-bits");
  faro_store *store = open_store(&w);
  begin_state(store);
  assert_ok(receive(store, 0, error));
  assert_ok(apply(store, 0, error));
  assert_int_equal(receive(store, 2, NULL), FARO_SYSTEM);
  assert_ok(receive(store, 1, error));
  server_query(w.server, SCHEMA, "UPDATE state SET batches = 0");
  assert_int_equal(apply(store, 1, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "the database does not hold the state after 1 batches any more"));
  assert_int_equal(debits(&w), 1);
  server_query(w.server, SCHEMA, "UPDATE state SET batches = 1");
  assert_ok(apply(store, 1, error));
  assert_int_equal(debits(&w), 2);
  faro_store_close(store);
  end(&w);
}

enum { MANY = 200000 }; /* boxes that take longer to open than the server waits */

/* A campaign whose batches are large, and of sealed reports. */
static void draft_large(faro_campaign *c, faro_applier_keys *keys) {
  char *text = NULL;
  size_t length = 0;
  faro_sign_key shuffler;
  assert_ok(faro_sign_key_make(&keys->sign, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_seal_key_make(&keys->seal, error));
  assert_ok(faro_seal_key_make(&keys->before, error));
  keys->has_before = true; /* each box is tried twice */
  *c = (faro_campaign){.id = "large",
                       .learner = "linucb",
                       .release = faro_release_kind_find("shuffle-gaussian"),
                       .params = {.epsilon = 2,
                                  .delta = 1e-6,
                                  .horizon = 2 * MANY,
                                  .batch = MANY,
                                  .growth = 1,
                                  .level = FARO_LEVEL_EVENT,
                                  .contributions = 1,
                                  .calibration = FARO_CALIBRATION_TIGHT},
                       .centre = 0.5,
                       .arms = 3,
                       .failure = 0.1,
                       .analyzer = "http://127.0.0.1:1",
                       .shufflers = 1,
                       .shuffler = {{.url = "http://127.0.0.1:2"}}};
  memcpy(c->seal, keys->seal.public_key, sizeof c->seal);
  memcpy(c->shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_contribution_init(&c->contribution, 1, 1, -0.5, 0.5, error));
  assert_ok(faro_campaign_write(c, &keys->sign, &text, &length, error));
  free(text);
}

/* While the boxes of a large batch are opened, nothing else is asked of the server, which ends
 * silent sessions: the batch is applied all the same, and without a second attempt. */
static void test_postgres_store__a_large_batch_is_applied_in_a_session_that_must_not_be_silent(void **state) {
  (void)state;
  server_test();
  static faro_campaign campaign;
  world w;
  faro_applier_keys keys;
  faro_applier *applier = NULL;
  faro_receipt receipt = FARO_RECEIPT_BAD;
  bool applied = false;
  begin(&w, "shuffle-gaussian");
  strcpy(strstr(w.url, "&options="), "&options=-c%20idle_session_timeout%3D4s");
  draft_large(&campaign, &keys);
  faro_store *store = open_store(&w);
  assert_ok(faro_applier_create(&applier, store, &campaign, &keys, error));
  const size_t length = MANY * (faro_wire_report_size(&campaign) - FARO_REPORT_HEAD);
  unsigned char *bodies = malloc(length);
  assert_non_null(bodies);
  randombytes_buf(bodies, length); /* none opens: all are spoiled, at the same cost */
  const faro_batch batch = {.count = MANY, .body = bodies};
  assert_ok(faro_applier_take(applier, &batch, &receipt, error));
  server_query(w.server, "", "CREATE TABLE held AS SELECT pid FROM pg_locks WHERE locktype = 'advisory'");
  const double start = faro_clock();
  assert_ok(faro_applier_step(applier, &applied, error));
  assert_true(applied && faro_clock() - start > 4); /* else this shows nothing */
  server_query(w.server, "",                        /* by the same session */
               "DO \\$\\$ BEGIN ASSERT EXISTS (SELECT FROM held NATURAL JOIN pg_locks"
               " WHERE locktype = 'advisory'); END \\$\\$");
  assert_int_equal(faro_applier_snapshot(applier).spoiled, MANY);
  free(bodies);
  faro_applier_destroy(applier);
  faro_store_close(store);
  end(&w);
}

/* A session that the server has ended is noticed without a statement that fails. */
static void test_postgres_store__a_session_that_was_ended_costs_no_failure(void **state) {
  (void)state;
  server_test();
  world w;
  faro_store *other = NULL;
  begin(&w, "shuffle-bits");
  faro_store *store = open_store(&w);
  begin_state(store);
  assert_ok(faro_store_open(&other, w.url, FARO_READ_ONLY, error));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(server_command("kill", w.server), 0);
    assert_int_equal(server_command("start", w.server), 0);
    if (i == 0) assert_ok(receive(store, 0, error));
    else assert_ok(faro_store_ready(store, error));
    assert_ok(faro_store_ready(other, error));
  }
  faro_store_close(other);
  faro_store_close(store);
  end(&w);
}

/* What was sealed to the keys of two analyzers can be opened by each. A key of an applied batch is
 * gone, and a database that has fewer batches than the file of keys is an old copy. */
static void test_postgres_store__bodies_wait_for_the_keepers_of_their_batch(void **state) {
  (void)state;
  server_test();
  world w;
  faro_store *other = NULL;
  faro_blob body = {0};
  faro_error why = {0};
  bool unheld = true;
  char path[128];
  begin(&w, "shuffle-gaussian");
  faro_store *store = open_store(&w);
  keep_keys(&w, store, 0);
  begin_state(store);
  assert_ok(faro_store_open(&other, w.url, FARO_READ_ONLY, error));
  keep_keys(&w, other, 1);
  assert_ok(receive(store, 0, error));
  assert_ok(faro_store_follow(other, &unheld, error));
  assert_false(unheld);
  faro_store *const all[] = {store, other};
  for (size_t i = 0; i < 2; i++) {
    assert_ok(faro_store_waiting(all[i], 0, 0, &body, error));
    assert_int_equal(body.length, sizeof PLAIN);
    assert_memory_equal(body.bytes, PLAIN, sizeof PLAIN);
    free(body.bytes);
  }
  faro_store_close(store);
  const double until = faro_clock() + 120; /* the server notices the end of the session in a moment */
  while (!unheld && faro_clock() < until) assert_ok(faro_store_follow(other, &unheld, error));
  assert_true(unheld);
  server_query(
      w.server, SCHEMA, /* heads say who can open what waits */
      "CREATE TABLE kept AS SELECT * FROM inbox; UPDATE inbox SET body = substring(body for 4 + 2 * 96)");
  assert_ok(faro_store_follow(other, &unheld, error));
  assert_true(unheld);
  server_query(w.server, SCHEMA, "UPDATE inbox SET body = (SELECT body FROM kept)");
  faro_store_drop_keys(other); /* one that has lost its keys must not take over what it cannot open */
  keep_keys(&w, other, 2);
  assert_int_equal(faro_store_follow(other, &unheld, &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "batch 0 came before this analyzer had published its key"));
  store = open_store(&w);
  keep_keys(&w, store, 0);
  assert_ok(apply(store, 0, error));
  assert_ok(faro_store_purge(store, error));
  faro_store_close(store);
  server_query(w.server, SCHEMA, "UPDATE state SET batches = 0");
  store = open_store(&w);
  why = (faro_error){0};
  snprintf(path, sizeof path, "%s/keys-0", w.folder);
  assert_int_equal(faro_store_keep_keys(store, path, &w.campaign, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "this is an old copy of the database"));
  faro_store_close(store);
  faro_store_close(other);
  end(&w);
}

/* The secret key of batch 0 in a file of keys. */
static void read_key(const world *w, unsigned char key[static FARO_PAIR_BYTES]) {
  char path[128];
  sqlite3 *handle = NULL;
  sqlite3_stmt *statement = NULL;
  snprintf(path, sizeof path, "%s/keys-0", w->folder);
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(handle, "SELECT secret FROM keys WHERE batch = 0", -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  assert_int_equal(sqlite3_column_bytes(statement, 0), FARO_PAIR_BYTES);
  memcpy(key, sqlite3_column_blob(statement, 0), FARO_PAIR_BYTES);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
}

static size_t traces(const world *w, const char *text) {
  return server_traces(w->folder, text, strlen(text));
}

/* Neither a body nor the key of its batch is anywhere when the batch was applied, the server's log
 * included; and in the central model, no state of the release. The same bytes are found if the same
 * store keeps them without a key: so the search can find them. */
static void leaves_nothing(const char *release, bool central) {
  world w;
  unsigned char key[FARO_PAIR_BYTES];
  faro_store_state loaded = {0};
  begin(&w, release);
  faro_store *store = open_store(&w);
  keep_keys(&w, store, 0);
  begin_state(store);
  read_key(&w, key);
  assert_ok(receive(store, 0, error));
  server_query(w.server, "", "CHECKPOINT");
  assert_int_equal(traces(&w, PLAIN), 0);
  assert_true(server_traces(w.folder, key, sizeof key) > 0);
  for (uint64_t i = 0; i < 2; i++) {
    if (i > 0) assert_ok(receive(store, i, error));
    assert_ok(apply(store, i, error));
    assert_ok(faro_store_state_load(store, &loaded, error));
    assert_string_equal((const char *)loaded.release.bytes, SUMS);
    faro_store_state_clear(&loaded);
    assert_ok(faro_store_purge(store, error));
  }
  assert_false(faro_store_needs_purge(store));
  server_query(w.server, "", "CHECKPOINT");
  assert_int_equal(traces(&w, PLAIN), 0);
  assert_int_equal(server_traces(w.folder, key, sizeof key), 0);
  assert_int_equal(traces(&w, SUMS) == 0, central);
  faro_store_drop_keys(store);
  assert_ok(receive(store, 2, error));
  assert_ok(apply(store, 2, error));
  server_query(w.server, "", "VACUUM FULL");
  server_query(w.server, "", "CHECKPOINT");
  assert_true(traces(&w, PLAIN) > 0 && traces(&w, SUMS) > 0);
  faro_store_close(store);
  end(&w);
}

static void test_postgres_store__nothing_readable_of_an_applied_batch_remains(void **state) {
  (void)state;
  server_test();
  leaves_nothing("local-gaussian", false);
  leaves_nothing("central-tree", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_postgres_store__one_writes_and_others_read),
      cmocka_unit_test(test_postgres_store__one_that_was_replaced_changes_nothing),
      cmocka_unit_test(test_postgres_store__each_transaction_compares_the_token),
      cmocka_unit_test(test_postgres_store__tokens_do_not_follow_each_other),
      cmocka_unit_test(test_postgres_store__the_url_says_how_long_a_transaction_may_rest),
      cmocka_unit_test(test_postgres_store__connects_again),
      cmocka_unit_test(test_postgres_store__what_lacks_batches_is_refused_after_a_lost_connection),
      cmocka_unit_test(test_postgres_store__a_batch_follows_the_one_before_it),
      cmocka_unit_test(test_postgres_store__a_large_batch_is_applied_in_a_session_that_must_not_be_silent),
      cmocka_unit_test(test_postgres_store__a_session_that_was_ended_costs_no_failure),
      cmocka_unit_test(test_postgres_store__bodies_wait_for_the_keepers_of_their_batch),
      cmocka_unit_test(test_postgres_store__nothing_readable_of_an_applied_batch_remains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
