/* decimal: see the header.
 *
 * Nearly all numbers in data have no exponent and at most 19 digits. Read as a whole number, the
 * digits then fit a machine word: value = whole / 10^decimals. That quotient is rounded once, in
 * one of two ways. strtod reads the rest and would give the same double. */
#include "base/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 19 }; /* 10^19 - 1 < 2^64 */

static const uint64_t power[DIGITS_MAX + 1] = {1,
                                               10,
                                               100,
                                               1000,
                                               10000,
                                               100000,
                                               1000000,
                                               10000000,
                                               100000000,
                                               1000000000,
                                               10000000000,
                                               100000000000,
                                               1000000000000,
                                               10000000000000,
                                               100000000000000,
                                               1000000000000000,
                                               10000000000000000,
                                               100000000000000000,
                                               1000000000000000000,
                                               10000000000000000000U};

/* whole / divisor in integers, to at least 63 bits. The last bit is set when there is a remainder,
 * so that the conversion to a double rounds to the right side. */
static double divide(uint64_t whole, uint64_t divisor) {
  const int up = __builtin_clzll(whole);
  const int down = __builtin_clzll(divisor);
  const unsigned __int128 numerator = (unsigned __int128)(whole << up) << 63;
  const uint64_t quotient = (uint64_t)(numerator / (divisor << down)); /* 2^62 .. 2^64 - 1 */
  const bool rest = numerator % (divisor << down) != 0;
  return ldexp((double)(quotient | rest), down - up - 63);
}

/* Reads at most 19 digits and one point. */
static bool read_plain(const char *at, const char *end, double *value) {
  if (end - at > DIGITS_MAX + 1) return false;
  const char *start = at;
  const char *point = NULL;
  uint64_t whole = 0;
  for (; at < end; at++) {
    const unsigned digit = (unsigned)(unsigned char)*at - '0';
    if (digit <= 9) whole = 10 * whole + digit;
    else if (*at == '.' && !point) point = at;
    else return false;
  }
  const long digits = end - start - (point != NULL);
  if (digits < 1 || digits > DIGITS_MAX) return false;
  const uint64_t divisor = power[point ? end - point - 1 : 0];
  const bool exact = whole <= UINT64_C(1) << 53; /* both are doubles, and the division rounds once */
  *value = exact ? (double)whole / (double)divisor : divide(whole, divisor);
  return true;
}

/* strtod with a decimal point, whatever the program's locale uses. */
static double read_c(const char *text, char **end) {
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return NAN;
  const locale_t saved = uselocale(plain);
  const double value = strtod(text, end);
  uselocale(saved);
  freelocale(plain);
  return value;
}

/* Reads every other decimal number. strtod wants a zero byte at the end. */
static bool read_any(const char *text, size_t length, double *value) {
  char copy[FARO_DECIMAL_MAX + 1];
  if (length == 0 || length > FARO_DECIMAL_MAX) return false;
  memcpy(copy, text, length);
  copy[length] = '\0';
  if (strspn(copy, "+-.0123456789eE") != length) return false; /* no inf, nan, 0x1 or zero byte */
  char *end = NULL;
  const double number = read_c(copy, &end);
  if (end != copy + length || !isfinite(number)) return false;
  *value = number;
  return true;
}

bool faro_decimal(const char *text, size_t length, double *value) {
  const bool sign = length > 0 && (*text == '-' || *text == '+');
  double magnitude = 0;
  if (!read_plain(text + sign, text + length, &magnitude)) return read_any(text, length, value);
  *value = sign && *text == '-' ? -magnitude : magnitude;
  return true;
}
