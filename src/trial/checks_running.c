/* checks_running: the list of checks, and those that need running roles. checks_after.c has the
 * others. */
#include "trial/checks.h"

#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "service/client/client_send.h"
#include "service/state/spool.h"

void faro_checks_add(faro_checks *list, char letter, const char *text, bool passed, const char *found, ...) {
  FARO_INVARIANT(list->count < FARO_CHECKS_MAX);
  faro_check *row = &list->row[list->count++];
  *row = (faro_check){.letter = letter, .text = text, .passed = passed};
  va_list args;
  va_start(args, found);
  vsnprintf(row->found, sizeof row->found, found, args);
  va_end(args);
}

bool faro_checks_passed(const faro_checks *list) {
  bool passed = list->count > 0;
  for (size_t i = 0; i < list->count; i++) passed = passed && list->row[i].passed;
  return passed;
}

/* The roles' own counts. */

/* The value of a metric in the text of /metrics; -1 if it is not there. */
static double metric(const char *text, const char *name) {
  const size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, name, length) == 0 && line[length] == ' ') return strtod(line + length, NULL);
  }
  return -1;
}

typedef struct counts {
  double accepted, known, held, closed, applied, reports, spoiled;
} counts;

static faro_status ask(faro_sender *sender, const faro_trial *trial, size_t role, counts *t,
                       faro_error *error) {
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  const faro_status status =
      faro_send_get(sender, faro_trial_url(trial, role, "/metrics", url), &sent, error);
  if (status != FARO_OK) return status;
  *t = (counts){.accepted = metric(sent.bytes, "faro_reports_total{result=\"accepted\"}"),
                .known = metric(sent.bytes, "faro_reports_total{result=\"known\"}"),
                .closed = metric(sent.bytes, "faro_batches_closed_total"),
                .applied = metric(sent.bytes, "faro_analyzer_applied_total"),
                .reports = metric(sent.bytes, "faro_analyzer_reports_total"),
                .spoiled = metric(sent.bytes, "faro_analyzer_spoiled_total")};
  return FARO_OK;
}

static bool same(double shown, uint64_t number) { return shown >= 0 && (uint64_t)shown == number; }

/* Counts the reports in the open batch, from the file of the role that collects them: no metric
 * shows that number. */
static faro_status ask_file(const faro_trial *trial, size_t role, counts *t, faro_error *error) {
  char path[FARO_TRIAL_PATH];
  uint64_t held = 0;
  const faro_status status = faro_spool_count_open(
      faro_trial_file(trial, role, role > 0 ? ".db" : ".db.intake", path), &held, error);
  t->held = (double)held;
  return status;
}

/* Reports in the batches, or portions, that a receiver has closed. */
static uint64_t in_closed(const faro_trial *trial, size_t shuffler, size_t collector, size_t collectors,
                          const counts *t) {
  uint64_t reports = 0;
  for (uint64_t n = 0; n < (uint64_t)t->closed; n++)
    reports += faro_portion_size(faro_campaign_size(&trial->campaign, shuffler, n), collector, collectors);
  return reports;
}

/* A shuffler, or all its collectors together. It counts a report when its batch closes. */
static faro_status ask_receiver(faro_sender *sender, const faro_trial *trial, size_t shuffler, counts *all,
                                bool *good, faro_error *error) {
  size_t first = 0;
  const size_t receivers = faro_trial_receivers(trial, shuffler, &first);
  faro_status status = FARO_OK;
  for (size_t i = 0; i < receivers && status == FARO_OK; i++) {
    counts t = {0};
    status = ask(sender, trial, first + i, &t, error);
    if (status == FARO_OK) status = ask_file(trial, first + i, &t, error);
    *good = *good && same(t.accepted, in_closed(trial, shuffler, i, receivers, &t));
    all->accepted += t.accepted;
    all->held += t.held;
    all->closed = i == 0 || t.closed < all->closed ? t.closed : all->closed;
  }
  return status;
}

static faro_status ask_receivers(faro_sender *sender, const faro_trial *trial, const faro_crowd *crowd,
                                 counts *all, uint64_t *counted, bool *good, faro_error *error) {
  const size_t targets = faro_campaign_targets(&trial->campaign);
  faro_status status = FARO_OK;
  for (size_t i = 0; i < targets && status == FARO_OK; i++) {
    counts t = {0};
    status = ask_receiver(sender, trial, i, &t, good, error);
    if (status != FARO_OK) break;
    const uint64_t here = faro_crowd_counted(crowd, i, 0, NULL);
    *good = *good && same(t.accepted + t.held, here);
    *counted += here;
    all->accepted += t.accepted;
    all->closed += t.closed;
    all->held += t.held;
  }
  return status;
}

void faro_check_counters(faro_checks *list, const faro_trial *trial, const faro_crowd *crowd,
                         uint64_t released, bool again) {
  faro_sender *sender = NULL;
  faro_error error = {0};
  counts analyzer = {0}, all = {0};
  uint64_t counted = 0;
  bool good = true;
  faro_status status = faro_sender_create(&sender, &(faro_sender_params){0}, &error);
  if (status == FARO_OK) status = ask(sender, trial, 0, &analyzer, &error);
  if (status == FARO_OK) status = ask_receivers(sender, trial, crowd, &all, &counted, &good, &error);
  faro_sender_destroy(sender);
  if (status != FARO_OK) {
    faro_checks_add(list, 'a', "the roles show their counts", false, "%s", error.message);
    return;
  }
  faro_checks_add(
      list, again ? 'd' : 'a',
      again ? "refused reports are not counted"
            : "acknowledged reports = those in closed batches and in the open one",
      good, "%" PRIu64 " acknowledged, %.0f in closed batches, %.0f batch%s closed, %.0f report%s open",
      counted, all.accepted, all.closed, all.closed == 1 ? "" : "es", all.held, all.held == 1 ? "" : "s");
  if (again) return;
  const bool applied = same(analyzer.reports, faro_campaign_reports(&trial->campaign, released)) &&
                       same(analyzer.applied, released);
  faro_checks_add(list, 'a', "the analyzer counted what was released", applied && analyzer.spoiled == 0,
                  "%.0f reports in %.0f batches, %.0f spoiled", analyzer.reports, analyzer.applied,
                  analyzer.spoiled);
}

/* The ledger. */

static uint64_t count_in(const json_t *object, const char *key) {
  return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void check_ledger(faro_checks *list, const faro_trial *trial, uint64_t released, const json_t *json) {
  const json_t *batches = json_object_get(json, "batches"), *rows = json_object_get(json, "rows");
  const json_t *spent = json_object_get(json, "spent"), *claim = json_object_get(json, "claim");
  const uint64_t charged = count_in(batches, "charged"), allowed = count_in(batches, "allowed");
  const bool phases = faro_campaign_in_phases(&trial->campaign);
  const uint64_t asked = trial->campaign.phases.reports; /* the most in all */
  bool in_order = json_array_size(rows) == released;
  uint64_t reports = 0;
  for (size_t i = 0; i < json_array_size(rows); i++) {
    in_order = in_order && count_in(json_array_get(rows, i), "batch") == i;
    reports += count_in(json_array_get(rows, i), "users");
  }
  const double epsilon = json_number_value(json_object_get(spent, "epsilon")),
               most = json_number_value(json_object_get(claim, "epsilon"));
  faro_checks_add(list, 'f', "the ledger has one line for each released batch",
                  in_order && charged == released, "%zu lines for %" PRIu64 " batches", json_array_size(rows),
                  released);
  faro_checks_add(list, 'f', "the budget is not exceeded",
                  charged <= allowed && allowed == faro_campaign_batches(&trial->campaign) &&
                      (!phases || reports <= asked) && epsilon <= most && most <= trial->params.epsilon,
                  "%" PRIu64 " of %" PRIu64 " %s; epsilon %.4g of %.4g", phases ? reports : charged,
                  phases ? asked : allowed, phases ? "reports" : "releases", epsilon, most);
}

void faro_check_ledger(faro_checks *list, const faro_trial *trial, uint64_t released) {
  faro_sender *sender = NULL;
  faro_error error = {0};
  char url[FARO_URL_MAX + 1];
  faro_sent sent;
  faro_status status = faro_sender_create(&sender, &(faro_sender_params){.limit = 16 << 20}, &error);
  if (status == FARO_OK)
    status = faro_send_get(sender, faro_trial_url(trial, 0, "/v1/ledger", url), &sent, &error);
  json_t *json = status == FARO_OK ? json_loadb(sent.bytes, sent.length, 0, NULL) : NULL;
  if (json) check_ledger(list, trial, released, json);
  else faro_checks_add(list, 'f', "the analyzer shows its ledger", false, "%s", error.message);
  json_decref(json);
  faro_sender_destroy(sender);
}

/* Refusals. */

typedef struct attempt {
  faro_checks *list;
  faro_sender *sender;
  const faro_trial *trial;
  size_t size;
} attempt;

/* Sends a frame that must be refused for this reason. */
static void must_refuse(const attempt *a, const char *text, const unsigned char *frame, size_t length,
                        const char *reason) {
  faro_error error = {0};
  char target[FARO_URL_MAX + 16];
  const size_t role = faro_trial_receiver(a->trial, 0, faro_wire_report_head(frame).token);
  snprintf(target, sizeof target, "http://127.0.0.1:%u/v1/reports", faro_relay_port(a->trial->relay[role]));
  const faro_status status = faro_client_send(a->sender, target, frame, length, NULL, &error);
  faro_checks_add(a->list, 'd', text, status == FARO_INVALID && strstr(error.message, reason), "%s",
                  status == FARO_OK ? "it was accepted" : error.message);
}

/* In phases: plays what the plan says, and reports it. */
static faro_status report_plan(faro_client *client, unsigned char *parts, size_t *count, faro_error *error) {
  faro_status status = FARO_OK;
  while (status == FARO_OK && !faro_client_complete(client)) {
    size_t arm = 0;
    status = faro_client_next(client, &arm, NULL, error);
    if (status == FARO_OK) status = faro_client_reward(client, arm, 0, error);
  }
  return status == FARO_OK ? faro_client_report_plan(client, parts, count, error) : status;
}

/* Makes a report of client `who` under this policy. */
static faro_status make_report(const faro_trial *trial, uint64_t who, const faro_document *policy,
                               unsigned char *parts, faro_error *error) {
  const faro_client_params params = {.signer = trial->sign.public_key,
                                     .token = trial->tokens + who * FARO_TOKEN_BYTES,
                                     .epsilon = trial->params.epsilon,
                                     .delta = trial->params.delta,
                                     .trust = "joint",
                                     .honest = 1};
  faro_client *client = NULL;
  size_t count = 0;
  double *x = calloc(trial->params.dimension, sizeof *x);
  faro_status status =
      x ? faro_client_open(&client, &params, error) : faro_fail(error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK)
    status = faro_client_campaign(client, trial->document, trial->document_length, error);
  if (status == FARO_OK) status = faro_client_policy(client, policy->bytes, policy->length, error);
  if (status == FARO_OK && faro_client_in_phases(client)) status = report_plan(client, parts, &count, error);
  else if (status == FARO_OK) status = faro_client_report(client, x, 0, parts, &count, error);
  faro_client_close(client);
  free(x);
  return status;
}

/* A client whose report is the last one that the open batch lacks: its collector collects. The head
 * gets that client's token, and a number that was not used before. */
static void give_to_open(const faro_trial *trial, uint64_t released, unsigned char *frame) {
  const uint64_t missing = faro_campaign_size(&trial->campaign, 0, released) - 1;
  const faro_wire_report head = faro_wire_report_head(frame);
  size_t first = 0;
  uint64_t who = 0;
  const size_t open = missing % faro_trial_receivers(trial, 0, &first);
  while (faro_trial_receiver(trial, 0, trial->tokens + who * FARO_TOKEN_BYTES) != first + open) who++;
  faro_wire_report_restamp(frame, head.version, 1000, trial->tokens + who * FARO_TOKEN_BYTES);
}

static void try_all(const attempt *a, unsigned char *frame, unsigned char *old, const char *again) {
  const size_t size = a->size;
  must_refuse(a, "a report under an old policy is refused", frame, size, "policy");
  must_refuse(a, "half a report is refused", frame, size / 2, "malformed");
  must_refuse(a, again ? "a client's second report is refused" : "a replayed report is refused", old, size,
              again ? again : "sequence number was used");
  frame[0] ^= 1;
  must_refuse(a, "a malformed report is refused", frame, size, "malformed");
  frame[0] ^= 1;
  frame[FARO_REPORT_CAMPAIGN_AT] ^= 1;
  must_refuse(a, "a report for another campaign is refused", frame, size, "another campaign");
  frame[FARO_REPORT_CAMPAIGN_AT] ^= 1;
  faro_wire_report unknown = faro_wire_report_head(frame);
  randombytes_buf(unknown.token, sizeof unknown.token);
  faro_wire_report_restamp(frame, unknown.version, unknown.sequence, unknown.token);
  must_refuse(a, "a report with an unknown token is refused", frame, size, "token is not known");
}

/* Where clients report once, nobody has an old report; then a client tries to report again. */
static faro_status find_old(const faro_trial *trial, const faro_crowd *crowd, const faro_document *newest,
                            uint64_t released, unsigned char *old, size_t size, faro_error *error) {
  if (newest) {
    const faro_status status = make_report(trial, 0, newest, old, error);
    if (status == FARO_OK) give_to_open(trial, released, old); /* the number of the first was 1 */
    return status;
  }
  const unsigned char *found = faro_crowd_old(crowd);
  if (!found) return faro_fail(error, FARO_INVALID, "no client has reported twice");
  memcpy(old, found, size);
  return FARO_OK;
}

void faro_check_refusals(faro_checks *list, const faro_trial *trial, const faro_crowd *crowd,
                         uint64_t released, const faro_document *stale, const faro_document *newest) {
  const size_t shufflers = faro_campaign_targets(&trial->campaign);
  attempt a = {.list = list, .trial = trial, .size = faro_wire_report_size(&trial->campaign)};
  faro_error error = {0};
  unsigned char *parts = calloc(shufflers + 1, a.size);
  faro_status status = parts ? FARO_OK : faro_fail(&error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK) status = faro_sender_create(&a.sender, &(faro_sender_params){0}, &error);
  if (status == FARO_OK) status = make_report(trial, trial->params.clients, stale, parts, &error);
  if (status == FARO_OK && trial->params.collectors > 0) give_to_open(trial, released, parts);
  if (status == FARO_OK)
    status = find_old(trial, crowd, newest, released, parts + shufflers * a.size, a.size, &error);
  if (status == FARO_OK)
    try_all(&a, parts, parts + shufflers * a.size, newest ? "as many reports as the campaign allows" : NULL);
  else faro_checks_add(list, 'd', "bad reports are refused", false, "%s", error.message);
  faro_sender_destroy(a.sender);
  free(parts);
}

/* No core file can ever hold a report. */
void faro_check_processes(faro_checks *list, const faro_trial *trial) {
  bool passed = true;
  for (size_t role = 0; role < trial->processes; role++) {
    char path[64], line[256];
    bool off = false;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)trial->child[role].pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
      if (strncmp(line, "Max core file size", 18) == 0) off = strtoull(line + 18, NULL, 10) == 0;
    if (file) fclose(file);
    passed = passed && off;
  }
  faro_checks_add(list, 'i', "no role can leave a core file", passed, "%zu process%s", trial->processes,
                  trial->processes == 1 ? "" : "es");
}
