/* learning_rounds: batched learners of generalised linear rewards, as rounds (faro/rounds.h). A
 * batch of the campaign is a round, and the sizes of all rounds are in the campaign. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <faro/rounds.h>

#include "service/analyzer/learning_inner.h"

typedef struct learning {
  const faro_campaign *campaign;
  faro_secure_rng *secure;
  faro_rounds *rounds;
  faro_release *last; /* the last round's, when all are over */
} learning;

static faro_status make(const faro_campaign *c, const char *learner, const void *settings, faro_source source,
                        faro_rounds **rounds, faro_error *error) {
  const faro_rounds_params params = {.learner = learner,
                                     .release = c->release->name,
                                     .dimension = c->contribution.dimension,
                                     .arms = (size_t)c->arms,
                                     .horizon = c->params.horizon,
                                     .link = c->rounds.link,
                                     .bound = c->rounds.bound,
                                     .fits = c->rounds.fits,
                                     .failure = c->failure,
                                     .epsilon = c->params.epsilon,
                                     .delta = c->params.delta,
                                     .level = c->params.level,
                                     .contributions = c->params.contributions,
                                     .honest = c->params.honest,
                                     .settings = settings};
  return faro_rounds_create(rounds, &params, source, error);
}

/* The schedule of rounds is the learner's. Rewards are in [0, 1], and are not centred. */
static faro_status check(const faro_campaign *c, const faro_learner_kind *learner, faro_error *error) {
  if (!faro_campaign_in_rounds(c) || !(c->rounds.bound > 0))
    return faro_fail(error, FARO_INVALID,
                     "campaign.link (logistic or probit) and campaign.bound, above 0, are required for %s",
                     learner->name);
  if (c->features > 0 || c->phases.reports > 0)
    return faro_fail(error, FARO_INVALID,
                     "campaign.features and campaign.clients are for learners that work in phases; %s learns "
                     "from contexts",
                     learner->name);
  if (c->params.batch > 0 || c->params.growth > 0 || c->params.largest > 0)
    return faro_fail(
        error, FARO_INVALID,
        "campaign.batch, growth and largest must not be set for %s, whose batches follow from the "
        "horizon",
        learner->name);
  const double low = c->centre + c->contribution.low, high = c->centre + c->contribution.high;
  if (low != 0 || high != 1 || c->contribution.norm != 1)
    return faro_fail(error, FARO_INVALID,
                     "campaign.low, high and norm must be 0, 1 and 1 for %s (got %g, %g and %g)",
                     learner->name, low, high, c->contribution.norm);
  return FARO_OK;
}

static faro_status complete(faro_campaign *c, const faro_learner_kind *learner, const void *settings,
                            faro_error *error) {
  faro_rounds *rounds = NULL;
  uint64_t people[FARO_ROUNDS_MAX];
  faro_status status = check(c, learner, error);
  if (status == FARO_OK) status = make(c, learner->name, settings, faro_source_none(), &rounds, error);
  if (status != FARO_OK) return status;
  c->centre = 0;
  c->phases = (faro_phases){0};
  c->rounds.terms = faro_rounds_terms(rounds, people);
  faro_rounds_destroy(rounds);
  if (c->rounds.terms > FARO_WIRE_TERMS_MAX)
    return faro_fail(error, FARO_INVALID, "there would be %zu terms, but at most %d are possible",
                     c->rounds.terms, FARO_WIRE_TERMS_MAX);
  for (size_t i = 0; i < c->rounds.terms; i++) c->rounds.term[i].size = people[i];
  return faro_contribution_linearised(&c->contribution, c->contribution.dimension, 1, c->rounds.link,
                                      c->rounds.bound, error);
}

/* What is signed is what is played: another build may plan other terms. */
static faro_status compare(const learning *l, faro_error *error) {
  uint64_t people[FARO_ROUNDS_MAX];
  const faro_campaign_rounds *stated = &l->campaign->rounds;
  bool same = faro_rounds_terms(l->rounds, people) == stated->terms;
  for (size_t i = 0; same && i < stated->terms; i++) same = people[i] == stated->term[i].size;
  return same ? FARO_OK
              : faro_fail(error, FARO_INVALID,
                          "the campaign's terms are not those that this faro plans for its parameters");
}

static faro_status create(void **own, const learning_params *p, faro_error *error) {
  learning *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner");
  *own = made;
  made->campaign = p->campaign;
  faro_status status = faro_secure_open(&made->secure, error);
  if (status == FARO_OK)
    status = make(p->campaign, p->learner->name, p->settings, faro_source_server(made->secure), &made->rounds,
                  error);
  if (status == FARO_OK) status = compare(made, error);
  if (status == FARO_OK)
    status =
        faro_campaign_round(p->campaign, p->campaign->batches - 1, faro_source_none(), &made->last, error);
  return status == FARO_OK && p->state ? faro_rounds_load(made->rounds, p->state, p->length, error) : status;
}

static void destroy(void *own) {
  learning *l = own;
  if (l) {
    faro_rounds_destroy(l->rounds);
    faro_release_destroy(l->last);
    faro_secure_close(l->secure);
  }
  free(l);
}

static faro_status save(const void *own, unsigned char **state, size_t *length, faro_error *error) {
  const learning *l = own;
  const size_t size = faro_rounds_state_size(l->rounds);
  unsigned char *bytes = malloc(size);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner's state");
  faro_rounds_save(l->rounds, bytes);
  *state = bytes;
  *length = size;
  return FARO_OK;
}

static faro_status apply(void *own, const void *messages, size_t count, faro_error *error) {
  return faro_rounds_analyze(((learning *)own)->rounds, messages, count, error);
}

static const faro_release *release(const void *own) {
  const learning *l = own;
  const faro_release *open = faro_rounds_release(l->rounds);
  return open ? open : l->last;
}

static uint64_t batches(const void *own) { return faro_rounds_now(((const learning *)own)->rounds).number; }
static bool done(const void *own) { return faro_rounds_now(((const learning *)own)->rounds).people == 0; }

static faro_status document(const void *own, const faro_sign_key *key, char **text, size_t *length,
                            faro_error *error) {
  const learning *l = own;
  faro_policy policy = *faro_rounds_policy(l->rounds);
  policy.version = batches(own) + 1;
  return faro_policy_document_write_at(&policy, faro_rounds_at(l->rounds), l->campaign->digest, key, text,
                                       length, error);
}

static double form(const double *gram, const double *theta, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) sum += (i == j ? 1 : 2) * *gram++ * theta[i] * theta[j];
  return sum;
}

/* Of the last round: W is a sum of slopes times x x', so theta' W theta over the greatest slope is
 * at most the sum of <theta, x>^2. */
static faro_learning_view snapshot(const void *own) {
  const learning *l = own;
  const double *sum = faro_rounds_sum(l->rounds);
  if (!sum) return (faro_learning_view){0};
  const faro_policy *policy = faro_rounds_policy(l->rounds);
  const size_t d = policy->dimension;
  const double users = (double)faro_campaign_size(l->campaign, 0, batches(own) - 1);
  double trace = 0;
  for (size_t i = 0; i < faro_packed(d); i++) trace += policy->w[i] * policy->w[i];
  const double square = form(sum, policy->theta, d) / faro_link_slope(l->campaign->rounds.link, 0);
  return (faro_learning_view){.users = faro_campaign_reports(l->campaign, batches(own)),
                              .last = sum[faro_packed(d) + d - 1] / users,
                              .predicted = sqrt(fmax(0, square) / users),
                              .noise = NAN,
                              .width = policy->beta * sqrt(trace / (double)d)};
}

const learning_kind faro_learning_rounds = {.protocol = FARO_PROTOCOL_ASKER,
                                            .complete = complete,
                                            .create = create,
                                            .destroy = destroy,
                                            .save = save,
                                            .apply = apply,
                                            .release = release,
                                            .batches = batches,
                                            .done = done,
                                            .document = document,
                                            .snapshot = snapshot};
