/* What a shuffler in n parts costs: reports per CPU second of each process that takes them, and the
 * CPU time of the joiner, for one process and for 1, 2 and 4 collectors. Clients are simulated in
 * this process and post in groups, as gateways do; their time does not count.
 *
 *   bench_parts [BATCHES]    batches of 20 000 reports (3) */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/http/sender.h"
#include "trial/crowd.h"

enum { CLIENTS = 50000, BATCH = 20000, GROUP = 500, THREADS = 2 }; /* GROUP: reports in a post */

/* CPU seconds of a process so far, in user and in system mode. */
static double cpu_of(const faro_child *child) {
  char path[64], text[1024];
  unsigned long user = 0, kernel = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)child->pid);
  FILE *file = fopen(path, "r");
  const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  text[length] = '\0';
  const char *rest = strrchr(text, ')'); /* the name may have blanks */
  if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
    return 0;
  return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static faro_status next_policy(const faro_trial *trial, faro_crowd *crowd, faro_sender *sender,
                               uint64_t version, faro_error *error) {
  char url[FARO_URL_MAX + 1], path[48];
  faro_sent sent = {0};
  faro_status status = FARO_OK;
  snprintf(path, sizeof path, "/v1/policy?after=%" PRIu64, version - 1);
  faro_trial_url(trial, 0, path, url);
  do status = faro_send_get(sender, url, &sent, error);
  while (status == FARO_OK && sent.status != 200);
  return status == FARO_OK ? faro_crowd_policy(crowd, sent.bytes, sent.length, version, error) : status;
}

static void print(const faro_trial *trial, uint64_t reports, const double *before, double seconds) {
  size_t first = 0;
  const size_t receivers = faro_trial_receivers(trial, 0, &first);
  printf("%10zu %10" PRIu64 " %8.2f ", (size_t)trial->params.collectors, reports, seconds);
  for (size_t i = 0; i < receivers; i++) {
    const double cpu = cpu_of(&trial->child[first + i]) - before[first + i];
    printf(" %8.0f", (double)reports / (double)receivers / cpu);
  }
  if (trial->params.collectors > 0) printf("   joiner %.2f s", cpu_of(&trial->child[1]) - before[1]);
  printf("\n");
  fflush(stdout);
}

static faro_status measure(const faro_trial *trial, faro_crowd *crowd, faro_sender *sender, uint64_t batches,
                           faro_error *error) {
  double before[FARO_TRIAL_ROLES];
  const double start = faro_clock();
  faro_status status = FARO_OK;
  for (size_t role = 0; role < trial->roles; role++) before[role] = cpu_of(&trial->child[role]);
  for (uint64_t v = 1; v <= batches && status == FARO_OK; v++) {
    status = next_policy(trial, crowd, sender, v, error);
    if (status == FARO_OK) faro_crowd_allow(crowd, BATCH);
    if (status == FARO_OK && !faro_crowd_settled(crowd, 300))
      status = faro_fail(error, FARO_SYSTEM, "%s", faro_crowd_broken(crowd));
  }
  if (status == FARO_OK) status = next_policy(trial, crowd, sender, batches + 1, error);
  if (status == FARO_OK) print(trial, batches * BATCH, before, faro_clock() - start);
  return status;
}

static faro_status run(uint64_t collectors, uint64_t batches, faro_error *error) {
  char folder[] = "/tmp/faro-bench-XXXXXX";
  static faro_trial trial;
  faro_crowd *crowd = NULL;
  faro_sender *sender = NULL;
  if (!mkdtemp(folder)) return faro_fail(error, FARO_SYSTEM, "cannot create a folder in /tmp");
  const faro_trial_params params = {.command = FARO_COMMAND,
                                    .directory = folder,
                                    .release = "shuffle-bits",
                                    .dimension = 5,
                                    .arms = 2,
                                    .clients = CLIENTS,
                                    .batch = BATCH,
                                    .batches = batches + 1,
                                    .growth = 1,
                                    .collectors = collectors,
                                    .epsilon = 1,
                                    .delta = 1e-6,
                                    .honest = 1,
                                    .norm = 1,
                                    .high = 1,
                                    .keep = (size_t)1 << 20};
  const faro_crowd_params people = {.threads = THREADS,
                                    .group = GROUP * (collectors > 0 ? collectors : 1),
                                    .world = "linear-iid",
                                    .seed = 1,
                                    .patience = 60,
                                    .listen = 16};
  faro_status status = faro_trial_create(&trial, &params, error);
  if (status == FARO_OK) status = faro_trial_start_all(&trial, error);
  if (status == FARO_OK) status = faro_sender_create(&sender, &(faro_sender_params){0}, error);
  if (status == FARO_OK) status = faro_crowd_create(&crowd, &trial, &people, error);
  if (status == FARO_OK) status = measure(&trial, crowd, sender, batches, error);
  faro_crowd_destroy(crowd);
  faro_sender_destroy(sender);
  faro_trial_destroy(&trial);
  faro_trial_remove(folder);
  return status;
}

int main(int argc, char **argv) {
  static const uint64_t counts[] = {0, 1, 2, 4};
  const uint64_t batches = argc > 1 ? strtoull(argv[1], NULL, 10) : 3;
  printf("%10s %10s %8s  reports per CPU second of each\n", "collectors", "reports", "seconds");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    faro_error error = {0};
    if (run(counts[i], batches, &error) == FARO_OK) continue;
    fprintf(stderr, "bench_parts: %s\n", error.message);
    return 1;
  }
  return 0;
}
