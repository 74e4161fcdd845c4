/* claim: the algebra of claims, and the ledger. See privacy.h, and docs/privacy.md, Definitions. */
#include "privacy/claim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"

const char *faro_trust_name(faro_trust trust) {
  static const char *const name[] = FARO_NAMES(FARO_TRUST_LIST);
  return name[trust];
}

FARO_FIND(faro_trust, FARO_TRUST_LIST)
FARO_FIND(faro_level, FARO_LEVEL_LIST)

const char *faro_trust_view(faro_trust trust) {
  static const char *const view[] = {
#define X(id, text, sees) sees,
      FARO_TRUST_LIST(X)
#undef X
  };
  return view[trust];
}

const char *faro_level_name(faro_level level) {
  static const char *const name[] = FARO_NAMES(FARO_LEVEL_LIST);
  return name[level];
}

const char *faro_actions_name(faro_actions actions) {
  return actions == FARO_ACTIONS_HIDDEN ? "hidden" : actions == FARO_ACTIONS_ALL ? "all" : "others";
}

bool faro_actions_find(const char *name, faro_actions *actions) {
  for (int a = FARO_ACTIONS_HIDDEN; a <= FARO_ACTIONS_ALL; a++)
    if (strcmp(faro_actions_name((faro_actions)a), name) == 0) {
      *actions = (faro_actions)a;
      return true;
    }
  return false;
}

FARO_FIND(faro_protects, FARO_PROTECTS_LIST)

const char *faro_protects_name(faro_protects protects) {
  static const char *const name[] = FARO_NAMES(FARO_PROTECTS_LIST);
  return name[protects];
}

const char *faro_protects_text(faro_protects protects) {
  static const char *const said[] = {
#define X(id, text, sentence) sentence,
      FARO_PROTECTS_LIST(X)
#undef X
  };
  return said[protects];
}

#define AND_THAT " and that "

const char *faro_assumes_text(unsigned assumes, char out[FARO_ASSUMES_SIZE]) {
#define X(id, bit, text) +sizeof(AND_THAT text)
  _Static_assert(0 FARO_ASSUMES_LIST(X) <= FARO_ASSUMES_SIZE, "all assumptions together fit");
#undef X
  size_t used = 0;
#define X(id, bit, text)                                                                                     \
  if (assumes & (bit))                                                                                       \
    used += (size_t)snprintf(out + used, FARO_ASSUMES_SIZE - used, "%s%s", used ? AND_THAT : "", text);
  FARO_ASSUMES_LIST(X)
#undef X
  return used > 0 ? out : NULL;
}

faro_claim faro_claim_none(void) {
  return faro_claim_make((double)NAN, (double)NAN, FARO_TRUST_NONE, false,
                         "the server sees everything; nothing is claimed");
}

#define OTHERS "; for other users: "
/* Said in place of parts for which a composed claim has no room. */
#define MORE OTHERS "more than fits here"
/* A text of this length still has room for it. */
enum { BY_MOST = FARO_BY_SIZE - sizeof MORE };

/* Half a proof is none. */
static void put_by(faro_claim *claim, size_t used, const char *format, va_list args) {
  const int more = vsnprintf(claim->by + used, sizeof claim->by - used, format, args);
  const size_t length = used + (size_t)more;
  if (more >= 0 && length <= BY_MOST) return;
  claim->proven = false;
  snprintf(claim->by, sizeof claim->by, "its proof was given in %zu bytes, and a claim has room for %d",
           length, (int)BY_MOST);
}

void faro_claim_say(faro_claim *claim, const char *format, ...) {
  va_list args;
  if (claim->trust == FARO_TRUST_NONE) return;
  va_start(args, format);
  put_by(claim, strlen(claim->by), format, args);
  va_end(args);
}

faro_claim faro_claim_make(double epsilon, double delta, faro_trust trust, bool proven, const char *by, ...) {
  faro_claim claim = {
      .epsilon = epsilon, .delta = delta, .trust = trust, .contributions = 1, .proven = proven};
  va_list args;
  va_start(args, by);
  put_by(&claim, 0, by, args);
  va_end(args);
  return claim;
}

const char *faro_claim_standing(const faro_claim *claim) {
  if (claim->trust == FARO_TRUST_NONE) return "no privacy";
  return claim->proven ? "proven" : "not proven";
}

static bool is_central(const faro_claim *claim) {
  return claim->trust == FARO_TRUST_JOINT && claim->actions == FARO_ACTIONS_ALL;
}

const char *faro_claim_trust(const faro_claim *claim) {
  return is_central(claim) ? "central" : faro_trust_name(claim->trust);
}

const char *faro_claim_view(const faro_claim *claim, char out[FARO_VIEW_SIZE]) {
  const bool rewards = claim->protects == FARO_PROTECTS_REWARDS;
  const bool none = claim->trust == FARO_TRUST_NONE || (claim->actions == FARO_ACTIONS_OTHERS && !rewards);
  const char *more = rewards ? ", and what all users were shown and played"
                     : claim->actions == FARO_ACTIONS_ALL
                         ? ", and the actions of all users"
                         : ", but no other user's action: they must stay hidden";
  snprintf(out, FARO_VIEW_SIZE, "%s%s",
           is_central(claim) ? "everything that is published" : faro_trust_view(claim->trust),
           none ? "" : more);
  return out;
}

const char *faro_claim_text(const faro_claim *claim, char out[FARO_CLAIM_SIZE]) {
  char pair[FARO_PAIR_SIZE];
  char rounds[40] = "";
  char assumed[FARO_ASSUMES_SIZE] = "";
  const bool assumes = faro_assumes_text(claim->assumes, assumed) != NULL;
  const bool all = claim->protects == FARO_PROTECTS_ALL;
  if (claim->trust == FARO_TRUST_NONE) {
    snprintf(out, FARO_CLAIM_SIZE, "no privacy");
    return out;
  }
  if (claim->contributions > 1)
    snprintf(rounds, sizeof rounds, ", %llu rounds", (unsigned long long)claim->contributions);
  snprintf(out, FARO_CLAIM_SIZE, "%s, %s, trust %s, %s level%s%s%s%s%s%s",
           faro_pair_above(claim->epsilon, claim->delta, pair), faro_claim_standing(claim),
           faro_claim_trust(claim), faro_level_name(claim->level), rounds,
           claim->actions == FARO_ACTIONS_HIDDEN ? ", actions hidden" : "", all ? "" : ", ",
           all ? "" : faro_protects_text(claim->protects), assumes ? ", assumes that " : "", assumed);
  return out;
}

/* Ranks trust models: the less must be trusted, the higher. Local privacy needs nobody. With
 * several shufflers, more of them see a user's messages than with one. Joint privacy needs the
 * server. */
static int strength_of(faro_trust trust) {
  static const int strength[] = {[FARO_TRUST_NONE] = 0,
                                 [FARO_TRUST_JOINT] = 1,
                                 [FARO_TRUST_CONCURRENT] = 2,
                                 [FARO_TRUST_SHUFFLE] = 3,
                                 [FARO_TRUST_LOCAL] = 4};
  return strength[trust];
}

/* The weaker trust of the two: its adversary sees more. */
static faro_trust weaker(faro_trust a, faro_trust b) { return strength_of(a) < strength_of(b) ? a : b; }

static uint64_t fewer(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* What a user's own messages give: in the local model, the claim itself. */
static double local_epsilon(const faro_claim *c) {
  return c->trust != FARO_TRUST_LOCAL ? c->local_epsilon : c->proven ? c->epsilon : 0;
}
static double local_delta(const faro_claim *c) {
  return c->trust == FARO_TRUST_LOCAL ? c->delta : c->local_delta;
}

static void keep_local(const faro_claim *a, const faro_claim *b, faro_claim *both) {
  const bool known = local_epsilon(a) > 0 && local_epsilon(b) > 0;
  const bool own = both->trust == FARO_TRUST_LOCAL || both->trust == FARO_TRUST_JOINT;
  if (!known || own) return;
  both->local_epsilon = fmax(local_epsilon(a), local_epsilon(b));
  both->local_delta = fmax(local_delta(a), local_delta(b));
}

/* Each text once. What is missing to a proof is said first. */
static void keep_texts(const faro_claim *a, const faro_claim *b, faro_claim *both) {
  const faro_claim *first = a->proven && !b->proven ? b : a;
  const char *rest = first == a ? b->by : a->by;
  const size_t used = strlen(first->by);
  memcpy(both->by, first->by, sizeof both->by);
  if (strstr(first->by, rest) || strstr(first->by, MORE)) return;
  if (used + strlen(OTHERS) + strlen(rest) <= BY_MOST) faro_claim_say(both, OTHERS "%s", rest);
  else memcpy(both->by + (used < BY_MOST ? used : BY_MOST), MORE, sizeof MORE);
}

faro_claim faro_claim_parallel(const faro_claim *a, const faro_claim *b) {
  const faro_trust trust = weaker(a->trust, b->trust);
  if (trust == FARO_TRUST_NONE) return faro_claim_none();
  faro_claim claim = faro_claim_make(fmax(a->epsilon, b->epsilon), fmax(a->delta, b->delta), trust,
                                     a->proven && b->proven, "%s", "");
  const bool users = a->level == FARO_LEVEL_USER && b->level == FARO_LEVEL_USER;
  claim.level = users ? FARO_LEVEL_USER : FARO_LEVEL_EVENT;
  claim.contributions = fewer(a->contributions, b->contributions);
  claim.actions = a->actions < b->actions ? a->actions : b->actions;
  claim.protects = a->protects > b->protects ? a->protects : b->protects;
  claim.assumes = a->assumes | b->assumes;
  keep_texts(a, b, &claim);
  keep_local(a, b, &claim);
  return claim;
}

faro_status faro_claim_meets(const faro_claim *got, const char *whose, const faro_claim *least,
                             const char *asks, faro_error *error) {
  if (!got->proven)
    return faro_fail(error, FARO_INVALID, "the claim of %s is not proven: %s", whose, got->by);
  if (!(got->epsilon <= least->epsilon))
    return faro_fail(error, FARO_INVALID, "epsilon of %s is %g, and %s at most %g", whose, got->epsilon, asks,
                     least->epsilon);
  if (!(got->delta <= least->delta))
    return faro_fail(error, FARO_INVALID, "delta of %s is %g, and %s at most %g", whose, got->delta, asks,
                     least->delta);
  if (strength_of(got->trust) < strength_of(least->trust))
    return faro_fail(error, FARO_INVALID, "trust of %s is %s, and %s at least %s", whose,
                     faro_trust_name(got->trust), asks, faro_trust_name(least->trust));
  if (got->actions < least->actions)
    return faro_fail(error, FARO_INVALID, "actions that an adversary of %s may see are %s, and %s %s", whose,
                     faro_actions_name(got->actions), asks, faro_actions_name(least->actions));
  if (got->protects > least->protects)
    return faro_fail(error, FARO_INVALID, "%s protects %s, and %s %s", whose,
                     faro_protects_name(got->protects), asks, faro_protects_name(least->protects));
  char assumed[FARO_ASSUMES_SIZE];
  if (faro_assumes_text(got->assumes & ~least->assumes, assumed))
    return faro_fail(error, FARO_INVALID, "%s assumes that %s, and %s a claim without that", whose, assumed,
                     asks);
  if (least->level == FARO_LEVEL_USER && got->level != FARO_LEVEL_USER)
    return faro_fail(error, FARO_INVALID, "level of %s is event, and %s user", whose, asks);
  if (least->level == FARO_LEVEL_USER && got->contributions < least->contributions)
    return faro_fail(error, FARO_INVALID, "%s covers %llu contributions of a user, and %s %llu", whose,
                     (unsigned long long)got->contributions, asks, (unsigned long long)least->contributions);
  return FARO_OK;
}

faro_status faro_ledger_charge(faro_ledger *ledger, faro_error *error) {
  if (ledger->charged >= ledger->allowed)
    return faro_fail(error, FARO_INVALID, "the privacy budget is spent: all %llu releases have been made",
                     (unsigned long long)ledger->allowed);
  ledger->charged++;
  return FARO_OK;
}

bool faro_shuffle_closed_form(double epsilon0, double delta0, double n, double slack, double *epsilon,
                              double *delta) {
  if (!(epsilon0 <= log(n / (16 * log(2 / slack))))) return false;
  const double e = exp(epsilon0);
  *epsilon = log1p((e - 1) / (e + 1) * (8 * sqrt(e * log(4 / slack)) / sqrt(n) + 8 * e / n));
  *delta = slack + (exp(*epsilon) + 1) * (1 + exp(-epsilon0) / 2) * n * delta0;
  return true;
}
