/* A standby: what the first analyzer has acknowledged is in the copy, whenever that one is killed;
 * the standby goes on from there, once; and two never go on. Real processes. The truth is an
 * applier in this program that gets the sums of the acknowledged reports: the policy that the
 * survivor publishes must be the same, byte for byte. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

#include "base/clock.h"
#include "base/file.h"
#include "service/analyzer/applier.h"
#include "service/http/sender.h"
#include "service/http/server.h"
#include "service/role/admin.h"
#include "service/shuffler/place.h"
#include "trial/trial.h"
#include "wire/verdict.h"

enum { B = 8, BATCHES = 12, PATH = 512, PORTS = 2 };

typedef struct play {
  faro_trial trial;
  char directory[64], yaml[PATH], operator[PATH];
  uint16_t port[PORTS]; /* the standby's: public, admin */
  int hold[PORTS];
  faro_relay *relay; /* from the first analyzer to the standby's admin port */
  faro_child standby;
  faro_sender *sender, *admin;
  uint64_t posted;           /* batches */
  uint64_t sum[BATCHES][64]; /* of the acknowledged reports of each */
} play;

static void add_lines(const char *path, const char *lines) {
  FILE *file = fopen(path, "a");
  assert_non_null(file);
  assert_true(fputs(lines, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* The standby's settings are those of the first analyzer at other addresses and files. */
static void write_settings(play *p, double take_over) {
  char path[FARO_TRIAL_PATH], text[3 * PATH], more[64] = "";
  char *all = NULL;
  size_t length = 0;
  faro_trial_file(&p->trial, 0, ".yaml", path);
  assert_ok(faro_read_file(path, 1 << 16, &all, &length, error));
  FILE *file = fopen(p->yaml, "w");
  assert_non_null(file);
  for (char *line = all, *end = NULL; (end = memchr(line, '\n', length - (size_t)(line - all)));
       line = end + 1)
    if (strncmp(line, "listen:", 7) != 0 && strncmp(line, "database:", 9) != 0)
      fprintf(file, "%.*s\n", (int)(end - line), line);
  assert_int_equal(fclose(file), 0);
  free(all);
  if (take_over > 0) snprintf(more, sizeof more, ", take-over: %g", take_over);
  snprintf(text, sizeof text,
           "listen: 127.0.0.1:%u\ndatabase: %s/standby.db\nadmin-listen: 127.0.0.1:%u\nadmin-tokens: "
           "%s/operator.hashes\nstandby: {follow: true%s}\n",
           p->port[0], p->directory, p->port[1], p->directory, more);
  add_lines(p->yaml, text);
  snprintf(text, sizeof text, "standby: {url: 'http://127.0.0.1:%u', token: %s}\n", faro_relay_port(p->relay),
           p->operator);
  add_lines(path, text);
  snprintf(text, sizeof text, "standby: http://127.0.0.1:%u\n", p->port[0]);
  add_lines(faro_trial_file(&p->trial, 1, ".yaml", path), text);
}

static void start_standby(play *p) {
  char log[PATH];
  const char *const argv[] = {FARO_COMMAND, "analyzer", "--config", p->yaml, NULL};
  snprintf(log, sizeof log, "%s/standby.log", p->directory);
  assert_ok(faro_child_start(&p->standby, argv, log, error));
}

static void open_play(play *p, double take_over) {
  char hashes[PATH], header[FARO_ADMIN_HEADER];
  *p = (play){.directory = "/tmp/faro-standby-XXXXXX"};
  assert_non_null(mkdtemp(p->directory));
  const faro_trial_params params = {.command = FARO_COMMAND,
                                    .directory = p->directory,
                                    .release = "shuffle-bits",
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
  snprintf(p->yaml, sizeof p->yaml, "%s/standby.yaml", p->directory);
  snprintf(p->operator, sizeof p->operator, "%s/operator", p->directory);
  snprintf(hashes, sizeof hashes, "%s/operator.hashes", p->directory);
  assert_ok(faro_tokens_make(p->operator, hashes, 1, error));
  for (size_t i = 0; i < PORTS; i++) assert_ok(faro_port_hold(&p->port[i], &p->hold[i], error));
  assert_ok(faro_relay_open(&p->relay, p->port[1], 0, error));
  write_settings(p, take_over);
  start_standby(p);
  assert_ok(faro_trial_start_all(&p->trial, error));
  assert_ok(faro_admin_header(p->operator, header, error));
  assert_ok(faro_sender_create(&p->sender, &(faro_sender_params){.timeout = 40}, error));
  assert_ok(faro_sender_create(&p->admin, &(faro_sender_params){.header = header}, error));
}

static void close_play(play *p) {
  if (faro_child_running(&p->standby)) assert_int_equal(faro_child_end(&p->standby, SIGTERM, 60), 0);
  faro_relay_close(p->relay);
  for (size_t i = 0; i < PORTS; i++) close(p->hold[i]);
  faro_sender_destroy(p->sender);
  faro_sender_destroy(p->admin);
  faro_trial_destroy(&p->trial);
  faro_trial_remove(p->directory);
}

/* Asks an analyzer; status 0 if it does not answer. */
static faro_sent ask(play *p, uint16_t port, const char *path) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent = {0};
  snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, path);
  if (faro_send_get(p->sender, url, &sent, NULL) != FARO_OK) sent = (faro_sent){.bytes = ""};
  return sent;
}

/* Waits until an answer has the status and the words. */
static void becomes(play *p, uint16_t port, const char *path, long status, const char *words) {
  const double end = faro_clock() + 120;
  faro_sent sent = ask(p, port, path);
  while (faro_clock() < end && (sent.status != status || !strstr(sent.bytes, words))) {
    faro_sleep(0.05);
    sent = ask(p, port, path);
  }
  if (sent.status != status || !strstr(sent.bytes, words))
    fail_msg("%s: %ld %s instead of %ld %s", path, sent.status, sent.bytes, status, words);
}

static void promote(play *p) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent = {0};
  const double end = faro_clock() + 120;
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/life?do=promote", p->port[1]);
  while (sent.status != 200 && faro_clock() < end)
    if (faro_send_post(p->admin, url, "", 0, &sent, NULL) != FARO_OK) faro_sleep(0.05);
  assert_int_equal(sent.status, 200);
}

/* Fills the open batch with random reports, and adds them up. The shuffler refuses while too many
 * batches wait. */
static void post_batch(play *p) {
  const faro_campaign *c = &p->trial.campaign;
  const size_t size = faro_wire_report_size(c), entries = faro_wire_report_entries(c);
  const faro_encoding *encoding = faro_campaign_encoding(c, 0, p->posted);
  unsigned char *frames = calloc(B, size);
  uint64_t numbers[64];
  char url[FARO_URL_MAX + 1];
  faro_sent sent = {0};
  assert_true(entries <= 64);
  for (size_t i = 0; i < B; i++) {
    faro_wire_report report = {.version = p->posted + 1, .sequence = p->posted + 1};
    memcpy(report.token, p->trial.tokens + i * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
    for (size_t j = 0; j < entries; j++) {
      numbers[j] =
          (uint64_t)encoding->least + randombytes_uniform((uint32_t)(encoding->most - encoding->least + 1));
      p->sum[p->posted][j] += numbers[j];
    }
    assert_ok(faro_wire_report_write(c, &report, numbers, frames + i * size, error));
  }
  const double end = faro_clock() + 120;
  faro_trial_url(&p->trial, 1, "/v1/reports", url);
  do {
    if (sent.status != 0) faro_sleep(0.02);
    assert_ok(faro_send_post(p->sender, url, frames, B * size, &sent, error));
  } while (sent.status == 503 && faro_clock() < end);
  assert_int_equal(sent.status, 200);
  for (size_t i = 0; i < B; i++) assert_int_equal(sent.bytes[i], FARO_VERDICT_ACCEPTED);
  free(frames);
  p->posted++;
}

/* The policy after all batches, by an applier that was never disturbed. */
static faro_blob truth(play *p) {
  char path[FARO_TRIAL_PATH + 24];
  faro_store *store = NULL;
  faro_applier *applier = NULL;
  faro_applier_keys keys = {.sign = p->trial.sign, .seal = p->trial.seal};
  unsigned char body[8 * 64];
  snprintf(path, sizeof path, "%s/truth-%d.db", p->directory, (int)p->posted);
  assert_ok(faro_store_open(&store, path, FARO_READ_WRITE, error));
  assert_ok(faro_applier_create(&applier, store, &p->trial.campaign, &keys, error));
  for (uint64_t b = 0; b < p->posted; b++) {
    faro_receipt receipt = FARO_RECEIPT_BAD;
    bool applied = false;
    for (size_t j = 0; j < 64; j++) faro_store64(body + 8 * j, p->sum[b][j]);
    const faro_batch batch = {.number = b, .count = B, .body = body};
    assert_ok(faro_applier_take(applier, &batch, &receipt, error));
    assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
    assert_ok(faro_applier_step(applier, &applied, error));
    assert_true(applied);
  }
  const faro_applier_view view = faro_applier_snapshot(applier);
  faro_blob policy = {.bytes = malloc(view.length), .length = view.length};
  memcpy(policy.bytes, view.policy, view.length);
  faro_applier_destroy(applier);
  faro_store_close(store);
  return policy;
}

/* Every acknowledged report counts once: the policy at this port is the true one, and the ledger
 * has a row for each batch. */
static void assert_all_counted(play *p, uint16_t port) {
  char words[64], path[PATH], url[64];
  const faro_blob policy = truth(p);
  const double end = faro_clock() + 120;
  faro_sent sent = ask(p, port, "/v1/policy");
  while (faro_clock() < end && (sent.status != 200 || sent.length != policy.length ||
                                memcmp(sent.bytes, policy.bytes, policy.length) != 0)) {
    faro_sleep(0.05);
    sent = ask(p, port, "/v1/policy");
  }
  assert_int_equal(sent.length, policy.length);
  assert_memory_equal(sent.bytes, policy.bytes, policy.length);
  free(policy.bytes);
  snprintf(path, sizeof path, "%s/ledger.log", p->directory);
  snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
  char key[FARO_TRIAL_PATH];
  faro_child verify = {0};
  const char *const argv[] = {FARO_COMMAND,
                              "ledger",
                              "verify",
                              "--url",
                              url,
                              "--key",
                              faro_trial_file(&p->trial, 0, ".sign.public", key),
                              NULL};
  assert_ok(faro_child_start(&verify, argv, path, error));
  assert_int_equal(faro_child_wait(&verify, 60), 0);
  sent = ask(p, port, "/v1/ledger");
  snprintf(words, sizeof words, "\"batch\":%d,", (int)p->posted - 1);
  assert_non_null(strstr(sent.bytes, words));
}

static void kill_first(play *p) { (void)faro_child_end(&p->trial.child[0], SIGKILL, 60); }

/* The first analyzer comes back, and is told by the standby or a shuffler that it was replaced. */
static void assert_fenced(play *p) {
  assert_ok(faro_trial_launch(&p->trial, 0, error));
  becomes(p, p->trial.port[0], "/healthz", 503, "fenced: another analyzer has taken over in epoch 1");
  assert_int_equal(ask(p, p->trial.port[0], "/v1/policy").status, 503);
  assert_int_equal(ask(p, p->trial.port[0], "/v1/campaign").status, 200);
}

/* Without processes. */

static void make_keys(faro_sign_key *analyzer, faro_sign_key *shuffler, faro_campaign *campaign) {
  assert_ok(faro_sign_key_make(analyzer, error));
  assert_ok(faro_sign_key_make(shuffler, error));
  *campaign = (faro_campaign){.shufflers = 2};
  memset(campaign->digest, 7, sizeof campaign->digest);
  memcpy(campaign->shuffler[1].key, shuffler->public_key, FARO_KEY_BYTES);
}

static void test_greeting__both_lengths_are_read_as_they_were_written(void **state) {
  (void)state;
  static faro_campaign campaign;
  faro_sign_key analyzer, shuffler;
  unsigned char bytes[FARO_GREETING_MAX];
  make_keys(&analyzer, &shuffler, &campaign);
  for (int longer = 0; longer < 2; longer++) {
    faro_greeting said = {.first = 3, .open = 4, .unwell = true, .longer = longer}, read;
    if (longer) {
      said.epoch = 5;
      said.silent = 61;
      said.challenge = UINT64_C(0x1122334455667788);
      faro_epoch_sign(campaign.digest, 5, &analyzer, said.proof);
    }
    const size_t length = faro_greeting_write(&campaign, &said, &shuffler, bytes);
    assert_int_equal(length, longer ? FARO_GREETING_MAX : FARO_GREETING_BYTES);
    assert_memory_equal(bytes, longer ? "FRG3" : "FRG2", 4);
    assert_ok(faro_greeting_read(&campaign, bytes, length, &read, error));
    said.shuffler = 1;
    said.same = true;
    assert_int_equal(read.shuffler, 1);
    assert_true(read.same && read.unwell && read.longer == said.longer);
    assert_true(read.first == 3 && read.open == 4 && read.epoch == said.epoch);
    assert_true(read.silent == said.silent && read.challenge == said.challenge);
    assert_memory_equal(read.proof, said.proof, sizeof said.proof);
    for (size_t i = 0; i < length; i++) { /* every bit is signed */
      bytes[i] ^= 1;
      assert_int_equal(faro_greeting_read(&campaign, bytes, length, &read, NULL), FARO_INVALID);
      bytes[i] ^= 1;
    }
    assert_int_equal(faro_greeting_read(&campaign, bytes, length - 1, &read, NULL), FARO_INVALID);
  }
}

static void test_epoch__is_proven_by_the_analyzer_for_its_campaign(void **state) {
  (void)state;
  static faro_campaign campaign;
  faro_sign_key analyzer, shuffler;
  unsigned char proof[FARO_SIGNATURE_BYTES], other[FARO_DIGEST_BYTES] = {8};
  make_keys(&analyzer, &shuffler, &campaign);
  faro_epoch_sign(campaign.digest, 5, &analyzer, proof);
  assert_true(faro_epoch_proven(campaign.digest, 5, analyzer.public_key, proof));
  assert_false(faro_epoch_proven(campaign.digest, 6, analyzer.public_key, proof));
  assert_false(faro_epoch_proven(other, 5, analyzer.public_key, proof));
  assert_false(faro_epoch_proven(campaign.digest, 5, shuffler.public_key, proof));
}

/* A shuffler keeps the highest epoch over restarts, and goes back to none. */
static void test_place__the_highest_epoch_stays(void **state) {
  (void)state;
  static faro_shuffler_settings settings;
  static faro_campaign campaign;
  faro_sign_key analyzer, shuffler;
  faro_place *place = NULL;
  char folder[] = "/tmp/faro-place-XXXXXX", url[FARO_URL_MAX + 1];
  unsigned char proof[FARO_SIGNATURE_BYTES], kept[FARO_SIGNATURE_BYTES];
  make_keys(&analyzer, &shuffler, &campaign);
  assert_non_null(mkdtemp(folder));
  snprintf(settings.state, sizeof settings.state, "%s/state", folder);
  snprintf(settings.analyzer, sizeof settings.analyzer, "http://127.0.0.1:1");
  snprintf(settings.standby, sizeof settings.standby, "http://127.0.0.1:2");
  memcpy(settings.analyzer_key, analyzer.public_key, FARO_KEY_BYTES);
  assert_ok(faro_place_create(&place, &settings, error));
  assert_ok(faro_place_see(place, campaign.digest, 0, proof, error));
  faro_epoch_sign(campaign.digest, 2, &analyzer, proof);
  assert_int_equal(faro_place_see(place, campaign.digest, 3, proof, NULL), FARO_INVALID);
  assert_int_equal(faro_place_epoch(place, kept), 0);
  assert_ok(faro_place_see(place, campaign.digest, 2, proof, error));
  faro_place_destroy(place);
  assert_ok(faro_place_create(&place, &settings, error));
  assert_int_equal(faro_place_epoch(place, kept), 2);
  assert_memory_equal(kept, proof, sizeof proof);
  assert_int_equal(faro_place_see(place, campaign.digest, 1, proof, NULL), FARO_OLD);
  assert_int_equal(faro_place_see(place, campaign.digest, 0, proof, NULL), FARO_OLD);
  assert_ok(faro_place_see(place, campaign.digest, 2, proof, error));
  faro_place_destroy(place);
  faro_sign_key other; /* the analyzer's new key has signed the same epoch: that is kept, too */
  assert_ok(faro_sign_key_make(&other, error));
  memcpy(settings.analyzer_key, other.public_key, FARO_KEY_BYTES);
  faro_epoch_sign(campaign.digest, 2, &other, proof);
  assert_ok(faro_place_create(&place, &settings, error));
  assert_ok(faro_place_see(place, campaign.digest, 2, proof, error));
  faro_place_destroy(place);
  assert_ok(faro_place_create(&place, &settings, error));
  assert_int_equal(faro_place_epoch(place, kept), 2);
  assert_memory_equal(kept, proof, sizeof proof);
  faro_place_address(place, url); /* both addresses, in turn */
  assert_string_equal(url, settings.analyzer);
  faro_place_failed(place);
  faro_place_address(place, url);
  assert_string_equal(url, settings.standby);
  faro_place_failed(place);
  faro_place_address(place, url);
  assert_string_equal(url, settings.analyzer);
  faro_place_destroy(place);
  char file[sizeof settings.state + 8];
  snprintf(file, sizeof file, "%s.epoch", settings.state);
  add_lines(file, "more\n");
  assert_int_equal(faro_place_create(&place, &settings, NULL), FARO_INVALID);
  faro_trial_remove(folder);
}

/* With processes. */

static void test_standby__goes_on_with_all_that_was_acknowledged(void **state) {
  (void)state;
  play p;
  open_play(&p, 0);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  assert_int_equal(ask(&p, p.port[0], "/readyz").status, 503); /* it serves nobody */
  assert_int_equal(ask(&p, p.port[0], "/v1/policy").status, 503);
  post_batch(&p);
  post_batch(&p);
  faro_sleep(0.02 * (double)randombytes_uniform(1000) / 1000);
  kill_first(&p);
  promote(&p);
  post_batch(&p);
  assert_all_counted(&p, p.port[0]);
  becomes(&p, p.port[0], "/healthz", 200, "ok"); /* the fence is lifted */
  assert_fenced(&p);
  close_play(&p);
}

static const char *copy_path(const play *p, char path[static PATH]) {
  snprintf(path, PATH, "%s/standby.db.copy", p->directory);
  return path;
}

static faro_blob read_copy(play *p) {
  char path[PATH];
  char *bytes = NULL;
  faro_blob copy = {0};
  copy_path(p, path);
  assert_ok(faro_read_file(path, 1 << 26, &bytes, &copy.length, error));
  copy.bytes = (unsigned char *)bytes;
  return copy;
}

static void post_copy(play *p, const char *query, const faro_blob *image, faro_sent *sent) {
  char url[FARO_URL_MAX + 1];
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/copy%s", p->port[1], query);
  assert_ok(faro_send_post(p->admin, url, image ? (const void *)image->bytes : "", image ? image->length : 0,
                           sent, error));
}

/* An image that was sent before others and arrives after them: the newest copy stays. And what a
 * copy held is overwritten when others have come. */
static void test_standby__a_copy_that_was_held_back_replaces_nothing(void **state) {
  (void)state;
  play p;
  faro_sent sent = {0};
  char query[32] = "?ticket=", path[PATH];
  unsigned char first[16];
  open_play(&p, 0);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  post_batch(&p);
  becomes(&p, p.trial.port[0], "/metrics", 200, "\nfaro_analyzer_policy_version 2\n");
  const faro_blob late = read_copy(&p);
  const int old = open(copy_path(&p, path), O_RDONLY | O_CLOEXEC);
  assert_true(old >= 0);
  post_copy(&p, "", NULL, &sent); /* the ticket with which it would have been sent */
  const char *ticket = strstr(sent.bytes, "\"ticket\"");
  if (ticket) snprintf(query + 8, sizeof query - 8, "%.16s", strpbrk(ticket + 8, "0123456789abcdef"));
  post_batch(&p);
  becomes(&p, p.trial.port[0], "/metrics", 200, "\nfaro_analyzer_policy_version 3\n");
  kill_first(&p); /* it sends nothing that would mend it */
  assert_int_equal(pread(old, first, sizeof first, 0), sizeof first);
  assert_true(sodium_is_zero(first, sizeof first));
  close(old);
  post_copy(&p, query, &late, &sent);
  assert_int_equal(sent.status, 409);
  post_copy(&p, "", &late, &sent);
  assert_int_equal(sent.status, 409);
  promote(&p);
  assert_all_counted(&p, p.port[0]);
  post_copy(&p, "", &late, &sent); /* nor is anything kept by one that has taken over */
  assert_int_not_equal(sent.status, 200);
  free(late.bytes);
  close_play(&p);
}

/* A database that comes to its place by other means: nothing is confirmed from then on, and it is
 * not started. Nor does a standby take over beside a log that is not its own. */
static void test_standby__confirms_nothing_beside_another_database(void **state) {
  (void)state;
  play p;
  faro_sent sent = {0};
  char path[PATH];
  open_play(&p, 0);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  snprintf(path, sizeof path, "%s/standby.db-wal", p.directory);
  add_lines(path, "a log");
  char url[FARO_URL_MAX + 1];
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/life?do=promote", p.port[1]);
  assert_ok(faro_send_post(p.admin, url, "", 0, &sent, error));
  assert_int_not_equal(sent.status, 200);
  assert_non_null(strstr(sent.bytes, "standby.db-wal exists"));
  (void)faro_child_end(&p.standby, SIGTERM, 60);
  start_standby(&p);
  assert_int_equal(faro_child_wait(&p.standby, 60), 3);
  assert_int_equal(unlink(path), 0);
  start_standby(&p);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  snprintf(path, sizeof path, "%s/standby.db", p.directory);
  add_lines(path, "a database");
  becomes(&p, p.trial.port[0], "/healthz", 503, "standby.db exists, but this standby has not taken over");
  assert_int_equal(unlink(path), 0);
  post_batch(&p);
  assert_all_counted(&p, p.trial.port[0]);
  close_play(&p);
}

/* What a start may have signed anew is not served before the standby has it. */
static void test_standby__a_start_is_served_when_it_is_confirmed(void **state) {
  (void)state;
  play p;
  open_play(&p, 0);
  becomes(&p, p.trial.port[0], "/v1/policy", 200, "");
  kill_first(&p);
  (void)faro_child_end(&p.standby, SIGTERM, 60);
  assert_ok(faro_trial_launch(&p.trial, 0, error));
  becomes(&p, p.trial.port[0], "/v1/policy", 503, "the standby has not confirmed");
  start_standby(&p);
  becomes(&p, p.trial.port[0], "/v1/policy", 200, "");
  close_play(&p);
}

static void handle_nobody(void *context, faro_http_request *request) {
  atomic_fetch_add((atomic_uint *)context, 1);
  faro_http_refuse(request, 404, "nobody is behind this proxy");
}

/* A proxy that answers for an analyzer that is gone is not the analyzer. */
static void test_standby__an_answer_of_somebody_else_is_silence(void **state) {
  (void)state;
  play p;
  atomic_uint greetings = 0;
  faro_http *proxy = NULL;
  faro_http_settings settings = {0};
  const faro_http_route route = {"POST", "/v1/state", handle_nobody, FARO_GREETING_MAX, NULL};
  open_play(&p, 0);
  faro_metrics *metrics = NULL;
  assert_ok(faro_metrics_create(&metrics, error));
  const faro_http_service service = {.routes = &route, .count = 1, .context = &greetings, .metrics = metrics};
  becomes(&p, p.trial.port[1], "/metrics", 200, "\nfaro_analyzer_reachable 1\n");
  kill_first(&p);
  snprintf(settings.listen, sizeof settings.listen, "127.0.0.1:%u", p.trial.port[0]);
  assert_ok(faro_http_start(&proxy, &settings, &service, error));
  for (const double end = faro_clock() + 120; faro_clock() < end && atomic_load(&greetings) < 4;)
    faro_sleep(0.05); /* the gauge is that of the third one or a later one */
  assert_true(atomic_load(&greetings) >= 4);
  assert_non_null(strstr(ask(&p, p.trial.port[1], "/metrics").bytes, "\nfaro_analyzer_reachable 0\n"));
  faro_http_stop(proxy);
  faro_metrics_destroy(metrics);
  close_play(&p);
}

/* Copies a file of the first analyzer, which does not run. */
static void copy_first(const play *p, const char *from, const char *to) {
  char source[FARO_TRIAL_PATH], target[FARO_TRIAL_PATH], command[5 * FARO_TRIAL_PATH];
  faro_trial_file(&p->trial, 0, from, source);
  faro_trial_file(&p->trial, 0, to, target);
  snprintf(command, sizeof command, "cp -p '%s' '%s' && rm -f '%s-wal' '%s.applied'", source, target, target,
           target);
  assert_int_equal(system(command), 0);
}

/* The first analyzer comes back with an old database: what the standby holds is newer and stays. */
static void test_standby__an_old_database_does_not_replace_a_newer_copy(void **state) {
  (void)state;
  check_test();
  play p;
  open_play(&p, 0);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  for (int i = 0; i < 3; i++) {
    char version[64];
    post_batch(&p);
    snprintf(version, sizeof version, "\nfaro_analyzer_policy_version %d\n", i + 2);
    becomes(&p, p.trial.port[0], "/metrics", 200, version);
    if (i > 0) continue;
    assert_int_equal(faro_child_end(&p.trial.child[0], SIGTERM, 60), 0);
    copy_first(&p, ".db", ".old");
    assert_ok(faro_trial_launch(&p.trial, 0, error));
  }
  assert_int_equal(faro_child_end(&p.trial.child[0], SIGTERM, 60), 0);
  copy_first(&p, ".old", ".db");
  assert_ok(faro_trial_launch(&p.trial, 0, error));
  becomes(&p, p.trial.port[0], "/healthz", 503,
          "the copy has 1 batches in epoch 0, but this standby holds 3");
  kill_first(&p);
  promote(&p);
  post_batch(&p);
  assert_all_counted(&p, p.port[0]);
  close_play(&p);
}

/* Kills at random moments, of either analyzer, before one of them is lost for good.
 * FARO_STANDBY_RUNS: how often. */
static void test_standby__whenever_they_are_killed(void **state) {
  (void)state;
  slow_test();
  const char *wanted = getenv("FARO_STANDBY_RUNS");
  const int runs = wanted ? atoi(wanted) : 6;
  for (int run = 0; run < runs; run++) {
    play p;
    open_play(&p, 0);
    becomes(&p, p.port[0], "/healthz", 200, "ok");
    const uint64_t lost = 2 + randombytes_uniform(BATCHES - 4);
    while (p.posted < lost) {
      post_batch(&p);
      const uint32_t which = randombytes_uniform(4);
      faro_sleep(0.06 * (double)randombytes_uniform(1000) / 1000);
      if (which == 0) {
        kill_first(&p);
        assert_ok(faro_trial_launch(&p.trial, 0, error));
      } else if (which == 1) {
        (void)faro_child_end(&p.standby, SIGKILL, 60);
        start_standby(&p);
      }
    }
    kill_first(&p);
    if (randombytes_uniform(2)) { /* the copy is on its disk */
      (void)faro_child_end(&p.standby, SIGKILL, 60);
      start_standby(&p);
    }
    promote(&p);
    if (randombytes_uniform(2)) {
      (void)faro_child_end(&p.standby, SIGKILL, 60);
      start_standby(&p); /* it goes on as the analyzer */
    }
    while (p.posted < BATCHES) post_batch(&p);
    assert_all_counted(&p, p.port[0]);
    assert_fenced(&p);
    close_play(&p);
  }
}

/* While a shuffler hears the first analyzer, a standby that is cut off does not take over; nothing
 * is applied meanwhile, and nothing is lost. When the first analyzer is gone, it does. */
static void test_standby__takes_over_by_itself_only_if_nobody_hears_the_first(void **state) {
  (void)state;
  slow_test();
  play p;
  open_play(&p, 15);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  post_batch(&p);
  becomes(&p, p.trial.port[0], "/metrics", 200, "\nfaro_analyzer_policy_version 2\n");
  faro_relay_trouble(p.relay, 1000);
  becomes(&p, p.trial.port[0], "/healthz", 503, "standby-away: no batch is taken or applied");
  post_batch(&p);
  becomes(&p, p.port[0], "/healthz", 503, "shuffler 0 has heard the first analyzer within 15 s");
  faro_sleep(5); /* the standby looks every second */
  assert_non_null(strstr(ask(&p, p.port[0], "/healthz").bytes, "peer-silent: the first analyzer"));
  assert_non_null(strstr(ask(&p, p.trial.port[0], "/metrics").bytes, "\nfaro_analyzer_policy_version 2\n"));
  faro_relay_trouble(p.relay, 0);
  assert_all_counted(&p, p.trial.port[0]);
  becomes(&p, p.port[0], "/healthz", 200, "ok");
  kill_first(&p);
  post_batch(&p);
  assert_all_counted(&p, p.port[0]);
  becomes(&p, p.port[0], "/v1/state", 200, "\"epoch\":1");
  assert_fenced(&p);
  close_play(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greeting__both_lengths_are_read_as_they_were_written),
      cmocka_unit_test(test_epoch__is_proven_by_the_analyzer_for_its_campaign),
      cmocka_unit_test(test_place__the_highest_epoch_stays),
      cmocka_unit_test(test_standby__goes_on_with_all_that_was_acknowledged),
      cmocka_unit_test(test_standby__a_copy_that_was_held_back_replaces_nothing),
      cmocka_unit_test(test_standby__confirms_nothing_beside_another_database),
      cmocka_unit_test(test_standby__a_start_is_served_when_it_is_confirmed),
      cmocka_unit_test(test_standby__an_answer_of_somebody_else_is_silence),
      cmocka_unit_test(test_standby__an_old_database_does_not_replace_a_newer_copy),
      cmocka_unit_test(test_standby__takes_over_by_itself_only_if_nobody_hears_the_first),
      cmocka_unit_test(test_standby__whenever_they_are_killed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
