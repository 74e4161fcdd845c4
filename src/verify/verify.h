/* verify: computes claims again from the noise that a run or a campaign records (docs/privacy.md,
 * Checking a claim).
 *
 * Nothing here is shared with the accountants of src/privacy: the grounds are read from JSON, and
 * all numbers are balls (Arb), so that every result is a rigorous enclosure.
 *
 *   grounds --> (mu^2, slack) of a Gaussian mechanism that dominates, or delta itself
 *           --> an enclosure of delta at the claim's epsilon --> a finding
 *
 *   verify    one claim: the table of mechanisms, the finding
 *   whole     what it says besides epsilon and delta: words, inside, facts
 *   document  all claims of a run
 *   read      members of JSON objects, with messages
 *   ball      the normal distribution, and the Gaussian mechanism
 *   lemmas    sensitivities
 *   sums      Gaussian noise on batches, at the nodes of a tree, factored
 *   coins     bit sums
 *   mixing    local randomizers, shuffled and composed
 *   parts     studies, and mechanisms on different users */
#ifndef FARO_VERIFY_VERIFY_H
#define FARO_VERIFY_VERIFY_H

#include <faro/base.h>
#include <jansson.h>

typedef enum faro_verify_verdict {
  FARO_VERIFIED,     /* the recorded noise proves the claim */
  FARO_NOT_VERIFIED, /* there is nothing to check it by; `reason` says why */
  FARO_WRONG         /* the recorded noise does not give the claim, or what is recorded disagrees */
} faro_verify_verdict;

const char *faro_verify_word(faro_verify_verdict verdict);

typedef struct faro_finding {
  faro_verify_verdict verdict;
  double low, high; /* delta at the claim's epsilon is between them; NaN: not computed */
  char reason[300]; /* "" if verified */
} faro_finding;

/* FARO_INVALID if the grounds are malformed; the message names the member, its value and what is
 * allowed. `grounds` may be NULL. */
faro_status faro_verify_claim(const json_t *grounds, double epsilon, double delta, faro_finding *finding,
                              faro_error *error) FARO_WARN_UNUSED;

/* One claim of a run. What is not owned belongs to the document. */
typedef struct faro_checked {
  const char *label;
  double epsilon, delta;
  const json_t *claim; /* all of it */
  bool proven;         /* only claims that are called proven are checked */
  bool private_at_all;
  bool bare;            /* without settings, as a campaign and an evaluation are */
  faro_finding noise;   /* what the noise gives */
  faro_finding finding; /* that, unless something else is wrong */
  /* Owned: the members that nothing was found to check by, each with its value or null. */
  json_t *recorded;
} faro_checked;

/* Checks a result of a run: all words and numbers of `claim`, by its `grounds` and, where they are
 * recorded, its `settings`. With the finding of its noise, where that is known already. */
faro_status faro_verify_result(const json_t *result, const faro_finding *known, faro_checked *checked,
                               faro_error *error) FARO_WARN_UNUSED;

/* Of a run, each claim has the settings that it follows from beside it. */
typedef enum faro_verify_source { FARO_VERIFY_RUN, FARO_VERIFY_CAMPAIGN } faro_verify_source;

typedef struct faro_verification {
  json_t *document;
  size_t count;
  faro_checked *claim;
} faro_verification;

/* Checks all claims of a run.json, or that of a campaign; `name` is for messages. The caller
 * clears the result. */
faro_status faro_verify_run(faro_verification *result, faro_verify_source source, const char *name,
                            const char *text, size_t length, faro_error *error) FARO_WARN_UNUSED;
void faro_verification_clear(faro_verification *result);

#endif
