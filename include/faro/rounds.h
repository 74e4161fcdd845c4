/* rounds: a batched learner of generalised linear rewards whose people are elsewhere, as an
 * analyzer runs it. It is asker.h with people who keep their own data, and with releases of one
 * batch each.
 *
 * A term of the learner is a round in which people play and report, and then `fits` rounds in which
 * they report what they kept once more. Every report is z = ( vech(w x x'), x e ) with e = y -
 * mu(<x, at>) and w = mu'(<x, at>), linearised at the round's point `at`, which is public. So each
 * round publishes the Hessian and the gradient of the loss there, and the next point is what the
 * learner would estimate from them: a step of Newton's method.
 *
 *     while ((round = faro_rounds_now(rounds)).people > 0) {
 *       each person: plays by faro_rounds_policy, and makes a message linearised at faro_rounds_at
 *       faro_rounds_analyze(rounds, messages, count, &error)
 *     }
 *
 * Nobody has to come back. Those who do report what they kept; other people take the places of
 * those who do not: they play by the same policy and report at the same point. So every round is
 * complete, with the noise of as many people as its claim counts on.
 *
 * A person may be in at most `contributions` rounds, whichever they are; somebody else sees to that
 * (gate.h, or a shuffler). The claim covers all of them (docs/privacy.md, Rounds). */
#ifndef FARO_ROUNDS_H
#define FARO_ROUNDS_H

#include <faro/asker.h>
#include <faro/message.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FARO_ROUNDS_MAX = 256, FARO_FITS_MAX = 15 };

typedef struct faro_rounds_params {
  const char *learner; /* a batched one, as glm-batched */
  const char *release; /* one that may consist of a single batch, and is not made of two kinds */
  size_t dimension;
  size_t arms;      /* the most in a choice */
  uint64_t horizon; /* people in all; most of them only play */
  faro_link link;   /* logistic or probit; features have norm at most 1, rewards are in [0, 1] */
  double bound;     /* on the parameter's norm */
  uint64_t fits;    /* rounds of a term after the first */
  double failure;   /* 0: 0.1 */
  double epsilon, delta;
  faro_level level;
  uint64_t contributions; /* level user: the most rounds of a person, more than `fits`; 0: 1 */
  double honest;          /* see faro_release_params */
  const void *settings;   /* the learner's own; NULL: their defaults */
} faro_rounds_params;

/* The round that is open. */
typedef struct faro_round {
  uint64_t number;    /* from 0 */
  uint64_t term, fit; /* from 0; fit 0: people play */
  uint64_t people;    /* reports; 0: there are no more rounds, and people only play */
} faro_round;

typedef struct faro_rounds faro_rounds;

/* FARO_INVALID with a message if a parameter is out of range, or a round of the plan cannot be
 * private enough. The source is a server's, or plays all parties; with a source of none, the object
 * only answers questions. */
FARO_API faro_status faro_rounds_create(faro_rounds **rounds, const faro_rounds_params *params,
                                        faro_source source, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_rounds_destroy(faro_rounds *rounds); /* NULL is allowed */

/* The terms, which are fixed in advance: people in each. Returns their number. */
FARO_API size_t faro_rounds_terms(const faro_rounds *rounds, uint64_t people[FARO_ROUNDS_MAX]);

FARO_API faro_round faro_rounds_now(const faro_rounds *rounds);
/* What people play in this round, and after the last one. */
FARO_API const faro_policy *faro_rounds_policy(const faro_rounds *rounds);
FARO_API const double *faro_rounds_at(const faro_rounds *rounds);
/* Adds one person, where the source plays all parties. The last one of a round opens the next. */
FARO_API faro_status faro_rounds_absorb(faro_rounds *rounds, const double *x, double y,
                                        faro_error *error) FARO_WARN_UNUSED;
/* All messages of the round, shuffled. If they are refused, nothing has changed. */
FARO_API faro_status faro_rounds_analyze(faro_rounds *rounds, const void *messages, size_t count,
                                         faro_error *error) FARO_WARN_UNUSED;

/* The release of the open round; NULL if there is none. */
FARO_API const faro_release *faro_rounds_release(const faro_rounds *rounds);
FARO_API const faro_claim *faro_rounds_claim(const faro_rounds *rounds);
/* What the last round published: vech(w x x'), x e, and their number; NULL before the first. */
FARO_API const double *faro_rounds_sum(const faro_rounds *rounds);

/* Everything that the next round needs: what was published. An object just made from the same
 * parameters continues from it. */
FARO_API size_t faro_rounds_state_size(const faro_rounds *rounds);
FARO_API void faro_rounds_save(const faro_rounds *rounds, void *state);
FARO_API faro_status faro_rounds_load(faro_rounds *rounds, const void *state, size_t size,
                                      faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
