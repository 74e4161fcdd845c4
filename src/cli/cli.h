/* cli: the command. One file and one line of commands.def per subcommand; this is what they share.
 *
 * A subcommand has a table of its options, with offsets into a struct of its own, and reads them in
 * one call:
 *
 *     static int run(int argc, char **argv) {
 *       request r = {.jobs = 1};
 *       int words = 0;
 *       const int status = cli_read(&cli_run, &r, argc, argv, &words);
 *       if (status != CLI_GO) return status; */
#ifndef FARO_CLI_H
#define FARO_CLI_H

#include <faro/faro.h>
#include <stdio.h>

#include "field/field.h"

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_SYSTEM = 4, EXIT_STOPPED = 130 };

typedef struct cli_command {
  const char *name, *usage, *summary;
  int (*run)(int argc, char **argv);
  const faro_field *options; /* `--name VALUE` or `--name=VALUE`; without a name: a heading in --help */
  size_t count;              /* of options */
  int words;                 /* arguments that are not options, at most */
  faro_words *first;         /* what the first of them may be; NULL: anything */
  const char *about, *help;  /* for --help, before and after the options */
} cli_command;

#define COMMAND(name) extern const cli_command cli_##name;
#include "cli/commands.def"
#undef COMMAND
/* The commands and their names by index; NULL past the last one. */
const cli_command *cli_command_at(size_t index);
const char *cli_command_name(size_t index);

/* Reads options into the command's struct and puts the other arguments, in their order, at the
 * start of argv; *words is their number. CLI_GO; or the exit status if the command ends here, after
 * --help or a usage error, which has been printed. */
enum { CLI_GO = -1 };
int cli_read(const cli_command *command, void *request, int argc, char **argv, int *words);

/* Finds the first argument among the command's words; `what` it is, for messages ("mechanism").
 * NULL: it is missing. CLI_GO and its index; or EXIT_USAGE after a message. */
int cli_choose(const cli_command *command, const char *what, const char *word, size_t *index);

/* Prints "faro: message" and returns the exit status that goes with the error. */
int cli_fail(const faro_error *error);
/* Prints the message and the usage, and returns EXIT_USAGE. */
int cli_usage(const cli_command *command, const char *format, ...) FARO_PRINTF(2, 3);
/* Prints text that the library made, and frees it. */
int cli_print(FILE *out, char *text);

/* Experiments by name. */
enum { CLI_PATH = 4096, CLI_PLACES = 4 };
/* The i-th folder in which experiments are looked for, or NULL. */
const char *cli_experiment_folder(size_t index, char out[static CLI_PATH]);
/* The path of an experiment: a path as it is, a name looked up in the folders. */
bool cli_find_experiment(const char *name, char out[static CLI_PATH], faro_error *error);

/* Progress on stderr: a bar on a terminal, plain lines elsewhere. */
typedef struct cli_progress {
  bool quiet, terminal;
  double start, last;
  size_t first; /* done at the start */
  bool begun;
  int tenth; /* plain lines: last tenth told */
} cli_progress;

void cli_progress_begin(cli_progress *progress, bool quiet);
void cli_progress_show(void *progress, size_t done, size_t total);
void cli_progress_end(cli_progress *progress);

#endif
