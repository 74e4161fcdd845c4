/* ledger_chain: see the header. */
#include "service/analyzer/ledger_chain.h"

#include <sodium.h>
#include <string.h>

enum { MAGIC = 4, WHEN = 24, NUMBERS = 8, SIZE = MAGIC + FARO_DIGEST_BYTES + 8 * NUMBERS + WHEN };

/* The bits of a double (IEEE 754). */
static uint64_t bits_of(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

void faro_ledger_link(const unsigned char before[static FARO_DIGEST_BYTES], const faro_debit *row,
                      unsigned char hash[static FARO_DIGEST_BYTES]) {
  const uint64_t numbers[NUMBERS] = {row->batch,          row->version, row->users,   bits_of(row->epsilon),
                                     bits_of(row->delta), row->rounds,  row->charged, row->allowed};
  unsigned char bytes[SIZE] = "FRL1";
  unsigned char *at = bytes + MAGIC;
  memcpy(at, before, FARO_DIGEST_BYTES);
  at += FARO_DIGEST_BYTES;
  for (size_t i = 0; i < NUMBERS; i++, at += 8) faro_store64(at, numbers[i]);
  memcpy(at, row->when, strnlen(row->when, WHEN));
  crypto_generichash(hash, FARO_DIGEST_BYTES, bytes, sizeof bytes, NULL, 0);
}
