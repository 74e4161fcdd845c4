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
  /* Generalised linear rewards, see learner.h: pick is set for all of them, observe for those without privacy, the rest
   * for those that work through a study. */
  faro_studies studies;
  uint64_t (*term)(faro_learner *);
  void (*begin)(faro_learner *, const faro_noise noise[static FARO_LEARNER_PARTS],
                uint64_t fits[static FARO_LEARNER_PARTS]);
  faro_pick (*pick)(faro_learner *, const faro_arms *, double luck);
  void (*observe)(faro_learner *, const double *x, double y);
  void (*see)(faro_learner *, const faro_statistics sum[static FARO_LEARNER_PARTS]);
  bool (*ask)(faro_learner *, faro_question *);
  void (*answer)(faro_learner *, const faro_reply *);
  const struct faro_rules *rules; /* of a phased learner, see elimination.h; NULL: it is none */
};

struct faro_learner {
  const faro_learner_kind *kind;
  faro_arena arena;
  faro_learner_params params;
  faro_policy policy;
  faro_learner_diagnostics diagnostics;
};

/* The parameters of learners of generalised linear rewards. */
faro_status faro_learner_check_glm(const faro_learner_params *params, faro_error *error) FARO_WARN_UNUSED;

#endif
