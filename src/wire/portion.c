/* portion: see the header. */
#include "wire/portion.h"

#include <sodium.h>
#include <string.h>

#include "base/abort.h"
#include "field/reader.h"
#include "wire/document.h"

enum { MAGIC = 4, TAG = 16, TAG_AT = 4 };
enum { SHUFFLER_AT = 20, NUMBER_AT = 24, COUNT_AT = 32, COLLECTOR_AT = 40, COLLECTORS_AT = 44, MARK_AT = 48 };
static const char portion_magic[MAGIC] = {'F', 'R', 'P', '1'};
static const char notice_magic[MAGIC] = {'F', 'R', 'Q', '1'}; /* signed before a portion, never sent */
static const char mark_word[] = "faro-portion-mark-1";
static const char collectors_word[] = "faro-collectors-1";

/* By the last bytes: those who look for clients do it by the first ones. */
size_t faro_collector_of(const unsigned char hash[static FARO_HASH_BYTES], size_t collectors) {
  return (size_t)(faro_load64(hash + FARO_HASH_BYTES - 8) % collectors);
}

uint64_t faro_portion_size(uint64_t batch, size_t collector, size_t collectors) {
  return batch / collectors + (collector < batch % collectors);
}

faro_status faro_portions_check(const faro_campaign *c, size_t shuffler, size_t collectors,
                                faro_error *error) {
  if (faro_campaign_in_phases(c))
    return faro_fail(error, FARO_INVALID,
                     "campaign %s is in phases: the sizes of its batches are not known in advance, and a "
                     "shuffler with collectors needs them. Run this shuffler as one process",
                     c->id);
  const uint64_t batches = faro_campaign_batches(c) / faro_campaign_unit(c, shuffler);
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < c->encodings; i++)
    if (c->shufflers <= 1 || i == shuffler) least = c->encoding[i].size < least ? c->encoding[i].size : least;
  if (batches == 0 || least / collectors >= FARO_PORTION_LEAST) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "campaign %s has batches of %llu reports, and %zu collectors need at least %d each: use at "
      "most %llu collectors",
      c->id, (unsigned long long)least, collectors, FARO_PORTION_LEAST,
      (unsigned long long)(least / FARO_PORTION_LEAST));
}

/* Portions. */

static size_t body_bytes(const faro_campaign *c, uint64_t count) {
  return faro_batch_size(c, count) - FARO_BATCH_HEAD - FARO_SIGNATURE_BYTES;
}

size_t faro_portion_bytes(const faro_campaign *campaign, uint64_t count) {
  return FARO_PORTION_HEAD + body_bytes(campaign, count) + FARO_SEAL_BYTES + FARO_SIGNATURE_BYTES;
}

void faro_portion_mark(const faro_campaign *campaign, faro_portion *portion, const faro_sign_key *key) {
  unsigned char number[8];
  crypto_generichash_state state;
  faro_store64(number, portion->batch.number);
  crypto_generichash_init(&state, key->secret, crypto_sign_SEEDBYTES, FARO_MARK_BYTES);
  crypto_generichash_update(&state, (const unsigned char *)mark_word, sizeof mark_word);
  crypto_generichash_update(&state, campaign->digest, FARO_DIGEST_BYTES);
  crypto_generichash_update(&state, number, sizeof number);
  crypto_generichash_update(&state, portion->batch.body, body_bytes(campaign, portion->batch.count));
  crypto_generichash_final(&state, portion->mark, FARO_MARK_BYTES);
  sodium_memzero(&state, sizeof state);
}

static void put_head(const faro_campaign *c, const faro_portion *p, unsigned char *out) {
  memcpy(out, portion_magic, MAGIC);
  memcpy(out + TAG_AT, c->digest, TAG);
  faro_store32(out + SHUFFLER_AT, p->batch.shuffler);
  faro_store64(out + NUMBER_AT, p->batch.number);
  faro_store64(out + COUNT_AT, p->batch.count);
  faro_store32(out + COLLECTOR_AT, p->collector);
  faro_store32(out + COLLECTORS_AT, p->collectors);
  memcpy(out + MARK_AT, p->mark, FARO_MARK_BYTES);
}

faro_status faro_portion_write(const faro_campaign *campaign, const faro_portion *portion,
                               const unsigned char joiner[static FARO_KEY_BYTES], const faro_sign_key *key,
                               unsigned char *out, faro_error *error) {
  unsigned char box[FARO_KEY_BYTES];
  const size_t body = body_bytes(campaign, portion->batch.count);
  const size_t end = FARO_PORTION_HEAD + body + FARO_SEAL_BYTES;
  put_head(campaign, portion, out);
  if (crypto_sign_ed25519_pk_to_curve25519(box, joiner) != 0 ||
      crypto_box_seal(out + FARO_PORTION_HEAD, portion->batch.body, body, box) != 0)
    return faro_fail(error, FARO_INVALID, "nothing can be sealed to the joiner's key");
  crypto_sign_detached(out + end, NULL, out, end, key->secret);
  return FARO_OK;
}

/* Whether a collector of this shuffler could have sent it. */
static faro_status check_portion(const faro_campaign *c, uint32_t shuffler, size_t collectors,
                                 const faro_portion *p, faro_error *error) {
  if (p->batch.shuffler != shuffler)
    return faro_fail(error, FARO_INVALID, "shuffler of a portion must be %lu (got %lu)",
                     (unsigned long)shuffler, (unsigned long)p->batch.shuffler);
  if (p->collectors != collectors || p->collector >= collectors)
    return faro_fail(error, FARO_INVALID,
                     "a portion must be from one of %zu collectors (got collector %lu of %lu); their number "
                     "cannot change within a campaign",
                     collectors, (unsigned long)p->collector, (unsigned long)p->collectors);
  const uint64_t batches = faro_campaign_batches(c) / faro_campaign_unit(c, shuffler);
  if (p->batch.number >= batches)
    return faro_fail(error, FARO_INVALID, "batch of a portion must be below %llu (got %llu)",
                     (unsigned long long)batches, (unsigned long long)p->batch.number);
  const uint64_t size =
      faro_portion_size(faro_campaign_size(c, shuffler, p->batch.number), p->collector, collectors);
  if (p->batch.count == size) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the portion of collector %lu of batch %llu must have %llu reports (got %llu)",
                   (unsigned long)p->collector, (unsigned long long)p->batch.number, (unsigned long long)size,
                   (unsigned long long)p->batch.count);
}

static faro_status read_head(const faro_campaign *c, uint32_t shuffler, size_t collectors,
                             const unsigned char *bytes, faro_portion *portion, faro_error *error) {
  if (memcmp(bytes, portion_magic, MAGIC) != 0)
    return faro_fail(error, FARO_INVALID, "a portion must begin with %.4s", portion_magic);
  if (memcmp(bytes + TAG_AT, c->digest, TAG) != 0)
    return faro_fail(error, FARO_INVALID, "a portion is of another campaign");
  *portion = (faro_portion){.collector = faro_load32(bytes + COLLECTOR_AT),
                            .collectors = faro_load32(bytes + COLLECTORS_AT),
                            .batch = {.shuffler = faro_load32(bytes + SHUFFLER_AT),
                                      .number = faro_load64(bytes + NUMBER_AT),
                                      .count = faro_load64(bytes + COUNT_AT)}};
  memcpy(portion->mark, bytes + MARK_AT, FARO_MARK_BYTES);
  return check_portion(c, shuffler, collectors, portion, error);
}

/* Opens the box where it is. */
static bool unseal(const faro_sign_key *joiner, unsigned char *box, size_t length) {
  unsigned char public_key[FARO_KEY_BYTES], secret[FARO_KEY_BYTES];
  const bool opened = crypto_sign_ed25519_pk_to_curve25519(public_key, joiner->public_key) == 0 &&
                      crypto_sign_ed25519_sk_to_curve25519(secret, joiner->secret) == 0 &&
                      crypto_box_seal_open(box + FARO_SEAL_BYTES, box, length, public_key, secret) == 0;
  sodium_memzero(secret, sizeof secret);
  return opened;
}

faro_status faro_portion_read(const faro_campaign *campaign, uint32_t shuffler, const faro_sign_key *joiner,
                              const faro_collector_key *keys, size_t collectors, unsigned char *bytes,
                              size_t length, faro_portion *portion, faro_error *error) {
  faro_portion read = {0};
  if (length < FARO_PORTION_HEAD)
    return faro_fail(error, FARO_INVALID, "a portion must have %d bytes at least (got %zu)",
                     FARO_PORTION_HEAD, length);
  faro_status status = read_head(campaign, shuffler, collectors, bytes, &read, error);
  if (status != FARO_OK) return status;
  const size_t size = faro_portion_bytes(campaign, read.batch.count), end = size - FARO_SIGNATURE_BYTES;
  if (length != size)
    return faro_fail(error, FARO_INVALID, "a portion must have %zu bytes (got %zu)", size, length);
  if (crypto_sign_verify_detached(bytes + end, bytes, end, keys[read.collector]) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of a portion is not that of collector %lu",
                     (unsigned long)read.collector);
  if (!unseal(joiner, bytes + FARO_PORTION_HEAD, end - FARO_PORTION_HEAD))
    return faro_fail(error, FARO_INVALID,
                     "a portion cannot be opened: damaged, or sealed to another key than the joiner's");
  read.batch.body = bytes + FARO_PORTION_HEAD + FARO_SEAL_BYTES;
  status = faro_batch_check_totals(campaign, &read.batch, error);
  if (status == FARO_OK) *portion = read;
  return status;
}

/* Notices. */

static void signed_part(const unsigned char *head, unsigned char out[static FARO_PORTION_HEAD]) {
  memcpy(out, head, FARO_PORTION_HEAD);
  memcpy(out, notice_magic, MAGIC);
}

void faro_portion_notice(const faro_campaign *campaign, const faro_portion *portion, const faro_sign_key *key,
                         char out[static FARO_PORTION_DIGITS + 1]) {
  unsigned char bytes[FARO_PORTION_HEAD + FARO_SIGNATURE_BYTES], part[FARO_PORTION_HEAD];
  put_head(campaign, portion, bytes);
  signed_part(bytes, part);
  crypto_sign_detached(bytes + FARO_PORTION_HEAD, NULL, part, sizeof part, key->secret);
  faro_hex_write(bytes, sizeof bytes, out);
}

faro_status faro_portion_notice_read(const faro_campaign *campaign, uint32_t shuffler,
                                     const faro_collector_key *keys, size_t collectors, const char *text,
                                     size_t length, faro_error *error) {
  unsigned char bytes[FARO_PORTION_HEAD + FARO_SIGNATURE_BYTES], part[FARO_PORTION_HEAD];
  faro_portion portion = {0};
  if (!faro_hex_read(text, length, bytes, sizeof bytes))
    return faro_fail(error, FARO_INVALID, "the notice of a portion must be %d hexadecimal digits",
                     FARO_PORTION_DIGITS);
  const faro_status status = read_head(campaign, shuffler, collectors, bytes, &portion, error);
  if (status != FARO_OK) return status;
  signed_part(bytes, part);
  if (crypto_sign_verify_detached(bytes + FARO_PORTION_HEAD, part, sizeof part, keys[portion.collector]) == 0)
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, "the signature of the notice is not that of collector %lu",
                   (unsigned long)portion.collector);
}

/* Addresses. */

static const faro_field fields[] = {
    {"campaign", FARO_FIELD_HEX, FARO_AT(faro_collectors, campaign)},
    {"shuffler", FARO_FIELD_COUNT, FARO_AT(faro_collectors, shuffler), .most = FARO_SHUFFLERS_MAX - 1},
    {"collectors", FARO_FIELD_LIST, FARO_AT(faro_collectors, count), .least = 1, .most = FARO_COLLECTORS_MAX},
    {"collectors[].url", FARO_FIELD_TEXT, FARO_EACH(faro_collectors, collector[0].url, collector)},
};

static faro_status check_urls(const faro_collectors *c, faro_error *error) {
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < c->count; i++)
    status = faro_campaign_check_url("a collector", c->collector[i].url, error);
  return status;
}

faro_status faro_collectors_write(const faro_collectors *collectors, const faro_sign_key *key, char **text,
                                  size_t *length, faro_error *error) {
  char campaign[2 * FARO_DIGEST_BYTES + 1];
  faro_text json = FARO_TEXT_INIT;
  const faro_status status = check_urls(collectors, error); /* so they need no escapes */
  if (status != FARO_OK) return status;
  faro_text_add(&json, "{\"campaign\":\"%s\",\"shuffler\":%lu,\"collectors\":[",
                faro_hex_write(collectors->campaign, FARO_DIGEST_BYTES, campaign),
                (unsigned long)collectors->shuffler);
  for (size_t i = 0; i < collectors->count; i++)
    faro_text_add(&json, "%s{\"url\":\"%s\"}", i ? "," : "", collectors->collector[i].url);
  faro_text_add(&json, "]}\n");
  return faro_document_sign(collectors_word, &json, key, NULL, text, length, error);
}

/* Whether the list is of this shuffler of this campaign. */
static faro_status check_collectors(const faro_collectors *c, const faro_campaign *campaign, size_t shuffler,
                                    faro_error *error) {
  if (memcmp(c->campaign, campaign->digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_FOREIGN, "the list of collectors is of another campaign than %s",
                     campaign->id);
  if (c->shuffler != shuffler)
    return faro_fail(error, FARO_INVALID, "the list of collectors must be that of shuffler %zu (got %lu)",
                     shuffler, (unsigned long)c->shuffler);
  return check_urls(c, error);
}

faro_status faro_collectors_open(faro_collectors *collectors, const char *text, size_t length,
                                 const faro_campaign *campaign, size_t shuffler, faro_error *error) {
  faro_tree tree = {0};
  faro_collectors read = {0};
  FARO_INVARIANT(shuffler < campaign->shufflers);
  faro_status status =
      faro_document_open(collectors_word, text, length, campaign->shuffler[shuffler].key, NULL, &tree, error);
  if (status == FARO_OK) {
    faro_reader r = {.tree = &tree, .all = true, .error = error};
    faro_read_fields(&r, 0, NULL, fields, sizeof fields / sizeof *fields, &read);
    status = faro_reader_end(&r);
  }
  faro_tree_clear(&tree);
  if (status == FARO_OK) status = check_collectors(&read, campaign, shuffler, error);
  if (status == FARO_OK) *collectors = read;
  return status;
}
