/* design: certificates and log-determinants against naive second computations, on easy and hard
 * sets of arms; nets against random points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

typedef __float128 quad; /* certificates of ill-conditioned sets need digits that double does not have */

static faro_sim_rng sim;

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&sim, 29, 0, FARO_ROLE_USER);
  return 0;
}

static double *feature(faro_arms *arms, size_t a, size_t i) { return arms->x + i * arms->stride + a; }

static faro_arms new_arms(size_t d, size_t count) {
  faro_arms arms = {.dimension = d, .count = count, .stride = faro_arm_stride(count), .version = 1};
  arms.x = aligned_alloc(64, d * arms.stride * sizeof *arms.x);
  assert_non_null(arms.x);
  memset(arms.x, 0, d * arms.stride * sizeof *arms.x);
  return arms;
}

static double arm_length(faro_arms *arms, size_t a) {
  double square = 0;
  for (size_t i = 0; i < arms->dimension; i++) square += *feature(arms, a, i) * *feature(arms, a, i);
  return sqrt(square);
}

static void scale_arm(faro_arms *arms, size_t a, double factor) {
  for (size_t i = 0; i < arms->dimension; i++) *feature(arms, a, i) *= factor;
}

/* The sets. */

static void fill_gaussian(faro_arms *arms) {
  for (size_t a = 0; a < arms->count; a++)
    for (size_t i = 0; i < arms->dimension; i++) *feature(arms, a, i) = faro_sim_normal(&sim);
}

static void fill_sphere(faro_arms *arms) {
  fill_gaussian(arms);
  for (size_t a = 0; a < arms->count; a++) scale_arm(arms, a, 1 / arm_length(arms, a));
}

/* Arms a, a + groups, ... in one group are `spread` apart. */
static void fill_groups(faro_arms *arms, size_t groups, double spread) {
  fill_gaussian(arms);
  for (size_t a = groups; a < arms->count; a++)
    for (size_t i = 0; i < arms->dimension; i++)
      *feature(arms, a, i) = *feature(arms, a % groups, i) + spread * *feature(arms, a, i);
}

static void fill_clustered(faro_arms *arms) { fill_groups(arms, 5, 1e-3); }
static void fill_duplicated(faro_arms *arms) { fill_groups(arms, arms->dimension + 3, 0); }

/* Rank (d + 1) / 2, and `beyond` outside of it. */
static void fill_flat(faro_arms *arms, double beyond) {
  const size_t d = arms->dimension;
  const size_t rank = (d + 1) / 2;
  faro_arms basis = new_arms(d, rank);
  fill_gaussian(&basis);
  for (size_t a = 0; a < arms->count; a++)
    for (size_t k = 0; k < rank; k++) {
      const double c = faro_sim_normal(&sim);
      for (size_t i = 0; i < d; i++)
        *feature(arms, a, i) += c * *feature(&basis, k, i) + (k == 0 ? beyond * faro_sim_normal(&sim) : 0);
    }
  free(basis.x);
}

static void fill_deficient(faro_arms *arms) { fill_flat(arms, 0); }
static void fill_nearly_deficient(faro_arms *arms) { fill_flat(arms, 1e-6); }

static void fill_collinear(faro_arms *arms) {
  for (size_t a = 0; a < arms->count; a++)
    for (size_t i = 0; i < arms->dimension; i++)
      *feature(arms, a, i) = (i == 0) + 1e-5 * faro_sim_normal(&sim);
}

/* Features of lengths 1 .. 1e-6, and arms of lengths 1 .. 1e-6 besides. */
static void fill_exponential(faro_arms *arms) {
  const double d = (double)arms->dimension;
  fill_sphere(arms);
  for (size_t a = 0; a < arms->count; a++) {
    scale_arm(arms, a, pow(10, -6.0 * (double)(a % 97) / 96));
    for (size_t i = 0; i < arms->dimension; i++) *feature(arms, a, i) *= pow(10, -6 * (double)i / d);
  }
}

static void fill_outlier(faro_arms *arms) {
  fill_sphere(arms);
  scale_arm(arms, arms->count / 2, 1e6);
}

static void fill_vandermonde(faro_arms *arms) {
  for (size_t a = 0; a < arms->count; a++) {
    const double t = 2 * ((double)a + 0.5) / (double)arms->count - 1;
    for (size_t i = 0; i < arms->dimension; i++) *feature(arms, a, i) = pow(t, (double)i);
  }
}

/* The naive check: L D L' of V in the original features and in quadruple precision, greatest pivot
 * first; pivots below 1e-25 of the first are outside the span. */

enum { QUAD_WORK = 3000000 };

typedef struct naive {
  size_t d, rank;
  size_t order[100];
  quad a[100][100];
} naive;

static void swap_axes(naive *n, size_t k, size_t p) {
  const size_t kept = n->order[k];
  n->order[k] = n->order[p];
  n->order[p] = kept;
  for (size_t i = 0; i < n->d; i++) {
    const quad t = n->a[i][k];
    n->a[i][k] = n->a[i][p];
    n->a[i][p] = t;
  }
  for (size_t i = 0; i < n->d; i++) {
    const quad t = n->a[k][i];
    n->a[k][i] = n->a[p][i];
    n->a[p][i] = t;
  }
}

static void naive_factor(naive *n) {
  quad first = 0;
  for (n->rank = 0; n->rank < n->d; n->rank++) {
    const size_t k = n->rank;
    size_t p = k;
    for (size_t i = k; i < n->d; i++)
      if (n->a[i][i] > n->a[p][p]) p = i;
    if (k == 0) first = n->a[p][p];
    if (n->a[p][p] <= first * (quad)1e-25) return;
    swap_axes(n, k, p);
    for (size_t i = k + 1; i < n->d; i++) {
      n->a[i][k] /= n->a[k][k];
      for (size_t j = k + 1; j <= i; j++) n->a[i][j] -= n->a[i][k] * n->a[k][k] * n->a[j][k];
      for (size_t j = k + 1; j < i; j++) n->a[j][i] = n->a[i][j];
    }
  }
}

static naive *naive_design(faro_arms *arms, const faro_design *design) {
  naive *n = calloc(1, sizeof *n);
  assert_non_null(n);
  n->d = arms->dimension;
  for (size_t i = 0; i < n->d; i++) n->order[i] = i;
  for (size_t s = 0; s < design->support; s++)
    for (size_t i = 0; i < n->d; i++)
      for (size_t j = 0; j < n->d; j++)
        n->a[i][j] += (quad)design->weight[s] * (quad)*feature(arms, design->arm[s], i) *
                      (quad)*feature(arms, design->arm[s], j);
  naive_factor(n);
  return n;
}

static double naive_norm(const naive *n, faro_arms *arms, size_t a) {
  quad y[100];
  quad sum = 0;
  for (size_t k = 0; k < n->rank; k++) {
    y[k] = (quad)*feature(arms, a, n->order[k]);
    for (size_t j = 0; j < k; j++) y[k] -= n->a[k][j] * y[j];
    sum += y[k] * y[k] / n->a[k][k];
  }
  return (double)sum;
}

/* The greatest norm, over all arms or over as many as can be checked quickly. */
static void check_certificate(faro_arms *arms, const faro_design *design) {
  naive *n = naive_design(arms, design);
  assert_int_equal(n->rank, design->rank);
  const size_t step = 1 + arms->count * n->d * n->d / 2 / QUAD_WORK;
  double greatest = 0;
  for (size_t a = 0; a < arms->count; a += step) greatest = fmax(greatest, naive_norm(n, arms, a));
  const double m = (double)design->rank;
  if (step == 1) assert_close(greatest / m, design->certificate / m, 1e-5);
  else assert_true(greatest <= design->certificate * (1 + 1e-5));
  free(n);
}

static void check_design(const faro_design *design, double target) {
  const double m = (double)design->rank;
  double total = 0;
  assert_true(design->certificate >= m * (1 - 1e-6)); /* no design has less */
  assert_true(design->certificate <= target * m);
  assert_true(design->support >= design->rank);
  if (target >= 2) assert_true(design->support <= faro_design_bound(design->rank));
  for (size_t s = 0; s < design->support; s++) {
    assert_true(design->weight[s] > 0);
    assert_true(s == 0 || design->place[s] > design->place[s - 1]);
    total += design->weight[s];
  }
  assert_close(total, 1, 1e-12);
}

static faro_designer *new_designer(size_t d, size_t count) {
  faro_designer *designer = NULL;
  assert_ok(faro_designer_create(&designer, d, count, error));
  return designer;
}

static const faro_design *find(faro_designer *designer, const faro_arms *arms, double target) {
  const faro_design *design = NULL;
  assert_ok(faro_design_find(designer, arms, NULL, 0, target, &design, error));
  return design;
}

typedef struct set {
  const char *name;
  void (*fill)(faro_arms *arms);
  size_t most; /* the greatest dimension in which the set is, to double precision, what its name says */
} set;

static const set sets[] = {
    {"sphere", fill_sphere, 100},       {"gaussian", fill_gaussian, 100},
    {"clustered", fill_clustered, 100}, {"duplicated", fill_duplicated, 100},
    {"deficient", fill_deficient, 100}, {"nearly deficient", fill_nearly_deficient, 100},
    {"collinear", fill_collinear, 100}, {"exponential", fill_exponential, 20},
    {"outlier", fill_outlier, 100},     {"vandermonde", fill_vandermonde, 10}};

static void test_design__certificate_and_support_hold_on_easy_and_hard_sets(void **state) {
  (void)state;
  slow_test();
  const size_t dimension[] = {1, 2, 3, 5, 10, 20, 50, 100};
  const double target[] = {2, 1.05};
  for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
    for (size_t n = 0; n < 8 && dimension[n] <= sets[s].most; n++) {
      const size_t d = dimension[n];
      const size_t count = 20 * d < 400 ? 400 : 20 * d;
      faro_arms arms = new_arms(d, count);
      faro_designer *designer = new_designer(d, count);
      sets[s].fill(&arms);
      for (size_t t = 0; t < (d > 20 ? 1 : 2); t++) {
        const faro_design *design = find(designer, &arms, target[t]);
        check_design(design, target[t]);
        check_certificate(&arms, design);
      }
      faro_designer_destroy(designer);
      free(arms.x);
    }
}

/* Beyond the dimensions above, these sets have directions of every length down to rounding. */
static void test_design__has_a_certificate_even_if_the_rank_is_ambiguous(void **state) {
  (void)state;
  void (*const fill[])(faro_arms *) = {fill_vandermonde, fill_exponential};
  for (size_t s = 0; s < 2; s++) {
    faro_arms arms = new_arms(60, 1000);
    faro_designer *designer = new_designer(60, 1000);
    fill[s](&arms);
    check_design(find(designer, &arms, 2), 2);
    check_design(find(designer, &arms, 1.1), 1.1);
    faro_designer_destroy(designer);
    free(arms.x);
  }
}

static void test_design__large_sets_have_certificates(void **state) {
  (void)state;
  slow_test();
  const size_t dimension[] = {20, 100};
  for (size_t n = 0; n < 2; n++) {
    faro_arms arms = new_arms(dimension[n], 100000);
    faro_designer *designer = new_designer(dimension[n], 100000);
    fill_sphere(&arms);
    const faro_design *design = find(designer, &arms, 2);
    check_design(design, 2);
    check_certificate(&arms, design);
    assert_true(design->support <= 2 * dimension[n]);
    faro_designer_destroy(designer);
    free(arms.x);
  }
}

/* ln det V of the best design by the multiplicative algorithm, pi_a := pi_a g_a / d, from equal
 * weights on all. */
static double reference_log_det(faro_arms *arms, size_t turns) {
  const size_t d = arms->dimension;
  faro_spd *spd = NULL;
  assert_ok(faro_spd_create(&spd, d, error));
  double *pi = calloc(arms->count, sizeof *pi);
  double *v = calloc(faro_packed(d), sizeof *v);
  double *w = calloc(faro_packed(d), sizeof *w);
  double log_det = 0;
  for (size_t a = 0; a < arms->count; a++) pi[a] = 1 / (double)arms->count;
  for (size_t turn = 0; turn < turns; turn++) {
    memset(v, 0, faro_packed(d) * sizeof *v);
    for (size_t a = 0; a < arms->count; a++)
      for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
          v[faro_packed(i) + j] += pi[a] * *feature(arms, a, i) * *feature(arms, a, j);
    assert_true(faro_spd_whiten(spd, v, w));
    log_det = 0;
    for (size_t i = 0; i < d; i++) log_det -= 2 * log(w[faro_diagonal(i)]);
    for (size_t a = 0; a < arms->count; a++) {
      double g = 0;
      for (size_t i = 0; i < d; i++) {
        double t = 0;
        for (size_t j = 0; j <= i; j++) t += w[faro_packed(i) + j] * *feature(arms, a, j);
        g += t * t;
      }
      pi[a] *= g / (double)d;
    }
  }
  free(pi);
  free(v);
  free(w);
  faro_spd_destroy(spd);
  return log_det;
}

static void test_design__log_determinant_is_that_of_a_plain_solver(void **state) {
  (void)state;
  slow_test();
  void (*const fill[])(faro_arms *) = {fill_sphere, fill_gaussian, fill_exponential, fill_outlier};
  const size_t dimension[] = {2, 3, 6};
  for (size_t s = 0; s < 4; s++)
    for (size_t n = 0; n < 3; n++) {
      const size_t d = dimension[n];
      faro_arms arms = new_arms(d, 60);
      faro_designer *designer = new_designer(d, 60);
      fill[s](&arms);
      const faro_design *design = find(designer, &arms, 1.0001);
      check_design(design, 1.0001);
      assert_true(design->support <= d * (d + 1) / 2);
      assert_close(design->log_det, reference_log_det(&arms, 30000), 1e-3);
      faro_designer_destroy(designer);
      free(arms.x);
    }
}

/* The same arms, turned into a subspace of more dimensions by a reflection, scaled by a power of
 * two. */
static void test_design__does_not_depend_on_rotation_and_scale(void **state) {
  (void)state;
  enum { SMALL = 4, LARGE = 9, COUNT = 300 };
  faro_arms arms = new_arms(SMALL, COUNT);
  faro_arms turned = new_arms(LARGE, COUNT);
  faro_arms stretched = new_arms(SMALL, COUNT);
  fill_gaussian(&arms);
  double h[LARGE];
  double square = 0;
  for (size_t i = 0; i < LARGE; i++) {
    h[i] = faro_sim_normal(&sim);
    square += h[i] * h[i];
  }
  for (size_t a = 0; a < COUNT; a++) {
    double dot = 0;
    for (size_t i = 0; i < SMALL; i++) dot += h[i] * *feature(&arms, a, i);
    for (size_t i = 0; i < LARGE; i++)
      *feature(&turned, a, i) = (i < SMALL ? *feature(&arms, a, i) : 0) - 2 * h[i] * dot / square;
    for (size_t i = 0; i < SMALL; i++) *feature(&stretched, a, i) = ldexp(*feature(&arms, a, i), 700);
  }
  faro_designer *designer[3] = {new_designer(SMALL, COUNT), new_designer(LARGE, COUNT),
                                new_designer(SMALL, COUNT)};
  const faro_design *plain = find(designer[0], &arms, 1.001);
  const faro_design *other[2] = {find(designer[1], &turned, 1.001), find(designer[2], &stretched, 1.001)};
  const double stretch[2] = {0, 2 * SMALL * 700 * log(2)};
  for (int k = 0; k < 2; k++) {
    assert_int_equal(other[k]->rank, SMALL);
    assert_int_equal(other[k]->support, plain->support);
    assert_memory_equal(other[k]->arm, plain->arm, plain->support * sizeof *plain->arm);
    assert_close(other[k]->certificate, plain->certificate, 1e-8);
    assert_close(other[k]->log_det - stretch[k], plain->log_det, 1e-8);
  }
  for (int k = 0; k < 3; k++) faro_designer_destroy(designer[k]);
  free(arms.x);
  free(turned.x);
  free(stretched.x);
}

static void test_design__finds_known_optima(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 7, 30};
  for (size_t n = 0; n < 5; n++) {
    const size_t d = dimension[n];
    const double dd = (double)d;
    faro_arms axes = new_arms(d, 2 * d); /* e_i and -e_i */
    /* vertices less their mean: rank d, equal weights are optimal */
    faro_arms simplex = new_arms(d + 1, d + 1);
    for (size_t i = 0; i < d; i++) {
      *feature(&axes, i, i) = 1;
      *feature(&axes, d + i, i) = -1;
    }
    for (size_t a = 0; a <= d; a++)
      for (size_t i = 0; i <= d; i++) *feature(&simplex, a, i) = (a == i) - 1 / (dd + 1);
    faro_designer *designer = new_designer(d, 2 * d);
    const faro_design *design = find(designer, &axes, 1.001);
    assert_int_equal(design->support, d);
    assert_close(design->certificate, dd, 1e-12 * dd);
    assert_close(design->log_det, -dd * log(dd), 1e-10 * dd);
    faro_designer_destroy(designer);
    designer = new_designer(d + 1, d + 1);
    design = find(designer, &simplex, 1.0001);
    assert_int_equal(design->rank, d);
    if (d > 1) assert_int_equal(design->support, d + 1);
    for (size_t s = 0; d > 1 && s < design->support; s++)
      assert_close(design->weight[s], 1 / (dd + 1), 0.01 / (dd + 1));
    faro_designer_destroy(designer);
    free(axes.x);
    free(simplex.x);
  }
}

static void test_design__depends_on_active_arms_only(void **state) {
  (void)state;
  enum { D = 6, COUNT = 500, ACTIVE = 120 };
  faro_arms arms = new_arms(D, COUNT);
  faro_arms few = new_arms(D, ACTIVE);
  fill_gaussian(&arms);
  size_t active[ACTIVE];
  for (size_t n = 0; n < ACTIVE; n++) {
    active[n] = 4 * n + 3;
    for (size_t i = 0; i < D; i++) *feature(&few, n, i) = *feature(&arms, active[n], i);
  }
  faro_designer *designer[2] = {new_designer(D, COUNT), new_designer(D, ACTIVE)};
  const faro_design *design = NULL;
  (void)find(designer[0], &arms, 1.1); /* an earlier search has no effect */
  assert_ok(faro_design_find(designer[0], &arms, active, ACTIVE, 1.1, &design, error));
  const faro_design *alone = find(designer[1], &few, 1.1);
  assert_int_equal(design->support, alone->support);
  assert_int_equal(design->coordinates->count, ACTIVE);
  assert_memory_equal(design->weight, alone->weight, alone->support * sizeof *alone->weight);
  for (size_t s = 0; s < design->support; s++) {
    assert_int_equal(design->place[s], alone->arm[s]);
    assert_int_equal(design->arm[s], active[alone->arm[s]]);
  }
  for (int k = 0; k < 2; k++) faro_designer_destroy(designer[k]);
  free(arms.x);
  free(few.x);
}

static void assert_refused(faro_designer *designer, const faro_arms *arms, const size_t *active, size_t count,
                           double target, const char *why) {
  faro_error error = {0};
  const faro_design *design = NULL;
  assert_int_equal(faro_design_find(designer, arms, active, count, target, &design, &error), FARO_INVALID);
  assert_null(design);
  if (!strstr(error.message, why)) fail_msg("'%s' does not say '%s'", error.message, why);
}

static void test_design__refuses_bad_input_and_says_which_arm(void **state) {
  (void)state;
  faro_arms arms = new_arms(3, 20);
  faro_arms zero = new_arms(3, 20);
  faro_arms other = new_arms(4, 20);
  faro_designer *designer = new_designer(3, 20);
  const size_t active[] = {1, 20};
  fill_gaussian(&arms);
  assert_refused(designer, &arms, NULL, 0, 1, "target must be at least");
  assert_refused(designer, &arms, NULL, 0, (double)NAN, "target must be at least");
  assert_refused(designer, &arms, active, 0, 2, "active arms must be 1 .. 20 (got 0)");
  assert_refused(designer, &arms, active, 21, 2, "(got 21)");
  assert_refused(designer, &arms, active, 2, 2, "active arm must be below 20");
  assert_refused(designer, &zero, NULL, 0, 2, "must not all be zero");
  assert_refused(designer, &other, NULL, 0, 2, "dimension 3 (got 4)");
  *feature(&arms, 7, 2) = (double)INFINITY;
  assert_refused(designer, &arms, NULL, 0, 2, "arm 7 must be finite (its feature 2 is inf)");
  faro_designer_destroy(designer);
  free(arms.x);
  free(zero.x);
  free(other.x);
  const size_t absurd[][2] = {{0, 5}, {FARO_DIMENSION_MAX + 1, 5}, {5, 0}, {5, SIZE_MAX}};
  for (size_t n = 0; n < 4; n++) {
    faro_error error = {0};
    designer = NULL;
    assert_int_equal(faro_designer_create(&designer, absurd[n][0], absurd[n][1], &error), FARO_INVALID);
    assert_null(designer);
  }
}

static void test_design__survives_exhaustion_and_searches_without_allocating(void **state) {
  (void)state;
  faro_designer *designer = NULL;
  size_t n = 1;
  for (;; n++) {
    faro_error error = {0};
    alloc_fail_at(n);
    const faro_status status = faro_designer_create(&designer, 5, 300, &error);
    alloc_reset();
    if (status == FARO_OK) break;
    assert_int_equal(status, FARO_MEMORY);
    assert_null(designer);
  }
  assert_true(n > 10);
  faro_arms arms = new_arms(5, 300);
  fill_sphere(&arms);
  alloc_reset();
  (void)find(designer, &arms, 1.0001); /* with Caratheodory */
  assert_int_equal(alloc_count(), 0);
  faro_designer_destroy(designer);
  faro_designer_destroy(NULL);
  free(arms.x);
  for (n = 1; n <= 2; n++) {
    faro_points *points = NULL;
    faro_error error = {0};
    alloc_fail_at(n);
    assert_int_equal(faro_points_net(&points, FARO_SPHERE, 2, 0.5, &error), FARO_MEMORY);
    alloc_reset();
    assert_null(points);
  }
  faro_points_destroy(NULL);
}

/* A random point of the sphere or ball; every third is near an axis or a diagonal, where nets are
 * worst. */
static void random_point(faro_shape shape, size_t d, size_t turn, double *x) {
  double square = 0;
  for (size_t i = 0; i < d; i++) {
    x[i] = (turn % 3 == 1) + (turn % 3 == 2 && i == 0 ? 20 : 0) + faro_sim_normal(&sim);
    square += x[i] * x[i];
  }
  const double radius = shape == FARO_SPHERE ? 1 : pow(faro_sim_uniform(&sim), 1 / (double)d);
  for (size_t i = 0; i < d; i++) x[i] *= radius / sqrt(square);
}

static double distance_to(const faro_arms *net, const double *x) {
  double least = INFINITY;
  for (size_t a = 0; a < net->count; a++) {
    double square = 0;
    for (size_t i = 0; i < net->dimension; i++) {
      const double difference = net->x[i * net->stride + a] - x[i];
      square += difference * difference;
    }
    least = fmin(least, square);
  }
  return sqrt(least);
}

static void check_net(faro_shape shape, size_t d, double zeta) {
  faro_points *points = NULL;
  assert_ok(faro_points_net(&points, shape, d, zeta, error));
  faro_arms net = *faro_points_arms(points);
  assert_close((double)net.count, faro_net_size(shape, d, zeta), 0);
  for (size_t a = 0; a < net.count; a++) {
    const double length = arm_length(&net, a);
    assert_true(length <= 1 + 1e-15 * (double)d);
    if (shape == FARO_SPHERE) assert_close(length, 1, 1e-15 * (double)d);
  }
  double x[8];
  double worst = 0;
  for (size_t turn = 0; turn < 600; turn++) {
    random_point(shape, d, turn, x);
    worst = fmax(worst, distance_to(&net, x));
  }
  assert_true(worst <= zeta * (1 + 1e-12));
  faro_points_destroy(points);
}

static void test_net__every_point_is_within_zeta(void **state) {
  (void)state;
  const double zeta[] = {1, 0.7, 0.3, 0.11, 0.013};
  for (size_t d = 1; d <= 6; d++)
    for (size_t n = 0; n < 5; n++)
      for (int shape = FARO_SPHERE; shape <= FARO_BALL; shape++)
        if (faro_net_size((faro_shape)shape, d, zeta[n]) <= 30000) check_net((faro_shape)shape, d, zeta[n]);
  check_net(FARO_BALL, 2, 0.0025); /* a large one */
}

static void test_net__refuses_what_is_too_large_and_names_what_fits(void **state) {
  (void)state;
  for (int shape = FARO_SPHERE; shape <= FARO_BALL; shape++)
    for (size_t d = 2; d <= 5; d++) {
      faro_points *points = NULL;
      faro_error error = {0};
      const double zeta = 1e-4;
      if (faro_net_size((faro_shape)shape, d, zeta) <= FARO_POINTS_MAX) continue;
      assert_int_equal(faro_points_net(&points, (faro_shape)shape, d, zeta, &error), FARO_INVALID);
      assert_null(points);
      const char *smallest = strstr(error.message, "smallest zeta for it is ");
      const char *largest = strstr(error.message, "largest dimension for this zeta is ");
      assert_non_null(smallest);
      assert_non_null(largest);
      const double fits = strtod(smallest + strlen("smallest zeta for it is "), NULL);
      const size_t most = strtoul(largest + strlen("largest dimension for this zeta is "), NULL, 10);
      assert_true(faro_net_size((faro_shape)shape, d, fits) <= FARO_POINTS_MAX);
      assert_true(faro_net_size((faro_shape)shape, d, 0.8 * fits) > FARO_POINTS_MAX);
      assert_true(most < d && faro_net_size((faro_shape)shape, most, zeta) <= FARO_POINTS_MAX);
      assert_true(faro_net_size((faro_shape)shape, most + 1, zeta) > FARO_POINTS_MAX);
    }
  const struct {
    size_t d;
    double zeta;
    const char *why;
  } bad[] = {
      {0, 0.5, "dimension"},     {1001, 0.5, "dimension"},       {3, 0, "zeta must be"},
      {3, 1.5, "zeta must be"},  {3, (double)NAN, "zeta must"},  {3, 1e-300, "no dimension fits"},
      {1000, 1, "no zeta fits"}, {1000, 1e-300, "no zeta fits"}, {1, 1e-7, "needs about 1e+07 points"}};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    faro_points *points = NULL;
    faro_error error = {0};
    assert_int_equal(faro_points_net(&points, FARO_BALL, bad[n].d, bad[n].zeta, &error), FARO_INVALID);
    if (!strstr(error.message, bad[n].why)) fail_msg("'%s' does not say '%s'", error.message, bad[n].why);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_design__certificate_and_support_hold_on_easy_and_hard_sets),
      cmocka_unit_test(test_design__has_a_certificate_even_if_the_rank_is_ambiguous),
      cmocka_unit_test(test_design__large_sets_have_certificates),
      cmocka_unit_test(test_design__log_determinant_is_that_of_a_plain_solver),
      cmocka_unit_test(test_design__does_not_depend_on_rotation_and_scale),
      cmocka_unit_test(test_design__finds_known_optima),
      cmocka_unit_test(test_design__depends_on_active_arms_only),
      cmocka_unit_test(test_design__refuses_bad_input_and_says_which_arm),
      cmocka_unit_test(test_design__survives_exhaustion_and_searches_without_allocating),
      cmocka_unit_test(test_net__every_point_is_within_zeta),
      cmocka_unit_test(test_net__refuses_what_is_too_large_and_names_what_fits),
  };
  return cmocka_run_group_tests(tests, open_stream, NULL);
}
