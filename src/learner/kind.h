/* kind: what a learner is made of, for the files that implement one. */
#ifndef FARO_LEARNER_KIND_H
#define FARO_LEARNER_KIND_H

#include <faro/learner.h>

#include "base/arena.h"

struct faro_learner_kind {
  const char *name, *summary;
  bool sums;   /* estimates the running sum of a stream, see faro_policy */
  size_t size; /* of the state, whose first member is a faro_learner */
  faro_status (*init)(faro_learner *, faro_error *);
  void (*release)(faro_learner *); /* what init made outside the arena; NULL: nothing */
  void (*update)(faro_learner *, const faro_statistics *);
  const struct faro_rules *rules; /* of a phased learner, see elimination.h; NULL: it is none */
};

struct faro_learner {
  const faro_learner_kind *kind;
  faro_arena arena;
  faro_learner_params params;
  faro_policy policy;
  faro_learner_diagnostics diagnostics;
};

#endif
