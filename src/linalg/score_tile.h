/* score_tile: scores of a tile of arms, in vectors of LANES doubles. score.c includes it once for
 * each width, with these defined:
 *
 *   NAME(x)   the name of x at this width      TARGET     what the functions are compiled for
 *   LANES     doubles in a vector              ROWS       rows of W that are multiplied together
 *   WIDE      vectors of arms, likewise        ROOT(v)    the square roots of a vector
 *                                              POSITIVE(v)  the greater one of v and 0
 *
 * ROWS rows of W times WIDE vectors of arms are ROWS x WIDE sums in registers: a number of W, once
 * loaded, serves WIDE of them, and a vector of arms ROWS. */

typedef double NAME(lanes) __attribute__((vector_size(8 * LANES), aligned(8 * LANES), may_alias));

_Static_assert((WIDE * LANES) <= FARO_SCORE_TILE && (WIDE * LANES) % FARO_ARM_TILE == 0, "whole tiles");

/* Rows i .. i + rows of W x add to the squares, and these features to the means. */
static inline FARO_BODY TARGET void NAME(rows)(size_t i, size_t rows, size_t wide, const double *w,
                                               const double *theta, const NAME(lanes) * x, size_t step,
                                               NAME(lanes) * square, NAME(lanes) * mean) {
  const double *row[ROWS];
  NAME(lanes) t[ROWS][WIDE] = {0};
  FARO_UNROLLED (r, 0, rows) row[r] = w + faro_packed(i + r);
  for (size_t j = 0; j < i; j++)
    FARO_UNROLLED (r, 0, rows)
      FARO_UNROLLED (g, 0, wide) t[r][g] += row[r][j] * x[j * step + g];
  FARO_UNROLLED (c, 0, rows)
    FARO_UNROLLED (g, 0, wide) {
      const NAME(lanes) v = x[(i + c) * step + g];
      FARO_UNROLLED (r, c, rows) t[r][g] += row[r][i + c] * v;
      mean[g] += theta[i + c] * v;
      square[g] += t[c][g] * t[c][g];
    }
}

static inline FARO_BODY TARGET void NAME(tile)(size_t wide, const faro_scoring *task, const double *arms,
                                               size_t stride, size_t a) {
  const size_t d = task->arms->dimension;
  const NAME(lanes) *x = (const NAME(lanes) *)(const void *)arms;
  const size_t step = stride / LANES;
  NAME(lanes) square[WIDE] = {0};
  NAME(lanes) mean[WIDE] = {0};
  size_t i = 0;
  for (; i + ROWS <= d; i += ROWS) NAME(rows)(i, ROWS, wide, task->w, task->theta, x, step, square, mean);
  if (ROWS > 2 && i + 2 <= d) {
    NAME(rows)(i, 2, wide, task->w, task->theta, x, step, square, mean);
    i += 2;
  }
  if (i < d) NAME(rows)(i, 1, wide, task->w, task->theta, x, step, square, mean);
  NAME(lanes) *score = (NAME(lanes) *)(void *)(task->score + a);
  FARO_UNROLLED (g, 0, wide) score[g] = mean[g] + task->beta * ROOT(square[g]);
  if (!task->square) return;
  FARO_UNROLLED (g, 0, wide) ((NAME(lanes) *)(void *)(task->square + a))[g] = square[g];
}

/* Tiles of large d are copied, because rows far apart would push one another out of the cache. */
static inline FARO_BODY TARGET void NAME(place)(size_t wide, const faro_scoring *task, size_t a) {
  const faro_arms *arms = task->arms;
  const size_t width = wide * LANES;
  if (arms->dimension < FARO_SCORE_COPIED) {
    NAME(tile)(wide, task, arms->x + a, arms->stride, a);
    return;
  }
  for (size_t i = 0; i < arms->dimension; i++)
    memcpy(task->copy + i * width, arms->x + i * arms->stride + a, width * sizeof *task->copy);
  NAME(tile)(wide, task, task->copy, width, a);
}

TARGET static void NAME(score)(const faro_scoring *task) {
  size_t a = 0;
  for (; a + WIDE * LANES <= task->arms->stride; a += WIDE * LANES) NAME(place)(WIDE, task, a);
  for (; a < task->arms->stride; a += FARO_ARM_TILE) NAME(place)(FARO_ARM_TILE / LANES, task, a);
}

/* square -= sum_k share_k <gain_k, x>^2, and the scores that follow. */
static inline FARO_BODY TARGET void NAME(again)(size_t rank, size_t a, const faro_rescoring *task) {
  enum { TILE = FARO_ARM_TILE / LANES };
  const size_t d = task->arms->dimension;
  const NAME(lanes) *x = (const NAME(lanes) *)(const void *)(task->arms->x + a);
  const size_t step = task->arms->stride / LANES;
  NAME(lanes) mean[TILE] = {0};
  NAME(lanes) along[2][TILE] = {0};
  for (size_t i = 0; i < d; i++)
    FARO_UNROLLED (g, 0, TILE) {
      const NAME(lanes) v = x[i * step + g];
      mean[g] += task->theta[i] * v;
      FARO_UNROLLED (k, 0, rank) along[k][g] += task->gain[k * d + i] * v;
    }
  NAME(lanes) *score = (NAME(lanes) *)(void *)(task->score + a);
  NAME(lanes) *square = (NAME(lanes) *)(void *)(task->square + a);
  FARO_UNROLLED (g, 0, TILE) {
    NAME(lanes) left = square[g];
    FARO_UNROLLED (k, 0, rank) left -= task->share[k] * along[k][g] * along[k][g];
    square[g] = POSITIVE(left);
    score[g] = mean[g] + task->beta * ROOT(square[g]);
  }
}

TARGET static void NAME(rescore)(const faro_rescoring *task) {
  for (size_t a = 0; a < task->arms->stride; a += FARO_ARM_TILE)
    if (task->rank == 1) NAME(again)(1, a, task);
    else NAME(again)(2, a, task);
}

#undef NAME
#undef TARGET
#undef LANES
#undef ROWS
#undef WIDE
#undef ROOT
#undef POSITIVE
