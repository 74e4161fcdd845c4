/* turns: see the header. The bytes that are saved:
 *
 *    0  4  "FRT1"
 *    4 32  digest of the plan
 *   36  1  whether the plan was reported
 *   37 16  for each arm of the plan: how often it was played, and the bits of the sum of its
 *          rewards */
#include "client/turns.h"

#include <math.h>
#include <string.h>

enum { MAGIC = 4, REPORTED_AT = MAGIC + FARO_DIGEST_BYTES, ARMS_AT = REPORTED_AT + 1, EACH = 16 };
static const char magic[MAGIC] = {'F', 'R', 'T', '1'};

void faro_turns_begin(faro_turns *turns, const faro_plan_document *plan) {
  if (turns->plan.version > 0 && memcmp(turns->plan.digest, plan->digest, FARO_DIGEST_BYTES) == 0) return;
  memset(turns, 0, sizeof *turns);
  turns->plan = *plan;
}

static bool is_open(const faro_turns *t, size_t i) { return t->played[i] < t->plan.play[i].pulls; }

bool faro_turns_next(const faro_turns *turns, size_t *arm) {
  *arm = (size_t)turns->plan.best;
  if (turns->reported) return false;
  for (size_t i = 0; i < turns->plan.arms; i++)
    if (is_open(turns, i)) {
      *arm = (size_t)turns->plan.play[i].arm;
      return true;
    }
  return false;
}

uint64_t faro_turns_left(const faro_turns *turns) {
  for (size_t i = 0; !turns->reported && i < turns->plan.arms; i++)
    if (is_open(turns, i)) return turns->plan.play[i].pulls - turns->played[i];
  return 0;
}

faro_status faro_turns_reward(faro_turns *turns, size_t arm, double reward, faro_error *error) {
  for (size_t i = 0; !turns->reported && i < turns->plan.arms; i++)
    if (turns->plan.play[i].arm == arm && is_open(turns, i)) {
      turns->played[i]++;
      turns->sum[i] += reward;
      return FARO_OK;
    }
  return faro_fail(error, FARO_INVALID,
                   "plan %llu asks for no more rewards of arm %zu: it may be of an earlier plan",
                   (unsigned long long)turns->plan.version, arm);
}

bool faro_turns_complete(const faro_turns *turns) {
  bool complete = turns->plan.arms > 0 && !turns->reported;
  for (size_t i = 0; i < turns->plan.arms; i++) complete = complete && !is_open(turns, i);
  return complete;
}

void faro_turns_averages(const faro_turns *turns, const faro_campaign *campaign, double *average) {
  const faro_contribution *bound = &campaign->contribution;
  for (size_t i = 0; i < turns->plan.arms; i++) {
    const double mean = turns->sum[i] / (double)turns->played[i] - campaign->centre;
    average[i] = (mean - bound->low) / (bound->high - bound->low) - 0.5;
  }
}

size_t faro_turns_size(const faro_turns *turns) { return ARMS_AT + EACH * turns->plan.arms; }

void faro_turns_save(const faro_turns *turns, unsigned char *bytes) {
  memcpy(bytes, magic, MAGIC);
  memcpy(bytes + MAGIC, turns->plan.digest, FARO_DIGEST_BYTES);
  bytes[REPORTED_AT] = turns->reported;
  for (size_t i = 0; i < turns->plan.arms; i++) {
    uint64_t sum;
    memcpy(&sum, &turns->sum[i], sizeof sum);
    faro_store64(bytes + ARMS_AT + EACH * i, turns->played[i]);
    faro_store64(bytes + ARMS_AT + EACH * i + 8, sum);
  }
}

faro_status faro_turns_load(faro_turns *turns, const unsigned char *bytes, size_t length, faro_error *error) {
  if (length < ARMS_AT || memcmp(bytes, magic, MAGIC) != 0)
    return faro_fail(error, FARO_INVALID, "these bytes are not a client's progress");
  if (memcmp(bytes + MAGIC, turns->plan.digest, FARO_DIGEST_BYTES) != 0)
    return faro_fail(error, FARO_INVALID, "the progress is that of another plan than %llu",
                     (unsigned long long)turns->plan.version);
  faro_turns made = *turns;
  bool whole = length == faro_turns_size(turns) && bytes[REPORTED_AT] <= 1;
  made.reported = bytes[REPORTED_AT] == 1;
  for (size_t i = 0; whole && i < made.plan.arms; i++) {
    const uint64_t sum = faro_load64(bytes + ARMS_AT + EACH * i + 8);
    made.played[i] = faro_load64(bytes + ARMS_AT + EACH * i);
    memcpy(&made.sum[i], &sum, sizeof sum);
    whole = made.played[i] <= made.plan.play[i].pulls && isfinite(made.sum[i]);
  }
  if (!whole) return faro_fail(error, FARO_INVALID, "the progress is damaged");
  *turns = made;
  return FARO_OK;
}

bool faro_turns_reported(const unsigned char *bytes) { return bytes[REPORTED_AT] == 1; }
