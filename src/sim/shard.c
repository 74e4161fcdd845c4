/* shard: see the headers. A folder of shards holds
 *
 *   experiment.yaml             the file that is played
 *   shards.json                 its name, overrides, identity and first place: how it was asked
 *                               for; and the hash of each file that it reads
 *   instances.I-of-N.journal    what shard I of N has finished (journal.h) */
#include "sim/shard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "data/table.h"

enum { PATH_SIZE = 4096, RECORD_MAX = 1 << 20, OVERRIDES_MAX = 64 };

/* ---- which instances */

void faro_shard_deal(const faro_experiment *experiment, size_t *first) {
  size_t number = 0;
  for (size_t a = 0; a < experiment->algorithms; a++)
    for (size_t cell = a; cell < experiment->count; cell += experiment->algorithms) {
      first[cell] = number;
      if (experiment->cell[cell].twin == cell) number += experiment->instances;
    }
}

faro_status faro_shard_check(size_t shard, size_t shards, faro_error *error) {
  if (shards > FARO_SHARDS_MAX)
    return faro_fail(error, FARO_INVALID, "shards must be at most %d (got %zu)", FARO_SHARDS_MAX, shards);
  if (shards == 0 ? shard == 0 : shard >= 1 && shard <= shards) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "shard must be 1 .. %zu, the number of shards (got %zu)", shards,
                   shard);
}

const char *faro_shard_point(const faro_experiment *experiment, size_t cell,
                             char out[static FARO_SHARD_POINT]) {
  const faro_cell *at = &experiment->cell[cell];
  char label[FARO_SHORT_SIZE];
  int used = snprintf(out, FARO_SHARD_POINT, "%s", faro_shorten(at->label, strlen(at->label), label));
  for (size_t s = 0; s < experiment->sweeps && used < FARO_SHARD_POINT; s++) {
    const faro_sweep *sweep = &experiment->sweep[s];
    char value[FARO_PRINTED];
    used += snprintf(out + used, FARO_SHARD_POINT - (size_t)used, "%s%s %s%s", s ? ", " : " (",
                     faro_key_name(sweep->key), faro_key_print(sweep->key, sweep->value[at->at[s]], value),
                     s + 1 == experiment->sweeps ? ")" : "");
  }
  return out;
}

/* ---- which shard this process is */

/* Variables that say it. A batch system counts from `from`, or from what another variable says. */
typedef struct source {
  const char *index, *count; /* count may be NULL: not said */
  size_t from;
  const char *first, *last, *step; /* of an array of jobs; or NULL */
} source;

static const source sources[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0, NULL, NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", 0, NULL, NULL, NULL},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 1, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
     "SLURM_ARRAY_TASK_STEP"},
    {"PBS_ARRAY_INDEX", NULL, 1, NULL, NULL, NULL},
    {"PARALLEL_SEQ", NULL, 1, NULL, NULL, NULL},
};

/* A whole number of at most nine digits that ends at `end`. */
static bool read_number(const char *text, char end, size_t *value, const char **rest) {
  size_t digits = 0;
  *value = 0;
  for (; text[digits] >= '0' && text[digits] <= '9' && digits < 10; digits++)
    *value = 10 * *value + (size_t)(text[digits] - '0');
  if (rest) *rest = text + digits + (text[digits] != '\0');
  return digits > 0 && digits < 10 && text[digits] == end;
}

static faro_status read_variable(const char *name, size_t *value, faro_error *error) {
  const char *text = name ? getenv(name) : NULL;
  char shown[FARO_SHORT_SIZE];
  if (text && read_number(text, '\0', value, NULL)) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "shard auto needs a whole number in %s (got %s)", name,
                   text ? faro_shorten(text, strlen(text), shown) : "nothing");
}

/* The source whose variable is set; NULL: none. Only some of them say how many shards there are. */
static const source *next_source(const source *after, bool counted) {
  for (const source *s = after ? after + 1 : sources; s < sources + sizeof sources / sizeof *sources; s++)
    if (getenv(s->index) && (s->count || !counted)) return s;
  return NULL;
}

/* The one source that says which shard this is. Ranks within a job of an array would be two. */
static faro_status find_source(bool given, const source **found, faro_error *error) {
  const source *any = next_source(NULL, false);
  *found = next_source(NULL, !given);
  const source *second = *found ? next_source(*found, !given) : NULL;
  if (second)
    return faro_fail(error, FARO_INVALID, "shard auto finds both %s and %s; say which shard this is, as I/N",
                     (*found)->index, second->index);
  if (*found) return FARO_OK;
  if (any)
    return faro_fail(error, FARO_INVALID,
                     "shard auto finds %s, which does not say how many shards there are; use auto/N, for "
                     "example auto/16",
                     any->index);
  return faro_fail(
      error, FARO_INVALID,
      "shard auto needs one of these variables, and none is set: OMPI_COMM_WORLD_RANK, PMI_RANK, "
      "SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX, PARALLEL_SEQ; otherwise use I/N, for example 3/16");
}

/* An array of jobs that begins anywhere, with any step, but without gaps. */
static faro_status count_from_first(const source *s, size_t count, size_t *index, faro_error *error) {
  size_t first = 0;
  size_t last = 0;
  size_t step = 1;
  const size_t id = *index;
  faro_status status = read_variable(s->first, &first, error);
  if (status == FARO_OK) status = read_variable(s->last, &last, error);
  if (status == FARO_OK && getenv(s->step)) status = read_variable(s->step, &step, error);
  if (status != FARO_OK) return status;
  if (step > 0 && first <= id && id <= last && (last - first) / step + 1 == count &&
      (id - first) % step == 0) {
    *index = (id - first) / step + 1;
    return FARO_OK;
  }
  return faro_fail(
      error, FARO_INVALID,
      "shard auto cannot number the %zu jobs of this array from %zu to %zu, because it has gaps; use "
      "auto/N, which takes %s as it is",
      count, first, last, s->index);
}

/* `given` is the N of auto/N, or 0. */
static faro_status read_environment(size_t given, size_t *shard, size_t *shards, faro_error *error) {
  const source *s = NULL;
  size_t count = given;
  size_t index = 0;
  faro_status status = find_source(given > 0, &s, error);
  if (status == FARO_OK) status = read_variable(s->index, &index, error);
  if (status == FARO_OK && s->count && (given == 0 || !s->first))
    status = read_variable(s->count, &count, error);
  if (status != FARO_OK) return status;
  if (given > 0 && count != given)
    return faro_fail(error, FARO_INVALID, "shard auto/%zu does not fit %s, which is %zu", given, s->count,
                     count);
  if (given == 0 && s->first) status = count_from_first(s, count, &index, error);
  else index += 1 - s->from;
  if (status != FARO_OK) return status;
  if (index < 1 || index > count)
    return faro_fail(error, FARO_INVALID, "shard auto needs %s from %zu to %zu (got %zu)", s->index, s->from,
                     s->from + count - 1, index + s->from - 1);
  *shard = index;
  *shards = count;
  return FARO_OK;
}

faro_status faro_shard_read(const char *text, size_t *shard, size_t *shards, faro_error *error) {
  size_t i = 0;
  size_t n = 0;
  char shown[FARO_SHORT_SIZE];
  const char *rest = NULL;
  if (strcmp(text, "auto") == 0) return read_environment(0, shard, shards, error);
  if (strncmp(text, "auto/", 5) == 0 && read_number(text + 5, '\0', &n, NULL) && n >= 1 &&
      n <= FARO_SHARDS_MAX)
    return read_environment(n, shard, shards, error);
  if (read_number(text, '/', &i, &rest) && read_number(rest, '\0', &n, NULL) && i >= 1 && i <= n &&
      n <= FARO_SHARDS_MAX) {
    *shard = i;
    *shards = n;
    return FARO_OK;
  }
  return faro_fail(error, FARO_INVALID,
                   "shard must be I/N with I from 1 to N and N at most %d, auto, or auto/N (got %s)",
                   FARO_SHARDS_MAX, faro_shorten(text, strlen(text), shown));
}

/* ---- the experiment in the folder */

static faro_status path_in(const char *folder, const char *name, char out[static PATH_SIZE],
                           faro_error *error) {
  if (snprintf(out, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "the path %.100s/... is too long", folder);
}

/* Writes a file that other processes write at the same time, with the same bytes: each under a name
 * of its own, which it then renames. */
static faro_status write_shared(const char *path, const char *text, size_t length, faro_error *error) {
  char fresh[PATH_SIZE];
  char *old = NULL;
  size_t old_length = 0;
  faro_error none = {0};
  const bool same = faro_read_file(path, RECORD_MAX, &old, &old_length, &none) == FARO_OK &&
                    old_length == length && memcmp(old, text, length) == 0;
  free(old);
  if (same) return FARO_OK;
  if (snprintf(fresh, sizeof fresh, "%s.%08x%08x", path, randombytes_random(), randombytes_random()) >=
      PATH_SIZE)
    return faro_fail(error, FARO_INVALID, "the path %.100s... is too long", path);
  const int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const bool written = file >= 0 && faro_write_all(file, text, length) && fsync(file) == 0;
  if (file >= 0) close(file);
  if (written && rename(fresh, path) == 0) return FARO_OK;
  const int reason = errno;
  (void)unlink(fresh);
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(reason));
}

/* Where the experiment's file was, from the root: files that it names may be beside it. */
static const char *first_place(const faro_experiment *experiment, char out[static PATH_SIZE]) {
  char here[PATH_SIZE];
  const bool known = *experiment->file == '/' || !getcwd(here, sizeof here);
  const int length = known ? snprintf(out, PATH_SIZE, "%s", experiment->file)
                           : snprintf(out, PATH_SIZE, "%s/%s", here, experiment->file);
  return length < PATH_SIZE ? out : experiment->file;
}

/* The hash of a file that the experiment reads, as digits. */
enum { HASH_DIGITS = 2 * sizeof((faro_rows_facts){0}.digest) + 1 };

static const char *hash_of(const faro_experiment_file *file, char out[static HASH_DIGITS]) {
  const faro_rows_facts *facts = file->table->facts;
  return sodium_bin2hex(out, HASH_DIGITS, facts->digest, sizeof facts->digest);
}

static json_t *hashes_of(const faro_experiment *experiment) {
  char digits[HASH_DIGITS];
  json_t *list = json_array();
  for (const faro_experiment_file *file = experiment->files; file; file = file->before)
    json_array_append_new(list, json_string(hash_of(file, digits)));
  return list;
}

/* The first file of the experiment that is not as shards.json has it; NULL: all are. */
static const char *changed_file(const json_t *all, const faro_experiment *experiment) {
  const json_t *list = json_object_get(all, "files");
  size_t i = 0;
  for (const faro_experiment_file *file = experiment->files; file; file = file->before, i++) {
    char digits[HASH_DIGITS];
    const char *kept = json_string_value(json_array_get(list, i));
    if (kept && strcmp(kept, hash_of(file, digits)) != 0) return file->rows.file;
  }
  return NULL;
}

/* How the experiment was asked for, as text; NULL without memory. The caller frees it. */
static char *describe(const faro_experiment *experiment) {
  char place[PATH_SIZE];
  json_t *overrides = json_array();
  for (size_t i = 0; i < experiment->overrides; i++)
    json_array_append_new(overrides, json_string(experiment->override[i]));
  json_t *all = json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "experiment", experiment->name, "file",
                          first_place(experiment, place), "identity", experiment->identity, "quick",
                          experiment->quick, "overrides", overrides, "files", hashes_of(experiment));
  char *text = all ? json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
  json_decref(all);
  return text;
}

/* Reads shards.json. */
static faro_status read_description(const char *path, json_t **all, faro_error *error) {
  json_error_t problem;
  char *text = NULL;
  size_t length = 0;
  const faro_status status = faro_read_file(path, RECORD_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  *all = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
  free(text);
  if (*all) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s:%d: not JSON: %s", faro_path_end(path), problem.line,
                   problem.text);
}

/* Whether shards.json is of this experiment. */
static bool is_of(const json_t *all, const faro_experiment *experiment) {
  const char *identity = json_string_value(json_object_get(all, "identity"));
  return identity && strcmp(identity, experiment->identity) == 0;
}

/* Whether the folder is free, or keeps this experiment. */
static faro_status check_kept(const faro_experiment *experiment, const char *path, faro_error *error) {
  json_t *all = NULL;
  if (access(path, F_OK) != 0) return FARO_OK;
  const faro_status status = read_description(path, &all, error);
  if (status != FARO_OK) return status;
  const bool same = is_of(all, experiment);
  json_decref(all);
  if (same) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s: keeps shards of another experiment or of other settings; choose another folder",
                   faro_path_end(path));
}

faro_status faro_shard_keep(const faro_experiment *experiment, const char *folder, faro_error *error) {
  char yaml[PATH_SIZE];
  char json[PATH_SIZE];
  faro_status status = path_in(folder, "experiment.yaml", yaml, error);
  if (status == FARO_OK) status = path_in(folder, "shards.json", json, error);
  if (status == FARO_OK) status = check_kept(experiment, json, error);
  if (status != FARO_OK) return status;
  char *text = describe(experiment);
  if (!text) return faro_fail(error, FARO_MEMORY, "cannot allocate the record of a shard");
  status = write_shared(yaml, experiment->text, experiment->length, error);
  if (status == FARO_OK) status = write_shared(json, text, strlen(text), error);
  free(text);
  return status;
}

/* An experiment's overrides, from shards.json. */
typedef struct overrides {
  size_t count;
  faro_override one[OVERRIDES_MAX];
  char *key[OVERRIDES_MAX];
} overrides;

static bool read_overrides(const json_t *list, overrides *out) {
  const json_t *element = NULL;
  size_t i = 0;
  if (!json_is_array(list) || json_array_size(list) > OVERRIDES_MAX) return false;
  json_array_foreach(list, i, element) {
    const char *text = json_string_value(element);
    if (!text || *text == '=' || !strchr(text, '=')) return false;
    const size_t length = strcspn(text, "=");
    char *key = out->key[i] = calloc(1, length + 1);
    if (!key) return false;
    memcpy(key, text, length);
    out->one[out->count++] = (faro_override){.key = key, .value = text + length + 1};
  }
  return true;
}

static faro_status parse_kept(faro_experiment **experiment, const char *folder, const json_t *all,
                              const char *command, faro_error *error) {
  overrides given = {0};
  char yaml[PATH_SIZE];
  char *text = NULL;
  size_t length = 0;
  faro_status status = path_in(folder, "experiment.yaml", yaml, error);
  if (status == FARO_OK) status = faro_read_file(yaml, RECORD_MAX, &text, &length, error);
  const char *name = json_string_value(json_object_get(all, "experiment"));
  const char *place = json_string_value(json_object_get(all, "file"));
  if (status == FARO_OK && (!name || !read_overrides(json_object_get(all, "overrides"), &given)))
    status = faro_fail(error, FARO_INVALID, "%s/shards.json: does not say how its experiment was asked for",
                       faro_path_end(folder));
  const faro_experiment_options options = {.overrides = given.one,
                                           .override_count = given.count,
                                           .quick = json_is_true(json_object_get(all, "quick")),
                                           .name = name,
                                           .command = command};
  if (status == FARO_OK)
    status = faro_experiment_parse(experiment, place ? place : yaml, text, length, &options, error);
  free(text);
  for (size_t i = 0; i < OVERRIDES_MAX; i++) free(given.key[i]);
  return status;
}

faro_status faro_shard_recall(faro_experiment **experiment, const char *folder,
                              const faro_experiment_options *options, faro_error *error) {
  char json[PATH_SIZE];
  json_t *all = NULL;
  faro_experiment *made = NULL;
  faro_status status = path_in(folder, "shards.json", json, error);
  if (status == FARO_OK && access(json, F_OK) != 0)
    return faro_fail(error, FARO_INVALID, "%s: no shards are there (no shards.json)", faro_path_end(folder));
  if (status == FARO_OK) status = read_description(json, &all, error);
  if (status == FARO_OK) status = parse_kept(&made, folder, all, options ? options->command : NULL, error);
  if (status == FARO_OK && !is_of(all, made)) {
    const char *file = changed_file(all, made);
    status = faro_fail(error, FARO_INVALID, "%s: %s has changed since its shards were played",
                       faro_path_end(folder), file ? faro_path_end(file) : "the experiment");
  }
  json_decref(all);
  if (status == FARO_OK) *experiment = made;
  else faro_experiment_destroy(made);
  return status;
}

/* ---- the journals in the folder */

int faro_shard_journal(const char *folder, size_t shard, size_t shards, char *out, size_t size) {
  return shards == 0 ? snprintf(out, size, "%s/instances.journal", folder)
                     : snprintf(out, size, "%s/instances.%zu-of-%zu.journal", folder, shard, shards);
}

/* Whether it is the name of a journal. */
static bool read_name(const char *name, size_t *shard, size_t *shards) {
  static const char start[] = "instances.";
  static const char middle[] = "-of-";
  const char *rest = name + sizeof start - 1;
  *shard = *shards = 0;
  if (strcmp(name, "instances.journal") == 0) return true;
  if (strncmp(name, start, sizeof start - 1) != 0 || !read_number(rest, '-', shard, &rest)) return false;
  rest--;
  if (strncmp(rest, middle, sizeof middle - 1) != 0 ||
      !read_number(rest + sizeof middle - 1, '.', shards, &rest))
    return false;
  return strcmp(rest, "journal") == 0 && *shard >= 1 && *shard <= *shards;
}

typedef struct found {
  size_t shard, shards;
} found;

static int by_number(const void *a, const void *b) {
  const found *x = a;
  const found *y = b;
  if (x->shards != y->shards) return x->shards < y->shards ? -1 : 1;
  return (x->shard > y->shard) - (x->shard < y->shard);
}

void faro_shard_clear(faro_shard_list *list) {
  for (size_t i = 0; i < list->count; i++) free((void *)list->path[i]);
  free((void *)list->path);
  free(list->shard);
  free(list->shards);
  *list = (faro_shard_list){.count = 0};
}

/* The list from the numbers; false without memory. */
static bool fill(faro_shard_list *list, const char *folder, const found *all, size_t count) {
  list->path = calloc(count + 1, sizeof *list->path);
  list->shard = calloc(count + 1, sizeof *list->shard);
  list->shards = calloc(count + 1, sizeof *list->shards);
  if (!list->path || !list->shard || !list->shards) return false;
  for (; list->count < count; list->count++) {
    const found *one = &all[list->count];
    const size_t size = strlen(folder) + 64;
    char *path = calloc(1, size);
    if (!path) return false;
    faro_shard_journal(folder, one->shard, one->shards, path, size);
    list->path[list->count] = path;
    list->shard[list->count] = one->shard;
    list->shards[list->count] = one->shards;
  }
  return true;
}

/* The numbers of all journals, in the folder's order; NULL without memory. */
static found *scan(DIR *folder, size_t *count) {
  size_t capacity = 64;
  found *all = calloc(capacity, sizeof *all);
  const struct dirent *entry = NULL;
  *count = 0;
  while (all && (entry = readdir(folder))) {
    found one;
    if (!read_name(entry->d_name, &one.shard, &one.shards)) continue;
    if (*count == capacity) {
      found *larger = realloc(all, 2 * capacity * sizeof *all);
      if (!larger) free(all);
      all = larger;
      capacity *= 2;
    }
    if (all) all[(*count)++] = one;
  }
  return all;
}

faro_status faro_shard_find(faro_shard_list *list, const char *folder, faro_error *error) {
  size_t count = 0;
  DIR *open = opendir(folder);
  if (!open)
    return faro_fail(error, FARO_INVALID, "%s: cannot be read: %s", faro_path_end(folder), strerror(errno));
  *list = (faro_shard_list){.count = 0};
  found *all = scan(open, &count);
  closedir(open);
  if (all) qsort(all, count, sizeof *all, by_number);
  const bool filled = all && fill(list, folder, all, count);
  free(all);
  if (filled) return FARO_OK;
  faro_shard_clear(list);
  return faro_fail(error, FARO_MEMORY, "cannot list the journals in %s", faro_path_end(folder));
}
