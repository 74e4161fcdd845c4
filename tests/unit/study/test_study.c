/* study: what it passes to releases, what they cost together, and what it refuses. The releases are
 * intercepted (support/watch.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "release/real.h"
#include "study/state.h"
#include "support/watch.h"

enum { D = 3, GRAM = 6, PEOPLE = 256 };

static const faro_study_params usual = {.link = FARO_LINK_LOGISTIC,
                                        .dimension = D,
                                        .norm = 2,
                                        .reward = 1,
                                        .steepest = 0.25,
                                        .people = PEOPLE,
                                        .horizon = PEOPLE,
                                        .failure = 0.02,
                                        .epsilon = 1,
                                        .delta = 1e-3,
                                        .calibration = FARO_CALIBRATION_TIGHT};

static faro_sim_rng stream; /* for data and noise */

static faro_study *make(const char *kind, const faro_study_params *params, uint64_t fits0, uint64_t fits1) {
  faro_study *s = NULL;
  const uint64_t fits[FARO_PARTS] = {fits0, fits1};
  watch_reset();
  assert_ok(faro_study_create(&s, faro_release_kind_find(kind), params, &stream, error));
  assert_ok(faro_study_allow(s, fits, error));
  return s;
}

static void draw(faro_sim_rng *sim, double *x, double *y) {
  double square = 0;
  for (int i = 0; i < D; i++) {
    x[i] = faro_sim_normal(sim);
    square += x[i] * x[i];
  }
  for (int i = 0; i < D; i++) x[i] *= 0.9 / sqrt(square);
  *y = faro_sim_bernoulli(sim, faro_link_mean(FARO_LINK_LOGISTIC, 1.5 * x[0] - x[1])) ? 1 : 0;
}

/* With a shuffler, only one part has fits. */
static faro_study *make_for(const char *kind, const faro_study_params *params, unsigned part) {
  const bool shuffled = !strcmp(kind, "shuffle-bits");
  return make(kind, params, !shuffled || part == 0, !shuffled || part == 1);
}

/* A third of them in part 0. */
static void fill(faro_study *s, uint64_t people, faro_sim_rng *sim) {
  for (uint64_t i = 0; i < people; i++) {
    double x[D];
    double y = 0;
    draw(sim, x, &y);
    (void)faro_study_add(s, x, y, i % 3 == 0 ? 0 : 1, 0.2);
  }
}

static const double nowhere[D] = {0, 0, 0};
static faro_question question_of(unsigned part) {
  return (faro_question){.part = part, .ridge = 1, .region = {.radius = 2}, .start = nowhere};
}

static void test_takes__exactly_the_kinds_in_the_header(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const char *const name = faro_release_kind_at(i)->name;
    const bool expected = !strcmp(name, "none") || !strcmp(name, "central-tree") ||
                          !strcmp(name, "central-factored") || faro_release_kind_at(i)->phases;
    assert_int_equal(faro_study_takes(faro_release_kind_at(i)), expected);
  }
}

static void refused(const char *kind, const faro_study_params *p, const char *text) {
  faro_study *s = NULL;
  faro_error why = {0};
  assert_int_equal(faro_study_create(&s, faro_release_kind_find(kind), p, &stream, &why), FARO_INVALID);
  assert_null(s);
  if (!strstr(why.message, text)) fail_msg("\"%s\" does not say \"%s\"", why.message, text);
}

#define REFUSED(kind, text, ...)                                                                             \
  do {                                                                                                       \
    faro_study_params p = usual;                                                                             \
    __VA_ARGS__;                                                                                             \
    refused(kind, &p, text);                                                                                 \
  } while (0)

static void test_create__names_what_is_wrong(void **state) {
  (void)state;
  REFUSED("concurrent-bits", "release must be", (void)p);
  REFUSED("local", "calibration must be tight for", p.calibration = FARO_CALIBRATION_PAPER);
  REFUSED("central", "calibration must be tight or paper", p.calibration = FARO_CALIBRATION_FIGURE);
  REFUSED("central-tree", "dimension must be", p.dimension = 1001);
  REFUSED("central-tree", "entries", p.dimension = 0);
  REFUSED("central-tree", "norm must be", p.norm = 0);
  REFUSED("central-tree", "reward must be", p.reward = (double)NAN);
  REFUSED("central-tree", "steepest must be", p.steepest = (double)INFINITY);
  REFUSED("central-tree", "people must be", p.people = 0);
  REFUSED("shuffle-bits", "people must be 2", p.people = 1);
  REFUSED("central-tree", "batch must be", p.batch = PEOPLE + 1);
  REFUSED("shuffle-bits", "batch must be", p.batch = 10);
  REFUSED("central-tree", "horizon must be", p.horizon = 0);
  REFUSED("central-tree", "failure must be", p.failure = 1);
  REFUSED("central-tree", "epsilon must be", p.epsilon = 0);
  REFUSED("central-tree", "delta must be", p.delta = 0);
  REFUSED("shuffle-bits", "calibration must be tight or paper", p.calibration = FARO_CALIBRATION_FIGURE);
  REFUSED("central-factored", "calibration must be tight or paper", p.calibration = FARO_CALIBRATION_FIGURE);
}

/* By hand: w x x' of everybody in the part, clipped, whatever came in; nobody after the last. */
static void test_sums__are_of_clipped_people_of_the_part(void **state) {
  (void)state;
  faro_study_params p = usual;
  p.people = 6;
  faro_sim_open(&stream, 1, 0, FARO_ROLE_USER);
  faro_study *s = make("none", &p, 0, 0);
  const double nan = (double)NAN;
  const struct {
    double x[D], y, weight;
    unsigned part;
    double scale; /* of the clipped x */
    double w;
  } person[] = {{{0.5, 0, 0.5}, 0.5, 0.5, 0, 1, 0.5},
                {{3, 4, 0}, 7, 9, 0, 0.2, 1},
                {{0, nan, 0}, nan, 1, 1, 0, 0.25},
                {{0.1, 0.2, 0.3}, -1, 0.25, 1, 1, 0.25},
                {{6, 0, 8}, 1, 77, 1, 0.1, 0.25},
                {{0.5, 0.5, 0}, 1, nan, 0, 1, 0},
                {{1, 0, 0}, 1, 1, 0, 0, 0} /* too late */};
  double expected[FARO_PARTS][GRAM] = {{0}, {0}};
  for (int k = 0; k < 7; k++) {
    assert_int_equal(faro_study_add(s, person[k].x, person[k].y, person[k].part, person[k].weight), k < 6);
    size_t at = 0;
    for (int i = 0; i < D; i++)
      for (int j = 0; j <= i; j++, at++)
        if (person[k].scale > 0)
          expected[person[k].part][at] +=
              person[k].w * person[k].scale * person[k].scale * person[k].x[i] * person[k].x[j];
  }
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    assert_int_equal(faro_study_sum(s, part).users, 6);
    for (int i = 0; i < GRAM; i++) assert_close(faro_study_sum(s, part).sum[i], expected[part][i], 1e-14);
    assert_null(faro_study_noise(s, part).scale);
  }
  assert_int_equal(faro_study_batch(s), 1);
  faro_study_destroy(s);
}

/* Without a stream, and before fits are allowed, nothing is added and nothing is fitted. */
static void test_study__takes_nobody_before_it_is_ready(void **state) {
  (void)state;
  const double x[D] = {1, 0, 0};
  double theta[D];
  faro_answer answer = {.theta = theta};
  const faro_question question = question_of(0);
  const uint64_t fits[FARO_PARTS] = {1, 1};
  for (int ready = 0; ready < 2; ready++) {
    faro_study *s = NULL;
    faro_error why = {0};
    assert_ok(faro_study_create(&s, &faro_release_central_tree, &usual, ready ? &stream : NULL, error));
    if (!ready) assert_ok(faro_study_allow(s, fits, error));
    assert_false(faro_study_add(s, x, 1, 0, 1));
    assert_int_equal(faro_study_sum(s, 0).users, 0);
    assert_int_equal(faro_study_fit(s, &question, &answer, &why), FARO_INVALID);
    assert_non_null(strstr(why.message, ready ? "must be allowed" : "without a stream"));
    assert_true(faro_study_noise(s, 0).scale[0] > 0); /* it answers questions */
    faro_study_destroy(s);
  }
  faro_study *s = make("central-tree", &usual, 1, 1);
  faro_question wrong = question;
  wrong.part = FARO_PARTS;
  faro_error why = {0};
  assert_false(faro_study_add(s, x, 1, FARO_PARTS, 1));
  assert_int_equal(faro_study_fit(s, &wrong, &answer, &why), FARO_INVALID);
  faro_study_destroy(s);
}

static void test_sums__come_after_every_batch(void **state) {
  (void)state;
  faro_sim_open(&stream, 2, 0, FARO_ROLE_USER);
  const double x[D] = {1, 0, 0};
  faro_study_params p = usual;
  p.people = 25;
  p.batch = 10;
  faro_study *s = make("central-factored", &p, 0, 0);
  for (int i = 1; i <= 30; i++) assert_int_equal(faro_study_add(s, x, 1, 0, 1), i == 10 || i == 20);
  faro_study_destroy(s);
  p.batch = 0;
  s = make("shuffle-bits", &p, 0, 0);
  assert_int_equal(faro_study_batch(s), 25);
  for (int i = 1; i <= 30; i++) assert_int_equal(faro_study_add(s, x, 1, 0, 1), i == 25);
  faro_study_destroy(s);
}

/* If no batch is given, it is the cube root of the number of people, rounded down, under tight, and
 * 1 where the published trees have it. */
static void test_batch__has_a_default(void **state) {
  (void)state;
  const uint64_t people[] = {1, 2, 7, 8, 9, 255, 256, 1000, 3374, 3375, 20000};
  const char *const kind[] = {"central-tree", "central-factored", "none"};
  for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
    uint64_t root = 1;
    while ((root + 1) * (root + 1) * (root + 1) <= people[i]) root++;
    for (int k = 0; k < 3; k++)
      for (int calibration = 0; calibration < FARO_CALIBRATION_COUNT; calibration++) {
        faro_study_params p = usual;
        p.people = p.horizon = people[i];
        p.calibration = (faro_calibration)calibration;
        if (p.calibration == FARO_CALIBRATION_FIGURE && (k == 1 || people[i] < 2)) continue;
        faro_study *s = make(kind[k], &p, 0, 0);
        assert_int_equal(faro_study_batch(s), k < 2 && p.calibration == FARO_CALIBRATION_TIGHT ? root : 1);
        faro_study_destroy(s);
        p.batch = people[i];
        s = make(kind[k], &p, 0, 0);
        assert_int_equal(faro_study_batch(s), people[i]);
        faro_study_destroy(s);
      }
  }
}

/* Rows of both parts share one array: the exact fit of each part sees all its own rows and nothing
 * else. */
static void test_fit__without_privacy_is_the_minimiser_of_the_part(void **state) {
  (void)state;
  faro_study_params p = usual;
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    faro_sim_open(&stream, 3, 0, FARO_ROLE_USER);
    faro_study *s = make("none", &p, 1, 1);
    double x[PEOPLE * D];
    double y[PEOPLE];
    size_t count = 0;
    for (int i = 0; i < PEOPLE; i++) {
      double row[D];
      double reward = 0;
      draw(&stream, row, &reward);
      (void)faro_study_add(s, row, reward, i % 3 == 0 ? 0 : 1, 1);
      if ((i % 3 == 0) != (part == 0)) continue;
      memcpy(x + count * D, row, sizeof row);
      y[count++] = reward;
    }
    const faro_rows rows = {.dimension = D, .count = count, .x = x, .y = y};
    double theta[D];
    faro_answer answer = {.theta = theta};
    const faro_question question = question_of(part);
    assert_ok(faro_study_fit(s, &question, &answer, error));
    assert_true(answer.bound == 0 && answer.noise == 0 && answer.steps == 0);
    double square = 0;
    for (int i = 0; i < D; i++) square += theta[i] * theta[i];
    assert_true(square < 4); /* inside, so the gradient vanishes there */
    double gradient[D];
    faro_glm_gradient(FARO_LINK_LOGISTIC, &rows, 1, theta, gradient);
    for (int i = 0; i < D; i++) assert_close(gradient[i], 0, 1e-6);
    assert_int_equal(faro_study_left(s, part), 0);
    assert_int_equal(faro_study_left(s, 1 - part), 1);
    assert_true(isnan(faro_study_claim(s)->epsilon));
    faro_study_destroy(s);
  }
}

/* The contribution to a fit's first step is the gradient at its start, of the part's people
 * only. */
static double first_step[D];
static void keep_first(const watched *w, const double *prefix, const double *batch) {
  (void)prefix;
  (void)batch;
  if (w->contribution.form == FARO_FORM_BALL && w->batches == 1)
    memcpy(first_step, w->truth, sizeof first_step);
}

static void test_fit__asks_the_part_for_its_gradient(void **state) {
  (void)state;
  const double start[D] = {0.5, -0.2, 0.1};
  const char *const kind[] = {"central-tree", "shuffle-bits"};
  for (int k = 0; k < 2; k++)
    for (unsigned part = 0; part < FARO_PARTS; part++) {
      faro_sim_open(&stream, 15, 0, FARO_ROLE_USER);
      faro_study *s = make_for(kind[k], &usual, part);
      double expected[D] = {0, 0, 0};
      for (int i = 0; i < 100; i++) {
        double x[D];
        double y = 0;
        draw(&stream, x, &y);
        (void)faro_study_add(s, x, y, i % 3 == 0 ? 0 : 1, 1);
        const double at = x[0] * start[0] + x[1] * start[1] + x[2] * start[2];
        for (int j = 0; (i % 3 == 0) == (part == 0) && j < D; j++)
          expected[j] += (1 / (1 + exp(-at)) - y) * x[j];
      }
      double theta[D];
      faro_answer answer = {.theta = theta};
      faro_question question = question_of(part);
      question.start = start;
      watch_noise = keep_first;
      assert_ok(faro_study_fit(s, &question, &answer, error));
      watch_noise = NULL;
      for (int j = 0; j < D; j++) assert_close(first_step[j], expected[j], 1e-12);
      faro_study_destroy(s);
    }
}

static void test_fit__without_people_minimises_the_ridge(void **state) {
  (void)state;
  faro_sim_open(&stream, 4, 0, FARO_ROLE_USER);
  const double centre[D] = {3, 0, 4};
  const char *const kind[] = {"none", "central-tree", "shuffle-bits"};
  for (int k = 0; k < 3; k++) {
    faro_study *s = make(kind[k], &usual, 1, 0);
    double theta[D];
    faro_answer answer = {.theta = theta};
    faro_question question = question_of(0);
    question.region.centre = centre;
    assert_ok(faro_study_fit(s, &question, &answer, error));
    assert_close(theta[0], 1.8, 1e-9); /* the point of the region nearest to zero */
    assert_close(theta[1], 0, 1e-9);
    assert_close(theta[2], 2.4, 1e-9);
    assert_int_equal(answer.steps, 0);
    faro_study_destroy(s);
  }
}

/* ---- the total cost, recomputed from the actual noise */

/* Nodes that the worst leaf of a tree of M leaves is in, by hand: node t covers (t - lowest digit,
 * t]. */
static double nodes_of(uint64_t leaves) {
  double most = 0;
  for (uint64_t leaf = 1; leaf <= leaves; leaf++) {
    double nodes = 0;
    for (uint64_t t = leaf; t <= leaves; t++)
      if (leaf > t - (t & -t)) nodes++;
    most = fmax(most, nodes);
  }
  return most;
}

/* The noise of one vector, in original units. */
static double sd_of(const watched *w, size_t entry) {
  return w->release->unit[entry] * w->release->unweight[entry];
}

/* A Gram matrix has sqrt(1/2) of the diagonal's noise beside it, so that a change of Frobenius norm
 * 1 costs 1 / sd^2 in every direction; other vectors have the same noise in every entry. */
static double least_sd(const watched *w) {
  const double sd = sd_of(w, 0);
  for (size_t i = 0; i < w->contribution.dimension; i++)
    for (size_t j = 0; w->contribution.gram > 0 && j <= i; j++)
      assert_close(sd_of(w, faro_packed(i) + j), i == j ? sd : sd / sqrt(2), 1e-12 * sd);
  for (size_t i = 0; w->contribution.gram == 0 && i < w->contribution.length; i++)
    assert_true(sd_of(w, i) == sd);
  return sd;
}

/* The squared mu of a person whose z moves by `move` (Gram matrices: in Frobenius norm), over
 * everything that the release publishes. Central kinds only. */
static double cost_of(const watched *w, double move) {
  const double least = least_sd(w);
  const uint64_t batches = w->params.horizon / w->params.batch;
  const bool tree = !strcmp(w->kind->name, "central-tree");
  /* number of vectors that the person is in */
  const double vectors = tree ? nodes_of(batches) : (double)w->params.contributions;
  return vectors * move * move / (least * least);
}

typedef struct bill {
  double stays[FARO_PARTS], moves;
} bill;

/* The first two are the sums; gradients have length at most `length`. */
static void charge(bill *b, const watched *w, unsigned part, bool sum, double length) {
  const double most = part == 0 ? 1 : usual.steepest;
  b->stays[part] += cost_of(w, sum ? sqrt(2) * most : 2 * length);
  b->moves += cost_of(w, sum ? most : length);
}

/* Share of a fit in mu^2 of a part's fits: each has sqrt(1/2) of the one before it, until the
 * thirteenth. */
static double share_of(uint64_t index, uint64_t count) {
  double weight = 1;
  double own = 0;
  double sum = 0;
  for (uint64_t k = 0; k < count; k++) {
    if (k > 0 && k <= 12) weight *= sqrt(0.5);
    if (k == index) own = weight;
    sum += weight;
  }
  return own / sum;
}

static void test_budget__all_noise_together_is_what_the_claim_needs(void **state) {
  (void)state;
  const uint64_t allowed[][2] = {{1, 1}, {3, 2}, {0, 4}, {16, 1}};
  const double length = faro_link_mean(FARO_LINK_LOGISTIC, 2); /* |mean - y| over ||theta|| <= 2 */
  const double all = pow(faro_gaussian_mu(usual.epsilon, usual.delta), 2);
  for (int k = 0; k < 4; k++) {
    faro_sim_open(&stream, 5, (uint64_t)k, FARO_ROLE_USER);
    faro_study_params p = usual;
    p.batch = 4; /* 64 leaves: a tree is made for a power of two, so nothing is lost here */
    faro_study *s = make("central-tree", &p, allowed[k][0], allowed[k][1]);
    fill(s, PEOPLE, &stream);
    bill b = {{0, 0}, 0};
    for (unsigned part = 0; part < FARO_PARTS; part++) {
      charge(&b, &watch[part], part, true, 0);
      assert_close(b.stays[part] / (all / 3), 1, 1e-6);
      for (uint64_t i = 0; i < allowed[k][part]; i++) {
        double theta[D];
        faro_answer answer = {.theta = theta};
        const faro_question question = question_of(part);
        assert_ok(faro_study_fit(s, &question, &answer, error));
        const watched *w = &watch[watches - 1];
        /* the release no longer exists: its noise comes from the answer, which is the mean of
         * `window` steps */
        const double sd = answer.noise * sqrt((double)(answer.steps - answer.steps / 4));
        const double stays = (double)answer.steps * pow(2 * length / sd, 2);
        assert_close(stays / (all * 2 / 3 * share_of(i, allowed[k][part])), 1, 1e-6);
        b.stays[part] += stays;
        b.moves += (double)answer.steps * pow(length / sd, 2);
        assert_int_equal(w->batches, answer.steps);
        assert_int_equal(w->users, answer.steps * PEOPLE); /* everybody, in every step */
        assert_true(w->longest <= length * (1 + 1e-12));
        assert_close(w->contribution.norm, length, 1e-12);
      }
    }
    for (unsigned part = 0; part < FARO_PARTS; part++) {
      assert_true(b.stays[part] <= all);
      assert_true(b.stays[part] >= (allowed[k][part] > 0 ? 0.99999 : 0.33333) * all);
    }
    assert_true(b.moves <= all);
    assert_true(faro_study_claim(s)->proven);
    /* the server has the data: fits need no further messages */
    assert_true(faro_study_cost(s).bits == 2 * 64 * GRAM);
    faro_study_destroy(s);
  }
}

/* mu^2 of sum and fit together, where a Gaussian mechanism dominates them. */
static void assert_squares_add(const faro_release *sum, const faro_release *fit) {
  const double all = pow(faro_gaussian_mu(usual.epsilon, usual.delta), 2);
  double mu[2] = {0};
  double slack[2] = {0};
  assert_true(faro_release_gaussian(sum, 1, &mu[0], &slack[0]));
  assert_true(faro_release_gaussian(fit, 1, &mu[1], &slack[1]));
  const double spent = mu[0] * mu[0] + mu[1] * mu[1];
  assert_true(spent <= all && spent > 0.98 * all);
  assert_true(slack[0] + slack[1] < 1e-3 * usual.delta);
}

/* Elsewhere: two claims, proven, that add up. */
static void assert_claims_add(const faro_release *sum, const faro_release *fit) {
  const faro_claim *one = faro_release_claim(sum);
  const faro_claim *two = faro_release_claim(fit);
  assert_true(one->proven && two->proven);
  assert_true(one->epsilon + two->epsilon <= usual.epsilon && one->delta + two->delta <= usual.delta);
}

/* A study of one batch, with any release: everybody is in the sum once and in every step of the
 * fit, and the two together cost what the claim says. */
static void check_batch(const faro_release_kind *kind) {
  faro_sim_open(&stream, 21, 0, FARO_ROLE_USER);
  faro_study *s = make(kind->name, &usual, 0, 1);
  double predicted = 0;
  assert_ok(faro_study_predict(s, 1, &predicted, error));
  const faro_release *sum = s->sum[1];
  fill(s, PEOPLE, &stream);
  assert_int_equal(faro_study_sum(s, 1).releases, 1);
  assert_int_equal(faro_study_sum(s, 0).releases, 0);
  double theta[D];
  faro_answer answer = {.theta = theta};
  const faro_question question = question_of(1);
  assert_ok(faro_study_fit(s, &question, &answer, error));
  assert_true(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2] <= 4 + 1e-9);
  assert_int_equal(answer.steps == 1, !faro_budget_gaussian(kind));
  const watched *w = &watch[watches - 1];
  assert_int_equal(w->params.level, FARO_LEVEL_USER);
  assert_int_equal(w->params.contributions, answer.steps);
  assert_int_equal(w->users, answer.steps * PEOPLE);
  faro_release *fit = NULL;
  assert_ok(faro_release_create(&fit, w->kind, &w->contribution, &w->params, faro_source_none(), error));
  (faro_budget_gaussian(kind) ? assert_squares_add : assert_claims_add)(sum, fit);
  faro_release_destroy(fit);
  assert_true(answer.noise < 1.1 * predicted && answer.noise > 0.9 * predicted); /* but for other steps */
  assert_true(faro_study_claim(s)->proven && faro_study_claim(s)->trust == kind->trust);
  assert_true(faro_study_claim(s)->epsilon <= usual.epsilon && faro_study_claim(s)->delta <= usual.delta);
  faro_study_destroy(s);
}

static void test_budget__one_batch_of_any_release_costs_its_claim(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    if (kind->phases && kind->trust != FARO_TRUST_NONE) check_batch(kind);
  }
}

/* Bit sums: the accountant's result for every release, added up. The other part's sum is never
 * published, so it costs nothing, and a person of that part adds zero to everything: half of what
 * staying costs. */
static void check_bits(unsigned part, uint64_t allowed) {
  faro_sim_open(&stream, 6, part, FARO_ROLE_USER);
  faro_study *s = make("shuffle-bits", &usual, part == 0 ? allowed : 0, part == 1 ? allowed : 0);
  const double all = pow(faro_gaussian_mu(usual.epsilon, usual.delta), 2);
  const double most = part == 0 ? 1 : usual.steepest;
  double mu = 0;
  double slacks = 0;
  double slack = 0;
  assert_true(faro_release_gaussian(watch[part].release, 1, &mu, &slacks));
  double stays = mu * mu;
  assert_true(faro_release_gaussian(watch[part].release, sqrt(0.5), &mu, &slack));
  double moves = mu * mu;
  /* except for rounding, a Gaussian of the noise's own size */
  assert_true(fabs(mu * faro_study_noise(s, part).scale[0] / most - 1) < 0.05);
  double bits = faro_study_cost(s).bits;
  assert_true(bits == faro_release_cost(watch[part].release).bits); /* of one sum */
  fill(s, PEOPLE, &stream);
  assert_int_equal(faro_study_sum(s, part).releases, 1);
  assert_int_equal(faro_study_sum(s, 1 - part).releases, 0);
  for (uint64_t i = 0; i < allowed; i++) {
    double theta[D];
    faro_answer answer = {.theta = theta};
    const faro_question question = question_of(part);
    assert_ok(faro_study_fit(s, &question, &answer, error));
    assert_in_range(answer.steps, 1, 16);
    const watched *w = &watch[watches - 1];
    assert_int_equal(w->params.grid, 35); /* 20 sqrt(3) = 34.6 */
    faro_release *again = NULL;
    assert_ok(faro_release_create(&again, w->kind, &w->contribution, &w->params, faro_source_none(), error));
    assert_true(faro_release_gaussian(again, 1, &mu, &slack));
    const double sd = answer.noise * sqrt((double)(answer.steps - answer.steps / 4));
    assert_close(sd, faro_release_noise(again).scale[0] / sqrt((double)answer.steps), 1e-9);
    /* the share of this fit, and its noise: what that needs, and 5 % for the grid */
    const double planned = sqrt(all * 2 / 3 * share_of(i, allowed));
    const double needed = 2 * w->contribution.norm * sqrt((double)answer.steps) / planned;
    assert_true(mu <= planned && mu > 0.99 * planned);
    assert_in_range((uint64_t)(1000 * sd / needed), 1000, 1070);
    stays += mu * mu;
    slacks += slack;
    assert_true(faro_release_gaussian(again, 0.5, &mu, &slack));
    moves += mu * mu;
    bits += (double)answer.steps * faro_release_cost(again).bits;
    faro_release_destroy(again);
  }
  const double delta = faro_gaussian_delta(sqrt(stays), usual.epsilon) + slacks;
  assert_true(delta <= usual.delta);
  assert_true(delta > 0.95 * usual.delta);
  assert_true(moves < 0.5 * stays);
  assert_true(faro_study_claim(s)->proven);
  assert_true(faro_study_claim(s)->trust == FARO_TRUST_SHUFFLE);
  assert_true(bits > 0 && faro_study_cost(s).messages == faro_study_cost(s).bits);
  assert_close(faro_study_cost(s).bits / bits, 1, 1e-12);
  faro_study_destroy(s);
}

static void test_budget__of_bits_is_kept(void **state) {
  (void)state;
  check_bits(0, 1);
  check_bits(1, 3);
  check_bits(0, 14);
}

/* zCDP by thirds, recomputed. */
static void test_paper__noise_is_that_of_the_thirds(void **state) {
  (void)state;
  check_test();
  faro_sim_open(&stream, 7, 0, FARO_ROLE_USER);
  faro_study_params p = usual;
  p.calibration = FARO_CALIBRATION_PAPER;
  const double l = log(3 / p.delta);
  const double rho = pow(sqrt(l + p.epsilon / 3) - sqrt(l), 2);
  const char *const kind[] = {"central-tree", "central-factored"};
  for (int k = 0; k < 2; k++) {
    faro_study *s = make(kind[k], &p, 0, 5);
    const double shift = sqrt(2) * p.steepest *
                         (k == 0 ? sqrt(nodes_of(PEOPLE)) : faro_factored_factors(PEOPLE, 1).sensitivity);
    assert_close(sd_of(&watch[1], 0) * sqrt(2 * rho) / shift, 1, 1e-6);
    fill(s, PEOPLE, &stream);
    double theta[D];
    faro_answer answer = {.theta = theta};
    const faro_question question = question_of(1);
    assert_ok(faro_study_fit(s, &question, &answer, error));
    const double n = PEOPLE;
    const double steps = floor(n * n * rho / 5 / (2 * (D + log(1 / p.failure))));
    assert_true(steps > 1 && answer.steps == (uint64_t)steps);
    const double length = faro_link_mean(FARO_LINK_LOGISTIC, 2);
    /* of the sum: n times that of the mean */
    const double sigma = sqrt(2 * length * length * steps / (rho / 5));
    assert_close(answer.noise * sqrt(steps) / sigma, 1, 1e-6);
    assert_true(faro_study_claim(s)->proven);
    assert_non_null(strstr(faro_study_claim(s)->by, "not spent"));
    faro_study_destroy(s);
  }
  p.people = p.horizon = 20000;
  faro_study *s = make("central-tree", &p, 0, 1);
  fill(s, 20000, &stream);
  double theta[D];
  faro_answer answer = {.theta = theta};
  const faro_question question = question_of(1);
  assert_ok(faro_study_fit(s, &question, &answer, error));
  assert_int_equal(answer.steps, 1000);
  faro_study_destroy(s);
}

/* Under every calibration: not both parts may have fits. */
static void test_shuffled__fits_are_of_one_part(void **state) {
  (void)state;
  const faro_calibration calibration[] = {FARO_CALIBRATION_TIGHT, FARO_CALIBRATION_PAPER};
  for (int k = 0; k < 2; k++)
    for (unsigned part = 0; part < FARO_PARTS; part++) {
      faro_sim_open(&stream, 16, 0, FARO_ROLE_USER);
      faro_study_params p = usual;
      p.calibration = calibration[k];
      faro_study *s = NULL;
      faro_error why = {0};
      assert_ok(faro_study_create(&s, faro_release_kind_find("shuffle-bits"), &p, &stream, error));
      const uint64_t both[FARO_PARTS] = {2, 1};
      assert_int_equal(faro_study_allow(s, both, &why), FARO_INVALID);
      assert_string_equal(why.message, "fits must be of one part alone for shuffle-bits (got 2 and 1)");
      const uint64_t one[FARO_PARTS] = {part == 0, part == 1}; /* and the mistake can be corrected */
      assert_ok(faro_study_allow(s, one, error));
      assert_true(faro_study_claim(s)->proven);
      fill(s, PEOPLE, &stream);
      assert_int_equal(faro_study_sum(s, part).releases, 1);
      assert_int_equal(faro_study_sum(s, 1 - part).releases, 0);
      faro_study_destroy(s);
      s = make("shuffle-bits", &p, 0, 0); /* without fits both sums are published */
      fill(s, PEOPLE, &stream);
      assert_true(faro_study_sum(s, 0).releases == 1 && faro_study_sum(s, 1).releases == 1);
      faro_study_destroy(s);
    }
}

static void test_paper__of_shuffled_bits_composes_as_published(void **state) {
  (void)state;
  faro_sim_open(&stream, 8, 0, FARO_ROLE_USER);
  faro_study_params p = usual;
  p.calibration = FARO_CALIBRATION_PAPER;
  faro_study *s = make("shuffle-bits", &p, 0, 2);
  assert_true(faro_study_claim(s)->proven);
  watch_reset();
  fill(s, PEOPLE, &stream);
  assert_int_equal(faro_study_sum(s, 0).releases, 0);
  assert_int_equal(faro_study_sum(s, 1).releases, 1);
  double theta[D];
  faro_answer answer = {.theta = theta};
  const faro_question question = question_of(1);
  assert_ok(faro_study_fit(s, &question, &answer, error));
  const faro_release_params *made = &watch[watches - 1].params;
  const double steps = (double)answer.steps;
  assert_close(made->epsilon, 0.25 / (2 * sqrt(2 * steps * log(2 / (p.delta / 4)))), 1e-12);
  assert_close(made->delta, p.delta / 4 / (2 * steps), 1e-18);
  assert_int_equal(made->level, FARO_LEVEL_EVENT);
  faro_study_destroy(s);
}

/* ---- the published program */

/* The least epsilon, over orders of Renyi divergence, of so many Gaussian mechanisms; `sampled`: of
 * their divergence that is left where each sees a part of the people. */
static double naive_epsilon(double sigma, double steps, double sampled, double delta) {
  double least = INFINITY;
  for (double a = 1.01; a < 1000; a *= 1.0005)
    least =
        fmin(least, steps * sampled * a / (2 * sigma * sigma) + log(1 - 1 / a) - log(delta * a) / (a - 1));
  return least;
}

/* sigma of the last release: its noise divided by the length to which gradients are clipped. */
static double last_sigma(void) {
  const watched *w = &watch[watches - 1];
  return 2 / faro_gaussian_mu(w->params.epsilon, w->params.delta);
}

static void test_figure__has_the_published_constants(void **state) {
  (void)state;
  faro_sim_open(&stream, 9, 0, FARO_ROLE_USER);
  faro_study_params p = usual;
  p.link = FARO_LINK_PROBIT;
  p.steepest = 1 / sqrt(2 * acos(-1));
  p.people = p.horizon = 5000;
  p.epsilon = 4;
  p.delta = p.failure = 0.02;
  p.calibration = FARO_CALIBRATION_FIGURE;
  faro_study *s = make("central-tree", &p, 0, 8);
  /* lambda of the check values: 232.81 */
  assert_close(2 * faro_study_noise(s, 1).gamma + 0.75 * 3 * log(4 * 5000 / 0.02), 232.81, 0.005);
  const double l = log(3 / p.delta);
  const double rho = pow(sqrt(l + p.epsilon / 3) - sqrt(l), 2);
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    const double node = (part == 0 ? 1 : p.steepest) * sqrt(13 / (2 * rho));
    assert_close(sd_of(&watch[part], 0), node, 1e-9);           /* on the diagonal */
    assert_close(sd_of(&watch[part], 1), node / sqrt(2), 1e-9); /* off the diagonal */
    assert_close(sd_of(&watch[part], 2), node, 1e-9);
  }
  fill(s, 5000, &stream);
  double theta[D];
  faro_answer answer = {.theta = theta};
  const faro_question question = question_of(1);
  assert_ok(faro_study_fit(s, &question, &answer, error));
  /* 3333 people: one batch of 2048 in each of 25 epochs, at an eighth of 4/3 */
  assert_int_equal(answer.steps, 25);
  const watched *w = &watch[watches - 1];
  assert_int_equal(w->params.batch, 2048);
  assert_close(w->contribution.norm, 0.2, 1e-15);
  const double share = 2048.0 / 3333;
  assert_close(naive_epsilon(last_sigma(), 25, 4 * share * share, p.delta / 24), p.epsilon / 24, 1e-4);
  assert_true(isinf(answer.bound));
  assert_false(faro_study_claim(s)->proven);
  assert_non_null(strstr(faro_study_claim(s)->by, "2 clip"));
  assert_non_null(strstr(faro_study_claim(s)->by, "no theorem"));
  faro_study_destroy(s);
}

/* A part that is one batch is not sampled. More than ten fits compose by advanced composition. */
static void test_figure__divides_its_budget_among_fits(void **state) {
  (void)state;
  faro_study_params p = usual;
  p.people = p.horizon = 600;
  p.epsilon = 24;
  p.delta = 0.02;
  p.calibration = FARO_CALIBRATION_FIGURE;
  static const uint64_t fits[] = {1, 10, 11, 400};
  static const uint64_t steps[] = {100, 50, 50, 15};
  for (int i = 0; i < 4; i++) {
    faro_sim_open(&stream, 17, (uint64_t)i, FARO_ROLE_USER);
    const double n = (double)fits[i];
    double epsilon = p.epsilon / 3 / n;
    double delta = p.delta / 3 / n;
    if (n > 10) { /* the root of e sqrt(2 n ln(1/delta')) + n e (e^e - 1) by small steps */
      const double slope = sqrt(-2 * n * log(p.delta / 6));
      for (epsilon = 0; slope * epsilon + n * epsilon * expm1(epsilon) < p.epsilon / 3;) epsilon += 1e-7;
      delta /= 2;
    }
    faro_study *s = make("central-tree", &p, 0, fits[i]);
    fill(s, 600, &stream);
    double theta[D];
    faro_answer answer = {.theta = theta};
    const faro_question question = question_of(1);
    assert_ok(faro_study_fit(s, &question, &answer, error));
    assert_int_equal(answer.steps, steps[i]);
    assert_close(naive_epsilon(last_sigma(), (double)steps[i], 1, delta), epsilon, 1e-3 * epsilon);
    faro_study_destroy(s);
  }
}

/* The exact minimiser over all rows, and nothing is out of place afterwards. */
static void test_whole__is_a_fit_to_both_parts(void **state) {
  (void)state;
  static double x[2][PEOPLE * D];
  static double y[2][PEOPLE];
  size_t count[2] = {0};
  faro_solver *solver = NULL;
  assert_ok(faro_solver_create(&solver, D, error));
  faro_study_params p = usual;
  p.people = 90; /* so few that rows which are moved overlap with themselves */
  faro_study *s = make("none", &p, 1, 9);
  faro_sim_open(&stream, 31, 0, FARO_ROLE_USER);
  for (size_t i = 0; i < 90; i++) {
    double at[D];
    double reward = 0;
    draw(&stream, at, &reward);
    const unsigned part = i % 3 == 0 ? 0 : 1;
    (void)faro_study_add(s, at, reward, part, 0.2);
    for (int both = 0; both < 2; both++) { /* everybody; part 1 alone */
      if (both == 1 && part == 0) continue;
      memcpy(x[both] + count[both] * D, at, sizeof at);
      y[both][count[both]++] = reward;
    }
    if (i % 30 != 29) continue;
    for (int both = 0; both < 2; both++) {
      double theta[D];
      double want[D] = {0};
      faro_answer answer = {.theta = theta};
      faro_question question = question_of(1);
      question.whole = both == 0;
      assert_ok(faro_study_fit(s, &question, &answer, error));
      const faro_rows rows = {.dimension = D, .count = count[both], .x = x[both], .y = y[both]};
      (void)faro_solver_minimise(solver, usual.link, &rows, 1, &(faro_region){.radius = 2}, want);
      for (int j = 0; j < D; j++) assert_close(theta[j], want[j], 1e-6);
    }
  }
  faro_study_destroy(s);
  faro_solver_destroy(solver);
  s = make("central-tree", &usual, 0, 1);
  double theta[D];
  faro_question question = question_of(1);
  question.whole = true;
  faro_error why = {0};
  assert_int_equal(faro_study_fit(s, &question, &(faro_answer){.theta = theta}, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "to one part"));
  assert_int_equal(faro_study_left(s, 1), 1);
  faro_study_destroy(s);
}

static void test_claim__says_what_it_rests_on(void **state) {
  (void)state;
  faro_study_params p = usual;
  faro_study *s = make("central-factored", &p, 1, 1);
  const faro_claim *c = faro_study_claim(s);
  assert_true(c->proven && c->epsilon == 1 && c->delta == 1e-3 && c->trust == FARO_TRUST_JOINT);
  assert_non_null(strstr(c->by, "Gaussian mechanisms"));
  assert_non_null(strstr(c->by, "change part"));
  faro_study_destroy(s);
  p.calibration = FARO_CALIBRATION_PAPER;
  p.epsilon = 60; /* outside the range of the theorems: half of it is above 15 */
  s = make("shuffle-bits", &p, 1, 0);
  assert_false(faro_study_claim(s)->proven);
  assert_non_null(strstr(faro_study_claim(s)->by, "outside"));
  faro_study_destroy(s);
  for (int calibration = 0; calibration < FARO_CALIBRATION_COUNT; calibration++) {
    p.calibration = (faro_calibration)calibration;
    s = make("none", &p, 1, 1);
    assert_true(faro_study_claim(s)->trust == FARO_TRUST_NONE);
    faro_study_destroy(s);
  }
}

/* ---- what it refuses */

static void test_ledger__refuses_fits_beyond_those_allowed(void **state) {
  (void)state;
  faro_sim_open(&stream, 10, 0, FARO_ROLE_USER);
  const char *const kind[] = {"none", "central-tree", "shuffle-bits"};
  for (int k = 0; k < 3; k++) {
    faro_study *s = make(kind[k], &usual, 2, 0);
    fill(s, 50, &stream);
    double theta[D] = {7, 7, 7};
    faro_answer answer = {.theta = theta};
    faro_error why = {0};
    faro_question question = question_of(1);
    assert_int_equal(faro_study_fit(s, &question, &answer, &why), FARO_INVALID);
    assert_string_equal(why.message, "fits of part 1 are used up (0 allowed)");
    question.part = 0;
    assert_ok(faro_study_fit(s, &question, &answer, error));
    fill(s, 50, &stream);
    assert_ok(faro_study_fit(s, &question, &answer, error));
    const size_t before = watches;
    theta[0] = theta[1] = theta[2] = 7;
    why = (faro_error){0};
    assert_int_equal(faro_study_fit(s, &question, &answer, &why), FARO_INVALID);
    assert_string_equal(why.message, "fits of part 0 are used up (2 allowed)");
    assert_int_equal(watches, before);
    assert_true(theta[0] == 7 && theta[1] == 7 && theta[2] == 7);
    assert_int_equal(faro_study_left(s, 0), 0);
    const uint64_t more[FARO_PARTS] = {9, 9};
    why = (faro_error){0};
    assert_int_equal(faro_study_allow(s, more, &why), FARO_INVALID);
    faro_study_destroy(s);
  }
}

static void test_fit__that_is_impossible_spends_nothing(void **state) {
  (void)state;
  faro_sim_open(&stream, 11, 0, FARO_ROLE_USER);
  faro_study *s = make("central-tree", &usual, 1, 1);
  fill(s, 50, &stream);
  double theta[D];
  faro_answer answer = {.theta = theta};
  const double indefinite[GRAM] = {1, 2, 1, 0, 0, 1};
  const double flat[GRAM] = {1e3, 0, 1e-12, 0, 0, 1}; /* 1e-15 of the greatest: only rounding */
  const double thin[GRAM] = {1e3, 0, 1e-9, 0, 0, 1};
  faro_question bad[5];
  for (int i = 0; i < 5; i++) bad[i] = question_of(0);
  bad[0].ridge = (double)NAN;
  bad[1].region.radius = 0;
  bad[2].region.metric = indefinite;
  bad[3].curvature = indefinite;
  bad[4].curvature = flat;
  for (int i = 0; i < 5; i++) {
    faro_error why = {0};
    assert_int_equal(faro_study_fit(s, &bad[i], &answer, &why), FARO_INVALID);
    assert_true(why.message[0] != '\0');
  }
  assert_int_equal(faro_study_left(s, 0), 1);
  bad[4].curvature = thin; /* this is enough */
  assert_ok(faro_study_fit(s, &bad[4], &answer, error));
  assert_true(isfinite(theta[0] + theta[1] + theta[2]) && isfinite(answer.bound));
  faro_study_destroy(s);
  s = make("shuffle-bits", &usual, 1, 0); /* one person alone would not be hidden */
  fill(s, 1, &stream);
  faro_error why = {0};
  const faro_question question = question_of(0);
  assert_int_equal(faro_study_fit(s, &question, &answer, &why), FARO_INVALID);
  assert_int_equal(faro_study_left(s, 0), 1);
  faro_study_destroy(s);
}

static void test_allow__refuses_what_leaves_too_little(void **state) {
  (void)state;
  faro_study_params p = usual;
  p.epsilon = 0.001;
  p.delta = 1e-9;
  faro_study *s = NULL;
  assert_ok(faro_study_create(&s, faro_release_kind_find("central-tree"), &p, &stream, error));
  faro_error why = {0};
  const uint64_t many[FARO_PARTS] = {1000001, 0};
  assert_int_equal(faro_study_allow(s, many, &why), FARO_INVALID);
  const uint64_t thin[FARO_PARTS] = {1000000, 0};
  why = (faro_error){0};
  assert_int_equal(faro_study_allow(s, thin, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "fewer fits"));
  faro_study_destroy(s);
}

/* If only the last and most expensive fit is impossible, because of its noise bits or because of
 * what its steps can spend, this is refused before anybody comes. With fewer fits it works. */
static void test_allow__tries_the_most_expensive_fit(void **state) {
  (void)state;
  const struct {
    faro_calibration calibration;
    size_t dimension;
    uint64_t people, refused, taken;
    double steepest, epsilon, delta;
    const char *text;
  } at[] = {{FARO_CALIBRATION_PAPER, D, PEOPLE, 100000, 2, 0.25, 1, 1e-3, "epsilon must be"},
            {FARO_CALIBRATION_TIGHT, 30, 2, 10, 1, 1e-3, 0.001, 1e-12, "noise bits"}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    faro_study_params p = usual;
    p.calibration = at[i].calibration;
    p.dimension = at[i].dimension;
    p.people = p.horizon = at[i].people;
    p.steepest = at[i].steepest;
    p.epsilon = at[i].epsilon;
    p.delta = at[i].delta;
    faro_study *s = NULL;
    assert_ok(faro_study_create(&s, faro_release_kind_find("shuffle-bits"), &p, &stream, error));
    faro_error why = {0};
    const uint64_t many[FARO_PARTS] = {0, at[i].refused};
    assert_int_equal(faro_study_allow(s, many, &why), FARO_INVALID);
    if (!strstr(why.message, at[i].text)) fail_msg("\"%s\" does not say \"%s\"", why.message, at[i].text);
    const uint64_t few[FARO_PARTS] = {0, at[i].taken};
    assert_ok(faro_study_allow(s, few, error));
    assert_int_equal(faro_study_left(s, 1), at[i].taken);
    assert_true(faro_study_claim(s)->proven);
    faro_study_destroy(s);
  }
}

/* Wild data leave everything finite, and no gradient longer than its bound. */
static void check_wild(const char *kind, unsigned part) {
  const double wild[] = {0, 1, -3, 1e200, (double)INFINITY, -(double)INFINITY, (double)NAN, 5e-324};
  faro_study_params p = usual;
  p.link = FARO_LINK_POISSON;
  p.reward = 3;
  faro_study *s = make_for(kind, &p, part);
  for (int i = 0; i < PEOPLE; i++) {
    const double x[D] = {wild[i % 8], wild[i / 8 % 8], wild[i / 64 % 8]};
    (void)faro_study_add(s, x, wild[i % 7], (unsigned)i % 2, wild[i % 5]);
  }
  double theta[D];
  faro_answer answer = {.theta = theta};
  const faro_question question = question_of(part);
  for (int i = 0; i < GRAM; i++) assert_true(isfinite(faro_study_sum(s, part).sum[i]));
  assert_ok(faro_study_fit(s, &question, &answer, error));
  assert_true(isfinite(theta[0] + theta[1] + theta[2]) && answer.bound >= 0 && isfinite(answer.bound));
  if (strcmp(kind, "none") != 0)
    assert_close(watch[watches - 1].contribution.norm, exp(2), 1e-9); /* the mean at the far end */
  for (size_t i = 0; i < watches; i++)
    assert_true(watch[i].longest <= watch[i].contribution.norm * (1 + 1e-12));
  faro_study_destroy(s);
}

static void test_add__survives_any_data(void **state) {
  (void)state;
  faro_sim_open(&stream, 12, 0, FARO_ROLE_USER);
  const char *const kind[] = {"none", "central-factored", "shuffle-bits"};
  for (int k = 0; k < 3; k++)
    for (unsigned part = 0; part < FARO_PARTS; part++) check_wild(kind[k], part);
}

static void test_memory__every_allocation_may_fail(void **state) {
  (void)state;
  const char *const kind[] = {"none", "central-tree", "central-tree", "shuffle-bits"};
  for (int k = 0; k < 4; k++) {
    faro_study_params p = usual;
    p.people = 20;
    if (k == 2) p.calibration = FARO_CALIBRATION_FIGURE;
    bool done = false;
    size_t rehearsals = 0;
    for (size_t n = 1; !done; n++) {
      faro_sim_open(&stream, 13, 0, FARO_ROLE_USER);
      faro_study *s = NULL;
      faro_error why = {0};
      const uint64_t fits[FARO_PARTS] = {k < 3, 1};
      double theta[D];
      faro_answer answer = {.theta = theta};
      const faro_question question = question_of(1);
      watch_reset();
      alloc_fail_at(n);
      faro_status status = faro_study_create(&s, faro_release_kind_find(kind[k]), &p, &stream, &why);
      if (status == FARO_OK) status = faro_study_allow(s, fits, &why);
      if (status == FARO_OK) {
        fill(s, 20, &stream);
        status = faro_study_fit(s, &question, &answer, &why);
        assert_int_equal(faro_study_left(s, 1), status == FARO_OK ? 0 : 1);
      } else if (s) { /* the rehearsal failed: nothing is fixed, and it may be tried again */
        alloc_fail_at(0);
        rehearsals++;
        assert_int_equal(faro_study_left(s, 1), 0);
        assert_ok(faro_study_allow(s, fits, error));
        assert_int_equal(faro_study_left(s, 1), 1);
      }
      alloc_fail_at(0);
      done = status == FARO_OK;
      if (!done) assert_int_equal(status, FARO_MEMORY);
      faro_study_destroy(s);
    }
    /* if there is noise, and something is known about it */
    assert_true((rehearsals > 0) == (k == 1 || k == 3));
  }
}

static void test_add__allocates_nothing(void **state) {
  (void)state;
  faro_sim_open(&stream, 14, 0, FARO_ROLE_USER);
  faro_study *s = make("central-tree", &usual, 1, 1);
  alloc_reset();
  fill(s, PEOPLE, &stream);
  assert_int_equal(alloc_count(), 0);
  faro_study_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_takes__exactly_the_kinds_in_the_header),
      cmocka_unit_test(test_create__names_what_is_wrong),
      cmocka_unit_test(test_sums__are_of_clipped_people_of_the_part),
      cmocka_unit_test(test_study__takes_nobody_before_it_is_ready),
      cmocka_unit_test(test_sums__come_after_every_batch),
      cmocka_unit_test(test_batch__has_a_default),
      cmocka_unit_test(test_fit__without_privacy_is_the_minimiser_of_the_part),
      cmocka_unit_test(test_fit__asks_the_part_for_its_gradient),
      cmocka_unit_test(test_fit__without_people_minimises_the_ridge),
      cmocka_unit_test(test_budget__one_batch_of_any_release_costs_its_claim),
      cmocka_unit_test(test_budget__all_noise_together_is_what_the_claim_needs),
      cmocka_unit_test(test_budget__of_bits_is_kept),
      cmocka_unit_test(test_paper__noise_is_that_of_the_thirds),
      cmocka_unit_test(test_shuffled__fits_are_of_one_part),
      cmocka_unit_test(test_paper__of_shuffled_bits_composes_as_published),
      cmocka_unit_test(test_figure__has_the_published_constants),
      cmocka_unit_test(test_figure__divides_its_budget_among_fits),
      cmocka_unit_test(test_whole__is_a_fit_to_both_parts),
      cmocka_unit_test(test_claim__says_what_it_rests_on),
      cmocka_unit_test(test_ledger__refuses_fits_beyond_those_allowed),
      cmocka_unit_test(test_fit__that_is_impossible_spends_nothing),
      cmocka_unit_test(test_allow__refuses_what_leaves_too_little),
      cmocka_unit_test(test_allow__tries_the_most_expensive_fit),
      cmocka_unit_test(test_add__survives_any_data),
      cmocka_unit_test(test_memory__every_allocation_may_fail),
      cmocka_unit_test(test_add__allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
