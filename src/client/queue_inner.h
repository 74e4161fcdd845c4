/* queue_inner: what the files of a queue share, and the format of its file. Numbers are
 * little-endian.
 *
 *    0 20  "faro-client-state-4\n"
 *   20 32  digest of the campaign; zeros: none yet
 *   52  8  sequence number: the last one used
 *   60  8  version of the newest policy seen
 *   68  8  version of the last report that was made; 0: none yet
 *   76 32  counts: delivered, refused, late, dropped
 *  108  4  why the last one was refused
 *  112  4  d, features of a choice
 *  116  4  n, choices, in the order in which they were kept
 *  120  4  m, parts of the report under way; 0: there is none
 *  124  4  s, bytes of a part
 *  128 16  the most that was spent by the end of the campaign, epsilon and delta: doubles
 *  144 64  the signing key that was pinned, and the one that signs since hand-overs
 *  208  4  1: this campaign, or one before it, covers single reports only; 0: none does
 *  212 16  counts: answered again, plans ended
 *  228  4  p, bytes of progress; 0: nothing was played for the newest plan
 *  232     n times: state (1 byte), length of the id (1 byte), id, version (8), reward (8: double),
 *          features (8 each)
 *     .  p what was played for the newest plan (client/turns.c)
 *     .    m times: state of the part (1 byte), its bytes (s)
 *     . 32 BLAKE2b-256 of everything before
 *
 * The state of a choice is that of faro_queue_stage. At most one is under way, and then there are
 * parts. Parts without such a choice are the report of a plan; a campaign in phases has no choices.
 *
 * Earlier versions of the file are still read. Version 3 lacks what campaigns in phases and rounds
 * need, from byte 212 on; version 2 also what was spent and the signing keys; version 1 was one
 * line of text, without choices. */
#ifndef FARO_CLIENT_QUEUE_INNER_H
#define FARO_CLIENT_QUEUE_INNER_H

#include <faro/queue.h>

#include "wire/wire.h"

typedef enum faro_queue_stage {
  FARO_STAGE_OPEN,
  FARO_STAGE_REWARDED,
  FARO_STAGE_UNDER_WAY,
  FARO_STAGE_KEPT, /* delivered, and kept for the fits of its term */
  FARO_STAGE_AGAIN /* under way once more, for a fit */
} faro_queue_stage;
/* Parts that are refused have PART_REFUSED plus their faro_refusal. */
enum { FARO_PART_LEFT = 0, FARO_PART_DONE = 1, FARO_PART_REFUSED = 16 };

typedef struct faro_queue_choice {
  char id[FARO_QUEUE_ID_MAX + 1]; /* "" if it was added with its reward */
  faro_queue_stage stage;
  uint64_t version; /* the policy that chose it; once it is kept, the one under which it counts */
  double reward;
  double *features;
} faro_queue_choice;

struct faro_queue {
  char *path;
  int lock; /* negative: none */
  bool reading;
  size_t most;
  unsigned char campaign[FARO_DIGEST_BYTES];
  bool bound; /* `campaign` is set */
  uint64_t sequence, version;
  uint64_t reported; /* version of the last report that was made */
  double spent_epsilon, spent_delta;
  bool spent_singly;
  unsigned char signers[2 * FARO_KEY_BYTES];
  faro_queue_counts counts;
  size_t dimension;
  size_t choices;
  faro_queue_choice choice[FARO_QUEUE_MOST + 1]; /* one more, until the oldest has left */
  size_t parts, part_size;                       /* the report under way has these */
  unsigned char part[FARO_SHUFFLERS_MAX];        /* their states */
  bool asked[FARO_SHUFFLERS_MAX];                /* answered with AGAIN since faro_queue_again */
  uint64_t held[FARO_SHUFFLERS_MAX];             /* the newest policy when it was answered TWICE; or 0 */
  size_t current;                                /* the part that was handed out last */
  unsigned char *report;                         /* the parts */
  bool unsaved;                                  /* they are not on the disk yet */
  unsigned char *progress;                       /* what was played for the newest plan */
  size_t progress_size;
};

/* Reads a file's bytes into an empty queue. False if they are not what faro_queue_write writes, to
 * the byte; then, and if memory ran out, the queue must be cleared. */
bool faro_queue_read(faro_queue *queue, const unsigned char *bytes, size_t length, bool *memory);
/* The bytes of the file; NULL if memory ran out. free() them. */
unsigned char *faro_queue_write(const faro_queue *queue, size_t *length);
void faro_queue_remove(faro_queue *queue, size_t index);
/* Frees and wipes choices, progress and report. */
void faro_queue_clear(faro_queue *queue);
void faro_queue_drop_progress(faro_queue *queue);

/* What the calls on a queue share. */

/* Whether the client is the one whose state this is, and goes on from it. */
faro_status faro_queue_check(faro_queue *queue, const faro_client *client,
                             faro_error *error) FARO_WARN_UNUSED;
/* Takes over the client's numbers, and stores all. */
faro_status faro_queue_commit(faro_queue *queue, const faro_client *client,
                              faro_error *error) FARO_WARN_UNUSED;
/* Memory for the parts of a report of this client; NULL if memory ran out. */
unsigned char *faro_queue_room(const faro_client *client);
/* These parts are under way from now on. The queue owns them, and nothing is stored yet. */
void faro_queue_begin(faro_queue *queue, const faro_client *client, unsigned char *report, size_t parts);

/* Plans. */

/* Gives the client back what it has played for its plan. If that plan has ended, it is dropped. */
faro_status faro_queue_follow(faro_queue *queue, faro_client *client, faro_error *error) FARO_WARN_UNUSED;
/* Makes the report of the client's plan, if all its rewards are in, and saves it. */
faro_status faro_queue_make_plan(faro_queue *queue, faro_client *client, faro_error *error) FARO_WARN_UNUSED;

/* The file (queue_disk.c; in a browser web/src/place.c). */
faro_status faro_queue_load(faro_queue *queue, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_queue_store(const faro_queue *queue, faro_error *error) FARO_WARN_UNUSED;
/* Two processes would use a sequence number twice. The lock is not on the file itself, because
 * storing replaces that file. */
faro_status faro_queue_lock(faro_queue *queue, faro_error *error) FARO_WARN_UNUSED;
void faro_queue_unlock(faro_queue *queue); /* does nothing if it is not locked */

#endif
