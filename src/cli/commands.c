/* commands: the table of subcommands. */
#include "cli/cli.h"

const cli_command *cli_command_at(size_t index) {
  static const cli_command *const commands[] = {
#define COMMAND(name) &cli_##name,
#include "cli/commands.def"
#undef COMMAND
  };
  return index < sizeof commands / sizeof *commands ? commands[index] : NULL;
}

const char *cli_command_name(size_t index) {
  const cli_command *command = cli_command_at(index);
  return command ? command->name : NULL;
}
