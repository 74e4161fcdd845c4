/* fast: floating-point draws for simulated worlds and simulated noise.
 *
 * Normal: the ziggurat of Marsaglia and Tsang (2000) with 256 layers of equal area, on 53-bit
 * uniforms. Binomial: inversion when n p < 10, else Hormann's transformed rejection (1993, BTRS).
 * Its acceptance test uses Loader's form of the probabilities (2000), so that n may be as large as
 * 2^60 without the cancellation of log-factorials, where bounds on it do not decide. Gamma:
 * Marsaglia and Tsang's rejection (2000) from the cube of a normal, for any shape of at least 1. */
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "random/samplers.h"
#include "random/stream_inner.h"

static const double TWO_PI = 6.283185307179586476925286766559;

/* Signed, as below, because that is one instruction. */
static inline double uniform(faro_rng *rng) { return (double)(int64_t)(faro_rng_next(rng) >> 11) * 0x1p-53; }

double faro_draw_uniform(faro_rng *rng) { return uniform(rng); }
double faro_sim_uniform(faro_sim_rng *sim) { return uniform(&sim->rng); }

/* Uniform on (0, 1]: safe under log. */
static inline double positive(faro_rng *rng) {
  return (double)(int64_t)((faro_rng_next(rng) >> 11) + 1) * 0x1p-53;
}
static double uniform_positive(faro_sim_rng *sim) { return positive(&sim->rng); }

bool faro_sim_bernoulli(faro_sim_rng *sim, double p) { return faro_sim_uniform(sim) < p; }

/* k 2^-53 < p if and only if k < ceil(p 2^53), and both products are exact. */
uint64_t faro_sim_count(faro_sim_rng *sim, uint64_t n, double p) {
  const uint64_t bound = p > 0 ? (uint64_t)ceil(fmin(p, 1) * 0x1p53) : 0;
  faro_rng *rng = &sim->rng;
  uint64_t count = 0;
  while (n > 0) {
    if (rng->left == 0) faro_rng_refill(rng);
    const uint32_t ready = n < rng->left ? (uint32_t)n : rng->left;
    rng->left -= ready;
    n -= ready;
    for (uint32_t i = 0; i < ready; i++) count += rng->word[rng->left + i] >> 11 < bound;
  }
  return count;
}

/* Ziggurat. Layer i spans |x| < edge[i]; layer 0 is the base strip with the tail beyond `TAIL`. The
 * candidate for a signed 53-bit j is wide[i] * j, accepted at once if |j| < inside[i]. */
enum { LAYERS = 256 };
static const double TAIL = 3.6541528853610088; /* r: where the tail begins, for 256 layers */
static const double AREA = 0.00492867323399;   /* area of each layer */
static double wide[LAYERS], height[LAYERS];
static int64_t inside[LAYERS];

__attribute__((constructor)) static void make_ziggurat(void) {
  const double scale = 0x1p52;
  double edge = TAIL;
  double below = exp(-0.5 * TAIL * TAIL);
  const double base = AREA / below; /* width of a box with the base strip's area */
  wide[0] = base / scale;
  inside[0] = (int64_t)(TAIL / base * scale);
  height[0] = 1;
  for (int i = LAYERS - 1; i > 0; i--) {
    const double above = i > 1 ? below + AREA / edge : 1;
    const double next = i > 1 ? sqrt(-2 * log(above)) : 0;
    wide[i] = edge / scale;
    inside[i] = (int64_t)(next / edge * scale);
    height[i] = below;
    edge = next;
    below = above;
  }
}

/* Marsaglia's tail beyond `TAIL`. */
static double normal_tail(faro_rng *rng) {
  double x = 0;
  double y = 0;
  do {
    x = -log(positive(rng)) / TAIL;
    y = -log(positive(rng));
  } while (y + y < x * x);
  return TAIL + x;
}

static inline double normal(faro_rng *rng) {
  for (;;) {
    const uint64_t word = faro_rng_next(rng);
    const size_t i = word & (LAYERS - 1);
    const int64_t j = (int64_t)word >> 11;
    const double x = (double)j * wide[i];
    if (j < inside[i] && -j < inside[i]) return x;
    if (i == 0) return j < 0 ? -normal_tail(rng) : normal_tail(rng);
    /* a uniform height between the density at the layer's outer edge and at its inner edge */
    const double y = height[i] + uniform(rng) * (height[i - 1] - height[i]);
    if (y < exp(-0.5 * x * x)) return x;
  }
}

double faro_draw_normal(faro_rng *rng) { return normal(rng); }
double faro_sim_normal(faro_sim_rng *sim) { return normal(&sim->rng); }

void faro_plain_normals(faro_sim_rng *sim, double *to, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = normal(&sim->rng);
}

void faro_plain_rows(faro_sim_rng *sim, double *to, size_t rows, size_t n) {
  for (size_t i = 0; i < rows; i++) {
    *to = uniform(&sim->rng);
    faro_sim_normals(sim, to + 1, n);
    to += n + 1;
  }
}

#ifdef __x86_64__

enum { LANES = 8 };

/* Without optimization gathers are macros, in which gcc converts masks: -Wsign-conversion. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
/* Candidates from the next `ready` words, at most eight, in the order in which they would be drawn;
 * the words of `uniforms` give uniforms. Returns which are refused. */
__attribute__((target("avx512f,avx512dq,avx512vl"), always_inline)) static inline unsigned
try_words(const uint64_t *end, unsigned ready, unsigned uniforms, double *to) {
  const __mmask8 there = (__mmask8)((1U << ready) - 1);
  const __mmask8 plain = (__mmask8)uniforms;
  const __m512i last = _mm512_set1_epi64((int64_t)ready - 1);
  const __m512i turned = _mm512_sub_epi64(last, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
  const __m512i word = _mm512_permutexvar_epi64(turned, _mm512_maskz_loadu_epi64(there, end - ready));
  const __m512i i = _mm512_and_si512(word, _mm512_set1_epi64(LAYERS - 1));
  const __m512i j = _mm512_srai_epi64(word, 11);
  const __m512i limit = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), there, i, inside, 8);
  const __m512d width = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), there, i, wide, 8);
  const __m512d x = _mm512_mul_pd(_mm512_cvtepi64_pd(j), width);
  const __m512d u = _mm512_mul_pd(_mm512_cvtepu64_pd(_mm512_srli_epi64(word, 11)), _mm512_set1_pd(0x1p-53));
  _mm512_mask_storeu_pd(to, there, _mm512_mask_blend_pd(plain, x, u));
  return _mm512_mask_cmpge_epi64_mask(there & ~plain, _mm512_abs_epi64(j), limit);
}
#pragma GCC diagnostic pop

/* Nearly all candidates are accepted, eight at a time. The first that is not is drawn alone, from
 * its word on. A branch, and no arithmetic, says that all were accepted: so the next eight need not
 * wait for the answer. Draws come in rows of `period`; bit i of `pattern`, which repeats to its
 * end: the i-th draw of a row is uniform. */
__attribute__((target("avx512f,avx512dq,avx512vl"), always_inline)) static inline void
wide_draws(faro_sim_rng *sim, double *to, size_t n, uint64_t pattern, size_t period) {
  faro_rng *rng = &sim->rng;
  size_t at = 0; /* in the row */
  for (const double *end = to + n; to < end;) {
    if (rng->left == 0) faro_rng_refill(rng);
    unsigned count = rng->left < LANES ? rng->left : LANES;
    if ((size_t)(end - to) < count) count = (unsigned)(end - to);
    const unsigned refused = try_words(rng->word + rng->left, count, (unsigned)(pattern >> at) & 0xff, to);
    if (__builtin_expect(refused == 0, 1)) {
      rng->left -= count;
    } else {
      count = (unsigned)__builtin_ctz(refused);
      rng->left -= count;
      to[count++] = normal(rng);
    }
    to += count;
    if (pattern)
      for (at += count; at >= period;) at -= period;
  }
}

__attribute__((target("avx512f,avx512dq,avx512vl"))) static void wide_normals(faro_sim_rng *sim, double *to,
                                                                              size_t n) {
  wide_draws(sim, to, n, 0, 1);
}

__attribute__((target("avx512f,avx512dq,avx512vl"))) static void wide_rows(faro_sim_rng *sim, double *to,
                                                                           size_t rows, size_t n) {
  uint64_t pattern = 0;
  for (size_t i = 0; i < 64; i += n + 1) pattern |= UINT64_C(1) << i;
  wide_draws(sim, to, rows * (n + 1), pattern, n + 1);
}

static bool has_lanes(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#else

static void wide_normals(faro_sim_rng *sim, double *to, size_t n) { faro_plain_normals(sim, to, n); }

static void wide_rows(faro_sim_rng *sim, double *to, size_t rows, size_t n) {
  faro_plain_rows(sim, to, rows, n);
}

static bool has_lanes(void) { return false; }

#endif

/* Lanes that are mostly empty cost more than single draws: measured. */
enum { SHORT = 5 };

void faro_sim_normals(faro_sim_rng *sim, double *to, size_t n) {
  if (n >= SHORT && has_lanes()) wide_normals(sim, to, n);
  else faro_plain_normals(sim, to, n);
}

/* The pattern of a row must be known for eight draws from any place on. */
void faro_sim_rows(faro_sim_rng *sim, double *to, size_t rows, size_t n) {
  if (n < 56 && has_lanes()) wide_rows(sim, to, rows, n);
  else faro_plain_rows(sim, to, rows, n);
}

/* Draw i of every stream as it is if none before it was refused. A stream with a refusal, and few
 * have one, is drawn alone. */
void faro_sim_abreast(uint64_t seed, uint64_t instance, faro_role role, size_t n, double *to) {
  uint64_t word[FARO_ABREAST * FARO_ABREAST];
  unsigned refused[FARO_ABREAST] = {0};
  for (size_t i = 0; i < n; i++) {
    if (i % FARO_ABREAST == 0) faro_philox_abreast(seed, instance, role, i / FARO_ABREAST, word);
    const uint64_t *draw = word + i % FARO_ABREAST * FARO_ABREAST;
    for (size_t k = 0; k < FARO_ABREAST; k++) {
      const size_t layer = draw[k] & (LAYERS - 1);
      const int64_t j = (int64_t)draw[k] >> 11;
      to[FARO_ABREAST * i + k] = (double)j * wide[layer];
      refused[k] |= (j >= inside[layer]) | (-j >= inside[layer]);
    }
  }
  for (size_t k = 0; k < FARO_ABREAST; k++) {
    if (!refused[k]) continue;
    faro_sim_rng sim;
    faro_sim_open(&sim, seed, instance + k, role);
    for (size_t i = 0; i < n; i++) to[FARO_ABREAST * i + k] = normal(&sim.rng);
  }
}

void faro_sim_add_normals(faro_sim_rng *sim, double factor, const double *sd, double *to, size_t n) {
  enum { PIECE = 64 };
  double drawn[PIECE];
  for (size_t from = 0; from < n; from += PIECE) {
    const size_t count = n - from < PIECE ? n - from : PIECE;
    faro_sim_normals(sim, drawn, count);
    for (size_t i = 0; i < count; i++) to[from + i] += factor * sd[from + i] * drawn[i];
  }
}

/* log k! - [log sqrt(2 pi k) + k log k - k], the error of Stirling's formula; k >= 1. */
static double stirling_error(double k) {
  if (k < 16) { /* lgamma would do, but it writes a global variable */
    double log_factorial = 0;
    for (int i = 2; i <= (int)k; i++) log_factorial += log(i);
    return log_factorial - (0.5 * log(TWO_PI * k) + k * log(k) - k);
  }
  const double k2 = k * k;
  return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / k2) / k2) / k2) / k2) / k;
}

/* x log(x/m) + m - x without cancellation when x is near m. */
static double deviance(double x, double m) {
  if (fabs(x - m) >= 0.1 * (x + m)) return x * log(x / m) + m - x;
  const double v = (x - m) / (x + m);
  double sum = (x - m) * v;
  double term = 2 * x * v;
  for (int j = 1; j < 1000; j++) {
    term *= v * v;
    const double next = sum + term / (2 * j + 1);
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

double faro_binomial_log(double n, double p, double k) {
  if (k == 0) return n * log1p(-p);
  if (k == n) return n * log(p);
  return stirling_error(n) - stirling_error(k) - stirling_error(n - k) - deviance(k, n * p) -
         deviance(n - k, n * (1 - p)) + 0.5 * log(n / (TWO_PI * k * (n - k)));
}

/* -stirling_error(x) - deviance(x, m) - log(x / m) / 2 from power series in t = (x - m) / m, |t| <=
 * 1/8:
 *
 *   deviance / m = t^2/2 - t^3/6 + t^4/12 - t^5/20 + ...   rest below t^6/30 / (1 - |t|) < t^6/26
 *   log(1 + t) / 2 = t/2 - t^2/4 + t^3/6 - ...             rest below t^4/8 / (1 - |t|) <= t^4/7
 *   Stirling's error = 1/(12 x) - ...                      rest below 1/(360 x^3)
 *
 * The rests are added to `error`, and room for the rounding here and in faro_binomial_log: x - m is
 * exact, all terms of a deviance but the first are small, and the logarithm there is below 100, so
 * either is wrong by less than 100 units of the last place of 1 + the deviance. 1e-12 is 4500. */
static inline double near_term(double x, double m, double *error) {
  const double t = (x - m) / m;
  const double t2 = t * t;
  const double over = 1 / x;
  const double away = m * t2 * (1.0 / 2 - t * (1.0 / 6 - t * (1.0 / 12 - t * (1.0 / 20))));
  const double root = t * (1.0 / 2 - t * (1.0 / 4 - t * (1.0 / 6)));
  *error += t2 * t2 * (m * t2 * (1.0 / 26) + 1.0 / 7) + over * over * over * (1.0 / 360) + 1e-12 * (1 + away);
  return -(over * (1.0 / 12) + away + root);
}

/* What is left out does not depend on k, so that it is the same for the mode. */
bool faro_binomial_near(const faro_binomial *plan, double k, double *ratio, double *error) {
  if (!(fabs(k - plan->mean[0]) <= plan->reach)) return false;
  double wrong = plan->doubt;
  *ratio = near_term(k, plan->mean[0], &wrong) - plan->mode_near;
  *ratio += near_term((double)plan->n - k, plan->mean[1], &wrong);
  *error = wrong;
  return true;
}

void faro_binomial_plan(faro_binomial *plan, uint64_t n, double p) {
  FARO_INVARIANT(p >= 0 && p <= 1);
  *plan = (faro_binomial){.n = n, .mirror = p > 0.5, .p = p > 0.5 ? 1 - p : p};
  const double np = (double)n * plan->p;
  if (np < 10) {
    plan->first = exp((double)n * log1p(-plan->p));
    plan->odds = plan->p / (1 - plan->p);
    return;
  }
  const double sd = sqrt(np * (1 - plan->p));
  plan->b = 1.15 + 2.53 * sd;
  plan->a = -0.0873 + 0.0248 * plan->b + 0.01 * plan->p;
  plan->c = np + 0.5;
  plan->alpha = (2.83 + 5.1 / plan->b) * sd;
  plan->vr = 0.92 - 4.2 / plan->b;
  const double mode = floor(((double)n + 1) * plan->p);
  plan->mode_log = faro_binomial_log((double)n, plan->p, mode);
  plan->mean[0] = np;
  plan->mean[1] = (double)n * (1 - plan->p);
  plan->reach = np / 8; /* p <= 1/2: so no further for failures */
  plan->mode_near =
      near_term(mode, np, &plan->doubt) + near_term((double)n - mode, plan->mean[1], &plan->doubt);
}

static uint64_t binomial_inversion(const faro_binomial *plan, faro_sim_rng *sim) {
  for (;;) {
    double u = faro_sim_uniform(sim);
    double probability = plan->first;
    for (uint64_t k = 0; k <= plan->n && k < 200; k++) { /* P(k >= 200) < 1e-150 when n p < 10 */
      if (u < probability) return k;
      u -= probability;
      probability *= plan->odds * (double)(plan->n - k) / (double)(k + 1);
    }
  }
}

static uint64_t binomial_rejection(const faro_binomial *plan, faro_sim_rng *sim) {
  const double n = (double)plan->n;
  for (;;) {
    const double u = uniform(&sim->rng) - 0.5;
    const double v = positive(&sim->rng);
    const double us = 0.5 - fabs(u);
    const double y = (2 * plan->a / us + plan->b) * u + plan->c;
    if (us >= 0.07 && v <= plan->vr) return (uint64_t)(int64_t)y; /* here y is within 0 .. n */
    const double k = floor(y);
    if (!(k >= 0 && k <= n)) continue;
    const double sample = log(v * plan->alpha / (plan->a / (us * us) + plan->b));
    double ratio = 0;
    double error = 0;
    if (faro_binomial_near(plan, k, &ratio, &error)) {
      if (sample < ratio - error) return (uint64_t)k;
      if (sample > ratio + error) continue;
    }
    if (sample <= faro_binomial_log(n, plan->p, k) - plan->mode_log) return (uint64_t)k;
  }
}

uint64_t faro_sim_binomial(const faro_binomial *plan, faro_sim_rng *sim) {
  if (plan->n == 0 || plan->p == 0) return plan->mirror ? plan->n : 0;
  const uint64_t k = plan->first > 0 ? binomial_inversion(plan, sim) : binomial_rejection(plan, sim);
  return plan->mirror ? plan->n - k : k;
}

/* With d = n - 1/3 and c = 1 / sqrt(9 d), d (1 + c x)^3 is nearly gamma distributed when x is
 * normal. */
double faro_sim_gamma(faro_sim_rng *sim, double n) {
  if (n == 1) return -log(uniform_positive(sim));
  const double d = n - 1.0 / 3;
  const double c = 1 / sqrt(9 * d);
  for (;;) {
    const double x = faro_sim_normal(sim);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (log(uniform_positive(sim)) < 0.5 * x * x + d * (1 - v + log(v))) return d * v;
  }
}

/* A Laplace variable is the difference of two exponentials. */
double faro_sim_laplace_sum(faro_sim_rng *sim, double n) {
  const double up = faro_sim_gamma(sim, n);
  return up - faro_sim_gamma(sim, n);
}
