/* release: what every release stores, for the files that implement mechanisms and kinds. */
#ifndef FARO_RELEASE_RELEASE_H
#define FARO_RELEASE_RELEASE_H

#include "base/arena.h"
#include "random/samplers.h"
#include "release/mechanism.h"

/* The range of an entry of a message; a report adds up the messages of `users` users. */
typedef struct faro_range {
  int64_t least, most;
  uint64_t users;
} faro_range;

struct faro_release {
  const faro_release_kind *kind;
  faro_arena arena;
  faro_contribution contribution;
  faro_release_params params; /* with the batch resolved */
  faro_source source;
  faro_rng *rng;    /* stream of the source; NULL if it has none */
  bool deployed;    /* noise must be exact */
  uint64_t batches; /* M: complete batches within the horizon */
  uint64_t repeats; /* M0: the most batches that one user may be in, at most M */

  /* Set by calibration. */
  faro_claim claim;
  double mu; /* parameter of the Gaussian mechanism that all rounds of a user form; 0: unknown */
  faro_cost cost;
  double gamma, laplace, summands; /* see faro_noise */
  bool gaussian;
  double *scale;

  /* Set by the mechanism. */
  size_t shufflers;    /* 0 if nothing is shuffled */
  size_t message_size; /* size of what a user sends, all parts */
  size_t report_size;  /* size of each message or report that the server gets; 0: as the message */
  double influence;    /* see faro_release_influence */
  faro_range *range;   /* per shuffler, or a single one; NULL: messages are doubles */

  double *z;   /* scratch: the current clipped contribution */
  double *sum; /* published: noisy sum of all complete batches */
  uint64_t users;
  uint64_t waiting;   /* users in the open batch */
  faro_ledger ledger; /* charged before a batch's noise is drawn: charged = batches published */
};

/* Whether the server is trusted and adds the noise. */
static inline bool faro_server_adds_noise(const faro_release *r) {
  return r->kind->trust == FARO_TRUST_JOINT;
}

/* Whether users hide among the others of their batch. */
static inline bool faro_users_hide(const faro_release_kind *kind) {
  return kind->trust == FARO_TRUST_SHUFFLE || kind->trust == FARO_TRUST_CONCURRENT;
}

/* Refuses parameters that no release of the kind can have. */
faro_status faro_release_validate(const faro_release_kind *kind, const faro_release_params *params,
                                  faro_error *error);

/* Publishes new statistics. The B users of the open batch are in, and the ledger has been
 * charged. */
void faro_release_publish(faro_release *r);

#endif
