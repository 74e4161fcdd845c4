/* Split counts, and a client that spoils every batch, with an analyzer, a shuffler and an adder as
 * processes: all three are unwell after the second spoiled batch, and the campaign pauses, so that
 * no more budget is charged. `resume` goes on; a batch that can be added up makes all well. */
#include <jansson.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/http/sender.h"
#include "support/scratch.h"
#include "support/support.h"
#include "trial/trial.h"

enum { BATCH = 10, ANALYZER = 0, SHUFFLER = 1, ADDER = 2, ROLES = 3 };
static const double LONG = 120; /* seconds; nothing here takes as long, however busy the machine is */

typedef struct scene {
  char folder[64], operators[64];
  int hold; /* keeps the port for operators */
  uint64_t sequence;
  faro_sender *sender;
  faro_trial trial;
} scene;

static void open_admin(scene *s) {
  uint16_t port = 0;
  char path[FARO_TRIAL_PATH];
  assert_ok(faro_port_hold(&port, &s->hold, error));
  snprintf(s->operators, sizeof s->operators, "http://127.0.0.1:%u", port);
  FILE *file = fopen(faro_trial_file(&s->trial, ANALYZER, ".yaml", path), "a");
  assert_non_null(file);
  fprintf(file, "admin-listen: 127.0.0.1:%u\nadmin-tokens: %s/tokens.hashes\n", port, s->folder);
  assert_int_equal(fclose(file), 0);
}

static void scene_open(scene *s) {
  const faro_sender_params sender = {.timeout = LONG};
  *s = (scene){.hold = -1};
  SCRATCH(s->folder, "spoiled");
  assert_non_null(mkdtemp(s->folder));
  const faro_trial_params params = {.command = FARO_COMMAND,
                                    .directory = s->folder,
                                    .release = "shuffle-bits",
                                    .dimension = 2,
                                    .arms = 3,
                                    .clients = BATCH,
                                    .batch = BATCH,
                                    .batches = 10,
                                    .split = true,
                                    .epsilon = 8,
                                    .delta = 1e-3,
                                    .honest = 1,
                                    .norm = 1,
                                    .high = 1};
  assert_ok(faro_sender_create(&s->sender, &sender, error));
  assert_ok(faro_trial_create(&s->trial, &params, error));
  open_admin(s);
  assert_ok(faro_trial_start_all(&s->trial, error));
}

static void scene_close(scene *s) {
  faro_trial_destroy(&s->trial);
  faro_sender_destroy(s->sender);
  if (s->hold >= 0) close(s->hold);
  faro_trial_remove(s->folder);
}

/* One report of each client, of one batch. */
static void post_batch(scene *s, bool spoiled) {
  const faro_campaign *c = &s->trial.campaign;
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  const size_t size = faro_wire_report_size(c);
  unsigned char *all = malloc(BATCH * size);
  uint64_t *counts = malloc(c->entries * sizeof *counts);
  const faro_encoding *e = &c->encoding[0];
  for (size_t i = 0; i < c->entries; i++) counts[i] = (uint64_t)(e->least + (e->most - e->least) / 2);
  s->sequence++;
  for (size_t who = 0; who < BATCH; who++) {
    faro_wire_report report = {.version = s->sequence, .sequence = s->sequence};
    memcpy(report.token, s->trial.tokens + who * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
    assert_ok(faro_wire_report_write(c, &report, counts, all + who * size, error));
  }
  if (spoiled) all[size - 1] ^= 1; /* the box of the first client does not open */
  assert_ok(faro_send_post(s->sender, faro_trial_url(&s->trial, SHUFFLER, "/v1/reports", url), all,
                           BATCH * size, &sent, error));
  assert_int_equal(sent.status, 200);
  for (size_t who = 0; who < BATCH; who++) assert_int_equal(sent.bytes[who], 0);
  free(counts);
  free(all);
}

static json_int_t charged(scene *s) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  json_int_t version = 0;
  assert_ok(faro_send_get(s->sender, faro_trial_url(&s->trial, ANALYZER, "/v1/state", url), &sent, error));
  json_t *json = json_loadb(sent.bytes, sent.length, 0, NULL);
  assert_int_equal(json_unpack(json, "{sI}", "version", &version), 0);
  json_decref(json);
  return version - 1;
}

static void await_charged(scene *s, json_int_t batches) {
  const double end = faro_clock() + LONG;
  while (charged(s) < batches && faro_clock() < end) faro_sleep(0.02);
  assert_int_equal(charged(s), batches);
}

/* Waits until a page of a role has these words, or has not. */
static void await_words(scene *s, size_t role, const char *path, const char *words, bool there) {
  char url[FARO_URL_MAX + 1];
  const double end = faro_clock() + LONG;
  bool found = !there;
  while (found != there && faro_clock() < end) {
    faro_sent sent = {0};
    faro_sleep(0.02);
    if (faro_send_get(s->sender, faro_trial_url(&s->trial, role, path, url), &sent, NULL) == FARO_OK)
      found = strstr(sent.bytes, words) != NULL;
  }
  if (found != there) print_error("role %zu, %s: %s\n", role, path, words);
  assert_true(found == there);
}

static void await_health(scene *s, bool spoiled) {
  for (size_t role = 0; role < ROLES; role++) await_words(s, role, "/healthz", "batches-spoiled: ", spoiled);
}

static void operate(scene *s, const char *verb) {
  char url[FARO_URL_MAX + 1], digits[2 * FARO_TOKEN_BYTES + 1], header[128];
  faro_sent sent;
  snprintf(url, sizeof url, "%s/v1/life?do=%s", s->operators, verb);
  snprintf(header, sizeof header, "Authorization: Bearer %s",
           sodium_bin2hex(digits, sizeof digits, s->trial.tokens, FARO_TOKEN_BYTES));
  assert_ok(faro_send_post_with(s->sender, url, header, "", 0, &sent, error));
  if (sent.status != 200) print_error("%s\n", sent.bytes);
  assert_int_equal(sent.status, 200);
}

static void restart(scene *s, size_t role) {
  assert_int_equal(faro_child_end(&s->trial.child[role], SIGTERM, LONG), 0);
  assert_ok(faro_trial_launch(&s->trial, role, error));
}

static void test_spoiled__batches_in_a_row_pause_the_campaign(void **state) {
  (void)state;
  static scene s;
  scene_open(&s);
  post_batch(&s, true);
  await_charged(&s, 1);
  post_batch(&s, false); /* not in a row */
  await_charged(&s, 2);
  post_batch(&s, true);
  await_charged(&s, 3);
  await_words(&s, ANALYZER, "/healthz", "batches-spoiled", false);
  post_batch(&s, true);
  await_health(&s, true);
  await_words(&s, ANALYZER, "/healthz", "has paused", true);
  await_words(&s, ANALYZER, "/v1/state", "\"paused\"", true);
  assert_int_equal(charged(&s), 4);
  post_batch(&s, true); /* collected, and offered to an analyzer that does not take it */
  await_words(&s, SHUFFLER, "/metrics", "faro_batch_attempts_failed_total 0", false);
  assert_int_equal(charged(&s), 4);
  restart(&s, ANALYZER); /* it still knows */
  await_health(&s, true);
  await_words(&s, ANALYZER, "/v1/state", "\"paused\"", true);
  operate(&s, "resume");
  await_charged(&s, 5);
  await_words(&s, ANALYZER, "/v1/state", "\"paused\"", true); /* at once: that one was spoiled, too */
  operate(&s, "resume");
  post_batch(&s, false);
  await_charged(&s, 6);
  await_health(&s, false);
  await_words(&s, ANALYZER, "/v1/state", "\"open\"", true);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spoiled__batches_in_a_row_pause_the_campaign),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
