/* terms: how many batches a batched learner asks, and how long they are. */
#ifndef FARO_LEARNER_TERMS_H
#define FARO_LEARNER_TERMS_H

#include <stddef.h>
#include <stdint.h>

enum { FARO_TERMS_MAX = 16 };

/* What is known before anybody comes. */
typedef struct faro_terms_facts {
  double horizon, dimension;
  double prior;    /* precision of the prior in one direction */
  double slope;    /* expected slope of the link under it */
  double noise[2]; /* in a fit's gradient, per entry: over sqrt(T) people, and over T people */
  double quantile; /* arms stay within this many standard deviations */
  double typical;  /* the best of K arms is this many standard deviations above the mean */
} faro_terms_facts;

typedef struct faro_terms {
  size_t count;
  uint64_t length[FARO_TERMS_MAX];
} faro_terms;

/* The batches with the least predicted regret. Together they are shorter than the horizon, unless
 * that is below 3. */
faro_terms faro_terms_plan(const faro_terms_facts *facts);

/* The regret that is predicted, for tests. */
double faro_terms_predict(const faro_terms_facts *facts, const faro_terms *terms);

#endif
