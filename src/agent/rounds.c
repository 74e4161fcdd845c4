/* rounds: see the header.
 *
 *   policy, at --people, elsewhere--> messages --release of one batch--> W, -g
 *   W, g --see, ask, guess--> the next point            in all rounds of a term but the last
 *        --see, ask, answer--> belief --publish--> policy   in the last
 *
 * What a term ends with is the mean over its fits, or its only round: of W, of the gradients g, and
 * of the points at which they were measured. A round of one point is as good as exact for the
 * learner, because it knows what a gradient away from the minimum means (learner/belief.h).
 *
 * The state is the list of all published sums. Everything else follows from it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <faro/rounds.h>

#include "base/abort.h"
#include "base/arena.h"
#include "privacy/claim.h"

struct faro_rounds {
  faro_arena arena;
  faro_rounds_params params;
  const faro_learner_kind *kind;
  const faro_release_kind *release_kind;
  faro_source source;
  faro_contribution contribution;
  faro_release_params budget;
  faro_claim claim;
  faro_asker *learner;
  faro_release *release; /* the open round's; NULL: no round is open */
  faro_round now;
  size_t terms;
  uint64_t length[FARO_ROUNDS_MAX];
  faro_policy policy;
  double *at;
  double *sums;                 /* what each round released, one after another */
  double *gram, *point, *slope; /* means over the rounds that the term's answer is made of */
  double *gradient;             /* slope with the ridge */
  double *silence;              /* the other part's sum: zeros */
};

static size_t length_of(const faro_rounds *r) { return r->contribution.length; }

/* Rounds that the term's answer is made of, among those up to fit number `fit`. */
static double window(uint64_t fit) { return fit == 0 ? 1 : (double)fit; }

/* Creation. */

static faro_status check(const faro_rounds *r, faro_error *error) {
  const faro_rounds_params *p = &r->params;
  if (!r->kind || faro_asker_kind_studies(r->kind) != FARO_STUDIES_BATCHES)
    return faro_fail(error, FARO_INVALID, "learner must be a batched one, such as glm-batched (got %.40s)",
                     p->learner ? p->learner : "nothing");
  if (!r->release_kind || r->release_kind->alternative ||
      (!r->release_kind->phases && r->release_kind->trust != FARO_TRUST_NONE))
    return faro_fail(error, FARO_INVALID,
                     "release must be of one kind, and may consist of a single batch (got %.40s)",
                     p->release ? p->release : "nothing");
  if (p->fits > FARO_FITS_MAX)
    return faro_fail(error, FARO_INVALID, "fits must be at most %d (got %llu)", FARO_FITS_MAX,
                     (unsigned long long)p->fits);
  if (p->fits >= (p->contributions > 0 ? p->contributions : 1))
    return faro_fail(error, FARO_INVALID,
                     "contributions must be more than fits, %llu, so that people can be in a whole term (got "
                     "%llu)",
                     (unsigned long long)p->fits, (unsigned long long)p->contributions);
  return FARO_OK;
}

static faro_status make_release(const faro_rounds *r, uint64_t people, faro_source source,
                                faro_release **release, faro_error *error) {
  const faro_release_params params = faro_release_alone(&r->budget, people);
  const faro_status status =
      faro_release_create(release, r->release_kind, &r->contribution, &params, source, error);
  if (status != FARO_OK) return status;
  const faro_claim *claim = faro_release_claim(*release);
  if (claim->proven || r->release_kind->trust == FARO_TRUST_NONE) return FARO_OK;
  (void)faro_fail(error, FARO_INVALID, "the claim of a round of %llu people is not proven: %s",
                  (unsigned long long)people, claim->by);
  faro_release_destroy(*release);
  *release = NULL;
  return FARO_INVALID;
}

/* The standard deviation of an entry of the published gradient. */
static double gradient_noise(const faro_rounds *r, const faro_release *release) {
  const faro_noise noise = faro_release_noise(release);
  if (!noise.scale) return 0;
  return noise.scale[r->contribution.gram] * (noise.ratio > 0 ? noise.ratio : 1);
}

static faro_status predict(const faro_rounds *r, uint64_t people, double *noise, faro_error *error) {
  faro_release *release = NULL;
  const uint64_t least = r->release_kind->least_batch;
  const faro_status status =
      make_release(r, people > least ? people : least, faro_source_none(), &release, error);
  if (status == FARO_OK) *noise = gradient_noise(r, release) / sqrt(window(r->params.fits));
  faro_release_destroy(release);
  return status;
}

static faro_status make_learner(faro_rounds *r, faro_error *error) {
  const faro_rounds_params *p = &r->params;
  faro_asker_params params = {.dimension = p->dimension,
                              .horizon = p->horizon,
                              .failure = p->failure,
                              .link = p->link,
                              .bound = p->bound,
                              .kappa = 1 / faro_link_flattest(p->link, p->bound),
                              .offers = p->arms,
                              .calibration = FARO_CALIBRATION_TIGHT,
                              .settings = p->settings};
  if (p->horizon < 1) return faro_fail(error, FARO_INVALID, "horizon must be at least 1 (got 0)");
  faro_status status = predict(r, (uint64_t)ceil(sqrt((double)p->horizon)), &params.noise[0], error);
  if (status == FARO_OK) status = predict(r, p->horizon, &params.noise[1], error);
  return status == FARO_OK ? faro_asker_create(&r->learner, r->kind, &params, error) : status;
}

/* A person's rounds are counted by each of them (Lemma P), so the weakest claim is that of all. The
 * text is the first round's. */
static void join(faro_rounds *r, const faro_claim *claim, uint64_t people) {
  if (r->terms > 0) {
    r->claim.epsilon = fmax(r->claim.epsilon, claim->epsilon);
    r->claim.delta = fmax(r->claim.delta, claim->delta);
    return;
  }
  r->claim = *claim;
  faro_claim_say(&r->claim, " (a round of %llu people)", (unsigned long long)people);
}

/* Tries all terms, so that whatever is refused is refused before anybody comes. Leaves a learner
 * that has begun nothing. */
static faro_status plan_terms(faro_rounds *r, faro_error *error) {
  faro_status status = make_learner(r, error);
  uint64_t people;
  while (status == FARO_OK && r->terms < FARO_ROUNDS_MAX && (people = faro_asker_term(r->learner)) > 0) {
    faro_release *release = NULL;
    uint64_t fits[FARO_PARTS];
    status = make_release(r, people, r->source, &release, error);
    if (status != FARO_OK) break;
    const faro_noise noise = faro_release_noise(release);
    faro_asker_begin(r->learner, (const faro_noise[FARO_PARTS]){noise, noise}, fits);
    join(r, faro_release_claim(release), people);
    r->length[r->terms++] = people;
    faro_release_destroy(release);
  }
  if (status == FARO_OK && r->terms * (r->params.fits + 1) > FARO_ROUNDS_MAX)
    status = faro_fail(error, FARO_INVALID, "there would be %llu rounds, but at most %d are possible",
                       (unsigned long long)(r->terms * (r->params.fits + 1)), FARO_ROUNDS_MAX);
  faro_asker_destroy(r->learner);
  r->learner = NULL;
  return status == FARO_OK ? make_learner(r, error) : status;
}

static faro_status room(faro_rounds *r, faro_error *error) {
  const size_t d = r->params.dimension;
  const struct {
    double **vector;
    size_t length;
  } wanted[] = {{&r->at, d},
                {&r->point, d},
                {&r->slope, d},
                {&r->gradient, d},
                {&r->policy.theta, d},
                {&r->policy.w, faro_packed(d)},
                {&r->gram, r->contribution.gram},
                {&r->silence, r->contribution.gram},
                {&r->sums, r->terms * (r->params.fits + 1) * length_of(r)}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if (!(*wanted[i].vector = faro_arena_alloc(&r->arena, wanted[i].length, sizeof(double), error)))
      return FARO_MEMORY;
  return FARO_OK;
}

/* Rounds. */

/* What the learner publishes, as a policy of our own. */
static void publish(faro_rounds *r) {
  const size_t d = r->params.dimension;
  faro_policy now = {0};
  FARO_INVARIANT(faro_asker_publish(r->learner, &now));
  memcpy(r->policy.theta, now.theta, d * sizeof *now.theta);
  memcpy(r->policy.w, now.w, faro_packed(d) * sizeof *now.w);
  now.theta = r->policy.theta;
  now.w = r->policy.w;
  r->policy = now;
}

/* Sets the point of the next round, within the bound. */
static void move_to(faro_rounds *r, const double *point) {
  double square = 0;
  for (size_t i = 0; i < r->params.dimension; i++) square += point[i] * point[i];
  const double factor = square > r->params.bound * r->params.bound ? r->params.bound / sqrt(square) : 1;
  for (size_t i = 0; i < r->params.dimension; i++) r->at[i] = factor * point[i];
}

static faro_status open_round(faro_rounds *r, faro_error *error) {
  faro_release_destroy(r->release);
  r->release = NULL;
  r->now.people = r->now.term < r->terms ? r->length[r->now.term] : 0;
  if (r->now.people == 0) {
    publish(r);
    return FARO_OK;
  }
  const faro_status status = make_release(r, r->now.people, r->source, &r->release, error);
  if (status != FARO_OK) return status;
  if (r->now.fit == 0) {
    const faro_noise noise = faro_release_noise(r->release);
    uint64_t fits[FARO_PARTS];
    faro_asker_begin(r->learner, (const faro_noise[FARO_PARTS]){noise, noise}, fits);
    publish(r);
    move_to(r, r->policy.theta);
  }
  r->policy.version = r->now.number + 1;
  faro_release_linearise(r->release, r->at);
  return FARO_OK;
}

/* A fit replaces what the first round said; later fits are averaged. */
static void gather(faro_rounds *r, const double *sum) {
  const double share = 1 / window(r->now.fit);
  const size_t gram = r->contribution.gram;
  for (size_t i = 0; i < gram; i++) r->gram[i] += share * (sum[i] - r->gram[i]);
  for (size_t i = 0; i < r->params.dimension; i++) {
    r->point[i] += share * (r->at[i] - r->point[i]);
    r->slope[i] += share * (-sum[gram + i] - r->slope[i]);
  }
}

/* The learner's question is about the loss with a ridge. */
static faro_question ask(faro_rounds *r) {
  const faro_statistics none = {.sum = r->silence};
  const faro_statistics seen = {.sum = r->gram};
  faro_question question;
  faro_asker_see(r->learner, (const faro_statistics[FARO_PARTS]){none, seen});
  FARO_INVARIANT(faro_asker_ask(r->learner, &question) && question.part == 1);
  return question;
}

/* A round is over: r->sums has what it published. */
static void take(faro_rounds *r, const double *sum) {
  const size_t d = r->params.dimension;
  gather(r, sum);
  const double ridge = ask(r).ridge;
  for (size_t i = 0; i < d; i++) r->gradient[i] = r->slope[i] + ridge * r->point[i];
  const faro_answer answer = {.theta = r->point,
                              .gradient = r->gradient,
                              .bound = INFINITY,
                              .noise = gradient_noise(r, r->release) / sqrt(window(r->now.fit)),
                              .steps = 1};
  if (r->now.fit < r->params.fits) {
    double guess[FARO_DIMENSION_MAX];
    FARO_INVARIANT(faro_asker_guess(r->learner, &answer, guess));
    move_to(r, guess);
    r->now.fit++;
  } else {
    faro_asker_answer(r->learner, &answer);
    r->now.term++;
    r->now.fit = 0;
  }
  r->now.number++;
}

static faro_status advance(faro_rounds *r, const double *sum, faro_error *error) {
  double *kept = r->sums + r->now.number * length_of(r);
  memmove(kept, sum, length_of(r) * sizeof *kept);
  take(r, kept);
  return open_round(r, error);
}

faro_status faro_rounds_absorb(faro_rounds *rounds, const double *x, double y, faro_error *error) {
  if (!rounds->release || !faro_release_absorb(rounds->release, x, y)) return FARO_OK;
  return advance(rounds, faro_release_statistics(rounds->release).sum, error);
}

faro_status faro_rounds_analyze(faro_rounds *rounds, const void *messages, size_t count, faro_error *error) {
  if (!rounds->release) return faro_fail(error, FARO_INVALID, "all rounds are over");
  const faro_status status = faro_release_analyze(rounds->release, messages, count, error);
  if (status != FARO_OK) return status;
  return advance(rounds, faro_release_statistics(rounds->release).sum, error);
}

static faro_status build(faro_rounds *r, faro_error *error) {
  const faro_rounds_params *p = &r->params;
  r->kind = p->learner ? faro_learner_find(p->learner) : NULL;
  r->release_kind = p->release ? faro_release_kind_find(p->release) : NULL;
  r->budget = (faro_release_params){.epsilon = p->epsilon,
                                    .delta = p->delta,
                                    .level = p->level,
                                    .contributions = p->contributions,
                                    .honest = p->honest,
                                    .calibration = FARO_CALIBRATION_TIGHT};
  faro_status status = check(r, error);
  if (status == FARO_OK && r->release_kind->trust == FARO_TRUST_NONE) r->budget.contributions = 1;
  if (status == FARO_OK)
    status = faro_contribution_linearised(&r->contribution, p->dimension, 1, p->link, p->bound, error);
  if (status == FARO_OK) status = plan_terms(r, error);
  if (status == FARO_OK) status = room(r, error);
  return status == FARO_OK ? open_round(r, error) : status;
}

faro_status faro_rounds_create(faro_rounds **rounds, const faro_rounds_params *params, faro_source source,
                               faro_error *error) {
  faro_arena arena = {0};
  faro_rounds *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_rounds){.arena = arena, .params = *params, .source = source};
  if (made->params.failure == 0) made->params.failure = 0.1;
  const faro_status status = build(made, error);
  if (status == FARO_OK) *rounds = made;
  else faro_rounds_destroy(made);
  return status;
}

void faro_rounds_destroy(faro_rounds *rounds) {
  if (!rounds) return;
  faro_release_destroy(rounds->release);
  faro_asker_destroy(rounds->learner);
  faro_arena arena = rounds->arena;
  faro_arena_free(&arena);
}

/* Questions. */

size_t faro_rounds_terms(const faro_rounds *rounds, uint64_t people[FARO_ROUNDS_MAX]) {
  if (people) memcpy(people, rounds->length, rounds->terms * sizeof *people);
  return rounds->terms;
}

faro_round faro_rounds_now(const faro_rounds *rounds) { return rounds->now; }
const faro_policy *faro_rounds_policy(const faro_rounds *rounds) { return &rounds->policy; }
const double *faro_rounds_at(const faro_rounds *rounds) { return rounds->at; }
const faro_release *faro_rounds_release(const faro_rounds *rounds) { return rounds->release; }
const faro_claim *faro_rounds_claim(const faro_rounds *rounds) { return &rounds->claim; }

const double *faro_rounds_sum(const faro_rounds *rounds) {
  return rounds->now.number > 0 ? rounds->sums + (rounds->now.number - 1) * length_of(rounds) : NULL;
}

/* State: a version, the number of rounds, their sums. */

enum { VERSION = 1, HEAD = 2 * sizeof(uint64_t) };

size_t faro_rounds_state_size(const faro_rounds *rounds) {
  return HEAD + rounds->now.number * length_of(rounds) * sizeof(double);
}

void faro_rounds_save(const faro_rounds *rounds, void *state) {
  const uint64_t head[] = {VERSION, rounds->now.number};
  memcpy(state, head, HEAD);
  memcpy((char *)state + HEAD, rounds->sums, faro_rounds_state_size(rounds) - HEAD);
}

static faro_status check_state(const faro_rounds *r, const void *state, size_t size, uint64_t *count,
                               faro_error *error) {
  uint64_t head[2] = {0};
  if (r->now.number > 0) return faro_fail(error, FARO_INVALID, "a state is loaded before the first round");
  if (size >= HEAD) memcpy(head, state, HEAD);
  if (head[0] != VERSION || head[1] > r->terms * (r->params.fits + 1) ||
      size != HEAD + head[1] * length_of(r) * sizeof(double))
    return faro_fail(error, FARO_INVALID, "the state is not one of these rounds (%zu bytes)", size);
  for (size_t i = 0; i < head[1] * length_of(r); i++) {
    double value;
    memcpy(&value, (const char *)state + HEAD + i * sizeof value, sizeof value);
    if (!isfinite(value)) return faro_fail(error, FARO_INVALID, "number %zu of the state is not finite", i);
  }
  *count = head[1];
  return FARO_OK;
}

faro_status faro_rounds_load(faro_rounds *rounds, const void *state, size_t size, faro_error *error) {
  uint64_t count = 0;
  faro_status status = check_state(rounds, state, size, &count, error);
  if (status != FARO_OK) return status;
  memcpy(rounds->sums, (const char *)state + HEAD, size - HEAD);
  for (uint64_t k = 0; status == FARO_OK && k < count; k++)
    status = advance(rounds, rounds->sums + k * length_of(rounds), error);
  return status;
}
