/* concurrent-bits: k shufflers at once, one for each level of a tree of batches. Tenenbaum et al.
 * 2023, Alg. 1-3; see bits.c and docs/privacy.md, Trees of bit sums (Lemma 5).
 *
 *   n  horizon   k  shufflers, levels   d_low  users per lowest node   d  nodes per parent
 *
 * With more users per lowest node, the server waits longer to see them. With fewer there are more
 * nodes and more noise. */
#include <math.h>

#include "release/bits.h"
#include "release/choose.h"
#include "release/shares.h"

static double count_of(const faro_release *r) { return (double)r->params.horizon; }

/* Tenenbaum et al. 2023, Alg. 2: the binary tree without root and leaves. The largest nodes are at
 * most half of everything. */
static size_t levels_over(const faro_release *r, double low) {
  if (r->params.shufflers > 0) return r->params.shufflers;
  size_t levels = 1;
  while (ldexp(low, (int)levels) <= count_of(r) / 2) levels++;
  return levels;
}

static bool binary_tree(const faro_release *r) { return r->params.shufflers == 0; }

/* Tenenbaum et al. 2023, Theorem 3.4: d_low = n^(1/(2k+1)), d = n^(2/(2k+1)). */
static double theorem_low(const faro_release *r) {
  if (binary_tree(r)) return 2;
  return fmax(2, round(pow(count_of(r), 1 / (2 * (double)r->params.shufflers + 1))));
}
static double theorem_degree(const faro_release *r) {
  if (binary_tree(r)) return 2;
  return fmax(2, round(pow(count_of(r), 2 / (2 * (double)r->params.shufflers + 1))));
}

/* The degree that fills the horizon from lowest nodes of `low` users, rounded up or down. It does
 * not depend on how often users return: a campaign whose batch is given keeps its tree. */
static double tight_degree(const faro_release *r, double low) {
  if (binary_tree(r)) return 2;
  const size_t k = r->params.shufflers;
  const double even = fmax(2, floor(pow(count_of(r) / low, 1 / (double)k)));
  return faro_predict_cost(r, k, low, even + 1, 1) < faro_predict_cost(r, k, low, even, 1) ? even + 1 : even;
}

static double tight_cost(const faro_release *r, double low) {
  return faro_predict_cost(r, levels_over(r, low), low, tight_degree(r, low), r->repeats);
}

static bool by_theorem(const faro_release *r) { return r->params.calibration == FARO_CALIBRATION_PAPER; }

static void choose(const faro_release *r, faro_release_params *params) {
  const size_t k = levels_over(r, fmax(2, count_of(r) / 400));
  const double most = binary_tree(r) ? count_of(r) : ldexp(count_of(r), -(int)k);
  if (by_theorem(r)) params->batch = (uint64_t)theorem_low(r);
  else if (!faro_choose_nodes(r, k, most, params)) params->batch = faro_least_batch(r, tight_cost);
}

static faro_status shape(const faro_release *r, size_t *levels, uint64_t *degree, faro_error *error) {
  const double low = (double)r->params.batch;
  const size_t k = levels_over(r, low);
  const double d = by_theorem(r) ? theorem_degree(r) : tight_degree(r, low);
  if (low * pow(d, (double)k - 1) > count_of(r))
    return faro_fail(error, FARO_INVALID,
                     "shufflers must be few enough to fill up within the horizon of %.0f: with lowest nodes "
                     "of %.0f users and %.0f nodes per parent, at most %.0f (got %zu)",
                     count_of(r), low, d, fmax(1, 1 + floor(log(count_of(r) / low) / log(d) + 1e-9)), k);
  *levels = k;
  *degree = (uint64_t)d;
  return FARO_OK;
}

/* Sums of bits, M_bin: Tenenbaum et al. 2023 leave the constant open. The binomial mechanism of
 * Dwork et al. 2006 ("Our Data, Ourselves") has 64 ln(2/delta) (G/epsilon)^2 fair bits for values 0
 * and G; the exact accountant says what they prove. DEVIATION: with G = 1 a node of many users
 * would have more noise than it needs, because each adds at least one bit. The paper then takes
 * bits of smaller bias. Here G grows, which costs nothing. */
static faro_status calibrate_binary(faro_release *r, double epsilon, double delta, faro_error *error) {
  faro_bits *s = faro_bits_of(r);
  const double unit = 64 * log(2 / delta) / (epsilon * epsilon);
  const double crowd = (double)r->params.batch * (double)s->level[s->levels - 1].unit;
  const double grid = fmax(1, ceil(sqrt(20 * crowd / unit))); /* at least 20 bits per user */
  bool proven = true;
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < s->levels; i++) {
    const double users = (double)r->params.batch * (double)s->level[i].unit;
    status = faro_bits_set_noise(r, i, 0, ceil(unit * grid * grid / users), error);
    /* a little is left for tables and cuts (docs/privacy.md, Exact noise) */
    proven = proven && faro_bits_delta(s->level[i].noise->noise, 0.5, (uint64_t)grid, epsilon - 4e-12) <=
                           delta * (1 - 1e-6);
  }
  if (status != FARO_OK) return status;
  s->fair = true;
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_CONCURRENT, proven,
      "Tenenbaum et al. 2023, Theorem 3.4, with the binomial mechanism of Dwork et al. 2006 at (epsilon/k, "
      "delta/k)");
  return faro_bits_set_step(r, 1 / grid, error);
}

/* The theorems are for vectors no longer than their longest entry; the noise of others is
 * multiplied by this factor. */
static double stretch_of(const faro_contribution *c) {
  return c->gram == 0 ? fmax(1, c->norm / c->entry) : 1;
}

/* M_vec: Chowdhury & Zhou 2022, Theorem C.1, at every level with (epsilon/k, delta/k). Its noise
 * does not depend on g, so all levels have the g of the largest node. */
static faro_status calibrate_vectors(faro_release *r, double epsilon, double delta, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  const double d = (double)r->contribution.dimension;
  const double users = (double)r->params.batch;
  const double g = ceil(fmax(2 * sqrt(users * (double)s->level[s->levels - 1].unit), fmax(d, 4)));
  const double root = stretch_of(&r->contribution) * g * log(4 * (d * d + 1) / delta) / epsilon;
  const bool inside = epsilon <= 15 && delta < 0.5;
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < s->levels; i++)
    status =
        faro_bits_set_noise(r, i, 0, ceil(24e4 * root * root / (users * (double)s->level[i].unit)), error);
  if (status != FARO_OK) return status;
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_CONCURRENT, inside,
      "Tenenbaum et al. 2023, Theorem 3.4, with Chowdhury & Zhou 2022, Theorem C.1, at (epsilon/k, "
      "delta/k)%s",
      inside ? " (docs/privacy.md, Lemma 8)" : ", outside its range (epsilon/k <= 15, delta/k < 1/2)");
  return faro_bits_set_step(r, 2 * r->contribution.entry / g, error);
}

static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  const double k = (double)r->shufflers;
  const faro_status status = faro_refuse_returning(r, "", "Tenenbaum et al. 2023", error);
  if (status != FARO_OK) return status;
  const bool one_bit = r->contribution.binary && r->contribution.length == 1; /* for M_bin */
  return (one_bit ? calibrate_binary : calibrate_vectors)(r, r->params.epsilon / k, r->params.delta / k,
                                                          error);
}

const faro_release_kind faro_release_concurrent_bits = {
    .name = "concurrent-bits",
    .summary = "bit sums over a tree of batches, one shuffler for each of its levels",
    .cite = "Tenenbaum et al. 2023",
    .trust = FARO_TRUST_CONCURRENT,
    .least_batch = 2,
    .splits = true,
    .weighs = true,
    .mechanism = &faro_mechanism_bits,
    .shape = shape,
    .calibrate = {calibrate_paper, NULL, faro_bits_tight},
    .choose_schedule = choose,
};
