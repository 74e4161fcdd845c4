/* patterns: see the header. They are in an open hash table that is at most half full. */
#include "trial/patterns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN = 8, OVERLAP = 2 * PATTERN - 1 };

struct faro_patterns {
  size_t count, most, mask;
  uint64_t *slot; /* 0: empty */
};

faro_status faro_patterns_create(faro_patterns **out, size_t most, faro_error *error) {
  faro_patterns *patterns = calloc(1, sizeof *patterns);
  size_t slots = 16;
  while (slots < 2 * most) slots *= 2;
  if (patterns) patterns->slot = calloc(slots, sizeof *patterns->slot);
  if (!patterns || !patterns->slot) {
    faro_patterns_destroy(patterns);
    return faro_fail(error, FARO_MEMORY, "out of memory");
  }
  patterns->most = most;
  patterns->mask = slots - 1;
  *out = patterns;
  return FARO_OK;
}

void faro_patterns_destroy(faro_patterns *patterns) {
  if (!patterns) return;
  free(patterns->slot);
  free(patterns);
}

size_t faro_patterns_count(const faro_patterns *patterns) { return patterns->count; }

/* The slot of a word, or the empty slot for it. */
static size_t place_of(const faro_patterns *patterns, uint64_t word) {
  size_t i = (size_t)((word * 0x9e3779b97f4a7c15) >> 32) & patterns->mask;
  while (patterns->slot[i] != 0 && patterns->slot[i] != word) i = (i + 1) & patterns->mask;
  return i;
}

void faro_patterns_add(faro_patterns *patterns, const void *bytes) {
  uint64_t word;
  memcpy(&word, bytes, PATTERN);
  int nonzero = 0;
  for (int i = 0; i < PATTERN; i++) nonzero += ((const unsigned char *)bytes)[i] != 0;
  if (nonzero < 4 || patterns->count == patterns->most) return;
  const size_t i = place_of(patterns, word);
  if (patterns->slot[i] == word) return;
  patterns->slot[i] = word;
  patterns->count++;
}

void faro_patterns_add_real(faro_patterns *patterns, double value) {
  unsigned char bytes[PATTERN], turned[PATTERN];
  memcpy(bytes, &value, PATTERN);
  for (int i = 0; i < PATTERN; i++) turned[i] = bytes[PATTERN - 1 - i];
  faro_patterns_add(patterns, bytes);
  faro_patterns_add(patterns, turned);
  char text[40];
  snprintf(text, sizeof text, "%.17f", fabs(value));
  if (strncmp(text, "0.000", 5) != 0) faro_patterns_add(patterns, text); /* six digits: not found by chance */
}

/* Eight bytes from sixteen hexadecimal digits. */
static bool from_hex(const unsigned char *text, uint64_t *word) {
  unsigned char bytes[PATTERN];
  for (int i = 0; i < 2 * PATTERN; i++) {
    const unsigned char c = text[i] | 0x20;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0 || (digit < 10 && text[i] != c)) return false;
    bytes[i / 2] = (unsigned char)(i % 2 ? bytes[i / 2] << 4 | digit : digit);
  }
  memcpy(word, bytes, PATTERN);
  return true;
}

static bool known(const faro_patterns *patterns, uint64_t word) {
  return word != 0 && patterns->slot[place_of(patterns, word)] == word;
}

size_t faro_patterns_find(const faro_patterns *patterns, const unsigned char *bytes, size_t length) {
  size_t found = 0;
  for (size_t i = 0; i + PATTERN <= length; i++) {
    uint64_t word;
    memcpy(&word, bytes + i, PATTERN);
    found += known(patterns, word);
    if (i + OVERLAP < length && from_hex(bytes + i, &word)) found += known(patterns, word);
  }
  return found;
}

faro_status faro_patterns_find_file(const faro_patterns *patterns, const char *path, size_t *found,
                                    faro_error *error) {
  enum { CHUNK = 1 << 16 };
  unsigned char chunk[CHUNK];
  *found = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return FARO_OK;
  size_t kept = 0, got;
  while ((got = fread(chunk + kept, 1, CHUNK - kept, file)) > 0) {
    const size_t length = kept + got;
    *found += faro_patterns_find(patterns, chunk, length);
    kept = length < OVERLAP ? length : OVERLAP; /* a pattern may lie across two chunks */
    memmove(chunk, chunk + length - kept, kept);
  }
  const bool failed = ferror(file);
  fclose(file);
  return failed ? faro_fail(error, FARO_SYSTEM, "cannot read %s", path) : FARO_OK;
}
