/* asker, watcher: the loops of generalised linear rewards, against naive replays. The asking
 * learner does what the test says and records what it is told. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "env/kind.h"
#include "learner/kind.h"
#include "learner/optimism.h"
#include "support/play.h"

enum { D = 3, ARMS = 6, ROUNDS = 1000 };

/* ---- the learner: part 0 and part 1 alternate every three people, arm by luck, a fit of each part
 * when it sees sums */

static struct {
  uint64_t term;                   /* length of all terms */
  uint64_t quiet_after;            /* number of terms after which nobody is asked; 0: never */
  uint64_t fits[FARO_PARTS];       /* announced */
  uint64_t asks[FARO_PARTS];       /* asked for per term, at its end or earlier */
  uint64_t every;                  /* questions after every n-th sum only */
  faro_asker_params params;        /* the parameters it was created with */
  faro_optimism own;               /* its settings */
  uint64_t terms, begun, answered; /* what happened */
  uint64_t picks, seen, seen_at[ROUNDS];
  uint64_t asked_at; /* person at the first question of part 1 */
  double luck[ROUNDS];
  double gram[FARO_PARTS][D * (D + 1) / 2]; /* of the last sums */
  double theta[FARO_PARTS][D];              /* last answers */
  bool noisy;
} probe;

typedef struct probe_state {
  uint64_t left[FARO_PARTS], seen;
  unsigned part; /* of the current question */
} probe_state;

static unsigned part_of(uint64_t person) { return person / 3 % 2 == 0 ? 0 : 1; }
static double weight_of(uint64_t person) {
  return part_of(person) == 0 ? 1 : 0.05 + 0.01 * (double)(person % 7);
}
static size_t arm_of(double luck) { return (size_t)(luck * ARMS); }

static faro_status probe_init(void *state, const faro_asker_params *params, faro_host *host,
                              faro_error *error) {
  (void)state, (void)host, (void)error;
  probe.params = *params;
  probe.own = *(const faro_optimism *)params->settings;
  return FARO_OK;
}

static uint64_t probe_term(void *state) {
  (void)state;
  probe.terms++;
  return probe.quiet_after > 0 && probe.terms > probe.quiet_after ? 0 : probe.term;
}

static void probe_begin(void *state, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]) {
  probe_state *s = state;
  probe.begun++;
  probe.noisy = noise[0].scale && noise[1].scale && noise[0].scale[0] > 0 && noise[1].scale[0] > 0;
  for (unsigned p = 0; p < FARO_PARTS; p++) {
    fits[p] = probe.fits[p];
    s->left[p] = probe.asks[p];
  }
}

static faro_pick probe_pick(void *state, const faro_arms *arms, double luck) {
  (void)state;
  assert_int_equal(arms->count, ARMS);
  const uint64_t person = probe.picks++;
  probe.luck[person] = luck;
  return (faro_pick){.arm = arm_of(luck), .part = part_of(person), .weight = weight_of(person)};
}

static void probe_see(void *state, const faro_statistics sum[FARO_PARTS]) {
  probe_state *s = state;
  probe.seen_at[probe.seen++] = probe.picks;
  for (unsigned p = 0; p < FARO_PARTS; p++) memcpy(probe.gram[p], sum[p].sum, sizeof probe.gram[p]);
  s->seen++;
}

static bool probe_ask(void *state, faro_question *question) {
  probe_state *s = state;
  static const double start[D];
  if (s->seen % probe.every != 0) return false;
  const unsigned part = s->left[0] > 0 ? 0 : 1;
  if (s->left[part] == 0) return false;
  s->left[part]--;
  s->part = part;
  if (part == 1 && probe.asked_at == 0) probe.asked_at = probe.picks;
  *question = (faro_question){.part = part, .ridge = 0.5, .region = {.radius = 2}, .start = start};
  return true;
}

static void probe_answer(void *state, const faro_answer *answer) {
  probe_state *s = state;
  memcpy(probe.theta[s->part], answer->theta, sizeof probe.theta[s->part]);
  probe.answered++;
}

static const faro_asker_kind probe_kind = {
    .about = {.name = "probe",
              .summary = "",
              .protocol = FARO_PROTOCOL_ASKER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(probe_state),
    .studies = FARO_STUDIES_CONTINUAL,
    .init = probe_init,
    .term = probe_term,
    .begin = probe_begin,
    .pick = probe_pick,
    .see = probe_see,
    .ask = probe_ask,
    .answer = probe_answer,
};

/* ---- a cell with it */

static void set_probe(uint64_t term, uint64_t fits, uint64_t every) {
  memset(&probe, 0, sizeof probe);
  probe.term = term;
  probe.every = every;
  for (unsigned p = 0; p < FARO_PARTS; p++) probe.fits[p] = probe.asks[p] = fits;
}

static faro_experiment *parse(const char *learner, const char *settings, uint64_t horizon) {
  return parse_experiment("environment: {name: glm-logistic, dimension: %d, arms: %d}\nhorizon: %llu\n%s\n"
                          "algorithms:\n  - {learner: %s, release: none}\n",
                          D, ARMS, (unsigned long long)horizon, settings, learner);
}

/* Puts the probe in place of glm-ucb, whose settings it shares, and rehearses the cell. */
static faro_status rehearse_probe(faro_experiment *e, const char *release, faro_error *error) {
  faro_cell *cell = &e->cell[0];
  cell->learner = &probe_kind.about;
  cell->loop = faro_loop_of(cell->learner);
  cell->release = faro_release_kind_find(release);
  cell->settings.batch = 0;
  return cell->loop->rehearse(cell, error);
}

static faro_cell *put_probe(faro_experiment *e, const char *release) {
  assert_ok(rehearse_probe(e, release, error));
  return &e->cell[0];
}

/* ---- tests */

static void test_watchers__regret_is_that_of_a_naive_loop(void **state) {
  (void)state;
  const char *const names[] = {"glm-ucb", "gloc", "ecolog"};
  for (size_t k = 0; k < 3; k++) {
    faro_experiment *e = parse(names[k], "", ROUNDS);
    const faro_cell *cell = &e->cell[0];
    const faro_play_record record = play_cell(cell, 3);
    faro_env *env = make_cell_env(cell, 3);
    faro_watcher *learner = NULL;
    const double slope = 1 / (2 + exp(2) + exp(-2)); /* of the logistic function at S = 2 */
    const faro_watcher_params p = {.dimension = D,
                                   .horizon = ROUNDS,
                                   .failure = 0.1,
                                   .link = FARO_LINK_LOGISTIC,
                                   .bound = 2,
                                   .kappa = 1 / slope,
                                   .offers = ARMS,
                                   .calibration = FARO_CALIBRATION_TIGHT,
                                   .settings = &(faro_optimism){.optimism = 0.2}};
    assert_ok(faro_watcher_create(&learner, cell->learner, &p, error));
    double regret = 0;
    double x[D];
    for (int t = 0; t < ROUNDS; t++) {
      const size_t arm = faro_watcher_pick(learner, faro_env_arms(env));
      regret += faro_env_gap(env, arm);
      const double y = faro_env_play(env, arm, x);
      faro_watcher_observe(learner, x, y);
    }
    assert_close(record.regret, regret, 1e-9);
    assert_true(record.curve[199] == record.regret && record.curve[0] < record.curve[199]);
    assert_true(record.early == 0 && record.explored == 0 && record.users == 0);
    assert_true(record.updates == (double)faro_watcher_diagnose(learner).updates);
    assert_true(isnan(cell->claim.epsilon) && cell->claim.trust == FARO_TRUST_NONE);
    assert_true(cell->cost.bytes == 72 + 48 + 32 + 8 * (D + 1));
    assert_true(cell->cost.bits == 64 * (D + 1) && cell->settings.batch == 1);
    faro_watcher_destroy(learner);
    faro_env_destroy(env);
    faro_experiment_destroy(e);
  }
}

/* The parameters of the learner. */
static void test_params__are_those_of_the_cell(void **state) {
  (void)state;
  const struct {
    const char *settings;
    faro_calibration calibration;
    double optimism; /* the expected value */
  } at[] = {{"calibration: tight\noptimism: 0.5", FARO_CALIBRATION_TIGHT, 0.5},
            {"calibration: paper\noptimism: 0.5", FARO_CALIBRATION_PAPER, 1},
            {"calibration: figure", FARO_CALIBRATION_FIGURE, 1}};
  for (size_t i = 0; i < 3; i++) {
    faro_experiment *e = parse("glm-ucb", at[i].settings, 50);
    assert_int_equal(e->cell[0].settings.draw, FARO_DRAW_BALL);
    ((faro_env_settings *)e->cell[0].env_own)->norm = 3;
    set_probe(50, 0, 1);
    (void)put_probe(e, "none");
    const faro_asker_params *p = &probe.params;
    assert_int_equal(p->calibration, at[i].calibration);
    assert_true(faro_optimism_of(&probe.own, p->calibration) == at[i].optimism);
    assert_true(p->dimension == D && p->horizon == 50 && p->offers == ARMS && p->bound == 3);
    assert_true(p->link == FARO_LINK_LOGISTIC && p->failure == 0.1);
    assert_close(p->kappa, 2 + exp(3) + exp(-3), 1e-11);
    faro_experiment_destroy(e);
  }
}

/* Under figure, kappa is that of the arms which the instance will have. */
static void test_kappa__is_the_instances_under_figure(void **state) {
  (void)state;
  static const char *const contexts[] = {"fresh", "adversarial", "fixed"};
  for (size_t k = 0; k < 3; k++)
    for (uint64_t instance = 0; instance < 3; instance++) {
      faro_experiment *e =
          parse_experiment("environment: {name: glm-logistic, dimension: %d, arms: %d, contexts: %s}\n"
                           "horizon: 50\ncalibration: figure\n"
                           "algorithms: [{learner: glm-ucb, release: none}]\n",
                           D, ARMS, contexts[k]);
      set_probe(50, 0, 1);
      const faro_cell *cell = put_probe(e, "none");
      (void)play_cell(cell, instance);
      double greatest = 0;
      faro_env *env = make_cell_env(cell, instance);
      for (int t = 0; t < 50; t++) {
        const faro_arms *arms = faro_env_arms(env);
        for (size_t a = 0; a < ARMS; a++) {
          double z = 0;
          for (size_t i = 0; i < D; i++) z += arms->x[i * arms->stride + a] * env->theta[i];
          greatest = fmax(greatest, 2 + exp(z) + exp(-z));
        }
        double x[D];
        (void)faro_env_play(env, 0, x);
      }
      assert_close(probe.params.kappa, greatest, 1e-9);
      assert_true(greatest < 2 + exp(2) + exp(-2));
      faro_env_destroy(env);
      faro_experiment_destroy(e);
    }
}

static void test_draw__may_be_set(void **state) {
  (void)state;
  faro_experiment *e =
      parse_experiment("environment: {name: glm-probit, draw: sphere, norm: 0.5}\nhorizon: 10\n"
                       "calibration: figure\nalgorithms: [{learner: gloc, release: none}]\n");
  assert_int_equal(e->cell[0].settings.draw, FARO_DRAW_SPHERE);
  assert_true(faro_cell_facts(&e->cell[0]).bound == 0.5);
  faro_experiment_destroy(e);
}

/* Everything again from the log: who played what, whose data went where, what was seen and
 * answered, and the regret before the first answer of part 1. Terms of 300 people: 300, 300, 300,
 * 100. */
static void test_studies__equal_a_naive_loop(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "", ROUNDS);
  set_probe(300, 1, 200);
  const faro_cell *cell = put_probe(e, "none");
  assert_true(cell->settings.batch == 1);
  set_probe(300, 1, 200); /* forget the rehearsal */
  const faro_play_record record = play_cell(cell, 5);
  assert_int_equal(probe.picks, ROUNDS);
  assert_int_equal(probe.terms, 4);
  assert_int_equal(probe.begun, 4);
  assert_int_equal(probe.seen, ROUNDS - 1); /* after every person but the last */
  assert_int_equal(probe.answered, 6);      /* after 200, 400 and 800 sums, each in another term */
  assert_true(record.updates == 6 && record.users == ROUNDS);
  assert_false(probe.noisy);
  faro_env *env = make_cell_env(cell, 5);
  faro_sim_rng luck;
  faro_sim_open(&luck, PLAY_SEED, 5, FARO_ROLE_LUCK);
  double regret = 0;
  double early = 0;
  double explored = 0;
  double gram[FARO_PARTS][D * (D + 1) / 2] = {0};
  static double x[FARO_PARTS][ROUNDS * D];
  static double y[FARO_PARTS][ROUNDS];
  size_t count[FARO_PARTS] = {0};
  double theta[FARO_PARTS][D] = {0};
  faro_solver *solver = NULL;
  assert_ok(faro_solver_create(&solver, D, error));
  for (uint64_t t = 0; t < ROUNDS; t++) {
    assert_true(probe.luck[t] == faro_sim_uniform(&luck));
    const size_t arm = arm_of(probe.luck[t]);
    const unsigned p = part_of(t);
    if (t % 300 == 0) memset(count, 0, sizeof count), memset(gram, 0, sizeof gram);
    regret += faro_env_gap(env, arm);
    double *row = x[p] + count[p] * D;
    y[p][count[p]++] = faro_env_play(env, arm, row);
    explored += p == 0;
    for (size_t i = 0, k = 0; i < D; i++)
      for (size_t j = 0; j <= i; j++, k++)
        if (t + 1 < ROUNDS) gram[p][k] += weight_of(t) * row[i] * row[j];
    if (t + 1 == probe.asked_at) early = regret;
    if (t + 1 != 800) continue;
    for (unsigned q = 0; q < FARO_PARTS; q++) {
      const faro_rows rows = {.dimension = D, .count = count[q], .x = x[q], .y = y[q]};
      (void)faro_solver_minimise(solver, FARO_LINK_LOGISTIC, &rows, 0.5, &(faro_region){.radius = 2},
                                 theta[q]);
    }
  }
  assert_int_equal(probe.asked_at, 200);
  assert_close(record.regret, regret, 1e-9);
  assert_close(record.early, early, 1e-9);
  assert_true(record.early > 0 && record.early < record.regret / 2);
  assert_true(record.explored == explored / ROUNDS);
  for (unsigned p = 0; p < FARO_PARTS; p++) {
    for (size_t i = 0; i < D; i++) assert_close(probe.theta[p][i], theta[p][i], 1e-6);
    for (size_t k = 0; k < D * (D + 1) / 2; k++) assert_close(probe.gram[p][k], gram[p][k], 1e-9);
  }
  faro_solver_destroy(solver);
  faro_env_destroy(env);
  faro_experiment_destroy(e);
}

/* Sums after every 40 people, and once more at the end of the term of 100; nothing after the last
 * person. */
static void test_studies__are_seen_after_batches_and_at_the_end_of_a_term(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "", 210);
  set_probe(100, 0, 1);
  faro_cell *cell = put_probe(e, "none");
  cell->settings.batch = 40;
  set_probe(100, 0, 1);
  (void)play_cell(cell, 0);
  static const uint64_t at[] = {40, 80, 100, 140, 180, 200};
  assert_int_equal(probe.begun, 3);
  assert_int_equal(probe.seen, 6);
  assert_memory_equal(probe.seen_at, at, sizeof at);
  faro_experiment_destroy(e);
}

/* If a learner never asks, all regret is early. */
static void test_early__is_all_regret_without_an_estimate(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "", 300);
  set_probe(300, 1, 1);
  const faro_cell *cell = put_probe(e, "none");
  set_probe(300, 1, 1);
  probe.asks[1] = 0; /* part 0 alone does not re-estimate the parameter */
  const faro_play_record record = play_cell(cell, 0);
  assert_int_equal(probe.answered, 1);
  assert_true(record.early == record.regret && record.regret > 0);
  faro_experiment_destroy(e);
}

/* Under privacy: the learner is told the noise, the claim of the rehearsal holds, and later terms
 * must keep it. */
static void test_claims__of_the_first_term_hold_for_all(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "epsilon: 2\ndelta: 1e-3", 400);
  set_probe(200, 1, 40);
  faro_cell *cell = put_probe(e, "central-tree");
  assert_true(cell->claim.epsilon <= 2 && cell->claim.delta <= 1e-3 && cell->claim.proven);
  assert_int_equal(cell->claim.trust, FARO_TRUST_JOINT);
  assert_true(probe.noisy);
  assert_true(cell->settings.batch == 5); /* the cube root of 200 is 5.8: 40 sums in a term */
  set_probe(200, 1, 40);
  const faro_play_record record = play_cell(cell, 0);
  assert_true(record.updates == 2 && record.early < record.regret);
  set_probe(200, 1, 40);
  faro_play_record again = play_cell(cell, 0);
  again.seconds = record.seconds;
  assert_memory_equal(&record, &again, sizeof record);
  cell->claim.epsilon = 1;
  faro_error error = {0};
  set_probe(200, 1, 40);
  assert_int_equal(try_cell(cell, &again, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "a term of 200 people has a weaker claim"));
  faro_experiment_destroy(e);
}

/* No more terms: the rest of the horizon is played and its regret counts, but nobody is asked, and
 * nobody sends anything. */
static void test_terms__without_people_need_no_study(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "epsilon: 2\ndelta: 1e-3", 300);
  set_probe(100, 1, 25);
  probe.quiet_after = 1;
  const faro_cell *cell = put_probe(e, "central-tree");
  assert_int_equal(probe.begun, 1);
  set_probe(100, 1, 25);
  probe.quiet_after = 1;
  const faro_play_record record = play_cell(cell, 7);
  assert_int_equal(probe.picks, 300);
  assert_int_equal(probe.terms, 2);
  assert_int_equal(probe.begun, 1);
  assert_int_equal(probe.seen, 25); /* the cube root of 100 is 4.6: batches of 4 */
  assert_int_equal(probe.seen_at[24], 100);
  assert_int_equal(probe.answered, 2);
  assert_true(record.users == 100 && record.posted == 0);
  assert_true(record.sent == 100 * 2 * 64 * D * (D + 1) / 2); /* two sums of 64-bit numbers */
  faro_env *env = make_cell_env(cell, 7);
  double regret = 0;
  double early = 0;
  double x[D];
  for (uint64_t t = 0; t < 300; t++) {
    regret += faro_env_gap(env, arm_of(probe.luck[t]));
    (void)faro_env_play(env, arm_of(probe.luck[t]), x);
    if (t + 1 == 100) early = regret;
  }
  assert_close(record.regret, regret, 1e-9);
  assert_close(record.early, early, 1e-9);
  assert_true(early < regret);
  assert_close(record.explored, 0.5, 1e-15); /* all of them choose; turns of three end with 300 */
  faro_env_destroy(env);
  faro_experiment_destroy(e);
}

static void assert_refused(faro_experiment *e, const char *release, const char *text) {
  faro_error why = {0};
  assert_int_equal(rehearse_probe(e, release, &why), FARO_INVALID);
  assert_memory_equal(why.message, text, strlen(text));
}

/* A learner that would ask nobody, and one whose second term has one person, whom no shuffler can
 * hide. */
static void test_rehearse__refuses_what_any_term_would(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "epsilon: 2\ndelta: 1e-3", 101);
  set_probe(0, 0, 1);
  assert_refused(e, "none", "horizon must be longer for learner probe, which could ask nobody (got 101)");
  set_probe(100, 0, 1);
  assert_refused(e, "shuffle-bits", "people must be 2");
  assert_int_equal(probe.terms, 2);
  assert_int_equal(probe.begun, 1);
  faro_experiment_destroy(e);
}

/* The cost of one person who answers a sum and, if asked, a fit: as reported by a study alone. */
static faro_cost cost_alone(const faro_cell *cell, bool fitted) {
  const faro_study_params p = {.link = FARO_LINK_LOGISTIC,
                               .dimension = D,
                               .norm = 2,
                               .reward = 1,
                               .steepest = 0.25,
                               .people = 100,
                               .batch = 100,
                               .horizon = 200,
                               .failure = 0.1,
                               .epsilon = 2,
                               .delta = 1e-3,
                               .calibration = FARO_CALIBRATION_TIGHT};
  const uint64_t fits[FARO_PARTS] = {0, 1};
  const double x[D] = {0.5, 0.5, 0};
  double theta[D] = {0};
  faro_answer answer = {.theta = theta};
  const faro_question question = {.part = 1, .ridge = 0.5, .region = {.radius = 2}, .start = x};
  faro_study *study = NULL;
  faro_sim_rng sim;
  faro_sim_open(&sim, 99, 0, FARO_ROLE_USER);
  assert_ok(faro_study_create(&study, cell->release, &p, &sim, error));
  assert_ok(faro_study_allow(study, fits, error));
  for (int i = 0; i < 100; i++) (void)faro_study_add(study, x, 1, 1, 0.1);
  if (fitted) assert_ok(faro_study_fit(study, &question, &answer, error));
  const faro_cost cost = faro_study_cost(study);
  faro_study_destroy(study);
  return cost;
}

/* Two terms of 100 people through a shuffler; a fit at the end of the first, no fit after the last
 * person. */
static void test_cost__of_a_term_includes_its_fits(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "epsilon: 2\ndelta: 1e-3", 200);
  set_probe(100, 1, 1);
  probe.fits[0] = probe.asks[0] = 0;
  const faro_cell *cell = put_probe(e, "shuffle-bits");
  set_probe(100, 1, 1);
  probe.fits[0] = probe.asks[0] = 0;
  const faro_play_record record = play_cell(cell, 0);
  const faro_cost with = cost_alone(cell, true);
  const faro_cost without = cost_alone(cell, false);
  assert_int_equal(probe.answered, 1);
  assert_true(with.bits > without.bits && without.bits > 0 && without.messages > 0);
  assert_true(record.users == 200 && cell->cost.bits == without.bits);
  assert_close(record.sent / (100 * (with.bits + without.bits)), 1, 1e-12);
  assert_close(record.bytes / (100 * (with.bytes + without.bytes)), 1, 1e-12);
  assert_true(with.bytes > without.bytes && without.bytes > 72);
  assert_close(record.posted / (100 * (with.messages + without.messages)), 1, 1e-12);
  faro_experiment_destroy(e);
}

/* A learner that asks for more fits than it announced is a bug that must stop the program. */
static void test_fits__beyond_the_announced_abort(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "", 100);
  set_probe(100, 1, 50);
  const faro_cell *cell = put_probe(e, "none");
  set_probe(100, 1, 50);
  probe.asks[0] = 2;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    (void)play_cell(cell, 0);
    _exit(0);
  }
  int status = 0;
  assert_true(waitpid(child, &status, 0) == child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  faro_experiment_destroy(e);
}

static bool at_once(void *context) {
  (void)context;
  return true;
}

static void test_play__stops_when_asked_to(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "", 100);
  faro_play_record record;
  for (int asks = 0; asks < 2; asks++) { /* a watcher, then an asker */
    set_probe(40, 1, 50);
    if (asks) (void)put_probe(e, "none");
    const faro_turn turn = {.cell = &e->cell[0], .seed = PLAY_SEED, .stopped = at_once, .record = &record};
    faro_error error = {0};
    assert_int_equal(faro_play(&turn, &error), FARO_INTERRUPTED);
  }
  faro_experiment_destroy(e);
}

/* Resets the probe before every try. */
static faro_status play_anew(const faro_cell *cell, faro_error *error) {
  faro_play_record record;
  set_probe(40, 1, 50);
  return try_cell(cell, &record, error);
}

static void test_play__survives_failing_allocations(void **state) {
  (void)state;
  faro_experiment *e = parse("glm-ucb", "", 100);
  assert_survives_exhaustion(play_anew(&e->cell[0], error));
  set_probe(40, 1, 50);
  const faro_cell *cell = put_probe(e, "none");
  assert_survives_exhaustion(play_anew(cell, error));
  faro_experiment_destroy(e);
}

/* Nothing is allocated in rounds: ten times the horizon needs no more allocations. */
static void test_play__allocates_nothing_for_a_round(void **state) {
  (void)state;
  size_t count[2];
  for (int longer = 0; longer < 2; longer++) {
    faro_experiment *e = parse("glm-ucb", "", longer ? 1000 : 100);
    set_probe(longer ? 1000 : 100, 1, 90);
    const faro_cell *cell = put_probe(e, "none");
    set_probe(longer ? 1000 : 100, 1, 90);
    alloc_reset();
    (void)play_cell(cell, 0);
    count[longer] = alloc_count();
    faro_experiment_destroy(e);
  }
  assert_int_equal(count[0], count[1]);
}

static double regret_at(const faro_cell *cell, uint64_t round) {
  uint64_t rounds[FARO_CURVE_POINTS];
  const faro_play_record record = play_cell(cell, 0);
  const size_t points = faro_curve_rounds(cell->settings.horizon, rounds);
  for (size_t i = 0; i < points; i++)
    if (rounds[i] == round) return record.curve[i];
  fail_msg("no point of the curve at round %llu", (unsigned long long)round);
  return 0;
}

/* A learner that does not know the horizon starts as one that knows 1024 rounds, with half the
 * probability of failure, whatever comes later; and each epoch has estimates of its own. */
static void test_anytime__starts_as_a_learner_of_1024_rounds(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"glm-joint", "central-factored"}, {"glm-batched", "shuffle-bits"}, {"rs-glm", "none"}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    static const char *const text = "environment: {name: glm-logistic, dimension: 3, arms: 5}\nepsilon: 8\n"
                                    "delta: 1e-3\nhorizon: %d\nfailure: %g\nanytime: %s\n"
                                    "algorithms: [{learner: %s, release: %s}]\n";
    faro_experiment *known = parse_experiment(text, 1024, 0.05, "false", pairs[k][0], pairs[k][1]);
    faro_experiment *once = parse_experiment(text, 1024, 0.1, "true", pairs[k][0], pairs[k][1]);
    faro_experiment *twice = parse_experiment(text, 2048, 0.1, "true", pairs[k][0], pairs[k][1]);
    const faro_play_record one = play_cell(&once->cell[0], 0);
    const double first = play_cell(&known->cell[0], 0).regret;
    assert_true(one.regret == first && first > 0);
    assert_true(regret_at(&twice->cell[0], 1024) == first);
    assert_true(play_cell(&twice->cell[0], 0).updates > one.updates);
    const faro_claim *claim = &twice->cell[0].claim;
    assert_true(k == 2 || (claim->proven && claim->epsilon <= 8 && claim->delta <= 1e-3));
    faro_experiment_destroy(known);
    faro_experiment_destroy(once);
    faro_experiment_destroy(twice);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_anytime__starts_as_a_learner_of_1024_rounds),
      cmocka_unit_test(test_watchers__regret_is_that_of_a_naive_loop),
      cmocka_unit_test(test_params__are_those_of_the_cell),
      cmocka_unit_test(test_kappa__is_the_instances_under_figure),
      cmocka_unit_test(test_draw__may_be_set),
      cmocka_unit_test(test_studies__equal_a_naive_loop),
      cmocka_unit_test(test_studies__are_seen_after_batches_and_at_the_end_of_a_term),
      cmocka_unit_test(test_early__is_all_regret_without_an_estimate),
      cmocka_unit_test(test_claims__of_the_first_term_hold_for_all),
      cmocka_unit_test(test_terms__without_people_need_no_study),
      cmocka_unit_test(test_rehearse__refuses_what_any_term_would),
      cmocka_unit_test(test_cost__of_a_term_includes_its_fits),
      cmocka_unit_test(test_fits__beyond_the_announced_abort),
      cmocka_unit_test(test_play__stops_when_asked_to),
      cmocka_unit_test(test_play__survives_failing_allocations),
      cmocka_unit_test(test_play__allocates_nothing_for_a_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
