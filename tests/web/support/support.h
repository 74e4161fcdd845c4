/* support: the little of cmocka and of tests/support that test_vectors.c needs, where there is no
 * cmocka: in WebAssembly. A failed check prints why, and ends the program. */
#ifndef FARO_TESTS_WEB_SUPPORT_H
#define FARO_TESTS_WEB_SUPPORT_H

#include <faro/base.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))
#define assert_true(condition) ((condition) ? (void)0 : fail_msg("%s:%d: %s", __FILE__, __LINE__, #condition))
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_false(condition) assert_true(!(condition))
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_close(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))
#define assert_ok(call)                                                                                      \
  do {                                                                                                       \
    faro_error caller_error = {0}, *error = &caller_error;                                                   \
    if ((call) != FARO_OK) fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, error->message);             \
  } while (0)

struct CMUnitTest {
  const char *name;
  void (*run)(void **state);
};
#define cmocka_unit_test(function)                                                                           \
  { #function, function }
#define cmocka_run_group_tests(tests, setup, teardown) run_all(tests, sizeof tests / sizeof *tests, setup)

static int run_all(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state)) {
  if (setup(NULL) != 0) return 1;
  for (size_t i = 0; i < count; i++) {
    tests[i].run(NULL);
    printf("ok: %s\n", tests[i].name);
  }
  return 0;
}

#endif
