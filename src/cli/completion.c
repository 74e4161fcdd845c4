/* completion: faro completion SHELL. Prints a script that completes commands, options, their values
 * and the settings of --set, from the tables that the commands are read by. */
#include <string.h>

#include "cli/cli.h"
#include "sim/settings.h"

/* Words besides the commands. */
static const char *const besides[] = {"help", "version"};
enum { BESIDES = sizeof besides / sizeof *besides };

static void print_commands(void) {
  for (size_t i = 0; cli_command_at(i); i++) printf(" %s", cli_command_name(i));
}

static void print_words(faro_words *words) {
  const char *word = NULL;
  for (size_t i = 0; words && (word = words(i)); i++) printf(" %s", word);
}

static void print_values(const faro_field *field) {
  const char *names[FARO_WORDS_MAX];
  const size_t count = field->type == FARO_FIELD_FLAG ? 0 : faro_field_words(field, names);
  for (size_t w = 0; w < count; w++) printf(" %s", names[w]);
  if (field->zero && *field->zero >= 'a') printf(" %s", field->zero);
}

/* --set takes every key but those of an algorithm alone. */
static bool is_set(const faro_field *option) { return strcmp(option->name, "set") == 0; }
static bool can_be_set(faro_key key) { return faro_key_scope(key) != SCOPE_ALGORITHM; }

static const char *set_name(faro_key key) {
  return key == FARO_KEY_ENVIRONMENT ? "environment" : faro_key_name(key);
}

static void print_keys(const char *after) {
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (can_be_set(k)) printf(" %s%s", set_name(k), after);
}

/* The words that a key allows; those of a switch too. */
static void print_key_values(faro_key key) {
  const faro_field field = faro_key_field(key);
  const char *names[FARO_WORDS_MAX];
  const size_t count = faro_field_words(&field, names);
  for (size_t w = 0; w < count; w++) printf(" %s", names[w]);
  if (field.zero) printf(" %s", field.zero);
}

static bool has_words(faro_key key) {
  const faro_field field = faro_key_field(key);
  const char *names[FARO_WORDS_MAX];
  return field.zero || faro_field_words(&field, names) > 0;
}

/* Calls `print` for each key of --set that has words. */
static void each_key(void (*print)(faro_key)) {
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (can_be_set(k) && has_words(k)) print(k);
}

/* ---- bash */

static void bash_option(const cli_command *command, const faro_field *option) {
  if (option->type == FARO_FIELD_FLAG) return;
  printf("    '%s --%s') words='", command->name, option->name);
  if (is_set(option)) print_keys("=");
  else print_values(option);
  printf("'%s ;;\n", is_set(option) ? "; compopt -o nospace 2>/dev/null" : "");
}

/* After an option that takes a value, its words, or nothing: then bash offers files. Elsewhere the
 * words of the first argument, and the options. */
static void bash_command(const cli_command *command) {
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name) bash_option(command, &command->options[i]);
  printf("    '%s '*) words='", command->name);
  print_words(command->first);
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name) printf(" --%s", command->options[i].name);
  printf(" --help'");
  if (command->list) printf("; words+=\" $(_faro_list %s)\"", command->list);
  printf(" ;;\n");
}

static void bash_key(faro_key key) {
  printf("    %s) words='", set_name(key));
  print_key_values(key);
  printf("' ;;\n");
}

static void print_bash(void) {
  printf("# bash completion for faro, made by `faro completion bash`\n"
         "_faro_list() { \"${COMP_WORDS[0]}\" list \"$1\" 2>/dev/null | sed 's/^ *\\([^ ]*\\).*/\\1/'; }\n"
         "_faro() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} key= words=\n"
         "  # an equals sign is a word of its own\n"
         "  if [ \"$word\" = = ]; then key=$before word=\n"
         "  elif [ \"$before\" = = ]; then key=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    words='");
  print_commands();
  for (size_t i = 0; i < BESIDES; i++) printf(" %s", besides[i]);
  printf(" --help --version'\n"
         "  elif [ -n \"$key\" ] && [ \"${key#--}\" = \"$key\" ]; then\n"
         "    case $key in\n");
  each_key(bash_key);
  printf("    esac\n"
         "  else\n"
         "    case \"${COMP_WORDS[1]} ${key:-$before}\" in\n"
         "    'help help') words='");
  print_commands();
  printf("' ;;\n");
  for (size_t i = 0; cli_command_at(i); i++) bash_command(cli_command_at(i));
  printf("    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _faro faro\n");
}

/* ---- zsh */

/* A text in single quotes, with \ before the characters in `special`. */
static void print_escaped(const char *text, const char *special) {
  for (; *text; text++) {
    if (*text == '\'') printf("'\\''");
    else printf(strchr(special, *text) ? "\\%c" : "%c", *text);
  }
}

static void zsh_option(const faro_field *option) {
  printf(" \\\n      '%s--%s[", is_set(option) ? "*" : "", option->name);
  print_escaped(option->help, "[]:\\");
  printf("]");
  const char *names[FARO_WORDS_MAX];
  if (option->type != FARO_FIELD_FLAG) {
    printf(":%s:", option->value ? option->value : "value");
    if (is_set(option)) printf("_faro_set");
    else if (faro_field_words(option, names) > 0 || option->zero) {
      printf("(");
      print_values(option);
      printf(")");
    } else printf("_files");
  }
  printf("'");
}

static void zsh_command(const cli_command *command) {
  printf("    %s) _arguments", command->name);
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name) zsh_option(&command->options[i]);
  printf(" \\\n      '--help[print help]'");
  if (command->first) {
    printf(" \\\n      '1:word:(");
    print_words(command->first);
    printf(")'");
  } else if (command->list) printf(" \\\n      '1:name:{_faro_list %s; _files}'", command->list);
  if (command->words > (command->first || command->list ? 1 : 0)) printf(" \\\n      '*:file:_files'");
  printf(" ;;\n");
}

static void zsh_key(faro_key key) {
  printf("    %s=*) compset -P '*='; compadd --", set_name(key));
  print_key_values(key);
  printf(" ;;\n");
}

static void print_zsh(void) {
  printf("#compdef faro\n"
         "# zsh completion for faro, made by `faro completion zsh`\n"
         "_faro_list() { compadd -- $(faro list $1 2>/dev/null | sed 's/^ *\\([^ ]*\\).*/\\1/'); }\n"
         "_faro_set() {\n"
         "  case $PREFIX in\n");
  each_key(zsh_key);
  printf("    *) compadd -S '' --");
  print_keys("=");
  printf(" ;;\n"
         "  esac\n"
         "}\n"
         "_faro() {\n"
         "  local -a commands=(");
  for (size_t i = 0; cli_command_at(i); i++) {
    printf("\n    '%s:", cli_command_name(i));
    print_escaped(cli_command_at(i)->summary, ":\\");
    printf("'");
  }
  printf("\n    'help:explain a command'\n    'version:print the version')\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=${words[2]}\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n"
         "    help) _describe command commands ;;\n");
  for (size_t i = 0; cli_command_at(i); i++) zsh_command(cli_command_at(i));
  printf("  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _faro ]; then _faro \"$@\"; else compdef _faro faro; fi\n");
}

/* ---- fish */

static void fish_text(const char *text) {
  printf("'");
  for (; *text; text++) printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
  printf("'");
}

static void fish_option(const cli_command *command, const faro_field *option) {
  const char *names[FARO_WORDS_MAX];
  printf("complete -c faro -n '__fish_seen_subcommand_from %s' -l %s -d ", command->name, option->name);
  fish_text(option->help);
  if (option->type != FARO_FIELD_FLAG) {
    if (is_set(option)) printf(" -x -a '(__faro_set)'");
    else if (faro_field_words(option, names) > 0 || option->zero) {
      printf(" -x -a '");
      print_values(option);
      printf("'");
    } else printf(" -r");
  }
  printf("\n");
}

static void fish_command(const cli_command *command) {
  printf("complete -c faro -n __fish_use_subcommand -f -a %s -d ", command->name);
  fish_text(command->summary);
  printf("\n");
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name) fish_option(command, &command->options[i]);
  printf("complete -c faro -n '__fish_seen_subcommand_from %s' -l help -d 'print help'\n", command->name);
  if (command->first) {
    printf("complete -c faro -n '__fish_seen_subcommand_from %s' -f -a '", command->name);
    print_words(command->first);
    printf("'\n");
  } else if (command->list)
    printf(
        "complete -c faro -n '__fish_seen_subcommand_from %s' -a '(faro list %s 2>/dev/null | string trim | "
        "string replace -r \" .*\" \"\")'\n",
        command->name, command->list);
}

static void fish_key(faro_key key) {
  printf("  printf '%%s\\n'");
  const faro_field field = faro_key_field(key);
  const char *names[FARO_WORDS_MAX];
  const size_t count = faro_field_words(&field, names);
  for (size_t w = 0; w < count; w++) printf(" %s=%s", set_name(key), names[w]);
  if (field.zero) printf(" %s=%s", set_name(key), field.zero);
  printf("\n");
}

static void print_fish(void) {
  printf("# fish completion for faro, made by `faro completion fish`\n"
         "function __faro_set\n"
         "  printf '%%s\\n'");
  print_keys("=");
  printf("\n");
  each_key(fish_key);
  printf("end\n");
  for (size_t i = 0; cli_command_at(i); i++) fish_command(cli_command_at(i));
  printf("complete -c faro -n __fish_use_subcommand -f -a help -d 'explain a command'\n"
         "complete -c faro -n __fish_use_subcommand -f -a version -d 'print the version'\n"
         "complete -c faro -n '__fish_seen_subcommand_from help' -f -a '");
  print_commands();
  printf("'\n");
}

/* ---- the command */

static const struct {
  const char *name;
  void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
enum { SHELLS = sizeof shells / sizeof *shells };

static const char *shell_name(size_t index) { return index < SHELLS ? shells[index].name : NULL; }

static int run(int argc, char **argv) {
  int words = 0;
  size_t shell = 0;
  int status = cli_read(&cli_completion, NULL, argc, argv, &words);
  if (status == CLI_GO && words > 0) status = cli_choose(&cli_completion, "shell", argv[0], &shell);
  if (status != CLI_GO) return status;
  shells[shell].print();
  return EXIT_DONE;
}

const cli_command cli_completion = {
    .name = "completion",
    .usage = "completion [bash | zsh | fish]",
    .summary = "print a completion script for bash, zsh or fish",
    .run = run,
    .words = 1,
    .first = shell_name,
    .help = "`make install` puts the scripts where the shells look for them. To load one into this shell:\n"
            "  . <(faro completion bash)\n"
            "  . <(faro completion zsh)\n"
            "  faro completion fish | source\n",
};
