/* credentials: keys and tokens, and their files. A file is written once, as a whole, and never
 * overwritten. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "wire/wire.h"

enum { TOKENS_MAX = 10000000, LINE_MAX_BYTES = 256 };

static faro_status start(faro_error *error) {
  return sodium_init() < 0 ? faro_fail(error, FARO_SYSTEM, "libsodium cannot start") : FARO_OK;
}

static faro_status failed(const char *path, const char *what, faro_error *error) {
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be %s: %s", faro_path_end(path), what, strerror(errno));
}

/* Files. */

/* Writes a new file; durable on return. */
static faro_status write_new(const char *path, bool secret, const char *bytes, size_t length,
                             faro_error *error) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, secret ? 0600 : 0644);
  if (fd < 0 && errno == EEXIST)
    return faro_fail(error, FARO_INVALID, "%s exists already and is not overwritten", faro_path_end(path));
  if (fd < 0) return failed(path, "created", error);
  const bool written = faro_write_all(fd, bytes, length) && fsync(fd) == 0;
  const int reason = errno;
  close(fd);
  if (written) return FARO_OK;
  (void)unlink(path);
  errno = reason;
  return failed(path, "written", error);
}

/* Refuses secrets that others may read, and devices and pipes. */
static faro_status check_file(int fd, const char *path, bool secret, size_t limit, size_t *size,
                              faro_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return faro_fail(error, FARO_INVALID, "%s must be a plain file", faro_path_end(path));
  if (secret && (info.st_mode & 077) != 0)
    return faro_fail(error, FARO_INVALID, "%s must not be readable by others: chmod 600 (mode is %03o)",
                     faro_path_end(path), (unsigned)(info.st_mode & 0777));
  if (info.st_size > (off_t)limit)
    return faro_fail(error, FARO_INVALID, "%s: too large: at most %zu bytes are allowed", faro_path_end(path),
                     limit);
  *size = (size_t)info.st_size;
  return FARO_OK;
}

static bool read_all(int fd, char *bytes, size_t length) {
  while (length > 0) {
    const ssize_t got = read(fd, bytes, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    length -= (size_t)got;
  }
  return true;
}

/* Reads a file of at most `limit` bytes. The caller wipes and frees it. */
static faro_status read_whole(const char *path, bool secret, size_t limit, char **text, size_t *length,
                              faro_error *error) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return faro_fail(error, FARO_INVALID, "%s: cannot be read: %s", faro_path_end(path), strerror(errno));
  size_t size = 0;
  const faro_status status = check_file(fd, path, secret, limit, &size, error);
  char *made = status == FARO_OK ? malloc(size + 1) : NULL;
  const bool whole = made && read_all(fd, made, size);
  close(fd);
  if (whole) {
    *text = made;
    *length = size;
    return FARO_OK;
  }
  if (status != FARO_OK) return status;
  if (!made) return faro_fail(error, FARO_MEMORY, "out of memory");
  sodium_memzero(made, size);
  free(made);
  return faro_fail(error, FARO_INVALID, "%s: cannot be read to the end", faro_path_end(path));
}

/* Keys. */

static bool is_secret(const char *kind) { return strstr(kind, "-public-") == NULL; }

faro_status faro_key_save(const char *path, const char *kind, const unsigned char *bytes, size_t length,
                          faro_error *error) {
  char line[LINE_MAX_BYTES];
  char digits[2 * FARO_SECRET_BYTES + 1];
  const int size = snprintf(line, sizeof line, "%s %s\n", kind, faro_hex_write(bytes, length, digits));
  const faro_status status = write_new(path, is_secret(kind), line, (size_t)size, error);
  sodium_memzero(line, sizeof line);
  sodium_memzero(digits, sizeof digits);
  return status;
}

static bool read_key(const char *text, size_t length, const char *kind, unsigned char *bytes, size_t size) {
  const size_t head = strlen(kind);
  if (length > 0 && text[length - 1] == '\n') length--;
  return length > head && memcmp(text, kind, head) == 0 && text[head] == ' ' &&
         faro_hex_read(text + head + 1, length - head - 1, bytes, size);
}

/* The kind of key that a file holds, if it is one of the four but not `kind`; else NULL. This is
 * checked before the file's mode: a public key may be readable by all, and a chmod would not make
 * it a secret one. */
static const char *other_kind(const char *path, const char *kind) {
  static const char *const kinds[] = {FARO_SIGN_SECRET, FARO_SIGN_PUBLIC, FARO_SEAL_SECRET, FARO_SEAL_PUBLIC};
  char head[32] = "";
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || read(fd, head, sizeof head - 1) <= 0) head[0] = '\0';
  if (fd >= 0) close(fd);
  head[strcspn(head, " ")] = '\0';
  const char *found = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(head, kinds[i]) == 0 && strcmp(head, kind) != 0) found = kinds[i];
  sodium_memzero(head, sizeof head);
  return found;
}

static const char *words_of(const char *kind) {
  if (strcmp(kind, FARO_SIGN_SECRET) == 0) return "secret signing";
  if (strcmp(kind, FARO_SIGN_PUBLIC) == 0) return "public signing";
  return strcmp(kind, FARO_SEAL_SECRET) == 0 ? "secret sealing" : "public sealing";
}

faro_status faro_key_load(const char *path, const char *kind, unsigned char *bytes, size_t length,
                          faro_error *error) {
  const char *other = other_kind(path, kind);
  if (other)
    return faro_fail(error, FARO_INVALID, "%s holds a %s key, and a %s one is needed (%s)",
                     faro_path_end(path), words_of(other), words_of(kind),
                     is_secret(kind) ? ".secret" : ".public");
  char *text = NULL;
  size_t size = 0;
  unsigned char key[FARO_SECRET_BYTES];
  faro_status status = start(error);
  if (status == FARO_OK) status = read_whole(path, is_secret(kind), LINE_MAX_BYTES, &text, &size, error);
  if (status != FARO_OK) return status;
  if (read_key(text, size, kind, key, length)) memcpy(bytes, key, length);
  else
    status = faro_fail(error, FARO_INVALID,
                       "%s must hold one line: \"%s \" and %zu hexadecimal digits, lower case",
                       faro_path_end(path), kind, 2 * length);
  sodium_memzero(key, sizeof key);
  sodium_memzero(text, size);
  free(text);
  return status;
}

faro_status faro_sign_key_make(faro_sign_key *key, faro_error *error) {
  const faro_status status = start(error);
  if (status == FARO_OK) crypto_sign_keypair(key->public_key, key->secret);
  return status;
}

faro_status faro_seal_key_make(faro_seal_key *key, faro_error *error) {
  const faro_status status = start(error);
  if (status == FARO_OK) crypto_box_keypair(key->public_key, key->secret);
  return status;
}

/* A secret key whose halves do not match would leak with its first signature. */
faro_status faro_sign_key_load(const char *path, faro_sign_key *key, faro_error *error) {
  faro_sign_key read;
  unsigned char secret[FARO_SECRET_BYTES];
  faro_status status = faro_key_load(path, FARO_SIGN_SECRET, secret, sizeof secret, error);
  if (status != FARO_OK) return status;
  crypto_sign_seed_keypair(read.public_key, read.secret, secret);
  if (sodium_memcmp(read.secret, secret, sizeof secret) == 0) *key = read;
  else
    status = faro_fail(error, FARO_INVALID, "%s is damaged: the halves of the key do not belong together",
                       faro_path_end(path));
  sodium_memzero(&read, sizeof read);
  sodium_memzero(secret, sizeof secret);
  return status;
}

faro_status faro_seal_key_load(const char *path, faro_seal_key *key, faro_error *error) {
  const faro_status status = faro_key_load(path, FARO_SEAL_SECRET, key->secret, sizeof key->secret, error);
  if (status == FARO_OK) crypto_scalarmult_base(key->public_key, key->secret);
  return status;
}

bool faro_public_key_read(const char *text, void *key) {
  unsigned char bytes[FARO_KEY_BYTES];
  size_t length = 0;
  if (strlen(text) != 2 * sizeof bytes ||
      sodium_hex2bin(bytes, sizeof bytes, text, strlen(text), NULL, &length, NULL) != 0 ||
      length != sizeof bytes || crypto_core_ed25519_is_valid_point(bytes) != 1)
    return false;
  memcpy(key, bytes, sizeof bytes);
  return true;
}

void faro_key_wipe(void *key, size_t size) { sodium_memzero(key, size); }

const char *faro_fingerprint(const unsigned char key[static FARO_KEY_BYTES],
                             char out[static FARO_FINGERPRINT_SIZE]) {
  unsigned char hash[FARO_DIGEST_BYTES];
  crypto_generichash(hash, sizeof hash, key, FARO_KEY_BYTES, NULL, 0);
  for (size_t i = 0; i < 8; i++) snprintf(out + 3 * i, 4, "%02x%s", hash[i], i < 7 ? ":" : "");
  return out;
}

/* Tokens. */

void faro_token_hash(const unsigned char token[static FARO_TOKEN_BYTES],
                     unsigned char hash[static FARO_HASH_BYTES]) {
  crypto_generichash(hash, FARO_HASH_BYTES, token, FARO_TOKEN_BYTES, NULL, 0);
}

static int compare_hashes(const void *a, const void *b) { return memcmp(a, b, FARO_HASH_BYTES); }

/* Writes one item per line, in hexadecimal digits. */
static faro_status write_lines(const char *path, bool secret, const unsigned char *bytes, size_t size,
                               size_t count, faro_error *error) {
  const size_t line = 2 * size + 1;
  char *text = malloc(line * count + 1);
  if (!text) return faro_fail(error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; i < count; i++) {
    faro_hex_write(bytes + i * size, size, text + i * line);
    text[i * line + 2 * size] = '\n';
  }
  const faro_status status = write_new(path, secret, text, line * count, error);
  sodium_memzero(text, line * count);
  free(text);
  return status;
}

static faro_status write_tokens(const char *tokens, const char *hashes, unsigned char *token,
                                unsigned char *hash, size_t count, faro_error *error) {
  randombytes_buf(token, count * FARO_TOKEN_BYTES);
  for (size_t i = 0; i < count; i++)
    faro_token_hash(token + i * FARO_TOKEN_BYTES, hash + i * FARO_HASH_BYTES);
  qsort(hash, count, FARO_HASH_BYTES, compare_hashes); /* so that their order says nothing about the tokens */
  faro_status status = write_lines(tokens, true, token, FARO_TOKEN_BYTES, count, error);
  sodium_memzero(token, count * FARO_TOKEN_BYTES);
  if (status != FARO_OK) return status;
  status = write_lines(hashes, true, hash, FARO_HASH_BYTES, count, error);
  if (status != FARO_OK) (void)unlink(tokens); /* we have just created it */
  return status;
}

faro_status faro_tokens_make(const char *tokens, const char *hashes, size_t count, faro_error *error) {
  faro_status status = start(error);
  if (status != FARO_OK) return status;
  if (count < 1 || count > TOKENS_MAX)
    return faro_fail(error, FARO_INVALID, "count must be 1 .. %d (got %zu)", TOKENS_MAX, count);
  unsigned char *token = malloc(count * FARO_TOKEN_BYTES);
  unsigned char *hash = malloc(count * FARO_HASH_BYTES);
  if (token && hash) status = write_tokens(tokens, hashes, token, hash, count, error);
  else status = faro_fail(error, FARO_MEMORY, "out of memory");
  free(token);
  free(hash);
  return status;
}

static faro_status parse_lines(const char *path, const char *text, size_t count, size_t size,
                               unsigned char *out, faro_error *error) {
  const size_t line = 2 * size + 1;
  for (size_t i = 0; i < count; i++)
    if ((i + 1 < count && text[i * line + 2 * size] != '\n') ||
        !faro_hex_read(text + i * line, 2 * size, out + i * size, size))
      return faro_fail(error, FARO_INVALID, "%s:%zu: must be %zu hexadecimal digits, lower case",
                       faro_path_end(path), i + 1, 2 * size);
  return FARO_OK;
}

static faro_status read_lines(const char *path, bool secret, size_t size, unsigned char **bytes,
                              size_t *count, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  const size_t line = 2 * size + 1;
  faro_status status = start(error);
  if (status == FARO_OK) status = read_whole(path, secret, line * TOKENS_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  const bool open = length > 0 && text[length - 1] != '\n'; /* the last line has no newline */
  const size_t lines = (length + open) / line;
  unsigned char *made = malloc(lines > 0 ? lines * size : 1);
  if (!made) status = faro_fail(error, FARO_MEMORY, "out of memory");
  else if (lines == 0 || (length + open) % line != 0)
    status = faro_fail(error, FARO_INVALID, "%s must have lines of %zu hexadecimal digits",
                       faro_path_end(path), 2 * size);
  else status = parse_lines(path, text, lines, size, made, error);
  sodium_memzero(text, length);
  free(text);
  if (status == FARO_OK) {
    *bytes = made;
    *count = lines;
  } else if (made) {
    sodium_memzero(made, lines * size);
    free(made);
  }
  return status;
}

faro_status faro_tokens_load(const char *path, unsigned char **tokens, size_t *count, faro_error *error) {
  return read_lines(path, true, FARO_TOKEN_BYTES, tokens, count, error);
}

/* Operators append new hashes to the file, so one may be there twice. */
faro_status faro_hashes_load(const char *path, unsigned char **hashes, size_t *count, faro_error *error) {
  enum { SIZE = FARO_HASH_BYTES };
  unsigned char *read = NULL;
  size_t lines = 0, kept = 1;
  const faro_status status = read_lines(path, false, SIZE, &read, &lines, error);
  if (status != FARO_OK) return status;
  qsort(read, lines, SIZE, compare_hashes);
  for (size_t i = 1; i < lines; i++)
    if (compare_hashes(read + (kept - 1) * SIZE, read + i * SIZE) != 0)
      memmove(read + kept++ * SIZE, read + i * SIZE, SIZE);
  *hashes = read;
  *count = kept;
  return FARO_OK;
}
