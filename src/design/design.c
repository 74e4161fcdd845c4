/* design: turns arms into a design with a certificate. The span gives coordinates and a first
 * design, equal weights on its basis. The ascent improves it. The result is recomputed from the
 * weights alone. */
#include <math.h>
#include <stdlib.h>

#include "design/ascent.h"
#include "design/span.h"

struct faro_designer {
  faro_arena arena;
  faro_span span;
  faro_ascent ascent;
  size_t *arm;    /* per arm of the support: its index among the caller's arms */
  double *weight; /* per arm of the support */
  faro_design found;
};

size_t faro_design_bound(size_t m) {
  const size_t full = m * (m + 1) / 2;
  const double loglog = m > 2 ? log(log((double)m)) : 0;
  const size_t bound = (size_t)(4 * (double)m * loglog + 16);
  const size_t guarded = bound > m ? bound : m;
  return guarded < full ? guarded : full;
}

static faro_status make(faro_designer *made, size_t dimension, size_t arms, faro_error *error) {
  made->arm = faro_arena_alloc(&made->arena, arms, sizeof *made->arm, error);
  made->weight = faro_arena_alloc(&made->arena, arms, sizeof *made->weight, error);
  if (!made->arm || !made->weight) return FARO_MEMORY;
  const faro_status status = faro_span_create(&made->span, &made->arena, dimension, arms, error);
  return status == FARO_OK ? faro_ascent_create(&made->ascent, &made->arena, dimension, arms, error) : status;
}

faro_status faro_designer_create(faro_designer **designer, size_t dimension, size_t arms, faro_error *error) {
  if (dimension < 1 || dimension > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX,
                     dimension);
  if (arms < 1 || arms > INT32_MAX - FARO_ARM_TILE)
    return faro_fail(error, FARO_INVALID, "arms must be 1 .. %d (got %zu)", INT32_MAX - FARO_ARM_TILE, arms);
  faro_designer *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate a designer");
  const faro_status status = make(made, dimension, arms, error);
  if (status == FARO_OK) *designer = made;
  else faro_designer_destroy(made);
  return status;
}

void faro_designer_destroy(faro_designer *designer) {
  if (!designer) return;
  faro_spd_destroy(designer->ascent.spd);
  faro_arena_free(&designer->arena);
  free(designer);
}

static void present(faro_designer *designer, const size_t *active) {
  faro_ascent *ascent = &designer->ascent;
  ascent->count = 0; /* the same support, in ascending order */
  for (size_t a = 0; a < ascent->z->count; a++) {
    if (ascent->pi[a] == 0) continue;
    designer->arm[ascent->count] = active ? active[a] : a;
    designer->weight[ascent->count] = ascent->pi[a];
    ascent->place[ascent->count++] = a;
  }
  designer->found = (faro_design){.rank = designer->span.rank,
                                  .support = ascent->count,
                                  .arm = designer->arm,
                                  .place = ascent->place,
                                  .weight = designer->weight,
                                  .certificate = faro_ascent_top(ascent),
                                  .log_det = ascent->log_det + faro_span_log_volume(&designer->span),
                                  .steps = ascent->steps,
                                  .coordinates = &designer->span.z};
}

faro_status faro_design_find(faro_designer *designer, const faro_arms *arms, const size_t *active,
                             size_t count, double target, const faro_design **design, faro_error *error) {
  if (!(target >= FARO_DESIGN_TARGET_MIN && isfinite(target)))
    return faro_fail(error, FARO_INVALID, "target must be at least %g (got %.9g)", FARO_DESIGN_TARGET_MIN,
                     target);
  faro_span *span = &designer->span;
  faro_ascent *ascent = &designer->ascent;
  designer->found = (faro_design){0};
  const faro_status status = faro_span_find(span, arms, active, active ? count : arms->count, error);
  if (status != FARO_OK) return status;
  const double goal = target * (double)span->rank;
  faro_ascent_start(ascent, &span->z, faro_span_scratch(span), span->pivot);
  if (!faro_ascent_climb(ascent, goal) || !faro_ascent_thin(ascent, goal) || !faro_ascent_climb(ascent, goal))
    return faro_fail(error, FARO_INVALID,
                     "target %g was not reached in %zu steps: the certificate is %g for rank %zu", target,
                     ascent->steps, faro_ascent_top(ascent), span->rank);
  present(designer, active);
  *design = &designer->found;
  return FARO_OK;
}
