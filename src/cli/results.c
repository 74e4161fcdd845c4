/* results: see the header. A folder holds the results of an experiment if its run.json has the
 * experiment's identity, its shards if its shards.json has, and an unfinished run of it if its
 * journal has the experiment's digest. */
#include "cli/results.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/experiment.h"
#include "sim/journal.h"

enum { NUMBERS = 10000, PLACE_MAX = 120 };

typedef enum holding { HOLDS_NOTHING, HOLDS_SAME, HOLDS_OTHER, HOLDS_JOURNAL } holding;

static bool path_in(const char *folder, const char *name, char out[static CLI_PATH]) {
  return snprintf(out, CLI_PATH, "%s/%s", folder, name) < CLI_PATH;
}

/* Whether a file of the folder has the experiment's identity; NULL: any. */
static holding compare_identity(const char *folder, const char *name, const faro_experiment *experiment) {
  char path[CLI_PATH];
  if (!path_in(folder, name, path) || access(path, F_OK) != 0) return HOLDS_NOTHING;
  json_t *document = json_load_file(path, 0, NULL);
  const char *identity = json_string_value(json_object_get(document, "identity"));
  const bool same = identity && (!experiment || strcmp(identity, experiment->identity) == 0);
  json_decref(document);
  return same ? HOLDS_SAME : HOLDS_OTHER;
}

/* What a folder holds, from the point of view of an experiment. */
static holding look_into(const char *folder, const faro_experiment *experiment) {
  char path[CLI_PATH];
  const holding found = compare_identity(folder, "run.json", experiment);
  const holding shards = compare_identity(folder, "shards.json", experiment);
  if (found == HOLDS_OTHER || shards == HOLDS_OTHER) return HOLDS_OTHER;
  if (path_in(folder, "instances.journal", path) && !faro_journal_suits(path, experiment->digest))
    return HOLDS_JOURNAL;
  return found;
}

bool cli_results_complete(const char *folder, const faro_experiment *experiment) {
  return compare_identity(folder, "run.json", experiment) == HOLDS_SAME &&
         compare_identity(folder, "shards.json", experiment) == HOLDS_NOTHING;
}

/* Adds an override to a folder's name: epsilon=[0.5, 1] becomes epsilon=0.5+1. */
static size_t add_override(char *name, size_t used, const char *text) {
  name[used++] = ',';
  for (; *text && used < PLACE_MAX; text++) {
    const unsigned char c = (unsigned char)*text;
    if (isalnum(c) || strchr("._=+-", c)) name[used++] = (char)c;
    else if (c == ',') name[used++] = '+';
    else if (!strchr("[] \"'", c)) name[used++] = '_';
  }
  name[used] = '\0';
  return used;
}

/* results/NAME[-quick][,KEY=VALUE]... */
static void default_place(const faro_experiment *experiment, char out[static CLI_PATH]) {
  size_t used =
      (size_t)snprintf(out, CLI_PATH, "results/%s%s", experiment->name, experiment->quick ? "-quick" : "");
  for (size_t i = 0; i < experiment->overrides && used + 1 < PLACE_MAX; i++)
    used = add_override(out, used, experiment->override[i]);
}

static faro_status check_length(const char *path, faro_error *error) {
  if (*path != '\0' && strlen(path) < CLI_PATH) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "--out must be a path of 1 to %d characters", CLI_PATH - 1);
}

static faro_status take_out(cli_results *results, const faro_experiment *experiment, const char *out,
                            bool fresh, faro_error *error) {
  const faro_status status = check_length(out, error);
  if (status != FARO_OK) return status;
  snprintf(results->path, sizeof results->path, "%s", out);
  if (fresh || look_into(out, experiment) != HOLDS_OTHER) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s: holds the results of another experiment or of other settings; choose another --out, "
                   "or use --fresh to replace them",
                   faro_path_end(out));
}

/* PATH, PATH-2, PATH-3, ... */
static void number_place(cli_results *results, const char *place, int number) {
  if (number == 1) snprintf(results->path, sizeof results->path, "%s", place);
  else snprintf(results->path, sizeof results->path, "%.4000s-%d", place, number);
}

static faro_status no_place(const char *place, faro_error *error) {
  return faro_fail(error, FARO_INVALID, "%s and %d numbered folders beside it exist; use --out",
                   faro_path_end(place), NUMBERS - 1);
}

faro_status cli_results_choose(cli_results *results, const faro_experiment *experiment, const char *out,
                               bool fresh, faro_error *error) {
  char place[CLI_PATH];
  *results = (cli_results){.first = 0};
  if (out) return take_out(results, experiment, out, fresh, error);
  default_place(experiment, place);
  for (int n = 1; n <= NUMBERS; n++) {
    number_place(results, place, n);
    const holding found = look_into(results->path, experiment);
    if (found == HOLDS_OTHER || (found == HOLDS_JOURNAL && !fresh)) continue;
    if (n > 1)
      fprintf(stderr, "faro: %s holds other results; these go to %s\n", faro_path_end(place), results->path);
    return FARO_OK;
  }
  return no_place(place, error);
}

faro_status cli_results_new(cli_results *results, const faro_experiment *experiment, const char *path,
                            faro_error *error) {
  const faro_status status = check_length(path, error);
  if (status != FARO_OK) return status;
  *results = (cli_results){.first = 0};
  for (int n = 1; n <= NUMBERS; n++) {
    number_place(results, path, n);
    if (look_into(results->path, experiment) == HOLDS_NOTHING) return FARO_OK;
  }
  return no_place(path, error);
}

faro_status cli_results_make(cli_results *r, faro_error *error) {
  const size_t length = strlen(r->path);
  for (size_t i = 1; i <= length; i++) {
    const char here = r->path[i];
    if (here != '/' && here != '\0') continue;
    r->path[i] = '\0';
    const bool made = mkdir(r->path, 0777) == 0;
    if (!made && errno != EEXIST)
      return faro_fail(error, FARO_SYSTEM, "%s: cannot be created: %s", faro_path_end(r->path),
                       strerror(errno));
    r->path[i] = here;
    if (made && r->first == 0) r->first = i;
    if (made) r->last = i;
  }
  struct stat info;
  if (stat(r->path, &info) != 0 || !S_ISDIR(info.st_mode) || access(r->path, W_OK) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: not a directory, or not writable", faro_path_end(r->path));
  return FARO_OK;
}

void cli_results_take_back(cli_results *r) {
  for (size_t i = r->last; r->first > 0 && i >= r->first; i--) {
    const bool end = r->path[i] == '/' || r->path[i] == '\0';
    r->path[i] = end ? '\0' : r->path[i];
    if (end && r->path[i - 1] != '/' && rmdir(r->path) != 0) return;
  }
}
