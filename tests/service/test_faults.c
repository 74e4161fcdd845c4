/* Faults with real processes. In each run an analyzer and its shufflers serve a small campaign to
 * its end, some of them in phases or in rounds, while clients report and something goes wrong at
 * random moments: a role is killed or stopped and started again, lines are cut, a disk is full for
 * a while, a state is put back to an old copy, deleted, or taken away under a running role, a clock
 * is set, an address or a key changes.
 *
 * At the end nothing that was acknowledged may be missing or counted twice: the released totals are
 * the sums of the acknowledged reports, entry by entry, and a release in this process that is fed
 * with the same batches has the same state, byte by byte. And whenever learning stops, a role must
 * say so in /healthz, or not answer, within 30 seconds; at the end all are well.
 *
 * FARO_FAULTS is the number of runs (6), FARO_FAULTS_FIRST the first one's number (1). What a run
 * does follows from its number, the moments from the clock too. With FARO_FAULTS_COLLECTORS=1 every
 * shuffler has 1, 2 or 4 collectors, and in each run some of these and of their joiners are
 * killed. With FARO_FAULTS_SPLIT counts are split in all runs, and adders fail, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faro/random.h>

#include "base/clock.h"
#include "service/http/sender.h"
#include "trial/checks.h"
#include "trial/moving.h"

enum { DIMENSION = 2, ARMS = 3, CLIENTS = 60, BATCH = 16, BATCHES = 12, THREADS = 5 };
/* With collectors: clients and reports of a batch for each of them, and batches. */
enum { PORTION_CLIENTS = 80, PORTION = 9, PORTION_BATCHES = 8 };
enum { DIRECTIONS = 3 };                /* features of an arm in phases: with two, arms would be the same */
enum { FITS = 9, PLAYERS = 8 * BATCH }; /* in rounds; clients that report averages, each once */
enum { NOTICED = 120 };                 /* seconds in which an outage must be visible; 25 if idle */
enum { LONG = 600 };                    /* seconds: they end what hangs on a busy machine */

typedef struct run run;

/* A fault. `strike` injects it and ends it again. */
typedef struct fault {
  const char *name;
  faro_status (*strike)(run *r, size_t role, faro_error *error);
  int most; /* number of times in a run; 0: any */
} fault;

typedef struct plan {
  uint64_t number;
  const char *learner, *release, *world;
  uint64_t shufflers, collectors;
  uint64_t clients, batch, batches; /* batch: the largest */
  bool grows;                       /* batches of different sizes */
  bool split;                       /* counts are split: an adder for each shuffler, which is struck, too */
  size_t group;
  size_t fault;
  int times; /* number of times */
} plan;

struct run {
  plan plan;
  faro_sim_rng luck;
  faro_trial trial;
  faro_crowd *crowd;
  faro_sender *sender;
  faro_checks list;
  double features[ARMS * DIRECTIONS]; /* in phases */
  uint64_t version, cuts;
  bool over; /* the newest policy is the last one */
  int struck;
  double stopped; /* since when there has been no new policy, on faro_clock */
  bool shown;     /* a role has said since then that something is wrong */
  /* Seconds until that could be seen, each time that learning could not go on. */
  int outages;
  double slowest, total;
  uint64_t copied; /* the version when a copy was made of the state of `copy_of`; 0: none */
  size_t copy_of;
  int clock;      /* file with the shift of the clock */
  char told[256]; /* what was done */
};

static uint64_t below(run *r, uint64_t n) { return (uint64_t)(faro_sim_uniform(&r->luck) * (double)n); }

static void tell(run *r, const char *what, size_t role) {
  char name[24];
  const size_t used = strlen(r->told);
  snprintf(r->told + used, sizeof r->told - used, "%s%s %s at %" PRIu64, used ? ", " : "", what,
           faro_trial_role(&r->trial, role, name), faro_crowd_progress(r->crowd));
}

static faro_status look(run *r, faro_error *error);

/* What an operator sees. */

/* Whether a role says that something is wrong, or does not answer. */
static bool visible(run *r) {
  for (size_t role = 0; role < r->trial.processes; role++) {
    char url[FARO_URL_MAX + 1];
    faro_sent sent;
    faro_error none = {0};
    faro_trial_url(&r->trial, role, "/healthz", url);
    if (faro_send_get(r->sender, url, &sent, &none) != FARO_OK || sent.status != 200) return true;
  }
  return false;
}

static void note_outage(run *r, double seconds) {
  r->outages++;
  r->total += seconds;
  r->slowest = fmax(r->slowest, seconds);
  r->shown = true;
}

/* Learning cannot go on: waits until that is visible. With `may_end`, the last policy may have been
 * made already. */
static faro_status expose(run *r, bool may_end, faro_error *error) {
  const double start = faro_clock();
  faro_status status = FARO_OK;
  while (status == FARO_OK && !visible(r)) {
    if (faro_clock() - start > NOTICED)
      return faro_fail(error, FARO_INVALID, "learning cannot go on, and all roles have been well for %d s",
                       NOTICED);
    if (may_end) status = look(r, error);
    if (may_end && r->over) return status;
    faro_sleep(0.005);
  }
  if (status == FARO_OK) note_outage(r, faro_clock() - start);
  return status;
}

/* There was no new policy for a long time: a role must have said why. */
static faro_status check_visible(run *r, faro_error *error) {
  if (!r->shown && faro_clock() - r->stopped > 1) r->shown = visible(r);
  if (r->shown || faro_clock() - r->stopped <= NOTICED) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "no policy for %d s, and all roles have been well", NOTICED);
}

/* Files. A state is a database with its log, "-wal" and "-shm". */

enum { PATH = FARO_TRIAL_PATH + 32 };
static const char *const state_files[] = {"", "-wal", "-shm"};

/* The file `part` of a state, as it is (tag "") or laid aside. */
static const char *state_file(const run *r, size_t role, size_t part, const char *tag,
                              char out[static PATH]) {
  char base[FARO_TRIAL_PATH];
  snprintf(out, PATH, "%s%s%s", faro_trial_file(&r->trial, role, ".db", base), state_files[part], tag);
  return out;
}

static faro_status move_state(const run *r, size_t role, const char *from, const char *to,
                              faro_error *error) {
  for (size_t part = 0; part < 3; part++) {
    char source[PATH], target[PATH];
    if (rename(state_file(r, role, part, from, source), state_file(r, role, part, to, target)) != 0 &&
        (part == 0 || errno != ENOENT))
      return faro_fail(error, FARO_SYSTEM, "cannot move %s: %s", source, strerror(errno));
  }
  return FARO_OK;
}

/* Copies the state of a role that has ended well, and so has no log. */
static faro_status copy_state(const run *r, size_t role, const char *to, faro_error *error) {
  char source[PATH], target[PATH];
  struct stat info;
  const int in = open(state_file(r, role, 0, "", source), O_RDONLY | O_CLOEXEC);
  const int out = open(state_file(r, role, 0, to, target), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool copied = in >= 0 && out >= 0 && fstat(in, &info) == 0 &&
                      sendfile(out, in, NULL, (size_t)info.st_size) == info.st_size;
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return copied ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot copy %s: %s", source, strerror(errno));
}

static void remove_state(const run *r, size_t role, const char *tag) {
  char path[PATH];
  for (size_t part = 0; part < 3; part++) (void)unlink(state_file(r, role, part, tag, path));
}

/* The faults. */

static faro_status stop_role(run *r, size_t role, faro_error *error) {
  if (faro_child_end(&r->trial.child[role], SIGTERM, LONG) == 0) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "a role did not end well when asked to");
}

static faro_status strike_kill(run *r, size_t role, faro_error *error) {
  faro_sleep(1e-4 * (double)below(r, 100));
  (void)faro_child_end(&r->trial.child[role], SIGKILL, 5);
  faro_sleep(1e-3 * (double)below(r, 50));
  return faro_trial_start(&r->trial, role, error);
}

static faro_status strike_stop(run *r, size_t role, faro_error *error) {
  faro_sleep(1e-4 * (double)below(r, 100));
  const faro_status status = stop_role(r, role, error);
  faro_sleep(1e-3 * (double)below(r, 50));
  return status == FARO_OK ? faro_trial_start(&r->trial, role, error) : status;
}

/* With some room left or none; sometimes the role ends because of it. */
static faro_status strike_full(run *r, size_t role, faro_error *error) {
  const uint64_t room = below(r, 2) ? 0 : 4096 * (1 + below(r, 30));
  faro_child_limit(&r->trial.child[role], room);
  faro_sleep(1e-3 * (double)(20 + below(r, 200)));
  const faro_status status = room == 0 ? expose(r, true, error) : FARO_OK;
  if (status != FARO_OK) return status;
  if (below(r, 3) == 0) (void)faro_child_end(&r->trial.child[role], SIGKILL, 5);
  if (!faro_child_running(&r->trial.child[role])) return faro_trial_start(&r->trial, role, error);
  faro_child_limit(&r->trial.child[role], UINT64_MAX);
  return FARO_OK;
}

/* All connections are cut for a while. */
static faro_status strike_cut(run *r, size_t role, faro_error *error) {
  (void)role, (void)error;
  for (size_t i = 0; i < r->trial.processes; i++)
    faro_relay_trouble(r->trial.relay[i], 30 + (unsigned)below(r, 200));
  faro_sleep(1e-3 * (double)(50 + below(r, 150)));
  for (size_t i = 0; i < r->trial.processes; i++) faro_relay_trouble(r->trial.relay[i], 0);
  return FARO_OK;
}

/* The clock of the day is set, up to a day forwards or backwards, under all roles; one of them may
 * be started again with it. */
static faro_status strike_clock(run *r, size_t role, faro_error *error) {
  const int64_t seconds = (int64_t)below(r, 2 * 86400) - 86400;
  if (pwrite(r->clock, &seconds, sizeof seconds, 0) != sizeof seconds)
    return faro_fail(error, FARO_SYSTEM, "cannot set the clock");
  return below(r, 2) ? strike_kill(r, role, error) : FARO_OK;
}

/* The state is gone at a start: the role must not begin from nothing. */
static faro_status strike_delete(run *r, size_t role, faro_error *error) {
  (void)faro_child_end(&r->trial.child[role], below(r, 2) ? SIGKILL : SIGTERM, LONG);
  faro_status status = move_state(r, role, "", ".away", error);
  if (status == FARO_OK) status = faro_trial_launch(&r->trial, role, error);
  if (status != FARO_OK) return status;
  const double start = faro_clock();
  const int ended = faro_child_wait(&r->trial.child[role], NOTICED);
  if (ended != 3)
    return faro_fail(error, FARO_INVALID, "a role without its state ended with status %d, not 3", ended);
  note_outage(r, faro_clock() - start);
  remove_state(r, role, "");
  status = move_state(r, role, ".away", "", error);
  return status == FARO_OK ? faro_trial_start(&r->trial, role, error) : status;
}

/* The state is taken away under the role, and put back. */
static faro_status strike_unlink(run *r, size_t role, faro_error *error) {
  char path[PATH], away[PATH];
  if (rename(state_file(r, role, 0, "", path), state_file(r, role, 0, ".away", away)) != 0)
    return faro_fail(error, FARO_SYSTEM, "cannot move %s: %s", path, strerror(errno));
  faro_status status = expose(r, false, error);
  if (status == FARO_OK && rename(away, path) != 0)
    status = faro_fail(error, FARO_SYSTEM, "cannot move %s: %s", away, strerror(errno));
  return status;
}

/* How many batches after a copy of its state a role cannot go on with it any more. A shuffler may
 * have had two closed batches, and one on its way. */
static uint64_t age_of(const run *r, size_t role) {
  const faro_campaign *c = &r->trial.campaign;
  uint64_t unit = 1;
  if (role > 0) return 4 * faro_campaign_unit(c, faro_trial_shuffler_of(&r->trial, role));
  for (size_t i = 0; i < c->shufflers; i++) {
    const uint64_t each = faro_campaign_unit(c, i);
    unit = each > unit ? each : unit;
  }
  return unit;
}

/* Waits until a role that was launched answers, or has ended. */
static faro_status await_answer(run *r, size_t role, faro_error *error) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  faro_error none = {0};
  const double end = faro_clock() + NOTICED;
  faro_trial_url(&r->trial, role, "/healthz", url);
  while (faro_child_running(&r->trial.child[role]) &&
         faro_send_get(r->sender, url, &sent, &none) != FARO_OK) {
    if (faro_clock() > end) return faro_fail(error, FARO_SYSTEM, "a role does not answer");
    faro_sleep(0.005);
  }
  return FARO_OK;
}

/* The copy takes the place of the state for a while. DATABASE.applied, by which an analyzer knows
 * an old copy at once, may be lost, too: then others must notice. */
static faro_status put_back(run *r, size_t role, faro_error *error) {
  char applied[FARO_TRIAL_PATH], aside[FARO_TRIAL_PATH];
  const bool lost = below(r, 2) != 0;
  faro_trial_file(&r->trial, role, ".db.applied", applied);
  faro_trial_file(&r->trial, role, ".db.aside", aside);
  faro_status status = stop_role(r, role, error);
  if (status == FARO_OK) status = move_state(r, role, "", ".away", error);
  if (status == FARO_OK) status = move_state(r, role, ".old", "", error);
  if (lost) (void)rename(applied, aside); /* a shuffler has none */
  if (status == FARO_OK) status = faro_trial_launch(&r->trial, role, error);
  if (status == FARO_OK) status = await_answer(r, role, error);
  if (status == FARO_OK) status = expose(r, false, error);
  if (status != FARO_OK) return status;
  (void)faro_child_end(&r->trial.child[role], SIGTERM, LONG);
  remove_state(r, role, "");
  if (lost) (void)rename(aside, applied);
  status = move_state(r, role, ".away", "", error);
  return status == FARO_OK ? faro_trial_start(&r->trial, role, error) : status;
}

/* The first time a copy is made of a state. The second time it takes the place of the state: the
 * role must refuse it, or say that it does not fit. */
static faro_status strike_old(run *r, size_t role, faro_error *error) {
  if (r->copied > 0) return put_back(r, r->copy_of, error);
  if (age_of(r, role) > BATCHES / 2) role = 0; /* the campaign would be over */
  faro_status status = stop_role(r, role, error);
  if (status == FARO_OK) status = copy_state(r, role, ".old", error);
  if (status == FARO_OK) status = faro_trial_start(&r->trial, role, error);
  if (status == FARO_OK) status = look(r, error);
  r->copied = r->version; /* the copy has this one, or an older one */
  r->copy_of = role;
  return status;
}

/* Whether the file has these bytes. */
static bool holds(const char *path, const char *bytes, size_t length) {
  FILE *file = fopen(path, "r");
  bool same = file != NULL;
  for (size_t i = 0; same && i < length; i++) same = fgetc(file) == (unsigned char)bytes[i];
  if (file) fclose(file);
  return same;
}

/* Clients and shufflers hear of the newest move, as all do who ask. */
static faro_status announce(run *r, faro_error *error) {
  char url[FARO_URL_MAX + 1], path[FARO_TRIAL_PATH];
  faro_sent sent;
  const double end = faro_clock() + NOTICED;
  faro_status status = faro_send_get(r->sender, faro_trial_url(&r->trial, 0, "/v1/move", url), &sent, error);
  if (status == FARO_OK && sent.status != 200)
    status = faro_fail(error, FARO_INVALID, "the move is not there: status %ld", sent.status);
  if (status == FARO_OK) status = faro_crowd_move(r->crowd, sent.bytes, sent.length, error);
  if (r->version > 0) r->version--; /* so that clients get the policy again, under the key of now */
  for (size_t role = 1; role < r->trial.roles && status == FARO_OK; role++) {
    faro_trial_file(&r->trial, role, ".db.move", path);
    while (status == FARO_OK && !holds(path, sent.bytes, sent.length)) {
      if (faro_clock() > end) status = faro_fail(error, FARO_INVALID, "a shuffler has not heard of a move");
      faro_sleep(0.005);
    }
  }
  return status;
}

/* A role gets another address; the old one is left when all have heard of the new one. */
static faro_status strike_move(run *r, size_t role, faro_error *error) {
  faro_status status = faro_trial_move(&r->trial, role, true, false, error);
  if (status == FARO_OK) status = announce(r, error);
  return status == FARO_OK ? faro_relay_leave(r->trial.relay[role], error) : status;
}

/* A role gets another signing key. */
static faro_status strike_rotate(run *r, size_t role, faro_error *error) {
  const faro_status status = faro_trial_move(&r->trial, role, false, true, error);
  return status == FARO_OK ? announce(r, error) : status;
}

static const fault faults[] = {{"kill", strike_kill, 0},       {"stop", strike_stop, 0},
                               {"cut", strike_cut, 0},         {"full", strike_full, 0},
                               {"old copy", strike_old, 2},    {"deleted", strike_delete, 1},
                               {"unlinked", strike_unlink, 2}, {"clock", strike_clock, 0},
                               {"moved", strike_move, 2},      {"rotated", strike_rotate, 2}};
enum { FAULTS = sizeof faults / sizeof *faults };

/* In phases and rounds a batch is for one version, so who was in which batch is always known. */
static void change_learner(plan *p) {
  static const char *const releases[] = {"shuffle-bits", "shuffle-gaussian", "local-gaussian",
                                         "shuffle-response"};
  const uint64_t kind = (p->number + p->number / FAULTS) % 4; /* every fault meets every kind */
  if (kind < 2) return;
  p->grows = false;
  /* An old copy needs more batches than the averages of so few clients have. */
  const bool averages = p->number % 3 == 0 && faults[p->fault].strike != strike_old;
  p->learner = kind == 3 ? "glm-batched" : averages ? "dpe" : "pe";
  p->world = kind == 3 ? "glm-logistic" : averages ? "linear-population" : "linear-fixed";
  p->release = kind == 3 ? "shuffle-bits" : releases[p->number / 4 % 4];
}

static plan plan_of(uint64_t number) {
  static const char *const releases[] = {"shuffle-bits",    "concurrent-bits", "shuffle-response",
                                         "local-gaussian",  "central-tree",    "shuffle-bits",
                                         "shuffle-gaussian"};
  const bool split = getenv("FARO_FAULTS_SPLIT") != NULL;
  const size_t k = split ? number % 2 : number % 7, which = number % FAULTS;
  const int times = 1 + (int)(number / 3 % 3), most = faults[which].most;
  /* At an analyzer that collects reports itself, nobody else knows which batch a report was in: a
   * replay gives the same sum, but other batches. So the learner there is one without a memory. */
  plan made = {.number = number,
               .learner = k == 3 ? "linucb" : "posterior",
               .release = releases[k],
               .world = "linear-iid",
               .clients = CLIENTS,
               .batch = BATCH,
               .batches = BATCHES,
               .split = split,
               .grows = k != 1 && number % 4 < 3,
               .shufflers = 2 + number % 2,
               .group = number % 3 == 0 ? 4 : 1,
               .fault = which,
               .times = most == 0                            ? times
                        : faults[which].strike == strike_old ? 2
                        : times < most                       ? times
                                                             : most};
  if (!split) change_learner(&made);
  return made;
}

/* Kills alone. The portions of a batch have different sizes, where a shuffler's batch is one of the
 * campaign's. */
static plan collected(uint64_t number) {
  static const char *const releases[] = {"shuffle-bits", "shuffle-response", "concurrent-bits",
                                         "shuffle-gaussian"};
  const uint64_t n = number % 3 == 0 ? 1 : number % 3 == 1 ? 2 : 4;
  const size_t k = number % 4;
  return (plan){.number = number,
                .learner = "posterior",
                .release = releases[k],
                .world = "linear-iid",
                .shufflers = 2,
                .collectors = n,
                .clients = n * PORTION_CLIENTS,
                .batch = n * PORTION + (k == 2 ? 0 : n - 1),
                .batches = PORTION_BATCHES,
                .group = number % 5 == 0 ? 4 : 1,
                .times = 2 + (int)(number % 4)};
}

static bool is_due(run *r, uint64_t next) {
  if (r->struck >= r->plan.times) return false;
  return r->copied > 0 ? r->version >= r->copied + age_of(r, r->copy_of)
                       : faro_crowd_progress(r->crowd) >= next;
}

static faro_status strike(run *r, faro_error *error) {
  const fault *f = &faults[r->plan.fault];
  const bool moving = f->strike == strike_move || f->strike == strike_rotate; /* adders do not move */
  const bool parts = r->plan.collectors > 0; /* then the analyzer is left alone */
  const size_t all = moving ? r->trial.roles : r->trial.processes;
  const size_t role = parts ? 1 + below(r, all - 1) : below(r, all);
  tell(r, f->name, r->copied > 0 ? r->copy_of : role);
  r->struck++;
  return f->strike(r, role, error);
}

/* The version of a policy, and whether it is the last one. In phases the trial follows the plans as
 * any party does: clients get each of them from here, so none is left out. */
static faro_status read_policy(const run *r, const faro_sent *sent, uint64_t *version, bool *over,
                               faro_error *error) {
  const faro_campaign *c = &r->trial.campaign;
  faro_policy_document document = {0};
  static faro_plan_document newest; /* large */
  faro_plan_row row;
  if (!faro_campaign_in_phases(c)) {
    const faro_status status =
        faro_policy_document_open(&document, sent->bytes, sent->length, r->trial.sign.public_key, error);
    *version = document.policy.version;
    *over = *version > c->batches;
    faro_policy_document_clear(&document);
    return status;
  }
  faro_status status =
      faro_plan_document_open(&newest, sent->bytes, sent->length, r->trial.sign.public_key, error);
  if (status != FARO_OK) return status;
  *version = newest.version;
  *over = newest.size == 0;
  if (newest.version <= faro_plans_newest(c->plans)) return FARO_OK;
  status = faro_plan_check(c, &newest, &row, error);
  return status == FARO_OK ? faro_plans_add(c->plans, &row, error) : status;
}

/* Gets the newest policy, if the analyzer answers. */
static faro_status look(run *r, faro_error *error) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  faro_error none = {0};
  uint64_t version = 0;
  if (faro_send_get(r->sender, faro_trial_url(&r->trial, 0, "/v1/policy", url), &sent, &none) != FARO_OK ||
      sent.status != 200)
    return FARO_OK;
  const faro_status status = read_policy(r, &sent, &version, &r->over, error);
  if (status != FARO_OK) return status;
  if (version < r->version)
    return faro_fail(error, FARO_INVALID, "the policy went back to version %" PRIu64, version);
  if (version == r->version) return FARO_OK;
  r->version = version;
  r->stopped = faro_clock();
  r->shown = false;
  if (r->over) return FARO_OK; /* this policy gets no reports */
  return faro_crowd_policy(r->crowd, sent.bytes, sent.length, version, error);
}

static faro_status play_on(run *r, double end, faro_error *error) {
  faro_status status = look(r, error);
  if (status == FARO_OK) status = check_visible(r, error);
  if (status != FARO_OK) return status;
  if (faro_crowd_broken(r->crowd)) return faro_fail(error, FARO_SYSTEM, "%s", faro_crowd_broken(r->crowd));
  if (faro_clock() <= end) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM,
                   "the campaign did not end: version %" PRIu64 ", %" PRIu64 " reports answered", r->version,
                   faro_crowd_progress(r->crowd));
}

/* Clients report without pause until the campaign is over. */
static faro_status play(run *r, faro_error *error) {
  const double end = faro_clock() + LONG;
  const uint64_t part = faults[r->plan.fault].strike == strike_old ? 8 : 2; /* a copy is made early */
  uint64_t next = 1 + below(r, r->plan.batch * r->plan.batches / part);
  faro_status status = look(r, error);
  faro_crowd_allow(r->crowd, UINT64_C(1) << 40);
  while (status == FARO_OK && !r->over) {
    if (is_due(r, next)) {
      status = strike(r, error);
      next = faro_crowd_progress(r->crowd) + 1 + below(r, r->plan.batch * r->plan.batches / 4);
    }
    if (status == FARO_OK) status = play_on(r, end, error);
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
                   due = faro_campaign_reports(c, faro_campaign_batches(c) / unit * unit);
    acknowledged += here;
    released += due;
    passed = passed && here == due;
  }
  faro_checks_add(&r->list, 'a', "every acknowledged report is in exactly one released batch", passed,
                  "%" PRIu64 " acknowledged, %" PRIu64 " released", acknowledged, released);
}

/* What was wrong is gone from /healthz, too. */
static void check_health(run *r) {
  const double end = faro_clock() + NOTICED;
  while (visible(r) && faro_clock() < end) faro_sleep(0.05);
  faro_checks_add(&r->list, 'k', "every role is well again", !visible(r), "%d outages", r->outages);
}

/* Whether every version has a batch of its own. */
static bool own_batches(const run *r) {
  return faro_campaign_in_phases(&r->trial.campaign) || faro_campaign_in_rounds(&r->trial.campaign);
}

static faro_status check(run *r, faro_error *error) {
  faro_record *record = NULL;
  const uint64_t batches = faro_campaign_batches(&r->trial.campaign);
  check_health(r);
  check_counts(r);
  faro_check_ledger(&r->list, &r->trial, batches);
  faro_check_snapshot(&r->list, &r->trial);
  for (size_t role = r->trial.processes; role-- > 0;) {
    const int status = faro_child_end(&r->trial.child[role], SIGTERM, LONG);
    faro_checks_add(&r->list, 'j', "a role ends when asked to", status == 0, "status %d", status);
  }
  for (size_t role = 0; role < r->trial.processes; role++) {
    faro_relay_stop(r->trial.relay[role]);
    r->cuts += faro_relay_cuts(r->trial.relay[role]);
  }
  const faro_status status = faro_record_create(&record, &r->trial, error);
  if (status != FARO_OK) return status;
  faro_check_record(&r->list, &r->trial, record, r->crowd, batches, own_batches(r));
  faro_check_replay(&r->list, &r->trial, record, r->crowd, batches);
  faro_check_files(&r->list, &r->trial, record, UINT64_MAX);
  faro_record_destroy(record);
  return FARO_OK;
}

static faro_status serve(run *r, faro_error *error) {
  const faro_crowd_params crowd = {.threads = THREADS,
                                   .group = r->plan.group,
                                   .world = r->plan.world,
                                   .seed = r->plan.number,
                                   .patience = LONG,
                                   .listen = 16};
  faro_status status = faro_trial_start_all(&r->trial, error);
  if (status == FARO_OK) status = faro_sender_create(&r->sender, &(faro_sender_params){.timeout = 20}, error);
  if (status == FARO_OK) status = faro_crowd_create(&r->crowd, &r->trial, &crowd, error);
  if (status == FARO_OK) status = play(r, error);
  if (status == FARO_OK && r->copied > 0 && r->struck < 2)
    status = faro_fail(error, FARO_INVALID, "the campaign was over before the old copy was put back");
  return status == FARO_OK ? check(r, error) : status;
}

static bool report(const run *r, faro_status status, const faro_error *error, double seconds) {
  const bool good = status == FARO_OK && faro_checks_passed(&r->list);
  const faro_tally t = r->crowd ? faro_crowd_tally(r->crowd, 0) : (faro_tally){0};
  printf("%3" PRIu64 " %s %-11s %-17s %" PRIu64 " collectors, %5.2f s, %" PRIu64 " reports, %" PRIu64
         " sent again, %" PRIu64 " known, %" PRIu64 " cuts; %s\n",
         r->plan.number, good ? "good" : "BAD ", r->plan.learner, r->plan.release, r->plan.collectors,
         seconds, t.reports, t.retries, t.answers[FARO_VERDICT_KNOWN], r->cuts, r->told);
  if (status != FARO_OK) printf("    %s\n", error->message);
  for (size_t i = 0; i < r->list.count; i++)
    if (!r->list.row[i].passed) printf("    failed: %s: %s\n", r->list.row[i].text, r->list.row[i].found);
  fflush(stdout);
  return good;
}

/* What all runs with one fault have given. */
typedef struct score {
  int runs, good, outages;
  double slowest, total; /* seconds until an outage was visible */
  uint64_t reports, lost;
} score;

static void count(score *s, const run *r, bool good) {
  const faro_tally t = r->crowd ? faro_crowd_tally(r->crowd, 0) : (faro_tally){0};
  s->runs++;
  s->good += good;
  s->outages += r->outages;
  s->slowest = fmax(s->slowest, r->slowest);
  s->total += r->total;
  s->reports += t.reports;
  s->lost += t.answers[FARO_VERDICT_KNOWN];
}

/* Roles that are started from now on get a clock that can be set. */
static faro_status open_clock(run *r, const char *directory, faro_error *error) {
  char path[FARO_TRIAL_PATH];
  const int64_t right = 0;
  snprintf(path, sizeof path, "%s/clock", directory);
  r->clock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (r->clock < 0 || pwrite(r->clock, &right, sizeof right, 0) != sizeof right)
    return faro_fail(error, FARO_SYSTEM, "cannot write %s: %s", path, strerror(errno));
  setenv("FARO_TEST_CLOCK", path, 1);
  setenv("LD_PRELOAD", FARO_SHIFTED_CLOCK, 1);
  return FARO_OK;
}

static void close_clock(run *r) {
  unsetenv("LD_PRELOAD");
  if (r->clock >= 0) close(r->clock);
}

/* What phases and rounds need; everybody knows the arms of phases. */
static faro_status complete(run *r, faro_trial_params *params, faro_error *error) {
  const faro_crowd_params crowd = {.world = r->plan.world, .seed = r->plan.number};
  faro_env *world = NULL;
  if (strcmp(r->plan.learner, "glm-batched") == 0) {
    params->link = FARO_LINK_LOGISTIC;
    params->bound = 2; /* that of the environment */
    params->fits = FITS;
    params->contributions = FITS + 1;
    params->horizon = 24;
  }
  if (!faro_trial_in_phases(params)) return FARO_OK;
  params->dimension = DIRECTIONS;
  params->horizon = BATCH * BATCHES;
  if (faro_trial_averages(params)) {
    params->horizon = 4096; /* rounds of each client */
    params->clients = PLAYERS + THREADS * r->plan.group;
    params->reports = PLAYERS;
    params->noise = 1;
    params->spread = 0.1;
    params->contributions = 1;
  }
  params->features = r->features;
  const faro_status status = faro_crowd_world(&world, params, &crowd, params->horizon, error);
  if (status == FARO_OK) faro_crowd_rows(faro_env_arms(world), r->features);
  faro_env_destroy(world);
  return status;
}

static faro_status create(run *r, const char *directory, faro_error *error) {
  faro_trial_params params = {.command = FARO_COMMAND,
                              .directory = directory,
                              .learner = r->plan.learner,
                              .release = r->plan.release,
                              .dimension = DIMENSION,
                              .arms = ARMS,
                              .clients = r->plan.clients,
                              .batch = r->plan.grows ? r->plan.batch / 4 : r->plan.batch,
                              .batches = r->plan.batches,
                              .growth = r->plan.grows ? 2 : 1,
                              .largest = r->plan.batch,
                              .collectors = r->plan.collectors,
                              .shufflers = r->plan.shufflers,
                              .split = r->plan.split,
                              .epsilon = 8,
                              .delta = 1e-3,
                              .honest = 1,
                              .norm = 1,
                              .high = 1,
                              .keep = (size_t)1 << 26};
  const bool clock = faults[r->plan.fault].strike == strike_clock;
  faro_status status = complete(r, &params, error);
  if (status == FARO_OK && clock) status = open_clock(r, directory, error);
  return status == FARO_OK ? faro_trial_create(&r->trial, &params, error) : status;
}

static uint64_t setting(const char *name, uint64_t usual) {
  const char *text = getenv(name);
  return text && *text ? strtoull(text, NULL, 10) : usual;
}

static bool go(uint64_t number, score scores[static FAULTS]) {
  char directory[] = "/tmp/faro-faults-XXXXXX";
  static run r;
  faro_error error = {0};
  r = (run){.plan = setting("FARO_FAULTS_COLLECTORS", 0) > 0 ? collected(number) : plan_of(number),
            .clock = -1,
            .stopped = faro_clock()};
  faro_sim_open(&r.luck, number, 0, FARO_ROLE_LUCK);
  if (!mkdtemp(directory)) return false;
  const double start = faro_clock();
  faro_status status = create(&r, directory, &error);
  if (status == FARO_OK) status = serve(&r, &error);
  const bool good = report(&r, status, &error, faro_clock() - start);
  count(&scores[r.plan.fault], &r, good);
  faro_crowd_destroy(r.crowd);
  faro_sender_destroy(r.sender);
  faro_trial_destroy(&r.trial);
  close_clock(&r);
  if (good) faro_trial_remove(directory);
  else printf("    files are in %s\n", directory);
  return good;
}

static void print_scores(const score scores[static FAULTS]) {
  printf("%-10s %5s %5s %8s %8s   seconds until visible\n", "fault", "runs", "good", "reports", "outages");
  for (size_t i = 0; i < FAULTS; i++) {
    const score *s = &scores[i];
    if (s->runs == 0) continue;
    printf("%-10s %5d %5d %8" PRIu64 " %8d", faults[i].name, s->runs, s->good, s->reports, s->outages);
    if (s->outages > 0) printf("   mean %.2f, greatest %.2f", s->total / s->outages, s->slowest);
    printf("\n");
  }
}

/* The address sanitizer wants to be loaded before the library with the clock, but need not be. */
static void allow_preload(void) {
  const char *given = getenv("ASAN_OPTIONS");
  char options[1024];
  snprintf(options, sizeof options, "%s:verify_asan_link_order=0", given ? given : "");
  setenv("ASAN_OPTIONS", options, 1);
}

int main(void) {
  const uint64_t runs = setting("FARO_FAULTS", 6), first = setting("FARO_FAULTS_FIRST", 1);
  uint64_t bad = 0, reports = 0, lost = 0;
  score scores[FAULTS] = {0};
  signal(SIGPIPE, SIG_IGN);
  allow_preload();
  const double start = faro_clock();
  for (uint64_t i = 0; i < runs; i++) bad += !go(first + i, scores);
  print_scores(scores);
  for (size_t i = 0; i < FAULTS; i++) {
    reports += scores[i].reports;
    lost += scores[i].lost;
  }
  printf("%" PRIu64 " of %" PRIu64 " runs good, %.0f s, %" PRIu64 " reports; %" PRIu64
         " acknowledgements had been lost on the way\n",
         runs - bad, runs, faro_clock() - start, reports, lost);
  return bad > 0;
}
