/* Split counts: each share alone is uniform, both together are the counts, and what is added up by
 * two parties is, bit by bit, what one would have added up. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "wire/split.h"

static faro_sign_key analyzer, shuffler, adder;
static faro_seal_key seal, box_key;

static int make_keys(void **state) {
  (void)state;
  assert_ok(faro_sign_key_make(&analyzer, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_sign_key_make(&adder, error));
  assert_ok(faro_seal_key_make(&seal, error));
  assert_ok(faro_seal_key_make(&box_key, error));
  return 0;
}

enum { BATCH = 60 };

static faro_campaign draft(size_t dimension) {
  faro_campaign c = {.id = "split",
                     .release = faro_release_kind_find("shuffle-bits"),
                     .arms = 10,
                     .learner = "linucb",
                     .failure = 0.1,
                     .shufflers = 1,
                     .adders = 1};
  assert_ok(faro_contribution_init(&c.contribution, dimension, 1, -1, 1, error));
  c.params = (faro_release_params){.epsilon = 1,
                                   .delta = 1e-6,
                                   .horizon = 10 * BATCH,
                                   .batch = BATCH,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = 1,
                                   .honest = 0.9,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(c.seal, seal.public_key, FARO_KEY_BYTES);
  snprintf(c.analyzer, sizeof c.analyzer, "http://127.0.0.1:8001");
  snprintf(c.shuffler[0].url, sizeof c.shuffler[0].url, "https://s.example");
  memcpy(c.shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].key, adder.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].seal, box_key.public_key, FARO_KEY_BYTES);
  return c;
}

static faro_campaign campaign_of(size_t dimension) {
  faro_campaign c = draft(dimension);
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  free(text);
  return c;
}

/* Documents. */

static void test_campaign__with_adders_has_version_4_and_comes_back(void **state) {
  (void)state;
  faro_campaign c = draft(3);
  faro_campaign back = {0};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  assert_memory_equal(text, "faro-campaign-4 ", 16);
  assert_ok(faro_campaign_open(&back, text, length, analyzer.public_key, error));
  assert_memory_equal(&c, &back, sizeof c);
  assert_true(faro_campaign_is_split(&back));
  free(text);
  c = draft(3);
  c.adders = 0;
  memset(c.adder, 0, sizeof c.adder);
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  assert_memory_equal(text, "faro-campaign-3 ", 16);
  free(text);
}

static void refused(const faro_campaign *campaign, const char *why) {
  faro_campaign c = *campaign;
  char *text = NULL;
  size_t length = 0;
  faro_error error = {0};
  assert_int_equal(faro_campaign_write(&c, &analyzer, &text, &length, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, why));
}

static void test_campaign__an_adder_is_a_party_of_its_own(void **state) {
  (void)state;
  faro_campaign c = draft(2);
  memcpy(c.adder[0].key, shuffler.public_key, FARO_KEY_BYTES);
  refused(&c, "is that of shuffler 0");
  memcpy(c.adder[0].key, analyzer.public_key, FARO_KEY_BYTES);
  refused(&c, "the analyzer's own");
  memset(c.adder[0].key, 0, FARO_KEY_BYTES);
  refused(&c, "not a public signing key");
  c = draft(2);
  memcpy(c.adder[0].seal, seal.public_key, FARO_KEY_BYTES);
  refused(&c, "the analyzer's own");
  memset(c.adder[0].seal, 0, FARO_KEY_BYTES);
  refused(&c, "not a valid sealing key");
  c = draft(2);
  c.adders = 2;
  refused(&c, "adders must be 1");
  c = draft(2);
  c.release = faro_release_kind_find("shuffle-gaussian");
  refused(&c, "only counts can be split");
}

/* Boxes of 256 MiB are the most that is sent at once. */
static void test_campaign__boxes_of_a_batch_must_fit(void **state) {
  (void)state;
  faro_campaign c = draft(1);
  c.params.batch = 2400000;
  c.params.horizon = 10 * c.params.batch;
  refused(&c, "batch must be at most 2396745");
}

/* k is wide enough for every total of honest reports, and has 8 bits to spare. */
static void test_width__no_honest_total_wraps(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(4);
  const double most = (double)BATCH * (double)c.encoding[0].most;
  assert_true(ldexp(1, (int)c.share_bits - FARO_SPLIT_SPARE) > most);
  assert_true(ldexp(1, (int)c.share_bits - FARO_SPLIT_SPARE - 1) <= most);
  assert_int_equal(faro_split_body(&c), (c.entries * c.share_bits + 7) / 8 + 112);
}

/* Shares. */

/* Reads entry i bit by bit. */
static uint64_t naive_entry(const unsigned char *packed, size_t i, unsigned width) {
  uint64_t number = 0;
  for (unsigned b = 0; b < width; b++) {
    const size_t bit = i * width + b;
    number |= (uint64_t)(packed[bit / 8] >> (bit % 8) & 1) << b;
  }
  return number;
}

/* ChaCha20 of RFC 8439 with a nonce and a counter of zero is that of libsodium's IETF interface. */
static uint64_t naive_mask(const unsigned char *seed, size_t i, unsigned width) {
  unsigned char stream[8 * 2048], nonce[12] = {0};
  uint64_t word = 0;
  assert_true(8 * i + 8 <= sizeof stream);
  crypto_stream_chacha20_ietf(stream, sizeof stream, nonce, seed);
  for (unsigned b = 0; b < 8; b++) word |= (uint64_t)stream[8 * i + b] << (8 * b);
  return width < 64 ? word & ((UINT64_C(1) << width) - 1) : word;
}

static void some_counts(const faro_campaign *c, uint64_t seed, uint64_t *counts) {
  faro_sim_rng rng;
  faro_sim_open(&rng, seed, 0, FARO_ROLE_USER);
  const faro_encoding *e = &c->encoding[0];
  for (size_t i = 0; i < c->entries; i++)
    counts[i] = (uint64_t)e->least + faro_rng_next(&rng.rng) % ((uint64_t)e->most - (uint64_t)e->least + 1);
}

/* The same seed every time the test runs, another for each number. */
static void fixed_seed(uint64_t number, unsigned char seed[static FARO_SEED_BYTES]) {
  unsigned char bytes[8];
  faro_store64(bytes, number);
  crypto_generichash(seed, FARO_SEED_BYTES, bytes, sizeof bytes, NULL, 0);
}

static void test_share__both_together_are_the_counts(void **state) {
  (void)state;
  static const size_t dimensions[] = {1, 2, 5, 11, 40}; /* up to 860 entries: more than one draw */
  for (size_t d = 0; d < sizeof dimensions / sizeof *dimensions; d++) {
    const faro_campaign c = campaign_of(dimensions[d]);
    uint64_t *counts = calloc(c.entries, sizeof *counts);
    unsigned char *body = malloc(faro_split_body(&c)), seed[FARO_SEED_BYTES];
    some_counts(&c, d, counts);
    fixed_seed(d, seed);
    assert_ok(faro_split_write(&c, 0, counts, seed, body, error));
    for (size_t i = 0; i<c.entries; i += c.entries> 100 ? 37 : 1) {
      const uint64_t sum = naive_entry(body, i, c.share_bits) + naive_mask(seed, i, c.share_bits);
      assert_int_equal(sum % (UINT64_C(1) << c.share_bits), counts[i]);
    }
    free(body);
    free(counts);
  }
}

/* How well the shares of many clients, all with the same counts, fit the uniform distribution: the
 * tail of a chi-square test. Each number is cut into pieces of 4 bits, at every place. `fresh`:
 * seeds are used once. */
static double uniform_tail(const faro_campaign *c, const uint64_t *counts, bool fresh, bool masked) {
  enum { CLIENTS = 2000, CELLS = 16 };
  unsigned char *body = malloc(faro_split_body(c)), seed[FARO_SEED_BYTES];
  uint64_t *mask = calloc(c->entries, sizeof *mask);
  const size_t pieces = c->share_bits / 4;
  double *seen = calloc(c->entries * pieces * CELLS, sizeof *seen);
  for (uint64_t who = 0; who < CLIENTS; who++) {
    fixed_seed(fresh ? who : 0, seed);
    faro_split_mask(seed, c->share_bits, c->entries, mask);
    assert_ok(faro_split_write(c, 0, counts, seed, body, error));
    for (size_t i = 0; i < c->entries; i++) {
      const uint64_t number = masked ? naive_entry(body, i, c->share_bits) : mask[i];
      for (size_t p = 0; p < pieces; p++) seen[(i * pieces + p) * CELLS + (number >> 4 * p & 15)]++;
    }
  }
  double statistic = 0;
  const double expected = (double)CLIENTS / CELLS;
  for (size_t i = 0; i < c->entries * pieces * CELLS; i++)
    statistic += (seen[i] - expected) * (seen[i] - expected) / expected;
  const double freedom = (double)(c->entries * pieces * (CELLS - 1));
  free(seen);
  free(mask);
  free(body);
  return chi_square_tail(statistic, freedom);
}

/* False alarms: FALSE_ALARM for each of the four tests, and as much for values that are too even.
 * A seed that is used twice is found. */
static void test_share__alone_is_uniform_whatever_the_counts_are(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(2);
  uint64_t *counts = calloc(c.entries, sizeof *counts);
  for (int extreme = 0; extreme < 2; extreme++) {
    for (size_t i = 0; i < c.entries; i++)
      counts[i] = (uint64_t)(extreme ? c.encoding[0].most : c.encoding[0].least);
    for (int masked = 0; masked < 2; masked++) {
      const double tail = uniform_tail(&c, counts, true, masked);
      assert_true(tail > FALSE_ALARM && tail < 1 - FALSE_ALARM);
    }
  }
  assert_true(uniform_tail(&c, counts, false, true) < FALSE_ALARM);
  free(counts);
}

/* Reports that a client makes one after another have seeds of their own. The chance that two are
 * the same by accident is below 2^-60. */
static void test_report__seeds_are_fresh(void **state) {
  (void)state;
  enum { REPORTS = 50 };
  const faro_campaign c = campaign_of(2);
  const size_t size = faro_wire_report_size(&c), packed = faro_split_packed(&c);
  unsigned char *reports = malloc(REPORTS * size);
  uint64_t *counts = calloc(c.entries, sizeof *counts);
  some_counts(&c, 1, counts);
  for (size_t i = 0; i < REPORTS; i++) {
    const faro_wire_report head = {.version = 1, .sequence = 1};
    assert_ok(faro_wire_report_write(&c, &head, counts, reports + i * size, error));
    for (size_t j = 0; j < i; j++)
      assert_memory_not_equal(reports + i * size + FARO_REPORT_HEAD, reports + j * size + FARO_REPORT_HEAD,
                              packed);
  }
  free(counts);
  free(reports);
}

/* Batches. */

typedef struct sums {
  unsigned char *shuffler; /* totals of masked shares, as bytes */
  uint64_t *masks, *plain; /* the adder's; and what one party would have added up */
  unsigned char *boxes;
} sums;

static sums sums_of(const faro_campaign *c) {
  const sums s = {.shuffler = calloc(c->entries, 8),
                  .masks = calloc(c->entries, 8),
                  .plain = calloc(c->entries, 8),
                  .boxes = malloc((size_t)BATCH * FARO_BOX_BYTES)};
  return s;
}

static void clear(sums *s) {
  free(s->shuffler);
  free(s->masks);
  free(s->plain);
  free(s->boxes);
}

/* Reports of a whole batch pass through both parties. */
static void collect(const faro_campaign *c, const sums *s) {
  const size_t size = faro_wire_report_size(c);
  unsigned char *report = malloc(size);
  uint64_t *counts = calloc(c->entries, sizeof *counts);
  for (uint64_t who = 0; who < BATCH; who++) {
    const faro_wire_report head = {.version = 1, .sequence = who + 1};
    faro_wire_report read;
    some_counts(c, who, counts);
    for (size_t i = 0; i < c->entries; i++) s->plain[i] += counts[i];
    assert_ok(faro_wire_report_write(c, &head, counts, report, error));
    assert_ok(faro_wire_report_read(c, report, size, &read, error));
    faro_split_add(c, read.body, s->shuffler);
    unsigned char *box = s->boxes + who * FARO_BOX_BYTES;
    memcpy(box, read.body + faro_split_packed(c), FARO_BOX_BYTES);
    assert_ok(faro_share_add(c, &box_key, box, s->masks, error));
  }
  free(counts);
  free(report);
}

/* The frame that a shuffler would send; free() it. */
static unsigned char *batch_of(const faro_campaign *c, const sums *s, uint64_t left_out, size_t *size) {
  unsigned char *body = malloc(faro_batch_body(c, BATCH));
  const faro_batch batch = {.count = BATCH, .body = body};
  memcpy(body, s->shuffler, 8 * c->entries);
  assert_ok(faro_sum_write(c, &batch, left_out, s->masks, &adder, body + 8 * c->entries, error));
  *size = faro_batch_size(c, BATCH);
  unsigned char *frame = malloc(*size);
  faro_batch_write(c, &batch, &shuffler, frame);
  free(body);
  return frame;
}

static void test_totals__are_those_of_the_protocol_without_shares(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(5);
  sums s = sums_of(&c);
  size_t size = 0;
  faro_batch batch;
  int64_t *totals = calloc(c.entries, sizeof *totals);
  collect(&c, &s);
  unsigned char *frame = batch_of(&c, &s, 0, &size);
  assert_ok(faro_batch_read(&c, frame, size, &batch, error));
  assert_ok(faro_split_join(&c, &batch, &seal, totals, error));
  for (size_t i = 0; i < c.entries; i++) assert_int_equal(totals[i], s.plain[i]);
  free(frame);
  free(totals);
  clear(&s);
}

static void join_fails(const faro_campaign *c, const sums *s, uint64_t left_out, const char *why) {
  size_t size = 0;
  faro_batch batch;
  faro_error error = {0};
  int64_t *totals = calloc(c->entries, sizeof *totals);
  unsigned char *frame = batch_of(c, s, left_out, &size);
  assert_int_equal(faro_batch_read(c, frame, size, &batch, &error), FARO_OK);
  assert_int_equal(faro_split_join(c, &batch, &seal, totals, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, why));
  free(totals);
  free(frame);
}

/* What a malicious client can do is seen if it leaves the range of totals, in either direction. */
static void test_totals__that_cannot_be_are_refused(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(3);
  sums s = sums_of(&c);
  collect(&c, &s);
  const uint64_t width = (uint64_t)BATCH * (uint64_t)(c.encoding[0].most - c.encoding[0].least);
  join_fails(&c, &s, 3, "3 of 60 shares");
  s.masks[4] += width;
  join_fails(&c, &s, 0, "(1 of 9 are not)");
  s.masks[4] -= 2 * width;
  s.masks[4] &= (UINT64_C(1) << c.share_bits) - 1;
  join_fails(&c, &s, 0, "(1 of 9 are not)");
  clear(&s);
}

/* Frames. */

static void test_shares__come_back_and_every_changed_byte_is_seen(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(1);
  sums s = sums_of(&c);
  collect(&c, &s);
  const faro_batch batch = {.number = 3, .count = BATCH, .body = s.boxes};
  const size_t size = faro_shares_size(BATCH);
  unsigned char *frame = malloc(size);
  faro_batch back;
  faro_shares_write(&c, &batch, &shuffler, frame);
  assert_ok(faro_shares_read(&c, frame, size, &back, error));
  assert_true(back.number == 3 && back.count == BATCH && back.shuffler == 0);
  assert_memory_equal(back.body, s.boxes, (size_t)BATCH * FARO_BOX_BYTES);
  for (size_t i = 0; i < size; i += i < FARO_BATCH_HEAD ? 1 : 61) {
    frame[i] ^= 4;
    assert_int_equal(faro_shares_read(&c, frame, size, &back, NULL), FARO_INVALID);
    frame[i] ^= 4;
  }
  assert_int_equal(faro_shares_read(&c, frame, size - 1, &back, NULL), FARO_INVALID);
  free(frame);
  clear(&s);
}

/* A sum counts for its own batch only, and only if its adder signed it. */
static void test_sum__is_bound_to_its_batch(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(2);
  uint64_t *masks = calloc(c.entries, sizeof *masks);
  const faro_batch first = {.count = BATCH}, second = {.number = 1, .count = BATCH};
  const size_t size = faro_sum_size(&c);
  unsigned char *sum = malloc(size);
  assert_ok(faro_sum_write(&c, &first, 0, masks, &adder, sum, error));
  assert_ok(faro_sum_check(&c, &first, sum, error));
  assert_int_equal(faro_sum_check(&c, &second, sum, NULL), FARO_INVALID);
  for (size_t i = 0; i < size; i++) {
    sum[i] ^= 1;
    assert_int_equal(faro_sum_check(&c, &first, sum, NULL), FARO_INVALID);
    sum[i] ^= 1;
  }
  assert_ok(faro_sum_write(&c, &first, 0, masks, &shuffler, sum, error));
  assert_int_equal(faro_sum_check(&c, &first, sum, NULL), FARO_INVALID);
  free(sum);
  free(masks);
}

/* A box of another campaign, or one that was changed, adds nothing. */
static void test_box__of_another_campaign_adds_nothing(void **state) {
  (void)state;
  const faro_campaign c = campaign_of(2);
  faro_campaign other = c;
  other.digest[0] ^= 1;
  uint64_t *counts = calloc(c.entries, sizeof *counts), *masks = calloc(c.entries, sizeof *masks);
  unsigned char *body = malloc(faro_split_body(&c)), seed[FARO_SEED_BYTES];
  unsigned char *box = body + faro_split_packed(&c);
  fixed_seed(1, seed);
  assert_ok(faro_split_write(&c, 0, counts, seed, body, error));
  assert_int_equal(faro_share_add(&other, &box_key, box, masks, NULL), FARO_INVALID);
  assert_int_equal(faro_share_add(&c, &seal, box, masks, NULL), FARO_INVALID);
  for (size_t i = 0; i < FARO_BOX_BYTES; i++) {
    box[i] ^= 128;
    assert_int_equal(faro_share_add(&c, &box_key, box, masks, NULL), FARO_INVALID);
    box[i] ^= 128;
  }
  for (size_t i = 0; i < c.entries; i++) assert_int_equal(masks[i], 0);
  assert_ok(faro_share_add(&c, &box_key, box, masks, error));
  for (size_t i = 0; i < c.entries; i++) assert_int_equal(masks[i], naive_mask(seed, i, c.share_bits));
  free(body);
  free(masks);
  free(counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_campaign__with_adders_has_version_4_and_comes_back),
      cmocka_unit_test(test_campaign__an_adder_is_a_party_of_its_own),
      cmocka_unit_test(test_campaign__boxes_of_a_batch_must_fit),
      cmocka_unit_test(test_width__no_honest_total_wraps),
      cmocka_unit_test(test_share__both_together_are_the_counts),
      cmocka_unit_test(test_share__alone_is_uniform_whatever_the_counts_are),
      cmocka_unit_test(test_report__seeds_are_fresh),
      cmocka_unit_test(test_totals__are_those_of_the_protocol_without_shares),
      cmocka_unit_test(test_totals__that_cannot_be_are_refused),
      cmocka_unit_test(test_shares__come_back_and_every_changed_byte_is_seen),
      cmocka_unit_test(test_sum__is_bound_to_its_batch),
      cmocka_unit_test(test_box__of_another_campaign_adds_nothing),
  };
  return cmocka_run_group_tests(tests, make_keys, NULL);
}
