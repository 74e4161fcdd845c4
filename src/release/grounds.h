/* grounds: what a release's claim rests on, as JSON: how far a user can move a contribution, how
 * often, and the noise. docs/privacy.md, Checking a claim, describes the members; src/verify reads
 * them. Nothing here comes from the accountant, except (epsilon0, delta0) of an amplified Gaussian,
 * which a verifier checks. */
#ifndef FARO_RELEASE_GROUNDS_H
#define FARO_RELEASE_GROUNDS_H

#include "base/text.h"
#include "release/release.h"

/* Each writes `,"name":value`. */
void faro_ground_number(faro_text *out, const char *name, double value);
void faro_ground_word(faro_text *out, const char *name, const char *word);

/* `,"sd":[...]` of a user, batch or node, times `factor`: on the diagonal of x x', off it, and in
 * the rest. */
void faro_ground_sd(const faro_release *r, double factor, faro_text *out);

#endif
