/* data: see the header. */
#include "report/data.h"

#include <math.h>
#include <stdlib.h>

/* Enough for what a screen can show. */
enum { DIGITS = 6 };

/* Texts that are passed as json_t come from a function that writes them. */
static json_t *take_text(faro_text *text) {
  json_t *made = text->failed ? NULL : json_string(text->data ? text->data : "");
  faro_text_clear(text);
  return made;
}

static double mean_of(const faro_trace *t, size_t k) { return t->point[k].mean; }
static double round_of(const faro_trace *t, size_t k) { return t->point[k].round; }
static double low_of(const faro_trace *t, size_t k) { return t->point[k].low; }
static double high_of(const faro_trace *t, size_t k) { return t->point[k].high; }
static double bound_of(const faro_trace *t, size_t k) { return t->bound[k] > 0 ? t->bound[k] : (double)NAN; }

/* Sets a list of numbers, unless one of them is missing. */
static void set_list(json_t *object, const char *key, const faro_trace *t,
                     double (*value)(const faro_trace *, size_t)) {
  json_t *list = json_array();
  bool whole = true;
  for (size_t k = 0; k < t->count; k++) {
    const double number = value(t, k);
    whole &= isfinite(number);
    json_array_append_new(list, number == floor(number) && fabs(number) < 1e15
                                    ? json_integer((json_int_t)number)
                                    : json_real(number));
  }
  if (whole) json_object_set_new(object, key, list);
  else json_decref(list);
}

static json_t *make_trace(const faro_trace *t) {
  if (t->count == 0) return json_null();
  json_t *trace = json_pack("{s:b}", "dashed", t->dashed);
  set_list(trace, "x", t, round_of);
  set_list(trace, "y", t, mean_of);
  set_list(trace, "low", t, low_of);
  set_list(trace, "high", t, high_of);
  set_list(trace, "bound", t, bound_of);
  return trace;
}

static json_t *make_line(const faro_figure *f, size_t line) {
  faro_text name = FARO_TEXT_INIT;
  faro_figure_add_name(f, line, &name);
  json_t *at = json_array();
  for (size_t p = 0; p < f->panels; p++) {
    faro_trace t;
    faro_figure_trace(f, line, p, &t);
    json_array_append_new(at, make_trace(&t));
  }
  return json_pack("{s:o, s:i, s:i, s:o}", "name", take_text(&name), "colour", f->line[line].colour, "marker",
                   (int)(line % 5), "at", at);
}

static json_t *make_panels(const faro_figure *f) {
  json_t *panels = json_array();
  for (size_t p = 0; p < f->panels; p++) {
    faro_text name = FARO_TEXT_INIT;
    faro_figure_add_panel(f, p, &name);
    json_array_append_new(panels, take_text(&name));
  }
  return panels;
}

static json_t *make_figure(const faro_figure *f) {
  json_t *lines = json_array();
  json_t *references = json_array();
  for (size_t i = 0; i < f->lines; i++) json_array_append_new(lines, make_line(f, f->order[i]));
  for (size_t r = 0; r < FARO_REFERENCES; r++) {
    json_t *at = json_array();
    for (size_t p = 0; p < f->panels; p++) {
      faro_trace t;
      faro_figure_reference(f, r, p, &t);
      json_array_append_new(at, make_trace(&t));
    }
    json_array_append_new(references,
                          json_pack("{s:s, s:o}", "name", faro_figure_reference_name(f, r), "at", at));
  }
  return json_pack("{s:{s:s, s:b, s:b}, s:{s:s, s:b}, s:o, s:o, s:o}", "x", "name", faro_figure_x_name(f),
                   "log", f->x.log, "swept", f->report->x >= 0, "y", "name", faro_figure_y_name(f), "log",
                   f->y.log, "panels", make_panels(f), "lines", lines, "references", references);
}

void faro_data_add(const faro_figure *figure, faro_text *out) {
  json_t *made = make_figure(figure);
  char *text = made ? json_dumps(made, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) : NULL;
  if (!text) out->failed = true;
  for (const char *c = text; c && *c;) { /* in runs: the text is long */
    size_t n = 0;
    while (c[n] && c[n] != '<') n++;
    faro_text_add(out, "%.*s%s", (int)n, c, c[n] ? "\\u003c" : "");
    c += n + (c[n] != '\0');
  }
  free(text);
  json_decref(made);
}
