/* policy_document: a policy as a signed document. */
#include <stdlib.h>

#include "base/finite.h"
#include "wire/document.h"

static const char word[] = "faro-policy-1";

static void add_array(faro_text *json, const char *key, const double *value, size_t count) {
  faro_text_add(json, "\"%s\":[", key);
  for (size_t i = 0; i < count; i++) faro_document_add(json, i ? "," : "", value[i]);
  faro_text_add(json, "]");
}

faro_status faro_policy_document_write(const faro_policy *policy,
                                       const unsigned char campaign[static FARO_DIGEST_BYTES],
                                       const faro_sign_key *key, char **text, size_t *length,
                                       faro_error *error) {
  char digits[2 * FARO_DIGEST_BYTES + 1];
  const size_t d = policy->dimension;
  if (d < 1 || d > FARO_WIRE_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_WIRE_DIMENSION_MAX, d);
  if (!faro_all_finite(policy->theta, d) || !faro_all_finite(policy->w, faro_policy_w_length(d)) ||
      !(policy->beta >= 0 && isfinite(policy->beta)))
    return faro_fail(error, FARO_INVALID, "theta, w and beta must be finite, and beta must not be negative");
  faro_text json = FARO_TEXT_INIT;
  faro_text_add(&json, "{\"campaign\":\"%s\",\"version\":%llu,\"dimension\":%zu",
                faro_hex_write(campaign, FARO_DIGEST_BYTES, digits), (unsigned long long)policy->version, d);
  faro_document_add(&json, ",\"beta\":", policy->beta);
  faro_text_add(&json, ",");
  add_array(&json, "theta", policy->theta, d);
  faro_text_add(&json, ",");
  add_array(&json, "w", policy->w, faro_policy_w_length(d));
  faro_text_add(&json, "}\n");
  return faro_document_sign(word, &json, key, NULL, text, length, error);
}

static faro_status read_policy(const faro_json *json, faro_policy_document *document, faro_error *error) {
  static const char *const keys[] = {"campaign", "version", "dimension", "beta", "theta", "w"};
  faro_policy *policy = &document->policy;
  uint64_t d = 0;
  faro_status status = faro_json_expect(json, 0, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK)
    status = faro_json_bytes(json, 0, "campaign", document->campaign, FARO_DIGEST_BYTES, error);
  if (status == FARO_OK)
    status = faro_json_count(json, 0, "version", 1, FARO_JSON_COUNT_MAX, &policy->version, error);
  if (status == FARO_OK)
    status = faro_json_count(json, 0, "dimension", 1, FARO_WIRE_DIMENSION_MAX, &d, error);
  if (status == FARO_OK) status = faro_json_real(json, 0, "beta", 0, 1e300, &policy->beta, error);
  if (status != FARO_OK) return status;
  const size_t length = faro_policy_w_length((size_t)d);
  double *numbers = malloc(((size_t)d + length) * sizeof *numbers);
  if (!numbers) return faro_fail(error, FARO_MEMORY, "out of memory");
  document->numbers = numbers;
  policy->dimension = (size_t)d;
  policy->theta = numbers;
  policy->w = numbers + d;
  status = faro_json_reals(json, 0, "theta", numbers, (size_t)d, error);
  return status == FARO_OK ? faro_json_reals(json, 0, "w", numbers + d, length, error) : status;
}

faro_status faro_policy_document_open(faro_policy_document *document, const char *text, size_t length,
                                      const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_json json = {0};
  faro_policy_document made = {0};
  faro_status status = faro_document_open(word, text, length, signer, NULL, &json, error);
  if (status == FARO_OK) status = read_policy(&json, &made, error);
  faro_json_clear(&json);
  if (status == FARO_OK) *document = made;
  else faro_policy_document_clear(&made);
  return status;
}

void faro_policy_document_clear(faro_policy_document *document) {
  free(document->numbers);
  *document = (faro_policy_document){0};
}
