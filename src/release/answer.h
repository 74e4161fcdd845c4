/* answer: what a response says, as somebody who knows the protocol reads it. Audits use it: the
 * directions of a seed are public, so the codes that are true for an input are known, and a
 * message tells nothing more than which inputs it fits. For releases whose messages are codes. */
#ifndef FARO_RELEASE_ANSWER_H
#define FARO_RELEASE_ANSWER_H

#include <faro/release.h>

/* Doubles that an input takes, once it is prepared. */
size_t faro_answer_size(const faro_release *release);
void faro_answer_prepare(const faro_release *release, const double *x, double y, double *prepared);
enum { FARO_ANSWERS_MAX = 18 };
/* fits[k]: 1 if the message has a code that is true for input k, of `count` (at most
 * FARO_ANSWERS_MAX); else 0. */
void faro_answer_read(const faro_release *release, const void *message, const double *prepared, size_t count,
                      double *fits);
/* How many codes there are. A message is seed * codes + code. */
uint64_t faro_answer_codes(const faro_release *release);
/* Which share of all codes is true for an input. */
double faro_answer_share(const faro_release *release);

#endif
