/* bench_random: the cost of a draw, from a word of each family to a shuffle. This bounds the cost
 * of noise: a private round needs one draw per entry of a contribution, or of a batch. */
#include <faro/random.h>

#include "random/samplers.h"
#include "timing.h"

enum { SHUFFLED = 1000, LONG = 1000, VECTOR = 20, COUNTED = 1000 };

typedef struct bench {
  faro_sim_rng sim;
  faro_secure_rng *secure;
  faro_rng *face; /* faro_rng of the secure stream */
  faro_binomial few, some, many;
  uint64_t item[SHUFFLED];
  double sink; /* where draws go, so that the compiler keeps them */
} bench;

/* Sums are kept in a register: a sum in memory would make each draw wait for the one before. */
#define DRAW(name, type, draw)                                                                               \
  static void name(void *context, size_t times) {                                                            \
    bench *b = context;                                                                                      \
    type sum = 0;                                                                                            \
    for (size_t i = 0; i < times; i++) sum += draw;                                                          \
    b->sink += (double)sum;                                                                                  \
  }
DRAW(sim_word, uint64_t, faro_rng_next(&b->sim.rng))
DRAW(secure_word, uint64_t, faro_rng_next(b->face))
DRAW(uniform, double, faro_sim_uniform(&b->sim))
DRAW(normal, double, faro_sim_normal(&b->sim))
DRAW(bernoulli, uint64_t, faro_sim_bernoulli(&b->sim, 0.3))
DRAW(binomial_few, uint64_t, faro_sim_binomial(&b->few, &b->sim))
DRAW(binomial_some, uint64_t, faro_sim_binomial(&b->some, &b->sim))
DRAW(binomial_many, uint64_t, faro_sim_binomial(&b->many, &b->sim))
DRAW(quarter_sim, uint64_t, faro_exact_binomial_quarter(&b->sim.rng, 64))
DRAW(quarter_secure, uint64_t, faro_exact_binomial_quarter(b->face, 64))
DRAW(quarter_long, uint64_t, faro_exact_binomial_quarter(&b->sim.rng, UINT64_C(64) * LONG))
DRAW(below_sim, uint64_t, faro_exact_below(&b->sim.rng, SHUFFLED))

static void normals(void *context, size_t times) {
  bench *b = context;
  double drawn[VECTOR];
  for (size_t i = 0; i < times; i++) {
    faro_sim_normals(&b->sim, drawn, VECTOR);
    b->sink += drawn[i % VECTOR];
  }
}

DRAW(count, uint64_t, faro_sim_count(&b->sim, COUNTED, 0.3))

static void shuffle_sim(void *context, size_t times) {
  bench *b = context;
  for (size_t i = 0; i < times; i++) faro_exact_shuffle(&b->sim.rng, b->item, SHUFFLED, sizeof *b->item);
}

static void shuffle_secure(void *context, size_t times) {
  bench *b = context;
  for (size_t i = 0; i < times; i++) faro_exact_shuffle(b->face, b->item, SHUFFLED, sizeof *b->item);
}

static const struct line {
  const char *name;
  void (*work)(void *, size_t);
  double pieces; /* made by one call */
} lines[] = {
    {"word, Philox (simulation)", sim_word, 1},
    {"word, ChaCha20 (secure)", secure_word, 1},
    {"uniform", uniform, 1},
    {"normal", normal, 1},
    {"normals, 20 at once, each", normals, VECTOR},
    {"bernoulli, p = 0.3", bernoulli, 1},
    {"bernoullis, 1000 counted, each", count, COUNTED},
    {"binomial, n = 20, p = 1/4 (n p < 10)", binomial_few, 1},
    {"binomial, n = 12240, p = 1/4", binomial_some, 1},
    {"binomial, n = 10^9, p = 1/4", binomial_many, 1},
    {"exact Bin(64, 1/4), Philox", quarter_sim, 1},
    {"exact Bin(64, 1/4), ChaCha20", quarter_secure, 1},
    {"exact Bin(64000, 1/4), per 64 bits, Philox", quarter_long, LONG},
    {"exact integer below 1000, Philox", below_sim, 1},
    {"shuffle of 1000 words, per item, Philox", shuffle_sim, SHUFFLED},
    {"shuffle of 1000 words, per item, ChaCha20", shuffle_secure, SHUFFLED},
};

static void open_bench(bench *b) {
  faro_error error = {0};
  if (faro_secure_open(&b->secure, &error) != FARO_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  b->face = faro_secure_face(b->secure);
  faro_sim_open(&b->sim, 1, 0, FARO_ROLE_USER);
  faro_binomial_plan(&b->few, 20, 0.25);
  faro_binomial_plan(&b->some, 12240, 0.25); /* a batch of 20 with 612 bits each: d = 5, epsilon = 1 */
  faro_binomial_plan(&b->many, 1000000000, 0.25);
}

int main(void) {
  static bench b;
  open_bench(&b);
  printf("Nanoseconds of one draw; the best of several\n\n");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    double best = 0;
    bench_race(1, &(bench_rival){lines[i].work, &b}, &best);
    printf("%-44s %10.2f\n", lines[i].name, best / lines[i].pieces);
  }
  faro_secure_close(b.secure);
  return 0;
}
