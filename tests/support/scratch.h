/* scratch: where folders of tests are made. Syncing files costs nothing in memory. */
#ifndef FARO_TESTS_SCRATCH_H
#define FARO_TESTS_SCRATCH_H

#include <stdio.h>
#include <unistd.h>

static inline const char *scratch(void) { return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; }

/* The template of a folder for mkdtemp. */
#define SCRATCH(array, name) snprintf(array, sizeof(array), "%s/faro-" name "-XXXXXX", scratch())

#endif
