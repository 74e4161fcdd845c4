/* document: all claims of a run.json. Claims that rest on the same grounds are computed once. */
#include <flint/flint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "verify/verify.h"

static faro_status fail(const char *name, size_t index, const char *what, faro_error *error) {
  return faro_fail(error, FARO_INVALID, "%s: results[%zu]: %s", faro_path_end(name), index, what);
}

static const json_t *grounds_of(const faro_verification *v, size_t index) {
  return json_object_get(json_array_get(json_object_get(v->document, "results"), index), "grounds");
}

/* An earlier claim with the same numbers. */
static const faro_checked *same(const faro_verification *v, size_t index) {
  const faro_checked *now = &v->claim[index];
  for (size_t i = 0; i < index; i++) {
    const faro_checked *c = &v->claim[i];
    if (c->proven && c->private_at_all && c->epsilon == now->epsilon && c->delta == now->delta &&
        json_equal(grounds_of(v, i), grounds_of(v, index)))
      return c;
  }
  return NULL;
}

/* A run of an earlier version, whose claims say less. */
static bool is_earlier(const json_t *claim) {
  static const char *const members[] = {"trust", "level", "actions", "protects", "assumes", "local"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (!json_object_get(claim, members[i])) return true;
  return false;
}

static faro_status check(faro_verification *v, const char *name, size_t index, faro_error *error) {
  const json_t *result = json_array_get(json_object_get(v->document, "results"), index);
  const json_t *claim = json_object_get(result, "claim");
  const json_t *proven = json_object_get(claim, "proven");
  const json_t *epsilon = json_object_get(claim, "epsilon");
  const json_t *delta = json_object_get(claim, "delta");
  faro_checked *c = &v->claim[index];
  c->label = json_string_value(json_object_get(result, "label"));
  if (!c->label) return fail(name, index, "label must be a string", error);
  if (!json_is_boolean(proven)) return fail(name, index, "claim.proven must be true or false", error);
  c->proven = json_is_true(proven);
  c->private_at_all = json_is_number(epsilon) && json_is_number(delta);
  c->epsilon = json_number_value(epsilon);
  c->delta = json_number_value(delta);
  const char *standing = json_string_value(json_object_get(claim, "standing"));
  if (!c->proven && standing && strcmp(standing, "proven") == 0)
    return fail(name, index, "claim.proven is false, and claim.standing \"proven\"", error);
  if (!c->proven) return FARO_OK;
  if (!c->private_at_all) return fail(name, index, "claim.epsilon and claim.delta must be numbers", error);
  const faro_checked *before = same(v, index);
  faro_error inner = {0};
  const faro_status status = faro_verify_result(result, before ? &before->noise : NULL, c, &inner);
  if (status != FARO_OK)
    return faro_fail(error, status, "%s: results[%zu]: %s", faro_path_end(name), index, inner.message);
  if (is_earlier(claim))
    return fail(name, index,
                "claim must have trust, level, actions, protects, assumes and local: results of an earlier "
                "version must be run again (faro rerun)",
                error);
  return FARO_OK;
}

/* What `faro evaluate --private` prints: one claim, without settings. */
static bool is_evaluation(const json_t *document) {
  const json_t *results = json_object_get(document, "results");
  return json_is_string(json_object_get(document, "policy")) &&
         json_is_true(json_object_get(document, "private")) && json_array_size(results) == 1 &&
         json_equal(json_object_get(document, "claim"), json_object_get(json_array_get(results, 0), "claim"));
}

faro_status faro_verify_run(faro_verification *result, faro_verify_source source, const char *name,
                            const char *text, size_t length, faro_error *error) {
  json_error_t where;
  char shown[FARO_SHOWN];
  *result = (faro_verification){.document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where)};
  if (!result->document)
    return faro_fail(error, FARO_INVALID, "%s:%d: not JSON: %s", faro_path_end(name), where.line,
                     faro_printable(where.text, shown, sizeof shown));
  const json_t *results = json_object_get(result->document, "results");
  faro_status status = FARO_OK;
  if (!json_is_array(results) || json_array_size(results) == 0)
    status =
        faro_fail(error, FARO_INVALID, "%s: results must be a list of one or more: is this a run of faro?",
                  faro_path_end(name));
  result->count = json_array_size(results);
  result->claim = calloc(result->count + 1, sizeof *result->claim);
  if (!result->claim) status = faro_fail(error, FARO_MEMORY, "cannot allocate %zu claims", result->count);
  const bool bare = source == FARO_VERIFY_CAMPAIGN || is_evaluation(result->document);
  for (size_t i = 0; result->claim && status == FARO_OK && i < result->count; i++) {
    result->claim[i].bare = bare;
    status = check(result, name, i, error);
  }
  if (status != FARO_OK) faro_verification_clear(result);
  return status;
}

void faro_verification_clear(faro_verification *result) {
  for (size_t i = 0; result->claim && i < result->count; i++) json_decref(result->claim[i].recorded);
  free(result->claim);
  json_decref(result->document);
  flint_cleanup(); /* numbers that Arb keeps for this thread */
  *result = (faro_verification){0};
}
