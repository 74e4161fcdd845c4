/* moving: see the header. */
#include "trial/moving.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trial/trial_settings.h"

enum { SECONDS = 300, OUTPUT = 1 << 14 };

/* Runs `faro move ...`; its output is in the file `log`. */
static faro_status run(const char *const *argv, const char *log, faro_error *error) {
  faro_child child = {0};
  (void)unlink(log);
  const faro_status status = faro_child_start(&child, argv, log, error);
  if (status != FARO_OK) return status;
  const int ended = faro_child_wait(&child, SECONDS);
  if (ended == 0) return FARO_OK;
  (void)faro_child_end(&child, SIGKILL, 5);
  return faro_fail(error, FARO_SYSTEM, "faro move ended with status %d; see %s", ended, log);
}

static faro_status make_next_key(const faro_trial *trial, size_t role, faro_error *error) {
  char path[FARO_TRIAL_PATH];
  faro_sign_key next;
  faro_status status = faro_sign_key_make(&next, error);
  if (status == FARO_OK)
    status = faro_key_save(faro_trial_file(trial, role, ".next.secret", path), FARO_SIGN_SECRET, next.secret,
                           sizeof next.secret, error);
  if (status == FARO_OK)
    status = faro_key_save(faro_trial_file(trial, role, ".next.public", path), FARO_SIGN_PUBLIC,
                           next.public_key, FARO_KEY_BYTES, error);
  sodium_memzero(&next, sizeof next);
  return status;
}

/* The next key takes the place of the one that the settings name, which becomes ".before". */
static faro_status use_next_key(faro_trial *trial, size_t role, faro_error *error) {
  static const char *const halves[] = {"secret", "public"};
  char next[FARO_TRIAL_PATH], now[FARO_TRIAL_PATH], before[FARO_TRIAL_PATH], suffix[24];
  for (size_t i = 0; i < 2; i++) {
    snprintf(suffix, sizeof suffix, ".next.%s", halves[i]);
    faro_trial_file(trial, role, suffix, next);
    snprintf(suffix, sizeof suffix, ".sign.%s", halves[i]);
    faro_trial_file(trial, role, suffix, now);
    snprintf(suffix, sizeof suffix, ".before.%s", halves[i]);
    faro_trial_file(trial, role, suffix, before);
    if (rename(now, before) != 0 || rename(next, now) != 0)
      return faro_fail(error, FARO_SYSTEM, "cannot rename %s: %s", next, strerror(errno));
  }
  if (role == 0)
    return faro_sign_key_load(faro_trial_file(trial, 0, ".sign.secret", now), &trial->sign, error);
  if (trial->later_keys[role] == FARO_TRIAL_KEYS)
    return faro_fail(error, FARO_INVALID, "a shuffler of a trial gets at most %d keys", FARO_TRIAL_KEYS);
  return faro_key_load(now, FARO_SIGN_PUBLIC, trial->later_key[role][trial->later_keys[role]++],
                       FARO_KEY_BYTES, error);
}

/* The shuffler signs its next address and key, with the key that it has. */
static faro_status consent(faro_trial *trial, size_t role, bool key, faro_error *error) {
  char config[FARO_TRIAL_PATH], next[FARO_TRIAL_PATH], log[FARO_TRIAL_PATH], url[64], text[OUTPUT];
  snprintf(url, sizeof url, "http://127.0.0.1:%u", faro_relay_port(trial->relay[role]));
  faro_trial_file(trial, role, ".next.public", next);
  const char *const argv[] = {trial->params.command,
                              "move",
                              "consent",
                              "--config",
                              faro_trial_file(trial, role, ".yaml", config),
                              "--url",
                              url,
                              key ? "--new-key" : NULL,
                              next,
                              NULL};
  const faro_status status = run(argv, faro_trial_file(trial, role, ".consent", log), error);
  if (status != FARO_OK) return status;
  FILE *file = fopen(log, "r");
  text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
  if (file) fclose(file);
  const char *signature = strstr(text, "consent: ");
  if (!signature || sscanf(signature, "consent: %128[0-9a-f]", trial->consent[role]) != 1)
    return faro_fail(error, FARO_INVALID, "%s has no consent", log);
  return FARO_OK;
}

static faro_status sign(faro_trial *trial, bool key, faro_error *error) {
  char config[FARO_TRIAL_PATH], before[FARO_TRIAL_PATH], log[FARO_TRIAL_PATH];
  faro_trial_file(trial, 0, ".before.secret", before);
  const char *const argv[] = {
      trial->params.command,    "move", "sign", "--config", faro_trial_file(trial, 0, ".yaml", config),
      key ? "--old-key" : NULL, before, NULL};
  const faro_status status = faro_trial_write_settings(trial, 0, error);
  return status == FARO_OK ? run(argv, faro_trial_file(trial, 0, ".signed", log), error) : status;
}

static faro_status end(faro_trial *trial, size_t role, faro_error *error) {
  if (faro_child_end(&trial->child[role], SIGTERM, SECONDS) == 0) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "a role did not end well when asked to");
}

/* A shuffler goes on with its next key. */
static faro_status change_shuffler(faro_trial *trial, size_t role, faro_error *error) {
  faro_status status = end(trial, role, error);
  if (status == FARO_OK) status = faro_trial_write_settings(trial, role, error);
  return status == FARO_OK ? faro_trial_start(trial, role, error) : status;
}

faro_status faro_trial_move(faro_trial *trial, size_t role, bool address, bool key, faro_error *error) {
  faro_status status = address ? faro_relay_move(trial->relay[role], error) : FARO_OK;
  if (status == FARO_OK && key) status = make_next_key(trial, role, error);
  if (status == FARO_OK && role > 0) status = consent(trial, role, key, error);
  if (status == FARO_OK) status = end(trial, 0, error);
  if (status == FARO_OK && key) status = use_next_key(trial, role, error);
  if (status == FARO_OK) status = sign(trial, key && role == 0, error);
  if (status == FARO_OK) status = faro_trial_start(trial, 0, error);
  return status == FARO_OK && key && role > 0 ? change_shuffler(trial, role, error) : status;
}
