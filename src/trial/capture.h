/* capture: reads what a relay heard: the requests of each connection, and whether certain bytes are anywhere in it. */
#ifndef FARO_TRIAL_CAPTURE_H
#define FARO_TRIAL_CAPTURE_H

#include <faro/base.h>

/* A request that came whole. */
typedef struct faro_request {
  const char *path; /* not ended by a zero byte */
  size_t path_length;
  const unsigned char *body;
  size_t length;
} faro_request;

/* Steps through the requests of one connection; *place is 0 at first. False at the end, or at a request that is cut off. Only
 * bodies with a Content-Length are known: no party of a trial sends others. */
bool faro_capture_next(const unsigned char *bytes, size_t length, size_t *place, faro_request *request);
bool faro_request_is(const faro_request *request, const char *path);

/* A set of 8-byte patterns. */
typedef struct faro_needles faro_needles;
faro_status faro_needles_create(faro_needles **needles, size_t most, faro_error *error) FARO_WARN_UNUSED;
void faro_needles_destroy(faro_needles *needles);
/* Those beyond `most` are left out, and so are those with fewer than four bytes that are not zero: they would be found by
 * chance. */
void faro_needles_add(faro_needles *needles, const void *bytes);
/* A number as a program would send it: IEEE in both byte orders, and the first digits of its text. */
void faro_needles_add_real(faro_needles *needles, double value);
size_t faro_needles_count(const faro_needles *needles);
/* How often any of them is in the bytes, at any place, as it is or in hexadecimal digits; across two chunks of a file one may
 * count twice. */
size_t faro_needles_find(const faro_needles *needles, const unsigned char *bytes, size_t length);
/* The same for a file; 0 where there is none. */
faro_status faro_needles_find_file(const faro_needles *needles, const char *path, size_t *found,
                                   faro_error *error) FARO_WARN_UNUSED;

#endif
