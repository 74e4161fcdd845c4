/* world: small environments of a program's own, for tests. */
#ifndef FARO_TESTS_WORLD_H
#define FARO_TESTS_WORLD_H

#include <faro/world.h>

/* Means are linear in features that are drawn from the cube: for every user, or once per
 * instance. */
extern const faro_world world_fresh, world_stays;

#endif
