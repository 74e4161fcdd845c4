/* text: see the header. */
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1e-6 in place of 1e-06. */
static const char *shorten_exponent(char *number) {
  char *at = strchr(number, 'e');
  if (!at) return number;
  at += at[1] == '-' || at[1] == '+' ? 2 : 1;
  const size_t zeros = strspn(at, "0");
  memmove(at, at + zeros, strlen(at + zeros) + 1);
  return number;
}

const char *faro_short(double value, char out[static FARO_NUMBER_SIZE]) {
  (void)faro_number(value, out);
  return shorten_exponent(out);
}

const char *faro_above(double value, int digits, char out[static FARO_NUMBER_SIZE]) {
  snprintf(out, FARO_NUMBER_SIZE, "%.*g", digits, value);
  if (!isfinite(value)) return out;
  if (strtod(out, NULL) >= value) return shorten_exponent(out);
  snprintf(out, FARO_NUMBER_SIZE, "%.*e", digits - 1,
           value); /* below the value: one more in the last place */
  const double below = strtod(out, NULL);
  const double unit = pow(10, (double)(strtol(strchr(out, 'e') + 1, NULL, 10) - digits + 1));
  snprintf(out, FARO_NUMBER_SIZE, "%.*g", digits, below + unit);
  return shorten_exponent(out);
}

const char *faro_pair_above(double epsilon, double delta, char out[static FARO_PAIR_SIZE]) {
  char e[FARO_NUMBER_SIZE];
  char d[FARO_NUMBER_SIZE];
  snprintf(out, FARO_PAIR_SIZE, "(%s, %s)", faro_above(epsilon, 6, e), faro_above(delta, 6, d));
  return out;
}

enum { WORD_MAX = 40 };

/* Levenshtein distance with swaps of adjacent letters, on words of at most WORD_MAX letters. */
static size_t distance(const char *a, const char *b) {
  const size_t n = strlen(a);
  const size_t m = strlen(b);
  if (n > WORD_MAX || m > WORD_MAX) return SIZE_MAX;
  size_t row[3][WORD_MAX + 1];
  for (size_t j = 0; j <= m; j++) row[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *now = row[i % 3];
    const size_t *last = row[(i + 2) % 3];
    const size_t *before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[n % 3][m];
}

/* How a word is a part of a name: 0 not at all, 1 the name is in the word, 2 the word is in the
 * name, 3 the name begins with it. Very short words are in everything. */
static int kinship(const char *word, const char *name) {
  enum { WORD_LEAST = 3, NAME_LEAST = 4 };
  if (strlen(word) >= WORD_LEAST && strstr(name, word)) return strstr(name, word) == name ? 3 : 2;
  return strlen(name) >= NAME_LEAST && strlen(word) <= WORD_MAX && strstr(word, name) ? 1 : 0;
}

/* The shortest name of the closest kin. */
static const char *nearest_kin(const char *word, const char *const *names, size_t count) {
  const char *best = NULL;
  size_t shortest = SIZE_MAX;
  int closest = 1;
  for (size_t i = 0; i < count; i++) {
    const int now = kinship(word, names[i]);
    const size_t length = strlen(names[i]);
    if (now < closest || (now == closest && length >= shortest)) continue;
    best = names[i];
    shortest = length;
    closest = now;
  }
  return best;
}

const char *faro_nearest(const char *word, const char *const *names, size_t count) {
  size_t best = count;
  size_t least = strlen(word) / 3 + 1; /* one typing error in three letters, and one more */
  for (size_t i = 0; i < count; i++) {
    const size_t now = distance(word, names[i]);
    if (now <= least && (best == count || now < least)) {
      best = i;
      least = now;
    }
  }
  return best < count ? names[best] : nearest_kin(word, names, count);
}

const char *faro_hint(const char *word, const char *const *names, size_t count, char out[static FARO_HINT]) {
  const char *nearest = faro_nearest(word, names, count);
  *out = '\0';
  if (nearest) snprintf(out, FARO_HINT, " (did you mean %s?)", nearest);
  return out;
}

const char *faro_path_end(const char *path) {
  enum { SHOWN = 120 };
  const size_t length = strlen(path);
  return length > SHOWN ? path + length - SHOWN : path;
}

const char *faro_bytes(double bytes, char out[static FARO_NUMBER_SIZE]) {
  static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
  size_t u = 0;
  for (; bytes >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++) bytes /= 1000;
  if (!isfinite(bytes)) snprintf(out, FARO_NUMBER_SIZE, "-");
  else snprintf(out, FARO_NUMBER_SIZE, "%.*f %s", u > 0 && bytes < 9.95 ? 1 : 0, bytes, unit[u]);
  return out;
}

const char *faro_shorten(const char *text, size_t length, char out[static FARO_SHORT_SIZE]) {
  enum { MOST = 60 };
  const bool longer = length > MOST;
  if (longer)
    for (length = MOST; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;) length--;
  for (size_t i = 0; i < length; i++) out[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
  snprintf(out + length, FARO_SHORT_SIZE - length, "%s", longer ? "..." : "");
  return out;
}

const char *faro_printable(const char *text, char *out, size_t size) {
  size_t length = 0;
  for (; length + 1 < size && text[length]; length++)
    out[length] = (char)(text[length] >= ' ' && text[length] <= '~' ? text[length] : '?');
  out[length] = '\0';
  return out;
}

static bool reserve(faro_text *text, size_t extra) {
  if (text->length + extra < text->capacity) return true;
  const size_t capacity = (text->length + extra + 64) * 2;
  char *data = realloc(text->data, capacity);
  if (!data) return false;
  text->data = data;
  text->capacity = capacity;
  return true;
}

void faro_text_add(faro_text *text, const char *format, ...) {
  if (text->failed) return;
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  const size_t room = text->capacity - text->length;
  const int need = vsnprintf(text->data ? text->data + text->length : NULL, room, format, args);
  va_end(args);
  if (need < 0 || !reserve(text, (size_t)need)) text->failed = true;
  else if ((size_t)need >= room) (void)vsnprintf(text->data + text->length, (size_t)need + 1, format, again);
  if (!text->failed) text->length += (size_t)need;
  va_end(again);
}

void faro_text_put(faro_text *text, const char *data) {
  const size_t length = strlen(data);
  if (text->failed) return;
  if (!reserve(text, length)) {
    text->failed = true;
    return;
  }
  memcpy(text->data + text->length, data, length + 1);
  text->length += length;
}

void faro_text_clear(faro_text *text) {
  free(text->data);
  *text = (faro_text)FARO_TEXT_INIT;
}
