/* crowd: see the header. One lock guards the tickets, the clients, the policy and the tallies,
 * another one the world. Slow work (encoding, the network) happens outside both. */
#include "trial/crowd.h"

#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/many.h"
#include "service/client/client_send.h"
#include "wire/split.h"

enum { EARLY = 64 }; /* clients whose first reports are kept */

typedef struct person {
  uint64_t sequence;
  bool busy;
  uint64_t answered; /* version under which it has the newest answer that is final */
  bool counted;      /* a report of it was accepted */
  /* In rounds, what its device keeps: the version under which it chose, features and reward. */
  uint64_t chosen;
  double *x, reward;
} person;

/* Acknowledged parts of one version, for one shuffler. */
typedef struct count {
  uint64_t parts;
  uint64_t *ones;
} count;

typedef struct body {
  uint64_t version;
  unsigned char bytes[];
} body;

typedef struct worker {
  faro_crowd *crowd;
  pthread_t thread;
  bool started;
  faro_client *client;
  faro_sender *sender;
  unsigned char *parts;  /* parts of one report */
  unsigned char *frames; /* frames of a group of reports, part by part */
  unsigned char *answers;
  size_t *who;
  uint64_t moves;                         /* as many of them as the client has seen */
  double *rows, *x;                       /* features of all arms; features of the arm that was played */
  faro_collectors *lists;                 /* one for each shuffler that has collectors */
  unsigned char *sorted, *sorted_answers; /* frames for one collector, and their answers */
  faro_plan_document *plan;               /* in phases: the plan that the client follows */
} worker;

struct faro_crowd {
  const faro_trial *trial;
  faro_crowd_params params;
  size_t part_size, entries, shufflers, versions;
  faro_wire_form form;
  pthread_mutex_t lock, world_lock;
  pthread_cond_t changed;
  faro_env *world;
  worker *workers;
  person *people;
  uint64_t allowed, taken, settled;                             /* tickets: one per report */
  size_t *place;                                                /* the collector of each client */
  size_t collectors;                                            /* 1 if shufflers have none */
  uint64_t turns;                                               /* tickets since there is a new policy */
  size_t next[FARO_COLLECTORS_MAX], first[FARO_COLLECTORS_MAX]; /* first: of the term, in rounds */
  bool stopping;
  char *policy;
  size_t policy_length;
  uint64_t version, newest; /* newest: also after a move, when clients need the policy again */
  char *move;
  size_t move_length;
  uint64_t moves;    /* how many there have been */
  faro_tally *tally; /* by version; [0]: all */
  count *counts;     /* by version and shuffler */
  unsigned char *bodies;
  size_t body_count, body_room, body_size;
  faro_patterns *secrets;
  unsigned char *early; /* reports of the first few clients */
  size_t early_of[EARLY], early_count;
  const unsigned char *old; /* one of these, whose sender has reported again; NULL: none yet */
  unsigned char *share;     /* scratch: the shares of a split report */
  uint64_t *mask;
  faro_error broken;
};

static count *count_of(const faro_crowd *crowd, size_t shuffler, uint64_t version) {
  return &crowd->counts[version * crowd->shufflers + shuffler];
}

static void give_up(faro_crowd *crowd, const faro_error *error) {
  pthread_mutex_lock(&crowd->lock);
  if (crowd->broken.status == FARO_OK) crowd->broken = *error;
  crowd->stopping = true;
  pthread_cond_broadcast(&crowd->changed);
  pthread_mutex_unlock(&crowd->lock);
}

/* Tickets and clients. */

/* In rounds: whether somebody of the term does not come back for a fit. Every fourth does not, and
 * a new client takes the place. */
static bool stays_away(const faro_crowd *crowd, size_t who) {
  enum { FOURTH = 4 };
  return faro_campaign_in_rounds(&crowd->trial->campaign) && crowd->people[who].sequence > 0 &&
         who % FOURTH == FOURTH - 1;
}

/* Whether the newest policy asks a client for a report. In phases and rounds it asks once, and
 * clients that report averages are asked once in all. */
static bool is_asked(const faro_crowd *crowd, const person *p) {
  const faro_trial *trial = crowd->trial;
  const bool once = faro_campaign_in_phases(&trial->campaign) || faro_campaign_in_rounds(&trial->campaign);
  if (p->busy || (once && p->answered >= crowd->newest)) return false;
  return !(p->counted && faro_trial_averages(&trial->params));
}

/* Finds the next client of a collector that may report now; false if none may. */
static bool pick_at(faro_crowd *crowd, size_t collector, size_t *who) {
  const size_t clients = (size_t)crowd->trial->params.clients;
  size_t *next = &crowd->next[collector];
  for (size_t i = 0; i < clients; i++) {
    *who = *next;
    *next = (*next + 1) % clients;
    if (crowd->place[*who] != collector) continue;
    if (!is_asked(crowd, &crowd->people[*who]) || stays_away(crowd, *who)) continue;
    crowd->people[*who].busy = true;
    return true;
  }
  return false;
}

/* Finds the next client that may report now; false if none may. Collectors take turns, so that the
 * tickets of a batch fill all of its portions. */
static bool pick(faro_crowd *crowd, size_t *who) {
  for (size_t i = 0; i < crowd->collectors; i++)
    if (pick_at(crowd, crowd->turns++ % crowd->collectors, who)) return true;
  return false;
}

/* Waits for tickets, and for clients that may report; returns the number of reports to make, 0 to
 * stop. */
static size_t take(worker *w) {
  faro_crowd *crowd = w->crowd;
  size_t reports = 0;
  pthread_mutex_lock(&crowd->lock);
  while (!crowd->stopping && reports == 0) {
    const uint64_t left = crowd->policy ? crowd->allowed - crowd->taken : 0;
    const size_t most = left < crowd->params.group ? (size_t)left : crowd->params.group;
    while (reports < most && pick(crowd, &w->who[reports])) reports++;
    if (reports == 0) pthread_cond_wait(&crowd->changed, &crowd->lock);
  }
  crowd->taken += reports;
  pthread_mutex_unlock(&crowd->lock);
  return reports;
}

/* Takes the newest policy and verifies it, as on any device. */
static faro_status relocate(worker *w, faro_error *error) {
  faro_crowd *crowd = w->crowd;
  faro_status status = FARO_OK;
  pthread_mutex_lock(&crowd->lock);
  if (w->moves < crowd->moves) status = faro_client_move(w->client, crowd->move, crowd->move_length, error);
  w->moves = crowd->moves;
  pthread_mutex_unlock(&crowd->lock);
  return status;
}

static faro_status follow(worker *w, faro_error *error) {
  faro_crowd *crowd = w->crowd;
  faro_status status = relocate(w, error);
  if (status != FARO_OK) return status;
  pthread_mutex_lock(&crowd->lock);
  if (faro_client_version(w->client) < crowd->version) {
    status = faro_client_policy(w->client, crowd->policy, crowd->policy_length, error);
    if (status == FARO_OK && w->plan)
      status = faro_plan_document_open(w->plan, crowd->policy, crowd->policy_length,
                                       crowd->trial->sign.public_key, error);
  }
  pthread_mutex_unlock(&crowd->lock);
  return status;
}

/* Playing. */

void faro_crowd_rows(const faro_arms *arms, double *rows) {
  for (size_t a = 0; a < arms->count; a++)
    for (size_t i = 0; i < arms->dimension; i++)
      rows[a * arms->dimension + i] = arms->x[i * arms->stride + a];
}

/* The mean gap of all arms. */
static double uniform_gap(const faro_env *world) {
  const size_t arms = faro_env_arms(world)->count;
  double uniform = 0;
  for (size_t a = 0; a < arms; a++) uniform += faro_env_gap(world, a);
  return uniform / (double)arms;
}

/* Plays one round and records its regret, which only the simulation knows. */
static faro_status play(worker *w, double *reward, faro_tally *tally, faro_error *error) {
  faro_env *world = w->crowd->world;
  pthread_mutex_lock(&w->crowd->world_lock);
  const faro_arms *arms = faro_env_arms(world);
  faro_crowd_rows(arms, w->rows);
  size_t arm = 0;
  const faro_status status = faro_client_choose(w->client, w->rows, arms->count, &arm, error);
  if (status == FARO_OK) {
    tally->regret += faro_env_gap(world, arm);
    tally->uniform += uniform_gap(world);
    *reward = faro_env_play(world, arm, w->x);
    tally->reward += *reward;
    tally->reports++;
  }
  pthread_mutex_unlock(&w->crowd->world_lock);
  return status;
}

/* Plays what the plan says, as one client who was never asked before, and tells the library every
 * reward. Where clients report averages, the world gives the averages of a client, and each of its
 * rewards is taken to be that. */
static faro_status play_plan(worker *w, double *reward, faro_tally *tally, faro_error *error) {
  const faro_plan_document *plan = w->plan;
  faro_env *world = w->crowd->world;
  size_t arm[FARO_PLAN_ARMS_MAX] = {0};
  uint64_t pulls[FARO_PLAN_ARMS_MAX] = {0};
  double average[FARO_PLAN_ARMS_MAX] = {0};
  double regret = 0, sum = 0, rounds = 0;
  faro_status status = FARO_OK;
  for (size_t i = 0; i < plan->arms; i++) arm[i] = (size_t)plan->play[i].arm, pulls[i] = plan->play[i].pulls;
  pthread_mutex_lock(&w->crowd->world_lock);
  if (faro_trial_averages(&w->crowd->trial->params)) faro_env_client(world, plan->arms, arm, pulls, average);
  else average[0] = faro_env_pull(world, arm[0]);
  for (size_t i = 0; i < plan->arms; i++) {
    regret += (double)pulls[i] * faro_env_gap(world, arm[i]);
    sum += (double)pulls[i] * average[i];
    rounds += (double)pulls[i];
  }
  tally->uniform += uniform_gap(world);
  pthread_mutex_unlock(&w->crowd->world_lock);
  tally->regret += regret / rounds;
  tally->reward += sum / rounds;
  tally->reports++;
  *reward = average[0];
  faro_client_change(w->client);
  for (size_t i = 0; i < plan->arms; i++)
    for (uint64_t k = 0; status == FARO_OK && k < pulls[i]; k++)
      status = faro_client_reward(w->client, arm[i], average[i], error);
  return status;
}

/* In rounds: what the device of a client of this term has kept is reported once more; others play,
 * and keep it. */
static faro_status play_round(worker *w, person *p, double *reward, faro_tally *tally, faro_error *error) {
  const size_t d = w->crowd->trial->params.dimension;
  if (p->x && faro_client_again(w->client, p->chosen)) {
    memcpy(w->x, p->x, d * sizeof *w->x);
    *reward = p->reward;
    tally->reports++;
    tally->again++;
    return FARO_OK;
  }
  const faro_status status = play(w, reward, tally, error);
  if (status != FARO_OK) return status;
  if (!p->x && !(p->x = calloc(d, sizeof *p->x))) return faro_fail(error, FARO_MEMORY, "out of memory");
  memcpy(p->x, w->x, d * sizeof *p->x);
  p->reward = *reward;
  p->chosen = faro_client_version(w->client);
  return FARO_OK;
}

static faro_status report(worker *w, person *p, double *reward, size_t *parts, faro_tally *tally,
                          faro_error *error) {
  if (w->plan) {
    const faro_status status = play_plan(w, reward, tally, error);
    return status == FARO_OK ? faro_client_report_plan(w->client, w->parts, parts, error) : status;
  }
  const bool rounds = faro_campaign_in_rounds(&w->crowd->trial->campaign);
  const faro_status status = rounds ? play_round(w, p, reward, tally, error) : play(w, reward, tally, error);
  if (status != FARO_OK) return status;
  const uint64_t chosen = rounds ? p->chosen : faro_client_version(w->client);
  return faro_client_report_late(w->client, chosen, w->x, *reward, w->parts, parts, error);
}

static void remember(faro_crowd *crowd, const double *x, double reward) {
  const size_t private =
      faro_campaign_in_phases(&crowd->trial->campaign) ? 0 : crowd->trial->params.dimension;
  for (size_t i = 0; i + 1 < private; i++) faro_patterns_add_real(crowd->secrets, x[i]);
  if (reward == 0 || reward == 1) return; /* found everywhere, by chance */
  faro_patterns_add_real(crowd->secrets, reward);
  faro_patterns_add_real(crowd->secrets, reward - 0.5);
}

/* Makes report i of a group of `reports`. Part p of it is frame p * reports + i. */
static faro_status make(worker *w, size_t i, size_t reports, size_t *parts, faro_tally *tally,
                        faro_error *error) {
  faro_crowd *crowd = w->crowd;
  double reward = 0;
  const faro_status status = report(w, &crowd->people[w->who[i]], &reward, parts, tally, error);
  if (status != FARO_OK) return status;
  pthread_mutex_lock(&crowd->lock);
  const uint64_t sequence = ++crowd->people[w->who[i]].sequence;
  remember(crowd, w->x, reward);
  pthread_mutex_unlock(&crowd->lock);
  for (size_t p = 0; p < *parts; p++) {
    unsigned char *frame = w->frames + (p * reports + i) * crowd->part_size;
    memcpy(frame, w->parts + p * crowd->part_size, crowd->part_size);
    faro_wire_report_restamp(frame, faro_client_version(w->client), sequence,
                             crowd->trial->tokens + w->who[i] * FARO_TOKEN_BYTES);
  }
  return FARO_OK;
}

/* Records. */

static void keep_body(faro_crowd *crowd, uint64_t version, const unsigned char *bytes) {
  const size_t stride = sizeof(body) + crowd->body_size;
  if (crowd->body_count == crowd->body_room) {
    const size_t room = 2 * crowd->body_room + 1024;
    unsigned char *bodies = realloc(crowd->bodies, room * stride);
    if (!bodies) {
      if (crowd->broken.status == FARO_OK) (void)faro_fail(&crowd->broken, FARO_MEMORY, "out of memory");
      return;
    }
    crowd->bodies = bodies;
    crowd->body_room = room;
  }
  unsigned char *at = crowd->bodies + crowd->body_count++ * stride;
  memcpy(at, &version, sizeof version);
  memcpy(at + sizeof(body), bytes, crowd->body_size);
}

/* Keeps the reports of the first few clients until one of these reports again: then its first one
 * is old. */
static void keep_old(faro_crowd *crowd, size_t who, const unsigned char *frame) {
  if (crowd->old) return;
  for (size_t i = 0; i < crowd->early_count; i++)
    if (crowd->early_of[i] == who) {
      crowd->old = crowd->early + i * crowd->part_size;
      return;
    }
  if (crowd->early_count == EARLY) return;
  memcpy(crowd->early + crowd->early_count * crowd->part_size, frame, crowd->part_size);
  crowd->early_of[crowd->early_count++] = who;
}

/* Adds the counts of a split report to `ones`: what shuffler and adder see together. */
static void reveal(faro_crowd *crowd, const faro_wire_report *report, uint64_t *ones) {
  const faro_campaign *c = &crowd->trial->campaign;
  memset(crowd->share, 0, 8 * crowd->entries);
  memset(crowd->mask, 0, crowd->entries * sizeof *crowd->mask);
  faro_split_add(c, report->body, crowd->share);
  if (faro_share_add(c, &crowd->trial->adder[report->shuffler], report->body + faro_split_packed(c),
                     crowd->mask, &crowd->broken) != FARO_OK)
    return;
  for (size_t i = 0; i < crowd->entries; i++)
    ones[i] += (faro_load64(crowd->share + 8 * i) + crowd->mask[i]) & (UINT64_MAX >> (64 - c->share_bits));
}

static void write_down(faro_crowd *crowd, size_t who, const unsigned char *frame, unsigned char answer) {
  const faro_wire_report report = faro_wire_report_head(frame);
  for (int all = 0; all < 2; all++) crowd->tally[all ? 0 : report.version].answers[answer]++;
  if (answer != FARO_VERDICT_CLOSED && answer != FARO_VERDICT_LIMITED)
    crowd->people[who].answered = report.version;
  if (answer != FARO_VERDICT_ACCEPTED && answer != FARO_VERDICT_KNOWN) return;
  crowd->people[who].counted = true;
  if (report.shuffler == 0) keep_old(crowd, who, frame);
  count *c = count_of(crowd, report.shuffler, report.version);
  c->parts++;
  if (crowd->form != FARO_WIRE_BITS) keep_body(crowd, report.version, report.body);
  else if (faro_campaign_is_split(&crowd->trial->campaign)) reveal(crowd, &report, c->ones);
  else
    for (size_t i = 0; i < crowd->entries; i++) c->ones[i] += faro_load32(report.body + 4 * i);
}

/* The frames of a group for one target. */
typedef struct parcel {
  size_t part;      /* which part of the reports: says where to send them */
  size_t collector; /* that of their clients */
  const unsigned char *frames;
  size_t reports;
  unsigned char *answers;
  double end; /* when to give up */
} parcel;

/* Where a client's reports go. In a crowd the library knows one client of many. */
static const char *target_of(worker *w, const parcel *g, char url[static FARO_URL_MAX + 16]) {
  if (!w->lists) return faro_client_target(w->client, g->part);
  const size_t shuffler = faro_wire_report_head(g->frames).shuffler;
  snprintf(url, FARO_URL_MAX + 16, "%s/v1/reports", w->lists[shuffler].collector[g->collector].url);
  return url;
}

/* Sends the frames until they are answered. */
static faro_status insist(worker *w, const parcel *g, uint64_t *retries, faro_error *error) {
  for (faro_backoff backoff = {0};; ++*retries) {
    double wait = 0;
    char url[FARO_URL_MAX + 16];
    faro_error why = {0};
    faro_status status = relocate(w, &why);
    if (status == FARO_OK)
      status = faro_client_send_many(w->sender, target_of(w, g, url), g->frames, g->reports,
                                     w->crowd->part_size, g->answers, &wait, &why);
    if (status == FARO_OK) return FARO_OK;
    if (status != FARO_SYSTEM || faro_clock() > g->end)
      return faro_fail(error, status, "a report was not answered: %s", why.message);
    faro_sleep(0.2 * faro_backoff_next(&backoff));
  }
}

/* How many reports from `start` on were not accepted for now. */
static size_t run_of_closed(const parcel *g, size_t start) {
  size_t run = 0;
  while (start + run < g->reports && g->answers[start + run] == FARO_VERDICT_CLOSED) run++;
  return run;
}

/* Sends until all are answered for good. Reports that were not accepted for now, while others were,
 * are sent again by themselves. If none of a post is accepted for now, that is the final answer: so
 * each time there is less to send. */
static faro_status deliver(worker *w, const parcel *g, uint64_t *retries, faro_error *error) {
  parcel part = *g;
  faro_status status = insist(w, &part, retries, error);
  for (size_t at = 0; status == FARO_OK;) {
    if (run_of_closed(&part, 0) == part.reports) at += part.reports;
    while (at < g->reports && g->answers[at] != FARO_VERDICT_CLOSED) at++;
    if (at == g->reports) break;
    part = (parcel){.part = g->part,
                    .collector = g->collector,
                    .frames = g->frames + at * w->crowd->part_size,
                    .reports = run_of_closed(g, at),
                    .answers = g->answers + at,
                    .end = g->end};
    ++*retries;
    status = insist(w, &part, retries, error);
  }
  return status;
}

/* Sends the frames of a group, those of each collector's clients by themselves. */
static faro_status distribute(worker *w, const parcel *all, uint64_t *retries, faro_error *error) {
  const faro_crowd *crowd = w->crowd;
  const size_t size = crowd->part_size;
  faro_status status = FARO_OK;
  if (crowd->collectors == 1) return deliver(w, all, retries, error);
  for (size_t c = 0; c < crowd->collectors && status == FARO_OK; c++) {
    parcel own = *all;
    own.collector = c;
    own.frames = w->sorted;
    own.answers = w->sorted_answers;
    own.reports = 0;
    for (size_t i = 0; i < all->reports; i++)
      if (crowd->place[w->who[i]] == c)
        memcpy(w->sorted + own.reports++ * size, all->frames + i * size, size);
    if (own.reports > 0) status = deliver(w, &own, retries, error);
    for (size_t i = 0, k = 0; status == FARO_OK && i < all->reports; i++)
      if (crowd->place[w->who[i]] == c) all->answers[i] = w->sorted_answers[k++];
  }
  return status;
}

static void add(faro_tally *to, const faro_tally *more) {
  to->reports += more->reports;
  to->retries += more->retries;
  to->again += more->again;
  to->reward += more->reward;
  to->regret += more->regret;
  to->uniform += more->uniform;
}

static void settle(worker *w, size_t reports, const faro_tally *tally) {
  faro_crowd *crowd = w->crowd;
  pthread_mutex_lock(&crowd->lock);
  add(&crowd->tally[0], tally);
  add(&crowd->tally[faro_client_version(w->client)], tally);
  for (size_t i = 0; i < reports; i++) crowd->people[w->who[i]].busy = false;
  crowd->settled += reports;
  pthread_cond_broadcast(&crowd->changed);
  pthread_mutex_unlock(&crowd->lock);
}

static faro_status work_once(worker *w, size_t reports, faro_error *error) {
  faro_crowd *crowd = w->crowd;
  faro_tally tally = {0};
  size_t parts = 0;
  faro_status status = follow(w, error);
  for (size_t i = 0; i < reports && status == FARO_OK; i++)
    status = make(w, i, reports, &parts, &tally, error);
  for (size_t p = 0; p < parts && status == FARO_OK; p++) {
    const unsigned char *frames = w->frames + p * reports * crowd->part_size;
    const parcel g = {.part = p,
                      .frames = frames,
                      .reports = reports,
                      .answers = w->answers,
                      .end = faro_clock() + crowd->params.patience};
    status = distribute(w, &g, &tally.retries, error);
    pthread_mutex_lock(&crowd->lock);
    for (size_t i = 0; i < reports && status == FARO_OK; i++)
      write_down(crowd, w->who[i], frames + i * crowd->part_size, w->answers[i]);
    pthread_mutex_unlock(&crowd->lock);
  }
  if (status == FARO_OK) settle(w, reports, &tally);
  return status;
}

static void *work(void *context) {
  worker *w = context;
  faro_error error = {0};
  for (size_t reports; (reports = take(w)) > 0;)
    if (work_once(w, reports, &error) != FARO_OK) {
      give_up(w->crowd, &error);
      break;
    }
  return NULL;
}

/* Set-up. */

/* Asks each shuffler where its collectors are, and gives the lists to the library, too. */
static faro_status find_collectors(worker *w, faro_error *error) {
  const faro_campaign *campaign = &w->crowd->trial->campaign;
  faro_status status = FARO_OK;
  if (w->crowd->trial->params.collectors == 0) return FARO_OK;
  w->lists = calloc(campaign->shufflers, sizeof *w->lists);
  w->sorted = malloc(w->crowd->params.group * w->crowd->part_size);
  w->sorted_answers = malloc(w->crowd->params.group);
  if (!w->lists || !w->sorted || !w->sorted_answers) return faro_fail(error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; i < campaign->shufflers && status == FARO_OK; i++) {
    char url[FARO_URL_MAX + 16];
    faro_sent sent;
    snprintf(url, sizeof url, "%s/v1/collectors", campaign->shuffler[i].url);
    status = faro_send_get(w->sender, url, &sent, error);
    if (status == FARO_OK)
      status = faro_collectors_open(&w->lists[i], sent.bytes, sent.length, campaign, i, error);
    if (status == FARO_OK) status = faro_client_collectors(w->client, i, sent.bytes, sent.length, error);
  }
  return status;
}

static faro_status start_worker(faro_crowd *crowd, worker *w, faro_error *error) {
  const faro_trial *trial = crowd->trial;
  const size_t group = crowd->params.group, most = faro_campaign_targets(&trial->campaign);
  const size_t d = trial->params.dimension;
  const faro_client_params params = {.signer = trial->sign.public_key,
                                     .token = trial->tokens,
                                     .epsilon = trial->params.epsilon,
                                     .delta = trial->params.delta,
                                     .trust = "joint",
                                     .honest = 1,
                                     .user_level = trial->params.contributions > 0};
  w->crowd = crowd;
  w->parts = malloc(most * crowd->part_size);
  w->frames = malloc(most * group * crowd->part_size);
  w->answers = malloc(group);
  w->who = calloc(group, sizeof *w->who);
  w->rows = calloc(trial->params.arms * d, sizeof *w->rows);
  w->x = calloc(d, sizeof *w->x);
  const bool phases = faro_campaign_in_phases(&trial->campaign);
  w->plan = phases ? calloc(1, sizeof *w->plan) : NULL;
  if (!w->parts || !w->frames || !w->answers || !w->who || !w->rows || !w->x || (phases && !w->plan))
    return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_status status = faro_client_open(&w->client, &params, error);
  if (status == FARO_OK)
    status = faro_client_campaign(w->client, trial->document, trial->document_length, error);
  if (status == FARO_OK) status = faro_sender_create(&w->sender, &(faro_sender_params){.timeout = 10}, error);
  if (status == FARO_OK) status = find_collectors(w, error);
  if (status != FARO_OK) return status;
  if (pthread_create(&w->thread, NULL, work, w) != 0)
    return faro_fail(error, FARO_SYSTEM, "cannot start a thread");
  w->started = true;
  return FARO_OK;
}

/* Linear worlds append sqrt(1/2) to directions of that length, so that contexts have length 1. */
static faro_draw draw_of(const faro_trial_params *trial) {
  return trial->link == FARO_LINK_LINEAR ? FARO_DRAW_APPENDED : FARO_DRAW_BALL;
}

double faro_crowd_constant(const faro_trial_params *trial) {
  return draw_of(trial) == FARO_DRAW_APPENDED ? sqrt(0.5) : 0;
}

faro_status faro_crowd_world(faro_env **world, const faro_trial_params *trial, const faro_crowd_params *crowd,
                             uint64_t horizon, faro_error *error) {
  const faro_env_kind *kind = faro_env_find(crowd->world);
  if (!kind || (kind->traits & FARO_ENV_STREAM) || kind->link != trial->link)
    return faro_fail(error, FARO_INVALID, "the environment's rewards must be %s (got %s)",
                     faro_link_name(trial->link), crowd->world);
  const faro_env_params params = {.dimension = trial->dimension,
                                  .arms = trial->arms,
                                  .horizon = horizon,
                                  .reward = FARO_REWARD_UNIFORM,
                                  .draw = draw_of(trial)};
  const faro_status status = faro_env_create(world, kind, &params, error);
  if (status == FARO_OK) faro_env_begin(*world, crowd->seed, 0);
  return status;
}

/* Finds out which collector each client belongs to. A worker holds some of the clients, and must
 * always find another one. */
static faro_status settle_down(faro_crowd *crowd, faro_error *error) {
  const faro_trial *trial = crowd->trial;
  size_t first = 0, clients[FARO_COLLECTORS_MAX] = {0};
  crowd->collectors = faro_trial_receivers(trial, 0, &first);
  for (uint64_t i = 0; i < trial->params.clients; i++) {
    crowd->place[i] = faro_trial_receiver(trial, 0, trial->tokens + i * FARO_TOKEN_BYTES) - first;
    clients[crowd->place[i]]++;
  }
  for (size_t i = 0; i < crowd->collectors; i++)
    if (clients[i] <= crowd->params.threads * crowd->params.group)
      return faro_fail(
          error, FARO_INVALID,
          "collector %zu has %zu clients, and there must be more than %zu: threads times reports "
          "per post",
          i, clients[i], crowd->params.threads * crowd->params.group);
  return FARO_OK;
}

static faro_status hold(faro_crowd *crowd, faro_error *error) {
  const faro_campaign *campaign = &crowd->trial->campaign;
  crowd->part_size = faro_wire_report_size(campaign);
  crowd->entries = faro_wire_report_entries(campaign);
  crowd->form = faro_campaign_form(campaign);
  crowd->body_size = crowd->part_size - FARO_REPORT_HEAD;
  crowd->shufflers = faro_campaign_targets(campaign);
  crowd->versions = (size_t)campaign->batches + 2;
  crowd->people = calloc(crowd->trial->params.clients, sizeof *crowd->people);
  crowd->place = calloc(crowd->trial->params.clients, sizeof *crowd->place);
  crowd->tally = calloc(crowd->versions, sizeof *crowd->tally);
  crowd->counts = calloc(crowd->versions * crowd->shufflers, sizeof *crowd->counts);
  crowd->workers = calloc(crowd->params.threads, sizeof *crowd->workers);
  crowd->early = malloc(EARLY * crowd->part_size);
  crowd->share = malloc(8 * crowd->entries);
  crowd->mask = calloc(crowd->entries, sizeof *crowd->mask);
  bool held = crowd->people && crowd->place && crowd->tally && crowd->counts && crowd->workers &&
              crowd->early && crowd->share && crowd->mask;
  for (size_t i = 0; held && i < crowd->versions * crowd->shufflers; i++)
    held = (crowd->counts[i].ones = calloc(crowd->entries, sizeof(uint64_t))) != NULL;
  if (!held) return faro_fail(error, FARO_MEMORY, "out of memory");
  const faro_status status = settle_down(crowd, error);
  if (status != FARO_OK) return status;
  return faro_patterns_create(&crowd->secrets, crowd->params.listen, error);
}

faro_status faro_crowd_create(faro_crowd **out, const faro_trial *trial, const faro_crowd_params *params,
                              faro_error *error) {
  if (params->threads * params->group >= trial->params.clients)
    return faro_fail(error, FARO_INVALID,
                     "there must be more clients than threads times reports per post (got %llu)",
                     (unsigned long long)trial->params.clients);
  faro_crowd *crowd = calloc(1, sizeof *crowd);
  if (!crowd) return faro_fail(error, FARO_MEMORY, "out of memory");
  crowd->trial = trial;
  crowd->params = *params;
  pthread_mutex_init(&crowd->lock, NULL);
  pthread_mutex_init(&crowd->world_lock, NULL);
  pthread_cond_init(&crowd->changed, NULL);
  faro_status status = hold(crowd, error);
  if (status == FARO_OK)
    status = faro_crowd_world(&crowd->world, &trial->params, params, trial->campaign.params.horizon, error);
  for (size_t i = 0; i < params->threads && status == FARO_OK; i++)
    status = start_worker(crowd, &crowd->workers[i], error);
  if (status != FARO_OK) faro_crowd_destroy(crowd);
  else *out = crowd;
  return status;
}

void faro_crowd_stop(faro_crowd *crowd) {
  pthread_mutex_lock(&crowd->lock);
  crowd->stopping = true;
  pthread_cond_broadcast(&crowd->changed);
  pthread_mutex_unlock(&crowd->lock);
  for (size_t i = 0; crowd->workers && i < crowd->params.threads; i++) {
    if (crowd->workers[i].started) pthread_join(crowd->workers[i].thread, NULL);
    crowd->workers[i].started = false;
  }
}

static void free_worker(worker *w) {
  faro_client_close(w->client);
  faro_sender_destroy(w->sender);
  free(w->parts);
  free(w->frames);
  free(w->answers);
  free(w->who);
  free(w->rows);
  free(w->x);
  free(w->plan);
  free(w->lists);
  free(w->sorted);
  free(w->sorted_answers);
}

void faro_crowd_destroy(faro_crowd *crowd) {
  if (!crowd) return;
  faro_crowd_stop(crowd);
  for (size_t i = 0; crowd->workers && i < crowd->params.threads; i++) free_worker(&crowd->workers[i]);
  for (size_t i = 0; crowd->people && i < crowd->trial->params.clients; i++) free(crowd->people[i].x);
  for (size_t i = 0; crowd->counts && i < crowd->versions * crowd->shufflers; i++)
    free(crowd->counts[i].ones);
  faro_env_destroy(crowd->world);
  faro_patterns_destroy(crowd->secrets);
  free(crowd->workers);
  free(crowd->people);
  free(crowd->place);
  free(crowd->tally);
  free(crowd->counts);
  free(crowd->bodies);
  free(crowd->move);
  free(crowd->policy);
  free(crowd->early);
  free(crowd->share);
  free(crowd->mask);
  pthread_cond_destroy(&crowd->changed);
  pthread_mutex_destroy(&crowd->lock);
  pthread_mutex_destroy(&crowd->world_lock);
  free(crowd);
}

faro_status faro_crowd_move(faro_crowd *crowd, const char *document, size_t length, faro_error *error) {
  char *copy = malloc(length + 1);
  if (!copy) return faro_fail(error, FARO_MEMORY, "out of memory");
  memcpy(copy, document, length);
  pthread_mutex_lock(&crowd->lock);
  free(crowd->move);
  crowd->move = copy;
  crowd->move_length = length;
  crowd->moves++;
  crowd->version = 0; /* the policy may be signed by an old key, which clients refuse from now on */
  pthread_mutex_unlock(&crowd->lock);
  return FARO_OK;
}

/* A term begins with new clients, and for a fit the same come first. */
static void begin_round(faro_crowd *crowd) {
  uint64_t fit = 0;
  (void)faro_campaign_term_of(&crowd->trial->campaign, crowd->version - 1, &fit);
  for (size_t i = 0; i < crowd->collectors; i++)
    if (fit == 0) {
      while (crowd->people[crowd->next[i]].sequence > 0 && crowd->next[i] + 1 < crowd->trial->params.clients)
        crowd->next[i]++;
      crowd->first[i] = crowd->next[i];
    } else crowd->next[i] = crowd->first[i];
}

faro_status faro_crowd_policy(faro_crowd *crowd, const char *document, size_t length, uint64_t version,
                              faro_error *error) {
  char *copy = malloc(length + 1);
  if (!copy) return faro_fail(error, FARO_MEMORY, "out of memory");
  memcpy(copy, document, length);
  pthread_mutex_lock(&crowd->lock);
  free(crowd->policy);
  crowd->policy = copy;
  crowd->policy_length = length;
  crowd->version = crowd->newest = version;
  crowd->turns = 0;
  if (faro_campaign_in_rounds(&crowd->trial->campaign)) begin_round(crowd);
  pthread_cond_broadcast(&crowd->changed);
  pthread_mutex_unlock(&crowd->lock);
  return FARO_OK;
}

void faro_crowd_allow(faro_crowd *crowd, uint64_t reports) {
  pthread_mutex_lock(&crowd->lock);
  crowd->allowed += reports;
  pthread_cond_broadcast(&crowd->changed);
  pthread_mutex_unlock(&crowd->lock);
}

faro_status faro_crowd_visit(faro_crowd *crowd, uint64_t people, faro_tally *tally, faro_error *error) {
  worker *w = &crowd->workers[0];
  double reward = 0;
  *tally = (faro_tally){0};
  faro_status status = follow(w, error);
  for (uint64_t i = 0; i < people && status == FARO_OK; i++) status = play(w, &reward, tally, error);
  return status;
}

bool faro_crowd_settled(faro_crowd *crowd, double seconds) {
  const double end = faro_clock() + seconds;
  for (;;) {
    pthread_mutex_lock(&crowd->lock);
    const bool settled = crowd->settled == crowd->allowed, stopped = crowd->stopping;
    pthread_mutex_unlock(&crowd->lock);
    if (settled || stopped || faro_clock() > end) return settled;
    faro_sleep(0.0005);
  }
}

uint64_t faro_crowd_progress(faro_crowd *crowd) {
  pthread_mutex_lock(&crowd->lock);
  const uint64_t settled = crowd->settled;
  pthread_mutex_unlock(&crowd->lock);
  return settled;
}

const char *faro_crowd_broken(faro_crowd *crowd) {
  pthread_mutex_lock(&crowd->lock);
  const bool broken = crowd->broken.status != FARO_OK; /* once set, it does not change */
  pthread_mutex_unlock(&crowd->lock);
  return broken ? crowd->broken.message : NULL;
}

faro_tally faro_crowd_tally(const faro_crowd *crowd, uint64_t version) {
  return version < crowd->versions ? crowd->tally[version] : (faro_tally){0};
}

uint64_t faro_crowd_counted(const faro_crowd *crowd, size_t shuffler, uint64_t version, uint64_t *ones) {
  uint64_t parts = 0;
  for (uint64_t v = 1; v < crowd->versions; v++) {
    if (version != 0 && v != version) continue;
    const count *c = count_of(crowd, shuffler, v);
    parts += c->parts;
    for (size_t i = 0; ones && i < crowd->entries; i++) ones[i] += c->ones[i];
  }
  return parts;
}

const unsigned char *faro_crowd_body(const faro_crowd *crowd, size_t index, uint64_t *version) {
  if (index >= crowd->body_count) return NULL;
  const unsigned char *at = crowd->bodies + index * (sizeof(body) + crowd->body_size);
  memcpy(version, at, sizeof *version);
  return at + sizeof(body);
}

double faro_crowd_gap(const faro_crowd *crowd, size_t arm) { return faro_env_gap(crowd->world, arm); }
double faro_crowd_uniform(const faro_crowd *crowd) { return uniform_gap(crowd->world); }

const faro_patterns *faro_crowd_secrets(const faro_crowd *crowd) { return crowd->secrets; }
const unsigned char *faro_crowd_old(const faro_crowd *crowd) { return crowd->old; }
