/* reproduce: faro reproduce [NAME...|--all] */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/reproduce/rerun.h"

enum { NAMES_MAX = 64 };

typedef struct request {
  const char *out;
  size_t jobs;
  bool all, list, quick, fresh, quiet, json;
} request;

static const faro_field options[] = {
    {"all", FARO_FIELD_FLAG, FARO_AT(request, all), .help = "every experiment that `--list` shows"},
    {"list", FARO_FIELD_FLAG, FARO_AT(request, list), .help = "list the experiments and what they reproduce"},
    {"out", FARO_FIELD_WORD, FARO_AT(request, out), .value = "DIR",
     .help = "directory of the page and of all results; results/reproduce by default"},
    {"jobs", FARO_FIELD_COUNT, FARO_AT(request, jobs), .least = 1, .most = 1024, .value = "N",
     .help = "threads; one per processor by default"},
    {"quick", FARO_FIELD_FLAG, FARO_AT(request, quick),
     .help = "for a first look: at most 2000 rounds and 4 instances, and nothing is compared; the results go "
             "to results/reproduce-quick"},
    {"fresh", FARO_FIELD_FLAG, FARO_AT(request, fresh), .help = "run again what has been run before"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print reproduce.json"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet), .help = "do not print progress on stderr"},
};

/* ---- which experiments */

/* Whether an argument names an experiment: its name, or what stands before its first "-", which
 * names all experiments that begin so. */
static bool is_named(const char *name, const char *word) {
  const size_t length = strlen(word);
  return strncmp(name, word, length) == 0 &&
         (name[length] == '\0' || (name[length] == '-' && strcspn(name, "-") == length));
}

static faro_status refuse_name(const rerun_list *list, const char *word, faro_error *error) {
  const char *names[RERUN_NAMES];
  char hint[FARO_HINT];
  char got[FARO_SHORT_SIZE];
  for (size_t i = 0; i < list->count; i++) names[i] = list->name[i];
  return faro_fail(error, FARO_INVALID,
                   "no published results for \"%s\"%s; `faro reproduce --list` lists the experiments",
                   faro_shorten(word, strlen(word), got), faro_hint(word, names, list->count, hint));
}

/* Adds the chapters that were asked for, with what was published about them. */
static faro_status open_book(const rerun_list *list, bool all, char **words, int count, faro_book *book,
                             faro_error *error) {
  bool wanted[RERUN_NAMES] = {false};
  for (int w = 0; w < count; w++) {
    bool found = false;
    for (size_t i = 0; i < list->count; i++)
      if (is_named(list->name[i], words[w])) wanted[i] = found = true;
    if (!found) return refuse_name(list, words[w], error);
  }
  book->chapter = calloc(list->count, sizeof *book->chapter);
  if (!book->chapter) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = FARO_OK;
  for (size_t i = 0; i < list->count && status == FARO_OK; i++) {
    char path[CLI_PATH + FARO_LINE + 8];
    if (!wanted[i] && !all) continue;
    faro_chapter *chapter = &book->chapter[book->count];
    snprintf(chapter->name, sizeof chapter->name, "%s", list->name[i]);
    snprintf(path, sizeof path, "%s/%s.yaml", list->folder, list->name[i]);
    status = faro_published_load(&chapter->published, path, error);
    book->count += status == FARO_OK;
  }
  if (status == FARO_OK) faro_book_sort(book);
  return status;
}

static void close_book(faro_book *book) {
  for (size_t i = 0; i < book->count; i++) {
    faro_chapter *chapter = &book->chapter[i];
    for (size_t k = 0; k < chapter->runs; k++) faro_report_destroy(chapter->run[k].report);
    faro_comparisons_clear(&chapter->comparisons);
    faro_sight_clear(&chapter->sight);
    free(chapter->published);
  }
  free(book->chapter);
}

/* ---- running them */

static size_t runs_of(const faro_chapter *chapter) {
  const size_t sides = chapter->published->sides.count;
  return sides > 0 ? sides : 1;
}

static int play_chapter(const rerun_options *rerun, const faro_book *book, faro_chapter *chapter,
                        size_t *done, size_t total) {
  const faro_sides *sides = &chapter->published->sides;
  faro_error error = {0};
  faro_status status = FARO_OK;
  for (size_t k = 0; k < runs_of(chapter) && status == FARO_OK; k++) {
    char progress[64];
    faro_rerun *run = &chapter->run[k];
    snprintf(progress, sizeof progress, "%zu of %zu", ++*done, total);
    const int result = rerun_play(rerun, chapter->name,
                                  sides->count > 0 ? faro_side_name(sides->side[k]) : NULL, progress, run);
    chapter->runs += run->report != NULL;
    if (result != EXIT_DONE) return result;
    status = faro_sight_add(&chapter->sight, run->report, &error);
  }
  if (status == FARO_OK && !book->quick)
    status = faro_compare(&chapter->comparisons, chapter->published, &chapter->sight, chapter->name, &error);
  return status == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

static faro_status write_text(const char *out, const char *name, char *text, faro_error *error) {
  char path[CLI_PATH + 32];
  if (!text) return faro_fail(error, FARO_MEMORY, "cannot hold %s", name);
  snprintf(path, sizeof path, "%s/%s", out, name);
  const faro_status status = faro_write_file(path, text, strlen(text), 0666, error);
  free(text);
  return status;
}

static faro_status write_pages(const char *out, const faro_book *book, faro_error *error) {
  faro_status status = write_text(out, "reproduce.html", faro_book_html(book), error);
  if (status == FARO_OK) status = write_text(out, "reproduce.md", faro_book_markdown(book), error);
  if (status == FARO_OK) status = write_text(out, "reproduce.json", faro_book_json(book), error);
  return status;
}

/* Prints the summary and every difference that is not explained. */
static int show(const request *r, const faro_book *book, const char *out) {
  char *unexplained = faro_book_unexplained(book);
  int status = cli_print(stdout, r->json ? faro_book_json(book) : faro_book_table(book));
  if (status == EXIT_DONE && !r->json) printf("page: %s/reproduce.html\n", out);
  if (!unexplained) status = EXIT_SYSTEM;
  else if (*unexplained) {
    fputs(unexplained, stderr);
    status = EXIT_CHECK;
  }
  free(unexplained);
  return status;
}

static int play(const request *r, faro_book *book) {
  const char *out = r->out ? r->out : r->quick ? "results/reproduce-quick" : "results/reproduce";
  const rerun_options rerun = {
      .out = out, .jobs = r->jobs, .quick = r->quick, .fresh = r->fresh, .quiet = r->quiet};
  faro_error error = {0};
  size_t done = 0;
  size_t total = 0;
  int result = EXIT_DONE;
  for (size_t i = 0; i < book->count; i++) total += runs_of(&book->chapter[i]);
  for (size_t i = 0; i < book->count && result == EXIT_DONE; i++)
    result = play_chapter(&rerun, book, &book->chapter[i], &done, total);
  if (result != EXIT_DONE) return result;
  return write_pages(out, book, &error) == FARO_OK ? show(r, book, out) : cli_fail(&error);
}

static int show_list(const faro_book *book) {
  for (size_t i = 0; i < book->count; i++) {
    const faro_published *p = book->chapter[i].published;
    if (i == 0 || strcmp(p->paper, book->chapter[i - 1].published->paper) != 0)
      printf("%s%s\n", i ? "\n" : "", p->paper);
    printf("  %-22s %s\n", book->chapter[i].name, p->shows);
  }
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  int status = cli_read(&cli_reproduce, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words == 0 && !r.all && !r.list)
    return cli_usage(&cli_reproduce, "NAME or --all is required; `faro reproduce --list` lists the names");
  if (words > 0 && r.all) return cli_usage(&cli_reproduce, "NAME and --all exclude each other");
  static rerun_list list;
  faro_error error = {0};
  faro_book book = {.quick = r.quick};
  if (rerun_find(&list, &error) != FARO_OK ||
      open_book(&list, r.all || words == 0, argv, words, &book, &error) != FARO_OK)
    status = cli_fail(&error);
  else status = r.list ? show_list(&book) : play(&r, &book);
  close_book(&book);
  return status;
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .usage = "reproduce [NAME... | --all | --list] [--jobs N] [--out DIR] [--quick]",
    .summary = "run the papers' experiments and compare them with what was published",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = NAMES_MAX,
    .list = "experiments",
    .about = "NAME is an experiment, or the part of names before the first \"-\": 000 is all of 000-....\n",
    .help =
        "DIR gets one page (reproduce.html, and the same as .md and .json) and the results of every run in\n"
        "DIR/EXPERIMENT/CALIBRATION. For each figure and table it shows our results under the calibrations\n"
        "tight, paper and figure, the published numbers where there are any, the difference, and its "
        "reason.\n"
        "A sentence or an exponent holds if its whole 95 % interval is within the bound, fails if all of\n"
        "it is beyond, and is not shown otherwise. A sentence is vacuous where both sides learnt less\n"
        "than 5 %; there is no slope where no power law fits our runs.\n"
        "A difference beyond the sampling error without a reason is listed, and the status is then 1.\n"
        "Finished runs of the same program are not repeated; an interrupted command continues.\n"
        "What was published, and the reasons, are in experiments/published.\n"
        "\n"
        "examples:\n"
        "  faro reproduce 000-fig1 004-table2\n"
        "  faro reproduce --all\n",
};
