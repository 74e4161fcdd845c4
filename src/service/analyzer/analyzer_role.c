/* analyzer_role: starts and stops a campaign. analyzer_inner.h says how its parts work
 * together. */
#include "service/analyzer/analyzer_role.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "service/analyzer/analyzer_inner.h"
#include "service/analyzer/applied.h"
#include "service/analyzer/campaign_create.h"
#include "service/role/log.h"
#include "service/role/reload.h"
#include "wire/split.h"

/* Makes the drafted campaign the analyzer's. */
static faro_status found(faro_analyzer *a, const faro_campaign *drafted, const faro_blob *document,
                         faro_error *error) {
  const char *text = (const char *)document->bytes;
  a->campaign = *drafted;
  a->document = *document;
  faro_status status = faro_campaign_may_found(a->settings, error);
  if (status == FARO_OK) status = faro_campaign_forget(a->settings, error);
  if (status == FARO_OK) status = faro_applied_forget(a->settings->database, error);
  if (status == FARO_OK)
    status = faro_store_set_campaign(a->worker.store, text, document->length, a->keys.sign.public_key, error);
  char warning[FARO_CAMPAIGN_WARNING];
  if (*faro_campaign_warning(drafted, warning) != '\0')
    faro_log(FARO_LOG_WARNING, "campaign-is-large", "ss", "reason", warning);
  if (status == FARO_OK) status = faro_store_live(a->worker.store, FARO_LIFE_OPEN, error);
  if (status == FARO_OK)
    faro_log(FARO_LOG_INFO, "campaign-made", "ss ss", "id", drafted->id, "claim", drafted->claim.by);
  return status;
}

/* The campaign is created at the first start; later starts must ask for the same. The address is
 * taken by now, so what is signed can be served. */
static faro_status set_campaign(faro_analyzer *a, faro_error *error) {
  faro_campaign drafted = {0};
  faro_blob fresh = {0};
  char *text = NULL;
  faro_store *store = a->worker.store;
  faro_status status = faro_campaign_draft(a->settings, &a->keys, &drafted, &text, &fresh.length, error);
  fresh.bytes = (unsigned char *)text;
  if (status == FARO_OK)
    status = faro_campaign_find(store, &a->keys, &drafted, &a->campaign, &a->document, error);
  if (status == FARO_OK && !a->document.bytes) return found(a, &drafted, &fresh, error);
  free(fresh.bytes);
  if (status == FARO_OK && a->settings->found)
    status = faro_fail(error, FARO_INVALID,
                       "--found is for a start that founds a campaign, but the database holds %s already: "
                       "start without it",
                       a->campaign.id);
  return status == FARO_OK ? faro_campaign_same(a->settings, &a->document, &a->kept, error) : status;
}

static const char *const shuffler_label[] = {
    "shuffler=\"0\"",  "shuffler=\"1\"",  "shuffler=\"2\"",  "shuffler=\"3\"",  "shuffler=\"4\"",
    "shuffler=\"5\"",  "shuffler=\"6\"",  "shuffler=\"7\"",  "shuffler=\"8\"",  "shuffler=\"9\"",
    "shuffler=\"10\"", "shuffler=\"11\"", "shuffler=\"12\"", "shuffler=\"13\"", "shuffler=\"14\"",
    "shuffler=\"15\"", "shuffler=\"16\"", "shuffler=\"17\"", "shuffler=\"18\"", "shuffler=\"19\""};
_Static_assert(sizeof shuffler_label / sizeof *shuffler_label == FARO_SHUFFLERS_MAX, "one for each");

static void set_metrics(faro_analyzer *a) {
  static const char *const result[FARO_RECEIPTS] = {[FARO_RECEIPT_TAKEN] = "result=\"taken\"",
                                                    [FARO_RECEIPT_KNOWN] = "result=\"known\"",
                                                    [FARO_RECEIPT_BAD] = "result=\"bad\"",
                                                    [FARO_RECEIPT_UNASKED] = "result=\"unasked\"",
                                                    [FARO_RECEIPT_FULL] = "result=\"full\""};
  analyzer_metrics *m = &a->metrics;
  for (size_t i = 0; i < FARO_RECEIPTS; i++)
    m->receipt[i] = faro_metrics_counter(m->all, "faro_analyzer_batches_total", result[i],
                                         "Batches that arrived, by what happened to them.");
  m->applied =
      faro_metrics_counter(m->all, "faro_analyzer_applied_total", "", "Batches applied since the start.");
  m->reports = faro_metrics_counter(m->all, "faro_analyzer_reports_total", "", "Reports in them.");
  m->spoiled = faro_metrics_counter(m->all, "faro_analyzer_spoiled_total", "",
                                    "Sealed reports that could not be used and counted as zero.");
  m->failures = faro_metrics_counter(m->all, "faro_analyzer_store_failures_total", "",
                                     "Attempts to keep or apply a batch that failed.");
  m->version =
      faro_metrics_gauge(m->all, "faro_analyzer_policy_version", "", "Version of the published policy.");
  m->charged =
      faro_metrics_gauge(m->all, "faro_analyzer_ledger_charged", "", "Releases charged to the ledger.");
  m->allowed = faro_metrics_gauge(m->all, "faro_analyzer_ledger_allowed", "",
                                  "Releases that the budget allows in all.");
  m->seconds =
      faro_metrics_seconds(m->all, "faro_analyzer_apply_seconds", "", "Time to apply a batch and commit it.");
  m->since = faro_metrics_gauge(m->all, "faro_analyzer_last_batch_seconds", "",
                                "Seconds since a batch was applied, or since the start.");
  m->waiting = faro_metrics_gauge(m->all, "faro_analyzer_batches_waiting", "",
                                  "Batches that are here and not applied yet.");
  for (size_t i = 0; i < a->campaign.shufflers; i++)
    m->heard[i] = faro_metrics_gauge(m->all, "faro_shuffler_reachable", shuffler_label[i],
                                     "1 if the shuffler was heard of within 20 seconds, 0 if not.");
  m->standby = faro_metrics_gauge(m->all, "faro_analyzer_standby", "", "1: a standby; 0: the analyzer.");
  m->epoch = faro_metrics_gauge(m->all, "faro_analyzer_epoch", "", "How often a standby has taken over.");
  faro_metric_set(m->epoch, (double)a->epoch);
  if (a->worker.copies)
    m->confirmed = faro_metrics_gauge(m->all, "faro_standby_confirmed_seconds", "",
                                      "Seconds since the standby confirmed that it has the newest state.");
  faro_disk_init(&m->disk, m->all);
  faro_metric_set(m->allowed, (double)faro_campaign_batches(&a->campaign));
}

static bool is_archived(const faro_analyzer *a) { return a->served.life == FARO_LIFE_ARCHIVED; }

/* Reads the state of an existing campaign. A database of an archived one is only read from now on,
 * and may be on a disk that cannot be written to. */
static faro_status find_life(faro_analyzer *a, faro_error *error) {
  faro_store *store = NULL;
  a->served.life = FARO_LIFE_OPEN;
  bool there = false;
  faro_status status = faro_store_there(faro_analyzer_database(a->settings), &there, error);
  if (status != FARO_OK || !there) return status;
  status = faro_store_open(&store, faro_analyzer_database(a->settings), FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_store_life(store, &a->served.life, error);
  faro_store_close(store);
  return status;
}

/* The batch that the database expects next is the open one of the intake, or waits there. If it is
 * neither, one of the two files is an old copy, and no report would ever be accepted. */
static faro_status check_intake(const faro_analyzer *a, const faro_spool *spool, const char *path,
                                faro_error *error) {
  unsigned char hash[FARO_DIGEST_BYTES];
  uint64_t next = 0;
  const faro_spool_state intake = faro_spool_snapshot(spool);
  const faro_status status = faro_store_next(a->worker.store, 0, &next, hash, error);
  if (status != FARO_OK) return status;
  if (next < intake.first)
    return faro_fail(error, FARO_INVALID,
                     "%s expects batch %" PRIu64 ", but %s has handed over all batches before %" PRIu64
                     "; was an old copy of the database restored?",
                     a->settings->database, next, faro_path_end(path), intake.first);
  if (next > intake.number)
    return faro_fail(error, FARO_INVALID,
                     "%s collects batch %" PRIu64 ", but %s has all batches before %" PRIu64
                     "; was an old copy of the intake restored?",
                     path, intake.number, faro_path_end(a->settings->database), next);
  return FARO_OK;
}

/* For releases without a shuffler. */
static faro_status open_intake(faro_analyzer *a, faro_error *error) {
  char path[FARO_PATH_SIZE + 8];
  faro_spool *spool = NULL;
  if (faro_campaign_form(&a->campaign) != FARO_WIRE_DIRECT || is_archived(a)) return FARO_OK;
  snprintf(path, sizeof path, "%s.intake", a->settings->database);
  const faro_spool_params params = {.path = path,
                                    .database = a->settings->server,
                                    .tokens = a->settings->tokens,
                                    .campaign = &a->campaign,
                                    .known = a->kept};
  faro_status status = faro_spool_open(&spool, &params, error);
  if (status != FARO_OK) return status;
  status = check_intake(a, spool, path, error);
  if (status == FARO_OK)
    status = faro_intake_create(&a->intake, spool, &a->campaign, 0, a->metrics.all, error);
  if (status != FARO_OK) faro_spool_close(spool);
  return status;
}

/* In phases, loading the applier's state adds the plans so far. */
static faro_status open_plans(faro_analyzer *a, faro_error *error) {
  return faro_campaign_in_phases(&a->campaign) ? faro_plans_create(&a->campaign.plans, FARO_PLANS_MAX, error)
                                               : FARO_OK;
}

/* A start after spoiled batches pauses too: the one before may have ended before it could. */
static faro_status find_spoiled(faro_analyzer *a, faro_error *error) {
  if (!faro_campaign_is_split(&a->campaign)) return FARO_OK;
  const faro_status status = faro_store_spoiled_run(a->worker.store, &a->served.spoiled, error);
  a->worker.alarmed =
      a->served.spoiled >= FARO_SPOILED_MOST && !faro_applier_snapshot(a->worker.applier).done;
  return status;
}

static faro_status find_epoch(faro_analyzer *a, faro_error *error) {
  const faro_status status = faro_store_epoch(a->worker.store, &a->epoch, &a->served.seen, error);
  a->worker.kept_seen = a->served.seen;
  return status;
}

/* From now on a standby sees each change before it is made. */
static faro_status open_copies(faro_analyzer *a, faro_error *error) {
  if (*a->settings->standby.url == '\0' || is_archived(a)) return FARO_OK;
  return faro_copies_create(&a->worker.copies, a->settings, &a->campaign, a->keys.sign.public_key, error);
}

static faro_status open_state(faro_analyzer *a, faro_error *error) {
  const char *database = faro_analyzer_database(a->settings);
  analyzer_worker *worker = &a->worker;
  faro_status status = faro_analyzer_keys_load(a->settings, &a->keys, error);
  if (status == FARO_OK) status = find_life(a, error);
  if (status == FARO_OK)
    status =
        faro_store_open(&worker->store, database, is_archived(a) ? FARO_READ_ONLY : FARO_READ_WRITE, error);
  if (status == FARO_OK) status = set_campaign(a, error);
  if (status == FARO_OK) status = faro_store_move(worker->store, &a->move, error);
  if (status == FARO_OK)
    status = faro_store_keep_keys(worker->store, a->settings->database, &a->campaign, error);
  if (status == FARO_OK) status = open_plans(a, error);
  if (status == FARO_OK)
    status = faro_applier_create(&worker->applier, worker->store, &a->campaign, &a->keys, error);
  if (status == FARO_OK)
    status = faro_applied_check(a->settings->database, faro_applier_snapshot(worker->applier).batches, error);
  if (status == FARO_OK) status = faro_store_fenced(worker->store, &a->served.fenced, error);
  if (status == FARO_OK) status = find_epoch(a, error);
  if (status == FARO_OK) status = find_spoiled(a, error);
  if (status == FARO_OK && a->served.fenced && a->campaign.shufflers == 0)
    status =
        faro_fail(error, FARO_INVALID,
                  "%s is a copy of a database, and this campaign has no shuffler that could say whether it "
                  "is the newest state; only a copy by `faro backup --final` can go on",
                  faro_store_name(database));
  if (status == FARO_OK) status = faro_store_open(&a->reader.store, database, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_metrics_create(&a->metrics.all, error);
  if (status != FARO_OK) return status;
  faro_health_init(&a->health, a->metrics.all);
  faro_peers_init(&a->peers, &faro_peers_shufflers, a->campaign.shufflers, faro_clock());
  a->peers.epoch = a->epoch;
  status = open_copies(a, error);
  if (status == FARO_OK) status = open_intake(a, error);
  if (status == FARO_OK && !a->kept) status = faro_campaign_keep(a->settings, &a->document, error);
  return status;
}

static faro_status begin(faro_analyzer *a, faro_error *error) {
  set_metrics(a);
  faro_analyzer_set_routes(a, faro_http_open(&a->settings->http));
  a->served.status = (faro_analyzer_status){.campaign = &a->campaign,
                                            .signer = a->keys.sign.public_key,
                                            .constant = a->settings->constant,
                                            .health = &a->health,
                                            .peers = &a->peers,
                                            .life = a->served.life,
                                            .applied = {.start = faro_clock()}};
  if (a->intake) faro_http_spare_also(a->http, faro_wire_report_size(&a->campaign));
  else faro_http_make_room(a->http, faro_applier_frame(&a->campaign));
  a->served.unseen = a->worker.copies != NULL;
  const faro_status status = faro_analyzer_publish(a, false, error);
  if (status != FARO_OK || is_archived(a)) return status;
  return faro_analyzer_start_worker(a, error);
}

faro_status faro_analyzer_start(faro_analyzer **analyzer, const faro_analyzer_settings *settings,
                                faro_http *http, faro_error *error) {
  faro_analyzer *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer");
  made->settings = settings;
  made->http = http;
  pthread_mutex_init(&made->served.mutex, NULL);
  pthread_cond_init(&made->served.work, NULL);
  pthread_cond_init(&made->served.done, NULL);
  pthread_mutex_init(&made->reader.mutex, NULL);
  faro_status status = open_state(made, error);
  if (status == FARO_OK) status = begin(made, error);
  if (status == FARO_OK) *analyzer = made;
  else faro_analyzer_stop(made);
  return status;
}

void faro_analyzer_reload(faro_analyzer *a) {
  if (a->intake) faro_reload_tokens(a->intake, a->settings->tokens);
}

bool faro_analyzer_must_end(const faro_analyzer *analyzer) {
  return faro_store_replaced(analyzer->worker.store);
}

const faro_http_service *faro_analyzer_service(const faro_analyzer *analyzer) { return &analyzer->service; }
const faro_http_service *faro_analyzer_admin(const faro_analyzer *analyzer) { return &analyzer->admin; }

void faro_analyzer_close(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  a->served.closing = true;
  pthread_mutex_unlock(&a->served.mutex);
}

void faro_analyzer_stop(faro_analyzer *analyzer) {
  faro_analyzer *a = analyzer;
  if (!a) return;
  faro_analyzer_stop_worker(a);
  faro_intake_destroy(a->intake);
  faro_store_close(a->reader.store);
  free(a->reader.ledger.text);
  free(a->reader.status.text);
  faro_applier_destroy(a->worker.applier);
  faro_copies_destroy(a->worker.copies);
  faro_plans_destroy(a->campaign.plans);
  faro_store_close(a->worker.store);
  if (a->metrics.all) { /* then these were made too */
    faro_peers_clear(&a->peers);
    faro_health_clear(&a->health);
  }
  faro_metrics_destroy(a->metrics.all);
  free(a->served.policy);
  free(a->document.bytes);
  free(a->move.bytes);
  sodium_memzero(&a->keys, sizeof a->keys);
  pthread_cond_destroy(&a->served.work);
  pthread_cond_destroy(&a->served.done);
  pthread_mutex_destroy(&a->reader.mutex);
  pthread_mutex_destroy(&a->served.mutex);
  free(a);
}
