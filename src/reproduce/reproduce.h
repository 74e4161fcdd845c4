/* reproduce: the papers' results beside ours, and whether every difference is explained.
 *
 *   experiments/published/NAME.yaml --published.c--> what the paper says about experiment NAME
 *   reports of the runs of NAME ------collect.c----> what was seen: means and slopes
 *   both -----------------------------compare.c----> one comparison per item and calibration
 *   all of them ----------------------page.c-------> one page, as HTML, Markdown and JSON
 *
 * A paper may publish three kinds of items: numbers, exponents of upper bounds, and sentences such
 * as "A is close to B". A difference is explained if a reason of the file applies to it; a reason
 * states the range of ours/published that it explains, so that it does not explain everything.
 *
 * A number is equal unless it is seen to differ. An exponent and a sentence are bounds: they hold
 * only if the whole interval of our result is within them. */
#ifndef FARO_REPRODUCE_REPRODUCE_H
#define FARO_REPRODUCE_REPRODUCE_H

#include <faro/report.h>

#include "sim/interval.h"

enum { FARO_LINE = 200, FARO_PASSAGE = 1200, FARO_ITEMS = 96, FARO_REASONS = 24, FARO_SIDES = 3 };

typedef enum faro_item_kind { FARO_ITEM_NUMBER, FARO_ITEM_EXPONENT, FARO_ITEM_SENTENCE } faro_item_kind;

/* A published item. `at` is a point of the sweep, "epsilon=1, norm=2"; sweeps that it does not name
 * may have any value. */
typedef struct faro_item {
  char label[FARO_LINE]; /* sentence: the algorithm with less regret */
  char at[FARO_LINE];
  char than[FARO_LINE]; /* sentence: the algorithm with more */
  char says[FARO_LINE]; /* sentence: the paper's words; exponent: its theorem */
  double value;         /* mean or exponent; sentence: `label` has at most this times the regret of `than` */
  double sd;            /* number: over instances; 0: not published, and ours is taken */
  double reading;       /* number: how far off the reading may be */
} faro_item;

/* Calibrations by name, and "any" (0). NULL past the last one. */
const char *faro_side_name(size_t side);

/* Explains differences with ours/published in [from, to]; both 0: that there is no slope. */
typedef struct faro_reason {
  size_t side;                          /* the calibration (faro_side_name) */
  char label[FARO_LINE], at[FARO_LINE]; /* empty: any */
  double from, to;
  char text[FARO_PASSAGE];
} faro_reason;

/* The calibrations to run. None: one run, as the experiment is written. */
typedef struct faro_sides {
  size_t count;
  size_t side[FARO_SIDES];
} faro_sides;

typedef struct faro_published {
  char paper[FARO_LINE];      /* a key of docs/references.md, or "faro" for problems of our own */
  char shows[FARO_LINE];      /* "Figure 1" */
  char numbers[FARO_PASSAGE]; /* where the numbers come from, or why there are none */
  size_t instances;           /* over which the published means were taken */
  faro_sides sides;
  size_t count[3]; /* items of each kind */
  faro_item number[FARO_ITEMS], exponent[FARO_ITEMS], sentence[FARO_ITEMS];
  size_t reasons;
  faro_reason reason[FARO_REASONS];
} faro_published;

/* The caller frees it. */
faro_status faro_published_load(faro_published **published, const char *path,
                                faro_error *error) FARO_WARN_UNUSED;
faro_status faro_published_parse(faro_published **published, const char *path, const char *text,
                                 size_t length, faro_error *error) FARO_WARN_UNUSED;
const faro_item *faro_published_items(const faro_published *published, faro_item_kind kind);

/* One number of a run. */
typedef struct faro_seen {
  bool is_slope;
  const char *label, *calibration, *standing;
  char at[FARO_LINE]; /* the sweep point: "epsilon=1, norm=2"; "" without a sweep */
  double mean, error, sd;
  faro_interval range; /* of a slope, at 95 % */
  const double *each;  /* every instance; NULL: of a slope, or not kept */
  size_t instances;    /* in `each` */
  bool learnt_nothing; /* below 5 % of what uniform play leaves to learn */
  double shifted;      /* share of updates in which V had to be shifted; NaN: there is no V */
} faro_seen;

typedef struct faro_sight {
  size_t count;
  faro_seen *seen;
} faro_sight;

/* Adds everything that a report has. The texts stay with the report. */
faro_status faro_sight_add(faro_sight *sight, const faro_report *report, faro_error *error) FARO_WARN_UNUSED;
void faro_sight_clear(faro_sight *sight);
/* The calibrations that occur, in the order tight, paper, figure. Returns their number. */
size_t faro_sight_sides(const faro_sight *sight, const char *side[static FARO_SIDES]);
/* Whether the point has every part of `at`: "epsilon=1, norm=2" has "norm=2.0". */
bool faro_point_has(const char *point, const char *at);

/* A verdict, of one comparison and of several. */
#define FARO_VERDICT_LIST(X)                                                                                 \
  X(EQUAL, "equal", "equal")                        /* a number, within sampling and reading error */        \
  X(BETTER, "better, proven", "better and proven")  /* less regret than published, and explained */          \
  X(EXPLAINED, "explained", "explained")            /* a number that differs, for a reason that is given */  \
  X(VACUOUS, "vacuous", "vacuous")                  /* a sentence, and neither of the two learnt anything */ \
  X(HOLDS, "holds", "hold")                         /* a bound, and our whole interval is within it */       \
  X(NOT_SHOWN, "not shown", "not shown")            /* a bound within our interval */                        \
  X(FAILS, "fails (explained)", "fail (explained)") /* our whole interval is beyond the bound */             \
  X(NO_SLOPE, "no slope", "no slope")               /* no power law fits our runs */                         \
  X(ABSENT, "not run", "not run")                   /* no such calibration */                                \
  X(UNEXPLAINED, "UNEXPLAINED", "UNEXPLAINED")      /* differs or is missing, and no reason applies */

typedef enum faro_verdict {
#define X(name, ...) FARO_VERDICT_##name,
  FARO_VERDICT_LIST(X)
#undef X
      FARO_VERDICTS
} faro_verdict;

const char *faro_verdict_name(faro_verdict verdict);
const char *faro_verdict_plural(faro_verdict verdict);

typedef struct faro_comparison {
  faro_item_kind kind;
  const faro_item *item;
  const char *calibration;
  const faro_seen *seen, *than; /* NULL if absent; `than` for sentences only */
  double ratio;                 /* ours / published; sentence: of the two regrets, over `value` */
  faro_interval range;    /* exponent, sentence: 95 % interval of the slope, of the two regrets' ratio */
  size_t points, vacuous; /* sentence: points at which it was judged, and at which it is vacuous */
  faro_verdict verdict;
  const faro_reason *reason; /* NULL if none is needed, or none applies */
} faro_comparison;

typedef struct faro_comparisons {
  size_t count;
  faro_comparison *one;
} faro_comparisons;

/* How many standard errors a number may be off before it needs a reason. */
enum { FARO_STANDARD_ERRORS = 3 };

/* Compares every item under every calibration in `sight`. FARO_INVALID if an item fits several
 * results that differ. An item without any result is UNEXPLAINED. */
faro_status faro_compare(faro_comparisons *out, const faro_published *published, const faro_sight *sight,
                         const char *name, faro_error *error) FARO_WARN_UNUSED;
void faro_comparisons_clear(faro_comparisons *comparisons);

/* One run of an experiment: under one calibration, or as it is written. */
typedef struct faro_rerun {
  const char *calibration; /* NULL: as written */
  char folder[FARO_LINE];  /* below the page's */
  faro_report *report;
  double seconds; /* processor time */
} faro_rerun;

typedef struct faro_chapter {
  char name[FARO_LINE];
  faro_published *published;
  size_t runs;
  faro_rerun run[FARO_SIDES];
  faro_sight sight;
  faro_comparisons comparisons; /* none after a quick run */
} faro_chapter;

typedef struct faro_book {
  bool quick; /* short runs: nothing is compared */
  size_t count;
  faro_chapter *chapter;
} faro_book;

/* Brings chapters of one paper together; papers are in the order of their first experiments. */
void faro_book_sort(faro_book *book);
/* Number of comparisons with a verdict: in a chapter, and under a calibration (NULL: any). */
size_t faro_chapter_count(const faro_chapter *chapter, const char *calibration, faro_verdict verdict);
size_t faro_book_count(const faro_book *book, faro_verdict verdict);
double faro_chapter_seconds(const faro_chapter *chapter);

/* Each returns a text that the caller frees, or NULL if memory runs out. */
char *faro_book_table(const faro_book *book);       /* the summary, for a terminal */
char *faro_book_unexplained(const faro_book *book); /* a line for each; "" if there are none */
char *faro_book_markdown(const faro_book *book);
char *faro_book_html(const faro_book *book);
char *faro_book_json(const faro_book *book);

#endif
