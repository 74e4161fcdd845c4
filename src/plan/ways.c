/* ways: see the header. */
#include "plan/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

uint64_t plan_rounds(const faro_problem *problem) {
  return problem->users * (problem->contributions > 0 ? problem->contributions : 1);
}

faro_cell *plan_cell(const plan_way *way) { return &way->experiment->cell[0]; }

/* The experiment. */

static void write_environment(faro_text *out, const faro_problem *p) {
  static const char *const linear[] = {[FARO_CONTEXTS_FRESH] = "linear-iid",
                                       [FARO_CONTEXTS_FIXED] = "linear-fixed",
                                       [FARO_CONTEXTS_ADVERSARIAL] = "linear-adversarial"};
  static const char *const contexts[] = {[FARO_CONTEXTS_FRESH] = "fresh",
                                         [FARO_CONTEXTS_FIXED] = "fixed",
                                         [FARO_CONTEXTS_ADVERSARIAL] = "adversarial"};
  const bool straight = p->rewards == FARO_LINK_LINEAR;
  faro_text_add(out, "environment: {name: %s%s, dimension: %zu, arms: %zu",
                straight ? linear[p->contexts] : "glm-", straight ? "" : faro_link_name(p->rewards),
                p->dimension, p->arms);
  if (!straight) faro_text_add(out, ", contexts: %s", contexts[p->contexts]);
  faro_text_add(out, "}\n");
}

static void write_algorithm(faro_text *out, const faro_way *way) {
  faro_text_add(out, "  - {label: \"%s, %s", way->release, way->learner);
  if (way->trust == FARO_TRUST_CONCURRENT)
    faro_text_add(out, ", %llu shufflers", (unsigned long long)way->shufflers);
  if (way->surrogate) faro_text_add(out, ", as if linear");
  faro_text_add(out, "\", learner: %s, release: %s", way->learner, way->release);
  if (way->trust == FARO_TRUST_CONCURRENT)
    faro_text_add(out, ", shufflers: %llu", (unsigned long long)way->shufflers);
  if (way->surrogate) faro_text_add(out, ", surrogate: true");
  if (!way->automatic) {
    faro_text_add(out, ", batch: %llu", (unsigned long long)way->batch);
    if (way->growth > 1) faro_text_add(out, ", growth: %g", way->growth);
    if (way->growth > 1 && way->largest > 0)
      faro_text_add(out, ", largest: %llu", (unsigned long long)way->largest);
  }
  faro_text_add(out, "}\n");
}

/* The default allows for one user in ten who colludes with the server. */
static double honest_of(const faro_problem *problem) { return problem->honest > 0 ? problem->honest : 0.9; }

char *plan_experiment(const faro_problem *problem, const faro_way *const *way, size_t count,
                      size_t instances) {
  char epsilon[FARO_NUMBER_SIZE];
  char delta[FARO_NUMBER_SIZE];
  char honest[FARO_NUMBER_SIZE];
  faro_text out = FARO_TEXT_INIT;
  write_environment(&out, problem);
  faro_text_add(&out, "horizon: %llu\ninstances: %zu\nepsilon: %s\ndelta: %s\n",
                (unsigned long long)plan_rounds(problem), instances, faro_number(problem->epsilon, epsilon),
                faro_number(problem->delta, delta));
  faro_text_add(&out, "honest: %s\n", faro_number(honest_of(problem), honest));
  if (problem->contributions > 0)
    faro_text_add(&out, "level: user\ncontributions: %llu\n", (unsigned long long)problem->contributions);
  faro_text_add(&out, "algorithms:\n");
  for (size_t i = 0; i < count; i++) write_algorithm(&out, way[i]);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}

/* The list. */

/* Whether another way is the same mechanism under another name. */
static bool is_twin(const plan_list *list, const plan_way *made) {
  const faro_cell *cell = plan_cell(made);
  for (size_t i = 0; i < list->count; i++) {
    const faro_cell *other = plan_cell(&list->way[i]);
    if (cell->learner == other->learner && list->way[i].way.trust == made->way.trust &&
        list->way[i].way.surrogate == made->way.surrogate && cell->noise == other->noise &&
        cell->cost.bits == other->cost.bits && cell->settings.batch == other->settings.batch &&
        cell->settings.growth == other->settings.growth && strcmp(cell->claim.by, other->claim.by) == 0)
      return true;
  }
  return false;
}

static void describe(plan_way *made) {
  const faro_cell *cell = plan_cell(made);
  faro_way *way = &made->way;
  way->batch = cell->settings.batch;
  way->growth = cell->settings.growth;
  way->largest = cell->settings.largest;
  way->bytes = cell->cost.bytes;
  way->noise = cell->noise;
  way->claim = cell->claim;
}

static faro_status note_refusal(plan_list *list, const faro_error *refusal, faro_error *error) {
  if (refusal->status != FARO_INVALID) return faro_fail(error, refusal->status, "%s", refusal->message);
  const char *text = strstr(refusal->message, ": "); /* after the name of the file, and the line */
  list->refused++;
  snprintf(list->refusal, sizeof list->refusal, "%.500s", text ? text + 2 : refusal->message);
  return FARO_OK;
}

faro_status plan_list_add(plan_list *list, const faro_problem *problem, const faro_way *way,
                          faro_error *error) {
  plan_way made = {.way = *way};
  faro_error refusal = {0};
  if (list->count == PLAN_WAYS) return FARO_OK;
  char *text = plan_experiment(problem, &way, 1, 20);
  if (!text) return faro_fail(error, FARO_MEMORY, "cannot allocate an experiment");
  const faro_status status =
      faro_experiment_parse(&made.experiment, "plan", text, strlen(text), NULL, &refusal);
  made.way.experiment = text;
  if (status == FARO_OK && !is_twin(list, &made)) {
    describe(&made);
    list->way[list->count++] = made;
    return FARO_OK;
  }
  free(text);
  faro_experiment_destroy(made.experiment);
  return status == FARO_OK ? FARO_OK : note_refusal(list, &refusal, error);
}

void plan_list_drop(plan_list *list) {
  const plan_way *last = &list->way[--list->count];
  faro_experiment_destroy(last->experiment);
  free(last->way.experiment);
}

void plan_list_clear(plan_list *list) {
  while (list->count > 0) plan_list_drop(list);
}

/* The trust model under which a release is listed: one shuffler is a choice where there are
 * several. */
static bool is_there(const faro_problem *problem, faro_trust trust) {
  const unsigned several = problem->trusts >> FARO_TRUST_CONCURRENT & 1 && trust == FARO_TRUST_SHUFFLE;
  return problem->trusts == 0 || problem->trusts >> trust & 1 || several;
}

/* Whether it is one of the two choices of another release, by name. */
static bool is_choice(const faro_release_kind *kind) {
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *other = faro_release_kind_at(i);
    if (other->alternative && other != kind && other->trust == kind->trust &&
        (other->alternative == kind || other->mechanism == kind->mechanism))
      return true;
  }
  return false;
}

static faro_status add_learners(plan_list *list, const faro_problem *problem, faro_way way,
                                faro_error *error) {
  static const char *const learners[] = {"posterior", "linucb", "greedy"};
  const bool linear = problem->rewards == FARO_LINK_LINEAR;
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < sizeof learners / sizeof *learners; i++) {
    const faro_learner_kind *learner = faro_learner_find(learners[i]);
    if (!learner || learner->protocol != FARO_PROTOCOL_UPDATER) continue;
    way.learner = learner->name;
    way.surrogate = false;
    if (linear || learner->generalised) status = plan_list_add(list, problem, &way, error);
    way.surrogate = true;
    if (status == FARO_OK && !linear && learner->generalised)
      status = plan_list_add(list, problem, &way, error);
  }
  return status;
}

faro_status plan_list_fill(plan_list *list, const faro_problem *problem, faro_error *error) {
  const uint64_t most = problem->shufflers > 0 ? problem->shufflers : 5;
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    const bool several = kind->trust == FARO_TRUST_CONCURRENT;
    if (kind->trust == FARO_TRUST_NONE || !is_there(problem, kind->trust) || is_choice(kind)) continue;
    for (uint64_t k = several ? 2 : 1; status == FARO_OK && k <= (several ? most : 1); k++) {
      const bool shuffles = several || kind->trust == FARO_TRUST_SHUFFLE;
      const faro_way way = {
          .release = kind->name, .trust = kind->trust, .shufflers = shuffles ? k : 0, .automatic = true};
      status = add_learners(list, problem, way, error);
    }
  }
  return status;
}
