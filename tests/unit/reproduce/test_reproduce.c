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

/* What a run would have seen, on four instances. */
static const double a_at_1[] = {97, 103, 97, 103};
static const double a_at_2[] = {47, 53, 47, 53};
static const double b_each[] = {39, 41, 41, 39};

#define MEAN(of, with, is, where, average, off, deviation, all, ...)                                         \
  {                                                                                                          \
    .label = of, .calibration = with, .standing = is, .at = where, .mean = average, .error = off,            \
    .sd = deviation, .each = all, .instances = 4, __VA_ARGS__                                                \
  }

static const faro_seen seen[] = {
    MEAN("A", "tight", "proven", "epsilon=1", 100, 3, 30, a_at_1, .shifted = 0),
    MEAN("A", "tight", "proven", "epsilon=2", 50, 3, 30, a_at_2, .shifted = 0),
    MEAN("A", "paper", "not proven", "epsilon=1", 80, 1, 10, NULL, .shifted = 0),
    MEAN("B", "tight", "no privacy", "epsilon=1", 40, 1, 10, b_each, .shifted = 0),
    MEAN("B", "tight", "no privacy", "epsilon=2", 40, 1, 10, b_each, .shifted = 0),
    MEAN("nil", "tight", "proven", "epsilon=1", 100, 3, 30, a_at_1, .learnt_nothing = true),
    MEAN("nil", "tight", "proven", "epsilon=2", 40, 1, 10, b_each, .learnt_nothing = true),
    MEAN("half", "tight", "proven", "epsilon=1", 40, 1, 10, b_each, .learnt_nothing = true),
    MEAN("half", "tight", "proven", "epsilon=2", 40, 1, 10, b_each, .shifted = 0),
    {.is_slope = true,
     .label = "A",
     .calibration = "tight",
     .standing = "proven",
     .mean = 0.62,
     .error = 0.01,
     .range = {.low = 0.6, .high = 0.64}},
    {.is_slope = true, .label = "A", .calibration = "paper", .standing = "proven", .mean = NAN, .error = NAN},
    {.is_slope = true,
     .label = "B",
     .calibration = "tight",
     .standing = "no privacy",
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

/* Verdicts under tight and paper. */
static void check_both(const char *text, faro_verdict tight, faro_verdict paper) {
  check(text, "tight", tight);
  check(text, "paper", paper);
}

/* A slope of 0.62, between 0.6 and 0.64. */
static void test_exponent__holds_only_if_the_whole_interval_is_within_the_bound(void **state) {
  (void)state;
  check(HEAD "exponents: [{label: A, exponent: 0.75, says: x}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "exponents: [{label: A, exponent: 0.64, says: x}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "exponents: [{label: A, exponent: 0.639, says: x}]", "tight", FARO_VERDICT_NOT_SHOWN);
  check(HEAD "exponents: [{label: A, exponent: 0.6, says: x}]", "tight", FARO_VERDICT_NOT_SHOWN);
  check(HEAD "exponents: [{label: A, exponent: 0.599, says: x}]", "tight", FARO_VERDICT_UNEXPLAINED);
  check(HEAD "exponents: [{label: A, exponent: 0.585, says: x}]\nreasons: [{from: 1, to: 1.1, text: y}]",
        "tight", FARO_VERDICT_FAILS);
}

static void test_exponent__that_no_run_has_is_counted_and_needs_a_reason(void **state) {
  (void)state;
  check_both(HEAD "exponents: [{label: A, exponent: 0.75, says: x}]", FARO_VERDICT_HOLDS,
             FARO_VERDICT_NO_SLOPE);
  check_both(HEAD "exponents: [{label: B, exponent: 0.5, says: x}]", FARO_VERDICT_UNEXPLAINED,
             FARO_VERDICT_UNEXPLAINED);
  check_both(HEAD "exponents: [{label: C, exponent: 0.5, says: x}]", FARO_VERDICT_UNEXPLAINED,
             FARO_VERDICT_UNEXPLAINED);
  check_both(HEAD "exponents: [{label: B, exponent: 0.5, says: x}]\nreasons: [{label: B, text: bent}]",
             FARO_VERDICT_NO_SLOPE, FARO_VERDICT_ABSENT);
  /* a reason with a range is for a slope that is there, and one without for one that is not */
  check_both(HEAD "exponents: [{label: B, exponent: 0.5, says: x}]\nreasons: [{from: 1e-6, to: 9, text: y}]",
             FARO_VERDICT_UNEXPLAINED, FARO_VERDICT_UNEXPLAINED);
  check(HEAD "exponents: [{label: A, exponent: 0.5, says: x}]\nreasons: [{text: y}]", "tight",
        FARO_VERDICT_UNEXPLAINED);
}

/* A against B: 2.5 at epsilon 1, where the interval is 2.33 to 2.69, and 1.25 at epsilon 2, where
 * it is 1.10 to 1.41. */
static void test_sentence__holds_only_if_the_whole_interval_is_within_the_bound(void **state) {
  (void)state;
  const faro_interval ratio = faro_interval_ratio(a_at_2, b_each, 4);
  static const struct {
    double of_low, of_high;
    faro_verdict verdict;
  } bounds[] = {
      {1 - 1e-6, 0, FARO_VERDICT_UNEXPLAINED},
      {1 + 1e-6, 0, FARO_VERDICT_NOT_SHOWN},
      {0, 1 - 1e-6, FARO_VERDICT_NOT_SHOWN},
      {0, 1 + 1e-6, FARO_VERDICT_HOLDS},
  };
  assert_true(ratio.low > 1.05 && ratio.low < 1.15 && ratio.high > 1.35 && ratio.high < 1.45);
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    char text[256];
    snprintf(text, sizeof text, HEAD "sentences: [{says: x, less: A, than: B, at: epsilon=2, times: %.12g}]",
             bounds[i].of_low * ratio.low + bounds[i].of_high * ratio.high);
    check(text, "tight", bounds[i].verdict);
  }
  const faro_comparison fails = judge(
      HEAD
      "sentences: [{says: x, less: A, than: B, at: epsilon=2}]\nreasons: [{from: 1.2, to: 1.3, text: y}]",
      "tight");
  assert_int_equal(fails.verdict, FARO_VERDICT_FAILS);
  assert_close(fails.range.low, ratio.low, 1e-12);
  assert_close(fails.range.high, ratio.high, 1e-12);
  /* the same on every instance: no doubt, and "at most" includes it */
  check(HEAD "sentences: [{says: x, less: B, than: half, at: epsilon=2}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "sentences: [{says: x, less: B, than: half, at: epsilon=2, times: 0.999}]", "tight",
        FARO_VERDICT_UNEXPLAINED);
  check(HEAD "sentences: [{says: x, less: A, than: B, times: 1.3, at: epsilon=2}]", "paper",
        FARO_VERDICT_ABSENT);
  check(HEAD "sentences: [{says: x, less: A, than: C}]", "tight", FARO_VERDICT_UNEXPLAINED);
}

static void test_sentence__is_judged_where_it_is_furthest_off(void **state) {
  (void)state;
  check(HEAD "sentences: [{says: x, less: A, than: B, times: 2.8}]", "tight", FARO_VERDICT_HOLDS);
  check(HEAD "sentences: [{says: x, less: A, than: B, times: 2.6}]", "tight", FARO_VERDICT_NOT_SHOWN);
  check(HEAD "sentences: [{says: x, less: B, than: A}]", "tight", FARO_VERDICT_HOLDS);
  const faro_comparison worst =
      judge(HEAD "sentences: [{says: x, less: A, than: B}]\nreasons: [{from: 1, to: 1.3, text: y}]", "tight");
  assert_int_equal(worst.verdict, FARO_VERDICT_UNEXPLAINED);
  assert_close(worst.ratio, 2.5, 1e-12);
  assert_int_equal(worst.points, 2);
  assert_int_equal(worst.vacuous, 0);
  /* explained at epsilon 1 (2.5), but not at epsilon 2 (1.25) */
  check(HEAD "sentences: [{says: x, less: A, than: B}]\nreasons: [{from: 2, to: 3, text: y}]", "tight",
        FARO_VERDICT_UNEXPLAINED);
}

static void test_sentence__is_vacuous_where_neither_side_learnt(void **state) {
  (void)state;
  check(HEAD "sentences: [{says: x, less: half, than: nil, at: epsilon=1}]", "tight", FARO_VERDICT_VACUOUS);
  /* whatever the ratio: 2.5 against a bound of 1 */
  check(HEAD "sentences: [{says: x, less: nil, than: half, at: epsilon=1}]", "tight", FARO_VERDICT_VACUOUS);
  check(HEAD "sentences: [{says: x, less: nil, than: B, at: epsilon=1}]", "tight", FARO_VERDICT_UNEXPLAINED);
  check(HEAD "sentences: [{says: x, less: B, than: nil, at: epsilon=1}]", "tight", FARO_VERDICT_HOLDS);
  /* judged at the other point */
  const faro_comparison partly = judge(HEAD "sentences: [{says: x, less: half, than: nil}]", "tight");
  assert_int_equal(partly.verdict, FARO_VERDICT_HOLDS);
  assert_string_equal(partly.seen->at, "epsilon=2");
  assert_int_equal(partly.points, 2);
  assert_int_equal(partly.vacuous, 1);
}

/* One instance has no interval, and neither have runs that did not keep theirs. */
static void test_sentence__is_not_shown_without_an_interval(void **state) {
  (void)state;
  static const faro_seen alone[] = {
      {.label = "A", .calibration = "tight", .at = "", .mean = 1, .each = b_each, .instances = 1},
      {.label = "B", .calibration = "tight", .at = "", .mean = 1000, .each = a_at_1, .instances = 1},
      {.label = "A", .calibration = "paper", .at = "", .mean = 1},
      {.label = "B", .calibration = "paper", .at = "", .mean = 1000},
  };
  const faro_sight few = {.count = 4, .seen = (faro_seen *)alone};
  faro_published *published = parse(HEAD "sentences: [{says: x, less: A, than: B}]");
  faro_comparisons all = {0};
  assert_ok(faro_compare(&all, published, &few, "some", error));
  assert_int_equal(all.count, 2);
  assert_int_equal(all.one[0].verdict, FARO_VERDICT_NOT_SHOWN);
  assert_int_equal(all.one[1].verdict, FARO_VERDICT_NOT_SHOWN);
  faro_comparisons_clear(&all);
  free(published);
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
  refuse(HEAD "reasons: [{from: 2, text: x}]\n", "from and to must be given together");
  refuse(HEAD "reasons: [{from: 1, to: 2}]\n", "text");
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
      cmocka_unit_test(test_exponent__holds_only_if_the_whole_interval_is_within_the_bound),
      cmocka_unit_test(test_exponent__that_no_run_has_is_counted_and_needs_a_reason),
      cmocka_unit_test(test_sentence__holds_only_if_the_whole_interval_is_within_the_bound),
      cmocka_unit_test(test_sentence__is_judged_where_it_is_furthest_off),
      cmocka_unit_test(test_sentence__is_vacuous_where_neither_side_learnt),
      cmocka_unit_test(test_sentence__is_not_shown_without_an_interval),
      cmocka_unit_test(test_files__wrong_ones_are_refused_by_name),
      cmocka_unit_test(test_memory__may_run_out_anywhere),
      cmocka_unit_test(test_book__brings_papers_together_and_lists_what_is_unexplained),
      cmocka_unit_test(test_shipped__files_name_experiments_algorithms_and_papers),
      cmocka_unit_test(test_shipped__every_experiment_of_a_paper_has_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
