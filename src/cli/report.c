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
  const int status = cli_print(stdout, json ? faro_report_json(loaded) : faro_report_table(loaded));
  if (status == EXIT_DONE && !json) printf("report: %s/report.html\n", directory);
  faro_report_destroy(loaded);
  return status;
}

static int run(int argc, char **argv) {
  static const cli_option options[] = {{"json", false}};
  int place = 0;
  const char *value = NULL;
  const char *directory = NULL;
  bool json = false;
  for (;;) {
    switch (cli_next(&cli_report, options, 1, argc, argv, &place, &value)) {
    case 0: json = true; continue;
    case CLI_WORD:
      if (directory)
        return cli_usage(&cli_report, "one directory at a time (got %s and %s)", directory, value);
      directory = value;
      continue;
    case CLI_HELP: return EXIT_DONE;
    case CLI_END: break;
    default: return EXIT_USAGE;
    }
    break;
  }
  return directory ? report(directory, json) : cli_usage(&cli_report, "which directory?");
}

const cli_command cli_report = {
    .name = "report",
    .usage = "report DIR [--json]",
    .summary = "draw the table, figure and page of a finished run again",
    .run = run,
    .help = "DIR is where `faro run` put its results. Everything is drawn from DIR/run.json.\n",
};
