/* span: a basis of the active arms' span, made of arms, and every arm's coordinates in that
 * basis. */
#ifndef FARO_DESIGN_SPAN_H
#define FARO_DESIGN_SPAN_H

#include <faro/design.h>

#include "base/arena.h"

typedef struct faro_span {
  size_t dimension, room; /* d, and the number of arms there is room for */
  size_t rank;            /* m */
  size_t *pivot;          /* the m arms of the basis: their positions among the active arms */
  double unit;            /* the greatest entry: x holds arms divided by it, so that squares stay finite */
  double *q;              /* m x d: orthonormal directions, one per row */
  double *r;              /* d x d, upper triangle: r[j d + k] = <q_j, arm pivot[k] / unit> */
  double *rest;           /* squared distance of each arm from the directions so far */
  faro_arms x;            /* d x n: the active arms, less their parts along q[0 .. subtracted) */
  faro_arms z;            /* m x n: coordinates; while the basis grows, row k is <q_k, arm> */
  size_t subtracted;
} faro_span;

faro_status faro_span_create(faro_span *span, faro_arena *arena, size_t d, size_t room, faro_error *error);
/* Refuses arms that are all zero or not finite. */
faro_status faro_span_find(faro_span *span, const faro_arms *arms, const size_t *active, size_t count,
                           faro_error *error);
/* ln of (det of a matrix in an orthonormal basis of the span) / (det of the same matrix in
 * coordinates z). */
double faro_span_log_volume(const faro_span *span);
/* d stride + d d doubles of scratch, free once the span has been found. */
static inline double *faro_span_scratch(faro_span *span) { return span->x.x; }

#endif
