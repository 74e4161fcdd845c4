/* evaluate_write: the output of `faro evaluate`: a table of methods, warnings, and the claim if
 * there is one. With --private every number comes from released sums or from public settings. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/evaluate/evaluate.h"
#include "report/claim.h"
#include "report/json.h"

/* Decimals that an error of this size calls for: two digits of it. */
static int decimals_for(double error) {
  if (!(error > 0)) return 4;
  const double digits = 1 - floor(log10(error));
  return digits < 0 ? 0 : digits > 12 ? 12 : (int)digits;
}

static void write_line(const evaluate_writer *w, faro_method method, const faro_evaluated *e, int decimals) {
  if (!e->made) return;
  const bool interval = e->silence == FARO_SILENCE_NOTHING;
  char bounds[80] = "-";
  if (interval) snprintf(bounds, sizeof bounds, "%.*f .. %.*f", decimals, e->low, decimals, e->high);
  fprintf(w->out, "%-8s ", faro_method_name(method));
  if (isfinite(e->value) && e->silence != FARO_SILENCE_NOISE) fprintf(w->out, "%10.*f", decimals, e->value);
  else fprintf(w->out, "%10s", "-");
  fprintf(w->out, "  %-20s  %s%s%s\n", bounds, faro_method_meaning(method),
          interval ? "" : "; no interval: ", faro_silence_text(e->silence));
}

/* One number of decimals for all: that of the shortest interval. */
static void write_table(const evaluate_writer *w, const faro_evaluated *of) {
  char title[40];
  double least = 0;
  for (size_t m = 0; m < FARO_METHODS; m++) {
    const double error = (of[m].high - of[m].low) / 4;
    if (of[m].made && error > 0 && (least == 0 || error < least)) least = error;
  }
  const int decimals = decimals_for(least);
  snprintf(title, sizeof title, "%g %% interval", 100 * w->confidence);
  fprintf(w->out, "\n%-8s %10s  %s\n", "method", "mean", title);
  for (size_t m = 0; m < FARO_METHODS; m++) write_line(w, (faro_method)m, &of[m], decimals);
  fprintf(w->out, "\n");
}

static void write_warning(const evaluate_writer *w, const char *text) {
  static const char lead[] = "warning:";
  const size_t width = cli_width(w->out);
  fputs(lead, w->out);
  cli_wrap(w->out, text, strlen(text), width > 0 ? width : 100, sizeof lead, sizeof lead - 1);
}

/* The terms of a cross-fitted model are independent within a fold only, and the bound is about
 * independent ones. NULL: there is nothing to say. */
static const char *unproven(const evaluate_writer *w, const faro_evaluation *v) {
  const bool said = w->interval == FARO_BOUNDS_BERNSTEIN && w->learnt && v->of[FARO_METHOD_DR].made;
  return said ? "The intervals of dr and gain are not proven: their model was learnt from this log. With "
                "--model FILE, a model that was made without it, they are."
              : NULL;
}

void evaluate_write(const evaluate_writer *w, const faro_evaluation *v) {
  char text[FARO_DOUBT_SIZE];
  char arms[TARGET_ARMS];
  fprintf(w->out, "policy %s on %s: %llu rows", w->policy, faro_path_end(w->file),
          (unsigned long long)v->rows);
  if (v->people != v->rows) fprintf(w->out, " of %llu people", (unsigned long long)v->people);
  fprintf(w->out, ", %zu arms (%s)\n", w->facts->arms, target_arms(w->facts, arms));
  write_table(w, v->of);
  fprintf(w->out, "effective rows: %.0f; matched: %.1f %%; greatest weight: %.4g; accepted by replay: %llu\n",
          v->effective, 100 * v->matched, v->greatest, (unsigned long long)v->accepted);
  for (size_t d = 0; d < FARO_DOUBTS; d++)
    if (v->doubts >> d & 1) write_warning(w, faro_evaluation_doubt(v, (faro_doubt)d, text));
  if (unproven(w, v)) write_warning(w, unproven(w, v));
  fprintf(w->out, "no privacy: these numbers are computed from the rows themselves\n");
}

/* ---- JSON */

static json_t *json_estimate(faro_method method, const faro_evaluated *e) {
  const bool interval = e->silence == FARO_SILENCE_NOTHING;
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "method", faro_method_name(method), "mean",
                   faro_json_number(e->value), "low", faro_json_number(e->low), "high",
                   faro_json_number(e->high), "error", faro_json_number(e->error), "no_interval",
                   interval ? json_null() : json_string(faro_silence_text(e->silence)));
}

static json_t *json_estimates(const faro_evaluated *of) {
  json_t *list = json_array();
  for (size_t m = 0; m < FARO_METHODS; m++)
    if (of[m].made) json_array_append_new(list, json_estimate((faro_method)m, &of[m]));
  return list;
}

static json_t *json_arms(const faro_rows_facts *facts) {
  json_t *list = json_array();
  for (size_t a = 0; a < facts->arms; a++) {
    json_t *name = json_string(facts->arm[a]);
    json_array_append_new(list, name ? name : json_null()); /* null if the name is not UTF-8 */
  }
  return list;
}

static faro_status print_json(const evaluate_writer *w, json_t *object, faro_error *error) {
  char *text = faro_json_text(object, true);
  json_decref(object);
  if (!text) return faro_fail(error, FARO_MEMORY, "out of memory");
  fprintf(w->out, "%s\n", text);
  free(text);
  return FARO_OK;
}

faro_status evaluate_write_json(const evaluate_writer *w, const faro_evaluation *v, faro_error *error) {
  char text[FARO_DOUBT_SIZE];
  json_t *warnings = json_array();
  for (size_t d = 0; d < FARO_DOUBTS; d++)
    if (v->doubts >> d & 1)
      json_array_append_new(warnings, json_string(faro_evaluation_doubt(v, (faro_doubt)d, text)));
  if (unproven(w, v)) json_array_append_new(warnings, json_string(unproven(w, v)));
  json_t *object = json_pack(
      "{s:s, s:b, s:I, s:I, s:o, s:f, s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "policy", w->policy,
      "private", 0, "rows", (json_int_t)v->rows, "people", (json_int_t)v->people, "arms", json_arms(w->facts),
      "confidence", w->confidence, "interval", faro_bounds_name(w->interval), "effective",
      faro_json_number(v->effective), "matched", faro_json_number(v->matched), "greatest_weight",
      faro_json_number(v->greatest), "mean_weight", faro_json_number(v->mean), "accepted",
      (json_int_t)v->accepted, "estimates", json_estimates(v->of), "warnings", warnings);
  return print_json(w, object, error);
}

/* ---- private */

static const char *view_of(const faro_claim *claim) {
  return claim->trust == FARO_TRUST_JOINT ? "the published numbers" : faro_trust_view(claim->trust);
}

/* What the claim means for one row, or one person. */
static void write_meaning(const evaluate_writer *w, const faro_claim *c, const char *whom) {
  enum { LARGE = 10 }; /* a factor of 22 000 tells nobody anything */
  char delta[FARO_NUMBER_SIZE];
  char factor[FARO_NUMBER_SIZE];
  if (!c->proven || c->epsilon > LARGE) return;
  faro_above(exp(c->epsilon), 3, factor);
  if (c->delta > 0)
    fprintf(w->out,
            "at worst, this tells all about a %s with probability %s, and otherwise changes the odds\n"
            "of any guess about it by a factor of at most %s\n",
            whom, faro_above(c->delta, 6, delta), factor);
  else
    fprintf(w->out, "this changes the odds of any guess about a %s by a factor of at most %s\n", whom,
            factor);
}

static void write_claim(const evaluate_writer *w, const evaluate_private *p) {
  const faro_claim *c = &p->result->claim;
  const bool user = c->level == FARO_LEVEL_USER;
  char epsilon[FARO_NUMBER_SIZE];
  char delta[FARO_NUMBER_SIZE];
  char pair[FARO_PAIR_SIZE];
  fprintf(w->out, "claim: epsilon %s, delta %s, trust %s, level %s", faro_above(c->epsilon, 6, epsilon),
          faro_above(c->delta, 6, delta), faro_claim_trust(c), faro_level_name(c->level));
  if (user)
    fprintf(w->out, " (at most %llu rows of a person are used)", (unsigned long long)c->contributions);
  fprintf(w->out, ": %s\nby: %s\nan adversary sees %s\n", faro_claim_standing(c), c->by, view_of(c));
  fprintf(w->out, "neighbours differ in %s\n",
          user ? "all rows of one person; how many people there are is public"
               : "one row; how many rows there are is public");
  write_meaning(w, c, user ? "person" : "row");
  if (c->local_epsilon > 0)
    fprintf(w->out, "local: the messages of one %s are %s-private by themselves\n", user ? "person" : "row",
            faro_pair_above(c->local_epsilon, c->local_delta, pair));
  fprintf(w->out, "it holds if the policy%s and the options were not chosen by looking at these rows\n",
          p->params->model ? ", the model" : "");
  fprintf(w->out, "release: %s, weights cut to %g, rewards in [%g, %g]\n", p->result->release,
          p->params->clip, p->params->low, p->params->high);
}

void evaluate_write_private(const evaluate_writer *w, const evaluate_private *p) {
  const faro_private_evaluation *v = p->result;
  char text[FARO_DOUBT_SIZE];
  char arms[TARGET_ARMS];
  const bool user = v->claim.level == FARO_LEVEL_USER;
  fprintf(w->out, "policy %s on %s: %.0f %s, %zu arms (%s); released with noise\n", w->policy,
          faro_path_end(w->file), v->people, user ? "people" : "rows", w->facts->arms,
          target_arms(w->facts, arms));
  write_table(w, v->of);
  fprintf(w->out, "effective rows: at least %.0f; mean weight: %.3f, noise and luck explain %.3f\n",
          floor(v->effective), v->mean, v->mean_error);
  for (size_t d = 0; d < FARO_DOUBTS; d++)
    if (v->doubts >> d & 1) write_warning(w, faro_private_evaluation_doubt(v, (faro_doubt)d, text));
  write_claim(w, p);
}

/* `results` is what `faro verify` reads. */
faro_status evaluate_write_private_json(const evaluate_writer *w, const evaluate_private *p,
                                        faro_error *error) {
  const faro_private_evaluation *v = p->result;
  char text[FARO_DOUBT_SIZE];
  json_t *warnings = json_array();
  for (size_t d = 0; d < FARO_DOUBTS; d++)
    if (v->doubts >> d & 1)
      json_array_append_new(warnings, json_string(faro_private_evaluation_doubt(v, (faro_doubt)d, text)));
  json_t *claim = faro_claim_json(&v->claim);
  json_object_set_new(claim, "adversary_sees", json_string(view_of(&v->claim)));
  json_t *grounds = p->grounds ? json_loads(p->grounds, 0, NULL) : NULL;
  json_t *result = json_pack("{s:s, s:O, s:o}", "label", "evaluate", "claim", claim, "grounds",
                             grounds ? grounds : json_null());
  json_t *object = json_pack(
      "{s:s, s:b, s:o, s:I, s:s, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:[o]}", "policy", w->policy, "private",
      1, "arms", json_arms(w->facts), "people", (json_int_t)v->people, "release", p->result->release, "clip",
      faro_json_number(p->params->clip), "range", json_pack("[f, f]", p->params->low, p->params->high),
      "confidence", w->confidence, "effective_at_least", faro_json_number(v->effective), "mean_weight",
      faro_json_number(v->mean), "estimates", json_estimates(v->of), "claim", claim, "results", result);
  if (object) json_object_set_new(object, "warnings", warnings);
  else json_decref(warnings);
  return print_json(w, object, error);
}
