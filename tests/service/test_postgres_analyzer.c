/* Two analyzers with one database in PostgreSQL, behind two front-ends of a shuffler in the same
 * server: whatever is killed or paused, every acknowledged report counts once, the ledger is
 * debited once for each batch, and the policy is that of an applier in this program that was never
 * disturbed, byte for byte. Real processes; each run starts a server of its own (support/postgres),
 * so they are slow tests. */
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/database_server.h"
#include "support/support.h"

#include "base/clock.h"
#include "base/file.h"
#include "service/analyzer/applier.h"
#include "service/http/sender.h"
#include "service/state/spool.h"
#include "trial/trial.h"
#include "wire/verdict.h"

enum { B = 8, BATCHES = 6, PATH = 512, ROLES = 4, ANALYZERS = 2, BODY = 2048 };
static const double DEADLINE = 600; /* seconds, of whatever is waited for */

/* For slow tests, in a build with libpq. */
#define server_test()                                                                                        \
  do {                                                                                                       \
    slow_test();                                                                                             \
    if (faro_spool_database_check("postgresql://", NULL) != FARO_OK) skip();                                 \
  } while (0)

/* A process: analyzers 0 and 1, then front-ends 0 and 1. */
typedef struct role {
  char yaml[PATH], log[PATH];
  uint16_t port;
  int hold;
  faro_child child;
  bool paused;
} role;

typedef struct play {
  faro_trial trial;
  char directory[64], server[96], made[96], url[300];
  role role[ROLES];
  size_t roles; /* 2 if reports come to the analyzers themselves: there is no shuffler */
  faro_sender *sender;
  unsigned char body[BATCHES][B][BODY]; /* of the reports, as they were sent */
  uint64_t sum[BATCHES][64];
  atomic_uint posted; /* batches of which every report was acknowledged */
  atomic_bool stuck;  /* the deadline has passed */
  pthread_t poster;
} play;

static const char *command(void) {
  const char *given = getenv("FARO_COMMAND_COPY"); /* a long series must not be relinked under way */
  return given ? given : FARO_COMMAND;
}

/* Settings. */

/* Those that the trial has made, with other addresses, and the state in the server. */
static void write_settings(play *p, size_t index, size_t of, const char *more) {
  char path[FARO_TRIAL_PATH], *all = NULL;
  size_t length = 0;
  role *r = &p->role[index];
  faro_trial_file(&p->trial, of, ".yaml", path);
  assert_ok(faro_read_file(path, 1 << 16, &all, &length, error));
  FILE *file = fopen(r->yaml, "w");
  assert_non_null(file);
  fprintf(file, "listen: 127.0.0.1:%u\nstate: %s/keys-%zu\ndatabase: '%s'\n%s", r->port, p->directory, index,
          p->url, more);
  for (char *line = all, *end = NULL; (end = memchr(line, '\n', length - (size_t)(line - all)));
       line = end + 1)
    if (strncmp(line, "listen:", 7) != 0 && strncmp(line, "database:", 9) != 0 &&
        strncmp(line, "state:", 6) != 0 && strncmp(line, "analyzer:", 9) != 0)
      fprintf(file, "%.*s\n", (int)(end - line), line);
  assert_int_equal(fclose(file), 0);
  free(all);
}

static void start_role(play *p, size_t index) {
  role *r = &p->role[index];
  const char *const argv[] = {command(), index < ANALYZERS ? "analyzer" : "shuffler", "--config", r->yaml,
                              NULL};
  assert_ok(faro_child_start(&r->child, argv, r->log, error));
}

/* Asks a role; status 0 if it does not answer. */
static faro_sent ask(play *p, size_t index, const char *path) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent = {0};
  snprintf(url, sizeof url, "http://127.0.0.1:%u%s", p->role[index].port, path);
  if (faro_send_get(p->sender, url, &sent, NULL) != FARO_OK) sent = (faro_sent){.bytes = ""};
  return sent;
}

/* The analyzer that serves; ANALYZERS: none does now. */
static size_t active(play *p) {
  for (size_t i = 0; i < ANALYZERS; i++)
    if (!p->role[i].paused && faro_child_running(&p->role[i].child) && ask(p, i, "/readyz").status == 200)
      return i;
  return ANALYZERS;
}

/* As systemd: a role that has ended is started again. It ends by itself only if it cannot start, or
 * was replaced. */
static void supervise(play *p) {
  for (size_t i = 0; i < p->roles; i++) {
    role *r = &p->role[i];
    if (r->child.pid == 0) start_role(p, i);
    const pid_t before = r->child.pid;
    const int result = faro_child_wait(&r->child, 0);
    if (before != 0 && r->child.pid == 0) {
      if (result != 4) fail_msg("role %zu ended with %d; see %s", i, result, r->log);
      faro_sleep(0.1);
      start_role(p, i);
    }
  }
}

/* Waits until an answer has the status and the words, and starts again what ends meanwhile. */
static void becomes(play *p, size_t index, const char *path, long status, const char *words) {
  const double end = faro_clock() + DEADLINE;
  faro_sent sent = ask(p, index, path);
  while (faro_clock() < end && (sent.status != status || !strstr(sent.bytes, words))) {
    supervise(p);
    faro_sleep(0.05);
    sent = ask(p, index, path);
  }
  if (sent.status != status || !strstr(sent.bytes, words))
    fail_msg("%s: %ld %s instead of %ld %s", path, sent.status, sent.bytes, status, words);
}

static size_t wait_active(play *p) {
  const double end = faro_clock() + DEADLINE;
  size_t index = active(p);
  while (index == ANALYZERS && faro_clock() < end) {
    supervise(p);
    faro_sleep(0.05);
    index = active(p);
  }
  if (index == ANALYZERS) fail_msg("no analyzer serves; see %s", p->directory);
  return index;
}

/* The campaign, as the analyzer has signed it. */
static void learn_campaign(play *p) {
  const faro_sent sent = ask(p, wait_active(p), "/v1/campaign");
  assert_int_equal(sent.status, 200);
  assert_ok(faro_campaign_open(&p->trial.campaign, sent.bytes, sent.length, p->trial.sign.public_key, error));
}

static void open_play(play *p, const char *release, bool replica) {
  *p = (play){.directory = "/tmp/faro-postgres-XXXXXX"};
  char more[96];
  assert_non_null(mkdtemp(p->directory));
  assert_int_equal(chmod(p->directory, 0755), 0);
  snprintf(p->server, sizeof p->server, "%s/server", p->directory);
  snprintf(p->made, sizeof p->made, "%s/trial", p->directory);
  assert_int_equal(mkdir(p->server, 0755), 0);
  assert_int_equal(server_command("start", p->server), 0);
  if (replica) assert_int_equal(server_command("replica", p->server), 0);
  snprintf(p->url, sizeof p->url, "postgresql:///postgres?host=%s,%s/replica&user=faro", p->server,
           p->server);
  const faro_trial_params params = {.command = command(),
                                    .directory = p->made,
                                    .release = release,
                                    .dimension = 2,
                                    .arms = 2,
                                    .clients = B,
                                    .batch = B,
                                    .batches = BATCHES,
                                    .epsilon = 8,
                                    .delta = 1e-3,
                                    .honest = 1,
                                    .norm = 1,
                                    .high = 1,
                                    .keep = 1 << 20};
  assert_ok(faro_trial_create(&p->trial, &params, error));
  p->roles = p->trial.roles == 1 ? ANALYZERS : ROLES;
  for (size_t i = 0; i < p->roles; i++) {
    role *r = &p->role[i];
    snprintf(r->yaml, sizeof r->yaml, "%s/role-%zu.yaml", p->directory, i);
    snprintf(r->log, sizeof r->log, "%s/role-%zu.log", p->directory, i);
    assert_ok(faro_port_hold(&r->port, &r->hold, error));
  }
  snprintf(more, sizeof more, "standby: http://127.0.0.1:%u\nanalyzer: http://127.0.0.1:%u\n",
           p->role[1].port, p->role[0].port);
  for (size_t i = 0; i < p->roles; i++) write_settings(p, i, i >= ANALYZERS, i < ANALYZERS ? "" : more);
  assert_ok(faro_sender_create(&p->sender, &(faro_sender_params){.timeout = 40}, error));
}

static void end_roles(play *p, int number) {
  for (size_t i = 0; i < p->roles; i++) {
    if (p->role[i].child.pid == 0) continue;
    if (p->role[i].paused) assert_int_equal(kill(p->role[i].child.pid, SIGCONT), 0);
    (void)faro_child_end(&p->role[i].child, number, 60);
  }
}

static void close_play(play *p) {
  end_roles(p, SIGTERM);
  faro_sender_destroy(p->sender);
  for (size_t i = 0; i < p->roles; i++) close(p->role[i].hold);
  faro_trial_destroy(&p->trial);
  assert_int_equal(server_command("stop", p->server), 0);
  faro_trial_remove(p->directory);
}

/* Reports. */

static size_t body_size(const play *p) {
  return faro_wire_report_size(&p->trial.campaign) - FARO_REPORT_HEAD;
}

/* A random report of each client for each batch. */
static void write_reports(play *p, unsigned char *frames) {
  const faro_campaign *c = &p->trial.campaign;
  const size_t size = faro_wire_report_size(c), entries = faro_wire_report_entries(c);
  uint64_t numbers[64];
  assert_true(entries <= 64 && body_size(p) <= BODY);
  for (size_t b = 0; b < BATCHES; b++)
    for (size_t i = 0; i < B; i++) {
      const bool bits = faro_campaign_form(c) == FARO_WIRE_BITS;
      const int64_t least = bits ? faro_campaign_encoding(c, 0, b)->least : -500;
      unsigned char *frame = frames + (b * B + i) * size;
      faro_wire_report report = {.version = b + 1, .sequence = b + 1};
      memcpy(report.token, p->trial.tokens + i * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
      for (size_t j = 0; j < entries; j++) {
        numbers[j] = (uint64_t)(least + (int64_t)randombytes_uniform(1001));
        p->sum[b][j] += numbers[j];
      }
      assert_ok(faro_wire_report_write(c, &report, numbers, frame, error));
      memcpy(p->body[b][i], frame + FARO_REPORT_HEAD, body_size(p));
    }
}

/* Sends the next reports of a few clients to a random role, until all are acknowledged. */
static void *post_all(void *context) {
  play *p = context;
  const size_t size = faro_wire_report_size(&p->trial.campaign);
  unsigned char *frames = calloc(BATCHES * B, size), *some = malloc(B * size);
  size_t next[B] = {0}, done = 0;
  char url[FARO_URL_MAX + 1];
  faro_sender *sender = NULL;
  const double end = faro_clock() + DEADLINE;
  write_reports(p, frames);
  assert_ok(faro_sender_create(&sender, &(faro_sender_params){.timeout = 5}, error));
  while (done < BATCHES * B && faro_clock() < end) {
    size_t client[B], count = 0;
    faro_sent sent = {0};
    const size_t to = p->roles - 2 + randombytes_uniform(2);
    const size_t most = 1 + randombytes_uniform(4);
    for (size_t i = 0; i < B && count < most; i++)
      if (next[i] < BATCHES && randombytes_uniform(2)) {
        memcpy(some + count * size, frames + (next[i] * B + i) * size, size);
        client[count++] = i;
      }
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/reports", p->role[to].port);
    if (count == 0) continue;
    const faro_status status = faro_send_post(sender, url, some, count * size, &sent, NULL);
    if (status != FARO_OK || sent.status != 200 || sent.length != count) {
      faro_sleep(0.01);
      continue;
    }
    for (size_t i = 0; i < count; i++) {
      if (sent.bytes[i] > FARO_VERDICT_KNOWN) continue; /* the batch before is not closed yet */
      next[client[i]]++;
      done++;
    }
    size_t least = BATCHES;
    for (size_t i = 0; i < B; i++) least = next[i] < least ? next[i] : least;
    atomic_store(&p->posted, (unsigned)least);
  }
  atomic_store(&p->stuck, done < BATCHES * B);
  faro_sender_destroy(sender);
  free(frames);
  free(some);
  return NULL;
}

static bool posting(const play *p) { return atomic_load(&p->posted) < BATCHES && !atomic_load(&p->stuck); }

/* The truth. */

static faro_blob replay(play *p) {
  char path[FARO_TRIAL_PATH];
  faro_store *store = NULL;
  faro_applier *applier = NULL;
  faro_applier_keys keys = {.sign = p->trial.sign, .seal = p->trial.seal};
  const bool bits = faro_campaign_form(&p->trial.campaign) == FARO_WIRE_BITS;
  unsigned char *body = malloc(B * BODY + sizeof p->sum[0]);
  snprintf(path, sizeof path, "%s/truth.db", p->directory);
  assert_ok(faro_store_open(&store, path, FARO_READ_WRITE, error));
  assert_ok(faro_applier_create(&applier, store, &p->trial.campaign, &keys, error));
  for (uint64_t b = 0; b < BATCHES; b++) {
    faro_receipt receipt = FARO_RECEIPT_BAD;
    bool applied = false;
    for (size_t j = 0; bits && j < 64; j++) faro_store64(body + 8 * j, p->sum[b][j]);
    for (size_t i = 0; !bits && i < B; i++) memcpy(body + i * body_size(p), p->body[b][i], body_size(p));
    const faro_batch batch = {.number = b, .count = B, .body = body};
    assert_ok(faro_applier_take(applier, &batch, &receipt, error));
    assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
    assert_ok(faro_applier_step(applier, &applied, error));
    assert_true(applied);
    assert_int_equal(faro_applier_snapshot(applier).spoiled, 0);
  }
  const faro_applier_view view = faro_applier_snapshot(applier);
  faro_blob policy = {.bytes = malloc(view.length), .length = view.length};
  memcpy(policy.bytes, view.policy, view.length);
  faro_applier_destroy(applier);
  faro_store_close(store);
  free(body);
  return policy;
}

/* The ledger in the server: a row for each batch, in order, and a chain that ends in the signed
 * head. No analyzer is asked: one could be replaced in this moment. */
static void check_ledger(play *p) {
  faro_store *store = NULL;
  faro_debit debits[BATCHES + 1];
  size_t count = BATCHES + 1;
  char key[FARO_TRIAL_PATH], log[PATH];
  assert_ok(faro_store_open(&store, p->url, FARO_READ_ONLY, error));
  assert_ok(faro_store_debits(store, 0, debits, &count, error));
  faro_store_close(store);
  assert_int_equal(count, BATCHES);
  for (size_t b = 0; b < BATCHES; b++) {
    assert_int_equal(debits[b].batch, b);
    assert_int_equal(debits[b].charged, b + 1);
    assert_int_equal(debits[b].users, B);
  }
  faro_child verify = {0};
  const char *const argv[] = {command(),
                              "ledger",
                              "verify",
                              "--database",
                              p->url,
                              "--key",
                              faro_trial_file(&p->trial, 0, ".sign.public", key),
                              NULL};
  snprintf(log, sizeof log, "%s/verify.log", p->directory);
  assert_ok(faro_child_start(&verify, argv, log, error));
  assert_int_equal(faro_child_wait(&verify, DEADLINE), 0);
}

/* The policy after all batches, at whichever analyzer serves. */
static void check_policy(play *p) {
  const faro_blob policy = replay(p);
  const double end = faro_clock() + DEADLINE;
  bool same = false;
  while (!same && faro_clock() < end) {
    const faro_sent sent = ask(p, wait_active(p), "/v1/policy");
    same = sent.status == 200 && sent.length == policy.length &&
           memcmp(sent.bytes, policy.bytes, policy.length) == 0;
    if (!same) supervise(p);
    if (!same) faro_sleep(0.05);
  }
  if (!same) fail_msg("the policy is not that of a replay; see %s", p->directory);
  free(policy.bytes);
}

/* Faults. */

static void kill_role(play *p, size_t index) {
  (void)faro_child_end(&p->role[index].child, SIGKILL, 60);
  start_role(p, index);
}

/* Whether an analyzer that waits cannot open what the other one has: it has just been started. */
static bool lacks_keys(play *p, size_t index) {
  static const char why[] = "had published its key";
  const faro_sent sent = ask(p, index, "/healthz");
  return sent.length > 0 && memmem(sent.bytes, sent.length, why, sizeof why - 1);
}

/* Stops the analyzer that serves until the other one has taken over. If the other one cannot, it
 * may go on, and is stopped again. Returns which one it was. */
static size_t stop_active(play *p) {
  const double end = faro_clock() + DEADLINE;
  while (faro_clock() < end) {
    const size_t one = wait_active(p);
    role *r = &p->role[one];
    assert_int_equal(kill(r->child.pid, SIGSTOP), 0);
    r->paused = true;
    while (!lacks_keys(p, 1 - one) && faro_clock() < end)
      if (ask(p, 1 - one, "/readyz").status == 200) return one;
      else faro_sleep(0.05);
    assert_int_equal(kill(r->child.pid, SIGCONT), 0);
    r->paused = false;
    faro_sleep(1);
  }
  fail_msg("no analyzer has taken over for %.0f s; see %s", DEADLINE, p->directory);
  return 0;
}

/* The analyzer that serves hangs until the other one has taken over. When it wakes up, it finds
 * that out, and ends: so it has published and debited nothing since. */
static void pause_active(play *p) {
  const size_t one = stop_active(p);
  role *r = &p->role[one];
  assert_int_equal(kill(r->child.pid, SIGCONT), 0);
  assert_int_equal(faro_child_wait(&r->child, DEADLINE), 4);
  r->paused = false;
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_read_file(r->log, 1 << 26, &text, &length, error));
  assert_non_null(memmem(text, length, "\"event\":\"replaced\"", 18));
  free(text);
  start_role(p, one);
}

typedef enum fault { KILLS, SERVER, REPLICA, PAUSE, DIRECT } fault;

/* What is harmed in a moment of a run. `lost`: with the server's machine, that of the analyzer; in
 * DIRECT: an analyzer is paused, instead of the server killed. */
static void harm(play *p, fault kind, bool lost, unsigned moment) {
  const bool back = kind == REPLICA && moment == 0 && randombytes_uniform(2); /* and lost later */
  if (back || ((kind == SERVER || (kind == DIRECT && !lost)) && moment % 6 == 1)) {
    assert_int_equal(server_command("kill", p->server), 0);
    assert_int_equal(server_command("start", p->server), 0);
  } else if (kind == REPLICA && moment == 1) {
    const size_t one = lost ? wait_active(p) : ANALYZERS;
    assert_int_equal(server_command("kill", p->server), 0);
    if (lost) (void)faro_child_end(&p->role[one].child, SIGKILL, 60);
    assert_int_equal(server_command("promote", p->server), 0);
  } else if ((kind == PAUSE || (kind == DIRECT && lost)) && moment == 1) pause_active(p);
  else kill_role(p, randombytes_uniform((uint32_t)p->roles));
}

static void survive(play *p, fault kind, bool lost) {
  for (size_t i = 0; i < p->roles; i++) start_role(p, i);
  learn_campaign(p);
  becomes(p, 0, "/healthz", 200, "ok");
  becomes(p, 1, "/healthz", 200, "ok");
  assert_int_equal(pthread_create(&p->poster, NULL, post_all, p), 0);
  unsigned moment = 0;
  for (; posting(p) || moment < 2; moment++) {
    faro_sleep(0.04 * (1 + randombytes_uniform(15)) * (1 + moment / 50)); /* a slow machine gets there, too */
    harm(p, kind, lost, moment);
    supervise(p);
  }
  assert_int_equal(pthread_join(p->poster, NULL), 0);
  if (atomic_load(&p->stuck)) fail_msg("reports were not taken for %.0f s; see %s", DEADLINE, p->directory);
  check_policy(p);
  check_ledger(p);
}

/* Runs of a kind: FARO_POSTGRES_RUNS is a number for all, or one for each kind, with commas. */
static size_t runs(fault kind) {
  const char *text = getenv("FARO_POSTGRES_RUNS");
  for (fault i = 0; text && i < kind && strchr(text, ','); i++) text = strchr(text, ',') + 1;
  return text ? (size_t)atoi(text) : 1;
}

static void play_faults(fault kind) {
  for (size_t run = 0; run < runs(kind); run++) {
    play *p = malloc(sizeof *p);
    assert_non_null(p);
    const char *shuffled = (run + kind) % 2 ? "shuffle-bits" : "shuffle-gaussian";
    open_play(p, kind == DIRECT ? "local-gaussian" : shuffled, kind == REPLICA);
    survive(p, kind, run / 2 % 2 == (kind != DIRECT ? 0 : 1));
    close_play(p);
    free(p);
    print_message("run %zu of kind %d is good\n", run + 1, (int)kind);
  }
}

static void test_postgres_analyzer__counts_once_if_roles_are_killed(void **state) {
  (void)state;
  server_test();
  play_faults(KILLS);
}

static void test_postgres_analyzer__counts_once_if_the_server_is_killed(void **state) {
  (void)state;
  server_test();
  play_faults(SERVER);
}

static void test_postgres_analyzer__counts_once_if_the_server_and_an_analyzer_are_lost(void **state) {
  (void)state;
  server_test();
  play_faults(REPLICA);
}

static void test_postgres_analyzer__is_fenced_if_it_was_paused_and_replaced(void **state) {
  (void)state;
  server_test();
  play_faults(PAUSE);
}

/* The analyzers collect themselves: each is a keeper of the open batch. */
static void test_postgres_analyzer__counts_once_what_it_collects_itself(void **state) {
  (void)state;
  server_test();
  play_faults(DIRECT);
}

/* A front-end that was cut off. */

/* Sends the reports of all clients for batches from .. to - 1 to a front-end, until all are
 * acknowledged. */
static void post_batches(play *p, const unsigned char *frames, size_t from, size_t to, size_t index) {
  const size_t size = faro_wire_report_size(&p->trial.campaign);
  const double end = faro_clock() + DEADLINE;
  char url[FARO_URL_MAX + 1];
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/reports", p->role[index].port);
  for (size_t i = from * B; i < to * B;) {
    faro_sent sent = {0};
    const bool answered =
        faro_send_post(p->sender, url, frames + i * size, size, &sent, NULL) == FARO_OK && sent.status == 200;
    if (answered && sent.bytes[0] <= FARO_VERDICT_KNOWN) i++;
    else faro_sleep(0.02); /* the batch before is not closed yet */
    if (faro_clock() > end) fail_msg("report %zu was not taken; see %s", i, p->directory);
  }
}

/* Waits for a policy, and starts nobody. */
static void await_policy(play *p, size_t version) {
  const double end = faro_clock() + DEADLINE;
  char path[64];
  snprintf(path, sizeof path, "/v1/policy?after=%zu", version - 1);
  while (ask(p, 0, path).status != 200) {
    if (faro_clock() > end) fail_msg("policy %zu does not come; see %s", version, p->directory);
    faro_sleep(0.02);
  }
}

static bool log_has(const role *r, const char *words) {
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_read_file(r->log, 1 << 26, &text, &length, error));
  const bool has = memmem(text, length, words, strlen(words)) != NULL;
  free(text);
  return has;
}

static void await_log(const role *r, const char *words) {
  const double end = faro_clock() + DEADLINE;
  while (!log_has(r, words) && faro_clock() < end) faro_sleep(0.02);
  if (!log_has(r, words)) fail_msg("%s does not say %s", r->log, words);
}

/* Stops a front-end, and the server ends its sessions. */
static void cut_off(play *p, size_t index) {
  assert_int_equal(kill(p->role[index].child.pid, SIGSTOP), 0);
  p->role[index].paused = true;
  server_query(
      p->server, "",
      "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'faro'");
}

/* A front-end with a batch in its hand is cut off, and another one hands over this batch and the
 * next ones. When it comes back, nobody takes it for an old copy; and when the other one is lost,
 * it goes on. */
static void test_postgres_analyzer__a_front_end_that_was_cut_off_comes_back(void **state) {
  (void)state;
  server_test();
  enum { ANALYZER = 0, OTHER = 2, CUT = 3 };
  play *p = malloc(sizeof *p);
  assert_non_null(p);
  open_play(p, "shuffle-bits", false);
  for (size_t i = 0; i < p->roles; i++) start_role(p, i);
  learn_campaign(p);
  for (size_t i = 0; i < p->roles; i++) becomes(p, i, "/healthz", 200, "ok");
  unsigned char *frames = calloc(BATCHES * B, faro_wire_report_size(&p->trial.campaign));
  assert_non_null(frames);
  write_reports(p, frames);
  for (size_t i = 0; i < CUT; i++) (void)faro_child_end(&p->role[i].child, SIGKILL, 60);
  post_batches(p, frames, 0, 1, CUT);
  await_log(&p->role[CUT], "\"event\":\"batch-not-sent\"");
  cut_off(p, CUT);
  start_role(p, ANALYZER);
  start_role(p, OTHER);
  post_batches(p, frames, 1, 3, OTHER);
  await_policy(p, 4);
  assert_int_equal(kill(p->role[CUT].child.pid, SIGCONT), 0);
  p->role[CUT].paused = false;
  becomes(p, CUT, "/healthz", 200, "ok");
  (void)faro_child_end(&p->role[OTHER].child, SIGKILL, 60);
  post_batches(p, frames, 3, 4, CUT);
  await_policy(p, 5);
  post_batches(p, frames, 4, BATCHES, CUT);
  assert_false(log_has(&p->role[ANALYZER], "old copy"));
  check_policy(p);
  check_ledger(p);
  free(frames);
  close_play(p);
  free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_postgres_analyzer__a_front_end_that_was_cut_off_comes_back),
      cmocka_unit_test(test_postgres_analyzer__counts_once_if_roles_are_killed),
      cmocka_unit_test(test_postgres_analyzer__counts_once_if_the_server_is_killed),
      cmocka_unit_test(test_postgres_analyzer__counts_once_if_the_server_and_an_analyzer_are_lost),
      cmocka_unit_test(test_postgres_analyzer__is_fenced_if_it_was_paused_and_replaced),
      cmocka_unit_test(test_postgres_analyzer__counts_once_what_it_collects_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
