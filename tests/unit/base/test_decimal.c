/* decimal: the number reader against strtod. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "support/support.h"

/* The same double, bit for bit: -0 is not 0. */
static void assert_reads(const char *text) {
  double value = NAN;
  const double expected = strtod(text, NULL);
  if (!faro_decimal(text, strlen(text), &value)) fail_msg("\"%s\" is refused", text);
  if (memcmp(&value, &expected, sizeof value) != 0)
    fail_msg("\"%s\" is read as %.17g, not %.17g", text, value, expected);
}

static void assert_refuses(const char *text, size_t length) {
  double value = 42;
  if (faro_decimal(text, length, &value)) fail_msg("\"%.*s\" is read as %.17g", (int)length, text, value);
  assert_true(value == 42);
}

static uint64_t draw(faro_sim_rng *sim, uint64_t below) { return faro_rng_next(&sim->rng) % below; }

/* Sign, 0 to 25 digits, a point somewhere, and sometimes an exponent; leading zeros are common. */
static void random_decimal(faro_sim_rng *sim, char *out) {
  static const char *const signs[] = {"", "", "-", "+"};
  out += sprintf(out, "%s", signs[draw(sim, 4)]);
  const uint64_t digits = 1 + draw(sim, 25);
  const uint64_t point = draw(sim, 2 * digits);
  const uint64_t zeros = draw(sim, 3) ? 0 : draw(sim, digits);
  for (uint64_t i = 0; i < digits; i++) {
    if (i == point) *out++ = '.';
    *out++ = i < zeros ? '0' : (char)('0' + draw(sim, 10));
  }
  if (point == digits) *out++ = '.';
  if (draw(sim, 8) == 0) out += sprintf(out, "e%d", (int)draw(sim, 600) - 300);
  *out = '\0';
}

static void test_decimal__reads_random_numbers_as_strtod_does(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 7, 0, FARO_ROLE_INSTANCE);
  char text[64];
  for (int i = 0; i < 1000000; i++) {
    random_decimal(&sim, text);
    if (isfinite(strtod(text, NULL))) assert_reads(text);
    else assert_refuses(text, strlen(text));
  }
}

/* What programs print so that doubles read back exactly, and numbers halfway between two
 * doubles. */
static void test_decimal__reads_shortest_and_halfway_numbers(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 8, 0, FARO_ROLE_INSTANCE);
  char text[64];
  for (int i = 0; i < 200000; i++) {
    snprintf(text, sizeof text, "%.*g", 15 + i % 3, faro_sim_uniform(&sim));
    assert_reads(text);
    const uint64_t odd = (UINT64_C(1) << 53) + 2 * draw(&sim, UINT64_C(1) << 52) + 1; /* not a double */
    snprintf(text, sizeof text, "%llu", (unsigned long long)odd);
    assert_reads(text);
    snprintf(text, sizeof text, "%llu.5", (unsigned long long)(odd >> 1));
    assert_reads(text);
  }
}

static void test_decimal__reads_edge_cases(void **state) {
  (void)state;
  static const char *const good[] = {"0",
                                     "-0",
                                     "+0",
                                     "1",
                                     "5.",
                                     ".5",
                                     "-.5",
                                     "9007199254740992",
                                     "9007199254740993",
                                     "9999999999999999999",
                                     "18446744073709551616",
                                     "0.0000000000000000001",
                                     ".9999999999999999999",
                                     "0.00000000000000000001",
                                     "1e308",
                                     "1e-400",
                                     "4.9e-324",
                                     "1E+2",
                                     "00000000000000000000000001"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_reads(good[i]);
  static const char *const bad[] = {"",      "-",   "+",    ".",     "-.",       "--1",   "+-1", "1-",
                                    "1.2.3", "e5",  "1e",   "1e+",   "1,5",      "1 ",    " 1",  "0x10",
                                    "nan",   "inf", "-inf", "1e999", "infinity", "1_000", "1f",  "\xD9\xA1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_refuses(bad[i], strlen(bad[i]));
  assert_refuses("1\0002", 3);
  assert_refuses("1e5\0", 4);
}

static void test_decimal__reads_no_further_than_told(void **state) {
  (void)state;
  double value = 0;
  assert_true(faro_decimal("123456", 3, &value));
  assert_true(value == 123);
  assert_true(faro_decimal("1e23", 3, &value));
  assert_true(value == 100);
}

static void test_decimal__length_is_bounded(void **state) {
  (void)state;
  char text[FARO_DECIMAL_MAX + 2];
  memset(text, '1', sizeof text);
  text[1] = '.';
  double value = 0;
  assert_true(faro_decimal(text, FARO_DECIMAL_MAX, &value));
  assert_true(value == 10. / 9);
  assert_refuses(text, FARO_DECIMAL_MAX + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decimal__reads_random_numbers_as_strtod_does),
      cmocka_unit_test(test_decimal__reads_shortest_and_halfway_numbers),
      cmocka_unit_test(test_decimal__reads_edge_cases),
      cmocka_unit_test(test_decimal__reads_no_further_than_told),
      cmocka_unit_test(test_decimal__length_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
