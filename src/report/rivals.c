/* rivals: which algorithms differ. All algorithms of an experiment meet the same instances, so
 * the difference of two is computed on each instance, and its mean has a much narrower interval
 * than the two means.
 *
 * At each sweep point the rows are ranked by their mean. Compared are neighbours in the ranking,
 * and the best private row with every other one. Each interval is at 95 % on its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"
#include "sim/interval.h"

bool faro_view_is_private(const faro_view_row *row) { return isfinite(row->epsilon); }

static bool same_place(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(a->at[s], b->at[s]) != 0) return false;
  return true;
}

static int by_mean(const void *a, const void *b) {
  const faro_view_row *x = *(const faro_view_row *const *)a;
  const faro_view_row *y = *(const faro_view_row *const *)b;
  if (x->regret.mean != y->regret.mean) return x->regret.mean < y->regret.mean ? -1 : 1;
  return (x > y) - (x < y);
}

static faro_view_comparison compare(const faro_view_row *better, const faro_view_row *worse, size_t n) {
  double mean = 0;
  double square = 0;
  for (size_t i = 0; i < n; i++) mean += (worse->each[i] - better->each[i]) / (double)n;
  for (size_t i = 0; i < n; i++) {
    const double off = worse->each[i] - better->each[i] - mean;
    square += off * off;
  }
  const double se = sqrt(square / ((double)(n - 1) * (double)n));
  const faro_interval interval = faro_interval_plain(mean, se, (double)n - 1);
  return (faro_view_comparison){.better = better,
                                .worse = worse,
                                .difference = mean,
                                .low = interval.low,
                                .high = interval.high,
                                .seen = interval.low > 0 || interval.high < 0};
}

/* Neighbours, and the best private row with all that are not its neighbours. */
static void compare_ranked(faro_report *report, const faro_view_row *const *rank, size_t count) {
  size_t best = 0;
  while (best < count && !faro_view_is_private(rank[best])) best++;
  for (size_t a = 0; a < count; a++)
    for (size_t b = a + 1; b < count; b++)
      if (b == a + 1 || a == best || b == best)
        report->comparison[report->comparisons++] = compare(rank[a], rank[b], report->instances);
}

faro_status faro_view_compare(faro_report *report, faro_error *error) {
  if (report->instances < 2 || report->count < 2) return FARO_OK;
  for (size_t i = 0; i < report->count; i++)
    if (!report->row[i].each) return FARO_OK;
  const faro_view_row **rank = faro_arena_alloc(&report->arena, report->count, sizeof(*rank), error);
  report->comparison = faro_arena_alloc(&report->arena, 2 * report->count, sizeof *report->comparison, error);
  if (!rank || !report->comparison) return FARO_MEMORY;
  for (size_t i = 0; i < report->count; i++) {
    size_t ranked = 0;
    bool first = true;
    for (size_t j = 0; j < report->count && first; j++) {
      if (!same_place(report, &report->row[i], &report->row[j])) continue;
      first = j >= i;
      rank[ranked++] = &report->row[j];
    }
    if (!first) continue;
    qsort(rank, ranked, sizeof *rank, by_mean);
    compare_ranked(report, rank, ranked);
  }
  return FARO_OK;
}
