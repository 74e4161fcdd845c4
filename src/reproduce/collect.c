/* collect: what a run saw, from its report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"
#include "reproduce/reproduce.h"

/* "epsilon=1, norm=2", without the sweep `except` (-1: all). A swept calibration is left out too:
 * it is what is compared. */
static void put_point(const faro_report *report, const faro_view_row *row, int except, char *out) {
  size_t length = 0;
  *out = '\0';
  for (int s = 0; s < (int)report->sweeps; s++) {
    if (s == except || strcmp(report->sweep[s], "calibration") == 0) continue;
    const int added = snprintf(out + length, FARO_LINE - length, "%s%s=%s", length ? ", " : "",
                               report->sweep[s], row->at[s]);
    if (added > 0 && length + (size_t)added < FARO_LINE) length += (size_t)added;
  }
}

faro_status faro_sight_add(faro_sight *sight, const faro_report *report, faro_error *error) {
  const size_t count = sight->count + report->count + report->slopes;
  faro_seen *seen = realloc(sight->seen, count * sizeof *seen);
  if (!seen) return faro_fail(error, FARO_MEMORY, "out of memory");
  sight->seen = seen;
  seen += sight->count;
  sight->count = count;
  for (size_t i = 0; i < report->count; i++, seen++) {
    const faro_view_row *row = &report->row[i];
    *seen = (faro_seen){.label = row->label,
                        .calibration = row->calibration,
                        .standing = row->standing,
                        .mean = row->regret.mean,
                        .error = row->regret.error,
                        .sd = row->regret.sd,
                        .each = row->each,
                        .instances = report->instances,
                        .learnt_nothing = faro_view_learnt_nothing(row),
                        .shifted = row->shifted};
    put_point(report, row, -1, seen->at);
  }
  for (size_t i = 0; i < report->slopes; i++, seen++) {
    const faro_view_slope *slope = &report->slope[i];
    *seen = (faro_seen){.is_slope = true,
                        .label = slope->row->label,
                        .calibration = slope->row->calibration,
                        .standing = slope->row->standing,
                        .mean = slope->slope,
                        .error = slope->error,
                        .range = faro_interval_plain(slope->slope, fmax(slope->error, slope->sampling),
                                                     (double)report->instances - 1)};
    put_point(report, slope->row, report->x, seen->at);
  }
  return FARO_OK;
}

void faro_sight_clear(faro_sight *sight) {
  free(sight->seen);
  *sight = (faro_sight){0};
}
