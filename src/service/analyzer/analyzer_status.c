/* analyzer_status: see the header. */
#include "service/analyzer/analyzer_status.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>

#include "service/analyzer/campaign_ledger.h"
#include "wire/split.h"

enum { POINTS = 300, ROWS = 8 };
static const double WINDOW = 60;

void faro_rate_mark(faro_rate *rate, double now) { rate->at[rate->count++ % FARO_RATE_MARKS] = now; }

double faro_rate_recent(const faro_rate *rate, double now, double *seconds) {
  const uint64_t kept = rate->count < FARO_RATE_MARKS ? rate->count : FARO_RATE_MARKS;
  double since = fmax(rate->start, now - WINDOW);
  double marks = 0;
  for (uint64_t i = 0; i < kept; i++) marks += rate->at[i] > since;
  if (kept == FARO_RATE_MARKS && rate->at[rate->count % FARO_RATE_MARKS] > since) { /* older ones are lost */
    since = rate->at[rate->count % FARO_RATE_MARKS];
    marks = FARO_RATE_MARKS - 1;
  }
  *seconds = fmax(1, now - since);
  return marks;
}

static const char *state_of(const faro_analyzer_status *s, double now) {
  if (!faro_health_write(s->health, false, NULL)) return "unwell";
  if (s->life == FARO_LIFE_PAUSED || s->life == FARO_LIFE_ARCHIVED) return faro_life_name(s->life);
  if (s->life == FARO_LIFE_FINISHED)
    return s->version > faro_campaign_batches(s->campaign) ? "finished" : "ended";
  if (s->version > faro_campaign_batches(s->campaign)) return "finished";
  const bool recent =
      s->applied.count > 0 && now - s->applied.at[(s->applied.count - 1) % FARO_RATE_MARKS] < WINDOW;
  return recent ? "learning" : "waiting";
}

/* Whether the sums have the mean reward: not in phases and rounds, whose sums are not of x y. */
static bool has_mean(const faro_analyzer_status *s) {
  return !isnan(s->constant) && !faro_campaign_in_phases(s->campaign) &&
         !faro_campaign_in_rounds(s->campaign);
}

/* Each point is [users, reward, width, sd]: the standard deviation of the privacy noise in the
 * reward, or null. A mean reward is c + last / constant, so its noise is that of `last` over the
 * constant. Of a predicted reward, a root of noisy sums, it is not known. */
static json_t *point_json(const faro_analyzer_status *s, const faro_learning_view *view) {
  const bool mean = has_mean(s);
  const double gain = mean ? s->campaign->centre + view->last / s->constant : view->predicted;
  json_t *noise = mean && !isnan(view->noise) ? json_real(view->noise / fabs(s->constant)) : json_null();
  return json_pack("[I f f o]", (json_int_t)view->users, gain, view->width, noise);
}

static json_t *points_json(const faro_analyzer_status *s, const faro_learning_view *views, size_t count) {
  json_t *points = json_array();
  for (size_t i = 0; i < count; i++)
    if (json_array_append_new(points, point_json(s, &views[i])) != 0) break;
  return points;
}

static faro_status curve_json(faro_store *store, const faro_analyzer_status *s, json_t **json,
                              faro_error *error) {
  faro_learning_view *views = calloc(POINTS, sizeof *views);
  size_t count = POINTS;
  if (!views) return faro_fail(error, FARO_MEMORY, "cannot allocate the curve");
  const faro_status status = faro_store_history(store, s->version - 1, views, &count, error);
  if (status == FARO_OK)
    *json = json_pack("{so so}", "constant", has_mean(s) ? json_real(s->constant) : json_null(), "points",
                      points_json(s, views, count));
  free(views);
  return status;
}

/* The newest row comes first. */
static faro_status rows_json(faro_store *store, uint64_t batches, json_t **json, faro_debit *last,
                             faro_error *error) {
  faro_debit debits[ROWS];
  size_t count = ROWS;
  *last = (faro_debit){0};
  const faro_status status =
      faro_store_debits(store, batches > ROWS ? batches - ROWS : 0, debits, &count, error);
  if (status != FARO_OK) return status;
  *json = json_array();
  for (size_t i = count; i-- > 0;)
    if (json_array_append_new(*json, faro_debit_json(&debits[i])) != 0) break;
  if (count > 0) *last = debits[count - 1];
  return FARO_OK;
}

/* `link` is null without rounds. */
static json_t *campaign_json(const faro_campaign *c) {
  json_t *link = faro_campaign_in_rounds(c) ? json_string(faro_link_name(c->rounds.link)) : json_null();
  return json_pack("{ss ss ss sI sI sI sI sI sI sf so sb}", "id", c->id, "learner", c->learner, "release",
                   c->release->name, "dimension", (json_int_t)c->contribution.dimension, "arms",
                   (json_int_t)c->arms, "batch", (json_int_t)c->params.batch, "largest",
                   (json_int_t)faro_campaign_largest(c), "reports",
                   (json_int_t)faro_campaign_reports(c, faro_campaign_batches(c)), "horizon",
                   (json_int_t)c->params.horizon, "honest", c->params.honest, "link", link, "split",
                   faro_campaign_is_split(c));
}

/* Each is [label, text]. */
static json_t *reasons_json(faro_health *health) {
  char text[FARO_ILL_TEXT];
  json_t *all = json_array();
  for (size_t i = 0; i < FARO_ILLS; i++)
    if (faro_health_get(health, (faro_ill)i, text) &&
        json_array_append_new(all, json_pack("[ss]", faro_ill_label((faro_ill)i), text)) != 0)
      break;
  return all;
}

static json_t *policy_json(const faro_analyzer_status *s, double now) {
  json_t *seconds = s->applied.count > 0
                        ? json_real(now - s->applied.at[(s->applied.count - 1) % FARO_RATE_MARKS])
                        : json_null();
  return json_pack("{sI so}", "version", (json_int_t)s->version, "seconds", seconds);
}

/* null without phases. `arms` of them are played now; `arm` is the only one, or null. */
static json_t *plan_json(const faro_analyzer_status *s) {
  if (s->plan.phase == 0) return json_null();
  return json_pack("{sI sI sI sI sI so}", "phase", (json_int_t)s->plan.phase, "left",
                   (json_int_t)s->plan.left, "best", (json_int_t)s->plan.best, "size",
                   (json_int_t)s->plan.size, "arms", (json_int_t)s->plan.arms, "arm",
                   s->plan.arms == 1 ? json_integer((json_int_t)s->plan.arm) : json_null());
}

static faro_status add_numbers(faro_store *store, const faro_analyzer_status *s, double now, json_t *json,
                               faro_error *error) {
  uint64_t waiting = 0;
  uint64_t spoiled = 0;
  const uint64_t batches = s->version - 1;
  double seconds = 1;
  const double recent = fmin((double)batches, faro_rate_recent(&s->applied, now, &seconds));
  faro_status status = faro_store_waits(store, &waiting, error);
  if (status == FARO_OK) status = faro_store_spoiled(store, &spoiled, error);
  if (status != FARO_OK) return status;
  const uint64_t all = faro_campaign_reports(s->campaign, batches);
  const double users = (double)(all - faro_campaign_reports(s->campaign, batches - (uint64_t)recent));
  json_t *numbers = json_pack("{s{sI sI sI} sI sI s{sf sf}}", "batches", "applied", (json_int_t)batches,
                              "allowed", (json_int_t)faro_campaign_batches(s->campaign), "waiting",
                              (json_int_t)waiting, "users", (json_int_t)all, "spoiled", (json_int_t)spoiled,
                              "rates", "reports", users / seconds, "batches", recent / seconds);
  const bool done = numbers && json_object_update(json, numbers) == 0;
  json_decref(numbers);
  return done ? FARO_OK : faro_fail(error, FARO_MEMORY, "cannot allocate the status");
}

faro_status faro_analyzer_status_json(faro_store *store, const faro_analyzer_status *s, double now,
                                      json_t **json, faro_error *error) {
  char signer[2 * FARO_KEY_BYTES + 1];
  char faro[200];
  faro_debit last;
  json_t *curve = NULL;
  json_t *rows = NULL;
  faro_status status = curve_json(store, s, &curve, error);
  json_t *life = NULL;
  if (status == FARO_OK) status = rows_json(store, s->version - 1, &rows, &last, error);
  if (status == FARO_OK) status = faro_life_json(store, &life, error);
  if (status != FARO_OK) {
    json_decref(curve);
    json_decref(rows);
    return status;
  }
  snprintf(faro, sizeof faro, "%s (commit %s)", faro_version(), faro_commit());
  json_t *made =
      json_pack("{ss ss so so ss so so so so s{sf sf sI} so so so}", "faro", faro, "state", state_of(s, now),
                "unwell", reasons_json(s->health), "shufflers", faro_peers_json(s->peers, s->campaign, now),
                "signer", sodium_bin2hex(signer, sizeof signer, s->signer, FARO_KEY_BYTES), "campaign",
                campaign_json(s->campaign), "claim", faro_ledger_claim(&s->campaign->claim), "policy",
                policy_json(s, now), "plan", plan_json(s), "spent", "epsilon", last.epsilon, "delta",
                last.delta, "rounds", (json_int_t)last.rounds, "curve", curve, "ledger", rows, "life", life);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the status");
  status = add_numbers(store, s, now, made, error);
  if (status == FARO_OK) *json = made;
  else json_decref(made);
  return status;
}
