/* list: faro list [learners|releases|environments|experiments|settings] */
#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "sim/settings.h"

enum { COLUMN = 23, SETTINGS_WIDTH = 100 };

/* A name and what it is, wrapped on a terminal. */
static void print_row(const char *name, const char *text) {
  const int used = printf("  %s", name);
  cli_wrap(stdout, text, strlen(text), cli_width(stdout), COLUMN, (size_t)used);
}

static void list_learners(void) {
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    char text[400];
    if (kind->cite) snprintf(text, sizeof text, "%s (%s)", kind->summary, kind->cite);
    else snprintf(text, sizeof text, "%s", kind->summary);
    print_row(kind->name, text);
  }
}

static void list_releases(void) {
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    const int used = printf("  %-20s trust %s", kind->name, faro_trust_name(kind->trust));
    cli_wrap(stdout, kind->summary, strlen(kind->summary), cli_width(stdout), COLUMN + 17, (size_t)used);
  }
}

static void list_environments(void) {
  for (size_t i = 0; i < faro_env_count(); i++) print_row(faro_env_at(i)->name, faro_env_at(i)->summary);
}

/* One experiment: its name and title, or why it cannot be run. */
typedef void each_experiment(const char *name, const char *title, const char *fault, void *context);

static void read_experiment(const char *folder, const char *file, each_experiment *each, void *context) {
  char path[CLI_PATH];
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  const faro_experiment_options options = {.outline = true};
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) return;
  if (faro_experiment_load(&experiment, path, &options, &error) == FARO_OK)
    each(faro_experiment_name(experiment), faro_experiment_title(experiment), NULL, context);
  else each(file, NULL, error.message, context);
  faro_experiment_destroy(experiment);
}

static int yaml_only(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && strcmp(dot, ".yaml") == 0;
}

/* The experiments of the first folder that has any. Returns their number. */
static int read_experiments(each_experiment *each, void *context) {
  for (size_t i = 0; i < CLI_PLACES; i++) {
    char buffer[CLI_PATH];
    const char *folder = cli_experiment_folder(i, buffer);
    struct dirent **entry = NULL;
    const int count = folder ? scandir(folder, &entry, yaml_only, alphasort) : -1;
    for (int k = 0; k < count; k++) {
      read_experiment(folder, entry[k]->d_name, each, context);
      free(entry[k]);
    }
    free(entry);
    if (count > 0) return count;
  }
  return 0;
}

static void print_experiment(const char *name, const char *title, const char *fault, void *context) {
  (void)context;
  char text[sizeof((faro_error *)0)->message + 32];
  if (fault) snprintf(text, sizeof text, "(cannot be run: %s)", fault);
  print_row(name, fault ? text : title);
}

static void list_experiments(void) {
  if (read_experiments(print_experiment, NULL) == 0)
    printf("  none found in ./experiments, next to the program, or in %s\n", FARO_DATADIR "/experiments");
}

static void list_settings(void) {
  const size_t terminal = cli_width(stdout);
  const size_t width = terminal > 0 && terminal < SETTINGS_WIDTH ? terminal : SETTINGS_WIDTH;
  size_t widest = 0;
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (strlen(faro_key_name(k)) > widest) widest = strlen(faro_key_name(k));
  for (faro_key k = 0; k < faro_key_count(); k++) {
    const char *help = faro_key_setting(k)->help;
    char allowed[FARO_ALLOWED];
    char preset[FARO_PRINTED];
    char line[2 * FARO_ALLOWED];
    snprintf(line, sizeof line, "in: %s; default: %s; %s", faro_scope_text(faro_key_scope(k)),
             faro_key_preset(k, preset), faro_key_allowed(k, allowed));
    const int used = printf("  %s", faro_key_name(k));
    cli_wrap(stdout, help, strlen(help), width, widest + 4, (size_t)used);
    cli_wrap(stdout, line, strlen(line), width, widest + 4, 0);
  }
}

/* Which learner can use which release, under which calibrations. */
typedef void each_pair(const faro_learner_kind *learner, const faro_release_kind *release, void *context);

static void read_matrix(each_pair *each, void *context) {
  for (size_t l = 0; l < faro_learner_count(); l++)
    for (size_t r = 0; r < faro_release_kinds(); r++)
      if (faro_pair_takes(faro_learner_at(l), faro_release_kind_at(r)))
        each(faro_learner_at(l), faro_release_kind_at(r), context);
}

static void print_pair(const faro_learner_kind *learner, const faro_release_kind *release, void *context) {
  (void)context;
  printf("%-12s %-20s", learner->name, release->name);
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
    if (faro_pair_calibrates(learner, release, (faro_calibration)c))
      printf(" %s", faro_calibration_name((faro_calibration)c));
  printf("\n");
}

static void list_matrix(void) {
  printf("%-12s %-20s %s\n", "learner", "release", "calibrations");
  read_matrix(print_pair, NULL);
}

/* ---- the same as JSON: an array of objects each */

static json_t *learners_json(void) {
  json_t *list = json_array();
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    json_t *row = json_pack("{s:s, s:s}", "name", kind->name, "summary", kind->summary);
    if (kind->cite) json_object_set_new(row, "cite", json_string(kind->cite));
    json_array_append_new(list, row);
  }
  return list;
}

static json_t *releases_json(void) {
  json_t *list = json_array();
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", kind->name, "trust",
                                          faro_trust_name(kind->trust), "summary", kind->summary));
  }
  return list;
}

static json_t *environments_json(void) {
  json_t *list = json_array();
  for (size_t i = 0; i < faro_env_count(); i++)
    json_array_append_new(
        list, json_pack("{s:s, s:s}", "name", faro_env_at(i)->name, "summary", faro_env_at(i)->summary));
  return list;
}

static void add_experiment(const char *name, const char *title, const char *fault, void *list) {
  json_array_append_new(
      list, json_pack("{s:s, s:s}", "name", name, fault ? "fault" : "title", fault ? fault : title));
}

static json_t *experiments_json(void) {
  json_t *list = json_array();
  (void)read_experiments(add_experiment, list);
  return list;
}

static json_t *settings_json(void) {
  json_t *list = json_array();
  for (faro_key k = 0; k < faro_key_count(); k++) {
    char preset[FARO_PRINTED];
    char allowed[FARO_ALLOWED];
    const char *names[FARO_WORDS_MAX];
    const faro_field field = faro_key_field(k);
    const size_t count = faro_field_words(&field, names);
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", faro_key_name(k), "in",
                            faro_scope_text(faro_key_scope(k)), "default", faro_key_preset(k, preset),
                            "allowed", faro_key_allowed(k, allowed), "help", faro_key_setting(k)->help);
    json_t *words = json_array();
    for (size_t w = 0; w < count; w++) json_array_append_new(words, json_string(names[w]));
    json_object_set_new(row, "words", words);
    json_array_append_new(list, row);
  }
  return list;
}

static void add_pair(const faro_learner_kind *learner, const faro_release_kind *release, void *list) {
  json_t *calibrations = json_array();
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
    if (faro_pair_calibrates(learner, release, (faro_calibration)c))
      json_array_append_new(calibrations, json_string(faro_calibration_name((faro_calibration)c)));
  json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "learner", learner->name, "release", release->name,
                                        "calibrations", calibrations));
}

static json_t *matrix_json(void) {
  json_t *list = json_array();
  read_matrix(add_pair, list);
  return list;
}

static const struct {
  const char *name;
  void (*list)(void);
  json_t *(*json)(void);
} lists[] = {{"learners", list_learners, learners_json},
             {"releases", list_releases, releases_json},
             {"environments", list_environments, environments_json},
             {"experiments", list_experiments, experiments_json},
             {"settings", list_settings, settings_json}};
enum { LISTS = sizeof lists / sizeof *lists };

static const char *list_name(size_t index) { return index < LISTS ? lists[index].name : NULL; }

typedef struct request {
  bool matrix, json;
} request;

static const faro_field options[] = {
    {"matrix", FARO_FIELD_FLAG, FARO_AT(request, matrix),
     .help = "print which learner can use which release, under which calibrations"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json),
     .help = "print JSON: an array, or without a name an object with all lists"},
};

/* One list, or all of them by name. */
static int print_json(const request *r, bool one, size_t which) {
  json_t *document = r->matrix ? matrix_json() : one ? lists[which].json() : json_object();
  for (size_t i = 0; !r->matrix && !one && i < LISTS; i++)
    json_object_set_new(document, lists[i].name, lists[i].json());
  char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
  json_decref(document);
  return cli_print(stdout, text);
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t which = 0;
  int status = cli_read(&cli_list, &r, argc, argv, &words);
  if (status == CLI_GO && words > 0) status = cli_choose(&cli_list, "list", argv[0], &which);
  if (status != CLI_GO) return status;
  if (r.json) return print_json(&r, words > 0, which);
  if (r.matrix) list_matrix();
  else if (words > 0) lists[which].list();
  else
    for (size_t i = 0; i + 1 < LISTS; i++) { /* settings only on request: there are many */
      printf("%s%s:\n", i ? "\n" : "", lists[i].name);
      lists[i].list();
    }
  return EXIT_DONE;
}

const cli_command cli_list = {
    .name = "list",
    .usage = "list [learners | releases | environments | experiments | settings]",
    .summary = "list learners, releases, environments, experiments or settings",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = list_name,
    .about =
        "`faro list settings` prints the keys of an experiment file: where they belong, their defaults, and\n"
        "what is allowed.\n",
};
