/* bench_client: microseconds that taking part costs a device: choosing among arms, making a report,
 * reading documents. And the cost of a report for a shuffler and the analyzer: reading it, opening
 * its sealed box. */
#include <faro/client.h>
#include <faro/faro.h>

#include <stdio.h>
#include <string.h>

#include "timing.h"
#include "wire/wire.h"

enum { D = 10, ARMS = 20, ENTRIES = D * (D + 3) / 2, PARTS = 4 };

typedef struct bench {
  faro_campaign campaign;
  faro_client *client;
  faro_sign_key sign;
  faro_seal_key seal;
  char *document, *policy;
  size_t document_length, policy_length;
  double features[ARMS * D];
  unsigned char *report;
  size_t sink;
} bench;

static void check(faro_status status, const faro_error *error) {
  if (status == FARO_OK) return;
  fprintf(stderr, "bench_client: %s\n", error->message);
  exit(1);
}

static void write_documents(bench *b, const char *kind, size_t shufflers, uint64_t batch) {
  faro_error error = {0};
  faro_campaign c = {.id = "bench",
                     .release = faro_release_kind_find(kind),
                     .arms = ARMS,
                     .learner = "linucb",
                     .failure = 0.1};
  double zero[ENTRIES] = {0};
  faro_sign_key shuffler;
  check(faro_sign_key_make(&b->sign, &error), &error);
  check(faro_sign_key_make(&shuffler, &error), &error);
  check(faro_seal_key_make(&b->seal, &error), &error);
  check(faro_contribution_init(&c.contribution, D, 1, -1, 1, &error), &error);
  c.params = (faro_release_params){.epsilon = 1,
                                   .delta = 1e-6,
                                   .horizon = 100 * batch,
                                   .batch = batch,
                                   .shufflers = shufflers > 1 ? shufflers : 0,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  snprintf(c.analyzer, sizeof c.analyzer, "http://localhost:1");
  memcpy(c.seal, b->seal.public_key, FARO_KEY_BYTES);
  c.shufflers = shufflers;
  for (size_t i = 0; i < shufflers; i++) {
    snprintf(c.shuffler[i].url, sizeof c.shuffler[i].url, "http://localhost:%zu", 2 + i);
    memcpy(c.shuffler[i].key, shuffler.public_key, FARO_KEY_BYTES);
  }
  check(faro_campaign_write(&c, &b->sign, &b->document, &b->document_length, &error), &error);
  const faro_policy policy = {.version = 1, .dimension = D, .beta = 1, .theta = zero, .w = zero + D};
  for (size_t i = 0; i < ENTRIES; i++) zero[i] = 1 / (3.0 + (double)i);
  check(faro_policy_document_write(&policy, c.digest, &b->sign, &b->policy, &b->policy_length, &error),
        &error);
  b->campaign = c;
}

static void open_bench(bench *b, const char *kind, size_t shufflers, uint64_t batch) {
  static const unsigned char token[FARO_TOKEN_BYTES] = "token";
  faro_error error = {0};
  *b = (bench){0};
  write_documents(b, kind, shufflers, batch);
  const faro_client_params settings = {.signer = b->sign.public_key,
                                       .token = token,
                                       .epsilon = 1,
                                       .delta = 1e-6,
                                       .trust = "joint",
                                       .honest = 1};
  check(faro_client_open(&b->client, &settings, &error), &error);
  check(faro_client_campaign(b->client, b->document, b->document_length, &error), &error);
  check(faro_client_policy(b->client, b->policy, b->policy_length, &error), &error);
  for (size_t i = 0; i < ARMS * D; i++) b->features[i] = (double)(i * 7919 % 101) / 404;
  b->report = bench_alloc(PARTS, faro_client_part_size(b->client));
}

static void close_bench(bench *b) {
  faro_client_close(b->client);
  free(b->document);
  free(b->policy);
  free(b->report);
}

#define WORK(name, call)                                                                                     \
  static void name(void *context, size_t times) {                                                            \
    bench *b = context;                                                                                      \
    faro_error error = {0};                                                                                  \
    for (size_t i = 0; i < times; i++) check(call, &error);                                                  \
  }
WORK(choose, faro_client_choose(b->client, b->features, ARMS, &b->sink, &error))
WORK(make_report, faro_client_report(b->client, b->features, 0.5, b->report, &b->sink, &error))
WORK(take_policy, faro_client_policy(b->client, b->policy, b->policy_length, &error))

static faro_status read_one(bench *b, faro_error *error) {
  faro_wire_report report;
  const faro_status status =
      faro_wire_report_read(&b->campaign, b->report, faro_wire_report_size(&b->campaign), &report, error);
  b->sink += report.version;
  return status;
}
WORK(read_report, read_one(b, &error))

static faro_status open_one(bench *b, faro_error *error) {
  int64_t numbers[ENTRIES];
  return faro_wire_report_unseal(&b->campaign, &b->seal, 0, b->report + FARO_REPORT_HEAD, numbers, error);
}
WORK(unseal_report, open_one(b, &error))

static double microseconds(bench *b, void (*work)(void *, size_t)) {
  double best = 0;
  const bench_rival rival = {work, b};
  bench_race(1, &rival, &best);
  return best / 1000;
}

int main(void) {
  static const struct {
    const char *kind;
    size_t shufflers;
  } kinds[] = {{"shuffle-bits", 1}, {"concurrent-bits", 3}, {"shuffle-amplified", 1},
               {"local", 0},        {"central-tree", 0},    {"local-bits", 0}};
  printf("us, d = %d, %d arms, batches of 1000\n%-18s %8s %8s %8s %8s %8s %8s\n", D, ARMS, "release", "bytes",
         "choose", "report", "policy", "read", "unseal");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (!faro_release_kind_exact(faro_release_kind_find(kinds[k].kind))) continue;
    bench b;
    open_bench(&b, kinds[k].kind, kinds[k].shufflers, 1000);
    printf("%-18s %8zu %8.2f %8.2f", kinds[k].kind, faro_client_part_size(b.client), microseconds(&b, choose),
           microseconds(&b, make_report));
    printf(" %8.2f %8.2f", microseconds(&b, take_policy), microseconds(&b, read_report));
    if (faro_campaign_form(&b.campaign) != FARO_WIRE_BITS) printf(" %8.2f", microseconds(&b, unseal_report));
    printf("\n");
    close_bench(&b);
  }
  return 0;
}
