/* keys: faro keys sign|seal|tokens|show: makes and shows the keys and tokens of a campaign. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "wire/wire.h"

/* Makes PREFIX.secret and so on. */
static bool with_end(const char *prefix, const char *end, char out[static CLI_PATH]) {
  return snprintf(out, CLI_PATH, "%s%s", prefix, end) < CLI_PATH;
}

static int too_long(const char *prefix) {
  return cli_usage(&cli_keys, "--out is too long (got %.40s...)", prefix);
}

static void print_public(const unsigned char key[static FARO_KEY_BYTES]) {
  char digits[2 * FARO_KEY_BYTES + 1];
  char fingerprint[FARO_FINGERPRINT_SIZE];
  printf("public key:  %s\nfingerprint: %s\n", faro_hex_write(key, FARO_KEY_BYTES, digits),
         faro_fingerprint(key, fingerprint));
}

/* The files are on the disk, but their names only after the folder is flushed. If that fails, both
 * are removed. */
static int settle(const char *first, const char *second) {
  faro_error error = {0};
  if (faro_flush_folder(first)) return EXIT_DONE;
  (void)faro_fail(&error, FARO_SYSTEM, "%.300s: cannot flush its folder: %s", first, strerror(errno));
  (void)unlink(first);
  (void)unlink(second);
  return cli_fail(&error);
}

/* Saves both halves, or neither. */
static int save_pair(const char *prefix, const char *const kind[2], const unsigned char *secret, size_t size,
                     const unsigned char *public_key) {
  char secret_path[CLI_PATH];
  char public_path[CLI_PATH];
  faro_error error = {0};
  if (!with_end(prefix, ".secret", secret_path) || !with_end(prefix, ".public", public_path))
    return too_long(prefix);
  faro_status status = faro_key_save(secret_path, kind[0], secret, size, &error);
  if (status != FARO_OK) return cli_fail(&error);
  status = faro_key_save(public_path, kind[1], public_key, FARO_KEY_BYTES, &error);
  if (status != FARO_OK) {
    (void)unlink(secret_path);
    return cli_fail(&error);
  }
  const int settled = settle(secret_path, public_path);
  if (settled != EXIT_DONE) return settled;
  printf("secret:      %s\npublic:      %s\n", secret_path, public_path);
  print_public(public_key);
  return EXIT_DONE;
}

static int make_sign(const char *prefix) {
  static const char *const kind[] = {FARO_SIGN_SECRET, FARO_SIGN_PUBLIC};
  faro_error error = {0};
  faro_sign_key key;
  if (faro_sign_key_make(&key, &error) != FARO_OK) return cli_fail(&error);
  const int status = save_pair(prefix, kind, key.secret, sizeof key.secret, key.public_key);
  faro_key_wipe(&key, sizeof key);
  return status;
}

static int make_seal(const char *prefix) {
  static const char *const kind[] = {FARO_SEAL_SECRET, FARO_SEAL_PUBLIC};
  faro_error error = {0};
  faro_seal_key key;
  if (faro_seal_key_make(&key, &error) != FARO_OK) return cli_fail(&error);
  const int status = save_pair(prefix, kind, key.secret, sizeof key.secret, key.public_key);
  faro_key_wipe(&key, sizeof key);
  return status;
}

static int make_tokens(const char *prefix, size_t count) {
  char tokens[CLI_PATH];
  char hashes[CLI_PATH];
  faro_error error = {0};
  if (!with_end(prefix, ".tokens", tokens) || !with_end(prefix, ".hashes", hashes)) return too_long(prefix);
  if (faro_tokens_make(tokens, hashes, count, &error) != FARO_OK) return cli_fail(&error);
  const int settled = settle(tokens, hashes);
  if (settled != EXIT_DONE) return settled;
  printf("tokens:      %s (%zu, one for each client)\nhashes:      %s (for every shuffler)\n", tokens, count,
         hashes);
  return EXIT_DONE;
}

enum { WORD = 2 * FARO_TOKEN_BYTES + 2 }; /* one digit more than a token, to recognize longer words */

/* Reads the first word of a file; "" if the file is empty. */
static faro_status first_word(const char *path, char out[static WORD], faro_error *error) {
  FILE *file = fopen(path, "r");
  if (!file) return faro_fail(error, FARO_INVALID, "%.200s: cannot be read: %s", path, strerror(errno));
  setvbuf(file, NULL, _IONBF, 0); /* it may be a secret: leave no copy in a buffer */
  if (fscanf(file, "%65s", out) != 1) out[0] = '\0';
  fclose(file);
  return FARO_OK;
}

static bool is_token(const char *word) {
  const size_t digits = (size_t)2 * FARO_TOKEN_BYTES;
  return strlen(word) == digits && strspn(word, "0123456789abcdef") == digits;
}

/* Prints the hash of each token, in the order of the file: shufflers know tokens by their
 * hashes. */
static int show_tokens(const char *path) {
  unsigned char *tokens = NULL;
  size_t count = 0;
  faro_error error = {0};
  if (faro_tokens_load(path, &tokens, &count, &error) != FARO_OK) return cli_fail(&error);
  for (size_t i = 0; i < count; i++) {
    unsigned char hash[FARO_HASH_BYTES];
    char digits[2 * FARO_HASH_BYTES + 1];
    faro_token_hash(tokens + i * FARO_TOKEN_BYTES, hash);
    puts(faro_hex_write(hash, sizeof hash, digits));
  }
  faro_key_wipe(tokens, count * FARO_TOKEN_BYTES);
  free(tokens);
  return EXIT_DONE;
}

static int show_key(const char *path, const char *kind) {
  faro_error error = {0};
  unsigned char public_key[FARO_KEY_BYTES];
  faro_sign_key sign = {0};
  faro_seal_key seal = {0};
  faro_status status = FARO_OK;
  if (strcmp(kind, FARO_SIGN_SECRET) == 0) {
    status = faro_sign_key_load(path, &sign, &error);
    memcpy(public_key, sign.public_key, sizeof public_key);
    faro_key_wipe(&sign, sizeof sign);
  } else if (strcmp(kind, FARO_SEAL_SECRET) == 0) {
    status = faro_seal_key_load(path, &seal, &error);
    memcpy(public_key, seal.public_key, sizeof public_key);
    faro_key_wipe(&seal, sizeof seal);
  } else if (strcmp(kind, FARO_SIGN_PUBLIC) == 0 || strcmp(kind, FARO_SEAL_PUBLIC) == 0)
    status = faro_key_load(path, kind, public_key, sizeof public_key, &error);
  else status = faro_fail(&error, FARO_INVALID, "%.200s is neither a key file nor a token file", path);
  if (status != FARO_OK) return cli_fail(&error);
  printf("kind:        %s\n", kind);
  print_public(public_key);
  return EXIT_DONE;
}

static int show(const char *path) {
  char word[WORD] = "";
  faro_error error = {0};
  if (first_word(path, word, &error) != FARO_OK) return cli_fail(&error);
  const bool tokens = is_token(word);
  if (tokens) faro_key_wipe(word, sizeof word);
  return tokens ? show_tokens(path) : show_key(path, word);
}

typedef struct request {
  const char *prefix;
  uint64_t tokens;
} request;

static const faro_field options[] = {
    {"out", FARO_FIELD_WORD, FARO_AT(request, prefix), .value = "PREFIX",
     .help = "write PREFIX.secret (mode 600) and PREFIX.public; existing files are not overwritten"},
    {"count", FARO_FIELD_COUNT, FARO_AT(request, tokens), .least = 1, .most = 10000000, .value = "N",
     .help = "number of tokens, at most 10000000"},
};

enum { SIGN, SEAL, TOKENS, SHOW };
FARO_WORDS(actions, "sign", "seal", "tokens", "show")

static int make(const request *r, size_t action) {
  if (!r->prefix) return cli_usage(&cli_keys, "--out PREFIX is required");
  if (action == SIGN) return make_sign(r->prefix);
  if (action == SEAL) return make_seal(r->prefix);
  if (r->tokens == 0) return cli_usage(&cli_keys, "--count N is required (the number of tokens)");
  return make_tokens(r->prefix, (size_t)r->tokens);
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t action = 0;
  int status = cli_read(&cli_keys, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_keys, "action", words > 0 ? argv[0] : NULL, &action);
  if (status != CLI_GO) return status;
  if (action == SHOW) return words == 2 ? show(argv[1]) : cli_usage(&cli_keys, "FILE is required");
  return words == 1 ? make(&r, action) : cli_usage(&cli_keys, "unexpected argument %s", argv[1]);
}

const cli_command cli_keys = {
    .name = "keys",
    .usage = "keys sign|seal --out PREFIX | keys tokens --count N --out PREFIX | keys show FILE",
    .summary = "make keys and tokens for the service, and show them",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 2,
    .first = actions,
    .about = "  sign    make a signing key (Ed25519): one for the analyzer, one for each shuffler\n"
             "  seal    make a sealing key (X25519), for the analyzer: reports are sealed to it\n"
             "  tokens  make tokens for clients (PREFIX.tokens) and their hashes for shufflers\n"
             "          (PREFIX.hashes)\n"
             "  show    print the public key in a file and its fingerprint; for tokens, the hash of each\n",
};
