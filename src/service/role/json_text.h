/* dump: JSON as text, in one line, with every number as short as reads back to the same double: 0.1, not 0.10000000000000001
 * as jansson would write it. */
#ifndef FARO_SERVICE_ROLE_JSON_TEXT_H
#define FARO_SERVICE_ROLE_JSON_TEXT_H

#include <jansson.h>

#include "base/text.h"

/* free() it; NULL where memory is short. */
char *faro_dump(const json_t *json);

#endif
