/* locate: finds experiments by name: in ./experiments, next to the program (in its source tree, or
 * where it was installed), and in the folder that was configured for installing them. Then
 * NAME.yaml in this folder, which `faro new` writes. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

const char *cli_experiment_folder(size_t index, char out[static CLI_PATH]) {
  if (index == 0) return "experiments";
  if (index == 3) return FARO_DATADIR "/experiments";
  const ssize_t length = readlink("/proc/self/exe", out, CLI_PATH - 32);
  if (index > 2 || length <= 0) return NULL;
  out[length] = '\0';
  char *slash = strrchr(out, '/');
  if (!slash) return NULL;
  snprintf(slash, 32, index == 1 ? "/../experiments" : "/../share/faro/experiments");
  return out;
}

static bool looks_like_path(const char *name) {
  const size_t length = strlen(name);
  return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

/* A hint with the name of the experiment that is most like the word. */
static const char *suggest(const char *word, char out[static FARO_HINT]) {
  enum { NAMES = 256, NAME = 64 };
  static char names[NAMES][NAME];
  const char *name[NAMES];
  size_t count = 0;
  for (size_t i = 0; i < CLI_PLACES; i++) {
    char folder[CLI_PATH];
    const char *path = cli_experiment_folder(i, folder);
    DIR *directory = path ? opendir(path) : NULL;
    for (const struct dirent *entry = NULL; directory && count < NAMES && (entry = readdir(directory));) {
      const size_t length = strlen(entry->d_name);
      if (length <= 5 || length >= NAME || strcmp(entry->d_name + length - 5, ".yaml") != 0) continue;
      memcpy(names[count], entry->d_name, length - 5);
      names[count][length - 5] = '\0';
      name[count] = names[count];
      count++;
    }
    if (directory) closedir(directory);
  }
  return faro_hint(word, name, count, out);
}

bool cli_find_experiment(const char *name, char out[static CLI_PATH], faro_error *error) {
  if (looks_like_path(name)) {
    snprintf(out, CLI_PATH, "%s", name);
    return true;
  }
  for (size_t i = 0; i < CLI_PLACES; i++) {
    char folder[CLI_PATH];
    const char *path = cli_experiment_folder(i, folder);
    if (path && snprintf(out, CLI_PATH, "%s/%s.yaml", path, name) < CLI_PATH && access(out, R_OK) == 0)
      return true;
  }
  if (snprintf(out, CLI_PATH, "%s.yaml", name) < CLI_PATH && access(out, R_OK) == 0) return true;
  char hint[FARO_HINT];
  (void)faro_fail(error, FARO_INVALID,
                  "no experiment \"%.100s\"%s; `faro list experiments` lists them, and a path is allowed too",
                  name, suggest(name, hint));
  return false;
}
