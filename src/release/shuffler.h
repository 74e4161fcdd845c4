/* shuffler: the state of one, for the releases that play several in one process. */
#ifndef FARO_RELEASE_SHUFFLER_H
#define FARO_RELEASE_SHUFFLER_H

#include <faro/release.h>

#include "base/arena.h"

struct faro_shuffler {
  faro_arena arena;
  size_t length;
  faro_shuffler_phase phase;
  faro_shuffler_task task;
  uint64_t held;   /* users who have sent */
  uint64_t *total; /* ones of each entry so far */
};

/* Takes what `users` of them sent, already added up. */
faro_status faro_shuffler_accept_sum(faro_shuffler *shuffler, const uint64_t *sum, uint64_t users,
                                     faro_error *error) FARO_WARN_UNUSED;

#endif
