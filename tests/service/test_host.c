/* Many campaigns: what may follow what in a campaign's life, who may enter the admin port, and names.
 * Processes are in tests/cli/campaigns.bats. */
#include "support/support.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "service/analyzer/life.h"
#include "service/host/host_settings.h"
#include "service/role/admin.h"
#include "wire/bytes.h"

/* The whole table, a second time. */
static void test_life__every_change_is_allowed_or_named(void **state) {
  (void)state;
  static const char *const verbs[] = {"open", "pause", "resume", "finish", "archive"};
  static const char *const after[FARO_LIVES][5] = {
      [FARO_LIFE_DRAFT] = {"open", NULL, NULL, NULL, NULL},
      [FARO_LIFE_OPEN] = {NULL, "paused", NULL, "finished", NULL},
      [FARO_LIFE_PAUSED] = {NULL, NULL, "open", "finished", NULL},
      [FARO_LIFE_FINISHED] = {NULL, NULL, NULL, NULL, "archived"},
      [FARO_LIFE_ARCHIVED] = {NULL, NULL, NULL, NULL, NULL},
  };
  for (size_t now = 0; now < FARO_LIVES; now++)
    for (size_t i = 0; i < 5; i++) {
      faro_life next = FARO_LIVES;
      faro_error why = {0};
      const faro_status status = faro_life_after((faro_life)now, verbs[i], &next, &why);
      if (after[now][i]) {
        assert_int_equal(status, FARO_OK);
        assert_string_equal(faro_life_name(next), after[now][i]);
        continue;
      }
      assert_int_equal(status, FARO_INVALID);
      assert_int_equal(next, FARO_LIVES);
      assert_non_null(strstr(why.message, faro_life_name((faro_life)now)));
      assert_non_null(strstr(why.message, verbs[i]));
      for (size_t j = 0; j < 5; j++) /* what is possible is named, and nothing else */
        assert_true((strstr(strstr(why.message, "possible: "), verbs[j]) != NULL) == (after[now][j] != NULL));
    }
  for (size_t i = 0; i < 5; i++) assert_string_equal(faro_life_verb(i), verbs[i]);
  assert_null(faro_life_verb(5));
  faro_life read = FARO_LIVES;
  assert_int_equal(faro_life_read("dead", &read, NULL), FARO_INVALID);
}

enum { DIGITS = 2 * FARO_TOKEN_BYTES };

static bool allowed(const char *scheme, const char *text, bool post, const unsigned char *hashes) {
  char header[256];
  snprintf(header, sizeof header, "%s %s", scheme, text);
  return faro_admin_allows(header, post, hashes, 2);
}

static const char *password(const char *name, const char *digits, char out[static 256]) {
  char plain[128];
  snprintf(plain, sizeof plain, "%s%s", name, digits);
  return sodium_bin2base64(out, 256, (const unsigned char *)plain, strlen(plain),
                           sodium_base64_VARIANT_ORIGINAL);
}

/* A token that differs anywhere is refused, whichever of the hashes is its own. */
static void test_admin__only_whole_tokens_enter(void **state) {
  (void)state;
  unsigned char token[2][FARO_TOKEN_BYTES], hashes[2 * FARO_HASH_BYTES];
  char digits[DIGITS + 1], text[256];
  assert_true(sodium_init() >= 0);
  randombytes_buf(token, sizeof token);
  for (size_t i = 0; i < 2; i++) faro_token_hash(token[i], hashes + i * FARO_HASH_BYTES);
  for (size_t i = 0; i < 2; i++) {
    faro_hex_write(token[i], FARO_TOKEN_BYTES, digits);
    assert_true(allowed("Bearer", digits, true, hashes) && allowed("bearer", digits, false, hashes));
    assert_true(allowed("Basic", password("me:", digits, text), false, hashes));
    assert_false(allowed("Basic", password("me:", digits, text), true, hashes)); /* it may only look */
    assert_false(allowed("Basic", password("", digits, text), false, hashes));
    assert_false(allowed("Basic", digits, false, hashes));
    assert_false(allowed("Digest", digits, false, hashes));
    assert_false(faro_admin_allows(NULL, false, hashes, 2));
    assert_false(faro_admin_allows("", false, hashes, 2));
    for (size_t j = 0; j < DIGITS; j++) {
      const char before = digits[j];
      digits[j] = before == '0' ? '1' : '0';
      assert_false(allowed("Bearer", digits, false, hashes));
      digits[j] = before;
    }
    digits[DIGITS - 1] = '\0';
    assert_false(allowed("Bearer", digits, false, hashes));
  }
}

static void test_host__names_are_parts_of_addresses(void **state) {
  (void)state;
  static const char *const good[] = {"a", "walk-2", "0"};
  static const char *const bad[] = {"",   "-a",      "A",      "a/b",     "..", "a.b",
                                    "v1", "healthz", "readyz", "metrics", "a b"};
  char longest[FARO_ID_MAX + 2];
  memset(longest, 'a', sizeof longest - 1);
  longest[FARO_ID_MAX + 1] = '\0';
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_ok(faro_host_name_check(good[i], error));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(faro_host_name_check(bad[i], NULL), FARO_INVALID);
  assert_int_equal(faro_host_name_check(longest, NULL), FARO_INVALID);
  assert_ok(faro_host_name_check(longest + 1, error));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_life__every_change_is_allowed_or_named),
      cmocka_unit_test(test_admin__only_whole_tokens_enter),
      cmocka_unit_test(test_host__names_are_parts_of_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
