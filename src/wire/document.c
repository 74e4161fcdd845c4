/* document: see the header. */
#include "wire/document.h"

#include <locale.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_DIGITS = 2 * FARO_SIGNATURE_BYTES };

/* The bytes that are signed: word "\n" json. */
static unsigned char *signed_bytes(const char *word, const char *json, size_t length, size_t *size,
                                   faro_error *error) {
  const size_t head = strlen(word) + 1;
  unsigned char *bytes = malloc(head + length);
  if (!bytes) {
    (void)faro_fail(error, FARO_MEMORY, "out of memory");
    return NULL;
  }
  memcpy(bytes, word, head - 1);
  bytes[head - 1] = '\n';
  if (length > 0) memcpy(bytes + head, json, length);
  *size = head + length;
  return bytes;
}

static void hash(const unsigned char *bytes, size_t size, unsigned char *digest) {
  if (digest) crypto_generichash(digest, FARO_DIGEST_BYTES, bytes, size, NULL, 0);
}

static faro_status sign(const char *word, const faro_text *json, const faro_sign_key *key,
                        unsigned char *digest, faro_text *out, faro_error *error) {
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  size_t size = 0;
  unsigned char *bytes = signed_bytes(word, json->data, json->length, &size, error);
  if (!bytes) return FARO_MEMORY;
  unsigned char signature[FARO_SIGNATURE_BYTES];
  char digits[SIGNATURE_DIGITS + 1];
  crypto_sign_detached(signature, NULL, bytes, size, key->secret);
  hash(bytes, size, digest);
  free(bytes);
  faro_text_add(out, "%s %s\n%s", word, faro_hex_write(signature, sizeof signature, digits), json->data);
  return out->failed ? faro_fail(error, FARO_MEMORY, "out of memory") : FARO_OK;
}

faro_status faro_document_sign(const char *word, faro_text *json, const faro_sign_key *key,
                               unsigned char *digest, char **text, size_t *length, faro_error *error) {
  faro_text out = FARO_TEXT_INIT;
  faro_status status = json->failed ? faro_fail(error, FARO_MEMORY, "out of memory") : FARO_OK;
  if (status == FARO_OK) status = sign(word, json, key, digest, &out, error);
  if (status == FARO_OK && out.length > FARO_DOCUMENT_MAX)
    status = faro_fail(error, FARO_INVALID,
                       "the document would be too large: at most %d bytes are allowed (got %zu)",
                       FARO_DOCUMENT_MAX, out.length);
  faro_text_clear(json);
  if (status != FARO_OK) {
    faro_text_clear(&out);
    return status;
  }
  *text = out.data;
  *length = out.length;
  return FARO_OK;
}

faro_status faro_document_hash(const char *word, faro_text *json,
                               unsigned char digest[static FARO_DIGEST_BYTES], faro_error *error) {
  size_t size = 0;
  unsigned char *bytes = json->failed ? NULL : signed_bytes(word, json->data, json->length, &size, error);
  if (bytes) hash(bytes, size, digest);
  else (void)faro_fail(error, FARO_MEMORY, "out of memory");
  free(bytes);
  faro_text_clear(json);
  return bytes ? FARO_OK : FARO_MEMORY;
}

/* Splits off the first line: gives the signature and the start of the JSON. */
static faro_status read_line(const char *word, const char *text, size_t length, unsigned char *signature,
                             size_t *begin, faro_error *error) {
  const size_t head = strlen(word);
  if (length > FARO_DOCUMENT_MAX)
    return faro_fail(error, FARO_INVALID, "the document is too large: at most %d bytes are allowed (got %zu)",
                     FARO_DOCUMENT_MAX, length);
  const size_t stem = head - 1; /* the word without its version */
  if (length > head && memcmp(text, word, stem) == 0 && text[stem] != word[stem] && text[head] == ' ' &&
      text[stem] >= '0' && text[stem] <= '9')
    return faro_fail(error, FARO_INVALID,
                     "the document is of version %c of the protocol; this faro reads version %c", text[stem],
                     word[stem]);
  if (length < head + 1 || memcmp(text, word, head) != 0 || text[head] != ' ')
    return faro_fail(error, FARO_INVALID, "the document must begin with \"%s \"", word);
  *begin = head + 1 + SIGNATURE_DIGITS + 1;
  if (length < *begin || text[*begin - 1] != '\n' ||
      !faro_hex_read(text + head + 1, SIGNATURE_DIGITS, signature, FARO_SIGNATURE_BYTES))
    return faro_fail(error, FARO_INVALID,
                     "the first line must be \"%s \" and a signature of %d hexadecimal digits, lower case",
                     word, (int)SIGNATURE_DIGITS);
  return FARO_OK;
}

faro_status faro_document_open(const char *word, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES], unsigned char *digest,
                               faro_tree *tree, faro_error *error) {
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  unsigned char signature[FARO_SIGNATURE_BYTES];
  size_t begin = 0;
  const faro_status status = read_line(word, text, length, signature, &begin, error);
  if (status != FARO_OK) return status;
  size_t size = 0;
  unsigned char *bytes = signed_bytes(word, text + begin, length - begin, &size, error);
  if (!bytes) return FARO_MEMORY;
  const bool good = crypto_sign_verify_detached(signature, bytes, size, signer) == 0;
  hash(bytes, size, digest);
  free(bytes);
  if (!good)
    return faro_fail(error, FARO_INVALID,
                     "the signature is not the pinned key's, or the document was changed");
  return faro_json_parse(tree, text + begin, length - begin, FARO_DOCUMENT_MAX, error);
}

faro_status faro_document_read(const char *word, const char *text, size_t length, faro_tree *tree,
                               faro_error *error) {
  unsigned char signature[FARO_SIGNATURE_BYTES];
  size_t begin = 0;
  const faro_status status = read_line(word, text, length, signature, &begin, error);
  return status == FARO_OK ? faro_json_parse(tree, text + begin, length - begin, FARO_DOCUMENT_MAX, error)
                           : status;
}

/* Splits a document of any kind: its first word, and where its JSON begins. */
enum { WORD_SIZE = 32 };
static bool split(const char *text, size_t length, char word[static WORD_SIZE], size_t *begin) {
  const char *blank = memchr(text, ' ', length);
  const size_t head = blank ? (size_t)(blank - text) : WORD_SIZE;
  if (head >= WORD_SIZE) return false;
  memcpy(word, text, head);
  word[head] = '\0';
  unsigned char signature[FARO_SIGNATURE_BYTES];
  return read_line(word, text, length, signature, begin, NULL) == FARO_OK;
}

bool faro_document_is_signed(const char *text, size_t length,
                             const unsigned char signer[static FARO_KEY_BYTES]) {
  char word[WORD_SIZE];
  unsigned char signature[FARO_SIGNATURE_BYTES];
  size_t begin = 0, size = 0;
  if (!split(text, length, word, &begin) || read_line(word, text, length, signature, &begin, NULL) != FARO_OK)
    return false;
  unsigned char *bytes = signed_bytes(word, text + begin, length - begin, &size, NULL);
  const bool good = bytes && crypto_sign_verify_detached(signature, bytes, size, signer) == 0;
  free(bytes);
  return good;
}

faro_status faro_document_sign_again(const char *text, size_t length, const faro_sign_key *key, char **again,
                                     size_t *again_length, faro_error *error) {
  char word[WORD_SIZE];
  size_t begin = 0;
  faro_text json = FARO_TEXT_INIT;
  if (!split(text, length, word, &begin))
    return faro_fail(error, FARO_INVALID, "this is not a signed document");
  faro_text_add(&json, "%.*s", (int)(length - begin), text + begin);
  return faro_document_sign(word, &json, key, NULL, again, again_length, error);
}

bool faro_document_digest(const char *text, size_t length, unsigned char digest[static FARO_DIGEST_BYTES]) {
  const char *blank = memchr(text, ' ', length);
  const char *end = memchr(text, '\n', length);
  if (!blank || !end || end - blank != 1 + SIGNATURE_DIGITS) return false;
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, FARO_DIGEST_BYTES);
  crypto_generichash_update(&state, (const unsigned char *)text, (size_t)(blank - text));
  crypto_generichash_update(&state, (const unsigned char *)end, length - (size_t)(end - text));
  crypto_generichash_final(&state, digest, FARO_DIGEST_BYTES);
  return true;
}

void faro_document_add(faro_text *json, const char *before, double value) {
  char number[FARO_NUMBER_SIZE];
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t saved = plain ? uselocale(plain) : (locale_t)0;
  faro_text_add(json, "%s%s", before, faro_number(value, number));
  if (!plain) json->failed = true;
  else {
    uselocale(saved);
    freelocale(plain);
  }
}
