/* trial: see the header. */
#include "trial/trial.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faro/eliminator.h>

#include "base/clock.h"
#include "release/schedule.h"
#include "service/analyzer/campaign_create.h"
#include "service/http/sender.h"
#include "trial/trial_settings.h"

const char *faro_trial_role(const faro_trial *trial, size_t role, char name[static 24]) {
  const unsigned shuffler = (unsigned)faro_trial_shuffler_of(trial, role);
  if (role == 0) snprintf(name, 24, "analyzer");
  else if (role >= trial->roles) snprintf(name, 24, "adder-%u", (unsigned)(role - trial->roles));
  else if (!faro_trial_is_collector(trial, role)) snprintf(name, 24, "shuffler-%u", shuffler);
  else
    snprintf(name, 24, "collector-%u-%u", shuffler,
             (unsigned)((role - 1 - trial->shufflers) % trial->params.collectors));
  return name;
}

bool faro_trial_is_collector(const faro_trial *trial, size_t role) {
  return role > trial->shufflers && role < trial->roles;
}

size_t faro_trial_shuffler_of(const faro_trial *trial, size_t role) {
  if (role == 0) return 0;
  if (role >= trial->roles) return role - trial->roles; /* an adder */
  return faro_trial_is_collector(trial, role) ? (role - 1 - trial->shufflers) / trial->params.collectors
                                              : role - 1;
}

size_t faro_trial_receivers(const faro_trial *trial, size_t shuffler, size_t *first) {
  const size_t collectors = trial->params.collectors;
  *first = trial->shufflers == 0 ? 0
           : collectors == 0     ? 1 + shuffler
                                 : 1 + trial->shufflers + shuffler * collectors;
  return trial->shufflers > 0 && collectors > 0 ? collectors : 1;
}

size_t faro_trial_receiver(const faro_trial *trial, size_t shuffler,
                           const unsigned char token[static FARO_TOKEN_BYTES]) {
  unsigned char hash[FARO_HASH_BYTES];
  size_t first = 0;
  const size_t receivers = faro_trial_receivers(trial, shuffler, &first);
  faro_token_hash(token, hash);
  return first + faro_collector_of(hash, receivers);
}

const char *faro_trial_file(const faro_trial *trial, size_t role, const char *suffix,
                            char path[static FARO_TRIAL_PATH]) {
  char name[24];
  snprintf(path, FARO_TRIAL_PATH, "%s/%s%s", trial->params.directory, faro_trial_role(trial, role, name),
           suffix);
  return path;
}

const char *faro_trial_url(const faro_trial *trial, size_t role, const char *path,
                           char url[static FARO_URL_MAX + 1]) {
  snprintf(url, FARO_URL_MAX + 1, "http://127.0.0.1:%u%s", trial->port[role], path);
  return url;
}

/* Keys, in files as `faro keys` makes them. */

static faro_status save_key(const faro_trial *trial, size_t role, const faro_sign_key *key,
                            faro_error *error) {
  char path[FARO_TRIAL_PATH];
  faro_status status = faro_key_save(faro_trial_file(trial, role, ".sign.secret", path), FARO_SIGN_SECRET,
                                     key->secret, FARO_SECRET_BYTES, error);
  if (status == FARO_OK)
    status = faro_key_save(faro_trial_file(trial, role, ".sign.public", path), FARO_SIGN_PUBLIC,
                           key->public_key, FARO_KEY_BYTES, error);
  return status;
}

static faro_status make_seal(const faro_trial *trial, size_t role, faro_seal_key *key, faro_error *error) {
  char path[FARO_TRIAL_PATH];
  const faro_status status = faro_seal_key_make(key, error);
  if (status != FARO_OK) return status;
  return faro_key_save(faro_trial_file(trial, role, ".seal.secret", path), FARO_SEAL_SECRET, key->secret,
                       FARO_KEY_BYTES, error);
}

static faro_status make_keys(faro_trial *trial, faro_error *error) {
  faro_status status = faro_sign_key_make(&trial->sign, error);
  if (status == FARO_OK) status = save_key(trial, 0, &trial->sign, error);
  if (status == FARO_OK) status = make_seal(trial, 0, &trial->seal, error);
  for (size_t role = 1; role < trial->processes && status == FARO_OK; role++) {
    faro_sign_key key;
    status = faro_sign_key_make(&key, error);
    if (status == FARO_OK) status = save_key(trial, role, &key, error);
    if (status == FARO_OK && role >= trial->roles)
      status = make_seal(trial, role, &trial->adder[role - trial->roles], error);
    sodium_memzero(&key, sizeof key);
  }
  return status;
}

static faro_status make_tokens(faro_trial *trial, faro_error *error) {
  char tokens[FARO_TRIAL_PATH], hashes[FARO_TRIAL_PATH];
  snprintf(tokens, sizeof tokens, "%s/tokens", trial->params.directory);
  snprintf(hashes, sizeof hashes, "%s/tokens.hashes", trial->params.directory);
  size_t count = 0;
  faro_status status = faro_tokens_make(tokens, hashes, trial->params.clients + 1, error);
  if (status == FARO_OK) status = faro_tokens_load(tokens, &trial->tokens, &count, error);
  return status;
}

/* Ports first, then relays to them. Settings name the relays, so everything passes one. */
static faro_status make_relays(faro_trial *trial, faro_error *error) {
  faro_status status = FARO_OK;
  for (size_t role = 0; role < trial->processes && status == FARO_OK; role++) {
    status = faro_port_hold(&trial->port[role], &trial->hold[role], error);
    if (status == FARO_OK)
      status = faro_relay_open(&trial->relay[role], trial->port[role], trial->params.keep, error);
  }
  return status;
}

/* Checks as the analyzer will, so that a refusal is shown here and not only in its log. */
static faro_status check_campaign(const faro_trial *trial, faro_error *error) {
  char path[FARO_TRIAL_PATH];
  faro_campaign campaign;
  bool known = false;
  faro_analyzer_settings *settings = malloc(sizeof *settings);
  if (!settings) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = faro_analyzer_settings_load(settings, faro_trial_file(trial, 0, ".yaml", path), error);
  settings->file[0] = '\0'; /* the user did not write this file */
  if (status == FARO_OK) status = faro_campaign_check(settings, &campaign, &known, error);
  free(settings);
  return status;
}

static const faro_learner_kind *learner_of(const faro_trial_params *params) {
  return params->learner ? faro_learner_find(params->learner) : NULL;
}

bool faro_trial_in_phases(const faro_trial_params *params) {
  const faro_learner_kind *kind = learner_of(params);
  return kind && kind->protocol == FARO_PROTOCOL_ELIMINATOR;
}

bool faro_trial_averages(const faro_trial_params *params) {
  return faro_trial_in_phases(params) && faro_eliminator_kind_asks_clients(learner_of(params));
}

bool faro_trial_in_rounds(const faro_trial_params *params) { return params->link != FARO_LINK_LINEAR; }

uint64_t faro_trial_horizon(const faro_trial_params *params) {
  if (faro_trial_in_phases(params) || faro_trial_in_rounds(params)) return params->horizon;
  const faro_release_kind *kind = faro_release_kind_find(params->release);
  const faro_schedule_rule rule = {.batch = params->batch,
                                   .largest = params->largest,
                                   .least = kind ? kind->least_batch : 1,
                                   .growth = params->growth};
  return faro_schedule_span(&rule, params->batches);
}

static size_t shufflers_of(const faro_trial_params *params) {
  const faro_release_kind *kind = faro_release_kind_find(params->release);
  const faro_trust trust = kind ? kind->trust : FARO_TRUST_LOCAL;
  if (trust == FARO_TRUST_SHUFFLE) return 1;
  return trust == FARO_TRUST_CONCURRENT ? params->shufflers : 0;
}

/* A shuffler with collectors needs a batch that they can share. Where a shuffler's batch is several
 * of the campaign's, clients take turns over all of them. */
static faro_status check_roles(const faro_trial *trial, faro_error *error) {
  const faro_trial_params *p = &trial->params;
  if (!faro_release_kind_find(p->release) || trial->processes > FARO_TRIAL_ROLES)
    return faro_fail(error, FARO_INVALID,
                     "the release must be deployable, with at most %d processes (got %s, %zu)",
                     FARO_TRIAL_ROLES, p->release, trial->processes);
  if (p->split && (p->collectors > 0 || trial->shufflers == 0))
    return faro_fail(error, FARO_INVALID,
                     "split needs a release with shufflers, none of them in parts: only counts can be split "
                     "(got %s, %llu collectors)",
                     p->release, (unsigned long long)p->collectors);
  if (p->collectors > 0 && trial->shufflers == 0)
    return faro_fail(error, FARO_INVALID, "collectors need a release with shufflers (got %s)", p->release);
  if (p->collectors > 0 && trial->shufflers > 1 && p->batch % p->collectors != 0)
    return faro_fail(error, FARO_INVALID, "batch must be a multiple of %llu collectors (got %llu)",
                     (unsigned long long)p->collectors, (unsigned long long)p->batch);
  return FARO_OK;
}

faro_status faro_trial_create(faro_trial *trial, const faro_trial_params *params, faro_error *error) {
  const size_t shufflers = shufflers_of(params);
  *trial = (faro_trial){
      .params = *params, .shufflers = shufflers, .roles = 1 + shufflers * (1 + params->collectors)};
  trial->processes = trial->roles + (params->split ? shufflers : 0);
  for (size_t role = 0; role < FARO_TRIAL_ROLES; role++) trial->hold[role] = -1;
  faro_status checked = check_roles(trial, error);
  if (checked != FARO_OK) return checked;
  if (mkdir(params->directory, 0700) != 0 && errno != EEXIST)
    return faro_fail(error, FARO_SYSTEM, "cannot create %s: %s", params->directory, strerror(errno));
  faro_status status = make_relays(trial, error);
  if (status == FARO_OK) status = make_keys(trial, error);
  if (status == FARO_OK) status = make_tokens(trial, error);
  for (size_t role = 0; role < trial->processes && status == FARO_OK; role++)
    status = faro_trial_write_settings(trial, role, error);
  if (status == FARO_OK) status = check_campaign(trial, error);
  if (status != FARO_OK) faro_trial_destroy(trial);
  return status;
}

void faro_trial_destroy(faro_trial *trial) {
  for (size_t role = trial->processes; role-- > 0;) {
    (void)faro_child_end(&trial->child[role], SIGTERM, 10);
    faro_relay_close(trial->relay[role]);
    if (trial->hold[role] >= 0) close(trial->hold[role]);
  }
  if (trial->tokens) sodium_memzero(trial->tokens, (trial->params.clients + 1) * FARO_TOKEN_BYTES);
  free(trial->tokens);
  free(trial->document);
  faro_plans_destroy(trial->campaign.plans);
  sodium_memzero(trial, sizeof *trial);
}

/* Starting. */

/* The last line of a file that is not empty. */
static const char *last_line(const char *path, char *line, size_t size) {
  FILE *file = fopen(path, "r");
  line[0] = '\0';
  while (file && fgets(line, (int)size, file)) line[strcspn(line, "\n")] = '\0';
  if (file) fclose(file);
  return line;
}

static faro_status gone(const faro_trial *trial, size_t role, bool running, faro_error *error) {
  char name[24], path[FARO_TRIAL_PATH], line[256];
  faro_trial_file(trial, role, ".log", path);
  return faro_fail(error, FARO_SYSTEM, "%s %s; its log (%s) ends with: %s",
                   faro_trial_role(trial, role, name), running ? "is not ready" : "did not start", path,
                   last_line(path, line, sizeof line));
}

static faro_status wait_until_well(faro_trial *trial, size_t role, faro_error *error) {
  faro_sender *sender = NULL;
  faro_status status = faro_sender_create(&sender, &(faro_sender_params){.timeout = 5}, error);
  if (status != FARO_OK) return status;
  char url[FARO_URL_MAX + 1];
  faro_trial_url(trial, role, "/readyz", url);
  const double end = faro_clock() + 600; /* it ends what hangs */
  for (bool well = false; !well && status == FARO_OK;) {
    faro_error none = {0};
    faro_sent sent;
    well = faro_send_get(sender, url, &sent, &none) == FARO_OK && sent.status == 200;
    if (well) break;
    const bool running = faro_child_running(&trial->child[role]);
    if (!running || faro_clock() > end) status = gone(trial, role, running, error);
    faro_sleep(0.005);
  }
  faro_sender_destroy(sender);
  return status;
}

/* Fetches the campaign, as clients do. */
static faro_status learn_campaign(faro_trial *trial, faro_error *error) {
  faro_sender *sender = NULL;
  faro_sent sent;
  char url[FARO_URL_MAX + 1];
  faro_status status = faro_sender_create(&sender, &(faro_sender_params){0}, error);
  if (status == FARO_OK)
    status = faro_send_get(sender, faro_trial_url(trial, 0, "/v1/campaign", url), &sent, error);
  if (status == FARO_OK)
    status = faro_campaign_open(&trial->campaign, sent.bytes, sent.length, trial->sign.public_key, error);
  if (status == FARO_OK) {
    trial->document = malloc(sent.length);
    trial->document_length = sent.length;
    if (trial->document) memcpy(trial->document, sent.bytes, sent.length);
    else status = faro_fail(error, FARO_MEMORY, "out of memory");
  }
  if (status == FARO_OK && faro_campaign_in_phases(&trial->campaign))
    status = faro_plans_create(&trial->campaign.plans, FARO_PLANS_MAX, error);
  faro_sender_destroy(sender);
  return status;
}

faro_status faro_trial_launch(faro_trial *trial, size_t role, faro_error *error) {
  char config[FARO_TRIAL_PATH], log[FARO_TRIAL_PATH];
  const char *const argv[] = {trial->params.command,
                              role == 0             ? "analyzer"
                              : role < trial->roles ? "shuffler"
                                                    : "adder",
                              "--config", faro_trial_file(trial, role, ".yaml", config), NULL};
  return faro_child_start(&trial->child[role], argv, faro_trial_file(trial, role, ".log", log), error);
}

faro_status faro_trial_start(faro_trial *trial, size_t role, faro_error *error) {
  faro_status status = faro_trial_launch(trial, role, error);
  if (status == FARO_OK) status = wait_until_well(trial, role, error);
  if (status == FARO_OK && role == 0 && !trial->document) status = learn_campaign(trial, error);
  return status;
}

faro_status faro_trial_start_all(faro_trial *trial, faro_error *error) {
  faro_status status = FARO_OK;
  for (size_t role = 0; role < trial->processes && status == FARO_OK; role++)
    status = faro_trial_start(trial, role, error);
  return status;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place) {
  (void)info, (void)type, (void)place;
  return remove(path);
}

void faro_trial_remove(const char *directory) { (void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
