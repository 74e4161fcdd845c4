/* sum_read: splits bytes into lines and fields, and reads numbers. Nothing is allocated after
 * sum_open; lines are parsed in the buffer, without copies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "base/decimal.h"
#include "base/names.h"
#include "base/span.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/sum/sum.h"

/* The byte order mark of UTF-8, which some programs put before the first line. */
static const char mark[] = "\xEF\xBB\xBF";
enum { MARK = sizeof mark - 1 };

faro_status sum_open(sum_reader *r, const sum_format *format, sum_fill *fill, void *source, size_t longest,
                     size_t block, faro_error *error) {
  *r = (sum_reader){.format = format, .fill = fill, .source = source, .longest = longest};
  r->capacity = longest + MARK + 1 + block;
  r->buffer = malloc(r->capacity);
  return r->buffer ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
}

void sum_close(sum_reader *r) { free(r->buffer); }

/* ---- lines */

/* Reads one more block, after what is left of the last one; false at the end of the file. */
static bool refill(sum_reader *r) {
  if (r->ended) return false;
  if (r->at > 0) memmove(r->buffer, r->buffer + r->at, r->filled - r->at);
  r->filled -= r->at;
  r->at = 0;
  FARO_INVARIANT(r->filled < r->capacity); /* a read of 0 bytes would look like the end of the file */
  const ssize_t got = r->fill(r->source, r->buffer + r->filled, r->capacity - r->filled);
  if (got < 0) r->failure = errno;
  if (got <= 0) r->ended = true;
  else r->filled += (size_t)got;
  return got > 0;
}

/* Makes the next `length` bytes the current line and skips them and their line end, which has `end`
 * bytes. */
static void take_line(sum_reader *r, size_t length, size_t end) {
  r->text = r->buffer + r->at;
  r->length = length;
  r->at += length + end;
  r->searched = 0;
  if (r->line++ == 0 && length >= MARK && memcmp(r->text, mark, MARK) == 0) {
    r->text += MARK;
    r->length -= MARK;
  }
}

/* Finds the next line; false at the end of the file. Of a line that is too long, only enough bytes
 * are kept to see that it is; the rest is dropped as it is read. */
static bool next_line(sum_reader *r) {
  do {
    char *start = r->buffer + r->at;
    const char *end = memchr(start + r->searched, '\n', r->filled - r->at - r->searched);
    if (end) {
      take_line(r, (size_t)(end - start), 1);
      return true;
    }
    const size_t telling = r->longest + MARK + 1;
    if (r->filled - r->at > telling) r->filled = r->at + telling;
    r->searched = r->filled - r->at;
  } while (refill(r));
  if (r->searched == 0 || r->failure) return false;
  take_line(r, r->searched, 0); /* the last line may have no line end */
  return true;
}

/* ---- fields */

/* Removes the first field from `rest`; the text of `rest` is NULL when no field is left. A quoted
 * field is given without its outer quotes; inner quotes are still doubled. */
static sum_result next_field(faro_span *rest, char separator, faro_span *field) {
  const char *start = rest->text;
  if (!start) return SUM_TOO_FEW;
  const char *end = start + rest->length;
  const char *stop = NULL;
  if (start < end && *start == '"') {
    const char *quote = faro_closing_quote(start + 1, end);
    if (!quote || (quote + 1 < end && quote[1] != separator)) return SUM_OPEN_QUOTE;
    *field = (faro_span){start + 1, (size_t)(quote - start - 1)};
    stop = quote + 1;
  } else {
    stop = memchr(start, separator, rest->length);
    if (!stop) stop = end;
    *field = (faro_span){start, (size_t)(stop - start)};
  }
  *rest = stop < end ? (faro_span){stop + 1, (size_t)(end - stop - 1)} : (faro_span){0};
  return SUM_GOOD;
}

/* ---- values */

/* Reads a field as a number. If it is not a number, sets text and length to it, for the message. */
static sum_result read_value(sum_reader *r, faro_span field, double *value) {
  const faro_span s = faro_span_trim(field);
  const bool binary = r->format->binary;
  double number = 0;
  if (faro_decimal(s.text, s.length, &number) && (!binary || number == 0 || number == 1)) {
    *value = number;
    return SUM_GOOD;
  }
  r->text = field.text;
  r->length = field.length;
  return binary ? SUM_NO_BIT : SUM_NO_NUMBER;
}

static sum_result read_fields(sum_reader *r, faro_span rest, double *values) {
  if (memchr(rest.text, '\0', rest.length)) return SUM_ZERO_BYTE;
  for (size_t i = 0; i < r->fields; i++) {
    faro_span field;
    sum_result result = next_field(&rest, r->format->separator, &field);
    if (result == SUM_GOOD && r->pick[i]) result = read_value(r, field, &values[r->pick[i] - 1]);
    if (result != SUM_GOOD) return result;
  }
  return SUM_GOOD;
}

/* The current line without a carriage return at its end. */
static faro_span line_of(const sum_reader *r) {
  const bool extra = r->length > 0 && r->text[r->length - 1] == '\r';
  return (faro_span){r->text, r->length - extra};
}

sum_result sum_next(sum_reader *r, double *values) {
  if (!next_line(r)) return r->failure ? SUM_UNREADABLE : SUM_END;
  if (r->length > r->longest) return SUM_TOO_LONG;
  const faro_span line = line_of(r);
  return r->format->csv ? read_fields(r, line, values) : read_value(r, line, values);
}

/* What else the first line could be. */
static const char *header_hint(const sum_reader *r, sum_result result) {
  if (r->line != 1 || r->format->header || (result != SUM_NO_NUMBER && result != SUM_NO_BIT)) return "";
  return r->format->csv ? "; if this line is a header, give --header"
                        : "; if this line is a header, give --header, or --column NAME for a CSV file";
}

faro_status sum_explain(const sum_reader *r, sum_result result, faro_error *error) {
  static const char *const texts[] = FARO_NAMES(SUM_RESULT_LIST);
  char shown[FARO_SHORT_SIZE];
  if (result == SUM_UNREADABLE)
    return faro_fail(error, FARO_INVALID, "%s: cannot be read: %s", faro_path_end(r->file),
                     strerror(r->failure));
  return faro_fail(error, FARO_INVALID, "%s:%llu: \"%s\" %s%s", faro_path_end(r->file),
                   (unsigned long long)r->line, faro_shorten(r->text, r->length, shown), texts[result],
                   header_hint(r, result));
}

/* ---- columns */

static faro_status pick(sum_reader *r, size_t column, size_t field, faro_error *error) {
  if (r->pick[field])
    return faro_fail(error, FARO_INVALID, "%s: column %zu is given twice in --column", faro_path_end(r->file),
                     field + 1);
  r->pick[field] = (uint16_t)(column + 1);
  if (r->fields <= field) r->fields = field + 1;
  return FARO_OK;
}

/* The name in a field of the header, cut to one byte more than the longest name allowed. */
static void field_name(faro_span field, char name[static SUM_NAME_SIZE + 1]) {
  const faro_span s = faro_span_trim(field);
  size_t used = 0;
  for (size_t i = 0; i < s.length && used < SUM_NAME_SIZE; i++) {
    name[used++] = s.text[i];
    if (s.text[i] == '"' && i + 1 < s.length && s.text[i + 1] == '"') i++;
  }
  name[used] = '\0';
}

/* Looks for one named column in the header. */
static faro_status find_column(sum_reader *r, faro_span header, size_t column, faro_error *error) {
  const char *wanted = r->format->column[column].name;
  char name[SUM_NAME_SIZE + 1];
  char near[SUM_NAME_SIZE + 1] = "";
  const char *candidate = name;
  size_t found = SUM_FIELDS_MAX;
  faro_span field;
  for (size_t i = 0; i < SUM_FIELDS_MAX && next_field(&header, r->format->separator, &field) == SUM_GOOD;
       i++) {
    field_name(field, name);
    const bool same = strcmp(name, wanted) == 0;
    if (same && found < SUM_FIELDS_MAX)
      return faro_fail(error, FARO_INVALID,
                       "%s:1: columns %zu and %zu are both called \"%s\"; give the number instead",
                       faro_path_end(r->file), found + 1, i + 1, wanted);
    if (same) found = i;
    else if (!*near && faro_nearest(wanted, &candidate, 1)) memcpy(near, name, sizeof near);
  }
  if (found < SUM_FIELDS_MAX) return pick(r, column, found, error);
  char shown[FARO_SHORT_SIZE];
  return faro_fail(error, FARO_INVALID, "%s:1: no column is called \"%s\"%s%s%s", faro_path_end(r->file),
                   wanted, *near ? " (did you mean " : "", faro_shorten(near, strlen(near), shown),
                   *near ? "?)" : "");
}

static faro_status read_header(sum_reader *r, faro_error *error) {
  if (!next_line(r))
    return r->failure ? sum_explain(r, SUM_UNREADABLE, error)
                      : faro_fail(error, FARO_INVALID, "%s: the header is missing: the file is empty",
                                  faro_path_end(r->file));
  if (r->length > r->longest) return sum_explain(r, SUM_TOO_LONG, error);
  faro_status status = FARO_OK;
  for (size_t i = 0; i < r->format->columns && status == FARO_OK; i++)
    if (*r->format->column[i].name) status = find_column(r, line_of(r), i, error);
  return status;
}

faro_status sum_start(sum_reader *r, const char *file, faro_error *error) {
  r->at = r->searched = r->filled = r->fields = 0;
  r->ended = false;
  r->failure = 0;
  r->line = 0;
  r->file = file;
  memset(r->pick, 0, sizeof r->pick);
  faro_status status = FARO_OK;
  for (size_t i = 0; i < r->format->columns && r->format->csv && status == FARO_OK; i++)
    if (!*r->format->column[i].name) status = pick(r, i, r->format->column[i].field, error);
  return status == FARO_OK && r->format->header ? read_header(r, error) : status;
}
