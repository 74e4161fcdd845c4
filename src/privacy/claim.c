/* claim: see the header. */
#include <faro/privacy.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *faro_trust_name(faro_trust trust) {
  static const char *const name[] = {
#define X(id, text, view) text,
      FARO_TRUST_LIST(X)
#undef X
  };
  return name[trust];
}

const char *faro_trust_view(faro_trust trust) {
  static const char *const view[] = {
#define X(id, text, sees) sees,
      FARO_TRUST_LIST(X)
#undef X
  };
  return view[trust];
}

faro_claim faro_claim_none(void) {
  return faro_claim_make((double)NAN, (double)NAN, FARO_TRUST_NONE, false, "no privacy is claimed");
}

faro_claim faro_claim_make(double epsilon, double delta, faro_trust trust, bool proven, const char *by, ...) {
  faro_claim claim = {.epsilon = epsilon, .delta = delta, .trust = trust, .proven = proven};
  va_list args;
  va_start(args, by);
  vsnprintf(claim.by, sizeof claim.by, by, args);
  va_end(args);
  return claim;
}

const char *faro_claim_standing(const faro_claim *claim) {
  if (claim->trust == FARO_TRUST_NONE) return "no privacy";
  return claim->proven ? "proven" : "not proven";
}

bool faro_shuffle_closed_form(double epsilon0, double delta0, double n, double slack, double *epsilon,
                              double *delta) {
  if (!(epsilon0 <= log(n / (16 * log(2 / slack))))) return false;
  const double e = exp(epsilon0);
  *epsilon = log1p((e - 1) / (e + 1) * (8 * sqrt(e * log(4 / slack)) / sqrt(n) + 8 * e / n));
  *delta = slack + (exp(*epsilon) + 1) * (1 + exp(-epsilon0) / 2) * n * delta0;
  return true;
}
