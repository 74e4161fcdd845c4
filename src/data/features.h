/* features: from a person's raw row to a few numbers, in a way that does not look at the data.
 *
 *   phi_0     = sqrt(1/5), a constant; it stands last
 *   phi_j     = sqrt(4/5) / sqrt(m) times the wave of a number or the sign of a word, j = 1 .. m
 *   wave      = sqrt(2) cos(f_j t + b_j)
 *   t         the number, brought to the size of 1: asinh(v), which is v near 0 and a logarithm far
 *             from it; or, if a range is known, v from the middle of the range in quarters of it
 *   f_j, b_j  a frequency, log-uniform from 0.8 to 8, and a phase
 *   sign      -1 or 1, a hash of the seed, j, the column and the word
 *
 * Every feature sees one column, drawn so that all are seen equally often; a linear policy of them
 * is a sum of curves, one per column (random Fourier features of an additive kernel: Rahimi & Recht
 * 2007). phi is scaled back to ||phi|| <= 1. Everything follows from the seed and from what is
 * declared, so the map costs no privacy: except under FARO_SCALING_PUBLIC, which uses the columns'
 * ranges in the file, and says so in the claim. docs/real-data.md says what it was chosen on. */
#ifndef FARO_DATA_FEATURES_H
#define FARO_DATA_FEATURES_H

#include <faro/random.h>
#include <faro/rows.h>

/* Where the ranges of numbers come from. */
#define FARO_SCALING_LIST(X)                                                                                 \
  X(NONE, "none")         /* nothing is known of them */                                                     \
  X(DECLARED, "declared") /* from `ranges` */                                                                \
  X(PUBLIC, "public")     /* from the file */

typedef enum faro_scaling {
#define X(name, text) FARO_SCALING_##name,
  FARO_SCALING_LIST(X)
#undef X
} faro_scaling;

typedef struct faro_features_params {
  const faro_rows_facts *facts;
  faro_scaling scaling;
  const char *ranges; /* DECLARED: a list of least..most, one for each number or one for all */
  /* m; 0: the nearest to sqrt(rows / arms) / 2 from 4 to 32, so that a block of m^2 / 2 sums has at
   * least 4 m^2 people: then noise does not drown them. */
  size_t components;
  size_t most; /* a bound on the m that is chosen; 0: none */
} faro_features_params;

typedef struct faro_features faro_features;

/* Length of phi, the constant too. */
size_t faro_features_count(const faro_features_params *params);

/* Refuses wrong ranges. The facts must outlive the features. Only create allocates. */
faro_status faro_features_create(faro_features **features, const faro_features_params *params,
                                 faro_error *error) FARO_WARN_UNUSED;
void faro_features_destroy(faro_features *features); /* NULL is allowed */

/* How many columns of numbers have some beyond their range, which are clipped to it; 0 if no ranges
 * are known. */
size_t faro_features_beyond(const faro_features *features, const faro_rows_facts *facts);

/* Draws the map anew. Required before apply. */
void faro_features_draw(faro_features *features, faro_sim_rng *sim);
void faro_features_apply(faro_features *features, const double *number, const uint64_t *word, double *phi);

#endif
