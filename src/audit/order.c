/* order: see the header.
 *
 * The messages are numbered before they are shuffled. Under a uniform order two kinds of events
 * have a known probability, and their counts over independent shuffles are binomial:
 *
 *   place       message i comes to lie in part j of the batch; the parts are nearly equal
 *   succession  message i + 1 comes to lie just behind message i: 1 / users. A batch that is only
 *               rotated or reversed in parts shows here
 *
 * At most PARTS messages and parts are watched. Every count has two bounds, and alpha is divided by
 * the number of bounds. */
#include "audit/order.h"

#include <string.h>

#include "audit/bounds.h"
#include "base/arena.h"
#include "release/shuffler.h"

enum { PARTS = 64 };

typedef struct watch {
  uint64_t users, parts; /* the batch has this many parts, and this many messages are watched */
  size_t size;           /* bytes of a message */
  unsigned char *messages;
  uint64_t *seat;       /* where each watched message came to lie */
  uint64_t *place;      /* counts, message by part */
  uint64_t *succession; /* counts, by message */
} watch;

static faro_status make_room(watch *w, faro_arena *arena, faro_error *error) {
  w->messages = faro_arena_alloc(arena, w->users, w->size, error);
  w->seat = faro_arena_alloc(arena, w->parts, sizeof *w->seat, error);
  w->place = faro_arena_alloc(arena, w->parts * w->parts, sizeof *w->place, error);
  w->succession = faro_arena_alloc(arena, w->parts, sizeof *w->succession, error);
  return w->messages && w->seat && w->place && w->succession ? FARO_OK : FARO_MEMORY;
}

/* Every message is at least as long as its number. */
static void number_messages(const watch *w) {
  for (uint64_t i = 0; i < w->users; i++) {
    memset(w->messages + i * w->size, 0, w->size);
    memcpy(w->messages + i * w->size, &i, sizeof i);
  }
}

/* By the release if the batch is the open one, else by its shuffler alone. */
static void shuffle(const watch *w, const faro_release *release, faro_sim_rng *stream) {
  if (w->users == faro_release_missing(release)) (void)faro_release_mix(release, w->messages);
  else faro_shuffler_permute(&stream->rng, w->messages, w->users, w->size);
}

/* The watched messages are neighbouring couples, spread over the batch. The one with this number;
 * `parts` if there is none. */
static uint64_t index_of(const watch *w, uint64_t number) {
  const uint64_t stride = 2 * (w->users / w->parts);
  const uint64_t i = number / stride * 2 + number % stride;
  return number % stride < 2 && i < w->parts ? i : w->parts;
}

static void count(const watch *w) {
  for (uint64_t seat = 0; seat < w->users; seat++) {
    uint64_t number;
    memcpy(&number, w->messages + seat * w->size, sizeof number);
    const uint64_t i = index_of(w, number);
    if (i == w->parts) continue;
    w->seat[i] = seat;
    w->place[i * w->parts + seat * w->parts / w->users]++;
  }
  for (uint64_t i = 0; i + 1 < w->parts; i += 2) w->succession[i] += w->seat[i + 1] == w->seat[i] + 1;
}

/* Counts that fit a probability. */
typedef struct range {
  uint64_t least, most;
} range;

static range range_of(uint64_t trials, double probability, double alpha) {
  range r = {.least = 0, .most = trials};
  for (uint64_t step = UINT64_C(1) << 40; step > 0; step /= 2) {
    if (r.least + step <= trials && faro_proportion_high(r.least + step - 1, trials, alpha) < probability)
      r.least += step;
    if (r.most >= step && faro_proportion_low(r.most - step + 1, trials, alpha) > probability) r.most -= step;
  }
  return r;
}

static bool within(range r, uint64_t hits) { return hits >= r.least && hits <= r.most; }

/* Users of part j. */
static uint64_t members(const watch *w, uint64_t j) {
  const uint64_t round = w->parts - 1;
  return ((j + 1) * w->users + round) / w->parts - (j * w->users + round) / w->parts;
}

static faro_order judge(const watch *w, uint64_t trials, double alpha) {
  const double users = (double)w->users;
  const uint64_t small = w->users / w->parts; /* each part has this many members, or one more */
  const range after = range_of(trials, 1 / users, alpha);
  const range part[2] = {range_of(trials, (double)small / users, alpha),
                         range_of(trials, (double)(small + 1) / users, alpha)};
  bool uniform = true;
  for (uint64_t i = 0; i < w->parts; i++) {
    for (uint64_t j = 0; j < w->parts; j++)
      uniform = uniform && within(part[members(w, j) - small], w->place[i * w->parts + j]);
    if (i % 2 == 0 && i + 1 < w->parts) uniform = uniform && within(after, w->succession[i]);
  }
  return (faro_order){.uniform = uniform,
                      .power = (double)(part[0].most + 1) / (double)trials / ((double)small / users)};
}

faro_status faro_order_audit(const faro_release *release, faro_sim_rng *stream, uint64_t users,
                             uint64_t trials, double alpha, faro_order *order, faro_error *error) {
  faro_arena arena = {0};
  watch w = {
      .users = users, .parts = users < PARTS ? users : PARTS, .size = faro_release_message_size(release)};
  const faro_status status = make_room(&w, &arena, error);
  for (uint64_t i = 0; status == FARO_OK && i < trials; i++) {
    number_messages(&w);
    shuffle(&w, release, stream);
    count(&w);
  }
  if (status == FARO_OK) *order = judge(&w, trials, alpha / (double)(2 * w.parts * (w.parts + 1)));
  faro_arena_free(&arena);
  return status;
}
