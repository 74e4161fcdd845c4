/* bits-random, bits-hard: streams of bits, for private running sums.
 *
 * bits-hard is the stream behind the lower bound of 001 section 4, Delta_{n,k} without a prefix: one fair bit, then
 * `rep` copies of another fair bit, and again, until n users have come. Whoever has k shufflers cannot tell the runs
 * in time. With log n shufflers rep is 1, and the stream the same as bits-random.
 *
 *   n  horizon   k  shufflers   c = e^epsilon / (e^(2 epsilon) + 1)   rep = 1/2 n^(1/(2k+1)) c^(2k/(2k+1)) */
#include <math.h>

#include "env/kind.h"

/* 64 bits for each word drawn: a user costs a shift. */
static inline bool fair_bit(faro_env *env) {
  faro_env_bits *b = &env->bits;
  if (b->left == 0) {
    b->word = faro_rng_next(&env->context.rng);
    b->left = 64;
  }
  const bool bit = b->word & 1;
  b->word >>= 1;
  b->left--;
  return bit;
}

static void begin_random(faro_env *env) { env->bits = (faro_env_bits){0}; }
static double next_random(faro_env *env) { return fair_bit(env); }

static double shufflers_of(const faro_env_params *p) {
  if (p->shufflers > 0) return (double)p->shufflers;
  return fmax(1, floor(log2((double)p->horizon)) - 1); /* log */
}

static uint64_t repeats_of(const faro_env_params *p) {
  const double k = shufflers_of(p);
  const double c = 1 / (exp(p->epsilon) + exp(-p->epsilon)); /* the same c, without overflow */
  const double rep = 0.5 * pow((double)p->horizon, 1 / (2 * k + 1)) * pow(c, 2 * k / (2 * k + 1));
  return (uint64_t)fmax(1, round(rep));
}

static void begin_hard(faro_env *env) {
  env->bits = (faro_env_bits){.repeats = repeats_of(&env->params), .repeated = true};
}

static double next_hard(faro_env *env) {
  faro_env_bits *b = &env->bits;
  if (b->run == 0) {
    b->repeated = !b->repeated;
    b->run = b->repeated ? b->repeats : 1;
    b->bit = fair_bit(env);
  }
  b->run--;
  return b->bit;
}

const faro_env_kind faro_env_bits_random = {
    .name = "bits-random",
    .summary = "a stream of independent fair bits, for learner sum",
    .begin = begin_random,
    .value = next_random,
};

const faro_env_kind faro_env_bits_hard = {
    .name = "bits-hard",
    .summary = "a stream of single and repeated fair bits: 001's lower bound, for learner sum",
    .begin = begin_hard,
    .value = next_hard,
};
