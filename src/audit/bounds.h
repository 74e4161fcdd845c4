/* bounds: confidence bounds on a probability from `hits` of `n` independent trials (Clopper &
 * Pearson 1934). Each holds with probability at least 1 - alpha. */
#ifndef FARO_AUDIT_BOUNDS_H
#define FARO_AUDIT_BOUNDS_H

#include <stdint.h>

double faro_proportion_low(uint64_t hits, uint64_t n, double alpha);
double faro_proportion_high(uint64_t hits, uint64_t n, double alpha);

#endif
