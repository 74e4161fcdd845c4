/* shuffler: see the header. */
#include "release/shuffler.h"

#include "random/samplers.h"

void faro_shuffler_permute(faro_rng *rng, void *messages, size_t count, size_t size) {
  faro_exact_shuffle(rng, messages, count, size);
}
