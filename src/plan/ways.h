/* ways: what a planner may choose from: a release, a learner and a schedule, as an experiment of
 * one algorithm that can be played thinned. */
#ifndef FARO_PLAN_WAYS_H
#define FARO_PLAN_WAYS_H

#include <faro/plan.h>
#include <faro/sim.h>

#include "sim/experiment.h"

enum { PLAN_INSTANCES = 64, PLAN_WAYS = 256 };

typedef struct plan_way {
  faro_way way;
  faro_experiment *experiment; /* its only cell is what is played */
  double regret[PLAN_INSTANCES];
  size_t played; /* instances */
  /* From the instances that chose the finalists: the best way of its group, the mean regret over
   * that way's, and half of the interval over the mean. */
  const struct plan_way *reference;
  double ratio, spread;
} plan_way;

typedef struct plan_list {
  size_t count;
  plan_way way[PLAN_WAYS];
  size_t refused;
  char refusal[512];
} plan_list;

/* Every release of the problem's trust models with every learner, and the schedule that the release
 * chooses. */
faro_status plan_list_fill(plan_list *list, const faro_problem *problem, faro_error *error);
/* The same release and learner with another schedule. What cannot run is left out. */
faro_status plan_list_add(plan_list *list, const faro_problem *problem, const faro_way *way,
                          faro_error *error);
void plan_list_drop(plan_list *list); /* the last one */
void plan_list_clear(plan_list *list);

/* The cell that is played. */
faro_cell *plan_cell(const plan_way *way);
/* YAML of an experiment with some ways; NULL if memory runs out. The caller frees it. */
char *plan_experiment(const faro_problem *problem, const faro_way *const *way, size_t count,
                      size_t instances);
uint64_t plan_rounds(const faro_problem *problem);

#endif
