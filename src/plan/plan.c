/* plan: see the header. Ways are listed (ways.c), played thinned on a few instances (crew.c), and
 * those that may be best on more of them. All numbers come from the same seeds, so ways are
 * compared on the same instances. */
#include <faro/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/crew.h"

enum { FIRST = 4, MOST = 32, LEAST = 8 };

/* Predicting. */

/* How many people are played in each batch. Rounds are dear where arms are drawn for every user. */
static uint64_t thin_of(const faro_problem *p, const faro_cell *cell) {
  const double size = (double)p->arms * (double)p->dimension;
  const double rounds = p->contexts == FARO_CONTEXTS_FIXED ? 8000 : fmin(8000, fmax(1500, 4e6 / size));
  return (uint64_t)fmax(16, rounds / (double)(cell->batches > 0 ? cell->batches : 1));
}

static void set_thin(const faro_problem *p, const faro_advice_options *o, plan_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    faro_cell *cell = plan_cell(&list->way[i]);
    cell->thin = o->simulate ? 0 : thin_of(p, cell);
  }
}

static double mean_of(const plan_way *w) {
  double sum = 0;
  for (size_t i = 0; i < w->played; i++) sum += w->regret[i];
  return sum / (double)w->played;
}

faro_status plan_try(plan_list *list, const faro_problem *p, const faro_advice_options *o, size_t until,
                     faro_error *error);
faro_status plan_try(plan_list *list, const faro_problem *p, const faro_advice_options *o, size_t until,
                     faro_error *error) {
  plan_way *all[PLAN_WAYS];
  set_thin(p, o, list);
  plan_crew crew = {.options = o, .total = list->count * until};
  for (size_t i = 0; i < list->count; i++) all[i] = &list->way[i];
  (void)mean_of;
  return plan_crew_play(&crew, all, list->count, until, error);
}
