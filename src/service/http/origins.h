/* origins: which pages may talk to a server. A browser lets a page read answers of another origin
 * only if the answer says so (CORS), and asks before it sends what a form could not (a preflight).
 * The setting `origins` is a list of origins, separated by blanks, like https://shop.example.org,
 * or "*": any page. Without it no page can take part. It protects the people who look at pages, not
 * the server: a program may send any Origin. */
#ifndef FARO_SERVICE_HTTP_ORIGINS_H
#define FARO_SERVICE_HTTP_ORIGINS_H

#include <faro/base.h>

/* Fails if a word of the list is not an origin as browsers write it. An empty list is allowed. */
faro_status faro_origins_check(const char *origins, faro_error *error) FARO_WARN_UNUSED;

/* What Access-Control-Allow-Origin has to say to this origin (NULL: the request names none); NULL
 * if nothing. It is "*" or the origin itself. */
const char *faro_origins_allow(const char *origins, const char *origin);

/* Whether answers differ by origin, so that caches must be told. */
bool faro_origins_vary(const char *origins);

#endif
