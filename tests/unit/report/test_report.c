/* report: table, JSON, CSV, figure and page show the results, even if labels are hostile. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/view.h"
#include "support/play.h"

static const char FILE_TEXT[] = "title: \"Regret <of> \\\"a\\\" & b\"\n"
                                "environment: {name: linear-fixed, arms: 5}\n"
                                "horizon: 250\ninstances: 5\ndelta: 0.1\ncalibration: paper\n"
                                "sweep: {epsilon: [0.5, 1, 50], dimension: [2, 3]}\n"
                                "algorithms:\n"
                                "  - {label: 'plain', learner: linucb, release: none}\n"
                                "  - {label: 'a \"b\", <c>&', learner: linucb, release: local}\n";

static faro_report *report_of(const char *text, const char *key, const char *value) {
  return make_report("some/report.yaml", text, key, value);
}

static char *plain_table(const faro_report *report) {
  return faro_report_table(report, (faro_table_style){0});
}

static size_t count_of(const char *text, const char *part) {
  size_t n = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
  return n;
}

static void test_table__has_a_row_for_each_result_and_says_what_is_not_proven(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, NULL, NULL);
  char *table = plain_table(report);
  assert_int_equal(count_of(table, "no privacy"), 6);
  assert_int_equal(count_of(table, "(0.5, 0.1) proven"), 2);
  assert_int_equal(count_of(table, "(50, 0.1) not proven"), 2);
  assert_int_equal(count_of(table, "not proven: "), 1);
  assert_non_null(
      strstr(table, "linear-fixed, arms 5, horizon 250, delta 0.1, batch 1, calibration paper, 5 instances"));
  free(table);
  faro_report_destroy(report);
  report = report_of(FILE_TEXT, "calibration", "[paper, figure]");
  table = plain_table(report);
  assert_null(strstr(table, ", calibration paper, 5 instances"));
  free(table);
  faro_report_destroy(report);
  faro_report_destroy(NULL);
}

static void test_json__has_the_documented_fields(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, NULL, NULL);
  char *text = faro_report_json(report);
  json_t *document = json_loads(text, 0, NULL);
  assert_non_null(document);
  assert_string_equal(json_string_value(json_object_get(document, "experiment")), "report");
  const json_t *results = json_object_get(document, "results");
  assert_int_equal(json_array_size(results), 12);
  const json_t *one = json_array_get(results, 1);
  static const char *const fields[] = {"label",     "learner", "release", "epsilon",   "delta",
                                       "dimension", "regret",  "rounds",  "instances", "bytes_per_user",
                                       "updates",   "seconds", "claim"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    assert_non_null(json_object_get(one, fields[i]));
  assert_null(json_object_get(one, "curve"));
  const json_t *claim = json_object_get(one, "claim");
  assert_string_equal(json_string_value(json_object_get(claim, "trust")), "local");
  assert_string_equal(json_string_value(json_object_get(claim, "level")), "event");
  assert_true(json_is_true(json_object_get(claim, "proven")));
  assert_true(json_is_null(json_object_get(json_object_get(json_array_get(results, 0), "claim"), "epsilon")));
  assert_non_null(strstr(text, "\"delta\": 0.1,")); /* not 0.10000000000000001 */
  assert_true(json_is_false(json_object_get(json_object_get(one, "settings"), "anytime")));
  const double mean = json_number_value(json_object_get(json_object_get(one, "regret"), "mean"));
  assert_true(mean == report->row[1].regret.mean); /* reads back exactly */
  json_decref(document);
  free(text);
  faro_report_destroy(report);
}

static void test_csv__quotes_labels_and_reads_back(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, NULL, NULL);
  char *summary = faro_report_summary_csv(report);
  char *curves = faro_report_curves_csv(report);
  assert_int_equal(count_of(summary, "\n"), 13);
  assert_int_equal(count_of(curves, "\n"), 1 + 12 * 200);
  assert_int_equal(strncmp(summary, "label,epsilon,dimension,learner,", 32), 0);
  assert_int_equal(count_of(summary, "\"a \"\"b\"\", <c>&\",0.5,"), 2);
  char number[FARO_NUMBER_SIZE];
  assert_non_null(strstr(summary, faro_number(report->row[5].regret.mean, number)));
  assert_null(strstr(summary, "seconds"));
  free(summary);
  free(curves);
  faro_report_destroy(report);
}

/* Regret before the first re-estimate: one line per label that has any, over its sweep points, with
 * its markup escaped. */
static void test_all__report_early_regret(void **state) {
  (void)state;
  static const char text[] =
      "environment: {name: glm-logistic, dimension: 2, arms: 3, norm: 1.5}\nhorizon: 50\ninstances: 1\n"
      "sweep: {failure: [0.1, 0.2]}\n"
      "algorithms: [{label: <a>, learner: gloc, release: none}, {label: b, learner: glm-ucb, release: "
      "none}]\n";
  faro_experiment *e = NULL;
  faro_results *results = NULL;
  faro_report *report = NULL;
  assert_ok(faro_experiment_parse(&e, "early.yaml", text, strlen(text), NULL, error));
  assert_ok(faro_run(e, &(faro_run_options){.jobs = 1}, &results, error));
  results->outcome[0].early = 0.25 * results->outcome[0].regret.mean;
  results->outcome[2].early = 0.5 * results->outcome[2].regret.mean;
  results->outcome[2].explored = 0.125;
  assert_ok(faro_report_make(&report, e, results, error));
  char *table = plain_table(report);
  assert_non_null(strstr(table, "glm-logistic, dimension 2, arms 3, norm 1.5, horizon 50"));
  assert_non_null(strstr(
      table, "\n<a>: 25 to 50 % of the regret is from initial exploration, before the first re-estimate\n"));
  assert_int_equal(count_of(table, "first re-estimate"), 1);
  char *html = faro_report_html(report);
  assert_non_null(strstr(html, "<p>&lt;a&gt;: 25 to 50 % of the regret"));
  char *csv = faro_report_summary_csv(report);
  assert_int_equal(count_of(csv, ",0.125,,,,,\"none\""), 1);
  assert_int_equal(count_of(csv, ",0,0,,,,,\"none\""), 2);
  char *json = faro_report_json(report);
  assert_int_equal(count_of(json, "\"explored\": 0.125"), 1);
  assert_int_equal(count_of(json, "\"early\": "), 4);
  free(table);
  free(html);
  free(csv);
  free(json);
  faro_report_destroy(report);
  faro_results_destroy(results);
  faro_experiment_destroy(e);
}

/* The lower bound of a stream that has one is in the documents, and drawn where x is swept. */
static void test_all__report_the_lower_bound(void **state) {
  (void)state;
  static const char text[] =
      "sweep: {name: [bits-random, bits-hard], horizon: [100, 1000, 10000]}\ninstances: 1\n"
      "algorithms: [{learner: sum, release: none, shufflers: 1}]\n"
      "plot: {x: horizon, y: error, panels: name}\n";
  faro_report *report = report_of(text, NULL, NULL);
  const double rep = 0.5 * cbrt(1000) * pow(exp(1) / (exp(2) + 1), 2.0 / 3);
  for (size_t i = 0; i < 3; i++) assert_true(report->row[i].least == 0);
  assert_close(report->row[4].least, rep, 1e-12);
  char *svg = faro_report_svg(report);
  assert_int_equal(count_of(svg, "stroke-dasharray=\"1 4\""), 1);
  char *caption = faro_report_caption(report);
  assert_int_equal(count_of(caption, "Dotted: order of the lower bound"), 1);
  free(caption);
  char *json = faro_report_json(report);
  assert_int_equal(count_of(json, "\"lower_bound\": "), 6);
  free(svg);
  free(json);
  faro_report_destroy(report);
}

/* The level is that of the claim, with the number of rounds of a user that it covers; and refused
 * rounds are reported. */
static void test_all__report_user_level_and_refusals(void **state) {
  (void)state;
  static const char text[] =
      "environment: {name: linear-fixed, dimension: 2, arms: 3, population: 10}\nhorizon: 200\n"
      "instances: 1\nbatch: 5\nlevel: user\ncontributions: 4\n"
      "algorithms: [{learner: linucb, release: none}, {learner: linucb, release: local}]\n";
  faro_report *report = report_of(text, NULL, NULL);
  char *table = plain_table(report);
  assert_non_null(strstr(table, "(1, 1e-6) proven, user level (4 rounds)"));
  assert_non_null(
      strstr(table, "population 10, epsilon 1, delta 1e-6, batch 5, level user, contributions 4"));
  assert_non_null(strstr(table, "% of rounds were not counted: the user had contributed as often"));
  char *csv = faro_report_summary_csv(report);
  assert_non_null(strstr(
      csv, "shifted,refused,communication_bytes,best_arm_lost,early,explored,lower_bound,claim_epsilon,"
           "claim_delta,claim_contributions,trust,level,"));
  assert_non_null(strstr(csv, ",1,1e-6,4,\"local\",\"user\",\"proven\","));
  char *json = faro_report_json(report);
  json_t *document = json_loads(json, 0, NULL);
  const json_t *one = json_array_get(json_object_get(document, "results"), 1);
  const json_t *claim = json_object_get(one, "claim");
  assert_string_equal(json_string_value(json_object_get(claim, "level")), "user");
  assert_int_equal(json_integer_value(json_object_get(claim, "contributions")), 4);
  const double refused = json_number_value(json_object_get(one, "refused"));
  assert_true(refused > 0.7 && refused == report->row[1].refused);
  char *html = faro_report_html(report);
  assert_non_null(strstr(html, "proven, user level (4 rounds)</span>"));
  assert_non_null(
      strstr(html, "can raise the odds of any guess about all rounds of one user (4 at most count)"));
  assert_non_null(strstr(html, "% of rounds were not counted"));
  json_decref(document);
  free(table);
  free(csv);
  free(json);
  free(html);
  faro_report_destroy(report);
  report = report_of(text, "environment.population", "new");
  table = plain_table(report);
  assert_null(strstr(table, "not counted"));
  assert_null(strstr(table, "population"));
  free(table);
  json = faro_report_json(report);
  assert_non_null(strstr(json, "\"population\": \"new\""));
  free(json);
  faro_report_destroy(report);
}

/* A sweep of a key that has a column of its own must not give two columns of one name. */
static void test_csv__column_names_are_unique(void **state) {
  (void)state;
  const char *const sweeps[][2] = {{"calibration", "[paper, figure]"},
                                   {"batch", "[auto, 5]"},
                                   {"horizon", "[10, 20]"},
                                   {"level", "[event, user]"}};
  static const char plain[] =
      "environment: {name: linear-fixed, dimension: 2, arms: 3}\nhorizon: 20\ninstances: 1\n"
      "algorithms: [{learner: linucb, release: local}]\n";
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
    faro_report *report = report_of(plain, sweeps[i][0], sweeps[i][1]);
    char *csv = faro_report_summary_csv(report);
    char *end = strchr(csv, '\n');
    *end = '\0';
    char *names[64];
    size_t count = 0;
    for (char *name = strtok(csv, ","); name; name = strtok(NULL, ",")) {
      for (size_t k = 0; k < count; k++) assert_string_not_equal(names[k], name);
      names[count++] = name;
    }
    if (i == 1) assert_non_null(strstr(end + 1, "\"auto\",\"linucb\",\"local\",\"tight\",1,"));
    free(csv);
    faro_report_destroy(report);
  }
}

static void check_markup(const char *markup) {
  assert_null(strstr(markup, "<c>"));
  assert_null(strstr(markup, "<of>"));
  assert_non_null(strstr(markup, "a &quot;b&quot;, &lt;c&gt;&amp;"));
  assert_non_null(strstr(markup, "Regret &lt;of&gt; &quot;a&quot; &amp; b"));
  assert_null(strstr(markup, "nan"));
  assert_null(strstr(markup, "inf\""));
}

static void test_figure__escapes_text_and_marks_what_is_not_proven(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, NULL, NULL);
  char *svg = faro_report_svg(report);
  check_markup(svg);
  assert_int_equal(count_of(svg, " = 0.5</text>"), 1); /* a panel for each epsilon */
  assert_int_equal(count_of(svg, ", dimension 2"), 2); /* and a line for each label and dimension */
  assert_int_equal(count_of(svg, "(not proven where dashed)"), 2);
  assert_int_equal(count_of(svg, "cumulative pseudo-regret"), 1);
  char *html = faro_report_html(report);
  check_markup(html);
  /* rows without privacy do not depend on epsilon: one for each dimension */
  assert_int_equal(count_of(html, "<tr class="), 8);
  assert_int_equal(count_of(html, ">any</td>"), 2);
  assert_int_equal(count_of(html, "not proven</span>"), 2);
  free(svg);
  free(html);
  faro_report_destroy(report);
}

static void test_figure__can_plot_against_a_swept_key(void **state) {
  (void)state;
  char text[1000];
  snprintf(text, sizeof text, "%splot: {x: epsilon, panels: dimension}\n", FILE_TEXT);
  faro_report *report = report_of(text, NULL, NULL);
  char *svg = faro_report_svg(report);
  assert_int_equal(count_of(svg, ">0.5</text>"), 2); /* what was run is labelled, in each panel */
  assert_int_equal(count_of(svg, "text-anchor=\"middle\">50<"), 2);
  assert_int_equal(count_of(svg, "final pseudo-regret"), 1);
  assert_int_equal(count_of(svg, "dimension = "), 2);
  free(svg);
  faro_report_destroy(report);
  report = report_of(text, "epsilon", "[3]"); /* one point on the axis */
  svg = faro_report_svg(report);
  check_markup(svg);
  free(svg);
  faro_report_destroy(report);
}

/* A run over four horizons whose means are then replaced by `mean`, for both labels and
 * dimensions. */
static faro_report *report_with_means(const double mean[static 4]) {
  static const char text[] = "environment: {name: linear-fixed, arms: 3}\ninstances: 2\n"
                             "sweep: {dimension: [2, 3], horizon: [10, 100, 20, 2000]}\n"
                             "algorithms:\n  - {label: a, learner: linucb, release: none}\n"
                             "  - {label: b, learner: linucb, release: none, batch: 5}\n"
                             "plot: {x: horizon, panels: dimension}\n";
  faro_report *report = report_of(text, NULL, NULL);
  json_t *results = json_object_get(report->document, "results");
  for (size_t i = 0; i < json_array_size(results); i++) {
    json_t *regret = json_object_get(json_array_get(results, i), "regret");
    json_object_set_new(regret, "mean", json_real(mean[i / 2 % 4]));
    json_object_set_new(regret, "se", json_real(0.01 * mean[i / 2 % 4]));
    json_object_set_new(regret, "max", json_real(mean[i / 2 % 4] * mean[i / 2 % 4]));
  }
  char *json = json_dumps(report->document, JSON_REAL_PRECISION(17));
  faro_report *changed = NULL;
  assert_ok(faro_report_parse(&changed, "run.json", json, strlen(json), error));
  free(json);
  faro_report_destroy(report);
  return changed;
}

static const double X[4] = {10, 100, 20, 2000};

static void test_slopes__of_a_power_law_are_its_exponent(void **state) {
  (void)state;
  double mean[4];
  for (int i = 0; i < 4; i++) mean[i] = 7 * pow(X[i], 0.4);
  faro_report *report = report_with_means(mean);
  assert_int_equal(report->slopes, 4); /* a label and a dimension each */
  for (size_t i = 0; i < 4; i++) {
    assert_close(report->slope[i].slope, 0.4, 1e-12);
    assert_close(report->slope[i].error, 0, 1e-7);
    assert_close(report->slope[i].of_most, 0.8, 1e-12);
    assert_string_equal(report->slope[i].row->label, i % 2 ? "b" : "a");
    assert_string_equal(report->slope[i].row->at[0], i < 2 ? "2" : "3");
  }
  char *table = plain_table(report);
  assert_non_null(strstr(table, "slope of regret against horizon (log-log)\n\ndimension  algorithm  slope  "
                                "standard error  slope, worst instance\n"
                                "        2  a          0.400           0.000                  0.800\n"));
  char *html = faro_report_html(report);
  assert_non_null(strstr(html, "slope of regret against horizon (log-log)</caption>"));
  char *json = faro_report_json(report);
  json_t *document = json_loads(json, 0, NULL);
  const json_t *second = json_array_get(json_object_get(document, "slopes"), 3);
  assert_string_equal(json_string_value(json_object_get(second, "label")), "b");
  assert_int_equal(json_integer_value(json_object_get(second, "dimension")), 3);
  assert_close(json_number_value(json_object_get(second, "slope")), 0.4, 1e-12);
  json_decref(document);
  free(json);
  free(html);
  free(table);
  faro_report_destroy(report);
}

/* Against the textbook's two passes. */
static void test_slopes__and_their_errors_are_those_of_least_squares(void **state) {
  (void)state;
  const double mean[4] = {3, 7.6, 4.1, 24};
  double x = 0;
  double y = 0;
  for (int i = 0; i < 4; i++) {
    x += log(X[i]) / 4;
    y += log(mean[i]) / 4;
  }
  double xx = 0;
  double xy = 0;
  for (int i = 0; i < 4; i++) {
    xx += (log(X[i]) - x) * (log(X[i]) - x);
    xy += (log(X[i]) - x) * (log(mean[i]) - y);
  }
  double rest = 0;
  for (int i = 0; i < 4; i++) rest += pow(log(mean[i]) - y - xy / xx * (log(X[i]) - x), 2);
  faro_report *report = report_with_means(mean);
  assert_close(report->slope[0].slope, xy / xx, 1e-12);
  assert_close(report->slope[0].error, sqrt(rest / 2 / xx), 1e-12);
  assert_close(report->slope[0].sampling, 0.01 / sqrt(xx), 1e-12); /* each logarithm is off by 0.01 */
  faro_report_destroy(report);
}

static void test_slopes__need_three_values_and_positive_means(void **state) {
  (void)state;
  const double mean[4] = {3, 0, 4.5, 90};
  faro_report *report = report_with_means(mean);
  assert_true(isnan(report->slope[0].slope));
  char *table = plain_table(report);
  assert_int_equal(count_of(table, ": a mean is not positive\n"), 4);
  assert_non_null(strstr(table, "no slope for b, dimension 3: "));
  char *svg = faro_report_svg(report);
  assert_non_null(strstr(svg, ">final pseudo-regret</text>")); /* 0 cannot be shown on a logarithmic axis */
  free(svg);
  free(table);
  faro_report_destroy(report);
  char text[1000];
  snprintf(text, sizeof text, "%splot: {x: dimension}\n", FILE_TEXT); /* two values */
  report = report_of(text, NULL, NULL);
  assert_int_equal(report->slopes, 0);
  table = plain_table(report);
  assert_null(strstr(table, "slope"));
  free(table);
  faro_report_destroy(report);
}

/* A slope that changes from -1 to 1 is no exponent; one that is 0 everywhere says nothing. */
static void test_slopes__are_only_those_of_power_laws(void **state) {
  (void)state;
  double mean[4];
  for (int i = 0; i < 4; i++) mean[i] = X[i] / 100 + 100 / X[i];
  faro_report *report = report_with_means(mean);
  assert_int_equal(report->slopes, 4);
  const faro_view_slope *slope = &report->slope[0];
  assert_true(isnan(slope->slope) && isnan(slope->of_most) && !slope->straight);
  assert_true(slope->first < -0.5 && slope->last > 0.5);
  char *table = plain_table(report);
  assert_null(strstr(table, "slope of regret against"));
  assert_int_equal(count_of(table, ": not a power law (the slope changes from -"), 4);
  char *page = faro_report_html(report);
  assert_int_equal(count_of(page, ": not a power law (the slope changes from -"), 4);
  free(page);
  char *json = faro_report_json(report);
  assert_int_equal(count_of(json, "\"slope\": null"), 4);
  free(json);
  free(table);
  faro_report_destroy(report);
  report = report_with_means((const double[4]){5, 5, 5, 5});
  assert_int_equal(report->slopes, 0);
  faro_report_destroy(report);
}

/* Bent, but no more than three instances can tell. */
static void test_slopes__are_not_refused_for_sampling_error(void **state) {
  (void)state;
  double mean[4];
  for (int i = 0; i < 4; i++) mean[i] = pow(X[i], 0.5) * (1 + X[i] / 1000);
  faro_report *report = report_with_means(mean);
  assert_false(report->slope[0].straight);
  json_t *results = json_object_get(report->document, "results");
  for (size_t i = 0; i < json_array_size(results); i++) {
    json_t *regret = json_object_get(json_array_get(results, i), "regret");
    json_object_set_new(regret, "se", json_real(0.6 * mean[i / 2 % 4]));
  }
  char *json = json_dumps(report->document, JSON_REAL_PRECISION(17));
  faro_report *noisy = NULL;
  assert_ok(faro_report_parse(&noisy, "run.json", json, strlen(json), error));
  assert_true(noisy->slope[0].straight && noisy->slope[0].slope > 0.5);
  free(json);
  faro_report_destroy(noisy);
  faro_report_destroy(report);
}

/* Paired differences by the textbook, and which pairs are compared. */
static void test_comparisons__are_paired_over_instances(void **state) {
  (void)state;
  static const char text[] =
      "environment: {name: linear-fixed, dimension: 2, arms: 3}\nhorizon: 20\ninstances: 4\n"
      "algorithms:\n  - {label: a, learner: linucb, release: none}\n"
      "  - {label: b, learner: linucb, release: local}\n"
      "  - {label: c, learner: linucb, release: local, batch: 2}\n"
      "  - {label: d, learner: linucb, release: local, batch: 3}\n"
      "  - {label: e, learner: linucb, release: local, batch: 4}\n";
  const double each[5][4] = {
      {1, 2, 3, 4}, {2, 3, 4, 6}, {20, 31, 40, 51}, {21, 30, 41, 50}, {90, 91, 92, 93}};
  faro_report *report = report_of(text, NULL, NULL);
  json_t *results = json_object_get(report->document, "results");
  for (size_t r = 0; r < 5; r++) {
    json_t *list = json_object_get(json_object_get(json_array_get(results, r), "each"), "regret");
    double mean = 0;
    for (size_t i = 0; i < 4; i++) {
      json_array_set_new(list, i, json_real(each[r][i]));
      mean += each[r][i] / 4;
    }
    json_object_set_new(json_object_get(json_array_get(results, r), "regret"), "mean", json_real(mean));
  }
  char *json = json_dumps(report->document, 0);
  faro_report *changed = NULL;
  assert_ok(faro_report_parse(&changed, "run.json", json, strlen(json), error));
  free(json);
  /* b is the best with privacy: neighbours, and b with all */
  static const char *const pairs[] = {"ab", "bc", "bd", "be", "cd", "de"};
  assert_int_equal(changed->comparisons, 6);
  for (size_t i = 0; i < 6; i++) {
    const faro_view_comparison *c = &changed->comparison[i];
    assert_true(*c->better->label == pairs[i][0] && *c->worse->label == pairs[i][1]);
    assert_true(c->seen == (i != 4));
  }
  /* a and b: differences 1, 1, 1, 2; t of 3 degrees of freedom is 3.182 */
  const faro_view_comparison *first = changed->comparison;
  assert_close(first->difference, 1.25, 1e-12);
  assert_close(first->low, 1.25 - 3.182446305 * 0.25, 1e-8);
  assert_close(first->high, 1.25 + 3.182446305 * 0.25, 1e-8);
  assert_close(changed->comparison[4].high, 3.182446305 * 2 / sqrt(12), 1e-8); /* 1, -1, 1, -1 */
  char *table = plain_table(changed);
  assert_non_null(strstr(table, "no difference seen: c and d (-1.8 to 1.8)\n"));
  free(table);
  const json_t *one = json_array_get(json_object_get(changed->document, "comparisons"), 4);
  assert_true(json_is_false(json_object_get(one, "seen")));
  faro_report_destroy(changed);
  faro_report_destroy(report);
}

/* A run from before there was a yardstick: it is read, and what it lacks is not shown. */
static void test_parse__reads_older_runs(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, "epsilon", "1");
  json_t *document = json_deep_copy(report->document);
  static const char *const newer[] = {"per_user", "uniform", "fixed", "learnt", "each"};
  json_object_del(document, "comparisons");
  for (size_t r = 0; r < report->count; r++) {
    json_t *result = json_array_get(json_object_get(document, "results"), r);
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
      assert_int_equal(json_object_del(result, newer[i]), 0);
    json_object_del(json_object_get(result, "regret"), "low");
    json_object_del(json_object_get(result, "regret"), "high");
    json_object_del(json_object_get(result, "curve"), "low");
    json_object_del(json_object_get(result, "curve"), "high");
  }
  char *text = json_dumps(document, JSON_REAL_PRECISION(17));
  faro_report *old = NULL;
  assert_ok(faro_report_parse(&old, "run.json", text, strlen(text), error));
  assert_int_equal(old->comparisons, 0);
  assert_true(old->row[1].low == report->row[1].low && old->row[1].high == report->row[1].high);
  assert_true(isnan(old->row[1].learnt) && !old->row[1].each);
  char *table = plain_table(old);
  assert_null(strstr(table, "learnt"));
  char *csv = faro_report_instances_csv(old);
  assert_int_equal(count_of(csv, "\n"), 1);
  free(csv);
  free(table);
  free(text);
  faro_report_destroy(old);
  json_decref(document);
  faro_report_destroy(report);
}

/* The yardstick in every form; and who learnt nothing is named, with the points where. */
static void test_learnt__is_said_outright(void **state) {
  (void)state;
  static const char text[] =
      "environment: {name: linear-fixed, dimension: 2, arms: 4}\nhorizon: 400\ninstances: 6\n"
      "sweep: {epsilon: [0.001, 1000]}\n"
      "algorithms:\n  - {label: good, learner: linucb, release: none}\n"
      "  - {label: random, learner: uniform, release: none}\n"
      "  - {label: poor, learner: lints, release: local, batch: 40}\n";
  faro_report *report = report_of(text, NULL, NULL);
  const faro_view_row *row = report->row;
  assert_close(row[0].learnt, 1 - row[0].regret.mean / row[0].uniform, 1e-15);
  assert_close(row[0].per_user, row[0].regret.mean / 400, 1e-15);
  assert_true(row[0].learnt > 0.5 && row[0].fixed == 0);
  assert_true(faro_view_learnt_nothing(&row[2]) && !faro_view_learnt_nothing(&row[5]));
  assert_false(faro_view_learnt_nothing(&row[1])); /* it said so */
  char *table = plain_table(report);
  assert_int_equal(count_of(table, " learnt nothing"), 1);
  char yardstick[100];
  snprintf(yardstick, sizeof yardstick, "\nuniform play would have a regret of %.0f, %.2f per user\n",
           row[0].uniform, row[0].uniform / 400);
  assert_non_null(strstr(table, yardstick));
  assert_non_null(strstr(table, "\npoor learnt nothing at epsilon 0.001: its regret is "));
  free(table);
  table = faro_report_table(report, (faro_table_style){.colour = true});
  assert_int_equal(count_of(table, "\033[33m"), 2); /* the cell and the sentence */
  assert_int_equal(count_of(table, "\033[0m"), 2);
  free(table);
  char *csv = faro_report_instances_csv(report);
  assert_int_equal(count_of(csv, "\n"), 1 + 6 * 6);
  assert_int_equal(strncmp(csv, "label,epsilon,instance,regret,uniform,fixed,updates,", 51), 0);
  char number[FARO_NUMBER_SIZE];
  char line[200];
  snprintf(line, sizeof line, "\n\"poor\",0.001,3,%s,", faro_number(row[2].each[3], number));
  assert_non_null(strstr(csv, line));
  free(csv);
  double mean = 0;
  for (size_t i = 0; i < 6; i++) mean += row[2].each[i] / 6;
  assert_close(mean, row[2].regret.mean, 1e-9);
  faro_report_destroy(report);
}

/* Labels are escaped, powers are formulas, and every line has as many columns as the head says. */
static void test_latex__is_escaped_and_regular(void **state) {
  (void)state;
  static const char text[] =
      "environment: {name: linear-fixed, arms: 4}\nhorizon: 100\ninstances: 3\n"
      "sweep: {dimension: [2, 3]}\nalgorithms:\n"
      "  - {label: '50% & a_b {x} \\ ^~#$', learner: linucb, release: local, batch: 5}\n"
      "  - {label: plain, learner: linucb, release: none, calibration: figure}\n";
  faro_report *report = report_of(text, NULL, NULL);
  char *latex = faro_report_latex(report);
  assert_int_equal(count_of(latex, "50\\% \\& a\\_b \\{x\\} \\textbackslash{} "
                                   "\\textasciicircum{}\\textasciitilde{}\\#\\$ & $"),
                   2);
  assert_int_equal(count_of(latex, "\\begin{tabular}{rlrcrrl}\n\\toprule\n"), 1);
  assert_int_equal(count_of(latex, "& $5$ & $(1, 0)$ proven \\\\\n"), 2);
  assert_int_equal(count_of(latex, " no privacy \\\\\n"), 2);
  assert_int_equal(count_of(latex, "\\addlinespace\n"), 1);
  assert_int_equal(count_of(latex, " & "), 5 * 6);
  assert_int_equal(count_of(latex, "\\bottomrule\n\\end{tabular}\n"), 1);
  free(latex);
  faro_report_destroy(report);
}

/* No line is wider than the terminal, whatever is left out; regret and claim stay. */
static void test_table__fits_the_terminal(void **state) {
  (void)state;
  static const char text[] =
      "title: A title that is by itself wider than a narrow terminal, and has to go on in a second line\n"
      "environment: {name: linear-fixed, arms: 4, population: 50}\nhorizon: 400\n"
      "instances: 3\nlevel: user\ncontributions: 2\ncalibration: paper\n"
      "sweep: {epsilon: [0.5, 1, 50], dimension: [2, 3]}\nbatch: 10\n"
      "algorithms:\n  - {label: plain, learner: linucb, release: none}\n"
      "  - {label: 'a label of many words that nobody would want in one line', learner: linucb, release: "
      "local}\n"
      "  - {label: ein_sehr_langes_Wort_mit_\u00e4\u00f6\u00fc_und_vielen_Silben, learner: lints, release: "
      "none}\n";
  faro_report *report = report_of(text, NULL, NULL);
  for (size_t width = 67; width <= 200; width += 7) {
    char *table = faro_report_table(report, (faro_table_style){.width = width});
    for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n")) {
      size_t used = 0;
      for (const char *c = line; *c; c++) used += ((unsigned char)*c & 0xC0) != 0x80;
      if (used > width) fail_msg("%zu columns: %s", width, line);
    }
    free(table);
    table = faro_report_table(report, (faro_table_style){.width = width});
    assert_non_null(strstr(table, "  regret"));
    assert_non_null(strstr(table, "(0.5, 1e-6) proven"));
    free(table);
  }
  faro_report_destroy(report);
}

/* What a claim leaves out and assumes is in every output, whole and escaped, however long it is and
 * however narrow the terminal. */
static void test_limits__are_in_every_output(void **state) {
  (void)state;
  char said[1200] = "it is <public> & so";
  for (size_t n = strlen(said); n + 7 < sizeof said; n += 6) memcpy(said + n, " named", 7);
  strcpy(said + strlen(said) - 5, "whole");
  faro_report *made = report_of(FILE_TEXT, NULL, NULL);
  json_t *results = json_object_get(made->document, "results");
  for (size_t i = 1; i < json_array_size(results); i += 2) {
    json_t *claim = json_object_get(json_array_get(results, i), "claim");
    json_object_set_new(claim, "protects", json_string("rewards"));
    json_object_set_new(claim, "assumes", json_string(said));
  }
  char *json = json_dumps(made->document, JSON_REAL_PRECISION(17));
  faro_report_destroy(made);
  faro_report *report = NULL;
  assert_ok(faro_report_parse(&report, "run.json", json, strlen(json), error));
  for (size_t width = 0; width <= 140; width += 70) {
    char *table = faro_report_table(report, (faro_table_style){.width = width});
    assert_int_equal(count_of(table, "proven, rewards only"), 6);
    assert_int_equal(count_of(table, "\nrewards only: what was shown and"), 1);
    assert_non_null(strstr(table, "assumes that it is <public> & so named"));
    assert_non_null(strstr(table, " whole\n"));
    assert_null(strstr(table, "rewards only, assumes"));
    free(table);
  }
  static char *(*const written[])(const faro_report *) = {faro_report_html, faro_report_latex,
                                                          faro_report_summary_csv, faro_report_caption};
  static const char *const words[][2] = {
      {"it is &lt;public&gt; &amp; so named", "any guess about one user's reward"},
      {"it is \\textless{}public\\textgreater{} \\& so named", "proven}, rewards only, assumes that"},
      {"assumes that it is <public> & so named", "; rewards only: arms are public\",\"rewards\",\"it is"},
      {"Assumed: it is <public> & so named", "Rewards only: what was shown"}};
  for (size_t i = 0; i < 4; i++) {
    char *text = written[i](report);
    for (size_t k = 0; k < 2; k++) assert_non_null(strstr(text, words[i][k]));
    assert_non_null(strstr(text, "named whole"));
    assert_null(strstr(text, i == 0 ? "<public>" : "&lt;"));
    free(text);
  }
  char *svg = faro_report_svg(report);
  assert_null(strstr(svg, "(rewards only)")); /* it would be after every name */
  assert_non_null(strstr(svg, "it is &lt;public&gt; &amp; so named"));
  free(svg);
  faro_comparison *comparison = NULL;
  assert_ok(faro_comparison_create(&comparison, report, report, error));
  char *table = faro_comparison_table(comparison, "one", "other", (faro_table_style){0});
  assert_int_equal(count_of(table, " whole\n"), 2);
  assert_int_equal(count_of(table, ": rewards only: what was shown and played"), 2);
  free(table);
  faro_comparison_destroy(comparison);
  faro_report_destroy(report);
  free(json);
}

static void test_figure__power_laws_have_logarithmic_axes(void **state) {
  (void)state;
  const double steep[4] = {100, 1e4, 400, 4e6};
  const double flat[4] = {300, 600, 350, 700};
  const char *const labels[] = {"100", "1000", "10&#8239;k", "100&#8239;k", "1&#8239;M"};
  faro_report *report = report_with_means(steep);
  char *svg = faro_report_svg(report);
  for (size_t i = 0; i < 5; i++) { /* once, beside the first panel */
    char label[40];
    snprintf(label, sizeof label, "text-anchor=\"end\">%s<", labels[i]);
    assert_int_equal(count_of(svg, label), 1);
  }
  assert_null(strstr(svg, "nan"));
  free(svg);
  faro_report_destroy(report);
  report = report_with_means(flat); /* no power of ten between them */
  svg = faro_report_svg(report);
  assert_int_equal(count_of(svg, "text-anchor=\"end\">500<"), 1);
  free(svg);
  faro_report_destroy(report);
}

/* The error of sums replaces the regret everywhere. A run from before there was a choice can still
 * be read. */
static void test_measure__has_its_name_everywhere(void **state) {
  (void)state;
  static const char text[] = "environment: {name: bits-random}\nhorizon: 100\ninstances: 2\n"
                             "algorithms: [{learner: sum, release: none, batch: 10, shufflers: log}]\n"
                             "plot: {y: error}\n";
  faro_report *report = report_of(text, NULL, NULL);
  char *(*const forms[])(const faro_report *) = {
      plain_table,     faro_report_json, faro_report_summary_csv, faro_report_curves_csv,
      faro_report_svg, faro_report_html};
  char *json = faro_report_json(report);
  assert_non_null(strstr(json, "\"shufflers\": \"log\"")); /* a word that stands for zero stays a word */
  free(json);
  const char *const words[] = {"  error  ",    "\"error\": {",        ",error_mean,error_sd,",
                               ",error_mean,", "worst error so far<", ">worst error</th>"};
  for (size_t i = 0; i < 6; i++) {
    char *form = forms[i](report);
    assert_non_null(strstr(form, words[i]));
    assert_null(strstr(form, "regret"));
    assert_null(strstr(form, "arms"));
    free(form);
  }
  faro_report_destroy(report);
  report = report_of(FILE_TEXT, "epsilon", "1");
  for (int how = 0; how < 3; how++) {
    json_t *document = json_deep_copy(report->document);
    if (how == 0) json_object_del(document, "measure");
    else json_object_set_new(document, "measure", how == 1 ? json_string("speed") : json_null());
    json = json_dumps(document, 0);
    faro_report *parsed = NULL;
    faro_error error = {0};
    assert_int_equal(faro_report_parse(&parsed, "run.json", json, strlen(json), &error),
                     how == 0 ? FARO_OK : FARO_INVALID);
    if (how == 0) assert_string_equal(parsed->measure->name, "regret");
    faro_report_destroy(parsed);
    free(json);
    json_decref(document);
  }
  faro_report_destroy(report);
}

static void test_files__are_written_whole_and_read_back(void **state) {
  (void)state;
  char path[] = "/tmp/faro-report-XXXXXX";
  assert_true(mkdtemp(path) != NULL);
  faro_report *report = report_of(FILE_TEXT, NULL, NULL);
  assert_ok(faro_report_write(report, path, error));
  faro_report *loaded = NULL;
  assert_ok(faro_report_load(&loaded, path, error));
  char *(*const forms[])(const faro_report *) = {
      plain_table,     faro_report_json, faro_report_summary_csv, faro_report_curves_csv,
      faro_report_svg, faro_report_html};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char *a = forms[i](report);
    char *b = forms[i](loaded);
    assert_string_equal(a, b);
    free(a);
    free(b);
  }
  faro_report_destroy(loaded);
  static const char *const files[] = {"run.json",  "summary.csv", "curves.csv", "instances.csv",
                                      "table.tex", "report.svg",  "report.html"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char file[100];
    snprintf(file, sizeof file, "%s/%s", path, files[i]);
    assert_int_equal(remove(file), 0);
  }
  assert_int_equal(remove(path), 0); /* no other file was left */
  faro_error error = {0};
  assert_int_equal(faro_report_write(report, path, &error), FARO_SYSTEM);
  assert_non_null(strstr(error.message, path));
  error = (faro_error){0};
  assert_int_equal(faro_report_load(&loaded, path, &error), FARO_INVALID);
  char huge[5000];
  memset(huge, 'x', sizeof huge - 1);
  huge[sizeof huge - 1] = '\0';
  error = (faro_error){0};
  assert_int_equal(faro_report_write(report, huge, &error), FARO_INVALID);
  faro_report_destroy(report);
}

/* Every member of run.json is removed or replaced, one at a time: the run is refused or drawn. */
static void test_parse__trusts_nothing(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, "epsilon", "1");
  const char *const paths[][3] = {{"title"},
                                  {"experiment"},
                                  {"faro"},
                                  {"faro", "version"},

                                  {"sweep"},
                                  {"plot"},
                                  {"results"},
                                  {"results", "0"},
                                  {"results", "0", "label"},
                                  {"results", "1", "claim"},
                                  {"results", "1", "regret"},
                                  {"results", "1", "curve"},
                                  {"results", "1", "settings"},
                                  {"results", "1", "dimension"}};
  size_t refused = 0;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    for (int how = 0; how < 3; how++) {
      json_t *document = json_deep_copy(report->document);
      json_t *at = document;
      size_t depth = 0;
      while (depth < 2 && paths[i][depth + 1]) {
        const char *step = paths[i][depth++];
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(step)) : json_object_get(at, step);
      }
      json_t *other = how == 0 ? json_null() : how == 1 ? json_integer(-7) : json_array();
      const char *last = paths[i][depth];
      if (json_is_array(at)) json_array_set_new(at, (size_t)atoi(last), other);
      else json_object_set_new(at, last, other);
      char *text = json_dumps(document, 0);
      faro_report *parsed = NULL;
      faro_error error = {0};
      if (faro_report_parse(&parsed, "run.json", text, strlen(text), &error) == FARO_OK) {
        free(faro_report_html(parsed));
        faro_report_destroy(parsed);
      } else {
        refused++;
        assert_int_equal(error.status, FARO_INVALID);
      }
      free(text);
      json_decref(document);
    }
  assert_true(refused > 30);
  faro_error error = {0};
  faro_report *parsed = NULL;
  assert_int_equal(faro_report_parse(&parsed, "run.json", "{", 1, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "not JSON"));
  faro_report_destroy(report);
}

/* A stored run may hold anything: settings are escaped like labels, and control characters are
 * refused. */
static void test_parse__hostile_settings_stay_text(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, "epsilon", "1");
  for (int control = 0; control < 2; control++) {
    json_t *document = json_deep_copy(report->document);
    json_t *results = json_object_get(document, "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
      json_t *result = json_array_get(results, i);
      json_object_set_new(json_object_get(result, "settings"), "environment", json_string("<x>&"));
      if (control) json_object_set_new(result, "label", json_string("red \033[31m"));
    }
    char *text = json_dumps(document, 0);
    faro_report *parsed = NULL;
    faro_error error = {0};
    const faro_status status = faro_report_parse(&parsed, "run.json", text, strlen(text), &error);
    assert_int_equal(status, control ? FARO_INVALID : FARO_OK);
    if (status == FARO_OK) {
      char *html = faro_report_html(parsed);
      assert_null(strstr(html, "<x>"));
      assert_int_equal(count_of(html, "&lt;x&gt;&amp;"), 1); /* the figure does not say it again */
      free(html);
    }
    faro_report_destroy(parsed);
    free(text);
    json_decref(document);
  }
  faro_report_destroy(report);
}

static void test_render__survives_exhausted_memory(void **state) {
  (void)state;
  faro_report *report = report_of(FILE_TEXT, NULL, NULL);
  char *(*const forms[])(const faro_report *) = {
      plain_table,       faro_report_summary_csv, faro_report_instances_csv,
      faro_report_latex, faro_report_curves_csv,  faro_report_svg,
      faro_report_html};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    for (size_t n = 1; n < 100; n++) {
      alloc_fail_at(n);
      char *text = forms[i](report);
      const bool reached = alloc_count() >= n;
      alloc_reset();
      if (!reached) assert_non_null(text);
      free(text);
      if (!reached) break;
    }
  faro_report_destroy(report);
}

/* Close to 100 more digits, never zeros that say nothing, and 100 only if it is. */
static void test_percent__has_the_digits_that_matter(void **state) {
  (void)state;
  static const struct {
    double share;
    const char *text;
  } at[] = {{-0.001, "0"},     {0.434, "43"},     {0.9904, "99"},     {0.9906, "99.1"}, {0.997, "99.7"},
            {0.99905, "99.9"}, {0.9992, "99.92"}, {0.99999, "99.99"}, {1, "100"},       {NAN, "-"}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    char text[32];
    assert_string_equal(faro_percent(at[i].share, text), at[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_percent__has_the_digits_that_matter),
      cmocka_unit_test(test_table__has_a_row_for_each_result_and_says_what_is_not_proven),
      cmocka_unit_test(test_json__has_the_documented_fields),
      cmocka_unit_test(test_csv__quotes_labels_and_reads_back),
      cmocka_unit_test(test_all__report_early_regret),
      cmocka_unit_test(test_all__report_the_lower_bound),
      cmocka_unit_test(test_all__report_user_level_and_refusals),
      cmocka_unit_test(test_csv__column_names_are_unique),
      cmocka_unit_test(test_figure__escapes_text_and_marks_what_is_not_proven),
      cmocka_unit_test(test_figure__can_plot_against_a_swept_key),
      cmocka_unit_test(test_slopes__of_a_power_law_are_its_exponent),
      cmocka_unit_test(test_slopes__and_their_errors_are_those_of_least_squares),
      cmocka_unit_test(test_slopes__need_three_values_and_positive_means),
      cmocka_unit_test(test_slopes__are_only_those_of_power_laws),
      cmocka_unit_test(test_slopes__are_not_refused_for_sampling_error),
      cmocka_unit_test(test_comparisons__are_paired_over_instances),
      cmocka_unit_test(test_parse__reads_older_runs),
      cmocka_unit_test(test_learnt__is_said_outright),
      cmocka_unit_test(test_table__fits_the_terminal),
      cmocka_unit_test(test_latex__is_escaped_and_regular),
      cmocka_unit_test(test_limits__are_in_every_output),
      cmocka_unit_test(test_figure__power_laws_have_logarithmic_axes),
      cmocka_unit_test(test_measure__has_its_name_everywhere),
      cmocka_unit_test(test_files__are_written_whole_and_read_back),
      cmocka_unit_test(test_parse__trusts_nothing),
      cmocka_unit_test(test_parse__hostile_settings_stay_text),
      cmocka_unit_test(test_render__survives_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
