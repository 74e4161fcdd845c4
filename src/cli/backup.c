/* backup: faro backup analyzer|shuffler: a copy of a role's state that cannot count anything twice.
 *
 * A copy of a running analyzer is fenced (store.h). With --final the role is stopped, and its state
 * is marked as moved: the copy is the state, and goes on elsewhere. A shuffler's state can only be
 * moved. OUT.manifest says what the copy is; restore.c reads it. */
#include "cli/backup.h"

#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "service/analyzer/campaign_create.h"
#include "service/host/host_settings.h"
#include "service/role/json_text.h"
#include "service/shuffler/shuffler_settings.h"
#include "service/state/spool.h"
#include "wire/bytes.h"

typedef struct request {
  const char *config, *campaign, *out;
  bool final;
} request;

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, config), .required = true, .value = "FILE",
     .help = "the role's settings"},
    {"campaign", FARO_FIELD_WORD, FARO_AT(request, campaign), .value = "NAME",
     .help = "which one, if the analyzer's settings name a folder of campaigns"},
    {"out", FARO_FIELD_WORD, FARO_AT(request, out), .required = true, .value = "FILE",
     .help = "the copy, a new file; FILE.manifest says what it is"},
    {"final", FARO_FIELD_FLAG, FARO_AT(request, final),
     .help = "the role is stopped and goes on from the copy only: its own state is marked as moved"},
};

FARO_WORDS(roles, "analyzer", "shuffler")
const char *cli_backup_role(size_t index) { return roles(index); }

faro_status cli_backup_file(const char *server, faro_error *error) {
  if (*server == '\0') return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the state is in a database server: it cannot be copied or moved as a file. A synchronous "
                   "replica of the server is its copy, and a role is moved by starting another one");
}

faro_status cli_backup_hash(const char *path, char digits[static 2 * FARO_DIGEST_BYTES + 1],
                            faro_error *error) {
  unsigned char block[1 << 16], hash[FARO_DIGEST_BYTES];
  crypto_generichash_state state;
  FILE *file = fopen(path, "rbe");
  if (!file) return faro_fail(error, FARO_INVALID, "%s cannot be read", faro_path_end(path));
  crypto_generichash_init(&state, NULL, 0, sizeof hash);
  for (size_t read = 0; (read = fread(block, 1, sizeof block, file)) > 0;)
    crypto_generichash_update(&state, block, read);
  const bool whole = !ferror(file);
  fclose(file);
  crypto_generichash_final(&state, hash, sizeof hash);
  (void)faro_hex_write(hash, sizeof hash, digits);
  return whole ? FARO_OK : faro_fail(error, FARO_SYSTEM, "%s cannot be read", faro_path_end(path));
}

/* The hash of the intake that moves with a database, or "" if there is none. */
static faro_status hash_intake(const char *out, char digits[static 2 * FARO_DIGEST_BYTES + 1],
                               faro_error *error) {
  char path[CLI_PATH];
  *digits = '\0';
  snprintf(path, sizeof path, "%s.intake", out);
  return access(path, F_OK) == 0 ? cli_backup_hash(path, digits, error) : FARO_OK;
}

static faro_status write_manifest(const request *r, size_t role, const char *campaign, uint64_t batches,
                                  faro_error *error) {
  char path[CLI_PATH], digits[2 * FARO_DIGEST_BYTES + 1], intake[sizeof digits], when[24];
  const time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  snprintf(path, sizeof path, "%s.manifest", r->out);
  faro_status status = cli_backup_hash(r->out, digits, error);
  if (status == FARO_OK) status = hash_intake(r->out, intake, error);
  if (status != FARO_OK) return status;
  json_t *json = json_pack("{ss ss sI sb ss ss* ss}", "role", roles(role), "campaign", campaign, "batches",
                           (json_int_t)batches, "final", (int)r->final, "hash", digits, "intake",
                           *intake ? intake : NULL, "time", when);
  char *text = faro_json_to_text(json);
  json_decref(json);
  if (!text) return faro_fail(error, FARO_MEMORY, "out of memory");
  status = faro_write_file(path, text, strlen(text), 0600, error);
  free(text);
  return status;
}

/* The intake of a campaign without shufflers moves with its database. */
static faro_status move_intake(const faro_analyzer_settings *s, const char *out, faro_error *error) {
  char from[CLI_PATH], to[CLI_PATH];
  snprintf(from, sizeof from, "%s.intake", s->database);
  snprintf(to, sizeof to, "%s.intake", out);
  return faro_spool_move(from, to, error);
}

static faro_status copy_analyzer(const request *r, faro_store *store, const faro_analyzer_settings *s,
                                 uint64_t *batches, char id[static FARO_ID_MAX + 1], faro_error *error) {
  faro_campaign_place *place = calloc(1, sizeof *place);
  faro_blob document = {0};
  faro_store_state state = {0};
  if (!place) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = faro_campaign_place_load(store, place, &document, error);
  if (status == FARO_OK && !document.bytes)
    status = faro_fail(error, FARO_INVALID, "%s holds no campaign yet", faro_path_end(s->database));
  const bool direct = status == FARO_OK && faro_campaign_form(&place->now) == FARO_WIRE_DIRECT;
  if (direct && !r->final)
    status =
        faro_fail(error, FARO_INVALID,
                  "--final is required: this analyzer collects reports itself, and a copy would hold old "
                  "counts of what each client has sent");
  if (status == FARO_OK) status = faro_store_copy(store, r->out, r->final, error);
  if (status == FARO_OK) status = faro_store_state_load(store, &state, error);
  *batches = state.batches;
  memcpy(id, place->now.id, FARO_ID_MAX + 1);
  if (status == FARO_OK && direct) status = move_intake(s, r->out, error);
  faro_store_state_clear(&state);
  free(document.bytes);
  free(place);
  return status;
}

static faro_status back_up_analyzer(const request *r, faro_error *error) {
  static faro_analyzer_settings settings;
  faro_store *store = NULL;
  uint64_t batches = 0;
  char id[FARO_ID_MAX + 1] = "";
  faro_status status = faro_host_one_load(r->config, r->campaign, &settings, error);
  if (status == FARO_OK) status = cli_backup_file(settings.server, error);
  if (status == FARO_OK)
    status = faro_store_open(&store, settings.database, r->final ? FARO_READ_WRITE : FARO_READ_ONLY, error);
  if (status == FARO_OK) status = copy_analyzer(r, store, &settings, &batches, id, error);
  if (status == FARO_OK) status = write_manifest(r, 0, id, batches, error);
  if (status == FARO_OK && r->final) status = faro_store_retire(store, error);
  faro_store_close(store);
  if (status == FARO_OK)
    printf("%s: campaign %s after %llu batches%s\n", r->out, id, (unsigned long long)batches,
           r->final ? ", moved: this analyzer does not start again" : "");
  return status;
}

static faro_status back_up_shuffler(const request *r, faro_error *error) {
  static faro_shuffler_settings settings;
  faro_status status = faro_shuffler_settings_load(&settings, r->config, error);
  if (status == FARO_OK) status = cli_backup_file(settings.database, error);
  if (status == FARO_OK) status = faro_spool_move(settings.state, r->out, error);
  if (status == FARO_OK) status = write_manifest(r, 1, "", 0, error);
  if (status == FARO_OK) printf("%s: moved; this shuffler does not start again\n", r->out);
  return status;
}

static int run(int argc, char **argv) {
  request r = {0};
  faro_error error = {0};
  int words = 0;
  size_t role = 0;
  int status = cli_read(&cli_backup, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_backup, "role", words > 0 ? argv[0] : NULL, &role);
  if (status != CLI_GO) return status;
  if (role == 1 && !r.final)
    return cli_usage(&cli_backup,
                     "--final is required for a shuffler: its state can be moved, not copied, because "
                     "a copy would accept reports again that were counted");
  const faro_status done = role == 0 ? back_up_analyzer(&r, &error) : back_up_shuffler(&r, &error);
  return done == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

const cli_command cli_backup = {
    .name = "backup",
    .usage = "backup analyzer|shuffler --config FILE --out FILE [--final]",
    .summary = "copy the state of an analyzer, or move the state of a role",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = roles,
    .about = "Copies the state of an analyzer, which may run. Such a copy is fenced: an analyzer that is "
             "started on it\n"
             "serves documents and the ledger, but takes no batch until every shuffler has said that it "
             "handed over\n"
             "the batches in the copy and no later one. With --final the role must be stopped; its state is "
             "marked as\n"
             "moved and never starts again, and the copy goes on without a fence.\n",
};
