/* field: named values, what they may be, and where they go.
 *
 * A table of fields describes settings once. Files, documents and command lines are read by such
 * tables (reader.h, cli/cli.h), and messages and --help are made from them.
 *
 *     static const faro_field fields[] = {
 *         {"listen", FARO_FIELD_TEXT, FARO_AT(settings, listen), .required = true},
 *         {"campaign.epsilon", FARO_FIELD_REAL, FARO_AT(settings, epsilon), .most = 1000},
 *         {"shufflers", FARO_FIELD_LIST, FARO_AT(settings, shufflers), .most = 20},
 *         {"shufflers[].url", FARO_FIELD_TEXT, FARO_EACH(settings, shuffler[0].url, shuffler)},
 *     };
 *
 * A name with a dot is a key of a section. A name with [] is a key of each element of the list
 * whose row stands before it. Keys of one section or list stand together; sections and elements
 * have no sections or lists themselves. */
#ifndef FARO_FIELD_FIELD_H
#define FARO_FIELD_FIELD_H

#include <faro/setting.h>

#include "field/tree.h"

typedef enum faro_field_type {
  FARO_FIELD_TEXT,   /* char[size]: a copy; printable, unless it comes from JSON */
  FARO_FIELD_WORD,   /* const char *: the text itself, as long as argv or the tree lives */
  FARO_FIELD_COUNT,  /* uint64_t, size_t or uint32_t: a whole number */
  FARO_FIELD_REAL,   /* double */
  FARO_FIELD_WHOLE,  /* double that is a whole number */
  FARO_FIELD_FLAG,   /* bool: true or false; on the command line an option without a value */
  FARO_FIELD_CHOICE, /* size_t or an enum: the index among the words */
  FARO_FIELD_HEX,    /* unsigned char[size]: 2 size hexadecimal digits; lower case in JSON */
  FARO_FIELD_OTHER,  /* whatever `read` makes of a text */
  FARO_FIELD_LIST,   /* size_t: the number of elements */
  FARO_FIELD_NODE    /* uint32_t: the node itself, for the caller to read */
} faro_field_type;

/* The words of a choice by their index; NULL past the last one. */
typedef const char *faro_words(size_t index);

typedef struct faro_field {
  const char *name;
  faro_field_type type;
  bool required;       /* in a list: in each element */
  bool above, below;   /* numbers: `least` (`most`) itself is not allowed */
  bool once;           /* command line: must not be given twice; if false, the last one counts */
  size_t offset, size; /* offset and size of the member: see FARO_AT and FARO_EACH */
  size_t stride;       /* in a list: bytes from this member of one element to that of the next */

  /* Numbers, and the length of a list. A REAL without a range (0, 0) may be any finite number. A
   * COUNT without an upper end may be up to 2^53, and one with 0x1p64 up to 2^64 - 1. */
  double least, most;
  const char *zero; /* a word for 0, or "0"; allowed in addition to the range */

  /* CHOICE only: the words, as a function or as a list that ends with NULL. */
  faro_words *words;
  const char *const *list;

  /* OTHER only: reads a text. False, with *out unchanged, if it is not allowed. */
  bool (*read)(const char *text, void *out);

  const char *allowed; /* what is allowed, in words, if it does not follow from the above */
  const char *help;
  const char *value; /* command line: what --help calls the value */
} faro_field;

enum { FARO_FIELDS_MAX = 64 }; /* fields in a table */

/* Where a value is stored. FARO_AT: in a member of the caller's struct. FARO_EACH, for a key of
 * list elements: in a member of each element of an array in that struct; `first` is the member of
 * the first element, as in FARO_EACH(settings, shuffler[0].url, shuffler). */
#define FARO_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define FARO_EACH(type, first, array) FARO_AT(type, first), .stride = sizeof(*((type *)0)->array)

/* Defines the words of a choice: FARO_WORDS(levels, "event", "user") makes levels(1) "user". */
#define FARO_WORDS(name, ...)                                                                                \
  static const char *name(size_t index) {                                                                    \
    static const char *const words[] = {__VA_ARGS__};                                                        \
    return index < sizeof words / sizeof *words ? words[index] : NULL;                                       \
  }

/* The field of a setting, which is a member of the struct of its table. */
faro_field faro_setting_field(const faro_setting *setting);

/* Reads the value of a node into *out, the member. False, with *out unchanged, if it is not
 * allowed. */
bool faro_field_read(const faro_field *field, const faro_node *node, void *out);

/* A value as a person would write it: the word of a choice or flag, the word for 0, or the
 * number. */
enum { FARO_PRINTED = 64 };
const char *faro_field_print(const faro_field *field, double value, char out[static FARO_PRINTED]);

/* What is allowed, in words: "a number from 0.0001 to 1000". */
enum { FARO_ALLOWED = 400 };
const char *faro_field_allowed(const faro_field *field, faro_origin origin, char out[static FARO_ALLOWED]);

/* What a node holds, for messages: "5", "a list", "nothing". */
enum { FARO_GOT = 96 };
const char *faro_node_shown(const faro_node *node, char out[static FARO_GOT]);
/* What a type is called: "a list", or in JSON "an array". */
const char *faro_node_type_name(faro_node_type type, faro_origin origin);

/* Fails with "<place><name> must be <allowed> (got <value>)", and the word that was probably
 * meant. */
faro_status faro_field_refuse(const faro_field *field, const char *place, const char *name,
                              const faro_node *node, faro_error *error);

/* Words. */
enum { FARO_WORDS_MAX = 64 };
bool faro_words_find(faro_words *words, const char *word, size_t *index);
/* All words, in a list; returns their number. */
size_t faro_words_list(faro_words *words, const char *list[static FARO_WORDS_MAX]);
/* The words of a choice or a flag; 0 for other types. */
size_t faro_field_words(const faro_field *field, const char *list[static FARO_WORDS_MAX]);
/* "a, b, c", as far as it fits. */
const char *faro_words_join(const char *const *list, size_t count, char *out, size_t size);

#endif
