/* release: private prefix sums of bounded contributions.
 *
 * A user's contribution z goes through a randomizer R on the user's side, a shuffler S (where the
 * trust model has one) and an analyzer A on the server:
 *
 *     z --R--> message --S--> shuffled batch --A--> statistics: the noisy sum of all z so far
 *
 * A release owns its noise, its trust model and its claim. After every batch of B users it publishes
 * new statistics, and that is all a learner gets to see.
 *
 * Two ways lead to the same distribution of statistics:
 *   - messages: faro_release_randomize, _shuffle, _analyze, as separate parties would run them;
 *   - whole batches: faro_release_absorb for each user, which closes the batch at the B-th, adding
 *     the noise of all its users in one draw. Simulations use this one. */
#ifndef FARO_RELEASE_H
#define FARO_RELEASE_H

#include <faro/privacy.h>
#include <faro/random.h>
#include <faro/statistics.h>

/* What z is made of; y is used by moments alone. */
typedef enum faro_form {
  FARO_FORM_MOMENTS, /* ( vech(x x'), x y ) */
  FARO_FORM_GRAM,    /* vech(x x') */
  FARO_FORM_VALUES,  /* x, every entry clipped to [low, high] on its own */
  FARO_FORM_BALL     /* x, scaled back to `norm` */
} faro_form;

/* What one user adds: z = ( vech(x x'), x y ) or a part of it, packed as in linalg.h. Features longer than `norm` are
 * scaled back to it and rewards clipped to [low, high] before anything else happens; features that are not finite count
 * as zero, and a reward that is no number as `low`. Every release clips by itself: it takes x and y, never a finished
 * z. */
typedef struct faro_contribution {
  faro_form form;
  bool binary;      /* of values: every entry is one of the two ends */
  size_t dimension; /* d, of x */
  size_t gram;      /* d (d+1) / 2: the entries of vech(x x'); 0 where z is x itself */
  size_t length;    /* of z */
  double norm, low, high;
  double entry;       /* no entry of z exceeds this in magnitude */
  double sensitivity; /* L2: replacing one user moves z by no more */
  double absolute;    /* L1: the same; for plain vectors exact, else by Cauchy and Schwarz from L2 */
} faro_contribution;

FARO_API faro_status faro_contribution_init(faro_contribution *c, size_t dimension, double norm, double low,
                                            double high, faro_error *error) FARO_WARN_UNUSED;
/* A plain vector of `count` numbers within [-1/2, 1/2] each (whoever has other intervals shifts and scales), for sums
 * that are wanted for their own sake; `binary`: each one of -1/2 and 1/2, else rounded to the nearer one. */
FARO_API faro_status faro_contribution_values(faro_contribution *c, size_t count, bool binary,
                                              faro_error *error) FARO_WARN_UNUSED;
/* vech(x x') alone, for ||x|| <= norm. */
FARO_API faro_status faro_contribution_gram(faro_contribution *c, size_t dimension, double norm,
                                            faro_error *error) FARO_WARN_UNUSED;
/* A plain vector of `count` numbers with ||x|| <= radius. */
FARO_API faro_status faro_contribution_ball(faro_contribution *c, size_t count, double radius,
                                            faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_contribution_make(const faro_contribution *c, const double *x, double y, double *z);

typedef struct faro_release_params {
  double epsilon, delta;
  uint64_t horizon;   /* T: users in all */
  uint64_t batch;     /* B: users between two releases; 0 lets the release choose */
  uint64_t shufflers; /* k, of concurrent-bits alone; 0: log2(T) - 1 */
  faro_level level;
  uint64_t contributions; /* M0, user level: the most rounds of one user, no two of them in one batch; 0: 1 */
  uint64_t crowd; /* users of all releases that one shuffler serves together, as in a phase; 0: of this one */
  uint64_t
      grid; /* of bit sums under tight: steps of an entry; coarser means fewer bits and more noise; 0: fine */
  /* Share of a batch's users who are sure to be people and to add their noise; 0: 1. Where users hide among each other, the
   * claim counts on so many of each batch, rounded down, and no more; under `tight` only. */
  double honest;
  bool anytime; /* the horizon is only the first one, see faro_release_double */
  faro_calibration calibration;
} faro_release_params;

/* What it costs a user to take part. */
typedef struct faro_cost {
  double bits;     /* sent by a user */
  double messages; /* that a user hands to the shuffler; 0 without one */
} faro_cost;

typedef struct faro_release faro_release;
typedef struct faro_release_kind faro_release_kind;

/* The registry, in the order of releases.def. */
FARO_API size_t faro_release_kinds(void);
FARO_API const faro_release_kind *faro_release_kind_at(size_t index);
FARO_API const faro_release_kind *faro_release_kind_find(const char *name);
FARO_API const char *faro_release_kind_name(const faro_release_kind *kind);
FARO_API const char *faro_release_kind_summary(const faro_release_kind *kind);
FARO_API faro_trust faro_release_kind_trust(const faro_release_kind *kind);
FARO_API bool faro_release_kind_calibrates(const faro_release_kind *kind, faro_calibration calibration);

/* Whether a phased learner can use it (a release of one batch for each phase), or any other. */
FARO_API bool faro_release_kind_takes(const faro_release_kind *kind, bool phased);
/* Whether its shuffler assigns the actions, and so knows who plays what, while the server does not (003 Alg. 3). */
FARO_API bool faro_release_kind_assigns(const faro_release_kind *kind);

/* Whether its messages are numbers of ones, which shufflers add up (faro_shuffler); else they are passed on whole. */
FARO_API bool faro_release_kind_counts(const faro_release_kind *kind);

/* FARO_INVALID names the parameter, its value and what is allowed. */
FARO_API faro_status faro_release_create(faro_release **release, const faro_release_kind *kind,
                                         const faro_contribution *contribution,
                                         const faro_release_params *params,
                                         faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_release_destroy(faro_release *release);

FARO_API const faro_claim *faro_release_claim(const faro_release *release);
FARO_API faro_noise faro_release_noise(const faro_release *release);
FARO_API faro_cost faro_release_cost(const faro_release *release);
FARO_API uint64_t faro_release_batch(const faro_release *release);
FARO_API faro_statistics faro_release_statistics(const faro_release *release);
/* The scale (see faro_noise) of the noise in one entry of the sum that is published now; at most that of
 * faro_release_noise. */
FARO_API double faro_release_scale(const faro_release *release, size_t entry);
/* The Gaussian mechanism (privacy.h) that dominates all that one user's data does to the whole release, all rounds of the
 * user together, when each round's contribution moves by at most `move` in L2: mu, and the delta that this costs besides.
 * False where none is known. At `move` = the sensitivity it is what the claim rests on; with it unlike releases on the
 * same users can be added up better than by their claims (mu^2 adds, and slacks do). */
FARO_API bool faro_release_gaussian(const faro_release *release, double move, double *mu, double *slack);
/* All batches of the horizon are released: whatever is absorbed from now on stays unseen. */
FARO_API bool faro_release_spent(const faro_release *release);

/* Doubling: replaces a release that is spent by one with twice its horizon, whose sums go on from the last ones. Each
 * round is in one of them, so the claim stays; at user level M0 bounds a user's rounds in all of them together
 * (docs/privacy.md). On failure the old one stays. FARO_INVALID where params.anytime was not set, and where a claim
 * that was proven would not be for the longer horizon. */
FARO_API faro_status faro_release_double(faro_release **release, faro_error *error) FARO_WARN_UNUSED;

/* User level: remembers who has contributed how often, so that nobody does beyond the bound that the noise was made
 * for. Users are 0 .. users - 1; batches are counted from 0 and never go back. */
typedef struct faro_gate faro_gate;

FARO_API faro_status faro_gate_create(faro_gate **gate, uint64_t users, uint64_t contributions,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_gate_destroy(faro_gate *gate);
/* FARO_OK: the user may contribute to the batch now, and this is counted. FARO_INVALID, and nothing counted: the user has
 * contributed as often as is allowed, or is in this batch already; what they bring must not be absorbed. */
FARO_API faro_status faro_gate_admit(faro_gate *gate, uint64_t user, uint64_t batch,
                                     faro_error *error) FARO_WARN_UNUSED;

/* Whole batches. Adds one user; true when that closed a batch and new statistics are out. */
FARO_API bool faro_release_absorb(faro_release *release, const double *x, double y, faro_sim_rng *sim);

/* The same for deployment: all noise in integers, from a secure stream. Prepare comes first; it refuses a release whose
 * noise is a floating-point number, and one whose claim was not shown to hold in whole numbers (Gaussian noise: other
 * calibrations than `tight`). Gaussian noise on a grid has a standard deviation larger than faro_release_noise says by
 * a millionth, or by what rounding to the grid costs where noise is very large (at most one per cent). */
FARO_API bool faro_release_kind_exact(const faro_release_kind *kind);
FARO_API faro_status faro_release_vouch(faro_release *release, faro_error *error)
    FARO_WARN_UNUSED; /* only what prepare would refuse */
FARO_API faro_status faro_release_prepare(faro_release *release, faro_error *error) FARO_WARN_UNUSED;
FARO_API bool faro_release_absorb_secure(faro_release *release, const double *x, double y,
                                         faro_secure_rng *secure);

/* A shuffler: collects the messages that users send it, adds up the ones of each entry (which is all that mixing bits
 * of one label leaves of them), and speaks once, when as many users have sent as it was told to wait for.
 *
 *            activate(task)             accept, the size-th            report
 *   INACTIVE ---------------> ACTIVE ----------------------> FULL --------------> INACTIVE
 *                             accept |_^
 *
 * The server gives out the task, and may choose it by what it has seen before: how many users, and what they send. */
typedef enum faro_shuffler_phase {
  FARO_SHUFFLER_INACTIVE,
  FARO_SHUFFLER_ACTIVE,
  FARO_SHUFFLER_FULL
} faro_shuffler_phase;

typedef struct faro_shuffler_task {
  uint64_t size;       /* users to wait for; one alone would not be hidden, so releases ask for two */
  uint64_t grid, bits; /* the encoder: an entry is up to `grid` ones, and `bits` noise bits */
} faro_shuffler_task;

typedef struct faro_shuffler faro_shuffler;
FARO_API faro_status faro_shuffler_create(faro_shuffler **shuffler, size_t length,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_shuffler_destroy(faro_shuffler *shuffler);
FARO_API faro_shuffler_phase faro_shuffler_phase_of(const faro_shuffler *shuffler);
/* Each refuses, and changes nothing, in any phase but its own. */
FARO_API faro_status faro_shuffler_activate(faro_shuffler *shuffler, const faro_shuffler_task *task,
                                            faro_error *error) FARO_WARN_UNUSED;
/* One user's part: `length` numbers of ones. More ones than the task has bits are cut. */
FARO_API faro_status faro_shuffler_accept(faro_shuffler *shuffler, const uint64_t *part,
                                          faro_error *error) FARO_WARN_UNUSED;
/* Hands out the totals and forgets them. */
FARO_API faro_status faro_shuffler_report(faro_shuffler *shuffler, uint64_t *total,
                                          faro_error *error) FARO_WARN_UNUSED;

/* Several shufflers at once. A message then has a part for each of the k shufflers, lowest first, zero for those that
 * are not active; what the analyzer gets is the reports of those that became full with the open batch, lowest first. */
FARO_API size_t faro_release_shufflers(const faro_release *release); /* k; 0 where nothing is shuffled */
/* Whether shuffler `level` starts anew with the open batch, and with which task. */
FARO_API bool faro_release_task(const faro_release *release, size_t level, faro_shuffler_task *task);
/* What shuffler `level` reported at the end of the last batch: ones of each entry; NULL: nothing. All that leaves it. */
FARO_API const uint64_t *faro_release_report(const faro_release *release, size_t level);
/* How many of them will report at the end of the open batch. */
FARO_API size_t faro_release_due(const faro_release *release);

/* Messages. All are of one size; `batch` holds B of them one after another.
 * For deployment R and S take a secure stream, and R refuses what prepare refuses. The same R and S in a simulation are
 * _rehearse and _rehearse_shuffle. */
FARO_API size_t faro_release_message_size(const faro_release *release);
/* The most by which one message, whatever a client puts into it, can move an entry of the published sum away from what it
 * would be with a message of zero; what exceeds it is refused or cut. INFINITY where messages are not bounded. */
FARO_API double faro_release_influence(const faro_release *release);
/* A message is message_size / 8 numbers: whole ones (unsigned ones of bits; signed steps of a grid) where R may be
 * deployed, doubles elsewhere. As doubles: */
FARO_API void faro_release_numbers(const faro_release *release, const void *message, double *numbers);
FARO_API faro_status faro_release_randomize(faro_release *release, const double *x, double y,
                                            faro_secure_rng *secure, void *message,
                                            faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_release_rehearse(faro_release *release, const double *x, double y, faro_sim_rng *sim,
                                    void *message);
/* What an entry of the part for shuffler `level` (0 where there is none) can be, in a message that R made; analyze refuses,
 * or S cuts, what is beyond. */
FARO_API void faro_release_range(const faro_release *release, size_t level, int64_t *least, int64_t *most);
/* S: turns the batch of B messages into what the analyzer may see, and returns how many messages those are. A message
 * beyond its range is cut to it. 0, and nothing done, where there are several shufflers: see faro_shuffler. */
FARO_API size_t faro_release_shuffle(const faro_release *release, void *batch, faro_secure_rng *secure);
FARO_API size_t faro_release_rehearse_shuffle(const faro_release *release, void *batch, faro_sim_rng *sim);
/* A: publishes new statistics from a shuffled batch. Refused, with nothing changed: a batch that is not whole, a
 * message out of range, a batch beyond the horizon. `sim` is for releases whose noise the server adds; others may be
 * given NULL. */
FARO_API faro_status faro_release_analyze(faro_release *release, const void *batch, size_t count,
                                          faro_sim_rng *sim, faro_error *error) FARO_WARN_UNUSED;

/* The same for deployment, after prepare (or vouch, where the server adds no noise): that noise comes from the secure
 * stream. */
FARO_API faro_status faro_release_analyze_secure(faro_release *release, const void *batch, size_t count,
                                                 faro_secure_rng *secure, faro_error *error) FARO_WARN_UNUSED;

/* State: all that the server must remember of a release to go on after a restart, at the border of two batches. Loaded into
 * a release that was just made from the same contribution and parameters, it does bit by bit what the old one would have
 * done. Not for every kind: state_size is 0, and save refuses, where it is not offered, and for a release that has doubled
 * its horizon. Save refuses while a batch is open. Load refuses, with nothing changed, whatever save cannot have written for
 * such a release: another size, version, kind or parameter, more batches than are allowed, numbers out of range.
 * Where the server is trusted (joint) a state holds raw sums: it is to be kept as the data are. */
FARO_API size_t faro_release_state_size(const faro_release *release);
FARO_API faro_status faro_release_save(const faro_release *release, void *state,
                                       faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_release_load(faro_release *release, const void *state, size_t size,
                                       faro_error *error) FARO_WARN_UNUSED;

#endif
