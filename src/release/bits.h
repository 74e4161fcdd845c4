/* bits: sums of counted bits over the levels of a tree, for the releases made of them and their tests. bits.c has the
 * drawing. */
#ifndef FARO_RELEASE_BITS_H
#define FARO_RELEASE_BITS_H

#include "random/coins.h"
#include "random/table.h"
#include "release/kind.h"
#include "release/shuffler.h"

/* One level, and its shuffler where it has one. */
typedef struct faro_bits_level {
  uint64_t unit;      /* batches of a node; users: unit * batch */
  uint64_t bits;      /* noise bits of a user and entry */
  uint64_t noise;     /* noise bits of a node and entry: of all its users, or of the server */
  uint64_t low, high; /* ones among a user's noise bits: others are cut to these */
  faro_coins coins;   /* draws a user's, fair ones */
  faro_binomial plan; /* draws a node's in simulations */
  faro_table *table;  /* and exactly, once prepared */
  faro_shuffler shuffler;
  uint64_t *node; /* the ones of its last node */
  double *base;   /* estimates of the complete nodes under the parent that is not complete yet, added up */
  uint64_t nodes; /* how many these are */
  double raw;     /* variance (proxy) of a node's noise, in original units */
  double fused;   /* of its estimate */
} faro_bits_level;

typedef struct faro_bits {
  faro_release release;
  double step;     /* one grid step in original units */
  uint64_t grid;   /* G: steps that span [-entry, entry] */
  bool fair;       /* noise bits are ones with 1/2; else with 1/4 */
  bool fuse;       /* estimates of nodes use those of their children */
  uint64_t *count; /* ones of the open batch, before noise */
  size_t levels;
  size_t full;     /* levels whose node ends with this batch */
  size_t reported; /* and with the last one */
  faro_bits_level *level;
  double rounding; /* variance that random rounding adds for each user */
  double worst;    /* greatest variance of a sum */
} faro_bits;

/* The tree: nodes of `batch` users, then of `degree` nodes each, on `levels` levels. The root is not used. */
faro_status faro_bits_init(faro_release *r, size_t levels, uint64_t degree, faro_error *error);

/* Sets a level's noise bits, of a user and entry (or, for a trusted server, of a node and entry). */
faro_status faro_bits_set(faro_release *r, size_t level, double bits, faro_error *error);
/* Then, once: the step, and all that follows from step and bits. */
faro_status faro_bits_fix(faro_release *r, double step, faro_error *error);

/* Fair bits at all levels, as many as the accountant proves enough for (epsilon, delta) together, and all else. */
faro_status faro_bits_tighten(faro_release *r, faro_error *error);

/* What a tree would cost under `tight`: the error of a sum at its worst, or a learner's regret. INFINITY where it does
 * not fit the horizon. */
double faro_bits_predict(const faro_release *r, size_t levels, double batch, double degree);
/* The batch, 2 or more, for which `cost` is least. */
uint64_t faro_bits_least(const faro_release *r, double (*cost)(const faro_release *, double batch));

/* The theorems are for vectors no longer than their longest entry; others are stretched by so much. */
double faro_bits_stretch(const faro_release *r);

void faro_bits_absorb(faro_release *r, const double *z, faro_rng *rng);
void faro_bits_thicken(faro_release *r, faro_sim_rng *sim);
void faro_bits_thicken_secure(faro_release *r, faro_rng *rng);
faro_status faro_bits_prepare(faro_release *r, faro_error *error);
void faro_bits_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message);
bool faro_bits_sound(const faro_release *r, size_t index, const void *message);
void faro_bits_range(const faro_release *r, size_t level, int64_t *least, int64_t *most);
void faro_bits_collect(faro_release *r, size_t index, const void *message);
void faro_bits_mix(const faro_release *r, void *batch, faro_rng *rng); /* for one shuffler */
void faro_bits_publish(faro_release *r, faro_sim_rng *sim);
bool faro_bits_task(const faro_release *r, size_t level, faro_shuffler_task *task);
size_t faro_bits_due(const faro_release *r);
const uint64_t *faro_bits_report(const faro_release *r, size_t level);
double faro_bits_share(const faro_release *r);
bool faro_bits_gaussian(const faro_release *r, double move, double *mu, double *slack);
double faro_bits_influence(const faro_release *r);
bool faro_bits_span(const faro_release *r, size_t index, faro_span *span);
void faro_bits_resume(faro_release *r);

/* What all kinds made of bit sums have in common. */
#define FARO_BITS_KIND                                                                                       \
  .exact = true, .splits = true, .size = sizeof(faro_bits), .absorb = faro_bits_absorb,                      \
  .thicken = faro_bits_thicken, .thicken_secure = faro_bits_thicken_secure, .prepare = faro_bits_prepare,    \
  .randomize = faro_bits_randomize, .sound = faro_bits_sound, .range = faro_bits_range,                      \
  .collect = faro_bits_collect, .publish = faro_bits_publish, .share = faro_bits_share,                      \
  .report = faro_bits_report, .gaussian = faro_bits_gaussian, .influence = faro_bits_influence,              \
  .saves = true, .span = faro_bits_span, .resume = faro_bits_resume

#endif
