/* checks: what a deployment promises, checked from outside at the end of a trial.
 * docs/threat-model.md and faro-demo(1) name the checks by the same letters. */
#ifndef FARO_TRIAL_CHECKS_H
#define FARO_TRIAL_CHECKS_H

#include "trial/record.h"

typedef struct faro_check {
  char letter;
  const char *text; /* what is promised */
  bool passed;
  char found[160]; /* what was seen */
} faro_check;

enum { FARO_CHECKS_MAX = 40 };

typedef struct faro_checks {
  faro_check row[FARO_CHECKS_MAX];
  size_t count;
} faro_checks;

void faro_checks_add(faro_checks *list, char letter, const char *text, bool passed, const char *found, ...)
    FARO_PRINTF(5, 6);
bool faro_checks_passed(const faro_checks *list); /* all, and there is at least one */

/* While the roles run: their own counts, and reports that must be refused. `again`: the counts
 * after those refusals, which are tried while the batch after the released ones lacks one report.
 * `stale` is the policy of version 1; where clients report once, `newest` is the newest one, for a
 * second report. */
void faro_check_counters(faro_checks *list, const faro_trial *trial, const faro_crowd *crowd,
                         uint64_t released, bool again);
typedef struct faro_document {
  char *bytes;
  size_t length;
} faro_document;
void faro_check_refusals(faro_checks *list, const faro_trial *trial, const faro_crowd *crowd,
                         uint64_t released, const faro_document *stale, const faro_document *newest);
void faro_check_ledger(faro_checks *list, const faro_trial *trial, uint64_t released);
void faro_check_processes(faro_checks *list, const faro_trial *trial);
/* Copies the roles' files, to be searched later together with the final ones: a role may clean up
 * when it ends. */
void faro_check_snapshot(faro_checks *list, const faro_trial *trial);

/* After the roles have ended: what was sent, logged and left on the disk. `steps`: every version
 * had a batch of its own, so each batch can be checked by itself; if not, all are checked
 * together. */
void faro_check_record(faro_checks *list, const faro_trial *trial, const faro_record *record,
                       const faro_crowd *crowd, uint64_t released, bool steps);
void faro_check_replay(faro_checks *list, const faro_trial *trial, const faro_record *record,
                       const faro_crowd *crowd, uint64_t released);
/* `copied`: batches that were released when the snapshot was taken. */
void faro_check_files(faro_checks *list, const faro_trial *trial, const faro_record *record, uint64_t copied);
void faro_check_traffic(faro_checks *list, const faro_trial *trial, const faro_crowd *crowd);

#endif
