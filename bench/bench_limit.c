/* bench_limit: what this processor can do at most, and how near scoring comes. Prints JSON.
 *
 *   fma     products per nanosecond (fused multiply-adds of doubles, one thread) by vector width
 *   read    bytes per nanosecond that loads bring, by the size of what is read again and again
 *   score   faro_score at the sizes of `make bench`: products per nanosecond. A call has
 *           K (d (d + 1) / 2 + 2 d): W x for every arm, its square, and the mean */
#include <faro/linalg.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "linalg/dense.h"
#include "timing.h"

/* Nanoseconds of one call. */
static double race(void (*work)(void *, size_t), void *context) {
  double best = 0;
  bench_race(1, &(bench_rival){work, context}, &best);
  return best;
}

#ifdef __x86_64__
enum { CHAINS = 16, UNROLL = 1024, SIZES = 5 };
static const size_t read_bytes[SIZES] = {16 << 10, 160 << 10, 800 << 10, 8 << 20, 256 << 20};

/* Enough independent chains that the latency of one does not matter. The result is stored, so that
 * the compiler keeps the work. */
#define PEAK(name, isa, vector, set, fma, store, lanes)                                                      \
  __attribute__((target(isa))) static void name(void *context, size_t times) {                               \
    vector sum[CHAINS];                                                                                      \
    for (int c = 0; c < CHAINS; c++) sum[c] = set((double)c);                                                \
    const vector factor = set(0.999);                                                                        \
    for (size_t i = 0; i < times * UNROLL; i++) {                                                            \
      _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; c++) sum[c] = fma(sum[c], factor, factor);        \
    }                                                                                                        \
    for (int c = 0; c < CHAINS; c++) store((double *)context + (size_t)c * (lanes), sum[c]);                 \
  }
PEAK(peak_avx2, "avx2,fma", __m256d, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd, 4)
PEAK(peak_avx512, "avx512f", __m512d, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd, 8)

typedef struct block {
  const double *data;
  size_t count; /* doubles, a multiple of 32 */
  double sink;
} block;

/* Sums everything; additions are fewer than loads can bring. */
__attribute__((target("avx2"))) static void read_avx2(void *context, size_t times) {
  block *b = context;
  __m256i sum[4] = {0};
  for (size_t t = 0; t < times; t++)
    for (size_t i = 0; i < b->count; i += 16)
      for (size_t c = 0; c < 4; c++)
        sum[c] = _mm256_or_si256(sum[c], _mm256_load_si256((const __m256i *)(b->data + i + 4 * c)));
  for (size_t c = 0; c < 4; c++) b->sink += (double)_mm256_extract_epi64(sum[c], 0);
}

__attribute__((target("avx512f"))) static void read_avx512(void *context, size_t times) {
  block *b = context;
  __m512i sum[4] = {0};
  for (size_t t = 0; t < times; t++)
    for (size_t i = 0; i < b->count; i += 32)
      for (size_t c = 0; c < 4; c++)
        sum[c] = _mm512_or_si512(sum[c], _mm512_load_si512((const void *)(b->data + i + 8 * c)));
  for (size_t c = 0; c < 4; c++) b->sink += (double)_mm512_reduce_or_epi64(sum[c]);
}

static bool wide(void) { return __builtin_cpu_supports("avx512f"); }

static void print_peaks(void) {
  double out[CHAINS * 8];
  printf("\"fma\": {");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) printf("\"AVX2\": %.4g", 4 * CHAINS * UNROLL / race(peak_avx2, out));
  if (wide()) printf(", \"AVX-512\": %.4g", 8 * CHAINS * UNROLL / race(peak_avx512, out));
  printf("},\n");
}

static void print_reads(void) {
  printf("\"read\": {");
  for (size_t s = 0; s < SIZES; s++) {
    double *data = bench_alloc(read_bytes[s] / sizeof *data, sizeof *data);
    block b = {.data = data, .count = read_bytes[s] / sizeof *data};
    const double best = race(wide() ? read_avx512 : read_avx2, &b);
    printf("%s\"%zu\": %.4g", s ? ", " : "", read_bytes[s], (double)read_bytes[s] / best);
    free(data);
  }
  printf("},\n");
}

#else
/* What a compiler makes of plain loops is no limit. */
static void print_peaks(void) { printf("\"fma\": {},\n"); }
static void print_reads(void) { printf("\"read\": {},\n"); }
#endif

typedef struct scores {
  faro_arms arms;
  double *x, *theta, *w, *score, *scratch;
  size_t best;
} scores;

static void score(void *context, size_t times) {
  scores *s = context;
  for (size_t i = 0; i < times; i++) s->best += faro_score(&s->arms, s->theta, s->w, 1, s->score, s->scratch);
}

/* Numbers in [-1, 1) that the compiler cannot predict. */
static double draw(void) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int64_t)state * 0x1p-63;
}

static double *draw_all(size_t count) {
  double *x = bench_alloc(count, sizeof *x);
  for (size_t i = 0; i < count; i++) x[i] = draw();
  return x;
}

static double score_rate(size_t d, size_t count) {
  const size_t stride = faro_arm_stride(count);
  scores s = {.x = draw_all(d * stride), .theta = draw_all(d), .w = draw_all(faro_packed(d))};
  s.arms = (faro_arms){.dimension = d, .count = count, .stride = stride, .x = s.x, .version = 1};
  s.score = bench_alloc(stride, sizeof *s.score);
  s.scratch = bench_alloc(faro_score_scratch(d, stride), sizeof *s.scratch);
  const double ns = race(score, &s);
  double *const owned[] = {s.x, s.theta, s.w, s.score, s.scratch};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  return (double)count * (double)(faro_packed(d) + 2 * d) / ns;
}

int main(void) {
  (void)faro_dense_threads(1);
  printf("{");
  print_peaks();
  print_reads();
  printf("\"score\": {\"5x100\": %.4g, \"20x1000\": %.4g, \"100x1000\": %.4g}}\n", score_rate(5, 100),
         score_rate(20, 1000), score_rate(100, 1000));
  return 0;
}
