/* bits-events: a stream of bits, most of them 0, whose rate of ones drifts: events at busy and
 * quiet times. The logarithm of the rate is a cosine between those of `quiet` and `busy`, from a
 * random phase on; `abrupt`: the rate is one or the other.
 *
 *   c = (1 - cos(2 pi (cycles t / n + phase))) / 2,   rate = quiet^(1-c) busy^c
 *
 * From one user to the next c changes by at most pi cycles / n, so that most users' bits follow
 * from bounds of the rate over a few users. */
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

static const double PI = 3.141592653589793;

/* c of the user who comes after `come` others. */
static double phase_of(const events *e, uint64_t come) {
  const faro_env_settings *own = e->env.params.settings;
  const double turn = own->cycles * (double)come / (double)e->env.params.horizon + e->phase;
  return (1 - cos(2 * PI * turn)) / 2;
}

static double rate_at(const events *e, double c) {
  const faro_env_settings *own = e->env.params.settings;
  if (own->abrupt) return c < 0.5 ? own->quiet : own->busy;
  return pow(own->quiet, 1 - c) * pow(own->busy, c);
}

/* The rate is monotone in c, and rounding changes it by far less than a billionth. */
static void bound(const events *e, uint64_t count, double *low, double *high) {
  const faro_env_settings *own = e->env.params.settings;
  const double far = PI * own->cycles * (double)count / (double)e->env.params.horizon + 1e-9;
  const double middle = phase_of(e, e->come);
  const double one = rate_at(e, middle - far);
  const double other = rate_at(e, middle + far);
  *low = fmin(one, other) * (1 - 1e-9);
  *high = fmax(one, other) * (1 + 1e-9);
}

/* The next 1 to 64 bits. */
static uint64_t draw(events *e, unsigned count) {
  uint64_t out = 0;
  double low = 0;
  double high = 0;
  bound(e, count, &low, &high);
  for (unsigned i = 0; i < count; i++, e->come++) {
    const double u = faro_sim_uniform(&e->env.context);
    const bool one = u < low || (u < high && u < rate_at(e, phase_of(e, e->come)));
    out |= (uint64_t)one << i;
  }
  return out;
}

static void next(faro_env *env, uint64_t count, uint64_t *out) {
  for (; count > 64; count -= 64) *out++ = draw(events_of(env), 64);
  if (count > 0) *out = draw(events_of(env), (unsigned)count);
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
    .bits = next,
};
