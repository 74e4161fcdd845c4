/* targets: see the header. */
#include "targets.h"

#include <faro/faro.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "sim/journal.h"

int fuzz_experiment(const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  if (faro_experiment_parse(&experiment, "fuzz.yaml", (const char *)data, size, NULL, &error) == FARO_OK)
    faro_experiment_destroy(experiment);
  else if (error.message[0] == '\0') abort(); /* a refusal says why */
  return 0;
}

int fuzz_override(const uint8_t *data, size_t size) {
  static const char base[] = "environment: {name: linear-fixed}\nhorizon: 100\n"
                             "algorithms: [{learner: linucb, release: local, batch: 2}]\n";
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  char *equals = strchr(text, '=');
  if (equals) {
    *equals = '\0';
    const faro_override override = {.key = text, .value = equals + 1};
    const faro_experiment_options options = {.overrides = &override, .override_count = 1};
    faro_error error = {0};
    faro_experiment *experiment = NULL;
    if (faro_experiment_parse(&experiment, "fuzz.yaml", base, sizeof base - 1, &options, &error) == FARO_OK)
      faro_experiment_destroy(experiment);
    else if (error.message[0] == '\0') abort();
  }
  free(text);
  return 0;
}

int fuzz_run(const uint8_t *data, size_t size) {
  faro_error error = {0};
  faro_report *report = NULL;
  if (faro_report_parse(&report, "run.json", (const char *)data, size, &error) != FARO_OK) return 0;
  free(faro_report_table(report));
  free(faro_report_json(report));
  free(faro_report_summary_csv(report));
  free(faro_report_curves_csv(report));
  free(faro_report_html(report)); /* with the figure in it */
  faro_report_destroy(report);
  return 0;
}

/* The command as a person runs it, on a file; what it prints goes nowhere. */
int fuzz_compose(const uint8_t *data, size_t size) {
  static FILE *nowhere;
  if (!nowhere) nowhere = freopen("/dev/null", "w", stdout);
  char path[] = "/tmp/faro-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return 0;
  const bool written = write(fd, data, size) == (ssize_t)size;
  close(fd);
  char *words[] = {"compose", path, "--delta", "1e-6", "--json"};
  fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  const int null = open("/dev/null", O_WRONLY);
  if (written && saved >= 0 && null >= 0) {
    dup2(null, STDERR_FILENO);
    const int status = cli_account.run(5, words);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    if (status != EXIT_DONE && status != EXIT_USAGE && status != EXIT_INPUT && status != EXIT_SYSTEM) abort();
  }
  if (null >= 0) close(null);
  if (saved >= 0) close(saved);
  (void)remove(path);
  return 0;
}

static bool accept(void *context, uint32_t cell, uint32_t instance, const double *values) {
  (void)context;
  return cell < 8 && instance < 8 && values[0] == values[0];
}

int fuzz_journal(const uint8_t *data, size_t size) {
  char path[] = "/tmp/faro-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return 0;
  const bool written = write(fd, data, size) == (ssize_t)size;
  close(fd);
  static const unsigned char digest[32] = "the digest of the fuzzed journal";
  faro_error error = {0};
  faro_journal *journal = NULL;
  if (written && faro_journal_open(&journal, path, digest, 3, false, accept, NULL, &error) == FARO_OK) {
    const double values[3] = {1, 2, 3};
    if (faro_journal_add(journal, 1, 2, values, &error) != FARO_OK) abort();
    faro_journal_close(journal);
  }
  (void)remove(path);
  return 0;
}
