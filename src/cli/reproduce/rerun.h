/* rerun: the experiments of `faro reproduce`: which there are, and their runs. */
#ifndef FARO_CLI_REPRODUCE_RERUN_H
#define FARO_CLI_REPRODUCE_RERUN_H

#include "cli/cli.h"
#include "reproduce/reproduce.h"

enum { RERUN_NAMES = 200 };

/* The experiments with published results, sorted. */
typedef struct rerun_list {
  char folder[CLI_PATH]; /* of their files */
  size_t count;
  char name[RERUN_NAMES][FARO_LINE];
} rerun_list;

faro_status rerun_find(rerun_list *list, faro_error *error) FARO_WARN_UNUSED;

typedef struct rerun_options {
  const char *out;
  size_t jobs;
  bool quick, fresh, quiet;
} rerun_options;

/* Runs a chapter under one calibration (NULL: as written), or takes the results of an earlier run
 * of the same program from the folder. `progress` is printed first: "3 of 58". Returns the exit
 * status, after a message if it is not EXIT_DONE. */
int rerun_play(const rerun_options *options, const char *name, const char *calibration, const char *progress,
               faro_rerun *run);

#endif
