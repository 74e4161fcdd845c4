/* rewind: see the header. All that a release owns is in its arena. */
#include "release/rewind.h"

#include "release/release.h"

size_t faro_release_image_size(const faro_release *release) { return faro_arena_size(&release->arena); }

void faro_release_image(const faro_release *release, void *image) { faro_arena_save(&release->arena, image); }

/* The release itself is one of the arena's blocks. */
void faro_release_rewind(faro_release *release, const void *image) {
  const faro_arena arena = release->arena;
  faro_arena_load(&arena, image);
}

void faro_release_wind(faro_release *release, uint64_t k) { faro_release_open(release, k); }

void faro_release_rehearse(faro_release *release, faro_sim_rng *sim) { release->rng = &sim->rng; }
