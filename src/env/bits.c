/* bits-random, bits-hard: streams of bits, for private running sums.
 *
 * bits-hard is the stream behind the lower bound of Tenenbaum et al. 2023, section 4, Delta_{n,k}
 * without a prefix: one fair bit, then `rep` copies of another fair bit, and so on, until n users
 * have come. A server with k shufflers cannot distinguish the runs in time. With log n shufflers
 * rep is 1, and the stream is the same as bits-random.
 *
 *   n  horizon   k  shufflers   c = e^epsilon / (e^(2 epsilon) + 1)
 *   rep = 1/2 n^(1/(2k+1)) c^(2k/(2k+1))
 *
 * Theorem 4.1: the greatest error is Omega(rep), whatever the mechanism, with a constant that the
 * proof does not give. With `copies` of its own the stream is harder for mechanisms whose
 * smallest batches are about as long. */
#include <math.h>

#include "base/bits.h"
#include "env/kind.h"

typedef struct bits {
  faro_env env;
  uint64_t word; /* fair bits drawn in advance: the lowest `left` bits; zeros above */
  unsigned left;
  uint64_t repeats; /* bits-hard only: length of every second run */
  uint64_t run;     /* users left in this run */
  bool repeated;    /* this run is a long one */
  bool bit;         /* value of this run */
} bits;

static bits *bits_of(faro_env *env) { return (bits *)(void *)env; }

/* The next 1 to 64 fair bits. They are drawn 64 at a time. */
static inline uint64_t fair_bits(bits *b, unsigned count) {
  uint64_t out = b->word;
  if (b->left >= count) {
    b->word = count < 64 ? b->word >> count : 0;
    b->left -= count;
    return faro_low_bits(out, count);
  }
  const uint64_t fresh = faro_rng_next(&b->env.context.rng);
  const unsigned used = count - b->left;
  out |= fresh << b->left;
  b->word = used < 64 ? fresh >> used : 0;
  b->left = 64 - used;
  return faro_low_bits(out, count);
}

static void begin_random(faro_env *env) {
  bits_of(env)->left = 0;
  bits_of(env)->word = 0;
}

static void next_random(faro_env *env, uint64_t count, uint64_t *out) {
  for (; count > 64; count -= 64) *out++ = fair_bits(bits_of(env), 64);
  if (count > 0) *out = fair_bits(bits_of(env), (unsigned)count);
}

static double shufflers_of(const faro_env_params *p) {
  if (p->shufflers > 0) return (double)p->shufflers;
  return fmax(1, floor(log2((double)p->horizon)) - 1); /* log */
}

static double theorem_repeats(const faro_env_params *p) {
  const double k = shufflers_of(p);
  const double c = 1 / (exp(p->epsilon) + exp(-p->epsilon)); /* the same c, without overflow */
  return 0.5 * pow((double)p->horizon, 1 / (2 * k + 1)) * pow(c, 2 * k / (2 * k + 1));
}

static uint64_t repeats_of(const faro_env_params *p) {
  const uint64_t given = ((const faro_env_settings *)p->settings)->copies;
  return given > 0 ? given : (uint64_t)fmax(1, round(theorem_repeats(p)));
}

static void begin_hard(faro_env *env) {
  bits *b = bits_of(env);
  begin_random(env);
  b->run = 0;
  b->repeats = repeats_of(&env->params);
  b->repeated = true;
}

/* The next 1 to 64 bits, run by run. */
static uint64_t hard_bits(bits *b, unsigned count) {
  uint64_t out = 0;
  for (unsigned at = 0; at < count;) {
    if (b->run == 0) {
      b->repeated = !b->repeated;
      b->run = b->repeated ? b->repeats : 1;
      b->bit = fair_bits(b, 1);
    }
    const unsigned here = b->run < count - at ? (unsigned)b->run : count - at;
    if (b->bit) out |= faro_low_bits(UINT64_MAX, here) << at;
    b->run -= here;
    at += here;
  }
  return out;
}

static void next_hard(faro_env *env, uint64_t count, uint64_t *out) {
  bits *b = bits_of(env);
  if (b->repeats == 1) {
    next_random(env, count, out);
    return;
  }
  for (; count > 64; count -= 64) *out++ = hard_bits(b, 64);
  if (count > 0) *out = hard_bits(b, (unsigned)count);
}

const faro_env_rules faro_env_bits_random = {
    .about = {.name = "bits-random",
              .summary = "a stream of independent fair bits, for sum and trend",
              .traits = FARO_ENV_STREAM},
    .size = sizeof(bits),
    .begin = begin_random,
    .bits = next_random,
};

static const char *const automatic[] = {"auto", NULL};

static const faro_setting hard_settings[] = {
    {"copies", FARO_SETTING_COUNT, offsetof(faro_env_settings, copies), 1, 1e9, 0, automatic,
     "bits-hard only: copies of every second bit; auto: as many as the lower bound has"},
    {0}};

const faro_env_rules faro_env_bits_hard = {
    .about =
        {.name = "bits-hard",
         .summary =
             "a stream of single and repeated fair bits, hard to sum with few shufflers, for sum and trend",
         .traits = FARO_ENV_STREAM,
         .settings = hard_settings,
         .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(bits),
    .begin = begin_hard,
    .bits = next_hard,
    .least_error = theorem_repeats,
};
