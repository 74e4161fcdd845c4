/* shuffler: S, the step between users and the analyzer. There is one S: the bits mechanism,
 * faro_release_mix and the deployed shuffler (service) all call it.
 *
 * Counts are added up, because mixing the bits of one label reveals only their number of ones
 * (docs/privacy.md, The bits a shuffler sees). Other messages are put into a uniformly random
 * order. */
#ifndef FARO_RELEASE_SHUFFLER_H
#define FARO_RELEASE_SHUFFLER_H

#include <faro/random.h>

/* The total after one more message with `ones` in this entry. Fewer or more ones than an honest
 * message can have are cut to the range, so that no client moves a total by more. */
static inline uint64_t faro_shuffler_count(uint64_t total, uint64_t ones, uint64_t least, uint64_t most) {
  return total + (ones < least ? least : ones > most ? most : ones);
}

/* Permutes `count` messages of `size` bytes; all orders are equally likely. */
void faro_shuffler_permute(faro_rng *rng, void *messages, size_t count, size_t size);

#endif
