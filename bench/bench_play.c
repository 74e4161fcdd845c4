/* bench_play: what instances of an experiment cost, one line of JSON for each algorithm.
 *
 *   bench_play [SECONDS [LIMIT]] <experiment.yaml
 *
 * Instances are played as the runner plays them, again and again until SECONDS of processor time
 * (0.2) are spent on an algorithm; the least time of each instance counts, and the mean over
 * instances is printed. After LIMIT seconds an instance is stopped, and `whole` is false.
 *
 *   parse_ns  reading the experiment and calibrating its noise, all algorithms together
 *   begin_ns  making the world and the learner, once an instance
 *   ns        a round, without these
 *   peak_kib  resident memory of this process so far */
#include <faro/faro.h>

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "sim/loop.h"
#include "timing.h"

enum { INSTANCES_MAX = 128, TURNS_MAX = 100, TEXT_MAX = 1 << 16 };

static void must(faro_status status, const faro_error *error) {
  if (status == FARO_OK) return;
  fprintf(stderr, "bench_play: %s\n", error->message);
  exit(status == FARO_INVALID ? 2 : 1);
}

/* The runner asks whether to stop before the first round, and between pieces of an instance. */
typedef struct watch {
  double limit, first; /* nanoseconds; when the first round began, 0: it has not */
} watch;

static bool watch_stopped(void *context) {
  watch *w = context;
  const double now = cpu_ns();
  if (w->first == 0) w->first = now;
  return now - w->first > w->limit;
}

typedef struct cost {
  double begin, rounds; /* nanoseconds before the first round, and of all rounds */
  uint64_t played;
  double regret;
  bool whole;
} cost;

static cost play(const faro_cell *cell, uint64_t seed, uint64_t instance, double limit) {
  faro_error error = {0};
  faro_play_record record = {0};
  atomic_ullong played = 0;
  watch w = {.limit = limit};
  const faro_turn turn = {.cell = cell,
                          .seed = seed,
                          .instance = instance,
                          .stopped = watch_stopped,
                          .context = &w,
                          .played = &played,
                          .record = &record};
  const double start = cpu_ns();
  const faro_status status = faro_play(&turn, &error);
  const double end = cpu_ns();
  if (status != FARO_INTERRUPTED) must(status, &error);
  const uint64_t rounds = status == FARO_OK ? cell->settings.horizon : atomic_load(&played);
  return (cost){.begin = w.first - start,
                .rounds = end - w.first,
                .played = rounds,
                .regret = record.regret,
                .whole = status == FARO_OK};
}

static void keep_less(cost *best, const cost *c, bool first) {
  const cost before = *best;
  *best = *c;
  if (first) return;
  best->begin = fmin(best->begin, before.begin);
  if (before.rounds / (double)before.played < c->rounds / (double)c->played) {
    best->rounds = before.rounds;
    best->played = before.played;
  }
}

/* Not by getrusage, which counts the pages of the process that started this one. */
static long peak_kib(void) {
  char line[128];
  long kib = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  if (file) (void)fclose(file);
  return kib;
}

static void print(const faro_cell *cell, const cost *best, size_t instances, int turns, double parse) {
  cost mean = {.whole = true};
  double ns = 0;
  const double n = (double)instances;
  for (size_t i = 0; i < instances; i++) {
    mean.begin += best[i].begin / n;
    mean.played += best[i].played;
    mean.whole = mean.whole && best[i].whole;
    ns += best[i].rounds / (double)best[i].played / n;
  }
  printf("{\"label\": \"%s\", \"learner\": \"%s\", \"release\": \"%s\", \"horizon\": %llu, \"batch\": %llu, ",
         cell->label, cell->learner->name, cell->release->name, (unsigned long long)cell->settings.horizon,
         (unsigned long long)cell->settings.batch);
  printf("\"instances\": %zu, \"turns\": %d, \"rounds\": %.0f, \"whole\": %s, \"ns\": %.6g, ", instances,
         turns, (double)mean.played / n, mean.whole ? "true" : "false", ns);
  printf("\"begin_ns\": %.6g, \"parse_ns\": %.6g, \"peak_kib\": %ld, \"regrets\": [", mean.begin, parse,
         peak_kib());
  for (size_t i = 0; i < instances; i++) printf("%s%.17g", i ? ", " : "", best[i].regret);
  printf("]}\n");
  fflush(stdout);
}

static void measure(const faro_experiment *e, const faro_cell *cell, double seconds, double limit,
                    double parse) {
  static cost best[INSTANCES_MAX];
  const size_t instances = e->instances < INSTANCES_MAX ? e->instances : INSTANCES_MAX;
  const double start = cpu_ns();
  int turns = 0;
  do {
    for (size_t i = 0; i < instances; i++) {
      const cost c = play(cell, e->seed, i, limit);
      keep_less(&best[i], &c, turns == 0);
    }
    turns++;
  } while (turns < TURNS_MAX && cpu_ns() - start < seconds * 1e9);
  print(cell, best, instances, turns, parse);
}

int main(int argc, char **argv) {
  static char text[TEXT_MAX];
  const size_t length = fread(text, 1, sizeof text, stdin);
  const double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.2;
  const double limit = argc > 2 ? strtod(argv[2], NULL) * 1e9 : INFINITY;
  faro_error error = {0};
  faro_experiment *e = NULL;
  (void)faro_dense_threads(1);
  const double start = cpu_ns();
  must(faro_experiment_parse(&e, "bench", text, length, NULL, &error), &error);
  const double parse = cpu_ns() - start;
  for (size_t c = 0; c < e->count; c++) measure(e, &e->cell[c], seconds, limit, parse);
  faro_experiment_destroy(e);
  return 0;
}
