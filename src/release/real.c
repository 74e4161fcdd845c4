/* real: sums in floating point. A message is z as doubles, with one user's noise if users add
 * noise. For simulation only; grid.c has Gaussian noise that can be deployed.
 *
 * The noise of n users is one draw: sums of independent N(0, sd^2) are N(0, n sd^2), and sums of
 * Laplace variables are differences of two gamma variables. A trusted server adds the noise of one
 * user to a batch. */
#include "release/real.h"

#include <math.h>
#include <string.h>

#include "release/grounds.h"
#include "release/plant.h"
#include "release/shares.h"
#include "release/shuffler.h"
#include "release/size.h"

faro_status faro_real_init(faro_release *r, faro_error *error) {
  faro_real *real = faro_real_of(r);
  real->open = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *real->open, error);
  r->message_size = r->contribution.length * sizeof(double);
  r->cost.bytes = faro_report_bytes(false, r->contribution.length);
  r->cost.bits = 8.0 * (double)r->message_size;
  r->cost.messages = r->shufflers > 0 ? 1 : 0;
  return real->open ? FARO_OK : FARO_MEMORY;
}

/* The noise of `users` users of batch k, Laplace or Gaussian as calibrated. */
static void draw(const faro_release *r, uint64_t k, double users, double *to) {
  const double root = faro_noise_factor(r, k) * sqrt(users) FARO_PLANT_NOISE;
  const double b = faro_noise_factor(r, k) * r->laplace FARO_PLANT_NOISE;
  const size_t length = r->contribution.length;
  faro_sim_rng *sim = r->source.sim;
  if (r->gaussian) faro_sim_add_normals(sim, root, r->unit, to, length);
  else if (b > 0)
    for (size_t i = 0; i < length; i++) to[i] += b * faro_sim_laplace_sum(sim, users);
}

void faro_real_encode(const faro_release *r, const double *z, void *message) {
  memcpy(message, z, r->contribution.length * sizeof *z);
  if (!faro_server_adds_noise(r)) draw(r, r->open, 1, message);
}

void faro_real_mix(const faro_release *r, void *batch) {
  faro_shuffler_permute(r->rng, batch, r->size, r->message_size);
}

void faro_real_collect(faro_release *r, size_t index, const void *message) {
  (void)index;
  faro_real_absorb(r, message, 1);
}

void faro_real_absorb(faro_release *r, const double *z, uint64_t users) {
  double *open = faro_real_of(r)->open;
  for (size_t i = 0; i < r->contribution.length; i++) open[i] += (double)users * z[i];
}

/* How many users' noise batch k gets. */
static double noises(const faro_release *r, uint64_t k) {
  return faro_server_adds_noise(r) ? 1 : (double)faro_schedule_size(&r->schedule, k);
}

void faro_real_add_noise(faro_release *r) {
  const uint64_t k = r->ledger.charged - 1;
  draw(r, k, noises(r, k), faro_real_of(r)->open);
}

void faro_real_publish(faro_release *r) {
  double *open = faro_real_of(r)->open;
  for (size_t i = 0; i < r->contribution.length; i++) {
    r->sum[i] += open[i];
    open[i] = 0;
  }
}

void faro_real_measure(faro_release *r) {
  const uint64_t k = r->ledger.charged - 1;
  r->fresh = noises(r, k) * pow(faro_noise_factor(r, k), 2);
  r->variance += r->fresh;
}

double faro_total_noises(const faro_release *r) {
  double total = 0;
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const double members = (double)faro_schedule_members(&r->schedule, c);
    const double users = faro_server_adds_noise(r) ? 1 : (double)r->schedule.size[c];
    total += members * users * (r->factor ? r->factor[c] * r->factor[c] : 1);
  }
  return total;
}

faro_status faro_set_factors(faro_release *r, double (*noise)(const faro_release *, uint64_t users),
                             double *most, faro_error *error) {
  r->factor = faro_arena_alloc(&r->arena, r->schedule.classes, sizeof *r->factor, error);
  if (!r->factor) return FARO_MEMORY;
  *most = 0;
  for (size_t c = 0; c < r->schedule.classes; c++) {
    r->factor[c] = noise(r, r->schedule.size[c]);
    *most = fmax(*most, r->factor[c]);
  }
  for (size_t c = 0; c < r->schedule.classes; c++) r->factor[c] /= *most;
  return FARO_OK;
}

static double total_variance(const faro_release *r, double (*noise)(const faro_release *, uint64_t users)) {
  double total = 0;
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const double users = (double)r->schedule.size[c];
    total += (double)faro_schedule_members(&r->schedule, c) * users * pow(noise(r, r->schedule.size[c]), 2);
  }
  return total;
}

bool faro_noise_is_less(const faro_release *r, double (*one)(const faro_release *, uint64_t users),
                        double (*other)(const faro_release *, uint64_t users)) {
  return total_variance(r, one) < total_variance(r, other);
}

void faro_set_gaussian(faro_release *r, double sigma, double on, double off) {
  faro_contribution c = r->contribution;
  c.on = sigma * on;
  c.off = sigma * off;
  c.vector = sigma;
  faro_contribution_weights(&c, r->unit); /* they have the same order */
  r->gaussian = true;
}

void faro_set_scale(faro_release *r, double factor) {
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = factor * r->unit[i];
}

void faro_set_laplace(faro_release *r, double b) {
  r->laplace = b;
  r->summands = faro_total_noises(r);
  for (size_t i = 0; i < r->contribution.length; i++) r->unit[i] = sqrt(2) * b;
  faro_set_scale(r, sqrt(r->summands));
}

/* With D = x x' - v v' and norms <= L:  ||D||_F^2 = |x|^4 + |v|^4 - 2 <x,v>^2 <= 2 L^4, and
 *   sum_{j<=i} (D_ij / sd_ij)^2 = ( sum_i D_ii^2 / on^2 + sum_{i<j} D_ij^2 / off^2 ) / sigma^2
 *                              <= max(1 / on^2, 1 / (2 off^2)) ||D||_F^2 / sigma^2.
 * For x y - v w with y, w in [low, high]: at most (2 L max|y|)^2. */
double faro_gaussian_shift(const faro_release *r, double sigma, double on, double off) {
  const faro_contribution *c = &r->contribution;
  if (c->gram == 0) return c->sensitivity / sigma; /* plain numbers, all with the same noise */
  const double gram = fmax(1 / (on * on), 1 / (2 * off * off)) * 2 * pow(c->norm, 4);
  const double reward = fmax(fabs(c->low), fabs(c->high));
  return sqrt(gram + 4 * c->norm * c->norm * reward * reward) / sigma;
}

/* The users whom a message hides among, where a shuffler mixes it. */
double faro_mixed(const faro_release *r, size_t class_index) {
  return faro_company(r, r->schedule.size[class_index]);
}

static void grounds(const faro_release *r, faro_text *out) {
  faro_ground_word(out, "mechanism", r->gaussian ? "gaussian" : "laplace");
  faro_text_add(out, ",\"classes\":[");
  for (size_t c = 0; c < (r->factor ? r->schedule.classes : 1); c++) {
    const double factor = r->factor ? r->factor[c] : 1;
    faro_text_add(out, "%s{\"users\":%llu", c ? "," : "", (unsigned long long)r->schedule.size[c]);
    if (faro_users_hide(r->kind)) faro_ground_number(out, "mixed", faro_mixed(r, c));
    if (r->gaussian) faro_ground_sd(r, factor, out);
    else faro_ground_number(out, "scale", factor * r->laplace);
    faro_text_add(out, "}");
  }
  faro_text_add(out, "]");
}

const faro_mechanism faro_mechanism_real = {
    .size = sizeof(faro_real),
    .adds = true,
    .init = faro_real_init,
    .encode = faro_real_encode,
    .mix = faro_real_mix,
    .collect = faro_real_collect,
    .absorb = faro_real_absorb,
    .add_noise = faro_real_add_noise,
    .publish = faro_real_publish,
    .measure = faro_real_measure,
    .grounds = grounds,
};
