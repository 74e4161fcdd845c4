/* decimal: numbers as programs write them, read exactly and fast. */
#ifndef FARO_BASE_DECIMAL_H
#define FARO_BASE_DECIMAL_H

#include <faro/base.h>

enum { FARO_DECIMAL_MAX = 1023 };

/* The double nearest to a decimal number: digits with an optional sign, point and exponent, and nothing else. False,
 * with *value untouched, for any other text (nan, inf, hexadecimal, blanks), for a number beyond the doubles, and for
 * one of more than FARO_DECIMAL_MAX characters. The text need not end in a zero byte. */
bool faro_decimal(const char *text, size_t length, double *value);

#endif
