/* analyzer_worker: the thread that keeps batches, applies them and publishes policies. See
 * analyzer_inner.h. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/analyzer/analyzer_inner.h"
#include "service/analyzer/applied.h"
#include "service/role/log.h"
#include "wire/split.h"

static const double ANSWER = 60;         /* seconds that an operator waits for the worker */
static const double RETRY = 1, LOOK = 5; /* seconds between attempts, and between looks at the health */

static const double TELL = 2;    /* seconds after which a standby is told that the analyzer lives */
static const double VERIFY = 20; /* seconds between looks for damage */

/* Publishing. */

static void set_plan(const faro_analyzer *a, faro_analyzer_status *status) {
  const faro_plan_row *row = NULL;
  const faro_plan_document *plan = faro_learning_plan(faro_applier_learning(a->worker.applier), &row);
  if (!plan) return;
  status->plan.phase = plan->phase;
  status->plan.best = plan->best;
  status->plan.left = plan->left;
  status->plan.size = plan->size;
  status->plan.arms = plan->arms;
  status->plan.arm = plan->play[0].arm;
}

faro_status faro_analyzer_publish(faro_analyzer *a, bool news, faro_error *error) {
  const faro_applier_view view = faro_applier_snapshot(a->worker.applier);
  char *policy = malloc(view.length);
  if (!policy) return faro_fail(error, FARO_MEMORY, "cannot allocate a policy");
  memcpy(policy, view.policy, view.length);
  faro_metric_set(a->metrics.version, (double)view.version);
  faro_metric_set(a->metrics.charged, (double)view.batches);
  a->worker.published = view.version;
  analyzer_served *served = &a->served;
  pthread_mutex_lock(&served->mutex);
  free(served->policy);
  served->policy = policy;
  served->length = view.length;
  served->status.version = view.version;
  set_plan(a, &served->status);
  faro_analyzer_tag(policy, view.length, served->etag);
  if (news) faro_rate_mark(&served->status.applied, faro_clock());
  if (news && !served->closing) faro_http_wake(a->http);
  pthread_mutex_unlock(&served->mutex);
  return FARO_OK;
}

static bool is_stalled(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const bool stalled = *a->served.stalled != '\0';
  pthread_mutex_unlock(&a->served.mutex);
  return stalled;
}

static void set_stalled(faro_analyzer *a, bool stalled, const char *event, const faro_error *error) {
  char text[FARO_ILL_TEXT] = "";
  if (stalled)
    snprintf(text, sizeof text, "a batch cannot be kept or applied: %.300s",
             *error->message ? faro_health_words(error) : event);
  pthread_mutex_lock(&a->served.mutex);
  memcpy(a->served.stalled, text, sizeof text);
  pthread_mutex_unlock(&a->served.mutex);
  if (!stalled) return;
  faro_metric_add(a->metrics.failures, 1);
  faro_log_error(event, error);
}

static void tell_applied(faro_analyzer *a, double seconds) {
  const faro_applier_view view = faro_applier_snapshot(a->worker.applier);
  faro_metric_add(a->metrics.applied, 1);
  faro_metric_add(a->metrics.reports, faro_campaign_size(&a->campaign, 0, view.batches - 1));
  faro_metric_add(a->metrics.spoiled, view.spoiled);
  faro_metric_observe(a->metrics.seconds, seconds);
  faro_log(FARO_LOG_INFO, "batch-applied", "sI sI sI sI", "batch", (json_int_t)view.batches - 1, "version",
           (json_int_t)view.version, "allowed", (json_int_t)faro_campaign_batches(&a->campaign), "spoiled",
           (json_int_t)view.spoiled);
  if (view.done) faro_log(FARO_LOG_INFO, "budget-used-up", "sI", "batches", (json_int_t)view.batches);
}

/* Removes applied sealed bodies from the database's log too: at once, or as soon as no process
 * reads the file. `purge` is faro_store_purge or faro_store_retry_purge. Totals of bits may stay.
 * True if nothing is left to purge. */
static bool purge_log(faro_analyzer *a, faro_status (*purge)(faro_store *, faro_error *)) {
  faro_error error = {0};
  if (faro_campaign_form(&a->campaign) == FARO_WIRE_BITS) return true;
  if (purge(a->worker.store, &error) != FARO_OK) faro_log_error("log-not-emptied", &error);
  const bool needed = faro_store_needs_purge(a->worker.store);
  pthread_mutex_lock(&a->served.mutex);
  a->served.needs_purge = needed;
  pthread_mutex_unlock(&a->served.mutex);
  return !needed;
}

/* A number that could not be written is written after the next batch. */
static void keep_number(faro_analyzer *a) {
  faro_error error = {0};
  const uint64_t batches = faro_applier_snapshot(a->worker.applier).batches;
  if (faro_applied_keep(a->settings->database, batches, &error) != FARO_OK)
    faro_log_error("number-not-kept", &error);
}

/* After a batch could not be kept: tries whether there is room for it now. Its shuffler may come
 * back late, or not before the analyzer is healthy. */
static bool can_keep(faro_analyzer *a) {
  faro_error error = {0};
  if (a->worker.unkept == 0) return true;
  const bool room = faro_store_probe(a->worker.store, a->worker.unkept, &error) == FARO_OK;
  if (room) a->worker.unkept = 0;
  set_stalled(a, !room, "batch-not-kept", &error);
  return room;
}

/* The campaign's life. The worker alone changes it, between two batches. */

faro_life faro_analyzer_life(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const faro_life life = a->served.life;
  pthread_mutex_unlock(&a->served.mutex);
  return life;
}

static void take_life(faro_analyzer *a, faro_life life) {
  pthread_mutex_lock(&a->served.mutex);
  const bool news = a->served.life != life;
  a->served.life = a->served.status.life = life;
  pthread_mutex_unlock(&a->served.mutex);
  if (news)
    faro_log(FARO_LOG_INFO, "campaign-is", "ss ss ss", "state", faro_life_name(life), "id", a->campaign.id,
             "by", a->worker.by);
}

/* A change that failed may have been kept all the same: a server's answer can be lost. What the
 * database says counts, and until it is known nothing is applied. */
static void settle_life(faro_analyzer *a) {
  faro_life life = FARO_LIFE_OPEN;
  if (!a->worker.unsettled || faro_store_life(a->worker.store, &life, NULL) != FARO_OK) return;
  a->worker.unsettled = false;
  take_life(a, life);
}

static faro_status set_life(faro_analyzer *a, faro_life life, const char *by, faro_error *error) {
  faro_error why = {0};
  snprintf(a->worker.by, sizeof a->worker.by, "%s", by);
  const faro_status status = faro_store_live(a->worker.store, life, &why);
  if (status == FARO_OK) take_life(a, life);
  a->worker.unsettled = status != FARO_OK;
  settle_life(a);
  if (!a->worker.unsettled && faro_analyzer_life(a) == life) return FARO_OK;
  return faro_fail(error, status, "%s", why.message);
}

/* Does what an operator wants. */
static void obey(faro_analyzer *a) {
  faro_error why = {0};
  faro_life after = FARO_LIFE_OPEN;
  pthread_mutex_lock(&a->served.mutex);
  const char *verb = a->served.verb;
  const char *by = a->served.by;
  const faro_life now = a->served.life;
  a->served.taken = verb != NULL;
  pthread_mutex_unlock(&a->served.mutex);
  if (!verb) return;
  faro_status status = faro_life_after(now, verb, &after, &why);
  if (status == FARO_OK) status = set_life(a, after, by, &why);
  pthread_mutex_lock(&a->served.mutex);
  a->served.verb = NULL;
  a->served.taken = false;
  a->served.answer = status;
  a->served.why = why;
  pthread_cond_broadcast(&a->served.done);
  pthread_mutex_unlock(&a->served.mutex);
}

/* Waits until the worker has answered. False: it was busy for too long, and the verb is withdrawn.
 * Once it has taken the verb, the change is made, so the answer is waited for: nobody may hear
 * "busy" of a change that comes after all. Call it under the mutex. */
static bool wait_for_answer(analyzer_served *served) {
  const struct timespec until = faro_clock_after(ANSWER);
  int waited = 0;
  while (served->verb && waited == 0)
    waited = pthread_cond_clockwait(&served->done, &served->mutex, CLOCK_MONOTONIC, &until);
  while (served->verb && served->taken) pthread_cond_wait(&served->done, &served->mutex);
  const bool answered = !served->verb;
  served->verb = NULL;
  return answered;
}

faro_status faro_analyzer_change(faro_analyzer *a, const char *verb, const char *by, faro_error *error) {
  faro_life after = FARO_LIFE_OPEN;
  analyzer_served *served = &a->served;
  if (!a->worker.started) return faro_life_after(faro_analyzer_life(a), verb, &after, error);
  pthread_mutex_lock(&served->mutex);
  served->verb = verb;
  served->by = by;
  pthread_cond_signal(&served->work);
  const bool answered = wait_for_answer(served);
  const faro_status status = answered ? served->answer : FARO_SYSTEM;
  if (error && answered) *error = served->why;
  const bool archived = served->life == FARO_LIFE_ARCHIVED;
  pthread_mutex_unlock(&served->mutex);
  if (!answered) return faro_fail(error, FARO_SYSTEM, "the campaign is busy; try again later");
  if (archived) faro_analyzer_stop_worker(a);
  return status;
}

/* Whether batches and reports are used now. */
static bool is_fenced(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const bool fenced = a->served.fenced || a->served.seen > a->epoch;
  pthread_mutex_unlock(&a->served.mutex);
  return fenced || faro_store_replaced(a->worker.store);
}

/* Lifts the fence of a restored copy as soon as all shufflers agree that it is the newest state. */
static void try_to_lift(faro_analyzer *a) {
  faro_error error = {0};
  if (!is_fenced(a) || faro_analyzer_is_replaced(a) || !faro_peers_agree(&a->peers)) return;
  const faro_status status = faro_store_lift(a->worker.store, &error);
  if (status != FARO_OK) {
    faro_log_error("fence-not-lifted", &error);
    return;
  }
  pthread_mutex_lock(&a->served.mutex);
  a->served.fenced = false;
  pthread_mutex_unlock(&a->served.mutex);
  faro_log(FARO_LOG_INFO, "fence-lifted", NULL);
}

/* A database in a server: the connections are used every two seconds, or made again. The handlers'
 * comes after ours, which has confirmed what is in the database. */
static void tend_store(faro_analyzer *a) {
  faro_error error = {0};
  if (*a->settings->server == '\0' || faro_clock() < a->worker.tend_at) return;
  a->worker.tend_at = faro_clock() + TELL;
  faro_status status = faro_store_ready(a->worker.store, &error);
  if (status != FARO_OK) return;
  if (pthread_mutex_trylock(&a->reader.mutex) != 0) return; /* a handler reads: the next time is soon */
  status = faro_store_ready(a->reader.store, &error);
  pthread_mutex_unlock(&a->reader.mutex);
  if (status != FARO_OK) faro_log_error("cannot-look", &error);
}

void faro_analyzer_tend(faro_analyzer *a) {
  if (a->worker.started) return;
  tend_store(a);
  (void)purge_log(a, faro_store_retry_purge);
}

/* The standby. */

/* Another analyzer has taken over: this one remembers it. */
static void keep_epoch(faro_analyzer *a) {
  faro_error error = {0};
  pthread_mutex_lock(&a->served.mutex);
  const uint64_t seen = a->served.seen;
  pthread_mutex_unlock(&a->served.mutex);
  if (seen <= a->worker.kept_seen) return;
  if (faro_store_see_epoch(a->worker.store, seen, &error) != FARO_OK) {
    faro_log_error("epoch-not-kept", &error);
    return;
  }
  a->worker.kept_seen = seen;
  faro_log(FARO_LOG_ERROR, "replaced", "sI sI", "epoch", (json_int_t)seen, "own", (json_int_t)a->epoch);
  pthread_mutex_lock(&a->served.mutex);
  if (!a->served.closing) faro_http_wake(a->http); /* those that wait for a policy ask elsewhere */
  pthread_mutex_unlock(&a->served.mutex);
}

/* What the standby has answered. */
static void note_answer(faro_analyzer *a, faro_status status, const faro_error *error) {
  char text[FARO_ILL_TEXT] = "";
  const uint64_t epoch = faro_copies_epoch(a->worker.copies);
  a->worker.away = status != FARO_OK;
  if (status == FARO_OK) a->worker.confirmed = faro_clock();
  else
    snprintf(text, sizeof text, "no batch is taken or applied until the standby has a copy of it: %.300s",
             error->message);
  faro_health_set(&a->health, FARO_ILL_STANDBY, text);
  pthread_mutex_lock(&a->served.mutex);
  if (epoch > a->served.seen) a->served.seen = epoch;
  pthread_mutex_unlock(&a->served.mutex);
}

/* The store's witness. */
static faro_status show_standby(void *context, const unsigned char *image, size_t length, faro_error *error) {
  faro_analyzer *a = context;
  faro_error why = {0};
  const faro_status status = faro_copies_send(a->worker.copies, image, length, &why);
  note_answer(a, status, &why);
  pthread_mutex_lock(&a->served.mutex);
  if (status == FARO_OK) a->served.unseen = false;
  pthread_mutex_unlock(&a->served.mutex);
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "standby: %.300s", why.message);
}

/* Says that the analyzer lives, and sends the state as it is if the standby has another one. A copy
 * that is fenced may be old, and is not sent. */
static void tell_standby(faro_analyzer *a) {
  faro_error error = {0};
  bool holds = false;
  if (!a->worker.copies || is_fenced(a)) return;
  if (!a->worker.away && faro_clock() - a->worker.confirmed < TELL) return;
  faro_status status = faro_copies_greet(a->worker.copies, &holds, &error);
  if (status == FARO_OK && !holds) status = faro_store_show(a->worker.store, &error);
  note_answer(a, status, &error);
}

/* Batches whose totals cannot be cost budget and teach nothing, and one client can spoil every one.
 * So after a few in a row the campaign pauses itself, and after `resume` at each further one.
 * Nothing is applied before that is durable. */

static void count_spoiled(faro_analyzer *a) {
  const faro_applier_view view = faro_applier_snapshot(a->worker.applier);
  if (!faro_campaign_is_split(&a->campaign)) return;
  pthread_mutex_lock(&a->served.mutex);
  const uint64_t spoiled = a->served.spoiled = view.spoiled > 0 ? a->served.spoiled + 1 : 0;
  pthread_mutex_unlock(&a->served.mutex);
  a->worker.alarmed = spoiled >= FARO_SPOILED_MOST && !view.done;
}

static bool pause_if_alarmed(faro_analyzer *a) {
  faro_error error = {0};
  if (!a->worker.alarmed) return true;
  if (is_fenced(a)) return false;
  if (faro_analyzer_life(a) == FARO_LIFE_OPEN &&
      set_life(a, FARO_LIFE_PAUSED, "batches-spoiled", &error) != FARO_OK) {
    faro_log_error("state-not-kept", &error);
    return false;
  }
  a->worker.alarmed = false;
  return true;
}

static bool is_open(faro_analyzer *a) {
  return faro_analyzer_life(a) == FARO_LIFE_OPEN && !a->worker.unsettled && !is_fenced(a);
}

/* The last batch ends the campaign. */
static bool end_if_done(faro_analyzer *a) {
  faro_error error = {0};
  if (!is_open(a) || !faro_applier_snapshot(a->worker.applier).done) return true;
  const bool ended = set_life(a, FARO_LIFE_FINISHED, "budget-used-up", &error) == FARO_OK;
  if (!ended) faro_log_error("state-not-kept", &error);
  return ended;
}

/* Applies all complete batches. True if nothing failed and nothing is left to come back for. */
static bool apply_all(faro_analyzer *a) {
  bool applied = true;
  bool purged = purge_log(a, faro_store_retry_purge);
  while (applied && pause_if_alarmed(a) && is_open(a) && !a->worker.away) {
    faro_error error = {0};
    const double start = faro_clock();
    const uint64_t before = faro_applier_snapshot(a->worker.applier).batches;
    faro_status status = faro_applier_step(a->worker.applier, &applied, &error);
    /* also one whose commit seemed to fail, and was found when the state was read again */
    if (faro_applier_snapshot(a->worker.applier).batches > before) {
      keep_number(a);
      count_spoiled(a);
      purged = purge_log(a, faro_store_purge);
      tell_applied(a, faro_clock() - start);
    }
    /* The version may also differ because an earlier publish failed. */
    if (status == FARO_OK && a->worker.published != faro_applier_snapshot(a->worker.applier).version)
      status = faro_analyzer_publish(a, true, &error);
    if (a->worker.away) return false; /* the health says so */
    if (status != FARO_OK || a->worker.unkept == 0)
      set_stalled(a, status != FARO_OK, "batch-not-applied", &error);
    if (status != FARO_OK) return false;
  }
  const bool open = faro_analyzer_life(a) == FARO_LIFE_OPEN;
  if (!open && a->worker.unkept == 0) set_stalled(a, false, "", NULL); /* nothing is applied any more */
  return can_keep(a) && end_if_done(a) && purged && !a->worker.unsettled && !a->worker.alarmed;
}

/* Batches from shufflers. */

static void answer_kept(faro_http_request *request, bool known) {
  const char *text = known ? "{\"kept\": true, \"known\": true}\n" : "{\"kept\": true, \"known\": false}\n";
  const faro_http_answer answer = {
      .status = 200, .type = "application/json", .bytes = text, .length = strlen(text)};
  faro_http_reply(request, &answer);
}

static void expect_batches(faro_analyzer *a, double now) {
  unsigned char hash[FARO_DIGEST_BYTES];
  for (size_t i = 0; i < a->campaign.shufflers; i++) {
    uint64_t next = 0;
    faro_error error = {0};
    if (faro_store_next(a->worker.store, (uint32_t)i, &next, hash, &error) == FARO_OK)
      faro_peers_expect(&a->peers, i, next, now);
    else faro_log_error("cannot-look", &error);
  }
}

static void receive(faro_analyzer *a, faro_http_request *request) {
  static const unsigned refusal[] = {
      [FARO_RECEIPT_BAD] = 400, [FARO_RECEIPT_UNASKED] = 409, [FARO_RECEIPT_FULL] = 503};
  faro_error error = {0};
  faro_receipt receipt = FARO_RECEIPT_BAD;
  unsigned char *body = faro_http_body(request);
  const size_t length = faro_http_length(request);
  if (faro_analyzer_refuses(a, request)) return;
  if (is_fenced(a)) {
    faro_http_refuse(request, 503,
                     faro_analyzer_is_replaced(a)
                         ? "another analyzer has taken over this campaign"
                         : "the database is a restored copy; whether it is the newest is not known yet");
    return;
  }
  if (a->worker.away) {
    faro_http_refuse(request, 503, "the standby does not answer");
    return;
  }
  const faro_status status = faro_applier_receive(a->worker.applier, body, length, &receipt, &error);
  sodium_memzero(body, length);
  if (status != FARO_OK && a->worker.away) {
    faro_http_refuse(request, 503, "the standby has not confirmed the batch");
    return;
  }
  if (status != FARO_OK) { /* most likely a full disk: the shuffler still has the batch */
    a->worker.unkept = length;
    set_stalled(a, true, "batch-not-kept", &error);
    faro_http_refuse(request, 503, "the batch cannot be stored now");
    return;
  }
  faro_metric_add(a->metrics.receipt[receipt], 1);
  if (receipt == FARO_RECEIPT_TAKEN) expect_batches(a, faro_clock()); /* before the shuffler hears of it */
  if (receipt == FARO_RECEIPT_TAKEN || receipt == FARO_RECEIPT_KNOWN) {
    answer_kept(request, receipt == FARO_RECEIPT_KNOWN);
    return;
  }
  faro_log(FARO_LOG_WARNING, "batch-refused", "ss", "reason", error.message);
  faro_http_refuse(request, refusal[receipt], error.message);
}

/* Takes what is queued. Waits for it, or until it is time to try again. False when the queue is
 * empty and the worker is to end. */
static bool take_work(faro_analyzer *a, bool again, faro_http_request *taken[static FARO_BATCH_QUEUE],
                      size_t *count) {
  analyzer_served *served = &a->served;
  const bool tells = a->worker.copies || *a->settings->server;
  const struct timespec until = faro_clock_after(again ? RETRY : tells ? TELL : LOOK);
  pthread_mutex_lock(&served->mutex);
  int waited = 0;
  while (served->queued == 0 && !served->ending && !served->verb && waited == 0)
    waited = pthread_cond_clockwait(&served->work, &served->mutex, CLOCK_MONOTONIC, &until);
  *count = served->queued;
  memcpy(taken, served->queue, served->queued * sizeof *served->queue);
  served->queued = 0;
  const bool go_on = *count > 0 || !served->ending;
  pthread_mutex_unlock(&served->mutex);
  return go_on;
}

/* At the health, and now and then for damage. */
static void look(faro_analyzer *a) {
  uint64_t waiting = 0;
  if (faro_clock() >= a->worker.verify_at) {
    faro_store_verify(a->worker.store);
    a->worker.verify_at = faro_clock() + VERIFY;
  }
  if (faro_store_waits(a->worker.store, &waiting, NULL) == FARO_OK)
    faro_metric_set(a->metrics.waiting, (double)waiting);
  if (a->worker.confirmed > 0) faro_metric_set(a->metrics.confirmed, faro_clock() - a->worker.confirmed);
  (void)faro_analyzer_is_healthy(a, false, NULL);
}

static void *work(void *context) {
  faro_analyzer *a = context;
  faro_log_campaign(a->worker.logged);
  faro_http_request *taken[FARO_BATCH_QUEUE];
  size_t count = 0;
  tell_standby(a);
  bool well = apply_all(a) && !is_fenced(a); /* batches that came before a restart */
  while (take_work(a, !well, taken, &count)) {
    keep_epoch(a);
    tell_standby(a);
    tend_store(a);
    settle_life(a);
    obey(a);
    try_to_lift(a);
    for (size_t i = 0; i < count; i++) receive(a, taken[i]);
    well = apply_all(a) && !is_fenced(a);
    look(a);
  }
  keep_epoch(a);
  return NULL;
}

/* Batches from the analyzer's own intake. */

/* Moves a batch from the intake to the store. */
static void take_own(faro_analyzer *a, faro_batch *batch) {
  faro_error error = {0};
  faro_receipt receipt = FARO_RECEIPT_BAD;
  const uint64_t number = batch->number;
  faro_status status = faro_applier_take(a->worker.applier, batch, &receipt, &error);
  faro_intake_wipe(a->intake, batch);
  if (status == FARO_OK) {
    faro_metric_add(a->metrics.receipt[receipt], 1);
    if (receipt == FARO_RECEIPT_FULL || receipt == FARO_RECEIPT_UNASKED) status = error.status;
    else status = faro_intake_forget(a->intake, number, &error);
  }
  set_stalled(a, status != FARO_OK, "batch-not-kept", &error);
}

static bool is_ending(faro_analyzer *a) {
  pthread_mutex_lock(&a->served.mutex);
  const bool ending = a->served.ending;
  pthread_mutex_unlock(&a->served.mutex);
  return ending;
}

static void *work_on_intake(void *context) {
  faro_analyzer *a = context;
  faro_log_campaign(a->worker.logged);
  bool well = apply_all(a);
  while (!is_ending(a)) {
    faro_batch batch = {0};
    faro_error error = {0};
    tend_store(a);
    settle_life(a);
    obey(a);
    const bool takes = faro_analyzer_takes(a);
    const faro_status status = takes ? faro_intake_next(a->intake, 0.2, &batch, &error) : FARO_OK;
    if (!takes) faro_sleep(0.05);
    if (status != FARO_OK) set_stalled(a, true, "batch-not-read", &error);
    else if (batch.count > 0) take_own(a, &batch);
    if (!well || is_stalled(a)) faro_sleep(0.2);
    well = apply_all(a);
    look(a);
  }
  return NULL;
}

faro_status faro_analyzer_start_worker(faro_analyzer *a, faro_error *error) {
  analyzer_worker *worker = &a->worker;
  worker->logged = faro_log_campaign_now();
  const faro_store_witness witness = {.see = show_standby, .context = a};
  if (worker->copies) faro_store_set_witness(worker->store, &witness);
  expect_batches(a, 0);
  worker->started = pthread_create(&worker->thread, NULL, a->intake ? work_on_intake : work, a) == 0;
  return worker->started ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot start a thread");
}

void faro_analyzer_stop_worker(faro_analyzer *a) {
  if (!a->worker.started) return;
  pthread_mutex_lock(&a->served.mutex);
  a->served.ending = true;
  pthread_cond_signal(&a->served.work);
  pthread_mutex_unlock(&a->served.mutex);
  pthread_join(a->worker.thread, NULL);
  a->worker.started = false;
}
