/* rows: people's rows from a file, checked and read one at a time, in flat memory.
 *
 * A file is CSV (RFC 4180: a header line with the columns' names, quotes, LF or CRLF) or libsvm
 * (`label index:value ...`, indices from 1, ascending). Columns have roles, by name. A list of
 * names is one text with commas: "age, income"; a name that ends in * stands for all columns that
 * begin so, and * alone for the rest, if any. Numbers must be finite. What is wrong is refused with
 * file, line, column and what is allowed.
 *
 *     faro_rows *rows;
 *     faro_rows_params params = {.file = "people.csv", .label = "class", .words = "city"};
 *     if (faro_rows_open(&rows, &params, &error) != FARO_OK) ...      reads the whole file once
 *     faro_row_reader *reader;
 *     if (faro_row_reader_create(&reader, rows, &error) != FARO_OK) ...
 *     const faro_row *row;
 *     while ((status = faro_row_next(reader, &row, &error)) == FARO_OK && row) ...
 *     faro_row_reader_destroy(reader);
 *     faro_rows_close(rows);
 *
 * Opening reads and checks all rows, counts them, and finds the classes. It keeps nothing of any
 * row. An open faro_rows is read-only and may be shared by threads; a reader belongs to one. Only
 * open and create allocate memory. */
#ifndef FARO_ROWS_H
#define FARO_ROWS_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARO_ROWS_FORMAT_LIST(X)                                                                             \
  X(AUTO, "auto") /* by the file's ending: .csv; .svm, .libsvm */                                            \
  X(CSV, "csv")                                                                                              \
  X(LIBSVM, "libsvm")

typedef enum faro_rows_format {
#define X(name, text) FARO_ROWS_##name,
  FARO_ROWS_FORMAT_LIST(X)
#undef X
} faro_rows_format;

/* What a file says about each person, besides features. */
typedef enum faro_rows_form {
  FARO_ROWS_CLASSES, /* the right class: `label` */
  FARO_ROWS_REWARDS, /* the reward of every arm: `rewards` */
  FARO_ROWS_LOGGED   /* what was played, with which probability, and its reward */
} faro_rows_form;

enum {
  FARO_ROWS_COLUMNS_MAX = 20000,
  FARO_ROWS_ARMS_MAX = 1000,
  FARO_ROWS_NAME_MAX = 200,     /* bytes of a column's or an arm's name */
  FARO_ROWS_LINE_MAX = 1 << 20, /* bytes of a row */
  FARO_ROWS_BLOCKS_MAX = 4096
};

/* Exactly one of label, rewards, and action with reward and propensity. In libsvm the label is the
 * first word of a line, and only `classes` may be given. NULL and "" mean: none. */
typedef struct faro_rows_params {
  const char *file;
  faro_rows_format format;
  const char *label;      /* the column with the right class, a word or a number */
  const char *classes;    /* list: the classes, or the actions that may be logged; none: those of the file */
  const char *rewards;    /* list: the columns with the reward of each arm */
  const char *action;     /* the column with the arm that was played ... */
  const char *reward;     /* ... with its reward ... */
  const char *propensity; /* ... and with the probability, above 0, of playing it then */
  const char *person;     /* the column that says who a row is about; none: nobody has two rows */
  const char *words;      /* list: features whose values are words */
  const char *features;   /* list: features whose values are numbers; none: all columns without a role */
  const char *ignore;     /* list: columns that are not used */
  double low, high;       /* rewards must be within; both 0: 0 .. 1 */
  /* Logged only: a row is not refused for its values, so that whether reading succeeds depends on
   * nobody's data. Rewards beyond low and high are taken as they are, and a row with a value that
   * cannot be read, or that is no probability or no class, has the propensity NaN. Lines that do
   * not have the form of the file, and persons without a name, are refused as ever. */
  bool spare;
} faro_rows_params;

/* What is known of an open file. */
typedef struct faro_rows_facts {
  faro_rows_form form;
  uint64_t rows, bytes;
  size_t numbers, words;   /* features of a row */
  const char *const *name; /* names of the numbers, then of the words */
  size_t arms;             /* classes, reward columns, or logged actions */
  const char *const *arm;  /* names: classes in order (as numbers if all are), reward columns as listed */
  double low, high;        /* allowed rewards */
  double least_propensity; /* logged only */
  double logged_reward;    /* logged only: the mean reward of the log, ... */
  double uniform_reward;   /* ... and of uniform play, by inverse propensities that add up to 1 */
  const double *least;     /* least value of each number in the file: `scaling: public` uses it */
  const double *most;
  size_t blocks;            /* places where a reader may start: faro_row_seek */
  unsigned char digest[32]; /* hash of the file's bytes */
} faro_rows_facts;

typedef struct faro_row {
  uint64_t line;        /* line of the file, from 1 */
  uint64_t person;      /* hash of the person's id; the row's number if there is no such column */
  const double *number; /* facts.numbers of them */
  const uint64_t *word; /* facts.words of them: hashes of the column's name and the word */
  size_t arm;           /* the right class, or what was played; 0 for rewards */
  const double *reward; /* rewards: one per arm; logged: one; classes: NULL */
  double propensity;    /* logged only; NaN: see faro_rows_params.spare */
} faro_row;

typedef struct faro_rows faro_rows;
typedef struct faro_row_reader faro_row_reader;

FARO_API faro_status faro_rows_open(faro_rows **rows, const faro_rows_params *params,
                                    faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_rows_close(faro_rows *rows); /* NULL is allowed; readers first */
FARO_API const faro_rows_facts *faro_rows_facts_of(const faro_rows *rows);

/* A reader at the first row. `rows` must outlive it. */
FARO_API faro_status faro_row_reader_create(faro_row_reader **reader, const faro_rows *rows,
                                            faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_row_reader_destroy(faro_row_reader *reader); /* NULL is allowed */
/* The next row, valid until the next call; NULL at the end. Fails if the file has been changed. */
FARO_API faro_status faro_row_next(faro_row_reader *reader, const faro_row **row,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Goes to the first row of a block: 0 .. facts.blocks - 1. The blocks are equal parts of the rows,
 * except the last. Returns how many rows the block has. */
FARO_API uint64_t faro_row_seek(faro_row_reader *reader, size_t block);

#ifdef __cplusplus
}
#endif

#endif
