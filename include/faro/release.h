/* release: private prefix sums of bounded contributions.
 *
 * A user's contribution z goes through a randomizer R on the user's side, a shuffler S (if the
 * trust model has one) and an analyzer A on the server:
 *
 *     z --R--> message --S--> shuffled batch --A--> statistics: the noisy sum of all z so far
 *
 * A release owns its noise, its trust model and its claim. After every batch of B users it
 * publishes new statistics, and that is all a learner sees.
 *
 *     faro_release *release;
 *     faro_release_params params = {.epsilon = 1, .delta = 1e-6, .horizon = 100000, .batch = 500,
 *                                   .calibration = FARO_CALIBRATION_TIGHT};
 *     faro_source source = faro_source_simulated(&sim);
 *     if (faro_release_create(&release, &faro_release_shuffle_bits, &contribution, &params, source,
 *                             &error) != FARO_OK) ...
 *     for (each user)
 *       if (faro_release_absorb(release, x, y)) use(faro_release_statistics(release));
 *     faro_release_destroy(release);
 *
 * The source (random.h) decides at creation what a release is for: answering questions, simulation,
 * or one or all parties of a deployment. There are two ways to run it, with the same distribution
 * of statistics: whole batches, as above, and messages between separate parties (message.h).
 *
 * The caller owns the release and the stream of its source. Use a release in one thread at a time.
 * Only create allocates memory. */
#ifndef FARO_RELEASE_H
#define FARO_RELEASE_H

#include <faro/contribution.h>
#include <faro/privacy.h>
#include <faro/random.h>
#include <faro/statistics.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_release_params {
  double epsilon, delta;
  uint64_t horizon; /* T: users in all */
  uint64_t batch;   /* users of the first batch; 0 lets the release choose the schedule */
  /* The next sum is published when the users have grown by this factor. 1: all batches are alike.
   * 0: 1, or what the release chooses where batch is 0. Above 1 under `tight` only. */
  double growth;
  uint64_t largest;   /* the most users of a batch that has grown; 0: no bound, or what the release chooses */
  bool adversarial;   /* contexts may change at any time: batches that the release chooses stay shorter */
  uint64_t shufflers; /* concurrent-bits only: k; 0: log2(T) - 1 */
  faro_level level;
  uint64_t contributions; /* user level only: M0, the most rounds of a user, one per batch; 0: 1 */
  uint64_t crowd;         /* users of all releases that one shuffler serves at once, as in a phase; 0: B */
  /* Kinds that assign only: nobody ever learns who plays what, so users hide in the crowd and not
   * only among those with the same action. The claim then says that actions must stay hidden. */
  bool secret;
  uint64_t grid; /* bits under tight only: steps per entry; fewer bits, more noise; 0: many */
  /* Share of a batch's users who are certain to add their noise; 0: 1. If users hide among each
   * other, the claim counts on this many users per batch, rounded down. Below 1 under `tight`
   * only. */
  double honest;
  bool anytime; /* the horizon is only the first one, see doubling.h */
  /* The size of each batch, between batch and largest, follows from what was published before. For
   * kinds that adapt, under `tight`, in simulation. */
  bool adaptive;
  /* Above 0: the epsilon of one user's messages by themselves, at delta; that of the claim then
   * follows, and `epsilon` is not read. shuffle-bits and shuffle-gaussian under `paper`, on
   * moments, without `anytime`. */
  double local_epsilon;
  faro_calibration calibration;
} faro_release_params;

/* What taking part costs a user. */
typedef struct faro_cost {
  double bytes;    /* of a user's reports, as they are sent (docs/protocol.md) */
  double bits;     /* of information in them, as papers count */
  double messages; /* to the shuffler, as papers count: each bit of a bit sum is one; else 0 */
} faro_cost;

typedef struct faro_release faro_release;
typedef struct faro_mechanism faro_mechanism; /* what happens to a contribution; private */

/* A release kind is a row of data: a mechanism, who is trusted, and how the noise is calibrated.
 * The functions are private; faro_release_create calls them. */
typedef struct faro_release_kind {
  const char *name;     /* as written in experiments */
  const char *summary;  /* one line for lists */
  const char *cite;     /* author and year, see docs/references.md; NULL: no paper */
  faro_trust trust;     /* who may see raw contributions */
  uint64_t least_batch; /* 2 if users hide among each other */
  bool phases;          /* a release may consist of a single batch, as phased learners need */
  bool splits;          /* a user's M0 rounds may be in several releases, and keep within the budget */
  bool assigns;         /* the shuffler may assign the actions, so that the server does not know them */
  bool weighs;          /* under tight, contributions are weighed (faro_contribution_weigh) */
  bool blocks;          /* the noise of each batch is independent of that of the others */
  bool adapts;          /* params.adaptive is possible */
  const faro_mechanism *mechanism;
  const struct faro_release_kind *alternative; /* under tight, made in its place where it has less noise */
  /* Optional. How the batches form a tree; NULL: one level. Bits only. */
  faro_status (*shape)(const faro_release *release, size_t *levels, uint64_t *degree, faro_error *error);
  /* At least one. Sets the noise and the claim; NULL: the calibration is not offered. */
  faro_status (*calibrate[FARO_CALIBRATION_COUNT])(faro_release *release, faro_error *error);
  /* Optional. Sets batch, growth and largest where params.batch is 0; NULL: batches of 1. */
  void (*choose_schedule)(const faro_release *release, faro_release_params *params);
} faro_release_kind;

/* The registry: faro_release_central, faro_release_shuffle_bits and so on, in the order of
 * releases.def. */
#define RELEASE(id) FARO_API extern const faro_release_kind faro_release_##id;
#include <faro/releases.def>
#undef RELEASE

enum { FARO_RELEASES_MAX = 64 };

FARO_API size_t faro_release_kinds(void);
/* NULL if there is no such kind. */
FARO_API const faro_release_kind *faro_release_kind_at(size_t index);
FARO_API const faro_release_kind *faro_release_kind_find(const char *name);
FARO_API bool faro_release_kind_calibrates(const faro_release_kind *kind, faro_calibration calibration);
/* Whether it computes in whole numbers only, so that it can be deployed and saved. */
FARO_API bool faro_release_kind_exact(const faro_release_kind *kind);
/* Writes the names of the kinds that can be deployed, in the order of the registry. Returns their
 * number. */
FARO_API size_t faro_release_deployable(const char *names[FARO_RELEASES_MAX]);

/* FARO_INVALID with a message that names the parameter, its value and what is allowed. A kind of
 * NULL, as faro_release_kind_find returns it, is refused too.
 *
 * A source for deployment is refused if the noise would be a floating-point number, or if the claim
 * could not be proven for noise in whole numbers (Gaussian noise: calibrations other than `tight`).
 * Deployed Gaussian noise is on a grid: its standard deviation exceeds that of faro_release_noise
 * by a millionth, or, if the noise is very large, by what rounding to the grid costs, at most one
 * per cent. */
FARO_API faro_status faro_release_create(faro_release **release, const faro_release_kind *kind,
                                         const faro_contribution *contribution,
                                         const faro_release_params *params, faro_source source,
                                         faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_release_destroy(faro_release *release); /* NULL is allowed */

/* The parameters of one batch of `users` by itself, where a user's rounds may be in several such
 * releases (docs/privacy.md, Lemma P). */
FARO_API faro_release_params faro_release_alone(const faro_release_params *params, uint64_t users);

/* Adds one user, after clipping. Returns true if this completed a batch, so that new statistics
 * have been published. For sources that play all parties, simulated or deployed. With other
 * sources, and beyond the horizon, it does nothing and returns false. */
FARO_API bool faro_release_absorb(faro_release *release, const double *x, double y);
/* The same for `users` users who contribute alike, at most as many as are missing: fast predictions
 * play a few people in the place of many. Simulation only. */
FARO_API bool faro_release_absorb_alike(faro_release *release, const double *x, double y, uint64_t users);
/* Whether these users take the same random numbers as they would one by one, so that the sums are
 * the same, but for rounding. */
FARO_API bool faro_release_alike_exactly(const faro_release *release);
/* How many users the open batch still waits for; 0: all batches have been published. */
FARO_API uint64_t faro_release_missing(const faro_release *release);

/* Linearised moments only: sets the point for the users from now on, scaled back to the bound. It
 * must be public: a published policy, or what follows from one. Set it between two batches. */
FARO_API void faro_release_linearise(faro_release *release, const double *point);

FARO_API faro_statistics faro_release_statistics(const faro_release *release);
/* True if all batches of the horizon have been published: nothing that is absorbed from now on will
 * be. */
FARO_API bool faro_release_spent(const faro_release *release);

/* Questions that any release answers. */
FARO_API const faro_claim *faro_release_claim(const faro_release *release);
FARO_API faro_noise faro_release_noise(const faro_release *release);
FARO_API faro_cost faro_release_cost(const faro_release *release);
/* Users of the first batch, and of batch k, from 0; how many batches there are. */
FARO_API uint64_t faro_release_batch(const faro_release *release);
FARO_API uint64_t faro_release_batch_size(const faro_release *release, uint64_t k);
FARO_API uint64_t faro_release_batches(const faro_release *release);
/* The schedule as it was chosen. */
/* The kind that it is: the alternative of the one that was asked for, where that has less noise. */
FARO_API const faro_release_kind *faro_release_kind_of(const faro_release *release);
FARO_API const faro_release_params *faro_release_params_of(const faro_release *release);
/* The scale (see faro_noise) of the noise in one entry of the newest sum; at most that of
 * faro_release_noise. */
FARO_API double faro_release_scale(const faro_release *release, size_t entry);
/* The Gaussian mechanism (privacy.h) that dominates everything that one user's data does to the
 * whole release, over all rounds of the user, if each round's contribution moves by at most `share`
 * of the sensitivity: its mu, and the extra delta that this costs. False if none is known. At a
 * share of 1 it is what the claim rests on. Different releases on the same users compose better by
 * it than by their claims: mu^2 adds, and so do slacks. */
FARO_API bool faro_release_gaussian(const faro_release *release, double share, double *mu, double *slack);

/* What the claim rests on, as JSON (docs/privacy.md, Checking a claim): a user's influence and the
 * noise, from which `faro verify` computes the claim again. The caller frees it. NULL if
 * nothing is recorded for this release, or if memory runs out. */
FARO_API char *faro_release_grounds(const faro_release *release);

/* State: everything that the server must remember to continue after a restart, between two batches.
 * If it is loaded into a release just created from the same contribution and parameters, that
 * release continues bit by bit as the old one would have. For kinds that can be deployed; for
 * others state_size is 0 and save refuses. Save refuses while a batch is open. Load refuses, with
 * nothing changed, anything that save cannot have written for such a release: another size,
 * version, kind or parameter, more batches than are allowed, numbers out of range. A state that an
 * earlier faro wrote (version 2) is loaded; it does not say which grid, link, bound, blocks, secret
 * and local_epsilon it was made with.
 *
 * Continue a state once, and do not use the release that it was saved from again: two that continue
 * from one state publish the same past sums twice, each with fresh noise, and no claim covers both.
 * Nothing here can notice that. If the server is trusted (joint), a state holds raw sums: it is as
 * secret as the data. */
FARO_API size_t faro_release_state_size(const faro_release *release);
FARO_API faro_status faro_release_save(const faro_release *release, void *state,
                                       faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_release_load(faro_release *release, const void *state, size_t size,
                                       faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
