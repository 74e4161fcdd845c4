/* sum: faro sum. Reads a stream of values and prints their private sum at each release, or one
 * private total, mean or count at the end. The noise is from a secure generator. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/sum/sum.h"

/* In the order of SUM_TRUST_SHUFFLE, ... */
FARO_WORDS(trusts, "shuffle", "central", "local")

FARO_WORDS(calibration_words, "tight", "paper")
static const faro_calibration calibrations[] = {FARO_CALIBRATION_TIGHT, FARO_CALIBRATION_PAPER};

enum { SHUFFLERS_DEFAULT = 3 };
static const uint64_t NOT_GIVEN = UINT64_MAX;

/* The intervals of values: none, one for all columns, or one for each. */
typedef struct ranges {
  size_t count;
  double low[SUM_COLUMNS_MAX], high[SUM_COLUMNS_MAX];
} ranges;

typedef struct request {
  sum_format format;
  sum_wanted wanted;
  sum_plan plan;
  size_t calibration; /* index of its word */
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
    {.help = "one release at the end of the input"},
    {"total", FARO_FIELD_FLAG, FARO_AT(request, wanted.total),
     .help = "the sum of all values; all of the budget goes into it"},
    {"mean", FARO_FIELD_FLAG, FARO_AT(request, wanted.mean), .help = "the mean of all values"},
    {"count", FARO_FIELD_FLAG, FARO_AT(request, wanted.count),
     .help = "how many lines hold a value, with noise: whether a line does is then private too, and "
             "malformed lines count as lines without a value. Without --count the number of values is "
             "public"},
    {.help = "privacy"},
    {"epsilon", FARO_FIELD_REAL, FARO_AT(request, plan.params.epsilon), .least = 1e-4, .most = 1000,
     .value = "E", .help = "1 by default"},
    {"delta", FARO_FIELD_REAL, FARO_AT(request, plan.params.delta), .least = 1e-15, .most = 0.999,
     .value = "D", .help = "1e-6 by default"},
    {"trust", FARO_FIELD_CHOICE, FARO_AT(request, plan.trust), .words = trusts, .value = "T",
     .help = "who may see raw values; shuffle by default"},
    {"shufflers", FARO_FIELD_COUNT, FARO_AT(request, plan.params.shufflers), .least = 1, .most = 50,
     .zero = "log", .value = "K",
     .help = "number of shufflers that work at the same time, or log: a binary tree; more of them add less "
             "noise; 3 by default"},
    {"horizon", FARO_FIELD_COUNT, FARO_AT(request, plan.params.horizon), .least = 1, .most = 0x1p40,
     .value = "N",
     .help =
         "the greatest number of values; this adds less noise than the default, where the horizon doubles "
         "from 1024"},
    {"batch", FARO_FIELD_COUNT, FARO_AT(request, plan.params.batch), .least = 1, .most = 0x1p40, .value = "B",
     .help = "values between two releases; chosen by default. Values left over at the end of the input "
             "are one more release"},
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

/* One interval per column. A count alone needs none. */
static int complete_ranges(request *r) {
  sum_format *f = &r->format;
  ranges *all = &r->ranges;
  const bool needed = sum_entries(&r->wanted, f->columns) > r->wanted.count;
  if (f->binary && all->count > 0)
    return cli_usage(&cli_sum, "--range and --binary exclude each other: with --binary values are 0 or 1");
  if (!f->binary && all->count == 0 && needed)
    return cli_usage(&cli_sum, "--range LOW,HIGH or --binary is required: the noise depends on how much "
                               "one value can change a sum");
  if (all->count == 0) all->high[all->count++] = 1; /* and low is 0 */
  if (all->count != 1 && all->count != f->columns)
    return cli_usage(&cli_sum, "--range must be given once, or once for each of the %zu columns (got %zu)",
                     f->columns, all->count);
  for (size_t i = all->count; i < f->columns; i++) {
    all->low[i] = all->low[0];
    all->high[i] = all->high[0];
  }
  return CLI_GO;
}

/* Refuses options that exclude each other, and fills in what follows from the others. */
static int complete(request *r) {
  sum_plan *plan = &r->plan;
  if (!r->format.csv) r->format.columns = 1;
  plan->once = r->wanted.total || r->wanted.mean || r->wanted.count;
  if (plan->once && plan->params.batch > 0)
    return cli_usage(&cli_sum, "--batch is for running sums: --total, --mean and --count make one release");
  plan->shufflers_given = plan->params.shufflers != NOT_GIVEN;
  if (plan->shufflers_given && plan->trust != SUM_TRUST_SHUFFLE)
    return cli_usage(&cli_sum, "--shufflers requires --trust shuffle (got %s)", trusts(plan->trust));
  if (plan->shufflers_given && plan->once && plan->params.shufflers != 1)
    return cli_usage(&cli_sum, "--shufflers must be 1 for --total, --mean and --count: one release needs no "
                               "more");
  if (!plan->shufflers_given) plan->params.shufflers = SHUFFLERS_DEFAULT;
  plan->params.calibration = calibrations[r->calibration];
  r->skip_bad = r->skip_bad || r->wanted.count;
  return complete_ranges(r);
}

/* ---- the stream */

typedef struct stream {
  const request *request;
  sum_tally tally;
  faro_secure_rng *secure;
  sum_reader reader;
  sum_writer writer;
  double value[SUM_COLUMNS_MAX + 1];
  int input;       /* file descriptor */
  bool headed;     /* the head is written */
  bool unwritable; /* the output failed */
  uint64_t read, clipped, skipped;
} stream;

/* Messages of the library begin with a parameter; on the command line it is an option. */
static int refuse(const request *r, const faro_error *error) {
  if (error->status != FARO_INVALID) return cli_fail(error);
  const size_t length = strcspn(error->message, " ");
  bool option = false;
  for (size_t i = 0; i < OPTIONS; i++)
    option = option || (options[i].name && strlen(options[i].name) == length &&
                        strncmp(options[i].name, error->message, length) == 0);
  if (option) return cli_usage(&cli_sum, "--%s", error->message);
  const bool paper = r->plan.params.calibration == FARO_CALIBRATION_PAPER;
  fprintf(stderr, "faro sum: %s%s\n", paper ? "--calibration paper: " : "", error->message);
  return EXIT_USAGE;
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

static int over(const stream *s) {
  faro_error error = {0};
  (void)faro_fail(
      &error, FARO_INVALID,
      "%s:%llu: more than the %llu values that --horizon allows; this value and all after it are ignored",
      s->reader.file, (unsigned long long)s->reader.line,
      (unsigned long long)s->request->plan.params.horizon);
  return fail(&error);
}

static int write_head(stream *s) {
  faro_error error = {0};
  if (s->headed) return EXIT_DONE;
  s->headed = true;
  return sum_write_head(&s->writer, &s->tally, &error) == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

/* Values shifted and scaled to [-1/2, 1/2]; 0 in a line without a value, which takes part in the
 * count alone. Clipped values are only counted here: the release clips. */
static void prepare(stream *s, bool present) {
  const request *r = s->request;
  const size_t columns = sum_entries(&r->wanted, r->format.columns) - r->wanted.count;
  for (size_t i = 0; i < columns; i++) {
    const double value = s->value[i];
    const double low = r->ranges.low[i];
    const double high = r->ranges.high[i];
    s->clipped += present && (value < low || value > high);
    s->value[i] = present ? (value - low) / (high - low) - 0.5 : 0;
  }
  if (r->wanted.count) s->value[columns] = present ? 0.5 : -0.5;
}

/* Feeds a line to the tally. */
static int absorb(stream *s, bool present) {
  const uint64_t horizon = s->request->plan.params.horizon;
  faro_error error = {0};
  bool released = false;
  if (s->read == horizon && horizon > 0) return over(s);
  prepare(s, present);
  s->read++;
  if (sum_tally_add(&s->tally, s->value, &released, &error) != FARO_OK) return fail(&error);
  if (released) sum_write_line(&s->writer, &s->tally);
  return EXIT_DONE;
}

/* The end of the input. */
static int finish(stream *s) {
  faro_error error = {0};
  bool released = false;
  if (s->read == 0) {
    (void)faro_fail(&error, FARO_INVALID, "no values: %s",
                    s->skipped > 0 ? "every line was skipped" : "the input is empty");
    return fail(&error);
  }
  if (sum_tally_end(&s->tally, &released, &error) != FARO_OK) return fail(&error);
  if (!released) return EXIT_DONE;
  const int status = write_head(s);
  if (status == EXIT_DONE) sum_write_line(&s->writer, &s->tally);
  return status;
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
    if (result == SUM_END) return EXIT_DONE;
    if (result == SUM_UNREADABLE || (result != SUM_GOOD && !s->request->skip_bad)) return stop(s, result);
    s->skipped += result != SUM_GOOD;
    if (result == SUM_GOOD || s->request->wanted.count) status = absorb(s, result == SUM_GOOD);
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
  if (sum_start(&s->reader, name, &error) != FARO_OK) status = s->unwritable ? EXIT_SYSTEM : fail(&error);
  else if (!s->request->plan.once) status = write_head(s); /* the first file can be read */
  if (status == EXIT_DONE) status = sum_lines(s);
  if (!standard) close(s->input);
  return status;
}

/* A file that is missing is found before anything is read or printed. */
static int check_files(const request *r) {
  for (int i = 0; i < r->files; i++) {
    struct stat info = {0};
    faro_error error = {0};
    if (strcmp(r->file[i], "-") == 0) continue;
    int reason = access(r->file[i], R_OK) != 0 || stat(r->file[i], &info) != 0 ? errno : 0;
    if (reason == 0 && S_ISDIR(info.st_mode)) reason = EISDIR;
    if (reason == 0) continue;
    (void)faro_fail(&error, FARO_INVALID, "%s: cannot be read: %s", r->file[i], strerror(reason));
    return cli_fail(&error);
  }
  return EXIT_DONE;
}

static int sum_files(stream *s) {
  if (s->request->files == 0) return sum_file(s, "-");
  int status = EXIT_DONE;
  for (int i = 0; i < s->request->files && status == EXIT_DONE; i++)
    status = sum_file(s, s->request->file[i]);
  return status;
}

/* "1 line", "2 lines" */
static void say_count(uint64_t count, const char *what) {
  fprintf(stderr, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
}

/* For the person who runs the command: these counts are about raw values and have no noise. With
 * --count the number of values is what the noise hides, so only lines are counted. */
static void close_line(const stream *s) {
  fflush(stdout);
  const bool count = s->request->wanted.count;
  const uint64_t left = s->read - s->tally.users;
  fprintf(stderr, "faro sum: ");
  say_count(s->read, count ? "line" : "value");
  fprintf(stderr, " read");
  if (!count) {
    fprintf(stderr, ", ");
    say_count(s->clipped, "number");
    fprintf(stderr, " clipped, ");
    say_count(s->skipped, "line");
    fprintf(stderr, " skipped");
  }
  if (left > 0) fprintf(stderr, "; the last %llu are in no sum", (unsigned long long)left);
  fprintf(stderr, "\n");
}

/* Begins the tally, with noise from the operating system, and opens the reader. */
static faro_status open_stream(stream *s, faro_error *error) {
  const request *r = s->request;
  faro_contribution contribution;
  faro_status status = faro_contribution_values(&contribution, sum_entries(&r->wanted, r->format.columns),
                                                r->format.binary && !r->wanted.count, error);
  if (status == FARO_OK) status = faro_secure_open(&s->secure, error);
  if (status == FARO_OK)
    status = sum_tally_open(&s->tally, &r->plan, &contribution, faro_source_all_parties(s->secure), error);
  if (status == FARO_OK) status = sum_open(&s->reader, &r->format, fill, s, SUM_LINE_MAX, SUM_BLOCK, error);
  return status;
}

static int execute(stream *s) {
  const request *r = s->request;
  faro_error error = {0};
  if (open_stream(s, &error) != FARO_OK) return refuse(r, &error);
  s->writer =
      (sum_writer){stdout, r->json, &r->format, &r->wanted, r->ranges.low, r->ranges.high, r->confidence};
  int status = sum_files(s);
  if (status == EXIT_DONE) status = finish(s);
  if (!r->quiet && !s->unwritable) close_line(s);
  return status;
}

static int run(int argc, char **argv) {
  request r = {.format = {.separator = ','},
               .plan = {.params = {.epsilon = 1, .delta = 1e-6, .shufflers = NOT_GIVEN}},
               .confidence = 0.95};
  int status = cli_read(&cli_sum, &r, argc, argv, &r.files);
  if (status == CLI_GO) status = complete(&r);
  if (status != CLI_GO) return status;
  r.file = argv;
  stream s = {.request = &r};
  status = check_files(&r);
  if (status == EXIT_DONE) status = execute(&s);
  sum_close(&s.reader);
  sum_tally_close(&s.tally);
  faro_secure_close(s.secure);
  return status;
}

const cli_command cli_sum = {
    .name = "sum",
    .usage = "sum (--range LOW,HIGH | --binary) [--total] [--mean] [--count] [--epsilon E] [--delta D] "
             "[--trust T] ... [FILE]...",
    .summary = "private sums, totals, means and counts of values in a file or a stream",
    .run = run,
    .options = options,
    .count = OPTIONS,
    .words = INT_MAX,
    .about =
        "Reads one value per line from the files, or from standard input (also -), and prints a line at\n"
        "each release: how many values the sum covers, the sum with noise, and a bound on its error.\n"
        "The first lines state the claim. A sum is printed as soon as enough values have been read; what\n"
        "is left at the end of the input is one more release. --total, --mean and --count print one line\n"
        "at the end instead, with far less noise.\n",
    .help =
        "The closing line and the messages about malformed lines are for the person who runs the command:\n"
        "they are about raw values and have no noise.\n"
        "\n"
        "Exit status: 0 all was read, 2 usage, 3 no values, a malformed line or more values than the "
        "horizon,\n"
        "4 the system failed.\n"
        "\n"
        "examples:\n"
        "  faro sum --total --column price --range 0,100 orders.csv\n"
        "  faro sum --mean --count --trust central --column age --range 0,120 people.csv\n"
        "  tail -f ratings.txt | faro sum --range 0,5\n"
        "  faro sum --binary --horizon 1000000 --epsilon 0.5 clicks.txt\n"
        "  faro sum --column price,quantity --range 0,100 --range 0,10 --json orders.csv\n",
};
