/* targets: see the header. */
#define _GNU_SOURCE /* memfd_create */
#include "targets.h"

#include <faro/faro.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/evaluate/evaluate.h"
#include "cli/sum/sum.h"
#include "reproduce/reproduce.h"
#include "sim/journal.h"
#include "verify/verify.h"
#include "yaml/yaml.h"

int fuzz_experiment(const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  if (faro_experiment_parse(&experiment, "fuzz.yaml", (const char *)data, size, NULL, &error) == FARO_OK)
    faro_experiment_destroy(experiment);
  else if (error.message[0] == '\0') abort(); /* a refusal says why */
  return 0;
}

/* Read, and compared with one result. */
int fuzz_published(const uint8_t *data, size_t size) {
  faro_seen seen = {.label = "A", .calibration = "tight", .standing = "proven", .at = "epsilon=1", .mean = 1};
  const faro_sight sight = {.count = 1, .seen = &seen};
  faro_error error = {0};
  faro_published *published = NULL;
  faro_comparisons comparisons = {0};
  if (faro_published_parse(&published, "fuzz.yaml", (const char *)data, size, &error) != FARO_OK) {
    if (error.message[0] == '\0') abort(); /* a refusal says why */
    return 0;
  }
  if (faro_compare(&comparisons, published, &sight, "fuzz", &error) != FARO_OK && error.message[0] == '\0')
    abort();
  faro_comparisons_clear(&comparisons);
  free(published);
  return 0;
}

/* Read, and played on one row. */
int fuzz_linear(const uint8_t *data, size_t size) {
  static const char *const names[] = {"a", "b", "c"};
  size_t index[] = {0, 2};
  const features log = {.count = 2, .index = index, .name = names};
  const double number[] = {1, 2, 3};
  double score[3];
  faro_error error = {0};
  linear l;
  if (linear_parse(&l, "fuzz.json", (const char *)data, size, 3, &log, &error) == FARO_OK)
    linear_scores(&l, number, score);
  else if (error.message[0] == '\0') abort(); /* a refusal says why */
  linear_clear(&l);
  return 0;
}

int fuzz_override(const uint8_t *data, size_t size) {
  static const char base[] = "environment: {name: linear-fixed}\nhorizon: 100\n"
                             "algorithms: [{learner: linucb, release: local, batch: 2}]\n";
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  char *equals = strchr(text, '=');
  if (equals) {
    *equals = '\0';
    const faro_override override = {.key = text, .value = equals + 1};
    const faro_experiment_options options = {.overrides = &override, .override_count = 1};
    faro_error error = {0};
    faro_experiment *experiment = NULL;
    if (faro_experiment_parse(&experiment, "fuzz.yaml", base, sizeof base - 1, &options, &error) == FARO_OK)
      faro_experiment_destroy(experiment);
    else if (error.message[0] == '\0') abort();
  }
  free(text);
  return 0;
}

int fuzz_run(const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_report *report = NULL;
  if (faro_report_parse(&report, "run.json", (const char *)data, size, &error) != FARO_OK) return 0;
  free(faro_report_table(report, (faro_table_style){.width = 40}));
  free(faro_report_json(report));
  free(faro_report_summary_csv(report));
  free(faro_report_curves_csv(report));
  free(faro_report_instances_csv(report));
  free(faro_report_latex(report));
  faro_comparison *comparison = NULL;
  if (faro_comparison_create(&comparison, report, report, &error) == FARO_OK) {
    free(faro_comparison_table(comparison, "a", "b", (faro_table_style){.width = 1}));
    free(faro_comparison_json(comparison, "a", "b"));
  }
  faro_comparison_destroy(comparison);
  free(faro_report_html(report)); /* with the figure in it */
  faro_report_destroy(report);
  return 0;
}

int fuzz_grounds(const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_verification verification;
  if (faro_verify_run(&verification, FARO_VERIFY_RUN, "run.json", (const char *)data, size, &error) ==
      FARO_OK)
    faro_verification_clear(&verification);
  else if (error.message[0] == '\0') abort();
  return 0;
}

/* A command as a person runs it; what it prints goes nowhere. */
static int run_quietly(int (*run)(int, char **), int argc, char **argv) {
  static FILE *nowhere;
  if (!nowhere) nowhere = freopen("/dev/null", "w", stdout);
  fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  const int null = open("/dev/null", O_WRONLY);
  int status = EXIT_SYSTEM;
  if (saved >= 0 && null >= 0) {
    dup2(null, STDERR_FILENO);
    status = run(argc, argv);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
  }
  if (null >= 0) close(null);
  if (saved >= 0) close(saved);
  return status;
}

int fuzz_compose(const uint8_t *data, size_t size) {
  char path[] = "/tmp/faro-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return 0;
  const bool written = write(fd, data, size) == (ssize_t)size;
  close(fd);
  char *words[] = {"compose", path, "--delta", "1e-6", "--json"};
  const int status = written ? run_quietly(cli_account.run, 5, words) : EXIT_DONE;
  if (status != EXIT_DONE && status != EXIT_USAGE && status != EXIT_INPUT && status != EXIT_SYSTEM) abort();
  (void)remove(path);
  return 0;
}

static faro_record_verdict accept(void *context, uint32_t cell, uint32_t instance, const double *values,
                                  faro_error *error) {
  (void)context, (void)error;
  return cell < 8 && instance < 8 && values[0] == values[0] ? FARO_RECORD_TAKEN : FARO_RECORD_SENSELESS;
}

/* Opens the journal, as a run would, and adds a record. */
static void continue_journal(const char *path) {
  static const unsigned char digest[32] = "the digest of the fuzzed journal";
  const double values[3] = {1, 2, 3};
  faro_error error = {0};
  faro_journal *journal = NULL;
  if (faro_journal_read(path, digest, 3, accept, NULL, &error) != FARO_OK && error.message[0] == '\0')
    abort();
  error = (faro_error){0};
  if (faro_journal_open(&journal, path, digest, 3, false, accept, NULL, &error) != FARO_OK) return;
  if (faro_journal_add(journal, 1, 2, values, &error) != FARO_OK) abort();
  faro_journal_close(journal);
}

/* As a whole file, and as the records after a head of this program, which no corpus can have. */
int fuzz_journal(const uint8_t *data, size_t size) {
  for (int whole = 0; whole < 2; whole++) {
    char path[] = "/tmp/faro-fuzz-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return 0;
    if (!whole) continue_journal(path);
    const bool written = lseek(fd, 0, SEEK_END) >= 0 && write(fd, data, size) == (ssize_t)size;
    close(fd);
    if (written) continue_journal(path);
    (void)remove(path);
  }
  return 0;
}

static bool write_to(const char *folder, const char *name, const void *bytes, size_t size) {
  char path[100];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  const bool written = file && fwrite(bytes, 1, size, file) == size;
  return file && fclose(file) == 0 && written;
}

int fuzz_shards(const uint8_t *data, size_t size) {
  static const char yaml[] = "environment: {name: bits-random}\nhorizon: 10\ninstances: 1\n"
                             "algorithms: [{learner: sum, release: none}]\n";
  char folder[] = "/tmp/faro-fuzz-XXXXXX";
  char path[100];
  char text[100];
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  size_t shard = 0;
  size_t shards = 0;
  snprintf(text, sizeof text, "%.*s", (int)(size < 99 ? size : 99), (const char *)data);
  if (faro_shard_read(text, &shard, &shards, &error) == FARO_OK && (shard < 1 || shard > shards)) abort();
  if (!mkdtemp(folder)) return 0;
  error = (faro_error){0};
  if (write_to(folder, "experiment.yaml", yaml, sizeof yaml - 1) &&
      write_to(folder, "shards.json", data, size)) {
    if (faro_shard_recall(&experiment, folder, NULL, &error) == FARO_OK) faro_experiment_destroy(experiment);
    else if (error.message[0] == '\0') abort(); /* a refusal says why */
  }
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, i ? "shards.json" : "experiment.yaml");
    (void)remove(path);
  }
  (void)rmdir(folder);
  return 0;
}

/* Bytes in memory, handed out `chunk` at a time. */
typedef struct bytes {
  const uint8_t *data;
  size_t size, chunk;
} bytes;

static ssize_t take_bytes(void *source, char *to, size_t room) {
  bytes *b = source;
  size_t count = b->size < b->chunk ? b->size : b->chunk;
  if (count > room) count = room;
  if (count > 0) memcpy(to, b->data, count);
  b->data += count;
  b->size -= count;
  return (ssize_t)count;
}

/* Bit by bit of the first byte: CSV, binary, a header, columns by name, a tab. */
static sum_format format_of(uint8_t choice) {
  sum_format format = {.csv = choice & 1, .binary = choice & 2, .header = choice & 4, .columns = 1};
  format.separator = choice & 16 ? '\t' : ',';
  if (!format.csv) return format;
  format.columns = 2;
  format.column[0] = (sum_column){.field = 2};
  format.column[1] = (sum_column){.field = 0};
  if (format.header && choice & 8) format.column[1] = (sum_column){.name = "b"};
  return format;
}

enum { SHORT_LINE = 100 }; /* so that some are too long */

/* Everything that reading gives, as one number: results, values, line numbers, messages. */
static uint64_t digest_lines(const sum_format *format, bytes source) {
  static sum_reader reader;
  faro_error error = {0};
  uint64_t digest = 1;
  sum_result result = SUM_GOOD;
  if (sum_open(&reader, format, take_bytes, &source, SHORT_LINE, 64, &error) != FARO_OK) abort();
  if (sum_start(&reader, "fuzz", &error) != FARO_OK) result = SUM_END;
  while (result != SUM_END) {
    double value[2] = {0};
    result = sum_next(&reader, value);
    uint64_t bits[2] = {0};
    if (result == SUM_GOOD) memcpy(bits, value, sizeof bits);
    if (result == SUM_GOOD && (value[0] - value[0] != 0 || value[1] - value[1] != 0)) abort(); /* finite */
    if (result == SUM_GOOD && format->binary && value[0] != 0 && value[0] != 1) abort();
    if (result > SUM_UNREADABLE && sum_explain(&reader, result, &error) == FARO_OK) abort();
    digest = (((digest * 31 + result) * 31 + bits[0]) * 31 + bits[1]) * 31 + reader.line;
  }
  for (const char *c = error.message; *c; c++) digest = digest * 31 + (unsigned char)*c;
  sum_close(&reader);
  return digest;
}

/* The same lines, whether they come at once or in pieces. */
int fuzz_sum(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const sum_format format = format_of(data[0]);
  const bytes whole = {data + 2, size - 2, SIZE_MAX};
  bytes pieces = whole;
  pieces.chunk = 1 + data[1] % 40;
  if (digest_lines(&format, whole) != digest_lines(&format, pieces)) abort();
  return 0;
}

FARO_WORDS(words, "one", "two")

/* Every type of field, in a section and in a list. */
int fuzz_settings(const uint8_t *data, size_t size) {
  typedef struct settings {
    char text[8];
    uint64_t count;
    double real, whole;
    bool flag;
    size_t choice, parts;
    unsigned char key[4];
    uint32_t node;
    struct part {
      char url[8];
    } part[2];
  } settings;
  static const faro_field fields[] = {
      {"text", FARO_FIELD_TEXT, FARO_AT(settings, text), .required = true},
      {"count", FARO_FIELD_COUNT, FARO_AT(settings, count), .least = 1, .most = 9},
      {"in.real", FARO_FIELD_REAL, FARO_AT(settings, real), .above = true, .most = INFINITY},
      {"in.whole", FARO_FIELD_WHOLE, FARO_AT(settings, whole), .least = 1, .most = 9, .zero = "auto"},
      {"in.flag", FARO_FIELD_FLAG, FARO_AT(settings, flag)},
      {"choice", FARO_FIELD_CHOICE, FARO_AT(settings, choice), .words = words},
      {"key", FARO_FIELD_HEX, FARO_AT(settings, key)},
      {"node", FARO_FIELD_NODE, FARO_AT(settings, node)},
      {"parts", FARO_FIELD_LIST, FARO_AT(settings, parts), .most = 2},
      {"parts[].url", FARO_FIELD_TEXT, FARO_EACH(settings, part[0].url, part)},
  };
  settings out = {0};
  faro_error error = {0};
  const faro_status status = faro_yaml_read("settings.yaml", (const char *)data, size, fields,
                                            sizeof fields / sizeof *fields, &out, &error);
  if (status == FARO_OK && (out.count > 9 || out.choice > 1 || out.parts > 2 || !(out.real >= 0))) abort();
  if (status != FARO_OK && *error.message == '\0') abort();
  return 0;
}

typedef struct request {
  char text[8];
  const char *word;
  uint64_t count;
  double real, whole;
  bool flag;
  size_t choice;
} request;

/* Every type of option. */
static int read_options(int argc, char **argv) {
  static const faro_field options[] = {
      {.help = "a heading"},
      {"text", FARO_FIELD_TEXT, FARO_AT(request, text), .value = "T", .help = "a text"},
      {"word", FARO_FIELD_WORD, FARO_AT(request, word), .value = "W", .help = "a word", .once = true},
      {"count", FARO_FIELD_COUNT, FARO_AT(request, count), .least = 1, .most = 9, .zero = "log", .value = "N",
       .help = "a count"},
      {"real", FARO_FIELD_REAL, FARO_AT(request, real), .most = 1, .above = true, .below = true, .value = "X",
       .help = "a number"},
      {"whole", FARO_FIELD_WHOLE, FARO_AT(request, whole), .least = 1, .most = 9, .value = "M",
       .help = "a whole number"},
      {"flag", FARO_FIELD_FLAG, FARO_AT(request, flag), .help = "a flag"},
      {"choice", FARO_FIELD_CHOICE, FARO_AT(request, choice), .words = words, .value = "C",
       .help = "a word of two"},
  };
  static const cli_command command = {.name = "fuzz",
                                      .usage = "fuzz",
                                      .summary = "nothing",
                                      .options = options,
                                      .count = sizeof options / sizeof *options,
                                      .words = 2};
  request r = {0};
  int count = 0;
  const int status = cli_read(&command, &r, argc, argv, &count);
  if (status != CLI_GO) return status;
  if (count > 2 || r.count > 9 || r.choice > 1 || !(r.real >= 0 && r.real < 1) || strlen(r.text) > 7) abort();
  for (int i = 0; i < count; i++)
    if (argv[i][0] == '-' && argv[i][1] != '\0') abort(); /* an option is not a word */
  return status;
}

/* The words of a command line, one per line. */
int fuzz_options(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  char *argv[32];
  int argc = 0;
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  for (char *word = text; word && argc < 32; argc++) {
    argv[argc] = word;
    word = strchr(word, '\n');
    if (word) *word++ = '\0';
  }
  const int status = run_quietly(read_options, argc, argv);
  if (status != CLI_GO && status != EXIT_DONE && status != EXIT_USAGE && status != EXIT_SYSTEM) abort();
  free(text);
  return 0;
}

/* A file of rows: opened, which reads it once, and then read again. Both readings agree. */
static int read_rows(const uint8_t *data, size_t size, const faro_rows_params *params) {
  char path[64];
  const int file = memfd_create("rows", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  faro_rows_params there = *params;
  there.file = path;
  faro_error error = {0};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  if (faro_rows_open(&rows, &there, &error) != FARO_OK) {
    if (error.message[0] == '\0') abort(); /* a refusal says why */
  } else if (faro_row_reader_create(&reader, rows, &error) == FARO_OK) {
    const faro_rows_facts *facts = faro_rows_facts_of(rows);
    uint64_t count = 0;
    while (faro_row_next(reader, &row, &error) == FARO_OK && row) {
      for (size_t i = 0; i < facts->numbers; i++)
        if (!(row->number[i] >= facts->least[i] && row->number[i] <= facts->most[i])) abort();
      if (row->arm >= facts->arms || !(row->propensity > 0)) abort();
      count++;
    }
    if (count != facts->rows || error.status != FARO_OK) abort();
    for (size_t b = 0; b < facts->blocks; b++) count -= faro_row_seek(reader, b);
    if (count != 0) abort();
  }
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
  close(file);
  return 0;
}

/* The first byte says which columns have roles. */
int fuzz_csv(const uint8_t *data, size_t size) {
  static const faro_rows_params forms[] = {
      {.format = FARO_ROWS_CSV, .label = "y"},
      {.format = FARO_ROWS_CSV, .label = "y", .words = "w*", .person = "p"},
      {.format = FARO_ROWS_CSV, .rewards = "r*", .low = -1, .high = 1},
      {.format = FARO_ROWS_CSV, .action = "a", .reward = "r", .propensity = "q", .ignore = "w*"}};
  if (size == 0) return 0;
  return read_rows(data + 1, size - 1, &forms[data[0] % (sizeof forms / sizeof *forms)]);
}

int fuzz_libsvm(const uint8_t *data, size_t size) {
  const faro_rows_params form = {.format = FARO_ROWS_LIBSVM};
  return read_rows(data, size, &form);
}
