/* ledger_check: see the header. */
#include "service/analyzer/ledger_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "service/analyzer/ledger_chain.h"

static faro_status open_head(const faro_ledger_check *c, const char *text, size_t length,
                             const unsigned char signer[static FARO_KEY_BYTES], faro_ledger_head *head,
                             faro_error *error) {
  const faro_status status = faro_ledger_head_open(head, text, length, signer, error);
  if (status != FARO_OK) return status;
  if (memcmp(head->campaign, c->campaign->digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID, "the signed head is that of another campaign's ledger");
  if (head->rows <= c->campaign->batches) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the signed head has %" PRIu64 " rows, but the claim covers %" PRIu64 " releases",
                   head->rows, c->campaign->batches);
}

faro_status faro_ledger_check_begin(faro_ledger_check *check, const faro_campaign *campaign,
                                    const unsigned char signer[static FARO_KEY_BYTES], const json_t *page,
                                    faro_error *error) {
  *check = (faro_ledger_check){.campaign = campaign};
  memcpy(check->hash, campaign->digest, FARO_DIGEST_BYTES);
  const json_t *head = json_object_get(page, "head");
  if (!json_is_string(head))
    return faro_fail(error, FARO_INVALID,
                     "the ledger has no signed head (a database of an earlier version gets one when its "
                     "analyzer starts)");
  faro_status status =
      open_head(check, json_string_value(head), json_string_length(head), signer, &check->head, error);
  if (status == FARO_OK) status = faro_campaign_example(campaign, faro_source_none(), &check->release, error);
  return status;
}

faro_status faro_ledger_check_since(faro_ledger_check *check, const char *document, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  const faro_status status = open_head(check, document, length, signer, &check->kept, error);
  if (status != FARO_OK) return status;
  check->has_kept = true;
  if (check->kept.rows <= check->head.rows) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the ledger has %" PRIu64 " rows, but %" PRIu64 " were signed before: rows were removed",
                   check->head.rows, check->kept.rows);
}

/* Our accountant may differ from the analyzer's in the last digits, but a row must not say less. */
static bool is_enough(double stated, double ours) { return stated >= ours - 1e-9 * fabs(ours); }

/* The first member in which a row is not what our accountant says; NULL if there is none. In phases
 * only the plans say how many reports a batch has. */
static const char *first_wrong(const faro_campaign *c, const faro_debit *row, const faro_debit *ours) {
  if (row->batch != ours->batch) return "batch";
  if (row->version != ours->version) return "version";
  if (row->users != ours->users && !faro_campaign_in_phases(c)) return "users";
  if (row->rounds != ours->rounds) return "rounds";
  if (row->charged != ours->charged) return "charged";
  if (!is_enough(row->epsilon, ours->epsilon)) return "epsilon";
  return is_enough(row->delta, ours->delta) ? NULL : "delta";
}

/* In phases the plan chooses the size of a batch, between two bounds. */
static bool has_size(const faro_campaign *c, uint64_t users) {
  return faro_campaign_in_phases(c) && users >= c->params.batch && users <= c->params.largest;
}

static faro_status check_row(faro_ledger_check *c, const json_t *json, faro_error *error) {
  faro_debit row;
  faro_status status = faro_debit_read(json, &row, error);
  if (status != FARO_OK) return status;
  faro_debit ours = faro_ledger_debit(c->campaign, c->release, c->rows);
  if (has_size(c->campaign, row.users)) ours.users = row.users;
  row.allowed = ours.allowed;
  const char *wrong = first_wrong(c->campaign, &row, &ours);
  if (wrong)
    return faro_fail(
        error, FARO_INVALID,
        "row %" PRIu64 ": %s is not what the campaign and this program's accountant give "
        "(they give batch %" PRIu64 ", %" PRIu64 " reports, (%g, %g), charged %" PRIu64 " of %" PRIu64 ")",
        c->rows, wrong, ours.batch, ours.users, ours.epsilon, ours.delta, ours.charged, ours.allowed);
  c->reports += row.users;
  if (faro_campaign_in_phases(c->campaign) && c->reports > c->campaign->phases.reports)
    return faro_fail(error, FARO_INVALID,
                     "row %" PRIu64 ": there are %" PRIu64
                     " reports up to it, but the campaign allows at most %" PRIu64 " in all",
                     c->rows, c->reports, c->campaign->phases.reports);
  faro_ledger_link(c->hash, &row, c->hash);
  c->rows++;
  if (memcmp(c->hash, row.hash, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID,
                     "row %" PRIu64 " does not have the hash that follows from it and the rows before it",
                     c->rows - 1);
  if (c->has_kept && c->rows == c->kept.rows && memcmp(c->hash, c->kept.hash, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID,
                     "row %" PRIu64 " or one before it is not the one that was signed before: the ledger was "
                     "written again",
                     c->rows - 1);
  return FARO_OK;
}

faro_status faro_ledger_check_rows(faro_ledger_check *check, const json_t *page, faro_error *error) {
  const json_t *rows = json_object_get(page, "rows");
  if (!json_is_array(rows))
    return faro_fail(error, FARO_INVALID, "this is not a ledger of faro: it has no rows");
  size_t i = 0;
  json_t *row = NULL;
  json_array_foreach(rows, i, row) {
    if (check->rows == check->head.rows) return FARO_OK;
    const faro_status status = check_row(check, row, error);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

void faro_ledger_check_amend(const faro_ledger_check *check, json_t *page) {
  const uint64_t signed_rows = check->head.rows;
  faro_debit last = {0};
  if (signed_rows > 0) last = faro_ledger_debit(check->campaign, check->release, signed_rows - 1);
  json_t *facts = faro_ledger_facts(check->campaign, &last);
  (void)json_object_del(page, "most"); /* it is among the facts in phases only */
  (void)json_object_update(page, facts);
  json_decref(facts);
  json_t *rows = json_object_get(page, "rows");
  for (size_t i = json_array_size(rows); i-- > 0;) {
    faro_debit row;
    if (faro_debit_read(json_array_get(rows, i), &row, NULL) == FARO_OK && row.batch < signed_rows) break;
    (void)json_array_remove(rows, i);
  }
}

faro_status faro_ledger_check_end(const faro_ledger_check *check, uint64_t policy, faro_error *error) {
  const faro_ledger_head *head = &check->head;
  if (check->rows < head->rows)
    return faro_fail(error, FARO_INVALID, "row %" PRIu64 " is missing: %" PRIu64 " rows were signed",
                     check->rows, head->rows);
  if (memcmp(check->hash, head->hash, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID,
                     "row %" PRIu64 " is not the last one that was signed: the hash in the head differs",
                     head->rows == 0 ? 0 : head->rows - 1);
  if (policy <= head->rows + 1) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "policy %" PRIu64 " is published, but the ledger has only %" PRIu64
                   " rows: the row of a release is missing",
                   policy, head->rows);
}

void faro_ledger_check_tell(const faro_ledger_check *check, faro_text *out) {
  const faro_campaign *c = check->campaign;
  char pair[FARO_PAIR_SIZE];
  char digits[2 * FARO_DIGEST_BYTES + 1];
  faro_text_add(out, "verified: the ledger of campaign %s, %" PRIu64 " row%s\n", c->id, check->rows,
                check->rows == 1 ? "" : "s");
  faro_text_add(
      out,
      "  The analyzer has signed the number of rows and the hash of the last one, %.16s...\n"
      "  Each row contains the hash of the one before it: none was changed, removed or inserted since.\n",
      faro_hex_write(check->hash, FARO_DIGEST_BYTES, digits));
  if (check->has_kept)
    faro_text_add(out, "  It begins with what was signed at the last check (%" PRIu64 " row%s).\n",
                  check->kept.rows, check->kept.rows == 1 ? "" : "s");
  faro_text_add(out,
                "  The campaign's claim %s follows from the noise that its clients add, by this program's "
                "accountant.\n",
                faro_pair_above(c->claim.epsilon, c->claim.delta, pair));
  if (faro_campaign_in_phases(c))
    faro_text_add(
        out, "  Charged: %" PRIu64 " of at most %" PRIu64 " reports, in %" PRIu64 " release%s of phases.",
        check->reports, c->phases.reports, check->rows, check->rows == 1 ? "" : "s");
  else
    faro_text_add(out, "  Charged: %" PRIu64 " of the %" PRIu64 " releases that the claim covers.",
                  check->rows, c->batches);
  faro_text_add(
      out, " Each row says what the accountant computes for it.\n"
           "  The newest policy is that of the last row: no published policy is missing from the ledger.\n");
}

void faro_ledger_check_clear(faro_ledger_check *check) {
  faro_release_destroy(check->release);
  *check = (faro_ledger_check){0};
}
