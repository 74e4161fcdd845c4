/* policy: what a client needs to choose, as a signed document. */
#include <math.h>
#include <stdlib.h>

#include "wire/document.h"

static const char word[] = "faro-policy-1";

static size_t packed(size_t d) { return d * (d + 1) / 2; }

static void add_array(faro_text *json, const char *key, const double *value, size_t count) {
  faro_text_add(json, "\"%s\":[", key);
  for (size_t i = 0; i < count; i++) faro_document_add(json, i ? "," : "", value[i]);
  faro_text_add(json, "]");
}

static bool all_finite(const double *value, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(value[i])) return false;
  return true;
}

faro_status faro_policy_write(const faro_wire_policy *policy, const faro_sign_key *key, char **text,
                              size_t *length, faro_error *error) {
  char digits[2 * FARO_DIGEST_BYTES + 1];
  const size_t d = policy->dimension;
  if (d < 1 || d > FARO_WIRE_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_WIRE_DIMENSION_MAX, d);
  if (!all_finite(policy->theta, d) || !all_finite(policy->w, packed(d)) ||
      !(policy->beta >= 0 && isfinite(policy->beta)))
    return faro_fail(error, FARO_INVALID, "theta, w and beta must be finite, and beta not negative");
  faro_text json = FARO_TEXT_INIT;
  faro_text_add(&json, "{\"campaign\":\"%s\",\"version\":%llu,\"dimension\":%zu",
                faro_hex_write(policy->campaign, FARO_DIGEST_BYTES, digits),
                (unsigned long long)policy->version, d);
  faro_document_add(&json, ",\"beta\":", policy->beta);
  faro_text_add(&json, ",");
  add_array(&json, "theta", policy->theta, d);
  faro_text_add(&json, ",");
  add_array(&json, "w", policy->w, packed(d));
  faro_text_add(&json, "}\n");
  return faro_document_sign(word, &json, key, NULL, text, length, error);
}

static faro_status read_policy(const faro_json *json, faro_wire_policy *policy, faro_error *error) {
  static const char *const keys[] = {"campaign", "version", "dimension", "beta", "theta", "w"};
  uint64_t d = 0;
  faro_status status = faro_json_expect(json, 0, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK)
    status = faro_json_bytes(json, 0, "campaign", policy->campaign, FARO_DIGEST_BYTES, error);
  if (status == FARO_OK)
    status = faro_json_count(json, 0, "version", 1, FARO_JSON_COUNT_MAX, &policy->version, error);
  if (status == FARO_OK)
    status = faro_json_count(json, 0, "dimension", 1, FARO_WIRE_DIMENSION_MAX, &d, error);
  if (status == FARO_OK) status = faro_json_real(json, 0, "beta", 0, 1e300, &policy->beta, error);
  if (status != FARO_OK) return status;
  policy->dimension = (size_t)d;
  policy->theta = malloc((policy->dimension + packed(policy->dimension)) * sizeof *policy->theta);
  if (!policy->theta) return faro_fail(error, FARO_MEMORY, "out of memory");
  policy->w = policy->theta + policy->dimension;
  status = faro_json_reals(json, 0, "theta", policy->theta, policy->dimension, error);
  if (status == FARO_OK) status = faro_json_reals(json, 0, "w", policy->w, packed(policy->dimension), error);
  return status;
}

faro_status faro_policy_open(faro_wire_policy *policy, const char *text, size_t length,
                             const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_json json = {0};
  faro_wire_policy made = {0};
  faro_status status = faro_document_open(word, text, length, signer, NULL, &json, error);
  if (status == FARO_OK) status = read_policy(&json, &made, error);
  faro_json_release(&json);
  if (status == FARO_OK) *policy = made;
  else free(made.theta);
  return status;
}
