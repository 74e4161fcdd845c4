/* central-factored: the server sees raw contributions and adds correlated Gaussian noise to their prefix sums, by the
 * square-root factorisation of the matrix of prefix sums (Fichtenberger, Henzinger, Upadhyay 2023), in the streaming
 * form of Dvijotham et al. (2024): the noise of release t is a filter of fresh Gaussian vectors with
 * FARO_FACTORED_TERMS vectors of state (privacy/continual.c), whatever the horizon. Its variance grows with
 * (1 + ln(M) / pi)^2 against log2(M)^2 for the tree.
 *
 *   noise_t = g_t + sum_j weight_j base_j state_j,     state_j <- base_j state_j + g_t */
#include <math.h>

#include "privacy/continual.h"
#include "release/kind.h"

typedef struct factored {
  faro_real real;
  double *state; /* terms x length */
  double weight[FARO_FACTORED_TERMS], base[FARO_FACTORED_TERMS];
} factored;

static factored *factored_of(faro_release *r) { return (factored *)(void *)r; }

static faro_status init(faro_release *r, faro_error *error) {
  factored *f = factored_of(r);
  const faro_status status = faro_real_init(r, error);
  if (status != FARO_OK) return status;
  if (r->batches > 100000000)
    return faro_fail(error, FARO_INVALID,
                     "horizon must give at most 10^8 releases for central-factored (got %llu)",
                     (unsigned long long)r->batches);
  faro_factored_terms(r->batches, f->weight, f->base);
  f->state =
      faro_arena_alloc(&r->arena, FARO_FACTORED_TERMS * r->contribution.length, sizeof *f->state, error);
  return f->state ? FARO_OK : FARO_MEMORY;
}

static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const faro_continual factors = faro_factored_factors(r->batches, r->repeats);
  const double shift = r->contribution.sensitivity * factors.sensitivity;
  r->mu = faro_gaussian_mu(r->params.epsilon, r->params.delta);
  faro_set_gaussian(r, shift / r->mu, 1, 1);
  faro_set_scale(r, factors.prefix);
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_JOINT, true,
      "exact Gaussian mechanism (Balle & Wang 2018) on the factored prefix sums, column norm %.4g",
      factors.sensitivity);
  return FARO_OK;
}

/* sum = raw + noise; the raw sum of everything stays in `open`: it never leaves. */
static void publish(faro_release *r, faro_sim_rng *sim) {
  const factored *f = factored_of(r);
  const size_t length = r->contribution.length;
  for (size_t i = 0; i < length; i++) {
    const double fresh = f->real.sd[i] * faro_sim_normal(sim);
    double noise = fresh;
    for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) {
      double *state = f->state + j * length + i;
      noise += f->weight[j] * f->base[j] * *state;
      *state = f->base[j] * *state + fresh;
    }
    r->sum[i] = f->real.open[i] + noise;
  }
}

const faro_release_kind faro_release_central_factored = {
    .name = "central-factored",
    .summary = "correlated Gaussian noise by the square-root factorisation; the server is trusted",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .size = sizeof(factored),
    .init = init,
    .calibrate = {NULL, NULL, calibrate_tight},
    .absorb = faro_real_absorb,
    .randomize = faro_plain_randomize,
    .sound = faro_real_sound,
    .collect = faro_real_collect,
    .publish = publish,
};
