/* names: turns an X-macro list of (id, text, ...) into an array of its texts, and a text into its
 * value. */
#ifndef FARO_BASE_NAMES_H
#define FARO_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FARO_NAME_TEXT(id, text, ...) text,

/* static const char *const names[] = FARO_NAMES(FARO_LEVEL_LIST); */
#define FARO_NAMES(list)                                                                                     \
  { list(FARO_NAME_TEXT) }

static inline bool faro_names_find(const char *const *names, size_t count, const char *name, size_t *index) {
  for (*index = 0; *index < count; ++*index)
    if (strcmp(names[*index], name) == 0) return true;
  return false;
}

/* FARO_FIND(faro_level, FARO_LEVEL_LIST) makes faro_level_find(const char *, faro_level *). */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type takes none */
#define FARO_FIND(type, list)                                                                                \
  bool type##_find(const char *name, type *value) {                                                          \
    static const char *const names[] = FARO_NAMES(list);                                                     \
    size_t index = 0;                                                                                        \
    if (!faro_names_find(names, sizeof names / sizeof *names, name, &index)) return false;                   \
    *value = (type)index;                                                                                    \
    return true;                                                                                             \
  }
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
