/* Attacks on studies and on all of glm-joint: correct ones are consistent with their claims,
 * planted bugs are caught. The broken ones are here, not in the library.
 *
 * Releases are intercepted (support/watch.h): the adversary reads every sum that any of them
 * publishes, including the gradients of each step of a fit, which a study does not reveal. Noise
 * that is too small is planted into a release before its first person.
 *
 * False alarms: in each audit, a correct mechanism is called broken with probability at most
 * FALSE_ALARM. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learner/optimism.h"
#include "learner/rarely.h"
#include "release/bits.h"
#include "release/real.h"
#include "study/state.h"
#include "support/matrix.h"
#include "support/watch.h"

static const double EPSILON = 2;
static const double DELTA = 0.1;
static const double CONFIDENCE = 1 - FALSE_ALARM;

enum { D = 2, GRAM = 3, VIEW = 256, TRIALS = 40000 };

/* Small S: |mean - y| is then near its bound wherever a fit goes, and gradients move by nearly as
 * much as they can. */
static const double S = 0.2;

static faro_audit_result attack(const char *name, const faro_audit_mechanism *mechanism, double epsilon,
                                uint64_t trials) {
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  const faro_audit_plan plan = {
      .epsilon = epsilon, .delta = DELTA, .trials = trials, .confidence = CONFIDENCE, .seed = 1};
  faro_audit_result result = {0};
  assert_ok(faro_audit(mechanism, &c, &plan, &result, error));
  print_message("  %-44s %.3f against %.3f (%s)\n", name, result.epsilon_lower, epsilon, result.pair);
  return result;
}

/* ---- the accountant's answers, remembered */

typedef struct remembered {
  double (*function)(double, double);
  double first, second, answer;
} remembered;

static double remember(double (*function)(double, double), double first, double second) {
  enum { SLOTS = 256 };
  static remembered memory[SLOTS];
  static size_t next;
  for (size_t i = 0; i < SLOTS; i++)
    if (memory[i].function == function && memory[i].first == first && memory[i].second == second)
      return memory[i].answer;
  remembered *const slot = &memory[next++ % SLOTS];
  *slot = (remembered){function, first, second, function(first, second)};
  return slot->answer;
}

double __real_faro_gaussian_mu(double epsilon, double delta);
double __real_faro_gaussian_epsilon(double mu, double delta);
double __wrap_faro_gaussian_mu(double epsilon, double delta);
double __wrap_faro_gaussian_epsilon(double mu, double delta);

double __wrap_faro_gaussian_mu(double epsilon, double delta) {
  return remember(__real_faro_gaussian_mu, epsilon, delta);
}
double __wrap_faro_gaussian_epsilon(double mu, double delta) {
  return remember(__real_faro_gaussian_epsilon, mu, delta);
}

/* ---- planted noise */

static struct { double sums, gradients; /* factors on standard deviations; 0: unchanged */ } planted;

static void plant(const watched *w) {
  const double factor = w->contribution.form == FARO_FORM_GRAM ? planted.sums : planted.gradients;
  if (factor == 0) return;
  if (w->kind->trust == FARO_TRUST_SHUFFLE) {
    faro_bits *b = (faro_bits *)(void *)w->release;
    const double bits = factor * factor * (double)b->level[0].noise->bits;
    assert_ok(faro_bits_set_noise(w->release, 0, 0, floor(bits), error));
    assert_ok(faro_bits_set_step(w->release, b->step, error));
    return;
  }
  for (size_t i = 0; i < w->contribution.length; i++) w->release->unit[i] *= factor;
}

static int set_up(void **state) {
  (void)state;
  watch_open = plant;
  watch_noise = NULL;
  planted.sums = planted.gradients = 0;
  return 0;
}

/* ---- studies: the victim comes first, then others, and both parts are fitted at the end */

enum { PEOPLE = 4 };

typedef enum place { IN_0, IN_1, MOVES } place;
static const char *const place_name[] = {"in part 0", "in part 1", "from part 0 to part 1"};

typedef struct survey {
  const char *kind;
  place victim;
  uint64_t fits;     /* per part; 0: only sums */
  uint64_t uncapped; /* further fits, each with the budget of the first */
  bool sums_unseen;
} survey;

static double transcript[VIEW];
static size_t written;
static bool sums_unseen;

static void write_down(double value) {
  if (written < VIEW) transcript[written] = value;
  written++;
}

static void read_sums(const watched *w, const double *prefix, const double *batch) {
  (void)batch;
  if (w->contribution.form == FARO_FORM_GRAM && sums_unseen) return;
  for (size_t i = 0; i < w->contribution.length; i++) write_down(w->truth[i] + prefix[i]);
}

static faro_study_params study_params(uint64_t people, const char *kind) {
  return (faro_study_params){.link = FARO_LINK_LOGISTIC,
                             .dimension = D,
                             .norm = S,
                             .reward = 1,
                             .steepest = 0.25,
                             .people = people,
                             .batch = strcmp(kind, "shuffle-bits") == 0 ? people : 1,
                             .horizon = people,
                             .failure = 0.02,
                             .epsilon = EPSILON,
                             .delta = DELTA,
                             .calibration = FARO_CALIBRATION_TIGHT};
}

/* Beyond the allowed number the study refuses, unless its ledger is set back. */
static faro_status fit(faro_study *s, const survey *v, unsigned part, faro_error *error) {
  const double start[D] = {0, 0};
  const faro_question question = {.part = part, .ridge = 1, .region = {.radius = S}, .start = start};
  double theta[D] = {0};
  faro_answer answer = {.theta = theta};
  faro_status status = FARO_OK;
  for (uint64_t i = 0; status == FARO_OK && i < v->fits + v->uncapped; i++) {
    if (v->uncapped > 0) s->fits[part].charged = 0;
    status = faro_study_fit(s, &question, &answer, error);
    for (int j = 0; j < D; j++) write_down(theta[j]);
    write_down(answer.bound);
  }
  return status;
}

/* In the pairs of an audit the first victim's x_1 is above 1/2, the second's is not. */
static unsigned part_of(place victim, const double *x) {
  if (victim == MOVES) return x[0] <= 0.5;
  return victim == IN_1;
}

static faro_status take_part(faro_study *s, const survey *v, const double *x, double y, faro_error *error) {
  const bool one = strcmp(v->kind, "shuffle-bits") == 0; /* there only one part publishes: the victim's */
  const uint64_t fits[FARO_PARTS] = {one && v->victim == IN_1 ? 0 : v->fits,
                                     one && v->victim == IN_0 ? 0 : v->fits};
  faro_status status = faro_study_allow(s, fits, error);
  if (status != FARO_OK) return status;
  (void)faro_study_add(s, x, y, part_of(v->victim, x), 1);
  for (unsigned i = 1; i < PEOPLE; i++) {
    const double other[D] = {cos(i), sin(i)};
    (void)faro_study_add(s, other, i % 2, i / 2 % 2, 1);
  }
  for (unsigned part = 0; status == FARO_OK && part < FARO_PARTS; part++)
    if (fits[part] > 0 || !one) status = fit(s, v, part, error);
  return status;
}

static faro_status conduct(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                           faro_error *error) {
  const survey *v = context;
  const faro_study_params params = study_params(PEOPLE, v->kind);
  faro_study *s = NULL;
  watch_reset();
  written = 0;
  faro_status status = faro_study_create(&s, faro_release_kind_find(v->kind), &params, sim, error);
  if (status == FARO_OK) status = take_part(s, v, x, y, error);
  faro_study_destroy(s);
  if (view) memcpy(view, transcript, written * sizeof *view);
  return status;
}

static faro_audit_result audit_survey(const char *what, survey v, double epsilon) {
  char name[80];
  faro_sim_rng sim;
  const double x[D] = {0, 0};
  faro_sim_open(&sim, 1, 0, FARO_ROLE_LUCK);
  watch_noise = read_sums;
  sums_unseen = v.sums_unseen;
  /* to find the length of a view, which is the same in every run */
  assert_ok(conduct(&v, x, 0, &sim, NULL, error));
  assert_true(written <= VIEW);
  const faro_audit_mechanism m = {.messages = 1, .width = written, .context = &v, .run = conduct};
  snprintf(name, sizeof name, "%s, %s, %s", v.kind, what, place_name[v.victim]);
  return attack(name, &m, epsilon, TRIALS);
}

/* The cost of sums only, and of fits only: a third of mu^2, and the rest. */
static double epsilon_of(double share) {
  return faro_gaussian_epsilon(faro_gaussian_mu(EPSILON, DELTA) * sqrt(share), DELTA);
}

static void test_sums__stay_within_their_third(void **state) {
  (void)state;
  const char *const kind[] = {"central-tree", "central-factored"};
  for (int k = 0; k < 2; k++)
    for (place at = IN_0; at <= MOVES; at++) {
      const survey v = {.kind = kind[k], .victim = at};
      const faro_audit_result r = audit_survey("sums", v, epsilon_of(1.0 / 3));
      assert_true(r.consistent);
      assert_true(r.epsilon_lower > 0.5 * r.epsilon); /* the attack is strong */
    }
}

static void test_bug__a_tree_for_a_sensitivity_of_one_is_caught(void **state) {
  (void)state;
  planted.sums = 1 / sqrt(2);
  for (place at = IN_0; at <= MOVES; at++) {
    const survey v = {.kind = "central-tree", .victim = at};
    assert_false(audit_survey("sensitivity 1", v, epsilon_of(1.0 / 3)).consistent);
  }
}

static void test_fits__stay_within_their_share(void **state) {
  (void)state;
  const char *const kind[] = {"central-tree", "shuffle-bits"};
  for (int k = 0; k < 2; k++) {
    const survey v = {.kind = kind[k], .victim = IN_0, .fits = 2, .sums_unseen = true};
    const faro_audit_result r = audit_survey("fits", v, epsilon_of(2.0 / 3));
    assert_true(r.consistent);
    assert_true(r.epsilon_lower > 0.35 * r.epsilon);
  }
}

static void test_studies__stay_within_the_claim(void **state) {
  (void)state;
  const char *const kind[] = {"central-tree", "central-factored", "shuffle-bits"};
  for (int k = 0; k < 3; k++)
    for (place at = IN_0; at <= (k < 2 ? MOVES : IN_1); at++) { /* nobody changes part in the shuffle model */
      const survey v = {.kind = kind[k], .victim = at, .fits = 1};
      const faro_audit_result r = audit_survey("all", v, EPSILON);
      assert_true(r.consistent);
      assert_true(r.epsilon_lower > 0.35 * r.epsilon);
    }
}

static void test_bug__gradients_for_one_clip_are_caught(void **state) {
  (void)state;
  const char *const kind[] = {"central-tree", "shuffle-bits"};
  planted.gradients = 0.5;
  for (int k = 0; k < 2; k++) {
    const survey v = {.kind = kind[k], .victim = IN_0, .fits = 1, .sums_unseen = true};
    assert_false(audit_survey("noise for clip", v, epsilon_of(2.0 / 3)).consistent);
  }
}

static void test_bug__a_ledger_that_is_set_back_is_caught(void **state) {
  (void)state;
  const survey v = {.kind = "central-tree", .victim = IN_0, .fits = 1, .uncapped = 5};
  assert_false(audit_survey("6 fits for 1", v, EPSILON).consistent);
}

/* Calibration figure uses the number of people in a part. If the victim is the only one of part 0,
 * its estimate is noise; if nobody is in part 0, the estimate stays where it started. Its claim is
 * not called proven. */
static faro_status publish(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                           faro_error *error) {
  const uint64_t fits[FARO_PARTS] = {1, 1};
  const double start[D] = {0, 0};
  const faro_question question = {.part = 0, .ridge = 1, .region = {.radius = S}, .start = start};
  faro_answer answer = {.theta = view};
  faro_study_params params = study_params(PEOPLE, "central-tree");
  faro_study *s = NULL;
  watch_reset();
  params.calibration = FARO_CALIBRATION_FIGURE;
  faro_status status = faro_study_create(&s, faro_release_kind_find("central-tree"), &params, sim, error);
  if (status == FARO_OK) status = faro_study_allow(s, fits, error);
  for (unsigned i = 0; status == FARO_OK && i < PEOPLE; i++)
    (void)faro_study_add(s, x, y, i == 0 ? part_of(MOVES, x) : 1, 1);
  if (status == FARO_OK) status = faro_study_fit(s, &question, &answer, error);
  if (status == FARO_OK) *(bool *)context = faro_study_claim(s)->proven;
  faro_study_destroy(s);
  for (int i = 0; i < D; i++) view[i] = fabs(view[i]);
  return status;
}

static void test_figure__shows_who_is_alone_in_a_part(void **state) {
  (void)state;
  bool proven = true;
  const faro_audit_mechanism m = {.messages = 1, .width = D, .context = &proven, .run = publish};
  assert_true(attack("calibration figure, an estimate", &m, EPSILON, TRIALS / 4).epsilon_lower > 2 * EPSILON);
  assert_false(proven);
}

/* ---- all of glm-joint
 *
 * One person's arms and reward are replaced. The adversary knows what everybody else brings, and
 * both candidates for the one. So each published number is noise around one of two means that the
 * adversary can compute, and the logarithm of the likelihood ratio is
 *
 *   sum_i <a_i, Y_i - (m_i + m'_i) / 2> / sd_i^2,    a_i = m_i - m'_i,
 *
 * over the nodes of both trees and the gradients of all fits (docs/privacy.md, Lemma S1). No test
 * is stronger. */

enum { ROUNDS = 16, ARMS = 64, FEW = 4, STRIDE = 64, PLAYED = 1 + 2 * D + 2 * ROUNDS };

/* What the victim may bring: one arm of this length and direction, a shorter one orthogonal to it,
 * and a reward. */
typedef struct candidate {
  double length, degrees, reward;
} candidate;

typedef struct story {
  const char *name;
  uint64_t victim; /* round, counted from 0 */
  candidate candidate[2];
  size_t arms;   /* arms of each of the others, on a circle */
  double length; /* radius of the circle; 0: alternately long enough to explore, and not */
  bool warned;   /* the learner knows the noise; else it takes noise for data, and fits at once */
  bool leaks;    /* fits theta_o exactly when somebody explored, as Sarmasarkar 2026, Alg. 2 does */
  bool watched;  /* everything is seen; else only the arms played just before and just after the victim */
} story;

/* What one candidate does under the policy at the victim's turn. */
typedef struct deed {
  double x[D], y, weight;
  unsigned part;
} deed;

static struct {
  faro_study *study;
  faro_rarely learner; /* glm-joint's own state, which the test inspects */
  faro_host host;
  const story *story;
  int input;                                  /* index of the real candidate */
  deed deed[2];                               /* for both candidates */
  bool met;                                   /* the victim has come */
  unsigned fitted;                            /* part of the current fit */
  double error[FARO_PARTS][ROUNDS + 1][GRAM]; /* error of the published sums */
  _Alignas(64) double arms[D * STRIDE];       /* aligned for vector loads */
  double ratio, square;                       /* logarithm of the likelihood ratio; sum of |a_i|^2 / sd_i^2 */
} trial;
static double most; /* greatest `square` of an audit's trials */

/* A published number whose mean is greater by a for the first candidate. */
static void weigh(double a, double noise, double sd) {
  trial.ratio += a * (noise + (trial.input == 0 ? a : -a) / 2) / (sd * sd);
  trial.square += a * a / (sd * sd);
}

/* What the published sums say about the leaves: the covariance of their noise, in units of one
 * node's, and the weights by which the likelihood ratio of a leaf adds them up. */
typedef struct view_of_tree {
  double weight[ROUNDS][ROUNDS]; /* of the sum of t + 1 rounds, for leaf l */
  double square[ROUNDS];         /* what a change of 1 in leaf l costs: at most one per level */
} view_of_tree;

enum { NODES = 2 * ROUNDS };

/* Coefficients of all nodes' noise in the estimate of a node of 2^level rounds, from `start`. Node
 * numbers: those of level 0, then of level 1, and so on. */
static void add_estimate(int level, int start, double factor, double *coefficient) {
  int number = start >> level;
  for (int below = 0; below < level; below++) number += ROUNDS >> below;
  const double fused = pow(2, level) / (pow(2, level + 1) - 1);
  coefficient[number] += factor * (level == 0 ? 1 : fused);
  for (int child = 0; level > 0 && child < 2; child++)
    add_estimate(level - 1, start + child * (1 << (level - 1)), factor * (1 - fused), coefficient);
}

static const view_of_tree *view_tree(void) {
  static view_of_tree view;
  static bool made;
  if (made) return &view;
  static double prefix[ROUNDS][NODES];
  static double covariance[ROUNDS * ROUNDS];
  static double inverse[ROUNDS * ROUNDS];
  for (int t = 1; t <= ROUNDS; t++)
    for (int level = 0, start = t; level <= 4; level++)
      if (t >> level & 1) add_estimate(level, start -= 1 << level, 1, prefix[t - 1]);
  for (int s = 0; s < ROUNDS; s++)
    for (int t = 0; t < ROUNDS; t++)
      for (int n = 0; n < NODES; n++) covariance[s * ROUNDS + t] += prefix[s][n] * prefix[t][n];
  matrix_invert(ROUNDS, covariance, inverse);
  for (int leaf = 0; leaf < ROUNDS; leaf++)
    for (int t = 0; t < ROUNDS; t++) {
      for (int s = leaf; s < ROUNDS; s++) view.weight[leaf][t] += inverse[t * ROUNDS + s];
      if (t >= leaf) view.square[leaf] += view.weight[leaf][t];
    }
  made = true;
  return &view;
}

/* When the last sum has been published: the best that can be made of all of them. */
static void weigh_sums(const watched *w, unsigned part, const double *prefix) {
  memcpy(trial.error[part][w->batches], prefix, sizeof trial.error[part][w->batches]);
  if (!trial.met || w->batches < ROUNDS) return;
  const view_of_tree *view = view_tree();
  const uint64_t leaf = trial.story->victim;
  size_t at = 0;
  for (int i = 0; i < D; i++)
    for (int j = 0; j <= i; j++, at++) {
      double z[2] = {0, 0};
      for (int k = 0; k < 2; k++)
        if (trial.deed[k].part == part) z[k] = trial.deed[k].weight * trial.deed[k].x[i] * trial.deed[k].x[j];
      const double sd = w->release->unit[at] * w->release->unweight[at] / sqrt(view->square[leaf]);
      double noise = 0; /* of the sum that weighs most */
      for (int t = 0; t < ROUNDS; t++)
        noise += view->weight[leaf][t] * trial.error[part][t + 1][at] / view->square[leaf];
      weigh(z[0] - z[1], noise, sd);
    }
}

static void weigh_gradient(const watched *w, const double *noise) {
  double residual[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    const deed *d = &trial.deed[k];
    double at = 0;
    for (int i = 0; i < D; i++) at += d->x[i] * trial.study->theta[i];
    if (d->part == trial.fitted) residual[k] = 1 / (1 + exp(-at)) - d->y;
  }
  for (int i = 0; i < D; i++)
    weigh(residual[0] * trial.deed[0].x[i] - residual[1] * trial.deed[1].x[i], noise[i], w->release->unit[i]);
}

static void weigh_all(const watched *w, const double *prefix, const double *batch) {
  if (w->contribution.form == FARO_FORM_GRAM) weigh_sums(w, w == &watch[0] ? 0 : 1, prefix);
  else if (trial.met) weigh_gradient(w, batch);
}

static faro_arms offer(const candidate *c) {
  const double angle = c->degrees * acos(-1) / 180;
  memset(trial.arms, 0, sizeof trial.arms);
  trial.arms[0] = c->length * cos(angle);
  trial.arms[STRIDE] = c->length * sin(angle);
  trial.arms[1] = -c->length / 2 * sin(angle);
  trial.arms[STRIDE + 1] = c->length / 2 * cos(angle);
  return (faro_arms){.dimension = D, .count = 2, .stride = STRIDE, .x = trial.arms};
}

static faro_arms offer_other(const story *t, uint64_t round) {
  const double length = t->length > 0 ? t->length : (round % 3 == 0 ? 0.3 : 1);
  memset(trial.arms, 0, sizeof trial.arms);
  for (size_t a = 0; a < t->arms; a++) {
    const double angle = 2 * acos(-1) * (double)a / (double)t->arms;
    trial.arms[a] = length * cos(angle);
    trial.arms[STRIDE + a] = length * sin(angle);
  }
  return (faro_arms){.dimension = D, .count = t->arms, .stride = STRIDE, .x = trial.arms};
}

static deed act(const faro_arms *arms, double reward, size_t *arm) {
  const faro_pick pick = faro_rarely_pick(&trial.learner, arms, 0);
  *arm = pick.arm;
  return (deed){.x = {arms->x[pick.arm], arms->x[STRIDE + pick.arm]},
                .y = reward,
                .weight = pick.weight,
                .part = pick.part};
}

static deed act_as(int which) {
  size_t arm = 0; /* the victim's arm is not shown */
  const faro_arms arms = offer(&trial.story->candidate[which]);
  return act(&arms, trial.story->candidate[which].reward, &arm);
}

/* What the other candidate would have done must not affect the learner: a pick changes nothing
 * there. */
static deed act_victim(void) {
  const int other = 1 - trial.input;
  if (trial.story->watched) trial.deed[other] = act_as(other);
  trial.deed[trial.input] = act_as(trial.input);
  trial.met = trial.story->watched;
  return trial.deed[trial.input];
}

static deed act_other(uint64_t round, size_t *arm) {
  const faro_arms arms = offer_other(trial.story, round);
  deed d = act(&arms, 0, arm);
  d.y = (double)((round + *arm) % 2);
  return d;
}

static faro_status ask(const faro_question *question, faro_error *error) {
  double theta[D];
  faro_answer answer = {.theta = theta};
  trial.fitted = question->part;
  const faro_status status = faro_study_fit(trial.study, question, &answer, error);
  if (status == FARO_OK) faro_rarely_answer(&trial.learner, &answer);
  return status;
}

/* As in the simulator (sim/asker.c). fits: the number made now. */
static faro_status confer(bool explored, uint64_t *fits, faro_error *error) {
  faro_rarely *r = &trial.learner;
  const faro_statistics sum[FARO_PARTS] = {faro_study_sum(trial.study, 0), faro_study_sum(trial.study, 1)};
  faro_question question;
  faro_status status = FARO_OK;
  faro_rarely_see(r, sum);
  if (trial.story->leaks) r->wants[0] = explored && r->left[0] > 0;
  for (*fits = 0; status == FARO_OK && faro_rarely_ask(r, &question); ++*fits) status = ask(&question, error);
  return status;
}

static faro_status play_rounds(size_t arm[static ROUNDS], uint64_t fits[static ROUNDS], faro_error *error) {
  faro_status status = FARO_OK;
  for (uint64_t round = 0; status == FARO_OK && round < ROUNDS; round++) {
    arm[round] = fits[round] = 0;
    const deed d = round == trial.story->victim ? act_victim() : act_other(round, &arm[round]);
    if (faro_study_add(trial.study, d.x, d.y, d.part, d.weight))
      status = confer(d.part == 0, &fits[round], error);
  }
  return status;
}

/* kappa sets Criterion I: unit arms explore and short ones do not, whether the noise is known or
 * not. */
static faro_status begin(faro_error *error) {
  static const double silence[GRAM] = {0};
  const bool warned = trial.story->warned;
  const faro_noise noise[FARO_PARTS] = {
      warned ? faro_study_noise(trial.study, 0) : (faro_noise){.scale = silence},
      warned ? faro_study_noise(trial.study, 1) : (faro_noise){.scale = silence}};
  static const faro_optimism theorem = {.optimism = 1};
  faro_asker_params params = {.dimension = D,
                              .horizon = ROUNDS,
                              .failure = 0.02,
                              .link = FARO_LINK_LOGISTIC,
                              .bound = S,
                              .kappa = 1,
                              .offers = ARMS,
                              .calibration = FARO_CALIBRATION_TIGHT,
                              .settings = &theorem};
  const double threshold = warned ? 0.5 : 0.95; /* divided by lambda */
  params.kappa = 100 * faro_rarely_settle(&params, false, noise).lambda[0] / (threshold * S * S * D);
  const faro_status status = faro_rarely_init(&trial.learner, &params, &trial.host, error);
  if (status != FARO_OK) return status;
  uint64_t fits[FARO_PARTS] = {0};
  faro_rarely_begin(&trial.learner, noise, fits);
  return faro_study_allow(trial.study, fits, error);
}

static void show(const size_t arm[static ROUNDS], const uint64_t fits[static ROUNDS], double *view) {
  const faro_rarely *r = &trial.learner;
  const uint64_t victim = trial.story->victim;
  if (!trial.story->watched) {
    *view = arm[victim + 1] != arm[victim - 1];
    return;
  }
  *view++ = trial.ratio;
  for (int i = 0; i < D; i++) {
    *view++ = r->theta_o[i];
    *view++ = r->theta_tau[i];
  }
  for (int i = 0; i < ROUNDS; i++) {
    *view++ = (double)fits[i];
    *view++ = (double)arm[i];
  }
}

static faro_status play(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                        faro_error *error) {
  const faro_study_params params = study_params(ROUNDS, "central-tree");
  size_t arm[ROUNDS];
  uint64_t fits[ROUNDS];
  (void)y;
  watch_reset();
  trial.story = context;
  trial.input = x[0] > 0.5 ? 0 : 1; /* as in part_of */
  trial.met = false;
  trial.ratio = trial.square = 0;
  trial.learner = (faro_rarely){0};
  trial.host = (faro_host){0};
  trial.study = NULL;
  faro_status status =
      faro_study_create(&trial.study, faro_release_kind_find("central-tree"), &params, sim, error);
  if (status == FARO_OK) status = begin(error);
  if (status == FARO_OK) status = play_rounds(arm, fits, error);
  if (status == FARO_OK) show(arm, fits, view);
  most = fmax(most, trial.square);
  faro_rarely_destroy(&trial.learner);
  faro_arena_free(&trial.host.arena);
  faro_study_destroy(trial.study);
  return status;
}

static faro_audit_result audit_story(story t, uint64_t trials) {
  const faro_audit_mechanism m = {.messages = 1, .width = t.watched ? PLAYED : 1, .context = &t, .run = play};
  watch_noise = weigh_all;
  most = 0;
  return attack(t.name, &m, EPSILON, trials);
}

/* Against the claim, and against the trial that cost most (Lemma S1). Victims who come first are in
 * every fit. Later ones come when most fits have been made, and there is little left to find. */
static void test_joint__stays_within_the_claim(void **state) {
  (void)state;
  const struct {
    const char *name;
    uint64_t victim;
    candidate candidate[2];
  } pair[] = {{"glm-joint, both explore, 120 degrees", 0, {{1, -15, 1}, {1, 105, 1}}},
              {"glm-joint, both explore, opposite", 0, {{1, 0, 1}, {1, 180, 1}}},
              {"glm-joint, both explore, rewards", 0, {{1, 30, 1}, {1, 30, 0}}},
              {"glm-joint, one explores, opposite", 0, {{1, 0, 1}, {0.97, 180, 1}}},
              {"glm-joint, one explores, across", 0, {{1, 0, 1}, {0.97, 90, 0}}},
              {"glm-joint, none explores, 120 degrees", 0, {{0.97, -15, 1}, {0.97, 105, 1}}},
              {"glm-joint, one explores, later", 5, {{1, 0, 1}, {0.3, 90, 0}}}};
  const double all = pow(faro_gaussian_mu(EPSILON, DELTA), 2);
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
    const story t = {.name = pair[i].name,
                     .victim = pair[i].victim,
                     .candidate = {pair[i].candidate[0], pair[i].candidate[1]},
                     .arms = FEW,
                     .watched = true};
    const faro_audit_result r = audit_story(t, TRIALS / 2);
    const double spent = faro_gaussian_epsilon(sqrt(most), DELTA);
    print_message("      spent at most %.2f of mu^2, epsilon %.3f\n", most / all, spent);
    assert_true(most <= all);
    assert_true(r.epsilon_lower <= spent && spent <= EPSILON);
    if (t.victim == 0) assert_true(most > 0.5 * all && r.epsilon_lower > 0.25 * EPSILON);
  }
}

static void test_bug__gradients_for_one_clip_are_caught_in_glm_joint(void **state) {
  (void)state;
  const story t = {.name = "glm-joint, noise for clip",
                   .candidate = {{1, -15, 1}, {1, 105, 1}},
                   .arms = FEW,
                   .watched = true};
  planted.gradients = 0.5;
  assert_false(audit_story(t, TRIALS).consistent);
  assert_true(most > pow(faro_gaussian_mu(EPSILON, DELTA), 2));
}

/* Sarmasarkar 2026, Alg. 2, fits theta_o when somebody explores. All noise is present, and the
 * ledger is kept. The victim explores or does not. The people just before and just after have the
 * same arms, all too short to explore, and the adversary only sees whether they play the same
 * one. */
static void test_bug__fits_at_the_time_of_exploring_are_caught(void **state) {
  (void)state;
  story t = {.name = "glm-joint, two arms seen",
             .victim = 8,
             .candidate = {{1, 0, 1}, {0.3, 0, 1}},
             .arms = ARMS,
             .length = 0.3,
             .warned = true};
  assert_true(audit_story(t, TRIALS).consistent);
  t.leaks = true;
  t.name = "Sarmasarkar 2026, Alg. 2, two arms seen";
  const faro_audit_result r = audit_story(t, TRIALS);
  assert_true(r.epsilon_lower > 2 * EPSILON);
  assert_true(r.false_hits == 0 && r.hits > 0.95);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_sums__stay_within_their_third, set_up),
      cmocka_unit_test_setup(test_bug__a_tree_for_a_sensitivity_of_one_is_caught, set_up),
      cmocka_unit_test_setup(test_fits__stay_within_their_share, set_up),
      cmocka_unit_test_setup(test_studies__stay_within_the_claim, set_up),
      cmocka_unit_test_setup(test_bug__gradients_for_one_clip_are_caught, set_up),
      cmocka_unit_test_setup(test_bug__a_ledger_that_is_set_back_is_caught, set_up),
      cmocka_unit_test_setup(test_figure__shows_who_is_alone_in_a_part, set_up),
      cmocka_unit_test_setup(test_joint__stays_within_the_claim, set_up),
      cmocka_unit_test_setup(test_bug__gradients_for_one_clip_are_caught_in_glm_joint, set_up),
      cmocka_unit_test_setup(test_bug__fits_at_the_time_of_exploring_are_caught, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
