/* discriminant: see the header. */
#include "audit/discriminant.h"

#include <math.h>
#include <string.h>

enum {
  FULL_MAX = 256, /* wider views get a diagonal covariance */
  SAMPLED = 16    /* messages of a batch are alike: this many are enough to estimate their covariance */
};

static size_t square_length(const faro_discriminant *d) { return d->full ? faro_packed(d->width) : d->width; }

static bool allocate(double **where, size_t length, faro_arena *arena, faro_error *error) {
  *where = faro_arena_alloc(arena, length, sizeof **where, error);
  return *where != NULL;
}

static bool allocate_moments(const faro_discriminant *d, faro_moments *m, faro_arena *arena,
                             faro_error *error) {
  return allocate(&m->total, d->width, arena, error) && allocate(&m->place, d->width, arena, error) &&
         allocate(&m->sample, d->width, arena, error) && allocate(&m->square, square_length(d), arena, error);
}

static bool allocate_all(faro_discriminant *d, faro_arena *arena, faro_error *error) {
  double **const vector[] = {&d->origin, &d->centre, &d->weight, &d->place_weight};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    if (!allocate(vector[i], d->width, arena, error)) return false;
  for (size_t i = 0; i < (size_t)2 * FARO_SLICES; i++)
    if (!allocate_moments(d, &d->slice[i / 2][i % 2], arena, error)) return false;
  return allocate(&d->covariance, square_length(d), arena, error);
}

faro_status faro_discriminant_open(faro_discriminant *d, size_t batches, size_t messages, size_t width,
                                   faro_arena *arena, faro_error *error) {
  *d = (faro_discriminant){.batches = batches,
                           .messages = messages,
                           .width = width,
                           .sampled = messages < SAMPLED ? messages : SAMPLED,
                           .full = width <= FULL_MAX};
  if (!allocate_all(d, arena, error)) return FARO_MEMORY;
  return d->full ? faro_spd_create(&d->spd, width, error) : FARO_OK;
}

void faro_discriminant_close(faro_discriminant *d) { faro_spd_destroy(d->spd); }

void faro_discriminant_forget(faro_discriminant *d, const double *example) {
  memcpy(d->origin, example, d->width * sizeof *example);
  for (size_t i = 0; i < (size_t)2 * FARO_SLICES; i++) {
    faro_moments *m = &d->slice[i / 2][i % 2];
    m->runs = 0;
    memset(m->total, 0, d->width * sizeof *m->total);
    memset(m->place, 0, d->width * sizeof *m->place);
    memset(m->sample, 0, d->width * sizeof *m->sample);
    memset(m->square, 0, square_length(d) * sizeof *m->square);
  }
}

static void add_square(const faro_discriminant *d, const double *message, double *square) {
  for (size_t i = 0; i < d->width; i++) {
    const double a = message[i] - d->origin[i];
    if (!d->full) square[i] += a * a;
    else
      for (size_t j = 0; j <= i; j++) *square++ += a * (message[j] - d->origin[j]);
  }
}

static void see_batch(const faro_discriminant *d, faro_moments *m, const double *view) {
  m->runs++;
  for (size_t i = 0; i < d->width; i++) m->place[i] += view[i] - d->origin[i];
  for (size_t k = 0; k < d->messages; k++) {
    const double *message = view + k * d->width;
    for (size_t i = 0; i < d->width; i++) m->total[i] += message[i] - d->origin[i];
    if (k >= d->sampled) continue;
    for (size_t i = 0; i < d->width; i++) m->sample[i] += message[i] - d->origin[i];
    add_square(d, message, m->square);
  }
}

void faro_discriminant_see(faro_discriminant *d, size_t slice, int input, const double *view) {
  for (size_t b = 0; b < d->batches; b++)
    see_batch(d, &d->slice[slice][input], view + b * d->messages * d->width);
}

static void add(size_t length, const double *from, double *to) {
  for (size_t i = 0; i < length; i++) to[i] += from[i];
}

/* Adds the other slices to the first, in their order. */
static void merge(faro_discriminant *d) {
  for (size_t i = 2; i < (size_t)2 * FARO_SLICES; i++) {
    faro_moments *all = &d->slice[0][i % 2];
    const faro_moments *m = &d->slice[i / 2][i % 2];
    all->runs += m->runs;
    add(d->width, m->total, all->total);
    add(d->width, m->place, all->place);
    add(d->width, m->sample, all->sample);
    add(square_length(d), m->square, all->square);
  }
}

/* The covariance within each input, averaged over both. */
static void average_covariance(faro_discriminant *d) {
  memset(d->covariance, 0, square_length(d) * sizeof *d->covariance);
  for (int input = 0; input < 2; input++) {
    const faro_moments *m = &d->slice[0][input];
    const double n = (double)m->runs * (double)d->sampled;
    double *out = d->covariance;
    const double *square = m->square;
    for (size_t i = 0; i < d->width; i++)
      for (size_t j = d->full ? 0 : i; j <= i; j++)
        *out++ += (*square++ / n - m->sample[i] / n * (m->sample[j] / n)) / 2;
  }
}

/* Keeps the matrix factorable, with a large weight, if part of the view has no noise. */
static void add_ridge(faro_discriminant *d) {
  for (size_t i = 0; i < d->width; i++) {
    double *variance = &d->covariance[d->full ? faro_diagonal(i) : i];
    const double size = fmax(fabs(d->origin[i]), fabs(d->centre[i]));
    *variance = fmax(*variance, 0) * (1 + 1e-9) + 1e-20 * size * size + 1e-30;
  }
}

static void keep_diagonal(const faro_discriminant *d, const double *difference, double *weight) {
  for (size_t i = 0; i < d->width; i++)
    weight[i] = difference[i] / d->covariance[d->full ? faro_diagonal(i) : i];
}

void faro_discriminant_learn(faro_discriminant *d) {
  const faro_moments *first = &d->slice[0][0];
  const faro_moments *second = &d->slice[0][1];
  merge(d);
  const double n0 = (double)first->runs;
  const double n1 = (double)second->runs;
  for (size_t i = 0; i < d->width; i++) {
    d->weight[i] = first->total[i] / n0 - second->total[i] / n1;
    d->place_weight[i] = first->place[i] / n0 - second->place[i] / n1;
    d->centre[i] = d->origin[i] + (first->sample[i] / n0 + second->sample[i] / n1) / (2 * (double)d->sampled);
  }
  average_covariance(d);
  add_ridge(d);
  const double samples = (n0 + n1) * (double)d->sampled;
  if (d->full && samples >= 4 * (double)d->width && faro_spd_factor(d->spd, d->covariance)) {
    faro_spd_solve(d->spd, d->weight, d->weight);
    faro_spd_solve(d->spd, d->place_weight, d->place_weight);
  } else {
    keep_diagonal(d, d->weight, d->weight);
    keep_diagonal(d, d->place_weight, d->place_weight);
  }
}

size_t faro_discriminant_scores(const faro_discriminant *d) { return d->messages == 1 ? 1 : SCORES; }

static double project(const faro_discriminant *d, const double *weight, const double *message) {
  double sum = 0;
  for (size_t i = 0; i < d->width; i++) sum += weight[i] * (message[i] - d->centre[i]);
  return sum;
}

static void score_batch(const faro_discriminant *d, const double *view, double score[static SCORES]) {
  double sum = 0;
  double least = INFINITY;
  double greatest = -INFINITY;
  for (size_t k = 0; k < d->messages; k++) {
    const double s = project(d, d->weight, view + k * d->width);
    sum += s;
    least = fmin(least, s);
    greatest = fmax(greatest, s);
  }
  score[SCORE_SUM] += sum;
  if (d->messages == 1) return;
  double above = 0; /* sums of exponentials, relative to the greatest of each */
  double below = 0;
  for (size_t k = 0; k < d->messages; k++) {
    const double s = project(d, d->weight, view + k * d->width);
    above += exp((s - greatest) / 2);
    below += exp((least - s) / 2);
  }
  score[SCORE_LARGEST] += greatest;
  score[SCORE_MIXTURE] += (greatest + least) / 2 + log(above) - log(below);
  score[SCORE_CONTRAST] += greatest + least - 2 * sum / (double)d->messages;
  score[SCORE_PLACE] += project(d, d->place_weight, view);
}

void faro_discriminant_score(const faro_discriminant *d, const double *view, double score[static SCORES]) {
  for (size_t k = 0; k < SCORES; k++) score[k] = 0;
  for (size_t b = 0; b < d->batches; b++) score_batch(d, view + b * d->messages * d->width, score);
}

const char *faro_score_name(size_t score) {
  static const char *const name[SCORES] = {[SCORE_SUM] = "sum",
                                           [SCORE_LARGEST] = "largest",
                                           [SCORE_MIXTURE] = "mixture",
                                           [SCORE_CONTRAST] = "contrast",
                                           [SCORE_PLACE] = "place"};
  return name[score];
}
