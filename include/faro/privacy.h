/* privacy: what a mechanism claims, as a value; and the accountants that prove it.
 *
 *     double mu = faro_gaussian_mu(1, 1e-6); // the noise that (1, 1e-6) needs: sensitivity / mu
 *     faro_claim all = faro_claim_parallel(faro_release_claim(a), faro_release_claim(b));
 *
 * Claims and ledgers are plain data; copy them freely. Only faro_pld is an object, which its
 * creator destroys. All functions may be called from any thread; use a faro_pld in one at a time.
 *
 * Adjacency everywhere: two inputs are neighbours when one user's data is replaced by another's. */
#ifndef FARO_PRIVACY_H
#define FARO_PRIVACY_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who is trusted with raw contributions. Name, and what an adversary then sees. */
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
FARO_API const char *faro_trust_view(faro_trust trust);

/* What two neighbouring inputs differ in: one round ("event level"), or all rounds of one user
 * ("user level"). */
#define FARO_LEVEL_LIST(X)                                                                                   \
  X(EVENT, "event")                                                                                          \
  X(USER, "user")

typedef enum faro_level {
#define X(name, text) FARO_LEVEL_##name,
  FARO_LEVEL_LIST(X)
#undef X
} faro_level;

FARO_API const char *faro_level_name(faro_level level);

/* Without privacy epsilon and delta are NaN. A claim that is not proven says in `by` what it
 * lacks. */
typedef struct faro_claim {
  double epsilon, delta;
  faro_trust trust;
  faro_level level;
  uint64_t contributions; /* user level: the most rounds of one user; event level: 1 */
  bool proven;
  char by[200];
} faro_claim;

FARO_API faro_claim faro_claim_none(void);
/* The claim, at event level, with its backing written by printf's rules. */
FARO_API faro_claim faro_claim_make(double epsilon, double delta, faro_trust trust, bool proven,
                                    const char *by, ...) FARO_PRINTF(5, 6);
/* "proven", "not proven" or "no privacy". */
FARO_API const char *faro_claim_standing(const faro_claim *claim);

/* Claims as an algebra, for applications that combine faro's releases with each other or with
 * mechanisms of their own. The result is proven when all its parts are. Whatever is computed from a
 * release alone has the release's own claim (post-processing), so that needs no function. A claim
 * for c rounds of a user holds for fewer rounds too, and at event level for one. So two claims
 * together are at user level if both are, for the smaller number of rounds. */
/* Both on the same users: budgets add. */
FARO_API faro_claim faro_claim_sequential(const faro_claim *a, const faro_claim *b);
/* On disjoint users: the weaker of both. */
FARO_API faro_claim faro_claim_parallel(const faro_claim *a, const faro_claim *b);
/* For k users at once, or one user k times as often: (k epsilon, delta (e^(k epsilon) - 1) /
 * (e^epsilon - 1)), at user level. */
FARO_API faro_claim faro_claim_group(const faro_claim *claim, uint64_t k);
/* Shuffle privacy implies joint privacy: policies are computed from shuffled batches, and what a
 * user is shown from the policy and the user's own data (the billboard lemma, Hsu et al. 2016). */
FARO_API faro_claim faro_claim_joint(const faro_claim *shuffle);

/* Whether a claim promises at least as much as `least`. A refusal names both sides: "epsilon of
 * <whose> is 2, and <asks> at most 1". */
FARO_API faro_status faro_claim_meets(const faro_claim *got, const char *whose, const faro_claim *least,
                                      const char *asks, faro_error *error) FARO_WARN_UNUSED;

/* How often a mechanism may speak before its claim ends. It is charged before anything is
 * sampled. */
typedef struct faro_ledger {
  uint64_t allowed, charged; /* releases that the noise was calibrated for, and those made */
} faro_ledger;

/* FARO_INVALID, and nothing charged, when all is spent. */
FARO_API faro_status faro_ledger_charge(faro_ledger *ledger, faro_error *error) FARO_WARN_UNUSED;

/* Amplification by shuffling n messages of an (epsilon0, delta0)-local randomizer, closed form
 * (Feldman, McMillan, Talwar 2021, Theorem 3.8; Chowdhury & Zhou 2022, Lemma B.4), with delta' as
 * its slack. False when epsilon0 > ln(n / (16 ln(2/delta'))), where the theorem says nothing. */
FARO_API bool faro_shuffle_closed_form(double epsilon0, double delta0, double n, double slack,
                                       double *epsilon, double *delta);

/* Accountants.
 *
 * Every result is rounded outward: an epsilon or a delta that is returned is an upper bound, noise
 * that is returned is enough. `delta` functions give the least delta of an (epsilon, delta)
 * guarantee, `epsilon` functions the least epsilon (0 when delta alone covers it; INFINITY when no
 * epsilon does), the others the least noise for both. Callers keep to the ranges epsilon 1e-4 ..
 * 1000 and delta 1e-15 .. 0.999. */

/* Gaussian mechanism (Balle and Wang 2018): mu = L2 sensitivity / sigma. */
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

/* Discrete Gaussian, P(k) proportional to exp(-k^2 / (2 sigma^2)), integer shift (Canonne, Kamath,
 * Steinke 2020). */
FARO_API double faro_discrete_gaussian_delta(double sigma, uint64_t shift, double epsilon);
FARO_API double faro_discrete_gaussian_epsilon(double sigma, uint64_t shift, double delta);
FARO_API double faro_discrete_gaussian_sigma(uint64_t shift, double epsilon, double delta);

/* Randomized response over two answers, truth with probability e^epsilon0 / (1 + e^epsilon0). */
FARO_API double faro_response_delta(double epsilon0, double epsilon);
FARO_API double faro_response_epsilon(double epsilon0, double delta);

/* Zero-concentrated privacy rho (a Gaussian mechanism has mu^2 / 2; rho adds under composition), by
 * the tight conversion of Canonne, Kamath and Steinke 2020. */
FARO_API double faro_zcdp_epsilon(double rho, double delta);
FARO_API double faro_zcdp_rho(double epsilon, double delta); /* the largest rho */
/* `times` mechanisms of epsilon each, at `times` times their delta plus `slack`: advanced
 * composition (Dwork, Rothblum, Vadhan 2010) or the plain sum, whichever is less. */
FARO_API double faro_advanced_epsilon(double epsilon, double times, double slack);

/* Amplification by shuffling n messages of an (epsilon0, delta0)-local randomizer: an upper bound
 * on the pair of distributions that Feldman, McMillan and Talwar reduce it to ("clones"), evaluated
 * numerically. n = 1 .. 1e9. */
FARO_API double faro_shuffle_delta(double epsilon0, double delta0, double n, double epsilon);
FARO_API double faro_shuffle_epsilon(double epsilon0, double delta0, double n, double delta);
/* The largest epsilon0 for which n messages are (epsilon, delta)-private together; at least epsilon
 * itself. */
FARO_API double faro_shuffle_local_epsilon(double epsilon, double delta, double n, double delta0);

/* Privacy-loss distributions: composition of unlike mechanisms, with all errors of discretisation
 * and truncation counted into delta. Created from one mechanism, composed in place. When memory is
 * out, delta and epsilon give the plain bounds 1 and the sum of all losses. */
typedef struct faro_pld faro_pld;
FARO_API faro_status faro_pld_gaussian(faro_pld **pld, double mu, faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_pld_laplace(faro_pld **pld, double ratio, faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_pld_response(faro_pld **pld, double epsilon0, faro_error *error) FARO_WARN_UNUSED;
/* Any (epsilon, delta)-private mechanism. */
FARO_API faro_status faro_pld_pure(faro_pld **pld, double epsilon, double delta,
                                   faro_error *error) FARO_WARN_UNUSED;
/* The mechanism `times` times over. */
FARO_API faro_status faro_pld_repeat(faro_pld *pld, uint64_t times, faro_error *error) FARO_WARN_UNUSED;
/* Both mechanisms on the same data; `other` is not changed. */
FARO_API faro_status faro_pld_compose(faro_pld *pld, const faro_pld *other,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API double faro_pld_delta(const faro_pld *pld, double epsilon);
FARO_API double faro_pld_epsilon(const faro_pld *pld, double delta);
FARO_API void faro_pld_destroy(faro_pld *pld);

/* Bit sums: N noise bits in all, each one with `bias`, added to a count that a user can move by
 * `shift`. Exact. */
FARO_API double faro_bits_delta(uint64_t bits, double bias, uint64_t shift, double epsilon);

/* A vector of bit sums with fair noise bits. Every entry lies in an interval of width 1 on `grid`
 * steps; two users' vectors differ by at most `sensitivity` in L2. */
typedef struct faro_bits_plan {
  double users;       /* of a batch */
  double honest;      /* share of them that add their noise */
  double dimension;   /* entries */
  double sensitivity; /* in original units */
  double grid;        /* steps of a unit; 0: choose */
  double load;        /* sum over releases of (times a user is in it)^2; 0: 1, one release, once */
  double repeat;      /* the most times that a user is in one release; 0: 1 */
  double touched;     /* releases that a user is in; 0: 1 */
  double bits;        /* noise bits of a user and entry */
  double noise_sd;    /* of the sum, per entry, in original units: of all users */
  double mu;          /* the Gaussian that dominates one release, with the user in it once */
  double slack;       /* and the delta that this costs for each release */
} faro_bits_plan;

/* Fills grid (where 0), bits, noise_sd, mu and slack so that all releases with a user in them are
 * together (epsilon, delta)-private: (sqrt(load) mu, touched slack). 2e-4 of delta is left over. */
FARO_API faro_status faro_bits_calibrate(faro_bits_plan *plan, double epsilon, double delta,
                                         faro_error *error) FARO_WARN_UNUSED;
/* From grid and bits: noise_sd, mu and slack (for a target delta), and the least epsilon. */
FARO_API faro_status faro_bits_account(faro_bits_plan *plan, double delta, double *epsilon,
                                       faro_error *error) FARO_WARN_UNUSED;

/* Continual sums of `steps` releases, each user in at most `contributions` of them: the factor by
 * which the sensitivity of one release grows, and by which the worst prefix's noise exceeds that of
 * one node. */
typedef struct faro_continual {
  double sensitivity; /* sqrt of the squared column norm */
  double prefix;      /* sqrt of the worst squared row norm */
} faro_continual;
FARO_API faro_continual faro_tree_factors(uint64_t steps, uint64_t contributions);
FARO_API faro_continual faro_factored_factors(uint64_t steps, uint64_t contributions);

#ifdef __cplusplus
}
#endif

#endif
