/* base: status codes, errors owned by the caller, and the version.
 *
 * A function that can fail returns a faro_status and fills the caller's faro_error. Its outputs are
 * untouched on failure. The library never prints and never exits. */
#ifndef FARO_BASE_H
#define FARO_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARO_API __attribute__((visibility("default")))
#define FARO_WARN_UNUSED __attribute__((warn_unused_result))
#define FARO_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

typedef enum faro_status {
  FARO_OK,
  FARO_INVALID, /* bad input; the message names the value and what is allowed */
  FARO_MEMORY,  /* out of memory */
  FARO_SYSTEM,  /* the system failed: a file, the network, the kernel */
  FARO_INTERRUPTED,
  /* What a client refuses, each for a reason that an application can act on (faro/client.h). */
  FARO_WEAK,    /* the campaign promises less than the client's minimum */
  FARO_FOREIGN, /* a campaign, or a policy of one, that the client is not in */
  FARO_OLD,     /* a policy that is older than one seen before */
  FARO_LATE,    /* a choice that has waited longer than the campaign allows */
  FARO_OVER,    /* all batches of the campaign are released */
  FARO_SPENT    /* the client has made all reports that its claim covers */
} faro_status;

/* Why a call failed. Owned by the caller, who sets it to {0} before each call. A message that is
 * already there stays, because the innermost one says most. */
typedef struct faro_error {
  faro_status status;
  char message[768];
} faro_error;

/* Records the failure and returns `status`, so that `return faro_fail(...)` reads well. A failure
 * that is already recorded stays: the place nearest to the fault knows most. */
FARO_API faro_status faro_fail(faro_error *error, faro_status status, const char *format, ...)
    FARO_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* it does not see that the status comes back */
#define faro_fail(error, status, ...) ((void)faro_fail(error, status, __VA_ARGS__), (status))
#endif

/* Version of the library, and the commit and compiler it was built from. */
FARO_API const char *faro_version(void);
FARO_API const char *faro_commit(void);
FARO_API const char *faro_compiler(void);

#ifdef __cplusplus
}
#endif

#endif
