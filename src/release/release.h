/* release: what every release stores, for the files that implement mechanisms and kinds. */
#ifndef FARO_RELEASE_RELEASE_H
#define FARO_RELEASE_RELEASE_H

#include "base/arena.h"
#include "random/samplers.h"
#include "release/mechanism.h"
#include "release/schedule.h"

/* The range of an entry of a message; a report adds up the messages of `users` users. */
typedef struct faro_range {
  int64_t least, most;
  uint64_t users;
} faro_range;

struct faro_release {
  const faro_release_kind *kind;
  faro_arena arena;
  faro_contribution contribution; /* weighed, if the kind weighs */
  faro_release_params params;     /* with the schedule resolved */
  faro_schedule schedule;
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
  double *scale;             /* in units of z until the release is built */
  double ratio, fresh_ratio; /* see faro_noise: of the newest sum, and of the newest batch */
  bool dependent;            /* see faro_noise */
  double *factor;            /* per class of batches: of each user's noise; NULL: 1 */
  double answer;             /* see faro_noise, in units of z */

  /* Set by the mechanism. */
  size_t shufflers;    /* 0 if nothing is shuffled */
  size_t message_size; /* size of what a user sends, all parts */
  size_t report_size;  /* size of each message or report that the server gets; 0: as the message */
  double influence;    /* see faro_release_influence */
  /* Per shuffler, or a single one; NULL: messages are doubles. If `ranges` is above 1, all of these
   * for each class of batches. */
  faro_range *range;
  size_t ranges;

  double *z;       /* scratch: the current clipped contribution */
  const double *x; /* the features it was made from, while it is absorbed */
  double *sum;     /* noisy sum of all complete batches, in units of z */
  double *unit;    /* noise of one user, batch or node per entry, in units of z; bits: 1 */
  /* Set by publish, in units of unit^2: the variance of the newest sum, and of the newest batch by
   * itself. */
  double variance, fresh;

  /* What is published, in original units. Without weights `published` is `sum`. */
  double *unweight, *published, *block;
  double *before; /* adaptive sizes only: the block before */
  double widest;  /* the greatest of `unweight` */
  double *at;     /* linearised moments only: the point */
  /* Simulated, plain moments only: the contribution and the features of the last person; these
   * clipped, if they came `again`. */
  double *last, *last_x, *clipped;
  bool again;
  /* No noise, moments in one block and linear rewards only: the features of the open batch while
   * all of them are the same (`alike`), the sum of their rewards; what the newest batch added. */
  double *same, *more; /* scratch after `more` */
  double same_y, more_y;
  uint64_t more_users; /* 0: it added more than one direction */
  bool alike;
  bool has_block;      /* the newest batch by itself is known: not after a state was loaded */
  double *now, *alone; /* scales of the newest sum and of the newest batch */
  uint64_t users;
  uint64_t open;      /* the open batch, from 0; the last one when all are published */
  uint64_t size;      /* users of the open batch */
  uint64_t waiting;   /* users in the open batch */
  faro_ledger ledger; /* charged before a batch's noise is drawn: charged = batches published */
};

/* Noise of a user of batch k, relative to the largest. */
static inline double faro_noise_factor(const faro_release *r, uint64_t k) {
  return r->factor ? r->factor[faro_schedule_class(&r->schedule, k)] : 1;
}

/* Whether the server is trusted and adds the noise. */
static inline bool faro_server_adds_noise(const faro_release *r) {
  return r->kind->trust == FARO_TRUST_JOINT;
}

/* Whether users hide among the others of their batch. */
static inline bool faro_users_hide(const faro_release_kind *kind) {
  return kind->trust == FARO_TRUST_SHUFFLE || kind->trust == FARO_TRUST_CONCURRENT;
}

/* Whether the shuffler assigns the actions of a crowd and keeps them secret. */
static inline bool faro_actions_are_secret(const faro_release *r) {
  return r->kind->assigns && r->params.secret && r->params.crowd > 0;
}

/* Refuses parameters that no release of the kind can have. */
faro_status faro_release_validate(const faro_release_kind *kind, const faro_release_params *params,
                                  faro_error *error);

/* Publishes new statistics. The B users of the open batch are in, and the ledger has been
 * charged. */
void faro_release_publish(faro_release *r);
/* Brings the newest sum and its scale to original units. */
void faro_release_show(faro_release *r);
/* Opens batch k, or the last one if there are fewer. */
void faro_release_open(faro_release *r, uint64_t k);

#endif
