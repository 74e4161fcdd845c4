/* trial_settings: see the header. Addresses are those of the relays, so that everything that is
 * sent passes one. */
#include "trial/trial_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include <faro/eliminator.h>

#include "base/text.h"

static void add_address(const faro_trial *trial, size_t role, const char *key, faro_text *out) {
  faro_text_add(out, "%s: http://127.0.0.1:%u\n", key, faro_relay_port(trial->relay[role]));
}

static void add_file(const faro_trial *trial, size_t role, const char *key, const char *suffix,
                     faro_text *out) {
  char path[FARO_TRIAL_PATH];
  faro_text_add(out, "%s: %s\n", key, faro_trial_file(trial, role, suffix, path));
}

static faro_status add_shuffler(const faro_trial *trial, size_t role, faro_text *out, faro_error *error) {
  unsigned char key[FARO_KEY_BYTES];
  char path[FARO_TRIAL_PATH], hex[2 * FARO_KEY_BYTES + 1];
  const faro_status status = faro_key_load(faro_trial_file(trial, role, ".sign.public", path),
                                           FARO_SIGN_PUBLIC, key, sizeof key, error);
  if (status != FARO_OK) return status;
  add_address(trial, role, "  - url", out);
  faro_text_add(out, "    key: %s\n", sodium_bin2hex(hex, sizeof hex, key, sizeof key));
  if (trial->consent[role][0]) faro_text_add(out, "    consent: %s\n", trial->consent[role]);
  return FARO_OK;
}

static faro_status add_adder(const faro_trial *trial, size_t role, faro_text *out, faro_error *error) {
  unsigned char key[FARO_KEY_BYTES];
  char path[FARO_TRIAL_PATH], hex[2 * FARO_KEY_BYTES + 1];
  const faro_status status = faro_key_load(faro_trial_file(trial, role, ".sign.public", path),
                                           FARO_SIGN_PUBLIC, key, sizeof key, error);
  if (status != FARO_OK) return status;
  faro_text_add(out, "  - key: %s\n", faro_hex_write(key, sizeof key, hex));
  faro_text_add(out, "    seal: %s\n",
                faro_hex_write(trial->adder[role - trial->roles].public_key, FARO_KEY_BYTES, hex));
  return FARO_OK;
}

static void add_phases(const faro_trial_params *p, faro_text *out) {
  faro_text_add(out, "  features: %s/features\n", p->directory);
  if (p->largest) faro_text_add(out, "  largest: %" PRIu64 "\n", p->largest);
  if (p->reports) faro_text_add(out, "  clients: %" PRIu64 "\n", p->reports);
  if (p->noise > 0) faro_text_add(out, "  noise: %.17g\n", p->noise);
  if (p->spread > 0) faro_text_add(out, "  spread: %.17g\n", p->spread);
}

static void add_campaign(const faro_trial_params *p, faro_text *out) {
  faro_text_add(
      out,
      "campaign:\n  id: trial\n  dimension: %zu\n  norm: %.17g\n  low: %.17g\n  high: %.17g\n  arms: %zu\n"
      "  release: %s\n  epsilon: %.17g\n  delta: %.17g\n  horizon: %" PRIu64
      "\n  honest: %.17g\n  level: %s\n",
      p->dimension, p->norm, p->low, p->high, p->arms, p->release, p->epsilon, p->delta,
      faro_trial_horizon(p), p->honest, p->contributions ? "user" : "event");
  if (p->learner) faro_text_add(out, "  learner: %s\n", p->learner);
  if (faro_trial_in_phases(p)) add_phases(p, out);
  if (faro_trial_in_rounds(p))
    faro_text_add(out, "  link: %s\n  bound: %.17g\n  fits: %" PRIu64 "\n", faro_link_name(p->link), p->bound,
                  p->fits);
  else faro_text_add(out, "  batch: %" PRIu64 "\n", p->batch);
  if (p->growth > 1) faro_text_add(out, "  growth: %.17g\n", p->growth);
  if (p->growth > 1 && p->largest) faro_text_add(out, "  largest: %" PRIu64 "\n", p->largest);
  if (p->wait) faro_text_add(out, "  wait: %" PRIu64 "\n", p->wait);
  if (p->contributions) faro_text_add(out, "  contributions: %" PRIu64 "\n", p->contributions);
}

static faro_status analyzer(const faro_trial *trial, faro_text *out, faro_error *error) {
  add_address(trial, 0, "url", out);
  add_file(trial, 0, "database", ".db", out);
  add_file(trial, 0, "sign", ".sign.secret", out);
  add_file(trial, 0, "seal", ".seal.secret", out);
  if (trial->roles == 1) faro_text_add(out, "tokens: %s/tokens.hashes\n", trial->params.directory);
  if (trial->params.constant != 0) faro_text_add(out, "constant: %.17g\n", trial->params.constant);
  add_campaign(&trial->params, out);
  if (faro_trial_averages(&trial->params)) /* each phase asks as many clients as a batch has */
    faro_text_add(out, "settings:\n  - {name: clients, value: %d}\n", (int)FARO_CLIENTS_FIXED);
  if (trial->roles > 1) faro_text_add(out, "shufflers:\n");
  faro_status status = FARO_OK;
  for (size_t role = 1; role <= trial->shufflers && status == FARO_OK; role++)
    status = add_shuffler(trial, role, out, error);
  if (trial->processes > trial->roles) faro_text_add(out, "adders:\n");
  for (size_t role = trial->roles; role < trial->processes && status == FARO_OK; role++)
    status = add_adder(trial, role, out, error);
  return status;
}

/* The lists of a joiner, or the section of a collector. */
static faro_status collector(const faro_trial *trial, size_t role, faro_text *out, faro_error *error) {
  const size_t shuffler = faro_trial_shuffler_of(trial, role);
  unsigned char key[FARO_KEY_BYTES];
  char path[FARO_TRIAL_PATH], hex[2 * FARO_KEY_BYTES + 1];
  size_t first = 0;
  const size_t count = faro_trial_receivers(trial, shuffler, &first);
  faro_status status = FARO_OK;
  if (!faro_trial_is_collector(trial, role)) {
    faro_text_add(out, "collectors:\n");
    for (size_t i = 0; i < count && status == FARO_OK; i++)
      status = add_shuffler(trial, first + i, out, error);
    return status;
  }
  status = faro_key_load(faro_trial_file(trial, 1 + shuffler, ".sign.public", path), FARO_SIGN_PUBLIC, key,
                         sizeof key, error);
  faro_text_add(out, "collector:\n  number: %zu\n  of: %zu\n", role - first, count);
  add_address(trial, 1 + shuffler, "  joiner", out);
  faro_text_add(out, "  joiner-key: %s\n", sodium_bin2hex(hex, sizeof hex, key, sizeof key));
  return status;
}

/* A shuffler, a collector or an adder. */
static faro_status shuffler(const faro_trial *trial, size_t role, faro_text *out, faro_error *error) {
  char hex[2 * FARO_KEY_BYTES + 1];
  const bool joins = trial->params.collectors > 0 && !faro_trial_is_collector(trial, role);
  add_address(trial, 0, "analyzer", out);
  faro_text_add(out, "analyzer-key: %s\n",
                sodium_bin2hex(hex, sizeof hex, trial->sign.public_key, FARO_KEY_BYTES));
  add_file(trial, role, "state", ".db", out);
  add_file(trial, role, "key", ".sign.secret", out);
  if (role >= trial->roles) {
    add_file(trial, role, "seal", ".seal.secret", out);
    return FARO_OK;
  }
  if (trial->processes > trial->roles) add_address(trial, trial->roles + role - 1, "adder", out);
  if (!joins) faro_text_add(out, "tokens: %s/tokens.hashes\n", trial->params.directory);
  return trial->params.collectors > 0 ? collector(trial, role, out, error) : FARO_OK;
}

/* A line for each arm. */
static void features(const faro_trial_params *p, faro_text *out) {
  for (size_t a = 0; a < p->arms; a++)
    for (size_t i = 0; i < p->dimension; i++)
      faro_text_add(out, "%.17g%s", p->features[a * p->dimension + i], i + 1 < p->dimension ? " " : "\n");
}

static faro_status save(const char *path, faro_text *text, faro_error *error) {
  FILE *file = text->failed ? NULL : fopen(path, "w");
  const bool written = file && fwrite(text->data, 1, text->length, file) == text->length;
  const bool closed = file && fclose(file) == 0;
  return written && closed ? FARO_OK
                           : faro_fail(error, FARO_SYSTEM, "cannot write %s: %s", path, strerror(errno));
}

faro_status faro_trial_write_settings(const faro_trial *trial, size_t role, faro_error *error) {
  faro_text text = FARO_TEXT_INIT;
  char path[FARO_TRIAL_PATH];
  faro_text_add(&text, "listen: 127.0.0.1:%u\n", trial->port[role]);
  faro_status status = role == 0 ? analyzer(trial, &text, error) : shuffler(trial, role, &text, error);
  if (status == FARO_OK) status = save(faro_trial_file(trial, role, ".yaml", path), &text, error);
  faro_text_clear(&text);
  if (status != FARO_OK || role > 0 || !trial->params.features) return status;
  snprintf(path, sizeof path, "%s/features", trial->params.directory);
  features(&trial->params, &text);
  status = save(path, &text, error);
  faro_text_clear(&text);
  return status;
}
