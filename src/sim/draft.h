/* draft: an experiment as the file and the overrides say it, before it is resolved.
 *
 *   YAML text --parse.c--> draft --resolve.c--> faro_experiment
 *
 * Every value remembers where it was written, so that a fault found late still names its line. */
#ifndef FARO_SIM_DRAFT_H
#define FARO_SIM_DRAFT_H

#include "sim/experiment.h"

enum { DRAFT_ALGORITHMS_MAX = 200, DRAFT_VALUES_MAX = 100, DRAFT_NAME_MAX = 200 };

/* Line of the file, from 1; 0: the file as a whole; -1: an override. */
typedef int faro_line;

typedef struct faro_entry {
  bool given;
  double value;
  const char *text; /* of a text; NULL otherwise */
  faro_line line;
} faro_entry;

typedef struct faro_draft_sweep {
  faro_key key;
  size_t count;
  double value[DRAFT_VALUES_MAX];
  faro_line line;
} faro_draft_sweep;

typedef struct faro_draft_algorithm {
  char label[DRAFT_NAME_MAX];
  faro_line line;
  faro_arena *arena; /* the draft's */
  faro_entry own[FARO_KEYS_MAX];
} faro_draft_algorithm;

typedef struct faro_draft_axis {
  char name[DRAFT_NAME_MAX]; /* empty: not said */
  faro_line line;
} faro_draft_axis;

typedef struct faro_draft {
  const char *file;
  const char *name; /* of the experiment, instead of the file's; NULL: the file's */
  faro_error *error;
  faro_arena *arena; /* for texts, which the experiment keeps */
  faro_experiment *experiment;
  bool quick;
  char title[DRAFT_NAME_MAX];
  faro_entry top[FARO_KEYS_MAX];
  bool overridden[FARO_KEYS_MAX];
  size_t sweeps;
  faro_draft_sweep sweep[FARO_SWEEPS_MAX];
  size_t algorithms;
  faro_draft_algorithm *algorithm;
  faro_draft_axis x, y, panels;
} faro_draft;

/* "file:line: message", or "--set: message". Returns FARO_INVALID. */
faro_status faro_draft_fail(const faro_draft *draft, faro_line line, const char *format, ...)
    FARO_PRINTF(3, 4);

/* parse.c */
faro_status faro_draft_parse(faro_draft *draft, const char *text, size_t length);
faro_status faro_draft_override(faro_draft *draft, const faro_override *override);

/* draft.c */
/* A shorter run of the same thing. */
void faro_draft_quicken(faro_draft *draft);
/* Refuses what contradicts itself, lacks something, or sets what no algorithm or environment has.
 */
faro_status faro_draft_check(const faro_draft *draft);

/* files.c */
/* rows only: reads the cell's file, unless another cell has, and fills in what follows from it. */
faro_status faro_draft_read_file(const faro_draft *draft, const faro_draft_algorithm *algorithm,
                                 faro_cell *cell);
void faro_experiment_close_files(faro_experiment *experiment);
/* Refuses people who come twice under a claim that protects one row. */
faro_status faro_cell_check_people(const faro_cell *cell, faro_error *error);

/* Says in the claim what it assumes about the file. */
void faro_cell_caution(faro_cell *cell);

/* Whether the experiment's environment takes its people from a file. */
bool faro_draft_has_rows(const faro_draft *draft);
/* The draft's sweep of `key`, or NULL. */
const faro_draft_sweep *faro_draft_sweep_of(const faro_draft *draft, faro_key key);
/* Where the value of a key of this algorithm was written; the algorithm's own line when nowhere. */
faro_line faro_draft_written(const faro_draft *draft, const faro_draft_algorithm *algorithm, faro_key key);

#endif
