/* audit: attacks a mechanism and reports how much privacy it certainly does not give.
 *
 * The mechanism is run many times on two neighbouring inputs that differ in one user, the victim.
 * From what an adversary sees, a test tries to distinguish the two. An (epsilon, delta)-private
 * mechanism allows
 *
 *     P(test says "first" | first) <= e^epsilon P(test says "first" | second) + delta,
 *
 * so a lower confidence bound on the left and an upper one on the right give a lower bound on
 * epsilon. Half of the runs choose the pair of inputs and the test. The other half, independent of
 * them, gives the bounds (Clopper & Pearson 1934). With probability at least `confidence`, the
 * bound is below the true epsilon, whatever the mechanism does. A bound above the claim is a
 * violation. A bound below it is not a proof. */
#ifndef FARO_AUDIT_H
#define FARO_AUDIT_H

#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mechanism under attack. Each run creates it, gives it the victim's (x, y), and writes
 * everything that the adversary sees: `messages` vectors of `width` finite numbers, one after
 * another. More than one message means that they were shuffled, and that the victim's message went
 * in at place 0. A victim who comes several times is in `batches` batches of such messages, one
 * after another, with independent noise. The others' data is fixed: the same in every run. */
typedef struct faro_audit_mechanism {
  size_t messages, width;
  size_t batches; /* 0: 1 */
  void *context;
  faro_status (*run)(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                     faro_error *error);
} faro_audit_mechanism;

typedef struct faro_audit_plan {
  double epsilon, delta; /* the claim; NaN if nothing is claimed */
  uint64_t trials;       /* number of runs, 1000 .. 10^9 */
  double confidence;     /* 0.5 .. 1 - 10^-9 */
  uint64_t seed;
  /* Called now and then with the number of runs made since the last call; NULL: never. */
  void (*progress)(void *context, uint64_t runs);
  void *context;
  /* For faro_audit_release only. */
  uint64_t visits; /* how often the victim comes; 0: as often as the claim allows */
  /* How many users come before the victim's first visit; each further visit is a batch later. */
  uint64_t place;
  size_t jobs; /* threads, at most 256; 0: 1. The result is the same for any number */
  /* Plays what a deployment runs, in whole numbers: clients and a server, or one process that plays
   * all parties where a release allows nothing else. For releases that can be deployed. */
  bool deployed;
} faro_audit_plan;

typedef struct faro_audit_result {
  double epsilon_lower; /* the bound, at least 0; holds at `delta`, or at 0 if nothing is claimed */
  double power;         /* from this epsilon on a violation was likely to be found; NaN: nothing is claimed */
  double epsilon, delta; /* the claim that was attacked */
  bool proven;           /* as in the claim; set by faro_audit_release only */
  uint64_t trials;       /* runs made */
  double confidence;
  const char *against;          /* what was tested, see faro_audit_release; else "claim" */
  const char *pair, *statistic; /* the best ones found by the runs that choose */
  double hits, false_hits;      /* rates of the test that gave the bound */
  /* shuffled messages only: a place or a succession this many times as likely as it should be was
   * likely to be found; else NaN */
  double order_power;
  bool consistent; /* nothing contradicts the claim */
} faro_audit_result;

FARO_API faro_status faro_audit(const faro_audit_mechanism *mechanism, const faro_contribution *contribution,
                                const faro_audit_plan *plan, faro_audit_result *result,
                                faro_error *error) FARO_WARN_UNUSED;

/* Audits a release against its own claim and against what the claim's proof says besides
 * (`against`, docs/audit.md); the plan's epsilon and delta are not read.
 *   claim     (epsilon, delta) itself
 *   Gaussian  the curve of the Gaussian mechanism that the claim rests on; the bound is its epsilon
 *   Laplace   the same for Laplace noise, on one number
 *   message   shuffled messages: what one of them reveals before it is mixed; the bound is what
 *             amplification then proves for the claim
 *   order     shuffled messages: they are not passed on in a uniform order; the bound is another
 *             part's
 * A claim that is not proven is compared with its epsilon and delta alone. The victim
 * brings the same data on each visit, to one batch after another. Where only rewards are protected,
 * the two inputs differ in nothing else. The view depends on the trust model:
 *   local, none  the victim's messages, each with that of another user of the same batch;
 *   shuffle      the shuffled batches that the victim is in (the others have other users);
 *   concurrent   for every shuffler, the reports with the victim in them, and one on either side;
 *   joint        the published sums, after every release up to the 16th, then after powers of two
 *                and the last. Every release covers the first batch.
 * Where the size of batches adapts, the published sums are seen, and so they are for responses of
 * rewards alone, which have no messages. */
FARO_API faro_status faro_audit_release(const faro_release_kind *kind, const faro_contribution *contribution,
                                        const faro_release_params *params, const faro_audit_plan *plan,
                                        faro_audit_result *result, faro_error *error) FARO_WARN_UNUSED;

/* The same from a single run, in which each of `dimension` (30 .. 1000) users is a canary whose
 * sign the adversary guesses (Steinke, Nasr & Jagielski 2023). Batch and horizon of `params` and
 * trials of `plan` are not read; hits is the share of right guesses. */
FARO_API faro_status faro_audit_one_run(const faro_release_kind *kind, const faro_contribution *contribution,
                                        const faro_release_params *params, const faro_audit_plan *plan,
                                        faro_audit_result *result, faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
