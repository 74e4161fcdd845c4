/* analyzer: faro analyzer --config FILE */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "service/founding.h"
#include "service/log.h"
#include "service/process.h"

typedef struct request {
  const char *config;
  bool check;
} request;

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, config), .required = true, .value = "FILE",
     .help = "settings, in YAML: addresses, keys, database, the campaign; faro-analyzer(1) has all of them"},
    {"check-config", FARO_FIELD_FLAG, FARO_AT(request, check),
     .help = "read what a start would read (settings, keys, certificate, tokens, database), account for the "
             "campaign's privacy, print its guarantee, its noise and the size of a report, and end"},
};

static unsigned long long whole(uint64_t number) { return (unsigned long long)number; }

static void print_claim(const faro_campaign *c) {
  const faro_claim *claim = &c->claim;
  const bool user = claim->level == FARO_LEVEL_USER;
  printf("claim: (%g, %g), trust %s, level %s, proven: %s\n", claim->epsilon, claim->delta,
         faro_trust_name(claim->trust), faro_level_name(claim->level), claim->by);
  if (user)
    printf("contributions: at most %llu report%s of a client, no two in a batch\n",
           whole(claim->contributions), claim->contributions == 1 ? "" : "s");
  else printf("contributions: any number of a client, one in a batch; the claim is for each by itself\n");
  if (claim->trust == FARO_TRUST_SHUFFLE || claim->trust == FARO_TRUST_CONCURRENT)
    printf("honest: the noise counts on %llu of the %llu reports of a batch\n",
           whole((uint64_t)fmax(1, floor(c->params.honest * (double)c->params.batch))),
           whole(c->params.batch));
}

/* Noise of sums in which later batches add their own is spread evenly over them; trees have another. */
static void print_noise(const faro_campaign *c, const faro_release *release) {
  const faro_trust trust = c->claim.trust;
  const bool even = trust == FARO_TRUST_SHUFFLE || trust == FARO_TRUST_LOCAL;
  const double *scale = faro_release_noise(release).scale;
  double all = 0;
  for (size_t i = 0; i < c->contribution.length; i++) all = fmax(all, scale[i]);
  const double noise = even ? all / sqrt((double)c->batches) : all;
  const double influence = faro_release_influence(release);
  printf("noise: standard deviation %.4g in an entry of %s, to which a report adds at most %.4g\n", noise,
         even ? "a batch's sum" : "a published sum", c->contribution.entry);
  printf("influence: a client that lies moves an entry by at most %.4g a batch, %.2g times that noise\n",
         influence, influence / noise);
}

static void print_report(const faro_campaign *c) {
  const size_t parts = c->shufflers > 1 ? c->shufflers : 1;
  printf("report: %zu bytes", faro_wire_report_size(c));
  if (parts > 1) printf(" for each of up to %zu shufflers", parts);
  if (c->task[0].grid > 0)
    printf("; an entry counts %" PRIu64 " bits, and %" PRIu64 " of noise", c->task[0].grid, c->task[0].bits);
  printf("\n");
}

/* Everything but the port: what a start would refuse for another reason is refused here too. */
static int check(const faro_analyzer_settings *settings, const char *path) {
  faro_error error = {0};
  faro_campaign c;
  faro_release *release = NULL;
  bool known = false;
  faro_status status = faro_founding_check(settings, &c, &known, &error);
  if (status == FARO_OK)
    status = faro_release_create(&release, c.release, &c.contribution, &c.params, &error);
  if (status != FARO_OK) return cli_fail(&error);
  printf("%s: campaign %s: %s, %llu batch%s of %llu reports%s\n", path, c.id,
         faro_release_kind_name(c.release), whole(c.batches), c.batches == 1 ? "" : "es",
         whole(c.params.batch), known ? "; the database has it" : "");
  print_claim(&c);
  print_noise(&c, release);
  print_report(&c);
  faro_release_destroy(release);
  return EXIT_DONE;
}

static int serve(const faro_analyzer_settings *settings) {
  faro_error error = {0};
  faro_analyzer *analyzer = NULL;
  faro_status status = faro_process_begin(&error);
  if (status == FARO_OK) status = faro_analyzer_start(&analyzer, settings, &error);
  if (status != FARO_OK) return cli_fail(&error);
  faro_log(FARO_LOG_INFO, "ready", "si", "port", (int)faro_analyzer_port(analyzer));
  faro_process_notify("READY=1");
  while (!faro_process_wait(60000)) continue;
  faro_process_notify("STOPPING=1");
  faro_log(FARO_LOG_INFO, "stopping", NULL);
  faro_analyzer_stop(analyzer);
  faro_log(FARO_LOG_INFO, "stopped", NULL);
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_analyzer, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  faro_error error = {0};
  faro_analyzer_settings settings;
  if (faro_analyzer_configure(&settings, r.config, &error) != FARO_OK) return cli_fail(&error);
  return r.check ? check(&settings, r.config) : serve(&settings);
}

const cli_command cli_analyzer = {
    .name = "analyzer",
    .usage = "analyzer --config FILE [--check-config]",
    .summary = "collect batches from shufflers, learn, and publish policies",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .help =
        "The first start makes and signs the campaign and keeps it in the database; later starts must ask "
        "for\n"
        "the same. A campaign whose claim is not proven is refused. Logs are JSON lines on stderr; SIGTERM\n"
        "ends it gracefully.\n",
};
