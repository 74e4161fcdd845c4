/* learner: what holds for every learner in the registry. */
#include <stdio.h>
#include <string.h>

#include "support/support.h"

static void test_registry__names_are_found_and_unique(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++)
    assert_ptr_equal(faro_learner_find(faro_learner_at(i)->name), faro_learner_at(i));
  assert_null(faro_learner_find("no such learner"));
}

/* The parameters are not read: the kind is checked first. */
static faro_status create_as(faro_protocol protocol, const faro_learner_kind *kind, faro_error *error) {
  switch (protocol) {
  case FARO_PROTOCOL_UPDATER: return faro_updater_create(NULL, kind, &(faro_updater_params){0}, error);
  case FARO_PROTOCOL_ESTIMATOR: return faro_estimator_create(NULL, kind, FARO_CALIBRATION_TIGHT, error);
  case FARO_PROTOCOL_ELIMINATOR:
    return faro_eliminator_create(NULL, kind, &(faro_eliminator_params){0}, error);
  case FARO_PROTOCOL_ASKER: return faro_asker_create(NULL, kind, &(faro_asker_params){0}, error);
  case FARO_PROTOCOL_WATCHER: return faro_watcher_create(NULL, kind, &(faro_watcher_params){0}, error);
  }
  return FARO_OK;
}

static void test_create__refuses_kinds_of_other_protocols(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++)
    for (int protocol = 0; protocol <= FARO_PROTOCOL_WATCHER; protocol++) {
      const faro_learner_kind *kind = faro_learner_at(i);
      if (kind->protocol == (faro_protocol)protocol) continue;
      faro_error error = {0};
      assert_int_equal(create_as((faro_protocol)protocol, kind, &error), FARO_INVALID);
      char start[100];
      snprintf(start, sizeof start, "learner %s must have the protocol ", kind->name);
      assert_memory_equal(error.message, start, strlen(start));
    }
  faro_error error = {0};
  assert_int_equal(create_as(FARO_PROTOCOL_UPDATER, NULL, &error), FARO_INVALID);
}

/* The defaults of a learner's own settings are what the learner allows. */
static void test_settings__defaults_are_in_range(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++)
    for (const faro_setting *s = faro_learner_at(i)->settings; s && s->name; s++) {
      assert_true(s->preset >= s->least && s->preset <= s->most);
      assert_true(s->offset < faro_learner_at(i)->settings_size);
      assert_true(s->help && *s->help);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registry__names_are_found_and_unique),
      cmocka_unit_test(test_create__refuses_kinds_of_other_protocols),
      cmocka_unit_test(test_settings__defaults_are_in_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
