/* json: the book for programs. */
#include <jansson.h>
#include <math.h>

#include "report/view.h"
#include "reproduce/reproduce.h"

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *make_comparison(const faro_comparison *c) {
  static const char *const kind[] = {"number", "exponent", "sentence"};
  json_t *made =
      json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:s}", "kind", kind[c->kind], "label", c->item->label, "at",
                c->seen ? c->seen->at : c->item->at, "calibration", c->calibration, "published",
                c->item->value, "ratio", number(c->ratio), "verdict", faro_verdict_name(c->verdict));
  if (c->seen) {
    json_object_set_new(made, "ours", number(c->seen->mean));
    json_object_set_new(made, "se", number(c->seen->error));
  }
  if (c->seen && c->kind != FARO_ITEM_NUMBER)
    json_object_set_new(made, "interval", json_pack("[o, o]", number(c->range.low), number(c->range.high)));
  if (c->kind == FARO_ITEM_SENTENCE) {
    json_object_set_new(made, "than", json_string(c->item->than));
    json_object_set_new(made, "times", number(c->ratio * c->item->value));
    json_object_set_new(made, "points", json_integer((json_int_t)c->points));
    json_object_set_new(made, "vacuous", json_integer((json_int_t)c->vacuous));
  }
  if (c->kind != FARO_ITEM_NUMBER) json_object_set_new(made, "says", json_string(c->item->says));
  if (c->reason) json_object_set_new(made, "reason", json_string(c->reason->text));
  return made;
}

static json_t *make_seen(const faro_seen *seen) {
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s}", "label", seen->label, "at", seen->at, "calibration",
                   seen->calibration, "what", seen->is_slope ? "slope" : "mean", "mean", number(seen->mean),
                   "se", number(seen->error), "standing", seen->standing);
}

static json_t *make_chapter(const faro_chapter *chapter) {
  json_t *runs = json_array();
  json_t *results = json_array();
  json_t *comparisons = json_array();
  for (size_t i = 0; i < chapter->runs; i++) {
    const faro_rerun *run = &chapter->run[i];
    json_array_append_new(runs,
                          json_pack("{s:s?, s:s, s:f, s:s}", "calibration", run->calibration, "folder",
                                    run->folder, "cpu_seconds", run->seconds, "commit", run->report->commit));
  }
  for (size_t i = 0; i < chapter->sight.count; i++)
    json_array_append_new(results, make_seen(&chapter->sight.seen[i]));
  for (size_t i = 0; i < chapter->comparisons.count; i++)
    json_array_append_new(comparisons, make_comparison(&chapter->comparisons.one[i]));
  return json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:o}", "experiment", chapter->name, "paper",
                   chapter->published->paper, "shows", chapter->published->shows, "numbers",
                   chapter->published->numbers, "cpu_seconds", faro_chapter_seconds(chapter), "runs", runs,
                   "results", results, "comparisons", comparisons);
}

char *faro_book_json(const faro_book *book) {
  json_t *experiments = json_array();
  for (size_t i = 0; i < book->count; i++)
    json_array_append_new(experiments, make_chapter(&book->chapter[i]));
  json_t *document =
      json_pack("{s:b, s:I, s:o}", "quick", book->quick ? 1 : 0, "unexplained",
                (json_int_t)faro_book_count(book, FARO_VERDICT_UNEXPLAINED), "experiments", experiments);
  char *text = document ? json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) : NULL;
  json_decref(document);
  return text;
}
