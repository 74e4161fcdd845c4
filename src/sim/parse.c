/* parse: a YAML experiment into a draft, by tables of fields (field/reader.h). A mapping of the
 * file has keys of its own and settings. A setting may become a sweep, and faults may be found
 * late, so settings are read one by one, each as a number with its line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "sim/draft.h"
#include "yaml/yaml.h"

enum { TEXT_SIZE = FARO_SETTING_TEXT_MAX + 1 };

/* ---- settings */

static bool in_top(faro_key key) {
  return faro_key_scope(key) == SCOPE_TOP || faro_key_scope(key) == SCOPE_BOTH;
}
static bool in_algorithm(faro_key key) {
  return faro_key_scope(key) == SCOPE_ALGORITHM || faro_key_scope(key) == SCOPE_BOTH;
}
static bool in_env(faro_key key) { return faro_key_scope(key) == SCOPE_ENV; }
static bool in_override(faro_key key) { return faro_key_scope(key) != SCOPE_ALGORITHM; }
static bool in_sweep(faro_key key) {
  return in_override(key) && key != FARO_KEY_INSTANCES && key != FARO_KEY_SEED && !faro_key_is_text(key);
}
static bool in_plot(faro_key key) {
  (void)key;
  return false;
}

static bool find(const char *name, bool (*allows)(faro_key), faro_key *key) {
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (allows(k) && strcmp(faro_key_name(k), name) == 0) {
      *key = k;
      return true;
    }
  return false;
}

/* Where a key belongs that stands in the wrong place. */
static const char *elsewhere(const char *place, const char *name) {
  faro_key key = FARO_KEY_OWN;
  const bool sweep = strcmp(place, "sweep") == 0;
  if (find(name, in_env, &key))
    return sweep && faro_key_is_text(key) ? " (a text cannot be swept)" : " (it belongs under environment)";
  if (find(name, in_top, &key)) return sweep ? " (it cannot be swept)" : " (it belongs at the top level)";
  if (!find(name, in_algorithm, &key)) return NULL;
  return sweep ? " (it cannot be swept)" : " (it belongs under an algorithm)";
}

static faro_line line_of(const faro_reader *r, uint32_t node) { return faro_tree_value(r->tree, node)->line; }

static void read_setting(faro_reader *r, uint32_t node, faro_key key, double *value) {
  union {
    double real;
    uint64_t count;
    bool on;
    int choice;
  } member = {.count = 0};
  faro_setting setting = *faro_key_setting(key);
  const faro_field field = faro_key_field(key);
  setting.offset = 0;
  faro_read_value(r, node, &field, &member);
  if (r->status == FARO_OK) *value = faro_setting_get(&setting, &member);
}

/* A text, or a list of words as one text. */
static void read_text(faro_reader *r, uint32_t node, faro_key key, char out[static TEXT_SIZE]) {
  const faro_field field = faro_key_field(key);
  uint32_t element = 0;
  size_t used = 0;
  if (faro_tree_value(r->tree, node)->type != FARO_NODE_LIST) {
    faro_read_value(r, node, &field, out);
    return;
  }
  const size_t count = faro_read_list(r, node, field.name, 1, FARO_SETTING_TEXT_MAX, "words", &element);
  for (size_t i = 0; i < count && r->status == FARO_OK; i++, element = r->tree->node[element].next) {
    char word[TEXT_SIZE] = "";
    faro_read_value(r, element, &field, word);
    if (r->status == FARO_OK && (strchr(word, ',') || used + strlen(word) + 3 > TEXT_SIZE))
      faro_reader_fail(r, element, "%s must have words without commas, at most %d bytes in all", field.name,
                       FARO_SETTING_TEXT_MAX);
    else used += (size_t)snprintf(out + used, TEXT_SIZE - used, "%s%s", i ? ", " : "", word);
  }
}

static void read_text_entry(faro_reader *r, uint32_t node, faro_key key, faro_arena *arena,
                            faro_entry *entry) {
  char text[TEXT_SIZE] = "";
  read_text(r, node, key, text);
  if (r->status != FARO_OK) return;
  const char *copy = faro_arena_strdup(arena, text, r->error);
  if (copy) *entry = (faro_entry){.given = true, .text = copy, .line = line_of(r, node)};
  else r->status = FARO_MEMORY;
}

static void read_entry(faro_reader *r, uint32_t node, faro_key key, faro_arena *arena, faro_entry *entry) {
  double value = 0;
  if (faro_key_is_text(key)) {
    read_text_entry(r, node, key, arena, entry);
    return;
  }
  read_setting(r, node, key, &value);
  if (r->status == FARO_OK) *entry = (faro_entry){.given = true, .value = value, .line = line_of(r, node)};
}

/* ---- mappings */

/* A mapping of the file: what messages call it, its own keys, the settings that it may have, and
 * what reads a value. */
typedef struct section {
  const char *name;
  const faro_field *own;
  size_t count;
  bool (*allows)(faro_key);
  faro_read_row *each;
} section;

static void read_section(faro_reader *r, uint32_t node, const section *s, void *context) {
  faro_field fields[FARO_FIELDS_MAX];
  size_t count = 0;
  for (; count < s->count; count++) fields[count] = s->own[count];
  for (faro_key k = 0; k < faro_key_count(); k++) {
    if (!s->allows(k)) continue;
    FARO_INVARIANT(count < FARO_FIELDS_MAX);
    fields[count] = faro_key_field(k);
    fields[count].name = faro_key_name(k);
    fields[count++].required = faro_key_scope(k) == SCOPE_ALGORITHM;
  }
  faro_read_each(r, node, s->name, fields, count, s->each, context);
}

/* ---- environment */

static void read_env(faro_reader *r, uint32_t node, const faro_field *field, void *context) {
  faro_draft *draft = context;
  faro_key key = FARO_KEY_OWN;
  if (find(field->name, in_env, &key)) read_entry(r, node, key, draft->arena, &draft->top[key]);
}

static const section environment = {"environment", NULL, 0, in_env, read_env};

/* ---- sweep */

static void read_values(faro_reader *r, uint32_t node, faro_draft_sweep *sweep) {
  char name[64];
  char got[FARO_GOT];
  uint32_t element = 0;
  snprintf(name, sizeof name, "sweep of %s", faro_key_name(sweep->key));
  sweep->count = faro_read_list(r, node, name, 1, DRAFT_VALUES_MAX, "values", &element);
  sweep->line = line_of(r, node);
  for (size_t i = 0; i < sweep->count; i++, element = r->tree->node[element].next) {
    read_setting(r, element, sweep->key, &sweep->value[i]);
    for (size_t j = 0; j < i; j++)
      if (sweep->value[j] == sweep->value[i])
        faro_reader_fail(r, element, "%s has the value %s twice", name,
                         faro_node_shown(faro_tree_value(r->tree, element), got));
  }
}

/* Adds a sweep, in place of one of the same key. */
static void add_sweep(faro_reader *r, uint32_t node, faro_key key, faro_draft *draft) {
  const faro_draft_sweep *old = faro_draft_sweep_of(draft, key);
  faro_draft_sweep sweep = {.key = key};
  if (!old && draft->sweeps == FARO_SWEEPS_MAX)
    faro_reader_fail(r, node, "sweep must have at most %d keys", FARO_SWEEPS_MAX);
  read_values(r, node, &sweep);
  if (r->status == FARO_OK) draft->sweep[old ? (size_t)(old - draft->sweep) : draft->sweeps++] = sweep;
}

static void read_sweep(faro_reader *r, uint32_t node, const faro_field *field, void *context) {
  faro_key key = FARO_KEY_OWN;
  if (find(field->name, in_sweep, &key)) add_sweep(r, node, key, context);
}

static const section sweeps = {"sweep", NULL, 0, in_sweep, read_sweep};

/* ---- algorithms */

static void read_part(faro_reader *r, uint32_t node, const faro_field *field, void *context) {
  faro_draft_algorithm *algorithm = context;
  faro_key key = FARO_KEY_OWN;
  if (find(field->name, in_algorithm, &key)) read_entry(r, node, key, algorithm->arena, &algorithm->own[key]);
  else faro_read_value(r, node, field, algorithm->label);
}

static const faro_field algorithm_keys[] = {{"label", FARO_FIELD_TEXT, FARO_AT(faro_draft_algorithm, label)}};
static const section an_algorithm = {"an algorithm", algorithm_keys, 1, in_algorithm, read_part};

/* The default label: learner and release. */
static void set_label(faro_draft_algorithm *algorithm) {
  char learner[FARO_PRINTED];
  char release[FARO_PRINTED];
  if (*algorithm->label) return;
  snprintf(algorithm->label, sizeof algorithm->label, "%s/%s",
           faro_key_print(FARO_KEY_LEARNER, algorithm->own[FARO_KEY_LEARNER].value, learner),
           faro_key_print(FARO_KEY_RELEASE, algorithm->own[FARO_KEY_RELEASE].value, release));
}

static void read_algorithm(faro_reader *r, uint32_t node, faro_draft *draft) {
  faro_draft_algorithm *algorithm = &draft->algorithm[draft->algorithms];
  algorithm->line = line_of(r, node);
  algorithm->arena = draft->arena;
  read_section(r, node, &an_algorithm, algorithm);
  if (r->status != FARO_OK) return;
  set_label(algorithm);
  for (const faro_draft_algorithm *other = draft->algorithm; other < algorithm; other++)
    if (strcmp(other->label, algorithm->label) == 0)
      faro_reader_fail(r, node, "label \"%s\" is used twice (also in line %d); labels must differ",
                       algorithm->label, other->line);
  draft->algorithms++;
}

static void read_algorithms(faro_reader *r, uint32_t node, faro_draft *draft) {
  uint32_t element = 0;
  const size_t count = faro_read_list(r, node, "algorithms", 1, DRAFT_ALGORITHMS_MAX, "algorithms", &element);
  if (count == 0) return;
  draft->algorithm = calloc(count, sizeof *draft->algorithm);
  if (!draft->algorithm) {
    r->status = faro_fail(r->error, FARO_MEMORY, "cannot allocate %zu algorithms", count);
    return;
  }
  for (size_t i = 0; i < count && r->status == FARO_OK; i++, element = r->tree->node[element].next)
    read_algorithm(r, element, draft);
}

/* ---- plot */

static void read_axis(faro_reader *r, uint32_t node, const faro_field *field, void *context) {
  faro_draft_axis *axis = (faro_draft_axis *)(void *)((unsigned char *)context + field->offset);
  axis->line = line_of(r, node);
  faro_read_value(r, node, field, axis->name);
}

/* The size is that of the axis's name. */
#define AXIS(axis)                                                                                           \
  { #axis, FARO_FIELD_TEXT, .offset = offsetof(faro_draft, axis), .size = DRAFT_NAME_MAX }
static const faro_field axes[] = {AXIS(x), AXIS(y), AXIS(panels)};
static const section plot = {"plot", axes, sizeof axes / sizeof *axes, in_plot, read_axis};

/* ---- the experiment */

static void read_top(faro_reader *r, uint32_t node, const faro_field *field, void *context) {
  faro_draft *draft = context;
  faro_key key = FARO_KEY_OWN;
  if (find(field->name, in_top, &key)) read_entry(r, node, key, draft->arena, &draft->top[key]);
  else if (strcmp(field->name, "title") == 0) faro_read_value(r, node, field, draft->title);
  else if (strcmp(field->name, "environment") == 0) read_section(r, node, &environment, draft);
  else if (strcmp(field->name, "sweep") == 0) read_section(r, node, &sweeps, draft);
  else if (strcmp(field->name, "algorithms") == 0) read_algorithms(r, node, draft);
  else read_section(r, node, &plot, draft);
}

static const faro_field top_keys[] = {
    {"title", FARO_FIELD_TEXT, FARO_AT(faro_draft, title)},
    {.name = "environment", .type = FARO_FIELD_NODE},
    {.name = "sweep", .type = FARO_FIELD_NODE},
    {.name = "algorithms", .type = FARO_FIELD_NODE},
    {.name = "plot", .type = FARO_FIELD_NODE},
};
static const section the_experiment = {"the experiment", top_keys, sizeof top_keys / sizeof *top_keys, in_top,
                                       read_top};

faro_status faro_draft_parse(faro_draft *draft, const char *text, size_t length) {
  faro_tree tree = {0};
  const faro_status status = faro_yaml_parse(&tree, draft->file, true, text, length, draft->error);
  if (status != FARO_OK) return status;
  faro_reader r = {.tree = &tree, .file = draft->file, .elsewhere = elsewhere, .error = draft->error};
  read_section(&r, 0, &the_experiment, draft);
  faro_tree_clear(&tree);
  return faro_reader_end(&r);
}

/* ---- overrides: `key=value` replaces the key wherever the file gives it, and the top level if
 * nowhere; `key=[a, b]` sweeps it. */

static bool find_override(const char *name, faro_key *key) {
  static const char *const prefix[] = {"environment.", "sweep."};
  for (size_t i = 0; i < 2; i++)
    if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
      return find(name + strlen(prefix[i]), in_sweep, key);
  if (strcmp(name, "environment") == 0) name = faro_key_name(FARO_KEY_ENVIRONMENT);
  return find(name, in_override, key);
}

static void refuse_override(faro_reader *r, const char *name) {
  const char *names[FARO_KEYS_MAX];
  size_t count = 0;
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (in_override(k)) names[count++] = faro_key_name(k);
  faro_reader_unknown(r, -1, name, "an override", names, count);
}

static void drop_sweep(faro_draft *draft, faro_key key) {
  for (size_t i = 0; i < draft->sweeps; i++)
    if (draft->sweep[i].key == key) {
      memmove(&draft->sweep[i], &draft->sweep[i + 1], (draft->sweeps - i - 1) * sizeof *draft->sweep);
      draft->sweeps--;
      return;
    }
}

static void override_value(faro_reader *r, faro_key key, faro_draft *draft) {
  faro_entry entry = {0};
  read_entry(r, 0, key, draft->arena, &entry);
  if (r->status != FARO_OK) return;
  drop_sweep(draft, key);
  bool placed = false;
  for (size_t i = 0; i < draft->algorithms; i++)
    if (draft->algorithm[i].own[key].given) {
      draft->algorithm[i].own[key] = entry;
      placed = true;
    }
  if (!placed || draft->top[key].given) draft->top[key] = entry;
}

static void override_sweep(faro_reader *r, faro_key key, faro_draft *draft) {
  if (!in_sweep(key)) faro_reader_fail(r, 0, "%s cannot be swept", faro_key_name(key));
  add_sweep(r, 0, key, draft);
  draft->top[key].given = false;
  for (size_t i = 0; i < draft->algorithms; i++) draft->algorithm[i].own[key].given = false;
}

/* A list without brackets is refused as a value: says how one is written. */
static void suggest_list(const char *name, const char *value, faro_error *error) {
  const size_t used = strlen(error->message);
  if (strchr(value, ',') && strlen(value) < 60)
    snprintf(error->message + used, sizeof error->message - used, "; for a sweep: --set '%.60s=[%s]'", name,
             value);
}

faro_status faro_draft_override(faro_draft *draft, const faro_override *override) {
  faro_key key = FARO_KEY_OWN;
  faro_tree tree = {0};
  char place[80] = "--set";
  faro_reader r = {.tree = &tree, .file = place, .elsewhere = elsewhere, .error = draft->error};
  if (!find_override(override->key, &key)) {
    refuse_override(&r, override->key);
    return faro_reader_end(&r);
  }
  draft->overridden[key] = true;
  snprintf(place, sizeof place, "--set %.60s", override->key);
  const char *value = override->value;
  r.status = faro_yaml_parse(&tree, place, false, value, strlen(value), draft->error);
  if (r.status != FARO_OK) return r.status;
  if (tree.node[0].type == FARO_NODE_LIST && !faro_key_is_text(key)) override_sweep(&r, key, draft);
  else override_value(&r, key, draft);
  if (r.status == FARO_INVALID && tree.node[0].type == FARO_NODE_TEXT && in_sweep(key))
    suggest_list(override->key, value, draft->error);
  faro_tree_clear(&tree);
  return faro_reader_end(&r);
}
