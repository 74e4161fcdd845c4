/* order: is the order in which a shuffler passes messages on uniformly random? Amplification rests
 * on that alone. */
#ifndef FARO_AUDIT_ORDER_H
#define FARO_AUDIT_ORDER_H

#include <faro/message.h>

typedef struct faro_order {
  bool uniform;
  double power; /* an event this many times as likely as it should be was likely to be found */
} faro_order;

/* Shuffles `users` messages `trials` times, all by the release, which must pass messages on whole.
 * A uniform order is called another with probability at most alpha. */
faro_status faro_order_audit(const faro_release *release, faro_sim_rng *stream, uint64_t users,
                             uint64_t trials, double alpha, faro_order *order,
                             faro_error *error) FARO_WARN_UNUSED;

#endif
