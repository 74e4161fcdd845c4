/* options: reads command lines by tables of fields, prints --help from the same tables, and prints
 * errors. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/abort.h"
#include "base/text.h"
#include "cli/cli.h"
#include "service/role/log.h"
#include "sim/settings.h"

enum { WIDTH_LEAST = 40, WIDTH_MOST = 100, OPTION_SIZE = 64, HELP_SIZE = 2 * FARO_ALLOWED };

size_t cli_width(FILE *out) {
  const char *columns = getenv("COLUMNS");
  const long given = columns ? strtol(columns, NULL, 10) : 0;
  struct winsize size = {0};
  if (given > 0) return (size_t)given;
  return isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* The width of help and usage. */
static size_t help_width(FILE *out) {
  const size_t width = cli_width(out);
  if (width == 0 || width > WIDTH_MOST) return WIDTH_MOST;
  return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

void cli_wrap(FILE *out, const char *text, size_t length, size_t width, size_t column, size_t used) {
  const char *end = text + length;
  while (text < end) {
    const size_t word = strcspn(text, " \n");
    if (width > 0 && used > column && used + 1 + word > width) {
      fprintf(out, "\n");
      used = 0;
    }
    const int blanks = used < column ? (int)(column - used) : used > 0;
    fprintf(out, "%*s%.*s", blanks, "", (int)word, text);
    used += (size_t)blanks + word;
    text += word;
    text += strspn(text, " \n");
  }
  fprintf(out, "\n");
}

/* ---- results and errors */

/* Whether the usage names the option: --json, but not in --json-lines. */
static bool mentions(const char *usage, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = usage; (at = strstr(at, "--")); at += 2)
    if (strncmp(at + 2, name, length) == 0 && !strchr("-", at[2 + length]) &&
        !(at[2 + length] >= 'a' && at[2 + length] <= 'z'))
      return true;
  return false;
}

/* Adds a text, wrapped between words that are not in brackets. `*column` is where the line is. */
static void add_wrapped(faro_text *out, const char *text, size_t width, size_t indent, size_t *column) {
  while (*text) {
    size_t length = 0;
    for (int depth = 0; text[length] && (text[length] != ' ' || depth > 0); length++)
      depth += (text[length] == '[' || text[length] == '(') - (text[length] == ']' || text[length] == ')');
    const bool wrap = *column > indent && *column + 1 + length > width;
    if (wrap) faro_text_add(out, "\n%*s", (int)indent, "");
    else if (*column > indent) faro_text_add(out, " ");
    *column = (wrap ? indent : *column + (*column > indent)) + length;
    faro_text_add(out, "%.*s", (int)length, text);
    text += length;
    text += strspn(text, " ");
  }
}

void cli_usage_text(faro_text *text, const cli_command *command, size_t width, size_t indent) {
  const size_t length = strlen(command->usage);
  const bool open = strstr(command->usage, "OPTIONS") || strstr(command->usage, " ... ") ||
                    (length > 4 && strcmp(command->usage + length - 4, " ...") == 0);
  size_t column = indent;
  add_wrapped(text, "faro", width, indent, &column);
  add_wrapped(text, command->usage, width, indent, &column);
  for (size_t i = 0; !open && i < command->count; i++) {
    const faro_field *option = &command->options[i];
    char one[96];
    if (!option->name || mentions(command->usage, option->name)) continue;
    snprintf(one, sizeof one, option->required ? "--%s%s%s" : "[--%s%s%s]", option->name,
             option->value ? " " : "", option->value ? option->value : "");
    add_wrapped(text, one, width, indent, &column);
  }
}

/* A word in quotes if a shell would read it otherwise. */
static void add_quoted(faro_text *text, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  if (*word && strspn(word, plain) == strlen(word)) {
    faro_text_add(text, " %s", word);
    return;
  }
  faro_text_add(text, " '");
  for (; *word; word++) faro_text_add(text, *word == '\'' ? "'\\''" : "%c", *word);
  faro_text_add(text, "'");
}

void cli_command_line(faro_text *text, const cli_command *command, int argc, char **argv) {
  faro_text_add(text, "faro %s", command->name);
  for (int i = 0; i < argc; i++) add_quoted(text, argv[i]);
}

static void print_usage(FILE *out, const cli_command *command) {
  static const char start[] = "usage: ";
  faro_text text = FARO_TEXT_INIT;
  cli_usage_text(&text, command, help_width(out), sizeof start - 1);
  fprintf(out, "%s%s\n", start, text.data ? text.data : command->usage);
  faro_text_clear(&text);
}

int cli_usage(const cli_command *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "faro %s: ", command->name);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\n");
  print_usage(stderr, command);
  fprintf(stderr, "run `faro %s --help` for details\n", command->name);
  return EXIT_USAGE;
}

static int status_of(const faro_error *error) {
  if (error->status == FARO_INTERRUPTED) return EXIT_STOPPED;
  return error->status == FARO_MEMORY || error->status == FARO_SYSTEM ? EXIT_SYSTEM : EXIT_INPUT;
}

int cli_fail(const faro_error *error) {
  fprintf(stderr, "faro: %s\n", error->message);
  return status_of(error);
}

int cli_fail_role(const faro_error *error) {
  if (isatty(STDERR_FILENO)) return cli_fail(error);
  faro_log_error("failed", error);
  return status_of(error);
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
  return EXIT_DONE; /* main checks whether it could be written */
}

/* ---- help */

static const char *option_text(const faro_field *option, char out[static OPTION_SIZE]) {
  snprintf(out, OPTION_SIZE, "--%s%s%s", option->name, option->value ? " " : "",
           option->value ? option->value : "");
  return out;
}

/* The help of a choice begins with its words, because they may come from a registry. */
static const char *help_text(const faro_field *option, char out[static HELP_SIZE]) {
  const char *names[FARO_WORDS_MAX];
  if (option->type != FARO_FIELD_CHOICE) return option->help;
  faro_words_join(names, faro_field_words(option, names), out, FARO_ALLOWED);
  snprintf(out + strlen(out), FARO_ALLOWED, "; %s", option->help);
  return out;
}

/* Prints paragraphs, wrapped; indented lines stay as they are. */
static void print_paragraphs(const char *text) {
  while (*text) {
    size_t length = 0;
    const bool kept = *text == ' ' || *text == '\n';
    do {
      length += strcspn(text + length, "\n");
      length += text[length] == '\n';
    } while (!kept && text[length] && text[length] != ' ' && text[length] != '\n');
    if (kept) printf("%.*s", (int)length, text);
    else cli_wrap(stdout, text, length, help_width(stdout), 0, 0);
    text += length;
  }
}

static void print_options(const cli_command *command) {
  char text[OPTION_SIZE];
  size_t widest = 0;
  for (size_t i = 0; i < command->count; i++) {
    const size_t width = command->options[i].name ? strlen(option_text(&command->options[i], text)) : 0;
    if (width > widest) widest = width;
  }
  for (size_t i = 0; i < command->count; i++) {
    const faro_field *option = &command->options[i];
    if (!option->name) {
      printf("%s%s:\n", i ? "\n" : "", option->help);
      continue;
    }
    char help[HELP_SIZE];
    const int used = printf("  %s", option_text(option, text));
    const char *words = help_text(option, help);
    cli_wrap(stdout, words, strlen(words), help_width(stdout), 2 + widest + 2, (size_t)used);
  }
}

static void print_help(const cli_command *command) {
  printf("%s\n\n", command->summary);
  print_usage(stdout, command);
  printf("\n");
  if (command->about) {
    print_paragraphs(command->about);
    printf("\n");
  }
  print_options(command);
  if (command->help && command->count > 0) printf("\n");
  if (command->help) print_paragraphs(command->help);
}

/* ---- options */

typedef struct line {
  const cli_command *command;
  unsigned char *request;
  int argc, place; /* place: index of the next argument */
  char **argv;
  const char *given[FARO_FIELDS_MAX]; /* the text of each option; NULL: not given */
} line;

/* Whether the word is --KEY or --KEY=... with a key of --set. */
static bool is_key(const char *word) {
  const size_t length = strcspn(word, "=");
  for (faro_key k = 0; word[0] == '-' && word[1] == '-' && k < faro_key_count(); k++)
    if (faro_key_scope(k) != SCOPE_ALGORITHM && strlen(faro_key_name(k)) + 2 == length &&
        strncmp(word + 2, faro_key_name(k), length - 2) == 0)
      return true;
  return false;
}

/* A key of an experiment that was given as an option. */
static int refuse_key(const line *l, const char *word) {
  const int length = (int)strcspn(word, "=");
  const char *next = l->place < l->argc && l->argv[l->place][0] != '-' ? l->argv[l->place] : "VALUE";
  const char *value = word[length] == '=' ? word + length + 1 : next;
  char shown[FARO_SHORT_SIZE];
  return cli_usage(l->command, "unknown option %.*s (did you mean --set %.*s=%s?)", length, word, length - 2,
                   word + 2, faro_shorten(value, strlen(value), shown));
}

static int refuse_option(const line *l, const char *word) {
  const cli_command *command = l->command;
  const char *names[FARO_FIELDS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name && strcmp(command->options[i].name, "set") == 0 && is_key(word))
      return refuse_key(l, word);
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name) names[count++] = command->options[i].name;
  const char *nearest = faro_nearest(word + 2, names, count);
  return cli_usage(command, "unknown option %s%s%s%s", word, nearest ? " (did you mean --" : "",
                   nearest ? nearest : "", nearest ? "?)" : "");
}

/* Reads the value of an option, given as `=text` or as the next argument. */
static int take_value(line *l, size_t row, const char *text) {
  const faro_field *option = &l->command->options[row];
  const faro_node node = {.type = FARO_NODE_TEXT, .origin = FARO_FROM_ARGV, .text = text};
  faro_error error = {0};
  char first[FARO_SHORT_SIZE];
  char second[FARO_SHORT_SIZE];
  if (option->once && l->given[row])
    return cli_usage(l->command, "--%s is given twice (got %s and %s)", option->name,
                     faro_shorten(l->given[row], strlen(l->given[row]), first),
                     faro_shorten(text, strlen(text), second));
  l->given[row] = text;
  if (faro_field_read(option, &node, l->request + option->offset)) return CLI_GO;
  (void)faro_field_refuse(option, "--", option->name, &node, &error);
  return cli_usage(l->command, "%s", error.message);
}

/* `rest` is what follows the option's name in its word: nothing, or "=VALUE". */
static int take_option(line *l, size_t row, const char *rest) {
  const faro_field *option = &l->command->options[row];
  if (option->type == FARO_FIELD_FLAG) {
    if (*rest == '=') return cli_usage(l->command, "--%s takes no value", option->name);
    *(bool *)(l->request + option->offset) = true;
    return CLI_GO;
  }
  if (*rest == '=') return take_value(l, row, rest + 1);
  if (l->place == l->argc) return cli_usage(l->command, "--%s needs a value", option->name);
  return take_value(l, row, l->argv[l->place++]);
}

static int find_option(line *l, const char *word) {
  for (size_t i = 0; word[1] == '-' && i < l->command->count; i++) {
    const char *name = l->command->options[i].name;
    const size_t length = name ? strlen(name) : 0;
    if (length > 0 && strncmp(word + 2, name, length) == 0 &&
        (word[2 + length] == '\0' || word[2 + length] == '='))
      return take_option(l, i, word + 2 + length);
  }
  return refuse_option(l, word);
}

static int check_required(const line *l) {
  for (size_t i = 0; i < l->command->count; i++) {
    const faro_field *option = &l->command->options[i];
    if (option->required && !l->given[i])
      return cli_usage(l->command, "--%s %s is required", option->name, option->value);
  }
  return CLI_GO;
}

int cli_read(const cli_command *command, void *request, int argc, char **argv, int *words) {
  line l = {.command = command, .request = request, .argc = argc, .argv = argv};
  FARO_INVARIANT(command->count <= FARO_FIELDS_MAX);
  *words = 0;
  while (l.place < argc) {
    char *word = argv[l.place++];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      print_help(command);
      return EXIT_DONE;
    }
    int status = CLI_GO;
    if (word[0] == '-' && word[1] != '\0') status = find_option(&l, word);
    else if (*words == command->words) status = cli_usage(command, "unexpected argument %s", word);
    else argv[(*words)++] = word;
    if (status != CLI_GO) return status;
  }
  return check_required(&l);
}

int cli_choose(const cli_command *command, const char *what, const char *word, size_t *index) {
  const char *names[FARO_WORDS_MAX];
  char list[FARO_ALLOWED];
  char hint[FARO_HINT];
  char got[FARO_SHORT_SIZE];
  if (word && faro_words_find(command->first, word, index)) return CLI_GO;
  const size_t count = faro_words_list(command->first, names);
  faro_words_join(names, count, list, sizeof list);
  if (!word) return cli_usage(command, "expected one of: %s", list);
  return cli_usage(command, "unknown %s \"%s\"%s; expected one of: %s", what,
                   faro_shorten(word, strlen(word), got), faro_hint(word, names, count, hint), list);
}
