/* shard: one experiment played by several processes, on one machine or on many, that share nothing
 * but a folder.
 *
 * The instances are dealt to N shards, counted from 1. Each process plays one shard into a journal
 * of its own, so no process waits for another, and one that was killed is simply run again:
 *
 *     char journal[200];
 *     faro_shard_journal("out", 3, 16, journal, sizeof journal);
 *     faro_run_options options = {.journal = journal, .shard = 3, .shards = 16};
 *     if (faro_shard_keep(experiment, "out", &error) != FARO_OK ||
 *         faro_run(experiment, &options, &results, &error) != FARO_OK) ...
 *
 * When all of them are done, any process makes the results from the folder:
 *
 *     faro_shard_list list = {0};
 *     if (faro_shard_recall(&experiment, "out", NULL, &error) != FARO_OK ||
 *         faro_shard_find(&list, "out", &error) != FARO_OK) ...
 *     options = {.journals = list.path, .journal_count = list.count, .missing = tell};
 *     if (faro_run(experiment, &options, &results, &error) != FARO_OK) ...
 *
 * Equal instances of two journals count once. Unequal ones are refused: they mean that a machine
 * computes differently. Shards of several N may be in one folder. */
#ifndef FARO_SHARD_H
#define FARO_SHARD_H

#include <faro/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FARO_SHARDS_MAX = 1000000 };

/* Reads "I/N"; or "auto", which takes both from the variables that SLURM (job arrays), Open MPI or
 * MPICH set; or "auto/N", which takes I from these, from PBS or from GNU parallel. */
FARO_API faro_status faro_shard_read(const char *text, size_t *shard, size_t *shards,
                                     faro_error *error) FARO_WARN_UNUSED;

/* Writes FOLDER/instances.I-of-N.journal to `out`; with 0 of 0 FOLDER/instances.journal, which a
 * run without shards uses. Returns the length that it needs, like snprintf. */
FARO_API int faro_shard_journal(const char *folder, size_t shard, size_t shards, char *out, size_t size);

/* Keeps the experiment in the folder, as experiment.yaml, and how it was asked for, as shards.json.
 * Processes may do this at the same time. A folder that keeps another experiment is refused. */
FARO_API faro_status faro_shard_keep(const faro_experiment *experiment, const char *folder,
                                     faro_error *error) FARO_WARN_UNUSED;
/* Reads the experiment that the folder keeps. Only `command` of the options counts; they may be
 * NULL. */
FARO_API faro_status faro_shard_recall(faro_experiment **experiment, const char *folder,
                                       const faro_experiment_options *options,
                                       faro_error *error) FARO_WARN_UNUSED;

/* The journals in a folder: that of a run without shards, then those of shards, by N and I. */
typedef struct faro_shard_list {
  size_t count;
  const char **path;
  size_t *shard, *shards; /* shard I of N of each journal; 0 of 0: without shards */
} faro_shard_list;

FARO_API faro_status faro_shard_find(faro_shard_list *list, const char *folder,
                                     faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_shard_clear(faro_shard_list *list);

#ifdef __cplusplus
}
#endif

#endif
