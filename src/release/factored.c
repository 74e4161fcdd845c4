/* factored: the server sees raw contributions and adds correlated Gaussian noise to their prefix
 * sums, by the square-root factorisation of the matrix of prefix sums (Fichtenberger, Henzinger &
 * Upadhyay 2023), in the streaming form of Dvijotham et al. 2024: the noise of release t is a
 * filter of fresh Gaussian vectors with FARO_FACTORED_TERMS vectors of state (privacy/continual.c),
 * whatever the horizon. Its variance grows with (1 + ln(M) / pi)^2, against log2(M)^2 for the tree.
 * See docs/privacy.md, The Gaussian mechanism.
 *
 *   noise_t = g_t + sum_j weight_j base_j state_j,     state_j <- base_j state_j + g_t */
#include "privacy/continual.h"
#include "release/grounds.h"
#include "release/plant.h"
#include "release/real.h"

typedef struct factored {
  faro_real real;
  double *noise; /* noise of the open release */
  double *state; /* terms x length */
  double weight[FARO_FACTORED_TERMS], base[FARO_FACTORED_TERMS];
  double power[FARO_FACTORED_TERMS]; /* base^t at release t, from 0 */
} factored;

static factored *factored_of(faro_release *r) { return (factored *)(void *)r; }
static const factored *factored_in(const faro_release *r) { return (const factored *)(const void *)r; }

static faro_status init(faro_release *r, faro_error *error) {
  factored *f = factored_of(r);
  const size_t length = r->contribution.length;
  const faro_status status = faro_real_init(r, error);
  if (status != FARO_OK) return status;
  if (r->batches > 100000000)
    return faro_fail(error, FARO_INVALID,
                     "horizon must give at most 10^8 releases for central-factored (got %llu)",
                     (unsigned long long)r->batches);
  faro_factored_terms(r->batches, f->weight, f->base);
  f->noise = faro_arena_alloc(&r->arena, length, sizeof *f->noise, error);
  f->state = faro_arena_alloc(&r->arena, FARO_FACTORED_TERMS * length, sizeof *f->state, error);
  return f->noise && f->state ? FARO_OK : FARO_MEMORY;
}

static void add_noise(faro_release *r) {
  const factored *f = factored_of(r);
  const size_t length = r->contribution.length;
  for (size_t i = 0; i < length; i++) {
    const double fresh = r->unit[i] * faro_sim_normal(r->source.sim) FARO_PLANT_NOISE;
    double noise = fresh;
    for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) {
      double *state = f->state + j * length + i;
      noise += f->weight[j] * f->base[j] * *state;
      *state = f->base[j] * *state + fresh;
    }
    f->noise[i] = noise;
  }
}

/* sum = raw + noise. The raw sum of everything stays in `open` and is never published. */
static void publish(faro_release *r) {
  const factored *f = factored_of(r);
  for (size_t i = 0; i < r->contribution.length; i++) r->sum[i] = f->real.open[i] + f->noise[i];
}

static void measure(faro_release *r) {
  factored *f = factored_of(r);
  double coefficient = 0; /* weight of the oldest draw in this noise */
  for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) {
    f->power[j] = r->ledger.charged == 1 ? 1 : f->power[j] * f->base[j];
    coefficient += f->weight[j] * f->power[j];
  }
  r->variance += r->ledger.charged == 1 ? 1 : coefficient * coefficient;
}

static void write_terms(const char *name, const double *term, faro_text *out) {
  faro_text_add(out, ",\"%s\":[", name);
  for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) {
    char number[FARO_NUMBER_SIZE];
    faro_text_add(out, "%s%s", j ? "," : "", faro_number(term[j], number));
  }
  faro_text_add(out, "]");
}

static void grounds(const faro_release *r, faro_text *out) {
  const factored *f = factored_in(r);
  faro_ground_word(out, "mechanism", "factored");
  faro_ground_number(out, "releases", (double)r->batches);
  faro_ground_sd(r, 1, out);
  write_terms("weight", f->weight, out);
  write_terms("base", f->base, out);
}

const faro_mechanism faro_mechanism_factored = {
    .size = sizeof(factored),
    .init = init,
    .encode = faro_real_encode,
    .collect = faro_real_collect,
    .absorb = faro_real_absorb,
    .add_noise = add_noise,
    .publish = publish,
    .measure = measure,
    .grounds = grounds,
};
