/* host_http: which campaign a path belongs to, and the host's own routes. host.h lists them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "service/analyzer/campaign_create.h"
#include "service/analyzer/campaign_ledger.h"
#include "service/analyzer/life.h"
#include "service/host/host_inner.h"
#include "service/role/admin.h"
#include "service/role/json_text.h"

/* A campaign that failed. */

static void handle_down(void *context, faro_http_request *request) {
  (void)context;
  faro_http_refuse(request, 503, "the campaign cannot be served now");
}

static bool never(void *context, bool ready, faro_text *reasons) {
  (void)context, (void)ready;
  if (reasons) faro_text_add(reasons, "the campaign could not be started\n");
  return false;
}

static const faro_http_route down_routes[] = {
    {"GET", "/v1/policy", handle_down, 0, NULL},   {"POST", "/v1/batches", handle_down, 0, NULL},
    {"POST", "/v1/reports", handle_down, 0, NULL}, {"GET", "/v1/campaign", handle_down, 0, NULL},
    {"GET", "/v1/ledger", handle_down, 0, NULL},
};
static const char *const down_shared[] = {"/v1/policy", "/v1/campaign", "/v1/reports", NULL};
static const faro_http_service down = {.routes = down_routes,
                                       .count = sizeof down_routes / sizeof *down_routes,
                                       .healthy = never,
                                       .bare = true,
                                       .shared = down_shared};

/* Paths. */

/* The place of a name, or NULL. Places are added while others look. */
static host_place *find(faro_host *host, const char *name, size_t length) {
  pthread_mutex_lock(&host->mutex);
  host_place *place = faro_host_find(host, name, length);
  pthread_mutex_unlock(&host->mutex);
  return place;
}

/* The place that a path belongs to, and the path within it. An only campaign has all paths. */
static host_place *place_of(faro_host *host, const char *path, const char **within) {
  *within = path;
  if (*host->settings->campaigns == '\0') return host->place[0];
  const char *name = *path == '/' ? path + 1 : path;
  const size_t length = strcspn(name, "/");
  host_place *place = length > 0 ? find(host, name, length) : NULL;
  if (place) *within = name + length;
  return place;
}

/* What a place serves, to operators or to everybody; NULL for a draft, which nobody sees. */
/* What a standby serves; NULL: it is none. */
static const faro_http_service *waiting_service(const host_place *place, bool operators) {
  if (place->standby)
    return operators ? faro_standby_admin(place->standby) : faro_standby_service(place->standby);
  if (place->waiting)
    return operators ? faro_waiting_admin(place->waiting) : faro_waiting_service(place->waiting);
  return NULL;
}

static const faro_http_service *service_of(host_place *place, bool operators) {
  pthread_mutex_lock(&place->host->mutex);
  const faro_analyzer *analyzer = place->analyzer;
  const bool draft = place->draft;
  pthread_mutex_unlock(&place->host->mutex);
  if (analyzer) return operators ? faro_analyzer_admin(analyzer) : faro_analyzer_service(analyzer);
  const faro_http_service *waiting = waiting_service(place, operators);
  if (waiting) return waiting;
  return draft ? NULL : &down;
}

static const faro_http_service *find_public(void *context, const char *path, const char **within) {
  host_place *place = place_of(context, path, within);
  const faro_http_service *found = place ? service_of(place, false) : NULL;
  if (!found) *within = path;
  return found;
}

static const faro_http_service *find_for_operators(void *context, const char *path, const char **within) {
  faro_host *host = context;
  const bool own = strcmp(path, "/v1/campaigns") == 0;
  host_place *place = own ? NULL : place_of(host, path, within);
  const bool life = place && strcmp(*within, "/v1/life") == 0;
  const bool copy = place && place->standby && strcmp(*within, "/v1/copy") == 0;
  const faro_http_service *found = life    ? &place->life
                                   : copy  ? faro_standby_admin(place->standby) /* also after a take-over */
                                   : place ? service_of(place, true)
                                           : NULL;
  if (!found) *within = path;
  return found;
}

/* What operators see of a campaign. */

typedef struct place_view {
  const char *name;
  faro_analyzer *analyzer;
  const faro_http_service *waiting; /* of a standby */
  bool draft;
  char message[sizeof((faro_error){0}).message];
} place_view;

static place_view look(host_place *place) {
  place_view view = {.name = place->name};
  pthread_mutex_lock(&place->host->mutex);
  view.analyzer = place->analyzer;
  view.waiting = waiting_service(place, true);
  view.draft = place->draft;
  if (!place->analyzer && !place->draft)
    (void)faro_printable(place->error.message, view.message, sizeof view.message);
  pthread_mutex_unlock(&place->host->mutex);
  return view;
}

/* Adds the reasons of a campaign why not. */
static bool is_well(const place_view *view, bool ready, faro_text *reasons) {
  if (view->draft) return true;
  if (!view->analyzer && !view->waiting) return never(NULL, ready, reasons);
  const faro_http_service *service = view->analyzer ? faro_analyzer_admin(view->analyzer) : view->waiting;
  return service->healthy(service->context, ready, reasons);
}

static json_t *summary_json(const char *name, const faro_analyzer_summary *summary) {
  const faro_campaign *c = summary->campaign;
  char warning[FARO_CAMPAIGN_WARNING];
  double epsilon = 0, delta = 0;
  faro_campaign_total(c, &epsilon, &delta);
  return json_pack("{ss ss sb ss ss ss so s{sI sf sf} s{sI sI} sI sI sb ss}", "name", name, "state",
                   summary->state, "healthy", (int)summary->healthy, "id", c->id, "url", c->analyzer,
                   "release", c->release->name, "claim", faro_ledger_claim(&c->claim), "before", "campaigns",
                   (json_int_t)c->befores, "epsilon", epsilon, "delta", delta, "batches", "applied",
                   (json_int_t)summary->applied, "allowed", (json_int_t)faro_campaign_batches(c), "reports",
                   (json_int_t)faro_campaign_reports(c, c->batches), "used",
                   (json_int_t)faro_campaign_reports(c, summary->applied), "phases",
                   (int)faro_campaign_in_phases(c), "warning", faro_campaign_warning(c, warning));
}

/* The draft's claim is shown before anything is signed. */
static json_t *place_json(host_place *place) {
  pthread_mutex_lock(&place->host->changes);
  const place_view view = look(place);
  json_t *json = NULL;
  faro_analyzer_summary summary = {.campaign = &place->campaign, .state = "draft", .healthy = true};
  if (view.analyzer) summary = faro_analyzer_summarize(view.analyzer);
  if (view.analyzer || view.draft) json = summary_json(view.name, &summary);
  else if (view.waiting)
    json = json_pack("{ss ss sb ss}", "name", view.name, "state", "standby", "healthy",
                     (int)is_well(&view, false, NULL), "id", place->settings.campaign.id);
  else
    json = json_pack("{ss ss sb ss}", "name", view.name, "state", "failed", "healthy", 0, "message",
                     view.message);
  pthread_mutex_unlock(&place->host->changes);
  return json;
}

static void reply_json(faro_http_request *request, json_t *json) {
  char *text = json ? faro_json_to_text(json) : NULL;
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = text ? strlen(text) : 0};
  if (text) faro_http_reply(request, &answer);
  else faro_http_refuse(request, 503, "out of memory");
  free(text);
  json_decref(json);
}

/* Number of places now; they stay. */
static size_t places(faro_host *host) {
  pthread_mutex_lock(&host->mutex);
  const size_t count = host->count;
  pthread_mutex_unlock(&host->mutex);
  return count;
}

static void handle_list(void *context, faro_http_request *request) {
  faro_host *host = context;
  json_t *list = json_array();
  const size_t count = places(host);
  for (size_t i = 0; i < count; i++)
    if (json_array_append_new(list, place_json(host->place[i])) != 0) break;
  reply_json(request, json_pack("{so}", "campaigns", list));
}

static void refuse(faro_http_request *request, faro_status status, const faro_error *error) {
  faro_http_refuse(request, status == FARO_INVALID ? 409 : 503, error->message);
}

static void handle_create(void *context, faro_http_request *request) {
  faro_host *host = context;
  faro_error error = {0};
  const char *name = faro_http_query(request, "name");
  const faro_status status =
      name ? faro_host_create(host, name, &error) : faro_fail(&error, FARO_INVALID, "name is required");
  if (status == FARO_OK) reply_json(request, place_json(find(host, name, strlen(name))));
  else refuse(request, status, &error);
}

static void handle_life(void *context, faro_http_request *request) {
  reply_json(request, place_json(context));
}

static void handle_change(void *context, faro_http_request *request) {
  host_place *place = context;
  faro_error error = {0};
  const char *asked = faro_http_query(request, "do");
  const char *verb = NULL;
  for (size_t i = 0; asked && !verb && faro_life_verb(i); i++)
    if (strcmp(asked, faro_life_verb(i)) == 0) verb = faro_life_verb(i);
  if (asked && strcmp(asked, FARO_HOST_PROMOTE) == 0) verb = FARO_HOST_PROMOTE;
  char by[FARO_OPERATOR];
  faro_admin_operator(request, by);
  const faro_status status =
      verb ? faro_host_change(place, verb, by, &error)
           : faro_fail(&error, FARO_INVALID,
                       "do must be one of open, pause, resume, finish, archive, " FARO_HOST_PROMOTE);
  if (status == FARO_OK) handle_life(context, request);
  else refuse(request, status, &error);
}

/* For everybody. */

/* Every campaign must be well. One that is ready suffices for the host to be: behind a load
 * balancer a campaign that fails must not take the others away. */
static bool is_healthy(void *context, bool ready, faro_text *reasons) {
  faro_host *host = context;
  const size_t count = places(host);
  size_t well = 0;
  for (size_t i = 0; i < count; i++) {
    const place_view view = look(host->place[i]);
    const size_t before = reasons ? reasons->length : 0;
    if (reasons) faro_text_add(reasons, "campaign %s: ", view.name);
    if (!is_well(&view, ready, reasons)) continue;
    well++;
    if (reasons && !reasons->failed) reasons->data[reasons->length = before] = '\0';
  }
  return ready ? well > 0 || count == 0 : well == count;
}

static void write_health(faro_host *host, size_t count, faro_text *out) {
  faro_text_add(out, "# HELP faro_campaign_healthy Whether a campaign is well: 1 or 0.\n"
                     "# TYPE faro_campaign_healthy gauge\n");
  for (size_t i = 0; i < count; i++) {
    const place_view view = look(host->place[i]);
    faro_text_add(out, "faro_campaign_healthy{campaign=\"%s\"} %d\n", view.name,
                  is_well(&view, false, NULL) ? 1 : 0);
  }
}

static void handle_metrics(void *context, faro_http_request *request) {
  faro_host *host = context;
  faro_text text = FARO_TEXT_INIT;
  const size_t count = places(host);
  size_t used = 1;
  faro_metrics_set *sets = calloc(1 + count, sizeof *sets);
  if (!sets) {
    faro_http_refuse(request, 503, "out of memory");
    return;
  }
  sets[0].metrics = host->metrics;
  for (size_t i = 0; i < count; i++) {
    const place_view view = look(host->place[i]);
    if (!view.analyzer) continue;
    snprintf(sets[used].label, sizeof sets->label, "campaign=\"%s\"", view.name);
    sets[used++].metrics = faro_analyzer_admin(view.analyzer)->metrics;
  }
  write_health(host, count, &text);
  faro_metrics_write_sets(sets, used, &text);
  free(sets);
  const faro_http_answer answer = {.status = text.failed ? 503 : 200,
                                   .type = "text/plain; version=0.0.4; charset=utf-8",
                                   .bytes = text.data,
                                   .length = text.failed ? 0 : text.length};
  faro_http_reply(request, &answer);
  faro_text_clear(&text);
}

/* The list of campaigns for a browser. Names need no escapes; nothing else is from a file. */
static void handle_page(void *context, faro_http_request *request) {
  faro_host *host = context;
  faro_text text = FARO_TEXT_INIT;
  const size_t count = places(host);
  faro_text_add(&text,
                "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>faro: campaigns</title>\n"
                "<h1>Campaigns</h1>\n<ul>\n");
  for (size_t i = 0; i < count; i++) {
    const place_view view = look(host->place[i]);
    const char *state = view.analyzer ? faro_analyzer_summarize(view.analyzer).state
                        : view.draft  ? "draft"
                                      : "failed";
    if (view.analyzer) faro_text_add(&text, "<li><a href=\"%s/\">%s</a>: %s", view.name, view.name, state);
    else faro_text_add(&text, "<li>%s: %s", view.name, state);
    faro_text_add(&text, "%s</li>\n", is_well(&view, false, NULL) ? "" : ", not well");
  }
  faro_text_add(&text, "</ul>\n</html>\n");
  const faro_http_answer answer = {.status = text.failed ? 503 : 200,
                                   .type = "text/html; charset=utf-8",
                                   .bytes = text.data,
                                   .length = text.failed ? 0 : text.length,
                                   .policy = "default-src 'none'; base-uri 'none'; form-action 'none'; "
                                             "frame-ancestors 'none'"};
  faro_http_reply(request, &answer);
  faro_text_clear(&text);
}

/* Services. */

void faro_host_set_life(host_place *place) {
  static const faro_http_route routes[] = {{"GET", "/v1/life", handle_life, 0, NULL},
                                           {"POST", "/v1/life", handle_change, 0, NULL}};
  place->life = (faro_http_service){.routes = routes, .count = 2, .context = place, .bare = true};
}

/* An only campaign's paths come before all of these. */
void faro_host_set_services(faro_host *host) {
  static const faro_http_route routes[] = {{"GET", "/metrics", handle_metrics, 0, NULL},
                                           {"GET", "/", handle_page, 0, NULL},
                                           {"GET", "/v1/campaigns", handle_list, 0, NULL},
                                           {"POST", "/v1/campaigns", handle_create, 0, NULL}};
  const host_place *one = *host->settings->campaigns == '\0' ? host->place[0] : NULL;
  const bool open = faro_http_open(&host->settings->http);
  host->service = (faro_http_service){
      .routes = routes,
      .count = open ? 2 : 0,
      .context = host,
      .healthy = is_healthy,
      .bare = true,
      .metrics = one && one->analyzer ? faro_analyzer_admin(one->analyzer)->metrics : host->metrics,
      .find = find_public};
  host->operators = (faro_http_service){.routes = routes,
                                        .count = 4,
                                        .context = host,
                                        .healthy = is_healthy,
                                        .bare = true,
                                        .metrics = host->service.metrics,
                                        .find = find_for_operators};
}
