/* concentrated: composition by zero-concentrated privacy (for Gaussians, Renyi privacy with
 * epsilon(alpha) = rho alpha), and the simple and advanced composition theorems behind the
 * published calibrations. */
#include <math.h>

#include <faro/privacy.h>

#include "privacy/bisect.h"

static const double ROUND = 1 + 1e-12;

/* Any alpha > 1 proves
 *
 *   epsilon = rho alpha + ln(1 - 1/alpha) - ln(alpha delta) / (alpha - 1)
 *
 * (Canonne, Kamath & Steinke 2020, Proposition 12), so a search that stops early is valid, only
 * less tight. */
static double epsilon_at(double rho, double delta, double alpha) {
  return rho * alpha + log1p(-1 / alpha) - log(alpha * delta) / (alpha - 1);
}

double faro_zcdp_epsilon(double rho, double delta) {
  if (!(rho > 0)) return 0;
  /* alpha - 1 = e^u; the curve decreases and then increases in u */
  double low = -20;
  double high = 40;
  for (int i = 0; i < 200; i++) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (epsilon_at(rho, delta, 1 + exp(a)) < epsilon_at(rho, delta, 1 + exp(b))) high = b;
    else low = a;
  }
  return fmax(0, epsilon_at(rho, delta, 1 + exp(low))) * ROUND;
}

typedef struct target {
  double epsilon, delta;
} target;

static bool rho_holds(double rho, const void *context) {
  const target *t = context;
  return faro_zcdp_epsilon(rho, t->delta) <= t->epsilon;
}

double faro_zcdp_rho(double epsilon, double delta) {
  const target t = {.epsilon = epsilon, .delta = delta};
  double high = 1;
  while (rho_holds(high, &t)) high *= 2;
  return faro_bisect(&(faro_bisection){.holds = rho_holds, .context = &t, .ratio = true}, 1e-30, high);
}

/* Dwork, Rothblum & Vadhan 2010: k mechanisms of epsilon each are private with epsilon sqrt(2 k
 * ln(1/slack)) + k epsilon (e^epsilon - 1) at k delta + slack, or with k epsilon at k delta. */
double faro_advanced_epsilon(double epsilon, double times, double slack) {
  const double advanced = epsilon * sqrt(2 * times * log(1 / slack)) + times * epsilon * expm1(epsilon);
  return fmin(times * epsilon, advanced) * ROUND;
}
