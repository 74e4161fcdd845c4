/* gate: decides who may still contribute. See gate.h, and docs/privacy.md, Returning users. */
#include <faro/gate.h>

#include "base/arena.h"

typedef struct visitor {
  uint64_t count; /* rounds contributed */
  uint64_t next;  /* the first batch that the user may join again: the last one plus 1 */
} visitor;

struct faro_gate {
  faro_arena arena;
  uint64_t users, contributions;
  visitor *visitor;
};

faro_status faro_gate_create(faro_gate **gate, uint64_t users, uint64_t contributions, faro_error *error) {
  if (users < 1) return faro_fail(error, FARO_INVALID, "population must be at least 1 (got 0)");
  if (contributions < 1) return faro_fail(error, FARO_INVALID, "contributions must be at least 1 (got 0)");
  faro_arena arena = {0};
  faro_gate *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  visitor *visitors = faro_arena_alloc(&arena, users, sizeof *visitors, error);
  if (!made || !visitors) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *made = (faro_gate){.arena = arena, .users = users, .contributions = contributions, .visitor = visitors};
  *gate = made;
  return FARO_OK;
}

void faro_gate_destroy(faro_gate *gate) {
  if (!gate) return;
  faro_arena arena = gate->arena;
  faro_arena_free(&arena);
}

faro_status faro_gate_admit(faro_gate *gate, uint64_t user, uint64_t batch, faro_error *error) {
  if (user >= gate->users)
    return faro_fail(error, FARO_INVALID, "user must be below %llu (got %llu)",
                     (unsigned long long)gate->users, (unsigned long long)user);
  visitor *v = &gate->visitor[user];
  if (v->count >= gate->contributions)
    return faro_fail(error, FARO_INVALID, "user %llu has contributed %llu times; at most %llu are allowed",
                     (unsigned long long)user, (unsigned long long)v->count,
                     (unsigned long long)gate->contributions);
  if (batch < v->next)
    return faro_fail(
        error, FARO_INVALID,
        "user %llu is already in batch %llu: one contribution per batch is allowed (got batch %llu)",
        (unsigned long long)user, (unsigned long long)(v->next - 1), (unsigned long long)batch);
  v->count++;
  v->next = batch + 1;
  return FARO_OK;
}
