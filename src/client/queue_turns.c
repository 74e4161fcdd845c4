/* queue_turns: what a queue keeps in a campaign in phases. What was played for the newest plan is
 * in the file after each reward, and what is in the file is what counts: a client that was opened
 * anew, or whose last reward could not be saved, is brought back to it.
 *
 *   plan --turn, played--> progress --next--> report under way --answers--> delivered or ended
 *
 * A report that is made is marked in the progress, so that no plan is reported twice. */
#include <sodium.h>
#include <stdlib.h>

#include "client/client_inner.h"
#include "client/queue_inner.h"
#include "client/turns.h"

/* A copy of what the client has played; *size bytes, to be freed. */
static faro_status copy_progress(const faro_client *client, unsigned char **copy, size_t *size,
                                 faro_error *error) {
  *size = faro_client_progress_size(client);
  *copy = malloc(*size > 0 ? *size : 1);
  if (!*copy) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_client_progress(client, *copy);
  return FARO_OK;
}

static void free_progress(unsigned char *progress, size_t size) {
  if (progress) sodium_memzero(progress, size);
  free(progress);
}

static void swap(faro_queue *q, unsigned char **progress, size_t *size) {
  unsigned char *const mine = q->progress;
  const size_t length = q->progress_size;
  q->progress = *progress;
  q->progress_size = *size;
  *progress = mine;
  *size = length;
}

faro_status faro_queue_follow(faro_queue *queue, faro_client *client, faro_error *error) {
  if (queue->progress_size == 0 || faro_client_progress_size(client) == 0) return FARO_OK;
  if (faro_client_resume(client, queue->progress, queue->progress_size, NULL) == FARO_OK) return FARO_OK;
  if (!faro_turns_reported(queue->progress)) queue->counts.ended++;
  faro_queue_drop_progress(queue);
  return queue->reading ? FARO_OK : faro_queue_commit(queue, client, error);
}

faro_status faro_queue_turn(faro_queue *queue, faro_client *client, size_t *arm, bool *counts,
                            faro_error *error) {
  faro_status status = queue->reading ? FARO_OK : faro_queue_check(queue, client, error);
  if (status == FARO_OK) status = faro_queue_follow(queue, client, error);
  return status == FARO_OK ? faro_client_next(client, arm, counts, error) : status;
}

/* Takes a reward and saves it. If that fails, client and queue are as before. */
static faro_status take_reward(faro_queue *q, faro_client *client, size_t arm, double reward,
                               unsigned char **progress, size_t *size, faro_error *error) {
  unsigned char *before = NULL;
  size_t length = 0;
  faro_status status = copy_progress(client, &before, &length, error);
  if (status == FARO_OK) status = faro_client_reward(client, arm, reward, error);
  if (status == FARO_OK) {
    faro_client_progress(client, *progress);
    swap(q, progress, size);
    status = faro_queue_commit(q, client, error);
    if (status != FARO_OK) swap(q, progress, size);
    if (status != FARO_OK) (void)!faro_client_resume(client, before, length, NULL);
  }
  free_progress(before, length);
  return status;
}

faro_status faro_queue_played(faro_queue *queue, faro_client *client, size_t arm, double reward,
                              faro_error *error) {
  unsigned char *progress = NULL;
  size_t size = 0;
  faro_status status = faro_queue_check(queue, client, error);
  if (status == FARO_OK) status = faro_queue_follow(queue, client, error);
  if (status == FARO_OK) status = copy_progress(client, &progress, &size, error);
  if (status == FARO_OK) status = take_reward(queue, client, arm, reward, &progress, &size, error);
  free_progress(progress, size);
  return status;
}

/* If the report cannot be saved, it is not sent, and waits in memory: a client of dpe has one
 * only. */
faro_status faro_queue_make_plan(faro_queue *queue, faro_client *client, faro_error *error) {
  if (!faro_client_complete(client)) return FARO_OK;
  unsigned char *progress = NULL;
  size_t size = 0, parts = 0;
  faro_status status = copy_progress(client, &progress, &size, error);
  unsigned char *report = faro_queue_room(client);
  if (!report) status = faro_fail(error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK) status = faro_client_report_plan(client, report, &parts, error);
  if (status == FARO_OK) {
    faro_client_progress(client, progress);
    swap(queue, &progress, &size);
    faro_queue_begin(queue, client, report, parts);
    status = faro_queue_commit(queue, client, error);
  } else free(report);
  free_progress(progress, size);
  return status;
}
