/* stage: a campaign with keys and tokens in a folder of its own, a stand-in analyzer in this process, and real shufflers
 * in theirs. What goes wrong ends the program. */
#ifndef FARO_TESTS_STAGE_H
#define FARO_TESTS_STAGE_H

#include <pthread.h>
#include <sys/types.h>

#include "service/http/sender.h"
#include "service/http/server.h"
#include "wire/wire.h"

enum { STAGE_BATCHES = 4096 };

typedef struct stage_batch {
  uint32_t shuffler;
  uint64_t number, count;
  size_t length;
  unsigned char *body;
} stage_batch;

typedef struct stage {
  char folder[64];
  faro_sign_key analyzer, shuffler[FARO_SHUFFLERS_MAX];
  faro_campaign campaign;
  size_t clients;
  unsigned char *tokens;
  size_t body, frame;
  faro_metrics *metrics;
  faro_http *http;
  pthread_mutex_t mutex;
  bool away, forgetful; /* the analyzer answers 503; it counts batches only */
  char *document;
  size_t document_length;
  stage_batch batch[STAGE_BATCHES]; /* as they came; of one shuffler in order, each once */
  size_t batches, repeats;          /* repeats: came again */
  uint64_t next[FARO_SHUFFLERS_MAX];
  pid_t pid[FARO_SHUFFLERS_MAX];
  int errors[FARO_SHUFFLERS_MAX]; /* the end of its stderr that we read */
  uint16_t port[FARO_SHUFFLERS_MAX];
  faro_sender *sender;
} stage;

typedef struct stage_plan {
  const char *release; /* shuffle-bits, shuffle-amplified, concurrent-bits */
  double epsilon;
  uint64_t batch, horizon, shufflers, contributions; /* contributions 0: event level */
  size_t dimension, clients;
  const char *memory; /* the folder's parent; NULL: /dev/shm */
} stage_plan;

void stage_open(stage *s, const stage_plan *plan);
void stage_close(stage *s); /* kills what runs, removes the folder */

/* A shuffler's process: `extra` are more lines for its settings. Returns when it is ready. */
void stage_start(stage *s, size_t index, const char *extra);
void stage_kill(stage *s, size_t index);    /* -9 */
int stage_stop(stage *s, size_t index);     /* SIGTERM; its exit status */
void stage_present(stage *s, bool present); /* whether the analyzer takes batches */

/* A report. Bits: every entry is `mark` cut to what is allowed; else the body is made of mark alone. */
void stage_report(const stage *s, size_t index, size_t client, uint64_t version, uint64_t sequence,
                  uint64_t mark, unsigned char *out);
/* Posts bytes to /v1/reports; the status, or 0 where nothing came back. The answer's bytes: sent->bytes. */
long stage_post(stage *s, size_t index, const void *bytes, size_t length, faro_sent *sent);
long stage_get(stage *s, size_t index, const char *path, faro_sent *sent);
/* Waits until so many batches are there; false after so many seconds. */
bool stage_await(stage *s, size_t batches, double seconds);
/* A value of /metrics: the line that begins with `name` and a blank. */
double stage_metric(stage *s, size_t index, const char *name);

/* How often any of `count` pieces, one after another, stands in memory that the process may write to, each once a region; -1:
 * we may not look (that needs root). Under a sanitizer it tells nothing: they have heaps of their own. */
int stage_remembers(pid_t pid, const unsigned char *pieces, size_t count, size_t length);

#endif
