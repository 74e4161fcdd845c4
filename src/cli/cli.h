/* cli: what the subcommands share. Each has a file or folder, and a line in commands.def.
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

#include "base/text.h"
#include "field/field.h"

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_SYSTEM = 4, EXIT_STOPPED = 130 };

typedef struct cli_command {
  const char *name, *summary;
  /* Without "faro". Options that it does not mention are added, unless it has the word ... or
   * OPTIONS. */
  const char *usage;
  int (*run)(int argc, char **argv);
  const faro_field *options; /* `--name VALUE` or `--name=VALUE`; no name: a heading in --help */
  size_t count;              /* number of options */
  int words;                 /* greatest number of other arguments */
  faro_words *first;         /* words allowed as the first of them; NULL: any */
  const char *list;          /* completion: words of `faro list LIST` are offered too; or NULL */
  const char *about, *help;  /* for --help, before and after the options */
} cli_command;

#define COMMAND(name) extern const cli_command cli_##name;
#include "cli/commands.def"
#undef COMMAND
/* The commands and their names by index; NULL past the last one. */
const cli_command *cli_command_at(size_t index);
const char *cli_command_name(size_t index);

/* Reads options into the command's struct and puts the other arguments, in their order, at the
 * start of argv; *words is their number. Returns CLI_GO, or the exit status if the command ends
 * here: after --help, or after a usage error, which has been printed. */
enum { CLI_GO = -1 };
int cli_read(const cli_command *command, void *request, int argc, char **argv, int *words);

/* Finds the first argument, `word`, among the command's words; NULL: it is missing. `what` is used
 * in messages ("mechanism"). Returns CLI_GO and sets the index, or returns EXIT_USAGE after a
 * message. */
int cli_choose(const cli_command *command, const char *what, const char *word, size_t *index);

/* Prints "faro: message" and returns the exit status for the error. */
int cli_fail(const faro_error *error);
/* The same for a role, whose log is JSON: a line of the log, unless stderr is a terminal. */
int cli_fail_role(const faro_error *error);
/* The usage of a command, with all of its options; wrapped to `width`, later lines indented. */
void cli_usage_text(faro_text *text, const cli_command *command, size_t width, size_t indent);
/* The command line as a shell would take it: "faro run trust-models --set 'epsilon=[1, 2]'". */
void cli_command_line(faro_text *text, const cli_command *command, int argc, char **argv);
/* Prints the message and the usage, and returns EXIT_USAGE. */
int cli_usage(const cli_command *command, const char *format, ...) FARO_PRINTF(2, 3);
/* The width of the terminal: COLUMNS, or what it says; 0: it is none. */
size_t cli_width(FILE *out);
/* Prints a text, wrapped to `width` (0: not at all), and indented to `column`; the line
 * has `used` characters already. */
void cli_wrap(FILE *out, const char *text, size_t length, size_t width, size_t column, size_t used);
/* Prints text that the library made, and frees it. */
int cli_print(FILE *out, char *text);

/* The width of a terminal (COLUMNS, or what it says; 0: any) and whether it shows colours: not if
 * NO_COLOR is set, and not in files and pipes. */
faro_table_style cli_screen(FILE *out);

/* Finding experiments by name. */
enum { CLI_PATH = 4096, CLI_PLACES = 4 };
/* The i-th folder that is searched for experiments, or NULL. */
const char *cli_experiment_folder(size_t index, char out[static CLI_PATH]);
/* Finds the path of an experiment. A path is used as it is; a name is searched in the folders. */
bool cli_find_experiment(const char *name, char out[static CLI_PATH], faro_error *error);

/* Progress on stderr: a bar on a terminal, plain lines elsewhere, nothing for what is done in a
 * moment.
 *
 *     cli_progress progress;
 *     cli_progress_begin(&progress, "instances", quiet);
 *     ... cli_progress_show(&progress, done, total, share); ...
 *     cli_progress_end(&progress); */
typedef struct cli_progress {
  const char *what; /* what is counted: "instances" */
  bool quiet, terminal;
  bool begun, shown;  /* a first call came; something was printed */
  double start, last; /* last: when the last plain line was printed */
  double first;       /* share that was done at the start */
  int tenth;          /* last tenth that was printed as a plain line */
  size_t done, total; /* as last shown */
} cli_progress;

void cli_progress_begin(cli_progress *progress, const char *what, bool quiet);
/* `share` of the whole work is done, 0 to 1: more exact than done / total, and the time that is
 * left follows from it. Call it as often as you like, but not from several threads. */
void cli_progress_show(cli_progress *progress, size_t done, size_t total, double share);
/* Removes the bar. */
void cli_progress_end(cli_progress *progress);

/* "12 s", "3 min", "2 h 10 min", "1.5 days": rounded up. */
enum { CLI_DURATION = 32 };
const char *cli_duration(double seconds, char out[static CLI_DURATION]);

#endif
