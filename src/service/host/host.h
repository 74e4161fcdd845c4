/* host: an analyzer as a process: one campaign, or many behind one address.
 *
 *   public server   /NAME/v1/...   the campaign's (analyzer_role.h); without NAME if there is one
 *                   /healthz       503 if any campaign is not well, and which; /readyz: if all are
 *   admin server    the same for operators, with page, status and metrics (admin.h), and
 *                   GET  /v1/campaigns              all campaigns
 *                   POST /v1/campaigns?name=NAME    reads NAME.yaml, as a draft
 *                   GET  /NAME/v1/life              one campaign
 *                   POST /NAME/v1/life?do=VERB      opens, pauses, ends it (life.h)
 *
 * An analyzer with one campaign may be a standby (standby.h): then it serves nobody until it takes
 * over, by itself or by POST /v1/life?do=promote. With a database in a server, it is one as long as
 * another analyzer holds the database (waiting.h).
 *
 * Each campaign has its own settings, keys, database and worker. One that cannot start, or fails
 * later, does not stop the others: its paths are answered with 503, and it is tried again. A
 * campaign with a file but without a database is a draft: its settings are checked and its claim
 * is computed, but nothing is signed, and clients do not see it. */
#ifndef FARO_SERVICE_HOST_HOST_H
#define FARO_SERVICE_HOST_HOST_H

#include "service/host/host_settings.h"

typedef struct faro_host faro_host;

/* Serves from now on. The settings must outlive the host. If there is one campaign, it must
 * start; of many, any may fail. */
faro_status faro_host_start(faro_host **host, const faro_host_settings *settings,
                            faro_error *error) FARO_WARN_UNUSED;
uint16_t faro_host_port(const faro_host *host);
uint16_t faro_host_admin_port(const faro_host *host); /* 0: there is none */
/* Reads the certificate, and the tokens of operators and clients, again (reload.h). */
void faro_host_reload(faro_host *host);
/* Tries again to start campaigns that failed; a standby takes over if it is time. Call it now and
 * then: at least every faro_host_pause milliseconds. */
void faro_host_tend(faro_host *host);
int faro_host_pause(const faro_host *host);
/* Whether the process must end: another analyzer has taken over its database in a server. Started
 * again, it is a standby. */
bool faro_host_must_end(faro_host *host);
/* Answers requests that are under way, and ends. NULL is allowed. */
void faro_host_stop(faro_host *host);

#endif
