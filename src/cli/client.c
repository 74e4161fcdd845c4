/* client: faro client --config FILE
 *
 * Reads rounds from standard input. A round is two lines:
 *
 *   0.8 0 0.6; 0 0.8 0.6     the arms: blanks or commas between features, semicolons between arms
 *   0.9                      the reward of the chosen arm; empty or "-": nothing is reported
 *
 * After the first line it prints the number of the chosen arm, from 0. A choice with a name may get
 * its reward much later, in another run:
 *
 *   order-17: 0.8 0 0.6; 0 0.8 0.6
 *   order-17 = 0.9
 *
 * In a campaign in phases the plan says what to play. It prints an arm, and how many rewards of it
 * are asked for; then each line is a reward of that arm, and it prints the next one:
 *
 *   0.9                      the reward of the arm that was printed last; empty or "-": none
 *   2 = 0.9                  the reward of arm 2, which an earlier run has printed
 *
 * What could not be delivered stays in the state (faro/queue.h), and the next run delivers it. */
#include <faro/queue.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "client/client_inner.h"
#include "service/client/client_place.h"
#include "service/client/client_settings.h"
#include "service/http/listen.h"
#include "service/role/process.h"

typedef struct request {
  faro_client_settings settings;
  const char *file; /* settings in YAML */
  bool send, dry, show, check, flush;
} request;

#define SETTING(member) FARO_AT(request, settings.member)

static const faro_field options[] = {
    {"config", FARO_FIELD_WORD, FARO_AT(request, file), .value = "FILE",
     .help =
         "settings in YAML: analyzer, standby, key, token, state, authority, epsilon, delta, trust, level, "
         "honest, insecure, fixed, shufflers; options replace them; see faro-client(1)"},
    {"analyzer", FARO_FIELD_TEXT, SETTING(analyzer), .value = "URL",
     .help = "address of the analyzer, which publishes the campaign and the policies"},
    {"standby", FARO_FIELD_TEXT, SETTING(standby), .value = "URL",
     .help = "address of the analyzer's standby, which is asked if the analyzer does not answer"},
    {"key", FARO_FIELD_TEXT, SETTING(key_file), .value = "FILE",
     .help = "the analyzer's public signing key, from `faro keys sign`"},
    {"token", FARO_FIELD_TEXT, SETTING(token), .value = "FILE",
     .help = "a file with one token from `faro keys tokens`"},
    {"state", FARO_FIELD_TEXT, SETTING(state), .value = "FILE",
     .help =
         "keeps what the client has spent, choices without a reward, and reports that were not delivered; "
         "required to send; one run at a time may use it"},
    {"authority", FARO_FIELD_TEXT, SETTING(authority), .value = "FILE",
     .help = "certificates to trust for TLS; the system's by default"},
    {"epsilon", FARO_FIELD_REAL, SETTING(epsilon), .least = 1e-4, .most = 1000, .value = "E",
     .help = "the largest epsilon to accept in a campaign; 1 by default"},
    {"delta", FARO_FIELD_REAL, SETTING(delta), .most = 0.999, .value = "D",
     .help = "the largest delta to accept; 1e-6 by default"},
    {"trust", FARO_FIELD_CHOICE, SETTING(trust), .words = faro_client_trusts, .value = "T",
     .help = "the weakest trust model to accept; shuffle by default"},
    {"level", FARO_FIELD_CHOICE, SETTING(level), .words = faro_client_levels, .value = "L",
     .help = "event accepts guarantees for single reports too; user by default"},
    {"honest", FARO_FIELD_REAL, SETTING(honest), .most = 1, .value = "H",
     .help = "the greatest share of a batch whose noise the claim may count on; 0.95 by default; 1: any"},
    {"insecure", FARO_FIELD_FLAG, SETTING(insecure),
     .help = "allow plain http:// beyond this machine: listeners can read the token"},
    {"fixed", FARO_FIELD_FLAG, SETTING(fixed),
     .help = "refuse all moves: use the addresses and keys of the campaign and of the settings only"},
    {"send", FARO_FIELD_FLAG, FARO_AT(request, send), .help = "send the reports: the default"},
    {"flush", FARO_FIELD_FLAG, FARO_AT(request, flush),
     .help = "deliver what waits in the state, read nothing, and exit"},
    {"dry-run", FARO_FIELD_FLAG, FARO_AT(request, dry), .help = "choose and encode, but send nothing"},
    {"show", FARO_FIELD_FLAG, FARO_AT(request, show), .help = "print the campaign and its claim, and exit"},
    {"check-config", FARO_FIELD_FLAG, FARO_AT(request, check), .help = "check the settings, and exit"},
};

/* Checks that nothing is missing. The state is required: a client that forgets its sequence number
 * forgets what it spent. */
static int check(const request *r) {
  const faro_client_settings *c = &r->settings;
  if (r->send && r->dry) return cli_usage(&cli_client, "--send and --dry-run exclude each other");
  if (r->flush && (r->dry || r->show))
    return cli_usage(&cli_client, "--flush sends: it excludes --dry-run and --show");
  if (!*c->analyzer)
    return cli_usage(&cli_client, "--analyzer URL is required (or --config FILE with the key analyzer)");
  if (!c->key_set && !*c->key_file)
    return cli_usage(&cli_client, "--key FILE is required (the analyzer's public key)");
  if (!*c->token && !r->show) return cli_usage(&cli_client, "--token FILE is required (this client's token)");
  if (!*c->state && !r->show && !r->dry)
    return cli_usage(&cli_client,
                     "--state FILE is required to send reports (--dry-run and --show do without)");
  faro_error error = {0};
  faro_status status = faro_url_check("analyzer", c->analyzer, c->insecure, &error);
  if (status == FARO_OK && *c->standby) status = faro_url_check("standby", c->standby, c->insecure, &error);
  return status == FARO_OK ? CLI_GO : cli_fail(&error);
}

/* Options replace what the file says, in any order: they are read again after it. */
static int read_request(request *r, int argc, char **argv) {
  const request defaults = *r;
  int words = 0;
  int status = cli_read(&cli_client, r, argc, argv, &words);
  if (status == CLI_GO && r->file) {
    const char *file = r->file;
    faro_error error = {0};
    *r = defaults;
    if (faro_client_settings_load(&r->settings, file, &error) != FARO_OK) return cli_fail(&error);
    status = cli_read(&cli_client, r, argc, argv, &words);
  }
  return status == CLI_GO ? check(r) : status;
}

/* A session with one analyzer. */
typedef struct session {
  const request *r;
  faro_client *client;
  faro_sender *sender;
  faro_client_place place;
  faro_queue *queue;      /* NULL: no state */
  faro_campaign campaign; /* a copy, for its bounds */
  unsigned char *parts;
  double *features;
  size_t parts_size;      /* bytes of `parts` */
  size_t room;            /* numbers in `features` */
  size_t line;            /* number of the current input line */
  size_t refused;         /* number of refused reports */
  faro_queue_counts seen; /* as far as the user was told */
  bool down;              /* a receiver did not answer: this run does not try again */
  size_t looked;          /* how often this delivery has asked for collectors */
  char why[256];          /* what it did instead */
} session;

static faro_status load_keys(const request *r, unsigned char key[static FARO_KEY_BYTES],
                             unsigned char token[static FARO_TOKEN_BYTES], faro_error *error) {
  faro_status status = FARO_OK;
  if (*r->settings.key_file)
    status = faro_key_load(r->settings.key_file, FARO_SIGN_PUBLIC, key, FARO_KEY_BYTES, error);
  else memcpy(key, r->settings.key, FARO_KEY_BYTES);
  memset(token, 0, FARO_TOKEN_BYTES);
  if (status != FARO_OK || !*r->settings.token) return status;
  unsigned char *tokens = NULL;
  size_t count = 0;
  status = faro_tokens_load(r->settings.token, &tokens, &count, error);
  if (status == FARO_OK && count != 1)
    status = faro_fail(error, FARO_INVALID, "%s must contain one token (it contains %zu)", r->settings.token,
                       count);
  if (status == FARO_OK) memcpy(token, tokens, FARO_TOKEN_BYTES);
  if (tokens) sodium_memzero(tokens, count * FARO_TOKEN_BYTES);
  free(tokens);
  return status;
}

/* Fetches the newest move and the campaign for the client. */
static faro_status fetch_campaign(session *s, faro_error *error) {
  const faro_client_settings *c = &s->r->settings;
  faro_sent sent;
  faro_status status =
      faro_client_place_open(&s->place, s->client, c->analyzer, c->state, !s->r->dry && !s->r->show, error);
  snprintf(s->place.second, sizeof s->place.second, "%s", c->standby);
  if (status == FARO_OK && !c->fixed) status = faro_client_place_look(&s->place, s->client, s->sender, error);
  if (status == FARO_OK) {
    faro_error why = {0};
    status = faro_client_fetch_campaign(s->client, s->sender, s->place.address, &sent, &why);
    if (status == FARO_SYSTEM && faro_client_place_turn(&s->place))
      status = faro_client_fetch_campaign(s->client, s->sender, s->place.address, &sent, error);
    else if (status != FARO_OK) (void)faro_fail(error, status, "%s", why.message);
  }
  if (status == FARO_OK && !c->fixed && !faro_client_place_settled(&s->place, s->client))
    status = faro_client_place_look(&s->place, s->client, s->sender, error);
  if (status == FARO_OK) s->campaign = *faro_client_view(s->client);
  return status;
}

/* Fetches the newest policy. If it is refused, or nobody answers, the campaign may have moved. */
static faro_status fetch_policy(session *s, uint64_t after, faro_error *error) {
  bool fresh = false;
  faro_error why = {0};
  const uint64_t before = faro_client_moved(s->client);
  faro_status status =
      faro_client_fetch_policy(s->client, s->sender, s->place.address, after, false, &fresh, &why);
  if (status == FARO_SYSTEM && faro_client_place_turn(&s->place)) {
    why = (faro_error){0};
    status = faro_client_fetch_policy(s->client, s->sender, s->place.address, after, false, &fresh, &why);
  }
  if ((status == FARO_INVALID || status == FARO_SYSTEM) && !s->r->settings.fixed &&
      faro_client_place_look(&s->place, s->client, s->sender, NULL) == FARO_OK &&
      faro_client_moved(s->client) > before) {
    why = (faro_error){0};
    s->campaign = *faro_client_view(s->client);
    status = faro_client_fetch_policy(s->client, s->sender, s->place.address, after, false, &fresh, &why);
  }
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", why.message);
}

/* A run that changes nothing only looks at the state. */
static faro_status open_queue(session *s, faro_error *error) {
  const faro_queue_params params = {.path = s->r->settings.state, .reading = s->r->dry || s->r->show};
  if (!*params.path) return FARO_OK;
  const faro_status status = faro_queue_open(&s->queue, &params, error);
  if (status == FARO_OK) s->seen = faro_queue_count(s->queue);
  return status;
}

static faro_status open_client(session *s, const unsigned char *key, const unsigned char *token,
                               faro_error *error) {
  const faro_client_settings *c = &s->r->settings;
  unsigned char keys[FARO_SHUFFLERS_MAX][FARO_KEY_BYTES];
  const char *urls[FARO_SHUFFLERS_MAX];
  for (size_t i = 0; i < c->shufflers; i++) {
    memcpy(keys[i], c->shuffler[i].key, FARO_KEY_BYTES);
    urls[i] = c->shuffler[i].url;
  }
  faro_client_params params = {.signer = key,
                               .token = token,
                               .epsilon = c->epsilon,
                               .delta = c->delta,
                               .trust = faro_client_trusts(c->trust),
                               .user_level = c->level == 1,
                               .honest = c->honest,
                               .insecure = c->insecure,
                               .fixed = c->fixed,
                               .shufflers = c->shufflers > 0 ? keys[0] : NULL,
                               .shuffler_urls = c->shufflers > 0 ? urls : NULL,
                               .shuffler_count = c->shufflers};
  if (s->queue) faro_queue_restore(s->queue, &params);
  return faro_client_open(&s->client, &params, error);
}

static faro_status open_session(session *s, faro_error *error) {
  const faro_client_settings *c = &s->r->settings;
  unsigned char key[FARO_KEY_BYTES], token[FARO_TOKEN_BYTES];
  faro_status status = load_keys(s->r, key, token, error);
  if (status == FARO_OK) status = open_queue(s, error);
  const faro_sender_params params = {.authority = *c->authority ? c->authority : NULL};
  if (status == FARO_OK) status = open_client(s, key, token, error);
  sodium_memzero(token, sizeof token);
  if (status == FARO_OK) status = faro_sender_create(&s->sender, &params, error);
  if (status == FARO_OK) status = fetch_campaign(s, error);
  if (status != FARO_OK) return status;
  s->parts_size = faro_client_parts(s->client) * faro_client_part_size(s->client);
  s->parts = malloc(s->parts_size);
  s->room = (size_t)s->campaign.arms * s->campaign.contribution.dimension;
  s->features = calloc(s->room, sizeof *s->features);
  return s->parts && s->features ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
}

static void close_session(session *s) {
  faro_client_close(s->client);
  faro_sender_destroy(s->sender);
  if (s->parts) sodium_memzero(s->parts, s->parts_size);
  if (s->features) sodium_memzero(s->features, s->room * sizeof *s->features);
  free(s->parts);
  free(s->features);
  faro_queue_close(s->queue);
}

/* Whose noise protects a client. */
static void show_honest(const faro_campaign *c) {
  const faro_trust trust = c->claim.trust;
  if (trust != FARO_TRUST_SHUFFLE && trust != FARO_TRUST_CONCURRENT) return;
  printf("honest:    %g: the claim counts on the noise of this share of the reports in each batch%s\n",
         c->params.honest, c->params.honest == 1 ? "; nobody in it may collude with the analyzer" : "");
}

/* The shufflers as they are now, and what to pin if they were founded elsewhere. */
static void show_shufflers(const faro_client *client) {
  char print[FARO_FINGERPRINT_SIZE];
  char digits[2 * FARO_KEY_BYTES + 1];
  const unsigned char *key = NULL;
  for (size_t i = 0; (key = faro_client_shuffler_key(client, i)); i++) {
    const char *url = faro_client_shuffler_url(client, i);
    const unsigned char *pin = faro_client_pin_key(client, i);
    const char *pin_url = faro_client_pin_url(client, i);
    printf("shuffler:  %s, key %s\n           %s\n", url, faro_fingerprint(key, print),
           sodium_bin2hex(digits, sizeof digits, key, FARO_KEY_BYTES));
    if (strcmp(url, pin_url) != 0 || memcmp(key, pin, FARO_KEY_BYTES) != 0)
      printf("           pin it as it was founded: %s, key\n           %s\n", pin_url,
             sodium_bin2hex(digits, sizeof digits, pin, FARO_KEY_BYTES));
  }
}

/* Who holds the second share of split counts. */
static void show_adders(const faro_campaign *c) {
  char print[FARO_FINGERPRINT_SIZE];
  char digits[2 * FARO_KEY_BYTES + 1];
  for (size_t i = 0; i < c->adders; i++)
    printf("adder:     key %s; counts are split between it and its shuffler; neither sees them\n"
           "           if it follows the protocol\n"
           "           %s\n",
           faro_fingerprint(c->adder[i].key, print),
           sodium_bin2hex(digits, sizeof digits, c->adder[i].key, FARO_KEY_BYTES));
}

static void show_queue(const session *s) {
  const faro_queue_counts c = faro_queue_count(s->queue);
  printf("waiting:   %zu report%s to deliver, %zu choice%s without a reward\n", c.waiting,
         c.waiting == 1 ? "" : "s", c.open, c.open == 1 ? "" : "s");
  printf("so far:    %" PRIu64 " delivered, %" PRIu64 " refused, %" PRIu64 " too late, %" PRIu64 " dropped\n",
         c.delivered, c.refused, c.late, c.dropped);
  if (faro_campaign_in_phases(&s->campaign))
    printf("plans:     %" PRIu64 " ended before what was played for them could count\n", c.ended);
  if (faro_campaign_in_rounds(&s->campaign))
    printf("fits:      %" PRIu64 " answered, %zu choice%s kept for more\n", c.again, c.kept,
           c.kept == 1 ? "" : "s");
}

/* What the plan asks for, with what the state says about it. */
static void show_turn(const session *s) {
  size_t arm = 0;
  bool counts = false;
  const faro_status status = s->queue ? faro_queue_turn(s->queue, s->client, &arm, &counts, NULL)
                                      : faro_client_next(s->client, &arm, &counts, NULL);
  if (status == FARO_OK && counts)
    printf("plan:      play arm %zu; %" PRIu64 " reward%s asked for\n", arm, faro_client_left(s->client),
           faro_client_left(s->client) == 1 ? " is" : "s are");
  else if (status == FARO_OK) printf("plan:      arm %zu looks best; no reward is asked for\n", arm);
}

static void show(const session *s) {
  const faro_campaign *c = &s->campaign;
  char pair[FARO_PAIR_SIZE];
  char epsilon[FARO_NUMBER_SIZE];
  char delta[FARO_NUMBER_SIZE];
  const bool phases = faro_campaign_in_phases(c);
  printf("campaign:  %s\nlearner:   %s\nrelease:   %s, ", c->id, c->learner, c->release->name);
  if (phases) printf("in phases, batches of %" PRIu64, c->params.batch);
  else printf("%" PRIu64 " batches of %" PRIu64, c->batches, c->params.batch);
  if (phases || (c->encodings > 1 && c->shufflers <= 1)) printf(" to %" PRIu64, faro_campaign_largest(c));
  printf(" reports\n");
  printf("claim:     epsilon %s, delta %s, level %s (at most %" PRIu64 " reports per client), trust %s, %s\n",
         faro_above(c->claim.epsilon, 6, epsilon), faro_above(c->claim.delta, 6, delta),
         faro_level_name(c->claim.level), c->claim.contributions, faro_trust_name(c->claim.trust),
         c->claim.proven ? "proven" : "not proven");
  double all_epsilon = 0, all_delta = 0;
  faro_campaign_total(c, &all_epsilon, &all_delta);
  if (c->befores > 0)
    printf("in all:    %s, with %zu earlier campaign%s on the same people\n",
           faro_pair_above(all_epsilon, all_delta, pair), c->befores, c->befores == 1 ? "" : "s");
  if (c->claim.local_epsilon > 0)
    printf("alone:     %s even if shufflers and analyzer collude\n",
           faro_pair_above(c->claim.local_epsilon, c->claim.local_delta, pair));
  show_honest(c);
  if (phases) printf("arms:      %" PRIu64 ", the same for everybody; plans say which are played\n", c->arms);
  else
    printf("contexts:  %zu features, length at most %g; at most %" PRIu64 " arms\n",
           c->contribution.dimension, c->contribution.norm, c->arms);
  show_shufflers(s->client);
  show_adders(c);
  if (faro_client_moved(s->client) > 0)
    printf("moved:     %" PRIu64 " times; the analyzer is at %s\n", faro_client_moved(s->client),
           c->analyzer);
  if (c->wait > 0) printf("wait:      a choice may be reported until %" PRIu64 " batches later\n", c->wait);
  printf("policy:    version %" PRIu64 "\n", faro_client_version(s->client));
  if (phases) show_turn(s);
  if (s->queue) show_queue(s);
}

/* Reads one arm into s->features. */
static bool read_arm(session *s, size_t arm, char *text, faro_error *error) {
  const size_t d = s->campaign.contribution.dimension;
  size_t count = 0;
  for (char *word = strtok(text, " ,\t\r\n"); word; word = strtok(NULL, " ,\t\r\n"), count++) {
    double number = 0;
    if (!faro_decimal(word, strlen(word), &number)) {
      (void)faro_fail(error, FARO_INVALID, "line %zu: a feature must be a number (got \"%.40s\")", s->line,
                      word);
      return false;
    }
    if (count < d) s->features[arm * d + count] = number;
  }
  if (count == d) return true;
  (void)faro_fail(error, FARO_INVALID, "line %zu: arm %zu must have %zu features (got %zu)", s->line, arm, d,
                  count);
  return false;
}

/* Reads the arms of a line into s->features; returns their number, 0 on error. */
static size_t read_arms(session *s, char *text, faro_error *error) {
  size_t arms = 0;
  for (char *arm = text, *next; arm; arm = next, arms++) {
    next = strchr(arm, ';');
    if (next) *next++ = '\0';
    if (arms == s->campaign.arms) {
      (void)faro_fail(error, FARO_INVALID, "line %zu: this campaign allows at most %" PRIu64 " arms", s->line,
                      s->campaign.arms);
      return 0;
    }
    if (!read_arm(s, arms, arm, error)) return 0;
  }
  return arms;
}

/* A reward may come long after its choice, and reports under an old policy are refused. The report
 * is made for the newest one: what it says about the arm does not depend on the policy that chose
 * it. If the analyzer does not answer, the policy at hand may still do. */
static faro_status catch_up(session *s, faro_error *error) {
  faro_error why = {0};
  const faro_status status = fetch_policy(s, faro_client_version(s->client), &why);
  return status == FARO_OK || status == FARO_SYSTEM ? FARO_OK : faro_fail(error, status, "%s", why.message);
}

/* Whether a part was sent to the shuffler's own address, and not to a collector. */
static bool is_own(const char *url, const char *shuffler) {
  const size_t length = strlen(shuffler);
  return strncmp(url, shuffler, length) == 0 && strcmp(url + length, "/v1/reports") == 0;
}

/* A part that belongs to another collector, or was sent to one that does not answer: asks the
 * shuffler where its collectors are now. True if the part has another address from now on. A
 * shuffler that sends its clients around and around is asked LOOKS times in a delivery. */
static bool find_collector(session *s, const faro_queue_post *part, bool elsewhere) {
  enum { LOOKS = 2 * FARO_SHUFFLERS_MAX };
  char before[FARO_URL_MAX + 32];
  const size_t shuffler = faro_wire_report_head(part->bytes).shuffler;
  const char *own = faro_client_shuffler_url(s->client, shuffler);
  faro_error why = {0};
  bool some = false;
  if (!own || (!elsewhere && is_own(part->url, own)) || s->looked == LOOKS) return false;
  s->looked++;
  snprintf(before, sizeof before, "%s", part->url);
  if (faro_client_fetch_collectors(s->client, s->sender, shuffler, &some, &why) != FARO_OK)
    (void)faro_printable(why.message, s->why, sizeof s->why);
  const char *now = faro_client_address(s->client, shuffler);
  return some && now && strcmp(now, before) != 0;
}

/* Posts one part and tells the queue what came back. If the policy was too old, loads a new one. A
 * part that was sent to the wrong place is handed out again at once. */
static faro_status post(session *s, const faro_queue_post *part, faro_reply *reply, faro_error *error) {
  faro_sent sent = {0};
  faro_error why = {0};
  const bool answered =
      faro_send_post(s->sender, part->url, part->bytes, part->length, &sent, &why) == FARO_OK;
  if (answered)
    (void)faro_fail(&why, FARO_SYSTEM, "%s answered %ld: %.120s", part->url, sent.status, sent.bytes);
  const faro_status status = faro_queue_answer(s->queue, s->client, answered ? sent.status : 0, sent.bytes,
                                               sent.length, sent.retry_after, reply, error);
  if (status == FARO_OK && reply->kind == FARO_REPLY_AGAIN)
    (void)faro_printable(why.message, s->why, sizeof s->why);
  const bool elsewhere = reply->refusal == FARO_REFUSAL_ELSEWHERE;
  if (status == FARO_OK && (elsewhere || !answered) && find_collector(s, part, elsewhere)) {
    reply->kind = FARO_REPLY_DONE; /* as far as this address is concerned */
    faro_queue_again(s->queue);
  }
  return status == FARO_OK && reply->refusal == FARO_REFUSAL_STALE ? catch_up(s, error) : status;
}

/* Sends what waits. Parts that are not answered are sent again unchanged, some times; then they
 * stay in the state. */
static faro_status deliver(session *s, faro_error *error) {
  enum { ATTEMPTS = 8 };
  faro_backoff backoff = {0};
  double wait = 0;
  bool left = false; /* a part was not taken */
  s->looked = 0;
  for (int attempts = 0; !s->down;) {
    faro_queue_post part;
    faro_reply reply;
    faro_status status = faro_queue_next(s->queue, s->client, &part, error);
    if (status == FARO_OK && part.url) {
      status = post(s, &part, &reply, error);
      if (status == FARO_OK && reply.refusal == FARO_REFUSAL_TWICE) continue; /* with the next policy */
      left = left || (status == FARO_OK && reply.kind == FARO_REPLY_AGAIN);
      if (status == FARO_OK && reply.kind == FARO_REPLY_AGAIN) wait = fmax(wait, reply.after);
      if (status == FARO_OK) continue;
    }
    if (status != FARO_OK || !left) return status;
    s->down = ++attempts == ATTEMPTS;
    if (s->down) break;
    faro_sleep(fmin(fmax(wait, faro_backoff_next(&backoff)), 30));
    faro_queue_again(s->queue);
    left = false;
    wait = 0;
  }
  return FARO_OK;
}

/* Says what was refused, or came too late, since it was said last. */
static void say_what_was_lost(session *s) {
  const faro_queue_counts before = s->seen, now = faro_queue_count(s->queue);
  char place[32] = "";
  if (s->line > 0) snprintf(place, sizeof place, "line %zu: ", s->line);
  if (now.refused > before.refused)
    fprintf(stderr, "faro: %srefused: %s\n", place, faro_refusal_text(now.last));
  if (now.late > before.late)
    fprintf(stderr, "faro: %srefused: more than %" PRIu64 " batches were released after the choice\n", place,
            s->campaign.wait);
  if (now.ended > before.ended)
    fprintf(stderr, "faro: %sthe plan has ended: what was played for it cannot count any more\n", place);
  s->refused += (size_t)(now.refused - before.refused + now.late - before.late + now.ended - before.ended);
  s->seen = now;
}

static faro_status flush(session *s, faro_error *error) {
  const faro_status status = deliver(s, error);
  say_what_was_lost(s);
  return status;
}

/* A dry run sends nothing. */
static void say_what_would_be_sent(const session *s, size_t parts) {
  for (size_t i = 0; i < parts; i++)
    fprintf(stderr, "faro: would send %zu bytes to %s\n", faro_client_part_size(s->client),
            faro_client_target(s->client, i));
}

static faro_status rehearse(session *s, const double *x, double reward, faro_error *error) {
  size_t parts = 0;
  const faro_status status = faro_client_report(s->client, x, reward, s->parts, &parts, error);
  if (status == FARO_OK) say_what_would_be_sent(s, parts);
  return status;
}

static faro_status read_reward(const session *s, const char *text, double *reward, faro_error *error) {
  if (faro_decimal(text, strlen(text), reward)) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "line %zu: the reward must be a number or - (got \"%.40s\")", s->line,
                   text);
}

static bool is_none(const char *text) { return *text == '\0' || strcmp(text, "-") == 0; }

/* Reads the second line of a round and reports. If the report is refused, says so and goes on. */
static faro_status finish_round(session *s, size_t arm, uint64_t chosen, char *text, faro_error *error) {
  const double *x = s->features + arm * s->campaign.contribution.dimension;
  double reward = 0;
  if (is_none(text)) return FARO_OK;
  faro_status status = read_reward(s, text, &reward, error);
  if (status != FARO_OK) return status;
  if (s->r->dry) return rehearse(s, x, reward, error);
  status = faro_queue_add(s->queue, s->client, chosen, x, reward, error);
  if (status == FARO_OK) status = catch_up(s, error);
  return status == FARO_OK ? flush(s, error) : status;
}

/* Takes blanks away at both ends. */
static char *trim(char *text) {
  text += strspn(text, " \t\r\n");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r\n", text[length - 1])) text[--length] = '\0';
  return text;
}

/* The reward of a choice that was kept: NAME = REWARD. */
static faro_status late_reward(session *s, char *text, char *value, faro_error *error) {
  double reward = 0;
  faro_error inner = {0};
  *value++ = '\0';
  const char *name = trim(text);
  value = trim(value);
  if (s->r->dry) return FARO_OK;
  faro_status status = is_none(value) ? FARO_OK : read_reward(s, value, &reward, error);
  if (status != FARO_OK) return status;
  status = is_none(value) ? faro_queue_forget(s->queue, s->client, name, &inner)
                          : faro_queue_reward(s->queue, s->client, name, reward, &inner);
  if (status == FARO_INVALID) {
    fprintf(stderr, "faro: line %zu: %s\n", s->line, inner.message);
    s->refused++;
    return FARO_OK;
  }
  if (status != FARO_OK) return faro_fail(error, status, "%s", inner.message);
  status = catch_up(s, error);
  return status == FARO_OK ? flush(s, error) : status;
}

/* Reads the arms and chooses one of them; with a name in front of the arms, keeps the choice. */
static faro_status choose(session *s, char *text, size_t *arm, bool *kept, faro_error *error) {
  char *arms = strchr(text, ':');
  *kept = arms != NULL;
  if (arms) *arms++ = '\0';
  const size_t count = read_arms(s, arms ? arms : text, error);
  faro_status status = count > 0 ? fetch_policy(s, faro_client_version(s->client), error) : FARO_INVALID;
  if (status == FARO_OK) status = faro_client_choose(s->client, s->features, count, arm, error);
  if (status == FARO_OK && *kept && !s->r->dry)
    status = faro_queue_keep(s->queue, s->client, trim(text),
                             s->features + *arm * s->campaign.contribution.dimension, error);
  if (status == FARO_OK && printf("%zu\n", *arm) > 0) fflush(stdout);
  return status;
}

static faro_status play(session *s, FILE *in, faro_error *error) {
  char *text = NULL;
  size_t room = 0, arm = 0;
  uint64_t chosen = 0; /* policy of the choice whose reward comes next; 0: none does */
  faro_status status = FARO_OK;
  while (status == FARO_OK && getline(&text, &room, in) >= 0) {
    bool kept = false;
    char *equals = strchr(text, '=');
    s->line++;
    if (chosen > 0) {
      status = finish_round(s, arm, chosen, trim(text), error);
      chosen = 0;
    } else if (equals) status = late_reward(s, text, equals, error);
    else {
      status = choose(s, text, &arm, &kept, error);
      chosen = kept ? 0 : faro_client_version(s->client);
    }
  }
  if (text) sodium_memzero(text, room);
  free(text);
  return status;
}

/* In phases. */

typedef struct turn {
  size_t arm;
  bool counts; /* a reward of it is asked for */
} turn;

/* Prints the arm to play, and how many rewards of it are asked for; 0: none, and it is the arm that
 * looks best. A dry run goes on from what the state says, and leaves it as it is. */
static faro_status print_turn(session *s, turn *now, faro_error *error) {
  const bool own = s->queue && (!s->r->dry || s->line == 0);
  const faro_status status = own ? faro_queue_turn(s->queue, s->client, &now->arm, &now->counts, error)
                                 : faro_client_next(s->client, &now->arm, &now->counts, error);
  if (s->queue) say_what_was_lost(s);
  if (status == FARO_OK && printf("%zu %" PRIu64 "\n", now->arm, faro_client_left(s->client)) > 0)
    fflush(stdout);
  return status;
}

/* A line is REWARD or ARM = REWARD. */
static faro_status read_turn(const session *s, char *text, turn *now, double *reward, faro_error *error) {
  char *value = strchr(text, '=');
  if (value) {
    double arm = 0;
    *value++ = '\0';
    text = trim(text);
    if (!faro_decimal(text, strlen(text), &arm) || !(arm >= 0 && arm < (double)s->campaign.arms) ||
        arm != floor(arm))
      return faro_fail(error, FARO_INVALID, "line %zu: the arm must be from 0 to %" PRIu64 " (got \"%.40s\")",
                       s->line, s->campaign.arms - 1, text);
    *now = (turn){(size_t)arm, true};
  }
  return read_reward(s, value ? trim(value) : text, reward, error);
}

static faro_status rehearse_turn(session *s, size_t arm, double reward, faro_error *error) {
  size_t parts = 0;
  faro_status status = faro_client_reward(s->client, arm, reward, error);
  if (status != FARO_OK || !faro_client_complete(s->client)) return status;
  status = faro_client_report_plan(s->client, s->parts, &parts, error);
  if (status == FARO_OK) say_what_would_be_sent(s, parts);
  return status;
}

/* Takes a reward. One that the plan does not ask for is refused, and the run goes on. */
static faro_status take_turn(session *s, char *text, turn now, faro_error *error) {
  double reward = 0;
  faro_error inner = {0};
  faro_status status = read_turn(s, text, &now, &reward, error);
  if (status != FARO_OK) return status;
  if (!now.counts)
    status = faro_fail(&inner, FARO_INVALID, "plan %" PRIu64 " asks this client for no more rewards",
                       faro_client_version(s->client));
  else if (s->r->dry) status = rehearse_turn(s, now.arm, reward, &inner);
  else status = faro_queue_played(s->queue, s->client, now.arm, reward, &inner);
  if (status != FARO_INVALID)
    return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", inner.message);
  fprintf(stderr, "faro: line %zu: %s\n", s->line, inner.message);
  s->refused++;
  return FARO_OK;
}

static faro_status play_plans(session *s, FILE *in, faro_error *error) {
  char *text = NULL;
  size_t room = 0;
  turn now = {0};
  faro_status status = print_turn(s, &now, error);
  while (status == FARO_OK && getline(&text, &room, in) >= 0) {
    char *line = trim(text);
    s->line++;
    if (!is_none(line)) status = take_turn(s, line, now, error);
    if (status == FARO_OK) status = catch_up(s, error);
    if (status == FARO_OK && !s->r->dry) status = flush(s, error);
    if (status == FARO_OK) status = print_turn(s, &now, error);
  }
  if (text) sodium_memzero(text, room);
  free(text);
  return status;
}

/* Whether everything that was to be sent is delivered, or will be without a fault being mended. */
static int say_what_waits(const session *s) {
  const size_t waiting = s->queue ? faro_queue_count(s->queue).waiting : 0;
  if (waiting == 0 || s->r->dry || s->r->show) return s->refused > 0 ? EXIT_CHECK : EXIT_DONE;
  fprintf(stderr, "faro: %zu report%s in %s for the next run: %s\n", waiting,
          waiting == 1 ? " waits" : "s wait", s->r->settings.state,
          s->down ? s->why : "a client is in a batch at most once, so a newer policy is needed");
  return s->down ? EXIT_SYSTEM : s->refused > 0 ? EXIT_CHECK : EXIT_DONE;
}

/* Sends what waits, then plays. */
static faro_status take_part(session *s, faro_error *error) {
  faro_status status = s->r->dry ? FARO_OK : flush(s, error);
  if (status == FARO_OK && !s->r->flush)
    status = (faro_client_in_phases(s->client) ? play_plans : play)(s, stdin, error);
  return status == FARO_OK && !s->r->dry ? faro_queue_save(s->queue, s->client, error) : status;
}

/* Checks what a run would read, without the network. */
static int check_files(const request *r) {
  unsigned char key[FARO_KEY_BYTES], token[FARO_TOKEN_BYTES];
  faro_queue *queue = NULL;
  faro_error error = {0};
  const faro_client_settings *c = &r->settings;
  faro_status status = load_keys(r, key, token, &error);
  sodium_memzero(token, sizeof token);
  const faro_queue_params params = {.path = c->state, .reading = true};
  if (status == FARO_OK && *c->state) status = faro_queue_open(&queue, &params, &error);
  faro_queue_close(queue);
  if (status == FARO_OK && *c->state && !r->dry && !r->show)
    status = faro_check_folder("state", c->state, &error);
  if (status == FARO_OK && *c->authority) status = faro_authority_check(c->authority, &error);
  if (status != FARO_OK) return cli_fail(&error);
  printf("ok\n");
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  static request r = {.settings = {.epsilon = 1, .delta = 1e-6, .trust = 1, .level = 1}};
  const int ended = read_request(&r, argc, argv);
  if (ended != CLI_GO) return ended;
  if (r.check) return check_files(&r);
  session s = {.r = &r};
  faro_error error = {0};
  faro_status status = faro_process_hide(&error);
  if (status == FARO_OK) status = open_session(&s, &error);
  if (status == FARO_OK) status = fetch_policy(&s, 0, &error);
  if (status == FARO_OK && r.show) show(&s);
  if (status == FARO_OK && !r.show) status = take_part(&s, &error);
  const int ending = status == FARO_OK ? say_what_waits(&s) : cli_fail(&error);
  close_session(&s);
  return ending;
}

const cli_command cli_client = {
    .name = "client",
    .usage = "client --config FILE | --analyzer URL --key FILE --token FILE --state FILE [--dry-run] ...",
    .summary = "take part in a campaign: choose arms and report rewards (for trying things out)",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .about =
        "Reads rounds from standard input. A round is two lines. The first line has the arms: features are\n"
        "separated by blanks or commas, arms by semicolons. The number of the best arm, from 0, is printed.\n"
        "The second line is the reward of that arm. It is clipped, encoded, noised and sent; nothing is "
        "sent\n"
        "for - or an empty line. A line NAME: ARMS keeps the choice until a line NAME = REWARD, in this run "
        "or\n"
        "a later one. What could not be delivered stays in the state, and the next run delivers it.\n"
        "\n"
        "In a campaign in phases the plan says what to play. An arm is printed, and how many rewards of it "
        "are\n"
        "asked for (0: none). Then each line is a reward of that arm, and the next one is printed. A line\n"
        "ARM = REWARD is the reward of an arm that an earlier run has printed.\n",
    .help =
        "Exit status: 0 all reports were accepted, or wait for the next batch; 1 a report was refused, or "
        "its\n"
        "plan has ended; 3 bad input; 4 the network or the system failed (reports that were not delivered "
        "wait\n"
        "in the state).\n"
        "\n"
        "examples:\n"
        "  printf '0.8 0 0.6; 0 0.8 0.6\\n0.9\\n' | faro client --config client.yaml\n"
        "  faro client --config client.yaml --flush\n"
        "  faro client --analyzer http://127.0.0.1:8400 --key analyzer.sign.public --show\n",
};
