/* doubling: releases for a number of users that is not known in advance.
 *
 * Noise is made for a horizon. If the number of users is not known, a release for a first horizon
 * is followed by one for twice as many users when it is spent, and so on. Each continues from the
 * sums of the one before:
 *
 *     params.anytime = true;
 *     faro_doubling_create(&doubling, kind, &contribution, &params, source, &error)
 *     for (each user) {
 *       if (!faro_doubling_absorb(doubling, x, y)) continue;
 *       use(faro_doubling_statistics(doubling));
 *       if (faro_doubling_spent(doubling)) status = faro_doubling_next(doubling, &error);
 *     }
 *
 * Each round is in one release, so the claim of any of them is the claim of all. At user level M0
 * bounds a user's rounds in all of them together (docs/privacy.md, Doubling). Without `anytime` it
 * is one release, and only _next refuses.
 *
 * The caller owns the doubling and the stream of its source. Use it in one thread at a time. Only
 * create and next allocate memory. */
#ifndef FARO_DOUBLING_H
#define FARO_DOUBLING_H

#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_doubling faro_doubling;

/* A first horizon for `params.anytime`: it holds a few batches and the largest node of every
 * shuffler. At most params.horizon, if that is known. */
FARO_API uint64_t faro_doubling_first(const faro_release_params *params);

/* As faro_release_create. */
FARO_API faro_status faro_doubling_create(faro_doubling **doubling, const faro_release_kind *kind,
                                          const faro_contribution *contribution,
                                          const faro_release_params *params, faro_source source,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_doubling_destroy(faro_doubling *doubling); /* NULL is allowed */

/* The current release, for questions: claim, cost, batch. It belongs to the doubling and is valid
 * until the next one. */
FARO_API const faro_release *faro_doubling_release(const faro_doubling *doubling);
/* The horizon of the current release. */
FARO_API uint64_t faro_doubling_horizon(const faro_doubling *doubling);

/* As faro_release_absorb, _absorb_alike and _analyze (message.h), into the current release. */
FARO_API bool faro_doubling_absorb(faro_doubling *doubling, const double *x, double y);
FARO_API bool faro_doubling_absorb_alike(faro_doubling *doubling, const double *x, double y, uint64_t users);
FARO_API faro_status faro_doubling_analyze(faro_doubling *doubling, const void *batch, size_t count,
                                           faro_error *error) FARO_WARN_UNUSED;
/* True if the current release has published all its batches. */
/* As faro_release_linearise. A release that has just been doubled is linearised at 0. */
FARO_API void faro_doubling_linearise(faro_doubling *doubling, const double *point);
FARO_API bool faro_doubling_spent(const faro_doubling *doubling);
/* Replaces a spent release by one with twice its horizon. On failure the old one stays.
 * FARO_INVALID if the current one is not spent, if params.anytime was not set, or if a proven claim
 * would no longer be proven. */
FARO_API faro_status faro_doubling_next(faro_doubling *doubling, faro_error *error) FARO_WARN_UNUSED;

/* Over all releases so far. `releases` of the statistics counts those of the current one. */
FARO_API faro_statistics faro_doubling_statistics(const faro_doubling *doubling);
FARO_API faro_noise faro_doubling_noise(const faro_doubling *doubling);
FARO_API double faro_doubling_scale(const faro_doubling *doubling, size_t entry);

/* As faro_release_grounds, of all releases that this many users need. */
FARO_API char *faro_doubling_grounds(const faro_doubling *doubling, uint64_t users);

/* As faro_release_state_size, _save and _load. Save refuses if the horizon was doubled. */
FARO_API size_t faro_doubling_state_size(const faro_doubling *doubling);
FARO_API faro_status faro_doubling_save(const faro_doubling *doubling, void *state,
                                        faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_doubling_load(faro_doubling *doubling, const void *state, size_t size,
                                        faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
