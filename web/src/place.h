/* place: see place.c. */
#ifndef FARO_WEB_PLACE_H
#define FARO_WEB_PLACE_H

#include <stddef.h>

/* The state that the next queue begins with; no bytes: a new client. They must stay until it is
 * open. */
void place_give(const unsigned char *bytes, size_t length);
/* The state that was stored last, since place_forget; NULL: none. */
const unsigned char *place_stored(size_t *length);
void place_forget(void); /* wipes it */

#endif
