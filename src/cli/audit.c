/* audit: faro audit RELEASE
 *
 * An audit sees what it plays. So `all` plays every release in a battery of settings: what learners
 * do with it, and what a deployment runs. */
#include <faro/message.h>
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

/* What users contribute. */
typedef enum data { MOMENTS, REWARDS, BLOCKS, LOGISTIC, NUMBERS, BALL } data;

/* What is played, where the command says nothing else. */
typedef struct setting {
  const char *name;
  data data;
  faro_release_params params; /* horizon 0: four batches, or as many as the victim's visits */
  uint64_t place;
  bool deployed;
  bool (*fits)(const faro_release_kind *kind); /* NULL: all */
} setting;

static bool hides(const faro_release_kind *kind) {
  return kind->trust == FARO_TRUST_SHUFFLE || kind->trust == FARO_TRUST_CONCURRENT;
}
static bool mixes(const faro_release_kind *kind) {
  return kind->trust == FARO_TRUST_SHUFFLE && !faro_release_kind_counts(kind);
}
static bool assigns(const faro_release_kind *kind) { return kind->assigns; }
static bool adapts(const faro_release_kind *kind) { return kind->adapts; }
static bool remembers(const faro_release_kind *kind) {
  return kind->trust == FARO_TRUST_JOINT || kind->trust == FARO_TRUST_CONCURRENT;
}

/* Small batches are cheap, but amplify nothing, and a third one in a growing schedule is the first
 * of another size. Deployments are calibrated tight, as campaigns are, and a coarse grid keeps
 * their bits few. */
static const setting settings[] = {
    {"plain", .params = {.batch = 100}},
    {"later", .params = {.batch = 10, .horizon = 80}, .place = 35, .fits = remembers},
    {"growing", .params = {.batch = 10, .horizon = 80, .growth = 2}, .place = 25},
    {"adaptive", .params = {.batch = 10, .horizon = 80, .adaptive = true}, .place = 15, .fits = adapts},
    {"returning", .params = {.batch = 5, .level = FARO_LEVEL_USER, .contributions = 3}},
    {"dishonest", .params = {.batch = 10, .honest = 0.5}, .fits = hides},
    {"amplified", .params = {.batch = 2000, .horizon = 8000, .growth = 4, .honest = 0.25}, .fits = mixes},
    {"crowd", .params = {.batch = 5, .crowd = 50}, .fits = assigns},
    {"rewards", REWARDS, .params = {.batch = 10}},
    {"blocks", BLOCKS, .params = {.batch = 10}},
    {"logistic", LOGISTIC, .params = {.batch = 10}},
    {"numbers", NUMBERS, .params = {.batch = 10}},
    {"ball", BALL, .params = {.batch = 10}},
    {"deployed", .params = {.batch = 10, .grid = 64}, .place = 15, .deployed = true},
    {"campaign", .params = {.batch = 5, .horizon = 40, .growth = 2, .grid = 64}, .place = 12,
     .deployed = true},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const char *setting_word(size_t index) {
  return index < SETTINGS ? settings[index].name : index == SETTINGS ? "all" : NULL;
}

typedef struct request {
  const char *release;
  size_t setting;             /* SETTINGS: all */
  faro_release_params params; /* zeros: as the setting says */
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
     .help = "number of users before the victim; by default as the setting says"},
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
     .help = "users between two releases; 100 by default, fewer in other settings"},
    {"setting", FARO_FIELD_CHOICE, FARO_AT(request, setting), .words = setting_word, .value = "S",
     .help = "what is played, see Settings; all by default for `all`, else plain"},
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
static uint64_t most_visits(const faro_release_params *params, uint64_t visits) {
  uint64_t most = 4;
  if (params->contributions > most) most = params->contributions;
  return visits > most ? visits : most;
}

/* Fills in what was not given. */
static void complete(request *r) {
  r->every_calibration = r->params.calibration == FARO_CALIBRATION_COUNT;
  if (r->one_run) r->plan.trials = 1;
  if (r->plan.jobs == 0) r->plan.jobs = faro_processors();
  if (r->setting > SETTINGS) r->setting = faro_release_kind_find(r->release) || r->one_run ? 0 : SETTINGS;
}

/* One release under one calibration in one setting, and the result of its audit. */
typedef struct item {
  const faro_release_kind *kind;
  faro_calibration calibration;
  const setting *setting;
  faro_release_params params;
  data data;
  faro_audit_result result;
} item;

/* What the command says counts, and the setting for the rest. */
static faro_release_params params_of(const request *r, const item *it) {
  const faro_release_params *given = &r->params;
  faro_release_params p = it->setting->params;
  p.epsilon = given->epsilon;
  p.delta = given->delta;
  p.calibration = it->calibration;
  p.shufflers = given->shufflers;
  if (given->batch > 0) p.horizon = 0;
  if (given->batch > 0) p.batch = given->batch;
  if (given->level == FARO_LEVEL_USER || given->contributions > 0) {
    p.level = given->level;
    p.contributions = given->contributions;
  }
  if (given->crowd > 0) p.crowd = given->crowd;
  if (given->honest > 0) p.honest = given->honest;
  p.secret = p.crowd > 0;
  if (given->horizon > 0) p.horizon = given->horizon;
  if (p.horizon == 0) p.horizon = most_visits(&p, r->plan.visits) * p.batch;
  return p;
}

/* The published figures do not cover returning users. */
static bool offers(const item *it) {
  return faro_release_kind_calibrates(it->kind, it->calibration) &&
         !(it->params.level == FARO_LEVEL_USER && it->calibration == FARO_CALIBRATION_FIGURE);
}

/* Without noise there is nothing to calibrate. */
static bool same_for_all(const faro_release_kind *kind) { return kind->trust == FARO_TRUST_NONE; }

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
  const bool laplace = adds_laplace(it->kind, &it->params);
  const bool one = laplace && it->setting->data != NUMBERS && !r->one_run; /* one number: L1 is L2 */
  const bool four = it->data == BLOCKS || it->setting->data == NUMBERS;
  const uint64_t usual = one ? 1 : r->one_run ? 500 : four ? 4 : 2;
  const uint64_t d = r->dimension > 0 ? r->dimension : usual;
  switch (it->data) {
  case REWARDS: return faro_contribution_rewards(c, d, 1, 0, 1, error);
  case LOGISTIC: return faro_contribution_linearised(c, d, 1, FARO_LINK_LOGISTIC, 1, error);
  case NUMBERS: return faro_contribution_values(c, d, false, error);
  case BALL: return faro_contribution_ball(c, d, 1, error);
  case BLOCKS:
  case MOMENTS: break;
  }
  const faro_status status = faro_contribution_init(c, d, 1, 0, 1, error);
  return status == FARO_OK && it->data == BLOCKS ? faro_contribution_split(c, 2, error) : status;
}

/* Whether a setting is for the release. Without noise there is nothing to play. */
static bool suits(const setting *s, const faro_release_kind *kind) {
  return s == settings || (!same_for_all(kind) && (!s->fits || s->fits(kind)));
}

/* Deployed noise bits are drawn one by one, and published constants give hundreds of millions of
 * them. */
static bool is_too_long(const setting *s, faro_calibration calibration) {
  return s->deployed && calibration != FARO_CALIBRATION_TIGHT;
}

/* Whether the release can be made like this. In other settings than plain it is left out if not. */
static bool is_possible(const request *r, const item *it) {
  faro_contribution c;
  faro_release *release = NULL;
  faro_secure_rng *secure = NULL;
  if (it->setting->deployed && faro_secure_open(&secure, NULL) != FARO_OK) return false;
  const faro_source source = secure ? faro_source_all_parties(secure) : faro_source_none();
  const bool possible = describe(r, it, &c, NULL) == FARO_OK &&
                        faro_release_create(&release, it->kind, &c, &it->params, source, NULL) == FARO_OK;
  faro_release_destroy(release);
  faro_secure_close(secure);
  return possible;
}

static item item_of(const request *r, const faro_release_kind *kind, int calibration, const setting *s) {
  item it = {.kind = kind, .calibration = (faro_calibration)calibration, .setting = s, .data = s->data};
  it.params = params_of(r, &it);
  if (s->data == MOMENTS && !r->one_run && adds_laplace(kind, &it.params)) it.data = NUMBERS;
  return it;
}

/* If one release and one setting are named, the list keeps what is not offered: the release's own
 * message explains best. */
static bool is_wanted(const request *r, const item *it, bool all) {
  const bool plain = it->setting == settings;
  if (!suits(it->setting, it->kind) || is_too_long(it->setting, it->calibration)) return false;
  if (!r->every_calibration && it->calibration != r->params.calibration) return false;
  if (!offers(it) && (all || r->every_calibration)) return false;
  if (!all && r->every_calibration && same_for_all(it->kind) && it->calibration != FARO_CALIBRATION_TIGHT)
    return false;
  if (plain) return true;
  if (r->every_calibration && it->calibration != FARO_CALIBRATION_TIGHT) return false;
  return (!all && r->setting < SETTINGS) || is_possible(r, it);
}

/* Lists the audits to run; `items` may be NULL to count them. */
static size_t collect(const request *r, item *items) {
  size_t count = 0;
  const bool all = faro_release_kind_find(r->release) == NULL;
  for (size_t s = 0; s < SETTINGS; s++)
    for (size_t k = 0; k < faro_release_kinds(); k++)
      for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
        const faro_release_kind *kind = faro_release_kind_at(k);
        if (r->setting < SETTINGS && r->setting != s) continue;
        if (!all && kind != faro_release_kind_find(r->release)) continue;
        const item it = item_of(r, kind, c, &settings[s]);
        if (!is_wanted(r, &it, all)) continue;
        if (items) items[count] = it;
        count++;
      }
  return count;
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
  enum { FEWER = 4, LEAST = 1000 }; /* runs in other settings than plain, if all are played */
  faro_status status = FARO_OK;
  faro_audit_plan plan = r->plan;
  course so_far = {.count = count, .planned = 1};
  cli_progress_begin(&so_far.bar, "audits", !isatty(STDERR_FILENO));
  plan.progress = ran;
  plan.context = &so_far;
  plan.confidence = fmin(1 - (1 - plan.confidence) / (double)count, 1 - 1e-9);
  for (size_t i = 0; i < count && status == FARO_OK; i++) {
    so_far.done = i;
    so_far.runs = 0;
    item *it = &items[i];
    faro_contribution contribution;
    faro_error cause = {0};
    const bool fewer = r->setting == SETTINGS && it->setting != settings;
    const uint64_t share = r->plan.trials / FEWER;
    plan.trials = !fewer ? r->plan.trials : share > LEAST ? share : LEAST;
    plan.place = r->plan.place > 0 ? r->plan.place : it->setting->place;
    plan.deployed = it->setting->deployed;
    so_far.planned = (double)plan.trials;
    status = describe(r, it, &contribution, &cause);
    if (status == FARO_OK)
      status = (r->one_run ? faro_audit_one_run : faro_audit_release)(it->kind, &contribution, &it->params,
                                                                      &plan, &it->result, &cause);
    if (status != FARO_OK)
      (void)faro_fail(error, status, "%s%s%s%.600s", it->setting == settings ? "" : "--setting ",
                      it->setting == settings ? "" : it->setting->name, it->setting == settings ? "" : ": ",
                      cause.message);
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
static uint64_t rounds(const item *it) { return it->params.contributions ? it->params.contributions : 1; }

static const char *const data_names[] = {"moments", "rewards", "blocks", "logistic", "numbers", "ball"};

static json_t *item_json(const item *it) {
  const faro_audit_result *a = &it->result;
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:f, s:s, s:s, s:s, s:f, s:f, s:s}",
      "release", it->kind->name, "calibration", faro_calibration_name(it->calibration), "setting",
      it->setting->name, "data", data_names[it->data], "level", faro_level_name(it->params.level),
      "contributions", (json_int_t)rounds(it), "epsilon", faro_json_number(a->epsilon), "delta",
      faro_json_number(a->delta), "proven", a->proven, "epsilon_lower", faro_json_number(a->epsilon_lower),
      "power", faro_json_number(a->power), "order_power", faro_json_number(a->order_power), "trials",
      (json_int_t)a->trials, "confidence", a->confidence, "against", a->against, "pair", a->pair, "statistic",
      a->statistic, "hits", a->hits, "false_hits", a->false_hits, "verdict", verdict(it));
}

static int print_json(const request *r, const item *items, size_t count, bool consistent) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, item_json(&items[i]));
  json_t *all = json_pack("{s:I, s:f, s:b, s:o}", "trials", (json_int_t)r->plan.trials, "confidence",
                          r->plan.confidence, "consistent", consistent, "audits", list);
  char *text = faro_json_text(all, true);
  json_decref(all);
  return cli_print(stdout, text);
}

/* Says what the victim does, unless it is the default: one round, and a claim about one round. */
static void print_visits(const request *r) {
  if (r->params.level == FARO_LEVEL_USER)
    printf("Claims are at user level, for %llu rounds of a user.\n",
           (unsigned long long)(r->params.contributions ? r->params.contributions : 1));
  if (r->plan.visits > 0) printf("The victim comes %llu times.\n", (unsigned long long)r->plan.visits);
}

/* A lower bound, rounded down to three digits. */
static const char *reach_text(double value, char text[static FARO_NUMBER_SIZE]) {
  const double unit = value > 0 ? pow(10, floor(log10(value)) - 2) : 1;
  snprintf(text, FARO_NUMBER_SIZE, "%.3g", isfinite(value) && value > 0 ? floor(value / unit) * unit : value);
  return text;
}

/* The epsilon from which on a violation was likely to be found; "-" if there is none. */
static const char *power_text(const item *it, char text[static FARO_NUMBER_SIZE]) {
  if (!claims(it) || !isfinite(it->result.power)) return "-";
  return faro_above(it->result.power, 3, text);
}

static const char *claim_text(const item *it, char text[static FARO_PAIR_SIZE]) {
  return claims(it) ? faro_pair_above(it->result.epsilon, it->result.delta, text) : "none";
}

/* Other settings than plain are played under one calibration. */
static void print_head(const item *it) {
  const bool plain = it->setting == settings;
  char release[FARO_NUMBER_SIZE];
  snprintf(release, sizeof release, plain ? "release" : "release, %s",
           faro_calibration_name(it->calibration));
  printf("%-17s %-11s %-15s %7s %9s  %s\n", release, plain ? "calibration" : "setting", "claim", "reaches",
         "could see", "verdict");
}

static void print_row(const item *it) {
  char claim[FARO_PAIR_SIZE], power[FARO_NUMBER_SIZE], reach[FARO_NUMBER_SIZE];
  const bool plain = it->setting == settings;
  printf("%-17s %-11s %-15s %7s %9s  %s\n", it->kind->name,
         plain ? faro_calibration_name(it->calibration) : it->setting->name, claim_text(it, claim),
         reach_text(it->result.epsilon_lower, reach), power_text(it, power), verdict(it));
}

/* A row in words. */
static void explain(const item *it) {
  const faro_audit_result *a = &it->result;
  char epsilon[FARO_NUMBER_SIZE], power[FARO_NUMBER_SIZE], reach[FARO_NUMBER_SIZE];
  faro_above(a->epsilon, 6, epsilon);
  reach_text(a->epsilon_lower, reach);
  printf("\n%s, %s%s%s: the best attack (%s: %s, %s)\n", it->kind->name,
         faro_calibration_name(it->calibration), it->setting == settings ? "" : ", ",
         it->setting == settings ? "" : it->setting->name, a->against, a->pair, a->statistic);
  if (!claims(it)) printf("  reaches epsilon >= %s. There is no claim that it could contradict.\n", reach);
  else if (is_violated(it))
    printf("  reaches epsilon >= %s, and %s is claimed: the claim is violated.\n", reach, epsilon);
  else if (isfinite(a->power))
    printf("  could have seen epsilon >= %s, where %s is claimed. It found %s.\n", power_text(it, power),
           epsilon, reach);
  else printf("  saw epsilon >= %s, but could not have seen a violation of %s.\n", reach, epsilon);
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
  for (size_t i = 0; i < count; i++) {
    const bool first = i > 0 && items[i].setting != settings && items[i - 1].setting == settings;
    if (first) putchar('\n');
    if (i == 0 || first) print_head(&items[i]);
    print_row(&items[i]);
    without = without || !claims(&items[i]);
  }
  for (size_t i = 0; i < count; i++)
    if (count <= FEW || is_violated(&items[i])) explain(&items[i]);
  printf("\nreaches: the attack shows that epsilon is at least this.\n"
         "could see: an epsilon of this or more was likely to be found; -: none was.\n");
  if (without) printf("no claim: not proven to be private, so there is nothing to violate.\n");
  print_order(items, count);
}

/* Why there is nothing to play. */
static int refuse(const request *r) {
  const faro_release_kind *kind = faro_release_kind_find(r->release);
  if (r->setting == 0 || r->setting == SETTINGS)
    return cli_usage(&cli_audit, "--calibration: no release offers %s",
                     faro_calibration_name(r->params.calibration));
  const setting *s = &settings[r->setting];
  if (!r->every_calibration && is_too_long(s, r->params.calibration))
    return cli_usage(&cli_audit, "--setting %s is played under --calibration tight alone", s->name);
  if (!kind || suits(s, kind))
    return cli_usage(&cli_audit, "--setting: with these options no release is played in %s", s->name);
  if (same_for_all(kind))
    return cli_usage(&cli_audit, "--setting %s is not for %s, which adds no noise", s->name, kind->name);
  const char *names[FARO_RELEASES_MAX];
  char list[FARO_ALLOWED];
  size_t count = 0;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    if (suits(s, faro_release_kind_at(k))) names[count++] = faro_release_kind_at(k)->name;
  return cli_usage(&cli_audit, "--setting %s is not for %s, only for %s", s->name, kind->name,
                   faro_words_join(names, count, list, sizeof list));
}

static int execute(const request *r) {
  const size_t count = collect(r, NULL);
  if (count == 0) return refuse(r);
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
  request r = {.params = {.epsilon = 1, .delta = 0.1, .calibration = FARO_CALIBRATION_COUNT},
               .setting = SETTINGS + 1,
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
        "message by itself, and whether the order of messages is uniform.\n"
        "\n"
        "Settings:\n"
        "  plain       four batches of 100, the victim first\n"
        "  later       a victim in the middle, where releases share users\n"
        "  growing     batches that double, the victim in the third\n"
        "  adaptive    batches whose sizes follow from what was published\n"
        "  returning   a user-level claim for three rounds\n"
        "  dishonest   half of the users add no noise\n"
        "  amplified   batches of 2000 and 6000, a quarter of whom are honest\n"
        "  crowd       ten batches that one shuffler mixes\n"
        "  rewards     rewards alone are protected\n"
        "  blocks      contributions in blocks\n"
        "  logistic    contributions of a logistic model\n"
        "  numbers     four numbers\n"
        "  ball        a vector in a ball\n"
        "  deployed    what clients, shufflers and servers of a deployment run\n"
        "  campaign    the same with growing batches\n"
        "`faro audit all` plays every release in every setting that is for it, with a quarter of the runs\n"
        "in each but the first. It takes about a minute and a quarter of one processor.\n",
    .help = "Exit status: 0 no proven claim is violated, 1 one is.\n"
            "\n"
            "examples:\n"
            "  faro audit local\n"
            "  faro audit all --jobs 2\n"
            "  faro audit central-tree --setting deployed\n"
            "  faro audit central-tree --level user --contributions 4\n"
            "  faro audit shuffle-laplace --batch 50 --crowd 500\n"
            "  faro audit shuffle-bits --honest 0.5\n"
            "  faro audit concurrent-bits --shufflers 3 --batch 4 --horizon 256 --place 63\n"
            "  faro audit central --one-run --delta 1e-9 --dimension 1000\n"
            "  faro audit shuffle-bits --calibration paper --epsilon 2 --delta 1e-3 --json\n",
};
