/* claim: a claim as JSON, the same keys wherever one is printed. */
#ifndef FARO_REPORT_CLAIM_H
#define FARO_REPORT_CLAIM_H

#include <faro/report.h>
#include <jansson.h>

/* A new reference; NULL when memory is out. */
json_t *faro_claim_json(const faro_claim *claim);

#endif
