/* rerun: see rerun.h.
 *
 * A finished run has a file `finished` beside its results: the digest of the experiment (which
 * covers the program), the number of instances, and the processor time. If these are the same, the
 * results are used again. An unfinished run continues from its journal. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "cli/play.h"
#include "cli/reproduce/rerun.h"
#include "sim/experiment.h"
#include "sim/journal.h"

enum { MARK_SIZE = 256 };

static double processor_seconds(void) {
  struct timespec t;
  return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

/* ---- the mark of a finished run */

static const char *mark_of(const faro_experiment *experiment, char out[static MARK_SIZE]) {
  size_t length = 0;
  for (size_t i = 0; i < sizeof experiment->digest; i++)
    length += (size_t)snprintf(out + length, MARK_SIZE - length, "%02x", experiment->digest[i]);
  snprintf(out + length, MARK_SIZE - length, " %zu ", experiment->instances);
  return out;
}

/* Whether the folder has the results of this experiment; then *seconds is set. */
static bool is_finished(const char *folder, const char *mark, double *seconds) {
  char path[CLI_PATH + 32];
  char *text = NULL;
  size_t length = 0;
  faro_error error = {0};
  snprintf(path, sizeof path, "%s/finished", folder);
  const bool same = faro_read_file(path, MARK_SIZE, &text, &length, &error) == FARO_OK &&
                    length > strlen(mark) && memcmp(text, mark, strlen(mark)) == 0;
  if (same) *seconds = strtod(text + strlen(mark), NULL);
  free(text);
  return same;
}

static faro_status write_mark(const char *folder, const char *mark, double seconds, faro_error *error) {
  char path[CLI_PATH + 32];
  char text[MARK_SIZE + 32];
  snprintf(path, sizeof path, "%s/finished", folder);
  const int length = snprintf(text, sizeof text, "%s%.3f\n", mark, seconds);
  return faro_write_file(path, text, (size_t)length, 0666, error);
}

/* ---- a run */

static int ignore(const faro_report *report, const char *folder, const void *context) {
  (void)report, (void)folder, (void)context;
  return EXIT_DONE;
}

/* A journal of another experiment or program is of no use, and is discarded. */
static int run_into(const rerun_options *o, const faro_experiment *experiment, const char *folder) {
  char journal[CLI_PATH + 32];
  cli_results results = {.first = 0};
  snprintf(journal, sizeof journal, "%s/instances.journal", folder);
  snprintf(results.path, sizeof results.path, "%s", folder);
  const cli_play_options options = {.jobs = o->jobs,
                                    .fresh = o->fresh || !faro_journal_fits(journal, experiment->digest),
                                    .quiet = o->quiet};
  return cli_play(experiment, &results, &options, ignore, NULL);
}

static faro_status load(const rerun_options *o, const char *name, const char *calibration, cli_source *source,
                        faro_experiment **experiment, faro_error *error) {
  char set[FARO_LINE];
  const char *sets[] = {set};
  snprintf(set, sizeof set, "calibration=%s", calibration ? calibration : "");
  const faro_status status = cli_source_read(source, name, error);
  if (status != FARO_OK) return status;
  return cli_source_parse(source, sets, calibration ? 1 : 0, o->quick, "faro reproduce", experiment, error);
}

/* Runs, or takes the results from the folder. */
static int play(const rerun_options *o, const faro_experiment *experiment, const char *folder, double start,
                faro_rerun *run) {
  char mark[MARK_SIZE];
  char path[CLI_PATH + 32];
  faro_error error = {0};
  mark_of(experiment, mark);
  if (!o->fresh && is_finished(folder, mark, &run->seconds) &&
      faro_report_load(&run->report, folder, &error) == FARO_OK)
    return EXIT_DONE;
  snprintf(path, sizeof path, "%s/finished", folder);
  (void)remove(path);
  const int result = run_into(o, experiment, folder);
  if (result != EXIT_DONE) return result;
  run->seconds = processor_seconds() - start;
  if (faro_report_load(&run->report, folder, &error) == FARO_OK &&
      write_mark(folder, mark, run->seconds, &error) == FARO_OK)
    return EXIT_DONE;
  return cli_fail(&error);
}

int rerun_play(const rerun_options *o, const char *name, const char *calibration, const char *progress,
               faro_rerun *run) {
  char folder[CLI_PATH];
  cli_source source = {.text = NULL};
  faro_experiment *experiment = NULL;
  faro_error error = {0};
  const double start = processor_seconds();
  *run = (faro_rerun){.calibration = calibration};
  snprintf(run->folder, sizeof run->folder, "%s/%s", name, calibration ? calibration : "as-written");
  if (!o->quiet)
    fprintf(stderr, "faro: %s: %s%s%s\n", progress, name, calibration ? ", calibration " : "",
            calibration ? calibration : "");
  faro_status status = FARO_OK;
  if (*o->out == '\0' || snprintf(folder, sizeof folder, "%s/%s", o->out, run->folder) >= (int)sizeof folder)
    status = faro_fail(&error, FARO_INVALID, "--out must be a path of 1 to %d characters", CLI_PATH - 1);
  if (status == FARO_OK) status = load(o, name, calibration, &source, &experiment, &error);
  const int result = status == FARO_OK ? play(o, experiment, folder, start, run) : cli_fail(&error);
  faro_experiment_destroy(experiment);
  cli_source_clear(&source);
  return result;
}
