/* people: what a run says of the file that its people are from: in run.json as `data`, and in
 * sentences. Nothing that is read back is trusted. */
#include "report/json.h"
#include "report/view.h"
#include "sim/experiment.h"

enum { NAMES_KEPT = 30 };

static json_t *make_names(const char *const *name, size_t count) {
  json_t *names = json_array();
  for (size_t i = 0; i < count && i < NAMES_KEPT; i++) json_array_append_new(names, json_string(name[i]));
  return names;
}

json_t *faro_people_json(const faro_cell *cell) {
  const faro_cell_file f = faro_cell_file_of(cell);
  json_t *rare = json_array();
  for (size_t i = 0; i < f.rares; i++)
    json_array_append_new(
        rare, json_pack("{s:s, s:I}", "name", f.arm[f.rare[i].arm], "rows", (json_int_t)f.rare[i].rows));
  json_t *data = json_pack("{s:I, s:I, s:o, s:o, s:o, s:I}", "rows", (json_int_t)f.rows, "columns",
                           (json_int_t)f.columns, "names", make_names(f.column, f.columns), "arms",
                           make_names(f.arm, f.arms), "rare", rare, "beyond", (json_int_t)f.beyond);
  if (f.features > 0) json_object_set_new(data, "features", json_integer((json_int_t)f.features));
  return data;
}

/* ---- sentences */

static json_int_t count_of(const json_t *object, const char *key) {
  const json_int_t count = json_integer_value(json_object_get(object, key));
  return count > 0 ? count : 0;
}

/* "a, b, c and 54 more" */
static void add_names(const json_t *names, json_int_t all, void (*add)(faro_text *, const char *),
                      faro_text *out) {
  const size_t shown = json_array_size(names);
  for (size_t i = 0; i < shown; i++) {
    faro_text_add(out, "%s", i ? ", " : "");
    faro_view_add_clean(json_string_value(json_array_get(names, i)), add, out);
  }
  if (all > (json_int_t)shown)
    faro_text_add(out, " and %" JSON_INTEGER_FORMAT " more", all - (json_int_t)shown);
}

void faro_view_add_people(const faro_report *report, const char *before, const char *after,
                          void (*add)(faro_text *, const char *), faro_text *out) {
  static const char *const roles[] = {"label", "rewards", "action"};
  const json_t *data = json_object_get(report->document, "data");
  const json_t *settings = report->row[0].settings;
  const char *file = json_string_value(json_object_get(settings, "file"));
  if (!data || !file) return;
  faro_text_add(out, "%sPeople are %" JSON_INTEGER_FORMAT " rows of ", before, count_of(data, "rows"));
  faro_view_add_clean(file, add, out);
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    const char *named = json_string_value(json_object_get(settings, roles[i]));
    if (!named) continue;
    faro_text_add(out, "; %s: ", roles[i]);
    faro_view_add_clean(named, add, out);
  }
  const json_t *arms = json_object_get(data, "arms");
  const json_int_t count = json_integer_value(json_object_get(settings, "arms"));
  faro_text_add(out, " (");
  add_names(arms, count, add, out);
  faro_text_add(out, "); %" JSON_INTEGER_FORMAT " feature columns: ", count_of(data, "columns"));
  add_names(json_object_get(data, "names"), count_of(data, "columns"), add, out);
  faro_text_add(out, "%s", after);
}

void faro_view_add_data(const faro_report *report, const char *before, const char *after,
                        void (*add)(faro_text *, const char *), faro_text *out) {
  const json_t *data = json_object_get(report->document, "data");
  const json_int_t columns = count_of(data, "columns");
  const json_int_t features = count_of(data, "features");
  const json_int_t beyond = count_of(data, "beyond");
  const json_t *rare = json_object_get(data, "rare");
  if (features > 0 && features < columns)
    faro_text_add(out,
                  "%s%" JSON_INTEGER_FORMAT " features of %" JSON_INTEGER_FORMAT
                  " columns: each feature sees one column, also without privacy and in the linear policy; "
                  "components: %" JSON_INTEGER_FORMAT " uses more%s",
                  before, features, columns, columns, after);
  if (beyond > 0)
    faro_text_add(
        out, "%s%" JSON_INTEGER_FORMAT " %s numbers beyond the declared ranges, which are clipped to them%s",
        before, beyond, beyond == 1 ? "column has" : "columns have", after);
  for (size_t i = 0; i < json_array_size(rare) && i < NAMES_KEPT; i++) {
    const json_t *one = json_array_get(rare, i);
    faro_text_add(out, "%s%s \"", before,
                  json_object_get(report->row[0].settings, "action") ? "action" : "class");
    faro_view_add_clean(json_string_value(json_object_get(one, "name")), add, out);
    faro_text_add(out, "\" has %" JSON_INTEGER_FORMAT " row%s%s", count_of(one, "rows"),
                  count_of(one, "rows") == 1 ? "" : "s", after);
  }
}
