/* campaign_ledger: see the header. */
#include "service/analyzer/campaign_ledger.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How many rounds of one client can be in this many batches. */
static uint64_t rounds_of(const faro_claim *claim, uint64_t batches) {
  if (claim->level == FARO_LEVEL_EVENT) return 1;
  return batches < claim->contributions ? batches : claim->contributions;
}

/* Campaigns in rounds: each round is made for mu^2 / M0, with slacks of at most a thousandth of
 * delta in all (Lemma P). So what is charged does not depend on the size of a round. */
static double epsilon_of_rounds(const faro_campaign *c, const faro_release *release, uint64_t rounds) {
  enum { SLACKS = 1000 };
  double mu = 0;
  double slack = 0;
  const faro_claim *claim = &c->claim;
  if (rounds >= claim->contributions || !faro_release_gaussian(release, 1, &mu, &slack) ||
      !(slack * SLACKS <= claim->delta))
    return claim->epsilon;
  const double all = faro_gaussian_mu(claim->epsilon, claim->delta);
  const double share = all * sqrt((double)rounds / (double)claim->contributions);
  return fmin(claim->epsilon, faro_gaussian_epsilon(share, claim->delta * (1 - 1.0 / SLACKS)));
}

/* The noise is made for R = min(M0, batches) rounds. If a Gaussian with parameter mu dominates the
 * release, m of them cost at most m / R of mu^2. Other releases, and campaigns in phases, are
 * charged in full with the first round. */
static double epsilon_of(const faro_campaign *c, const faro_release *release, uint64_t rounds) {
  double mu = 0;
  double slack = 0;
  const faro_claim *claim = &c->claim;
  const uint64_t all = rounds_of(claim, c->batches);
  if (faro_campaign_in_rounds(c)) return epsilon_of_rounds(c, release, rounds);
  if (faro_campaign_in_phases(c) || rounds >= all || !faro_release_gaussian(release, 1, &mu, &slack) ||
      !(slack < claim->delta))
    return claim->epsilon;
  const double share = mu * sqrt((double)rounds / (double)all);
  return fmin(claim->epsilon, faro_gaussian_epsilon(share, claim->delta - slack));
}

faro_debit faro_ledger_debit(const faro_campaign *campaign, const faro_release *release, uint64_t batch) {
  const uint64_t rounds = rounds_of(&campaign->claim, batch + 1);
  faro_debit debit = {.batch = batch,
                      .version = batch + 2,
                      .users = faro_campaign_size(campaign, 0, batch),
                      .epsilon = epsilon_of(campaign, release, rounds),
                      .delta = campaign->claim.delta,
                      .rounds = rounds,
                      .charged = batch + 1,
                      .allowed = campaign->batches};
  const time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(debit.when, sizeof debit.when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return debit;
}

json_t *faro_ledger_claim(const faro_claim *claim) {
  char view[FARO_VIEW_SIZE];
  return json_pack("{sf sf ss ss ss sI sb ss}", "epsilon", claim->epsilon, "delta", claim->delta, "trust",
                   faro_claim_trust(claim), "view", faro_claim_view(claim, view), "level",
                   faro_level_name(claim->level), "contributions", (json_int_t)claim->contributions, "proven",
                   (int)claim->proven, "by", claim->by);
}

faro_status faro_life_json(faro_store *store, json_t **json, faro_error *error) {
  faro_life_row rows[FARO_LIFE_ROWS];
  size_t count = FARO_LIFE_ROWS;
  const faro_status status = faro_store_lives(store, rows, &count, error);
  if (status != FARO_OK) return status;
  *json = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *row = json_pack("{ss ss}", "state", faro_life_name(rows[i].life), "when", rows[i].when);
    if (json_array_append_new(*json, row) != 0) break;
  }
  return FARO_OK;
}

json_t *faro_debit_json(const faro_debit *debit) {
  return json_pack("{sI sI sI sf sf sI sI ss}", "batch", (json_int_t)debit->batch, "version",
                   (json_int_t)debit->version, "users", (json_int_t)debit->users, "epsilon", debit->epsilon,
                   "delta", debit->delta, "rounds", (json_int_t)debit->rounds, "charged",
                   (json_int_t)debit->charged, "when", debit->when);
}

static json_t *rows_json(const faro_debit *debits, size_t count) {
  json_t *rows = json_array();
  for (size_t i = 0; i < count; i++) {
    char digits[2 * FARO_DIGEST_BYTES + 1];
    json_t *row = faro_debit_json(&debits[i]);
    (void)json_object_set_new(row, "hash",
                              json_string(faro_hex_write(debits[i].hash, FARO_DIGEST_BYTES, digits)));
    if (json_array_append_new(rows, row) != 0) break;
  }
  return rows;
}

faro_status faro_debit_read(const json_t *json, faro_debit *debit, faro_error *error) {
  json_int_t batch = 0, version = 0, users = 0, rounds = 0, charged = 0;
  const char *when = NULL, *hash = NULL;
  faro_debit read = {0};
  const bool whole = json_unpack((json_t *)json, "{sI sI sI sF sF sI sI ss s?s}", "batch", &batch, "version",
                                 &version, "users", &users, "epsilon", &read.epsilon, "delta", &read.delta,
                                 "rounds", &rounds, "charged", &charged, "when", &when, "hash", &hash) == 0;
  if (!whole || batch < 0 || version < 0 || users < 0 || rounds < 0 || charged < 0 ||
      strlen(when) >= sizeof read.when ||
      (hash && !faro_hex_read(hash, strlen(hash), read.hash, sizeof read.hash)))
    return faro_fail(error, FARO_INVALID, "this is not a ledger of faro: a row is not complete");
  read.batch = (uint64_t)batch;
  read.version = (uint64_t)version;
  read.users = (uint64_t)users;
  read.rounds = (uint64_t)rounds;
  read.charged = (uint64_t)charged;
  memcpy(read.when, when, strlen(when));
  *debit = read;
  return FARO_OK;
}

/* The last entry says how much is charged in all. */
static faro_status last_debit(faro_store *store, faro_debit *last, faro_error *error) {
  uint64_t batches = 0;
  size_t one = 1;
  *last = (faro_debit){0};
  const faro_status status = faro_store_batches(store, &batches, error);
  if (status != FARO_OK || batches == 0) return status;
  return faro_store_debits(store, batches - 1, last, &one, error);
}

/* `most`: in phases only, reports in all batches together. How many batches that makes is not known
 * before. */
json_t *faro_ledger_facts(const faro_campaign *campaign, const faro_debit *last) {
  const bool phases = faro_campaign_in_phases(campaign);
  json_t *most = phases ? json_integer((json_int_t)campaign->phases.reports) : NULL;
  return json_pack("{ss ss so s{sI sI} s{sf sf sI} sI sI so*}", "campaign", campaign->id, "release",
                   campaign->release->name, "claim", faro_ledger_claim(&campaign->claim), "batches",
                   "charged", (json_int_t)last->charged, "allowed",
                   (json_int_t)faro_campaign_batches(campaign), "spent", "epsilon", last->epsilon, "delta",
                   last->delta, "rounds", (json_int_t)last->rounds, "batch",
                   (json_int_t)campaign->params.batch, "largest", (json_int_t)faro_campaign_largest(campaign),
                   "most", most);
}

faro_status faro_ledger_json(faro_store *store, const faro_campaign *campaign, uint64_t from, json_t **json,
                             faro_error *error) {
  faro_debit last;
  faro_blob head = {0};
  size_t count = FARO_LEDGER_ROWS;
  faro_debit *debits = calloc(FARO_LEDGER_ROWS, sizeof *debits);
  if (!debits) return faro_fail(error, FARO_MEMORY, "cannot allocate the ledger");
  json_t *life = NULL;
  faro_status status = faro_store_head(store, &head, error);
  if (status == FARO_OK) status = faro_life_json(store, &life, error);
  if (status == FARO_OK) status = last_debit(store, &last, error);
  if (status == FARO_OK) status = faro_store_debits(store, from, debits, &count, error);
  if (status == FARO_OK) {
    json_t *page = faro_ledger_facts(campaign, &last);
    (void)json_object_set(page, "life", life);
    if (head.bytes)
      (void)json_object_set_new(page, "head", json_stringn((const char *)head.bytes, head.length));
    if (json_object_set_new(page, "rows", rows_json(debits, count)) == 0) *json = page;
    else {
      status = faro_fail(error, FARO_MEMORY, "cannot allocate the ledger");
      json_decref(page);
    }
  }
  json_decref(life);
  free(head.bytes);
  free(debits);
  return status;
}

/* In words. */

/* Text from the server that answered, made printable. */
typedef struct words {
  char campaign[FARO_SHOWN], release[FARO_SHOWN], trust[FARO_SHOWN], view[FARO_SHOWN], level[FARO_SHOWN];
  char by[FARO_BY_SIZE];
  double epsilon, delta, spent_epsilon, spent_delta;
  json_int_t contributions, charged, allowed, batch, largest, rounds;
  json_int_t most; /* 0: the campaign is not in phases */
  int proven;
} words;

/* Whether any ledger could say this. */
static bool is_possible(const words *w) {
  return w->charged >= 0 && w->allowed >= 1 && w->charged <= w->allowed && w->contributions >= 1 &&
         w->batch >= 1 && w->largest >= w->batch && w->most >= 0 && w->rounds >= 0 && isfinite(w->epsilon) &&
         w->epsilon > 0 && w->delta >= 0 && w->delta < 1 && w->spent_epsilon >= 0 &&
         w->spent_epsilon <= w->epsilon && w->spent_delta >= 0 && w->spent_delta <= w->delta;
}

static faro_status unpack(json_t *json, words *w, faro_error *error) {
  enum { TEXTS = 6 };
  json_error_t where;
  char reason[FARO_SHOWN];
  const char *text[TEXTS] = {NULL};
  *w = (words){0};
  const int result = json_unpack_ex(
      json, &where, 0, "{ss ss s{sF sF ss ss ss sI sb ss} s{sI sI} s{sF sF sI} sI sI s?I}", "campaign",
      &text[0], "release", &text[1], "claim", "epsilon", &w->epsilon, "delta", &w->delta, "trust", &text[2],
      "view", &text[3], "level", &text[4], "contributions", &w->contributions, "proven", &w->proven, "by",
      &text[5], "batches", "charged", &w->charged, "allowed", &w->allowed, "spent", "epsilon",
      &w->spent_epsilon, "delta", &w->spent_delta, "rounds", &w->rounds, "batch", &w->batch, "largest",
      &w->largest, "most", &w->most);
  if (result != 0)
    return faro_fail(error, FARO_INVALID, "this is not a ledger of faro: %s",
                     faro_printable(where.text, reason, sizeof reason));
  if (!is_possible(w))
    return faro_fail(error, FARO_INVALID,
                     "this is not a ledger of faro: it says that %" JSON_INTEGER_FORMAT
                     " of %" JSON_INTEGER_FORMAT " releases are charged, and (%g, %g) of (%g, %g) spent",
                     w->charged, w->allowed, w->spent_epsilon, w->spent_delta, w->epsilon, w->delta);
  char *const out[] = {w->campaign, w->release, w->trust, w->view, w->level};
  for (size_t i = 0; i < sizeof out / sizeof *out; i++) (void)faro_printable(text[i], out[i], FARO_SHOWN);
  (void)faro_printable(text[5], w->by, sizeof w->by);
  return FARO_OK;
}

faro_status faro_ledger_explain_head(json_t *json, bool verified, faro_text *out, faro_error *error) {
  words w;
  const faro_status status = unpack(json, &w, error);
  if (status != FARO_OK) return status;
  const bool users = strcmp(w.level, "user") == 0;
  faro_text_add(out, "campaign %s: %s, batches of %" JSON_INTEGER_FORMAT, w.campaign, w.release, w.batch);
  if (w.largest != w.batch) faro_text_add(out, " to %" JSON_INTEGER_FORMAT, w.largest);
  faro_text_add(out, " reports\n");
  char pair[FARO_PAIR_SIZE];
  faro_text_add(out, "%s\n",
                verified
                    ? "verified: signed by the pinned key, and computed again by this program's accountant"
                    : "not verified: all of this is what the server or the file says (--key FILE checks it)");
  faro_text_add(out, "guarantee: %s, %s%s: %s\n", faro_pair_above(w.epsilon, w.delta, pair),
                verified ? "" : "said to be ", w.proven ? "proven" : "not proven", w.by);
  faro_text_add(out, "  trust %s: this bounds what an observer of %s can learn about any client\n", w.trust,
                w.view);
  if (users)
    faro_text_add(out,
                  "  user level: all reports of a client together, at most %" JSON_INTEGER_FORMAT
                  ", at most one in each batch\n",
                  w.contributions);
  else faro_text_add(out, "  event level: each report by itself\n");
  if (w.most > 0)
    faro_text_add(out,
                  "charged: %" JSON_INTEGER_FORMAT
                  " release%s, one for each batch of a phase; at most %" JSON_INTEGER_FORMAT
                  " reports in all are asked for\n",
                  w.charged, w.charged == 1 ? "" : "s", w.most);
  else
    faro_text_add(out,
                  "charged: %" JSON_INTEGER_FORMAT " of the %" JSON_INTEGER_FORMAT
                  " releases that the budget allows (%.1f%%)\n",
                  w.charged, w.allowed, 100 * (double)w.charged / (double)w.allowed);
  if (w.charged > 0)
    faro_text_add(out, "spent: at most %s %s\n", faro_pair_above(w.spent_epsilon, w.spent_delta, pair),
                  users ? "by any client" : "for any report");
  else faro_text_add(out, "spent: nothing yet\n");
  faro_text_add(out, "\n%8s %8s %10s %14s %20s  %s\n", "batch", "version", "reports",
                w.most > 0 ? "in all" : "charged", "any client so far", "when");
  return FARO_OK;
}

/* In phases: how many reports there were so far; otherwise releases. */
static void share_of(const faro_debit *debit, json_int_t allowed, json_int_t most, uint64_t reports,
                     char share[static 48]) {
  if (most > 0) snprintf(share, 48, "%" PRIu64 " of %" JSON_INTEGER_FORMAT, reports, most);
  else snprintf(share, 48, "%" PRIu64 " of %" JSON_INTEGER_FORMAT, debit->charged, allowed);
}

faro_status faro_ledger_explain_rows(json_t *json, uint64_t *reports, faro_text *out, faro_error *error) {
  const json_t *rows = json_object_get(json, "rows");
  json_int_t allowed = 0, most = 0;
  if (!json_is_array(rows) ||
      json_unpack(json, "{s{sI} s?I}", "batches", "allowed", &allowed, "most", &most) != 0)
    return faro_fail(error, FARO_INVALID, "this is not a ledger of faro: it has no rows");
  size_t i = 0;
  json_t *row = NULL;
  json_array_foreach(rows, i, row) {
    faro_debit debit = {0};
    const faro_status status = faro_debit_read(row, &debit, error);
    if (status != FARO_OK) return status;
    char share[48];
    char pair[FARO_PAIR_SIZE];
    char time[25];
    *reports += debit.users;
    share_of(&debit, allowed, most, *reports, share);
    faro_text_add(out, "%8" PRIu64 " %8" PRIu64 " %10" PRIu64 " %14s %20s  %s\n", debit.batch, debit.version,
                  debit.users, share, faro_pair_above(debit.epsilon, debit.delta, pair),
                  faro_printable(debit.when, time, sizeof time));
  }
  return FARO_OK;
}

void faro_ledger_explain_end(json_t *json, faro_text *out) {
  words w;
  if (unpack(json, &w, NULL) != FARO_OK || w.charged == 0) return;
  if (strcmp(w.level, "user") == 0)
    faro_text_add(out,
                  "\nA batch spends budget of the clients in it only. A client that was in no batch has "
                  "spent nothing.\n"
                  "After b batches a client can have been in at most min(b, %" JSON_INTEGER_FORMAT
                  ") of them: that is the bound above.\n",
                  w.contributions);
  else
    faro_text_add(
        out,
        "\nA report is in one batch and costs its client the guarantee above, however many batches follow.\n"
        "A client that has sent several reports has spent it for each of them. A client that was in no "
        "batch\nhas spent nothing.\n");
}
