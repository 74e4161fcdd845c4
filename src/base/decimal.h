/* decimal: reads decimal numbers, exactly and fast. */
#ifndef FARO_BASE_DECIMAL_H
#define FARO_BASE_DECIMAL_H

#include <faro/base.h>

enum { FARO_DECIMAL_MAX = 1023 };

/* Reads a decimal number and gives the nearest double: digits with an optional sign, point and
 * exponent, and nothing else. Returns false, with *value untouched, for any other text (nan, inf,
 * hexadecimal, blanks), for a number too large for a double, and for more than FARO_DECIMAL_MAX
 * characters. The text need not end in a zero byte. */
bool faro_decimal(const char *text, size_t length, double *value);

#endif
