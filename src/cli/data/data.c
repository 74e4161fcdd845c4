/* data: faro data [NAME]. Writes standard data sets as CSV files, from Debian packages, with their
 * licences beside them. The conversion is data.sh, a shell program that is part of the command. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

extern char **environ;

static const char program[] = {
#include "data.inc"
    0};

typedef struct data_set {
  const char *name, *summary, *source, *licence, *columns, *notes;
} data_set;

static const data_set sets[] = {
    {"shuttle", "Statlog Shuttle: 58 000 readings of 9 sensors, 7 states of a space shuttle's radiators",
     "NASA, by way of the StatLog project and UCI; Debian package r-cran-mlbench, data set Shuttle",
     "GPL-2, as the package has it",
     "time, sensor2 .. sensor9 (whole numbers); class (the label: one of 7 words)", NULL},
    {"mushroom", "Mushroom: 8124 mushrooms described by 22 words each, edible or poisonous",
     "The Audubon Society Field Guide, J. Schlimmer 1987, UCI; Debian source package xgboost, "
     "agaricus-lepiota.data",
     "Apache-2.0, as the package has it",
     "class (the label: edible or poisonous); cap_shape .. habitat (words)",
     "The mark ? of the file, for a root that is not known, is written as the word unknown."},
    {"digits", "digits: 1797 handwritten digits of 8 x 8 pixels",
     "E. Alpaydin and C. Kaynak 1998, UCI; Debian package python3-sklearn, digits.csv.gz",
     "BSD-3-Clause, as the package has it", "pixel0_0 .. pixel7_7 (0 .. 16); digit (the label: 0 .. 9)",
     NULL},
    {"movielens", "MovieLens: 99 997 ratings of films by 671 people, liked or not",
     "GroupLens, MovieLens latest-small; Debian package r-cran-dslabs, data set movielens",
     "Artistic-2.0, as the package has it; GroupLens asks that the data not be redistributed: do not pass "
     "the "
     "file on",
     "user (the person); year of the film; action .. western (genres, 0 or 1); liked (the label: yes or no)",
     "A rating of 4 or more counts as liked. 7 ratings of films without a year are left out. Rows are in the "
     "order of time."},
    {"star", "STAR: 5765 children, the class that they were drawn for, and what they scored",
     "Tennessee Student/Teacher Achievement Ratio study 1985-1989; Debian package r-cran-aer, data set STAR",
     "GPL-2 or later, as the package has it",
     "gender, ethnicity, lunch (free or not), school (words); birth (year); class (the action: small, "
     "regular or aide); score (the reward); propensity",
     "Kindergarten only. Children were drawn for classes within their school, so the propensity is the "
     "share of the class type among all children of the school. The score is reading plus mathematics; 0 "
     "and 1 are the sums of the least and of the greatest scores that occur, 603 and 1253. Of 11 598 "
     "children, 5273 were not in the study in kindergarten; of the other 6325, 560 whose scores, birth, "
     "lunch or school are not known are left out. "
     "Whether a score is missing may depend on the class, which evaluation cannot see."}};
enum { SETS = sizeof sets / sizeof *sets, MISSING = 3 };

static const char *set_name(size_t index) { return index < SETS ? sets[index].name : NULL; }

typedef struct request {
  const char *out;
  bool install;
} request;

static const faro_field options[] = {
    {"out", FARO_FIELD_WORD, FARO_AT(request, out), .value = "DIR",
     .help = "the folder to write to (default: data)"},
    {"install", FARO_FIELD_FLAG, FARO_AT(request, install), .help = "let apt-get fetch what is missing"}};

/* Runs the program with `sh`. Returns its exit status, or -1 with errno. */
static int convert(const data_set *set, const char *path, bool install) {
  const char *const argv[] = {"sh", "-c", program, "faro", set->name, path, install ? "install" : "", NULL};
  pid_t child = 0;
  int status = 0;
  errno = posix_spawnp(&child, "sh", NULL, NULL, (char *const *)argv, environ);
  if (errno != 0) return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SYSTEM;
}

/* Lines of a file, and its bytes. */
static void count(const char *path, unsigned long long *lines, unsigned long long *bytes) {
  FILE *file = fopen(path, "r");
  *lines = *bytes = 0;
  for (int c = 0; file && (c = getc(file)) != EOF; (*bytes)++) *lines += c == '\n';
  if (file) fclose(file);
}

static void describe(const data_set *set, const char *path, faro_text *text) {
  unsigned long long lines = 0;
  unsigned long long bytes = 0;
  count(path, &lines, &bytes);
  faro_text_add(text, "%s\n", set->summary);
  faro_text_add(text, "  source:   %s\n  licence:  %s\n  columns:  %s\n", set->source, set->licence,
                set->columns);
  faro_text_add(text, "  size:     %llu rows, %llu bytes\n", lines > 0 ? lines - 1 : 0, bytes);
  if (set->notes) faro_text_add(text, "  notes:    %s\n", set->notes);
}

static faro_status make_folder(const char *folder, faro_error *error) {
  if (mkdir(folder, 0777) == 0 || errno == EEXIST) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be created: %s", faro_path_end(folder), strerror(errno));
}

/* The CSV file appears whole, or not at all. */
static int write_set(const data_set *set, const request *r) {
  char path[CLI_PATH];
  char fresh[CLI_PATH + 8];
  faro_error error = {0};
  if (snprintf(path, sizeof path, "%s/%s.csv", r->out, set->name) >= CLI_PATH)
    return cli_usage(&cli_data, "--out must be shorter");
  snprintf(fresh, sizeof fresh, "%s.new", path);
  if (make_folder(r->out, &error) != FARO_OK) return cli_fail(&error);
  fprintf(stderr, "writing %s ...\n", path);
  const int status = convert(set, fresh, r->install);
  if (status != 0) {
    unlink(fresh);
    return status == MISSING ? EXIT_INPUT : status == EXIT_STOPPED ? EXIT_STOPPED : EXIT_SYSTEM;
  }
  if (rename(fresh, path) != 0) {
    (void)faro_fail(&error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(errno));
    return cli_fail(&error);
  }
  faro_text text = FARO_TEXT_INIT;
  describe(set, path, &text);
  snprintf(path, sizeof path, "%s/%s.txt", r->out, set->name);
  if (!text.failed && faro_write_file(path, text.data, text.length, 0666, &error) != FARO_OK) {
    faro_text_clear(&text);
    return cli_fail(&error);
  }
  if (text.failed) faro_text_clear(&text);
  return cli_print(stdout, text.data);
}

static int list_sets(void) {
  for (size_t i = 0; i < SETS; i++) {
    const int used = printf("  %s", sets[i].name);
    cli_wrap(stdout, sets[i].summary, strlen(sets[i].summary), cli_width(stdout), 14, (size_t)used);
  }
  printf("\nfaro data NAME writes one of them; faro run real-NAME plays it.\n");
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  request r = {.out = "data"};
  int words = 0;
  size_t index = 0;
  int status = cli_read(&cli_data, &r, argc, argv, &words);
  if (status == CLI_GO && words == 0) return list_sets();
  if (status == CLI_GO) status = cli_choose(&cli_data, "data set", argv[0], &index);
  return status == CLI_GO ? write_set(&sets[index], &r) : status;
}

const cli_command cli_data = {
    .name = "data",
    .usage = "data [NAME]",
    .summary = "write a standard data set as CSV, from a Debian package",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = set_name,
    .about = "Writes DIR/NAME.csv, and DIR/NAME.txt with its source, licence and columns. faro downloads "
             "nothing: data come\n"
             "from Debian packages. Where one is missing, the message says how to get it; --install lets "
             "apt-get do\n"
             "so. Without NAME the sets are listed.\n",
    .help = "examples:\n"
            "  faro data\n"
            "  faro data shuttle\n"
            "  faro run real-shuttle\n",
};
