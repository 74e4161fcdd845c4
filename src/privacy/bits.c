/* bits: the privacy of sums of counted bits. The proofs are in docs/privacy.md, Bit sums (Lemmas 2
 * to 4).
 *
 *   N      number of noise bits, each 1 with probability 1/2 (or `bias`)
 *   F      distribution function of Bin(N, 1/2)
 *   s      integer by which a user moves the count
 *   sigma = sqrt(N) / 2
 *   q(k) = Phi^-1(F(k))
 *
 * One entry, exactly: the likelihood ratio P(k) / P(k - s) decreases in k, so the worst event is {k
 * <= k*}.
 *
 * Vectors, by a dominating Gaussian: if q(k) - q(k-1) <= (1 + eta) / sigma for all k within reach,
 * then telescoping gives q(k) - q(k-s) <= s (1 + eta) / sigma for every s. This means that no test
 * between Bin and Bin + s does better than one between two Gaussians at distance s (1 + eta) /
 * sigma. Outcomes out of reach cost their mass. Products of such pairs are dominated by the product
 * of the Gaussians, so a shift vector s costs (1 + eta) ||s|| / sigma. */
#include <math.h>

#include <faro/privacy.h>

#include "privacy/memo.h"
#include "random/samplers.h"

/* The terms of a sum of bits are products of up to 2e5 factors, whose rounding adds up: 8e-11 was
 * seen for 1e9 bits. */
static const double ROUND = 1 + 1e-9;

/* Sum over k <= top of max(0, P(k) - e^epsilon P(k - s)), from the top term downwards, with P of
 * Bin(n, p). The neighbour's count is s above. */
static long double lower_event(double n, double p, double s, long double gamma, double top) {
  const long double odds = (long double)(1 - p) / (long double)p;
  long double here = expl((long double)faro_binomial_log(n, p, top));
  long double there = top >= s ? expl((long double)faro_binomial_log(n, p, top - s)) : 0;
  long double sum = 0;
  for (double k = top; k >= 0; k--) {
    const long double gain = here - gamma * there;
    if (gain > 0) sum += gain;
    if (here < sum * 1e-22L) break;
    here *= (long double)k / (long double)(n - k + 1) * odds;
    there *= (long double)fmax(k - s, 0) / (long double)(n - k + s + 1) * odds;
  }
  return sum;
}

/* The last k with P(k) > gamma P(k - s), found by bisection: the ratio decreases in k. */
static double last_winning(double n, double p, double s, double epsilon) {
  double low = fmin(s, n + 1) - 1; /* here P(k - s) = 0 */
  double high = n + 1;
  while (high - low > 1) {
    const double middle = floor((low + high) / 2);
    if (faro_binomial_log(n, p, middle) > epsilon + faro_binomial_log(n, p, middle - s)) low = middle;
    else high = middle;
  }
  return low;
}

double faro_bits_delta(uint64_t bits, double bias, uint64_t shift, double epsilon) {
  const double n = (double)bits;
  const double s = (double)shift;
  if (shift == 0) return 0;
  if (shift > bits) return 1;
  const long double gamma = expl((long double)epsilon);
  /* The neighbour above, and, by counting zeros instead of ones, the neighbour below. */
  const long double above = lower_event(n, bias, s, gamma, last_winning(n, bias, s, epsilon));
  const long double below =
      bias == 0.5 ? above : lower_event(n, 1 - bias, s, gamma, last_winning(n, 1 - bias, s, epsilon));
  return fmin(1, (double)fmaxl(above, below) * ROUND);
}

/* Phi^-1(target) near `start`, by Newton's method; target in (0, 1/2]. A step of s leaves an error
 * of |q| s^2 / 2. */
static long double quantile_near(long double start, long double target) {
  long double q = start;
  long double step = 1;
  for (int i = 0; i < 4 && fabsl(step) > 1e-10L; i++) {
    const long double below = erfcl(-q / sqrtl(2)) / 2;
    const long double density = expl(-q * q / 2) / sqrtl(2 * acosl(-1));
    step = (target - below) / density;
    q += step;
  }
  return q;
}

/* Above this N, eta comes from inequalities instead of a walk over all k. */
static const double WALK_MAX = 1e8;

/* 1 + eta, for k within `reach` standard deviations of the mean. For large N, with u = reach /
 * sqrt(N) + 2 / N, the bound of Zubkov and Serov (2013) on F and Stirling's bound on the
 * probabilities give ((1 + u) / (1 - u)) / sqrt(1 - u^2). */
static double inflation(double n, double reach) {
  const double u = reach / sqrt(n) + 2 / n;
  if (u >= 0.9) return INFINITY;
  if (n > WALK_MAX) return (1 + u) / (1 - u) / sqrt(1 - u * u);
  const long double sigma = sqrtl((long double)n) / 2;
  const double first = ceil(n / 2 - reach * (double)sigma);
  if (first < 1) return INFINITY;
  long double probability = expl((long double)faro_binomial_log(n, 0.5, first - 1));
  long double mass = lower_event(n, 0.5, n + 2, 1, first - 1); /* F(first - 1) */
  /* A first guess from the size of the tail, then iterated until it no longer changes. */
  long double q = -sqrtl(-2 * logl(2 * mass));
  for (int i = 0; i < 20; i++) q = quantile_near(q, mass);
  long double widest = 0;
  for (double k = first; k <= n / 2; k++) { /* the right half is the mirror image */
    probability *= (long double)(n - k + 1) / (long double)k;
    mass += probability;
    const long double next =
        mass < 0.5L ? quantile_near(q + 1 / sigma, mass) : -quantile_near(-q - 1 / sigma, 1 - mass);
    widest = fmaxl(widest, next - q);
    q = next;
  }
  return (double)(widest * sigma) + 1e-9;
}

/* Remembers results, because a walk takes milliseconds. */
static double remembered_inflation(double n, double reach) {
  static faro_memo memo;
  double value[FARO_MEMO_VALUES] = {0};
  const double key[FARO_MEMO_KEYS] = {n, reach};
  if (faro_memo_find(&memo, key, value)) return *value;
  *value = inflation(n, reach);
  faro_memo_keep(&memo, key, value);
  return *value;
}

/* ||s|| and the largest |s_j|, in grid steps. Both users round an entry with the same dither, so
 * |s_j| is |grid * difference_j| rounded up or down (Lemma 2). */
static double shift_norm(const faro_bits_plan *p) {
  const double steps = p->grid * p->sensitivity;
  if (p->dimension == 1) return ceil(steps - 1e-9);
  return fmin(steps + sqrt(p->dimension), ceil(p->grid) * sqrt(p->dimension));
}

static double shift_most(const faro_bits_plan *p) { return ceil(p->grid * fmin(p->sensitivity, 1) - 1e-9); }

/* How often a user takes part. Zeros mean once, in one release. */
static double load_of(const faro_bits_plan *p) { return fmax(p->load, 1); }
static double repeat_of(const faro_bits_plan *p) { return fmax(p->repeat, 1); }
static double touched_of(const faro_bits_plan *p) { return fmax(p->touched, 1); }

/* Users whose noise counts. */
static double adding(const faro_bits_plan *p) { return p->honest > 0 ? p->honest : p->users; }

/* Computes mu and slack from grid and bits. False if there are too few bits for a bound. */
static bool dominate(faro_bits_plan *p, double delta) {
  const double n = adding(p) * p->bits;
  const double sigma = sqrt(n) / 2;
  if (!(n >= 1)) return false;
  /* Hoeffding: slacks <= delta / 2000 */
  const double t = sqrt(2 * log(4000 * p->dimension * touched_of(p) / delta));
  const double eta = remembered_inflation(n, t + repeat_of(p) * shift_most(p) / sigma + 1);
  if (!isfinite(eta)) return false;
  p->slack = 2 * p->dimension * exp(-t * t / 2);
  p->mu = eta * shift_norm(p) / sigma;
  p->noise_sd = sqrt(p->users * p->bits) / 2 / p->grid;
  return true;
}

static faro_status check(const faro_bits_plan *p, faro_error *error) {
  if (!(p->users >= 1 && p->users <= 0x1p40))
    return faro_fail(error, FARO_INVALID, "users must be 1 .. 2^40 (got %g)", p->users);
  if (p->honest != 0 && !(p->honest >= 1 && p->honest <= p->users && p->honest == floor(p->honest)))
    return faro_fail(error, FARO_INVALID,
                     "honest must be 0 (all) or a whole number of users, 1 .. %g (got %g)", p->users,
                     p->honest);
  if (!(p->dimension >= 1 && p->dimension <= 1e6))
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. 1e6 (got %g)", p->dimension);
  if (!(p->sensitivity > 0 && p->sensitivity <= 1e3))
    return faro_fail(error, FARO_INVALID, "sensitivity must be above 0 and at most 1000 (got %g)",
                     p->sensitivity);
  if (!(p->grid >= 0 && p->grid <= 1e6))
    return faro_fail(error, FARO_INVALID, "grid must be 0 (choose) .. 1e6 (got %g)", p->grid);
  if (!(p->load >= 0 && p->repeat >= 0 && p->touched >= 0 && p->load < 1e30 && p->touched < 1e30))
    return faro_fail(error, FARO_INVALID, "load, repeat and touched must not be negative (got %g, %g, %g)",
                     p->load, p->repeat, p->touched);
  return FARO_OK;
}

faro_status faro_bits_account(faro_bits_plan *plan, double delta, double *epsilon, faro_error *error) {
  const faro_status status = check(plan, error);
  if (status != FARO_OK) return status;
  if (!(plan->grid > 0)) return faro_fail(error, FARO_INVALID, "grid must be above 0 (got %g)", plan->grid);
  if (!(plan->bits >= 0 && plan->bits <= 0x1p50))
    return faro_fail(error, FARO_INVALID, "bits must be 0 .. 2^50 (got %g)", plan->bits);
  *epsilon = dominate(plan, delta) ? faro_gaussian_epsilon(sqrt(load_of(plan)) * plan->mu,
                                                           delta - touched_of(plan) * plan->slack)
                                   : INFINITY;
  return FARO_OK;
}

/* A finer grid costs bits. A coarser one costs noise, in two ways. Rounding adds sqrt(dimension)
 * steps to a difference of sensitivity * grid, here one per cent of it. And each user adds a whole
 * number of bits, here at least a hundred, so that rounding it up costs half a per cent. */
static double choose_grid(const faro_bits_plan *plan, double mu, double crowd) {
  const double rounding = fmax(300, 100 * sqrt(plan->dimension));
  const double whole = mu * sqrt(100 * crowd) / 2; /* (2 grid sensitivity / mu)^2 = 100 crowd */
  /* whole intervals: rounding moves neither end */
  const bool box = plan->sensitivity >= sqrt(plan->dimension);
  const double few = mu * sqrt(1e5) / 2; /* 1e5 noise bits, where eta is negligible */
  return fmin(1e6, ceil(fmax(box ? few : rounding, whole) / plan->sensitivity));
}

/* The share of delta reserved for exact tables of noise and for the range of a report
 * (docs/privacy.md, Exact noise). */
static const double LEFT = 2e-4;

faro_status faro_bits_calibrate(faro_bits_plan *plan, double epsilon, double delta, faro_error *error) {
  const faro_status status = check(plan, error);
  if (status != FARO_OK) return status;
  const double root = sqrt(load_of(plan));
  const double mu = faro_gaussian_mu(epsilon, delta * 0.999) / root;
  const double crowd = adding(plan);
  if (plan->grid == 0) plan->grid = choose_grid(plan, mu, crowd);
  double n = pow(2 * shift_norm(plan) / mu, 2);
  for (int turn = 0; turn < 100; turn++) { /* eta decreases as n grows, so a few rounds are enough */
    plan->bits = fmax(1, ceil(n / crowd));
    if (plan->bits > 0x1p50 || plan->bits * plan->users > 0x1p60)
      return faro_fail(error, FARO_INVALID,
                       "epsilon %g and delta %g would need %.3g noise bits for each user and entry", epsilon,
                       delta, plan->bits);
    const bool known = dominate(plan, delta);
    if (known &&
        faro_gaussian_delta(root * plan->mu, epsilon) + touched_of(plan) * plan->slack <= delta * (1 - LEFT))
      return FARO_OK;
    const double grow = known ? pow(plan->mu / mu, 2) : 2;
    n = fmax(crowd * (plan->bits + 1), n * fmin(4, fmax(grow, 1 + 1e-7)));
  }
  return faro_fail(error, FARO_INVALID, "no number of noise bits was found for epsilon %g and delta %g",
                   epsilon, delta);
}
