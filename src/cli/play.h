/* play: reads an experiment and plays it into a folder of results, for `run` and `rerun`. */
#ifndef FARO_CLI_PLAY_H
#define FARO_CLI_PLAY_H

#include "cli/results.h"

/* The text of an experiment, and how it was asked for. */
typedef struct cli_source {
  char file[CLI_PATH]; /* for messages */
  char *text;
  size_t length;
  const char *name; /* NULL: the file's name */
} cli_source;

/* Reads the file of an experiment: a name, a path, or - for standard input. */
faro_status cli_source_read(cli_source *source, const char *experiment, faro_error *error) FARO_WARN_UNUSED;
void cli_source_clear(cli_source *source);
/* Parses it, with overrides KEY=VALUE. */
faro_status cli_source_parse(const cli_source *source, const char *const *sets, size_t count, bool quick,
                             const char *command, faro_experiment **experiment,
                             faro_error *error) FARO_WARN_UNUSED;

typedef struct cli_play_options {
  size_t jobs;
  bool fresh, quiet;
  size_t shard, shards; /* 0 of 0: the whole experiment */
  /* If given, nothing is played; see faro_run_options. */
  void (*missing)(void *context, size_t cell, size_t instance);
  void *context; /* for `missing` */
} cli_play_options;

/* Plays the experiment, writes everything into the folder, which it makes, and gives the report to
 * `then`, whose exit status it returns. Instances that shards have left in the folder are not
 * played again. Interrupts are obeyed at once: finished instances are kept for the next run. */
int cli_play(const faro_experiment *experiment, cli_results *results, const cli_play_options *options,
             int (*then)(const faro_report *report, const char *folder, const void *context),
             const void *context);
/* Says that the results in the folder are complete, for a shard or a merge that comes too late. */
int cli_play_merged(FILE *out, const char *folder);
/* Plays one shard into a journal in the folder, and says what comes next, unless `quiet`. Plays
 * nothing if the folder has the whole results, unless `fresh`. */
int cli_play_shard(const faro_experiment *experiment, cli_results *results, const cli_play_options *options);

/* A `then` that prints the results; its context is a cli_format. */
typedef struct cli_format {
  bool json, csv; /* neither: a table, and where the report is */
} cli_format;
int cli_show(const faro_report *report, const char *folder, const void *format);

#endif
