/* audit: faro audit RELEASE */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "report/claim.h"
#include "report/json.h"
#include "sim/machine.h"

typedef struct request {
  const char *release;
  faro_release_params params; /* horizon 0: four batches, or as many as the victim's visits */
  bool every_calibration;
  uint64_t dimension;
  faro_audit_plan plan;
  bool one_run; /* guess canaries in a single run */
  bool json;
} request;

#define X(name, text) text,
FARO_WORDS(levels, FARO_LEVEL_LIST(X))
FARO_WORDS(calibrations, FARO_CALIBRATION_LIST(X))
#undef X

/* The names of the releases, and "all". */
static const char *release_word(size_t index) {
  if (index < faro_release_kinds()) return faro_release_kind_at(index)->name;
  return index == faro_release_kinds() ? "all" : NULL;
}

/* Every release allows these ranges of epsilon and delta. */
static const faro_field options[] = {
    {"epsilon", FARO_FIELD_REAL, FARO_AT(request, params.epsilon), .least = 1e-4, .most = 1000, .value = "E",
     .help = "epsilon of the claim; 1 by default"},
    {"delta", FARO_FIELD_REAL, FARO_AT(request, params.delta), .least = 1e-15, .most = 0.999, .value = "D",
     .help = "delta of the claim; 0.1 by default"},
    {"calibration", FARO_FIELD_CHOICE, FARO_AT(request, params.calibration), .words = calibrations,
     .value = "C", .help = "by default every calibration that the release offers"},
    {"level", FARO_FIELD_CHOICE, FARO_AT(request, params.level), .words = levels, .value = "L",
     .help = "user: the victim takes part in several rounds, and all of them are replaced; event by default"},
    {"contributions", FARO_FIELD_COUNT, FARO_AT(request, params.contributions), .least = 1, .most = 1000000,
     .value = "M",
     .help =
         "--level user only: the greatest number of rounds per user, each in another batch; 1 by default"},
    {"visits", FARO_FIELD_COUNT, FARO_AT(request, plan.visits), .least = 1, .most = 1000000, .value = "M",
     .help = "number of rounds of the victim; by default as many as the claim allows"},
    {"place", FARO_FIELD_COUNT, FARO_AT(request, plan.place), .most = 0x1p40, .value = "N",
     .help = "number of users before the victim, if releases share users; 0 by default"},
    {"shufflers", FARO_FIELD_COUNT, FARO_AT(request, params.shufflers), .least = 1, .most = 50, .zero = "log",
     .value = "K", .help = "concurrent-bits only: number of shufflers, or log (the default): a binary tree"},
    {"crowd", FARO_FIELD_COUNT, FARO_AT(request, params.crowd), .least = 1, .most = 1000000, .value = "N",
     .help = "shuffle-laplace only: users who are mixed, if actions stay secret; one batch by default"},
    {"honest", FARO_FIELD_REAL, FARO_AT(request, params.honest), .least = 1e-6, .most = 1, .value = "H",
     .help = "share of users who add their noise; the others' messages are known; 1 by default"},
    {"dimension", FARO_FIELD_COUNT, FARO_AT(request, dimension), .least = 1, .most = 1000, .value = "d",
     .help = "features per user: 2 by default, 500 with --one-run; Laplace releases: numbers, 1 by default"},
    {"one-run", FARO_FIELD_FLAG, FARO_AT(request, one_run),
     .help = "guess the signs of d canaries in a single run instead; use a small --delta"},
    {"batch", FARO_FIELD_COUNT, FARO_AT(request, params.batch), .least = 1, .most = 1000000, .value = "B",
     .help = "users between two releases; 100 by default"},
    {"horizon", FARO_FIELD_COUNT, FARO_AT(request, params.horizon), .least = 1, .most = 1e9, .value = "T",
     .help = "number of users in all; by default four batches, or as many batches as the victim is in"},
    {"trials", FARO_FIELD_COUNT, FARO_AT(request, plan.trials), .least = 1000, .most = 1e9, .value = "N",
     .help = "number of runs; 100000 by default"},
    {"confidence", FARO_FIELD_REAL, FARO_AT(request, plan.confidence), .least = 0.5, .most = 1 - 1e-9,
     .value = "P",
     .help = "probability that no bound of any audit is above the true epsilon; 0.99 by default"},
    {"seed", FARO_FIELD_COUNT, FARO_AT(request, plan.seed), .most = 0x1p64, .value = "S",
     .help = "seed of the runs; 1 by default"},
    {"jobs", FARO_FIELD_COUNT, FARO_AT(request, plan.jobs), .least = 1, .most = 256, .value = "N",
     .help = "threads; one per processor by default. The result is the same for any number"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print JSON instead of a table"},
};

/* The number of batches: enough for all rounds of the victim, and at least four. */
static uint64_t most_visits(const request *r) {
  uint64_t most = 4;
  if (r->params.contributions > most) most = r->params.contributions;
  return r->plan.visits > most ? r->plan.visits : most;
}

/* Fills in what was not given. */
static void complete(request *r) {
  r->params.secret = r->params.crowd > 0;
  r->every_calibration = r->params.calibration == FARO_CALIBRATION_COUNT;
  if (r->one_run) r->plan.trials = 1;
  if (r->plan.jobs == 0) r->plan.jobs = faro_processors();
  if (r->params.horizon == 0) r->params.horizon = most_visits(r) * r->params.batch;
}

/* One release under one calibration, and the result of its audit. */
typedef struct item {
  const faro_release_kind *kind;
  faro_calibration calibration;
  bool numbers; /* audited on plain numbers, not on moments */
  faro_audit_result result;
} item;

/* The published figures do not cover returning users. */
static bool offers(const request *r, const faro_release_kind *kind, faro_calibration calibration) {
  return faro_release_kind_calibrates(kind, calibration) &&
         !(r->params.level == FARO_LEVEL_USER && calibration == FARO_CALIBRATION_FIGURE);
}

/* Without noise there is nothing to calibrate. */
static bool same_for_all(const faro_release_kind *kind) { return kind->trust == FARO_TRUST_NONE; }

/* Lists the audits to run; `items` may be NULL to count them. If one release is named, the list
 * keeps a calibration that it does not offer: the release's own message explains best. */
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
      if (!all && r->every_calibration && same_for_all(kind) && calibration != FARO_CALIBRATION_TIGHT)
        continue;
      if (items) items[count] = (item){.kind = kind, .calibration = calibration};
      count++;
    }
  }
  return count;
}

/* The bound on the L1 norm that Laplace noise is made for is exact for plain numbers alone:
 * elsewhere there is more noise than the claim needs, and too little of it would not be seen. */
static bool adds_laplace(const faro_release_kind *kind, const faro_release_params *params) {
  faro_contribution number;
  faro_release *release = NULL;
  if (faro_contribution_values(&number, 1, false, NULL) != FARO_OK ||
      faro_release_create(&release, kind, &number, params, faro_source_none(), NULL) != FARO_OK)
    return false;
  const bool laplace = faro_release_noise(release).laplace > 0;
  faro_release_destroy(release);
  return laplace;
}

static faro_status describe(const request *r, const item *it, faro_contribution *c, faro_error *error) {
  const uint64_t usual = it->numbers ? 1 : r->one_run ? 500 : 2;
  const uint64_t dimension = r->dimension > 0 ? r->dimension : usual;
  return it->numbers ? faro_contribution_values(c, dimension, false, error)
                     : faro_contribution_init(c, dimension, 1, 0, 1, error);
}

/* How far the audits are. Only for a terminal: a file has no use for it. */
typedef struct course {
  cli_progress bar;
  size_t done, count;   /* audits */
  double runs, planned; /* of the current one */
} course;

static void show(course *c) {
  const double share = c->planned > 0 ? fmin(1, c->runs / c->planned) : 0;
  cli_progress_show(&c->bar, c->done, c->count, ((double)c->done + share) / (double)c->count);
}

static void ran(void *context, uint64_t runs) {
  course *c = context;
  c->runs += (double)runs;
  show(c);
}

/* The probability of a false alarm in any of the audits stays below 1 - confidence. */
static faro_status audit(const request *r, item *items, size_t count, faro_error *error) {
  faro_status status = FARO_OK;
  faro_audit_plan plan = r->plan;
  course so_far = {.count = count, .planned = (double)plan.trials};
  cli_progress_begin(&so_far.bar, "audits", !isatty(STDERR_FILENO));
  plan.progress = ran;
  plan.context = &so_far;
  plan.confidence = fmin(1 - (1 - plan.confidence) / (double)count, 1 - 1e-9);
  for (size_t i = 0; i < count && status == FARO_OK; i++) {
    so_far.done = i;
    so_far.runs = 0;
    show(&so_far);
    item *it = &items[i];
    faro_contribution contribution;
    faro_release_params params = r->params;
    params.calibration = it->calibration;
    it->numbers = !r->one_run && adds_laplace(it->kind, &params);
    status = describe(r, it, &contribution, error);
    if (status == FARO_OK)
      status = (r->one_run ? faro_audit_one_run : faro_audit_release)(it->kind, &contribution, &params, &plan,
                                                                      &it->result, error);
  }
  cli_progress_end(&so_far.bar);
  return status;
}

/* Only what was proven is claimed, and can be violated: noise that was never proven to be enough,
 * such as that of the published figures, promises nothing. */
static bool claims(const item *it) { return it->result.proven; }
static bool is_violated(const item *it) { return claims(it) && !it->result.consistent; }

static const char *verdict(const item *it) {
  if (!claims(it)) return "no claim";
  return is_violated(it) ? "violated" : "consistent";
}

/* Rounds of one user that the claims cover. */
static uint64_t rounds(const request *r) { return r->params.contributions ? r->params.contributions : 1; }

static json_t *item_json(const request *r, const item *it) {
  const faro_audit_result *a = &it->result;
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:f, s:s, s:s, s:s, s:f, s:f, s:s}",
      "release", it->kind->name, "calibration", faro_calibration_name(it->calibration), "data",
      it->numbers ? "numbers" : "moments", "level", faro_level_name(r->params.level), "contributions",
      (json_int_t)rounds(r), "epsilon", faro_json_number(a->epsilon), "delta", faro_json_number(a->delta),
      "proven", a->proven, "epsilon_lower", faro_json_number(a->epsilon_lower), "power",
      faro_json_number(a->power), "order_power", faro_json_number(a->order_power), "trials",
      (json_int_t)a->trials, "confidence", a->confidence, "against", a->against, "pair", a->pair, "statistic",
      a->statistic, "hits", a->hits, "false_hits", a->false_hits, "verdict", verdict(it));
}

static int print_json(const request *r, const item *items, size_t count, bool consistent) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, item_json(r, &items[i]));
  json_t *all = json_pack("{s:I, s:f, s:b, s:o}", "trials", (json_int_t)r->plan.trials, "confidence",
                          r->plan.confidence, "consistent", consistent, "audits", list);
  char *text = faro_json_text(all, true);
  json_decref(all);
  return cli_print(stdout, text);
}

/* Says what the victim does, unless it is the default: one round, and a claim about one round. */
static void print_visits(const request *r) {
  if (r->params.level == FARO_LEVEL_USER)
    printf("Claims are at user level, for %llu rounds of a user.\n", (unsigned long long)rounds(r));
  if (r->plan.visits > 0) printf("The victim comes %llu times.\n", (unsigned long long)r->plan.visits);
}

/* The epsilon from which on a violation was likely to be found; "-" if there is none. */
static const char *power_text(const item *it, char text[static 16]) {
  if (claims(it) && isfinite(it->result.power)) snprintf(text, 16, "%.3g", it->result.power);
  else snprintf(text, 16, "-");
  return text;
}

static const char *claim_text(const item *it, char text[static 64]) {
  if (claims(it)) snprintf(text, 64, "(%g, %g)", it->result.epsilon, it->result.delta);
  else snprintf(text, 64, "none");
  return text;
}

static void print_row(const item *it) {
  char claim[64], power[16];
  printf("%-17s %-11s %-15s %7.3g %9s  %s\n", it->kind->name, faro_calibration_name(it->calibration),
         claim_text(it, claim), it->result.epsilon_lower, power_text(it, power), verdict(it));
}

/* A row in words. */
static void explain(const item *it) {
  const faro_audit_result *a = &it->result;
  printf("\n%s, %s: the best attack (%s: %s, %s)\n", it->kind->name, faro_calibration_name(it->calibration),
         a->against, a->pair, a->statistic);
  if (!claims(it))
    printf("  reaches epsilon >= %.3g. There is no claim that it could contradict.\n", a->epsilon_lower);
  else if (is_violated(it))
    printf("  reaches epsilon >= %.3g, and %g is claimed: the claim is violated.\n", a->epsilon_lower,
           a->epsilon);
  else if (isfinite(a->power))
    printf("  could have seen epsilon >= %.3g, where %g is claimed. It found %.3g.\n", a->power, a->epsilon,
           a->epsilon_lower);
  else
    printf("  saw epsilon >= %.3g, but could not have seen a violation of %g.\n", a->epsilon_lower,
           a->epsilon);
}

/* What shuffled messages were tested for besides. */
static void print_order(const item *items, size_t count) {
  double weakest = 0;
  for (size_t i = 0; i < count; i++)
    if (items[i].result.order_power > weakest) weakest = items[i].result.order_power;
  if (weakest > 0)
    printf("The order of shuffled messages was tested too: a place or a succession that\n"
           "is %.3g times as likely as it should be was likely to be found.\n",
           weakest);
}

static void print_table(const request *r, const item *items, size_t count) {
  enum { FEW = 4 };
  bool without = false;
  print_visits(r);
  if (r->one_run) printf("One run each; ");
  else printf("%llu trials each; ", (unsigned long long)r->plan.trials);
  printf("confidence %.10g%s.\n\n", r->plan.confidence, count > 1 ? " for all together" : "");
  printf("%-17s %-11s %-15s %7s %9s  %s\n", "release", "calibration", "claim", "reaches", "could see",
         "verdict");
  for (size_t i = 0; i < count; i++) {
    print_row(&items[i]);
    without = without || !claims(&items[i]);
  }
  for (size_t i = 0; i < count && count <= FEW; i++) explain(&items[i]);
  printf("\nreaches: the attack shows that epsilon is at least this.\n"
         "could see: an epsilon of this or more was likely to be found; -: none was.\n");
  if (without) printf("no claim: not proven to be private, so there is nothing to violate.\n");
  print_order(items, count);
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
  for (size_t i = 0; i < count; i++) consistent = consistent && !is_violated(&items[i]);
  int status = EXIT_DONE;
  if (r->json) status = print_json(r, items, count, consistent);
  else print_table(r, items, count);
  free(items);
  return status != EXIT_DONE ? status : consistent ? EXIT_DONE : EXIT_CHECK;
}

static int run(int argc, char **argv) {
  request r = {.params = {.epsilon = 1, .delta = 0.1, .batch = 100, .calibration = FARO_CALIBRATION_COUNT},
               .plan = {.trials = 100000, .confidence = 0.99, .seed = 1}};
  int words = 0;
  size_t release = 0;
  int status = cli_read(&cli_audit, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_audit, "release", words > 0 ? argv[0] : NULL, &release);
  if (status != CLI_GO) return status;
  r.release = release_word(release);
  complete(&r);
  return execute(&r);
}

const cli_command cli_audit = {
    .name = "audit",
    .usage = "audit RELEASE [--epsilon E] [--delta D] [--calibration C] [--trials N] [--json] ...",
    .summary = "attack a release and compare the leak with its claim",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = release_word,
    .about =
        "RELEASE is one of `faro list releases`, or all. It is run many times on two inputs that differ in\n"
        "one user, and a test tries to tell them apart. Half of the runs choose the inputs and the test;\n"
        "the other half gives a lower bound on epsilon. A bound above a proven claim is a violation. A "
        "bound\n"
        "below it proves nothing; `could see` says how large a violation this audit was likely to find.\n"
        "Calibrations that are not proven, such as figure, claim nothing and cannot be violated.\n"
        "\n"
        "Releases whose proof is a Gaussian or Laplace noise are tested along its whole curve, so that a\n"
        "small delta hides nothing. Amplified releases are tested in three ways: the shuffled batch, one\n"
        "message by itself, and whether the order of messages is uniform.\n",
    .help = "Exit status: 0 no proven claim is violated, 1 one is.\n"
            "\n"
            "examples:\n"
            "  faro audit local\n"
            "  faro audit all --trials 100000\n"
            "  faro audit central-tree --level user --contributions 4\n"
            "  faro audit shuffle-laplace --batch 50 --crowd 500\n"
            "  faro audit shuffle-bits --honest 0.5\n"
            "  faro audit concurrent-bits --shufflers 3 --batch 4 --horizon 256 --place 63\n"
            "  faro audit central --one-run --delta 1e-9 --dimension 1000\n"
            "  faro audit shuffle-bits --calibration paper --epsilon 2 --delta 1e-3 --json\n",
};
