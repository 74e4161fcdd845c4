/* crew: plays ways on instances, on several threads. What is played does not depend on the
 * threads. */
#ifndef FARO_PLAN_CREW_H
#define FARO_PLAN_CREW_H

#include "plan/ways.h"

typedef struct plan_crew {
  const faro_advice_options *options; /* with defaults filled in */
  uint64_t first;                     /* number of the first instance */
  size_t done, total;                 /* for progress: instances played, and to play in all */
} plan_crew;

/* Plays the instances up to `until` of every way that is marked. FARO_INTERRUPTED if stopped. */
faro_status plan_crew_play(plan_crew *crew, plan_way *const *way, size_t count, size_t until,
                           faro_error *error);

#endif
