/* standard: see the header. */
#include "data/standard.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"shuttle", "mushroom", "digits", "movielens", "star"};
enum { NAMES = sizeof names / sizeof *names };

const char *faro_standard_name(size_t index) { return index < NAMES ? names[index] : NULL; }

const char *faro_standard_hint(const char *path, char out[static FARO_STANDARD_HINT]) {
  const size_t length = strlen(path);
  *out = '\0';
  for (size_t i = 0; i < NAMES; i++) {
    char end[FARO_STANDARD_HINT];
    const int size = snprintf(end, sizeof end, "data/%s.csv", names[i]);
    if (length >= (size_t)size && strcmp(path + length - size, end) == 0)
      snprintf(out, FARO_STANDARD_HINT, "; `faro data %s` writes it", names[i]);
  }
  return out;
}
