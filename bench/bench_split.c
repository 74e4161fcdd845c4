/* bench_split: what split counts cost beside counts that are not: bytes of a report, and reports
 * per CPU second at the client, at the shuffler (read, accept, commit in groups of 100) and at the
 * adder (open, remember, add, commit). Files are in TMPDIR or /tmp, so commits reach its disk. */
#include <faro/faro.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/adder/adder_state.h"
#include "service/state/spool.h"
#include "timing.h"

enum { BATCH = 5000, GROUP = 100 };

typedef struct bench {
  char folder[256], tokens[320], hashes[320], state[320], sums[320];
  faro_sign_key analyzer, shuffler;
  faro_seal_key seal;
  faro_adder_keys adder;
  faro_campaign campaign;
  unsigned char *token, *reports;
  size_t size;
} bench;

static void check(faro_status status, const faro_error *error) {
  if (status == FARO_OK) return;
  fprintf(stderr, "bench_split: %s\n", error->message);
  exit(1);
}

static double cpu(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9; }

static void make_keys(bench *b) {
  faro_error error = {0};
  check(faro_sign_key_make(&b->analyzer, &error), &error);
  check(faro_sign_key_make(&b->shuffler, &error), &error);
  check(faro_sign_key_make(&b->adder.sign, &error), &error);
  check(faro_seal_key_make(&b->seal, &error), &error);
  check(faro_seal_key_make(&b->adder.seal, &error), &error);
}

static void make_campaign(bench *b, size_t dimension, bool split) {
  faro_error error = {0};
  char *text = NULL;
  size_t length = 0;
  faro_campaign c = {.id = "bench",
                     .release = faro_release_kind_find("shuffle-bits"),
                     .arms = 10,
                     .learner = "linucb",
                     .failure = 0.1,
                     .shufflers = 1,
                     .adders = split};
  check(faro_contribution_init(&c.contribution, dimension, 1, -1, 1, &error), &error);
  c.params = (faro_release_params){.epsilon = 1,
                                   .delta = 1e-6,
                                   .horizon = (uint64_t)10 * BATCH,
                                   .batch = BATCH,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = 1,
                                   .honest = 0.9,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  snprintf(c.analyzer, sizeof c.analyzer, "http://localhost:1");
  snprintf(c.shuffler[0].url, sizeof c.shuffler[0].url, "http://localhost:2");
  memcpy(c.seal, b->seal.public_key, FARO_KEY_BYTES);
  memcpy(c.shuffler[0].key, b->shuffler.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].key, b->adder.sign.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].seal, b->adder.seal.public_key, FARO_KEY_BYTES);
  check(faro_campaign_write(&c, &b->analyzer, &text, &length, &error), &error);
  free(text);
  b->campaign = c;
  b->size = faro_wire_report_size(&c);
}

/* Encodes the reports of a batch; the counts are made before. */
static double write_reports(bench *b) {
  faro_error error = {0};
  const faro_encoding *e = &b->campaign.encoding[0];
  uint64_t *counts = bench_alloc(b->campaign.entries, sizeof *counts);
  for (size_t i = 0; i < b->campaign.entries; i++) counts[i] = (uint64_t)(e->least + e->most) / 2 + i % 7;
  b->reports = bench_alloc(BATCH, b->size);
  const double start = cpu();
  for (size_t i = 0; i < BATCH; i++) {
    faro_wire_report head = {.version = 1, .sequence = 1};
    memcpy(head.token, b->token + i * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
    check(faro_wire_report_write(&b->campaign, &head, counts, b->reports + i * b->size, &error), &error);
  }
  const double took = cpu() - start;
  free(counts);
  return took;
}

static double accept_reports(bench *b, faro_spool *spool) {
  faro_error error = {0};
  const double start = cpu();
  for (size_t i = 0; i < BATCH; i++) {
    faro_wire_report report;
    faro_spool_entry entry;
    if (i % GROUP == 0) check(faro_spool_begin(spool, &error), &error);
    check(faro_wire_report_read(&b->campaign, b->reports + i * b->size, b->size, &report, &error), &error);
    entry = (faro_spool_entry){.version = report.version, .sequence = report.sequence, .body = report.body};
    faro_token_hash(report.token, entry.hash);
    check(faro_spool_accept(spool, &entry, &error), &error);
    if (entry.verdict != FARO_VERDICT_ACCEPTED) check(faro_fail(&error, FARO_INVALID, "refused"), &error);
    if (i % GROUP == GROUP - 1) check(faro_spool_commit(spool, &error), &error);
  }
  return cpu() - start;
}

static double add_shares(bench *b, faro_spool *spool) {
  faro_error error = {0};
  faro_adder_state *state = NULL;
  faro_adder_answer answer;
  faro_batch batch;
  if (b->campaign.adders == 0) return 0;
  check(faro_adder_state_open(&state, b->sums, &b->campaign, 0, &b->adder, false, &error), &error);
  check(faro_spool_next(spool, &batch, &error), &error);
  faro_batch boxes = batch;
  boxes.body += 8 * b->campaign.entries;
  const double start = cpu();
  check(faro_adder_add(state, &boxes, &answer, &error), &error);
  const double took = cpu() - start;
  faro_spool_wipe(spool, &batch);
  faro_adder_state_close(state);
  return took;
}

static void remove_files(const bench *b) {
  static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
  char path[340];
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s%s", b->state, ends[i]);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s%s", b->sums, ends[i]);
    (void)unlink(path);
  }
}

static void measure(bench *b, size_t dimension, bool split) {
  faro_error error = {0};
  faro_spool *spool = NULL;
  make_campaign(b, dimension, split);
  const faro_spool_params params = {.path = b->state, .tokens = b->hashes, .campaign = &b->campaign};
  check(faro_spool_open(&spool, &params, &error), &error);
  const double client = write_reports(b);
  const double shuffler = accept_reports(b, spool);
  const double adder = add_shares(b, spool);
  printf("%3zu %-6s %4u %6zu %10.0f %10.0f", dimension, split ? "split" : "plain", b->campaign.share_bits,
         b->size, BATCH / client, BATCH / shuffler);
  if (split) printf(" %10.0f", BATCH / adder);
  printf("\n");
  faro_spool_close(spool);
  free(b->reports);
  remove_files(b);
}

int main(void) {
  static bench b;
  faro_error error = {0};
  size_t count = 0;
  const char *parent = getenv("TMPDIR");
  snprintf(b.folder, sizeof b.folder, "%.200s/faro-bench-XXXXXX", parent && *parent ? parent : "/tmp");
  if (!mkdtemp(b.folder)) return 1;
  snprintf(b.tokens, sizeof b.tokens, "%s/tokens", b.folder);
  snprintf(b.hashes, sizeof b.hashes, "%s/hashes", b.folder);
  snprintf(b.state, sizeof b.state, "%s/state", b.folder);
  snprintf(b.sums, sizeof b.sums, "%s/sums", b.folder);
  make_keys(&b);
  check(faro_tokens_make(b.tokens, b.hashes, BATCH, &error), &error);
  check(faro_tokens_load(b.tokens, &b.token, &count, &error), &error);
  printf("reports per CPU second, batches of %d\n%3s %-6s %4s %6s %10s %10s %10s\n", BATCH, "d", "counts",
         "k", "bytes", "client", "shuffler", "adder");
  for (size_t d = 5; d <= 20; d *= 2)
    for (int split = 0; split < 2; split++) measure(&b, d, split != 0);
  (void)unlink(b.tokens);
  (void)unlink(b.hashes);
  (void)rmdir(b.folder);
  free(b.token);
  return 0;
}
