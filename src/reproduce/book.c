/* book: counts, order and the summary of all chapters. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reproduce/page.h"

size_t faro_chapter_count(const faro_chapter *chapter, const char *calibration, faro_verdict verdict) {
  size_t count = 0;
  for (size_t i = 0; i < chapter->comparisons.count; i++) {
    const faro_comparison *c = &chapter->comparisons.one[i];
    count += c->verdict == verdict && (!calibration || strcmp(c->calibration, calibration) == 0);
  }
  return count;
}

size_t faro_book_count(const faro_book *book, faro_verdict verdict) {
  size_t count = 0;
  for (size_t i = 0; i < book->count; i++) count += faro_chapter_count(&book->chapter[i], NULL, verdict);
  return count;
}

double faro_chapter_seconds(const faro_chapter *chapter) {
  double seconds = 0;
  for (size_t i = 0; i < chapter->runs; i++) seconds += chapter->run[i].seconds;
  return seconds;
}

void faro_book_sort(faro_book *book) {
  for (size_t i = 0; i + 1 < book->count; i++) {
    size_t next = i + 1;
    while (next < book->count &&
           strcmp(book->chapter[next].published->paper, book->chapter[i].published->paper) != 0)
      next++;
    if (next == book->count) continue; /* the paper's last one */
    const faro_chapter moved = book->chapter[next];
    memmove(&book->chapter[i + 2], &book->chapter[i + 1], (next - i - 1) * sizeof moved);
    book->chapter[i + 1] = moved;
  }
}

void faro_chapter_add_verdict(const faro_book *book, const faro_chapter *chapter, faro_text *out) {
  const char *side[FARO_SIDES];
  const size_t sides = faro_sight_sides(&chapter->sight, side);
  const char *between = "";
  for (size_t k = 0; k < sides; k++) {
    const char *lead = side[k];
    for (faro_verdict v = 0; v < FARO_VERDICTS; v++) {
      const size_t count = faro_chapter_count(chapter, side[k], v);
      if (count == 0 || v == FARO_VERDICT_ABSENT) continue;
      if (lead) faro_text_add(out, "%s%s: ", between, lead);
      faro_text_add(out, "%s%zu %s", lead ? "" : ", ", count,
                    count == 1 ? faro_verdict_name(v) : faro_verdict_plural(v));
      lead = NULL;
      between = "; ";
    }
  }
  if (*between == '\0')
    faro_text_add(out, "%s", book->quick ? "quick: not compared" : "nothing published to compare with");
}

char *faro_book_table(const faro_book *book) {
  faro_text out = FARO_TEXT_INIT;
  double total = 0;
  for (size_t i = 0; i < book->count; i++) {
    const faro_chapter *chapter = &book->chapter[i];
    const char *paper = chapter->published->paper;
    if (i == 0 || strcmp(paper, book->chapter[i - 1].published->paper) != 0)
      faro_text_add(&out, "%s%s\n", i ? "\n" : "", paper);
    faro_text_add(&out, "  %-22s %s, %.1f s\n      ", chapter->name, chapter->published->shows,
                  faro_chapter_seconds(chapter));
    faro_chapter_add_verdict(book, chapter, &out);
    faro_text_add(&out, "\n");
    total += faro_chapter_seconds(chapter);
  }
  faro_text_add(&out, "\n%zu experiment%s, %.0f s of processor time\n", book->count,
                book->count == 1 ? "" : "s", total);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}

char *faro_book_unexplained(const faro_book *book) {
  faro_text out = FARO_TEXT_INIT;
  faro_text_add(&out, "%s", "");
  for (size_t i = 0; i < book->count; i++)
    for (size_t j = 0; j < book->chapter[i].comparisons.count; j++) {
      const faro_comparison *c = &book->chapter[i].comparisons.one[j];
      if (c->verdict != FARO_VERDICT_UNEXPLAINED) continue;
      faro_text_add(&out, "unexplained: %s, %s, %s", book->chapter[i].name, c->calibration, c->item->label);
      const char *at = c->seen ? c->seen->at : c->item->at;
      if (*at) faro_text_add(&out, " at %s", at);
      if (!c->seen) faro_text_add(&out, ": no %s\n", c->kind == FARO_ITEM_EXPONENT ? "slope" : "such result");
      else if (c->than)
        faro_text_add(&out, ": %.4g times %s (%.4g to %.4g), the paper says at most %.4g\n",
                      c->ratio * c->item->value, c->item->than, c->range.low, c->range.high, c->item->value);
      else
        faro_text_add(&out, ": ours %.4g, published %.4g (%.3g of it)\n", c->seen->mean, c->item->value,
                      c->ratio);
    }
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
