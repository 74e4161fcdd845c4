/* linear: reads linear policies and reward models from JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/evaluate/evaluate.h"

enum { LINEAR_BYTES_MAX = 1 << 26 };

void linear_clear(linear *l) {
  free(l->theta);
  free(l->feature);
  *l = (linear){0};
}

static faro_status wrong(const char *path, faro_error *error, const char *what) {
  return faro_fail(error, FARO_INVALID, "%s: %s", faro_path_end(path), what);
}

/* The number of a feature by its name. */
static faro_status find_feature(const char *path, const char *name, const features *f, size_t *index,
                                faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  for (size_t i = 0; name && i < f->count; i++)
    if (strcmp(f->name[f->index[i]], name) == 0) {
      *index = f->index[i];
      return FARO_OK;
    }
  return faro_fail(error, FARO_INVALID, "%s: features must name columns that --features lists (got %s)",
                   faro_path_end(path), name ? faro_shorten(name, strlen(name), shown) : "no text");
}

/* The features that are listed, or all of the log. */
static faro_status read_features(linear *l, const char *path, const json_t *list, const features *f,
                                 faro_error *error) {
  if (list && !json_is_array(list)) return wrong(path, error, "features must be a list of names");
  l->features = list ? json_array_size(list) : f->count;
  l->feature = calloc(l->features + 1, sizeof *l->feature);
  if (!l->feature) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = FARO_OK;
  for (size_t i = 0; i < l->features && status == FARO_OK; i++) {
    l->feature[i] = list ? 0 : f->index[i];
    if (list)
      status = find_feature(path, json_string_value(json_array_get(list, i)), f, &l->feature[i], error);
  }
  return status;
}

static faro_status add_numbers(linear *l, const char *path, const json_t *list, size_t *used, size_t room,
                               faro_error *error) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *value = json_array_get(list, i);
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
      return wrong(path, error, "theta must hold finite numbers");
    if (*used < room) l->theta[*used] = json_number_value(value);
    ++*used;
  }
  return FARO_OK;
}

/* One list per arm, or one for all. */
static faro_status read_theta(linear *l, const char *path, const json_t *list, faro_error *error) {
  const size_t room = l->arms * (l->features + 1);
  l->theta = calloc(room + 1, sizeof *l->theta);
  if (!l->theta) return faro_fail(error, FARO_MEMORY, "out of memory");
  const bool nested = json_is_array(json_array_get(list, 0));
  size_t used = 0;
  faro_status status = json_is_array(list) ? FARO_OK : wrong(path, error, "theta must be a list");
  if (nested && json_array_size(list) != l->arms)
    return faro_fail(error, FARO_INVALID, "%s: theta must have a list for each of the %zu arms (got %zu)",
                     faro_path_end(path), l->arms, json_array_size(list));
  for (size_t a = 0; nested && a < l->arms && status == FARO_OK; a++) {
    const json_t *one = json_array_get(list, a);
    if (json_array_size(one) != json_array_size(json_array_get(list, 0)))
      return wrong(path, error, "the lists of theta must have the same length");
    status = add_numbers(l, path, one, &used, room, error);
  }
  if (!nested && status == FARO_OK) status = add_numbers(l, path, list, &used, room, error);
  if (status != FARO_OK) return status;
  l->constant = used == room;
  if (used == room || used == l->arms * l->features) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s: theta must have %zu numbers (%zu arms and %zu features), or %zu with a constant per "
                   "arm (got %zu)",
                   faro_path_end(path), l->arms * l->features, l->arms, l->features, room, used);
}

/* A number that may be left out. */
static faro_status read_number(const char *path, const json_t *object, const char *key, double most,
                               double *to, faro_error *error) {
  const json_t *value = json_object_get(object, key);
  if (!value) return FARO_OK;
  *to = json_number_value(value);
  if (json_is_number(value) && *to >= 0 && *to <= most) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s: %s must be a number from 0 to %g", faro_path_end(path), key,
                   most);
}

/* Every key must be known: a misspelt one would be left out. */
static faro_status check_keys(const char *path, json_t *object, faro_error *error) {
  static const char *const known[] = {"theta", "features", "explore", "norm"};
  enum { KNOWN = sizeof known / sizeof *known };
  char shown[FARO_SHORT_SIZE];
  char hint[FARO_HINT];
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach(object, key, value) {
    bool found = false;
    for (size_t i = 0; i < KNOWN; i++) found = found || strcmp(known[i], key) == 0;
    if (!found)
      return faro_fail(error, FARO_INVALID, "%s: unknown key %s%s; allowed: theta, features, explore, norm",
                       faro_path_end(path), faro_shorten(key, strlen(key), shown),
                       faro_hint(key, known, KNOWN, hint));
  }
  return FARO_OK;
}

static faro_status read_object(linear *l, const char *path, json_t *object, const features *f,
                               faro_error *error) {
  if (!json_is_object(object)) return wrong(path, error, "must be an object, {\"theta\": ...}");
  faro_status status = check_keys(path, object, error);
  if (status == FARO_OK) status = read_features(l, path, json_object_get(object, "features"), f, error);
  if (status == FARO_OK) status = read_theta(l, path, json_object_get(object, "theta"), error);
  if (status == FARO_OK) status = read_number(path, object, "explore", 1, &l->explore, error);
  if (status == FARO_OK) status = read_number(path, object, "norm", 1e100, &l->norm, error);
  return status;
}

faro_status linear_parse(linear *to, const char *path, const char *text, size_t length, size_t arms,
                         const features *f, faro_error *error) {
  char shown[FARO_SHOWN];
  json_error_t where;
  *to = (linear){.arms = arms};
  json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
  if (!object)
    return faro_fail(error, FARO_INVALID, "%s:%d: not JSON: %s", faro_path_end(path), where.line,
                     faro_printable(where.text, shown, sizeof shown));
  const faro_status status = read_object(to, path, object, f, error);
  json_decref(object);
  return status;
}

faro_status linear_load(linear *to, const char *path, size_t arms, const features *f, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  *to = (linear){.arms = arms};
  faro_status status = faro_read_file(path, LINEAR_BYTES_MAX, &text, &length, error);
  if (status == FARO_OK) status = linear_parse(to, path, text, length, arms, f, error);
  free(text);
  return status;
}

void linear_scores(const linear *l, const double *number, double *score) {
  double square = 0;
  for (size_t i = 0; i < l->features; i++) square += number[l->feature[i]] * number[l->feature[i]];
  const double factor = l->norm > 0 && square > l->norm * l->norm ? l->norm / sqrt(square) : 1;
  const double *theta = l->theta;
  for (size_t a = 0; a < l->arms; a++, theta += l->features + l->constant) {
    score[a] = l->constant ? theta[l->features] : 0;
    for (size_t i = 0; i < l->features; i++) score[a] += theta[i] * factor * number[l->feature[i]];
  }
}
