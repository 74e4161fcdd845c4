/* claim: a claim as JSON, with the same keys wherever a claim is printed. */
#ifndef FARO_REPORT_CLAIM_H
#define FARO_REPORT_CLAIM_H

#include <faro/report.h>
#include <jansson.h>

/* A new reference; NULL if memory ran out. */
json_t *faro_claim_json(const faro_claim *claim);

#endif
