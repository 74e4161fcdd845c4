/* cli: the command. One file a subcommand; this is what they share. */
#ifndef FARO_CLI_H
#define FARO_CLI_H

#include <faro/faro.h>
#include <stdio.h>

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_SYSTEM = 4, EXIT_STOPPED = 130 };

typedef struct cli_command {
  const char *name, *usage, *summary;
  int (*run)(int argc, char **argv);
  const char *help; /* options and examples, for --help */
} cli_command;

extern const cli_command cli_run, cli_account, cli_audit, cli_sum, cli_list, cli_report, cli_keys,
    cli_analyzer, cli_shuffler, cli_client, cli_demo, cli_ledger;

/* An option of a subcommand: `--name` or `--name VALUE`. */
typedef struct cli_option {
  const char *name;
  bool takes_value;
} cli_option;

/* Steps through argv. Returns the index of the option in `options` and sets *value; -1 for a word that is no
 * option (in *value); -2 at the end; -3 after a usage error, which has been printed. --help prints the
 * command's help and gives -4. */
int cli_next(const cli_command *command, const cli_option *options, size_t count, int argc, char **argv,
             int *place, const char **value);
enum { CLI_WORD = -1, CLI_END = -2, CLI_BAD = -3, CLI_HELP = -4 };

/* Values of options. EXIT_DONE, or EXIT_USAGE after a message that says what is allowed. */
int cli_take_real(const cli_command *command, const char *name, const char *text, double least, double most,
                  double *out);
int cli_take_count(const cli_command *command, const char *name, const char *text, uint64_t least,
                   uint64_t most, uint64_t *out);
/* One of at most CLI_CHOICES words; *out is its index. */
enum { CLI_CHOICES = 8 };
/* A number of shufflers, or log, which is 0. */
int cli_take_shufflers(const cli_command *command, const char *text, uint64_t *shufflers);
int cli_take_choice(const cli_command *command, const char *name, const char *text, const char *const *words,
                    size_t count, size_t *out);

/* Prints "faro: message" and returns the exit status that goes with the error. */
int cli_fail(const faro_error *error);
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
