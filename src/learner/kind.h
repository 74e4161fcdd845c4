/* kind: what a learner consists of, for the files that implement one.
 *
 * A learner is a struct of its own, whose size the kind states. It is zeroed before init. Every
 * function gets it as `void *`. Whatever does not fit into the struct, init allocates from the
 * host's arena. */
#ifndef FARO_LEARNER_KIND_H
#define FARO_LEARNER_KIND_H

#include <faro/asker.h>
#include <faro/eliminator.h>
#include <faro/estimator.h>
#include <faro/updater.h>
#include <faro/watcher.h>

#include "base/arena.h"

/* What the host provides to a learner. */
typedef struct faro_host {
  faro_arena arena; /* freed after destroy */
  faro_diagnostics diagnostics;
} faro_host;

typedef struct faro_updater_kind {
  faro_learner_kind about;
  size_t size;

  /* Required. Prepares the state and the first policy, whose version, theta and w are allocated and
   * zero. */
  faro_status (*init)(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                      faro_error *error);
  /* Required. Computes the policy from the newest statistics. Allocates nothing. It may say by
   * which step the policy follows from the one before (policy->step, which is NULL when it is
   * called); faro_pace (ridge.h) says when to follow. */
  void (*update)(void *state, const faro_statistics *statistics, faro_policy *policy);
  /* Optional, both or neither: what it remembers besides the newest statistics, in one vector whose
   * length is returned, and the policy that follows when the vector has been replaced. Without
   * them, the policy follows from the newest statistics alone. */
  size_t (*memory)(void *state, double **values);
  void (*resume)(void *state, const faro_statistics *statistics, faro_policy *policy);
  /* Optional. Frees what init made outside the arena. */
  void (*destroy)(void *state);
} faro_updater_kind;

typedef struct faro_estimator_kind {
  faro_learner_kind about;
  size_t size;
  void (*init)(void *state, faro_calibration calibration);        /* required */
  void (*update)(void *state, const faro_statistics *statistics); /* required */
  faro_forecast (*forecast)(const void *state);                   /* required */
} faro_estimator_kind;

/* Eliminators share their state and differ in rules (eliminator.c). */
typedef struct faro_eliminator_kind {
  faro_learner_kind about;
  double (*length)(const faro_eliminator *);    /* required; h_l: approximate number of pulls in a phase */
  uint64_t (*clients)(const faro_eliminator *); /* optional; NULL: every pull is a user of its own */
  bool (*ends)(const faro_eliminator *);        /* optional; no phase after this one; NULL: never */
  double (*width)(const faro_eliminator *, const faro_heard *); /* required; the published width */
} faro_eliminator_kind;

typedef struct faro_asker_kind {
  faro_learner_kind about;
  size_t size;
  faro_studies studies;

  /* Required, unless it is said; see asker.h. */
  faro_status (*init)(void *state, const faro_asker_params *params, faro_host *host, faro_error *error);
  uint64_t (*term)(void *state);
  void (*begin)(void *state, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]);
  faro_pick (*pick)(void *state, const faro_arms *arms, double luck);
  void (*see)(void *state, const faro_statistics sum[FARO_PARTS]);
  bool (*ask)(void *state, faro_question *question);
  void (*answer)(void *state, const faro_answer *answer);
  /* Optional, both or neither: for people who are elsewhere. */
  bool (*publish)(const void *state, faro_policy *policy);
  bool (*guess)(const void *state, const faro_answer *answer, double *theta);
  void (*destroy)(void *state);
} faro_asker_kind;

typedef struct faro_watcher_kind {
  faro_learner_kind about;
  size_t size;

  /* Required, all but destroy. The policy is for observers; its theta and w point into the
   * state. */
  faro_status (*init)(void *state, const faro_watcher_params *params, faro_host *host, faro_policy *policy,
                      faro_error *error);
  size_t (*pick)(void *state, const faro_arms *arms);
  void (*observe)(void *state, const double *x, double y);
  void (*destroy)(void *state);
} faro_watcher_kind;

/* FARO_INVALID unless the kind has the protocol and a rule for the calibration; the message says
 * what the kind has. */
faro_status faro_learner_check(const faro_learner_kind *kind, faro_protocol protocol,
                               faro_calibration calibration, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_learner_check_failure(double failure, faro_error *error) FARO_WARN_UNUSED;
/* Checks the parameters of generalised linear learners. */
faro_status faro_learner_check_glm(const faro_asker_params *params, faro_error *error) FARO_WARN_UNUSED;

faro_status faro_learner_check_dimension(size_t dimension, faro_error *error) FARO_WARN_UNUSED;

/* A copy of the kind's own settings: those given, else the defaults. Init finds it in its
 * parameters. */
faro_status faro_host_settings(faro_host *host, const faro_learner_kind *kind, const void **settings,
                               faro_error *error) FARO_WARN_UNUSED;

/* Vectors of doubles from the arena: pairs of (double **, size_t length), ended by (double
 * **)NULL. */
faro_status faro_host_vectors(faro_host *host, faro_error *error, ...) FARO_WARN_UNUSED;

#endif
