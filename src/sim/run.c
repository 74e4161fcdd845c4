/* run: plays every cell on every instance, on several threads. Each result has its own slot and
 * every stream its own name, so the number of threads and the order of work do not change
 * results. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "linalg/dense.h"
#include "sim/journal.h"
#include "sim/loop.h"
#include "sim/machine.h"
#include "sim/shard.h"

enum { JOBS_MAX = 1024 };

/* What is known of an instance of a cell. */
typedef enum slot_state {
  SLOT_OPEN, /* to be played */
  SLOT_READ, /* finished by an earlier run, or by another process */
  SLOT_LEFT  /* not to be played: copied from the cell's twin, or in another process's shard */
} __attribute__((packed)) slot_state;

typedef struct crew {
  const faro_experiment *experiment;
  const faro_run_options *options;
  faro_play_record *record; /* instance-major: [instance * cells + cell] */
  slot_state *state;        /* of each record */
  uint32_t *origin;         /* of each record that was read: the number of its journal */
  size_t *first;            /* of each cell, see sim/shard.h */
  uint32_t reading;         /* number of the journal that is read: 0 is the run's own */
  size_t slots, total;      /* total: slots to play */
  double rounds;            /* of all slots to play */
  atomic_size_t next;
  atomic_ullong playing[JOBS_MAX]; /* rounds of the instance that each thread is in */
  pthread_mutex_t lock;            /* guards everything below */
  pthread_cond_t change;
  faro_journal *journal;
  size_t finished, working;
  size_t threads; /* started so far: each takes a number */
  double played;  /* rounds of the finished instances */
  faro_status status;
  faro_error *error;
} crew;

/* ---- what is finished already */

/* Two records of the same instance are the same bits, but for the time that they took. */
static bool is_same(const faro_play_record *a, const double *values) {
  const size_t seconds = offsetof(faro_play_record, seconds) / sizeof *values;
  for (size_t i = 0; i < FARO_PLAY_VALUES; i++) {
    uint64_t one = 0;
    uint64_t two = 0;
    memcpy(&one, (const double *)a + i, sizeof one);
    memcpy(&two, values + i, sizeof two);
    if (one != two && i != seconds) return false;
  }
  return true;
}

static const char *journal_name(const crew *c, uint32_t number) {
  const char *path = number == 0 ? c->options->journal : c->options->journals[number - 1];
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Equal streams give equal records, so one of two machines computes differently. */
static faro_record_verdict refuse_contrary(const crew *c, size_t slot, faro_error *error) {
  char point[FARO_SHARD_POINT];
  const size_t cells = c->experiment->count;
  (void)faro_fail(error, FARO_INVALID,
                  "%.100s and %.100s disagree about %s, instance %zu: one of them was made by a machine that "
                  "computes differently; remove the one that is wrong, and play its part again",
                  journal_name(c, c->origin[slot]), journal_name(c, c->reading),
                  faro_shard_point(c->experiment, slot % cells, point), slot / cells);
  return FARO_RECORD_CONTRARY;
}

static faro_record_verdict recall(void *context, uint32_t cell, uint32_t instance, const double *values,
                                  faro_error *error) {
  crew *c = context;
  if (cell >= c->experiment->count || instance >= c->experiment->instances) return FARO_RECORD_SENSELESS;
  const size_t slot = (size_t)instance * c->experiment->count + cell;
  if (c->state[slot] == SLOT_LEFT) return FARO_RECORD_TAKEN;
  if (c->state[slot] == SLOT_READ)
    return is_same(&c->record[slot], values) ? FARO_RECORD_TAKEN : refuse_contrary(c, slot, error);
  memcpy(&c->record[slot], values, sizeof c->record[slot]);
  c->state[slot] = SLOT_READ;
  c->origin[slot] = c->reading;
  c->finished++;
  c->played += (double)c->experiment->cell[cell].settings.horizon;
  return FARO_RECORD_TAKEN;
}

/* Reads the run's own journal, which stays open, and those of others. */
static faro_status read_journals(crew *c) {
  const faro_run_options *o = c->options;
  faro_status status = FARO_OK;
  if (o->journal)
    status = faro_journal_open(&c->journal, o->journal, c->experiment->digest, FARO_PLAY_VALUES, o->fresh,
                               recall, c, c->error);
  for (size_t i = 0; status == FARO_OK && i < o->journal_count; i++) {
    if (o->journal && strcmp(o->journal, o->journals[i]) == 0) continue;
    c->reading = (uint32_t)(i + 1);
    status = faro_journal_read(o->journals[i], c->experiment->digest, FARO_PLAY_VALUES, recall, c, c->error);
  }
  return status;
}

/* ---- playing */

/* Stores a finished slot, or the first failure. */
static void settle(crew *c, size_t slot, faro_status status, const faro_error *error,
                   atomic_ullong *playing) {
  const size_t cells = c->experiment->count;
  pthread_mutex_lock(&c->lock);
  if (status == FARO_OK && c->journal)
    status = faro_journal_add(c->journal, (uint32_t)(slot % cells), (uint32_t)(slot / cells),
                              (const double *)&c->record[slot], c->error);
  else if (status != FARO_OK && c->status == FARO_OK && error->status != FARO_OK)
    (void)faro_fail(c->error, error->status, "%s", error->message);
  if (status == FARO_OK) {
    c->finished++;
    c->played += (double)c->experiment->cell[slot % cells].settings.horizon;
    atomic_store(playing, 0);
  } else if (c->status == FARO_OK) c->status = status;
  pthread_cond_signal(&c->change);
  pthread_mutex_unlock(&c->lock);
}

static bool stopped(crew *c) {
  pthread_mutex_lock(&c->lock);
  const bool failed = c->status != FARO_OK;
  pthread_mutex_unlock(&c->lock);
  return failed || (c->options->stopped && c->options->stopped(c->options->context));
}

static void *work(void *context) {
  crew *c = context;
  pthread_mutex_lock(&c->lock);
  atomic_ullong *playing = &c->playing[c->threads++];
  pthread_mutex_unlock(&c->lock);
  while (!stopped(c)) {
    const size_t slot = atomic_fetch_add(&c->next, 1);
    if (slot >= c->slots) break;
    if (c->state[slot] != SLOT_OPEN) continue;
    faro_error error = {0};
    const size_t cells = c->experiment->count;
    const faro_turn turn = {.cell = &c->experiment->cell[slot % cells],
                            .seed = c->experiment->seed,
                            .instance = slot / cells,
                            .stopped = c->options->stopped,
                            .context = c->options->context,
                            .played = playing,
                            .record = &c->record[slot]};
    const faro_status status = faro_play(&turn, &error);
    settle(c, slot, status, &error, playing);
  }
  pthread_mutex_lock(&c->lock);
  c->working--;
  pthread_cond_signal(&c->change);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

/* The share of all rounds that has been played; with the lock. */
static double share_of(crew *c) {
  double played = c->played;
  for (size_t i = 0; i < c->threads; i++) played += (double)atomic_load(&c->playing[i]);
  return c->rounds > 0 ? fmin(1, played / c->rounds) : 1;
}

static void report(crew *c, size_t finished, double share) {
  if (c->options->progress) c->options->progress(c->options->context, finished, c->total, share);
}

/* Waits until all threads are done, and reports progress about five times a second. */
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
    const double share = share_of(c);
    pthread_mutex_unlock(&c->lock);
    report(c, finished, share);
    pthread_mutex_lock(&c->lock);
  }
  pthread_mutex_unlock(&c->lock);
}

static size_t count_jobs(const crew *c) {
  size_t jobs = c->options->jobs ? c->options->jobs : faro_processors();
  if (jobs > c->total) jobs = c->total;
  return jobs < JOBS_MAX ? jobs : JOBS_MAX;
}

static void run_crew(crew *c) {
  pthread_t thread[JOBS_MAX];
  const size_t jobs = count_jobs(c);
  size_t started = 0;
  c->working = jobs;
  while (started < jobs && pthread_create(&thread[started], NULL, work, c) == 0) started++;
  pthread_mutex_lock(&c->lock);
  c->working -= jobs - started;
  if (started == 0 && jobs > 0) c->status = faro_fail(c->error, FARO_SYSTEM, "cannot start a thread");
  pthread_mutex_unlock(&c->lock);
  wait_for_all(c);
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  report(c, c->finished, share_of(c)); /* the last word: nothing changes any more */
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
  double beyond = 0;
  for (size_t i = 0; i < n; i++) {
    square += (value[i] - mean) * (value[i] - mean);
    beyond += value[i] > 3 * mean;
  }
  const double sd = n > 1 ? sqrt(square / (double)(n - 1)) : 0;
  qsort(value, n, sizeof *value, ascending);
  return (faro_spread){.mean = mean,
                       .sd = sd,
                       .error = sd / sqrt((double)n),
                       .lower = quantile(value, n, 0.25),
                       .median = quantile(value, n, 0.5),
                       .upper = quantile(value, n, 0.75),
                       .most = value[n - 1],
                       .tail = beyond / (double)n};
}

/* How the values of the instances become the value of the cell (outcomes.def). */
typedef enum how { HOW_MEAN, HOW_COUNT, HOW_MOST, HOW_SHARE, HOW_UPDATE, HOW_TOTAL } how;

typedef struct row {
  how how;
  size_t from, to; /* offsets in faro_play_record and faro_outcome */
} row;

static const row rows[] = {
#define OUTCOME(member, how, ...)                                                                            \
  {HOW_##how, offsetof(faro_play_record, member), offsetof(faro_outcome, member)},
#include <faro/outcomes.def>
#undef OUTCOME
};

static double value_at(const void *base, size_t offset) {
  double value = 0;
  memcpy(&value, (const unsigned char *)base + offset, sizeof value);
  return value;
}

/* The records of a cell, one per instance. */
typedef struct column {
  const faro_play_record *first;
  size_t step, count;
} column;

static double total(const column *c, size_t offset, double divisor) {
  double sum = 0;
  for (size_t i = 0; i < c->count; i++) sum += value_at(c->first + i * c->step, offset) / divisor;
  return sum;
}

static double combine(const column *c, const row *r) {
  const double n = (double)c->count;
  const double updates = total(c, offsetof(faro_play_record, updates), 1);
  double result = 0;
  switch (r->how) {
  case HOW_MEAN: return total(c, r->from, n);
  case HOW_COUNT: return total(c, r->from, 1) / n;
  case HOW_UPDATE: return updates > 0 ? total(c, r->from, 1) / updates : 0;
  case HOW_TOTAL: return total(c, r->from, 1);
  case HOW_MOST:
    for (size_t i = 0; i < c->count; i++) result = fmax(result, value_at(c->first + i * c->step, r->from));
    return result;
  case HOW_SHARE:
    for (size_t i = 0; i < c->count; i++) result += (value_at(c->first + i * c->step, r->from) > 0) / n;
    return result;
  }
  return result;
}

/* scratch: one double per instance. */
static void summarise(const crew *all, size_t cell, double *scratch, faro_outcome *outcome) {
  const faro_experiment *e = all->experiment;
  const column c = {.first = all->record + e->cell[cell].twin, .step = e->count, .count = e->instances};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const double value = combine(&c, &rows[r]);
    memcpy((unsigned char *)outcome + rows[r].to, &value, sizeof value);
  }
  for (size_t i = 0; i < c.count; i++) scratch[i] = c.first[i * c.step].regret;
  outcome->regret = spread(scratch, c.count);
  outcome->uniform = total(&c, offsetof(faro_play_record, uniform), (double)c.count);
  outcome->fixed = total(&c, offsetof(faro_play_record, fixed), (double)c.count);
  outcome->points = faro_curve_rounds(e->cell[cell].settings.horizon, outcome->round);
  for (size_t k = 0; k < outcome->points; k++) {
    for (size_t i = 0; i < c.count; i++) scratch[i] = c.first[i * c.step].curve[k];
    outcome->curve[k] = spread(scratch, c.count);
  }
}

/* The results as the caller sees them, with the journal, which stays locked as long as they
 * exist. */
typedef struct kept_results {
  faro_results results;
  faro_journal *journal;
} kept_results;

/* Cells that were not played have the records of the cell that was. */
static void copy_twins(const crew *c) {
  const size_t cells = c->experiment->count;
  for (size_t slot = 0; slot < c->slots; slot++) {
    const size_t twin = c->experiment->cell[slot % cells].twin;
    c->record[slot] = c->record[slot - slot % cells + twin];
  }
}

/* What there is to say of a shard: its instances are in its journal. */
static faro_status make_part(const crew *c, faro_results **results, faro_error *error) {
  kept_results *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the results of a shard");
  made->results = (faro_results){.cells = c->experiment->count, .instances = c->experiment->instances};
  made->journal = c->journal;
  *results = &made->results;
  return FARO_OK;
}

/* Takes the records. */
static faro_status make_results(crew *c, faro_results **results, faro_error *error) {
  if (c->options->shards > 0) return make_part(c, results, error);
  kept_results *made = calloc(1, sizeof *made);
  faro_outcome *outcome = calloc(c->experiment->count, sizeof *outcome);
  double *scratch = calloc(c->experiment->instances, sizeof *scratch);
  if (!made || !outcome || !scratch) {
    free(made);
    free(outcome);
    free(scratch);
    return faro_fail(error, FARO_MEMORY, "cannot allocate the results of %zu cells", c->experiment->count);
  }
  made->results = (faro_results){.cells = c->experiment->count,
                                 .outcome = outcome,
                                 .instances = c->experiment->instances,
                                 .record = c->record};
  made->journal = c->journal;
  for (size_t cell = 0; cell < c->experiment->count; cell++) summarise(c, cell, scratch, &outcome[cell]);
  copy_twins(c);
  c->record = NULL;
  free(scratch);
  *results = &made->results;
  return FARO_OK;
}

void faro_results_destroy(faro_results *results) {
  if (!results) return;
  faro_journal_close(((kept_results *)(void *)results)->journal);
  free(results->outcome);
  free(results->record);
  free(results);
}

/* Where nothing is to be played: tells of every instance that no journal has. */
static faro_status check_whole(const crew *c) {
  const size_t cells = c->experiment->count;
  if (c->finished == c->total) return FARO_OK;
  for (size_t slot = 0; slot < c->slots; slot++)
    if (c->state[slot] == SLOT_OPEN) c->options->missing(c->options->context, slot % cells, slot / cells);
  return faro_fail(c->error, FARO_INVALID, "%zu of %zu instances are missing", c->total - c->finished,
                   c->total);
}

static faro_status explain_stop(const crew *c) {
  if (c->finished == 0)
    return faro_fail(c->error, FARO_INTERRUPTED,
                     "interrupted before the first instance finished; nothing was saved");
  return faro_fail(c->error, FARO_INTERRUPTED, "interrupted: %zu of %zu instances are finished%s",
                   c->finished, c->total, c->options->journal ? " and saved" : "");
}

static faro_status run(crew *c, faro_results **results) {
  const double start = faro_clock();
  faro_status status = read_journals(c);
  const size_t resumed = c->finished;
  if (status == FARO_OK && c->options->missing) status = check_whole(c);
  if (status == FARO_OK) {
    report(c, resumed, share_of(c));
    run_crew(c);
    status = c->status;
  }
  if (status == FARO_OK) status = make_results(c, results, c->error);
  if (status == FARO_OK) {
    (*results)->resumed = resumed;
    (*results)->total = c->total;
    (*results)->seconds = faro_clock() - start;
  } else faro_journal_close(c->journal);
  return status == FARO_INTERRUPTED ? explain_stop(c) : status;
}

/* Leaves out slots whose results are copied from a twin, and those of other shards. */
static void leave_others(crew *c) {
  const size_t shards = c->options->shards;
  c->total = c->slots;
  for (size_t slot = 0; slot < c->slots; slot++) {
    const size_t cell = slot % c->experiment->count;
    const size_t instance = slot / c->experiment->count;
    const bool ours = shards == 0 || faro_shard_of(c->first[cell], instance, shards) == c->options->shard;
    const bool left = c->experiment->cell[cell].twin != cell || !ours;
    c->state[slot] = left ? SLOT_LEFT : SLOT_OPEN;
    c->total -= left;
    if (!left) c->rounds += (double)c->experiment->cell[cell].settings.horizon;
  }
}

static faro_status check_options(const faro_experiment *experiment, const faro_run_options *o,
                                 faro_error *error) {
  if (experiment->outline) return faro_fail(error, FARO_INVALID, "outline must be false for a run");
  const faro_status status = faro_shard_check(o->shard, o->shards, error);
  if (status == FARO_OK && o->shards > 0 && !o->journal)
    return faro_fail(error, FARO_INVALID, "journal must be given for a shard: its instances are kept there");
  return status;
}

faro_status faro_run(const faro_experiment *experiment, const faro_run_options *options,
                     faro_results **results, faro_error *error) {
  faro_status status = check_options(experiment, options, error);
  if (status != FARO_OK) return status;
  crew c = {.experiment = experiment, .options = options, .error = error};
  c.slots = experiment->count * experiment->instances; /* at most 10^4 x 10^6 */
  c.record = calloc(c.slots, sizeof *c.record);
  c.state = calloc(c.slots, sizeof *c.state);
  c.origin = calloc(c.slots, sizeof *c.origin);
  c.first = calloc(experiment->count, sizeof *c.first);
  if (!c.record || !c.state || !c.origin || !c.first)
    status = faro_fail(error, FARO_MEMORY, "cannot allocate the curves of %zu instances", c.slots);
  else {
    faro_shard_deal(experiment, c.first);
    leave_others(&c);
    const int threads = faro_dense_threads(1); /* the instances run in parallel */
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.change, NULL);
    status = run(&c, results);
    (void)faro_dense_threads(threads);
    pthread_cond_destroy(&c.change);
    pthread_mutex_destroy(&c.lock);
  }
  free(c.record);
  free(c.state);
  free(c.origin);
  free(c.first);
  return status;
}
