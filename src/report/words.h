/* words: what the page says of claims and numbers, in plain words. All text is markup. */
#ifndef FARO_REPORT_WORDS_H
#define FARO_REPORT_WORDS_H

#include "report/view.h"

/* Who must be trusted, from "none" to "local"; joint and central claims both trust a server. */
enum { FARO_TRUSTS = 5 };
/* The place of a row's trust model in that order. */
size_t faro_words_trust(const faro_view_row *row);
const char *faro_words_trusted(size_t trust); /* "a trusted server" */

bool faro_words_proven(const faro_view_row *row);
bool faro_words_unproven(const faro_view_row *row);

/* "1 234 567", with thin spaces; few digits for small numbers. */
void faro_words_add_number(faro_text *out, double value);
/* A small probability as 10^-6 with a raised exponent. */
void faro_words_add_probability(faro_text *out, double value);
void faro_words_add_percent(faro_text *out, double share);

/* The sections "What is promised, and whom you trust" and what the claims rest on. */
void faro_words_add_claims(const faro_report *report, faro_text *out);

/* Whether a sweep changes how an algorithm is set up, and not the problem or the promise. */
bool faro_words_is_choice(const char *key);
/* The section that says which row to use (advice.c). */
void faro_advice_add(const faro_report *report, faro_text *out);
/* The best row without privacy at the row's problem; NULL if there is none. */
const faro_view_row *faro_advice_free(const faro_report *report, const faro_view_row *row);
/* Whether two rows stand for the same problem and promise. */
bool faro_advice_same(const faro_report *report, const faro_view_row *a, const faro_view_row *b);

#endif
