/* new: faro new NAME. Writes template.yaml with the experiment's name in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"

static const char template[] = {
#include "template.inc"
    0};

static bool is_yaml(const char *name) {
  const size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, ".yaml") == 0;
}

/* The template, with the name in place of @NAME@. */
static char *fill(const char *name) {
  static const char mark[] = "@NAME@";
  faro_text text = FARO_TEXT_INIT;
  const char *rest = template;
  for (const char *found = NULL; (found = strstr(rest, mark)); rest = found + sizeof mark - 1)
    faro_text_add(&text, "%.*s%s", (int)(found - rest), rest, name);
  faro_text_add(&text, "%s", rest);
  if (text.failed) faro_text_clear(&text);
  return text.data;
}

/* Creates the file; never replaces one. */
static faro_status create(const char *path, const char *text, faro_error *error) {
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (file < 0 && errno == EEXIST)
    return faro_fail(error, FARO_INVALID, "%s exists already; choose another name", faro_path_end(path));
  const bool written = file >= 0 && faro_write_all(file, text, strlen(text));
  const int cause = errno;
  if (file >= 0) close(file);
  if (written) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(cause));
}

static int make(const char *name) {
  char path[CLI_PATH];
  faro_error error = {0};
  const int length = (int)strlen(name) - (is_yaml(name) ? 5 : 0);
  if (*name == '\0' || name[length - 1] == '/' ||
      snprintf(path, sizeof path, "%.*s.yaml", length, name) >= CLI_PATH)
    return cli_usage(&cli_new, "NAME must be the name of a file, or a path (got \"%.60s\")", name);
  path[length] = '\0';
  char *text = fill(path);
  path[length] = '.';
  if (!text) return cli_print(stdout, NULL);
  const faro_status status = create(path, text, &error);
  free(text);
  if (status != FARO_OK) return cli_fail(&error);
  char *words[] = {path};
  faro_text line = FARO_TEXT_INIT;
  cli_command_line(&line, &cli_run, 1, words);
  printf("%s\nrun it with: %s\n", path, line.failed ? "faro run" : line.data);
  faro_text_clear(&line);
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  int words = 0;
  const int status = cli_read(&cli_new, NULL, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words == 0) return cli_usage(&cli_new, "NAME is required: NAME.yaml will be written");
  return make(argv[0]);
}

const cli_command cli_new = {
    .name = "new",
    .usage = "new NAME",
    .summary = "write an experiment to start from, with comments",
    .run = run,
    .words = 1,
    .about =
        "Writes NAME.yaml: a small experiment that runs as it is, with a comment for every key. A file that\n"
        "exists is never replaced.\n",
    .help = "examples:\n"
            "  faro new mine\n"
            "  faro run mine.yaml\n",
};
