/* evaluate: what the files of `faro evaluate` share. evaluate.c has the options and reads the log
 * through; target.c knows the target policy; linear.c reads the files of linear policies and reward
 * models; evaluate_write.c prints. */
#ifndef FARO_CLI_EVALUATE_EVALUATE_H
#define FARO_CLI_EVALUATE_EVALUATE_H

#include <faro/faro.h>
#include <stdio.h>

/* ---- linear files: a score for every arm from the features of a row
 *
 *   {"theta": [[0.1, 0.5], [0.2, 0.0], ...], "features": ["age"], "explore": 0.1, "norm": 1}
 *
 * One list per arm, or all of them in one list: a number per feature, and one more for a constant
 * if it is longer. */
typedef struct linear {
  size_t arms, features; /* features without the constant */
  bool constant;
  double *theta;   /* arms x (features + constant) */
  size_t *feature; /* which numbers of a row they are */
  double explore;  /* policies: probability of an arm drawn at random */
  double norm;     /* features are scaled back to this norm; 0: not */
} linear;

/* What a row's numbers are: `count` of them are features, at `index`. */
typedef struct features {
  size_t count;
  size_t *index;
  const char *const *name; /* names of the numbers of a row */
} features;

faro_status linear_load(linear *to, const char *path, size_t arms, const features *features,
                        faro_error *error) FARO_WARN_UNUSED;
/* The same for the text of a file. Call linear_clear, also after a failure. */
faro_status linear_parse(linear *to, const char *path, const char *text, size_t length, size_t arms,
                         const features *features, faro_error *error) FARO_WARN_UNUSED;
void linear_clear(linear *l);
void linear_scores(const linear *l, const double *number, double *score);

/* ---- the target policy */

typedef enum target_kind {
  TARGET_UNIFORM,
  TARGET_ALWAYS,
  TARGET_COLUMN,
  TARGET_COLUMNS,
  TARGET_FILE
} target_kind;

typedef struct target {
  target_kind kind;
  const char *text;        /* as given */
  const char *columns;     /* COLUMN, COLUMNS: the names, as a list */
  size_t arms, arm;        /* ALWAYS */
  size_t *column;          /* COLUMN: one; COLUMNS: one per arm; numbers of a row */
  const char *const *name; /* of the numbers */
  linear linear;
  double *probability; /* of every arm in the current row */
} target;

/* Reads what was given, before the log is open; then finds arms and columns in it. */
void target_read(target *t, const char *text);
faro_status target_open(target *t, const faro_rows_facts *facts, faro_error *error) FARO_WARN_UNUSED;
faro_status target_load(target *t, const features *features, faro_error *error) FARO_WARN_UNUSED;
void target_clear(target *t);
/* Whether it has something for each arm, by the order of the arms alone. */
bool target_ordered(const target *t);
/* The names of the arms, in their order; "..." for those that do not fit. */
enum { TARGET_ARMS = 200 };
const char *target_arms(const faro_rows_facts *facts, char out[static TARGET_ARMS]);
/* Whether a number of a row is a probability of the policy, and no feature. */
bool target_uses(const target *t, size_t number);
/* Sets row->target and, if all are known, row->targets. */
faro_status target_find(target *t, const faro_row *from, faro_logged *row,
                        faro_error *error) FARO_WARN_UNUSED;

/* ---- output */

typedef struct evaluate_writer {
  FILE *out;
  const char *file, *policy;
  const faro_rows_facts *facts;
  double confidence;
  faro_bounds interval;
  bool learnt; /* the reward model, from this log */
} evaluate_writer;

void evaluate_write(const evaluate_writer *w, const faro_evaluation *v);
faro_status evaluate_write_json(const evaluate_writer *w, const faro_evaluation *v, faro_error *error);

typedef struct evaluate_private {
  const faro_private_evaluation *result;
  const faro_private_evaluator_params *params;
  const char *grounds; /* JSON, or NULL */
} evaluate_private;

void evaluate_write_private(const evaluate_writer *w, const evaluate_private *p);
faro_status evaluate_write_private_json(const evaluate_writer *w, const evaluate_private *p,
                                        faro_error *error);

#endif
