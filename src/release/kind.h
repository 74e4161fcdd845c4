/* kind: what a release is made of, for the files that implement one.
 *
 * A release is described by what happens to a contribution on its way:
 *
 *   absorb     add the encoded contribution to the open batch        user   (no noise yet)
 *   thicken    add the noise of all the batch's users at once        users
 *   randomize  encode one contribution and add one user's noise      user   } the same two steps,
 *   mix        what the shuffler does to a batch of messages         shuffler } message by message
 *   sound      could R and S have made this message?                 server
 *   collect    add one received message to the open batch            server
 *   publish    turn the open batch into new statistics               server
 *
 * A new release is one file with one `const faro_release_kind`, and one line in releases.def. */
#ifndef FARO_RELEASE_KIND_H
#define FARO_RELEASE_KIND_H

#include <faro/release.h>

#include "base/arena.h"
#include "random/samplers.h"

/* A vector of a release's state: one of the three kinds of numbers. */
typedef struct faro_span {
  double *real;   /* finite */
  uint64_t *ones; /* at most `most` */
  int64_t *whole; /* at most `most` in magnitude */
  size_t count;
  uint64_t most;
} faro_span;

struct faro_release_kind {
  const char *name, *summary;
  faro_trust trust;
  uint64_t least_batch; /* a shuffler needs company */
  bool exact;           /* R draws integers only, so it may be deployed */
  bool phases;          /* one batch by itself is a release: what phased learners need */
  bool assigns;         /* its shuffler tells users what to play, see faro_release_kind_assigns */
  bool
      splits; /* m of a user's M0 rounds cost at most m / M0 of the budget: so they may lie in several releases */
  size_t size;                                    /* of the state, whose first member is a faro_release */
  uint64_t (*choose_batch)(const faro_release *); /* NULL: 1 */
  faro_status (*init)(faro_release *, faro_error *);
  faro_status (*calibrate[FARO_CALIBRATION_COUNT])(faro_release *, faro_error *); /* NULL: not offered */
  void (*finish)(faro_release *); /* after calibration: what follows from it. NULL: nothing does */
  void (*absorb)(faro_release *, const double *z, faro_rng *);
  void (*absorb_secure)(faro_release *, const double *z, faro_rng *); /* in deployment; NULL: absorb */
  void (*thicken)(faro_release *, faro_sim_rng *);                    /* NULL: no noise is added to a batch */
  void (*thicken_secure)(faro_release *, faro_rng *);                 /* the same, exactly; where `exact` */
  faro_status (*vouch)(const faro_release *,
                       faro_error *); /* that the claim is for what is deployed; NULL: it is */
  faro_status (*prepare)(faro_release *, faro_error *); /* what thicken_secure needs; NULL: nothing */
  void (*randomize)(const faro_release *, const double *z, faro_rng *, void *message);
  void (*mix)(const faro_release *, void *batch, faro_rng *); /* NULL: no shuffler */
  bool (*task)(const faro_release *, size_t level,
               faro_shuffler_task *); /* see faro_release_task; NULL: none */
  size_t (*due)(
      const faro_release *); /* reports of the open batch that the server waits for; NULL: every message */
  bool (*sound)(const faro_release *, size_t index, const void *message); /* within what R and S can send */
  void (*range)(const faro_release *, size_t level, int64_t *least,
                int64_t *most); /* see faro_release_range; NULL: whatever fits */
  void (*collect)(faro_release *, size_t index, const void *message);
  void (*publish)(faro_release *, faro_sim_rng *);
  const uint64_t *(*report)(const faro_release *, size_t level); /* see faro_release_report; NULL: none */
  bool (*gaussian)(const faro_release *, double move, double *mu,
                   double *slack);           /* see faro_release_gaussian; NULL: by `mu` */
  double (*share)(const faro_release *);     /* of `scale`, that the sum published now has; NULL: all of it */
  double (*influence)(const faro_release *); /* see faro_release_influence; NULL: no bound */
  bool saves;                                /* see faro_release_save */
  bool (*span)(const faro_release *, size_t index,
               faro_span *); /* of the state, between batches, besides sum and
                                                                    ledger; false: no more. NULL: none */
  void (*resume)(
      faro_release *); /* after these were loaded: all that follows from them. NULL: nothing does */
};

struct faro_release {
  const faro_release_kind *kind;
  faro_arena arena;
  faro_contribution contribution;
  faro_release_params params; /* batch resolved */
  faro_release_params asked;  /* as given, for the successor */
  faro_contribution asked_contribution;
  bool vouched;     /* for, once */
  bool prepared;    /* for absorb_secure */
  uint64_t batches; /* M: complete batches within the horizon */
  uint64_t repeats; /* M0: batches that one user may be in, at most M */
  faro_claim claim;
  double mu; /* all rounds of a user are a Gaussian mechanism with it; 0: they are not, or nobody asked */
  faro_cost cost;
  double gamma;
  bool gaussian;
  double laplace, summands; /* see faro_noise */
  size_t shufflers;         /* 0 where nothing is shuffled */
  size_t message_size;      /* what a user sends, all parts */
  size_t report_size;       /* of what the server gets, each; as the message's when 0 */
  double *z;                /* scratch: the clipped contribution at hand */
  double *scale;            /* see faro_noise */

  double *sum;     /* published: noisy sum of all complete batches */
  double *carried; /* what the releases before this one ended with, see faro_release_double; NULL: none */
  double *carried_scale, *total, *total_scale; /* carried and own together */
  double carried_laplace, carried_summands;
  uint64_t carried_users;
  uint64_t users;
  uint64_t waiting;   /* users in the open batch */
  faro_ledger ledger; /* charged before a batch's noise is drawn: charged = releases made */
};

/* State of a release of real-valued messages (real.c). */
typedef struct faro_real {
  faro_release release;
  double *open; /* sum of the open batch */
  double *sd;   /* Gaussian noise per entry: of a user (local, amplified) or of a node (tree) */
} faro_real;

faro_status faro_real_init(faro_release *r, faro_error *error);
void faro_real_absorb(faro_release *r, const double *z, faro_rng *rng);
bool faro_real_sound(const faro_release *r, size_t index, const void *message);
void faro_real_collect(faro_release *r, size_t index, const void *message);
void faro_real_publish(faro_release *r, faro_sim_rng *sim);
void faro_plain_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message);
void faro_gaussian_thicken(faro_release *r, faro_sim_rng *sim);
void faro_laplace_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message);
void faro_laplace_thicken(faro_release *r, faro_sim_rng *sim);
/* A uniform permutation of the batch. */
void faro_real_mix(const faro_release *r, void *batch, faro_rng *rng);
/* The batch that balances the noise of amplified messages and users not seen yet (amplified.c). */
uint64_t faro_amplified_batch(const faro_release *r);

/* What kinds of real-valued messages have in common, whose sums just add up. */
#define FARO_REAL_KIND                                                                                       \
  .size = sizeof(faro_real), .init = faro_real_init, .absorb = faro_real_absorb, .sound = faro_real_sound,   \
  .collect = faro_real_collect, .publish = faro_real_publish

/* Sets the Gaussian noise of a user or node: sigma for every entry of x y, and for those of the Gram
 * matrix times `on` on its diagonal and `off` beside it. */
void faro_set_gaussian(faro_release *r, double sigma, double on, double off);
/* scale = sd times `factor`, for every entry. */
void faro_set_scale(faro_release *r, double factor);

/* Bound on a user's influence on the sum, in units of the noise: sqrt(sum_j (dz_j / sd_j)^2) over
 * neighbouring inputs, when Gram noise is `on`/`off` times sigma. */
double faro_gaussian_shift(const faro_release *r, double sigma, double on, double off);

/* Sets Laplace noise of scale b for every entry, of a user or, for a trusted server, of a batch; and the scale. */
void faro_set_laplace(faro_release *r, double b);

/* Laplace noise for the whole of epsilon, delta 0. */
faro_status faro_laplace_calibrate(faro_release *r, faro_error *error);

/* What each of the M0 batches that one user may be in can spend (returning.c). */
typedef struct faro_budget {
  double epsilon, delta;
} faro_budget;

faro_budget faro_advanced_share(const faro_release *r); /* by advanced composition, as 000 has it */
faro_budget faro_composed_share(const faro_release *r); /* by the accountant */

/* The classical Gaussian mechanism, S sqrt(2 ln(1.25/delta)) / epsilon. For a vector of s numbers in an interval of width
 * w = 2 B, S = w sqrt(s): sigma_nc and sigma_nl of 002 (on the sum, not the mean). Its theorem ends at epsilon = 1, so
 * whoever uses it asks the exact mechanism what it proves. */
double faro_classical_sigma(const faro_release *r, faro_budget each);

/* Of `batches` batches of so many users, those whose noise the claim counts on: whole ones, and one at least. */
double faro_honest(const faro_release *r, uint64_t batches, double users);

/* compute(r), which depends on epsilon, delta, batch, crowd, repeats and honest alone: the last answers are kept (kept.c). */
double faro_kept(const faro_release *r, double (*compute)(const faro_release *));

#endif
