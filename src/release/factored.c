/* factored: the server sees raw contributions and adds correlated Gaussian noise to their prefix
 * sums, by the square-root factorisation of the matrix of prefix sums (Fichtenberger, Henzinger &
 * Upadhyay 2023), in the streaming form of Dvijotham et al. 2024: the noise of release t is a
 * filter of fresh Gaussian vectors with FARO_FACTORED_TERMS vectors of state (privacy/continual.c),
 * whatever the horizon. Its variance grows with (1 + ln(M) / pi)^2, against log2(M)^2 for the tree.
 * See docs/privacy.md, The Gaussian mechanism.
 *
 *   noise_t = g_t + sum_j weight_j base_j state_j,     state_j <- base_j state_j + g_t
 *
 * Where one process plays all parties, everything that noise is added to is a whole number, and so
 * is the noise: y = L^-1 (raw prefix sums), rounded (unfilter.h), plus discrete Gaussians g; and
 * L (y + g) is published, which is computed from noisy numbers alone. See docs/privacy.md, Exact
 * noise, Lemma 9. */
#include <math.h>

#include "privacy/continual.h"
#include "random/noise.h"
#include "release/grid.h"
#include "release/grounds.h"
#include "release/plant.h"
#include "release/unfilter.h"

typedef struct factored {
  faro_grid grid;     /* simulation: only its `real` */
  int64_t *prefix;    /* deployment: the raw sum of everything, in steps; it never leaves */
  long double *inner; /* deployment: state of the inverse filter, terms of each entry in turn */
  double *noise;      /* noise of the open release; deployment: the noisy sum, in steps */
  double *state;      /* terms x length */
  double weight[FARO_FACTORED_TERMS], base[FARO_FACTORED_TERMS];
  double power[FARO_FACTORED_TERMS]; /* base^t at release t, from 0 */
} factored;

static factored *factored_of(faro_release *r) { return (factored *)(void *)r; }
static const factored *factored_in(const faro_release *r) { return (const factored *)(const void *)r; }

/* Room for the inverse filter. */
static faro_status init_exact(faro_release *r, faro_error *error) {
  factored *f = factored_of(r);
  const size_t length = r->contribution.length;
  const faro_status status = faro_grid_init(r, error);
  if (status != FARO_OK) return status;
  f->prefix = faro_arena_alloc(&r->arena, length, sizeof *f->prefix, error);
  f->inner = faro_arena_alloc(&r->arena, FARO_FACTORED_TERMS * length, sizeof *f->inner, error);
  return f->prefix && f->inner ? FARO_OK : FARO_MEMORY;
}

static faro_status init(faro_release *r, faro_error *error) {
  factored *f = factored_of(r);
  const size_t length = r->contribution.length;
  const faro_status status = r->deployed ? init_exact(r, error) : faro_real_init(r, error);
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

/* What rounding does to y besides (Lemma 9): 4 residual sqrt(entries), relative to the column. The
 * grid is chosen first without it, because the residual is in its steps; the grid of the second
 * choice is the same. */
static faro_status settle(faro_release *r, faro_error *error) {
  if (!r->deployed) return FARO_OK;
  faro_grid *g = faro_grid_of(r);
  const factored *f = factored_in(r);
  const double steps = (double)r->batches;
  const double column = faro_factored_factors(r->batches, r->repeats).sensitivity;
  double users = 0;
  for (size_t c = 0; c < r->schedule.classes; c++) users = fmax(users, (double)r->schedule.size[c]);
  faro_grid_choose(r);
  const double residual = faro_unfilter_residual(f->weight, f->base, steps, users * (double)g->most, column);
  g->blur = 4 * residual * sqrt(steps * (double)r->contribution.length) / column;
  return faro_grid_settle(r, error);
}

/* Adds a draw to the filter of entry i and returns the filter's output. */
static double filter(const faro_release *r, size_t i, double fresh) {
  const factored *f = factored_in(r);
  double out = fresh;
  for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) {
    double *state = f->state + j * r->contribution.length + i;
    out += f->weight[j] * f->base[j] * *state;
    *state = f->base[j] * *state + fresh;
  }
  return out;
}

/* The noise of the sum; or the noisy sum itself. */
static void add_noise(faro_release *r) {
  const factored *f = factored_in(r);
  const size_t length = r->contribution.length;
  if (!r->deployed) faro_sim_normals(r->source.sim, f->noise, length);
  for (size_t i = 0; i < length && !r->deployed; i++)
    f->noise[i] = filter(r, i, r->unit[i] * f->noise[i] FARO_PLANT_NOISE);
  for (size_t i = 0; i < length && r->deployed; i++) {
    f->prefix[i] += f->grid.whole[i];
    f->grid.whole[i] = 0;
    const int64_t y = faro_unfilter(f->weight, f->base, f->inner + FARO_FACTORED_TERMS * i, f->prefix[i]);
    const int64_t g = faro_exact_discrete_gaussian(r->rng, f->grid.variance[i], 1);
    f->noise[i] = filter(r, i, (double)(y + g));
  }
}

/* sum = raw + noise. The raw sum of everything stays in `open` and is never published. */
static void publish(faro_release *r) {
  const factored *f = factored_of(r);
  for (size_t i = 0; i < r->contribution.length; i++)
    r->sum[i] = r->deployed ? f->grid.unit * f->noise[i] : f->grid.real.open[i] + f->noise[i];
}

static void encode(const faro_release *r, const double *z, void *message) {
  if (r->deployed) faro_grid_round(r, z, message);
  else faro_real_encode(r, z, message);
}

static void collect(faro_release *r, size_t index, const void *message) {
  if (r->deployed) faro_grid_collect(r, index, message);
  else faro_real_collect(r, index, message);
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
    .adds = true,
    .alone = true,
    .init = init,
    .settle = settle,
    .encode = encode,
    .collect = collect,
    .absorb = faro_grid_absorb,
    .add_noise = add_noise,
    .publish = publish,
    .measure = measure,
    .grounds = grounds,
};
