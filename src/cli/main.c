/* main: faro COMMAND ... */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

static const cli_command *const commands[] = {
    &cli_run,  &cli_account,  &cli_audit,    &cli_sum,    &cli_list, &cli_report,
    &cli_keys, &cli_analyzer, &cli_shuffler, &cli_client, &cli_demo, &cli_ledger,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void help(FILE *out) {
  fprintf(out, "faro: bandits that learn from people without learning about any of them\n\nusage: faro "
               "COMMAND ...\n\n");
  for (size_t i = 0; i < COMMANDS; i++) fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(
      out,
      "\n`faro COMMAND --help` tells more; `faro --version` tells which faro this is.\n"
      "Exit status: 0 done, 1 a check failed, 2 usage, 3 bad input, 4 the system failed, 130 interrupted.\n");
}

static int unknown(const char *name) {
  const char *names[COMMANDS];
  char hint[FARO_HINT];
  for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
  fprintf(stderr, "faro: unknown command \"%s\"%s; `faro --help` lists the commands\n", name,
          faro_hint(name, names, COMMANDS, hint));
  return EXIT_USAGE;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    help(stderr);
    return EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    help(stdout);
    return EXIT_DONE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("faro %s (commit %s, %s)\n", faro_version(), faro_commit(), faro_compiler());
    return EXIT_DONE;
  }
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, argv[1]) == 0) return commands[i]->run(argc - 2, argv + 2);
  return unknown(argv[1]);
}

/* Output that could not be written is a failure, whatever was computed. */
int main(int argc, char **argv) {
  const int status = dispatch(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  fprintf(stderr, "faro: cannot write the output\n");
  return status == EXIT_DONE ? EXIT_SYSTEM : status;
}
