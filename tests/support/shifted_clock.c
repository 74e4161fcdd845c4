/* shifted_clock: a library to preload, for tests. The clock of the day (CLOCK_REALTIME) is wrong by
 * as many seconds as the file FARO_TEST_CLOCK says, as if somebody had set it; the file may change
 * at any time. Other clocks are as they are, as they are in life. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift; /* in the file, which is mapped */

__attribute__((constructor)) static void open_shift(void) {
  const char *path = getenv("FARO_TEST_CLOCK");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *map = file >= 0 ? mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (file >= 0) close(file);
  if (map != MAP_FAILED) shift = map;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  const int status = (int)syscall(SYS_clock_gettime, clock, time);
  if (status == 0 && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += *shift;
  return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
