/* ledger_chain: the rows of a ledger as a chain of hashes. Each row contains the hash of the row
 * before it, and the first one the campaign's digest, so a row that is changed, removed or inserted
 * changes the last hash, which the analyzer has signed (faro_ledger_head). docs/protocol.md gives
 * the bytes. */
#ifndef FARO_SERVICE_ANALYZER_LEDGER_CHAIN_H
#define FARO_SERVICE_ANALYZER_LEDGER_CHAIN_H

#include "service/analyzer/store.h"

/* The hash of a row after the row, or the campaign, whose hash is `before`. Uses all members but
 * row->hash. */
void faro_ledger_link(const unsigned char before[static FARO_DIGEST_BYTES], const faro_debit *row,
                      unsigned char hash[static FARO_DIGEST_BYTES]);

#endif
