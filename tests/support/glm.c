/* glm: see the header. */
#include "support/glm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learner/optimism.h"

enum { D = GLM_DIMENSION };

/* ---- the world */

void glm_open(glm_world *w, size_t arms, uint64_t seed) {
  assert_true(faro_arm_stride(arms) == GLM_STRIDE);
  *w = (glm_world){.arms = {.dimension = D, .count = arms, .stride = GLM_STRIDE}};
  w->arms.x = w->x;
  faro_sim_open(&w->context, seed, 0, FARO_ROLE_CONTEXT);
  faro_sim_open(&w->reward, seed, 0, FARO_ROLE_REWARD);
  faro_sim_open(&w->luck, seed, 0, FARO_ROLE_LUCK);
  faro_sim_open(&w->noise, seed, 0, FARO_ROLE_USER);
}

void glm_offer(glm_world *w) {
  for (size_t a = 0; a < w->arms.count; a++) {
    double g[D];
    for (size_t i = 0; i < D; i++) g[i] = faro_sim_normal(&w->context);
    const double scale = cbrt(faro_sim_uniform(&w->context)) / sqrt(glm_dot(g, g));
    for (size_t i = 0; i < D; i++) w->x[i * GLM_STRIDE + a] = scale * g[i];
  }
  w->arms.version++;
}

void glm_arm(const glm_world *w, size_t arm, double x[D]) {
  for (size_t i = 0; i < D; i++) x[i] = w->x[i * GLM_STRIDE + arm];
}

double glm_mean(faro_link link, double z) {
  return link == FARO_LINK_LOGISTIC ? 1 / (1 + exp(-z)) : erfc(-z / sqrt(2)) / 2;
}

double glm_slope(faro_link link, double z) {
  return link == FARO_LINK_LOGISTIC ? 1 / (2 + exp(z) + exp(-z)) : exp(-z * z / 2) / sqrt(2 * acos(-1));
}

/* ---- algebra */

double glm_dot(const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += a[i] * b[i];
  return sum;
}

double glm_square(const glm_matrix a, const double *x) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += x[i] * glm_dot(a[i], x);
  return sum;
}

void glm_invert(const glm_matrix a, glm_matrix inverse) {
  double t[D][2 * D] = {{0}};
  for (size_t i = 0; i < D; i++) {
    memcpy(t[i], a[i], sizeof a[i]);
    t[i][D + i] = 1;
  }
  for (size_t k = 0; k < D; k++) {
    const double pivot = t[k][k];
    for (size_t j = 0; j < 2 * D; j++) t[k][j] /= pivot;
    for (size_t i = 0; i < D; i++) {
      const double factor = i == k ? 0 : t[i][k];
      for (size_t j = 0; j < 2 * D; j++) t[i][j] -= factor * t[k][j];
    }
  }
  for (size_t i = 0; i < D; i++) memcpy(inverse[i], t[i] + D, sizeof inverse[i]);
}

void glm_multiply(const glm_matrix a, const glm_matrix b, glm_matrix ab) {
  glm_matrix c = {{0}};
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++)
      for (size_t k = 0; k < D; k++) c[i][j] += a[i][k] * b[k][j];
  memcpy(ab, c, sizeof c);
}

/* Jacobi's rotations. */
void glm_eigen(const glm_matrix a, double value[D], glm_matrix Q) {
  glm_matrix s;
  memcpy(s, a, sizeof s);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) Q[i][j] = i == j;
  for (int sweep = 0; sweep < 30; sweep++)
    for (size_t p = 0; p < D; p++)
      for (size_t q = p + 1; q < D; q++) {
        const double angle = 0.5 * atan2(2 * s[p][q], s[p][p] - s[q][q]);
        glm_matrix J = {{0}};
        glm_matrix transposed;
        for (size_t i = 0; i < D; i++) J[i][i] = i == p || i == q ? cos(angle) : 1;
        J[p][q] = -sin(angle);
        J[q][p] = sin(angle);
        for (size_t i = 0; i < D; i++)
          for (size_t j = 0; j < D; j++) transposed[i][j] = J[j][i];
        glm_multiply(transposed, s, s);
        glm_multiply(s, J, s);
        glm_multiply(Q, J, Q);
      }
  for (size_t i = 0; i < D; i++) value[i] = s[i][i];
}

void glm_extremes(const glm_matrix a, double *least, double *greatest) {
  double value[D];
  glm_matrix Q;
  glm_eigen(a, value, Q);
  *least = fmin(value[0], fmin(value[1], value[2]));
  *greatest = fmax(value[0], fmax(value[1], value[2]));
}

void glm_unpack(const double packed[GLM_PACKED], double ridge, glm_matrix a) {
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++)
      a[i][j] = packed[i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] + (i == j ? ridge : 0);
}

void glm_add(double sum[GLM_PACKED], const double *x, double weight) {
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j <= i; j++) sum[i * (i + 1) / 2 + j] += weight * x[i] * x[j];
}

/* ---- creation */

faro_status glm_try(const faro_learner_kind *kind, const faro_asker_params *params, faro_error *error) {
  faro_asker *asker = NULL;
  faro_watcher *watcher = NULL;
  const faro_status status = kind->protocol == FARO_PROTOCOL_ASKER
                                 ? faro_asker_create(&asker, kind, params, error)
                                 : faro_watcher_create(&watcher, kind, params, error);
  assert_true((status == FARO_OK) == (asker || watcher));
  faro_asker_destroy(asker);
  faro_watcher_destroy(watcher);
  return status;
}

static void assert_refused(const faro_learner_kind *kind, const faro_asker_params *bad, const char *start) {
  faro_error error = {0};
  assert_int_equal(glm_try(kind, bad, &error), FARO_INVALID);
  if (strncmp(error.message, start, strlen(start)) != 0) fail_msg("%s: %s", kind->name, error.message);
}

void glm_assert_creation(const faro_learner_kind *kind, const faro_asker_params *good) {
  faro_asker_params bad[6] = {*good, *good, *good, *good, *good, *good};
  bad[0].bound = 0;
  bad[1].bound = -1;
  bad[2].kappa = (double)INFINITY;
  bad[3].offers = 0;
  bad[4].horizon = 0;
  bad[5].dimension = 0;
  char flat[80];
  snprintf(flat, sizeof flat, "norm must be smaller: at %g the link is flat (slope 0)", good->bound);
  const char *const start[] = {"bound must", "bound must",   flat,
                               "arms must",  "horizon must", "dimension must"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_refused(kind, &bad[i], start[i]);
  const faro_optimism wrong[] = {{0}, {-1}, {(double)NAN}};
  for (size_t i = 0; kind->settings && i < sizeof wrong / sizeof *wrong; i++) {
    faro_asker_params p = *good;
    p.settings = &wrong[i];
    assert_refused(kind, &p, "optimism must");
  }
  assert_survives_exhaustion(glm_try(kind, good, error));
}
