/* evaluate: faro evaluate LOG.csv: what a policy would have earned, from a log of another one.
 *
 * The log is read twice after it was opened: once to learn the reward model and find the greatest
 * weight, once for the estimates. With --private it is read once, and the sums are released. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/evaluate/evaluate.h"

enum { WORD_BUCKETS = 32, CONTRIBUTIONS_DEFAULT = 1 };

FARO_WORDS(trusts, "central", "shuffle", "local")
static const faro_trust trust_of[] = {FARO_TRUST_JOINT, FARO_TRUST_SHUFFLE, FARO_TRUST_LOCAL};

static const char *intervals(size_t index) { return faro_bounds_name((faro_bounds)index); }

typedef struct range {
  double low, high;
} range;

typedef struct request {
  faro_rows_params log;
  range range;
  const char *policy, *model;
  double clip, confidence, ridge, residual, epsilon, delta;
  faro_bounds interval;
  size_t folds, trust;
  uint64_t seed, contributions;
  bool private, json, quiet;
} request;

static bool read_range(const char *text, void *out) {
  const char *comma = strchr(text, ',');
  range r;
  if (!comma || !faro_decimal(text, (size_t)(comma - text), &r.low) ||
      !faro_decimal(comma + 1, strlen(comma + 1), &r.high))
    return false;
  if (!(r.high - r.low >= 1e-100) || fabs(r.low) > 1e100 || fabs(r.high) > 1e100) return false;
  *(range *)out = r;
  return true;
}

static const faro_field options[] = {
    {.help = "the log"},
    {"action", FARO_FIELD_WORD, FARO_AT(request, log.action), .value = "COL", .required = true,
     .help = "column with the arm that was played"},
    {"reward", FARO_FIELD_WORD, FARO_AT(request, log.reward), .value = "COL", .required = true,
     .help = "column with its reward"},
    {"propensity", FARO_FIELD_WORD, FARO_AT(request, log.propensity), .value = "COL", .required = true,
     .help = "column with the probability with which it was played"},
    {"person", FARO_FIELD_WORD, FARO_AT(request, log.person), .value = "COL",
     .help = "column that says who a row is about, if people have several rows"},
    {"arms", FARO_FIELD_WORD, FARO_AT(request, log.classes), .value = "ARM,...",
     .help =
         "all arms, in their order; by default those of the log, sorted. Required with --private, and where "
         "a policy or a model has something per arm: C1,C2,... or a file"},
    {"range", FARO_FIELD_OTHER, FARO_AT(request, range), .read = read_range, .value = "LOW,HIGH",
     .allowed = "LOW,HIGH with LOW < HIGH, both from -1e100 to 1e100",
     .help = "rewards are in this interval; 0,1 by default"},
    {"features", FARO_FIELD_WORD, FARO_AT(request, log.features), .value = "COL,...",
     .help = "columns of numbers, known before the arm was played, for the reward model and for a policy "
             "file; none by default. \"x*\" is all that begin with x"},
    {"words", FARO_FIELD_WORD, FARO_AT(request, log.words), .value = "COL,...",
     .help = "columns of words, for the reward model that is learnt; none by default"},
    {.help = "the policy"},
    {"policy", FARO_FIELD_WORD, FARO_AT(request, policy), .value = "POLICY", .required = true,
     .help = "uniform; \"always ARM\"; a column with its probability of the arm that was played; a column "
             "per arm, C1,C2,..., in the order of --arms; or FILE.json, a linear policy, in the same order"},
    {.help = "estimates"},
    {"clip", FARO_FIELD_REAL, FARO_AT(request, clip), .above = true, .most = 1e9, .value = "W",
     .help = "cut weights to W: less spread, some bias; none are cut by default. Required with --private"},
    {"model", FARO_FIELD_WORD, FARO_AT(request, model), .value = "FILE",
     .help =
         "a reward model in a file, in place of one that is learnt from the log; its predictions are clipped "
         "to --range"},
    {"folds", FARO_FIELD_COUNT, FARO_AT(request, folds), .least = 2, .most = 100, .value = "K",
     .help = "folds of the reward model that is learnt; 5 by default"},
    {"ridge", FARO_FIELD_REAL, FARO_AT(request, ridge), .above = true, .most = 1e12, .value = "L",
     .help = "its penalty; 1 by default"},
    {"interval", FARO_FIELD_CHOICE, FARO_AT(request, interval), .words = intervals, .value = "I",
     .help =
         "skew, a normal interval that is corrected for skewness (the default); normal, one that is not; or "
         "bernstein, a bound that is proven for logs of any size (of dr and gain: with --model), is wide, "
         "and "
         "needs --clip"},
    {"confidence", FARO_FIELD_REAL, FARO_AT(request, confidence), .least = 0.5, .most = 1 - 1e-9,
     .value = "P", .help = "0.95 by default"},
    {"seed", FARO_FIELD_COUNT, FARO_AT(request, seed), .most = 0x1p53, .value = "S",
     .help = "of the rows that replay accepts; 1 by default"},
    {.help = "privacy"},
    {"private", FARO_FIELD_FLAG, FARO_AT(request, private),
     .help = "release the estimates under a claim; without this, the output is not private"},
    {"epsilon", FARO_FIELD_REAL, FARO_AT(request, epsilon), .least = 1e-4, .most = 1000, .value = "E",
     .help = "1 by default"},
    {"delta", FARO_FIELD_REAL, FARO_AT(request, delta), .least = 1e-15, .most = 0.999, .value = "D",
     .help = "1e-6 by default"},
    {"trust", FARO_FIELD_CHOICE, FARO_AT(request, trust), .words = trusts, .value = "T",
     .help = "who may see raw rows; central by default"},
    {"contributions", FARO_FIELD_COUNT, FARO_AT(request, contributions), .least = 1, .most = 1000000,
     .value = "M", .help = "with --person: the most rows of a person that are used; 1 by default"},
    {"residual", FARO_FIELD_REAL, FARO_AT(request, residual), .above = true, .most = 1e100, .value = "B",
     .help = "with --model: residuals are clipped to this, for less noise; by default they are not"},
    {.help = "output"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print all of it as JSON"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet), .help = "do not print progress on stderr"},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* ---- the log */

typedef struct job {
  const request *r;
  faro_rows *rows;
  const faro_rows_facts *facts;
  target target;
  features features;
  linear fixed; /* --model */
  faro_reward_model *model;
  double *x, *mean; /* current row: features for the model; its predictions */
  char *listed;     /* --features with the policy's columns */
  cli_progress progress;
  size_t pass, passes;
} job;

static void close_job(job *j) {
  faro_reward_model_destroy(j->model);
  linear_clear(&j->fixed);
  target_clear(&j->target);
  free(j->features.index);
  free(j->x);
  free(j->mean);
  free(j->listed);
  faro_rows_close(j->rows);
}

/* Whether a message is about a column that --policy names. */
static bool is_of_policy(const job *j, const char *message) {
  for (const char *at = j->target.columns; at;) {
    const char *comma = strchr(at, ',');
    char shown[FARO_SHORT_SIZE];
    char got[FARO_SHORT_SIZE + 16];
    snprintf(got, sizeof got, "(got \"%s\")",
             faro_shorten(at, comma ? (size_t)(comma - at) : strlen(at), shown));
    if (strstr(message, got)) return true;
    at = comma ? comma + 1 : NULL;
  }
  return false;
}

/* The reader of rows has names of its own for options; and to it, the columns of a policy are
 * features. */
static faro_status explain(const job *j, faro_status status, const faro_error *inner, faro_error *error) {
  static const char reward[] = "logged_reward";
  static const char feature[] = "features must name a column of the file";
  static const char policy[] =
      "--policy must be uniform, \"always ARM\", FILE.json, a column of the log, or a "
      "column per arm, C1,C2,...";
  const char *text = inner->message;
  const char *at = strstr(text, reward);
  if (at) return faro_fail(error, status, "%.*s--reward%s", (int)(at - text), text, at + sizeof reward - 1);
  at = strstr(text, feature);
  if (!at) return faro_fail(error, status, "%s", text);
  if (!is_of_policy(j, text)) return faro_fail(error, status, "%.*s--%s", (int)(at - text), text, at);
  return faro_fail(error, status, "%.*s%s%s", (int)(at - text), text, policy, at + sizeof feature - 1);
}

/* Only columns that are listed are features: another one may follow from the arm that was played,
 * and would spoil the model. Columns of the policy are numbers of a row too. */
static faro_status open_log(job *j, const char *file, faro_error *error) {
  faro_rows_params p = j->r->log;
  p.file = file;
  p.format = FARO_ROWS_CSV;
  p.low = j->r->range.low;
  p.high = j->r->range.high;
  p.spare = j->r->private;
  p.ignore = "*";
  if (j->target.columns) {
    faro_text list = FARO_TEXT_INIT;
    faro_text_add(&list, "%s%s%s", p.features ? p.features : "", p.features ? "," : "", j->target.columns);
    if (list.failed) return faro_fail(error, FARO_MEMORY, "out of memory");
    p.features = j->listed = list.data;
  }
  faro_error inner = {0};
  const faro_status status = faro_rows_open(&j->rows, &p, &inner);
  if (status != FARO_OK) return explain(j, status, &inner, error);
  j->facts = faro_rows_facts_of(j->rows);
  return FARO_OK;
}

static faro_status find_features(job *j, faro_error *error) {
  const faro_rows_facts *f = j->facts;
  j->features.name = f->name;
  j->features.index = calloc(f->numbers + 1, sizeof *j->features.index);
  j->x = calloc(f->numbers + WORD_BUCKETS, sizeof *j->x);
  j->mean = calloc(f->arms, sizeof *j->mean);
  if (!j->features.index || !j->x || !j->mean) return faro_fail(error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; i < f->numbers; i++)
    if (!target_uses(&j->target, i)) j->features.index[j->features.count++] = i;
  return FARO_OK;
}

/* Without --private a model is learnt, unless one is given. */
static faro_status make_model(job *j, faro_error *error) {
  const request *r = j->r;
  if (r->model) return linear_load(&j->fixed, r->model, j->facts->arms, &j->features, error);
  if (r->private) return FARO_OK;
  const size_t words = j->facts->words > 0 ? WORD_BUCKETS : 0;
  const faro_reward_model_params params = {.arms = j->facts->arms,
                                           .dimension = j->features.count + words,
                                           .folds = r->folds,
                                           .ridge = r->ridge,
                                           .low = j->facts->low,
                                           .high = j->facts->high};
  return faro_reward_model_create(&j->model, &params, error);
}

/* Columns, and the lists of a file, have no names of arms: the user says which is which, because
 * the order in which a log sorts its arms is seldom the order that was meant. */
static faro_status check_order(const job *j, faro_error *error) {
  const request *r = j->r;
  const bool policy = target_ordered(&j->target);
  char list[TARGET_ARMS];
  if (r->log.classes || (!policy && !r->model)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "--arms ARM,... is required: %s has %s per arm, and only the order says which is whose. "
                   "Name the arms in that order; those of the log are, sorted: %s",
                   policy ? "--policy" : "--model",
                   policy && j->target.columns ? "a column" : "a list of numbers",
                   target_arms(j->facts, list));
}

static faro_status open_job(job *j, const char *file, faro_error *error) {
  target_read(&j->target, j->r->policy);
  faro_status status = open_log(j, file, error);
  if (status == FARO_OK) status = check_order(j, error);
  if (status == FARO_OK) status = target_open(&j->target, j->facts, error);
  if (status == FARO_OK) status = find_features(j, error);
  if (status == FARO_OK) status = target_load(&j->target, &j->features, error);
  if (status == FARO_OK) status = make_model(j, error);
  return status;
}

/* The features of a row for the model. A word is plus or minus one in one of a few places (feature
 * hashing, Weinberger et al. 2009). */
static const double *features_of(const job *j, const faro_row *row) {
  const size_t count = j->features.count;
  for (size_t i = 0; i < count; i++) j->x[i] = row->number[j->features.index[i]];
  for (size_t i = 0; j->facts->words > 0 && i < WORD_BUCKETS; i++) j->x[count + i] = 0;
  for (size_t i = 0; i < j->facts->words; i++)
    j->x[count + row->word[i] % WORD_BUCKETS] += row->word[i] >> 63 ? 1 : -1;
  return j->x;
}

/* Rewards are in an interval, and so are their means. */
static double within(const job *j, double mean) { return fmin(fmax(mean, j->facts->low), j->facts->high); }

/* What the model says about a row. The value is clipped because probabilities that were rounded may
 * add up to a little more than 1. */
static void predict(const job *j, const faro_row *from, faro_logged *row) {
  const size_t arms = j->facts->arms;
  if (j->model) faro_reward_model_predict(j->model, from->person, features_of(j, from), j->mean);
  else if (j->fixed.theta) linear_scores(&j->fixed, from->number, j->mean);
  else return;
  for (size_t a = 0; j->fixed.theta && a < arms; a++) j->mean[a] = within(j, j->mean[a]);
  row->prediction = j->mean[from->arm];
  row->value = 0;
  for (size_t a = 0; row->targets && a < arms; a++) row->value += row->targets[a] * j->mean[a];
  row->value = within(j, row->value);
}

/* ---- passes */

/* What happens to a row; `made` has the row with its probabilities. */
typedef faro_status visit(job *j, void *context, const faro_row *from, faro_logged *made, faro_error *error);

/* Messages about a row begin with its place. */
static faro_status place(const char *file, uint64_t line, faro_status status, const faro_error *inner,
                         faro_error *error) {
  return faro_fail(error, status, "%s:%llu: %s", faro_path_end(file), (unsigned long long)line,
                   inner->message);
}

/* How many rows people have is not public if it is them whom a claim protects. The share of the
 * rows that a moment has done would tell, so nothing is shown then. */
static void show(job *j, uint64_t rows) {
  enum { EVERY = 1 << 14 };
  if (rows % EVERY > 0 || (j->r->private && j->r->log.person)) return;
  const double share = (double)rows / (double)j->facts->rows;
  cli_progress_show(&j->progress, j->pass, j->passes, ((double)j->pass + share) / (double)j->passes);
}

static faro_status walk(job *j, const char *file, visit *to, void *context, faro_error *error) {
  faro_row_reader *reader = NULL;
  const faro_row *from = NULL;
  uint64_t rows = 0;
  faro_status status = faro_row_reader_create(&reader, j->rows, error);
  while (status == FARO_OK && (status = faro_row_next(reader, &from, error)) == FARO_OK && from) {
    faro_error inner = {0};
    faro_logged row = {
        .arm = from->arm, .reward = *from->reward, .propensity = from->propensity, .person = from->person};
    faro_status made = target_find(&j->target, from, &row, &inner);
    if (made != FARO_OK && j->r->private) { /* counts as zeros: nothing depends on one row */
      made = FARO_OK;
      row.propensity = 0;
    }
    if (made == FARO_OK) made = to(j, context, from, &row, &inner);
    if (made != FARO_OK) status = place(file, from->line, made, &inner, error);
    show(j, ++rows);
  }
  j->pass++;
  faro_row_reader_destroy(reader);
  return status;
}

static faro_status learn_row(job *j, void *context, const faro_row *from, faro_logged *row,
                             faro_error *error) {
  (void)error;
  double *greatest = context;
  *greatest = fmax(*greatest, row->target / row->propensity);
  if (j->model) faro_reward_model_learn(j->model, from->person, from->arm, features_of(j, from), row->reward);
  return FARO_OK;
}

static faro_status add_row(job *j, void *context, const faro_row *from, faro_logged *row, faro_error *error) {
  predict(j, from, row);
  return faro_evaluator_add(context, row, error);
}

static faro_status add_private(job *j, void *context, const faro_row *from, faro_logged *row,
                               faro_error *error) {
  predict(j, from, row);
  return faro_private_evaluator_add(context, row, error);
}

/* ---- without privacy */

static evaluate_writer writer_of(const job *j, const char *file) {
  const request *r = j->r;
  return (evaluate_writer){
      stdout, file, r->policy, j->facts, r->confidence, r->interval, .learnt = j->model != NULL};
}

static faro_status evaluate(job *j, const char *file, faro_error *error) {
  const request *r = j->r;
  double greatest = 0;
  faro_evaluator *evaluator = NULL;
  faro_evaluation result;
  faro_status status = walk(j, file, learn_row, &greatest, error);
  if (j->model) faro_reward_model_fit(j->model);
  /* Predictions for all arms say nothing about a policy that is only known where it was logged. */
  const bool model = j->target.kind != TARGET_COLUMN;
  const faro_evaluator_params params = {.arms = j->facts->arms,
                                        .low = j->facts->low,
                                        .high = j->facts->high,
                                        .clip = r->clip,
                                        .accept = greatest,
                                        .model = model,
                                        .people = r->log.person != NULL,
                                        .confidence = r->confidence,
                                        .interval = r->interval,
                                        .seed = r->seed};
  if (status == FARO_OK) status = faro_evaluator_create(&evaluator, &params, error);
  if (status == FARO_OK) status = walk(j, file, add_row, evaluator, error);
  cli_progress_end(&j->progress);
  if (status == FARO_OK) {
    const evaluate_writer w = writer_of(j, file);
    faro_evaluator_result(evaluator, &result);
    if (r->json) status = evaluate_write_json(&w, &result, error);
    else evaluate_write(&w, &result);
  }
  faro_evaluator_destroy(evaluator);
  return status;
}

/* ---- with privacy */

static faro_status release(job *j, faro_private_evaluator *e, const faro_private_evaluator_params *params,
                           const char *file, faro_error *error) {
  faro_private_evaluation result;
  faro_status status = walk(j, file, add_private, e, error);
  if (status == FARO_OK) status = faro_private_evaluator_finish(e, &result, error);
  cli_progress_end(&j->progress);
  if (status != FARO_OK) return status;
  char *grounds = faro_private_evaluator_grounds(e);
  const evaluate_writer w = writer_of(j, file);
  const evaluate_private p = {&result, params, grounds};
  if (j->r->json) status = evaluate_write_private_json(&w, &p, error);
  else evaluate_write_private(&w, &p);
  free(grounds);
  return status;
}

static faro_status evaluate_privately(job *j, const char *file, faro_error *error) {
  const request *r = j->r;
  faro_secure_rng *secure = NULL;
  faro_private_evaluator *e = NULL;
  const faro_private_evaluator_params params = {.epsilon = r->epsilon,
                                                .delta = r->delta,
                                                .kind = faro_evaluate_kind(trust_of[r->trust]),
                                                .arms = j->facts->arms,
                                                .low = j->facts->low,
                                                .high = j->facts->high,
                                                .clip = r->clip,
                                                .residual = r->residual,
                                                .model = r->model != NULL,
                                                .people = r->log.person ? 0 : j->facts->rows,
                                                .contributions = r->log.person ? r->contributions : 0,
                                                .confidence = r->confidence};
  faro_status status = faro_secure_open(&secure, error);
  if (status == FARO_OK)
    status = faro_private_evaluator_create(&e, &params, faro_source_all_parties(secure), error);
  if (status == FARO_OK) status = release(j, e, &params, file, error);
  faro_private_evaluator_destroy(e);
  faro_secure_close(secure);
  return status;
}

/* ---- the command */

/* Which options need which. */
static int check_options(const request *r) {
  if (r->private && r->clip == 0)
    return cli_usage(&cli_evaluate, "--clip W is required with --private: the noise depends on the greatest "
                                    "weight, which must not be taken from the log");
  if (r->private && !r->log.classes)
    return cli_usage(&cli_evaluate, "--arms ARM,... is required with --private: which arms the log has is "
                                    "data too");
  if (r->private && r->interval != FARO_BOUNDS_SKEW)
    return cli_usage(&cli_evaluate, "--interval is not for --private, whose intervals include the noise");
  if (!r->private && (r->contributions > 0 || r->residual > 0))
    return cli_usage(&cli_evaluate, "--%s is for --private", r->residual > 0 ? "residual" : "contributions");
  if (r->contributions > 0 && !r->log.person)
    return cli_usage(&cli_evaluate, "--contributions needs --person: without it every row is a person");
  if (r->residual > 0 && !r->model)
    return cli_usage(&cli_evaluate, "--residual is for dr, which with --private needs --model FILE");
  if (!r->private && r->interval == FARO_BOUNDS_BERNSTEIN && (r->clip == 0 || r->log.person))
    return cli_usage(&cli_evaluate, "--interval bernstein needs --clip W, and no --person: it holds for "
                                    "bounded, independent terms");
  return CLI_GO;
}

static int run(int argc, char **argv) {
  request r = {.range = {0, 1}, .confidence = 0.95, .seed = 1, .epsilon = 1, .delta = 1e-6};
  int words = 0;
  int status = cli_read(&cli_evaluate, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words == 0) return cli_usage(&cli_evaluate, "LOG.csv is required");
  status = check_options(&r);
  if (status != CLI_GO) return status;
  if (r.log.person && r.contributions == 0) r.contributions = CONTRIBUTIONS_DEFAULT;
  job j = {.r = &r, .passes = r.private ? 1 : 2};
  cli_progress_begin(&j.progress, "passes", r.quiet);
  faro_error error = {0};
  faro_status done = open_job(&j, argv[0], &error);
  if (done == FARO_OK && r.model && j.target.kind == TARGET_COLUMN)
    done = faro_fail(&error, FARO_INVALID,
                     "--model needs the policy's probability of every arm: --policy with a column per arm, "
                     "or another form");
  if (done == FARO_OK)
    done = r.private ? evaluate_privately(&j, argv[0], &error) : evaluate(&j, argv[0], &error);
  close_job(&j);
  return done == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

const cli_command cli_evaluate = {
    .name = "evaluate",
    .usage = "evaluate LOG.csv --action COL --reward COL --propensity COL --policy POLICY ... [--private "
             "--arms ARM,... --clip W ...]",
    .summary = "what a policy would have earned, from a log of another one, also privately",
    .run = run,
    .options = options,
    .count = OPTIONS,
    .words = 1,
    .about =
        "Reads a log with the arm that was played in each row, its reward, and the probability with which "
        "it\n"
        "was played, and estimates the mean reward of another policy: by replay, inverse propensity (ips),\n"
        "self-normalised (snips) and doubly robust (dr), with intervals, beside what the log earned and "
        "what\n"
        "playing all arms equally often would earn. It warns if the log says too little.\n"
        "\n"
        "With --private the estimates are released under a claim, with noise from the operating system's\n"
        "generator; nothing else about the rows is printed. dr then needs a model that is public: --model.\n"
        "Rewards beyond --range are cut to it, and a row with any other value that is not allowed counts as\n"
        "zeros, so that nobody's data decides whether the command succeeds; without --private it is named.\n",
    .help =
        "A policy or model file is JSON: {\"theta\": [[0.1, 0.5], [0.2, 0]], \"features\": [\"age\"]}, a "
        "list\n"
        "per arm, in the order of --arms, with a number per feature and, if it is longer, a constant. A "
        "policy\n"
        "plays the arm with the greatest score; \"explore\": 0.1 plays any arm with that probability.\n"
        "\n"
        "Exit status: 0 done, 2 usage, 3 a log or a file that cannot be used, 4 the system failed.\n"
        "\n"
        "examples:\n"
        "  faro evaluate log.csv --action shown --reward clicked --propensity p --policy \"always banner3\"\n"
        "  faro evaluate log.csv --action shown --reward clicked --propensity p --policy new.json \\\n"
        "    --arms banner1,banner2,banner3 --features age\n"
        "  faro evaluate log.csv --action shown --reward clicked --propensity p --policy q \\\n"
        "    --private --arms a,b,c --clip 10 --epsilon 0.5\n",
};
