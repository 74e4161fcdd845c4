/* A spool in PostgreSQL (state/spool_postgres.h): several front-ends fill one batch, whatever is
 * killed, and the server's files keep nothing that could be read. Each test starts a server of its
 * own from Debian's packages (support/postgres), so they are slow tests. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/analyzer/store.h"
#include "service/state/sealed.h"
#include "service/state/spool.h"
#include "support/database_server.h"
#include "support/support.h"
#include "trial/relay.h"
#ifdef FARO_LIBPQ
#include "service/state/postgres.h"
#endif

enum { FRONTS = 3, BODY_MAX = 512 };

/* For slow tests, in a build with libpq. */
#define server_test()                                                                                        \
  do {                                                                                                       \
    slow_test();                                                                                             \
    if (faro_spool_database_check("postgresql://", NULL) != FARO_OK) skip();                                 \
  } while (0)

typedef struct world {
  char folder[64], server[96], url[400], hashes[96];
  faro_campaign campaign;
  unsigned char *tokens;
} world;

/* A campaign filled in directly, as in test_spool.c, and a server. */
static void begin(world *w, const char *release, size_t clients, uint64_t batch, uint64_t batches) {
  *w = (world){0};
  char path[96];
  size_t count = 0;
  strcpy(w->folder, "/tmp/faro-postgres-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  assert_int_equal(chmod(w->folder, 0755), 0);
  snprintf(w->server, sizeof w->server, "%s/server", w->folder);
  assert_int_equal(mkdir(w->server, 0755), 0);
  assert_int_equal(server_command("start", w->server), 0);
  snprintf(w->url, sizeof w->url, "postgresql:///postgres?host=%s,%s/replica&user=faro", w->server,
           w->server);
  snprintf(w->hashes, sizeof w->hashes, "%s/hashes", w->folder);
  snprintf(path, sizeof path, "%s/tokens", w->folder);
  assert_ok(faro_tokens_make(path, w->hashes, clients, error));
  assert_ok(faro_tokens_load(path, &w->tokens, &count, error));
  faro_campaign *c = &w->campaign;
  c->release = faro_release_kind_find(release);
  assert_ok(faro_contribution_init(&c->contribution, 1, 1, 0, 1, error));
  c->params.batch = batch;
  c->batches = batches;
  c->shufflers = 1;
  c->entries = c->contribution.length;
  c->encodings = 1;
  c->encoding[0].size = batch;
  c->encoding[0].most = UINT32_MAX;
}

static void end(world *w) {
  char line[128];
  assert_int_equal(server_command("stop", w->server), 0);
  free(w->tokens);
  snprintf(line, sizeof line, "rm -rf %s", w->folder);
  assert_int_equal(system(line), 0);
}

static faro_status open_front(const world *w, size_t front, faro_spool **spool, faro_error *error) {
  char path[128];
  snprintf(path, sizeof path, "%s/keys-%zu", w->folder, front);
  const faro_spool_params params = {
      .path = path, .tokens = w->hashes, .campaign = &w->campaign, .database = w->url};
  return faro_spool_open(spool, &params, error);
}

/* A report whose body says whose it is. Sealed bodies begin with the mark. */
static void fill(const world *w, size_t client, uint64_t version, uint64_t sequence,
                 unsigned char body[static BODY_MAX], faro_spool_entry *entry) {
  memset(body, 0, BODY_MAX);
  faro_store64(body, (uint64_t)client << 32 | sequence);
  memcpy(body + 8, "plaintext of one client", 23);
  *entry = (faro_spool_entry){.version = version, .sequence = sequence, .body = body};
  faro_token_hash(w->tokens + client * FARO_TOKEN_BYTES, entry->hash);
}

static faro_verdict send_one(const world *w, faro_spool *spool, size_t client, uint64_t version,
                             uint64_t sequence) {
  unsigned char body[BODY_MAX];
  faro_spool_entry entry;
  fill(w, client, version, sequence, body, &entry);
  assert_ok(faro_spool_begin(spool, error));
  assert_ok(faro_spool_accept(spool, &entry, error));
  assert_ok(faro_spool_commit(spool, error));
  return entry.verdict;
}

static size_t body_size(const world *w) { return faro_wire_report_size(&w->campaign) - FARO_REPORT_HEAD; }

/* Every front-end may accept; what one has accepted counts for all; a batch has its size; one hands
 * over, and if it is gone, the next one. */
static void test_postgres__front_ends_fill_one_batch(void **state) {
  (void)state;
  server_test();
  world w;
  faro_spool *front[FRONTS] = {0};
  begin(&w, "shuffle-gaussian", 10, 6, 3);
  for (size_t i = 0; i < FRONTS; i++) assert_ok(open_front(&w, i, &front[i], error));
  for (size_t i = 0; i < 5; i++)
    assert_int_equal(send_one(&w, front[i % FRONTS], i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(send_one(&w, front[1], 0, 1, 1), FARO_VERDICT_KNOWN);
  assert_int_equal(send_one(&w, front[2], 0, 1, 2), FARO_VERDICT_TWICE);
  assert_int_equal(send_one(&w, front[2], 9, 3, 1), FARO_VERDICT_STALE);
  assert_int_equal(faro_spool_snapshot(front[2]).held, 5);
  assert_int_equal(send_one(&w, front[0], 5, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_snapshot(front[0]).number, 1);
  assert_int_equal(send_one(&w, front[1], 0, 1, 1), FARO_VERDICT_KNOWN);
  assert_int_equal(send_one(&w, front[1], 0, 2, 2), FARO_VERDICT_ACCEPTED);
  assert_int_equal(send_one(&w, front[2], 0, 2, 1), FARO_VERDICT_REPLAY);
  faro_batch batch, other;
  assert_ok(faro_spool_next(front[1], &batch, error));
  assert_int_equal(batch.count, 6);
  uint64_t seen = 0;
  for (size_t i = 0; i < 6; i++) seen |= 1u << (faro_load64(batch.body + i * body_size(&w)) >> 32);
  assert_int_equal(seen, 63);
  assert_ok(faro_spool_next(front[0], &other, error));
  assert_int_equal(other.count, 0); /* front-end 1 hands over */
  for (size_t i = 0; i < 2; i++) {  /* and all of them say where it is */
    const faro_spool_state said = faro_spool_snapshot(front[i]);
    assert_true(said.number == 1 && said.first == 0 && said.waiting == i);
  }
  faro_spool_close(front[1]);
  const double until = faro_clock() + 60; /* the server notices the end of a connection in a moment */
  while (other.count == 0 && faro_clock() < until) assert_ok(faro_spool_next(front[0], &other, error));
  assert_int_equal(other.count, 6);
  assert_memory_equal(other.body, batch.body, 6 * body_size(&w)); /* the same, in the same order */
  faro_spool_wipe(front[0], &batch);
  faro_spool_wipe(front[0], &other);
  assert_ok(faro_spool_forget(front[0], 0, error));
  assert_int_equal(faro_spool_snapshot(front[0]).waiting, 0);
  assert_ok(open_front(&w, 1, &front[1], error));
  assert_int_equal(faro_spool_snapshot(front[1]).held, 1);
  assert_int_equal(faro_spool_snapshot(front[1]).first, 1);
  for (size_t i = 0; i < FRONTS; i++) faro_spool_close(front[i]);
  end(&w);
}

/* A number that the only spool in the server answers. */
static uint64_t ask(const world *w, const char *sql) {
  char line[700], answer[32] = "";
  snprintf(line, sizeof line,
           "s=$(psql -qAt -h %s -U faro postgres -c \"SELECT nspname FROM pg_namespace WHERE nspname LIKE "
           "'faro%%'\") && PGOPTIONS=\"-c search_path=$s\" psql -qAt -h %s -U faro postgres -c \"%s\"",
           w->server, w->server, sql);
  FILE *pipe = popen(line, "r");
  assert_non_null(pipe);
  assert_non_null(fgets(answer, sizeof answer, pipe));
  assert_int_equal(pclose(pipe), 0);
  return strtoull(answer, NULL, 10);
}

/* A commit that writes nothing does not wait for replicas. So "accepted before" writes: it may be
 * the answer to a report that the server kept before it was killed, and no replica has. */
static void test_postgres__accepted_before_waits_for_replicas_too(void **state) {
  (void)state;
  server_test();
  static const char last[] = "SELECT xmin FROM meta";
  world w;
  faro_spool *spool = NULL;
  begin(&w, "shuffle-gaussian", 3, 3, 2);
  assert_ok(open_front(&w, 0, &spool, error));
  assert_int_equal(send_one(&w, spool, 0, 1, 1), FARO_VERDICT_ACCEPTED);
  const uint64_t before = ask(&w, last);
  assert_int_equal(send_one(&w, spool, 0, 1, 2), FARO_VERDICT_TWICE);
  assert_int_equal(ask(&w, last), before);
  assert_int_equal(send_one(&w, spool, 0, 1, 1), FARO_VERDICT_KNOWN);
  assert_true(ask(&w, last) > before);
  faro_spool_close(spool);
  end(&w);
}

/* Makes up keys of other front-ends, lower than any, until a batch has `count` of them. */
static void crowd(const world *w, size_t count) {
  char sql[300];
  snprintf(sql, sizeof sql,
           "INSERT INTO keepers SELECT 0, decode(lpad(to_hex(i), 64, '0'), 'hex') FROM generate_series(1, "
           "%zu - (SELECT count(*) FROM keepers WHERE batch = 0)) AS i RETURNING 1",
           count);
  assert_int_equal(ask(w, sql), 1);
}

/* The 65th front-end does not start, and the others go on; what one seals, it can open. */
static void test_postgres__there_are_at_most_64_front_ends(void **state) {
  (void)state;
  server_test();
  world w;
  faro_spool *front[2] = {0};
  faro_batch batch;
  faro_error why = {0};
  begin(&w, "shuffle-gaussian", 2, 2, 2);
  assert_ok(open_front(&w, 0, &front[0], error));
  crowd(&w, FARO_KEEPERS_MAX);
  assert_int_equal(open_front(&w, 1, &front[1], &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "more than 64 front-ends have keys of batch 0"));
  faro_spool_close(front[0]);
  assert_ok(open_front(&w, 0, &front[0], error));
  for (size_t i = 0; i < 2; i++) assert_int_equal(send_one(&w, front[0], i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_next(front[0], &batch, error));
  assert_int_equal(batch.count, 2);
  faro_spool_wipe(front[0], &batch);
  faro_spool_close(front[0]);
  end(&w);
}

/* A key that the server has lost is published again after a new connection. */
static void test_postgres__keys_are_published_again_after_a_new_connection(void **state) {
  (void)state;
  server_test();
  world w;
  faro_spool *spool = NULL;
  begin(&w, "shuffle-gaussian", 2, 2, 2);
  assert_ok(open_front(&w, 0, &spool, error));
  assert_int_equal(ask(&w, "DELETE FROM keepers RETURNING 1"), 1);
  assert_int_equal(server_command("kill", w.server), 0);
  assert_int_equal(server_command("start", w.server), 0);
  const double until = faro_clock() + 60;
  faro_batch batch;
  while (ask(&w, "SELECT count(*) FROM keepers") < 2 && faro_clock() < until)
    if (faro_spool_next(spool, &batch, NULL) == FARO_OK) assert_int_equal(batch.count, 0);
  assert_int_equal(ask(&w, "SELECT count(*) FROM keepers"), 2);
  faro_spool_close(spool);
  end(&w);
}

/* A standby of an analyzer that collects itself asks who can open what waits when it is to take
 * over, and not whenever it looks. The heads are enough for that. */
static void test_postgres__heads_say_who_can_open_what_waits(void **state) {
  (void)state;
  server_test();
  world w;
  faro_spool *first = NULL, *late = NULL;
  faro_error why = {0};
  begin(&w, "local-gaussian", 3, 2, 3);
  assert_ok(open_front(&w, 0, &first, error));
  assert_int_equal(send_one(&w, first, 0, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(open_front(&w, 1, &late, error));
  assert_ok(faro_spool_probe(late, error));
  assert_int_equal(faro_spool_opens(late, &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "batch 0 came before this analyzer had published its key"));
  assert_ok(faro_spool_opens(first, error));
  assert_int_equal(ask(&w, "UPDATE groups SET body = substring(body for 4 + 96) RETURNING 1"), 1);
  assert_ok(faro_spool_opens(first, error));
  assert_int_equal(ask(&w, "UPDATE groups SET body = substring(body for 4 + 95) RETURNING 1"), 1);
  assert_int_equal(faro_spool_opens(first, NULL), FARO_SYSTEM);
  faro_spool_close(first);
  faro_spool_close(late);
  end(&w);
}

#ifdef FARO_LIBPQ
/* Whatever came between, such as a pooler's other client. */
static void test_postgres__each_commit_waits_for_the_disks(void **state) {
  (void)state;
  server_test();
  world w;
  faro_postgres *link = NULL;
  PGresult *rows = NULL;
  begin(&w, "shuffle-gaussian", 1, 1, 1);
  assert_ok(faro_postgres_open(&link, w.url, "SET synchronous_commit = off", NULL, error));
  assert_ok(faro_postgres_begin(link, error));
  assert_ok(faro_postgres_ask(link, &rows, error, "SELECT current_setting('synchronous_commit')", ""));
  assert_string_equal(PQgetvalue(rows, 0, 0), "on");
  PQclear(rows);
  assert_ok(faro_postgres_commit(link, error));
  faro_postgres_close(link);
  end(&w);
}

/* A session whose locks are gone when it looks for them, as that of a pooler that gives the
 * connection to others: here, because locking does nothing. */
static void test_postgres__a_session_without_its_locks_is_refused(void **state) {
  (void)state;
  server_test();
  world w;
  faro_postgres *link = NULL;
  faro_error why = {0};
  begin(&w, "shuffle-gaussian", 1, 1, 1);
  assert_ok(faro_postgres_open(&link, w.url, "SELECT 1", NULL, error));
  assert_ok(faro_postgres_check_session(link, error));
  PGresult *rows = NULL;
  assert_ok(
      faro_postgres_ask(link, &rows, error, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", ""));
  assert_int_equal(faro_postgres_number(rows, 0, 0), 0); /* none is left */
  PQclear(rows);
  server_query(w.server, "",
               "CREATE FUNCTION public.pg_advisory_lock(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1'");
  assert_ok(faro_postgres_run(link, "SET search_path = public, pg_catalog", error));
  assert_int_equal(faro_postgres_check_session(link, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "pool_mode = session"));
  faro_postgres_close(link);
  end(&w);
}

/* PgBouncer, where it is installed: before a front-end, and before an analyzer. */
static void test_postgres__a_pooler_must_keep_sessions(void **state) {
  (void)state;
  server_test();
  static const char *const modes[] = {"transaction", "session"};
  world w;
  for (size_t i = 0; i < 2; i++) {
    faro_spool *spool = NULL;
    faro_store *store = NULL;
    faro_error why = {0};
    char line[128];
    begin(&w, "shuffle-gaussian", 2, 2, 2);
    snprintf(line, sizeof line, "%s %s", w.server, modes[i]);
    const int there = server_command("pooler", line);
    snprintf(w.url, sizeof w.url, "postgresql:///postgres?host=%s/pooler&port=5432&user=faro", w.server);
    const faro_status status = there == 0 ? open_front(&w, 0, &spool, &why) : FARO_OK;
    if (spool) assert_int_equal(send_one(&w, spool, 0, 1, 1), FARO_VERDICT_ACCEPTED);
    const faro_status stored = there == 0 ? faro_store_open(&store, w.url, FARO_READ_WRITE, NULL) : FARO_OK;
    faro_store_close(store);
    faro_spool_close(spool);
    end(&w);
    if (there == 77) skip();
    assert_int_equal(there, 0);
    if (status != (i == 0 ? FARO_INVALID : FARO_OK)) fail_msg("%s: %s", modes[i], why.message);
    assert_int_equal(stored, status);
    if (i == 0) assert_non_null(strstr(why.message, "pool_mode = session"));
  }
}

/* Over TCP, the server notices within seconds that the machine of a front-end is lost. */
static void test_postgres__the_server_looks_for_lost_machines(void **state) {
  (void)state;
  server_test();
  static const char *const settings[][2] = {{"tcp_keepalives_idle", "5"},
                                            {"tcp_keepalives_interval", "5"},
                                            {"tcp_keepalives_count", "3"},
                                            {"tcp_user_timeout", "10000"}};
  world w;
  faro_postgres *link = NULL;
  uint16_t port = 0;
  int hold = -1;
  char text[8], url[64];
  assert_ok(faro_port_hold(&port, &hold, error));
  snprintf(text, sizeof text, "%u", port);
  snprintf(url, sizeof url, "postgresql://faro@127.0.0.1:%u/postgres", port);
  assert_int_equal(setenv("PGPORT", text, 1), 0); /* the server and its tools read it */
  assert_int_equal(setenv("FARO_POSTGRES_LISTEN", "127.0.0.1", 1), 0);
  begin(&w, "shuffle-gaussian", 2, 2, 2);
  assert_int_equal(unsetenv("PGPORT"), 0);
  assert_int_equal(unsetenv("FARO_POSTGRES_LISTEN"), 0);
  assert_ok(faro_postgres_open(&link, url, "SELECT 1", NULL, error));
  for (size_t i = 0; i < 4; i++) {
    PGresult *rows = NULL;
    assert_ok(faro_postgres_ask(link, &rows, error, "SELECT current_setting($1)", "t", settings[i][0]));
    assert_string_equal(PQgetvalue(rows, 0, 0), settings[i][1]);
    PQclear(rows);
  }
  faro_postgres_close(link);
  end(&w);
  close(hold);
}

/* The server answers COMMIT with success where it rolls back. */
static void test_postgres__what_was_rolled_back_is_not_committed(void **state) {
  (void)state;
  server_test();
  world w;
  faro_postgres *link = NULL;
  begin(&w, "shuffle-gaussian", 2, 2, 2);
  assert_ok(faro_postgres_open(&link, w.url, "SELECT 1", NULL, error));
  assert_ok(faro_postgres_run(link, "BEGIN", error));
  assert_int_equal(faro_postgres_run(link, "SELECT 1 / 0", NULL), FARO_SYSTEM);
  assert_int_equal(faro_postgres_commit(link, NULL), FARO_SYSTEM);
  assert_ok(faro_postgres_run(link, "BEGIN; SELECT 1", error));
  assert_ok(faro_postgres_commit(link, error));
  faro_postgres_close(link);
  end(&w);
}

static bool now_stopping;
static bool is_stopping(void) { return now_stopping; }

/* A standby that shall end does not wait for a server that hangs; without that, the answer comes
 * after ten seconds, and is good. */
static void test_postgres__who_stops_waits_for_no_answer(void **state) {
  (void)state;
  server_test();
  world w;
  faro_postgres *link = NULL;
  bool fresh = false;
  begin(&w, "shuffle-gaussian", 2, 2, 2);
  assert_ok(faro_postgres_open(&link, w.url, "SELECT 1", is_stopping, error));
  now_stopping = true;
  assert_int_equal(faro_postgres_run(link, "SELECT pg_sleep(10)", NULL), FARO_SYSTEM);
  now_stopping = false;
  assert_ok(faro_postgres_ready(link, &fresh, error));
  assert_true(fresh);
  assert_ok(faro_postgres_run(link, "SELECT 1", error));
  faro_postgres_close(link);
  end(&w);
}
#endif

/* Totals of groups add up to those of the reports. */
static void test_postgres__adds_up_counts(void **state) {
  (void)state;
  server_test();
  enum { B = 40 };
  world w;
  faro_spool *front[2] = {0};
  uint64_t expected[2] = {0};
  begin(&w, "shuffle-bits", B, B, 1);
  for (size_t i = 0; i < 2; i++) assert_ok(open_front(&w, i, &front[i], error));
  for (size_t client = 0; client < B;) {
    unsigned char body[8][8];
    faro_spool_entry entry[8];
    size_t count = 0;
    assert_ok(faro_spool_begin(front[client % 2], error));
    for (; count < 1 + client % 7 && client + count < B; count++) {
      for (size_t e = 0; e < 2; e++) {
        faro_store32(body[count] + 4 * e, (uint32_t)((client + count) * (e + 3)));
        expected[e] += (client + count) * (e + 3);
      }
      entry[count] = (faro_spool_entry){.version = 1, .sequence = 1, .body = body[count]};
      faro_token_hash(w.tokens + (client + count) * FARO_TOKEN_BYTES, entry[count].hash);
      assert_ok(faro_spool_accept(front[client % 2], &entry[count], error));
    }
    assert_ok(faro_spool_commit(front[client % 2], error));
    for (size_t i = 0; i < count; i++) assert_int_equal(entry[i].verdict, FARO_VERDICT_ACCEPTED);
    client += count;
  }
  faro_batch batch;
  assert_ok(faro_spool_next(front[0], &batch, error));
  assert_int_equal(batch.count, B);
  for (size_t e = 0; e < 2; e++) assert_int_equal(faro_load64(batch.body + 8 * e), expected[e]);
  faro_spool_wipe(front[0], &batch);
  assert_true(faro_spool_snapshot(front[0]).over);
  assert_int_equal(send_one(&w, front[0], 0, 2, 2), FARO_VERDICT_CLOSED);
  for (size_t i = 0; i < 2; i++) faro_spool_close(front[i]);
  end(&w);
}

/* Whatever is killed. */

enum { CLIENTS = 40, BATCH = 20, BATCHES = 6, GROUP = 6 };

/* What the processes of a run share. */
typedef struct ledger {
  atomic_uint next[CLIENTS];       /* the sequence number that a client sends now */
  atomic_bool acked[CLIENTS][200]; /* by sequence number */
  atomic_uint delivered;           /* batches */
  atomic_bool harmed;              /* before that, the last one is not delivered */
  uint64_t body[BATCHES][BATCH];   /* the marks in them */
  atomic_bool changed[BATCHES];    /* a batch was delivered twice and differed */
} ledger;

/* Takes the place of the analyzer: a batch that comes again must be the same. */
static void deliver(const world *w, faro_spool *spool, ledger *l) {
  faro_batch batch;
  if (faro_spool_next(spool, &batch, NULL) != FARO_OK || batch.count == 0) return;
  const bool again = batch.number < atomic_load(&l->delivered);
  for (size_t i = 0; i < BATCH; i++) {
    const uint64_t mark = faro_load64(batch.body + i * body_size(w));
    if (again && l->body[batch.number][i] != mark) atomic_store(&l->changed[batch.number], true);
    l->body[batch.number][i] = mark;
  }
  const uint64_t number = batch.number;
  if (!again) atomic_store(&l->delivered, (unsigned)number + 1);
  faro_spool_wipe(spool, &batch);
  if (faro_spool_forget(spool, number, NULL) != FARO_OK) return; /* then it comes again */
}

/* Sends a few reports of random clients. Two front-ends may send the same report at the same
 * time. */
static void send_some(const world *w, faro_spool *spool, ledger *l) {
  unsigned char body[GROUP][BODY_MAX];
  faro_spool_entry entry[GROUP];
  size_t client[GROUP];
  const size_t count = 1 + randombytes_uniform(GROUP);
  if (faro_spool_begin(spool, NULL) != FARO_OK) {
    faro_sleep(0.02);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    client[i] = randombytes_uniform(CLIENTS);
    fill(w, client[i], faro_spool_snapshot(spool).number + 1, atomic_load(&l->next[client[i]]), body[i],
         &entry[i]);
    if (faro_spool_accept(spool, &entry[i], NULL) != FARO_OK) return;
  }
  if (faro_spool_commit(spool, NULL) != FARO_OK) return;
  for (size_t i = 0; i < count; i++) {
    if (entry[i].verdict > FARO_VERDICT_KNOWN) continue;
    unsigned sent = (unsigned)entry[i].sequence;
    atomic_store(&l->acked[client[i]][sent], true);
    (void)atomic_compare_exchange_strong(&l->next[client[i]], &sent, sent + 1);
  }
}

static const double DEADLINE = 300; /* seconds, of a run */

static void play_front(const world *w, size_t front, ledger *l) {
  faro_spool *spool = NULL;
  const double until = faro_clock() + DEADLINE;
  while (open_front(w, front, &spool, NULL) != FARO_OK) { /* the server may be away */
    if (faro_clock() > until) _exit(1);
    faro_sleep(0.05);
  }
  while (atomic_load(&l->delivered) < BATCHES) {
    if (faro_clock() > until) _exit(1);
    send_some(w, spool, l);
    if (atomic_load(&l->delivered) + 1 < BATCHES || atomic_load(&l->harmed)) deliver(w, spool, l);
  }
  faro_spool_close(spool);
  _exit(0);
}

static pid_t start_front(const world *w, size_t front, ledger *l) {
  const pid_t process = fork();
  if (process == 0) {
    signal(SIGSEGV, SIG_DFL); /* a front-end that crashes must not go on as a test */
    signal(SIGABRT, SIG_DFL);
    play_front(w, front, l);
  }
  assert_true(process > 0);
  return process;
}

/* Each report is in one batch, and each acknowledged one is. */
static void check_ledger(const ledger *l) {
  size_t where[CLIENTS][200] = {0};
  for (size_t b = 0; b < BATCHES; b++) {
    assert_false(atomic_load(&l->changed[b]));
    for (size_t i = 0; i < BATCH; i++) {
      const uint64_t mark = l->body[b][i];
      assert_true(mark >> 32 < CLIENTS && (uint32_t)mark < 200);
      assert_int_equal(where[mark >> 32][(uint32_t)mark]++, 0);
    }
  }
  for (size_t c = 0; c < CLIENTS; c++)
    for (size_t s = 0; s < 200; s++)
      if (atomic_load(&l->acked[c][s]) && where[c][s] == 0)
        fail_msg("report %zu of client %zu was acknowledged and is lost", s, c);
}

static bool all_ended(pid_t process[static FRONTS]) {
  bool all = true;
  for (size_t i = 0; i < FRONTS; i++) {
    int result = 0;
    if (process[i] > 0 && waitpid(process[i], &result, WNOHANG) == process[i]) {
      assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
      process[i] = 0;
    }
    all = all && process[i] == 0;
  }
  return all;
}

/* Kills a front-end and starts it again; it may be closing a batch, or handing one over. */
static void kill_front(const world *w, size_t front, pid_t process[static FRONTS], ledger *l) {
  if (process[front] == 0 || atomic_load(&l->delivered) >= BATCHES) return;
  assert_int_equal(kill(process[front], SIGKILL), 0);
  assert_int_equal(waitpid(process[front], NULL, 0), process[front]);
  process[front] = start_front(w, front, l);
}

/* What else is harmed in this moment; whether it was. */
typedef bool (*harm_done)(const world *w, unsigned moment);

static bool no_harm(const world *w, unsigned moment) {
  (void)w;
  (void)moment;
  return true;
}

static bool kill_server(const world *w, unsigned moment) {
  if (moment % 10 != 2) return false;
  assert_int_equal(server_command("kill", w->server), 0);
  assert_int_equal(server_command("start", w->server), 0);
  return true;
}

/* Once: the server is lost for good, and its replica goes on. */
static bool lose_server(const world *w, unsigned moment) {
  if (moment != 2) return false;
  assert_int_equal(server_command("kill", w->server), 0);
  assert_int_equal(server_command("promote", w->server), 0);
  return true;
}

static void survive(world *w, harm_done harm, ledger *l) {
  pid_t process[FRONTS];
  const double until = faro_clock() + DEADLINE;
  for (size_t i = 0; i < CLIENTS; i++) atomic_store(&l->next[i], 1);
  for (size_t i = 0; i < FRONTS; i++) process[i] = start_front(w, i, l);
  for (unsigned moment = 0; !all_ended(process); moment++) {
    faro_sleep(0.01 * (1 + randombytes_uniform(10)));
    kill_front(w, randombytes_uniform(FRONTS), process, l);
    if (harm(w, moment)) atomic_store(&l->harmed, true);
    if (faro_clock() > until) fail_msg("the front-ends are not done after %.0f s", DEADLINE);
  }
  check_ledger(l);
}

static size_t runs(void) {
  const char *text = getenv("FARO_POSTGRES_RUNS");
  return text ? (size_t)atoi(text) : 2;
}

static void play(harm_done harm, bool replica) {
  for (size_t run = 0; run < runs(); run++) {
    world w;
    begin(&w, "shuffle-gaussian", CLIENTS, BATCH, BATCHES);
    if (replica) assert_int_equal(server_command("replica", w.server), 0);
    ledger *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(l != MAP_FAILED);
    survive(&w, harm, l);
    assert_int_equal(munmap(l, sizeof *l), 0);
    end(&w);
  }
}

static void test_postgres__nothing_is_lost_or_doubled_if_front_ends_are_killed(void **state) {
  (void)state;
  server_test();
  play(no_harm, false);
}

static void test_postgres__nothing_is_lost_or_doubled_if_the_server_is_killed(void **state) {
  (void)state;
  server_test();
  play(kill_server, false);
}

static void test_postgres__nothing_is_lost_or_doubled_if_a_replica_takes_over(void **state) {
  (void)state;
  server_test();
  play(lose_server, true);
}

/* What remains. */

/* The secret key of batch 0, as the file of a front-end has it. */
static void read_key(const world *w, size_t front, unsigned char key[static FARO_PAIR_BYTES]) {
  char path[128];
  sqlite3 *handle = NULL;
  sqlite3_stmt *statement = NULL;
  snprintf(path, sizeof path, "%s/keys-%zu", w->folder, front);
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(handle, "SELECT secret FROM keys WHERE batch = 0", -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  assert_int_equal(sqlite3_column_bytes(statement, 0), FARO_PAIR_BYTES);
  memcpy(key, sqlite3_column_blob(statement, 0), FARO_PAIR_BYTES);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
}

/* The body of a report, and the key of its batch, are nowhere when the batch was released. The
 * same bytes are found if they are stored in the same way without a seal: so the search can find
 * them. */
static void test_postgres__nothing_readable_of_a_released_batch_remains(void **state) {
  (void)state;
  server_test();
  enum { B = 8 };
  static const char plain[] = "plaintext of one client";
  world w;
  faro_spool *front[2] = {0};
  begin(&w, "shuffle-gaussian", B, B, 2);
  for (size_t i = 0; i < 2; i++) assert_ok(open_front(&w, i, &front[i], error));
  for (size_t i = 0; i < B; i++) assert_int_equal(send_one(&w, front[i % 2], i, 1, 1), FARO_VERDICT_ACCEPTED);
  unsigned char secret[2][FARO_PAIR_BYTES];
  for (size_t i = 0; i < 2; i++) {
    read_key(&w, i, secret[i]);
    assert_true(server_traces(w.folder, secret[i], FARO_PAIR_BYTES) > 0);
  }
  faro_batch batch;
  assert_ok(faro_spool_next(front[1], &batch, error));
  assert_int_equal(batch.count, B);
  assert_memory_equal(batch.body + 8, plain, 23);
  faro_spool_wipe(front[1], &batch);
  assert_ok(faro_spool_forget(front[1], 0, error));
  assert_ok(faro_spool_next(front[0], &batch, error)); /* the other one wipes its key too */
  server_query(w.server, "", "CHECKPOINT");
  assert_int_equal(server_traces(w.folder, plain, strlen(plain)), 0);
  for (size_t i = 0; i < 2; i++) assert_int_equal(server_traces(w.folder, secret[i], FARO_PAIR_BYTES), 0);
  server_query(w.server, "",
               "DO \\$\\$ DECLARE s text; BEGIN SELECT nspname INTO s FROM pg_namespace WHERE nspname LIKE "
               "'faro%'; EXECUTE 'INSERT INTO ' || s || '.groups VALUES(7, 7, 1, ''plaintext of one "
               "client''::bytea)'; END \\$\\$");
  server_query(w.server, "",
               "DO \\$\\$ DECLARE s text; BEGIN SELECT nspname INTO s FROM pg_namespace WHERE nspname LIKE "
               "'faro%'; EXECUTE 'DELETE FROM ' || s || '.groups WHERE batch = 7'; END \\$\\$");
  server_query(w.server, "", "VACUUM FULL");
  server_query(w.server, "", "CHECKPOINT");
  assert_true(server_traces(w.folder, plain, strlen(plain)) > 0);
  for (size_t i = 0; i < 2; i++) faro_spool_close(front[i]);
  end(&w);
}

/* An old copy of the database would let clients send again. */
static void test_postgres__an_old_copy_of_the_database_is_refused(void **state) {
  (void)state;
  server_test();
  world w;
  faro_spool *spool = NULL;
  faro_batch batch;
  faro_error why = {0};
  begin(&w, "shuffle-gaussian", 2, 2, 3);
  assert_ok(open_front(&w, 0, &spool, error));
  for (size_t i = 0; i < 2; i++) assert_int_equal(send_one(&w, spool, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_next(spool, &batch, error));
  faro_spool_wipe(spool, &batch);
  assert_ok(faro_spool_forget(spool, 0, error));
  faro_spool_close(spool);
  server_query(w.server, "",
               "DO \\$\\$ DECLARE s text; BEGIN SELECT nspname INTO s FROM pg_namespace WHERE nspname LIKE "
               "'faro%'; EXECUTE 'UPDATE ' || s || '.meta SET released = 0, number = 0'; END \\$\\$");
  assert_int_equal(open_front(&w, 0, &spool, &why), FARO_SYSTEM);
  assert_non_null(strstr(why.message, "this is an old copy of the database"));
  end(&w);
}

/* The part that needs no server. */

static void test_sealed__opens_only_what_was_sealed(void **state) {
  (void)state;
  const faro_sealed_as as = {.shuffler = 1, .batch = 2, .count = 3, .part = 1};
  faro_box_pair pair[3];
  unsigned char keepers[2 * FARO_PAIR_BYTES], *sealed = NULL;
  char text[] = "counts of a few clients", opened[sizeof text];
  size_t size = 0;
  for (size_t i = 0; i < 3; i++) crypto_box_keypair(pair[i].public_key, pair[i].secret_key);
  for (size_t i = 0; i < 2; i++) memcpy(keepers + i * FARO_PAIR_BYTES, pair[i].public_key, FARO_PAIR_BYTES);
  assert_ok(faro_sealed_write(&as, keepers, 2, text, sizeof text, &sealed, &size, error));
  assert_null(memmem(sealed, size, text, 8));
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(faro_sealed_open(&as, &pair[i], sealed, size, opened, sizeof opened),
                     FARO_SEALED_OPENED);
    assert_string_equal(opened, text);
  }
  assert_int_equal(faro_sealed_open(&as, &pair[2], sealed, size, opened, sizeof opened), FARO_SEALED_FOREIGN);
  faro_sealed_as other = as;
  other.batch++;
  assert_int_equal(faro_sealed_open(&other, &pair[0], sealed, size, opened, sizeof opened),
                   FARO_SEALED_FORGED);
  for (size_t i = 0; i < size; i++) { /* each byte matters, or belongs to the other keeper */
    sealed[i] ^= 1;
    const faro_sealed_result result = faro_sealed_open(&as, &pair[0], sealed, size, opened, sizeof opened);
    if (i < 4 || i >= 4 + 2 * 96) assert_int_equal(result, FARO_SEALED_FORGED);
    sealed[i] ^= 1;
  }
  for (size_t i = 0; i < size; i++)
    assert_int_equal(faro_sealed_open(&as, &pair[0], sealed, i, opened, sizeof opened), FARO_SEALED_FORGED);
  for (size_t i = 0; i < 3; i++) /* the head says whose it is */
    assert_int_equal(faro_sealed_is_for(&pair[i], sealed, 4 + 2 * 96), i < 2);
  assert_false(faro_sealed_is_for(&pair[0], sealed, 4 + 2 * 96 - 1));
  assert_int_equal(faro_sealed_write(&as, keepers, 0, text, sizeof text, &sealed, &size, NULL), FARO_SYSTEM);
  free(sealed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sealed__opens_only_what_was_sealed),
      cmocka_unit_test(test_postgres__front_ends_fill_one_batch),
      cmocka_unit_test(test_postgres__heads_say_who_can_open_what_waits),
      cmocka_unit_test(test_postgres__accepted_before_waits_for_replicas_too),
      cmocka_unit_test(test_postgres__there_are_at_most_64_front_ends),
      cmocka_unit_test(test_postgres__keys_are_published_again_after_a_new_connection),
#ifdef FARO_LIBPQ
      cmocka_unit_test(test_postgres__each_commit_waits_for_the_disks),
      cmocka_unit_test(test_postgres__a_session_without_its_locks_is_refused),
      cmocka_unit_test(test_postgres__a_pooler_must_keep_sessions),
      cmocka_unit_test(test_postgres__the_server_looks_for_lost_machines),
      cmocka_unit_test(test_postgres__what_was_rolled_back_is_not_committed),
      cmocka_unit_test(test_postgres__who_stops_waits_for_no_answer),
#endif
      cmocka_unit_test(test_postgres__adds_up_counts),
      cmocka_unit_test(test_postgres__nothing_readable_of_a_released_batch_remains),
      cmocka_unit_test(test_postgres__an_old_copy_of_the_database_is_refused),
      cmocka_unit_test(test_postgres__nothing_is_lost_or_doubled_if_front_ends_are_killed),
      cmocka_unit_test(test_postgres__nothing_is_lost_or_doubled_if_the_server_is_killed),
      cmocka_unit_test(test_postgres__nothing_is_lost_or_doubled_if_a_replica_takes_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
