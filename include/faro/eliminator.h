/* eliminator: learners that work in phases. They say which arms to play and how often, hear private
 * sums of the rewards, and drop the arms that are certainly not the best.
 *
 *     create -> plan -> [users play, a release sums their rewards] -> hear -> plan -> ...
 *     until a plan is `last`; under `anytime` extend gives it more rounds */
#ifndef FARO_ELIMINATOR_H
#define FARO_ELIMINATOR_H

#include <faro/learner.h>
#include <faro/linalg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What to play in one phase. */
typedef struct faro_plan {
  size_t support; /* arms to play */
  const size_t *arm;
  const uint64_t *pulls; /* how often each */
  uint64_t clients;      /* clients that report averages over all pulls; 0: every pull is a user of its own */
  bool last;             /* nothing more is asked: arm[0] is played for the rest of the horizon */
} faro_plan;

/* What the learner hears for one arm of a plan. */
typedef struct faro_heard {
  double sum;      /* released sum of the rewards, or of the clients' averages */
  double count;    /* number of summands */
  double scale;    /* sub-Gaussian scale of the noise in the sum */
  double laplace;  /* scale of the Laplace variables in the noise; 0: not Laplace */
  double summands; /* number of these variables */
} faro_heard;

/* How many clients are asked in each phase (dpe). */
#define FARO_CLIENTS_LIST(X)                                                                                 \
  X(GROWING, "growing")                                                                                      \
  X(FIXED, "fixed")

typedef enum faro_clients {
#define X(name, text) FARO_CLIENTS_##name,
  FARO_CLIENTS_LIST(X)
#undef X
} faro_clients;

/* Whether a phase plays a small core set, or all active arms equally. */
#define FARO_CORE_LIST(X)                                                                                    \
  X(NEVER, "false")                                                                                          \
  X(ALWAYS, "true")                                                                                          \
  X(AUTO, "auto")       /* the core set where it pays, see eliminator.c */                                   \
  X(DEFAULT, "default") /* under calibration paper true, as published; else auto */

typedef enum faro_core {
#define X(name, text) FARO_CORE_##name,
  FARO_CORE_LIST(X)
#undef X
} faro_core;

/* Who knows which user plays which action: anybody, or nobody but the shuffler. */
#define FARO_ASSIGNMENT_LIST(X)                                                                              \
  X(OPEN, "open")                                                                                            \
  X(SECRET, "secret")

typedef enum faro_assignment {
#define X(name, text) FARO_ASSIGNMENT_##name,
  FARO_ASSIGNMENT_LIST(X)
#undef X
} faro_assignment;

/* Settings of eliminators; pe and hanna read `core` and `assignment`. */
typedef struct faro_eliminator_settings {
  faro_core core;
  double alpha;               /* clients grow as 2^(alpha l) */
  faro_clients clients;       /* read by the simulator, which chooses the number if it is fixed */
  faro_assignment assignment; /* pe and hanna; read by the simulator, which makes the releases */
} faro_eliminator_settings;

/* What would be heard for a plan, apart from the sums: counts and noise, which are public. */
typedef faro_status (*faro_preview)(const void *context, const faro_plan *plan, faro_heard *heard,
                                    faro_error *error);

typedef struct faro_eliminator_params {
  const faro_arms *arms; /* all of them; they must not change */
  uint64_t horizon;
  bool anytime;     /* the horizon is only the first one, see faro_eliminator_extend */
  double failure;   /* probability with which the best arm may be dropped */
  double reward;    /* half the width of the rewards' interval */
  double spread;    /* sub-Gaussian scale of clients' parameters about the common one */
  uint64_t clients; /* clients in every phase; 0: a growing number */
  faro_calibration calibration;
  const faro_eliminator_settings *settings; /* NULL: the defaults */
  faro_preview preview;                     /* NULL: `auto` means a core set in every phase */
  const void *context;                      /* passed to the preview */
} faro_eliminator_params;

typedef struct faro_eliminator faro_eliminator;

/* FARO_INVALID if the kind is not an eliminator, if calibration figure has no published rule for
 * it, and for arms that are equal, all zero, or outside the unit ball. */
FARO_API faro_status faro_eliminator_create(faro_eliminator **eliminator, const faro_learner_kind *kind,
                                            const faro_eliminator_params *params,
                                            faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_eliminator_destroy(faro_eliminator *eliminator); /* NULL is allowed */

/* Whether plans of this kind ask clients for averages. */
FARO_API bool faro_eliminator_kind_asks_clients(const faro_learner_kind *kind);

/* The plan of the next phase. It belongs to the learner and is valid until the next call. Every
 * plan except the last must be heard before the next is made. */
FARO_API faro_status faro_eliminator_plan(faro_eliminator *eliminator, const faro_plan **plan,
                                          faro_error *error) FARO_WARN_UNUSED;
/* The sums of the plan, one entry for each of its arms, in their order. FARO_INVALID if no plan is
 * open. */
FARO_API faro_status faro_eliminator_hear(faro_eliminator *eliminator, const faro_heard *heard,
                                          faro_error *error) FARO_WARN_UNUSED;

/* Doubles the horizon; for params.anytime only. Plans that have ended go on. Arms that were dropped
 * stay dropped: `failure` is divided, 1/(j(j+1)) for the j-th horizon. */
FARO_API faro_status faro_eliminator_extend(faro_eliminator *eliminator, faro_error *error) FARO_WARN_UNUSED;
FARO_API uint64_t faro_eliminator_horizon(const faro_eliminator *eliminator);

FARO_API size_t faro_eliminator_best(const faro_eliminator *eliminator); /* the arm that looks best */
FARO_API bool faro_eliminator_holds(const faro_eliminator *eliminator, size_t arm); /* still in play */
FARO_API size_t faro_eliminator_left(const faro_eliminator *eliminator); /* number of arms in play */
FARO_API faro_diagnostics faro_eliminator_diagnose(const faro_eliminator *eliminator);

#ifdef __cplusplus
}
#endif

#endif
