/* random: the streams themselves. Distributions are tested under statistical/. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/stream_inner.h"
#include "support/support.h"

/* A second implementation of Philox 4x64-10, from Salmon et al. 2011. */
static void naive_philox(const uint64_t counter[4], const uint64_t key[2], uint64_t out[4]) {
  uint64_t c[4];
  uint64_t k[2] = {key[0], key[1]};
  memcpy(c, counter, sizeof c);
  for (int round = 0; round < 10; round++) {
    const unsigned __int128 p0 = (unsigned __int128)UINT64_C(0xD2E7470EE14C6C93) * c[0];
    const unsigned __int128 p1 = (unsigned __int128)UINT64_C(0xCA5A826395121157) * c[2];
    const uint64_t next[4] = {(uint64_t)(p1 >> 64) ^ c[1] ^ k[0], (uint64_t)p1,
                              (uint64_t)(p0 >> 64) ^ c[3] ^ k[1], (uint64_t)p0};
    memcpy(c, next, sizeof c);
    k[0] += UINT64_C(0x9E3779B97F4A7C15);
    k[1] += UINT64_C(0xBB67AE8584CAA73B);
  }
  memcpy(out, c, sizeof c);
}

static void test_philox__naive_copy_gives_the_published_vector(void **state) {
  (void)state;
  const uint64_t zero[4] = {0};
  const uint64_t expected[4] = {UINT64_C(0x16554d9eca36314c), UINT64_C(0xdb20fe9d672d0fdc),
                                UINT64_C(0xd7e772cee186176b), UINT64_C(0x7e68b68aec7ba23b)};
  uint64_t out[4];
  naive_philox(zero, zero, out);
  assert_memory_equal(out, expected, sizeof out);
}

static void test_sim__words_are_philox_of_seed_instance_role(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 42, 7, FARO_ROLE_REWARD);
  const uint64_t key[2] = {42, UINT64_C(0x6661726f)};
  for (uint64_t buffer = 0; buffer < 3; buffer++) {
    uint64_t expected[FARO_RNG_WORDS];
    for (uint64_t b = 0; b < FARO_RNG_WORDS / 4; b++) {
      const uint64_t counter[4] = {buffer * FARO_RNG_WORDS / 4 + b, 7, FARO_ROLE_REWARD, 0};
      naive_philox(counter, key, expected + 4 * b);
    }
    for (size_t i = FARO_RNG_WORDS; i-- > 0;) assert_int_equal(faro_rng_next(&sim.rng), expected[i]);
  }
}

/* Also where the number of the block wraps round, and with a whole 64-bit instance. */
static void test_sim__lanes_have_the_words_of_the_plain_function(void **state) {
  (void)state;
  static const uint64_t first[] = {0, 1, UINT32_MAX, UINT64_MAX - 3, UINT64_C(0xfedcba9876543210)};
  for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
    faro_sim_rng sim;
    uint64_t expected[FARO_RNG_WORDS];
    faro_sim_open(&sim, UINT64_MAX - i, UINT64_C(0x8000000080000001) * i, FARO_ROLE_USER);
    sim.counter[0] = first[i];
    for (uint64_t b = 0; b < FARO_RNG_WORDS / 4; b++) {
      const uint64_t counter[4] = {first[i] + b, sim.counter[1], sim.counter[2], sim.counter[3]};
      naive_philox(counter, sim.key, expected + 4 * b);
    }
    uint64_t plain[FARO_RNG_WORDS];
    faro_plain_philox(sim.counter, sim.key, plain);
    assert_memory_equal(plain, expected, sizeof expected);
    faro_sim_refill(&sim);
    assert_memory_equal(sim.rng.word, expected, sizeof expected);
    assert_int_equal(sim.counter[0], first[i] + FARO_RNG_WORDS / 4);
    assert_int_equal(sim.rng.left, FARO_RNG_WORDS);
  }
}

static void test_sim__streams_abreast_have_the_words_of_each(void **state) {
  (void)state;
  enum { DRAWS = FARO_ABREAST };
  static const uint64_t first[] = {0, 3, UINT64_MAX - 2};
  for (size_t i = 0; i < sizeof first / sizeof *first; i++)
    for (uint64_t b = 0; b < 3 * FARO_RNG_WORDS / DRAWS; b++) {
      uint64_t lanes[DRAWS * FARO_ABREAST];
      uint64_t plain[DRAWS * FARO_ABREAST];
      faro_philox_abreast(42, first[i], FARO_ROLE_DIRECTION, b, lanes);
      faro_plain_abreast(42, first[i], FARO_ROLE_DIRECTION, b, plain);
      assert_memory_equal(lanes, plain, sizeof plain);
      for (size_t k = 0; k < FARO_ABREAST; k++) {
        faro_sim_rng one;
        faro_sim_open(&one, 42, first[i] + k, FARO_ROLE_DIRECTION);
        faro_sim_skip(&one, b * DRAWS);
        for (size_t j = 0; j < DRAWS; j++)
          assert_int_equal(faro_rng_next(&one.rng), plain[FARO_ABREAST * j + k]);
      }
    }
}

static void test_sim__streams_differ_by_seed_instance_and_role(void **state) {
  (void)state;
  faro_sim_rng s[4];
  faro_sim_open(&s[0], 1, 1, FARO_ROLE_USER);
  faro_sim_open(&s[1], 2, 1, FARO_ROLE_USER);
  faro_sim_open(&s[2], 1, 2, FARO_ROLE_USER);
  faro_sim_open(&s[3], 1, 1, FARO_ROLE_REWARD);
  uint64_t first[4];
  for (int i = 0; i < 4; i++) first[i] = faro_rng_next(&s[i].rng);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) assert_true(first[i] != first[j]);
}

static void test_secure__words_do_not_repeat_and_are_wiped(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  faro_rng *rng = faro_secure_face(secure);
  uint64_t seen[500];
  for (size_t i = 0; i < 500; i++) {
    seen[i] = faro_rng_next(rng);
    assert_true(rng->left == 0 && rng->word[0] == 0); /* no word waits outside the wiped pages */
    for (size_t j = 0; j < i; j++) assert_true(seen[i] != seen[j]); /* 500^2 / 2^65: never */
  }
  faro_secure_close(secure);
  faro_secure_close(NULL);
}

static void test_secure__a_forked_child_draws_its_own_words(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  faro_rng *rng = faro_secure_face(secure);
  (void)faro_rng_next(rng); /* words are waiting in the buffer now */
  int channel[2];
  assert_int_equal(pipe(channel), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const uint64_t word = faro_rng_next(rng);
    _exit(write(channel[1], &word, sizeof word) == sizeof word ? 0 : 1);
  }
  uint64_t theirs = 0;
  assert_int_equal(read(channel[0], &theirs, sizeof theirs), sizeof theirs);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  for (int i = 0; i < 2 * FARO_RNG_WORDS; i++) assert_true(faro_rng_next(rng) != theirs);
  close(channel[0]);
  close(channel[1]);
  faro_secure_close(secure);
}

static void test_stream__never_opened_aborts(void **state) {
  (void)state;
  for (uint32_t family = 0; family < 80; family += 77) {
    const pid_t child = fork();
    if (child == 0) {
      faro_rng rng = {.family = family};
      if (!freopen("/dev/null", "w", stderr)) _exit(1);
      faro_rng_refill(&rng);
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
  }
  faro_secure_rng *secure = NULL;
  faro_error error = {0};
  alloc_fail_at(1);
  assert_int_equal(faro_secure_open(&secure, &error), FARO_MEMORY);
  alloc_reset();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox__naive_copy_gives_the_published_vector),
      cmocka_unit_test(test_sim__words_are_philox_of_seed_instance_role),
      cmocka_unit_test(test_sim__lanes_have_the_words_of_the_plain_function),
      cmocka_unit_test(test_sim__streams_abreast_have_the_words_of_each),
      cmocka_unit_test(test_sim__streams_differ_by_seed_instance_and_role),
      cmocka_unit_test(test_secure__words_do_not_repeat_and_are_wiped),
      cmocka_unit_test(test_secure__a_forked_child_draws_its_own_words),
      cmocka_unit_test(test_stream__never_opened_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
