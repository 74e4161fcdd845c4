/* list: faro list [learners|releases|environments|experiments|settings] */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

static void list_learners(void) {
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    printf("  %-20s %s", kind->name, kind->summary);
    if (kind->cite) printf(" (%s)", kind->cite);
    printf("\n");
  }
}

static void list_releases(void) {
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    printf("  %-20s trust %-10s %s\n", kind->name, faro_trust_name(kind->trust), kind->summary);
  }
}

static void list_environments(void) {
  for (size_t i = 0; i < faro_env_count(); i++)
    printf("  %-20s %s\n", faro_env_at(i)->name, faro_env_at(i)->summary);
}

static void list_experiment(const char *folder, const char *file) {
  char path[CLI_PATH];
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  const faro_experiment_options options = {.outline = true};
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) return;
  if (faro_experiment_load(&experiment, path, &options, &error) == FARO_OK)
    printf("  %-20s %s\n", faro_experiment_name(experiment), faro_experiment_title(experiment));
  else printf("  %-20s (cannot be run: %s)\n", file, error.message);
  faro_experiment_destroy(experiment);
}

static int yaml_only(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && strcmp(dot, ".yaml") == 0;
}

/* Lists the experiments of the first folder that has any. */
static void list_experiments(void) {
  for (size_t i = 0; i < CLI_PLACES; i++) {
    char buffer[CLI_PATH];
    const char *folder = cli_experiment_folder(i, buffer);
    struct dirent **entry = NULL;
    const int count = folder ? scandir(folder, &entry, yaml_only, alphasort) : -1;
    for (int k = 0; k < count; k++) {
      list_experiment(folder, entry[k]->d_name);
      free(entry[k]);
    }
    free(entry);
    if (count > 0) return;
  }
  printf("  none found in ./experiments, next to the program, or in %s\n", FARO_DATADIR "/experiments");
}

static void list_settings(void) { (void)cli_print(stdout, faro_settings_table()); }

static const struct {
  const char *name;
  void (*list)(void);
} lists[] = {{"learners", list_learners},
             {"releases", list_releases},
             {"environments", list_environments},
             {"experiments", list_experiments},
             {"settings", list_settings}};
enum { LISTS = sizeof lists / sizeof *lists };

/* Prints which learner can use which release, under which calibrations. */
static void list_matrix(void) {
  printf("%-12s %-20s %s\n", "learner", "release", "calibrations");
  for (size_t l = 0; l < faro_learner_count(); l++)
    for (size_t r = 0; r < faro_release_kinds(); r++) {
      const faro_learner_kind *learner = faro_learner_at(l);
      const faro_release_kind *release = faro_release_kind_at(r);
      if (!faro_pair_takes(learner, release)) continue;
      printf("%-12s %-20s", learner->name, release->name);
      for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
        if (faro_pair_calibrates(learner, release, (faro_calibration)c))
          printf(" %s", faro_calibration_name((faro_calibration)c));
      printf("\n");
    }
}

static const char *list_name(size_t index) { return index < LISTS ? lists[index].name : NULL; }

typedef struct request {
  bool matrix;
} request;

static const faro_field options[] = {
    {"matrix", FARO_FIELD_FLAG, FARO_AT(request, matrix),
     .help = "print which learner can use which release, under which calibrations"},
};

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t which = 0;
  int status = cli_read(&cli_list, &r, argc, argv, &words);
  if (status == CLI_GO && words > 0) status = cli_choose(&cli_list, "list", argv[0], &which);
  if (status != CLI_GO) return status;
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
    .usage = "list [learners | releases | environments | experiments | settings] [--matrix]",
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
