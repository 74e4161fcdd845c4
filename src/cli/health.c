/* health: faro health URL...: whether roles are well, for people and for the health checks of
 * containers. */
#include <string.h>

#include "cli/cli.h"
#include "service/http/listen.h"
#include "service/http/sender.h"
#include "wire/wire.h"

enum { MOST = 32 }; /* roles, and lines of a reason */

typedef struct request {
  const char *authority;
  double timeout;
} request;

static const faro_field options[] = {
    {"authority", FARO_FIELD_WORD, FARO_AT(request, authority), .value = "FILE",
     .help = "certificates to trust for https (PEM); the system's by default"},
    {"timeout", FARO_FIELD_REAL, FARO_AT(request, timeout), .value = "SECONDS", .above = true, .most = 600,
     .help = "how long a role may take to answer; 5 by default"},
};

/* Prints what an unwell role says about itself, line by line. */
static void print_reasons(const char *url, char *text) {
  int printed = 0;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n")) && printed < MOST;) {
    char shown[FARO_SHOWN];
    if (!*line) continue;
    printf("%s: %s\n", url, faro_printable(line, shown, sizeof shown));
    printed++;
  }
  if (printed == 0) printf("%s: unwell\n", url);
}

/* Whether the role says that it is well. */
static bool ask(faro_sender *sender, const char *url) {
  char address[FARO_URL_MAX + 16];
  faro_error error = {0};
  faro_sent sent = {0};
  size_t length = strlen(url);
  while (length > 0 && url[length - 1] == '/') length--; /* as copied from a browser */
  snprintf(address, sizeof address, "%.*s/healthz", (int)length, url);
  if (faro_send_get(sender, address, &sent, &error) != FARO_OK) {
    const char *why = strstr(error.message, "/healthz: "); /* the message begins with the address */
    printf("%s: no answer: %s\n", url, why ? why + strlen("/healthz: ") : error.message);
    return false;
  }
  if (sent.status == 200) printf("%s: ok\n", url);
  else if (sent.status == 503) print_reasons(url, sent.bytes);
  else printf("%s: status %ld: not a role of faro, or the URL has a path\n", url, sent.status);
  return sent.status == 200;
}

static int run(int argc, char **argv) {
  request r = {.timeout = 5};
  int words = 0;
  faro_error error = {0};
  faro_sender *sender = NULL;
  const int status = cli_read(&cli_health, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (words == 0) return cli_usage(&cli_health, "URL is required (the address of a role)");
  for (int i = 0; i < words; i++) {
    if (strlen(argv[i]) > FARO_URL_MAX) return cli_usage(&cli_health, "URL is too long");
    if (faro_url_check("URL", argv[i], true, &error) != FARO_OK) return cli_fail(&error);
  }
  const faro_sender_params params = {.authority = r.authority, .timeout = r.timeout, .connect = r.timeout};
  if (faro_sender_create(&sender, &params, &error) != FARO_OK) return cli_fail(&error);
  bool well = true;
  for (int i = 0; i < words; i++) well = ask(sender, argv[i]) && well;
  faro_sender_destroy(sender);
  return well ? EXIT_DONE : EXIT_CHECK;
}

const cli_command cli_health = {
    .name = "health",
    .usage = "health URL... [--authority FILE] [--timeout SECONDS]",
    .summary = "ask analyzers and shufflers whether they are well",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = MOST,
    .help =
        "Prints a line for each role: ok, or what is wrong. The exit status is 0 if all are well, and 1 if\n"
        "one is unwell or does not answer.\n",
};
