/* logs: see the header. */
#include "support/logs.h"

#include <math.h>

/* Arms differ in how they like the two features. */
static const double taste[LOG_ARMS][LOG_FEATURES] = {{0.8, 0.1}, {-0.5, 0.6}, {0.2, -0.7}, {-0.4, -0.3}};

static double score(const log_world *w, size_t k, size_t a) {
  return taste[a][0] * w->x[k][0] + taste[a][1] * w->x[k][1];
}

static void fill_softmax(const log_world *w, double sharp, double out[LOG_CONTEXTS][LOG_ARMS]) {
  for (size_t k = 0; k < LOG_CONTEXTS; k++) {
    double sum = 0;
    for (size_t a = 0; a < LOG_ARMS; a++) sum += out[k][a] = exp(-sharp * score(w, k, a));
    for (size_t a = 0; a < LOG_ARMS; a++) out[k][a] /= sum;
  }
}

log_world log_world_make(double sharp, double sure, bool bent) {
  log_world w = {.rows_each = 1};
  for (size_t k = 0; k < LOG_CONTEXTS; k++) {
    w.x[k][0] = ((double)(k % 4) - 1.5) / 1.5;
    w.x[k][1] = ((double)(k / 4) - 1.5) / 1.5;
    size_t best = 0;
    for (size_t a = 0; a < LOG_ARMS; a++) {
      const double s = score(&w, k, a);
      w.mean[k][a] = bent ? 0.5 + 0.4 * sin(6 * s) * cos(3 * w.x[k][0] * w.x[k][1]) : 0.45 + 0.35 * s;
      if (w.mean[k][a] > w.mean[k][best]) best = a;
    }
    for (size_t a = 0; a < LOG_ARMS; a++) w.target[k][a] = (1 - sure) / LOG_ARMS + (a == best ? sure : 0);
  }
  fill_softmax(&w, sharp, w.logging);
  fill_softmax(&w, sharp, w.stated);
  return w;
}

void log_world_misstate(log_world *w, double sharp) { fill_softmax(w, sharp, w->stated); }

static double value_of(const log_world *w, const double policy[LOG_CONTEXTS][LOG_ARMS]) {
  double sum = 0;
  for (size_t k = 0; k < LOG_CONTEXTS; k++)
    for (size_t a = 0; a < LOG_ARMS; a++) sum += policy[k][a] * w->mean[k][a];
  return sum / LOG_CONTEXTS;
}

double log_world_value(const log_world *w) { return value_of(w, w->target); }
double log_world_logged(const log_world *w) { return value_of(w, w->logging); }

/* Somebody with several rows stays in a context and likes everything more, or less, than others:
 * the rows of a person depend on each other, and the means stay. */
void log_draw(const log_world *w, faro_sim_rng *rng, uint64_t person, size_t *context, faro_logged *row) {
  faro_sim_rng own;
  faro_sim_open(&own, 1, person, FARO_ROLE_CONTEXT);
  const bool stays = w->rows_each > 1;
  const double drawn = faro_sim_uniform(rng);
  const size_t k = (size_t)((stays ? faro_sim_uniform(&own) : drawn) * LOG_CONTEXTS);
  const double mood = stays ? (faro_sim_bernoulli(&own, 0.5) ? 0.06 : -0.06) : 0;
  double left = faro_sim_uniform(rng);
  size_t a = 0;
  while (a + 1 < LOG_ARMS && left >= w->logging[k][a]) left -= w->logging[k][a++];
  *context = k;
  *row = (faro_logged){.arm = a,
                       .reward = faro_sim_bernoulli(rng, w->mean[k][a] + mood),
                       .propensity = w->stated[k][a],
                       .target = w->target[k][a],
                       .targets = w->target[k],
                       .person = person};
}
