/* capture: see capture.h. Needles are in an open hash table, at most half full. */
#include "trial/capture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NEEDLE = 8, OVERLAP = 2 * NEEDLE - 1, HEAD_MAX = 1 << 14 };

/* The end of the head, behind its empty line; 0: not there. */
static size_t head_end(const unsigned char *bytes, size_t length) {
  for (size_t i = 3; i < length && i < HEAD_MAX; i++)
    if (memcmp(bytes + i - 3, "\r\n\r\n", 4) == 0) return i + 1;
  return 0;
}

static size_t content_length(const char *head, size_t length) {
  static const char name[] = "\r\ncontent-length:";
  for (size_t i = 0; i + sizeof name - 1 < length; i++)
    if (strncasecmp(head + i, name, sizeof name - 1) == 0)
      return strtoull(head + i + sizeof name - 1, NULL, 10);
  return 0;
}

bool faro_capture_next(const unsigned char *bytes, size_t length, size_t *place, faro_request *request) {
  const unsigned char *at = bytes + *place;
  const size_t left = length - *place;
  const size_t head = head_end(at, left);
  if (head == 0) return false;
  const size_t body = content_length((const char *)at, head);
  const unsigned char *path = memchr(at, ' ', head);
  const unsigned char *end = path ? memchr(path + 1, ' ', head - (size_t)(path + 1 - at)) : NULL;
  if (!end || body > left - head) return false;
  *request = (faro_request){.path = (const char *)path + 1,
                            .path_length = (size_t)(end - path) - 1,
                            .body = at + head,
                            .length = body};
  *place += head + body;
  return true;
}

bool faro_request_is(const faro_request *request, const char *path) {
  return request->path_length == strlen(path) && memcmp(request->path, path, request->path_length) == 0;
}

struct faro_needles {
  size_t count, most, mask;
  uint64_t *slot; /* 0: empty */
};

faro_status faro_needles_create(faro_needles **out, size_t most, faro_error *error) {
  faro_needles *needles = calloc(1, sizeof *needles);
  size_t slots = 16;
  while (slots < 2 * most) slots *= 2;
  if (needles) needles->slot = calloc(slots, sizeof *needles->slot);
  if (!needles || !needles->slot) {
    faro_needles_destroy(needles);
    return faro_fail(error, FARO_MEMORY, "out of memory");
  }
  needles->most = most;
  needles->mask = slots - 1;
  *out = needles;
  return FARO_OK;
}

void faro_needles_destroy(faro_needles *needles) {
  if (!needles) return;
  free(needles->slot);
  free(needles);
}

size_t faro_needles_count(const faro_needles *needles) { return needles->count; }

/* Where the word is, or belongs. */
static size_t place_of(const faro_needles *needles, uint64_t word) {
  size_t i = (size_t)((word * 0x9e3779b97f4a7c15) >> 32) & needles->mask;
  while (needles->slot[i] != 0 && needles->slot[i] != word) i = (i + 1) & needles->mask;
  return i;
}

void faro_needles_add(faro_needles *needles, const void *bytes) {
  uint64_t word;
  memcpy(&word, bytes, NEEDLE);
  int telling = 0;
  for (int i = 0; i < NEEDLE; i++) telling += ((const unsigned char *)bytes)[i] != 0;
  if (telling < 4 || needles->count == needles->most) return;
  const size_t i = place_of(needles, word);
  if (needles->slot[i] == word) return;
  needles->slot[i] = word;
  needles->count++;
}

void faro_needles_add_real(faro_needles *needles, double value) {
  unsigned char bytes[NEEDLE], turned[NEEDLE];
  memcpy(bytes, &value, NEEDLE);
  for (int i = 0; i < NEEDLE; i++) turned[i] = bytes[NEEDLE - 1 - i];
  faro_needles_add(needles, bytes);
  faro_needles_add(needles, turned);
  char text[40];
  snprintf(text, sizeof text, "%.17f", fabs(value));
  if (strncmp(text, "0.000", 5) != 0) faro_needles_add(needles, text); /* six digits: not found by chance */
}

/* Eight bytes from sixteen hexadecimal digits. */
static bool from_hex(const unsigned char *text, uint64_t *word) {
  unsigned char bytes[NEEDLE];
  for (int i = 0; i < 2 * NEEDLE; i++) {
    const unsigned char c = text[i] | 0x20;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0 || (digit < 10 && text[i] != c)) return false;
    bytes[i / 2] = (unsigned char)(i % 2 ? bytes[i / 2] << 4 | digit : digit);
  }
  memcpy(word, bytes, NEEDLE);
  return true;
}

static bool known(const faro_needles *needles, uint64_t word) {
  return word != 0 && needles->slot[place_of(needles, word)] == word;
}

size_t faro_needles_find(const faro_needles *needles, const unsigned char *bytes, size_t length) {
  size_t found = 0;
  for (size_t i = 0; i + NEEDLE <= length; i++) {
    uint64_t word;
    memcpy(&word, bytes + i, NEEDLE);
    found += known(needles, word);
    if (i + OVERLAP < length && from_hex(bytes + i, &word)) found += known(needles, word);
  }
  return found;
}

faro_status faro_needles_find_file(const faro_needles *needles, const char *path, size_t *found,
                                   faro_error *error) {
  enum { CHUNK = 1 << 16 };
  unsigned char chunk[CHUNK];
  *found = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return FARO_OK;
  size_t kept = 0, got;
  while ((got = fread(chunk + kept, 1, CHUNK - kept, file)) > 0) {
    const size_t length = kept + got;
    *found += faro_needles_find(needles, chunk, length);
    kept = length < OVERLAP ? length : OVERLAP; /* a needle may lie across two chunks */
    memmove(chunk, chunk + length - kept, kept);
  }
  const bool failed = ferror(file);
  fclose(file);
  return failed ? faro_fail(error, FARO_SYSTEM, "cannot read %s", path) : FARO_OK;
}
