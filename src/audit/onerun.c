/* onerun: an audit from a single run (Steinke, Nasr & Jagielski 2023).
 *
 * Each of m users is a canary: user i has the feature e_i or -e_i, chosen by a coin, and the
 * greatest reward. So the i-th moment moves by +1 or -1 while the Gram matrix stays the same. From
 * the view of one run, the adversary guesses the coins it is most certain of, the third with the
 * largest moments. If the mechanism is (epsilon, delta)-private, then at least v of r guesses are
 * right with probability at most
 *
 *   f(v) + 2 m delta max_{i=1..m} (f(v - i) - f(v)) / i,
 *   f(v) = P(Bin(r, e^epsilon / (1 + e^epsilon)) >= v)
 *
 * (their Theorem 3.1), so every epsilon for which that is below 1 - confidence is refuted. One run
 * says less than many, but it works for a mechanism that cannot be run again. */
#include <math.h>
#include <stdlib.h>

#include <faro/audit.h>

#include "base/arena.h"

typedef struct stage {
  faro_arena arena;
  faro_sim_rng noise;
  size_t m;
  double *x;     /* a canary's features */
  double *score; /* the i-th moment as the adversary sees it */
  bool *coin;
  size_t *order;     /* canaries, the most certain first */
  long double *tail; /* f(0) .. f(r + 1) */
} stage;

static faro_status set_stage(stage *s, const faro_contribution *c, faro_error *error) {
  s->m = c->dimension;
  s->x = faro_arena_alloc(&s->arena, s->m, sizeof *s->x, error);
  s->score = faro_arena_alloc(&s->arena, s->m, sizeof *s->score, error);
  s->coin = faro_arena_alloc(&s->arena, s->m, sizeof *s->coin, error);
  s->order = faro_arena_alloc(&s->arena, s->m, sizeof *s->order, error);
  s->tail = faro_arena_alloc(&s->arena, s->m + 2, sizeof *s->tail, error);
  return s->x && s->score && s->coin && s->order && s->tail ? FARO_OK : FARO_MEMORY;
}

/* Whether the adversary sees every message, because nobody is trusted. With batches of one user,
 * the sum changes by it. */
static bool sees_messages(const faro_release_kind *kind) {
  const faro_trust trust = kind->trust;
  return trust == FARO_TRUST_LOCAL || trust == FARO_TRUST_NONE;
}

/* Plays the one run. */
static void run_once(stage *s, faro_release *r, const faro_contribution *c, bool alone, uint64_t seed) {
  faro_sim_rng coins;
  faro_sim_open(&coins, seed, 0, FARO_ROLE_CONTEXT);
  faro_sim_open(&s->noise, seed, 0, FARO_ROLE_USER);
  for (size_t i = 0; i < s->m; i++) {
    s->coin[i] = faro_sim_bernoulli(&coins, 0.5);
    s->x[i] = s->coin[i] ? c->norm : -c->norm;
    const double before = faro_release_statistics(r).sum[c->gram + i];
    (void)faro_release_absorb(r, s->x, c->high);
    if (alone) s->score[i] = faro_release_statistics(r).sum[c->gram + i] - before;
    s->x[i] = 0;
  }
  for (size_t i = 0; !alone && i < s->m; i++) s->score[i] = faro_release_statistics(r).sum[c->gram + i];
}

/* The number of right guesses among the `guesses` most certain. */
static size_t count_right(stage *s, size_t guesses) {
  for (size_t i = 0; i < s->m; i++) { /* insertion sort: m is at most a thousand */
    size_t k = i;
    for (; k > 0 && fabs(s->score[s->order[k - 1]]) < fabs(s->score[i]); k--) s->order[k] = s->order[k - 1];
    s->order[k] = i;
  }
  size_t right = 0;
  for (size_t k = 0; k < guesses; k++) right += (s->score[s->order[k]] > 0) == s->coin[s->order[k]];
  return right;
}

/* The greatest probability of `right` right guesses that (epsilon, delta)-privacy allows. */
static double allowed(stage *s, size_t guesses, size_t right, double epsilon, double delta) {
  const long double p = 1 / (1 + expl(-(long double)epsilon));
  long double log_term = (long double)guesses * logl(p); /* all `guesses` right */
  s->tail[guesses + 1] = 0;
  for (size_t k = guesses + 1; k-- > 0;) {
    s->tail[k] = s->tail[k + 1] + expl(log_term);
    log_term += logl((long double)k) - logl((long double)(guesses - k + 1)) + logl(1 - p) - logl(p);
  }
  long double worst = 0;
  for (size_t i = 1; i <= s->m; i++) {
    const long double lower = i <= right ? s->tail[right - i] : 1;
    worst = fmaxl(worst, (lower - s->tail[right]) / (long double)i);
  }
  return (double)(s->tail[right] + 2 * (long double)s->m * (long double)delta * worst);
}

static double refuted_up_to(stage *s, size_t guesses, size_t right, double delta, double alpha) {
  double low = 0;
  double high = 50;
  if (allowed(s, guesses, right, 0, delta) >= alpha) return 0;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    if (allowed(s, guesses, right, middle, delta) < alpha) low = middle;
    else high = middle;
  }
  return low;
}

/* The epsilon that is as likely as not to give enough right guesses to refute the claim. */
static double power(stage *s, size_t guesses, const faro_claim *claim, double alpha) {
  if (isnan(claim->epsilon)) return NAN;
  for (size_t right = guesses / 2; right < guesses; right++)
    if (refuted_up_to(s, guesses, right, claim->delta, alpha) > claim->epsilon)
      return log((double)right / (double)(guesses - right));
  return INFINITY;
}

faro_status faro_audit_one_run(const faro_release_kind *kind, const faro_contribution *contribution,
                               const faro_release_params *params, const faro_audit_plan *plan,
                               faro_audit_result *result, faro_error *error) {
  if (contribution->dimension < 30 || contribution->dimension > 1000)
    return faro_fail(error, FARO_INVALID, "dimension must be 30 .. 1000 for an audit of one run (got %zu)",
                     contribution->dimension);
  if (contribution->form == FARO_FORM_GRAM)
    return faro_fail(error, FARO_INVALID, "an audit of one run needs contributions with x or x y in them");
  faro_release_params p = *params;
  p.horizon = contribution->dimension;
  p.batch = sees_messages(kind) ? 1 : p.horizon; /* every canary is in the single release */
  p.shufflers = 1;
  faro_release *release = NULL;
  stage s = {0};
  faro_status status =
      faro_release_create(&release, kind, contribution, &p, faro_source_simulated(&s.noise), error);
  if (status == FARO_OK) status = set_stage(&s, contribution, error);
  if (status == FARO_OK) {
    const faro_claim *claim = faro_release_claim(release);
    const size_t guesses = s.m / 3;
    const double delta = isnan(claim->delta) ? 0 : claim->delta;
    run_once(&s, release, contribution, sees_messages(kind), plan->seed);
    const size_t right = count_right(&s, guesses);
    *result =
        (faro_audit_result){.epsilon_lower = refuted_up_to(&s, guesses, right, delta, 1 - plan->confidence),
                            .epsilon = claim->epsilon,
                            .delta = claim->delta,
                            .proven = claim->proven,
                            .trials = 1,
                            .confidence = plan->confidence,
                            .power = power(&s, guesses, claim, 1 - plan->confidence),
                            .against = "claim",
                            .order_power = NAN,
                            .pair = "opposite",
                            .statistic = "canaries of one run",
                            .hits = (double)right / (double)guesses,
                            .false_hits = 1 - (double)right / (double)guesses};
    result->consistent = !(result->epsilon_lower > result->epsilon);
  }
  faro_release_destroy(release);
  faro_arena_free(&s.arena);
  return status;
}
