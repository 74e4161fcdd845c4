/* clock: monotonic time (CLOCK_MONOTONIC) in seconds, for deadlines, durations and waits. */
#ifndef FARO_BASE_CLOCK_H
#define FARO_BASE_CLOCK_H

#include <time.h>

/* Seconds since a fixed moment in the past. */
double faro_clock(void);

/* The moment `seconds` from now, for pthread_cond_clockwait and sem_clockwait with
 * CLOCK_MONOTONIC. */
struct timespec faro_clock_after(double seconds);

/* Sleeps; a signal may end it early. */
void faro_sleep(double seconds);

#endif
