/* The spool without a process: the order of reports in a batch, the end of a campaign, tokens that
 * are added and removed. */
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/state/counts.h"
#include "service/state/spool.h"
#include "support/support.h"
#include "support/scratch.h"

typedef struct world {
  char folder[64], state[96], hashes[96];
  faro_campaign campaign;
  unsigned char *tokens;
  faro_spool *spool;
} world;

/* A campaign of sealed messages, filled in directly: no test here depends on its noise. */
static void begin(world *w, size_t clients, uint64_t batch, uint64_t batches) {
  *w = (world){0};
  SCRATCH(w->folder, "spool");
  assert_non_null(mkdtemp(w->folder));
  snprintf(w->state, sizeof w->state, "%s/state", w->folder);
  snprintf(w->hashes, sizeof w->hashes, "%s/hashes", w->folder);
  char path[96];
  size_t count = 0;
  snprintf(path, sizeof path, "%s/tokens", w->folder);
  assert_ok(faro_tokens_make(path, w->hashes, clients, error));
  assert_ok(faro_tokens_load(path, &w->tokens, &count, error));
  faro_campaign *c = &w->campaign;
  c->release = faro_release_kind_find("shuffle-gaussian");
  assert_ok(faro_contribution_init(&c->contribution, 1, 1, 0, 1, error));
  c->params.batch = batch;
  c->batches = batches;
  c->shufflers = 1;
  c->entries = c->contribution.length;
  c->encodings = 1;
  c->encoding[0].size = batch;
}

static void open_spool(world *w) {
  const faro_spool_params settings = {.path = w->state, .tokens = w->hashes, .campaign = &w->campaign};
  assert_ok(faro_spool_open(&w->spool, &settings, error));
}

static void end(world *w) {
  faro_spool_close(w->spool);
  free(w->tokens);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", w->folder);
  assert_int_equal(system(command), 0);
}

/* A campaign with BITS, where only totals are kept. */
static void begin_bits(world *w, size_t clients, uint64_t batch) {
  begin(w, clients, batch, 10);
  w->campaign.release = faro_release_kind_find("shuffle-bits");
  w->campaign.encoding[0].most = UINT32_MAX;
}

enum { BODY = 512 };

/* What the server's threads do with a report: its body begins with `first`. */
static faro_spool_entry admit(world *w, size_t client, uint64_t version, uint64_t sequence, uint64_t first,
                              unsigned char body[static BODY]) {
  assert_true(faro_wire_report_size(&w->campaign) - FARO_REPORT_HEAD <= BODY);
  memset(body, 0, BODY);
  faro_store64(body, first);
  faro_spool_entry entry = {.version = version, .sequence = sequence, .body = body};
  faro_token_hash(w->tokens + client * FARO_TOKEN_BYTES, entry.hash);
  faro_spool_admit(w->spool, &entry, 1);
  faro_spool_mark(w->spool, &entry, 1);
  return entry;
}

static faro_verdict accept_body(world *w, size_t client, uint64_t version, uint64_t sequence,
                                uint64_t first) {
  unsigned char body[BODY];
  faro_spool_entry entry = admit(w, client, version, sequence, first, body);
  if (entry.verdict == FARO_VERDICT_ACCEPTED) assert_ok(faro_spool_accept(w->spool, &entry, error));
  return entry.verdict;
}

static faro_verdict accept_one(world *w, size_t client, uint64_t version, uint64_t sequence) {
  return accept_body(w, client, version, sequence, client);
}

/* A group of one report. */
static faro_verdict verdict_of(world *w, size_t client, uint64_t version, uint64_t sequence) {
  assert_ok(faro_spool_begin(w->spool, error));
  const faro_verdict verdict = accept_one(w, client, version, sequence);
  assert_ok(faro_spool_commit(w->spool, error));
  return verdict;
}

/* Four clients send in the same order every time; all 24 orders of a batch must be equally
 * likely. */
static void test_spool__all_orders_are_equally_likely(void **state) {
  (void)state;
  enum { RUNS = 4800, ORDERS = 24 };
  world w;
  begin(&w, 4, 4, RUNS);
  open_spool(&w);
  const size_t size = faro_wire_report_size(&w.campaign) - FARO_REPORT_HEAD;
  double observed[ORDERS] = {0};
  double expected[ORDERS];
  for (uint64_t run = 0; run < RUNS; run++) {
    assert_ok(faro_spool_begin(w.spool, error));
    for (size_t i = 0; i < 4; i++)
      assert_int_equal(accept_one(&w, i, run + 1, run + 1), FARO_VERDICT_ACCEPTED);
    assert_ok(faro_spool_commit(w.spool, error));
    faro_batch batch;
    assert_ok(faro_spool_next(w.spool, &batch, error));
    assert_int_equal(batch.number, run);
    assert_int_equal(batch.count, 4);
    size_t order = 0; /* Lehmer code */
    for (size_t i = 0; i < 4; i++) {
      size_t smaller = 0;
      for (size_t j = i + 1; j < 4; j++)
        smaller += faro_load64(batch.body + j * size) < faro_load64(batch.body + i * size);
      order = order * (4 - i) + smaller;
    }
    observed[order]++;
    faro_spool_wipe(w.spool, &batch);
    assert_ok(faro_spool_forget(w.spool, run, error));
  }
  for (size_t i = 0; i < ORDERS; i++) expected[i] = (double)RUNS / ORDERS;
  unseeded(true);
  assert_chi_square(observed, expected, ORDERS);
  unseeded(false);
  end(&w);
}

static faro_verdict accept_counts(world *w, size_t client, const uint64_t ones[static 2]) {
  unsigned char body[8];
  for (size_t i = 0; i < 2; i++) faro_store32(body + 4 * i, (uint32_t)ones[i]);
  faro_spool_entry entry = {.version = 1, .sequence = 1, .body = body};
  faro_token_hash(w->tokens + client * FARO_TOKEN_BYTES, entry.hash);
  assert_ok(faro_spool_accept(w->spool, &entry, error));
  return entry.verdict;
}

/* The spool's totals equal those of faro_release_mix for the same messages, also if clients lie. */
static void test_spool__counts_as_the_release_does(void **state) {
  (void)state;
  enum { B = 6, ENTRIES = 2 };
  const faro_release_params params = {
      .epsilon = 1, .delta = 1e-3, .horizon = B, .batch = B, .calibration = FARO_CALIBRATION_TIGHT};
  world w;
  faro_release *release = NULL;
  faro_sim_rng sim;
  uint64_t message[B][ENTRIES];
  begin_bits(&w, B, B);
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  assert_ok(faro_release_create(&release, &faro_release_shuffle_bits, &w.campaign.contribution, &params,
                                faro_source_simulated(&sim), error));
  faro_release_range(release, 0, &w.campaign.encoding[0].least, &w.campaign.encoding[0].most);
  assert_true(w.campaign.encoding[0].least > 0 && w.campaign.encoding[0].most < UINT32_MAX);
  for (size_t u = 0; u < B; u++) {
    const double x = 0.3;
    assert_ok(faro_release_randomize(release, &x, 1, message[u], error));
  }
  message[1][0] = UINT32_MAX; /* more ones than there are bits */
  message[2][1] = 0;          /* fewer than an honest client can have */
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t u = 0; u < B; u++) assert_int_equal(accept_counts(&w, u, message[u]), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  faro_batch batch;
  assert_ok(faro_spool_next(w.spool, &batch, error));
  assert_int_equal(faro_release_mix(release, message), 1);
  for (size_t i = 0; i < ENTRIES; i++) assert_int_equal(faro_load64(batch.body + 8 * i), message[0][i]);
  faro_spool_wipe(w.spool, &batch);
  faro_release_destroy(release);
  end(&w);
}

static int64_t query(const world *w, const char *sql) {
  sqlite3 *handle = NULL;
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_open(w->state, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  const int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return value;
}

/* In the open batch bodies have random numbers: in the order of arrival, about half of the numbers
 * are above the one before. */
static void test_spool__the_file_tells_no_order_of_arrival(void **state) {
  (void)state;
  world w;
  begin(&w, 1000, 1001, 1);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 0; i < 1000; i++) assert_int_equal(accept_one(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  /* marks are little-endian below 1000: order them by both bytes */
  const double rising = (double)query(&w, "SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY "
                                          "substr(body, 2, 1), substr(body, 1, 1)) AS before "
                                          "FROM bodies) WHERE id > before");
  assert_mean(rising, 999 / 2.0, sqrt(1001 / 12.0), 1); /* descents of a random permutation */
  assert_int_equal(query(&w, "SELECT count(*) FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'"), 0);
  end(&w);
}

static void test_spool__a_group_that_fails_leaves_nothing(void **state) {
  (void)state;
  world w;
  begin(&w, 10, 4, 10);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 0, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 1; i < 6; i++) assert_int_equal(accept_one(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_snapshot(w.spool).number, 1);
  faro_spool_close(w.spool); /* before the commit */
  open_spool(&w);
  const faro_spool_state seen = faro_spool_snapshot(w.spool);
  assert_int_equal(seen.number, 0);
  assert_int_equal(seen.held, 1);
  assert_int_equal(seen.waiting, 0);
  end(&w);
}

/* Changes the file behind the spool's back. */
static void alter(const world *w, const char *sql) {
  sqlite3 *handle = NULL;
  assert_int_equal(sqlite3_open(w->state, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
}

/* No group can be committed in between. */
static void refuse_totals(const world *w) {
  alter(w, "CREATE TRIGGER no BEFORE INSERT ON totals BEGIN SELECT RAISE(ABORT, 'not today'); END");
}
static void allow_totals(const world *w) { alter(w, "DROP TRIGGER no"); }

/* A group of the clients first .. last - 1 that cannot be committed. */
static void fail_group(world *w, size_t first, size_t last) {
  faro_error refused = {0};
  refuse_totals(w);
  assert_ok(faro_spool_begin(w->spool, error));
  for (size_t i = first; i < last; i++) assert_int_equal(accept_one(w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_commit(w->spool, &refused), FARO_SYSTEM);
  assert_non_null(strstr(refused.message, "not today"));
  allow_totals(w);
}

/* What memory says about clients goes back with the file, also if the group closed a batch. */
static void test_spool__clients_of_a_failed_group_may_send_again(void **state) {
  (void)state;
  world w;
  begin_bits(&w, 10, 4);
  w.campaign.params.level = FARO_LEVEL_USER;
  w.campaign.params.contributions = 1;
  open_spool(&w);
  assert_int_equal(verdict_of(&w, 0, 1, 1), FARO_VERDICT_ACCEPTED);
  fail_group(&w, 1, 3);
  fail_group(&w, 1, 6); /* with the fourth report the batch closes */
  assert_int_equal(faro_spool_snapshot(w.spool).number, 0);
  assert_int_equal(faro_spool_snapshot(w.spool).held, 1);
  assert_int_equal(verdict_of(&w, 0, 1, 1), FARO_VERDICT_KNOWN);
  assert_int_equal(verdict_of(&w, 0, 1, 2), FARO_VERDICT_TWICE); /* it is in the open batch */
  for (size_t i = 1; i < 4; i++) assert_int_equal(verdict_of(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_snapshot(w.spool).number, 1);
  assert_int_equal(verdict_of(&w, 0, 2, 2), FARO_VERDICT_SPENT);
  for (size_t i = 4; i < 6; i++) assert_int_equal(verdict_of(&w, i, 2, 1), FARO_VERDICT_ACCEPTED);
  end(&w);
}

static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* So many sealed bodies that their deletion does not fit into memory: the full disk is noticed in
 * the middle of closing. */
static void test_spool__clients_of_a_batch_that_could_not_close_count_once(void **state) {
  (void)state;
  enum { B = 20000 };
  unsigned char body[512] = {0};
  faro_error refused = {0};
  struct rlimit before;
  world w;
  signal(SIGXFSZ, SIG_IGN);
  begin(&w, B, B, 10);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 0; i < B - 1; i++) assert_int_equal(accept_one(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  faro_spool_entry last = {.version = 1, .sequence = 1, .body = body};
  faro_token_hash(w.tokens + (size_t)(B - 1) * FARO_TOKEN_BYTES, last.hash);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  assert_ok(faro_spool_begin(w.spool, error));
  limit_files(4096);
  const faro_status status = faro_spool_accept(w.spool, &last, &refused);
  limit_files(before.rlim_cur);
  assert_int_equal(status, FARO_SYSTEM);
  assert_int_equal(faro_spool_snapshot(w.spool).held, B - 1);
  assert_int_equal(verdict_of(&w, 0, 1, 2), FARO_VERDICT_TWICE);
  faro_spool_close(w.spool);
  open_spool(&w);
  assert_int_equal(faro_spool_snapshot(w.spool).held, B - 1);
  assert_int_equal(verdict_of(&w, B - 1, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_snapshot(w.spool).number, 1);
  end(&w);
}

/* Against an array with a place for each client. The table begins with room for one. */
static void test_counts__are_those_of_a_plain_array(void **state) {
  (void)state;
  enum { N = 3000, STEPS = 20000 };
  static uint64_t used[N], sequence[N];
  faro_counts *counts = NULL;
  assert_ok(faro_counts_create(&counts, 1, error));
  for (uint64_t round = 0; round < 2; round++) {
    memset(used, 0, sizeof used);
    memset(sequence, 0, sizeof sequence);
    for (uint64_t i = 0, at = 1; i < STEPS; i++) {
      unsigned char hash[FARO_HASH_BYTES] = {0};
      at = at * 6364136223846793005u + 1442695040888963407u;
      const size_t client = (size_t)(at >> 33) % N;
      faro_store64(hash, client);
      faro_count *count = faro_counts_find(counts, hash);
      assert_int_equal(count ? count->used : 0, used[client]);
      assert_int_equal(count ? count->sequence : 0, sequence[client]);
      assert_ok(faro_counts_enter(counts, hash, &count, error));
      count->used = ++used[client];
      count->sequence = sequence[client] = i;
    }
    faro_counts_clear(counts);
  }
  faro_counts_destroy(counts);
}

static void test_spool__ends_with_its_campaign(void **state) {
  (void)state;
  world w;
  begin(&w, 10, 2, 2);
  open_spool(&w);
  for (uint64_t batch = 0; batch < 2; batch++) {
    assert_ok(faro_spool_begin(w.spool, error));
    for (size_t i = 0; i < 2; i++)
      assert_int_equal(accept_one(&w, i, batch + 1, batch + 1), FARO_VERDICT_ACCEPTED);
    assert_ok(faro_spool_commit(w.spool, error));
    assert_ok(faro_spool_forget(w.spool, batch, error));
  }
  assert_true(faro_spool_snapshot(w.spool).over);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 5, 3, 1), FARO_VERDICT_CLOSED);
  assert_int_equal(accept_one(&w, 1, 3, 2), FARO_VERDICT_KNOWN);
  assert_ok(faro_spool_commit(w.spool, error));
  end(&w);
}

/* Batches of 2, 2, 3 and 3 reports, and a restart before each report. Where the size changes, a
 * report under the policy before has the wrong noise, and comes too late. */
static void test_spool__closes_every_batch_at_its_own_size(void **state) {
  (void)state;
  static const uint64_t size[] = {2, 2, 3, 3};
  world w;
  begin(&w, 10, 2, 4);
  w.campaign.encodings = 2;
  w.campaign.encoding[1] = (faro_encoding){.from = 2, .before = 4, .size = 3};
  open_spool(&w);
  for (uint64_t b = 0; b < 4; b++)
    for (uint64_t i = 0; i < size[b]; i++) {
      faro_spool_close(w.spool);
      open_spool(&w);
      const faro_spool_state seen = faro_spool_snapshot(w.spool);
      assert_true(seen.number == b && seen.held == i && seen.size == size[b]);
      const uint64_t version = i == 1 && b % 2 == 1 ? b : b + 1; /* the policy before */
      assert_ok(faro_spool_begin(w.spool, error));
      if (b == 2) assert_int_equal(accept_one(&w, 9, b, 1), FARO_VERDICT_STALE);
      assert_int_equal(accept_one(&w, 9, b + 2, 1), FARO_VERDICT_STALE);
      assert_int_equal(accept_one(&w, i, version, b + 1), FARO_VERDICT_ACCEPTED);
      assert_ok(faro_spool_commit(w.spool, error));
      if (i + 1 < size[b]) continue;
      faro_batch batch;
      assert_ok(faro_spool_next(w.spool, &batch, error));
      assert_true(batch.number == b && batch.count == size[b]);
      faro_spool_wipe(w.spool, &batch);
      assert_ok(faro_spool_forget(w.spool, b, error));
    }
  assert_true(faro_spool_snapshot(w.spool).over);
  end(&w);
}

/* Who is taken off the list is refused, and comes back with the numbers of before. */
static void test_spool__tokens_come_and_go(void **state) {
  (void)state;
  world w;
  begin(&w, 5, 100, 10);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 0, 1, 7), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  faro_spool_close(w.spool);
  char other[96];
  char tokens[96];
  snprintf(other, sizeof other, "%s/other", w.folder);
  snprintf(tokens, sizeof tokens, "%s/other-tokens", w.folder);
  assert_ok(faro_tokens_make(tokens, other, 3, error));
  const faro_spool_params settings = {.path = w.state, .tokens = other, .campaign = &w.campaign};
  assert_ok(faro_spool_open(&w.spool, &settings, error));
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 0, 1, 7), FARO_VERDICT_TOKEN);
  assert_int_equal(accept_one(&w, 1, 1, 7), FARO_VERDICT_TOKEN);
  assert_ok(faro_spool_commit(w.spool, error));
  faro_spool_close(w.spool);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 0, 1, 7), FARO_VERDICT_KNOWN);
  assert_int_equal(accept_one(&w, 0, 1, 6), FARO_VERDICT_REPLAY);
  assert_int_equal(accept_one(&w, 1, 1, 7), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  end(&w);
}

/* The same without a restart; a file that cannot be read changes nothing. */
static void test_spool__tokens_come_and_go_while_it_runs(void **state) {
  (void)state;
  world w;
  char other[96], tokens[96], none[96];
  size_t count = 0;
  faro_error refused = {0};
  begin(&w, 5, 100, 10);
  open_spool(&w);
  snprintf(other, sizeof other, "%s/other", w.folder);
  snprintf(tokens, sizeof tokens, "%s/other-tokens", w.folder);
  snprintf(none, sizeof none, "%s/none", w.folder);
  assert_ok(faro_tokens_make(tokens, other, 3, error));
  assert_int_equal(verdict_of(&w, 0, 1, 7), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_reload(w.spool, none, &count, &refused), FARO_INVALID);
  assert_int_equal(verdict_of(&w, 0, 1, 7), FARO_VERDICT_KNOWN);
  assert_ok(faro_spool_reload(w.spool, other, &count, error));
  assert_int_equal(count, 3);
  assert_int_equal(verdict_of(&w, 0, 1, 7), FARO_VERDICT_TOKEN);
  assert_int_equal(verdict_of(&w, 1, 1, 7), FARO_VERDICT_TOKEN);
  assert_ok(faro_spool_reload(w.spool, w.hashes, &count, error));
  assert_int_equal(verdict_of(&w, 0, 1, 6), FARO_VERDICT_REPLAY);
  assert_int_equal(verdict_of(&w, 1, 1, 7), FARO_VERDICT_ACCEPTED);
  end(&w);
}

/* In the open batch a repeated report is recognized by its bytes, also after a restart; other bytes
 * with the same number are not acknowledged. When the batch is closed, the number alone counts. */
static void knows_bytes(world *w) {
  open_spool(w);
  assert_ok(faro_spool_begin(w->spool, error));
  assert_int_equal(accept_body(w, 0, 1, 7, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(accept_body(w, 0, 1, 7, 1), FARO_VERDICT_KNOWN);
  assert_int_equal(accept_body(w, 0, 1, 7, 2), FARO_VERDICT_REPLAY);
  assert_ok(faro_spool_commit(w->spool, error));
  faro_spool_close(w->spool);
  open_spool(w);
  assert_ok(faro_spool_begin(w->spool, error));
  assert_int_equal(accept_body(w, 0, 1, 7, 1), FARO_VERDICT_KNOWN);
  assert_int_equal(accept_body(w, 0, 1, 7, 2), FARO_VERDICT_REPLAY);
  assert_int_equal(accept_body(w, 0, 2, 7, 1), FARO_VERDICT_REPLAY); /* the version is part of a report */
  assert_int_equal(accept_body(w, 1, 1, 1, 3), FARO_VERDICT_ACCEPTED);
  assert_int_equal(accept_body(w, 0, 1, 7, 1), FARO_VERDICT_KNOWN); /* the batch is closed now */
  assert_int_equal(accept_body(w, 0, 1, 6, 1), FARO_VERDICT_REPLAY);
  assert_ok(faro_spool_commit(w->spool, error));
  assert_true(faro_spool_snapshot(w->spool).unfolded);
  assert_ok(faro_spool_fold(w->spool, error));
  assert_int_equal(query(w, "SELECT count(*) FROM open"), 0);
  assert_int_equal(query(w, "SELECT sum(length(body)) > 0 FROM outbox"), 1);
  end(w);
}

static void test_spool__the_same_number_needs_the_same_bytes(void **state) {
  (void)state;
  world w;
  begin(&w, 4, 2, 10);
  knows_bytes(&w);
  begin_bits(&w, 4, 2);
  knows_bytes(&w);
}

/* The mark of a report that waits while its batch closes is made again, with the key of the next
 * one. */
static void test_spool__a_report_that_waited_has_the_mark_of_its_batch(void **state) {
  (void)state;
  world w;
  unsigned char body[BODY];
  begin(&w, 4, 2, 10);
  open_spool(&w);
  faro_spool_entry waits = admit(&w, 0, 1, 1, 5, body);
  assert_int_equal(waits.marked, 1);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_body(&w, 1, 1, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(accept_body(&w, 2, 1, 1, 2), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_snapshot(w.spool).number, 1);
  assert_ok(faro_spool_accept(w.spool, &waits, error));
  assert_int_equal(waits.verdict, FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  assert_int_equal(verdict_of(&w, 0, 1, 1), FARO_VERDICT_REPLAY); /* its body is another one */
  faro_spool_entry again = admit(&w, 0, 1, 1, 5, body);
  assert_int_equal(again.marked, 2);
  assert_memory_equal(again.mark, waits.mark, sizeof again.mark);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_ok(faro_spool_accept(w.spool, &again, error));
  assert_int_equal(again.verdict, FARO_VERDICT_KNOWN);
  assert_ok(faro_spool_commit(w.spool, error));
  end(&w);
}

/* A report is marked while a batch closes that stays open after all, because the disk refuses it.
 * When the batch closes again, the next one has another key. */
static void test_spool__a_mark_of_a_batch_that_never_was_is_made_again(void **state) {
  (void)state;
  world w;
  unsigned char body[BODY];
  faro_error refused = {0};
  begin_bits(&w, 4, 2);
  open_spool(&w);
  refuse_totals(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 1; i < 3; i++) assert_int_equal(accept_one(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_int_equal(faro_spool_snapshot(w.spool).number, 1);
  faro_spool_entry waits = admit(&w, 0, 1, 1, 5, body);
  assert_int_equal(faro_spool_commit(w.spool, &refused), FARO_SYSTEM);
  allow_totals(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 1; i < 3; i++) assert_int_equal(accept_one(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_accept(w.spool, &waits, error));
  assert_int_equal(waits.verdict, FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_body(&w, 0, 1, 1, 5), FARO_VERDICT_KNOWN);
  assert_ok(faro_spool_commit(w.spool, error));
  end(&w);
}

/* What a closed batch says about its clients is folded in steps. Verdicts are the same before, in
 * between, after restarts and at the end. */
static void test_spool__a_closed_batch_is_folded_in_steps(void **state) {
  (void)state;
  enum { N = 5000 };
  world w;
  begin_bits(&w, N + 1, N);
  w.campaign.params.level = FARO_LEVEL_USER;
  w.campaign.params.contributions = 1;
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 0; i < N; i++) assert_int_equal(accept_one(&w, i, 1, 3), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  int steps = 0;
  for (; faro_spool_snapshot(w.spool).unfolded; steps++) {
    const faro_spool_state seen = faro_spool_snapshot(w.spool);
    assert_true(seen.number == 1 && seen.held == 0 && seen.waiting == 1);
    for (size_t i = 0; i < N; i += 97) assert_int_equal(verdict_of(&w, i, 2, 3), FARO_VERDICT_KNOWN);
    for (size_t i = 0; i < N; i += 97) assert_int_equal(verdict_of(&w, i, 2, 2), FARO_VERDICT_REPLAY);
    for (size_t i = 0; i < N; i += 97) assert_int_equal(verdict_of(&w, i, 2, 4), FARO_VERDICT_SPENT);
    assert_int_equal(
        query(&w, "SELECT (SELECT count(*) FROM open) + (SELECT coalesce(sum(used), 0) FROM clients)"), N);
    assert_ok(faro_spool_fold(w.spool, error));
    faro_spool_close(w.spool);
    open_spool(&w);
  }
  assert_true(steps > 1);
  assert_int_equal(query(&w, "SELECT count(*) FROM open"), 0);
  assert_int_equal(query(&w, "SELECT sum(used = 1 AND sequence = 3) FROM clients"), N);
  for (size_t i = 0; i < N; i += 97) assert_int_equal(verdict_of(&w, i, 2, 4), FARO_VERDICT_SPENT);
  end(&w);
}

/* A batch that closes, or is forgotten, before the one before was folded takes the rest with it. */
static void test_spool__no_batch_outruns_the_folding(void **state) {
  (void)state;
  enum { N = 2500 };
  world w;
  begin_bits(&w, N, N);
  open_spool(&w);
  for (uint64_t batch = 0; batch < 2; batch++) {
    assert_ok(faro_spool_begin(w.spool, error));
    for (size_t i = 0; i < N; i++)
      assert_int_equal(accept_one(&w, i, batch + 1, batch + 1), FARO_VERDICT_ACCEPTED);
    assert_ok(faro_spool_commit(w.spool, error));
  }
  assert_int_equal(query(&w, "SELECT count(*) FROM open WHERE batch = 1"), N);
  assert_int_equal(query(&w, "SELECT count(*) FROM open"), N);
  assert_int_equal(query(&w, "SELECT sum(used) FROM clients"), N);
  assert_ok(faro_spool_forget(w.spool, 0, error));
  assert_int_equal(query(&w, "SELECT count(*) FROM open"), 0);
  assert_int_equal(query(&w, "SELECT sum(used = 2 AND sequence = 2) FROM clients"), N);
  end(&w);
}

static void read_key(const world *w, unsigned char key[32]) {
  sqlite3 *handle = NULL;
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_open(w->state, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(handle, "SELECT key FROM meta", -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  assert_int_equal(sqlite3_column_bytes(statement, 0), 32);
  memcpy(key, sqlite3_column_blob(statement, 0), 32);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
}

/* A mark cannot be checked after its batch has closed: the key has changed. */
static void test_spool__every_batch_has_a_key_of_its_own(void **state) {
  (void)state;
  world w;
  begin_bits(&w, 4, 2);
  open_spool(&w);
  unsigned char key[3][32];
  for (uint64_t batch = 0; batch < 3; batch++) {
    read_key(&w, key[batch]);
    for (uint64_t i = 0; i < batch; i++) assert_memory_not_equal(key[i], key[batch], 32);
    assert_ok(faro_spool_begin(w.spool, error));
    for (size_t i = 0; i < 2; i++)
      assert_int_equal(accept_one(&w, i, batch + 1, batch + 1), FARO_VERDICT_ACCEPTED);
    assert_ok(faro_spool_commit(w.spool, error));
    assert_ok(faro_spool_forget(w.spool, batch, error));
  }
  end(&w);
}

static void change(const world *w, const char *sql) {
  sqlite3 *handle = NULL;
  assert_int_equal(sqlite3_open(w->state, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
}

/* The content of acknowledged reports is missing: the spool must not open, because the batch would
 * lack them. */
static void test_spool__refuses_a_state_without_its_reports(void **state) {
  (void)state;
  static const struct {
    bool bits;
    const char *sql, *message;
  } cases[] = {{true, "DELETE FROM totals", "totals are missing"},
               {true, "UPDATE totals SET ones = zeroblob(8)", "wrong length"},
               {false, "DELETE FROM bodies", "the number of bodies is different"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    world w;
    if (cases[i].bits) begin_bits(&w, 5, 4);
    else begin(&w, 5, 4, 10);
    open_spool(&w);
    faro_spool_close(w.spool);
    if (cases[i].bits) change(&w, cases[i].sql); /* an empty batch needs no content */
    open_spool(&w);
    assert_ok(faro_spool_begin(w.spool, error));
    assert_int_equal(accept_one(&w, 1, 1, 1), FARO_VERDICT_ACCEPTED);
    assert_ok(faro_spool_commit(w.spool, error));
    faro_spool_close(w.spool);
    change(&w, cases[i].sql);
    const faro_spool_params settings = {.path = w.state, .tokens = w.hashes, .campaign = &w.campaign};
    faro_error refused = {0};
    w.spool = NULL;
    assert_int_equal(faro_spool_open(&w.spool, &settings, &refused), FARO_INVALID);
    if (!strstr(refused.message, cases[i].message)) fail_msg("%s", refused.message);
    end(&w);
  }
}

static off_t log_size(const world *w) {
  char path[112];
  struct stat found;
  snprintf(path, sizeof path, "%s-wal", w->state);
  return stat(path, &found) == 0 ? found.st_size : 0;
}

static void test_spool__refusals_alone_write_nothing(void **state) {
  (void)state;
  world w;
  begin_bits(&w, 5, 4);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 0, 1, 5), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  const off_t before = log_size(&w);
  assert_true(before > 0);
  for (int i = 0; i < 5; i++) {
    assert_ok(faro_spool_begin(w.spool, error));
    assert_int_equal(accept_one(&w, 0, 1, 5), FARO_VERDICT_KNOWN);
    assert_int_equal(accept_one(&w, 0, 1, 4), FARO_VERDICT_REPLAY);
    assert_ok(faro_spool_commit(w.spool, error));
  }
  assert_int_equal(log_size(&w), before);
  assert_int_equal(faro_spool_snapshot(w.spool).held, 1);
  uint64_t held = 0;
  assert_ok(faro_spool_count_open(w.state, &held, error));
  assert_int_equal(held, 1);
  end(&w);
}

/* Another process reads the file while a batch is removed, and at the next start: the log keeps the
 * batch, the state says so, and a later purge removes it. */
static void test_spool__a_log_that_could_not_be_emptied_is_emptied_later(void **state) {
  (void)state;
  world w;
  begin_bits(&w, 5, 2);
  open_spool(&w);
  assert_ok(faro_spool_begin(w.spool, error));
  for (size_t i = 0; i < 2; i++) assert_int_equal(accept_one(&w, i, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  sqlite3 *reader = NULL;
  assert_int_equal(sqlite3_open(w.state, &reader), SQLITE_OK);
  assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM outbox", NULL, NULL, NULL), SQLITE_OK);
  assert_ok(faro_spool_forget(w.spool, 0, error));
  assert_true(faro_spool_snapshot(w.spool).needs_purge);
  assert_int_equal(faro_spool_snapshot(w.spool).waiting, 0);
  assert_true(log_size(&w) > 0);
  faro_spool_close(w.spool);
  const double opened = faro_clock();
  open_spool(&w);
  assert_true(faro_spool_snapshot(w.spool).needs_purge);
  assert_true(log_size(&w) > 0);
  sqlite3_close(reader);
  assert_ok(faro_spool_retry_purge(w.spool, error)); /* too early, unless the machine is very busy */
  if (faro_clock() - opened < 5) assert_true(faro_spool_snapshot(w.spool).needs_purge);
  sleep(5);
  assert_ok(faro_spool_retry_purge(w.spool, error));
  assert_false(faro_spool_snapshot(w.spool).needs_purge);
  assert_int_equal(log_size(&w), 0);
  end(&w);
}

static void test_spool__a_state_belongs_to_one_campaign_and_one_process(void **state) {
  (void)state;
  world w;
  begin(&w, 5, 100, 10);
  open_spool(&w);
  const faro_spool_params settings = {.path = w.state, .tokens = w.hashes, .campaign = &w.campaign};
  faro_spool *second = NULL;
  faro_error refused = {0};
  assert_int_equal(faro_spool_open(&second, &settings, &refused), FARO_SYSTEM);
  assert_non_null(strstr(refused.message, "another process"));
  faro_spool_close(w.spool);
  w.campaign.digest[0] ^= 1;
  refused = (faro_error){0};
  assert_int_equal(faro_spool_open(&second, &settings, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "another campaign"));
  w.campaign.digest[0] ^= 1;
  open_spool(&w);
  end(&w);
}

/* Opens a state in another process, where SQLite does not know of ours. Returns the message of the
 * refusal, or "". */
static const char *opened_elsewhere(const world *w, const char *path) {
  static char said[sizeof(faro_error)];
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const faro_spool_params settings = {.path = path, .tokens = w->hashes, .campaign = &w->campaign};
    faro_spool *second = NULL;
    faro_error refused = {0};
    const bool opened = faro_spool_open(&second, &settings, &refused) == FARO_OK;
    const size_t length = opened ? 0 : strlen(refused.message);
    _exit(write(ends[1], refused.message, length) == (ssize_t)length ? 0 : 1);
  }
  close(ends[1]);
  memset(said, 0, sizeof said);
  assert_true(read(ends[0], said, sizeof said - 1) >= 0);
  close(ends[0]);
  assert_int_equal(waitpid(child, NULL, 0), child);
  return said;
}

/* Two processes on one file would each collect a batch of their own. */
static void test_spool__a_link_is_no_way_around_the_lock(void **state) {
  (void)state;
  world w;
  char soft[128], hard[128];
  begin(&w, 5, 100, 10);
  open_spool(&w);
  snprintf(soft, sizeof soft, "%s/soft", w.folder);
  snprintf(hard, sizeof hard, "%s/hard", w.folder);
  assert_int_equal(symlink(w.state, soft), 0);
  assert_int_equal(link(w.state, hard), 0);
  assert_non_null(strstr(opened_elsewhere(&w, w.state), "another process"));
  assert_non_null(strstr(opened_elsewhere(&w, soft), "another process"));
  assert_non_null(strstr(opened_elsewhere(&w, hard), "another process"));
  faro_spool_close(w.spool);
  w.spool = NULL;
  assert_string_equal(opened_elsewhere(&w, soft), "");
  end(&w);
}

/* What is written to a deleted file is gone at the next start. */
static void test_spool__nothing_is_written_to_a_file_that_is_gone(void **state) {
  (void)state;
  world w;
  char moved[128];
  begin(&w, 5, 100, 10);
  open_spool(&w);
  snprintf(moved, sizeof moved, "%s/moved", w.folder);
  assert_ok(faro_spool_present(w.spool, error));
  assert_int_equal(rename(w.state, moved), 0);
  faro_error gone = {0};
  assert_int_equal(faro_spool_present(w.spool, &gone), FARO_SYSTEM);
  assert_non_null(strstr(gone.message, "state was moved or deleted"));
  assert_int_equal(faro_spool_begin(w.spool, NULL), FARO_SYSTEM);
  assert_int_equal(faro_spool_probe(w.spool, NULL), FARO_SYSTEM);
  FILE *other = fopen(w.state, "w");
  assert_non_null(other);
  fclose(other);
  gone = (faro_error){0};
  assert_int_equal(faro_spool_begin(w.spool, &gone), FARO_SYSTEM);
  assert_non_null(strstr(gone.message, "state was replaced"));
  assert_int_equal(rename(moved, w.state), 0);
  assert_ok(faro_spool_begin(w.spool, error));
  assert_int_equal(accept_one(&w, 0, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_ok(faro_spool_commit(w.spool, error));
  end(&w);
}

static void test_spool__a_state_that_others_may_read_is_refused(void **state) {
  (void)state;
  world w;
  struct stat info;
  begin(&w, 5, 100, 10);
  assert_int_equal(stat(w.hashes, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600); /* hashes show who takes part */
  open_spool(&w);
  faro_spool_close(w.spool);
  w.spool = NULL;
  assert_int_equal(chmod(w.state, 0644), 0);
  const faro_spool_params settings = {.path = w.state, .tokens = w.hashes, .campaign = &w.campaign};
  faro_error refused = {0};
  assert_int_equal(faro_spool_open(&w.spool, &settings, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "state must not be readable by others: chmod 600 (mode is 644)"));
  assert_int_equal(faro_spool_recognize(w.state, NULL), FARO_INVALID); /* --check-config */
  assert_int_equal(chmod(w.state, 0600), 0);
  open_spool(&w);
  end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spool__all_orders_are_equally_likely),
      cmocka_unit_test(test_spool__counts_as_the_release_does),
      cmocka_unit_test(test_spool__the_file_tells_no_order_of_arrival),
      cmocka_unit_test(test_spool__a_group_that_fails_leaves_nothing),
      cmocka_unit_test(test_spool__clients_of_a_failed_group_may_send_again),
      cmocka_unit_test(test_spool__clients_of_a_batch_that_could_not_close_count_once),
      cmocka_unit_test(test_counts__are_those_of_a_plain_array),
      cmocka_unit_test(test_spool__ends_with_its_campaign),
      cmocka_unit_test(test_spool__closes_every_batch_at_its_own_size),
      cmocka_unit_test(test_spool__tokens_come_and_go),
      cmocka_unit_test(test_spool__tokens_come_and_go_while_it_runs),
      cmocka_unit_test(test_spool__the_same_number_needs_the_same_bytes),
      cmocka_unit_test(test_spool__a_report_that_waited_has_the_mark_of_its_batch),
      cmocka_unit_test(test_spool__a_mark_of_a_batch_that_never_was_is_made_again),
      cmocka_unit_test(test_spool__a_closed_batch_is_folded_in_steps),
      cmocka_unit_test(test_spool__no_batch_outruns_the_folding),
      cmocka_unit_test(test_spool__every_batch_has_a_key_of_its_own),
      cmocka_unit_test(test_spool__refuses_a_state_without_its_reports),
      cmocka_unit_test(test_spool__refusals_alone_write_nothing),
      cmocka_unit_test(test_spool__a_log_that_could_not_be_emptied_is_emptied_later),
      cmocka_unit_test(test_spool__a_state_belongs_to_one_campaign_and_one_process),
      cmocka_unit_test(test_spool__a_link_is_no_way_around_the_lock),
      cmocka_unit_test(test_spool__nothing_is_written_to_a_file_that_is_gone),
      cmocka_unit_test(test_spool__a_state_that_others_may_read_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
