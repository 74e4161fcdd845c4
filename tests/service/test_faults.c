/* Faults with real processes. In each run an analyzer and its shufflers serve a small campaign to
 * its end, while clients report and something goes wrong at random moments: a role is killed or
 * stopped and started again, lines are cut, a disk is full for a while. At the end nothing that was
 * acknowledged may be missing or counted twice: the released totals are the sums of the
 * acknowledged reports, entry by entry, and a release in this process that is fed with the same
 * batches has the same state, byte by byte.
 *
 * FARO_FAULTS is the number of runs (6), FARO_FAULTS_FIRST the first one's number (1). What a run
 * does follows from its number, the moments from the clock too. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faro/random.h>

#include "base/clock.h"
#include "service/http/sender.h"
#include "trial/checks.h"

enum { DIMENSION = 2, ARMS = 3, CLIENTS = 60, BATCH = 16, BATCHES = 12, THREADS = 5 };

typedef enum trouble { KILL, STOP, CUT, FULL, TROUBLES } trouble;
static const char *const words[TROUBLES] = {"kill", "stop", "cut", "full"};

typedef struct plan {
  uint64_t number;
  const char *learner, *release;
  uint64_t shufflers;
  bool grows; /* batches of different sizes */
  size_t group;
  trouble trouble;
  int times; /* number of times */
} plan;

typedef struct run {
  plan plan;
  faro_sim_rng luck;
  faro_trial trial;
  faro_crowd *crowd;
  faro_sender *sender;
  faro_checks list;
  uint64_t version, cuts;
  int struck;
  char told[256]; /* what was done */
} run;

static uint64_t below(run *r, uint64_t n) { return (uint64_t)(faro_sim_uniform(&r->luck) * (double)n); }

static plan plan_of(uint64_t number) {
  static const char *const releases[] = {"shuffle-bits",    "concurrent-bits", "shuffle-response",
                                         "local-gaussian",  "central-tree",    "shuffle-bits",
                                         "shuffle-gaussian"};
  const size_t k = number % 7;
  /* At an analyzer that collects reports itself, nobody else knows which batch a report was in: a
   * replay gives the same sum, but other batches. So the learner there is one without a memory. */
  return (plan){.number = number,
                .learner = k == 3 ? "linucb" : "posterior",
                .release = releases[k],
                .grows = k != 1 && number % 4 < 3,
                .shufflers = 2 + number % 2,
                .group = number % 3 == 0 ? 4 : 1,
                .trouble = number % 2 ? KILL : (trouble)(1 + number / 2 % 3),
                .times = 1 + (int)(number / 3 % 3)};
}

static void tell(run *r, const char *what, size_t role) {
  char name[24];
  const size_t used = strlen(r->told);
  snprintf(r->told + used, sizeof r->told - used, "%s%s %s at %" PRIu64, used ? ", " : "", what,
           faro_trial_role(&r->trial, role, name), faro_crowd_progress(r->crowd));
}

/* Injects one fault and ends it again. */
static faro_status strike(run *r, faro_error *error) {
  const size_t role = below(r, r->trial.roles);
  tell(r, words[r->plan.trouble], role);
  switch (r->plan.trouble) {
  case KILL:
  case STOP:
    faro_sleep(1e-4 * (double)below(r, 100));
    if (r->plan.trouble == KILL) (void)faro_child_end(&r->trial.child[role], SIGKILL, 5);
    else if (faro_child_end(&r->trial.child[role], SIGTERM, 10) != 0)
      return faro_fail(error, FARO_SYSTEM, "a role did not end well when asked to");
    faro_sleep(1e-3 * (double)below(r, 50));
    return faro_trial_start(&r->trial, role, error);
  case FULL: /* with some room left or none; sometimes the role ends because of it */
    faro_child_limit(&r->trial.child[role], below(r, 2) ? 0 : 4096 * (1 + below(r, 30)));
    faro_sleep(1e-3 * (double)(20 + below(r, 200)));
    if (below(r, 3) == 0) (void)faro_child_end(&r->trial.child[role], SIGKILL, 5);
    if (!faro_child_running(&r->trial.child[role])) return faro_trial_start(&r->trial, role, error);
    faro_child_limit(&r->trial.child[role], UINT64_MAX);
    return FARO_OK;
  default: /* all connections are cut for a while */
    for (size_t i = 0; i < r->trial.roles; i++)
      faro_relay_trouble(r->trial.relay[i], 30 + (unsigned)below(r, 200));
    faro_sleep(1e-3 * (double)(50 + below(r, 150)));
    for (size_t i = 0; i < r->trial.roles; i++) faro_relay_trouble(r->trial.relay[i], 0);
    return FARO_OK;
  }
}

/* Gets the newest policy, if the analyzer answers. */
static faro_status look(run *r, faro_error *error) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  faro_error none = {0};
  faro_policy_document document = {0};
  if (faro_send_get(r->sender, faro_trial_url(&r->trial, 0, "/v1/policy", url), &sent, &none) != FARO_OK ||
      sent.status != 200)
    return FARO_OK;
  const faro_status status =
      faro_policy_document_open(&document, sent.bytes, sent.length, r->trial.sign.public_key, error);
  if (status != FARO_OK) return status;
  const uint64_t version = document.policy.version;
  faro_policy_document_clear(&document);
  if (version < r->version)
    return faro_fail(error, FARO_INVALID, "the policy went back to version %" PRIu64, version);
  if (version == r->version) return FARO_OK;
  r->version = version;
  if (version > r->trial.campaign.batches)
    return FARO_OK; /* the campaign is over: this policy gets no reports */
  return faro_crowd_policy(r->crowd, sent.bytes, sent.length, version, error);
}

/* Clients report without pause until the campaign is over. */
static faro_status play(run *r, faro_error *error) {
  const double end = faro_clock() + 60;
  const uint64_t last = r->trial.campaign.batches + 1;
  uint64_t next = 1 + below(r, BATCH * BATCHES / 2);
  faro_status status = look(r, error);
  faro_crowd_allow(r->crowd, UINT64_C(1) << 40);
  while (status == FARO_OK && r->version < last) {
    if (r->struck < r->plan.times && faro_crowd_progress(r->crowd) >= next) {
      status = strike(r, error);
      r->struck++;
      next = faro_crowd_progress(r->crowd) + 1 + below(r, BATCH * BATCHES / 4);
    }
    if (status == FARO_OK) status = look(r, error);
    if (status == FARO_OK && faro_crowd_broken(r->crowd))
      status = faro_fail(error, FARO_SYSTEM, "%s", faro_crowd_broken(r->crowd));
    if (status == FARO_OK && faro_clock() > end)
      status = faro_fail(error, FARO_SYSTEM,
                         "the campaign did not end: version %" PRIu64 ", %" PRIu64 " reports answered",
                         r->version, faro_crowd_progress(r->crowd));
    faro_sleep(0.001);
  }
  faro_crowd_stop(r->crowd);
  return status;
}

/* Each receiver must have acknowledged as many reports as it released. */
static void check_counts(run *r) {
  const faro_campaign *c = &r->trial.campaign;
  uint64_t acknowledged = 0, released = 0;
  bool passed = true;
  for (size_t i = 0; i < (c->shufflers ? c->shufflers : 1); i++) {
    const uint64_t unit = faro_campaign_unit(c, i);
    const uint64_t here = faro_crowd_counted(r->crowd, i, 0, NULL),
                   due = faro_campaign_reports(c, c->batches / unit * unit);
    acknowledged += here;
    released += due;
    passed = passed && here == due;
  }
  faro_checks_add(&r->list, 'a', "every acknowledged report is in exactly one released batch", passed,
                  "%" PRIu64 " acknowledged, %" PRIu64 " released", acknowledged, released);
}

static faro_status check(run *r, faro_error *error) {
  faro_record *record = NULL;
  const uint64_t batches = r->trial.campaign.batches;
  check_counts(r);
  faro_check_ledger(&r->list, &r->trial, batches);
  faro_check_snapshot(&r->list, &r->trial);
  for (size_t role = r->trial.roles; role-- > 0;) {
    const int status = faro_child_end(&r->trial.child[role], SIGTERM, 10);
    faro_checks_add(&r->list, 'j', "a role ends when asked to", status == 0, "status %d", status);
  }
  for (size_t role = 0; role < r->trial.roles; role++) {
    faro_relay_stop(r->trial.relay[role]);
    r->cuts += faro_relay_cuts(r->trial.relay[role]);
  }
  const faro_status status = faro_record_create(&record, &r->trial, error);
  if (status != FARO_OK) return status;
  faro_check_record(&r->list, &r->trial, record, r->crowd, batches, false);
  faro_check_replay(&r->list, &r->trial, record, r->crowd, batches);
  faro_check_files(&r->list, &r->trial, record, UINT64_MAX);
  faro_record_destroy(record);
  return FARO_OK;
}

static faro_status serve(run *r, faro_error *error) {
  const faro_crowd_params crowd = {.threads = THREADS,
                                   .group = r->plan.group,
                                   .world = "linear-iid",
                                   .seed = r->plan.number,
                                   .patience = 30,
                                   .listen = 16};
  faro_status status = faro_trial_start_all(&r->trial, error);
  if (status == FARO_OK) status = faro_sender_create(&r->sender, &(faro_sender_params){.timeout = 2}, error);
  if (status == FARO_OK) status = faro_crowd_create(&r->crowd, &r->trial, &crowd, error);
  if (status == FARO_OK) status = play(r, error);
  return status == FARO_OK ? check(r, error) : status;
}

static bool report(const run *r, faro_status status, const faro_error *error, double seconds) {
  const bool good = status == FARO_OK && faro_checks_passed(&r->list);
  const faro_tally t = faro_crowd_tally(r->crowd, 0);
  printf("%3" PRIu64 " %s %-17s %5.2f s, %" PRIu64 " reports, %" PRIu64 " sent again, %" PRIu64
         " known, %" PRIu64 " cuts; %s\n",
         r->plan.number, good ? "good" : "BAD ", r->plan.release, seconds, t.reports, t.retries,
         t.answers[FARO_VERDICT_KNOWN], r->cuts, r->told);
  if (status != FARO_OK) printf("    %s\n", error->message);
  for (size_t i = 0; i < r->list.count; i++)
    if (!r->list.row[i].passed) printf("    failed: %s: %s\n", r->list.row[i].text, r->list.row[i].found);
  fflush(stdout);
  return good;
}

static bool go(const char *command, uint64_t number, faro_tally *all) {
  char directory[] = "/tmp/faro-faults-XXXXXX";
  static run r;
  faro_error error = {0};
  r = (run){.plan = plan_of(number)};
  faro_sim_open(&r.luck, number, 0, FARO_ROLE_LUCK);
  if (!mkdtemp(directory)) return false;
  const faro_trial_params params = {.command = command,
                                    .directory = directory,
                                    .learner = r.plan.learner,
                                    .release = r.plan.release,
                                    .dimension = DIMENSION,
                                    .arms = ARMS,
                                    .clients = CLIENTS,
                                    .batch = r.plan.grows ? BATCH / 4 : BATCH,
                                    .batches = BATCHES,
                                    .growth = r.plan.grows ? 2 : 1,
                                    .largest = BATCH,
                                    .shufflers = r.plan.shufflers,
                                    .epsilon = 8,
                                    .delta = 1e-3,
                                    .honest = 1,
                                    .norm = 1,
                                    .high = 1,
                                    .keep = (size_t)1 << 26};
  const double start = faro_clock();
  faro_status status = faro_trial_create(&r.trial, &params, &error);
  bool good = false;
  if (status == FARO_OK) {
    status = serve(&r, &error);
    if (r.crowd) good = report(&r, status, &error, faro_clock() - start);
    else printf("%3" PRIu64 " BAD  %s: %s\n", number, r.plan.release, error.message);
    if (r.crowd) all->reports += faro_crowd_tally(r.crowd, 0).reports;
    if (r.crowd) all->answers[FARO_VERDICT_KNOWN] += faro_crowd_tally(r.crowd, 0).answers[FARO_VERDICT_KNOWN];
    faro_crowd_destroy(r.crowd);
    faro_sender_destroy(r.sender);
    faro_trial_destroy(&r.trial);
  } else printf("%3" PRIu64 " BAD  %s\n", number, error.message);
  if (good) faro_trial_remove(directory);
  else printf("    files are in %s\n", directory);
  return good;
}

static uint64_t setting(const char *name, uint64_t usual) {
  const char *text = getenv(name);
  return text && *text ? strtoull(text, NULL, 10) : usual;
}

int main(void) {
  const uint64_t runs = setting("FARO_FAULTS", 6), first = setting("FARO_FAULTS_FIRST", 1);
  uint64_t bad = 0;
  faro_tally all = {0};
  signal(SIGPIPE, SIG_IGN);
  const double start = faro_clock();
  for (uint64_t i = 0; i < runs; i++) bad += !go(FARO_COMMAND, first + i, &all);
  printf("%" PRIu64 " of %" PRIu64 " runs good, %.0f s, %" PRIu64 " reports; %" PRIu64
         " acknowledgements had been lost on the way\n",
         runs - bad, runs, faro_clock() - start, all.reports, all.answers[FARO_VERDICT_KNOWN]);
  return bad > 0;
}
