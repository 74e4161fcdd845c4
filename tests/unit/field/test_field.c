/* field: what texts, numbers and strings become, by type and range, against a table written out by
 * hand and against naive readers; what is allowed, in words; readers that remember their first
 * error; trees of YAML. */
#include "support/support.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/reader.h"
#include "yaml/yaml.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

FARO_WORDS(fruits, "apple", "pear", "fig")
static const char *const nuts[] = {"almond", "hazel", NULL};

static bool read_even(const char *text, void *out) {
  const int value = atoi(text);
  if (value % 2 != 0) return false;
  *(int *)out = value;
  return true;
}

static faro_node yaml(const char *text) { return (faro_node){.type = FARO_NODE_TEXT, .text = text}; }
static faro_node quoted(const char *text) {
  return (faro_node){.type = FARO_NODE_TEXT, .text = text, .quoted = true};
}
static faro_node argument(const char *text) {
  return (faro_node){.type = FARO_NODE_TEXT, .origin = FARO_FROM_ARGV, .text = text};
}
static faro_node string(const char *text) {
  return (faro_node){.type = FARO_NODE_TEXT, .origin = FARO_FROM_JSON, .text = text};
}
static faro_node number(double value) {
  return (faro_node){.type = FARO_NODE_NUMBER, .origin = FARO_FROM_JSON, .number = value};
}
static faro_node json(faro_node_type type) { return (faro_node){.type = type, .origin = FARO_FROM_JSON}; }

/* ---- numbers */

static const faro_field any_real = {"x", FARO_FIELD_REAL, .size = 8};
static const faro_field closed = {"x", FARO_FIELD_REAL, .size = 8, .least = 1e-4, .most = 1000};
static const faro_field open_least = {"x", FARO_FIELD_REAL, .size = 8, .most = 1, .above = true};
static const faro_field open_both = {"x",       FARO_FIELD_REAL, .size = 8,
                                     .most = 1, .above = true,   .below = true};
static const faro_field negative = {"x", FARO_FIELD_REAL, .size = 8, .least = -5, .most = 0};
static const faro_field unbounded = {"x", FARO_FIELD_REAL, .size = 8, .most = INFINITY, .above = true};
static const faro_field or_zero = {"x",           FARO_FIELD_REAL, .size = 8, .least = 1e-15,
                                   .most = 0.999, .zero = "0"};
static const faro_field whole = {"x", FARO_FIELD_WHOLE, .size = 8, .least = 1, .most = 1e9};

static void test_field__reals_keep_to_their_range(void **state) {
  (void)state;
  const double none = NAN;
  const struct {
    const faro_field *field;
    faro_node node;
    double value; /* NaN: refused */
  } cases[] = {
      {&any_real, yaml("-1e300"), -1e300},
      {&any_real, yaml("+.5"), 0.5},
      {&any_real, yaml("5."), 5},
      {&any_real, yaml("1e-400"), 0},
      {&any_real, yaml("1e400"), none},
      {&any_real, yaml("nan"), none},
      {&any_real, yaml(".nan"), none},
      {&any_real, yaml("inf"), none},
      {&any_real, yaml("-inf"), none},
      {&any_real, yaml("0x1"), none},
      {&any_real, yaml(" 1"), none},
      {&any_real, yaml("1 "), none},
      {&any_real, yaml("1,5"), none},
      {&any_real, yaml("--1"), none},
      {&any_real, yaml("1e"), none},
      {&any_real, yaml(""), none},
      {&any_real, yaml(NULL), none}, /* there is a zero byte in it */
      {&any_real, quoted("1"), none},
      {&any_real, argument("2.5e-3"), 0.0025},
      {&any_real, argument(""), none},
      {&any_real, string("1"), none},
      {&any_real, number(-2.5), -2.5},
      {&any_real, number(INFINITY), none},
      {&any_real, json(FARO_NODE_TRUE), none},
      {&any_real, json(FARO_NODE_NULL), none},
      {&any_real, json(FARO_NODE_LIST), none},
      {&closed, yaml("1e-4"), 1e-4},
      {&closed, yaml("0.00009999999999999999"), none},
      {&closed, yaml("1000"), 1000},
      {&closed, yaml("1000.0000000000001"), none},
      {&closed, yaml("-1"), none},
      {&closed, number(1000), 1000},
      {&closed, number(nextafter(1000, 2000)), none},
      {&closed, number(NAN), none},
      {&open_least, yaml("0"), none},
      {&open_least, yaml("-0"), none},
      {&open_least, yaml("1e-300"), 1e-300},
      {&open_least, yaml("1"), 1},
      {&open_both, yaml("0"), none},
      {&open_both, yaml("0.5"), 0.5},
      {&open_both, yaml("1"), none},
      {&negative, yaml("-5"), -5},
      {&negative, yaml("0"), 0},
      {&negative, yaml("1e-9"), none},
      {&unbounded, yaml("1e308"), 1e308},
      {&unbounded, yaml("0"), none},
      {&or_zero, yaml("0"), 0},
      {&or_zero, yaml("0.0"), 0},
      {&or_zero, yaml("-0"), none},
      {&or_zero, yaml("1e-15"), 1e-15},
      {&or_zero, yaml("1e-16"), none},
      {&or_zero, number(0), 0},
      {&whole, yaml("1"), 1},
      {&whole, yaml("1e9"), 1e9},
      {&whole, yaml("1.5"), none},
      {&whole, yaml("0"), none},
      {&whole, argument("1e6"), 1e6},
      {&whole, number(7), 7},
      {&whole, number(7.25), none},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double value = 123;
    const bool good = faro_field_read(cases[i].field, &cases[i].node, &value);
    if (good != !isnan(cases[i].value)) fail_msg("case %zu: %s", i, good ? "accepted" : "refused");
    assert_true(value == (good ? cases[i].value : 123)); /* untouched when it is refused */
  }
}

static void test_field__counts_are_exact_to_their_ends(void **state) {
  (void)state;
  static const faro_field to_ten = {"x", FARO_FIELD_COUNT, .size = 8, .least = 1, .most = 10};
  static const faro_field large = {"x", FARO_FIELD_COUNT, .size = 8};
  static const faro_field every = {"x", FARO_FIELD_COUNT, .size = 8, .most = 0x1p64};
  static const faro_field or_log = {"x", FARO_FIELD_COUNT, .size = 8, .least = 1, .most = 50, .zero = "log"};
  const uint64_t none = 77;
  const struct {
    const faro_field *field;
    faro_node node;
    uint64_t value; /* 77: refused */
  } cases[] = {
      {&to_ten, yaml("1"), 1},
      {&to_ten, yaml("10"), 10},
      {&to_ten, yaml("0"), none},
      {&to_ten, yaml("11"), none},
      {&to_ten, yaml("007"), 7},
      {&to_ten, yaml("1e1"), 10}, /* in a file */
      {&to_ten, yaml("5.0"), 5},
      {&to_ten, yaml("5.5"), none},
      {&to_ten, yaml("-5"), none},
      {&to_ten, yaml(""), none},
      {&to_ten, yaml("1 "), none},
      {&to_ten, yaml(NULL), none},
      {&to_ten, quoted("5"), none},
      {&to_ten, argument("5"), 5},
      {&to_ten, argument("1e1"), none}, /* typed out */
      {&to_ten, argument("+5"), none},
      {&to_ten, argument("5.0"), none},
      {&to_ten, argument(""), none},
      {&to_ten, argument("0x5"), none},
      {&to_ten, number(5), 5},
      {&to_ten, number(5.5), none},
      {&to_ten, number(-1), none},
      {&to_ten, number(NAN), none},
      {&to_ten, string("5"), none},
      {&large, yaml("9007199254740992"), UINT64_C(1) << 53},
      {&large, yaml("9007199254740993"), none},
      {&large, number(0x1p53), UINT64_C(1) << 53},
      {&large, number(0x1p53 + 2), none},
      {&large, yaml("1e300"), none},
      {&every, argument("18446744073709551615"), UINT64_MAX},
      {&every, argument("18446744073709551616"), none},
      {&every, argument("99999999999999999999"), none},
      {&every, argument("184467440737095516150"), none},
      {&or_log, argument("log"), 0},
      {&or_log, argument("0"), none},
      {&or_log, argument("lo"), none},
      {&or_log, yaml("log"), 0},
      {&or_log, argument("50"), 50},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint64_t value = none;
    const bool good = faro_field_read(cases[i].field, &cases[i].node, &value);
    if (value != cases[i].value || good != (value != none))
      fail_msg("case %zu gives %llu", i, (unsigned long long)value);
  }
  uint32_t narrow = 0;
  const faro_field small = {"x", FARO_FIELD_COUNT, .size = sizeof narrow, .most = 100};
  const faro_node hundred = yaml("100");
  assert_true(faro_field_read(&small, &hundred, &narrow) && narrow == 100);
}

/* As the C library reads them, where it is as strict. */
static bool naive_count(const char *text, uint64_t *value) {
  char *end = NULL;
  if (!isdigit((unsigned char)*text)) return false;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0;
}

static void test_field__counts_are_those_of_a_naive_reader(void **state) {
  (void)state;
  static const faro_field every = {"x", FARO_FIELD_COUNT, .size = 8, .most = 0x1p64};
  static const char letters[] = "00112345678999.e-+ x"; /* the first 14 are digits */
  uint32_t random = 1;
  for (int i = 0; i < 200000; i++) {
    char text[24];
    const size_t kinds = i % 4 == 0 ? sizeof letters - 1 : 14;
    random = random * 1664525 + 1013904223;
    const size_t length = (random >> 16) % 22;
    for (size_t k = 0; k < length; k++) {
      random = random * 1664525 + 1013904223;
      text[k] = letters[(random >> 16) % kinds];
    }
    text[length] = '\0';
    const faro_node node = argument(text);
    uint64_t value = 0;
    uint64_t expected = 0;
    const bool good = faro_field_read(&every, &node, &value);
    if (good != naive_count(text, &expected)) fail_msg("\"%s\"", text);
    if (good) assert_int_equal(value, expected);
  }
}

/* ---- texts, words, bytes */

static void test_field__texts_fit_and_print(void **state) {
  (void)state;
  static const faro_field field = {"x", FARO_FIELD_TEXT, .size = 4};
  const struct {
    faro_node node;
    bool good;
  } cases[] = {
      {yaml("abc"), true},     {yaml("abcd"), false},         {yaml(""), false},
      {yaml("a\nb"), false},   {yaml("a\x7f"), false},        {yaml("\xc3\xa9"), true},
      {yaml(NULL), false},     {quoted("abc"), true},         {argument("abc"), true},
      {argument(""), false},   {argument("a\tb"), false},     {string("abc"), true},
      {string("a\x01"), true}, {string("abcd"), false},       {string(""), false},
      {number(3), false},      {json(FARO_NODE_LIST), false},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char out[4] = "?";
    const bool good = faro_field_read(&field, &cases[i].node, out);
    if (good != cases[i].good) fail_msg("case %zu", i);
    assert_string_equal(out, good ? cases[i].node.text : "?");
  }
}

static void test_field__words_flags_bytes_and_others(void **state) {
  (void)state;
  typedef enum fruit { APPLE, PEAR, FIG } fruit;
  fruit small = APPLE;
  size_t wide = 9;
  bool flag = false;
  const char *word = NULL;
  int even = 1;
  unsigned char bytes[2] = {0};
  const faro_field choice = {"x", FARO_FIELD_CHOICE, .size = sizeof small, .words = fruits};
  const faro_field choice_wide = {"x", FARO_FIELD_CHOICE, .size = sizeof wide, .words = fruits};
  const faro_field flag_field = {"x", FARO_FIELD_FLAG, .size = sizeof flag};
  const faro_field hex = {"x", FARO_FIELD_HEX, .size = sizeof bytes};
  const faro_field other = {"x", FARO_FIELD_OTHER, .read = read_even, .allowed = "an even number"};
  const faro_field as_it_is = {"x", FARO_FIELD_WORD, .size = sizeof word};
  faro_node node = string("fig");
  assert_true(faro_field_read(&choice, &node, &small) && small == FIG);
  assert_true(faro_field_read(&choice_wide, &node, &wide) && wide == 2);
  node = yaml("Fig");
  assert_false(faro_field_read(&choice, &node, &small));
  node = number(1);
  assert_false(faro_field_read(&choice, &node, &small));
  static const struct {
    const char *text;
    int yaml, json; /* as bytes: 0: refused */
  } digits[] = {{"01ff", 0x01ff, 0x01ff}, {"01FF", 0x01ff, 0}, {"01f", 0, 0},
                {"01fff", 0, 0},          {"01fg", 0, 0},      {"", 0, 0}};
  for (size_t i = 0; i < COUNT_OF(digits); i++) {
    bytes[0] = bytes[1] = 0;
    node = yaml(digits[i].text);
    assert_int_equal(faro_field_read(&hex, &node, bytes), digits[i].yaml != 0);
    assert_int_equal(bytes[0] << 8 | bytes[1], digits[i].yaml);
    bytes[0] = bytes[1] = 0;
    node = string(digits[i].text);
    assert_int_equal(faro_field_read(&hex, &node, bytes), digits[i].json != 0);
    assert_int_equal(bytes[0] << 8 | bytes[1], digits[i].json);
  }
  node = yaml("true");
  assert_true(faro_field_read(&flag_field, &node, &flag) && flag);
  node = string("true");
  assert_false(faro_field_read(&flag_field, &node, &flag));
  node = json(FARO_NODE_FALSE);
  assert_true(faro_field_read(&flag_field, &node, &flag) && !flag);
  node = yaml("yes");
  assert_false(faro_field_read(&flag_field, &node, &flag));
  node = yaml("6");
  assert_true(faro_field_read(&other, &node, &even) && even == 6);
  node = yaml("7");
  assert_false(faro_field_read(&other, &node, &even));
  node = argument("");
  assert_true(faro_field_read(&as_it_is, &node, &word) && word == node.text);
}

static void test_field__what_is_allowed_is_said_in_words(void **state) {
  (void)state;
  static const struct {
    faro_field field;
    faro_origin origin;
    const char *allowed;
  } cases[] = {
      {{"x", FARO_FIELD_REAL, .size = 8}, 0, "a number"},
      {{"x", FARO_FIELD_REAL, .least = 1e-4, .most = 1000}, 0, "a number from 0.0001 to 1000"},
      {{"x", FARO_FIELD_REAL, .most = 1e6, .above = true}, 0, "a number above 0, at most 1000000"},
      {{"x", FARO_FIELD_REAL, .most = 1, .above = true, .below = true}, 0, "a number above 0 and below 1"},
      {{"x", FARO_FIELD_REAL, .most = 1, .below = true}, 0, "a number of at least 0, below 1"},
      {{"x", FARO_FIELD_REAL, .most = INFINITY, .above = true}, 0, "a number above 0"},
      {{"x", FARO_FIELD_REAL, .least = 2, .most = INFINITY}, 0, "a number of at least 2"},
      {{"x", FARO_FIELD_REAL, .least = 1e-15, .most = 0.5, .zero = "0"},
       0,
       "a number from 1e-15 to 0.5, or 0"},
      {{"x", FARO_FIELD_WHOLE, .least = 1, .most = 1e9}, 0, "a whole number from 1 to 1000000000"},
      {{"x", FARO_FIELD_COUNT, .least = 1, .most = 50, .zero = "log"},
       0,
       "a whole number from 1 to 50, or log"},
      {{"x", FARO_FIELD_COUNT, .size = 8}, 0, "a whole number from 0 to 9007199254740992"},
      {{"x", FARO_FIELD_COUNT, .most = 0x1p64}, 0, "a whole number from 0 to 2^64 - 1"},
      {{"x", FARO_FIELD_TEXT, .size = 8}, 0, "a text of 1 to 7 printable characters"},
      {{"x", FARO_FIELD_TEXT, .size = 8}, FARO_FROM_JSON, "a string of 1 to 7 bytes"},
      {{"x", FARO_FIELD_HEX, .size = 8}, 0, "16 hexadecimal digits"},
      {{"x", FARO_FIELD_HEX, .size = 8}, FARO_FROM_JSON, "16 hexadecimal digits, lower case"},
      {{"x", FARO_FIELD_FLAG, .size = 8}, 0, "true or false"},
      {{"x", FARO_FIELD_CHOICE, .words = fruits}, 0, "one of apple, pear, fig"},
      {{"x", FARO_FIELD_CHOICE, .list = nuts}, 0, "one of almond, hazel"},
      {{"x", FARO_FIELD_COUNT, .most = 1e15}, 0, "a whole number from 0 to 1000000000000000"},
      {{"x", FARO_FIELD_OTHER, .allowed = "LOW,HIGH"}, 0, "LOW,HIGH"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char allowed[FARO_ALLOWED];
    assert_string_equal(faro_field_allowed(&cases[i].field, cases[i].origin, allowed), cases[i].allowed);
  }
}

static void test_field__settings_are_fields_of_their_struct(void **state) {
  (void)state;
  typedef struct own {
    double real, open;
    uint64_t count;
    bool on;
    int choice;
  } own;
  static const char *const zero[] = {"auto", NULL};
  static const faro_setting table[] = {
      {"real", FARO_SETTING_REAL, offsetof(own, real), -1, 2, 0.5, NULL, ""},
      {"open", FARO_SETTING_REAL_OPEN, offsetof(own, open), 0, 1, 0.25, NULL, ""},
      {"count", FARO_SETTING_COUNT, offsetof(own, count), 2, 9, 0, zero, ""},
      {"on", FARO_SETTING_SWITCH, offsetof(own, on), 0, 1, 1, NULL, ""},
      {"choice", FARO_SETTING_CHOICE, offsetof(own, choice), 0, 0, 1, nuts, ""},
  };
  static const struct {
    size_t row;
    const char *text; /* the first of a row is its default, as it is printed */
    double value;     /* NaN: refused */
  } cases[] = {{0, "0.5", 0.5},   {0, "-1", -1}, {0, "2", 2},     {0, "2.1", NAN},  {0, "0x1", NAN},
               {1, "0.25", 0.25}, {1, "0", NAN}, {1, "1", NAN},   {2, "auto", 0},   {2, "2", 2},
               {2, "9", 9},       {2, "0", NAN}, {2, "2.5", NAN}, {2, "aut", NAN},  {3, "true", 1},
               {3, "false", 0},   {3, "1", NAN}, {4, "hazel", 1}, {4, "almond", 0}, {4, "haze", NAN}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    own values = {0};
    char text[FARO_PRINTED];
    const faro_setting *setting = &table[cases[i].row];
    const faro_field field = faro_setting_field(setting);
    const faro_node node = yaml(cases[i].text);
    const bool good = !isnan(cases[i].value);
    assert_int_equal(faro_field_read(&field, &node, (char *)&values + field.offset), good);
    if (!good) continue;
    assert_true(faro_setting_get(setting, &values) == cases[i].value);
    assert_string_equal(faro_field_print(&field, cases[i].value, text), cases[i].text);
  }
}

static void test_field__a_slip_is_answered_with_the_word_that_was_meant(void **state) {
  (void)state;
  static const struct {
    faro_field field;
    const char *text, *message;
  } cases[] = {
      {{"x", FARO_FIELD_FLAG, .size = 1},
       "flase",
       "x must be true or false (got flase; did you mean false?)"},
      {{"x", FARO_FIELD_CHOICE, .list = nuts},
       "hazle",
       "x must be one of almond, hazel (got hazle; did you mean hazel?)"},
      {{"x", FARO_FIELD_REAL, .most = 1}, "flase", "x must be a number from 0 to 1 (got flase)"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    faro_error e = {0};
    const faro_node node = yaml(cases[i].text);
    assert_int_equal(faro_field_refuse(&cases[i].field, "", "x", &node, &e), FARO_INVALID);
    assert_string_equal(e.message, cases[i].message);
  }
}

/* ---- settings */

typedef struct settings {
  char name[8];
  uint64_t count;
  double real;
  bool flag;
  size_t choice;
  unsigned char bytes[4];
  uint32_t inside;
  size_t parts;
  struct part {
    char url[32];
    uint64_t weight;
  } part[2];
  double beside[2]; /* of each part too */
} settings;

static const faro_field fields[] = {
    {"name", FARO_FIELD_TEXT, FARO_AT(settings, name), .required = true},
    {"count", FARO_FIELD_COUNT, FARO_AT(settings, count), .least = 1, .most = 10},
    {"inner.real", FARO_FIELD_REAL, FARO_AT(settings, real), .above = true, .most = 1},
    {"inner.flag", FARO_FIELD_FLAG, FARO_AT(settings, flag)},
    {"choice", FARO_FIELD_CHOICE, FARO_AT(settings, choice), .words = fruits},
    {"bytes", FARO_FIELD_HEX, FARO_AT(settings, bytes)},
    {"inside", FARO_FIELD_NODE, FARO_AT(settings, inside)},
    {"parts", FARO_FIELD_LIST, FARO_AT(settings, parts), .most = 2},
    {"parts[].url", FARO_FIELD_TEXT, FARO_EACH(settings, part[0].url, part), .required = true},
    {"parts[].weight", FARO_FIELD_COUNT, FARO_EACH(settings, part[0].weight, part)},
    {"parts[].beside", FARO_FIELD_REAL, FARO_EACH(settings, beside[0], beside)},
};

static faro_status read_settings(const char *text, settings *s, faro_error *error) {
  return faro_yaml_read("x.yaml", text, strlen(text), fields, COUNT_OF(fields), s, error);
}

static void test_yaml__reads_what_the_table_says(void **state) {
  (void)state;
  settings s = {.part[1].weight = 9};
  assert_ok(
      read_settings("name: abc\ncount: \"7\"\ninner:\n  real: 0.5\n  flag: true\nchoice: pear\n"
                    "bytes: 0102FFfe\nparts:\n  - url: one\n    weight: 3\n    beside: -1\n  - url: two\n"
                    "    beside: 2.5\n",
                    &s, error));
  assert_string_equal(s.name, "abc");
  assert_int_equal(s.count, 7);
  assert_true(s.real == 0.5 && s.flag && s.choice == 1);
  assert_memory_equal(s.bytes, "\x01\x02\xff\xfe", 4);
  assert_int_equal(s.parts, 2);
  assert_string_equal(s.part[0].url, "one");
  assert_string_equal(s.part[1].url, "two");
  assert_true(s.part[0].weight == 3 && s.part[1].weight == 9); /* what is not given stays */
  assert_true(s.beside[0] == -1 && s.beside[1] == 2.5);
}

static void test_yaml__messages_name_line_key_value_and_what_is_allowed(void **state) {
  (void)state;
#define KEYS "name, count, inner, choice, bytes, inside, parts"
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"name: abc\ncuont: 7\n", "2: unknown key \"cuont\" (did you mean count?); allowed: " KEYS},
      {"name: abc\nzzz: 7\n", "2: unknown key \"zzz\"; allowed: " KEYS},
      {"name: a\n[a, b]: 7\n", "2: a key must be a text; allowed: " KEYS},
      {"name: a\n\"a\\e[31m\": 7\n", "2: unknown key \"a?[31m\"; allowed: " KEYS},
      {"name: abc\ncount: 11\n", "2: count must be a whole number from 1 to 10 (got 11)"},
      {"name: abc\ncount: 1.5\n", "2: count must be a whole number from 1 to 10 (got 1.5)"},
      {"name: abc\ncount: \"x\"\n", "2: count must be a whole number from 1 to 10 (got \"x\")"},
      {"name: abc\ncount: {}\n", "2: count must be a whole number from 1 to 10 (got a mapping)"},
      {"name: abc\ncount: \"1\\0\"\n",
       "2: count must be a whole number from 1 to 10 (got a text with a zero byte in it)"},
      {"name: abcdefgh\n", "1: name must be a text of 1 to 7 printable characters (got abcdefgh)"},
      {"name: \"\"\n", "1: name must be a text of 1 to 7 printable characters (got nothing)"},
      {"name:\n", "1: name must be a text of 1 to 7 printable characters (got nothing)"},
      {"count: 1\n", "1: name is missing: a text of 1 to 7 printable characters"},
      {"\n\n{}\n", "3: name is missing: a text of 1 to 7 printable characters"},
      {"name: a\nname: b\n", "2: key \"name\" is given twice"},
      {"name: a\ninner: {flag: true}\ninner: {flag: true}\n", "3: key \"inner\" is given twice"},
      {"name: a\ninner: {flag: true,\n  flag: true}\n", "3: key \"flag\" is given twice in inner"},
      {"name: a\ninner: 3\n", "2: inner must be a mapping of keys to values (got 3)"},
      {"name: a\ninner:\n  real: 0\n", "3: inner.real must be a number above 0, at most 1 (got 0)"},
      {"name: a\ninner:\n  real: nan\n", "3: inner.real must be a number above 0, at most 1 (got nan)"},
      {"name: a\ninner:\n  flag: yes\n", "3: inner.flag must be true or false (got yes)"},
      {"name: a\ninner:\n  raal: 1\n",
       "3: unknown key \"raal\" in inner (did you mean real?); allowed: real, flag"},
      {"name: a\nchoice: aple\n",
       "2: choice must be one of apple, pear, fig (got aple; did you mean apple?)"},
      {"name: a\nbytes: 0102fg00\n", "2: bytes must be 8 hexadecimal digits (got 0102fg00)"},
      {"name: a\nparts: 3\n", "2: parts must be a list of at most 2 elements (got 3)"},
      {"name: a\nparts: [{url: a}, {url: b}, {url: c}]\n",
       "2: parts must be a list of at most 2 elements (got a list of 3)"},
      {"name: a\nparts:\n  - 3\n", "3: parts[0] must be a mapping of keys to values (got 3)"},
      {"name: a\nparts:\n  - weight: 1\n",
       "3: parts[0].url is missing: a text of 1 to 31 printable characters"},
      {"name: a\nparts:\n  - url: b\n  - url: b\n    weight: x\n",
       "5: parts[1].weight must be a whole number from 0 to 9007199254740992 (got x)"},
      {"name: a\nparts:\n  - url: a\n  - urll: 1\n",
       "4: unknown key \"urll\" in parts[1] (did you mean url?); allowed: url, weight, beside"},
      {"name: a\ninner.real: 1\n", "2: unknown key \"inner.real\" (did you mean inner?); allowed: " KEYS},
      {"name: a\nparts[].url: 1\n", "2: unknown key \"parts[].url\" (did you mean parts?); allowed: " KEYS},
      {"name: [a]\n", "1: name must be a text of 1 to 7 printable characters (got a list)"},
      {"- a\n", "1: the file must be a mapping of keys to values (got a list)"},
      {"", "1: the file must be a mapping of keys to values (got nothing)"},
      {"name: a\n--- \nname: b\n", "3: a second YAML document begins here; only one is allowed"},
      {"name: [a\n",
       "2: not YAML: while parsing a flow sequence (from line 1), did not find expected ',' or ']'"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    settings s = {0};
    faro_error refused = {0};
    char message[512];
    assert_int_equal(read_settings(cases[i].text, &s, &refused), FARO_INVALID);
    snprintf(message, sizeof message, "x.yaml:%s", cases[i].message);
    assert_string_equal(refused.message, message);
  }
}

static void test_yaml__a_missing_key_is_missed_in_its_section(void **state) {
  (void)state;
  static const faro_field few[] = {
      {"name", FARO_FIELD_TEXT, FARO_AT(settings, name)},
      {"inner.flag", FARO_FIELD_FLAG, FARO_AT(settings, flag)},
      {"inner.count", FARO_FIELD_COUNT, FARO_AT(settings, count), .required = true, .help = "how many"}};
  static const struct {
    const char *text, *message;
  } cases[] = {{"name: a\n\ninner:\n  flag: true\n", "x.yaml:3: inner.count is missing: how many"},
               {"\nname: a\n", "x.yaml:2: inner.count is missing: how many"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    settings s = {0};
    faro_error refused = {0};
    const char *text = cases[i].text;
    assert_int_equal(faro_yaml_read("x.yaml", text, strlen(text), few, 3, &s, &refused), FARO_INVALID);
    assert_string_equal(refused.message, cases[i].message);
  }
}

static void test_yaml__long_values_are_cut_and_their_length_is_told(void **state) {
  (void)state;
  char text[600] = "name: ";
  memset(text + 6, 'x', 500);
  settings s = {0};
  faro_error refused = {0};
  assert_int_equal(read_settings(text, &s, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "(got xxxx"));
  assert_non_null(strstr(refused.message, "xxx..., 500 bytes)"));
}

/* ---- trees */

static void parse(faro_tree *tree, const char *text) {
  assert_ok(faro_yaml_parse(tree, "x.yaml", true, text, strlen(text), error));
}

/* What is inside a node ends where the next one begins, and an alias points at a node that is
 * none. */
static void check_tree(const faro_tree *tree) {
  for (uint32_t i = 0; i < tree->count; i++) {
    const faro_node *node = &tree->node[i];
    uint32_t child = i + 1;
    for (uint32_t k = 0; k < node->count; k++) child = tree->node[child].next;
    assert_int_equal(child, node->next);
    assert_true(node->target < tree->count && tree->node[node->target].target == node->target);
  }
}

static void test_yaml__nodes_stand_in_the_order_of_the_text(void **state) {
  (void)state;
  faro_tree tree = {0};
  parse(&tree, "a: 1\nb:\n  - 'two'\n  - {c: 3}\nd:\n  4\n");
  check_tree(&tree);
  assert_int_equal(tree.count, 7);
  const uint32_t b = faro_tree_member(&tree, 0, "b");
  assert_int_equal(faro_tree_value(&tree, b)->type, FARO_NODE_LIST);
  const faro_node *two = faro_tree_value(&tree, faro_tree_first(&tree, b));
  assert_true(two->quoted && strcmp(two->text, "two") == 0 && two->line == 3 && !two->key);
  const faro_node *d = &tree.node[faro_tree_member(&tree, 0, "d")];
  assert_true(d->key_line == 5 && d->line == 6 && strcmp(d->text, "4") == 0);
  assert_int_equal(faro_tree_member(&tree, 0, "e"), 0);
  assert_int_equal(faro_tree_member(&tree, b, "a"), 0); /* a list has none */
  faro_tree_clear(&tree);
  parse(&tree, "# nothing\n");
  assert_true(tree.count == 1 && tree.node[0].type == FARO_NODE_NULL);
  faro_tree_clear(&tree);
}

static void test_yaml__aliases_are_what_they_name_and_cost_nothing(void **state) {
  (void)state;
  faro_tree tree = {0};
  settings s = {0};
  parse(&tree, "a: &a [1, 2]\nb: *a\n*a : 3\nc: &c {d: *c}\n");
  check_tree(&tree);
  assert_int_equal(tree.node[faro_tree_member(&tree, 0, "b")].target, faro_tree_member(&tree, 0, "a"));
  uint32_t d = faro_tree_member(&tree, 0, "c");
  for (int i = 0; i < 1000; i++) d = faro_tree_member(&tree, d, "d"); /* for ever */
  assert_int_equal(faro_tree_value(&tree, d)->type, FARO_NODE_MAPPING);
  faro_tree_clear(&tree);
  parse(&tree, "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
               "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n");
  check_tree(&tree);
  assert_true(tree.count < 50);
  faro_tree_clear(&tree);
  assert_ok(read_settings("name: &n abc\nparts: [&p {url: *n}, *p]\n", &s, error));
  assert_true(s.parts == 2 && strcmp(s.part[1].url, "abc") == 0);
  /* a text that is a key and a value, many times: it is kept once */
  parse(&tree, "a: &k kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\nb: {*k : *k}\nc: {*k : *k}\nd: {*k : *k}\n");
  check_tree(&tree);
  assert_int_equal(
      faro_tree_value(&tree, faro_tree_member(&tree, faro_tree_member(&tree, 0, "d"), tree.node[1].text))
          ->text[0],
      'k');
  faro_tree_clear(&tree);
}

static void test_yaml__depth_is_bounded(void **state) {
  (void)state;
  char text[2000];
  faro_tree tree = {0};
  for (int flow = 0; flow < 2; flow++) {
    for (int depth = 99; depth <= 400; depth += 301) {
      size_t length = 0;
      for (int i = 0; i < depth; i++) length += (size_t)sprintf(text + length, flow ? "[" : "- ");
      if (flow)
        for (int i = 0; i < depth; i++) text[length++] = ']';
      faro_error e = {0};
      const faro_status status = faro_yaml_parse(&tree, "x.yaml", true, text, length, &e);
      assert_int_equal(status, depth < 100 ? FARO_OK : FARO_INVALID);
      if (status == FARO_OK) faro_tree_clear(&tree);
      else
        assert_string_equal(e.message, flow ? "x.yaml:1: brackets are nested more than 100 deep"
                                            : "x.yaml:1: values are nested more than 100 deep");
    }
  }
}

static void test_yaml__a_value_of_the_command_line_has_no_lines(void **state) {
  (void)state;
  faro_tree tree = {0};
  faro_error e = {0};
  const char *text = "[1, x]";
  assert_ok(faro_yaml_parse(&tree, "--set epsilon", false, text, strlen(text), error));
  faro_reader r = {.tree = &tree, .file = "--set epsilon", .error = &e};
  uint32_t element = 0;
  double value = 0;
  assert_int_equal(faro_read_list(&r, 0, "sweep", 1, 10, "values", &element), 2);
  assert_int_equal(tree.node[element].line, -1);
  faro_read_value(&r, element, &closed, &value);
  assert_true(value == 1 && faro_reader_end(&r) == FARO_OK);
  faro_read_value(&r, tree.node[element].next, &closed, &value);
  assert_int_equal(faro_reader_end(&r), FARO_INVALID);
  assert_string_equal(e.message, "--set epsilon: x must be a number from 0.0001 to 1000 (got x)");
  faro_tree_clear(&tree);
  faro_error again = {0};
  assert_int_equal(faro_yaml_parse(&tree, "--set epsilon", false, "[", 1, &again), FARO_INVALID);
  assert_non_null(strstr(again.message, "--set epsilon: not YAML: "));
}

/* ---- readers */

static void test_reader__the_first_error_stays_and_nothing_more_is_read(void **state) {
  (void)state;
  faro_tree tree = {0};
  settings s = {0};
  faro_error e = {0};
  uint32_t element = 7;
  double value = 3;
  parse(&tree, "name: abc\ncount: 0\nlist: [1]\nreal: 0.5\n");
  faro_reader r = {.tree = &tree, .file = "x.yaml", .error = &e};
  faro_read_member(&r, 0, NULL, &fields[1], &s);
  assert_int_equal(faro_reader_end(&r), FARO_INVALID);
  const char *message = "x.yaml:2: count must be a whole number from 1 to 10 (got 0)";
  assert_string_equal(e.message, message);
  faro_read_member(&r, 0, NULL, &fields[0], &s);
  faro_read_fields(&r, 0, NULL, fields, COUNT_OF(fields), &s);
  faro_read_value(&r, faro_tree_member(&tree, 0, "real"), &closed, &value);
  assert_int_equal(faro_read_list(&r, faro_tree_member(&tree, 0, "list"), "list", 1, 1, "values", &element),
                   0);
  faro_reader_fail(&r, 0, "another");
  assert_true(*s.name == '\0' && value == 3 && element == 7);
  assert_string_equal(e.message, message);
  assert_int_equal(faro_reader_end(&r), FARO_INVALID);
  /* without an error to fill, too */
  faro_reader silent = {.tree = &tree};
  faro_read_member(&silent, 0, NULL, &fields[1], &s);
  faro_read_member(&silent, 0, NULL, &fields[0], &s);
  assert_true(faro_reader_end(&silent) == FARO_INVALID && *s.name == '\0');
  faro_tree_clear(&tree);
}

static void test_reader__one_member_and_the_names_of_the_caller(void **state) {
  (void)state;
  static const faro_field kind = {"kind", FARO_FIELD_CHOICE, FARO_AT(settings, choice), .words = fruits};
  static const faro_field table[] = {
      {"kind", FARO_FIELD_CHOICE, FARO_AT(settings, choice), .words = fruits},
      {"count", FARO_FIELD_COUNT, FARO_AT(settings, count), .required = true, .least = 1, .most = 9}};
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"3", "x.yaml:1: a fruit must be a mapping of keys to values (got 3)"},
      {"{count: 3}", "x.yaml:1: kind is missing in a fruit: one of apple, pear, fig"},
      {"{kind: fog, other: 3}",
       "x.yaml:1: kind must be one of apple, pear, fig (got fog; did you mean fig?)"},
      {"{kind: fig, cout: 3}",
       "x.yaml:1: unknown key \"cout\" in fig (did you mean count?); allowed: kind, count"},
      {"{kind: fig}", "x.yaml:1: count is missing in fig: a whole number from 1 to 9"},
      {"{kind: fig, count: 1, kind: fig}", "x.yaml:1: key \"kind\" is given twice in fig"},
      {"{kind: fig, count: 10}", "x.yaml:1: count must be a whole number from 1 to 9 (got 10)"},
      {"{count: 9, kind: fig}", ""},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    faro_tree tree = {0};
    settings s = {0};
    faro_error e = {0};
    parse(&tree, cases[i].text);
    faro_reader r = {.tree = &tree, .file = "x.yaml", .error = &e};
    faro_read_member(&r, 0, "a fruit", &kind, &s);
    faro_read_fields(&r, 0, fruits(s.choice), table, COUNT_OF(table), &s);
    assert_string_equal(e.message, cases[i].message);
    assert_int_equal(faro_reader_end(&r) == FARO_OK, *cases[i].message == '\0');
    faro_tree_clear(&tree);
  }
}

static void test_reader__lists_say_how_many_they_want(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t least, most;
    const char *message;
  } cases[] = {{"[1, 2]", 2, 2, ""},
               {"[1, 2]", 3, 3, "x: all must be a list of 3 numbers (got a list of 2)"},
               {"[1, 2]", 0, 1, "x: all must be a list of at most 1 numbers (got a list of 2)"},
               {"[]", 1, 9, "x: all must be a list of 1 to 9 numbers (got an empty list)"},
               {"5", 1, 9, "x: all must be a list of 1 to 9 numbers (got 5)"},
               {"{a: 5}", 1, 9, "x: all must be a list of 1 to 9 numbers (got a mapping)"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    faro_tree tree = {0};
    faro_error e = {0};
    uint32_t first = 0;
    assert_ok(faro_yaml_parse(&tree, "x", false, cases[i].text, strlen(cases[i].text), error));
    faro_reader r = {.tree = &tree, .file = "x", .error = &e};
    (void)faro_read_list(&r, 0, "all", cases[i].least, cases[i].most, "numbers", &first);
    assert_string_equal(e.message, cases[i].message);
    faro_tree_clear(&tree);
  }
}

/* Writes down the keys that come, and reads the counts. */
typedef struct seen {
  char keys[64];
  uint64_t sum;
} seen;

static void see(faro_reader *r, uint32_t node, const faro_field *field, void *context) {
  seen *all = context;
  uint64_t count = 0;
  strcat(all->keys, field->name);
  if (field->type == FARO_FIELD_COUNT) faro_read_value(r, node, field, &count);
  all->sum += count;
}

static const char *home(const char *place, const char *key) {
  return strcmp(place, "a bowl") == 0 && strcmp(key, "spoon") == 0 ? " (it belongs on the table)" : NULL;
}

static void test_reader__a_caller_reads_the_values_in_the_order_of_the_file(void **state) {
  (void)state;
  static const faro_field table[] = {
      {"a", FARO_FIELD_COUNT, .size = sizeof(uint64_t), .most = 9},
      {"b", FARO_FIELD_COUNT, .size = sizeof(uint64_t), .most = 9, .required = true},
      {"c", FARO_FIELD_NODE, .size = 0}};
  static const struct {
    const char *text, *keys;
    uint64_t sum;
    const char *message;
  } cases[] = {
      {"{c: [1], b: 2, a: 5}", "cba", 7, ""},
      {"{b: 2}", "b", 2, ""},
      {"{b: 2, a: 10, c: 1}", "ba", 2, "x.yaml:1: a must be a whole number from 0 to 9 (got 10)"},
      {"{a: 2, a: 3}", "a", 2, "x.yaml:1: key \"a\" is given twice in a bowl"},
      {"{a: 2}", "a", 2, "x.yaml:1: b is missing in a bowl: a whole number from 0 to 9"},
      {"{fork: 2}", "", 0, "x.yaml:1: unknown key \"fork\" in a bowl; allowed: a, b, c"},
      {"{spoon: 2}", "", 0,
       "x.yaml:1: unknown key \"spoon\" in a bowl (it belongs on the table); allowed: a, b, c"},
      {"[a, b]", "", 0, "x.yaml:1: a bowl must be a mapping of keys to values (got a list)"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    faro_tree tree = {0};
    seen all = {0};
    faro_error e = {0};
    parse(&tree, cases[i].text);
    faro_reader r = {.tree = &tree, .file = "x.yaml", .elsewhere = home, .error = &e};
    faro_read_each(&r, 0, "a bowl", table, COUNT_OF(table), see, &all);
    assert_string_equal(e.message, cases[i].message);
    assert_string_equal(all.keys, cases[i].keys);
    assert_int_equal(all.sum, cases[i].sum);
    faro_tree_clear(&tree);
  }
}

static void test_reader__a_key_that_stands_in_no_file_is_refused_too(void **state) {
  (void)state;
  faro_error e = {0};
  faro_reader r = {.file = "--set", .error = &e};
  faro_reader_unknown(&r, -1, "hazle", "an override", nuts, 2);
  assert_string_equal(
      e.message, "--set: unknown key \"hazle\" in an override (did you mean hazel?); allowed: almond, hazel");
  assert_int_equal(faro_reader_end(&r), FARO_INVALID);
}

static void test_reader__with_all_no_field_may_be_missing(void **state) {
  (void)state;
  static const faro_field few[] = {{"name", FARO_FIELD_TEXT, FARO_AT(settings, name)},
                                   {"inner.flag", FARO_FIELD_FLAG, FARO_AT(settings, flag)}};
  faro_tree tree = {0};
  settings s = {0};
  faro_error e = {0};
  parse(&tree, "name: a\n");
  faro_reader r = {.tree = &tree, .error = &e, .all = true};
  faro_read_fields(&r, 0, NULL, few, COUNT_OF(few), &s);
  assert_string_equal(e.message, "inner.flag is missing: true or false"); /* and no file, no line */
  faro_tree_clear(&tree);
}

static void test_yaml__out_of_memory_is_said_and_nothing_leaks(void **state) {
  (void)state;
  static const char text[] = "name: abc\nparts: [{url: a}, {url: b}]\n";
  settings s = {0};
  size_t failures = 0;
  for (size_t n = 1;; n++) {
    faro_error e = {0};
    alloc_fail_at(n);
    const faro_status status =
        faro_yaml_read("x.yaml", text, sizeof text - 1, fields, COUNT_OF(fields), &s, &e);
    alloc_reset();
    if (status == FARO_OK) break;
    assert_int_equal(status, FARO_MEMORY);
    assert_string_equal(e.message, "out of memory");
    failures = n;
  }
  assert_true(failures >= 3); /* texts, what was made, nodes */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_field__reals_keep_to_their_range),
      cmocka_unit_test(test_field__counts_are_exact_to_their_ends),
      cmocka_unit_test(test_field__counts_are_those_of_a_naive_reader),
      cmocka_unit_test(test_field__texts_fit_and_print),
      cmocka_unit_test(test_field__words_flags_bytes_and_others),
      cmocka_unit_test(test_field__what_is_allowed_is_said_in_words),
      cmocka_unit_test(test_field__settings_are_fields_of_their_struct),
      cmocka_unit_test(test_field__a_slip_is_answered_with_the_word_that_was_meant),
      cmocka_unit_test(test_yaml__reads_what_the_table_says),
      cmocka_unit_test(test_yaml__messages_name_line_key_value_and_what_is_allowed),
      cmocka_unit_test(test_yaml__a_missing_key_is_missed_in_its_section),
      cmocka_unit_test(test_yaml__long_values_are_cut_and_their_length_is_told),
      cmocka_unit_test(test_yaml__nodes_stand_in_the_order_of_the_text),
      cmocka_unit_test(test_yaml__aliases_are_what_they_name_and_cost_nothing),
      cmocka_unit_test(test_yaml__depth_is_bounded),
      cmocka_unit_test(test_yaml__a_value_of_the_command_line_has_no_lines),
      cmocka_unit_test(test_reader__the_first_error_stays_and_nothing_more_is_read),
      cmocka_unit_test(test_reader__one_member_and_the_names_of_the_caller),
      cmocka_unit_test(test_reader__lists_say_how_many_they_want),
      cmocka_unit_test(test_reader__a_caller_reads_the_values_in_the_order_of_the_file),
      cmocka_unit_test(test_reader__a_key_that_stands_in_no_file_is_refused_too),
      cmocka_unit_test(test_reader__with_all_no_field_may_be_missing),
      cmocka_unit_test(test_yaml__out_of_memory_is_said_and_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
