/* schedule: see the header. */
#include "release/schedule.h"

#include <math.h>

/* The next end after `users` users; 0: beyond the horizon. */
static uint64_t next_end(const faro_schedule_rule *rule, uint64_t users) {
  const double grown = floor(rule->growth * (double)users);
  uint64_t size = grown < 0x1p62 ? (uint64_t)grown - users : UINT64_C(1) << 62;
  if (users == 0) size = rule->batch;
  if (rule->largest > 0 && size > rule->largest) size = rule->largest;
  if (size < rule->least) size = rule->least;
  return size <= rule->horizon - users ? users + size : 0;
}

uint64_t faro_schedule_count(const faro_schedule_rule *rule) {
  uint64_t count = 0;
  if (rule->growth <= 1) return rule->horizon / rule->batch;
  for (uint64_t users = next_end(rule, 0); users > 0 && count <= FARO_SCHEDULE_MAX; count++)
    users = next_end(rule, users);
  return count;
}

/* The class of a size; a new one if there is none yet. */
static size_t find_class(faro_schedule *s, uint64_t size) {
  for (size_t c = s->classes; c-- > 0;)
    if (s->size[c] == size) return c;
  s->size[s->classes] = size;
  return s->classes++;
}

static faro_status make_uniform(faro_schedule *s, const faro_schedule_rule *rule, faro_arena *arena,
                                faro_error *error) {
  *s = (faro_schedule){.count = faro_schedule_count(rule), .batch = rule->batch, .classes = 1};
  s->size = faro_arena_alloc(arena, 1, sizeof *s->size, error);
  if (!s->size) return FARO_MEMORY;
  *s->size = rule->batch;
  return FARO_OK;
}

static faro_status allocate(faro_schedule *s, faro_arena *arena, faro_error *error) {
  s->end = faro_arena_alloc(arena, s->count + 1, sizeof *s->end, error);
  s->class_of = faro_arena_alloc(arena, s->count + 1, sizeof *s->class_of, error);
  s->size = faro_arena_alloc(arena, s->count + 1, sizeof *s->size, error);
  return s->end && s->class_of && s->size ? FARO_OK : FARO_MEMORY;
}

static faro_status make_adaptive(faro_schedule *s, const faro_schedule_rule *rule, faro_arena *arena,
                                 faro_error *error) {
  const uint64_t least = rule->horizon / FARO_SCHEDULE_MAX + 1;
  *s = (faro_schedule){.count = rule->horizon / rule->batch, .batch = rule->batch};
  if (s->count > FARO_SCHEDULE_MAX)
    return faro_fail(error, FARO_INVALID, "batch must be at least %llu if sizes adapt (got %llu)",
                     (unsigned long long)least, (unsigned long long)rule->batch);
  const faro_status status = allocate(s, arena, error);
  if (status != FARO_OK) return status;
  for (uint64_t k = 0; k < s->count; k++) s->end[k] = (k + 1) * rule->batch;
  uint64_t size = rule->batch;
  do s->size[s->classes++] = size;
  while ((size *= 2) <= rule->largest && size <= rule->horizon);
  return FARO_OK;
}

void faro_schedule_turn(faro_schedule *s, uint64_t k, size_t class_index, uint64_t horizon) {
  const uint64_t left = horizon - faro_schedule_users(s, k);
  while (class_index > 0 && s->size[class_index] > left) class_index--;
  if (s->size[class_index] > left) {
    s->count = k;
    return;
  }
  s->class_of[k] = class_index;
  s->end[k] = faro_schedule_users(s, k) + s->size[class_index];
  s->count = k + 1 + (horizon - s->end[k]) / s->batch;
}

faro_status faro_schedule_init(faro_schedule *s, const faro_schedule_rule *rule, faro_arena *arena,
                               faro_error *error) {
  if (rule->adaptive) return make_adaptive(s, rule, arena, error);
  if (rule->growth <= 1) return make_uniform(s, rule, arena, error);
  *s = (faro_schedule){.count = faro_schedule_count(rule), .batch = rule->batch};
  if (s->count > FARO_SCHEDULE_MAX)
    return faro_fail(
        error, FARO_INVALID,
        "growth must leave at most %d batches of different sizes (got %g with a first batch of %llu)",
        FARO_SCHEDULE_MAX, rule->growth, (unsigned long long)rule->batch);
  const faro_status status = allocate(s, arena, error);
  if (status != FARO_OK) return status;
  uint64_t users = 0;
  for (uint64_t k = 0; k < s->count; k++) {
    s->end[k] = next_end(rule, users);
    s->class_of[k] = find_class(s, s->end[k] - users);
    users = s->end[k];
  }
  return FARO_OK;
}

uint64_t faro_schedule_changes(const faro_schedule_rule *rule, uint64_t most) {
  uint64_t changes = 0;
  uint64_t users = 0;
  uint64_t last = 0;
  if (rule->growth <= 1) return 1;
  for (uint64_t k = 0; changes <= most && k <= FARO_SCHEDULE_MAX; k++) {
    const uint64_t end = next_end(rule, users);
    if (end == 0) break;
    changes += end - users != last;
    last = end - users;
    users = end;
  }
  return changes;
}

uint64_t faro_schedule_span(const faro_schedule_rule *rule, uint64_t batches) {
  faro_schedule_rule endless = *rule;
  endless.horizon = UINT64_MAX;
  if (rule->growth <= 1) return batches * rule->batch;
  uint64_t users = 0;
  for (uint64_t k = 0; k < batches; k++) users = next_end(&endless, users);
  return users;
}

uint64_t faro_schedule_users(const faro_schedule *s, uint64_t k) {
  if (!s->end) return k * s->batch;
  return k == 0 ? 0 : s->end[k - 1];
}

uint64_t faro_schedule_size(const faro_schedule *s, uint64_t k) {
  return s->end ? s->size[s->class_of[k]] : s->batch;
}

size_t faro_schedule_class(const faro_schedule *s, uint64_t k) { return s->class_of ? s->class_of[k] : 0; }

uint64_t faro_schedule_members(const faro_schedule *s, size_t class_index) {
  if (!s->class_of) return s->count;
  uint64_t members = 0;
  for (uint64_t k = 0; k < s->count; k++) members += s->class_of[k] == class_index;
  return members;
}
