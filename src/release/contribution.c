/* contribution: clips x and y, then makes z = ( vech(x x'), x y ), or one of the two, or x. */
#include <faro/contribution.h>
#include <faro/linalg.h>

#include <math.h>

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
  if (!(norm > 0 && norm < INFINITY))
    return faro_fail(error, FARO_INVALID, "norm must be above 0 (got %g): it bounds the features", norm);
  return FARO_OK;
}

faro_status faro_contribution_init(faro_contribution *c, size_t dimension, double norm, double low,
                                   double high, faro_error *error) {
  const faro_status status = check_features(dimension, norm, error);
  if (status != FARO_OK) return status;
  if (!(low < high && isfinite(low) && isfinite(high)))
    return faro_fail(error, FARO_INVALID, "rewards need an interval low < high (got [%g, %g])", low, high);
  const double reward = fmax(fabs(low), fabs(high));
  *c = (faro_contribution){.form = FARO_FORM_MOMENTS,
                           .dimension = dimension,
                           .gram = faro_packed(dimension),
                           .length = faro_packed(dimension) + dimension,
                           .norm = norm,
                           .low = low,
                           .high = high,
                           .entry = fmax(norm * norm, norm * reward),
                           .sensitivity = sensitivity_of(norm, low, high)};
  c->absolute = sqrt((double)c->length) * c->sensitivity;
  return FARO_OK;
}

/* The first term above: a^2 + b^2 - 2 c^2 <= 2 L^4, at orthogonal x and v. */
faro_status faro_contribution_gram(faro_contribution *c, size_t dimension, double norm, faro_error *error) {
  const faro_status status = check_features(dimension, norm, error);
  if (status != FARO_OK) return status;
  const double square = norm * norm;
  *c = (faro_contribution){.form = FARO_FORM_GRAM,
                           .dimension = dimension,
                           .gram = faro_packed(dimension),
                           .length = faro_packed(dimension),
                           .norm = norm,
                           .entry = square,
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
                           .length = count,
                           .norm = radius,
                           .entry = radius,
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
                           .length = count,
                           .norm = root / 2,
                           .low = -0.5,
                           .high = 0.5,
                           .entry = 0.5,
                           .sensitivity = root,
                           .absolute = (double)count};
  return FARO_OK;
}

/* The factor that scales x back to the norm; 0 if x is not finite. */
static double shrink(const faro_contribution *c, const double *x) {
  double square = 0;
  for (size_t i = 0; i < c->dimension; i++) square += x[i] * x[i];
  if (square <= c->norm * c->norm) return 1;
  return square < INFINITY ? c->norm / sqrt(square) : 0;
}

static double clip(const faro_contribution *c, double y) { /* NaN: low */
  return y >= c->low ? (y <= c->high ? y : c->high) : c->low;
}

static void make_values(const faro_contribution *c, const double *x, double *z) {
  for (size_t i = 0; i < c->length; i++) z[i] = c->binary ? (x[i] > 0 ? c->high : c->low) : clip(c, x[i]);
}

static void make_ball(const faro_contribution *c, const double *x, double *z) {
  const double factor = shrink(c, x);
  for (size_t i = 0; i < c->dimension; i++) z[i] = factor > 0 ? factor * x[i] : 0;
}

static void make_gram(const faro_contribution *c, const double *x, double *z) {
  const double factor = shrink(c, x);
  for (size_t i = 0; i < c->dimension; i++)
    for (size_t j = 0; j <= i; j++) *z++ = factor > 0 ? factor * x[i] * (factor * x[j]) : 0;
}

static void make_moments(const faro_contribution *c, const double *x, double y, double *z) {
  const double reward = clip(c, y);
  double *moment = z + c->gram;
  make_ball(c, x, moment);
  for (size_t i = 0; i < c->dimension; i++)
    for (size_t j = 0; j <= i; j++) *z++ = moment[i] * moment[j];
  for (size_t i = 0; i < c->dimension; i++) moment[i] *= reward;
}

void faro_contribution_make(const faro_contribution *c, const double *x, double y, double *z) {
  switch (c->form) {
  case FARO_FORM_MOMENTS: make_moments(c, x, y, z); break;
  case FARO_FORM_GRAM: make_gram(c, x, z); break;
  case FARO_FORM_VALUES: make_values(c, x, z); break;
  case FARO_FORM_BALL: make_ball(c, x, z); break;
  }
}
