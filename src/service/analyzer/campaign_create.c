/* campaign_create: see the header. */
#include "service/analyzer/campaign_create.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/analyzer/applied.h"
#include "service/http/sender.h"
#include "service/role/admin.h"
#include "service/state/spool.h"

faro_status faro_analyzer_keys_load(const faro_analyzer_settings *settings, faro_applier_keys *keys,
                                    faro_error *error) {
  faro_status status = faro_sign_key_load(settings->sign, &keys->sign, error);
  if (status == FARO_OK) status = faro_seal_key_load(settings->seal, &keys->seal, error);
  keys->has_before = *settings->seal_before != '\0';
  if (status == FARO_OK && keys->has_before)
    status = faro_seal_key_load(settings->seal_before, &keys->before, error);
  return status;
}

/* From the settings. */

/* Rewards are counted from the middle of their interval, as in simulation. This makes what is
 * clipped and sent as small as possible, and so the noise. */
static faro_status set_bounds(const faro_analyzer_settings *s, faro_campaign *c, faro_error *error) {
  if (!(s->low < s->high))
    return faro_fail(error, FARO_INVALID, "campaign.low must be below campaign.high (got %g and %g)", s->low,
                     s->high);
  c->centre = (s->low + s->high) / 2;
  return faro_contribution_init(&c->contribution, c->contribution.dimension, c->contribution.norm,
                                s->low - c->centre, s->high - c->centre, error);
}

static void set_release(const faro_analyzer_settings *s, faro_campaign *c) {
  const char *name = faro_campaign_release(s->release);
  c->release = faro_release_kind_find(name);
  c->params.calibration = FARO_CALIBRATION_TIGHT;
  c->params.shufflers = strcmp(name, "concurrent-bits") == 0 ? c->shufflers : 0;
}

/* A campaign that cannot be learned from must not be signed. */
static faro_status try_out(const faro_campaign *campaign, faro_error *error) {
  faro_learning *learning = NULL;
  const faro_status status = faro_learning_create(&learning, campaign, NULL, 0, error);
  faro_learning_destroy(learning);
  return status;
}

/* Only a role that collects reports needs tokens; shufflers have their own. */
static faro_status check_tokens(const faro_analyzer_settings *s, const faro_campaign *c, faro_error *error) {
  const bool direct = faro_campaign_form(c) == FARO_WIRE_DIRECT;
  const char *name = c->release->name;
  if (direct == (s->tokens[0] != '\0')) return FARO_OK;
  if (direct)
    return faro_fail(error, FARO_INVALID, "tokens is required for %s: reports come to the analyzer itself",
                     name);
  return faro_fail(error, FARO_INVALID,
                   "tokens must not be set for %s: reports come to shufflers, which have them (got %.100s)",
                   name, s->tokens);
}

/* A shuffler finds its place by its key, and two with one key are one party. Readers accept such
 * campaigns, because version 2 of the protocol does not forbid them. */
static faro_status check_shufflers(const faro_campaign *c, faro_error *error) {
  for (size_t i = 0; i < c->shufflers; i++)
    for (size_t j = 0; j < i; j++)
      if (memcmp(c->shuffler[i].key, c->shuffler[j].key, FARO_KEY_BYTES) == 0)
        return faro_fail(
            error, FARO_INVALID,
            "shufflers[%zu].key is the same as shufflers[%zu].key: each shuffler must have its own", i, j);
  return FARO_OK;
}

/* Reads an earlier campaign. What a client may have spent in it is its whole claim: a ledger that
 * shows less is the analyzer's word, which a client cannot check. It must be over, or more would be
 * spent. */
static faro_status read_before(const char *path, faro_campaign *earlier, faro_error *error) {
  faro_store *store = NULL;
  faro_blob document = {0};
  unsigned char signer[FARO_KEY_BYTES];
  faro_life life = FARO_LIFE_OPEN;
  faro_status status = faro_store_open(&store, path, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_store_campaign(store, &document, signer, error);
  if (status == FARO_OK && !document.bytes)
    status = faro_fail(error, FARO_INVALID, "%s has no campaign", faro_store_name(path));
  if (status == FARO_OK)
    status = faro_campaign_open(earlier, (const char *)document.bytes, document.length, signer, error);
  if (status == FARO_OK) status = faro_store_life(store, &life, error);
  if (status == FARO_OK && life < FARO_LIFE_FINISHED)
    status = faro_fail(error, FARO_INVALID,
                       "campaign %s in %s is %s; it must be finished before another "
                       "one on the same people begins",
                       earlier->id, faro_store_name(path), faro_life_name(life));
  free(document.bytes);
  faro_store_close(store);
  return status;
}

static faro_status add_before(faro_campaign *c, const unsigned char digest[static FARO_DIGEST_BYTES],
                              double epsilon, double delta, faro_error *error) {
  for (size_t i = 0; i < c->befores; i++)
    if (memcmp(c->before[i].campaign, digest, FARO_DIGEST_BYTES) == 0) return FARO_OK;
  if (c->befores == FARO_BEFORE_MAX)
    return faro_fail(error, FARO_INVALID, "after: there are more than %d earlier campaigns", FARO_BEFORE_MAX);
  faro_campaign_before *before = &c->before[c->befores++];
  *before = (faro_campaign_before){.epsilon = epsilon, .delta = delta};
  memcpy(before->campaign, digest, FARO_DIGEST_BYTES);
  return FARO_OK;
}

/* The earlier campaigns, and those before them, each once. */
static faro_status set_before(const faro_analyzer_settings *s, faro_campaign *c, faro_error *error) {
  faro_status status = FARO_OK;
  faro_campaign *earlier = s->afters > 0 ? malloc(sizeof *earlier) : NULL;
  if (s->afters > 0 && !earlier) return faro_fail(error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; status == FARO_OK && i < s->afters; i++) {
    status = read_before(s->after[i].database, earlier, error);
    if (status == FARO_OK && earlier->claim.level != c->params.level)
      status = faro_fail(error, FARO_INVALID,
                         "campaign.level must be %s, that of campaign %s before it: claims of two levels do "
                         "not add up",
                         faro_level_name(earlier->claim.level), earlier->id);
    for (size_t j = 0; status == FARO_OK && j < earlier->befores; j++)
      status = add_before(c, earlier->before[j].campaign, earlier->before[j].epsilon,
                          earlier->before[j].delta, error);
    if (status == FARO_OK)
      status = add_before(c, earlier->digest, earlier->claim.epsilon, earlier->claim.delta, error);
  }
  free(earlier);
  return status;
}

static faro_status draft(const faro_analyzer_settings *s, const faro_applier_keys *keys,
                         faro_campaign *campaign, char **document, size_t *length, faro_error *error) {
  char *text = NULL;
  faro_campaign c = s->campaign;
  randombytes_buf(c.nonce, sizeof c.nonce); /* a campaign that the database holds keeps its own */
  memcpy(c.seal, keys->seal.public_key, sizeof c.seal);
  set_release(s, &c);
  faro_status status = check_shufflers(&c, error);
  if (status == FARO_OK) status = set_before(s, &c, error);
  if (status == FARO_OK) status = set_bounds(s, &c, error);
  if (status == FARO_OK) status = faro_learning_complete(&c, error);
  if (status == FARO_OK) status = faro_campaign_write(&c, &keys->sign, &text, length, error);
  if (status == FARO_OK) status = check_tokens(s, &c, error);
  if (status == FARO_OK) status = try_out(&c, error);
  if (status != FARO_OK) {
    free(text);
    return status;
  }
  *document = text;
  *campaign = c;
  return FARO_OK;
}

faro_status faro_campaign_draft(const faro_analyzer_settings *settings, const faro_applier_keys *keys,
                                faro_campaign *campaign, char **document, size_t *length, faro_error *error) {
  faro_error inner = {0};
  const faro_status status = draft(settings, keys, campaign, document, length, &inner);
  if (status == FARO_OK) return FARO_OK;
  const char *file = settings->file;
  return faro_fail(error, status, "%s%s%.380s", file, *file ? ": " : "", inner.message);
}

const char *faro_campaign_warning(const faro_campaign *c, char out[static FARO_CAMPAIGN_WARNING]) {
  static const uint64_t PLAUSIBLE = 1000000000;
  const unsigned long long largest = faro_campaign_largest(c);
  const unsigned long long reports = faro_campaign_reports(c, c->batches);
  *out = '\0';
  if (largest > PLAUSIBLE)
    snprintf(out, FARO_CAMPAIGN_WARNING,
             "a batch of %llu reports needs as many clients, because each is in a batch once; with fewer it "
             "never fills, and no policy follows",
             largest);
  else if (reports > PLAUSIBLE)
    snprintf(out, FARO_CAMPAIGN_WARNING,
             "the horizon has %llu reports; the noise is made for all of them, so a campaign that collects "
             "fewer has more noise than it needs",
             reports);
  else if (c->params.honest == 1 &&
           (c->claim.trust == FARO_TRUST_SHUFFLE || c->claim.trust == FARO_TRUST_CONCURRENT))
    snprintf(out, FARO_CAMPAIGN_WARNING,
             "campaign.honest is 1: the claim counts on the noise of every client in a batch, and clients "
             "refuse that unless their own settings allow it");
  return out;
}

/* From the database. */

static faro_status compare(const faro_campaign *stored, const faro_campaign *drafted, faro_error *error) {
  const char *key = faro_analyzer_settings_differ(stored, drafted);
  const bool place =
      key && (strcmp(key, "url") == 0 || strcmp(key, "seal") == 0 || strcmp(key, "shufflers") == 0);
  if (place && stored->shufflers == drafted->shufflers)
    return faro_fail(error, FARO_INVALID,
                     "%s differs from the campaign in the database: to change addresses or keys and keep the "
                     "campaign, run `faro move sign` first",
                     key);
  if (key)
    return faro_fail(
        error, FARO_INVALID,
        "%s differs from the campaign in the database; clients and budgets are bound to that one, "
        "so another campaign needs another database",
        key);
  if (strcmp(stored->claim.by, drafted->claim.by) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the database holds a campaign with another claim (%s); this version of faro claims %s",
                   stored->claim.by, drafted->claim.by);
}

/* Adds to the error whether the database may simply be deleted. */
static faro_status explain(faro_store *store, faro_status status, faro_error *error) {
  faro_store_state state = {0};
  char why[sizeof error->message];
  if (!error || faro_store_state_load(store, &state, NULL) != FARO_OK) return status;
  const bool fresh = state.batches == 0;
  faro_store_state_clear(&state);
  if (!fresh) return status;
  snprintf(why, sizeof why, "%s", error->message);
  *error = (faro_error){0};
  return faro_fail(error, status,
                   "%.300s (nothing has been released yet: if no client has taken part, delete the database "
                   "and start with --found)",
                   why);
}

faro_status faro_campaign_place_load(faro_store *store, faro_campaign_place *place, faro_blob *document,
                                     faro_error *error) {
  unsigned char founder[FARO_KEY_BYTES];
  faro_blob moved = {0};
  faro_status status = faro_store_campaign(store, document, founder, error);
  if (status != FARO_OK || !document->bytes) return status;
  status =
      faro_campaign_open(&place->founded, (const char *)document->bytes, document->length, founder, error);
  if (status != FARO_OK) return status;
  place->now = place->founded;
  faro_move_none(&place->move, &place->founded, founder);
  status = faro_store_move(store, &moved, error);
  if (status == FARO_OK && moved.bytes)
    status = faro_move_open(&place->move, (const char *)moved.bytes, moved.length, founder, error);
  if (status == FARO_OK && moved.bytes)
    status = faro_move_apply(&place->move, &place->founded, &place->now, error);
  free(moved.bytes);
  return status;
}

static faro_status check_place(const faro_campaign_place *place, const faro_applier_keys *keys,
                               const faro_campaign *drafted, faro_error *error) {
  if (memcmp(faro_move_signer_key(&place->move), keys->sign.public_key, FARO_KEY_BYTES) != 0)
    return faro_fail(error, FARO_INVALID,
                     "sign differs from the key that signed the campaign in the database: to hand over to "
                     "another key, run `faro move sign` first");
  return compare(&place->now, drafted, error);
}

faro_status faro_campaign_find(faro_store *store, const faro_applier_keys *keys, const faro_campaign *drafted,
                               faro_campaign *campaign, faro_blob *document, faro_error *error) {
  faro_campaign_place *place = calloc(1, sizeof *place); /* large */
  if (!place) return faro_fail(error, FARO_MEMORY, "cannot allocate the campaign");
  faro_status status = faro_campaign_place_load(store, place, document, error);
  if (status == FARO_OK && document->bytes) {
    status = check_place(place, keys, drafted, error);
    if (status == FARO_OK) *campaign = place->now;
    else (void)explain(store, status, error);
  }
  free(place);
  return status;
}

/* The copy beside the database. */

enum { COPY_PATH = FARO_PATH_SIZE + 16 };

static const char *copy_path(const faro_analyzer_settings *s, char path[static COPY_PATH]) {
  snprintf(path, COPY_PATH, "%s.campaign", s->database);
  return path;
}

/* If the noise of others protects each client, the claim is only as good as what is assumed about
 * them, and so a campaign must say it. A campaign that an earlier version founded may leave it out:
 * then it is 1. */
static faro_status check_honest(const faro_analyzer_settings *s, faro_error *error) {
  const faro_release_kind *kind = faro_release_kind_find(faro_campaign_release(s->release));
  const bool crowd = kind->trust == FARO_TRUST_SHUFFLE || kind->trust == FARO_TRUST_CONCURRENT;
  if (!crowd || s->campaign.params.honest > 0) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "%s%scampaign.honest is required for %s, where clients hide among each other: the share of "
      "a batch that does not collude with the analyzer (0.9 allows for one client in ten)",
      s->file, *s->file ? ": " : "", kind->name);
}

faro_status faro_campaign_may_found(const faro_analyzer_settings *s, faro_error *error) {
  char path[COPY_PATH];
  const faro_status status = check_honest(s, error);
  if (status != FARO_OK) return status;
  if (s->found || access(copy_path(s, path), F_OK) != 0) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "database %s holds no campaign, but %s shows that one was founded here: the database was "
      "lost or moved. Put it back if it was moved. A new campaign has a new budget, which adds to "
      "what clients have spent; to found one anyway, start once with --found",
      faro_path_end(s->database), faro_path_end(path));
}

faro_status faro_campaign_same(const faro_analyzer_settings *s, const faro_blob *document, bool *kept,
                               faro_error *error) {
  char path[COPY_PATH];
  char *text = NULL;
  size_t length = 0;
  *kept = access(copy_path(s, path), F_OK) == 0;
  if (!*kept) return FARO_OK;
  const faro_status status = faro_read_file(path, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  const bool same = length == document->length && memcmp(text, document->bytes, length) == 0;
  free(text);
  if (same) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "the campaign in database %s is not the one in %s: the database of another campaign was put "
      "here (if that is right, delete %s)",
      faro_path_end(s->database), faro_path_end(path), faro_path_end(path));
}

faro_status faro_campaign_forget(const faro_analyzer_settings *s, faro_error *error) {
  char path[COPY_PATH];
  if (unlink(copy_path(s, path)) == 0 || errno == ENOENT) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s cannot be removed: %s", faro_path_end(path), strerror(errno));
}

faro_status faro_campaign_keep(const faro_analyzer_settings *s, const faro_blob *document,
                               faro_error *error) {
  char path[COPY_PATH];
  return faro_write_file(copy_path(s, path), document->bytes, document->length, 0644, error);
}

/* Without starting. */

static faro_status check_token_file(const char *path, faro_error *error) {
  unsigned char *hashes = NULL;
  size_t count = 0;
  if (*path == '\0') return FARO_OK;
  const faro_status status = faro_hashes_load(path, &hashes, &count, error);
  free(hashes);
  return status;
}

static faro_status check_applied(const faro_analyzer_settings *s, faro_store *store, faro_error *error) {
  uint64_t batches = 0;
  const faro_status status = faro_store_batches(store, &batches, error);
  return status == FARO_OK ? faro_applied_check(s->database, batches, error) : status;
}

/* The file of the state, or that of keys. */
static faro_status check_files(const faro_analyzer_settings *s, faro_error *error) {
  if (*s->server) {
    const faro_status status = faro_check_folder("state", s->database, error);
    return status == FARO_OK ? faro_spool_keys_recognize(s->database, error) : status;
  }
  if (access(s->database, F_OK) == 0) return faro_store_recognize(s->database, error);
  return faro_check_folder("database", s->database, error);
}

static faro_status check_database(const faro_analyzer_settings *s, const faro_applier_keys *keys,
                                  const faro_campaign *drafted, bool *known, faro_error *error) {
  faro_store *store = NULL;
  faro_blob document = {0};
  faro_campaign stored;
  bool kept = false;
  faro_status status = check_files(s, error);
  if (status == FARO_OK) status = faro_store_there(faro_analyzer_database(s), known, error);
  if (status != FARO_OK) return status;
  if (!*known) return faro_campaign_may_found(s, error);
  status = faro_store_open(&store, faro_analyzer_database(s), FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_campaign_find(store, keys, drafted, &stored, &document, error);
  *known = document.bytes != NULL;
  if (status == FARO_OK)
    status = *known ? faro_campaign_same(s, &document, &kept, error) : faro_campaign_may_found(s, error);
  if (status == FARO_OK && *known) status = check_applied(s, store, error);
  free(document.bytes);
  faro_store_close(store);
  return status;
}

/* What the sender of copies reads (copies.h). */
static faro_status check_standby(const faro_analyzer_settings *s, faro_error *error) {
  char header[FARO_ADMIN_HEADER];
  if (*s->standby.url == '\0') return FARO_OK;
  const faro_status status = faro_admin_header(s->standby.token, header, error);
  sodium_memzero(header, sizeof header);
  if (status != FARO_OK || *s->standby.authority == '\0') return status;
  return faro_authority_check(s->standby.authority, error);
}

faro_status faro_campaign_check(const faro_analyzer_settings *settings, faro_campaign *campaign, bool *known,
                                faro_error *error) {
  faro_applier_keys keys;
  char *document = NULL;
  size_t length = 0;
  faro_status status = faro_analyzer_keys_load(settings, &keys, error);
  if (status == FARO_OK) status = check_token_file(settings->tokens, error);
  if (status == FARO_OK) status = check_standby(settings, error);
  if (status == FARO_OK) status = faro_campaign_draft(settings, &keys, campaign, &document, &length, error);
  free(document);
  if (status == FARO_OK) status = check_database(settings, &keys, campaign, known, error);
  sodium_memzero(&keys, sizeof keys);
  return status;
}
