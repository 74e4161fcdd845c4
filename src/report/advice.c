/* advice: which row to use. For each problem and promise (sweeps of settings that are a free
 * choice, such as the batch, are not part of it), the best proven row of each trust model, its
 * price, and which others cannot be told from it. */
#include <math.h>
#include <string.h>

#include "report/svg.h"
#include "report/words.h"

/* A share learnt below this is called nothing. */
static const double LITTLE = 0.05;

bool faro_advice_same(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (!faro_words_is_choice(report->sweep[s]) && strcmp(a->at[s], b->at[s]) != 0) return false;
  return true;
}

/* The best row with a trust model at a row's problem: of those that are proven, if a claim is
 * made. */
static const faro_view_row *find_best(const faro_report *report, const faro_view_row *at, size_t trust) {
  const faro_view_row *best = NULL;
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    if (faro_words_trust(row) != trust || faro_words_unproven(row) || !faro_advice_same(report, row, at))
      continue;
    if (!best || row->regret.mean < best->regret.mean) best = row;
  }
  return best;
}

const faro_view_row *faro_advice_free(const faro_report *report, const faro_view_row *row) {
  return find_best(report, row, 0);
}

/* Whether the trust model occurs at the problem, and only with claims that are not proven. */
static bool only_unproven(const faro_report *report, const faro_view_row *at, size_t trust) {
  bool unproven = false;
  for (size_t i = 0; i < report->count; i++)
    if (faro_words_trust(&report->row[i]) == trust && faro_advice_same(report, &report->row[i], at))
      unproven |= faro_words_unproven(&report->row[i]);
  return unproven && !find_best(report, at, trust);
}

/* The row's label, and the values of swept settings that are a free choice. */
static void add_label(const faro_report *report, const faro_view_row *row, faro_text *out) {
  faro_markup_add(out, row->label);
  for (size_t s = 0; s < report->sweeps; s++) {
    if (!faro_words_is_choice(report->sweep[s])) continue;
    faro_text_add(out, ", ");
    faro_markup_add(out, report->sweep[s]);
    faro_text_add(out, " ");
    faro_markup_add(out, row->at[s]);
  }
  if (row->rewards_only && faro_view_rewards_differ(report)) faro_text_add(out, " (rewards only)");
}

static void add_price(const faro_report *report, const faro_view_row *row, faro_text *out) {
  const faro_view_row *best = faro_advice_free(report, row);
  if (!best || best == row || !(best->regret.mean > 0)) return;
  faro_text_add(out, "%.3g times the %s without privacy", row->regret.mean / best->regret.mean,
                faro_view_word(report));
}

static void add_learnt(const faro_report *report, const faro_view_row *row, faro_text *out) {
  if (!isfinite(row->learnt)) return;
  if (row->learnt < LITTLE) {
    faro_text_add(out, "<b class=\"no\">learnt next to nothing</b>: no better than %s",
                  faro_view_base_name(report));
    return;
  }
  faro_text_add(out, "learnt <b>");
  faro_words_add_percent(out, row->learnt);
  faro_text_add(out, "</b>");
}

/* Rows with the same trust and proven claims from which no difference was seen. */
static void add_ties(const faro_report *report, const faro_view_row *row, faro_text *out) {
  enum { NAMED = 4 };
  size_t ties = 0;
  const char *separator = "<p class=\"tie\">No difference seen from ";
  for (size_t i = 0; i < report->comparisons; i++) {
    const faro_view_comparison *c = &report->comparison[i];
    const faro_view_row *other = c->better == row ? c->worse : c->worse == row ? c->better : NULL;
    if (!other || c->seen || faro_words_unproven(other) || !faro_view_is_private(other)) continue;
    if (++ties > NAMED) continue;
    faro_text_add(out, "%s", separator);
    add_label(report, other, out);
    separator = ", ";
  }
  if (ties > NAMED) faro_text_add(out, " and %zu more", ties - NAMED);
  if (ties > 0) faro_text_add(out, ".</p>");
}

static void add_card(const faro_report *report, const faro_view_row *row, size_t trust, faro_text *out) {
  char pair[FARO_PAIR_SIZE];
  faro_text_add(out, "<div class=\"card t%zu\"><h3>%s</h3><p class=\"pick\">", trust,
                trust == 0 ? "without privacy, for comparison" : faro_words_trusted(trust));
  add_label(report, row, out);
  faro_text_add(out, "</p><p><span class=\"big\">");
  faro_words_add_number(out, row->regret.mean);
  faro_text_add(out, "</span> %s", faro_view_word(report));
  if (isfinite(row->low)) {
    faro_text_add(out, "<br><span class=\"soft\">95&#8239;%% interval: ");
    faro_words_add_number(out, row->low);
    faro_text_add(out, " to ");
    faro_words_add_number(out, row->high);
    faro_text_add(out, "</span>");
  }
  faro_text_add(out, "</p><p>");
  add_learnt(report, row, out);
  faro_text_add(out, "</p><p>");
  add_price(report, row, out);
  faro_text_add(out, "</p>");
  if (isfinite(row->epsilon)) {
    faro_text_add(out, "<p class=\"yes\">%s proven", faro_pair_above(row->epsilon, row->delta, pair));
    faro_view_add_limits(row, faro_markup_add, out);
    faro_text_add(out, "</p>");
  }
  add_ties(report, row, out);
  faro_text_add(out, "</div>\n");
}

static void add_cards(const faro_report *report, const faro_view_row *at, faro_text *out) {
  faro_text_add(out, "<div class=\"cards\">\n");
  for (size_t k = 1; k <= FARO_TRUSTS; k++) {
    const size_t trust = k % FARO_TRUSTS; /* the one without privacy is last */
    const faro_view_row *row = find_best(report, at, trust);
    if (row) add_card(report, row, trust, out);
    else if (only_unproven(report, at, trust))
      faro_text_add(out,
                    "<div class=\"card\"><h3>%s</h3><p class=\"no\">No claim is proven here: there is "
                    "nothing to use.</p></div>\n",
                    faro_words_trusted(trust));
  }
  faro_text_add(out, "</div>\n");
}

/* The best private row at a problem, over all trust models; NULL if there is none. */
static const faro_view_row *best_private(const faro_report *report, const faro_view_row *at) {
  const faro_view_row *best = NULL;
  for (size_t t = 1; t < FARO_TRUSTS; t++) {
    const faro_view_row *row = find_best(report, at, t);
    if (row && (!best || row->regret.mean < best->regret.mean)) best = row;
  }
  return best;
}

/* What the other trust models cost beside the best row, and whether the difference was seen. */
static void add_others(const faro_report *report, const faro_view_row *best, faro_text *out) {
  const char *separator = " With ";
  for (size_t t = 1; t < FARO_TRUSTS; t++) {
    const faro_view_row *row = find_best(report, best, t);
    if (!row || row == best || !(best->regret.mean > 0)) continue;
    faro_text_add(out, "%s%s it is %.3g times that", separator, faro_words_trusted(t),
                  row->regret.mean / best->regret.mean);
    for (size_t i = 0; i < report->comparisons; i++)
      if (report->comparison[i].better == best && report->comparison[i].worse == row &&
          !report->comparison[i].seen)
        faro_text_add(out, " (no difference seen)");
    separator = ", with ";
  }
  if (*separator == ',') faro_text_add(out, ".");
}

/* One sentence above the cards. */
static void add_headline(const faro_report *report, const faro_view_row *at, faro_text *out) {
  const faro_view_row *best = best_private(report, at);
  if (!best) {
    faro_text_add(out, "<p class=\"headline\">No algorithm here has a proven claim.</p>\n");
    return;
  }
  faro_text_add(out, "<p class=\"headline\">Least %s with a proven claim: <b>", faro_view_word(report));
  add_label(report, best, out);
  faro_text_add(out, "</b> (%s), ", faro_words_trusted(faro_words_trust(best)));
  faro_words_add_number(out, best->regret.mean);
  if (faro_advice_free(report, best)) faro_text_add(out, ", ");
  add_price(report, best, out);
  faro_text_add(out, ".");
  add_others(report, best, out);
  faro_text_add(out, "</p>\n");
}

static void add_cell(const faro_report *report, const faro_view_row *row, size_t trust, faro_text *out) {
  faro_text_add(out, "<td class=\"t\" data-t=\"%s\">", faro_words_trusted(trust));
  if (row) {
    add_label(report, row, out);
    faro_text_add(out, "<br><b>");
    faro_words_add_number(out, row->regret.mean);
    faro_text_add(out, "</b> <span class=\"soft\">");
    const faro_view_row *best = faro_advice_free(report, row);
    if (best && best != row && best->regret.mean > 0)
      faro_text_add(out, "×&#8239;%.3g ", row->regret.mean / best->regret.mean);
    faro_text_add(out, "</span>");
    if (row->learnt < LITTLE) faro_text_add(out, "<span class=\"no\">learnt nothing</span>");
    else if (isfinite(row->learnt)) {
      faro_text_add(out, "<span class=\"soft\">learnt ");
      faro_words_add_percent(out, row->learnt);
      faro_text_add(out, "</span>");
    }
  } else faro_text_add(out, "–");
  faro_text_add(out, "</td>");
}

static void add_problem(const faro_report *report, const faro_view_row *at,
                        const bool shown[static FARO_TRUSTS], faro_text *out) {
  faro_text_add(out, "<tr>");
  for (size_t s = 0; s < report->sweeps; s++) {
    if (faro_words_is_choice(report->sweep[s])) continue;
    faro_text_add(out, "<th class=\"t\" scope=\"row\">");
    faro_markup_add(out, report->sweep[s]);
    faro_text_add(out, " ");
    faro_markup_add(out, at->at[s]);
    faro_text_add(out, "</th>");
  }
  for (size_t k = 1; k <= FARO_TRUSTS; k++)
    if (shown[k % FARO_TRUSTS])
      add_cell(report, find_best(report, at, k % FARO_TRUSTS), k % FARO_TRUSTS, out);
  faro_text_add(out, "</tr>\n");
}

static bool is_first(const faro_report *report, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (faro_advice_same(report, &report->row[j], &report->row[i])) return false;
  return true;
}

/* How often a row's label is the best of its trust model, over all problems. */
static size_t count_wins(const faro_report *report, const faro_view_row *row, size_t trust) {
  size_t wins = 0;
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *best = is_first(report, i) ? find_best(report, &report->row[i], trust) : NULL;
    wins += best && strcmp(best->label, row->label) == 0;
  }
  return wins;
}

/* The label that wins most often with a trust model; NULL if no claim is proven anywhere. */
static const faro_view_row *find_winner(const faro_report *report, size_t trust, size_t *wins) {
  const faro_view_row *winner = NULL;
  *wins = 0;
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *best = is_first(report, i) ? find_best(report, &report->row[i], trust) : NULL;
    const size_t count = best ? count_wins(report, best, trust) : 0;
    if (count <= *wins) continue;
    *wins = count;
    winner = best;
  }
  return winner;
}

/* What privacy costs with a trust model, from the cheapest to the dearest problem. */
static void add_prices(const faro_report *report, size_t trust, faro_text *out) {
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *best = find_best(report, &report->row[i], trust);
    const faro_view_row *none = faro_advice_free(report, &report->row[i]);
    if (!best || !none || !(none->regret.mean > 0)) continue;
    least = fmin(least, best->regret.mean / none->regret.mean);
    most = fmax(most, best->regret.mean / none->regret.mean);
  }
  if (most > 0)
    faro_text_add(out, "; %.3g to %.3g times the %s without privacy", least, most, faro_view_word(report));
}

/* Whether a proven row with a trust model has another label than this one. */
static bool has_rival(const faro_report *report, const faro_view_row *row, size_t trust) {
  for (size_t i = 0; i < report->count; i++)
    if (faro_words_trust(&report->row[i]) == trust && !faro_words_unproven(&report->row[i]) &&
        strcmp(report->row[i].label, row->label) != 0)
      return true;
  return false;
}

/* In words: what to use with each trust model that leaves a choice. */
static void add_summary(const faro_report *report, size_t problems, faro_text *out) {
  bool any = false;
  for (size_t t = 1; t < FARO_TRUSTS; t++) {
    size_t wins = 0;
    const faro_view_row *winner = find_winner(report, t, &wins);
    if (!winner || !has_rival(report, winner, t)) continue;
    faro_text_add(out, "%s<li>With %s%s use <b>", any ? "" : "<ul>\n", faro_words_trusted(t),
                  2 * wins > problems ? "" : " it depends: mostly");
    faro_markup_add(out, winner->label);
    faro_text_add(out, "</b>%s: the best ",
                  winner->rewards_only && faro_view_rewards_differ(report) ? " (rewards only)" : "");
    if (wins == problems) faro_text_add(out, "everywhere");
    else faro_text_add(out, "at %zu of %zu points", wins, problems);
    add_prices(report, t, out);
    faro_text_add(out, ".</li>\n");
    any = true;
  }
  if (any) faro_text_add(out, "</ul>\n");
}

/* A row for each problem, a column for each trust model. */
static void add_grid(const faro_report *report, faro_text *out) {
  bool shown[FARO_TRUSTS] = {false};
  for (size_t i = 0; i < report->count; i++)
    if (!faro_words_unproven(&report->row[i])) shown[faro_words_trust(&report->row[i])] = true;
  bool learnt = false;
  for (size_t i = 0; i < report->count; i++) learnt |= isfinite(report->row[i].learnt);
  faro_text_add(out,
                "<p>The best proven algorithm of each trust model: its %s%s%s.</p>\n"
                "<div class=\"wide\"><table class=\"grid stack\"><thead><tr>",
                faro_view_word(report), shown[0] ? ", how many times that without privacy" : "",
                !learnt ? ""
                : faro_view_has_classes(report)
                    ? ", and what share of the errors of always naming the most frequent class it avoids"
                    : ", and what share of the possible it learnt");
  for (size_t s = 0; s < report->sweeps; s++)
    if (!faro_words_is_choice(report->sweep[s])) faro_text_add(out, "<th></th>");
  for (size_t k = 1; k <= FARO_TRUSTS; k++)
    if (shown[k % FARO_TRUSTS])
      faro_text_add(out, "<th class=\"t\">%s</th>", faro_words_trusted(k % FARO_TRUSTS));
  faro_text_add(out, "</tr></thead><tbody>\n");
  for (size_t i = 0; i < report->count; i++)
    if (is_first(report, i)) add_problem(report, &report->row[i], shown, out);
  faro_text_add(out, "</tbody></table></div>\n");
}

static void add_point(const faro_report *report, const faro_view_row *row, faro_text *out) {
  for (size_t s = 0; s < report->sweeps; s++) {
    faro_text_add(out, "<td class=\"t\">");
    faro_markup_add(out, row->at[s]);
    faro_text_add(out, "</td>");
  }
}

static void add_comparison(const faro_report *report, const faro_view_comparison *c, faro_text *out) {
  faro_text_add(out, "<tr>");
  add_point(report, c->better, out);
  faro_text_add(out, "<td class=\"t\">");
  faro_markup_add(out, c->better->label);
  faro_text_add(out, "</td><td class=\"t\">");
  faro_markup_add(out, c->worse->label);
  faro_text_add(out, "</td><td class=\"n\">");
  faro_words_add_number(out, c->difference);
  faro_text_add(out, " <span class=\"soft\">");
  faro_words_add_number(out, c->low);
  faro_text_add(out, " to ");
  faro_words_add_number(out, c->high);
  faro_text_add(out, "</span></td><td class=\"t\">%s</td></tr>\n", c->seen ? "better" : "no difference seen");
}

/* Pairs on the same instances: sharper than two intervals that overlap. */
static void add_comparisons(const faro_report *report, faro_text *out) {
  if (report->comparisons == 0) return;
  faro_text_add(out, "<details><summary>Compared in pairs, on the same instances</summary>\n<div "
                     "class=\"wide\"><table><thead><tr>");
  for (size_t s = 0; s < report->sweeps; s++) {
    faro_text_add(out, "<th class=\"t\">");
    faro_markup_add(out, report->sweep[s]);
    faro_text_add(out, "</th>");
  }
  faro_text_add(
      out,
      "<th class=\"t\">less %s</th><th class=\"t\">more</th><th>difference, 95&#8239;%% interval</th>"
      "<th class=\"t\"></th></tr></thead><tbody>\n",
      faro_view_word(report));
  for (size_t i = 0; i < report->comparisons; i++) add_comparison(report, &report->comparison[i], out);
  faro_text_add(out, "</tbody></table></div></details>\n");
}

/* With more problems than this the grid would be as long as the table, and take long to make. */
enum { PROBLEMS_SHOWN = 60 };

void faro_advice_add(const faro_report *report, faro_text *out) {
  size_t problems = 0;
  for (size_t i = 0; i < report->count; i++) problems += is_first(report, i);
  faro_text_add(out, "<section id=\"advice\"><h2>Which one to use</h2>\n");
  if (problems == 1) {
    add_headline(report, &report->row[0], out);
    add_cards(report, &report->row[0], out);
  } else if (problems > PROBLEMS_SHOWN) {
    faro_text_add(out, "<p>%zu problems were run: for each, the table below starts with the least %s.</p>\n",
                  problems, faro_view_word(report));
  } else {
    add_summary(report, problems, out);
    add_grid(report, out);
  }
  add_comparisons(report, out);
  faro_text_add(out, "</section>\n");
}
