/* sum_write: the output of `faro sum`: a head that says what the sums mean, then one line per
 * release.
 *
 * A number v in [low, high] went into its sum as (v - middle) / width, and a line without a value
 * as 0. So the sum S of an entry stands for C middle + width S, where C is the number of values. If
 * C is private, the last entry of the vector is the sum of 1/2 or -1/2 per line. */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/sum/sum.h"
#include "report/claim.h"
#include "report/json.h"

/* The name of a column in the output. */
static const char *label(const sum_format *format, size_t column, char out[static SUM_NAME_SIZE]) {
  const sum_column *c = &format->column[column];
  if (!format->csv) snprintf(out, SUM_NAME_SIZE, "sum");
  else if (*c->name) snprintf(out, SUM_NAME_SIZE, "%s", c->name);
  else snprintf(out, SUM_NAME_SIZE, "column %zu", c->field + 1);
  return out;
}

static json_t *json_labels(const sum_format *format) {
  char text[SUM_NAME_SIZE];
  json_t *labels = json_array();
  for (size_t i = 0; i < format->columns; i++) {
    json_t *name = json_string(label(format, i, text));
    json_array_append_new(labels, name ? name : json_null()); /* null if the name is not UTF-8 */
  }
  return labels;
}

/* ---- the head */

/* What a claim says about sums. There are no actions, so an adversary may know all of them. */
static faro_claim claim_of(const sum_tally *t) {
  faro_claim claim = t->claim;
  if (claim.trust == FARO_TRUST_JOINT) claim.actions = FARO_ACTIONS_ALL;
  return claim;
}

static const char *view_of(const faro_claim *claim) {
  return claim->trust == FARO_TRUST_JOINT ? "the published numbers" : faro_trust_view(claim->trust);
}

/* The number of shufflers; "log" if it depends on the horizon; null if there are no shufflers. */
static json_t *shufflers_of(const sum_tally *t) {
  const size_t shufflers = faro_release_shufflers(t->stage);
  if (shufflers == 0) return json_null();
  return t->plan.params.shufflers > 0 ? json_integer((json_int_t)shufflers) : json_string("log");
}

/* With the keys of run.json. */
static json_t *claim_json(const sum_tally *t) {
  const faro_claim claim = claim_of(t);
  json_t *out = faro_claim_json(&claim);
  if (out && (json_object_set_new(out, "adversary_sees", json_string(view_of(&claim))) != 0 ||
              json_object_set_new(out, "actions", json_null()) != 0)) {
    json_decref(out);
    return NULL;
  }
  return out;
}

static faro_status write_json_head(const sum_writer *w, const sum_tally *t, faro_error *error) {
  const faro_release *release = t->stage;
  const uint64_t horizon = t->plan.params.horizon;
  json_t *head = json_pack("{s:o, s:s, s:s, s:o, s:I, s:o, s:o, s:f}", "claim", claim_json(t), "release",
                           faro_release_kind_of(release)->name, "calibration",
                           faro_calibration_name(t->plan.params.calibration), "shufflers", shufflers_of(t),
                           "batch", (json_int_t)faro_release_batch(release), "horizon",
                           horizon > 0 ? json_integer((json_int_t)horizon) : json_null(), "columns",
                           json_labels(w->format), "confidence", w->confidence);
  char *text = faro_json_text(head, false);
  json_decref(head);
  if (!text) return faro_fail(error, FARO_MEMORY, "out of memory");
  fprintf(w->out, "%s\n", text);
  free(text);
  return FARO_OK;
}

static bool at_end(const sum_writer *w) { return w->wanted->total || w->wanted->mean || w->wanted->count; }
static bool has_sums(const sum_writer *w) { return !w->wanted->count || w->wanted->total || w->wanted->mean; }

static void write_ranges(const sum_writer *w) {
  char text[SUM_NAME_SIZE];
  char low[FARO_NUMBER_SIZE];
  char high[FARO_NUMBER_SIZE];
  if (!has_sums(w)) return;
  fprintf(w->out, "# values:");
  for (size_t i = 0; i < w->format->columns; i++)
    fprintf(w->out, "%s%s%s in [%s, %s]", i ? "," : "", w->format->csv ? " " : "",
            w->format->csv ? label(w->format, i, text) : "", faro_number(w->low[i], low),
            faro_number(w->high[i], high));
  fprintf(w->out, "\n");
}

/* The name of a number in the line: "sum", "price", "total", "mean of price". */
static void write_name(const sum_writer *w, const char *what, size_t column) {
  char text[SUM_NAME_SIZE];
  const bool named = w->format->csv;
  const bool plain = !at_end(w) && named;
  fprintf(w->out, "\t%s%s%s\terror", plain ? "" : what, !plain && named ? " of " : "",
          named ? label(w->format, column, text) : "");
}

static void write_names(const sum_writer *w) {
  const sum_wanted *wanted = w->wanted;
  fprintf(w->out, "# %s", wanted->count ? "lines" : "count");
  if (wanted->count) fprintf(w->out, "\tcount\terror");
  for (size_t i = 0; i < w->format->columns; i++) {
    if (!at_end(w)) write_name(w, "sum", i);
    if (wanted->total) write_name(w, "total", i);
    if (wanted->mean) write_name(w, "mean", i);
  }
  fprintf(w->out, "\n");
}

/* How often it is released. */
static void write_schedule(const sum_writer *w, const sum_tally *t) {
  const uint64_t horizon = t->plan.params.horizon;
  if (at_end(w)) {
    fprintf(w->out, "# once: one release of all %s\n", w->wanted->count ? "lines" : "values");
    return;
  }
  fprintf(w->out, "# sums: after every %llu values and at the end; horizon %s%llu%s\n",
          (unsigned long long)faro_release_batch(t->stage),
          horizon > 0 ? "" : "unknown: ", (unsigned long long)t->horizon,
          horizon > 0 ? "" : " at first, then doubled");
}

/* The claim in words. */
static void write_meaning(const sum_writer *w, const faro_claim *claim) {
  enum { LARGE = 10 }; /* a factor of 22 000 tells nobody anything */
  char factor[FARO_NUMBER_SIZE];
  char delta[FARO_NUMBER_SIZE];
  if (!claim->proven || claim->epsilon > LARGE) return;
  faro_above(exp(claim->epsilon), 3, factor);
  if (claim->delta > 0)
    fprintf(w->out,
            "# at worst, this tells all about a line with probability %s, and otherwise changes the odds\n"
            "# of any guess about it by a factor of at most %s\n",
            faro_above(claim->delta, 6, delta), factor);
  else
    fprintf(w->out, "# this changes the odds of any guess about a line by a factor of at most %s\n", factor);
}

static void write_text_head(const sum_writer *w, const sum_tally *t) {
  const faro_claim claim = claim_of(t);
  json_t *shufflers = shufflers_of(t);
  char epsilon[FARO_NUMBER_SIZE];
  char delta[FARO_NUMBER_SIZE];
  char pair[FARO_PAIR_SIZE];
  fprintf(w->out, "# claim: epsilon %s, delta %s, trust %s, level %s: %s\n# by: %s\n",
          faro_above(claim.epsilon, 6, epsilon), faro_above(claim.delta, 6, delta), faro_claim_trust(&claim),
          faro_level_name(claim.level), faro_claim_standing(&claim), claim.by);
  fprintf(w->out, "# an adversary sees %s\n# neighbours differ in %s\n", view_of(&claim),
          w->wanted->count ? "one line, which may hold a value or none"
                           : "the values of one line; how many lines hold one is public");
  write_meaning(w, &claim);
  if (claim.local_epsilon > 0)
    fprintf(w->out, "# local: the messages of one user are %s-private by themselves\n",
            faro_pair_above(claim.local_epsilon, claim.local_delta, pair));
  fprintf(w->out, "# release: %s, calibration %s", faro_release_kind_of(t->stage)->name,
          faro_calibration_name(t->plan.params.calibration));
  if (json_is_string(shufflers)) fprintf(w->out, ", shufflers log");
  if (json_is_integer(shufflers))
    fprintf(w->out, ", shufflers %lld", (long long)json_integer_value(shufflers));
  json_decref(shufflers);
  fprintf(w->out, "\n");
  write_schedule(w, t);
  fprintf(w->out,
          "# errors: with probability %g, every number in a line is within the error printed next to it\n",
          w->confidence);
  write_ranges(w);
  write_names(w);
}

faro_status sum_write_head(const sum_writer *w, const sum_tally *tally, faro_error *error) {
  if (w->json) return write_json_head(w, tally, error);
  write_text_head(w, tally);
  return FARO_OK;
}

/* ---- a line */

typedef struct estimate {
  double value, error;
} estimate;

/* The noise is sub-Gaussian: the probability that any entry of the vector exceeds its bound is at
 * most 1 - confidence. */
static estimate entry_of(const sum_writer *w, const sum_tally *t, size_t entry) {
  const double deviations = sqrt(2 * log(2 * (double)t->contribution.length / (1 - w->confidence)));
  return (estimate){t->sum[entry], t->scale[entry] * deviations};
}

/* C: known, or from the last entry. */
static estimate count_of(const sum_writer *w, const sum_tally *t) {
  estimate count = {(double)t->users, 0};
  if (w->wanted->count) {
    count = entry_of(w, t, t->contribution.length - 1);
    count.value += (double)t->users / 2;
  }
  return count;
}

/* The last term bounds the rounding of doubles. */
static estimate sum_of(const sum_writer *w, const sum_tally *t, size_t column) {
  const estimate own = entry_of(w, t, column);
  const estimate count = count_of(w, t);
  const double width = w->high[column] - w->low[column];
  const double middle = w->low[column] + width / 2;
  const double rounding = 4 * DBL_EPSILON * (double)t->users * (fabs(middle) + width);
  return (estimate){middle * count.value + width * own.value,
                    width * own.error + fabs(middle) * count.error + rounding};
}

/* middle + width S / C. If S is off by at most s, and C by at most c, then S / C is off by at most
 * (s + |S / C| c) / (C - c). A mean is in [low, high], which is all that is known of it if noise
 * leaves no more. */
static estimate mean_of(const sum_writer *w, const sum_tally *t, size_t column) {
  const estimate own = entry_of(w, t, column);
  const estimate count = count_of(w, t);
  const double width = w->high[column] - w->low[column];
  const double middle = w->low[column] + width / 2;
  const double ratio = own.value / count.value;
  const double rounding = 4 * DBL_EPSILON * (fabs(middle) + width);
  const double error =
      width * (own.error + fabs(ratio) * count.error) / (count.value - count.error) + rounding;
  if (!(count.value > count.error && error < width / 2)) return (estimate){middle, width / 2 + rounding};
  return (estimate){fmin(fmax(middle + width * ratio, w->low[column]), w->high[column]), error};
}

/* Prints the digits that are meaningful given the error. The printed bound covers the rounding
 * too. */
static void write_text(FILE *out, estimate e) {
  const double digits = 2 - floor(log10(e.error));
  if (!(digits <= 15 && e.error < 1e15)) {
    fprintf(out, "\t%.17g\t%.17g", e.value, e.error);
    return;
  }
  const int decimals = digits > 0 ? (int)digits : 0;
  const double unit = pow(10, -decimals);
  fprintf(out, "\t%.*f\t%.*f", decimals, e.value, decimals, ceil(e.error / unit + 0.5) * unit);
}

static void write_text_line(const sum_writer *w, const sum_tally *t) {
  const sum_wanted *wanted = w->wanted;
  fprintf(w->out, "%llu", (unsigned long long)t->users);
  if (wanted->count) write_text(w->out, count_of(w, t));
  for (size_t i = 0; i < w->format->columns; i++) {
    if (!at_end(w) || wanted->total) write_text(w->out, sum_of(w, t, i));
    if (wanted->mean) write_text(w->out, mean_of(w, t, i));
  }
  fputc('\n', w->out);
}

typedef estimate estimator(const sum_writer *w, const sum_tally *t, size_t column);

/* One value as it is; several in brackets. */
static void write_json_list(const sum_writer *w, const sum_tally *t, estimator *of, bool errors) {
  const size_t columns = w->format->columns;
  char text[FARO_NUMBER_SIZE];
  if (columns > 1) fputc('[', w->out);
  for (size_t i = 0; i < columns; i++) {
    const estimate e = of(w, t, i);
    fprintf(w->out, "%s%s", i ? ", " : "", faro_number(errors ? e.error : e.value, text));
  }
  if (columns > 1) fputc(']', w->out);
}

/* "total": ..., "total_error": ...; running sums have a plain "error". */
static void write_json_member(const sum_writer *w, const sum_tally *t, const char *name, const char *error,
                              estimator *of) {
  fprintf(w->out, ", \"%s\": ", name);
  write_json_list(w, t, of, false);
  fprintf(w->out, ", \"%s\": ", error);
  write_json_list(w, t, of, true);
}

static void write_json_line(const sum_writer *w, const sum_tally *t) {
  const estimate count = count_of(w, t);
  char value[FARO_NUMBER_SIZE];
  char error[FARO_NUMBER_SIZE];
  fprintf(w->out, "{\"%s\": %llu", w->wanted->count ? "lines" : "count", (unsigned long long)t->users);
  if (w->wanted->count)
    fprintf(w->out, ", \"count\": %s, \"count_error\": %s", faro_number(count.value, value),
            faro_number(count.error, error));
  if (!at_end(w)) write_json_member(w, t, "sum", "error", sum_of);
  if (w->wanted->total) write_json_member(w, t, "total", "total_error", sum_of);
  if (w->wanted->mean) write_json_member(w, t, "mean", "mean_error", mean_of);
  fputs("}\n", w->out);
}

void sum_write_line(const sum_writer *w, const sum_tally *tally) {
  if (w->json) write_json_line(w, tally);
  else write_text_line(w, tally);
}
