/* shares: what calibrations have in common: the share of one batch in a user's budget, published
 * noise, and refusals. */
#ifndef FARO_RELEASE_SHARES_H
#define FARO_RELEASE_SHARES_H

#include "privacy/memo.h"
#include "release/release.h"

/* What each of the M0 batches that one user may be in can spend. */
typedef struct faro_budget {
  double epsilon, delta;
} faro_budget;

faro_budget faro_advanced_share(const faro_release *r); /* Chowdhury & Zhou 2022, Theorem E.2 */
faro_budget faro_composed_share(const faro_release *r); /* by the accountant */

/* The number of users whose noise the claim counts on among `users` users of each of `batches`
 * batches: a whole number, at least one. */
double faro_honest(const faro_release *r, uint64_t batches, double users);

/* The honest users among whom a message of a batch of `users` users hides: the batch, or the whole
 * crowd if the shuffler assigns the actions and keeps them secret (docs/privacy.md, Phases). */
double faro_company(const faro_release *r, uint64_t users);

/* The classical Gaussian mechanism, S sqrt(2 ln(1.25/delta)) / epsilon. For a vector of s numbers
 * in an interval of width w = 2 B, S = w sqrt(s): sigma_nc and sigma_nl of Li, Zhou & Ji 2022 (on
 * the sum, not the mean). Its theorem ends at epsilon = 1, so callers ask the exact mechanism what
 * it proves. */
double faro_classical_sigma(const faro_release *r, faro_budget each);

/* Laplace noise for all of epsilon; delta is 0. */
faro_status faro_laplace_calibrate(faro_release *r, faro_error *error);

/* Adds to the claim of a shuffled release what the messages of one user give by themselves
 * (docs/privacy.md, What a message gives by itself), if each is a Gaussian mechanism of parameter
 * mu, or epsilon0-private. Call them when the claim and the factors are set. */
void faro_imply_gaussian(faro_release *r, double mu);
void faro_imply_pure(faro_release *r, double epsilon0);
/* The least noise of a user, relative to the largest: that of the messages which give least. */
double faro_least_factor(const faro_release *r);

/* The claim of every calibration `figure`. */
faro_claim faro_figure_claim(const faro_release *r);

/* FARO_INVALID for users who return under calibration paper, if `paper` has no theorem for them;
 * `where` narrows the message. */
faro_status faro_refuse_returning(const faro_release *r, const char *where, const char *paper,
                                  faro_error *error);

/* The numbers that a calibration may depend on, as a key for a memo. */
void faro_calibration_key(const faro_release *r, uint64_t users, double key[static FARO_MEMO_KEYS]);

#endif
