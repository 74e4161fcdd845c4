/* proof: see the header. All numbers come from the claim by the accountants, not from the release's
 * own calibration, which is what may be wrong. */
#include "audit/proof.h"

#include <faro/message.h>

#include <math.h>

#include "privacy/memo.h"
#include "release/answer.h"

/* Bit sums are dominated by a Gaussian up to this share of delta (privacy/bits.c). Others need none
 * of it. */
static const double SLACK = 1e-3;

static bool is_tight(const faro_release *r) {
  return faro_release_params_of(r)->calibration == FARO_CALIBRATION_TIGHT;
}

/* Whether the batch is passed on message by message. */
static bool is_mixed(const faro_release *r) {
  const faro_release_kind *kind = faro_release_kind_of(r);
  return kind->trust == FARO_TRUST_SHUFFLE && !faro_release_kind_counts(kind);
}

static bool is_gaussian(const faro_release *r) {
  return faro_release_kind_counts(faro_release_kind_of(r)) ? is_tight(r) : faro_release_noise(r).gaussian;
}

faro_proof faro_proof_whole(const faro_release *release, const faro_contribution *contribution) {
  const faro_claim *c = faro_release_claim(release);
  const bool claims = !isnan(c->epsilon);
  const faro_proof point = {
      .name = "claim", .target = {{FARO_CURVE_POINT, claims ? c->delta : 0}, c->epsilon, true}, .claim = c};
  if (!claims || !c->proven || is_mixed(release)) return point;
  faro_proof proof = point;
  if (is_gaussian(release)) {
    const double slack = SLACK * c->delta;
    proof.name = "Gaussian";
    proof.target.curve = (faro_curve){FARO_CURVE_GAUSSIAN, slack};
    proof.target.claimed = faro_gaussian_mu(c->epsilon, c->delta - slack);
  } else if (faro_release_noise(release).laplace > 0 && contribution->length == 1 && c->contributions == 1) {
    proof.name = "Laplace";
    proof.target.curve.form = FARO_CURVE_LAPLACE;
  }
  return proof;
}

/* epsilon at delta of `rounds` mechanisms that are (epsilon, delta_b)-private. */
static double compose(double epsilon, double delta_b, double rounds, double delta) {
  faro_pld *pld = NULL;
  double all = INFINITY;
  if (rounds == 1) return epsilon;
  if (faro_pld_pure(&pld, epsilon, delta_b, NULL) != FARO_OK) return all;
  if (faro_pld_repeat(pld, (uint64_t)rounds, NULL) == FARO_OK) all = faro_pld_epsilon(pld, delta);
  faro_pld_destroy(pld);
  return all;
}

/* delta of each batch, if a user is in several: a tenth of all is for these. */
static double batch_delta(const faro_proof *p) {
  return p->rounds > 1 ? p->claim->delta / (10 * p->rounds) : p->claim->delta;
}

/* Every batch is amplified, and the batches of a user compose. */
static double amplified(const faro_proof *p, double epsilon0, double delta0) {
  const double delta = batch_delta(p);
  const double batch = p->share > 0 ? faro_shuffle_response_epsilon(epsilon0, p->share, p->users, delta)
                                    : faro_shuffle_epsilon(epsilon0, delta0, p->users, delta);
  return isfinite(batch) ? compose(batch, delta, p->rounds, p->claim->delta) : INFINITY;
}

static double pure_epsilon(const faro_proof *p, double epsilon0) {
  return fmin(fmin(p->rounds * epsilon0, compose(epsilon0, 0, p->rounds, p->claim->delta)),
              amplified(p, epsilon0, 0));
}

/* Without amplification, or with, over some ways to split delta. */
static double gaussian_epsilon(const faro_proof *p, double mu) {
  double least = faro_gaussian_epsilon(mu * sqrt(p->rounds), p->claim->delta);
  for (double share = 0.5; share > 1e-3; share /= 4) {
    const double delta0 = share * batch_delta(p) / (2 * (exp(p->batch) + 1) * p->users);
    least = fmin(least, amplified(p, faro_gaussian_epsilon(mu, delta0), delta0));
  }
  return least;
}

double faro_proof_epsilon(const faro_proof *proof, double parameter) {
  const double delta = proof->claim->delta;
  if (!(parameter > 0 && isfinite(parameter))) return parameter;
  const bool gaussian = proof->target.curve.form == FARO_CURVE_GAUSSIAN;
  if (proof->message) return gaussian ? gaussian_epsilon(proof, parameter) : pure_epsilon(proof, parameter);
  return gaussian ? faro_gaussian_epsilon(parameter, delta - proof->target.curve.slack) : parameter;
}

/* The largest number, up to `high`, for which `epsilon` stays within the claim. */
static double largest(const faro_proof *p, double (*epsilon)(const faro_proof *, double), double high) {
  double low = 0;
  while (high - low > 1e-5 * high) {
    const double middle = (low + high) / 2;
    if (epsilon(p, middle) <= p->claim->epsilon) low = middle;
    else high = middle;
  }
  return high;
}

static double composed_epsilon(const faro_proof *p, double batch) {
  return compose(batch, batch_delta(p), p->rounds, p->claim->delta);
}

/* The largest parameter from which the claim follows, and a little more: the release may divide
 * delta in another way. */
static double needed(const faro_proof *p) {
  static faro_memo memo;
  double value[FARO_MEMO_VALUES] = {0};
  const double key[FARO_MEMO_KEYS] = {p->claim->epsilon, p->claim->delta,      p->users,
                                      p->rounds,         p->target.curve.form, p->share};
  if (faro_memo_find(&memo, key, value)) return *value;
  double high = p->claim->epsilon;
  while (high < 1e3 && faro_proof_epsilon(p, high) <= p->claim->epsilon) high *= 2;
  *value = 1.001 * largest(p, faro_proof_epsilon, high);
  faro_memo_keep(&memo, key, value);
  return *value;
}

bool faro_proof_message(const faro_release *release, const faro_contribution *contribution, double users,
                        double rounds, faro_proof *proof) {
  const faro_claim *c = faro_release_claim(release);
  if (!is_mixed(release) || !is_tight(release) || !c->proven) return false;
  const faro_noise noise = faro_release_noise(release);
  *proof = (faro_proof){.name = "message",
                        .claim = c,
                        .message = true,
                        .users = users,
                        .rounds = rounds,
                        .target.sums = true,
                        .target.users = true};
  if (noise.dependent) proof->share = faro_answer_share(release);
  if (noise.gaussian) proof->target.curve.form = FARO_CURVE_GAUSSIAN;
  else if (noise.laplace > 0 && contribution->length == 1) proof->target.curve.form = FARO_CURVE_LAPLACE;
  proof->batch = rounds > 1 ? largest(proof, composed_epsilon, c->epsilon) : c->epsilon;
  proof->target.claimed = needed(proof);
  return true;
}
