/* privacy: what a mechanism claims, as a value.
 *
 * Adjacency everywhere: two inputs are neighbours when one user's data is replaced by another's. */
#ifndef FARO_PRIVACY_H
#define FARO_PRIVACY_H

#include <faro/base.h>

/* Who is trusted with raw contributions. Name, and what an adversary then sees. */
#define FARO_TRUST_LIST(X)                                                                                   \
  X(NONE, "none", "everything")                                                                              \
  X(JOINT, "joint", "the server's policies, and the actions of all users but one")                           \
  X(LOCAL, "local", "every message of every user")                                                           \
  X(SHUFFLE, "shuffle", "the shuffled messages of each batch")

typedef enum faro_trust {
#define X(name, text, view) FARO_TRUST_##name,
  FARO_TRUST_LIST(X)
#undef X
} faro_trust;

FARO_API const char *faro_trust_name(faro_trust trust);
FARO_API const char *faro_trust_view(faro_trust trust);

/* (epsilon, delta) for one user's one round ("event level"). Without privacy both are NaN. A claim
 * that is not proven says in `by` what it lacks. */
typedef struct faro_claim {
  double epsilon, delta;
  faro_trust trust;
  bool proven;
  char by[200];
} faro_claim;

FARO_API faro_claim faro_claim_none(void);
/* The claim with its backing written by printf's rules. */
FARO_API faro_claim faro_claim_make(double epsilon, double delta, faro_trust trust, bool proven,
                                    const char *by, ...) FARO_PRINTF(5, 6);
/* "proven", "not proven" or "no privacy". */
FARO_API const char *faro_claim_standing(const faro_claim *claim);

/* Amplification by shuffling n messages of an (epsilon0, delta0)-local randomizer, closed form
 * (Feldman, McMillan, Talwar 2021, Theorem 3.8; paper 000 Lemma B.4), with delta' as its slack.
 * False when epsilon0 > ln(n / (16 ln(2/delta'))), where the theorem says nothing. */
FARO_API bool faro_shuffle_closed_form(double epsilon0, double delta0, double n, double slack,
                                       double *epsilon, double *delta);

#endif
