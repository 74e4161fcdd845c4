/* table: see the header. */
#include "data/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "data/inner.h"

enum { PERSON, ARM, PROPENSITY, NUMBERS, BUFFER_BYTES = 64 << 20, BUFFER_ROWS = 1 << 16 };

/* ---- records */

static void pack(const faro_table *t, const faro_row *row, uint64_t *record) {
  const faro_rows_facts *f = t->facts;
  record[PERSON] = row->person;
  record[ARM] = row->arm;
  memcpy(&record[PROPENSITY], &row->propensity, sizeof row->propensity);
  memcpy(&record[NUMBERS], row->number, f->numbers * sizeof *row->number);
  memcpy(&record[NUMBERS + f->numbers], row->word, f->words * sizeof *row->word);
  if (t->rewards)
    memcpy(&record[NUMBERS + f->numbers + f->words], row->reward, t->rewards * sizeof *row->reward);
}

static void unpack(const faro_table *t, const uint64_t *record, faro_row *row) {
  const faro_rows_facts *f = t->facts;
  const uint64_t *at = record + NUMBERS;
  row->person = record[PERSON];
  row->arm = (size_t)record[ARM];
  memcpy(&row->propensity, &record[PROPENSITY], sizeof row->propensity);
  row->number = (const double *)(const void *)at;
  row->word = at + f->numbers;
  row->reward = t->rewards ? (const double *)(const void *)(at + f->numbers + f->words) : NULL;
}

/* ---- who is who */

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a;
  const uint64_t y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Replaces the hashes of persons by 0 .. people - 1, and counts. */
static faro_status number_people(faro_table *t, faro_error *error) {
  const uint64_t rows = t->facts->rows;
  uint64_t *sorted = malloc(rows * sizeof *sorted);
  if (!sorted) return faro_fail(error, FARO_MEMORY, "cannot allocate %llu persons", (unsigned long long)rows);
  for (uint64_t i = 0; i < rows; i++) sorted[i] = t->record[i * t->width + PERSON];
  qsort(sorted, rows, sizeof *sorted, by_number);
  t->people = t->visits = 0;
  for (uint64_t i = 0, first = 0; i < rows; i++) {
    if (sorted[i] != sorted[first]) first = i;
    if (i + 1 - first > t->visits) t->visits = i + 1 - first;
    if (i == first) sorted[t->people++] = sorted[i]; /* never ahead of what is still to be read */
  }
  for (uint64_t i = 0; i < rows; i++) {
    uint64_t *person = &t->record[i * t->width + PERSON];
    const uint64_t *found = bsearch(person, sorted, t->people, sizeof *sorted, by_number);
    *person = (uint64_t)(found - sorted);
  }
  free(sorted);
  return FARO_OK;
}

/* ---- opening */

static faro_status keep_rows(faro_table *t, faro_error *error) {
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  t->record = malloc(t->facts->rows * t->width * sizeof *t->record);
  if (!t->record)
    return faro_fail(error, FARO_MEMORY, "cannot allocate %llu rows", (unsigned long long)t->facts->rows);
  faro_status status = faro_row_reader_create(&reader, t->rows, error);
  for (uint64_t i = 0; status == FARO_OK && i < t->facts->rows; i++) {
    status = faro_row_next(reader, &row, error);
    if (status == FARO_OK && !row)
      status =
          faro_fail(error, FARO_INVALID, "%s: has changed while it was read", faro_path_end(t->rows->path));
    if (status == FARO_OK) pack(t, row, t->record + i * t->width);
  }
  if (status == FARO_OK) status = faro_row_unchanged(reader, error);
  faro_row_reader_destroy(reader);
  return status;
}

static bool names_people(const faro_rows_params *params) { return params->person && *params->person; }

static faro_status fill(faro_table *t, const faro_rows_params *params, uint64_t memory, faro_error *error) {
  const faro_rows_facts *f = t->facts;
  const bool fits = f->rows <= memory / (t->width * sizeof *t->record) && f->rows <= UINT32_MAX;
  t->people = f->rows;
  t->visits = 1;
  if (!fits && names_people(params))
    return faro_fail(
        error, FARO_INVALID,
        "person must be left out, or memory be larger: who returns is only known of files that fit "
        "into memory, and %s would take %llu MiB",
        faro_path_end(params->file), (unsigned long long)(f->rows * t->width * sizeof *t->record >> 20) + 1);
  const faro_status status = fits ? keep_rows(t, error) : FARO_OK;
  return status == FARO_OK && names_people(params) ? number_people(t, error) : status;
}

faro_status faro_table_open(faro_table **table, const faro_rows_params *params, uint64_t memory,
                            faro_error *error) {
  faro_table *t = calloc(1, sizeof *t);
  if (!t) return faro_fail(error, FARO_MEMORY, "cannot allocate a table");
  faro_status status = faro_rows_open(&t->rows, params, error);
  if (status == FARO_OK) {
    t->facts = faro_rows_facts_of(t->rows);
    t->rewards = t->facts->form == FARO_ROWS_REWARDS ? t->facts->arms : t->facts->form == FARO_ROWS_LOGGED;
    t->width = NUMBERS + t->facts->numbers + t->facts->words + t->rewards;
    t->least_propensity = t->facts->least_propensity;
    status = fill(t, params, memory, error);
  }
  if (status == FARO_OK) *table = t;
  else faro_table_close(t);
  return status;
}

void faro_table_close(faro_table *t) {
  if (!t) return;
  free(t->record);
  faro_rows_close(t->rows);
  free(t);
}

bool faro_table_count(const faro_table *t, uint64_t *rows) {
  if (!t->record || t->facts->form == FARO_ROWS_REWARDS) return false;
  memset(rows, 0, t->facts->arms * sizeof *rows);
  for (uint64_t i = 0; i < t->facts->rows; i++) rows[t->record[i * t->width + ARM]]++;
  return true;
}

/* ---- cursors */

struct faro_cursor {
  faro_arena arena;
  const faro_table *table;
  bool shuffled;
  uint64_t next; /* rows handed out in this order */
  faro_row row;
  uint32_t *order; /* kept rows: those before `next` are handed out */
  /* Rows that are read again. */
  faro_row_reader *reader;
  uint32_t *block; /* in this order */
  size_t blocks;   /* begun */
  uint64_t left;   /* rows of the block that are still to be read */
  uint64_t *buffer, *out;
  size_t room, held; /* records in the buffer */
  faro_error error;
};

static uint64_t below(faro_sim_rng *sim, uint64_t n) { return (uint64_t)(faro_sim_uniform(sim) * (double)n); }

static faro_status make_cursor(faro_cursor *c, faro_error *error) {
  const faro_table *t = c->table;
  const size_t blocks = t->facts->blocks;
  if (t->record) {
    c->order = faro_arena_alloc(&c->arena, c->shuffled ? t->facts->rows : 1, sizeof *c->order, error);
    return c->order ? FARO_OK : FARO_MEMORY;
  }
  c->room = BUFFER_BYTES / (t->width * sizeof *c->buffer);
  if (c->room > BUFFER_ROWS) c->room = BUFFER_ROWS;
  if (c->room < 1 || !c->shuffled) c->room = 1;
  c->block = faro_arena_alloc(&c->arena, blocks, sizeof *c->block, error);
  c->buffer = faro_arena_alloc(&c->arena, c->room * t->width, sizeof *c->buffer, error);
  c->out = faro_arena_alloc(&c->arena, t->width, sizeof *c->out, error);
  if (!c->block || !c->buffer || !c->out) return FARO_MEMORY;
  return faro_row_reader_create(&c->reader, t->rows, error);
}

faro_status faro_cursor_create(faro_cursor **cursor, const faro_table *table, bool shuffled,
                               faro_error *error) {
  faro_arena arena = {0};
  faro_cursor *c = faro_arena_alloc(&arena, 1, sizeof *c, error);
  if (!c) return FARO_MEMORY;
  *c = (faro_cursor){.arena = arena, .table = table, .shuffled = shuffled};
  const faro_status status = make_cursor(c, error);
  if (status == FARO_OK) *cursor = c;
  else faro_cursor_destroy(c);
  return status;
}

void faro_cursor_destroy(faro_cursor *c) {
  if (!c) return;
  faro_row_reader_destroy(c->reader);
  faro_arena arena = c->arena;
  faro_arena_free(&arena);
}

static void permute(uint32_t *order, size_t n, bool shuffled, faro_sim_rng *sim) {
  for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
  for (size_t i = n; shuffled && i > 1; i--) {
    const size_t j = (size_t)below(sim, i);
    const uint32_t swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
}

void faro_cursor_begin(faro_cursor *c, faro_sim_rng *sim) {
  c->next = 0;
  if (c->table->record) {
    if (c->shuffled) permute(c->order, c->table->facts->rows, false, sim); /* shuffled as rows leave */
    return;
  }
  permute(c->block, c->table->facts->blocks, c->shuffled, sim);
  c->blocks = 0;
  c->left = 0;
  c->held = 0;
}

/* One step of Fisher and Yates: the next row is any of those that are left. */
static const uint64_t *next_kept(faro_cursor *c, faro_sim_rng *sim) {
  const faro_table *t = c->table;
  if (!c->shuffled) return t->record + c->next * t->width;
  const uint64_t j = c->next + below(sim, t->facts->rows - c->next);
  const uint32_t row = c->order[j];
  c->order[j] = c->order[c->next];
  c->order[c->next] = row;
  return t->record + row * t->width;
}

/* Reads the next row of the file, in the order of blocks, into `record`; false: there is none. */
static bool read_next(faro_cursor *c, uint64_t *record) {
  const faro_row *row = NULL;
  if (c->error.status != FARO_OK) return false;
  while (c->left == 0) {
    if (c->blocks == c->table->facts->blocks) return false;
    c->left = faro_row_seek(c->reader, c->block[c->blocks++]);
  }
  c->left--;
  if (faro_row_next(c->reader, &row, &c->error) != FARO_OK) return false;
  if (!row)
    (void)faro_fail(&c->error, FARO_INVALID, "%s: has changed while it was read",
                    faro_path_end(c->table->rows->path));
  if (row) pack(c->table, row, record);
  return row != NULL;
}

/* A random row of the buffer leaves, and the next one of the file takes its place. */
static const uint64_t *next_read(faro_cursor *c, faro_sim_rng *sim) {
  const size_t width = c->table->width;
  while (c->held < c->room && read_next(c, c->buffer + c->held * width)) c->held++;
  if (c->held == 0) return c->out; /* the file cannot be read */
  uint64_t *place = c->buffer + (c->shuffled ? below(sim, c->held) : 0) * width;
  memcpy(c->out, place, width * sizeof *place);
  if (!read_next(c, place)) {
    c->held--;
    memmove(place, c->buffer + c->held * width, width * sizeof *place);
  }
  return c->out;
}

const faro_row *faro_cursor_next(faro_cursor *c, faro_sim_rng *sim) {
  if (c->next == c->table->facts->rows) {
    if (c->reader && c->error.status == FARO_OK) c->error.status = faro_row_unchanged(c->reader, &c->error);
    faro_cursor_begin(c, sim);
  }
  unpack(c->table, c->table->record ? next_kept(c, sim) : next_read(c, sim), &c->row);
  c->next++;
  return &c->row;
}

faro_status faro_cursor_status(const faro_cursor *c, faro_error *error) {
  if (c->error.status != FARO_OK) return faro_fail(error, c->error.status, "%s", c->error.message);
  return c->reader ? faro_row_unchanged(c->reader, error) : FARO_OK;
}
