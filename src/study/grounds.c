/* grounds: what a study's claim rests on (docs/privacy.md, Checking a claim): the grounds of the
 * sums and, for every fit that is allowed, those of its release with everybody in it. */
#include <stdlib.h>

#include "base/text.h"
#include "study/state.h"

static void add_member(faro_text *out, const char *name, char *grounds) {
  if (grounds) faro_text_add(out, ",\"%s\":%s", name, grounds);
  free(grounds);
}

/* Fits with the same noise are written once, with their number. */
static void add_fits(const faro_study *s, unsigned part, faro_text *out) {
  uint64_t count = 0;
  char *now = NULL;
  faro_text_add(out, ",\"fits\":[");
  for (uint64_t k = 0; k < s->fits[part].allowed; k += count) {
    count = faro_budget_same(&s->budget, part, k);
    now = NULL;
    if (faro_study_rehearse(s, part, k, NULL, &now, NULL) != FARO_OK) out->failed = true;
    faro_text_add(out, "%s{\"count\":%llu", k ? "," : "", (unsigned long long)count);
    add_member(out, "grounds", now);
    faro_text_add(out, "}");
  }
  faro_text_add(out, "]");
}

char *faro_study_grounds(const faro_study *study) {
  faro_text out = FARO_TEXT_INIT;
  if (study->kind->trust == FARO_TRUST_NONE || !study->claim.proven) return NULL;
  faro_text_add(&out, "{\"mechanism\":\"study\",\"parts\":[");
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    faro_text_add(&out, "%s{\"published\":%s", part ? "," : "", study->silent[part] ? "false" : "true");
    add_member(&out, "sum", faro_release_grounds(study->sum[part]));
    add_fits(study, part, &out);
    faro_text_add(&out, "}");
  }
  faro_text_add(&out, "]}");
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
