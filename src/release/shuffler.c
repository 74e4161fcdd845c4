/* shuffler: see release.h for the phases. */
#include "release/shuffler.h"

#include <string.h>

static const char *phase_name(faro_shuffler_phase phase) {
  static const char *const name[] = {"inactive", "active", "full"};
  return name[phase];
}

static faro_status expect(const faro_shuffler *s, faro_shuffler_phase phase, const char *what,
                          faro_error *error) {
  if (s->phase == phase) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "a shuffler can %s when it is %s (it is %s)", what, phase_name(phase),
                   phase_name(s->phase));
}

faro_status faro_shuffler_create(faro_shuffler **shuffler, size_t length, faro_error *error) {
  faro_arena arena = {0};
  faro_shuffler *s = faro_arena_alloc(&arena, 1, sizeof *s, error);
  uint64_t *total = s ? faro_arena_alloc(&arena, length, sizeof *total, error) : NULL;
  if (!total) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *s = (faro_shuffler){.arena = arena, .length = length, .total = total};
  *shuffler = s;
  return FARO_OK;
}

void faro_shuffler_destroy(faro_shuffler *shuffler) {
  if (!shuffler) return;
  faro_arena arena = shuffler->arena;
  faro_arena_free(&arena);
}

faro_shuffler_phase faro_shuffler_phase_of(const faro_shuffler *shuffler) { return shuffler->phase; }

faro_status faro_shuffler_activate(faro_shuffler *s, const faro_shuffler_task *task, faro_error *error) {
  const faro_status status = expect(s, FARO_SHUFFLER_INACTIVE, "be activated", error);
  if (status != FARO_OK) return status;
  if (task->size < 1)
    return faro_fail(error, FARO_INVALID, "a shuffler must wait for a user at least (got a size of 0)");
  if (task->grid > UINT64_C(1) << 61 || task->bits > UINT64_C(1) << 61 ||
      task->grid + task->bits > (UINT64_C(1) << 62) / task->size)
    return faro_fail(error, FARO_INVALID, "a shuffler counts up to 2^62 ones (got %llu x (%llu + %llu))",
                     (unsigned long long)task->size, (unsigned long long)task->grid,
                     (unsigned long long)task->bits);
  s->phase = FARO_SHUFFLER_ACTIVE;
  s->task = *task;
  s->held = 0;
  return FARO_OK;
}

faro_status faro_shuffler_accept_sum(faro_shuffler *s, const uint64_t *sum, uint64_t users,
                                     faro_error *error) {
  const faro_status status = expect(s, FARO_SHUFFLER_ACTIVE, "accept messages", error);
  if (status != FARO_OK) return status;
  if (users > s->task.size - s->held)
    return faro_fail(error, FARO_INVALID, "the shuffler waits for %llu users more (got %llu)",
                     (unsigned long long)(s->task.size - s->held), (unsigned long long)users);
  const uint64_t most = users * (s->task.grid + s->task.bits);
  for (size_t i = 0; i < s->length; i++) s->total[i] += sum[i] < most ? sum[i] : most;
  s->held += users;
  if (s->held == s->task.size) s->phase = FARO_SHUFFLER_FULL;
  return FARO_OK;
}

faro_status faro_shuffler_accept(faro_shuffler *s, const uint64_t *part, faro_error *error) {
  return faro_shuffler_accept_sum(s, part, 1, error);
}

faro_status faro_shuffler_report(faro_shuffler *s, uint64_t *total, faro_error *error) {
  const faro_status status = expect(s, FARO_SHUFFLER_FULL, "report", error);
  if (status != FARO_OK) return status;
  memcpy(total, s->total, s->length * sizeof *total);
  memset(s->total, 0, s->length * sizeof *s->total);
  s->held = 0;
  s->phase = FARO_SHUFFLER_INACTIVE;
  return FARO_OK;
}
