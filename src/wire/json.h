/* json: a strict parser for small documents from untrusted parties. It reads RFC 8259 without
 * duplicate keys and zero characters, and with limits on everything. It does not recurse and reads
 * every byte once. The tree that it makes is read by a table of fields (field/reader.h). */
#ifndef FARO_WIRE_JSON_H
#define FARO_WIRE_JSON_H

#include "base/text.h"
#include "field/tree.h"

enum {
  FARO_JSON_DEPTH = 8,
  FARO_JSON_NODES = 1 << 16,
  FARO_JSON_MEMBERS = 32 /* in an object */
};

#define FARO_JSON_COUNT_MAX (UINT64_C(1) << 53) /* whole numbers up to here are exact */

/* Parses at most `limit` bytes. On FARO_OK the caller clears the tree. */
faro_status faro_json_parse(faro_tree *tree, const char *text, size_t length, size_t limit,
                            faro_error *error) FARO_WARN_UNUSED;

/* Writes a string with its quotes and escapes. */
void faro_json_quote(faro_text *text, const char *string);

#endif
