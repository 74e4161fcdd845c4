/* results: where the results of a run go, so that no other results are lost. */
#ifndef FARO_CLI_RESULTS_H
#define FARO_CLI_RESULTS_H

#include "cli/cli.h"

/* The folder of results, and which of its folders this run created. */
typedef struct cli_results {
  char path[CLI_PATH];
  size_t first, last; /* lengths of the shortest and longest prefix created; 0: none */
} cli_results;

/* Chooses the folder: `out`, or results/NAME with the overrides in its name. A folder that holds
 * the results of another experiment, or of other settings, is left alone: the default then is the
 * first of NAME-2, NAME-3, ... that is free, with a line on stderr; `out` is refused unless
 * `fresh`. */
faro_status cli_results_choose(cli_results *results, const faro_experiment *experiment, const char *out,
                               bool fresh, faro_error *error) FARO_WARN_UNUSED;
/* The first of PATH, PATH-2, ... without results; an unfinished run of the experiment is
 * continued. */
faro_status cli_results_new(cli_results *results, const faro_experiment *experiment, const char *path,
                            faro_error *error) FARO_WARN_UNUSED;

/* Whether the folder has the results of a whole experiment, and no shards that are yet to be
 * merged. NULL: of any experiment. */
bool cli_results_complete(const char *folder, const faro_experiment *experiment);

/* mkdir -p */
faro_status cli_results_make(cli_results *results, faro_error *error) FARO_WARN_UNUSED;
/* Removes the folders that were created and are empty. */
void cli_results_take_back(cli_results *results);

#endif
