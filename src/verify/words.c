/* words: what a claim says in words, against the release, the settings and itself. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "verify/whole.h"

void disagree(row *w, const char *format, ...) {
  faro_finding *f = &w->checked->finding;
  if (f->verdict == FARO_WRONG) return;
  va_list arguments;
  va_start(arguments, format);
  f->verdict = FARO_WRONG;
  vsnprintf(f->reason, sizeof f->reason, format, arguments);
  va_end(arguments);
}

void taken(row *w, const char *name, json_t *value) {
  if (!w->checked->recorded) w->checked->recorded = json_object();
  json_object_set_new(w->checked->recorded, name, value ? value : json_null());
}

const char *word_of(const json_t *object, const char *name) {
  const char *word = json_string_value(json_object_get(object, name));
  return word ? word : "";
}

double number_of(const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool is_word(const json_t *object, const char *name, const char *word) {
  return strcmp(word_of(object, name), word) == 0;
}

const promise *promise_of(const char *release) {
  static const promise known[] = {
      {"central", "joint", "gaussian", .weighs = true},
      {"central-laplace", "joint", "laplace", .pure = true},
      {"central-tree", "joint", "tree", .weighs = true},
      {"central-factored", "joint", "factored", .weighs = true},
      {"central-bits", "joint", "bits", .weighs = true, .tree = TREE_BINARY},
      {"shuffle-bits", "shuffle", "bits", .weighs = true},
      {"concurrent-bits", "concurrent", "bits", .weighs = true, .tree = TREE_OF_SHUFFLERS},
      {"shuffle-amplified", "shuffle", "gaussian", .weighs = true, .instead = "shuffle-response"},
      {"shuffle-gaussian", "shuffle", "gaussian", .weighs = true},
      {"shuffle-response", "shuffle", "response", .weighs = true},
      {"shuffle-laplace", "shuffle", "laplace", .assigns = true},
      {"local", "local", "gaussian", .weighs = true, .instead = "local-response"},
      {"local-gaussian", "local", "gaussian", .weighs = true},
      {"local-response", "local", "response", .weighs = true},
      {"local-laplace", "local", "laplace", .pure = true},
      {"local-bits", "local", "bits", .weighs = true},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, release) == 0) return &known[i];
  return NULL;
}

/* Words that belong together: what an adversary sees follows from trust and actions. */
void check_view(row *w) {
  static const char *const views[][2] = {
      {"central", "everything that is published"},
      {"joint", "the server's policies, and the actions of all users but one"},
      {"local", "every message of every user"},
      {"shuffle", "the shuffled messages of each batch"},
      {"concurrent", "the shuffled messages of every shuffler"},
  };
  static const char *const more[][2] = {
      {"hidden", ", but no other user's action: they must stay hidden"},
      {"others", ""},
      {"all", ", and the actions of all users"},
  };
  char view[200] = "";
  const char *trust = word_of(w->claim, "trust");
  const char *actions = word_of(w->claim, "actions");
  for (size_t i = 0; i < sizeof views / sizeof *views; i++)
    for (size_t k = 0; k < sizeof more / sizeof *more; k++)
      if (strcmp(views[i][0], trust) == 0 && strcmp(more[k][0], actions) == 0)
        snprintf(view, sizeof view, "%s%s", views[i][1],
                 is_word(w->claim, "protects", "rewards") ? ", and what all users were shown and played"
                                                          : more[k][1]);
  if (!*view) disagree(w, "claim.trust is \"%s\" and claim.actions \"%s\": no claim says so", trust, actions);
  if ((strcmp(trust, "joint") == 0 && strcmp(actions, "all") == 0) ||
      (strcmp(trust, "central") == 0 && strcmp(actions, "all") != 0))
    disagree(w, "claim.trust is %s, and claim.actions %s", trust, actions);
  if (w->settings && !is_word(w->claim, "adversary_sees", view))
    disagree(w, "claim.adversary_sees is not what trust %s, actions %s and protects %s mean: %s", trust,
             actions, word_of(w->claim, "protects"), view);
}

/* Environments in which everybody plays what follows from the published policy. */
static bool shows_actions(const char *environment) {
  return strcmp(environment, "linear-fixed") == 0 || strcmp(environment, "linear-population") == 0;
}

bool is_environment(const char *name) {
  static const char *const known[] = {"linear-fixed",      "linear-iid",   "linear-adversarial",
                                      "linear-population", "linear-known", "glm-logistic",
                                      "glm-probit",        "glm-poisson",  "bits-random",
                                      "bits-hard",         "bits-events",  "rows"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i], name) == 0) return true;
  return false;
}

static void check_actions(row *w) {
  const char *environment = word_of(w->settings, "environment");
  const promise *p = promise_of(word_of(w->settings, "release"));
  const bool secret = p && p->assigns && is_word(w->settings, "assignment", "secret");
  const char *expected = secret ? "hidden" : shows_actions(environment) ? "all" : "others";
  if (!is_environment(environment)) taken(w, "actions", NULL);
  else if (!is_word(w->claim, "actions", expected))
    disagree(w, "claim.actions is %s, and they are %s in environment %s", word_of(w->claim, "actions"),
             expected, environment);
}

/* People who return are refused once they have contributed as often as is claimed. That people are
 * new, or are refused in a run that is yet to be, is taken as recorded. */
static void check_refused(row *w) {
  const double population = number_of(w->settings, "population");
  const double rounds = number_of(w->settings, "contributions");
  const double counted = number_of(w->settings, "horizon") * (1 - number_of(w->result, "refused"));
  if (isnan(population) || isnan(counted)) taken(w, "level", NULL);
  else if (counted > population * rounds * (1 + 1e-9))
    disagree(w, "%g rounds were counted of %g people, and the claim is for %g of each", counted, population,
             rounds);
}

static void check_level(row *w) {
  const bool user = is_word(w->claim, "level", "user");
  const double rounds = number_of(w->claim, "contributions");
  const json_t *there = json_object_get(w->claim, "contributions");
  if (!user && !is_word(w->claim, "level", "event"))
    disagree(w, "claim.level is \"%s\", which is neither event nor user", word_of(w->claim, "level"));
  if (user && !(rounds >= 1 && rounds == floor(rounds)))
    disagree(w, "claim.contributions must be a whole number of rounds at level user");
  if (!user && there) disagree(w, "claim.contributions is stated at level event");
  if (!w->settings) return;
  if (!is_word(w->settings, "level", word_of(w->claim, "level")))
    disagree(w, "claim.level is %s, and settings.level %s", word_of(w->claim, "level"),
             word_of(w->settings, "level"));
  if (number_of(w->settings, "contributions") != (user ? rounds : 1))
    disagree(w, "the claim is for %g rounds of a person, and settings.contributions is %g", user ? rounds : 1,
             number_of(w->settings, "contributions"));
  if (user) check_refused(w);
}

/* What is protected, and what is assumed of the data. */
static void check_scope(row *w) {
  const bool rewards = is_word(w->claim, "protects", "rewards");
  const json_t *assumes = json_object_get(w->claim, "assumes");
  if (!rewards && !is_word(w->claim, "protects", "all"))
    disagree(w, "claim.protects is \"%s\", which is neither all nor rewards", word_of(w->claim, "protects"));
  if (!json_is_null(assumes) && !json_is_string(assumes)) disagree(w, "claim.assumes must be a text or null");
  if (!w->settings && json_is_string(assumes)) taken(w, "assumes", NULL);
  if (!w->settings) return;
  if (!is_word(w->settings, "protect", rewards ? "rewards" : "all"))
    disagree(w, "claim.protects is %s, and settings.protect %s", word_of(w->claim, "protects"),
             word_of(w->settings, "protect"));
  char due[200];
  const bool rows = is_word(w->settings, "environment", "rows");
  const bool ranges = rows && is_word(w->settings, "scaling", "public");
  const bool replay = rows && *word_of(w->settings, "action");
  snprintf(due, sizeof due, "%s%s%s", ranges ? "the columns' ranges are public" : "",
           ranges && replay ? " and that " : "", replay ? "it is public which rows a replay uses" : "");
  if (!is_word(w->claim, "assumes", due))
    disagree(w, "claim.assumes is \"%s\", and by the settings it is \"%s\"", word_of(w->claim, "assumes"),
             due);
}

/* epsilon and delta stand in a result, in its claim and in its settings. */
static void check_budget(row *w) {
  static const char *const names[] = {"epsilon", "delta"};
  const promise *p = promise_of(word_of(w->settings, "release"));
  for (int i = 0; i < 2; i++) {
    const double claimed = number_of(w->claim, names[i]);
    const double set = number_of(w->settings, names[i]);
    const bool stronger = i == 1 && claimed == 0; /* the noise tells whether it holds */
    if (claimed != set && !stronger)
      disagree(w, "claim.%s is %.17g, and settings.%s %.17g", names[i], claimed, names[i], set);
    if (i == 1 && p && p->pure && claimed > 0)
      disagree(w, "claim.delta is %.17g, and release %s has 0", claimed, p->name);
  }
  if (is_word(w->settings, "calibration", "figure"))
    disagree(w, "the claim is called proven, and settings.calibration is figure");
}

/* Members of a result that are settings too. `label` is not: among the settings it is a column. */
static void check_copies(row *w) {
  const char *name = NULL;
  json_t *value = NULL;
  json_t *settings = (json_t *)w->settings;
  json_object_foreach(settings, name, value) {
    const json_t *copy = strcmp(name, "label") == 0 ? NULL : json_object_get(w->result, name);
    const bool same = json_is_number(copy) && json_is_number(value)
                          ? json_number_value(copy) == json_number_value(value)
                          : json_equal(copy, value);
    if (copy && !same) disagree(w, "%s and settings.%s differ", name, name);
  }
  static const char *const due[] = {"epsilon", "delta", "learner", "release", "instances"};
  for (size_t i = 0; i < sizeof due / sizeof *due; i++)
    if (!json_object_get(w->result, due[i])) disagree(w, "%s is missing", due[i]);
  const double rounds = number_of(w->result, "rounds");
  if (rounds != number_of(w->settings, "horizon"))
    disagree(w, "rounds is %g, and settings.horizon %g", rounds, number_of(w->settings, "horizon"));
}

static void check_each(row *w, const char *names) {
  for (const char *at = names; *at; at += strspn(at, " ")) {
    const int length = (int)strcspn(at, " ");
    char name[32];
    snprintf(name, sizeof name, "%.*s", length, at);
    at += length;
    if (!json_object_get(w->settings, name)) disagree(w, "settings.%s is missing", name);
  }
}

/* Settings that every run has, and those of an environment or learner that comes with faro. */
static void check_present(row *w) {
  static const char general[] =
      "horizon instances seed epsilon delta local_epsilon calibration batch growth largest shufflers level "
      "contributions honest anytime adaptive surrogate protect failure environment population learner "
      "release";
  static const struct {
    const char *by, *prefix, *settings;
  } lists[] = {
      {"environment", "linear-", "dimension arms reward draw"},
      {"environment", "linear-fixed", "zeta skew"},
      {"environment", "linear-iid", "zeta skew"},
      {"environment", "linear-population", "zeta spread"},
      {"environment", "linear-known", "actions samples"},
      {"environment", "glm-", "dimension arms reward draw norm contexts"},
      {"environment", "rows", "dimension arms file layout scaling"},
      {"learner", "pe", "core assignment"},
      {"learner", "hanna", "core assignment"},
      {"learner", "dpe", "core alpha clients"},
      {"learner", "glm-joint", "optimism"},
  };
  check_each(w, general);
  for (size_t i = 0; is_environment(word_of(w->settings, "environment")) && i < sizeof lists / sizeof *lists;
       i++)
    if (strncmp(word_of(w->settings, lists[i].by), lists[i].prefix, strlen(lists[i].prefix)) == 0)
      check_each(w, lists[i].settings);
}

/* Names every setting with its value, except those that are in the claim that is printed, and what
 * is measured beside regret. */
static void take_settings(row *w) {
  static const char *const measured[] = {"region", "bytes_per_user", "bits_per_user", "messages_per_user",
                                         "refused"};
  static const char *const printed = " epsilon delta level contributions protect ";
  const char *name = NULL;
  json_t *value = NULL;
  json_t *settings = (json_t *)w->settings;
  json_object_foreach(settings, name, value) {
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    if (!strstr(printed, word)) taken(w, name, json_incref(value));
  }
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) taken(w, measured[i], NULL);
}

void check_words(row *w) {
  if (!is_word(w->claim, "standing", "proven"))
    disagree(w, "claim.standing is \"%s\", and claim.proven is true", word_of(w->claim, "standing"));
  check_level(w);
  check_scope(w);
  taken(w, "by", NULL);
  if (!w->settings) {
    static const char *const members[] = {"adversary_sees", "settings", "level", "actions"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) taken(w, members[i], NULL);
    return;
  }
  check_actions(w);
  check_budget(w);
  check_copies(w);
  check_present(w);
  take_settings(w);
}
