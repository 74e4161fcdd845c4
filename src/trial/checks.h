/* promise: what a deployment has promised, checked at the end of a trial from outside. docs/threat-model.md and faro-demo(1)
 * name them by the same letters. */
#ifndef FARO_TRIAL_CHECKS_H
#define FARO_TRIAL_CHECKS_H

#include "trial/record.h"

typedef struct faro_promise {
  const char *letter, *text;
  bool kept;
  char found[160]; /* what was seen, in words */
} faro_promise;

enum { FARO_PROMISES = 40 };

typedef struct faro_promises {
  faro_promise row[FARO_PROMISES];
  size_t count;
} faro_promises;

void faro_promise_add(faro_promises *list, const char *letter, const char *text, bool kept, const char *found,
                      ...) FARO_PRINTF(5, 6);
bool faro_promises_kept(const faro_promises *list);
/* By letter; those of one letter as they were added. */
void faro_promises_sort(faro_promises *list);

/* While the roles run: their own numbers, and reports that must be refused. `again`: after those. `stale` is the policy of
 * version 1. */
void faro_promise_counters(faro_promises *list, const faro_trial *trial, const faro_crowd *crowd,
                           uint64_t released, bool again);
void faro_promise_refusals(faro_promises *list, const faro_trial *trial, const faro_crowd *crowd,
                           const char *stale, size_t length);
void faro_promise_ledger(faro_promises *list, const faro_trial *trial, uint64_t released);
/* Copies the roles' files as they are now, to be searched later with what they will be: an end may tidy up. */
void faro_promise_snapshot(faro_promises *list, const faro_trial *trial);
void faro_promise_processes(faro_promises *list, const faro_trial *trial);

/* When they have ended: what was sent, what was said, what is on the disk. `steps`: every version had its own batch, so that
 * each is known alone; else only all together. */
void faro_promise_record(faro_promises *list, const faro_trial *trial, const faro_record *record,
                         const faro_crowd *crowd, uint64_t released, bool steps);
void faro_promise_replay(faro_promises *list, const faro_trial *trial, const faro_record *record,
                         const faro_crowd *crowd, uint64_t released);
void faro_promise_files(faro_promises *list, const faro_trial *trial, const faro_record *record,
                        const faro_crowd *crowd);
void faro_promise_traffic(faro_promises *list, const faro_trial *trial, const faro_crowd *crowd);

#endif
