/* play: plays one algorithm on one instance: the table of loops, the curve, the time. */
#include <time.h>

#include "sim/loop.h"

static const faro_loop *const loops[] = {&faro_loop_updater, &faro_loop_estimator, &faro_loop_eliminator,
                                         &faro_loop_asker, &faro_loop_watcher};

const faro_loop *faro_loop_of(const faro_learner_kind *learner) {
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
    if (loops[i]->protocol == learner->protocol) return loops[i];
  return NULL;
}

faro_status faro_play_curve(const faro_turn *turn, faro_play_rounds *rounds, void *state, faro_error *error) {
  uint64_t round[FARO_CURVE_POINTS];
  const size_t points = faro_curve_rounds(turn->cell->settings.horizon, round);
  double measure = 0;
  for (size_t i = 0; i < points; i++) {
    if (faro_turn_stopped(turn)) return FARO_INTERRUPTED;
    const faro_status status = rounds(state, i ? round[i - 1] : 0, round[i], &measure, error);
    if (status != FARO_OK) return status;
    turn->record->curve[i] = measure;
  }
  turn->record->regret = measure;
  return FARO_OK;
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
