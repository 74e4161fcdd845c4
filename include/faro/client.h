/* client: what an application embeds to take part: choose an action by a verified policy, and make a report.
 *
 * Needs libsodium and the C library alone (libfaro_client); sending is the application's, or faro_client_send of the
 * service. Nothing leaves the device that is not clipped, encoded and noised. C and C++.
 *
 *   open -> campaign (once) -> policy (whenever there is a new one) -> choose -> [play] -> report -> keep -> send parts
 *
 * Campaigns are at GET <analyzer>/v1/campaign, policies at GET <analyzer>/v1/policy?after=<version>, which waits for a newer
 * one. examples/client.c is a whole application. Where a call fails, `error` says why; begin with faro_error error = {0}. It
 * may be NULL. A client belongs to one thread at a time. */
#ifndef FARO_CLIENT_H
#define FARO_CLIENT_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_client faro_client;

typedef struct faro_client_params {
  const unsigned char *signer; /* 32 bytes: the analyzer's public key, pinned */
  const unsigned char *token;  /* 32 bytes: who the shuffler knows this client as */
  /* Kept over restarts, all three; save them before a report is sent. They belong together: sequence and version count in
   * one campaign, and without it they must be 0. Another campaign than this one is refused, for it would be another
   * privacy budget, spent beside the first. To join it all the same is the application's decision: it opens a client with
   * campaign NULL, sequence 0 and version 0, and what was spent before stays spent. */
  const unsigned char *campaign; /* 32 bytes, of faro_client_digest; NULL: took part in none yet */
  uint64_t sequence;             /* of faro_client_sequence: the last number that was used */
  uint64_t version;              /* of faro_client_version: the newest policy seen; older ones are refused */
  /* The floor: campaigns that promise less are refused. */
  double epsilon, delta; /* at most */
  const char *trust;     /* the least: "local", "shuffle", "concurrent" or "joint" */
  bool user_level;       /* the claim must be for all rounds of a user */
  double honest;         /* the greatest share of a batch that the noise may count on, where it is that of
                          * others (trust shuffle and concurrent); 0: any */
  bool
      insecure; /* campaigns may name http:// beyond this machine: whoever listens reads the token, and reports of
                          * bit sums */
} faro_client_params;

FARO_API faro_status faro_client_open(faro_client **client, const faro_client_params *params,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_client_close(faro_client *client);

/* Documents as they came. The claim of a campaign is recomputed here, not believed. */
FARO_API faro_status faro_client_campaign(faro_client *client, const void *bytes, size_t length,
                                          faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_client_policy(faro_client *client, const void *bytes, size_t length,
                                        faro_error *error) FARO_WARN_UNUSED;

/* The best of `count` arms, features[arm * dimension ...]. */
FARO_API faro_status faro_client_choose(const faro_client *client, const double *features, size_t count,
                                        size_t *arm, faro_error *error) FARO_WARN_UNUSED;
/* One report on what came of it: `parts` messages of faro_client_part_size bytes, one for each shuffler that wants one now,
 * one after another in `out`, which has room for faro_client_parts of them. Uses up a sequence number: keep digest, sequence
 * and version before anything is sent, or a crash could let a number be used twice. The second report then counts nowhere: it is
 * refused, or, when the batch of the first has closed, answered like that one sent again (1: accepted before). */
FARO_API size_t faro_client_parts(const faro_client *client);
FARO_API size_t faro_client_part_size(const faro_client *client);
FARO_API faro_status faro_client_report(faro_client *client, const double *features, double reward,
                                        unsigned char *out, size_t *parts,
                                        faro_error *error) FARO_WARN_UNUSED;
/* Where part i of the last report goes: the whole address, https://host:port/v1/reports. POST the part there as it is, with
 * Content-Type: application/octet-stream. The answer:
 *   200   a byte for each part in the body. 0: accepted, and durable; 1: accepted before; more: refused for good, as
 *         docs/protocol.md lists them, but for 9: not now
 *   4xx   all parts refused, {"error": "why"}: sending the same again helps nothing
 *   503, 408, or none   not known: send the same bytes again, later (Retry-After); they are counted once
 * Parts for one address may be sent in one body, one after another. */
FARO_API const char *faro_client_target(const faro_client *client, size_t part);

FARO_API size_t faro_client_dimension(const faro_client *client); /* 0 before a campaign */
/* What to keep over restarts. The digest has 32 bytes and lives as long as the client; NULL: no campaign yet, nor one kept. */
FARO_API const unsigned char *faro_client_digest(const faro_client *client);
FARO_API uint64_t faro_client_version(const faro_client *client);
FARO_API uint64_t faro_client_sequence(const faro_client *client);

#ifdef __cplusplus
}
#endif

#endif
