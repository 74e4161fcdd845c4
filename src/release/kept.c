/* kept: releases are made again and again with the same numbers, and some calibrations take milliseconds: the last answers
 * are kept, for each thread by itself. */
#include "release/kind.h"

enum { KEPT = 64 };

typedef struct answer {
  double (*compute)(const faro_release *);
  double epsilon, delta, honest;
  uint64_t batch, crowd, repeats;
  double value;
} answer;

static bool fits(const answer *a, const faro_release *r, double (*compute)(const faro_release *)) {
  return a->compute == compute && a->epsilon == r->params.epsilon && a->delta == r->params.delta &&
         a->batch == r->params.batch && a->crowd == r->params.crowd && a->repeats == r->repeats &&
         a->honest == r->params.honest;
}

double faro_kept(const faro_release *r, double (*compute)(const faro_release *)) {
  static _Thread_local answer kept[KEPT];
  static _Thread_local unsigned next;
  for (unsigned i = 0; i < KEPT; i++)
    if (fits(&kept[i], r, compute)) return kept[i].value;
  const answer made = {.compute = compute,
                       .epsilon = r->params.epsilon,
                       .delta = r->params.delta,
                       .honest = r->params.honest,
                       .batch = r->params.batch,
                       .crowd = r->params.crowd,
                       .repeats = r->repeats,
                       .value = compute(r)};
  kept[next] = made;
  next = (next + 1) % KEPT;
  return made.value;
}
