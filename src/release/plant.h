/* plant: bugs that the tests of the audit put into the releases. The library is built without
 * FARO_PLANT: then all of these are nothing, and no symbol is left (a test looks). Tests build the
 * folder once more, with it, and set faro_planted. */
#ifndef FARO_RELEASE_PLANT_H
#define FARO_RELEASE_PLANT_H

#include <stdbool.h>

#ifdef FARO_PLANT

typedef struct faro_plant {
  double noise;   /* factor of all noise; 1: right */
  bool unmixed;   /* a shuffler passes messages on in the order in which they came */
  bool unclipped; /* neither features nor rewards are clipped */
  bool one_level; /* trees and factored sums: noise as if a user were in one node */
  bool one_visit; /* noise as if a user came once */
} faro_plant;

extern faro_plant faro_planted; /* set by a test, in one thread */

#define FARO_PLANT_NOISE *faro_planted.noise
#define FARO_PLANT_ANSWER / faro_planted.noise
#define FARO_PLANT_UNMIXED                                                                                   \
  if (faro_planted.unmixed) return;
#define FARO_PLANT_UNCLIPPED(value)                                                                          \
  if (faro_planted.unclipped) return value;
#define FARO_PLANT_LEVELS(levels) (faro_planted.one_level ? 1 : (levels))
#define FARO_PLANT_VISITS(visits) (faro_planted.one_visit ? 1 : (visits))

#else

#define FARO_PLANT_NOISE
#define FARO_PLANT_ANSWER
#define FARO_PLANT_UNMIXED
#define FARO_PLANT_UNCLIPPED(value)
#define FARO_PLANT_LEVELS(levels) (levels)
#define FARO_PLANT_VISITS(visits) (visits)

#endif

#endif
