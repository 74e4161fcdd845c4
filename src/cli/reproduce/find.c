/* find: the experiments that have a file in experiments/published. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reproduce/rerun.h"

static int is_yaml(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name);
  return length > 5 && length < FARO_LINE && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

faro_status rerun_find(rerun_list *list, faro_error *error) {
  *list = (rerun_list){.count = 0};
  for (size_t i = 0; i < CLI_PLACES && list->count == 0; i++) {
    char place[CLI_PATH];
    struct dirent **entry = NULL;
    const char *path = cli_experiment_folder(i, place);
    if (!path || snprintf(list->folder, CLI_PATH, "%s/published", path) >= CLI_PATH) continue;
    const int count = scandir(list->folder, &entry, is_yaml, NULL);
    for (int k = 0; k < count; k++) {
      if (list->count < RERUN_NAMES)
        snprintf(list->name[list->count++], FARO_LINE, "%.*s", (int)strlen(entry[k]->d_name) - 5,
                 entry[k]->d_name);
      free(entry[k]);
    }
    free(entry);
  }
  qsort(list->name, list->count, sizeof *list->name, by_name);
  if (list->count > 0) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "no published results: experiments/published was not found");
}
