/* sum: faro sum. Private running sums of a stream: values in, sums out at each release, noise from a secure stream. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/sum/sum.h"

enum {
  OPTION_EPSILON,
  OPTION_DELTA,
  OPTION_TRUST,
  OPTION_SHUFFLERS,
  OPTION_HORIZON,
  OPTION_BATCH,
  OPTION_CALIBRATION,
  OPTION_CONFIDENCE,
  OPTION_RANGE,
  OPTION_BINARY,
  OPTION_COLUMN,
  OPTION_HEADER,
  OPTION_SEPARATOR,
  OPTION_SKIP_BAD,
  OPTION_JSON,
  OPTION_QUIET,
  OPTION_COUNT
};
static const cli_option options[OPTION_COUNT] = {
    [OPTION_EPSILON] = {"epsilon", true},
    [OPTION_DELTA] = {"delta", true},
    [OPTION_TRUST] = {"trust", true},
    [OPTION_SHUFFLERS] = {"shufflers", true},
    [OPTION_HORIZON] = {"horizon", true},
    [OPTION_BATCH] = {"batch", true},
    [OPTION_CALIBRATION] = {"calibration", true},
    [OPTION_CONFIDENCE] = {"confidence", true},
    [OPTION_RANGE] = {"range", true},
    [OPTION_BINARY] = {"binary", false},
    [OPTION_COLUMN] = {"column", true},
    [OPTION_HEADER] = {"header", false},
    [OPTION_SEPARATOR] = {"separator", true},
    [OPTION_SKIP_BAD] = {"skip-bad", false},
    [OPTION_JSON] = {"json", false},
    [OPTION_QUIET] = {"quiet", false},
};

/* Who is trusted, and the release that stands for it. All of them draw their noise in integers. */
enum { TRUST_SHUFFLE, TRUST_CENTRAL, TRUST_LOCAL, TRUSTS };
static const char *const trust_word[TRUSTS] = {"shuffle", "central", "local"};
static const char *const trust_kind[TRUSTS] = {"concurrent-bits", "central-bits", "local-bits"};

static const faro_calibration calibrations[] = {FARO_CALIBRATION_TIGHT, FARO_CALIBRATION_PAPER};
static const char *const calibration_word[] = {"tight", "paper"};

/* A horizon that is not known begins here, and doubles. */
enum { FIRST_HORIZON = 1024, SHUFFLERS_DEFAULT = 3 };

typedef struct request {
  sum_format format;
  faro_release_params params; /* horizon 0: unknown */
  size_t trust;
  bool shufflers_given;
  size_t ranges; /* given: none, one for all columns, or one for each */
  double low[SUM_COLUMNS_MAX], high[SUM_COLUMNS_MAX];
  double confidence;
  bool skip_bad, json, quiet;
  char **file;
  int files;
} request;

/* ---- options */

static int take_range(request *r, const char *text) {
  const char *comma = strchr(text, ',');
  double low = 0;
  double high = 0;
  const bool numbers = comma && faro_decimal(text, (size_t)(comma - text), &low) &&
                       faro_decimal(comma + 1, strlen(comma + 1), &high);
  /* so wide that no sum overflows, so narrow that 1 / (high - low) does not */
  if (!numbers || !(high - low >= 1e-100) || fabs(low) > 1e100 || fabs(high) > 1e100)
    return cli_usage(&cli_sum, "--range must be LOW,HIGH with LOW < HIGH, up to 1e100 (got %s)", text);
  if (r->ranges == SUM_COLUMNS_MAX)
    return cli_usage(&cli_sum, "--range is given too often: there are %d columns at most", SUM_COLUMNS_MAX);
  r->low[r->ranges] = low;
  r->high[r->ranges++] = high;
  return EXIT_DONE;
}

/* Whether the text can stand in a line of the output. */
static bool is_name(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 127) return false;
  return length > 0 && length < SUM_NAME_SIZE;
}

/* A name that the header has, or the number of a column. */
static int take_column(request *r, const char *text, size_t length) {
  sum_format *f = &r->format;
  char shown[FARO_SHORT_SIZE];
  sum_column column = {0};
  if (!is_name(text, length))
    return cli_usage(&cli_sum, "--column must be names of at most %d bytes, or numbers (got \"%s\")",
                     SUM_NAME_SIZE - 1, faro_shorten(text, length, shown));
  memcpy(column.name, text, length);
  if (strspn(column.name, "0123456789") == length) {
    column.field = strtoull(column.name, NULL, 10) - 1; /* 0 wraps around, and is refused */
    *column.name = '\0';
  }
  if (column.field >= SUM_FIELDS_MAX)
    return cli_usage(&cli_sum, "--column must be 1 .. %d where it is a number (got %s)", SUM_FIELDS_MAX,
                     faro_shorten(text, length, shown));
  if (f->columns == SUM_COLUMNS_MAX)
    return cli_usage(&cli_sum, "--column must name at most %d columns", SUM_COLUMNS_MAX);
  f->header = f->header || *column.name;
  f->column[f->columns++] = column;
  return EXIT_DONE;
}

static int take_columns(request *r, const char *text) {
  r->format.csv = true;
  for (;;) {
    const size_t length = strcspn(text, ",");
    const int status = take_column(r, text, length);
    if (status != EXIT_DONE || text[length] == '\0') return status;
    text += length + 1;
  }
}

static int take_separator(request *r, const char *text) {
  const bool tab = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0;
  if (!tab && (strlen(text) != 1 || strchr("\"\r\n", *text)))
    return cli_usage(&cli_sum, "--separator must be one character, or tab (got %s)", text);
  r->format.separator = tab ? '\t' : *text;
  return EXIT_DONE;
}

static int take_shufflers(request *r, const char *text) {
  r->shufflers_given = true;
  return cli_take_shufflers(&cli_sum, text, &r->params.shufflers);
}

static int take_calibration(request *r, const char *text) {
  size_t found = 0;
  const int status = cli_take_choice(&cli_sum, "calibration", text, calibration_word, 2, &found);
  r->params.calibration = calibrations[found];
  return status;
}

static int take_option(request *r, int option, const char *value) {
  const cli_command *c = &cli_sum;
  switch (option) {
  case OPTION_EPSILON: return cli_take_real(c, "epsilon", value, 1e-4, 1000, &r->params.epsilon);
  case OPTION_DELTA: return cli_take_real(c, "delta", value, 1e-15, 0.999, &r->params.delta);
  case OPTION_TRUST: return cli_take_choice(c, "trust", value, trust_word, TRUSTS, &r->trust);
  case OPTION_SHUFFLERS: return take_shufflers(r, value);
  case OPTION_HORIZON: return cli_take_count(c, "horizon", value, 1, UINT64_C(1) << 40, &r->params.horizon);
  case OPTION_BATCH: return cli_take_count(c, "batch", value, 1, UINT64_C(1) << 40, &r->params.batch);
  case OPTION_CALIBRATION: return take_calibration(r, value);
  case OPTION_CONFIDENCE: return cli_take_real(c, "confidence", value, 0.5, 1 - 1e-9, &r->confidence);
  case OPTION_RANGE: return take_range(r, value);
  case OPTION_COLUMN: return take_columns(r, value);
  case OPTION_SEPARATOR: return take_separator(r, value);
  case OPTION_BINARY: r->format.binary = true; return EXIT_DONE;
  case OPTION_HEADER: r->format.header = true; return EXIT_DONE;
  case OPTION_SKIP_BAD: r->skip_bad = true; return EXIT_DONE;
  case OPTION_JSON: r->json = true; return EXIT_DONE;
  default: r->quiet = true; return EXIT_DONE;
  }
}

/* Options that do not go together, and what follows from those that do. */
static int settle(request *r) {
  sum_format *f = &r->format;
  if (!f->csv) f->columns = 1;
  if (f->binary && r->ranges > 0) return cli_usage(&cli_sum, "--range does not go with --binary: 0 or 1");
  if (!f->binary && r->ranges == 0)
    return cli_usage(&cli_sum,
                     "--range LOW,HIGH is needed: how far one value can move a sum decides the noise "
                     "(or --binary)");
  if (f->binary) r->high[r->ranges++] = 1; /* and low is 0 */
  if (r->ranges != 1 && r->ranges != f->columns)
    return cli_usage(&cli_sum, "--range must be given once, or once for each of the %zu columns (got %zu)",
                     f->columns, r->ranges);
  for (size_t i = r->ranges; i < f->columns; i++) {
    r->low[i] = r->low[0];
    r->high[i] = r->high[0];
  }
  if (r->shufflers_given && r->trust != TRUST_SHUFFLE)
    return cli_usage(&cli_sum, "--shufflers goes with --trust shuffle only (got %s)", trust_word[r->trust]);
  return EXIT_DONE;
}

/* EXIT_DONE and a complete request, or -1 when help was printed, or an exit status. */
static int parse(request *r, int argc, char **argv) {
  int place = 0;
  const char *value = NULL;
  r->file = argv; /* words are gathered at its start, which was read before */
  for (;;) {
    const int option = cli_next(&cli_sum, options, OPTION_COUNT, argc, argv, &place, &value);
    if (option == CLI_HELP) return -1;
    if (option == CLI_BAD) return EXIT_USAGE;
    if (option == CLI_END) return settle(r);
    if (option == CLI_WORD) argv[r->files++] = argv[place - 1];
    const int status = option == CLI_WORD ? EXIT_DONE : take_option(r, option, value);
    if (status != EXIT_DONE) return status;
  }
}

/* ---- the stream */

typedef struct stream {
  const request *request;
  faro_doubling *release;
  faro_secure_rng *secure;
  sum_reader reader;
  sum_writer writer;
  double value[SUM_COLUMNS_MAX];
  int input;       /* file descriptor */
  bool unwritable; /* the output failed */
  uint64_t read, clipped, skipped;
} stream;

/* The library names a parameter first; on the command line that is an option. */
static int refuse(const faro_error *error) {
  if (error->status != FARO_INVALID) return cli_fail(error);
  const size_t length = strcspn(error->message, " ");
  bool option = false;
  for (size_t i = 0; i < OPTION_COUNT; i++)
    option = option ||
             (strlen(options[i].name) == length && strncmp(options[i].name, error->message, length) == 0);
  return cli_usage(&cli_sum, "%s%s", option ? "--" : "", error->message);
}

/* A failure after the start: what was released before it comes out before its message. */
static int fail(const faro_error *error) {
  fflush(stdout);
  return cli_fail(error);
}

/* The next read may wait, and whoever reads the output should not wait with it: what was released goes out first. */
static ssize_t fill(void *context, char *to, size_t room) {
  stream *s = context;
  if (fflush(stdout) != 0) {
    s->unwritable = true;
    return -1;
  }
  ssize_t got = 0;
  do got = read(s->input, to, room);
  while (got < 0 && errno == EINTR);
  return got;
}

/* The release ends with its horizon. Where nobody knows how many values will come, another one, for twice as many, goes on
 * from its sums. */
static int renew(stream *s) {
  if (s->request->params.horizon > 0 || !faro_doubling_spent(s->release)) return EXIT_DONE;
  faro_error error = {0};
  return faro_doubling_next(s->release, &error) == FARO_OK ? EXIT_DONE : fail(&error);
}

static int over(const stream *s) {
  faro_error error = {0};
  (void)faro_fail(
      &error, FARO_INVALID,
      "%s:%llu: more than the %llu values that --horizon allows; this one and all after it are left out",
      s->reader.file, (unsigned long long)s->reader.line, (unsigned long long)s->request->params.horizon);
  return fail(&error);
}

/* One line's values into the release, which clips them; here they are only counted. */
static int absorb(stream *s) {
  const request *r = s->request;
  if (s->read == r->params.horizon && r->params.horizon > 0) return over(s);
  for (size_t i = 0; i < r->format.columns; i++) {
    const double value = s->value[i];
    s->clipped += value < r->low[i] || value > r->high[i];
    s->value[i] = (value - r->low[i]) / (r->high[i] - r->low[i]) - 0.5;
  }
  s->read++;
  if (!faro_doubling_absorb(s->release, s->value, 0)) return EXIT_DONE;
  sum_write_release(&s->writer, s->release);
  return renew(s);
}

/* Stops at a line, or a file, at fault. */
static int stop(const stream *s, sum_result result) {
  if (s->unwritable) return EXIT_SYSTEM; /* main says so */
  faro_error error = {0};
  (void)sum_explain(&s->reader, result, &error);
  return fail(&error);
}

static int sum_lines(stream *s) {
  for (;;) {
    const sum_result result = sum_next(&s->reader, s->value);
    int status = EXIT_DONE;
    if (result == SUM_GOOD) status = absorb(s);
    else if (result == SUM_END) return EXIT_DONE;
    else if (result == SUM_UNREADABLE || !s->request->skip_bad) status = stop(s, result);
    else s->skipped++;
    if (status != EXIT_DONE) return status;
  }
}

static int sum_file(stream *s, const char *path) {
  const bool standard = strcmp(path, "-") == 0;
  const char *name = standard ? "standard input" : path;
  faro_error error = {0};
  s->input = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (s->input < 0) {
    (void)faro_fail(&error, FARO_INVALID, "%s: cannot be read: %s", path, strerror(errno));
    return fail(&error);
  }
  int status = EXIT_DONE;
  if (sum_start(&s->reader, name, &error) == FARO_OK) status = sum_lines(s);
  else status = s->unwritable ? EXIT_SYSTEM : fail(&error);
  if (!standard) close(s->input);
  return status;
}

static int sum_files(stream *s) {
  if (s->request->files == 0) return sum_file(s, "-");
  int status = EXIT_DONE;
  for (int i = 0; i < s->request->files && status == EXIT_DONE; i++)
    status = sum_file(s, s->request->file[i]);
  return status;
}

/* For whoever runs the command: these counts are of the raw values, and have no noise. */
static void close_line(const stream *s) {
  fflush(stdout);
  const uint64_t seen = faro_doubling_statistics(s->release).users;
  fprintf(stderr,
          "faro sum: %llu values read, %llu numbers clipped, %llu lines skipped; the last sum covers %llu, "
          "%llu are in none\n",
          (unsigned long long)s->read, (unsigned long long)s->clipped, (unsigned long long)s->skipped,
          (unsigned long long)seen, (unsigned long long)(s->read - seen));
}

/* The release, ready for use, with noise from the operating system. */
static faro_status open_stream(stream *s, const faro_release_kind *kind, const faro_release_params *params,
                               faro_error *error) {
  const request *r = s->request;
  faro_contribution contribution;
  faro_status status = faro_contribution_values(&contribution, r->format.columns, r->format.binary, error);
  if (status == FARO_OK) status = faro_secure_open(&s->secure, error);
  if (status == FARO_OK)
    status = faro_doubling_create(&s->release, kind, &contribution, params,
                                  faro_source_all_parties(s->secure), error);
  if (status == FARO_OK) status = sum_open(&s->reader, &r->format, fill, s, SUM_LINE_MAX, SUM_BLOCK, error);
  return status;
}

static const uint64_t HORIZON_MAX = UINT64_C(1) << 40;

/* The largest node of the least tree with k shufflers must fit. */
static uint64_t least_horizon(const faro_release_params *p) {
  uint64_t least = p->batch > 2 ? p->batch : 2;
  for (uint64_t k = 1; k < p->shufflers && least < HORIZON_MAX; k++) least *= 2;
  return least;
}

/* What was not asked for: a first horizon to double from; and fewer shufflers, where the default does not fit. */
static faro_release_params complete(const request *r) {
  faro_release_params p = r->params;
  p.anytime = p.horizon == 0;
  if (p.anytime)
    for (p.horizon = FIRST_HORIZON; p.horizon < least_horizon(&p) && p.horizon < HORIZON_MAX;) p.horizon *= 2;
  while (!r->shufflers_given && p.shufflers > 1 && least_horizon(&p) > p.horizon) p.shufflers--;
  return p;
}

static int execute(stream *s) {
  const request *r = s->request;
  const faro_release_kind *kind = faro_release_kind_find(trust_kind[r->trust]);
  const bool known = r->params.horizon > 0;
  const faro_release_params params = complete(r);
  faro_error error = {0};
  if (open_stream(s, kind, &params, &error) != FARO_OK) return refuse(&error);
  s->writer = (sum_writer){stdout, r->json, &r->format, r->low, r->high, r->confidence};
  if (sum_write_head(&s->writer, faro_doubling_release(s->release), kind, &params, known, &error) != FARO_OK)
    return cli_fail(&error);
  const int status = sum_files(s);
  if (!r->quiet && !s->unwritable) close_line(s);
  return status;
}

static int run(int argc, char **argv) {
  request r = {.format = {.separator = ','},
               .params = {.epsilon = 1,
                          .delta = 1e-6,
                          .shufflers = SHUFFLERS_DEFAULT,
                          .calibration = FARO_CALIBRATION_TIGHT},
               .confidence = 0.95};
  const int parsed = parse(&r, argc, argv);
  if (parsed != EXIT_DONE) return parsed < 0 ? EXIT_DONE : parsed;
  stream s = {.request = &r};
  const int status = execute(&s);
  sum_close(&s.reader);
  faro_doubling_destroy(s.release);
  faro_secure_close(s.secure);
  return status;
}

const cli_command cli_sum = {
    .name = "sum",
    .usage =
        "sum (--range LOW,HIGH | --binary) [--epsilon E] [--delta D] [--trust T] [--horizon N] ... [FILE]...",
    .summary = "private running sums of a stream of values",
    .run = run,
    .help =
        "Reads a value a line from the files, or from standard input (also -), and prints a line at each "
        "release:\n"
        "how many values the sum covers, the sum with noise, and a bound on its error. First come lines that "
        "say\n"
        "what is claimed. A sum appears as soon as enough values for it are in, not at the end of the "
        "input.\n"
        "\n"
        "values:\n"
        "  --range LOW,HIGH   clip values to this interval; for several columns once, or once for each\n"
        "  --binary           values are 0 or 1\n"
        "  --column C,...     columns of CSV lines instead, by name or number; several make a vector\n"
        "  --header           the first line of a file is a header; so it is when a column is named\n"
        "  --separator S      between fields; a comma by default; tab is allowed\n"
        "  --skip-bad         leave out lines that are no values, and count them; else they end the sum\n"
        "\n"
        "privacy:\n"
        "  --epsilon E        1 by default\n"
        "  --delta D          1e-6 by default\n"
        "  --trust T          shuffle, central or local: who may see raw values; shuffle by default\n"
        "  --shufflers K      that work at once, or log; 3 by default. More make less noise\n"
        "  --horizon N        values that will come at most; less noise than without, where it doubles from "
        "1024\n"
        "  --batch B          values between two releases; chosen by default\n"
        "  --calibration C    tight, or paper for the constants of the published theorems\n"
        "\n"
        "output:\n"
        "  --confidence P     that the errors of a line are within their bounds; 0.95 by default\n"
        "  --json             an object a line, the claim first\n"
        "  --quiet            no closing line on standard error\n"
        "\n"
        "The closing line and messages about bad lines are for whoever runs the command: they tell of raw "
        "values,\n"
        "without noise.\n"
        "\n"
        "Exit status: 0 all was read, 2 usage, 3 a bad line or more values than the horizon, 4 the system "
        "failed.\n"
        "\n"
        "examples:\n"
        "  tail -f ratings.txt | faro sum --range 0,5\n"
        "  faro sum --binary --horizon 1000000 --epsilon 0.5 clicks.txt\n"
        "  faro sum --column price,quantity --range 0,100 --range 0,10 --json orders.csv\n",
};
