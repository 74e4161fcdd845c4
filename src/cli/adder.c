/* adder: faro adder --config FILE [--check-config] */
#include "cli/cli.h"
#include "service/adder/adder_role.h"

typedef struct request {
  const char *config;
  bool check;
} request;

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, config), .required = true, .value = "FILE",
     .help = "settings in YAML: listen, state, key, seal, analyzer, analyzer-key; see faro-adder(1)"},
    {"check-config", FARO_FIELD_FLAG, FARO_AT(request, check),
     .help = "check the settings and the files that they name (keys, certificate, and campaign and state if "
             "they exist), and exit"},
};

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_adder, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  static faro_adder_settings settings;
  faro_error error = {0};
  if (faro_adder_settings_load(&settings, r.config, &error) != FARO_OK) return cli_fail(&error);
  if (!r.check) return faro_adder_serve(&settings, &error) == FARO_OK ? EXIT_DONE : cli_fail_role(&error);
  if (faro_adder_check(&settings, &error) != FARO_OK) return cli_fail(&error);
  printf("%s: ok\n", r.config);
  return EXIT_DONE;
}

const cli_command cli_adder = {
    .name = "adder",
    .usage = "adder --config FILE [--check-config]",
    .summary = "hold the second share of split counts, so that an honest shuffler sees no client's counts",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
};
