/* offers: see the header. */
#include "data/offers.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/inner.h"

/* The number that is called BASE@ARM; facts->numbers: none is. `base` has `length` bytes. */
static size_t find(const faro_rows_facts *f, const char *base, size_t length, size_t arm) {
  for (size_t i = 0; i < f->numbers; i++)
    if (strncmp(f->name[i], base, length) == 0 && f->name[i][length] == '@' &&
        strcmp(f->name[i] + length + 1, f->arm[arm]) == 0)
      return i;
  return f->numbers;
}

static faro_status bad_column(const faro_rows *rows, const char *name, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  return faro_fail(error, FARO_INVALID, "%s:1: column %s must have the name of an arm after the @",
                   faro_path_end(rows->path), faro_shorten(name, strlen(name), shown));
}

/* The columns of every arm for the base name of column i, which is one of arm 0. */
static faro_status add_base(faro_offers *o, const faro_rows *rows, const char *name, size_t length,
                            faro_error *error) {
  const faro_rows_facts *f = &rows->facts;
  for (size_t a = 0; a < f->arms; a++) {
    const size_t found = find(f, name, length, a);
    if (found == f->numbers)
      return faro_fail(error, FARO_INVALID, "%s:1: column %.*s@%s is missing: every arm must have one",
                       faro_path_end(rows->path), (int)(length < 60 ? length : 60), name, f->arm[a]);
    o->column[o->common + a * (f->numbers - o->common) / f->arms + o->own] = found;
  }
  o->own++;
  return FARO_OK;
}

static faro_status add_columns(faro_offers *o, const faro_rows *rows, faro_error *error) {
  const faro_rows_facts *f = &rows->facts;
  for (size_t i = 0; i < f->numbers; i++)
    if (!strrchr(f->name[i], '@')) o->column[o->common++] = i;
  for (size_t i = 0; i < f->numbers; i++) {
    const char *at = strrchr(f->name[i], '@');
    size_t arm = 0;
    if (!at) continue;
    while (arm < f->arms && strcmp(f->arm[arm], at + 1) != 0) arm++;
    if (arm == f->arms) return bad_column(rows, f->name[i], error);
    const size_t length = (size_t)(at - f->name[i]);
    if (arm > 0 && find(f, f->name[i], length, 0) < f->numbers) continue; /* with that of arm 0 */
    const faro_status status = add_base(o, rows, f->name[i], length, error);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

/* Names and ranges of an arm's row. */
static faro_status describe(faro_offers *o, const faro_rows_facts *f, faro_error *error) {
  const size_t numbers = o->common + o->own;
  double *least = faro_arena_alloc(&o->arena, numbers + 1, sizeof *least, error);
  double *most = faro_arena_alloc(&o->arena, numbers + 1, sizeof *most, error);
  o->number = faro_arena_alloc(&o->arena, numbers + 1, sizeof *o->number, error);
  if (!least || !most || !o->number) return FARO_MEMORY;
  for (size_t j = 0; j < numbers; j++) {
    least[j] = INFINITY;
    most[j] = -INFINITY;
    for (size_t a = 0; a < f->arms; a++) {
      const size_t i = o->column[j < o->common ? j : j + a * o->own];
      least[j] = fmin(least[j], f->least[i]);
      most[j] = fmax(most[j], f->most[i]);
    }
  }
  o->facts = *f;
  o->facts.numbers = numbers;
  o->facts.least = least;
  o->facts.most = most;
  o->facts.name = NULL;
  return FARO_OK;
}

faro_status faro_offers_create(faro_offers **offers, const faro_rows *rows, faro_error *error) {
  const faro_rows_facts *f = &rows->facts;
  bool any = false;
  for (size_t i = 0; i < f->numbers; i++) any |= strrchr(f->name[i], '@') != NULL;
  if (!any) return FARO_OK;
  faro_arena arena = {0};
  faro_offers *o = faro_arena_alloc(&arena, 1, sizeof *o, error);
  if (!o) return FARO_MEMORY;
  o->arena = arena;
  o->column = faro_arena_alloc(&o->arena, f->numbers + f->arms, sizeof *o->column, error);
  faro_status status = o->column ? add_columns(o, rows, error) : FARO_MEMORY;
  if (status == FARO_OK) status = describe(o, f, error);
  if (status == FARO_OK) *offers = o;
  else faro_offers_destroy(o);
  return status;
}

void faro_offers_destroy(faro_offers *o) {
  if (!o) return;
  faro_arena arena = o->arena;
  faro_arena_free(&arena);
}

const double *faro_offers_row(const faro_offers *o, const double *number, size_t arm) {
  const size_t *own = o->column + o->common + arm * o->own;
  for (size_t j = 0; j < o->common; j++) o->number[j] = number[o->column[j]];
  for (size_t j = 0; j < o->own; j++) o->number[o->common + j] = number[own[j]];
  return o->number;
}
