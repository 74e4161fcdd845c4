/* contribution: what one user adds to the sums, and how it is clipped.
 *
 *     faro_contribution moments; // d = 5, ||x|| <= 1, y in [0, 1]
 *     if (faro_contribution_init(&moments, 5, 1, 0, 1, &error) != FARO_OK) ...
 *
 * A contribution is plain data that describes a shape and its bounds; copy it freely. It holds
 * no user's data. */
#ifndef FARO_CONTRIBUTION_H
#define FARO_CONTRIBUTION_H

#include <faro/glm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of z. Only moments and rewards use y. */
typedef enum faro_form {
  FARO_FORM_MOMENTS, /* ( vech(x x'), x y ) */
  FARO_FORM_GRAM,    /* vech(x x') */
  FARO_FORM_REWARDS, /* x (y - middle), where x is public: only y is protected */
  FARO_FORM_VALUES,  /* x, every entry clipped to [low, high] on its own */
  FARO_FORM_BALL     /* x, scaled back to `norm` */
} faro_form;

/* What one user adds: z = ( vech(x x'), x y ) or a part of it, packed as in linalg.h. Features
 * longer than `norm` are scaled back to it and rewards are clipped to [low, high] before anything
 * else happens. Features that are not finite count as zero, and a reward that is not a number
 * counts as `low`. Every release clips by itself: it takes x and y, never a finished z. One without
 * privacy leaves values of simulated users as they are. */
typedef struct faro_contribution {
  faro_form form;
  bool binary;      /* values only: every entry is one of the two ends */
  bool unclipped;   /* values only: finite entries stay as they are */
  size_t dimension; /* d, entries of x */
  size_t blocks;    /* parts of x, each d / blocks long; 1 unless faro_contribution_split was called */
  size_t gram;      /* entries of x x' in z: d (d+1) / 2 if there is one block; 0 if z is x itself */
  size_t length;    /* entries of z */
  double norm, low, high;
  double middle;    /* rewards only: (low + high) / 2, subtracted from y; else 0 */
  faro_link link;   /* moments only: of the rewards, see faro_contribution_linearised */
  double bound;     /* the point of linearisation is within this distance of 0 */
  const double *at; /* the point, `dimension` numbers; NULL: 0. A release sets it to its own */
  /* Factors of the entries of z: on the diagonal of x x', off it, and in x y. Moments and Gram
   * matrices only; see faro_contribution_weigh. */
  double on, off, vector;
  double entry;       /* greatest magnitude of an entry of z */
  double radius;      /* greatest L2 norm of z */
  double sensitivity; /* L2: the most that replacing one user moves z, and the most between any two users */
  double absolute;    /* L1: the same; exact for plain vectors, else by the Cauchy-Schwarz inequality */
} faro_contribution;

/* Moments, for ||x|| <= norm and y in [low, high]. */
FARO_API faro_status faro_contribution_init(faro_contribution *c, size_t dimension, double norm, double low,
                                            double high, faro_error *error) FARO_WARN_UNUSED;
/* Moments of rewards in [0, 1] whose mean is mu(<x, theta>), linearised at a point that is public:
 *
 *   z = ( vech(w x x') / w_max, x e ),   e = y - mu(<x, at>),   w = mu'(<x, at>) <= w_max
 *
 * for logistic and probit rewards. Where the parameter is theta, x e has about the mean w x x'
 * (theta - at). z is weighed already. */
FARO_API faro_status faro_contribution_linearised(faro_contribution *c, size_t dimension, double norm,
                                                  faro_link link, double bound,
                                                  faro_error *error) FARO_WARN_UNUSED;
/* Moments of features in `blocks` blocks of one length, of which each person uses one at a time (a
 * block per arm, say): products of entries of different blocks are left out of z, which is made of
 * the moments of one block after the other,
 *
 *   z = ( vech(x_1 x_1'), x_1 y, vech(x_2 x_2'), x_2 y, ... ).
 *
 * Leaving entries out moves z by no more than before, so every bound stays. FARO_INVALID if z is
 * not made of moments with a linear link, or the dimension is not a multiple of `blocks`. */
FARO_API faro_status faro_contribution_split(faro_contribution *c, size_t blocks,
                                             faro_error *error) FARO_WARN_UNUSED;
/* x (y - middle) only, where x is public and not protected, for ||x|| <= norm and y in [low, high],
 * whose middle is (low + high) / 2. The sum of x y is the published sum plus `middle` times the sum
 * of the clipped x, which is public. Rewards that are not centred would need more noise behind a
 * shuffler, up to twice the largest reward's. */
FARO_API faro_status faro_contribution_rewards(faro_contribution *c, size_t dimension, double norm,
                                               double low, double high, faro_error *error) FARO_WARN_UNUSED;
/* vech(x x') only, for ||x|| <= norm. */
FARO_API faro_status faro_contribution_gram(faro_contribution *c, size_t dimension, double norm,
                                            faro_error *error) FARO_WARN_UNUSED;
/* A plain vector of `count` numbers in [-1/2, 1/2], for sums that are the goal themselves. Callers
 * shift and scale other intervals. `binary`: every number is -1/2 or 1/2, and others are rounded to
 * the nearer one. */
FARO_API faro_status faro_contribution_values(faro_contribution *c, size_t count, bool binary,
                                              faro_error *error) FARO_WARN_UNUSED;
/* A plain vector of `count` numbers with ||x|| <= radius. */
FARO_API faro_status faro_contribution_ball(faro_contribution *c, size_t count, double radius,
                                            faro_error *error) FARO_WARN_UNUSED;

/* The same contribution with weights that waste no noise: entries beside the diagonal count sqrt(2)
 * times, so that ||z|| is the Frobenius norm of x x', and rewards are measured in units of the
 * largest one (docs/privacy.md, Lemma 1). Plain vectors stay as they are. Releases do this by
 * themselves where it is proven for their noise. */
FARO_API faro_contribution faro_contribution_weigh(const faro_contribution *c);
/* The weights of all `length` entries of z. */
FARO_API void faro_contribution_weights(const faro_contribution *c, double *weight);

/* Clips x to `to`, and returns y clipped. */
FARO_API double faro_contribution_clip(const faro_contribution *c, const double *x, double y, double *to);
/* Clips x and y and writes z, `length` numbers. */
FARO_API void faro_contribution_make(const faro_contribution *c, const double *x, double y, double *z);

#ifdef __cplusplus
}
#endif

#endif
