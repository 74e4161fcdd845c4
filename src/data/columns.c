/* columns: the header of a CSV file, and the role of each column. Names are taken first, patterns
 * (`temp*`) then take what is left, and columns without a role are features unless these are
 * listed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/inner.h"

/* What a column can be, and which parameter says so. */
static const struct {
  const char *name;
  size_t offset;
  bool list;
} roles[FARO_COLUMN_ROLES] = {
    [FARO_COLUMN_LABEL] = {"label", offsetof(faro_rows_params, label), false},
    [FARO_COLUMN_REWARDS] = {"rewards", offsetof(faro_rows_params, rewards), true},
    [FARO_COLUMN_ACTION] = {"action", offsetof(faro_rows_params, action), false},
    [FARO_COLUMN_REWARD] = {"logged_reward", offsetof(faro_rows_params, reward), false},
    [FARO_COLUMN_PROPENSITY] = {"propensity", offsetof(faro_rows_params, propensity), false},
    [FARO_COLUMN_PERSON] = {"person", offsetof(faro_rows_params, person), false},
    [FARO_COLUMN_WORD] = {"words", offsetof(faro_rows_params, words), true},
    [FARO_COLUMN_NUMBER] = {"features", offsetof(faro_rows_params, features), true},
    [FARO_COLUMN_IGNORED] = {"ignore", offsetof(faro_rows_params, ignore), true},
};

static const char *listed(const faro_rows_params *params, faro_column_role role) {
  const char *text = NULL;
  memcpy(&text, (const char *)params + roles[role].offset, sizeof text);
  return text ? text : "";
}

bool faro_list_next(const char **list, faro_span *name) {
  if (!*list) return false;
  const char *comma = strchr(*list, ',');
  *name = faro_span_trim((faro_span){*list, comma ? (size_t)(comma - *list) : strlen(*list)});
  *list = comma ? comma + 1 : NULL;
  return name->length > 0 || *list;
}

/* ---- the header */

static faro_status bad_header(const faro_rows *rows, size_t column, const char *what, faro_error *error) {
  return faro_fail(error, FARO_INVALID, "%s:1: column %zu %s", faro_path_end(rows->path), column + 1, what);
}

static faro_status add_name(faro_rows *rows, faro_span name, char *copy, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  char what[200];
  if (name.length == 0)
    return bad_header(rows, rows->columns, "must have a name (for R: write.csv(..., row.names = FALSE))",
                      error);
  if (name.length > FARO_ROWS_NAME_MAX) {
    snprintf(what, sizeof what, "must have a name of at most %d bytes (got \"%s\")", FARO_ROWS_NAME_MAX,
             faro_shorten(name.text, name.length, shown));
    return bad_header(rows, rows->columns, what, error);
  }
  if (rows->columns == FARO_ROWS_COLUMNS_MAX)
    return faro_fail(error, FARO_INVALID, "%s:1: at most %d columns are allowed", faro_path_end(rows->path),
                     FARO_ROWS_COLUMNS_MAX);
  memcpy(copy, name.text, name.length);
  rows->column[rows->columns].name = copy;
  rows->column[rows->columns++].key = faro_names_hash(0, name);
  return FARO_OK;
}

static int by_name(const void *a, const void *b) {
  const faro_column *x = *(const faro_column *const *)a;
  const faro_column *y = *(const faro_column *const *)b;
  const int order = strcmp(x->name, y->name);
  return order ? order : x < y ? -1 : 1;
}

/* No name may come twice. */
static faro_status check_names(faro_rows *rows, faro_error *error) {
  faro_arena arena = {0};
  const faro_column **sorted = faro_arena_alloc(&arena, rows->columns, sizeof *sorted, error);
  const faro_column *twice = NULL;
  const faro_column *first = NULL;
  if (!sorted) return FARO_MEMORY;
  for (size_t i = 0; i < rows->columns; i++) sorted[i] = &rows->column[i];
  qsort(sorted, rows->columns, sizeof *sorted, by_name);
  for (size_t i = 1; i < rows->columns; i++)
    if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0 && (!twice || sorted[i] < twice)) {
      twice = sorted[i];
      first = sorted[i - 1];
    }
  faro_arena_free(&arena);
  if (!twice) return FARO_OK;
  char shown[FARO_SHORT_SIZE];
  return faro_fail(error, FARO_INVALID,
                   "%s:1: columns %td and %td have the same name (\"%s\"); names must differ",
                   faro_path_end(rows->path), first - rows->column + 1, twice - rows->column + 1,
                   faro_shorten(twice->name, strlen(twice->name), shown));
}

static faro_status read_names(faro_rows *rows, faro_span header, faro_error *error) {
  size_t commas = 1;
  for (size_t i = 0; i < header.length; i++) commas += header.text[i] == ',';
  if (commas > FARO_ROWS_COLUMNS_MAX) commas = FARO_ROWS_COLUMNS_MAX;
  rows->column = faro_arena_alloc(&rows->arena, commas, sizeof *rows->column, error);
  char *copy = faro_arena_alloc(&rows->arena, header.length + commas + 1, 1, error);
  char *scratch = faro_arena_alloc(&rows->arena, header.length + 1, 1, error);
  if (!rows->column || !copy || !scratch) return FARO_MEMORY;
  for (faro_span rest = header; rest.text;) {
    faro_span field;
    bool quoted = false;
    const char *fault = faro_csv_field(&rest, &field, &quoted);
    if (fault) return bad_header(rows, rows->columns, fault, error);
    const faro_span name = quoted ? faro_csv_plain(field, scratch) : faro_span_trim(field);
    const faro_status status = add_name(rows, name, copy, error);
    if (status != FARO_OK) return status;
    copy += name.length + 1;
  }
  return check_names(rows, error);
}

/* ---- roles */

/* The columns' names for a message: "a, b, c, ..." */
static const char *all_names(const faro_rows *rows, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t i = 0; i < rows->columns; i++) {
    char shown[FARO_SHORT_SIZE];
    const char *name = faro_shorten(rows->column[i].name, strlen(rows->column[i].name), shown);
    if (used + strlen(name) + 8 > size) {
      snprintf(out + used, size - used, ", ...");
      break;
    }
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name);
  }
  return out;
}

static faro_status no_column(const faro_rows *rows, faro_column_role role, faro_span name,
                             faro_error *error) {
  enum { NEAR = 200 };
  const char *names[NEAR];
  char word[FARO_ROWS_NAME_MAX + 1];
  char shown[FARO_SHORT_SIZE];
  char hint[FARO_HINT];
  char list[300];
  const size_t count = rows->columns < NEAR ? rows->columns : NEAR;
  for (size_t i = 0; i < count; i++) names[i] = rows->column[i].name;
  snprintf(word, sizeof word, "%.*s", (int)name.length, name.text);
  const bool star = name.length > 1 && memchr(name.text, '*', name.length - 1);
  const bool separated = rows->columns == 1 && strpbrk(rows->column[0].name, ";\t");
  return faro_fail(
      error, FARO_INVALID, "%s:1: %s must name a column of the file (got \"%s\")%s; %s%s",
      faro_path_end(rows->path), roles[role].name, faro_shorten(name.text, name.length, shown),
      star ? "; a * stands at the end of a name only: temp*" : faro_hint(word, names, count, hint),
      separated ? "columns must be separated by commas, and this header has: " : "its columns are: ",
      all_names(rows, list, sizeof list));
}

static faro_status two_roles(const faro_rows *rows, size_t i, faro_column_role role, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  const faro_column *column = &rows->column[i];
  return faro_fail(error, FARO_INVALID, "%s:1: column %zu (%s) must have one role (got %s and %s)",
                   faro_path_end(rows->path), i + 1, faro_shorten(column->name, strlen(column->name), shown),
                   roles[column->role].name, roles[role].name);
}

static bool is_pattern(faro_span name) { return name.length > 0 && name.text[name.length - 1] == '*'; }

static faro_status give_name(faro_rows *rows, faro_column_role role, faro_span name, size_t *slot,
                             faro_error *error) {
  for (size_t i = 0; i < rows->columns; i++) {
    faro_column *column = &rows->column[i];
    if (strlen(column->name) != name.length || memcmp(column->name, name.text, name.length) != 0) continue;
    if (column->role != FARO_COLUMN_FREE) return two_roles(rows, i, role, error);
    column->role = role;
    column->slot = (*slot)++;
    return FARO_OK;
  }
  return no_column(rows, role, name, error);
}

static faro_status give_pattern(faro_rows *rows, faro_column_role role, faro_span name, size_t *slot,
                                faro_error *error) {
  const size_t before = *slot;
  for (size_t i = 0; i < rows->columns; i++) {
    faro_column *column = &rows->column[i];
    if (column->role != FARO_COLUMN_FREE || strncmp(column->name, name.text, name.length - 1) != 0) continue;
    column->role = role;
    column->slot = (*slot)++;
  }
  const bool rest = name.length == 1; /* a * alone: whatever is left, if anything */
  return rest || *slot > before ? FARO_OK : no_column(rows, role, name, error);
}

static faro_status give(faro_rows *rows, const faro_rows_params *params, faro_column_role role, bool patterns,
                        size_t *slot, faro_error *error) {
  const char *list = listed(params, role);
  faro_span name;
  faro_status status = FARO_OK;
  if (!roles[role].list) { /* one name, which may have commas */
    if (patterns || *list == '\0') return FARO_OK;
    return give_name(rows, role, (faro_span){list, strlen(list)}, slot, error);
  }
  while (status == FARO_OK && faro_list_next(&list, &name))
    if (is_pattern(name) == patterns)
      status =
          patterns ? give_pattern(rows, role, name, slot, error) : give_name(rows, role, name, slot, error);
  return status;
}

/* The other columns: features, unless these are listed. */
static void give_rest(faro_rows *rows, const faro_rows_params *params, size_t *numbers) {
  const bool all = *listed(params, FARO_COLUMN_NUMBER) == '\0';
  for (size_t i = 0; i < rows->columns; i++) {
    faro_column *column = &rows->column[i];
    if (column->role != FARO_COLUMN_FREE) continue;
    column->role = all ? FARO_COLUMN_NUMBER : FARO_COLUMN_IGNORED;
    if (all) column->slot = (*numbers)++;
  }
}

/* ---- what the file is about */

static bool has(const faro_rows_params *params, faro_column_role role) {
  return *listed(params, role) != '\0';
}

static faro_status find_form(faro_rows *rows, const faro_rows_params *p, faro_error *error) {
  const bool label = rows->libsvm || has(p, FARO_COLUMN_LABEL);
  const bool rewards = has(p, FARO_COLUMN_REWARDS);
  const bool logged =
      has(p, FARO_COLUMN_ACTION) || has(p, FARO_COLUMN_REWARD) || has(p, FARO_COLUMN_PROPENSITY);
  if (label + rewards + logged != 1)
    return faro_fail(error, FARO_INVALID,
                     "label, rewards, or action with logged_reward and propensity: one of the three must be "
                     "given (got %s)",
                     label + rewards + logged == 0 ? "none"
                     : label && rewards            ? "label and rewards"
                     : label                       ? "label and logged data"
                                                   : "rewards and logged data");
  rows->facts.form = label ? FARO_ROWS_CLASSES : rewards ? FARO_ROWS_REWARDS : FARO_ROWS_LOGGED;
  for (faro_column_role role = FARO_COLUMN_ACTION; logged && role <= FARO_COLUMN_PROPENSITY; role++)
    if (!has(p, role))
      return faro_fail(error, FARO_INVALID,
                       "%s must be given: logged data needs action, logged_reward and propensity",
                       roles[role].name);
  for (faro_column_role role = FARO_COLUMN_LABEL; rows->libsvm && role < FARO_COLUMN_ROLES; role++)
    if (has(p, role))
      return faro_fail(error, FARO_INVALID,
                       "%s must not be given for libsvm, whose columns have no names (got %s)",
                       roles[role].name, listed(p, role));
  if (rewards && p->classes && *p->classes)
    return faro_fail(error, FARO_INVALID,
                     "classes must not be given with rewards, whose columns are the arms");
  return FARO_OK;
}

static faro_status add_class(faro_rows *rows, faro_span name, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  const char *text = faro_shorten(name.text, name.length, shown);
  if (name.length == 0 || name.length > FARO_ROWS_NAME_MAX)
    return faro_fail(error, FARO_INVALID, "classes must have names of 1 .. %d bytes (got \"%s\")",
                     FARO_ROWS_NAME_MAX, text);
  if (faro_names_find(&rows->arms, name) < rows->arms.count)
    return faro_fail(error, FARO_INVALID, "classes must differ (got %s twice)", text);
  if (rows->arms.count == rows->arms.most)
    return faro_fail(error, FARO_INVALID, "classes must be at most %d", FARO_ROWS_ARMS_MAX);
  faro_names_add(&rows->arms, name);
  return FARO_OK;
}

faro_status faro_columns_classes(faro_rows *rows, const faro_rows_params *params, faro_error *error) {
  faro_status status = find_form(rows, params, error);
  if (status == FARO_OK) status = faro_names_make(&rows->arms, FARO_ROWS_ARMS_MAX, &rows->arena, error);
  const char *list = params->classes;
  faro_span name;
  rows->open = rows->facts.form != FARO_ROWS_REWARDS && (!list || *list == '\0');
  if (rows->open) return status;
  while (status == FARO_OK && list && faro_list_next(&list, &name)) status = add_class(rows, name, error);
  return status;
}

/* ---- all of it */

static faro_status add_arms(faro_rows *rows, size_t rewards, faro_error *error) {
  char shown[FARO_SHORT_SIZE];
  if (rewards > FARO_ROWS_ARMS_MAX)
    return faro_fail(error, FARO_INVALID, "rewards must be at most %d columns (got %zu)", FARO_ROWS_ARMS_MAX,
                     rewards);
  for (size_t slot = 0; slot < rewards; slot++)
    for (size_t i = 0; i < rows->columns; i++) {
      const faro_column *c = &rows->column[i];
      if (c->role != FARO_COLUMN_REWARDS || c->slot != slot) continue;
      const faro_span name = {c->name, strlen(c->name)};
      if (name.length > FARO_ROWS_NAME_MAX)
        return faro_fail(error, FARO_INVALID, "rewards must have names of at most %d bytes (got %s)",
                         FARO_ROWS_NAME_MAX, faro_shorten(name.text, name.length, shown));
      faro_names_add(&rows->arms, name);
    }
  return FARO_OK;
}

static faro_status keep_features(faro_rows *rows, size_t numbers, size_t words, faro_error *error) {
  rows->facts.numbers = numbers;
  rows->facts.words = words;
  if (numbers + words == 0 && rows->facts.form != FARO_ROWS_LOGGED) /* a log alone says something, too */
    return faro_fail(error, FARO_INVALID, "%s:1: at least one column must be a feature",
                     faro_path_end(rows->path));
  rows->name = faro_arena_alloc(&rows->arena, numbers + words + 1, sizeof *rows->name, error);
  if (!rows->name) return FARO_MEMORY;
  for (size_t i = 0; i < rows->columns; i++) {
    const faro_column *c = &rows->column[i];
    if (c->role == FARO_COLUMN_NUMBER) rows->name[c->slot] = c->name;
    if (c->role == FARO_COLUMN_WORD) rows->name[numbers + c->slot] = c->name;
  }
  return FARO_OK;
}

faro_status faro_columns_read(faro_rows *rows, const faro_rows_params *params, faro_span header,
                              faro_error *error) {
  size_t slot[FARO_COLUMN_ROLES] = {0};
  faro_status status = read_names(rows, header, error);
  for (int patterns = 0; patterns < 2; patterns++)
    for (faro_column_role role = FARO_COLUMN_LABEL; status == FARO_OK && role < FARO_COLUMN_ROLES; role++)
      status = give(rows, params, role, patterns, &slot[role], error);
  if (status != FARO_OK) return status;
  give_rest(rows, params, &slot[FARO_COLUMN_NUMBER]);
  status = add_arms(rows, slot[FARO_COLUMN_REWARDS], error);
  return status == FARO_OK ? keep_features(rows, slot[FARO_COLUMN_NUMBER], slot[FARO_COLUMN_WORD], error)
                           : status;
}
