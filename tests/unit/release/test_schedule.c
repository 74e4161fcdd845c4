/* schedule: when sums are published, against the rule counted by hand, and through a release. */
#include <math.h>
#include <string.h>

#include "release/release.h"
#include "support/support.h"

static faro_schedule make(const faro_schedule_rule *rule, faro_arena *arena) {
  faro_schedule s;
  assert_ok(faro_schedule_init(&s, rule, arena, error));
  return s;
}

/* t_1 = batch, t_(k+1) = min(growth t_k, t_k + largest), in whole users, none below the least. */
static void test_schedule__grows_by_the_rule(void **state) {
  (void)state;
  const double growth[] = {1, 1.005, 1.2, 2, 10};
  const uint64_t batch[] = {1, 2, 50, 333};
  const uint64_t largest[] = {0, 7, 1000};
  for (int i = 0; i < 5 * 4 * 3 * 2; i++) {
    const faro_schedule_rule rule = {.horizon = 5000,
                                     .growth = growth[i % 5],
                                     .batch = batch[i / 5 % 4],
                                     .largest = largest[i / 20 % 3],
                                     .least = i / 60 ? 2 : 1};
    if (rule.batch < rule.least) continue;
    faro_arena arena = {0};
    const faro_schedule s = make(&rule, &arena);
    uint64_t users = 0;
    uint64_t count = 0;
    for (;; count++) {
      uint64_t size = users == 0 ? rule.batch : (uint64_t)floor(rule.growth * (double)users) - users;
      if (rule.growth == 1) size = rule.batch;
      else if (rule.largest > 0 && size > rule.largest) size = rule.largest;
      if (size < rule.least) size = rule.least;
      if (users + size > rule.horizon) break;
      assert_true(count < s.count);
      assert_int_equal(faro_schedule_size(&s, count), size);
      assert_int_equal(s.size[faro_schedule_class(&s, count)], size);
      users += size;
      assert_int_equal(faro_schedule_users(&s, count + 1), users);
    }
    assert_int_equal(s.count, count);
    assert_int_equal(faro_schedule_users(&s, 0), 0);
    uint64_t members = 0;
    for (size_t c = 0; c < s.classes; c++) {
      members += faro_schedule_members(&s, c);
      for (size_t other = 0; other < c; other++) assert_true(s.size[other] != s.size[c]);
    }
    assert_int_equal(members, count);
    faro_arena_free(&arena);
  }
}

static void test_schedule__too_many_batches_are_refused(void **state) {
  (void)state;
  faro_arena arena = {0};
  faro_schedule s;
  faro_error refusal = {0};
  const faro_schedule_rule rule = {.horizon = UINT64_C(1) << 40, .growth = 1.0000001, .batch = 1, .least = 1};
  assert_int_equal(faro_schedule_init(&s, &rule, &arena, &refusal), FARO_INVALID);
  assert_int_equal(strncmp(refusal.message, "growth must leave at most", 25), 0);
  faro_arena_free(&arena);
}

/* Every release publishes on its schedule, and what it says about the newest batch is true. */
static void test_release__publishes_by_its_schedule(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 81, 0, FARO_ROLE_USER);
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    if (kind->trust == FARO_TRUST_CONCURRENT) continue; /* its nodes are of one size */
    const faro_release_params p = {.epsilon = 2,
                                   .delta = 1e-3,
                                   .horizon = 300,
                                   .batch = 4,
                                   .growth = 1.7,
                                   .largest = 60,
                                   .calibration = FARO_CALIBRATION_TIGHT};
    faro_contribution c;
    faro_release *r = NULL;
    assert_ok(faro_contribution_init(&c, 2, 1, -0.5, 0.5, error));
    assert_ok(faro_release_create(&r, kind, &c, &p, faro_source_simulated(&sim), error));
    const double x[2] = {0.6, 0.1};
    uint64_t next = 0; /* the batch under way */
    uint64_t waiting = 0;
    double scale = 0;
    for (int t = 0; t < 300; t++) {
      const bool out = faro_release_absorb(r, x, 0.2);
      waiting++;
      assert_int_equal(out, next < faro_release_batches(r) && waiting == faro_release_batch_size(r, next));
      if (!out) continue;
      const faro_statistics s = faro_release_statistics(r);
      if (s.block) assert_int_equal(s.block_users, waiting);
      if (s.block && s.noise.scale) /* independent noise adds up */
        assert_close(hypot(scale, s.block_noise.scale[0]), s.noise.scale[0], 1e-9 * s.noise.scale[0]);
      scale = s.noise.scale ? s.noise.scale[0] : 0;
      next++;
      waiting = 0;
    }
    assert_int_equal(next, faro_release_batches(r));
    if (kind->blocks) assert_close(scale, faro_release_noise(r).scale[0], 1e-9 * scale);
    faro_release_destroy(r);
  }
}

/* A release that grows is saved and loaded between any two batches, and goes on bit by bit. */
static void test_release__a_loaded_one_goes_on(void **state) {
  (void)state;
  const double x[2] = {0.6, 0.1};
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (uint64_t stop = 0; stop <= 6; stop += 3) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      if (kind->trust == FARO_TRUST_CONCURRENT || !faro_release_kind_exact(kind)) continue;
      const faro_release_params p = {.epsilon = 2,
                                     .delta = 1e-3,
                                     .horizon = 300,
                                     .batch = 4,
                                     .growth = 1.7,
                                     .calibration = FARO_CALIBRATION_TIGHT};
      faro_contribution c;
      faro_release *r[2] = {NULL, NULL};
      faro_sim_rng sim[2];
      assert_ok(faro_contribution_init(&c, 2, 1, -0.5, 0.5, error));
      faro_sim_open(&sim[0], 82, stop, FARO_ROLE_USER);
      for (int i = 0; i < 2; i++)
        assert_ok(faro_release_create(&r[i], kind, &c, &p, faro_source_simulated(&sim[i]), error));
      while (faro_release_statistics(r[0]).releases < stop) (void)faro_release_absorb(r[0], x, 0.2);
      void *bytes = malloc(faro_release_state_size(r[0]));
      assert_ok(faro_release_save(r[0], bytes, error));
      assert_ok(faro_release_load(r[1], bytes, faro_release_state_size(r[1]), error));
      sim[1] = sim[0];
      for (int t = 0; t < 300; t++) {
        const faro_statistics a = faro_release_statistics(r[0]);
        const faro_statistics b = faro_release_statistics(r[1]);
        assert_memory_equal(a.sum, b.sum, 5 * sizeof *a.sum);
        assert_memory_equal(a.noise.scale, b.noise.scale, 5 * sizeof *a.sum);
        assert_true(a.users == b.users && a.noise.ratio == b.noise.ratio);
        assert_int_equal(faro_release_absorb(r[0], x, 0.2), faro_release_absorb(r[1], x, 0.2));
      }
      free(bytes);
      for (int i = 0; i < 2; i++) faro_release_destroy(r[i]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_schedule__grows_by_the_rule),
      cmocka_unit_test(test_schedule__too_many_batches_are_refused),
      cmocka_unit_test(test_release__publishes_by_its_schedule),
      cmocka_unit_test(test_release__a_loaded_one_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
