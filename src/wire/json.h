/* json: a strict parser of small documents from strangers (RFC 8259, and less: no duplicate keys,
 * no zero character, all bounded). It does not recurse, and reads nothing twice. Documents are read
 * by tables of fields (field/reader.h). */
#ifndef FARO_WIRE_JSON_H
#define FARO_WIRE_JSON_H

#include "base/text.h"
#include "field/tree.h"

enum {
  FARO_JSON_DEPTH = 8,
  FARO_JSON_NODES = 1 << 16,
  FARO_JSON_MEMBERS = 32 /* of an object */
};

#define FARO_JSON_COUNT_MAX (UINT64_C(1) << 53) /* whole numbers up to here are themselves */

/* At most `limit` bytes. Clear the tree if it was FARO_OK. */
faro_status faro_json_parse(faro_tree *tree, const char *text, size_t length, size_t limit,
                            faro_error *error) FARO_WARN_UNUSED;

/* Writes a string with its quotes and escapes. */
void faro_json_quote(faro_text *text, const char *string);

#endif
