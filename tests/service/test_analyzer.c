/* analyzer, as a process: batches are applied once and in order, whenever it is killed, and the
 * published policies equal, to the bit, those of a release and a learner in this process that get
 * the same batches. */
#define _GNU_SOURCE /* prlimit */
#include "support/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/analyzer/applier.h"
#include "service/http/sender.h"
#include "service/shuffler/watch.h"
#include "support/stage.h"
#include "wire/bytes.h"

enum { DIMENSION = 3, BATCH = 50, TEXT = 4096 };

/* A trial: a folder with keys and settings, a process, and the same computation in this one. */
typedef struct trial {
  char folder[64], config[128];
  faro_applier_keys keys;
  faro_sign_key shuffler[2];
  size_t shufflers;
  pid_t pid;
  int port;
  faro_sender *sender;
  faro_campaign campaign;
  faro_release *client, *release; /* the randomizer, and the analyzer's part */
  faro_updater *learner;
  faro_secure_rng *secure;
  faro_sim_rng sim;
} trial;

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void make_keys(trial *t) {
  char path[128];
  assert_ok(faro_sign_key_make(&t->keys.sign, error));
  assert_ok(faro_seal_key_make(&t->keys.seal, error));
  snprintf(path, sizeof path, "%s/sign", t->folder);
  assert_ok(faro_key_save(path, FARO_SIGN_SECRET, t->keys.sign.secret, FARO_SECRET_BYTES, error));
  snprintf(path, sizeof path, "%s/seal", t->folder);
  assert_ok(faro_key_save(path, FARO_SEAL_SECRET, t->keys.seal.secret, FARO_KEY_BYTES, error));
  for (size_t i = 0; i < 2; i++) assert_ok(faro_sign_key_make(&t->shuffler[i], error));
}

static void write_config(const trial *t, const char *release, const char *more) {
  char text[TEXT];
  char key[2 * FARO_KEY_BYTES + 1];
  size_t used = (size_t)snprintf(
      text, sizeof text,
      "listen: 127.0.0.1:0\nurl: http://127.0.0.1:8400\ndatabase: %s/db\nsign: %s/sign\nseal: %s/seal\n"
      "campaign:\n  id: trial\n  dimension: %d\n  arms: 4\n  release: %s\n  delta: 1e-6\n  batch: %d\n%s%s",
      t->folder, t->folder, t->folder, DIMENSION, release, BATCH,
      strstr(more, "honest") ? "" : "  honest: 1\n", more);
  if (t->shufflers > 0) used += (size_t)snprintf(text + used, sizeof text - used, "shufflers:\n");
  for (size_t i = 0; i < t->shufflers; i++) {
    sodium_bin2hex(key, sizeof key, t->shuffler[i].public_key, FARO_KEY_BYTES);
    used += (size_t)snprintf(text + used, sizeof text - used, "  - {url: 'http://127.0.0.1:%d', key: '%s'}\n",
                             9001 + (int)i, key);
  }
  write_text(t->config, text);
}

/* The process. */

/* Reads the port from the process's log, from the line that says that it is ready. */
static void await_ready(trial *t, const char *path) {
  for (int i = 0; i < 30000; i++) {
    char *text = NULL;
    size_t length = 0;
    assert_ok(faro_read_file(path, (1 << 16) - 1, &text, &length, error));
    text[length] = '\0'; /* there is room: faro_read_file reads 2^16 bytes at once */
    const char *ready = strstr(text, "\"event\":\"ready\"");
    const char *port = ready ? strstr(ready - 100 < text ? text : ready - 100, "\"port\":") : NULL;
    if (port) t->port = atoi(port + 7);
    const bool ended = !port && waitpid(t->pid, NULL, WNOHANG) != 0;
    if (ended) print_error("%s", text);
    free(text);
    if (port) return;
    if (ended) break;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  fail_msg("the analyzer did not start");
}

static void start(trial *t) {
  char path[128];
  snprintf(path, sizeof path, "%s/log", t->folder);
  const int log = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  assert_true(log >= 0);
  const pid_t parent = getpid();
  t->pid = fork();
  assert_true(t->pid >= 0);
  if (t->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test must leave no process behind */
    if (getppid() != parent) _exit(127);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl(FARO_COMMAND, "faro", "analyzer", "--config", t->config, (char *)NULL);
    _exit(127);
  }
  close(log);
  await_ready(t, path);
}

static int stop(trial *t, int with) {
  int status = 0;
  assert_int_equal(kill(t->pid, with), 0);
  assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
  t->pid = 0;
  return status;
}

/* Runs a start that must fail and returns its message. */
static void refused_with(const trial *t, const char *words, int code) {
  char command[TEXT];
  char said[TEXT];
  snprintf(command, sizeof command, "'%s' analyzer --config '%s' 2>&1", FARO_COMMAND, t->config);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  const size_t length = fread(said, 1, sizeof said - 1, pipe);
  said[length] = '\0';
  const int status = pclose(pipe);
  if (!strstr(said, words)) fail_msg("\"%s\" is not in: %s", words, said);
  assert_int_equal(WEXITSTATUS(status), code);
}

static void refused(const trial *t, const char *words) { refused_with(t, words, 3); }

static faro_sent get(trial *t, const char *path) {
  char url[256];
  faro_sent sent = {0};
  snprintf(url, sizeof url, "http://127.0.0.1:%d%s", t->port, path);
  assert_ok(faro_send_get(t->sender, url, &sent, error));
  return sent;
}

/* Returns the status; 0 if there was no answer. */
static long post(faro_sender *sender, int port, const char *path, const void *bytes, size_t length) {
  char url[256];
  faro_sent sent = {0};
  snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
  return faro_send_post(sender, url, bytes, length, &sent, NULL) == FARO_OK ? sent.status : 0;
}

/* Posts a batch with its notice, made from the numbers in its head and signed by its shuffler.
 * `query` is the end of the address. */
static faro_status try_batch_with(const trial *t, faro_sender *sender, const char *query,
                                  const unsigned char *frame, size_t length, faro_sent *sent) {
  char url[128], notice[FARO_NOTICE_DIGITS + 1], header[32 + FARO_NOTICE_DIGITS];
  const faro_batch head = {.shuffler = faro_load32(frame + 20),
                           .number = faro_load64(frame + 24),
                           .count = faro_load64(frame + 32)};
  snprintf(url, sizeof url, "http://127.0.0.1:%d/v1/batches%s", t->port, query);
  faro_notice_write(&t->campaign, &head, &t->shuffler[head.shuffler], notice);
  snprintf(header, sizeof header, "Faro-Batch: %s", notice);
  return faro_send_post_with(sender, url, header, frame, length, sent, NULL);
}

static faro_status try_batch(const trial *t, faro_sender *sender, const unsigned char *frame, size_t length,
                             faro_sent *sent) {
  return try_batch_with(t, sender, "", frame, length, sent);
}

static long post_batch(const trial *t, const unsigned char *frame, size_t length) {
  faro_sent sent = {0};
  return try_batch(t, t->sender, frame, length, &sent) == FARO_OK ? sent.status : 0;
}

/* The same computation in this process. */

static void join(trial *t) {
  const faro_sent sent = get(t, "/v1/campaign");
  assert_int_equal(sent.status, 200);
  faro_campaign *c = &t->campaign;
  assert_ok(faro_campaign_open(c, sent.bytes, sent.length, t->keys.sign.public_key, error));
  assert_ok(faro_release_create(&t->client, c->release, &c->contribution, &c->params,
                                faro_source_client(t->secure), error));
  assert_ok(faro_release_create(&t->release, c->release, &c->contribution, &c->params,
                                faro_source_server(t->secure), error));
  const faro_updater_params params = {.dimension = DIMENSION,
                                      .horizon = c->params.horizon,
                                      .ends = true,
                                      .releases = c->batches,
                                      .norm = 1,
                                      .failure = 0.1,
                                      .reward = 0.5, /* rewards in [0, 1] */
                                      .calibration = FARO_CALIBRATION_TIGHT,
                                      .noise = faro_release_noise(t->release)};
  assert_ok(faro_updater_create(&t->learner, faro_learner_find(c->learner), &params, error));
}

static void open_trial(trial *t, const char *release, size_t shufflers, const char *more) {
  const faro_sender_params settings = {.timeout = 120};
  *t = (trial){.shufflers = shufflers};
  snprintf(t->folder, sizeof t->folder, "/tmp/faro-analyzer-XXXXXX");
  assert_non_null(mkdtemp(t->folder));
  snprintf(t->config, sizeof t->config, "%s/analyzer.yaml", t->folder);
  make_keys(t);
  write_config(t, release, more);
  assert_ok(faro_sender_create(&t->sender, &settings, error));
  assert_ok(faro_secure_open(&t->secure, error));
  faro_sim_open(&t->sim, 7, 1, FARO_ROLE_CONTEXT);
  start(t);
  join(t);
}

static void close_trial(trial *t) {
  char command[256];
  if (t->pid > 0) assert_int_equal(stop(t, SIGTERM), 0);
  faro_updater_destroy(t->learner);
  faro_release_destroy(t->release);
  faro_release_destroy(t->client);
  faro_secure_close(t->secure);
  faro_sender_destroy(t->sender);
  snprintf(command, sizeof command, "rm -r '%s'", t->folder);
  assert_int_equal(system(command), 0);
}

/* Randomizes a random context and a reward in [0, 1], centred, as a client does. */
static void randomize(trial *t, uint64_t *message) {
  double x[DIMENSION];
  for (size_t i = 0; i < DIMENSION; i++) x[i] = faro_sim_uniform(&t->sim) - 0.5;
  const double reward = faro_sim_bernoulli(&t->sim, 0.7) ? 1 : 0;
  assert_ok(faro_release_randomize(t->client, x, reward - t->campaign.centre, message, error));
}

/* The policy after `version` must be that of the release and learner in this process. */
static void assert_same_policy(trial *t, uint64_t version) {
  char path[64];
  faro_policy_document document = {0};
  snprintf(path, sizeof path, "/v1/policy?after=%llu", (unsigned long long)version - 1);
  const faro_sent sent = get(t, path);
  assert_int_equal(sent.status, 200);
  assert_ok(faro_policy_document_open(&document, sent.bytes, sent.length, t->keys.sign.public_key, error));
  const faro_policy *want = faro_updater_policy(t->learner), got = document.policy;
  assert_int_equal(got.version, version);
  assert_memory_equal(document.campaign, t->campaign.digest, FARO_DIGEST_BYTES);
  assert_int_equal(got.dimension, DIMENSION);
  assert_int_equal(got.rule, want->rule);
  assert_memory_equal(&got.beta, &want->beta, sizeof got.beta);
  assert_memory_equal(got.theta, want->theta, DIMENSION * sizeof *got.theta);
  assert_memory_equal(got.w, want->w, DIMENSION * (DIMENSION + 1) / 2 * sizeof *got.w);
  faro_policy_document_clear(&document);
}

static void learn(trial *t, const void *messages, size_t count) {
  assert_ok(faro_release_analyze(t->release, messages, count, error));
  const faro_statistics statistics = faro_release_statistics(t->release);
  faro_updater_update(t->learner, &statistics);
}

static json_t *get_json(trial *t, const char *path) {
  const faro_sent sent = get(t, path);
  assert_int_equal(sent.status, 200);
  json_t *json = json_loadb(sent.bytes, sent.length, 0, NULL);
  assert_non_null(json);
  return json;
}

/* Checks that this many batches are charged, each once. */
static void assert_ledger(trial *t, uint64_t batches) {
  json_t *json = get_json(t, "/v1/ledger");
  json_int_t charged = 0;
  json_int_t allowed = 0;
  const json_t *rows = json_object_get(json, "rows");
  assert_int_equal(json_unpack(json, "{s{sI sI}}", "batches", "charged", &charged, "allowed", &allowed), 0);
  assert_int_equal(charged, batches);
  assert_int_equal(allowed, t->campaign.batches);
  assert_int_equal(json_array_size(rows), batches);
  for (size_t i = 0; i < batches; i++) {
    const json_t *row = json_array_get(rows, i);
    assert_int_equal(json_integer_value(json_object_get(row, "batch")), i);
    assert_int_equal(json_integer_value(json_object_get(row, "version")), i + 2);
    assert_true(json_number_value(json_object_get(row, "epsilon")) <= t->campaign.claim.epsilon);
  }
  json_decref(json);
}

/* Frames of bit sums. */

/* A user's message has one part per shuffler; adds part `part` to the totals. */
static void add_up(trial *t, const uint64_t *message, uint64_t *total) {
  const size_t entries = faro_wire_report_entries(&t->campaign);
  for (size_t i = 0; i < entries; i++) total[i] += message[i];
}

static size_t frame_totals(const trial *t, uint32_t shuffler, uint64_t number, const uint64_t *total,
                           unsigned char *out) {
  unsigned char body[TEXT];
  const size_t entries = faro_wire_report_entries(&t->campaign);
  for (size_t i = 0; i < entries; i++) faro_store64(body + 8 * i, total[i]);
  const faro_batch batch = {
      .shuffler = shuffler, .number = number, .count = t->campaign.encoding[shuffler].size, .body = body};
  faro_batch_write(&t->campaign, &batch, &t->shuffler[shuffler], out);
  return faro_batch_size(&t->campaign, batch.count);
}

static size_t make_batch(trial *t, uint64_t number, uint64_t *total, unsigned char *out) {
  uint64_t message[64];
  memset(total, 0, 64 * sizeof *total);
  for (size_t i = 0; i < BATCH; i++) {
    randomize(t, message);
    add_up(t, message, total);
  }
  return frame_totals(t, 0, number, total, out);
}

/* Kills the process during a post. */
typedef struct bold_post {
  const trial *trial;
  const unsigned char *frame;
  size_t length;
} bold_post;

static void *post_boldly(void *context) {
  const bold_post *p = context;
  const faro_sender_params settings = {.timeout = 5};
  faro_sender *sender = NULL;
  assert_ok(faro_sender_create(&sender, &settings, error));
  faro_sent sent = {0};
  (void)try_batch(p->trial, sender, p->frame, p->length, &sent);
  faro_sender_destroy(sender);
  return NULL;
}

static void kill_amid(trial *t, const unsigned char *frame, size_t length, double seconds) {
  bold_post p = {t, frame, length};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, post_boldly, &p), 0);
  nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
  stop(t, SIGKILL);
  pthread_join(thread, NULL);
  start(t);
}

static const char EVENT[] = "  level: event\n  epsilon: 2\n  horizon: 1000\n";

static void test_analyzer__killed_at_any_moment_it_publishes_what_the_simulator_would(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  uint64_t total[64];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  assert_same_policy(&t, 1);
  assert_ledger(&t, 0);
  for (uint64_t b = 0; b < t.campaign.batches; b++) {
    const size_t length = make_batch(&t, b, total, frame);
    if (b % 2 == 1)
      kill_amid(&t, frame, length, 0.002 * (double)(b % 10)); /* up to about the time that a post takes */
    assert_int_equal(post_batch(&t, frame, length), 200);
    if (b % 5 == 3) {
      stop(&t, SIGKILL); /* acknowledged, applied or not */
      start(&t);
    }
    assert_int_equal(post_batch(&t, frame, length), 200); /* known */
    learn(&t, total, 1);
    assert_same_policy(&t, b + 2);
    assert_ledger(&t, b + 1);
  }
  const size_t length = make_batch(&t, t.campaign.batches, total, frame); /* beyond the budget */
  assert_int_equal(post_batch(&t, frame, length), 401);
  assert_ledger(&t, t.campaign.batches);
  close_trial(&t);
}

static void test_analyzer__several_shufflers_are_waited_for_and_put_together_as_due(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  uint64_t message[128], low[64], high[64] = {0}, reports[128];
  open_trial(&t, "concurrent-bits", 2, EVENT);
  const size_t entries = faro_wire_report_entries(&t.campaign);
  const uint64_t unit = t.campaign.encoding[1].size / BATCH;
  assert_true(unit >= 2);
  for (uint64_t b = 0; b < t.campaign.batches; b++) {
    memset(low, 0, sizeof low);
    const bool active = faro_campaign_active(&t.campaign, 1, b);
    for (size_t i = 0; i < BATCH; i++) {
      randomize(&t, message);
      add_up(&t, message, low);
      if (active) add_up(&t, message + entries, high);
    }
    const size_t due = faro_release_expected(t.release);
    const bool both = due == 2;
    memcpy(reports, low, entries * sizeof *low);
    memcpy(reports + entries, high, entries * sizeof *high);
    learn(&t, reports, due);
    size_t length = frame_totals(&t, 0, b, low, frame);
    assert_int_equal(post_batch(&t, frame, length), 200);
    if (both) { /* nothing is published before the other one has arrived */
      json_t *json = get_json(&t, "/v1/status.json");
      assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "policy"), "version")),
                       b + 1);
      json_decref(json);
      if (b > unit) {
        stop(&t, SIGKILL);
        start(&t);
      }
      length = frame_totals(&t, 1, b / unit, high, frame);
      assert_int_equal(post_batch(&t, frame, length), 200);
      memset(high, 0, sizeof high);
    }
    assert_same_policy(&t, b + 2);
  }
  assert_ledger(&t, t.campaign.batches);
  close_trial(&t);
}

static void test_analyzer__bad_batches_are_refused_with_a_reason(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  unsigned char *large = calloc(1, 3 << 20);
  uint64_t total[64];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  size_t length = make_batch(&t, 0, total, frame);
  frame[length - 1] ^= 1; /* signature */
  assert_int_equal(post_batch(&t, frame, length), 400);
  frame[length - 1] ^= 1;
  assert_int_equal(post_batch(&t, frame, length - 1), 400);
  frame[4] ^= 1; /* campaign */
  assert_int_equal(post_batch(&t, frame, length), 400);
  length = frame_totals(&t, 0, 1, total, frame); /* not the next one: as after an old copy was restored */
  faro_sent sent = {0};
  assert_int_equal(try_batch(&t, t.sender, frame, length, &sent), FARO_OK);
  assert_int_equal(sent.status, 409);
  assert_non_null(strstr(sent.bytes, "an old copy of the analyzer's database was restored"));
  total[0] = (uint64_t)t.campaign.encoding[0].most * BATCH + 1;
  length = frame_totals(&t, 0, 0, total, frame);
  assert_int_equal(post_batch(&t, frame, length), 400);
  const long told = post(t.sender, t.port, "/v1/batches", large, 3 << 20);
  assert_true(told == 413 || told == 0); /* 0: the server closed the connection before all was sent */
  assert_int_equal(post(t.sender, t.port, "/v1/reports", frame, length),
                   404); /* reports go to the shuffler */
  length = make_batch(&t, 0, total, frame);
  assert_int_equal(post_batch(&t, frame, length), 200);
  total[0] ^= 1;
  length = frame_totals(&t, 0, 0, total, frame); /* the same number, but another batch */
  assert_int_equal(post_batch(&t, frame, length), 409);
  assert_int_equal(get(&t, "/v1/policy?after=x").status, 400);
  free(large);
  close_trial(&t);
}

static void change_database(const trial *t, const char *sql) {
  sqlite3 *other = NULL;
  char path[128];
  snprintf(path, sizeof path, "%s/db", t->folder);
  assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
  sqlite3_busy_timeout(other, 60000);
  assert_int_equal(sqlite3_exec(other, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(other);
}

/* A shuffler that has seen a later epoch must not lose a batch to an analyzer that was replaced.
 * One that has not seen this epoch yet may have handed the batch to the analyzer before. */
static void test_analyzer__takes_batches_of_its_own_epoch_only(void **state) {
  (void)state;
  static const struct {
    const char *query;
    long before, after; /* statuses in epoch 0 and in epoch 1 */
  } cases[] = {{"?epoch=2", 503, 503}, {"?epoch=01", 503, 503}, {"?epoch=1", 503, 200}, {"", 200, 503}};
  trial t;
  unsigned char frame[TEXT];
  uint64_t total[64];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  for (uint64_t epoch = 0; epoch < 2; epoch++) {
    const size_t length = make_batch(&t, epoch, total, frame);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      faro_sent sent = {0};
      const long wanted = epoch == 0 ? cases[i].before : cases[i].after;
      assert_ok(try_batch_with(&t, t.sender, cases[i].query, frame, length, &sent));
      if (sent.status != wanted) fail_msg("%s: %ld %s", cases[i].query, sent.status, sent.bytes);
      if (wanted == 503) assert_non_null(strstr(sent.bytes, "of another epoch"));
    }
    assert_int_equal(get(&t, epoch == 0 ? "/v1/policy?after=1" : "/v1/policy?after=2").status, 200);
    assert_int_equal(stop(&t, SIGTERM), 0);
    if (epoch == 0) change_database(&t, "INSERT INTO epoch VALUES (1, 1, 1)");
    start(&t);
  }
  assert_ledger(&t, 2);
  close_trial(&t);
}

/* Sends the headers of a batch, including `line`, and no body; returns the answer, "" if none comes
 * within `seconds`. */
static void hear_before_body(const trial *t, const char *line, size_t length, int seconds, char *answer,
                             size_t size) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)t->port)};
  const struct timeval most = {seconds, 0};
  char text[1024];
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int to = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  assert_int_equal(connect(to, (const struct sockaddr *)&address, sizeof address), 0);
  snprintf(text, sizeof text, "POST /v1/batches HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n", line,
           length);
  assert_int_equal(send(to, text, strlen(text), MSG_NOSIGNAL), strlen(text));
  const ssize_t got = recv(to, answer, size - 1, 0);
  answer[got > 0 ? got : 0] = '\0';
  close(to);
}

/* Only shufflers of the campaign may send large bodies: others are refused before the body. */
static void test_analyzer__strangers_are_refused_before_they_send(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-gaussian", 1, EVENT);
  const size_t length = faro_batch_size(&t.campaign, BATCH);
  faro_batch head = {.count = BATCH};
  char notice[FARO_NOTICE_DIGITS + 1], line[64 + FARO_NOTICE_DIGITS], answer[1024];
  hear_before_body(&t, "", length, 120, answer, sizeof answer);
  assert_memory_equal(answer, "HTTP/1.1 401 ", 13);
  assert_non_null(strstr(answer, "the header Faro-Batch is required"));
  faro_notice_write(&t.campaign, &head, &t.shuffler[1], notice); /* a key that is not in the campaign */
  snprintf(line, sizeof line, "Faro-Batch: %s\r\n", notice);
  hear_before_body(&t, line, length, 120, answer, sizeof answer);
  assert_memory_equal(answer, "HTTP/1.1 401 ", 13);
  assert_non_null(strstr(answer, "is not that of shuffler 0"));
  faro_notice_write(&t.campaign, &head, &t.shuffler[0], notice);
  snprintf(line, sizeof line, "Faro-Batch: %s\r\n", notice);
  hear_before_body(&t, line, length, 1, answer, sizeof answer);
  assert_string_equal(answer, ""); /* no answer yet: the body may follow */
  const faro_sent sent = get(&t, "/metrics");
  assert_non_null(strstr(sent.bytes, "faro_analyzer_batches_total{result=\"bad\"} 2\n"));
  close_trial(&t);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Ends the analyzer in a while. */
typedef struct ending {
  pid_t pid;
  double seconds;
} ending;

static void *stop_soon(void *context) {
  const ending *e = context;
  faro_sleep(e->seconds);
  assert_int_equal(kill(e->pid, SIGTERM), 0);
  return NULL;
}

/* Waits for a policy until the analyzer ends. Returns the status; 0 if there was no answer. */
static long wait_to_the_end(trial *t, double seconds) {
  char url[128];
  faro_sent sent = {0};
  pthread_t thread;
  ending end = {t->pid, seconds};
  const double begun = now();
  snprintf(url, sizeof url, "http://127.0.0.1:%d/v1/policy?after=1", t->port);
  assert_int_equal(pthread_create(&thread, NULL, stop_soon, &end), 0);
  const bool answered = faro_send_get(t->sender, url, &sent, NULL) == FARO_OK;
  if (answered && sent.status == 304) assert_true(now() - begun >= 0.8 * seconds);
  pthread_join(thread, NULL);
  int status = 0;
  assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
  assert_int_equal(status, 0);
  t->pid = 0;
  return answered ? sent.status : 0;
}

static void test_analyzer__who_waits_for_a_policy_is_answered_at_the_end(void **state) {
  (void)state;
  trial t;
  long status = 0;
  open_trial(&t, "shuffle-bits", 1, EVENT);
  assert_int_equal(get(&t, "/v1/policy").status, 200);
  /* On a busy machine the analyzer may end before the request is there: then it ends later. */
  for (double seconds = 0.2; status != 304 && seconds < 100; seconds *= 2) {
    if (t.pid == 0) start(&t);
    status = wait_to_the_end(&t, seconds);
  }
  assert_int_equal(status, 304);
  close_trial(&t);
}

static void test_analyzer__the_first_campaign_stays(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-bits", 1, EVENT);
  assert_int_equal(stop(&t, SIGTERM), 0);
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: 3\n  horizon: 1000\n");
  refused(&t, "campaign.epsilon differs");
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 2000\n");
  refused(&t, "campaign.horizon differs");
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\n  high: 2\n");
  refused(&t, "campaign.high differs");
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\n  honest: 0.9\n");
  refused(&t, "campaign.honest differs");
  const faro_sign_key other = t.shuffler[0];
  t.shuffler[0] = t.shuffler[1];
  write_config(&t, "shuffle-bits", EVENT);
  refused(&t, "shufflers differs");
  t.shuffler[0] = other;
  t.shufflers = 0;
  write_config(&t, "shuffle-bits", EVENT);
  refused(&t, "shufflers must be 1");
  t.shufflers = 1;
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: -1\n  horizon: 1000\n");
  refused(&t, "analyzer.yaml:15: campaign.epsilon must be");
  write_config(&t, "shuffle-bits", "  epsilon: 2\n  horizon: 1000\n");
  refused(&t, "analyzer.yaml:6: campaign.level is missing: user (all reports of a client together) or event");
  write_config(&t, "shuffle-bits", EVENT);
  start(&t);
  close_trial(&t);
}

/* Messages name the file, the value and what is allowed. */
static void test_analyzer__a_campaign_is_refused_by_the_name_of_its_file(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-bits", 1, EVENT);
  assert_int_equal(stop(&t, SIGTERM), 0);
  static const struct {
    const char *release, *more, *words;
  } cases[] = {
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 9\n",
       "analyzer.yaml: batch must be at most the horizon, 9 (got 50)"},
      {"shuffle-bits", "  level: event\n  contributions: 2\n  epsilon: 2\n  horizon: 1000\n",
       "analyzer.yaml: contributions must be 1 under level event (got 2)"},
      {"shuffle-bits", "  level: event\n  low: 2\n  epsilon: 2\n  horizon: 1000\n",
       "analyzer.yaml: campaign.low must be below campaign.high (got 2 and 1)"},
      {"local", "  level: event\n  epsilon: 2\n  horizon: 1000\n",
       "analyzer.yaml: shufflers must be 0 for local-response (got 1)"},
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\nconstant: -1\n",
       "analyzer.yaml: constant must not be 0 and must be smaller than campaign.norm, which is 1 (got -1)"},
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\n  learner: rs-glm\n",
       "analyzer.yaml: campaign.learner must be one of linucb"},
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\n  learner: lin ucb\n",
       "analyzer.yaml: campaign.learner must be one of linucb, posterior, lints, greedy, uniform, dpe, pe, "
       "hanna, glm-batched (got lin ucb"},
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\nsettings: [{name: scale, value: 2}]\n",
       "analyzer.yaml: settings: posterior has no setting scale"},
      {"shuffle-bits",
       "  level: event\n  epsilon: 2\n  horizon: 1000\n  learner: lints\nsettings: [{name: scale, value: "
       "-2}]\n",
       "analyzer.yaml: settings: scale must be a number from 0.001 to"},
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\n  growth: 0.5\n",
       "campaign.growth must be a number from 1 to 1000 (got 0.5)"},
      {"concurrent-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\n  growth: 2\n",
       "analyzer.yaml: growth must be 1 for concurrent-bits (got 2)"},
      {"shuffle-bits", "  level: event\n  epsilon: 2\n  horizon: 1000\ntokens: some.hashes\n",
       "analyzer.yaml: tokens must not be set for shuffle-bits: reports come to shufflers, which have them "
       "(got some.hashes)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_config(&t, cases[i].release, cases[i].more);
    refused(&t, cases[i].words);
  }
  t.shufflers = 0;
  write_config(&t, "local", EVENT);
  refused(&t, "analyzer.yaml: tokens is required for local-response: reports come to the analyzer itself");
  close_trial(&t);
}

/* A change of any key of the campaign is refused by its name. */
static void test_analyzer__a_setting_that_differs_from_the_database_is_named(void **state) {
  (void)state;
  check_test();
  static const struct {
    const char *from, *to, *key;
  } cases[] = {
      {"url: http://127.0.0.1:8400", "url: http://127.0.0.1:8401", "url"},
      {"id: trial", "id: other", "campaign.id"},
      {"dimension: 3", "dimension: 4", "campaign.dimension"},
      {"arms: 4", "arms: 5", "campaign.arms"},
      {"arms: 4", "arms: 4\n  norm: 2", "campaign.norm"},
      {"arms: 4", "arms: 4\n  low: -1", "campaign.low"},
      {"arms: 4", "arms: 4\n  high: 2", "campaign.high"},
      {"honest: 1", "honest: 0.5", "campaign.honest"},
      {"arms: 4", "arms: 4\n  failure: 0.2", "campaign.failure"},
      {"arms: 4", "arms: 4\n  growth: 1.5", "campaign.growth"},
      {"epsilon: 2", "epsilon: 3", "campaign.epsilon"},
      {"delta: 1e-6", "delta: 1e-5", "campaign.delta"},
      {"horizon: 1000", "horizon: 1050", "campaign.horizon"},
      {"batch: 50", "batch: 40", "campaign.batch"},
      {"level: user", "level: event", "campaign.level"},
      {"level: user", "level: user\n  contributions: 2", "campaign.contributions"},
      {"release: shuffle-bits", "release: shuffle-amplified", "campaign.release"},
      {"release: shuffle-bits", "release: shuffle-bits\n  learner: linucb", "campaign.learner"},
      {":9001", ":9002", "shufflers"},
  };
  static const char more[] = "  level: user\n  epsilon: 2\n  horizon: 1000\n";
  trial t;
  open_trial(&t, "shuffle-bits", 1, more);
  assert_int_equal(stop(&t, SIGTERM), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = NULL, changed[2 * TEXT], words[128];
    size_t length = 0;
    write_config(&t, "shuffle-bits", more);
    assert_ok(faro_read_file(t.config, TEXT, &text, &length, error));
    text[length] = '\0'; /* there is room, as above */
    char *at = strstr(text, cases[i].from);
    assert_non_null(at);
    *at = '\0';
    snprintf(changed, sizeof changed, "%s%s%s", text, cases[i].to, at + strlen(cases[i].from));
    free(text);
    write_text(t.config, changed);
    snprintf(words, sizeof words, "\"reason\":\"%s differs from the campaign in the database", cases[i].key);
    refused(&t, words);
  }
  write_config(&t, "shuffle-bits", more);
  start(&t);
  close_trial(&t);
}

/* The second ledger does not contain what was spent in the first campaign, so clients must be able
 * to tell the campaigns apart. */
static void test_analyzer__a_campaign_that_is_founded_again_is_another_one(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-bits", 1, EVENT);
  assert_int_equal(stop(&t, SIGTERM), 0);
  start(&t);
  faro_campaign again;
  faro_sent sent = get(&t, "/v1/campaign");
  assert_ok(faro_campaign_open(&again, sent.bytes, sent.length, t.keys.sign.public_key, error));
  assert_memory_equal(again.digest, t.campaign.digest, FARO_DIGEST_BYTES);
  assert_int_equal(stop(&t, SIGKILL), SIGKILL);
  char command[256];
  snprintf(command, sizeof command, "rm '%s'/db*", t.folder);
  assert_int_equal(system(command), 0);
  start(&t);
  sent = get(&t, "/v1/campaign");
  assert_ok(faro_campaign_open(&again, sent.bytes, sent.length, t.keys.sign.public_key, error));
  assert_true(memcmp(again.digest, t.campaign.digest, FARO_DIGEST_BYTES) != 0);
  assert_memory_equal(&again.params, &t.campaign.params, sizeof again.params);
  close_trial(&t);
}

/* A campaign that cannot be served is not signed. An operator who has only tried is told that the
 * database may be deleted. */
static void test_analyzer__what_cannot_be_served_is_not_signed(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-bits", 1, EVENT);
  const int port = t.port;
  char after[128];
  /* Another campaign, with another database. */
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: 3\n  horizon: 1000\n");
  char command[TEXT];
  snprintf(command, sizeof command,
           "sed -i 's|^listen: .*|listen: 127.0.0.1:%d|; s|^database: .*|database: %s/second|' '%s'", port,
           t.folder, t.config);
  assert_int_equal(system(command), 0);
  refused_with(&t, "cannot listen on 127.0.0.1:", 4);
  snprintf(after, sizeof after, "%s/second", t.folder);
  assert_int_equal(access(after, F_OK), -1);
  assert_int_equal(stop(&t, SIGTERM), 0);
  write_config(&t, "shuffle-bits", "  level: event\n  epsilon: 3\n  horizon: 1000\n");
  refused(&t, "nothing has been released yet");
  snprintf(command, sizeof command,
           "'%s' analyzer --check-config --config '%s' 2>&1 | grep -q 'epsilon differs'", FARO_COMMAND,
           t.config);
  assert_int_equal(system(command), 0);
  write_config(&t, "shuffle-bits", EVENT);
  snprintf(command, sizeof command,
           "'%s' analyzer --check-config --config '%s' | grep -q 'it is in the database'", FARO_COMMAND,
           t.config);
  assert_int_equal(system(command), 0);
  start(&t);
  close_trial(&t);
}

/* Sealed messages. */

/* Makes the sealed body that a client sends. */
static void seal(trial *t, const uint64_t *message, unsigned char *body) {
  unsigned char report[TEXT];
  const faro_wire_report head = {.version = 1, .sequence = 1};
  assert_ok(faro_wire_report_write(&t->campaign, &head, message, report, error));
  memcpy(body, report + FARO_REPORT_HEAD, faro_wire_report_size(&t->campaign) - FARO_REPORT_HEAD);
}

/* Makes a body that opens but holds a number that no randomizer makes. */
static void seal_monster(trial *t, unsigned char *body) {
  unsigned char plain[TEXT] = {0};
  const size_t size = faro_wire_report_size(&t->campaign) - FARO_REPORT_HEAD - FARO_SEAL_BYTES;
  memcpy(plain, t->campaign.digest, FARO_DIGEST_BYTES);
  faro_store64(plain + FARO_DIGEST_BYTES, (uint64_t)t->campaign.encoding[0].most + 1);
  assert_int_equal(crypto_box_seal(body, plain, size, t->keys.seal.public_key), 0);
}

static uint64_t spoiled(trial *t) {
  json_t *json = get_json(t, "/v1/status.json");
  const uint64_t count = (uint64_t)json_integer_value(json_object_get(json, "spoiled"));
  json_decref(json);
  return count;
}

/* Spoils the first bodies and messages in every possible way. The copy is one of message 4, or of a
 * message of the last batch. */
static void spoil_some(trial *t, const unsigned char *last, unsigned char *body, uint64_t *message) {
  const size_t size = faro_wire_report_size(&t->campaign) - FARO_REPORT_HEAD;
  const size_t entries = faro_wire_report_entries(&t->campaign);
  body[3] ^= 1; /* does not open */
  t->campaign.digest[0] ^= 1;
  seal(t, message + entries, body + size);
  t->campaign.digest[0] ^= 1;
  seal_monster(t, body + 2 * size);
  memcpy(body + 3 * size, last ? last + 6 * size : body + 4 * size, size);
  memset(message, 0, 4 * entries * sizeof *message);
}

static void test_analyzer__spoiled_reports_count_as_zero_and_stop_nothing(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-gaussian", 1, EVENT);
  const size_t size = faro_wire_report_size(&t.campaign) - FARO_REPORT_HEAD;
  const size_t entries = faro_wire_report_entries(&t.campaign);
  unsigned char *body = calloc(BATCH, size);
  unsigned char *last = calloc(BATCH, size);
  unsigned char *frame = malloc(faro_batch_size(&t.campaign, BATCH));
  uint64_t *message = calloc(BATCH * entries, sizeof *message);
  for (uint64_t b = 0; b < 4; b++) {
    for (size_t i = 0; i < BATCH; i++) {
      randomize(&t, message + i * entries);
      seal(&t, message + i * entries, body + i * size);
    }
    spoil_some(&t, b > 0 ? last : NULL, body, message);
    const faro_batch batch = {.number = b, .count = BATCH, .body = body};
    faro_batch_write(&t.campaign, &batch, &t.shuffler[0], frame);
    assert_int_equal(post_batch(&t, frame, faro_batch_size(&t.campaign, BATCH)), 200);
    learn(&t, message, BATCH);
    assert_same_policy(&t, b + 2);
    assert_int_equal(spoiled(&t), 4 * (b + 1));
    if (b == 1) {
      stop(&t, SIGKILL);
      start(&t);
    }
    memcpy(last, body, BATCH * size);
  }
  assert_ledger(&t, 4);
  free(message);
  free(frame);
  free(last);
  free(body);
  close_trial(&t);
}

/* Makes and sends a batch of valid messages. Returns their bodies; free() them. */
static unsigned char *send_sealed(trial *t, uint64_t number) {
  const size_t size = faro_wire_report_size(&t->campaign) - FARO_REPORT_HEAD;
  const size_t length = faro_batch_size(&t->campaign, BATCH);
  unsigned char *body = calloc(BATCH, size);
  unsigned char *frame = malloc(length);
  uint64_t message[64];
  for (size_t i = 0; i < BATCH; i++) {
    randomize(t, message);
    seal(t, message, body + i * size);
  }
  const faro_batch batch = {.number = number, .count = BATCH, .body = body};
  faro_batch_write(&t->campaign, &batch, &t->shuffler[0], frame);
  assert_int_equal(post_batch(t, frame, length), 200);
  free(frame);
  return body;
}

/* Traces of applied reports. */

static off_t log_size(const trial *t) {
  char path[128];
  struct stat about = {0};
  snprintf(path, sizeof path, "%s/db-wal", t->folder);
  return stat(path, &about) == 0 ? about.st_size : 0;
}

/* What /healthz says while the shufflers are there: each greets first. */
static long health(trial *t) {
  unsigned char greeting[FARO_GREETING_MAX];
  for (size_t i = 0; i < t->shufflers; i++) {
    const faro_sent sent = get(t, "/v1/state");
    faro_standing there;
    assert_ok(faro_standing_read(sent.bytes, sent.length, i, &there, error));
    const faro_greeting hello = {.first = there.next, .open = there.next};
    const size_t length = faro_greeting_write(&t->campaign, &hello, &t->shuffler[i], greeting);
    assert_int_equal(post(t->sender, t->port, "/v1/state", greeting, length), 200);
  }
  return get(t, "/healthz").status;
}

static bool becomes(trial *t, long status, double seconds) {
  const double end = now() + seconds;
  while (now() < end && health(t) != status) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  return health(t) == status;
}

/* A reader of the database, which keeps its log from being emptied until it is closed. */
static sqlite3 *read_database(const trial *t) {
  char path[128];
  sqlite3 *reader = NULL;
  snprintf(path, sizeof path, "%s/db", t->folder);
  assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
  assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM inbox", NULL, NULL, NULL), SQLITE_OK);
  return reader;
}

/* The batch that a reader keeps in the log is the last one, so no later batch empties the log. */
static void test_analyzer__is_unwell_until_the_log_is_empty(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-gaussian", 1, EVENT);
  assert_int_equal(health(&t), 200);
  sqlite3 *reader = read_database(&t);
  free(send_sealed(&t, 0));
  assert_int_equal(get(&t, "/v1/policy?after=1").status, 200);
  assert_true(becomes(&t, 503, 120));
  assert_true(log_size(&t) > 0);
  sqlite3_close(reader);
  assert_true(becomes(&t, 200, 120));
  assert_int_equal(log_size(&t), 0);
  reader = read_database(&t);
  free(send_sealed(&t, 1));
  assert_int_equal(get(&t, "/v1/policy?after=2").status, 200);
  stop(&t, SIGKILL);
  start(&t); /* it serves, but /healthz still reports 503 */
  assert_true(becomes(&t, 503, 120));
  assert_int_equal(get(&t, "/v1/policy?after=2").status, 200);
  assert_true(log_size(&t) > 0);
  sqlite3_close(reader);
  assert_true(becomes(&t, 200, 120));
  assert_int_equal(log_size(&t), 0);
  close_trial(&t);
}

/* An analyzer whose database was deleted must not publish policies that no later start knows of. */
static void test_analyzer__is_unwell_without_its_database(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  uint64_t total[64];
  char path[128], moved[128];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  const size_t length = make_batch(&t, 0, total, frame);
  snprintf(path, sizeof path, "%s/db", t.folder);
  snprintf(moved, sizeof moved, "%s/moved", t.folder);
  assert_int_equal(link(path, moved), 0); /* so that it can be put back */
  assert_int_equal(unlink(path), 0);
  assert_int_equal(health(&t), 503);
  assert_non_null(strstr(get(&t, "/v1/status.json").bytes, "\"unwell\""));
  assert_int_equal(post_batch(&t, frame, length), 503);
  assert_int_equal(rename(moved, path), 0);
  assert_true(becomes(&t, 200, 120));
  assert_int_equal(post_batch(&t, frame, length), 200);
  assert_int_equal(get(&t, "/v1/policy?after=1").status, 200);
  close_trial(&t);
}

/* Files cannot grow for a while, as if the disk were full. The shuffler does not come back until
 * the analyzer is well. */
static void test_analyzer__is_well_again_without_a_batch(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  uint64_t total[64];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  const size_t length = make_batch(&t, 0, total, frame);
  struct rlimit before;
  assert_int_equal(prlimit(t.pid, RLIMIT_FSIZE, NULL, &before), 0);
  const struct rlimit none = {1, before.rlim_max};
  assert_int_equal(prlimit(t.pid, RLIMIT_FSIZE, &none, NULL), 0);
  assert_int_equal(post_batch(&t, frame, length), 503);
  assert_true(becomes(&t, 503, 120));
  assert_non_null(strstr(get(&t, "/v1/status.json").bytes, "\"unwell\""));
  assert_int_equal(prlimit(t.pid, RLIMIT_FSIZE, &before, NULL), 0);
  assert_true(becomes(&t, 200, 120));
  assert_int_equal(post_batch(&t, frame, length), 200);
  assert_int_equal(get(&t, "/v1/policy?after=1").status, 200);
  close_trial(&t);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they have heaps of their own */
/* The key is in memory, and it opens the reports. */
static void test_analyzer__memory_holds_no_report_that_was_applied(void **state) {
  (void)state;
  trial t;
  open_trial(&t, "shuffle-gaussian", 1, EVENT);
  int found = 0;
  for (uint64_t b = 0; b < 3 && found == 0; b++) {
    char path[64];
    unsigned char *body = send_sealed(&t, b);
    snprintf(path, sizeof path, "/v1/policy?after=%d", (int)b + 1);
    assert_int_equal(get(&t, path).status, 200);
    const size_t length = faro_wire_report_size(&t.campaign) - FARO_REPORT_HEAD;
    for (int i = 0; i < 600; i++, faro_sleep(0.1)) { /* the thread that answered may not have freed it yet */
      found = stage_remembers(t.pid, body, BATCH, length);
      if (found <= 0) break;
    }
    free(body);
  }
  close_trial(&t);
  if (found < 0) skip(); /* reading the memory needs root */
  assert_int_equal(found, 0);
}
#endif

/* Reports without a shuffler. */

static const char USER[] = "  epsilon: 4\n  horizon: 200\n  level: user\n  contributions: 3\n";

/* The settings name the file of the clients' token hashes. */
static unsigned char *open_direct(trial *t, const char *release) {
  char tokens[64];
  char hashes[64];
  char more[TEXT];
  unsigned char *loaded = NULL;
  size_t count = 0;
  snprintf(tokens, sizeof tokens, "/tmp/faro-tokens-%d", (int)getpid());
  snprintf(hashes, sizeof hashes, "/tmp/faro-hashes-%d", (int)getpid());
  unlink(tokens);
  unlink(hashes);
  assert_ok(faro_tokens_make(tokens, hashes, BATCH, error));
  assert_ok(faro_tokens_load(tokens, &loaded, &count, error));
  assert_int_equal(count, BATCH);
  unlink(tokens);
  snprintf(more, sizeof more, "%stokens: %s\n", USER, hashes);
  open_trial(t, release, 0, more);
  return loaded;
}

/* One report is damaged on the way and counts as a report of zeros. */
static void report_all(trial *t, uint64_t batch, const unsigned char *tokens, uint64_t *message) {
  unsigned char report[TEXT];
  const size_t entries = faro_wire_report_entries(&t->campaign);
  const size_t size = faro_wire_report_size(&t->campaign);
  const int64_t zero = (t->campaign.encoding[0].least + t->campaign.encoding[0].most) / 2;
  for (size_t i = 0; i < BATCH; i++) {
    faro_wire_report head = {.version = batch + 1, .sequence = batch + 1};
    memcpy(head.token, tokens + i * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
    randomize(t, message + i * entries);
    assert_ok(faro_wire_report_write(&t->campaign, &head, message + i * entries, report, error));
    if (i == 3) report[size - 1] ^= 1;
    for (size_t j = 0; i == 3 && j < entries; j++) message[i * entries + j] = (uint64_t)zero;
    assert_int_equal(post(t->sender, t->port, "/v1/reports", report, size), 200);
    if (i % 20 == 7) {
      stop(t, SIGKILL);
      start(t);
    }
  }
}

static void reports_are_collected_and_applied(const char *release) {
  trial t;
  uint64_t message[BATCH * 64];
  unsigned char *tokens = open_direct(&t, release);
  assert_int_equal(post(t.sender, t.port, "/v1/batches", "x", 1), 404);
  for (uint64_t b = 0; b < 3; b++) {
    report_all(&t, b, tokens, message);
    learn(&t, message, BATCH); /* in another order: sums on a grid do not depend on it */
    assert_same_policy(&t, b + 2);
    assert_ledger(&t, b + 1);
  }
  assert_int_equal(spoiled(&t), 3);
  free(tokens);
  close_trial(&t);
}

static void test_analyzer__reports_without_a_shuffler_are_collected_and_applied(void **state) {
  (void)state;
  reports_are_collected_and_applied("local-bits");
}

static void test_analyzer__sealed_reports_without_a_shuffler_are_collected_and_applied(void **state) {
  (void)state;
  check_test();
  reports_are_collected_and_applied("local-gaussian");
}

/* The analyzer draws the noise itself, so this process cannot compute the policy. It is drawn once
 * and survives a restart. */
static void noise_is_drawn_once(const char *release) {
  trial t;
  uint64_t message[BATCH * 64];
  unsigned char *tokens = open_direct(&t, release);
  for (uint64_t b = 0; b < 3; b++) {
    char path[64];
    report_all(&t, b, tokens, message);
    snprintf(path, sizeof path, "/v1/policy?after=%d", (int)b + 1);
    faro_sent sent = get(&t, path);
    assert_int_equal(sent.status, 200);
    char *first = strndup(sent.bytes, sent.length);
    stop(&t, SIGKILL);
    start(&t);
    sent = get(&t, path);
    assert_string_equal(sent.bytes, first);
    assert_ledger(&t, b + 1);
    free(first);
  }
  free(tokens);
  close_trial(&t);
}

static void test_analyzer__a_trusted_analyzer_does_not_draw_its_noise_again(void **state) {
  (void)state;
  noise_is_drawn_once("central-tree");
}

static void test_analyzer__a_trusted_analyzer_does_not_toss_its_coins_again(void **state) {
  (void)state;
  check_test();
  noise_is_drawn_once("central-bits");
}

/* What everybody may ask for is computed once for each policy: a row that is changed in the
 * database is seen after the next batch only. */
static void test_analyzer__the_ledger_is_computed_once_per_version(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  uint64_t total[64];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  size_t length = make_batch(&t, 0, total, frame);
  assert_int_equal(post_batch(&t, frame, length), 200);
  assert_int_equal(get(&t, "/v1/policy?after=1").status, 200);
  assert_ledger(&t, 1);
  change_database(&t, "UPDATE ledger SET users = users + 1");
  const faro_sent kept = get(&t, "/v1/ledger");
  assert_null(strstr(kept.bytes, "\"users\":51"));
  length = make_batch(&t, 1, total, frame);
  assert_int_equal(post_batch(&t, frame, length), 200);
  assert_int_equal(get(&t, "/v1/policy?after=2").status, 200);
  const faro_sent fresh = get(&t, "/v1/ledger");
  assert_non_null(strstr(fresh.bytes, "\"users\":51"));
  close_trial(&t);
}

/* The page, and what it fetches. */
static void test_analyzer__the_page_is_served_with_a_policy_of_its_own(void **state) {
  (void)state;
  trial t;
  unsigned char frame[TEXT];
  uint64_t total[64];
  open_trial(&t, "shuffle-bits", 1, EVENT);
  const size_t length = make_batch(&t, 0, total, frame);
  assert_int_equal(post_batch(&t, frame, length), 200);
  learn(&t, total, 1);
  assert_same_policy(&t, 2);
  faro_sent sent = get(&t, "/");
  assert_int_equal(sent.status, 200);
  assert_non_null(strstr(sent.bytes, "/v1/status.json"));
  assert_null(strstr(sent.bytes, "https://")); /* nothing from other servers */
  json_t *json = get_json(&t, "/v1/status.json");
  double reward = 0;
  double width = 0;
  json_t *noise = NULL; /* without a constant: null */
  json_int_t users = 0;
  const char *learner = NULL;
  assert_int_equal(json_unpack(json, "{s{s[[IFFo]]} s{ss}}", "curve", "points", &users, &reward, &width,
                               &noise, "campaign", "learner", &learner),
                   0);
  assert_string_equal(learner, "posterior");
  assert_int_equal(users, BATCH);
  assert_true(width > 0);
  json_decref(json);
  sent = get(&t, "/metrics");
  assert_non_null(strstr(sent.bytes, "faro_analyzer_ledger_charged 1"));
  assert_int_equal(health(&t), 200);
  close_trial(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_analyzer__killed_at_any_moment_it_publishes_what_the_simulator_would),
    cmocka_unit_test(test_analyzer__several_shufflers_are_waited_for_and_put_together_as_due),
    cmocka_unit_test(test_analyzer__bad_batches_are_refused_with_a_reason),
    cmocka_unit_test(test_analyzer__takes_batches_of_its_own_epoch_only),
    cmocka_unit_test(test_analyzer__strangers_are_refused_before_they_send),
    cmocka_unit_test(test_analyzer__who_waits_for_a_policy_is_answered_at_the_end),
    cmocka_unit_test(test_analyzer__the_first_campaign_stays),
    cmocka_unit_test(test_analyzer__a_campaign_is_refused_by_the_name_of_its_file),
    cmocka_unit_test(test_analyzer__a_setting_that_differs_from_the_database_is_named),
    cmocka_unit_test(test_analyzer__a_campaign_that_is_founded_again_is_another_one),
    cmocka_unit_test(test_analyzer__what_cannot_be_served_is_not_signed),
    cmocka_unit_test(test_analyzer__spoiled_reports_count_as_zero_and_stop_nothing),
    cmocka_unit_test(test_analyzer__is_unwell_until_the_log_is_empty),
    cmocka_unit_test(test_analyzer__is_unwell_without_its_database),
    cmocka_unit_test(test_analyzer__is_well_again_without_a_batch),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cmocka_unit_test(test_analyzer__memory_holds_no_report_that_was_applied),
#endif
    cmocka_unit_test(test_analyzer__reports_without_a_shuffler_are_collected_and_applied),
    cmocka_unit_test(test_analyzer__sealed_reports_without_a_shuffler_are_collected_and_applied),
    cmocka_unit_test(test_analyzer__a_trusted_analyzer_does_not_draw_its_noise_again),
    cmocka_unit_test(test_analyzer__a_trusted_analyzer_does_not_toss_its_coins_again),
    cmocka_unit_test(test_analyzer__the_ledger_is_computed_once_per_version),
    cmocka_unit_test(test_analyzer__the_page_is_served_with_a_policy_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
