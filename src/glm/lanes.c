/* lanes: see the header.
 *
 *   exp(x) = 2^k e^r,  r = x - k ln 2,  |r| <= ln(2)/2:  e^r = 1 + r + r^2 q(r)
 *   log(x) = k ln 2 + log(1 + f),  1 + f between sqrt(1/2) and sqrt(2)
 *            log(1 + f) = 2 atanh s,  s = f / (2 + f),  u = s^2
 *                       = 2 s + s u g(u) = f - f^2/2 + s (f^2/2 + u g(u))
 *   Phi(-t) = phi(t) M(t),  t >= 0:  Mills' ratio (1 + t) M(t) is a polynomial in (t - 5) / (t + 5)
 *             (after Shepherd & Laframboise 1981)
 *
 * The polynomials interpolate at Chebyshev's points. What they leave is below 1e-16.
 *
 * The file is compiled without contraction to fused multiply-adds (CMakeLists.txt). The loops have
 * no branches, so the compiler makes vectors of them, once for every width. */
#include "glm/lanes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "glm/link.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE double of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* c[0] + c[1] x + ... */
INLINE double polynomial(size_t count, const double *c, double x) {
  double sum = c[count - 1];
  for (size_t i = count - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}
#define POLYNOMIAL(c, x) polynomial(sizeof(c) / sizeof *(c), c, x)

/* Adding it leaves the nearest whole number in the low bits. */
#define SHIFT 0x1.8p52

/* 2^k for the whole number k = shifted - SHIFT, -1022 <= k <= 1023. */
INLINE double power(double shifted) { return of_bits((bits_of(shifted) + 1023) << 52); }

INLINE double exp_of(double x) {
  static const double q[] = {0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,
                             0x1.11111111100dcp-7,  0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13,
                             0x1.a01a01a6d889cp-16, 0x1.71de0231960ebp-19, 0x1.27e4db646b17ep-22,
                             0x1.af4de97ca4194p-26, 0x1.1f730349868cep-29};
  x = x < -746 ? -746 : x; /* the result is 0 */
  x = x > 711 ? 711 : x;   /* infinite */
  const double k = (x * 0x1.71547652b82fep0 + SHIFT) - SHIFT;
  const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33; /* ln 2, its first bits exact */
  const double half = k * 0.5 + SHIFT; /* two factors, because 2^k may be too small or too large */
  return (1 + (r + r * r * POLYNOMIAL(q, r))) * power(half) * power((k - (half - SHIFT)) + SHIFT);
}

INLINE double log_of(double x) {
  static const double g[] = {0x1.5555555555555p-1, 0x1.9999999999998p-2, 0x1.249249249295dp-2,
                             0x1.c71c71c64bff9p-3, 0x1.745d17d3a387ap-3, 0x1.3b137b1bd652bp-3,
                             0x1.111d2b673d7e2p-3, 0x1.debe214e33b96p-4, 0x1.e6b660fec7379p-4};
  static const uint64_t root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
  static const uint64_t one = 0x3ff0000000000000;
  const uint64_t bits = bits_of(x) + (one - root);
  const double k = of_bits((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
  const double f = of_bits((bits & 0x000fffffffffffff) + root) - 1;
  const double s = f / (2 + f);
  const double u = s * s;
  const double half = 0.5 * f * f;
  const double low = s * (half + u * POLYNOMIAL(g, u)) + k * 0x1.a39ef35793c76p-33;
  return k * 0x1.62e42feep-1 - ((half - low) - f);
}

INLINE double log1p_of(double x) {
  static const double g[] = {0x1.5555555555555p-1, 0x1.999999999999cp-2, 0x1.2492492491fe8p-2,
                             0x1.c71c71c77e0f7p-3, 0x1.745d1724e5b21p-3, 0x1.3b13b7c41e111p-3,
                             0x1.11103f2bddc9fp-3, 0x1.e2046677f3c39p-4, 0x1.ad46f379b316dp-4,
                             0x1.9739afdde0110p-4, 0x1.0371f75936f6fp-4, 0x1.37efaea22dc4bp-3};
  const double s = x / (2 + x);
  const double u = s * s;
  const double half = 0.5 * x * x;
  return x - (half - s * (half + u * POLYNOMIAL(g, u)));
}

/* phi(t), 0 <= t <= 39. The square of the first bits of t is exact; the rest is small. */
INLINE double density_of(double t) {
  static const double scale = 0x1.9884533d43651p-2; /* 1 / sqrt(2 pi) */
  const double first = of_bits(bits_of(t) & 0xfffffffff8000000);
  const double rest = (t - first) * (t + first) * 0.5;
  return scale * exp_of(-0.5 * first * first) * (1 - rest * (1 - rest * (0.5 - rest * 0x1.5555555555555p-3)));
}

/* Phi(-t), t >= 0; density: phi(t). */
INLINE double tail_of(double t, double density) {
  static const double even[] = {0x1.28273b50efa76p+0,   0x1.3e97eaf5f2f84p-4,   -0x1.0f103e712eebfp-4,
                                -0x1.37838b3a21d25p-5,  -0x1.1355f4906213ep-8,  0x1.df3ecb35eac4bp-12,
                                -0x1.a02c40ee417e8p-16, -0x1.7aae683b85838p-23, 0x1.582fccf6cfcc5p-22,
                                -0x1.1b03254ee3156p-24, 0x1.3879975f31eb4p-27,  -0x1.85105e5f8702dp-31};
  static const double odd[] = {-0x1.d5fd8ffd0f1a1p-3,  0x1.9ac85788f4051p-6,   0x1.f7d96e0d9979ap-5,
                               0x1.0bd973aaee055p-6,   0x1.47aba4bb43763p-16,  -0x1.19cdbcf0574d4p-13,
                               0x1.7d030eb79fc59p-16,  -0x1.b7fa473131193p-19, 0x1.089e347f5074fp-21,
                               -0x1.4fe95878cba8ap-24, 0x1.83a2674aa4819p-27,  -0x1.12d2d3ff399d1p-30};
  const double y = (t - 5) / (t + 5);
  return density * (POLYNOMIAL(even, y * y) + y * POLYNOMIAL(odd, y * y)) / (1 + t);
}

INLINE double positive(double slope) { return slope < DBL_MIN ? DBL_MIN : slope; }
INLINE double magnitude(double z) { return of_bits(bits_of(z) & 0x7fffffffffffffff); }

/* `below` if the sign of z is minus, else `above`; without a branch. */
INLINE double by_sign(double z, double below, double above) {
  const uint64_t minus = 0 - (bits_of(z) >> 63);
  return of_bits((bits_of(below) & minus) | (bits_of(above) & ~minus));
}

/* Loops; each becomes a function per width below. */

INLINE void each_exp(size_t count, const double *x, double *out) {
  for (size_t i = 0; i < count; i++) out[i] = exp_of(x[i]);
}

INLINE void each_log(size_t count, const double *x, double *out) {
  for (size_t i = 0; i < count; i++) out[i] = log_of(x[i]);
}

INLINE void each_log1p(size_t count, const double *x, double *out) {
  for (size_t i = 0; i < count; i++) out[i] = log1p_of(x[i]);
}

/* decay: e^-|z| */
INLINE void each_logistic(size_t count, const double *z, double *decay, double *mean, double *slope) {
  for (size_t i = 0; i < count; i++) {
    const double e = exp_of(-magnitude(z[i]));
    const double near = 1 / (1 + e); /* the mean at |z| */
    decay[i] = e;
    mean[i] = by_sign(z[i], e * near, near);
    slope[i] = positive(e * near * near);
  }
}

INLINE void each_probit(size_t count, const double *z, double *mean, double *slope) {
  for (size_t i = 0; i < count; i++) {
    const double far = magnitude(z[i]);
    const double t = far > 39 ? 39 : far;
    const double density = density_of(t);
    const double tail = tail_of(t, density);
    mean[i] = by_sign(z[i], tail, 1 - tail);
    slope[i] = positive(density);
  }
}

/* Products with columns, each sum in their order. */
INLINE void each_product(size_t d, size_t count, const double *x, size_t stride, const double *theta,
                         double *z) {
  for (size_t i = 0; i < count; i++) z[i] = theta[0] * x[i];
  for (size_t j = 1; j < d; j++)
    for (size_t i = 0; i < count; i++) z[i] += theta[j] * x[j * stride + i];
}

INLINE void each_scaled(size_t d, size_t count, const double *x, size_t stride, const double *factor,
                        double *to) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < count; i++) to[j * stride + i] = x[j * stride + i] * factor[i];
}

/* Widths. */

static unsigned widest = 8;

void faro_lanes_limit(unsigned lanes) { widest = lanes; }

#define VERSION(name)                                                                                        \
  TARGET_##name static void exp_##name(size_t count, const double *x, double *out) {                         \
    each_exp(count, x, out);                                                                                 \
  }                                                                                                          \
  TARGET_##name static void log_##name(size_t count, const double *x, double *out) {                         \
    each_log(count, x, out);                                                                                 \
  }                                                                                                          \
  TARGET_##name static void log1p_##name(size_t count, const double *x, double *out) {                       \
    each_log1p(count, x, out);                                                                               \
  }                                                                                                          \
  TARGET_##name static void logistic_##name(size_t count, const double *z, double *restrict decay,           \
                                            double *restrict mean, double *restrict slope) {                 \
    each_logistic(count, z, decay, mean, slope);                                                             \
  }                                                                                                          \
  TARGET_##name static void probit_##name(size_t count, const double *z, double *restrict mean,              \
                                          double *restrict slope) {                                          \
    each_probit(count, z, mean, slope);                                                                      \
  }                                                                                                          \
  TARGET_##name static void product_##name(size_t d, size_t count, const double *restrict x, size_t stride,  \
                                           const double *theta, double *restrict z) {                        \
    each_product(d, count, x, stride, theta, z);                                                             \
  }                                                                                                          \
  TARGET_##name static void scaled_##name(size_t d, size_t count, const double *restrict x, size_t stride,   \
                                          const double *factor, double *restrict to) {                       \
    each_scaled(d, count, x, stride, factor, to);                                                            \
  }

#define TARGET_plain
VERSION(plain)
#ifdef __x86_64__
#ifdef __clang__
#define WHOLE "" /* clang does not know the name */
#else
#define WHOLE ",prefer-vector-width=512"
#endif
#define TARGET_avx2 __attribute__((target("avx2")))
#define TARGET_avx512 __attribute__((target("avx512f,avx512dq" WHOLE)))
VERSION(avx2)
VERSION(avx512)
static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
#define CHOOSE(name, ...)                                                                                    \
  do {                                                                                                       \
    if (widest >= 8 && has_avx512()) name##_avx512(__VA_ARGS__);                                             \
    else if (widest >= 4 && __builtin_cpu_supports("avx2")) name##_avx2(__VA_ARGS__);                        \
    else name##_plain(__VA_ARGS__);                                                                          \
  } while (0)
#else
#define CHOOSE(name, ...) name##_plain(__VA_ARGS__)
#endif

void faro_lanes_exp(size_t count, const double *x, double *out) { CHOOSE(exp, count, x, out); }
void faro_lanes_log(size_t count, const double *x, double *out) { CHOOSE(log, count, x, out); }
void faro_lanes_log1p(size_t count, const double *x, double *out) { CHOOSE(log1p, count, x, out); }

void faro_lanes_products(size_t d, size_t count, const double *x, size_t stride, const double *theta,
                         double *z) {
  CHOOSE(product, d, count, x, stride, theta, z);
}

void faro_lanes_scaled(size_t d, size_t count, const double *x, size_t stride, const double *factor,
                       double *to) {
  CHOOSE(scaled, d, count, x, stride, factor, to);
}

enum { MANY = 128 };

static void logistic(size_t count, const double *z, double *potential, double *mean, double *slope) {
  double decay[MANY];
  CHOOSE(logistic, count, z, decay, mean, slope);
  if (!potential) return;
  CHOOSE(log1p, count, decay, potential);
  for (size_t i = 0; i < count; i++) potential[i] += z[i] > 0 ? z[i] : 0;
}

/* From -4 on nothing cancels in the potential. */
static void probit(size_t count, const double *z, double *potential, double *mean, double *slope) {
  CHOOSE(probit, count, z, mean, slope);
  for (size_t i = 0; potential && i < count; i++)
    potential[i] = z[i] < -4 ? faro_link_potential(FARO_LINK_PROBIT, z[i]) : z[i] * mean[i] + slope[i];
}

static void poisson(size_t count, const double *z, double *potential, double *mean, double *slope) {
  CHOOSE(exp, count, z, mean);
  for (size_t i = 0; i < count; i++) {
    slope[i] = positive(mean[i]);
    if (potential) potential[i] = mean[i];
  }
}

void faro_lanes_link(faro_link link, size_t count, const double *z, double *potential, double *mean,
                     double *slope) {
  double means[MANY], slopes[MANY];
  for (size_t from = 0; from < count; from += MANY) {
    const size_t n = count - from < MANY ? count - from : MANY;
    double *const b = potential ? potential + from : NULL;
    double *const m = mean ? mean + from : means;
    double *const s = slope ? slope + from : slopes;
    switch (link) {
    case FARO_LINK_LOGISTIC: logistic(n, z + from, b, m, s); break;
    case FARO_LINK_PROBIT: probit(n, z + from, b, m, s); break;
    case FARO_LINK_POISSON: poisson(n, z + from, b, m, s); break;
    default: faro_link_map(link, n, z + from, b, m, s);
    }
  }
}
