/* Roles that compare themselves: an outage is visible in /healthz, with its reason, at the role
 * that has it and at its neighbour, and is gone from there when its cause is gone. Real processes.
 * */
#define _GNU_SOURCE
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

#include "base/clock.h"
#include "service/role/peers.h"
#include "service/http/sender.h"
#include "service/role/tallies.h"
#include "service/shuffler/watch.h"
#include "trial/trial.h"

enum { B = 20, CLIENTS = 40, BATCHES = 8 };

typedef struct play {
  faro_trial trial;
  char directory[64];
  faro_sender *sender;
  uint64_t sequence;
} play;

static void open_play_of(play *p, const char *release) {
  *p = (play){.directory = "/tmp/faro-outage-XXXXXX"};
  assert_non_null(mkdtemp(p->directory));
  const faro_trial_params params = {.command = FARO_COMMAND,
                                    .directory = p->directory,
                                    .release = release,
                                    .dimension = 2,
                                    .arms = 2,
                                    .clients = CLIENTS,
                                    .batch = B,
                                    .batches = BATCHES,
                                    .epsilon = 8,
                                    .delta = 1e-3,
                                    .honest = 1,
                                    .norm = 1,
                                    .high = 1,
                                    .keep = 1 << 20};
  assert_ok(faro_trial_create(&p->trial, &params, error));
  assert_ok(faro_trial_start_all(&p->trial, error));
  assert_ok(faro_sender_create(&p->sender, &(faro_sender_params){.timeout = 120}, error));
}

static void open_play(play *p) { open_play_of(p, "shuffle-bits"); }

static void close_play(play *p) {
  faro_sender_destroy(p->sender);
  faro_trial_destroy(&p->trial);
  faro_trial_remove(p->directory);
}

static faro_sent get(play *p, size_t role, const char *path) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent = {0};
  assert_ok(faro_send_get(p->sender, faro_trial_url(&p->trial, role, path, url), &sent, error));
  return sent;
}

/* Sends a report of each client from `first` on, in one post; returns the status. */
static long post(play *p, size_t first, size_t count, uint64_t version, faro_sent *sent) {
  const faro_campaign *c = &p->trial.campaign;
  const size_t size = faro_wire_report_size(c), entries = faro_wire_report_entries(c);
  unsigned char *frames = calloc(count, size);
  uint64_t *numbers = calloc(entries, sizeof *numbers);
  char url[FARO_URL_MAX + 1];
  p->sequence++;
  for (size_t i = 0; i < entries; i++)
    numbers[i] = faro_campaign_form(c) == FARO_WIRE_BITS
                     ? (uint64_t)faro_campaign_encoding(c, 0, version - 1)->least
                     : 0;
  for (size_t i = 0; i < count; i++) {
    faro_wire_report report = {.version = version, .sequence = p->sequence};
    memcpy(report.token, p->trial.tokens + (first + i) * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
    assert_ok(faro_wire_report_write(c, &report, numbers, frames + i * size, error));
  }
  *sent = (faro_sent){0};
  assert_ok(faro_send_post(p->sender, faro_trial_url(&p->trial, p->trial.roles - 1, "/v1/reports", url),
                           frames, count * size, sent, error));
  free(frames);
  free(numbers);
  return sent->status;
}

/* Fills the open batch under this version and waits for the next policy. */
static void fill(play *p, uint64_t version) {
  faro_sent sent;
  char path[64];
  assert_int_equal(post(p, 0, B, version, &sent), 200);
  for (size_t i = 0; i < B; i++) assert_int_equal(sent.bytes[i], FARO_VERDICT_ACCEPTED);
  snprintf(path, sizeof path, "/v1/policy?after=%d", (int)version);
  assert_int_equal(get(p, 0, path).status, 200);
}

/* Waits until the role says so, for a reason that begins with `reason`. */
static void becomes(play *p, size_t role, long status, const char *reason) {
  const double end = faro_clock() + 120;
  faro_sent sent = get(p, role, "/healthz");
  while (faro_clock() < end && (sent.status != status || !strstr(sent.bytes, reason))) {
    faro_sleep(0.05);
    sent = get(p, role, "/healthz");
  }
  if (sent.status != status || !strstr(sent.bytes, reason))
    fail_msg("role %zu: %ld %s instead of %ld %s", role, sent.status, sent.bytes, status, reason);
}

static double metric(play *p, size_t role, const char *name) {
  const faro_sent sent = get(p, role, "/metrics");
  char begin[128];
  snprintf(begin, sizeof begin, "\n%s ", name);
  const char *line = strstr(sent.bytes, begin);
  if (!line) fail_msg("no metric %s", name);
  return atof(line + strlen(begin));
}

static void stop(play *p, size_t role) {
  assert_int_equal(faro_child_end(&p->trial.child[role], SIGTERM, 60), 0);
}

static void start(play *p, size_t role) { assert_ok(faro_trial_start(&p->trial, role, error)); }

/* Copies the database of a role that does not run. */
static void copy(const play *p, size_t role, const char *from, const char *to) {
  char source[FARO_TRIAL_PATH], target[FARO_TRIAL_PATH], command[5 * FARO_TRIAL_PATH];
  faro_trial_file(&p->trial, role, from, source);
  faro_trial_file(&p->trial, role, to, target);
  snprintf(command, sizeof command, "rm -f '%s-wal' '%s-shm' && cp -p '%s' '%s'", target, target, source,
           target);
  assert_int_equal(system(command), 0);
}

static bool log_has(const play *p, size_t role, const char *words) {
  char path[FARO_TRIAL_PATH], command[FARO_TRIAL_PATH + 200];
  snprintf(command, sizeof command, "grep -q '%s' '%s'", words,
           faro_trial_file(&p->trial, role, ".log", path));
  return system(command) == 0;
}

/* A start of the analyzer that must fail with these words; `more`: options. */
static void refuses(const play *p, const char *more, const char *words) {
  char path[FARO_TRIAL_PATH], command[2 * FARO_TRIAL_PATH], said[4096];
  snprintf(command, sizeof command, "'%s' analyzer --config '%s' %s 2>&1", FARO_COMMAND,
           faro_trial_file(&p->trial, 0, ".yaml", path), more);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
  assert_int_equal(WEXITSTATUS(pclose(pipe)), 3);
  if (!strstr(said, words)) fail_msg("\"%s\" is not in: %s", words, said);
}

static void forget_number(const play *p) {
  char path[FARO_TRIAL_PATH];
  assert_int_equal(unlink(faro_trial_file(&p->trial, 0, ".db.applied", path)), 0);
}

/* Reports to the analyzer itself: it has two files. */
static void test_outage__an_old_intake_is_refused(void **state) {
  (void)state;
  play p;
  open_play_of(&p, "local-gaussian");
  fill(&p, 1);
  stop(&p, 0);
  copy(&p, 0, ".db.intake", ".old");
  start(&p, 0);
  fill(&p, 2);
  stop(&p, 0);
  copy(&p, 0, ".db.intake", ".new");
  copy(&p, 0, ".old", ".db.intake");
  refuses(&p, "", "was an old copy of the intake restored?");
  copy(&p, 0, ".new", ".db.intake");
  start(&p, 0);
  fill(&p, 3);
  close_play(&p);
}

static void test_outage__an_old_database_is_noticed_by_both_sides(void **state) {
  (void)state;
  play p;
  open_play(&p);
  fill(&p, 1);
  stop(&p, 0);
  copy(&p, 0, ".db", ".old");
  start(&p, 0);
  fill(&p, 2);
  becomes(&p, 0, 200, "ok");
  becomes(&p, 1, 200, "ok");
  stop(&p, 0);
  copy(&p, 0, ".db", ".new");
  copy(&p, 0, ".old", ".db");
  refuses(&p, "", "\"role\":\"analyzer\""); /* a line of the log */
  refuses(&p, "", "has 1 batches, but");
  refuses(&p, "--check-config", " 2 were applied: an old copy was restored");
  forget_number(&p); /* it was restored too, or lost */
  start(&p, 0);
  becomes(
      &p, 1, 503,
      "peer-differs: the analyzer expects batch 1, but this shuffler has handed over all batches before 2");
  becomes(&p, 0, 503, "peer-differs: shuffler 0 has handed over 2 batches, but only 1 are here");
  assert_int_equal(get(&p, 1, "/readyz").status, 200); /* clients may come all the same */
  assert_true(metric(&p, 1, "faro_unwell{reason=\"peer-differs\"}") == 1);
  assert_true(log_has(&p, 1, "\"event\":\"unwell\",\"reason\":\"peer-differs\""));
  assert_non_null(strstr(get(&p, 0, "/v1/status.json").bytes, "\"state\":\"unwell\""));
  stop(&p, 0);
  copy(&p, 0, ".new", ".db");
  start(&p, 0);
  becomes(&p, 1, 200, "ok");
  becomes(&p, 0, 200, "ok");
  assert_true(metric(&p, 1, "faro_unwell{reason=\"peer-differs\"}") == 0);
  assert_true(log_has(&p, 1, "\"event\":\"well-again\",\"reason\":\"peer-differs\""));
  fill(&p, 3);
  close_play(&p);
}

static void test_outage__an_old_state_of_a_shuffler_is_noticed_by_both_sides(void **state) {
  (void)state;
  play p;
  open_play(&p);
  fill(&p, 1);
  stop(&p, 1);
  copy(&p, 1, ".db", ".old");
  start(&p, 1);
  fill(&p, 2);
  stop(&p, 1);
  copy(&p, 1, ".db", ".new");
  copy(&p, 1, ".old", ".db");
  start(&p, 1);
  becomes(
      &p, 1, 503,
      "peer-differs: the analyzer has batches of this shuffler up to 1, but this shuffler collects batch 1");
  becomes(&p, 0, 503, "peer-differs: 2 batches of shuffler 0 are here, but it collects batch 1");
  stop(&p, 1);
  copy(&p, 1, ".new", ".db");
  start(&p, 1);
  becomes(&p, 1, 200, "ok");
  becomes(&p, 0, 200, "ok");
  close_play(&p);
}

static void test_outage__another_campaign_is_noticed_by_both_sides(void **state) {
  (void)state;
  play p;
  open_play(&p);
  char path[FARO_TRIAL_PATH], command[3 * FARO_TRIAL_PATH];
  stop(&p, 0);
  faro_trial_file(&p.trial, 0, ".db", path);
  snprintf(command, sizeof command, "rm '%s' '%s.campaign'", path, path);
  assert_int_equal(system(command), 0);
  start(&p, 0); /* it founds a campaign of the same name */
  becomes(&p, 1, 503, "peer-differs: the analyzer holds another campaign");
  becomes(&p, 0, 503, "peer-differs: shuffler 0 holds another campaign");
  close_play(&p);
}

/* What the file held is still in the memory of the role, but no later start would find it. */
static void test_outage__damage_is_noticed_while_it_happens(void **state) {
  (void)state;
  slow_test();
  play p;
  faro_sent sent;
  char path[FARO_TRIAL_PATH];
  open_play(&p);
  fill(&p, 1);
  FILE *file = fopen(faro_trial_file(&p.trial, 1, ".db", path), "r+");
  assert_non_null(file);
  assert_int_equal(fseek(file, 4096, SEEK_SET), 0);
  for (int i = 0; i < 3 * 4096; i++) fputc(0xee, file);
  assert_int_equal(fclose(file), 0);
  becomes(&p, 1, 503, "is damaged; nothing is written to it any more");
  assert_int_equal(get(&p, 1, "/readyz").status, 503);
  assert_int_equal(post(&p, 0, B, 2, &sent), 503);
  close_play(&p);
}

/* One connection more, which stays. */
static faro_sender *connect_to(const play *p, size_t role) {
  char url[FARO_URL_MAX + 1];
  const faro_sender_params how = {.timeout = 60};
  faro_sender *sender = NULL;
  faro_sent sent = {0};
  assert_ok(faro_sender_create(&sender, &how, error));
  assert_ok(faro_send_get(sender, faro_trial_url(&p->trial, role, "/healthz", url), &sent, error));
  return sender;
}

/* Memory and files are shown in steps that no single report or connection moves. */
static void test_outage__memory_and_files_are_rounded(void **state) {
  (void)state;
  play p;
  faro_sent sent;
  open_play(&p);
  const double memory = metric(&p, 1, "process_resident_memory_bytes");
  assert_true(memory > 0 && fmod(memory, 16 << 20) == 0);
  assert_true(fmod(metric(&p, 1, "faro_disk_free_bytes"), 16 << 20) == 0);
  for (size_t i = 0; i < B - 1; i++) {
    assert_int_equal(post(&p, i, 1, 1, &sent), 200);
    assert_true(fmod(metric(&p, 1, "process_resident_memory_bytes"), 16 << 20) == 0);
    assert_true(metric(&p, 1, "faro_state_bytes") == 16 << 20);
  }
  faro_sender *more[3];
  for (size_t i = 0; i < 3; i++) {
    more[i] = connect_to(&p, 1);
    assert_true(fmod(metric(&p, 1, "process_open_fds"), 16) == 0);
  }
  for (size_t i = 0; i < 3; i++) faro_sender_destroy(more[i]);
  close_play(&p);
}

/* Both sides, one after the other, in the time that an operator has. */
static void test_outage__a_role_that_is_gone_is_missed_by_the_other(void **state) {
  (void)state;
  slow_test();
  play p;
  faro_sent sent;
  open_play(&p);
  becomes(&p, 0, 200, "ok");
  const double before = faro_clock();
  stop(&p, 0);
  becomes(&p, 1, 503, "peer-silent: the analyzer at");
  assert_true(faro_clock() - before > 5);          /* not at once: it may come back */
  assert_int_equal(post(&p, 0, B, 1, &sent), 200); /* reports are accepted */
  assert_int_equal(get(&p, 1, "/readyz").status, 200);
  assert_true(metric(&p, 1, "faro_analyzer_reachable") == 0);
  start(&p, 0);
  becomes(&p, 1, 200, "ok");
  stop(&p, 1);
  becomes(&p, 0, 503, "peer-silent: shuffler 0 does not answer");
  start(&p, 1);
  becomes(&p, 0, 200, "ok");
  close_play(&p);
}

/* Without processes, and with a clock of its own. */

typedef struct desk {
  faro_metrics *metrics;
  faro_health health;
  faro_peers peers;
} desk;

static void open_desk(desk *d, size_t shufflers) {
  assert_ok(faro_metrics_create(&d->metrics, error));
  faro_health_init(&d->health, d->metrics);
  faro_peers_init(&d->peers, &faro_peers_shufflers, shufflers, 1000);
}

static void close_desk(desk *d) {
  faro_peers_clear(&d->peers);
  faro_health_clear(&d->health);
  faro_metrics_destroy(d->metrics);
}

typedef struct patient {
  faro_health *health;
  faro_ill ill;
} patient;

static void *fall_ill(void *context) {
  const patient *p = context;
  faro_health_set(p->health, p->ill, "a reason");
  return NULL;
}

/* How many bytes wait in a pipe. */
static size_t drain(int pipe) {
  char bytes[4096];
  struct pollfd waits = {.fd = pipe, .events = POLLIN};
  const ssize_t count = poll(&waits, 1, 0) > 0 ? read(pipe, bytes, sizeof bytes) : 0;
  return count > 0 ? (size_t)count : 0;
}

/* Who sees the text of a reason finds its line in the log. */
static void test_outage__the_log_comes_before_the_text(void **state) {
  (void)state;
  desk d;
  int ends[2];
  size_t late = 0;
  open_desk(&d, 1);
  d.health.start -= 1e6; /* waiting for a campaign has a line, too */
  assert_int_equal(pipe(ends), 0);
  const int kept = dup(STDERR_FILENO);
  assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  for (size_t i = 0; i < FARO_ILLS; i++) { /* a reason of which the log was told just now is held back */
    pthread_t thread;
    patient p = {.health = &d.health, .ill = (faro_ill)i};
    char text[FARO_ILL_TEXT];
    const bool begun = pthread_create(&thread, NULL, fall_ill, &p) == 0;
    while (begun && !faro_health_get(&d.health, p.ill, text)) continue;
    late += drain(ends[0]) == 0;
    if (begun) assert_int_equal(pthread_join(thread, NULL), 0);
    (void)drain(ends[0]);
  }
  assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
  assert_int_equal(late, 0);
  close(kept);
  close(ends[0]);
  close(ends[1]);
  close_desk(&d);
}

static bool ill(desk *d, faro_ill which, bool finished, double now) {
  char text[FARO_ILL_TEXT];
  faro_peers_check(&d->peers, finished, now, &d->health);
  return faro_health_get(&d->health, which, text);
}

static void greet(desk *d, uint32_t shuffler, uint64_t first, uint64_t open, double now) {
  const faro_greeting greeting = {.shuffler = shuffler, .same = true, .first = first, .open = open};
  faro_peers_greeted(&d->peers, &greeting, now);
}

static void test_peers__silence_is_noticed_after_twenty_seconds_until_the_end(void **state) {
  (void)state;
  desk d;
  open_desk(&d, 2);
  assert_false(ill(&d, FARO_ILL_SILENT, false, 1019));
  assert_true(ill(&d, FARO_ILL_SILENT, false, 1021)); /* neither has come */
  greet(&d, 0, 0, 0, 1022);
  assert_true(ill(&d, FARO_ILL_SILENT, false, 1023));
  greet(&d, 1, 0, 0, 1024);
  assert_false(ill(&d, FARO_ILL_SILENT, false, 1042));
  faro_peers_expect(&d.peers, 0, 1, 1043); /* a batch is as good as a greeting */
  greet(&d, 1, 0, 0, 1043);
  assert_false(ill(&d, FARO_ILL_SILENT, false, 1062));
  assert_true(ill(&d, FARO_ILL_SILENT, false, 1064));
  assert_false(ill(&d, FARO_ILL_SILENT, true, 1064)); /* they may go home */
  close_desk(&d);
}

/* Every pair of numbers that batches on their way can cause is fine, and no other. */
static void test_peers__batches_on_their_way_are_no_difference(void **state) {
  (void)state;
  desk d;
  open_desk(&d, 1);
  faro_peers_expect(&d.peers, 0, 5, 0);
  greet(&d, 0, 5, 5, 1001);
  assert_false(ill(&d, FARO_ILL_DIFFERS, false, 1001));
  greet(&d, 0, 4, 5, 1002); /* the answer to batch 4 is on its way */
  assert_false(ill(&d, FARO_ILL_DIFFERS, false, 1002));
  greet(&d, 0, 5, 7, 1003); /* two wait */
  assert_false(ill(&d, FARO_ILL_DIFFERS, false, 1003));
  faro_peers_expect(&d.peers, 0, 7, 1004); /* both arrive while the next greeting is on its way */
  greet(&d, 0, 5, 6, 1005);
  assert_false(ill(&d, FARO_ILL_DIFFERS, false, 1005));
  greet(&d, 0, 5, 6, 1013); /* but those after it know */
  assert_true(ill(&d, FARO_ILL_DIFFERS, false, 1013));
  greet(&d, 0, 6, 6, 1014); /* batch 6 is here and was never closed there */
  assert_true(ill(&d, FARO_ILL_DIFFERS, false, 1014));
  greet(&d, 0, 6, 7, 1015);
  assert_false(ill(&d, FARO_ILL_DIFFERS, false, 1015));
  greet(&d, 0, 8, 8, 1016); /* batch 7 is nowhere */
  assert_true(ill(&d, FARO_ILL_DIFFERS, false, 1016));
  close_desk(&d);
}

/* Two front-ends of one shuffler: the first one was cut off and says what it knew then, while the
 * other one goes on. It is no old copy until the other one is silent, too. */
static void test_peers__a_front_end_that_was_cut_off_is_no_old_copy(void **state) {
  (void)state;
  desk d;
  open_desk(&d, 1);
  faro_peers_expect(&d.peers, 0, 9, 0);
  for (double now = 1001; now < 1060; now += 5) {
    greet(&d, 0, 9, 9, now);
    for (double late = 0; late < 5; late += 2) {
      greet(&d, 0, 5, 6, now + late);
      assert_false(ill(&d, FARO_ILL_DIFFERS, false, now + late));
    }
  }
  greet(&d, 0, 5, 6, 1066);
  assert_true(ill(&d, FARO_ILL_DIFFERS, false, 1066));
  close_desk(&d);
}

/* A fence is lifted when all that every shuffler has handed over is here, and all of them are in
 * this analyzer's epoch. */
static void test_peers__agree_in_one_epoch_on_all_that_was_handed_over(void **state) {
  (void)state;
  desk d;
  open_desk(&d, 2);
  d.peers.epoch = 3;
  faro_peers_expect(&d.peers, 0, 5, 0);
  faro_peers_expect(&d.peers, 1, 5, 0);
  const faro_greeting good = {.same = true, .first = 5, .open = 5, .epoch = 3};
  faro_greeting other = good;
  other.shuffler = 1;
  faro_peers_greeted(&d.peers, &good, 1001);
  assert_false(faro_peers_agree(&d.peers)); /* the other has not come */
  faro_peers_greeted(&d.peers, &other, 1001);
  assert_true(faro_peers_agree(&d.peers));
  other.first = 4; /* it has not heard yet that batch 4 is here */
  faro_peers_greeted(&d.peers, &other, 1002);
  assert_true(faro_peers_agree(&d.peers));
  const struct { uint64_t first, epoch; } bad[] = {{3, 3}, {6, 3}, {5, 2}, {5, 0}, {5, 4}};
  for (size_t i = 0; i < 5; i++) {
    other.first = bad[i].first;
    other.epoch = bad[i].epoch;
    faro_peers_greeted(&d.peers, &other, 1003);
    assert_false(faro_peers_agree(&d.peers));
  }
  close_desk(&d);
}

/* Counts about reports with known tokens. */

/* Each of n - 99 is drawn with probability 1/100, so the shown number is right on average, and the
 * number drawn is binomial. */
static void test_thinned__shows_hundreds_on_average_and_nothing_of_the_first(void **state) {
  (void)state;
  enum { RUNS = 20000, N = 1099 };
  double sum = 0, squares = 0;
  for (int run = 0; run < RUNS; run++) {
    faro_thinned t;
    faro_thinned_init(&t);
    assert_int_equal(faro_thinned_add(&t, FARO_THINNED_FREE), 0);
    assert_int_equal(faro_thinned_step(&t), 0);
    uint64_t drawn = 0;
    for (uint64_t left = N - FARO_THINNED_FREE; left > 0; left -= left < 7 ? left : 7)
      drawn += faro_thinned_add(&t, left < 7 ? left : 7);
    const uint64_t shown = faro_thinned_step(&t);
    assert_int_equal(shown, 100 * drawn);
    assert_int_equal(faro_thinned_step(&t), 0);
    const uint64_t rest = faro_thinned_settle(&t);
    assert_int_equal(shown + rest, shown > N ? shown : N);
    if (shown > N) { /* the next count makes up for it */
      faro_thinned_add(&t, 50);
      assert_int_equal(faro_thinned_settle(&t), shown - N > 50 ? 0 : 50 - (shown - N));
    }
    sum += (double)drawn;
    squares += (double)drawn * (double)drawn;
  }
  const double mean = sum / RUNS, p = 0.01, trials = N - FARO_THINNED_FREE;
  unseeded(true);
  assert_mean(mean, trials * p, sqrt(trials * p * (1 - p)), RUNS);
  assert_variance(squares / RUNS - mean * mean, trials * p * (1 - p), 3.1, RUNS);
  unseeded(false);
}

static double shown(const faro_metrics *metrics, const char *name) {
  faro_text text = FARO_TEXT_INIT;
  faro_metrics_write(metrics, &text);
  const char *line = strstr(text.data, name);
  assert_non_null(line);
  const double value = atof(line + strlen(name));
  faro_text_clear(&text);
  return value;
}

static void add(faro_tallies *t, faro_verdict verdict, size_t count) {
  for (size_t i = 0; i < count; i++) faro_tallies_add(t, verdict, 1);
}

static bool refusing(faro_tallies *t, desk *d) {
  char text[FARO_ILL_TEXT];
  faro_tallies_refusing(t, &d->health);
  return faro_health_get(&d->health, FARO_ILL_REFUSALS, text);
}

/* A correct program fails with probability 1e-14: less than three draws in 3901 trials. */
static void test_tallies__a_wedge_shows_without_a_batch_and_goes_with_one(void **state) {
  (void)state;
  static const char stale[] = "faro_reports_total{result=\"stale\"} ";
  static const char accepted[] = "faro_reports_total{result=\"accepted\"} ";
  faro_tallies t;
  desk d;
  open_desk(&d, 0);
  faro_tallies_init(&t, d.metrics, 1000);
  add(&t, FARO_VERDICT_STALE, 4000);
  faro_tallies_look(&t, 1029);
  assert_true(shown(d.metrics, stale) == 0); /* not so soon */
  assert_false(refusing(&t, &d));
  faro_tallies_look(&t, 1031);
  const double early = shown(d.metrics, stale);
  assert_true(early >= 300 && fmod(early, 100) == 0);
  assert_true(refusing(&t, &d));
  faro_tallies_look(&t, 1062);
  assert_true(refusing(&t, &d)); /* until something good happens */
  add(&t, FARO_VERDICT_ACCEPTED, 20);
  add(&t, FARO_VERDICT_KNOWN, 3);
  faro_tallies_look(&t, 1093);
  assert_true(refusing(&t, &d) && shown(d.metrics, accepted) == 0); /* twenty people do not show */
  faro_tallies_settle(&t, 20);
  assert_true(shown(d.metrics, accepted) == 20);
  assert_true(shown(d.metrics, stale) == fmax(early, 4000));
  faro_tallies_look(&t, 1124);
  assert_false(refusing(&t, &d));
  faro_tallies_clear(&t);
  close_desk(&d);
}

/* Late reports and strangers are no outage, and many acceptances are a good sign before a batch
 * closes. (20 000 acceptances without a draw: probability 1e-87.) */
static void test_tallies__few_refusals_are_no_alarm(void **state) {
  (void)state;
  faro_tallies t;
  desk d;
  open_desk(&d, 0);
  faro_tallies_init(&t, d.metrics, 1000);
  add(&t, FARO_VERDICT_STALE, FARO_THINNED_FREE);
  add(&t, FARO_VERDICT_TOKEN, 5000);
  add(&t, FARO_VERDICT_MALFORMED, 5000);
  faro_tallies_look(&t, 1031);
  assert_false(refusing(&t, &d));
  assert_true(shown(d.metrics, "faro_reports_total{result=\"stale\"} ") == 0);
  assert_true(shown(d.metrics, "faro_reports_total{result=\"token\"} ") == 5000);
  add(&t, FARO_VERDICT_STALE, 4000);
  add(&t, FARO_VERDICT_ACCEPTED, 20000);
  faro_tallies_look(&t, 1062);
  assert_false(refusing(&t, &d));
  faro_tallies_clear(&t);
  close_desk(&d);
}

/* The same in a real shuffler, whose clients all have the policy of another time. */
static void test_outage__refusals_show_although_no_batch_closes(void **state) {
  (void)state;
  slow_test();
  play p;
  faro_sent sent;
  open_play(&p);
  for (int i = 0; i < 80; i++) assert_int_equal(post(&p, 0, CLIENTS, 3, &sent), 409);
  becomes(&p, 1, 503, "reports-refused: about");
  assert_true(metric(&p, 1, "faro_reports_total{result=\"stale\"}") >= 100);
  assert_int_equal(get(&p, 1, "/readyz").status, 200);
  fill(&p, 1);
  becomes(&p, 1, 200, "ok");
  assert_true(metric(&p, 1, "faro_reports_total{result=\"stale\"}") >= 80 * CLIENTS);
  assert_true(metric(&p, 1, "faro_http_answers_total{code=\"4xx\"}") == 80);
  close_play(&p);
}

static void test_standing__is_read_or_refused(void **state) {
  (void)state;
  faro_standing standing = {0};
  char text[320];
  snprintf(text, sizeof text, "{\"campaign\":\"%064d\",\"version\":3,\"next\":[2,5]}", 7);
  assert_ok(faro_standing_read(text, strlen(text), 1, &standing, error));
  assert_int_equal(standing.next, 5);
  assert_int_equal(standing.version, 3);
  assert_int_equal(standing.digest[FARO_DIGEST_BYTES - 1], 7);
  assert_int_equal(faro_standing_read(text, strlen(text), 2, &standing, NULL), FARO_INVALID);
  assert_int_equal(faro_standing_read(text, strlen(text) - 1, 1, &standing, NULL), FARO_INVALID);
  static const char *const bad[] = {"", "[]", "{\"campaign\":\"00\",\"version\":3,\"next\":[2]}",
                                    "{\"campaign\":3,\"version\":3,\"next\":[2]}"};
  assert_int_equal(standing.epoch, 0);
  snprintf(text, sizeof text,
           "{\"campaign\":\"%064d\",\"version\":3,\"next\":[2],\"epoch\":2,\"proof\":\"%0128d\"}", 7, 9);
  assert_ok(faro_standing_read(text, strlen(text), 0, &standing, error));
  assert_int_equal(standing.epoch, 2);
  assert_int_equal(standing.proof[FARO_SIGNATURE_BYTES - 1], 9);
  snprintf(text, sizeof text, "{\"campaign\":\"%064d\",\"version\":3,\"next\":[2],\"epoch\":2}",
           7); /* no proof */
  assert_int_equal(faro_standing_read(text, strlen(text), 0, &standing, NULL), FARO_INVALID);
  snprintf(text, sizeof text,
           "{\"campaign\":\"%064d\",\"version\":3,\"next\":[2],\"epoch\":-1,\"proof\":\"%0128d\"}", 7, 9);
  assert_int_equal(faro_standing_read(text, strlen(text), 0, &standing, NULL), FARO_INVALID);
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(faro_standing_read(bad[i], strlen(bad[i]), 0, &standing, NULL), FARO_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outage__the_log_comes_before_the_text),
      cmocka_unit_test(test_outage__an_old_intake_is_refused),
      cmocka_unit_test(test_outage__an_old_database_is_noticed_by_both_sides),
      cmocka_unit_test(test_outage__an_old_state_of_a_shuffler_is_noticed_by_both_sides),
      cmocka_unit_test(test_outage__another_campaign_is_noticed_by_both_sides),
      cmocka_unit_test(test_outage__a_role_that_is_gone_is_missed_by_the_other),
      cmocka_unit_test(test_outage__damage_is_noticed_while_it_happens),
      cmocka_unit_test(test_outage__memory_and_files_are_rounded),
      cmocka_unit_test(test_peers__silence_is_noticed_after_twenty_seconds_until_the_end),
      cmocka_unit_test(test_peers__batches_on_their_way_are_no_difference),
      cmocka_unit_test(test_peers__a_front_end_that_was_cut_off_is_no_old_copy),
      cmocka_unit_test(test_peers__agree_in_one_epoch_on_all_that_was_handed_over),
      cmocka_unit_test(test_thinned__shows_hundreds_on_average_and_nothing_of_the_first),
      cmocka_unit_test(test_tallies__a_wedge_shows_without_a_batch_and_goes_with_one),
      cmocka_unit_test(test_tallies__few_refusals_are_no_alarm),
      cmocka_unit_test(test_outage__refusals_show_although_no_batch_closes),
      cmocka_unit_test(test_standing__is_read_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
