/* sum: faro sum. Reads a stream of values and prints their private sum at each release. The noise
 * is from a secure generator. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/sum/sum.h"

/* The trust models and the release for each. All of these draw their noise in integers. */
enum { TRUST_SHUFFLE, TRUST_CENTRAL, TRUST_LOCAL };
FARO_WORDS(trusts, "shuffle", "central", "local")
FARO_WORDS(trust_kinds, "concurrent-bits", "central-bits", "local-bits")

FARO_WORDS(calibration_words, "tight", "paper")
static const faro_calibration calibrations[] = {FARO_CALIBRATION_TIGHT, FARO_CALIBRATION_PAPER};

/* If the horizon is not known, it starts at FIRST_HORIZON and doubles. */
enum { FIRST_HORIZON = 1024, SHUFFLERS_DEFAULT = 3 };
static const uint64_t NOT_GIVEN = UINT64_MAX;

/* The intervals of values: none, one for all columns, or one for each. */
typedef struct ranges {
  size_t count;
  double low[SUM_COLUMNS_MAX], high[SUM_COLUMNS_MAX];
} ranges;

typedef struct request {
  sum_format format;
  faro_release_params params; /* horizon 0: unknown */
  size_t trust, calibration;  /* indices of their words */
  bool shufflers_given;
  ranges ranges;
  double confidence;
  bool skip_bad, json, quiet;
  char **file;
  int files;
} request;

/* ---- options */

/* The limits ensure that neither a sum nor 1 / (high - low) overflows. */
static bool add_range(const char *text, void *out) {
  ranges *all = out;
  const char *comma = strchr(text, ',');
  double low = 0;
  double high = 0;
  if (!comma || !faro_decimal(text, (size_t)(comma - text), &low) ||
      !faro_decimal(comma + 1, strlen(comma + 1), &high))
    return false;
  if (!(high - low >= 1e-100) || fabs(low) > 1e100 || fabs(high) > 1e100) return false;
  if (all->count == SUM_COLUMNS_MAX) return false;
  all->low[all->count] = low;
  all->high[all->count++] = high;
  return true;
}

/* Whether the text can be printed in a line of the output. */
static bool is_name(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 127) return false;
  return length > 0 && length < SUM_NAME_SIZE;
}

/* Adds a column, given by a name from the header or by its number. */
static bool add_column(sum_format *f, const char *text, size_t length) {
  sum_column column = {0};
  if (!is_name(text, length) || f->columns == SUM_COLUMNS_MAX) return false;
  memcpy(column.name, text, length);
  if (strspn(column.name, "0123456789") == length) {
    column.field = strtoull(column.name, NULL, 10) - 1; /* 0 wraps around and is refused below */
    *column.name = '\0';
  }
  if (column.field >= SUM_FIELDS_MAX) return false;
  f->header = f->header || *column.name;
  f->column[f->columns++] = column;
  return true;
}

static bool add_columns(const char *text, void *out) {
  sum_format *format = out;
  format->csv = true;
  for (;; text++) {
    const size_t length = strcspn(text, ",");
    if (!add_column(format, text, length)) return false;
    text += length;
    if (*text == '\0') return true;
  }
}

static bool read_separator(const char *text, void *out) {
  const bool tab = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0;
  if (!tab && (strlen(text) != 1 || strchr("\"\r\n", *text))) return false;
  *(char *)out = tab ? '\t' : *text;
  return true;
}

static const faro_field options[] = {
    {.help = "values"},
    {"range", FARO_FIELD_OTHER, FARO_AT(request, ranges), .read = add_range,
     .allowed = "LOW,HIGH with LOW < HIGH, both from -1e100 to 1e100, at most 1000 times",
     .value = "LOW,HIGH",
     .help = "clip values to this interval; with several columns, give it once for all or once for each"},
    {"binary", FARO_FIELD_FLAG, FARO_AT(request, format.binary), .help = "values are 0 or 1"},
    {"column", FARO_FIELD_OTHER, FARO_AT(request, format), .read = add_columns,
     .allowed =
         "names of at most 63 bytes or numbers from 1 to 10000, separated by commas, at most 1000 in all",
     .value = "C,...",
     .help = "read CSV and sum these columns, given by name or number; a line is still one user"},
    {"header", FARO_FIELD_FLAG, FARO_AT(request, format.header),
     .help = "the first line of a file is a header; implied if a column is given by name"},
    {"separator", FARO_FIELD_OTHER, FARO_AT(request, format.separator), .read = read_separator,
     .allowed = "one character, or tab", .value = "S",
     .help = "character between fields, or tab; a comma by default"},
    {"skip-bad", FARO_FIELD_FLAG, FARO_AT(request, skip_bad),
     .help = "skip malformed lines and count them; by default the first one stops the command"},
    {.help = "privacy"},
    {"epsilon", FARO_FIELD_REAL, FARO_AT(request, params.epsilon), .least = 1e-4, .most = 1000, .value = "E",
     .help = "1 by default"},
    {"delta", FARO_FIELD_REAL, FARO_AT(request, params.delta), .least = 1e-15, .most = 0.999, .value = "D",
     .help = "1e-6 by default"},
    {"trust", FARO_FIELD_CHOICE, FARO_AT(request, trust), .words = trusts, .value = "T",
     .help = "who may see raw values; shuffle by default"},
    {"shufflers", FARO_FIELD_COUNT, FARO_AT(request, params.shufflers), .least = 1, .most = 50, .zero = "log",
     .value = "K",
     .help = "number of shufflers that work at the same time, or log: a binary tree; more of them add less "
             "noise; 3 by default"},
    {"horizon", FARO_FIELD_COUNT, FARO_AT(request, params.horizon), .least = 1, .most = 0x1p40, .value = "N",
     .help =
         "the greatest number of values; this adds less noise than the default, where the horizon doubles "
         "from 1024"},
    {"batch", FARO_FIELD_COUNT, FARO_AT(request, params.batch), .least = 1, .most = 0x1p40, .value = "B",
     .help = "values between two releases; chosen by default"},
    {"calibration", FARO_FIELD_CHOICE, FARO_AT(request, calibration), .words = calibration_words,
     .value = "C", .help = "paper uses the constants of the published theorems; tight by default"},
    {.help = "output"},
    {"confidence", FARO_FIELD_REAL, FARO_AT(request, confidence), .least = 0.5, .most = 1 - 1e-9,
     .value = "P", .help = "probability that all errors in a line are within their bounds; 0.95 by default"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "one object per line, the claim first"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet),
     .help = "do not print the closing line on standard error"},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* Refuses options that exclude each other, and fills in what follows from the others. */
static int complete(request *r) {
  sum_format *f = &r->format;
  ranges *all = &r->ranges;
  if (!f->csv) f->columns = 1;
  if (f->binary && all->count > 0)
    return cli_usage(&cli_sum, "--range and --binary exclude each other: with --binary values are 0 or 1");
  if (!f->binary && all->count == 0)
    return cli_usage(&cli_sum, "--range LOW,HIGH or --binary is required: the noise depends on how much "
                               "one value can change a sum");
  if (f->binary) all->high[all->count++] = 1; /* and low is 0 */
  if (all->count != 1 && all->count != f->columns)
    return cli_usage(&cli_sum, "--range must be given once, or once for each of the %zu columns (got %zu)",
                     f->columns, all->count);
  for (size_t i = all->count; i < f->columns; i++) {
    all->low[i] = all->low[0];
    all->high[i] = all->high[0];
  }
  r->shufflers_given = r->params.shufflers != NOT_GIVEN;
  if (r->shufflers_given && r->trust != TRUST_SHUFFLE)
    return cli_usage(&cli_sum, "--shufflers requires --trust shuffle (got %s)", trusts(r->trust));
  if (!r->shufflers_given) r->params.shufflers = SHUFFLERS_DEFAULT;
  r->params.calibration = calibrations[r->calibration];
  return CLI_GO;
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

/* Messages of the library begin with a parameter; on the command line it is an option. */
static int refuse(const faro_error *error) {
  if (error->status != FARO_INVALID) return cli_fail(error);
  const size_t length = strcspn(error->message, " ");
  bool option = false;
  for (size_t i = 0; i < OPTIONS; i++)
    option = option || (options[i].name && strlen(options[i].name) == length &&
                        strncmp(options[i].name, error->message, length) == 0);
  return cli_usage(&cli_sum, "%s%s", option ? "--" : "", error->message);
}

/* Fails after the start. What was released before is printed before the message. */
static int fail(const faro_error *error) {
  fflush(stdout);
  return cli_fail(error);
}

/* Flushes the output before reading: the read may block, and readers of the output must not wait
 * for it. */
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

/* A release ends at its horizon. If the horizon is not known, another release with twice the
 * horizon continues from its sums. */
static int renew(stream *s) {
  if (s->request->params.horizon > 0 || !faro_doubling_spent(s->release)) return EXIT_DONE;
  faro_error error = {0};
  return faro_doubling_next(s->release, &error) == FARO_OK ? EXIT_DONE : fail(&error);
}

static int over(const stream *s) {
  faro_error error = {0};
  (void)faro_fail(
      &error, FARO_INVALID,
      "%s:%llu: more than the %llu values that --horizon allows; this value and all after it are ignored",
      s->reader.file, (unsigned long long)s->reader.line, (unsigned long long)s->request->params.horizon);
  return fail(&error);
}

/* Feeds the values of a line to the release, which clips them. Here clipped values are only
 * counted. */
static int absorb(stream *s) {
  const request *r = s->request;
  if (s->read == r->params.horizon && r->params.horizon > 0) return over(s);
  for (size_t i = 0; i < r->format.columns; i++) {
    const double value = s->value[i];
    const double low = r->ranges.low[i];
    const double high = r->ranges.high[i];
    s->clipped += value < low || value > high;
    s->value[i] = (value - low) / (high - low) - 0.5;
  }
  s->read++;
  if (!faro_doubling_absorb(s->release, s->value, 0)) return EXIT_DONE;
  sum_write_release(&s->writer, s->release);
  return renew(s);
}

/* Stops at a malformed line or an unreadable file. */
static int stop(const stream *s, sum_result result) {
  if (s->unwritable) return EXIT_SYSTEM; /* main prints the message */
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

/* For the person who runs the command: these counts are about raw values and have no noise. */
static void close_line(const stream *s) {
  fflush(stdout);
  const uint64_t seen = faro_doubling_statistics(s->release).users;
  fprintf(stderr, "faro sum: %llu values read, %llu numbers clipped, %llu lines skipped; ",
          (unsigned long long)s->read, (unsigned long long)s->clipped, (unsigned long long)s->skipped);
  if (seen > 0)
    fprintf(stderr, "the last sum covers %llu, %llu are in no sum\n", (unsigned long long)seen,
            (unsigned long long)(s->read - seen));
  else
    fprintf(stderr, "no sum was released: the first one needs %llu values (--batch sets this)\n",
            (unsigned long long)faro_release_batch(faro_doubling_release(s->release)));
}

/* Creates the release, with noise from the operating system, and opens the reader. */
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

/* The smallest horizon for k shufflers: the largest node of their tree must fit into it. */
static uint64_t least_horizon(const faro_release_params *p) {
  uint64_t least = p->batch > 2 ? p->batch : 2;
  for (uint64_t k = 1; k < p->shufflers && least < HORIZON_MAX; k++) least *= 2;
  return least;
}

/* Fills in what was not given: the horizon to start from, and fewer shufflers if the default number
 * does not fit. */
static faro_release_params full_params(const request *r) {
  faro_release_params p = r->params;
  p.anytime = p.horizon == 0;
  if (p.anytime)
    for (p.horizon = FIRST_HORIZON; p.horizon < least_horizon(&p) && p.horizon < HORIZON_MAX;) p.horizon *= 2;
  while (!r->shufflers_given && p.shufflers > 1 && least_horizon(&p) > p.horizon) p.shufflers--;
  return p;
}

static int execute(stream *s) {
  const request *r = s->request;
  const faro_release_kind *kind = faro_release_kind_find(trust_kinds(r->trust));
  const bool known = r->params.horizon > 0;
  const faro_release_params params = full_params(r);
  faro_error error = {0};
  if (open_stream(s, kind, &params, &error) != FARO_OK) return refuse(&error);
  const faro_release_kind *made = faro_release_kind_of(faro_doubling_release(s->release));
  s->writer = (sum_writer){stdout, r->json, &r->format, r->ranges.low, r->ranges.high, r->confidence};
  if (sum_write_head(&s->writer, faro_doubling_release(s->release), made, &params, known, &error) != FARO_OK)
    return cli_fail(&error);
  const int status = sum_files(s);
  if (!r->quiet && !s->unwritable) close_line(s);
  return status;
}

static int run(int argc, char **argv) {
  request r = {.format = {.separator = ','},
               .params = {.epsilon = 1, .delta = 1e-6, .shufflers = NOT_GIVEN},
               .confidence = 0.95};
  int status = cli_read(&cli_sum, &r, argc, argv, &r.files);
  if (status == CLI_GO) status = complete(&r);
  if (status != CLI_GO) return status;
  r.file = argv;
  stream s = {.request = &r};
  status = execute(&s);
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
    .options = options,
    .count = OPTIONS,
    .words = INT_MAX,
    .about =
        "Reads one value per line from the files, or from standard input (also -), and prints a line at\n"
        "each release: how many values the sum covers, the sum with noise, and a bound on its error.\n"
        "The first lines state the claim. A sum is printed as soon as enough values have been read, not\n"
        "at the end of the input.\n",
    .help =
        "The closing line and the messages about malformed lines are for the person who runs the command:\n"
        "they are about raw values and have no noise.\n"
        "\n"
        "Exit status: 0 all was read, 2 usage, 3 a malformed line or more values than the horizon,\n"
        "4 the system failed.\n"
        "\n"
        "examples:\n"
        "  tail -f ratings.txt | faro sum --range 0,5\n"
        "  faro sum --binary --horizon 1000000 --epsilon 0.5 clicks.txt\n"
        "  faro sum --column price,quantity --range 0,100 --range 0,10 --json orders.csv\n",
};
