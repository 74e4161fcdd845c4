/* play: plays one algorithm on one instance: the table of loops, the curve, the time. */
#include <time.h>

#include "base/clock.h"
#include "sim/loop.h"

static const faro_loop *const loops[] = {&faro_loop_updater, &faro_loop_estimator, &faro_loop_eliminator,
                                         &faro_loop_asker, &faro_loop_watcher};

const faro_loop *faro_loop_of(const faro_learner_kind *learner) {
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
    if (loops[i]->protocol == learner->protocol) return loops[i];
  return NULL;
}

/* Plays a range of rounds in pieces that take about 20 ms each, so that a stop is obeyed and
 * progress is seen at once, however long a round takes. `piece` is the size of the next one. */
static faro_status play_range(const faro_turn *turn, faro_play_rounds *rounds, void *state, uint64_t from,
                              uint64_t until, uint64_t *piece, double *measure, faro_error *error) {
  while (from < until) {
    if (faro_turn_stopped(turn)) return FARO_INTERRUPTED;
    const uint64_t next = until - from > *piece ? from + *piece : until;
    const double start = faro_clock();
    const faro_status status = rounds(state, from, next, measure, error);
    if (status != FARO_OK) return status;
    const double spent = faro_clock() - start;
    if (spent < 0.01 && next - from == *piece) *piece *= 2;
    if (spent > 0.04 && *piece > 1) *piece /= 2;
    faro_turn_played(turn, next);
    from = next;
  }
  return FARO_OK;
}

faro_status faro_play_curve(const faro_turn *turn, faro_play_rounds *rounds, void *state, faro_error *error) {
  uint64_t round[FARO_CURVE_POINTS];
  const size_t points = faro_curve_rounds(turn->cell->settings.horizon, round);
  double measure = 0;
  uint64_t piece = 1;
  for (size_t i = 0; i < points; i++) {
    const faro_status status =
        play_range(turn, rounds, state, i ? round[i - 1] : 0, round[i], &piece, &measure, error);
    if (status != FARO_OK) return status;
    turn->record->curve[i] = measure;
  }
  turn->record->regret = measure;
  return FARO_OK;
}

double faro_turn_kappa(const faro_turn *turn, faro_env *env) {
  return turn->cell->settings.calibration == FARO_CALIBRATION_FIGURE
             ? faro_env_begin_kappa(env, turn->seed, turn->instance)
             : faro_cell_asker(turn->cell).kappa;
}

void faro_turn_begin(const faro_turn *turn, faro_env *env) {
  const faro_yardstick yardstick = faro_env_begin_measured(env, turn->seed, turn->instance);
  turn->record->uniform = yardstick.uniform;
  turn->record->fixed = yardstick.fixed;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

faro_status faro_play(const faro_turn *turn, faro_error *error) {
  const double start = now();
  *turn->record = (faro_play_record){0};
  const faro_status status = turn->cell->loop->play(turn, error);
  turn->record->seconds = now() - start;
  return status;
}
