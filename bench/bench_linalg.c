/* bench_linalg: our small kernels against OpenBLAS and LAPACKE, over the dimension. The thresholds
 * in src/linalg/kernels.h should be where the latter become faster. Dimensions may be given as
 * arguments. */
#include <faro/linalg.h>

#include <cblas.h>
#include <math.h>

#include "linalg/kernels.h"
#include "timing.h"

static const size_t dimensions[] = {2, 5, 10, 20, 32, 48, 64, 100, 200, 500, 1000};
enum { DIMENSIONS = sizeof dimensions / sizeof *dimensions, MANY = 1000, FEW = 100 };

typedef struct bench {
  size_t d;
  double *a, *l, *w;   /* packed: a matrix like a learner's, its factor, the factor's inverse */
  double *full, *work; /* scratch */
  double *x, *theta;   /* a direction, a parameter */
  double *score, *scratch;
  faro_arms arms;
  faro_scoring task; /* of them */
  faro_spd *spd;
  size_t sink;
} bench;

/* Numbers in [-1, 1) that the compiler cannot predict. */
static double draw(void) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int64_t)state * 0x1p-63;
}

/* V as after a few hundred rounds: a multiple of the identity and 4 d outer products. */
static void fill_matrix(bench *b) {
  const size_t d = b->d;
  for (size_t i = 0; i < d; i++) b->a[faro_diagonal(i)] = 1;
  for (size_t n = 0; n < 4 * d; n++) {
    for (size_t i = 0; i < d; i++) b->x[i] = draw() / sqrt((double)d);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) b->a[faro_packed(i) + j] += b->x[i] * b->x[j];
  }
}

static void open_bench(bench *b, size_t d) {
  const size_t stride = faro_arm_stride(MANY);
  *b = (bench){.d = d};
  b->a = bench_alloc(faro_packed(d), sizeof(double));
  b->l = bench_alloc(faro_packed(d), sizeof(double));
  b->w = bench_alloc(faro_packed(d), sizeof(double));
  b->full = bench_alloc(faro_factor_scratch(d), sizeof(double));
  b->work = bench_alloc(3 * d + 1, sizeof(double));
  b->x = bench_alloc(d, sizeof(double));
  b->theta = bench_alloc(d, sizeof(double));
  b->score = bench_alloc(stride, sizeof(double));
  b->scratch = bench_alloc(faro_score_scratch(d, stride), sizeof(double));
  b->arms.x = bench_alloc(d * stride, sizeof(double));
  faro_error error = {0};
  if (faro_spd_create(&b->spd, d, &error) != FARO_OK) exit(1);
  fill_matrix(b);
  for (size_t i = 0; i < d; i++) b->theta[i] = draw();
  if (!faro_large_factor(d, b->a, b->l, b->full) || !faro_spd_factor(b->spd, b->a)) exit(1);
  if (!faro_large_whiten(d, b->a, b->w, b->full)) exit(1);
}

static void close_bench(bench *b) {
  double *const owned[] = {b->a, b->l,     b->w,     b->full,    b->work,
                           b->x, b->theta, b->score, b->scratch, b->arms.x};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  faro_spd_destroy(b->spd);
}

static void set_arms(bench *b, size_t count) {
  b->arms = (faro_arms){
      .dimension = b->d, .count = count, .stride = faro_arm_stride(count), .x = b->arms.x, .version = 1};
  for (size_t i = 0; i < b->d; i++)
    for (size_t a = 0; a < b->arms.stride; a++) b->arms.x[i * b->arms.stride + a] = a < count ? draw() : 0;
  b->task = (faro_scoring){
      .arms = &b->arms, .theta = b->theta, .w = b->w, .beta = 1, .score = b->score, .copy = b->scratch};
}

/* Each operation: the same call again and again, on data that stay in the cache, as a learner's
 * do. */
#define WORK(name, call)                                                                                     \
  static void name(void *context, size_t times) {                                                            \
    bench *b = context;                                                                                      \
    for (size_t i = 0; i < times; i++) call;                                                                 \
  }
WORK(plain_factor, b->sink += faro_plain_factor(b->d, b->a, b->l))
WORK(small_factor, b->sink += faro_factor_by(faro_lanes_here(), b->d, b->a, b->l, b->full))
WORK(large_factor, b->sink += faro_large_factor(b->d, b->a, b->l, b->full))
WORK(plain_whiten, b->sink += faro_plain_whiten(b->d, b->a, b->w, b->l, b->work))
WORK(small_whiten, b->sink += faro_whiten_by(faro_lanes_here(), b->d, b->a, b->w, b->full))
WORK(large_whiten, b->sink += faro_large_whiten(b->d, b->a, b->w, b->full))
WORK(plain_score, faro_plain_score(&b->task))
WORK(portable_score, faro_score_by(FARO_LANES_PORTABLE, &b->task))
WORK(avx2_score, faro_score_by(FARO_LANES_AVX2, &b->task))
WORK(avx512_score, faro_score_by(FARO_LANES_AVX512, &b->task))
WORK(whole_score, b->sink += faro_score(&b->arms, b->theta, b->w, 1, b->score, b->scratch))
WORK(update, faro_spd_update(b->spd, b->x))
WORK(grow, b->sink += faro_spd_grow(b->spd, 1, b->x, b->w, b->work) > 0)
WORK(refactor, b->sink += faro_spd_factor(b->spd, b->a))
WORK(whiten, b->sink += faro_spd_whiten(b->spd, b->a, b->w))

/* The plain loops, our kernel and the library's, on the same data. */
static void duel(bench *b, void (*plain)(void *, size_t), void (*small)(void *, size_t),
                 void (*large)(void *, size_t)) {
  double best[3];
  bench_race(3, (const bench_rival[]){{plain, b}, {small, b}, {large, b}}, best);
  const char *first = best[0] <= best[1] && best[0] <= best[2] ? "plain"
                      : best[1] <= best[2]                     ? "ours"
                                                               : "BLAS";
  printf(" | %11.0f %11.0f %11.0f %-5s", best[0], best[1], best[2], first);
}

static void compare(size_t d) {
  bench b;
  open_bench(&b, d);
  printf("%5zu", d);
  duel(&b, plain_factor, small_factor, large_factor);
  duel(&b, plain_whiten, small_whiten, large_whiten);
  printf("\n");
  fflush(stdout);
  close_bench(&b);
}

static void compare_all(const size_t *d, size_t count) {
  printf("Nanoseconds of one call: plain loops, our kernel, OpenBLAS/LAPACKE (one thread); the best of "
         "several.\n"
         "The code takes plain loops up to d = %d (FARO_PLAIN_FACTOR), our kernels up to %d "
         "(FARO_SMALL_FACTOR)\n\n"
         "%5s | %-41s | %-41s\n",
         FARO_PLAIN_FACTOR, FARO_SMALL_FACTOR, "d", "factor", "whiten");
  for (size_t i = 0; i < count; i++) compare(d[i]);
}

/* Chains of multiplications and additions in registers, as many as hide their latency. */
enum { CHAINS = 8 };
typedef double chain __attribute__((vector_size(64)));
FARO_AVX512 static void avx512_chains(void *context, size_t times) {
  chain sum[CHAINS] = {0};
  for (size_t i = 0; i < times; i++)
    FARO_UNROLLED (k, 0, CHAINS) sum[k] = sum[k] * 0.5 + 1;
  for (size_t k = 0; k < CHAINS; k++) ((bench *)context)->sink += (size_t)sum[k][0];
}

/* Products per ns that scoring could reach: 0 without AVX-512, where nobody asks. */
static double measure_peak(bench *b) {
  double best = 0;
  if (faro_lanes_here() < FARO_LANES_AVX512) return 0;
  bench_race(1, (const bench_rival[]){{avx512_chains, b}}, &best);
  return CHAINS * sizeof(chain) / sizeof(double) / best;
}

/* How the vector width and the search for the best arm affect scoring. */
static void compare_scoring(size_t d, size_t count) {
  bench b;
  double best[5] = {0};
  open_bench(&b, d);
  set_arms(&b, count);
  const bench_rival rival[] = {
      {whole_score, &b}, {plain_score, &b}, {portable_score, &b}, {avx2_score, &b}, {avx512_score, &b}};
  const size_t rivals = 3 + (size_t)faro_lanes_here();
  bench_race(rivals, rival, best);
  const double products = (double)count * (double)(faro_packed(d) + 2 * d);
  const double peak = measure_peak(&b);
  printf("%5zu %6zu %12.0f %12.0f %12.0f %12.0f %12.0f %12.2f %9.0f %%\n", d, count, best[1], best[2],
         best[3], best[4], best[0], products / best[0], peak > 0 ? 100 * products / best[0] / peak : 0);
  close_bench(&b);
}

/* A policy after every user: update the factor or its inverse, or make them again. */
static void compare_update(size_t d) {
  bench b;
  double best[4];
  open_bench(&b, d);
  bench_race(4, (const bench_rival[]){{update, &b}, {refactor, &b}, {grow, &b}, {whiten, &b}}, best);
  printf("%5zu %14.0f %14.0f %14.0f %14.0f\n", d, best[0], best[1], best[2], best[3]);
  close_bench(&b);
}

int main(int argc, char **argv) {
  size_t chosen[64];
  size_t count = 0;
  for (int i = 1; i < argc && count < 64; i++) {
    const size_t d = (size_t)strtoul(argv[i], NULL, 10);
    if (d >= 1 && d <= FARO_DIMENSION_MAX) chosen[count++] = d;
  }
  const size_t *d = count > 0 ? chosen : dimensions;
  if (count == 0) count = DIMENSIONS;
  openblas_set_num_threads(1);
  compare_all(d, count);
  printf(
      "\nScoring, ns of one call; faro_score also finds the best arm; the share is of the peak of AVX-512\n"
      "%5s %6s %12s %12s %12s %12s %12s %12s %11s\n",
      "d", "K", "plain loops", "portable", "AVX2", "AVX-512", "faro_score", "products/ns", "share");
  for (size_t i = 0; i < count && d[i] <= 100; i++) {
    compare_scoring(d[i], FEW);
    compare_scoring(d[i], MANY);
  }
  printf("\nAfter x x' was added, ns of one call\n%5s %14s %14s %14s %14s\n", "d", "update", "factor", "grow",
         "whiten");
  for (size_t i = 0; i < count; i++) compare_update(d[i]);
  return 0;
}
