/* view: the run document read into plain structs, checked once; all renderers work on these. */
#ifndef FARO_REPORT_VIEW_H
#define FARO_REPORT_VIEW_H

#include <faro/report.h>
#include <jansson.h>

#include "base/arena.h"
#include "base/text.h"

typedef struct faro_measure_text {
  const char *name, *course, *end; /* see FARO_MEASURE_LIST */
} faro_measure_text;

typedef struct faro_view_point {
  double round, mean, sd, lower, median, upper;
  double low, high; /* 95 % interval of the mean; NaN: fewer than three instances */
} faro_view_point;

typedef struct faro_view_row {
  const char *label, *learner, *release, *calibration, *trust, *level, *by;
  const json_t *settings;
  const char *standing;            /* "proven", "not proven", "no privacy" */
  const char *at[FARO_SWEEPS_MAX]; /* value of each sweep, as text */
  double place[FARO_SWEEPS_MAX];   /* the same as a number, if it is one */
  double epsilon, delta, rounds;
  double batch;                             /* users of the first batch; 0: it changes during the run */
  double growth;                            /* above 1: later batches are larger */
  double contributions;                     /* rounds of a user that a user-level claim covers; else 1 */
  const char *actions;                      /* "hidden", "others", "all"; NULL: nothing said */
  bool rewards_only;                        /* what was shown and played is not protected */
  const char *assumes;                      /* of the data, after "assumes that"; NULL: nothing */
  double local_epsilon, local_delta;        /* what a user's own messages give; NaN: nothing */
  const char *region;                       /* of the learner: "proven", "calibrated"; NULL: nothing said */
  faro_spread regret;                       /* or the error, see faro_measure */
  double low, high;                         /* 95 % interval of its mean; NaN: fewer than three instances */
  double per_user;                          /* mean regret divided by the rounds; NaN: an error */
  double uniform, fixed;                    /* mean regret of simple play (faro_yardstick); NaN: absent */
  double base;                              /* at which nothing is learnt, see faro_view_base */
  double learnt;                            /* 1 - regret / base; NaN: absent */
  const double *each;                       /* the measure of every instance; NULL: not kept */
  double sends;                             /* bytes that a user sends; NaN: absent */
  double messages;                          /* of a user, to a shuffler */
#define OUTCOME(member, ...) double member; /* NaN if the document does not have it */
#include <faro/outcomes.def>
#undef OUTCOME
  size_t points;
  faro_view_point *curve;
} faro_view_row;

/* log(mean measure) against log(x) over the rows of one line of the figure, by least squares. There
 * is none for an algorithm whose results do not depend on x. */
typedef struct faro_view_slope {
  /* the first row of the line, which has the label and the values of the other sweeps */
  const faro_view_row *row;
  double slope, error; /* slope of the mean and its standard error; NaN if a mean is not positive */
  double sampling;     /* its standard error if the law is exact, from the errors of the means */
  double of_most;      /* slope of the worst instance; NaN if not known */
  /* slopes of a curved fit at the least and the greatest x; a power law has the same everywhere */
  double first, last;
  bool straight; /* else no power law fits, and the slopes above are NaN */
} faro_view_slope;

/* Two algorithms at one sweep point, compared by their paired differences over instances. */
typedef struct faro_view_comparison {
  const faro_view_row *better, *worse;
  double difference, low, high; /* mean of worse less better, and its 95 % interval */
  bool seen;                    /* the interval does not have 0 */
} faro_view_comparison;

struct faro_report {
  faro_arena arena;
  json_t *document;
  const char *name, *title;
  const char *left_out; /* algorithms that do not offer the calibration; NULL if there are none */
  const faro_measure_text *measure;
  size_t sweeps;
  const char *sweep[FARO_SWEEPS_MAX];
  int x, panels;  /* index of a sweep; -1: rounds on x, no panels */
  bool per_round; /* the figure shows the measure divided by the rounds so far */
  size_t instances, count;
  uint64_t seed;
  const char *version, *commit, *compiler;
  double seconds;
  faro_view_row *row;
  size_t slopes; /* 0 unless x is a swept number with three or more positive values */
  faro_view_slope *slope;
  size_t comparisons; /* 0 if there is one instance, or instances were not kept */
  faro_view_comparison *comparison;
};

/* Formats a number with a few digits: 632, 2748, 938M; "-" for NaN. */
const char *faro_brief(double value, char out[static 32]);
/* A share as a percentage without its sign: 43, 99.7, 99.98. More digits close to 100, where they
 * matter; 100 only if it is. "-" for NaN. */
const char *faro_percent(double share, char out[static 32]);

/* Formats an exponent with three decimals; "-" for NaN. */
const char *faro_exponent(double value, char out[static 32]);
/* Appends what a claim leaves out and what it assumes: ", rewards only", ", assumes that ...";
 * `add` writes text of the document. */
void faro_view_add_limits(const faro_view_row *row, void (*add)(faro_text *, const char *), faro_text *out);
/* Whether some private rows protect rewards only, and others do not. */
bool faro_view_rewards_differ(const faro_report *report);
/* Appends what a claim says besides (epsilon, delta): ", user level (16 rounds)", ", actions
 * hidden", its limits, ", local (3, 0)". */
void faro_view_add_terms(const faro_view_row *row, void (*add)(faro_text *, const char *), faro_text *out);
/* Appends the limits of claims in sentences, with the algorithms (notes.c): what protects rewards
 * only, and what is assumed. */
void faro_view_add_limited(const faro_report *report, const char *before, const char *after,
                           void (*add)(faro_text *, const char *), faro_text *out);

/* Appends the proof, with what it assumes and what it leaves out; `add` writes a text. */
void faro_view_add_by(const faro_view_row *row, void (*add)(faro_text *, const char *), faro_text *out);

/* Appends remarks on phases: populations that ran out of clients, features that were estimated. */
void faro_view_add_phases(const faro_report *report, const char *before, const char *after, faro_text *out);

/* Appends the share of the regret before the parameter was first re-estimated, one line per label;
 * `add` writes the label. */
void faro_view_add_early(const faro_report *report, const char *before, const char *after,
                         void (*add)(faro_text *, const char *), faro_text *out);

/* Appends the algorithms that were left out, if any. */
void faro_view_add_left_out(const faro_report *report, const char *before, const char *after,
                            void (*add)(faro_text *, const char *), faro_text *out);

/* Whether a row's regret is that of uniform play, or nearly so. */
/* Whether the measure is one of rows: a mean in 0 .. 1. */
bool faro_view_has_rows(const faro_report *report);
/* Whether people have classes. */
bool faro_view_has_classes(const faro_report *report);
/* The measure of one who learns nothing: of uniform play; where people have classes, of always
 * naming the most frequent one. Its name is "uniform play". */
double faro_view_base(const char *measure, double uniform, double fixed);
const char *faro_view_base_name(const faro_report *report);
/* The measure in a sentence: "regret", "error", "error rate", "loss"; and with its article. */
const char *faro_view_word(const faro_report *report);
const char *faro_view_measure(const faro_report *report);
bool faro_view_learnt_nothing(const faro_view_row *row);
/* Appends what simple play would have got on the same instances; nothing if that is not known. */
void faro_view_add_yardstick(const faro_report *report, const char *before, const char *after,
                             faro_text *out);
/* Appends the algorithms that learnt nothing, one line per label (notes.c). */
void faro_view_add_learnt(const faro_report *report, const char *before, const char *after,
                          void (*add)(faro_text *, const char *), faro_text *out);
/* Rows of files (people.c): appends which file, with its columns and classes; and what to know of
 * them: fewer features than columns, rare classes, numbers beyond their ranges. */
void faro_view_add_people(const faro_report *report, const char *before, const char *after,
                          void (*add)(faro_text *, const char *), faro_text *out);
void faro_view_add_data(const faro_report *report, const char *before, const char *after,
                        void (*add)(faro_text *, const char *), faro_text *out);
/* Appends a text of the document, or "?" if it has control characters. */
void faro_view_add_clean(const char *value, void (*add)(faro_text *, const char *), faro_text *out);
/* Rows of files: appends the others that are not clearly better than the best single arm. */
void faro_view_add_no_better(const faro_report *report, const char *before, const char *after,
                             void (*add)(faro_text *, const char *), faro_text *out);
/* Appends the algorithms that differ in the learner alone but for their batches, one line for each
 * release. */
void faro_view_add_schedules(const faro_report *report, const char *before, const char *after,
                             void (*add)(faro_text *, const char *), faro_text *out);
/* Appends those whose shuffler adds nothing to what their messages promise by themselves. */
void faro_view_add_idle_shufflers(const faro_report *report, const char *before, const char *after,
                                  void (*add)(faro_text *, const char *), faro_text *out);
/* Appends the algorithms between which no difference was seen, one line per sweep point. */
void faro_view_add_comparisons(const faro_report *report, const char *before, const char *after,
                               void (*add)(faro_text *, const char *), faro_text *out);
/* Why lines of the figure have no slope. */
void faro_view_add_bends(const faro_report *report, const char *before, const char *after,
                         void (*add)(faro_text *, const char *), faro_text *out);

/* Appends how many rounds were not counted, and why, between `before` and `after`; nothing if all
 * were counted. */
void faro_view_add_refused(const faro_report *report, const char *before, const char *after, faro_text *out);

/* Appends the settings that all results share: "linear-fixed, dimension 5, arms 100, ..."; others
 * are omitted. */
void faro_view_add_setting(const faro_report *report, faro_text *out);

/* Writes a setting as text. False: it is neither a word, nor a number, nor true or false. */
bool faro_view_print(const json_t *value, char out[static 64]);

/* Whether two rows have the same label, and the same value of every sweep except perhaps these two
 * (-1: no sweep). */
bool faro_view_alike(const faro_report *report, const faro_view_row *a, const faro_view_row *b, int except,
                     int other);

/* Fits the slopes (slope.c). */
faro_status faro_view_fit(faro_report *report, faro_error *error);

/* Compares algorithms (rivals.c): at each sweep point the best private one with all others, and
 * neighbours in the ranking. */
faro_status faro_view_compare(faro_report *report, faro_error *error);
/* Whether a row claims privacy. */
bool faro_view_is_private(const faro_view_row *row);

/* Reads report->document into the rest of the struct. `name` is for messages. */
faro_status faro_view_read(faro_report *report, const char *name, faro_error *error);

#endif
