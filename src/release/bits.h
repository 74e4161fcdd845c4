/* bits: sums of counted bits over the levels of a tree. bits.c has the drawing; bits_tight.c
 * chooses the noise. */
#ifndef FARO_RELEASE_BITS_H
#define FARO_RELEASE_BITS_H

#include "random/coins.h"
#include "random/table.h"
#include "release/release.h"

/* The noise of a node. */
typedef struct faro_bits_noise {
  uint64_t bits;      /* noise bits per user and entry */
  uint64_t noise;     /* noise bits per node and entry: of all its users, or of the server */
  uint64_t low, high; /* range of ones among a user's noise bits: others are cut to it */
  faro_coins coins;   /* draws a user's noise, if fair */
  faro_binomial plan; /* draws a node's noise in simulations */
  faro_table *table;  /* draws a node's noise exactly; NULL if not needed */
  double raw;         /* variance (proxy), in units of z */
} faro_bits_noise;

/* One level, and its shuffler if it has one. */
typedef struct faro_bits_level {
  uint64_t unit;          /* batches per node */
  faro_bits_noise *noise; /* one per class of batches, see faro_bits_classes */
  uint64_t *total;        /* ones that the shuffler has counted for the current node, without noise */
  uint64_t *node;         /* ones of its last node */
  double *base;           /* sum of the estimates of complete nodes whose parent is not complete */
  double fused;           /* variance of a node's estimate */
} faro_bits_level;

/* The share of delta that calibration tight leaves for exact noise (docs/privacy.md, Where counts
 * end). */
#define FARO_BITS_RESERVED 2e-4

typedef struct faro_bits {
  faro_release release;
  double entry;    /* D: entries in [-D, D] are on the grid */
  double step;     /* one grid step in original units */
  uint64_t grid;   /* G: steps that span [-D, D] */
  bool fair;       /* noise bits are 1 with probability 1/2; else with 1/4 */
  bool fuse;       /* estimates of nodes use those of their children */
  uint64_t *count; /* ones of the open batch, before noise */
  size_t levels;
  size_t full;     /* levels whose node ends with this batch */
  size_t reported; /* the same for the last batch */
  faro_bits_level *level;
  double rounding; /* variance that random rounding adds per user */
  double worst;    /* greatest variance of a sum */
} faro_bits;

static inline faro_bits *faro_bits_of(faro_release *r) { return (faro_bits *)(void *)r; }
static inline const faro_bits *faro_bits_in(const faro_release *r) {
  return (const faro_bits *)(const void *)r;
}

/* How many kinds of noise a level has: one per class of batches if batches are the only nodes and
 * their users add the noise; else 1. */
static inline size_t faro_bits_classes(const faro_release *r) {
  return faro_bits_in(r)->levels == 1 && !faro_server_adds_noise(r) ? r->schedule.classes : 1;
}

/* Users per node of a level and class. */
static inline uint64_t faro_bits_users(const faro_release *r, size_t level, size_t class_index) {
  return faro_bits_in(r)->level[level].unit * r->schedule.size[class_index];
}

/* For calibrations. Sets a level's noise bits per user and entry (for a trusted server, per node
 * and entry). */
faro_status faro_bits_set_noise(faro_release *r, size_t level, size_t class_index, double bits,
                                faro_error *error);
/* Then, once: sets the step, and everything that follows from step and bits. */
faro_status faro_bits_set_step(faro_release *r, double step, faro_error *error);

/* See faro_mechanism: by levels (bits_many.c). */
void faro_bits_many(faro_release *r, const uint64_t *bits, uint64_t from, uint64_t batches, double *sum);

/* Calibration tight: fair bits at all levels, as many as the accountant proves enough for (epsilon,
 * delta) together. */
faro_status faro_bits_tight(faro_release *r, faro_error *error);
/* See faro_release_gaussian. */
/* Adds to the claim what a user's own bits give (docs/privacy.md, What a message gives by
 * itself). */
void faro_bits_imply_local(faro_release *r);
bool faro_bits_gaussian(const faro_release *r, double share, double *mu, double *slack);

#endif
