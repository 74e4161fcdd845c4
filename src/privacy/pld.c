/* pld: privacy-loss distributions, composed numerically, from above.
 *
 * A mechanism is stored as a dominating pair (P, Q): delta(epsilon) = H(epsilon) = sup_S P(S) -
 * e^epsilon Q(S) for every real epsilon, and products of pairs dominate compositions (Zhu, Dong &
 * Wang 2022). All pairs here are symmetric, so one direction is enough. With the loss L = ln(P/Q)
 * under P, which may have an atom at +infinity,
 *
 *   H(epsilon) = E_P (1 - e^(epsilon - L))_+ .
 *
 * The stored form is symbolic, so that composing loses nothing: the sum of mu^2 of the Gaussians,
 * whose composition is exact; the mass at infinity; and a list of (mechanism, parameter r, times
 * k), response or Laplace, whose finite losses are in [-r, r]. A pure (epsilon, delta) mechanism is
 * dominated by a response of epsilon with probability 1 - delta, and loses everything with
 * probability delta (Kairouz, Oh & Viswanath 2015). With L of the list and G of the Gaussian,
 *
 *   H(epsilon) = infinite + (1 - infinite) E_L G(epsilon - L),
 *   G(x) = Gaussian delta, or (1 - e^x)_+ without a Gaussian.
 *
 * L is computed on demand, on a grid of depths t = top - L >= 0, top = sum of k r:
 *
 *   1. Discretisation ("connect the dots", Doroshenko et al. 2022). Mass at a loss between two grid
 *      points is split between them so that its P mass and its Q mass are kept. The resulting pair
 *      dominates; the mean loss changes by O(step^2) and the variance by less than step^2/4.
 *      Laplace: P has 1/2 at depth 0, e^-r / 2 at depth 2r and density e^(-t/2) / 4 between; every
 *      cell gives tanh(step/4) e^(-t/2) / 2 to either end. Response: two atoms, no error.
 *   2. Tilting. P(t) = w(t) e^(log_mass + theta t), w normalised. theta > 0 is the saddle point of
 *      epsilon (Chernoff), so that w is large where it matters, and an error u in w is one of about
 *      u delta in delta, not u.
 *   3. k-fold convolution of w by FFT over a window of depths, outside of which w has at most TAIL
 *      on either side (Chernoff). Mass that wraps around adds to the window. Mass outside it is
 *      bounded: since G(x) <= C E e^(theta (L_G - x)), C = (1 + 1/theta)^-theta / (1 + theta), it
 *      counts at most missing C e^(log_mass + theta (top - epsilon) + mu^2 (theta + theta^2) / 2).
 *   4. Rounding of the FFT. Coefficients of a distribution are off by at most e = 8 u (2 + log2 n),
 *      u = DBL_EPSILON; their k-th power by k (|c| + e)^(k-1) (e + 16 u). The mean of that over
 *      frequencies, plus the error of the inverse transform, bounds the error of every weight, and
 *      is added to every weight: in all about k e relative to delta.
 *   5. Parts of different kinds are composed each on its own grid, moved to a common one as in 1,
 *      and convolved as in 3 and 4.
 *
 * Grids do not depend on epsilon, so delta is monotone except for rounding (about 1e-8,
 * relative). */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <faro/privacy.h>

#include "base/arena.h"

static const double ROUND = 1 + 1e-9; /* the remaining error: rounding of sums and exponents in long double */
static const double TAIL = 1e-14;
static const double TAIL_LOG = 32.3; /* -ln TAIL, rounded up */
static const double PARAMETER_MIN = 1e-6;
static const double PARAMETER_MAX = 100;
static const double REPEAT_MAX = 1e6; /* per call */
static const double TIMES_MAX = 1e8;  /* per mechanism in total: beyond, k e is no longer small */

typedef struct part {
  bool laplace; /* else response */
  double r;     /* losses are in [-r, r] */
  double times;
} part;

struct faro_pld {
  long double mu2; /* sum of mu^2 over the Gaussians */
  double infinite; /* probability of an infinite loss */
  part *parts;     /* all different */
  size_t count, capacity;
};

/* Weights w at the depths (first + j) step. */
typedef struct grid {
  double *weight;
  size_t n;
  double first;
  long double step;
  long double log_mass;
  double missing; /* upper bound on the mass of w outside the window */
} grid;

/* The distribution that delta is a sum over. */
typedef struct losses {
  faro_arena arena;
  grid grid; /* its weights are probabilities, not tilted */
  double theta, mu;
  long double top;
} losses;

typedef struct cpx {
  double re, im;
} cpx;

static double size(cpx a) { return sqrt(a.re * a.re + a.im * a.im); }
static cpx product(cpx a, cpx b) { return (cpx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Radix 2, in place: to frequencies in bit-reversed order, and back, not divided by n. root[j] =
 * e^(-2 pi i j / n). */
static void fft_forward(cpx *x, const cpx *root, size_t n) {
  for (size_t half = n / 2; half > 0; half /= 2)
    for (size_t base = 0; base < n; base += 2 * half)
      for (size_t j = base; j < base + half; j++) {
        const cpx a = x[j];
        const cpx b = x[j + half];
        x[j] = (cpx){a.re + b.re, a.im + b.im};
        x[j + half] = product((cpx){a.re - b.re, a.im - b.im}, root[(j - base) * (n / 2 / half)]);
      }
}

static void fft_back(cpx *x, const cpx *root, size_t n) {
  for (size_t half = 1; half < n; half *= 2)
    for (size_t base = 0; base < n; base += 2 * half)
      for (size_t j = base; j < base + half; j++) {
        const cpx r = root[(j - base) * (n / 2 / half)];
        const cpx a = x[j];
        const cpx b = product(x[j + half], (cpx){r.re, -r.im});
        x[j] = (cpx){a.re + b.re, a.im + b.im};
        x[j + half] = (cpx){a.re - b.re, a.im - b.im};
      }
}

static void roots(cpx *root, size_t n) {
  for (size_t j = 0; j < n / 2; j++) {
    const double angle = 2 * acos(-1) * (double)j / (double)n;
    root[j] = (cpx){cos(angle), -sin(angle)};
  }
}

/* Scales w to the sum 1. */
static void normalise(grid *g) {
  long double sum = 0;
  for (size_t j = 0; j < g->n; j++) sum += g->weight[j];
  for (size_t j = 0; j < g->n; j++) g->weight[j] = (double)(g->weight[j] / sum);
  g->log_mass += logl(sum);
}

static void moments(const grid *g, double *mean, double *variance) {
  double sum = 0;
  double squares = 0;
  for (size_t j = 0; j < g->n; j++) sum += g->weight[j] * (double)j;
  for (size_t j = 0; j < g->n; j++) squares += g->weight[j] * ((double)j - sum) * ((double)j - sum);
  *mean = sum;
  *variance = squares;
}

/* ln E e^(s (j - mean)) */
static double log_moment(const grid *g, double mean, double s) {
  const double ratio = exp(s);
  double power = exp(-s * mean);
  double sum = 0;
  for (size_t j = 0; j < g->n; j++) {
    sum += g->weight[j] * power;
    power *= ratio;
  }
  return log(sum);
}

/* The grid points between which the sum of k draws of every factor lies, except for TAIL on either
 * side. With S the sum less its mean, P(S >= t) <= e^(ln E e^(sS) - s t) for any s > 0; sqrt(2
 * ln(1/TAIL) / variance) is near the best. */
static double window(const grid *factors, size_t count, double k, double *low, double *high) {
  double variance = 0;
  double range = 1;
  double middle = 0;
  *low = 0;
  *high = 0;
  for (size_t i = 0; i < count; i++) {
    double mean = 0;
    double v = 0;
    moments(&factors[i], &mean, &v);
    variance += k * v;
    range = fmax(range, (double)factors[i].n);
    middle += k * (factors[i].first + mean);
    *low += k * factors[i].first;
    *high += k * (factors[i].first + (double)(factors[i].n - 1));
  }
  const double s = fmin(sqrt(2 * TAIL_LOG / variance), 20 / range);
  double below = TAIL_LOG + k * (double)count * 1e-10; /* rounding of the sums */
  double above = below;
  for (size_t i = 0; i < count; i++) {
    double mean = 0;
    double v = 0;
    moments(&factors[i], &mean, &v);
    below += k * log_moment(&factors[i], mean, -s);
    above += k * log_moment(&factors[i], mean, s);
  }
  const double from = floor(middle - below / s) - 1;
  const double to = ceil(middle + above / s) + 1;
  const bool cut_below = from > *low;
  const bool cut_above = to < *high;
  *low = fmax(*low, from);
  *high = fmin(*high, to);
  return (cut_below + cut_above) * TAIL;
}

/* all *= c^k for every frequency; `error` is updated to bound the rounding error in `all`. */
static void multiply(cpx *all, double *error, const cpx *c, size_t n, double k, double e) {
  for (size_t j = 0; j < n; j++) {
    cpx power = c[j];
    double off = e + 16 * DBL_EPSILON;
    if (k > 1) {
      const double length = exp(k * log(size(c[j])));
      const double angle = k * atan2(c[j].im, c[j].re);
      power = (cpx){length * cos(angle), length * sin(angle)};
      off *= k * exp((k - 1) * log(size(c[j]) + e));
    }
    error[j] = error[j] * (size(power) + off) + size(all[j]) * off;
    all[j] = product(all[j], power);
  }
}

/* The weights of the window that starts at `low`, from the coefficients of the sum whose least grid
 * point is `origin`. */
static void inverse(cpx *all, const double *error, const cpx *root, size_t n, double e, double origin,
                    grid *out) {
  double added = 0;
  for (size_t j = 0; j < n; j++) added += error[j] + e * size(all[j]);
  fft_back(all, root, n);
  const size_t shift = (size_t)fmod(out->first - origin, (double)n);
  for (size_t j = 0; j < out->n; j++)
    out->weight[j] = (fmax(0, all[(j + shift) & (n - 1)].re) + added * (1 + 1e-9)) / (double)n;
}

/* Fills the weights of a window of at most n points, a power of two, and adds up the mass that
 * `out` reports. */
static bool transform(const grid *factors, size_t count, double k, size_t n, grid *out) {
  faro_arena scratch = {0};
  cpx *x = faro_arena_alloc(&scratch, n, sizeof *x, NULL);
  cpx *all = faro_arena_alloc(&scratch, n, sizeof *all, NULL);
  cpx *root = faro_arena_alloc(&scratch, n / 2, sizeof *root, NULL);
  double *error = faro_arena_alloc(&scratch, n, sizeof *error, NULL);
  const bool ok = x && all && root && error;
  if (ok) {
    const double e = 8 * DBL_EPSILON * (2 + log2((double)n));
    double origin = 0;
    roots(root, n);
    for (size_t j = 0; j < n; j++) all[j].re = 1;
    for (size_t i = 0; i < count; i++) {
      for (size_t j = 0; j < n; j++) x[j] = (cpx){0, 0};
      for (size_t j = 0; j < factors[i].n; j++) x[j & (n - 1)].re += factors[i].weight[j];
      fft_forward(x, root, n);
      multiply(all, error, x, n, k, e);
      origin += k * factors[i].first;
      out->log_mass += (long double)k * factors[i].log_mass;
      out->missing += k * factors[i].missing;
    }
    inverse(all, error, root, n, e, origin, out);
  }
  faro_arena_free(&scratch);
  return ok;
}

/* The distribution of the sum of k draws of every factor; all factors have the same step. */
static bool convolve(faro_arena *arena, const grid *factors, size_t count, double k, grid *out) {
  if (count == 1 && k <= 1) {
    *out = factors[0];
    return true;
  }
  double high = 0;
  *out = (grid){.step = factors[0].step};
  out->missing = window(factors, count, k, &out->first, &high);
  out->n = (size_t)(high - out->first) + 1;
  size_t n = 2;
  while (n < out->n) n *= 2;
  out->weight = faro_arena_alloc(arena, out->n, sizeof *out->weight, NULL);
  return out->weight && transform(factors, count, k, n, out);
}

/* Roughly the width of a sum of that variance, of terms of width `range` (Bernstein's
 * inequality). */
static double spread(double variance, double range, double support) {
  return fmin(support, 2 * (sqrt(2 * TAIL_LOG * variance) + TAIL_LOG * range / 3));
}

/* Roughly the variance of one loss: near r^2 for small r; a large r leaves Laplace twice an
 * exponential of 1/2. */
static double part_variance(const part *p) { return fmin(p->r * p->r, p->laplace ? 3 : 1); }

/* The number of grid points to aim at: a Gaussian is costly to evaluate at each, and it smooths. */
static double points(const faro_pld *pld) { return pld->mu2 > 0 ? 16000 : 64000; }

/* The step of the grid common to parts of different kinds. */
static double common_step(const faro_pld *pld) {
  double variance = 0;
  double range = 0;
  double support = 0;
  for (size_t i = 0; i < pld->count; i++) {
    const part *p = &pld->parts[i];
    variance += p->times * part_variance(p);
    range = fmax(range, 2 * p->r);
    support += 2 * p->times * p->r;
  }
  return spread(variance, range, support) / points(pld);
}

/* Cells between -r and r: as many as the window of the k-fold sum can afford, at most 2^13 and at
 * least 64 (more when r > 2). 64 cells inflate the variance, whatever k, by about 1 / (9 32^2),
 * relative, and epsilon by half of that. */
static double laplace_cells(const faro_pld *pld, const part *p) {
  const double width = spread(p->times * part_variance(p), 2 * p->r, 2 * p->times * p->r);
  double cells = fmin(0x1p13, floor(points(pld) * 2 * p->r / width));
  if (p->times <= 1 && pld->count > 1) cells = fmin(cells, ceil(2 * p->r / common_step(pld)));
  return fmax(cells, ceil(64 * fmax(1, p->r / 2)));
}

/* One draw of a part, tilted. */
static bool part_grid(faro_arena *arena, const faro_pld *pld, const part *p, double theta, grid *g) {
  const double cells = p->laplace ? laplace_cells(pld, p) : 1;
  *g = (grid){.n = (size_t)cells + 1, .step = 2 * (long double)p->r / (long double)cells};
  g->weight = faro_arena_alloc(arena, g->n, sizeof *g->weight, NULL);
  if (!g->weight) return false;
  if (p->laplace) {
    const double cell = (double)tanhl(g->step / 4);
    for (size_t j = 0; j < g->n; j++) {
      const double share = j == 0 || j + 1 == g->n ? (1 + cell) / 2 : cell;
      g->weight[j] = share * (double)expl(-(0.5L + theta) * g->step * (long double)j);
    }
  } else {
    g->weight[0] = 1 / (1 + exp(-p->r));
    g->weight[1] = exp(-p->r * (1 + 2 * theta)) / (1 + exp(-p->r));
  }
  normalise(g);
  return true;
}

/* Moves weights to a grid of `step`. Take mass at a depth `a` below one point and `step - a` above
 * the next. To keep P and Q = P e^-loss, the upper point (of more loss) gets the share (1 -
 * e^-(step - a)) / (1 - e^-step). */
static bool regrid(faro_arena *arena, const grid *g, double step, double theta, grid *out) {
  *out = (grid){.step = step, .log_mass = g->log_mass, .missing = g->missing};
  out->first = (double)floorl(g->first * g->step / step);
  out->n = (size_t)(floorl((g->first + (double)g->n) * g->step / step) - out->first) + 2;
  out->weight = faro_arena_alloc(arena, out->n, sizeof *out->weight, NULL);
  if (!out->weight) return false;
  const double whole = expm1(-step);
  for (size_t j = 0; j < g->n; j++) {
    const long double depth = (g->first + (double)j) * g->step;
    const long double point = floorl(depth / step);
    const double a = (double)fmaxl(0, depth - point * step);
    const double rest = fmax(0, step - a);
    const size_t to = (size_t)(point - out->first);
    out->weight[to] += g->weight[j] * expm1(-rest) / whole * exp(theta * a);
    out->weight[to + 1] += g->weight[j] * exp(-rest) * expm1(-a) / whole * exp(-theta * rest);
  }
  normalise(out);
  return true;
}

static double mu_of(const faro_pld *pld) { return (double)sqrtl(pld->mu2) * (1 + DBL_EPSILON); }

static long double top_of(const faro_pld *pld) {
  long double top = 0;
  for (size_t i = 0; i < pld->count; i++) top += (long double)pld->parts[i].times * pld->parts[i].r;
  return top;
}

/* All parts on the common grid, convolved. */
static bool mix(faro_arena *arena, const faro_pld *pld, double theta, grid *out) {
  const double step = common_step(pld);
  faro_arena kept = {0};
  grid *factors = faro_arena_alloc(&kept, pld->count, sizeof *factors, NULL);
  bool ok = factors;
  for (size_t i = 0; ok && i < pld->count; i++) {
    faro_arena scratch = {0};
    grid one = {0};
    grid sum = {0};
    ok = part_grid(&scratch, pld, &pld->parts[i], theta, &one) &&
         convolve(&scratch, &one, 1, pld->parts[i].times, &sum) &&
         regrid(&kept, &sum, step, theta, &factors[i]);
    faro_arena_free(&scratch);
  }
  ok = ok && convolve(arena, factors, pld->count, 1, out);
  faro_arena_free(&kept);
  return ok;
}

/* The distribution of the losses of all parts, accurate near the epsilon that theta belongs to and
 * valid everywhere. The caller frees the arena, even if memory ran out (false). */
static bool losses_make(losses *l, const faro_pld *pld, double theta) {
  *l = (losses){.theta = theta, .mu = mu_of(pld), .top = top_of(pld)};
  grid *g = &l->grid;
  if (pld->count == 1) {
    grid one = {0};
    if (!part_grid(&l->arena, pld, pld->parts, theta, &one) ||
        !convolve(&l->arena, &one, 1, pld->parts->times, g))
      return false;
  } else if (!mix(&l->arena, pld, theta, g)) return false;
  for (size_t j = 0; j < g->n; j++) {
    const long double exponent = g->log_mass + theta * (g->first + (double)j) * g->step;
    g->weight[j] = (double)fminl(1, g->weight[j] * expl(exponent));
  }
  return true;
}

/* G(x) of a Gaussian; left of zero by symmetry, G(-x) = 1 - e^-x + e^-x G(x). Far out, G(x) <=
 * Phi(a) <= e^(-a^2/2) is enough, and cheaper: at 1e-36 it does not affect a delta of 1e-15. */
static double gaussian_curve(double mu, double x) {
  const double a = mu / 2 - fabs(x) / mu;
  const double right = a < -13 ? exp(-a * a / 2) : faro_gaussian_delta(mu, fabs(x));
  return x >= 0 ? right : -expm1(x) + exp(x) * right;
}

/* E G(epsilon - L) */
static double losses_delta(const losses *l, double epsilon) {
  const grid *g = &l->grid;
  long double sum = 0;
  for (size_t j = 0; j < g->n; j++) {
    const double x = (double)(epsilon - l->top + (g->first + (double)j) * g->step);
    if (l->mu > 0) sum += g->weight[j] * gaussian_curve(l->mu, x);
    else if (x < 0) sum += g->weight[j] * -expm1(x);
    else break;
  }
  const long double mu2 = (long double)l->mu * l->mu;
  const long double tilted =
      g->log_mass + l->theta * (l->top - epsilon) + mu2 * l->theta * (1 + l->theta) / 2;
  const long double c = -l->theta * log1pl(1 / (long double)l->theta) - log1pl(l->theta);
  if (g->missing > 0) sum += g->missing * expl(fminl(11000, tilted + c) + 1e-6L);
  return fmin(1, (double)sum * ROUND + 1e-300); /* 1e-300: terms that underflow */
}

/* ln E e^(-theta t) and the mean depth t under the tilt, of one draw, without discretisation. */
static void saddle(const part *p, double theta, double *log_mass, double *depth) {
  const double s = 1 + 2 * theta;
  const double e = exp(-p->r * s);
  if (p->laplace) {
    const double gone = -expm1(-p->r * s);
    const double mass = 1 + e + gone / s;
    *log_mass = log(mass / 2);
    *depth = 2 * (p->r * e * (1 - 1 / s) + gone / (s * s)) / mass;
  } else {
    *log_mass = log1p(e) - log1p(exp(-p->r));
    *depth = 2 * p->r * e / (1 + e);
  }
}

/* With K(theta) = ln E e^(theta L), Gaussians included, and since (1 - e^-y) e^(-theta y) is at
 * most (1 + 1/theta)^-theta / (1 + theta),
 *
 *   ln delta(epsilon) <= K(theta) - theta epsilon - theta ln(1 + 1/theta) - ln(1 + theta),
 *
 * least where epsilon = K'(theta) - ln(1 + 1/theta), and there K(theta) - theta K'(theta) - ln(1 +
 * theta). Returns the least theta that belongs to that epsilon or to that bound, whichever comes
 * first; *guess is the epsilon it belongs to. */
static double tilt(const faro_pld *pld, double epsilon, double log_bound, double *guess) {
  double high = pld->count > 1 ? 30 / common_step(pld) : INFINITY;
  for (size_t i = 0; i < pld->count; i++) high = fmin(high, 60 / pld->parts[i].r);
  double low = 0;
  for (int i = 0; i < 80; i++) {
    const double theta = (low + high) / 2;
    double slope = (double)pld->mu2 * (theta + 0.5) - log1p(1 / theta);
    double bound = -(double)pld->mu2 * theta * theta / 2 - log1p(theta);
    for (size_t j = 0; j < pld->count; j++) {
      double log_mass = 0;
      double depth = 0;
      saddle(&pld->parts[j], theta, &log_mass, &depth);
      slope += pld->parts[j].times * (pld->parts[j].r - depth);
      bound += pld->parts[j].times * (log_mass + theta * depth);
    }
    if (slope < epsilon && bound > log_bound) low = theta;
    else high = theta;
    *guess = slope;
  }
  return high;
}

/* delta if the loss is finite, rounded up; 1 if memory ran out. */
static double finite_delta(const faro_pld *pld, double epsilon) {
  if (pld->count == 0) return faro_gaussian_delta(mu_of(pld), epsilon);
  if (!(pld->mu2 > 0) && epsilon >= top_of(pld)) return 0;
  losses l;
  double guess = 0;
  const double delta =
      losses_make(&l, pld, tilt(pld, epsilon, -INFINITY, &guess)) ? losses_delta(&l, epsilon) : 1;
  faro_arena_free(&l.arena);
  return delta;
}

double faro_pld_delta(const faro_pld *pld, double epsilon) {
  if (isnan(epsilon)) return 1;
  const double delta = finite_delta(pld, epsilon);
  if (!(delta > 0)) return pld->infinite;
  return fmin(1, (pld->infinite + (1 - pld->infinite) * delta) * (1 + 4 * DBL_EPSILON));
}

/* The least epsilon: false position in ln delta (Illinois), with a bisection at every third step.
 * Returns the end at which the guarantee holds. `high` is a first guess. */
static double losses_epsilon(const losses *l, double delta, double high) {
  double low = 0;
  double over = log(losses_delta(l, low) / delta);
  if (over <= 0) return 0;
  double under = log(losses_delta(l, high) / delta);
  double rise = 0.01 * high;
  while (under > 0) {
    if (!(l->mu > 0) && high >= l->top) return high;
    low = high;
    over = under;
    high += rise;
    rise *= 2;
    under = log(losses_delta(l, high) / delta);
  }
  for (int i = 0; i < 200 && high - low > 1e-11 * high; i++) {
    double x = i % 3 == 2 ? 0 : low + (high - low) * over / (over - under);
    if (!(x > low && x < high)) x = low + (high - low) / 2;
    if (!(x > low && x < high)) break;
    const double at = log(losses_delta(l, x) / delta);
    if (at > 0) {
      low = x;
      over = at;
      under /= 2;
    } else {
      high = x;
      under = at;
      over /= 2;
    }
  }
  return high;
}

double faro_pld_epsilon(const faro_pld *pld, double delta) {
  if (delta >= 1) return 0;
  if (!(delta >= pld->infinite)) return INFINITY;
  const double rest = (delta - pld->infinite) / (1 - pld->infinite) * (1 - 8 * DBL_EPSILON);
  const long double top = top_of(pld);
  const double limit = pld->mu2 > 0        ? INFINITY
                       : (double)top < top ? nextafter((double)top, INFINITY)
                                           : (double)top;
  if (pld->count == 0 && rest > 0) return faro_gaussian_epsilon(mu_of(pld), rest);
  if (!(rest > 0)) return limit;
  losses l;
  double guess = 0;
  const double theta = tilt(pld, INFINITY, log(rest), &guess);
  const double epsilon = losses_make(&l, pld, theta) ? losses_epsilon(&l, rest, fmax(guess, 1e-9)) : INFINITY;
  faro_arena_free(&l.arena);
  return fmin(epsilon, limit);
}

static faro_status create(faro_pld **pld, faro_pld content, part first, faro_error *error) {
  faro_pld *made = calloc(1, sizeof *made);
  part *parts = first.times > 0 ? calloc(1, sizeof *parts) : NULL;
  if (!made || (first.times > 0 && !parts)) {
    free(made);
    free(parts);
    return faro_fail(error, FARO_MEMORY, "cannot allocate a privacy-loss distribution");
  }
  *made = content;
  if (parts) {
    *parts = first;
    made->parts = parts;
    made->count = made->capacity = 1;
  }
  *pld = made;
  return FARO_OK;
}

static faro_status check(const char *name, double value, faro_error *error) {
  if (value >= PARAMETER_MIN && value <= PARAMETER_MAX) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be %g .. %g (got %g)", name, PARAMETER_MIN, PARAMETER_MAX,
                   value);
}

faro_status faro_pld_gaussian(faro_pld **pld, double mu, faro_error *error) {
  const faro_status status = check("mu", mu, error);
  if (status != FARO_OK) return status;
  return create(pld, (faro_pld){.mu2 = (long double)mu * mu}, (part){0}, error);
}

faro_status faro_pld_laplace(faro_pld **pld, double ratio, faro_error *error) {
  const faro_status status = check("ratio", ratio, error);
  if (status != FARO_OK) return status;
  return create(pld, (faro_pld){0}, (part){.laplace = true, .r = ratio, .times = 1}, error);
}

faro_status faro_pld_response(faro_pld **pld, double epsilon0, faro_error *error) {
  const faro_status status = check("epsilon0", epsilon0, error);
  if (status != FARO_OK) return status;
  return create(pld, (faro_pld){0}, (part){.r = epsilon0, .times = 1}, error);
}

faro_status faro_pld_pure(faro_pld **pld, double epsilon, double delta, faro_error *error) {
  const faro_status status = check("epsilon", epsilon, error);
  if (status != FARO_OK) return status;
  if (!(delta >= 0 && delta < 1))
    return faro_fail(error, FARO_INVALID, "delta must be at least 0 and below 1 (got %g)", delta);
  return create(pld, (faro_pld){.infinite = delta}, (part){.r = epsilon, .times = 1}, error);
}

static faro_status too_many(double times_in_all, faro_error *error) {
  return faro_fail(error, FARO_INVALID, "times must come to at most %g for one mechanism in all (got %g)",
                   TIMES_MAX, times_in_all);
}

faro_status faro_pld_repeat(faro_pld *pld, uint64_t times, faro_error *error) {
  const double k = (double)times;
  if (times < 1 || k > REPEAT_MAX)
    return faro_fail(error, FARO_INVALID, "times must be 1 .. %g (got %llu)", REPEAT_MAX,
                     (unsigned long long)times);
  for (size_t i = 0; i < pld->count; i++)
    if (pld->parts[i].times * k > TIMES_MAX) return too_many(pld->parts[i].times * k, error);
  for (size_t i = 0; i < pld->count; i++) pld->parts[i].times *= k;
  pld->mu2 *= k;
  if (times > 1) pld->infinite = fmin(1, -expm1(k * log1p(-pld->infinite)) * (1 + 8 * DBL_EPSILON));
  return FARO_OK;
}

/* The index of the part with that mechanism and parameter, or the number of parts if there is no
 * such part. */
static size_t find(const faro_pld *pld, const part *p) {
  size_t i = 0;
  while (i < pld->count && (pld->parts[i].laplace != p->laplace || pld->parts[i].r != p->r)) i++;
  return i;
}

static faro_status reserve(faro_pld *pld, size_t count, faro_error *error) {
  if (count <= pld->capacity) return FARO_OK;
  const size_t capacity = 2 * count;
  part *parts = realloc(pld->parts, capacity * sizeof *parts);
  if (!parts) return faro_fail(error, FARO_MEMORY, "cannot allocate %zu parts", capacity);
  pld->parts = parts;
  pld->capacity = capacity;
  return FARO_OK;
}

faro_status faro_pld_compose(faro_pld *pld, const faro_pld *other, faro_error *error) {
  if (other == pld) return faro_pld_repeat(pld, 2, error);
  const faro_status status = reserve(pld, pld->count + other->count, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < other->count; i++) {
    const size_t at = find(pld, &other->parts[i]);
    const double sum = (at < pld->count ? pld->parts[at].times : 0) + other->parts[i].times;
    if (sum > TIMES_MAX) return too_many(sum, error);
  }
  for (size_t i = 0; i < other->count; i++) {
    const size_t at = find(pld, &other->parts[i]);
    if (at == pld->count) pld->parts[pld->count++] = other->parts[i];
    else pld->parts[at].times += other->parts[i].times;
  }
  pld->mu2 += other->mu2;
  if (other->infinite > 0 && pld->infinite > 0)
    pld->infinite = fmin(1, (pld->infinite + other->infinite * (1 - pld->infinite)) * (1 + 8 * DBL_EPSILON));
  else pld->infinite = fmax(pld->infinite, other->infinite);
  return FARO_OK;
}

void faro_pld_destroy(faro_pld *pld) {
  if (!pld) return;
  free(pld->parts);
  free(pld);
}
