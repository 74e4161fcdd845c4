/* verify: one claim. See the header. */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>

#include "verify/inner.h"

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
