/* json_text: writes JSON in one line, with numbers as short as they can be and still read back
 * exactly: 0.1, where jansson writes 0.10000000000000001. */
#ifndef FARO_SERVICE_ROLE_JSON_TEXT_H
#define FARO_SERVICE_ROLE_JSON_TEXT_H

#include <jansson.h>

#include "base/text.h"

/* free() the text; NULL if memory is out. */
char *faro_json_to_text(const json_t *json);

#endif
