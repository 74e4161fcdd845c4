/* limiter: who does something too often. Each name (an address, the hash of a token) has a level,
 * which what it does raises and time lowers; above the burst it is over its limit.
 *
 * The table is small and in memory only. It keeps no names, but keyed hashes of them. When many
 * names share it, the lowest level gives way, so a flood of names can only make it forget: nobody
 * is refused for what others did. */
#ifndef FARO_SERVICE_HTTP_LIMITER_H
#define FARO_SERVICE_HTTP_LIMITER_H

#include <faro/base.h>

typedef struct faro_limiter faro_limiter;

/* `rate` is what a name may do per second in the long run, `burst` at once. */
faro_status faro_limiter_create(faro_limiter **limiter, double rate, double burst,
                                faro_error *error) FARO_WARN_UNUSED;
void faro_limiter_destroy(faro_limiter *limiter);

/* Whether a name is over its limit now. If it is not, its level rises by `amount`; 0 only looks.
 * May be called from any thread. */
bool faro_limiter_over(faro_limiter *limiter, const void *name, size_t length, double amount);

#endif
