/* dry: what a run would be, without running it. */
#ifndef FARO_CLI_DRY_H
#define FARO_CLI_DRY_H

#include "cli/cli.h"

/* Prints the claims, the instances and about how long they take; `folder` is where results would
 * go. */
int cli_dry_run(const faro_experiment *experiment, size_t jobs, bool json, const char *folder);

#endif
