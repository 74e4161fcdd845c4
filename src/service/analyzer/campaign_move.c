/* campaign_move: see the header. */
#include "service/analyzer/campaign_move.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "wire/split.h"

typedef struct draft {
  const faro_analyzer_settings *settings;
  faro_applier_keys keys;
  faro_campaign wanted;
  faro_campaign_place place;
  faro_move next;
  faro_text *out;
} draft;

/* Only addresses and keys may differ. */
static faro_status check_rest(const draft *d, faro_error *error) {
  const faro_campaign *now = &d->place.now;
  faro_campaign same = d->wanted;
  memcpy(same.analyzer, now->analyzer, sizeof same.analyzer);
  memcpy(same.seal, now->seal, sizeof same.seal);
  if (same.shufflers == now->shufflers) memcpy(same.shuffler, now->shuffler, sizeof same.shuffler);
  const char *key = faro_analyzer_settings_differ(now, &same);
  if (!key) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s differs from the campaign in the database: a move changes addresses and keys only",
                   key);
}

static faro_status move_signer(draft *d, const char *old, faro_error *error) {
  faro_sign_key before;
  char from[FARO_FINGERPRINT_SIZE], to[FARO_FINGERPRINT_SIZE];
  const unsigned char *now = faro_move_signer_key(&d->place.move);
  if (memcmp(now, d->keys.sign.public_key, FARO_KEY_BYTES) == 0) return FARO_OK;
  if (!old)
    return faro_fail(error, FARO_INVALID,
                     "sign is a new key: --old-key FILE is required, the secret key that has signed so far "
                     "(fingerprint %s)",
                     faro_fingerprint(now, from));
  faro_status status = faro_sign_key_load(old, &before, error);
  if (status == FARO_OK) status = faro_move_hand_over(&d->next, &before, &d->keys.sign, error);
  sodium_memzero(&before, sizeof before);
  faro_text_add(d->out, "signing key: %s -> %s\n", faro_fingerprint(now, from),
                faro_fingerprint(d->keys.sign.public_key, to));
  return status;
}

/* Reports that clients have sealed to the old key must still be opened. */
static faro_status move_seal(draft *d, faro_error *error) {
  char from[FARO_FINGERPRINT_SIZE], to[FARO_FINGERPRINT_SIZE];
  const unsigned char *now = d->place.now.seal;
  if (memcmp(now, d->wanted.seal, FARO_KEY_BYTES) == 0) return FARO_OK;
  const bool kept = d->keys.has_before && memcmp(d->keys.before.public_key, now, FARO_KEY_BYTES) == 0;
  const bool sealed =
      faro_campaign_form(&d->place.now) != FARO_WIRE_BITS || faro_campaign_is_split(&d->place.now);
  if (!kept && sealed)
    return faro_fail(
        error, FARO_INVALID,
        "seal is a new key: seal-before must be the file of the secret key before it (fingerprint "
        "%s), because reports that are on their way are sealed to that",
        faro_fingerprint(now, from));
  memcpy(d->next.seal, d->wanted.seal, FARO_KEY_BYTES);
  faro_text_add(d->out, "sealing key: %s -> %s\n", faro_fingerprint(now, from),
                faro_fingerprint(d->wanted.seal, to));
  return FARO_OK;
}

static faro_status move_shuffler(draft *d, size_t index, faro_error *error) {
  char from[FARO_FINGERPRINT_SIZE], to[FARO_FINGERPRINT_SIZE];
  const faro_campaign_shuffler *now = &d->place.now.shuffler[index];
  const faro_campaign_shuffler *wanted = &d->wanted.shuffler[index];
  const bool same_key = memcmp(now->key, wanted->key, FARO_KEY_BYTES) == 0;
  if (same_key && strcmp(now->url, wanted->url) == 0) return FARO_OK;
  if (sodium_is_zero(d->settings->consent[index], FARO_SIGNATURE_BYTES))
    return faro_fail(
        error, FARO_INVALID,
        "shufflers[%zu].consent is required for another url or key: the shuffler's operator makes "
        "it with `faro move consent`",
        index);
  if (d->next.steps == FARO_STEPS_MAX)
    return faro_fail(error, FARO_INVALID, "the shufflers have moved %d times, which is the most allowed",
                     FARO_STEPS_MAX);
  faro_move_step *step = &d->next.step[d->next.steps++];
  step->shuffler = index;
  memcpy(step->url, wanted->url, sizeof step->url);
  memcpy(step->key, wanted->key, FARO_KEY_BYTES);
  memcpy(step->consent, d->settings->consent[index], FARO_SIGNATURE_BYTES);
  if (strcmp(now->url, wanted->url) != 0)
    faro_text_add(d->out, "address of shuffler %zu: %s -> %s\n", index, now->url, wanted->url);
  if (!same_key)
    faro_text_add(d->out, "key of shuffler %zu: %s -> %s\n", index, faro_fingerprint(now->key, from),
                  faro_fingerprint(wanted->key, to));
  return FARO_OK;
}

/* Collects what differs, and checks that all of it may be. */
static faro_status collect(draft *d, const char *old, faro_error *error) {
  const char *now = d->place.now.analyzer;
  d->next = d->place.move;
  d->next.number++;
  faro_status status = check_rest(d, error);
  if (status == FARO_OK) status = move_signer(d, old, error);
  if (status == FARO_OK) status = move_seal(d, error);
  if (status == FARO_OK && strcmp(now, d->wanted.analyzer) != 0) {
    memcpy(d->next.analyzer, d->wanted.analyzer, sizeof d->next.analyzer);
    faro_text_add(d->out, "address of the analyzer: %s -> %s\n", now, d->wanted.analyzer);
  }
  for (size_t i = 0; status == FARO_OK && i < d->place.now.shufflers; i++)
    status = move_shuffler(d, i, error);
  if (status == FARO_OK && d->out->length == 0)
    status = faro_fail(error, FARO_INVALID,
                       "nothing to move: the settings have the addresses and keys of the campaign in the "
                       "database");
  faro_campaign *scratch = &d->wanted; /* not needed any more */
  return status == FARO_OK ? faro_move_apply(&d->next, &d->place.founded, scratch, error) : status;
}

static faro_status load(draft *d, faro_store *store, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_blob document = {0};
  faro_status status = faro_campaign_draft(d->settings, &d->keys, &d->wanted, &text, &length, error);
  free(text);
  if (status == FARO_OK) status = faro_campaign_place_load(store, &d->place, &document, error);
  if (status == FARO_OK && !document.bytes)
    status = faro_fail(error, FARO_INVALID, "%s holds no campaign that could move", d->settings->database);
  free(document.bytes);
  return status;
}

static faro_status sign(const draft *d, faro_store *store, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_move_write(&d->next, &d->keys.sign, &text, &length, error);
  if (status == FARO_OK) status = faro_store_add_move(store, d->next.number, text, length, error);
  free(text);
  return status;
}

faro_status faro_campaign_move(const faro_analyzer_settings *settings, const char *old, bool dry,
                               faro_text *out, faro_error *error) {
  faro_store *store = NULL;
  draft *d = calloc(1, sizeof *d);
  if (!d) return faro_fail(error, FARO_MEMORY, "cannot allocate a move");
  d->settings = settings;
  d->out = out;
  faro_status status = faro_analyzer_keys_load(settings, &d->keys, error);
  if (status == FARO_OK)
    status = faro_store_open(&store, faro_analyzer_database(settings), dry ? FARO_READ_ONLY : FARO_READ_WRITE,
                             error);
  if (status == FARO_OK) status = load(d, store, error);
  if (status == FARO_OK) status = collect(d, old, error);
  if (status == FARO_OK && !dry) status = sign(d, store, error);
  if (status == FARO_OK)
    faro_text_add(out, "move %llu of campaign %s: %s\n", (unsigned long long)d->next.number, d->place.now.id,
                  dry ? "nothing was signed (--dry-run)" : "signed. Start the analyzer");
  faro_store_close(store);
  sodium_memzero(d, sizeof *d);
  free(d);
  return status;
}
