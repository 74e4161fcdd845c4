/* learning_phases: learners that eliminate arms (faro/eliminator.h). Every batch has a release of
 * its own, and the policy is a plan (wire.h).
 *
 *   eliminator's plan of a phase --> one batch for all clients that report averages (dpe), or one
 *   batch for each arm in turn (pe, hanna), in parts if it is larger than the campaign allows -->
 *   private sums --> the eliminator hears them when all of the phase are there
 *
 * Before a batch everybody knows which arm it plays, so users hide among those of the batch only
 * (docs/privacy.md, Phases). A batch never has fewer reports than the campaign's least batch: more
 * pulls than the eliminator asked for only make its sums better than it counts on.
 *
 * The state is all sums that were released so far. A start lets a new eliminator hear them again,
 * which gives the same plans: it computes, and draws nothing.
 *
 *    0  4  "FLP1"
 *    4  8  batches
 *   12     for each batch: the plan's digest (32), size, grid, bits, least, most, n (8 each),
 *          and for each of its n numbers the bits of the released sum and of its scale (8 each) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <faro/eliminator.h>

#include "base/arena.h"
#include "service/analyzer/learning_inner.h"

enum { MAGIC = 4, HEAD = MAGIC + 8, RECORD = FARO_DIGEST_BYTES + 6 * 8, EACH = 16 };
enum { LEAST_BATCH = 100 }; /* by default */
static const char magic[MAGIC] = {'F', 'L', 'P', '1'};

typedef struct phases {
  const faro_campaign *campaign;
  bool averages; /* clients report averages of all arms of a phase; otherwise an arm has batches of its own */
  faro_arena arena;
  faro_arms arms;
  faro_eliminator *learner;
  const faro_plan *plan; /* the open phase; NULL: none */
  faro_heard *heard;     /* one for each arm of it */
  uint64_t phase;
  size_t turn;      /* the arm of the phase whose batch is open */
  uint64_t part;    /* which batch of that arm it is, from 0 */
  uint64_t rounds;  /* averages only: rounds of all phases heard */
  uint64_t reports; /* in all batches so far */
  uint64_t batches;
  faro_plan_document now; /* the plan as it is published */
  faro_plan_row row;      /* what parties keep of that plan */
  faro_release *release;  /* its batch's; NULL if the campaign is over */
  faro_secure_rng *secure;
  unsigned char *log; /* records of all batches */
  size_t length, room;
  faro_learning_view view;
} phases;

/* Before a campaign is signed. */

static faro_status refuse_secret(const faro_campaign *c, const faro_learner_kind *learner,
                                 faro_error *error) {
  return faro_fail(
      error, FARO_INVALID,
      "settings: assignment of %s must be 0 (open) with %s: only shuffle-laplace counts on hidden "
      "actions, and its noise is not in whole numbers",
      learner->name, c->release->name);
}

/* A client of dpe reports once in the whole campaign. */
static faro_status check_clients(const faro_campaign *c, const faro_learner_kind *learner,
                                 faro_error *error) {
  if (c->params.level != FARO_LEVEL_USER || c->params.contributions > 1)
    return faro_fail(error, FARO_INVALID,
                     "campaign.level must be user with contributions 1 for learner %s, whose clients report "
                     "once (got %s with %llu)",
                     learner->name, faro_level_name(c->params.level),
                     (unsigned long long)c->params.contributions);
  if (c->phases.reports == 0)
    return faro_fail(error, FARO_INVALID,
                     "campaign.clients is required for learner %s: how many clients report at most, each "
                     "once; they need as many tokens",
                     learner->name);
  return FARO_OK;
}

/* A batch of sealed reports goes through memory and network in one piece. */
static uint64_t most_of(const faro_campaign *c) {
  if (faro_campaign_form(c) == FARO_WIRE_BITS) return UINT64_MAX;
  return FARO_BATCH_MAX / (FARO_SEAL_BYTES + FARO_DIGEST_BYTES + 8 * c->phases.numbers);
}

static faro_status complete(faro_campaign *c, const faro_learner_kind *learner, const void *settings,
                            faro_error *error) {
  const faro_eliminator_settings *own = settings;
  const bool averages = faro_eliminator_kind_asks_clients(learner);
  if (c->features == 0)
    return faro_fail(error, FARO_INVALID,
                     "campaign.features is required for learner %s: a file with a line of features for each "
                     "arm, which everybody may know",
                     learner->name);
  if (c->params.growth > 0)
    return faro_fail(error, FARO_INVALID,
                     "campaign.growth must not be set for learner %s, which chooses the "
                     "size of each batch (got %g)",
                     learner->name, c->params.growth);
  if (!averages && own->assignment == FARO_ASSIGNMENT_SECRET) return refuse_secret(c, learner, error);
  const faro_status status = averages ? check_clients(c, learner, error) : FARO_OK;
  if (status != FARO_OK) return status;
  c->phases.numbers = averages ? c->arms : 1;
  if (c->phases.reports == 0) c->phases.reports = c->params.horizon;
  if (c->phases.noise == 0) c->phases.noise = (c->contribution.high - c->contribution.low) / 2;
  if (c->params.batch == 0) c->params.batch = LEAST_BATCH;
  if (c->params.largest == 0) c->params.largest = c->phases.reports;
  if (c->params.largest > most_of(c)) c->params.largest = most_of(c);
  return FARO_OK;
}

/* Sizes. */

static uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Batches of an arm that is to be pulled n times, and reports in each. */
static uint64_t parts_of(const faro_campaign *c, uint64_t n) {
  return (n + c->params.largest - 1) / c->params.largest;
}
static uint64_t size_of(const faro_campaign *c, uint64_t n) {
  const uint64_t parts = parts_of(c, n);
  return greater((n + parts - 1) / parts, c->params.batch);
}

/* Reports that the phase needs. */
static uint64_t needed(const phases *p) {
  const faro_campaign *c = p->campaign;
  if (p->averages) return greater(p->plan->clients, c->params.batch);
  uint64_t reports = 0;
  for (size_t i = 0; i < p->plan->support; i++)
    reports += parts_of(c, p->plan->pulls[i]) * size_of(c, p->plan->pulls[i]);
  return reports;
}

/* Batches of the phase. */
static uint64_t batches_of(const phases *p) {
  uint64_t batches = p->averages ? 1 : 0;
  for (size_t i = 0; !p->averages && i < p->plan->support; i++)
    batches += parts_of(p->campaign, p->plan->pulls[i]);
  return batches;
}

static uint64_t rounds_of(const faro_plan *plan) {
  uint64_t rounds = 0;
  for (size_t i = 0; i < plan->support; i++) rounds += plan->pulls[i];
  return rounds;
}

/* Whether the campaign has room for the phase. */
static bool fits(const phases *p) {
  const faro_campaign *c = p->campaign;
  if (p->plan->last || needed(p) > c->phases.reports - p->reports) return false;
  if (p->batches + batches_of(p) >= FARO_PLANS_MAX) return false;
  if (!p->averages) return true;
  return needed(p) <= c->params.largest && rounds_of(p->plan) <= c->params.horizon - p->rounds;
}

/* Rewards and units. */

static double width_of(const faro_campaign *c) { return c->contribution.high - c->contribution.low; }

/* The noise of a plan's sums, before it is played: all arms as one with the mean number of pulls,
 * as in simulation. */
static faro_status preview(const void *context, const faro_plan *plan, faro_heard *heard, faro_error *error) {
  const phases *p = context;
  const uint64_t pulls = rounds_of(plan) / plan->support;
  const uint64_t users = p->averages ? greater(plan->clients, p->campaign->params.batch)
                                     : size_of(p->campaign, greater(pulls, 1));
  const double parts = p->averages ? 1 : (double)parts_of(p->campaign, greater(pulls, 1));
  faro_release *release = NULL;
  const faro_status status = faro_plan_release(p->campaign, users, p->averages ? plan->support : 1,
                                               faro_source_none(), &release, error);
  if (status != FARO_OK) return status;
  const faro_noise noise = faro_release_noise(release);
  const double scale = noise.scale ? width_of(p->campaign) * noise.scale[0] * sqrt(parts) : 0;
  for (size_t i = 0; i < plan->support; i++)
    heard[i] = (faro_heard){.count = parts * (double)users, .scale = scale};
  faro_release_destroy(release);
  return FARO_OK;
}

/* Adds a released sum of n numbers in [-1/2, 1/2] to what is known of arm i of the phase. */
static void hear(phases *p, size_t i, double sum, double scale) {
  const faro_campaign *c = p->campaign;
  const double n = (double)p->now.size;
  const double wide = width_of(c);
  faro_heard *h = &p->heard[i];
  h->count += n;
  h->sum += wide * (sum + n / 2) + (c->centre + c->contribution.low) * n;
  h->scale = sqrt(h->scale * h->scale + wide * scale * wide * scale);
}

/* Plans. */

static void write_plan(phases *p) {
  const faro_campaign *c = p->campaign;
  p->now = (faro_plan_document){.version = p->batches + 1,
                                .phase = greater(p->phase, 1),
                                .best = faro_eliminator_best(p->learner),
                                .left = faro_eliminator_left(p->learner)};
  memcpy(p->now.campaign, c->digest, FARO_DIGEST_BYTES);
  if (!p->plan) return;
  p->now.size = p->averages ? needed(p) : size_of(c, p->plan->pulls[p->turn]);
  p->now.arms = p->averages ? p->plan->support : 1;
  for (size_t i = 0; i < p->now.arms; i++)
    p->now.play[i] = p->averages ? (faro_plan_play){p->plan->arm[i], p->plan->pulls[i]}
                                 : (faro_plan_play){p->plan->arm[p->turn], 1};
}

/* Asks for the next phase if none is open. A campaign that has no room for it is over. */
static faro_status make_plan(phases *p, faro_error *error) {
  if (!p->plan) {
    const faro_status status = faro_eliminator_plan(p->learner, &p->plan, error);
    if (status != FARO_OK) return status;
    memset(p->heard, 0, p->arms.count * sizeof *p->heard);
    p->turn = 0;
    p->part = 0;
    if (fits(p)) p->phase++;
    else p->plan = NULL;
  }
  write_plan(p);
  return faro_plan_document_hash(&p->now, error);
}

/* The release of the batch, and how its reports are made. */
static faro_status open_batch(phases *p, faro_error *error) {
  faro_release_destroy(p->release);
  p->release = NULL;
  const faro_status status = faro_plan_check(p->campaign, &p->now, &p->row, error);
  if (status != FARO_OK || p->now.size == 0) return status;
  return faro_plan_release(p->campaign, p->now.size, p->now.arms, faro_source_server(p->secure), &p->release,
                           error);
}

/* All of a batch was heard. */
static faro_status advance(phases *p, faro_error *error) {
  p->batches++;
  p->reports += p->now.size;
  bool whole = p->averages;
  if (p->averages) p->rounds += rounds_of(p->plan);
  else if (++p->part == parts_of(p->campaign, p->plan->pulls[p->turn])) {
    p->part = 0;
    whole = ++p->turn == p->plan->support;
  }
  if (whole) {
    const faro_status status = faro_eliminator_hear(p->learner, p->heard, error);
    if (status != FARO_OK) return status;
    p->plan = NULL;
  }
  return make_plan(p, error);
}

/* Batches. */

static faro_status grow(phases *p, size_t more, faro_error *error) {
  if (p->length + more <= p->room) return FARO_OK;
  const size_t room = 2 * (p->length + more);
  unsigned char *log = realloc(p->log, room);
  if (!log) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner's state");
  p->log = log;
  p->room = room;
  return FARO_OK;
}

static void put_double(unsigned char *to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  faro_store64(to, bits);
}

static double get_double(const unsigned char *from) {
  const uint64_t bits = faro_load64(from);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Writes the sums of the batch down. */
static faro_status record(phases *p, faro_error *error) {
  const faro_encoding *e = &p->row.encoding;
  const uint64_t head[] = {e->size, e->grid, e->bits, (uint64_t)e->least, (uint64_t)e->most, p->now.arms};
  const faro_statistics s = faro_release_statistics(p->release);
  const faro_status status = grow(p, RECORD + EACH * p->now.arms, error);
  if (status != FARO_OK) return status;
  unsigned char *at = p->log + p->length;
  memcpy(at, p->now.digest, FARO_DIGEST_BYTES);
  for (size_t i = 0; i < sizeof head / sizeof *head; i++)
    faro_store64(at + FARO_DIGEST_BYTES + 8 * i, head[i]);
  for (size_t i = 0; i < p->now.arms; i++) {
    put_double(at + RECORD + EACH * i, s.sum[i]);
    put_double(at + RECORD + EACH * i + 8, faro_release_scale(p->release, i));
  }
  p->length += RECORD + EACH * p->now.arms;
  return FARO_OK;
}

/* Hears the sums of a record, and goes on to the next plan. */
static faro_status replay(phases *p, const unsigned char *at, faro_error *error) {
  const double n = (double)p->now.size;
  double mean = 0;
  double scale = 0;
  for (size_t i = 0; i < p->now.arms; i++) {
    const double sum = get_double(at + RECORD + EACH * i);
    const double noise = get_double(at + RECORD + EACH * i + 8);
    hear(p, p->averages ? i : p->turn, sum, noise);
    mean += sum / n / (double)p->now.arms;
    scale = fmax(scale, noise / n);
  }
  const faro_campaign *c = p->campaign;
  p->view = (faro_learning_view){.noise = NAN,
                                 .users = p->reports + p->now.size,
                                 .predicted = width_of(c) * (mean + 0.5) + c->centre + c->contribution.low,
                                 .width = width_of(c) * scale};
  return advance(p, error);
}

/* A message has room for as many numbers as any plan may ask for; the release of this one takes its
 * own. */
static faro_status analyze(phases *p, const uint64_t *messages, size_t count, faro_error *error) {
  const size_t own = faro_release_message_size(p->release) / sizeof *messages;
  const size_t all = p->campaign->entries;
  if (own == all || count <= 1) return faro_release_analyze(p->release, messages, count, error);
  uint64_t *dense = malloc(count * own * sizeof *dense);
  if (!dense) return faro_fail(error, FARO_MEMORY, "cannot allocate a batch");
  for (size_t i = 0; i < count; i++) memcpy(dense + i * own, messages + i * all, own * sizeof *dense);
  const faro_status status = faro_release_analyze(p->release, dense, count, error);
  memset(dense, 0, count * own * sizeof *dense);
  free(dense);
  return status;
}

static faro_status apply(void *own, const void *messages, size_t count, faro_error *error) {
  phases *p = own;
  const size_t at = p->length;
  if (!p->release) return faro_fail(error, FARO_INVALID, "the campaign is over: no batch can be applied");
  faro_status status = analyze(p, messages, count, error);
  if (status == FARO_OK) status = record(p, error);
  if (status == FARO_OK) status = replay(p, p->log + at, error);
  return status == FARO_OK ? open_batch(p, error) : status;
}

/* State. */

static faro_status save(const void *own, unsigned char **state, size_t *length, faro_error *error) {
  const phases *p = own;
  unsigned char *bytes = malloc(HEAD + p->length);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner's state");
  memcpy(bytes, magic, MAGIC);
  faro_store64(bytes + MAGIC, p->batches);
  if (p->length > 0) memcpy(bytes + HEAD, p->log, p->length);
  *state = bytes;
  *length = HEAD + p->length;
  return FARO_OK;
}

static faro_status damaged(faro_error *error) {
  return faro_fail(error, FARO_INVALID, "the state of the learner is damaged");
}

/* Puts the plan of a record back among those of the campaign. */
static faro_status recall(const phases *p, const unsigned char *at, faro_error *error) {
  const unsigned char *head = at + FARO_DIGEST_BYTES;
  faro_plan_row row = {.version = p->now.version,
                       .encoding = {.from = p->batches,
                                    .size = faro_load64(head),
                                    .grid = faro_load64(head + 8),
                                    .bits = faro_load64(head + 16),
                                    .least = (int64_t)faro_load64(head + 24),
                                    .most = (int64_t)faro_load64(head + 32)}};
  memcpy(row.digest, at, FARO_DIGEST_BYTES);
  faro_plans *plans = p->campaign->plans;
  return plans && faro_plans_newest(plans) < row.version ? faro_plans_add(plans, &row, error) : FARO_OK;
}

static faro_status load_record(phases *p, const unsigned char *at, size_t left, size_t *used,
                               faro_error *error) {
  if (left < RECORD || p->now.size == 0) return damaged(error);
  *used = RECORD + EACH * p->now.arms;
  if (faro_load64(at + FARO_DIGEST_BYTES) != p->now.size ||
      faro_load64(at + FARO_DIGEST_BYTES + 40) != p->now.arms ||
      memcmp(at, p->now.digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(
        error, FARO_INVALID,
        "plan %llu of the state is not the one that follows from the batches before it: the state "
        "is damaged, or this build of faro computes otherwise; continue with the one that wrote it",
        (unsigned long long)p->now.version);
  if (left < *used) return damaged(error);
  const faro_status status = recall(p, at, error);
  return status == FARO_OK ? replay(p, at, error) : status;
}

static faro_status load(phases *p, const unsigned char *state, size_t length, faro_error *error) {
  if (length < HEAD || memcmp(state, magic, MAGIC) != 0) return damaged(error);
  const uint64_t batches = faro_load64(state + MAGIC);
  faro_status status = grow(p, length, error);
  for (size_t at = HEAD, used = 0; status == FARO_OK && at < length; at += used) {
    status = load_record(p, state + at, length - at, &used, error);
    if (status != FARO_OK) break;
    memcpy(p->log + p->length, state + at, used);
    p->length += used;
  }
  return status == FARO_OK && p->batches != batches ? damaged(error) : status;
}

/* Start and end. */

/* Features are stored arm by arm; linalg wants them feature by feature. */
static faro_status set_arms(phases *p, faro_error *error) {
  const faro_campaign *c = p->campaign;
  const size_t d = c->contribution.dimension;
  const size_t stride = faro_arm_stride((size_t)c->arms);
  double *x = faro_arena_alloc(&p->arena, d * stride, sizeof *x, error);
  p->heard = faro_arena_alloc(&p->arena, (size_t)c->arms, sizeof *p->heard, error);
  if (!x || !p->heard) return FARO_MEMORY;
  for (size_t a = 0; a < c->arms; a++)
    for (size_t i = 0; i < d; i++) x[i * stride + a] = c->feature[a * d + i];
  p->arms = (faro_arms){.dimension = d, .count = (size_t)c->arms, .stride = stride, .x = x};
  return FARO_OK;
}

static faro_status build(phases *p, const learning_params *params, faro_error *error) {
  const faro_campaign *c = params->campaign;
  const faro_eliminator_settings *own = params->settings;
  faro_status status = set_arms(p, error);
  if (status != FARO_OK) return status;
  const faro_eliminator_params made = {
      .arms = &p->arms,
      .horizon = c->params.horizon,
      .failure = c->failure,
      .reward = c->phases.noise,
      .spread = c->phases.spread,
      .clients = p->averages && own->clients == FARO_CLIENTS_FIXED ? c->params.batch : 0,
      .calibration = FARO_CALIBRATION_TIGHT,
      .settings = own,
      .preview = preview,
      .context = p};
  status = faro_eliminator_create(&p->learner, params->learner, &made, error);
  if (status == FARO_OK) status = faro_secure_open(&p->secure, error);
  if (status == FARO_OK) status = make_plan(p, error);
  if (status == FARO_OK && params->state) status = load(p, params->state, params->length, error);
  return status == FARO_OK ? open_batch(p, error) : status;
}

static faro_status create(void **own, const learning_params *params, faro_error *error) {
  phases *p = calloc(1, sizeof *p);
  if (!p) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner");
  *own = p;
  p->campaign = params->campaign;
  p->averages = faro_eliminator_kind_asks_clients(params->learner);
  return build(p, params, error);
}

static void destroy(void *own) {
  phases *p = own;
  if (!p) return;
  faro_release_destroy(p->release);
  faro_eliminator_destroy(p->learner);
  faro_secure_close(p->secure);
  faro_arena_free(&p->arena);
  free(p->log);
  free(p);
}

static const faro_release *release(const void *own) { return ((const phases *)own)->release; }
static uint64_t batches(const void *own) { return ((const phases *)own)->batches; }
static bool done(const void *own) { return ((const phases *)own)->now.size == 0; }
static faro_learning_view snapshot(const void *own) { return ((const phases *)own)->view; }

static const faro_plan_document *plan(const void *own, const faro_plan_row **row) {
  const phases *p = own;
  *row = &p->row;
  return &p->now;
}

static faro_status document(const void *own, const faro_sign_key *key, char **text, size_t *length,
                            faro_error *error) {
  faro_plan_document now = ((const phases *)own)->now;
  return faro_plan_document_write(&now, key, text, length, error);
}

const learning_kind faro_learning_phases = {.protocol = FARO_PROTOCOL_ELIMINATOR,
                                            .complete = complete,
                                            .create = create,
                                            .destroy = destroy,
                                            .save = save,
                                            .apply = apply,
                                            .release = release,
                                            .batches = batches,
                                            .done = done,
                                            .document = document,
                                            .plan = plan,
                                            .snapshot = snapshot};
