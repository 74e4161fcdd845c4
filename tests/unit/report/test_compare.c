/* compare: differences between two runs, against the textbook, and what was set differently. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"
#include "support/play.h"

static const char FILE_TEXT[] = "environment: {name: linear-fixed, dimension: 2, arms: 5}\n"
                                "horizon: 60\ninstances: 6\nbatch: 10\n"
                                "algorithms:\n"
                                "  - {label: plain, learner: linucb, release: none}\n"
                                "  - {label: local, learner: linucb, release: local}\n";

static faro_report *report_of(const char *text, const char *key, const char *value) {
  return make_report("compare.yaml", text, key, value);
}

/* The comparison as JSON, and as a table. */
static json_t *compare(const faro_report *a, const faro_report *b, char **table) {
  faro_comparison *comparison = NULL;
  assert_ok(faro_comparison_create(&comparison, a, b, error));
  char *text = faro_comparison_json(comparison, "one", "two");
  json_t *document = json_loads(text, 0, NULL);
  assert_non_null(document);
  if (table) *table = faro_comparison_table(comparison, "one", "two", (faro_table_style){0});
  free(text);
  faro_comparison_destroy(comparison);
  return document;
}

static const json_t *row_at(const json_t *document, size_t index) {
  return json_array_get(json_object_get(document, "differences"), index);
}

static double number(const json_t *row, const char *key) {
  return json_number_value(json_object_get(row, key));
}

static void test_paired__differences_are_taken_on_each_instance(void **state) {
  (void)state;
  faro_report *a = report_of(FILE_TEXT, NULL, NULL);
  faro_report *b = report_of(FILE_TEXT, "epsilon", "20");
  char *table = NULL;
  json_t *document = compare(a, b, &table);
  const json_t *row = row_at(document, 1);
  double mean = 0;
  double square = 0;
  for (size_t i = 0; i < 6; i++) mean += (b->row[1].each[i] - a->row[1].each[i]) / 6;
  for (size_t i = 0; i < 6; i++) square += pow(b->row[1].each[i] - a->row[1].each[i] - mean, 2);
  assert_true(json_is_true(json_object_get(row, "paired")));
  assert_close(number(row, "difference"), mean, 1e-9);
  assert_close(number(row, "high") - mean, 2.570581836 * sqrt(square / 5 / 6), 1e-6);
  assert_close(mean - number(row, "low"), 2.570581836 * sqrt(square / 5 / 6), 1e-6);
  assert_true(number(row_at(document, 0), "difference") == 0); /* epsilon means nothing to it */
  assert_non_null(strstr(table, "the same\n"));
  assert_non_null(strstr(table, "paired: both runs met the same instances (6 in common)\n"));
  assert_non_null(strstr(table, "settings that differ (first -> second):\n  epsilon: 1 -> 20\n"));
  free(table);
  json_decref(document);
  faro_report_destroy(a);
  faro_report_destroy(b);
}

/* Welch's interval by its formula. */
static void test_unpaired__where_instances_differ(void **state) {
  (void)state;
  faro_report *a = report_of(FILE_TEXT, NULL, NULL);
  faro_report *b = report_of(FILE_TEXT, "seed", "9");
  char *table = NULL;
  json_t *document = compare(a, b, &table);
  const json_t *row = row_at(document, 1);
  const double u = pow(a->row[1].regret.sd, 2) / 6;
  const double v = pow(b->row[1].regret.sd, 2) / 6;
  const double freedom = floor((u + v) * (u + v) / (u * u / 5 + v * v / 5));
  static const double t[] = {0,           0,           0,           0,           0,          2.570581836,
                             2.446911851, 2.364624252, 2.306004135, 2.262157163, 2.228138852};
  assert_true(freedom >= 5 && freedom <= 10);
  assert_true(json_is_false(json_object_get(row, "paired")));
  assert_close(number(row, "high") - number(row, "difference"), t[(int)freedom] * sqrt(u + v), 1e-6);
  assert_close(number(row, "difference"), b->row[1].regret.mean - a->row[1].regret.mean, 1e-9);
  assert_non_null(strstr(table, "not paired, because the runs differ in seed: intervals by Welch's rule\n"));
  free(table);
  json_decref(document);
  faro_report_destroy(b);
  b = report_of(FILE_TEXT, "environment.arms", "6");
  document = compare(a, b, &table);
  assert_non_null(strstr(table, "because the runs differ in arms:"));
  assert_non_null(strstr(table, "\n  arms: 5 -> 6\n"));
  free(table);
  json_decref(document);
  faro_report_destroy(b);
  b = report_of(FILE_TEXT, "horizon", "600"); /* more regret, of more rounds */
  document = compare(a, b, &table);
  assert_true(number(row_at(document, 1), "low") > 0);
  assert_true(json_is_false(json_object_get(row_at(document, 1), "seen")));
  assert_non_null(strstr(table, "not comparable\n"));
  assert_non_null(strstr(table, "not comparable: one run has more rounds, and the regret grows with them"));
  assert_null(strstr(table, "second worse"));
  free(table);
  json_decref(document);
  faro_report_destroy(a);
  faro_report_destroy(b);
}

/* More instances are no other instances: the common ones are paired. */
static void test_paired__over_the_instances_that_both_have(void **state) {
  (void)state;
  faro_report *a = report_of(FILE_TEXT, NULL, NULL);
  faro_report *b = report_of(FILE_TEXT, "instances", "9");
  json_t *document = compare(a, b, NULL);
  for (size_t i = 0; i < 2; i++) {
    assert_true(json_is_true(json_object_get(row_at(document, i), "paired")));
    assert_true(number(row_at(document, i), "difference") == 0);
  }
  json_decref(document);
  faro_report_destroy(a);
  faro_report_destroy(b);
}

/* A sweep against one of its values; and rows without a partner are named. */
static void test_rows__belong_together_by_label_and_sweep_value(void **state) {
  (void)state;
  faro_report *a = report_of(FILE_TEXT, "epsilon", "[1, 5]");
  faro_report *b = report_of(FILE_TEXT, "epsilon", "5");
  char *table = NULL;
  json_t *document = compare(a, b, &table);
  assert_int_equal(json_array_size(json_object_get(document, "differences")), 2);
  for (size_t i = 0; i < 2; i++) {
    assert_close(number(json_object_get(row_at(document, i), "at"), "epsilon"), 5, 0);
    assert_true(number(row_at(document, i), "difference") == 0);
  }
  assert_non_null(strstr(table, "only in the first: plain, epsilon 1; local, epsilon 1\n"));
  assert_null(strstr(table, "only in the second"));
  free(table);
  json_decref(document);
  faro_report_destroy(b);
  static const char other[] = "environment: {name: linear-fixed, dimension: 2, arms: 5}\nhorizon: 60\n"
                              "algorithms: [{label: x, learner: linucb, release: none}]\n";
  static const char sums[] = "environment: {name: bits-random}\nhorizon: 60\n"
                             "algorithms: [{label: plain, learner: sum, release: none}]\n";
  const char *const texts[] = {other, sums};
  const char *const words[] = {"no algorithm has the same label", "measures the regret"};
  for (size_t i = 0; i < 2; i++) {
    b = report_of(texts[i], "instances", "2");
    faro_comparison *none = NULL;
    faro_error error = {0};
    assert_int_equal(faro_comparison_create(&none, a, b, &error), FARO_INVALID);
    assert_non_null(strstr(error.message, words[i]));
    faro_report_destroy(b);
  }
  faro_report_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_paired__differences_are_taken_on_each_instance),
      cmocka_unit_test(test_unpaired__where_instances_differ),
      cmocka_unit_test(test_paired__over_the_instances_that_both_have),
      cmocka_unit_test(test_rows__belong_together_by_label_and_sweep_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
