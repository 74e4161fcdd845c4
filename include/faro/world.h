/* world: an environment of one's own, for experiments that a program runs.
 *
 *     static const faro_world shop = {.name = "shop", .size = sizeof(state),
 *                                     .begin = begin, .arms = arms, .mean = mean};
 *
 *     if (faro_world_register(&shop, &error) != FARO_OK) ...
 *     faro_experiment_parse(... "environment: {name: shop, dimension: 4, arms: 10}" ...)
 *     faro_run(...)                       threads, journal and report as for every environment
 *
 * A world offers `arms` arms of `dimension` features in every round, and knows the mean reward of
 * each: regret is measured against the best of them. The mean need not be linear in the features;
 * linear learners then do as well as a linear function can.
 *
 * Every thread has a state of its own, so functions need no locks. All that is random must come
 * from the stream that a function is given: then results are the same whatever the number of
 * threads, and algorithms on the same instance meet the same luck. A function should draw equally
 * often whatever arm is played. */
#ifndef FARO_WORLD_H
#define FARO_WORLD_H

#include <faro/env.h>
#include <faro/random.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_world {
  const char *name;    /* as written in experiments: small letters, digits and - */
  const char *summary; /* one line for lists; may be NULL */
  /* A text that changes whenever results do, for worlds whose code is neither in the program nor in
   * libfaro, so that old journals are refused; else NULL. */
  const char *version;
  bool stays;                   /* one set of arms for an instance, else another in every round */
  double norm;                  /* bound on the length of features; 0: 1 */
  double low;                   /* the least reward, -1 .. 0; the greatest is 1 */
  double bound;                 /* bound on the parameter of the linear function nearest to the means; 0: 1 */
  const faro_setting *settings; /* its own, ended by an empty row; may be NULL */
  size_t settings_size;         /* size of the struct that holds them */
  size_t size;                  /* size of the state, which is zeroed before init */

  /* Optional. Prepares a state, or refuses what the parameters say. `params`, with settings filled
   * in, stays until destroy. */
  faro_status (*init)(void *state, const faro_env_params *params, faro_error *error);
  /* Required. Begins another instance: draws what is the same in all of its rounds. */
  void (*begin)(void *state, faro_sim_rng *random);
  /* Required. Makes the arms of a round: a row of features for each. Rounds are counted from 0 and
   * come in order, except that some are sampled before an instance begins (again). */
  void (*arms)(void *state, uint64_t round, faro_sim_rng *random, double *features);
  /* Required. The mean reward of an arm of these. */
  double (*mean)(const void *state, size_t arm);
  /* Optional. Draws a reward. NULL: drawn around the mean, as the setting `reward` says. */
  double (*reward)(void *state, size_t arm, faro_sim_rng *random);
  /* Optional. Frees what init allocated outside the state. */
  void (*destroy)(void *state);
} faro_world;

/* Makes the world known by its name to all experiments that are parsed afterwards, like the
 * environments that faro has. The struct and what it points to must live until the program ends.
 * Do not call it while other threads use experiments. Registering the same world again does
 * nothing.
 *
 * FARO_INVALID if a function is missing, or if the name, or that of a setting, is taken. When an
 * experiment is parsed, a first round is checked: features, means and their bounds. What is out of
 * bounds later is clipped. */
FARO_API faro_status faro_world_register(const faro_world *world, faro_error *error) FARO_WARN_UNUSED;

#ifdef __cplusplus
}
#endif

#endif
