/* reply: what a receiver's answer means for the parts of a post (faro/client.h). */
#include <math.h>
#include <string.h>

#include <faro/client.h>

#include "wire/verdict.h"

_Static_assert((int)FARO_REFUSAL_TWICE == (int)FARO_VERDICT_TWICE, "refusals are verdicts");
_Static_assert((int)FARO_REFUSAL_CLOSED == (int)FARO_VERDICT_CLOSED, "refusals are verdicts");
_Static_assert((int)FARO_REFUSAL_ELSEWHERE == (int)FARO_VERDICT_ELSEWHERE, "refusals are verdicts");

static const double AFTER_MAX = 86400; /* seconds; a receiver that asks for more is mistaken */

const char *faro_refusal_text(faro_refusal refusal) {
  static const char *const texts[] = {
#define X(name, label, text) text,
      FARO_VERDICT_LIST(X)
#undef X
  };
  const bool known =
      (refusal > FARO_REFUSAL_OTHER && refusal <= FARO_REFUSAL_CLOSED) || refusal == FARO_REFUSAL_ELSEWHERE;
  return known ? texts[refusal] : "unknown answer";
}

static bool contains(const char *body, size_t length, const char *text) {
  const size_t size = strlen(text);
  for (size_t i = 0; i + size <= length; i++)
    if (memcmp(body + i, text, size) == 0) return true;
  return false;
}

/* All parts were refused for one reason, which {"error": text} names. NONE: this is not an answer
 * to reports: a proxy may answer 400 for reasons of its own. Content that is not made of reports
 * has a text of its own. */
static faro_refusal common(long status, const char *body, size_t length) {
  if (status < 400 || status >= 500) return FARO_REFUSAL_NONE;
  if (contains(body, length, faro_refusal_text(FARO_REFUSAL_ELSEWHERE))) return FARO_REFUSAL_ELSEWHERE;
  for (int i = FARO_REFUSAL_CAMPAIGN; i <= FARO_REFUSAL_CLOSED; i++)
    if (contains(body, length, faro_refusal_text((faro_refusal)i))) return (faro_refusal)i;
  return contains(body, length, FARO_NO_REPORTS) ? FARO_REFUSAL_MALFORMED : FARO_REFUSAL_NONE;
}

static faro_reply read_byte(unsigned char byte, double after) {
  if (byte == FARO_VERDICT_ACCEPTED || byte == FARO_VERDICT_KNOWN)
    return (faro_reply){.kind = FARO_REPLY_DONE};
  if (byte == FARO_VERDICT_CLOSED || byte == FARO_VERDICT_LIMITED)
    return (faro_reply){.kind = FARO_REPLY_AGAIN, .after = after};
  if (byte == FARO_VERDICT_ELSEWHERE || byte == FARO_VERDICT_TWICE)
    return (faro_reply){.kind = FARO_REPLY_AGAIN, .refusal = (faro_refusal)byte, .after = after};
  return (faro_reply){.kind = FARO_REPLY_REFUSED,
                      .refusal = byte < FARO_VERDICT_COUNT ? (faro_refusal)byte : FARO_REFUSAL_OTHER};
}

void faro_client_replies(long status, const void *body, size_t length, double retry_after,
                         faro_reply *replies, size_t parts) {
  const double after = retry_after > 0 ? fmin(retry_after, AFTER_MAX) : 0;
  const bool each = status == 200 && length == parts;
  const faro_refusal refusal = common(status, body, length);
  for (size_t i = 0; i < parts; i++) {
    if (each) replies[i] = read_byte(((const unsigned char *)body)[i], after);
    else if (refusal == FARO_REFUSAL_ELSEWHERE || refusal == FARO_REFUSAL_TWICE)
      replies[i] = read_byte((unsigned char)refusal, after);
    else if (refusal != FARO_REFUSAL_NONE)
      replies[i] = (faro_reply){.kind = FARO_REPLY_REFUSED, .refusal = refusal};
    else replies[i] = (faro_reply){.kind = FARO_REPLY_AGAIN, .after = after};
  }
}
