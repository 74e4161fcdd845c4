/* wire: the bytes that client, shuffler and analyzer exchange. docs/protocol.md describes the same
 * in words.
 *
 * Documents (campaign, policy) are text: one line with the kind and a signature, then JSON.
 *
 *   faro-campaign-3 <128 hexadecimal digits: Ed25519>\n{...}
 *
 * The signature covers the first word, "\n" and the JSON, byte by byte. What is signed is what is
 * sent, so no canonical form is needed. The digest of a document is BLAKE2b-256 of the same bytes.
 *
 * Messages (reports, batches) are binary, with sizes that the campaign determines. Numbers are
 * little-endian. */
#ifndef FARO_WIRE_WIRE_H
#define FARO_WIRE_WIRE_H

#include <faro/message.h>
#include <faro/policy.h>

#include "release/size.h"
#include "wire/bytes.h"

enum {
  FARO_KEY_BYTES = 32, /* public keys (Ed25519, X25519) and secret X25519 keys */
  FARO_SECRET_BYTES = 64,
  FARO_SIGNATURE_BYTES = 64,
  FARO_TOKEN_BYTES = 32,
  FARO_HASH_BYTES = 16, /* hash of a token, as a shuffler keeps it */
  FARO_URL_MAX = 255,
  FARO_ID_MAX = 63,
  FARO_NONCE_BYTES = 16,
  FARO_SHUFFLERS_MAX = 20,
  FARO_ENCODINGS_MAX = 256, /* sizes of batches in a campaign, or shufflers */
  FARO_LEARNER_SETTINGS_MAX = 8,
  FARO_BEFORE_MAX = 16,          /* earlier campaigns on the same people */
  FARO_FEATURES_MAX = 4096,      /* numbers: all features of all arms of a campaign in phases */
  FARO_PLAN_ARMS_MAX = 1024,     /* arms of such a campaign */
  FARO_PLANS_MAX = 16384,        /* versions of its plans */
  FARO_WIRE_TERMS_MAX = 16,      /* terms of a campaign in rounds */
  FARO_WIRE_FITS_MAX = 15,       /* rounds of a term after the first */
  FARO_WIRE_DIMENSION_MAX = 256, /* so that a policy fits into a document */
  FARO_DOCUMENT_MAX = 1 << 20,
  FARO_ENTRY_BITS_MAX = 100000000, /* bits of an entry of a report, all parts together */
  FARO_BATCH_MAX = 256 << 20       /* bytes of all bodies in a batch, which is sent in one piece */
};

/* `faro keys` makes keys. A file holds one line, like "faro-sign-secret-1 <hex>". */
typedef struct faro_sign_key {
  unsigned char public_key[FARO_KEY_BYTES], secret[FARO_SECRET_BYTES];
} faro_sign_key;
typedef struct faro_seal_key {
  unsigned char public_key[FARO_KEY_BYTES], secret[FARO_KEY_BYTES];
} faro_seal_key;

/* How the reports of a campaign are made, mixed and read. */
typedef enum faro_wire_form {
  FARO_WIRE_BITS,   /* counts of ones, which the shuffler adds up: shuffle-bits, concurrent-bits */
  FARO_WIRE_SEALED, /* messages sealed to the analyzer; the shuffler permutes: shuffle-response */
  FARO_WIRE_DIRECT  /* messages sent to the analyzer itself: the local and central releases */
} faro_wire_form;

/* How reports for one size of batches are made. Each size has its own noise, so a report for
 * batches of one size is not valid in a batch of another. */
typedef struct faro_encoding {
  uint64_t from;       /* the campaign's batches from this one on, counted from 0 */
  uint64_t before;     /* reports in all batches before it */
  uint64_t size;       /* reports in a batch of the shuffler, or of the analyzer */
  uint64_t grid, bits; /* counts only: see faro_shuffler_task; else 0 */
  int64_t least, most; /* range of an entry of a report */
} faro_encoding;

typedef struct faro_campaign_shuffler {
  char url[FARO_URL_MAX + 1];
  unsigned char key[FARO_KEY_BYTES]; /* Ed25519 */
} faro_campaign_shuffler;

/* The party that holds the second share of split counts (split.h); one for each shuffler. Only its
 * shuffler talks to it, so clients need no address. */
typedef struct faro_campaign_adder {
  unsigned char key[FARO_KEY_BYTES];  /* Ed25519: it signs sums */
  unsigned char seal[FARO_KEY_BYTES]; /* X25519: clients seal to it */
} faro_campaign_adder;

/* A setting of the learner's own. */
typedef struct faro_campaign_setting {
  char name[FARO_ID_MAX + 1];
  double value;
} faro_campaign_setting;

/* A campaign in phases: which arm is played how often follows from what was released before. So its
 * batches are not known in advance, and its policies are plans (see faro_plan_document). */
typedef struct faro_phases {
  uint64_t numbers;     /* the most numbers in a report; 0: the campaign has no phases */
  uint64_t reports;     /* the most reports in all */
  double noise, spread; /* learner: sub-Gaussian scales of rewards, and of clients about their mean */
} faro_phases;

/* A campaign in rounds: a batched learner of generalised linear rewards (faro/rounds.h). Batch b is
 * round b; batches of a term have one size, and each of them is a release by itself. */
typedef struct faro_campaign_term {
  uint64_t size; /* reports in each round of the term */
} faro_campaign_term;
typedef struct faro_campaign_rounds {
  faro_link link; /* linear: the campaign has no rounds */
  double bound;   /* on the parameter's norm */
  uint64_t fits;  /* rounds of a term after the first */
  size_t terms;
  faro_campaign_term term[FARO_WIRE_TERMS_MAX];
} faro_campaign_rounds;

typedef struct faro_plans faro_plans;

/* An earlier campaign on the same people, and the most that one of them has spent in it. */
typedef struct faro_campaign_before {
  unsigned char campaign[FARO_DIGEST_BYTES]; /* digest of its document */
  double epsilon, delta;
} faro_campaign_before;

typedef struct faro_campaign {
  char id[FARO_ID_MAX + 1];
  unsigned char nonce[FARO_NONCE_BYTES]; /* makes every campaign different */
  const faro_release_kind *release;
  faro_contribution contribution; /* moments: x of norm <= norm, y within [low, high] */
  double centre;                  /* y = reward - centre, clipped afterwards */
  faro_release_params params;     /* under calibration tight */
  char learner[FARO_ID_MAX + 1];  /* its name; only the analyzer has to know it */
  double failure;                 /* parameter of the learner */
  size_t settings;                /* number of the learner's own settings */
  faro_campaign_setting setting[FARO_LEARNER_SETTINGS_MAX];
  uint64_t arms;                      /* greatest number of arms per choice */
  faro_claim claim;                   /* as stated by the analyzer */
  unsigned char seal[FARO_KEY_BYTES]; /* the analyzer's key, X25519 */
  char analyzer[FARO_URL_MAX + 1];
  size_t shufflers; /* number of processes; 0: reports go to the analyzer */
  faro_campaign_shuffler shuffler[FARO_SHUFFLERS_MAX];
  size_t adders; /* 0: counts are not split; else one for each shuffler */
  faro_campaign_adder adder[FARO_SHUFFLERS_MAX];
  /* A choice may be reported until this many batches were released after it; 0: for ever. */
  uint64_t wait;
  /* In phases, `contribution` has the bounds only: batch, the least reports of a batch, and
   * largest, the most, are in params, and what is sent are averages of rewards. */
  faro_phases phases;
  size_t features; /* numbers; arm a begins at feature[a * dimension] */
  double feature[FARO_FEATURES_MAX];
  faro_campaign_rounds rounds; /* then `contribution` is linearised */
  size_t befores;
  faro_campaign_before before[FARO_BEFORE_MAX];
  unsigned format; /* version of the document: 2, 3, or 4 if counts are split */
  /* What follows from the members above; set by open and write. */
  unsigned char digest[FARO_DIGEST_BYTES]; /* digest of the document */
  uint64_t batches;                        /* M; in phases, the most: see faro_campaign_batches */
  size_t entries;                          /* numbers in a report */
  unsigned share_bits;                     /* k of split counts (split.h); 0: they are not split */
  size_t encodings;
  /* One for each shuffler if there are several, else one for each change of size, in order. Ask by
   * faro_campaign_encoding. */
  faro_encoding encoding[FARO_ENCODINGS_MAX];
  faro_plans *plans; /* in phases: the plans so far; its owner sets it */
} faro_campaign;

/* Writes a campaign as a signed document; free() it. Chooses the schedule if params.batch is 0,
 * replaces the release by its alternative if that has less noise, computes the claim, and sets what
 * follows. */
faro_status faro_campaign_write(faro_campaign *campaign, const faro_sign_key *key, char **text,
                                size_t *length, faro_error *error) FARO_WARN_UNUSED;
/* Verifies the signature and reads the document strictly: unknown, missing and repeated keys, wrong
 * types and values out of range are refused by name. Makes the release from the parameters: the
 * claim of our own accountant must not be weaker than the stated one. */
faro_status faro_campaign_open(faro_campaign *campaign, const char *text, size_t length,
                               const unsigned char signer[static FARO_KEY_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;
/* What a client that was in all earlier campaigns, and takes part in this one, spends in all: basic
 * composition, rounded up. */
void faro_campaign_total(const faro_campaign *campaign, double *epsilon, double *delta);
/* Whether its addresses and keys are valid, no two shufflers share a key, and none has that of the
 * signer. */
faro_status faro_campaign_check_places(const faro_campaign *campaign,
                                       const unsigned char signer[static FARO_KEY_BYTES],
                                       faro_error *error) FARO_WARN_UNUSED;
faro_wire_form faro_campaign_form(const faro_campaign *campaign);
/* How many parties get a part of each report: the shufflers, or the analyzer alone. */
size_t faro_campaign_targets(const faro_campaign *campaign);
/* The releases that a campaign can have, by index; NULL past the last one. */
const char *faro_campaign_release(size_t index);
bool faro_campaign_in_phases(const faro_campaign *campaign);
bool faro_campaign_in_rounds(const faro_campaign *campaign);
/* In rounds: the term of batch `batch`, from 0; its number of fits before this one is `fit`. */
uint64_t faro_campaign_term_of(const faro_campaign *campaign, uint64_t batch, uint64_t *fit);
/* In rounds: the release of batch `batch`. */
faro_status faro_campaign_round(const faro_campaign *campaign, uint64_t batch, faro_source source,
                                faro_release **release, faro_error *error) FARO_WARN_UNUSED;
/* M, as far as it is known: in phases it is known when a plan has said that the campaign is
 * over. */
uint64_t faro_campaign_batches(const faro_campaign *campaign);
/* How reports are made while batch `batch` (from 0) of the campaign is open. Past the last batch:
 * as for the last one. In phases, while its plan is not known: an encoding that fits no report and
 * a size that is never reached. */
const faro_encoding *faro_campaign_encoding(const faro_campaign *campaign, size_t shuffler, uint64_t batch);
/* Batches of the campaign in one batch of the shuffler: 1, except for concurrent-bits. */
uint64_t faro_campaign_unit(const faro_campaign *campaign, size_t shuffler);
/* Reports in batch `number` of the shuffler, or of the analyzer. */
uint64_t faro_campaign_size(const faro_campaign *campaign, size_t shuffler, uint64_t number);
/* Reports in the first `batches` batches of the campaign, and in the largest one. */
uint64_t faro_campaign_reports(const faro_campaign *campaign, uint64_t batches);
uint64_t faro_campaign_largest(const faro_campaign *campaign);
/* Whether reports made for the batch before may still come while batch `batch` is open: not if
 * their noise is that of another size. */
bool faro_campaign_overlaps(const faro_campaign *campaign, uint64_t batch);
/* Whether a shuffler collects reports while batch `batch` (from 0) of the campaign is open: not
 * after the horizon, nor if it could not fill its batch within the horizon. */
bool faro_campaign_active(const faro_campaign *campaign, size_t shuffler, uint64_t batch);

/* Whether an address is one that a document may have: senders append a path to it. */
faro_status faro_campaign_check_url(const char *whose, const char *url, faro_error *error) FARO_WARN_UNUSED;
/* Whether a URL is http:// or https:// and names a host. */
bool faro_url_whole(const char *url);

/* Whether a token is safe there: https, or http to this machine (127.0.0.1, [::1], localhost). A
 * campaign may state other addresses; the sender decides whether to use them. */
bool faro_url_local(const char *url);

/* A policy and the digest of its campaign. Version v is computed from the first v - 1 batches;
 * version 1 from nothing. */
typedef struct faro_policy_document {
  unsigned char campaign[FARO_DIGEST_BYTES];
  faro_policy policy;
  double *numbers; /* theta, w and at, allocated by open */
  double *at;      /* in rounds: the point at which reports are linearised; else NULL */
} faro_policy_document;

faro_status faro_policy_document_write(const faro_policy *policy,
                                       const unsigned char campaign[static FARO_DIGEST_BYTES],
                                       const faro_sign_key *key, char **text, size_t *length,
                                       faro_error *error) FARO_WARN_UNUSED;
/* The same with a point, for campaigns in rounds. NULL: without. */
faro_status faro_policy_document_write_at(const faro_policy *policy, const double *at,
                                          const unsigned char campaign[static FARO_DIGEST_BYTES],
                                          const faro_sign_key *key, char **text, size_t *length,
                                          faro_error *error) FARO_WARN_UNUSED;
faro_status faro_policy_document_open(faro_policy_document *document, const char *text, size_t length,
                                      const unsigned char signer[static FARO_KEY_BYTES],
                                      faro_error *error) FARO_WARN_UNUSED;
void faro_policy_document_clear(faro_policy_document *document);

/* A plan: the policy of a campaign in phases. Version v says what each client of batch v - 1 plays,
 * and how many clients report; it follows from the batches before. A client plays each arm as often
 * as the plan says and reports the averages of its rewards, one number per arm. The noise is not
 * stated: each party makes the release of the batch by faro_plan_release and takes the claim from
 * its own accountant. */
typedef struct faro_plan_play {
  uint64_t arm, pulls;
} faro_plan_play;

typedef struct faro_plan_document {
  unsigned char campaign[FARO_DIGEST_BYTES];
  uint64_t version;
  uint64_t phase; /* from 1 */
  uint64_t best;  /* the arm that looks best: for clients that do not report */
  uint64_t left;  /* arms in play */
  uint64_t size;  /* reports in the batch; 0: the campaign is over, and `best` is played for good */
  size_t arms;    /* numbers in a report; 0 if it is over */
  faro_plan_play play[FARO_PLAN_ARMS_MAX];
  unsigned char digest[FARO_DIGEST_BYTES]; /* digest of the document; set by open, write and hash */
} faro_plan_document;

faro_status faro_plan_document_write(faro_plan_document *plan, const faro_sign_key *key, char **text,
                                     size_t *length, faro_error *error) FARO_WARN_UNUSED;
/* Sets the digest alone, which does not depend on the key. */
faro_status faro_plan_document_hash(faro_plan_document *plan, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_plan_document_open(faro_plan_document *plan, const char *text, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES],
                                    faro_error *error) FARO_WARN_UNUSED;

/* The release of one batch of `size` reports with `numbers` numbers each. Users hide among those of
 * the batch only, because everybody sees which arm it plays. */
faro_status faro_plan_release(const faro_campaign *campaign, uint64_t size, size_t numbers,
                              faro_source source, faro_release **release, faro_error *error) FARO_WARN_UNUSED;

/* The release that the campaign's claim is computed from: its own or, in phases, that of the
 * smallest batch. */
faro_status faro_campaign_example(const faro_campaign *campaign, faro_source source, faro_release **release,
                                  faro_error *error) FARO_WARN_UNUSED;

/* What a party keeps of a plan. */
typedef struct faro_plan_row {
  uint64_t version;
  faro_encoding encoding; /* `before` is set by faro_plans_add */
  unsigned char digest[FARO_DIGEST_BYTES];
} faro_plan_row;

/* Whether the plan is one of the campaign: its arms, its sizes, and its claim, which must be proven
 * and not weaker than the campaign's. */
faro_status faro_plan_check(const faro_campaign *campaign, const faro_plan_document *plan, faro_plan_row *row,
                            faro_error *error) FARO_WARN_UNUSED;

/* The plans of a campaign so far, in order, at most `room` of them: FARO_PLANS_MAX for a role. One
 * thread adds; others may read meanwhile. */
faro_status faro_plans_create(faro_plans **plans, size_t room, faro_error *error) FARO_WARN_UNUSED;
void faro_plans_destroy(faro_plans *plans); /* NULL is allowed */
/* Forgets all, for a client, which needs the newest plan only. */
void faro_plans_clear(faro_plans *plans);
/* Adds the next version; any version if there is none yet. */
faro_status faro_plans_add(faro_plans *plans, const faro_plan_row *row, faro_error *error) FARO_WARN_UNUSED;
uint64_t faro_plans_newest(const faro_plans *plans); /* version; 0: none */
/* NULL if the version is not known. */
const faro_plan_row *faro_plans_at(const faro_plans *plans, uint64_t version);
bool faro_plans_over(const faro_plans *plans);

/* The head of a ledger: how many rows it has, and the hash of the last one. Each row contains the
 * hash of the row before it, so the signature of a head covers all rows (service/analyzer/
 * ledger_chain.h). Without rows the hash is the campaign's digest. */
typedef struct faro_ledger_head {
  unsigned char campaign[FARO_DIGEST_BYTES];
  uint64_t rows;
  unsigned char hash[FARO_DIGEST_BYTES];
} faro_ledger_head;

faro_status faro_ledger_head_write(const faro_ledger_head *head, const faro_sign_key *key, char **text,
                                   size_t *length, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_ledger_head_open(faro_ledger_head *head, const char *text, size_t length,
                                  const unsigned char signer[static FARO_KEY_BYTES],
                                  faro_error *error) FARO_WARN_UNUSED;

/* A report, as one shuffler or the analyzer receives it:
 *
 *    0  4  "FRR2"
 *    4 16  first bytes of the campaign's digest; in phases, of the plan's
 *   20  8  version of the policy for whose batch it is made: the newest that the client has
 *   28  8  sequence number of the client, 1 .. 2^63 - 1, increasing: no number is accepted twice
 *   36  4  shuffler, from 0
 *   40 32  the client's token
 *   72  n  body
 *
 * The body:
 *   BITS    the number of ones of each entry, 4 bytes; if counts are split, see split.h
 *   SEALED  a sealed box (X25519, libsodium) of the whole digest and the entries, 8 bytes each,
 *           two's complement. It contains nothing else: the analyzer gets the boxes of
 *           a batch shuffled and must not be able to tell them apart. The version is for the
 *           shuffler only.
 *   DIRECT  the same, sealed so that nobody on the way learns anything; the analyzer sees the head
 *           too */
enum { FARO_REPORT_CAMPAIGN_AT = 4 }; /* FARO_REPORT_HEAD: release/size.h */

typedef struct faro_wire_report {
  uint64_t version, sequence;
  uint32_t shuffler;
  unsigned char token[FARO_TOKEN_BYTES];
  const unsigned char *body;
} faro_wire_report;

size_t faro_wire_report_size(const faro_campaign *campaign); /* the same for all reports of a campaign */
size_t faro_wire_report_entries(const faro_campaign *campaign);
/* Writes head and body. `numbers` is one part of a message from faro_release_randomize. */
faro_status faro_wire_report_write(const faro_campaign *campaign, const faro_wire_report *report,
                                   const uint64_t *numbers, unsigned char *out,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Checks magic, campaign and shuffler, and for BITS that are not split the range of every entry, as
 * it is for the report's version. report->body points into `bytes`. */
faro_status faro_wire_report_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                                  faro_wire_report *report, faro_error *error) FARO_WARN_UNUSED;
/* Whether the head names this campaign, or its plan of the report's version; checks nothing else.
 * `report` must have FARO_REPORT_HEAD bytes. */
bool faro_wire_report_is_for(const faro_campaign *campaign, const unsigned char *report);
/* Whether the report is for a later plan than is known here. */
bool faro_wire_report_is_ahead(const faro_campaign *campaign, const unsigned char *report);
/* Reads the head without checks, for a report that this process has made. */
faro_wire_report faro_wire_report_head(const unsigned char *report);
/* Gives a report another sender, for a process that reports for many clients. The body does not
 * change. */
void faro_wire_report_restamp(unsigned char *report, uint64_t version, uint64_t sequence,
                              const unsigned char token[static FARO_TOKEN_BYTES]);
/* Opens a SEALED or DIRECT body of batch `batch`, as the analyzer does, and checks digest and
 * range. */
faro_status faro_wire_report_unseal(const faro_campaign *campaign, const faro_seal_key *key, uint64_t batch,
                                    const unsigned char *body, int64_t *numbers,
                                    faro_error *error) FARO_WARN_UNUSED;

/* A batch, as the analyzer receives it from a shuffler:
 *
 *    0  4  "FRB2"
 *    4 16  first bytes of the campaign's digest
 *   20  4  shuffler
 *   24  8  number of the batch of this shuffler, from 0
 *   32  8  number of reports in it
 *   40  n  BITS: the total of ones of each entry, 8 bytes; if they are split: of masked shares, and
 *          the adder's sum (split.h). SEALED: the bodies, permuted
 *    . 64  Ed25519 signature of the shuffler, over everything before */
enum { FARO_BATCH_HEAD = 40 };

typedef struct faro_batch {
  uint32_t shuffler;
  uint64_t number, count;
  const unsigned char *body;
} faro_batch;

size_t faro_batch_size(const faro_campaign *campaign, uint64_t count);
size_t faro_batch_body(const faro_campaign *campaign, uint64_t count); /* bytes of its body */
void faro_batch_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                      unsigned char *out);
faro_status faro_batch_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                            faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;

/* For counts: whether this many reports can have these totals. */
faro_status faro_batch_check_totals(const faro_campaign *campaign, const faro_batch *batch,
                                    faro_error *error) FARO_WARN_UNUSED;

/* A notice announces a batch, in the header Faro-Batch of the request, so that the analyzer reads
 * batches of its shufflers only. It is the hexadecimal digits of
 *
 *    0 40  the head of the batch
 *   40 64  Ed25519 signature of the shuffler, over "FRH2" and bytes 4 .. 39 of the head
 *
 * No batch begins with FRH2, so a notice's signature is never valid for a batch, nor a batch's for
 * a notice. */
enum { FARO_NOTICE_DIGITS = 2 * (FARO_BATCH_HEAD + FARO_SIGNATURE_BYTES) };

/* Writes a terminated string. The body of the batch is not used. */
void faro_notice_write(const faro_campaign *campaign, const faro_batch *batch, const faro_sign_key *key,
                       char out[static FARO_NOTICE_DIGITS + 1]);
faro_status faro_notice_read(const faro_campaign *campaign, const char *text, size_t length,
                             faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;

/* A greeting says what a shuffler holds. It posts one to /v1/state, and the analyzer compares:
 *
 *    0  4  "FRG2"
 *    4 32  the campaign's digest
 *   36 32  the shuffler's public key
 *   68  8  number of its first batch that was not handed over
 *   76  8  number of its open batch
 *   84  4  1: the shuffler is unwell; 0: it is well
 *   88 64  Ed25519 signature of the shuffler, over everything before
 *
 * A shuffler that knows of a standby, or has seen an epoch, says more:
 *
 *    0  4  "FRG3", then as above up to 87
 *   88  8  the highest epoch that it has seen
 *   96 64  the proof of that epoch; zeros if it is 0
 *  160  4  seconds since the analyzer of that epoch answered
 *  164  8  the challenge in the last answer of the analyzer that is greeted; 0: none
 *  172 64  Ed25519 signature of the shuffler, over everything before
 *
 * Greetings lift the fence of a copy, fence an analyzer that was replaced, and let a standby take
 * over. */
enum { FARO_GREETING_BYTES = 88 + FARO_SIGNATURE_BYTES, FARO_GREETING_MAX = 172 + FARO_SIGNATURE_BYTES };

typedef struct faro_greeting {
  uint32_t shuffler; /* in the reader's campaign, by its key */
  bool same;         /* the campaign is the reader's */
  uint64_t first, open;
  bool unwell;
  bool longer; /* FRG3; otherwise the members below are 0 */
  uint64_t epoch;
  unsigned char proof[FARO_SIGNATURE_BYTES]; /* not verified */
  uint32_t silent;
  uint64_t challenge;
} faro_greeting;

/* Returns the number of bytes. */
size_t faro_greeting_write(const faro_campaign *campaign, const faro_greeting *greeting,
                           const faro_sign_key *key, unsigned char out[static FARO_GREETING_MAX]);
/* FARO_INVALID if it is not from a shuffler of the campaign; _from: from a role with one of these
 * keys, which is then `shuffler`. */
faro_status faro_greeting_read(const faro_campaign *campaign, const unsigned char *bytes, size_t length,
                               faro_greeting *greeting, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_greeting_read_from(const faro_campaign *campaign,
                                    const unsigned char (*keys)[FARO_KEY_BYTES], size_t count,
                                    const char *role, const unsigned char *bytes, size_t length,
                                    faro_greeting *greeting, faro_error *error) FARO_WARN_UNUSED;

/* An epoch counts how often a standby has taken over from the analyzer of a campaign. Its proof is
 * the analyzer's Ed25519 signature over "FRE1", the campaign's digest and the epoch (8 bytes). Who
 * has seen an epoch deals with no analyzer of a lower one any more. */
void faro_epoch_sign(const unsigned char digest[static FARO_DIGEST_BYTES], uint64_t epoch,
                     const faro_sign_key *key, unsigned char proof[static FARO_SIGNATURE_BYTES]);
bool faro_epoch_proven(const unsigned char digest[static FARO_DIGEST_BYTES], uint64_t epoch,
                       const unsigned char signer[static FARO_KEY_BYTES],
                       const unsigned char proof[static FARO_SIGNATURE_BYTES]);

/* Keys and their files. A file has one line: the kind, a blank, hexadecimal digits. Secrets have
 * mode 600 and are refused if others may read them. An existing file is never overwritten. */
#define FARO_SIGN_SECRET "faro-sign-secret-1" /* FARO_SECRET_BYTES */
#define FARO_SIGN_PUBLIC "faro-sign-public-1"
#define FARO_SEAL_SECRET "faro-seal-secret-1"
#define FARO_SEAL_PUBLIC "faro-seal-public-1"

faro_status faro_sign_key_make(faro_sign_key *key, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_seal_key_make(faro_seal_key *key, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_key_save(const char *path, const char *kind, const unsigned char *bytes, size_t length,
                          faro_error *error) FARO_WARN_UNUSED;
faro_status faro_key_load(const char *path, const char *kind, unsigned char *bytes, size_t length,
                          faro_error *error) FARO_WARN_UNUSED;
/* Reads a public signing key from its hexadecimal digits into FARO_KEY_BYTES bytes. False for
 * anything else, and for digits that cannot be a key, such as the zeros of an example. */
bool faro_public_key_read(const char *text, void *key);
#define FARO_PUBLIC_KEY_ALLOWED                                                                              \
  "the 64 hexadecimal digits of a public signing key, as `faro keys show` prints it; not a placeholder"
/* Overwrites a secret that is no longer needed. */
void faro_key_wipe(void *key, size_t size);
/* Loads both halves from the file of the secret key. */
faro_status faro_sign_key_load(const char *path, faro_sign_key *key, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_seal_key_load(const char *path, faro_seal_key *key, faro_error *error) FARO_WARN_UNUSED;
/* The first 8 bytes of BLAKE2b-256 of a public key, for people to compare. */
enum { FARO_FINGERPRINT_SIZE = 24 };
const char *faro_fingerprint(const unsigned char key[static FARO_KEY_BYTES],
                             char out[static FARO_FINGERPRINT_SIZE]);

/* Tokens and their hashes (BLAKE2b-128), one per line in hexadecimal digits. Hashes are loaded
 * sorted and without repetitions. free() what was loaded. */
void faro_token_hash(const unsigned char token[static FARO_TOKEN_BYTES],
                     unsigned char hash[static FARO_HASH_BYTES]);
faro_status faro_tokens_make(const char *tokens, const char *hashes, size_t count,
                             faro_error *error) FARO_WARN_UNUSED;
faro_status faro_tokens_load(const char *path, unsigned char **tokens, size_t *count,
                             faro_error *error) FARO_WARN_UNUSED;
faro_status faro_hashes_load(const char *path, unsigned char **hashes, size_t *count,
                             faro_error *error) FARO_WARN_UNUSED;

#endif
