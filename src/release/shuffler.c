/* shuffler: see the header. */
#include "release/shuffler.h"

#include "random/samplers.h"
#include "release/plant.h"

void faro_shuffler_permute(faro_rng *rng, void *messages, size_t count, size_t size) {
  FARO_PLANT_UNMIXED
  faro_exact_shuffle(rng, messages, count, size);
}
