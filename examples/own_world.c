/* own_world: an environment of one's own, run by faro: an ice-cream van chooses a flavour every
 * hour.
 *
 *   cc own_world.c $(pkg-config --cflags --libs faro)
 *
 * faro plays it on all processors, for every algorithm of an experiment, and reports. */
#include <faro/faro.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAVOURS_MAX = 100 };

typedef struct van_settings {
  double heat; /* how much a hot hour adds to sweet flavours */
} van_settings;

static const faro_setting settings[] = {{"heat", FARO_SETTING_REAL, offsetof(van_settings, heat), 0, 1, 0.5,
                                         NULL, "van only: how much a hot hour adds to sweet flavours"},
                                        {0}};

typedef struct van {
  double heat;
  size_t flavours;
  double sweet[FLAVOURS_MAX]; /* per flavour, the same in all hours */
  double hot;                 /* this hour: 0 .. 1 */
} van;

static faro_status init(void *state, const faro_env_params *params, faro_error *error) {
  van *v = state;
  v->heat = ((const van_settings *)params->settings)->heat;
  v->flavours = params->arms;
  if (params->arms > FLAVOURS_MAX || params->dimension != 3)
    return faro_fail(error, FARO_INVALID, "environment van needs dimension 3 and at most %d arms",
                     FLAVOURS_MAX);
  return FARO_OK;
}

static void begin(void *state, faro_sim_rng *random) {
  van *v = state;
  for (size_t i = 0; i < v->flavours; i++) v->sweet[i] = faro_sim_uniform(random);
}

/* Features of a flavour in this hour: sweetness, sweetness in the heat, a constant. */
static void arms(void *state, uint64_t hour, faro_sim_rng *random, double *x) {
  van *v = state;
  v->hot = 0.5 + 0.4 * sin(2 * 3.14159265 * (double)(hour % 24) / 24) + 0.1 * faro_sim_uniform(random);
  for (size_t i = 0; i < v->flavours; i++, x += 3) {
    x[0] = 0.5 * v->sweet[i];
    x[1] = 0.5 * v->sweet[i] * v->hot;
    x[2] = 0.7;
  }
}

/* The chance of a sale: bitter sells in the cold, sweet in the heat. */
static double mean(const void *state, size_t arm) {
  const van *v = state;
  return 0.5 + v->heat * v->sweet[arm] * (v->hot - 0.5);
}

static const faro_world world = {.name = "van",
                                 .summary = "an ice-cream van: what sells depends on the heat",
                                 .bound = 1.5,
                                 .settings = settings,
                                 .settings_size = sizeof(van_settings),
                                 .size = sizeof(van),
                                 .init = init,
                                 .begin = begin,
                                 .arms = arms,
                                 .mean = mean};

static const char text[] = "title: Ice cream\n"
                           "environment: {name: van, dimension: 3, arms: 12, heat: 0.8}\n"
                           "horizon: 20000\ninstances: 8\n"
                           "algorithms:\n"
                           "  - {label: no privacy, learner: linucb, release: none}\n"
                           "  - {label: trusted server, learner: linucb, release: central-factored}\n"
                           "  - {label: at random, learner: uniform, release: none}\n";

int main(void) {
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  faro_results *results = NULL;
  faro_report *report = NULL;
  faro_status status = faro_world_register(&world, &error);
  if (status == FARO_OK)
    status = faro_experiment_parse(&experiment, "van.yaml", text, strlen(text), NULL, &error);
  if (status == FARO_OK) /* killed and run again, it continues */
    status = faro_run(experiment, &(faro_run_options){.journal = "van.journal"}, &results, &error);
  if (status == FARO_OK) status = faro_report_make(&report, experiment, results, &error);
  char *table = status == FARO_OK ? faro_report_table(report, (faro_table_style){0}) : NULL;
  if (table) fputs(table, stdout), remove("van.journal");
  else fprintf(stderr, "%s\n", error.message);
  free(table);
  faro_report_destroy(report);
  faro_results_destroy(results);
  faro_experiment_destroy(experiment);
  return table ? 0 : 1;
}
