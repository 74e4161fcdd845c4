/* abort: stops the program when an invariant is broken, in release builds too. A wrong privacy
 * state must not go on. For faro's own bugs only; bad input gets a status and a message. */
#ifndef FARO_BASE_ABORT_H
#define FARO_BASE_ABORT_H

#include <faro/base.h>

#include <stdio.h>
#include <stdlib.h>

_Noreturn static inline void faro_abort(const char *what) {
  fprintf(stderr, "faro: internal error: %s\n", what);
  abort();
}

/* The stated invariant holds, or the program stops. */
#define FARO_INVARIANT(condition)                                                                            \
  do {                                                                                                       \
    if (!(condition)) faro_abort(#condition);                                                                \
  } while (0)

/* Makes a call that returns a faro_status and cannot fail here. */
#define FARO_MUST(call)                                                                                      \
  do {                                                                                                       \
    if ((call) != FARO_OK) faro_abort(#call);                                                                \
  } while (0)

#endif
