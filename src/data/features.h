/* features: from a person's raw row to a few numbers, in a way that does not look at the data.
 *
 *   z = scaled numbers and words, projected;   phi = (clip(z), 1) / sqrt(2),   so ||phi|| <= 1
 *
 * A scaled number is in [-1, 1]; a word is a random direction of its own, drawn by a hash of the
 * seed, the column and the word. If there are no more numbers than components, and no words, z has
 * the numbers themselves; else it is a Gaussian projection. Everything follows from the seed and
 * from what is declared, so the map costs no privacy: except under FARO_SCALING_PUBLIC, which uses
 * the columns' ranges in the file, and says so in the claim. */
#ifndef FARO_DATA_FEATURES_H
#define FARO_DATA_FEATURES_H

#include <faro/random.h>
#include <faro/rows.h>

/* Where the ranges of numbers come from. */
#define FARO_SCALING_LIST(X)                                                                                 \
  X(NONE, "none")         /* numbers are in [-1, 1] as they are; what is outside is clipped */               \
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
  size_t components;  /* length of z; 0: the numbers themselves if they are few, else 8 */
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
