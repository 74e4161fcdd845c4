/* number: the shortest digits of a double. Those of usual size need no more than 128-bit whole
 * numbers; the rest is left to the C library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef unsigned __int128 wide;

/* The `places` last digits of q follow the point. */
static void put(char *out, bool negative, uint64_t q, int places) {
  char digit[FARO_NUMBER_SIZE];
  int count = 0;
  for (; places > 0 && q % 10 == 0; places--) q /= 10;
  do digit[count++] = (char)('0' + q % 10);
  while ((q /= 10) > 0);
  while (count <= places) digit[count++] = '0';
  if (negative) *out++ = '-';
  while (count > 0) {
    *out++ = digit[--count];
    if (count == places && count > 0) *out++ = '.';
  }
  *out = '\0';
}

/* size = m 2^-(shift + scale) for some m of 53 bits; its digits are those of whole and rest:
 *
 *     m 5^scale = size 10^scale 2^shift = whole 2^shift + rest,   whole of 17 digits. */
typedef struct digits {
  wide exact;
  uint64_t whole, rest, five;
  int scale, shift;
} digits;

static digits expand(uint64_t m, int exponent, int scale) {
  digits d = {.five = 1, .scale = scale, .shift = -(exponent + scale)};
  for (int i = 0; i < scale; i++) d.five *= 5;
  d.exact = (wide)m * d.five;
  d.whole = (uint64_t)(d.exact >> d.shift);
  d.rest = (uint64_t)d.exact & ((UINT64_C(1) << d.shift) - 1);
  return d;
}

/* Without the digits below `unit`, rounded as printf does: to even where both sides are as near. */
static uint64_t rounded(const digits *d, uint64_t unit) {
  const uint64_t q = d->whole / unit;
  const uint64_t part = d->whole % unit;
  const uint64_t half = unit > 1 ? unit / 2 : UINT64_C(1) << (d->shift - 1);
  const uint64_t left = unit > 1 ? part : d->rest;
  const bool tie = left == half && (unit == 1 || d->rest == 0);
  return q + (tie ? q % 2 : left >= half);
}

/* Whether no other double is as near: neighbours are 5^scale away from m 5^scale. */
static bool reads_back(const digits *d, wide value) {
  const wide distance = value > d->exact ? value - d->exact : d->exact - value;
  return 2 * distance < d->five;
}

/* False: the number is left to the C library. */
static bool print(double value, char *out) {
  const double size = fabs(value);
  const bool negative = signbit(value);
  if (!(size < 1e14)) return false;
  if (size == floor(size)) {
    put(out, negative, (uint64_t)size, 0);
    return true;
  }
  uint64_t bits;
  memcpy(&bits, &size, sizeof bits);
  const uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  const int exponent = (int)(bits >> 52) - 1075;
  if (size < 1e-4 || m == UINT64_C(1) << 52) return false; /* 2^n: one neighbour is nearer */
  int scale = 20;
  for (double above = 1e-3; size >= above; above *= 10) scale--;
  digits d = expand(m, exponent, scale);
  if (d.whole >= UINT64_C(100000000000000000)) d = expand(m, exponent, scale - 1);
  else if (d.whole < UINT64_C(10000000000000000)) d = expand(m, exponent, scale + 1);
  for (int left_out = 2; left_out >= 0; left_out--) {
    const uint64_t unit = left_out == 2 ? 100 : left_out == 1 ? 10 : 1;
    const uint64_t q = rounded(&d, unit);
    if (left_out > 0 && !reads_back(&d, (wide)(q * unit) << d.shift)) continue;
    put(out, negative, q, d.scale - left_out);
    break;
  }
  return true;
}

const char *faro_plain_number(double value, char out[static FARO_NUMBER_SIZE]) {
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(out, FARO_NUMBER_SIZE, "%.*g", precision, value);
    if (precision == 17 || strtod(out, NULL) == value) break; /* 17 are always enough */
  }
  return out;
}

const char *faro_number(double value, char out[static FARO_NUMBER_SIZE]) {
  return print(value, out) ? out : faro_plain_number(value, out);
}
