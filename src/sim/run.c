/* run: every cell on every instance, over threads. Each result has its own slot and every stream its
 * own name, so the number of threads and the order of work change nothing. */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim/journal.h"
#include "sim/play.h"

enum { JOBS_MAX = 1024 };

typedef struct crew {
  const faro_experiment *experiment;
  const faro_run_options *options;
  faro_play_record *record; /* instance-major: [instance * cells + cell] */
  bool *done;               /* or left to the cell's twin */
  size_t slots, total;      /* total: those to be played */
  atomic_size_t next;
  pthread_mutex_t lock; /* of everything below */
  pthread_cond_t change;
  faro_journal *journal;
  size_t finished, working;
  faro_status status;
  faro_error *error;
} crew;

static bool recall(void *context, uint32_t cell, uint32_t instance, const double *values) {
  crew *c = context;
  if (cell >= c->experiment->count || instance >= c->experiment->instances) return false;
  const size_t slot = (size_t)instance * c->experiment->count + cell;
  if (c->done[slot]) return false;
  memcpy(&c->record[slot], values, sizeof c->record[slot]);
  c->done[slot] = true;
  c->finished++;
  return true;
}

/* Keeps a finished slot, or the first failure. */
static void settle(crew *c, size_t slot, faro_status status, const faro_error *error) {
  const size_t cells = c->experiment->count;
  pthread_mutex_lock(&c->lock);
  if (status == FARO_OK && c->journal)
    status = faro_journal_add(c->journal, (uint32_t)(slot % cells), (uint32_t)(slot / cells),
                              (const double *)&c->record[slot], c->error);
  else if (status != FARO_OK && c->status == FARO_OK && error->status != FARO_OK)
    (void)faro_fail(c->error, error->status, "%s", error->message);
  if (status == FARO_OK) c->finished++;
  else if (c->status == FARO_OK) c->status = status;
  pthread_cond_signal(&c->change);
  pthread_mutex_unlock(&c->lock);
}

static bool stopped(crew *c) {
  pthread_mutex_lock(&c->lock);
  const bool failed = c->status != FARO_OK;
  pthread_mutex_unlock(&c->lock);
  return failed || (c->options->stop && *c->options->stop);
}

static void *work(void *context) {
  crew *c = context;
  while (!stopped(c)) {
    const size_t slot = atomic_fetch_add(&c->next, 1);
    if (slot >= c->slots) break;
    if (c->done[slot]) continue;
    faro_error error = {0};
    const size_t cells = c->experiment->count;
    const faro_status status = faro_play(&c->experiment->cell[slot % cells], c->experiment->seed,
                                         slot / cells, c->options->stop, &c->record[slot], &error);
    settle(c, slot, status, &error);
  }
  pthread_mutex_lock(&c->lock);
  c->working--;
  pthread_cond_signal(&c->change);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

static void report(crew *c, size_t finished) {
  if (c->options->progress) c->options->progress(c->options->context, finished, c->total);
}

/* Waits until nobody works, telling how far things are about five times a second. */
static void wait_for_all(crew *c) {
  pthread_mutex_lock(&c->lock);
  while (c->working > 0) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int woken = 0;
    while (c->working > 0 && woken == 0) woken = pthread_cond_timedwait(&c->change, &c->lock, &until);
    const size_t finished = c->finished;
    pthread_mutex_unlock(&c->lock);
    report(c, finished);
    pthread_mutex_lock(&c->lock);
  }
  pthread_mutex_unlock(&c->lock);
}

static size_t count_jobs(const crew *c) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t jobs = c->options->jobs ? c->options->jobs : (processors > 0 ? (size_t)processors : 1);
  if (jobs > c->total) jobs = c->total;
  return jobs < JOBS_MAX ? jobs : JOBS_MAX;
}

static void run_crew(crew *c) {
  openblas_set_num_threads(1); /* the instances are the parallel work */
  pthread_t thread[JOBS_MAX];
  const size_t jobs = count_jobs(c);
  size_t started = 0;
  c->working = jobs;
  while (started < jobs && pthread_create(&thread[started], NULL, work, c) == 0) started++;
  pthread_mutex_lock(&c->lock);
  c->working -= jobs - started;
  if (started == 0) c->status = faro_fail(c->error, FARO_SYSTEM, "cannot start a thread");
  pthread_mutex_unlock(&c->lock);
  wait_for_all(c);
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  if (c->status == FARO_OK && c->finished < c->total) c->status = FARO_INTERRUPTED;
}

/* Statistics over instances. */

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Quantile by linear interpolation between order statistics. */
static double quantile(const double *sorted, size_t n, double q) {
  const double place = q * (double)(n - 1);
  const size_t low = (size_t)place;
  const size_t high = low + 1 < n ? low + 1 : low;
  return sorted[low] + (place - (double)low) * (sorted[high] - sorted[low]);
}

static faro_spread spread(double *value, size_t n) {
  double mean = 0;
  double square = 0;
  for (size_t i = 0; i < n; i++) mean += value[i] / (double)n;
  for (size_t i = 0; i < n; i++) square += (value[i] - mean) * (value[i] - mean);
  const double sd = n > 1 ? sqrt(square / (double)(n - 1)) : 0;
  qsort(value, n, sizeof *value, ascending);
  return (faro_spread){.mean = mean,
                       .sd = sd,
                       .error = sd / sqrt((double)n),
                       .lower = quantile(value, n, 0.25),
                       .median = quantile(value, n, 0.5),
                       .upper = quantile(value, n, 0.75),
                       .most = value[n - 1]};
}

/* scratch: one double an instance. */
static void summarise(const crew *c, size_t cell, double *scratch, faro_outcome *outcome) {
  const size_t n = c->experiment->instances;
  const size_t cells = c->experiment->count;
  const size_t twin = c->experiment->cell[cell].twin;
  const double horizon = c->experiment->cell[cell].settings.value[FARO_KEY_HORIZON];
  double updates = 0;
  double shifted = 0;
  for (size_t i = 0; i < n; i++) {
    const faro_play_record *record = &c->record[i * cells + twin];
    scratch[i] = record->regret;
    updates += record->updates;
    shifted += record->shifted;
    outcome->refused += record->refused / (double)n;
    outcome->sent += record->sent / (double)n;
    outcome->posted += record->posted / (double)n;
    outcome->users += record->users / (double)n;
    outcome->lost += record->lost / (double)n;
    outcome->blur = fmax(outcome->blur, record->blur);
    outcome->exhausted += (record->exhausted > 0 ? 1 : 0) / (double)n;
    outcome->early += record->early / (double)n;
    outcome->explored += record->explored / (double)n;
    outcome->seconds += record->seconds;
  }
  outcome->regret = spread(scratch, n);
  outcome->updates = updates / (double)n;
  outcome->shifted = updates > 0 ? shifted / updates : 0;
  outcome->points = faro_curve_rounds((uint64_t)horizon, outcome->round);
  for (size_t k = 0; k < outcome->points; k++) {
    for (size_t i = 0; i < n; i++) scratch[i] = c->record[i * cells + twin].curve[k];
    outcome->curve[k] = spread(scratch, n);
  }
}

static faro_status make_results(const crew *c, faro_results **results, faro_error *error) {
  faro_results *made = calloc(1, sizeof *made);
  faro_outcome *outcome = calloc(c->experiment->count, sizeof *outcome);
  double *scratch = calloc(c->experiment->instances, sizeof *scratch);
  if (!made || !outcome || !scratch) {
    free(made);
    free(outcome);
    free(scratch);
    return faro_fail(error, FARO_MEMORY, "cannot hold the results of %zu cells", c->experiment->count);
  }
  *made = (faro_results){.cells = c->experiment->count, .outcome = outcome};
  for (size_t cell = 0; cell < made->cells; cell++) summarise(c, cell, scratch, &outcome[cell]);
  free(scratch);
  *results = made;
  return FARO_OK;
}

void faro_results_destroy(faro_results *results) {
  if (!results) return;
  faro_journal_close(results->journal);
  free(results->outcome);
  free(results);
}

static faro_status run(crew *c, faro_results **results) {
  const double start = faro_clock();
  faro_status status = FARO_OK;
  if (c->options->journal)
    status = faro_journal_open(&c->journal, c->options->journal, c->experiment->digest, FARO_PLAY_VALUES,
                               c->options->fresh, recall, c, c->error);
  if (status != FARO_OK) return status;
  const size_t resumed = c->finished;
  report(c, resumed);
  run_crew(c);
  status = c->status;
  if (status == FARO_OK) status = make_results(c, results, c->error);
  if (status == FARO_OK) {
    (*results)->resumed = resumed;
    (*results)->seconds = faro_clock() - start;
    (*results)->journal = c->journal;
  } else faro_journal_close(c->journal);
  if (status == FARO_INTERRUPTED)
    return faro_fail(c->error, status, "interrupted: %zu of %zu instances are finished and kept", c->finished,
                     c->total);
  return status;
}

/* What a twin will have is nobody's work. */
static void leave_twins(crew *c) {
  c->total = c->slots;
  for (size_t slot = 0; slot < c->slots; slot++) {
    const size_t cell = slot % c->experiment->count;
    c->done[slot] = c->experiment->cell[cell].twin != cell;
    c->total -= c->done[slot];
  }
}

faro_status faro_run(const faro_experiment *experiment, const faro_run_options *options,
                     faro_results **results, faro_error *error) {
  crew c = {.experiment = experiment, .options = options, .error = error};
  c.slots = experiment->count * experiment->instances; /* at most 10^4 x 10^6 */
  c.record = calloc(c.slots, sizeof *c.record);
  c.done = calloc(c.slots, sizeof *c.done);
  faro_status status = FARO_OK;
  if (!c.record || !c.done)
    status = faro_fail(error, FARO_MEMORY, "cannot hold the curves of %zu instances", c.slots);
  else {
    leave_twins(&c);
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.change, NULL);
    status = run(&c, results);
    pthread_cond_destroy(&c.change);
    pthread_mutex_destroy(&c.lock);
  }
  free(c.record);
  free(c.done);
  return status;
}
