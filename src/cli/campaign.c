/* campaign: faro campaign list|show|create|open|...: what operators do with the campaigns of an
 * analyzer, through its admin port. */
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "service/http/listen.h"
#include "service/http/sender.h"
#include "service/role/admin.h"
#include "service/role/json_text.h"
#include "wire/wire.h"

typedef struct request {
  const char *url, *token, *authority;
  bool json, insecure;
} request;

static const faro_field options[] = {
    {"url", FARO_FIELD_WORD, FARO_AT(request, url), .required = true, .value = "URL",
     .help = "address of the analyzer's admin port (admin-listen)"},
    {"token", FARO_FIELD_WORD, FARO_AT(request, token), .required = true, .value = "FILE",
     .help = "file with an operator's token, mode 600; its hash is in admin-tokens"},
    {"authority", FARO_FIELD_WORD, FARO_AT(request, authority), .value = "FILE",
     .help = "certificates to trust for https (PEM); the system's by default"},
    {"insecure", FARO_FIELD_FLAG, FARO_AT(request, insecure),
     .help = "send the token over plain http beyond this machine, where others can read it"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print the answer as JSON"},
};

enum { LIST, SHOW, CREATE }; /* the others are what the analyzer does to a campaign */
FARO_WORDS(actions, "list", "show", "create", "open", "pause", "resume", "finish", "archive", "promote")

/* Asking. */

typedef struct session {
  faro_sender *sender;
  char url[FARO_URL_MAX + 1];
} session;

static faro_status open_session(session *s, const request *r, faro_error *error) {
  char header[FARO_ADMIN_HEADER];
  size_t length = strlen(r->url);
  while (length > 0 && r->url[length - 1] == '/') length--; /* as copied from a browser */
  if (length > FARO_URL_MAX) return faro_fail(error, FARO_INVALID, "--url is too long");
  snprintf(s->url, sizeof s->url, "%.*s", (int)length, r->url);
  faro_status status = faro_url_check("--url", s->url, r->insecure, error);
  if (status == FARO_OK) status = faro_admin_header(r->token, header, error);
  if (status != FARO_OK) return status;
  const faro_sender_params params = {
      .authority = r->authority, .header = header, .timeout = 120, .limit = 4 << 20};
  status = faro_sender_create(&s->sender, &params, error);
  sodium_memzero(header, sizeof header);
  return status;
}

/* The text that the analyzer gives as the reason, or the status. */
static faro_status refused(const session *s, const faro_sent *sent, json_t *json, faro_error *error) {
  char reason[FARO_SHOWN + 200];
  const char *text = json_string_value(json_object_get(json, "error"));
  if (text && sent->status != 404)
    return faro_fail(error, sent->status == 503 ? FARO_SYSTEM : FARO_INVALID, "%s",
                     faro_printable(text, reason, sizeof reason));
  if (sent->status == 404)
    return faro_fail(error, FARO_INVALID,
                     "%s has no such campaign, or is not the admin port of an analyzer (admin-listen)",
                     s->url);
  return faro_fail(error, FARO_SYSTEM, "%s answered with status %ld", s->url, sent->status);
}

static faro_status ask(session *s, bool post, const char *path, json_t **json, faro_error *error) {
  char url[FARO_URL_MAX + 2 * FARO_ID_MAX + 64];
  faro_sent sent = {0};
  json_error_t where;
  snprintf(url, sizeof url, "%s%s", s->url, path);
  const faro_status status = post ? faro_send_post(s->sender, url, "", 0, &sent, error)
                                  : faro_send_get(s->sender, url, &sent, error);
  if (status != FARO_OK) return status;
  json_t *answer = json_loadb(sent.bytes, sent.length, JSON_REJECT_DUPLICATES, &where);
  if (sent.status == 200 && answer) {
    *json = answer;
    return FARO_OK;
  }
  const faro_status why = refused(s, &sent, answer, error);
  json_decref(answer);
  return why;
}

/* Printing. Everything from the analyzer is made printable. */

static const char *text_of(const json_t *json, const char *key, char out[static FARO_SHOWN]) {
  const char *text = json_string_value(json_object_get(json, key));
  return faro_printable(text ? text : "", out, FARO_SHOWN);
}

static bool in_phases(const json_t *one) { return json_is_true(json_object_get(one, "phases")); }

static void print_row(const json_t *one) {
  char name[FARO_SHOWN], state[FARO_SHOWN], more[FARO_SHOWN], batches[64] = "";
  json_int_t applied = 0, allowed = 0;
  const bool healthy = json_is_true(json_object_get(one, "healthy"));
  if (json_unpack((json_t *)one, "{s{sI sI}}", "batches", "applied", &applied, "allowed", &allowed) == 0)
    snprintf(batches, sizeof batches, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT, applied, allowed);
  if (*batches && in_phases(one)) /* nobody knows how many there will be */
    snprintf(batches, sizeof batches, "%" JSON_INTEGER_FORMAT " in phases", applied);
  text_of(one, "name", name);
  if (*name == '\0') text_of(one, "id", name);
  printf("%-24s %-10s %-8s %-14s %s\n", name, text_of(one, "state", state), healthy ? "well" : "unwell",
         batches, text_of(one, json_object_get(one, "message") ? "message" : "url", more));
}

static void print_one(const json_t *one) {
  char text[FARO_SHOWN], trust[FARO_SHOWN], level[FARO_SHOWN], pair[FARO_PAIR_SIZE];
  char by[FARO_BY_SIZE];
  const json_t *claim = json_object_get(one, "claim");
  const char *proof = json_string_value(json_object_get(claim, "by"));
  double epsilon = 0, delta = 0;
  json_int_t reports = 0, applied = 0, allowed = 0;
  printf("campaign:  %s\n", text_of(one, json_object_get(one, "id") ? "id" : "name", text));
  printf("state:     %s", text_of(one, "state", text));
  printf("%s\n", json_is_true(json_object_get(one, "healthy")) ? "" : ", not well");
  if (json_object_get(one, "message")) printf("message:   %s\n", text_of(one, "message", text));
  if (json_unpack((json_t *)one, "{sI s{sI sI} s{sF sF}}", "reports", &reports, "batches", "applied",
                  &applied, "allowed", &allowed, "claim", "epsilon", &epsilon, "delta", &delta) != 0)
    return;
  printf("address:   %s\n", text_of(one, "url", text));
  printf("release:   %s\n", text_of(one, "release", text));
  printf("claim:     %s, trust %s, level %s: %s\n", faro_pair_above(epsilon, delta, pair),
         text_of(claim, "trust", trust), text_of(claim, "level", level),
         faro_printable(proof ? proof : "", by, sizeof by));
  json_int_t before = 0;
  if (json_unpack((json_t *)one, "{s{sI sF sF}}", "before", "campaigns", &before, "epsilon", &epsilon,
                  "delta", &delta) == 0 &&
      before > 0)
    printf("in all:    %s, with %" JSON_INTEGER_FORMAT " earlier campaign%s on the same people\n",
           faro_pair_above(epsilon, delta, pair), before, before == 1 ? "" : "s");
  if (in_phases(one))
    printf("batches:   %" JSON_INTEGER_FORMAT " in phases, with %" JSON_INTEGER_FORMAT
           " of at most %" JSON_INTEGER_FORMAT " reports\n",
           applied, json_integer_value(json_object_get(one, "used")), reports);
  else
    printf("batches:   %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
           " reports in all\n",
           applied, allowed, reports);
  if (*text_of(one, "warning", text) != '\0') printf("warning:   %s\n", text);
}

static void print_answer(const json_t *json) {
  const json_t *list = json_object_get(json, "campaigns");
  size_t i = 0;
  json_t *one = NULL;
  if (!list) print_one(json);
  else printf("%-24s %-10s %-8s %-14s %s\n", "campaign", "state", "health", "batches", "address");
  json_array_foreach(list, i, one) print_row(one);
}

static faro_status act(session *s, size_t action, const char *name, json_t **json, faro_error *error) {
  char path[2 * FARO_ID_MAX + 64];
  const char *slash = *name ? "/" : "";
  if (action == LIST) return ask(s, false, "/v1/campaigns", json, error);
  if (action == CREATE) snprintf(path, sizeof path, "/v1/campaigns?name=%s", name);
  else if (action == SHOW) snprintf(path, sizeof path, "%s%s/v1/life", slash, name);
  else snprintf(path, sizeof path, "%s%s/v1/life?do=%s", slash, name, actions(action));
  return ask(s, action != SHOW, path, json, error);
}

/* Names become parts of addresses, so nothing else may be in them. */
static bool is_name(const char *name) {
  return strlen(name) <= FARO_ID_MAX && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t action = 0;
  int status = cli_read(&cli_campaign, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_campaign, "action", words > 0 ? argv[0] : NULL, &action);
  if (status != CLI_GO) return status;
  const char *name = words > 1 ? argv[1] : "";
  if (!is_name(name) || (action == CREATE && *name == '\0') || (action == LIST && *name != '\0'))
    return cli_usage(&cli_campaign,
                     action == LIST ? "list takes no name (got %.80s)"
                                    : "NAME must be lower-case letters, digits and - (got %.80s)",
                     *name ? name : "none");
  faro_error error = {0};
  session s = {0};
  json_t *json = NULL;
  faro_status done = open_session(&s, &r, &error);
  if (done == FARO_OK) done = act(&s, action, name, &json, &error);
  char *text = done == FARO_OK && r.json ? faro_json_to_text(json) : NULL;
  if (text) puts(text);
  else if (done == FARO_OK) print_answer(json);
  free(text);
  json_decref(json);
  faro_sender_destroy(s.sender);
  return done == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

const cli_command cli_campaign = {
    .name = "campaign",
    .usage =
        "campaign list|show|create|open|pause|resume|finish|archive|promote [NAME] --url URL --token FILE",
    .summary = "list an analyzer's campaigns, and open, pause, end and archive them",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 2,
    .first = actions,
    .about = "  list     all campaigns of the analyzer, with their states\n"
             "  show     one campaign: its state and its claim; of a draft, what would be signed\n"
             "  create   read NAME.yaml in the analyzer's folder of campaigns, as a draft\n"
             "  open     sign a draft, and serve it\n"
             "  pause    take no reports or batches, and publish nothing, until it is resumed\n"
             "  resume   go on after a pause, also one of its own (batches-spoiled)\n"
             "  finish   end it before its budget is used up; reports are refused for good\n"
             "  archive  only show what a finished campaign has published\n"
             "  promote  let a standby take over, now; the first analyzer never goes on after that\n",
    .help = "NAME is left out if the analyzer has one campaign only.\n",
};
