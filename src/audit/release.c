/* release: a release as a mechanism to attack. What is seen follows from the trust model (see
 * audit.h), and what it is compared with from its proof (proof.h).
 *
 * A simulation has one object for all parties, a deployment one for clients and one for the server,
 * or, where a release allows nothing else, one for all. Users of a local or shuffled release store
 * nothing from one message to the next, so the same objects serve all runs. A server stores noise
 * and sums, so there every run begins with the release as it was created (rewind.h). */
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
 * test_release_noise.c) and the same information. A deployment is always played bit by bit. */
static const double MESSAGE_BITS_MAX = 0x1p20;

/* Stands for NaN in a view: far from all other values. */
static const double NO_NUMBER = 1e30;

enum {
  EVERY = 16, /* the first releases are all seen; later ones at powers of two */
  LEVELS_MAX = 64,
  SEED_BITS = 64,
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
  bool deployed;
  faro_sim_rng stream;     /* random numbers of the current run */
  faro_secure_rng *secure; /* deployed only: never drawn from, but a deployment must have one */
  faro_release *client;    /* draws from `stream` */
  faro_release *server;    /* the same as `client` in a simulation */
  void *image;             /* the server as it was created */
  faro_arena arena;
  uint64_t releases;      /* number of batches played */
  uint64_t batch, start;  /* of the victim's first visit: which batch, and the users before it */
  uint64_t size, seat;    /* users of that batch, and those of them who come before the victim */
  uint64_t crowd, honest; /* users who are mixed with each other, and those of them who are honest */
  uint64_t visits;        /* the victim comes to this many batches, one after another */
  size_t bytes, numbers;  /* size of a message, and how many numbers are seen in it */
  unsigned char *messages;
  window windows[LEVELS_MAX]; /* concurrent only */
  double *others;             /* features of all users but the victim */
  double others_y;
  double *inputs; /* responses only: what the attack may ask of a message, see answer.h */
  size_t pair;    /* responses only: which two inputs it asks about */
  uint64_t codes; /* responses only: the most that a batch with the victim has */
} stage;

/* What a response says: whether it fits each of the two inputs of the pair, and best of all codes;
 * the same for each code by itself; and the bits of its seed. */
static void see_answer(const stage *t, const void *message, double *view) {
  enum { INPUTS = 2 };
  uint64_t rank[INPUTS];
  const uint64_t codes = faro_answer_codes(t->client);
  const uint64_t word = *(const uint64_t *)message;
  memset(view, 0, t->numbers * sizeof *view);
  faro_answer_read(t->client, message, t->inputs + INPUTS * t->pair * faro_answer_size(t->client), INPUTS,
                   rank);
  for (size_t i = 0; i < INPUTS; i++) {
    *view++ = rank[i] == 0;
    *view++ = rank[i] < faro_answer_truths(t->client);
  }
  for (size_t i = 0; i < INPUTS; i++)
    view[INPUTS * (word % codes) + i] = rank[i] < faro_answer_truths(t->client);
  view += INPUTS * t->codes;
  for (size_t i = 0; i < SEED_BITS; i++) *view++ = (double)(word / codes >> i & 1);
}

static double *see(const stage *t, const void *message, double *view) {
  if (t->inputs) see_answer(t, message, view);
  else (void)faro_release_numbers(t->client, message, view);
  for (size_t i = 0; i < t->numbers; i++)
    if (!isfinite(view[i])) view[i] = NO_NUMBER;
  return view + t->numbers;
}

static void begin(stage *t, const faro_sim_rng *sim) {
  t->stream = *sim;
  memset(t->others, 0, t->contribution->dimension * sizeof *t->others);
}

/* Where only rewards are protected, a user hides least among those of opposite features. Both
 * inputs have the same ones. */
static void oppose(stage *t, const double *x) {
  for (size_t i = 0; t->contribution->form == FARO_FORM_REWARDS && i < t->contribution->dimension; i++)
    t->others[i] = -x[i];
}

static faro_status randomize(stage *t, bool victim, const double *x, double y, void *message,
                             faro_error *error) {
  return faro_release_randomize(t->client, victim ? x : t->others, victim ? y : t->others_y, message, error);
}

/* The victim's message, and one of another user, whose noise is independent and whose data is the
 * same in every run. */
static faro_status see_messages(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                faro_error *error) {
  stage *t = context;
  faro_status status = FARO_OK;
  begin(t, sim);
  for (uint64_t visit = 0; visit < t->visits; visit++) {
    faro_release_wind(t->client, t->batch + visit);
    for (int user = 0; status == FARO_OK && user < (t->inputs ? 1 : 2); user++) {
      status = randomize(t, user == 0, x, y, t->messages, error);
      view = see(t, t->messages, view);
    }
  }
  return status;
}

static uint64_t honest_of(const stage *t, uint64_t users) {
  const double share = t->params.honest > 0 ? t->params.honest : 1;
  return (uint64_t)fmax(1, faro_share_of(share, (double)users));
}

/* Plays one shuffled batch with the victim in it. The adversary knows what dishonest users sent:
 * counts of theirs are subtracted, which is the same as blanks, and their messages are left out. */
static faro_status see_batch(stage *t, uint64_t batch, const double *x, double y, double **view,
                             faro_error *error) {
  const bool counts = faro_release_kind_counts(t->kind);
  const uint64_t users = faro_release_batch_size(t->client, batch);
  const uint64_t honest = counts ? honest_of(t, users) : t->honest;
  faro_status status = FARO_OK;
  faro_release_wind(t->client, batch);
  faro_release_wind(t->server, batch);
  for (uint64_t user = 0; status == FARO_OK && user < honest; user++)
    status = randomize(t, user == 0, x, y, t->messages + user * t->bytes, error);
  if (status != FARO_OK) return status;
  if (counts) {
    for (uint64_t user = honest; user < users; user++)
      faro_release_blank(t->client, t->messages + user * t->bytes);
    (void)faro_release_mix(t->server, t->messages);
    *view = see(t, t->messages, *view);
    return FARO_OK;
  }
  if (t->honest == t->size) (void)faro_release_mix(t->server, t->messages);
  else faro_shuffler_permute(&t->stream.rng, t->messages, t->honest, t->bytes);
  for (uint64_t i = 0; i < t->honest; i++) *view = see(t, t->messages + i * t->bytes, *view);
  return FARO_OK;
}

static faro_status see_batches(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                               faro_error *error) {
  stage *t = context;
  faro_status status = FARO_OK;
  begin(t, sim);
  oppose(t, x);
  for (uint64_t visit = 0; status == FARO_OK && visit < t->visits; visit++)
    status = see_batch(t, t->batch + visit, x, y, &view, error);
  return status;
}

static bool is_victim(const stage *t, uint64_t batch, uint64_t user) {
  return user == t->seat && batch >= t->batch && batch - t->batch < t->visits;
}

static bool is_seen(const stage *t, uint64_t release) {
  return release <= EVERY || (release & (release - 1)) == 0 || release == t->releases;
}

/* Clients send the open batch, and the server publishes. */
static faro_status send_batch(stage *t, uint64_t batch, const double *x, double y, faro_error *error) {
  const uint64_t users = faro_release_missing(t->server);
  faro_status status = FARO_OK;
  faro_release_wind(t->client, batch);
  for (uint64_t user = 0; status == FARO_OK && user < users; user++)
    status = randomize(t, is_victim(t, batch, user), x, y, t->messages + user * t->bytes, error);
  return status == FARO_OK ? faro_release_analyze(t->server, t->messages, users, error) : status;
}

/* One process plays everybody. */
static void absorb_batch(stage *t, uint64_t batch, const double *x, double y) {
  bool published = false;
  for (uint64_t user = 0; !published; user++) {
    const bool victim = is_victim(t, batch, user);
    published = faro_release_absorb(t->server, victim ? x : t->others, victim ? y : t->others_y);
  }
}

/* Where batches adapt there may be fewer sums than there is room for: the last one is repeated. */
static faro_status see_sums(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                            faro_error *error) {
  stage *t = context;
  const size_t length = t->contribution->length;
  faro_statistics published = {0};
  faro_status status = FARO_OK;
  begin(t, sim);
  oppose(t, x);
  faro_release_rewind(t->server, t->image);
  for (uint64_t batch = 0; status == FARO_OK && batch < t->releases; batch++) {
    const bool more = !faro_release_spent(t->server);
    if (more && t->client != t->server) status = send_batch(t, batch, x, y, error);
    else if (more) absorb_batch(t, batch, x, y);
    published = faro_release_statistics(t->server);
    if (!is_seen(t, batch + 1)) continue;
    for (size_t i = 0; i < length; i++) *view++ = isfinite(published.sum[i]) ? published.sum[i] : NO_NUMBER;
  }
  return status;
}

/* The view of a server's sums, or of the totals of batches. */
static faro_audit_mechanism sums(stage *t) {
  size_t seen = 0;
  for (uint64_t i = 1; i <= t->releases; i++) seen += is_seen(t, i);
  return (faro_audit_mechanism){
      .messages = 1, .width = seen * t->contribution->length, .context = t, .run = see_sums};
}

static window window_of(const stage *t, size_t level) {
  faro_shuffler_task task;
  if (!faro_release_task(t->server, level, &task)) return (window){0, 0};
  const uint64_t all = t->releases * t->size / task.size;
  const uint64_t from = (t->start + t->seat) / task.size;
  const uint64_t to = (t->start + t->seat + (t->visits - 1) * t->size) / task.size;
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
  oppose(t, x);
  faro_release_rewind(t->server, t->image);
  for (uint64_t batch = 0; batch < t->releases; batch++) {
    absorb_batch(t, batch, x, y);
    const uint64_t *ones = NULL;
    for (size_t level = 0; (ones = faro_release_report(t->server, level)); level++)
      view = see_report(t, level, count[level]++, ones, view);
  }
  return FARO_OK;
}

/* Adds up the messages of a batch: honest users', the victim among them, and blanks of the rest. */
static faro_status add_batch(stage *t, uint64_t batch, const double *x, double y, uint64_t *message,
                             uint64_t *total, faro_error *error) {
  faro_status status = FARO_OK;
  faro_release_wind(t->client, batch);
  for (uint64_t user = 0; status == FARO_OK && user < t->size; user++) {
    if ((user + t->size - t->seat) % t->size < t->honest)
      status = randomize(t, is_victim(t, batch, user), x, y, message, error);
    else faro_release_blank(t->client, message);
    for (size_t i = 0; i < t->bytes / sizeof *message; i++) total[i] += message[i];
  }
  return status;
}

/* The same by messages: for deployments, and for batches in which some users are not honest. */
static faro_status see_shufflers(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                 faro_error *error) {
  stage *t = context;
  const size_t length = t->contribution->length;
  uint64_t count[LEVELS_MAX] = {0};
  uint64_t *message = (uint64_t *)(void *)t->messages;
  uint64_t *total = message + t->bytes / sizeof *message;
  faro_status status = FARO_OK;
  memset(total, 0, t->bytes);
  begin(t, sim);
  oppose(t, x);
  faro_release_rewind(t->server, t->image);
  for (uint64_t batch = 0; status == FARO_OK && batch < t->releases; batch++) {
    status = add_batch(t, batch, x, y, message, total, error);
    if (status != FARO_OK) return status;
    const size_t ended = faro_release_expected(t->server);
    for (size_t level = 0; level < ended; level++)
      view = see_report(t, level, count[level]++, total + level * length, view);
    status = faro_release_analyze(t->server, total, ended, error);
    memset(total, 0, ended * length * sizeof *total);
  }
  return status;
}

static faro_status open_reports(stage *t, faro_audit_mechanism *mechanism, faro_error *error) {
  const size_t levels = faro_release_shufflers(t->server);
  if (levels > LEVELS_MAX)
    return faro_fail(error, FARO_INVALID, "shufflers must be at most %d for an audit (got %zu)", LEVELS_MAX,
                     levels);
  uint64_t reports = 0;
  for (size_t level = 0; level < levels; level++) {
    t->windows[level] = window_of(t, level);
    reports += t->windows[level].end - t->windows[level].first;
  }
  t->messages = faro_arena_alloc(&t->arena, 2, t->bytes, error);
  *mechanism =
      (faro_audit_mechanism){.messages = 1,
                             .width = reports * t->contribution->length,
                             .context = t,
                             .run = t->deployed || t->honest < t->size ? see_shufflers : see_reports};
  return t->messages ? FARO_OK : FARO_MEMORY;
}

/* The victim's messages, before anything is mixed. */
static faro_audit_mechanism messages(stage *t) {
  return (faro_audit_mechanism){.messages = 1,
                                .width = t->inputs ? t->numbers : 2 * t->numbers,
                                .batches = t->visits,
                                .context = t,
                                .run = see_messages};
}

static faro_status open_messages(stage *t, faro_audit_mechanism *mechanism, faro_error *error) {
  const bool shuffled = t->kind->trust == FARO_TRUST_SHUFFLE;
  const bool counts = faro_release_kind_counts(t->kind);
  const uint64_t last = faro_release_batch_size(t->client, t->batch + t->visits - 1);
  t->messages =
      faro_arena_alloc(&t->arena, shuffled ? (last > t->crowd ? last : t->crowd) : 1, t->bytes, error);
  if (!t->messages) return FARO_MEMORY;
  *mechanism = messages(t);
  if (!shuffled) return FARO_OK;
  const bool many = counts && (double)t->size * faro_release_cost(t->client).bits > MESSAGE_BITS_MAX;
  if (many && !t->deployed && t->honest == t->size) {
    t->releases = t->batch + t->visits;
    *mechanism = sums(t);
    return FARO_OK;
  }
  if (!counts && last != t->size)
    return faro_fail(error, FARO_INVALID,
                     "growth must be 1 for an audit of messages of %s in several batches (got %g)",
                     t->kind->name, t->params.growth);
  mechanism->messages = counts ? 1 : t->honest;
  mechanism->width = t->numbers;
  mechanism->run = see_batches;
  return FARO_OK;
}

/* Only a shuffler that keeps actions secret makes users hide in a crowd. */
static void count_users(stage *t) {
  const bool mixes = t->kind->assigns && t->params.secret;
  t->crowd = mixes && t->params.crowd > 0 ? t->params.crowd : t->size;
  t->honest = honest_of(t, t->crowd);
}

/* In which batch the victim's first visit is. */
static faro_status find_place(stage *t, uint64_t place, faro_error *error) {
  t->releases = faro_release_batches(t->server);
  for (t->start = t->batch = 0; t->batch < t->releases; t->batch++) {
    t->size = faro_release_batch_size(t->server, t->batch);
    if (place - t->start < t->size) break;
    t->start += t->size;
  }
  if (t->batch == t->releases)
    return faro_fail(error, FARO_INVALID, "place must be below %llu, the users of all batches (got %llu)",
                     (unsigned long long)t->start, (unsigned long long)place);
  t->seat = place - t->start;
  if (t->visits == 0) t->visits = faro_release_claim(t->server)->contributions;
  if (t->visits > t->releases - t->batch) t->visits = t->releases - t->batch;
  return FARO_OK;
}

/* The inputs that a response may be asked about. */
static faro_status prepare_inputs(stage *t, faro_error *error) {
  const size_t length = faro_answer_size(t->client);
  double *x = faro_arena_alloc(&t->arena, t->contribution->dimension, sizeof *x, error);
  t->inputs = faro_arena_alloc(&t->arena, FARO_ATTACK_INPUTS * length, sizeof *t->inputs, error);
  if (!x || !t->inputs) return FARO_MEMORY;
  for (size_t i = 0; i < FARO_ATTACK_INPUTS; i++) {
    const double y = faro_attack_input(t->contribution, i, true, x);
    faro_answer_prepare(t->client, x, y, t->inputs + i * length);
  }
  for (uint64_t visit = t->visits; visit-- > 0;) {
    faro_release_wind(t->client, t->batch + visit);
    if (faro_answer_codes(t->client) > t->codes) t->codes = faro_answer_codes(t->client);
  }
  t->numbers = 4 + 2 * (size_t)t->codes + SEED_BITS;
  return FARO_OK;
}

/* Responses of rewards alone have no messages. */
static bool sees_sums(const stage *t) {
  return t->kind->trust == FARO_TRUST_JOINT || t->params.adaptive || faro_release_noise(t->client).answer > 0;
}

static faro_status make_room(stage *t, faro_error *error) {
  const size_t dimension = t->contribution->dimension;
  t->bytes = faro_release_message_size(t->client);
  t->numbers = faro_release_numbers(t->client, NULL, NULL);
  t->others = faro_arena_alloc(&t->arena, dimension, sizeof *t->others, error);
  t->image = faro_arena_alloc(&t->arena, 1, faro_release_image_size(t->server), error);
  if (!t->others || !t->image) return FARO_MEMORY;
  t->others_y = t->contribution->form == FARO_FORM_REWARDS ? t->contribution->high : t->contribution->low;
  faro_release_image(t->server, t->image);
  return !sees_sums(t) && faro_release_noise(t->client).dependent ? prepare_inputs(t, error) : FARO_OK;
}

/* Creates the parties. What can be deployed for one process only is played by one. */
static faro_status create(stage *t, faro_error *error) {
  faro_status status = FARO_OK;
  const bool alone = t->deployed && !faro_release_kind_exact(t->kind);
  if (t->deployed) status = faro_secure_open(&t->secure, error);
  if (status != FARO_OK) return status;
  const faro_source source = !t->deployed ? faro_source_simulated(&t->stream)
                             : alone      ? faro_source_all_parties(t->secure)
                                          : faro_source_server(t->secure);
  status = faro_release_create(&t->server, t->kind, t->contribution, &t->params, source, error);
  t->client = t->server;
  if (status == FARO_OK && t->deployed && !alone) {
    t->client = NULL;
    status = faro_release_create(&t->client, t->kind, t->contribution, &t->params,
                                 faro_source_client(t->secure), error);
  }
  if (status != FARO_OK || !t->deployed) return status;
  faro_release_rehearse(t->server, &t->stream);
  faro_release_rehearse(t->client, &t->stream);
  return FARO_OK;
}

/* Linearised moments: at the greatest point that is allowed. */
static faro_status linearise(stage *t, faro_error *error) {
  const size_t dimension = t->contribution->dimension;
  double *point = faro_arena_alloc(&t->arena, dimension, sizeof *point, error);
  if (!point) return FARO_MEMORY;
  for (size_t i = 0; i < dimension; i++) point[i] = t->contribution->bound / sqrt((double)dimension);
  faro_release_linearise(t->client, point);
  faro_release_linearise(t->server, point);
  return FARO_OK;
}

static faro_status open_stage(stage *t, uint64_t place, faro_audit_mechanism *mechanism, faro_error *error) {
  faro_status status = create(t, error);
  if (status != FARO_OK) return status;
  t->kind = faro_release_kind_of(t->server);
  if (t->contribution->link != FARO_LINK_LINEAR) status = linearise(t, error);
  if (status == FARO_OK) status = find_place(t, place, error);
  if (status != FARO_OK) return status;
  count_users(t);
  status = make_room(t, error);
  if (status != FARO_OK) return status;
  if (t->kind->trust == FARO_TRUST_CONCURRENT) return open_reports(t, mechanism, error);
  faro_release_wind(t->client, t->batch); /* its rules are what messages are read by */
  if (!sees_sums(t)) return open_messages(t, mechanism, error);
  uint64_t most = 0;
  for (uint64_t k = 0; k < t->releases; k++)
    if (faro_release_batch_size(t->server, k) > most) most = faro_release_batch_size(t->server, k);
  if (t->client != t->server) t->messages = faro_arena_alloc(&t->arena, most, t->bytes, error);
  *mechanism = sums(t);
  return t->client == t->server || t->messages ? FARO_OK : FARO_MEMORY;
}

static void close_stage(stage *t) {
  if (t->client != t->server) faro_release_destroy(t->client);
  faro_release_destroy(t->server);
  faro_secure_close(t->secure);
  faro_arena_free(&t->arena);
}

static void tell(void *context, size_t pair) { ((stage *)context)->pair = pair; }

/* The parts of an audit. Each may raise a false alarm with an equal share of the probability. */

/* The same stage for every thread. */
typedef struct theatre {
  size_t jobs;
  stage *stage;
  faro_audit_mechanism *mechanism;
} theatre;

/* Attacks one mechanism, and keeps what it found if that is worse than what was found before. */
static faro_status attack(const theatre *all, const faro_proof *proof, const faro_audit_plan *plan,
                          faro_audit_result *result, faro_error *error) {
  faro_finding made;
  faro_target target = proof->target;
  target.tell = tell;
  const faro_status status =
      faro_attack_run(all->mechanism, all->jobs, all->stage->contribution, plan, &target, &made, error);
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
  faro_release_wind(t->server, t->batch);
  const uint64_t trials = plan->trials / 10 < ORDERS_MAX ? plan->trials / 10 : ORDERS_MAX;
  const faro_status status =
      faro_order_audit(t->server, &t->stream, t->crowd, trials, 1 - plan->confidence, &order, error);
  if (status != FARO_OK) return status;
  result->order_power = order.power;
  if (order.uniform) return FARO_OK;
  result->consistent = false;
  result->against = "order";
  return FARO_OK;
}

/* One message and the order. */
static faro_status attack_mixed(const theatre *all, const faro_proof *message, const faro_audit_plan *plan,
                                faro_audit_result *result, faro_error *error) {
  faro_status status = FARO_OK;
  for (size_t job = 0; job < all->jobs; job++) {
    all->stage[job].visits = 1;
    all->mechanism[job] = messages(&all->stage[job]);
  }
  if (message->name) status = attack(all, message, plan, result, error);
  return status == FARO_OK && all->stage->crowd > 1 ? attack_order(all->stage, plan, result, error) : status;
}

/* The whole view first. Where the message is tested too, that test is the sharper one by far, and a
 * tenth of the runs must do for the batch. */
static faro_status run_parts(const theatre *all, const faro_audit_plan *plan, faro_audit_result *result,
                             faro_error *error) {
  stage *t = all->stage;
  const bool mixed = t->kind->trust == FARO_TRUST_SHUFFLE && !faro_release_kind_counts(t->kind);
  const faro_proof whole = faro_proof_whole(t->client, t->contribution);
  faro_proof message = {0};
  faro_audit_plan each = *plan;
  if (!mixed || sees_sums(t)) return attack(all, &whole, &each, result, error);
  each.confidence = fmin(1 - (1 - plan->confidence) / 3, 1 - 1e-10);
  faro_audit_plan fewer = each;
  if (faro_proof_message(t->client, t->contribution, (double)t->honest, (double)t->visits, &message))
    fewer.trials = each.trials / 10 > 1000 ? each.trials / 10 : 1000;
  const faro_status status = attack(all, &whole, &fewer, result, error);
  return status == FARO_OK ? attack_mixed(all, &message, &each, result, error) : status;
}

static faro_status open_theatre(theatre *all, const stage *like, const faro_audit_plan *plan,
                                faro_arena *arena, faro_error *error) {
  const size_t jobs = plan->jobs == 0                     ? 1
                      : plan->jobs > FARO_ATTACK_JOBS_MAX ? FARO_ATTACK_JOBS_MAX
                                                          : plan->jobs;
  all->stage = faro_arena_alloc(arena, jobs, sizeof *all->stage, error);
  all->mechanism = faro_arena_alloc(arena, jobs, sizeof *all->mechanism, error);
  if (!all->stage || !all->mechanism) return FARO_MEMORY;
  faro_status status = FARO_OK;
  while (status == FARO_OK && all->jobs < jobs) {
    all->stage[all->jobs] = *like;
    status = open_stage(&all->stage[all->jobs], plan->place, &all->mechanism[all->jobs], error);
    all->jobs++;
  }
  return status;
}

faro_status faro_audit_release(const faro_release_kind *kind, const faro_contribution *contribution,
                               const faro_release_params *params, const faro_audit_plan *plan,
                               faro_audit_result *result, faro_error *error) {
  const stage like = {.kind = kind,
                      .contribution = contribution,
                      .params = *params,
                      .deployed = plan->deployed,
                      .visits = plan->visits};
  faro_audit_result made = {.confidence = plan->confidence, .order_power = NAN, .consistent = true};
  faro_arena arena = {0};
  theatre all = {0};
  faro_status status = open_theatre(&all, &like, plan, &arena, error);
  if (status == FARO_OK) status = run_parts(&all, plan, &made, error);
  if (status == FARO_OK) {
    const faro_claim *claim = faro_release_claim(all.stage->server);
    made.epsilon = claim->epsilon;
    made.delta = claim->delta;
    made.proven = claim->proven;
    *result = made;
  }
  for (size_t job = 0; job < all.jobs; job++) close_stage(&all.stage[job]);
  faro_arena_free(&arena);
  return status;
}
