/* offers: what a file says about each arm, in columns NAME@ARM: the price of each of three offers
 * in price@red, price@green and price@blue. An arm is then described by the person's columns and
 * its own, as one row of numbers; arms share the map from such a row to features. */
#ifndef FARO_DATA_OFFERS_H
#define FARO_DATA_OFFERS_H

#include <faro/rows.h>

#include "base/arena.h"

typedef struct faro_offers {
  faro_arena arena;
  size_t common, own;    /* numbers of a person; and of an arm, each for all arms */
  size_t *column;        /* of the row: the person's, then those of arm 0, of arm 1, ... */
  double *number;        /* room for one arm's row */
  faro_rows_facts facts; /* of such rows: a column's range is that of all arms */
} faro_offers;

/* *offers stays NULL if no column has an @ in its name. Refuses a name without an arm after the @,
 * and an arm that lacks what another has. */
faro_status faro_offers_create(faro_offers **offers, const faro_rows *rows,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_offers_destroy(faro_offers *offers); /* NULL is allowed */

/* The row of an arm, valid until the next call. */
const double *faro_offers_row(const faro_offers *offers, const double *number, size_t arm);

#endif
