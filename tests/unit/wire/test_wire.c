/* wire: documents, reports, batches and keys come back as they were sent, and anything else is
 * refused. Vectors (tests/service) show what is refused and why; this file tests what needs state:
 * round trips, ranges, files, memory. */
#include <locale.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/support.h"
#include "wire/document.h"
#include "wire/wire.h"

static faro_sign_key analyzer, shuffler;
static faro_seal_key seal;

static int make_keys(void **state) {
  (void)state;
  assert_ok(faro_sign_key_make(&analyzer, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_seal_key_make(&seal, error));
  return 0;
}

static faro_campaign campaign_of(const char *kind, size_t dimension, size_t shufflers) {
  faro_campaign c = {.id = "test",
                     .release = faro_release_kind_find(kind),
                     .arms = 10,
                     .centre = 0.5,
                     .learner = "linucb",
                     .failure = 0.1};
  assert_non_null(c.release);
  assert_ok(faro_contribution_init(&c.contribution, dimension, 1, -1, 1, error));
  c.params = (faro_release_params){.epsilon = 1,
                                   .delta = 1e-6,
                                   .horizon = 10000,
                                   .batch = 500,
                                   .shufflers = shufflers > 1 ? shufflers : 0,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = 2,
                                   .honest = shufflers > 0 ? 0.9 : 0,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(c.seal, seal.public_key, sizeof c.seal);
  snprintf(c.analyzer, sizeof c.analyzer, "http://127.0.0.1:8001");
  c.shufflers = shufflers;
  for (size_t i = 0; i < shufflers; i++) {
    snprintf(c.shuffler[i].url, sizeof c.shuffler[i].url, "https://s%zu.example:443/faro", i);
    memcpy(c.shuffler[i].key, shuffler.public_key, FARO_KEY_BYTES);
  }
  return c;
}

static const struct {
  const char *kind;
  size_t shufflers;
  faro_wire_form form;
} forms[] = {{"shuffle-bits", 1, FARO_WIRE_BITS},       {"concurrent-bits", 3, FARO_WIRE_BITS},
             {"local-bits", 0, FARO_WIRE_DIRECT},       {"central-bits", 0, FARO_WIRE_DIRECT},
             {"shuffle-gaussian", 1, FARO_WIRE_SEALED}, {"local-gaussian", 0, FARO_WIRE_DIRECT},
             {"central-tree", 0, FARO_WIRE_DIRECT},     {"shuffle-response", 1, FARO_WIRE_SEALED},
             {"local-response", 0, FARO_WIRE_DIRECT}};
enum { FORMS = sizeof forms / sizeof *forms };

static faro_campaign written(size_t form, size_t dimension, char **text, size_t *length) {
  faro_campaign c = campaign_of(forms[form].kind, dimension, forms[form].shufflers);
  assert_ok(faro_campaign_write(&c, &analyzer, text, length, error));
  return c;
}

static faro_campaign opened(size_t form, size_t dimension) {
  char *text = NULL;
  size_t length = 0;
  const faro_campaign c = written(form, dimension, &text, &length);
  free(text);
  return c;
}

static void test_campaign__comes_back_as_it_was_written(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    char *text = NULL;
    size_t length = 0;
    faro_campaign c = written(i, 5, &text, &length);
    faro_campaign back = {0};
    assert_ok(faro_campaign_open(&back, text, length, analyzer.public_key, error));
    assert_int_equal(faro_campaign_form(&back), forms[i].form);
    assert_string_equal(c.claim.by, back.claim.by);
    assert_memory_equal(&c, &back, sizeof c); /* both start from zeros */
    free(text);
  }
}

static void test_campaign__is_refused_when_any_byte_changes(void **state) {
  (void)state;
  char *text = NULL;
  size_t length = 0;
  (void)written(0, 2, &text, &length);
  faro_campaign back = {0};
  for (size_t i = 0; i < length; i++) {
    text[i] ^= 1;
    faro_error e = {0};
    assert_int_equal(faro_campaign_open(&back, text, length, analyzer.public_key, &e), FARO_INVALID);
    text[i] ^= 1;
  }
  for (size_t i = 0; i < length; i++)
    assert_int_equal(faro_campaign_open(&back, text, i, analyzer.public_key, NULL), FARO_INVALID);
  assert_int_equal(faro_campaign_open(&back, text, length, shuffler.public_key, NULL), FARO_INVALID);
  free(text);
}

/* The activity of concurrent shufflers, against what a release's own randomizer sends. */
static void test_campaign__shufflers_are_active_when_the_release_says_so(void **state) {
  (void)state;
  const faro_campaign c = opened(1, 1);
  faro_release *release = NULL;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_release_create(&release, c.release, &c.contribution, &c.params,
                                faro_source_all_parties(secure), error));
  assert_int_equal(c.batches, 20);
  uint64_t message[3 * 2];
  assert_int_equal(faro_release_message_size(release), sizeof message);
  bool some = false;
  for (uint64_t b = 0; b < c.batches; b++) {
    const double x = 1;
    assert_ok(faro_release_randomize(release, &x, 1, message, error));
    for (size_t level = 0; level < 3; level++) {
      assert_int_equal(faro_campaign_active(&c, level, b), message[2 * level] + message[2 * level + 1] > 0);
      some = some || !faro_campaign_active(&c, level, b);
      assert_true((int64_t)message[2 * level] <= c.encoding[level].most);
      assert_true((int64_t)message[2 * level] >=
                  (faro_campaign_active(&c, level, b) ? c.encoding[level].least : 0));
    }
    for (uint64_t u = 0; u < c.params.batch; u++) (void)faro_release_absorb(release, &x, 1);
  }
  assert_true(some);
  assert_false(faro_campaign_active(&c, 0, c.batches));
  faro_secure_close(secure);
  faro_release_destroy(release);
}

static void test_campaign__weaker_claims_are_not_stated(void **state) {
  (void)state;
  faro_campaign c = campaign_of("shuffle-bits", 2, 1);
  const faro_claim floor = {
      .epsilon = 1, .delta = 1e-6, .trust = FARO_TRUST_SHUFFLE, .level = FARO_LEVEL_USER, .contributions = 2};
  faro_claim got = floor;
  faro_error e = {0};
  assert_int_equal(faro_claim_meets(&got, "it", &floor, "we ask", &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "not proven"));
  got.proven = true;
  assert_ok(faro_claim_meets(&got, "it", &floor, "we ask", error));
  got.trust = FARO_TRUST_LOCAL;
  assert_ok(faro_claim_meets(&got, "it", &floor, "we ask", error));
  got = floor, got.proven = true, got.epsilon = 1.01;
  e = (faro_error){0};
  assert_int_equal(faro_claim_meets(&got, "it", &floor, "we ask", &e), FARO_INVALID);
  assert_string_equal(e.message, "epsilon of it is 1.01, and we ask at most 1");
  got = floor, got.proven = true, got.trust = FARO_TRUST_CONCURRENT;
  e = (faro_error){0};
  assert_int_equal(faro_claim_meets(&got, "it", &floor, "we ask", &e), FARO_INVALID);
  assert_string_equal(e.message, "trust of it is concurrent, and we ask at least shuffle");
  got = floor, got.proven = true, got.delta = NAN;
  assert_int_equal(faro_claim_meets(&got, "it", &floor, "we ask", NULL), FARO_INVALID);
  got = floor, got.proven = true, got.contributions = 1;
  assert_int_equal(faro_claim_meets(&got, "it", &floor, "we ask", NULL), FARO_INVALID);
  got = floor, got.proven = true, got.level = FARO_LEVEL_EVENT;
  assert_int_equal(faro_claim_meets(&got, "it", &floor, "we ask", NULL), FARO_INVALID);
  (void)c;
}

/* A campaign whose batches nobody could send is refused when it is written and when it is read. */
static void test_campaign__batches_must_fit(void **state) {
  (void)state;
  const char *named = "batch must be at most 1011 for local-gaussian in 256 dimensions";
  faro_campaign c = campaign_of("local-gaussian", 256, 0);
  c.params.horizon = 100000;
  char *text = NULL;
  size_t length = 0;
  c.params.batch = (256 << 20) / (48 + 32 + 8 * (256 * 259 / 2)) + 1;
  faro_error e = {0};
  assert_int_equal(faro_campaign_write(&c, &analyzer, &text, &length, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, named));
  c.params.batch--;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  faro_text json = FARO_TEXT_INIT;
  char *at = strstr(text, "\"batch\":1011");
  assert_non_null(at);
  at[11] = '2'; /* 1012 */
  faro_text_add(&json, "%.*s", (int)(text + length - strchr(text, '\n') - 1), strchr(text, '\n') + 1);
  free(text);
  assert_ok(faro_document_sign("faro-campaign-3", &json, &analyzer, c.digest, &text, &length, error));
  e = (faro_error){0};
  assert_int_equal(faro_campaign_open(&c, text, length, analyzer.public_key, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, named));
  free(text);
}

/* The schedule and the kind of release are those in use. */
static void test_campaign__states_what_the_release_chose(void **state) {
  (void)state;
  faro_campaign c = campaign_of("shuffle-amplified", 3, 1), back = {0};
  char *text = NULL;
  size_t length = 0;
  c.params.batch = 0;
  c.params.honest = 1;
  c.params.horizon = 100000;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  assert_string_equal(c.release->name, "shuffle-response");
  assert_true(c.params.batch > 2 && c.params.growth == 2 && c.params.largest == 5001);
  assert_ok(faro_campaign_open(&back, text, length, analyzer.public_key, error));
  assert_memory_equal(&c, &back, sizeof c);
  uint64_t reports = 0;
  for (uint64_t k = 0; k < c.batches; k++) {
    assert_int_equal(faro_campaign_reports(&c, k), reports);
    const uint64_t size = faro_campaign_size(&c, 0, k);
    assert_int_equal(faro_campaign_overlaps(&c, k), k > 0 && size == faro_campaign_size(&c, 0, k - 1));
    reports += size;
  }
  assert_int_equal(faro_campaign_reports(&c, c.batches), reports);
  assert_int_equal(faro_campaign_largest(&c), 5001);
  assert_true(reports <= 100000 && c.encodings > 2);
  free(text);
}

/* Each size takes the accountant some time: a campaign with too many is refused before. */
static void test_campaign__sizes_of_batches_are_few(void **state) {
  (void)state;
  faro_campaign c = campaign_of("shuffle-bits", 2, 1);
  faro_error e = {0};
  char *text = NULL;
  size_t length = 0;
  c.params.growth = 1.002;
  c.params.horizon = UINT64_C(1) << 40;
  assert_int_equal(faro_campaign_write(&c, &analyzer, &text, &length, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "batches must have at most 256 different sizes"));
  static const char *const kinds[] = {"central-tree", "central-bits", "local-gaussian", "local-response"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) { /* those that a release chooses are fewer */
    c = campaign_of(kinds[i], 2, 0);
    c.params.batch = 0;
    c.params.epsilon = 0.1;
    c.params.horizon = UINT64_C(20000000);
    assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
    assert_true(c.encodings > 1 && c.encodings < 128);
    for (uint64_t k = 1; k < c.batches; k++) /* without a shuffler the noise of a report is always the same */
      assert_true(faro_campaign_overlaps(&c, k));
    free(text);
  }
}

/* Errors of a document name the key's whole path. */
static void test_campaign__an_encoder_for_each_target(void **state) {
  (void)state;
  faro_campaign c = campaign_of("shuffle-bits", 2, 1);
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  const char *json = strchr(text, '\n') + 1;
  const char *encoder = strstr(json, "\"encoding\":[") + 12;
  const char *end = strchr(encoder, ']');
  static const struct {
    const char *more, *message;
  } cases[] = {
      {"", "encoding must have 1 entries (got 2)"},
      {",", "encoding[1] must be an object (got null)"},
      {",\"extra\":1}", "unknown key \"extra\" in encoding[1]; allowed: from, size, grid, bits, most"}};
  for (size_t i = 0; i < 3; i++) {
    faro_text changed = FARO_TEXT_INIT;
    faro_error e = {0};
    char *document = NULL;
    size_t size = 0;
    faro_text_add(&changed, "%.*s,", (int)(end - json), json);
    if (i == 1) faro_text_add(&changed, "null");
    else faro_text_add(&changed, "%.*s%s", (int)(end - encoder) - (i == 2), encoder, cases[i].more);
    faro_text_add(&changed, "%.*s", (int)(text + length - end), end);
    assert_ok(faro_document_sign("faro-campaign-3", &changed, &analyzer, NULL, &document, &size, error));
    assert_int_equal(faro_campaign_open(&c, document, size, analyzer.public_key, &e), FARO_INVALID);
    assert_string_equal(e.message, cases[i].message);
    free(document);
  }
  free(text);
}

static void test_campaign__placeholders_are_no_keys(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    faro_campaign c = campaign_of("concurrent-bits", 3, 3);
    faro_error e = {0};
    char *text = NULL;
    size_t length = 0;
    memset(c.shuffler[i].key, 0, FARO_KEY_BYTES);
    c.shuffler[i].key[0] = i == 2; /* a point of order 1 */
    assert_int_equal(faro_campaign_write(&c, &analyzer, &text, &length, &e), FARO_INVALID);
    char words[64];
    snprintf(words, sizeof words, "key of shuffler %d is not a public signing key", i);
    assert_non_null(strstr(e.message, words));
  }
}

/* Such a campaign is not written, and not read either (the vector campaign-shufflers-own). */
static void test_campaign__an_analyzer_is_not_its_own_shuffler(void **state) {
  (void)state;
  faro_campaign c = campaign_of("concurrent-bits", 3, 3);
  faro_campaign back;
  faro_error e = {0};
  char *text = NULL;
  size_t length = 0;
  memcpy(c.shuffler[2].key, analyzer.public_key, FARO_KEY_BYTES);
  assert_int_equal(faro_campaign_write(&c, &analyzer, &text, &length, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "key of shuffler 2 is the analyzer's own"));
  memcpy(c.shuffler[2].key, shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_campaign_write(&c, &analyzer, &text, &length, error));
  assert_ok(faro_campaign_open(&back, text, length, analyzer.public_key, error));
  free(text);
}

/* A client would draw bits for a long time. */
static void test_campaign__reports_must_be_possible_to_make(void **state) {
  (void)state;
  static const struct {
    const char *release;
    uint64_t batch;
    bool good;
  } cases[] = {{"shuffle-bits", 5000, true},
               {"shuffle-bits", 4, false},
               {"local-bits", 50, false},
               {"local-gaussian", 50, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    faro_campaign c = campaign_of(cases[i].release, 20, strcmp(cases[i].release, "shuffle-bits") == 0);
    faro_error e = {0};
    char *text = NULL;
    size_t length = 0;
    c.params.batch = cases[i].batch;
    c.params.epsilon = 0.1;
    c.params.honest = 1;
    const faro_status status = faro_campaign_write(&c, &analyzer, &text, &length, &e);
    assert_int_equal(status, cases[i].good ? FARO_OK : FARO_INVALID);
    if (!cases[i].good) assert_non_null(strstr(e.message, "bits for an entry"));
    free(text);
  }
}

static void test_url__plain_http_must_stay_on_this_machine(void **state) {
  (void)state;
  static const char *const good[] = {"https://example.org", "http://127.0.0.1:80", "http://localhost",
                                     "http://[::1]:8400/faro", "http://127.0.0.1/x"};
  static const char *const bad[] = {"http://example.org",
                                    "http://127.0.0.1.example.org",
                                    "http://127.0.0.1:80@example",
                                    "http://localhost:x",
                                    "http://localhost@example",
                                    "ftp://127.0.0.1",
                                    "127.0.0.1:80",
                                    "http://"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(faro_url_local(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(faro_url_local(bad[i]));
}

static const unsigned char digest[FARO_DIGEST_BYTES] = {1, 2, 3};

static void test_policy__comes_back_bit_by_bit(void **state) {
  (void)state;
  double theta[3] = {1.0 / 3, -0.0, 5e-324};
  double w[6] = {1e300, -1e-300, 0.1, 2, 3, 123456789.123456789};
  const faro_policy policy = {.rule = FARO_RULE_OPTIMIST,
                              .version = 7,
                              .dimension = 3,
                              .beta = 0.1 + 0.2,
                              .explore = 1.0 / 7,
                              .theta = theta,
                              .w = w};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write(&policy, digest, &analyzer, &text, &length, error));
  faro_policy_document back = {0};
  assert_ok(faro_policy_document_open(&back, text, length, analyzer.public_key, error));
  assert_memory_equal(back.campaign, digest, FARO_DIGEST_BYTES);
  assert_int_equal(back.policy.version, 7);
  assert_int_equal(back.policy.rule, FARO_RULE_OPTIMIST);
  assert_true(back.policy.explore == policy.explore);
  assert_memory_equal(&back.policy.beta, &policy.beta, sizeof policy.beta);
  assert_memory_equal(back.policy.theta, theta, sizeof theta);
  assert_memory_equal(back.policy.w, w, sizeof w);
  faro_policy_document_clear(&back);
  for (size_t i = 0; i < length; i++) {
    text[i] ^= 4;
    assert_int_equal(faro_policy_document_open(&back, text, length, analyzer.public_key, NULL), FARO_INVALID);
    text[i] ^= 4;
  }
  free(text);
  theta[1] = NAN;
  assert_int_equal(faro_policy_document_write(&policy, digest, &analyzer, &text, &length, NULL),
                   FARO_INVALID);
}

static void test_policy__of_the_largest_dimension_fits(void **state) {
  (void)state;
  enum { D = FARO_WIRE_DIMENSION_MAX, ALL = D * (D + 3) / 2 };
  static double value[ALL];
  for (size_t i = 0; i < ALL; i++) value[i] = -1.0000000000000002e-100; /* the longest possible text */
  const faro_policy policy = {.version = 1, .dimension = D, .beta = 1, .theta = value, .w = value + D};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write(&policy, digest, &analyzer, &text, &length, error));
  faro_policy_document back = {0};
  assert_ok(faro_policy_document_open(&back, text, length, analyzer.public_key, error));
  assert_memory_equal(back.policy.theta, value, sizeof value);
  faro_policy_document_clear(&back);
  free(text);
}

static void randomized(const faro_campaign *c, uint64_t *numbers) {
  faro_release *release = NULL;
  faro_secure_rng *secure = NULL;
  double x[16] = {0.5, -0.5};
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_release_create(&release, c->release, &c->contribution, &c->params,
                                faro_source_client(secure), error));
  assert_ok(faro_release_randomize(release, x, 0.25, numbers, error));
  faro_secure_close(secure);
  faro_release_destroy(release);
}

static void check_round_trip(const faro_campaign *c, const uint64_t *numbers, size_t part) {
  const size_t entries = faro_wire_report_entries(c);
  const size_t size = faro_wire_report_size(c);
  unsigned char *bytes = malloc(size);
  faro_wire_report report = {
      .version = 3, .sequence = UINT64_C(0x0102030405060708), .shuffler = (uint32_t)part};
  memset(report.token, 0xA5, sizeof report.token);
  assert_ok(faro_wire_report_write(c, &report, numbers, bytes, error));
  faro_wire_report back = {0};
  assert_ok(faro_wire_report_read(c, bytes, size, &back, error));
  assert_int_equal(back.version, 3);
  assert_int_equal(back.sequence, report.sequence);
  assert_int_equal(back.shuffler, part);
  assert_memory_equal(back.token, report.token, sizeof report.token);
  if (faro_campaign_form(c) == FARO_WIRE_BITS)
    for (size_t i = 0; i < entries; i++) assert_int_equal(faro_load32(back.body + 4 * i), numbers[i]);
  else {
    int64_t *read = malloc(entries * sizeof *read);
    assert_ok(faro_wire_report_unseal(c, &seal, 2, back.body, read, error));
    assert_memory_equal(read, numbers, entries * sizeof *read);
    for (size_t i = FARO_REPORT_HEAD; i < size; i += 7) { /* no byte of a box may change */
      bytes[i] ^= 1;
      assert_int_equal(faro_wire_report_unseal(c, &seal, 2, back.body, read, NULL), FARO_INVALID);
      bytes[i] ^= 1;
    }
    free(read);
  }
  free(bytes);
}

static void test_report__comes_back_in_every_form(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    const faro_campaign c = opened(i, 3);
    uint64_t numbers[3 * 9] = {0};
    randomized(&c, numbers);
    for (size_t part = 0; part < (c.shufflers ? c.shufflers : 1); part++)
      check_round_trip(&c, numbers + c.entries * part, part);
  }
}

static void test_report__of_one_client_cannot_be_told_from_another_by_its_size(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    const faro_campaign c = opened(i, 3);
    const size_t body = forms[i].form == FARO_WIRE_BITS ? 4 * 9 : 48 + 32 + 8 * c.entries;
    assert_int_equal(faro_wire_report_size(&c), 72 + body);
  }
}

/* A client writes a report for each shuffler that can still fill its batch (three of them differ in
 * that), so this is what it sends, in the mean over all batches. */
static void test_report__sizes_are_the_cost_of_the_release(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    const faro_campaign c = opened(i, 3);
    faro_release *release = NULL;
    double sent = 0;
    for (uint64_t batch = 0; batch < c.batches; batch++)
      for (size_t part = 0; part < faro_campaign_targets(&c); part++)
        if (faro_campaign_active(&c, part, batch)) sent += (double)faro_wire_report_size(&c);
    assert_ok(
        faro_release_create(&release, c.release, &c.contribution, &c.params, faro_source_none(), error));
    assert_close(faro_release_cost(release).bytes / (sent / (double)c.batches), 1, 1e-12);
    faro_release_destroy(release);
  }
}

/* The analyzer gets shuffled boxes: their content depends on the campaign and the message, not on
 * the policy or the client. */
static void test_report__boxes_of_two_policies_cannot_be_told_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    if (forms[i].form == FARO_WIRE_BITS) continue;
    const faro_campaign c = opened(i, 3);
    const size_t size = faro_wire_report_size(&c);
    unsigned char plain[2][32 + 8 * 9] = {{0}};
    unsigned char bytes[512];
    uint64_t numbers[9] = {0};
    randomized(&c, numbers);
    for (uint64_t k = 0; k < 2; k++) {
      faro_wire_report report = {.version = 1 + k, .sequence = 1 + 9 * k};
      report.token[0] = (unsigned char)k;
      assert_ok(faro_wire_report_write(&c, &report, numbers, bytes, error));
      assert_int_equal(crypto_box_seal_open(plain[k], bytes + FARO_REPORT_HEAD, size - FARO_REPORT_HEAD,
                                            seal.public_key, seal.secret),
                       0);
    }
    assert_memory_equal(plain[0], plain[1], sizeof plain[0]);
  }
}

/* A sealed body with any numbers, as a dishonest client would make it. */
static void forge(const faro_campaign *c, const int64_t *numbers, unsigned char *body) {
  unsigned char plain[32 + 8 * 9];
  memcpy(plain, c->digest, 32);
  for (size_t i = 0; i < c->entries; i++) faro_store64(plain + 32 + 8 * i, (uint64_t)numbers[i]);
  assert_int_equal(crypto_box_seal(body, plain, 32 + 8 * c->entries, c->seal), 0);
}

static void check_limits(const faro_campaign *c, size_t part, int64_t value, bool good) {
  unsigned char bytes[512];
  int64_t numbers[9];
  for (size_t i = 0; i < c->entries; i++) numbers[i] = c->encoding[part].most;
  faro_wire_report report = {.version = 1, .sequence = 1, .shuffler = (uint32_t)part};
  assert_ok(faro_wire_report_write(c, &report, (uint64_t *)numbers, bytes, error));
  numbers[c->entries - 1] = value;
  faro_status status = FARO_OK;
  if (faro_campaign_form(c) == FARO_WIRE_BITS) {
    faro_store32(bytes + FARO_REPORT_HEAD + 4 * 8, (uint32_t)value);
    status = faro_wire_report_read(c, bytes, faro_wire_report_size(c), &report, NULL);
  } else {
    forge(c, numbers, bytes + FARO_REPORT_HEAD);
    status = faro_wire_report_unseal(c, &seal, 0, bytes + FARO_REPORT_HEAD, numbers, NULL);
  }
  assert_int_equal(status, good ? FARO_OK : FARO_INVALID);
}

static void test_report__entries_end_where_the_release_ends(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    const faro_campaign c = opened(i, 3);
    for (size_t part = 0; part < (c.shufflers ? c.shufflers : 1); part++) {
      check_limits(&c, part, c.encoding[part].most, true);
      check_limits(&c, part, c.encoding[part].most + 1, false);
      check_limits(&c, part, c.encoding[part].least, true);
      check_limits(&c, part, c.encoding[part].least - 1, false);
      if (faro_campaign_form(&c) != FARO_WIRE_BITS) check_limits(&c, part, INT64_MIN, false);
    }
  }
}

/* What the wire accepts, the release accepts: nobody can make a batch that is refused as a
 * whole. */
static void test_report__what_is_within_limits_is_valid(void **state) {
  (void)state;
  for (size_t i = 0; i < FORMS; i++) {
    faro_campaign c = opened(i, 3);
    if (c.shufflers > 0 && faro_campaign_form(&c) == FARO_WIRE_BITS)
      continue; /* totals: tested with batches */
    for (int side = 0; side < 2; side++) {
      faro_release *release = NULL;
      faro_secure_rng *secure = NULL;
      assert_ok(faro_secure_open(&secure, error));
      assert_ok(faro_release_create(&release, c.release, &c.contribution, &c.params,
                                    faro_source_server(secure), error));
      int64_t *batch = malloc(c.params.batch * c.entries * sizeof *batch);
      for (size_t k = 0; k < c.params.batch * c.entries; k++)
        batch[k] = side ? c.encoding[0].most : c.encoding[0].least;
      assert_ok(faro_release_analyze(release, batch, c.params.batch, error));
      free(batch);
      faro_secure_close(secure);
      faro_release_destroy(release);
    }
  }
}

static void test_batch__comes_back_and_only_whole(void **state) {
  (void)state;
  const faro_campaign c = opened(1, 3);
  unsigned char body[8 * 9];
  const uint64_t least = c.encoding[1].size * (uint64_t)c.encoding[1].least;
  for (size_t i = 0; i < 9; i++) faro_store64(body + 8 * i, least + 1000 + i);
  faro_batch batch = {.shuffler = 1, .number = 2, .count = c.encoding[1].size, .body = body};
  const size_t size = faro_batch_size(&c, batch.count);
  assert_int_equal(size, 40 + sizeof body + 64);
  unsigned char bytes[40 + sizeof body + 64];
  faro_batch_write(&c, &batch, &shuffler, bytes);
  faro_batch back = {0};
  assert_ok(faro_batch_read(&c, bytes, size, &back, error));
  assert_memory_equal(back.body, body, sizeof body);
  assert_int_equal(back.number, 2);
  for (size_t i = 0; i < size; i++) {
    bytes[i] ^= 1;
    assert_int_equal(faro_batch_read(&c, bytes, size, &back, NULL), FARO_INVALID);
    bytes[i] ^= 1;
    assert_int_equal(faro_batch_read(&c, bytes, i, &back, NULL), FARO_INVALID);
  }
  batch.count--; /* B - 1 */
  faro_batch_write(&c, &batch, &shuffler, bytes);
  faro_error e = {0};
  assert_int_equal(faro_batch_read(&c, bytes, size, &back, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "reports (got"));
  batch.count++;
  faro_store64(body, batch.count * (uint64_t)c.encoding[1].most);
  faro_batch_write(&c, &batch, &shuffler, bytes);
  assert_ok(faro_batch_read(&c, bytes, size, &back, error));
  faro_store64(body, batch.count * (uint64_t)c.encoding[1].most + 1);
  faro_batch_write(&c, &batch, &shuffler, bytes);
  e = (faro_error){0};
  assert_int_equal(faro_batch_read(&c, bytes, size, &back, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "total 0"));
  faro_store64(body, least);
  faro_batch_write(&c, &batch, &shuffler, bytes);
  assert_ok(faro_batch_read(&c, bytes, size, &back, error));
  faro_store64(body, least - 1);
  faro_batch_write(&c, &batch, &shuffler, bytes);
  assert_int_equal(faro_batch_read(&c, bytes, size, &back, NULL), FARO_INVALID);
}

static void test_notice__is_of_one_head_and_one_key(void **state) {
  (void)state;
  const faro_campaign c = opened(1, 3);
  const faro_batch batch = {.shuffler = 1, .number = 2, .count = c.encoding[1].size};
  char text[FARO_NOTICE_DIGITS + 1], bad[FARO_NOTICE_DIGITS + 1];
  faro_notice_write(&c, &batch, &shuffler, text);
  assert_int_equal(strlen(text), 208);
  faro_batch back = {0};
  assert_ok(faro_notice_read(&c, text, strlen(text), &back, error));
  assert_true(back.shuffler == 1 && back.number == 2 && back.count == batch.count && !back.body);
  for (size_t i = 0; i < FARO_NOTICE_DIGITS; i++) {
    const char other[] = {text[i] == '0' ? '1' : '0', 'g', 'A'};
    for (size_t k = 0; k < sizeof other; k++) {
      memcpy(bad, text, sizeof bad);
      bad[i] = other[k];
      assert_int_equal(faro_notice_read(&c, bad, FARO_NOTICE_DIGITS, &back, NULL), FARO_INVALID);
    }
    assert_int_equal(faro_notice_read(&c, text, i, &back, NULL), FARO_INVALID);
  }
  faro_error e = {0};
  faro_notice_write(&c, &batch, &analyzer, bad);
  assert_int_equal(faro_notice_read(&c, bad, FARO_NOTICE_DIGITS, &back, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "is not that of shuffler 1"));
}

/* A batch's signature is over bytes that begin with FRB2: a notice cannot have the signature of a
 * batch's head. */
static void test_notice__cannot_be_made_from_what_is_signed_as_a_batch(void **state) {
  (void)state;
  const faro_campaign c = opened(1, 3);
  const faro_batch batch = {.count = c.encoding[0].size};
  unsigned char bytes[FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES];
  char text[FARO_NOTICE_DIGITS + 1];
  faro_batch back = {0};
  faro_notice_write(&c, &batch, &shuffler, text);
  assert_true(faro_hex_read(text, FARO_NOTICE_DIGITS, bytes, sizeof bytes));
  assert_memory_equal(bytes, "FRB2", 4);
  crypto_sign_detached(bytes + FARO_BATCH_HEAD, NULL, bytes, FARO_BATCH_HEAD, shuffler.secret);
  faro_hex_write(bytes, sizeof bytes, text);
  assert_int_equal(faro_notice_read(&c, text, FARO_NOTICE_DIGITS, &back, NULL), FARO_INVALID);
  memcpy(bytes, "FRH2", 4);
  crypto_sign_detached(bytes + FARO_BATCH_HEAD, NULL, bytes, FARO_BATCH_HEAD, shuffler.secret);
  memcpy(bytes, "FRB2", 4);
  faro_hex_write(bytes, sizeof bytes, text); /* as docs/protocol.md says, without the library's own writer */
  assert_ok(faro_notice_read(&c, text, FARO_NOTICE_DIGITS, &back, error));
}

/* Files. */

static char folder[] = "/tmp/faro-wire-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[4][128];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static void test_keys__one_kind_is_not_taken_for_another(void **state) {
  (void)state;
  faro_sign_key key, back;
  faro_seal_key box;
  faro_error e[3] = {{0}};
  assert_ok(faro_sign_key_make(&key, error));
  assert_ok(
      faro_key_save(in_folder("other.public"), FARO_SIGN_PUBLIC, key.public_key, FARO_KEY_BYTES, error));
  assert_ok(faro_key_save(in_folder("other.secret"), FARO_SIGN_SECRET, key.secret, FARO_SECRET_BYTES, error));
  assert_int_equal(faro_sign_key_load(in_folder("other.public"), &back, &e[0]), FARO_INVALID);
  assert_non_null(
      strstr(e[0].message, "other.public holds a public signing key, and a secret signing one is needed"));
  assert_int_equal(faro_seal_key_load(in_folder("other.secret"), &box, &e[1]), FARO_INVALID);
  assert_non_null(strstr(e[1].message, "holds a secret signing key, and a secret sealing one is needed"));
  assert_int_equal(
      faro_key_load(in_folder("other.secret"), FARO_SIGN_PUBLIC, back.public_key, FARO_KEY_BYTES, &e[2]),
      FARO_INVALID);
  assert_non_null(strstr(e[2].message, "a public signing one is needed (.public)"));
  (void)unlink(in_folder("other.public"));
  (void)unlink(in_folder("other.secret"));
}

static void test_keys__secrets_are_for_their_owner(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  faro_sign_key key, back;
  assert_ok(faro_sign_key_make(&key, error));
  assert_ok(faro_key_save(in_folder("k"), FARO_SIGN_SECRET, key.secret, sizeof key.secret, error));
  struct stat info;
  assert_int_equal(stat(in_folder("k"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
  assert_ok(faro_sign_key_load(in_folder("k"), &back, error));
  assert_memory_equal(&key, &back, sizeof key);
  faro_error e = {0};
  assert_int_equal(faro_key_save(in_folder("k"), FARO_SIGN_SECRET, key.secret, sizeof key.secret, &e),
                   FARO_INVALID);
  assert_non_null(strstr(e.message, "not overwritten"));
  assert_int_equal(chmod(in_folder("k"), 0640), 0);
  e = (faro_error){0};
  assert_int_equal(faro_sign_key_load(in_folder("k"), &back, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "chmod 600"));
  faro_seal_key box, again;
  assert_ok(faro_seal_key_make(&box, error));
  assert_ok(faro_key_save(in_folder("b"), FARO_SEAL_SECRET, box.secret, sizeof box.secret, error));
  assert_ok(faro_seal_key_load(in_folder("b"), &again, error));
  assert_memory_equal(&box, &again, sizeof box);
  assert_int_equal(faro_seal_key_load("/dev/zero", &again, NULL), FARO_INVALID);
  (void)unlink(in_folder("k"));
  (void)unlink(in_folder("b"));
}

static void test_tokens__hashes_are_theirs_and_sorted(void **state) {
  (void)state;
  enum { N = 100 };
  assert_ok(faro_tokens_make(in_folder("t"), in_folder("h"), N, error));
  unsigned char *tokens = NULL;
  unsigned char *hashes = NULL;
  size_t count = 0;
  assert_ok(faro_tokens_load(in_folder("t"), &tokens, &count, error));
  assert_int_equal(count, N);
  assert_ok(faro_hashes_load(in_folder("h"), &hashes, &count, error));
  assert_int_equal(count, N);
  for (size_t i = 0; i < N; i++) {
    unsigned char hash[FARO_HASH_BYTES];
    faro_token_hash(tokens + i * FARO_TOKEN_BYTES, hash);
    size_t k = 0;
    while (k < N && memcmp(hashes + k * FARO_HASH_BYTES, hash, sizeof hash) != 0) k++;
    assert_true(k < N);
  }
  free(tokens);
  free(hashes);
  (void)unlink(in_folder("t"));
  (void)unlink(in_folder("h"));
  assert_int_equal(rmdir(folder), 0);
}

static void test_hashes__any_order_is_taken_and_each_counts_once(void **state) {
  (void)state;
  static const char lines[] = "cccccccccccccccccccccccccccccccc\n00000000000000000000000000000001\n"
                              "cccccccccccccccccccccccccccccccc\nffffffffffffffffffffffffffffffff\n"
                              "00000000000000000000000000000001\n80000000000000000000000000000000\n";
  static const unsigned char first[] = {0x00, 0x80, 0xcc, 0xff};
  FILE *file = fopen(in_folder("u"), "w");
  assert_non_null(file);
  assert_true(fputs(lines, file) >= 0);
  assert_int_equal(fclose(file), 0);
  unsigned char *hashes = NULL;
  size_t count = 0;
  assert_ok(faro_hashes_load(in_folder("u"), &hashes, &count, error));
  assert_int_equal(count, 4);
  free(hashes);
  assert_int_equal(truncate(in_folder("u"), sizeof lines - 2), 0); /* the last newline is not needed */
  assert_ok(faro_hashes_load(in_folder("u"), &hashes, &count, error));
  assert_int_equal(count, 4);
  for (size_t i = 0; i < count; i++) assert_int_equal(hashes[i * FARO_HASH_BYTES], first[i]);
  assert_int_equal(hashes[FARO_HASH_BYTES - 1], 1);
  free(hashes);
  (void)unlink(in_folder("u"));
}

/* Placeholders are not keys. */
static void test_keys__public_keys_are_points_of_the_curve(void **state) {
  (void)state;
  static const struct {
    const char *digits;
    bool good;
  } cases[] = {
      {"5866666666666666666666666666666666666666666666666666666666666666", true}, /* the base point */
      {"5866666666666666666666666666666666666666666666666666666666666G66", false},
      {"0000000000000000000000000000000000000000000000000000000000000000", false},
      {"0100000000000000000000000000000000000000000000000000000000000000", false}, /* of order 1 */
      {"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", false}, /* 2 */
      {"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", false}, /* 8 */
      {"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", false},
      {"58666666", false},
      {"", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char key[FARO_KEY_BYTES] = {7};
    assert_int_equal(faro_public_key_read(cases[i].digits, key), cases[i].good);
    assert_int_equal(key[0], cases[i].good ? 0x58 : 7);
  }
}

static void test_json__numbers_have_a_point_in_any_locale(void **state) {
  (void)state;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) skip();
  faro_text text = FARO_TEXT_INIT;
  faro_document_add(&text, "", 0.1 + 0.2);
  setlocale(LC_NUMERIC, "C");
  assert_string_equal(text.data, "0.30000000000000004");
  setlocale(LC_NUMERIC, "de_DE.UTF-8");
  faro_tree tree = {0};
  assert_ok(faro_json_parse(&tree, "3.0000000000000004e-1", 21, 100, error));
  setlocale(LC_NUMERIC, "C");
  assert_true(tree.node[0].number == 0.1 + 0.2);
  faro_tree_clear(&tree);
  faro_text_clear(&text);
}

static void test_wire__out_of_memory_is_said_and_nothing_leaks(void **state) {
  (void)state;
  char *text = NULL;
  size_t length = 0;
  faro_campaign c = written(0, 2, &text, &length);
  for (size_t n = 1;; n++) {
    char *other = NULL;
    size_t size = 0;
    faro_campaign back = {0};
    alloc_fail_at(n);
    const faro_status open = faro_campaign_open(&back, text, length, analyzer.public_key, NULL);
    alloc_fail_at(n);
    const faro_status write = faro_campaign_write(&c, &analyzer, &other, &size, NULL);
    alloc_fail_at(0);
    free(other);
    if (open == FARO_OK && write == FARO_OK) break;
    assert_true(open == FARO_OK || open == FARO_MEMORY);
    assert_true(write == FARO_OK || write == FARO_MEMORY);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_campaign__comes_back_as_it_was_written),
      cmocka_unit_test(test_campaign__is_refused_when_any_byte_changes),
      cmocka_unit_test(test_campaign__an_analyzer_is_not_its_own_shuffler),
      cmocka_unit_test(test_campaign__shufflers_are_active_when_the_release_says_so),
      cmocka_unit_test(test_campaign__weaker_claims_are_not_stated),
      cmocka_unit_test(test_campaign__batches_must_fit),
      cmocka_unit_test(test_campaign__states_what_the_release_chose),
      cmocka_unit_test(test_campaign__sizes_of_batches_are_few),
      cmocka_unit_test(test_campaign__an_encoder_for_each_target),
      cmocka_unit_test(test_campaign__placeholders_are_no_keys),
      cmocka_unit_test(test_campaign__reports_must_be_possible_to_make),
      cmocka_unit_test(test_url__plain_http_must_stay_on_this_machine),
      cmocka_unit_test(test_policy__comes_back_bit_by_bit),
      cmocka_unit_test(test_policy__of_the_largest_dimension_fits),
      cmocka_unit_test(test_report__comes_back_in_every_form),
      cmocka_unit_test(test_report__of_one_client_cannot_be_told_from_another_by_its_size),
      cmocka_unit_test(test_report__sizes_are_the_cost_of_the_release),
      cmocka_unit_test(test_report__boxes_of_two_policies_cannot_be_told_apart),
      cmocka_unit_test(test_report__entries_end_where_the_release_ends),
      cmocka_unit_test(test_report__what_is_within_limits_is_valid),
      cmocka_unit_test(test_batch__comes_back_and_only_whole),
      cmocka_unit_test(test_notice__is_of_one_head_and_one_key),
      cmocka_unit_test(test_notice__cannot_be_made_from_what_is_signed_as_a_batch),
      cmocka_unit_test(test_keys__secrets_are_for_their_owner),
      cmocka_unit_test(test_keys__one_kind_is_not_taken_for_another),
      cmocka_unit_test(test_hashes__any_order_is_taken_and_each_counts_once),
      cmocka_unit_test(test_tokens__hashes_are_theirs_and_sorted),
      cmocka_unit_test(test_keys__public_keys_are_points_of_the_curve),
      cmocka_unit_test(test_json__numbers_have_a_point_in_any_locale),
      cmocka_unit_test(test_wire__out_of_memory_is_said_and_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, make_keys, NULL);
}
