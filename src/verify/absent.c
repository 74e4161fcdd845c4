/* absent: in place of all else here in a build without FLINT. */
#include "verify/verify.h"

static faro_status absent(faro_error *error) {
  return faro_fail(error, FARO_SYSTEM,
                   "this faro was built without FLINT, which computes claims again; build it where "
                   "libflint-dev is installed (libflint-arb-dev too before FLINT 3)");
}

const char *faro_verify_word(faro_verify_verdict verdict) {
  (void)verdict;
  return "not verified";
}

faro_status faro_verify_claim(const json_t *grounds, double epsilon, double delta, faro_finding *finding,
                              faro_error *error) {
  (void)grounds;
  (void)epsilon;
  (void)delta;
  *finding = (faro_finding){.verdict = FARO_NOT_VERIFIED};
  return absent(error);
}

faro_status faro_verify_run(faro_verification *result, faro_verify_source source, const char *name,
                            const char *text, size_t length, faro_error *error) {
  (void)source;
  (void)name;
  (void)text;
  (void)length;
  *result = (faro_verification){0};
  return absent(error);
}

void faro_verification_clear(faro_verification *result) { *result = (faro_verification){0}; }
