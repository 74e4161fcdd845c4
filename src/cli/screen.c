/* screen: what the output can show. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

static size_t width_of(int file) {
  struct winsize size;
  const char *columns = getenv("COLUMNS");
  const long given = columns ? strtol(columns, NULL, 10) : 0;
  if (given > 0 && given < 10000) return (size_t)given;
  return isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

faro_table_style cli_screen(FILE *out) {
  const char *none = getenv("NO_COLOR");
  const char *terminal = getenv("TERM");
  const bool dumb = !terminal || strcmp(terminal, "dumb") == 0;
  return (faro_table_style){.width = width_of(fileno(out)),
                            .colour = isatty(fileno(out)) && !dumb && !(none && *none)};
}
