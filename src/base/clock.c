/* clock: see the header. */
#include "base/clock.h"

static struct timespec split(double seconds) {
  const time_t whole = (time_t)seconds;
  return (struct timespec){.tv_sec = whole, .tv_nsec = (long)(1e9 * (seconds - (double)whole))};
}

double faro_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct timespec faro_clock_after(double seconds) {
  return split(faro_clock() + seconds);
}

void faro_sleep(double seconds) {
  const struct timespec time = split(seconds);
  nanosleep(&time, NULL);
}
