/* text: numbers that read back exactly or are rounded up, growing strings, and "did you mean". */
#ifndef FARO_BASE_TEXT_H
#define FARO_BASE_TEXT_H

#include <faro/base.h>
#include <stdarg.h>

enum { FARO_NUMBER_SIZE = 32 };

/* The shortest of %.15g, %.16g, %.17g that strtod reads back to the same double. */
const char *faro_number(double value, char out[static FARO_NUMBER_SIZE]);
/* The same in ten times the time: for numbers that are very large or small, and for tests. */
const char *faro_plain_number(double value, char out[static FARO_NUMBER_SIZE]);

/* The same for people and reports: 1e-6 in place of 1e-06. Signed documents keep the other form. */
const char *faro_short(double value, char out[static FARO_NUMBER_SIZE]);

/* For claims: at most `digits` significant digits, rounded up, so that the text never promises more
 * than `value`. */
const char *faro_above(double value, int digits, char out[static FARO_NUMBER_SIZE]);
/* "(epsilon, delta)" of at most six digits each, rounded up. */
enum { FARO_PAIR_SIZE = 72 };
const char *faro_pair_above(double epsilon, double delta, char out[static FARO_PAIR_SIZE]);

/* The name nearest to `word` if it is near enough to be a typing error; else one that the word is a
 * part of (`gauss` of gaussian), or that is a part of it; else NULL. */
const char *faro_nearest(const char *word, const char *const *names, size_t count);
/* " (did you mean NAME?)" for a message, or "" if no name is near. */
enum { FARO_HINT = 64 };
const char *faro_hint(const char *word, const char *const *names, size_t count, char out[static FARO_HINT]);

/* The path, or its last 120 bytes if it is long: the end says most, and a message must fit. */
const char *faro_path_end(const char *path);

/* An amount of bytes: 152 B, 8.1 kB, 1.2 MB; "-" for NaN. */
const char *faro_bytes(double bytes, char out[static FARO_NUMBER_SIZE]);

/* At most 60 bytes of a text, for messages: cut between two UTF-8 characters and followed by "..."
 * if it is longer, with ? in place of control characters. */
enum { FARO_SHORT_SIZE = 64 };
const char *faro_shorten(const char *text, size_t length, char out[static FARO_SHORT_SIZE]);

/* Text from another party, for a log or a terminal: as much of it as fits into `size` bytes, with ?
 * in place of anything but printable ASCII. */
enum { FARO_SHOWN = 200 + 1 };
const char *faro_printable(const char *text, char *out, size_t size);

/* A string that grows. A failed allocation is remembered in `failed` and later calls do nothing, so
 * that a writer checks once, at the end. */
typedef struct faro_text {
  char *data; /* NULL before the first append */
  size_t length, capacity;
  bool failed;
} faro_text;

#define FARO_TEXT_INIT                                                                                       \
  { 0 }

void faro_text_add(faro_text *text, const char *format, ...) FARO_PRINTF(2, 3);
void faro_text_put(faro_text *text, const char *data); /* as it stands */
void faro_text_clear(faro_text *text);

#endif
