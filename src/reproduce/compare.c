/* compare: published items against what was seen.
 *
 * A number differs if it is off by more than FARO_STANDARD_ERRORS standard errors of the
 * difference, plus the error of reading a number off a figure. If a paper does not print the
 * standard deviation of a mean, ours is taken for it. With three standard errors a true equality is
 * called a difference once in 370 comparisons; the seeds are fixed, so it is the same one every
 * time.
 *
 * A bound needs evidence: it holds if the 95 % interval of our result is within it, and fails if
 * the interval is beyond it. For a sentence that is the interval of a ratio, on the same
 * instances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce/reproduce.h"

const char *faro_verdict_name(faro_verdict verdict) {
  static const char *const name[] = {
#define X(id, one, several) one,
      FARO_VERDICT_LIST(X)
#undef X
  };
  return name[verdict];
}

const char *faro_verdict_plural(faro_verdict verdict) {
  static const char *const name[] = {
#define X(id, one, several) several,
      FARO_VERDICT_LIST(X)
#undef X
  };
  return name[verdict];
}

/* ---- points: "epsilon=1, norm=2" */

/* Whether two texts of this length say the same: the same bytes, or the same number. */
static bool same_value(const char *a, size_t a_length, const char *b, size_t b_length) {
  if (a_length == b_length && strncmp(a, b, a_length) == 0) return true;
  char *a_end = NULL;
  char *b_end = NULL;
  const double x = strtod(a, &a_end);
  const double y = strtod(b, &b_end);
  return a_end == a + a_length && b_end == b + b_length && a_length > 0 && x == y;
}

/* Whether the point has this part, "epsilon=1". */
static bool has_part(const char *point, const char *part, size_t length) {
  const size_t key = strcspn(part, "=");
  for (const char *p = point; *p; p += strspn(p, ", ")) {
    const size_t end = strcspn(p, ",");
    if (end > key && key < length && strncmp(p, part, key + 1) == 0 &&
        same_value(p + key + 1, end - key - 1, part + key + 1, length - key - 1))
      return true;
    p += end;
  }
  return false;
}

bool faro_point_has(const char *point, const char *at) {
  for (const char *p = at; *p; p += strspn(p, ", ")) {
    const size_t length = strcspn(p, ",");
    if (!has_part(point, p, length)) return false;
    p += length;
  }
  return true;
}

/* ---- reasons */

static bool applies(const faro_reason *r, const faro_comparison *c) {
  return (r->side == 0 || strcmp(faro_side_name(r->side), c->calibration) == 0) &&
         (*r->label == '\0' || strcmp(r->label, c->item->label) == 0) && faro_point_has(c->seen->at, r->at) &&
         c->ratio >= r->from && c->ratio <= r->to;
}

/* The first reason that applies, if any. */
static const faro_reason *find_reason(const faro_published *published, const faro_comparison *c) {
  for (size_t i = 0; i < published->reasons; i++)
    if (applies(&published->reason[i], c)) return &published->reason[i];
  return NULL;
}

/* Less than a published mean, with a proven claim. */
static bool is_better(const faro_comparison *c) {
  return c->kind == FARO_ITEM_NUMBER && c->ratio < 1 && strcmp(c->seen->standing, "proven") == 0;
}

/* Of a result that differs from a number, or is beyond a bound. */
static void explain(const faro_published *published, faro_comparison *c, faro_verdict explained) {
  c->reason = find_reason(published, c);
  c->verdict = c->reason ? explained : FARO_VERDICT_UNEXPLAINED;
}

/* ---- items */

static bool fits(const faro_seen *seen, bool slope, const char *label, const char *calibration,
                 const char *at) {
  return seen->is_slope == slope && strcmp(seen->label, label) == 0 &&
         strcmp(seen->calibration, calibration) == 0 && faro_point_has(seen->at, at);
}

/* The result of a label under a calibration at a point. NULL: there is none. Results of algorithms
 * that do not depend on a sweep are repeated along it; others must not fit the same item. */
static const faro_seen *find(const faro_sight *sight, bool slope, const char *label, const char *calibration,
                             const char *at, bool *several) {
  const faro_seen *found = NULL;
  for (size_t i = 0; i < sight->count; i++) {
    const faro_seen *seen = &sight->seen[i];
    if (!fits(seen, slope, label, calibration, at) || !isfinite(seen->mean)) continue;
    if (found && found->mean != seen->mean) *several = true;
    if (!found) found = seen;
  }
  return found;
}

static void compare_number(const faro_published *published, faro_comparison *c) {
  const faro_item *item = c->item;
  const double sd = item->sd > 0 ? item->sd : c->seen->sd;
  const double error = sqrt(c->seen->error * c->seen->error + sd * sd / (double)published->instances);
  c->ratio = c->seen->mean / item->value;
  if (fabs(c->seen->mean - item->value) <= FARO_STANDARD_ERRORS * error + item->reading)
    c->verdict = FARO_VERDICT_EQUAL;
  else explain(published, c, is_better(c) ? FARO_VERDICT_BETTER : FARO_VERDICT_EXPLAINED);
}

/* Whether c->range is at most the item's value, but for rounding. */
static void judge_bound(const faro_published *published, faro_comparison *c) {
  const double bound = c->item->value * (1 + 1e-9);
  if (c->range.high <= bound) c->verdict = FARO_VERDICT_HOLDS;
  else if (c->range.low > bound) explain(published, c, FARO_VERDICT_FAILS);
  else c->verdict = FARO_VERDICT_NOT_SHOWN;
}

/* An exponent is that of an upper bound. */
static void compare_exponent(const faro_published *published, faro_comparison *c) {
  c->ratio = c->seen->mean / c->item->value;
  c->range = c->seen->range;
  judge_bound(published, c);
}

/* Runs to which no power law fits. A reason for it has no range. */
static void look_for_bent(const faro_published *published, const faro_sight *sight, faro_comparison *c) {
  for (size_t i = 0; i < sight->count && c->verdict == FARO_VERDICT_ABSENT; i++) {
    if (!fits(&sight->seen[i], true, c->item->label, c->calibration, c->item->at)) continue;
    faro_comparison bent = *c;
    bent.seen = &sight->seen[i];
    bent.ratio = 0;
    c->reason = find_reason(published, &bent);
    c->verdict = FARO_VERDICT_NO_SLOPE;
  }
}

static void judge_sentence(const faro_published *published, faro_comparison *c) {
  const faro_seen *less = c->seen;
  const faro_seen *than = c->than;
  c->ratio = less->mean / (c->item->value * than->mean);
  c->range = less->each && than->each && less->instances == than->instances
                 ? faro_interval_ratio(less->each, than->each, less->instances)
                 : (faro_interval){.low = 0, .high = INFINITY};
  if (less->learnt_nothing && than->learnt_nothing) c->verdict = FARO_VERDICT_VACUOUS;
  else judge_bound(published, c);
}

/* A sentence is about every point that it does not exclude: the worst of them is shown. Points that
 * say nothing are counted, and shown if there are no others. */
static void compare_sentence(const faro_published *published, const faro_sight *sight, faro_comparison *c) {
  bool several = false;
  for (size_t i = 0; i < sight->count; i++) {
    faro_comparison one = {.kind = c->kind, .item = c->item, .calibration = c->calibration};
    one.seen = &sight->seen[i];
    if (!fits(one.seen, false, c->item->label, c->calibration, c->item->at)) continue;
    one.than = find(sight, false, c->item->than, c->calibration, one.seen->at, &several);
    if (!one.than) continue;
    judge_sentence(published, &one);
    one.points = c->points + 1;
    one.vacuous = c->vacuous + (one.verdict == FARO_VERDICT_VACUOUS);
    c->points = one.points;
    c->vacuous = one.vacuous;
    if (!c->seen || one.verdict > c->verdict || (one.verdict == c->verdict && one.ratio > c->ratio)) *c = one;
  }
}

static faro_status compare_item(const faro_published *published, const faro_sight *sight, const char *name,
                                faro_comparison *c, faro_error *error) {
  bool several = false;
  c->verdict = FARO_VERDICT_ABSENT;
  c->ratio = (double)NAN;
  if (c->kind == FARO_ITEM_SENTENCE) {
    compare_sentence(published, sight, c);
    return FARO_OK;
  }
  const bool slope = c->kind == FARO_ITEM_EXPONENT;
  c->seen = find(sight, slope, c->item->label, c->calibration, c->item->at, &several);
  if (several)
    return faro_fail(error, FARO_INVALID, "published/%s.yaml: %s at \"%s\" fits several results that differ",
                     name, c->item->label, c->item->at);
  if (c->seen && slope) compare_exponent(published, c);
  else if (c->seen) compare_number(published, c);
  else if (slope) look_for_bent(published, sight, c);
  return FARO_OK;
}

/* ---- all of them */

size_t faro_sight_sides(const faro_sight *sight, const char *side[static FARO_SIDES]) {
  size_t count = 0;
  for (size_t k = 1; faro_side_name(k); k++)
    for (size_t i = 0; i < sight->count; i++)
      if (strcmp(sight->seen[i].calibration, faro_side_name(k)) == 0) {
        side[count++] = faro_side_name(k);
        break;
      }
  return count;
}

/* An item that no run has a result for, and no reason why, is a mistake in the file, or in the
 * experiment. */
static void refuse_absent(faro_comparison *one, size_t sides) {
  bool absent = sides > 0;
  for (size_t k = 0; k < sides; k++)
    absent &=
        one[k].verdict == FARO_VERDICT_ABSENT || (one[k].verdict == FARO_VERDICT_NO_SLOPE && !one[k].reason);
  for (size_t k = 0; absent && k < sides; k++) one[k].verdict = FARO_VERDICT_UNEXPLAINED;
}

faro_status faro_compare(faro_comparisons *out, const faro_published *published, const faro_sight *sight,
                         const char *name, faro_error *error) {
  const char *side[FARO_SIDES];
  const size_t sides = faro_sight_sides(sight, side);
  const size_t items = published->count[0] + published->count[1] + published->count[2];
  faro_status status = FARO_OK;
  *out = (faro_comparisons){.one = calloc(items * sides + 1, sizeof *out->one)};
  if (!out->one) return faro_fail(error, FARO_MEMORY, "out of memory");
  for (faro_item_kind kind = FARO_ITEM_NUMBER; kind <= FARO_ITEM_SENTENCE; kind++)
    for (size_t i = 0; i < published->count[kind] && status == FARO_OK; i++) {
      faro_comparison *first = &out->one[out->count];
      for (size_t k = 0; k < sides && status == FARO_OK; k++) {
        faro_comparison *c = &out->one[out->count++];
        *c = (faro_comparison){
            .kind = kind, .item = &faro_published_items(published, kind)[i], .calibration = side[k]};
        status = compare_item(published, sight, name, c, error);
      }
      refuse_absent(first, sides);
    }
  return status;
}

void faro_comparisons_clear(faro_comparisons *comparisons) {
  free(comparisons->one);
  *comparisons = (faro_comparisons){0};
}
