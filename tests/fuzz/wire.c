/* wire: targets for what strangers send to the service. Documents and batches are signed here, so
 * that the fuzzer is not stopped at the signature; the keys are fixed. What is accepted must come
 * back from a writer as the same bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "client/queue_inner.h"
#include "service/analyzer/ledger_check.h"
#include "service/role/admin.h"
#include "service/shuffler/watch.h"
#include "targets.h"
#include "wire/json.h"
#include "wire/move.h"
#include "wire/portion.h"
#include "wire/split.h"

static faro_sign_key signer, shuffler;
static faro_seal_key box;
static faro_campaign campaigns[2]; /* bits, and sealed */
static faro_campaign phased;
static faro_campaign halved; /* counts are split */
static faro_sign_key adder;
static faro_seal_key adder_box;

static void must(bool condition) {
  if (!condition) abort();
}

static void start(void) {
  static bool started;
  static const char *const kind[2] = {"shuffle-bits", "local-gaussian"};
  if (started) return;
  started = true;
  unsigned char seed[32] = "the same seed for every fuzzing!";
  unsigned char other[32] = "the same seed for the shuffler! ";
  must(sodium_init() >= 0);
  crypto_sign_seed_keypair(signer.public_key, signer.secret, seed);
  crypto_sign_seed_keypair(shuffler.public_key, shuffler.secret, other);
  crypto_box_seed_keypair(box.public_key, box.secret, seed);
  for (size_t i = 0; i < 2; i++) {
    faro_campaign *c = &campaigns[i];
    *c = (faro_campaign){.id = "fuzz",
                         .release = faro_release_kind_find(kind[i]),
                         .arms = 2,
                         .learner = "linucb",
                         .failure = 0.1,
                         .analyzer = "http://a",
                         .shuffler = {{.url = "http://s"}},
                         .shufflers = i == 0};
    c->params = (faro_release_params){
        .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 10, .calibration = FARO_CALIBRATION_TIGHT};
    memcpy(c->seal, box.public_key, FARO_KEY_BYTES);
    memcpy(c->shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
    must(faro_contribution_init(&c->contribution, 2, 1, -1, 1, NULL) == FARO_OK);
    char *text = NULL;
    size_t length = 0;
    must(faro_campaign_write(c, &signer, &text, &length, NULL) == FARO_OK);
    free(text);
  }
}

static void start_phases(void) {
  char *text = NULL;
  size_t length = 0;
  start();
  if (faro_campaign_in_phases(&phased)) return;
  phased = campaigns[0];
  phased.phases = (faro_phases){.numbers = 2, .reports = 1000, .noise = 1};
  phased.params.largest = 100;
  phased.features = 4;
  for (size_t i = 0; i < 4; i++) phased.feature[i] = (double)i / 4;
  must(faro_campaign_write(&phased, &signer, &text, &length, NULL) == FARO_OK);
  free(text);
}

static void start_split(void) {
  unsigned char seed[32] = "the same seed for the adder, too";
  char *text = NULL;
  size_t length = 0;
  start();
  if (faro_campaign_is_split(&halved)) return;
  crypto_sign_seed_keypair(adder.public_key, adder.secret, seed);
  crypto_box_seed_keypair(adder_box.public_key, adder_box.secret, seed);
  halved = campaigns[0];
  halved.adders = 1;
  memcpy(halved.adder[0].key, adder.public_key, FARO_KEY_BYTES);
  memcpy(halved.adder[0].seal, adder_box.public_key, FARO_KEY_BYTES);
  must(faro_campaign_write(&halved, &signer, &text, &length, NULL) == FARO_OK);
  free(text);
}

/* The JSON as a signed document; free() it. */
static char *sign(const char *word, const uint8_t *data, size_t size, size_t *length) {
  const size_t head = strlen(word) + 1;
  const size_t line = head + 2 * FARO_SIGNATURE_BYTES + 1;
  unsigned char signature[FARO_SIGNATURE_BYTES];
  unsigned char *bytes = malloc(head + size);
  char *text = malloc(line + size + 1);
  must(bytes && text);
  memcpy(bytes, word, head - 1);
  bytes[head - 1] = '\n';
  if (size > 0) memcpy(bytes + head, data, size);
  crypto_sign_detached(signature, NULL, bytes, head + size, signer.secret);
  memcpy(text, word, head - 1);
  text[head - 1] = ' ';
  faro_hex_write(signature, sizeof signature, text + head);
  text[line - 1] = '\n';
  if (size > 0) memcpy(text + line, data, size);
  free(bytes);
  *length = line + size;
  return text;
}

int fuzz_campaign(const uint8_t *data, size_t size) {
  start();
  faro_error error = {0};
  faro_campaign c = {0};
  faro_campaign again = {0};
  size_t length = 0;
  must(faro_campaign_open(&c, (const char *)data, size, signer.public_key, NULL) != FARO_OK);
  const bool split = size > 0 && memmem(data, size, "\"adders\"", 8);
  char *text = sign(split ? "faro-campaign-4" : "faro-campaign-3", data, size, &length);
  const faro_status status = faro_campaign_open(&c, text, length, signer.public_key, &error);
  free(text);
  if (status != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  must(faro_campaign_write(&c, &signer, &text, &length, NULL) == FARO_OK);
  must(faro_campaign_open(&again, text, length, signer.public_key, NULL) == FARO_OK);
  must(memcmp(c.digest, again.digest, sizeof c.digest) == 0 && c.claim.proven);
  must(faro_wire_report_size(&c) == faro_wire_report_size(&again));
  free(text);
  return 0;
}

/* A plan is made to belong to the campaign, so that what the campaign checks is reached too. */
int fuzz_plan(const uint8_t *data, size_t size) {
  static faro_plan_document plan, again;
  faro_plan_row row;
  start_phases();
  faro_error error = {0};
  size_t length = 0;
  must(faro_plan_document_open(&plan, (const char *)data, size, signer.public_key, NULL) != FARO_OK);
  char *text = sign("faro-plan-1", data, size, &length);
  const faro_status status = faro_plan_document_open(&plan, text, length, signer.public_key, &error);
  free(text);
  if (status != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  memcpy(plan.campaign, phased.digest, FARO_DIGEST_BYTES);
  must(faro_plan_document_write(&plan, &signer, &text, &length, NULL) == FARO_OK);
  must(faro_plan_document_open(&again, text, length, signer.public_key, NULL) == FARO_OK);
  free(text);
  must(memcmp(&plan, &again, sizeof plan) == 0);
  must(faro_plan_document_hash(&again, NULL) == FARO_OK);
  must(memcmp(plan.digest, again.digest, FARO_DIGEST_BYTES) == 0);
  if (faro_plan_check(&phased, &plan, &row, &error) == FARO_OK)
    must(plan.size == 0 || (plan.size >= 10 && plan.size <= 100 && plan.arms <= 2 && row.encoding.most > 0));
  else must(error.message[0] != '\0');
  return 0;
}

/* Policies of both kinds of campaigns. */
static void read_policy(const char *word, const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_policy_document document = {0};
  faro_policy_document again = {0};
  size_t length = 0;
  must(faro_policy_document_open(&document, (const char *)data, size, signer.public_key, NULL) != FARO_OK);
  char *text = sign(word, data, size, &length);
  const faro_status status = faro_policy_document_open(&document, text, length, signer.public_key, &error);
  free(text);
  if (status != FARO_OK) {
    must(error.message[0] != '\0');
    return;
  }
  must(faro_policy_document_write_at(&document.policy, document.at, document.campaign, &signer, &text,
                                     &length, NULL) == FARO_OK);
  must(faro_policy_document_open(&again, text, length, signer.public_key, NULL) == FARO_OK);
  const size_t d = document.policy.dimension;
  const size_t count = d + d * (d + 1) / 2 + (document.at ? d : 0);
  must(again.policy.version == document.policy.version && again.policy.rule == document.policy.rule &&
       !again.at == !document.at && memcmp(again.numbers, document.numbers, count * sizeof(double)) == 0);
  free(text);
  faro_policy_document_clear(&document);
  faro_policy_document_clear(&again);
}

int fuzz_policy(const uint8_t *data, size_t size) {
  start();
  read_policy("faro-policy-2", data, size);
  read_policy("faro-policy-3", data, size);
  return 0;
}

int fuzz_move(const uint8_t *data, size_t size) {
  start();
  static faro_move move, again;
  static faro_campaign now;
  faro_error error = {0};
  size_t length = 0;
  must(faro_move_open(&move, (const char *)data, size, signer.public_key, NULL) != FARO_OK);
  char *text = sign("faro-move-1", data, size, &length);
  const faro_status status = faro_move_open(&move, text, length, signer.public_key, &error);
  free(text);
  if (status != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  must(faro_move_write(&move, &signer, &text, &length, NULL) == FARO_OK);
  must(faro_move_open(&again, text, length, signer.public_key, NULL) == FARO_OK);
  must(memcmp(&move, &again, sizeof move) == 0);
  free(text);
  memcpy(move.campaign, campaigns[0].digest, FARO_DIGEST_BYTES);
  if (faro_move_apply(&move, &campaigns[0], &now, &error) != FARO_OK) must(error.message[0] != '\0');
  return 0;
}

int fuzz_head(const uint8_t *data, size_t size) {
  start();
  faro_error error = {0};
  faro_ledger_head head = {0}, again = {0};
  size_t length = 0;
  must(faro_ledger_head_open(&head, (const char *)data, size, signer.public_key, NULL) != FARO_OK);
  char *text = sign("faro-ledger-1", data, size, &length);
  const faro_status status = faro_ledger_head_open(&head, text, length, signer.public_key, &error);
  free(text);
  if (status != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  must(faro_ledger_head_write(&head, &signer, &text, &length, NULL) == FARO_OK);
  must(faro_ledger_head_open(&again, text, length, signer.public_key, NULL) == FARO_OK);
  must(memcmp(&head, &again, sizeof head) == 0);
  free(text);
  return 0;
}

/* The list of a shuffler that has the signer's key, of a campaign whose digest is zero. */
int fuzz_collectors(const uint8_t *data, size_t size) {
  static faro_campaign campaign;
  static faro_collectors list, again;
  start();
  faro_error error = {0};
  size_t length = 0;
  campaign = campaigns[0];
  memset(campaign.digest, 0, sizeof campaign.digest);
  memcpy(campaign.shuffler[0].key, signer.public_key, FARO_KEY_BYTES);
  must(faro_collectors_open(&list, (const char *)data, size, &campaign, 0, NULL) != FARO_OK);
  char *text = sign("faro-collectors-1", data, size, &length);
  const faro_status status = faro_collectors_open(&list, text, length, &campaign, 0, &error);
  free(text);
  if (status != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  must(list.count >= 1 && list.count <= FARO_COLLECTORS_MAX && list.shuffler == 0);
  must(faro_collectors_write(&list, &signer, &text, &length, NULL) == FARO_OK);
  must(faro_collectors_open(&again, text, length, &campaign, 0, NULL) == FARO_OK);
  must(memcmp(&list, &again, sizeof list) == 0);
  free(text);
  return 0;
}

/* Bit 0 of the first byte: sealed and signed here, so that what is inside is reached; then the rest
 * of the head, and what is inside. Otherwise the bytes as they are, under a notice of theirs. */
int fuzz_portion(const uint8_t *data, size_t size) {
  enum { TAIL = FARO_PORTION_HEAD - 20, BOX = 2048 };
  unsigned char bytes[FARO_PORTION_HEAD + BOX + FARO_SEAL_BYTES + FARO_SIGNATURE_BYTES] = "FRP1";
  faro_collector_key keys[2];
  faro_portion portion = {0};
  faro_error error = {0};
  start();
  if (size < 1 + TAIL || size > 1 + TAIL + BOX) return 0;
  const faro_campaign *c = &campaigns[0];
  const bool made = data[0] & 1;
  const size_t inside = size - 1 - TAIL, end = FARO_PORTION_HEAD + inside + (made ? FARO_SEAL_BYTES : 0);
  unsigned char point[FARO_KEY_BYTES];
  for (size_t i = 0; i < 2; i++) memcpy(keys[i], signer.public_key, FARO_KEY_BYTES);
  memcpy(bytes + 4, c->digest, 16);
  memcpy(bytes + 20, data + 1, size - 1);
  must(crypto_sign_ed25519_pk_to_curve25519(point, shuffler.public_key) == 0);
  if (made) must(crypto_box_seal(bytes + FARO_PORTION_HEAD, data + 1 + TAIL, inside, point) == 0);
  if (made) crypto_sign_detached(bytes + end, NULL, bytes, end, signer.secret);
  const size_t length = end + (made ? FARO_SIGNATURE_BYTES : 0);
  const faro_status status = faro_portion_read(c, 0, &shuffler, keys, 2, bytes, length, &portion, &error);
  must(status == FARO_OK || error.message[0] != '\0');
  must(faro_portion_notice_read(c, 0, keys, 2, (const char *)data, size, NULL) != FARO_OK);
  if (status != FARO_OK) return 0;
  char notice[FARO_PORTION_DIGITS + 1];
  must(made && portion.collector < 2 && portion.collectors == 2 && portion.batch.count == 5);
  must(memcmp(portion.batch.body, data + 1 + TAIL, inside) == 0);
  faro_portion_notice(c, &portion, &signer, notice);
  must(faro_portion_notice_read(c, 0, keys, 2, notice, strlen(notice), NULL) == FARO_OK);
  return 0;
}

/* A page under a head of two rows that fits the campaign. What is checked can be explained. */
int fuzz_ledger(const uint8_t *data, size_t size) {
  start();
  json_t *page = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
  if (!page) return 0;
  faro_ledger_head head = {.rows = 2};
  faro_ledger_check check;
  faro_text out = FARO_TEXT_INIT;
  faro_error error = {0};
  char *text = NULL;
  size_t length = 0;
  uint64_t reports = 0;
  memcpy(head.campaign, campaigns[0].digest, FARO_DIGEST_BYTES);
  must(faro_ledger_head_write(&head, &signer, &text, &length, NULL) == FARO_OK);
  if (json_is_object(page)) must(json_object_set_new(page, "head", json_stringn(text, length)) == 0);
  free(text);
  faro_status status = faro_ledger_explain_head(page, false, &out, &error);
  if (status == FARO_OK) status = faro_ledger_explain_rows(page, &reports, &out, &error);
  if (status == FARO_OK) faro_ledger_explain_end(page, &out);
  else must(error.message[0] != '\0');
  status = faro_ledger_check_begin(&check, &campaigns[0], signer.public_key, page, NULL);
  must(status == FARO_OK || !json_is_object(page));
  if (status == FARO_OK && faro_ledger_check_rows(&check, page, NULL) == FARO_OK) {
    faro_ledger_check_amend(&check, page);
    must(faro_ledger_explain_head(page, true, &out, NULL) == FARO_OK);
  }
  faro_ledger_check_clear(&check);
  faro_text_clear(&out);
  json_decref(page);
  return 0;
}

/* What follows the first byte, in memory of its own size; bit 1 of that byte: with a head that
 * fits. */
static unsigned char *frame(const faro_campaign *c, const char *magic, const uint8_t *data, size_t size) {
  unsigned char *bytes = malloc(size);
  must(bytes != NULL);
  memcpy(bytes, data + 1, size - 1);
  if (!(data[0] & 2) || size - 1 < 20) return bytes;
  memcpy(bytes, magic, 4);
  memcpy(bytes + 4, c->digest, 16);
  return bytes;
}

int fuzz_report(const uint8_t *data, size_t size) {
  start();
  if (size < 1) return 0;
  const faro_campaign *c = &campaigns[data[0] & 1];
  unsigned char *bytes = frame(c, "FRR2", data, size);
  unsigned char out[512];
  uint64_t numbers[5];
  int64_t opened[5];
  faro_error error = {0};
  faro_wire_report report = {0};
  if (faro_wire_report_read(c, bytes, size - 1, &report, &error) != FARO_OK) must(error.message[0] != '\0');
  else if (c->shufflers > 0) {
    for (size_t i = 0; i < 5; i++) numbers[i] = faro_load32(report.body + 4 * i);
    must(faro_wire_report_write(c, &report, numbers, out, NULL) == FARO_OK);
    must(memcmp(out, bytes, size - 1) == 0);
  } else must(faro_wire_report_unseal(c, &box, report.version - 1, report.body, opened, NULL) != FARO_OK);
  free(bytes);
  return 0;
}

/* The text before a batch: the fuzzer's bytes as they are, and their digits; bit 3 of the first
 * byte: with a signature that fits. */
static void read_notices(const faro_campaign *c, const uint8_t *data, const unsigned char *bytes,
                         size_t length) {
  enum { SIZE = FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES };
  unsigned char notice[SIZE] = {0}, part[FARO_BATCH_HEAD];
  char text[FARO_NOTICE_DIGITS + 1], again[FARO_NOTICE_DIGITS + 1];
  faro_batch batch = {0};
  faro_error error = {0};
  must(faro_notice_read(c, (const char *)bytes, length, &batch, NULL) != FARO_OK || length == 2 * SIZE);
  memcpy(notice, bytes, length < SIZE ? length : SIZE);
  memcpy(part, notice, sizeof part);
  memcpy(part, "FRH2", 4);
  if (data[0] & 8) crypto_sign_detached(notice + FARO_BATCH_HEAD, NULL, part, sizeof part, shuffler.secret);
  faro_hex_write(notice, SIZE, text);
  if (faro_notice_read(c, text, 2 * SIZE, &batch, &error) != FARO_OK) must(error.message[0] != '\0');
  else {
    must(batch.count == 10 && batch.number < 10 && batch.shuffler == 0);
    faro_notice_write(c, &batch, &shuffler, again);
    must(memcmp(text, again, sizeof text) == 0);
  }
}

int fuzz_batch(const uint8_t *data, size_t size) {
  start();
  if (size < 1) return 0;
  const faro_campaign *c = &campaigns[0];
  unsigned char *bytes = frame(c, "FRB2", data, size);
  unsigned char out[512];
  faro_error error = {0};
  faro_batch batch = {0};
  const size_t length = size - 1;
  if (data[0] & 4 && length > FARO_SIGNATURE_BYTES)
    crypto_sign_detached(bytes + length - FARO_SIGNATURE_BYTES, NULL, bytes, length - FARO_SIGNATURE_BYTES,
                         shuffler.secret);
  if (faro_batch_read(c, bytes, length, &batch, &error) != FARO_OK) must(error.message[0] != '\0');
  else {
    must(batch.count == 10 && length == faro_batch_size(c, 10));
    faro_batch_write(c, &batch, &shuffler, out);
    must(memcmp(out, bytes, length) == 0);
  }
  read_notices(c, data, bytes, length);
  free(bytes);
  return 0;
}

static void sign_frame(unsigned char *bytes, size_t length, const faro_sign_key *key) {
  if (length > FARO_SIGNATURE_BYTES)
    crypto_sign_detached(bytes + length - FARO_SIGNATURE_BYTES, NULL, bytes, length - FARO_SIGNATURE_BYTES,
                         key->secret);
}

/* Bit 2 of the first byte: with a signature that fits. Boxes are the fuzzer's; one that is opened
 * would be a forgery. */
int fuzz_shares(const uint8_t *data, size_t size) {
  start_split();
  if (size < 1) return 0;
  unsigned char *bytes = frame(&halved, "FRX1", data, size);
  unsigned char out[2048];
  uint64_t sums[5] = {0};
  faro_error error = {0};
  faro_batch batch = {0};
  const size_t length = size - 1;
  if (data[0] & 4) sign_frame(bytes, length, &shuffler);
  if (faro_shares_read(&halved, bytes, length, &batch, &error) != FARO_OK) must(error.message[0] != '\0');
  else {
    must(batch.count == 10 && length == faro_shares_size(10));
    faro_shares_write(&halved, &batch, &shuffler, out);
    must(memcmp(out, bytes, length) == 0);
    for (size_t i = 0; i < 10; i++)
      must(faro_share_add(&halved, &adder_box, batch.body + i * FARO_BOX_BYTES, sums, NULL) != FARO_OK);
  }
  free(bytes);
  return 0;
}

/* A batch of split counts. Bit 2 of the first byte: its signature fits; bit 3: so do the head and
 * the signature of the sum; bit 4: the sum is the fuzzer's numbers, sealed. */
int fuzz_joined(const uint8_t *data, size_t size) {
  enum { TOTALS = FARO_BATCH_HEAD + 8 * 5 };
  start_split();
  const size_t plain = 8 + 8 * 5, sum = faro_sum_size(&halved);
  if (size < 1) return 0;
  unsigned char *bytes = frame(&halved, "FRB2", data, size);
  int64_t totals[5];
  faro_error error = {0};
  faro_batch batch = {0};
  const size_t length = size - 1;
  if (length == faro_batch_size(&halved, 10)) {
    unsigned char *inner = bytes + TOTALS;
    if (data[0] & 8) memcpy(inner, bytes, FARO_BATCH_HEAD);
    if (data[0] & 8) memcpy(inner, "FRA1", 4);
    if (data[0] & 16)
      must(crypto_box_seal(inner + FARO_BATCH_HEAD, inner + FARO_BATCH_HEAD + FARO_SEAL_BYTES, plain,
                           box.public_key) == 0);
    if (data[0] & 8) sign_frame(inner, sum, &adder);
  }
  if (data[0] & 4) sign_frame(bytes, length, &shuffler);
  if (faro_batch_read(&halved, bytes, length, &batch, &error) != FARO_OK) must(error.message[0] != '\0');
  else if (faro_split_join(&halved, &batch, &box, totals, &error) != FARO_OK) must(error.message[0] != '\0');
  else
    for (size_t i = 0; i < 5; i++)
      must(totals[i] >= 10 * halved.encoding[0].least && totals[i] <= 10 * halved.encoding[0].most);
  free(bytes);
  return 0;
}

/* What is in the box is the fuzzer's; bit 0 of the first byte: with the campaign's digest. */
int fuzz_unseal(const uint8_t *data, size_t size) {
  start();
  enum { PLAIN = FARO_DIGEST_BYTES + 8 * 5 };
  if (size != 1 + PLAIN) return 0;
  const faro_campaign *c = &campaigns[1];
  unsigned char plain[PLAIN];
  unsigned char sealed[PLAIN + FARO_SEAL_BYTES];
  int64_t numbers[5] = {0};
  faro_error error = {0};
  memcpy(plain, data + 1, PLAIN);
  if (data[0] & 1) memcpy(plain, c->digest, FARO_DIGEST_BYTES);
  must(crypto_box_seal(sealed, plain, PLAIN, c->seal) == 0);
  if (faro_wire_report_unseal(c, &box, 0, sealed, numbers, &error) != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  must(memcmp(plain, c->digest, FARO_DIGEST_BYTES) == 0);
  for (size_t i = 0; i < 5; i++) {
    must(numbers[i] >= c->encoding[0].least && numbers[i] <= c->encoding[0].most);
    must((uint64_t)numbers[i] == faro_load64(plain + FARO_DIGEST_BYTES + 8 * i));
  }
  return 0;
}

int fuzz_key(const uint8_t *data, size_t size) {
  start();
  char path[] = "/tmp/faro-fuzz-XXXXXX"; /* mkstemp makes it for its owner alone */
  const int fd = mkstemp(path);
  if (fd < 0) return 0;
  const bool written = size == 0 || write(fd, data, size) == (ssize_t)size;
  close(fd);
  faro_sign_key sign_key;
  faro_seal_key seal_key;
  unsigned char public_key[FARO_KEY_BYTES];
  unsigned char *lines = NULL;
  size_t count = 0;
  faro_error error = {0};
  if (written) {
    if (faro_sign_key_load(path, &sign_key, &error) != FARO_OK) must(error.message[0] != '\0');
    if (faro_seal_key_load(path, &seal_key, NULL) == FARO_OK) must(size >= 2 * FARO_KEY_BYTES);
    if (faro_key_load(path, FARO_SIGN_PUBLIC, public_key, sizeof public_key, NULL) == FARO_OK)
      must(size < 100);
    if (faro_tokens_load(path, &lines, &count, NULL) == FARO_OK) free(lines);
    if (faro_hashes_load(path, &lines, &count, NULL) == FARO_OK) free(lines);
  }
  (void)remove(path);
  return 0;
}

/* Bit 0 of the first byte: from the campaign's shuffler; bit 1: with a signature that fits; bit 2:
 * with an epoch. */
int fuzz_greeting(const uint8_t *data, size_t size) {
  start();
  if (size < 1) return 0;
  const faro_campaign *c = &campaigns[0];
  const bool longer = data[0] & 4;
  const size_t whole = longer ? FARO_GREETING_MAX : FARO_GREETING_BYTES;
  const size_t before = whole - FARO_SIGNATURE_BYTES;
  unsigned char bytes[2 * FARO_GREETING_MAX] = "FRG2", again[FARO_GREETING_MAX];
  const size_t length = size - 1 < sizeof bytes ? size - 1 : sizeof bytes;
  faro_greeting greeting = {0};
  faro_error error = {0};
  if (longer) bytes[3] = '3';
  if (length > 4) memcpy(bytes + 4, data + 5, length - 4);
  if (data[0] & 1) memcpy(bytes + 36, shuffler.public_key, FARO_KEY_BYTES);
  if (data[0] & 2) crypto_sign_detached(bytes + before, NULL, bytes, before, shuffler.secret);
  if (faro_greeting_read(c, bytes, length, &greeting, &error) != FARO_OK) must(error.message[0] != '\0');
  else {
    must(length == whole && greeting.shuffler == 0 && greeting.longer == longer);
    must(faro_greeting_write(c, &greeting, &shuffler, again) == whole);
    must(memcmp(bytes + 68, again + 68, 16) == 0);
    must(!longer || memcmp(bytes + 88, again + 88, before - 88) == 0);
    must(greeting.same == (memcmp(bytes, again, 36) == 0));
  }
  return 0;
}

/* Only the token itself opens the door, and a password only for looking. */
int fuzz_operator(const uint8_t *data, size_t size) {
  enum { MOST = 400 };
  unsigned char token[FARO_TOKEN_BYTES], hash[2 * FARO_HASH_BYTES] = {0};
  char digits[2 * FARO_TOKEN_BYTES + 1], header[MOST + 1];
  if (size < 1) return 0;
  memset(token, 7, sizeof token);
  faro_token_hash(token, hash);
  faro_hex_write(token, sizeof token, digits);
  const size_t length = size - 1 < MOST ? size - 1 : MOST;
  memcpy(header, data + 1, length);
  header[length] = '\0';
  const bool post = data[0] & 1;
  const bool entered = faro_admin_allows(header, post, hash, 2);
  must(!entered || strlen(header) == (size_t)7 + 2 * FARO_TOKEN_BYTES || !post);
  must(!entered || strncasecmp(header, "Basic ", 6) == 0 || strcmp(header + 7, digits) == 0);
  must(!entered || faro_admin_allows(header, false, hash, 2));
  return 0;
}

int fuzz_standing(const uint8_t *data, size_t size) {
  faro_standing standing = {0};
  faro_error error = {0};
  if (faro_standing_read((const char *)data, size, 1, &standing, &error) != FARO_OK)
    must(error.message[0] != '\0');
  else must(standing.version > 0 && standing.next <= INT64_MAX && standing.epoch <= INT64_MAX);
  return 0;
}

int fuzz_reply(const uint8_t *data, size_t size) {
  static const long statuses[] = {0, 200, 302, 400, 401, 404, 409, 413, 429, 503, 421};
  faro_reply replies[3];
  if (size < 2) return 0;
  const size_t parts = data[1] % 4;
  const long status = statuses[data[0] % (sizeof statuses / sizeof *statuses)];
  faro_client_replies(status, data + 2, size - 2, data[1], replies, parts);
  for (size_t i = 0; i < parts; i++) {
    const bool elsewhere = replies[i].refusal == FARO_REFUSAL_ELSEWHERE;
    const bool same = elsewhere || replies[i].refusal == FARO_REFUSAL_TWICE;
    must(replies[i].kind <= FARO_REPLY_REFUSED && (replies[i].refusal <= FARO_REFUSAL_CLOSED || elsewhere));
    must(!same || replies[i].kind == FARO_REPLY_AGAIN);
    must(same || (replies[i].kind == FARO_REPLY_REFUSED) == (replies[i].refusal != FARO_REFUSAL_NONE));
    must(replies[i].kind != FARO_REPLY_DONE || (status == 200 && size - 2 == parts && data[2 + i] < 2));
    must(faro_refusal_text(replies[i].refusal)[0] != '\0');
  }
  return 0;
}

/* The file without its checksum, which is made here. The first version of the file has none. */
int fuzz_queue(const uint8_t *data, size_t size) {
  enum { CHECK = 32 };
  static faro_queue queue; /* large */
  bool memory = false;
  size_t length = 0;
  unsigned char *bytes = malloc(size + CHECK);
  must(bytes && sodium_init() >= 0);
  if (size > 0) memcpy(bytes, data, size);
  crypto_generichash(bytes + size, CHECK, bytes, size, NULL, 0);
  const bool line = size > 18 && data[18] == '1';
  if (faro_queue_read(&queue, bytes, line ? size : size + CHECK, &memory) && !line) {
    unsigned char *again = faro_queue_write(&queue, &length);
    /* An older file lacks what was spent, and what campaigns in phases and rounds need. */
    const size_t head = data[18] == '2' ? 128 : data[18] == '3' ? 212 : 232, more = 232 - head;
    must(again && length == size + CHECK + more && memcmp(bytes + 20, again + 20, head - 20) == 0);
    must(memcmp(bytes + head, again + 232, size - head) == 0);
    must(more > 0 || memcmp(bytes, again, length) == 0);
    free(again);
  }
  faro_queue_clear(&queue);
  memset(&queue, 0, sizeof queue);
  free(bytes);
  return 0;
}

/* Any JSON: the nodes must be whole. */
int fuzz_json(const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_tree tree = {0};
  if (faro_json_parse(&tree, (const char *)data, size, FARO_DOCUMENT_MAX, &error) != FARO_OK) {
    must(error.message[0] != '\0');
    return 0;
  }
  must(tree.count > 0 && tree.node[0].next == tree.count);
  for (uint32_t i = 0; i < tree.count; i++) {
    const faro_node *node = &tree.node[i];
    must(node->next > i && node->next <= tree.count && node->type <= FARO_NODE_MAPPING);
    must(node->type != FARO_NODE_TEXT || (node->text && strlen(node->text) <= size));
    must(node->type != FARO_NODE_NUMBER || node->number - node->number == 0);
    uint32_t child = i + 1;
    for (uint32_t k = 0; k < node->count; k++) child = tree.node[child].next;
    must(child == node->next);
  }
  faro_tree_clear(&tree);
  return 0;
}
