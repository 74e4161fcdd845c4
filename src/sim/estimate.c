/* estimate: how long a run will take, from the first rounds of the first instance of every cell.
 * Where there are many cells, from some of them. */
#include "base/clock.h"
#include "linalg/dense.h"
#include "sim/loop.h"

enum { SAMPLES = 64 };

typedef struct rehearsal {
  double end;   /* when it should */
  double begun; /* when the first round began: what is before that happens once; 0: not yet */
  atomic_ullong played;
} rehearsal;

/* Not before a round was played: nothing is known until then. */
static bool is_over(void *context) {
  rehearsal *r = context;
  if (r->begun == 0) r->begun = faro_clock();
  return atomic_load(&r->played) > 0 && faro_clock() > r->end;
}

/* Seconds per instance of a cell. */
static faro_status measure(const faro_experiment *experiment, const faro_cell *cell, double limit,
                           double *seconds, faro_error *error) {
  faro_play_record record = {0};
  const double start = faro_clock();
  rehearsal r = {.end = start + limit};
  const faro_turn turn = {.cell = cell,
                          .seed = experiment->seed,
                          .stopped = is_over,
                          .context = &r,
                          .played = &r.played,
                          .record = &record};
  const faro_status status = faro_play(&turn, error);
  if (status != FARO_OK && status != FARO_INTERRUPTED) return status;
  *seconds = record.seconds;
  if (status == FARO_OK) return FARO_OK;
  const double once = record.seconds * (r.begun - start) / (faro_clock() - start);
  const double all = (double)cell->settings.horizon;
  *seconds = once + (record.seconds - once) * all / (double)atomic_load(&r.played);
  return FARO_OK;
}

static void count(const faro_experiment *experiment, faro_estimate *estimate, size_t *distinct) {
  *estimate = (faro_estimate){.cells = experiment->count};
  for (size_t c = 0; c < experiment->count; c++) {
    if (experiment->cell[c].twin != c) continue;
    (*distinct)++;
    estimate->instances += experiment->instances;
    estimate->rounds += (double)experiment->instances * (double)experiment->cell[c].settings.horizon;
  }
}

faro_status faro_run_estimate(const faro_experiment *experiment, double seconds, faro_estimate *estimate,
                              faro_error *error) {
  size_t distinct = 0;
  size_t index = 0;
  double rounds = 0; /* of the cells that were measured, and their seconds, per instance */
  double spent = 0;
  if (experiment->outline) return faro_fail(error, FARO_INVALID, "outline must be false for an estimate");
  count(experiment, estimate, &distinct);
  const size_t step = (distinct + SAMPLES - 1) / SAMPLES;
  const double limit = seconds * (double)step / (double)distinct;
  const int threads = faro_dense_threads(1);
  faro_status status = FARO_OK;
  for (size_t c = 0; status == FARO_OK && c < experiment->count; c++) {
    const faro_cell *cell = &experiment->cell[c];
    double here = 0;
    if (cell->twin != c || index++ % step != 0) continue;
    status = measure(experiment, cell, limit, &here, error);
    spent += here;
    rounds += (double)cell->settings.horizon;
  }
  (void)faro_dense_threads(threads);
  if (status == FARO_OK) estimate->seconds = spent * estimate->rounds / rounds;
  return status;
}
