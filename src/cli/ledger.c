/* ledger: faro ledger explain, verify: the privacy that a campaign has spent, batch by batch, and
 * whether the analyzer has signed just that. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "service/analyzer/ledger_check.h"
#include "service/http/listen.h"
#include "service/http/sender.h"
#include "service/role/json_text.h"
#include "wire/move.h"

typedef struct request {
  const char *url, *database, *authority, *key, *since;
  bool json;
} request;

static const faro_field options[] = {
    {"url", FARO_FIELD_WORD, FARO_AT(request, url), .value = "URL", .help = "address of a running analyzer"},
    {"database", FARO_FIELD_WORD, FARO_AT(request, database), .value = "FILE",
     .help = "database of an analyzer, running or not"},
    {"authority", FARO_FIELD_WORD, FARO_AT(request, authority), .value = "FILE",
     .help = "certificates to trust for https (PEM); the system's by default"},
    {"key", FARO_FIELD_WORD, FARO_AT(request, key), .value = "FILE",
     .help = "the analyzer's public signing key, as you trust it: the ledger is verified against it"},
    {"since", FARO_FIELD_WORD, FARO_AT(request, since), .value = "FILE",
     .help = "verify: keeps the signed head in FILE; the next time, the rows of then must still be there"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json),
     .help = "print the ledger as JSON, at most 1000 batches per line"},
};

/* Where the ledger is read from: an analyzer or its database. */
typedef struct source {
  const request *r;
  faro_sender *sender;
  faro_store *store;
  faro_campaign campaign;            /* from the database; or verified, if there is a key */
  unsigned char key[FARO_KEY_BYTES]; /* pinned, if r->key */
  faro_move move;                    /* if r->key: how the signing key was handed over since */
  uint64_t policy;                   /* version that was published before the ledger was read */
  faro_ledger_check check;
  uint64_t reports; /* in the rows that were explained */
} source;

/* Asks a running analyzer for URL/PATH. */
static faro_status get(source *s, const char *path, faro_sent *sent, faro_error *error) {
  char url[FARO_URL_MAX + 64];
  size_t length = strlen(s->r->url);
  while (length > 0 && s->r->url[length - 1] == '/') length--; /* as copied from a browser */
  if (length > FARO_URL_MAX ||
      snprintf(url, sizeof url, "%.*s%s", (int)length, s->r->url, path) >= (int)sizeof url)
    return faro_fail(error, FARO_INVALID, "the URL is too long");
  const faro_status status = faro_send_get(s->sender, url, sent, error);
  if (status != FARO_OK) return status;
  if (sent->status == 404)
    return faro_fail(error, FARO_INVALID,
                     "%s has no ledger: --url must be the address of an analyzer, without a path", s->r->url);
  if (sent->status != 200)
    return faro_fail(error, FARO_SYSTEM, "%s answered with status %ld", s->r->url, sent->status);
  return FARO_OK;
}

static faro_status fetch(source *s, uint64_t from, json_t **json, faro_error *error) {
  char path[48];
  faro_sent sent = {0};
  snprintf(path, sizeof path, "/v1/ledger?from=%llu", (unsigned long long)from);
  const faro_status status = get(s, path, &sent, error);
  if (status != FARO_OK) return status;
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

/* The signed documents, in memory of their own. */
static faro_status get_document(source *s, const char *path, faro_blob *document, faro_error *error) {
  faro_sent sent = {0};
  const faro_status status = get(s, path, &sent, error);
  if (status != FARO_OK) return status;
  document->bytes = malloc(sent.length + 1);
  if (!document->bytes) return faro_fail(error, FARO_MEMORY, "out of memory");
  memcpy(document->bytes, sent.bytes, sent.length);
  document->length = sent.length;
  return FARO_OK;
}

typedef struct documents {
  faro_blob campaign, policy, move;
  unsigned char founder[FARO_KEY_BYTES]; /* from the database: the key that signed the campaign */
} documents;

/* An analyzer whose campaign has not moved, or one of an earlier version, answers 404. */
static faro_status get_move(source *s, faro_blob *document, faro_error *error) {
  faro_error why = {0};
  const faro_status status = get_document(s, "/v1/move", document, &why);
  if (status == FARO_OK || status == FARO_INVALID) return FARO_OK;
  return faro_fail(error, status, "%s", why.message);
}

static faro_status read_documents(source *s, documents *d, faro_error *error) {
  faro_status status = FARO_OK;
  if (!s->store) {
    status = get_document(s, "/v1/campaign", &d->campaign, error);
    if (status == FARO_OK) status = get_move(s, &d->move, error);
    return status == FARO_OK ? get_document(s, "/v1/policy", &d->policy, error) : status;
  }
  faro_store_state state = {0};
  status = faro_store_campaign(s->store, &d->campaign, d->founder, error);
  if (status == FARO_OK && !d->campaign.bytes)
    status = faro_fail(error, FARO_INVALID, "%s has no campaign yet", faro_store_name(s->r->database));
  if (status == FARO_OK) status = faro_store_move(s->store, &d->move, error);
  if (status == FARO_OK) status = faro_store_state_load(s->store, &state, error);
  d->policy = state.policy;
  state.policy = (faro_blob){0};
  faro_store_state_clear(&state);
  return status;
}

/* Opens what the key of now has signed: the policy, or the plan. */
static faro_status open_policy(source *s, const faro_blob *policy, faro_error *error) {
  const unsigned char *key = faro_move_signer_key(&s->move);
  const char *text = (const char *)policy->bytes;
  unsigned char digest[FARO_DIGEST_BYTES];
  faro_status status = FARO_OK;
  if (!text) return FARO_OK;
  if (faro_campaign_in_phases(&s->campaign)) {
    static faro_plan_document plan;
    status = faro_plan_document_open(&plan, text, policy->length, key, error);
    memcpy(digest, plan.campaign, sizeof digest);
    s->policy = plan.version;
  } else {
    faro_policy_document newest = {0};
    status = faro_policy_document_open(&newest, text, policy->length, key, error);
    memcpy(digest, newest.campaign, sizeof digest);
    s->policy = newest.policy.version;
    faro_policy_document_clear(&newest);
  }
  if (status != FARO_OK || memcmp(digest, s->campaign.digest, sizeof digest) == 0) return status;
  return faro_fail(error, FARO_INVALID, "the policy does not belong to campaign %s", s->campaign.id);
}

/* Verifies campaign, hand-overs of the signing key, and policy under the pinned key. */
static faro_status verify_documents(source *s, const documents *d, faro_error *error) {
  faro_status status = FARO_OK;
  memcpy(s->move.founder, s->key, FARO_KEY_BYTES);
  if (d->move.bytes)
    status = faro_move_open(&s->move, (const char *)d->move.bytes, d->move.length, s->key, error);
  if (status == FARO_OK)
    status = faro_campaign_open(&s->campaign, (const char *)d->campaign.bytes, d->campaign.length,
                                s->move.founder, error);
  if (status == FARO_OK && d->move.bytes)
    status = faro_move_apply(&s->move, &s->campaign, &s->campaign, error);
  return status == FARO_OK ? open_policy(s, &d->policy, error) : status;
}

static faro_status open_documents(source *s, faro_error *error) {
  documents d = {0};
  faro_status status = read_documents(s, &d, error);
  if (status == FARO_OK && s->r->key) status = verify_documents(s, &d, error);
  else if (status == FARO_OK)
    status =
        faro_campaign_open(&s->campaign, (const char *)d.campaign.bytes, d.campaign.length, d.founder, error);
  free(d.campaign.bytes);
  free(d.policy.bytes);
  free(d.move.bytes);
  return status;
}

static faro_status open_source(source *s, faro_error *error) {
  const request *r = s->r;
  faro_status status =
      r->key ? faro_key_load(r->key, FARO_SIGN_PUBLIC, s->key, sizeof s->key, error) : FARO_OK;
  if (status != FARO_OK) return status;
  if (r->database) return faro_store_open(&s->store, r->database, FARO_READ_ONLY, error);
  const faro_sender_params params = {.authority = r->authority, .limit = 4 << 20};
  status = faro_url_check("--url", r->url, true, error); /* a ledger is public */
  return status == FARO_OK ? faro_sender_create(&s->sender, &params, error) : status;
}

static void close_source(source *s) {
  faro_sender_destroy(s->sender);
  faro_store_close(s->store);
  faro_ledger_check_clear(&s->check);
}

/* Calls `each` for every page of the ledger. */
typedef faro_status each_page(source *s, json_t *page, uint64_t from, faro_text *out, faro_error *error);
static faro_status walk(source *s, each_page *each, faro_text *out, faro_error *error) {
  faro_status status = FARO_OK;
  size_t rows = FARO_LEDGER_ROWS;
  for (uint64_t from = 0; status == FARO_OK && rows == FARO_LEDGER_ROWS; from += rows) {
    json_t *page = NULL;
    status = next(s, from, &page, error);
    if (status == FARO_OK) status = each(s, page, from, out, error);
    rows = json_array_size(json_object_get(page, "rows"));
    json_decref(page);
  }
  return status;
}

/* Verifying. */

static faro_status read_since(source *s, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  if (!s->r->since || access(s->r->since, F_OK) != 0) return FARO_OK;
  faro_status status = faro_read_file(s->r->since, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  faro_error inner = {0};
  status = FARO_INVALID; /* any signer since then may have signed it */
  for (size_t i = s->move.signers + 1; status != FARO_OK && !s->check.has_kept && i-- > 0;) {
    inner = (faro_error){0};
    status = faro_ledger_check_since(&s->check, text, length, faro_move_key_at(&s->move, i), &inner);
  }
  free(text);
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s: %.300s", s->r->since, inner.message);
}

/* `out` gets the signed head if the caller keeps it, to compare the next ledger with; else NULL. */
static faro_status check_page(source *s, json_t *page, uint64_t from, faro_text *out, faro_error *error) {
  faro_status status = FARO_OK;
  if (from == 0) {
    status = faro_ledger_check_begin(&s->check, &s->campaign, faro_move_signer_key(&s->move), page, error);
    if (status == FARO_OK && out) status = read_since(s, error);
    if (out && s->r->since) faro_text_add(out, "%s", json_string_value(json_object_get(page, "head")));
  }
  return status == FARO_OK ? faro_ledger_check_rows(&s->check, page, error) : status;
}

static faro_status keep_head(const source *s, const faro_text *head, faro_error *error) {
  return s->r->since ? faro_write_file(s->r->since, head->data, head->length, 0644, error) : FARO_OK;
}

/* What cannot be verified is a failed check; what cannot be read is a failure. */
static int fail_check(const source *s, const faro_error *error) {
  if (!s->r->key || error->status != FARO_INVALID) return cli_fail(error);
  fprintf(stderr, "faro: not verified: %s\n", error->message);
  return EXIT_CHECK;
}

static int verify(const request *r) {
  faro_error error = {0};
  static source s;
  s.r = r;
  faro_text out = FARO_TEXT_INIT, head = FARO_TEXT_INIT;
  faro_status status = open_source(&s, &error);
  int ended = status == FARO_OK ? CLI_GO : cli_fail(&error);
  if (status == FARO_OK) status = open_documents(&s, &error);
  if (status == FARO_OK) status = walk(&s, check_page, &head, &error);
  if (status == FARO_OK) status = faro_ledger_check_end(&s.check, s.policy, &error);
  if (ended == CLI_GO && status != FARO_OK) ended = fail_check(&s, &error);
  if (ended == CLI_GO && keep_head(&s, &head, &error) != FARO_OK) ended = cli_fail(&error);
  if (ended == CLI_GO) faro_ledger_check_tell(&s.check, &out);
  close_source(&s);
  faro_text_clear(&head);
  if (ended == CLI_GO) return cli_print(stdout, out.data);
  faro_text_clear(&out);
  return ended;
}

/* Explaining. */

static faro_status tell_page(source *s, json_t *page, uint64_t from, faro_text *out, faro_error *error) {
  const size_t rows = json_array_size(json_object_get(page, "rows"));
  faro_status status = s->r->key ? check_page(s, page, from, NULL, error) : FARO_OK;
  if (status != FARO_OK) return status;
  if (s->r->key) faro_ledger_check_amend(&s->check, page);
  if (s->r->json) {
    char *text = faro_json_to_text(page);
    faro_text_add(out, "%s\n", text ? text : "");
    free(text);
    return FARO_OK;
  }
  if (from == 0) status = faro_ledger_explain_head(page, s->r->key != NULL, out, error);
  if (status == FARO_OK) status = faro_ledger_explain_rows(page, &s->reports, out, error);
  if (status == FARO_OK && rows < FARO_LEDGER_ROWS) faro_ledger_explain_end(page, out);
  return status;
}

/* Nothing is printed before everything is checked. */
static int explain(const request *r) {
  faro_error error = {0};
  static source s;
  s.r = r;
  faro_text out = FARO_TEXT_INIT;
  faro_status status = open_source(&s, &error);
  int ended = status == FARO_OK ? CLI_GO : cli_fail(&error);
  if (status == FARO_OK && (r->key || r->database)) status = open_documents(&s, &error);
  if (status == FARO_OK) status = walk(&s, tell_page, &out, &error);
  if (status == FARO_OK && r->key) status = faro_ledger_check_end(&s.check, s.policy, &error);
  if (ended == CLI_GO && status != FARO_OK) ended = fail_check(&s, &error);
  close_source(&s);
  if (ended == CLI_GO) return cli_print(stdout, out.failed ? NULL : out.data);
  faro_text_clear(&out);
  return ended;
}

FARO_WORDS(actions, "explain", "verify")

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t action = 0;
  int status = cli_read(&cli_ledger, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_ledger, "action", words > 0 ? argv[0] : NULL, &action);
  if (status != CLI_GO) return status;
  if (!r.url == !r.database) return cli_usage(&cli_ledger, "exactly one of --url and --database is required");
  if (action == 0) return explain(&r);
  if (!r.key) return cli_usage(&cli_ledger, "--key FILE is required to verify (the analyzer's public key)");
  return verify(&r);
}

const cli_command cli_ledger = {
    .name = "ledger",
    .usage = "ledger explain|verify (--url URL | --database FILE) [--key FILE] ...",
    .summary = "show the privacy that each batch of a campaign spent, and prove it",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = actions,
};
