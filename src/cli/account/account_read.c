/* account_read: numbers that people type, their ranges, and the words for both. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/account/account.h"
#include "cli/cli.h"

static const struct {
  const char *name;
  account_range range;
} table[ACCOUNT_OPTIONS] = {
#define X(id, text, low, high, whole) [ACCOUNT_##id] = {text, {low, high, whole, false}},
    ACCOUNT_OPTION_LIST(X)
#undef X
};

const char *account_option_name(account_option option) { return table[option].name; }

account_range account_range_of(account_option option, const account_own own[ACCOUNT_OWN_MAX]) {
  for (size_t i = 0; i < ACCOUNT_OWN_MAX && own[i].range.high > 0; i++)
    if (own[i].option == option) return own[i].range;
  return table[option].range;
}

/* Biases are few, and written as fractions. */
static bool read_bias(const account_range *range, const char *text, double *value) {
  static const struct {
    const char *text;
    double value;
  } biases[] = {{"1/2", 0.5}, {"0.5", 0.5}, {"1/4", 0.25}, {"0.25", 0.25}};
  for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
    if (strcmp(text, biases[i].text) == 0 && biases[i].value >= range->low) {
      *value = biases[i].value;
      return true;
    }
  return false;
}

bool account_read(account_option option, const account_range *range, const char *text, double *value) {
  if (option == ACCOUNT_BIAS) return read_bias(range, text, value);
  if (*text == '\0' || strspn(text, "+-.0123456789eE") != strlen(text)) return false; /* no inf, nan, 0x1 */
  char *end = NULL;
  const double number = strtod(text, &end);
  if (*end != '\0') return false;
  const bool zero = range->zero && number == 0 && !signbit(number);
  const bool inside = number >= range->low && number <= range->high && number > 0;
  if (!zero && (!inside || (range->whole && number != floor(number)))) return false;
  *value = number;
  return true;
}

const char *account_allowed(account_option option, const account_range *range,
                            char out[static ACCOUNT_TEXT]) {
  char low[FARO_NUMBER_SIZE];
  char high[FARO_NUMBER_SIZE];
  faro_number(range->low, low);
  faro_number(range->high, high);
  const char *kind = range->whole ? "whole number" : "number";
  const char *zero = range->zero ? "0 or " : "";
  if (option == ACCOUNT_BIAS) snprintf(out, ACCOUNT_TEXT, "1/2%s", range->low < 0.5 ? " or 1/4" : "");
  else if (range->low > 0) snprintf(out, ACCOUNT_TEXT, "%sa %s from %s to %s", zero, kind, low, high);
  else snprintf(out, ACCOUNT_TEXT, "a %s above 0, at most %s", kind, high);
  return out;
}

const char *account_shown(const char *text, char out[static ACCOUNT_SHOWN]) {
  const char *shown = *text ? text : "nothing";
  return faro_shorten(shown, strlen(shown), out);
}

int account_refuse(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("faro account: ", stderr);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  return EXIT_USAGE;
}
