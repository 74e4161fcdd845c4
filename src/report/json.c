/* json: see the header. */
#include "report/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct writer {
  faro_text out;
  bool indented;
  size_t depth;
} writer;

static void add_value(writer *w, const json_t *value);

static void add_line(writer *w) {
  if (w->indented) faro_text_add(&w->out, "\n%*s", (int)(2 * w->depth), "");
}

/* jansson escapes strings. */
static void add_string(writer *w, const char *value) {
  json_t *string = json_string_nocheck(value);
  char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
  if (text) faro_text_put(&w->out, text);
  else w->out.failed = true;
  free(text);
  json_decref(string);
}

/* A real stays a real: 5.0. */
static void add_real(writer *w, double value) {
  char number[FARO_NUMBER_SIZE];
  faro_short(value, number);
  faro_text_put(&w->out, number);
  if (!strpbrk(number, ".e")) faro_text_put(&w->out, ".0");
}

static void add_array(writer *w, const json_t *array) { /* NOLINT(misc-no-recursion) */
  const size_t count = json_array_size(array);
  faro_text_put(&w->out, "[");
  w->depth++;
  for (size_t i = 0; i < count; i++) {
    if (i > 0) faro_text_put(&w->out, ",");
    add_line(w);
    add_value(w, json_array_get(array, i));
  }
  w->depth--;
  if (count > 0) add_line(w);
  faro_text_put(&w->out, "]");
}

static void add_object(writer *w, const json_t *object) { /* NOLINT(misc-no-recursion) */
  const char *key = NULL;
  json_t *value = NULL;
  const char *separator = "";
  faro_text_put(&w->out, "{");
  w->depth++;
  json_object_foreach((json_t *)object, key, value) {
    faro_text_put(&w->out, separator);
    add_line(w);
    add_string(w, key);
    faro_text_put(&w->out, w->indented ? ": " : ":");
    add_value(w, value);
    separator = ",";
  }
  w->depth--;
  if (json_object_size(object) > 0) add_line(w);
  faro_text_put(&w->out, "}");
}

/* The depth is limited: jansson reads at most 2048 levels. */
static void add_value(writer *w, const json_t *value) { /* NOLINT(misc-no-recursion) */
  switch (json_typeof(value)) {
  case JSON_OBJECT: add_object(w, value); break;
  case JSON_ARRAY: add_array(w, value); break;
  case JSON_STRING: add_string(w, json_string_value(value)); break;
  case JSON_INTEGER: faro_text_add(&w->out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
  case JSON_REAL: add_real(w, json_real_value(value)); break;
  case JSON_TRUE: faro_text_put(&w->out, "true"); break;
  case JSON_FALSE: faro_text_put(&w->out, "false"); break;
  case JSON_NULL: faro_text_put(&w->out, "null"); break;
  }
}

char *faro_json_text(const json_t *value, bool indented) {
  writer w = {.indented = indented};
  if (value) add_value(&w, value);
  if (w.out.failed) faro_text_clear(&w.out);
  return w.out.data;
}
