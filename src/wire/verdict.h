/* verdict: what happens to a report, as its sender is told. Shufflers and the analyzer decide it
 * (service/state/spool.h); clients read it (faro/client.h). */
#ifndef FARO_WIRE_VERDICT_H
#define FARO_WIRE_VERDICT_H

/* The byte in the answer, its label in metrics, and the text of a refusal. */
#define FARO_VERDICT_LIST(X)                                                                                 \
  X(ACCEPTED, "accepted", "accepted")                                                                        \
  X(KNOWN, "known", "accepted before")                                                                       \
  X(CAMPAIGN, "campaign", "the report is for another campaign or plan")                                      \
  X(MALFORMED, "malformed", "the report is malformed")                                                       \
  X(TOKEN, "token", "the token is not known here")                                                           \
  X(TWICE, "twice", "this client is in the open batch already")                                              \
  X(SPENT, "spent", "this client has sent as many reports as the campaign allows")                           \
  X(STALE, "stale", "the policy of the report is not one of the open batch")                                 \
  X(REPLAY, "replay", "the sequence number was used before")                                                 \
  X(CLOSED, "closed", "no reports are collected now")                                                        \
  X(LIMITED, "limited", "too many reports of this client were refused")                                      \
  X(ELSEWHERE, "elsewhere", "the token belongs to another collector of this shuffler")

typedef enum faro_verdict {
#define X(name, label, text) FARO_VERDICT_##name,
  FARO_VERDICT_LIST(X)
#undef X
      FARO_VERDICT_COUNT
} faro_verdict;

/* The text of 400 for content that is not made of reports. */
#define FARO_NO_REPORTS "the body must be one or more whole reports of this campaign"

#endif
