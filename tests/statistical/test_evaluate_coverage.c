/* Coverage of the intervals of an evaluation, over 1000 simulated logs per setting, against values
 * that are known exactly. It prints the tables of docs/evaluate.md.
 *
 * Nothing in src/evaluate was chosen by these settings: the corrections are those of the papers
 * (ratio.c), and 30 effective rows are the usual least number. Seeds are fixed. A coverage is
 * refused if a true one of 93.5 % (97 % above) would give it with probability below FALSE_ALARM;
 * what is expected to fail is only printed. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/logs.h"

enum { RUNS = 1000 };

/* How often a method's interval held, and how wide it was. */
typedef struct hits {
  double made, held, width, error; /* error: sum of squared errors of the estimate */
} hits;

static void count(hits *h, const faro_evaluated *e, double truth) {
  h->error += (e->value - truth) * (e->value - truth);
  if (e->silence != FARO_SILENCE_NOTHING) return;
  h->made++;
  h->held += e->low <= truth && truth <= e->high;
  h->width += e->high - e->low;
}

/* Draws the same log again for every pass. */
typedef struct pass {
  const log_world *world;
  faro_sim_rng rng;
  uint64_t row, rows;
} pass;

static pass begin(const log_world *world, uint64_t rows, uint64_t run) {
  pass p = {.world = world, .rows = rows};
  faro_sim_open(&p.rng, 17, run, FARO_ROLE_VISITOR);
  return p;
}

/* People are new in every run, so that the luck of their draw is part of what is measured. */
static bool next(pass *p, uint64_t run, size_t *context, faro_logged *row) {
  if (p->row == p->rows) return false;
  const uint64_t each = p->world->rows_each > 0 ? p->world->rows_each : 1;
  log_draw(p->world, &p->rng, run * 1000003 + p->row++ / each, context, row);
  return true;
}

static faro_reward_model *learn(const log_world *w, uint64_t rows, uint64_t run) {
  faro_reward_model *model = NULL;
  const faro_reward_model_params params = {.arms = LOG_ARMS, .dimension = LOG_FEATURES, .high = 1};
  assert_ok(faro_reward_model_create(&model, &params, error));
  pass p = begin(w, rows, run);
  faro_logged row;
  size_t k = 0;
  while (next(&p, run, &k, &row))
    faro_reward_model_learn(model, w->rows_each > 1 ? row.person : p.row, row.arm, w->x[k], row.reward);
  faro_reward_model_fit(model);
  return model;
}

static void predict(const faro_reward_model *model, const log_world *w, uint64_t group, size_t k,
                    faro_logged *row) {
  double mean[LOG_ARMS];
  faro_reward_model_predict(model, group, w->x[k], mean);
  row->prediction = mean[row->arm];
  row->value = 0;
  for (size_t a = 0; a < LOG_ARMS; a++) row->value += w->target[k][a] * mean[a];
}

static double greatest_weight(const log_world *w) {
  double most = 0;
  for (size_t k = 0; k < LOG_CONTEXTS; k++)
    for (size_t a = 0; a < LOG_ARMS; a++) most = fmax(most, w->target[k][a] / w->stated[k][a]);
  return most;
}

static void evaluate(const log_world *w, uint64_t rows, uint64_t run, faro_bounds interval, double clip,
                     faro_evaluation *out) {
  faro_evaluator *e = NULL;
  const faro_evaluator_params params = {.arms = LOG_ARMS,
                                        .high = 1,
                                        .model = true,
                                        .clip = clip,
                                        .accept = greatest_weight(w),
                                        .people = w->rows_each > 1,
                                        .interval = interval,
                                        .seed = run};
  assert_ok(faro_evaluator_create(&e, &params, error));
  faro_reward_model *model = learn(w, rows, run);
  pass p = begin(w, rows, run);
  faro_logged row;
  size_t k = 0;
  while (next(&p, run, &k, &row)) {
    predict(model, w, w->rows_each > 1 ? row.person : p.row, k, &row);
    assert_ok(faro_evaluator_add(e, &row, error));
  }
  faro_evaluator_result(e, out);
  faro_reward_model_destroy(model);
  faro_evaluator_destroy(e);
}

typedef struct setting {
  const char *name;
  double sharp, sure;
  bool bent;
  double misstated; /* sharpness of the stated propensities; 0: true ones */
  size_t rows_each;
  uint64_t rows;
  unsigned expected; /* methods whose coverage must be right */
} setting;

#define ALL                                                                                                  \
  ((1U << FARO_METHOD_REPLAY) | (1U << FARO_METHOD_IPS) | (1U << FARO_METHOD_SNIPS) | (1U << FARO_METHOD_DR))

static const setting settings[] = {
    {"good overlap", 0.5, 0.8, false, 0, 1, 1000, ALL},
    {"good overlap, small log", 0.5, 0.8, false, 0, 1, 200, ALL},
    {"poor overlap", 2, 0.9, false, 0, 1, 10000, ALL & ~(1U << FARO_METHOD_REPLAY)},
    {"poor overlap, small log", 2, 0.9, false, 0, 1, 1000, 0},
    {"very poor overlap", 4, 1, false, 0, 1, 1000, 0},
    {"wrong model", 0.5, 0.8, true, 0, 1, 1000, ALL},
    {"wrong propensities", 0.5, 0.8, false, 1, 1, 1000, 1U << FARO_METHOD_DR},
    {"ten rows per person", 0.5, 0.8, false, 0, 10, 2000, ALL},
};

static log_world world_of(const setting *s) {
  log_world w = log_world_make(s->sharp, s->sure, s->bent);
  if (s->misstated > 0) log_world_misstate(&w, s->misstated);
  w.rows_each = s->rows_each;
  return w;
}

static double share(const hits *h) { return h->held / h->made; }

static void assert_coverage(const hits *h) {
  const double z = 4.9; /* two-sided 1e-6 */
  const double slack = z * sqrt(0.95 * 0.05 / h->made);
  if (!(share(h) >= 0.935 - slack && share(h) <= 0.97 + slack))
    fail_msg("an interval of 95 %% held in %.1f %% of %.0f runs", 100 * share(h), h->made);
}

static const faro_method shown[] = {FARO_METHOD_REPLAY, FARO_METHOD_IPS, FARO_METHOD_SNIPS, FARO_METHOD_DR};

static void cover(const setting *s, faro_bounds interval) {
  const log_world w = world_of(s);
  const double truth = log_world_value(&w);
  hits h[FARO_METHODS] = {{0}};
  double effective = 0;
  double warned = 0;
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_evaluation out;
    evaluate(&w, s->rows, run, interval, interval == FARO_BOUNDS_BERNSTEIN ? greatest_weight(&w) : 0, &out);
    for (size_t m = 0; m < FARO_METHODS; m++) count(&h[m], &out.of[m], truth);
    effective += out.effective / RUNS;
    warned += (double)(out.doubts > 0) / RUNS;
  }
  printf("| %s | %llu | %.0f | %.0f %%", s->name, (unsigned long long)s->rows, effective, 100 * warned);
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    const hits *one = &h[shown[i]];
    if (one->made < RUNS / 2) printf(" | no interval");
    else printf(" | %.1f (%.3f)", 100 * share(one), one->width / one->made / 2);
  }
  printf(" |\n");
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
    if (s->expected >> shown[i] & 1 && interval == FARO_BOUNDS_SKEW) assert_coverage(&h[shown[i]]);
}

static void head(const char *what) {
  printf("\n%s: %d runs; %% of 95 %% intervals that held (mean half width)\n\n", what, (int)RUNS);
  printf("| setting | rows | effective | warned");
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) printf(" | %s", faro_method_name(shown[i]));
  printf(" |\n|---|---|---|---|---|---|---|---|\n");
}

static void test_evaluate__intervals_cover(void **state) {
  (void)state;
  head("interval skew (the default)");
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) cover(&settings[i], FARO_BOUNDS_SKEW);
  head("interval normal");
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) cover(&settings[i], FARO_BOUNDS_NORMAL);
  head("interval bernstein, weights clipped to the greatest possible one");
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (settings[i].rows_each == 1) cover(&settings[i], FARO_BOUNDS_BERNSTEIN);
}

/* ---- private */

typedef struct private_setting {
  const char *name;
  faro_trust trust;
  double sharp, sure, clip;
  size_t rows_each;
  uint64_t contributions, rows;
  double epsilon;
} private_setting;

static const private_setting private_settings[] = {
    {"trusted server", FARO_TRUST_JOINT, 0.5, 0.8, 8, 1, 0, 2000, 1},
    {"trusted server, epsilon 0.1", FARO_TRUST_JOINT, 0.5, 0.8, 8, 1, 0, 20000, 0.1},
    {"trusted server, poor overlap", FARO_TRUST_JOINT, 2, 0.9, 93, 1, 0, 10000, 1},
    {"shuffler", FARO_TRUST_SHUFFLE, 0.5, 0.8, 8, 1, 0, 2000, 1},
    {"nobody trusted", FARO_TRUST_LOCAL, 0.5, 0.8, 8, 1, 0, 20000, 1},
    {"trusted server, ten rows per person", FARO_TRUST_JOINT, 0.5, 0.8, 8, 10, 10, 10000, 1},
};

/* A model that is public: the truth, a little wrong. */
static void predict_publicly(const log_world *w, size_t k, faro_logged *row) {
  row->prediction = 0.1 + 0.8 * w->mean[k][row->arm];
  row->value = 0;
  for (size_t a = 0; a < LOG_ARMS; a++) row->value += w->target[k][a] * (0.1 + 0.8 * w->mean[k][a]);
}

static void evaluate_privately(const private_setting *s, const log_world *w, uint64_t run,
                               faro_private_evaluation *out) {
  faro_sim_rng noise;
  faro_sim_open(&noise, 18, run, FARO_ROLE_USER);
  faro_private_evaluator *e = NULL;
  const faro_private_evaluator_params params = {.epsilon = s->epsilon,
                                                .delta = 1e-6,
                                                .kind = faro_evaluate_kind(s->trust),
                                                .high = 1,
                                                .clip = s->clip,
                                                .model = true,
                                                .people = s->rows,
                                                .contributions = s->contributions};
  assert_ok(faro_private_evaluator_create(&e, &params, faro_source_simulated(&noise), error));
  pass p = begin(w, s->rows, run);
  faro_logged row;
  size_t k = 0;
  while (next(&p, run, &k, &row)) {
    predict_publicly(w, k, &row);
    assert_ok(faro_private_evaluator_add(e, &row, error));
  }
  assert_ok(faro_private_evaluator_finish(e, out, error));
  assert_true(out->claim.proven);
  faro_private_evaluator_destroy(e);
}

static void cover_privately(const private_setting *s) {
  static const faro_method methods[] = {FARO_METHOD_LOGGED, FARO_METHOD_IPS, FARO_METHOD_SNIPS,
                                        FARO_METHOD_DR};
  log_world w = log_world_make(s->sharp, s->sure, false);
  w.rows_each = s->rows_each;
  hits h[FARO_METHODS] = {{0}};
  double doubted = 0;
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_private_evaluation out;
    evaluate_privately(s, &w, run, &out);
    for (size_t i = 0; i < 4; i++)
      count(&h[methods[i]], &out.of[methods[i]],
            methods[i] == FARO_METHOD_LOGGED ? log_world_logged(&w) : log_world_value(&w));
    doubted += (double)(out.doubts >> FARO_DOUBT_WEIGHTS & 1) / RUNS;
  }
  printf("| %s | %llu | %g", s->name, (unsigned long long)s->rows, s->epsilon);
  for (size_t i = 0; i < 4; i++) {
    const hits *one = &h[methods[i]];
    if (one->made < RUNS / 2) printf(" | no interval");
    else printf(" | %.1f (%.3f)", 100 * share(one), one->width / one->made / 2);
  }
  printf(" |\n");
  for (size_t i = 0; i < 4; i++) /* bounds on the spread may make them wider, never shorter */
    if (h[methods[i]].made > RUNS / 2)
      assert_true(share(&h[methods[i]]) > 0.95 - 4.9 * sqrt(0.95 * 0.05 / RUNS));
  assert_true(doubted < 0.006); /* beyond four standard errors: 6e-5 of the runs */
}

static void test_evaluate__private_intervals_cover(void **state) {
  (void)state;
  printf("\nprivate, delta 1e-6: %d runs; %% of 95 %% intervals that held (mean half width)\n\n", (int)RUNS);
  printf("| trust | rows | epsilon | logged | ips | snips | dr |\n|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < sizeof private_settings / sizeof *private_settings; i++)
    cover_privately(&private_settings[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_evaluate__intervals_cover),
                                     cmocka_unit_test(test_evaluate__private_intervals_cover)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
