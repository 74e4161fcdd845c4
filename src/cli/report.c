/* report: faro report DIR */
#include "cli/cli.h"

static int report(const char *directory, bool json) {
  faro_error error = {0};
  faro_report *loaded = NULL;
  if (faro_report_load(&loaded, directory, &error) != FARO_OK ||
      faro_report_write(loaded, directory, &error) != FARO_OK) {
    faro_report_destroy(loaded);
    return cli_fail(&error);
  }
  const int status =
      cli_print(stdout, json ? faro_report_json(loaded) : faro_report_table(loaded, cli_screen(stdout)));
  if (status == EXIT_DONE && !json) printf("report: %s/report.html\n", directory);
  faro_report_destroy(loaded);
  return status;
}

typedef struct request {
  bool json;
} request;

static const faro_field options[] = {
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print the results as JSON"},
};

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_report, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words == 0) return cli_usage(&cli_report, "DIR is required: the directory of a finished run");
  return report(argv[0], r.json);
}

const cli_command cli_report = {
    .name = "report",
    .usage = "report DIR [--json]",
    .summary = "make the table, figure and page of a finished run again",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .about = "DIR is the directory of the results of `faro run`. Everything is made from DIR/run.json.\n",
};
