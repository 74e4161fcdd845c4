/* campaign: what a client must know to take part, as a signed document; and what follows from it.
 *
 *   {"id": "...", "nonce": "<hex>",
 *    "learner":  {"kind": "linucb", "dimension": d, "arms": K, "failure": p, "optimism": f},
 *    "bounds":   {"norm": L, "centre": c, "low": a, "high": b},    y = reward - c, within [a, b]
 *    "release":  {"kind": "...", "epsilon": e, "delta": q, "horizon": T, "batch": B, "shufflers": k, "level": "user",
 *                 "contributions": M0, "honest": h},
 *    "claim":    {"epsilon": e, "delta": q, "trust": "...", "level": "...", "contributions": M0, "by": "..."},
 *    "encoding": [{"size": B, "grid": G, "bits": b, "most": m}, ...],          of each shuffler, or one for the analyzer
 *    "analyzer": {"url": "...", "seal": "<hex>"},
 *    "shufflers": [{"url": "...", "key": "<hex>"}, ...]}
 *
 * Whoever reads it makes the release from the parameters, and so has the claim from its own accountant. The encoding
 * follows too; it is stated, so that a reader whose arithmetic comes out elsewhere finds out at once. */
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "base/abort.h"
#include "wire/document.h"

static const char word[] = "faro-campaign-1";

enum { ARMS_MAX = 1000000 };
static const double BOUND_MAX = 1e6; /* of norms and rewards */

faro_wire_form faro_campaign_form(const faro_campaign *campaign) {
  const faro_trust trust = faro_release_kind_trust(campaign->release);
  if (trust == FARO_TRUST_LOCAL || trust == FARO_TRUST_JOINT) return FARO_WIRE_DIRECT;
  return faro_release_kind_counts(campaign->release) ? FARO_WIRE_BITS : FARO_WIRE_SEALED;
}

/* Those whose noise is drawn in integers. */
const char *faro_campaign_release(size_t index) {
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    if (faro_release_kind_exact(kind) && index-- == 0) return faro_release_kind_name(kind);
  }
  return NULL;
}

bool faro_campaign_active(const faro_campaign *campaign, size_t shuffler, uint64_t batch) {
  const uint64_t unit = campaign->task[shuffler].size / campaign->params.batch;
  return batch < campaign->batches && batch - batch % unit + unit <= campaign->batches;
}

/* Claims. */

/* How little is trusted to others. Local privacy needs nobody; of shufflers more see a user's messages when there are
 * several; joint privacy needs the server. */
static int rank_of(faro_trust trust) {
  switch (trust) {
  case FARO_TRUST_NONE: return 0;
  case FARO_TRUST_JOINT: return 1;
  case FARO_TRUST_CONCURRENT: return 2;
  case FARO_TRUST_SHUFFLE: return 3;
  case FARO_TRUST_LOCAL: return 4;
  }
  return 0;
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
  if (rank_of(got->trust) < rank_of(least->trust))
    return faro_fail(error, FARO_INVALID, "trust of %s is %s, and %s at least %s", whose,
                     faro_trust_name(got->trust), asks, faro_trust_name(least->trust));
  if (least->level == FARO_LEVEL_USER && got->level != FARO_LEVEL_USER)
    return faro_fail(error, FARO_INVALID, "level of %s is event, and %s user", whose, asks);
  if (least->level == FARO_LEVEL_USER && got->contributions < least->contributions)
    return faro_fail(error, FARO_INVALID, "%s covers %llu contributions of a user, and %s %llu", whose,
                     (unsigned long long)got->contributions, asks, (unsigned long long)least->contributions);
  return FARO_OK;
}

/* Checks of values, for writers and readers alike. */

static faro_status check_id(const char *id, faro_error *error) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  const size_t length = strlen(id);
  if (length >= 1 && length <= FARO_ID_MAX && strspn(id, allowed) == length) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "id must be 1 .. %d letters, digits, or any of -_. (got %.80s)",
                   FARO_ID_MAX, id);
}

bool faro_url_whole(const char *url) {
  const size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
  return scheme > 0 && strcspn(url + scheme, "/:?#@") > 0;
}

/* A place, not a page: whoever sends appends the path. */
static faro_status check_url(const char *whose, const char *url, faro_error *error) {
  bool good = faro_url_whole(url) && url[strlen(url) - 1] != '/';
  for (const char *c = url; good && *c; c++) good = *c > ' ' && *c <= '~' && !strchr("\"\\<>?#", *c);
  if (good) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "url of %s must be http:// or https:// and a host, without blanks, query or slash at the "
                   "end (got %.100s)",
                   whose, url);
}

/* The whole of what stands between the scheme and the path: "127.0.0.1:80@example.org" is not this machine. */
static bool on_this_machine(const char *host) {
  static const char *const local[] = {"127.0.0.1", "[::1]", "localhost"};
  for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
    const size_t length = strlen(local[i]);
    if (strncmp(host, local[i], length) != 0) continue;
    const char *rest = host + length;
    if (*rest == ':') rest += 1 + strspn(rest + 1, "0123456789");
    if (*rest == '\0' || *rest == '/') return true;
  }
  return false;
}

bool faro_url_local(const char *url) {
  if (strncmp(url, "https://", 8) == 0) return true;
  return strncmp(url, "http://", 7) == 0 && on_this_machine(url + 7);
}

/* What readers ask for as well. */
static faro_status check_bounds(const faro_campaign *c, faro_error *error) {
  const faro_contribution *bound = &c->contribution;
  if (bound->form != FARO_FORM_MOMENTS || bound->dimension < 1 || bound->dimension > FARO_WIRE_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "learner.dimension must be 1 .. %d (got %zu)",
                     FARO_WIRE_DIMENSION_MAX, bound->dimension);
  if (!(bound->norm >= 1 / BOUND_MAX && bound->norm <= BOUND_MAX))
    return faro_fail(error, FARO_INVALID, "bounds.norm must be %g .. %g (got %g)", 1 / BOUND_MAX, BOUND_MAX,
                     bound->norm);
  if (!(fabs(bound->low) <= BOUND_MAX && fabs(bound->high) <= BOUND_MAX && fabs(c->centre) <= BOUND_MAX))
    return faro_fail(error, FARO_INVALID, "bounds of rewards must be %g .. %g (got %g, %g, %g)", -BOUND_MAX,
                     BOUND_MAX, c->centre, bound->low, bound->high);
  return FARO_OK;
}

/* Not one of the few points that would make every seal the same. */
static faro_status check_seal(const faro_campaign *c, faro_error *error) {
  unsigned char box[FARO_SEAL_BYTES + 1];
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  if (crypto_box_seal(box, (const unsigned char *)"", 0, c->seal) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "analyzer.seal is no key that anything can be sealed to");
}

/* A shuffler's key: a point that a key pair can have. Zeros and other placeholders are nobody's. */
static faro_status check_shuffler(const faro_campaign *c, size_t index, faro_error *error) {
  if (crypto_core_ed25519_is_valid_point(c->shuffler_key[index]) == 1)
    return check_url("a shuffler", c->shuffler[index], error);
  return faro_fail(error, FARO_INVALID,
                   "key of shuffler %zu is no public signing key (a placeholder? `faro keys show` prints it)",
                   index);
}

static faro_status check_values(const faro_campaign *c, faro_error *error) {
  faro_status status = check_id(c->id, error);
  if (status == FARO_OK) status = check_url("the analyzer", c->analyzer, error);
  if (status == FARO_OK) status = check_seal(c, error);
  if (status == FARO_OK) status = check_bounds(c, error);
  if (c->shufflers > FARO_SHUFFLERS_MAX)
    return faro_fail(error, FARO_INVALID, "shufflers must be at most %d (got %zu)", FARO_SHUFFLERS_MAX,
                     c->shufflers);
  for (size_t i = 0; status == FARO_OK && i < c->shufflers; i++) status = check_shuffler(c, i, error);
  if (status != FARO_OK) return status;
  if (c->arms < 1 || c->arms > ARMS_MAX)
    return faro_fail(error, FARO_INVALID, "learner.arms must be 1 .. %d (got %llu)", ARMS_MAX,
                     (unsigned long long)c->arms);
  if (!(c->failure > 0 && c->failure < 1))
    return faro_fail(error, FARO_INVALID, "learner.failure must be above 0 and below 1 (got %g)", c->failure);
  if (!(c->optimism >= 0 && c->optimism <= 1000))
    return faro_fail(error, FARO_INVALID, "learner.optimism must be 0 .. 1000 (got %g)", c->optimism);
  if (c->params.calibration != FARO_CALIBRATION_TIGHT || c->params.anytime || c->params.crowd != 0)
    return faro_fail(error, FARO_INVALID,
                     "a campaign needs calibration tight, a fixed horizon and one release");
  if (!faro_release_kind_exact(c->release))
    return faro_fail(error, FARO_INVALID,
                     "release.kind must be one whose noise is drawn in integers (got %s)",
                     faro_release_kind_name(c->release));
  return FARO_OK;
}

/* What follows from a campaign. */

static faro_status derive_shuffler(faro_campaign *c, const faro_release *release, size_t level,
                                   faro_error *error) {
  faro_shuffler_task *task = &c->task[level];
  if (!faro_release_task(release, level, task)) *task = (faro_shuffler_task){.size = c->params.batch};
  faro_release_range(release, level, &c->least[level], &c->most[level]);
  if (c->most[level] > (int64_t)FARO_JSON_COUNT_MAX)
    return faro_fail(error, FARO_INVALID, "%s would need numbers beyond 2^53: change batch or bounds",
                     faro_release_kind_name(c->release));
  if (faro_campaign_form(c) == FARO_WIRE_BITS && c->most[level] > (int64_t)UINT32_MAX)
    return faro_fail(error, FARO_INVALID,
                     "%s would need %lld bits for an entry, and a report has room for 2^32 - 1: raise "
                     "epsilon, delta or batch",
                     faro_release_kind_name(c->release), (long long)c->most[level]);
  return FARO_OK;
}

/* A batch of sealed reports must go through memory, disk and network whole. */
static faro_status check_size(const faro_campaign *c, faro_error *error) {
  const uint64_t body = faro_wire_report_size(c) - FARO_REPORT_HEAD;
  if (faro_campaign_form(c) == FARO_WIRE_BITS || c->params.batch <= FARO_BATCH_MAX / body) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "batch must be at most %llu for %s in %zu dimensions, where a report has %llu bytes (got %llu)",
      (unsigned long long)(FARO_BATCH_MAX / body), faro_release_kind_name(c->release),
      c->contribution.dimension, (unsigned long long)body, (unsigned long long)c->params.batch);
}

/* More are not drawn fast any more (random/coins.c). */
static faro_status check_bits(const faro_campaign *c, const faro_release *release, faro_error *error) {
  const double bits = faro_release_cost(release).bits / (double)c->contribution.length;
  if (bits <= FARO_ENTRY_BITS_MAX) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s would need %.3g bits for an entry of a report, and at most %.3g are allowed: raise "
                   "epsilon, delta or batch, or lower dimension or contributions",
                   faro_release_kind_name(c->release), bits, (double)FARO_ENTRY_BITS_MAX);
}

static faro_status derive(faro_campaign *c, const faro_release *release, faro_error *error) {
  const size_t wanted = faro_campaign_form(c) == FARO_WIRE_DIRECT ? 0 : faro_release_shufflers(release);
  if (c->shufflers != wanted)
    return faro_fail(error, FARO_INVALID, "shufflers must be %zu for %s (got %zu)", wanted,
                     faro_release_kind_name(c->release), c->shufflers);
  c->params.batch = faro_release_batch(release);
  c->batches = c->params.horizon / c->params.batch;
  faro_status status = check_size(c, error);
  if (status == FARO_OK) status = derive_shuffler(c, release, 0, error);
  for (size_t i = 1; status == FARO_OK && i < c->shufflers; i++)
    status = derive_shuffler(c, release, i, error);
  return status == FARO_OK ? check_bits(c, release, error) : status;
}

/* Makes the release, for what follows and for faro's own claim. */
static faro_status account(faro_campaign *c, faro_claim *own, faro_error *error) {
  faro_release *release = NULL;
  if (c->params.contributions == 0) c->params.contributions = 1;
  if (c->params.honest == 0) c->params.honest = 1;
  faro_status status = check_values(c, error);
  if (status == FARO_OK)
    status = faro_release_create(&release, c->release, &c->contribution, &c->params, error);
  if (status != FARO_OK) return status;
  *own = *faro_release_claim(release);
  status = faro_release_vouch(release, error); /* the claim holds in whole numbers */
  if (status == FARO_OK) status = derive(c, release, error);
  faro_release_destroy(release);
  return status;
}

/* Writing. */

static void add_word(faro_text *json, const char *before, const char *value) {
  faro_text_add(json, "%s", before);
  faro_json_quote(json, value);
}

static void add_count(faro_text *json, const char *before, uint64_t value) {
  faro_text_add(json, "%s%llu", before, (unsigned long long)value);
}

static void add_release(faro_text *json, const faro_campaign *c) {
  const faro_release_params *p = &c->params;
  add_word(json, ",\n\"release\":{\"kind\":", faro_release_kind_name(c->release));
  faro_document_add(json, ",\"epsilon\":", p->epsilon);
  faro_document_add(json, ",\"delta\":", p->delta);
  add_count(json, ",\"horizon\":", p->horizon);
  add_count(json, ",\"batch\":", p->batch);
  add_count(json, ",\"shufflers\":", p->shufflers);
  add_word(json, ",\"level\":", faro_level_name(p->level));
  add_count(json, ",\"contributions\":", p->contributions);
  faro_document_add(json, ",\"honest\":", p->honest);
}

static void add_claim(faro_text *json, const faro_claim *claim) {
  faro_document_add(json, "},\n\"claim\":{\"epsilon\":", claim->epsilon);
  faro_document_add(json, ",\"delta\":", claim->delta);
  add_word(json, ",\"trust\":", faro_trust_name(claim->trust));
  add_word(json, ",\"level\":", faro_level_name(claim->level));
  add_count(json, ",\"contributions\":", claim->contributions);
  add_word(json, ",\"by\":", claim->by);
}

/* Where reports go: to so many, the analyzer itself being one. */
static size_t targets(const faro_campaign *c) { return c->shufflers > 0 ? c->shufflers : 1; }

static void add_encoding(faro_text *json, const faro_campaign *c) {
  faro_text_add(json, "},\n\"encoding\":[");
  for (size_t i = 0; i < targets(c); i++) {
    add_count(json, i ? ",{\"size\":" : "{\"size\":", c->task[i].size);
    add_count(json, ",\"grid\":", c->task[i].grid);
    add_count(json, ",\"bits\":", c->task[i].bits);
    add_count(json, ",\"most\":", (uint64_t)c->most[i]);
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]");
}

static void add_parties(faro_text *json, const faro_campaign *c) {
  char digits[2 * FARO_KEY_BYTES + 1];
  add_word(json, ",\n\"analyzer\":{\"url\":", c->analyzer);
  add_word(json, ",\"seal\":", faro_hex_write(c->seal, FARO_KEY_BYTES, digits));
  faro_text_add(json, "},\n\"shufflers\":[");
  for (size_t i = 0; i < c->shufflers; i++) {
    add_word(json, i ? ",\n{\"url\":" : "{\"url\":", c->shuffler[i]);
    add_word(json, ",\"key\":", faro_hex_write(c->shuffler_key[i], FARO_KEY_BYTES, digits));
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]}\n");
}

faro_status faro_campaign_write(faro_campaign *campaign, const faro_sign_key *key, char **text,
                                size_t *length, faro_error *error) {
  faro_campaign made = *campaign;
  faro_status status = account(&made, &made.claim, error);
  if (status != FARO_OK) return status;
  if (!made.claim.proven)
    return faro_fail(error, FARO_INVALID, "the claim of the release is not proven: %s", made.claim.by);
  faro_text json = FARO_TEXT_INIT;
  add_word(&json, "{\"id\":", made.id);
  char nonce[2 * FARO_NONCE_BYTES + 1];
  add_word(&json, ",\"nonce\":", faro_hex_write(made.nonce, FARO_NONCE_BYTES, nonce));
  add_count(&json, ",\n\"learner\":{\"kind\":\"linucb\",\"dimension\":", made.contribution.dimension);
  add_count(&json, ",\"arms\":", made.arms);
  faro_document_add(&json, ",\"failure\":", made.failure);
  faro_document_add(&json, ",\"optimism\":", made.optimism);
  faro_document_add(&json, "},\n\"bounds\":{\"norm\":", made.contribution.norm);
  faro_document_add(&json, ",\"centre\":", made.centre);
  faro_document_add(&json, ",\"low\":", made.contribution.low);
  faro_document_add(&json, ",\"high\":", made.contribution.high);
  faro_text_add(&json, "}");
  add_release(&json, &made);
  add_claim(&json, &made.claim);
  add_encoding(&json, &made);
  add_parties(&json, &made);
  status = faro_document_sign(word, &json, key, made.digest, text, length, error);
  if (status == FARO_OK) *campaign = made;
  return status;
}

/* Reading. */

enum { KINDS_MAX = 64 };

/* One of those that can be deployed. */
static faro_status read_kind(const faro_json *json, uint32_t object, const faro_release_kind **kind,
                             faro_error *error) {
  const char *words[KINDS_MAX];
  size_t count = 0;
  size_t index = 0;
  FARO_INVARIANT(faro_release_kinds() <= KINDS_MAX);
  for (size_t i = 0; i < faro_release_kinds(); i++)
    if (faro_release_kind_exact(faro_release_kind_at(i)))
      words[count++] = faro_release_kind_name(faro_release_kind_at(i));
  const faro_status status = faro_json_choice(json, object, "kind", words, count, &index, error);
  *kind = faro_release_kind_find(words[index]);
  return status;
}

static faro_status read_level(const faro_json *json, uint32_t object, faro_level *level, faro_error *error) {
  static const char *const words[] = {
#define X(name, text) text,
      FARO_LEVEL_LIST(X)
#undef X
  };
  size_t index = 0;
  const faro_status status =
      faro_json_choice(json, object, "level", words, sizeof words / sizeof *words, &index, error);
  *level = (faro_level)index;
  return status;
}

static faro_status read_trust(const faro_json *json, uint32_t object, faro_trust *trust, faro_error *error) {
  static const char *const words[] = {
#define X(name, text, view) text,
      FARO_TRUST_LIST(X)
#undef X
  };
  size_t index = 0;
  const faro_status status =
      faro_json_choice(json, object, "trust", words, sizeof words / sizeof *words, &index, error);
  *trust = (faro_trust)index;
  return status;
}

static faro_status read_learner(const faro_json *json, faro_campaign *c, uint64_t *dimension,
                                faro_error *error) {
  static const char *const keys[] = {"kind", "dimension", "arms", "failure", "optimism"};
  static const char *const kinds[] = {"linucb"};
  uint32_t in = 0;
  size_t kind = 0;
  faro_status status = faro_json_inside(json, 0, "learner", FARO_JSON_OBJECT, &in, error);
  if (status == FARO_OK) status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = faro_json_choice(json, in, "kind", kinds, 1, &kind, error);
  if (status == FARO_OK)
    status = faro_json_count(json, in, "dimension", 1, FARO_WIRE_DIMENSION_MAX, dimension, error);
  if (status == FARO_OK) status = faro_json_count(json, in, "arms", 1, ARMS_MAX, &c->arms, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "failure", 0, 1, &c->failure, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "optimism", 0, 1000, &c->optimism, error);
  return status;
}

static faro_status read_bounds(const faro_json *json, faro_campaign *c, uint64_t dimension,
                               faro_error *error) {
  static const char *const keys[] = {"norm", "centre", "low", "high"};
  uint32_t in = 0;
  double norm = 0;
  double low = 0;
  double high = 0;
  faro_status status = faro_json_inside(json, 0, "bounds", FARO_JSON_OBJECT, &in, error);
  if (status == FARO_OK) status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "norm", 1 / BOUND_MAX, BOUND_MAX, &norm, error);
  if (status == FARO_OK)
    status = faro_json_real(json, in, "centre", -BOUND_MAX, BOUND_MAX, &c->centre, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "low", -BOUND_MAX, BOUND_MAX, &low, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "high", -BOUND_MAX, BOUND_MAX, &high, error);
  if (status == FARO_OK)
    status = faro_contribution_init(&c->contribution, (size_t)dimension, norm, low, high, error);
  return status;
}

static faro_status read_release(const faro_json *json, faro_campaign *c, faro_error *error) {
  static const char *const keys[] = {"kind",      "epsilon", "delta",         "horizon", "batch",
                                     "shufflers", "level",   "contributions", "honest"};
  uint32_t in = 0;
  faro_release_params p = {.calibration = FARO_CALIBRATION_TIGHT};
  faro_status status = faro_json_inside(json, 0, "release", FARO_JSON_OBJECT, &in, error);
  if (status == FARO_OK) status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = read_kind(json, in, &c->release, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "epsilon", 1e-4, 1000, &p.epsilon, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "delta", 1e-15, 0.999, &p.delta, error);
  if (status == FARO_OK)
    status = faro_json_count(json, in, "horizon", 1, UINT64_C(1) << 40, &p.horizon, error);
  if (status == FARO_OK) status = faro_json_count(json, in, "batch", 1, UINT64_C(1) << 40, &p.batch, error);
  if (status == FARO_OK)
    status = faro_json_count(json, in, "shufflers", 0, FARO_SHUFFLERS_MAX, &p.shufflers, error);
  if (status == FARO_OK) status = read_level(json, in, &p.level, error);
  if (status == FARO_OK)
    status = faro_json_count(json, in, "contributions", 1, UINT64_C(1) << 40, &p.contributions, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "honest", 1e-6, 1, &p.honest, error);
  c->params = p;
  return status;
}

static faro_status read_claim(const faro_json *json, faro_claim *claim, faro_error *error) {
  static const char *const keys[] = {"epsilon", "delta", "trust", "level", "contributions", "by"};
  uint32_t in = 0;
  faro_status status = faro_json_inside(json, 0, "claim", FARO_JSON_OBJECT, &in, error);
  if (status == FARO_OK) status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "epsilon", 0, 1000, &claim->epsilon, error);
  if (status == FARO_OK) status = faro_json_real(json, in, "delta", 0, 1, &claim->delta, error);
  if (status == FARO_OK) status = read_trust(json, in, &claim->trust, error);
  if (status == FARO_OK) status = read_level(json, in, &claim->level, error);
  if (status == FARO_OK)
    status = faro_json_count(json, in, "contributions", 1, UINT64_C(1) << 40, &claim->contributions, error);
  if (status == FARO_OK) status = faro_json_text(json, in, "by", claim->by, sizeof claim->by, error);
  return status;
}

static faro_status read_shuffler(const faro_json *json, uint32_t in, faro_campaign *c, size_t index,
                                 faro_error *error) {
  static const char *const keys[] = {"url", "key"};
  faro_status status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK)
    status = faro_json_text(json, in, "url", c->shuffler[index], sizeof c->shuffler[index], error);
  if (status == FARO_OK)
    status = faro_json_bytes(json, in, "key", c->shuffler_key[index], FARO_KEY_BYTES, error);
  return status;
}

static faro_status read_parties(const faro_json *json, faro_campaign *c, faro_error *error) {
  static const char *const keys[] = {"url", "seal"};
  uint32_t in = 0;
  faro_status status = faro_json_inside(json, 0, "analyzer", FARO_JSON_OBJECT, &in, error);
  if (status == FARO_OK) status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = faro_json_text(json, in, "url", c->analyzer, sizeof c->analyzer, error);
  if (status == FARO_OK) status = faro_json_bytes(json, in, "seal", c->seal, FARO_KEY_BYTES, error);
  if (status == FARO_OK) status = faro_json_inside(json, 0, "shufflers", FARO_JSON_ARRAY, &in, error);
  if (status != FARO_OK) return status;
  c->shufflers = json->node[in].count;
  if (c->shufflers > FARO_SHUFFLERS_MAX)
    return faro_fail(error, FARO_INVALID, "shufflers must be at most %d (got %zu)", FARO_SHUFFLERS_MAX,
                     c->shufflers);
  uint32_t child = in + 1;
  for (size_t i = 0; status == FARO_OK && i < c->shufflers; i++, child = json->node[child].next)
    status = read_shuffler(json, child, c, i, error);
  return status;
}

static faro_status read_encoder(const faro_json *json, uint32_t in, faro_campaign *c, size_t index,
                                faro_error *error) {
  static const char *const keys[] = {"size", "grid", "bits", "most"};
  uint64_t most = 0;
  faro_shuffler_task *task = &c->task[index];
  faro_status status = faro_json_expect(json, in, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = faro_json_count(json, in, "size", 1, UINT64_C(1) << 40, &task->size, error);
  if (status == FARO_OK) status = faro_json_count(json, in, "grid", 0, UINT64_C(1) << 30, &task->grid, error);
  if (status == FARO_OK)
    status = faro_json_count(json, in, "bits", 0, FARO_JSON_COUNT_MAX, &task->bits, error);
  if (status == FARO_OK) status = faro_json_count(json, in, "most", 1, FARO_JSON_COUNT_MAX, &most, error);
  c->most[index] = (int64_t)most;
  return status;
}

/* As stated; faro_campaign_open compares. */
static faro_status read_encoding(const faro_json *json, faro_campaign *c, faro_error *error) {
  uint32_t in = 0;
  faro_status status = faro_json_inside(json, 0, "encoding", FARO_JSON_ARRAY, &in, error);
  if (status != FARO_OK) return status;
  if (json->node[in].count != targets(c))
    return faro_fail(error, FARO_INVALID, "encoding must have %zu entries (got %u)", targets(c),
                     json->node[in].count);
  uint32_t child = in + 1;
  for (size_t i = 0; status == FARO_OK && i < targets(c); i++, child = json->node[child].next)
    status = read_encoder(json, child, c, i, error);
  return status;
}

static faro_status compare_encoding(const faro_campaign *own, const faro_campaign *stated,
                                    faro_error *error) {
  for (size_t i = 0; i < targets(own); i++)
    if (own->task[i].size != stated->task[i].size || own->task[i].grid != stated->task[i].grid ||
        own->task[i].bits != stated->task[i].bits || own->most[i] != stated->most[i])
      return faro_fail(error, FARO_INVALID,
                       "encoding %zu is not what the parameters give here: size, grid, bits and most must be "
                       "%llu, %llu, %llu and %lld (got %llu, %llu, %llu and %lld)",
                       i, (unsigned long long)own->task[i].size, (unsigned long long)own->task[i].grid,
                       (unsigned long long)own->task[i].bits, (long long)own->most[i],
                       (unsigned long long)stated->task[i].size, (unsigned long long)stated->task[i].grid,
                       (unsigned long long)stated->task[i].bits, (long long)stated->most[i]);
  return FARO_OK;
}

static faro_status read_campaign(const faro_json *json, faro_campaign *c, faro_error *error) {
  static const char *const keys[] = {"id",    "nonce",    "learner",  "bounds",   "release",
                                     "claim", "encoding", "analyzer", "shufflers"};
  uint64_t dimension = 0;
  faro_status status = faro_json_expect(json, 0, keys, sizeof keys / sizeof *keys, error);
  if (status == FARO_OK) status = faro_json_text(json, 0, "id", c->id, sizeof c->id, error);
  if (status == FARO_OK) status = faro_json_bytes(json, 0, "nonce", c->nonce, FARO_NONCE_BYTES, error);
  if (status == FARO_OK) status = read_learner(json, c, &dimension, error);
  if (status == FARO_OK) status = read_bounds(json, c, dimension, error);
  if (status == FARO_OK) status = read_release(json, c, error);
  if (status == FARO_OK) status = read_claim(json, &c->claim, error);
  if (status == FARO_OK) status = read_parties(json, c, error);
  if (status == FARO_OK) status = read_encoding(json, c, error);
  return status;
}

/* Epsilon and delta may be stated larger than they are. To whom and for what they are promised may not be put otherwise:
 * clients decide by it what they keep to themselves. */
static faro_status compare_claims(const faro_claim *own, const faro_claim *stated, faro_error *error) {
  if (own->trust != stated->trust)
    return faro_fail(error, FARO_INVALID, "trust of the claim must be %s, that of the release (got %s)",
                     faro_trust_name(own->trust), faro_trust_name(stated->trust));
  if (own->level != stated->level || own->contributions != stated->contributions)
    return faro_fail(
        error, FARO_INVALID,
        "the claim must be at level %s for %llu contributions, as the release is (got %s and %llu)",
        faro_level_name(own->level), (unsigned long long)own->contributions, faro_level_name(stated->level),
        (unsigned long long)stated->contributions);
  return faro_claim_meets(own, "the release", stated, "the campaign states", error);
}

faro_status faro_campaign_open(faro_campaign *campaign, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_json json = {0};
  faro_campaign made = {0};
  faro_claim own = {0};
  faro_status status = faro_document_open(word, text, length, signer, made.digest, &json, error);
  if (status == FARO_OK) status = read_campaign(&json, &made, error);
  faro_json_release(&json);
  const faro_campaign stated = made;
  if (status == FARO_OK) status = account(&made, &own, error);
  if (status == FARO_OK) status = compare_claims(&own, &made.claim, error);
  if (status == FARO_OK) status = compare_encoding(&made, &stated, error);
  if (status != FARO_OK) return status;
  made.claim.proven = true;
  *campaign = made;
  return FARO_OK;
}
