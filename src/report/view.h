/* view: the run document read into plain structs, checked once; all renderers work on these. */
#ifndef FARO_REPORT_VIEW_H
#define FARO_REPORT_VIEW_H

#include <faro/report.h>
#include <jansson.h>

#include "base/arena.h"
#include "base/text.h"

typedef struct faro_view_point {
  double round, mean, sd, lower, median, upper;
} faro_view_point;

typedef struct faro_view_row {
  const char *label, *learner, *release, *calibration, *trust, *level, *by;
  const json_t *settings;
  const char *standing;            /* "proven", "not proven", "no privacy" */
  const char *at[FARO_SWEEPS_MAX]; /* value of each sweep, as text */
  double place[FARO_SWEEPS_MAX];   /* ... as a number, where it is one */
  double epsilon, delta, batch, rounds;
  double contributions; /* of a user, that a user-level claim covers; else 1 */
  faro_spread regret;
  double bits, messages, updates, shifted, refused, seconds;
  size_t points;
  faro_view_point *curve;
} faro_view_row;

struct faro_report {
  faro_arena arena;
  json_t *document;
  const char *name, *title;
  size_t sweeps;
  const char *sweep[FARO_SWEEPS_MAX];
  int x, panels; /* which sweep; -1: rounds on x, no panels */
  size_t instances, count;
  uint64_t seed;
  const char *version, *commit, *compiler;
  double seconds;
  faro_view_row *row;
};

/* A few digits for people: 632, 2748, 938M; "-" for what is no number. */
const char *faro_brief(double value, char out[static 32]);

/* Appends ", user level (16 rounds)" where the claim is at that level. */
void faro_view_add_level(const faro_view_row *row, faro_text *out);

/* Appends how many rounds were not counted, and why, between `before` and `after`; nothing where all were. */
void faro_view_add_refused(const faro_report *report, const char *before, const char *after, faro_text *out);

/* Appends what all results share: "linear-fixed, dimension 5, arms 100, ..."; what is swept or differs is left out. */
void faro_view_add_setting(const faro_report *report, faro_text *out);

/* Reads report->document into the rest of the struct. `name` is for messages. */
faro_status faro_view_read(faro_report *report, const char *name, faro_error *error);

#endif
