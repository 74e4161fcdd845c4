/* policy_document: a policy as a signed document. */
#include <stdlib.h>

#include "base/finite.h"
#include "field/reader.h"
#include "wire/document.h"

static const char word[] = "faro-policy-2";

#define X(name, text) text,
FARO_WORDS(all_rules, FARO_RULE_LIST(X))
#undef X

/* Those with an index. */
static const char *rules(size_t index) { return index < FARO_RULE_DESIGN ? all_rules(index) : NULL; }

static faro_status check_numbers(const faro_policy *policy, faro_error *error) {
  const size_t d = policy->dimension;
  if (d < 1 || d > FARO_WIRE_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_WIRE_DIMENSION_MAX, d);
  if (!faro_all_finite(policy->theta, d) || !faro_all_finite(policy->w, faro_policy_w_length(d)) ||
      !(policy->beta >= 0 && isfinite(policy->beta)))
    return faro_fail(error, FARO_INVALID, "theta, w and beta must be finite, and beta must not be negative");
  if (!rules(policy->rule) || !(policy->explore >= 0 && policy->explore <= 1))
    return faro_fail(error, FARO_INVALID, "explore must be 0 .. 1 (got %g), and the rule one of policy.h",
                     policy->explore);
  return FARO_OK;
}

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
  const faro_status status = check_numbers(policy, error);
  if (status != FARO_OK) return status;
  faro_text json = FARO_TEXT_INIT;
  faro_text_add(&json, "{\"campaign\":\"%s\",\"version\":%llu,\"dimension\":%zu,\"rule\":\"%s\"",
                faro_hex_write(campaign, FARO_DIGEST_BYTES, digits), (unsigned long long)policy->version, d,
                rules(policy->rule));
  faro_document_add(&json, ",\"beta\":", policy->beta);
  faro_document_add(&json, ",\"explore\":", policy->explore);
  faro_text_add(&json, ",");
  add_array(&json, "theta", policy->theta, d);
  faro_text_add(&json, ",");
  add_array(&json, "w", policy->w, faro_policy_w_length(d));
  faro_text_add(&json, "}\n");
  return faro_document_sign(word, &json, key, NULL, text, length, error);
}

/* A policy before its vectors are read: their lengths follow from the dimension. */
typedef struct head {
  faro_policy_document document;
  uint32_t theta, w; /* nodes */
} head;

static const faro_field fields[] = {
    {"campaign", FARO_FIELD_HEX, FARO_AT(head, document.campaign)},
    {"version", FARO_FIELD_COUNT, FARO_AT(head, document.policy.version), .least = 1, .most = 0x1p53},
    {"dimension", FARO_FIELD_COUNT, FARO_AT(head, document.policy.dimension), .least = 1,
     .most = FARO_WIRE_DIMENSION_MAX},
    {"rule", FARO_FIELD_CHOICE, FARO_AT(head, document.policy.rule), .words = rules},
    {"beta", FARO_FIELD_REAL, FARO_AT(head, document.policy.beta), .most = 1e300},
    {"explore", FARO_FIELD_REAL, FARO_AT(head, document.policy.explore), .most = 1},
    {"theta", FARO_FIELD_NODE, FARO_AT(head, theta), .allowed = "an array of numbers"},
    {"w", FARO_FIELD_NODE, FARO_AT(head, w), .allowed = "an array of numbers"},
};

static void read_vector(faro_reader *r, uint32_t node, const char *name, double *out, size_t count) {
  const faro_field entry = {.name = name, .type = FARO_FIELD_REAL, .size = sizeof *out};
  uint32_t element = 0;
  if (faro_read_list(r, node, name, count, count, "numbers", &element) == 0) return;
  for (size_t i = 0; i < count; i++, element = r->tree->node[element].next)
    faro_read_value(r, element, &entry, &out[i]);
}

static faro_status read_policy(const faro_tree *tree, faro_policy_document *document, faro_error *error) {
  head h = {0};
  faro_reader r = {.tree = tree, .all = true, .error = error};
  faro_read_fields(&r, 0, NULL, fields, sizeof fields / sizeof *fields, &h);
  if (faro_reader_end(&r) != FARO_OK) return r.status;
  const size_t d = h.document.policy.dimension;
  const size_t length = faro_policy_w_length(d);
  double *numbers = malloc((d + length) * sizeof *numbers);
  if (!numbers) return faro_fail(error, FARO_MEMORY, "out of memory");
  *document = h.document;
  document->numbers = numbers;
  document->policy.theta = numbers;
  document->policy.w = numbers + d;
  read_vector(&r, h.theta, "theta", numbers, d);
  read_vector(&r, h.w, "w", numbers + d, length);
  return faro_reader_end(&r);
}

faro_status faro_policy_document_open(faro_policy_document *document, const char *text, size_t length,
                                      const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_tree tree = {0};
  faro_policy_document made = {0};
  faro_status status = faro_document_open(word, text, length, signer, NULL, &tree, error);
  if (status == FARO_OK) status = read_policy(&tree, &made, error);
  faro_tree_clear(&tree);
  if (status == FARO_OK) *document = made;
  else faro_policy_document_clear(&made);
  return status;
}

void faro_policy_document_clear(faro_policy_document *document) {
  free(document->numbers);
  *document = (faro_policy_document){0};
}
