/* queue: a device that is killed at every write. The application, the policies and the shuffler
 * stay as they are, as they would outside of the device. In the end the file must be the one of a
 * device that was never killed, byte by byte, and the shuffler must have seen no sequence number
 * with two contents, and nobody twice in a batch. */
#define _GNU_SOURCE
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <faro/queue.h>

#include "support/support.h"
#include "support/scratch.h"
#include "wire/wire.h"

enum { D = 2, VERSIONS = 8, POSTS = 16, FILE_SIZE = 1 << 16, KILLED = 77 };

/* Outside of the device. */
typedef struct world {
  uint64_t version; /* the newest policy */
  bool kept, rewarded;
  size_t plays; /* rewards that were taken */
  size_t posts;
  struct {
    uint64_t sequence, version;
    unsigned char hash[32];
  } post[POSTS];
  size_t in_batch[VERSIONS]; /* of this client */
  size_t steps;              /* that the device has made */
} world;

typedef struct script {
  faro_campaign c;
  uint64_t last; /* version with which the campaign is over */
  char *document;
  size_t length;
  void (*act)(const struct script *s, faro_queue *queue, faro_client *client);
  uint64_t stale; /* the batch of this version closes before its report arrives */
} script;

static world *out;
static size_t dies_at; /* step, from 1; 0: never */
static faro_sign_key analyzer, shuffler;
static faro_seal_key seal;
static const unsigned char token[FARO_TOKEN_BYTES] = "a token of thirty-two bytes, yes";
static const double x[D] = {0.6, -0.8};
static char folder[32], path[64];

/* Every step of storing a file passes here (--wrap), which prescribes these names. */
int __real_rename(const char *from, const char *to);
int __real_fsync(int file);
ssize_t __real_write(int file, const void *bytes, size_t length);
int __wrap_rename(const char *from, const char *to);
int __wrap_fsync(int file);
ssize_t __wrap_write(int file, const void *bytes, size_t length);

static bool dies(void) { return out && ++out->steps == dies_at; }

int __wrap_rename(const char *from, const char *to) {
  if (dies()) _exit(KILLED);
  return __real_rename(from, to);
}
int __wrap_fsync(int file) {
  if (dies()) _exit(KILLED);
  return __real_fsync(file);
}
ssize_t __wrap_write(int file, const void *bytes, size_t length) {
  if (!dies()) return __real_write(file, bytes, length);
  (void)!__real_write(file, bytes, length / 2);
  _exit(KILLED);
}

/* The shuffler. */
static unsigned char verdict(const script *s, const faro_queue_post *post) {
  const faro_wire_report report = faro_wire_report_head(post->bytes);
  unsigned char hash[32];
  crypto_generichash(hash, sizeof hash, post->bytes, post->length, NULL, 0);
  for (size_t i = 0; i < out->posts; i++)
    if (out->post[i].sequence == report.sequence) {
      assert_memory_equal(out->post[i].hash, hash, sizeof hash);
      return report.version == s->stale ? 7 : 1;
    }
  assert_true(out->posts < POSTS && report.version < VERSIONS);
  out->post[out->posts].sequence = report.sequence;
  memcpy(out->post[out->posts++].hash, hash, sizeof hash);
  if (report.version == s->stale) return 7;
  out->in_batch[report.version]++;
  return 0;
}

static void deliver(const script *s, faro_queue *queue, faro_client *client) {
  for (;;) {
    faro_queue_post post;
    assert_ok(faro_queue_next(queue, client, &post, error));
    if (!post.url) return;
    const unsigned char answer = verdict(s, &post);
    assert_ok(faro_queue_answer(queue, client, 200, &answer, 1, 0, NULL, error));
  }
}

/* Plans: what each version asks for, 0 pulls: not this arm. Version 3 ends when one is played. */
static const uint64_t pulls[][2] = {{0, 0}, {2, 1}, {0, 1}, {2, 0}, {1, 1}};

static void write_plan(const script *s, uint64_t version, char **text, size_t *length) {
  faro_plan_document plan = {.version = version, .phase = version, .left = 2, .size = version < 5 ? 20 : 0};
  memcpy(plan.campaign, s->c.digest, FARO_DIGEST_BYTES);
  for (uint64_t a = 0; a < 2 && version < 5; a++)
    if (pulls[version][a] > 0) plan.play[plan.arms++] = (faro_plan_play){a, pulls[version][a]};
  assert_ok(faro_plan_document_write(&plan, &analyzer, text, length, error));
}

static void act_plan(const script *s, faro_queue *queue, faro_client *client) {
  for (;;) {
    size_t arm = 2;
    bool counts = false;
    assert_ok(faro_queue_turn(queue, client, &arm, &counts, error));
    if (!counts || (out->version == 3 && faro_client_left(client) < 2)) break;
    const double reward = 0.1 * (double)out->version + 0.01 * (double)faro_client_left(client);
    assert_ok(faro_queue_played(queue, client, arm, reward, error));
    out->plays++;
  }
  deliver(s, queue, client);
}

/* Terms of three rounds: a reward at the beginning of each. The second one is of a choice from the
 * first term, and belongs to the term in which it is reported. The application does not know
 * whether what it did before a crash was saved: it does it again, and is told. */
static void act_round(const script *s, faro_queue *queue, faro_client *client) {
  const bool chooses = out->version == 1 || out->version == 3;
  const bool hears = out->version == 1 || out->version == 4;
  faro_error e = {0};
  if (chooses && !out->kept) {
    const faro_status status = faro_queue_keep(queue, client, "it", x, &e);
    assert_true(status == FARO_OK || strcmp(e.message, "choice it waits for its reward already") == 0);
    out->kept = true;
  }
  e = (faro_error){0};
  if (hears && !out->rewarded) {
    const faro_status status = faro_queue_reward(queue, client, "it", 0.7, &e);
    assert_true(status == FARO_OK || strcmp(e.message, "no choice it waits for a reward") == 0);
    out->rewarded = true;
  }
  deliver(s, queue, client);
}

static void write_round(const script *s, uint64_t version, char **text, size_t *length) {
  double zero[2 * D + 3] = {0};
  const faro_policy policy = {
      .version = version, .dimension = D, .beta = 1, .rule = FARO_RULE_DESIGN, .theta = zero, .w = zero + D};
  assert_ok(faro_policy_document_write_at(&policy, zero, s->c.digest, &analyzer, text, length, error));
}

/* A device, from what the file says, with the newest policy. */
static faro_client *open_device(const script *s, faro_queue **queue) {
  faro_client *client = NULL;
  char *text = NULL;
  size_t length = 0;
  faro_client_params params = {.signer = analyzer.public_key,
                               .token = token,
                               .epsilon = 100,
                               .delta = 1e-3,
                               .trust = "joint",
                               .honest = 1};
  assert_ok(faro_queue_open(queue, &(faro_queue_params){.path = path}, error));
  faro_queue_restore(*queue, &params);
  assert_ok(faro_client_open(&client, &params, error));
  assert_ok(faro_client_campaign(client, s->document, s->length, error));
  (s->act == act_plan ? write_plan : write_round)(s, out->version, &text, &length);
  assert_ok(faro_client_policy(client, text, length, error));
  free(text);
  return client;
}

/* Its life. Policies come when it has done its part. */
static void live(const script *s) {
  while (out->version <= s->last) {
    faro_queue *queue = NULL;
    faro_client *client = open_device(s, &queue);
    s->act(s, queue, client);
    assert_ok(faro_queue_save(queue, client, error));
    faro_client_close(client);
    faro_queue_close(queue);
    out->kept = out->rewarded = false;
    out->version++;
  }
}

/* Lives in a process of its own, which dies at a step; true if it did. */
static bool lives_until(const script *s, size_t step) {
  int status = 0;
  out->steps = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dies_at = step;
    live(s);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != KILLED) fail_msg("the device failed");
  return WEXITSTATUS(status) == KILLED;
}

static size_t read_state(unsigned char bytes[static FILE_SIZE]) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t length = fread(bytes, 1, FILE_SIZE, file);
  fclose(file);
  return length;
}

static faro_queue_counts counts_of_state(void) {
  faro_queue *queue = NULL;
  assert_ok(faro_queue_open(&queue, &(faro_queue_params){.path = path, .reading = true}, error));
  const faro_queue_counts counts = faro_queue_count(queue);
  faro_queue_close(queue);
  return counts;
}

static void start(void) {
  unlink(path);
  *out = (world){.version = 1};
}

/* Kills the device at every step, or at every `stride`-th. */
static void kill_everywhere(const script *s, const size_t in_batch[static VERSIONS], size_t stride) {
  static unsigned char whole[FILE_SIZE], killed[FILE_SIZE];
  start();
  assert_false(lives_until(s, 0));
  const size_t steps = out->steps, posts = out->posts, plays = out->plays, length = read_state(whole);
  assert_memory_equal(out->in_batch, in_batch, sizeof out->in_batch);
  for (size_t step = 1; step <= steps; step += stride) {
    start();
    assert_true(lives_until(s, step));
    assert_false(lives_until(s, 0));
    assert_int_equal(read_state(killed), length);
    assert_memory_equal(killed, whole, length);
    assert_int_equal(out->posts, posts);
    assert_true(out->plays <= plays && out->plays + 1 >= plays); /* what was taken is never asked for again */
    assert_memory_equal(out->in_batch, in_batch, sizeof out->in_batch);
  }
}

static faro_campaign draft(const char *learner) {
  faro_campaign c = {.id = "test",
                     .release = faro_release_kind_find("shuffle-bits"),
                     .arms = 2,
                     .failure = 0.1,
                     .analyzer = "http://127.0.0.1:8000",
                     .shufflers = 1,
                     .shuffler = {{.url = "http://127.0.0.1:8001"}},
                     .params = {.epsilon = 4,
                                .delta = 1e-3,
                                .horizon = 1000,
                                .batch = 20,
                                .largest = 100,
                                .level = FARO_LEVEL_USER,
                                .contributions = 9,
                                .calibration = FARO_CALIBRATION_TIGHT}};
  snprintf(c.learner, sizeof c.learner, "%s", learner);
  memcpy(c.seal, seal.public_key, sizeof c.seal);
  memcpy(c.shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
  return c;
}

static script in_phases(faro_level level) {
  script s = {.c = draft("dpe"), .last = 5, .act = act_plan, .stale = 2};
  s.c.centre = 0.5;
  s.c.params.level = level;
  s.c.params.contributions = 1;
  s.c.phases = (faro_phases){.numbers = 2, .reports = 1000, .noise = 0.5};
  s.c.features = 2 * D;
  s.c.feature[0] = s.c.feature[3] = 1;
  assert_ok(faro_contribution_init(&s.c.contribution, D, 1, -0.5, 0.5, error));
  assert_ok(faro_campaign_write(&s.c, &analyzer, &s.document, &s.length, error));
  return s;
}

/* A plan that is reported, one that ends before its report arrives, one that ends while it is
 * played, and one more. */
static void test_queue__a_device_that_is_killed_at_any_write_reports_each_plan_once(void **state) {
  (void)state;
  script s = in_phases(FARO_LEVEL_EVENT);
  kill_everywhere(&s, (const size_t[VERSIONS]){[1] = 1, [4] = 1}, getenv("FARO_SLOW_TESTS") ? 1 : 9);
  const faro_queue_counts counts = counts_of_state();
  assert_true(counts.delivered == 2 && counts.ended == 2 && counts.refused == 0 && counts.waiting == 0);
  free(s.document);
}

/* Two terms of three rounds. One fit of the first is answered, and the batch of the other closes
 * too soon. */
static void test_queue__a_device_that_is_killed_at_any_write_answers_each_fit_once(void **state) {
  (void)state;
  script s = {.c = draft("glm-batched"), .last = 7, .act = act_round, .stale = 3};
  s.c.rounds = (faro_campaign_rounds){
      .link = FARO_LINK_LOGISTIC, .bound = 2, .fits = 2, .terms = 2, .term = {{30}, {30}}};
  s.c.params.batch = s.c.params.largest = 0;
  assert_ok(faro_contribution_linearised(&s.c.contribution, D, 1, FARO_LINK_LOGISTIC, 2, error));
  assert_ok(faro_campaign_write(&s.c, &analyzer, &s.document, &s.length, error));
  kill_everywhere(&s, (const size_t[VERSIONS]){[1] = 1, [2] = 1, [4] = 1, [5] = 1, [6] = 1},
                  getenv("FARO_SLOW_TESTS") ? 1 : 9);
  const faro_queue_counts counts = counts_of_state();
  assert_true(counts.delivered == 2 && counts.again == 3 && counts.refused == 0 && counts.waiting == 0);
  assert_int_equal(counts.kept, 0); /* when the campaign is over, nothing is kept */
  free(s.document);
}

/* A client that may report once must not lose its report because a disk is full for a while. */
static void test_queue__a_plan_that_cannot_be_saved_is_not_sent_and_not_lost(void **state) {
  (void)state;
  script s = in_phases(FARO_LEVEL_USER);
  char away[80];
  faro_queue *queue = NULL;
  faro_queue_post post = {.url = "x"};
  bool counts = false;
  size_t arm = 0;
  start();
  faro_client *client = open_device(&s, &queue);
  snprintf(away, sizeof away, "%s-away", folder);
  assert_int_equal(faro_queue_keep(queue, client, "a", x, NULL), FARO_INVALID); /* there are no choices */
  for (int i = 0; i < 3; i++) {
    assert_ok(faro_queue_turn(queue, client, &arm, &counts, error));
    const uint64_t left = faro_client_left(client);
    assert_int_equal(rename(folder, away), 0);
    assert_int_equal(faro_queue_played(queue, client, arm, 0.5, NULL), FARO_SYSTEM);
    assert_int_equal(faro_client_left(client), left); /* it is asked for once more */
    assert_int_equal(rename(away, folder), 0);
    assert_ok(faro_queue_played(queue, client, arm, 0.5, error));
  }
  assert_int_equal(rename(folder, away), 0);
  assert_int_equal(faro_queue_next(queue, client, &post, NULL), FARO_SYSTEM);
  assert_null(post.url);
  assert_int_equal(faro_queue_answer(queue, client, 200, "\0", 1, 0, NULL, NULL), FARO_INVALID);
  assert_int_equal(faro_queue_next(queue, client, &post, NULL), FARO_SYSTEM);
  assert_int_equal(rename(away, folder), 0);
  assert_ok(faro_queue_next(queue, client, &post, error));
  assert_int_equal(faro_wire_report_head(post.bytes).sequence, 1);
  assert_ok(faro_queue_answer(queue, client, 200, "\0", 1, 0, NULL, error));
  assert_ok(faro_queue_turn(queue, client, &arm, &counts, error));
  assert_false(counts);
  assert_ok(faro_queue_turn(queue, client, &arm, NULL, NULL));
  assert_int_equal(faro_queue_played(queue, client, 0, 0.5, NULL), FARO_INVALID);
  assert_int_equal(faro_queue_count(queue).delivered, 1);
  faro_client_close(client);
  faro_queue_close(queue);
  free(s.document);
}

static int make_folder(void **state) {
  (void)state;
  assert_ok(faro_sign_key_make(&analyzer, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_seal_key_make(&seal, error));
  SCRATCH(folder, "crash");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/state", folder);
  out = mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return out == MAP_FAILED;
}

static int remove_folder(void **state) {
  char command[96];
  (void)state;
  munmap(out, sizeof *out);
  out = NULL;
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue__a_device_that_is_killed_at_any_write_reports_each_plan_once),
      cmocka_unit_test(test_queue__a_device_that_is_killed_at_any_write_answers_each_fit_once),
      cmocka_unit_test(test_queue__a_plan_that_cannot_be_saved_is_not_sent_and_not_lost),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
