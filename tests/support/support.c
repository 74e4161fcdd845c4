/* support: see the header. */
#include "support/support.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_size_t counted;
static atomic_size_t failing;

/* Wrapped by the linker in every test (--wrap), which prescribes these names. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

static int refused(void) { return atomic_fetch_add(&counted, 1) + 1 == atomic_load(&failing); }

void *__wrap_malloc(size_t size) { return refused() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return refused() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return refused() ? NULL : __real_realloc(old, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return refused() ? NULL : __real_aligned_alloc(alignment, size);
}
char *__wrap_strdup(const char *text) { return refused() ? NULL : __real_strdup(text); }

void alloc_reset(void) {
  atomic_store(&counted, 0);
  atomic_store(&failing, 0);
}
size_t alloc_count(void) { return atomic_load(&counted); }
void alloc_fail_at(size_t number) {
  atomic_store(&counted, 0);
  atomic_store(&failing, number);
}

/* If no allocation failed, the call must have succeeded, and the failing one must have been made by
 * the call. */
void check_exhausted(size_t number, faro_status status, const faro_error *error) {
  const bool reached = alloc_count() >= number;
  alloc_reset();
  if (reached && status == FARO_OK) fail_msg("allocation %zu failed, and nobody noticed", number);
  if (!reached && status != FARO_OK) fail_msg("fails without a failing allocation: %s", error->message);
  if (number == 1 && !reached) fail_msg("nothing is allocated");
  if (status == FARO_OK) return;
  assert_int_equal(status, FARO_MEMORY);
  assert_true(error->message[0] != '\0');
}

/* Regularised upper incomplete gamma: series below a + 1, continued fraction (Lentz) above. */
static double gamma_tail(double a, double x) {
  if (x <= 0) return 1;
  const double front = exp(-x + a * log(x) - lgamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double n = a + 1; fabs(term) > fabs(sum) * 1e-16; n++) sum += term *= x / n;
    return 1 - front * sum;
  }
  double b = x + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double h = d;
  for (double i = 1; i < 10000; i++) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (fabs(d * c - 1) < 1e-16) break;
  }
  return front * h;
}

double chi_square_tail(double x, double k) { return gamma_tail(k / 2, x / 2); }
double normal_two_sided(double z) { return erfc(fabs(z) / sqrt(2)); }
double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2)); }

double ks_tail(double distance, double n) {
  const double x = distance * (sqrt(n) + 0.12 + 0.11 / sqrt(n));
  double sum = 0;
  for (int k = 1; k <= 100; k++) sum += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * x * x);
  return sum;
}

static void assert_likely(const char *what, double statistic, double p) {
  if (p < FALSE_ALARM) fail_msg("%s %g would come up with probability %g only", what, statistic, p);
}

void assert_chi_square(const double *observed, const double *expected, size_t cells) {
  double statistic = 0;
  double degrees = -1;
  double pooled[2] = {0, 0};
  for (size_t i = 0; i < cells; i++) {
    pooled[0] += observed[i];
    pooled[1] += expected[i];
    if (pooled[1] < 5 && i + 1 < cells) continue;
    if (pooled[1] > 0) statistic += (pooled[0] - pooled[1]) * (pooled[0] - pooled[1]) / pooled[1];
    else assert_true(pooled[0] == 0);
    degrees++;
    pooled[0] = pooled[1] = 0;
  }
  assert_likely("chi-square", statistic, chi_square_tail(statistic, degrees));
}

void assert_same_counts(const double *a, const double *b, size_t cells) {
  double totals[2] = {0, 0};
  for (size_t i = 0; i < cells; i++) {
    totals[0] += a[i];
    totals[1] += b[i];
  }
  const double r = sqrt(totals[1] / totals[0]);
  double statistic = 0;
  double degrees = -1;
  double pool[2] = {0, 0};
  for (size_t i = 0; i < cells; i++) {
    pool[0] += a[i];
    pool[1] += b[i];
    if (pool[0] + pool[1] < 20 && i + 1 < cells) continue;
    if (pool[0] + pool[1] == 0) continue;
    statistic += (r * pool[0] - pool[1] / r) * (r * pool[0] - pool[1] / r) / (pool[0] + pool[1]);
    degrees++;
    pool[0] = pool[1] = 0;
  }
  assert_likely("two-sample chi-square", statistic, chi_square_tail(statistic, degrees));
}

void assert_mean(double mean, double expected, double sd, double n) {
  const double z = (mean - expected) / (sd / sqrt(n));
  assert_likely("mean off by standard errors", z, normal_two_sided(z));
}

void assert_variance(double variance, double expected, double kurtosis, double n) {
  const double z = (variance / expected - 1) / sqrt((kurtosis - 1) / n);
  assert_likely("variance off by standard errors", z, normal_two_sided(z));
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

void assert_ks(double *draws, size_t n, double (*cdf)(double)) {
  qsort(draws, n, sizeof *draws, ascending);
  double distance = 0;
  for (size_t i = 0; i < n; i++) {
    const double f = cdf(draws[i]);
    distance = fmax(distance, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
  }
  assert_likely("Kolmogorov-Smirnov distance", distance, ks_tail(distance, (double)n));
}

bool lacks_data(const char *experiment) {
  char line[1000];
  char file[200] = "";
  FILE *yaml = fopen(experiment, "r");
  while (yaml && fgets(line, sizeof line, yaml)) {
    const char *found = *line == '#' ? NULL : strstr(line, "file: data/");
    if (found) sscanf(found, "file: %199[^,} \n]", file);
  }
  if (yaml) fclose(yaml);
  const bool missing = *file && access(file, R_OK) != 0;
  if (missing) print_message("%s is left out: %s is missing, which `faro data` writes\n", experiment, file);
  return missing;
}
