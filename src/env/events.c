/* bits-events: a stream of bits, most of them 0, whose rate of ones drifts: events at busy and
 * quiet times. The logarithm of the rate is a cosine between those of `quiet` and `busy`, from a
 * random phase on; `abrupt`: the rate is one or the other.
 *
 *   c = (1 - cos(2 pi (cycles t / n + phase))) / 2,   rate = quiet^(1-c) busy^c */
#include <math.h>

#include "env/kind.h"

typedef struct events {
  faro_env env;
  double phase;
  uint64_t come; /* users so far */
} events;

static events *events_of(faro_env *env) { return (events *)(void *)env; }

static const faro_setting settings[] = {
    {"quiet", FARO_SETTING_REAL, offsetof(faro_env_settings, quiet), 1e-6, 1, 0.001, NULL,
     "bits-events only: the least rate of ones"},
    {"busy", FARO_SETTING_REAL, offsetof(faro_env_settings, busy), 1e-6, 1, 0.5, NULL,
     "bits-events only: the greatest rate of ones"},
    {"cycles", FARO_SETTING_REAL, offsetof(faro_env_settings, cycles), 0, 1e6, 3, NULL,
     "bits-events only: how often quiet and busy times alternate within the horizon"},
    {"abrupt", FARO_SETTING_SWITCH, offsetof(faro_env_settings, abrupt), 0, 1, 0, NULL,
     "bits-events only: the rate jumps between quiet and busy"},
    {0}};

static void begin(faro_env *env) {
  events *e = events_of(env);
  e->phase = faro_sim_uniform(&env->instance);
  e->come = 0;
}

static double rate_of(const events *e) {
  const faro_env_settings *own = e->env.params.settings;
  const double turn = own->cycles * (double)e->come / (double)e->env.params.horizon + e->phase;
  const double c = (1 - cos(2 * 3.141592653589793 * turn)) / 2;
  if (own->abrupt) return c < 0.5 ? own->quiet : own->busy;
  return pow(own->quiet, 1 - c) * pow(own->busy, c);
}

static double next(faro_env *env) {
  events *e = events_of(env);
  const double rate = rate_of(e);
  e->come++;
  return faro_sim_uniform(&env->context) < rate;
}

const faro_env_rules faro_env_bits_events = {
    .about =
        {.name = "bits-events",
         .summary =
             "a stream of bits whose rate of ones drifts between quiet and busy times, for sum and trend",
         .traits = FARO_ENV_STREAM,
         .settings = settings,
         .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(events),
    .begin = begin,
    .value = next,
};
