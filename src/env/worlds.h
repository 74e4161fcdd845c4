/* worlds: environments that a program has registered (include/faro/world.h), for the registry. */
#ifndef FARO_ENV_WORLDS_H
#define FARO_ENV_WORLDS_H

#include <faro/world.h>

#include "env/kind.h"

/* Checks the world and adds it. *added: false if it was there already. */
faro_status faro_worlds_add(const faro_world *world, bool *added, faro_error *error) FARO_WARN_UNUSED;
size_t faro_worlds_count(void);
const faro_env_rules *faro_worlds_at(size_t index);

#endif
