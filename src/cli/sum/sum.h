/* sum: what the files of `faro sum` share. sum_read.c turns bytes into values. tally.c makes
 * private sums of them. sum_write.c prints those. sum.c has the options, and passes values from the
 * reader through the tally to the writer. */
#ifndef FARO_CLI_SUM_SUM_H
#define FARO_CLI_SUM_SUM_H

#include <faro/faro.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/sum/tally.h"

enum {
  SUM_COLUMNS_MAX = 1000,
  SUM_FIELDS_MAX = 10000,
  SUM_NAME_SIZE = 64,
  SUM_LINE_MAX = 1 << 20,
  SUM_BLOCK = 1 << 20, /* bytes to read at once */
};

/* ---- reading */

/* A column of the input, given by its name in the header or by its number. */
typedef struct sum_column {
  char name[SUM_NAME_SIZE]; /* empty: given by number */
  size_t field;             /* from 0 */
} sum_column;

/* What a line looks like. */
typedef struct sum_format {
  bool csv;    /* fields between separators; if false, a line is one value */
  bool header; /* the first line of a file names the fields */
  bool binary; /* values are 0 or 1 */
  char separator;
  size_t columns; /* number of values in a line */
  sum_column column[SUM_COLUMNS_MAX];
} sum_format;

/* The result of reading a line. The first three do not mean that a line is malformed. */
#define SUM_RESULT_LIST(X)                                                                                   \
  X(GOOD, "")                                                                                                \
  X(END, "")                                                                                                 \
  X(UNREADABLE, "")                                                                                          \
  X(NO_NUMBER, "is not a finite decimal number, such as -1.5 or 2e3")                                        \
  X(NO_BIT, "is not 0 or 1, as --binary requires (--skip-bad skips such lines)")                             \
  X(TOO_FEW, "has fewer fields than --column needs")                                                         \
  X(OPEN_QUOTE, "has a quoted field that does not end with a quote and a separator")                         \
  X(ZERO_BYTE, "has a zero byte")                                                                            \
  X(TOO_LONG, "is too long: a line may have at most 1048576 bytes")

typedef enum sum_result {
#define X(name, text) SUM_##name,
  SUM_RESULT_LIST(X)
#undef X
} sum_result;

/* A source of bytes: reads up to `room` of them and returns how many it read; 0 at the end, -1 (and
 * errno) if it failed. */
typedef ssize_t sum_fill(void *source, char *to, size_t room);

/* Reads the lines of one file after another through one buffer:
 *
 *   buffer |  done  | the line being searched ... |   room for the next block   |
 *                   ^at        ^at + searched     ^filled                       ^capacity
 */
typedef struct sum_reader {
  const sum_format *format;
  sum_fill *fill;
  void *source;
  size_t longest; /* greatest length of a line, in bytes */
  char *buffer;
  size_t capacity, at, searched, filled;
  bool ended;
  int failure; /* errno, if reading failed */
  const char *file;
  uint64_t line;                 /* number of the current line, from 1 */
  const char *text;              /* the line, or the part of it that is malformed */
  size_t length;                 /* length of `text` */
  size_t fields;                 /* fields that a line must have at least */
  uint16_t pick[SUM_FIELDS_MAX]; /* by field: its column, from 1; 0: not used */
} sum_reader;

/* `longest` and `block` are SUM_LINE_MAX and SUM_BLOCK except in tests. Call sum_close, also
 * after a failure. */
faro_status sum_open(sum_reader *r, const sum_format *format, sum_fill *fill, void *source, size_t longest,
                     size_t block, faro_error *error) FARO_WARN_UNUSED;
void sum_close(sum_reader *r);
/* Call it when the source is at the start of a file. Reads the header if there is one, and finds
 * the columns. */
faro_status sum_start(sum_reader *r, const char *file, faro_error *error) FARO_WARN_UNUSED;
/* Reads the values of the next line. After a malformed line, the next call reads the line after
 * it. */
sum_result sum_next(sum_reader *r, double *values);
/* Writes the message for a result that is an error: what is wrong with the line or the file. */
faro_status sum_explain(const sum_reader *r, sum_result result, faro_error *error);

/* ---- writing */

/* What is printed at the end of the input; if nothing is asked for, running sums. */
typedef struct sum_wanted {
  bool total, mean;
  bool count; /* how many lines hold a value, as a private number; else all do, and it is public */
} sum_wanted;

/* Entries of a vector: one per column if their sums are needed, then one for the count. */
static inline size_t sum_entries(const sum_wanted *w, size_t columns) {
  return (w->count && !w->total && !w->mean ? 0 : columns) + w->count;
}

/* How releases are printed. */
typedef struct sum_writer {
  FILE *out;
  bool json;
  const sum_format *format;
  const sum_wanted *wanted;
  const double *low, *high; /* one per column */
  double confidence;        /* probability that all bounds in a line hold */
} sum_writer;

/* Writes what the sums mean: the claim, the release and the columns. */
faro_status sum_write_head(const sum_writer *w, const sum_tally *tally, faro_error *error) FARO_WARN_UNUSED;
/* Writes the newest sums, or what was asked for at the end. */
void sum_write_line(const sum_writer *w, const sum_tally *tally);

#endif
