/* features: see the header. */
#include "data/features.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/decimal.h"
#include "base/text.h"
#include "data/inner.h"

enum { COMPONENTS = 8, MEMO = 1 << 12 };

struct faro_features {
  faro_arena arena;
  size_t numbers, words, components;
  bool plain;              /* z has the numbers themselves */
  double *centre, *factor; /* scaled number = (x - centre) * factor, clipped to [-1, 1] */
  double *scaled;
  double *matrix; /* one row of `components` per number */
  uint64_t key;   /* of the words' directions */
  uint64_t *memo; /* words whose directions are in `direction`, by their last bits; 0: none */
  double *direction;
};

static size_t components_of(const faro_features_params *p) {
  if (p->components > 0) return p->components;
  return p->facts->words == 0 && p->facts->numbers <= COMPONENTS ? p->facts->numbers : COMPONENTS;
}

size_t faro_features_count(const faro_features_params *p) { return components_of(p) + 1; }

/* ---- scaling */

static void set_range(faro_features *f, size_t i, double least, double most) {
  f->centre[i] = least / 2 + most / 2;
  f->factor[i] = most > least ? 2 / (most - least) : 0; /* a column that is constant says nothing */
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
  for (size_t i = 0; i < f->numbers; i++) {
    if (p->scaling == FARO_SCALING_NONE) set_range(f, i, -1, 1);
    else set_range(f, i, p->facts->least[i], p->facts->most[i]);
  }
  return FARO_OK;
}

/* ---- making it */

static faro_status make(faro_features *f, const faro_features_params *p, faro_error *error) {
  const size_t n = f->numbers + 1;
  f->centre = faro_arena_alloc(&f->arena, n, sizeof *f->centre, error);
  f->factor = faro_arena_alloc(&f->arena, n, sizeof *f->factor, error);
  f->scaled = faro_arena_alloc(&f->arena, n, sizeof *f->scaled, error);
  f->matrix = faro_arena_alloc(&f->arena, f->plain ? 1 : n * f->components, sizeof *f->matrix, error);
  f->memo = faro_arena_alloc(&f->arena, f->words ? MEMO : 1, sizeof *f->memo, error);
  f->direction =
      faro_arena_alloc(&f->arena, f->words ? MEMO * f->components : 1, sizeof *f->direction, error);
  if (!f->centre || !f->factor || !f->scaled || !f->matrix || !f->memo || !f->direction) return FARO_MEMORY;
  return scale(f, p, error);
}

faro_status faro_features_create(faro_features **features, const faro_features_params *p, faro_error *error) {
  faro_arena arena = {0};
  faro_features *f = faro_arena_alloc(&arena, 1, sizeof *f, error);
  if (!f) return FARO_MEMORY;
  const size_t components = components_of(p);
  *f = (faro_features){.arena = arena,
                       .numbers = p->facts->numbers,
                       .words = p->facts->words,
                       .components = components,
                       .plain = p->facts->words == 0 && p->facts->numbers <= components};
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

void faro_features_draw(faro_features *f, faro_sim_rng *sim) {
  const double sd = 1 / sqrt((double)f->components);
  for (size_t i = 0; !f->plain && i < f->numbers * f->components; i++)
    f->matrix[i] = sd * faro_sim_normal(sim);
  f->key = faro_rng_next(&sim->rng);
  if (f->words) memset(f->memo, 0, MEMO * sizeof *f->memo);
}

static void draw_direction(const faro_features *f, uint64_t word, double *out) {
  const double sd = 1 / sqrt((double)f->components);
  faro_sim_rng sim;
  faro_sim_open(&sim, f->key, word, FARO_ROLE_DIRECTION);
  for (size_t i = 0; i < f->components; i++) out[i] = sd * faro_sim_normal(&sim);
}

/* The direction of a word. Those seen lately are kept: a column has few words, mostly. */
static const double *direction_of(faro_features *f, uint64_t word) {
  const uint64_t name = word ? word : 1; /* 0: an empty place */
  const size_t place = name & (MEMO - 1);
  double *kept = f->direction + place * f->components;
  if (f->memo[place] != name) draw_direction(f, name, kept);
  f->memo[place] = name;
  return kept;
}

/* ---- applying it */

static void scale_numbers(faro_features *f, const double *number) {
  for (size_t i = 0; i < f->numbers; i++)
    f->scaled[i] = fmax(-1, fmin(1, (number[i] - f->centre[i]) * f->factor[i]));
}

static void add(double *z, double weight, const double *direction, size_t n) {
  for (size_t i = 0; i < n; i++) z[i] += weight * direction[i];
}

void faro_features_apply(faro_features *f, const double *number, const uint64_t *word, double *phi) {
  const size_t c = f->components;
  const double weight = 1 / sqrt((double)(f->numbers + f->words)); /* so that ||z|| is about 1 at most */
  double square = 0;
  memset(phi, 0, c * sizeof *phi);
  scale_numbers(f, number);
  for (size_t i = 0; i < f->numbers; i++) {
    if (f->plain) phi[i] = weight * f->scaled[i];
    else add(phi, weight * f->scaled[i], f->matrix + i * c, c);
  }
  for (size_t i = 0; i < f->words; i++) add(phi, weight, direction_of(f, word[i]), c);
  for (size_t i = 0; i < c; i++) square += phi[i] * phi[i];
  const double shrink = (square > 1 ? 1 / sqrt(square) : 1) * 0.7071067811865475;
  for (size_t i = 0; i < c; i++) phi[i] *= shrink;
  phi[c] = 0.7071067811865475; /* 1 / sqrt(2) */
}
