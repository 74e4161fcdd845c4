/* locate: experiments by name: in ./experiments, beside the program's own source tree, where it was installed. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

const char *cli_experiment_folder(size_t index, char out[static CLI_PATH]) {
  if (index == 0) return "experiments";
  if (index == 2) return FARO_DATADIR "/experiments";
  const ssize_t length = readlink("/proc/self/exe", out, CLI_PATH - 32);
  if (index != 1 || length <= 0) return NULL;
  out[length] = '\0';
  char *slash = strrchr(out, '/');
  if (!slash) return NULL;
  memcpy(slash, "/../experiments", sizeof "/../experiments");
  return out;
}

static bool looks_like_path(const char *name) {
  const size_t length = strlen(name);
  return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

/* The name in some folder that is nearest to the word. */
static void suggest(const char *word, char out[static CLI_PATH]) {
  *out = '\0';
  for (size_t i = 0; i < CLI_PLACES; i++) {
    char folder[CLI_PATH];
    const char *path = cli_experiment_folder(i, folder);
    DIR *directory = path ? opendir(path) : NULL;
    if (!directory) continue;
    for (const struct dirent *entry = NULL; *out == '\0' && (entry = readdir(directory));) {
      char name[256];
      snprintf(name, sizeof name, "%s", entry->d_name);
      char *dot = strrchr(name, '.');
      if (!dot || strcmp(dot, ".yaml") != 0) continue;
      *dot = '\0';
      const char *names[] = {name};
      if (faro_nearest(word, names, 1)) snprintf(out, CLI_PATH, " (did you mean %s?)", name);
    }
    closedir(directory);
  }
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
  char hint[CLI_PATH];
  suggest(name, hint);
  (void)faro_fail(error, FARO_INVALID,
                  "no experiment \"%s\"%s; `faro list experiments` names them, and a path works too", name,
                  hint);
  return false;
}
