/* split: see the header. */
#include "wire/split.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame_inner.h"

static const char shares_magic[FARO_MAGIC] = {'F', 'R', 'X', '1'};
static const char sum_magic[FARO_MAGIC] = {'F', 'R', 'A', '1'};

bool faro_campaign_is_split(const faro_campaign *campaign) { return campaign->adders > 0; }

/* Totals are below 2^62, as the release ensures. */
unsigned faro_split_width(const faro_campaign *campaign) {
  uint64_t most = 0;
  unsigned width = FARO_SPLIT_SPARE;
  for (size_t i = 0; i < campaign->encodings; i++) {
    const uint64_t total = campaign->encoding[i].size * (uint64_t)campaign->encoding[i].most;
    if (total > most) most = total;
  }
  for (; most > 0; most >>= 1) width++;
  return width < 64 ? width : 64;
}

size_t faro_split_packed(const faro_campaign *campaign) {
  return (campaign->entries * campaign->share_bits + 7) / 8;
}

size_t faro_split_body(const faro_campaign *campaign) { return faro_split_packed(campaign) + FARO_BOX_BYTES; }

/* Numbers modulo 2^width. */

static uint64_t cut(uint64_t number, unsigned width) {
  return width > 0 ? number & (UINT64_MAX >> (64 - width)) : 0;
}

enum { WORDS = 64 }; /* numbers that are drawn at once */

/* Draws the numbers of a mask from `at` on, which is a multiple of WORDS: 8 bytes of ChaCha20 each,
 * cut to `width` bits. A seed is used once, so the nonce is zero. Returns how many there are. */
static size_t draw(const unsigned char *seed, unsigned width, size_t entries, size_t at,
                   uint64_t out[static WORDS]) {
  static const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES];
  unsigned char stream[8 * WORDS] = {0};
  const size_t count = entries - at < WORDS ? entries - at : WORDS;
  crypto_stream_chacha20_xor_ic(stream, stream, 8 * count, nonce, at / 8, seed); /* blocks of 64 bytes */
  for (size_t i = 0; i < count; i++) out[i] = cut(faro_load64(stream + 8 * i), width);
  sodium_memzero(stream, sizeof stream);
  return count;
}

void faro_split_mask(const unsigned char seed[static FARO_SEED_BYTES], unsigned width, size_t entries,
                     uint64_t *mask) {
  uint64_t word[WORDS];
  for (size_t at = 0, count = 0; at < entries; at += count) {
    count = draw(seed, width, entries, at, word);
    memcpy(mask + at, word, count * sizeof *word);
  }
  sodium_memzero(word, sizeof word);
}

/* Entry i takes the bits width * i and up. `out` begins as zeros. */
static void put(unsigned char *out, size_t i, unsigned width, uint64_t number) {
  size_t bit = i * width;
  for (unsigned left = width; left > 0;) {
    const unsigned room = 8 - bit % 8;
    const unsigned taken = left < room ? left : room;
    out[bit / 8] |= (unsigned char)((number & ((1U << taken) - 1)) << (bit % 8));
    number >>= taken;
    bit += taken;
    left -= taken;
  }
}

static uint64_t get(const unsigned char *from, size_t i, unsigned width) {
  size_t bit = i * width;
  uint64_t number = 0;
  for (unsigned done = 0; done < width;) {
    const unsigned room = 8 - bit % 8;
    const unsigned taken = width - done < room ? width - done : room;
    number |= (uint64_t)((unsigned)from[bit / 8] >> (bit % 8) & ((1U << taken) - 1)) << done;
    done += taken;
    bit += taken;
  }
  return number;
}

/* Clients. */

/* Seals in place, so no copy of the seed stays. */
static faro_status seal_seed(const faro_campaign *c, size_t shuffler, const unsigned char *seed,
                             unsigned char *box, faro_error *error) {
  unsigned char *plain = box + FARO_SEAL_BYTES;
  memcpy(plain, c->digest, FARO_DIGEST_BYTES);
  memcpy(plain + FARO_DIGEST_BYTES, seed, FARO_SEED_BYTES);
  if (crypto_box_seal(box, plain, FARO_DIGEST_BYTES + FARO_SEED_BYTES, c->adder[shuffler].seal) == 0)
    return FARO_OK;
  sodium_memzero(box, FARO_BOX_BYTES);
  return faro_fail(error, FARO_SYSTEM, "libsodium cannot seal"); /* bad keys were refused before */
}

faro_status faro_split_write(const faro_campaign *campaign, size_t shuffler, const uint64_t *counts,
                             const unsigned char seed[static FARO_SEED_BYTES], unsigned char *body,
                             faro_error *error) {
  const unsigned width = campaign->share_bits;
  const size_t packed = faro_split_packed(campaign);
  uint64_t word[WORDS];
  memset(body, 0, packed);
  for (size_t at = 0, count = 0; at < campaign->entries; at += count) {
    count = draw(seed, width, campaign->entries, at, word);
    for (size_t i = 0; i < count; i++) put(body, at + i, width, cut(counts[at + i] - word[i], width));
  }
  sodium_memzero(word, sizeof word);
  return seal_seed(campaign, shuffler, seed, body + packed, error);
}

/* Shufflers. */

void faro_split_add(const faro_campaign *campaign, const unsigned char *body, unsigned char *totals) {
  const unsigned width = campaign->share_bits;
  for (size_t i = 0; i < campaign->entries; i++) {
    unsigned char *total = totals + 8 * i;
    faro_store64(total, cut(faro_load64(total) + get(body, i, width), width));
  }
}

size_t faro_shares_size(uint64_t count) {
  return FARO_BATCH_HEAD + (size_t)count * FARO_BOX_BYTES + FARO_SIGNATURE_BYTES;
}

void faro_shares_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                       unsigned char *out) {
  const size_t size = faro_shares_size(batch->count) - FARO_SIGNATURE_BYTES;
  faro_batch_head_write(campaign, shares_magic, batch, out);
  memcpy(out + FARO_BATCH_HEAD, batch->body, size - FARO_BATCH_HEAD);
  crypto_sign_detached(out + size, NULL, out, size, key->secret);
}

/* Adders. */

faro_status faro_shares_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                             faro_batch *batch, faro_error *error) {
  faro_batch read;
  if (length < FARO_BATCH_HEAD)
    return faro_fail(error, FARO_INVALID, "shares must have %d bytes at least (got %zu)", FARO_BATCH_HEAD,
                     length);
  const faro_status status = faro_batch_head_read(campaign, shares_magic, "shares", bytes, &read, error);
  if (status != FARO_OK) return status;
  const size_t size = faro_shares_size(read.count);
  if (length != size)
    return faro_fail(error, FARO_INVALID, "shares of %llu reports must have %zu bytes (got %zu)",
                     (unsigned long long)read.count, size, length);
  if (crypto_sign_verify_detached(bytes + size - FARO_SIGNATURE_BYTES, bytes, size - FARO_SIGNATURE_BYTES,
                                  campaign->shuffler[read.shuffler].key) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of shares is not that of shuffler %lu",
                     (unsigned long)read.shuffler);
  read.body = bytes + FARO_BATCH_HEAD;
  *batch = read;
  return FARO_OK;
}

static void add_mask(const faro_campaign *c, const unsigned char *seed, uint64_t *sums) {
  uint64_t word[WORDS];
  for (size_t at = 0, count = 0; at < c->entries; at += count) {
    count = draw(seed, c->share_bits, c->entries, at, word);
    for (size_t i = 0; i < count; i++) sums[at + i] = cut(sums[at + i] + word[i], c->share_bits);
  }
  sodium_memzero(word, sizeof word);
}

faro_status faro_share_add(const faro_campaign *campaign, const faro_seal_key *key,
                           const unsigned char box[static FARO_BOX_BYTES], uint64_t *sums,
                           faro_error *error) {
  unsigned char plain[FARO_DIGEST_BYTES + FARO_SEED_BYTES];
  if (crypto_box_seal_open(plain, box, FARO_BOX_BYTES, key->public_key, key->secret) != 0)
    return faro_fail(error, FARO_INVALID, "a share cannot be opened: damaged, or sealed to another key");
  const bool ours = memcmp(plain, campaign->digest, FARO_DIGEST_BYTES) == 0;
  if (ours) add_mask(campaign, plain + FARO_DIGEST_BYTES, sums);
  sodium_memzero(plain, sizeof plain);
  return ours ? FARO_OK : faro_fail(error, FARO_INVALID, "a share is of another campaign");
}

static size_t sum_plain(const faro_campaign *c) { return 8 + 8 * c->entries; }

size_t faro_sum_size(const faro_campaign *campaign) {
  return FARO_BATCH_HEAD + FARO_SEAL_BYTES + sum_plain(campaign) + FARO_SIGNATURE_BYTES;
}

faro_status faro_sum_write(const faro_campaign *campaign, const faro_batch *batch, uint64_t left_out,
                           const uint64_t *sums, const faro_sign_key *key, unsigned char *out,
                           faro_error *error) {
  const size_t size = faro_sum_size(campaign) - FARO_SIGNATURE_BYTES;
  unsigned char *box = out + FARO_BATCH_HEAD;
  unsigned char *plain = box + FARO_SEAL_BYTES;
  faro_batch_head_write(campaign, sum_magic, batch, out);
  faro_store64(plain, left_out);
  for (size_t i = 0; i < campaign->entries; i++) faro_store64(plain + 8 + 8 * i, sums[i]);
  if (crypto_box_seal(box, plain, sum_plain(campaign), campaign->seal) != 0) {
    sodium_memzero(out, size);
    return faro_fail(error, FARO_SYSTEM, "libsodium cannot seal");
  }
  crypto_sign_detached(out + size, NULL, out, size, key->secret);
  return FARO_OK;
}

/* Analyzers. */

faro_status faro_sum_check(const faro_campaign *campaign, const faro_batch *batch, const unsigned char *bytes,
                           faro_error *error) {
  faro_batch read;
  const size_t size = faro_sum_size(campaign) - FARO_SIGNATURE_BYTES;
  const faro_status status = faro_batch_head_read(campaign, sum_magic, "a sum", bytes, &read, error);
  if (status != FARO_OK) return status;
  if (read.shuffler != batch->shuffler || read.number != batch->number)
    return faro_fail(error, FARO_INVALID,
                     "a sum must be that of batch %llu of shuffler %lu (got batch %llu of shuffler %lu)",
                     (unsigned long long)batch->number, (unsigned long)batch->shuffler,
                     (unsigned long long)read.number, (unsigned long)read.shuffler);
  if (crypto_sign_verify_detached(bytes + size, bytes, size, campaign->adder[read.shuffler].key) != 0)
    return faro_fail(error, FARO_INVALID, "the signature of a sum is not that of adder %lu",
                     (unsigned long)read.shuffler);
  return FARO_OK;
}

/* The values themselves are not named: totals of a batch that is refused stay private. */
static faro_status join(const faro_campaign *c, const faro_batch *batch, const unsigned char *plain,
                        int64_t *totals, faro_error *error) {
  const faro_encoding *e = faro_campaign_encoding(c, batch->shuffler, batch->number);
  const int64_t least = (int64_t)batch->count * e->least;
  const int64_t most = (int64_t)batch->count * e->most; /* below 2^62, as the release ensures */
  const uint64_t left_out = faro_load64(plain);
  size_t wrong = 0;
  if (left_out > 0)
    return faro_fail(error, FARO_INVALID,
                     "the adder could not open, or had added before, %llu of %llu shares",
                     (unsigned long long)left_out, (unsigned long long)batch->count);
  for (size_t i = 0; i < c->entries; i++) {
    const uint64_t sum = faro_load64(batch->body + 8 * i) + faro_load64(plain + 8 + 8 * i);
    totals[i] = (int64_t)cut(sum, c->share_bits);
    wrong += totals[i] < least || totals[i] > most;
  }
  if (wrong == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "a total of the batch is out of range: it must be %lld .. %lld (%zu of %zu are not)",
                   (long long)least, (long long)most, wrong, c->entries);
}

faro_status faro_split_join(const faro_campaign *campaign, const faro_batch *batch, const faro_seal_key *key,
                            int64_t *totals, faro_error *error) {
  const unsigned char *box = batch->body + 8 * campaign->entries + FARO_BATCH_HEAD;
  const size_t size = sum_plain(campaign);
  unsigned char *plain = malloc(size);
  if (!plain) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = FARO_OK;
  if (crypto_box_seal_open(plain, box, size + FARO_SEAL_BYTES, key->public_key, key->secret) != 0)
    status = faro_fail(error, FARO_INVALID, "a sum cannot be opened: it is sealed to another key");
  else status = join(campaign, batch, plain, totals, error);
  sodium_memzero(plain, size);
  free(plain);
  return status;
}
