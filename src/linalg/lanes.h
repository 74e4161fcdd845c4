/* lanes: how many doubles a vector of this processor has. A kernel is compiled for each width from
 * one body, and chooses when it is called:
 *
 *     static inline FARO_BODY void body(size_t n, double *x) { ... }
 *     static void portable(size_t n, double *x) { body(n, x); }
 *     FARO_AVX2 static void avx2(size_t n, double *x) { body(n, x); }
 *     FARO_AVX512 static void avx512(size_t n, double *x) { body(n, x); }
 *
 * Every sum has an order of its own, whatever the vectors are, so AVX2 and AVX-512 give the same
 * bytes. Without fused multiplication and addition last digits differ (sim/machine.h). */
#ifndef FARO_LINALG_LANES_H
#define FARO_LINALG_LANES_H

#include <stddef.h>

/* PORTABLE: whatever the compiler makes of the body for any processor of this kind. */
typedef enum faro_lanes { FARO_LANES_PORTABLE, FARO_LANES_AVX2, FARO_LANES_AVX512 } faro_lanes;

#define FARO_BODY __attribute__((always_inline))
/* A loop over registers: for (size_t k = from; k < to; k++), unrolled. Where the compiler may not
 * know its length, clang is left to find out by itself. */
#ifdef __clang__
#define FARO_UNROLLED(k, from, to) _Pragma("clang loop unroll(full)") for (size_t k = from; k < (to); k++)
#define FARO_UNROLLED_IF_KNOWN(k, from, to) for (size_t k = from; k < (to); k++)
#else
#define FARO_UNROLLED(k, from, to) _Pragma("GCC unroll 8") for (size_t k = from; k < (to); k++)
#define FARO_UNROLLED_IF_KNOWN FARO_UNROLLED
#endif

#ifdef __x86_64__
#define FARO_AVX __attribute__((target("avx"))) /* vectors of four, without fused operations */
#define FARO_AVX2 __attribute__((target("avx2,fma")))
#define FARO_AVX512 __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq")))
static inline faro_lanes faro_lanes_here(void) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return FARO_LANES_PORTABLE;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq")
             ? FARO_LANES_AVX512
             : FARO_LANES_AVX2;
}
#else
#define FARO_AVX
#define FARO_AVX2
#define FARO_AVX512
static inline faro_lanes faro_lanes_here(void) { return FARO_LANES_PORTABLE; }
#endif

/* x'y in eight partial sums, on every machine. */
static inline FARO_BODY double faro_dot_in_parts(size_t n, const double *restrict x,
                                                 const double *restrict y) {
  enum { PARTS = 8 };
  double part[PARTS] = {0};
  size_t i = 0;
  for (; i + PARTS <= n; i += PARTS)
    for (size_t k = 0; k < PARTS; k++) part[k] += x[i + k] * y[i + k];
  for (size_t k = 0; i + k < n; k++) part[k] += x[i + k] * y[i + k];
  for (size_t half = PARTS / 2; half > 0; half /= 2)
    for (size_t k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
}

#endif
