/* analyzer: the role that collects batches, learns from them, and publishes policies.
 *
 *   GET  /v1/campaign           the signed document
 *   GET  /v1/policy?after=V     the newest signed policy; waits up to 30 s for one newer than V, then 304; ETag: the version
 *   POST /v1/batches            a signed batch of a shuffler: 200 kept (or known), 400 not ours, 401 not announced (Faro-Batch),
 *                               409 not the next, 503 later
 *   POST /v1/reports            where reports come without a shuffler (local, central-tree)
 *   GET  /v1/ledger?from=B      what each batch spent, from batch B on
 *   GET  /v1/status.json, /     how it stands, for programs and for people
 *   GET  /metrics, /healthz
 *
 * Its file, for example:
 *
 *   listen: 127.0.0.1:8400
 *   url: http://127.0.0.1:8400        # where clients and shufflers find it
 *   database: /var/lib/faro/analyzer.db
 *   sign: /etc/faro/analyzer.sign     # secret keys, of `faro keys`
 *   seal: /etc/faro/analyzer.seal
 *   tokens: /etc/faro/tokens.hashes   # only where reports come to the analyzer itself
 *   constant: 0.5                     # every context ends in it, so the page can show mean rewards; optional,
 *                                     # and smaller than `norm`
 *   campaign:
 *     id: demo
 *     dimension: 5                    # of the contexts, of length at most `norm`
 *     norm: 1
 *     low: 0                          # of rewards
 *     high: 1
 *     arms: 10                        # at most, in a choice
 *     release: shuffle-bits           # concurrent-bits, shuffle-amplified, local, local-bits, central-tree,
 *                                     # central-bits
 *     epsilon: 1
 *     delta: 1e-6
 *     horizon: 50000                  # reports in all
 *     batch: 500                      # reports of a release; left out: chosen
 *     level: user                     # or event; there is no default
 *     contributions: 10               # of one client, at most (level user); left out: 1
 *     honest: 0.9                     # share of reports that are genuine, at least
 *     failure: 0.1                    # of the confidence region
 *     optimism: 0.2                   # factor on its bounds of the noise
 *   shufflers:                        # as many as the release has; none for local and central-tree
 *     - url: http://127.0.0.1:8401
 *       key: 64 hexadecimal digits, the shuffler's public key */
#ifndef FARO_SERVICE_ANALYZER_H
#define FARO_SERVICE_ANALYZER_H

#include "service/applier.h"
#include "service/http.h"

enum { FARO_PATH_SIZE = 1024 };

typedef struct faro_analyzer_settings {
  char file[FARO_PATH_SIZE]; /* where they are from, for messages; empty: they are nobody's */
  faro_http_settings http;
  char url[FARO_URL_MAX + 1];
  char database[FARO_PATH_SIZE], sign[FARO_PATH_SIZE], seal[FARO_PATH_SIZE], tokens[FARO_PATH_SIZE];
  double constant; /* NAN: contexts do not end in one */
  /* Of the campaign. */
  char id[FARO_ID_MAX + 1];
  uint64_t dimension, arms, horizon, batch, contributions;
  double norm, low, high, epsilon, delta, honest, failure, optimism;
  size_t release; /* index in faro_campaign_release */
  faro_level level;
  size_t shufflers;
  struct {
    char url[FARO_URL_MAX + 1];
    unsigned char key[FARO_KEY_BYTES];
  } shuffler[FARO_SHUFFLERS_MAX];
} faro_analyzer_settings;

/* Reads the file, and the certificate and its key. */
faro_status faro_analyzer_configure(faro_analyzer_settings *settings, const char *path,
                                    faro_error *error) FARO_WARN_UNUSED;
/* The campaign that the settings describe, as a signed document (free() it): its claim is proven, or it is refused, by
 * the name of their file. */
faro_status faro_analyzer_draft(const faro_analyzer_settings *settings, const faro_applier_keys *keys,
                                faro_campaign *campaign, char **document, size_t *length,
                                faro_error *error) FARO_WARN_UNUSED;
/* Names the first thing in which the campaign of the settings differs from the one that was made at the first start. */
faro_status faro_analyzer_compare(const faro_campaign *stored, const faro_campaign *asked,
                                  faro_error *error) FARO_WARN_UNUSED;
faro_status faro_analyzer_keys(const faro_analyzer_settings *settings, faro_applier_keys *keys,
                               faro_error *error) FARO_WARN_UNUSED;

typedef struct faro_analyzer faro_analyzer;

/* Opens the state, and serves from now on. The settings outlive it. */
faro_status faro_analyzer_start(faro_analyzer **analyzer, const faro_analyzer_settings *settings,
                                faro_error *error) FARO_WARN_UNUSED;
uint16_t faro_analyzer_port(const faro_analyzer *analyzer);
/* Answers what is under way, and ends. */
void faro_analyzer_stop(faro_analyzer *analyzer);

#endif
