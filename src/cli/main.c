/* main: faro COMMAND ... */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "linalg/dense.h"

static void help(FILE *out) {
  static const char statuses[] =
      "Exit status: 0 done, 1 a check failed, 2 usage, 3 bad input, 4 the system failed, 130 interrupted.";
  const cli_command *command = NULL;
  fprintf(out, "faro: bandits that learn from people without learning about any of them\n\n"
               "usage: faro COMMAND ...\n\n");
  for (size_t i = 0; (command = cli_command_at(i)); i++) {
    const int used = fprintf(out, "  %s", command->name);
    cli_wrap(out, command->summary, strlen(command->summary), cli_width(out), 13, (size_t)used);
  }
  fprintf(out, "\nRun `faro help COMMAND` for details and `faro version` for the version.\n");
  cli_wrap(out, statuses, sizeof statuses - 1, cli_width(out), 0, 0);
}

static int unknown(const char *name) {
  const char *names[FARO_WORDS_MAX];
  char hint[FARO_HINT];
  const size_t count = faro_words_list(cli_command_name, names);
  fprintf(stderr, "faro: unknown command \"%s\"%s; run `faro --help` for a list\n", name,
          faro_hint(name, names, count, hint));
  return EXIT_USAGE;
}

/* `faro help COMMAND WORD ...` is `faro COMMAND WORD ... --help`. */
static int help_about(int argc, char **argv) {
  static char option[] = "--help";
  size_t index = 0;
  if (argc == 0 || strcmp(argv[0], "help") == 0) {
    help(stdout);
    return EXIT_DONE;
  }
  if (!faro_words_find(cli_command_name, argv[0], &index)) return unknown(argv[0]);
  memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof *argv);
  argv[argc - 1] = option;
  return cli_command_at(index)->run(argc, argv);
}

static bool is_either(const char *word, const char *a, const char *b) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    help(stderr);
    return EXIT_USAGE;
  }
  if (is_either(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0)
    return help_about(argc - 2, argv + 2);
  if (is_either(argv[1], "--version", "version")) {
    printf("faro %s (commit %s, %s)\n", faro_version(), faro_commit(), faro_compiler());
    return EXIT_DONE;
  }
  size_t index = 0;
  if (!faro_words_find(cli_command_name, argv[1], &index)) return unknown(argv[1]);
  return cli_command_at(index)->run(argc - 2, argv + 2);
}

/* One thread of BLAS is enough: instances run in parallel, and a role factors one matrix a batch. A
 * command fails if its output could not be written. */
int main(int argc, char **argv) {
  faro_dense_rest();
  const int status = dispatch(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  fprintf(stderr, "faro: cannot write the output\n");
  return status == EXIT_DONE ? EXIT_SYSTEM : status;
}
