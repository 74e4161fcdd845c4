/* table: the rows of a file as environments use them: read once, shared by all threads, and handed
 * out in a random order.
 *
 * A file whose rows fit into `memory` bytes is kept, and its order is an exact random permutation.
 * A larger one is read again by each cursor, in flat memory: blocks of the file in random order,
 * through a buffer from which a random row leaves whenever one comes in.
 *
 * A row is kept as a record of 8-byte numbers: person, arm, propensity, numbers, words, rewards. */
#ifndef FARO_DATA_TABLE_H
#define FARO_DATA_TABLE_H

#include <faro/random.h>
#include <faro/rows.h>

typedef struct faro_table {
  faro_rows *rows;
  const faro_rows_facts *facts;
  uint64_t *record;        /* all rows, `width` numbers each; NULL: too large */
  size_t width, rewards;   /* rewards of a row */
  uint64_t people;         /* different persons; as many as rows if nothing says who they are */
  uint64_t visits;         /* the most rows of one person */
  double least_propensity; /* logged only */
} faro_table;

faro_status faro_table_open(faro_table **table, const faro_rows_params *params, uint64_t memory,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_table_close(faro_table *table); /* NULL is allowed; cursors first */

/* Rows of each arm: of a class, or of a logged action. False: rows are not kept, or have all
 * rewards. */
bool faro_table_count(const faro_table *table, uint64_t *rows);

typedef struct faro_cursor faro_cursor;

/* A cursor in file order (`shuffled` false) or in random order. The table must outlive it. */
faro_status faro_cursor_create(faro_cursor **cursor, const faro_table *table, bool shuffled,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_cursor_destroy(faro_cursor *cursor); /* NULL is allowed */
/* Begins a new order. */
void faro_cursor_begin(faro_cursor *cursor, faro_sim_rng *sim);
/* The next row, valid until the next call. After the last row a new order begins. Never fails: if
 * the file can no longer be read, the last row is repeated, and faro_cursor_status says why. */
const faro_row *faro_cursor_next(faro_cursor *cursor, faro_sim_rng *sim);
faro_status faro_cursor_status(const faro_cursor *cursor, faro_error *error) FARO_WARN_UNUSED;

#endif
