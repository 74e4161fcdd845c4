/* state: a saved and loaded release continues as if nothing had happened, and accepts no other
 * bytes. */
#include <stdlib.h>
#include <string.h>

#include "release/bits.h"
#include "support/support.h"

enum { D = 3, LENGTH = 9 };

/* Eleven batches: levels of concurrent-bits with incomplete nodes, and levels that never begin. */
static faro_release_params params(const char *kind) {
  return (faro_release_params){.epsilon = 2,
                               .delta = 1e-3,
                               .horizon = 115,
                               .batch = 10,
                               .shufflers = strcmp(kind, "concurrent-bits") == 0 ? 3 : 0,
                               .level = FARO_LEVEL_USER,
                               .contributions = 2,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_release *make_from(const char *kind, faro_sim_rng *sim) {
  const faro_release_params p = params(kind);
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(kind), &c, &p, faro_source_simulated(sim), error));
  return r;
}

static faro_sim_rng stream; /* for users and noise */
static faro_release *make(const char *kind) { return make_from(kind, &stream); }

static const char *const savable[] = {
    "central-tree",     "central-bits",     "shuffle-bits", "concurrent-bits", "shuffle-amplified",
    "shuffle-gaussian", "shuffle-response", "local",        "local-gaussian",  "local-response"};
enum { SAVABLE = sizeof savable / sizeof *savable, BATCHES = 11, B = 10 };

static double draw_user(faro_sim_rng *sim, double x[static D]) {
  for (int i = 0; i < D; i++) x[i] = faro_sim_uniform(sim) - 0.5;
  return faro_sim_uniform(sim);
}

static void absorb_batch(faro_release *r, faro_sim_rng *sim) {
  double x[D];
  for (int u = 0; u < B; u++) {
    const double y = draw_user(sim, x);
    assert_int_equal(faro_release_absorb(r, x, y), u == B - 1);
  }
}

/* One batch by messages; with several shufflers, those that report make up what users may have
 * sent. */
static void analyze_batch(faro_release *r, faro_sim_rng *sim) {
  static uint64_t batch[B * LENGTH];
  double x[D];
  size_t count = faro_release_expected(r);
  if (faro_release_shufflers(r) > 1)
    for (size_t level = 0; level < count; level++) {
      const faro_bits_level *l = &faro_bits_in(r)->level[level];
      const uint64_t users = B * l->unit;
      for (size_t i = 0; i < LENGTH; i++)
        batch[level * LENGTH + i] = users * l->noise->low + (uint64_t)(100 * faro_sim_uniform(sim));
    }
  else {
    const size_t size = faro_release_message_size(r) / sizeof *batch;
    for (size_t u = 0; u < B; u++) {
      const double y = draw_user(sim, x);
      assert_ok(faro_release_randomize(r, x, y, batch + u * size, error));
    }
    count = faro_release_mix(r, batch);
  }
  assert_ok(faro_release_analyze(r, batch, count, error));
}

static void assert_alike(const faro_release *a, const faro_release *b) {
  const faro_statistics one = faro_release_statistics(a);
  const faro_statistics two = faro_release_statistics(b);
  assert_memory_equal(one.sum, two.sum, LENGTH * sizeof *one.sum);
  assert_true(one.users == two.users && one.releases == two.releases);
  for (size_t i = 0; i < LENGTH; i++) assert_true(faro_release_scale(a, i) == faro_release_scale(b, i));
  assert_true(one.noise.ratio == two.noise.ratio && one.noise.summands == two.noise.summands);
  assert_int_equal(faro_release_expected(a), faro_release_expected(b));
  for (size_t level = 0; level < faro_release_shufflers(a); level++) {
    faro_shuffler_task first = {0};
    faro_shuffler_task second = {0};
    assert_int_equal(faro_release_task(a, level, &first), faro_release_task(b, level, &second));
    assert_memory_equal(&first, &second, sizeof first);
    const uint64_t *report = faro_release_report(a, level);
    const uint64_t *again = faro_release_report(b, level);
    assert_int_equal(report == NULL, again == NULL);
    if (report) assert_memory_equal(report, again, LENGTH * sizeof *report);
  }
}

static void *saved(const faro_release *r) {
  void *state = malloc(faro_release_state_size(r));
  assert_ok(faro_release_save(r, state, error));
  return state;
}

static faro_release *loaded(const char *kind, const void *state, faro_sim_rng *sim) {
  faro_release *r = make_from(kind, sim);
  assert_ok(faro_release_load(r, state, faro_release_state_size(r), error));
  return r;
}

/* Stopped after each possible batch, it does the same from there to the end. */
static void goes_on(const char *kind, void (*batch)(faro_release *, faro_sim_rng *)) {
  for (int stop = 0; stop <= BATCHES; stop++) {
    faro_sim_rng same;
    faro_sim_open(&stream, 3, (uint64_t)stop, FARO_ROLE_USER);
    faro_release *r = make(kind);
    for (int b = 0; b < stop; b++) batch(r, &stream);
    void *state = saved(r);
    faro_release *next = loaded(kind, state, &same);
    same = stream;
    assert_alike(r, next);
    for (int b = stop; b < BATCHES; b++) {
      batch(r, &stream);
      batch(next, &same);
      assert_alike(r, next);
    }
    assert_true(faro_release_spent(next));
    void *last = saved(r);
    void *also = saved(next);
    assert_memory_equal(last, also, faro_release_state_size(r));
    free(last);
    free(also);
    free(state);
    faro_release_destroy(r);
    faro_release_destroy(next);
  }
}

static void test_state__a_loaded_release_continues_bit_by_bit(void **state) {
  (void)state;
  for (int k = 0; k < SAVABLE; k++) {
    goes_on(savable[k], absorb_batch);
    goes_on(savable[k], analyze_batch);
  }
}

static void refused(faro_release *r, const void *state, size_t size, const char *why) {
  faro_error error = {0};
  const size_t own = faro_release_state_size(r);
  void *before = saved(r);
  assert_int_equal(faro_release_load(r, state, size, &error), FARO_INVALID);
  if (!strstr(error.message, why)) fail_msg("'%s' does not say '%s'", error.message, why);
  void *after = saved(r);
  assert_memory_equal(before, after, own);
  free(before);
  free(after);
}

/* Cut anywhere (in memory of exactly that size, so that a sanitizer sees a read beyond it), or a
 * byte too long. */
static void test_state__other_sizes_are_refused(void **state) {
  (void)state;
  for (int k = 0; k < SAVABLE; k++) {
    faro_sim_open(&stream, 4, 0, FARO_ROLE_USER);
    faro_release *r = make(savable[k]);
    for (int b = 0; b < 5; b++) absorb_batch(r, &stream);
    unsigned char *whole = saved(r);
    const size_t size = faro_release_state_size(r);
    faro_release *fresh = make(savable[k]);
    for (size_t cut = 0; cut <= size + 1; cut++) {
      if (cut == size) continue;
      unsigned char *part = malloc(cut + 1);
      memcpy(part + 1, whole, cut < size ? cut : size); /* odd addresses work as well */
      refused(fresh, part + 1, cut, cut < 8 ? "not the state" : "");
      free(part);
    }
    free(whole);
    faro_release_destroy(fresh);
    faro_release_destroy(r);
  }
}

/* Each 8-byte word in turn becomes a NaN, which is also far too large for a count. */
static void test_state__nonsense_is_refused(void **state) {
  (void)state;
  static const uint64_t nonsense = UINT64_C(0x7ff8000000000001);
  for (int k = 0; k < SAVABLE; k++) {
    faro_sim_open(&stream, 5, 0, FARO_ROLE_USER);
    faro_release *r = make(savable[k]);
    for (int b = 0; b < 5; b++) absorb_batch(r, &stream);
    unsigned char *bytes = saved(r);
    const size_t size = faro_release_state_size(r);
    faro_release *fresh = make(savable[k]);
    for (size_t at = 0; at < size; at += 8) {
      unsigned char kept[8];
      memcpy(kept, bytes + at, 8);
      memcpy(bytes + at, &nonsense, 8);
      refused(fresh, bytes, size, "");
      memcpy(bytes + at, kept, 8);
    }
    assert_ok(faro_release_load(fresh, bytes, size, error));
    free(bytes);
    faro_release_destroy(fresh);
    faro_release_destroy(r);
  }
}

/* Any bytes are refused, or leave a release that can be used to its end. */
static void test_state__corrupt_bytes_never_break_a_release(void **state) {
  (void)state;
  for (int k = 0; k < SAVABLE; k++)
    for (uint64_t run = 0; run < 300; run++) {
      faro_sim_open(&stream, 6, run, FARO_ROLE_USER);
      faro_release *r = make(savable[k]);
      for (int b = 0; b < (int)(run % BATCHES); b++) absorb_batch(r, &stream);
      unsigned char *bytes = saved(r);
      const size_t size = faro_release_state_size(r);
      for (int flips = 0; flips < 3; flips++) {
        const uint64_t place = faro_rng_next(&stream.rng) % (8 * size);
        bytes[place / 8] ^= (unsigned char)(1U << place % 8);
      }
      faro_release *fresh = make(savable[k]);
      faro_error error = {0};
      if (faro_release_load(fresh, bytes, size, &error) == FARO_OK)
        while (!faro_release_spent(fresh)) absorb_batch(fresh, &stream);
      else assert_true(error.message[0] != '\0');
      free(bytes);
      faro_release_destroy(fresh);
      faro_release_destroy(r);
    }
}

static void test_state__of_another_release_is_refused(void **state) {
  (void)state;
  faro_release *r = make("local-gaussian");
  void *own = saved(r);
  const size_t size = faro_release_state_size(r);
  faro_release *other = make("shuffle-gaussian");
  assert_int_equal(faro_release_state_size(other), size);
  refused(other, own, size, "another release, not of shuffle-gaussian");
  faro_release_destroy(other);
  for (int what = 0; what < 7; what++) {
    faro_release_params p = params("local-gaussian");
    faro_contribution c;
    assert_ok(faro_contribution_init(&c, D, 1, what == 3 ? -1 : 0, 1, error));
    if (what == 0) p.epsilon = 2.5;
    if (what == 1) p.horizon = 114;
    if (what == 2) p.contributions = 3;
    if (what == 4) p.delta = 2e-3;
    if (what == 5) p.growth = 1.5;
    if (what == 6) p.largest = 20;
    assert_ok(faro_release_create(&other, &faro_release_local_gaussian, &c, &p, faro_source_none(), error));
    refused(other, own, size, "other parameters");
    faro_release_destroy(other);
  }
  free(own);
  faro_release_destroy(r);
}

/* Two releases whose sums mean different things, or whose noise is not the same. */
typedef struct made_from {
  const char *kind;
  uint64_t grid;
  bool secret;
  double bound; /* of linearised moments; 0: plain ones */
  faro_link link;
  size_t blocks;         /* of four features; 0: one block of three */
  double epsilon, local; /* under paper and at event level; 0: as in params */
} made_from;

static faro_release *make_other(const made_from *m) {
  faro_release_params p = params(m->kind);
  faro_contribution c;
  faro_release *r = NULL;
  p.grid = m->grid;
  p.secret = m->secret;
  if (m->epsilon > 0) {
    p.epsilon = m->epsilon;
    p.local_epsilon = m->local;
    p.calibration = FARO_CALIBRATION_PAPER;
    p.level = FARO_LEVEL_EVENT;
    p.contributions = 1;
  }
  if (m->bound > 0) assert_ok(faro_contribution_linearised(&c, D, 1, m->link, m->bound, error));
  else assert_ok(faro_contribution_init(&c, m->blocks > 0 ? 4 : D, 1, 0, 1, error));
  if (m->blocks > 0) assert_ok(faro_contribution_split(&c, m->blocks, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(m->kind), &c, &p, faro_source_none(), error));
  return r;
}

static void test_state__of_other_parameters_is_refused_for_each_of_them(void **state) {
  (void)state;
  static const made_from pairs[][2] = {
      {{.kind = "central-bits", .grid = 1000}, {.kind = "central-bits", .grid = 800}},
      {{.kind = "local-gaussian"}, {.kind = "local-gaussian", .secret = true}},
      {{.kind = "local-gaussian"}, {.kind = "local-gaussian", .bound = 1, .link = FARO_LINK_LOGISTIC}},
      {{.kind = "local-gaussian", .bound = 1, .link = FARO_LINK_PROBIT},
       {.kind = "local-gaussian", .bound = 1, .link = FARO_LINK_LOGISTIC}},
      {{.kind = "local-gaussian", .bound = 1, .link = FARO_LINK_LOGISTIC},
       {.kind = "local-gaussian", .bound = 2, .link = FARO_LINK_LOGISTIC}},
      {{.kind = "local-gaussian", .blocks = 1}, {.kind = "local-gaussian", .blocks = 2}},
      {{.kind = "shuffle-gaussian", .epsilon = 8}, {.kind = "shuffle-gaussian", .epsilon = 8, .local = 8}},
  };
  for (size_t i = 0; i < 2 * (sizeof pairs / sizeof *pairs); i++) {
    const made_from *one = &pairs[i / 2][i % 2];
    const made_from *other = &pairs[i / 2][1 - i % 2];
    faro_release *r = make_other(one);
    faro_release *same = make_other(one);
    faro_release *different = make_other(other);
    void *own = saved(r);
    const size_t size = faro_release_state_size(r);
    assert_ok(faro_release_load(same, own, size, error));
    refused(different, own, size, one->blocks == other->blocks ? "other parameters" : "bytes");
    free(own);
    faro_release_destroy(r);
    faro_release_destroy(same);
    faro_release_destroy(different);
  }
}

/* Version 2, which had no grid, link, blocks, secret, bound and local_epsilon, is what an older
 * server wrote. */
static void test_state__of_the_version_before_goes_on(void **state) {
  (void)state;
  enum { VERSION_AT = 8, SIZE_AT = 16, ADDED_AT = 200, ADDED = 48 };
  for (int k = 0; k < SAVABLE; k++) {
    faro_sim_open(&stream, 8, 0, FARO_ROLE_USER);
    faro_release *r = make(savable[k]);
    for (int b = 0; b < 5; b++) absorb_batch(r, &stream);
    unsigned char *whole = saved(r);
    const uint64_t version = 2;
    const uint64_t size = faro_release_state_size(r) - ADDED;
    memmove(whole + ADDED_AT, whole + ADDED_AT + ADDED, size - ADDED_AT);
    memcpy(whole + VERSION_AT, &version, sizeof version);
    memcpy(whole + SIZE_AT, &size, sizeof size);
    faro_release *next = make(savable[k]);
    refused(next, whole, size - 8, "bytes");
    assert_ok(faro_release_load(next, whole, size, error));
    assert_alike(r, next);
    free(whole);
    faro_release_destroy(next);
    faro_release_destroy(r);
  }
}

static void test_state__is_saved_between_batches_and_loaded_into_new_releases(void **state) {
  (void)state;
  faro_sim_open(&stream, 7, 0, FARO_ROLE_USER);
  faro_release *r = make("shuffle-bits");
  void *bytes = saved(r);
  const size_t size = faro_release_state_size(r);
  const double x[D] = {0.5};
  faro_error error = {0};
  (void)faro_release_absorb(r, x, 1);
  assert_int_equal(faro_release_save(r, bytes, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "a batch is open"));
  while (faro_release_statistics(r).releases == 0) (void)faro_release_absorb(r, x, 1);
  refused(r, bytes, size, "published nothing");
  free(bytes);
  faro_release_destroy(r);
}

static void test_state__kinds_without_one_say_so(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const char *name = faro_release_kind_at(k)->name;
    bool saves = strcmp(name, "local-bits") == 0;
    for (int i = 0; i < SAVABLE; i++) saves = saves || strcmp(name, savable[i]) == 0;
    faro_release *r = make(name);
    assert_int_equal(faro_release_state_size(r) > 0, saves);
    unsigned char none[1] = {0};
    faro_error error = {0};
    if (!saves) {
      assert_int_equal(faro_release_save(r, none, &error), FARO_INVALID);
      assert_non_null(strstr(error.message, "cannot be saved"));
      error = (faro_error){0};
      assert_int_equal(faro_release_load(r, none, 0, &error), FARO_INVALID);
      assert_non_null(strstr(error.message, "cannot be saved"));
    }
    faro_release_destroy(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_state__a_loaded_release_continues_bit_by_bit),
      cmocka_unit_test(test_state__other_sizes_are_refused),
      cmocka_unit_test(test_state__nonsense_is_refused),
      cmocka_unit_test(test_state__corrupt_bytes_never_break_a_release),
      cmocka_unit_test(test_state__of_another_release_is_refused),
      cmocka_unit_test(test_state__of_other_parameters_is_refused_for_each_of_them),
      cmocka_unit_test(test_state__of_the_version_before_goes_on),
      cmocka_unit_test(test_state__is_saved_between_batches_and_loaded_into_new_releases),
      cmocka_unit_test(test_state__kinds_without_one_say_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
