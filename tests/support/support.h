/* support: what all tests share: allocations that fail on demand or are counted, and statistics
 * with a stated false-alarm rate.
 *
 * Statistical tests use fixed seeds, so they always pass or always fail. The rate says how likely a
 * correct program was to fail when the seed was chosen. Each check here uses FALSE_ALARM. Noise of
 * a deployment has no seed: unseeded(). */
#ifndef FARO_TESTS_SUPPORT_H
#define FARO_TESTS_SUPPORT_H

/* cmocka needs these first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <faro/faro.h>

#define FALSE_ALARM 1e-6

/* Skips the rest of the test unless FARO_SLOW_TESTS is set: `make test` leaves it out, `make
 * check-all` runs it. */
#define slow_test()                                                                                          \
  do {                                                                                                       \
    if (!getenv("FARO_SLOW_TESTS")) skip();                                                                  \
  } while (0)
/* The same, but FARO_CHECK_TESTS is enough: `make check-all` runs it, also under the sanitizers. */
#define check_test()                                                                                         \
  do {                                                                                                       \
    if (!getenv("FARO_CHECK_TESTS")) slow_test();                                                            \
  } while (0)

/* Whether an experiment (its path) reads a file data/NAME.csv that is not there; says so. `faro
 * data` writes them, from packages that need not be installed. */
bool lacks_data(const char *experiment);

/* Allocations by the code under test. */
void alloc_reset(void);
size_t alloc_count(void); /* since the reset */
/* the number-th allocation from now (counted from 1) fails; 0: no failure */
void alloc_fail_at(size_t number);

/* From now on, or no longer: draws come from the system, and each of the checks below fails a
 * correct program with probability 1e-15, also far out in its limit's tail (less than 1e-9 for all
 * checks of all tests). */
void unseeded(bool from_now_on);

/* Upper tail of chi-square with k degrees of freedom. */
double chi_square_tail(double x, double k);
/* P(|Z| > z) of a standard normal. */
double normal_two_sided(double z);
/* Asymptotic tail of the Kolmogorov-Smirnov statistic of n draws. */
double ks_tail(double distance, double n);

/* Asserts that observed counts fit expected ones; cells with fewer than 5 expected are pooled. */
void assert_chi_square(const double *observed, const double *expected, size_t cells);
/* Asserts that two samples of counts come from one distribution. */
void assert_same_counts(const double *a, const double *b, size_t cells);
/* Asserts that the mean of n draws with standard deviation sd fits. */
void assert_mean(double mean, double expected, double sd, double n);
/* Asserts that the variance of n draws fits; kurtosis 3 for a normal, less for flatter ones. */
void assert_variance(double variance, double expected, double kurtosis, double n);
/* Asserts that n sorted draws fit a distribution function. */
void assert_ks(double *draws, size_t n, double (*cdf)(double));
double normal_cdf(double x);

#define assert_ok(call)                                                                                      \
  do {                                                                                                       \
    faro_error error_ = {0};                                                                                 \
    faro_error *error = &error_;                                                                             \
    if ((call) != FARO_OK) fail_msg("%s", error->message);                                                   \
  } while (0)

/* Makes the call with its first allocation failing, then with its second, and so on until no
 * allocation fails and it succeeds. Until then it must fail with FARO_MEMORY and a message. The
 * caller owns what it finally made. */
#define assert_survives_exhaustion(call)                                                                     \
  do {                                                                                                       \
    faro_status status_ = FARO_MEMORY;                                                                       \
    for (size_t number_ = 1; status_ != FARO_OK; number_++) {                                                \
      faro_error error_ = {0};                                                                               \
      faro_error *error = &error_;                                                                           \
      alloc_fail_at(number_);                                                                                \
      status_ = (call);                                                                                      \
      check_exhausted(number_, status_, error);                                                              \
    }                                                                                                        \
  } while (0)
void check_exhausted(size_t number, faro_status status, const faro_error *error);

#define assert_close(a, b, tolerance)                                                                        \
  do {                                                                                                       \
    const double a_ = (a), b_ = (b), t_ = (tolerance);                                                       \
    if (!(a_ - b_ <= t_ && b_ - a_ <= t_)) fail_msg("%.17g is not within %g of %.17g", a_, t_, b_);          \
  } while (0)

#endif
