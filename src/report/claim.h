/* claim: a claim as JSON, with the same keys wherever a claim is printed; and its numbers. */
#ifndef FARO_REPORT_CLAIM_H
#define FARO_REPORT_CLAIM_H

#include <faro/report.h>
#include <jansson.h>

/* New references; NULL if memory ran out. */
/* NaN and infinity have no JSON form; null means that a number does not apply. */
json_t *faro_json_number(double value);
json_t *faro_claim_json(const faro_claim *claim);

#endif
