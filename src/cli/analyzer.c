/* analyzer: faro analyzer --config FILE */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/share.h"
#include "base/text.h"
#include "cli/cli.h"
#include "service/analyzer/campaign_create.h"
#include "service/host/host.h"
#include "service/role/log.h"
#include "service/role/process.h"
#include "wire/split.h"

typedef struct request {
  const char *config;
  bool check, found;
} request;

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, config), .required = true, .value = "FILE",
     .help = "settings in YAML: addresses, keys, database, campaign; see faro-analyzer(1)"},
    {"check-config", FARO_FIELD_FLAG, FARO_AT(request, check),
     .help = "read everything that a start would read (settings, keys, certificate, tokens, database), "
             "print the campaign's claim, its noise and the size of a report, and exit"},
    {"found", FARO_FIELD_FLAG, FARO_AT(request, found),
     .help = "found a campaign although one was founded with this database before and is lost; clients "
             "spend a new budget in it, in addition to the old one"},
};

static unsigned long long whole(uint64_t number) { return (unsigned long long)number; }

static bool grows(const faro_campaign *c) { return c->params.growth > 1; }

static void print_claim(const faro_campaign *c) {
  const faro_claim *claim = &c->claim;
  const bool user = claim->level == FARO_LEVEL_USER;
  char pair[FARO_PAIR_SIZE];
  printf("claim: %s, trust %s, level %s, proven: %s\n", faro_pair_above(claim->epsilon, claim->delta, pair),
         faro_trust_name(claim->trust), faro_level_name(claim->level), claim->by);
  double epsilon = 0, delta = 0;
  faro_campaign_total(c, &epsilon, &delta);
  if (c->befores > 0)
    printf("in all: %s for a client that was in all of the %zu campaign%s before, too\n",
           faro_pair_above(epsilon, delta, pair), c->befores, c->befores == 1 ? "" : "s");
  if (claim->local_epsilon > 0)
    printf("alone: the reports of a client are %s even if shufflers and analyzer collude\n",
           faro_pair_above(claim->local_epsilon, claim->local_delta, pair));
  if (user)
    printf("contributions: at most %llu report%s per client, at most one in each batch\n",
           whole(claim->contributions), claim->contributions == 1 ? "" : "s");
  else
    printf("contributions: any number per client, at most one in each batch; the claim covers each report by "
           "itself\n");
  const char *which = grows(c) ? "the first" : "a";
  if (claim->trust == FARO_TRUST_SHUFFLE || claim->trust == FARO_TRUST_CONCURRENT)
    printf("honest: the claim counts on the noise of %llu of the %llu reports in %s batch\n",
           whole((uint64_t)fmax(1, faro_share_of(c->params.honest, (double)c->params.batch))),
           whole(c->params.batch), which);
}

/* If every batch adds the same noise to the running sum, print the noise of one batch. In trees the
 * noise is not even. */
static void print_noise(const faro_campaign *c, const faro_release *release) {
  const faro_trust trust = c->claim.trust;
  const bool alike = !grows(c) || faro_campaign_form(c) == FARO_WIRE_BITS;
  const bool even = alike && (trust == FARO_TRUST_SHUFFLE || trust == FARO_TRUST_LOCAL);
  const faro_noise made = faro_release_noise(release);
  double all = 0;
  const bool phases = faro_campaign_in_phases(c);
  const size_t length = phases ? (size_t)c->phases.numbers : c->contribution.length;
  for (size_t i = 0; i < length; i++) all = fmax(all, made.scale[i]);
  if (made.ratio > 0) all *= made.ratio;
  const bool rounds = faro_campaign_in_rounds(c);
  const double noise = even && !phases && !rounds ? all / sqrt((double)c->batches) : all;
  const double influence = faro_release_influence(release);
  printf("noise: standard deviation %.4g in each entry of %s; a report adds at most %.4g\n", noise,
         phases   ? "the sum of the smallest batch, of rewards scaled to [-1/2, 1/2]"
         : rounds ? "the sum of the first round"
         : even   ? "a batch's sum"
                  : "a published sum",
         phases ? 0.5 : c->contribution.entry);
  if (faro_campaign_is_split(c))
    printf("influence: counts are split, so no single report can be checked: a malicious client can move an "
           "entry of a batch's sum anywhere, up to %.4g, %.2g times that noise\n",
           influence * (double)c->params.batch, influence * (double)c->params.batch / noise);
  else
    printf(
        "influence: a malicious client changes an entry by at most %.4g per batch, %.2g times that noise\n",
        influence, influence / noise);
}

static void print_report(const faro_campaign *c) {
  const size_t parts = faro_campaign_targets(c);
  printf("report: %zu bytes", faro_wire_report_size(c));
  if (parts > 1) printf(" for each of up to %zu shufflers", parts);
  if (c->encoding[0].grid > 0)
    printf("; an entry is a sum of %" PRIu64 " bits and %" PRIu64 " bits of noise%s", c->encoding[0].grid,
           c->encoding[0].bits, grows(c) ? " in the first batch" : "");
  if (faro_campaign_is_split(c))
    printf("; counts are split modulo 2^%u, and %d of the bytes are for the adder", c->share_bits,
           FARO_BOX_BYTES);
  printf("\n");
}

/* A batch waits until it is full, and a client is in it once. */
static void print_phases(const faro_campaign *c) {
  printf("phases: at most %llu reports in all, of at most %llu number%s each, about %llu arms that everybody "
         "may know\n",
         whole(c->phases.reports), whole(c->phases.numbers), c->phases.numbers == 1 ? "" : "s",
         whole(c->arms));
  const uint64_t once = c->claim.level == FARO_LEVEL_USER ? c->claim.contributions : 0;
  const uint64_t tokens = once > 0 ? (c->phases.reports + once - 1) / once : 0;
  printf("tokens: at least %llu clients must have one, or the last batches wait for ever\n",
         whole(tokens > c->params.largest ? tokens : c->params.largest));
}

static void print_rounds(const faro_campaign *c) {
  uint64_t most = 0;
  printf("rounds: %zu term%s of %llu round%s each; reports in a round:", c->rounds.terms,
         c->rounds.terms == 1 ? "" : "s", whole(c->rounds.fits + 1), c->rounds.fits == 0 ? "" : "s");
  for (size_t i = 0; i < c->rounds.terms; i++) {
    printf("%s %llu", i > 0 ? "," : "", whole(c->rounds.term[i].size));
    most = c->rounds.term[i].size > most ? c->rounds.term[i].size : most;
  }
  const uint64_t once = c->claim.level == FARO_LEVEL_USER ? c->claim.contributions : 0;
  const uint64_t all = faro_campaign_reports(c, c->batches);
  const uint64_t tokens = once > 0 ? (all + once - 1) / once : 0;
  printf("\ntokens: at least %llu clients must have one, or the last rounds wait for ever\n",
         whole(tokens > most ? tokens : most));
}

/* Refuses everything that a start would refuse, except a port in use. */
static int check(const faro_analyzer_settings *settings, const char *path) {
  faro_error error = {0};
  faro_campaign c;
  faro_release *release = NULL;
  bool known = false;
  faro_status status = faro_campaign_check(settings, &c, &known, &error);
  if (status == FARO_OK) status = faro_campaign_example(&c, faro_source_none(), &release, &error);
  if (status != FARO_OK) return cli_fail(&error);
  printf("%s: campaign %s: %s behind %s, ", path, c.id, c.learner, c.release->name);
  if (faro_campaign_in_phases(&c)) printf("in phases, batches of %llu", whole(c.params.batch));
  else printf("%llu batch%s of %llu", whole(c.batches), c.batches == 1 ? "" : "es", whole(c.params.batch));
  if (grows(&c) || faro_campaign_in_phases(&c) || faro_campaign_in_rounds(&c))
    printf(" to %llu", whole(faro_campaign_largest(&c)));
  printf(" reports%s\n", known ? "; it is in the database" : "");
  if (faro_campaign_in_phases(&c)) print_phases(&c);
  if (faro_campaign_in_rounds(&c)) print_rounds(&c);
  print_claim(&c);
  print_noise(&c, release);
  print_report(&c);
  char warning[FARO_CAMPAIGN_WARNING];
  if (*faro_campaign_warning(&c, warning) != '\0') printf("warning: %s\n", warning);
  faro_release_destroy(release);
  return EXIT_DONE;
}

/* Checks every campaign of the folder; the first failure does not hide the others. */
static int check_many(const faro_host_settings *settings) {
  faro_error error = {0};
  int result = EXIT_DONE;
  faro_host_names *names = malloc(sizeof *names);
  faro_analyzer_settings *campaign = malloc(sizeof *campaign);
  faro_status status = names && campaign ? faro_host_names_read(settings, names, &error)
                                         : faro_fail(&error, FARO_MEMORY, "out of memory");
  if (status != FARO_OK) result = cli_fail(&error);
  for (size_t i = 0; status == FARO_OK && i < names->count; i++) {
    error = (faro_error){0};
    const bool read = faro_host_campaign_load(settings, names->name[i], campaign, &error) == FARO_OK;
    const int checked = read ? check(campaign, campaign->file) : cli_fail(&error);
    if (result == EXIT_DONE) result = checked;
  }
  free(campaign);
  free(names);
  return result;
}

static int serve(const faro_host_settings *settings) {
  faro_error error = {0};
  faro_host *host = NULL;
  faro_log_role("analyzer");
  faro_status status = faro_process_begin(&error);
  if (status == FARO_OK) status = faro_host_start(&host, settings, &error);
  if (status != FARO_OK) return cli_fail_role(&error);
  const int admin = faro_host_admin_port(host);
  if (admin) faro_log(FARO_LOG_INFO, "ready", "si si", "port", (int)faro_host_port(host), "admin", admin);
  else faro_log(FARO_LOG_INFO, "ready", "si", "port", (int)faro_host_port(host));
  faro_process_notify("READY=1");
  while (!faro_process_wait(faro_host_pause(host)) && !faro_host_must_end(host)) {
    if (faro_process_reloading()) faro_host_reload(host);
    faro_host_tend(host);
  }
  const bool replaced = faro_host_must_end(host);
  const bool asked = faro_process_stopping(replaced ? FARO_OLD : FARO_OK);
  faro_host_stop(host);
  faro_process_stopped(asked);
  return replaced ? EXIT_SYSTEM : EXIT_DONE;
}

static int run_analyzer(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_analyzer, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  faro_error error = {0};
  faro_host_settings *settings = malloc(sizeof *settings);
  const bool read = settings && faro_host_settings_load(settings, r.config, &error) == FARO_OK;
  const bool many = read && *settings->campaigns != '\0';
  int result = EXIT_DONE;
  if (!settings) (void)faro_fail(&error, FARO_MEMORY, "out of memory");
  if (!read) result = cli_fail(&error);
  else if (many && r.found)
    result = cli_usage(&cli_analyzer,
                       "--found is for an analyzer with one campaign; `faro campaign open` founds others");
  else {
    settings->one.found = r.found;
    result = !r.check ? serve(settings) : many ? check_many(settings) : check(&settings->one, r.config);
  }
  free(settings);
  return result;
}

const cli_command cli_analyzer = {
    .name = "analyzer",
    .usage = "analyzer --config FILE [--check-config] [--found]",
    .summary = "collect batches from shufflers, learn from them, and publish policies",
    .run = run_analyzer,
    .options = options,
    .count = sizeof options / sizeof *options,
    .help =
        "With `campaigns: FOLDER` in the file, one analyzer serves a campaign for each file of the folder;\n"
        "faro-campaign(1) opens them. Otherwise it serves one, as follows.\n"
        "The first start creates and signs the campaign and stores it in the database, with a copy in\n"
        "DATABASE.campaign. Later starts must use the same settings. If the copy is there and the database "
        "is\n"
        "not, the start is refused, unless --found says that a new campaign is meant. A campaign whose "
        "claim\n"
        "is not proven is refused. Logs are JSON lines on stderr. SIGTERM ends the analyzer gracefully.\n",
};
