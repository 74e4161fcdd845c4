/* size: how many bytes a report has on its way to a shuffler or to the server (wire/wire.h has its
 * layout). The protocol and the cost of a release (faro_cost) count by these. */
#ifndef FARO_RELEASE_SIZE_H
#define FARO_RELEASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

enum {
  FARO_REPORT_HEAD = 72,
  FARO_DIGEST_BYTES = 32,
  FARO_SEAL_BYTES = 48 /* what a sealed box adds */
};

/* Counts are added up by a shuffler; anything else is sealed, with the digest of its campaign. */
static inline size_t faro_report_body(bool counts, size_t entries) {
  return counts ? 4 * entries : FARO_SEAL_BYTES + FARO_DIGEST_BYTES + 8 * entries;
}

static inline double faro_report_bytes(bool counts, size_t entries) {
  return (double)(FARO_REPORT_HEAD + faro_report_body(counts, entries));
}

#endif
