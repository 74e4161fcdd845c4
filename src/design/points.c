/* points: designs in closed form, and nets.
 *
 * Both nets come from a grid with n cells per side over the cube [-1, 1]^k. Half the diagonal of a
 * cell is sqrt(k) / n.
 *   sphere  The grid is on the 2 d faces of the cube (k = d - 1). A point of the sphere, pushed out
 *           to the cube's surface, is within sqrt(k) / n of a cell's centre. Both are outside the
 *           ball, and projection onto a convex set never increases distances, so their images on
 *           the sphere are as near.
 *   ball    The cells that meet the ball (k = d). Centres outside the ball are projected onto it,
 *           which by the same argument keeps them as near.
 * So n = ceil(sqrt(k) / zeta) guarantees zeta. */
#include <faro/design.h>

#include <math.h>
#include <stdio.h>

#include "base/arena.h"

struct faro_points {
  faro_arena arena;
  faro_arms arms;
};

const faro_arms *faro_points_arms(const faro_points *points) { return &points->arms; }

void faro_points_destroy(faro_points *points) {
  if (!points) return;
  faro_arena arena = points->arena;
  faro_arena_free(&arena);
}

static faro_status check_dimension(size_t d, faro_error *error) {
  if (d >= 1 && d <= FARO_DIMENSION_MAX) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX, d);
}

static faro_points *make(size_t d, size_t count, faro_error *error) {
  const size_t stride = faro_arm_stride(count);
  faro_arena arena = {0};
  faro_points *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  double *x = faro_arena_alloc(&arena, d * stride, sizeof *x, error);
  if (!made || !x) {
    faro_arena_free(&arena);
    return NULL;
  }
  *made = (faro_points){.arena = arena,
                        .arms = {.dimension = d, .count = count, .stride = stride, .x = x, .version = 1}};
  return made;
}

/* A walk over the cells that meet the ball, axis by axis. `room` is what the axes before leave of
 * the squared radius. Along an axis the cells within it run from the first cell to its mirror
 * image. */
typedef struct walk {
  size_t d;
  double n;
  double *index, *room; /* per axis */
} walk;

static double centre(const walk *w, double index) { return (2 * index + 1 - w->n) / w->n; }

/* The first cell whose nearest point to zero, |centre| - 1/n, is within the room, with a tiny
 * margin for rounding. */
static double first_cell(const walk *w, size_t axis) {
  return fmax(0, ceil((w->n * (1 - sqrt(w->room[axis])) - 2) / 2 - 1e-9));
}

static void begin(walk *w, size_t axis) {
  for (; axis < w->d; axis++) {
    w->room[axis] = 1;
    if (axis > 0) {
      const double near = fmax(0, fabs(centre(w, w->index[axis - 1])) - 1 / w->n);
      w->room[axis] = fmax(0, w->room[axis - 1] - near * near);
    }
    w->index[axis] = first_cell(w, axis);
  }
}

/* Goes to the next cell along `axis`, or along the nearest axis before it that has one. False at
 * the end. */
static bool advance(walk *w, size_t axis) {
  do {
    if (w->index[axis] < w->n - 1 - first_cell(w, axis)) {
      w->index[axis]++;
      begin(w, axis + 1);
      return true;
    }
  } while (axis-- > 0);
  return false;
}

/* Counts the cells that meet the ball, in whole rows along the last axis. Stops beyond
 * FARO_POINTS_MAX. */
static double count_ball(size_t d, double n) {
  double index[FARO_DIMENSION_MAX] = {0};
  double room[FARO_DIMENSION_MAX] = {0};
  walk w = {.d = d, .n = n, .index = index, .room = room};
  double count = 0;
  bool more = true;
  for (begin(&w, 0); more && count <= FARO_POINTS_MAX; more = d > 1 && advance(&w, d - 2))
    count += n - 2 * w.index[d - 1];
  return count;
}

static size_t grid_axes(faro_shape shape, size_t d) { return shape == FARO_SPHERE ? d - 1 : d; }

static double cells_a_side(faro_shape shape, size_t d, double zeta) {
  return fmax(1, ceil(sqrt((double)grid_axes(shape, d)) / zeta));
}

/* Beyond the limit the number of cells is estimated from the ball's volume, with a margin of half a
 * diagonal. */
static double size_of(faro_shape shape, size_t d, double n) {
  const double dd = (double)d;
  if (shape == FARO_SPHERE) return 2 * dd * pow(n, dd - 1);
  /* the cells along an axis all meet the ball */
  const double count = n > FARO_POINTS_MAX ? n : count_ball(d, n);
  if (count <= FARO_POINTS_MAX) return count;
  const double radius = 1 + sqrt(dd) / n;
  const double volume = exp(dd * log(radius * n / 2) + dd / 2 * log(acos(-1)) - lgamma(dd / 2 + 1));
  return fmax(count, volume);
}

double faro_net_size(faro_shape shape, size_t d, double zeta) {
  return size_of(shape, d, cells_a_side(shape, d, zeta));
}

/* The smallest zeta up to 1 with a net in dimension d, or 0. Tries more cells per side while they
 * fit. */
static double smallest_zeta(faro_shape shape, size_t d) {
  double fits = cells_a_side(shape, d, 1);
  double fails = FARO_POINTS_MAX + 1.0;
  if (size_of(shape, d, fits) > FARO_POINTS_MAX) return 0;
  while (fails - fits > 1) {
    const double n = floor((fits + fails) / 2);
    if (size_of(shape, d, n) <= FARO_POINTS_MAX) fits = n;
    else fails = n;
  }
  return sqrt((double)grid_axes(shape, d)) / fits;
}

static size_t largest_dimension(faro_shape shape, double zeta) {
  size_t d = 0;
  while (d < FARO_DIMENSION_MAX && faro_net_size(shape, d + 1, zeta) <= FARO_POINTS_MAX) d++;
  return d;
}

/* Names what would fit. Three digits of zeta are rounded up, so that the value in the message
 * fits. */
static faro_status refuse(faro_shape shape, size_t d, double zeta, faro_error *error) {
  const double least = smallest_zeta(shape, d);
  const size_t most = largest_dimension(shape, zeta);
  char smaller[80] = "no zeta fits this dimension";
  char lower[80] = "no dimension fits this zeta";
  if (least > 0) (void)snprintf(smaller, sizeof smaller, "the smallest zeta for it is %.3g", least * 1.0051);
  if (most > 0) (void)snprintf(lower, sizeof lower, "the largest dimension for this zeta is %zu", most);
  return faro_fail(error, FARO_INVALID,
                   "zeta %g in dimension %zu needs about %.3g points (at most %d are allowed): %s, %s", zeta,
                   d, faro_net_size(shape, d, zeta), FARO_POINTS_MAX, smaller, lower);
}

/* Scales point a to length 1 (sphere), or down to it if it is longer (ball). */
static void pull_in(faro_arms *arms, size_t a, faro_shape shape) {
  double square = 0;
  for (size_t i = 0; i < arms->dimension; i++)
    square += arms->x[i * arms->stride + a] * arms->x[i * arms->stride + a];
  if (shape == FARO_BALL && square <= 1) return;
  for (size_t i = 0; i < arms->dimension; i++) arms->x[i * arms->stride + a] /= sqrt(square);
}

/* Point number a: its lowest digit is the face, the others, in base n, are the cell. */
static void fill_sphere(faro_arms *arms, double n) {
  const size_t side = (size_t)n;
  const size_t d = arms->dimension;
  const walk w = {.d = d, .n = n};
  for (size_t a = 0; a < arms->count; a++) {
    const size_t face = a % (2 * d);
    size_t cell = a / (2 * d);
    for (size_t i = 0; i < d; i++) {
      double *entry = arms->x + i * arms->stride + a;
      if (i == face / 2) {
        *entry = face % 2 ? -1 : 1;
        continue;
      }
      *entry = centre(&w, (double)(cell % side));
      cell /= side;
    }
    pull_in(arms, a, FARO_SPHERE);
  }
}

static void fill_ball(faro_arms *arms, double n) {
  double index[FARO_DIMENSION_MAX] = {0};
  double room[FARO_DIMENSION_MAX] = {0};
  walk w = {.d = arms->dimension, .n = n, .index = index, .room = room};
  begin(&w, 0);
  for (size_t a = 0; a < arms->count; a++) {
    for (size_t i = 0; i < w.d; i++) arms->x[i * arms->stride + a] = centre(&w, index[i]);
    pull_in(arms, a, FARO_BALL);
    (void)advance(&w, w.d - 1);
  }
}

faro_status faro_points_net(faro_points **points, faro_shape shape, size_t d, double zeta,
                            faro_error *error) {
  const faro_status status = check_dimension(d, error);
  if (status != FARO_OK) return status;
  if (!(zeta > 0 && zeta <= 1))
    return faro_fail(error, FARO_INVALID, "zeta must be above 0 and at most 1 (got %g)", zeta);
  const double size = faro_net_size(shape, d, zeta);
  if (!(size <= FARO_POINTS_MAX)) return refuse(shape, d, zeta, error);
  faro_points *made = make(d, (size_t)size, error);
  if (!made) return FARO_MEMORY;
  const double n = cells_a_side(shape, d, zeta);
  if (shape == FARO_SPHERE) fill_sphere(&made->arms, n);
  else fill_ball(&made->arms, n);
  *points = made;
  return FARO_OK;
}
