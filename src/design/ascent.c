/* ascent: Frank-Wolfe on ln det V with exact line search and away steps (Wolfe-Atwood; Todd 2016,
 * chapter 3). The letters are explained in ascent.h.
 *
 * A step gives arm a the weight gamma at the cost of all others, (1 - gamma) V + gamma z z'. With
 * kappa = gamma / (1 - gamma) and u = H z, the Sherman-Morrison formula gives
 *   H := (H - c u u') / (1 - gamma),   g_b := (g_b - c <z_b, u>^2) / (1 - gamma),
 *   c = kappa / (1 + kappa g_a),
 * which is O(n m) for all arms, not O(n m^2). Rounding errors build up over steps, so everything is
 * recomputed after every m steps, which at most doubles the cost of a step, and before any result
 * is used. */
#include "design/ascent.h"

#include <math.h>
#include <string.h>

#include "base/abort.h"

enum { REFRESH_LEAST = 50 };

faro_status faro_ascent_create(faro_ascent *ascent, faro_arena *arena, size_t d, size_t room,
                               faro_error *error) {
  const size_t stride = faro_arm_stride(room);
  *ascent = (faro_ascent){0};
  ascent->pi = faro_arena_alloc(arena, room, sizeof *ascent->pi, error);
  ascent->place = faro_arena_alloc(arena, room, sizeof *ascent->place, error);
  ascent->v = faro_arena_alloc(arena, faro_packed(d), sizeof *ascent->v, error);
  ascent->w = faro_arena_alloc(arena, faro_packed(d), sizeof *ascent->w, error);
  ascent->h = faro_arena_alloc(arena, d * d, sizeof *ascent->h, error);
  ascent->g = faro_arena_alloc(arena, stride, sizeof *ascent->g, error);
  ascent->dot = faro_arena_alloc(arena, stride, sizeof *ascent->dot, error);
  ascent->zero = faro_arena_alloc(arena, d, sizeof *ascent->zero, error);
  ascent->u = faro_arena_alloc(arena, d, sizeof *ascent->u, error);
  ascent->outer = faro_arena_alloc(arena, faro_thin_scratch(d), sizeof *ascent->outer, error);
  if (!ascent->pi || !ascent->place || !ascent->v || !ascent->w || !ascent->h || !ascent->g || !ascent->dot ||
      !ascent->zero || !ascent->u || !ascent->outer)
    return FARO_MEMORY;
  return faro_spd_create(&ascent->spd, d, error);
}

void faro_ascent_start(faro_ascent *ascent, const faro_arms *z, double *scratch, const size_t *basis) {
  const size_t m = z->dimension;
  ascent->z = z;
  ascent->scratch = scratch;
  ascent->count = m;
  ascent->steps = 0;
  faro_spd_resize(ascent->spd, m);
  memset(ascent->pi, 0, z->count * sizeof *ascent->pi);
  for (size_t k = 0; k < m; k++) {
    ascent->place[k] = basis[k];
    ascent->pi[basis[k]] = 1 / (double)m;
  }
  FARO_INVARIANT(faro_ascent_refresh(ascent)); /* V = I / m */
}

void faro_ascent_gram(faro_ascent *ascent) {
  const faro_arms *z = ascent->z;
  const size_t m = z->dimension;
  double column[FARO_DIMENSION_MAX];
  memset(ascent->v, 0, faro_packed(m) * sizeof *ascent->v);
  for (size_t s = 0; s < ascent->count; s++) {
    const size_t a = ascent->place[s];
    double *entry = ascent->v;
    for (size_t i = 0; i < m; i++) column[i] = z->x[i * z->stride + a];
    for (size_t i = 0; i < m; i++) {
      const double factor = ascent->pi[a] * column[i];
      for (size_t j = 0; j <= i; j++) *entry++ += factor * column[j];
    }
  }
}

/* H = W' W, one row of W at a time. */
static void invert(faro_ascent *ascent) {
  const size_t m = ascent->z->dimension;
  memset(ascent->h, 0, m * m * sizeof *ascent->h);
  for (size_t k = 0; k < m; k++) {
    const double *row = ascent->w + faro_packed(k);
    for (size_t i = 0; i <= k; i++)
      for (size_t j = 0; j <= k; j++) ascent->h[i * m + j] += row[i] * row[j];
  }
}

bool faro_ascent_refresh(faro_ascent *ascent) {
  const size_t m = ascent->z->dimension;
  faro_ascent_gram(ascent);
  if (!faro_spd_whiten(ascent->spd, ascent->v, ascent->w)) return false;
  invert(ascent);
  ascent->log_det = 0;
  for (size_t i = 0; i < m; i++) ascent->log_det -= 2 * log(ascent->w[faro_diagonal(i)]);
  ascent->best = faro_score(ascent->z, ascent->zero, ascent->w, 1, ascent->g, ascent->scratch);
  for (size_t a = 0; a < ascent->z->count; a++) ascent->g[a] *= ascent->g[a];
  ascent->since = 0;
  return true;
}

/* u = H z_a */
static void multiply(faro_ascent *ascent, size_t a) {
  const faro_arms *z = ascent->z;
  const size_t m = z->dimension;
  memset(ascent->u, 0, m * sizeof *ascent->u);
  for (size_t j = 0; j < m; j++) {
    const double entry = z->x[j * z->stride + a];
    for (size_t i = 0; i < m; i++) ascent->u[i] += ascent->h[j * m + i] * entry;
  }
}

static void update_norms(faro_ascent *ascent, size_t a, double gamma) {
  const size_t m = ascent->z->dimension;
  multiply(ascent, a);
  (void)faro_means(ascent->z, ascent->u, ascent->dot);
  const double c = gamma / (1 - gamma + gamma * ascent->dot[a]);
  const double scale = 1 / (1 - gamma);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < m; j++)
      ascent->h[i * m + j] = scale * (ascent->h[i * m + j] - c * ascent->u[i] * ascent->u[j]);
  for (size_t b = 0; b < ascent->z->count; b++)
    ascent->g[b] = scale * (ascent->g[b] - c * ascent->dot[b] * ascent->dot[b]);
  ascent->best = faro_greatest(ascent->g, ascent->z->count);
}

static void update_weights(faro_ascent *ascent, size_t a, double gamma) {
  const bool dropped = gamma == faro_ascent_drop(ascent, a);
  if (ascent->pi[a] == 0) ascent->place[ascent->count++] = a;
  for (size_t s = 0; s < ascent->count; s++) ascent->pi[ascent->place[s]] *= 1 - gamma;
  ascent->pi[a] += gamma;
  if (!dropped) return;
  ascent->pi[a] = 0;
  size_t s = 0;
  while (ascent->place[s] != a) s++;
  ascent->place[s] = ascent->place[--ascent->count];
}

void faro_ascent_step(faro_ascent *ascent, size_t a, double gamma) {
  update_norms(ascent, a, gamma);
  update_weights(ascent, a, gamma);
  ascent->steps++;
  ascent->since++;
}

/* The arm of the support with the least g. */
static size_t worst(const faro_ascent *ascent) {
  size_t least = ascent->place[0];
  for (size_t s = 1; s < ascent->count; s++)
    if (ascent->g[ascent->place[s]] < ascent->g[least]) least = ascent->place[s];
  return least;
}

/* The gamma that maximises ln det: (g/m - 1) / (g - 1) (Hanna et al. 2022, App. A). It is negative
 * for g < m and then limited by the arm's weight. For g <= 1 the determinant grows up to that
 * limit. */
static double line_search(const faro_ascent *ascent, size_t a) {
  const double m = (double)ascent->z->dimension;
  const double g = ascent->g[a];
  const double drop = faro_ascent_drop(ascent, a);
  return g <= 1 ? drop : fmax(drop, (g / m - 1) / (g - 1));
}

/* The number of steps allowed: many times what the theory needs, O(m (ln ln m + 1 / epsilon)) with
 * epsilon = goal / m - 1. */
static size_t step_limit(double m, double goal) {
  return (size_t)fmin(1e8, 1000 + 100 * m * (1 + m / (goal - m)));
}

bool faro_ascent_climb(faro_ascent *ascent, double goal) {
  const double m = (double)ascent->z->dimension;
  const size_t period = ascent->z->dimension > REFRESH_LEAST ? ascent->z->dimension : REFRESH_LEAST;
  const size_t limit = ascent->steps + step_limit(m, goal);
  for (;;) {
    const bool reached = faro_ascent_top(ascent) <= goal;
    if (reached && ascent->since == 0) return true;
    if (reached || ascent->since >= period) {
      if (!faro_ascent_refresh(ascent)) return false;
      continue;
    }
    if (ascent->steps >= limit) return false;
    const size_t away = worst(ascent);
    /* the greater gain, to first order */
    const bool toward = faro_ascent_top(ascent) - m >= m - ascent->g[away];
    const size_t a = toward ? ascent->best : away;
    faro_ascent_step(ascent, a, line_search(ascent, a));
  }
}
