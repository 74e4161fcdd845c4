/* world: makes a program's own environment known to the registry and to the keys of experiments. */
#include <faro/world.h>

#include "env/worlds.h"
#include "sim/settings.h"

faro_status faro_world_register(const faro_world *world, faro_error *error) {
  bool added = false;
  faro_status status = FARO_OK;
  if (!world) return faro_fail(error, FARO_INVALID, "world must not be NULL");
  if (!world->name || !faro_env_find(world->name)) status = faro_keys_check(world->settings, error);
  if (status == FARO_OK) status = faro_worlds_add(world, &added, error);
  if (status == FARO_OK && added) faro_keys_add_env(faro_env_find(world->name));
  return status;
}
