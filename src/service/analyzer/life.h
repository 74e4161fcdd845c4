/* life: the states of a campaign, and what an operator may do in each.
 *
 *   draft --open--> open <--resume--/--pause--> paused
 *                    |  `----finish---.   |finish
 *                    | budget used up  `--v
 *                    `------------> finished --archive--> archived
 *
 *   draft      settings are checked and the claim is computed; nothing is signed, nobody sees it
 *   open       reports are used, policies are published
 *   paused     documents are served, but no batch or report is taken, nothing is applied, and no
 * policy is published; shufflers keep two batches and then send clients away for a time
 *   finished   the last policy is served, reports are refused for good
 *   archived   documents and ledger are served from a database that is only read; no thread works
 *
 * A database holds every change from open on, with its time. */
#ifndef FARO_SERVICE_ANALYZER_LIFE_H
#define FARO_SERVICE_ANALYZER_LIFE_H

#include <faro/base.h>

#define FARO_LIFE_LIST(X)                                                                                    \
  X(DRAFT, "draft")                                                                                          \
  X(OPEN, "open")                                                                                            \
  X(PAUSED, "paused")                                                                                        \
  X(FINISHED, "finished")                                                                                    \
  X(ARCHIVED, "archived")

typedef enum faro_life {
#define X(name, text) FARO_LIFE_##name,
  FARO_LIFE_LIST(X)
#undef X
      FARO_LIVES
} faro_life;

const char *faro_life_name(faro_life life);
/* FARO_INVALID, with the text, if there is no such state. */
faro_status faro_life_read(const char *name, faro_life *life, faro_error *error) FARO_WARN_UNUSED;

/* What an operator does: "open", "pause" and so on, by index; NULL past the last one. */
const char *faro_life_verb(size_t index);
/* The state after `verb`. FARO_INVALID if there is no such verb, or it is not allowed in this
 * state; the message names the state and what is allowed. */
faro_status faro_life_after(faro_life now, const char *verb, faro_life *after,
                            faro_error *error) FARO_WARN_UNUSED;

#endif
