/* capture: see the header. */
#include "trial/capture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 1 << 14 };

/* Length of the head with its empty line; 0 if it is not complete. */
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
