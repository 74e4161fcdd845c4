/* trial: a whole deployment on loopback, in a folder of its own, for the demo and the fault tests.
 *
 *   clients (threads here) --> relay --> shuffler i (a process) --> relay --> analyzer (a process)
 *
 * Keys, tokens and settings are made as an operator would make them, and the roles are started as
 * processes with the same command. A trial sees them only through their interfaces, their files and
 * the relays: they have no mode for trials. */
#ifndef FARO_TRIAL_TRIAL_H
#define FARO_TRIAL_TRIAL_H

#include "trial/child.h"
#include "trial/relay.h"
#include "wire/portion.h"

typedef struct faro_trial_params {
  const char *command;   /* path of the faro to start */
  const char *directory; /* is created, or must be empty */
  const char *learner;   /* NULL: that of the analyzer's settings */
  const char *release;
  size_t dimension, arms;
  uint64_t clients, batch, batches; /* batch: the first one */
  double growth;                    /* of batches; 0: 1 */
  uint64_t largest;                 /* batch, if they grow; 0: no bound */
  uint64_t shufflers;               /* concurrent-bits only */
  uint64_t collectors;              /* for each shuffler; 0: it is one process */
  bool split;                       /* counts are split: every shuffler has an adder */
  uint64_t contributions;           /* M0, for a claim at user level; 0: at event level */
  uint64_t wait;                    /* batches that a choice may wait; 0: for ever */
  double epsilon, delta, honest;
  double norm, low, high;
  double constant; /* the last feature of every context; 0: it is not constant */
  size_t keep;     /* bytes that each relay records */
  /* Learners that work in phases only. */
  const double *features; /* features of all arms, arm by arm */
  uint64_t horizon;
  uint64_t reports;     /* of all clients, if they report once; 0: the horizon */
  double noise, spread; /* 0: the analyzer's defaults */
  /* Learners that work in rounds only; `horizon` too. */
  faro_link link;
  double bound;
  uint64_t fits;
} faro_trial_params;

enum { FARO_TRIAL_PATH = 1024, FARO_TRIAL_ROLES = 1 + 2 * FARO_SHUFFLERS_MAX, FARO_TRIAL_KEYS = 4 };

/* Role 0 is the analyzer, role 1 + i is shuffler i, or its joiner. Then come the collectors of each
 * shuffler and, from role `roles` on, the adders, if counts are split. */
typedef struct faro_trial {
  faro_trial_params params;
  size_t roles, shufflers;
  size_t processes; /* roles, and adders */
  uint16_t port[FARO_TRIAL_ROLES];
  int hold[FARO_TRIAL_ROLES]; /* keeps the ports from others (faro_port_hold); -1: none */
  faro_child child[FARO_TRIAL_ROLES];
  faro_relay *relay[FARO_TRIAL_ROLES]; /* in front of the role: reports, or batches for role 0 */
  faro_sign_key sign;
  faro_seal_key seal;
  faro_seal_key adder[FARO_SHUFFLERS_MAX]; /* sealing keys of the adders */
  /* What a shuffler has signed for its newest address and key, in hexadecimal; empty: they are
   * those of the campaign. */
  char consent[FARO_TRIAL_ROLES][2 * FARO_SIGNATURE_BYTES + 1];
  /* The keys that a shuffler has got since the campaign was founded, in order. */
  unsigned char later_key[FARO_TRIAL_ROLES][FARO_TRIAL_KEYS][FARO_KEY_BYTES];
  size_t later_keys[FARO_TRIAL_ROLES];
  unsigned char *tokens; /* tokens of all clients, and one more that the crowd does not use */
  faro_campaign campaign;
  char *document; /* the campaign document */
  size_t document_length;
} faro_trial;

/* Whether the learner works in phases, and whether its clients report averages. */
bool faro_trial_in_phases(const faro_trial_params *params);
bool faro_trial_averages(const faro_trial_params *params);
bool faro_trial_in_rounds(const faro_trial_params *params);
/* Reports in all batches; in phases and rounds, the horizon. */
uint64_t faro_trial_horizon(const faro_trial_params *params);
/* Creates the folder, keys, tokens, settings and relays. */
faro_status faro_trial_create(faro_trial *trial, const faro_trial_params *params,
                              faro_error *error) FARO_WARN_UNUSED;
/* Ends the roles and wipes the keys. Files stay. */
void faro_trial_destroy(faro_trial *trial);
/* Deletes the folder and everything in it. */
void faro_trial_remove(const char *directory);

/* Starts a role and waits until it is healthy. The first start of the analyzer creates the
 * campaign. */
faro_status faro_trial_start(faro_trial *trial, size_t role, faro_error *error) FARO_WARN_UNUSED;
/* Starts a role and does not wait. */
faro_status faro_trial_launch(faro_trial *trial, size_t role, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_trial_start_all(faro_trial *trial, faro_error *error) FARO_WARN_UNUSED;
const char *faro_trial_role(const faro_trial *trial, size_t role, char name[static 24]);
/* The shuffler to which a role other than the analyzer belongs, and whether it is a collector. */
size_t faro_trial_shuffler_of(const faro_trial *trial, size_t role);
bool faro_trial_is_collector(const faro_trial *trial, size_t role);
/* The role that takes the reports of a client for a shuffler, or for the analyzer (0). */
size_t faro_trial_receiver(const faro_trial *trial, size_t shuffler,
                           const unsigned char token[static FARO_TOKEN_BYTES]);
/* How many roles take reports for a shuffler, and the first of them. */
size_t faro_trial_receivers(const faro_trial *trial, size_t shuffler, size_t *first);
const char *faro_trial_file(const faro_trial *trial, size_t role, const char *suffix,
                            char path[static FARO_TRIAL_PATH]);
/* The URL of the role itself, not of its relay. */
const char *faro_trial_url(const faro_trial *trial, size_t role, const char *path,
                           char url[static FARO_URL_MAX + 1]);

#endif
