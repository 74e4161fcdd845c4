/* applied: see the header. */
#include "service/analyzer/applied.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { PATH_SIZE = 4096, LINE = 64 };

static const char *path_of(const char *database, char path[static PATH_SIZE]) {
  snprintf(path, PATH_SIZE, "%s.applied", database);
  return path;
}

faro_status faro_applied_keep(const char *database, uint64_t batches, faro_error *error) {
  char path[PATH_SIZE], line[LINE];
  const int length = snprintf(line, sizeof line, "%" PRIu64 " batches applied\n", batches);
  return faro_write_file(path_of(database, path), line, (size_t)length, 0644, error);
}

faro_status faro_applied_check(const char *database, uint64_t batches, faro_error *error) {
  char path[PATH_SIZE], *text = NULL;
  size_t length = 0;
  if (access(path_of(database, path), F_OK) != 0) return FARO_OK;
  const faro_status status = faro_read_file(path, LINE, &text, &length, error);
  if (status != FARO_OK) return status;
  char line[LINE + 1] = "";
  memcpy(line, text, length);
  free(text);
  char *end = NULL;
  const unsigned long long known = strtoull(line, &end, 10);
  if (*line < '0' || *line > '9' || strcmp(end, " batches applied\n") != 0)
    return faro_fail(error, FARO_INVALID, "%s must have one line, like \"12 batches applied\"",
                     faro_path_end(path));
  if (known <= batches) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "database %s has %" PRIu64 " batches, but %s says that %llu were applied: an old copy was "
                   "restored. Policies up to version %llu were published, and the shufflers have deleted "
                   "these batches. Put the newest database back, or end the campaign",
                   faro_path_end(database), batches, faro_path_end(path), known, known + 1);
}

faro_status faro_applied_forget(const char *database, faro_error *error) {
  char path[PATH_SIZE];
  if (unlink(path_of(database, path)) == 0 || errno == ENOENT) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s cannot be removed: %s", faro_path_end(path), strerror(errno));
}
