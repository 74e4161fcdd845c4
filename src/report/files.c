/* files: a run's directory on disk. Each file is replaced as a whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "report/json.h"
#include "report/view.h"

enum { PATH_SIZE = 4096, RUN_MAX = 256 << 20 };

static faro_status path_in(const char *directory, const char *name, const char *ending,
                           char out[static PATH_SIZE], faro_error *error) {
  if (snprintf(out, PATH_SIZE, "%s/%s%s", directory, name, ending) < PATH_SIZE) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "the path %.100s/... is too long", directory);
}

static faro_status write_file(const char *directory, const char *name, const char *ending, char *text,
                              faro_error *error) {
  char path[PATH_SIZE];
  if (!text) return faro_fail(error, FARO_MEMORY, "cannot hold %s%s", name, ending);
  faro_status status = path_in(directory, name, ending, path, error);
  if (status == FARO_OK) status = faro_write_file(path, text, strlen(text), 0666, error);
  free(text);
  return status;
}

faro_status faro_report_write(const faro_report *report, const char *directory, faro_error *error) {
  faro_status status = write_file(directory, "summary", ".csv", faro_report_summary_csv(report), error);
  if (status == FARO_OK)
    status = write_file(directory, "curves", ".csv", faro_report_curves_csv(report), error);
  if (status == FARO_OK)
    status = write_file(directory, "instances", ".csv", faro_report_instances_csv(report), error);
  if (status == FARO_OK) status = write_file(directory, "table", ".tex", faro_report_latex(report), error);
  if (status == FARO_OK) status = write_file(directory, report->name, ".svg", faro_report_svg(report), error);
  if (status == FARO_OK) status = write_file(directory, "report", ".html", faro_report_html(report), error);
  if (status == FARO_OK)
    status = write_file(directory, "run", ".json", faro_json_text(report->document, false), error);
  return status;
}

faro_status faro_report_write_figure(const faro_report *report, const char *directory, faro_figure_size size,
                                     char **path, faro_error *error) {
  char ending[32] = ".svg";
  char place[PATH_SIZE];
  if (size != FARO_FIGURE_SCREEN) snprintf(ending, sizeof ending, "-%s.svg", faro_figure_size_name(size));
  faro_status status = path_in(directory, report->name, ending, place, error);
  if (status == FARO_OK)
    status = write_file(directory, report->name, ending, faro_report_figure(report, size), error);
  if (status != FARO_OK) return status;
  *path = strdup(place);
  return *path ? FARO_OK : faro_fail(error, FARO_MEMORY, "cannot hold a path");
}

/* A run that has a journal and no run.json was interrupted. */
static faro_status check_finished(const char *directory, const char *path, faro_error *error) {
  char journal[PATH_SIZE];
  const faro_status status = path_in(directory, "instances", ".journal", journal, error);
  if (status != FARO_OK || access(path, F_OK) == 0 || access(journal, F_OK) != 0) return status;
  return faro_fail(error, FARO_INVALID,
                   "%s: the run is not finished. Its finished instances are kept in instances.journal: the "
                   "`faro run` command that began it continues from there",
                   faro_path_end(directory));
}

faro_status faro_report_load(faro_report **report, const char *directory, faro_error *error) {
  char path[PATH_SIZE];
  char *text = NULL;
  size_t length = 0;
  faro_status status = path_in(directory, "run", ".json", path, error);
  if (status == FARO_OK) status = check_finished(directory, path, error);
  if (status == FARO_OK) status = faro_read_file(path, RUN_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_report_parse(report, path, text, length, error);
  free(text);
  return status;
}
