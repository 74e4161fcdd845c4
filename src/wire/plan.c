/* plan: the plans of a campaign in phases, as signed documents, and what each party keeps of them.
 *
 *   {"campaign": "<hex>", "version": v, "phase": l, "best": a, "left": k, "size": n,
 *    "play": [{"arm": a, "pulls": p}, ...]}
 *
 * Each client of the batch plays every arm of `play` as often as it says, and reports the averages
 * of its rewards. A plan of size 0 is the last one: nothing more is collected. docs/privacy.md
 * (Phases) has the proof of the claim: each batch is a release by itself. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "field/reader.h"
#include "wire/document.h"

static const char word[] = "faro-plan-1";

#define AT(member) FARO_AT(faro_plan_document, member)
#define EACH(member) FARO_EACH(faro_plan_document, play[0].member, play)

static const faro_field fields[] = {
    {"campaign", FARO_FIELD_HEX, AT(campaign)},
    {"version", FARO_FIELD_COUNT, AT(version), .least = 1, .most = FARO_PLANS_MAX},
    {"phase", FARO_FIELD_COUNT, AT(phase), .least = 1, .most = 0x1p40},
    {"best", FARO_FIELD_COUNT, AT(best), .most = FARO_PLAN_ARMS_MAX - 1},
    {"left", FARO_FIELD_COUNT, AT(left), .least = 1, .most = FARO_PLAN_ARMS_MAX},
    {"size", FARO_FIELD_COUNT, AT(size), .most = 0x1p40},
    {"play", FARO_FIELD_LIST, AT(arms), .most = FARO_PLAN_ARMS_MAX},
    {"play[].arm", FARO_FIELD_COUNT, EACH(arm), .most = FARO_PLAN_ARMS_MAX - 1},
    {"play[].pulls", FARO_FIELD_COUNT, EACH(pulls), .least = 1, .most = 0x1p40},
};

static void write_json(const faro_plan_document *plan, faro_text *json) {
  char digits[2 * FARO_DIGEST_BYTES + 1];
  faro_text_add(json,
                "{\"campaign\":\"%s\",\"version\":%llu,\"phase\":%llu,\"best\":%llu,\"left\":%llu,"
                "\"size\":%llu,\n\"play\":[",
                faro_hex_write(plan->campaign, FARO_DIGEST_BYTES, digits), (unsigned long long)plan->version,
                (unsigned long long)plan->phase, (unsigned long long)plan->best,
                (unsigned long long)plan->left, (unsigned long long)plan->size);
  for (size_t i = 0; i < plan->arms; i++)
    faro_text_add(json, "%s{\"arm\":%llu,\"pulls\":%llu}", i ? "," : "",
                  (unsigned long long)plan->play[i].arm, (unsigned long long)plan->play[i].pulls);
  faro_text_add(json, "]}\n");
}

faro_status faro_plan_document_write(faro_plan_document *plan, const faro_sign_key *key, char **text,
                                     size_t *length, faro_error *error) {
  faro_text json = FARO_TEXT_INIT;
  write_json(plan, &json);
  return faro_document_sign(word, &json, key, plan->digest, text, length, error);
}

faro_status faro_plan_document_hash(faro_plan_document *plan, faro_error *error) {
  faro_text json = FARO_TEXT_INIT;
  write_json(plan, &json);
  return faro_document_hash(word, &json, plan->digest, error);
}

faro_status faro_plan_document_open(faro_plan_document *plan, const char *text, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  faro_tree tree = {0};
  faro_plan_document made = {0};
  faro_status status = faro_document_open(word, text, length, signer, made.digest, &tree, error);
  if (status != FARO_OK) return status;
  faro_reader r = {.tree = &tree, .all = true, .error = error};
  faro_read_fields(&r, 0, NULL, fields, sizeof fields / sizeof *fields, &made);
  status = faro_reader_end(&r);
  faro_tree_clear(&tree);
  if (status == FARO_OK) *plan = made;
  return status;
}

/* Checks. */

faro_status faro_plan_release(const faro_campaign *campaign, uint64_t size, size_t numbers,
                              faro_source source, faro_release **release, faro_error *error) {
  faro_contribution values;
  faro_release_params params = campaign->params;
  params.horizon = params.batch = size;
  params.growth = 0;
  params.largest = 0;
  params.anytime = params.contributions > 1; /* a user's rounds may be in several releases: Lemma P */
  const faro_status status = faro_contribution_values(&values, numbers, false, error);
  return status == FARO_OK ? faro_release_create(release, campaign->release, &values, &params, source, error)
                           : status;
}

faro_status faro_campaign_example(const faro_campaign *campaign, faro_source source, faro_release **release,
                                  faro_error *error) {
  if (faro_campaign_in_phases(campaign))
    return faro_plan_release(campaign, campaign->params.batch, (size_t)campaign->phases.numbers, source,
                             release, error);
  if (faro_campaign_in_rounds(campaign)) return faro_campaign_round(campaign, 0, source, release, error);
  return faro_release_create(release, campaign->release, &campaign->contribution, &campaign->params, source,
                             error);
}

static faro_status check_numbers(const faro_campaign *c, const faro_plan_document *plan, faro_error *error) {
  if (memcmp(plan->campaign, c->digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID, "the plan does not belong to campaign %s", c->id);
  if (plan->best >= c->arms || plan->left > c->arms)
    return faro_fail(error, FARO_INVALID, "arms of the plan must be below %llu (got %llu)",
                     (unsigned long long)c->arms, (unsigned long long)plan->best);
  for (size_t i = 0; i < plan->arms; i++)
    if (plan->play[i].arm >= c->arms)
      return faro_fail(error, FARO_INVALID, "arms of the plan must be below %llu (got %llu)",
                       (unsigned long long)c->arms, (unsigned long long)plan->play[i].arm);
  if (plan->size == 0 && plan->arms == 0) return FARO_OK; /* the last plan */
  if (plan->size < c->params.batch || plan->size > c->params.largest)
    return faro_fail(error, FARO_INVALID, "size of the plan must be %llu .. %llu in this campaign (got %llu)",
                     (unsigned long long)c->params.batch, (unsigned long long)c->params.largest,
                     (unsigned long long)plan->size);
  if (plan->arms < 1 || plan->arms > c->phases.numbers)
    return faro_fail(error, FARO_INVALID, "play must have 1 .. %llu arms in this campaign (got %zu)",
                     (unsigned long long)c->phases.numbers, plan->arms);
  return FARO_OK;
}

/* How reports are made for this batch, from the release that a client makes. */
static faro_status derive(const faro_campaign *c, const faro_plan_document *plan, const faro_release *release,
                          faro_encoding *e, faro_error *error) {
  faro_shuffler_task task = {.size = plan->size};
  (void)faro_release_task(release, 0, &task);
  *e = (faro_encoding){.from = plan->version - 1, .size = task.size, .grid = task.grid, .bits = task.bits};
  faro_release_range(release, 0, &e->least, &e->most);
  if (faro_release_cost(release).bits / (double)plan->arms > FARO_ENTRY_BITS_MAX ||
      e->most > (int64_t)FARO_JSON_COUNT_MAX)
    return faro_fail(error, FARO_INVALID,
                     "a report of a batch of %llu would need more than %d bits for a number: the campaign's "
                     "least batch is too small for %s",
                     (unsigned long long)plan->size, FARO_ENTRY_BITS_MAX, c->release->name);
  return FARO_OK;
}

static faro_status check_claim(const faro_campaign *c, const faro_plan_document *plan, faro_plan_row *row,
                               faro_error *error) {
  faro_release *release = NULL;
  faro_secure_rng *secure = NULL;
  faro_status status = faro_secure_open(&secure, error);
  if (status == FARO_OK)
    status = faro_plan_release(c, plan->size, plan->arms, faro_source_client(secure), &release, error);
  if (status == FARO_OK)
    status =
        faro_claim_meets(faro_release_claim(release), "the plan", &c->claim, "the campaign states", error);
  if (status == FARO_OK) status = derive(c, plan, release, &row->encoding, error);
  faro_release_destroy(release);
  faro_secure_close(secure);
  return status;
}

faro_status faro_plan_check(const faro_campaign *campaign, const faro_plan_document *plan, faro_plan_row *row,
                            faro_error *error) {
  const faro_status status = check_numbers(campaign, plan, error);
  if (status != FARO_OK) return status;
  *row = (faro_plan_row){
      .version = plan->version,
      .encoding = {.from = plan->version - 1, .size = UINT64_MAX, .least = 1}}; /* fits no report */
  memcpy(row->digest, plan->digest, FARO_DIGEST_BYTES);
  return plan->size > 0 ? check_claim(campaign, plan, row, error) : FARO_OK;
}

/* The plans so far. Rows are written before their count, and never changed. */

struct faro_plans {
  uint64_t first; /* version of row[0] */
  atomic_size_t count;
  size_t room;
  faro_plan_row row[];
};

faro_status faro_plans_create(faro_plans **plans, size_t room, faro_error *error) {
  faro_plans *made = calloc(1, sizeof *made + room * sizeof *made->row); /* unused pages cost nothing */
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the plans");
  made->room = room;
  *plans = made;
  return FARO_OK;
}

void faro_plans_destroy(faro_plans *plans) { free(plans); }
void faro_plans_clear(faro_plans *plans) { atomic_store(&plans->count, 0); }

uint64_t faro_plans_newest(const faro_plans *plans) {
  const size_t count = atomic_load(&plans->count);
  return count > 0 ? plans->first + count - 1 : 0;
}

const faro_plan_row *faro_plans_at(const faro_plans *plans, uint64_t version) {
  const size_t count = atomic_load(&plans->count);
  if (count == 0 || version < plans->first || version - plans->first >= count) return NULL;
  return &plans->row[version - plans->first];
}

bool faro_plans_over(const faro_plans *plans) {
  const faro_plan_row *last = faro_plans_at(plans, faro_plans_newest(plans));
  return last && last->encoding.size == UINT64_MAX;
}

faro_status faro_plans_add(faro_plans *plans, const faro_plan_row *row, faro_error *error) {
  const size_t count = atomic_load(&plans->count);
  const faro_plan_row *last = faro_plans_at(plans, faro_plans_newest(plans));
  if (count == plans->room || faro_plans_over(plans))
    return faro_fail(error, FARO_INVALID, "there can be no plan after version %llu",
                     (unsigned long long)faro_plans_newest(plans));
  if (last && row->version != last->version + 1)
    return faro_fail(error, FARO_INVALID, "version of the plan must be %llu, the next one (got %llu)",
                     (unsigned long long)last->version + 1, (unsigned long long)row->version);
  faro_plan_row *next = &plans->row[count];
  if (count == 0) plans->first = row->version;
  *next = *row;
  next->encoding.before = last ? last->encoding.before + last->encoding.size : 0;
  atomic_store(&plans->count, count + 1);
  return FARO_OK;
}
