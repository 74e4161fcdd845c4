/* reader: reads a tree strictly, by tables of fields, and remembers its first error.
 *
 * Unknown keys, keys that are given twice, missing keys and values that are not allowed are refused
 * by name. After an error nothing more is read, so a caller checks once, at the end:
 *
 *     faro_reader r = {.tree = &tree, .file = path, .error = error};
 *     faro_read_fields(&r, 0, NULL, fields, sizeof fields / sizeof *fields, &settings);
 *     return faro_reader_end(&r);
 *
 * Messages begin with "file:line: " in files. In documents, where `file` is NULL, the key itself
 * says where: "release.epsilon must be ...". */
#ifndef FARO_FIELD_READER_H
#define FARO_FIELD_READER_H

#include "field/field.h"

typedef struct faro_reader {
  const faro_tree *tree;
  const char *file;    /* for messages; NULL: a document without lines */
  bool all;            /* every field of a table is required */
  bool quoted_numbers; /* YAML only: "5" is a number too */
  /* Optional. For an unknown key: " (it belongs under environment)", or NULL. */
  const char *(*elsewhere)(const char *place, const char *key);
  faro_error *error;
  faro_status status; /* status of the first error */
} faro_reader;

/* Reads a mapping into the caller's struct. Members without a key keep their values, the
 * defaults. `place` is what messages call the mapping; NULL: the file or document itself. */
void faro_read_fields(faro_reader *r, uint32_t node, const char *place, const faro_field *fields,
                      size_t count, void *out);
/* Reads a mapping and leaves its values to the caller: calls `each` for every key, in the order of
 * the file, with the value and the key's row. */
typedef void faro_read_row(faro_reader *r, uint32_t node, const faro_field *field, void *context);
void faro_read_each(faro_reader *r, uint32_t node, const char *place, const faro_field *fields, size_t count,
                    faro_read_row *each, void *context);
/* Reads one key of a mapping, which is required, and ignores the others. Use it for a key that
 * decides which table describes the others. */
void faro_read_member(faro_reader *r, uint32_t node, const char *place, const faro_field *field, void *out);
/* Reads the value of a node into *out, the member itself. */
void faro_read_value(faro_reader *r, uint32_t node, const faro_field *field, void *out);
/* Expects a list of `least` to `most` elements, called `what` in messages ("numbers"). Returns
 * their number and sets *first to the first one; `next` of a node is the next one. 0 after an
 * error. */
size_t faro_read_list(faro_reader *r, uint32_t node, const char *name, size_t least, size_t most,
                      const char *what, uint32_t *first);

/* Refuses the value of a node, with file and line, for checks that no table can make. */
void faro_reader_fail(faro_reader *r, uint32_t node, const char *format, ...) FARO_PRINTF(3, 4);
/* Refuses a key that is not in `names`: "unknown key ... (did you mean ...?); allowed: ...". Line
 * -1: the key is not from a file. */
void faro_reader_unknown(faro_reader *r, int line, const char *key, const char *place,
                         const char *const *names, size_t count);
faro_status faro_reader_end(const faro_reader *r) FARO_WARN_UNUSED;

#endif
