/* host_inner: what the files of the host share: host.c (campaigns), host_http.c (routes). */
#ifndef FARO_SERVICE_HOST_HOST_INNER_H
#define FARO_SERVICE_HOST_HOST_INNER_H

#include <jansson.h>
#include <pthread.h>

#include "service/analyzer/analyzer_role.h"
#include "service/analyzer/waiting.h"
#include "service/analyzer/standby.h"
#include "service/host/host.h"
#include "service/role/admin.h"

/* A campaign's place. The name never changes, and a place is never freed before the servers have
 * stopped. */
typedef struct host_place {
  faro_host *host;
  char name[FARO_ID_MAX + 1]; /* empty: the only one */
  faro_analyzer_settings settings;
  faro_analyzer *analyzer; /* NULL: a draft or a standby, or it failed. Once set it stays */
  faro_standby *standby;   /* NULL: none. Set at the start, and stays when it has taken over */
  faro_waiting *waiting;   /* NULL: its database is a file. Set at the start, and stays as well */
  bool draft;              /* it has no database yet */
  faro_campaign campaign;  /* as drafted; drafts only */
  faro_error error;        /* why it failed */
  faro_http_service life;  /* for operators, at /NAME/v1/life */
} host_place;

struct faro_host {
  const faro_host_settings *settings;
  faro_http *http;
  faro_admin *admin;
  faro_metrics *metrics; /* the host's own; the only campaign's has them too */
  faro_http_service service, operators;
  pthread_mutex_t changes; /* one change of a campaign at a time */
  pthread_mutex_t mutex;   /* guards the members below, and those of places but for the name */
  size_t count;
  host_place *place[FARO_CAMPAIGNS_MAX];
};

#define FARO_HOST_PROMOTE "promote" /* what an operator wants of a standby */

/* host.c. The place of a name, NULL: none. Takes no lock. */
host_place *faro_host_find(const faro_host *host, const char *name, size_t length);
/* Reads the file of a campaign: it becomes a draft, or starts if it has a database. */
faro_status faro_host_create(faro_host *host, const char *name, faro_error *error) FARO_WARN_UNUSED;
/* Does what an operator wants (life.h); "open" signs and starts a draft. `by`: who it is, for the
 * log. */
faro_status faro_host_change(host_place *place, const char *verb, const char *by,
                             faro_error *error) FARO_WARN_UNUSED;

/* host_http.c. */
void faro_host_set_services(faro_host *host);
void faro_host_set_life(host_place *place);

#endif
