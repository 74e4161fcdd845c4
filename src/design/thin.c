/* thin: removes arms from the support of a design. The letters are explained in ascent.h.
 *
 * First Caratheodory: symmetric matrices have R = m (m + 1) / 2 dimensions, so some combination nu
 * of R + 1 outer products z z' is zero. Moving along nu leaves V unchanged until an arm's weight is
 * zero. The sign is chosen so that the total weight does not grow; dividing by the total can then
 * only make V larger. After that, the arms with the least weight are removed while the goal allows
 * it. */
#include "design/ascent.h"

#include <math.h>

#include "linalg/dense.h"

/* nu with sum_s nu_s z_s z_s' = 0 over the first R + 1 arms of the support: with their packed outer
 * products as rows of A = Q R, the last column of Q is orthogonal to every column of A. */
static void find_vanishing(faro_ascent *ascent, size_t rows, double *nu) {
  const faro_arms *z = ascent->z;
  double *a = ascent->outer; /* column major, rows + 1 by rows */
  const size_t high = rows + 1;
  for (size_t s = 0; s < high; s++) {
    const double *x = z->x + ascent->place[s];
    size_t column = 0;
    for (size_t i = 0; i < z->dimension; i++)
      for (size_t j = 0; j <= i; j++, column++) a[column * high + s] = x[i * z->stride] * x[j * z->stride];
  }
  faro_dense_vanish(rows, a, a + high * rows, nu);
}

size_t faro_thin_scratch(size_t d) {
  const size_t rows = faro_packed(d < FARO_EXACT_RANK ? d : FARO_EXACT_RANK);
  return (rows + 1) * rows + 2 * rows + (rows + 1); /* outer products, tau and work, nu */
}

/* pi += t nu with the greatest t that leaves no weight negative. The arm whose weight becomes 0
 * leaves the support. */
static void move_along(faro_ascent *ascent, const double *nu, size_t length) {
  size_t first = length;
  double t = INFINITY;
  for (size_t s = 0; s < length; s++)
    if (nu[s] < 0 && ascent->pi[ascent->place[s]] < -t * nu[s]) {
      t = -ascent->pi[ascent->place[s]] / nu[s];
      first = s;
    }
  if (first == length) return;
  for (size_t s = 0; s < length; s++) {
    double *weight = &ascent->pi[ascent->place[s]];
    *weight = s == first ? 0 : fmax(0, *weight + t * nu[s]);
  }
  ascent->place[first] = ascent->place[--ascent->count];
}

static void normalise(faro_ascent *ascent) {
  double total = 0;
  for (size_t s = 0; s < ascent->count; s++) total += ascent->pi[ascent->place[s]];
  for (size_t s = 0; s < ascent->count; s++) ascent->pi[ascent->place[s]] /= total;
}

static bool reduce_exactly(faro_ascent *ascent) {
  const size_t rows = faro_packed(ascent->z->dimension);
  if (ascent->z->dimension > FARO_EXACT_RANK || ascent->count <= rows) return true;
  double *nu = ascent->outer + faro_thin_scratch(ascent->z->dimension) - (rows + 1);
  while (ascent->count > rows) {
    double total = 0;
    find_vanishing(ascent, rows, nu);
    for (size_t s = 0; s <= rows; s++) total += nu[s];
    for (size_t s = 0; s <= rows && total > 0; s++) nu[s] = -nu[s];
    move_along(ascent, nu, rows + 1);
  }
  normalise(ascent);
  return faro_ascent_refresh(ascent);
}

static size_t lightest(const faro_ascent *ascent) {
  size_t least = ascent->place[0];
  for (size_t s = 1; s < ascent->count; s++)
    if (ascent->pi[ascent->place[s]] < ascent->pi[least]) least = ascent->place[s];
  return least;
}

/* Whether arm a would still meet the goal without its own weight: g_a (1 - pi_a) / (1 - pi_a g_a).
 * If so, V stays positive definite. */
static bool can_leave(const faro_ascent *ascent, size_t a, double goal) {
  const double pi = ascent->pi[a];
  return ascent->g[a] * (1 - pi) <= goal * (1 - pi * ascent->g[a]);
}

bool faro_ascent_thin(faro_ascent *ascent, double goal) {
  if (!reduce_exactly(ascent)) return false;
  while (ascent->count > ascent->z->dimension) {
    const size_t a = lightest(ascent);
    const double weight = ascent->pi[a];
    if (!can_leave(ascent, a, goal)) return true;
    faro_ascent_step(ascent, a, faro_ascent_drop(ascent, a));
    if (faro_ascent_top(ascent) > goal) {
      faro_ascent_step(ascent, a, weight); /* undo */
      return true;
    }
  }
  return true;
}
