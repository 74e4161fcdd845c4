/* audit: faro audit RELEASE */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

enum {
  OPTION_EPSILON,
  OPTION_DELTA,
  OPTION_DIMENSION,
  OPTION_BATCH,
  OPTION_HORIZON,
  OPTION_CALIBRATION,
  OPTION_LEVEL,
  OPTION_CONTRIBUTIONS,
  OPTION_VISITS,
  OPTION_PLACE,
  OPTION_SHUFFLERS,
  OPTION_TRIALS,
  OPTION_CONFIDENCE,
  OPTION_SEED,
  OPTION_ONE_RUN,
  OPTION_JSON,
  OPTION_COUNT
};
static const cli_option options[OPTION_COUNT] = {
    [OPTION_EPSILON] = {"epsilon", true},       [OPTION_DELTA] = {"delta", true},
    [OPTION_DIMENSION] = {"dimension", true},   [OPTION_BATCH] = {"batch", true},
    [OPTION_HORIZON] = {"horizon", true},       [OPTION_CALIBRATION] = {"calibration", true},
    [OPTION_LEVEL] = {"level", true},           [OPTION_CONTRIBUTIONS] = {"contributions", true},
    [OPTION_VISITS] = {"visits", true},         [OPTION_PLACE] = {"place", true},
    [OPTION_SHUFFLERS] = {"shufflers", true},   [OPTION_TRIALS] = {"trials", true},
    [OPTION_CONFIDENCE] = {"confidence", true}, [OPTION_SEED] = {"seed", true},
    [OPTION_ONE_RUN] = {"one-run", false},      [OPTION_JSON] = {"json", false},
};

typedef struct request {
  const char *release;
  faro_release_params params; /* horizon 0: four batches, or as many as the victim's visits */
  bool every_calibration;
  uint64_t dimension;
  faro_audit_plan plan;
  bool one_run; /* canaries of a single run */
  bool json;
} request;

static int take_calibration(request *r, const char *text) {
  const char *names[FARO_CALIBRATION_COUNT];
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) names[c] = faro_calibration_name((faro_calibration)c);
  size_t found = 0;
  const int status = cli_take_choice(&cli_audit, "calibration", text, names, FARO_CALIBRATION_COUNT, &found);
  if (status != EXIT_DONE) return status;
  r->params.calibration = (faro_calibration)found;
  r->every_calibration = false;
  return EXIT_DONE;
}

static int take_level(request *r, const char *text) {
  for (int level = FARO_LEVEL_EVENT; level <= FARO_LEVEL_USER; level++)
    if (strcmp(faro_level_name((faro_level)level), text) == 0) {
      r->params.level = (faro_level)level;
      return EXIT_DONE;
    }
  return cli_usage(&cli_audit, "--level must be one of event, user (got %s)", text);
}

static int take_release(request *r, const char *word) {
  if (r->release) return cli_usage(&cli_audit, "one release at a time (got %s and %s)", r->release, word);
  if (strcmp(word, "all") == 0 || faro_release_kind_find(word)) {
    r->release = word;
    return EXIT_DONE;
  }
  const char *names[64];
  size_t count = 0;
  for (; count < faro_release_kinds() && count < 64; count++)
    names[count] = faro_release_kind_at(count)->name;
  const char *nearest = faro_nearest(word, names, count);
  return cli_usage(&cli_audit, "no release is called \"%s\"%s%s%s; `faro list releases` shows them", word,
                   nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
}

/* The ranges of epsilon and delta are those of every release. */
static int take_option(request *r, int option, const char *value) {
  switch (option) {
  case OPTION_EPSILON: return cli_take_real(&cli_audit, "epsilon", value, 1e-4, 1000, &r->params.epsilon);
  case OPTION_DELTA: return cli_take_real(&cli_audit, "delta", value, 1e-15, 0.999, &r->params.delta);
  case OPTION_DIMENSION: return cli_take_count(&cli_audit, "dimension", value, 1, 1000, &r->dimension);
  case OPTION_BATCH: return cli_take_count(&cli_audit, "batch", value, 1, 1000000, &r->params.batch);
  case OPTION_HORIZON: return cli_take_count(&cli_audit, "horizon", value, 1, 1000000000, &r->params.horizon);
  case OPTION_CALIBRATION: return take_calibration(r, value);
  case OPTION_LEVEL: return take_level(r, value);
  case OPTION_CONTRIBUTIONS:
    return cli_take_count(&cli_audit, "contributions", value, 1, 1000000, &r->params.contributions);
  case OPTION_VISITS: return cli_take_count(&cli_audit, "visits", value, 1, 1000000, &r->plan.visits);
  case OPTION_PLACE: return cli_take_count(&cli_audit, "place", value, 0, UINT64_C(1) << 40, &r->plan.place);
  case OPTION_SHUFFLERS: return cli_take_shufflers(&cli_audit, value, &r->params.shufflers);
  case OPTION_TRIALS: return cli_take_count(&cli_audit, "trials", value, 1000, 1000000000, &r->plan.trials);
  case OPTION_CONFIDENCE:
    return cli_take_real(&cli_audit, "confidence", value, 0.5, 1 - 1e-9, &r->plan.confidence);
  case OPTION_SEED: return cli_take_count(&cli_audit, "seed", value, 0, UINT64_MAX, &r->plan.seed);
  case OPTION_ONE_RUN: r->one_run = true; return EXIT_DONE;
  case OPTION_JSON: r->json = true; return EXIT_DONE;
  default: return take_release(r, value);
  }
}

/* Batches that give the victim room, and four at least. */
static uint64_t most_visits(const request *r) {
  uint64_t most = 4;
  if (r->params.contributions > most) most = r->params.contributions;
  return r->plan.visits > most ? r->plan.visits : most;
}

/* EXIT_DONE and a complete request, or -1 when help was printed, or an exit status. */
static int parse(request *r, int argc, char **argv) {
  int place = 0;
  const char *value = NULL;
  for (;;) {
    const int option = cli_next(&cli_audit, options, OPTION_COUNT, argc, argv, &place, &value);
    if (option == CLI_HELP) return -1;
    if (option == CLI_BAD) return EXIT_USAGE;
    if (option == CLI_END) break;
    const int status = take_option(r, option, value);
    if (status != EXIT_DONE) return status;
  }
  if (!r->release) return cli_usage(&cli_audit, "which release? (`faro list releases`, or all)");
  if (r->dimension == 0) r->dimension = r->one_run ? 500 : 2;
  if (r->one_run) r->plan.trials = 1;
  if (r->params.horizon == 0) r->params.horizon = most_visits(r) * r->params.batch;
  return EXIT_DONE;
}

/* One release under one calibration, and what came of it. */
typedef struct item {
  const faro_release_kind *kind;
  faro_calibration calibration;
  faro_audit_result result;
} item;

/* Nothing was published for returning users. */
static bool offers(const request *r, const faro_release_kind *kind, faro_calibration calibration) {
  return faro_release_kind_calibrates(kind, calibration) &&
         !(r->params.level == FARO_LEVEL_USER && calibration == FARO_CALIBRATION_FIGURE);
}

/* What the request asks for; `items` may be NULL to count. A release that was named is asked for a calibration that it
 * does not offer, too: it says so best itself. */
static size_t collect(const request *r, item *items) {
  size_t count = 0;
  const bool all = faro_release_kind_find(r->release) == NULL;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    if (!all && kind != faro_release_kind_find(r->release)) continue;
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
      const faro_calibration calibration = (faro_calibration)c;
      if (!r->every_calibration && calibration != r->params.calibration) continue;
      if (!offers(r, kind, calibration) && (all || r->every_calibration)) continue;
      if (items) items[count] = (item){.kind = kind, .calibration = calibration};
      count++;
    }
  }
  return count;
}

/* The false alarms of all audits together stay below 1 - confidence. */
static faro_status audit(const request *r, item *items, size_t count, faro_error *error) {
  faro_contribution contribution;
  faro_status status = faro_contribution_init(&contribution, r->dimension, 1, 0, 1, error);
  faro_audit_plan plan = r->plan;
  plan.confidence = fmin(1 - (1 - plan.confidence) / (double)count, 1 - 1e-9);
  for (size_t i = 0; i < count && status == FARO_OK; i++) {
    faro_release_params params = r->params;
    params.calibration = items[i].calibration;
    status = (r->one_run ? faro_audit_one_run : faro_audit_release)(items[i].kind, &contribution, &params,
                                                                    &plan, &items[i].result, error);
  }
  return status;
}

static const char *verdict(const item *it) {
  if (isnan(it->result.epsilon)) return "nothing claimed";
  return it->result.consistent ? "consistent" : "violated";
}

static json_t *json_number(double value) { return isnan(value) ? json_null() : json_real(value); }

/* Of one user, that the claims cover. */
static uint64_t rounds(const request *r) { return r->params.contributions ? r->params.contributions : 1; }

static json_t *item_json(const request *r, const item *it) {
  const faro_audit_result *a = &it->result;
  return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:b, s:f, s:I, s:f, s:s, s:s, s:f, s:f, s:s}", "release",
                   it->kind->name, "calibration", faro_calibration_name(it->calibration), "level",
                   faro_level_name(r->params.level), "contributions", (json_int_t)rounds(r), "epsilon",
                   json_number(a->epsilon), "delta", json_number(a->delta), "proven", a->proven,
                   "epsilon_lower", a->epsilon_lower, "trials", (json_int_t)a->trials, "confidence",
                   a->confidence, "pair", a->pair, "statistic", a->statistic, "hits", a->hits, "false_hits",
                   a->false_hits, "verdict", verdict(it));
}

static int print_json(const request *r, const item *items, size_t count, bool consistent) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, item_json(r, &items[i]));
  json_t *all = json_pack("{s:I, s:f, s:b, s:o}", "trials", (json_int_t)r->plan.trials, "confidence",
                          r->plan.confidence, "consistent", consistent, "audits", list);
  char *text = all ? json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(all);
  return cli_print(stdout, text);
}

/* What the victim does, where that is not the usual: one round, and a claim about one round. */
static void print_visits(const request *r) {
  if (r->params.level == FARO_LEVEL_USER)
    printf("Claims are at user level, for %llu rounds of a user.\n", (unsigned long long)rounds(r));
  if (r->plan.visits > 0) printf("The victim comes %llu times.\n", (unsigned long long)r->plan.visits);
}

static void print_table(const request *r, const item *items, size_t count) {
  print_visits(r);
  printf("%llu trials each; the lower bounds on epsilon hold with confidence %.10g%s.\n\n",
         (unsigned long long)r->plan.trials, r->plan.confidence, count > 1 ? ", all together" : "");
  printf("%-18s %-11s %-19s %-10s %11s  %-15s %s\n", "release", "calibration", "claim", "", "lower bound",
         "verdict", "best attack");
  for (size_t i = 0; i < count; i++) {
    const faro_audit_result *a = &items[i].result;
    char claim[64] = "none";
    if (!isnan(a->epsilon)) snprintf(claim, sizeof claim, "(%g, %g)", a->epsilon, a->delta);
    printf("%-18s %-11s %-19s %-10s %11.4g  %-15s %s, %s\n", items[i].kind->name,
           faro_calibration_name(items[i].calibration), claim,
           isnan(a->epsilon) ? ""
           : a->proven       ? "proven"
                             : "not proven",
           a->epsilon_lower, verdict(&items[i]), a->pair, a->statistic);
  }
}

static int execute(const request *r) {
  const size_t count = collect(r, NULL);
  if (count == 0)
    return cli_usage(&cli_audit, "--calibration: no release offers %s",
                     faro_calibration_name(r->params.calibration));
  faro_error error = {0};
  item *items = calloc(count, sizeof *items);
  if (!items) (void)faro_fail(&error, FARO_MEMORY, "out of memory");
  if (!items || (collect(r, items), audit(r, items, count, &error)) != FARO_OK) {
    free(items);
    return cli_fail(&error);
  }
  bool consistent = true;
  for (size_t i = 0; i < count; i++) consistent = consistent && items[i].result.consistent;
  int status = EXIT_DONE;
  if (r->json) status = print_json(r, items, count, consistent);
  else print_table(r, items, count);
  free(items);
  return status != EXIT_DONE ? status : consistent ? EXIT_DONE : EXIT_CHECK;
}

static int run(int argc, char **argv) {
  request r = {.params = {.epsilon = 1, .delta = 0.1, .batch = 100},
               .every_calibration = true,
               .plan = {.trials = 20000, .confidence = 0.99, .seed = 1}};
  const int status = parse(&r, argc, argv);
  return status == EXIT_DONE ? execute(&r) : status < 0 ? EXIT_DONE : status;
}

const cli_command cli_audit = {
    .name = "audit",
    .usage = "audit RELEASE [--epsilon E] [--delta D] [--calibration C] [--trials N] [--json] ...",
    .summary = "attack a release, and compare what leaks with what it claims",
    .run = run,
    .help =
        "RELEASE is one of `faro list releases`, or all. It is run many times on two inputs that differ in "
        "one\n"
        "user, and a test tries to tell them apart. Half of the runs choose the inputs and the test; the "
        "other\n"
        "half gives a lower bound on epsilon. A bound above the claim is a violation; one below it proves\n"
        "nothing, and at a small delta only many trials bring it near the claim.\n"
        "\n"
        "  --epsilon E      what to claim; 1 by default\n"
        "  --delta D        0.1 by default, where few trials see much\n"
        "  --calibration C  paper, figure or tight; by default each that the release offers\n"
        "  --level L        event, or user: the victim comes in several rounds, and all of them are "
        "replaced\n"
        "  --contributions M  under --level user: the most rounds of a user, each in another batch; 1 by "
        "default\n"
        "  --visits M       how often the victim does come; by default as often as the claim allows\n"
        "  --place N        users who come before the victim, where releases share users; 0 by default\n"
        "  --shufflers K    of concurrent-bits: how many, or log, which is the default\n"
        "  --dimension d    features of a user; 2 by default, and 500 with --one-run\n"
        "  --one-run        guess the signs of d canaries in a single run instead; use a small --delta\n"
        "  --batch B        users between two releases; 100 by default\n"
        "  --horizon T      users in all; four batches by default, or as many as the victim is in\n"
        "  --trials N       runs; 20000 by default\n"
        "  --confidence P   that no bound is above the true epsilon, over all audits asked for; 0.99 by "
        "default\n"
        "  --seed S         of the runs; 1 by default\n"
        "  --json           print JSON instead of a table\n"
        "\n"
        "Exit status: 0 consistent, 1 violated.\n"
        "\n"
        "examples:\n"
        "  faro audit local\n"
        "  faro audit all --trials 100000\n"
        "  faro audit central-tree --level user --contributions 4\n"
        "  faro audit concurrent-bits --shufflers 3 --batch 4 --horizon 256 --place 63\n"
        "  faro audit central-tree --one-run --epsilon 4 --delta 1e-7\n"
        "  faro audit shuffle-bits --calibration paper --epsilon 2 --delta 1e-3 --json\n",
};
