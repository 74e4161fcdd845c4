/* json: the text reads back as the same document, with short numbers. */
#include "report/json.h"

#include <math.h>
#include <string.h>

#include "support/support.h"

static void test_text__reads_back_as_the_same_document(void **state) {
  (void)state;
  const double hard[] = {1e-6,   0.1, 1.0 / 3, 5, -0.0, 1e22, 123456789.125, 5e-324, 1.7976931348623157e308,
                         -2.5e-9};
  json_t *list = json_array();
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) json_array_append_new(list, json_real(hard[i]));
  json_t *document =
      json_pack("{s:o, s:s, s:b, s:b, s:n, s:I, s:{}, s:[]}", "list", list, "text \"\n\xc3\xa4\x01",
                "a \\ \"b\"\t<c>", "yes", 1, "no", 0, "none", "whole", (json_int_t)-42, "object", "array");
  assert_non_null(document);
  for (int indented = 0; indented < 2; indented++) {
    char *text = faro_json_text(document, indented);
    json_t *read = json_loads(text, 0, NULL);
    assert_true(json_equal(read, document));
    assert_true((strchr(text, '\n') != NULL) == indented);
    assert_non_null(strstr(text, "1e-6,"));
    assert_null(strstr(text, "0.1000000"));
    json_decref(read);
    free(text);
  }
  json_decref(document);
  assert_null(faro_json_text(NULL, false));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_text__reads_back_as_the_same_document)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
