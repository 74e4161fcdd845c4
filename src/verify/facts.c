/* facts: the grounds against the settings of a run: who contributes how often, in which batches,
 * within which bounds. A setting that nothing can be checked by is named as recorded (words.c). */
#include <math.h>
#include <string.h>

#include "verify/whole.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-14 * fmax(1, fabs(b)); }

static bool starts(const char *word, const char *prefix) {
  return strncmp(word, prefix, strlen(prefix)) == 0;
}

/* How a learner uses a release. */
typedef enum usage { USE_UNKNOWN, USE_MOMENTS, USE_STREAM, USE_PHASES, USE_STUDIES } usage;

static usage use_of(const json_t *settings) {
  static const struct {
    const char *learner;
    usage use;
  } known[] = {{"linucb", USE_MOMENTS}, {"posterior", USE_MOMENTS}, {"lints", USE_MOMENTS},
               {"greedy", USE_MOMENTS}, {"uniform", USE_MOMENTS},   {"sum", USE_STREAM},
               {"trend", USE_STREAM},   {"dpe", USE_PHASES},        {"pe", USE_PHASES},
               {"hanna", USE_PHASES},   {"glm-joint", USE_STUDIES}, {"glm-batched", USE_STUDIES}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_word(settings, "learner", known[i].learner)) return known[i].use;
  return USE_UNKNOWN;
}

/* A user is in at most M0 batches, and in no more than there are. */
static void check_repeats(row *w, const json_t *grounds, place at) {
  const double repeats = number_of(grounds, "repeats");
  const double batches = number_of(grounds, "batches");
  const bool user = is_word(w->claim, "level", "user");
  const double rounds = user ? number_of(w->claim, "contributions") : 1;
  if (at == PLACE_FIT) return; /* a person answers in every step: the study counts them */
  if (repeats != rounds && repeats != fmin(rounds, batches))
    disagree(w, "the claim is for %g rounds of a person, and the noise for repeats %g in %g batches", rounds,
             repeats, batches);
  if (repeats < rounds && at != PLACE_WHOLE && at != PLACE_SUM)
    disagree(w, "the claim is for %g rounds of a person, who may be in other releases, and repeats is %g",
             rounds, repeats);
}

/* Batches. */

static const double BATCHES_MAX = 1e6; /* of growing sizes, more than a schedule has */

typedef struct plan {
  double horizon, batch, growth, largest;
  bool adaptive;
} plan;

/* The size of the batch after `users` users; 0: none fits. */
static double next_size(const plan *p, double users) {
  double size = users > 0 && p->growth > 1 ? floor(p->growth * users) - users : p->batch;
  if (p->largest > 0) size = fmin(size, p->largest);
  size = fmax(size, 1);
  return size <= p->horizon - users ? size : 0;
}

/* Whether a class of `users` is one of the batches. */
static bool has_size(const plan *p, double users) {
  if (p->adaptive)
    return users >= p->batch && users <= fmin(p->horizon, p->largest > 0 ? p->largest : p->horizon) &&
           log2(users / p->batch) == floor(log2(users / p->batch));
  if (p->growth <= 1) return users == p->batch;
  double sum = 0;
  double left = BATCHES_MAX;
  for (double size = next_size(p, 0); size > 0 && left-- > 0; size = next_size(p, sum)) {
    if (size == users) return true;
    sum += size;
  }
  return false;
}

typedef struct total {
  double batches, people, sizes;
} total;

static total count_batches(const plan *p) {
  total t = {.batches = floor(p->horizon / p->batch), .sizes = 1};
  t.people = t.batches * p->batch;
  for (double size = 2 * p->batch; p->adaptive && has_size(p, size); size *= 2) t.sizes++;
  if (p->growth <= 1 || p->adaptive) return t;
  t = (total){0};
  double last = 0;
  for (double size = next_size(p, 0); size > 0 && t.batches < BATCHES_MAX; size = next_size(p, t.people)) {
    t.people += size, t.batches++;
    t.sizes += size > last; /* they never shrink */
    last = size;
  }
  return t;
}

/* People of a file come as often as the claim allows, and no more. */
static double horizon_of(const row *w) {
  const double horizon = number_of(w->settings, "horizon");
  const double population = number_of(w->settings, "population");
  const double rounds = number_of(w->settings, "contributions");
  const bool limited = is_word(w->settings, "environment", "rows") && is_word(w->settings, "level", "user");
  return limited && population * rounds < horizon ? population * rounds : horizon;
}

/* Whether noise is listed for every size of batch. A server adds the same to all, and so do users
 * whom nothing mixes; bits and codes are listed all the same. */
static bool lists_sizes(const json_t *grounds) {
  const promise *p = promise_of(word_of(grounds, "release"));
  if (!p || strcmp(p->trust, "joint") == 0) return false;
  return strcmp(p->trust, "local") != 0 || is_word(grounds, "mechanism", "bits") ||
         is_word(grounds, "mechanism", "response");
}

static const json_t *classes_of(const json_t *grounds) {
  const json_t *lowest = json_array_get(json_object_get(grounds, "levels"), 0);
  return lowest ? json_object_get(lowest, "nodes") : json_object_get(grounds, "classes");
}

static void check_batches(row *w, const json_t *grounds, place at) {
  const json_t *s = w->settings;
  plan p = {.horizon = horizon_of(w),
            .batch = number_of(s, "batch"),
            .growth = number_of(s, "growth"),
            .largest = number_of(s, "largest"),
            .adaptive = json_is_true(json_object_get(s, "adaptive"))};
  if (at == PLACE_SUM) p.growth = 1;
  if (!(p.batch >= 1 && p.growth >= 1)) {
    disagree(w, "settings.batch and settings.growth must be numbers of 1 or more");
    return;
  }
  const total t = count_batches(&p);
  if (number_of(grounds, "batches") != t.batches || number_of(grounds, "people") != t.people)
    disagree(w, "grounds: batches is %g and people %g, and the settings give %g and %g",
             number_of(grounds, "batches"), number_of(grounds, "people"), t.batches, t.people);
  const json_t *classes = classes_of(grounds);
  for (size_t i = 0; i < json_array_size(classes); i++) {
    const double users = number_of(json_array_get(classes, i), "users");
    if (!has_size(&p, users) || (i == 0 && users != p.batch))
      disagree(w, "grounds: users is %g, and the settings have no such batch", users);
  }
  const double sizes = lists_sizes(grounds) ? t.sizes : 1;
  if (classes && (double)json_array_size(classes) != sizes)
    disagree(w, "grounds: batches of %zu sizes are listed, and by the settings there are %g",
             json_array_size(classes), sizes);
}

/* Bounds. */

typedef struct bounds {
  double norm, low, high;
} bounds;

/* What environments that come with faro state. False: unknown, or of one's own. */
static bool bounds_of(const json_t *s, bounds *b) {
  const char *environment = word_of(s, "environment");
  const char *draw = word_of(s, "draw");
  const bool centred = strcmp(draw, "sphere") == 0 || strcmp(draw, "ball") == 0;
  *b = (bounds){
      .norm = strcmp(draw, "sphere-published") == 0 ? sqrt(2) : 1, .low = centred ? -1 : 0, .high = 1};
  if (!is_environment(environment)) return false;
  if (starts(environment, "linear-")) return true;
  b->low = 0;
  const double greatest = exp(number_of(s, "norm"));
  if (strcmp(environment, "glm-poisson") == 0) b->high = ceil(greatest + 5 * sqrt(greatest) + 5);
  if (strcmp(environment, "rows") == 0) b->norm = 1;
  return starts(environment, "glm-") || strcmp(environment, "rows") == 0;
}

static const char *link_of(const json_t *s) {
  const char *environment = word_of(s, "environment");
  if (json_is_true(json_object_get(s, "surrogate")) || is_word(s, "learner", "uniform")) return "linear";
  return starts(environment, "glm-") ? environment + strlen("glm-") : "linear";
}

/* Rewards in [0, 1] are counted from the middle, or from the mean at 0, under `tight`. */
static double centre_of(const json_t *s, const bounds *b, const char *link) {
  if (strcmp(link, "linear") != 0 || !is_word(s, "calibration", "tight") || b->low != 0) return 0;
  return is_word(s, "environment", "glm-poisson") ? 1 : 0.5;
}

static void check_moments(row *w, const json_t *c) {
  const json_t *s = w->settings;
  const bool rewards = is_word(s, "protect", "rewards");
  bounds b;
  if (!is_word(c, "form", rewards ? "rewards" : "moments"))
    disagree(w, "grounds: form is %s, and settings.protect %s", word_of(c, "form"), word_of(s, "protect"));
  if (number_of(c, "dimension") != number_of(s, "dimension"))
    disagree(w, "grounds: dimension is %g, and settings.dimension %g", number_of(c, "dimension"),
             number_of(s, "dimension"));
  if (!bounds_of(s, &b)) {
    taken(w, "norm", NULL);
    taken(w, "low", NULL);
    taken(w, "high", NULL);
    taken(w, "link", NULL);
    taken(w, "blocks", NULL);
    return;
  }
  const char *link = link_of(s);
  const double centre = centre_of(s, &b, link);
  if (!is_word(c, "link", link))
    disagree(w, "grounds: link is %s, and that of environment %s is %s", word_of(c, "link"),
             word_of(s, "environment"), link);
  if (!near(number_of(c, "norm"), b.norm))
    disagree(w, "grounds: norm is %.17g, and in environment %s it is %.17g", number_of(c, "norm"),
             word_of(s, "environment"), b.norm);
  if (!near(number_of(c, "low"), b.low - centre) || !near(number_of(c, "high"), b.high - centre))
    disagree(w, "grounds: rewards are from %g to %g, and in environment %s from %g to %g",
             number_of(c, "low"), number_of(c, "high"), word_of(s, "environment"), b.low - centre,
             b.high - centre);
  const bool block = is_word(s, "environment", "rows") && is_word(s, "layout", "block");
  const double blocks = json_object_get(c, "blocks") ? number_of(c, "blocks") : 1;
  if (blocks != (block ? number_of(s, "arms") : 1))
    disagree(w, "grounds: blocks is %g, and features of environment %s are in %g", blocks,
             word_of(s, "environment"), block ? number_of(s, "arms") : 1);
}

/* Batches of one size, which make up all people. */
static void check_alike(row *w, const json_t *grounds) {
  const json_t *classes = classes_of(grounds);
  const double users = number_of(json_array_get(classes, 0), "users");
  const double batches = number_of(grounds, "batches");
  if (classes && (json_array_size(classes) != 1 || users * batches != number_of(grounds, "people")))
    disagree(w, "grounds: %g batches of %g users are not %g people", batches, users,
             number_of(grounds, "people"));
}

/* A phase of all users, and one of 1000. */
static void check_phase(row *w, const json_t *grounds, size_t index) {
  const json_t *c = json_object_get(grounds, "contribution");
  const double numbers = is_word(w->settings, "learner", "dpe") ? 2 : 1;
  const double users = index == 0 ? number_of(w->settings, "horizon") : 1000;
  if (!is_word(c, "form", "values") || number_of(c, "dimension") != numbers)
    disagree(w, "grounds: a phase has %g %s, and with learner %s %g values", number_of(c, "dimension"),
             word_of(c, "form"), word_of(w->settings, "learner"), numbers);
  if (number_of(grounds, "people") != users || number_of(grounds, "batches") != 1)
    disagree(w, "grounds: phase %zu has %g batches of %g people, where one of %g is recorded", index + 1,
             number_of(grounds, "batches"), number_of(grounds, "people"), users);
  check_alike(w, grounds);
}

static double normal(double x) { return erfc(-x / sqrt(2)) / 2; }

/* Sums of matrices, of full or of least weight, and gradients of fits, which are as long as the
 * greatest mean. */
static void check_study(row *w, const json_t *grounds, place at, size_t index) {
  const json_t *c = json_object_get(grounds, "contribution");
  const json_t *s = w->settings;
  const bool logistic = is_word(s, "environment", "glm-logistic");
  const double reach = number_of(s, "norm");
  const double flat = logistic ? 0.5 : sqrt(1 / sqrt(2 * 3.14159265358979323846));
  const double mean = logistic ? 1 / (1 + exp(-reach)) : normal(reach);
  const double norm = at == PLACE_FIT ? mean : index == 0 ? 1 : flat;
  const char *form = at == PLACE_FIT ? "ball" : "gram";
  if (!is_word(c, "form", form) || number_of(c, "dimension") != number_of(s, "dimension"))
    disagree(w, "grounds: form is %s of dimension %g, where %s of dimension %g is due", word_of(c, "form"),
             number_of(c, "dimension"), form, number_of(s, "dimension"));
  if (!logistic && !is_word(s, "environment", "glm-probit")) taken(w, "norm", NULL);
  else if (!near(number_of(c, "norm"), norm))
    disagree(w, "grounds: norm is %.17g, and in environment %s it is %.17g", number_of(c, "norm"),
             word_of(s, "environment"), norm);
  if (at == PLACE_FIT) taken(w, "repeats", NULL);
}

/* A part publishes if it has fits; both parts have sums. */
static void check_study_parts(row *w, const json_t *study) {
  const json_t *parts = json_object_get(study, "parts");
  if (json_array_size(parts) != 2) disagree(w, "grounds: a study has %zu parts", json_array_size(parts));
  for (size_t i = 0; i < json_array_size(parts); i++) {
    const json_t *part = json_array_get(parts, i);
    const bool fits = json_array_size(json_object_get(part, "fits")) > 0;
    if (!json_is_object(json_object_get(part, "sum")))
      disagree(w, "grounds: part %zu of a study has no sum", i + 1);
    if (json_is_true(json_object_get(part, "published")) != fits)
      disagree(w, "grounds: published is %s in part %zu of a study with %s", fits ? "false" : "true", i + 1,
               fits ? "fits" : "no fits");
  }
  taken(w, "fits", NULL);
  taken(w, "count", NULL);
}

/* The release of the settings, or the one that may take its place. */
static void check_release(row *w, const json_t *grounds, place at) {
  const promise *p = promise_of(word_of(w->settings, "release"));
  const char *recorded = word_of(grounds, "release");
  if (!p)
    disagree(w, "settings.release is \"%s\", and something is claimed", word_of(w->settings, "release"));
  else if (strcmp(recorded, p->name) != 0 && !(p->instead && strcmp(recorded, p->instead) == 0) &&
           at != PLACE_FIT)
    disagree(w, "grounds: release is %s, and settings.release %s", recorded, p->name);
}

void check_facts(row *w, const json_t *grounds, place at, size_t index) {
  const json_t *c = json_object_get(grounds, "contribution");
  const usage use = use_of(w->settings);
  check_repeats(w, grounds, at);
  if (is_word(c, "form", "rewards") != is_word(w->claim, "protects", "rewards"))
    disagree(w, "claim.protects is %s, and grounds: form is %s", word_of(w->claim, "protects"),
             word_of(c, "form"));
  if (!w->settings) {
    static const char *const members[] = {"form", "dimension", "norm",  "low",
                                          "high", "link",      "mixed", "honest"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) taken(w, members[i], NULL);
    return;
  }
  check_release(w, grounds, at);
  /* a study in terms chooses the sizes of its batches itself */
  const bool chosen = at == PLACE_SUM && is_word(w->settings, "batch", "auto");
  if (at == PLACE_WHOLE || (at == PLACE_SUM && !chosen)) check_batches(w, grounds, at);
  if (chosen || at == PLACE_FIT) check_alike(w, grounds);
  if (at == PLACE_FIT && number_of(grounds, "repeats") != number_of(grounds, "batches"))
    disagree(w, "grounds: repeats is %g in %g batches of a fit, and everybody is in all",
             number_of(grounds, "repeats"), number_of(grounds, "batches"));
  if (use == USE_MOMENTS) check_moments(w, c);
  else if (use == USE_STREAM && (!is_word(c, "form", "values") || number_of(c, "dimension") != 1))
    disagree(w, "grounds: %g %s of a stream of single values", number_of(c, "dimension"), word_of(c, "form"));
  else if (use == USE_PHASES) check_phase(w, grounds, index);
  else if (use == USE_STUDIES) check_study(w, grounds, at, index);
  else if (use == USE_UNKNOWN)
    disagree(w, "settings.learner is \"%s\", and what it releases is not known",
             word_of(w->settings, "learner"));
}

/* The first release of a run without a horizon is for 1024 users or more, and each later one for
 * twice as many as the one before it. Users who do not fill a batch are in none. */
static void check_doubling(row *w, const json_t *parts) {
  const double set = number_of(w->settings, "batch");
  const double shufflers = number_of(w->settings, "shufflers");
  const double batch = isnan(set) ? 0 : set;
  const double tree = fmax(2, batch) * exp2(isnan(shufflers) ? 0 : shufflers);
  double horizon = fmin(horizon_of(w), fmax(fmax(1024, tree), 4 * batch));
  for (size_t i = 0; i < json_array_size(parts); i++, horizon *= 2) {
    const double people = number_of(json_array_get(parts, i), "people");
    if (!(people <= horizon && people > horizon / 2))
      disagree(w, "grounds: release %zu is for %g people, and one of %g is due", i + 1, people, horizon);
  }
}

/* A list of releases is whole: two phases, or as many releases as the horizon needs. */
void check_parts(row *w) {
  const json_t *parts = json_object_get(w->grounds, "parts");
  const bool anytime = json_is_true(json_object_get(w->settings, "anytime"));
  const usage use = use_of(w->settings);
  double people = 0;
  if (!w->settings) return;
  for (size_t i = 0; i < json_array_size(parts); i++) people += number_of(json_array_get(parts, i), "people");
  if (anytime != is_word(w->grounds, "mechanism", "doubling") && use != USE_PHASES)
    disagree(w, "settings.anytime is %s, and grounds: mechanism is %s", anytime ? "true" : "false",
             word_of(w->grounds, "mechanism"));
  if (is_word(w->grounds, "mechanism", "doubling") && !(people >= horizon_of(w)))
    disagree(w, "grounds: the releases are for %g people, and settings.horizon is %g", people, horizon_of(w));
  if (is_word(w->grounds, "mechanism", "doubling")) check_doubling(w, parts);
  if (use == USE_PHASES && json_array_size(parts) != 2)
    disagree(w, "grounds: parts has %zu, where a phase of all users and one of 1000 are recorded",
             json_array_size(parts));
  if (use == USE_STUDIES || is_word(w->grounds, "mechanism", "doubling")) taken(w, "parts", NULL);
  for (size_t i = 0; use == USE_STUDIES && i < json_array_size(parts); i++)
    check_study_parts(w, json_array_get(parts, i));
}
