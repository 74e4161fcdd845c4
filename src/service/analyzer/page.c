/* page: see the header. page.html becomes page.inc at build time. */
#include "service/analyzer/page.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/abort.h"

static const unsigned char html[] = {
#include "page.inc"
    0};

enum { HASH_SIZE = 48 };

/* SHA-256 in base64 of the text between two tags. */
static void hash_between(const char *open, const char *close, char out[static HASH_SIZE]) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  const char *from = strstr((const char *)html, open);
  FARO_INVARIANT(from != NULL);
  from += strlen(open);
  const char *to = strstr(from, close);
  FARO_INVARIANT(to != NULL);
  crypto_hash_sha256(hash, (const unsigned char *)from, (size_t)(to - from));
  sodium_bin2base64(out, HASH_SIZE, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
}

void faro_page_make(faro_page *page) {
  char style[HASH_SIZE];
  char script[HASH_SIZE];
  hash_between("<style>", "</style>", style);
  hash_between("<script>", "</script>", script);
  page->html = (const char *)html;
  page->length = sizeof html - 1;
  snprintf(page->policy, sizeof page->policy,
           "default-src 'none'; connect-src 'self'; style-src 'sha256-%s'; script-src 'sha256-%s'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
           style, script);
}
