/* move: faro move sign, consent: addresses and keys of a campaign change; the campaign stays. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "service/analyzer/campaign_move.h"
#include "service/host/host_settings.h"
#include "service/http/listen.h"
#include "service/shuffler/campaign_file.h"
#include "service/shuffler/shuffler_check.h"

typedef struct request {
  const char *config, *campaign, *old_key, *url, *new_key;
  bool dry;
} request;

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, config), .required = true, .value = "FILE",
     .help =
         "sign: the analyzer's settings, with the new addresses and keys; consent: the shuffler's settings"},
    {"campaign", FARO_FIELD_WORD, FARO_AT(request, campaign), .value = "NAME",
     .help = "which one, if the analyzer's settings name a folder of campaigns"},
    {"old-key", FARO_FIELD_WORD, FARO_AT(request, old_key), .value = "FILE",
     .help = "sign: the secret signing key of before, if `sign` is a new one"},
    {"dry-run", FARO_FIELD_FLAG, FARO_AT(request, dry),
     .help = "sign: say what would change, and sign nothing"},
    {"url", FARO_FIELD_WORD, FARO_AT(request, url), .value = "URL",
     .help = "consent: the shuffler's new address; the one it has by default"},
    {"new-key", FARO_FIELD_WORD, FARO_AT(request, new_key), .value = "FILE",
     .help = "consent: the shuffler's new public signing key; the one it has by default"},
};

static int sign(const request *r) {
  static faro_analyzer_settings settings;
  faro_error error = {0};
  faro_text out = FARO_TEXT_INIT;
  faro_status status = faro_host_one_load(r->config, r->campaign, &settings, &error);
  if (status == FARO_OK) status = faro_campaign_move(&settings, r->old_key, r->dry, &out, &error);
  if (status == FARO_OK) return cli_print(stdout, out.failed ? NULL : out.data);
  faro_text_clear(&out);
  return cli_fail(&error);
}

/* What a shuffler knows about its campaign. */
typedef struct joined {
  faro_shuffler_settings settings;
  faro_sign_key key;
  faro_campaign founded, now;
  faro_move move;
  size_t index;
} joined;

static faro_status load(joined *j, const char *config, faro_error *error) {
  faro_place *place = NULL;
  unsigned char founder[FARO_KEY_BYTES];
  const faro_shuffler_settings *s = &j->settings;
  faro_status status = faro_shuffler_settings_load(&j->settings, config, error);
  if (status == FARO_OK && access(s->campaign, F_OK) != 0)
    status = faro_fail(error, FARO_INVALID, "%s: the shuffler has not joined a campaign yet", s->campaign);
  if (status == FARO_OK) status = faro_sign_key_load(s->key, &j->key, error);
  if (status == FARO_OK) status = faro_place_create(&place, s, error);
  if (status == FARO_OK) faro_place_founder(place, founder);
  if (status == FARO_OK) status = faro_campaign_file_load(&j->founded, s->campaign, founder, error);
  j->now = j->founded;
  if (status == FARO_OK) status = faro_place_apply(place, &j->now, error);
  if (status == FARO_OK) faro_place_move(place, &j->founded, &j->move);
  if (status == FARO_OK) status = faro_shuffler_find(&j->now, &j->key, s, &j->index, error);
  faro_place_destroy(place);
  return status;
}

static faro_status consent_row(joined *j, const request *r, faro_text *out, faro_error *error) {
  unsigned char key[FARO_KEY_BYTES], signature[FARO_SIGNATURE_BYTES];
  char digits[2 * FARO_KEY_BYTES + 1], signed_digits[2 * FARO_SIGNATURE_BYTES + 1];
  const faro_campaign_shuffler *now = &j->now.shuffler[j->index];
  const char *url = r->url ? r->url : now->url;
  memcpy(key, now->key, sizeof key);
  faro_status status = faro_url_check("--url", url, j->settings.http.insecure, error);
  if (status == FARO_OK && strlen(url) > FARO_URL_MAX)
    status = faro_fail(error, FARO_INVALID, "--url must have at most %d bytes", FARO_URL_MAX);
  if (status == FARO_OK && r->new_key)
    status = faro_key_load(r->new_key, FARO_SIGN_PUBLIC, key, sizeof key, error);
  if (status != FARO_OK) return status;
  faro_move_consent(&j->move, j->index, url, key, &j->key, signature);
  faro_text_add(out, "  - {url: \"%s\", key: %s,\n    consent: %s}\n", url,
                faro_hex_write(key, sizeof key, digits),
                faro_hex_write(signature, sizeof signature, signed_digits));
  return FARO_OK;
}

static int consent(const request *r) {
  faro_error error = {0};
  faro_text out = FARO_TEXT_INIT;
  joined *j = calloc(1, sizeof *j);
  if (!j) return cli_print(stdout, NULL);
  faro_status status = load(j, r->config, &error);
  if (status == FARO_OK) status = consent_row(j, r, &out, &error);
  sodium_memzero(j, sizeof *j);
  free(j);
  if (status == FARO_OK) return cli_print(stdout, out.failed ? NULL : out.data);
  faro_text_clear(&out);
  return cli_fail(&error);
}

FARO_WORDS(actions, "sign", "consent")

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  size_t action = 0;
  int status = cli_read(&cli_move, &r, argc, argv, &words);
  if (status == CLI_GO) status = cli_choose(&cli_move, "action", words > 0 ? argv[0] : NULL, &action);
  if (status != CLI_GO) return status;
  if (action == 0 && (r.url || r.new_key))
    return cli_usage(&cli_move, "--url and --new-key are for consent; sign reads them from the settings");
  if (action == 1 && (r.old_key || r.dry))
    return cli_usage(&cli_move, "--old-key and --dry-run are for sign");
  if (action == 1 && !r.url && !r.new_key)
    return cli_usage(&cli_move, "--url or --new-key is required: what the shuffler consents to");
  return action == 0 ? sign(&r) : consent(&r);
}

const cli_command cli_move = {
    .name = "move",
    .usage = "move sign|consent --config FILE ...",
    .summary = "change addresses and keys of a campaign, which stays with its budget",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .first = actions,
    .about =
        "sign compares the analyzer's settings with the campaign in its database and signs what differs: "
        "the\n"
        "addresses of analyzer and shufflers, the sealing key, the shufflers' keys, and the signing key "
        "itself.\n"
        "The analyzer must be stopped; from its next start it gives out the move, and clients and shufflers\n"
        "follow. Digest, budget and sequence numbers stay.\n"
        "\n"
        "consent prints a row of `shufflers` for the analyzer's settings, signed by the shuffler's key of "
        "now.\n"
        "Without it nobody can send clients to another shuffler.\n",
    .help = "examples:\n"
            "  faro move consent --config shuffler-0.yaml --url https://other.example.org:8401\n"
            "  faro move sign --config analyzer.yaml --dry-run\n",
};
