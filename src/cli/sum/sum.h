/* sum: what the files of `faro sum` share. sum_read.c turns bytes into values, sum_write.c releases
 * into lines, and sum.c stands between them with the options and the release itself. */
#ifndef FARO_CLI_SUM_SUM_H
#define FARO_CLI_SUM_SUM_H

#include <faro/faro.h>
#include <stdio.h>
#include <sys/types.h>

enum {
  SUM_COLUMNS_MAX = 1000,
  SUM_FIELDS_MAX = 10000,
  SUM_NAME_SIZE = 64,
  SUM_LINE_MAX = 1 << 20,
  SUM_BLOCK = 1 << 20, /* asked of the system at once */
};

/* ---- reading */

/* A column of the input, by the name that the header gives it or by its place. */
typedef struct sum_column {
  char name[SUM_NAME_SIZE]; /* empty: by place */
  size_t field;             /* from 0 */
} sum_column;

/* What a line looks like. */
typedef struct sum_format {
  bool csv;    /* fields between separators; else the line is one value */
  bool header; /* the first line of a file names the fields */
  bool binary; /* values are 0 or 1 */
  char separator;
  size_t columns; /* values of a line */
  sum_column column[SUM_COLUMNS_MAX];
} sum_format;

/* What became of a line; the first three are no fault of it. */
#define SUM_RESULT_LIST(X)                                                                                   \
  X(GOOD, "")                                                                                                \
  X(END, "")                                                                                                 \
  X(UNREADABLE, "")                                                                                          \
  X(NO_NUMBER, "is no number; allowed is a finite decimal number such as -1.5 or 2e3")                       \
  X(NO_BIT, "is no number that --binary allows: 0 or 1")                                                     \
  X(TOO_FEW, "has fewer fields than the columns asked for need")                                             \
  X(OPEN_QUOTE, "has a quoted field that does not end with a quote and a separator")                         \
  X(ZERO_BYTE, "has a zero byte")                                                                            \
  X(TOO_LONG, "is too long: a line may have 1048576 bytes")

typedef enum sum_result {
#define X(name, text) SUM_##name,
  SUM_RESULT_LIST(X)
#undef X
} sum_result;

/* Where bytes come from: fills up to `room` and returns how many; 0 at the end, -1 (and errno) when
 * it failed. */
typedef ssize_t sum_fill(void *source, char *to, size_t room);

/* Lines of one file after another, through one buffer:
 *
 *   buffer |  done  | a line being looked for ... |   room for the next block   |
 *                   ^at        ^at + searched     ^filled                       ^capacity
 */
typedef struct sum_reader {
  const sum_format *format;
  sum_fill *fill;
  void *source;
  size_t longest; /* bytes of a line */
  char *buffer;
  size_t capacity, at, searched, filled;
  bool ended;
  int failure; /* errno of what could not be read */
  const char *file;
  uint64_t line;                 /* number of the line at hand, from 1 */
  const char *text;              /* the line, or the part of it that is at fault */
  size_t length;                 /* of text */
  size_t fields;                 /* that a line must have at least */
  uint16_t pick[SUM_FIELDS_MAX]; /* by field: the column that it is, from 1; 0: of no interest */
} sum_reader;

/* `longest` and `block` are SUM_LINE_MAX and SUM_BLOCK outside of tests. Released with sum_close,
 * also on failure. */
faro_status sum_open(sum_reader *r, const sum_format *format, sum_fill *fill, void *source, size_t longest,
                     size_t block, faro_error *error) FARO_WARN_UNUSED;
void sum_close(sum_reader *r);
/* The source is at the start of a file: reads its header where there is one, and finds the
 * columns. */
faro_status sum_start(sum_reader *r, const char *file, faro_error *error) FARO_WARN_UNUSED;
/* The values of the next line. After a line at fault the one that follows it can be read. */
sum_result sum_next(sum_reader *r, double *values);
/* Says what is wrong with the line (or the file) that gave this result. */
faro_status sum_explain(const sum_reader *r, sum_result result, faro_error *error);

/* ---- writing */

/* How releases are printed. */
typedef struct sum_writer {
  FILE *out;
  bool json;
  const sum_format *format;
  const double *low, *high; /* of each column */
  double confidence;        /* that all bounds of a line hold */
} sum_writer;

/* What the sums will mean: the claim above all. */
faro_status sum_write_head(const sum_writer *w, const faro_release *release, const faro_release_kind *kind,
                           const faro_release_params *params, bool horizon_known,
                           faro_error *error) FARO_WARN_UNUSED;
/* The sums that are published now. */
void sum_write_release(const sum_writer *w, const faro_doubling *release);

#endif
