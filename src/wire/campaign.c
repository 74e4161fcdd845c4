/* campaign: what a client must know to take part, as a signed document, and what follows from it.
 *
 *   {"id": "...", "nonce": "<hex>",
 *    "learner":  {"kind": "...", "dimension": d, "arms": K, "failure": p},
 *    "settings": [{"name": "...", "value": v}, ...],                the learner's own
 *    "bounds":   {"norm": L, "centre": c, "low": a, "high": b},    y = reward - c, within [a, b]
 *    "release":  {"kind": "...", "epsilon": e, "delta": q, "horizon": T, "batch": B, "growth": g,
 *                 "largest": m, "shufflers": k, "level": "user", "contributions": M0, "honest": h},
 *    "claim":    {"epsilon": e, "delta": q, "trust": "...", "level": "...", "contributions": M0,
 *                 "by": "..."},
 *    "encoding": [{"from": k, "size": B, "grid": G, "bits": b, "most": m}, ...],
 *                                            one per shuffler, or one for each change of the size
 *    "analyzer": {"url": "...", "seal": "<hex>"},
 *    "shufflers": [{"url": "...", "key": "<hex>"}, ...],
 *    "wait": w,                                                    from version 3 on
 *    "phases": {"numbers": n, "reports": N, "noise": r, "spread": s},   zeros without phases
 *    "features": [x, ...],                                         of all arms, in phases
 *    "rounds": {"link": "logistic", "bound": S, "fits": k},        linear and zeros without rounds
 *    "terms": [{"size": n}, ...],                                  in rounds
 *    "adders": [{"key": "<hex>", "seal": "<hex>"}, ...],          version 4: counts are split
 *    "before": [{"campaign": "<hex>", "epsilon": e, "delta": q}, ...]}   only if there are any
 *
 * A reader makes the release from the parameters, so it gets the claim from its own accountant. The
 * encoding follows from them too. It is stated so that a reader whose arithmetic gives other
 * numbers notices at once. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/finite.h"
#include "field/reader.h"
#include "privacy/claim.h"
#include "release/schedule.h"
#include "wire/document.h"
#include "wire/split.h"

/* Campaigns of version 2 are still read, because they last for months. They have no key `wait`, and
 * their choices may wait for ever; and they have no phases. Version 4 has adders; campaigns without
 * are written in version 3. */
static const char *const formats[] = {
    [2] = "faro-campaign-2", [3] = "faro-campaign-3", [4] = "faro-campaign-4"};

/* The table of fields ends with FIELDS_ADDED by version 3, FIELDS_ADDERS of version 4, and
 * FIELDS_BEFORE, which may be left out. */
enum { ARMS_MAX = 1000000, FIELDS_ADDED = 11, FIELDS_ADDERS = 3, FIELDS_BEFORE = 4 };
#define BOUND_MAX 1e6 /* for norms and rewards */

/* a + b, rounded up: what the sum lost (Knuth's two-sum) decides. */
static double sum_above(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  return lost > 0 ? nextafter(sum, INFINITY) : sum;
}

void faro_campaign_total(const faro_campaign *campaign, double *epsilon, double *delta) {
  *epsilon = campaign->claim.epsilon;
  *delta = campaign->claim.delta;
  for (size_t i = 0; i < campaign->befores; i++) {
    *epsilon = sum_above(*epsilon, campaign->before[i].epsilon);
    *delta = sum_above(*delta, campaign->before[i].delta);
  }
}

faro_wire_form faro_campaign_form(const faro_campaign *campaign) {
  const faro_trust trust = campaign->release->trust;
  if (trust == FARO_TRUST_LOCAL || trust == FARO_TRUST_JOINT) return FARO_WIRE_DIRECT;
  return faro_release_kind_counts(campaign->release) ? FARO_WIRE_BITS : FARO_WIRE_SEALED;
}

size_t faro_campaign_targets(const faro_campaign *campaign) {
  return campaign->shufflers > 0 ? campaign->shufflers : 1;
}

const char *faro_campaign_release(size_t index) {
  const char *names[FARO_RELEASES_MAX];
  return index < faro_release_deployable(names) ? names[index] : NULL;
}

bool faro_campaign_in_phases(const faro_campaign *campaign) { return campaign->phases.numbers > 0; }

bool faro_campaign_in_rounds(const faro_campaign *campaign) {
  return campaign->rounds.link != FARO_LINK_LINEAR;
}

uint64_t faro_campaign_term_of(const faro_campaign *campaign, uint64_t batch, uint64_t *fit) {
  const uint64_t rounds = campaign->rounds.fits + 1;
  if (fit) *fit = batch % rounds;
  return batch / rounds;
}

faro_status faro_campaign_round(const faro_campaign *campaign, uint64_t batch, faro_source source,
                                faro_release **release, faro_error *error) {
  const uint64_t term = faro_campaign_term_of(campaign, batch, NULL);
  const size_t last = campaign->rounds.terms - 1;
  const faro_release_params params =
      faro_release_alone(&campaign->params, campaign->rounds.term[term < last ? term : last].size);
  return faro_release_create(release, campaign->release, &campaign->contribution, &params, source, error);
}

uint64_t faro_campaign_batches(const faro_campaign *campaign) {
  const bool known = campaign->plans && faro_plans_over(campaign->plans);
  return known ? faro_plans_newest(campaign->plans) - 1 : campaign->batches;
}

static const faro_encoding *planned(const faro_campaign *campaign, uint64_t batch) {
  static const faro_encoding nothing = {.size = UINT64_MAX, .least = 1};
  const faro_plan_row *row = campaign->plans ? faro_plans_at(campaign->plans, batch + 1) : NULL;
  return row ? &row->encoding : &nothing;
}

/* Several shufflers have batches of one size each. Else rows are in the order of batches. */
const faro_encoding *faro_campaign_encoding(const faro_campaign *campaign, size_t shuffler, uint64_t batch) {
  if (faro_campaign_in_phases(campaign)) return planned(campaign, batch);
  if (campaign->shufflers > 1) return &campaign->encoding[shuffler];
  size_t row = 0;
  for (size_t above = campaign->encodings; above - row > 1;) {
    const size_t middle = row + (above - row) / 2;
    if (campaign->encoding[middle].from <= batch) row = middle;
    else above = middle;
  }
  return &campaign->encoding[row];
}

uint64_t faro_campaign_unit(const faro_campaign *campaign, size_t shuffler) {
  return campaign->shufflers > 1 ? campaign->encoding[shuffler].size / campaign->params.batch : 1;
}

uint64_t faro_campaign_size(const faro_campaign *campaign, size_t shuffler, uint64_t number) {
  return faro_campaign_encoding(campaign, shuffler, number)->size;
}

static uint64_t planned_reports(const faro_campaign *campaign, uint64_t batches) {
  const faro_encoding *last = planned(campaign, batches - 1);
  return last->size < UINT64_MAX ? last->before + last->size : campaign->phases.reports;
}

uint64_t faro_campaign_reports(const faro_campaign *campaign, uint64_t batches) {
  if (faro_campaign_in_phases(campaign)) return batches > 0 ? planned_reports(campaign, batches) : 0;
  const faro_encoding *e = faro_campaign_encoding(campaign, 0, batches);
  return e->before + (batches - e->from) * e->size;
}

uint64_t faro_campaign_largest(const faro_campaign *campaign) {
  if (faro_campaign_in_phases(campaign)) return campaign->params.largest;
  uint64_t largest = campaign->encoding[0].size;
  for (size_t i = 1; campaign->shufflers <= 1 && i < campaign->encodings; i++)
    if (campaign->encoding[i].size > largest) largest = campaign->encoding[i].size;
  return largest;
}

/* Without a shuffler a report has the same noise in every batch, or none. In phases the next batch
 * plays another arm, and in rounds it is linearised at another point. */
bool faro_campaign_overlaps(const faro_campaign *campaign, uint64_t batch) {
  if (batch == 0 || faro_campaign_in_phases(campaign) || faro_campaign_in_rounds(campaign)) return false;
  const faro_encoding *now = faro_campaign_encoding(campaign, 0, batch);
  const faro_encoding *before = faro_campaign_encoding(campaign, 0, batch - 1);
  return now == before || (faro_campaign_form(campaign) == FARO_WIRE_DIRECT && now->least == before->least &&
                           now->most == before->most);
}

bool faro_campaign_active(const faro_campaign *campaign, size_t shuffler, uint64_t batch) {
  const uint64_t unit = faro_campaign_unit(campaign, shuffler);
  const uint64_t batches = faro_campaign_batches(campaign);
  return batch < batches && batch - batch % unit + unit <= batches;
}

/* Checks of values, for writing and reading. */

static faro_status check_name(const char *what, const char *name, faro_error *error) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  const size_t length = strlen(name);
  if (length >= 1 && length <= FARO_ID_MAX && strspn(name, allowed) == length) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be 1 .. %d letters, digits, or any of -_. (got %.80s)", what,
                   FARO_ID_MAX, name);
}

bool faro_url_whole(const char *url) {
  const size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
  return scheme > 0 && strcspn(url + scheme, "/:?#@") > 0;
}

/* It must not end with a slash: senders append the path. */
faro_status faro_campaign_check_url(const char *whose, const char *url, faro_error *error) {
  bool good = faro_url_whole(url) && url[strlen(url) - 1] != '/';
  for (const char *c = url; good && *c; c++) good = *c > ' ' && *c <= '~' && !strchr("\"\\<>?#", *c);
  if (good) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "url of %s must be http:// or https:// and a host, without blanks, query or slash at the "
                   "end (got %.100s)",
                   whose, url);
}

/* Compares everything between scheme and path: "127.0.0.1:80@example.org" is not this machine. */
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

/* Readers check the same while they read. */
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

/* Refuses the few points for which every seal would be the same. */
static bool can_seal(const unsigned char key[static FARO_KEY_BYTES]) {
  unsigned char box[FARO_SEAL_BYTES + 1];
  return crypto_box_seal(box, (const unsigned char *)"", 0, key) == 0;
}

static faro_status check_seal(const faro_campaign *c, faro_error *error) {
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  if (can_seal(c->seal)) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "analyzer.seal is not a valid sealing key");
}

/* A shuffler's key must be a point that a key pair can have. Zeros and other placeholders are
 * not. */
static faro_status check_shuffler(const faro_campaign *c, size_t index, faro_error *error) {
  if (crypto_core_ed25519_is_valid_point(c->shuffler[index].key) == 1)
    return faro_campaign_check_url("a shuffler", c->shuffler[index].url, error);
  return faro_fail(
      error, FARO_INVALID,
      "key of shuffler %zu is not a public signing key; use the one that `faro keys show` prints", index);
}

/* An analyzer that is its own shuffler sees who sent what. That it does not use its own key is all
 * that a document can show; clients may pin shufflers. */
static faro_status check_parties(const faro_campaign *c, const unsigned char signer[static FARO_KEY_BYTES],
                                 faro_error *error) {
  for (size_t i = 0; i < c->shufflers; i++)
    if (memcmp(c->shuffler[i].key, signer, FARO_KEY_BYTES) == 0)
      return faro_fail(error, FARO_INVALID,
                       "key of shuffler %zu is the analyzer's own: a shuffler must be another party", i);
  for (size_t i = 0; i < c->adders; i++)
    if (memcmp(c->adder[i].key, signer, FARO_KEY_BYTES) == 0)
      return faro_fail(error, FARO_INVALID,
                       "key of adder %zu is the analyzer's own: an adder must be another party", i);
  return FARO_OK;
}

/* An adder has keys of its own: one party with both shares sees the counts. */
static faro_status check_adder(const faro_campaign *c, size_t index, faro_error *error) {
  const faro_campaign_adder *a = &c->adder[index];
  if (crypto_core_ed25519_is_valid_point(a->key) != 1)
    return faro_fail(error, FARO_INVALID,
                     "key of adder %zu is not a public signing key; use the one that `faro keys show` prints",
                     index);
  if (!can_seal(a->seal))
    return faro_fail(error, FARO_INVALID, "seal of adder %zu is not a valid sealing key", index);
  if (memcmp(a->seal, c->seal, FARO_KEY_BYTES) == 0)
    return faro_fail(error, FARO_INVALID,
                     "seal of adder %zu is the analyzer's own: an adder must be another party", index);
  for (size_t i = 0; i < c->shufflers; i++)
    if (memcmp(a->key, c->shuffler[i].key, FARO_KEY_BYTES) == 0)
      return faro_fail(error, FARO_INVALID,
                       "key of adder %zu is that of shuffler %zu: an adder must be another party", index, i);
  for (size_t i = 0; i < index; i++)
    if (memcmp(a->key, c->adder[i].key, FARO_KEY_BYTES) == 0 ||
        memcmp(a->seal, c->adder[i].seal, FARO_KEY_BYTES) == 0)
      return faro_fail(error, FARO_INVALID, "adder %zu has a key of adder %zu: each must have its own", index,
                       i);
  return FARO_OK;
}

/* Only counts can be split, and an adder knows the sizes of batches from the campaign alone. */
static faro_status check_adders(const faro_campaign *c, faro_error *error) {
  faro_status status = FARO_OK;
  if (c->adders == 0) return FARO_OK;
  if (faro_campaign_form(c) != FARO_WIRE_BITS)
    return faro_fail(error, FARO_INVALID,
                     "adders must be none for %s: only counts can be split (shuffle-bits, concurrent-bits)",
                     c->release->name);
  if (faro_campaign_in_phases(c))
    return faro_fail(error, FARO_INVALID, "adders must be none in a campaign in phases");
  if (c->adders != c->shufflers)
    return faro_fail(error, FARO_INVALID, "adders must be %zu, one for each shuffler (got %zu)", c->shufflers,
                     c->adders);
  for (size_t i = 0; status == FARO_OK && i < c->adders; i++) status = check_adder(c, i, error);
  return status;
}

faro_status faro_campaign_check_places(const faro_campaign *campaign,
                                       const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  const faro_campaign *c = campaign;
  faro_status status = faro_campaign_check_url("the analyzer", c->analyzer, error);
  if (status == FARO_OK) status = check_seal(c, error);
  for (size_t i = 0; status == FARO_OK && i < c->shufflers; i++) {
    status = check_shuffler(c, i, error);
    for (size_t j = 0; status == FARO_OK && j < i; j++)
      if (memcmp(c->shuffler[i].key, c->shuffler[j].key, FARO_KEY_BYTES) == 0)
        status = faro_fail(error, FARO_INVALID, "key of shuffler %zu is that of shuffler %zu too", i, j);
  }
  if (status == FARO_OK) status = check_adders(c, error);
  return status == FARO_OK ? check_parties(c, signer, error) : status;
}

/* Only the analyzer knows which settings the learner has. */
static faro_status check_settings(const faro_campaign *c, faro_error *error) {
  if (c->settings > FARO_LEARNER_SETTINGS_MAX)
    return faro_fail(error, FARO_INVALID, "settings must be at most %d (got %zu)", FARO_LEARNER_SETTINGS_MAX,
                     c->settings);
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < c->settings; i++)
    status = check_name("name of a setting", c->setting[i].name, error);
  return status;
}

/* One batch by itself, of one kind, in whole numbers. */
static bool suits_phases(const faro_release_kind *kind) {
  return kind->phases && !kind->alternative && faro_release_kind_exact(kind);
}

static faro_status refuse_release(const faro_campaign *c, const char *in, faro_error *error) {
  faro_text list = FARO_TEXT_INIT;
  const char *names[FARO_RELEASES_MAX];
  const size_t count = faro_release_deployable(names);
  for (size_t i = 0; i < count; i++)
    if (suits_phases(faro_release_kind_find(names[i])))
      faro_text_add(&list, "%s%s", list.length > 0 ? ", " : "", names[i]);
  const faro_status status =
      faro_fail(error, FARO_INVALID, "release.kind must be one of %s in a campaign in %s (got %s)",
                list.data ? list.data : "", in, c->release->name);
  faro_text_clear(&list);
  return status;
}

static faro_status check_features(const faro_campaign *c, faro_error *error) {
  const size_t wanted = (size_t)c->arms * c->contribution.dimension;
  if (c->arms > FARO_PLAN_ARMS_MAX || wanted > FARO_FEATURES_MAX)
    return faro_fail(error, FARO_INVALID,
                     "learner.arms must be at most %d in a campaign in phases, with at most %d features of "
                     "all arms together (got %llu arms with %zu features each)",
                     FARO_PLAN_ARMS_MAX, FARO_FEATURES_MAX, (unsigned long long)c->arms,
                     c->contribution.dimension);
  if (c->features != wanted)
    return faro_fail(error, FARO_INVALID, "features must be %zu numbers, %zu for each arm (got %zu)", wanted,
                     c->contribution.dimension, c->features);
  if (!faro_all_finite(c->feature, c->features))
    return faro_fail(error, FARO_INVALID, "features must be finite");
  return FARO_OK;
}

static faro_status check_phases(const faro_campaign *c, faro_error *error) {
  const faro_phases *p = &c->phases;
  if (!suits_phases(c->release)) return refuse_release(c, "phases", error);
  if (p->numbers > c->arms)
    return faro_fail(error, FARO_INVALID,
                     "phases.numbers must be at most the number of arms, %llu (got %llu)",
                     (unsigned long long)c->arms, (unsigned long long)p->numbers);
  if (c->params.batch < 1 || c->params.largest < c->params.batch || p->reports < c->params.batch)
    return faro_fail(error, FARO_INVALID,
                     "release.batch must be 1 or more, and release.largest and phases.reports at least that "
                     "(got %llu, %llu and %llu)",
                     (unsigned long long)c->params.batch, (unsigned long long)c->params.largest,
                     (unsigned long long)p->reports);
  if (!(p->noise > 0 && p->noise <= BOUND_MAX && p->spread >= 0 && p->spread <= BOUND_MAX))
    return faro_fail(error, FARO_INVALID,
                     "phases.noise must be above 0, phases.spread not below 0, and both at most %g (got %g "
                     "and %g)",
                     BOUND_MAX, p->noise, p->spread);
  return check_features(c, error);
}

static faro_status check_rounds(const faro_campaign *c, faro_error *error) {
  const faro_campaign_rounds *r = &c->rounds;
  const faro_contribution *bound = &c->contribution;
  if (!suits_phases(c->release)) return refuse_release(c, "rounds", error);
  if (faro_campaign_in_phases(c))
    return faro_fail(error, FARO_INVALID, "a campaign has phases or rounds, and not both");
  if (bound->norm != 1 || bound->low != 0 || bound->high != 1 || c->centre != 0)
    return faro_fail(error, FARO_INVALID,
                     "bounds must be norm 1, centre 0, low 0 and high 1 in a campaign in rounds (got %g, %g, "
                     "%g and %g)",
                     bound->norm, c->centre, bound->low, bound->high);
  if (c->arms > FARO_PLAN_ARMS_MAX)
    return faro_fail(error, FARO_INVALID,
                     "learner.arms must be at most %d in a campaign in rounds, where devices compute designs "
                     "(got %llu)",
                     FARO_PLAN_ARMS_MAX, (unsigned long long)c->arms);
  if (r->terms < 1 || r->terms > FARO_WIRE_TERMS_MAX || r->fits > FARO_WIRE_FITS_MAX)
    return faro_fail(error, FARO_INVALID,
                     "terms must be 1 .. %d, with at most %d fits each (got %zu and %llu)",
                     FARO_WIRE_TERMS_MAX, FARO_WIRE_FITS_MAX, r->terms, (unsigned long long)r->fits);
  if (r->fits >= c->params.contributions)
    return faro_fail(error, FARO_INVALID,
                     "contributions must be more than fits, %llu, so that people can be in a whole term (got "
                     "%llu)",
                     (unsigned long long)r->fits, (unsigned long long)c->params.contributions);
  return FARO_OK;
}

static faro_status check_values(const faro_campaign *c, faro_error *error) {
  faro_status status = check_name("id", c->id, error);
  if (status == FARO_OK) status = check_name("learner.kind", c->learner, error);
  if (status == FARO_OK) status = faro_campaign_check_url("the analyzer", c->analyzer, error);
  if (status == FARO_OK) status = check_seal(c, error);
  if (status == FARO_OK) status = check_bounds(c, error);
  if (c->shufflers > FARO_SHUFFLERS_MAX)
    return faro_fail(error, FARO_INVALID, "shufflers must be at most %d (got %zu)", FARO_SHUFFLERS_MAX,
                     c->shufflers);
  for (size_t i = 0; status == FARO_OK && i < c->shufflers; i++) status = check_shuffler(c, i, error);
  if (status == FARO_OK) status = check_adders(c, error);
  if (status != FARO_OK) return status;
  if (c->arms < 1 || c->arms > ARMS_MAX)
    return faro_fail(error, FARO_INVALID, "learner.arms must be 1 .. %d (got %llu)", ARMS_MAX,
                     (unsigned long long)c->arms);
  if (!(c->failure > 0 && c->failure < 1))
    return faro_fail(error, FARO_INVALID, "learner.failure must be above 0 and below 1 (got %g)", c->failure);
  status = check_settings(c, error);
  if (status != FARO_OK) return status;
  if (c->params.calibration != FARO_CALIBRATION_TIGHT || c->params.anytime || c->params.crowd != 0)
    return faro_fail(error, FARO_INVALID,
                     "a campaign needs calibration tight, a fixed horizon and a single release");
  if (!faro_release_kind_exact(c->release))
    return faro_fail(error, FARO_INVALID,
                     "release.kind must be a release that draws its noise in integers (got %s)",
                     c->release->name);
  if (faro_campaign_in_rounds(c)) return check_rounds(c, error);
  return faro_campaign_in_phases(c) ? check_phases(c, error) : FARO_OK;
}

static faro_status refuse_sizes(const faro_campaign *c, faro_error *error) {
  return faro_fail(error, FARO_INVALID,
                   "batches must have at most %d different sizes (growth %g from a batch of %llu on): raise "
                   "batch or growth, or lower largest",
                   FARO_ENCODINGS_MAX, c->params.growth, (unsigned long long)c->params.batch);
}

/* Each size of batches takes the accountant some time, so this is checked first. A schedule that
 * the release is to choose is checked afterwards. */
static faro_status check_schedule(const faro_campaign *c, faro_error *error) {
  const faro_schedule_rule rule = {.horizon = c->params.horizon,
                                   .batch = c->params.batch,
                                   .largest = c->params.largest,
                                   .least = c->release->least_batch,
                                   .growth = c->params.growth};
  const bool given = c->params.batch > 0 && c->params.growth > 1;
  if (!given || faro_schedule_changes(&rule, FARO_ENCODINGS_MAX) <= FARO_ENCODINGS_MAX) return FARO_OK;
  return refuse_sizes(c, error);
}

/* What follows from a campaign. */

/* Room for a report's numbers. */
static faro_status check_range(const faro_campaign *c, const faro_encoding *e, faro_error *error) {
  if (e->most > (int64_t)FARO_JSON_COUNT_MAX)
    return faro_fail(error, FARO_INVALID, "%s would need numbers beyond 2^53: change batch or bounds",
                     c->release->name);
  if (faro_campaign_form(c) == FARO_WIRE_BITS && e->most > (int64_t)UINT32_MAX)
    return faro_fail(error, FARO_INVALID,
                     "%s would need %lld bits for an entry, but a report has room for 2^32 - 1: raise "
                     "epsilon, delta or batch",
                     c->release->name, (long long)e->most);
  return FARO_OK;
}

/* Adds how reports are made for the batch that the release is at. */
static faro_status add_row(faro_campaign *c, const faro_release *release, size_t level, uint64_t batch,
                           uint64_t before, faro_error *error) {
  faro_encoding *e = &c->encoding[c->encodings++];
  faro_shuffler_task task = {.size = faro_release_batch_size(release, batch)};
  (void)faro_release_task(release, level, &task);
  *e = (faro_encoding){
      .from = batch, .before = before, .size = task.size, .grid = task.grid, .bits = task.bits};
  faro_release_range(release, level, &e->least, &e->most);
  return check_range(c, e, error);
}

/* One row for each shuffler, or for each change of the size of batches. */
static faro_status derive_encoding(faro_campaign *c, faro_release *release, faro_error *error) {
  faro_status status = FARO_OK;
  uint64_t before = 0;
  uint64_t last = 0;
  c->encodings = 0;
  for (size_t i = 0; c->shufflers > 1 && status == FARO_OK && i < c->shufflers; i++)
    status = add_row(c, release, i, 0, 0, error);
  if (c->shufflers > 1) return status;
  const uint64_t different = c->params.growth > 1 ? c->batches : 1;
  for (uint64_t k = 0; status == FARO_OK && k < different; k++) {
    const uint64_t size = faro_release_batch_size(release, k);
    faro_release_seek(release, k);
    if (size != last && c->encodings == FARO_ENCODINGS_MAX) return refuse_sizes(c, error);
    if (size != last) status = add_row(c, release, 0, k, before, error);
    before += size;
    last = size;
  }
  return status;
}

/* A batch of sealed reports goes through memory, disk and network in one piece; and so do the boxes
 * of split counts. */
static faro_status check_size(const faro_campaign *c, faro_error *error) {
  const bool split = faro_campaign_is_split(c);
  const uint64_t body = split ? FARO_BOX_BYTES : faro_wire_report_size(c) - FARO_REPORT_HEAD;
  const uint64_t largest = c->shufflers > 1 ? c->encoding[c->encodings - 1].size : faro_campaign_largest(c);
  if ((faro_campaign_form(c) == FARO_WIRE_BITS && !split) || largest <= FARO_BATCH_MAX / body) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "%s must be at most %llu for %s in %zu dimensions, where a report has %llu bytes (got %llu)",
      c->params.growth > 1 ? "largest" : "batch", (unsigned long long)(FARO_BATCH_MAX / body),
      c->release->name, c->contribution.dimension, (unsigned long long)body, (unsigned long long)largest);
}

/* Bits of an entry of a report, in all parts together. */
static double bits_of(const faro_campaign *c, const faro_release *release) {
  double most = faro_release_cost(release).bits / (double)c->contribution.length;
  for (size_t i = 0; c->shufflers == 1 && i < c->encodings; i++)
    most = fmax(most, (double)c->encoding[i].grid + (double)c->encoding[i].bits);
  return most;
}

/* More bits could not be drawn fast enough (random/coins.c). */
static faro_status check_bits(const faro_campaign *c, const faro_release *release, faro_error *error) {
  const double bits = bits_of(c, release);
  if (bits <= FARO_ENTRY_BITS_MAX) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s would need %.3g bits for an entry of a report, but at most %.3g are allowed: raise "
                   "epsilon, delta or batch, or lower dimension or contributions",
                   c->release->name, bits, (double)FARO_ENTRY_BITS_MAX);
}

static faro_status derive(faro_campaign *c, faro_release *release, faro_error *error) {
  const size_t wanted = faro_campaign_form(c) == FARO_WIRE_DIRECT ? 0 : faro_release_shufflers(release);
  if (c->shufflers != wanted)
    return faro_fail(error, FARO_INVALID, "shufflers must be %zu for %s (got %zu)", wanted, c->release->name,
                     c->shufflers);
  c->batches = faro_release_batches(release);
  c->entries = faro_release_message_size(release) / sizeof(uint64_t) / faro_campaign_targets(c);
  faro_status status = derive_encoding(c, release, error);
  if (status == FARO_OK) status = check_size(c, error);
  return status == FARO_OK ? check_bits(c, release, error) : status;
}

/* What follows for a campaign in phases: from the release of the smallest batch that a plan may ask
 * for. */
static faro_status derive_phases(faro_campaign *c, const faro_release *release, faro_error *error) {
  const size_t wanted = faro_campaign_form(c) == FARO_WIRE_DIRECT ? 0 : 1;
  if (c->shufflers != wanted)
    return faro_fail(error, FARO_INVALID, "shufflers must be %zu for %s in a campaign in phases (got %zu)",
                     wanted, c->release->name, c->shufflers);
  c->batches = FARO_PLANS_MAX - 1;
  c->entries = faro_release_message_size(release) / sizeof(uint64_t);
  c->encodings = 0;
  faro_status status = add_row(c, release, 0, 0, 0, error);
  if (status == FARO_OK) status = check_size(c, error);
  return status == FARO_OK ? check_bits(c, release, error) : status;
}

/* Every plan's release is made for epsilon and delta, and each reader checks that. The numbers in
 * the text are those of the smallest batch. */
static faro_claim claim_of_phases(const faro_campaign *c, const faro_release *release) {
  faro_claim claim = *faro_release_claim(release);
  claim.epsilon = fmax(claim.epsilon, c->params.epsilon);
  claim.delta = fmax(claim.delta, c->params.delta);
  claim.local_epsilon = claim.local_delta = 0; /* each size has its own */
  faro_claim_say(&claim, " (a batch of %llu)", (unsigned long long)c->params.batch);
  return claim;
}

static faro_status account_phases(faro_campaign *c, faro_secure_rng *secure, faro_claim *own,
                                  faro_error *error) {
  faro_release *release = NULL;
  faro_status status = faro_plan_release(c, c->params.batch, (size_t)c->phases.numbers,
                                         faro_source_client(secure), &release, error);
  if (status != FARO_OK) return status;
  *own = claim_of_phases(c, release);
  c->params.growth = 1;
  status = derive_phases(c, release, error);
  faro_release_destroy(release);
  return status;
}

/* The rounds of one term, all alike. Their claim is one of Lemma P, so the weakest is that of all;
 * the text is the first one's. */
static faro_status account_term(faro_campaign *c, size_t term, faro_secure_rng *secure, faro_claim *own,
                                faro_error *error) {
  faro_release *release = NULL;
  const uint64_t from = term * (c->rounds.fits + 1);
  const faro_encoding *last = term > 0 ? &c->encoding[term - 1] : NULL;
  const uint64_t before = last ? last->before + (from - last->from) * last->size : 0;
  faro_status status = faro_campaign_round(c, from, faro_source_client(secure), &release, error);
  if (status != FARO_OK) return status;
  const faro_claim *claim = faro_release_claim(release);
  if (term == 0) *own = *claim;
  own->epsilon = fmax(own->epsilon, claim->epsilon);
  own->delta = fmax(own->delta, claim->delta);
  own->proven = own->proven && claim->proven;
  own->local_epsilon = own->local_delta = 0; /* each size has its own */
  c->entries = faro_release_message_size(release) / sizeof(uint64_t);
  status = add_row(c, release, 0, 0, before, error);
  c->encoding[term].from = from;
  if (status == FARO_OK) status = check_bits(c, release, error);
  faro_release_destroy(release);
  return status;
}

static faro_status account_rounds(faro_campaign *c, faro_secure_rng *secure, faro_claim *own,
                                  faro_error *error) {
  const size_t wanted = faro_campaign_form(c) == FARO_WIRE_DIRECT ? 0 : 1;
  if (c->shufflers != wanted)
    return faro_fail(error, FARO_INVALID, "shufflers must be %zu for %s in a campaign in rounds (got %zu)",
                     wanted, c->release->name, c->shufflers);
  c->params.batch = c->rounds.term[0].size;
  c->params.growth = 1;
  c->params.largest = 0;
  c->batches = c->rounds.terms * (c->rounds.fits + 1);
  c->encodings = 0;
  faro_status status = FARO_OK;
  for (size_t term = 0; status == FARO_OK && term < c->rounds.terms; term++)
    status = account_term(c, term, secure, own, error);
  if (status != FARO_OK) return status;
  faro_claim_say(own, " (a round of %llu)", (unsigned long long)c->rounds.term[0].size);
  return check_size(c, error);
}

/* Makes the release as a client would, to compute what follows and the claim. The schedule is that
 * of the release, and so is the kind: the caller compares. */
static faro_status account(faro_campaign *c, faro_claim *own, faro_error *error) {
  faro_release *release = NULL;
  faro_secure_rng *secure = NULL;
  if (c->params.contributions == 0) c->params.contributions = 1;
  if (c->params.honest == 0) c->params.honest = 1;
  const bool phases = faro_campaign_in_phases(c);
  const bool rounds = faro_campaign_in_rounds(c);
  faro_status status = check_values(c, error);
  if (status == FARO_OK && !phases && !rounds) status = check_schedule(c, error);
  if (status == FARO_OK) status = faro_secure_open(&secure, error);
  if (status == FARO_OK && phases) status = account_phases(c, secure, own, error);
  else if (status == FARO_OK && rounds) status = account_rounds(c, secure, own, error);
  else if (status == FARO_OK)
    status = faro_release_create(&release, c->release, &c->contribution, &c->params,
                                 faro_source_client(secure), error);
  if (status == FARO_OK && release) {
    const faro_release_params *made = faro_release_params_of(release);
    *own = *faro_release_claim(release);
    c->release = faro_release_kind_of(release);
    c->params.batch = made->batch;
    c->params.growth = made->growth;
    c->params.largest = made->growth > 1 ? made->largest : 0;
    status = derive(c, release, error);
  }
  faro_release_destroy(release);
  faro_secure_close(secure);
  c->share_bits = status == FARO_OK && faro_campaign_is_split(c) ? faro_split_width(c) : 0;
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
  add_word(json, ",\n\"release\":{\"kind\":", c->release->name);
  faro_document_add(json, ",\"epsilon\":", p->epsilon);
  faro_document_add(json, ",\"delta\":", p->delta);
  add_count(json, ",\"horizon\":", p->horizon);
  add_count(json, ",\"batch\":", p->batch);
  faro_document_add(json, ",\"growth\":", p->growth);
  add_count(json, ",\"largest\":", p->largest);
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

static void add_encoding(faro_text *json, const faro_campaign *c) {
  faro_text_add(json, "},\n\"encoding\":[");
  for (size_t i = 0; i < c->encodings; i++) {
    const faro_encoding *e = &c->encoding[i];
    add_count(json, i ? ",\n{\"from\":" : "{\"from\":", e->from);
    add_count(json, ",\"size\":", e->size);
    add_count(json, ",\"grid\":", e->grid);
    add_count(json, ",\"bits\":", e->bits);
    add_count(json, ",\"most\":", (uint64_t)e->most);
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]");
}

static void add_learner(faro_text *json, const faro_campaign *c) {
  add_word(json, ",\n\"learner\":{\"kind\":", c->learner);
  add_count(json, ",\"dimension\":", c->contribution.dimension);
  add_count(json, ",\"arms\":", c->arms);
  faro_document_add(json, ",\"failure\":", c->failure);
  faro_text_add(json, "},\n\"settings\":[");
  for (size_t i = 0; i < c->settings; i++) {
    add_word(json, i ? ",{\"name\":" : "{\"name\":", c->setting[i].name);
    faro_document_add(json, ",\"value\":", c->setting[i].value);
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
    add_word(json, i ? ",\n{\"url\":" : "{\"url\":", c->shuffler[i].url);
    add_word(json, ",\"key\":", faro_hex_write(c->shuffler[i].key, FARO_KEY_BYTES, digits));
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]");
}

static void add_phases(faro_text *json, const faro_campaign *c) {
  add_count(json, ",\n\"phases\":{\"numbers\":", c->phases.numbers);
  add_count(json, ",\"reports\":", c->phases.reports);
  faro_document_add(json, ",\"noise\":", c->phases.noise);
  faro_document_add(json, ",\"spread\":", c->phases.spread);
  faro_text_add(json, "},\n\"features\":[");
  for (size_t i = 0; i < c->features; i++) faro_document_add(json, i ? "," : "", c->feature[i]);
  faro_text_add(json, "]");
}

static void add_adders(faro_text *json, const faro_campaign *c) {
  char digits[2 * FARO_KEY_BYTES + 1];
  if (c->adders == 0) return;
  for (size_t i = 0; i < c->adders; i++) {
    add_word(json, i ? "},\n{\"key\":" : ",\n\"adders\":[{\"key\":",
             faro_hex_write(c->adder[i].key, FARO_KEY_BYTES, digits));
    add_word(json, ",\"seal\":", faro_hex_write(c->adder[i].seal, FARO_KEY_BYTES, digits));
  }
  faro_text_add(json, "}]");
}

static void add_before(faro_text *json, const faro_campaign *c) {
  char digits[2 * FARO_DIGEST_BYTES + 1];
  if (c->befores == 0) return;
  for (size_t i = 0; i < c->befores; i++) {
    add_word(json, i ? "},\n{\"campaign\":" : ",\n\"before\":[{\"campaign\":",
             faro_hex_write(c->before[i].campaign, FARO_DIGEST_BYTES, digits));
    faro_document_add(json, ",\"epsilon\":", c->before[i].epsilon);
    faro_document_add(json, ",\"delta\":", c->before[i].delta);
  }
  faro_text_add(json, "}]");
}

static void add_rounds(faro_text *json, const faro_campaign *c) {
  add_word(json, ",\n\"rounds\":{\"link\":", faro_link_name(c->rounds.link));
  faro_document_add(json, ",\"bound\":", c->rounds.bound);
  add_count(json, ",\"fits\":", c->rounds.fits);
  faro_text_add(json, "},\n\"terms\":[");
  for (size_t i = 0; i < c->rounds.terms; i++) {
    add_count(json, i ? ",{\"size\":" : "{\"size\":", c->rounds.term[i].size);
    faro_text_add(json, "}");
  }
  faro_text_add(json, "]");
}

faro_status faro_campaign_write(faro_campaign *campaign, const faro_sign_key *key, char **text,
                                size_t *length, faro_error *error) {
  faro_campaign made = *campaign;
  faro_status status = check_parties(&made, key->public_key, error);
  if (status == FARO_OK) status = account(&made, &made.claim, error);
  /* With its schedule fixed, the alternative of the release may be the better one. */
  if (status == FARO_OK) status = account(&made, &made.claim, error);
  if (status != FARO_OK) return status;
  if (!made.claim.proven)
    return faro_fail(error, FARO_INVALID, "the claim of the release is not proven: %s", made.claim.by);
  faro_text json = FARO_TEXT_INIT;
  add_word(&json, "{\"id\":", made.id);
  char nonce[2 * FARO_NONCE_BYTES + 1];
  add_word(&json, ",\"nonce\":", faro_hex_write(made.nonce, FARO_NONCE_BYTES, nonce));
  add_learner(&json, &made);
  faro_document_add(&json, ",\n\"bounds\":{\"norm\":", made.contribution.norm);
  faro_document_add(&json, ",\"centre\":", made.centre);
  faro_document_add(&json, ",\"low\":", made.contribution.low);
  faro_document_add(&json, ",\"high\":", made.contribution.high);
  faro_text_add(&json, "}");
  add_release(&json, &made);
  add_claim(&json, &made.claim);
  add_encoding(&json, &made);
  add_parties(&json, &made);
  add_count(&json, ",\n\"wait\":", made.wait);
  add_phases(&json, &made);
  add_rounds(&json, &made);
  add_adders(&json, &made);
  add_before(&json, &made);
  faro_text_add(&json, "}\n");
  made.format = made.adders > 0 ? 4 : 3;
  status = faro_document_sign(formats[made.format], &json, key, made.digest, text, length, error);
  if (status == FARO_OK) *campaign = made;
  return status;
}

/* Reading. */

/* A campaign as the document states it; faro_campaign_open compares. */
typedef struct statement {
  faro_campaign c;
  size_t release;    /* index in faro_campaign_release */
  uint32_t features; /* node */
} statement;

#define X(name, text, ...) text,
FARO_WORDS(trusts, FARO_TRUST_LIST(X))
FARO_WORDS(levels, FARO_LEVEL_LIST(X))
FARO_WORDS(links, FARO_LINK_LIST(X))
#undef X

#define AT(member) FARO_AT(statement, c.member)
#define EACH(first, array) FARO_EACH(statement, c.first, c.array)

static const faro_field fields[] = {
    {"id", FARO_FIELD_TEXT, AT(id)},
    {"nonce", FARO_FIELD_HEX, AT(nonce)},
    {"learner.kind", FARO_FIELD_TEXT, AT(learner)},
    {"learner.dimension", FARO_FIELD_COUNT, AT(contribution.dimension), .least = 1,
     .most = FARO_WIRE_DIMENSION_MAX},
    {"learner.arms", FARO_FIELD_COUNT, AT(arms), .least = 1, .most = ARMS_MAX},
    {"learner.failure", FARO_FIELD_REAL, AT(failure), .most = 1},
    {"settings", FARO_FIELD_LIST, AT(settings), .most = FARO_LEARNER_SETTINGS_MAX},
    {"settings[].name", FARO_FIELD_TEXT, EACH(setting[0].name, setting)},
    {"settings[].value", FARO_FIELD_REAL, EACH(setting[0].value, setting)},
    {"bounds.norm", FARO_FIELD_REAL, AT(contribution.norm), .least = 1 / BOUND_MAX, .most = BOUND_MAX},
    {"bounds.centre", FARO_FIELD_REAL, AT(centre), .least = -BOUND_MAX, .most = BOUND_MAX},
    {"bounds.low", FARO_FIELD_REAL, AT(contribution.low), .least = -BOUND_MAX, .most = BOUND_MAX},
    {"bounds.high", FARO_FIELD_REAL, AT(contribution.high), .least = -BOUND_MAX, .most = BOUND_MAX},
    {"release.kind", FARO_FIELD_CHOICE, FARO_AT(statement, release), .words = faro_campaign_release},
    {"release.epsilon", FARO_FIELD_REAL, AT(params.epsilon), .least = 1e-4, .most = 1000},
    {"release.delta", FARO_FIELD_REAL, AT(params.delta), .least = 1e-15, .most = 0.999},
    {"release.horizon", FARO_FIELD_COUNT, AT(params.horizon), .least = 1, .most = 0x1p40},
    {"release.batch", FARO_FIELD_COUNT, AT(params.batch), .least = 1, .most = 0x1p40},
    {"release.growth", FARO_FIELD_REAL, AT(params.growth), .least = 1, .most = 1000},
    {"release.largest", FARO_FIELD_COUNT, AT(params.largest), .most = 0x1p40},
    {"release.shufflers", FARO_FIELD_COUNT, AT(params.shufflers), .most = FARO_SHUFFLERS_MAX},
    {"release.level", FARO_FIELD_CHOICE, AT(params.level), .words = levels},
    {"release.contributions", FARO_FIELD_COUNT, AT(params.contributions), .least = 1, .most = 0x1p40},
    {"release.honest", FARO_FIELD_REAL, AT(params.honest), .least = 1e-6, .most = 1},
    {"claim.epsilon", FARO_FIELD_REAL, AT(claim.epsilon), .most = 1000},
    {"claim.delta", FARO_FIELD_REAL, AT(claim.delta), .most = 1},
    {"claim.trust", FARO_FIELD_CHOICE, AT(claim.trust), .words = trusts},
    {"claim.level", FARO_FIELD_CHOICE, AT(claim.level), .words = levels},
    {"claim.contributions", FARO_FIELD_COUNT, AT(claim.contributions), .least = 1, .most = 0x1p40},
    {"claim.by", FARO_FIELD_TEXT, AT(claim.by)},
    {"encoding", FARO_FIELD_LIST, AT(encodings), .least = 1, .most = FARO_ENCODINGS_MAX},
    {"encoding[].from", FARO_FIELD_COUNT, EACH(encoding[0].from, encoding), .most = 0x1p40},
    {"encoding[].size", FARO_FIELD_COUNT, EACH(encoding[0].size, encoding), .least = 1, .most = 0x1p40},
    {"encoding[].grid", FARO_FIELD_COUNT, EACH(encoding[0].grid, encoding), .most = 0x1p30},
    {"encoding[].bits", FARO_FIELD_COUNT, EACH(encoding[0].bits, encoding), .most = 0x1p53},
    {"encoding[].most", FARO_FIELD_COUNT, EACH(encoding[0].most, encoding), .least = 1, .most = 0x1p53},
    {"analyzer.url", FARO_FIELD_TEXT, AT(analyzer)},
    {"analyzer.seal", FARO_FIELD_HEX, AT(seal)},
    {"shufflers", FARO_FIELD_LIST, AT(shufflers), .most = FARO_SHUFFLERS_MAX},
    {"shufflers[].url", FARO_FIELD_TEXT, EACH(shuffler[0].url, shuffler)},
    {"shufflers[].key", FARO_FIELD_HEX, EACH(shuffler[0].key, shuffler)},
    {"wait", FARO_FIELD_COUNT, AT(wait), .most = 0x1p40},
    {"phases.numbers", FARO_FIELD_COUNT, AT(phases.numbers), .most = FARO_PLAN_ARMS_MAX},
    {"phases.reports", FARO_FIELD_COUNT, AT(phases.reports), .most = 0x1p40},
    {"phases.noise", FARO_FIELD_REAL, AT(phases.noise), .most = BOUND_MAX},
    {"phases.spread", FARO_FIELD_REAL, AT(phases.spread), .most = BOUND_MAX},
    {"features", FARO_FIELD_NODE, FARO_AT(statement, features), .allowed = "an array of numbers"},
    {"rounds.link", FARO_FIELD_CHOICE, AT(rounds.link), .words = links},
    {"rounds.bound", FARO_FIELD_REAL, AT(rounds.bound), .most = BOUND_MAX},
    {"rounds.fits", FARO_FIELD_COUNT, AT(rounds.fits), .most = FARO_WIRE_FITS_MAX},
    {"terms", FARO_FIELD_LIST, AT(rounds.terms), .most = FARO_WIRE_TERMS_MAX},
    {"terms[].size", FARO_FIELD_COUNT, EACH(rounds.term[0].size, rounds.term), .least = 1, .most = 0x1p40},
    {"adders", FARO_FIELD_LIST, AT(adders), .least = 1, .most = FARO_SHUFFLERS_MAX},
    {"adders[].key", FARO_FIELD_HEX, EACH(adder[0].key, adder)},
    {"adders[].seal", FARO_FIELD_HEX, EACH(adder[0].seal, adder)},
    {"before", FARO_FIELD_LIST, AT(befores), .least = 1, .most = FARO_BEFORE_MAX},
    {"before[].campaign", FARO_FIELD_HEX, EACH(before[0].campaign, before)},
    {"before[].epsilon", FARO_FIELD_REAL, EACH(before[0].epsilon, before), .least = 0, .most = 1000},
    {"before[].delta", FARO_FIELD_REAL, EACH(before[0].delta, before), .least = 0, .most = 1},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void read_features(faro_reader *r, statement *s) {
  static const faro_field entry = {.name = "features", .type = FARO_FIELD_REAL, .size = sizeof(double)};
  uint32_t element = 0;
  s->c.features = faro_read_list(r, s->features, entry.name, 0, FARO_FEATURES_MAX, "numbers", &element);
  for (size_t i = 0; i < s->c.features; i++, element = r->tree->node[element].next)
    faro_read_value(r, element, &entry, &s->c.feature[i]);
}

/* Copies the rows of the table that a document has: version 2 lacks the last ones, only version 4
 * has adders, and `before` is left out if there is nothing to say. */
static size_t rows_of(const faro_tree *tree, unsigned format, faro_field rows[static FIELDS]) {
  const size_t old = FIELDS - FIELDS_BEFORE - FIELDS_ADDERS - FIELDS_ADDED;
  const bool before = format > 2 && faro_tree_member(tree, 0, "before") != 0;
  size_t count = format == 2 ? old : old + FIELDS_ADDED + (format == 4 ? FIELDS_ADDERS : 0);
  memcpy(rows, fields, count * sizeof *rows);
  if (!before) return count;
  memcpy(rows + count, fields + FIELDS - FIELDS_BEFORE, FIELDS_BEFORE * sizeof *rows);
  return count + FIELDS_BEFORE;
}

/* The bounds stay as they are stated, until check_rounds has seen them. */
static faro_status read_linearised(faro_campaign *c, const faro_contribution *stated, faro_error *error) {
  const faro_status status = faro_contribution_linearised(&c->contribution, stated->dimension, stated->norm,
                                                          c->rounds.link, c->rounds.bound, error);
  c->contribution.low = stated->low;
  c->contribution.high = stated->high;
  return status;
}

static faro_status read_campaign(const faro_tree *tree, faro_campaign *campaign, faro_error *error) {
  statement s = {.c = *campaign};
  faro_reader r = {.tree = tree, .all = true, .error = error};
  faro_field rows[FIELDS];
  faro_read_fields(&r, 0, NULL, rows, rows_of(tree, s.c.format, rows), &s);
  if (s.c.format > 2 && faro_reader_end(&r) == FARO_OK) read_features(&r, &s);
  if (faro_reader_end(&r) != FARO_OK) return r.status;
  const faro_contribution bound = s.c.contribution;
  s.c.release = faro_release_kind_find(faro_campaign_release(s.release));
  s.c.params.calibration = FARO_CALIBRATION_TIGHT;
  *campaign = s.c;
  if (faro_campaign_in_rounds(campaign)) return read_linearised(campaign, &bound, error);
  return faro_contribution_init(&campaign->contribution, bound.dimension, bound.norm, bound.low, bound.high,
                                error);
}

/* The kind and the schedule must be those that are in use, not those that were asked for. */
static faro_status compare_release(const faro_campaign *own, const faro_campaign *stated, faro_error *error) {
  if (own->release != stated->release)
    return faro_fail(error, FARO_INVALID,
                     "release.kind must be %s, which has less noise under these parameters (got %s)",
                     own->release->name, stated->release->name);
  if (!faro_campaign_in_phases(own) && own->params.largest != stated->params.largest)
    return faro_fail(error, FARO_INVALID, "release.largest must be %llu if batches do not grow (got %llu)",
                     (unsigned long long)own->params.largest, (unsigned long long)stated->params.largest);
  return FARO_OK;
}

static bool is_same(const faro_encoding *a, const faro_encoding *b) {
  return a->from == b->from && a->size == b->size && a->grid == b->grid && a->bits == b->bits &&
         a->most == b->most;
}

static faro_status compare_encoding(const faro_campaign *own, const faro_campaign *stated,
                                    faro_error *error) {
  if (own->encodings != stated->encodings)
    return faro_fail(error, FARO_INVALID, "encoding must have %zu entries (got %zu)", own->encodings,
                     stated->encodings);
  for (size_t i = 0; i < own->encodings; i++) {
    const faro_encoding *a = &own->encoding[i];
    const faro_encoding *b = &stated->encoding[i];
    if (!is_same(a, b))
      return faro_fail(error, FARO_INVALID,
                       "encoding %zu is not what the parameters give here: from, size, grid, bits and most "
                       "must be %llu, %llu, %llu, %llu and %lld (got %llu, %llu, %llu, %llu and %lld)",
                       i, (unsigned long long)a->from, (unsigned long long)a->size,
                       (unsigned long long)a->grid, (unsigned long long)a->bits, (long long)a->most,
                       (unsigned long long)b->from, (unsigned long long)b->size, (unsigned long long)b->grid,
                       (unsigned long long)b->bits, (long long)b->most);
  }
  return FARO_OK;
}

/* Epsilon and delta may be stated larger than they are. Trust, level and contributions must be
 * exact: clients decide by them what they send. */
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

/* What is no campaign is refused as one of version 3. */
static unsigned format_of(const char *text, size_t length) {
  for (unsigned format = 2; format <= 4; format++)
    if (length > strlen(formats[format]) && memcmp(text, formats[format], strlen(formats[format])) == 0)
      return format;
  return 3;
}

faro_status faro_campaign_open(faro_campaign *campaign, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_tree tree = {0};
  faro_campaign made = {.format = format_of(text, length)};
  faro_claim own = {0};
  faro_status status =
      faro_document_open(formats[made.format], text, length, signer, made.digest, &tree, error);
  if (status == FARO_OK) status = read_campaign(&tree, &made, error);
  if (status == FARO_OK) status = check_parties(&made, signer, error);
  faro_tree_clear(&tree);
  const faro_campaign stated = made;
  if (status == FARO_OK) status = account(&made, &own, error);
  if (status == FARO_OK) status = compare_release(&made, &stated, error);
  if (status == FARO_OK) status = compare_claims(&own, &made.claim, error);
  if (status == FARO_OK) status = compare_encoding(&made, &stated, error);
  if (status != FARO_OK) return status;
  made.claim.proven = true;
  made.claim.local_epsilon = own.local_epsilon; /* not stated: from our own accountant */
  made.claim.local_delta = own.local_delta;
  *campaign = made;
  return FARO_OK;
}
