/* restore: faro restore analyzer|shuffler: puts a copy that faro backup has made to the place that
 * the settings name. A copy with --final is moved there: it can be restored once. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/backup.h"
#include "cli/cli.h"
#include "service/analyzer/store.h"
#include "service/host/host_settings.h"
#include "service/shuffler/shuffler_settings.h"
#include "service/state/spool.h"

typedef struct request {
  const char *config, *campaign, *from;
} request;

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, config), .required = true, .value = "FILE",
     .help = "the role's settings: the state goes to the place that they name, where none may be"},
    {"campaign", FARO_FIELD_WORD, FARO_AT(request, campaign), .value = "NAME",
     .help = "which one, if the analyzer's settings name a folder of campaigns"},
    {"from", FARO_FIELD_WORD, FARO_AT(request, from), .required = true, .value = "FILE",
     .help = "a copy that `faro backup` has made; FILE.manifest must be beside it"},
};

static faro_status check_hash(const char *path, const char *hash, faro_error *error) {
  char digits[2 * FARO_DIGEST_BYTES + 1];
  const faro_status status = cli_backup_hash(path, digits, error);
  if (status != FARO_OK || strcmp(hash, digits) == 0) return status;
  return faro_fail(error, FARO_INVALID,
                   "%s is not what its manifest describes: it was changed, damaged, or restored before",
                   faro_path_end(path));
}

/* Checks that the copy is the one of its manifest. *final: it is the state, and not only a copy. */
static faro_status check_manifest(const char *from, size_t role, bool *final, faro_error *error) {
  char path[CLI_PATH], *text = NULL;
  const char *of = NULL, *hash = NULL, *intake = NULL;
  size_t length = 0;
  int last = 0;
  snprintf(path, sizeof path, "%s.manifest", from);
  faro_status status = faro_read_file(path, 1 << 16, &text, &length, error);
  if (status != FARO_OK) return status;
  json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
  const bool whole = json && json_unpack(json, "{ss ss s?s sb}", "role", &of, "hash", &hash, "intake",
                                         &intake, "final", &last) == 0;
  if (!whole)
    status = faro_fail(error, FARO_INVALID, "%s is not a manifest of faro backup", faro_path_end(path));
  if (status == FARO_OK && strcmp(of, cli_backup_role(role)) != 0)
    status = faro_fail(error, FARO_INVALID, "%s is the state of another role", faro_path_end(from));
  if (status == FARO_OK) status = check_hash(from, hash, error);
  snprintf(path, sizeof path, "%s.intake", from);
  if (status == FARO_OK && intake) status = check_hash(path, intake, error);
  *final = last;
  json_decref(json);
  free(text);
  return status;
}

static faro_status check_free(const char *path, faro_error *error) {
  if (access(path, F_OK) != 0) return faro_database_alone(path, error);
  return faro_fail(error, FARO_INVALID, "%s exists: a state is never overwritten; move it away first",
                   faro_path_end(path));
}

static faro_status restore_analyzer(const request *r, bool final, faro_error *error) {
  static faro_analyzer_settings settings;
  char from[CLI_PATH], to[CLI_PATH];
  faro_store *store = NULL;
  faro_status status = faro_host_one_load(r->config, r->campaign, &settings, error);
  snprintf(from, sizeof from, "%s.intake", r->from);
  snprintf(to, sizeof to, "%s.intake", settings.database);
  if (status == FARO_OK) status = cli_backup_file(settings.server, error);
  if (status == FARO_OK) status = check_free(settings.database, error);
  if (status == FARO_OK)
    status = faro_store_open(&store, r->from, final ? FARO_READ_WRITE : FARO_READ_ONLY, error);
  if (status == FARO_OK && access(from, F_OK) == 0) status = faro_spool_move(from, to, error);
  if (status == FARO_OK) status = faro_store_copy(store, settings.database, final, error);
  if (status == FARO_OK && final) status = faro_store_retire(store, error);
  faro_store_close(store);
  if (status == FARO_OK)
    printf("%s: %s\n", settings.database,
           final ? "restored; start the analyzer"
                 : "restored, fenced: the analyzer takes no batch until every shuffler has said that it "
                   "handed over "
                   "the batches in the copy and no later one");
  return status;
}

static faro_status restore_shuffler(const request *r, bool final, faro_error *error) {
  static faro_shuffler_settings settings;
  faro_status status = faro_shuffler_settings_load(&settings, r->config, error);
  if (status == FARO_OK && !final)
    status = faro_fail(error, FARO_INVALID, "%s is a copy; a shuffler's state can only be moved", r->from);
  if (status == FARO_OK) status = cli_backup_file(settings.database, error);
  if (status == FARO_OK) status = check_free(settings.state, error);
  if (status == FARO_OK) status = faro_spool_move(r->from, settings.state, error);
  if (status == FARO_OK) printf("%s: restored; start the shuffler\n", settings.state);
  return status;
}

static int run(int argc, char **argv) {
  request r = {0};
  faro_error error = {0};
  int words = 0;
  size_t role = 0;
  bool final = false;
  const int status = cli_read(&cli_restore, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  const int chosen = cli_choose(&cli_restore, "role", words > 0 ? argv[0] : NULL, &role);
  if (chosen != CLI_GO) return chosen;
  faro_status done = check_manifest(r.from, role, &final, &error);
  if (done == FARO_OK)
    done = role == 0 ? restore_analyzer(&r, final, &error) : restore_shuffler(&r, final, &error);
  return done == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

const cli_command cli_restore = {
    .name = "restore",
    .usage = "restore analyzer|shuffler --config FILE --from FILE",
    .summary = "put a copy that faro backup has made to its place, so that nothing counts twice",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = cli_backup_role,
};
