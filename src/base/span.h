/* span: a part of a text, and what readers of lines with fields do with one. */
#ifndef FARO_BASE_SPAN_H
#define FARO_BASE_SPAN_H

#include <stddef.h>

typedef struct faro_span {
  const char *text;
  size_t length;
} faro_span;

/* Without blanks around it. */
static inline faro_span faro_span_trim(faro_span s) {
  while (s.length > 0 && (*s.text == ' ' || *s.text == '\t')) s = (faro_span){s.text + 1, s.length - 1};
  while (s.length > 0 && (s.text[s.length - 1] == ' ' || s.text[s.length - 1] == '\t')) s.length--;
  return s;
}

/* The quote that closes a quoted field whose text begins at `at`; NULL if it is missing. Two quotes
 * in a row stand for one character. */
static inline const char *faro_closing_quote(const char *at, const char *end) {
  for (; at < end; at++) {
    if (*at != '"') continue;
    if (at + 1 == end || at[1] != '"') return at;
    at++;
  }
  return NULL;
}

#endif
