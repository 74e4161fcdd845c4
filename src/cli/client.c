/* client: faro client --config FILE
 *
 * Reads rounds from standard input. A round is two lines:
 *
 *   0.8 0 0.6; 0 0.8 0.6            the arms: features between blanks or commas, arms between semicolons
 *   0.9                             the reward of the arm that was printed; an empty line or - : none, nothing is reported
 *
 * and after the first of them the number of the chosen arm, from 0, is printed. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "cli/cli.h"
#include "service/client_config.h"
#include "service/client_send.h"
#include "service/document.h"
#include "service/listen.h"
#include "service/process.h"

enum {
  OPTION_CONFIG,
  OPTION_ANALYZER,
  OPTION_KEY,
  OPTION_TOKEN,
  OPTION_STATE,
  OPTION_AUTHORITY,
  OPTION_EPSILON,
  OPTION_DELTA,
  OPTION_TRUST,
  OPTION_LEVEL,
  OPTION_HONEST,
  OPTION_INSECURE,
  OPTION_SEND,
  OPTION_DRY_RUN,
  OPTION_SHOW,
  OPTION_CHECK,
  OPTION_COUNT
};
static const cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = {"config", true},   [OPTION_ANALYZER] = {"analyzer", true},
    [OPTION_KEY] = {"key", true},         [OPTION_TOKEN] = {"token", true},
    [OPTION_STATE] = {"state", true},     [OPTION_AUTHORITY] = {"authority", true},
    [OPTION_EPSILON] = {"epsilon", true}, [OPTION_DELTA] = {"delta", true},
    [OPTION_TRUST] = {"trust", true},     [OPTION_LEVEL] = {"level", true},
    [OPTION_HONEST] = {"honest", true},   [OPTION_INSECURE] = {"insecure", false},
    [OPTION_SEND] = {"send", false},      [OPTION_DRY_RUN] = {"dry-run", false},
    [OPTION_SHOW] = {"show", false},      [OPTION_CHECK] = {"check-config", false},
};

typedef struct request {
  faro_client_config config;
  bool dry, show, check;
} request;

static int copy(const char *name, const char *value, char *to, size_t size) {
  if (strlen(value) >= size)
    return cli_usage(&cli_client, "--%s must be shorter (got %.40s...)", name, value);
  snprintf(to, size, "%s", value);
  return EXIT_DONE;
}

static int take_config(request *r, const char *path) {
  faro_error error = {0};
  return faro_client_configure(&r->config, path, &error) == FARO_OK ? EXIT_DONE : cli_fail(&error);
}

static const char *const trusts[] = {"local", "shuffle", "concurrent", "joint"};
static const char *const levels[] = {"event", "user"};

static int take_option(request *r, int option, const char *value) {
  faro_client_config *c = &r->config;
  switch (option) {
  case OPTION_CONFIG: return take_config(r, value);
  case OPTION_ANALYZER: return copy("analyzer", value, c->analyzer, sizeof c->analyzer);
  case OPTION_KEY: return copy("key", value, c->key_file, sizeof c->key_file);
  case OPTION_TOKEN: return copy("token", value, c->token, sizeof c->token);
  case OPTION_STATE: return copy("state", value, c->state, sizeof c->state);
  case OPTION_AUTHORITY: return copy("authority", value, c->authority, sizeof c->authority);
  case OPTION_EPSILON: return cli_take_real(&cli_client, "epsilon", value, 1e-4, 1000, &c->epsilon);
  case OPTION_DELTA: return cli_take_real(&cli_client, "delta", value, 0, 0.999, &c->delta);
  case OPTION_TRUST: return cli_take_choice(&cli_client, "trust", value, trusts, 4, &c->trust);
  case OPTION_LEVEL: return cli_take_choice(&cli_client, "level", value, levels, 2, &c->level);
  case OPTION_HONEST: return cli_take_real(&cli_client, "honest", value, 0, 1, &c->honest);
  case OPTION_INSECURE: c->insecure = true; return EXIT_DONE;
  case OPTION_SEND: r->dry = false; return EXIT_DONE;
  case OPTION_DRY_RUN: r->dry = true; return EXIT_DONE;
  case OPTION_SHOW: r->show = true; return EXIT_DONE;
  default: r->check = true; return EXIT_DONE;
  }
}

/* What is asked for must be there. A client that forgets its sequence number forgets what it has spent. */
static int check(const request *r) {
  const faro_client_config *c = &r->config;
  if (!*c->analyzer) return cli_usage(&cli_client, "where is the analyzer: --analyzer URL or --config FILE?");
  if (!c->key_set && !*c->key_file)
    return cli_usage(&cli_client, "whom to believe: --key FILE, the analyzer's public key?");
  if (!*c->token && !r->show) return cli_usage(&cli_client, "who is this: --token FILE?");
  if (!*c->state && !r->show && !r->dry)
    return cli_usage(&cli_client, "where to keep what was reported: --state FILE (or --dry-run, or --show)?");
  faro_error error = {0};
  return faro_url_check("analyzer", c->analyzer, c->insecure, &error) == FARO_OK ? EXIT_DONE
                                                                                 : cli_fail(&error);
}

static int parse(request *r, int argc, char **argv) {
  int place = 0;
  const char *value = NULL;
  for (;;) {
    const int which = cli_next(&cli_client, options, OPTION_COUNT, argc, argv, &place, &value);
    if (which == CLI_END) break;
    if (which == CLI_HELP) return CLI_HELP;
    if (which == CLI_BAD) return EXIT_USAGE;
    if (which == CLI_WORD) return cli_usage(&cli_client, "unexpected %s", value);
    const int status = take_option(r, which, value);
    if (status != EXIT_DONE) return status;
  }
  return check(r);
}

/* A session with one analyzer. */
typedef struct session {
  const request *r;
  faro_client *client;
  faro_sender *sender;
  faro_client_state state;
  int lock;               /* of the state's file; below 0: none */
  faro_campaign campaign; /* to look at */
  unsigned char *parts;
  double *features;
  size_t parts_size, room, line; /* bytes; numbers that fit; of the input */
  size_t refused;                /* reports */
} session;

static faro_status load_keys(const request *r, unsigned char key[static FARO_KEY_BYTES],
                             unsigned char token[static FARO_TOKEN_BYTES], faro_error *error) {
  faro_status status = FARO_OK;
  if (*r->config.key_file)
    status = faro_key_load(r->config.key_file, FARO_SIGN_PUBLIC, key, FARO_KEY_BYTES, error);
  else memcpy(key, r->config.key, FARO_KEY_BYTES);
  memset(token, 0, FARO_TOKEN_BYTES);
  if (status != FARO_OK || !*r->config.token) return status;
  unsigned char *tokens = NULL;
  size_t count = 0;
  status = faro_tokens_load(r->config.token, &tokens, &count, error);
  if (status == FARO_OK && count != 1)
    status = faro_fail(error, FARO_INVALID, "%s must hold one token (it holds %zu)", r->config.token, count);
  if (status == FARO_OK) memcpy(token, tokens, FARO_TOKEN_BYTES);
  if (tokens) sodium_memzero(tokens, count * FARO_TOKEN_BYTES);
  free(tokens);
  return status;
}

/* The campaign as the client has verified it, once more for what people want to know of it. */
static faro_status fetch_campaign(session *s, const unsigned char *key, faro_error *error) {
  faro_sent sent;
  faro_status status = faro_client_fetch_campaign(s->client, s->sender, s->r->config.analyzer, &sent, error);
  if (status == FARO_OK) status = faro_campaign_open(&s->campaign, sent.bytes, sent.length, key, error);
  return status;
}

/* What was kept, held for the whole run if it will change. */
static faro_status open_state(session *s, faro_error *error) {
  const char *path = s->r->config.state;
  faro_status status = FARO_OK;
  if (*path && !s->r->dry && !s->r->show) status = faro_client_state_lock(path, &s->lock, error);
  if (*path && status == FARO_OK) status = faro_client_state_load(path, &s->state, error);
  return status;
}

static faro_status open_client(session *s, const unsigned char *key, const unsigned char *token,
                               faro_error *error) {
  const faro_client_config *c = &s->r->config;
  const bool before = !sodium_is_zero(s->state.campaign, FARO_DIGEST_BYTES);
  const faro_client_settings settings = {.signer = key,
                                         .token = token,
                                         .campaign = before ? s->state.campaign : NULL,
                                         .sequence = s->state.sequence,
                                         .version = s->state.version,
                                         .epsilon = c->epsilon,
                                         .delta = c->delta,
                                         .trust = faro_client_trusts(c->trust),
                                         .user_level = c->level == 1,
                                         .honest = c->honest,
                                         .insecure = c->insecure};
  return faro_client_open(&s->client, &settings, error);
}

static faro_status open_session(session *s, faro_error *error) {
  const faro_client_config *c = &s->r->config;
  unsigned char key[FARO_KEY_BYTES], token[FARO_TOKEN_BYTES];
  faro_status status = load_keys(s->r, key, token, error);
  if (status == FARO_OK) status = open_state(s, error);
  const faro_send_settings send = {.authority = *c->authority ? c->authority : NULL};
  if (status == FARO_OK) status = open_client(s, key, token, error);
  sodium_memzero(token, sizeof token);
  if (status == FARO_OK) status = faro_sender_create(&s->sender, &send, error);
  if (status == FARO_OK) status = fetch_campaign(s, key, error);
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
  if (s->lock >= 0) close(s->lock);
}

static void show(const session *s) {
  const faro_campaign *c = &s->campaign;
  char print[FARO_FINGERPRINT_SIZE];
  printf("campaign:  %s\nrelease:   %s, batches of %" PRIu64 ", %" PRIu64 " of them\n", c->id,
         faro_release_kind_name(c->release), c->params.batch, c->batches);
  printf("claim:     epsilon %g, delta %g, level %s (at most %" PRIu64
         " reports of a client), trust %s, %s\n",
         c->claim.epsilon, c->claim.delta, faro_level_name(c->claim.level), c->claim.contributions,
         faro_trust_name(c->claim.trust), c->claim.proven ? "proven" : "not proven");
  printf("contexts:  %zu numbers, of length at most %g; at most %" PRIu64 " arms\n",
         c->contribution.dimension, c->contribution.norm, c->arms);
  for (size_t i = 0; i < c->shufflers; i++)
    printf("shuffler:  %s, key %s\n", c->shuffler[i], faro_fingerprint(c->shuffler_key[i], print));
  printf("policy:    version %" PRIu64 "\n", faro_client_version(s->client));
}

/* One arm into its place in s->features. */
static bool read_arm(session *s, size_t arm, char *text, faro_error *error) {
  const size_t d = s->campaign.contribution.dimension;
  size_t count = 0;
  for (char *word = strtok(text, " ,\t\r\n"); word; word = strtok(NULL, " ,\t\r\n"), count++) {
    double number = 0;
    if (!faro_decimal(word, strlen(word), &number)) {
      (void)faro_fail(error, FARO_INVALID, "line %zu: not a number: \"%.40s\"", s->line, word);
      return false;
    }
    if (count < d) s->features[arm * d + count] = number;
  }
  if (count == d) return true;
  (void)faro_fail(error, FARO_INVALID, "line %zu: arm %zu must have %zu features (got %zu)", s->line, arm, d,
                  count);
  return false;
}

/* Arms of a line into s->features; 0: the line is no arms. */
static size_t read_arms(session *s, char *text, faro_error *error) {
  size_t arms = 0;
  for (char *arm = text, *next; arm; arm = next, arms++) {
    next = strchr(arm, ';');
    if (next) *next++ = '\0';
    if (arms == s->campaign.arms) {
      (void)faro_fail(error, FARO_INVALID, "line %zu: more arms than the campaign allows, which are %" PRIu64,
                      s->line, s->campaign.arms);
      return 0;
    }
    if (!read_arm(s, arms, arm, error)) return 0;
  }
  return arms;
}

static faro_status save_state(session *s, faro_error *error) {
  memcpy(s->state.campaign, faro_client_digest(s->client), FARO_DIGEST_BYTES);
  s->state.sequence = faro_client_sequence(s->client);
  s->state.version = faro_client_version(s->client);
  return *s->r->config.state && !s->r->dry ? faro_client_state_save(s->r->config.state, &s->state, error)
                                           : FARO_OK;
}

/* A part until it is answered: a report that may have arrived is sent again as it is. */
static faro_status deliver(session *s, size_t part, size_t size, faro_error *error) {
  enum { ATTEMPTS = 8 };
  faro_backoff backoff = {0};
  faro_status status = FARO_OK;
  for (int i = 0; i < ATTEMPTS; i++) {
    double wait = 0;
    faro_error why = {0};
    status = faro_client_send(s->sender, faro_client_target(s->client, part), s->parts + part * size, size,
                              &wait, &why);
    if (status == FARO_OK) return FARO_OK;
    if (status != FARO_SYSTEM || i + 1 == ATTEMPTS) return faro_fail(error, status, "%s", why.message);
    const double nap = faro_backoff_next(&backoff);
    usleep((useconds_t)(1e6 * fmin(fmax(wait, nap), 30)));
  }
  return status;
}

/* The number is kept before anything is sent: it is never used twice, whatever happens in between. */
static faro_status report(session *s, size_t arm, double reward, faro_error *error) {
  const size_t d = s->campaign.contribution.dimension, size = faro_client_part_size(s->client);
  size_t parts = 0;
  faro_status status = faro_client_report(s->client, s->features + arm * d, reward, s->parts, &parts, error);
  if (status == FARO_OK) status = save_state(s, error);
  for (size_t i = 0; i < parts && status == FARO_OK; i++) {
    if (s->r->dry)
      fprintf(stderr, "faro: %zu bytes would go to %s\n", size, faro_client_target(s->client, i));
    else status = deliver(s, i, size, error);
  }
  return status;
}

/* The second line of a round. A report that is refused is told, and the next round goes on. */
static faro_status finish_round(session *s, size_t arm, char *text, faro_error *error) {
  text[strcspn(text, "\r\n")] = '\0';
  double reward = 0;
  if (*text == '\0' || strcmp(text, "-") == 0) return FARO_OK;
  if (!faro_decimal(text, strlen(text), &reward))
    return faro_fail(error, FARO_INVALID, "line %zu: the reward must be a number, or - (got \"%.40s\")",
                     s->line, text);
  faro_error why = {0};
  const faro_status status = report(s, arm, reward, &why);
  if (status == FARO_INVALID) {
    fprintf(stderr, "faro: line %zu: %s\n", s->line, why.message);
    s->refused++;
  }
  if (status == FARO_OK || status == FARO_INVALID) return FARO_OK;
  return faro_fail(error, status, "%s", why.message);
}

static faro_status play(session *s, FILE *in, faro_error *error) {
  char *text = NULL;
  size_t room = 0, arm = 0;
  faro_status status = FARO_OK;
  for (bool rewarded = false; status == FARO_OK && getline(&text, &room, in) >= 0; rewarded = !rewarded) {
    s->line++;
    if (rewarded) {
      status = finish_round(s, arm, text, error);
      continue;
    }
    bool fresh = false;
    const size_t arms = read_arms(s, text, error);
    status = arms > 0 ? faro_client_fetch_policy(s->client, s->sender, s->r->config.analyzer,
                                                 faro_client_version(s->client), false, &fresh, error)
                      : FARO_INVALID;
    if (status == FARO_OK) status = faro_client_choose(s->client, s->features, arms, &arm, error);
    if (status == FARO_OK && printf("%zu\n", arm) > 0) fflush(stdout);
  }
  if (text) sodium_memzero(text, room);
  free(text);
  return status;
}

/* What a run would read, without asking anybody. */
static int check_files(const request *r) {
  unsigned char key[FARO_KEY_BYTES], token[FARO_TOKEN_BYTES];
  faro_client_state state;
  faro_error error = {0};
  const faro_client_config *c = &r->config;
  faro_status status = load_keys(r, key, token, &error);
  sodium_memzero(token, sizeof token);
  if (status == FARO_OK && *c->state) status = faro_client_state_load(c->state, &state, &error);
  if (status == FARO_OK && *c->state && !r->dry && !r->show)
    status = faro_place_check("state", c->state, &error);
  if (status == FARO_OK && *c->authority) status = faro_authority_check(c->authority, &error);
  if (status != FARO_OK) return cli_fail(&error);
  printf("good\n");
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  static request r = {.config = {.epsilon = 1, .delta = 1e-6, .trust = 1, .level = 1}};
  const int parsed = parse(&r, argc, argv);
  if (parsed == CLI_HELP) return EXIT_DONE;
  if (parsed != EXIT_DONE) return parsed;
  if (r.check) return check_files(&r);
  session s = {.r = &r, .lock = -1};
  faro_error error = {0};
  bool fresh = false;
  faro_status status = faro_process_hide(&error);
  if (status == FARO_OK) status = open_session(&s, &error);
  if (status == FARO_OK)
    status = faro_client_fetch_policy(s.client, s.sender, r.config.analyzer, 0, false, &fresh, &error);
  if (status == FARO_OK && r.show) show(&s);
  if (status == FARO_OK && !r.show) status = play(&s, stdin, &error);
  if (status == FARO_OK && !r.show) status = save_state(&s, &error);
  close_session(&s);
  if (status != FARO_OK) return cli_fail(&error);
  return s.refused > 0 ? EXIT_CHECK : EXIT_DONE;
}

const cli_command cli_client = {
    .name = "client",
    .usage = "client --config FILE | --analyzer URL --key FILE --token FILE --state FILE [--dry-run] ...",
    .summary = "take part in a campaign, for trials: choose arms, report rewards",
    .run = run,
    .help =
        "Reads rounds from standard input, two lines each. The first has the arms: features between blanks "
        "or\n"
        "commas, arms between semicolons. The number of the best one, from 0, is printed. The second line is "
        "its\n"
        "reward, which is clipped, encoded, noised and sent; - or nothing: there is none.\n"
        "\n"
        "  --config FILE    settings, in YAML: analyzer, key, token, state, authority, epsilon, delta, "
        "trust, level,\n"
        "                   honest, insecure; faro-client(1) says more of them\n"
        "  --analyzer URL   where campaign and policies come from\n"
        "  --key FILE       the analyzer's public signing key, of `faro keys sign`\n"
        "  --token FILE     one token of `faro keys tokens`\n"
        "  --state FILE     keeps campaign, sequence number and policy version: what a client has spent. "
        "Needed\n"
        "                   to send; one run at a time\n"
        "  --authority FILE certificates that are trusted, for TLS; the system's by default\n"
        "  --epsilon E, --delta D, --trust T, --level L\n"
        "                   the least that a campaign must promise: 1, 1e-6, shuffle, user by default\n"
        "  --honest H       the most of a batch that its noise may count on; 0, the default: any\n"
        "  --insecure       plain http:// beyond this machine: whoever listens reads the token\n"
        "  --dry-run        choose and encode, but send nothing; --send is the default\n"
        "  --show           tell what the campaign promises, and end\n"
        "  --check-config   say whether the settings are good, and end\n"
        "\n"
        "Exit status: 0 all reports were accepted, 1 one was refused, 3 bad input, 4 trouble on the way.\n"
        "\n"
        "examples:\n"
        "  printf '0.8 0 0.6; 0 0.8 0.6\\n0.9\\n' | faro client --config client.yaml\n"
        "  faro client --analyzer http://127.0.0.1:8400 --key analyzer.sign.public --show\n",
};
