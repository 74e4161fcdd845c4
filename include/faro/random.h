/* random: random words, from two families of streams that cannot be mixed up.
 *
 *   faro_sim_rng     Philox 4x64-10, counter-based: one stream per (seed, instance, role), so that
 *                    results do not depend on the number of threads. For simulation only.
 *   faro_secure_rng  ChaCha20 with fast key erasure, keyed by the operating system; a forked child
 *                    gets a stream of its own. For deployment.
 *
 * Code that may run with either takes faro_rng, which both contain, or a faro_source, which says
 * what the randomness is for:
 *
 *     faro_sim_rng sim;
 *     faro_sim_open(&sim, seed, instance, FARO_ROLE_USER);
 *     faro_source source = faro_source_simulated(&sim);
 *     faro_release_create(&release, kind, &contribution, &params, source, &error)
 *
 * There is no way to make a faro_secure_rng out of a faro_sim_rng. A simulation stream is plain
 * data, owned by the caller. A secure stream is closed with faro_secure_close. Use a stream in one
 * thread at a time. */
#ifndef FARO_RANDOM_H
#define FARO_RANDOM_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FARO_RNG_WORDS = 64 };

typedef struct faro_rng {
  uint64_t word[FARO_RNG_WORDS]; /* words not yet handed out are word[0 .. left-1] */
  uint32_t left;
  uint32_t family; /* private; zero: not opened */
} faro_rng;

typedef struct faro_sim_rng {
  faro_rng rng;
  uint64_t key[2];
  uint64_t counter[4]; /* block, instance, role, unused: streams never overlap */
} faro_sim_rng;

typedef struct faro_secure_rng faro_secure_rng;

/* The purpose of a simulation stream. Streams of different roles are independent. */
typedef enum faro_role {
  FARO_ROLE_INSTANCE = 1,
  FARO_ROLE_CONTEXT,
  FARO_ROLE_REWARD,
  FARO_ROLE_USER,
  FARO_ROLE_VISITOR,
  FARO_ROLE_ORDER,
  FARO_ROLE_LUCK,
  FARO_ROLE_DIRECTION, /* public randomness of responses */
  FARO_ROLE_YARDSTICK  /* rounds at which uniform play is measured */
} faro_role;

FARO_API void faro_sim_open(faro_sim_rng *sim, uint64_t seed, uint64_t instance, faro_role role);

FARO_API faro_status faro_secure_open(faro_secure_rng **secure, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_secure_close(faro_secure_rng *secure);
FARO_API faro_rng *faro_secure_face(faro_secure_rng *secure);

/* What randomness is drawn for. */
typedef enum faro_use {
  FARO_USE_NONE,       /* nothing is drawn: the object only answers questions */
  FARO_USE_SIMULATED,  /* all parties in one process; floating point is allowed */
  FARO_USE_CLIENT,     /* deployed: the device of one user */
  FARO_USE_SERVER,     /* deployed: a shuffler or the analyzer */
  FARO_USE_ALL_PARTIES /* deployed: one process plays users, shufflers and analyzer */
} faro_use;

/* A use and its stream. A value: copy it freely. The caller owns the stream, which must outlive the
 * objects that draw from it and may be shared by several of them. */
typedef struct faro_source {
  faro_use use;
  faro_sim_rng *sim;       /* simulated only */
  faro_secure_rng *secure; /* deployed only */
} faro_source;

FARO_API faro_source faro_source_none(void);
FARO_API faro_source faro_source_simulated(faro_sim_rng *sim);
FARO_API faro_source faro_source_client(faro_secure_rng *secure);
FARO_API faro_source faro_source_server(faro_secure_rng *secure);
FARO_API faro_source faro_source_all_parties(faro_secure_rng *secure);

FARO_API void faro_rng_refill(faro_rng *rng);

/* The next 64 random bits. A word handed out is wiped from the buffer. Only draws for simulated
 * worlds that take many words at once leave them there. */
static inline uint64_t faro_rng_next(faro_rng *rng) {
  if (rng->left == 0) faro_rng_refill(rng);
  const uint64_t word = rng->word[--rng->left];
  rng->word[rng->left] = 0;
  return word;
}

/* Draws for choices on a device, from either family. Floating point: never the noise of a deployed
 * release. */
FARO_API double faro_draw_uniform(faro_rng *rng); /* [0, 1), a multiple of 2^-53 */
FARO_API double faro_draw_normal(faro_rng *rng);  /* N(0, 1) */

/* Draws for simulated worlds. Fast, floating point: never part of a deployed release. */
FARO_API double faro_sim_uniform(faro_sim_rng *sim); /* [0, 1), a multiple of 2^-53 */
FARO_API double faro_sim_normal(faro_sim_rng *sim);  /* N(0, 1) */
/* The next n calls of faro_sim_normal, from the same words. */
FARO_API void faro_sim_normals(faro_sim_rng *sim, double *to, size_t n);
/* Rows of one faro_sim_uniform and n calls of faro_sim_normal, one after the other, likewise. */
FARO_API void faro_sim_rows(faro_sim_rng *sim, double *to, size_t rows, size_t n);
FARO_API bool faro_sim_bernoulli(faro_sim_rng *sim, double p);
/* Passes over n words, however many. */
FARO_API void faro_sim_skip(faro_sim_rng *sim, uint64_t n);
/* How many of the next n calls of faro_sim_bernoulli would be true, from the same words. */
FARO_API uint64_t faro_sim_count(faro_sim_rng *sim, uint64_t n, double p);

#ifdef __cplusplus
}
#endif

#endif
