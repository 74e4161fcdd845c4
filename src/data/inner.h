/* inner: how a file of rows is read, for the files of this layer.
 *
 *   bytes --source.c--> lines --csv.c or libsvm.c--> a row
 *
 * columns.c reads the header and gives every column its role; names.c has the tables of arms'
 * names; rows.c is the public face. */
#ifndef FARO_DATA_INNER_H
#define FARO_DATA_INNER_H

#include <faro/rows.h>
#include <sodium.h>

#include "base/arena.h"
#include "base/span.h"

/* ---- source: a file as lines */

typedef struct faro_source_file {
  const char *path; /* as messages show it */
  int file;
  char *buffer;
  size_t at, filled;              /* bytes not yet taken: buffer[at .. filled) */
  uint64_t offset;                /* of buffer[0] in the file */
  bool ended;                     /* the file has no more bytes */
  crypto_generichash_state *hash; /* of all bytes; NULL: not wanted */
  uint64_t line;                  /* number of the line taken last, from 1 */
  uint64_t lines;                 /* how many it spans: quoted fields may have line ends */
  uint64_t start;                 /* its offset */
} faro_source_file;

enum { FARO_SOURCE_BLOCK = 1 << 20, FARO_SOURCE_SIZE = FARO_ROWS_LINE_MAX + FARO_SOURCE_BLOCK };

faro_status faro_source_open(faro_source_file *source, const char *path, faro_arena *arena,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_source_close(faro_source_file *source);
/* Continues at this offset, where line `line` begins. */
void faro_source_seek(faro_source_file *source, uint64_t offset, uint64_t line);
/* The next line, without its end; text NULL at the end of the file. With `quotes`, a line end
 * between quotes does not end the line. */
faro_status faro_source_line(faro_source_file *source, bool quotes, faro_span *line,
                             faro_error *error) FARO_WARN_UNUSED;

/* ---- names: a table of words */

typedef struct faro_names {
  size_t count, most;
  char **name;    /* each has room for FARO_ROWS_NAME_MAX bytes and a zero */
  uint32_t *slot; /* open addressing: index + 1; 0: free */
  size_t slots;   /* a power of two */
} faro_names;

faro_status faro_names_make(faro_names *names, size_t most, faro_arena *arena,
                            faro_error *error) FARO_WARN_UNUSED;
/* The index of a name, or names->count. */
size_t faro_names_find(const faro_names *names, faro_span name);
/* Adds a name that is not there. There must be room, and the name must not be too long. */
void faro_names_add(faro_names *names, faro_span name);
/* Puts the names in order: as numbers if all are numbers, else byte by byte. */
void faro_names_sort(faro_names *names);
/* A hash of the text that is the same on every machine; `key` separates columns. */
uint64_t faro_names_hash(uint64_t key, faro_span text);

/* ---- columns */

typedef enum faro_column_role {
  FARO_COLUMN_FREE,
  FARO_COLUMN_LABEL,
  FARO_COLUMN_REWARDS,
  FARO_COLUMN_ACTION,
  FARO_COLUMN_REWARD,
  FARO_COLUMN_PROPENSITY,
  FARO_COLUMN_PERSON,
  FARO_COLUMN_WORD,
  FARO_COLUMN_NUMBER,
  FARO_COLUMN_IGNORED,
  FARO_COLUMN_ROLES
} faro_column_role;

typedef struct faro_column {
  const char *name;
  faro_column_role role;
  size_t slot;  /* which number, word or reward it is */
  uint64_t key; /* of a word: hash of the name */
} faro_column;

typedef struct faro_block {
  uint64_t offset, line, row; /* where a block begins */
} faro_block;

/* Which file it is, and whether it was changed. */
typedef struct faro_stamp {
  uint64_t device, node, size;
  int64_t seconds, nanoseconds;
} faro_stamp;

struct faro_rows {
  faro_arena arena;
  bool libsvm, spare;
  char *path;
  faro_rows_facts facts;
  size_t columns;
  faro_column *column; /* CSV only */
  faro_names arms;
  bool open; /* classes are added as they come: the first pass */
  double *least, *most;
  const char **name;
  faro_block block[FARO_ROWS_BLOCKS_MAX];
  uint64_t stride;  /* rows of a block */
  faro_stamp stamp; /* of the file, when it was opened */
};

struct faro_row_reader {
  faro_arena arena;
  faro_rows *rows; /* changed by the first pass only */
  faro_source_file source;
  faro_row row;
  double *number, *reward;
  uint64_t *word;
  char *scratch;     /* one field without doubled quotes */
  uint64_t next;     /* number of the next row */
  uint32_t *touched; /* libsvm: which numbers the last row had */
  size_t touches;
};

/* Reads the header and gives every column its role. */
faro_status faro_columns_read(faro_rows *rows, const faro_rows_params *params, faro_span header,
                              faro_error *error) FARO_WARN_UNUSED;
/* The classes that params lists. */
faro_status faro_columns_classes(faro_rows *rows, const faro_rows_params *params,
                                 faro_error *error) FARO_WARN_UNUSED;
/* Takes the first name off a list; false at the end. */
bool faro_list_next(const char **list, faro_span *name);

/* One line as a row. */
faro_status faro_csv_row(faro_row_reader *reader, faro_span line, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_libsvm_row(faro_row_reader *reader, faro_span line, faro_error *error) FARO_WARN_UNUSED;

/* Takes the first field off `rest`, whose text is NULL after the last one. A quoted field is given
 * without its outer quotes; *quoted says so. Returns NULL, or what is wrong. */
const char *faro_csv_field(faro_span *rest, faro_span *field, bool *quoted);
/* The field with doubled quotes made single, in `out` if it has any. */
faro_span faro_csv_plain(faro_span field, char *out);

/* "people.csv:3: column 2 (age) MESSAGE". `column` counts from 0; SIZE_MAX: the whole line. */
faro_status faro_row_fail(const faro_row_reader *reader, size_t column, faro_error *error, const char *format,
                          ...) FARO_PRINTF(4, 5);
/* Refuses a file that was changed since it was opened: its size or its time is another. */
faro_status faro_row_unchanged(const faro_row_reader *reader, faro_error *error) FARO_WARN_UNUSED;
/* Finds an arm by name, or adds it in the first pass. */
faro_status faro_row_arm(faro_row_reader *reader, size_t column, faro_span name, size_t *arm,
                         faro_error *error) FARO_WARN_UNUSED;

#endif
