/* move: what a reader follows and what it refuses, and what a client does with it. Every refusal
 * here is of something that the holder of one key could make alone. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faro/client.h>

#include "support/support.h"
#include "wire/move.h"

static faro_sign_key founder, second, third, shuffler, shuffler_next, thief;
static faro_seal_key seal, seal_next;
static faro_campaign campaign; /* as founded */
static char *document;         /* of the campaign */
static size_t document_length;

static int make_campaign(void **state) {
  (void)state;
  faro_sign_key *const keys[] = {&founder, &second, &third, &shuffler, &shuffler_next, &thief};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_ok(faro_sign_key_make(keys[i], error));
  assert_ok(faro_seal_key_make(&seal, error));
  assert_ok(faro_seal_key_make(&seal_next, error));
  campaign = (faro_campaign){.id = "move",
                             .release = faro_release_kind_find("shuffle-bits"),
                             .arms = 2,
                             .learner = "linucb",
                             .failure = 0.1,
                             .analyzer = "http://127.0.0.1:1",
                             .shufflers = 1,
                             .shuffler = {{.url = "http://127.0.0.1:2"}}};
  assert_ok(faro_contribution_init(&campaign.contribution, 2, 1, -1, 1, error));
  campaign.params = (faro_release_params){
      .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 10, .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(campaign.seal, seal.public_key, FARO_KEY_BYTES);
  memcpy(campaign.shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_campaign_write(&campaign, &founder, &document, &document_length, error));
  return 0;
}

static int free_campaign(void **state) {
  (void)state;
  free(document);
  return 0;
}

/* The first move: another address of the analyzer. */
static faro_move first_move(void) {
  faro_move m;
  faro_move_none(&m, &campaign, founder.public_key);
  m.number = 1;
  strcpy(m.analyzer, "http://127.0.0.1:3");
  return m;
}

/* Adds a step of the shuffler, with the consent of a key. */
static void add_step(faro_move *m, const char *url, const faro_sign_key *to,
                     const faro_sign_key *consenting) {
  faro_move_step *step = &m->step[m->steps];
  memcpy(step->key, to->public_key, FARO_KEY_BYTES);
  strcpy(step->url, url);
  faro_move_consent(m, 0, url, to->public_key, consenting, step->consent);
  m->steps++;
}

/* What a reader says that pins a key; "" if it accepts. */
static const char *refusal(const faro_move *m, const faro_sign_key *key, const faro_sign_key *pinned,
                           faro_campaign *now) {
  static faro_error why;
  char *text = NULL;
  size_t length = 0;
  faro_move opened;
  faro_campaign moved;
  why = (faro_error){0};
  assert_ok(faro_move_write(m, key, &text, &length, error));
  faro_status status = faro_move_open(&opened, text, length, pinned->public_key, &why);
  free(text);
  if (status == FARO_OK) {
    assert_memory_equal(&opened, m, sizeof opened);
    status = faro_move_apply(&opened, &campaign, now ? now : &moved, &why);
  }
  assert_int_equal(status == FARO_OK, why.message[0] == '\0');
  return why.message;
}

static void test_move__changes_addresses_and_keys_and_nothing_else(void **state) {
  (void)state;
  faro_move m = first_move();
  faro_campaign now;
  assert_ok(faro_move_hand_over(&m, &founder, &second, error));
  memcpy(m.seal, seal_next.public_key, FARO_KEY_BYTES);
  add_step(&m, "https://example.org:8401", &shuffler_next, &shuffler);
  add_step(&m, "https://example.org:9", &shuffler_next, &shuffler_next);
  const faro_sign_key *const pinned[] = {&founder, &second};
  for (size_t i = 0; i < 2; i++) assert_string_equal(refusal(&m, &second, pinned[i], &now), "");
  assert_string_equal(now.analyzer, "http://127.0.0.1:3");
  assert_string_equal(now.shuffler[0].url, "https://example.org:9");
  assert_memory_equal(now.shuffler[0].key, shuffler_next.public_key, FARO_KEY_BYTES);
  assert_memory_equal(now.seal, seal_next.public_key, FARO_KEY_BYTES);
  memcpy(now.analyzer, campaign.analyzer, sizeof now.analyzer);
  memcpy(now.seal, campaign.seal, sizeof now.seal);
  memcpy(now.shuffler, campaign.shuffler, sizeof now.shuffler);
  assert_memory_equal(&now, &campaign, sizeof now);
}

static void test_move__needs_the_signature_of_every_key_that_it_concerns(void **state) {
  (void)state;
  faro_move m = first_move();
  assert_non_null(strstr(refusal(&m, &thief, &founder, NULL), "the signature is not the pinned key's"));
  assert_non_null(strstr(refusal(&m, &founder, &thief, NULL), "the pinned key is neither"));

  /* the shuffler moves: without its consent, with that for another place, and twice with one */
  m = first_move();
  add_step(&m, "http://127.0.0.1:4", &shuffler, &thief);
  assert_non_null(strstr(refusal(&m, &founder, &founder, NULL), "consent is not that of shuffler 0"));
  m = first_move();
  add_step(&m, "http://127.0.0.1:4", &shuffler_next, &shuffler);
  memcpy(m.step[0].key, thief.public_key, FARO_KEY_BYTES);
  assert_non_null(strstr(refusal(&m, &founder, &founder, NULL), "consent is not that of shuffler 0"));
  m = first_move();
  add_step(&m, "http://127.0.0.1:4", &shuffler, &shuffler);
  strcpy(m.step[0].url, "http://127.0.0.1:5");
  assert_non_null(strstr(refusal(&m, &founder, &founder, NULL), "consent is not that of shuffler 0"));
  m = first_move();
  add_step(&m, "http://127.0.0.1:4", &shuffler, &shuffler);
  m.step[m.steps++] = m.step[0];
  assert_non_null(strstr(refusal(&m, &founder, &founder, NULL), "shufflers[1].consent"));

  /* the signer is handed over: without the old key, and without the new one */
  m = first_move();
  assert_int_equal(faro_move_hand_over(&m, &thief, &second, NULL), FARO_INVALID);
  assert_ok(faro_move_hand_over(&m, &founder, &second, error));
  memcpy(m.signer[0].by_old, m.signer[0].by_new, FARO_SIGNATURE_BYTES);
  assert_non_null(strstr(refusal(&m, &second, &founder, NULL), "signers[0] must be signed"));
  m = first_move();
  assert_ok(faro_move_hand_over(&m, &founder, &second, error));
  memcpy(m.signer[0].by_new, m.signer[0].by_old, FARO_SIGNATURE_BYTES);
  assert_non_null(strstr(refusal(&m, &second, &founder, NULL), "signers[0] must be signed"));

  /* the analyzer must not become its own shuffler */
  m = first_move();
  assert_ok(faro_move_hand_over(&m, &founder, &shuffler, error));
  assert_non_null(strstr(refusal(&m, &shuffler, &founder, NULL), "the analyzer's own"));
}

/* A client after the campaign, and what it says to a move. */
static faro_client *client_of(const faro_sign_key *pinned, const faro_sign_key *shuffler_pin, bool fixed) {
  static const unsigned char token[FARO_TOKEN_BYTES] = {1};
  const char *const urls[] = {shuffler_pin == &shuffler ? campaign.shuffler[0].url : "http://127.0.0.1:4"};
  const faro_client_params params = {.signer = pinned->public_key,
                                     .token = token,
                                     .epsilon = 1,
                                     .delta = 1e-6,
                                     .trust = "shuffle",
                                     .honest = 1,
                                     .fixed = fixed,
                                     .shufflers = shuffler_pin ? shuffler_pin->public_key : NULL,
                                     .shuffler_urls = shuffler_pin ? urls : NULL,
                                     .shuffler_count = shuffler_pin != NULL};
  faro_client *client = NULL;
  assert_ok(faro_client_open(&client, &params, error));
  return client;
}

static faro_status give(faro_client *client, const faro_move *m, const faro_sign_key *key) {
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_move_write(m, key, &text, &length, error));
  const faro_status status = faro_client_move(client, text, length, NULL);
  free(text);
  return status;
}

static void test_move__a_client_follows_and_never_goes_back(void **state) {
  (void)state;
  faro_client *client = client_of(&founder, &shuffler, false);
  faro_move one = first_move();
  assert_null(faro_client_analyzer(client));
  assert_int_equal(give(client, &one, &founder), FARO_OK); /* before the campaign */
  assert_string_equal(faro_client_analyzer(client), "http://127.0.0.1:3");
  assert_ok(faro_client_campaign(client, document, document_length, error));
  assert_int_equal(faro_client_moved(client), 1);

  faro_move two = one;
  two.number = 2;
  assert_ok(faro_move_hand_over(&two, &founder, &second, error));
  add_step(&two, "http://127.0.0.1:4", &shuffler_next, &shuffler); /* pinned, and consents */
  assert_int_equal(give(client, &two, &second), FARO_OK);
  assert_int_equal(give(client, &two, &second), FARO_OK); /* again */
  assert_string_equal(faro_client_shuffler_url(client, 0), "http://127.0.0.1:4");
  assert_memory_equal(faro_client_shuffler_key(client, 0), shuffler_next.public_key, FARO_KEY_BYTES);
  assert_string_equal(faro_client_pin_url(client, 0), campaign.shuffler[0].url);
  assert_memory_equal(faro_client_pin_key(client, 0), shuffler.public_key, FARO_KEY_BYTES);
  assert_int_equal(give(client, &one, &founder), FARO_OLD);

  /* the holder of the first key makes a higher number, and another hand-over */
  faro_move stolen = one;
  stolen.number = 9;
  assert_int_equal(give(client, &stolen, &founder), FARO_INVALID);
  assert_ok(faro_move_hand_over(&stolen, &founder, &thief, error));
  assert_int_equal(give(client, &stolen, &thief), FARO_INVALID);
  assert_int_equal(faro_client_moved(client), 2);

  faro_move three = two;
  three.number = 3;
  assert_ok(faro_move_hand_over(&three, &second, &third, error));
  assert_int_equal(give(client, &three, &third), FARO_OK);
  faro_client_close(client);
}

static void test_move__a_client_that_pins_or_is_fixed_is_not_led_away(void **state) {
  (void)state;
  faro_client *client = client_of(&founder, NULL, true);
  faro_move m = first_move();
  assert_int_equal(give(client, &m, &founder), FARO_WEAK);
  assert_ok(faro_client_campaign(client, document, document_length, error));
  assert_string_equal(faro_client_analyzer(client), campaign.analyzer);
  faro_client_close(client);

  /* Pins key and address of now, not those of the campaign. The step is signed by a key that it
   * does not know, and the key that it knows has signed nothing. */
  client = client_of(&founder, &shuffler_next, false);
  add_step(&m, "http://127.0.0.1:4", &shuffler_next, &shuffler);
  assert_int_equal(faro_client_campaign(client, document, document_length, NULL), FARO_WEAK);
  assert_int_equal(give(client, &m, &founder), FARO_OK);
  assert_int_equal(faro_client_campaign(client, document, document_length, NULL), FARO_WEAK);
  faro_client_close(client);

  client = client_of(&founder, NULL, false);
  assert_ok(faro_client_campaign(client, document, document_length, error));
  strcpy(m.analyzer, "http://example.org"); /* not over TLS */
  assert_int_equal(give(client, &m, &founder), FARO_WEAK);
  assert_int_equal(faro_client_moved(client), 0);
  m = first_move();
  m.campaign[0] ^= 1;
  assert_int_equal(give(client, &m, &founder), FARO_FOREIGN);
  faro_client_close(client);
}

/* A successor of the campaign, signed by some key. */
static char *successor(const faro_sign_key *key, size_t *length) {
  char *text = NULL;
  faro_campaign next = campaign;
  strcpy(next.id, "next");
  next.befores = 1;
  next.before[0] = (faro_campaign_before){.epsilon = campaign.claim.epsilon, .delta = campaign.claim.delta};
  memcpy(next.before[0].campaign, campaign.digest, FARO_DIGEST_BYTES);
  assert_ok(faro_campaign_write(&next, key, &text, length, error));
  return text;
}

/* What a client of the campaign says to a successor after a restart, with or without the move that
 * it kept. If it joins, *after is its signing keys then. */
static faro_status join(const unsigned char signers[static 2 * FARO_KEY_BYTES], const faro_move *kept,
                        const faro_sign_key *last, const faro_sign_key *key, unsigned char *after) {
  static const unsigned char token[FARO_TOKEN_BYTES] = {1};
  const faro_client_params params = {.signer = founder.public_key,
                                     .token = token,
                                     .campaign = campaign.digest,
                                     .spent_epsilon = campaign.claim.epsilon,
                                     .spent_delta = campaign.claim.delta,
                                     .signers = signers,
                                     .epsilon = 10,
                                     .delta = 1e-3,
                                     .trust = "shuffle",
                                     .honest = 1};
  faro_client *client = NULL;
  size_t length = 0;
  char *text = successor(key, &length);
  assert_ok(faro_client_open(&client, &params, error));
  if (kept) assert_int_equal(give(client, kept, last), FARO_OK);
  const faro_status status = faro_client_campaign(client, text, length, NULL);
  if (status == FARO_OK)
    memcpy(after, faro_client_signers(client), sizeof(unsigned char[2 * FARO_KEY_BYTES]));
  else assert_ok(faro_client_campaign(client, document, document_length, error)); /* its own, all the same */
  faro_client_close(client);
  free(text);
  return status;
}

/* After a hand-over the old key founds nothing more, and the new one does: whether the move itself
 * or only the key was kept, and in the successor of the successor. */
static void test_move__a_successor_is_signed_by_the_key_of_now(void **state) {
  (void)state;
  unsigned char fresh[2 * FARO_KEY_BYTES], handed[2 * FARO_KEY_BYTES], after[2 * FARO_KEY_BYTES];
  faro_move m = first_move();
  assert_ok(faro_move_hand_over(&m, &founder, &second, error));
  faro_client *client = client_of(&founder, NULL, false);
  assert_ok(faro_client_campaign(client, document, document_length, error));
  memcpy(fresh, faro_client_signers(client), sizeof fresh);
  assert_memory_equal(fresh, founder.public_key, FARO_KEY_BYTES);
  assert_memory_equal(fresh + FARO_KEY_BYTES, founder.public_key, FARO_KEY_BYTES);
  assert_int_equal(give(client, &m, &second), FARO_OK);
  memcpy(handed, faro_client_signers(client), sizeof handed);
  assert_memory_equal(handed + FARO_KEY_BYTES, second.public_key, FARO_KEY_BYTES);
  faro_client_close(client);

  assert_int_equal(join(fresh, NULL, NULL, &founder, after), FARO_OK); /* nothing was handed over */
  assert_int_equal(join(fresh, NULL, NULL, &second, after), FARO_INVALID);
  for (int kept = 0; kept < 2; kept++) {
    const faro_move *move = kept ? &m : NULL;
    assert_int_equal(join(handed, move, &second, &founder, after), FARO_INVALID);
    assert_int_equal(join(handed, move, &second, &thief, after), FARO_INVALID);
    assert_int_equal(join(handed, move, &second, &second, after), FARO_OK);
    assert_memory_equal(after, handed, sizeof after); /* as it is saved for the next time */
  }
  assert_int_equal(join(fresh, &m, &second, &founder, after), FARO_INVALID); /* only the move was kept */
  assert_int_equal(join(fresh, &m, &second, &second, after), FARO_OK);
  assert_memory_equal(after, handed, sizeof after);
  memcpy(handed, thief.public_key, FARO_KEY_BYTES); /* saved under another pin: the new pin decides */
  assert_int_equal(join(handed, NULL, NULL, &founder, after), FARO_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_move__changes_addresses_and_keys_and_nothing_else),
      cmocka_unit_test(test_move__needs_the_signature_of_every_key_that_it_concerns),
      cmocka_unit_test(test_move__a_client_follows_and_never_goes_back),
      cmocka_unit_test(test_move__a_client_that_pins_or_is_fixed_is_not_led_away),
      cmocka_unit_test(test_move__a_successor_is_signed_by_the_key_of_now),
  };
  return cmocka_run_group_tests(tests, make_campaign, free_campaign);
}
