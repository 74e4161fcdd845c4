/* play: experiments in tests, parsed from a text and played one instance at a time. */
#ifndef FARO_TESTS_PLAY_H
#define FARO_TESTS_PLAY_H

#include <faro/report.h>

#include "sim/loop.h"
#include "support/support.h"

enum { PLAY_SEED = 1 };

/* Parses a YAML text, which must be valid. Messages call it "test.yaml". */
faro_experiment *parse_experiment(const char *format, ...) FARO_PRINTF(1, 2);
/* Runs the experiment of a YAML text called `file`, with one setting replaced unless `key` is NULL,
 * and makes its report. */
faro_report *make_report(const char *file, const char *text, const char *key, const char *value);
/* Plays one instance of a cell with PLAY_SEED. */
faro_play_record play_cell(const faro_cell *cell, uint64_t instance);
faro_status try_cell(const faro_cell *cell, faro_play_record *record, faro_error *error); /* instance 0 */
/* The environment of such an instance, at its start. */
faro_env *make_cell_env(const faro_cell *cell, uint64_t instance);

#endif
