/* files: a run's directory on disk. Each file is written beside its place, synced and renamed, so that a
 * reader finds the old one or the new one, never half of one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "report/view.h"

enum { PATH_SIZE = 4096, RUN_MAX = 256 << 20 };

static faro_status path_in(const char *directory, const char *name, const char *ending,
                           char out[static PATH_SIZE], faro_error *error) {
  if (snprintf(out, PATH_SIZE, "%s/%s%s", directory, name, ending) < PATH_SIZE) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "the path %.100s/... is too long", directory);
}

static bool write_all(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool good = fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
  good &= fclose(file) == 0;
  return good;
}

static faro_status write_file(const char *directory, const char *name, const char *ending, char *text,
                              faro_error *error) {
  char path[PATH_SIZE];
  char fresh[PATH_SIZE];
  if (!text) return faro_fail(error, FARO_MEMORY, "cannot hold %s%s", name, ending);
  faro_status status = path_in(directory, name, ending, path, error);
  if (status == FARO_OK && snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
    status = faro_fail(error, FARO_INVALID, "the path %.100s... is too long", path);
  if (status == FARO_OK && (!write_all(fresh, text) || rename(fresh, path) != 0)) {
    status = faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(errno));
    (void)remove(fresh);
  }
  free(text);
  return status;
}

static void sync_directory(const char *directory) {
  const int fd = open(directory, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

faro_status faro_report_write(const faro_report *report, const char *directory, faro_error *error) {
  faro_status status = write_file(directory, "summary", ".csv", faro_report_summary_csv(report), error);
  if (status == FARO_OK)
    status = write_file(directory, "curves", ".csv", faro_report_curves_csv(report), error);
  if (status == FARO_OK) status = write_file(directory, report->name, ".svg", faro_report_svg(report), error);
  if (status == FARO_OK) status = write_file(directory, "report", ".html", faro_report_html(report), error);
  if (status == FARO_OK)
    status = write_file(directory, "run", ".json",
                        json_dumps(report->document, JSON_COMPACT | JSON_REAL_PRECISION(17)), error);
  sync_directory(directory);
  return status;
}

faro_status faro_report_load(faro_report **report, const char *directory, faro_error *error) {
  char path[PATH_SIZE];
  char *text = NULL;
  size_t length = 0;
  faro_status status = path_in(directory, "run", ".json", path, error);
  if (status == FARO_OK) status = faro_read_file(path, RUN_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_report_parse(report, path, text, length, error);
  free(text);
  return status;
}
