/* shrink: eigenvalues of a released Gram matrix, without what noise alone would scatter. */
#ifndef FARO_LEARNER_SHRINK_H
#define FARO_LEARNER_SHRINK_H

#include <stddef.h>

/* g: d eigenvalues, descending, of a matrix with noise of standard deviation s on its diagonal and
 * s / sqrt(2) beside it. Shrinks those that noise explains towards their mean, and cuts them at 0.
 * Returns the share of the noise that is left, and how many stand out (may be NULL). */
double faro_shrink(size_t d, double *g, double s, size_t *out);

#endif
