/* sum_write: the output of `faro sum`: a head that says what the sums mean, then one line per
 * release. */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/sum/sum.h"
#include "report/claim.h"

/* ---- the head */

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

/* The number of shufflers; "log" if it depends on the horizon; null if there are no shufflers. */
static json_t *shufflers(const faro_release_kind *kind, const faro_release_params *params) {
  const faro_trust trust = kind->trust;
  if (trust == FARO_TRUST_SHUFFLE) return json_integer(1);
  if (trust != FARO_TRUST_CONCURRENT) return json_null();
  return params->shufflers > 0 ? json_integer((json_int_t)params->shufflers) : json_string("log");
}

static faro_status write_json_head(const sum_writer *w, const faro_release *release,
                                   const faro_release_kind *kind, const faro_release_params *params,
                                   bool horizon_known, faro_error *error) {
  json_t *head = json_pack("{s:o, s:s, s:s, s:o, s:I, s:o, s:o, s:f}", "claim",
                           faro_claim_json(faro_release_claim(release)), "release", kind->name, "calibration",
                           faro_calibration_name(params->calibration), "shufflers", shufflers(kind, params),
                           "batch", (json_int_t)faro_release_batch(release), "horizon",
                           horizon_known ? json_integer((json_int_t)params->horizon) : json_null(), "columns",
                           json_labels(w->format), "confidence", w->confidence);
  char *text = head ? json_dumps(head, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(head);
  if (!text) return faro_fail(error, FARO_MEMORY, "out of memory");
  fprintf(w->out, "%s\n", text);
  free(text);
  return FARO_OK;
}

static void write_columns(const sum_writer *w) {
  char text[SUM_NAME_SIZE];
  char low[FARO_NUMBER_SIZE];
  char high[FARO_NUMBER_SIZE];
  fprintf(w->out, "# values:");
  for (size_t i = 0; i < w->format->columns; i++)
    fprintf(w->out, "%s%s%s in [%s, %s]", i ? "," : "", w->format->csv ? " " : "",
            w->format->csv ? label(w->format, i, text) : "", faro_number(w->low[i], low),
            faro_number(w->high[i], high));
  fprintf(w->out, "\n# count");
  for (size_t i = 0; i < w->format->columns; i++) fprintf(w->out, "\t%s\terror", label(w->format, i, text));
  fprintf(w->out, "\n");
}

static void write_text_head(const sum_writer *w, const faro_release *release, const faro_release_kind *kind,
                            const faro_release_params *params, bool horizon_known) {
  const faro_claim *claim = faro_release_claim(release);
  json_t *several = shufflers(kind, params);
  char epsilon[FARO_NUMBER_SIZE];
  char delta[FARO_NUMBER_SIZE];
  char view[FARO_VIEW_SIZE];
  char pair[FARO_PAIR_SIZE];
  fprintf(w->out, "# claim: epsilon %s, delta %s, trust %s, level %s: %s\n# by: %s\n",
          faro_above(claim->epsilon, 6, epsilon), faro_above(claim->delta, 6, delta), faro_claim_trust(claim),
          faro_level_name(claim->level), faro_claim_standing(claim), claim->by);
  fprintf(w->out, "# an adversary sees %s; neighbours differ in the values of one line\n",
          faro_claim_view(claim, view));
  if (claim->local_epsilon > 0)
    fprintf(w->out, "# local: the messages of one user are %s-private by themselves\n",
            faro_pair_above(claim->local_epsilon, claim->local_delta, pair));
  fprintf(w->out, "# release: %s, calibration %s, ", kind->name, faro_calibration_name(params->calibration));
  if (json_is_string(several)) fprintf(w->out, "shufflers %s, ", json_string_value(several));
  if (json_is_integer(several)) fprintf(w->out, "shufflers %lld, ", (long long)json_integer_value(several));
  json_decref(several);
  fprintf(w->out, "a sum after every %llu values, horizon %s%llu%s\n",
          (unsigned long long)faro_release_batch(release),
          horizon_known ? "" : "unknown: ", (unsigned long long)params->horizon,
          horizon_known ? "" : " at first, then doubled");
  fprintf(w->out,
          "# errors: with probability %g, every sum in a line is within the error printed next to it\n",
          w->confidence);
  write_columns(w);
}

faro_status sum_write_head(const sum_writer *w, const faro_release *release, const faro_release_kind *kind,
                           const faro_release_params *params, bool horizon_known, faro_error *error) {
  if (w->json) return write_json_head(w, release, kind, params, horizon_known, error);
  write_text_head(w, release, kind, params, horizon_known);
  return FARO_OK;
}

/* ---- a release */

typedef struct estimate {
  double sum, error;
} estimate;

/* Values went in as (v - low) / width - 1/2, so the sum is scaled back here. Its noise is
 * sub-Gaussian: the probability that any column exceeds its bound is at most 1 - confidence. The
 * last term bounds the rounding of doubles. */
static estimate estimate_of(const sum_writer *w, const faro_doubling *release, size_t column) {
  const faro_statistics statistics = faro_doubling_statistics(release);
  const double count = (double)statistics.users;
  const double low = w->low[column];
  const double width = w->high[column] - low;
  const double deviations = sqrt(2 * log(2 * (double)w->format->columns / (1 - w->confidence)));
  return (estimate){.sum = low * count + width * (statistics.sum[column] + count / 2),
                    .error = width * faro_doubling_scale(release, column) * deviations +
                             4 * DBL_EPSILON * count * (fabs(low) + width)};
}

/* Prints the digits that are meaningful given the error. The printed bound covers the rounding
 * too. */
static void write_text(FILE *out, estimate e) {
  const double digits = 2 - floor(log10(e.error));
  if (!(digits <= 15 && e.error < 1e15)) {
    fprintf(out, "\t%.17g\t%.17g", e.sum, e.error);
    return;
  }
  const int decimals = digits > 0 ? (int)digits : 0;
  const double unit = pow(10, -decimals);
  fprintf(out, "\t%.*f\t%.*f", decimals, e.sum, decimals, ceil(e.error / unit + 0.5) * unit);
}

static void write_text_release(const sum_writer *w, const faro_doubling *release) {
  fprintf(w->out, "%llu", (unsigned long long)faro_doubling_statistics(release).users);
  for (size_t i = 0; i < w->format->columns; i++) write_text(w->out, estimate_of(w, release, i));
  fputc('\n', w->out);
}

/* One value as it is; several in brackets. */
static void write_json_list(const sum_writer *w, const faro_doubling *release, bool errors) {
  const size_t columns = w->format->columns;
  char text[FARO_NUMBER_SIZE];
  if (columns > 1) fputc('[', w->out);
  for (size_t i = 0; i < columns; i++) {
    const estimate e = estimate_of(w, release, i);
    fprintf(w->out, "%s%s", i ? ", " : "", faro_number(errors ? e.error : e.sum, text));
  }
  if (columns > 1) fputc(']', w->out);
}

static void write_json_release(const sum_writer *w, const faro_doubling *release) {
  fprintf(w->out, "{\"count\": %llu, \"sum\": ", (unsigned long long)faro_doubling_statistics(release).users);
  write_json_list(w, release, false);
  fputs(", \"error\": ", w->out);
  write_json_list(w, release, true);
  fputs("}\n", w->out);
}

void sum_write_release(const sum_writer *w, const faro_doubling *release) {
  if (w->json) write_json_release(w, release);
  else write_text_release(w, release);
}
