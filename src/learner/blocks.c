/* blocks: see the header.
 *
 * The policy is put together: theta is one block's after the other's, and w has theirs on its
 * diagonal. Each learner has a beta of its own, so w of a block is scaled by its beta over the
 * greatest. */
#include "learner/blocks.h"

#include <math.h>
#include <string.h>

typedef struct blocks {
  const faro_learner_kind *kind;
  faro_host *host;
  size_t count, width; /* number of blocks, and features of each */
  size_t length;       /* of the statistics of a block */
  faro_updater **part;
  double *memory; /* what all parts remember, one after the other */
  size_t memory_length;
} blocks;

void faro_blocks_of_kind(void *state, const faro_learner_kind *kind) { ((blocks *)state)->kind = kind; }

static faro_noise noise_of(const blocks *b, faro_noise noise, size_t index) {
  if (noise.scale) noise.scale += index * b->length;
  return noise;
}

static faro_statistics statistics_of(const blocks *b, const faro_statistics *all, size_t index) {
  faro_statistics own = *all;
  own.sum += index * b->length;
  own.noise = noise_of(b, all->noise, index);
  if (own.block) {
    own.block += index * b->length;
    own.block_noise = noise_of(b, all->block_noise, index);
  }
  return own;
}

static void put_block(const blocks *b, size_t index, double scale, faro_policy *policy) {
  const faro_policy *own = faro_updater_policy(b->part[index]);
  const size_t first = index * b->width;
  memcpy(policy->theta + first, own->theta, b->width * sizeof *own->theta);
  for (size_t i = 0; i < b->width; i++)
    for (size_t j = 0; j <= i; j++)
      policy->w[faro_packed(first + i) + first + j] = scale * own->w[faro_packed(i) + j];
}

static void set_policy(const blocks *b, faro_policy *policy) {
  policy->rule = faro_updater_policy(b->part[0])->rule;
  policy->blocks = b->count;
  policy->beta = 0;
  policy->explore = 0;
  b->host->diagnostics.shifted = 0;
  for (size_t i = 0; i < b->count; i++) {
    const faro_policy *own = faro_updater_policy(b->part[i]);
    policy->beta = fmax(policy->beta, own->beta);
    policy->explore = fmax(policy->explore, own->explore);
    b->host->diagnostics.shifted += faro_updater_diagnose(b->part[i]).shifted;
  }
  for (size_t i = 0; i < b->count; i++) {
    const double beta = faro_updater_policy(b->part[i])->beta;
    put_block(b, i, policy->beta > 0 ? beta / policy->beta : 0, policy);
  }
}

/* Copies what the parts remember to `memory`, or back. Returns its length. */
static size_t copy_memory(const blocks *b, bool back) {
  size_t used = 0;
  for (size_t i = 0; i < b->count; i++) {
    double *own = NULL;
    const size_t length = faro_updater_memory(b->part[i], &own);
    if (length > 0 && b->memory && back) memcpy(own, b->memory + used, length * sizeof *own);
    if (length > 0 && b->memory && !back) memcpy(b->memory + used, own, length * sizeof *own);
    used += length;
  }
  return used;
}

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  const blocks *b = state;
  for (size_t i = 0; i < b->count; i++) {
    const faro_statistics own = statistics_of(b, statistics, i);
    faro_updater_update(b->part[i], &own);
  }
  (void)copy_memory(b, false);
  set_policy(b, policy);
}

static size_t memory(void *state, double **values) {
  const blocks *b = state;
  *values = b->memory;
  return b->memory_length;
}

static void resume(void *state, const faro_statistics *statistics, faro_policy *policy) {
  const blocks *b = state;
  (void)copy_memory(b, true);
  for (size_t i = 0; i < b->count; i++) {
    const faro_statistics own = statistics_of(b, statistics, i);
    faro_updater_resume(b->part[i], &own);
  }
  set_policy(b, policy);
}

/* The regions of all blocks must hold, so they share the probability of failure. */
static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  blocks *b = state;
  faro_updater_params own = *params;
  own.dimension = params->dimension / params->blocks;
  own.blocks = 1;
  own.failure = params->failure / (double)params->blocks;
  b->host = host;
  b->width = own.dimension;
  b->length = faro_packed(b->width) + b->width;
  b->part = faro_arena_alloc(&host->arena, params->blocks, sizeof(faro_updater *), error);
  if (!b->part) return FARO_MEMORY;
  for (; b->count < params->blocks; b->count++) {
    const faro_status status = faro_updater_create(&b->part[b->count], b->kind, &own, error);
    if (status != FARO_OK) return status;
  }
  b->memory_length = copy_memory(b, false);
  const faro_status status = faro_host_vectors(host, error, &b->memory, b->memory_length, (double **)NULL);
  if (status != FARO_OK) return status;
  (void)copy_memory(b, false);
  set_policy(b, policy);
  return FARO_OK;
}

static void destroy(void *state) {
  blocks *b = state;
  for (size_t i = 0; i < b->count; i++) faro_updater_destroy(b->part[i]);
}

const faro_updater_kind faro_updater_blocks = {
    .about = {.name = "blocks", .summary = "a learner per block", .protocol = FARO_PROTOCOL_UPDATER},
    .size = sizeof(blocks),
    .init = init,
    .update = update,
    .memory = memory,
    .resume = resume,
    .destroy = destroy,
};
