/* peers: what the analyzer has heard of its shufflers, and whether that fits to what it holds
 * itself. A shuffler greets every few seconds (wire.h, service/shuffler/watch.h). A joiner hears of
 * its collectors by the same means. */
#ifndef FARO_SERVICE_ROLE_PEERS_H
#define FARO_SERVICE_ROLE_PEERS_H

#include <jansson.h>

#include "service/role/health.h"
#include "wire/wire.h"

typedef struct faro_peer {
  double heard;          /* when it greeted or sent a batch, on faro_clock; 0: never since the start */
  uint64_t next;         /* the batch that is expected of it next */
  faro_greeting last;    /* what it said last */
  uint64_t next_then;    /* `next` at that time */
  double fitted;         /* when it last knew of all that is here; 0: never */
  bool greeted, differs; /* it has greeted; what it said cannot fit to what is here */
} faro_peer;

/* Who looks at whom, for messages, and the reasons for being unwell that it sets. */
typedef struct faro_peers_words {
  const char *peer, *self, *state; /* "shuffler", "analyzer", "database" */
  faro_ill silent, differs;
} faro_peers_words;
extern const faro_peers_words faro_peers_shufflers, faro_peers_collectors;

/* Everything but `words`, `count`, `start` and `epoch` is guarded by the mutex. */
typedef struct faro_peers {
  pthread_mutex_t mutex;
  const faro_peers_words *words;
  size_t count;
  double start;   /* on faro_clock */
  uint64_t epoch; /* that of this analyzer; set before the first greeting */
  faro_peer peer[FARO_SHUFFLERS_MAX];
} faro_peers;

void faro_peers_init(faro_peers *peers, const faro_peers_words *words, size_t count, double now);
void faro_peers_clear(faro_peers *peers);

/* The batch `next` is expected of a shuffler now; if it is another one than before, because one has
 * come. `now` is 0 at the start. */
void faro_peers_expect(faro_peers *peers, size_t shuffler, uint64_t next, double now);
/* A shuffler has greeted. */
void faro_peers_greeted(faro_peers *peers, const faro_greeting *greeting, double now);
/* Whether every shuffler has greeted in this analyzer's epoch, and all batches that it has handed
 * over are here: then this is the newest state, and no shuffler hands a batch to another analyzer.
 * One more batch may be here: the shuffler has not heard yet that it has arrived. */
bool faro_peers_agree(faro_peers *peers);
/* Copies what is expected of each shuffler. */
void faro_peers_next(faro_peers *peers, uint64_t next[static FARO_SHUFFLERS_MAX]);

/* Sets or clears the reasons for being unwell. `finished`: nothing is expected of shufflers any
 * more. */
void faro_peers_check(faro_peers *peers, bool finished, double now, faro_health *health);
/* Whether a shuffler was heard of lately. */
bool faro_peers_heard(faro_peers *peers, size_t shuffler, double now);
/* For each shuffler: {"url", "next", "seconds" since it was heard (or null), "state"}: "well",
 * "unwell" by its own words, "silent", "differs", or "unknown" shortly after the start. */
json_t *faro_peers_json(faro_peers *peers, const faro_campaign *campaign, double now);

#endif
