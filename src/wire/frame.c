/* frame: reports and batches as bytes. wire.h describes their layout. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "wire/frame_inner.h"
#include "wire/split.h"

enum { MAGIC = FARO_MAGIC, TAG = FARO_TAG, TAG_AT = FARO_REPORT_CAMPAIGN_AT };
/* Offsets in the head of a report, and in that of a batch. */
enum { VERSION_AT = 20, SEQUENCE_AT = 28, SHUFFLER_AT = 36, TOKEN_AT = 40 };
enum { BATCH_SHUFFLER_AT = 20, BATCH_NUMBER_AT = 24, BATCH_COUNT_AT = 32 };
static const char report_magic[MAGIC] = {'F', 'R', 'R', '2'};
static const char batch_magic[MAGIC] = {'F', 'R', 'B', '2'};
static const char notice_magic[MAGIC] = {'F', 'R', 'H', '2'}; /* signed before a batch, never sent */

static size_t entry_count(const faro_campaign *c) { return c->entries; }
/* What a box holds. */
static size_t sealed_size(const faro_campaign *c) {
  return faro_report_body(false, entry_count(c)) - FARO_SEAL_BYTES;
}
static bool counts(const faro_campaign *c) { return faro_campaign_form(c) == FARO_WIRE_BITS; }

/* What reports of a version name: the campaign, or its plan of that version. A plan names its
 * campaign. NULL if that plan is not known. */
static const unsigned char *named(const faro_campaign *c, uint64_t version) {
  if (!faro_campaign_in_phases(c)) return c->digest;
  const faro_plan_row *plan = c->plans ? faro_plans_at(c->plans, version) : NULL;
  return plan ? plan->digest : NULL;
}

static size_t body_size(const faro_campaign *c) {
  if (faro_campaign_is_split(c)) return faro_split_body(c);
  return faro_report_body(counts(c), entry_count(c));
}

size_t faro_wire_report_entries(const faro_campaign *campaign) { return entry_count(campaign); }
size_t faro_wire_report_size(const faro_campaign *campaign) { return FARO_REPORT_HEAD + body_size(campaign); }

static bool allowed(const faro_encoding *e, int64_t number) {
  return number >= e->least && number <= e->most;
}

/* How a report is made: for the batch that its policy is for. */
static const faro_encoding *encoding_of(const faro_campaign *c, const faro_wire_report *report) {
  return faro_campaign_encoding(c, report->shuffler, report->version - 1);
}

static bool in_range(const faro_campaign *c, const faro_wire_report *report, const uint64_t *numbers) {
  for (size_t i = 0; i < entry_count(c); i++)
    if (!allowed(encoding_of(c, report), (int64_t)numbers[i])) return false;
  return true;
}

/* Seals in place, so no copy of the message stays. The box contains nothing that tells clients
 * apart: the analyzer gets the boxes shuffled, and the version of a policy would narrow down who
 * sent it. */
static faro_status seal(const faro_campaign *c, const unsigned char *digest, const uint64_t *numbers,
                        unsigned char *body, faro_error *error) {
  const size_t size = sealed_size(c);
  unsigned char *plain = body + FARO_SEAL_BYTES; /* crypto_box_easy can work in place */
  memcpy(plain, digest, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < entry_count(c); i++) faro_store64(plain + FARO_DIGEST_BYTES + 8 * i, numbers[i]);
  if (crypto_box_seal(body, plain, size, c->seal) == 0) return FARO_OK;
  sodium_memzero(body, size + FARO_SEAL_BYTES);
  return faro_fail(error, FARO_SYSTEM, "libsodium cannot seal"); /* bad keys were refused before */
}

static faro_status split(const faro_campaign *c, size_t shuffler, const uint64_t *numbers, unsigned char *out,
                         faro_error *error) {
  unsigned char seed[FARO_SEED_BYTES];
  randombytes_buf(seed, sizeof seed);
  const faro_status status = faro_split_write(c, shuffler, numbers, seed, out + FARO_REPORT_HEAD, error);
  sodium_memzero(seed, sizeof seed);
  return status;
}

void faro_wire_report_restamp(unsigned char *report, uint64_t version, uint64_t sequence,
                              const unsigned char token[static FARO_TOKEN_BYTES]) {
  faro_store64(report + VERSION_AT, version);
  faro_store64(report + SEQUENCE_AT, sequence);
  memcpy(report + TOKEN_AT, token, FARO_TOKEN_BYTES);
}

faro_wire_report faro_wire_report_head(const unsigned char *report) {
  faro_wire_report head = {.version = faro_load64(report + VERSION_AT),
                           .sequence = faro_load64(report + SEQUENCE_AT),
                           .shuffler = faro_load32(report + SHUFFLER_AT),
                           .body = report + FARO_REPORT_HEAD};
  memcpy(head.token, report + TOKEN_AT, FARO_TOKEN_BYTES);
  return head;
}

static bool has_tag(const unsigned char *head, const unsigned char *digest) {
  return digest && memcmp(head + TAG_AT, digest, TAG) == 0;
}

bool faro_wire_report_is_for(const faro_campaign *campaign, const unsigned char *report) {
  return has_tag(report, named(campaign, faro_load64(report + VERSION_AT)));
}

bool faro_wire_report_is_ahead(const faro_campaign *campaign, const unsigned char *report) {
  if (!faro_campaign_in_phases(campaign) || (campaign->plans && faro_plans_over(campaign->plans)))
    return false;
  const uint64_t newest = campaign->plans ? faro_plans_newest(campaign->plans) : 0;
  return faro_load64(report + VERSION_AT) == newest + 1;
}

faro_status faro_wire_report_write(const faro_campaign *campaign, const faro_wire_report *report,
                                   const uint64_t *numbers, unsigned char *out, faro_error *error) {
  FARO_INVARIANT(report->shuffler < faro_campaign_targets(campaign));
  FARO_INVARIANT(in_range(campaign, report, numbers));
  const unsigned char *digest = named(campaign, report->version);
  FARO_INVARIANT(digest);
  memcpy(out, report_magic, MAGIC);
  memcpy(out + TAG_AT, digest, TAG);
  faro_wire_report_restamp(out, report->version, report->sequence, report->token);
  faro_store32(out + SHUFFLER_AT, report->shuffler);
  if (faro_campaign_is_split(campaign)) return split(campaign, report->shuffler, numbers, out, error);
  if (!counts(campaign)) return seal(campaign, digest, numbers, out + FARO_REPORT_HEAD, error);
  for (size_t i = 0; i < entry_count(campaign); i++)
    faro_store32(out + FARO_REPORT_HEAD + 4 * i, (uint32_t)numbers[i]);
  return FARO_OK;
}

static faro_status check_head(const unsigned char *digest, const char *magic, const char *what,
                              const unsigned char *bytes, faro_error *error) {
  if (memcmp(bytes, magic, MAGIC) != 0)
    return faro_fail(error, FARO_INVALID, "%s must begin with %.4s", what, magic);
  if (!has_tag(bytes, digest)) return faro_fail(error, FARO_INVALID, "%s is of another campaign", what);
  return FARO_OK;
}

faro_status faro_wire_report_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                                  faro_wire_report *report, faro_error *error) {
  const size_t size = faro_wire_report_size(campaign);
  if (length != size)
    return faro_fail(error, FARO_INVALID, "a report must have %zu bytes (got %zu)", size, length);
  const unsigned char *digest = named(campaign, faro_load64(bytes + VERSION_AT));
  const faro_status status = check_head(digest, report_magic, "a report", bytes, error);
  if (status != FARO_OK) return status;
  const faro_wire_report read = faro_wire_report_head(bytes);
  if (read.version < 1 || read.sequence < 1 || read.version > INT64_MAX || read.sequence > INT64_MAX)
    return faro_fail(error, FARO_INVALID, "version and sequence number of a report must be 1 .. 2^63 - 1");
  if (read.shuffler >= faro_campaign_targets(campaign))
    return faro_fail(error, FARO_INVALID, "shuffler of a report must be below %zu (got %lu)",
                     faro_campaign_targets(campaign), (unsigned long)read.shuffler);
  const faro_encoding *e = encoding_of(campaign, &read);
  if (counts(campaign) && !faro_campaign_is_split(campaign))
    for (size_t i = 0; i < entry_count(campaign); i++)
      if (!allowed(e, faro_load32(read.body + 4 * i)))
        return faro_fail(error, FARO_INVALID, "entry %zu of a report must be %lld .. %lld (got %lu)", i,
                         (long long)e->least, (long long)e->most,
                         (unsigned long)faro_load32(read.body + 4 * i));
  *report = read;
  return FARO_OK;
}

static faro_status read_sealed(const faro_campaign *c, uint64_t batch, const unsigned char *plain,
                               int64_t *numbers, faro_error *error) {
  const faro_encoding *e = faro_campaign_encoding(c, 0, batch);
  const unsigned char *digest = named(c, batch + 1);
  if (!digest || memcmp(plain, digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID, "a sealed report is of another campaign%s",
                     faro_campaign_in_phases(c) ? " or plan" : "");
  const unsigned char *entry = plain + FARO_DIGEST_BYTES;
  for (size_t i = 0; i < entry_count(c); i++) {
    const int64_t number = (int64_t)faro_load64(entry + 8 * i);
    if (!allowed(e, number))
      return faro_fail(error, FARO_INVALID, "entry %zu of a sealed report must be %lld .. %lld", i,
                       (long long)e->least, (long long)e->most); /* the value itself is private */
  }
  for (size_t i = 0; i < entry_count(c); i++) numbers[i] = (int64_t)faro_load64(entry + 8 * i);
  return FARO_OK;
}

faro_status faro_wire_report_unseal(const faro_campaign *campaign, const faro_seal_key *key, uint64_t batch,
                                    const unsigned char *body, int64_t *numbers, faro_error *error) {
  const size_t size = sealed_size(campaign);
  unsigned char *plain = malloc(size);
  if (!plain) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = FARO_OK;
  if (crypto_box_seal_open(plain, body, size + FARO_SEAL_BYTES, key->public_key, key->secret) != 0)
    status =
        faro_fail(error, FARO_INVALID, "a sealed report cannot be opened: damaged, or sealed to another key");
  else status = read_sealed(campaign, batch, plain, numbers, error);
  sodium_memzero(plain, size);
  free(plain);
  return status;
}

/* Batches. */

size_t faro_batch_body(const faro_campaign *campaign, uint64_t count) {
  const faro_campaign *c = campaign;
  if (faro_campaign_is_split(c)) return 8 * entry_count(c) + faro_sum_size(c);
  return counts(c) ? 8 * entry_count(c) : (size_t)count * body_size(c);
}

size_t faro_batch_size(const faro_campaign *campaign, uint64_t count) {
  return FARO_BATCH_HEAD + faro_batch_body(campaign, count) + FARO_SIGNATURE_BYTES;
}

void faro_batch_head_write(const faro_campaign *campaign, const char magic[static FARO_MAGIC],
                           const faro_batch *batch, unsigned char *out) {
  memcpy(out, magic, MAGIC);
  memcpy(out + TAG_AT, campaign->digest, TAG);
  faro_store32(out + BATCH_SHUFFLER_AT, batch->shuffler);
  faro_store64(out + BATCH_NUMBER_AT, batch->number);
  faro_store64(out + BATCH_COUNT_AT, batch->count);
}

void faro_batch_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                      unsigned char *out) {
  const size_t size = faro_batch_size(campaign, batch->count) - FARO_SIGNATURE_BYTES;
  faro_batch_head_write(campaign, batch_magic, batch, out);
  memcpy(out + FARO_BATCH_HEAD, batch->body, size - FARO_BATCH_HEAD);
  crypto_sign_detached(out + size, NULL, out, size, key->secret);
}

/* Whether a shuffler of the campaign could have sent it. */
static faro_status check_batch(const faro_campaign *c, const faro_batch *batch, faro_error *error) {
  if (batch->shuffler >= c->shufflers)
    return faro_fail(error, FARO_INVALID, "shuffler of a batch must be below %zu (got %lu)", c->shufflers,
                     (unsigned long)batch->shuffler);
  const uint64_t batches = faro_campaign_batches(c) / faro_campaign_unit(c, batch->shuffler);
  if (batch->number >= batches)
    return faro_fail(error, FARO_INVALID, "batches of shuffler %lu must be below %llu (got %llu)",
                     (unsigned long)batch->shuffler, (unsigned long long)batches,
                     (unsigned long long)batch->number);
  const uint64_t size = faro_campaign_size(c, batch->shuffler, batch->number);
  if (batch->count != size)
    return faro_fail(error, FARO_INVALID, "batch %llu of shuffler %lu must have %llu reports (got %llu)",
                     (unsigned long long)batch->number, (unsigned long)batch->shuffler,
                     (unsigned long long)size, (unsigned long long)batch->count);
  return FARO_OK;
}

faro_status faro_batch_check_totals(const faro_campaign *c, const faro_batch *batch, faro_error *error) {
  if (!counts(c)) return FARO_OK;
  const faro_encoding *e = faro_campaign_encoding(c, batch->shuffler, batch->number);
  const uint64_t least = batch->count * (uint64_t)e->least;
  const uint64_t most = batch->count * (uint64_t)e->most; /* below 2^62, as the release ensures */
  for (size_t i = 0; i < entry_count(c); i++)
    if (faro_load64(batch->body + 8 * i) < least || faro_load64(batch->body + 8 * i) > most)
      return faro_fail(error, FARO_INVALID, "total %zu of a batch must be %llu .. %llu", i,
                       (unsigned long long)least, (unsigned long long)most);
  return FARO_OK;
}

faro_status faro_batch_head_read(const faro_campaign *campaign, const char magic[static FARO_MAGIC],
                                 const char *what, const unsigned char *bytes, faro_batch *batch,
                                 faro_error *error) {
  const faro_status status = check_head(campaign->digest, magic, what, bytes, error);
  if (status != FARO_OK) return status;
  *batch = (faro_batch){.shuffler = faro_load32(bytes + BATCH_SHUFFLER_AT),
                        .number = faro_load64(bytes + BATCH_NUMBER_AT),
                        .count = faro_load64(bytes + BATCH_COUNT_AT)};
  return check_batch(campaign, batch, error);
}

faro_status faro_batch_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                            faro_batch *batch, faro_error *error) {
  faro_batch read;
  if (length < FARO_BATCH_HEAD)
    return faro_fail(error, FARO_INVALID, "a batch must have %d bytes at least (got %zu)", FARO_BATCH_HEAD,
                     length);
  faro_status status = faro_batch_head_read(campaign, batch_magic, "a batch", bytes, &read, error);
  if (status != FARO_OK) return status;
  read.body = bytes + FARO_BATCH_HEAD;
  const size_t size = faro_batch_size(campaign, read.count);
  if (length != size)
    return faro_fail(error, FARO_INVALID, "a batch must have %zu bytes (got %zu)", size, length);
  if (crypto_sign_verify_detached(bytes + size - FARO_SIGNATURE_BYTES, bytes, size - FARO_SIGNATURE_BYTES,
                                  campaign->shuffler[read.shuffler].key) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of a batch is not that of shuffler %lu",
                     (unsigned long)read.shuffler);
  status = faro_campaign_is_split(campaign)
               ? faro_sum_check(campaign, &read, read.body + 8 * entry_count(campaign), error)
               : faro_batch_check_totals(campaign, &read, error);
  if (status == FARO_OK) *batch = read;
  return status;
}

/* Notices. */

static void signed_part(const unsigned char *head, unsigned char out[static FARO_BATCH_HEAD]) {
  memcpy(out, head, FARO_BATCH_HEAD);
  memcpy(out, notice_magic, MAGIC);
}

void faro_notice_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                       char out[static FARO_NOTICE_DIGITS + 1]) {
  unsigned char bytes[FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES];
  unsigned char part[FARO_BATCH_HEAD];
  faro_batch_head_write(campaign, batch_magic, batch, bytes);
  signed_part(bytes, part);
  crypto_sign_detached(bytes + FARO_BATCH_HEAD, NULL, part, sizeof part, key->secret);
  faro_hex_write(bytes, sizeof bytes, out);
}

faro_status faro_notice_read(const faro_campaign *campaign, const char *text, size_t length,
                             faro_batch *batch, faro_error *error) {
  unsigned char bytes[FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES];
  unsigned char part[FARO_BATCH_HEAD];
  faro_batch read;
  if (!faro_hex_read(text, length, bytes, sizeof bytes))
    return faro_fail(error, FARO_INVALID, "the notice of a batch must be %d hexadecimal digits",
                     FARO_NOTICE_DIGITS);
  const faro_status status = faro_batch_head_read(campaign, batch_magic, "a batch", bytes, &read, error);
  if (status != FARO_OK) return status;
  signed_part(bytes, part);
  if (crypto_sign_verify_detached(bytes + FARO_BATCH_HEAD, part, sizeof part,
                                  campaign->shuffler[read.shuffler].key) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of the notice is not that of shuffler %lu",
                     (unsigned long)read.shuffler);
  *batch = read;
  return FARO_OK;
}
