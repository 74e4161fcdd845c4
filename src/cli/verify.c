/* verify: faro verify: claims computed again from the noise that a run or a campaign records. */
#include "cli/verify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
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
  json_t *line =
      json_pack("{s:s, s:s, s:f, s:f, s:s, s:s}", "run", where, "label", c->label, "epsilon", c->epsilon,
                "delta", c->delta, "verdict", faro_verify_word(f->verdict), "reason", f->reason);
  if (f->high >= 0) json_object_set_new(line, "delta_low", json_real(f->low));
  if (f->high >= 0) json_object_set_new(line, "delta_high", json_real(f->high));
  char *text = faro_json_text(line, false);
  printf("%s\n", text ? text : "");
  free(text);
  json_decref(line);
}

static void print_finding(const char *where, const faro_checked *c, const request *r, tally *all) {
  const faro_finding *f = &c->finding;
  all->count[f->verdict]++;
  if (r->json) {
    print_json(where, c);
    return;
  }
  printf("%-12s  %s: %s: (%g, %g)", faro_verify_word(f->verdict), where, c->label, c->epsilon, c->delta);
  if (f->verdict == FARO_VERIFIED) printf(": delta is at most %.6g\n", f->high);
  else printf(": %s\n", f->reason);
}

static faro_status check_text(const char *where, const char *text, size_t length, const request *r,
                              tally *all, faro_error *error) {
  faro_verification v;
  const faro_status status = faro_verify_run(&v, where, text, length, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < v.count; i++)
    if (v.claim[i].proven) print_finding(where, &v.claim[i], r, all);
    else all->open++;
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

static faro_status campaign_grounds(const faro_campaign *c, char **grounds, faro_error *error) {
  faro_secure_rng *secure = NULL;
  faro_release *release = NULL;
  faro_status status = faro_secure_open(&secure, error);
  if (status == FARO_OK) status = faro_campaign_example(c, faro_source_client(secure), &release, error);
  if (status == FARO_OK) *grounds = faro_release_grounds(release);
  faro_release_destroy(release);
  faro_secure_close(secure);
  return status;
}

faro_status cli_verify_campaign(const faro_campaign *campaign, faro_finding *finding, faro_error *error) {
  char *grounds = NULL;
  faro_status status = campaign_grounds(campaign, &grounds, error);
  json_t *json = grounds ? json_loads(grounds, 0, NULL) : NULL;
  if (status == FARO_OK)
    status = faro_verify_claim(json, campaign->claim.epsilon, campaign->claim.delta, finding, error);
  json_decref(json);
  free(grounds);
  return status;
}

static faro_status check_campaign(const request *r, tally *all, faro_error *error) {
  static faro_campaign campaign;
  unsigned char key[FARO_KEY_BYTES];
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_key_load(r->key, FARO_SIGN_PUBLIC, key, sizeof key, error);
  if (status == FARO_OK) status = faro_read_file(r->campaign, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_campaign_open(&campaign, text, length, key, error);
  faro_checked checked = {.label = campaign.id, .proven = true};
  checked.epsilon = campaign.claim.epsilon;
  checked.delta = campaign.claim.delta;
  if (status == FARO_OK) status = cli_verify_campaign(&campaign, &checked.finding, error);
  if (status == FARO_OK) print_finding(r->campaign, &checked, r, all);
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
        "without the accountant's code, and is\n"
        "  verified      the recorded noise proves it\n"
        "  not verified  nothing is known to check it by, for the reason that is printed\n"
        "  wrong         the recorded noise does not give it\n"
        "The exit status is 0 if all are verified, else 1.\n",
};
