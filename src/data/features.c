/* features: see the header. Rahimi & Recht 2007, for an additive kernel. */
#include "data/features.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/decimal.h"
#include "base/text.h"
#include "data/inner.h"

enum { LEAST = 4, MOST = 32, MEMO = 1 << 12 };

static const double LOWEST = 0.8, HIGHEST = 8; /* frequencies */
static const double TURN = 6.283185307179586;
static const double CONSTANT = 0.2; /* share of the constant in ||phi||^2 */

typedef struct wave {
  size_t column; /* numbers first, then words */
  double frequency, phase;
} wave;

struct faro_features {
  faro_arena arena;
  size_t numbers, words, components;
  bool ranged;             /* numbers have ranges */
  double *centre, *factor; /* then scaled number = (x - centre) * factor, clipped to [-2, 2] */
  double *scaled;
  wave *wave;
  size_t *order;  /* of columns, in drawing */
  double *turn;   /* of columns: where in the range of frequencies the next one is */
  uint64_t key;   /* of the words' phases */
  uint64_t *memo; /* words whose features are in `kept`, by their last bits; 0: none */
  double *kept;   /* `components` numbers each */
};

static size_t components_of(const faro_features_params *p) {
  if (p->components > 0) return p->components;
  const double arms = (double)(p->facts->arms > 0 ? p->facts->arms : 1);
  const double suits = round(sqrt((double)p->facts->rows / arms) / 2);
  const double most = p->most > 0 ? (double)p->most : MOST;
  return (size_t)fmin(most, fmax(LEAST, fmin(MOST, suits)));
}

size_t faro_features_count(const faro_features_params *p) { return components_of(p) + 1; }

/* ---- scaling */

static void set_range(faro_features *f, size_t i, double least, double most) {
  f->centre[i] = least / 2 + most / 2;
  f->factor[i] = most > least ? 4 / (most - least) : 0; /* a column that is constant says nothing */
}

/* "0..1", "-5 .. 5e3" */
static bool read_range(faro_span text, double *least, double *most) {
  for (size_t i = 1; i + 2 < text.length; i++) {
    if (text.text[i] != '.' || text.text[i + 1] != '.') continue;
    size_t left = i;
    size_t right = i + 2;
    while (left > 0 && text.text[left - 1] == ' ') left--;
    while (right < text.length && text.text[right] == ' ') right++;
    return faro_decimal(text.text, left, least) &&
           faro_decimal(text.text + right, text.length - right, most) && *least < *most;
  }
  return false;
}

static faro_status declare(faro_features *f, const char *list, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  faro_span range;
  size_t count = 0;
  double least = 0;
  double most = 0;
  for (const char *rest = list ? list : ""; faro_list_next(&rest, &range); count++) {
    if (!read_range(range, &least, &most))
      return faro_fail(error, FARO_INVALID, "ranges must be like 0..1, the least first (got \"%s\")",
                       faro_shorten(range.text, range.length, shown));
    if (count < f->numbers) set_range(f, count, least, most);
  }
  for (size_t i = 1; count == 1 && i < f->numbers; i++) set_range(f, i, least, most);
  if (count == 1 || count == f->numbers) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "ranges must be one for all numbers, or one for each of the %zu (got %zu)", f->numbers,
                   count);
}

static faro_status scale(faro_features *f, const faro_features_params *p, faro_error *error) {
  if (p->ranges && *p->ranges && p->scaling != FARO_SCALING_DECLARED)
    return faro_fail(error, FARO_INVALID, "ranges must not be given unless scaling is declared");
  if (p->scaling == FARO_SCALING_DECLARED) return declare(f, p->ranges, error);
  for (size_t i = 0; f->ranged && i < f->numbers; i++) set_range(f, i, p->facts->least[i], p->facts->most[i]);
  return FARO_OK;
}

/* ---- making it */

static faro_status make(faro_features *f, const faro_features_params *p, faro_error *error) {
  const size_t n = f->numbers + 1;
  const size_t columns = f->numbers + f->words + 1;
  f->centre = faro_arena_alloc(&f->arena, n, sizeof *f->centre, error);
  f->factor = faro_arena_alloc(&f->arena, n, sizeof *f->factor, error);
  f->scaled = faro_arena_alloc(&f->arena, n, sizeof *f->scaled, error);
  f->wave = faro_arena_alloc(&f->arena, f->components, sizeof *f->wave, error);
  f->order = faro_arena_alloc(&f->arena, columns, sizeof *f->order, error);
  f->turn = faro_arena_alloc(&f->arena, columns, sizeof *f->turn, error);
  f->memo = faro_arena_alloc(&f->arena, f->words ? MEMO : 1, sizeof *f->memo, error);
  f->kept = faro_arena_alloc(&f->arena, f->words ? MEMO * f->components : 1, sizeof *f->kept, error);
  const bool made =
      f->centre && f->factor && f->scaled && f->wave && f->order && f->turn && f->memo && f->kept;
  return made ? scale(f, p, error) : FARO_MEMORY;
}

faro_status faro_features_create(faro_features **features, const faro_features_params *p, faro_error *error) {
  faro_arena arena = {0};
  faro_features *f = faro_arena_alloc(&arena, 1, sizeof *f, error);
  if (!f) return FARO_MEMORY;
  *f = (faro_features){.arena = arena,
                       .numbers = p->facts->numbers,
                       .words = p->facts->words,
                       .components = components_of(p),
                       .ranged = p->scaling != FARO_SCALING_NONE};
  const faro_status status = make(f, p, error);
  if (status == FARO_OK) *features = f;
  else faro_features_destroy(f);
  return status;
}

void faro_features_destroy(faro_features *f) {
  if (!f) return;
  faro_arena arena = f->arena;
  faro_arena_free(&arena);
}

/* ---- drawing it */

/* A random order of the columns. */
static void shuffle(faro_features *f, size_t columns, faro_sim_rng *sim) {
  for (size_t i = 0; i < columns; i++) f->order[i] = i;
  for (size_t i = columns; i > 1; i--) {
    const size_t j = (size_t)(faro_sim_uniform(sim) * (double)i);
    const size_t swapped = f->order[i - 1];
    f->order[i - 1] = f->order[j];
    f->order[j] = swapped;
  }
}

/* The frequencies of a column are spread evenly: steps of the golden ratio, from a random start. */
static double next_frequency(faro_features *f, size_t column) {
  f->turn[column] += 0.6180339887498949;
  f->turn[column] -= floor(f->turn[column]);
  return LOWEST * pow(HIGHEST / LOWEST, f->turn[column]);
}

void faro_features_draw(faro_features *f, faro_sim_rng *sim) {
  const size_t columns = f->numbers + f->words;
  for (size_t i = 0; i < columns; i++) f->turn[i] = faro_sim_uniform(sim);
  for (size_t j = 0; columns > 0 && j < f->components; j++) {
    if (j % columns == 0) shuffle(f, columns, sim);
    const size_t column = f->order[j % columns];
    f->wave[j] = (wave){
        .column = column, .frequency = next_frequency(f, column), .phase = TURN * faro_sim_uniform(sim)};
  }
  f->key = faro_rng_next(&sim->rng);
  if (f->words) memset(f->memo, 0, MEMO * sizeof *f->memo);
}

/* What a word contributes to each feature of its column. Those seen lately are kept: a column has
 * few words, mostly. */
static const double *word_features(faro_features *f, uint64_t word) {
  const uint64_t name = word ? word : 1; /* 0: an empty place */
  const size_t place = name & (MEMO - 1);
  double *kept = f->kept + place * f->components;
  if (f->memo[place] == name) return kept;
  faro_sim_rng sim;
  faro_sim_open(&sim, f->key, name, FARO_ROLE_DIRECTION);
  for (size_t j = 0; j < f->components; j++) kept[j] = faro_sim_uniform(&sim) < 0.5 ? -1 : 1;
  f->memo[place] = name;
  return kept;
}

size_t faro_features_beyond(const faro_features *f, const faro_rows_facts *facts) {
  const double tolerance = 2 * (1 + 1e-9);
  size_t count = 0;
  for (size_t i = 0; f->ranged && i < f->numbers; i++)
    count += (facts->most[i] - f->centre[i]) * f->factor[i] > tolerance ||
             (f->centre[i] - facts->least[i]) * f->factor[i] > tolerance;
  return count;
}

/* ---- applying it */

static void scale_numbers(faro_features *f, const double *number) {
  for (size_t i = 0; i < f->numbers; i++)
    f->scaled[i] =
        f->ranged ? fmax(-2, fmin(2, (number[i] - f->centre[i]) * f->factor[i])) : asinh(number[i]);
}

void faro_features_apply(faro_features *f, const double *number, const uint64_t *word, double *phi) {
  const size_t m = f->components;
  const bool empty = f->numbers + f->words == 0;
  const double factor = sqrt((1 - CONSTANT) / (double)m);
  double square = CONSTANT;
  scale_numbers(f, number);
  for (size_t j = 0; j < m; j++) {
    const wave *w = &f->wave[j];
    if (w->column < f->numbers) phi[j] = sqrt(2) * cos(w->frequency * f->scaled[w->column] + w->phase);
    else phi[j] = empty ? 0 : word_features(f, word[w->column - f->numbers])[j];
    phi[j] *= factor;
    square += phi[j] * phi[j];
  }
  phi[m] = sqrt(CONSTANT);
  const double shrink = square > 1 ? (1 - 1e-15) / sqrt(square) : 1;
  for (size_t j = 0; j <= m; j++) phi[j] *= shrink;
}
