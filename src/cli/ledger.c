/* ledger: faro ledger explain: the privacy that a campaign has spent, batch by batch. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "service/analyzer/campaign_ledger.h"
#include "service/http/listen.h"
#include "service/http/sender.h"
#include "service/role/json_text.h"

typedef struct request {
  const char *url, *database, *authority;
  bool json;
} request;

static const faro_field options[] = {
    {"url", FARO_FIELD_WORD, FARO_AT(request, url), .value = "URL", .help = "address of a running analyzer"},
    {"database", FARO_FIELD_WORD, FARO_AT(request, database), .value = "FILE",
     .help = "database of an analyzer, running or not"},
    {"authority", FARO_FIELD_WORD, FARO_AT(request, authority), .value = "FILE",
     .help = "certificates to trust for https (PEM); the system's by default"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json),
     .help = "print the ledger as JSON, at most 1000 batches per line"},
};

/* Where the ledger is read from: an analyzer or its database. */
typedef struct source {
  faro_sender *sender;
  const char *url;
  faro_store *store;
  faro_campaign campaign;
} source;

static faro_status fetch(source *s, uint64_t from, json_t **json, faro_error *error) {
  char url[FARO_URL_MAX + 64];
  faro_sent sent = {0};
  size_t length = strlen(s->url);
  while (length > 0 && s->url[length - 1] == '/') length--; /* as copied from a browser */
  if (length > FARO_URL_MAX || snprintf(url, sizeof url, "%.*s/v1/ledger?from=%llu", (int)length, s->url,
                                        (unsigned long long)from) >= (int)sizeof url)
    return faro_fail(error, FARO_INVALID, "the URL is too long");
  const faro_status status = faro_send_get(s->sender, url, &sent, error);
  if (status != FARO_OK) return status;
  if (sent.status == 404)
    return faro_fail(error, FARO_INVALID,
                     "%s has no ledger: --url must be the address of an analyzer, without a path", s->url);
  if (sent.status != 200)
    return faro_fail(error, FARO_SYSTEM, "%s answered with status %ld", s->url, sent.status);
  json_error_t where;
  *json = json_loadb(sent.bytes, sent.length, JSON_REJECT_DUPLICATES, &where);
  char reason[FARO_SHOWN];
  return *json ? FARO_OK
               : faro_fail(error, FARO_INVALID, "this is not a ledger of faro: %s",
                           faro_printable(where.text, reason, sizeof reason));
}

static faro_status next(source *s, uint64_t from, json_t **json, faro_error *error) {
  return s->store ? faro_ledger_json(s->store, &s->campaign, from, json, error) : fetch(s, from, json, error);
}

static faro_status open_store(source *s, const char *path, faro_error *error) {
  faro_blob document = {0};
  unsigned char signer[FARO_KEY_BYTES];
  faro_status status = faro_store_open(&s->store, path, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_store_campaign(s->store, &document, signer, error);
  if (status == FARO_OK && !document.bytes)
    status = faro_fail(error, FARO_INVALID, "%s has no campaign yet", path);
  if (status == FARO_OK)
    status = faro_campaign_open(&s->campaign, (const char *)document.bytes, document.length, signer, error);
  free(document.bytes);
  return status;
}

static faro_status open_source(source *s, const request *r, faro_error *error) {
  if (r->database) return open_store(s, r->database, error);
  const faro_sender_params params = {.authority = r->authority, .limit = 4 << 20};
  const faro_status status = faro_url_check("--url", r->url, true, error); /* a ledger is public */
  if (status != FARO_OK) return status;
  s->url = r->url;
  return faro_sender_create(&s->sender, &params, error);
}

/* Prints all pages of the ledger: in words, or one line of JSON per page. */
static faro_status tell(source *s, const request *r, faro_text *out, faro_error *error) {
  faro_status status = FARO_OK;
  size_t rows = FARO_LEDGER_ROWS;
  json_t *json = NULL;
  for (uint64_t from = 0; status == FARO_OK && rows == FARO_LEDGER_ROWS; from += rows) {
    json_decref(json);
    json = NULL;
    status = next(s, from, &json, error);
    if (status != FARO_OK) break;
    rows = json_array_size(json_object_get(json, "rows"));
    char *text = r->json ? faro_json_to_text(json) : NULL;
    if (text) faro_text_add(out, "%s\n", text);
    free(text);
    if (!r->json && from == 0) status = faro_ledger_explain_head(json, out, error);
    if (!r->json && status == FARO_OK) status = faro_ledger_explain_rows(json, out, error);
  }
  if (status == FARO_OK && !r->json) faro_ledger_explain_end(json, out);
  json_decref(json);
  return status;
}

static int explain(const request *r) {
  faro_error error = {0};
  source s = {0};
  faro_text out = FARO_TEXT_INIT;
  faro_status status = open_source(&s, r, &error);
  if (status == FARO_OK) status = tell(&s, r, &out, &error);
  faro_sender_destroy(s.sender);
  faro_store_close(s.store);
  if (status == FARO_OK && !out.failed) return cli_print(stdout, out.data);
  faro_text_clear(&out);
  return status == FARO_OK ? cli_print(stdout, NULL) : cli_fail(&error);
}

FARO_WORDS(actions, "explain")

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t action = 0;
  int status = cli_read(&cli_ledger, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_ledger, "action", words > 0 ? argv[0] : NULL, &action);
  if (status != CLI_GO) return status;
  if (!r.url == !r.database) return cli_usage(&cli_ledger, "exactly one of --url and --database is required");
  return explain(&r);
}

const cli_command cli_ledger = {
    .name = "ledger",
    .usage = "ledger explain (--url URL | --database FILE) [--authority FILE] [--json]",
    .summary = "show the privacy that each batch of a campaign spent",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = actions,
};
