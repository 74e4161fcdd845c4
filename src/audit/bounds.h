/* bounds: Clopper and Pearson's confidence bounds on a probability, from `hits` of `n` independent trials.
 * Each holds with probability 1 - alpha at least. */
#ifndef FARO_AUDIT_BOUNDS_H
#define FARO_AUDIT_BOUNDS_H

#include <stdint.h>

double faro_proportion_low(uint64_t hits, uint64_t n, double alpha);
double faro_proportion_high(uint64_t hits, uint64_t n, double alpha);

#endif
