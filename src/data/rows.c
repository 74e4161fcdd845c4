/* rows: opening a file (columns, then a first pass over all rows) and reading it row by row. */
#include <faro/rows.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/text.h"
#include "data/inner.h"

/* ---- a reader */

static faro_status make_reader(faro_row_reader **reader, faro_rows *rows, faro_error *error) {
  faro_arena arena = {0};
  faro_row_reader *r = faro_arena_alloc(&arena, 1, sizeof *r, error);
  if (!r) return FARO_MEMORY;
  const size_t numbers = rows->libsvm ? FARO_ROWS_COLUMNS_MAX : rows->facts.numbers;
  *r = (faro_row_reader){.rows = rows, .source = {.file = -1}};
  faro_status status = faro_source_open(&r->source, rows->path, &arena, error);
  r->number = faro_arena_alloc(&arena, numbers + 1, sizeof *r->number, error);
  r->reward = faro_arena_alloc(&arena, rows->arms.count + 1, sizeof *r->reward, error);
  r->word = faro_arena_alloc(&arena, rows->facts.words + 1, sizeof *r->word, error);
  r->scratch = faro_arena_alloc(&arena, FARO_ROWS_LINE_MAX + 1, 1, error);
  r->touched = faro_arena_alloc(&arena, rows->libsvm ? numbers : 1, sizeof *r->touched, error);
  if (status == FARO_OK && (!r->number || !r->reward || !r->word || !r->scratch || !r->touched))
    status = FARO_MEMORY;
  r->arena = arena;
  if (status != FARO_OK) {
    faro_row_reader_destroy(r);
    return status;
  }
  r->row = (faro_row){.number = r->number,
                      .word = r->word,
                      .propensity = 1,
                      .reward = rows->facts.form == FARO_ROWS_CLASSES ? NULL : r->reward};
  *reader = r;
  return FARO_OK;
}

void faro_row_reader_destroy(faro_row_reader *r) {
  if (!r) return;
  faro_source_close(&r->source);
  faro_arena arena = r->arena;
  faro_arena_free(&arena);
}

static bool stamp_of(int file, faro_stamp *stamp) {
  struct stat about;
  if (fstat(file, &about) != 0) return false;
  *stamp = (faro_stamp){.device = about.st_dev,
                        .node = about.st_ino,
                        .size = (uint64_t)about.st_size,
                        .seconds = about.st_mtim.tv_sec,
                        .nanoseconds = about.st_mtim.tv_nsec};
  return true;
}

faro_status faro_row_unchanged(const faro_row_reader *r, faro_error *error) {
  faro_stamp now = {0};
  if (stamp_of(r->source.file, &now) && memcmp(&now, &r->rows->stamp, sizeof now) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s: has changed since it was opened", faro_path_end(r->source.path));
}

/* A line that is empty is no row at the end of the file, and a fault before it. */
static faro_status skip_empty(faro_row_reader *r, faro_span *line, faro_error *error) {
  const uint64_t first = r->source.line;
  while (line->text && line->length == 0) {
    const faro_status status = faro_source_line(&r->source, !r->rows->libsvm, line, error);
    if (status != FARO_OK) return status;
  }
  if (!line->text) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s:%llu: must be a row (got an empty line)",
                   faro_path_end(r->source.path), (unsigned long long)first);
}

faro_status faro_row_next(faro_row_reader *r, const faro_row **row, faro_error *error) {
  faro_span line;
  faro_status status = faro_source_line(&r->source, !r->rows->libsvm, &line, error);
  if (status == FARO_OK && line.text && line.length == 0 && (r->rows->libsvm || r->rows->columns > 1))
    status = skip_empty(r, &line, error);
  if (status != FARO_OK) return status;
  *row = NULL;
  if (!line.text) {
    if (r->next == r->rows->facts.rows || r->source.hash) return faro_row_unchanged(r, error);
    return faro_fail(error, FARO_INVALID, "%s: has changed while it was read: its rows were %llu",
                     faro_path_end(r->source.path), (unsigned long long)r->rows->facts.rows);
  }
  r->row.line = r->source.line;
  r->row.person = r->next;
  status = r->rows->libsvm ? faro_libsvm_row(r, line, error) : faro_csv_row(r, line, error);
  if (status != FARO_OK) return status;
  r->next++;
  *row = &r->row;
  return FARO_OK;
}

uint64_t faro_row_seek(faro_row_reader *r, size_t block) {
  const faro_rows *rows = r->rows;
  const faro_block *b = &rows->block[block];
  const uint64_t end = block + 1 < rows->facts.blocks ? b[1].row : rows->facts.rows;
  faro_source_seek(&r->source, b->offset, b->line);
  r->next = b->row;
  return end - b->row;
}

/* ---- the file */

static faro_status choose_format(faro_rows *rows, const faro_rows_params *p, faro_error *error) {
  const char *dot = strrchr(p->file, '.');
  rows->libsvm = p->format == FARO_ROWS_LIBSVM;
  if (p->format != FARO_ROWS_AUTO) return FARO_OK;
  rows->libsvm = dot && (strcasecmp(dot, ".svm") == 0 || strcasecmp(dot, ".libsvm") == 0);
  if (rows->libsvm || (dot && strcasecmp(dot, ".csv") == 0)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "format must be csv or libsvm where the file's name does not end in .csv, .svm or .libsvm "
                   "(got %s)",
                   faro_path_end(p->file));
}

static faro_status check_range(faro_rows *rows, const faro_rows_params *p, faro_error *error) {
  rows->facts.low = p->low;
  rows->facts.high = p->low == 0 && p->high == 0 ? 1 : p->high;
  if (isfinite(p->low) && isfinite(rows->facts.high) && rows->facts.low < rows->facts.high) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "low must be below high, both finite (got %g and %g)", p->low,
                   p->high);
}

/* The header line, after the byte order mark that some programs write. */
static faro_status read_header(faro_rows *rows, const faro_rows_params *p, faro_error *error) {
  faro_arena arena = {0};
  faro_source_file source;
  faro_span line = {0};
  faro_status status = faro_source_open(&source, rows->path, &arena, error);
  if (status == FARO_OK) status = faro_source_line(&source, true, &line, error);
  if (status == FARO_OK && !line.text)
    status = faro_fail(error, FARO_INVALID,
                       "%s: must have a header line with the columns' names (the file is empty)",
                       faro_path_end(rows->path));
  if (status == FARO_OK && line.length >= 3 && memcmp(line.text, "\xEF\xBB\xBF", 3) == 0)
    line = (faro_span){line.text + 3, line.length - 3};
  if (status == FARO_OK && line.length == 0)
    status =
        faro_fail(error, FARO_INVALID, "%s:1: must be a header line with the columns' names (it is empty)",
                  faro_path_end(rows->path));
  if (status == FARO_OK) status = faro_columns_read(rows, p, line, error);
  faro_source_close(&source);
  faro_arena_free(&arena);
  return status;
}

/* ---- the first pass */

/* A row begins. Blocks are at most BLOCKS_MAX: when there are too many, every second one is
 * dropped. */
static void mark(faro_rows *rows, const faro_row_reader *r, uint64_t row) {
  if (row % rows->stride != 0) return;
  if (rows->facts.blocks == FARO_ROWS_BLOCKS_MAX) {
    for (size_t i = 0; i < FARO_ROWS_BLOCKS_MAX / 2; i++) rows->block[i] = rows->block[2 * i];
    rows->facts.blocks = FARO_ROWS_BLOCKS_MAX / 2;
    rows->stride *= 2;
    if (row % rows->stride != 0) return;
  }
  rows->block[rows->facts.blocks++] =
      (faro_block){.offset = r->source.start, .line = r->source.line, .row = row};
}

static void widen(faro_rows *rows, const faro_row_reader *r) {
  size_t count = rows->facts.numbers;
  if (rows->libsvm) {
    for (size_t i = 0; i < r->touches; i++) {
      const size_t j = r->touched[i];
      rows->least[j] = fmin(rows->least[j], r->number[j]);
      rows->most[j] = fmax(rows->most[j], r->number[j]);
      if (j >= rows->facts.numbers) rows->facts.numbers = j + 1;
    }
    return; /* from 0: what is not there is 0 */
  }
  for (size_t j = 0; j < count; j++) {
    const double x = r->number[j];
    rows->least[j] = x < rows->least[j] ? x : rows->least[j];
    rows->most[j] = x > rows->most[j] ? x : rows->most[j];
  }
}

static faro_status pass(faro_rows *rows, faro_row_reader *r, faro_error *error) {
  crypto_generichash_state hash;
  const faro_row *row = NULL;
  uint64_t count = 0;
  crypto_generichash_init(&hash, NULL, 0, sizeof rows->facts.digest);
  double sum = 0;     /* of rewards, ... */
  double inverse = 0; /* ... inverse propensities, ... */
  double weighed = 0; /* ... and their products */
  rows->facts.least_propensity = 1;
  r->source.hash = &hash;
  faro_span header;
  faro_status status =
      rows->libsvm ? FARO_OK
                   : faro_source_line(&r->source, true, &header, error); /* read again, for the hash */
  while (status == FARO_OK && (status = faro_row_next(r, &row, error)) == FARO_OK && row) {
    mark(rows, r, count++);
    widen(rows, r);
    if (rows->facts.form != FARO_ROWS_LOGGED) continue;
    if (row->propensity < rows->facts.least_propensity) rows->facts.least_propensity = row->propensity;
    sum += *row->reward;
    inverse += 1 / row->propensity;
    weighed += *row->reward / row->propensity;
  }
  rows->facts.rows = count;
  rows->facts.logged_reward = sum / (double)(count > 0 ? count : 1);
  rows->facts.uniform_reward = inverse > 0 ? weighed / inverse : 0;
  rows->facts.bytes = r->source.offset + r->source.filled;
  r->source.hash = NULL;
  crypto_generichash_final(&hash, rows->facts.digest, sizeof rows->facts.digest);
  return status;
}

static faro_status check_found(const faro_rows *rows, faro_error *error) {
  const faro_rows_facts *f = &rows->facts;
  const char *path = faro_path_end(rows->path);
  if (f->rows == 0)
    return faro_fail(error, FARO_INVALID, "%s: must have rows (it %s)", path,
                     rows->libsvm ? "is empty" : "has a header line only");
  if (f->numbers + f->words == 0 && f->form != FARO_ROWS_LOGGED)
    return faro_fail(error, FARO_INVALID, "%s: at least one row must have a feature", path);
  if (rows->arms.count >= 2) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s: must have at least two arms (got %zu%s%s)", path,
                   rows->arms.count, rows->arms.count ? ": " : "",
                   rows->arms.count ? rows->arms.name[0] : "");
}

static faro_status survey(faro_rows *rows, faro_error *error) {
  faro_row_reader *reader = NULL;
  const size_t numbers = rows->libsvm ? FARO_ROWS_COLUMNS_MAX : rows->facts.numbers + 1;
  rows->stride = 1;
  rows->least = faro_arena_alloc(&rows->arena, numbers, sizeof *rows->least, error);
  rows->most = faro_arena_alloc(&rows->arena, numbers, sizeof *rows->most, error);
  if (!rows->least || !rows->most) return FARO_MEMORY;
  for (size_t j = 0; !rows->libsvm && j < numbers; j++) {
    rows->least[j] = INFINITY;
    rows->most[j] = -INFINITY;
  }
  faro_status status = make_reader(&reader, rows, error);
  if (status != FARO_OK) return status;
  if (!stamp_of(reader->source.file, &rows->stamp))
    status = faro_fail(error, FARO_SYSTEM, "%s: cannot be read", faro_path_end(rows->path));
  if (status == FARO_OK) status = pass(rows, reader, error);
  faro_row_reader_destroy(reader);
  return status == FARO_OK ? check_found(rows, error) : status;
}

/* libsvm has no names: the numbers are called by their indices. */
static faro_status name_indices(faro_rows *rows, faro_error *error) {
  enum { ROOM = 8 };
  if (!rows->libsvm) return FARO_OK;
  rows->name = faro_arena_alloc(&rows->arena, rows->facts.numbers, sizeof *rows->name, error);
  char *text = faro_arena_alloc(&rows->arena, rows->facts.numbers, ROOM, error);
  if (!rows->name || !text) return FARO_MEMORY;
  for (size_t i = 0; i < rows->facts.numbers; i++) {
    snprintf(text + i * ROOM, ROOM, "%u", (unsigned)(i + 1));
    rows->name[i] = text + i * ROOM;
  }
  return FARO_OK;
}

static faro_status build(faro_rows *rows, const faro_rows_params *p, faro_error *error) {
  if (!p->file || !*p->file) return faro_fail(error, FARO_INVALID, "file must be given");
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  rows->spare = p->spare;
  rows->path = faro_arena_strdup(&rows->arena, p->file, error);
  if (!rows->path) return FARO_MEMORY;
  faro_status status = choose_format(rows, p, error);
  if (status == FARO_OK) status = check_range(rows, p, error);
  if (status == FARO_OK) status = faro_columns_classes(rows, p, error);
  if (status == FARO_OK && !rows->libsvm) status = read_header(rows, p, error);
  if (status == FARO_OK) status = survey(rows, error);
  if (status == FARO_OK) status = name_indices(rows, error);
  if (status != FARO_OK) return status;
  if (rows->open) faro_names_sort(&rows->arms);
  rows->open = false;
  rows->facts.arms = rows->arms.count;
  rows->facts.arm = (const char *const *)rows->arms.name;
  rows->facts.name = rows->name;
  rows->facts.least = rows->least;
  rows->facts.most = rows->most;
  return FARO_OK;
}

faro_status faro_rows_open(faro_rows **rows, const faro_rows_params *params, faro_error *error) {
  faro_arena arena = {0};
  faro_rows *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  made->arena = arena;
  const faro_status status = build(made, params, error);
  if (status == FARO_OK) *rows = made;
  else faro_rows_close(made);
  return status;
}

void faro_rows_close(faro_rows *rows) {
  if (!rows) return;
  faro_arena arena = rows->arena;
  faro_arena_free(&arena);
}

const faro_rows_facts *faro_rows_facts_of(const faro_rows *rows) { return &rows->facts; }

faro_status faro_row_reader_create(faro_row_reader **reader, const faro_rows *rows, faro_error *error) {
  faro_row_reader *made = NULL;
  faro_status status = make_reader(&made, (faro_rows *)rows, error); /* open is false: not changed */
  if (status != FARO_OK) return status;
  status = faro_row_unchanged(made, error);
  if (status != FARO_OK) {
    faro_row_reader_destroy(made);
    return status;
  }
  (void)faro_row_seek(made, 0);
  *reader = made;
  return FARO_OK;
}
