/* libsvm: one line as a row: `label index:value index:value ... # comment`. Numbers that are not
 * there are 0. */
#include <string.h>

#include "base/decimal.h"
#include "base/text.h"
#include "data/inner.h"

/* Takes the next word off the line; false at the end. */
static bool next_word(faro_span *rest, faro_span *word) {
  while (rest->length > 0 && (*rest->text == ' ' || *rest->text == '\t'))
    *rest = (faro_span){rest->text + 1, rest->length - 1};
  size_t length = 0;
  while (length < rest->length && rest->text[length] != ' ' && rest->text[length] != '\t') length++;
  *word = (faro_span){rest->text, length};
  *rest = (faro_span){rest->text + length, rest->length - length};
  return length > 0;
}

static faro_status bad_pair(const faro_row_reader *r, size_t place, faro_span word, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  return faro_row_fail(r, place, error,
                       "must be index:value, an index from 1 to %d and a finite number (got \"%s\")",
                       FARO_ROWS_COLUMNS_MAX, faro_shorten(word.text, word.length, shown));
}

static bool read_index(const char *at, const char *end, size_t *index) {
  *index = 0;
  if (at == end || end - at > 9) return false;
  for (; at < end; at++) {
    if ((unsigned)(*at - '0') > 9) return false;
    *index = 10 * *index + (size_t)(*at - '0');
  }
  return true;
}

static faro_status take_pair(faro_row_reader *r, size_t place, faro_span word, size_t *last,
                             faro_error *error) {
  const char *end = word.text + word.length;
  const char *colon = memchr(word.text, ':', word.length);
  size_t index = 0;
  double value = 0;
  if (!colon || !read_index(word.text, colon, &index) ||
      !faro_decimal(colon + 1, (size_t)(end - colon - 1), &value) || index > FARO_ROWS_COLUMNS_MAX)
    return bad_pair(r, place, word, error);
  if (index == 0) return faro_row_fail(r, place, error, "must have an index of at least 1 (got 0)");
  if (index <= *last)
    return faro_row_fail(r, place, error, "must have an index above the one before, %zu (got %zu)", *last,
                         index);
  if (!r->rows->open && index > r->rows->facts.numbers && r->rows->facts.rows > 0)
    return faro_row_fail(r, place, error, "must have an index of at most %zu (got %zu)",
                         r->rows->facts.numbers, index);
  *last = index;
  r->number[index - 1] = value;
  r->touched[r->touches++] = (uint32_t)(index - 1);
  return FARO_OK;
}

faro_status faro_libsvm_row(faro_row_reader *r, faro_span line, faro_error *error) {
  const char *comment = memchr(line.text, '#', line.length);
  faro_span rest = {line.text, comment ? (size_t)(comment - line.text) : line.length};
  faro_span word;
  size_t last = 0;
  size_t place = 0;
  for (size_t i = 0; i < r->touches; i++) r->number[r->touched[i]] = 0;
  r->touches = 0;
  if (!next_word(&rest, &word))
    return faro_row_fail(r, SIZE_MAX, error, "must begin with a label (got none)");
  if (memchr(word.text, ':', word.length))
    return faro_row_fail(r, 0, error, "must be a label, not a pair (got \"%.*s\")",
                         (int)(word.length < 40 ? word.length : 40), word.text);
  faro_status status = faro_row_arm(r, place, word, &r->row.arm, error);
  while (status == FARO_OK && next_word(&rest, &word)) status = take_pair(r, ++place, word, &last, error);
  return status;
}
