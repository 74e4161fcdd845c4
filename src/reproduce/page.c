/* page: see page.h. Summary first, then a section for each experiment: where the published numbers
 * come from, figures, ours beside the published ones, and the reasons for what differs. */
#include "reproduce/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid.h"
#include "report/view.h"

enum { CELL = 256, COLUMNS = FARO_SIDES + 4 };

typedef struct page {
  const faro_book *book;
  const faro_pen *pen;
  faro_text *out;
  const faro_chapter *chapter;
  size_t sides;
  const char *side[FARO_SIDES];
} page;

/* Passes a text that was built piece by piece, and frees it. */
static void paragraph(page *p, faro_text *text) {
  p->out->failed |= text->failed;
  if (!text->failed) p->pen->paragraph(p->out, text->data);
  faro_text_clear(text);
}

static void cell(page *p, const char *text, faro_tone tone) { p->pen->cell(p->out, text, tone, false); }

static const char *seconds_text(double seconds, char out[static 32]) {
  snprintf(out, 32, seconds < 9.95 ? "%.1f s" : "%.0f s", seconds);
  return out;
}

/* ---- the summary */

static void add_summary(page *p) {
  static const char *const head[] = {"experiment", "paper", "shows", "verdict", "processor time"};
  double total = 0;
  char text[32];
  p->pen->table(p->out, head, 5, true);
  for (size_t i = 0; i < p->book->count; i++) {
    const faro_chapter *chapter = &p->book->chapter[i];
    const bool bad = faro_chapter_count(chapter, NULL, FARO_VERDICT_UNEXPLAINED) > 0;
    faro_text verdict = FARO_TEXT_INIT;
    faro_chapter_add_verdict(p->book, chapter, &verdict);
    p->out->failed |= verdict.failed;
    p->pen->row(p->out);
    p->pen->cell(p->out, chapter->name, FARO_TONE_WORD, true);
    cell(p, chapter->published->paper, FARO_TONE_WORD);
    cell(p, chapter->published->shows, FARO_TONE_WORD);
    cell(p, verdict.failed ? "" : verdict.data, bad ? FARO_TONE_BAD : FARO_TONE_WORD);
    cell(p, seconds_text(faro_chapter_seconds(chapter), text), FARO_TONE_NUMBER);
    p->pen->row_end(p->out);
    faro_text_clear(&verdict);
    total += faro_chapter_seconds(chapter);
  }
  p->pen->table_end(p->out);
  const size_t bad = faro_book_count(p->book, FARO_VERDICT_UNEXPLAINED);
  faro_text line = FARO_TEXT_INIT;
  faro_text_add(&line, "%zu experiment%s, %.0f s of processor time. ", p->book->count,
                p->book->count == 1 ? "" : "s", total);
  if (p->book->quick) faro_text_add(&line, "These are quick runs: nothing was compared.");
  else if (bad == 0) faro_text_add(&line, "No difference is unexplained.");
  else faro_text_add(&line, "%zu difference%s UNEXPLAINED.", bad, bad == 1 ? " is" : "s are");
  paragraph(p, &line);
}

static void add_legend(page *p) {
  static const char verdicts[] =
      "Equal: within three standard errors of the difference (and the error of reading a figure, where a "
      "number was read off one). Better, proven: less regret than published, with a proven claim. "
      "Explained: it differs, and the reason stands under the table. Published exponents and sentences are "
      "bounds. Holds: the 95 % interval of our slope, or of the ratio of the two regrets on the same "
      "instances, is within the bound. Not shown: the bound is in the interval. Fails: the interval is "
      "beyond the bound, and the reason stands under the table. Vacuous: neither of the two learnt 5 %. No "
      "slope: no power law fits. ";
  static const char numbers[] =
      "1000 ± 20: the mean over the instances, and its standard error. tight, paper and "
      "figure are calibrations: the least noise that is proven, the constants of the published theorems, "
      "and the constants behind the published figures, which prove nothing. V shifted: the share of updates "
      "in which V was too small, mostly because of noise, and had to be shifted.";
  faro_text text = FARO_TEXT_INIT;
  faro_text_add(&text, "%s%s", p->book->quick ? "" : verdicts, numbers);
  paragraph(p, &text);
}

/* ---- a chapter's tables */

static faro_tone tone_of(faro_verdict verdict) {
  if (verdict == FARO_VERDICT_UNEXPLAINED) return FARO_TONE_BAD;
  return verdict == FARO_VERDICT_BETTER || verdict == FARO_VERDICT_EQUAL || verdict == FARO_VERDICT_HOLDS
             ? FARO_TONE_GOOD
             : FARO_TONE_NUMBER;
}

/* "1.19 of it, proven [2]", "fails [3]", "holds; vacuous at 2 of 5 points" */
static void add_judgement(const faro_chapter *chapter, const faro_comparison *c, faro_text *out) {
  const char *verdict = faro_verdict_name(c->verdict);
  const bool bad = c->verdict == FARO_VERDICT_UNEXPLAINED;
  if (c->kind == FARO_ITEM_NUMBER && c->verdict != FARO_VERDICT_EQUAL)
    faro_text_add(out, "%.2f of it%s%s%s", c->ratio, c->verdict == FARO_VERDICT_BETTER ? ", proven" : "",
                  bad ? ", " : "", bad ? verdict : "");
  else if (c->verdict == FARO_VERDICT_FAILS) faro_text_add(out, "fails");
  else faro_text_add(out, "%s%s", bad && c->seen ? "fails, " : "", verdict);
  if (c->vacuous > 0 && c->verdict != FARO_VERDICT_VACUOUS)
    faro_text_add(out, "; vacuous at %zu of %zu points", c->vacuous, c->points);
  if (c->reason) faro_text_add(out, " [%zu]", (size_t)(c->reason - chapter->published->reason) + 1);
}

/* The comparison of an item under a calibration. */
static const faro_comparison *comparison_of(const faro_chapter *chapter, const faro_item *item,
                                            const char *calibration) {
  for (size_t i = 0; i < chapter->comparisons.count; i++) {
    const faro_comparison *c = &chapter->comparisons.one[i];
    if (c->item == item && strcmp(c->calibration, calibration) == 0) return c;
  }
  return NULL;
}

/* The published number for a result; NULL: none. */
static const faro_item *published_at(const faro_published *p, const faro_seen *seen) {
  for (size_t i = 0; i < p->count[FARO_ITEM_NUMBER]; i++)
    if (strcmp(p->number[i].label, seen->label) == 0 && faro_point_has(seen->at, p->number[i].at))
      return &p->number[i];
  return NULL;
}

static const faro_seen *seen_beside(const faro_sight *sight, const faro_seen *seen, const char *calibration) {
  for (size_t i = 0; i < sight->count; i++) {
    const faro_seen *s = &sight->seen[i];
    if (!s->is_slope && strcmp(s->label, seen->label) == 0 && strcmp(s->at, seen->at) == 0 &&
        strcmp(s->calibration, calibration) == 0)
      return s;
  }
  return NULL;
}

/* Whether two results belong into one row: the same label and point, or one without privacy that
 * does not depend on what differs between the points. */
static bool share_row(const page *p, const faro_seen *a, const faro_seen *b) {
  const faro_sight *sight = &p->chapter->sight;
  if (a->is_slope || b->is_slope || strcmp(a->label, b->label) != 0) return false;
  if (strcmp(a->at, b->at) == 0) return true;
  bool same = published_at(p->chapter->published, a) == published_at(p->chapter->published, b);
  for (size_t k = 0; k < p->sides && same; k++) {
    const faro_seen *x = seen_beside(sight, a, p->side[k]);
    const faro_seen *y = seen_beside(sight, b, p->side[k]);
    same = !x || !y ? x == y
                    : strcmp(x->standing, "no privacy") == 0 && x->mean == y->mean && x->error == y->error;
  }
  return same;
}

/* Whether no earlier result has this one's row. */
static bool is_first(const page *p, size_t index) {
  const faro_seen *seen = p->chapter->sight.seen;
  for (size_t i = 0; i < index; i++)
    if (share_row(p, &seen[i], &seen[index])) return false;
  return true;
}

/* The point of a row: "any epsilon, norm=2" if that holds for all its results. */
static void add_point(page *p, const faro_seen *first) {
  const faro_sight *sight = &p->chapter->sight;
  faro_text text = FARO_TEXT_INIT;
  faro_text_add(&text, "%s", "");
  for (const char *part = first->at; *part; part += strspn(part, ", ")) {
    char one[FARO_LINE];
    const size_t length = strcspn(part, ",");
    snprintf(one, sizeof one, "%.*s", (int)length, part);
    bool all = true;
    for (size_t i = 0; i < sight->count && all; i++)
      all = !share_row(p, first, &sight->seen[i]) || faro_point_has(sight->seen[i].at, one);
    const int key = (int)strcspn(one, "=");
    if (all) faro_text_add(&text, "%s%s", *text.data ? ", " : "", one);
    else faro_text_add(&text, "%sany %.*s", *text.data ? ", " : "", key, one);
    part += length;
  }
  p->out->failed |= text.failed;
  cell(p, text.failed ? "" : text.data, FARO_TONE_WORD);
  faro_text_clear(&text);
}

static void add_seen(page *p, const faro_item *item, const faro_seen *seen, const char *calibration) {
  if (!seen) {
    cell(p, "", FARO_TONE_NUMBER);
    return;
  }
  const faro_comparison *c = item ? comparison_of(p->chapter, item, calibration) : NULL;
  char mean[32];
  char error[32];
  faro_text text = FARO_TEXT_INIT;
  const bool exact = seen->error < 1e-6 * seen->mean; /* but for rounding */
  const faro_digits digits = faro_digits_for(NULL, exact ? seen->mean : seen->error, seen->mean);
  faro_text_add(&text, "%s ± %s", faro_digits_text(&digits, seen->mean, mean),
                faro_digits_text(&digits, seen->error, error));
  if (strcmp(seen->standing, "not proven") == 0) faro_text_add(&text, " not proven");
  if (c && c->verdict != FARO_VERDICT_ABSENT) {
    faro_text_add(&text, " (");
    add_judgement(p->chapter, c, &text);
    faro_text_add(&text, ")");
  }
  if (seen->shifted >= 0.005) faro_text_add(&text, ", V shifted %s %%", faro_percent(seen->shifted, mean));
  p->out->failed |= text.failed;
  cell(p, text.failed ? "" : text.data, c ? tone_of(c->verdict) : FARO_TONE_NUMBER);
  faro_text_clear(&text);
}

static void add_published(page *p, const faro_item *item) {
  char text[CELL];
  char mean[32];
  char sd[32];
  faro_brief(item ? item->value : 0, mean);
  if (!item) *text = '\0';
  else if (item->sd > 0) snprintf(text, sizeof text, "%s (sd %s)", mean, faro_brief(item->sd, sd));
  else snprintf(text, sizeof text, "%s", mean);
  cell(p, text, FARO_TONE_NUMBER);
}

static void begin_table(page *p, const char *const *first, size_t count) {
  const char *head[COLUMNS];
  memcpy(head, first, count * sizeof *head);
  memcpy(head + count, p->side, p->sides * sizeof *head);
  p->pen->table(p->out, head, count + p->sides, false);
}

/* Ours, the published ones where there are any, side by side. */
static void add_results(page *p) {
  const faro_chapter *chapter = p->chapter;
  const bool some = chapter->published->count[FARO_ITEM_NUMBER] > 0 && !p->book->quick;
  static const char *const head[] = {"algorithm", "at", "published"};
  begin_table(p, head, some ? 3 : 2);
  for (size_t i = 0; i < chapter->sight.count; i++) {
    const faro_seen *seen = &chapter->sight.seen[i];
    if (seen->is_slope || !is_first(p, i)) continue;
    const faro_item *item = published_at(chapter->published, seen);
    p->pen->row(p->out);
    cell(p, seen->label, FARO_TONE_WORD);
    add_point(p, seen);
    if (some) add_published(p, item);
    for (size_t k = 0; k < p->sides; k++)
      add_seen(p, item, seen_beside(&chapter->sight, seen, p->side[k]), p->side[k]);
    p->pen->row_end(p->out);
  }
  p->pen->table_end(p->out);
}

/* One cell for an exponent or a sentence. */
static void add_checked(page *p, const faro_item *item, const char *calibration) {
  const faro_comparison *c = comparison_of(p->chapter, item, calibration);
  faro_text text = FARO_TEXT_INIT;
  if (!c || c->verdict == FARO_VERDICT_ABSENT) faro_text_add(&text, "%s", "-");
  else if (c->seen) {
    const bool slope = c->kind == FARO_ITEM_EXPONENT;
    if (slope) faro_text_add(&text, "%.3f", c->seen->mean);
    else
      faro_text_add(&text, "%.3g times%s%s", c->ratio * item->value, *c->seen->at ? " at " : "", c->seen->at);
    if (isfinite(c->range.high))
      faro_text_add(&text, slope ? ", %.3f to %.3f" : ", %.4g to %.4g", c->range.low, c->range.high);
    faro_text_add(&text, ": ");
  }
  if (c && c->verdict != FARO_VERDICT_ABSENT) add_judgement(p->chapter, c, &text);
  p->out->failed |= text.failed;
  cell(p, text.failed ? "" : text.data, c ? tone_of(c->verdict) : FARO_TONE_NUMBER);
  faro_text_clear(&text);
}

static void add_exponents(page *p) {
  static const char *const head[] = {"algorithm", "the paper's bound", "exponent, at most"};
  const faro_published *published = p->chapter->published;
  if (published->count[FARO_ITEM_EXPONENT] == 0 || p->book->quick) return;
  begin_table(p, head, 3);
  for (size_t i = 0; i < published->count[FARO_ITEM_EXPONENT]; i++) {
    const faro_item *item = &published->exponent[i];
    char text[2 * FARO_LINE + sizeof ", "];
    p->pen->row(p->out);
    snprintf(text, sizeof text, "%s%s%s", item->label, *item->at ? ", " : "", item->at);
    cell(p, text, FARO_TONE_WORD);
    cell(p, item->says, FARO_TONE_WORD);
    snprintf(text, sizeof text, "%.3g", item->value);
    cell(p, text, FARO_TONE_NUMBER);
    for (size_t k = 0; k < p->sides; k++) add_checked(p, item, p->side[k]);
    p->pen->row_end(p->out);
  }
  p->pen->table_end(p->out);
}

static void add_sentences(page *p) {
  static const char *const head[] = {"the paper says", "checked as"};
  const faro_published *published = p->chapter->published;
  if (published->count[FARO_ITEM_SENTENCE] == 0 || p->book->quick) return;
  begin_table(p, head, 2);
  for (size_t i = 0; i < published->count[FARO_ITEM_SENTENCE]; i++) {
    const faro_item *item = &published->sentence[i];
    char text[4 * FARO_LINE];
    char times[48] = "";
    if (item->value != 1) snprintf(times, sizeof times, "%.3g times ", item->value);
    snprintf(text, sizeof text, "%s at most %s%s%s%s", item->label, times, item->than,
             *item->at ? ", at " : "", item->at);
    p->pen->row(p->out);
    cell(p, item->says, FARO_TONE_WORD);
    cell(p, text, FARO_TONE_WORD);
    for (size_t k = 0; k < p->sides; k++) add_checked(p, item, p->side[k]);
    p->pen->row_end(p->out);
  }
  p->pen->table_end(p->out);
}

/* ---- a chapter */

static void add_reasons(page *p) {
  const faro_chapter *chapter = p->chapter;
  for (size_t i = 0; i < chapter->published->reasons; i++) {
    bool used = false;
    for (size_t j = 0; j < chapter->comparisons.count; j++)
      used |= chapter->comparisons.one[j].reason == &chapter->published->reason[i];
    if (used) p->pen->reason(p->out, i + 1, chapter->published->reason[i].text);
  }
}

static void add_figures(page *p) {
  for (size_t i = 0; p->pen->figure && i < p->chapter->runs; i++) {
    const faro_rerun *run = &p->chapter->run[i];
    char caption[CELL];
    snprintf(caption, sizeof caption, "calibration %s", run->calibration ? run->calibration : "as written");
    p->pen->figure(p->out, run->report, caption, i == 0);
  }
}

static void add_runs(page *p) {
  char text[32];
  for (size_t i = 0; i < p->chapter->runs; i++) {
    const faro_rerun *run = &p->chapter->run[i];
    faro_text line = FARO_TEXT_INIT;
    faro_text_add(&line, "faro run %s%s%s%s: %s; files in %s", p->chapter->name,
                  run->calibration ? " --set calibration=" : "", run->calibration ? run->calibration : "",
                  p->book->quick ? " --quick" : "", seconds_text(run->seconds, text), run->folder);
    faro_view_add_left_out(run->report, "; ", "", faro_text_put, &line);
    paragraph(p, &line);
  }
}

static void add_chapter(page *p) {
  const faro_chapter *chapter = p->chapter;
  const faro_report *report = chapter->run[0].report;
  faro_text line = FARO_TEXT_INIT;
  p->sides = faro_sight_sides(&chapter->sight, p->side);
  p->pen->heading(p->out, 3, chapter->name);
  faro_text_add(&line, "%s. %s. ", chapter->published->shows, report->title);
  faro_view_add_setting(report, &line);
  faro_text_add(&line, ".");
  paragraph(p, &line);
  if (!p->book->quick) p->pen->paragraph(p->out, chapter->published->numbers);
  add_figures(p);
  add_results(p);
  add_exponents(p);
  add_sentences(p);
  add_reasons(p);
  add_runs(p);
}

char *faro_book_write(const faro_book *book, const faro_pen *pen) {
  faro_text out = FARO_TEXT_INIT;
  page p = {.book = book, .pen = pen, .out = &out};
  pen->begin(&out, "The papers' results, and ours");
  add_summary(&p);
  add_legend(&p);
  for (size_t i = 0; i < book->count; i++) {
    p.chapter = &book->chapter[i];
    const char *paper = p.chapter->published->paper;
    if (i == 0 || strcmp(paper, book->chapter[i - 1].published->paper) != 0) pen->heading(&out, 2, paper);
    add_chapter(&p);
  }
  pen->end(&out);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
