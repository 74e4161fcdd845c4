/* client: what it refuses (weak campaigns, old policies, numbers that are not finite); it chooses
 * as the learner's own selector does; its reports are what the release's user would have sent. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <faro/client.h>

#include "support/support.h"
#include "choice/choice.h"
#include "wire/portion.h"

static faro_sign_key analyzer, shuffler;
static faro_seal_key seal;
static const unsigned char token[FARO_TOKEN_BYTES] = "a token of thirty-two bytes, yes";

static int make_keys(void **state) {
  (void)state;
  assert_ok(faro_sign_key_make(&analyzer, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_seal_key_make(&seal, error));
  return 0;
}

typedef struct document {
  char *text;
  size_t length;
} document;

/* Of the next campaigns. */
static uint64_t horizon = 2000, first_batch = 100;
static double growth = 1;
static size_t befores;
static faro_campaign_before earlier[3];

static faro_campaign campaign_of(const char *kind, size_t dimension, size_t shufflers, document *out) {
  faro_campaign c = {.id = "test",
                     .release = faro_release_kind_find(kind),
                     .arms = 40,
                     .centre = 0.25,
                     .learner = "linucb",
                     .failure = 0.1};
  assert_non_null(c.release);
  assert_ok(faro_contribution_init(&c.contribution, dimension, 1, -1, 1, error));
  c.params = (faro_release_params){.epsilon = 2,
                                   .delta = 1e-6,
                                   .horizon = horizon,
                                   .batch = first_batch,
                                   .growth = growth,
                                   .shufflers = shufflers > 1 ? shufflers : 0,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = 3,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(c.seal, seal.public_key, sizeof c.seal);
  snprintf(c.analyzer, sizeof c.analyzer, "http://127.0.0.1:8000");
  c.shufflers = shufflers;
  for (size_t i = 0; i < shufflers; i++) {
    snprintf(c.shuffler[i].url, sizeof c.shuffler[i].url, "http://127.0.0.1:%zu", 8001 + i);
    memcpy(c.shuffler[i].key, shuffler.public_key, FARO_KEY_BYTES);
  }
  c.befores = befores;
  memcpy(c.before, earlier, sizeof earlier);
  assert_ok(faro_campaign_write(&c, &analyzer, &out->text, &out->length, error));
  return c;
}

static document policy_of(const faro_campaign *c, uint64_t version, double *theta, double *w, double beta) {
  const faro_policy policy = {
      .version = version, .dimension = c->contribution.dimension, .beta = beta, .theta = theta, .w = w};
  document out = {0};
  assert_ok(faro_policy_document_write(&policy, c->digest, &analyzer, &out.text, &out.length, error));
  return out;
}

static faro_client_params params_of(void) {
  return (faro_client_params){.signer = analyzer.public_key,
                              .token = token,
                              .epsilon = 2,
                              .delta = 1e-6,
                              .trust = "joint",
                              .honest = 1,
                              .user_level = true};
}

static faro_client *joined(const document *campaign) {
  const faro_client_params params = params_of();
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, &params, error));
  assert_ok(faro_client_campaign(client, campaign->text, campaign->length, error));
  return client;
}

static void give_policy(faro_client *client, const faro_campaign *c, uint64_t version) {
  double zero[FARO_WIRE_DIMENSION_MAX * 3] = {0};
  const document policy = policy_of(c, version, zero, zero + 16, 1);
  assert_ok(faro_client_policy(client, policy.text, policy.length, error));
  free(policy.text);
}

static faro_status refused_with; /* the status of the last refusal */

/* The refusal of a campaign under some params; "" if it is accepted. */
static const char *refusal(const document *campaign, const faro_client_params *params) {
  static faro_error e;
  e = (faro_error){0};
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, params, error));
  const faro_status status = faro_client_campaign(client, campaign->text, campaign->length, &e);
  refused_with = status;
  assert_int_equal(faro_client_dimension(client), status == FARO_OK ? 2 : 0);
  faro_client_close(client);
  return e.message;
}

static void test_client__refuses_what_is_below_its_floor(void **state) {
  (void)state;
  document campaign = {0};
  (void)campaign_of("concurrent-bits", 2, 2, &campaign);
  faro_client_params params = params_of();
  assert_string_equal(refusal(&campaign, &params), "");
  params.epsilon = 1.5;
  assert_string_equal(refusal(&campaign, &params),
                      "epsilon of the campaign is 2, and this client accepts at most 1.5");
  assert_int_equal(refused_with, FARO_WEAK);
  params = params_of();
  params.delta = 1e-7;
  assert_string_equal(refusal(&campaign, &params),
                      "delta of the campaign is 1e-06, and this client accepts at most 1e-07");
  params = params_of();
  params.trust = "concurrent";
  assert_string_equal(refusal(&campaign, &params), "");
  params.trust = "shuffle";
  assert_string_equal(refusal(&campaign, &params),
                      "trust of the campaign is concurrent, and this client accepts at least shuffle");
  params = params_of();
  params.signer = shuffler.public_key;
  assert_non_null(strstr(refusal(&campaign, &params), "signature"));
  assert_int_equal(refused_with, FARO_INVALID);
  free(campaign.text);
}

/* Writes a campaign again after a change. */
static void rewrite(faro_campaign *c, document *out) {
  free(out->text);
  assert_ok(faro_campaign_write(c, &analyzer, &out->text, &out->length, error));
}

static void test_client__counts_on_no_more_honest_others_than_it_believes_in(void **state) {
  (void)state;
  document campaign = {0};
  faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  faro_client_params params = params_of();
  assert_string_equal(refusal(&campaign, &params), "");
  params.honest = 0; /* nothing was said */
  assert_string_equal(
      refusal(&campaign, &params),
      "honest of the campaign is 1, and this client accepts at most 0.95 unless it is told to "
      "(honest)");
  params.campaign = c.digest; /* it took part before there was this default */
  assert_string_equal(refusal(&campaign, &params), "");
  params.campaign = NULL;
  params.honest = 0.8;
  assert_string_equal(refusal(&campaign, &params),
                      "honest of the campaign is 1, and this client accepts at most 0.8");
  assert_int_equal(refused_with, FARO_WEAK);
  c.params.honest = 0.95;
  rewrite(&c, &campaign);
  params.honest = 0;
  assert_string_equal(refusal(&campaign, &params), "");
  params.honest = 0.8;
  c.params.honest = 0.8;
  rewrite(&c, &campaign);
  assert_string_equal(refusal(&campaign, &params), "");
  params.honest = 0.79;
  assert_string_equal(refusal(&campaign, &params),
                      "honest of the campaign is 0.8, and this client accepts at most 0.79");
  free(campaign.text);
  (void)campaign_of("local-bits", 2, 0, &campaign); /* the noise is its own: the others do not matter */
  assert_string_equal(refusal(&campaign, &params), "");
  free(campaign.text);
}

/* An analyzer could be its own shuffler. A client that pins shufflers takes no others; and nobody
 * takes the analyzer's own key for a shuffler's. */
static void test_client__sends_to_pinned_shufflers_only(void **state) {
  (void)state;
  unsigned char pinned[2 * FARO_KEY_BYTES];
  document campaign = {0};
  faro_sign_key other;
  assert_ok(faro_sign_key_make(&other, error));
  faro_campaign c = campaign_of("concurrent-bits", 2, 2, &campaign);
  memcpy(c.shuffler[1].key, other.public_key, FARO_KEY_BYTES);
  rewrite(&c, &campaign);
  faro_client_params params = params_of();
  assert_string_equal(refusal(&campaign, &params), "");
  memcpy(pinned, other.public_key, FARO_KEY_BYTES);
  memcpy(pinned + FARO_KEY_BYTES, shuffler.public_key, FARO_KEY_BYTES);
  const char *urls[2] = {"http://127.0.0.1:8002", "http://127.0.0.1:8001"};
  params.shufflers = pinned;
  params.shuffler_urls = urls;
  params.shuffler_count = 2; /* in any order */
  assert_string_equal(refusal(&campaign, &params), "");
  urls[0] = "http://127.0.0.1:8003"; /* the right key at another address: that is where reports would go */
  assert_non_null(strstr(refusal(&campaign, &params), "shuffler 1 of the campaign has the key "));
  assert_non_null(
      strstr(refusal(&campaign, &params), " at http://127.0.0.1:8002, which is not one of the 2 pairs"));
  assert_int_equal(refused_with, FARO_WEAK);
  urls[0] = "http://127.0.0.1:8001", urls[1] = "http://127.0.0.1:8002"; /* keys at each other's addresses */
  (void)refusal(&campaign, &params);
  assert_int_equal(refused_with, FARO_WEAK);
  params.shuffler_count = 1;
  assert_non_null(strstr(refusal(&campaign, &params), "shuffler 0 of the campaign has the key "));
  assert_non_null(strstr(refusal(&campaign, &params),
                         "not one of the 1 pairs of key and url that this client has pinned"));
  assert_int_equal(refused_with, FARO_WEAK);
  free(campaign.text);
  (void)campaign_of("local-bits", 2, 0, &campaign); /* it has none */
  assert_string_equal(refusal(&campaign, &params), "");
  free(campaign.text);
  faro_client *client = NULL;
  params.shufflers = NULL;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params.shufflers = pinned;
  params.shuffler_urls = NULL; /* keys alone */
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params.shuffler_urls = urls;
  urls[0] = NULL;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params.shuffler_count = FARO_SHUFFLERS_MAX + 1;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
}

static void test_client__tells_what_it_is_promised(void **state) {
  (void)state;
  document campaign = {0};
  faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  c.params.honest = 0.8;
  c.wait = 7;
  rewrite(&c, &campaign);
  const faro_client_params params = params_of();
  faro_client *client = NULL;
  faro_client_terms terms = {.honest = 5};
  assert_ok(faro_client_open(&client, &params, error));
  assert_false(faro_client_terms_of(client, &terms));
  assert_true(terms.honest == 5);
  assert_false(faro_client_over(client));
  assert_null(faro_client_shuffler_key(client, 0));
  assert_null(faro_client_shuffler_url(client, 0));
  assert_ok(faro_client_campaign(client, campaign.text, campaign.length, error));
  assert_true(faro_client_terms_of(client, &terms));
  assert_string_equal(terms.campaign, "test");
  assert_string_equal(terms.release, "shuffle-bits");
  assert_string_equal(terms.analyzer, "http://127.0.0.1:8000");
  assert_string_equal(terms.trust, "shuffle");
  assert_true(terms.epsilon == c.claim.epsilon && terms.epsilon <= 2 && terms.delta <= 1e-6);
  assert_true(terms.alone_epsilon == c.claim.local_epsilon && terms.alone_delta == c.claim.local_delta);
  assert_true(terms.user_level && terms.contributions == 3 && terms.honest == 0.8);
  assert_true(terms.batch == 100 && terms.largest == 100 && terms.batches == 20 && terms.wait == 7);
  assert_true(terms.arms == 40 && terms.norm == 1 && terms.low == -0.75 && terms.high == 1.25);
  assert_int_equal(terms.shufflers, 1);
  assert_memory_equal(faro_client_shuffler_key(client, 0), shuffler.public_key, FARO_KEY_BYTES);
  assert_string_equal(faro_client_shuffler_url(client, 0), "http://127.0.0.1:8001");
  assert_memory_equal(faro_client_pin_key(client, 0), shuffler.public_key, FARO_KEY_BYTES);
  assert_string_equal(faro_client_pin_url(client, 0), "http://127.0.0.1:8001");
  assert_null(faro_client_pin_key(client, 1));
  assert_null(faro_client_pin_url(client, 1));
  assert_null(faro_client_shuffler_key(client, 1));
  assert_null(faro_client_shuffler_url(client, 1));
  faro_client_close(client);
  free(campaign.text);
}

static void test_client__sends_nobody_a_token_in_the_clear(void **state) {
  (void)state;
  document campaign = {0};
  faro_campaign c = campaign_of("concurrent-bits", 2, 2, &campaign);
  faro_client_params params = params_of();
  snprintf(c.shuffler[1].url, sizeof c.shuffler[1].url, "http://shuffler.example.org");
  rewrite(&c, &campaign);
  assert_string_equal(refusal(&campaign, &params),
                      "url of a shuffler is http://shuffler.example.org, and this client requires https:// "
                      "beyond its own machine (unless insecure is set)");
  assert_int_equal(refused_with, FARO_WEAK);
  params.insecure = true;
  assert_string_equal(refusal(&campaign, &params), "");
  params.insecure = false;
  snprintf(c.shuffler[1].url, sizeof c.shuffler[1].url, "https://shuffler.example.org");
  rewrite(&c, &campaign);
  assert_string_equal(refusal(&campaign, &params), "");
  snprintf(c.analyzer, sizeof c.analyzer, "http://127.0.0.1.example.org:80");
  rewrite(&c, &campaign);
  assert_non_null(
      strstr(refusal(&campaign, &params), "url of the campaign's analyzer is http://127.0.0.1.example"));
  free(campaign.text);
}

/* The signer may publish other campaigns, or the application may start again: one client spends one
 * budget. */
static void test_client__stays_with_the_campaign_it_took_part_in(void **state) {
  (void)state;
  document first = {0};
  document second = {0};
  const faro_campaign c = campaign_of("local-bits", 2, 0, &first);
  faro_campaign other = campaign_of("local-bits", 2, 0, &second);
  snprintf(other.id, sizeof other.id, "second");
  rewrite(&other, &second);
  faro_client_params params = params_of();
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, &params, error));
  assert_null(faro_client_digest(client));
  assert_ok(faro_client_campaign(client, first.text, first.length, error));
  assert_memory_equal(faro_client_digest(client), c.digest, FARO_DIGEST_BYTES);
  unsigned char kept[FARO_DIGEST_BYTES];
  memcpy(kept, faro_client_digest(client), sizeof kept);
  faro_client_close(client);

  params.campaign = kept;
  params.sequence = 3; /* all that it may send */
  params.version = 1;
  assert_ok(faro_client_open(&client, &params, error));
  /* even if the analyzer is not reachable */
  assert_memory_equal(faro_client_digest(client), kept, sizeof kept);
  faro_error e = {0};
  assert_int_equal(faro_client_campaign(client, second.text, second.length, &e), FARO_FOREIGN);
  assert_string_equal(e.message,
                      "campaign second is not the one that this client took part in before; it would spend a "
                      "new privacy budget in addition to the old one (to join it anyway, start without the "
                      "saved campaign, sequence and version)");
  assert_int_equal(faro_client_dimension(client), 0);
  assert_ok(faro_client_campaign(client, first.text, first.length, error));
  give_policy(client, &c, 1);
  unsigned char *bytes = malloc(faro_wire_report_size(&c));
  size_t parts = 0;
  assert_int_equal(faro_client_report(client, (const double[2]){1, 0}, 1, bytes, &parts, NULL), FARO_SPENT);
  faro_client_close(client);
  client = NULL;

  params.campaign = NULL; /* numbers of a campaign that is not stored */
  e = (faro_error){0};
  assert_int_equal(faro_client_open(&client, &params, &e), FARO_INVALID);
  assert_string_equal(e.message,
                      "campaign is required with sequence 3 and version 1: they count in one campaign");
  assert_null(client);
  params.sequence = params.version = 0; /* a decision to start again */
  assert_string_equal(refusal(&second, &params), "");
  free(bytes);
  free(first.text);
  free(second.text);
}

/* A successor of the first campaign that states this as spent before it. */
static document successor_of(const faro_campaign *first, double epsilon, double delta) {
  document out = {0};
  befores = 1;
  memcpy(earlier[0].campaign, first->digest, FARO_DIGEST_BYTES);
  earlier[0].epsilon = epsilon;
  earlier[0].delta = delta;
  (void)campaign_of("shuffle-bits", 2, 1, &out);
  befores = 0;
  return out;
}

/* A client moves to a campaign that counts what it has spent already, within its floor, and to no
 * other one, whatever the analyzer says. */
static void test_client__moves_to_a_successor_that_counts_what_was_spent(void **state) {
  (void)state;
  document first = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 2, 1, &first);
  faro_client *client = joined(&first);
  faro_client_params params = params_of();
  faro_client_spent(client, &params.spent_epsilon, &params.spent_delta);
  assert_true(params.spent_epsilon == c.claim.epsilon && params.spent_delta == c.claim.delta);
  assert_false(faro_client_in_successor(client));
  params.campaign = c.digest;
  params.sequence = 3;
  params.version = 7;
  params.epsilon = 4.0001;
  params.delta = 2.0001e-6;
  document good = successor_of(&c, c.claim.epsilon, c.claim.delta);
  assert_string_equal(refusal(&good, &params), "");
  params.honest = 0; /* nothing was said: a successor is new, and counts on everybody */
  assert_non_null(strstr(refusal(&good, &params), "this client accepts at most 0.95 unless"));
  assert_int_equal(refused_with, FARO_WEAK);
  params.honest = 1;
  params.spent_singly = true; /* what was spent bounds no more than one report of the campaign before */
  assert_string_equal(refusal(&good, &params),
                      "a campaign before test covers single reports only, and this client accepts at least "
                      "level user");
  assert_int_equal(refused_with, FARO_WEAK);
  params.user_level = false;
  assert_string_equal(refusal(&good, &params), "");
  params.spent_singly = false;
  params.user_level = true;
  params.epsilon = 3.9; /* both together are too much, though each is not */
  assert_string_equal(
      refusal(&good, &params),
      "epsilon of the campaign with those before it is 4, and this client accepts at most 3.9");
  assert_int_equal(refused_with, FARO_WEAK);
  params.epsilon = 10;
  document lies = successor_of(&c, c.claim.epsilon / 2, c.claim.delta);
  assert_non_null(strstr(refusal(&lies, &params),
                         "states that (1, 1e-06) was spent before it, but this client "
                         "has spent up to (2, 1e-06)"));
  assert_int_equal(refused_with, FARO_INVALID);
  document smaller = successor_of(&c, c.claim.epsilon, c.claim.delta / 2);
  assert_non_null(strstr(refusal(&smaller, &params), "has spent up to"));
  faro_campaign other = c;
  other.digest[0] ^= 1;
  document foreign = successor_of(&other, 10, 0.1);
  assert_non_null(strstr(refusal(&foreign, &params), "not the one that this client took part in before"));
  assert_int_equal(refused_with, FARO_FOREIGN);
  params.spent_epsilon = params.spent_delta = 0; /* an application that has not kept it */
  (void)refusal(&good, &params);
  assert_int_equal(refused_with, FARO_FOREIGN);
  faro_client_close(client);

  faro_client_spent((client = joined(&first)), &params.spent_epsilon, &params.spent_delta);
  faro_client_close(client);
  assert_ok(faro_client_open(&client, &params, error));
  assert_ok(faro_client_campaign(client, good.text, good.length, error));
  assert_true(faro_client_in_successor(client));
  assert_true(faro_client_sequence(client) == 0 && faro_client_version(client) == 0);
  double epsilon = 0, delta = 0;
  faro_client_spent(client, &epsilon, &delta);
  assert_true(epsilon >= 2 * c.claim.epsilon && epsilon < 2 * c.claim.epsilon * (1 + 1e-15));
  assert_true(delta >= 2 * c.claim.delta && delta < 2 * c.claim.delta * (1 + 1e-15));
  faro_client_terms terms;
  assert_true(faro_client_terms_of(client, &terms));
  assert_true(terms.epsilon == c.claim.epsilon && terms.total_epsilon == epsilon);
  faro_client_close(client);
  free(first.text), free(good.text), free(lies.text), free(smaller.text), free(foreign.text);
}

static void test_client__checks_its_settings(void **state) {
  (void)state;
  faro_client *client = NULL;
  faro_client_params params = params_of();
  params.trust = "none";
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params.trust = NULL;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params = params_of();
  params.epsilon = NAN;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params = params_of();
  params.delta = -1;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params = params_of();
  params.honest = 1.5;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params.honest = NAN;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params = params_of();
  params.version = 1;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  params = params_of();
  params.token = NULL;
  assert_int_equal(faro_client_open(&client, &params, NULL), FARO_INVALID);
  assert_null(client);
}

static void test_client__never_goes_back_to_an_older_policy(void **state) {
  (void)state;
  document campaign = {0};
  document other = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  faro_campaign d = campaign_of("shuffle-bits", 2, 1, &other);
  d.digest[0] ^= 1;
  faro_client_params params = params_of();
  params.version = 4; /* saved over a restart */
  params.campaign = c.digest;
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, &params, error));
  double zero[5] = {0};
  document policy = policy_of(&c, 5, zero, zero + 2, 1);
  assert_int_equal(faro_client_policy(client, policy.text, policy.length, NULL),
                   FARO_INVALID); /* no campaign yet */
  assert_ok(faro_client_campaign(client, campaign.text, campaign.length, error));
  assert_ok(faro_client_campaign(client, campaign.text, campaign.length, error)); /* the same again */
  assert_ok(faro_client_policy(client, policy.text, policy.length, error));
  assert_ok(faro_client_policy(client, policy.text, policy.length, error));
  assert_int_equal(faro_client_version(client), 5);
  free(policy.text);
  policy = policy_of(&c, 4, zero, zero + 2, 1);
  faro_error e = {0};
  assert_int_equal(faro_client_policy(client, policy.text, policy.length, &e), FARO_OLD);
  assert_non_null(strstr(e.message, "the policy has version 4, but version 5 was seen before"));
  free(policy.text);
  policy = policy_of(&d, 6, zero, zero + 2, 1);
  e = (faro_error){0};
  assert_int_equal(faro_client_policy(client, policy.text, policy.length, &e), FARO_FOREIGN);
  assert_string_equal(e.message, "the policy does not belong to campaign test");
  free(policy.text);
  policy = policy_of(&c, c.batches + 2, zero, zero + 2, 1);
  assert_int_equal(faro_client_policy(client, policy.text, policy.length, NULL), FARO_INVALID);
  assert_int_equal(faro_client_version(client), 5);
  free(policy.text);
  faro_client_close(client);
  free(campaign.text);
  free(other.text);
}

/* Against faro_select, whose sums have another order: the score of the chosen arm is the best
 * one. */
static void test_client__chooses_as_the_selector_does(void **state) {
  (void)state;
  enum { D = 7, K = 40, W = D * (D + 1) / 2 };
  document campaign = {0};
  const faro_campaign c = campaign_of("shuffle-bits", D, 1, &campaign);
  faro_client *client = joined(&campaign);
  faro_selector *selector = NULL;
  assert_ok(faro_selector_create(&selector, D, K, error));
  static double columns[D * 48] __attribute__((aligned(64)));
  faro_arms arms = {.dimension = D, .count = K, .stride = faro_arm_stride(K), .x = columns};
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_CONTEXT);
  size_t same = 0;
  for (uint64_t v = 1; v <= 20; v++) {
    double theta[D], w[W], rows[K * D];
    for (size_t i = 0; i < D; i++) theta[i] = faro_sim_normal(&sim);
    for (size_t i = 0; i < W; i++) w[i] = faro_sim_normal(&sim);
    const document policy = policy_of(&c, v, theta, w, 0.5);
    assert_ok(faro_client_policy(client, policy.text, policy.length, error));
    free(policy.text);
    const faro_policy learned = {.dimension = D, .theta = theta, .w = w, .beta = 0.5, .version = v};
    for (int repeat = 0; repeat < 20; repeat++) {
      arms.version++;
      for (size_t a = 0; a < K; a++)
        for (size_t i = 0; i < D; i++) rows[a * D + i] = columns[i * arms.stride + a] = faro_sim_normal(&sim);
      size_t arm = K;
      assert_ok(faro_client_choose(client, rows, K, &arm, error));
      same += arm == faro_select(selector, &learned, &arms, NULL);
    }
  }
  assert_int_equal(same, 400);
  double bad[2 * D] = {0};
  bad[D + 1] = INFINITY;
  size_t arm = 0;
  assert_int_equal(faro_client_choose(client, bad, 2, &arm, NULL), FARO_INVALID);
  assert_int_equal(faro_client_choose(client, bad, K + 1, &arm, NULL), FARO_INVALID);
  assert_int_equal(faro_client_choose(client, bad, 0, &arm, NULL), FARO_INVALID);
  assert_ok(faro_client_choose(client, bad, 1, &arm, error));
  faro_selector_destroy(selector);
  faro_client_close(client);
  free(campaign.text);
}

/* What a device does, against the simulator's selector with the same random numbers. */
static void test_client__draws_as_the_selector_does(void **state) {
  (void)state;
  enum { D = 4, K = 9, W = D * (D + 1) / 2 };
  faro_selector *selector = NULL;
  faro_sim_rng sim;
  size_t differ = 0;
  assert_ok(faro_selector_create(&selector, D, K, error));
  faro_sim_open(&sim, 2, 0, FARO_ROLE_CONTEXT);
  for (uint64_t v = 1; v <= 300; v++) {
    double numbers[D + W + K * D];
    for (size_t i = 0; i < D + W + K * D; i++) numbers[i] = faro_sim_normal(&sim);
    const double *rows = numbers + D + W;
    const faro_policy policy = {.rule = v % 2 ? FARO_RULE_OPTIMIST : FARO_RULE_SAMPLE,
                                .dimension = D,
                                .theta = numbers,
                                .w = numbers + D,
                                .beta = 0.5,
                                .explore = v % 3 == 0 ? 0.3 : 0,
                                .version = v};
    faro_sim_rng here, there;
    double direction[D];
    size_t arm = K;
    faro_sim_open(&here, v, 0, FARO_ROLE_LUCK);
    faro_sim_open(&there, v, 0, FARO_ROLE_LUCK);
    if (!faro_choice_explore(&policy, K, &here.rng, &arm)) {
      faro_choice_draw(&policy, &here.rng, direction);
      arm = faro_choice_best(&policy, direction, rows, K);
    }
    assert_int_equal(arm, faro_select_rows(selector, &policy, rows, K, &there.rng));
    differ += arm != faro_select_rows(selector, &policy, rows, K, NULL);
  }
  assert_true(differ > 50); /* draws matter */
  faro_selector_destroy(selector);
}

/* A client without knowledge plays both of two opposite arms, by its own generator. */
static void test_client__draws_a_new_direction_for_every_choice(void **state) {
  (void)state;
  document campaign = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  for (int rule = FARO_RULE_SAMPLE; rule <= FARO_RULE_OPTIMIST; rule++) {
    double theta[2] = {0}, w[3] = {1, 0, 1};
    const faro_policy policy = {
        .rule = (faro_rule)rule, .version = 1, .dimension = 2, .beta = 1, .theta = theta, .w = w};
    document text = {0};
    faro_client *client = joined(&campaign);
    assert_ok(faro_policy_document_write(&policy, c.digest, &analyzer, &text.text, &text.length, error));
    assert_ok(faro_client_policy(client, text.text, text.length, error));
    const double arms[4] = {0.6, 0.8, -0.6, -0.8};
    size_t second = 0;
    for (int i = 0; i < 1000; i++) {
      size_t arm = 0;
      assert_ok(faro_client_choose(client, arms, 2, &arm, error));
      second += arm;
    }
    assert_true(second > 350 && second < 650); /* 9 standard deviations */
    faro_client_close(client);
    free(text.text);
  }
  free(campaign.text);
}

/* A whole batch of a campaign through the wire, in every form: what the analyzer publishes is near
 * the truth, as far as the noise allows. */
static void sum_up(const faro_campaign *c, const unsigned char *bytes, size_t parts, size_t size,
                   uint64_t *total, void *batch, size_t user) {
  const size_t entries = faro_wire_report_entries(c);
  for (size_t p = 0; p < parts; p++) {
    faro_wire_report report;
    assert_ok(faro_wire_report_read(c, bytes + p * size, size, &report, error));
    assert_memory_equal(report.token, token, sizeof token);
    if (faro_campaign_form(c) != FARO_WIRE_BITS)
      assert_ok(faro_wire_report_unseal(c, &seal, report.version - 1, report.body,
                                        (int64_t *)batch + user * entries, error));
    else if (report.shuffler == 0)
      for (size_t i = 0; i < entries; i++) total[i] += faro_load32(report.body + 4 * i);
  }
}

/* One batch, of clients that have the policy for it. */
static void report_batch(const document *campaign, const faro_campaign *c, uint64_t k, uint64_t *total,
                         int64_t *batch) {
  const size_t size = faro_wire_report_size(c);
  unsigned char *bytes = malloc(size * (c->shufflers + 1));
  const double x[2] = {0.6, -0.8};
  for (size_t user = 0; user < faro_campaign_size(c, 0, k); user++) {
    faro_client *client = joined(campaign);
    give_policy(client, c, k + 1);
    size_t parts = 0;
    assert_ok(faro_client_report(client, x, 0.75, bytes, &parts, error));
    assert_int_equal(faro_client_sequence(client), 1);
    assert_int_equal(parts, c->shufflers ? c->shufflers : 1);
    assert_int_equal(faro_client_part_size(client), size);
    sum_up(c, bytes, parts, size, total, batch, user);
    faro_client_close(client);
  }
  free(bytes);
}

static void check_learning(const char *kind, size_t shufflers, uint64_t batches) {
  enum { D = 2, ENTRIES = 5 };
  document campaign = {0};
  const faro_campaign c = campaign_of(kind, D, shufflers, &campaign);
  faro_release *release = NULL;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_release_create(&release, c.release, &c.contribution, &c.params, faro_source_server(secure),
                                error));
  const bool counts = faro_campaign_form(&c) == FARO_WIRE_BITS;
  for (uint64_t k = 0; k < batches; k++) {
    uint64_t total[ENTRIES] = {0};
    const size_t users = faro_campaign_size(&c, 0, k);
    int64_t *batch = calloc(users * ENTRIES, sizeof *batch);
    report_batch(&campaign, &c, k, total, batch);
    assert_ok(
        faro_release_analyze(release, counts ? (void *)total : (void *)batch, counts ? 1 : users, error));
    free(batch);
  }
  const faro_statistics statistics = faro_release_statistics(release);
  const double truth[ENTRIES] = {0.36, -0.48, 0.64, 0.3, -0.4};
  assert_int_equal(statistics.users, faro_campaign_reports(&c, batches));
  for (size_t i = 0; i < ENTRIES; i++) /* P(|Z| > 8) = 1e-15 for sub-Gaussian noise */
    assert_close(statistics.sum[i], (double)statistics.users * truth[i], 8 * faro_release_scale(release, i));
  faro_release_destroy(release);
  faro_secure_close(secure);
  free(campaign.text);
}

static void test_client__reports_what_the_release_expects(void **state) {
  (void)state;
  check_learning("shuffle-bits", 1, 1);
  check_learning("concurrent-bits", 2, 1);
  check_learning("local-bits", 0, 1);
  check_learning("central-bits", 0, 1);
  check_learning("shuffle-gaussian", 1, 1);
  check_learning("local-gaussian", 0, 1);
  check_learning("central-tree", 0, 1);
  check_learning("shuffle-response", 1, 1);
  check_learning("local-response", 0, 1);
}

/* Batches of 20, 20 and 40: a client adds the noise of the batch that its policy is for. */
static void test_client__reports_for_the_batch_of_its_policy(void **state) {
  (void)state;
  growth = 2;
  first_batch = 20;
  document campaign = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  assert_true(c.encodings > 2 && c.encoding[1].from == 2 && c.encoding[1].bits < c.encoding[0].bits);
  free(campaign.text);
  check_learning("shuffle-bits", 1, 3);
  check_learning("shuffle-response", 1, 3);
  check_learning("local-response", 0, 3);
  growth = 1;
  first_batch = 100;
}

/* Batches of 20, 20, 40, ...: a late report is one for the batch that is open when it is made. Its
 * head, its range and its noise do not depend on when the choice was made. */
static void test_client__a_late_report_is_one_of_its_day(void **state) {
  (void)state;
  document campaign = {0};
  growth = 2;
  first_batch = 20;
  faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  growth = 1;
  first_batch = 100;
  c.wait = 2;
  rewrite(&c, &campaign);
  faro_client *client = joined(&campaign);
  unsigned char *bytes = malloc(faro_wire_report_size(&c));
  const double x[2] = {0.6, -0.8};
  size_t parts = 0;
  for (uint64_t now = 1; now <= 5; now++) {
    give_policy(client, &c, now);
    for (uint64_t chosen = 0; chosen <= now + 1; chosen++) {
      const uint64_t before = faro_client_sequence(client);
      const faro_status wanted = chosen < 1 || chosen > now ? FARO_INVALID
                                 : now - chosen > 2         ? FARO_LATE
                                                            : FARO_OK;
      faro_error e = {0};
      assert_int_equal(faro_client_report_late(client, chosen, x, 0.5, bytes, &parts, &e), wanted);
      assert_int_equal(faro_client_sequence(client), before + (wanted == FARO_OK));
      if (wanted != FARO_OK) continue; /* nothing was used up */
      faro_wire_report report;
      assert_ok(faro_wire_report_read(&c, bytes, faro_wire_report_size(&c), &report, error));
      assert_int_equal(report.version, now);
    }
  }
  faro_error e = {0};
  assert_int_equal(faro_client_report_late(client, 1, x, 0.5, bytes, &parts, &e), FARO_LATE);
  assert_string_equal(e.message,
                      "4 batches were released after the choice, and this campaign allows at most 2");
  free(bytes);
  faro_client_close(client);
  free(campaign.text);
}

/* The complete address to post to. */
static void assert_target(const faro_client *client, size_t part, const char *place) {
  char url[FARO_URL_MAX + 16];
  snprintf(url, sizeof url, "%s/v1/reports", place);
  assert_string_equal(faro_client_target(client, part), url);
}

static void test_client__reports_to_shufflers_that_can_still_fill(void **state) {
  (void)state;
  document campaign = {0};
  const faro_campaign c = campaign_of("concurrent-bits", 2, 3, &campaign);
  faro_client *client = joined(&campaign);
  unsigned char *bytes = malloc(3 * faro_wire_report_size(&c));
  assert_int_equal(faro_client_parts(client), 3);
  const double x[2] = {1, 0};
  bool fewer = false;
  for (uint64_t b = 0; b < c.batches; b++) {
    give_policy(client, &c, b + 1);
    size_t parts = 0;
    size_t wanted = 0;
    assert_ok(faro_client_report(client, x, 1, bytes, &parts, error));
    for (size_t s = 0; s < 3; s++)
      if (faro_campaign_active(&c, s, b)) assert_target(client, wanted++, c.shuffler[s].url);
    assert_int_equal(parts, wanted);
    fewer = fewer || parts < 3;
  }
  assert_true(fewer);
  give_policy(client, &c, c.batches + 1); /* the last policy: to choose by, not to report on */
  size_t parts = 0;
  faro_error e = {0};
  assert_int_equal(faro_client_report(client, x, 1, bytes, &parts, &e), FARO_OVER);
  assert_true(faro_client_over(client));
  assert_string_equal(e.message, "the campaign is over: all 20 batches are released");
  assert_int_equal(faro_client_sequence(client), c.batches);
  free(bytes);
  faro_client_close(client);
  free(campaign.text);
}

static void test_client__keeps_to_its_own_bound_where_nobody_is_trusted(void **state) {
  (void)state;
  document campaign = {0};
  const faro_campaign c = campaign_of("local-bits", 2, 0, &campaign);
  faro_client_params params = params_of();
  params.sequence = 1; /* from before a restart */
  params.campaign = c.digest;
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, &params, error));
  assert_ok(faro_client_campaign(client, campaign.text, campaign.length, error));
  unsigned char *bytes = malloc(faro_wire_report_size(&c));
  const double x[2] = {1, 0};
  size_t parts = 0;
  assert_int_equal(faro_client_report(client, x, 1, bytes, &parts, NULL), FARO_INVALID); /* no policy */
  give_policy(client, &c, 1);
  const double nowhere[2] = {NAN, 0};
  assert_int_equal(faro_client_report(client, nowhere, 1, bytes, &parts, NULL), FARO_INVALID);
  assert_int_equal(faro_client_report(client, x, INFINITY, bytes, &parts, NULL), FARO_INVALID);
  assert_ok(faro_client_report(client, x, 1, bytes, &parts, error));
  assert_ok(faro_client_report(client, x, 1, bytes, &parts, error));
  assert_target(client, 0, c.analyzer);
  faro_error e = {0};
  assert_int_equal(faro_client_report(client, x, 1, bytes, &parts, &e), FARO_SPENT);
  assert_string_equal(e.message, "this client has made all 3 reports that its privacy claim covers");
  free(bytes);
  faro_client_close(client);
  free(campaign.text);
}

/* The noise is made for as many reports as there are batches, if these are fewer. The analyzer
 * enforces that no two are in one batch, and it has seen those that it refuses. */
static void test_client__sends_no_more_reports_than_there_are_batches(void **state) {
  (void)state;
  document campaign = {0};
  horizon = 200;
  const faro_campaign c = campaign_of("local", 2, 0, &campaign);
  horizon = 2000;
  const faro_client_params params = params_of();
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, &params, error));
  assert_ok(faro_client_campaign(client, campaign.text, campaign.length, error));
  give_policy(client, &c, 1);
  unsigned char *bytes = malloc(faro_wire_report_size(&c));
  const double x[2] = {1, 0};
  size_t parts = 0;
  for (int i = 0; i < 2; i++) assert_ok(faro_client_report(client, x, 1, bytes, &parts, error));
  faro_error e = {0};
  assert_int_equal(faro_client_report(client, x, 1, bytes, &parts, &e), FARO_SPENT);
  assert_string_equal(e.message, "this client has made all 2 reports that its privacy claim covers");
  free(bytes);
  faro_client_close(client);
  free(campaign.text);
}

/* A sealed report reveals nothing on its way, not even that two are equal. */
static void test_client__sealed_reports_look_random(void **state) {
  (void)state;
  document campaign = {0};
  const faro_campaign c = campaign_of("central-bits", 2, 0, &campaign);
  faro_client *client = joined(&campaign);
  give_policy(client, &c, 1);
  const size_t size = faro_wire_report_size(&c);
  unsigned char *a = malloc(2 * size);
  unsigned char *b = a + size;
  const double x[2] = {1, 0};
  size_t parts = 0;
  size_t equal = 0;
  assert_ok(faro_client_report(client, x, 1, a, &parts, error));
  assert_ok(faro_client_report(client, x, 1, b, &parts, error));
  for (size_t i = FARO_REPORT_HEAD; i < size; i++) equal += a[i] == b[i];
  assert_true(equal < 12); /* of 128; Binomial(128, 1/256) exceeds 11 with probability below 1e-12 */
  free(a);
  faro_client_close(client);
  free(campaign.text);
}

static void test_client__nothing_is_allocated_in_a_report_or_choice(void **state) {
  (void)state;
  document campaign = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 10, 1, &campaign);
  faro_client *client = joined(&campaign);
  give_policy(client, &c, 1);
  unsigned char *bytes = malloc(faro_wire_report_size(&c));
  const double x[10] = {0.1, 0.2};
  size_t parts = 0;
  size_t arm = 0;
  alloc_reset();
  assert_ok(faro_client_choose(client, x, 1, &arm, error));
  assert_ok(faro_client_report(client, x, 1, bytes, &parts, error));
  assert_int_equal(alloc_count(), 0);
  free(bytes);
  faro_client_close(client);
  free(campaign.text);
}

static void test_client__out_of_memory_is_said_and_nothing_leaks(void **state) {
  (void)state;
  document campaign = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 2, 1, &campaign);
  double zero[5] = {0};
  const document policy = policy_of(&c, 1, zero, zero + 2, 1);
  const faro_client_params params = params_of();
  for (size_t n = 1;; n++) {
    faro_client *client = NULL;
    alloc_fail_at(n);
    faro_status status = faro_client_open(&client, &params, NULL);
    if (status == FARO_OK) status = faro_client_campaign(client, campaign.text, campaign.length, NULL);
    if (status == FARO_OK) status = faro_client_policy(client, policy.text, policy.length, NULL);
    alloc_fail_at(0);
    faro_client_close(client);
    if (status == FARO_OK) break;
    assert_int_equal(status, FARO_MEMORY);
  }
  free(policy.text);
  free(campaign.text);
}

/* Collectors. */

static document list_of(const faro_campaign *c, size_t shuffler_index, size_t count, const char *format,
                        const faro_sign_key *key) {
  static faro_collectors list;
  document out = {0};
  list = (faro_collectors){.shuffler = (uint32_t)shuffler_index, .count = count};
  memcpy(list.campaign, c->digest, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < count; i++)
    snprintf(list.collector[i].url, sizeof list.collector[i].url, format, (int)i);
  assert_ok(faro_collectors_write(&list, key, &out.text, &out.length, error));
  return out;
}

static faro_status give_list(faro_client *client, document list, const char **message) {
  static faro_error refused;
  refused = (faro_error){0};
  const faro_status status = faro_client_collectors(client, 0, list.text, list.length, &refused);
  free(list.text);
  *message = refused.message;
  return status;
}

/* The library finds the collector of its token, and believes the shuffler alone. */
static void test_client__finds_its_collector_by_the_shufflers_list(void **state) {
  (void)state;
  static const char here[] = "http://127.0.0.1:820%d", there[] = "http://127.0.0.1:830%d";
  document first = {0}, second = {0};
  const faro_campaign c = campaign_of("shuffle-bits", 2, 1, &first);
  horizon = 3000;
  const faro_campaign other = campaign_of("shuffle-bits", 2, 1, &second);
  horizon = 2000;
  unsigned char part[4096], hash[FARO_HASH_BYTES];
  const double x[2] = {0.5, 0.5};
  const char *why = NULL;
  char expected[64];
  size_t parts = 0;
  faro_client *client = joined(&first);
  give_policy(client, &c, 1);
  assert_ok(faro_client_report(client, x, 0.5, part, &parts, error));
  assert_string_equal(faro_client_target(client, 0), "http://127.0.0.1:8001/v1/reports");
  assert_int_equal(give_list(client, list_of(&c, 0, 4, here, &shuffler), &why), FARO_OK);
  crypto_generichash(hash, sizeof hash, token, sizeof token, NULL, 0); /* by another way than the code */
  uint64_t number = 0;
  for (size_t i = 16; i-- > 8;) number = number << 8 | hash[i];
  snprintf(expected, sizeof expected, "http://127.0.0.1:820%d/v1/reports", (int)(number % 4));
  assert_string_equal(faro_client_target(client, 0), expected);
  /* Not the analyzer's, of another campaign or shuffler, of another length, or where it may not
   * send. */
  assert_int_equal(give_list(client, list_of(&c, 0, 4, there, &analyzer), &why), FARO_INVALID);
  assert_int_equal(give_list(client, list_of(&other, 0, 4, there, &shuffler), &why), FARO_FOREIGN);
  assert_int_equal(give_list(client, list_of(&c, 1, 4, there, &shuffler), &why), FARO_INVALID);
  assert_int_equal(give_list(client, list_of(&c, 0, 2, there, &shuffler), &why), FARO_INVALID);
  assert_non_null(strstr(why, "had 4 collectors, and now lists 2"));
  assert_int_equal(give_list(client, list_of(&c, 0, 4, "http://far%d.example", &shuffler), &why), FARO_WEAK);
  assert_string_equal(faro_client_target(client, 0), expected); /* nothing has changed */
  assert_int_equal(give_list(client, list_of(&c, 0, 4, there, &shuffler), &why), FARO_OK);
  snprintf(expected, sizeof expected, "http://127.0.0.1:830%d/v1/reports", (int)(number % 4));
  assert_string_equal(faro_client_target(client, 0), expected); /* addresses may change */
  assert_int_equal(faro_client_collectors(client, 1, "", 0, NULL), FARO_INVALID);
  faro_client_close(client);
  free(first.text);
  free(second.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_client__refuses_what_is_below_its_floor),
      cmocka_unit_test(test_client__counts_on_no_more_honest_others_than_it_believes_in),
      cmocka_unit_test(test_client__sends_to_pinned_shufflers_only),
      cmocka_unit_test(test_client__tells_what_it_is_promised),
      cmocka_unit_test(test_client__sends_nobody_a_token_in_the_clear),
      cmocka_unit_test(test_client__stays_with_the_campaign_it_took_part_in),
      cmocka_unit_test(test_client__moves_to_a_successor_that_counts_what_was_spent),
      cmocka_unit_test(test_client__checks_its_settings),
      cmocka_unit_test(test_client__never_goes_back_to_an_older_policy),
      cmocka_unit_test(test_client__chooses_as_the_selector_does),
      cmocka_unit_test(test_client__draws_as_the_selector_does),
      cmocka_unit_test(test_client__draws_a_new_direction_for_every_choice),
      cmocka_unit_test(test_client__reports_what_the_release_expects),
      cmocka_unit_test(test_client__reports_for_the_batch_of_its_policy),
      cmocka_unit_test(test_client__a_late_report_is_one_of_its_day),
      cmocka_unit_test(test_client__reports_to_shufflers_that_can_still_fill),
      cmocka_unit_test(test_client__keeps_to_its_own_bound_where_nobody_is_trusted),
      cmocka_unit_test(test_client__sends_no_more_reports_than_there_are_batches),
      cmocka_unit_test(test_client__finds_its_collector_by_the_shufflers_list),
      cmocka_unit_test(test_client__sealed_reports_look_random),
      cmocka_unit_test(test_client__nothing_is_allocated_in_a_report_or_choice),
      cmocka_unit_test(test_client__out_of_memory_is_said_and_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, make_keys, NULL);
}
