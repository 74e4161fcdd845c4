/* compare: faro compare DIR DIR... */
#include "cli/cli.h"

enum { RUNS_MAX = 20 };

typedef struct request {
  bool json;
} request;

static int show(const request *r, const faro_report *first, const faro_report *second, char **directory,
                int index) {
  faro_error error = {0};
  faro_comparison *comparison = NULL;
  if (faro_comparison_create(&comparison, first, second, &error) != FARO_OK) {
    fprintf(stderr, "faro: %s and %s: %s\n", directory[0], directory[index], error.message);
    return error.status == FARO_INVALID ? EXIT_INPUT : EXIT_SYSTEM;
  }
  if (index > 1) printf(r->json ? "," : "\n");
  const int status =
      cli_print(stdout, r->json ? faro_comparison_json(comparison, directory[0], directory[index])
                                : faro_comparison_table(comparison, directory[0], directory[index],
                                                        cli_screen(stdout)));
  faro_comparison_destroy(comparison);
  return status;
}

static int compare_all(const request *r, char **directory, int count) {
  faro_error error = {0};
  faro_report *report[RUNS_MAX] = {NULL};
  int status = EXIT_DONE;
  for (int i = 0; i < count && status == EXIT_DONE; i++)
    if (faro_report_load(&report[i], directory[i], &error) != FARO_OK) status = cli_fail(&error);
  if (r->json && status == EXIT_DONE) printf("[");
  for (int i = 1; i < count && status == EXIT_DONE; i++) status = show(r, report[0], report[i], directory, i);
  if (r->json && status == EXIT_DONE) printf("]\n");
  for (int i = 0; i < count; i++) faro_report_destroy(report[i]);
  return status;
}

static const faro_field options[] = {
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json),
     .help = "print the differences as JSON, a list with one "
             "element for each run after the first"},
};

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_compare, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words < 2) return cli_usage(&cli_compare, "two or more DIR are required: directories of finished runs");
  return compare_all(&r, argv, words);
}

const cli_command cli_compare = {
    .name = "compare",
    .usage = "compare DIR DIR... [--json]",
    .summary = "compare finished runs: differences with intervals, and what was set differently",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = RUNS_MAX,
    .about =
        "Each DIR is the directory of the results of `faro run`. The first is compared with every other "
        "one.\nRows with the same label and the same values of what was swept belong together. If both runs "
        "met\nthe same instances (seed, rounds, environment), differences are taken on each instance, and "
        "their\nintervals are narrow; else the two means are compared, by Welch's rule.\n",
};
