/* shard: which instances belong to which part of a run; see include/faro/shard.h. */
#ifndef FARO_SIM_SHARD_H
#define FARO_SIM_SHARD_H

#include <faro/shard.h>

#include "sim/experiment.h"

/* Instances are dealt like cards, one to each shard in turn: all instances of the first algorithm
 * at the first sweep point, at the second, ..., then those of the next algorithm. So every shard
 * gets the same number of instances of every algorithm, of every cell, and of all together, up to
 * one. first[cell] is the number of the cell's first instance in this order; cells whose results
 * are copied have none. */
void faro_shard_deal(const faro_experiment *experiment, size_t *first);
static inline size_t faro_shard_of(size_t first, size_t instance, size_t shards) {
  return (first + instance) % shards + 1;
}

faro_status faro_shard_check(size_t shard, size_t shards, faro_error *error) FARO_WARN_UNUSED;

/* A cell for messages: "LinUCB-LDP (epsilon 0.2)". */
enum { FARO_SHARD_POINT = 240 };
const char *faro_shard_point(const faro_experiment *experiment, size_t cell,
                             char out[static FARO_SHARD_POINT]);

#endif
