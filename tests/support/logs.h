/* logs: simulated logs of policies whose true value is known.
 *
 * A world has CONTEXTS contexts, equally likely, each with features x; arm a in context k pays 1
 * with probability mean[k][a]. A logging policy and a target policy are tables of probabilities. So
 * the target policy's value is a finite sum, and no estimate of it is needed. */
#ifndef FARO_TESTS_LOGS_H
#define FARO_TESTS_LOGS_H

#include <faro/faro.h>

enum { LOG_CONTEXTS = 16, LOG_ARMS = 4, LOG_FEATURES = 2 };

typedef struct log_world {
  double x[LOG_CONTEXTS][LOG_FEATURES];
  double mean[LOG_CONTEXTS][LOG_ARMS];
  double logging[LOG_CONTEXTS][LOG_ARMS]; /* what the log's policy does ... */
  double stated[LOG_CONTEXTS][LOG_ARMS];  /* ... and the propensities that the log states */
  double target[LOG_CONTEXTS][LOG_ARMS];
  size_t rows_each; /* rows of a person; 0: 1. A person stays in one context and has a taste */
} log_world;

/* A world with rewards that are linear in the features (or not: `bent`), a logging policy softmax
 * of `sharp` times a score that prefers bad arms, and a target policy that plays the best arm with
 * probability `sure`. */
log_world log_world_make(double sharp, double sure, bool bent);
/* The propensities that the log states are those of another sharpness. */
void log_world_misstate(log_world *w, double sharp);
double log_world_value(const log_world *w); /* of the target policy */
double log_world_logged(const log_world *w);

/* One row. The pointers of *row are into the world; *context is for models. */
void log_draw(const log_world *w, faro_sim_rng *rng, uint64_t person, size_t *context, faro_logged *row);

#endif
