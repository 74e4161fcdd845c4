/* contribution: clips x and y, then makes z = ( vech(x x'), x y ), or one of the two, or x. */
#include <faro/contribution.h>

#include <math.h>
#include <string.h>

#include "linalg/lanes.h"
#include "release/columns.h"
#include "release/plant.h"

/* sup ||z - z'||_2 over ||x||, ||v|| <= L and y, w in [low, high] (docs/privacy.md, Lemma 1). With
 * a = |x|^2, b = |v|^2, c = <x, v>:
 *
 *   ||vech(x x' - v v')||^2 + ||x y - v w||^2  <=  a^2 + b^2 - 2 c^2 + a y^2 + b w^2 - 2 c y w
 *
 * (vech counts an off-diagonal entry once, the Frobenius norm twice). The right side grows in a and
 * b, so a = b = L^2. It is convex in y and in w, so both are at ends of the interval. In c it is
 * greatest at c = -y w / 2. */
static double sensitivity_of(double norm, double low, double high) {
  const double end[2] = {low, high};
  const double square = norm * norm;
  double most = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      const double c = fmax(-square, fmin(square, -end[i] * end[j] / 2));
      most = fmax(most, 2 * square * square - 2 * c * c + square * (end[i] * end[i] + end[j] * end[j]) -
                            2 * c * end[i] * end[j]);
    }
  return sqrt(most) * (1 + 1e-12);
}

static faro_status check_features(size_t dimension, double norm, faro_error *error) {
  if (dimension < 1 || dimension > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX,
                     dimension);
  if (!(norm >= 1e-9 && norm <= 1e9)) /* its fourth power is a number, and not lost in others */
    return faro_fail(error, FARO_INVALID, "norm must be 1e-9 .. 1e9 (got %g): it bounds the features", norm);
  return FARO_OK;
}

faro_status faro_contribution_init(faro_contribution *c, size_t dimension, double norm, double low,
                                   double high, faro_error *error) {
  const faro_status status = check_features(dimension, norm, error);
  if (status != FARO_OK) return status;
  if (!(high - low >= 1e-9 && isfinite(low) && isfinite(high)))
    return faro_fail(error, FARO_INVALID, "rewards need an interval low < high (got [%g, %g])", low, high);
  const double reward = fmax(fabs(low), fabs(high));
  *c = (faro_contribution){.form = FARO_FORM_MOMENTS,
                           .dimension = dimension,
                           .blocks = 1,
                           .gram = faro_packed(dimension),
                           .length = faro_packed(dimension) + dimension,
                           .norm = norm,
                           .low = low,
                           .high = high,
                           .on = 1,
                           .off = 1,
                           .vector = 1,
                           .entry = fmax(norm * norm, norm * reward),
                           .radius = norm * hypot(norm, reward),
                           .sensitivity = sensitivity_of(norm, low, high)};
  c->absolute = sqrt((double)c->length) * c->sensitivity;
  return FARO_OK;
}

/* docs/privacy.md, Lemma 1c. */
faro_status faro_contribution_split(faro_contribution *c, size_t blocks, faro_error *error) {
  if (c->form != FARO_FORM_MOMENTS || c->link != FARO_LINK_LINEAR)
    return faro_fail(error, FARO_INVALID, "blocks are for moments of linear rewards");
  if (blocks < 1 || c->dimension % blocks != 0)
    return faro_fail(error, FARO_INVALID, "blocks must divide the dimension %zu (got %zu)", c->dimension,
                     blocks);
  c->blocks = blocks;
  c->gram = blocks * faro_packed(c->dimension / blocks);
  c->length = c->gram + c->dimension;
  c->absolute = sqrt((double)c->length) * c->sensitivity;
  return FARO_OK;
}

/* docs/privacy.md, Lemma 1b. With W = w / w_max, ||z||^2 <= W^2 + e^2. Two users with <x, v> = c
 * differ by W^2 + e^2 + W'^2 + e'^2 - 2 W W' c^2 - 2 e e' c, which is at most 4: near p = 0 or 1,
 * where e may be 1, W is near 0. For the norm of z the greatest value of W^2 + max(p, 1 - p)^2 over
 * all points is 1.28616 (logistic) and 1.29788 (probit). */
static double squared_radius(faro_link link) { return link == FARO_LINK_LOGISTIC ? 1.2862 : 1.2979; }

faro_status faro_contribution_linearised(faro_contribution *c, size_t dimension, double norm, faro_link link,
                                         double bound, faro_error *error) {
  const faro_status status = check_features(dimension, norm, error);
  if (status != FARO_OK) return status;
  if (link != FARO_LINK_LOGISTIC && link != FARO_LINK_PROBIT)
    return faro_fail(error, FARO_INVALID, "link must be logistic or probit (got %s)", faro_link_name(link));
  if (!(bound > 0 && bound < INFINITY))
    return faro_fail(error, FARO_INVALID, "bound on the parameter must be above 0 (got %g)", bound);
  const double steepest = faro_link_slope(link, 0);
  *c = (faro_contribution){.form = FARO_FORM_MOMENTS,
                           .dimension = dimension,
                           .blocks = 1,
                           .gram = faro_packed(dimension),
                           .length = faro_packed(dimension) + dimension,
                           .norm = norm,
                           .low = 0,
                           .high = 1,
                           .link = link,
                           .bound = bound,
                           .on = 1 / (steepest * norm * norm),
                           .off = sqrt(2) / (steepest * norm * norm),
                           .vector = 1 / norm,
                           .entry = 1,
                           .radius = sqrt(squared_radius(link)),
                           .sensitivity = 2 * (1 + 1e-12)};
  c->absolute = sqrt((double)c->length) * c->sensitivity;
  return FARO_OK;
}

/* z = x (y - m) / (L h), m the middle of the rewards and h half their range. A neighbour has the
 * same x, other users have any, and a message that is shuffled must look like theirs too. Centred,
 * z is anywhere in the ball of radius 1 for all of them, so both distances are 2, and in original
 * units that is no more than the neighbours' alone (docs/privacy.md, Rewards only). */
faro_status faro_contribution_rewards(faro_contribution *c, size_t dimension, double norm, double low,
                                      double high, faro_error *error) {
  faro_contribution moments;
  const faro_status status = faro_contribution_init(&moments, dimension, norm, low, high, error);
  if (status != FARO_OK) return status;
  const double middle = low / 2 + high / 2;
  const double h = fmax(high - middle, middle - low);
  *c = (faro_contribution){.form = FARO_FORM_REWARDS,
                           .dimension = dimension,
                           .blocks = 1,
                           .length = dimension,
                           .norm = norm,
                           .low = low,
                           .high = high,
                           .middle = middle,
                           .vector = 1 / (norm * h),
                           .entry = 1,
                           .radius = 1,
                           .sensitivity = 2 * (1 + 1e-12)};
  c->absolute = sqrt((double)dimension) * c->sensitivity;
  return FARO_OK;
}

/* The first term above: a^2 + b^2 - 2 c^2 <= 2 L^4, at orthogonal x and v. */
faro_status faro_contribution_gram(faro_contribution *c, size_t dimension, double norm, faro_error *error) {
  const faro_status status = check_features(dimension, norm, error);
  if (status != FARO_OK) return status;
  const double square = norm * norm;
  *c = (faro_contribution){.form = FARO_FORM_GRAM,
                           .dimension = dimension,
                           .blocks = 1,
                           .gram = faro_packed(dimension),
                           .length = faro_packed(dimension),
                           .norm = norm,
                           .on = 1,
                           .off = 1,
                           .vector = 1,
                           .entry = square,
                           .radius = square,
                           .sensitivity = sqrt(2) * square * (1 + 1e-12)};
  c->absolute = sqrt((double)c->length) * c->sensitivity;
  return FARO_OK;
}

faro_status faro_contribution_ball(faro_contribution *c, size_t count, double radius, faro_error *error) {
  if (count < 1 || count > 1000000)
    return faro_fail(error, FARO_INVALID, "a vector must have 1 .. 10^6 entries (got %zu)", count);
  if (!(radius > 0 && radius < INFINITY))
    return faro_fail(error, FARO_INVALID, "radius must be above 0 (got %g)", radius);
  *c = (faro_contribution){.form = FARO_FORM_BALL,
                           .dimension = count,
                           .blocks = 1,
                           .length = count,
                           .norm = radius,
                           .entry = radius,
                           .radius = radius,
                           .sensitivity = 2 * radius * (1 + 1e-12)};
  c->absolute = sqrt((double)count) * c->sensitivity;
  return FARO_OK;
}

faro_status faro_contribution_values(faro_contribution *c, size_t count, bool binary, faro_error *error) {
  if (count < 1 || count > 1000000)
    return faro_fail(error, FARO_INVALID, "a vector must have 1 .. 10^6 entries (got %zu)", count);
  const double root = sqrt((double)count);
  *c = (faro_contribution){.form = FARO_FORM_VALUES,
                           .binary = binary,
                           .dimension = count,
                           .blocks = 1,
                           .length = count,
                           .norm = root / 2,
                           .low = -0.5,
                           .high = 0.5,
                           .entry = 0.5,
                           .radius = root / 2,
                           .sensitivity = root,
                           .absolute = (double)count};
  return FARO_OK;
}

/* With u = x / L and v = y / h, h the largest reward: z = ( u_i^2, sqrt(2) u_i u_j, u_i v ). Its
 * norm is the Frobenius norm of the bound in sensitivity_of, which is therefore attained, not only
 * approached. */
faro_contribution faro_contribution_weigh(const faro_contribution *c) {
  faro_contribution w = *c;
  if (c->gram == 0 || c->link != FARO_LINK_LINEAR) return w;
  const double h = fmax(fabs(c->low), fabs(c->high));
  w.on = 1 / (c->norm * c->norm);
  w.off = sqrt(2) * w.on;
  w.vector = c->form == FARO_FORM_MOMENTS ? 1 / (c->norm * h) : 1;
  w.entry = 1;
  w.radius = c->form == FARO_FORM_MOMENTS ? sqrt(2) : 1;
  w.sensitivity =
      c->form == FARO_FORM_MOMENTS ? sensitivity_of(1, c->low / h, c->high / h) : sqrt(2) * (1 + 1e-12);
  w.absolute = sqrt((double)w.length) * w.sensitivity;
  return w;
}

void faro_contribution_weights(const faro_contribution *c, double *weight) {
  const size_t width = c->dimension / c->blocks;
  for (size_t block = 0; block < c->blocks; block++) {
    for (size_t i = 0; c->gram > 0 && i < width; i++)
      for (size_t j = 0; j <= i; j++) *weight++ = i == j ? c->on : c->off;
    for (size_t i = c->form == FARO_FORM_GRAM ? width : 0; i < width; i++)
      *weight++ = c->vector > 0 ? c->vector : 1;
  }
}

/* The factor that scales x back to the norm; 0 if x is not finite. */
static double shrink(const faro_contribution *c, const double *x) {
  FARO_PLANT_UNCLIPPED(1)
  double square = 0;
  for (size_t i = 0; i < c->dimension; i++) square += x[i] * x[i];
  if (square <= c->norm * c->norm) return 1;
  return square < INFINITY ? c->norm / sqrt(square) : 0;
}

static double clip(const faro_contribution *c, double y) { /* NaN: low */
  FARO_PLANT_UNCLIPPED(y)
  return y >= c->low ? (y <= c->high ? y : c->high) : c->low;
}

static double value_of(const faro_contribution *c, double x) {
  if (c->binary) return x > 0 ? c->high : c->low;
  return c->unclipped && isfinite(x) ? x : clip(c, x);
}

static void make_values(const faro_contribution *c, const double *x, double *z) {
  for (size_t i = 0; i < c->length; i++) z[i] = value_of(c, x[i]);
}

static void make_ball(const faro_contribution *c, const double *x, double *z) {
  const double factor = shrink(c, x);
  for (size_t i = 0; i < c->dimension; i++) z[i] = factor > 0 ? factor * x[i] : 0;
}

double faro_contribution_clip(const faro_contribution *c, const double *x, double y, double *to) {
  make_ball(c, x, to);
  return clip(c, y);
}

/* False if anybody is too long, or not finite. */
static inline FARO_BODY bool all_within(const faro_contribution *c, const double *x, size_t stride,
                                        size_t count) {
  enum { MANY = 64 };
  size_t over = 0;
  for (size_t from = 0; from < count; from += MANY) {
    const size_t n = count - from < MANY ? count - from : MANY;
    double square[MANY] = {0};
    for (size_t j = 0; j < c->dimension; j++)
      for (size_t i = 0; i < n; i++) square[i] += x[j * stride + from + i] * x[j * stride + from + i];
    for (size_t i = 0; i < n; i++) over += square[i] <= c->norm * c->norm ? 0 : 1;
  }
  return over == 0;
}

/* In eight sums, because one waits for its last addition. */
static inline FARO_BODY double add_up(const double *x, size_t count) {
  double part[8] = {0};
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (size_t k = 0; k < 8; k++) part[k] += x[i + k];
  for (; i < count; i++) part[i % 8] += x[i];
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

/* The sum if nobody has to be clipped. */
static inline FARO_BODY bool total_within(const faro_contribution *c, const double *x, size_t stride,
                                          size_t count, double *total) {
  if (!all_within(c, x, stride, count)) return false;
  for (size_t j = 0; j < c->dimension; j++) total[j] = add_up(x + j * stride, count);
  return true;
}

FARO_AVX2 static bool avx2_total(const faro_contribution *c, const double *x, size_t stride, size_t count,
                                 double *total) {
  return total_within(c, x, stride, count, total);
}

FARO_AVX512 static bool avx512_total(const faro_contribution *c, const double *x, size_t stride, size_t count,
                                     double *total) {
  return total_within(c, x, stride, count, total);
}

static bool add_all(const faro_contribution *c, const double *x, size_t stride, size_t count, double *total) {
  switch (faro_lanes_here()) {
  case FARO_LANES_AVX512: return avx512_total(c, x, stride, count, total);
  case FARO_LANES_AVX2: return avx2_total(c, x, stride, count, total);
  default: return total_within(c, x, stride, count, total);
  }
}

void faro_contribution_total(const faro_contribution *c, const double *x, size_t stride, size_t count,
                             double *total) {
  if (add_all(c, x, stride, count, total)) return;
  memset(total, 0, c->dimension * sizeof *total);
  for (size_t i = 0; i < count; i++) {
    double row[FARO_DIMENSION_MAX];
    for (size_t j = 0; j < c->dimension; j++) row[j] = x[j * stride + i];
    make_ball(c, row, row);
    for (size_t j = 0; j < c->dimension; j++) total[j] += row[j];
  }
}

/* w x x', packed and weighed. Returns the end of it. */
static double *put_gram(const faro_contribution *c, size_t d, double w, const double *x, double *z) {
  const double off = w * c->off;
  const double on = w * c->on;
  for (size_t i = 0; i < d; i++) {
    const double weighed = off * x[i];
    for (size_t j = 0; j < i; j++) *z++ = weighed * x[j];
    *z++ = on * x[i] * x[i];
  }
  return z;
}

static void make_gram(const faro_contribution *c, const double *x, double *z) {
  double clipped[FARO_DIMENSION_MAX];
  make_ball(c, x, clipped);
  (void)put_gram(c, c->dimension, 1, clipped, z);
}

static void make_rewards(const faro_contribution *c, const double *x, double y, double *z) {
  const double reward = c->vector * (clip(c, y) - c->middle);
  make_ball(c, x, z);
  for (size_t i = 0; i < c->dimension; i++) z[i] *= reward;
}

static void make_blocks(const faro_contribution *c, const double *x, double y, double *z) {
  double clipped[FARO_DIMENSION_MAX];
  const size_t width = c->dimension / c->blocks;
  memset(clipped, 0, c->dimension * sizeof *clipped);
  const double reward = c->vector * clip(c, y);
  make_ball(c, x, clipped);
  for (const double *from = clipped; from < clipped + c->dimension; from += width) {
    z = put_gram(c, width, 1, from, z);
    for (size_t i = 0; i < width; i++) *z++ = reward * from[i];
  }
}

static void make_moments(const faro_contribution *c, const double *x, double y, double *z) {
  double reward = clip(c, y);
  double slope = 1;
  double *moment = z + c->gram;
  make_ball(c, x, moment);
  if (c->link != FARO_LINK_LINEAR) {
    double score = 0;
    for (size_t i = 0; c->at && i < c->dimension; i++) score += moment[i] * c->at[i];
    reward -= faro_link_mean(c->link, score);
    slope = fmin(faro_link_slope(c->link, score), faro_link_slope(c->link, 0));
  }
  (void)put_gram(c, c->dimension, slope, moment, z);
  for (size_t i = 0; i < c->dimension; i++) moment[i] *= c->vector * reward;
}

void faro_contribution_reward(const faro_contribution *c, const double *clipped, double y, double *z) {
  double *moment = z + c->gram;
  const double reward = c->vector * clip(c, y);
  for (size_t i = 0; i < c->dimension; i++) moment[i] = clipped[i] * reward;
}

void faro_contribution_make(const faro_contribution *c, const double *x, double y, double *z) {
  switch (c->form) {
  case FARO_FORM_MOMENTS: c->blocks > 1 ? make_blocks(c, x, y, z) : make_moments(c, x, y, z); break;
  case FARO_FORM_GRAM: make_gram(c, x, z); break;
  case FARO_FORM_REWARDS: make_rewards(c, x, y, z); break;
  case FARO_FORM_VALUES: make_values(c, x, z); break;
  case FARO_FORM_BALL: make_ball(c, x, z); break;
  }
}
