/* origins: see the header. */
#include "service/http/origins.h"

#include <string.h>

static const char BLANKS[] = " \t\n";

static bool is_any(const char *origins) { return strcmp(origins, "*") == 0; }

/* A scheme, a host in lower case and perhaps a port, without a slash at the end: browsers compare
 * origins letter by letter. Blanks end it. */
static bool is_origin(const char *word, size_t length) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:[]";
  const size_t scheme = strncmp(word, "https://", 8) == 0 ? 8 : strncmp(word, "http://", 7) == 0 ? 7 : 0;
  return scheme > 0 && length > scheme && word[scheme] != ':' && word[length - 1] != ':' &&
         strspn(word + scheme, allowed) >= length - scheme;
}

faro_status faro_origins_check(const char *origins, faro_error *error) {
  if (is_any(origins)) return FARO_OK;
  for (const char *word = origins + strspn(origins, BLANKS); *word != '\0'; word += strspn(word, BLANKS)) {
    const size_t length = strcspn(word, BLANKS);
    if (!is_origin(word, length))
      return faro_fail(error, FARO_INVALID,
                       "origins must be \"*\" or origins of pages like https://shop.example.org, in lower "
                       "case, without a path, separated by blanks (got %.*s)",
                       length < 100 ? (int)length : 100, word);
    word += length;
  }
  return FARO_OK;
}

const char *faro_origins_allow(const char *origins, const char *origin) {
  if (is_any(origins)) return "*";
  if (!origin || strpbrk(origin, BLANKS)) return NULL;
  const size_t length = strlen(origin);
  for (const char *word = origins + strspn(origins, BLANKS); *word != '\0'; word += strspn(word, BLANKS)) {
    const size_t size = strcspn(word, BLANKS);
    if (size == length && memcmp(word, origin, size) == 0) return origin;
    word += size;
  }
  return NULL;
}

bool faro_origins_vary(const char *origins) { return *origins != '\0' && !is_any(origins); }
