/* capture: parses the HTTP requests in what a relay recorded. */
#ifndef FARO_TRIAL_CAPTURE_H
#define FARO_TRIAL_CAPTURE_H

#include <faro/base.h>

/* A complete request. */
typedef struct faro_request {
  const char *path; /* not terminated */
  size_t path_length;
  const unsigned char *body;
  size_t length;
} faro_request;

/* Steps through the requests of one connection; start with *place = 0. False at the end, or at a
 * request that is cut off. Bodies must have a Content-Length, as all bodies in a trial do. */
bool faro_capture_next(const unsigned char *bytes, size_t length, size_t *place, faro_request *request);
bool faro_request_is(const faro_request *request, const char *path);

#endif
