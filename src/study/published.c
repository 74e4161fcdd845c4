/* published: fits as in the published program of Sarmasarkar 2026, under calibration figure. They
 * prove nothing:
 *
 *   the noise of a step is made for a sensitivity of `clip`, but replacing a person moves 2 clip;
 *   people are taken in shuffled epochs, and accounted as if every batch were drawn independently;
 *   the number of people in a part is used.
 *
 * DP-SGD: batches of min(2048, n), gradients clipped to 0.2, steps of 10 / sqrt(k) on the mean
 * gradient with a ridge of its own. Nothing is projected. The result is the mean of the epochs'
 * last points, without the first ten. Noise by an accountant of Renyi divergences, which has the
 * factor 4 q^2 for batches that are a share q < 1 of everybody (the leading term of its bound). */
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "study/state.h"

enum { BATCH = 2048, BURN_IN = 10 };
static const double CLIP = 0.2;
static const double RIDGE = 2e-5;
static const double RATE = 10;

static void shuffle(faro_study *s, size_t count) {
  for (size_t i = count; i > 1; i--) {
    const size_t j = (size_t)(faro_sim_uniform(s->sim) * (double)i);
    const uint32_t last = s->order[i - 1];
    s->order[i - 1] = s->order[j];
    s->order[j] = last;
  }
}

static size_t epochs_of(double epsilon) {
  return epsilon <= 0.1 ? 15 : epsilon <= 0.3 ? 25 : epsilon <= 1 ? 50 : epsilon <= 2 ? 75 : 100;
}

/* sigma = sqrt(steps / (2 rho)), before subsampling. */
static double sigma_of(faro_spend fit, double share, uint64_t steps) {
  const double sampled = share < 1 ? 4 * share * share : 1;
  return sqrt((double)steps * sampled / (2 * faro_zcdp_rho(fit.epsilon, fit.delta)));
}

/* The release's noise is sensitivity / mu = 2 clip / mu; wanted: clip sigma. */
static faro_status make_release(const faro_study *s, double sigma, uint64_t batch, uint64_t steps,
                                faro_release **release, faro_error *error) {
  faro_contribution ball;
  faro_spend spend = {0};
  faro_status status = faro_contribution_ball(&ball, s->params.dimension, CLIP, error);
  if (status == FARO_OK) status = faro_budget_spend(2 / sigma, 1e-9, &spend, error);
  if (status != FARO_OK) return status;
  const faro_release_params params = {.epsilon = spend.epsilon,
                                      .delta = spend.delta,
                                      .horizon = steps * batch,
                                      .batch = batch,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  return faro_release_create(release, &faro_release_central, &ball, &params, faro_study_source(s), error);
}

static void step(faro_study *s, const faro_rows *rows, size_t first, size_t batch, double rate,
                 faro_release *release) {
  const size_t d = s->params.dimension;
  for (size_t i = first; i < first + batch; i++) {
    const double *x = rows->x + (size_t)s->order[i] * d;
    double at = 0;
    for (size_t j = 0; j < d; j++) at += x[j] * s->theta[j];
    const double residual = faro_link_mean(s->params.link, at) - rows->y[s->order[i]];
    for (size_t j = 0; j < d; j++) s->scratch[j] = residual * x[j];
    (void)faro_release_absorb(release, s->scratch, 0);
  }
  const double *sum = faro_release_statistics(release).sum;
  for (size_t j = 0; j < d; j++) {
    const double mean = (sum[j] - s->seen[j]) / (double)batch;
    s->seen[j] = sum[j];
    s->theta[j] -= rate * (mean + RIDGE * s->theta[j]);
  }
}

faro_status faro_study_publish(faro_study *study, const faro_question *ask, faro_answer *answer,
                               faro_error *error) {
  const size_t d = study->params.dimension;
  const faro_rows rows = faro_study_asked(study, ask);
  const faro_spend fit = faro_budget_published(&study->params, study->budget.fits[ask->part]);
  const size_t epochs = epochs_of(fit.epsilon);
  const size_t batch = rows.count < BATCH ? rows.count : BATCH;
  /* the remainder waits for the order of the next epoch */
  const size_t each = batch > 0 ? rows.count / batch : 0;
  const uint64_t steps = epochs * each;
  const double sigma = batch > 0 ? sigma_of(fit, (double)batch / (double)rows.count, steps) : 0;
  faro_release *release = NULL;
  const faro_status status = batch > 0 ? make_release(study, sigma, batch, steps, &release, error) : FARO_OK;
  if (status != FARO_OK) return status;
  FARO_MUST(faro_ledger_charge(&study->fits[ask->part], NULL));
  memcpy(study->theta, ask->start, d * sizeof *study->theta);
  memset(study->seen, 0, d * sizeof *study->seen);
  memset(answer->theta, 0, d * sizeof *answer->theta);
  for (size_t i = 0; i < rows.count; i++) study->order[i] = (uint32_t)i;
  for (size_t epoch = 0; epoch < epochs; epoch++) {
    shuffle(study, rows.count);
    for (size_t b = 0; b < each; b++)
      step(study, &rows, b * batch, batch, RATE / sqrt((double)(epoch * each + b + 1)), release);
    for (size_t j = 0; epoch >= BURN_IN && j < d; j++)
      answer->theta[j] += study->theta[j] / (double)(epochs - BURN_IN);
  }
  faro_release_destroy(release);
  if (answer->gradient) memset(answer->gradient, 0, d * sizeof *answer->gradient); /* not known */
  answer->bound = INFINITY;
  /* The noise of the sum, in one step. */
  answer->noise = batch > 0 ? CLIP * sigma * (double)rows.count / (double)batch : 0;
  answer->steps = steps;
  return FARO_OK;
}
