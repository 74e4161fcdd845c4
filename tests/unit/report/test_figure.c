/* figure and page: ticks, colours, order, sizes; what the page tells a reader, and its script. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/figure.h"
#include "report/words.h"
#include "support/play.h"

static faro_report *report_of(const char *text) { return make_report("some/figure.yaml", text, NULL, NULL); }

static size_t count_of(const char *text, const char *part) {
  size_t n = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
  return n;
}

static void test_axis__logarithmic_ticks_are_digits_of_decades(void **state) {
  (void)state;
  const faro_axis axis = {.low = 100, .high = 5000, .log = true};
  static const double want[] = {100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 2000, 3000, 4000, 5000};
  faro_tick tick[FARO_TICKS_MAX];
  assert_int_equal(faro_axis_ticks(&axis, 6, tick), 14);
  for (size_t i = 0; i < 14; i++) {
    assert_close(tick[i].value, want[i], 1e-12);
    const int digit = (int)(want[i] < 1000 ? want[i] / 100 : want[i] / 1000);
    assert_int_equal(tick[i].labelled, digit == 1 || digit == 2 || digit == 5);
  }
  const faro_axis wide = {.low = 1, .high = 1e12, .log = true};
  const size_t n = faro_axis_ticks(&wide, 6, tick);
  size_t labelled = 0;
  for (size_t i = 0; i < n; i++) labelled += tick[i].labelled;
  assert_int_equal(n, 13); /* powers of ten only */
  assert_in_range(labelled, 5, 8);
  const faro_axis narrow = {.low = 1000, .high = 2000, .log = true};
  assert_in_range(faro_axis_ticks(&narrow, 6, tick), 4, 12); /* even ones: 1000, 1200, ... */
  const faro_axis even = {.low = 0, .high = 6000};
  assert_int_equal(faro_axis_ticks(&even, 6, tick), 7);
  assert_false(signbit(tick[0].value));
}

static void test_axis__share_is_within_the_frame(void **state) {
  (void)state;
  const faro_axis log_axis = {.low = 1, .high = 100, .log = true};
  assert_close(faro_axis_share(&log_axis, 10), 0.5, 1e-12);
  assert_true(faro_axis_share(&log_axis, -3) == 0 && faro_axis_share(&log_axis, 1e9) == 1);
  faro_axis axis = {.low = 130, .high = 4100, .log = true};
  faro_axis_round(&axis);
  assert_true(axis.low == 100 && axis.high == 5000);
  axis = (faro_axis){.low = 0, .high = 4100};
  faro_axis_round(&axis);
  assert_true(axis.high == 5000);
}

/* Fourteen lines; the worst is the only local one. */
static faro_report *many(void) {
  faro_text text = FARO_TEXT_INIT;
  faro_text_add(&text, "title: Many\nenvironment: {name: linear-fixed, dimension: 2, arms: 4}\n"
                       "horizon: 400\ninstances: 3\ncalibration: tight\nalgorithms:\n");
  for (int i = 0; i < 13; i++)
    faro_text_add(&text, "  - {label: line %d, learner: linucb, release: none, batch: %d}\n", i, 1 + 9 * i);
  faro_text_add(&text, "  - {label: alone, learner: linucb, release: local, batch: 100}\n");
  faro_report *report = report_of(text.data);
  faro_text_clear(&text);
  return report;
}

static void test_figure__has_at_most_seven_colours(void **state) {
  (void)state;
  faro_report *report = many();
  faro_figure figure;
  assert_true(faro_figure_init(&figure, report));
  size_t used[FARO_COLOURS] = {0};
  size_t grey = 0;
  for (size_t i = 0; i < figure.lines; i++) {
    if (figure.line[i].colour == FARO_GREY) grey++;
    else used[figure.line[i].colour]++;
    if (i > 0) assert_true(figure.line[figure.order[i - 1]].result <= figure.line[figure.order[i]].result);
  }
  assert_int_equal(grey, 7);
  for (size_t c = 0; c < FARO_COLOURS; c++) assert_int_equal(used[c], 1);
  assert_int_not_equal(figure.line[13].colour, FARO_GREY); /* the best of its trust model, though the worst */
  assert_int_equal(figure.line[figure.order[0]].colour, 0);
  faro_figure_clear(&figure);
  char *svg = faro_report_svg(report);
  static const char *const palette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};
  for (size_t c = 0; c < 6; c++) assert_true(count_of(svg, palette[c]) > 0);
  assert_int_equal(count_of(svg, "fill-opacity=\"0.1\""), 7); /* bands of coloured lines only */
  for (int i = 0; i < 13; i++) {                              /* each name once, at the end of its line */
    char name[40];
    snprintf(name, sizeof name, ">line %d</text>", i);
    assert_int_equal(count_of(svg, name), 1);
  }
  free(svg);
  faro_report_destroy(report);
}

static const char PANELS[] = "title: Panels\nenvironment: {name: linear-fixed, dimension: 2, arms: 4}\n"
                             "horizon: 300\ninstances: 3\nsweep: {epsilon: [1, 2, 4, 8]}\nalgorithms:\n"
                             "  - {label: '</script><b>', learner: linucb, release: none}\n"
                             "  - {label: server, learner: linucb, release: central-tree}\n"
                             "  - {label: local, learner: linucb, release: local}\n"
                             "plot: {x: round, panels: epsilon}\n";

static void test_figure__four_panels_are_two_by_two(void **state) {
  (void)state;
  faro_report *report = report_of(PANELS);
  char *svg = faro_report_svg(report);
  double x[4];
  double y[4];
  const char *at = svg;
  for (int i = 0; i < 4; i++) {
    at = strstr(at, "<g transform=\"translate(");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "<g transform=\"translate(%lf %lf)", &x[i], &y[i]), 2);
    at++;
  }
  assert_true(x[0] == x[2] && x[1] == x[3] && x[1] > x[0] + 300);
  assert_true(y[0] == y[1] && y[2] == y[3] && y[2] > y[0] + 200);
  assert_int_equal(count_of(svg, ">uniform play</text>"), 4);
  assert_int_equal(count_of(svg, ">server</text>"), 1); /* in the legend */
  assert_int_equal(count_of(svg, ">cumulative pseudo-regret</text>"), 2);
  assert_int_equal(count_of(svg, ">Panels</text>"), 1);
  free(svg);
  static const int width[] = {860, 336, 672};
  for (int size = 0; size <= FARO_FIGURE_TWO_COLUMN; size++) {
    svg = faro_report_figure(report, (faro_figure_size)size);
    char head[40];
    snprintf(head, sizeof head, "viewBox=\"0 0 %d ", width[size]);
    assert_non_null(strstr(svg, head));
    /* a paper has title and caption in its text */
    assert_int_equal(count_of(svg, ">Panels</text>"), size == FARO_FIGURE_SCREEN);
    assert_int_equal(count_of(svg, "95 % interval"), size == FARO_FIGURE_SCREEN);
    free(svg);
  }
  char *caption = faro_report_caption(report);
  assert_string_equal(caption,
                      "Cumulative pseudo-regret against rounds, a panel for each value of epsilon. Lines: "
                      "mean over 3 instances. Bands: 95 % interval of the mean.");
  free(caption);
  faro_report_destroy(report);
}

/* The band of a line goes through the ends of the intervals; one instance has none. */
static void test_figure__bands_are_intervals_of_the_mean(void **state) {
  (void)state;
  faro_report *report = report_of(PANELS);
  faro_figure figure;
  assert_true(faro_figure_init(&figure, report));
  faro_trace t;
  faro_figure_trace(&figure, 1, 2, &t);
  assert_int_equal(t.count, FARO_THIN);
  const faro_view_row *row = &report->row[7]; /* server, epsilon 4 */
  assert_true(t.point[t.count - 1].mean == row->regret.mean && t.point[t.count - 1].round == 300);
  assert_true(t.point[t.count - 1].low == row->low && t.point[t.count - 1].high == row->high);
  assert_true(row->low < row->regret.mean && row->high > row->regret.mean);
  faro_figure_reference(&figure, 0, 2, &t);
  assert_int_equal(t.count, 2);
  assert_true(t.point[0].round == 0 && t.point[0].mean == 0);
  assert_true(t.point[1].round == 300 && t.point[1].mean == row->uniform);
  faro_figure_clear(&figure);
  faro_report_destroy(report);
  report = report_of("environment: {name: linear-fixed, dimension: 2, arms: 4}\nhorizon: 30\ninstances: 1\n"
                     "algorithms: [{learner: linucb, release: none}]\n");
  char *svg = faro_report_svg(report);
  assert_int_equal(count_of(svg, "fill-opacity=\"0.1"), 0);
  assert_non_null(strstr(svg, "One instance: nothing says how much another would differ."));
  free(svg);
  faro_report_destroy(report);
}

/* What the script is given: nothing in it can end its element, and names are whole. */
static void test_page__gives_its_script_the_figure(void **state) {
  (void)state;
  faro_report *report = report_of(PANELS);
  char *html = faro_report_html(report);
  const char *from = strstr(html, "<script type=\"application/json\" id=\"data\">");
  assert_non_null(from);
  from = strchr(from, '>') + 1;
  const char *to = strstr(from, "</script>");
  assert_null(memchr(from, '<', (size_t)(to - from)));
  json_t *data = json_loadb(from, (size_t)(to - from), 0, NULL);
  assert_non_null(data);
  json_t *lines = json_object_get(data, "lines");
  assert_int_equal(json_array_size(lines), 3);
  assert_int_equal(json_array_size(json_object_get(data, "panels")), 4);
  bool found = false;
  for (size_t i = 0; i < 3; i++) {
    const json_t *line = json_array_get(lines, i);
    const json_t *trace = json_array_get(json_object_get(line, "at"), 0);
    found |= strcmp(json_string_value(json_object_get(line, "name")), "</script><b>") == 0;
    assert_int_equal(json_array_size(json_object_get(trace, "x")), FARO_THIN);
    assert_int_equal(json_array_size(json_object_get(trace, "high")), FARO_THIN);
  }
  assert_true(found);
  assert_null(strstr(html, "</script><b>"));
  json_decref(data);
  free(html);
  faro_report_destroy(report);
}

/* It loads nothing, and its policy forbids it to. */
static void test_page__is_self_contained(void **state) {
  (void)state;
  faro_report *report = report_of(PANELS);
  char *html = faro_report_html(report);
  assert_non_null(strstr(html, "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "));
  assert_null(strstr(html, " src="));
  assert_null(strstr(html, "url("));
  assert_null(strstr(html, "@import"));
  assert_null(strstr(html, "<link"));
  assert_int_equal(count_of(html, "http://"), 2); /* the name of SVG, in the figure and in the script */
  assert_int_equal(count_of(html, "https://"), 0);
  static const char *const files[] = {"summary.csv", "curves.csv", "instances.csv",
                                      "table.tex",   "figure.svg", "run.json"};
  for (size_t i = 0; i < 6; i++) {
    char link[64];
    snprintf(link, sizeof link, "<a href=\"%s\">", files[i]);
    assert_int_equal(count_of(html, link), 1);
  }
  assert_int_equal(count_of(html, "<h1>Panels</h1>"), 1);
  assert_int_equal(count_of(html, ">Panels<"), 3); /* <title>, <h1>, and the <title> of the drawing */
  free(html);
  faro_report_destroy(report);
}

static void test_page__says_what_a_claim_means(void **state) {
  (void)state;
  faro_report *report =
      report_of("environment: {name: linear-fixed, dimension: 2, arms: 4}\nhorizon: 200\ninstances: 2\n"
                "epsilon: 1\ndelta: 1e-6\nalgorithms:\n"
                "  - {label: free, learner: linucb, release: none}\n"
                "  - {label: server, learner: linucb, release: central-tree}\n"
                "  - {label: local, learner: linucb, release: local, delta: 1e-15}\n");
  char *html = faro_report_html(report);
  assert_non_null(strstr(html,
                         "can raise the odds of any guess about one round of one user by at most a factor of "
                         "<b>2.72</b>, except with probability 10<sup>−6</sup>"));
  assert_int_equal(count_of(html, "Nothing is promised."), 1);
  assert_int_equal(count_of(html, "<h3>A trusted server</h3>"), 1);
  assert_int_equal(count_of(html, "<h3>Nobody trusted</h3>"), 1);
  free(html);
  faro_text text = FARO_TEXT_INIT;
  faro_words_add_probability(&text, 2.5e-9);
  faro_text_add(&text, " ");
  faro_words_add_probability(&text, 0.02);
  faro_text_add(&text, " ");
  faro_words_add_number(&text, 1234567);
  faro_text_add(&text, " ");
  faro_words_add_number(&text, 0.01234);
  faro_text_add(&text, " ");
  faro_words_add_number(&text, -4321);
  assert_string_equal(text.data, "2.5&#8239;×&#8239;10<sup>−9</sup> 0.02 1&#8239;234&#8239;567 0.0123 -4321");
  faro_text_clear(&text);
  faro_report_destroy(report);
}

/* The row to use: the best proven one of each trust model at each epsilon, found by a search of
 * its own. */
static void test_page__recommends_the_best_proven_row(void **state) {
  (void)state;
  faro_report *report =
      report_of("environment: {name: linear-fixed, dimension: 2, arms: 4}\nhorizon: 400\ninstances: 3\n"
                "delta: 0.1\ncalibration: paper\nsweep: {epsilon: [0.5, 50], batch: [1, 20]}\nalgorithms:\n"
                "  - {label: free, learner: linucb, release: none}\n"
                "  - {label: one, learner: linucb, release: local}\n"
                "  - {label: two, learner: linucb, release: local, failure: 0.5}\n");
  const faro_view_row *best = NULL;
  bool unproven = true;
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    if (strcmp(row->trust, "local") != 0) continue;
    if (row->place[0] == 50) unproven &= strcmp(row->standing, "not proven") == 0;
    else if (!best || row->regret.mean < best->regret.mean) best = row;
  }
  assert_true(unproven); /* that of paper does not reach epsilon 50 */
  faro_text want = FARO_TEXT_INIT;
  faro_text_add(&want, "epsilon 0.5</th><td class=\"t\" data-t=\"nobody trusted\">%s, batch %s<br><b>",
                best->label, best->at[1]);
  faro_words_add_number(&want, best->regret.mean);
  char *html = faro_report_html(report);
  assert_non_null(strstr(html, want.data));
  assert_non_null(strstr(html, "epsilon 50</th><td class=\"t\" data-t=\"nobody trusted\">–</td>"));
  assert_non_null(strstr(html, " use <b>"));
  free(html);
  faro_text_clear(&want);
  faro_report_destroy(report);
  report = report_of(PANELS); /* one algorithm for each trust model: no choice */
  html = faro_report_html(report);
  assert_non_null(strstr(html, "<h2>Which one to use</h2>"));
  assert_null(strstr(html, " use <b>"));
  free(html);
  faro_report_destroy(report);
}

static void test_files__tell_an_unfinished_run(void **state) {
  (void)state;
  char path[] = "/tmp/faro-figure-XXXXXX";
  char journal[64];
  assert_true(mkdtemp(path) != NULL);
  snprintf(journal, sizeof journal, "%s/instances.journal", path);
  FILE *file = fopen(journal, "w");
  assert_non_null(file);
  (void)fclose(file);
  faro_report *report = NULL;
  faro_error problem = {0};
  assert_int_equal(faro_report_load(&report, path, &problem), FARO_INVALID);
  assert_non_null(strstr(problem.message, "the run is not finished"));
  (void)remove(journal);
  problem = (faro_error){0};
  assert_int_equal(faro_report_load(&report, path, &problem), FARO_INVALID);
  assert_non_null(strstr(problem.message, "cannot be read"));
  report = report_of(PANELS);
  char *svg = NULL;
  assert_ok(faro_report_write_figure(report, path, FARO_FIGURE_ONE_COLUMN, &svg, error));
  char want[80];
  snprintf(want, sizeof want, "%s/figure-one-column.svg", path);
  assert_string_equal(svg, want);
  assert_int_equal(remove(svg), 0);
  free(svg);
  assert_int_equal(remove(path), 0);
  faro_report_destroy(report);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_axis__logarithmic_ticks_are_digits_of_decades),
      cmocka_unit_test(test_axis__share_is_within_the_frame),
      cmocka_unit_test(test_figure__has_at_most_seven_colours),
      cmocka_unit_test(test_figure__four_panels_are_two_by_two),
      cmocka_unit_test(test_figure__bands_are_intervals_of_the_mean),
      cmocka_unit_test(test_page__gives_its_script_the_figure),
      cmocka_unit_test(test_page__is_self_contained),
      cmocka_unit_test(test_page__says_what_a_claim_means),
      cmocka_unit_test(test_page__recommends_the_best_proven_row),
      cmocka_unit_test(test_files__tell_an_unfinished_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
