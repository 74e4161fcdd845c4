/* queue: see the header. A choice goes through the stages
 *
 *   open --reward--> rewarded --next--> under way --answers--> delivered or refused
 *                        ^                  |                      |
 *                        |                  |      in rounds: kept --fit--> again --answers--> kept
 *                        +--- all parts stale: made again, under a newer policy
 *
 * In phases there are no choices, but the progress of a plan (queue_turns.c). At most one report is
 * under way, so its parts are all that is ever sent. Every step is on the disk before it shows
 * outside. */
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/finite.h"
#include "base/text.h"
#include "client/client_inner.h"
#include "client/queue_inner.h"

enum { MOST_DEFAULT = 100, NONE = FARO_QUEUE_MOST };

/* Memory. */

static void free_choice(faro_queue_choice *choice, size_t dimension) {
  if (choice->features) sodium_memzero(choice->features, dimension * sizeof *choice->features);
  free(choice->features);
  sodium_memzero(choice, sizeof *choice);
}

void faro_queue_remove(faro_queue *queue, size_t index) {
  free_choice(&queue->choice[index], queue->dimension);
  queue->choices--;
  memmove(&queue->choice[index], &queue->choice[index + 1], (queue->choices - index) * sizeof *queue->choice);
  queue->choice[queue->choices] = (faro_queue_choice){0};
}

static void drop_report(faro_queue *q) {
  if (q->report) sodium_memzero(q->report, q->parts * q->part_size);
  free(q->report);
  q->report = NULL;
  q->parts = q->part_size = 0;
  q->unsaved = false;
}

void faro_queue_drop_progress(faro_queue *queue) {
  if (queue->progress) sodium_memzero(queue->progress, queue->progress_size);
  free(queue->progress);
  queue->progress = NULL;
  queue->progress_size = 0;
}

void faro_queue_clear(faro_queue *queue) {
  for (size_t i = 0; i < queue->choices; i++) free_choice(&queue->choice[i], queue->dimension);
  queue->choices = 0;
  faro_queue_drop_progress(queue);
  drop_report(queue);
}

/* Opening. */

faro_status faro_queue_open(faro_queue **queue, const faro_queue_params *params, faro_error *error) {
  const size_t most = params->most > 0 ? params->most : MOST_DEFAULT;
  if (!params->path) return faro_fail(error, FARO_INVALID, "path is required");
  if (most < 2 || most > FARO_QUEUE_MOST)
    return faro_fail(error, FARO_INVALID, "most must be from 2 to %d (got %zu)", FARO_QUEUE_MOST, most);
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  faro_queue *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "out of memory");
  made->lock = -1;
  made->most = most;
  made->reading = params->reading;
  made->path = strdup(params->path);
  faro_status status = made->path ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK && !params->reading) status = faro_queue_lock(made, error);
  if (status == FARO_OK) status = faro_queue_load(made, error);
  if (status == FARO_OK) *queue = made;
  else faro_queue_close(made);
  return status;
}

void faro_queue_close(faro_queue *queue) {
  if (!queue) return;
  faro_queue_clear(queue);
  faro_queue_unlock(queue);
  free(queue->path);
  sodium_memzero(queue, sizeof *queue);
  free(queue);
}

void faro_queue_restore(const faro_queue *queue, faro_client_params *params) {
  params->campaign = queue->bound ? queue->campaign : NULL;
  params->sequence = queue->sequence;
  params->version = queue->version;
  params->spent_epsilon = queue->spent_epsilon;
  params->spent_delta = queue->spent_delta;
  params->spent_singly = queue->spent_singly;
  params->signers = queue->bound ? queue->signers : NULL;
}

/* Saving. */

/* A client that has moved to a successor leaves everything behind that was for the campaign
 * before. */
static void move(faro_queue *q, const faro_client *client) {
  const bool here = q->bound && memcmp(q->campaign, faro_client_digest(client), FARO_DIGEST_BYTES) == 0;
  if (!q->bound || here || !faro_client_in_successor(client)) return;
  faro_queue_clear(q);
  q->bound = false;
  q->sequence = q->version = q->reported = 0;
  q->dimension = 0;
}

faro_status faro_queue_check(faro_queue *q, const faro_client *client, faro_error *error) {
  const size_t d = faro_client_dimension(client);
  if (q->reading) return faro_fail(error, FARO_INVALID, "%s was opened for reading", faro_path_end(q->path));
  if (d == 0) return faro_fail(error, FARO_INVALID, "a campaign is required before a queue is used");
  move(q, client);
  const bool same = !q->bound || (memcmp(q->campaign, faro_client_digest(client), FARO_DIGEST_BYTES) == 0 &&
                                  (q->dimension == 0 || q->dimension == d) &&
                                  (q->parts == 0 || q->part_size == faro_client_part_size(client)));
  if (same && faro_client_sequence(client) >= q->sequence && faro_client_version(client) >= q->version)
    return FARO_OK;
  return faro_fail(error, FARO_FOREIGN,
                   "%s is the state of another campaign, or the client was opened without what it restores",
                   faro_path_end(q->path));
}

faro_status faro_queue_commit(faro_queue *q, const faro_client *client, faro_error *error) {
  faro_client_spent(client, &q->spent_epsilon, &q->spent_delta);
  q->spent_singly = faro_client_spent_singly(client);
  memcpy(q->campaign, faro_client_digest(client), FARO_DIGEST_BYTES);
  memcpy(q->signers, faro_client_signers(client), sizeof q->signers);
  q->bound = true;
  q->sequence = faro_client_sequence(client);
  q->version = faro_client_version(client);
  q->dimension = faro_client_dimension(client);
  const faro_status status = faro_queue_store(q, error);
  if (status == FARO_OK) q->unsaved = false;
  return status;
}

faro_status faro_queue_save(faro_queue *queue, const faro_client *client, faro_error *error) {
  const faro_status status = faro_queue_check(queue, client, error);
  return status == FARO_OK ? faro_queue_commit(queue, client, error) : status;
}

/* Choices. */

static size_t find(const faro_queue *q, const char *id) {
  for (size_t i = 0; i < q->choices; i++)
    if (q->choice[i].stage == FARO_STAGE_OPEN && strcmp(q->choice[i].id, id) == 0) return i;
  return NONE;
}

static size_t find_stage(const faro_queue *q, faro_queue_stage stage) {
  for (size_t i = 0; i < q->choices; i++)
    if (q->choice[i].stage == stage) return i;
  return NONE;
}

static size_t find_under_way(const faro_queue *q) {
  const size_t first = find_stage(q, FARO_STAGE_UNDER_WAY);
  return first != NONE ? first : find_stage(q, FARO_STAGE_AGAIN);
}

/* Choices that leave stay behind the others, where they are not stored, until the rest is on the
 * disk: if it cannot be, they come back. */

static void shift(faro_queue *q, size_t from, size_t to) {
  const faro_queue_choice moved = q->choice[from];
  if (from < to) memmove(&q->choice[from], &q->choice[from + 1], (to - from) * sizeof moved);
  else memmove(&q->choice[to + 1], &q->choice[to], (from - to) * sizeof moved);
  q->choice[to] = moved;
}

/* The k-th one to leave is the oldest whose report is not under way. */
static size_t oldest(size_t k, size_t under_way) { return k < under_way ? 0 : 1; }

/* Saves with the choice that was added last; the oldest ones make room for it. */
static faro_status store_newest(faro_queue *q, const faro_client *client, faro_error *error) {
  const size_t last = q->choices - 1, under_way = find_under_way(q);
  const size_t leave = q->choices > q->most ? q->choices - q->most : 0;
  for (size_t k = 0; k < leave; k++) shift(q, oldest(k, under_way), last);
  q->choices -= leave;
  q->counts.dropped += leave;
  const faro_status status = faro_queue_commit(q, client, error);
  q->choices += leave;
  if (status != FARO_OK) {
    for (size_t k = leave; k-- > 0;) shift(q, last, oldest(k, under_way));
    q->counts.dropped -= leave;
    faro_queue_remove(q, last);
    return status;
  }
  for (size_t k = 0; k < leave; k++) faro_queue_remove(q, q->choices - 1);
  return FARO_OK;
}

/* Adds a choice at the end and saves. */
static faro_status append(faro_queue *q, const faro_client *client, const faro_queue_choice *choice,
                          const double *features, faro_error *error) {
  const size_t d = faro_client_dimension(client);
  if (faro_client_in_phases(client))
    return faro_fail(error, FARO_INVALID,
                     "campaign %s is in phases: its plan says what to play (faro_queue_turn)",
                     faro_client_view(client)->id);
  if (choice->version < 1)
    return faro_fail(error, FARO_INVALID, "a policy is required before a choice is kept");
  if (!faro_all_finite(features, d) || !isfinite(choice->reward))
    return faro_fail(error, FARO_INVALID, "features and reward must be finite");
  double *copy = malloc(d * sizeof *copy);
  if (!copy) return faro_fail(error, FARO_MEMORY, "out of memory");
  memcpy(copy, features, d * sizeof *copy);
  q->dimension = d;
  q->choice[q->choices] = *choice;
  q->choice[q->choices++].features = copy;
  return store_newest(q, client, error);
}

faro_status faro_queue_keep(faro_queue *queue, const faro_client *client, const char *id,
                            const double *features, faro_error *error) {
  const size_t length = strlen(id);
  faro_status status = faro_queue_check(queue, client, error);
  if (status != FARO_OK) return status;
  if (length < 1 || length > FARO_QUEUE_ID_MAX)
    return faro_fail(error, FARO_INVALID, "id of a choice must have 1 .. %d bytes (got %zu)",
                     FARO_QUEUE_ID_MAX, length);
  if (find(queue, id) != NONE)
    return faro_fail(error, FARO_INVALID, "choice %s waits for its reward already", id);
  faro_queue_choice choice = {.stage = FARO_STAGE_OPEN, .version = faro_client_version(client)};
  memcpy(choice.id, id, length);
  return append(queue, client, &choice, features, error);
}

faro_status faro_queue_add(faro_queue *queue, const faro_client *client, uint64_t chosen,
                           const double *features, double reward, faro_error *error) {
  const faro_queue_choice choice = {.stage = FARO_STAGE_REWARDED, .version = chosen, .reward = reward};
  const faro_status status = faro_queue_check(queue, client, error);
  if (status != FARO_OK) return status;
  if (chosen > faro_client_version(client))
    return faro_fail(error, FARO_INVALID, "version of the choice must be from 1 to %llu (got %llu)",
                     (unsigned long long)faro_client_version(client), (unsigned long long)chosen);
  return append(queue, client, &choice, features, error);
}

static faro_status find_open(faro_queue *q, const faro_client *client, const char *id, size_t *index,
                             faro_error *error) {
  const faro_status status = faro_queue_check(q, client, error);
  if (status != FARO_OK) return status;
  *index = find(q, id);
  if (*index != NONE) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "no choice %.64s waits for a reward", id);
}

faro_status faro_queue_reward(faro_queue *queue, const faro_client *client, const char *id, double reward,
                              faro_error *error) {
  size_t index = NONE;
  faro_status status = find_open(queue, client, id, &index, error);
  if (status != FARO_OK) return status;
  if (!isfinite(reward)) return faro_fail(error, FARO_INVALID, "features and reward must be finite");
  queue->choice[index].reward = reward;
  queue->choice[index].stage = FARO_STAGE_REWARDED;
  status = faro_queue_commit(queue, client, error);
  if (status != FARO_OK) queue->choice[index].stage = FARO_STAGE_OPEN;
  return status;
}

faro_status faro_queue_forget(faro_queue *queue, const faro_client *client, const char *id,
                              faro_error *error) {
  size_t index = NONE;
  faro_status status = find_open(queue, client, id, &index, error);
  if (status != FARO_OK) return status;
  const size_t last = --queue->choices;
  shift(queue, index, last);
  status = faro_queue_commit(queue, client, error);
  queue->choices++;
  if (status == FARO_OK) faro_queue_remove(queue, last);
  else shift(queue, last, index);
  return status;
}

/* Sending. */

static faro_status refuse(faro_queue *q, const faro_client *client, size_t index, faro_refusal why,
                          faro_error *error) {
  q->counts.refused++;
  q->counts.last = why;
  faro_queue_remove(q, index);
  return faro_queue_commit(q, client, error);
}

/* A choice that cannot be reported any more. One that was kept counts already, and nobody has to
 * answer a fit. Other failures are the caller's to see. */
static faro_status give_up(faro_queue *q, const faro_client *client, size_t index, faro_status why,
                           const faro_error *inner, faro_error *error) {
  const bool kept = q->choice[index].stage == FARO_STAGE_KEPT;
  if (why != FARO_OVER && why != FARO_SPENT && why != FARO_LATE)
    return faro_fail(error, why, "%s", inner->message);
  if (!kept && why == FARO_OVER) return refuse(q, client, index, FARO_REFUSAL_CLOSED, error);
  if (!kept && why == FARO_SPENT) return refuse(q, client, index, FARO_REFUSAL_SPENT, error);
  if (!kept) q->counts.late++;
  faro_queue_remove(q, index);
  return faro_queue_commit(q, client, error);
}

unsigned char *faro_queue_room(const faro_client *client) {
  return malloc(faro_client_parts(client) * faro_client_part_size(client));
}

void faro_queue_begin(faro_queue *queue, const faro_client *client, unsigned char *report, size_t parts) {
  queue->report = report;
  queue->parts = parts;
  queue->part_size = faro_client_part_size(client);
  memset(queue->part, FARO_PART_LEFT, sizeof queue->part);
  memset(queue->asked, 0, sizeof queue->asked);
  memset(queue->held, 0, sizeof queue->held);
  queue->reported = faro_client_version(client);
  queue->current = FARO_SHUFFLERS_MAX; /* nothing is handed out yet */
  queue->unsaved = true;
}

/* Makes the report of a choice and saves it. If it cannot be saved, it must not be sent: its number
 * is passed over, and the choice waits as before. */
static faro_status make(faro_queue *q, faro_client *client, size_t index, faro_error *error) {
  const faro_queue_choice *choice = &q->choice[index];
  const faro_queue_stage stage = choice->stage;
  const uint64_t before = q->reported;
  faro_error inner = {0};
  unsigned char *report = faro_queue_room(client);
  if (!report) return faro_fail(error, FARO_MEMORY, "out of memory");
  size_t parts = 0;
  faro_status status = faro_client_covered(client)
                           ? faro_client_report_late(client, choice->version, choice->features,
                                                     choice->reward, report, &parts, &inner)
                           : FARO_SPENT;
  if (status != FARO_OK) {
    free(report);
    return give_up(q, client, index, status, &inner, error);
  }
  faro_queue_begin(q, client, report, parts);
  q->choice[index].stage = stage == FARO_STAGE_KEPT ? FARO_STAGE_AGAIN : FARO_STAGE_UNDER_WAY;
  status = faro_queue_commit(q, client, error);
  if (status == FARO_OK) return FARO_OK;
  q->choice[index].stage = stage;
  q->reported = before;
  drop_report(q);
  return status;
}

/* Kept choices are for the fits of the term in which they count. */

static bool answers(const faro_client *client, const faro_queue_choice *choice) {
  const faro_claim *claim = &faro_client_view(client)->claim;
  const bool left = claim->level != FARO_LEVEL_USER || faro_client_sequence(client) < claim->contributions;
  return choice->stage == FARO_STAGE_KEPT && left && faro_client_again(client, choice->version);
}

static size_t find_kept(const faro_queue *q, const faro_client *client) {
  for (size_t i = 0; i < q->choices; i++)
    if (answers(client, &q->choice[i])) return i;
  return NONE;
}

/* What no fit will ask for again leaves the device. */
static faro_status forget_kept(faro_queue *q, const faro_client *client, faro_error *error) {
  bool changed = false;
  for (size_t i = q->choices; i-- > 0;) {
    const faro_queue_choice *c = &q->choice[i];
    if (c->stage != FARO_STAGE_KEPT || c->version >= faro_client_version(client) || answers(client, c))
      continue;
    faro_queue_remove(q, i);
    changed = true;
  }
  return changed ? faro_queue_commit(q, client, error) : FARO_OK;
}

/* Makes the next report, if there is one to make; *made: something has changed. */
static faro_status make_next(faro_queue *q, faro_client *client, bool *made, faro_error *error) {
  *made = false;
  faro_status status = forget_kept(q, client, error);
  if (status == FARO_OK) status = faro_queue_follow(q, client, error);
  if (status != FARO_OK || faro_client_version(client) <= q->reported) return status;
  if (faro_client_in_phases(client)) return faro_queue_make_plan(q, client, error);
  const size_t kept = find_kept(q, client);
  const size_t next = kept != NONE ? kept : find_stage(q, FARO_STAGE_REWARDED);
  *made = next != NONE;
  return *made ? make(q, client, next, error) : FARO_OK;
}

/* Hands out a part that is left and was not asked about, nor held back until the next policy. */
static faro_status hand_out(faro_queue *q, const faro_client *client, faro_queue_post *post,
                            faro_error *error) {
  for (size_t i = 0; i < q->parts; i++) {
    if (q->part[i] != FARO_PART_LEFT || q->asked[i]) continue;
    if (q->held[i] > 0 && q->held[i] == faro_client_version(client)) continue;
    const unsigned char *bytes = q->report + i * q->part_size;
    const char *url = faro_client_address(client, faro_wire_report_head(bytes).shuffler);
    if (!url) return faro_fail(error, FARO_INVALID, "%s is damaged", faro_path_end(q->path));
    q->current = i;
    *post = (faro_queue_post){.url = url, .bytes = bytes, .length = q->part_size};
    return FARO_OK;
  }
  return FARO_OK;
}

faro_status faro_queue_next(faro_queue *queue, faro_client *client, faro_queue_post *post,
                            faro_error *error) {
  *post = (faro_queue_post){0};
  bool made = true;
  faro_status status = faro_queue_check(queue, client, error);
  while (status == FARO_OK && queue->parts == 0 && made) status = make_next(queue, client, &made, error);
  if (status == FARO_OK && queue->unsaved) status = faro_queue_commit(queue, client, error);
  return status == FARO_OK ? hand_out(queue, client, post, error) : status;
}

/* The report of a plan counts, or its batch was full before, or it is refused. The next plan asks
 * for other rewards, so it is never made again. */
static faro_status finish_plan(faro_queue *q, const faro_client *client, bool done, faro_refusal why,
                               faro_error *error) {
  const bool ended = why == FARO_REFUSAL_STALE || why == FARO_REFUSAL_CLOSED;
  if (done) q->counts.delivered++;
  else if (ended) q->counts.ended++;
  else q->counts.refused++;
  if (!done && !ended) q->counts.last = why;
  return faro_queue_commit(q, client, error);
}

/* In rounds a choice that counts is kept for the fits of its term. */
static faro_status finish_choice(faro_queue *q, const faro_client *client, size_t index, faro_error *error) {
  faro_queue_choice *choice = &q->choice[index];
  const faro_campaign *c = faro_client_view(client);
  if (choice->stage == FARO_STAGE_AGAIN) q->counts.again++;
  else q->counts.delivered++;
  if (faro_campaign_in_rounds(c) && c->rounds.fits > 0) {
    choice->stage = FARO_STAGE_KEPT;
    choice->version = q->reported;
  } else faro_queue_remove(q, index);
  return faro_queue_commit(q, client, error);
}

/* All parts are answered for good. After STALE a newer report may fare better, and no copy of this
 * one can count any more. A report of which a shuffler has taken a part is never made
 * again: that shuffler would count it twice. */
static faro_status finish(faro_queue *q, const faro_client *client, faro_error *error) {
  const size_t index = find_under_way(q);
  bool done = false, again = true;
  faro_refusal why = FARO_REFUSAL_NONE;
  for (size_t i = 0; i < q->parts; i++) {
    done = done || q->part[i] == FARO_PART_DONE;
    again = again && q->part[i] == FARO_PART_REFUSED + FARO_REFUSAL_STALE;
    if (q->part[i] >= FARO_PART_REFUSED) why = (faro_refusal)(q->part[i] - FARO_PART_REFUSED);
  }
  drop_report(q);
  if (index == NONE) return finish_plan(q, client, done, why, error);
  if (done) return finish_choice(q, client, index, error);
  const bool fit = q->choice[index].stage == FARO_STAGE_AGAIN;
  if (again && faro_client_remakes(client)) {
    q->choice[index].stage = fit ? FARO_STAGE_KEPT : FARO_STAGE_REWARDED;
    return faro_queue_commit(q, client, error);
  }
  if (!fit) return refuse(q, client, index, why, error);
  faro_queue_remove(q, index);
  return faro_queue_commit(q, client, error);
}

faro_status faro_queue_answer(faro_queue *queue, faro_client *client, long status, const void *body,
                              size_t length, double retry_after, faro_reply *reply, faro_error *error) {
  faro_reply read;
  const faro_status good = faro_queue_check(queue, client, error);
  if (good != FARO_OK) return good;
  if (queue->current >= queue->parts || queue->part[queue->current] != FARO_PART_LEFT)
    return faro_fail(error, FARO_INVALID, "no part waits for an answer");
  faro_client_replies(status, body, length, retry_after, &read, 1);
  if (reply) *reply = read;
  if (read.refusal == FARO_REFUSAL_TWICE) queue->held[queue->current] = faro_client_version(client);
  else queue->asked[queue->current] = true;
  if (read.kind == FARO_REPLY_AGAIN) return FARO_OK;
  queue->part[queue->current] =
      (unsigned char)(read.kind == FARO_REPLY_DONE ? FARO_PART_DONE : FARO_PART_REFUSED + (int)read.refusal);
  for (size_t i = 0; i < queue->parts; i++)
    if (queue->part[i] == FARO_PART_LEFT) return faro_queue_commit(queue, client, error);
  return finish(queue, client, error);
}

void faro_queue_again(faro_queue *queue) { memset(queue->asked, 0, sizeof queue->asked); }

faro_queue_counts faro_queue_count(const faro_queue *queue) {
  faro_queue_counts counts = queue->counts;
  counts.open = counts.kept = 0;
  counts.waiting = queue->parts > 0 && find_under_way(queue) == NONE; /* the report of a plan */
  for (size_t i = 0; i < queue->choices; i++)
    if (queue->choice[i].stage == FARO_STAGE_OPEN) counts.open++;
    else if (queue->choice[i].stage == FARO_STAGE_KEPT) counts.kept++;
    else counts.waiting++;
  return counts;
}
