/* bits_many: the sums of many batches of one bit each user, in simulation, by levels: a node's ones
 * go up to its parent when it ends, instead of every batch to every level. The same draws in the
 * same order as in bits.c, the same numbers. */
#include "release/bits.h"

#include "base/abort.h"
#include "base/bits.h"
#include "release/shares.h"

enum { LEVELS_MAX = 64 }; /* a horizon has no more binary digits */

/* A level on the way. */
typedef struct node {
  const faro_bits_noise *n;
  uint64_t ones;      /* of the complete children of its node under way; level 0: of its users */
  uint64_t end, unit; /* the batch that the node ends with; batches per node */
  double noise, shift, weight, base;
} node;

typedef struct walk {
  faro_release *r;
  node node[LEVELS_MAX];
  size_t levels;
} walk;

static void begin(walk *w, faro_release *r) {
  const faro_bits *s = faro_bits_in(r);
  const uint64_t batch = r->ledger.charged;
  w->r = r;
  w->levels = s->levels;
  FARO_INVARIANT(w->levels > 0 && w->levels <= LEVELS_MAX);
  for (size_t i = 0; i < w->levels; i++) {
    const faro_bits_level *l = &s->level[i];
    const uint64_t below = i > 0 ? s->level[i - 1].total[0] : 0;
    const faro_bits_noise *n = &l->noise[0];
    w->node[i] = (node){.n = n,
                        .ones = l->total[0] >= below ? l->total[0] - below : 0, /* 0: it cannot fill up */
                        .end = batch - batch % l->unit + l->unit - 1,
                        .unit = l->unit,
                        .noise = (s->fair ? 0.5 : 0.25) * (double)n->noise,
                        .shift = (double)(l->unit * r->size) * s->entry,
                        .weight = s->fuse && i > 0 ? l->fused / n->raw : 1,
                        .base = l->base[0]};
  }
}

/* The node of level i ends: its report joins the estimates of the level. */
static void finish(walk *w, size_t i) {
  const faro_bits *s = faro_bits_in(w->r);
  node *at = &w->node[i];
  const uint64_t report = at->ones + faro_sim_binomial(&at->n->plan, w->r->source.sim);
  const double own = ((double)report - at->noise) * s->step - at->shift;
  s->level[i].node[0] = report;
  if (i > 0) {
    node *below = at - 1;
    at->base += at->weight * own + (1 - at->weight) * below->base;
    below->base = 0;
  } else at->base += own;
  if (i + 1 < w->levels) at[1].ones += at->ones;
  at->ones = 0;
  at->end += at->unit;
}

/* Levels without complete nodes add zero. */
static double add_up(const walk *w) {
  double sum = 0;
  for (size_t i = 0; i < w->levels; i++) sum += w->node[i].base;
  return sum;
}

/* Back into the release: the shuffler of every level that can still fill up has all that came. */
static void end(const walk *w) {
  const faro_bits *s = faro_bits_in(w->r);
  uint64_t total = 0;
  for (size_t i = 0; i < w->levels; i++) {
    total += w->node[i].ones;
    s->level[i].total[0] = w->node[i].end < w->r->batches ? total : 0;
    s->level[i].base[0] = w->node[i].base;
  }
}

void faro_bits_many(faro_release *r, const uint64_t *bits, uint64_t from, uint64_t batches, double *sum) {
  const faro_bits *s = faro_bits_in(r);
  const uint64_t first = r->ledger.charged;
  uint64_t users = r->size - r->waiting;
  walk w;
  begin(&w, r);
  w.node[0].ones += s->count[0];
  s->count[0] = 0;
  for (uint64_t k = 0; k < batches; k++) {
    w.node[0].ones += s->grid * faro_ones(bits, from, users);
    from += users;
    users = r->size;
    for (size_t i = 0; i < w.levels && w.node[i].end == first + k; i++) finish(&w, i);
    sum[k] = add_up(&w);
  }
  end(&w);
}
