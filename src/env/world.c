/* world: environments of programs, as rules of an environment like any other. The program fills
 * rows of features; here they become columns, within their bounds. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "env/worlds.h"

enum { WORLDS_MAX = 32 };

/* An environment of a world. */
typedef struct own_env {
  faro_env env;
  void *state;
  double *features; /* a row for each arm */
} own_env;

/* A registered world. */
typedef struct own_rules {
  faro_env_rules rules;
  faro_env_facts facts;
  const faro_world *world;
} own_rules;

static own_rules registered[WORLDS_MAX];
static size_t count;

size_t faro_worlds_count(void) { return count; }
const faro_env_rules *faro_worlds_at(size_t index) { return &registered[index].rules; }

static const own_rules *rules_of(const faro_env *env) { return (const own_rules *)(const void *)env->rules; }
static own_env *own_of(faro_env *env) { return (own_env *)(void *)env; }

/* ---- a round */

static double within(double value, double low) { return value >= low ? fmin(value, 1) : low; }

/* The length of an arm's features; NaN or infinite if one of them is. */
static double length_of(const double *x, size_t d) {
  double square = 0;
  for (size_t i = 0; i < d; i++) square += x[i] * x[i];
  return sqrt(square);
}

/* The factor that brings features within their bound. */
static double scale_of(const double *x, size_t d, double norm) {
  const double length = length_of(x, d);
  if (!isfinite(length)) return 0;
  return length > norm ? norm / length : 1;
}

/* Makes the arms of this round, and their means. */
static void make_round(faro_env *env, faro_sim_rng *random) {
  const own_rules *own = rules_of(env);
  own_env *here = own_of(env);
  const size_t d = env->arms.dimension;
  own->world->arms(here->state, env->round, random, here->features);
  env->best = env->low;
  for (size_t a = 0; a < env->arms.count; a++) {
    const double *x = here->features + a * d;
    const double scale = scale_of(x, d, own->facts.norm);
    for (size_t i = 0; i < d; i++) env->arms.x[i * env->arms.stride + a] = scale > 0 ? scale * x[i] : 0;
    env->mean[a] = within(own->world->mean(here->state, a), env->low);
    env->best = fmax(env->best, env->mean[a]);
  }
  env->arms.version++;
}

static void begin(faro_env *env) {
  const faro_world *world = rules_of(env)->world;
  world->begin(own_of(env)->state, &env->instance);
  make_round(env, world->stays ? &env->instance : &env->context);
}

static void next(faro_env *env) { make_round(env, &env->context); }

static double reward(faro_env *env, size_t arm) {
  return within(rules_of(env)->world->reward(own_of(env)->state, arm, &env->reward), env->low);
}

/* ---- an environment */

/* A state; the world may refuse. */
static faro_status make_state(const faro_world *world, const faro_env_params *params, faro_arena *arena,
                              void **state, faro_error *error) {
  void *made = faro_arena_alloc(arena, 1, world->size + 1, error);
  if (!made) return FARO_MEMORY;
  const faro_status status = world->init ? world->init(made, params, error) : FARO_OK;
  if (status != FARO_OK) /* if init has said why, that stays */
    return faro_fail(error, status, "environment %s refuses its parameters", world->name);
  *state = made;
  return FARO_OK;
}

/* The first round of an instance that is not played: what is wrong there is wrong everywhere. */
static faro_status check_round(const own_rules *own, const faro_env_params *p, void *state, double *features,
                               faro_error *error) {
  faro_sim_rng random;
  faro_sim_open(&random, 0, 0, FARO_ROLE_YARDSTICK);
  own->world->begin(state, &random);
  own->world->arms(state, 0, &random, features);
  for (size_t a = 0; a < p->arms; a++) {
    const double length = length_of(features + a * p->dimension, p->dimension);
    const double mean = own->world->mean(state, a);
    if (!(length <= own->facts.norm * (1 + 1e-9)))
      return faro_fail(error, FARO_INVALID,
                       "environment %s must make features of length at most %g (got %g for arm %zu)",
                       own->world->name, own->facts.norm, length, a);
    if (!(mean >= own->facts.low && mean <= 1))
      return faro_fail(error, FARO_INVALID,
                       "environment %s must have mean rewards from %g to 1 (got %g for arm %zu)",
                       own->world->name, own->facts.low, mean, a);
  }
  return FARO_OK;
}

/* Tries a state: only the world knows what it refuses. */
static faro_status try_world(const own_rules *own, const faro_env_params *params, faro_arena *arena,
                             faro_error *error) {
  faro_env_params p = *params;
  void *state = NULL;
  double *features = faro_arena_alloc(arena, p.arms * p.dimension, sizeof *features, error);
  void *settings = faro_arena_alloc(arena, 1, own->world->settings_size + 1, error);
  if (!features || !settings) return FARO_MEMORY;
  if (!p.settings) {
    faro_settings_preset(own->world->settings, settings);
    p.settings = settings;
  }
  faro_status status = make_state(own->world, &p, arena, &state, error);
  if (status != FARO_OK) return status;
  status = check_round(own, &p, state, features, error);
  if (own->world->destroy) own->world->destroy(state);
  return status;
}

static faro_status check(const faro_env_rules *rules, const faro_env_params *params, faro_error *error) {
  faro_arena arena = {0};
  faro_status status = faro_env_check_arms(params, error);
  if (status == FARO_OK) status = try_world((const own_rules *)(const void *)rules, params, &arena, error);
  faro_arena_free(&arena);
  return status;
}

static faro_status init(faro_env *env, faro_error *error) {
  own_env *here = own_of(env);
  const faro_status status = faro_env_make_arms(env, env->params.arms, error);
  if (status != FARO_OK) return status;
  here->features =
      faro_arena_alloc(&env->arena, env->arms.count * env->arms.dimension, sizeof(double), error);
  if (!here->features) return FARO_MEMORY;
  return make_state(rules_of(env)->world, &env->params, &env->arena, &here->state, error);
}

static void destroy(faro_env *env) {
  const faro_world *world = rules_of(env)->world;
  if (own_of(env)->state && world->destroy) world->destroy(own_of(env)->state);
}

/* ---- the registry */

static faro_status check_world(const faro_world *w, faro_error *error) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
  char shown[FARO_SHORT_SIZE];
  const char *name = w->name ? w->name : "";
  if (*name == '\0' || strlen(name) > 40 || strspn(name, allowed) != strlen(name))
    return faro_fail(error, FARO_INVALID, "name must be 1 .. 40 small letters, digits and - (got \"%s\")",
                     faro_shorten(name, strlen(name), shown));
  if (faro_env_find(name))
    return faro_fail(error, FARO_INVALID, "name %s is taken by another environment", name);
  if (!w->begin || !w->arms || !w->mean)
    return faro_fail(error, FARO_INVALID, "%s is missing: environment %s needs begin, arms and mean",
                     !w->begin  ? "begin"
                     : !w->arms ? "arms"
                                : "mean",
                     name);
  if (!(w->low >= -1 && w->low <= 0))
    return faro_fail(error, FARO_INVALID, "low must be -1 .. 0 in environment %s (got %g)", name, w->low);
  if (!(w->norm >= 0 && w->norm <= 1e6 && w->bound >= 0 && w->bound <= 1e6))
    return faro_fail(error, FARO_INVALID,
                     "norm and bound must be 0 .. 10^6 in environment %s (got %g and %g)", name, w->norm,
                     w->bound);
  if (count == WORLDS_MAX)
    return faro_fail(error, FARO_INVALID, "at most %d environments can be registered", WORLDS_MAX);
  return FARO_OK;
}

static own_rules rules_for(const faro_world *w) {
  return (own_rules){
      .rules = {.about = {.name = w->name,
                          .summary = w->summary ? w->summary : "an environment of this program",
                          .version = w->version,
                          .traits = w->stays ? FARO_ENV_STAYS : 0,
                          .settings = w->settings,
                          .settings_size = w->settings_size},
                .size = sizeof(own_env),
                .check = check,
                .init = init,
                .begin = begin,
                .next = w->stays ? NULL : next,
                .reward = w->reward ? reward : NULL,
                .destroy = destroy},
      .facts = {.norm = w->norm > 0 ? w->norm : 1,
                .low = w->low,
                .high = 1,
                .bound = w->bound > 0 ? w->bound : 1},
      .world = w};
}

faro_status faro_worlds_add(const faro_world *world, bool *added, faro_error *error) {
  *added = false;
  for (size_t i = 0; i < count; i++)
    if (registered[i].world == world) return FARO_OK;
  const faro_status status = check_world(world, error);
  if (status != FARO_OK) return status;
  registered[count] = rules_for(world);
  registered[count].rules.facts = &registered[count].facts;
  count++;
  *added = true;
  return FARO_OK;
}
