/* progress: see cli.h. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

void cli_progress_begin(cli_progress *progress, bool quiet) {
  *progress = (cli_progress){.quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1, .start = faro_clock()};
}

static void show_bar(size_t done, size_t total, double rate, double left) {
  enum { WIDTH = 30 };
  const size_t filled = total ? done * WIDTH / total : WIDTH;
  char bar[WIDTH + 1];
  memset(bar, ' ', WIDTH);
  memset(bar, '#', filled);
  bar[WIDTH] = '\0';
  fprintf(stderr, "\r[%s] %zu/%zu instances, %.1f/s, %.0f s left   ", bar, done, total, rate, left);
}

void cli_progress_show(void *context, size_t done, size_t total) {
  cli_progress *progress = context;
  if (progress->quiet) return;
  if (!progress->begun) {
    progress->begun = true;
    progress->first = done;
    if (done > 0) fprintf(stderr, "faro: %zu of %zu instances were saved by an earlier run\n", done, total);
  }
  const double spent = faro_clock() - progress->start;
  const double rate = spent > 0 ? (double)(done - progress->first) / spent : 0;
  const double left = rate > 0 ? (double)(total - done) / rate : 0;
  if (progress->terminal && done > progress->first) show_bar(done, total, rate, left);
  const int tenth = total ? (int)(done * 10 / total) : 10;
  if (!progress->terminal && tenth > progress->tenth &&
      spent - progress->last > 2) { /* nothing for short runs */
    fprintf(stderr, "faro: %zu of %zu instances, %.0f s left\n", done, total, left);
    progress->tenth = tenth;
    progress->last = spent;
  }
}

void cli_progress_end(cli_progress *progress) {
  if (!progress->quiet && progress->terminal && progress->begun) fprintf(stderr, "\r\033[K");
}
