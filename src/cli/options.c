/* options: stepping through arguments, their values, and the ways in which a command ends. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

int cli_usage(const cli_command *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "faro %s: ", command->name);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\nusage: faro %s\n`faro %s --help` tells more\n", command->usage, command->name);
  return EXIT_USAGE;
}

static int bad_option(const cli_command *command, const cli_option *options, size_t count, const char *word) {
  const char *names[32];
  for (size_t i = 0; i < count; i++) names[i] = options[i].name;
  const char *nearest = faro_nearest(word + 2, names, count);
  (void)cli_usage(command, "unknown option %s%s%s%s", word, nearest ? " (did you mean --" : "",
                  nearest ? nearest : "", nearest ? "?)" : "");
  return CLI_BAD;
}

/* `--name=value` or `--name value`. */
static int take(const cli_command *command, const cli_option *option, int index, const char *rest, int argc,
                char **argv, int *place, const char **value) {
  if (!option->takes_value && *rest == '=') {
    (void)cli_usage(command, "--%s takes no value", option->name);
    return CLI_BAD;
  }
  if (!option->takes_value) return index;
  if (*rest == '=') {
    *value = rest + 1;
    return index;
  }
  if (*place == argc) {
    (void)cli_usage(command, "--%s needs a value", option->name);
    return CLI_BAD;
  }
  *value = argv[(*place)++];
  return index;
}

int cli_next(const cli_command *command, const cli_option *options, size_t count, int argc, char **argv,
             int *place, const char **value) {
  if (*place >= argc) return CLI_END;
  const char *word = argv[(*place)++];
  *value = word;
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    printf("%s\n\nusage: faro %s\n\n%s", command->summary, command->usage, command->help);
    return CLI_HELP;
  }
  if (word[0] != '-' || word[1] == '\0') return CLI_WORD;
  if (word[1] != '-') return bad_option(command, options, count, word);
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(options[i].name);
    if (strncmp(word + 2, options[i].name, length) == 0 &&
        (word[2 + length] == '\0' || word[2 + length] == '='))
      return take(command, &options[i], (int)i, word + 2 + length, argc, argv, place, value);
  }
  return bad_option(command, options, count, word);
}

int cli_take_real(const cli_command *command, const char *name, const char *text, double least, double most,
                  double *out) {
  char *end = NULL;
  const double value = strtod(text, &end);
  if (*text == '\0' || *end != '\0' || !(value >= least && value <= most))
    return cli_usage(command, "--%s must be %g .. %.10g (got %s)", name, least, most, text);
  *out = value;
  return EXIT_DONE;
}

int cli_take_count(const cli_command *command, const char *name, const char *text, uint64_t least,
                   uint64_t most, uint64_t *out) {
  char *end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno == ERANGE || value < least || value > most)
    return cli_usage(command, "--%s must be a whole number, %llu .. %llu (got %s)", name,
                     (unsigned long long)least, (unsigned long long)most, text);
  *out = value;
  return EXIT_DONE;
}

int cli_take_choice(const cli_command *command, const char *name, const char *text, const char *const *words,
                    size_t count, size_t *out) {
  char list[CLI_CHOICES * 20] = "";
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(words[i], text) == 0) {
      *out = i;
      return EXIT_DONE;
    }
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  }
  const char *nearest = faro_nearest(text, words, count);
  return cli_usage(command, "--%s must be one of %s (got %s%s%s%s)", name, list, text,
                   nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int cli_fail(const faro_error *error) {
  fprintf(stderr, "faro: %s\n", error->message);
  if (error->status == FARO_INVALID) return EXIT_INPUT;
  return error->status == FARO_INTERRUPTED ? EXIT_STOPPED : EXIT_SYSTEM;
}

int cli_print(FILE *out, char *text) {
  if (!text) {
    fprintf(stderr, "faro: out of memory\n");
    return EXIT_SYSTEM;
  }
  const size_t length = strlen(text);
  fputs(text, out);
  if (length == 0 || text[length - 1] != '\n') fputc('\n', out);
  free(text);
  return EXIT_DONE; /* main looks whether it could be written */
}

int cli_take_shufflers(const cli_command *command, const char *text, uint64_t *shufflers) {
  *shufflers = 0;
  if (strcmp(text, "log") == 0) return EXIT_DONE;
  const int status = cli_take_count(command, "shufflers", text, 1, 50, shufflers);
  if (status != EXIT_DONE) fprintf(stderr, "log is allowed too: a binary tree\n");
  return status;
}
