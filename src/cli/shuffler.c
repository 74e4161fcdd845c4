/* shuffler: faro shuffler --config FILE [--check-config] */
#include "cli/cli.h"
#include "service/shuffler/shuffler_check.h"
#include "service/shuffler/shuffler_role.h"

static int run(int argc, char **argv) {
  static const cli_option options[] = {{"config", true}, {"check-config", false}};
  int place = 0;
  const char *value = NULL;
  const char *path = NULL;
  bool check = false;
  for (int which = 0; which != CLI_END;) {
    which = cli_next(&cli_shuffler, options, 2, argc, argv, &place, &value);
    if (which == 0) path = value;
    else if (which == 1) check = true;
    else if (which == CLI_WORD) return cli_usage(&cli_shuffler, "unexpected argument %s", value);
    else if (which == CLI_HELP) return EXIT_DONE;
    else if (which == CLI_BAD) return EXIT_USAGE;
  }
  if (!path) return cli_usage(&cli_shuffler, "--config FILE is required");
  static faro_shuffler_settings settings;
  faro_error error = {0};
  if (faro_shuffler_settings_load(&settings, path, &error) != FARO_OK) return cli_fail(&error);
  if (check) {
    if (faro_shuffler_check(&settings, &error) != FARO_OK) return cli_fail(&error);
    printf("%s: ok\n", path);
    return EXIT_DONE;
  }
  return faro_shuffler_serve(&settings, &error) == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

const cli_command cli_shuffler = {
    .name = "shuffler",
    .usage = "shuffler --config FILE [--check-config]",
    .summary = "collect reports, mix them, and pass them on in whole batches",
    .run = run,
    .help =
        "  --config FILE    settings in YAML: listen, state, key, tokens, analyzer, analyzer-key; see "
        "faro-shuffler(1)\n"
        "  --check-config   check the settings and the files that they name (keys, tokens, certificate, and "
        "campaign\n"
        "                   and state if they exist), and exit\n",
};
