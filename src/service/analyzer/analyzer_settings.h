/* analyzer_settings: what an operator writes into an analyzer's YAML file. faro-analyzer(1)
 * describes every key, and deploy/analyzer.yaml is an example. */
#ifndef FARO_SERVICE_ANALYZER_ANALYZER_SETTINGS_H
#define FARO_SERVICE_ANALYZER_ANALYZER_SETTINGS_H

#include "service/http/server.h"
#include "wire/wire.h"

enum { FARO_PATH_SIZE = 1024 };

typedef struct faro_analyzer_settings {
  char file[FARO_PATH_SIZE]; /* name of the YAML file, for messages; empty: no file */
  faro_http_settings http;
  /* `server`: a database in a PostgreSQL server; empty: it is a file. Then `database` is the
   * setting `state`: the file of keys, beside which are the files that belong to a database. */
  char database[FARO_PATH_SIZE], server[FARO_PATH_SIZE], state[FARO_PATH_SIZE];
  char sign[FARO_PATH_SIZE], seal[FARO_PATH_SIZE], tokens[FARO_PATH_SIZE];
  char seal_before[FARO_PATH_SIZE]; /* sealing key before the last move; empty: none */
  /* Consents of shufflers to an address or key that is new; zeros: none. */
  unsigned char consent[FARO_SHUFFLERS_MAX][FARO_SIGNATURE_BYTES];
  double constant;               /* the last feature of every context; NAN: not constant */
  double low, high;              /* bounds of rewards */
  size_t release;                /* an index in faro_campaign_release */
  char features[FARO_PATH_SIZE]; /* in phases: the file with the features of each arm */
  /* Databases of earlier campaigns on the same people, which are over. */
  size_t afters;
  struct {
    char database[FARO_PATH_SIZE];
  } after[FARO_BEFORE_MAX];
  /* A standby (standby.h): where copies go, or that this analyzer is one. */
  struct {
    char url[FARO_URL_MAX + 1]; /* the standby's admin port; empty: none */
    char token[FARO_PATH_SIZE], authority[FARO_PATH_SIZE];
    bool follow;      /* this analyzer is a standby, until it takes over */
    double take_over; /* seconds of silence after which it does so by itself; 0: never */
  } standby;
  bool found; /* by the command line: found a campaign even if one was founded here before */

  /* The campaign as asked for: the keys of the file are read straight into it. What follows from
   * these, and from low, high and release, is set by faro_campaign_draft. */
  faro_campaign campaign;
} faro_analyzer_settings;

/* Reads the file, the certificate and its private key. */
faro_status faro_analyzer_settings_load(faro_analyzer_settings *settings, const char *path,
                                        faro_error *error) FARO_WARN_UNUSED;

/* The same for one of several campaigns: the file has no keys of the server and no `url`. The
 * campaign gets those of the host, and the host's url with its own name behind it. */
faro_status faro_analyzer_settings_load_in(faro_analyzer_settings *settings, const char *path,
                                           const faro_http_settings *http, const char *url,
                                           faro_error *error) FARO_WARN_UNUSED;

/* Where the store is: a path, or a URL. */
const char *faro_analyzer_database(const faro_analyzer_settings *settings);

/* The first key of the file in which two campaigns differ; NULL if they agree in all keys. */
const char *faro_analyzer_settings_differ(const faro_campaign *a, const faro_campaign *b);

#endif
