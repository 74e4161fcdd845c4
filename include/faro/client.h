/* client: what an application embeds to take part in a campaign: it chooses actions by a verified
 * policy, or plays what a verified plan asks for, and makes reports.
 *
 *   open -> campaign (once) -> policy (whenever there is a new one) -> choose -> [play] -> report
 *   -> save -> send parts
 *
 * libfaro_client needs libsodium and the C library only. Sending is up to the application. Nothing
 * leaves the device that is not clipped, encoded and noised. The header is for C and C++, and
 * examples/client.c is a complete application.
 *
 * A choice has a life of its own. It is the features of the chosen arm and the version of the
 * policy at that time. Its reward may come a second or a month later; then load the newest policy
 * and make the report under it. A report is always made for the batch that is open now, with the
 * noise of that batch, whenever the choice was made. So a late reward is as private as an early
 * one, and it counts as much. faro/queue.h keeps choices and reports over restarts.
 *
 * The campaign is at GET <analyzer>/v1/campaign, policies at GET
 * <analyzer>/v1/policy?after=<version>, which waits for a newer one. If a call fails, `error`
 * says why; start with faro_error error = {0}. It may be NULL. Use a client from one thread at a
 * time. */
#ifndef FARO_CLIENT_H
#define FARO_CLIENT_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_client faro_client;

typedef struct faro_client_params {
  const unsigned char *signer; /* 32 bytes: the analyzer's public key, pinned */
  const unsigned char *token;  /* 32 bytes: the secret by which shufflers know this client */

  /* Saved over restarts; save them before a report is sent. The first three belong together:
   * sequence and version count in one campaign, and without a campaign they must be 0. Another
   * campaign is refused, because it would spend a new privacy budget in addition to the first. An
   * application that wants this opens a client with campaign NULL, sequence 0 and version 0; what
   * was spent before stays spent. */
  const unsigned char *campaign; /* 32 bytes from faro_client_digest; NULL: none yet */
  uint64_t sequence;             /* from faro_client_sequence: the last number used */
  uint64_t version;              /* from faro_client_version: older policies are refused */
  /* From faro_client_spent. With them the client may move to a successor: a campaign that names the
   * saved one, states at least this as spent before, and stays within the minimum below with all of
   * it together. Then sequence and version start again from 0. Both 0: it may not. */
  double spent_epsilon, spent_delta;
  bool spent_singly; /* from faro_client_spent_singly: then user_level refuses a successor */
  /* 64 bytes from faro_client_signers: then a signing key that was handed over stays so, also in
   * successors, until `signer` is another one. NULL: `signer` signs now, as far as is known. */
  const unsigned char *signers;

  /* The minimum: campaigns that promise less are refused. */
  double epsilon, delta; /* greatest values */
  const char *trust;     /* weakest model: "local", "shuffle", "concurrent" or "joint" */
  bool user_level;       /* the claim must cover all rounds of a user */
  /* Greatest share of a batch whose noise the claim may count on, if the noise is that of others
   * (trust shuffle and concurrent). 1 accepts any campaign, even one that counts on everybody in a
   * batch. 0: 0.95, or any in the saved campaign itself. */
  double honest;
  bool insecure; /* allows http:// beyond this machine: listeners can read token and bit sums */

  /* The shufflers that this client trusts, pinned: public keys of 32 bytes each, one after another,
   * and their addresses as the campaign writes them, https://host:port; at most 20. Both are
   * required. A key alone would prove nothing, because reports go to the address that the campaign
   * names. A campaign that was founded with any other pair is refused; later a shuffler may move
   * with its own consent. NULL: any shuffler that the signer names, and then the signer may be its
   * own shuffler under another key. */
  const unsigned char *shufflers;
  const char *const *shuffler_urls;
  size_t shuffler_count;

  bool fixed; /* refuses all moves: addresses and keys are those of the campaign, for ever */
} faro_client_params;

FARO_API faro_status faro_client_open(faro_client **client, const faro_client_params *params,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_client_close(faro_client *client); /* NULL is allowed */

/* Documents as they were received. The claim of a campaign is recomputed, not believed.
 *   FARO_WEAK     the campaign promises less than the minimum
 *   FARO_FOREIGN  it is not the campaign that this client is in, or the policy is not of it
 *   FARO_OLD      the policy is older than one seen before
 *   FARO_INVALID  damaged, not signed by the signer, or stating what is not true */
FARO_API faro_status faro_client_campaign(faro_client *client, const void *bytes, size_t length,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_client_policy(faro_client *client, const void *bytes, size_t length,
                                        faro_error *error) FARO_WARN_UNUSED;

/* A campaign may move: its addresses and keys change, and it stays the same campaign with the same
 * budget. GET <analyzer>/v1/move has the newest move, or 404 if there is none. Ask for it before
 * the campaign, and again when a policy is refused or an address does not answer. Save its bytes
 * when it was accepted, and give them to the client first after a restart: then nobody who holds
 * an old key can take the move back. It may come before or after the campaign. A shuffler's
 * address and key change only if the shuffler itself has signed the change.
 *   FARO_OLD      an earlier move than one seen before
 *   FARO_FOREIGN  the move of another campaign
 *   FARO_WEAK     this client is fixed, or would have to send where it must not
 *   FARO_INVALID  damaged, or not signed by the right keys */
FARO_API faro_status faro_client_move(faro_client *client, const void *bytes, size_t length,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API uint64_t faro_client_moved(const faro_client *client); /* number of the newest move; 0: none */
/* The analyzer's address by the newest move or the campaign; NULL if neither is known. */
FARO_API const char *faro_client_analyzer(const faro_client *client);

/* Chooses one of `count` arms by the policy. The features of arm a start at features[a *
 * dimension]. If the policy samples, the client draws, and the next call may choose another arm. */
FARO_API faro_status faro_client_choose(const faro_client *client, const double *features, size_t count,
                                        size_t *arm, faro_error *error) FARO_WARN_UNUSED;

/* Makes one report about the reward of an arm, under the policy that the client has now: load the
 * newest one first. Makes *parts messages of faro_client_part_size bytes each, one for every
 * shuffler that needs one now. `out` has room for faro_client_parts of them.
 *
 * report_late is for a choice that was made some time ago: `chosen` is faro_client_version as it
 * was then. The report says nothing about it, and is made under the newest policy all the same. The
 * campaign may set a limit (`wait` in faro_client_terms), because what was true long ago may
 * mislead the learner. It has nothing to do with privacy.
 *
 *   FARO_LATE   more than `wait` batches were released after the choice
 *   FARO_OVER   all batches of the campaign are released
 *   FARO_SPENT  this client has made all reports that its claim covers (trust local)
 * Then nothing is made and nothing is used up.
 *
 * A report uses up a sequence number. Save digest, sequence and version before anything is sent, or
 * a crash could use a number twice. The second report would not count: it is refused, or answered
 * with 1 (accepted before) if the batch of the first has closed. */
FARO_API size_t faro_client_parts(const faro_client *client);
FARO_API size_t faro_client_part_size(const faro_client *client);
FARO_API faro_status faro_client_report(faro_client *client, const double *features, double reward,
                                        unsigned char *out, size_t *parts,
                                        faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_client_report_late(faro_client *client, uint64_t chosen, const double *features,
                                             double reward, unsigned char *out, size_t *parts,
                                             faro_error *error) FARO_WARN_UNUSED;

/* Campaigns in rounds (generalised linear rewards) ask for a choice more than once: true if the
 * newest policy belongs to the term in which the choice was made, and is newer; `chosen` is
 * faro_client_version as it was then. Then report_late with the same features and reward answers
 * it. Nobody has to: a client without such a choice, or whose reports are used up, goes on as
 * ever. */
FARO_API bool faro_client_again(const faro_client *client, uint64_t chosen);

/* The address for part i of the last report: https://host:port/v1/reports. POST the part there as
 * it is, with Content-Type: application/octet-stream. Parts for the same address may be sent in one
 * body, one after another. faro_client_replies says what the answer means. */
FARO_API const char *faro_client_target(const faro_client *client, size_t part);

/* A shuffler may have several collectors, each for some of the clients. Its own address then
 * answers ELSEWHERE, and GET <shuffler>/v1/collectors has the list, signed by the shuffler;
 * <shuffler> is faro_client_shuffler_url. Give it to the client, and send the same bytes to the
 * target of now. Fetch it again when the target does not answer: addresses may change, but not the
 * number of collectors. A shuffler that answers 404 has none.
 *   FARO_FOREIGN  the list of another campaign
 *   FARO_WEAK     this client would have to send where it must not
 *   FARO_INVALID  damaged, not signed by this shuffler, or of another length than before */
FARO_API faro_status faro_client_collectors(faro_client *client, size_t shuffler, const void *bytes,
                                            size_t length, faro_error *error) FARO_WARN_UNUSED;

/* What an answer means for one part of a post. */
typedef enum faro_reply_kind {
  FARO_REPLY_DONE,   /* on the receiver's disk, now or before: it counts once */
  FARO_REPLY_AGAIN,  /* not known, or not now: send the same bytes again later; they count once */
  FARO_REPLY_REFUSED /* for good: do not send it again */
} faro_reply_kind;

/* Why a part was refused, as docs/protocol.md lists it. */
typedef enum faro_refusal {
  FARO_REFUSAL_NONE,
  FARO_REFUSAL_OTHER, /* an answer that this version does not know */
  FARO_REFUSAL_CAMPAIGN,
  FARO_REFUSAL_MALFORMED,
  FARO_REFUSAL_TOKEN,
  /* With AGAIN: this client is in the open batch already. Send the same bytes again under the next
   * policy: a copy that is still on the way may count, and a new report would count as well. */
  FARO_REFUSAL_TWICE,
  FARO_REFUSAL_SPENT,
  FARO_REFUSAL_STALE, /* a batch closed on the way: a report under a newer policy may count */
  FARO_REFUSAL_REPLAY,
  FARO_REFUSAL_CLOSED,        /* the receiver is done */
  FARO_REFUSAL_ELSEWHERE = 11 /* with AGAIN: another collector takes it (faro_client_collectors) */
} faro_refusal;

typedef struct faro_reply {
  faro_reply_kind kind;
  faro_refusal refusal; /* NONE, unless refused, TWICE or ELSEWHERE */
  double after;         /* AGAIN only: wait at least this many seconds; 0: the receiver did not say */
} faro_reply;

/* Reads the answer to a post of `parts` parts: the HTTP status (0: no answer), the content, and the
 * seconds in Retry-After (0: none). Whatever comes from elsewhere, like a proxy's page, is not an
 * answer, and means AGAIN. Sends nothing, and needs no client. */
FARO_API void faro_client_replies(long status, const void *body, size_t length, double retry_after,
                                  faro_reply *replies, size_t parts);
FARO_API const char *faro_refusal_text(faro_refusal refusal);

/* Campaigns in phases. The policy is a plan: it says which arms each client plays, and how often,
 * and the report is the average reward of each arm. The arms are those of the campaign, by number.
 *
 *   policy -> next -> [play] -> reward -> ... -> complete? -> report_plan -> save -> send parts
 *
 * A plan is checked like a campaign: the claim of its batch, by this client's own accountant, must
 * be what the campaign states. A plan ends when its batch is full; rewards that come later cannot
 * count, because the next plan asks for others. In such a campaign faro_client_choose and
 * faro_client_report are refused. */
FARO_API bool faro_client_in_phases(const faro_client *client); /* false before a campaign */
/* The arm to play now. *counts (NULL is allowed): whether a reward of it is asked for; if not, it
 * is the arm that looks best: this client has reported already, or the campaign is over. */
FARO_API faro_status faro_client_next(const faro_client *client, size_t *arm, bool *counts,
                                      faro_error *error) FARO_WARN_UNUSED;
/* How many rewards of that arm are still asked for; 0: none. */
FARO_API uint64_t faro_client_left(const faro_client *client);
/* The reward of an arm that faro_client_next named, clipped to the campaign's bounds. FARO_INVALID
 * if the plan asks for none. */
FARO_API faro_status faro_client_reward(faro_client *client, size_t arm, double reward,
                                        faro_error *error) FARO_WARN_UNUSED;
FARO_API bool faro_client_complete(const faro_client *client); /* all rewards of the plan are in */
/* Like faro_client_report, from the rewards so far; they must be complete. */
FARO_API faro_status faro_client_report_plan(faro_client *client, unsigned char *out, size_t *parts,
                                             faro_error *error) FARO_WARN_UNUSED;
/* The rewards so far, to keep over a restart: as secret as they are. Save them after each reward,
 * and after report_plan together with the sequence. Give them back after faro_client_policy;
 * FARO_INVALID if they are of another plan, and then they are of no more use. The size depends on
 * the plan, and is 0 without one. */
FARO_API size_t faro_client_progress_size(const faro_client *client);
FARO_API void faro_client_progress(const faro_client *client, unsigned char *progress);
FARO_API faro_status faro_client_resume(faro_client *client, const unsigned char *progress, size_t size,
                                        faro_error *error) FARO_WARN_UNUSED;

FARO_API size_t faro_client_dimension(const faro_client *client); /* 0 before a campaign */

FARO_API bool faro_client_over(const faro_client *client); /* all batches are released, as far as known */

/* The most that this client will have spent by the end of its campaign, with earlier campaigns: to
 * be saved with the campaign. 0 before there is one. */
FARO_API void faro_client_spent(const faro_client *client, double *epsilon, double *delta);
/* Whether this campaign, or one before it, covers single reports only: then what was spent is no
 * bound for all reports of a client together. */
FARO_API bool faro_client_spent_singly(const faro_client *client);
/* Whether the campaign is a successor of the one that was saved: sequence and version have started
 * again. */
FARO_API bool faro_client_in_successor(const faro_client *client);

/* What the campaign promises and asks for. Texts are valid as long as the client. */
typedef struct faro_client_terms {
  const char *campaign, *release, *analyzer; /* id, name, address */
  double epsilon, delta;                     /* the claim, confirmed by this client's own accountant */
  double total_epsilon, total_delta;         /* with what earlier campaigns on the same people have spent */
  const char *trust;                         /* "local", "shuffle", "concurrent" or "joint" */
  bool user_level;                           /* the claim covers all reports of a client together */
  uint64_t contributions;                    /* the most reports of a client that the claim covers */
  double alone_epsilon, alone_delta;         /* even if shufflers and analyzer collude; 0: nothing */
  double honest;                             /* share of a batch on whose noise the claim counts */
  uint64_t batch, largest, batches; /* reports in the first and the largest batch; number of batches */
  uint64_t wait;                    /* batches that a choice may wait for its reward; 0: for ever */
  uint64_t arms;                    /* greatest number in a choice */
  double norm, low, high;           /* longer features are scaled back; rewards outside are clipped */
  size_t shufflers;
  bool split; /* between shuffler and adder: neither sees counts if it follows the protocol */
} faro_client_terms;
FARO_API bool faro_client_terms_of(const faro_client *client, faro_client_terms *terms); /* false: none yet */
/* The shufflers, from 0: public keys of 32 bytes, and addresses. NULL beyond the last one. pin_key
 * and pin_url: as the campaign was founded, which is what to pin. The others: as they are now,
 * after moves. */
FARO_API const unsigned char *faro_client_pin_key(const faro_client *client, size_t shuffler);
FARO_API const char *faro_client_pin_url(const faro_client *client, size_t shuffler);
FARO_API const unsigned char *faro_client_shuffler_key(const faro_client *client, size_t shuffler);
FARO_API const char *faro_client_shuffler_url(const faro_client *client, size_t shuffler);

/* What to save over restarts. The digest has 32 bytes and is valid as long as the client; NULL if
 * there is no campaign. */
FARO_API const unsigned char *faro_client_signers(const faro_client *client); /* 64 bytes */
FARO_API const unsigned char *faro_client_digest(const faro_client *client);
FARO_API uint64_t faro_client_version(const faro_client *client);
FARO_API uint64_t faro_client_sequence(const faro_client *client);

#ifdef __cplusplus
}
#endif

#endif
