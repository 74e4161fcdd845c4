/* report: faro report DIR */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "cli/cli.h"

extern char **environ;

typedef struct request {
  bool json, pdf, png;
  faro_figure_size figure; /* of a paper; SCREEN: not asked for */
} request;

static const char *sizes(size_t index) {
  return index <= FARO_FIGURE_TWO_COLUMN ? faro_figure_size_name((faro_figure_size)index) : NULL;
}

static const faro_field options[] = {
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print the results as JSON"},
    {"figure", FARO_FIELD_CHOICE, FARO_AT(request, figure), .words = sizes, .value = "SIZE",
     .help =
         "draw the figure for a paper too: one-column (3.5 inches wide) or two-column (7 inches), without "
         "title and caption"},
    {"pdf", FARO_FIELD_FLAG, FARO_AT(request, pdf), .help = "make a PDF of the figure (needs rsvg-convert)"},
    {"png", FARO_FIELD_FLAG, FARO_AT(request, png),
     .help = "make a PNG of the figure, 300 dots per inch (needs rsvg-convert)"},
};

/* Runs a program and waits for it. */
static faro_status call(const char *const argv[], faro_error *error) {
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], NULL, NULL, (char *const *)argv, environ);
  if (failed == ENOENT)
    return faro_fail(error, FARO_SYSTEM,
                     "%s is not installed; on Debian: apt-get install librsvg2-bin. The SVG was written",
                     argv[0]);
  if (failed) return faro_fail(error, FARO_SYSTEM, "cannot start %s: %s", argv[0], strerror(failed));
  int result = 0;
  while (waitpid(child, &result, 0) < 0)
    if (errno != EINTR) return faro_fail(error, FARO_SYSTEM, "cannot wait for %s", argv[0]);
  if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s failed", argv[0]);
  return FARO_OK;
}

/* Makes x.pdf or x.png of x.svg, and prints its path. 96 units of an SVG are an inch: the zoom
 * makes 300 dots of them. */
static faro_status convert(const char *svg, const char *format, faro_error *error) {
  faro_text out = FARO_TEXT_INIT;
  faro_text_add(&out, "%.*s%s", (int)(strlen(svg) - strlen("svg")), svg, format);
  const char *zoom = strcmp(format, "png") == 0 ? "--zoom=3.125" : "--zoom=1";
  const char *const argv[] = {"rsvg-convert", "--format", format, zoom, "--background-color=white",
                              "--output",     out.data,   svg,    NULL};
  const faro_status status =
      out.failed ? faro_fail(error, FARO_MEMORY, "cannot hold a path") : call(argv, error);
  if (status == FARO_OK) printf("figure: %s\n", out.data);
  faro_text_clear(&out);
  return status;
}

/* The figure as it was asked for: a size, formats. */
static faro_status draw(const faro_report *report, const char *directory, const request *r,
                        faro_error *error) {
  char *svg = NULL;
  faro_status status = faro_report_write_figure(report, directory, r->figure, &svg, error);
  if (status == FARO_OK && r->figure != FARO_FIGURE_SCREEN) {
    printf("figure: %s\n", svg);
    char *caption = faro_report_caption(report);
    if (caption) printf("for its caption: %s\n", caption);
    free(caption);
  }
  if (status == FARO_OK && r->pdf) status = convert(svg, "pdf", error);
  if (status == FARO_OK && r->png) status = convert(svg, "png", error);
  free(svg);
  return status;
}

static int report(const char *directory, const request *r) {
  faro_error error = {0};
  faro_report *loaded = NULL;
  const bool drawn = r->figure != FARO_FIGURE_SCREEN || r->pdf || r->png;
  if (faro_report_load(&loaded, directory, &error) != FARO_OK ||
      faro_report_write(loaded, directory, &error) != FARO_OK) {
    faro_report_destroy(loaded);
    return cli_fail(&error);
  }
  int status =
      cli_print(stdout, r->json ? faro_report_json(loaded) : faro_report_table(loaded, cli_screen(stdout)));
  if (status == EXIT_DONE && !r->json) printf("report: %s/report.html\n", directory);
  (void)fflush(stdout);
  if (status == EXIT_DONE && drawn && draw(loaded, directory, r, &error) != FARO_OK)
    status = cli_fail(&error);
  faro_report_destroy(loaded);
  return status;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_report, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words == 0) return cli_usage(&cli_report, "DIR is required: the directory of a finished run");
  if (r.json && (r.figure != FARO_FIGURE_SCREEN || r.pdf || r.png))
    return cli_usage(&cli_report, "--json prints results only: leave out --figure, --pdf and --png");
  return report(argv[0], &r);
}

const cli_command cli_report = {
    .name = "report",
    .usage = "report DIR [--figure SIZE] [--pdf] [--png] [--json]",
    .summary = "make the table, figure and page of a finished run again",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .about = "DIR is the directory of the results of `faro run`. Everything is made from DIR/run.json.\n",
    .help = "Figures for a paper are NAME-one-column.svg and NAME-two-column.svg beside NAME.svg. --pdf and\n"
            "--png convert the figure that --figure names, or NAME.svg.\n\n"
            "examples:\n"
            "  faro report results/trust-models\n"
            "  faro report results/trust-models --figure one-column --pdf\n",
};
