/* base: the error record and the version. */
#include <faro/base.h>

#include <commit.h>
#include <stdarg.h>
#include <stdio.h>

faro_status(faro_fail)(faro_error *error, faro_status status, const char *format, ...) {
  if (!error || error->status != FARO_OK) return status;
  error->status = status;
  va_list args;
  va_start(args, format);
  vsnprintf(error->message, sizeof error->message, format, args);
  va_end(args);
  /* control characters from a file or a user must not reach a terminal */
  for (char *c = error->message; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  return status;
}

const char *faro_version(void) { return FARO_VERSION; }
const char *faro_commit(void) { return FARO_COMMIT; }
const char *faro_compiler(void) { return FARO_COMPILER; }
