/* parts: mechanisms that are made of others: on different users, and studies (docs/privacy.md,
 * Studies, Lemmas S1 and S2). */
#include <string.h>

#include "verify/inner.h"

enum { PARTS_MAX = 1000 };

/* Different users: every one of them has the claim. */
static void parallel_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const json_t *list = read_list(r, grounds, "parts", PARTS_MAX);
  arb_t one;
  arb_init(one);
  for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++) {
    arb_zero(one);
    ground_delta(r, json_array_get(list, i), c, one);
    arb_max(delta, delta, one, BITS);
  }
  arb_clear(one);
}

/* One release after another, each with the noise for all M0 rounds of a user. If m rounds cost at
 * most m / M0 of that, rounds in several of them cost no more than all of them in the worst
 * (docs/privacy.md, Doubling). Noise that scales so: without a shuffler's help. */
static bool splits(const json_t *grounds) {
  static const char *const names[] = {"gaussian", "tree", "bits", "laplace"};
  const json_t *name = json_object_get(grounds, "mechanism");
  const json_t *first = json_array_get(json_object_get(grounds, "classes"), 0);
  bool known = json_number_value(json_object_get(grounds, "repeats")) == 1;
  for (size_t i = 0; json_is_string(name) && i < sizeof names / sizeof *names; i++)
    known = known || (strcmp(json_string_value(name), names[i]) == 0 && !json_object_get(first, "mixed"));
  return known;
}

static void doubling_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const json_t *list = read_list(r, grounds, "parts", PARTS_MAX);
  for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++)
    if (!splits(json_array_get(list, i))) r->unknown = "users return, and this noise is not known to divide";
  parallel_delta(r, grounds, c, delta);
}

/* What a part of a study costs a person who stays in it: the sum, and all fits. */
typedef struct part {
  bool published;
  bool scales; /* a person who leaves the part moves as study_dominate says */
  arb_t sum, fits, slack;
} part;

/* Whether the grounds are of vectors of this form. */
static bool is_form(const json_t *grounds, const char *form) {
  const json_t *got = json_object_get(json_object_get(grounds, "contribution"), "form");
  return json_is_string(got) && strcmp(json_string_value(got), form) == 0;
}

static void read_part(reader *r, const json_t *object, double delta, part *p) {
  const json_t *fits = json_object_get(object, "fits");
  curve c;
  arb_t count;
  p->published = read_flag(r, object, "published");
  if (!json_is_array(fits) || json_array_size(fits) > PARTS_MAX)
    read_fail(r, "fits", NULL, "a list of at most 1000");
  if (!p->published && json_array_size(fits) > 0)
    read_fail(r, "fits", NULL, "empty for a part that is not published");
  if (!read_ok(r) || !p->published) return;
  curve_init(&c), arb_init(count);
  ground_dominate(r, read_object(r, object, "sum"), delta / 4, &c);
  p->scales = is_form(json_object_get(object, "sum"), "gram") && arb_is_zero(c.slack);
  arb_set(p->sum, c.square);
  arb_set(p->slack, c.slack);
  for (size_t i = 0; read_ok(r) && i < json_array_size(fits); i++) {
    const json_t *fit = json_array_get(fits, i);
    arb_zero(c.square), arb_zero(c.slack);
    arb_set_d(count, read_whole(r, fit, "count", 1, 1e6));
    ground_dominate(r, read_object(r, fit, "grounds"), delta / 4, &c);
    p->scales = p->scales && is_form(json_object_get(fit, "grounds"), "ball") && arb_is_zero(c.slack);
    arb_addmul(p->fits, c.square, count, BITS);
    arb_addmul(p->slack, c.slack, count, BITS);
  }
  curve_clear(&c), arb_clear(count);
}

/* A person who stays in a part costs its sum and its fits; one who changes part, from z to 0 in one
 * and from 0 to z in the other, half of each sum (|x x'| is 1/sqrt(2) of what its noise is made
 * for) and a quarter of the fits (R against 2 R). That is for Gaussian noise, which scales; bits,
 * which have slacks, are only taken where one part publishes. */
static void study_dominate(reader *r, const json_t *grounds, double delta, curve *c) {
  const json_t *list = read_list(r, grounds, "parts", 2);
  part p[2] = {{0}, {0}};
  arb_t moves, t;
  if (!read_ok(r)) return;
  arb_init(moves), arb_init(t);
  for (int i = 0; i < 2; i++) arb_init(p[i].sum), arb_init(p[i].fits), arb_init(p[i].slack);
  for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++) {
    read_part(r, json_array_get(list, i), delta, &p[i]);
    arb_add(t, p[i].sum, p[i].fits, BITS);
    arb_max(c->square, c->square, t, BITS);
    arb_mul_2exp_si(t, p[i].sum, -1);
    arb_add(moves, moves, t, BITS);
    arb_mul_2exp_si(t, p[i].fits, -2);
    arb_add(moves, moves, t, BITS);
    arb_add(c->slack, c->slack, p[i].slack, BITS);
  }
  if (p[0].published && p[1].published) {
    arb_max(c->square, c->square, moves, BITS);
    if (read_ok(r) && !(p[0].scales && p[1].scales))
      r->unknown = "two parts, between which people move, with sums that are not Gaussian or of another form";
  }
  for (int i = 0; i < 2; i++) arb_clear(p[i].sum), arb_clear(p[i].fits), arb_clear(p[i].slack);
  arb_clear(moves), arb_clear(t);
}

/* The sum and the only fit of a study in which one part publishes once; false if it is not such. */
static bool read_pair(const json_t *grounds, const json_t *pair[static 2]) {
  const json_t *list = json_object_get(grounds, "parts");
  size_t published = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *one = json_array_get(list, i);
    const json_t *fits = json_object_get(one, "fits");
    if (!json_is_true(json_object_get(one, "published"))) continue;
    published++;
    if (json_array_size(fits) != 1) return false;
    const json_t *fit = json_array_get(fits, 0);
    if (json_number_value(json_object_get(fit, "count")) != 1) return false;
    pair[0] = json_object_get(one, "sum");
    pair[1] = json_object_get(fit, "grounds");
  }
  return published == 1;
}

/* Half of epsilon and of delta for each of the two; both add up. */
static void add_halves(reader *r, const json_t *const pair[static 2], const claim *c, arb_t delta) {
  claim half = {.delta = c->delta / 2};
  arb_t one;
  arb_init(half.epsilon), arb_init(one);
  arb_mul_2exp_si(half.epsilon, c->epsilon, -1);
  arb_zero(delta);
  for (int i = 0; i < 2; i++) {
    arb_zero(one);
    ground_delta(r, pair[i], &half, one);
    arb_add(delta, delta, one, BITS);
  }
  arb_clear(half.epsilon), arb_clear(one);
}

static void study_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const json_t *pair[2] = {NULL, NULL};
  reader asked = *r;
  curve made;
  curve_init(&made);
  study_dominate(&asked, grounds, c->delta > 0 ? c->delta : 1e-15, &made);
  if (asked.unknown && read_pair(grounds, pair)) add_halves(r, pair, c, delta);
  else {
    *r = asked;
    if (read_ok(r)) ball_gaussian_delta(delta, made.square, c->epsilon);
    arb_add(delta, delta, made.slack, BITS);
  }
  curve_clear(&made);
}

/* Phases: the first that is recorded has the most users, and so the least noise in a message. */
static void parallel_local(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const json_t *list = read_list(r, grounds, "parts", PARTS_MAX);
  if (read_ok(r)) ground_local(r, json_array_get(list, 0), c, delta);
}

const ground_kind ground_parallel = {"parallel", NULL, parallel_delta, parallel_local};
const ground_kind ground_doubling = {"doubling", NULL, doubling_delta, NULL};
const ground_kind ground_study = {"study", study_dominate, study_delta, NULL};
