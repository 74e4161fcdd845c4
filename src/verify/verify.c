/* verify: one claim. See the header. */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/inner.h"
#include "verify/whole.h"

static const ground_kind *const kinds[] = {
    &ground_gaussian, &ground_tree,     &ground_factored, &ground_laplace, &ground_bits,
    &ground_response, &ground_parallel, &ground_doubling, &ground_study,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *faro_verify_word(faro_verify_verdict verdict) {
  static const char *const name[] = {"verified", "not verified", "wrong"};
  return name[verdict];
}

static const ground_kind *kind_of(reader *r, const json_t *grounds) {
  const char *words[KINDS + 1] = {0};
  for (size_t i = 0; i < KINDS; i++) words[i] = kinds[i]->name;
  return kinds[read_word(r, grounds, "mechanism", words)];
}

void ground_dominate(reader *r, const json_t *grounds, double delta, curve *c) {
  const ground_kind *kind = read_ok(r) ? kind_of(r, grounds) : NULL;
  if (!read_ok(r)) return;
  if (kind->dominate) kind->dominate(r, grounds, delta, c);
  else r->unknown = "this noise is not composed with other noise";
}

/* Where part of delta is reserved, as if that much were spent. */
static void add_reserved(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  arb_t t, u;
  if (!json_object_get(grounds, "reserved")) return;
  arb_init(t), arb_init(u);
  arb_set_d(t, read_number(r, grounds, "reserved", 0, 0.5));
  arb_set_d(u, c->delta);
  arb_addmul(delta, t, u, BITS);
  arb_clear(t), arb_clear(u);
}

void ground_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const ground_kind *kind = read_ok(r) ? kind_of(r, grounds) : NULL;
  if (!read_ok(r)) return;
  if (kind->delta) {
    kind->delta(r, grounds, c, delta);
    return;
  }
  curve made;
  curve_init(&made);
  kind->dominate(r, grounds, c->delta > 0 ? c->delta : 1e-15, &made);
  if (read_ok(r)) ball_gaussian_delta(delta, made.square, c->epsilon);
  arb_add(delta, delta, made.slack, BITS);
  if (read_ok(r)) add_reserved(r, grounds, c, delta);
  curve_clear(&made);
}

void ground_local(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const ground_kind *kind = read_ok(r) ? kind_of(r, grounds) : NULL;
  if (!read_ok(r)) return;
  if (kind->local) kind->local(r, grounds, c, delta);
  else r->unknown = "what the messages of one user give is not known for this noise";
}

static void decide(const claim *c, const arb_t delta, faro_finding *f) {
  f->low = fmax(0, ball_lower(delta));
  f->high = ball_upper(delta);
  if (f->high <= c->delta) f->verdict = FARO_VERIFIED;
  else if (f->low > c->delta) {
    f->verdict = FARO_WRONG;
    snprintf(f->reason, sizeof f->reason, "the recorded noise gives delta %.6g, and %.6g is claimed", f->low,
             c->delta);
  } else {
    f->verdict = FARO_NOT_VERIFIED;
    snprintf(f->reason, sizeof f->reason, "delta is between %.17g and %.17g, and %.17g is claimed", f->low,
             f->high, c->delta);
  }
}

/* The local part: it holds, and at an epsilon that is smaller by a hundredth it would not, unless
 * it is a published bound, which may be loose. */
static void decide_local(row *w, const arb_t delta, const arb_t less, double claimed) {
  if (ball_upper(delta) > claimed)
    disagree(w, "the messages of one user give delta %.6g, and claim.local states %.6g", ball_upper(delta),
             claimed);
  else if (ball_upper(less) <= claimed && strcmp(word_of(w->settings, "calibration"), "paper") != 0)
    disagree(w, "claim.local.epsilon is %g, and the messages of one user give less",
             number_of(json_object_get(w->claim, "local"), "epsilon"));
}

/* A claim's epsilon is meant to twelve digits: a quotient of doubles may be off in the last one. */
static const double DIGITS = 1e-12;

faro_status faro_verify_claim(const json_t *grounds, double epsilon, double delta, faro_finding *finding,
                              faro_error *error) {
  reader r = {.error = error};
  *finding = (faro_finding){.verdict = FARO_NOT_VERIFIED, .low = (double)NAN, .high = (double)NAN};
  if (!(epsilon > 0 && epsilon <= 1000 && delta >= 0 && delta < 1))
    return faro_fail(
        error, FARO_INVALID,
        "claim: epsilon must be above 0 and at most 1000, and delta from 0 to below 1 (got %g and %g)",
        epsilon, delta);
  if (!grounds || json_is_null(grounds)) {
    snprintf(finding->reason, sizeof finding->reason, "no grounds are recorded");
    return FARO_OK;
  }
  claim c = {.delta = delta};
  arb_t result;
  arb_init(c.epsilon), arb_init(result);
  arb_set_d(c.epsilon, epsilon * (1 + DIGITS));
  ground_delta(&r, grounds, &c, result);
  if (read_ok(&r)) decide(&c, result, finding);
  else if (r.unknown) snprintf(finding->reason, sizeof finding->reason, "%s", r.unknown);
  arb_clear(c.epsilon), arb_clear(result);
  return r.status;
}

/* What the messages of one user give by themselves. */
static faro_status check_local(row *w, faro_error *error) {
  const json_t *stated = json_object_get(w->claim, "local");
  const double epsilon = number_of(stated, "epsilon");
  const double delta = number_of(stated, "delta");
  const char *trust = word_of(w->claim, "trust");
  const bool shuffled = strcmp(trust, "shuffle") == 0 || strcmp(trust, "concurrent") == 0;
  if (shuffled && json_is_null(stated)) taken(w, "local", NULL);
  if (json_is_null(stated)) return FARO_OK;
  if (!(epsilon > 0 && epsilon <= 1e6 && delta >= 0 && delta < 1))
    return faro_fail(error, FARO_INVALID, "claim.local must have an epsilon above 0 and a delta below 1");
  if (!shuffled) disagree(w, "claim.local is for messages to shufflers, and claim.trust is %s", trust);
  if (delta != 0 && delta != w->checked->delta)
    disagree(w, "claim.local.delta is %g, and claim.delta %g", delta, w->checked->delta);
  reader r = {.error = error};
  claim c = {.delta = delta};
  arb_t result, less;
  arb_init(c.epsilon), arb_init(result), arb_init(less);
  c.loosely = true;
  arb_set_d(c.epsilon, epsilon * 0.99);
  ground_local(&r, w->grounds, &c, less);
  c.loosely = false;
  arb_set_d(c.epsilon, epsilon * (1 - 1e-9));
  ground_local(&r, w->grounds, &c, result);
  if (read_ok(&r) && ball_upper(result) <= delta)
    taken(w, "local.epsilon", NULL); /* a looser bound than ours */
  arb_zero(result);
  arb_set_d(c.epsilon, epsilon * (1 + DIGITS));
  ground_local(&r, w->grounds, &c, result);
  if (read_ok(&r)) decide_local(w, result, less, delta);
  else if (r.unknown) disagree(w, "claim.local: %s", r.unknown);
  arb_clear(c.epsilon), arb_clear(result), arb_clear(less);
  return r.status;
}

static void check_release(row *w, const json_t *grounds, place at, size_t index) {
  check_inside(w, grounds, at);
  check_facts(w, grounds, at, index);
}

static void check_study(row *w, const json_t *grounds) {
  const json_t *parts = json_object_get(grounds, "parts");
  const json_t *one = NULL;
  const json_t *fit = NULL;
  size_t part = 0;
  size_t index = 0;
  json_array_foreach(parts, part, one) {
    if (json_object_get(one, "sum")) check_release(w, json_object_get(one, "sum"), PLACE_SUM, part);
    json_array_foreach(json_object_get(one, "fits"), index, fit)
        check_release(w, json_object_get(fit, "grounds"), PLACE_FIT, part);
  }
}

static void check_releases(row *w) {
  const bool doubling = is_word(w->grounds, "mechanism", "doubling");
  const json_t *parts = json_object_get(w->grounds, "parts");
  const json_t *one = NULL;
  size_t index = 0;
  check_parts(w);
  if (is_word(w->grounds, "mechanism", "study")) check_study(w, w->grounds);
  else if (!parts) check_release(w, w->grounds, PLACE_WHOLE, 0);
  else json_array_foreach(parts, index, one) if (is_word(one, "mechanism", "study")) check_study(w, one);
  else check_release(w, one, doubling ? PLACE_DOUBLED : PLACE_PHASE, index); }

faro_status faro_verify_result(const json_t *result, const faro_finding *known, faro_checked *checked,
                               faro_error *error) {
  row w = {.result = result,
           .claim = json_object_get(result, "claim"),
           .grounds = json_object_get(result, "grounds"),
           .settings = checked->bare ? NULL : json_object_get(result, "settings"),
           .checked = checked};
  faro_status status = FARO_OK;
  checked->claim = w.claim;
  if (known) checked->noise = *known;
  else status = faro_verify_claim(w.grounds, checked->epsilon, checked->delta, &checked->noise, error);
  checked->finding = checked->noise;
  if (status != FARO_OK || !json_is_object(w.grounds)) return status;
  if (!checked->bare && !json_is_object(w.settings)) {
    disagree(&w, "settings is missing, and a run records what its claims follow from");
    return FARO_OK;
  }
  check_words(&w);
  check_releases(&w);
  check_view(&w);
  return check_local(&w, error);
}
