/* json: JSON text with the shortest numbers that read back exactly: 1e-6, not
 * 9.9999999999999995e-7. */
#ifndef FARO_REPORT_JSON_H
#define FARO_REPORT_JSON_H

#include <jansson.h>
#include <stdbool.h>

/* Indented by two spaces, or in one line. Caller frees; NULL if memory runs out or value is
 * NULL. */
char *faro_json_text(const json_t *value, bool indented);

struct faro_cell;
/* What is known of the file that a cell's people are from (people.c). */
json_t *faro_people_json(const struct faro_cell *cell);

#endif
