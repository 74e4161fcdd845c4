/* json: a strict reader for small documents from untrusted parties. It reads RFC 8259 without
 * duplicate keys and zero characters, and with limits on everything. It does not recurse and reads
 * every byte once.
 *
 *   text --parse--> nodes, in the order of the text: a node, everything inside it, then the next
 *
 * The functions below read members. Their messages name the key and what is allowed. */
#ifndef FARO_WIRE_JSON_H
#define FARO_WIRE_JSON_H

#include "base/text.h"

enum {
  FARO_JSON_DEPTH = 8,
  FARO_JSON_NODES = 1 << 16,
  FARO_JSON_MEMBERS = 32 /* in an object */
};

#define FARO_JSON_COUNT_MAX (UINT64_C(1) << 53) /* whole numbers up to here are exact */

typedef enum faro_json_type {
  FARO_JSON_NULL,
  FARO_JSON_FALSE,
  FARO_JSON_TRUE,
  FARO_JSON_NUMBER,
  FARO_JSON_STRING,
  FARO_JSON_ARRAY,
  FARO_JSON_OBJECT
} faro_json_type;

typedef struct faro_json_node {
  faro_json_type type;
  uint32_t count;   /* number of members or elements */
  uint32_t next;    /* the first node after this one and everything inside it */
  const char *key;  /* of a member; an element has the key of its array; the document has NULL */
  const char *text; /* of a string, without escapes */
  double number;
} faro_json_node;

typedef struct faro_json {
  char *copy; /* the text, in which strings are terminated */
  faro_json_node *node;
  uint32_t count, capacity;
} faro_json;

/* Parses at most `limit` bytes. On FARO_OK the caller clears it. */
faro_status faro_json_parse(faro_json *json, const char *text, size_t length, size_t limit,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_json_clear(faro_json *json);

/* The name of a type for messages: "a number", "a string" and so on. */
const char *faro_json_shape(faro_json_type type);
/* Checks that `node` is an object with exactly these keys. */
faro_status faro_json_expect(const faro_json *json, uint32_t node, const char *const *keys, size_t count,
                             faro_error *error) FARO_WARN_UNUSED;
/* Members of an object that faro_json_expect has checked. */
faro_status faro_json_real(const faro_json *json, uint32_t object, const char *key, double least, double most,
                           double *out, faro_error *error) FARO_WARN_UNUSED;
/* A whole number, at most 2^53. */
faro_status faro_json_count(const faro_json *json, uint32_t object, const char *key, uint64_t least,
                            uint64_t most, uint64_t *out, faro_error *error) FARO_WARN_UNUSED;
/* A string of 1 .. size - 1 bytes. */
faro_status faro_json_text(const faro_json *json, uint32_t object, const char *key, char *out, size_t size,
                           faro_error *error) FARO_WARN_UNUSED;
/* One of `count` words; *out is its index. */
faro_status faro_json_choice(const faro_json *json, uint32_t object, const char *key,
                             const char *const *words, size_t count, size_t *out,
                             faro_error *error) FARO_WARN_UNUSED;
/* `size` bytes as hexadecimal digits, lower case. */
faro_status faro_json_bytes(const faro_json *json, uint32_t object, const char *key, unsigned char *out,
                            size_t size, faro_error *error) FARO_WARN_UNUSED;
/* An array of `count` finite numbers. */
faro_status faro_json_reals(const faro_json *json, uint32_t object, const char *key, double *out,
                            size_t count, faro_error *error) FARO_WARN_UNUSED;
/* The node of an array or object. */
faro_status faro_json_inside(const faro_json *json, uint32_t object, const char *key, faro_json_type type,
                             uint32_t *out, faro_error *error) FARO_WARN_UNUSED;

/* Writes a string with its quotes and escapes. */
void faro_json_quote(faro_text *text, const char *string);

#endif
