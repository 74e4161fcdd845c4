/* privacy: claims, which say what a mechanism guarantees, and the accountants that prove them.
 *
 *     double mu = faro_gaussian_mu(1, 1e-6); // the noise that (1, 1e-6) needs: sensitivity / mu
 *     faro_claim all = faro_claim_parallel(faro_release_claim(a), faro_release_claim(b));
 *
 * Claims and ledgers are plain data; copy them freely. Only faro_pld is an object, which its
 * creator destroys. All functions may be called from any thread; use a faro_pld in one thread at a
 * time.
 *
 * Adjacency everywhere: two inputs are neighbours if one user's data is replaced by another's.
 * docs/privacy.md has the proofs. */
#ifndef FARO_PRIVACY_H
#define FARO_PRIVACY_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who is trusted with raw contributions: the name, and what an adversary then sees. */
#define FARO_TRUST_LIST(X)                                                                                   \
  X(NONE, "none", "everything")                                                                              \
  X(JOINT, "joint", "the server's policies, and the actions of all users but one")                           \
  X(LOCAL, "local", "every message of every user")                                                           \
  X(SHUFFLE, "shuffle", "the shuffled messages of each batch")                                               \
  X(CONCURRENT, "concurrent", "the shuffled messages of every shuffler")

typedef enum faro_trust {
#define X(name, text, view) FARO_TRUST_##name,
  FARO_TRUST_LIST(X)
#undef X
} faro_trust;

FARO_API const char *faro_trust_name(faro_trust trust);
/* The value of a name, here and below: false if there is none. Numbers may change between versions
 * of faro, names do not. */
FARO_API bool faro_trust_find(const char *name, faro_trust *trust);
FARO_API const char *faro_trust_view(faro_trust trust);

/* What neighbouring inputs differ in: one round ("event level"), or all rounds of one user ("user
 * level"). */
#define FARO_LEVEL_LIST(X)                                                                                   \
  X(EVENT, "event")                                                                                          \
  X(USER, "user")

typedef enum faro_level {
#define X(name, text) FARO_LEVEL_##name,
  FARO_LEVEL_LIST(X)
#undef X
} faro_level;

FARO_API const char *faro_level_name(faro_level level);
FARO_API bool faro_level_find(const char *name, faro_level *level);

/* What an adversary may see of the actions, besides what the trust model says: none of those of
 * other users; all but the protected user's own; all of them. The more it may see, the more is
 * claimed. A claim with a trusted server that allows all of them is printed as trust `central`. */
typedef enum faro_actions {
  FARO_ACTIONS_HIDDEN = -1,
  FARO_ACTIONS_OTHERS = 0, /* unless something else is said */
  FARO_ACTIONS_ALL = 1
} faro_actions;

FARO_API const char *faro_actions_name(faro_actions actions); /* "hidden", "others" or "all" */
FARO_API bool faro_actions_find(const char *name, faro_actions *actions);

/* What is protected: all that a user gives, or nothing but its rewards; then features and actions
 * are published as they are. The name, and what is said of it where a claim is printed. */
#define FARO_PROTECTS_LIST(X)                                                                                \
  X(ALL, "all", "all that a user gives")                                                                     \
  X(REWARDS, "rewards", "rewards only: arms are public")

typedef enum faro_protects {
#define X(name, text, said) FARO_PROTECTS_##name,
  FARO_PROTECTS_LIST(X)
#undef X
} faro_protects;

FARO_API const char *faro_protects_name(faro_protects protects);
FARO_API bool faro_protects_find(const char *name, faro_protects *protects);
FARO_API const char *faro_protects_text(faro_protects protects);

/* What a claim may assume of the data: a bit for each, and the sentence after "assumes that". */
#define FARO_ASSUMES_LIST(X)                                                                                 \
  X(RANGES, 1, "the columns' ranges are public")                                                             \
  X(REPLAY, 2, "it is public which rows a replay uses")

typedef enum faro_assumes {
  FARO_ASSUMES_NOTHING = 0,
#define X(name, bit, text) FARO_ASSUMES_##name = (bit),
  FARO_ASSUMES_LIST(X)
#undef X
} faro_assumes;

/* The sentences of all bits, joined by "and that"; NULL: nothing is assumed. */
enum { FARO_ASSUMES_SIZE = 160 };
FARO_API const char *faro_assumes_text(unsigned assumes, char out[FARO_ASSUMES_SIZE]);

/* Without privacy epsilon and delta are NaN. If a claim is not proven, `by` says what is
 * missing. */
enum { FARO_BY_SIZE = 1000 };
typedef struct faro_claim {
  double epsilon, delta;
  faro_trust trust;
  faro_level level;
  uint64_t contributions; /* user level: the most rounds of one user; event level: 1 */
  bool proven;
  faro_actions actions;
  faro_protects protects;
  unsigned assumes; /* of the data: bits of faro_assumes */
  /* Shufflers only: what a user's own messages give, all rounds that the claim covers, even if
   * shufflers and server collude. Always proven; 0 if nothing is known. */
  double local_epsilon, local_delta;
  char by[FARO_BY_SIZE];
} faro_claim;

FARO_API faro_claim faro_claim_none(void);
/* Makes a claim at event level that protects all and assumes nothing. `by` is formatted as by
 * printf; a claim whose `by` has no room is not proven, and says so. */
FARO_API faro_claim faro_claim_make(double epsilon, double delta, faro_trust trust, bool proven,
                                    const char *by, ...) FARO_PRINTF(5, 6);
/* "proven", "not proven" or "no privacy". */
FARO_API const char *faro_claim_standing(const faro_claim *claim);
/* The name of the trust model, and what an adversary sees, with what the claim says of actions. */
FARO_API const char *faro_claim_trust(const faro_claim *claim);
enum { FARO_VIEW_SIZE = 160 };
FARO_API const char *faro_claim_view(const faro_claim *claim, char out[FARO_VIEW_SIZE]);
/* In one line, with numbers rounded up: "(1, 1e-6), proven, trust shuffle, event level", and then
 * what the claim leaves out and what it assumes. What a user's own messages give is not in it. */
enum { FARO_CLAIM_SIZE = 400 };
FARO_API const char *faro_claim_text(const faro_claim *claim, char out[FARO_CLAIM_SIZE]);

/* Claims compose, so that applications can combine faro's releases with each other or with their
 * own mechanisms. The result is proven if all its parts are. Anything computed from a release alone
 * has the release's own claim (post-processing), so that needs no function. A claim for c rounds of
 * a user holds for fewer rounds too, and at event level for one. So two claims together are at user
 * level if both are, for the smaller number of rounds. */
/* On disjoint users: the weaker of the two, which protects what both protect, and assumes what
 * either assumes. `by` has both texts, whole; if there is no room it says that there are more. */
FARO_API faro_claim faro_claim_parallel(const faro_claim *a, const faro_claim *b);
/* Checks that a claim promises at least as much as `least`. A refusal names both sides: "epsilon of
 * <whose> is 2, and <asks> at most 1". */
FARO_API faro_status faro_claim_meets(const faro_claim *got, const char *whose, const faro_claim *least,
                                      const char *asks, faro_error *error) FARO_WARN_UNUSED;

/* How often a mechanism may publish before its claim ends. The ledger is charged before anything is
 * sampled. */
typedef struct faro_ledger {
  uint64_t allowed, charged; /* publications that the noise was calibrated for, and those made */
} faro_ledger;

/* FARO_INVALID, and nothing is charged, if everything is spent. */
FARO_API faro_status faro_ledger_charge(faro_ledger *ledger, faro_error *error) FARO_WARN_UNUSED;

/* Amplification by shuffling n messages of an (epsilon0, delta0)-local randomizer, in closed form
 * (Feldman, McMillan & Talwar 2021, Theorem 3.8; Chowdhury & Zhou 2022, Lemma B.4), with delta' as
 * its slack. Local means for the inputs of any two users, also where only some are neighbours; the
 * same holds of the accountants below. False if epsilon0 > ln(n / (16 ln(2/delta'))), where the
 * theorem does not apply. */
FARO_API bool faro_shuffle_closed_form(double epsilon0, double delta0, double n, double slack,
                                       double *epsilon, double *delta);

/* Accountants.
 *
 * Every result is rounded outward: a returned epsilon or delta is an upper bound, and returned
 * noise is enough. `delta` functions give the least delta of an (epsilon, delta) guarantee,
 * `epsilon` functions the least epsilon (0 if delta alone covers it, INFINITY if no epsilon does),
 * the others the least noise for both. Callers keep epsilon within 1e-4 .. 1000 and delta within
 * 1e-15 .. 0.999. */

/* Gaussian mechanism (Balle & Wang 2018): mu = L2 sensitivity / sigma. */
FARO_API double faro_gaussian_delta(double mu, double epsilon);
FARO_API double faro_gaussian_epsilon(double mu, double delta);
/* The largest mu; sigma = sensitivity / mu. */
FARO_API double faro_gaussian_mu(double epsilon, double delta);

/* Laplace mechanism: ratio = L1 sensitivity / scale. */
FARO_API double faro_laplace_delta(double ratio, double epsilon);
FARO_API double faro_laplace_epsilon(double ratio, double delta);
FARO_API double faro_laplace_ratio(double epsilon, double delta);

/* Discrete Laplace, P(k) proportional to exp(-|k| / scale), integer shift. */
FARO_API double faro_discrete_laplace_delta(double scale, uint64_t shift, double epsilon);
FARO_API double faro_discrete_laplace_epsilon(double scale, uint64_t shift, double delta);
FARO_API double faro_discrete_laplace_scale(uint64_t shift, double epsilon, double delta);

/* Discrete Gaussian, P(k) proportional to exp(-k^2 / (2 sigma^2)), integer shift (Canonne, Kamath &
 * Steinke 2020). */
FARO_API double faro_discrete_gaussian_delta(double sigma, uint64_t shift, double epsilon);
FARO_API double faro_discrete_gaussian_epsilon(double sigma, uint64_t shift, double delta);
FARO_API double faro_discrete_gaussian_sigma(uint64_t shift, double epsilon, double delta);

/* Randomized response over two answers, with the truth with probability e^epsilon0 / (1 +
 * e^epsilon0). */
FARO_API double faro_response_delta(double epsilon0, double epsilon);
FARO_API double faro_response_epsilon(double epsilon0, double delta);

/* Zero-concentrated privacy rho (a Gaussian mechanism has mu^2 / 2; rho adds under composition), by
 * the tight conversion of Canonne, Kamath & Steinke 2020. */
FARO_API double faro_zcdp_epsilon(double rho, double delta);
FARO_API double faro_zcdp_rho(double epsilon, double delta); /* the largest rho */
/* `times` mechanisms of epsilon each, at `times` times their delta plus `slack`: advanced
 * composition (Dwork, Rothblum & Vadhan 2010) or the plain sum, whichever is less. */
FARO_API double faro_advanced_epsilon(double epsilon, double times, double slack);

/* Amplification by shuffling n messages of an (epsilon0, delta0)-local randomizer: an upper bound
 * on the pair of distributions to which Feldman, McMillan & Talwar 2021 reduce it ("clones"),
 * evaluated numerically. n = 1 .. 1e9. */
FARO_API double faro_shuffle_delta(double epsilon0, double delta0, double n, double epsilon);
FARO_API double faro_shuffle_epsilon(double epsilon0, double delta0, double n, double delta);
/* The largest epsilon0 for which n messages together are (epsilon, delta)-private; at least epsilon
 * itself. */
FARO_API double faro_shuffle_local_epsilon(double epsilon, double delta, double n, double delta0);
/* The same for messages that are one of many codes, of which a share, at most 1/2, is the truth:
 * each true code is e^epsilon0 times as likely as each of the others (docs/privacy.md, Lemma R). */
FARO_API double faro_shuffle_response_delta(double epsilon0, double share, double n, double epsilon);
FARO_API double faro_shuffle_response_epsilon(double epsilon0, double share, double n, double delta);
FARO_API double faro_shuffle_response_local_epsilon(double epsilon, double delta, double n, double share);

/* Privacy-loss distributions: composition of different mechanisms, with all errors of
 * discretisation and truncation included in delta. Created from one mechanism, composed in place.
 * If memory runs out, delta and epsilon return the trivial bounds: 1, and the sum of all losses. */
typedef struct faro_pld faro_pld;
FARO_API faro_status faro_pld_gaussian(faro_pld **pld, double mu, faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_pld_laplace(faro_pld **pld, double ratio, faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_pld_response(faro_pld **pld, double epsilon0, faro_error *error) FARO_WARN_UNUSED;
/* Any (epsilon, delta)-private mechanism. */
FARO_API faro_status faro_pld_pure(faro_pld **pld, double epsilon, double delta,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Repeats the mechanism `times` times. */
FARO_API faro_status faro_pld_repeat(faro_pld *pld, uint64_t times, faro_error *error) FARO_WARN_UNUSED;
/* Composes both mechanisms on the same data; `other` is not changed. */
FARO_API faro_status faro_pld_compose(faro_pld *pld, const faro_pld *other,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API double faro_pld_delta(const faro_pld *pld, double epsilon);
FARO_API double faro_pld_epsilon(const faro_pld *pld, double delta);
FARO_API void faro_pld_destroy(faro_pld *pld);

/* Bit sums: N noise bits, each 1 with probability `bias`, added to a count that a user can move by
 * `shift`. Exact. */
FARO_API double faro_bits_delta(uint64_t bits, double bias, uint64_t shift, double epsilon);

/* A vector of bit sums with fair noise bits. Every entry lies in an interval of width 1 with `grid`
 * steps, and two users' vectors differ by at most `sensitivity` in L2. */
typedef struct faro_bits_plan {
  double users;       /* users per batch */
  double honest;      /* users who are certain to add their noise, a whole number; 0: all of them */
  double dimension;   /* entries */
  double sensitivity; /* in original units */
  double grid;        /* steps per unit; 0: choose */
  double load;        /* sum over releases of (times a user is in it)^2; 0: 1, one release, once */
  double repeat;      /* the most times a user is in one release; 0: 1 */
  double touched;     /* number of releases a user is in; 0: 1 */
  double bits;        /* noise bits per user and entry */
  double noise_sd;    /* noise of the sum over all users, per entry, in original units */
  double mu;          /* the Gaussian that dominates one release that the user is in once */
  double slack;       /* the delta that this costs per release */
} faro_bits_plan;

/* Fills grid (if 0), bits, noise_sd, mu and slack so that all releases with a user in them together
 * are (epsilon, delta)-private: (sqrt(load) mu, touched slack). 2e-4 of delta is reserved. */
FARO_API faro_status faro_bits_calibrate(faro_bits_plan *plan, double epsilon, double delta,
                                         faro_error *error) FARO_WARN_UNUSED;
/* Computes noise_sd, mu and slack (for a target delta) from grid and bits, and the least
 * epsilon. */
FARO_API faro_status faro_bits_account(faro_bits_plan *plan, double delta, double *epsilon,
                                       faro_error *error) FARO_WARN_UNUSED;

/* Continual sums of `steps` releases, with each user in at most `contributions` of them: the factor
 * by which the sensitivity exceeds that of one release, and the factor by which the worst prefix's
 * noise exceeds that of one node. */
typedef struct faro_continual {
  double sensitivity; /* square root of the squared column norm */
  double prefix;      /* square root of the greatest squared row norm */
} faro_continual;
FARO_API faro_continual faro_tree_factors(uint64_t steps, uint64_t contributions);
FARO_API faro_continual faro_factored_factors(uint64_t steps, uint64_t contributions);

#ifdef __cplusplus
}
#endif

#endif
