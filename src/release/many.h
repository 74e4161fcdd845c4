/* many: simulated users of a stream of bits, many at a time. Each brings 1/2 or -1/2. What is drawn
 * and published is what absorbing one after another gives. */
#ifndef FARO_RELEASE_MANY_H
#define FARO_RELEASE_MANY_H

#include <faro/doubling.h>

/* Whether the order of the users of a batch does not matter. */
bool faro_release_adds(const faro_release *release);
/* For numbers: absorbs `high` users who bring 1/2 and then `low` users who bring -1/2 into the open
 * batch, or as many as are missing. */
void faro_release_absorb_ends(faro_release *release, uint64_t high, uint64_t low);

/* Absorbs bits `from` to `from` + `users` - 1 (base/bits.h) into the open batch, which they do not
 * complete. */
void faro_release_absorb_bits(faro_release *release, const uint64_t *bits, uint64_t from, uint64_t users);
void faro_doubling_absorb_bits(faro_doubling *doubling, const uint64_t *bits, uint64_t from, uint64_t users);
/* Absorbs as many bits as complete `batches` batches, which the release must still have. Writes the
 * sum after each of them. */
void faro_release_absorb_batches(faro_release *release, const uint64_t *bits, uint64_t from, uint64_t batches,
                                 double *sum);
void faro_doubling_absorb_batches(faro_doubling *doubling, const uint64_t *bits, uint64_t from,
                                  uint64_t batches, double *sum);

#endif
