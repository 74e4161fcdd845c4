/* ledger_check: proves that a ledger is the one that the analyzer signed, and that each row says
 * what this program's accountant computes from the campaign.
 *
 *   begin -> rows, page after page -> end
 *
 * The caller has opened the campaign with the pinned key, which checks its claim. */
#ifndef FARO_SERVICE_ANALYZER_LEDGER_CHECK_H
#define FARO_SERVICE_ANALYZER_LEDGER_CHECK_H

#include <jansson.h>

#include "service/analyzer/campaign_ledger.h"

typedef struct faro_ledger_check {
  const faro_campaign *campaign;
  faro_release *release;
  faro_ledger_head head;                 /* as signed, when the first page was made */
  uint64_t rows;                         /* found good so far */
  uint64_t reports;                      /* in their batches */
  unsigned char hash[FARO_DIGEST_BYTES]; /* the last row's */
  faro_ledger_head kept;                 /* the head of an earlier check */
  bool has_kept;
} faro_ledger_check;

/* Takes the signed head from the first page. `signer` is the pinned key. */
faro_status faro_ledger_check_begin(faro_ledger_check *check, const faro_campaign *campaign,
                                    const unsigned char signer[static FARO_KEY_BYTES], const json_t *page,
                                    faro_error *error) FARO_WARN_UNUSED;
/* A head that was signed before, for example at an auditor's last visit: its rows must still be
 * there. Call it after begin. */
faro_status faro_ledger_check_since(faro_ledger_check *check, const char *document, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES],
                                    faro_error *error) FARO_WARN_UNUSED;
/* Checks the rows of a page, in order. Rows after those of the head are left alone: they came while
 * the pages were read. FARO_INVALID names the first row that is wrong. */
faro_status faro_ledger_check_rows(faro_ledger_check *check, const json_t *page,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Replaces what nobody has signed in a page that was checked by what follows from the campaign and
 * the signed number of rows, and removes the rows that came later. */
void faro_ledger_check_amend(const faro_ledger_check *check, json_t *page);
/* Checks that all rows were there, and that the policy, published before the first page was made,
 * was charged. */
faro_status faro_ledger_check_end(const faro_ledger_check *check, uint64_t policy,
                                  faro_error *error) FARO_WARN_UNUSED;
/* What was proven, in words. */
void faro_ledger_check_tell(const faro_ledger_check *check, faro_text *out);
void faro_ledger_check_clear(faro_ledger_check *check);

#endif
