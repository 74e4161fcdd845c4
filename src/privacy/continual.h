/* continual: the filter behind the factored mechanism, for the release that uses it. */
#ifndef FARO_PRIVACY_CONTINUAL_H
#define FARO_PRIVACY_CONTINUAL_H

#include <faro/privacy.h>

enum { FARO_FACTORED_TERMS = 24 };

/* L has ones on its diagonal and sum_j weight_j base_j^k on the k-th diagonal below it. */
void faro_factored_terms(uint64_t steps, double weight[static FARO_FACTORED_TERMS],
                         double base[static FARO_FACTORED_TERMS]);

#endif
