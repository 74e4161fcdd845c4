/* central-tree: a trusted server adds Gaussian noise at the nodes of a binary tree over the
 * releases. See tree.c. */
#include <math.h>

#include "base/text.h"
#include "release/choose.h"
#include "release/plant.h"
#include "release/shares.h"
#include "release/tree.h"

/* Shariff and Sheffet 2018, section 4.2: sigma^2 = 16 m (L^2 + R^2)^2 ln(4/delta)^2 / epsilon^2 for
 * the matrix (Z + Z')/sqrt(2), of which x x' and x y are parts; sigma M0 for returning users
 * (Chowdhury & Zhou 2022, Prop. E.7). */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const faro_contribution *c = &r->contribution;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double m = (double)faro_tree_published_levels(r);
  const double reward = fmax(fabs(c->low), fabs(c->high));
  const double square = c->norm * c->norm + reward * reward;
  const double sigma = 4 * sqrt(m) * square * log(4 / delta) / epsilon * (double)r->repeats;
  faro_set_gaussian(r, sigma, sqrt(2), 1);
  faro_set_scale(r, sqrt(m));
  const double shift =
      faro_tree_factors(r->batches, r->repeats).sensitivity * faro_gaussian_shift(r, sigma, sqrt(2), 1);
  char text[FARO_NUMBER_SIZE];
  const double proven = faro_gaussian_epsilon(shift, delta);
  r->claim = faro_claim_make(
      epsilon, delta, FARO_TRUST_JOINT, proven <= epsilon,
      "tree noise of Shariff & Sheffet 2018%s; the exact Gaussian mechanism gives epsilon %s",
      r->repeats > 1 ? ", scaled for returning users by Chowdhury & Zhou 2022, Proposition E.7" : "",
      faro_above(proven, 3, text));
  return FARO_OK;
}

static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  (void)error;
  const double log_t = log((double)r->params.horizon);
  const double sigma = sqrt(log_t) * log(2.5 / r->params.delta) / r->params.epsilon;
  faro_set_gaussian(r, sigma, 1, sqrt(0.5)); /* (N + N')/2 of independent entries */
  faro_set_scale(r, sqrt((double)faro_tree_published_levels(r)));
  r->gamma = sigma * sqrt(log_t * (double)r->contribution.dimension);
  r->claim = faro_figure_claim(r);
  return FARO_OK;
}

/* The nodes that a user is in are one Gaussian mechanism, however often the user returns: at most
 * M0 nodes per level. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const faro_continual factors = faro_tree_factors(r->batches, r->repeats);
  const double shift = r->contribution.sensitivity * FARO_PLANT_LEVELS(factors.sensitivity);
  const double nodes = (double)faro_tree_levels(r) * (double)r->repeats;
  r->mu = faro_gaussian_mu(epsilon, delta);
  faro_set_gaussian(r, shift / r->mu, 1, 1);
  faro_set_scale(r, faro_tree_fuse(r));
  *faro_grid_of(r)->basis = (faro_grid_basis){
      .mu = r->mu, .epsilon = epsilon, .delta = delta, .draws = nodes * (double)r->contribution.length};
  r->claim =
      faro_claim_make(epsilon, delta, FARO_TRUST_JOINT, true,
                      "exact Gaussian mechanism (Balle & Wang 2018) over the tree's nodes, which a user "
                      "moves by %.4g contributions",
                      factors.sensitivity);
  return FARO_OK;
}

const faro_release_kind faro_release_central_tree = {
    .name = "central-tree",
    .summary = "Gaussian noise at the nodes of a binary tree; the server is trusted",
    .cite = "Shariff & Sheffet 2018",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .splits = true,
    .weighs = true,
    .mechanism = &faro_mechanism_tree,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .choose_schedule = faro_choose_continual,
};
