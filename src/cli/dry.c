/* dry: faro run --dry-run. What would be run, what it would claim, and about how long it would
 * take. */
#include "cli/dry.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "base/text.h"
#include "sim/experiment.h"
#include "sim/machine.h"

/* Seconds of play that the time is estimated from. */
static const double REHEARSAL = 2;

static size_t threads_of(size_t jobs, size_t instances) {
  const size_t threads = jobs ? jobs : faro_processors();
  return threads < instances ? threads : instances;
}

static void claim_text(const faro_claim *claim, char *out, size_t size) {
  char pair[FARO_PAIR_SIZE];
  char assumed[FARO_ASSUMES_SIZE] = "";
  const bool assumes = faro_assumes_text(claim->assumes, assumed) != NULL;
  if (isnan(claim->epsilon)) snprintf(out, size, "nothing is claimed");
  else
    snprintf(out, size, "%s %s, trust: %s%s%s%s%s", faro_pair_above(claim->epsilon, claim->delta, pair),
             faro_claim_standing(claim), faro_claim_trust(claim),
             claim->level == FARO_LEVEL_USER ? ", user level" : "",
             claim->protects == FARO_PROTECTS_REWARDS ? ", rewards only" : "",
             assumes ? ", assumes that " : "", assumed);
}

/* "epsilon 0.5, horizon 1000": where in the sweeps a cell is; empty without sweeps. */
static const char *point_text(const faro_experiment *e, const faro_cell *cell, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t s = 0; s < e->sweeps && used < size; s++) {
    char value[FARO_PRINTED];
    const faro_sweep *sweep = &e->sweep[s];
    faro_key_print(sweep->key, sweep->value[cell->at[s]], value);
    used +=
        (size_t)snprintf(out + used, size - used, "%s%s %s", s ? ", " : "", faro_key_name(sweep->key), value);
  }
  return out;
}

static void print_claims(const faro_experiment *e) {
  size_t widest = 0;
  FARO_INVARIANT(e->algorithms > 0);
  for (size_t a = 0; a < e->algorithms; a++)
    if (strlen(e->cell[a].label) > widest) widest = strlen(e->cell[a].label);
  for (size_t c = 0; c < e->count; c++) {
    const faro_cell *cell = &e->cell[c];
    char point[200];
    char claim[400];
    char batch[32];
    if (e->sweeps > 0 && c % e->algorithms == 0)
      printf("%s%s:\n", c ? "\n" : "", point_text(e, cell, point, sizeof point));
    claim_text(&cell->claim, claim, sizeof claim);
    if (cell->settings.batch == 0) snprintf(batch, sizeof batch, "auto");
    else
      snprintf(batch, sizeof batch, "%llu%s", (unsigned long long)cell->settings.batch,
               cell->settings.growth > 1 ? ".." : "");
    printf("  %-*s  batch %-7s %s\n", (int)widest, cell->label, batch, claim);
  }
}

static void print_text(const faro_experiment *e, const faro_estimate *estimate, size_t threads,
                       double seconds, const char *folder) {
  char duration[CLI_DURATION];
  if (strcmp(e->name, e->title) == 0) printf("%s\n\n", e->name);
  else printf("%s: %s\n\n", e->name, e->title);
  print_claims(e);
  printf("\n%zu %s to play (%zu %s, %zu %s each), %.10g rounds in all\n", estimate->instances,
         estimate->instances == 1 ? "instance" : "instances", estimate->cells,
         estimate->cells == 1 ? "row" : "rows", e->instances, e->instances == 1 ? "instance" : "instances",
         estimate->rounds);
  printf("about %s with %zu %s on this machine\n", cli_duration(seconds, duration), threads,
         threads == 1 ? "thread" : "threads");
  printf("results would go to %s; nothing was written\n", folder);
}

static int print_json(const faro_experiment *e, const faro_estimate *estimate, size_t threads, double seconds,
                      const char *folder) {
  char *claims = faro_report_claims(e);
  json_t *document = claims ? json_loads(claims, 0, NULL) : NULL;
  size_t index = 0;
  json_t *result = NULL;
  free(claims);
  json_array_foreach(json_object_get(document, "results"), index, result) { /* what a run would measure */
    static const char *const kept[] = {"label", "learner", "release", "claim", "settings"};
    json_t *row = json_object();
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
      json_object_set(row, kept[k], json_object_get(result, kept[k]));
    json_array_set_new(json_object_get(document, "results"), index, row);
  }
  json_object_set_new(document, "instances", json_integer((json_int_t)estimate->instances));
  json_object_set_new(document, "rounds", json_real(estimate->rounds));
  json_object_set_new(document, "threads", json_integer((json_int_t)threads));
  json_object_set_new(document, "seconds", json_real(seconds));
  json_object_set_new(document, "folder", json_string(folder));
  char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(document);
  return cli_print(stdout, text);
}

int cli_dry_run(const faro_experiment *experiment, size_t jobs, bool json, const char *folder) {
  faro_estimate estimate;
  faro_error error = {0};
  if (faro_run_estimate(experiment, REHEARSAL, &estimate, &error) != FARO_OK) return cli_fail(&error);
  const size_t threads = threads_of(jobs, estimate.instances);
  const double seconds = estimate.seconds / (double)threads;
  if (json) return print_json(experiment, &estimate, threads, seconds, folder);
  print_text(experiment, &estimate, threads, seconds, folder);
  return EXIT_DONE;
}
