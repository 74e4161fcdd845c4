/* span: pivoted Gram-Schmidt over the columns. The arm farthest from the span so far joins the
 * basis. This greedy choice gives a basis of large volume, so the basis is also the first design.
 *
 *   x_a = sum_k q_k B_ka    q orthonormal, B_ka = <q_k, x_a>; row k of B is one pass over the arms
 *   R = B[:, pivot]         upper triangular
 *   Z = R^-1 B              coordinates in the basis of the pivots
 *
 * Distances are updated by Pythagoras, rest_a -= B_ka^2, which loses digits as they shrink. When
 * the greatest distance has fallen by 1e-8, the components found so far are subtracted from the
 * arms themselves, and distances are computed afresh. */
#include "design/span.h"

#include <math.h>

#include "linalg/dense.h"

static const double stale = 1e-8;

faro_status faro_span_create(faro_span *span, faro_arena *arena, size_t d, size_t room, faro_error *error) {
  const size_t stride = faro_arm_stride(room);
  *span = (faro_span){.dimension = d, .room = room};
  span->pivot = faro_arena_alloc(arena, d, sizeof *span->pivot, error);
  span->q = faro_arena_alloc(arena, d * d, sizeof *span->q, error);
  span->r = faro_arena_alloc(arena, d * d, sizeof *span->r, error);
  span->rest = faro_arena_alloc(arena, stride, sizeof *span->rest, error);
  span->x.x = faro_arena_alloc(arena, d * (stride + d), sizeof *span->x.x, error);
  span->z.x = faro_arena_alloc(arena, d * stride, sizeof *span->z.x, error);
  const bool made = span->pivot && span->q && span->r && span->rest && span->x.x && span->z.x;
  return made ? FARO_OK : FARO_MEMORY;
}

static faro_status check_arms(const faro_span *span, const faro_arms *arms, const size_t *active,
                              size_t count, faro_error *error) {
  if (arms->dimension != span->dimension)
    return faro_fail(error, FARO_INVALID, "arms must have dimension %zu (got %zu)", span->dimension,
                     arms->dimension);
  if (count < 1 || count > span->room)
    return faro_fail(error, FARO_INVALID, "active arms must be 1 .. %zu (got %zu)", span->room, count);
  for (size_t n = 0; active && n < count; n++)
    if (active[n] >= arms->count)
      return faro_fail(error, FARO_INVALID, "active arm must be below %zu, the number of arms (got %zu)",
                       arms->count, active[n]);
  return FARO_OK;
}

/* Finds the greatest entry, the unit of length, so that squares stay finite. */
static faro_status measure(faro_span *span, const faro_arms *arms, const size_t *active, size_t count,
                           faro_error *error) {
  double unit = 0;
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t n = 0; n < count; n++) {
      const size_t a = active ? active[n] : n;
      const double entry = arms->x[i * arms->stride + a];
      if (!isfinite(entry))
        return faro_fail(error, FARO_INVALID, "arm %zu must be finite (its feature %zu is %g)", a, i, entry);
      unit = fmax(unit, fabs(entry));
    }
  if (unit == 0)
    return faro_fail(error, FARO_INVALID, "active arms must not all be zero (arm %zu is the first)",
                     active ? active[0] : 0);
  span->unit = unit;
  return FARO_OK;
}

static void gather(faro_span *span, const faro_arms *arms, const size_t *active, size_t count) {
  const size_t stride = faro_arm_stride(count);
  span->x = (faro_arms){.dimension = arms->dimension, .count = count, .stride = stride, .x = span->x.x};
  for (size_t i = 0; i < arms->dimension; i++) {
    const double *from = arms->x + i * arms->stride;
    double *to = span->x.x + i * stride;
    for (size_t n = 0; n < stride; n++) to[n] = n < count ? from[active ? active[n] : n] / span->unit : 0;
  }
}

static void measure_rest(faro_span *span) {
  for (size_t a = 0; a < span->x.stride; a++) span->rest[a] = 0;
  for (size_t i = 0; i < span->dimension; i++) {
    const double *row = span->x.x + i * span->x.stride;
    for (size_t a = 0; a < span->x.stride; a++) span->rest[a] += row[a] * row[a];
  }
}

/* X -= Q' B for the directions not subtracted yet; distances are exact again. */
static void subtract(faro_span *span) {
  const size_t from = span->subtracted;
  if (span->rank > from)
    faro_dense_subtract(span->dimension, span->x.stride, span->rank - from, span->q + from * span->dimension,
                        span->z.x + from * span->x.stride, span->x.x);
  span->subtracted = span->rank;
  measure_rest(span);
}

/* direction = the component of arm p outside q[0 .. rank), scaled to length 1. It is computed
 * twice: after one pass, rounding errors along q are large compared with a small rest ("twice is
 * enough", Kahan and Parlett; Parlett 1998, section 6.9). */
static void orthogonalise(const faro_span *span, size_t p, double *direction) {
  const size_t d = span->dimension;
  for (size_t i = 0; i < d; i++) direction[i] = span->x.x[p + i * span->x.stride];
  for (int turn = 0; turn < 2; turn++)
    for (size_t k = 0; k < span->rank; k++) faro_dense_project(d, span->q + k * d, direction);
  faro_dense_normalise(d, direction);
}

/* Adds arm p to the basis. */
static void append(faro_span *span, size_t p) {
  const size_t d = span->dimension;
  const size_t stride = span->x.stride;
  const size_t k = span->rank;
  double *direction = span->q + k * d;
  double *row = span->z.x + k * stride;
  orthogonalise(span, p, direction);
  (void)faro_means(&span->x, direction, row); /* B_ka = <q_k, x_a> */
  for (size_t a = 0; a < stride; a++) span->rest[a] = fmax(0, span->rest[a] - row[a] * row[a]);
  for (size_t j = 0; j <= k; j++) span->r[j * d + k] = span->z.x[j * stride + p];
  span->pivot[k] = p;
  span->rank = k + 1;
}

static void grow(faro_span *span) {
  const size_t count = span->x.count;
  span->rank = span->subtracted = 0;
  measure_rest(span);
  double fresh = span->rest[faro_greatest(span->rest, count)];
  const double least = FARO_SPAN_TOLERANCE * FARO_SPAN_TOLERANCE * fresh;
  while (span->rank < span->dimension && span->rank < count) {
    size_t p = faro_greatest(span->rest, count);
    if (span->rest[p] <= stale * fresh) {
      subtract(span);
      p = faro_greatest(span->rest, count);
      fresh = span->rest[p];
    }
    if (span->rest[p] <= least) break;
    append(span, p);
  }
}

/* Z = R^-1 B, in place. The pivots' own coordinates are exact unit vectors. */
static void solve_coordinates(faro_span *span) {
  const size_t stride = span->x.stride;
  span->z = (faro_arms){.dimension = span->rank,
                        .count = span->x.count,
                        .stride = stride,
                        .x = span->z.x,
                        .version = span->z.version + 1};
  faro_dense_solve_upper(span->rank, stride, span->r, span->dimension, span->z.x);
  for (size_t k = 0; k < span->rank; k++)
    for (size_t j = 0; j < span->rank; j++) span->z.x[j * stride + span->pivot[k]] = j == k;
}

faro_status faro_span_find(faro_span *span, const faro_arms *arms, const size_t *active, size_t count,
                           faro_error *error) {
  faro_status status = check_arms(span, arms, active, count, error);
  if (status == FARO_OK) status = measure(span, arms, active, count, error);
  if (status != FARO_OK) return status;
  gather(span, arms, active, count);
  grow(span);
  solve_coordinates(span);
  return FARO_OK;
}

double faro_span_log_volume(const faro_span *span) {
  double sum = (double)span->rank * log(span->unit);
  for (size_t k = 0; k < span->rank; k++) sum += log(fabs(span->r[k * (span->dimension + 1)]));
  return 2 * sum;
}
