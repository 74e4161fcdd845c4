/* intake: see the header.
 *
 *   server's threads:  read -> park -> queue; or answer, if no report has a known token
 *   writer:            take the queue -> begin, accept ..., commit -> answer
 *
 * So posts of strangers never reach the writer.
 *
 * After a write has failed, the writer tries a write of its own once a second until one succeeds.
 * A load balancer that sends no reports to an unhealthy role must not keep it unhealthy. */
#include "service/role/intake.h"

#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/http/limiter.h"
#include "service/role/log.h"
#include "service/role/tallies.h"

enum {
  GROUP_MAX = 20000,      /* reports in a transaction */
  QUEUE_BYTES = 64 << 20, /* bytes of waiting posts */
  STACK = 16 << 10        /* bytes of the writer's stack that are wiped after a transaction */
};
/* A client that was refused more often than this gets 429 until it has kept still for a while. */
static const double REFUSALS_BURST = 100;
static const double REFUSALS_RATE = 1; /* forgiven per second */
static const double PROBE = 1;         /* seconds between writes that only try the disk */
static const double VERIFY = 20;       /* seconds between looks for damage */

typedef struct post {
  faro_http_request *request;
  double since;
  size_t count;
  struct post *next;
  faro_spool_entry entry[];
} post;

struct faro_intake {
  faro_spool *spool;
  const faro_campaign *campaign;
  size_t shuffler, frame;
  const char *logged; /* the campaign in lines of the log */
  pthread_t writer;
  bool running;
  faro_limiter *refusals;                          /* by token hash */
  atomic_uint_fast64_t limited;                    /* counted like the hidden ones below, but by any thread */
  atomic_uint_fast64_t posts[FARO_STATUS_CLASSES]; /* posts with such reports, by the class of their answer */
  _Atomic(faro_metric *) answers[FARO_STATUS_CLASSES]; /* the server's counters for these */
  pthread_mutex_t store;                               /* guards the spool */
  atomic_bool wanted;                                  /* the writer waits for the store */
  pthread_mutex_t mutex;                               /* guards the members below, up to `state` */
  pthread_cond_t work, closed;
  post *first, **last;
  size_t bytes;
  bool stop;
  bool writes; /* the last write succeeded */
  faro_spool_state state;
  faro_metric *batches, *waiting, *failures;
  faro_tallies tallies; /* the writer's */
  uint64_t counted;     /* the writer's: closed batches that are in the metrics */
  uint64_t reports;     /* the writer's: and their reports, if the spool is shared */
  double verify_at;     /* the writer's: when the file is read anew */
  double probe_at;      /* the writer's: not before this is the disk tried again */
};

static const char *const reason[] = {
#define X(name, label, text) text,
    FARO_VERDICT_LIST(X)
#undef X
};

/* In the server's threads. */

static void read_entry(const faro_intake *in, const unsigned char *frame, faro_spool_entry *entry) {
  faro_wire_report report;
  faro_error error = {0};
  entry->verdict = FARO_VERDICT_CAMPAIGN;
  if (!faro_wire_report_is_for(in->campaign, frame)) return;
  entry->verdict = FARO_VERDICT_MALFORMED;
  if (faro_wire_report_read(in->campaign, frame, in->frame, &report, &error) != FARO_OK) return;
  if (report.shuffler != in->shuffler) return;
  faro_token_hash(report.token, entry->hash);
  sodium_memzero(report.token, sizeof report.token);
  size_t collector = 0, collectors = 0;
  entry->verdict = FARO_VERDICT_ELSEWHERE;
  if (!faro_spool_collects(in->spool, entry->hash, &collector, &collectors)) return;
  entry->verdict = FARO_VERDICT_ACCEPTED;
  entry->version = report.version;
  entry->sequence = report.sequence;
  entry->body = report.body;
}

/* Whether any report is left for the writer to judge. */
static bool read_entries(const faro_intake *in, const unsigned char *body, post *p) {
  bool any = false;
  for (size_t i = 0; i < p->count; i++) read_entry(in, body + i * in->frame, &p->entry[i]);
  faro_spool_admit(in->spool, p->entry, p->count);
  for (size_t i = 0; i < p->count; i++) {
    faro_spool_entry *e = &p->entry[i];
    if (e->verdict != FARO_VERDICT_ACCEPTED) continue;
    if (faro_limiter_over(in->refusals, e->hash, FARO_HASH_BYTES, 0)) e->verdict = FARO_VERDICT_LIMITED;
    else any = true;
  }
  if (any) faro_spool_mark(in->spool, p->entry, p->count);
  return any;
}

static bool enqueue(faro_intake *in, post *p) {
  pthread_mutex_lock(&in->mutex);
  const size_t length = faro_http_length(p->request);
  const bool room = in->bytes + length <= QUEUE_BYTES && !in->stop;
  if (room) {
    faro_http_park(p->request);
    in->bytes += length;
    *in->last = p;
    in->last = &p->next;
    pthread_cond_signal(&in->work);
  }
  pthread_mutex_unlock(&in->mutex);
  return room;
}

/* Answers. */

static unsigned status_of(faro_verdict verdict, bool over) {
  if (verdict == FARO_VERDICT_MALFORMED) return 400;
  if (verdict == FARO_VERDICT_TOKEN) return 401;
  if (verdict == FARO_VERDICT_LIMITED) return 429;
  if (verdict == FARO_VERDICT_ELSEWHERE) return 421;
  return verdict == FARO_VERDICT_CLOSED && !over ? 503 : 409;
}

/* Records how long posts took, up to `end`. Only posts with an accepted report count. */
static void time_posts(faro_intake *in, const post *p, const post *end) {
  const double now = faro_clock();
  for (; p != end; p = p->next) {
    bool any = false;
    for (size_t i = 0; i < p->count; i++) any = any || p->entry[i].verdict <= FARO_VERDICT_KNOWN;
    if (any) faro_tallies_time(&in->tallies, now - p->since);
  }
}

/* Counts the refusals of a client for what it should have known. */
static void count_refusal(faro_intake *in, const faro_spool_entry *e) {
  const bool its_fault = e->verdict == FARO_VERDICT_TWICE || e->verdict == FARO_VERDICT_SPENT ||
                         e->verdict == FARO_VERDICT_STALE || e->verdict == FARO_VERDICT_REPLAY;
  if (its_fault) (void)faro_limiter_over(in->refusals, e->hash, FARO_HASH_BYTES, 1);
}

/* A post with a known token that the writer never sees: take_limited counts it. */
static void note_limited(faro_intake *in, faro_http_request *request, unsigned status) {
  atomic_store(&in->answers[status / 100], faro_http_uncounted(request, status));
  atomic_fetch_add(&in->posts[status / 100], 1);
}

/* All reports of a post are refused for the same reason. */
static void refuse(const faro_intake *in, faro_http_request *request, unsigned status,
                   const faro_spool_entry *first) {
  char text[128];
  size_t collector = 0, collectors = 0;
  snprintf(text, sizeof text, "%s", reason[first->verdict]);
  if (first->verdict == FARO_VERDICT_ELSEWHERE &&
      !faro_spool_collects(in->spool, first->hash, &collector, &collectors))
    snprintf(text, sizeof text, "%s: to collector %zu of %zu, from 0; GET /v1/collectors of the shuffler",
             reason[first->verdict], collector, collectors);
  faro_http_refuse(request, status, text);
}

/* `judged`: the writer has judged it, because a token is known. */
static void answer(faro_intake *in, post *p, bool judged, bool written, bool over) {
  faro_http_request *request = p->request;
  bool any = false;                               /* a report was accepted */
  bool same = true;                               /* all have the same verdict */
  bool limited = false;                           /* a report has a known token, but too many refusals */
  unsigned char *bytes = faro_http_body(request); /* reused: the tokens are not needed any more */
  sodium_memzero(bytes, faro_http_length(request));
  for (size_t i = 0; i < p->count && written; i++) {
    bytes[i] = (unsigned char)p->entry[i].verdict;
    any = any || bytes[i] <= FARO_VERDICT_KNOWN;
    same = same && bytes[i] == bytes[0];
    limited = limited || bytes[i] == FARO_VERDICT_LIMITED;
    count_refusal(in, &p->entry[i]);
    if (judged) faro_tallies_add(&in->tallies, bytes[i], 1);
    else if (bytes[i] == FARO_VERDICT_LIMITED) atomic_fetch_add(&in->limited, 1);
    else (void)faro_tallies_stranger(&in->tallies, bytes[i]);
  }
  const faro_http_answer good = {
      .status = 200, .type = "application/octet-stream", .bytes = bytes, .length = p->count};
  const faro_verdict first = p->entry[0].verdict;
  const unsigned status = !written ? 503 : any || !same ? 200 : status_of(first, over);
  if (judged) faro_tallies_answer(&in->tallies, request, status);
  else if (limited) note_limited(in, request, status);
  if (!written) faro_http_refuse(request, 503, "reports cannot be stored now; none of these was accepted");
  else if (status == 200) faro_http_reply(request, &good);
  else refuse(in, request, status, &p->entry[0]);
  sodium_memzero(p, sizeof *p + p->count * sizeof *p->entry);
  free(p);
}

/* Whether a report is for a plan that has not arrived here yet: it comes in a moment. */
static bool is_ahead(const faro_intake *in, const unsigned char *body, size_t count) {
  bool ahead = false;
  for (size_t i = 0; i < count; i++)
    ahead = ahead || faro_wire_report_is_ahead(in->campaign, body + i * in->frame);
  return ahead;
}

void faro_intake_handle(faro_intake *in, faro_http_request *request) {
  unsigned char *body = faro_http_body(request);
  const size_t length = faro_http_length(request);
  const size_t count = length / in->frame;
  if (count == 0 || count * in->frame != length) {
    (void)faro_tallies_stranger(&in->tallies, FARO_VERDICT_MALFORMED);
    faro_http_refuse(request, 400, FARO_NO_REPORTS);
    return;
  }
  if (is_ahead(in, body, count)) {
    sodium_memzero(body, length);
    faro_http_refuse(request, 503, "the plan of these reports has not arrived here yet");
    return;
  }
  post *p = calloc(1, sizeof *p + count * sizeof *p->entry);
  if (p) {
    p->request = request;
    p->since = faro_clock();
    p->count = count;
    if (!read_entries(in, body, p)) {
      answer(in, p, false, true, false);
      return;
    }
    if (enqueue(in, p)) return;
  }
  free(p);
  sodium_memzero(body, length);
  faro_http_refuse(request, 503, "too many reports at once");
}

/* The writer. */

/* Waits for posts, for a second: then it is time for a probe, if the last write failed, or for a
 * look at the tallies. Call it under the mutex. */
static void await_work(faro_intake *in) {
  const struct timespec until = faro_clock_after(PROBE);
  int waited = 0;
  while (!in->first && !in->stop && waited == 0)
    waited = pthread_cond_clockwait(&in->work, &in->mutex, CLOCK_MONOTONIC, &until);
}

/* Takes posts of at most GROUP_MAX reports; NULL: there are none. False when the writer is to
 * end. */
static bool take_group(faro_intake *in, post **taken) {
  pthread_mutex_lock(&in->mutex);
  await_work(in);
  post *group = in->first;
  post **end = &in->first;
  size_t count = 0;
  while (*end && (count == 0 || count + (*end)->count <= GROUP_MAX)) {
    count += (*end)->count;
    in->bytes -= faro_http_length((*end)->request);
    end = &(*end)->next;
  }
  in->first = group ? *end : NULL;
  if (group) *end = NULL;
  if (!in->first) in->last = &in->first;
  const bool go_on = group || !in->stop;
  pthread_mutex_unlock(&in->mutex);
  *taken = group;
  return go_on;
}

/* *any: a report was accepted, so the disk was written to. *open: the first post after the one that
 * closed a batch, or the first of all if none was closed. */
static faro_status write_group(faro_intake *in, post *group, bool *any, post **open, faro_error *error) {
  faro_status status = faro_spool_begin(in->spool, error);
  uint64_t number = faro_spool_snapshot(in->spool).number;
  *open = group;
  for (post *p = group; p && status == FARO_OK; p = p->next) {
    for (size_t i = 0; i < p->count && status == FARO_OK; i++)
      if (p->entry[i].verdict == FARO_VERDICT_ACCEPTED) {
        status = faro_spool_accept(in->spool, &p->entry[i], error);
        *any = *any || p->entry[i].verdict == FARO_VERDICT_ACCEPTED;
      }
    if (faro_spool_snapshot(in->spool).number > number) *open = p->next;
    number = faro_spool_snapshot(in->spool).number;
  }
  return status == FARO_OK ? faro_spool_commit(in->spool, error) : status;
}

/* Counts what the server's threads have refused by themselves. */
static void take_limited(faro_intake *in) {
  faro_tallies_add(&in->tallies, FARO_VERDICT_LIMITED, atomic_exchange(&in->limited, 0));
  for (size_t i = 0; i < FARO_STATUS_CLASSES; i++) {
    const uint64_t count = atomic_exchange(&in->posts[i], 0);
    if (count > 0) faro_tallies_posts(&in->tallies, i, atomic_load(&in->answers[i]), count);
  }
}

/* Reports in the batches from .. to - 1. */
static uint64_t reports_in(const faro_intake *in, uint64_t from, uint64_t to) {
  uint64_t reports = 0;
  for (uint64_t n = from; n < to; n++) reports += faro_spool_size(in->spool, n);
  return reports;
}

/* Counts the batches that were closed since the last time. Only the writer may, because the tallies
 * are its own, except at a joiner, whose collectors count the reports. Call it under the mutex. */
static void count_closed(faro_intake *in, const faro_spool_state *state) {
  if (state->closed <= in->counted) return;
  const uint64_t reports =
      state->shared ? state->reports - in->reports : reports_in(in, in->counted, state->closed);
  faro_metric_add(in->batches, state->closed - in->counted);
  if (!faro_spool_joins(in->spool)) {
    take_limited(in);
    faro_tallies_settle(&in->tallies, reports);
  }
  faro_log(FARO_LOG_INFO, "batch-closed", "sI sI", "batch", (json_int_t)state->number - 1, "reports",
           (json_int_t)faro_spool_size(in->spool, state->number - 1));
  in->counted = state->closed;
  in->reports = state->reports;
}

/* Publishes the state of the spool, and whether the last write succeeded. `writer`: this is the
 * writer's thread. Call it under the store's lock. */
static void tell(faro_intake *in, bool writes, bool writer) {
  const faro_spool_state state = faro_spool_snapshot(in->spool);
  pthread_mutex_lock(&in->mutex);
  if (writer || faro_spool_joins(in->spool)) count_closed(in, &state);
  in->state = state;
  in->writes = writes;
  if (!writes) pthread_cond_signal(&in->work); /* the writer tries the disk from now on */
  pthread_cond_broadcast(&in->closed);
  pthread_mutex_unlock(&in->mutex);
  faro_metric_set(in->waiting, (double)state.waiting);
}

static bool could_write(faro_intake *in) {
  pthread_mutex_lock(&in->mutex);
  const bool writes = in->writes;
  pthread_mutex_unlock(&in->mutex);
  return writes;
}

static void write_and_answer(faro_intake *in, post *group) {
  faro_error error = {0};
  atomic_store(&in->wanted, true);
  pthread_mutex_lock(&in->store);
  atomic_store(&in->wanted, false);
  bool any = false;
  post *open = NULL;
  const bool written = write_group(in, group, &any, &open, &error) == FARO_OK;
  if (written) time_posts(in, group, open);            /* shown with the batch that just closed */
  tell(in, written && (any || could_write(in)), true); /* refusals do not write to the disk */
  if (written) time_posts(in, open, NULL);             /* they belong to the open batch */
  const bool over = faro_spool_snapshot(in->spool).over;
  pthread_mutex_unlock(&in->store);
  if (!written) {
    in->probe_at = faro_clock() + PROBE;
    faro_metric_add(in->failures, 1);
    faro_log_error("reports-not-stored", &error);
  }
  for (post *p = group; p; p = group) {
    group = p->next;
    answer(in, p, true, written, over);
  }
  if (over) faro_tallies_settle(&in->tallies, 0); /* no batch is open, and none will close */
}

/* Tries a write if the last one failed and it is time to. */
static void probe(faro_intake *in) {
  faro_error error = {0};
  if (could_write(in) || faro_clock() < in->probe_at) return;
  pthread_mutex_lock(&in->store);
  const bool writes = faro_spool_probe(in->spool, &error) == FARO_OK;
  tell(in, writes, true);
  pthread_mutex_unlock(&in->store);
  in->probe_at = faro_clock() + PROBE;
  if (writes) faro_log(FARO_LOG_INFO, "recovered", NULL);
}

/* Counts batches that another thread has closed, in a spool that is shared. */
static void count_others(faro_intake *in) {
  pthread_mutex_lock(&in->mutex);
  count_closed(in, &in->state);
  pthread_mutex_unlock(&in->mutex);
}

/* Looks for damage now and then. */
static void verify(faro_intake *in) {
  if (faro_clock() < in->verify_at) return;
  faro_spool_verify(in->spool);
  in->verify_at = faro_clock() + VERIFY;
}

static void *write_all(void *context) {
  faro_intake *in = context;
  faro_log_campaign(in->logged);
  for (post *group = NULL; take_group(in, &group);) {
    if (group) write_and_answer(in, group);
    probe(in);
    count_others(in);
    take_limited(in);
    faro_tallies_look(&in->tallies, faro_clock());
    verify(in);
    sodium_stackzero(STACK); /* hashing and SQLite leave pieces of reports there */
  }
  return NULL;
}

/* Closed batches. */

/* Tries again to empty the log, if that failed before. Call it under the store's lock. */
static void retry_purge(faro_intake *in) {
  if (!faro_spool_snapshot(in->spool).needs_purge) return;
  faro_error error = {0};
  if (faro_spool_retry_purge(in->spool, &error) != FARO_OK) faro_log_error("log-not-emptied", &error);
  else tell(in, could_write(in), false);
}

/* A mutex is not fair: a writer that waits for the store must get it before we take it again. */
static void give_way(faro_intake *in) {
  while (atomic_load(&in->wanted)) faro_sleep(1e-4);
}

/* Folds the clients of the batch that has closed. Between two steps the writer gets the store, for
 * a group of reports. */
static faro_status fold_all(faro_intake *in, faro_error *error) {
  faro_status status = FARO_OK;
  for (bool more = true; more && status == FARO_OK;) {
    give_way(in);
    pthread_mutex_lock(&in->store);
    status = faro_spool_fold(in->spool, error);
    more = faro_spool_snapshot(in->spool).unfolded;
    if (status != FARO_OK) tell(in, false, false);
    pthread_mutex_unlock(&in->store);
  }
  return status;
}

/* Publishes what other processes have changed in a spool that they share. */
static void tell_others(faro_intake *in) {
  const faro_spool_state now = faro_spool_snapshot(in->spool);
  pthread_mutex_lock(&in->mutex);
  const bool same = now.number == in->state.number && now.held == in->state.held &&
                    now.waiting == in->state.waiting && now.first == in->state.first;
  pthread_mutex_unlock(&in->mutex);
  if (!same) tell(in, could_write(in), false);
}

faro_status faro_intake_next(faro_intake *in, double seconds, faro_batch *batch, faro_error *error) {
  const struct timespec until = faro_clock_after(seconds);
  pthread_mutex_lock(&in->mutex);
  while (in->state.waiting == 0 &&
         pthread_cond_clockwait(&in->closed, &in->mutex, CLOCK_MONOTONIC, &until) == 0)
    continue;
  pthread_mutex_unlock(&in->mutex);
  const faro_status folded = fold_all(in, error);
  if (folded != FARO_OK) return folded;
  pthread_mutex_lock(&in->store);
  retry_purge(in);
  const faro_status status = faro_spool_next(in->spool, batch, error);
  tell_others(in);
  pthread_mutex_unlock(&in->store);
  return status;
}

faro_status faro_intake_follow(faro_intake *in, const faro_plan_row *row, const char *document, size_t length,
                               faro_error *error) {
  pthread_mutex_lock(&in->store);
  const faro_status status = faro_spool_follow(in->spool, row, document, length, error);
  tell(in, could_write(in), false);
  pthread_mutex_unlock(&in->store);
  return status;
}

faro_status faro_intake_join(faro_intake *in, const faro_portion *portion, faro_joined *joined,
                             faro_error *error) {
  pthread_mutex_lock(&in->store);
  const faro_status status = faro_spool_join(in->spool, portion, joined, error);
  tell(in, status == FARO_OK && (*joined == FARO_JOINED_KEPT || could_write(in)), false);
  pthread_mutex_unlock(&in->store);
  return status;
}

void faro_intake_heard(faro_intake *in, uint64_t first) {
  pthread_mutex_lock(&in->store);
  faro_spool_heard(in->spool, first);
  pthread_mutex_unlock(&in->store);
}

void faro_intake_expected(faro_intake *in, uint64_t next[static FARO_COLLECTORS_MAX]) {
  pthread_mutex_lock(&in->store);
  faro_spool_expected(in->spool, next);
  pthread_mutex_unlock(&in->store);
}

bool faro_intake_closed(faro_intake *in, uint64_t batches, double seconds) {
  const struct timespec until = faro_clock_after(seconds);
  pthread_mutex_lock(&in->mutex);
  while (in->state.number < batches &&
         pthread_cond_clockwait(&in->closed, &in->mutex, CLOCK_MONOTONIC, &until) == 0)
    continue;
  const bool closed = in->state.number >= batches;
  pthread_mutex_unlock(&in->mutex);
  return closed;
}

void faro_intake_wipe(faro_intake *in, faro_batch *batch) { faro_spool_wipe(in->spool, batch); }

faro_status faro_intake_forget(faro_intake *in, uint64_t number, faro_error *error) {
  pthread_mutex_lock(&in->store);
  const faro_status status = faro_spool_forget(in->spool, number, error);
  tell(in, status == FARO_OK, false);
  pthread_mutex_unlock(&in->store);
  return status;
}

/* A client is in a batch once per campaign batch in it, so a collector with fewer clients than its
 * portion has reports never closes it. */
static void check_clients(faro_intake *in, const faro_spool_state *state, faro_health *health) {
  char text[FARO_ILL_TEXT] = "";
  if (!faro_spool_is_collector(in->spool)) return;
  const uint64_t clients = faro_spool_clients(in->spool);
  const uint64_t most = clients * faro_campaign_unit(in->campaign, in->shuffler);
  if (!state->over && most < state->size)
    snprintf(
        text, sizeof text,
        "this collector has %llu of the clients, who can send %llu reports, and its portion of batch %llu "
        "needs %llu: the batch never fills. Add tokens, or start a campaign with smaller batches",
        (unsigned long long)clients, (unsigned long long)most, (unsigned long long)state->number,
        (unsigned long long)state->size);
  faro_health_set(health, FARO_ILL_TOO_FEW, text);
}

void faro_intake_check(faro_intake *in, faro_health *health) {
  faro_error lost = {0};
  const bool present = faro_spool_present(in->spool, &lost) == FARO_OK;
  pthread_mutex_lock(&in->mutex);
  const bool writes = in->writes;
  const bool needs_purge = in->state.needs_purge;
  const faro_spool_state state = in->state;
  pthread_mutex_unlock(&in->mutex);
  check_clients(in, &state, health);
  faro_tallies_refusing(&in->tallies, health);
  faro_health_set(health, FARO_ILL_STATE, present ? "" : lost.message);
  faro_health_set(health, FARO_ILL_REPORTS,
                  writes ? ""
                         : "reports cannot be stored: the last write failed, and so will the next ones if "
                           "the disk is full; see the log");
  faro_health_set(
      health, FARO_ILL_STATE_LOG,
      needs_purge ? "another process reads the state, so traces of a released batch stay in its log" : "");
}

faro_spool_state faro_intake_snapshot(faro_intake *in) {
  pthread_mutex_lock(&in->mutex);
  const faro_spool_state state = in->state;
  pthread_mutex_unlock(&in->mutex);
  return state;
}

/* Start and end. */

static void enter_metrics(faro_intake *in, faro_metrics *m) {
  faro_tallies_init(&in->tallies, m, faro_clock());
  in->batches = faro_metrics_counter(m, "faro_batches_closed_total", "", "Batches that were filled.");
  in->failures =
      faro_metrics_counter(m, "faro_store_failures_total", "", "Groups of reports that could not be stored.");
  in->waiting =
      faro_metrics_gauge(m, "faro_batches_waiting", "", "Closed batches that were not handed over yet.");
}

faro_status faro_intake_create(faro_intake **intake, faro_spool *spool, const faro_campaign *campaign,
                               size_t shuffler, faro_metrics *metrics, faro_error *error) {
  faro_intake *in = calloc(1, sizeof *in);
  if (!in) return faro_fail(error, FARO_MEMORY, "cannot allocate an intake");
  in->spool = spool;
  in->campaign = campaign;
  in->shuffler = shuffler;
  in->frame = faro_wire_report_size(campaign);
  in->last = &in->first;
  const faro_status limits = faro_limiter_create(&in->refusals, REFUSALS_RATE, REFUSALS_BURST, error);
  if (limits != FARO_OK) {
    free(in);
    return limits;
  }
  pthread_mutex_init(&in->store, NULL);
  pthread_mutex_init(&in->mutex, NULL);
  pthread_cond_init(&in->work, NULL);
  pthread_cond_init(&in->closed, NULL);
  enter_metrics(in, metrics);
  in->counted = faro_spool_snapshot(spool).closed;
  tell(in, true, true);
  in->logged = faro_log_campaign_now();
  if (pthread_create(&in->writer, NULL, write_all, in) != 0) {
    in->spool = NULL; /* it stays with the caller */
    faro_intake_destroy(in);
    return faro_fail(error, FARO_SYSTEM, "cannot start a thread");
  }
  in->running = true;
  *intake = in;
  return FARO_OK;
}

faro_status faro_intake_reload(faro_intake *in, const char *tokens, size_t *count, faro_error *error) {
  return faro_spool_reload(in->spool, tokens, count, error);
}

void faro_intake_destroy(faro_intake *in) {
  if (!in) return;
  pthread_mutex_lock(&in->mutex);
  in->stop = true;
  pthread_cond_broadcast(&in->work);
  pthread_mutex_unlock(&in->mutex);
  if (in->running) pthread_join(in->writer, NULL);
  faro_spool_close(in->spool);
  faro_tallies_clear(&in->tallies);
  faro_limiter_destroy(in->refusals);
  pthread_cond_destroy(&in->work);
  pthread_cond_destroy(&in->closed);
  pthread_mutex_destroy(&in->mutex);
  pthread_mutex_destroy(&in->store);
  free(in);
}
