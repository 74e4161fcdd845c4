/* published: reads experiments/published/NAME.yaml. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "reproduce/reproduce.h"
#include "yaml/yaml.h"

enum { FILE_MAX = 256 << 10 };

const char *faro_side_name(size_t side) {
  static const char *const names[] = {"any", "tight", "paper", "figure"};
  return side < sizeof names / sizeof *names ? names[side] : NULL;
}

/* "tight, paper" */
static bool read_sides(const char *text, void *out) {
  faro_sides sides = {.count = 0};
  char copy[FARO_LINE];
  if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) return false;
  for (char *save = NULL, *word = strtok_r(copy, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
    size_t side = 0;
    if (sides.count == FARO_SIDES || !faro_words_find(faro_side_name, word, &side) || side == 0) return false;
    for (size_t i = 0; i < sides.count; i++)
      if (sides.side[i] == side) return false;
    sides.side[sides.count++] = side;
  }
  if (sides.count > 0) memcpy(out, &sides, sizeof sides);
  return sides.count > 0;
}

#define ITEM(list, name, member, kind, ...)                                                                  \
  { list "[]." name, kind, FARO_EACH(faro_published, member, number), __VA_ARGS__ }

static const faro_field fields[] = {
    {"paper", FARO_FIELD_TEXT, FARO_AT(faro_published, paper), .required = true},
    {"shows", FARO_FIELD_TEXT, FARO_AT(faro_published, shows), .required = true},
    {"numbers", FARO_FIELD_TEXT, FARO_AT(faro_published, numbers), .required = true},
    {"instances", FARO_FIELD_COUNT, FARO_AT(faro_published, instances), .least = 1, .most = 1e6},
    {"calibrations", FARO_FIELD_OTHER, FARO_AT(faro_published, sides), .read = read_sides,
     .allowed = "some of tight, paper and figure, each once"},
    {"values", FARO_FIELD_LIST, FARO_AT(faro_published, count[FARO_ITEM_NUMBER]), .most = FARO_ITEMS},
    ITEM("values", "label", number[0].label, FARO_FIELD_TEXT, .required = true),
    ITEM("values", "at", number[0].at, FARO_FIELD_TEXT),
    ITEM("values", "mean", number[0].value, FARO_FIELD_REAL, .required = true, .above = true, .most = 1e12),
    ITEM("values", "sd", number[0].sd, FARO_FIELD_REAL, .above = true, .most = 1e12),
    ITEM("values", "reading", number[0].reading, FARO_FIELD_REAL, .above = true, .most = 1e12),
    {"exponents", FARO_FIELD_LIST, FARO_AT(faro_published, count[FARO_ITEM_EXPONENT]), .most = FARO_ITEMS},
    ITEM("exponents", "label", exponent[0].label, FARO_FIELD_TEXT, .required = true),
    ITEM("exponents", "at", exponent[0].at, FARO_FIELD_TEXT),
    ITEM("exponents", "exponent", exponent[0].value, FARO_FIELD_REAL, .required = true, .above = true,
         .most = 2),
    ITEM("exponents", "says", exponent[0].says, FARO_FIELD_TEXT, .required = true),
    {"sentences", FARO_FIELD_LIST, FARO_AT(faro_published, count[FARO_ITEM_SENTENCE]), .most = FARO_ITEMS},
    ITEM("sentences", "says", sentence[0].says, FARO_FIELD_TEXT, .required = true),
    ITEM("sentences", "less", sentence[0].label, FARO_FIELD_TEXT, .required = true),
    ITEM("sentences", "than", sentence[0].than, FARO_FIELD_TEXT, .required = true),
    ITEM("sentences", "at", sentence[0].at, FARO_FIELD_TEXT),
    ITEM("sentences", "times", sentence[0].value, FARO_FIELD_REAL, .above = true, .most = 100),
    {"reasons", FARO_FIELD_LIST, FARO_AT(faro_published, reasons), .most = FARO_REASONS},
    {"reasons[].calibration", FARO_FIELD_CHOICE, FARO_EACH(faro_published, reason[0].side, reason),
     .words = faro_side_name},
    {"reasons[].label", FARO_FIELD_TEXT, FARO_EACH(faro_published, reason[0].label, reason)},
    {"reasons[].at", FARO_FIELD_TEXT, FARO_EACH(faro_published, reason[0].at, reason)},
    {"reasons[].from", FARO_FIELD_REAL, FARO_EACH(faro_published, reason[0].from, reason), .above = true,
     .most = 1e6},
    {"reasons[].to", FARO_FIELD_REAL, FARO_EACH(faro_published, reason[0].to, reason), .above = true,
     .most = 1e6},
    {"reasons[].text", FARO_FIELD_TEXT, FARO_EACH(faro_published, reason[0].text, reason), .required = true},
};

const faro_item *faro_published_items(const faro_published *p, faro_item_kind kind) {
  return kind == FARO_ITEM_NUMBER ? p->number : kind == FARO_ITEM_EXPONENT ? p->exponent : p->sentence;
}

/* What no table can check. */
static faro_status check(const faro_published *p, const char *path, faro_error *error) {
  if (p->count[FARO_ITEM_NUMBER] > 0 && p->instances == 0)
    return faro_fail(error, FARO_INVALID, "%s: instances is required, because values have a sampling error",
                     faro_path_end(path));
  for (size_t i = 0; i < p->reasons; i++) {
    const faro_reason *r = &p->reason[i];
    if ((r->from > 0) != (r->to > 0))
      return faro_fail(
          error, FARO_INVALID,
          "%s: reasons: from and to must be given together, or neither for a slope that is not there",
          faro_path_end(path));
    if (r->from > r->to)
      return faro_fail(error, FARO_INVALID, "%s: reasons: from must not be above to (got %g and %g)",
                       faro_path_end(path), r->from, r->to);
  }
  return FARO_OK;
}

faro_status faro_published_parse(faro_published **published, const char *path, const char *text,
                                 size_t length, faro_error *error) {
  faro_published *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; i < FARO_ITEMS; i++) made->sentence[i].value = 1;
  faro_status status =
      faro_yaml_read(path, text, length, fields, sizeof fields / sizeof *fields, made, error);
  if (status == FARO_OK) status = check(made, path, error);
  if (status == FARO_OK) *published = made;
  else free(made);
  return status;
}

faro_status faro_published_load(faro_published **published, const char *path, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_read_file(path, FILE_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_published_parse(published, path, text, length, error);
  free(text);
  return status;
}
