/* stage: a campaign with keys and tokens in a folder of its own, a stand-in analyzer in this
 * process, and real shufflers in processes of their own. Any failure ends the program. */
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
  bool away, forgetful; /* the analyzer answers 503; the analyzer only counts batches */
  char *document;
  size_t document_length;
  stage_batch batch[STAGE_BATCHES]; /* in order of arrival; those of one shuffler in order, each once */
  size_t batches, repeats;          /* repeats: batches that came again */
  uint64_t next[FARO_SHUFFLERS_MAX];
  pid_t pid[FARO_SHUFFLERS_MAX];
  int errors[FARO_SHUFFLERS_MAX]; /* our end of its stderr */
  uint16_t port[FARO_SHUFFLERS_MAX];
  int hold[FARO_SHUFFLERS_MAX]; /* keeps the port from others, also while the process is down; 0: none yet */
  faro_sender *sender;
} stage;

typedef struct stage_plan {
  const char *release; /* shuffle-bits, shuffle-gaussian, shuffle-response, concurrent-bits */
  double epsilon;
  uint64_t batch, horizon, shufflers, contributions; /* contributions 0: event level */
  double growth;                                     /* of batches; 0: 1 */
  size_t dimension, clients;
  const char *memory; /* parent of the folder; NULL: scratch() */
} stage_plan;

void stage_open(stage *s, const stage_plan *plan);
void stage_close(stage *s); /* kills all processes, removes the folder */

/* Starts a shuffler's process and returns when it is ready. `extra` has more lines for its
 * settings. */
void stage_start(stage *s, size_t index, const char *extra);
void stage_kill(stage *s, size_t index);    /* with SIGKILL */
int stage_stop(stage *s, size_t index);     /* with SIGTERM; returns the exit status */
void stage_present(stage *s, bool present); /* whether the analyzer accepts batches */

/* A report. For bits every entry is `mark`, cut to the allowed range; otherwise the body consists
 * of `mark`. */
void stage_report(const stage *s, size_t index, size_t client, uint64_t version, uint64_t sequence,
                  uint64_t mark, unsigned char *out);
/* Posts bytes to /v1/reports. Returns the status, or 0 if there was no answer. The answer's bytes
 * are in sent->bytes. */
long stage_post(stage *s, size_t index, const void *bytes, size_t length, faro_sent *sent);
long stage_get(stage *s, size_t index, const char *path, faro_sent *sent);
/* Waits until there are this many batches. False if that takes longer than `seconds`. */
bool stage_await(stage *s, size_t batches, double seconds);
/* A value of /metrics: from the line that begins with `name` and a blank. */
double stage_metric(stage *s, size_t index, const char *name);

/* How often any of `count` pieces of `length` >= 2 bytes, stored one after another, occurs in
 * writable memory of the process, each at most once per region. -1: no permission (it needs root).
 * Meaningless under a sanitizer, which has a heap of its own. */
int stage_remembers(pid_t pid, const unsigned char *pieces, size_t count, size_t length);

#endif
