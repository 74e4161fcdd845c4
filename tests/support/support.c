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

/* What has no seed must not fail by chance. A cell then has enough draws for the tail of its limit
 * to be that of the statistic, too. */
static const struct { double rate, cell; } with_seed = {FALSE_ALARM, 5}, without_seed = {1e-15, 50};
static bool no_seed;

void unseeded(bool from_now_on) { no_seed = from_now_on; }
static double false_alarm(void) { return no_seed ? without_seed.rate : with_seed.rate; }
static double least_cell(void) { return no_seed ? without_seed.cell : with_seed.cell; }

static void assert_likely(const char *what, double statistic, double p) {
  if (p < false_alarm()) fail_msg("%s %g would come up with probability %g only", what, statistic, p);
}

/* Pools neighbouring cells until `least` are expected: b of them, or with `both` a and b together.
 * What is left at the end joins the last pool. Returns the number of pools; free() them. */
static size_t pool_cells(const double *a, const double *b, size_t cells, bool both, double least,
                         double (**pools)[2]) {
  size_t count = 0;
  double here[2] = {0, 0};
  *pools = calloc(cells + 1, sizeof **pools);
  assert_non_null(*pools);
  for (size_t i = 0; i < cells; i++) {
    here[0] += a[i];
    here[1] += b[i];
    if (here[1] + (both ? here[0] : 0) < least) continue;
    memcpy((*pools)[count++], here, sizeof here);
    here[0] = here[1] = 0;
  }
  for (int side = 0; side < 2 && count > 0; side++) (*pools)[count - 1][side] += here[side];
  return count;
}

void assert_chi_square(const double *observed, const double *expected, size_t cells) {
  double(*pool)[2];
  double statistic = 0;
  for (size_t i = 0; i < cells; i++) assert_true(expected[i] > 0 || observed[i] == 0);
  const size_t pools = pool_cells(observed, expected, cells, false, least_cell(), &pool);
  for (size_t i = 0; i < pools; i++) statistic += pow(pool[i][0] - pool[i][1], 2) / pool[i][1];
  free(pool);
  assert_likely("chi-square", statistic, chi_square_tail(statistic, (double)pools - 1));
}

void assert_same_counts(const double *a, const double *b, size_t cells) {
  double(*pool)[2];
  double totals[2] = {0, 0}, statistic = 0;
  for (size_t i = 0; i < cells; i++) {
    totals[0] += a[i];
    totals[1] += b[i];
  }
  const double r = sqrt(totals[1] / totals[0]);
  const size_t pools = pool_cells(a, b, cells, true, 4 * least_cell(), &pool);
  for (size_t i = 0; i < pools; i++)
    statistic += pow(r * pool[i][0] - pool[i][1] / r, 2) / (pool[i][0] + pool[i][1]);
  free(pool);
  assert_likely("two-sample chi-square", statistic, chi_square_tail(statistic, (double)pools - 1));
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
