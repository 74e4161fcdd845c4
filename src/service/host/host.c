/* host: see the header. */
#include "service/host/host_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "service/analyzer/campaign_create.h"
#include "service/analyzer/life.h"
#include "service/role/log.h"
#include "service/role/reload.h"

/* Files that a campaign has open: two connections to its database and one to its intake, each with
 * a log and an index, and locks. */
enum { FILES_PER_CAMPAIGN = 16, ADMIN_FILES = 128 };

static bool is_many(const faro_host *host) { return *host->settings->campaigns != '\0'; }

host_place *faro_host_find(const faro_host *host, const char *name, size_t length) {
  for (size_t i = 0; i < host->count; i++)
    if (strlen(host->place[i]->name) == length && memcmp(host->place[i]->name, name, length) == 0)
      return host->place[i];
  return NULL;
}

/* Starting a campaign. */

/* Sets what others see of a place. */
static void tell(host_place *place, faro_analyzer *analyzer, bool draft, const faro_error *error) {
  pthread_mutex_lock(&place->host->mutex);
  place->analyzer = analyzer;
  place->draft = draft;
  if (error) place->error = *error;
  pthread_mutex_unlock(&place->host->mutex);
}

static faro_status start_campaign(host_place *place, faro_error *error) {
  faro_analyzer *analyzer = NULL;
  faro_log_campaign(place->name);
  const faro_status status = faro_analyzer_start(&analyzer, &place->settings, place->host->http, error);
  faro_log_campaign(NULL);
  if (status == FARO_OK) tell(place, analyzer, false, NULL);
  return status;
}

/* Whether a campaign was founded here, even if its database is lost now. */
static bool is_founded(const faro_analyzer_settings *s) {
  char copy[FARO_PATH_SIZE + 16];
  snprintf(copy, sizeof copy, "%s.campaign", s->database);
  return access(s->database, F_OK) == 0 || access(copy, F_OK) == 0;
}

static faro_status draft_campaign(host_place *place, faro_error *error) {
  bool known = false;
  const faro_status status = faro_campaign_check(&place->settings, &place->campaign, &known, error);
  if (status == FARO_OK) tell(place, NULL, true, NULL);
  return status;
}

/* Reads the settings again: the operator may have mended them. */
static faro_status load(host_place *place, faro_error *error) {
  const faro_host_settings *s = place->host->settings;
  const faro_status status = faro_host_campaign_load(s, place->name, &place->settings, error);
  if (status != FARO_OK) return status;
  return is_founded(&place->settings) ? start_campaign(place, error) : draft_campaign(place, error);
}

/* Loads a campaign of many. A failure is kept and logged. */
static faro_status try_load(host_place *place, faro_error *error) {
  faro_error why = {0};
  const faro_status status = load(place, &why);
  if (status == FARO_OK) return FARO_OK;
  tell(place, NULL, false, &why);
  char reason[sizeof why.message];
  faro_log(FARO_LOG_ERROR, "campaign-not-started", "ss ss", "campaign", place->name, "reason",
           faro_printable(why.message, reason, sizeof reason));
  if (error) *error = why;
  return status;
}

static faro_status add_place(faro_host *host, const char *name, host_place **added, faro_error *error) {
  const uint64_t files = (host->admin ? ADMIN_FILES : 0) + FILES_PER_CAMPAIGN * host->count;
  const faro_status status = faro_http_files(&host->settings->http, files, error);
  if (status != FARO_OK) return status;
  if (host->count == FARO_CAMPAIGNS_MAX)
    return faro_fail(error, FARO_INVALID, "there is no room for another campaign: %d is the most",
                     FARO_CAMPAIGNS_MAX);
  host_place *place = calloc(1, sizeof *place);
  if (!place) return faro_fail(error, FARO_MEMORY, "cannot allocate the campaign %s", name);
  place->host = host;
  snprintf(place->name, sizeof place->name, "%s", name);
  faro_host_set_life(place);
  pthread_mutex_lock(&host->mutex);
  host->place[host->count++] = place;
  pthread_mutex_unlock(&host->mutex);
  *added = place;
  return FARO_OK;
}

/* Call it with `changes` held. */
static faro_status create(faro_host *host, const char *name, faro_error *error) {
  char path[FARO_PATH_SIZE + FARO_ID_MAX + 8];
  snprintf(path, sizeof path, "%s/%s.yaml", host->settings->campaigns, name);
  host_place *place = faro_host_find(host, name, strlen(name));
  if (place && place->analyzer) return faro_fail(error, FARO_INVALID, "campaign %s is there already", name);
  if (!place && access(path, R_OK) != 0)
    return faro_fail(error, FARO_INVALID,
                     "campaign %s has no settings: put them into %s on the analyzer's machine", name,
                     faro_path_end(path));
  const faro_status status = place ? FARO_OK : add_place(host, name, &place, error);
  return status == FARO_OK ? try_load(place, error) : status;
}

faro_status faro_host_create(faro_host *host, const char *name, faro_error *error) {
  if (!is_many(host))
    return faro_fail(
        error, FARO_INVALID,
        "this analyzer has one campaign: `campaigns: FOLDER` in its settings makes room for many");
  faro_status status = faro_host_name_check(name, error);
  if (status != FARO_OK) return status;
  pthread_mutex_lock(&host->changes);
  status = create(host, name, error);
  pthread_mutex_unlock(&host->changes);
  return status;
}

/* The file may have changed since it was checked. */
static faro_status open_draft(host_place *place, faro_error *error) {
  const faro_status status =
      faro_host_campaign_load(place->host->settings, place->name, &place->settings, error);
  return status == FARO_OK ? start_campaign(place, error) : status;
}

/* The analyzer goes on from the standby's copy, fenced. If it cannot be started, it is tried again.
 * Call it with `changes` held. */
static faro_status take_over(host_place *place, faro_error *error) {
  const faro_status status = faro_standby_promote(place->standby, error);
  return status == FARO_OK ? start_campaign(place, error) : status;
}

/* Starts the analyzer if nobody holds its database. Another one may be faster. Call it with
 * `changes` held. */
static faro_status follow(host_place *place, faro_error *error) {
  bool due = false;
  const faro_status status = faro_waiting_look(place->waiting, &due, error);
  if (status != FARO_OK || !due) return status;
  const faro_status started = start_campaign(place, error);
  return started == FARO_OLD ? FARO_OK : started;
}

static faro_status change_standby(host_place *place, const char *verb, faro_error *error) {
  if (strcmp(verb, FARO_HOST_PROMOTE) == 0) return take_over(place, error);
  return faro_fail(error, FARO_INVALID, "this analyzer is a standby, so %s is not possible; possible: %s",
                   verb, FARO_HOST_PROMOTE);
}

/* Call it with `changes` held. */
static faro_status change(host_place *place, const char *verb, const char *by, faro_error *error) {
  faro_life after = FARO_LIFE_OPEN;
  if (place->standby && !place->analyzer) return change_standby(place, verb, error);
  if (place->analyzer) return faro_analyzer_change(place->analyzer, verb, by, error);
  if (place->waiting)
    return faro_fail(
        error, FARO_INVALID,
        "this analyzer waits for its database, which another one holds: ask that one, or stop it");
  if (!place->draft)
    return faro_fail(error, FARO_INVALID, "the campaign could not be started: %.300s", place->error.message);
  faro_status status = faro_life_after(FARO_LIFE_DRAFT, verb, &after, error);
  if (status == FARO_OK) status = open_draft(place, error);
  if (status == FARO_OK) faro_log(FARO_LOG_INFO, "draft-opened", "ss ss", "name", place->name, "by", by);
  return status;
}

faro_status faro_host_change(host_place *place, const char *verb, const char *by, faro_error *error) {
  pthread_mutex_lock(&place->host->changes);
  const faro_status status = change(place, verb, by, error);
  pthread_mutex_unlock(&place->host->changes);
  return status;
}

/* Takes over if it is time, and starts what has taken over but failed to start. */
static void tend_standby(host_place *place) {
  faro_error error = {0};
  if (place->analyzer) return;
  faro_status status = FARO_OK;
  if (faro_standby_promoted(place->standby)) status = start_campaign(place, &error);
  else if (faro_standby_due(place->standby)) status = take_over(place, &error);
  if (status != FARO_OK) faro_log_error("not-taken-over", &error);
}

/* The health says why not, if it cannot look. */
static void tend_waiting(host_place *place) {
  faro_error error = {0};
  if (place->analyzer) {
    faro_analyzer_tend(place->analyzer);
    return;
  }
  if (follow(place, &error) != FARO_OK) faro_log_error("not-taken-over", &error);
  if (place->analyzer) faro_log(FARO_LOG_WARNING, "taken-over", NULL);
}

int faro_host_pause(const faro_host *host) {
  return !is_many(host) && (host->place[0]->standby || host->place[0]->waiting) ? 1000 : 5000;
}

bool faro_host_must_end(faro_host *host) {
  if (is_many(host)) return false;
  pthread_mutex_lock(&host->mutex);
  const faro_analyzer *analyzer = host->place[0]->analyzer;
  pthread_mutex_unlock(&host->mutex);
  return analyzer && faro_analyzer_must_end(analyzer);
}

/* A change may take a minute, and the main loop has other things to do: the next look is soon. */
void faro_host_tend(faro_host *host) {
  if (pthread_mutex_trylock(&host->changes) != 0) return;
  if (!is_many(host) && host->place[0]->standby) tend_standby(host->place[0]);
  if (!is_many(host) && host->place[0]->waiting) tend_waiting(host->place[0]);
  for (size_t i = 0; is_many(host) && i < host->count; i++)
    if (!host->place[i]->analyzer && !host->place[i]->draft) (void)try_load(host->place[i], NULL);
  pthread_mutex_unlock(&host->changes);
}

void faro_host_reload(faro_host *host) {
  faro_reload_certificate(host->http);
  faro_admin_reload(host->admin);
  pthread_mutex_lock(&host->changes);
  for (size_t i = 0; i < host->count; i++) {
    host_place *place = host->place[i];
    faro_log_campaign(*place->name ? place->name : NULL);
    if (place->analyzer) faro_analyzer_reload(place->analyzer);
  }
  faro_log_campaign(NULL);
  pthread_mutex_unlock(&host->changes);
}

/* The host. */

/* What may pass, such as a server that does not answer, is tried again. */
static faro_status start_waiting(host_place *place, faro_error *error) {
  faro_status followed = FARO_OK;
  const faro_status status = faro_waiting_create(&place->waiting, &place->settings, error);
  faro_error why = {0};
  if (status == FARO_OK) followed = follow(place, &why);
  if (followed != FARO_OK && followed != FARO_SYSTEM) return faro_fail(error, followed, "%s", why.message);
  if (followed != FARO_OK) faro_log_error("not-taken-over", &why);
  if (status == FARO_OK && !place->analyzer) faro_log(FARO_LOG_INFO, "standby", NULL);
  return status;
}

static faro_status start_one(faro_host *host, faro_error *error) {
  host_place *place = NULL;
  const faro_status status = add_place(host, "", &place, error);
  if (status != FARO_OK) return status;
  place->settings = host->settings->one;
  if (*place->settings.server) return start_waiting(place, error);
  if (!faro_standby_wanted(&place->settings)) return start_campaign(place, error);
  const faro_status made = faro_standby_create(&place->standby, &place->settings, error);
  if (made == FARO_OK) faro_admin_make_room(host->admin, faro_standby_largest(place->standby));
  return made;
}

static faro_status start_many(faro_host *host, faro_error *error) {
  faro_host_names *names = malloc(sizeof *names);
  if (!names) return faro_fail(error, FARO_MEMORY, "cannot allocate the names of campaigns");
  faro_status status = faro_host_names_read(host->settings, names, error);
  for (size_t i = 0; status == FARO_OK && i < names->count; i++) {
    host_place *place = NULL;
    status = add_place(host, names->name[i], &place, error);
    if (status == FARO_OK) (void)try_load(place, NULL);
  }
  free(names);
  return status;
}

static faro_status start(faro_host *host, faro_error *error) {
  const faro_http_settings *s = &host->settings->http;
  faro_status status = faro_http_bind(&host->http, s, error);
  if (status == FARO_OK) status = faro_admin_bind(&host->admin, s, error);
  if (status == FARO_OK) status = faro_metrics_create(&host->metrics, error);
  if (status == FARO_OK) status = is_many(host) ? start_many(host, error) : start_one(host, error);
  if (status != FARO_OK) return status;
  faro_host_set_services(host);
  status = faro_http_serve(host->http, &host->service, error);
  return status == FARO_OK ? faro_admin_serve(host->admin, &host->operators, error) : status;
}

faro_status faro_host_start(faro_host **host, const faro_host_settings *settings, faro_error *error) {
  faro_host *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer");
  made->settings = settings;
  pthread_mutex_init(&made->changes, NULL);
  pthread_mutex_init(&made->mutex, NULL);
  const faro_status status = start(made, error);
  if (status == FARO_OK) *host = made;
  else faro_host_stop(made);
  return status;
}

uint16_t faro_host_port(const faro_host *host) { return faro_http_port(host->http); }
uint16_t faro_host_admin_port(const faro_host *host) { return faro_admin_port(host->admin); }

void faro_host_stop(faro_host *host) {
  if (!host) return;
  faro_admin_stop(host->admin); /* from here on no campaign is added */
  for (size_t i = 0; i < host->count; i++)
    if (host->place[i]->analyzer) faro_analyzer_close(host->place[i]->analyzer);
  faro_http_stop(host->http); /* while workers still answer parked requests */
  for (size_t i = 0; i < host->count; i++) {
    faro_analyzer_stop(host->place[i]->analyzer);
    faro_standby_destroy(host->place[i]->standby);
    faro_waiting_destroy(host->place[i]->waiting);
    free(host->place[i]);
  }
  faro_metrics_destroy(host->metrics);
  pthread_mutex_destroy(&host->mutex);
  pthread_mutex_destroy(&host->changes);
  free(host);
}
