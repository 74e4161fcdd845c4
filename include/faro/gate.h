/* gate: decides who may still contribute.
 *
 * A user-level claim covers users who contribute at most M0 times, and at most once per batch. The
 * noise does not enforce that; a gate does, before a contribution is absorbed:
 *
 *     faro_gate_create(&gate, population, params.contributions, &error)
 *     if (faro_gate_admit(gate, user, batch, NULL) == FARO_OK) faro_release_absorb(release, x, y);
 *
 * The caller owns the gate. Use it in one thread at a time. Only create allocates memory. */
#ifndef FARO_GATE_H
#define FARO_GATE_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_gate faro_gate;

/* Users are 0 .. users - 1. */
FARO_API faro_status faro_gate_create(faro_gate **gate, uint64_t users, uint64_t contributions,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_gate_destroy(faro_gate *gate); /* NULL is allowed */

/* FARO_OK: the user may contribute to the batch now, and this is counted. FARO_INVALID, and nothing
 * is counted: the user has contributed as often as allowed, or is already in this batch, and must
 * not be absorbed. Batches are numbered from 0 and never go back. */
FARO_API faro_status faro_gate_admit(faro_gate *gate, uint64_t user, uint64_t batch,
                                     faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
