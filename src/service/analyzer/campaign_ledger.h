/* ledger: what privacy each batch spent, in numbers and in words.
 *
 * The noise of a campaign is made for a number of releases; each is charged before it is published. A client's budget is
 * spent by the batches that the client is in, and by no others. */
#ifndef FARO_SERVICE_ANALYZER_CAMPAIGN_LEDGER_H
#define FARO_SERVICE_ANALYZER_CAMPAIGN_LEDGER_H

#include <jansson.h>

#include "base/text.h"
#include "service/analyzer/store.h"

/* What applying batch `batch` (from 0) debits. */
faro_debit faro_ledger_debit(const faro_campaign *campaign, const faro_release *release, uint64_t batch);

/* Of GET /v1/ledger: the claim, what is charged, and at most FARO_LEDGER_ROWS lines from batch `from` on. */
enum { FARO_LEDGER_ROWS = 1000 };
faro_status faro_ledger_json(faro_store *store, const faro_campaign *campaign, uint64_t from, json_t **json,
                             faro_error *error) FARO_WARN_UNUSED;
json_t *faro_debit_json(const faro_debit *debit);
json_t *faro_ledger_claim(const faro_claim *claim);

/* In words: what was promised, what is spent, and then the lines of as many documents as there are, each the next one's
 * continuation. FARO_INVALID for JSON that is no ledger. */
faro_status faro_ledger_explain_head(json_t *json, faro_text *out, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_ledger_explain_rows(json_t *json, faro_text *out, faro_error *error) FARO_WARN_UNUSED;
void faro_ledger_explain_end(json_t *json, faro_text *out);

#endif
