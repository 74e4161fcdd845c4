/* timing: clocks and the best-of-several rule that all benchmarks share.
 *
 * Other programs can only make an operation slower, so the least time of several repetitions is the
 * best estimate of its cost. Rivals take turns, so that a slow period affects both. */
#ifndef FARO_BENCH_TIMING_H
#define FARO_BENCH_TIMING_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_RIVALS_MAX = 8 };

static inline double clock_ns(clockid_t id) {
  struct timespec time;
  clock_gettime(id, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Wall time: cheap enough to be read within a round. */
static inline double stamp_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
/* Processor time: excludes periods in which another program ran, but costs a system call. */
static inline double cpu_ns(void) { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/* Does something `times` times; the loop is inside, so that the call itself costs nothing
 * measurable. */
typedef struct bench_rival {
  void (*work)(void *context, size_t times);
  void *context;
} bench_rival;

static inline double bench_once(const bench_rival *rival, size_t times) {
  const double start = cpu_ns();
  rival->work(rival->context, times);
  return cpu_ns() - start;
}

/* How often a rival must repeat its work to fill about a millisecond. */
static inline size_t bench_times(const bench_rival *rival) {
  size_t times = 1;
  while (bench_once(rival, times) < 1e6) times *= 2;
  return times;
}

/* Nanoseconds per operation for each rival: the best of up to 15 turns, fewer if a turn is so long
 * that noise hardly matters. */
static inline void bench_race(size_t count, const bench_rival *rival, double *best) {
  size_t times[BENCH_RIVALS_MAX];
  double spent = 0;
  for (size_t r = 0; r < count; r++) {
    times[r] = bench_times(&rival[r]);
    best[r] = bench_once(&rival[r], times[r]) / (double)times[r];
  }
  for (int turn = 1; turn < 15 && (turn < 3 || spent < 3e8); turn++)
    for (size_t r = 0; r < count; r++) {
      const double took = bench_once(&rival[r], times[r]);
      spent += took;
      if (took / (double)times[r] < best[r]) best[r] = took / (double)times[r];
    }
}

/* Zeroed memory on a cache line. Ends the program if there is none. */
static inline void *bench_alloc(size_t count, size_t size) {
  const size_t bytes = (count * size + 127) / 64 * 64;
  unsigned char *memory = aligned_alloc(64, bytes);
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  for (size_t i = 0; i < bytes; i++) memory[i] = 0;
  return memory;
}

#endif
