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
/* rank[k]: how many codes fit input k better than the message's does, of `count` inputs (at most
 * FARO_ANSWERS_MAX); the number of codes if it points the other way. */
void faro_answer_read(const faro_release *release, const void *message, const double *prepared, size_t count,
                      uint64_t *rank);
/* How many codes there are, and how many of them, the first in rank, are true for an input. A
 * message is seed * codes + code. */
uint64_t faro_answer_codes(const faro_release *release);
uint64_t faro_answer_truths(const faro_release *release);
/* Which share of all codes is true for an input. */
double faro_answer_share(const faro_release *release);

#endif
