/* features: from a person's raw row to a few numbers, in a way that does not look at the data.
 *
 *   phi_0     = sqrt(1/5), a constant
 *   phi_j     = sqrt(4/5) sqrt(2 / m) cos(f_j t_j + b_j) for j = 1 .. m, or of a word
 *   t_j       a column's number, brought to the size of 1: asinh(v), which is v near 0 and a
 *             logarithm far from it; or, if a range is known, 2 v scaled from it to [-1, 1]
 *   f_j, b_j  a frequency, log-uniform from 0.8 to 8, and a phase
 *   a word    has a random phase of its own in each feature: a hash of the seed, column and word
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
  /* m; 0: the nearest to sqrt(rows / arms) / 2 from 4 to 32: a block has about 4 m^2 people, so that
   * its m^2 / 2 sums are known better than the noise that is added to them. */
  size_t components;
} faro_features_params;

typedef struct faro_features faro_features;

/* Length of phi, the constant too. */
size_t faro_features_count(const faro_features_params *params);

/* Refuses wrong ranges. The facts must outlive the features. Only create allocates. */
faro_status faro_features_create(faro_features **features, const faro_features_params *params,
                                 faro_error *error) FARO_WARN_UNUSED;
void faro_features_destroy(faro_features *features); /* NULL is allowed */

/* Draws the map anew. Required before apply. */
void faro_features_draw(faro_features *features, faro_sim_rng *sim);
void faro_features_apply(faro_features *features, const double *number, const uint64_t *word, double *phi);

#endif
