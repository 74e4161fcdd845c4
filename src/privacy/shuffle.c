/* shuffle: amplification by shuffling, evaluated numerically (Feldman, McMillan & Talwar 2021;
 * docs/privacy.md, Amplification by shuffling).
 *
 * Their Theorem 3.1 reduces n shuffled messages of an epsilon0-local randomizer to the pair
 *
 *   P = (A + D, C - A + 1 - D),   Q = (A + 1 - D, C - A + D),
 *   C ~ Bin(n-1, e^-epsilon0),  A ~ Bin(C, 1/2), D ~ Bernoulli(q), q = e^epsilon0 / (e^epsilon0 +
 *                               1).
 *
 * C is visible (the entries add up to C + 1), so delta(epsilon) = sum_c P(C = c) delta(c). Given c,
 * let m = c + 1 and let b be the probabilities of Bin(c, 1/2). The first entry has P(x) = q b(x-1)
 * + (1-q) b(x), Q(x) has q and 1-q exchanged, and from b(x-1) = 2 x/m B(x), b(x) = 2 (m-x)/m B(x),
 * where B belongs to X ~ Bin(m, 1/2),
 *
 *   P(x) - e^epsilon Q(x) = B(x) (1 + e^epsilon) (tanh(epsilon0/2) (2x/m - 1) - tanh(epsilon/2)),
 *   delta(c) = (1 + e^epsilon) E (tanh(epsilon0/2) (2 X/m - 1) - tanh(epsilon/2))_+ .        (1)
 *
 * (1) shows everything that the bound rests on. The mean X/m of m fair bits is the conditional
 * expectation, given the sum of the first m, of the mean of the first m - 1, so by Jensen's
 * inequality delta(c) DOES NOT GROW WITH c. It does not grow with epsilon either, and it does not
 * decrease with epsilon0. As C decreases with epsilon0 and grows with n, delta(epsilon) is monotone
 * in all three. By the symmetry of X the divergence of Q from P is the same.
 *
 * The positive part starts at t = ceil(tau m), tau = (1 + tanh(epsilon/2) / tanh(epsilon0/2)) / 2,
 * and as P(Bin(c, 1/2) >= t-1) = S(t) + b(t-1) with S(t) = P(Bin(c, 1/2) >= t),
 *
 *   delta(c) = b(t-1) (q - e^epsilon (1-q)) - (e^epsilon - 1) S(t).                          (2)
 *
 * Errors. The values of c are gathered into blocks, each with the delta of its least c. Values
 * outside the window of blocks count with the delta of their least c, too. S(t) is rounded down.
 * What remains is rounding, which ROUND covers: 6e5 steps of the recurrence for P(C = c), 3e-10;
 * the sums, which are sum_k (drop of delta before block k) (probability of the blocks before k),
 * all terms positive; and the difference in (2), which cancels by at most the square of t's
 * distance from the mean in standard deviations, under 2000 while b(t-1) is above 1e-300.
 *
 * Responses. A message is one of K codes, all alike, with probability 1 - gamma, and else one of
 * the w K true codes, w <= 1/2: their odds are e^epsilon0, and 1 - gamma = 1 / (1 + w (e^epsilon0 -
 * 1)). With z and z' of a victim whose true codes are disjoint, tell the adversary who drew among
 * all codes, what those said that did not, and whether the victim's code is true for z or z', which
 * has the same probability v = w (e^epsilon0 + 1) (1 - gamma) for both. If it is, what is left is
 * the pair above with Bin(n-1, 2 w (1 - gamma)) clones, else nothing: delta = v times that of the
 * pair. True codes that z and z' share only help (docs/privacy.md, Lemma R). */
#include <math.h>

#include <faro/privacy.h>

#include "base/abort.h"
#include "privacy/bisect.h"
#include "random/samplers.h"

static const double ROUND = 1 + 1e-9;
static const double NEGLIGIBLE = 1e-30; /* where the window ends, relative to the likeliest c */
static const double TOLERANCE = 1e-4;   /* relative, for the sum over blocks */

enum { BLOCKS = 4096, COARSE = 64 };

/* What does not depend on epsilon: the distribution of C. Block k holds first + k width .. first +
 * (k+1) width - 1. */
typedef struct window {
  double epsilon0, others;   /* others = n - 1 */
  double odds;               /* p / (1-p), p = e^-epsilon0, or that of responses */
  double first, last;        /* the least and the largest c */
  double width;              /* width of one block */
  int count;                 /* number of blocks */
  double below, above;       /* upper bounds on the probabilities of c < first and c > last */
  double prefix[BLOCKS + 1]; /* prefix[k]: the probability of the blocks before k */
} window;

/* P(C = c+1) / P(C = c), which decreases with c. */
static double ratio_up(const window *w, double c) { return (w->others - c) / (c + 1) * w->odds; }

/* P(C = c-1) / P(C = c), which decreases as c does. */
static double ratio_down(const window *w, double c) { return c / ((w->others - c + 1) * w->odds); }

/* Walks from the likeliest c, whose weight is 1, in both directions until weights are negligible.
 * Beyond, they decrease faster than geometrically with the ratio r at the end, so they sum to at
 * most weight r / (1 - r). Returns the weight of `first`. */
static double find_ends(window *w) {
  const double mode = fmin(w->others, floor((w->others + 1) * w->odds / (1 + w->odds)));
  double weight = 1;
  double c = mode;
  while (c < w->others && weight > NEGLIGIBLE) {
    weight *= ratio_up(w, c);
    c++;
  }
  double r = ratio_up(w, c);
  w->last = c;
  w->above = weight * r / (1 - r);
  weight = 1;
  c = mode;
  while (c > 0 && weight > NEGLIGIBLE) {
    weight *= ratio_down(w, c);
    c--;
  }
  r = c > 0 ? ratio_down(w, c) : 0;
  w->first = c;
  w->below = weight * r / (1 - r);
  return weight;
}

static void open_window(window *w, double epsilon0, double odds, double n) {
  w->epsilon0 = epsilon0;
  w->others = fmax(0, floor(n) - 1); /* fewer clones never hide better */
  w->odds = odds;
  double weight = find_ends(w);
  w->width = ceil((w->last - w->first + 1) / BLOCKS);
  w->count = (int)ceil((w->last - w->first + 1) / w->width);
  w->prefix[0] = 0;
  double c = w->first;
  for (int k = 0; k < w->count; k++) {
    const double end = fmin(c + w->width, w->last + 1);
    double mass = 0;
    while (c < end) {
      mass += weight;
      weight *= ratio_up(w, c);
      c++;
    }
    w->prefix[k + 1] = w->prefix[k] + mass;
  }
  /* less than the sum of all weights, so probabilities come out larger */
  const double total = w->prefix[w->count];
  for (int k = 1; k <= w->count; k++) w->prefix[k] /= total;
  w->below /= total;
  w->above /= total;
}

/* A lower bound on S(t) / b(t), for c/2 < t <= c. S(t) = I_1/2(t, c-t+1) is b(t) t/2 times the
 * continued fraction 1/(beta_0 + alpha_1/(beta_1 + alpha_2/(beta_2 + ... of DiDonato & Morris 1992,
 * equation 9, with a = t, b = c-t+1, x = 1/2. All alpha and beta are positive, so its convergents
 * are alternately above and below; alpha_b = 0 ends it. Numerators and denominators are stored
 * relative to the last denominator. */
static double tail_ratio(double c, double t) {
  const double a = t;
  const double b = c - t + 1;
  const double lambda = a - (c + 1) / 2;
  double denominator = (a + 1) / (a * (lambda + 1)); /* in the convergent before the last: 1 / beta_0 */
  double numerator = 0;
  double value = denominator;
  double i = 1;
  while (i < b) {
    const double u = a + 2 * i - 1;
    const double v = i * (b - i) / u;
    const double alpha = (a + i - 1) * (c + i) / u * v / 4;
    const double beta = i + v / 2 + (a + i) / (u + 2) * (lambda + 1 + 1.5 * i);
    const double scale = 1 / (beta + alpha * denominator);
    const double next = (beta * value + alpha * numerator) * scale;
    numerator = value * scale;
    denominator = scale;
    if (fabs(next - value) <= 1e-12 * next) return t / 2 * fmin(value, next);
    value = next;
    i++;
  }
  return t / 2 * value;
}

/* The terms of (2) that depend on epsilon. */
typedef struct level {
  double spread; /* q - e^epsilon (1-q) = (1 - e^(epsilon - epsilon0)) / (1 + e^-epsilon0) */
  double growth; /* e^epsilon - 1 */
  double beyond; /* 1 - tau = (e^epsilon0 - e^epsilon) / ((e^epsilon0 - 1) (e^epsilon + 1)) */
} level;

static level level_at(double epsilon0, double epsilon) {
  const double gap = -expm1(epsilon - epsilon0);
  return (level){.spread = gap / (1 + exp(-epsilon0)),
                 .growth = expm1(epsilon),
                 .beyond = gap / -expm1(-epsilon0) / (exp(epsilon) + 1)};
}

/* delta(c), rounded up. The rounded t may be off by one if tau m is nearly an integer; that term of
 * (1) is then nearly zero. */
static double delta_given(const level *l, double c) {
  const double t = c + 1 - floor((c + 1) * l->beyond); /* ceil(tau m), as close to m as beyond is to 0 */
  const double before = exp(faro_binomial_log(c, 0.5, t - 1)); /* b(t-1) */
  if (t > c || l->growth == 0 || before < 1e-290) return before * l->spread;
  const double tail = (c - t + 1) / t * tail_ratio(c, t); /* S(t) / b(t-1) */
  return before * fmax(0, l->spread - l->growth * tail);
}

static double block_start(const window *w, int k) { return fmin(w->first + k * w->width, w->last + 1); }

/* Blocks i .. j-1, given delta(c) at both ends. The error is at most mass (from - to). While that
 * is over the threshold, the blocks are halved, and the right half is postponed. */
static double sum_blocks(const window *w, const level *l, int i, int j, double from, double to,
                         double threshold) {
  int end[16] = {j}; /* at most log2(BLOCKS) = 12 halvings */
  double at[16] = {to};
  int depth = 0;
  double sum = 0;
  while (depth >= 0) {
    const double mass = w->prefix[end[depth]] - w->prefix[i];
    if (end[depth] - i == 1 || mass * (from - at[depth]) <= threshold) {
      sum += mass * from;
      i = end[depth];
      from = at[depth--];
    } else {
      end[depth + 1] = i + (end[depth] - i) / 2;
      at[depth + 1] = delta_given(l, block_start(w, end[depth + 1]));
      depth++;
    }
  }
  return sum;
}

/* delta of the pair at 0 <= epsilon < epsilon0, rounded up. */
static double pair_delta(const window *w, double epsilon) {
  const level l = level_at(w->epsilon0, epsilon);
  const int parts = w->count < COARSE ? w->count : COARSE;
  FARO_INVARIANT(parts > 0);
  int start[COARSE + 1];
  double at[COARSE + 1];
  double least = 0; /* the sum rounded down, which errors are compared with */
  for (int k = 0; k <= parts; k++) {
    start[k] = (int)((long long)w->count * k / parts);
    at[k] = delta_given(&l, block_start(w, start[k]));
    if (k > 0) least += (w->prefix[start[k]] - w->prefix[start[k - 1]]) * at[k];
  }
  double sum = w->below * delta_given(&l, 0) + w->above * at[parts];
  for (int k = 0; k < parts; k++)
    sum += sum_blocks(w, &l, start[k], start[k + 1], at[k], at[k + 1], TOLERANCE / 512 * least);
  return fmin(1, sum * ROUND);
}

/* The local guarantee alone: (epsilon0, delta0) is no worse than revealing everything with
 * probability delta0, and randomized response with epsilon0 otherwise (Kairouz, Oh & Viswanath
 * 2015). */
static double local_delta(double epsilon0, double delta0, double epsilon) {
  if (epsilon >= epsilon0) return delta0;
  return fmin(1, (delta0 + (1 - delta0) * level_at(epsilon0, epsilon).spread) * ROUND);
}

/* Its inverse: (1 - delta0) (1 - e^(epsilon - epsilon0)) / (1 + e^-epsilon0) = delta - delta0. */
static double local_epsilon(double epsilon0, double delta0, double delta) {
  if (delta < delta0) return (double)INFINITY;
  const double part = (delta - delta0) / (1 - delta0) / ROUND * (1 + exp(-epsilon0));
  return part < 1 ? fmin(epsilon0, fmax(0, epsilon0 + log1p(-part) + 1e-15 * epsilon0)) : 0;
}

/* With delta0 > 0 (the approximate version of Theorem 3.8): delta + (e^epsilon + 1) (1 +
 * e^-epsilon0 / 2) n delta0. */
static double total_delta(const window *w, double delta0, double epsilon) {
  const double pair = pair_delta(w, epsilon);
  if (!(delta0 > 0)) return pair;
  return pair + (exp(epsilon) + 1) * (1 + exp(-w->epsilon0) / 2) * (w->others + 1) * delta0 * ROUND;
}

/* The point of 0 .. epsilon at which the total is least; what holds there holds at epsilon too.
 * Like every hockey-stick divergence it is convex in e^epsilon, so it decreases and then grows: a
 * ternary search. Any result is valid. */
static double best_epsilon(const window *w, double delta0, double epsilon) {
  if (!(delta0 > 0) || total_delta(w, delta0, 0.99 * epsilon) >= total_delta(w, delta0, epsilon))
    return epsilon;
  double low = 0;
  double high = epsilon;
  while (high - low > 1e-3 * high && high > 1e-9) {
    const double third = (high - low) / 3;
    if (total_delta(w, delta0, low + third) < total_delta(w, delta0, high - third)) high -= third;
    else low += third;
  }
  return low + (high - low) / 2;
}

double faro_shuffle_delta(double epsilon0, double delta0, double n, double epsilon) {
  const double local = local_delta(epsilon0, delta0, epsilon);
  if (!(epsilon >= 0 && epsilon < epsilon0) || 2 * n * delta0 >= local) return local;
  window w;
  open_window(&w, epsilon0, 1 / expm1(epsilon0), n);
  return fmin(local, total_delta(&w, delta0, best_epsilon(&w, delta0, epsilon)));
}

/* The given values of a search over epsilon or over epsilon0. */
typedef struct target {
  const window *window;
  double epsilon, delta, delta0, n; /* epsilon: epsilon0 if epsilon is searched for */
  double share;                     /* of true codes; 0: any randomizer */
} target;

static bool epsilon_holds(double epsilon, const void *context) {
  const target *t = context;
  return !(total_delta(t->window, t->delta0, epsilon) > t->delta);
}

static bool epsilon_near(double low, double high) { return !(high - low > 1e-7 * high + 1e-15); }

double faro_shuffle_epsilon(double epsilon0, double delta0, double n, double delta) {
  const double local = local_epsilon(epsilon0, delta0, delta);
  if (!(local > 0 && local <= epsilon0) || 2 * n * delta0 >= delta) return local;
  window w;
  open_window(&w, epsilon0, 1 / expm1(epsilon0), n);
  const target t = {.window = &w, .delta = delta, .delta0 = delta0};
  if (total_delta(&w, delta0, 0) <= delta) return 0;
  const double high = best_epsilon(&w, delta0, local);
  if (!epsilon_holds(high, &t)) return local;
  return faro_bisect(&(faro_bisection){.holds = epsilon_holds, .context = &t, .near = epsilon_near}, high, 0);
}

static bool local_holds(double epsilon0, const void *context) {
  const target *t = context;
  const double delta = t->share > 0 ? faro_shuffle_response_delta(epsilon0, t->share, t->n, t->epsilon)
                                    : faro_shuffle_delta(epsilon0, t->delta0, t->n, t->epsilon);
  return delta <= t->delta;
}

static bool local_near(double low, double high) { return !(high - low > 1e-7 * low); }

static double find_local(const target *t) {
  double low = t->epsilon;
  double high = t->epsilon + 1;
  for (; high < 1000 && local_holds(high, t); high += high - t->epsilon) low = high;
  return faro_bisect(&(faro_bisection){.holds = local_holds, .context = t, .near = local_near}, low, high);
}

/* (1) is monotone in epsilon0. Returns 0 if delta0 > delta, where no epsilon0 is enough. */
double faro_shuffle_local_epsilon(double epsilon, double delta, double n, double delta0) {
  if (delta0 > delta) return 0;
  return find_local(&(target){.epsilon = epsilon, .delta = delta, .delta0 = delta0, .n = n});
}

double faro_shuffle_response_delta(double epsilon0, double share, double n, double epsilon) {
  const double among = 1 / (1 + share * expm1(epsilon0)); /* 1 - gamma */
  const double v = share * (exp(epsilon0) + 1) * among;
  if (!(epsilon < epsilon0)) return 0;
  const double local = v * level_at(epsilon0, epsilon).spread * ROUND;
  const double clones = 2 * share * among;
  if (!(clones < 1)) return fmin(1, local);
  window w;
  open_window(&w, epsilon0, clones / (1 - clones), n);
  return fmin(local, v * pair_delta(&w, epsilon));
}

static bool response_holds(double epsilon, const void *context) {
  const target *t = context;
  return !(faro_shuffle_response_delta(t->epsilon, t->share, t->n, epsilon) > t->delta);
}

double faro_shuffle_response_epsilon(double epsilon0, double share, double n, double delta) {
  const target t = {.epsilon = epsilon0, .share = share, .n = n, .delta = delta};
  if (response_holds(0, &t)) return 0;
  return faro_bisect(&(faro_bisection){.holds = response_holds, .context = &t, .near = epsilon_near},
                     epsilon0, 0);
}

/* What epsilon0 allows, less allows too: some codes drawn again among all, after shuffling. */
double faro_shuffle_response_local_epsilon(double epsilon, double delta, double n, double share) {
  return find_local(&(target){.epsilon = epsilon, .delta = delta, .n = n, .share = share});
}
