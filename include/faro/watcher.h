/* watcher: learners of generalised linear rewards that watch every arm played and its reward. They
 * have no privacy and serve as baselines.
 *
 *     create;   for each person: pick, [play], observe */
#ifndef FARO_WATCHER_H
#define FARO_WATCHER_H

#include <faro/asker.h>
#include <faro/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters are those of askers: the same models, the same bounds. */
typedef faro_asker_params faro_watcher_params;

typedef struct faro_watcher faro_watcher;

/* FARO_INVALID if the kind is not a watcher, a parameter is out of range, or the learner does not
 * support the link. */
FARO_API faro_status faro_watcher_create(faro_watcher **watcher, const faro_learner_kind *kind,
                                         const faro_watcher_params *params,
                                         faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_watcher_destroy(faro_watcher *watcher); /* NULL is allowed */

FARO_API size_t faro_watcher_pick(faro_watcher *watcher, const faro_arms *arms);
FARO_API void faro_watcher_observe(faro_watcher *watcher, const double *x, double y);
/* The estimate and its width, for observers. */
FARO_API const faro_policy *faro_watcher_policy(const faro_watcher *watcher);
FARO_API faro_diagnostics faro_watcher_diagnose(const faro_watcher *watcher);

#ifdef __cplusplus
}
#endif

#endif
