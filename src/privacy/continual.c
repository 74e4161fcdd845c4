/* continual: the cost of prefix sums. Both mechanisms write the matrix of prefix sums (lower
 * triangle of ones) as a product L R, add Gaussian noise to R x and publish L (R x + noise). The
 * sensitivity is the norm of a column of R, and the noise of a prefix is the norm of a row of L.
 * The proofs are in docs/privacy.md, The Gaussian mechanism and Returning users. */
#include <math.h>

#include "base/abort.h"
#include "privacy/continual.h"

/* The binary tree: R lists the nodes, and L adds those of a prefix. A contribution is in one node
 * of each level. A node of size 2^l holds at most min(2^l, M) of M contributions in different
 * releases, so their squares add up to at most M min(2^l, M) per level. Adjacent releases reach
 * this. */
faro_continual faro_tree_factors(uint64_t steps, uint64_t contributions) {
  double square = 0;
  double nodes = 1;
  const double m = (double)contributions;
  for (double size = 1;; size *= 2) { /* as long as a node fits */
    square += m * fmin(size, m);
    if (2 * size > (double)steps) break;
    nodes++;
  }
  /* The most ones among the binary digits of a number up to `steps`. */
  double ones = 0;
  for (int bit = 0; bit < 63; bit++) {
    /* clear this digit, set those below it */
    const uint64_t below = (steps >> bit) > 0 ? ((steps >> bit) - 1) : 0;
    if ((steps >> bit) & 1) ones = fmax(ones, (double)__builtin_popcountll(below) + bit);
  }
  ones = fmax(ones, (double)__builtin_popcountll(steps));
  return (faro_continual){.sensitivity = sqrt(square), .prefix = sqrt(fmin(ones, nodes))};
}

/* The square root of the matrix of ones is Toeplitz with coefficients f_k = binom(2k, k) / 4^k, and
 *
 *   f_k = (1/pi) int_0^1 x^k / sqrt(x (1 - x)) dx.
 *
 * With x = 1 / (1 + e^u) the integral becomes (1/pi) int e^(u/2) / (1 + e^u) x^k du, and the
 * trapezoid rule turns that into a sum of few exponentials w_j x_j^k. For k >= 1 this is what L
 * uses: a filter with TERMS numbers of state instead of the whole past. R = (ones) L^-1 then
 * follows from L, and its norm is computed from the same filter. So only the noise depends on how
 * well the sum fits, not privacy. */
void faro_factored_terms(uint64_t steps, double weight[static FARO_FACTORED_TERMS],
                         double base[static FARO_FACTORED_TERMS]) {
  const double low = -log(4.0 * (double)steps) - 3; /* x_j as near to 1 as the horizon needs */
  const double high = 6;
  const double step = (high - low) / (FARO_FACTORED_TERMS - 1);
  for (int j = 0; j < FARO_FACTORED_TERMS; j++) {
    const double u = low + step * j;
    base[j] = 1 / (1 + exp(u));
    weight[j] = step / acos(-1) * exp(u / 2) / (1 + exp(u));
  }
}

static double square_norm(uint64_t steps, uint64_t contributions, bool of_rows) {
  double weight[FARO_FACTORED_TERMS];
  double base[FARO_FACTORED_TERMS];
  double state[FARO_FACTORED_TERMS] = {0};
  faro_factored_terms(steps, weight, base);
  double sum = 0;
  for (uint64_t t = 0; t < steps; t++) {
    /* rows: the coefficients of L; columns: r with L r = (1, 2, ..., M, M, M, ...), M contributions
     * from the start */
    double past = 0;
    for (int j = 0; j < FARO_FACTORED_TERMS; j++) past += weight[j] * base[j] * state[j];
    const double input = of_rows ? (t == 0 ? 1 : 0) : (double)(t < contributions ? t + 1 : contributions);
    const double value = of_rows ? (t == 0 ? 1 : past) : input - past;
    const double fed = of_rows ? input : value;
    for (int j = 0; j < FARO_FACTORED_TERMS; j++) state[j] = base[j] * state[j] + fed;
    sum += value * value;
  }
  return sum;
}

/* M contributions move R x most if they are the first M (docs/privacy.md, Returning users),
 * provided that the weights do not exceed the diagonal: then (1, L_1, L_2, ...) is log-convex, so r
 * is decreasing and not negative. */
static bool falls(uint64_t steps) {
  double weight[FARO_FACTORED_TERMS];
  double base[FARO_FACTORED_TERMS];
  faro_factored_terms(steps, weight, base);
  double sum = 0;
  for (int j = 0; j < FARO_FACTORED_TERMS; j++) sum += weight[j];
  return sum <= 1;
}

faro_continual faro_factored_factors(uint64_t steps, uint64_t contributions) {
  FARO_INVARIANT(falls(steps));
  return (faro_continual){.sensitivity = sqrt(square_norm(steps, contributions, false)) * (1 + 1e-9),
                          .prefix = sqrt(square_norm(steps, 1, true))};
}
