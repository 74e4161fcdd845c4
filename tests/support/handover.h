/* handover: a closed batch goes from a shuffler's spool to an applier, in one process, and a second
 * learner (the twin) hears the same messages. */
#ifndef FARO_TESTS_SUPPORT_HANDOVER_H
#define FARO_TESTS_SUPPORT_HANDOVER_H

#include "service/analyzer/applier.h"
#include "service/state/spool.h"

typedef struct faro_handover {
  const faro_campaign *campaign; /* the analyzer's view */
  const faro_campaign *mixing;   /* the shuffler's view, with its own plans */
  const faro_seal_key *seal;
  const faro_sign_key *shuffler;
  faro_spool *spool;
  faro_applier *applier;
  faro_learning *twin;
} faro_handover;

void hand_over_batch(const faro_handover *handover);

#endif
