/* verify: faro verify: claims computed again from the noise that a run or a campaign records. */
#include "cli/verify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "report/claim.h"
#include "report/json.h"

enum { RUN_MAX = 1 << 28, WORDS_MAX = 1000 };

typedef struct request {
  const char *campaign, *key;
  bool json;
} request;

static const faro_field options[] = {
    {"campaign", FARO_FIELD_WORD, FARO_AT(request, campaign), .value = "FILE",
     .help = "check the claim of a campaign, as an analyzer publishes it (/v1/campaign)"},
    {"key", FARO_FIELD_WORD, FARO_AT(request, key), .value = "FILE",
     .help = "public key of the analyzer that signed the campaign"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json),
     .help = "print the findings as JSON, one line per claim"},
};

/* How many claims were found what. */
typedef struct tally {
  size_t count[FARO_WRONG + 1];
  size_t open; /* claims that say themselves that they are not proven, or that there is no privacy */
} tally;

static void print_json(const char *where, const faro_checked *c) {
  const faro_finding *f = &c->finding;
  json_t *line = json_pack("{s:s, s:s, s:f, s:f, s:O, s:s, s:s, s:O?}", "run", where, "label", c->label,
                           "epsilon", c->epsilon, "delta", c->delta, "claim", c->claim, "verdict",
                           faro_verify_word(f->verdict), "reason", f->reason, "recorded", c->recorded);
  if (f->high >= 0) json_object_set_new(line, "delta_low", json_real(f->low));
  if (f->high >= 0) json_object_set_new(line, "delta_high", json_real(f->high));
  char *text = faro_json_text(line, false);
  printf("%s\n", text ? text : "");
  free(text);
  json_decref(line);
}

/* What a file says, which may be from anybody: on one line, whatever is in it. */
static void put(const char *text) {
  char shown[1000];
  fputs(faro_printable(text, shown, sizeof shown), stdout);
}

static void print_word(const char *before, const faro_checked *c, const char *member) {
  const char *word = json_string_value(json_object_get(c->claim, member));
  fputs(before, stdout);
  put(word ? word : "?");
}

/* All that is claimed, with its numbers rounded up. */
static void print_claim(const faro_checked *c) {
  char pair[FARO_PAIR_SIZE];
  const json_t *rounds = json_object_get(c->claim, "contributions");
  const json_t *local = json_object_get(c->claim, "local");
  const char *protects = json_string_value(json_object_get(c->claim, "protects"));
  const bool rewards = protects && strcmp(protects, "rewards") == 0;
  printf("%s, proven", faro_pair_above(c->epsilon, c->delta, pair));
  print_word(", trust ", c, "trust");
  print_word(", ", c, "level");
  printf(" level");
  if (rounds) printf(", %.15g rounds", json_number_value(rounds));
  print_word(", actions ", c, "actions");
  printf(", %s", rewards ? "rewards only: arms are public" : "everything protected");
  if (json_is_string(json_object_get(c->claim, "assumes"))) print_word(", assumes that ", c, "assumes");
  if (json_is_object(local))
    printf(", local %s", faro_pair_above(json_number_value(json_object_get(local, "epsilon")),
                                         json_number_value(json_object_get(local, "delta")), pair));
}

static void print_finding(const char *where, const faro_checked *c, const request *r, tally *all) {
  char above[FARO_NUMBER_SIZE];
  const faro_finding *f = &c->finding;
  all->count[f->verdict]++;
  if (r->json) {
    print_json(where, c);
    return;
  }
  printf("%-12s  %s: ", faro_verify_word(f->verdict), where);
  put(c->label);
  printf(": ");
  print_claim(c);
  printf(": ");
  if (f->verdict == FARO_VERIFIED) printf("delta is at most %s", faro_above(f->high, 6, above));
  else put(f->reason);
  printf("\n");
}

/* What nothing was found to check by, once for all claims: a name, and a value that all of them
 * have. */
static void print_recorded(const json_t *all) {
  const char *name = NULL;
  const json_t *value = NULL;
  const char *between = "taken as recorded: ";
  json_object_foreach((json_t *)all, name, value) {
    char *text = json_is_null(value) ? NULL : faro_json_text(value, false);
    fputs(between, stdout);
    put(name);
    fputs(text ? " " : "", stdout);
    put(text ? text : "");
    between = ", ";
    free(text);
  }
  if (json_object_size(all) > 0) printf("\n");
}

/* Adds the members of one claim to those of the others. */
static void add_recorded(json_t *all, const json_t *recorded) {
  const char *name = NULL;
  json_t *value = NULL;
  json_object_foreach((json_t *)recorded, name, value) {
    const json_t *before = json_object_get(all, name);
    if (!before) json_object_set(all, name, value);
    else if (!json_equal(before, value)) json_object_set_new(all, name, json_null());
  }
}

static void print_findings(const char *where, const faro_verification *v, const request *r, tally *all) {
  json_t *recorded = json_object();
  for (size_t i = 0; i < v->count; i++) {
    if (v->claim[i].proven) print_finding(where, &v->claim[i], r, all);
    else all->open++;
    add_recorded(recorded, v->claim[i].recorded);
  }
  if (!r->json) print_recorded(recorded);
  json_decref(recorded);
}

static faro_status check_text(const char *where, const char *text, size_t length, const request *r,
                              tally *all, faro_error *error) {
  faro_verification v;
  const faro_status status = faro_verify_run(&v, FARO_VERIFY_RUN, where, text, length, error);
  if (status != FARO_OK) return status;
  print_findings(where, &v, r, all);
  faro_verification_clear(&v);
  return FARO_OK;
}

static faro_status check_file(const char *path, const request *r, tally *all, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_read_file(path, RUN_MAX, &text, &length, error);
  if (status == FARO_OK) status = check_text(path, text, length, r, all, error);
  free(text);
  return status;
}

static faro_status check_directory(const char *directory, const request *r, tally *all, faro_error *error) {
  char path[CLI_PATH];
  snprintf(path, sizeof path, "%s/run.json", directory);
  return check_file(path, r, all, error);
}

/* The claims of an experiment follow from its settings: the document that a run would write,
 * without results. */
static faro_status check_experiment(const char *word, const request *r, tally *all, faro_error *error) {
  char path[CLI_PATH];
  faro_experiment *experiment = NULL;
  if (!cli_find_experiment(word, path, error)) return FARO_INVALID;
  faro_status status = faro_experiment_load(&experiment, path, NULL, error);
  if (status != FARO_OK) return status;
  char *text = faro_report_claims(experiment);
  if (!text) status = faro_fail(error, FARO_MEMORY, "cannot allocate the claims");
  else status = check_text(word, text, strlen(text), r, all, error);
  free(text);
  faro_experiment_destroy(experiment);
  return status;
}

static faro_status check_word(const char *word, const request *r, tally *all, faro_error *error) {
  struct stat found;
  const bool there = stat(word, &found) == 0;
  const bool folder = there && S_ISDIR(found.st_mode);
  const char *dot = strrchr(word, '.');
  if (there && !folder && dot && strcmp(dot, ".json") == 0) return check_file(word, r, all, error);
  return folder ? check_directory(word, r, all, error) : check_experiment(word, r, all, error);
}

/* Adds the grounds of one release of a campaign; one without any has nothing to be checked by. */
static void add_grounds(json_t *parts, faro_release *release) {
  char *text = release ? faro_release_grounds(release) : NULL;
  json_array_append_new(parts, text ? json_loads(text, 0, NULL) : json_null());
  free(text);
  faro_release_destroy(release);
}

/* The releases of a campaign, as its clients make them: in rounds one for every term, in phases the
 * smallest and the largest. */
static faro_status campaign_grounds(const faro_campaign *c, json_t *parts, faro_error *error) {
  const bool phases = faro_campaign_in_phases(c);
  const bool rounds = faro_campaign_in_rounds(c);
  const size_t count = rounds ? c->rounds.terms : phases ? 2 : 1;
  faro_secure_rng *secure = NULL;
  faro_status status = faro_secure_open(&secure, error);
  for (size_t i = 0; status == FARO_OK && i < count; i++) {
    faro_release *release = NULL;
    const faro_source client = faro_source_client(secure);
    if (rounds) status = faro_campaign_round(c, i * (c->rounds.fits + 1), client, &release, error);
    else if (i == 0) status = faro_campaign_example(c, client, &release, error);
    else status = faro_plan_release(c, c->params.largest, (size_t)c->phases.numbers, client, &release, error);
    if (status == FARO_OK) add_grounds(parts, release);
  }
  faro_secure_close(secure);
  return status;
}

faro_status cli_verify_campaign(const faro_campaign *campaign, faro_verification *found, faro_error *error) {
  json_t *parts = json_array();
  faro_status status = campaign_grounds(campaign, parts, error);
  const bool whole = json_array_size(parts) < 2 || json_is_null(json_array_get(parts, 0));
  json_t *grounds = whole ? json_incref(json_array_get(parts, 0))
                          : json_pack("{s:s, s:O}", "mechanism", "parallel", "parts", parts);
  json_t *document = json_pack("{s:[{s:s, s:o, s:o}]}", "results", "label", campaign->id, "claim",
                               faro_claim_json(&campaign->claim), "grounds", grounds);
  char *text = faro_json_text(document, false);
  if (status == FARO_OK && !text) status = faro_fail(error, FARO_MEMORY, "cannot allocate the claim");
  if (status == FARO_OK)
    status = faro_verify_run(found, FARO_VERIFY_CAMPAIGN, campaign->id, text, strlen(text), error);
  free(text);
  json_decref(document);
  json_decref(parts);
  return status;
}

static faro_status check_campaign(const request *r, tally *all, faro_error *error) {
  static faro_campaign campaign;
  unsigned char key[FARO_KEY_BYTES];
  char *text = NULL;
  size_t length = 0;
  faro_verification v = {0};
  faro_status status = faro_key_load(r->key, FARO_SIGN_PUBLIC, key, sizeof key, error);
  if (status == FARO_OK) status = faro_read_file(r->campaign, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_campaign_open(&campaign, text, length, key, error);
  if (status == FARO_OK) status = cli_verify_campaign(&campaign, &v, error);
  if (status == FARO_OK) print_findings(r->campaign, &v, r, all);
  faro_verification_clear(&v);
  free(text);
  return status;
}

static int finish(const request *r, const tally *all) {
  if (!r->json)
    printf("%zu verified, %zu not verified, %zu wrong; %zu %s no proven claim\n", all->count[FARO_VERIFIED],
           all->count[FARO_NOT_VERIFIED], all->count[FARO_WRONG], all->open,
           all->open == 1 ? "makes" : "make");
  return all->count[FARO_NOT_VERIFIED] + all->count[FARO_WRONG] > 0 ? EXIT_CHECK : EXIT_DONE;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  tally all = {{0}, 0};
  faro_error error = {0};
  const int go = cli_read(&cli_verify, &r, argc, argv, &words);
  if (go != CLI_GO) return go;
  if ((words == 0) == !r.campaign)
    return cli_usage(&cli_verify,
                     "either DIR, the directory of a finished run, or --campaign FILE is required");
  if (!r.campaign != !r.key) return cli_usage(&cli_verify, "--campaign and --key go together");
  faro_status status = r.campaign ? check_campaign(&r, &all, &error) : FARO_OK;
  for (int i = 0; status == FARO_OK && i < words; i++) status = check_word(argv[i], &r, &all, &error);
  return status == FARO_OK ? finish(&r, &all) : cli_fail(&error);
}

const cli_command cli_verify = {
    .name = "verify",
    .usage = "verify (DIR|FILE.json|EXPERIMENT)... | verify --campaign FILE --key FILE",
    .summary = "compute claims again from the recorded noise, by other means",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .list = "experiments",
    .words = WORDS_MAX,
    .about =
        "DIR is the directory of the results of `faro run`, FILE.json what `faro evaluate --private --json`\n"
        "printed; the claims of an EXPERIMENT are checked without\n"
        "running it. Each proven claim is computed again from the noise in DIR/run.json, in ball arithmetic "
        "and\n"
        "without the accountant's code. Its other parts (level, trust, actions, what is protected, the "
        "local\n"
        "part) are compared with the release and the settings. A claim is\n"
        "  verified      the recorded noise proves it\n"
        "  not verified  nothing is known to check it by, for the reason that is printed\n"
        "  wrong         the recorded noise does not give it, or something that is recorded disagrees\n"
        "A last line names what nothing was found to check by. The exit status is 0 if all are verified, "
        "else 1.\n",
};
