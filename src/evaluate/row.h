/* row: checks of logged rows that both evaluators make. */
#ifndef FARO_EVALUATE_ROW_H
#define FARO_EVALUATE_ROW_H

#include <faro/evaluate.h>

/* FARO_INVALID with a message if a probability is none, or a number is not finite. `arms` 0: any
 * arm. */
faro_status faro_logged_check(const faro_logged *row, size_t arms, bool model, faro_error *error);

/* "1.5 must be ...": parameters of both evaluators. */
faro_status faro_evaluate_check_range(double low, double high, faro_error *error);
faro_status faro_evaluate_check_confidence(double confidence, faro_error *error);

#endif
