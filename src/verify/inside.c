/* inside: whether the grounds of one release fit together, and its kind. */
#include <math.h>
#include <string.h>

#include "verify/whole.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-14 * fabs(b); }

/* Moments and matrices are weighed, and only they. Plain vectors have entries in [-1/2, 1/2]. */
static void check_contribution(row *w, const json_t *grounds, const promise *p) {
  const json_t *c = json_object_get(grounds, "contribution");
  const bool moments = is_word(c, "form", "moments");
  const bool gram = is_word(c, "form", "gram");
  const bool weighed = json_is_true(json_object_get(c, "weighed"));
  const bool paper = is_word(w->settings, "calibration", "paper");
  const bool chosen = p->weighs && (moments || gram) && !paper;
  if (weighed != (is_word(c, "link", "linear") ? chosen : moments))
    disagree(w, "grounds: weighed is %s in %s of release %s", weighed ? "true" : "false", word_of(c, "form"),
             p->name);
  if (!moments && !is_word(c, "link", "linear"))
    disagree(w, "grounds: link is %s in %s", word_of(c, "link"), word_of(c, "form"));
  if (is_word(c, "form", "values") && !near(number_of(c, "norm"), sqrt(number_of(c, "dimension")) / 2))
    disagree(w, "grounds: norm is %.17g in %g values from -1/2 to 1/2", number_of(c, "norm"),
             number_of(c, "dimension"));
  const double middle = number_of(c, "middle");
  if (is_word(c, "form", "rewards") ? middle != number_of(c, "low") / 2 + number_of(c, "high") / 2
                                    : json_object_get(c, "middle") != NULL)
    disagree(w, "grounds: middle is %.17g in %s", middle, word_of(c, "form"));
  const double reach = is_word(c, "form", "values") ? 0.5 : 0;
  if ((reach > 0 || gram || is_word(c, "form", "ball")) &&
      !(number_of(c, "low") == -reach && number_of(c, "high") == reach))
    disagree(w, "grounds: low and high are %g and %g in %s, which has no rewards", number_of(c, "low"),
             number_of(c, "high"), word_of(c, "form"));
}

/* A share of `users` in whole people; a product that rounding made a little less than a whole
 * number is that number. */
static double share_of(double share, double users) {
  const double product = share * users;
  const double nearest = round(product);
  return fabs(product - nearest) <= 0x1p-52 * product ? nearest : floor(product);
}

/* The honest ones of `batches` of `users` each: a share that is a setting, and a whole number in
 * every batch. */
static void check_company(row *w, const json_t *class, const char *name, double users, double batches) {
  const double honest = number_of(class, name);
  const double share = number_of(w->settings, "honest");
  const double most = fmax(1, batches * (isnan(share) ? users : share_of(share, users)));
  if (!(w->settings ? honest == most : honest >= 1 && honest <= most))
    disagree(w, "grounds: %s is %.17g in %g batches of %.17g users", name, honest, batches, users);
}

/* The smallest batch is the first, and at most the mean; none is more than all. */
static void check_sizes(row *w, const json_t *classes, double batches, double people) {
  const double least = number_of(json_array_get(classes, 0), "users");
  const size_t count = json_array_size(classes);
  if (count > 0 && !(least <= people / batches))
    disagree(w, "grounds: users is %g in %g batches of %g people", least, batches, people);
  for (size_t i = 0; i < count; i++)
    if (number_of(json_array_get(classes, i), "users") > people)
      disagree(w, "grounds: users is %g of %g people", number_of(json_array_get(classes, i), "users"),
               people);
}

/* Classes of batches, or of nodes, of different sizes. Only a shuffler mixes. */
static void check_classes(row *w, const json_t *grounds, const promise *p) {
  const json_t *list = json_object_get(grounds, "classes");
  const bool shuffled = strcmp(p->trust, "shuffle") == 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *class = json_array_get(list, i);
    const bool mixes = json_object_get(class, "mixed");
    const bool gaussian = strcmp(p->mechanism, "gaussian") == 0;
    const bool known[] = {json_object_get(class, "epsilon0"), json_object_get(class, "delta0")};
    const double users = number_of(class, "users");
    if (!(users >= 1 && users == floor(users)))
      disagree(w, "grounds: users must be a whole number of 1 or more (got %.17g)", users);
    if (mixes && !shuffled) disagree(w, "grounds: mixed is recorded, and release %s does not mix", p->name);
    if (shuffled && !mixes && !gaussian)
      disagree(w, "grounds: mixed is not recorded, and release %s mixes", p->name);
    if (known[0] != (gaussian && mixes) || known[1] != (gaussian && mixes))
      disagree(w, "grounds: mixed, epsilon0 and delta0 go together, for Gaussian noise");
    if (mixes) check_company(w, class, "mixed", users, 1);
    for (size_t k = 0; k < i && i < 1000; k++)
      if (number_of(json_array_get(list, k), "users") == users)
        disagree(w, "grounds: two classes of %.17g users", users);
  }
}

/* The greatest entry, of which both signs are on the grid. */
static double entry_of(const json_t *c) {
  const double norm = number_of(c, "norm");
  const double reward = fmax(fabs(number_of(c, "low")), fabs(number_of(c, "high")));
  const bool weighed = json_is_true(json_object_get(c, "weighed"));
  if (is_word(c, "form", "values")) return 0.5;
  if (is_word(c, "form", "ball")) return norm;
  if (is_word(c, "form", "rewards") || weighed || !is_word(c, "link", "linear")) return 1;
  return is_word(c, "form", "gram") ? norm * norm : fmax(norm * norm, norm * reward);
}

/* Levels: units are powers, of two in a binary tree, which then has a level for every power that
 * fits. Behind several shufflers there are as many levels as shufflers. */
static void check_units(row *w, const json_t *grounds, const promise *p) {
  const json_t *levels = json_object_get(grounds, "levels");
  const size_t count = json_array_size(levels);
  const double batches = number_of(grounds, "batches");
  const double shufflers = number_of(w->settings, "shufflers");
  const double second = count > 1 ? number_of(json_array_get(levels, 1), "unit") : 2;
  const double degree = p->tree == TREE_BINARY || is_word(w->settings, "shufflers", "log") ? 2 : second;
  double unit = 1;
  for (size_t i = 0; i < count; i++, unit *= degree)
    if (number_of(json_array_get(levels, i), "unit") != unit)
      disagree(w, "grounds: unit of level %zu is %g, and levels grow by %g", i + 1,
               number_of(json_array_get(levels, i), "unit"), degree);
  if (!(degree >= 2 && unit / degree <= batches))
    disagree(w, "grounds: a node of level %zu has %g of %g batches", count, unit / degree, batches);
  if (p->tree == TREE_NONE && count != 1)
    disagree(w, "grounds: levels has %zu, and %s has 1", count, p->name);
  if (p->tree == TREE_BINARY && !(unit > batches))
    disagree(w, "grounds: levels has %zu, and another of %g of %g batches fits", count, unit, batches);
  if (p->tree == TREE_OF_SHUFFLERS && shufflers > 0 && (double)count != shufflers)
    disagree(w, "grounds: levels has %zu, and settings.shufflers is %g", count, shufflers);
  if (is_word(w->settings, "shufflers", "log") && p->tree == TREE_OF_SHUFFLERS &&
      !(2 * unit > batches && (count == 1 || unit <= batches)))
    disagree(w, "grounds: levels has %zu, and shufflers log takes all but the root of %g batches", count,
             batches);
}

static void check_nodes(row *w, const json_t *grounds, const promise *p) {
  const json_t *levels = json_object_get(grounds, "levels");
  const json_t *lowest = json_object_get(json_array_get(levels, 0), "nodes");
  const bool shuffled = strcmp(p->trust, "shuffle") == 0 || strcmp(p->trust, "concurrent") == 0;
  for (size_t i = 0; i < json_array_size(levels); i++) {
    const json_t *level = json_array_get(levels, i);
    const json_t *nodes = json_object_get(level, "nodes");
    if (json_array_size(nodes) != json_array_size(lowest))
      disagree(w, "grounds: nodes of level %zu are %zu classes, and of level 1 %zu", i + 1,
               json_array_size(nodes), json_array_size(lowest));
    for (size_t c = 0; c < json_array_size(nodes); c++) {
      const json_t *node = json_array_get(nodes, c);
      const double users = number_of(node, "users");
      const double batch = number_of(json_array_get(lowest, c), "users");
      if (!(users >= 1 && users == number_of(level, "unit") * batch))
        disagree(w, "grounds: users of a node of %g batches is %.17g, and of one batch %.17g",
                 number_of(level, "unit"), users, batch);
      if (shuffled) check_company(w, node, "honest", batch, number_of(level, "unit"));
      else if (number_of(node, "honest") != 1)
        disagree(w, "grounds: honest is %.17g, and noise of release %s is added once",
                 number_of(node, "honest"), p->name);
      if (shuffled != (json_object_get(node, "cut") != NULL))
        disagree(w, "grounds: cut is recorded for messages to shufflers, and only for them");
    }
  }
}

static void check_bits(row *w, const json_t *grounds, const promise *p) {
  const bool paper = is_word(w->settings, "calibration", "paper");
  const double range = number_of(grounds, "step") * number_of(grounds, "grid");
  const double entry = entry_of(json_object_get(grounds, "contribution"));
  const double bias = number_of(grounds, "bias");
  if (!near(range, 2 * entry))
    disagree(w, "grounds: step times grid is %.17g, and entries are from %.17g to %.17g", range, -entry,
             entry);
  const bool quarter = paper && is_word(json_object_get(grounds, "contribution"), "form", "moments");
  if (bias != (quarter ? 0.25 : 0.5)) disagree(w, "grounds: bias is %.17g", bias);
  if (number_of(grounds, "reserved") != (paper ? 0 : 2e-4))
    disagree(w, "grounds: reserved is %.17g in calibration %s", number_of(grounds, "reserved"),
             paper ? "paper" : "tight");
  check_units(w, grounds, p);
  check_nodes(w, grounds, p);
}

/* What the noise is: nothing tells that a program adds it. */
static void take_noise(row *w, const json_t *value) {
  static const char *const noise[] = {"sd",       "scale",  "threshold", "codes",   "truths", "bits",
                                      "step",     "grid",   "variance",  "weight",  "base",   "users",
                                      "epsilon0", "delta0", "cut",       "batches", "people"};
  const json_t *part = NULL;
  size_t index = 0;
  for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
    if (json_object_get(value, noise[i])) taken(w, noise[i], NULL);
  static const char *const lists[] = {"classes", "levels", "nodes"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    json_array_foreach(json_object_get(value, lists[i]), index, part) take_noise(w, part);
}

void check_inside(row *w, const json_t *grounds, place at) {
  const promise *p = promise_of(word_of(grounds, "release"));
  const char *mechanism = word_of(grounds, "mechanism");
  const double batches = number_of(grounds, "batches");
  const double people = number_of(grounds, "people");
  const json_t *releases = json_object_get(grounds, "releases");
  if (!p) {
    disagree(w, "grounds: release is \"%s\", which is not a release", word_of(grounds, "release"));
    return;
  }
  if (strcmp(mechanism, p->mechanism) != 0)
    disagree(w, "grounds: mechanism is %s, and that of release %s is %s", mechanism, p->name, p->mechanism);
  const char *trust = word_of(w->claim, "trust");
  if (strcmp(strcmp(trust, "central") == 0 ? "joint" : trust, p->trust) != 0)
    disagree(w, "claim.trust is %s, and release %s has trust %s", trust, p->name,
             strcmp(p->trust, "joint") == 0 ? "joint or central" : p->trust);
  if (!(batches >= 1 && batches == floor(batches) && people >= batches && people == floor(people)))
    disagree(w, "grounds: %g batches of %g people", batches, people);
  if (releases && json_number_value(releases) != batches)
    disagree(w, "grounds: releases is %g, and batches %g", json_number_value(releases), batches);
  const json_t *levels = json_object_get(grounds, "levels");
  const json_t *list =
      levels ? json_object_get(json_array_get(levels, 0), "nodes") : json_object_get(grounds, "classes");
  const bool continual = strcmp(mechanism, "tree") == 0 || strcmp(mechanism, "factored") == 0;
  if (continual ? !releases : json_array_size(list) == 0)
    disagree(w, "grounds: %s of release %s has no noise", mechanism, p->name);
  check_sizes(w, list, batches, people);
  check_contribution(w, grounds, p);
  check_classes(w, grounds, p);
  if (strcmp(p->mechanism, "bits") == 0) check_bits(w, grounds, p);
  take_noise(w, grounds);
  (void)at;
}
