/* queue: keeps over restarts what a client must not forget, in one file: its campaign, sequence
 * number and policy version, choices that wait for their reward, what was played for the newest
 * plan, and the report that is under way.
 *
 *   faro_queue_open(&queue, &(faro_queue_params){.path = "my.state"}, &error)
 *   faro_queue_restore(queue, &params); faro_client_open(&client, &params, &error); ...
 *
 *   faro_client_choose(...);  faro_queue_keep(queue, client, "order-17", x, &error)
 *   ... a minute, a restart or a month later:
 *   faro_queue_reward(queue, client, "order-17", 1, &error)
 *
 *   load the newest policy; then, until post.url is NULL:
 *     faro_queue_next(queue, client, &post, &error)
 *     POST post.bytes to post.url
 *     faro_queue_answer(queue, client, status, body, length, retry_after, &reply, &error)
 *
 * The queue sends nothing itself. It makes one report at a time, under a policy that is newer than
 * that of the report before, because a client is in a batch at most once. The other rewards wait. A
 * report is on the disk before its first part is handed out, and after a crash the same bytes are
 * handed out again: no sequence number is ever used for two reports. If all its parts are refused
 * because a batch closed on the way, the choice is reported again under a newer policy, where that
 * is as private as before (docs/privacy.md, "Late rewards"). A part whose client is in the open
 * batch already is handed out unchanged under the next policies.
 *
 * The file is replaced as a whole (mode 600, flushed before a call returns), so it is never found
 * half written; a file that is damaged is refused, because its sequence number may be wrong. It
 * contains features, rewards and the token in the clear: it belongs on the user's own device. One
 * process at a time may have it open (PATH.lock is locked), from one thread at a time. Do not
 * restore it from a backup. */
#ifndef FARO_QUEUE_H
#define FARO_QUEUE_H

#include <faro/client.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FARO_QUEUE_ID_MAX = 64, FARO_QUEUE_MOST = 1000 };

typedef struct faro_queue faro_queue;

typedef struct faro_queue_params {
  const char *path; /* the file; if it does not exist, the client is new */
  size_t most;      /* choices to keep, 2 .. FARO_QUEUE_MOST; then the oldest is dropped; 0: 100 */
  bool reading;     /* only looks: no lock, and nothing is changed */
} faro_queue_params;

FARO_API faro_status faro_queue_open(faro_queue **queue, const faro_queue_params *params,
                                     faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_queue_close(faro_queue *queue); /* NULL is allowed */

/* Sets campaign, sequence and version for faro_client_open. The campaign points into the queue. */
FARO_API void faro_queue_restore(const faro_queue *queue, faro_client_params *params);

/* The calls below are durable on return. Where they take a client, it must be one that was opened
 * with what was restored, and has joined its campaign; otherwise FARO_FOREIGN. */

/* Keeps a choice under the policy that the client has: the features of the chosen arm, under an id
 * of 1 .. FARO_QUEUE_ID_MAX bytes that no other open choice has. */
FARO_API faro_status faro_queue_keep(faro_queue *queue, const faro_client *client, const char *id,
                                     const double *features, faro_error *error) FARO_WARN_UNUSED;
/* The reward of a choice, which will be reported; or none ever (forget). FARO_INVALID if no open
 * choice has the id: it was never kept, is rewarded already, or was dropped. */
FARO_API faro_status faro_queue_reward(faro_queue *queue, const faro_client *client, const char *id,
                                       double reward, faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_queue_forget(faro_queue *queue, const faro_client *client, const char *id,
                                       faro_error *error) FARO_WARN_UNUSED;
/* Both at once, for an application that kept the choice itself: `chosen` is faro_client_version as
 * it was at the choice. */
FARO_API faro_status faro_queue_add(faro_queue *queue, const faro_client *client, uint64_t chosen,
                                    const double *features, double reward,
                                    faro_error *error) FARO_WARN_UNUSED;
/* Saves the client's campaign, sequence and version, for example after a new policy. */
FARO_API faro_status faro_queue_save(faro_queue *queue, const faro_client *client,
                                     faro_error *error) FARO_WARN_UNUSED;

/* Campaigns in phases: faro_client_next and faro_client_reward, with what was played before a
 * restart. A plan whose rewards are all in is reported by faro_queue_next. If its batch was full
 * before, what was played for it is dropped, and counted as ended. */
FARO_API faro_status faro_queue_turn(faro_queue *queue, faro_client *client, size_t *arm, bool *counts,
                                     faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_queue_played(faro_queue *queue, faro_client *client, size_t arm, double reward,
                                       faro_error *error) FARO_WARN_UNUSED;

/* What to send: POST the bytes as application/octet-stream. Valid until the next call. */
typedef struct faro_queue_post {
  const char *url; /* NULL: nothing to send now */
  const unsigned char *bytes;
  size_t length;
} faro_queue_post;

/* The next part to send. Makes the next report if none is under way. There is nothing to send if no
 * reward waits, if the next report needs a newer policy, or if all parts that are left were
 * answered with AGAIN: then wait, and call faro_queue_again to have them handed out once more. In a
 * campaign in rounds a choice that counts is kept, and answers the fits of the term in which it was
 * reported (faro_client_again); they come before other rewards. */
FARO_API faro_status faro_queue_next(faro_queue *queue, faro_client *client, faro_queue_post *post,
                                     faro_error *error) FARO_WARN_UNUSED;
/* The answer to the part that was handed out last, as faro_client_replies takes it. *reply says
 * what it means for this part; it may be NULL. */
FARO_API faro_status faro_queue_answer(faro_queue *queue, faro_client *client, long status, const void *body,
                                       size_t length, double retry_after, faro_reply *reply,
                                       faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_queue_again(faro_queue *queue);

typedef struct faro_queue_counts {
  size_t open;    /* choices without a reward */
  size_t waiting; /* rewards that are not delivered, with the report under way */
  size_t kept;    /* choices that count, and are kept for fits */
  /* Since the file was created: rewards, or reports of plans, that count; that were refused for
   * good; that came later than the campaign allows; and choices that were dropped because there
   * were too many. */
  uint64_t delivered, refused, late, dropped;
  uint64_t again;    /* fits that were answered with a choice that counts already */
  uint64_t ended;    /* plans that were played or reported, but had ended before that could count */
  faro_refusal last; /* why the last one was refused */
} faro_queue_counts;
FARO_API faro_queue_counts faro_queue_count(const faro_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
