/* Schemas that grow: a file of an earlier version gets the steps that it lacks, whole or not at
 * all, and keeps its rows. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "service/state/database.h"
#include "support/support.h"
#include "support/scratch.h"

enum { ID = 0x66617401 };

static char path[64];

static int set_up(void **state) {
  (void)state;
  SCRATCH(path, "database");
  const int file = mkstemp(path);
  return file < 0 || remove(path) != 0 ? -1 : 0;
}

static int tear_down(void **state) {
  (void)state;
  static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char name[80];
    snprintf(name, sizeof name, "%s%s", path, ends[i]);
    (void)remove(name);
  }
  return 0;
}

/* Doubles what the first version holds: not what SQL alone would be needed for, but a function. */
static faro_status twice(faro_database *database, faro_error *error) {
  return faro_database_run(database, "UPDATE t SET b = 2 * a", error);
}

static faro_status refuse(faro_database *database, faro_error *error) {
  const faro_status status = faro_database_run(database, "DELETE FROM t", error);
  return status == FARO_OK ? faro_fail(error, FARO_INVALID, "the ink is empty") : status;
}

static const faro_database_migration steps[] = {
    {"ALTER TABLE t ADD COLUMN b INTEGER", NULL}, {NULL, twice}, {"CREATE TABLE u(c INTEGER)", NULL}};
static const faro_database_migration broken[] = {{"ALTER TABLE t ADD COLUMN b INTEGER", NULL},
                                                 {NULL, refuse}};

/* The kind after this many steps. */
static faro_database_kind kind_after(int count) {
  return (faro_database_kind){.of = "a test",
                              .id = ID,
                              .first = 4,
                              .schema = "CREATE TABLE t(a INTEGER)",
                              .steps = steps,
                              .count = count};
}

static int64_t ask(faro_database *database, const char *sql) {
  sqlite3_stmt *statement = NULL;
  bool row = false;
  assert_ok(faro_database_prepare(database, sql, &statement, error));
  assert_ok(faro_database_step(database, statement, &row, error, ""));
  assert_true(row);
  const int64_t value = sqlite3_column_int64(statement, 0);
  faro_database_reset(statement);
  return value;
}

static void write_first(void) {
  const faro_database_kind kind = kind_after(0);
  faro_database *database = NULL;
  assert_ok(faro_database_open(&database, path, &kind, FARO_READ_WRITE, error));
  assert_ok(faro_database_run(database, "INSERT INTO t VALUES (20), (1)", error));
  faro_database_close(database);
}

static void test_database__old_files_get_what_they_lack(void **state) {
  (void)state;
  write_first();
  for (int count = 1; count <= 3; count++) {
    const faro_database_kind kind = kind_after(count);
    faro_database *database = NULL;
    assert_ok(faro_database_open(&database, path, &kind, FARO_READ_WRITE, error));
    assert_int_equal(ask(database, "PRAGMA user_version"), 4 + count);
    assert_int_equal(ask(database, "SELECT sum(a) FROM t"), 21);
    if (count >= 2) assert_int_equal(ask(database, "SELECT sum(b) FROM t"), 42);
    faro_database_close(database);
  }
}

static void test_database__a_new_file_has_the_same_schema_as_a_migrated_one(void **state) {
  (void)state;
  const faro_database_kind kind = kind_after(3);
  faro_database *database = NULL;
  assert_ok(faro_database_open(&database, path, &kind, FARO_READ_WRITE, error));
  assert_int_equal(ask(database, "PRAGMA user_version"), 7);
  assert_int_equal(ask(database, "SELECT count(*) FROM pragma_table_info('t')"), 2);
  assert_int_equal(ask(database, "SELECT count(*) FROM pragma_table_info('u')"), 1);
  faro_database_close(database);
}

static void test_database__a_failed_step_changes_nothing(void **state) {
  (void)state;
  write_first();
  faro_database_kind kind = kind_after(2);
  kind.steps = broken;
  faro_database *database = NULL;
  faro_error why = {0};
  assert_int_equal(faro_database_open(&database, path, &kind, FARO_READ_WRITE, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "cannot be brought from version 5 to 6: the ink is empty"));
  kind = kind_after(0);
  assert_ok(faro_database_open(&database, path, &kind, FARO_READ_WRITE, error));
  assert_int_equal(ask(database, "SELECT sum(a) FROM t"), 21);
  assert_int_equal(ask(database, "SELECT count(*) FROM pragma_table_info('t')"), 1);
  faro_database_close(database);
}

static void test_database__readers_see_the_newest_schema_and_leave_the_file_alone(void **state) {
  (void)state;
  write_first();
  const faro_database_kind kind = kind_after(3);
  const faro_database_kind old = kind_after(0);
  faro_database *database = NULL;
  assert_ok(faro_database_open(&database, path, &kind, FARO_READ_ONLY, error));
  assert_int_equal(ask(database, "SELECT sum(b) FROM t"), 42);
  faro_database_close(database);
  assert_ok(faro_database_open(&database, path, &old, FARO_READ_WRITE, error));
  assert_int_equal(ask(database, "PRAGMA user_version"), 4);
  faro_database_close(database);
}

static void test_database__newer_and_too_old_files_are_refused(void **state) {
  (void)state;
  write_first();
  faro_database_kind kind = kind_after(0);
  faro_database *database = NULL;
  for (faro_access mode = FARO_READ_WRITE; mode <= FARO_READ_ONLY; mode++) {
    faro_error why = {0};
    kind.first = 3;
    assert_int_equal(faro_database_open(&database, path, &kind, mode, &why), FARO_INVALID);
    assert_non_null(
        strstr(why.message, "version 4, written by a newer faro; this one reads up to version 3"));
    why = (faro_error){0};
    kind.first = 5;
    assert_int_equal(faro_database_open(&database, path, &kind, mode, &why), FARO_INVALID);
    assert_non_null(strstr(why.message, "version 4, which is too old; this faro reads versions 5 to 5"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_database__old_files_get_what_they_lack, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_database__a_new_file_has_the_same_schema_as_a_migrated_one, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_database__a_failed_step_changes_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_database__readers_see_the_newest_schema_and_leave_the_file_alone,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_database__newer_and_too_old_files_are_refused, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
