/* campaign_ledger: the privacy that each batch spent, in numbers and in words.
 *
 * The noise of a campaign is made for a fixed number of releases. Each is charged before it is
 * published. A client's budget is spent only by the batches that the client is in. */
#ifndef FARO_SERVICE_ANALYZER_CAMPAIGN_LEDGER_H
#define FARO_SERVICE_ANALYZER_CAMPAIGN_LEDGER_H

#include <jansson.h>

#include "base/text.h"
#include "service/analyzer/store.h"

/* The debit for applying batch `batch` (from 0). */
faro_debit faro_ledger_debit(const faro_campaign *campaign, const faro_release *release, uint64_t batch);

/* The answer to GET /v1/ledger: the claim, what is charged, the signed head, and at most
 * FARO_LEDGER_ROWS rows from batch `from` on. The head is read first: rows may have come since. */
enum { FARO_LEDGER_ROWS = 1000 };
faro_status faro_ledger_json(faro_store *store, const faro_campaign *campaign, uint64_t from, json_t **json,
                             faro_error *error) FARO_WARN_UNUSED;
/* The part of it that is not rows or signed: what follows from the campaign and the last row, or
 * {0} if there is none. */
json_t *faro_ledger_facts(const faro_campaign *campaign, const faro_debit *last);
/* [{"state", "when"}, ...]: the last FARO_LIFE_ROWS changes of the campaign's state. */
faro_status faro_life_json(faro_store *store, json_t **json, faro_error *error) FARO_WARN_UNUSED;
json_t *faro_debit_json(const faro_debit *debit);
/* Reads a row of the answer. FARO_INVALID if it is not one. `allowed` is not in it, and servers of
 * earlier versions state no hash. */
faro_status faro_debit_read(const json_t *json, faro_debit *debit, faro_error *error) FARO_WARN_UNUSED;
json_t *faro_ledger_claim(const faro_claim *claim);

/* In words: first the guarantee and what is spent, then the rows of one document after another,
 * then an explanation. FARO_INVALID if the JSON is not a ledger. `verified`: ledger_check.h has
 * found it good; otherwise the text says that nobody has checked it. `reports` counts those of all
 * rows so far, and begins with 0. */
faro_status faro_ledger_explain_head(json_t *json, bool verified, faro_text *out,
                                     faro_error *error) FARO_WARN_UNUSED;
faro_status faro_ledger_explain_rows(json_t *json, uint64_t *reports, faro_text *out,
                                     faro_error *error) FARO_WARN_UNUSED;
void faro_ledger_explain_end(json_t *json, faro_text *out);

#endif
