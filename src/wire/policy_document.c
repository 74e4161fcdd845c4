/* policy_document: a policy as a signed document.
 *
 *   {"campaign": "<hex>", "version": v, "dimension": d, "rule": "width", "beta": b, "explore": p,
 *    "theta": [...], "w": [...]}
 *
 * In a campaign in rounds it begins with another word, and has "at": [...] too, the point at which
 * reports are linearised. Its rule is design, or width when the campaign is over. */
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "field/reader.h"
#include "wire/document.h"

static const char word[] = "faro-policy-2";
static const char word_3[] = "faro-policy-3"; /* in rounds */

#define X(name, text) text,
FARO_WORDS(all_rules, FARO_RULE_LIST(X))
#undef X

/* Those with an index. */
static const char *indexed(size_t index) { return index < FARO_RULE_DESIGN ? all_rules(index) : NULL; }
/* Those of rounds. */
static const char *of_rounds(size_t index) {
  return index == 0 ? all_rules(FARO_RULE_DESIGN) : index == 1 ? all_rules(FARO_RULE_WIDTH) : NULL;
}

static faro_status check_numbers(const faro_policy *policy, faro_error *error) {
  const size_t d = policy->dimension;
  if (d < 1 || d > FARO_WIRE_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_WIRE_DIMENSION_MAX, d);
  if (!faro_all_finite(policy->theta, d) || !faro_all_finite(policy->w, faro_policy_w_length(d)) ||
      !(policy->beta >= 0 && isfinite(policy->beta)))
    return faro_fail(error, FARO_INVALID, "theta, w and beta must be finite, and beta must not be negative");
  if (!all_rules(policy->rule) || !(policy->explore >= 0 && policy->explore <= 1))
    return faro_fail(error, FARO_INVALID, "explore must be 0 .. 1 (got %g), and the rule one of policy.h",
                     policy->explore);
  return FARO_OK;
}

static void add_array(faro_text *json, const char *key, const double *value, size_t count) {
  faro_text_add(json, "\"%s\":[", key);
  for (size_t i = 0; i < count; i++) faro_document_add(json, i ? "," : "", value[i]);
  faro_text_add(json, "]");
}

static faro_status check_write(const faro_policy *policy, const double *at, faro_error *error) {
  const faro_status status = check_numbers(policy, error);
  if (status != FARO_OK) return status;
  if (at && !faro_all_finite(at, policy->dimension))
    return faro_fail(error, FARO_INVALID, "at must be finite");
  if (at ? policy->rule == FARO_RULE_DESIGN || policy->rule == FARO_RULE_WIDTH
         : policy->rule != FARO_RULE_DESIGN)
    return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the rule of a policy with a point must be design or width, and that "
                   "of others must have an index");
}

faro_status faro_policy_document_write_at(const faro_policy *policy, const double *at,
                                          const unsigned char campaign[static FARO_DIGEST_BYTES],
                                          const faro_sign_key *key, char **text, size_t *length,
                                          faro_error *error) {
  char digits[2 * FARO_DIGEST_BYTES + 1];
  const size_t d = policy->dimension;
  const faro_status status = check_write(policy, at, error);
  if (status != FARO_OK) return status;
  faro_text json = FARO_TEXT_INIT;
  faro_text_add(&json, "{\"campaign\":\"%s\",\"version\":%llu,\"dimension\":%zu,\"rule\":\"%s\"",
                faro_hex_write(campaign, FARO_DIGEST_BYTES, digits), (unsigned long long)policy->version, d,
                all_rules(policy->rule));
  faro_document_add(&json, ",\"beta\":", policy->beta);
  faro_document_add(&json, ",\"explore\":", policy->explore);
  faro_text_add(&json, ",");
  add_array(&json, "theta", policy->theta, d);
  faro_text_add(&json, ",");
  add_array(&json, "w", policy->w, faro_policy_w_length(d));
  if (at) faro_text_add(&json, ",");
  if (at) add_array(&json, "at", at, d);
  faro_text_add(&json, "}\n");
  return faro_document_sign(at ? word_3 : word, &json, key, NULL, text, length, error);
}

faro_status faro_policy_document_write(const faro_policy *policy,
                                       const unsigned char campaign[static FARO_DIGEST_BYTES],
                                       const faro_sign_key *key, char **text, size_t *length,
                                       faro_error *error) {
  return faro_policy_document_write_at(policy, NULL, campaign, key, text, length, error);
}

/* A policy before its vectors are read: their lengths follow from the dimension. */
typedef struct head {
  faro_policy_document document;
  size_t rule;           /* in the list of its kind of document */
  uint32_t theta, w, at; /* nodes */
} head;

static const faro_field fields[] = {
    {"campaign", FARO_FIELD_HEX, FARO_AT(head, document.campaign)},
    {"version", FARO_FIELD_COUNT, FARO_AT(head, document.policy.version), .least = 1, .most = 0x1p53},
    {"dimension", FARO_FIELD_COUNT, FARO_AT(head, document.policy.dimension), .least = 1,
     .most = FARO_WIRE_DIMENSION_MAX},
    {"rule", FARO_FIELD_CHOICE, FARO_AT(head, rule), .words = indexed},
    {"beta", FARO_FIELD_REAL, FARO_AT(head, document.policy.beta), .most = 1e300},
    {"explore", FARO_FIELD_REAL, FARO_AT(head, document.policy.explore), .most = 1},
    {"theta", FARO_FIELD_NODE, FARO_AT(head, theta), .allowed = "an array of numbers"},
    {"w", FARO_FIELD_NODE, FARO_AT(head, w), .allowed = "an array of numbers"},
    {"at", FARO_FIELD_NODE, FARO_AT(head, at), .allowed = "an array of numbers"},
};
enum { FIELDS = sizeof fields / sizeof *fields, RULE = 3 };

/* Only policies of rounds have the last key. */
static void read_head(faro_reader *r, bool rounds, head *h) {
  faro_field row[FIELDS];
  memcpy(row, fields, sizeof fields);
  if (rounds) row[RULE].words = of_rounds;
  faro_read_fields(r, 0, NULL, row, rounds ? FIELDS : FIELDS - 1, h);
  h->document.policy.rule = !rounds ? (faro_rule)h->rule : h->rule == 0 ? FARO_RULE_DESIGN : FARO_RULE_WIDTH;
}

static void read_vector(faro_reader *r, uint32_t node, const char *name, double *out, size_t count) {
  const faro_field entry = {.name = name, .type = FARO_FIELD_REAL, .size = sizeof *out};
  uint32_t element = 0;
  if (faro_read_list(r, node, name, count, count, "numbers", &element) == 0) return;
  for (size_t i = 0; i < count; i++, element = r->tree->node[element].next)
    faro_read_value(r, element, &entry, &out[i]);
}

static faro_status read_policy(const faro_tree *tree, bool rounds, faro_policy_document *document,
                               faro_error *error) {
  head h = {0};
  faro_reader r = {.tree = tree, .all = true, .error = error};
  read_head(&r, rounds, &h);
  if (faro_reader_end(&r) != FARO_OK) return r.status;
  const size_t d = h.document.policy.dimension;
  const size_t length = faro_policy_w_length(d);
  double *numbers = malloc((2 * d + length) * sizeof *numbers);
  if (!numbers) return faro_fail(error, FARO_MEMORY, "out of memory");
  *document = h.document;
  document->numbers = numbers;
  document->policy.theta = numbers;
  document->policy.w = numbers + d;
  document->at = rounds ? numbers + d + length : NULL;
  read_vector(&r, h.theta, "theta", numbers, d);
  read_vector(&r, h.w, "w", numbers + d, length);
  if (rounds) read_vector(&r, h.at, "at", numbers + d + length, d);
  return faro_reader_end(&r);
}

faro_status faro_policy_document_open(faro_policy_document *document, const char *text, size_t length,
                                      const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_tree tree = {0};
  faro_policy_document made = {0};
  const bool rounds = length > sizeof word_3 && memcmp(text, word_3, sizeof word_3 - 1) == 0;
  faro_status status = faro_document_open(rounds ? word_3 : word, text, length, signer, NULL, &tree, error);
  if (status == FARO_OK) status = read_policy(&tree, rounds, &made, error);
  faro_tree_clear(&tree);
  if (status == FARO_OK) *document = made;
  else faro_policy_document_clear(&made);
  return status;
}

void faro_policy_document_clear(faro_policy_document *document) {
  free(document->numbers);
  *document = (faro_policy_document){0};
}
