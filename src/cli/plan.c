/* plan: faro plan --users N --dimension D --arms K --epsilon E */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"

enum { SHOWN = 3 }; /* ways of a trust model in the table */

typedef struct request {
  faro_problem problem;
  faro_advice_options options;
  double users;                    /* so that 1e6 can be written */
  size_t contexts, rewards, trust; /* indices of words */
  const char *write;
  bool all, json, quiet;
} request;

FARO_WORDS(contexts, "fresh", "fixed", "adversarial")
FARO_WORDS(rewards, "linear", "logistic", "probit")
FARO_WORDS(trusts, "any", "server", "shuffler", "shufflers", "nobody")

static const faro_field options[] = {
    {"users", FARO_FIELD_WHOLE, FARO_AT(request, users), .least = 100, .most = 1e9, .value = "N",
     .required = true, .help = "how many people will take part"},
    {"dimension", FARO_FIELD_COUNT, FARO_AT(request, problem.dimension), .least = 2, .most = 200,
     .value = "D", .required = true, .help = "length of a feature vector"},
    {"arms", FARO_FIELD_COUNT, FARO_AT(request, problem.arms), .least = 2, .most = 100000, .value = "K",
     .required = true, .help = "choices per person"},
    {"epsilon", FARO_FIELD_REAL, FARO_AT(request, problem.epsilon), .least = 1e-4, .most = 1000, .value = "E",
     .required = true, .help = "epsilon of the guarantee"},
    {"delta", FARO_FIELD_REAL, FARO_AT(request, problem.delta), .least = 1e-15, .most = 0.999, .value = "D",
     .help = "delta of the guarantee; 1e-6 by default"},
    {"contexts", FARO_FIELD_CHOICE, FARO_AT(request, contexts), .words = contexts, .value = "C",
     .help = "fresh features for everybody (the default), the same for all, or as unhelpful as possible"},
    {"rewards", FARO_FIELD_CHOICE, FARO_AT(request, rewards), .words = rewards, .value = "R",
     .help = "how the mean reward follows from the features; linear by default"},
    {"trust", FARO_FIELD_CHOICE, FARO_AT(request, trust), .words = trusts, .value = "T",
     .help = "who may see raw data; by default every answer is compared"},
    {"shufflers", FARO_FIELD_COUNT, FARO_AT(request, problem.shufflers), .least = 2, .most = 20, .value = "S",
     .help = "the most shufflers, where there are several; 5 by default"},
    {"honest", FARO_FIELD_REAL, FARO_AT(request, problem.honest), .least = 1e-6, .most = 1, .value = "H",
     .help = "share of a batch that does not collude with the server; 0.9 by default. Behind a shuffler the "
             "claim counts on their noise alone"},
    {"contributions", FARO_FIELD_COUNT, FARO_AT(request, problem.contributions), .least = 1, .most = 1000,
     .value = "M",
     .help = "everybody takes part M times, and the guarantee covers all of it together; by default it "
             "covers each time by itself"},
    {"simulate", FARO_FIELD_FLAG, FARO_AT(request, options.simulate),
     .help = "simulate everybody instead of predicting: takes minutes"},
    {"instances", FARO_FIELD_COUNT, FARO_AT(request, options.instances), .least = 2, .most = 64, .value = "I",
     .help = "problems on which a number is averaged; 8 to 64 by default"},
    {"seed", FARO_FIELD_COUNT, FARO_AT(request, options.seed), .least = 1, .most = 0x1p53, .value = "S",
     .help = "1 by default"},
    {"jobs", FARO_FIELD_COUNT, FARO_AT(request, options.jobs), .least = 1, .most = 256, .value = "J",
     .help = "threads; one per processor by default"},
    {"write", FARO_FIELD_WORD, FARO_AT(request, write), .value = "FILE",
     .help = "write an experiment with the first choice of each trust model, for faro run"},
    {"all", FARO_FIELD_FLAG, FARO_AT(request, all), .help = "print every combination, not the best three"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print all of it as JSON"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet), .help = "do not print progress on stderr"},
};

/* ---- words */

static const faro_trust trust_of[] = {FARO_TRUST_NONE, FARO_TRUST_JOINT, FARO_TRUST_SHUFFLE,
                                      FARO_TRUST_CONCURRENT, FARO_TRUST_LOCAL};

/* The trust model under which a way is listed; one shuffler is a choice where there are several. */
static size_t group_of(const request *r, const faro_way *way) {
  size_t index = 1;
  while (trust_of[index] != way->trust) index++;
  return r->trust > 0 ? r->trust : index;
}

static const char *group_title(size_t group) {
  static const char *const title[] = {"", "A trusted server", "A trusted shuffler",
                                      "Several shufflers, of which each is trusted", "Nobody is trusted"};
  return title[group];
}

enum { NUMBER = 24, SCHEDULE = 96 };

/* One digit: more would promise too much. */
static uint64_t rounded(uint64_t users) {
  uint64_t unit = 1;
  while (users / unit >= 10) unit *= 10;
  return (users + unit / 2) / unit * unit;
}

static const char *schedule_text(const faro_way *way, char out[static SCHEDULE]) {
  const unsigned long long batch = way->batch;
  const unsigned long long largest = way->largest;
  if (way->growth <= 1 || (way->largest > 0 && way->largest <= way->batch + 1))
    snprintf(out, SCHEDULE, "batches of %llu", batch);
  else if (way->largest == 0) snprintf(out, SCHEDULE, "batches from %llu", batch);
  else snprintf(out, SCHEDULE, "batches of %llu to %llu", batch, largest);
  return out;
}

/* Whether the regret is below that of uniform play, by more than chance and the error of
 * predicting. */
static bool learns(const faro_way *way, const faro_advice *advice) {
  return way->regret.high < advice->uniform;
}

static const char *share_text(const faro_way *way, const faro_advice *advice, char out[static NUMBER]) {
  if (!learns(way, advice)) snprintf(out, NUMBER, "not seen");
  else snprintf(out, NUMBER, "%.0f %%", 100 * way->learnt);
  return out;
}

static const char *count_text(uint64_t count, const char *one, const char *many, char out[static NUMBER]) {
  if (count == 1) snprintf(out, NUMBER, "%s", one);
  else snprintf(out, NUMBER, "%llu %s", (unsigned long long)count, many);
  return out;
}

/* Prints a paragraph as wide as the terminal, or as a page. */
FARO_PRINTF(2, 3) static void say(size_t indent, const char *format, ...) {
  enum { PAGE = 100 };
  char text[1024];
  const size_t screen = cli_width(stdout);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  cli_wrap(stdout, text, strlen(text), screen > 0 && screen < PAGE ? screen : PAGE, indent, 0);
}

/* ---- the table and the sentences */

static void print_way(const faro_way *way, const faro_advice *advice) {
  char share[NUMBER];
  char bytes[FARO_NUMBER_SIZE];
  char range[2 * NUMBER];
  char schedule[SCHEDULE];
  snprintf(range, sizeof range, "%.0f (%.0f .. %.0f)", way->regret.mean, way->regret.low, way->regret.high);
  printf("  %-24s %8s %8llu %10s  %s, %s", range, share_text(way, advice, share),
         (unsigned long long)way->updates, faro_bytes(way->bytes, bytes), way->release, way->learner);
  if (way->shufflers > 1) printf(", %llu shufflers", (unsigned long long)way->shufflers);
  if (way->surrogate) printf(", as if linear");
  printf(", %s\n", schedule_text(way, schedule));
}

static void print_needed(const faro_way *way, const faro_advice *advice) {
  char learnt[64];
  if (way->learnt >= 0.5 && learns(way, advice)) return;
  if (!learns(way, advice)) snprintf(learnt, sizeof learnt, "It learns nothing that could be seen");
  else snprintf(learnt, sizeof learnt, "It learns only %.0f %%", 100 * way->learnt);
  if (way->needed > 0)
    say(2, "%s: you need about %llu users to learn half.", learnt, (unsigned long long)rounded(way->needed));
  else if (way->learnt >= 0.5) say(2, "%s: try --simulate.", learnt);
  else say(2, "%s: no number of users up to 10^9 was found that would learn half.", learnt);
}

/* One shuffler is simpler, and needs no trust in others. */
static void print_fewer(const request *r, const faro_advice *advice, const faro_way *several) {
  for (size_t i = 0; i < advice->count; i++) {
    const faro_way *one = &advice->way[i];
    if (r->trust == 0 && several->trust == FARO_TRUST_CONCURRENT && one->chosen &&
        one->trust == FARO_TRUST_SHUFFLE && one->regret.mean <= 1.05 * several->regret.mean)
      say(2, "One shuffler is as good: see above.");
  }
}

static void print_choice(const request *r, const faro_advice *advice, const faro_way *way) {
  char bytes[FARO_NUMBER_SIZE];
  char times[NUMBER];
  char shufflers[2 * NUMBER] = "";
  char schedule[SCHEDULE];
  if (way->shufflers > 1)
    snprintf(shufflers, sizeof shufflers, " and %llu shufflers", (unsigned long long)way->shufflers);
  say(2, "Use %s with the learner %s%s%s, %s%s.", way->release, way->learner,
      way->surrogate ? " (surrogate: true)" : "", shufflers, schedule_text(way, schedule),
      way->automatic ? " (batch: auto)" : "");
  say(2,
      "The policy is updated %s. Each user sends %s. The noise in a sum of rewards has a standard "
      "deviation of %.3g.",
      count_text(way->updates, "once", "times", times), faro_bytes(way->bytes, bytes), way->noise);
  print_fewer(r, advice, way);
  print_needed(way, advice);
}

static void print_group(const request *r, const faro_advice *advice, size_t group) {
  const faro_way *best = NULL;
  size_t shown = 0;
  size_t ways = 0;
  for (size_t i = 0; i < advice->count; i++) {
    const faro_way *way = &advice->way[i];
    if (group_of(r, way) != group) continue;
    if (!best)
      printf("\n%s\n  %-24s %8s %8s %10s  how\n", group_title(group), "regret", "learns", "updates", "sends");
    if (!best) best = way;
    if (r->all || ways < SHOWN) print_way(way, advice), shown++;
    ways++;
  }
  if (ways > shown) printf("  and %zu more (--all)\n", ways - shown);
  if (best) print_choice(r, advice, best);
}

static void add_problem(const request *r, faro_text *out) {
  const faro_problem *p = &r->problem;
  faro_text_add(out, "%llu users", (unsigned long long)p->users);
  if (p->contributions > 1)
    faro_text_add(out, " who take part %llu times each", (unsigned long long)p->contributions);
  faro_text_add(out, ", %zu features, %zu arms, %s contexts, %s rewards", p->dimension, p->arms,
                contexts(r->contexts), rewards(r->rewards));
}

static void print_problem(const request *r, const faro_advice *advice) {
  const faro_problem *p = &r->problem;
  char pair[FARO_PAIR_SIZE];
  faro_text out = FARO_TEXT_INIT;
  add_problem(r, &out);
  if (!out.failed) say(0, "%s", out.data);
  faro_text_clear(&out);
  char colluders[64] = "";
  if (p->honest < 1)
    snprintf(colluders, sizeof colluders, ", even if %.3g %% of a batch collude with the server",
             100 * (1 - p->honest));
  say(0, "guarantee: %s for %s%s", faro_pair_above(p->epsilon, p->delta, pair),
      p->contributions > 0 ? "everything that one user does" : "each round", colluders);
  say(0, "Random play incurs a regret of %.0f.", advice->uniform);
}

static void print_error(const request *r, const faro_advice *advice) {
  static const char ranges[] = "Ranges are 95 % intervals of the mean. Where no difference is seen, fewer "
                               "shufflers and then fewer bytes come first.";
  double least = advice->error;
  for (size_t i = 0; i < advice->count; i++)
    if (advice->way[i].error < least) least = advice->way[i].error;
  printf("\n");
  if (advice->error <= 1) say(0, "Everybody was simulated. %s", ranges);
  else if (least < advice->error)
    say(0,
        "These are predictions. On other problems the mean regret of a simulation was typically within %.0f "
        "%% "
        "of the prediction, and within %.0f %% where nobody is trusted (docs/plan.md). %s",
        100 * (least - 1), 100 * (advice->error - 1), ranges);
  else
    say(0,
        "These are predictions. On other problems like this the mean regret of a simulation was typically "
        "within %.0f %% of the prediction (docs/plan.md). %s",
        100 * (advice->error - 1), ranges);
  if (r->all && advice->refused > 0)
    say(0, "%zu combination%s cannot run here, for example: %s", advice->refused,
        advice->refused > 1 ? "s" : "", advice->refusal);
}

/* The command line that writes the experiment, without what only changes what is printed. */
static void print_command(const request *r, int argc, char **argv) {
  static const char *const dropped[] = {"--json", "--all", "--quiet", "--simulate"};
  if (r->write) {
    printf("\nTo simulate the first choices:\n  faro run %s\n", r->write);
    return;
  }
  printf("\nTo simulate the first choices:\n  faro plan");
  for (int i = 0; i < argc; i++) {
    bool drop = false;
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++) drop |= strcmp(argv[i], dropped[k]) == 0;
    if (!drop) printf(" %s", argv[i]);
  }
  printf(" --write plan.yaml\n  faro run plan.yaml\n");
}

/* ---- the experiment */

/* The first choices are experiments alike but for their algorithm, which stands last. */
static faro_status write_experiment(const request *r, const faro_advice *advice, faro_error *error) {
  static const char head[] = "algorithms:\n";
  faro_text out = FARO_TEXT_INIT;
  size_t last = 0;
  faro_text_add(&out, "title: \"Planned: ");
  add_problem(r, &out);
  faro_text_add(&out, "\"\n");
  for (size_t i = 0; i < advice->count; i++) {
    const size_t group = group_of(r, &advice->way[i]);
    const char *text = advice->way[i].experiment;
    const char *algorithms = strstr(text, head);
    if (group == last || !algorithms) continue;
    algorithms += sizeof head - 1;
    if (last == 0) faro_text_add(&out, "%.*s", (int)(algorithms - text), text);
    faro_text_add(&out, "%s", algorithms);
    last = group;
  }
  faro_text_add(&out, "  - {label: no privacy, learner: posterior, release: none}\n");
  faro_status status = out.failed ? faro_fail(error, FARO_MEMORY, "out of memory") : FARO_OK;
  if (status == FARO_OK) status = faro_write_file(r->write, out.data, out.length, 0666, error);
  faro_text_clear(&out);
  return status;
}

/* ---- JSON */

static json_t *way_json(const request *r, const faro_way *w) {
  json_t *made = json_pack(
      "{s:s, s:s, s:s, s:I, s:I, s:f, s:I, s:b, s:b, s:I, s:{s:f, s:f, s:f}, s:f, s:f, s:f, s:f, s:b}",
      "trust", trusts(group_of(r, w)), "release", w->release, "learner", w->learner, "shufflers",
      (json_int_t)w->shufflers, "batch", (json_int_t)w->batch, "growth", w->growth, "largest",
      (json_int_t)w->largest, "automatic", (int)w->automatic, "surrogate", (int)w->surrogate, "updates",
      (json_int_t)w->updates, "regret", "mean", w->regret.mean, "low", w->regret.low, "high", w->regret.high,
      "learnt", w->learnt, "bytes", w->bytes, "noise", w->noise, "error", w->error, "chosen", (int)w->chosen);
  char assumed[FARO_ASSUMES_SIZE];
  if (!made) return NULL;
  if (w->needed > 0) json_object_set_new(made, "users_needed", json_integer((json_int_t)w->needed));
  json_object_set_new(made, "claim",
                      json_pack("{s:f, s:f, s:b, s:s, s:s, s:s?}", "epsilon", w->claim.epsilon, "delta",
                                w->claim.delta, "proven", (int)w->claim.proven, "by", w->claim.by, "protects",
                                faro_protects_name(w->claim.protects), "assumes",
                                faro_assumes_text(w->claim.assumes, assumed)));
  json_object_set_new(made, "experiment", json_string(w->experiment));
  return made;
}

static int print_json(const request *r, const faro_advice *advice) {
  const faro_problem *p = &r->problem;
  json_t *ways = json_array();
  for (size_t i = 0; i < advice->count; i++) json_array_append_new(ways, way_json(r, &advice->way[i]));
  json_t *made = json_pack("{s:{s:I, s:I, s:I, s:f, s:f, s:f, s:s, s:s, s:I}, s:I, s:f, s:b, s:f, s:o}",
                           "problem", "users", (json_int_t)p->users, "dimension", (json_int_t)p->dimension,
                           "arms", (json_int_t)p->arms, "epsilon", p->epsilon, "delta", p->delta, "honest",
                           p->honest, "contexts", contexts(r->contexts), "rewards", rewards(r->rewards),
                           "contributions", (json_int_t)p->contributions, "rounds",
                           (json_int_t)advice->rounds, "uniform", advice->uniform, "simulated",
                           (int)r->options.simulate, "error", advice->error, "plans", ways);
  char *text = made ? json_dumps(made, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(made);
  return cli_print(stdout, text);
}

/* ---- the command */

static void show_progress(void *context, size_t done, size_t total) {
  cli_progress_show(context, done, total, (double)done / (double)total);
}

static faro_status advise(request *r, faro_advice **advice, faro_error *error) {
  cli_progress progress;
  cli_progress_begin(&progress, "simulations", r->quiet);
  r->options.progress = show_progress;
  r->options.context = &progress;
  const faro_status status = faro_advise(advice, &r->problem, &r->options, error);
  cli_progress_end(&progress);
  return status;
}

static void complete(request *r) {
  static const faro_contexts context[] = {FARO_CONTEXTS_FRESH, FARO_CONTEXTS_FIXED,
                                          FARO_CONTEXTS_ADVERSARIAL};
  static const faro_link link[] = {FARO_LINK_LINEAR, FARO_LINK_LOGISTIC, FARO_LINK_PROBIT};
  r->problem.users = (uint64_t)r->users;
  r->problem.contexts = context[r->contexts];
  r->problem.rewards = link[r->rewards];
  r->problem.trusts = r->trust > 0 ? 1U << trust_of[r->trust] : 0;
}

static int run(int argc, char **argv) {
  request r = {.problem = {.delta = 1e-6, .honest = 0.9}};
  faro_error error = {0};
  faro_advice *advice = NULL;
  int words = 0;
  int result = cli_read(&cli_plan, &r, argc, argv, &words);
  if (result != CLI_GO) return result;
  complete(&r);
  faro_status status = advise(&r, &advice, &error);
  if (status == FARO_OK && r.write) status = write_experiment(&r, advice, &error);
  if (status != FARO_OK) result = cli_fail(&error);
  else if (r.json) result = print_json(&r, advice);
  else {
    print_problem(&r, advice);
    for (size_t g = 1; g < sizeof trust_of / sizeof *trust_of; g++) print_group(&r, advice, g);
    print_error(&r, advice);
    print_command(&r, argc, argv);
    result = EXIT_DONE;
  }
  faro_advice_destroy(advice);
  return result;
}

const cli_command cli_plan = {
    .name = "plan",
    .usage =
        "plan --users N --dimension D --arms K --epsilon E [--delta D] [--contexts C] [--trust T] [OPTIONS]",
    .summary = "say which release, learner and schedule suit a problem, and what to expect",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .about =
        "Predicts the regret of every release with every learner, by a simulation in which a few people\n"
        "stand for many, and prints the best for each trust model.\n",
    .help =
        "regret    what all users together lose against the best choices; `learns` compares it with playing\n"
        "          at random\n"
        "noise     standard deviation of the noise in a released sum of rewards\n"
        "\n"
        "examples:\n"
        "  faro plan --users 20000 --dimension 10 --arms 50 --epsilon 2\n"
        "  faro plan --users 100000 --dimension 5 --arms 20 --epsilon 1 --contexts fixed --trust shuffler\n"
        "  faro plan --users 5000 --dimension 8 --arms 10 --epsilon 1 --contributions 4 --json\n",
};
