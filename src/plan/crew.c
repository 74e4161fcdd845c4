/* crew: see the header. */
#include "plan/crew.h"

#include <pthread.h>
#include <stdatomic.h>

#include "linalg/dense.h"
#include "sim/loop.h"
#include "sim/machine.h"

enum { JOBS_MAX = 256 };

typedef struct task {
  plan_way *way;
  size_t instance;
} task;

typedef struct work {
  plan_crew *crew;
  plan_way *const *way;
  size_t count, until;
  pthread_mutex_t lock; /* guards everything below, and crew->done */
  size_t at, instance;  /* the next to play */
  faro_status status;
  faro_error *error;
} work;

static bool is_stopped(const plan_crew *crew) {
  return crew->options->stopped && crew->options->stopped(crew->options->context);
}

/* Takes the next task; false: there is none. */
static bool take(work *w, task *next) {
  pthread_mutex_lock(&w->lock);
  while (w->at < w->count && w->instance >= w->until) {
    w->at++;
    w->instance = w->at < w->count ? w->way[w->at]->played : 0;
  }
  if (w->status == FARO_OK && is_stopped(w->crew)) w->status = FARO_INTERRUPTED;
  const bool more = w->at < w->count && w->status == FARO_OK;
  if (more) *next = (task){.way = w->way[w->at], .instance = w->instance++};
  pthread_mutex_unlock(&w->lock);
  return more;
}

static void play(work *w, const task *t) {
  faro_play_record record;
  faro_error error = {0};
  const faro_turn turn = {.cell = plan_cell(t->way),
                          .seed = w->crew->options->seed,
                          .instance = w->crew->first + t->instance,
                          .stopped = w->crew->options->stopped,
                          .context = w->crew->options->context,
                          .record = &record};
  const faro_status status = faro_play(&turn, &error);
  t->way->regret[t->instance] = record.regret;
  if (t->instance == 0) t->way->way.updates = (uint64_t)record.updates;
  pthread_mutex_lock(&w->lock);
  w->crew->done++;
  if (status != FARO_OK && w->status == FARO_OK) {
    w->status = status;
    if (status != FARO_INTERRUPTED) (void)faro_fail(w->error, status, "%s", error.message);
  }
  pthread_mutex_unlock(&w->lock);
}

static void *labour(void *context) {
  work *w = context;
  task next;
  while (take(w, &next)) play(w, &next);
  return NULL;
}

/* The caller's thread works too, and reports. */
static void lead(work *w) {
  const faro_advice_options *o = w->crew->options;
  task next;
  while (take(w, &next)) {
    play(w, &next);
    pthread_mutex_lock(&w->lock);
    const size_t done = w->crew->done;
    pthread_mutex_unlock(&w->lock);
    if (o->progress) o->progress(o->context, done, w->crew->total);
  }
}

faro_status plan_crew_play(plan_crew *crew, plan_way *const *way, size_t count, size_t until,
                           faro_error *error) {
  pthread_t thread[JOBS_MAX];
  size_t jobs = crew->options->jobs ? crew->options->jobs : faro_processors();
  if (jobs > JOBS_MAX) jobs = JOBS_MAX;
  if (count == 0) return FARO_OK;
  work w = {.crew = crew, .way = way, .count = count, .until = until, .error = error};
  w.instance = way[0]->played;
  const int threads = faro_dense_threads(1); /* the instances run in parallel */
  pthread_mutex_init(&w.lock, NULL);
  size_t started = 0;
  while (started + 1 < jobs && pthread_create(&thread[started], NULL, labour, &w) == 0) started++;
  lead(&w);
  for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
  pthread_mutex_destroy(&w.lock);
  (void)faro_dense_threads(threads);
  for (size_t i = 0; i < count && w.status == FARO_OK; i++)
    if (way[i]->played < until) way[i]->played = until;
  return w.status;
}
