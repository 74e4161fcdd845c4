/* queue_inner: what the files of a queue share, and the format of its file. Numbers are
 * little-endian.
 *
 *    0 20  "faro-client-state-3\n"
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
 *  212     n times: state (1 byte), length of the id (1 byte), id, version (8), reward (8: double),
 *          features (8 each)
 *     .    m times: state of the part (1 byte), its bytes (s)
 *     . 32 BLAKE2b-256 of everything before
 *
 * The state of a choice is that of faro_queue_stage. At most one is under way, and then there are
 * parts. Version 2 of the file lacks what was spent and the signing keys; version 1 was one line of
 * text, without choices. Both are still read. */
#ifndef FARO_CLIENT_QUEUE_INNER_H
#define FARO_CLIENT_QUEUE_INNER_H

#include <faro/queue.h>

#include "wire/wire.h"

typedef enum faro_queue_stage { FARO_STAGE_OPEN, FARO_STAGE_REWARDED, FARO_STAGE_UNDER_WAY } faro_queue_stage;
/* Parts that are refused have PART_REFUSED plus their faro_refusal. */
enum { FARO_PART_LEFT = 0, FARO_PART_DONE = 1, FARO_PART_REFUSED = 16 };

typedef struct faro_queue_choice {
  char id[FARO_QUEUE_ID_MAX + 1]; /* "" if it was added with its reward */
  faro_queue_stage stage;
  uint64_t version;
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
  size_t current;                                /* the part that was handed out last */
  unsigned char *report;                         /* the parts */
};

/* Reads a file's bytes into an empty queue. False if they are not what faro_queue_write writes, to
 * the byte; then, and if memory ran out, the queue must be cleared. */
bool faro_queue_read(faro_queue *queue, const unsigned char *bytes, size_t length, bool *memory);
/* The bytes of the file; NULL if memory ran out. free() them. */
unsigned char *faro_queue_write(const faro_queue *queue, size_t *length);
void faro_queue_remove(faro_queue *queue, size_t index);
/* Frees and wipes choices and report. */
void faro_queue_clear(faro_queue *queue);

/* The file (queue_disk.c; in a browser web/src/place.c). */
faro_status faro_queue_load(faro_queue *queue, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_queue_store(const faro_queue *queue, faro_error *error) FARO_WARN_UNUSED;
/* Two processes would use a sequence number twice. The lock is not on the file itself, because
 * storing replaces that file. */
faro_status faro_queue_lock(faro_queue *queue, faro_error *error) FARO_WARN_UNUSED;
void faro_queue_unlock(faro_queue *queue); /* does nothing if it is not locked */

#endif
