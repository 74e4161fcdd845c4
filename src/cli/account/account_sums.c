/* account_sums: sums over many users: bits, shuffled messages, continual sums.
 *
 *   E epsilon, D delta, S sensitivity, N all noise bits of an entry, p their bias, T steps */
#include <math.h>

#include "base/share.h"
#include "cli/account/account.h"
#include "cli/cli.h"

static double sensitivity(const account *a) { return account_value(a, ACCOUNT_SENSITIVITY, 1); }

/* ---- bits */

static faro_bits_plan bits_plan(const account *a) {
  return (faro_bits_plan){.users = a->value[ACCOUNT_USERS],
                          .honest =
                              faro_share_of(account_value(a, ACCOUNT_HONEST, 1), a->value[ACCOUNT_USERS]),
                          .dimension = a->value[ACCOUNT_DIMENSION],
                          .sensitivity = sensitivity(a),
                          .grid = a->value[ACCOUNT_GRID],
                          .bits = a->value[ACCOUNT_NOISE_BITS]};
}

static double bits_bias(const account *a) { return account_value(a, ACCOUNT_BIAS, 0.5); }

/* A share of honest users that leaves nobody. */
static int refuse_nobody(const account *a) {
  char got[FARO_GOT];
  return cli_usage(&cli_account, "--honest must leave at least one of the %.0f users (got %s)",
                   a->value[ACCOUNT_USERS], account_shown(a->text[ACCOUNT_HONEST], got));
}

static int bits_calibrate(account *a) {
  char got[FARO_GOT];
  if (bits_bias(a) != 0.5)
    return cli_usage(&cli_account,
                     "--bias must be 1/2 (got %s); 1/4 is allowed in one dimension with --noise-bits",
                     account_shown(a->text[ACCOUNT_BIAS], got));
  faro_bits_plan plan = bits_plan(a);
  if (plan.honest < 1) return refuse_nobody(a);
  faro_error error = {0};
  const double E = a->value[ACCOUNT_EPSILON];
  const double D = a->value[ACCOUNT_DELTA];
  if (faro_bits_calibrate(&plan, E, D, &error) != FARO_OK) return cli_fail(&error);
  account_put_whole(a, "grid", plan.grid);
  account_put_whole(a, "noise_bits_per_user", plan.bits);
  account_put_whole(a, "noise_bits_total", plan.users * plan.bits);
  account_put(a, "bias", bits_bias(a));
  account_put(a, "noise_sd", plan.noise_sd);
  account_put_whole(a, "bits_per_user", plan.dimension * (plan.grid + plan.bits));
  account_put(a, "epsilon", E);
  account_put(a, "delta", D);
  account_say(
      a,
      "Fair noise bits, added by every user to every coordinate, that make the sums of the bits private: the "
      "binomial is dominated by a Gaussian at every epsilon, coordinates compose as Gaussians do (Zhu, Dong "
      "and Wang 2022; Balle and Wang 2018; docs/privacy.md), and rounding to the grid is part of the shift.");
  return EXIT_DONE;
}

/* One coordinate is computed exactly if its sum has at most this many terms. */
static const double EXACT_BITS_MAX = 1e9;

/* The least epsilon of N bits in one dimension; infinite if it is above 1000. Entries are in an
 * interval of width 1, and their difference is rounded up to the grid. */
static double exact_bits_epsilon(const faro_bits_plan *plan, double p, double D) {
  const uint64_t N = (uint64_t)(plan->honest * plan->bits);
  const uint64_t shift = (uint64_t)ceil(fmin(plan->sensitivity, 1) * plan->grid);
  if (faro_bits_delta(N, p, shift, 0) <= D) return 0;
  if (faro_bits_delta(N, p, shift, 1000) > D) return INFINITY;
  double low = 0;
  double high = 1000;
  for (int i = 0; i < 80 && high - low > 1e-13 * high; i++) {
    const double middle = low + (high - low) / 2;
    if (faro_bits_delta(N, p, shift, middle) > D) low = middle;
    else high = middle;
  }
  return high;
}

static int bits_exact(account *a, const faro_bits_plan *plan) {
  account_put(a, "epsilon", exact_bits_epsilon(plan, bits_bias(a), a->value[ACCOUNT_DELTA]));
  account_say(
      a, "The least epsilon of a sum of bits in one dimension, by the exact hockey-stick divergence of the "
         "binomial from its shift.");
  return EXIT_DONE;
}

static int bits_epsilon(account *a) {
  faro_bits_plan plan = bits_plan(a);
  const bool few = plan.users * plan.bits <= EXACT_BITS_MAX;
  char got[FARO_GOT];
  if (plan.honest < 1) return refuse_nobody(a);
  if (plan.dimension == 1 && few) return bits_exact(a, &plan);
  if (bits_bias(a) != 0.5)
    return cli_usage(
        &cli_account,
        "--bias must be 1/2 (got %s); 1/4 is allowed in one dimension with at most %.0f noise bits "
        "of all users",
        account_shown(a->text[ACCOUNT_BIAS], got), EXACT_BITS_MAX);
  double epsilon = 0;
  faro_error error = {0};
  if (faro_bits_account(&plan, a->value[ACCOUNT_DELTA], &epsilon, &error) != FARO_OK) return cli_fail(&error);
  account_put(a, "epsilon", epsilon);
  account_say(
      a, "An epsilon of the sums of bits, by the Gaussian that dominates the binomial at every epsilon (Zhu, "
         "Dong and Wang 2022; Balle and Wang 2018; docs/privacy.md), rounding to the grid included.");
  return EXIT_DONE;
}

enum {
  BITS = ACCOUNT_BIT(USERS) | ACCOUNT_BIT(DIMENSION) | ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(DELTA),
  BITS_MAY = ACCOUNT_BIT(BIAS) | ACCOUNT_BIT(HONEST),
};

const account_mechanism account_bits = {
    .name = "bits",
    .summary = "sums of bits, some of which are noise",
    .usage = "--users N --dimension D --sensitivity S --delta D (--epsilon E [--grid G] | --grid G "
             "--noise-bits B) [--bias 1/2] [--honest H]",
    .sensitivity = "greatest L2 distance of two users' vectors, with every entry in an interval of width 1",
    .about =
        "Every user sends, for every coordinate, G bits that encode the entry and B noise bits; the sums\n"
        "of the bits are published. A difference of norm s changes the counts by about s G plus rounding.\n"
        "A finer grid costs bits, a coarser one precision.\n"
        "  noise_sd           standard deviation of the noise in one coordinate of the sum, in original\n"
        "                     units\n"
        "  noise_bits_total   noise bits of all users, for one coordinate\n"
        "  bits_per_user      D (G + B)\n",
    .example = "--users 1000 --dimension 1 --sensitivity 1 --epsilon 1 --delta 1e-6",
    .form = {{BITS | ACCOUNT_BIT(EPSILON), BITS_MAY | ACCOUNT_BIT(GRID), bits_calibrate},
             {BITS | ACCOUNT_BIT(GRID) | ACCOUNT_BIT(NOISE_BITS), BITS_MAY, bits_epsilon}},
    .own = {{"epsilon", FARO_FIELD_REAL, .least = 1e-4, .most = 50}}};

/* ---- shuffle */

static const char by_clones[] = "the numerical bound on the clones pair (Feldman, McMillan and Talwar 2021)";

/* The closed form for a total delta of D. The total is the slack plus a term from the local deltas,
 * which falls as the slack grows, so what is left of D is added to the slack until nothing is left.
 * False outside the theorem's range. */
static bool closed_form(const account *a, double *epsilon) {
  const double D = a->value[ACCOUNT_DELTA];
  const double local = a->value[ACCOUNT_LOCAL_DELTA];
  double slack = local > 0 ? D / 2 : D;
  for (int i = 0; i < 100; i++) {
    double total = 0;
    if (!faro_shuffle_closed_form(a->value[ACCOUNT_LOCAL_EPSILON], local, a->value[ACCOUNT_USERS], slack,
                                  epsilon, &total) ||
        total > D)
      return false;
    if (D - total <= 1e-12 * D) break;
    slack += (D - total) * (1 - 1e-9);
  }
  return isfinite(*epsilon);
}

/* No epsilon covers a local delta above delta. */
static bool local_delta_fits(const account *a) {
  if (a->value[ACCOUNT_LOCAL_DELTA] <= a->value[ACCOUNT_DELTA]) return true;
  char got[FARO_GOT];
  char delta[FARO_GOT];
  (void)cli_usage(
      &cli_account, "--local-delta must be 0 or a number from 1e-15 to %s, the value of --delta (got %s)",
      account_shown(a->text[ACCOUNT_DELTA], delta), account_shown(a->text[ACCOUNT_LOCAL_DELTA], got));
  return false;
}

static int shuffle_epsilon(account *a) {
  if (!local_delta_fits(a)) return EXIT_USAGE;
  account_put(a, "epsilon",
              faro_shuffle_epsilon(a->value[ACCOUNT_LOCAL_EPSILON], a->value[ACCOUNT_LOCAL_DELTA],
                                   a->value[ACCOUNT_USERS], a->value[ACCOUNT_DELTA]));
  double closed = 0;
  if (closed_form(a, &closed)) account_put(a, "closed_form", closed);
  else if (json_object_set_new(a->fields, "closed_form", json_null()) != 0) a->why.failed = true;
  account_say(
      a,
      "An epsilon of all messages after shuffling, by %s; closed_form is the epsilon of their Theorem 3.8.",
      by_clones);
  return EXIT_DONE;
}

static int shuffle_delta(account *a) {
  account_put(a, "delta",
              faro_shuffle_delta(a->value[ACCOUNT_LOCAL_EPSILON], a->value[ACCOUNT_LOCAL_DELTA],
                                 a->value[ACCOUNT_USERS], a->value[ACCOUNT_EPSILON]));
  account_say(a, "A delta of all messages after shuffling, by %s.", by_clones);
  return EXIT_DONE;
}

static int shuffle_local_epsilon(account *a) {
  if (!local_delta_fits(a)) return EXIT_USAGE;
  account_put(a, "local_epsilon",
              faro_shuffle_local_epsilon(a->value[ACCOUNT_EPSILON], a->value[ACCOUNT_DELTA],
                                         a->value[ACCOUNT_USERS], a->value[ACCOUNT_LOCAL_DELTA]));
  account_say(
      a, "The largest epsilon of one message for which all shuffled messages reach the guarantee, by %s.",
      by_clones);
  return EXIT_DONE;
}

enum { SHUFFLE = ACCOUNT_BIT(USERS), SHUFFLE_MAY = ACCOUNT_BIT(LOCAL_DELTA) };

const account_mechanism account_shuffle = {
    .name = "shuffle",
    .summary = "messages of a local randomizer, shuffled",
    .usage =
        "--users N (--local-epsilon E0 (--delta D | --epsilon E) | --epsilon E --delta D) [--local-delta D0]",
    .example = "--local-epsilon 4 --users 100000 --delta 1e-6",
    .form = {{SHUFFLE | ACCOUNT_BIT(LOCAL_EPSILON) | ACCOUNT_BIT(DELTA), SHUFFLE_MAY, shuffle_epsilon},
             {SHUFFLE | ACCOUNT_BIT(EPSILON) | ACCOUNT_BIT(DELTA), SHUFFLE_MAY, shuffle_local_epsilon},
             {SHUFFLE | ACCOUNT_BIT(LOCAL_EPSILON) | ACCOUNT_BIT(EPSILON), SHUFFLE_MAY, shuffle_delta}},
    .own = {{"epsilon", FARO_FIELD_REAL, .least = 1e-4, .most = 50},
            {"local-epsilon", FARO_FIELD_REAL, .least = 1e-4, .most = 50},
            {"local-delta", FARO_FIELD_REAL, .least = 1e-15, .most = 0.999, .zero = "0"}}};

/* ---- tree, factored */

typedef faro_continual factors_of(uint64_t steps, uint64_t contributions);

static const char by_tree[] =
    "the nodes of the binary tree that hold one user (Dwork et al. 2010; Chan, Shi and Song "
    "2011), which compose as Gaussians (Balle and Wang 2018)";
static const char by_factored[] =
    "the square-root factorisation of the prefix sums (Fichtenberger, Henzinger and "
    "Upadhyay 2023) as one Gaussian mechanism (Balle and Wang 2018)";

static bool is_tree(const account *a) { return a->mechanism == &account_tree; }

/* Prints a message and returns false if a user would be in more releases than there are. */
static bool find_factors(const account *a, faro_continual *factors) {
  const double T = a->value[ACCOUNT_STEPS];
  const double contributions = account_value(a, ACCOUNT_CONTRIBUTIONS, 1);
  char got[FARO_GOT];
  if (contributions > T) {
    (void)cli_usage(&cli_account,
                    "--contributions must be a whole number from 1 to %.0f, the value of --steps (got %s)", T,
                    account_shown(a->text[ACCOUNT_CONTRIBUTIONS], got));
    return false;
  }
  factors_of *const of = is_tree(a) ? faro_tree_factors : faro_factored_factors;
  *factors = of((uint64_t)T, (uint64_t)contributions);
  return true;
}

static int continual_sigma(account *a) {
  faro_continual factors;
  if (!find_factors(a, &factors)) return EXIT_USAGE;
  const double mu = faro_gaussian_mu(a->value[ACCOUNT_EPSILON], a->value[ACCOUNT_DELTA]);
  const double sigma = account_divide_up(sensitivity(a) * factors.sensitivity, mu);
  account_put(a, "sigma", sigma);
  account_put(a, "prefix_sigma", sigma * factors.prefix);
  if (is_tree(a)) { /* one contribution is in one node of every level */
    const double once = faro_tree_factors((uint64_t)a->value[ACCOUNT_STEPS], 1).sensitivity;
    account_put_whole(a, "levels", nearbyint(once * once));
  }
  account_say(a, "The least noise of one %s, and the noise of the worst prefix sum, by %s.",
              is_tree(a) ? "node" : "coordinate before the factor", is_tree(a) ? by_tree : by_factored);
  return EXIT_DONE;
}

static int continual_privacy(account *a, bool epsilon) {
  faro_continual factors;
  if (!find_factors(a, &factors)) return EXIT_USAGE;
  const double mu = account_divide_up(sensitivity(a) * factors.sensitivity, a->value[ACCOUNT_SIGMA]);
  account_put(a, epsilon ? "epsilon" : "delta",
              epsilon ? faro_gaussian_epsilon(mu, a->value[ACCOUNT_DELTA])
                      : faro_gaussian_delta(mu, a->value[ACCOUNT_EPSILON]));
  account_say(a, "The least %s of all releases together, by %s.", epsilon ? "epsilon" : "delta",
              is_tree(a) ? by_tree : by_factored);
  return EXIT_DONE;
}

static int continual_epsilon(account *a) { return continual_privacy(a, true); }
static int continual_delta(account *a) { return continual_privacy(a, false); }

enum {
  CONTINUAL_NOISE = ACCOUNT_BIT(STEPS) | ACCOUNT_BIT(EPSILON) | ACCOUNT_BIT(DELTA),
  CONTINUAL_EPSILON = ACCOUNT_BIT(STEPS) | ACCOUNT_BIT(SIGMA) | ACCOUNT_BIT(DELTA),
  CONTINUAL_DELTA = ACCOUNT_BIT(STEPS) | ACCOUNT_BIT(SIGMA) | ACCOUNT_BIT(EPSILON),
  CONTINUAL_MAY = ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(CONTRIBUTIONS),
};

/* What tree and factored have in common: all but the name and what it stands for. */
#define CONTINUAL                                                                                            \
  .usage = "--steps T (--epsilon E --delta D | --sigma S --delta D | --sigma S --epsilon E) "                \
           "[--contributions M] [--sensitivity S]",                                                          \
  .sensitivity = "greatest L2 distance of two users' values; 1 by default",                                  \
  .example = "--steps 1000 --epsilon 1 --delta 1e-6",                                                        \
  .form = {{CONTINUAL_NOISE, CONTINUAL_MAY, continual_sigma},                                                \
           {CONTINUAL_EPSILON, CONTINUAL_MAY, continual_epsilon},                                            \
           {CONTINUAL_DELTA, CONTINUAL_MAY, continual_delta}}

const account_mechanism account_tree = {
    .name = "tree", .summary = "running sums with noise at the nodes of a binary tree", CONTINUAL};

const account_mechanism account_factored = {
    .name = "factored",
    .summary = "running sums with correlated noise",
    CONTINUAL,
    .own = {{"steps", FARO_FIELD_WHOLE, .least = 1, .most = 1e7}}}; /* its norms are summed step by step */
