/* completion: faro completion. Prints a bash function that completes commands, options and words,
 * from the tables that the commands are read by. */
#include "cli/cli.h"

static void print_words(faro_words *words) {
  const char *word = NULL;
  for (size_t i = 0; words && (word = words(i)); i++) printf(" %s", word);
}

/* Cases after an option that takes a value: offer its words. Without words, bash offers files. */
static void print_values(const cli_command *command) {
  for (size_t i = 0; i < command->count; i++) {
    const faro_field *option = &command->options[i];
    if (!option->name || option->type == FARO_FIELD_FLAG) continue;
    printf("    '%s --%s') words='", command->name, option->name);
    const char *names[FARO_WORDS_MAX];
    const size_t count = faro_field_words(option, names);
    for (size_t w = 0; w < count; w++) printf(" %s", names[w]);
    printf("' ;;\n");
  }
}

/* All other cases: offer the words of the first argument, and the options. */
static void print_rest(const cli_command *command) {
  printf("    '%s '*) words='", command->name);
  print_words(command->first);
  for (size_t i = 0; i < command->count; i++)
    if (command->options[i].name) printf(" --%s", command->options[i].name);
  printf(" --help' ;;\n");
}

static int run(int argc, char **argv) {
  int words = 0;
  const int status = cli_read(&cli_completion, NULL, argc, argv, &words);
  if (status != CLI_GO) return status;
  printf("# bash completion for faro, made by `faro completion`\n"
         "_faro() {\n"
         "  local before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    words='");
  print_words(cli_command_name);
  printf(" --help --version'\n"
         "  else\n"
         "    case \"${COMP_WORDS[1]} $before\" in\n");
  for (size_t i = 0; cli_command_at(i); i++) {
    print_values(cli_command_at(i));
    print_rest(cli_command_at(i));
  }
  printf("    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _faro faro\n");
  return EXIT_DONE;
}

const cli_command cli_completion = {
    .name = "completion",
    .usage = "completion",
    .summary = "print a completion script for bash",
    .run = run,
    .help = "Save it where bash looks for completions, or load it into this shell:\n"
            "  . <(faro completion)\n",
};
