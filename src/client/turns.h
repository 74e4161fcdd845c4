/* turns: what one client plays under a plan, and the rewards that it has had so far.
 *
 *   begin(plan) -> next -> [play] -> reward -> ... -> complete -> averages -> reported
 *
 * It may take days, so it can be saved and loaded. */
#ifndef FARO_CLIENT_TURNS_H
#define FARO_CLIENT_TURNS_H

#include "wire/wire.h"

typedef struct faro_turns {
  faro_plan_document plan; /* version 0: no plan yet */
  bool reported;           /* this client is in the batch of the plan already */
  uint64_t played[FARO_PLAN_ARMS_MAX];
  double sum[FARO_PLAN_ARMS_MAX];
} faro_turns;

/* Starts with a plan; what was heard under another one is forgotten. */
void faro_turns_begin(faro_turns *turns, const faro_plan_document *plan);
/* Whether something is left to play for the plan, and which arm; otherwise the arm that looks
 * best. */
bool faro_turns_next(const faro_turns *turns, size_t *arm);
/* How often that arm is still to be played for the plan; 0: not at all. */
uint64_t faro_turns_left(const faro_turns *turns);
faro_status faro_turns_reward(faro_turns *turns, size_t arm, double reward,
                              faro_error *error) FARO_WARN_UNUSED;
bool faro_turns_complete(const faro_turns *turns); /* all rewards are in */
/* The averages as the release takes them, plan.arms numbers in [-1/2, 1/2] for rewards within the
 * campaign's bounds. */
void faro_turns_averages(const faro_turns *turns, const faro_campaign *campaign, double *average);

/* What to keep over a restart. Loading refuses what is not of this plan. */
size_t faro_turns_size(const faro_turns *turns);
void faro_turns_save(const faro_turns *turns, unsigned char *bytes);
faro_status faro_turns_load(faro_turns *turns, const unsigned char *bytes, size_t length,
                            faro_error *error) FARO_WARN_UNUSED;

/* Whether bytes that were saved say that the plan was reported. */
bool faro_turns_reported(const unsigned char *bytes);

#endif
