/* demo_run: see the header. The clients of a batch report under the same policy and then wait for
 * the next one. So each batch can be checked by itself.
 *
 * A campaign in phases ends when its learner says so. So that an open batch can be checked, one
 * batch on the way is held up with one report less than it needs, while the checks are made. */
#include "trial/demo_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/http/sender.h"

enum { PATIENCE = 300 }; /* seconds: it ends what hangs, however busy the machine is */

typedef struct demo {
  const faro_demo_params *params;
  const faro_demo_view *view;
  faro_checks *list;
  faro_trial trial;
  faro_crowd *crowd;
  faro_sender *sender;
  faro_document first, newest; /* policies: version 1, and the newest */
  faro_plan_document *plan;    /* in phases: the newest one */
  uint64_t released;           /* batches */
  uint64_t copied;             /* of these, when the files were copied */
} demo;

static faro_status keep(faro_document *document, const faro_sent *sent, faro_error *error) {
  char *bytes = malloc(sent->length);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "out of memory");
  memcpy(bytes, sent->bytes, sent->length);
  free(document->bytes);
  *document = (faro_document){.bytes = bytes, .length = sent->length};
  return FARO_OK;
}

/* In phases: the trial follows the plans as any party does. */
static faro_status follow(demo *d, faro_error *error) {
  const faro_campaign *c = &d->trial.campaign;
  faro_plan_row row;
  if (!d->plan) return FARO_OK;
  faro_status status =
      faro_plan_document_open(d->plan, d->newest.bytes, d->newest.length, d->trial.sign.public_key, error);
  if (status == FARO_OK) status = faro_plan_check(c, d->plan, &row, error);
  return status == FARO_OK ? faro_plans_add(c->plans, &row, error) : status;
}

/* Waits for the policy of a version and gives it to the crowd. */
static faro_status next_policy(demo *d, uint64_t version, faro_error *error) {
  char path[64], url[FARO_URL_MAX + 1];
  snprintf(path, sizeof path, "/v1/policy?after=%" PRIu64, version - 1);
  faro_trial_url(&d->trial, 0, path, url);
  const double end = faro_clock() + PATIENCE;
  faro_sent sent = {0};
  do {
    const faro_status status = faro_send_get(d->sender, url, &sent, error);
    if (status != FARO_OK) return status;
    if (sent.status != 200 && faro_clock() > end)
      return faro_fail(error, FARO_SYSTEM, "policy %" PRIu64 " was not published within %d s", version,
                       PATIENCE);
    faro_sleep(faro_sent_later(&sent));
  } while (sent.status != 200);
  faro_status status = version == 1 ? keep(&d->first, &sent, error) : FARO_OK;
  if (status == FARO_OK) status = keep(&d->newest, &sent, error);
  if (status == FARO_OK) status = follow(d, error);
  if (status == FARO_OK) status = faro_crowd_policy(d->crowd, sent.bytes, sent.length, version, error);
  return status;
}

/* Lets clients send this many reports and waits for all answers. */
static faro_status report(demo *d, uint64_t reports, faro_error *error) {
  faro_crowd_allow(d->crowd, reports);
  if (faro_crowd_settled(d->crowd, PATIENCE)) return FARO_OK;
  const char *why = faro_crowd_broken(d->crowd);
  return faro_fail(error, FARO_SYSTEM, "clients could not go on: %s", why ? why : "time is up");
}

/* Means are over those who played: in rounds, clients also report what they kept. */
static void show_batch(const demo *d, uint64_t version, double seconds) {
  const faro_tally t = faro_crowd_tally(d->crowd, version);
  const double n = t.reports > t.again ? (double)(t.reports - t.again) : 1;
  const faro_demo_step step = {.version = version,
                               .reports = t.reports,
                               .seconds = seconds,
                               .reward = t.reward / n,
                               .regret = t.regret / n,
                               .uniform = t.uniform / n};
  if (d->view->stepped) d->view->stepped(d->view->context, &step);
}

static faro_status play_batch(demo *d, uint64_t version, faro_error *error) {
  const double start = faro_clock();
  faro_status status = report(d, faro_campaign_size(&d->trial.campaign, 0, version - 1), error);
  if (status == FARO_OK) status = next_policy(d, version + 1, error);
  if (status == FARO_OK) show_batch(d, version, faro_clock() - start);
  return status;
}

static bool stopped(const demo *d) { return d->params->stopping && d->params->stopping(); }

static faro_status play(demo *d, faro_error *error) {
  faro_status status = next_policy(d, 1, error);
  for (uint64_t v = 1; v <= d->params->rounds && status == FARO_OK; v++)
    status = stopped(d) ? faro_fail(error, FARO_INTERRUPTED, "interrupted") : play_batch(d, v, error);
  /* One report less than a batch: these must not leave the shuffler. */
  const uint64_t last = faro_campaign_size(&d->trial.campaign, 0, d->params->rounds);
  if (status == FARO_OK) status = report(d, last - 1, error);
  d->released = d->params->rounds;
  return status;
}

/* Whether clients report once, so that none has an old report. */
static bool once(const faro_trial_params *trial) {
  return faro_trial_averages(trial) || (faro_trial_in_rounds(trial) && trial->fits == 0);
}

static void check_running(demo *d, uint64_t rounds) {
  const faro_tally t = faro_crowd_tally(d->crowd, 0);
  uint64_t refused = 0;
  for (int i = FARO_VERDICT_CAMPAIGN; i < FARO_VERDICT_COUNT; i++) refused += t.answers[i];
  faro_checks_add(d->list, 'a', "no report of an honest client was refused", refused == 0,
                  "%" PRIu64 " refused, %" PRIu64 " sent again", refused, t.retries);
  faro_check_counters(d->list, &d->trial, d->crowd, rounds, false);
  faro_check_refusals(d->list, &d->trial, d->crowd, rounds, &d->first,
                      once(&d->trial.params) ? &d->newest : NULL);
  faro_check_counters(d->list, &d->trial, d->crowd, rounds, true);
  faro_check_ledger(d->list, &d->trial, rounds);
  faro_check_processes(d->list, &d->trial);
  faro_check_snapshot(d->list, &d->trial);
  d->copied = rounds;
}

/* Rounds. All of them are played; the last one is held up with one report less than it needs, while
 * the checks are made. */

static faro_status fill_last(demo *d, uint64_t version, faro_error *error) {
  faro_status status = report(d, faro_campaign_size(&d->trial.campaign, 0, version - 1) - 1, error);
  if (status != FARO_OK) return status;
  check_running(d, version - 1);
  status = report(d, 1, error);
  return status == FARO_OK ? next_policy(d, version + 1, error) : status;
}

/* What people get who come when the campaign is over. */
static faro_status show_end(demo *d, faro_error *error) {
  enum { VISITS = 2000 };
  faro_tally t;
  const double start = faro_clock();
  const faro_status status = faro_crowd_visit(d->crowd, VISITS, &t, error);
  const faro_demo_step step = {.version = d->released + 1,
                               .seconds = faro_clock() - start,
                               .reward = t.reward / VISITS,
                               .regret = t.regret / VISITS,
                               .uniform = t.uniform / VISITS};
  if (status == FARO_OK && d->view->stepped) d->view->stepped(d->view->context, &step);
  return status;
}

static faro_status play_rounds(demo *d, faro_error *error) {
  const uint64_t rounds = d->trial.campaign.batches;
  faro_status status = next_policy(d, 1, error);
  for (uint64_t v = 1; v < rounds && status == FARO_OK; v++)
    status = stopped(d) ? faro_fail(error, FARO_INTERRUPTED, "interrupted") : play_batch(d, v, error);
  const double start = faro_clock();
  if (status == FARO_OK) status = fill_last(d, rounds, error);
  if (status != FARO_OK) return status;
  d->released = rounds;
  show_batch(d, rounds, faro_clock() - start);
  return show_end(d, error);
}

/* Phases. */

/* Whether enough has happened to check: a policy is old, and a report too, if clients send
 * several. */
static bool is_ripe(const demo *d) {
  return d->plan->version > 2 && (faro_trial_averages(&d->trial.params) || faro_crowd_old(d->crowd));
}

static faro_status fill_batch(demo *d, bool *checked, faro_error *error) {
  const bool now = !*checked && is_ripe(d);
  const uint64_t size = d->plan->size;
  faro_status status = report(d, now ? size - 1 : size, error);
  if (status != FARO_OK || !now) return status;
  check_running(d, d->plan->version - 1);
  *checked = true;
  return report(d, 1, error);
}

/* Shows a phase, from version `from` on, that has ended; or the end of the campaign. */
static void show_phase(const demo *d, uint64_t from, uint64_t phase, double seconds) {
  faro_demo_step step = {.version = d->plan->version - 1,
                         .seconds = seconds,
                         .phase = phase,
                         .left = d->plan->left,
                         .best = d->plan->best};
  for (uint64_t v = from; v < d->plan->version; v++) {
    const faro_tally t = faro_crowd_tally(d->crowd, v);
    step.reports += t.reports;
    step.reward += t.reward;
    step.regret += t.regret;
    step.uniform += t.uniform;
  }
  const double n = step.reports > 0 ? (double)step.reports : 1;
  step.reward /= n;
  step.regret /= n;
  step.uniform /= n;
  if (step.reports == 0) {
    step.regret = faro_crowd_gap(d->crowd, (size_t)d->plan->best);
    step.uniform = faro_crowd_uniform(d->crowd);
  }
  if (d->view->stepped) d->view->stepped(d->view->context, &step);
}

static faro_status play_phases(demo *d, faro_error *error) {
  bool checked = false;
  uint64_t from = 1;
  double start = faro_clock();
  faro_status status = next_policy(d, 1, error);
  while (status == FARO_OK && d->plan->size > 0) {
    const uint64_t phase = d->plan->phase;
    status = stopped(d) ? faro_fail(error, FARO_INTERRUPTED, "interrupted") : fill_batch(d, &checked, error);
    if (status == FARO_OK) status = next_policy(d, d->plan->version + 1, error);
    if (status != FARO_OK || (d->plan->phase == phase && d->plan->size > 0)) continue;
    show_phase(d, from, phase, faro_clock() - start);
    from = d->plan->version;
    start = faro_clock();
  }
  if (status != FARO_OK) return status;
  show_phase(d, from, d->plan->phase, 0);
  d->released = d->plan->version - 1;
  if (!checked)
    faro_checks_add(d->list, 'a', "an open batch was checked", false,
                    "the campaign was over after %" PRIu64 " batches: use more clients", d->released);
  return FARO_OK;
}

/* Shufflers first: a batch that they sent too early could still arrive. */
static void stop_roles(demo *d) {
  bool clean = true;
  char found[100] = "";
  for (size_t role = d->trial.processes; role-- > 0;) {
    char name[24];
    const int status = faro_child_end(&d->trial.child[role], SIGTERM, PATIENCE);
    clean = clean && status == 0;
    if (status != 0)
      snprintf(found, sizeof found, "; %s with %d", faro_trial_role(&d->trial, role, name), status);
  }
  for (size_t role = 0; role < d->trial.processes; role++) faro_relay_stop(d->trial.relay[role]);
  faro_checks_add(d->list, 'j', "all processes ended when asked to", clean, "%zu process%s%s",
                  d->trial.processes, d->trial.processes == 1 ? "" : "es", found);
}

static faro_status check_after(demo *d, faro_error *error) {
  faro_record *record = NULL;
  const uint64_t rounds = d->released;
  const faro_status status = faro_record_create(&record, &d->trial, error);
  if (status != FARO_OK) {
    faro_checks_add(d->list, 'b', "what was sent to the analyzer is valid", false, "%s", error->message);
    return status == FARO_INVALID ? FARO_OK : status;
  }
  faro_check_record(d->list, &d->trial, record, d->crowd, rounds, true);
  faro_check_replay(d->list, &d->trial, record, d->crowd, rounds);
  faro_check_files(d->list, &d->trial, record, d->copied);
  faro_check_traffic(d->list, &d->trial, d->crowd);
  faro_record_destroy(record);
  return FARO_OK;
}

static faro_status stage(demo *d, faro_error *error) {
  faro_status status = faro_trial_start_all(&d->trial, error);
  if (status == FARO_OK) status = faro_sender_create(&d->sender, &(faro_sender_params){0}, error);
  if (status == FARO_OK) status = faro_crowd_create(&d->crowd, &d->trial, &d->params->crowd, error);
  if (status != FARO_OK) return status;
  if (d->view->began) d->view->began(d->view->context, &d->trial);
  const bool rounds = faro_trial_in_rounds(&d->trial.params);
  status = d->plan ? play_phases(d, error) : rounds ? play_rounds(d, error) : play(d, error);
  if (status == FARO_OK && !d->plan && !rounds) check_running(d, d->released);
  faro_crowd_stop(d->crowd);
  if (status != FARO_OK) return status;
  if (d->view->hold) d->view->hold(d->view->context, &d->trial);
  stop_roles(d);
  return check_after(d, error);
}

/* In phases everybody knows the arms, so they are made before the settings are written. */
static faro_status find_arms(demo *d, double **features, faro_error *error) {
  const faro_trial_params *trial = &d->params->trial;
  faro_env *world = NULL;
  d->plan = calloc(1, sizeof *d->plan);
  *features = calloc(trial->arms * trial->dimension, sizeof **features);
  if (!d->plan || !*features) return faro_fail(error, FARO_MEMORY, "out of memory");
  const faro_status status =
      faro_crowd_world(&world, trial, &d->params->crowd, faro_trial_horizon(trial), error);
  if (status == FARO_OK) faro_crowd_rows(faro_env_arms(world), *features);
  faro_env_destroy(world);
  return status;
}

faro_status faro_demo_run(const faro_demo_params *params, const faro_demo_view *view, faro_checks *list,
                          faro_error *error) {
  demo d = {.params = params, .view = view, .list = list};
  faro_trial_params trial = params->trial;
  double *features = NULL;
  trial.batches = params->rounds + 1;
  trial.constant = faro_crowd_constant(&trial);
  faro_status status = faro_trial_in_phases(&trial) ? find_arms(&d, &features, error) : FARO_OK;
  trial.features = features;
  if (status == FARO_OK) status = faro_trial_create(&d.trial, &trial, error);
  if (status == FARO_OK) {
    status = stage(&d, error);
    faro_crowd_destroy(d.crowd);
    faro_sender_destroy(d.sender);
    faro_trial_destroy(&d.trial);
  }
  free(d.first.bytes);
  free(d.newest.bytes);
  free(d.plan);
  free(features);
  return status;
}
