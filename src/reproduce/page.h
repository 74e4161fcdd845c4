/* page: the walk over a book, and the pens that write it: Markdown and HTML. */
#ifndef FARO_REPRODUCE_PAGE_H
#define FARO_REPRODUCE_PAGE_H

#include "base/text.h"
#include "reproduce/reproduce.h"

/* How a cell should look. */
typedef enum faro_tone { FARO_TONE_WORD, FARO_TONE_NUMBER, FARO_TONE_GOOD, FARO_TONE_BAD } faro_tone;

/* All texts are plain; a pen escapes them. */
typedef struct faro_pen {
  void (*begin)(faro_text *out, const char *title);
  void (*end)(faro_text *out);
  void (*heading)(faro_text *out, int level, const char *text);
  void (*paragraph)(faro_text *out, const char *text);
  /* `links`: cells of the first column are links to headings of their name. */
  void (*table)(faro_text *out, const char *const *head, size_t count, bool links);
  void (*row)(faro_text *out);
  void (*cell)(faro_text *out, const char *text, faro_tone tone, bool link);
  void (*row_end)(faro_text *out);
  void (*table_end)(faro_text *out);
  void (*reason)(faro_text *out, size_t number, const char *text);
  /* optional; `open`: shown at once */
  void (*figure)(faro_text *out, const faro_report *report, const char *caption, bool open);
} faro_pen;

char *faro_book_write(const faro_book *book, const faro_pen *pen);

/* "figure: 14 equal, 1 explained; tight: 15 better, proven", or why nothing was compared. */
void faro_chapter_add_verdict(const faro_book *book, const faro_chapter *chapter, faro_text *out);

#endif
