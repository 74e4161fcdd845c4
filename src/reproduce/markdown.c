/* markdown: the pen for reproduce.md. */
#include "reproduce/page.h"

/* In a table a bar would end the cell. */
static void add(faro_text *out, const char *text) {
  for (; *text; text++)
    faro_text_add(out, *text == '|' || *text == '*' || *text == '<' ? "\\%c" : "%c", *text);
}

static void begin(faro_text *out, const char *title) { faro_text_add(out, "# %s\n\n", title); }

static void end(faro_text *out) { (void)out; }

static void heading(faro_text *out, int level, const char *text) {
  faro_text_add(out, "%.*s ", level, "######");
  add(out, text);
  faro_text_add(out, "\n\n");
}

static void paragraph(faro_text *out, const char *text) {
  add(out, text);
  faro_text_add(out, "\n\n");
}

static void table(faro_text *out, const char *const *head, size_t count, bool links) {
  (void)links;
  for (size_t i = 0; i < count; i++) {
    faro_text_add(out, "| ");
    add(out, head[i]);
    faro_text_add(out, " ");
  }
  faro_text_add(out, "|\n");
  for (size_t i = 0; i < count; i++) faro_text_add(out, "|---");
  faro_text_add(out, "|\n");
}

static void row(faro_text *out) { (void)out; }

static void cell(faro_text *out, const char *text, faro_tone tone, bool link) {
  faro_text_add(out, tone == FARO_TONE_BAD ? "| **" : "| ");
  if (link) faro_text_add(out, "[%s](#%s)", text, text);
  else add(out, text);
  faro_text_add(out, tone == FARO_TONE_BAD ? "** " : " ");
}

static void row_end(faro_text *out) { faro_text_add(out, "|\n"); }

static void table_end(faro_text *out) { faro_text_add(out, "\n"); }

static void reason(faro_text *out, size_t number, const char *text) {
  faro_text_add(out, "[%zu] ", number);
  add(out, text);
  faro_text_add(out, "\n\n");
}

char *faro_book_markdown(const faro_book *book) {
  static const faro_pen pen = {.begin = begin,
                               .end = end,
                               .heading = heading,
                               .paragraph = paragraph,
                               .table = table,
                               .row = row,
                               .cell = cell,
                               .row_end = row_end,
                               .table_end = table_end,
                               .reason = reason};
  return faro_book_write(book, &pen);
}
