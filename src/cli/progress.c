/* progress: see cli.h. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

/* Nothing is shown of short work: a second on a terminal, some elsewhere. */
static const double QUIET_TERMINAL = 1;
static const double QUIET_LINES = 5;
/* Plain lines come at once after that, at every tenth, and at least this often, in seconds. */
static const double LINE_EVERY = 60;

const char *cli_duration(double seconds, char out[static CLI_DURATION]) {
  const double minutes = ceil(seconds / 60);
  if (seconds < 59.5) snprintf(out, CLI_DURATION, "%.0f s", fmax(1, ceil(seconds)));
  else if (minutes < 60) snprintf(out, CLI_DURATION, "%.0f min", minutes);
  else if (minutes < 24 * 60)
    snprintf(out, CLI_DURATION, "%.0f h %.0f min", floor(minutes / 60), fmod(minutes, 60));
  else if (seconds < 1000 * 86400.0) snprintf(out, CLI_DURATION, "%.1f days", seconds / 86400);
  else snprintf(out, CLI_DURATION, "years");
  return out;
}

void cli_progress_begin(cli_progress *progress, const char *what, bool quiet) {
  *progress = (cli_progress){
      .what = what, .quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1, .start = faro_clock()};
}

/* ", about 3 min left", or nothing while it cannot be known. */
static const char *time_left(const cli_progress *p, double share, double spent, char out[static 64]) {
  const double gained = share - p->first;
  char duration[CLI_DURATION];
  *out = '\0';
  if (gained > 0 && spent > 0)
    snprintf(out, 64, ", about %s left", cli_duration((1 - share) * spent / gained, duration));
  return out;
}

static void show_bar(const cli_progress *p, double share, size_t done, size_t total, const char *left) {
  enum { WIDTH = 24 };
  const size_t filled = (size_t)(share * WIDTH);
  char bar[WIDTH + 1];
  memset(bar, ' ', WIDTH);
  memset(bar, '#', filled);
  bar[WIDTH] = '\0';
  fprintf(stderr, "\r[%s] %.0f %%, %zu of %zu %s%s\033[K", bar, floor(100 * share), done, total, p->what,
          left);
}

static void show_line(cli_progress *p, double share, size_t done, size_t total, const char *left,
                      double spent) {
  const int tenth = (int)(10 * share);
  const bool again = p->last > 0;
  if (spent - p->last < QUIET_LINES || (again && tenth == p->tenth && spent - p->last < LINE_EVERY)) return;
  fprintf(stderr, "faro: %.0f %% done, %zu of %zu %s%s\n", floor(100 * share), done, total, p->what, left);
  p->tenth = tenth;
  p->last = spent;
}

void cli_progress_show(cli_progress *p, size_t done, size_t total, double share) {
  const double spent = faro_clock() - p->start;
  char left[64];
  share = fmin(1, fmax(0, share));
  if (!p->begun) {
    p->begun = true;
    p->first = share;
    p->tenth = (int)(10 * share);
  }
  p->done = done;
  p->total = total;
  if (p->quiet || spent < (p->terminal ? QUIET_TERMINAL : QUIET_LINES)) return;
  (void)time_left(p, share, spent, left);
  if (p->terminal) show_bar(p, share, done, total, left);
  else show_line(p, share, done, total, left, spent);
  p->shown = true;
}

void cli_progress_end(cli_progress *p) {
  if (p->shown && p->terminal) fprintf(stderr, "\r\033[K");
  p->shown = false;
}
