/* csv: one line as a row. Most fields are plain numbers: these are read digit by digit up to the
 * comma, without looking for the field's end first. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/text.h"
#include "data/inner.h"

/* ---- fields */

const char *faro_csv_field(faro_span *rest, faro_span *field, bool *quoted) {
  const char *start = rest->text;
  const char *end = start + rest->length;
  const char *stop = NULL;
  *quoted = start < end && *start == '"';
  if (*quoted) {
    const char *quote = faro_closing_quote(start + 1, end);
    if (!quote) return "must end with \" if it begins with one";
    if (quote + 1 < end && quote[1] != ',') return "must be followed by a comma after its closing \"";
    *field = (faro_span){start + 1, (size_t)(quote - start - 1)};
    stop = quote + 1;
  } else {
    stop = memchr(start, ',', rest->length);
    if (!stop) stop = end;
    *field = (faro_span){start, (size_t)(stop - start)};
    if (memchr(start, '"', field->length)) return "must begin with \" if it has one; \"\" stands for \"";
  }
  *rest = stop < end ? (faro_span){stop + 1, (size_t)(end - stop - 1)} : (faro_span){0};
  return NULL;
}

faro_span faro_csv_plain(faro_span field, char *out) {
  if (!memchr(field.text, '"', field.length)) return field;
  size_t length = 0;
  for (size_t i = 0; i < field.length; i++) {
    out[length++] = field.text[i];
    if (field.text[i] == '"') i++; /* the second of two */
  }
  return (faro_span){out, length};
}

/* ---- messages */

faro_status faro_row_fail(const faro_row_reader *r, size_t column, faro_error *error, const char *format,
                          ...) {
  char message[400];
  char shown[FARO_SHORT_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  const char *file = faro_path_end(r->source.path);
  const unsigned long long line = r->source.line;
  if (column == SIZE_MAX) return faro_fail(error, FARO_INVALID, "%s:%llu: %s", file, line, message);
  if (r->rows->libsvm)
    return faro_fail(error, FARO_INVALID, "%s:%llu: word %zu %s", file, line, column + 1, message);
  const char *name = r->rows->column[column].name;
  return faro_fail(error, FARO_INVALID, "%s:%llu: column %zu (%s) %s", file, line, column + 1,
                   faro_shorten(name, strlen(name), shown), message);
}

/* Names the classes, if they fit. */
static faro_status unknown_arm(const faro_row_reader *r, size_t column, const char *text, faro_error *error) {
  const faro_names *arms = &r->rows->arms;
  char list[200];
  size_t used = 0;
  for (size_t i = 0; i < arms->count; i++) {
    if (used + strlen(arms->name[i]) + 8 > sizeof list) {
      snprintf(list + used, sizeof list - used, ", ...");
      break;
    }
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", arms->name[i]);
  }
  return faro_row_fail(r, column, error, "must be one of %s (got \"%s\")", list, text);
}

faro_status faro_row_arm(faro_row_reader *r, size_t column, faro_span name, size_t *arm, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  faro_names *arms = &r->rows->arms;
  *arm = faro_names_find(arms, name);
  if (*arm < arms->count) return FARO_OK;
  const char *text = faro_shorten(name.text, name.length, shown);
  if (name.length == 0) return faro_row_fail(r, column, error, "must be a class (got an empty field)");
  if (name.length > FARO_ROWS_NAME_MAX)
    return faro_row_fail(r, column, error, "must be a class of at most %d bytes (got \"%s\")",
                         FARO_ROWS_NAME_MAX, text);
  if (!r->rows->open) return unknown_arm(r, column, text, error);
  if (arms->count == arms->most)
    return faro_row_fail(r, column, error, "must have at most %d classes (got one more, \"%s\")",
                         FARO_ROWS_ARMS_MAX, text);
  faro_names_add(arms, name);
  return FARO_OK;
}

/* ---- numbers */

/* 10^k as doubles: exact up to 10^22. */
static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                               1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

/* Reads [-]digits[.digits] up to a comma or the end. Whole and power are doubles exactly if the
 * digits are at most 15, so the division rounds once. False: something else is there. */
static inline bool read_plain(const char **at, const char *end, double *value) {
  const char *p = *at;
  const bool minus = p < end && *p == '-';
  p += minus;
  const char *first = p;
  uint64_t whole = 0;
  for (; p < end && (unsigned)(*p - '0') <= 9; p++) whole = 10 * whole + (unsigned)(*p - '0');
  long digits = p - first;
  long decimals = 0;
  if (p < end && *p == '.') {
    first = ++p;
    for (; p < end && (unsigned)(*p - '0') <= 9; p++) whole = 10 * whole + (unsigned)(*p - '0');
    decimals = p - first;
    digits += decimals;
  }
  if (digits < 1 || digits > 15 || (p < end && *p != ',')) return false;
  const double size = decimals ? (double)whole / power[decimals] : (double)whole;
  *value = minus ? -size : size;
  *at = p;
  return true;
}

/* A feature that is no number may be a word, or of no use. */
static faro_status bad_number(const faro_row_reader *r, size_t column, faro_span field, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  const bool feature = !r->rows->libsvm && r->rows->column[column].role == FARO_COLUMN_NUMBER;
  const char *hint = feature ? "; `words` or `ignore` take a column that is not all numbers" : "";
  if (field.length == 0)
    return faro_row_fail(r, column, error, "must be a number (got an empty field)%s", hint);
  return faro_row_fail(r, column, error, "must be a finite decimal number (got \"%s\")%s",
                       faro_shorten(field.text, field.length, shown), hint);
}

/* Takes a number off the rest of the line. */
static inline faro_status take_number(faro_row_reader *r, size_t column, faro_span *rest, double *value,
                                      faro_error *error) {
  const char *end = rest->text + rest->length;
  const char *at = rest->text;
  if (read_plain(&at, end, value)) {
    *rest = at < end ? (faro_span){at + 1, (size_t)(end - at - 1)} : (faro_span){0};
    return FARO_OK;
  }
  faro_span field;
  bool quoted = false;
  const char *fault = faro_csv_field(rest, &field, &quoted);
  if (fault) return faro_row_fail(r, column, error, "%s", fault);
  const faro_span number = faro_span_trim(field);
  return faro_decimal(number.text, number.length, value) ? FARO_OK : bad_number(r, column, number, error);
}

static faro_status take_reward(faro_row_reader *r, size_t column, faro_span *rest, double *value,
                               faro_error *error) {
  const faro_rows_facts *f = &r->rows->facts;
  const faro_status status = take_number(r, column, rest, value, error);
  if (status != FARO_OK || r->rows->spare || (*value >= f->low && *value <= f->high)) return status;
  return faro_row_fail(r, column, error, "must be a reward from %g to %g (got %g)", f->low, f->high, *value);
}

static faro_status take_propensity(faro_row_reader *r, size_t column, faro_span *rest, double *value,
                                   faro_error *error) {
  const faro_status status = take_number(r, column, rest, value, error);
  if (status != FARO_OK || (*value > 0 && *value <= 1)) return status;
  return faro_row_fail(r, column, error, "must be a probability above 0 and at most 1 (got %g)", *value);
}

/* ---- words */

static faro_status take_word(faro_row_reader *r, size_t column, faro_span *rest, faro_error *error) {
  const faro_column *c = &r->rows->column[column];
  faro_span field;
  bool quoted = false;
  const char *fault = faro_csv_field(rest, &field, &quoted);
  if (fault) return faro_row_fail(r, column, error, "%s", fault);
  const faro_span word = quoted ? faro_csv_plain(field, r->scratch) : faro_span_trim(field);
  if (c->role == FARO_COLUMN_WORD) r->word[c->slot] = faro_names_hash(c->key, word);
  if (c->role == FARO_COLUMN_LABEL || c->role == FARO_COLUMN_ACTION)
    return faro_row_arm(r, column, word, &r->row.arm, error);
  if (c->role != FARO_COLUMN_PERSON) return FARO_OK;
  if (word.length == 0)
    return faro_row_fail(r, column, error, "must say who the person is (got an empty field)");
  r->row.person = faro_names_hash(c->key, word);
  return FARO_OK;
}

/* ---- a line */

static faro_status take_field(faro_row_reader *r, size_t column, faro_span *rest, faro_error *error) {
  const faro_column *c = &r->rows->column[column];
  switch (c->role) {
  case FARO_COLUMN_NUMBER: return take_number(r, column, rest, &r->number[c->slot], error);
  case FARO_COLUMN_REWARDS:
  case FARO_COLUMN_REWARD: return take_reward(r, column, rest, &r->reward[c->slot], error);
  case FARO_COLUMN_PROPENSITY: return take_propensity(r, column, rest, &r->row.propensity, error);
  default: return take_word(r, column, rest, error);
  }
}

/* Fields of a line that has too few or too many. */
static size_t count_fields(faro_span line) {
  size_t count = 0;
  faro_span field;
  bool quoted = false;
  for (faro_span rest = line; rest.text && !faro_csv_field(&rest, &field, &quoted);) count++;
  return count;
}

/* Whether a field that was refused has the form of one: then it has been taken off the line. */
static bool spares(const faro_row_reader *r, size_t column, const char *field, faro_span rest) {
  return r->rows->spare && rest.text != field && r->rows->column[column].role != FARO_COLUMN_PERSON;
}

faro_status faro_csv_row(faro_row_reader *r, faro_span line, faro_error *error) {
  const size_t columns = r->rows->columns;
  faro_span rest = line;
  faro_status status = FARO_OK;
  bool bad = false;
  for (size_t i = 0; status == FARO_OK && i < columns; i++) {
    const char *field = rest.text;
    if (!rest.text)
      return faro_row_fail(r, SIZE_MAX, error, "must have %zu columns (got %zu: column %zu, %s, is missing)",
                           columns, i, i + 1, r->rows->column[i].name);
    status = take_field(r, i, &rest, error);
    if (status == FARO_OK || !spares(r, i, field, rest)) continue;
    status = FARO_OK;
    bad = true;
    if (error) *error = (faro_error){0};
  }
  if (bad) {
    r->row.arm = 0;
    r->row.propensity = (double)NAN;
  }
  if (status != FARO_OK || !rest.text) return status;
  return faro_row_fail(r, SIZE_MAX, error, "must have %zu columns (got %zu)", columns, count_fields(line));
}
