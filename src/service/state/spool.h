/* spool: the durable side of accepting reports, in one SQLite file. Use it from one thread at a
 * time (see intake.h). spool_postgres.h keeps the same in a database server.
 *
 * Tables, and how long they keep what they hold about a client:
 *   clients  token hash, number of reports, last sequence number; for ever: replays and M0 need
 *            them
 *   open     token hash, sequence number, count, mark of the last report; for the open batch, and
 *            for the batch before until it was folded into `clients` (faro_spool_fold)
 *   totals   BITS: the ones of each entry so far; no row per report (but see below)
 *   bodies   SEALED, DIRECT: under random numbers, so the file does not show the order of arrival.
 *            Split counts: the same with the boxes for the adder; the totals are then those of
 *            masked shares
 *   outbox   closed batches, permuted, until they are acknowledged
 *   plans    in phases: the plans of the batches so far, and of the open one
 *   portions a joiner's (wire/portion.h): portions of batches that are not whole yet; of the last
 *            portion of each collector its number and mark
 *
 * A spool is that of a whole shuffler, of one of its collectors, or of its joiner. The file says
 * which, and how many collectors there are: another number would give clients to other collectors,
 * which do not know what they have sent.
 *
 * Which clients may send is not in the file but in memory (roster.h). A client has a row once a
 * batch with a report of it was folded. What `clients` and `open` say about sequence numbers and
 * numbers of reports is in memory, too (counts.h), so a report asks the file for nothing, unless it
 * repeats another one.
 *
 * A batch is closed in the transaction that accepts its last report. A smaller batch is never
 * closed. Closing takes the same time however many clients there are: what the batch says about
 * its clients is folded later, in small steps, and before the batch is forgotten.
 *
 * An open batch on the disk is as sensitive as the memory of the role that collects it. SQLite's
 * log keeps the totals after each group until it is emptied. The difference of two versions is a
 * group, and a group may be one report. The promise is about the end: when a batch was
 * acknowledged, nothing of it is left in the files (faro_spool_forget).
 *
 * A sequence number that comes again: the mark is a hash of the report (BLAKE2b-128). While the
 * batch is open, only the same bytes get "accepted before"; other bytes with the same number are a
 * replay. Marks lose their key when the batch closes, and are deleted soon after, because they
 * would link a client to its message at the analyzer. From then on the last number alone means
 * "accepted before": clients use a number once, and a client that repeats an acknowledged report
 * must not be told that it is lost. The hash is keyed, and each batch has a new key: counts can be
 * guessed, and an old disk block must not confirm a guess. */
#ifndef FARO_SERVICE_STATE_SPOOL_H
#define FARO_SERVICE_STATE_SPOOL_H

#include "wire/move.h"
#include "wire/portion.h"
#include "wire/verdict.h"

typedef struct faro_spool faro_spool;

/* A well-formed report, with the hash of its token. If it has no mark, or one by an older key, the
 * spool makes it when it accepts the report. */
typedef struct faro_spool_entry {
  unsigned char hash[FARO_HASH_BYTES];
  uint64_t version, sequence;
  const unsigned char *body;
  faro_verdict verdict;
  uint64_t marked; /* 0, or which of the spool's keys made the mark: each has a number of its own */
  unsigned char mark[FARO_MARK_BYTES];
} faro_spool_entry;

/* What a spool collects: everything, a portion, or portions. */
typedef struct faro_spool_part {
  size_t collectors; /* 0: a whole shuffler, or the analyzer */
  size_t collector;  /* from 0 */
  bool joins;        /* the joiner */
} faro_spool_part;

typedef struct faro_spool_params {
  const char *path;
  const char *tokens; /* file of token hashes: the clients that may send; a joiner has none */
  const faro_campaign *campaign;
  size_t shuffler; /* 0 if clients send to the analyzer */
  bool known;      /* the campaign was joined before: a state that holds nothing is refused */
  /* In phases, for a shuffler: who signs plans. Those in the file are added to the campaign's. */
  const unsigned char *signer;
  const faro_move *move; /* hand-overs of the signing key: plans may be of any signer; NULL: none */
  faro_spool_part part;
  /* postgresql://...: the state is there, and the file holds only the keys of its batches
   * (spool_postgres.h). NULL or empty: the state is in the file. */
  const char *database;
} faro_spool_params;

enum { FARO_SPOOL_AHEAD = 2 }; /* when this many closed batches wait, nothing is accepted */

faro_status faro_spool_open(faro_spool **spool, const faro_spool_params *params,
                            faro_error *error) FARO_WARN_UNUSED;
/* Whether its database, which is in a server, holds anything of it, so that opening it does not
 * found it. */
faro_status faro_spool_there(const faro_spool_params *params, bool *there,
                             faro_error *error) FARO_WARN_UNUSED;
/* Whether the file belongs to this part of this shuffler of this campaign. Only reads it. */
faro_status faro_spool_check(const char *path, const faro_campaign *campaign, size_t shuffler,
                             const faro_spool_part *part, faro_error *error) FARO_WARN_UNUSED;
/* The same if no campaign is known yet: whether the file, if it exists, can be a spool
 * (faro_database_recognize). */
faro_status faro_spool_recognize(const char *path, faro_error *error) FARO_WARN_UNUSED;
/* Whether `database` can be a setting: a URL of PostgreSQL, and a build with it. */
faro_status faro_spool_database_check(const char *database, faro_error *error) FARO_WARN_UNUSED;
/* As faro_spool_check and faro_spool_recognize, for the file of keys of a spool in a database. */
faro_status faro_spool_keys_check(const char *path, const faro_campaign *campaign, size_t shuffler,
                                  faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_keys_recognize(const char *path, faro_error *error) FARO_WARN_UNUSED;
void faro_spool_close(faro_spool *spool);

/* A group of reports: begin, accept each, commit. Accepted reports count when commit has returned
 * FARO_OK; in a database server verdicts are known only then, and entries must stay until then.
 * After any failure none of the group counts, and the group is over. Give accept only reports of
 * known clients (faro_spool_admit). */
faro_status faro_spool_begin(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_accept(faro_spool *spool, faro_spool_entry *entry, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_commit(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* In phases: keeps the plan of the open batch, durable, and adds it to the campaign's. Reports
 * count under it from now on, and under no other plan of this version. `row` is what
 * faro_plan_check made of the document. */
faro_status faro_spool_follow(faro_spool *spool, const faro_plan_row *row, const char *document,
                              size_t length, faro_error *error) FARO_WARN_UNUSED;

/* A joiner's. Keeps a portion, durable, and closes the batch if it is the last one of it. Portions
 * of one collector come in order. */
typedef enum faro_joined {
  FARO_JOINED_KEPT,
  FARO_JOINED_KNOWN, /* it was here before, and counts once */
  FARO_JOINED_OTHER, /* it is not the next one of this collector, or is the last one with other contents */
  FARO_JOINED_LATER  /* there is no room: closed batches wait, or other collectors are far behind */
} faro_joined;
faro_status faro_spool_join(faro_spool *spool, const faro_portion *portion, faro_joined *joined,
                            faro_error *error) FARO_WARN_UNUSED;
/* A collector's: the joiner has handed over all batches before this one. If the open batch is two
 * or more further, its clients cannot have its policy yet: then a report under an older one is told
 * to come again. */
void faro_spool_heard(faro_spool *spool, uint64_t first);
bool faro_spool_joins(const faro_spool *spool);
bool faro_spool_is_collector(const faro_spool *spool);
/* The number of the portion that is expected of each collector next. */
void faro_spool_expected(const faro_spool *spool, uint64_t next[static FARO_COLLECTORS_MAX]);

typedef struct faro_spool_state {
  uint64_t number;  /* number of the open batch */
  uint64_t held;    /* reports in it; at a joiner, in its portions that are there */
  uint64_t size;    /* reports in a full batch, or portion */
  uint64_t waiting; /* closed batches; if it is shared, only those that this process hands over */
  uint64_t first;   /* all batches before this one were handed over */
  bool needs_purge; /* the database's log could not be emptied */
  bool unfolded;    /* call faro_spool_fold */
  bool over;        /* all batches of this shuffler are closed */
  bool shared;      /* other processes collect too: what they do changes this state */
  uint64_t closed;  /* batches that were closed, if it is shared by this process since its start */
  uint64_t reports; /* shared only: the reports in those */
} faro_spool_state;
faro_spool_state faro_spool_snapshot(const faro_spool *spool);

/* Folds some more clients of the batch before: their numbers move to where they stay. Call it
 * again, at leisure, until the state says that all is folded. */
faro_status faro_spool_fold(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* Gives the oldest closed batch; count 0: no batch is closed. Split counts: its body is the totals,
 * then the boxes. Give it to faro_spool_wipe afterwards. */
faro_status faro_spool_next(faro_spool *spool, faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;
void faro_spool_wipe(const faro_spool *spool, faro_batch *batch);
/* The batch was acknowledged: removes it from the files. If the state needs a purge afterwards,
 * traces are left in the database's log until faro_spool_retry_purge succeeds (see database.h). */
faro_status faro_spool_forget(faro_spool *spool, uint64_t number, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_retry_purge(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* Reports in a full batch of this number, or in a full portion of it. */
uint64_t faro_spool_size(const faro_spool *spool, uint64_t number);

/* Whether a client's reports are collected here; otherwise *collector has them, of *collectors. May
 * be called from any thread. */
bool faro_spool_collects(const faro_spool *spool, const unsigned char hash[static FARO_HASH_BYTES],
                         size_t *collector, size_t *collectors);
/* How many clients may send here. */
size_t faro_spool_clients(const faro_spool *spool);
/* Looks up the clients of reports with the verdict ACCEPTED: one that may not send gets the verdict
 * TOKEN. May be called from any thread. */
void faro_spool_admit(const faro_spool *spool, faro_spool_entry *entry, size_t count);
/* Gives reports with the verdict ACCEPTED their marks, so that the writer need not hash them. May
 * be called from any thread. */
void faro_spool_mark(faro_spool *spool, faro_spool_entry *entry, size_t count);
/* Takes the clients of this file of token hashes from now on, *count of them. What others have sent
 * before stays in the state. May be called from any thread. */
faro_status faro_spool_reload(const faro_spool *spool, const char *tokens, size_t *count,
                              faro_error *error) FARO_WARN_UNUSED;

/* Looks for damage in the file (database.h). */
void faro_spool_verify(faro_spool *spool);
/* Whether the file is still at its path (database.h). May be called from any thread. */
faro_status faro_spool_present(const faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
/* Writes as much as a large group of reports, and removes it: whether the disk has room again. */
faro_status faro_spool_probe(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* For a standby of an analyzer, before it takes over: whether all that waits in the database can be
 * opened with the keys that are here. If not, the error says what is to be done. */
faro_status faro_spool_opens(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* Moves the state to a new file: copies it and marks the old one, which nobody can open again. No
 * process may have it open. */
faro_status faro_spool_move(const char *from, const char *to, faro_error *error) FARO_WARN_UNUSED;

/* Counts the reports in the open batch of a file, which another process may have open. For
 * trials. */
faro_status faro_spool_count_open(const char *path, uint64_t *held, faro_error *error) FARO_WARN_UNUSED;

#endif
