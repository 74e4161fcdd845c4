/* release: a release as a mechanism to attack. What is seen follows from the trust model (see
 * audit.h), and what it is compared with from its proof (proof.h).
 *
 * Users of a local or shuffled release store nothing from one message to the next, so one object
 * serves all runs. A trusted server stores noise and sums, so there every run begins with the
 * release as it was created (rewind.h). */
#include <faro/audit.h>
#include <faro/message.h>

#include <math.h>
#include <string.h>

#include "audit/order.h"
#include "audit/proof.h"
#include "base/arena.h"
#include "base/share.h"
#include "release/answer.h"
#include "release/rewind.h"
#include "release/shuffler.h"

/* Above this many bits a batch is summed as in simulations, with one draw for all users, and the
 * view is the published sum instead of the totals. Both have the same distribution (tested in
 * test_release_noise.c) and the same information. */
static const double MESSAGE_BITS_MAX = 0x1p20;

enum {
  EVERY = 16, /* the first releases are all seen; later ones at powers of two */
  LEVELS_MAX = 64,
  ORDERS_MAX = 10000 /* shuffles that test the order */
};

/* The reports of a shuffler that are seen: those that contain the victim, if nothing is wrong, and
 * one on either side. Other reports do not depend on the victim. The window is empty for a shuffler
 * that never starts. */
typedef struct window {
  uint64_t first, end;
} window;

typedef struct stage {
  const faro_release_kind *kind;
  const faro_contribution *contribution;
  faro_release_params params;
  faro_sim_rng stream;   /* random numbers of the current run */
  faro_release *release; /* draws from `stream` */
  void *image;           /* the release as it was created */
  faro_arena arena;
  uint64_t batch, releases; /* `releases`: number of batches played */
  uint64_t crowd, honest;   /* users who are mixed with each other, and those of them who are honest */
  uint64_t visits, place;   /* the victim comes as user `place`, then a batch later each time */
  size_t size, numbers;     /* size of a message, and how many numbers are seen in it */
  unsigned char *messages;
  window windows[LEVELS_MAX]; /* concurrent only */
  double *nobody;             /* features of all users but the victim: zero */
  double *inputs;             /* responses only: what the attack may ask of a message, see answer.h */
} stage;

/* What is seen in a message: its numbers; in a response, which inputs it fits. */
static double *see(const stage *t, const void *message, double *view) {
  if (t->inputs) faro_answer_read(t->release, message, t->inputs, FARO_ATTACK_INPUTS, view);
  else (void)faro_release_numbers(t->release, message, view);
  return view + t->numbers;
}

static faro_status see_messages(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                faro_error *error) {
  stage *t = context;
  faro_status status = FARO_OK;
  t->stream = *sim;
  for (uint64_t visit = 0; status == FARO_OK && visit < t->visits; visit++) {
    status = faro_release_randomize(t->release, x, y, t->messages, error);
    view = see(t, t->messages, view);
  }
  return status;
}

/* The messages of honest users, the victim first. */
static faro_status randomize_batch(stage *t, const double *x, double y, faro_error *error) {
  faro_status status = FARO_OK;
  for (uint64_t user = 0; status == FARO_OK && user < t->honest; user++) {
    const bool victim = user == 0;
    status = faro_release_randomize(t->release, victim ? x : t->nobody, victim ? y : t->contribution->low,
                                    t->messages + user * t->size, error);
  }
  return status;
}

/* Plays one shuffled batch with the victim in it. The adversary knows what dishonest users sent:
 * counts of theirs are subtracted, which is the same as blanks, and their messages are left out. */
static faro_status see_batch(stage *t, const double *x, double y, double **view, faro_error *error) {
  const faro_status status = randomize_batch(t, x, y, error);
  if (status != FARO_OK) return status;
  if (faro_release_kind_counts(t->kind)) {
    for (uint64_t user = t->honest; user < t->batch; user++)
      faro_release_blank(t->release, t->messages + user * t->size);
    (void)faro_release_mix(t->release, t->messages);
    *view = see(t, t->messages, *view);
    return FARO_OK;
  }
  if (t->honest == t->batch) (void)faro_release_mix(t->release, t->messages);
  else faro_shuffler_permute(&t->stream.rng, t->messages, t->honest, t->size);
  for (uint64_t i = 0; i < t->honest; i++) *view = see(t, t->messages + i * t->size, *view);
  return FARO_OK;
}

static faro_status see_batches(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                               faro_error *error) {
  stage *t = context;
  faro_status status = FARO_OK;
  t->stream = *sim;
  for (uint64_t visit = 0; status == FARO_OK && visit < t->visits; visit++)
    status = see_batch(t, x, y, &view, error);
  return status;
}

static bool is_victim(const stage *t, uint64_t user) {
  return user >= t->place && (user - t->place) % t->batch == 0 && (user - t->place) / t->batch < t->visits;
}

/* True if this user's data made the release publish. */
static bool play_user(const stage *t, uint64_t user, const double *x, double y) {
  const bool victim = is_victim(t, user);
  return faro_release_absorb(t->release, victim ? x : t->nobody, victim ? y : t->contribution->low);
}

static void begin(stage *t, const faro_sim_rng *sim) {
  t->stream = *sim;
  faro_release_rewind(t->release, t->image);
}

static bool is_seen(const stage *t, uint64_t release) {
  return release <= EVERY || (release & (release - 1)) == 0 || release == t->releases;
}

static faro_status see_sums(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                            faro_error *error) {
  stage *t = context;
  (void)error;
  begin(t, sim);
  for (uint64_t user = 0; user < t->releases * t->batch; user++) {
    if (!play_user(t, user, x, y)) continue;
    const faro_statistics published = faro_release_statistics(t->release);
    if (!is_seen(t, published.releases)) continue;
    memcpy(view, published.sum, t->contribution->length * sizeof *view);
    view += t->contribution->length;
  }
  return FARO_OK;
}

/* The view of a trusted server's sums, or of the totals of batches, over `releases`. */
static faro_audit_mechanism sums(stage *t, uint64_t releases) {
  t->releases = releases;
  size_t seen = 0;
  for (uint64_t i = 1; i <= releases; i++) seen += is_seen(t, i);
  return (faro_audit_mechanism){
      .messages = 1, .width = seen * t->contribution->length, .context = t, .run = see_sums};
}

static window window_of(const stage *t, size_t level) {
  faro_shuffler_task task;
  if (!faro_release_task(t->release, level, &task)) return (window){0, 0};
  const uint64_t all = t->releases * t->batch / task.size;
  const uint64_t from = t->place / task.size;
  const uint64_t to = (t->place + (t->visits - 1) * t->batch) / task.size;
  return (window){.first = from > 0 ? from - 1 : 0, .end = to + 2 < all ? to + 2 : all};
}

/* What is seen when a shuffler has reported: `report` counts its reports. */
static double *see_report(const stage *t, size_t level, uint64_t report, const uint64_t *ones, double *view) {
  const window seen = t->windows[level];
  for (size_t i = 0; report >= seen.first && report < seen.end && i < t->contribution->length; i++)
    *view++ = (double)ones[i];
  return view;
}

static faro_status see_reports(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                               faro_error *error) {
  stage *t = context;
  uint64_t count[LEVELS_MAX] = {0};
  (void)error;
  begin(t, sim);
  for (uint64_t user = 0; user < t->releases * t->batch; user++) {
    if (!play_user(t, user, x, y)) continue;
    const uint64_t *ones = NULL;
    for (size_t level = 0; (ones = faro_release_report(t->release, level)); level++)
      view = see_report(t, level, count[level]++, ones, view);
  }
  return FARO_OK;
}

/* The same by messages, for batches in which some users are not honest: these send blanks. */
static faro_status see_shufflers(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                 faro_error *error) {
  stage *t = context;
  const size_t length = t->contribution->length;
  uint64_t count[LEVELS_MAX] = {0};
  uint64_t *message = (uint64_t *)(void *)t->messages;
  uint64_t *total = message + t->size / sizeof *message;
  memset(total, 0, t->size);
  begin(t, sim);
  for (uint64_t user = 0; user < t->releases * t->batch; user++) {
    const bool victim = is_victim(t, user);
    faro_status status = FARO_OK;
    if ((user + t->batch - t->place % t->batch) % t->batch < t->honest)
      status = faro_release_randomize(t->release, victim ? x : t->nobody, victim ? y : t->contribution->low,
                                      message, error);
    else faro_release_blank(t->release, message);
    for (size_t i = 0; i < t->size / sizeof *message; i++) total[i] += message[i];
    if (status == FARO_OK && (user + 1) % t->batch == 0) {
      const size_t ended = faro_release_expected(t->release);
      for (size_t level = 0; level < ended; level++)
        view = see_report(t, level, count[level]++, total + level * length, view);
      status = faro_release_analyze(t->release, total, ended, error);
      memset(total, 0, ended * length * sizeof *total);
    }
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

static faro_status open_reports(stage *t, uint64_t batches, faro_audit_mechanism *mechanism,
                                faro_error *error) {
  const size_t levels = faro_release_shufflers(t->release);
  t->releases = batches;
  if (levels > LEVELS_MAX)
    return faro_fail(error, FARO_INVALID, "shufflers must be at most %d for an audit (got %zu)", LEVELS_MAX,
                     levels);
  uint64_t reports = 0;
  for (size_t level = 0; level < levels; level++) {
    t->windows[level] = window_of(t, level);
    reports += t->windows[level].end - t->windows[level].first;
  }
  t->messages = faro_arena_alloc(&t->arena, 2, t->size, error);
  *mechanism = (faro_audit_mechanism){.messages = 1,
                                      .width = reports * t->contribution->length,
                                      .context = t,
                                      .run = t->honest < t->batch ? see_shufflers : see_reports};
  return t->messages ? FARO_OK : FARO_MEMORY;
}

/* The victim's messages, before anything is mixed. */
static faro_audit_mechanism messages(stage *t) {
  return (faro_audit_mechanism){
      .messages = 1, .width = t->numbers, .batches = t->visits, .context = t, .run = see_messages};
}

static faro_status open_messages(stage *t, faro_audit_mechanism *mechanism, faro_error *error) {
  const bool shuffled = t->kind->trust == FARO_TRUST_SHUFFLE;
  t->messages = faro_arena_alloc(&t->arena, shuffled ? t->crowd : 1, t->size, error);
  if (!t->messages) return FARO_MEMORY;
  const bool counts = faro_release_kind_counts(t->kind);
  const bool many = counts && (double)t->batch * faro_release_cost(t->release).bits > MESSAGE_BITS_MAX;
  *mechanism = messages(t);
  if (!shuffled) return FARO_OK;
  if (many && t->honest == t->batch) {
    *mechanism = sums(t, t->visits);
    return FARO_OK;
  }
  mechanism->messages = counts ? 1 : t->honest;
  mechanism->run = see_batches;
  return FARO_OK;
}

/* Only a shuffler that keeps actions secret makes users hide in a crowd. */
static void count_users(stage *t) {
  const bool mixes = t->kind->assigns && t->params.secret;
  const double share = t->params.honest > 0 ? t->params.honest : 1;
  t->crowd = mixes && t->params.crowd > 0 ? t->params.crowd : t->batch;
  t->honest = (uint64_t)fmax(1, faro_share_of(share, (double)t->crowd));
}

static faro_status check_place(stage *t, uint64_t batches, faro_error *error) {
  const uint64_t users = batches * t->batch;
  if (t->place >= users)
    return faro_fail(error, FARO_INVALID, "place must be below %llu, the users of all batches (got %llu)",
                     (unsigned long long)users, (unsigned long long)t->place);
  if (t->visits == 0) t->visits = faro_release_claim(t->release)->contributions;
  if (t->visits > batches - t->place / t->batch) t->visits = batches - t->place / t->batch;
  return FARO_OK;
}

static faro_status make_room(stage *t, faro_error *error) {
  t->size = faro_release_message_size(t->release);
  t->numbers = faro_release_numbers(t->release, NULL, NULL);
  t->nobody = faro_arena_alloc(&t->arena, t->contribution->dimension, sizeof *t->nobody, error);
  t->image = faro_arena_alloc(&t->arena, 1, faro_release_image_size(t->release), error);
  if (!t->nobody || !t->image) return FARO_MEMORY;
  faro_release_image(t->release, t->image);
  if (!faro_release_noise(t->release).dependent) return FARO_OK;
  const size_t length = faro_answer_size(t->release);
  double *x = faro_arena_alloc(&t->arena, t->contribution->dimension, sizeof *x, error);
  t->inputs = faro_arena_alloc(&t->arena, FARO_ATTACK_INPUTS * length, sizeof *t->inputs, error);
  if (!x || !t->inputs) return FARO_MEMORY;
  for (size_t i = 0; i < FARO_ATTACK_INPUTS; i++) {
    const double y = faro_attack_input(t->contribution, i, x);
    faro_answer_prepare(t->release, x, y, t->inputs + i * length);
  }
  t->numbers = FARO_ATTACK_INPUTS;
  return FARO_OK;
}

static faro_status open_stage(stage *t, faro_audit_mechanism *mechanism, faro_error *error) {
  if (t->params.growth > 1)
    return faro_fail(error, FARO_INVALID, "growth must be 1 for an audit (got %g)", t->params.growth);
  t->params.growth = 1;
  faro_status status = faro_release_create(&t->release, t->kind, t->contribution, &t->params,
                                           faro_source_simulated(&t->stream), error);
  if (status != FARO_OK) return status;
  t->kind = faro_release_kind_of(t->release);
  t->batch = faro_release_batch(t->release);
  const uint64_t batches = t->params.horizon / t->batch;
  count_users(t);
  status = check_place(t, batches, error);
  if (status == FARO_OK) status = make_room(t, error);
  if (status != FARO_OK) return status;
  if (t->kind->trust == FARO_TRUST_CONCURRENT) return open_reports(t, batches, mechanism, error);
  if (t->kind->trust != FARO_TRUST_JOINT) return open_messages(t, mechanism, error);
  *mechanism = sums(t, batches);
  return FARO_OK;
}

/* The parts of an audit. Each may raise a false alarm with an equal share of the probability. */

/* Attacks one mechanism, and keeps what it found if that is worse than what was found before. */
static faro_status attack(const stage *t, const faro_audit_mechanism *mechanism, const faro_proof *proof,
                          const faro_audit_plan *plan, faro_audit_result *result, faro_error *error) {
  faro_finding made;
  const faro_status status = faro_attack_run(mechanism, t->contribution, plan, &proof->target, &made, error);
  if (status != FARO_OK) return status;
  const bool violated = made.least > proof->target.claimed;
  const double converted = faro_proof_epsilon(proof, made.least);
  const double least = violated ? converted : fmin(converted, proof->claim->epsilon); /* NaN: no claim */
  result->trials += made.runs;
  if (result->against && !(violated && result->consistent) && !(least > result->epsilon_lower))
    return FARO_OK;
  result->epsilon_lower = least;
  result->power = faro_proof_epsilon(proof, made.power);
  result->against = proof->name;
  result->pair = made.pair;
  result->statistic = made.statistic;
  result->hits = made.hits;
  result->false_hits = made.false_hits;
  result->consistent = result->consistent && !violated;
  return FARO_OK;
}

static faro_status attack_order(stage *t, const faro_audit_plan *plan, faro_audit_result *result,
                                faro_error *error) {
  faro_order order;
  faro_sim_open(&t->stream, plan->seed, UINT64_MAX, FARO_ROLE_USER);
  const uint64_t trials = plan->trials / 10 < ORDERS_MAX ? plan->trials / 10 : ORDERS_MAX;
  const faro_status status =
      faro_order_audit(t->release, &t->stream, t->crowd, trials, 1 - plan->confidence, &order, error);
  if (status != FARO_OK) return status;
  result->order_power = order.power;
  if (order.uniform) return FARO_OK;
  result->consistent = false;
  result->against = "order";
  return FARO_OK;
}

/* One message and the order. */
static faro_status attack_mixed(stage *t, const faro_proof *message, const faro_audit_plan *plan,
                                faro_audit_result *result, faro_error *error) {
  faro_status status = FARO_OK;
  t->visits = 1;
  const faro_audit_mechanism alone = messages(t);
  if (message->name) status = attack(t, &alone, message, plan, result, error);
  return status == FARO_OK && t->crowd > 1 ? attack_order(t, plan, result, error) : status;
}

/* The whole view first. Where the message is tested too, that test is the sharper one by far, and a
 * tenth of the runs must do for the batch. */
static faro_status run_parts(stage *t, const faro_audit_mechanism *mechanism, const faro_audit_plan *plan,
                             faro_audit_result *result, faro_error *error) {
  const bool mixed = t->kind->trust == FARO_TRUST_SHUFFLE && !faro_release_kind_counts(t->kind);
  const faro_proof whole = faro_proof_whole(t->release, t->contribution);
  faro_proof message = {0};
  faro_audit_plan each = *plan;
  if (!mixed) return attack(t, mechanism, &whole, &each, result, error);
  each.confidence = fmin(1 - (1 - plan->confidence) / 3, 1 - 1e-10);
  faro_audit_plan fewer = each;
  if (faro_proof_message(t->release, t->contribution, (double)t->honest, (double)t->visits, &message))
    fewer.trials = each.trials / 10 > 1000 ? each.trials / 10 : 1000;
  const faro_status status = attack(t, mechanism, &whole, &fewer, result, error);
  return status == FARO_OK ? attack_mixed(t, &message, &each, result, error) : status;
}

faro_status faro_audit_release(const faro_release_kind *kind, const faro_contribution *contribution,
                               const faro_release_params *params, const faro_audit_plan *plan,
                               faro_audit_result *result, faro_error *error) {
  stage t = {.kind = kind,
             .contribution = contribution,
             .params = *params,
             .visits = plan->visits,
             .place = plan->place};
  faro_audit_mechanism mechanism = {0};
  faro_audit_result made = {.confidence = plan->confidence, .order_power = NAN, .consistent = true};
  faro_status status = open_stage(&t, &mechanism, error);
  if (status == FARO_OK) status = run_parts(&t, &mechanism, plan, &made, error);
  if (status == FARO_OK) {
    const faro_claim *claim = faro_release_claim(t.release);
    made.epsilon = claim->epsilon;
    made.delta = claim->delta;
    made.proven = claim->proven;
    *result = made;
  }
  faro_release_destroy(t.release);
  faro_arena_free(&t.arena);
  return status;
}
