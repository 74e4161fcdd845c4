/* log: a line names its role, and a line that repeats does not fill the disk. */
#include "support/support.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "service/role/health.h"
#include "service/role/log.h"

static char path[] = "/tmp/faro-log-XXXXXX";
static int before;

/* From now on stderr is a file. */
static void begin_log(void) {
  strcpy(path + strlen(path) - 6, "XXXXXX");
  const int file = mkstemp(path);
  assert_true(file >= 0);
  before = dup(STDERR_FILENO);
  assert_true(before >= 0 && dup2(file, STDERR_FILENO) >= 0);
  close(file);
}

/* Ends that, and reads the lines. */
static json_t *end_log(void) {
  char *text = NULL;
  size_t length = 0;
  assert_true(dup2(before, STDERR_FILENO) >= 0);
  close(before);
  assert_ok(faro_read_file(path, 1 << 24, &text, &length, error));
  (void)unlink(path);
  json_t *lines = json_array();
  for (size_t at = 0; at < length;) {
    const char *end = memchr(text + at, '\n', length - at);
    assert_non_null(end);
    json_t *line = json_loadb(text + at, (size_t)(end - (text + at)), 0, NULL);
    assert_non_null(line);
    json_array_append_new(lines, line);
    at = (size_t)(end - text) + 1;
  }
  free(text);
  return lines;
}

static const char *word(json_t *lines, size_t line, const char *key) {
  return json_string_value(json_object_get(json_array_get(lines, line), key));
}

static json_int_t number(json_t *lines, size_t line, const char *key) {
  return json_integer_value(json_object_get(json_array_get(lines, line), key));
}

static void test_log__names_its_role_and_process(void **state) {
  (void)state;
  begin_log();
  faro_log_role("shuffler");
  faro_log(FARO_LOG_INFO, "ready", "si", "port", 8401);
  faro_log_role(NULL);
  json_t *lines = end_log();
  assert_int_equal(json_array_size(lines), 1);
  assert_string_equal(word(lines, 0, "role"), "shuffler");
  assert_string_equal(word(lines, 0, "event"), "ready");
  assert_int_equal(number(lines, 0, "pid"), getpid());
  assert_int_equal(number(lines, 0, "port"), 8401);
  json_decref(lines);
}

/* 20 000 failures of two kinds, as with a full disk. A machine that takes ten seconds for them
 * writes some lines more, never many. */
static void test_log__a_line_that_repeats_is_counted(void **state) {
  (void)state;
  enum { TIMES = 10000 };
  faro_error full = {0};
  faro_error other = {0};
  (void)faro_fail(&full, FARO_SYSTEM, "the disk is full");
  (void)faro_fail(&other, FARO_SYSTEM, "the state is locked");
  begin_log();
  for (size_t i = 0; i < TIMES; i++) {
    faro_log_error("reports-not-stored", &full);
    faro_log_error("reports-not-stored", &other);
  }
  faro_log_flush();
  json_t *lines = end_log();
  assert_in_range(json_array_size(lines), 4, 40);
  json_int_t told[2] = {0};
  for (size_t i = 0; i < json_array_size(lines); i++) {
    const bool first = strcmp(word(lines, i, "reason"), "the disk is full") == 0;
    told[first ? 0 : 1] +=
        json_object_get(json_array_get(lines, i), "repeated") ? number(lines, i, "repeated") : 1;
  }
  assert_int_equal(told[0], TIMES);
  assert_int_equal(told[1], TIMES);
  assert_string_equal(word(lines, 0, "level"), "error");
  json_decref(lines);
}

/* Reasons that are all different, as an attacker could make them, are limited together. */
static void test_log__many_reasons_are_limited_together(void **state) {
  (void)state;
  begin_log();
  for (int i = 0; i < 5000; i++) {
    char reason[32];
    snprintf(reason, sizeof reason, "batch %d", i);
    faro_log(FARO_LOG_WARNING, "batch-refused", "ss", "reason", reason);
  }
  for (int i = 0; i < 50; i++) faro_log(FARO_LOG_INFO, "batch-applied", "si", "batch", i);
  faro_log_flush();
  json_t *lines = end_log();
  size_t warnings = 0;
  json_int_t left_out = 0;
  for (size_t i = 0; i < json_array_size(lines); i++) {
    const bool counts = strcmp(word(lines, i, "event"), "lines-left-out") == 0;
    if (counts) left_out += number(lines, i, "count");
    else warnings += strcmp(word(lines, i, "event"), "batch-refused") == 0;
  }
  assert_in_range(warnings, 20, 400); /* 32 in ten seconds; the test before has used some places */
  assert_int_equal((json_int_t)warnings + left_out, 5000);
  assert_true(json_array_size(lines) >= warnings + 50); /* all that is not a warning is there */
  json_decref(lines);
}

/* Every role waits for its campaign at its start: that is an illness at once, and has a line of the
 * log only if it lasts. */
static void test_health__a_start_is_no_error_in_the_log(void **state) {
  (void)state;
  faro_metrics *metrics = NULL;
  faro_health health;
  assert_ok(faro_metrics_create(&metrics, error));
  faro_health_init(&health, metrics);
  health.start += 1e6; /* it does not age, however busy the machine is */
  begin_log();
  faro_health_set(&health, FARO_ILL_NO_CAMPAIGN, "it waits");
  assert_false(faro_health_write(&health, true, NULL));
  faro_health_set(&health, FARO_ILL_NO_CAMPAIGN, "");
  assert_true(faro_health_write(&health, true, NULL));
  faro_health_set(&health, FARO_ILL_STATE, "it is lost"); /* any other one is said at once */
  faro_health_set(&health, FARO_ILL_NO_CAMPAIGN, "it waits");
  health.start -= 2e6;
  for (int i = 0; i < 2; i++) faro_health_set(&health, FARO_ILL_NO_CAMPAIGN, "it waits");
  faro_health_set(&health, FARO_ILL_NO_CAMPAIGN, "");
  json_t *lines = end_log();
  assert_int_equal(json_array_size(lines), 3);
  assert_string_equal(word(lines, 0, "reason"), "state-lost");
  assert_string_equal(word(lines, 1, "reason"), "no-campaign");
  assert_string_equal(word(lines, 1, "level"), "error");
  assert_string_equal(word(lines, 2, "event"), "well-again");
  json_decref(lines);
  faro_health_clear(&health);
  faro_metrics_destroy(metrics);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_health__a_start_is_no_error_in_the_log), /* before the places are taken */
      cmocka_unit_test(test_log__names_its_role_and_process),
      cmocka_unit_test(test_log__a_line_that_repeats_is_counted),
      cmocka_unit_test(test_log__many_reasons_are_limited_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
