/* inner: what the files of this layer share. */
#ifndef FARO_VERIFY_INNER_H
#define FARO_VERIFY_INNER_H

#include <arb.h>

#include "verify/verify.h"

enum { BITS = 192 }; /* of mantissas; the sums below lose at most a few dozen */

/* Reading. The first problem is kept, later calls do nothing and return the least value allowed. */
typedef struct reader {
  faro_error *error;
  faro_status status;
  const char *unknown; /* why this cannot be checked; NULL: it can */
} reader;

void read_fail(reader *r, const char *name, const json_t *got, const char *allowed);
double read_number(reader *r, const json_t *object, const char *name, double least, double most);
double read_whole(reader *r, const json_t *object, const char *name, double least, double most);
bool read_flag(reader *r, const json_t *object, const char *name);
/* Index of the word in a list that ends with NULL. */
size_t read_word(reader *r, const json_t *object, const char *name, const char *const *words);
/* Whole numbers of 64 bits, which are strings. */
void read_long(reader *r, const json_t *object, const char *name, arb_t value);
/* An array with 1 .. most elements; NULL after a failure. */
const json_t *read_list(reader *r, const json_t *object, const char *name, size_t most);
const json_t *read_object(reader *r, const json_t *object, const char *name);
/* Exactly `count` numbers. */
void read_numbers(reader *r, const json_t *object, const char *name, size_t count, double least, double most,
                  double *value);
static inline bool read_ok(const reader *r) { return r->status == FARO_OK && !r->unknown; }

/* The claim that is being checked. */
typedef struct claim {
  arb_t epsilon;
  double delta;
  bool loosely; /* bounds may be as loose as those of an accountant who looks one deviation further */
} claim;

/* A Gaussian mechanism that dominates: delta(epsilon) <= delta_Gauss(epsilon; mu) + slack. */
typedef struct curve {
  arb_t square; /* mu^2 */
  arb_t slack;
} curve;
void curve_init(curve *c);
void curve_clear(curve *c);

/* A mechanism of the table in verify.c: at least one of the first two functions. `delta` is the
 * total that a nested mechanism may use up for slacks. */
typedef struct ground_kind {
  const char *name;
  /* mu^2 and slack, over all rounds of a user. */
  void (*dominate)(reader *, const json_t *grounds, double delta, curve *);
  /* delta at the claim's epsilon, directly. */
  void (*delta)(reader *, const json_t *grounds, const claim *, arb_t delta);
  /* Optional. delta of all messages of one user by themselves, which nothing is mixed with. */
  void (*local)(reader *, const json_t *grounds, const claim *, arb_t delta);
} ground_kind;

void ground_dominate(reader *r, const json_t *grounds, double delta, curve *c);
void ground_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta);
void ground_local(reader *r, const json_t *grounds, const claim *c, arb_t delta);
extern const ground_kind ground_gaussian, ground_tree, ground_factored, ground_laplace, ground_bits,
    ground_response, ground_study, ground_parallel, ground_doubling;

/* ball */
void ball_normal(arb_t result, const arb_t x, slong bits);  /* Phi */
void ball_density(arb_t result, const arb_t x, slong bits); /* phi */
void ball_gaussian_delta(arb_t result, const arb_t square, const arb_t epsilon);
/* The probability of k in Bin(n, 1/2). */
void ball_fair(arb_t result, double n, double k);
/* The probability of k in Bin(n, p). */
void ball_binomial(arb_t result, double n, double k, const arb_t p);
double ball_upper(const arb_t x);
double ball_lower(const arb_t x);
bool ball_at_most(const arb_t x, double y);

/* lemmas: how far one user moves z. */
typedef struct shape {
  size_t form, link;
  bool weighed;
  /* Distances are of any two users, as amplification needs them, and not only of neighbours. */
  bool any_users;
  double dimension, blocks, norm, low, high, middle;
} shape;
shape read_shape(reader *r, const json_t *grounds);
shape shape_of_any_users(const shape *s);
double shape_length(const shape *s);                          /* entries of z */
void shape_square(reader *r, arb_t result, const shape *s);   /* L2, squared */
void shape_absolute(reader *r, arb_t result, const shape *s); /* L1 */
/* sum_j (dz_j / sd_j)^2 for noise as in the grounds: on the diagonal, off it, and in the rest. */
void shape_shift(reader *r, arb_t result, const shape *s, const double sd[static 3]);

/* mixing: one message of a batch of users, (epsilon0, delta0)-private by itself; if it is mixed,
 * for any two users. */
typedef struct local {
  arb_t epsilon0;
  double delta0;
  double mixed;         /* honest users of the batch; 1: nothing is mixed */
  double codes, truths; /* of a response; 0: any randomizer */
} local;
/* One for each element of a list; NULL, with the reader failed, if there is no memory or nothing to
 * read. */
local *locals_create(reader *r, const json_t *list);
void locals_destroy(local *l, const json_t *list);
/* delta at epsilon of a shuffled batch. */
void mixing_delta(arb_t result, const local *l, const arb_t epsilon);
/* A user is in `repeats` batches, any of the `count` classes: those batches, or the user's messages
 * by themselves, which have no delta0. */
typedef void mixing_rule(reader *r, arb_t result, const local *l, size_t count, double repeats,
                         const claim *c);
mixing_rule mixing_compose, mixing_alone;

#endif
