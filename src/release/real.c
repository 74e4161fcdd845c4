/* real: what releases of real-valued messages share. A message is z as doubles, with or without one
 * user's Laplace noise; of Gaussian noise see grid.c.
 *
 * The noise of n users in one draw: sums of independent N(0, sd^2) are N(0, n sd^2), and sums of Laplace variables
 * differences of two gamma variables. A trusted server adds the noise of one to a batch. */
#include <math.h>
#include <string.h>

#include "release/kind.h"

static faro_real *real_of(faro_release *r) { return (faro_real *)(void *)r; }

faro_status faro_real_init(faro_release *r, faro_error *error) {
  faro_real *real = real_of(r);
  real->open = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *real->open, error);
  real->sd = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *real->sd, error);
  r->message_size = r->contribution.length * sizeof(double);
  r->cost.bits = 8.0 * (double)r->message_size;
  r->cost.messages = r->kind->mix ? 1 : 0;
  return real->open && real->sd ? FARO_OK : FARO_MEMORY;
}

void faro_real_absorb(faro_release *r, const double *z, faro_rng *rng) {
  (void)rng;
  double *open = real_of(r)->open;
  for (size_t i = 0; i < r->contribution.length; i++) open[i] += z[i];
}

bool faro_real_sound(const faro_release *r, size_t index, const void *message) {
  (void)index;
  const double *z = message;
  for (size_t i = 0; i < r->contribution.length; i++)
    if (!isfinite(z[i])) return false;
  return true;
}

void faro_real_collect(faro_release *r, size_t index, const void *message) {
  (void)index;
  faro_real_absorb(r, message, NULL);
}

void faro_real_publish(faro_release *r, faro_sim_rng *sim) {
  (void)sim;
  double *open = real_of(r)->open;
  for (size_t i = 0; i < r->contribution.length; i++) {
    r->sum[i] += open[i];
    open[i] = 0;
  }
}

void faro_plain_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message) {
  (void)rng;
  memcpy(message, z, r->contribution.length * sizeof *z);
}

/* Floating-point noise: for rehearsals only, so the stream behind `rng` is a simulation's. */
void faro_laplace_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message) {
  faro_sim_rng *sim = (faro_sim_rng *)(void *)rng;
  double *noisy = message;
  for (size_t i = 0; i < r->contribution.length; i++)
    noisy[i] = z[i] + r->laplace * faro_sim_laplace_sum(sim, 1);
}

/* How many noises a batch gets. */
static double noises(const faro_release *r) {
  return r->kind->trust == FARO_TRUST_JOINT ? 1 : (double)r->params.batch;
}

void faro_laplace_thicken(faro_release *r, faro_sim_rng *sim) {
  double *open = real_of(r)->open;
  for (size_t i = 0; i < r->contribution.length; i++)
    open[i] += r->laplace * faro_sim_laplace_sum(sim, noises(r));
}

void faro_gaussian_thicken(faro_release *r, faro_sim_rng *sim) {
  const faro_real *real = real_of(r);
  const double root = sqrt(noises(r));
  for (size_t i = 0; i < r->contribution.length; i++)
    real->open[i] += root * real->sd[i] * faro_sim_normal(sim);
}

void faro_set_gaussian(faro_release *r, double sigma, double on, double off) {
  double *sd = real_of(r)->sd;
  for (size_t i = 0; r->contribution.gram > 0 && i < r->contribution.dimension; i++)
    for (size_t j = 0; j <= i; j++) *sd++ = sigma * (i == j ? on : off);
  for (size_t i = r->contribution.gram; i < r->contribution.length; i++) *sd++ = sigma;
  r->gaussian = true;
}

void faro_set_laplace(faro_release *r, double b) {
  r->laplace = b;
  r->summands = (double)r->batches * noises(r);
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = b * sqrt(2 * r->summands);
}

/* Scale L1 / epsilon. A user's M0 messages, or batches, compose as a plain sum. Under `paper` this is 003's noise.
 * DEVIATION: 003 takes rewards within [-1, 1] for a sensitivity of 1; two of them differ by the width of the interval. */
faro_status faro_laplace_calibrate(faro_release *r, faro_error *error) {
  (void)error;
  const double shift = (double)r->repeats * r->contribution.absolute;
  faro_set_laplace(r, shift / r->params.epsilon);
  r->claim = faro_claim_make(r->params.epsilon, 0, r->kind->trust, true,
                             "Laplace mechanism (Dwork et al. 2006), L1 sensitivity %.4g; delta is 0", shift);
  return FARO_OK;
}

void faro_real_mix(const faro_release *r, void *batch, faro_rng *rng) {
  faro_exact_shuffle(rng, batch, r->params.batch, r->message_size);
}

void faro_set_scale(faro_release *r, double factor) {
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = factor * real_of(r)->sd[i];
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
