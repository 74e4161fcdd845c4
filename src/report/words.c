/* words: see the header. What a claim promises is said once per trust model, level and standing,
 * with one line per (epsilon, delta). */
#include "report/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

typedef struct trust_words {
  const char *name;    /* in run.json */
  const char *trusted; /* who */
  const char *with;    /* with what */
  const char *sees;    /* an adversary */
} trust_words;

static const trust_words trusts[] = {
    {"none", "no privacy", "Everybody who runs or reads the system sees everything.", "everything"},
    {"joint", "a trusted server",
     "Users send their data as it is. The server adds the noise, and is trusted with everything.",
     "every published policy, and what all other users were shown,"},
    {"central", "a trusted server",
     "Users send their data as it is. The server adds the noise, and is trusted with everything.",
     "everything that is published, and what all users were shown,"},
    {"concurrent", "several shufflers",
     "Devices randomise what they send, and shufflers with overlapping batches mix it. Each of them is "
     "trusted to follow the protocol and to keep quiet about who sent what; the server is not trusted.",
     "all messages after they were mixed, and so every published policy,"},
    {"shuffle", "a trusted shuffler",
     "Devices randomise what they send, and a shuffler mixes it in batches. It is trusted to follow the "
     "protocol and to keep quiet about who sent what; the server is not trusted.",
     "all messages after they were mixed, and so every published policy,"},
    {"local", "nobody trusted", "Devices add all the noise before anything leaves them.",
     "every message of every user's device"},
};
enum { TRUSTS = sizeof trusts / sizeof *trusts };

/* The first is said of a trust model that this version does not know. */
static const trust_words *find_words(const faro_view_row *row) {
  for (size_t i = 0; i < TRUSTS; i++)
    if (strcmp(trusts[i].name, row->trust) == 0) return &trusts[i];
  return &trusts[0];
}

static const char *const trusted[FARO_TRUSTS] = {"no privacy", "a trusted server", "several shufflers",
                                                 "a trusted shuffler", "nobody trusted"};

size_t faro_words_trust(const faro_view_row *row) {
  const char *words = find_words(row)->trusted;
  size_t i = 0;
  while (i + 1 < FARO_TRUSTS && strcmp(trusted[i], words) != 0) i++;
  return i;
}

const char *faro_words_trusted(size_t trust) { return trusted[trust]; }

bool faro_words_proven(const faro_view_row *row) { return strcmp(row->standing, "proven") == 0; }
bool faro_words_unproven(const faro_view_row *row) { return strcmp(row->standing, "not proven") == 0; }
void faro_words_add_number(faro_text *out, double value) {
  char plain[40];
  if (!isfinite(value) || fabs(value) >= 1e15) {
    faro_text_add(out, isfinite(value) ? "%.3g" : "–", value);
    return;
  }
  if (fabs(value) < 100 && value != floor(value)) {
    faro_text_add(out, "%.3g", value);
    return;
  }
  const int length = snprintf(plain, sizeof plain, "%.0f", value);
  for (int i = 0; i < length; i++) {
    const int rest = length - i;
    const bool group = i > 0 && rest % 3 == 0 && fabs(value) >= 1e4 && plain[i - 1] != '-';
    faro_text_add(out, "%s%c", group ? "&#8239;" : "", plain[i]);
  }
}

void faro_words_add_probability(faro_text *out, double value) {
  char text[FARO_NUMBER_SIZE];
  faro_above(value, 2, text);
  char *e = strchr(text, 'e');
  if (!e) {
    faro_text_add(out, "%s", text);
    return;
  }
  *e = '\0';
  const long exponent = strtol(e + 1, NULL, 10);
  if (strcmp(text, "1") != 0) faro_text_add(out, "%s&#8239;×&#8239;", text);
  faro_text_add(out, "10<sup>−%ld</sup>", -exponent);
}

void faro_words_add_percent(faro_text *out, double share) {
  char text[32];
  if (isfinite(share)) faro_text_add(out, "%s&#8239;%%", faro_percent(share, text));
  else faro_text_add(out, "–");
}

bool faro_words_is_choice(const char *key) {
  static const char *const keys[] = {"batch",   "growth",    "largest", "shufflers",  "adaptive",
                                     "anytime", "surrogate", "failure", "calibration"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(keys[i], key) == 0) return true;
  return false;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool is_hidden(const faro_view_row *row) { return same_text(row->actions, "hidden"); }

/* Whether the same sentence says what two claims promise, but for its numbers. */
static bool same_promise(const faro_view_row *a, const faro_view_row *b) {
  return find_words(a) == find_words(b) && strcmp(a->level, b->level) == 0 &&
         strcmp(a->standing, b->standing) == 0 && is_hidden(a) == is_hidden(b) &&
         a->rewards_only == b->rewards_only && same_text(a->assumes, b->assumes);
}

/* Above this epsilon a promise is worth little: it allows a factor of 150. */
static const double LITTLE = 5;

static bool same_real(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* What messages give that were not mixed; the size does not matter if it is little. */
static bool same_local(const faro_view_row *a, const faro_view_row *b) {
  if (a->local_epsilon > LITTLE && b->local_epsilon > LITTLE) return true;
  return same_real(a->local_epsilon, b->local_epsilon) && same_real(a->local_delta, b->local_delta);
}

static bool same_numbers(const faro_view_row *a, const faro_view_row *b) {
  return same_promise(a, b) && (a->contributions == b->contributions || !faro_view_is_private(a)) &&
         same_real(a->epsilon, b->epsilon) && same_real(a->delta, b->delta) && same_local(a, b);
}

/* The first row for which `same` holds is told. */
static bool is_first(const faro_report *report, size_t i,
                     bool (*same)(const faro_view_row *, const faro_view_row *)) {
  for (size_t j = 0; j < i; j++)
    if (same(&report->row[j], &report->row[i])) return false;
  return true;
}

static void add_factor(faro_text *out, double epsilon) {
  char text[FARO_NUMBER_SIZE];
  const double factor = exp(epsilon);
  faro_text_add(out, "<b>");
  if (factor < 1e6) faro_words_add_number(out, strtod(faro_above(factor, 3, text), NULL));
  else faro_text_add(out, "10<sup>%.0f</sup>", ceil(epsilon / log(10)));
  faro_text_add(out, "</b>");
}

static void add_exception(faro_text *out, double delta) {
  if (delta > 0) {
    faro_text_add(out, ", except with probability ");
    faro_words_add_probability(out, delta);
  } else faro_text_add(out, ", without exception");
}

static void add_pair(faro_text *out, double epsilon, double delta) {
  char text[FARO_NUMBER_SIZE];
  faro_text_add(out, "ε = %s, δ = ", faro_above(epsilon, 4, text));
  if (delta > 0) faro_words_add_probability(out, delta);
  else faro_text_add(out, "0");
}

/* The labels of the rows whose numbers are those of row i, each once. */
static void add_labels(const faro_report *report, size_t i, faro_text *out) {
  const char *separator = "";
  for (size_t j = i; j < report->count; j++) {
    const faro_view_row *row = &report->row[j];
    bool said = !same_numbers(&report->row[i], row);
    for (size_t k = i; k < j && !said; k++)
      said = same_numbers(&report->row[i], &report->row[k]) && strcmp(report->row[k].label, row->label) == 0;
    if (said) continue;
    faro_text_add(out, "%s", separator);
    faro_markup_add(out, row->label);
    separator = ", ";
  }
}

/* The numbers of a promise, in the sentence that they end. */
static void add_numbers(const faro_view_row *row, faro_text *out) {
  faro_text_add(out, "at most a factor of ");
  add_factor(out, row->epsilon);
  add_exception(out, row->delta);
  faro_text_add(out, " <span class=\"soft pair\">(");
  add_pair(out, row->epsilon, row->delta);
  faro_text_add(out, ")</span>%s.", row->epsilon > LITTLE ? ", which protects little" : "");
  if (row->local_epsilon > LITTLE)
    faro_text_add(out, " A user's messages that were not mixed hide next to nothing.");
  else if (isfinite(row->local_epsilon)) {
    faro_text_add(out, " For somebody who sees a user's messages before they are mixed, the factor is ");
    add_factor(out, row->local_epsilon);
    add_exception(out, row->local_delta);
    faro_text_add(out, ".");
  }
}

/* What is guessed about: "one round of one user" and the like. */
static void add_secret(const faro_report *report, const faro_view_row *row, bool one, faro_text *out) {
  const bool regret = strcmp(report->measure->name, "error") != 0;
  const bool user = strcmp(row->level, "user") == 0;
  if (row->rewards_only)
    faro_text_add(out, user ? "the rewards of one user" : "one user's reward in one round");
  else if (!user) faro_text_add(out, regret ? "one round of one user" : "one value");
  else faro_text_add(out, "all rounds of one user");
  if (user && one) faro_text_add(out, " (%.0f at most count)", row->contributions);
}

/* Up to its numbers; `one`: there is only one set of them. */
static void add_sentence(const faro_report *report, const faro_view_row *row, bool one, faro_text *out) {
  const trust_words *words = find_words(row);
  if (!faro_view_is_private(row)) {
    faro_text_add(out, "<p>Nothing is promised. %s", words->with);
    return;
  }
  faro_text_add(out, "<p>%s</p>\n<p>", words->with);
  if (faro_words_unproven(row))
    faro_text_add(out, "<b class=\"no\">Not proven.</b> The noise is what some paper or setting asks for, "
                       "but no theorem covers it: do not rely on what follows. ");
  if (row->rewards_only)
    faro_text_add(out, "<b class=\"no\">Rewards only.</b> What users were shown and what they played is not "
                       "protected: it is published as it is. ");
  if (row->assumes) {
    faro_text_add(out, "Assumed: ");
    faro_markup_add(out, row->assumes);
    faro_text_add(out, ". ");
  }
  const bool regret = strcmp(report->measure->name, "error") != 0;
  const bool server = !regret && faro_words_trust(row) == 1;
  faro_text_add(out, "Somebody who sees %s%s can raise the odds of any guess about ",
                server ? "every published sum" : words->sees,
                is_hidden(row) ? " but not what other users were shown (that must stay hidden)," : "");
  add_secret(report, row, one, out);
  faro_text_add(out, " by ");
}

static void capital(const char *text, faro_text *out) {
  faro_text_add(out, "%c%s", text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0], text + 1);
}

static bool is_promised(const faro_report *report, size_t i, size_t j) {
  return same_promise(&report->row[i], &report->row[j]) && is_first(report, j, same_numbers);
}

static void add_promise_row(const faro_report *report, size_t i, bool local, faro_text *out) {
  const faro_view_row *row = &report->row[i];
  faro_text_add(out, "<tr><td class=\"t\" data-t=\"factor\"><span>");
  add_factor(out, row->epsilon);
  faro_text_add(out, "%s</span></td><td class=\"t\" data-t=\"except with probability\"><span>",
                row->epsilon > LITTLE ? " (protects little)" : "");
  if (row->delta > 0) faro_words_add_probability(out, row->delta);
  else faro_text_add(out, "never");
  faro_text_add(out, "</span></td><td class=\"t\" data-t=\"epsilon, delta\"><span class=\"pair\">");
  add_pair(out, row->epsilon, row->delta);
  faro_text_add(out, "</span></td>");
  if (strcmp(row->level, "user") == 0)
    faro_text_add(out, "<td class=\"t\" data-t=\"rounds that count\">%.0f</td>", row->contributions);
  if (local) {
    faro_text_add(out, "<td class=\"t\" data-t=\"factor before mixing\">");
    if (row->local_epsilon <= LITTLE) add_factor(out, row->local_epsilon);
    else faro_text_add(out, row->local_epsilon > LITTLE ? "next to nothing" : "–");
    faro_text_add(out, "</td>");
  }
  faro_text_add(out, "<td class=\"t\" data-t=\"algorithms\"><span>");
  add_labels(report, i, out);
  faro_text_add(out, "</span></td></tr>\n");
}

/* A row for each (epsilon, delta) with which row i's promise is made. */
static void add_promise_table(const faro_report *report, size_t i, faro_text *out) {
  bool local = false;
  for (size_t j = i; j < report->count; j++)
    local |= is_promised(report, i, j) && isfinite(report->row[j].local_epsilon);
  faro_text_add(out,
                "at most these factors:</p><div class=\"wide\"><table class=\"stack\"><thead><tr><th "
                "class=\"t\">factor</th><th class=\"t\">except with probability</th><th class=\"t\">epsilon, "
                "delta</th>%s%s<th class=\"t\">algorithms</th>"
                "</tr></thead><tbody>\n",
                strcmp(report->row[i].level, "user") == 0 ? "<th class=\"t\">rounds that count</th>" : "",
                local ? "<th class=\"t\">factor before mixing</th>" : "");
  for (size_t j = i; j < report->count; j++)
    if (is_promised(report, i, j)) add_promise_row(report, j, local, out);
  faro_text_add(out, "</tbody></table></div>\n");
}

/* The promise that row i makes. */
static void add_promise(const faro_report *report, size_t i, faro_text *out) {
  const faro_view_row *row = &report->row[i];
  size_t several = 0;
  for (size_t j = i; j < report->count; j++) several += is_promised(report, i, j);
  faro_text_add(out, "<div class=\"promise%s\"><h3>", several > 1 ? " big" : "");
  capital(find_words(row)->trusted, out);
  faro_text_add(out, "%s%s%s</h3>", is_hidden(row) ? ", actions hidden" : "",
                row->rewards_only ? ", rewards only" : "", faro_words_unproven(row) ? ", not proven" : "");
  add_sentence(report, row, several == 1, out);
  if (several > 1) add_promise_table(report, i, out);
  else {
    if (faro_view_is_private(row)) add_numbers(row, out);
    faro_text_add(out, "</p>\n<p class=\"soft\">");
    add_labels(report, i, out);
    faro_text_add(out, "</p>");
  }
  faro_text_add(out, "</div>\n");
}

static void add_promises(const faro_report *report, size_t trust, faro_text *out) {
  for (size_t i = 0; i < report->count; i++)
    if (faro_words_trust(&report->row[i]) == trust && is_first(report, i, same_promise))
      add_promise(report, i, out);
}

static bool same_grounds(const faro_view_row *a, const faro_view_row *b) {
  return strcmp(a->by, b->by) == 0 && a->rewards_only == b->rewards_only && same_text(a->assumes, b->assumes);
}

/* The sweep points of the rows with this row's label and backing, unless all rows of the label have
 * it. */
static void add_points(const faro_report *report, const faro_view_row *row, faro_text *out) {
  const char *separator = "";
  bool all = true;
  for (size_t j = 0; j < report->count; j++)
    all &= strcmp(report->row[j].label, row->label) != 0 || same_grounds(&report->row[j], row);
  for (size_t j = 0; !all && j < report->count; j++) {
    const faro_view_row *other = &report->row[j];
    if (strcmp(other->label, row->label) != 0 || !same_grounds(other, row)) continue;
    faro_text_add(out, "%s", *separator ? separator : ", at ");
    separator = "; ";
    for (size_t s = 0; s < report->sweeps; s++) {
      faro_text_add(out, "%s", s ? ", " : "");
      faro_markup_add(out, report->sweep[s]);
      faro_text_add(out, " ");
      faro_markup_add(out, other->at[s]);
    }
  }
}

/* What backs each claim. The same text is shown once per algorithm. */
static void add_grounds(const faro_report *report, faro_text *out) {
  faro_text_add(out, "<details><summary>What the claims rest on</summary>\n<ul>\n");
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    bool said = false;
    for (size_t j = 0; j < i && !said; j++)
      said = strcmp(report->row[j].label, row->label) == 0 && same_grounds(&report->row[j], row);
    if (said) continue;
    faro_text_add(out, "<li><b>");
    faro_markup_add(out, row->label);
    faro_text_add(out, "</b>");
    add_points(report, row, out);
    faro_text_add(out, " (trust: ");
    faro_markup_add(out, row->trust);
    faro_text_add(out, "), ");
    faro_markup_add(out, row->standing);
    faro_text_add(out, ": ");
    faro_view_add_by(row, faro_markup_add, out);
    faro_text_add(out, ".</li>\n");
  }
  faro_text_add(out, "</ul></details>\n");
}

void faro_words_add_claims(const faro_report *report, faro_text *out) {
  bool users = false;
  for (size_t i = 0; i < report->count; i++) users |= strcmp(report->row[i].level, "user") == 0;
  faro_text_add(out, "<section id=\"promises\"><h2>What is promised, and whom you trust</h2>\n<p>%s</p>\n",
                users
                    ? "Claims at user level cover all rounds of one user: at most the number stated, no two "
                      "of them in one batch. Others cover a single round."
                    : "All claims are at event level: they cover a single round, not all that a user who "
                      "comes back gives.");
  faro_text_add(out, "<div class=\"promises\">\n");
  for (size_t t = FARO_TRUSTS; t-- > 0;) add_promises(report, t, out);
  faro_text_add(out, "</div>\n<p class=\"soft\">“Except with probability δ” means: at worst, what is seen "
                     "tells everything with "
                     "probability δ, and otherwise raises the odds by at most the factor.</p>\n");
  add_grounds(report, out);
  faro_text_add(out, "</section>\n");
}
