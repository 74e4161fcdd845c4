/* reproduce: comparisons on made-up data, whose verdicts follow by hand, and the shipped files of
 * published results. */
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "reproduce/reproduce.h"
#include "sim/experiment.h"
#include "support/support.h"

#define HEAD "paper: P\nshows: S\nnumbers: N\n"

static faro_published *parse(const char *text) {
  faro_published *published = NULL;
  assert_ok(faro_published_parse(&published, "some.yaml", text, strlen(text), error));
  return published;
}

/* What a run would have seen. */
static const faro_seen seen[] = {
    {.label = "A",
     .calibration = "tight",
     .standing = "proven",
     .at = "epsilon=1",
     .mean = 100,
     .error = 3,
     .sd = 30},
    {.label = "A",
     .calibration = "tight",
     .standing = "proven",
     .at = "epsilon=2",
     .mean = 50,
     .error = 3,
     .sd = 30},
    {.label = "A",
     .calibration = "paper",
     .standing = "not proven",
     .at = "epsilon=1",
     .mean = 80,
     .error = 1,
     .sd = 10},
    {.label = "B",
     .calibration = "tight",
     .standing = "no privacy",
     .at = "epsilon=1",
     .mean = 40,
     .error = 1,
     .sd = 10},
    {.label = "B",
     .calibration = "tight",
     .standing = "no privacy",
     .at = "epsilon=2",
     .mean = 40,
     .error = 1,
     .sd = 10},
    {.is_slope = true,
     .label = "A",
     .calibration = "tight",
     .standing = "proven",
     .at = "",
     .mean = 0.62,
     .error = 0.01},
    {.is_slope = true,
     .label = "B",
     .calibration = "tight",
     .standing = "no privacy",
     .at = "",
     .mean = NAN,
     .error = NAN},
};
static const faro_sight sight = {.count = sizeof seen / sizeof *seen, .seen = (faro_seen *)seen};

/* The verdict of the file's only item, under a calibration. */
static faro_comparison judge(const char *text, const char *calibration) {
  faro_published *published = parse(text);
  faro_comparisons all = {0};
  faro_comparison found = {.verdict = FARO_VERDICTS};
  assert_ok(faro_compare(&all, published, &sight, "some", error));
  assert_int_equal(all.count, 2); /* tight and paper */
  for (size_t i = 0; i < all.count; i++)
    if (strcmp(all.one[i].calibration, calibration) == 0) found = all.one[i];
  faro_comparisons_clear(&all);
  free(published);
  return found;
}

static void check(const char *text, const char *calibration, faro_verdict verdict) {
  const faro_comparison c = judge(text, calibration);
  if (c.verdict != verdict)
    fail_msg("%s, not %s, of\n%s", faro_verdict_name(c.verdict), faro_verdict_name(verdict), text);
}

static void test_points__have_their_parts_in_any_order_and_as_numbers(void **state) {
  (void)state;
  assert_true(faro_point_has("epsilon=1, norm=2", ""));
  assert_true(faro_point_has("epsilon=1, norm=2", "norm=2"));
  assert_true(faro_point_has("epsilon=1, norm=2", "norm=2.0, epsilon=1e0"));
  assert_true(faro_point_has("name=bits-hard", "name=bits-hard"));
  assert_false(faro_point_has("epsilon=1, norm=2", "norm=20"));
  assert_false(faro_point_has("epsilon=10, norm=2", "epsilon=1"));
  assert_false(faro_point_has("epsilon=1", "epsilon"));
  assert_false(faro_point_has("", "epsilon=1"));
}

/* Ours 100 +- 3; of 100 published instances with sd 30: +- 3; three standard errors of the
 * difference are 12.7. */
static void test_number__is_equal_within_three_standard_errors_and_the_reading(void **state) {
  (void)state;
  check(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 112}]", "tight", FARO_VERDICT_EQUAL);
  check(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 113}]", "tight",
        FARO_VERDICT_UNEXPLAINED);
  check(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 88}]", "tight", FARO_VERDICT_EQUAL);
  check(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 87}]", "tight",
        FARO_VERDICT_UNEXPLAINED);
  check(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 113, reading: 0.5}]", "tight",
        FARO_VERDICT_EQUAL);
  check(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 115, sd: 50}]", "tight",
        FARO_VERDICT_EQUAL); /* sqrt(9 + 25) = 5.8 */
}

#define PUBLISHED_AT(mean, reason)                                                                           \
  HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: " mean "}]\nreasons: [{" reason             \
       ", text: because}]"

static void test_number__needs_a_reason_that_applies(void **state) {
  (void)state;
  check(PUBLISHED_AT("200", "from: 0.4, to: 0.6"), "tight", FARO_VERDICT_BETTER);
  check(PUBLISHED_AT("50", "from: 1.5, to: 2"), "tight", FARO_VERDICT_EXPLAINED);
  check(PUBLISHED_AT("200", "from: 0.4, to: 0.49"), "tight", FARO_VERDICT_UNEXPLAINED);
  check(PUBLISHED_AT("200", "from: 0.51, to: 2"), "tight", FARO_VERDICT_UNEXPLAINED);
  check(PUBLISHED_AT("200", "from: 0.4, to: 0.6, label: A, at: epsilon=1, calibration: tight"), "tight",
        FARO_VERDICT_BETTER);
  check(PUBLISHED_AT("200", "from: 0.4, to: 0.6, label: B"), "tight", FARO_VERDICT_UNEXPLAINED);
  check(PUBLISHED_AT("200", "from: 0.4, to: 0.6, at: epsilon=2"), "tight", FARO_VERDICT_UNEXPLAINED);
  check(PUBLISHED_AT("200", "from: 0.4, to: 0.6, calibration: paper"), "tight", FARO_VERDICT_UNEXPLAINED);
  /* less regret without a proof is not better */
  check(PUBLISHED_AT("160", "from: 0.4, to: 0.7"), "paper", FARO_VERDICT_EXPLAINED);
}

static void test_number__without_a_result_is_a_mistake_unless_another_calibration_has_it(void **state) {
  (void)state;
  static const char only_tight[] = HEAD "instances: 10\nvalues: [{label: B, mean: 40}]";
  check(only_tight, "tight", FARO_VERDICT_EQUAL); /* the same at every epsilon */
  check(only_tight, "paper", FARO_VERDICT_ABSENT);
  static const char none[] = HEAD "instances: 10\nvalues: [{label: C, mean: 40}]";
  check(none, "tight", FARO_VERDICT_UNEXPLAINED);
  check(none, "paper", FARO_VERDICT_UNEXPLAINED);
}

static void test_number__must_not_fit_results_that_differ(void **state) {
  (void)state;
  faro_published *published = parse(HEAD "instances: 10\nvalues: [{label: A, mean: 40}]");
  faro_comparisons all = {0};
  faro_error error = {0};
  assert_int_equal(faro_compare(&all, published, &sight, "some", &error), FARO_INVALID);
  assert_string_equal(error.message, "published/some.yaml: A at \"\" fits several results that differ");
  faro_comparisons_clear(&all);
  free(published);
}

/* A slope of 0.62 +- 0.01 is within a bound of 0.59, and not of 0.585. */
static void test_exponent__is_an_upper_bound(void **state) {
  (void)state;
  check(HEAD "exponents: [{label: A, exponent: 0.75, says: x}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "exponents: [{label: A, exponent: 0.595, says: x}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "exponents: [{label: A, exponent: 0.585, says: x}]", "tight", FARO_VERDICT_UNEXPLAINED);
  check(HEAD "exponents: [{label: A, exponent: 0.585, says: x}]\nreasons: [{from: 1, to: 1.1, text: y}]",
        "tight", FARO_VERDICT_EXPLAINED);
  check(HEAD "exponents: [{label: B, exponent: 0.5, says: x}]", "tight", FARO_VERDICT_ABSENT);
}

/* A against B: 2.5 at epsilon 1, 1.25 at epsilon 2. */
static void test_sentence__is_judged_where_it_is_furthest_off(void **state) {
  (void)state;
  check(HEAD "sentences: [{says: x, less: A, than: B, times: 2.6}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "sentences: [{says: x, less: A, than: B}]", "tight", FARO_VERDICT_UNEXPLAINED);
  check(HEAD "sentences: [{says: x, less: B, than: A}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "sentences: [{says: x, less: A, than: B, times: 1.3, at: epsilon=2}]", "tight",
        FARO_VERDICT_HOLDS);
  check(HEAD "sentences: [{says: x, less: A, than: B, times: 1.3, at: epsilon=2}]", "paper",
        FARO_VERDICT_ABSENT);
  const faro_comparison worst =
      judge(HEAD "sentences: [{says: x, less: A, than: B}]\nreasons: [{from: 1, to: 1.3, text: y}]", "tight");
  assert_int_equal(worst.verdict, FARO_VERDICT_UNEXPLAINED);
  assert_close(worst.ratio, 2.5, 1e-12);
  check(HEAD "sentences: [{says: x, less: A, than: C}]", "tight", FARO_VERDICT_UNEXPLAINED);
  /* explained at epsilon 1 (2.5), but not at epsilon 2 (1.25) */
  check(HEAD "sentences: [{says: x, less: A, than: B}]\nreasons: [{from: 2, to: 3, text: y}]", "tight",
        FARO_VERDICT_UNEXPLAINED);
}

static void refuse(const char *text, const char *message) {
  faro_published *published = NULL;
  faro_error error = {0};
  assert_int_equal(faro_published_parse(&published, "some.yaml", text, strlen(text), &error), FARO_INVALID);
  assert_null(published);
  if (!strstr(error.message, message)) fail_msg("\"%s\" is not in: %s", message, error.message);
}

static void test_files__wrong_ones_are_refused_by_name(void **state) {
  (void)state;
  refuse("paper: P\nshows: S\n", "numbers");
  refuse(HEAD "value: []\n", "some.yaml:4: unknown key \"value\"");
  refuse(HEAD "calibrations: tight, tight\n",
         "some of tight, paper and figure, each once (got tight, tight)");
  refuse(HEAD "values: [{label: A, mean: 1}]\n", "instances is required");
  refuse(HEAD "reasons: [{from: 2, to: 1, text: x}]\n", "from must not be above to (got 2 and 1)");
  refuse(HEAD "reasons: [{from: 1, to: 2, text: x, calibration: loose}]\n", "any, tight, paper, figure");
  refuse(HEAD "reasons: [{text: x}]\n", "from");
}

static void test_memory__may_run_out_anywhere(void **state) {
  (void)state;
  static const char text[] = HEAD "instances: 10\nvalues: [{label: B, mean: 40}]";
  faro_published *published = NULL;
  faro_comparisons all = {0};
  assert_survives_exhaustion(faro_published_parse(&published, "some.yaml", text, sizeof text - 1, error));
  assert_survives_exhaustion(faro_compare(&all, published, &sight, "some", error));
  faro_comparisons_clear(&all);
  free(published);
}

/* A book of three chapters without reports. */
static void test_book__brings_papers_together_and_lists_what_is_unexplained(void **state) {
  (void)state;
  faro_published paper[3] = {{.paper = "P"}, {.paper = "Q"}, {.paper = "P", .shows = "a | b"}};
  faro_chapter chapter[3] = {{.name = "a", .published = &paper[0]},
                             {.name = "b", .published = &paper[1]},
                             {.name = "c", .published = &paper[2], .sight = sight}};
  faro_book book = {.count = 3, .chapter = chapter};
  faro_book_sort(&book);
  assert_string_equal(chapter[0].name, "a");
  assert_string_equal(chapter[1].name, "c");
  assert_string_equal(chapter[2].name, "b");
  char *nothing = faro_book_unexplained(&book);
  assert_string_equal(nothing, "");
  free(nothing);
  faro_published *published =
      parse(HEAD "instances: 100\nvalues: [{label: A, at: epsilon=1, mean: 200}, {label: B, mean: 40}]");
  assert_ok(faro_compare(&chapter[1].comparisons, published, &sight, "c", error));
  assert_int_equal(faro_book_count(&book, FARO_VERDICT_UNEXPLAINED), 2); /* A, tight and paper */
  assert_int_equal(faro_book_count(&book, FARO_VERDICT_EQUAL), 1);
  char *list = faro_book_unexplained(&book);
  assert_string_equal(list, "unexplained: c, tight, A at epsilon=1: ours 100, published 200 (0.5 of it)\n"
                            "unexplained: c, paper, A at epsilon=1: ours 80, published 200 (0.4 of it)\n");
  free(list);
  char *text = faro_book_json(&book);
  json_t *document = json_loads(text, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(document, "unexplained")), 2);
  assert_int_equal(json_array_size(json_object_get(document, "experiments")), 3);
  json_decref(document);
  free(text);
  faro_comparisons_clear(&chapter[1].comparisons);
  free(published);
}

/* ---- the shipped files */

static bool is_label(const faro_experiment *e, const char *label) {
  for (size_t c = 0; c < e->count; c++)
    if (strcmp(e->cell[c].label, label) == 0) return true;
  return false;
}

/* Whether some cell is at this point of the sweep. */
static bool is_point(const faro_experiment *e, const char *at) {
  for (size_t c = 0; c < e->count; c++) {
    char point[FARO_LINE] = "";
    for (size_t s = 0; s < e->sweeps; s++) {
      char value[FARO_PRINTED];
      faro_key_print(e->sweep[s].key, e->sweep[s].value[e->cell[c].at[s]], value);
      const size_t length = strlen(point);
      snprintf(point + length, sizeof point - length, "%s%s=%s", length ? ", " : "",
               faro_key_name(e->sweep[s].key), value);
    }
    if (faro_point_has(point, at)) return true;
  }
  return false;
}

static void check_item(const char *path, const faro_experiment *e, const char *label, const char *at) {
  if (*label && !is_label(e, label)) fail_msg("%s: no algorithm %s", path, label);
  if (!is_point(e, at)) fail_msg("%s: no point %s", path, at);
}

static void check_file(const char *path, const char *references) {
  faro_published *p = NULL;
  faro_experiment *e = NULL;
  char experiment[FARO_LINE];
  snprintf(experiment, sizeof experiment, "experiments%s", strrchr(path, '/'));
  const faro_experiment_options options = {.outline = true};
  assert_ok(faro_published_load(&p, path, error));
  assert_ok(faro_experiment_load(&e, experiment, &options, error));
  char key[FARO_LINE + 8];
  snprintf(key, sizeof key, "| %s |", p->paper);
  if (strcmp(p->paper, "faro") != 0 && !strstr(references, key))
    fail_msg("%s: %s is not in docs/references.md", path, p->paper);
  for (faro_item_kind kind = FARO_ITEM_NUMBER; kind <= FARO_ITEM_SENTENCE; kind++)
    for (size_t i = 0; i < p->count[kind]; i++) {
      const faro_item *item = &faro_published_items(p, kind)[i];
      check_item(path, e, item->label, item->at);
      check_item(path, e, item->than, item->at);
    }
  for (size_t i = 0; i < p->reasons; i++) check_item(path, e, p->reason[i].label, p->reason[i].at);
  faro_experiment_destroy(e);
  free(p);
}

static void test_shipped__files_name_experiments_algorithms_and_papers(void **state) {
  (void)state;
  char *references = NULL;
  size_t length = 0;
  glob_t files;
  assert_ok(faro_read_file("docs/references.md", 1 << 20, &references, &length, error));
  assert_int_equal(glob("experiments/published/*.yaml", 0, NULL, &files), 0);
  assert_true(files.gl_pathc > 30);
  for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i], references);
  globfree(&files);
  free(references);
}

static void test_shipped__every_experiment_of_a_paper_has_a_file(void **state) {
  (void)state;
  glob_t files;
  assert_int_equal(glob("experiments/[0-9]*.yaml", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    char path[FARO_LINE];
    faro_published *p = NULL;
    snprintf(path, sizeof path, "experiments/published%s", strrchr(files.gl_pathv[i], '/'));
    assert_ok(faro_published_load(&p, path, error));
    free(p);
  }
  globfree(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_points__have_their_parts_in_any_order_and_as_numbers),
      cmocka_unit_test(test_number__is_equal_within_three_standard_errors_and_the_reading),
      cmocka_unit_test(test_number__needs_a_reason_that_applies),
      cmocka_unit_test(test_number__without_a_result_is_a_mistake_unless_another_calibration_has_it),
      cmocka_unit_test(test_number__must_not_fit_results_that_differ),
      cmocka_unit_test(test_exponent__is_an_upper_bound),
      cmocka_unit_test(test_sentence__is_judged_where_it_is_furthest_off),
      cmocka_unit_test(test_files__wrong_ones_are_refused_by_name),
      cmocka_unit_test(test_memory__may_run_out_anywhere),
      cmocka_unit_test(test_book__brings_papers_together_and_lists_what_is_unexplained),
      cmocka_unit_test(test_shipped__files_name_experiments_algorithms_and_papers),
      cmocka_unit_test(test_shipped__every_experiment_of_a_paper_has_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
