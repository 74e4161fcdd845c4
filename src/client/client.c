/* client: see the header. One client is one person in one campaign.
 *
 *   minimum -> campaign, claim recomputed -> newest policy -> choose -> report (clipped, encoded,
 *   noised, framed)
 *
 * The release here is used for its randomizer only. It never sees another user. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faro/client.h>

#include "base/finite.h"
#include "choice/choice.h"
#include "client/client_inner.h"
#include "client/many.h"
#include "client/turns.h"
#include "explore/explore.h"
#include "wire/move.h"
#include "wire/portion.h"
#include "wire/split.h"

#define REPORTS "/v1/reports"
#define HONEST_DEFAULT 0.95 /* one client in twenty may collude with the analyzer */

struct faro_client {
  unsigned char signers[2][FARO_KEY_BYTES]; /* pinned, and the newest one known without `move` */
  unsigned char token[FARO_TOKEN_BYTES];
  faro_claim floor;
  double honest; /* greatest value accepted; 0: HONEST_DEFAULT */
  bool insecure, fixed;
  size_t pins; /* pinned shufflers; 0: any */
  faro_campaign_shuffler pin[FARO_SHUFFLERS_MAX];
  unsigned char kept[FARO_DIGEST_BYTES]; /* digest of the campaign before the restart */
  bool bound;                            /* `kept` is set */
  double spent_epsilon, spent_delta;     /* by the end of that one, with those before it */
  bool spent_singly;                     /* one of them covers single reports only */
  uint64_t sequence, version;
  bool moved; /* `move` is set */
  faro_move move;
  bool joined;            /* the campaigns are set */
  faro_campaign founded;  /* as its document says */
  faro_campaign campaign; /* with the addresses and keys of now */
  faro_release *release;
  faro_secure_rng *secure;
  uint64_t *numbers;                 /* a message of the release, while a report is made */
  faro_policy_document document;     /* the newest policy; numbers NULL: no policy yet */
  faro_turns *turns;                 /* in phases: the newest plan, and what was played for it */
  faro_explorer *explorer;           /* in rounds: draws arms */
  size_t target[FARO_SHUFFLERS_MAX]; /* shufflers of the parts of the last report */
  char address[FARO_SHUFFLERS_MAX][FARO_URL_MAX + sizeof REPORTS];
  size_t collectors[FARO_SHUFFLERS_MAX]; /* as each shuffler's list says; 0: none, or not known */
};

/* Opening. */

static faro_status read_floor(const faro_client_params *params, faro_claim *floor, faro_error *error) {
  static const faro_trust trusts[] = {FARO_TRUST_LOCAL, FARO_TRUST_SHUFFLE, FARO_TRUST_CONCURRENT,
                                      FARO_TRUST_JOINT};
  *floor = (faro_claim){.epsilon = params->epsilon,
                        .delta = params->delta,
                        .level = params->user_level ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                        .contributions = 1};
  if (!(params->epsilon > 0))
    return faro_fail(error, FARO_INVALID, "epsilon must be above 0 (got %g)", params->epsilon);
  if (!(params->delta >= 0 && params->delta < 1))
    return faro_fail(error, FARO_INVALID, "delta must be at least 0 and below 1 (got %g)", params->delta);
  if (!(params->honest >= 0 && params->honest <= 1))
    return faro_fail(error, FARO_INVALID, "honest must be from 0 to 1 (got %g)", params->honest);
  for (size_t i = 0; params->trust && i < sizeof trusts / sizeof *trusts; i++)
    if (strcmp(faro_trust_name(trusts[i]), params->trust) == 0) {
      floor->trust = trusts[i];
      return FARO_OK;
    }
  return faro_fail(error, FARO_INVALID, "trust must be one of local, shuffle, concurrent, joint (got %.40s)",
                   params->trust ? params->trust : "none");
}

/* Sequence and version only make sense together with their campaign. */
static faro_status check_kept(const faro_client_params *params, faro_error *error) {
  if (!params->signer || !params->token)
    return faro_fail(error, FARO_INVALID, "signer and token are required");
  if (params->campaign || (params->sequence == 0 && params->version == 0)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "campaign is required with sequence %llu and version %llu: they count in one campaign",
                   (unsigned long long)params->sequence, (unsigned long long)params->version);
}

static faro_status check_pins(const faro_client_params *params, faro_error *error) {
  const size_t count = params->shuffler_count;
  const bool none = count == 0;
  if (!params->shufflers != none || !params->shuffler_urls != none || count > FARO_SHUFFLERS_MAX)
    return faro_fail(error, FARO_INVALID,
                     "shufflers, shuffler_urls and shuffler_count must be given together, with at most %d "
                     "shufflers (got %zu)",
                     FARO_SHUFFLERS_MAX, count);
  for (size_t i = 0; i < count; i++)
    if (!params->shuffler_urls[i] || strlen(params->shuffler_urls[i]) > FARO_URL_MAX)
      return faro_fail(error, FARO_INVALID, "shuffler_urls[%zu] must have at most %d bytes", i, FARO_URL_MAX);
  return FARO_OK;
}

static void take_pins(faro_client *client, const faro_client_params *params) {
  client->pins = params->shuffler_count;
  for (size_t i = 0; i < client->pins; i++) {
    memcpy(client->pin[i].key, params->shufflers + i * FARO_KEY_BYTES, FARO_KEY_BYTES);
    memcpy(client->pin[i].url, params->shuffler_urls[i], strlen(params->shuffler_urls[i]) + 1);
  }
}

/* A hand-over that was seen before the restart holds, unless the application pins another key
 * now. */
static void take_signers(faro_client *client, const faro_client_params *params) {
  const unsigned char *saved = params->signers;
  const bool holds = saved && memcmp(saved, params->signer, FARO_KEY_BYTES) == 0;
  memcpy(client->signers[0], params->signer, FARO_KEY_BYTES);
  memcpy(client->signers[1], holds ? saved + FARO_KEY_BYTES : params->signer, FARO_KEY_BYTES);
}

faro_status faro_client_open(faro_client **client, const faro_client_params *params, faro_error *error) {
  faro_claim floor;
  faro_status status = read_floor(params, &floor, error);
  if (status == FARO_OK) status = check_kept(params, error);
  if (status == FARO_OK) status = check_pins(params, error);
  if (status != FARO_OK) return status;
  faro_client *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "out of memory");
  made->floor = floor;
  made->honest = params->honest;
  made->insecure = params->insecure;
  made->fixed = params->fixed;
  take_pins(made, params);
  made->bound = params->campaign != NULL;
  if (params->campaign) memcpy(made->kept, params->campaign, FARO_DIGEST_BYTES);
  made->spent_epsilon = params->spent_epsilon;
  made->spent_delta = params->spent_delta;
  made->spent_singly = params->spent_singly;
  made->sequence = params->sequence;
  made->version = params->version;
  take_signers(made, params);
  memcpy(made->token, params->token, FARO_TOKEN_BYTES);
  status = faro_secure_open(&made->secure, error);
  if (status == FARO_OK) *client = made;
  else faro_client_close(made);
  return status;
}

void faro_client_close(faro_client *client) {
  if (!client) return;
  faro_release_destroy(client->release);
  faro_secure_close(client->secure);
  free(client->numbers);
  faro_policy_document_clear(&client->document);
  faro_plans_destroy(client->campaign.plans);
  if (client->turns) sodium_memzero(client->turns, sizeof *client->turns);
  free(client->turns);
  faro_explorer_destroy(client->explorer);
  sodium_memzero(client, sizeof *client);
  free(client);
}

/* Documents. */

static size_t target_count(const faro_client *client) { return faro_campaign_targets(&client->campaign); }

/* The key that signs policies now, and new campaigns. */
static const unsigned char *signer_now(const faro_client *client) {
  return client->moved ? faro_move_signer_key(&client->move) : client->signers[1];
}

/* Opens a campaign under the key that signs now. An earlier key stands for what it signed when it
 * was the newest, and for nothing else: the founder's for the campaign that the move names, and the
 * pinned one for the campaign that this client is in. */
static faro_status open_campaign(const faro_client *client, const void *bytes, size_t length,
                                 faro_campaign *campaign, faro_error *error) {
  const unsigned char *known = client->moved ? client->move.campaign : client->bound ? client->kept : NULL;
  const unsigned char *first = client->moved ? client->move.founder : client->signers[0];
  if (known && faro_campaign_open(campaign, bytes, length, first, NULL) == FARO_OK &&
      memcmp(campaign->digest, known, FARO_DIGEST_BYTES) == 0)
    return FARO_OK;
  return faro_campaign_open(campaign, bytes, length, signer_now(client), error);
}

/* Takes over the addresses and keys of now. */
static void settle(faro_client *client, const faro_campaign *now) {
  faro_plans *plans = client->campaign.plans;
  client->campaign = *now;
  client->campaign.plans = plans;
  for (size_t i = 0; i < target_count(client); i++)
    snprintf(client->address[i], sizeof client->address[i], "%s" REPORTS,
             now->shufflers > 0 ? now->shuffler[i].url : now->analyzer);
}

/* In phases every plan has a release of its own, and in rounds every policy. */
static faro_status prepare(faro_client *client, const faro_campaign *campaign, faro_plans **plans,
                           faro_error *error) {
  if (faro_campaign_in_rounds(campaign))
    return faro_explorer_create(&client->explorer, campaign->contribution.dimension, (size_t)campaign->arms,
                                error);
  if (!faro_campaign_in_phases(campaign))
    return faro_release_create(&client->release, campaign->release, &campaign->contribution,
                               &campaign->params, faro_source_client(client->secure), error);
  client->turns = calloc(1, sizeof *client->turns);
  if (!client->turns) return faro_fail(error, FARO_MEMORY, "out of memory");
  return faro_plans_create(plans, 1, error);
}

/* Sets up what the client needs for the campaign. */
static faro_status join(faro_client *client, const faro_campaign *campaign, const faro_campaign *now,
                        faro_error *error) {
  faro_plans *plans = NULL;
  const size_t size = faro_campaign_targets(campaign) * campaign->entries * sizeof *client->numbers;
  free(client->numbers);
  client->numbers = calloc(1, size);
  if (!client->numbers) return faro_fail(error, FARO_MEMORY, "out of memory");
  const faro_status status = prepare(client, campaign, &plans, error);
  if (status != FARO_OK) {
    free(client->turns);
    client->turns = NULL;
    return status;
  }
  client->founded = *campaign;
  client->campaign.plans = plans;
  client->joined = true;
  settle(client, now);
  return FARO_OK;
}

/* Sums of the same numbers in another order differ by less than this share. */
static const double ROUNDING = 1e-12;

/* Whether a campaign names the one that this client took part in before, and states all that it has
 * spent by its own account. An analyzer that states less would hide a loss that adds up. */
static faro_status check_successor(const faro_client *client, const faro_campaign *campaign,
                                   faro_error *error) {
  double epsilon = 0, delta = 0;
  bool named = false;
  for (size_t i = 0; i < campaign->befores; i++) {
    named = named || memcmp(campaign->before[i].campaign, client->kept, FARO_DIGEST_BYTES) == 0;
    epsilon += campaign->before[i].epsilon;
    delta += campaign->before[i].delta;
  }
  if (!named || client->spent_epsilon == 0)
    return faro_fail(
        error, FARO_FOREIGN,
        "campaign %s is not the one that this client took part in before; it would spend a new privacy "
        "budget in addition to the old one (to join it anyway, start without the saved campaign, "
        "sequence and version)",
        campaign->id);
  if (client->spent_singly && client->floor.level == FARO_LEVEL_USER)
    return faro_fail(
        error, FARO_WEAK,
        "a campaign before %s covers single reports only, and this client accepts at least level "
        "user",
        campaign->id);
  if (epsilon >= client->spent_epsilon * (1 - ROUNDING) && delta >= client->spent_delta * (1 - ROUNDING))
    return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "campaign %s states that (%g, %g) was spent before it, but this client has spent up to "
                   "(%g, %g)",
                   campaign->id, epsilon, delta, client->spent_epsilon, client->spent_delta);
}

static bool is_kept(const faro_client *client, const faro_campaign *campaign) {
  return client->bound && memcmp(client->kept, campaign->digest, FARO_DIGEST_BYTES) == 0;
}

/* A signer may publish any number of campaigns, each with its own budget; a client spends one of
 * them, or goes on to one that counts them together. */
static faro_status check_same(const faro_client *client, const faro_campaign *campaign, faro_error *error) {
  if (!client->bound || is_kept(client, campaign)) return FARO_OK;
  return check_successor(client, campaign, error);
}

/* Everybody counts what was spent before, even a client that knows of no earlier campaign: the
 * person may have taken part with another device. */
static faro_status check_claim(const faro_client *client, const faro_campaign *campaign, faro_error *error) {
  faro_error inner = {0};
  faro_claim claim = campaign->claim;
  faro_campaign_total(campaign, &claim.epsilon, &claim.delta);
  if (faro_claim_meets(&claim, campaign->befores > 0 ? "the campaign with those before it" : "the campaign",
                       &client->floor, "this client accepts", &inner) == FARO_OK)
    return FARO_OK;
  return faro_fail(error, FARO_WEAK, "%s", inner.message);
}

/* The noise of other clients protects this one, and the claim must not count on more of it than the
 * client accepts. A client that took part already goes on: what it has sent is sent. A successor is
 * another campaign. */
static faro_status check_honest(const faro_client *client, const faro_campaign *campaign, faro_error *error) {
  const faro_trust trust = campaign->claim.trust;
  const bool crowd = trust == FARO_TRUST_SHUFFLE || trust == FARO_TRUST_CONCURRENT;
  const double most = client->honest > 0 ? client->honest : is_kept(client, campaign) ? 1 : HONEST_DEFAULT;
  if (!crowd || campaign->params.honest <= most) return FARO_OK;
  return faro_fail(error, FARO_WEAK, "honest of the campaign is %g, and this client accepts at most %g%s",
                   campaign->params.honest, most, client->honest > 0 ? "" : " unless it is told to (honest)");
}

/* A key alone would prove nothing: reports go to the address, and not all are sealed. */
static bool is_pinned(const faro_client *client, const faro_campaign_shuffler *shuffler) {
  bool found = client->pins == 0;
  for (size_t i = 0; i < client->pins; i++)
    found = found || (memcmp(client->pin[i].key, shuffler->key, FARO_KEY_BYTES) == 0 &&
                      strcmp(client->pin[i].url, shuffler->url) == 0);
  return found;
}

/* The shufflers must be pinned as the campaign was founded. From there each leads to its address
 * and key of now by its own consent. To pin those of now would not do: the step to them is signed
 * by the key before it only. */
static faro_status check_shufflers(const faro_client *client, const faro_campaign *campaign,
                                   faro_error *error) {
  for (size_t i = 0; i < campaign->shufflers; i++)
    if (!is_pinned(client, &campaign->shuffler[i])) {
      char digits[2 * FARO_KEY_BYTES + 1];
      sodium_bin2hex(digits, sizeof digits, campaign->shuffler[i].key, FARO_KEY_BYTES);
      return faro_fail(error, FARO_WEAK,
                       "shuffler %zu of the campaign has the key %s at %s, which is not one of the %zu pairs "
                       "of key and url that this client has pinned",
                       i, digits, campaign->shuffler[i].url, client->pins);
    }
  return FARO_OK;
}

static faro_status check_address(const faro_client *client, const char *whose, const char *url,
                                 faro_error *error) {
  if (client->insecure || faro_url_local(url)) return FARO_OK;
  return faro_fail(
      error, FARO_WEAK,
      "url of %s is %s, and this client requires https:// beyond its own machine (unless insecure is set)",
      whose, url);
}

static faro_status check_addresses(const faro_client *client, const faro_campaign *campaign,
                                   faro_error *error) {
  faro_status status = check_address(client, "the campaign's analyzer", campaign->analyzer, error);
  for (size_t i = 0; status == FARO_OK && i < campaign->shufflers; i++)
    status = check_address(client, "a shuffler", campaign->shuffler[i].url, error);
  return status;
}

/* Gives the campaign as it is after a move, if this client may take part there. */
static faro_status move_to(const faro_client *client, const faro_move *move, const faro_campaign *founded,
                           faro_campaign *now, faro_error *error) {
  faro_status status = move ? faro_move_apply(move, founded, now, error) : FARO_OK;
  if (!move) *now = *founded;
  if (status == FARO_OK) status = check_shufflers(client, founded, error);
  return status == FARO_OK ? check_addresses(client, now, error) : status;
}

faro_status faro_client_campaign(faro_client *client, const void *bytes, size_t length, faro_error *error) {
  faro_campaign campaign, now;
  faro_status status = open_campaign(client, bytes, length, &campaign, error);
  if (status != FARO_OK) return status;
  if (client->joined && memcmp(client->campaign.digest, campaign.digest, FARO_DIGEST_BYTES) == 0)
    return FARO_OK;
  if (client->joined)
    return faro_fail(error, FARO_FOREIGN, "this client already takes part in campaign %s (got %s)",
                     client->campaign.id, campaign.id);
  status = check_same(client, &campaign, error);
  if (status == FARO_OK) status = check_claim(client, &campaign, error);
  if (status == FARO_OK) status = check_honest(client, &campaign, error);
  /* A move that was kept may be of the campaign before. */
  const bool moved = client->moved && memcmp(client->move.campaign, campaign.digest, FARO_DIGEST_BYTES) == 0;
  if (status == FARO_OK) status = move_to(client, moved ? &client->move : NULL, &campaign, &now, error);
  if (status == FARO_OK) status = join(client, &campaign, &now, error);
  if (status != FARO_OK) return status;
  memcpy(client->signers[1], signer_now(client), FARO_KEY_BYTES); /* over the end of the move, too */
  client->moved = moved;
  if (faro_client_in_successor(client))
    client->sequence = client->version = 0; /* they counted in the campaign before */
  return FARO_OK;
}

bool faro_client_in_successor(const faro_client *client) {
  return client->joined && client->bound && !is_kept(client, &client->campaign);
}

void faro_client_spent(const faro_client *client, double *epsilon, double *delta) {
  *epsilon = *delta = 0;
  if (client->joined) faro_campaign_total(&client->campaign, epsilon, delta);
}

bool faro_client_spent_singly(const faro_client *client) {
  return client->spent_singly || (client->joined && client->campaign.claim.level != FARO_LEVEL_USER);
}

static faro_status check_move(const faro_client *client, const faro_move *move, faro_error *error) {
  bool newer = false;
  const unsigned char *known = faro_client_digest(client);
  if (known && memcmp(known, move->campaign, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_FOREIGN, "the move is not of the campaign that this client is in");
  return client->moved ? faro_move_follows(&client->move, move, &newer, error) : FARO_OK;
}

faro_status faro_client_move(faro_client *client, const void *bytes, size_t length, faro_error *error) {
  if (client->fixed) return faro_fail(error, FARO_WEAK, "this client is fixed: it follows no moves");
  faro_move *move = malloc(sizeof *move);
  faro_campaign *now = malloc(sizeof *now);
  faro_status status = move && now ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK)
    status =
        faro_move_open(move, bytes, length, client->moved ? client->move.founder : client->signers[1], error);
  if (status == FARO_OK) status = check_move(client, move, error);
  if (status == FARO_OK && client->joined) status = move_to(client, move, &client->founded, now, error);
  if (status == FARO_OK && client->joined) settle(client, now);
  if (status == FARO_OK) client->move = *move;
  if (status == FARO_OK) client->moved = true;
  if (status == FARO_OK && client->joined)
    memcpy(client->signers[1], faro_move_signer_key(move), FARO_KEY_BYTES);
  free(move);
  free(now);
  return status;
}

faro_status faro_client_collectors(faro_client *client, size_t shuffler, const void *bytes, size_t length,
                                   faro_error *error) {
  unsigned char hash[FARO_HASH_BYTES];
  faro_collectors list;
  if (!client->joined || shuffler >= client->campaign.shufflers)
    return faro_fail(error, FARO_INVALID, "shuffler must be below %zu (got %zu)",
                     client->joined ? client->campaign.shufflers : 0, shuffler);
  faro_status status = faro_collectors_open(&list, bytes, length, &client->campaign, shuffler, error);
  if (status != FARO_OK) return status;
  const size_t before = client->collectors[shuffler];
  if (before > 0 && before != list.count)
    return faro_fail(
        error, FARO_INVALID,
        "shuffler %zu had %zu collectors, and now lists %zu: their number cannot change within a "
        "campaign",
        shuffler, before, list.count);
  faro_token_hash(client->token, hash);
  const char *url = list.collector[faro_collector_of(hash, list.count)].url;
  status = check_address(client, "a collector", url, error);
  if (status != FARO_OK) return status;
  client->collectors[shuffler] = list.count;
  snprintf(client->address[shuffler], sizeof client->address[shuffler], "%s" REPORTS, url);
  return FARO_OK;
}

static faro_status refuse_version(const faro_client *client, uint64_t version, faro_error *error) {
  return faro_fail(
      error, FARO_OLD,
      "the policy has version %llu, but version %llu was seen before; perhaps an old copy of the "
      "analyzer's state was restored",
      (unsigned long long)version, (unsigned long long)client->version);
}

static faro_status check_policy(const faro_client *client, const faro_policy_document *document,
                                faro_error *error) {
  const faro_campaign *campaign = &client->campaign;
  const faro_policy *policy = &document->policy;
  if (memcmp(document->campaign, campaign->digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_FOREIGN, "the policy does not belong to campaign %s", campaign->id);
  if (policy->dimension != campaign->contribution.dimension)
    return faro_fail(error, FARO_INVALID,
                     "dimension of the policy must be that of the campaign, %zu (got %zu)",
                     campaign->contribution.dimension, policy->dimension);
  if ((document->at != NULL) != faro_campaign_in_rounds(campaign))
    return faro_fail(error, FARO_INVALID,
                     "the policy must %shave a point in campaign %s, which is %sin rounds",
                     document->at ? "not " : "", campaign->id, document->at ? "not " : "");
  if (policy->version < client->version) return refuse_version(client, policy->version, error);
  if (policy->version > campaign->batches + 1)
    return faro_fail(error, FARO_INVALID,
                     "version of the policy must be at most %llu in this campaign (got %llu)",
                     (unsigned long long)campaign->batches + 1, (unsigned long long)policy->version);
  return FARO_OK;
}

/* Makes the release of a round, linearised at its point. */
static faro_status enter(faro_client *client, const faro_policy_document *document, faro_error *error) {
  faro_release *release = NULL;
  const faro_status status = faro_campaign_round(&client->campaign, document->policy.version - 1,
                                                 faro_source_client(client->secure), &release, error);
  if (status != FARO_OK) return status;
  faro_release_linearise(release, document->at);
  faro_release_destroy(client->release);
  client->release = release;
  return FARO_OK;
}

/* Makes a plan the newest one, with a release of its own. */
static faro_status follow(faro_client *client, const faro_plan_document *plan, const faro_plan_row *row,
                          faro_error *error) {
  faro_release *release = NULL;
  if (plan->size > 0) {
    const faro_status status = faro_plan_release(&client->campaign, plan->size, plan->arms,
                                                 faro_source_client(client->secure), &release, error);
    if (status != FARO_OK) return status;
  }
  faro_release_destroy(client->release);
  client->release = release;
  faro_turns_begin(client->turns, plan);
  client->version = plan->version;
  faro_plans_clear(client->campaign.plans);
  return faro_plans_add(client->campaign.plans, row, error);
}

static faro_status open_plan(faro_client *client, const void *bytes, size_t length, faro_error *error) {
  faro_plan_document plan;
  faro_plan_row row;
  faro_status status = faro_plan_document_open(&plan, bytes, length, signer_now(client), error);
  if (status == FARO_OK && plan.version < client->version)
    status = refuse_version(client, plan.version, error);
  if (status == FARO_OK) status = faro_plan_check(&client->campaign, &plan, &row, error);
  return status == FARO_OK ? follow(client, &plan, &row, error) : status;
}

faro_status faro_client_policy(faro_client *client, const void *bytes, size_t length, faro_error *error) {
  if (!client->joined) return faro_fail(error, FARO_INVALID, "a campaign is required before a policy");
  if (client->turns) return open_plan(client, bytes, length, error);
  faro_policy_document document = {0};
  faro_status status = faro_policy_document_open(&document, bytes, length, signer_now(client), error);
  if (status == FARO_OK) status = check_policy(client, &document, error);
  if (status == FARO_OK && document.at) status = enter(client, &document, error);
  if (status != FARO_OK) {
    faro_policy_document_clear(&document);
    return status;
  }
  faro_policy_document_clear(&client->document);
  client->document = document;
  client->version = document.policy.version;
  return FARO_OK;
}

/* Choosing and reporting. */

static faro_status ready(const faro_client *client, faro_error *error) {
  if (client->turns)
    return faro_fail(error, FARO_INVALID,
                     "campaign %s is in phases: its plan says what to play (faro_client_next)",
                     client->campaign.id);
  return client->document.numbers ? FARO_OK : faro_fail(error, FARO_INVALID, "there is no policy yet");
}

static size_t draw_from_design(const faro_client *client, const double *features, size_t count, double luck) {
  const faro_policy *policy = &client->document.policy;
  const faro_outlook outlook = {.link = client->campaign.rounds.link,
                                .bound = client->campaign.rounds.bound,
                                .theta = policy->theta,
                                .w = policy->w,
                                .quantile = policy->beta};
  return faro_explorer_pick_rows(client->explorer, &outlook, features, count, luck);
}

faro_status faro_client_choose(const faro_client *client, const double *features, size_t count, size_t *arm,
                               faro_error *error) {
  const faro_status status = ready(client, error);
  if (status != FARO_OK) return status;
  const size_t d = client->document.policy.dimension;
  if (count < 1 || count > client->campaign.arms)
    return faro_fail(error, FARO_INVALID, "the number of arms must be from 1 to %llu (got %zu)",
                     (unsigned long long)client->campaign.arms, count);
  if (!faro_all_finite(features, count * d)) return faro_fail(error, FARO_INVALID, "features must be finite");
  const faro_policy *policy = &client->document.policy;
  faro_rng *rng = faro_secure_face(client->secure);
  double direction[FARO_WIRE_DIMENSION_MAX];
  if (policy->rule == FARO_RULE_DESIGN) {
    *arm = draw_from_design(client, features, count, faro_draw_uniform(rng));
    return FARO_OK;
  }
  if (faro_choice_explore(policy, count, rng, arm)) return FARO_OK;
  faro_choice_draw(policy, rng, direction);
  *arm = faro_choice_best(policy, direction, features, count);
  return FARO_OK;
}

/* The messages of a user that its own noise is made for: at most one per batch. At event level the
 * noise covers one message for each choice. */
static uint64_t messages_covered(const faro_campaign *c) {
  if (c->claim.level != FARO_LEVEL_USER) return INT64_MAX;
  return c->claim.contributions < c->batches ? c->claim.contributions : c->batches;
}

/* In the local model the client itself must not send more than its claim covers: even a message
 * that was refused has been seen. */
static uint64_t reports_covered(const faro_campaign *c) {
  return c->claim.trust == FARO_TRUST_LOCAL ? messages_covered(c) : INT64_MAX;
}

/* Whether the claim, or a part of it, counts every message that left the device. */
static bool counts_messages(const faro_campaign *c) {
  return c->claim.trust == FARO_TRUST_LOCAL || c->claim.local_epsilon > 0;
}

bool faro_client_covered(const faro_client *client) {
  return !counts_messages(&client->campaign) || client->sequence < messages_covered(&client->campaign);
}

bool faro_client_remakes(const faro_client *client) {
  const faro_campaign *c = &client->campaign;
  return !counts_messages(c) || (c->claim.level == FARO_LEVEL_USER && faro_client_covered(client));
}

static faro_status check_count(const faro_client *client, faro_error *error) {
  const uint64_t covered = reports_covered(&client->campaign);
  if (client->sequence >= INT64_MAX) return faro_fail(error, FARO_SPENT, "sequence numbers are used up");
  if (client->sequence >= covered)
    return faro_fail(error, FARO_SPENT, "this client has made all %llu reports that its privacy claim covers",
                     (unsigned long long)covered);
  return FARO_OK;
}

/* How long a choice may wait is the campaign's to say. That is for learning, and not for privacy: a
 * late report has the noise of the batch in which it lands (docs/privacy.md, "Late rewards"). */
static faro_status check_wait(const faro_client *client, uint64_t chosen, faro_error *error) {
  const uint64_t now = client->document.policy.version;
  const uint64_t wait = client->campaign.wait;
  if (chosen < 1 || chosen > now)
    return faro_fail(error, FARO_INVALID, "version of the choice must be from 1 to %llu (got %llu)",
                     (unsigned long long)now, (unsigned long long)chosen);
  if (wait == 0 || now - chosen <= wait) return FARO_OK;
  return faro_fail(error, FARO_LATE,
                   "%llu batches were released after the choice, and this campaign allows at most %llu",
                   (unsigned long long)(now - chosen), (unsigned long long)wait);
}

static faro_status check_report(const faro_client *client, uint64_t chosen, const double *features,
                                double reward, faro_error *error) {
  faro_status status = ready(client, error);
  if (status != FARO_OK) return status;
  if (!faro_all_finite(features, client->document.policy.dimension) || !isfinite(reward))
    return faro_fail(error, FARO_INVALID, "features and reward must be finite");
  if (faro_client_over(client))
    return faro_fail(error, FARO_OVER, "the campaign is over: all %llu batches are released",
                     (unsigned long long)client->campaign.batches);
  status = check_count(client, error);
  return status == FARO_OK ? check_wait(client, chosen, error) : status;
}

/* Writes one part for each shuffler that can still fill its batch. */
static faro_status write_parts(faro_client *client, unsigned char *out, size_t *parts, faro_error *error) {
  const faro_campaign *campaign = &client->campaign;
  faro_wire_report report = {.version = client->version, .sequence = client->sequence + 1};
  memcpy(report.token, client->token, FARO_TOKEN_BYTES);
  faro_status status = FARO_OK;
  size_t made = 0;
  for (size_t i = 0; status == FARO_OK && i < target_count(client); i++) {
    if (!faro_campaign_active(campaign, i, report.version - 1)) continue;
    report.shuffler = (uint32_t)i;
    status =
        faro_wire_report_write(campaign, &report, client->numbers + i * faro_wire_report_entries(campaign),
                               out + made * faro_wire_report_size(campaign), error);
    client->target[made++] = i;
  }
  sodium_memzero(&report, sizeof report);
  if (status == FARO_OK) *parts = made;
  return status;
}

faro_status faro_client_report_late(faro_client *client, uint64_t chosen, const double *features,
                                    double reward, unsigned char *out, size_t *parts, faro_error *error) {
  faro_status status = check_report(client, chosen, features, reward, error);
  if (status == FARO_OK) {
    const bool alone = faro_campaign_in_rounds(&client->campaign); /* a release of one batch */
    faro_release_seek(client->release, alone ? 0 : client->document.policy.version - 1);
    status = faro_release_randomize(client->release, features, reward - client->campaign.centre,
                                    client->numbers, error);
  }
  if (status == FARO_OK) status = write_parts(client, out, parts, error);
  if (client->release) sodium_memzero(client->numbers, faro_release_message_size(client->release));
  if (status == FARO_OK) client->sequence++;
  return status;
}

faro_status faro_client_report(faro_client *client, const double *features, double reward, unsigned char *out,
                               size_t *parts, faro_error *error) {
  return faro_client_report_late(client, client->document.policy.version, features, reward, out, parts,
                                 error);
}

bool faro_client_again(const faro_client *client, uint64_t chosen) {
  const faro_campaign *c = &client->campaign;
  if (!client->joined || !faro_campaign_in_rounds(c) || faro_client_over(client)) return false;
  return chosen >= 1 && chosen < client->version &&
         faro_campaign_term_of(c, chosen - 1, NULL) == faro_campaign_term_of(c, client->version - 1, NULL);
}

/* Plans. */

static faro_status planned(const faro_client *client, faro_error *error) {
  if (client->joined && !client->turns)
    return faro_fail(error, FARO_INVALID,
                     "campaign %s has no phases: choose by its policy (faro_client_choose)",
                     client->campaign.id);
  return client->turns && client->turns->plan.version > 0
             ? FARO_OK
             : faro_fail(error, FARO_INVALID, "there is no plan yet");
}

/* At user level a client that has made all its reports plays on, but is not asked again. */
static bool is_spent(const faro_client *client) {
  const faro_claim *claim = &client->campaign.claim;
  return claim->level == FARO_LEVEL_USER && client->sequence >= claim->contributions;
}

bool faro_client_in_phases(const faro_client *client) { return client->turns != NULL; }

faro_status faro_client_next(const faro_client *client, size_t *arm, bool *counts, faro_error *error) {
  const faro_status status = planned(client, error);
  if (status != FARO_OK) return status;
  const bool asked = faro_turns_next(client->turns, arm) && !is_spent(client);
  if (!asked) *arm = (size_t)client->turns->plan.best;
  if (counts) *counts = asked;
  return FARO_OK;
}

uint64_t faro_client_left(const faro_client *client) {
  return client->turns && !is_spent(client) ? faro_turns_left(client->turns) : 0;
}

/* Each reward is clipped, and not their average alone: one that is far too large would stand for
 * all of them. */
faro_status faro_client_reward(faro_client *client, size_t arm, double reward, faro_error *error) {
  const faro_status status = planned(client, error);
  if (status != FARO_OK) return status;
  if (!isfinite(reward)) return faro_fail(error, FARO_INVALID, "reward must be finite");
  const faro_contribution *bound = &client->campaign.contribution;
  const double centred = fmin(fmax(reward - client->campaign.centre, bound->low), bound->high);
  return faro_turns_reward(client->turns, arm, centred + client->campaign.centre, error);
}

bool faro_client_complete(const faro_client *client) {
  return client->turns && faro_turns_complete(client->turns) && !is_spent(client);
}

/* All reports of a campaign have one size. Numbers that the plan does not ask for are the same in
 * all of them: the one nearest to 0 that a report may have. */
static void fill(faro_client *client) {
  const faro_encoding *e = faro_campaign_encoding(&client->campaign, 0, client->version - 1);
  const int64_t number = e->least > 0 ? e->least : 0;
  for (size_t i = 0; i < client->campaign.entries; i++) client->numbers[i] = (uint64_t)number;
}

faro_status faro_client_report_plan(faro_client *client, unsigned char *out, size_t *parts,
                                    faro_error *error) {
  double average[FARO_PLAN_ARMS_MAX];
  faro_status status = planned(client, error);
  if (status == FARO_OK) status = check_count(client, error);
  if (status == FARO_OK && !faro_client_complete(client))
    status = faro_fail(error, FARO_INVALID, "plan %llu asks for no report, or for more rewards first",
                       (unsigned long long)client->version);
  if (status != FARO_OK) return status;
  const size_t size = faro_campaign_targets(&client->campaign) * client->campaign.entries * sizeof(uint64_t);
  faro_turns_averages(client->turns, &client->campaign, average);
  fill(client);
  status = faro_release_randomize(client->release, average, 0, client->numbers, error);
  if (status == FARO_OK) status = write_parts(client, out, parts, error);
  sodium_memzero(client->numbers, size);
  sodium_memzero(average, sizeof average);
  if (status != FARO_OK) return status;
  client->sequence++;
  client->turns->reported = true;
  return FARO_OK;
}

size_t faro_client_progress_size(const faro_client *client) {
  return client->turns && client->turns->plan.version > 0 ? faro_turns_size(client->turns) : 0;
}

void faro_client_progress(const faro_client *client, unsigned char *progress) {
  if (faro_client_progress_size(client) > 0) faro_turns_save(client->turns, progress);
}

faro_status faro_client_resume(faro_client *client, const unsigned char *progress, size_t size,
                               faro_error *error) {
  const faro_status status = planned(client, error);
  return status == FARO_OK ? faro_turns_load(client->turns, progress, size, error) : status;
}

void faro_client_change(faro_client *client) {
  client->sequence = 0;
  if (!client->turns) return;
  const faro_plan_document plan = client->turns->plan;
  memset(client->turns, 0, sizeof *client->turns);
  client->turns->plan = plan;
}

/* Getters. */

size_t faro_client_parts(const faro_client *client) { return client->joined ? target_count(client) : 0; }

size_t faro_client_part_size(const faro_client *client) {
  return client->joined ? faro_wire_report_size(&client->campaign) : 0;
}

const char *faro_client_target(const faro_client *client, size_t part) {
  if (!client->joined || part >= target_count(client)) return NULL;
  return client->address[client->target[part]];
}

const char *faro_client_address(const faro_client *client, size_t shuffler) {
  return client->joined && shuffler < target_count(client) ? client->address[shuffler] : NULL;
}

size_t faro_client_dimension(const faro_client *client) {
  return client->joined ? client->campaign.contribution.dimension : 0;
}

const unsigned char *faro_client_digest(const faro_client *client) {
  if (client->joined) return client->campaign.digest;
  return client->bound ? client->kept : NULL;
}

const faro_campaign *faro_client_view(const faro_client *client) {
  return client->joined ? &client->campaign : NULL;
}

const unsigned char *faro_client_signers(const faro_client *client) { return client->signers[0]; }

uint64_t faro_client_moved(const faro_client *client) { return client->moved ? client->move.number : 0; }

const char *faro_client_analyzer(const faro_client *client) {
  if (client->joined) return client->campaign.analyzer;
  return client->moved ? client->move.analyzer : NULL;
}

uint64_t faro_client_version(const faro_client *client) { return client->version; }
uint64_t faro_client_sequence(const faro_client *client) { return client->sequence; }

bool faro_client_over(const faro_client *client) {
  return client->joined && client->version > faro_campaign_batches(&client->campaign);
}

bool faro_client_terms_of(const faro_client *client, faro_client_terms *terms) {
  const faro_campaign *c = &client->campaign;
  if (!client->joined) return false;
  *terms = (faro_client_terms){.campaign = c->id,
                               .release = c->release->name,
                               .analyzer = c->analyzer,
                               .epsilon = c->claim.epsilon,
                               .delta = c->claim.delta,
                               .trust = faro_trust_name(c->claim.trust),
                               .user_level = c->claim.level == FARO_LEVEL_USER,
                               .contributions = c->claim.contributions,
                               .alone_epsilon = c->claim.local_epsilon,
                               .alone_delta = c->claim.local_delta,
                               .honest = c->params.honest,
                               .batch = c->params.batch,
                               .largest = faro_campaign_largest(c),
                               .batches = c->batches,
                               .wait = c->wait,
                               .arms = c->arms,
                               .norm = c->contribution.norm,
                               .low = c->centre + c->contribution.low,
                               .high = c->centre + c->contribution.high,
                               .shufflers = c->shufflers,
                               .split = faro_campaign_is_split(c)};
  faro_campaign_total(c, &terms->total_epsilon, &terms->total_delta);
  return true;
}

const unsigned char *faro_client_shuffler_key(const faro_client *client, size_t shuffler) {
  if (!client->joined || shuffler >= client->campaign.shufflers) return NULL;
  return client->campaign.shuffler[shuffler].key;
}

const unsigned char *faro_client_pin_key(const faro_client *client, size_t shuffler) {
  return client->joined && shuffler < client->founded.shufflers ? client->founded.shuffler[shuffler].key
                                                                : NULL;
}

const char *faro_client_pin_url(const faro_client *client, size_t shuffler) {
  return client->joined && shuffler < client->founded.shufflers ? client->founded.shuffler[shuffler].url
                                                                : NULL;
}

const char *faro_client_shuffler_url(const faro_client *client, size_t shuffler) {
  if (!client->joined || shuffler >= client->campaign.shufflers) return NULL;
  return client->campaign.shuffler[shuffler].url;
}
