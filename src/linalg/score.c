/* score: mean plus width of every arm at once.
 *
 * Arms are columns, so one load brings a feature of several arms. Each arm's sums add their
 * products in the order of the features, by fused multiplications and additions, whatever the width
 * of the vectors and whichever arms are scored together: AVX2 and AVX-512 (score_tile.h) give the
 * same bytes. The tests use the plain loops as the oracle. */
#include <math.h>
#include <string.h>

#include "linalg/kernels.h"
#include "linalg/lanes.h"

void faro_plain_score(const faro_scoring *task) {
  const faro_arms *arms = task->arms;
  for (size_t a = 0; a < arms->stride; a++) {
    const double *x = arms->x + a;
    const double *entry = task->w;
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < arms->dimension; i++) {
      double t = 0; /* (W x)_i */
      for (size_t j = 0; j <= i; j++) t += *entry++ * x[j * arms->stride];
      square += t * t;
      mean += task->theta[i] * x[i * arms->stride];
    }
    task->score[a] = mean + task->beta * sqrt(square);
    if (task->square) task->square[a] = square;
  }
}

void faro_plain_rescore(const faro_rescoring *task) {
  const faro_arms *arms = task->arms;
  const size_t d = arms->dimension;
  for (size_t a = 0; a < arms->stride; a++) {
    double mean = 0;
    double along[2] = {0};
    for (size_t i = 0; i < d; i++) {
      const double x = arms->x[i * arms->stride + a];
      mean += task->theta[i] * x;
      for (size_t k = 0; k < task->rank; k++) along[k] += task->gain[k * d + i] * x;
    }
    for (size_t k = 0; k < task->rank; k++) task->square[a] -= task->share[k] * along[k] * along[k];
    task->square[a] = fmax(0, task->square[a]);
    task->score[a] = mean + task->beta * sqrt(task->square[a]);
  }
}

size_t faro_plain_greatest(const double *value, size_t count) {
  size_t at = 0;
  double best = -INFINITY;
  for (size_t a = 0; a < count; a++)
    if (value[a] > best) {
      best = value[a];
      at = a;
    }
  return at;
}

static double tile_greatest(const double *value) {
  double lane[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  for (size_t k = 0; k < FARO_ARM_TILE; k += 4)
    for (size_t j = 0; j < 4; j++) lane[j] = value[k + j] > lane[j] ? value[k + j] : lane[j];
  const double x = lane[0] > lane[1] ? lane[0] : lane[1];
  const double y = lane[2] > lane[3] ? lane[2] : lane[3];
  return x > y ? x : y;
}

/* Finds the tile with the greatest value without a branch per arm, then the arm within the tile. */
static size_t portable_greatest(const double *value, size_t count) {
  size_t at = 0;
  size_t next = 0;
  double best = -INFINITY;
  for (; next + FARO_ARM_TILE <= count; next += FARO_ARM_TILE) {
    const double greatest = tile_greatest(value + next);
    if (greatest > best) {
      best = greatest;
      at = next;
    }
  }
  for (; next < count; next++)
    if (value[next] > best) {
      best = value[next];
      at = next;
    }
  while (best > -INFINITY && value[at] != best) at++;
  return at;
}

/* Two doubles: SSE2, or NEON. Four vectors make eight sums in registers. */
#define NAME(x) portable_##x
#define TARGET
#define LANES 2
#define ROWS 2
#define WIDE 8
#define ROOT(v) portable_root(v)
#define POSITIVE(v) portable_positive(v)
typedef double pair __attribute__((vector_size(16)));
static inline pair portable_root(pair v) { return (pair){sqrt(v[0]), sqrt(v[1])}; }
static inline pair portable_positive(pair v) { return (pair){fmax(v[0], 0), fmax(v[1], 0)}; }
#include "linalg/score_tile.h"

#ifdef __x86_64__

#include <immintrin.h>

/* Four doubles, and eight sums, which hide the latency of the units that make them. */
#define NAME(x) avx2_##x
#define TARGET FARO_AVX2
#define LANES 4
#define ROWS 2
#define WIDE 4
#define ROOT(v) _mm256_sqrt_pd(v)
#define POSITIVE(v) _mm256_max_pd(v, _mm256_setzero_pd())
#include "linalg/score_tile.h"

/* Eight doubles, and twice as many registers: sixteen sums. */
#define NAME(x) avx512_##x
#define TARGET FARO_AVX512
#define LANES 8
#define ROWS 4
#define WIDE 4
#define ROOT(v) _mm512_sqrt_pd(v)
#define POSITIVE(v) _mm512_max_pd(v, _mm512_setzero_pd())
#include "linalg/score_tile.h"

/* A tile of arms at a time. */
FARO_AVX static void avx_means(const faro_arms *arms, const double *theta, double *mean) {
  enum { TILE = FARO_ARM_TILE / 4 };
  for (size_t a = 0; a < arms->stride; a += FARO_ARM_TILE) {
    const avx2_loose *x = (const avx2_loose *)(const void *)(arms->x + a);
    avx2_lanes sum[TILE] = {0};
    for (size_t i = 0; i < arms->dimension; i++, x += arms->stride / 4)
      FARO_UNROLLED (g, 0, TILE) sum[g] += theta[i] * x[g];
    FARO_UNROLLED (g, 0, TILE) ((avx2_loose *)(void *)(mean + a))[g] = sum[g];
  }
}

/* In the same order, so that these are two of avx_means. */
FARO_AVX static void avx_moved(const faro_arms *arms, const double *theta, const double *direction,
                               bool positive, double *score) {
  enum { TILE = FARO_ARM_TILE / 4 };
  for (size_t a = 0; a < arms->stride; a += FARO_ARM_TILE) {
    const avx2_loose *x = (const avx2_loose *)(const void *)(arms->x + a);
    avx2_lanes mean[TILE] = {0};
    avx2_lanes extra[TILE] = {0};
    for (size_t i = 0; i < arms->dimension; i++, x += arms->stride / 4)
      FARO_UNROLLED (g, 0, TILE) {
        mean[g] += theta[i] * x[g];
        extra[g] += direction[i] * x[g];
      }
    FARO_UNROLLED (g, 0, TILE) {
      const avx2_lanes above = _mm256_max_pd(extra[g], _mm256_setzero_pd());
      ((avx2_loose *)(void *)(score + a))[g] = mean[g] + (positive ? above : extra[g]);
    }
  }
}

/* In each lane a value, and where it is. */
typedef struct leaders {
  __m512d best;
  __m512i at;
} leaders;

/* A lane of `v`, at `index`, takes the place of one that is less; `v` comes later, so equal ones
 * stay. */
static inline FARO_BODY FARO_AVX512 leaders lead(leaders l, __mmask8 there, __m512d v, __m512i index) {
  const __mmask8 better = _mm512_mask_cmp_pd_mask(there, v, l.best, _CMP_GT_OQ);
  return (leaders){.best = _mm512_mask_mov_pd(l.best, better, v),
                   .at = _mm512_mask_mov_epi64(l.at, better, index)};
}

/* The greater one of each lane, the first one of equals. */
static inline FARO_BODY FARO_AVX512 leaders lead_both(leaders l, leaders m) {
  const __mmask8 greater = _mm512_cmp_pd_mask(m.best, l.best, _CMP_GT_OQ);
  const __mmask8 equal = _mm512_cmp_pd_mask(m.best, l.best, _CMP_EQ_OQ);
  const __mmask8 better = greater | _mm512_mask_cmplt_epu64_mask(equal, m.at, l.at);
  return (leaders){.best = _mm512_mask_mov_pd(l.best, better, m.best),
                   .at = _mm512_mask_mov_epi64(l.at, better, m.at)};
}

/* Every lane of every chain keeps its first greatest value. One comparison waits for what the one
 * before it in its chain has left. */
static inline FARO_BODY FARO_AVX512 size_t greatest_in(size_t chains, const double *value, size_t count) {
  enum { CHAINS = 4, LANES = 8 };
  leaders l[CHAINS];
  __m512i index[CHAINS];
  const __m512i first = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  FARO_UNROLLED (k, 0, chains) {
    l[k] = (leaders){.best = _mm512_set1_pd(-INFINITY), .at = _mm512_setzero_si512()};
    index[k] = _mm512_add_epi64(first, _mm512_set1_epi64((int64_t)(LANES * k)));
  }
  size_t a = 0;
  for (; a + chains * LANES <= count; a += chains * LANES)
    FARO_UNROLLED (k, 0, chains) {
      l[k] = lead(l[k], 0xff, _mm512_loadu_pd(value + a + LANES * k), index[k]);
      index[k] = _mm512_add_epi64(index[k], _mm512_set1_epi64((int64_t)(LANES * chains)));
    }
  FARO_UNROLLED (k, 0, chains) {
    const size_t left = count > a + LANES * k ? count - a - LANES * k : 0;
    const __mmask8 there = (__mmask8)(left < LANES ? (1U << left) - 1 : 0xff);
    const double *from = left > 0 ? value + a + LANES * k : value;
    l[k] = lead(l[k], there, _mm512_maskz_loadu_pd(there, from), index[k]);
  }
  leaders all = l[0];
  FARO_UNROLLED (k, 1, chains) all = lead_both(all, l[k]);
  const __m512d greatest = _mm512_set1_pd(_mm512_reduce_max_pd(all.best));
  return (size_t)_mm512_mask_reduce_min_epu64(_mm512_cmp_pd_mask(all.best, greatest, _CMP_EQ_OQ), all.at);
}

/* Joining chains costs more than a short one. */
FARO_AVX512 static size_t avx512_greatest(const double *value, size_t count) {
  enum { SHORT = 48 };
  return count <= SHORT ? greatest_in(1, value, count) : greatest_in(4, value, count);
}

#else /* faro_lanes_here says PORTABLE */
#define avx2_score portable_score
#define avx512_score portable_score
#define avx2_rescore portable_rescore
#define avx512_rescore portable_rescore
#define avx512_greatest portable_greatest
#define avx_means portable_means
#define avx_moved portable_moved
#endif

void faro_score_by(faro_lanes lanes, const faro_scoring *task) {
  switch (lanes) {
  case FARO_LANES_AVX512: avx512_score(task); break;
  case FARO_LANES_AVX2: avx2_score(task); break;
  default: portable_score(task); break;
  }
}

void faro_rescore_by(faro_lanes lanes, const faro_rescoring *task) {
  switch (lanes) {
  case FARO_LANES_AVX512: avx512_rescore(task); break;
  case FARO_LANES_AVX2: avx2_rescore(task); break;
  default: portable_rescore(task); break;
  }
}

size_t faro_greatest_by(faro_lanes lanes, const double *value, size_t count) {
  return lanes == FARO_LANES_AVX512 ? avx512_greatest(value, count) : portable_greatest(value, count);
}

size_t faro_greatest(const double *value, size_t count) {
  return faro_greatest_by(faro_lanes_here(), value, count);
}

size_t faro_score_scratch(size_t d, size_t stride) {
  (void)stride;
  return d < FARO_SCORE_COPIED ? 0 : d * FARO_SCORE_TILE;
}

size_t faro_score(const faro_arms *arms, const double *theta, const double *w, double beta, double *score,
                  double *scratch) {
  return faro_score_keep(arms, theta, w, beta, NULL, score, scratch);
}

size_t faro_score_keep(const faro_arms *arms, const double *theta, const double *w, double beta,
                       double *square, double *score, double *scratch) {
  const faro_scoring task = {
      .arms = arms, .theta = theta, .w = w, .beta = beta, .square = square, .score = score, .copy = scratch};
  faro_score_by(faro_lanes_here(), &task);
  return faro_greatest(score, arms->count);
}

size_t faro_rescore(const faro_arms *arms, const double *theta, size_t rank, const double *gain,
                    const double *share, double beta, double *square, double *score) {
  const faro_rescoring task = {.arms = arms,
                               .theta = theta,
                               .rank = rank,
                               .gain = gain,
                               .share = share,
                               .beta = beta,
                               .square = square,
                               .score = score};
  faro_rescore_by(faro_lanes_here(), &task);
  return faro_greatest(score, arms->count);
}

/* In means a product is rounded before it is added, on x86-64 whatever the vectors are: worlds take
 * their rewards from here. */
static void portable_means(const faro_arms *arms, const double *theta, double *mean) {
  for (size_t a = 0; a < arms->stride; a++) mean[a] = 0;
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->stride; a++) mean[a] += theta[i] * arms->x[i * arms->stride + a];
}

static void portable_moved(const faro_arms *arms, const double *theta, const double *direction, bool positive,
                           double *score) {
  for (size_t a = 0; a < arms->stride; a++) {
    double mean = 0;
    double extra = 0;
    for (size_t i = 0; i < arms->dimension; i++) {
      mean += theta[i] * arms->x[i * arms->stride + a];
      extra += direction[i] * arms->x[i * arms->stride + a];
    }
    score[a] = mean + (positive ? fmax(0, extra) : extra);
  }
}

size_t faro_means_moved(const faro_arms *arms, const double *theta, const double *direction, bool positive,
                        double *score) {
  if (faro_lanes_here() == FARO_LANES_PORTABLE) portable_moved(arms, theta, direction, positive, score);
  else avx_moved(arms, theta, direction, positive, score);
  return faro_greatest(score, arms->count);
}

size_t faro_means(const faro_arms *arms, const double *theta, double *mean) {
  if (faro_lanes_here() == FARO_LANES_PORTABLE) portable_means(arms, theta, mean);
  else avx_means(arms, theta, mean);
  return faro_greatest(mean, arms->count);
}
