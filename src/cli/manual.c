/* manual: writes the manual pages. A program of the build, not of the command:
 *
 *     faro_manual DOCS OUT
 *
 * The page of a command is made from its tables: usage, options, what --help says. docs/man/NAME.1
 * may have sections besides: a DESCRIPTION takes the place of the one in --help, EXIT STATUS that
 * of the usual one, EXAMPLES and SEE ALSO are added, and the others come after the options.
 * docs/faro.1 is the overview; its line `.\" COMMANDS` becomes the list of the commands. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "commit.h"

enum { PAGE_MAX = 1 << 20, NAME_MAX_SECTION = 64 };

/* ---- roff */

/* Text for roff. Words in backquotes become bold. */
static void add_text(faro_text *out, const char *text, size_t length) {
  bool bold = false;
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    const bool first = i == 0 || text[i - 1] == '\n';
    if (first && (c == '.' || c == '\'')) faro_text_add(out, "\\&");
    if (c == '`') {
      bold = !bold;
      faro_text_add(out, bold ? "\\fB" : "\\fR");
    } else if (c == '\\') faro_text_add(out, "\\e");
    else if (c == '-') faro_text_add(out, "\\-");
    else if (c == '\n') faro_text_add(out, bold ? " " : "\n");
    else faro_text_add(out, "%c", c);
  }
}

static void add_string(faro_text *out, const char *text) { add_text(out, text, strlen(text)); }

/* The usage, with options in bold and what stands for a value in italics. */
static void add_usage(faro_text *out, const cli_command *command) {
  faro_text usage = FARO_TEXT_INIT;
  cli_usage_text(&usage, command, SIZE_MAX / 2, 0);
  const char *text = usage.data ? usage.data : "";
  while (*text) {
    const bool option = strncmp(text, "--", 2) == 0;
    const size_t length = option ? 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-")
                                 : strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (length == 0) add_text(out, text, 1);
    else {
      faro_text_add(out, option ? "\\fB" : "\\fI");
      add_text(out, text, length);
      faro_text_add(out, "\\fR");
    }
    text += length ? length : 1;
  }
  faro_text_add(out, "\n");
  faro_text_clear(&usage);
}

/* Lines of --help as paragraphs; indented lines stay as they are. Ends before a line "examples:".
 * Returns what was not written. */
static const char *add_paragraphs(faro_text *out, const char *text) {
  bool kept = false; /* within .nf */
  while (*text && strncmp(text, "examples:\n", 10) != 0) {
    const size_t length = strcspn(text, "\n");
    const bool indented = length > 0 && text[0] == ' ';
    if (indented != kept) faro_text_add(out, indented ? ".PP\n.nf\n" : ".fi\n.PP\n");
    else if (length == 0) faro_text_add(out, ".PP\n");
    kept = indented;
    add_text(out, text, length);
    if (length > 0) faro_text_add(out, "\n");
    text += length + (text[length] == '\n');
  }
  if (kept) faro_text_add(out, ".fi\n");
  return text;
}

/* ---- sections that are written by hand */

typedef struct hand {
  char *text; /* NULL: no such file */
} hand;

/* The body of a section, up to the next .SH; NULL if there is none. */
static const char *section(const hand *h, const char *name, size_t *length) {
  char head[NAME_MAX_SECTION + 8];
  snprintf(head, sizeof head, ".SH %s\n", name);
  const char *found = h->text ? strstr(h->text, head) : NULL;
  if (!found) return NULL;
  const char *body = found + strlen(head);
  const char *end = strstr(body, "\n.SH ");
  *length = end ? (size_t)(end - body) + 1 : strlen(body);
  return body;
}

static bool add_section(faro_text *out, const hand *h, const char *name) {
  size_t length = 0;
  const char *body = section(h, name, &length);
  if (body) faro_text_add(out, "%.*s", (int)length, body);
  return body != NULL;
}

/* All sections but those that have a place of their own. */
static void add_others(faro_text *out, const hand *h) {
  static const char *const placed[] = {"DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"};
  for (const char *at = h->text; at && (at = strstr(at, ".SH ")); at += 4) {
    char name[NAME_MAX_SECTION];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 4, "\n"), at + 4);
    bool own = false;
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++) own |= strcmp(placed[i], name) == 0;
    if (own) continue;
    faro_text_add(out, ".SH %s\n", name);
    (void)add_section(out, h, name);
  }
}

/* ---- pages */

static void add_head(faro_text *out, const char *name) {
  faro_text_add(out, ".TH ");
  for (; *name; name++) faro_text_add(out, "%c", toupper((unsigned char)*name));
  faro_text_add(out, " 1 \"%s\" \"faro %s\" \"User commands\"\n", FARO_DATE, faro_version());
}

static void add_option(faro_text *out, const faro_field *option) {
  char allowed[FARO_ALLOWED];
  const char *names[FARO_WORDS_MAX];
  if (!option->name) {
    faro_text_add(out, ".SS ");
    add_string(out, option->help);
    faro_text_add(out, "\n");
    return;
  }
  faro_text_add(out, ".TP\n\\fB");
  add_string(out, "--");
  add_string(out, option->name);
  faro_text_add(out, "\\fR");
  if (option->value) {
    faro_text_add(out, " \\fI");
    add_string(out, option->value);
    faro_text_add(out, "\\fR");
  }
  faro_text_add(out, "\n");
  if (option->type == FARO_FIELD_CHOICE) {
    add_string(out, faro_words_join(names, faro_field_words(option, names), allowed, sizeof allowed));
    faro_text_add(out, "; ");
  }
  add_string(out, option->help);
  faro_text_add(out, "\n");
}

static void add_options(faro_text *out, const cli_command *command) {
  faro_text_add(out, ".SH OPTIONS\n");
  for (size_t i = 0; i < command->count; i++) add_option(out, &command->options[i]);
  if (command->count > 0 && !command->options[0].name) faro_text_add(out, ".SS Help\n");
  faro_text_add(out, ".TP\n\\fB\\-\\-help\\fR\nprint the usage and the options, and exit\n");
}

/* What --help says after the options: notes, and examples. */
static void add_help(faro_text *out, const cli_command *command, const hand *h) {
  faro_text notes = FARO_TEXT_INIT;
  size_t length = 0;
  const char *rest = command->help ? add_paragraphs(&notes, command->help) : "";
  if (notes.length > 0) faro_text_add(out, ".SH NOTES\n%s", notes.data);
  faro_text_clear(&notes);
  add_others(out, h);
  faro_text_add(out, ".SH EXIT STATUS\n");
  if (!add_section(out, h, "EXIT STATUS"))
    faro_text_add(out,
                  "0 done, 1 a check failed, 2 usage, 3 bad input, 4 the system failed, 130 interrupted.\n");
  if (*rest || section(h, "EXAMPLES", &length)) faro_text_add(out, ".SH EXAMPLES\n");
  if (*rest) {
    faro_text_add(out, ".nf\n");
    add_string(out, rest + strlen("examples:\n"));
    faro_text_add(out, ".fi\n");
  }
  (void)add_section(out, h, "EXAMPLES");
}

static void add_page(faro_text *out, const cli_command *command, const hand *h) {
  char name[NAME_MAX_SECTION];
  size_t length = 0;
  snprintf(name, sizeof name, "faro-%s", command->name);
  add_head(out, name);
  faro_text_add(out, ".SH NAME\nfaro\\-%s \\- ", command->name);
  add_string(out, command->summary);
  faro_text_add(out, "\n.SH SYNOPSIS\n");
  add_usage(out, command);
  faro_text_add(out, ".SH DESCRIPTION\n");
  if (!add_section(out, h, "DESCRIPTION")) {
    if (command->about) (void)add_paragraphs(out, command->about);
    else {
      faro_text_add(out, "%c", toupper((unsigned char)command->summary[0]));
      add_string(out, command->summary + 1);
      faro_text_add(out, ".\n");
    }
  }
  add_options(out, command);
  add_help(out, command, h);
  faro_text_add(out, ".SH SEE ALSO\n.BR faro (1)%s\n", section(h, "SEE ALSO", &length) ? "," : "");
  (void)add_section(out, h, "SEE ALSO");
}

static void add_commands(faro_text *out) {
  const cli_command *command = NULL;
  for (size_t i = 0; (command = cli_command_at(i)); i++) {
    faro_text_add(out, ".TP\n.BR faro\\-%s (1)\n", command->name);
    add_string(out, command->summary);
    faro_text_add(out, "\n");
  }
}

/* The overview: its .TH and its list of commands are made here. */
static faro_status add_overview(faro_text *out, const char *text, faro_error *error) {
  static const char mark[] = "\n.\\\" COMMANDS\n";
  const char *start = strchr(text, '\n');
  const char *commands = strstr(text, mark);
  if (strncmp(text, ".TH", 3) != 0 || !start || !commands)
    return faro_fail(error, FARO_INVALID, "faro.1: a line .TH and a line .\\\" COMMANDS are expected");
  add_head(out, "faro");
  faro_text_add(out, "%.*s", (int)(commands - start), start + 1);
  add_commands(out);
  faro_text_add(out, "%s", commands + sizeof mark - 1);
  return FARO_OK;
}

static faro_status write_page(const char *folder, const char *name, faro_text *page, faro_error *error) {
  char path[CLI_PATH];
  snprintf(path, sizeof path, "%s/%s.1", folder, name);
  const faro_status status = page->failed ? faro_fail(error, FARO_MEMORY, "out of memory")
                                          : faro_write_file(path, page->data, page->length, 0666, error);
  faro_text_clear(page);
  return status;
}

/* Reads a file as a string. */
static faro_status read_string(const char *path, char **text, faro_error *error) {
  char *bytes = NULL;
  size_t length = 0;
  const faro_status status = faro_read_file(path, PAGE_MAX, &bytes, &length, error);
  if (status != FARO_OK) return status;
  *text = strndup(bytes, length);
  free(bytes);
  return *text ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
}

static faro_status make_command(const char *docs, const char *folder, const cli_command *command,
                                faro_error *error) {
  char path[CLI_PATH];
  char name[NAME_MAX_SECTION];
  hand h = {NULL};
  faro_text page = FARO_TEXT_INIT;
  snprintf(path, sizeof path, "%s/man/%s.1", docs, command->name);
  snprintf(name, sizeof name, "faro-%s", command->name);
  if (read_string(path, &h.text, NULL) != FARO_OK) h.text = NULL; /* it is optional */
  add_page(&page, command, &h);
  free(h.text);
  return write_page(folder, name, &page, error);
}

int main(int argc, char **argv) {
  faro_error error = {0};
  faro_text page = FARO_TEXT_INIT;
  char path[CLI_PATH];
  char *text = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: faro_manual DOCS OUT\n");
    return EXIT_USAGE;
  }
  snprintf(path, sizeof path, "%s/faro.1", argv[1]);
  faro_status status = read_string(path, &text, &error);
  if (status == FARO_OK) status = add_overview(&page, text, &error);
  if (status == FARO_OK) status = write_page(argv[2], "faro", &page, &error);
  free(text);
  for (size_t i = 0; status == FARO_OK && cli_command_at(i); i++)
    status = make_command(argv[1], argv[2], cli_command_at(i), &error);
  return status == FARO_OK ? EXIT_DONE : cli_fail(&error);
}
