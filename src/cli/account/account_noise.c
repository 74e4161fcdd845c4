/* account_noise: additive noise and randomized response: from noise to privacy and back.
 *
 *   E epsilon, D delta, S sensitivity */
#include <math.h>

#include "cli/account/account.h"
#include "cli/cli.h"

/* Whether the noise is added to whole numbers. */
#define WHOLE_SENSITIVITY                                                                                    \
  { "sensitivity", FARO_FIELD_WHOLE, .least = 1, .most = 1e6 }

enum {
  NEED_NOISE = ACCOUNT_BIT(EPSILON) | ACCOUNT_BIT(DELTA),
  SIGMA_EPSILON = ACCOUNT_BIT(SIGMA) | ACCOUNT_BIT(DELTA),
  SIGMA_DELTA = ACCOUNT_BIT(SIGMA) | ACCOUNT_BIT(EPSILON),
  SCALE_DELTA = ACCOUNT_BIT(SCALE) | ACCOUNT_BIT(EPSILON),
  RESPONSE_DELTA = ACCOUNT_BIT(LOCAL_EPSILON) | ACCOUNT_BIT(EPSILON),
};

static double sensitivity(const account *a) { return account_value(a, ACCOUNT_SENSITIVITY, 1); }

/* These write the answer: noise_found if the noise was computed, privacy_found if epsilon or delta
 * was. */
static int noise_found(account *a, const char *field, double value, const char *noise, const char *result) {
  char s[FARO_NUMBER_SIZE];
  char e[FARO_NUMBER_SIZE];
  char d[FARO_NUMBER_SIZE];
  account_put(a, field, value);
  account_say(a, "The least %s of %s noise on a value of sensitivity %s that is (%s, %s)-private, by %s.",
              field, noise, faro_short(sensitivity(a), s), faro_short(a->value[ACCOUNT_EPSILON], e),
              faro_short(a->value[ACCOUNT_DELTA], d), result);
  return EXIT_DONE;
}

static int privacy_found(account *a, const char *field, double value, account_option noise_option,
                         const char *noise, const char *result) {
  char s[FARO_NUMBER_SIZE];
  char n[FARO_NUMBER_SIZE];
  char other[FARO_NUMBER_SIZE];
  const account_option given = field[0] == 'e' ? ACCOUNT_DELTA : ACCOUNT_EPSILON;
  account_put(a, field, value);
  account_say(a, "The least %s at %s %s of %s noise with %s %s on a value of sensitivity %s, by %s.", field,
              account_option_name(given), faro_short(a->value[given], other), noise,
              account_option_name(noise_option), faro_short(a->value[noise_option], n),
              faro_short(sensitivity(a), s), result);
  return EXIT_DONE;
}

/* ---- gaussian */

static const char by_gaussian[] = "the exact curve of the Gaussian mechanism (Balle and Wang 2018)";

static double gaussian_ratio(const account *a) {
  return account_divide_up(sensitivity(a), a->value[ACCOUNT_SIGMA]);
}

static int gaussian_sigma(account *a) {
  const double mu = faro_gaussian_mu(a->value[ACCOUNT_EPSILON], a->value[ACCOUNT_DELTA]);
  return noise_found(a, "sigma", account_divide_up(sensitivity(a), mu), "Gaussian", by_gaussian);
}

static int gaussian_epsilon(account *a) {
  const double epsilon = faro_gaussian_epsilon(gaussian_ratio(a), a->value[ACCOUNT_DELTA]);
  return privacy_found(a, "epsilon", epsilon, ACCOUNT_SIGMA, "Gaussian", by_gaussian);
}

static int gaussian_delta(account *a) {
  const double delta = faro_gaussian_delta(gaussian_ratio(a), a->value[ACCOUNT_EPSILON]);
  return privacy_found(a, "delta", delta, ACCOUNT_SIGMA, "Gaussian", by_gaussian);
}

const account_mechanism account_gaussian = {
    .name = "gaussian",
    .summary = "Gaussian noise",
    .usage = "(--epsilon E --delta D | --sigma S --delta D | --sigma S --epsilon E) [--sensitivity S]",
    .sensitivity = "greatest L2 distance of two users' values; 1 by default",
    .example = "--epsilon 1 --delta 1e-6",
    .form = {{NEED_NOISE, ACCOUNT_BIT(SENSITIVITY), gaussian_sigma},
             {SIGMA_EPSILON, ACCOUNT_BIT(SENSITIVITY), gaussian_epsilon},
             {SIGMA_DELTA, ACCOUNT_BIT(SENSITIVITY), gaussian_delta}}};

/* ---- laplace */

static const char by_laplace_pure[] = "the ratio of the densities, e^(S / scale) (Dwork et al. 2006)";
static const char by_laplace[] = "the exact hockey-stick divergence of two Laplace distributions";

static double laplace_ratio(const account *a) {
  return account_divide_up(sensitivity(a), a->value[ACCOUNT_SCALE]);
}

/* Without delta the ratio S / scale is epsilon itself. */
static int laplace_scale(account *a) {
  const double E = a->value[ACCOUNT_EPSILON];
  const double D = a->value[ACCOUNT_DELTA];
  const double ratio = D > 0 ? faro_laplace_ratio(E, D) : E;
  return noise_found(a, "scale", account_divide_up(sensitivity(a), ratio), "Laplace",
                     D > 0 ? by_laplace : by_laplace_pure);
}

static int laplace_epsilon(account *a) {
  const double ratio = laplace_ratio(a);
  const double D = a->value[ACCOUNT_DELTA];
  return privacy_found(a, "epsilon", D > 0 ? faro_laplace_epsilon(ratio, D) : ratio, ACCOUNT_SCALE, "Laplace",
                       D > 0 ? by_laplace : by_laplace_pure);
}

static int laplace_delta(account *a) {
  const double delta = faro_laplace_delta(laplace_ratio(a), a->value[ACCOUNT_EPSILON]);
  return privacy_found(a, "delta", delta, ACCOUNT_SCALE, "Laplace", by_laplace);
}

const account_mechanism account_laplace = {
    .name = "laplace",
    .summary = "Laplace noise",
    .usage = "(--epsilon E [--delta D] | --scale B [--delta D] | --scale B --epsilon E) [--sensitivity S]",
    .sensitivity = "greatest L1 distance of two users' values; 1 by default",
    .example = "--epsilon 1",
    .form = {{ACCOUNT_BIT(EPSILON), ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(DELTA), laplace_scale},
             {ACCOUNT_BIT(SCALE), ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(DELTA), laplace_epsilon},
             {SCALE_DELTA, ACCOUNT_BIT(SENSITIVITY), laplace_delta}},
    .own = {ACCOUNT_DELTA_OR_ZERO}};

/* ---- discrete-laplace */

static const char by_discrete_laplace[] =
    "the exact hockey-stick divergence of two discrete Laplace distributions";
static const char by_discrete_pure[] = "the ratio of the probabilities, e^(S / scale) (Ghosh et al. 2009)";

static int discrete_laplace_scale(account *a) {
  const uint64_t shift = (uint64_t)sensitivity(a);
  const double E = a->value[ACCOUNT_EPSILON];
  const double D = a->value[ACCOUNT_DELTA];
  const double scale = D > 0 ? faro_discrete_laplace_scale(shift, E, D) : account_divide_up((double)shift, E);
  return noise_found(a, "scale", scale, "discrete Laplace", D > 0 ? by_discrete_laplace : by_discrete_pure);
}

static int discrete_laplace_epsilon(account *a) {
  const double D = a->value[ACCOUNT_DELTA];
  const double epsilon =
      D > 0 ? faro_discrete_laplace_epsilon(a->value[ACCOUNT_SCALE], (uint64_t)sensitivity(a), D)
            : laplace_ratio(a);
  return privacy_found(a, "epsilon", epsilon, ACCOUNT_SCALE, "discrete Laplace",
                       D > 0 ? by_discrete_laplace : by_discrete_pure);
}

static int discrete_laplace_delta(account *a) {
  const double delta = faro_discrete_laplace_delta(a->value[ACCOUNT_SCALE], (uint64_t)sensitivity(a),
                                                   a->value[ACCOUNT_EPSILON]);
  return privacy_found(a, "delta", delta, ACCOUNT_SCALE, "discrete Laplace", by_discrete_laplace);
}

const account_mechanism account_discrete_laplace = {
    .name = "discrete-laplace",
    .summary = "Laplace noise in whole numbers",
    .usage = "(--epsilon E [--delta D] | --scale B [--delta D] | --scale B --epsilon E) [--sensitivity S]",
    .sensitivity = "greatest distance of two users' values, a whole number; 1 by default",
    .example = "--scale 2 --sensitivity 1",
    .form = {{ACCOUNT_BIT(EPSILON), ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(DELTA), discrete_laplace_scale},
             {ACCOUNT_BIT(SCALE), ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(DELTA), discrete_laplace_epsilon},
             {SCALE_DELTA, ACCOUNT_BIT(SENSITIVITY), discrete_laplace_delta}},
    .own = {ACCOUNT_DELTA_OR_ZERO, WHOLE_SENSITIVITY}};

/* ---- discrete-gaussian */

static const char by_discrete_gaussian[] =
    "the exact hockey-stick divergence of two discrete Gaussians (Canonne, Kamath and Steinke 2020)";

static int discrete_gaussian_sigma(account *a) {
  const double sigma = faro_discrete_gaussian_sigma((uint64_t)sensitivity(a), a->value[ACCOUNT_EPSILON],
                                                    a->value[ACCOUNT_DELTA]);
  return noise_found(a, "sigma", sigma, "discrete Gaussian", by_discrete_gaussian);
}

static int discrete_gaussian_epsilon(account *a) {
  const double epsilon = faro_discrete_gaussian_epsilon(a->value[ACCOUNT_SIGMA], (uint64_t)sensitivity(a),
                                                        a->value[ACCOUNT_DELTA]);
  return privacy_found(a, "epsilon", epsilon, ACCOUNT_SIGMA, "discrete Gaussian", by_discrete_gaussian);
}

static int discrete_gaussian_delta(account *a) {
  const double delta = faro_discrete_gaussian_delta(a->value[ACCOUNT_SIGMA], (uint64_t)sensitivity(a),
                                                    a->value[ACCOUNT_EPSILON]);
  return privacy_found(a, "delta", delta, ACCOUNT_SIGMA, "discrete Gaussian", by_discrete_gaussian);
}

const account_mechanism account_discrete_gaussian = {
    .name = "discrete-gaussian",
    .summary = "Gaussian noise in whole numbers",
    .usage = "(--epsilon E --delta D | --sigma S --delta D | --sigma S --epsilon E) [--sensitivity S]",
    .sensitivity = "greatest distance of two users' values, a whole number; 1 by default",
    .example = "--sigma 20 --delta 1e-6",
    .form = {{NEED_NOISE, ACCOUNT_BIT(SENSITIVITY), discrete_gaussian_sigma},
             {SIGMA_EPSILON, ACCOUNT_BIT(SENSITIVITY), discrete_gaussian_epsilon},
             {SIGMA_DELTA, ACCOUNT_BIT(SENSITIVITY), discrete_gaussian_delta}},
    .own = {WHOLE_SENSITIVITY}};

/* ---- response: delta = (e^E0 - e^E) / (1 + e^E0), hence e^E0 = (e^E + D) / (1 - D) */

static void response_say(account *a, const char *what) {
  account_say(
      a,
      "The %s of randomized response over two answers, by its exact hockey-stick divergence (Warner 1965; "
      "Kairouz, Oh and Viswanath 2015).",
      what);
}

static int response_epsilon(account *a) {
  const double D = a->value[ACCOUNT_DELTA];
  const double E0 = a->value[ACCOUNT_LOCAL_EPSILON];
  account_put(a, "epsilon", D > 0 ? faro_response_epsilon(E0, D) : E0);
  response_say(a, "least epsilon");
  return EXIT_DONE;
}

static int response_delta(account *a) {
  account_put(a, "delta", faro_response_delta(a->value[ACCOUNT_LOCAL_EPSILON], a->value[ACCOUNT_EPSILON]));
  response_say(a, "least delta");
  return EXIT_DONE;
}

/* Rounded inward until the accountant itself agrees. */
static int response_local_epsilon(account *a) {
  const double E = a->value[ACCOUNT_EPSILON];
  const double D = a->value[ACCOUNT_DELTA];
  double more = D > 0 ? log1p(D * exp(-E)) - log1p(-D) : 0;
  for (int i = 0; i < 64 && more > 0 && faro_response_delta(E + more, E) > D; i++)
    more *= 1 - ldexp(1e-15, i);
  account_put(a, "local_epsilon", E + fmax(0, more));
  response_say(a, "largest local epsilon");
  return EXIT_DONE;
}

const account_mechanism account_response = {
    .name = "response",
    .summary = "randomized response over two answers",
    .usage = "(--epsilon E [--delta D] | --local-epsilon E0 [--delta D | --epsilon E])",
    .example = "--local-epsilon 1",
    .form = {{ACCOUNT_BIT(LOCAL_EPSILON), ACCOUNT_BIT(DELTA), response_epsilon},
             {RESPONSE_DELTA, 0, response_delta},
             {ACCOUNT_BIT(EPSILON), ACCOUNT_BIT(DELTA), response_local_epsilon}},
    .own = {ACCOUNT_DELTA_OR_ZERO}};

/* ---- zcdp: rho adds under composition; Gaussian noise has rho = (S / sigma)^2 / 2 */

static const char by_zcdp[] =
    "the tight conversion of zero-concentrated privacy (Canonne, Kamath and Steinke 2020)";

static int zcdp_epsilon(account *a) {
  account_put(a, "epsilon", faro_zcdp_epsilon(a->value[ACCOUNT_RHO], a->value[ACCOUNT_DELTA]));
  account_say(a, "An epsilon of every mechanism that is rho-concentrated, by %s.", by_zcdp);
  return EXIT_DONE;
}

static int zcdp_rho(account *a) {
  account_put(a, "rho", faro_zcdp_rho(a->value[ACCOUNT_EPSILON], a->value[ACCOUNT_DELTA]));
  account_say(a, "The largest rho that reaches the guarantee, by %s.", by_zcdp);
  return EXIT_DONE;
}

const account_mechanism account_zcdp = {
    .name = "zcdp",
    .summary = "zero-concentrated privacy",
    .usage = "(--epsilon E --delta D | --rho R --delta D)",
    .example = "--rho 0.1 --delta 1e-6",
    .form = {{NEED_NOISE, 0, zcdp_rho}, {ACCOUNT_BIT(RHO) | ACCOUNT_BIT(DELTA), 0, zcdp_epsilon}}};
