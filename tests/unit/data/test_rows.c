/* Files of rows: what is read is what was written, in any spelling that CSV and libsvm allow; and
 * blocks, changed files, failing memory. */
#include <faro/rows.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/support.h"

static const char *path_of(const char *name) {
  static char path[200];
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/faro-rows-%d-%s", folder ? folder : "/tmp", (int)getpid(), name);
  return path;
}

static const char *write_text(const char *name, const char *text) {
  const char *path = path_of(name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
  return path;
}

/* ---- a file in many spellings, and what it says */

enum { ROWS = 3000, NUMBERS = 4 };

typedef struct truth {
  double number[ROWS][NUMBERS];
  unsigned label[ROWS];
  uint64_t line[ROWS];
  char word[ROWS][32];
} truth;

static const char *const labels[] = {"10", "9", "-2", "1e1"};
static const char *const words[] = {"plain", "a,b", "say \"so\"", "two\nlines", "", "caf\xc3\xa9"};

static void put_number(FILE *file, faro_sim_rng *sim, double *value) {
  static const char *const spelling[] = {"%.0f", "%.3f",     "%.17g",  "%g",
                                         "%.1e", "\"%.2f\"", " %.4f ", "%+.2f"};
  char text[64];
  const double draw = faro_sim_normal(sim) * pow(10, 6 * faro_sim_uniform(sim) - 3);
  snprintf(text, sizeof text, spelling[(size_t)(8 * faro_sim_uniform(sim))], draw);
  fputs(text, file);
  *value = strtod(text + strspn(text, "\" "), NULL); /* a second reader */
}

static void put_word(FILE *file, const char *word) {
  const bool quote = strpbrk(word, ",\"\n") != NULL;
  if (quote) fputc('"', file);
  for (; *word; word++) {
    if (*word == '"') fputc('"', file);
    fputc(*word, file);
  }
  if (quote) fputc('"', file);
}

static const char *write_random(truth *t, bool mark, bool last_end) {
  const char *path = path_of("random.csv");
  FILE *file = fopen(path, "wb");
  faro_sim_rng sim;
  uint64_t line = 1;
  assert_non_null(file);
  faro_sim_open(&sim, 5, 0, FARO_ROLE_INSTANCE);
  if (mark) fputs("\xEF\xBB\xBF", file);
  fputs("x1,\"x, 2\",class,x3 , kind,x4\r\n", file);
  for (size_t i = 0; i < ROWS; i++) {
    t->line[i] = ++line;
    t->label[i] = (unsigned)(4 * faro_sim_uniform(&sim));
    const char *word = words[(size_t)(6 * faro_sim_uniform(&sim))];
    snprintf(t->word[i], sizeof t->word[i], "%s", word);
    line += strchr(word, '\n') != NULL;
    put_number(file, &sim, &t->number[i][0]), fputc(',', file);
    put_number(file, &sim, &t->number[i][1]), fputc(',', file);
    put_word(file, labels[t->label[i]]), fputc(',', file);
    put_number(file, &sim, &t->number[i][2]), fputc(',', file);
    put_word(file, word), fputc(',', file);
    put_number(file, &sim, &t->number[i][3]);
    if (i + 1 < ROWS || last_end) fputs(i % 2 ? "\n" : "\r\n", file);
    else fputc('\r', file); /* a line end that was cut off */
  }
  assert_int_equal(fclose(file), 0);
  return path;
}

static const faro_rows_params random_params = {.label = "class", .words = "ki*"};

static void check_row(const faro_rows_facts *facts, const faro_row *row, const truth *t, size_t i) {
  assert_int_equal(row->line, t->line[i]);
  assert_int_equal(row->person, i);
  assert_string_equal(facts->arm[row->arm], labels[t->label[i]]);
  for (size_t j = 0; j < NUMBERS; j++) assert_true(row->number[j] == t->number[i][j]);
}

static void check_random(bool mark, bool last_end) {
  static truth t;
  faro_rows_params params = random_params;
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  params.file = write_random(&t, mark, last_end);
  assert_ok(faro_rows_open(&rows, &params, error));
  const faro_rows_facts *f = faro_rows_facts_of(rows);
  assert_int_equal(f->rows, ROWS);
  assert_int_equal(f->numbers, NUMBERS);
  assert_int_equal(f->words, 1);
  assert_string_equal(f->name[1], "x, 2");
  assert_string_equal(f->name[4], "kind");
  assert_int_equal(f->arms, 4);
  assert_string_equal(f->arm[0], "-2"); /* by value, then by bytes */
  assert_string_equal(f->arm[2], "10");
  assert_string_equal(f->arm[3], "1e1");
  assert_ok(faro_row_reader_create(&reader, rows, error));
  uint64_t hash[6] = {0};
  for (size_t i = 0; i < ROWS; i++) {
    assert_ok(faro_row_next(reader, &row, error));
    check_row(f, row, &t, i);
    size_t k = 0;
    while (strcmp(words[k], t.word[i]) != 0) k++;
    if (hash[k] == 0) hash[k] = row->word[0];
    assert_true(hash[k] == row->word[0]);
  }
  for (size_t k = 1; k < 6; k++) assert_true(hash[k] != hash[0]);
  assert_ok(faro_row_next(reader, &row, error));
  assert_null(row);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(params.file);
}

static void test_csv__what_is_read_is_what_was_written(void **state) {
  (void)state;
  check_random(false, true);
  check_random(true, false);
}

/* ---- blocks */

static void test_blocks__hold_every_row_once(void **state) {
  (void)state;
  enum { MANY = 9001 };
  const char *path = path_of("blocks.csv");
  FILE *file = fopen(path, "wb");
  fputs("y,x\n", file);
  for (int i = 0; i < MANY; i++) fprintf(file, "%d,%d\n", i % 2, i);
  fclose(file);
  const faro_rows_params params = {.file = path, .label = "y"};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  assert_ok(faro_rows_open(&rows, &params, error));
  const faro_rows_facts *f = faro_rows_facts_of(rows);
  assert_int_equal(f->rows, MANY);
  assert_int_equal(f->blocks, (MANY + 3) / 4); /* halved twice: 9001 > 2 * 4096 */
  assert_true(f->least[0] == 0 && f->most[0] == MANY - 1);
  assert_ok(faro_row_reader_create(&reader, rows, error));
  uint64_t seen = 0;
  for (size_t b = f->blocks; b-- > 0;) { /* from behind */
    const uint64_t count = faro_row_seek(reader, b);
    for (uint64_t i = 0; i < count; i++, seen++) {
      assert_ok(faro_row_next(reader, &row, error));
      assert_true(row->number[0] == (double)(4 * b + i));
      assert_int_equal(row->line, 4 * b + i + 2);
    }
  }
  assert_int_equal(seen, MANY);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(path);
}

/* ---- the other forms */

static void test_libsvm__missing_numbers_are_zero(void **state) {
  (void)state;
  const faro_rows_params params = {
      .file =
          write_text("a.libsvm", "+1 1:0.5 3:-2\n-1 # nothing\r\n+1 2:1e-3\t4:7 # text: 5:5\n-1 1:1\n\n\n")};
  const double expected[4][4] = {{0.5, 0, -2, 0}, {0}, {0, 1e-3, 0, 7}, {1, 0, 0, 0}};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  assert_ok(faro_rows_open(&rows, &params, error));
  const faro_rows_facts *f = faro_rows_facts_of(rows);
  assert_int_equal(f->rows, 4);
  assert_int_equal(f->numbers, 4);
  assert_string_equal(f->name[3], "4");
  assert_string_equal(f->arm[0], "-1");
  assert_ok(faro_row_reader_create(&reader, rows, error));
  for (size_t i = 0; i < 4; i++) {
    assert_ok(faro_row_next(reader, &row, error));
    assert_int_equal(row->arm, i % 2 ? 0 : 1);
    for (size_t j = 0; j < 4; j++) assert_true(row->number[j] == expected[i][j]);
  }
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(params.file);
}

static void test_csv__rewards_and_logs_have_their_columns(void **state) {
  (void)state;
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  const faro_rows_params wide = {
      .file = write_text("wide.csv", "b,x,a,who,c\n1,7,0.5,ann,0\n0,8,1,bob,1\n0,9,1,ann,1\n"),
      .rewards = "a, c, b",
      .person = "who"};
  assert_ok(faro_rows_open(&rows, &wide, error));
  assert_string_equal(faro_rows_facts_of(rows)->arm[1], "c"); /* as listed */
  assert_int_equal(faro_rows_facts_of(rows)->numbers, 1);
  assert_ok(faro_row_reader_create(&reader, rows, error));
  assert_ok(faro_row_next(reader, &row, error));
  assert_true(row->reward[0] == 0.5 && row->reward[1] == 0 && row->reward[2] == 1 && row->number[0] == 7);
  const uint64_t ann = row->person;
  assert_ok(faro_row_next(reader, &row, error));
  assert_true(row->person != ann);
  assert_ok(faro_row_next(reader, &row, error));
  assert_true(row->person == ann);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(wide.file);

  const faro_rows_params log = {.file =
                                    write_text("log.csv", "arm,gain,p,x,y\nred,-2,0.5,1,1\nblue,3,1,2,2\n"),
                                .action = "arm",
                                .reward = "gain",
                                .propensity = "p",
                                .classes = "red, green, blue",
                                .features = "y",
                                .low = -2,
                                .high = 3};
  assert_ok(faro_rows_open(&rows, &log, error));
  assert_int_equal(faro_rows_facts_of(rows)->form, FARO_ROWS_LOGGED);
  assert_int_equal(faro_rows_facts_of(rows)->numbers, 1);
  assert_int_equal(faro_rows_facts_of(rows)->arms, 3);
  assert_ok(faro_row_reader_create(&reader, rows, error));
  assert_ok(faro_row_next(reader, &row, error));
  assert_ok(faro_row_next(reader, &row, error));
  assert_true(row->arm == 2 && *row->reward == 3 && row->propensity == 1 && row->number[0] == 2);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(log.file);
}

static void test_csv__rows_that_are_spared_keep_their_place_and_person(void **state) {
  (void)state;
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  const faro_rows_params log = {
      .file = write_text("log.csv", "arm,gain,p,x,who\nred,0,0.5,1,ann\nred,much,0.5,1,ann\npink,1,1,1,ann\n"
                                    "red,1,0,1,ann\nred,1,1,,ann\nblue,70,0.5,2,ann\n"),
      .action = "arm",
      .reward = "gain",
      .propensity = "p",
      .person = "who",
      .classes = "red, blue",
      .features = "x",
      .spare = true};
  assert_ok(faro_rows_open(&rows, &log, error));
  assert_int_equal(faro_rows_facts_of(rows)->rows, 6);
  assert_ok(faro_row_reader_create(&reader, rows, error));
  uint64_t ann = 0;
  for (int i = 0; i < 6; i++) {
    assert_ok(faro_row_next(reader, &row, error));
    if (i == 0) ann = row->person;
    assert_true(row->person == ann && row->line == (uint64_t)i + 2 && row->arm < 2);
    assert_true(i == 0 || i == 5 ? row->propensity == 0.5 : isnan(row->propensity));
  }
  assert_true(row->arm == 1 && *row->reward == 70 && row->number[0] == 2);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(log.file);
}

static void test_csv__quotes_are_not_part_of_what_is_quoted(void **state) {
  (void)state;
  const faro_rows_params params = {
      .file =
          write_text("quotes.csv", "y,\"x \"\"1\"\"\",w\n\"a \"\"b\"\"\",1,same\n\"c,d\",\"2\",\"same\"\n"),
      .label = "y",
      .words = "w"};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  assert_ok(faro_rows_open(&rows, &params, error));
  const faro_rows_facts *f = faro_rows_facts_of(rows);
  assert_string_equal(f->name[0], "x \"1\"");
  assert_string_equal(f->arm[0], "a \"b\"");
  assert_string_equal(f->arm[1], "c,d");
  assert_ok(faro_row_reader_create(&reader, rows, error));
  assert_ok(faro_row_next(reader, &row, error));
  const uint64_t word = row->word[0];
  assert_ok(faro_row_next(reader, &row, error));
  assert_true(row->word[0] == word && row->number[0] == 2 && row->arm == 1);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(params.file);
}

/* ---- faults that golden files cannot show */

static void test_rows__a_changed_file_is_refused(void **state) {
  (void)state;
  const faro_rows_params params = {.file = write_text("changed.csv", "y,x\n0,1\n1,2\n"), .label = "y"};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  faro_error error = {0};
  assert_int_equal(faro_rows_open(&rows, &params, &error), FARO_OK);
  (void)write_text("changed.csv", "y,x\n0,1\n1,2\n0,3\n");
  assert_int_equal(faro_row_reader_create(&reader, rows, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "has changed"));
  assert_null(reader);
  faro_rows_close(rows);
  unlink(params.file);
}

/* Bytes that another program overwrites in their place, while a reader stands in the file. */
static void test_rows__a_file_that_changes_under_a_reader_is_refused(void **state) {
  (void)state;
  const faro_rows_params params = {.file = write_text("under.csv", "y,x\n0,1\n1,2\n"), .label = "y"};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  faro_error error = {0};
  assert_int_equal(faro_rows_open(&rows, &params, &error), FARO_OK);
  assert_int_equal(faro_row_reader_create(&reader, rows, &error), FARO_OK);
  assert_int_equal(faro_row_next(reader, &row, &error), FARO_OK);
  const struct timespec other[2] = {{.tv_sec = 1}, {.tv_sec = 1}}; /* the clock need not have ticked */
  (void)write_text("under.csv", "y,x\n0,1\n1,9\n");
  assert_int_equal(utimensat(AT_FDCWD, params.file, other, 0), 0);
  assert_int_equal(faro_row_next(reader, &row, &error), FARO_OK);
  assert_int_equal(faro_row_next(reader, &row, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "under.csv: has changed since it was opened"));
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(params.file);
}

static void test_rows__long_lines_are_refused_and_longest_are_read(void **state) {
  (void)state;
  const char *path = path_of("long.csv");
  faro_rows *rows = NULL;
  for (size_t extra = 0; extra < 2; extra++) {
    FILE *file = fopen(path, "wb");
    fputs("y,x,z\na,1,q\nb,2,", file);
    for (size_t i = 0; i < FARO_ROWS_LINE_MAX - 4 + extra; i++) fputc('w', file);
    fputs("\na,3,q\n", file);
    fclose(file);
    const faro_rows_params params = {.file = path, .label = "y", .words = "z"};
    faro_error error = {0};
    const faro_status status = faro_rows_open(&rows, &params, &error);
    assert_int_equal(status, extra ? FARO_INVALID : FARO_OK);
    if (extra) assert_non_null(strstr(error.message, ":3: a row must have at most"));
    else faro_rows_close(rows);
  }
  unlink(path);
}

static void test_rows__failing_memory_is_reported(void **state) {
  (void)state;
  const faro_rows_params params = {
      .file = write_text("memory.csv", "y,x,w\n0,1,a\n1,2,b\n"), .label = "y", .words = "w"};
  size_t failures = 0;
  for (size_t n = 1;; n++, failures++) {
    faro_rows *rows = NULL;
    faro_row_reader *reader = NULL;
    faro_error error = {0};
    alloc_fail_at(n);
    faro_status status = faro_rows_open(&rows, &params, &error);
    if (status == FARO_OK) status = faro_row_reader_create(&reader, rows, &error);
    alloc_fail_at(0);
    faro_row_reader_destroy(reader);
    faro_rows_close(rows);
    if (status == FARO_OK) break;
    assert_int_equal(status, FARO_MEMORY);
    assert_true(*error.message != '\0');
  }
  assert_true(failures > 10);
  unlink(params.file);
}

static void test_rows__reading_allocates_nothing(void **state) {
  (void)state;
  static truth t;
  faro_rows_params params = random_params;
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  params.file = write_random(&t, false, true);
  assert_ok(faro_rows_open(&rows, &params, error));
  assert_ok(faro_row_reader_create(&reader, rows, error));
  alloc_reset();
  do assert_ok(faro_row_next(reader, &row, error));
  while (row);
  assert_int_equal(alloc_count(), 0);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  unlink(params.file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_csv__what_is_read_is_what_was_written),
      cmocka_unit_test(test_blocks__hold_every_row_once),
      cmocka_unit_test(test_libsvm__missing_numbers_are_zero),
      cmocka_unit_test(test_csv__rewards_and_logs_have_their_columns),
      cmocka_unit_test(test_csv__rows_that_are_spared_keep_their_place_and_person),
      cmocka_unit_test(test_csv__quotes_are_not_part_of_what_is_quoted),
      cmocka_unit_test(test_rows__a_changed_file_is_refused),
      cmocka_unit_test(test_rows__a_file_that_changes_under_a_reader_is_refused),
      cmocka_unit_test(test_rows__long_lines_are_refused_and_longest_are_read),
      cmocka_unit_test(test_rows__failing_memory_is_reported),
      cmocka_unit_test(test_rows__reading_allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
