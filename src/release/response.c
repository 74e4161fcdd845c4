/* response: every user answers with one of a few random directions, preferably one of those
 * nearest to z. One direction: Duchi, Jordan & Wainwright 2018; the nearest m of many come close to
 * the best local randomizer, PrivUnit (Asi, Feldman & Talwar 2022). docs/privacy.md, Responses.
 *
 *   z --add an entry--> z+, of length r exactly;  u = z+ / r
 *   seed, fresh and public --> directions g_1 .. g_k, standard normal
 *   code (i, sign): sign g_i; the m true codes have the greatest <sign g_i, u>
 *   message (seed, code): a true code with probability gamma, else any of the 2k, all alike
 *   gamma = m (e^epsilon0 - 1) / (m (e^epsilon0 - 1) + 2k)
 *   server: z^ = C sign g_i,   C = r / (c gamma),   c = mean of the m greatest of k |N_i|
 *
 * <g_i, u> are independent standard normal variables, so the mean of sign g_i is c u for a true
 * code, and 0 for any: E z^ = z.
 *
 * Whatever a computer makes of the directions, the message is a function of z and the seed,
 * followed by randomized response in whole numbers: epsilon0-private exactly. k is a power of two,
 * so that a code takes whole bits.
 *
 * A message is one number, seed 2k + code, with a seed of SEED_BITS. Directions are cut at MOST,
 * which no seed is likely to reach, so that a dishonest user cannot choose one without bound.
 *
 * Rewards alone, nobody trusted: x is public, so it is the only direction that is needed, and z = v
 * u with v = x / L known to the server and |u| <= 1. The answer is a sign s, true with mean u, any
 * with probability 1 - gamma, and z^ = v s / gamma. So the sum of x y has no noise but that of
 * rewards which are +- h / gamma, with the mean of y: learners need only know how large they are.
 *
 * In simulation the directions are not made: with D + 1 fresh normal variables g, the answer has
 * the same distribution as g (any code), or g + (t - <g, u>) u with t one of the m greatest of k
 * |N_i| (a true code). The noise of all users with any code is one draw for the whole batch. */
#include "release/response.h"

#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "linalg/rank.h"
#include "privacy/memo.h"
#include "release/answer.h"
#include "release/grounds.h"
#include "release/plant.h"
#include "release/real.h"
#include "release/shuffler.h"
#include "release/size.h"

/* With 2^8 codes at most, a message is below 2^53: exact as a double, and in JSON. */
enum { SEED_BITS = 45, DIRECTIONS_MAX = FARO_RANK_MOST };
static const double MOST = 9;
/* Messages are summed in whole numbers, so that their order does not matter. 2^40 directions
 * fit. */
enum { STEP_BITS = 18 };

typedef struct response {
  faro_real real;           /* `open`: sum of the open batch */
  faro_response_rule *rule; /* per class of batches */
  size_t plus;              /* entries of z+ */
  double *u, *g;            /* scratch: z+ / r, a direction */
  double *eight;            /* scratch: eight directions, entry by entry */
  uint64_t any;             /* simulation only: users of the open batch whose code is any */
  double real_sum;          /* variance of the newest sum, not its proxy */
  int64_t *whole;           /* messages only: sum of the open batch's directions, in steps of 2^-STEP_BITS */
} response;

static response *response_of(faro_release *r) { return (response *)(void *)r; }
static const response *response_in(const faro_release *r) { return (const response *)(const void *)r; }

static const faro_response_rule *rule_at(const faro_release *r, uint64_t k) {
  return &response_in(r)->rule[faro_schedule_class(&r->schedule, k)];
}

/* Choosing the rule. */

/* c[m - 1] = mean of the m greatest of k |N_i| = 1 / m sum over j <= m of the integral of P(at
 * least j of them are above x), by Simpson's rule; the integrand is smooth, and below 1e-20 beyond
 * the end. */
static void mean_greatest(size_t k, double *c) {
  enum { STEPS = 400 };
  const double end = 11;
  memset(c, 0, k * sizeof *c);
  for (int i = 0; i <= STEPS; i++) {
    const double weight = (i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2) * end / STEPS / 3;
    const double above = erfc(end * i / STEPS / sqrt(2));
    double exactly = pow(1 - above, (double)k); /* P(j are above x), from j = 0 */
    double fewer = exactly;
    for (size_t j = 1; j <= k; j++) {
      c[j - 1] += weight * (1 - fewer);
      if (above < 1) exactly *= (double)(k - j + 1) / (double)j * above / (1 - above);
      fewer += exactly;
    }
  }
  for (size_t j = 1; j < k; j++) c[j] += c[j - 1];
  for (size_t j = 0; j < k; j++) c[j] /= (double)j + 1;
}

/* A true code has probability t / m + (1 - t) / 2k, any other (1 - t) / 2k, with t = threshold /
 * 2^64: their ratio is 1 + 2k / m t / (1 - t), which is e^epsilon0 at t = gamma. A little less than
 * gamma leaves room for rounding. A multiple of m: a word below the threshold, modulo m, is then
 * any of the m, all alike. */
static uint64_t threshold_of(double epsilon0, size_t k, size_t m) {
  const double odds = (double)m * expm1(epsilon0);
  const double gamma = (isinf(odds) ? 1 : odds / (odds + 2 * (double)k)) FARO_PLANT_ANSWER;
  const uint64_t threshold = (uint64_t)ldexp(fmin(gamma, 1 - 0x1p-50) * (1 - 1e-12), 64);
  return threshold - threshold % m;
}

static faro_response_rule make_rule(double epsilon0, double radius, size_t k, size_t m, double c) {
  faro_response_rule rule = {.epsilon0 = epsilon0, .directions = k, .nearest = m, .c = c};
  rule.threshold = threshold_of(epsilon0, k, m);
  rule.length = radius / (c * ldexp((double)rule.threshold, -64));
  rule.proxy = rule.length * sqrt(1 + c * c / 4);
  return rule;
}

static faro_response_rule best_of(double epsilon0, double radius, size_t k) {
  double c[DIRECTIONS_MAX];
  mean_greatest(k, c);
  faro_response_rule best = make_rule(epsilon0, radius, k, 1, c[0]);
  for (size_t m = 2; m <= k; m++) {
    const faro_response_rule rule = make_rule(epsilon0, radius, k, m, c[m - 1]);
    if (rule.length < best.length) best = rule;
  }
  return best;
}

/* More directions cost time, and are taken only if they are worth it. The choice is that of radius
 * 1, whatever the radius, and phases make many releases alike. */
faro_response_rule faro_response_choose(double epsilon0, double radius) {
  static const double WORTH = 1.02;
  static faro_memo memo;
  double kept[FARO_MEMO_VALUES] = {0};
  const double key[FARO_MEMO_KEYS] = {epsilon0};
  if (!faro_memo_find(&memo, key, kept)) {
    const double least = best_of(epsilon0, 1, DIRECTIONS_MAX).length;
    faro_response_rule rule = best_of(epsilon0, 1, 1);
    for (size_t k = 2; rule.length > WORTH * least; k *= 2) rule = best_of(epsilon0, 1, k);
    kept[0] = (double)rule.directions;
    kept[1] = (double)rule.nearest;
    kept[2] = rule.c;
    faro_memo_keep(&memo, key, kept);
  }
  return make_rule(epsilon0, radius, (size_t)kept[0], (size_t)kept[1], kept[2]);
}

double faro_response_share(const faro_response_rule *rule) {
  return (double)rule->nearest / (2 * (double)rule->directions);
}

/* epsilon0 may depend on the share of true codes, which depends on epsilon0; so this goes to and
 * fro, and ends with the epsilon0 of its share. */
static faro_response_rule settle_rule(const faro_release *r, faro_message_epsilon *epsilon0, uint64_t users) {
  const double radius = r->contribution.radius;
  faro_response_rule rule = faro_response_choose(epsilon0(r, users, 0.5), radius);
  for (int i = 0; i < 2; i++)
    rule = faro_response_choose(epsilon0(r, users, faro_response_share(&rule)), radius);
  return make_rule(epsilon0(r, users, faro_response_share(&rule)), radius, rule.directions, rule.nearest,
                   rule.c);
}

static double log2_codes(const faro_response_rule *rule) { return log2(2 * (double)rule->directions); }

/* The mean cost of a message over all users. */
static void set_cost(faro_release *r) {
  const double all = (double)faro_schedule_users(&r->schedule, r->batches);
  r->cost = (faro_cost){
      .bytes = faro_report_bytes(false, 1), .bits = SEED_BITS, .messages = r->shufflers > 0 ? 1 : 0};
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const double users = (double)faro_schedule_members(&r->schedule, c) * (double)r->schedule.size[c];
    r->cost.bits += users / all * log2_codes(&response_in(r)->rule[c]);
  }
}

faro_status faro_response_set(faro_release *r, faro_message_epsilon *epsilon0, faro_error *error) {
  response *s = response_of(r);
  double most = 0;
  double real_sum = 0; /* variance of the last sum */
  r->factor = faro_arena_alloc(&r->arena, r->schedule.classes, sizeof *r->factor, error);
  if (!r->factor) return FARO_MEMORY;
  for (size_t c = 0; c < r->schedule.classes; c++) {
    s->rule[c] = settle_rule(r, epsilon0, r->schedule.size[c]);
    most = fmax(most, s->rule[c].proxy);
    const double users = (double)faro_schedule_members(&r->schedule, c) * (double)r->schedule.size[c];
    real_sum += users * s->rule[c].length * s->rule[c].length;
  }
  for (size_t c = 0; c < r->schedule.classes; c++) r->factor[c] = s->rule[c].proxy / most;
  for (size_t i = 0; i < r->contribution.length; i++) r->unit[i] = most;
  r->dependent = true;
  r->ratio = sqrt(real_sum / faro_total_noises(r)) / most;
  set_cost(r);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  return FARO_OK;
}

/* A rule for one pair of codes, whose direction has length 1. */
void faro_response_set_answers(faro_release *r, double epsilon0) {
  response *s = response_of(r);
  FARO_INVARIANT(r->contribution.form == FARO_FORM_REWARDS);
  const faro_response_rule rule = make_rule(epsilon0, r->contribution.radius, 1, 1, 1);
  for (size_t c = 0; c < r->schedule.classes; c++) s->rule[c] = rule;
  /* over all directions, v v' <= 1 has the mean 1 / d */
  for (size_t i = 0; i < r->contribution.length; i++)
    r->unit[i] = rule.length / sqrt((double)r->contribution.dimension);
  r->answer = rule.length;
  r->cost = (faro_cost){.bytes = faro_report_bytes(false, 1), .bits = 1};
  faro_set_scale(r, sqrt(faro_total_noises(r)));
}

double faro_response_most(const faro_release *r) {
  double most = 0;
  for (size_t c = 0; c < r->schedule.classes; c++) most = fmax(most, response_in(r)->rule[c].epsilon0);
  return most;
}

static faro_status init(faro_release *r, faro_error *error) {
  response *s = response_of(r);
  const faro_status status = faro_real_init(r, error);
  if (status != FARO_OK) return status;
  r->message_size = sizeof(uint64_t);
  s->plus = r->contribution.length + 1;
  s->rule = faro_arena_alloc(&r->arena, r->schedule.classes, sizeof *s->rule, error);
  s->u = faro_arena_alloc(&r->arena, s->plus, sizeof *s->u, error);
  s->g = faro_arena_alloc(&r->arena, s->plus, sizeof *s->g, error);
  s->eight = faro_arena_alloc(&r->arena, FARO_ABREAST * s->plus, sizeof *s->eight, error);
  s->whole = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *s->whole, error);
  r->ranges = r->schedule.classes;
  r->range = faro_arena_alloc(&r->arena, r->ranges, sizeof *r->range, error);
  return s->rule && s->u && s->g && s->eight && s->whole && r->range ? FARO_OK : FARO_MEMORY;
}

static faro_status settle(faro_release *r, faro_error *error) {
  const response *s = response_in(r);
  (void)error;
  r->influence = 0;
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const int64_t codes = 2 * (int64_t)s->rule[c].directions;
    r->range[c] = (faro_range){.least = 0, .most = (codes << SEED_BITS) - 1, .users = 1};
    r->influence = fmax(r->influence, MOST * s->rule[c].length);
  }
  return FARO_OK;
}

/* Directions. */

static double cut(double g) { return g > MOST ? MOST : g < -MOST ? -MOST : g; }

/* Direction `index` of a seed. */
static void make_direction(const response *s, uint64_t seed, size_t index, double *g) {
  faro_sim_rng public;
  faro_sim_open(&public, seed, index, FARO_ROLE_DIRECTION);
  faro_sim_normals(&public, g, s->plus);
  for (size_t i = 0; i < s->plus; i++) g[i] = cut(g[i]);
}

/* Directions `index` .. index + 7 of a seed, the same numbers. */
static void make_eight(const response *s, uint64_t seed, size_t index) {
  faro_sim_abreast(seed, index, FARO_ROLE_DIRECTION, s->plus, s->eight);
  for (size_t i = 0; i < FARO_ABREAST * s->plus; i++) s->eight[i] = cut(s->eight[i]);
}

static double dot(const response *s, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < s->plus; i++) sum += a[i] * b[i];
  return sum;
}

/* Products of b and the eight directions. Arrays of DIRECTIONS_MAX have room for eights. Vectors of
 * the compiler's: it does not find this order by itself. */
static void dot_eight(const response *s, const double *b, double *to) {
  typedef double lanes __attribute__((vector_size(FARO_ABREAST * sizeof(double))));
  lanes sum = {0};
  for (size_t i = 0; i < s->plus; i++) {
    lanes g;
    memcpy(&g, s->eight + FARO_ABREAST * i, sizeof g);
    sum += g * b[i];
  }
  memcpy(to, &sum, sizeof sum);
}

/* u = z+ / r. */
static void extend(const faro_release *r, const double *z) {
  const response *s = response_in(r);
  double rest = 1;
  for (size_t i = 0; i < r->contribution.length; i++) {
    s->u[i] = z[i] / r->contribution.radius;
    rest -= s->u[i] * s->u[i];
  }
  s->u[s->plus - 1] = sqrt(fmax(0, rest));
}

/* The code with the greatest <sign g_i, u> but `rank` others. */
static uint64_t true_code(const response *s, uint64_t seed, size_t k, size_t rank) {
  double along[DIRECTIONS_MAX];
  uint64_t side[DIRECTIONS_MAX];
  FARO_INVARIANT(k > 0);
  for (size_t from = 0; from < k; from += FARO_ABREAST) {
    make_eight(s, seed, from);
    dot_eight(s, s->u, along + from);
  }
  for (size_t i = 0; i < k; i++) {
    side[i] = along[i] < 0;
    along[i] = fabs(along[i]);
  }
  const size_t nearest = faro_rank(k, along, rank);
  return 2 * nearest + side[nearest];
}

/* Messages. */

static void encode(const faro_release *r, const double *z, void *message) {
  const response *s = response_in(r);
  const faro_response_rule *rule = rule_at(r, r->open);
  const uint64_t codes = 2 * (uint64_t)rule->directions;
  const uint64_t seed = faro_rng_next(r->rng) >> (64 - SEED_BITS);
  const uint64_t any = faro_rng_next(r->rng) & (codes - 1);
  const uint64_t word = faro_rng_next(r->rng);
  extend(r, z);
  const uint64_t truth = true_code(s, seed, rule->directions, word % rule->nearest);
  *(uint64_t *)message = seed * codes + (word < rule->threshold ? truth : any);
  memset(s->u, 0, s->plus * sizeof *s->u); /* wipes the user's data */
}

/* Any message, all alike: its mean is zero. */
static void blank(const faro_release *r, void *message) {
  const int64_t most = r->range[faro_schedule_class(&r->schedule, r->open)].most; /* 2^n - 1 */
  *(uint64_t *)message = faro_rng_next(r->rng) & (uint64_t)most;
}

/* The direction that a message names, in scratch, and its sign. */
static double direction_of(const faro_release *r, const void *message) {
  const response *s = response_in(r);
  const uint64_t codes = 2 * (uint64_t)rule_at(r, r->open)->directions;
  const uint64_t word = *(const uint64_t *)message;
  const uint64_t code = word % codes;
  make_direction(s, word / codes, code / 2, s->g);
  return code % 2 ? -1 : 1;
}

size_t faro_answer_size(const faro_release *release) { return response_in(release)->plus; }

void faro_answer_prepare(const faro_release *release, const double *x, double y, double *prepared) {
  const response *s = response_in(release);
  faro_contribution_make(&release->contribution, x, y, release->z);
  extend(release, release->z);
  memcpy(prepared, s->u, s->plus * sizeof *prepared);
}

void faro_answer_read(const faro_release *release, const void *message, const double *prepared, size_t count,
                      uint64_t *rank) {
  const response *s = response_in(release);
  const faro_response_rule *rule = rule_at(release, release->open);
  const uint64_t codes = 2 * (uint64_t)rule->directions;
  const uint64_t word = *(const uint64_t *)message;
  FARO_INVARIANT(codes > 0);
  double value[FARO_ANSWERS_MAX][DIRECTIONS_MAX];
  for (size_t from = 0; from < rule->directions; from += FARO_ABREAST) {
    make_eight(s, word / codes, from);
    for (size_t i = 0; i < count; i++) dot_eight(s, prepared + i * s->plus, value[i] + from);
  }
  const size_t code = word % codes;
  for (size_t i = 0; i < count; i++) {
    const double along = value[i][code / 2] * (code % 2 ? -1 : 1);
    rank[i] = along > 0 ? 0 : codes;
    for (size_t k = 0; along > 0 && k < rule->directions; k++) rank[i] += fabs(value[i][k]) > along;
  }
}

uint64_t faro_answer_codes(const faro_release *release) {
  return 2 * (uint64_t)rule_at(release, release->open)->directions;
}

uint64_t faro_answer_truths(const faro_release *release) { return rule_at(release, release->open)->nearest; }

double faro_answer_share(const faro_release *release) {
  return faro_response_share(rule_at(release, release->open));
}

static void decode(const faro_release *r, const void *message, double *z) {
  const double length = direction_of(r, message) * rule_at(r, r->open)->length;
  for (size_t i = 0; i < r->contribution.length; i++) z[i] = length * response_in(r)->g[i];
}

static void collect(faro_release *r, size_t index, const void *message) {
  response *s = response_of(r);
  (void)index;
  const double sign = direction_of(r, message);
  for (size_t i = 0; i < r->contribution.length; i++)
    s->whole[i] += llround(ldexp(sign * s->g[i], STEP_BITS));
}

/* Whole batches. */

/* <sign g_i, u> of a true code. */
static double draw_nearest(faro_sim_rng *sim, const faro_response_rule *rule, size_t rank) {
  double along[DIRECTIONS_MAX];
  FARO_INVARIANT(rule->directions > 0);
  faro_sim_normals(sim, along, rule->directions);
  for (size_t i = 0; i < rule->directions; i++) along[i] = fabs(along[i]);
  return along[faro_rank(rule->directions, along, rank)];
}

/* How many of these users answer plus, if the mean of a true sign is u. */
static double count_pluses(faro_release *r, double u, uint64_t users) {
  const faro_response_rule *rule = rule_at(r, r->open);
  if (users > 1) {
    faro_binomial draw;
    faro_binomial_plan(&draw, users, (1 + u * ldexp((double)rule->threshold, -64)) / 2);
    return (double)faro_sim_binomial(&draw, r->source.sim);
  }
  const bool truth = faro_draw_uniform(r->rng) < (1 + u) / 2;
  const uint64_t word = faro_rng_next(r->rng);
  const bool side = word < rule->threshold ? truth : faro_rng_next(r->rng) & 1;
  return side ? 1 : 0;
}

/* z = v u. Features of length 0 say nothing. */
static void absorb_answer(faro_release *r, const double *z, uint64_t users) {
  const faro_contribution *c = &r->contribution;
  const faro_response_rule *rule = rule_at(r, r->open);
  double square = 0;
  double along = 0;
  for (size_t i = 0; i < c->length; i++) {
    square += r->x[i] * r->x[i];
    along += r->x[i] * z[i];
  }
  if (!(square > 0 && square < INFINITY)) return;
  const double v = 1 / fmax(c->norm, sqrt(square)); /* v = x times this */
  const double pluses = count_pluses(r, along / (v * square), users);
  const double answers = rule->length * (2 * pluses - (double)users);
  for (size_t i = 0; i < c->length; i++) response_of(r)->real.open[i] += answers * v * r->x[i];
}

/* Many users with the same z: those with a true code add up to normal variables around c u each;
 * how <sign g_i, u> scatters about its mean c is left out. */
static void absorb_alike(faro_release *r, const double *z, uint64_t users) {
  response *s = response_of(r);
  const faro_response_rule *rule = rule_at(r, r->open);
  faro_binomial draw;
  faro_binomial_plan(&draw, users, ldexp((double)rule->threshold, -64));
  const double truths = (double)faro_sim_binomial(&draw, r->source.sim);
  extend(r, z);
  faro_sim_normals(r->source.sim, s->g, s->plus);
  for (size_t i = 0; i < s->plus; i++) s->g[i] *= sqrt(truths);
  const double along = truths * rule->c - dot(s, s->g, s->u);
  for (size_t i = 0; i < r->contribution.length; i++)
    s->real.open[i] += rule->length * (s->g[i] + along * s->u[i]);
  s->any += users - (uint64_t)truths;
}

static void absorb(faro_release *r, const double *z, uint64_t users) {
  response *s = response_of(r);
  if (r->answer > 0) {
    absorb_answer(r, z, users);
    return;
  }
  if (users > 1) {
    absorb_alike(r, z, users);
    return;
  }
  if (r->deployed) {
    uint64_t message;
    encode(r, z, &message);
    collect(r, 0, &message);
    return;
  }
  faro_sim_rng *sim = r->source.sim;
  const faro_response_rule *rule = rule_at(r, r->open);
  const uint64_t word = faro_rng_next(r->rng);
  if (word >= rule->threshold) {
    s->any++;
    return;
  }
  extend(r, z);
  faro_sim_normals(sim, s->g, s->plus);
  const double along = draw_nearest(sim, rule, word % rule->nearest) - dot(s, s->g, s->u);
  for (size_t i = 0; i < r->contribution.length; i++)
    s->real.open[i] += rule->length * (s->g[i] + along * s->u[i]);
}

static void add_noise(faro_release *r) {
  response *s = response_of(r);
  const double sd = rule_at(r, r->ledger.charged - 1)->length * sqrt((double)s->any);
  for (size_t i = 0; s->any > 0 && i < r->contribution.length; i++)
    s->real.open[i] += sd * faro_sim_normal(r->source.sim);
  s->any = 0;
}

static void publish(faro_release *r) {
  response *s = response_of(r);
  const double step = ldexp(rule_at(r, r->open)->length, -STEP_BITS);
  for (size_t i = 0; i < r->contribution.length; i++) {
    s->real.open[i] += step * (double)s->whole[i];
    s->whole[i] = 0;
  }
  faro_real_publish(r);
}

/* The standard deviation is that of C g, beside the scale C sqrt(1 + c^2 / 4). */
static void measure(faro_release *r) {
  response *s = response_of(r);
  const uint64_t k = r->ledger.charged - 1;
  const faro_response_rule *rule = rule_at(r, k);
  faro_real_measure(r);
  if (r->answer > 0) return;
  s->real_sum += (double)faro_schedule_size(&r->schedule, k) * rule->length * rule->length;
  r->fresh_ratio = rule->length / rule->proxy;
  r->ratio = sqrt(s->real_sum / r->variance) / r->unit[0];
}

static void grounds(const faro_release *r, faro_text *out) {
  faro_ground_word(out, "mechanism", "response");
  faro_text_add(out, ",\"classes\":[");
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const faro_response_rule *rule = &response_in(r)->rule[c];
    faro_text_add(out, "%s{\"users\":%llu,\"codes\":%zu,\"truths\":%zu,\"threshold\":\"%llu\"", c ? "," : "",
                  (unsigned long long)r->schedule.size[c], 2 * rule->directions, rule->nearest,
                  (unsigned long long)rule->threshold);
    if (faro_users_hide(r->kind)) faro_ground_number(out, "mixed", faro_mixed(r, c));
    faro_text_add(out, "}");
  }
  faro_text_add(out, "]");
}

const faro_mechanism faro_mechanism_response = {
    .size = sizeof(response),
    .draws = true,
    .grounds = grounds,
    .exact = true,
    .init = init,
    .settle = settle,
    .encode = encode,
    .blank = blank,
    .mix = faro_real_mix,
    .decode = decode,
    .collect = collect,
    .absorb = absorb,
    .add_noise = add_noise,
    .publish = publish,
    .measure = measure,
};
