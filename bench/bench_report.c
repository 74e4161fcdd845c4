/* bench_report: what one report costs a shuffler, stage by stage, and how long the store is held at
 * once. In this process and in one thread, without HTTP. Times are those of this thread's CPU, so
 * other work on the machine changes little.
 *
 *     bench_report [CLIENTS BATCH]
 *
 * Reports are for d = 5, shuffle-bits, in groups of 1600, like 16 posts of 100. FARO_BENCH_FOLDER:
 * folder for the state (/var/tmp). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "service/state/spool.h"
#include "support/stage.h"

enum { GROUP = 1600, BATCHES = 12, WARM = 2 };

typedef enum stage_of { READ, HASH, LOOK, ACCEPT, COMMIT, FOLD, NEXT, FORGET, STAGES } stage_of;
static const char *const name_of[STAGES] = {
    [READ] = "check the bytes of the report",
    [HASH] = "hash its token",
    [LOOK] = "look for the client among those that may send, and mark the report",
    [ACCEPT] = "judge, write, and add to the totals",
    [COMMIT] = "commit, with a flush for each group",
    [FOLD] = "after the batch: fold its clients",
    [NEXT] = "fetch the batch",
    [FORGET] = "forget the batch, and empty the log",
};

typedef struct cost {
  double cpu, most; /* seconds in all, and at once */
} cost;

typedef struct bench {
  stage stage;
  faro_spool *spool;
  unsigned char *frame; /* reports of the group */
  faro_spool_entry entry[GROUP];
  cost cost[STAGES];
  double held; /* seconds of CPU for which the store was held at most */
  uint64_t reports, cursor;
  bool counts; /* after the first batches */
} bench;

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(faro_status status, const faro_error *error) {
  if (status == FARO_OK) return;
  fprintf(stderr, "bench_report: %s\n", error->message);
  exit(4);
}

/* The end of a stage that began at `start`. */
static double charge(bench *b, stage_of which, double start) {
  const double now = cpu_now();
  if (!b->counts) return now;
  b->cost[which].cpu += now - start;
  if (now - start > b->cost[which].most) b->cost[which].most = now - start;
  return now;
}

static void hold(bench *b, double since) {
  const double held = cpu_now() - since;
  if (b->counts && held > b->held) b->held = held;
}

/* What the server's threads do with a group. */
static void read_group(bench *b, size_t count) {
  static faro_wire_report report[GROUP];
  const stage *s = &b->stage;
  faro_error error = {0};
  double at = cpu_now();
  for (size_t i = 0; i < count; i++)
    must(faro_wire_report_read(&s->campaign, b->frame + i * s->frame, s->frame, &report[i], &error), &error);
  at = charge(b, READ, at);
  for (size_t i = 0; i < count; i++) {
    b->entry[i] = (faro_spool_entry){
        .version = report[i].version, .sequence = report[i].sequence, .body = report[i].body};
    faro_token_hash(report[i].token, b->entry[i].hash);
  }
  at = charge(b, HASH, at);
  faro_spool_admit(b->spool, b->entry, count);
  faro_spool_mark(b->spool, b->entry, count);
  (void)charge(b, LOOK, at);
}

/* What the writer does with it. */
static void write_group(bench *b, size_t count) {
  faro_error error = {0};
  const double start = cpu_now();
  must(faro_spool_begin(b->spool, &error), &error);
  for (size_t i = 0; i < count; i++) {
    must(faro_spool_accept(b->spool, &b->entry[i], &error), &error);
    if (b->entry[i].verdict != FARO_VERDICT_ACCEPTED)
      must(faro_fail(&error, FARO_INVALID, "refused"), &error);
  }
  const double written = charge(b, ACCEPT, start);
  must(faro_spool_commit(b->spool, &error), &error);
  (void)charge(b, COMMIT, written);
  hold(b, start);
}

static void hand_over(bench *b, uint64_t number) {
  faro_error error = {0};
  faro_batch batch;
  while (faro_spool_snapshot(b->spool).unfolded) {
    const double start = cpu_now();
    must(faro_spool_fold(b->spool, &error), &error);
    (void)charge(b, FOLD, start);
    hold(b, start);
  }
  double at = cpu_now();
  must(faro_spool_next(b->spool, &batch, &error), &error);
  faro_spool_wipe(b->spool, &batch);
  at = charge(b, NEXT, at);
  const double start = at;
  must(faro_spool_forget(b->spool, number, &error), &error);
  (void)charge(b, FORGET, at);
  hold(b, start);
}

static void play(bench *b, uint64_t number, uint64_t batch) {
  const stage *s = &b->stage;
  b->counts = number >= WARM;
  for (uint64_t done = 0; done < batch;) {
    const size_t count = batch - done < GROUP ? (size_t)(batch - done) : GROUP;
    for (size_t i = 0; i < count; i++) {
      stage_report(s, 0, (size_t)b->cursor, number + 1, number + 1, i, b->frame + i * s->frame);
      b->cursor = (b->cursor + 1) % s->clients;
    }
    read_group(b, count);
    write_group(b, count);
    done += count;
    if (b->counts) b->reports += count;
  }
  hand_over(b, number);
}

static void print(const bench *b) {
  double all = 0;
  printf("| stage | microseconds of CPU per report | most at once, ms |\n|---|---|---|\n");
  for (size_t i = 0; i < STAGES; i++) {
    all += b->cost[i].cpu;
    printf("| %s | %.2f | %.1f |\n", name_of[i], 1e6 * b->cost[i].cpu / (double)b->reports,
           1e3 * b->cost[i].most);
  }
  printf("| all, without HTTP | %.2f | %.1f |\n", 1e6 * all / (double)b->reports, 1e3 * b->held);
}

int main(int argc, char **argv) {
  static bench b;
  const char *folder = getenv("FARO_BENCH_FOLDER");
  const size_t clients = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000;
  const uint64_t batch = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
  const stage_plan plan = {.release = "shuffle-bits",
                           .epsilon = 1,
                           .batch = batch,
                           .horizon = 1000000000,
                           .dimension = 5,
                           .clients = clients,
                           .memory = folder ? folder : "/var/tmp"};
  char state[128], hashes[128];
  faro_error error = {0};
  if (clients < batch || batch == 0)
    must(faro_fail(&error, FARO_INVALID, "BATCH must be 1 .. CLIENTS"), &error);
  stage_open(&b.stage, &plan);
  snprintf(state, sizeof state, "%s/state", b.stage.folder);
  snprintf(hashes, sizeof hashes, "%s/hashes", b.stage.folder);
  const faro_spool_params params = {.path = state, .tokens = hashes, .campaign = &b.stage.campaign};
  must(faro_spool_open(&b.spool, &params, &error), &error);
  b.frame = malloc(GROUP * b.stage.frame);
  for (uint64_t i = 0; i < BATCHES; i++) play(&b, i, batch);
  printf("%zu clients, batches of %llu, groups of %d\n", clients, (unsigned long long)batch, GROUP);
  print(&b);
  faro_spool_close(b.spool);
  free(b.frame);
  stage_close(&b.stage);
  return 0;
}
