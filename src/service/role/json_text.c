/* json_text: see the header. jansson writes everything but numbers, arrays and objects. */
#include "service/role/json_text.h"

#include <stdlib.h>

static void add_other(const json_t *json, faro_text *out) {
  char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
  if (text) faro_text_add(out, "%s", text);
  else out->failed = true;
  free(text);
}

static void add_name(const char *name, faro_text *out) {
  json_t *text = json_string(name);
  add_other(text, out);
  faro_text_add(out, ":");
  json_decref(text);
}

/* The depth is limited: jansson reads at most 2048 levels. */
static void add(const json_t *json, faro_text *out) { /* NOLINT(misc-no-recursion) */
  char number[FARO_NUMBER_SIZE];
  size_t i = 0;
  const char *name = NULL;
  json_t *value = NULL;
  if (json_is_real(json)) faro_text_add(out, "%s", faro_number(json_real_value(json), number));
  else if (json_is_array(json)) {
    faro_text_add(out, "[");
    json_array_foreach(json, i, value) {
      if (i > 0) faro_text_add(out, ",");
      add(value, out);
    }
    faro_text_add(out, "]");
  } else if (json_is_object(json)) {
    faro_text_add(out, "{");
    json_object_foreach((json_t *)json, name, value) {
      if (i++ > 0) faro_text_add(out, ",");
      add_name(name, out);
      add(value, out);
    }
    faro_text_add(out, "}");
  } else add_other(json, out);
}

char *faro_json_to_text(const json_t *json) {
  faro_text out = FARO_TEXT_INIT;
  if (!json) return NULL;
  add(json, &out);
  if (!out.failed) return out.data;
  faro_text_clear(&out);
  return NULL;
}
